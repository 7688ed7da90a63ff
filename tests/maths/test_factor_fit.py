"""Fit indices against R: lavaan 0.6-14 (`efa`) and psych 2.2.9 (`KMO`, `cortest.bartlett`)."""

import numpy as np
import pytest

import lowdim
from lowdim.maths.factor import maximum_likelihood
from lowdim.maths.factor_fit import fit_indices, sampling_adequacy
from tests.references.tables import numbers


@pytest.fixture
def tests9(need):
    return numbers(need("factor_analysis") / "holzinger_swineford_1939.csv", [f"x{j}" for j in range(1, 10)])


def test_three_factors_of_nine_tests_in_lavaan(tests9):
    R = np.corrcoef(tests9, rowvar=False)
    fit = maximum_likelihood(R, 3)
    found = fit_indices(R, fit.loadings, fit.uniquenesses, fit.criterion, len(tests9))
    assert found.chi_square == pytest.approx(22.89673461, abs=1e-6)
    assert found.dof == 12
    assert found.p_value == pytest.approx(0.02861553533, abs=1e-8)
    assert found.cfi == pytest.approx(0.9876573427, abs=1e-8)
    assert found.tli == pytest.approx(0.9629720281, abs=1e-8)
    assert found.rmsea == pytest.approx(0.05492553755, abs=1e-8)
    np.testing.assert_allclose(found.rmsea_interval, (0.01737584892, 0.08878318327), atol=1e-6)
    assert found.srmr == pytest.approx(0.01721349924, abs=1e-7)
    model = lowdim.FactorAnalysis(3).fit(tests9)
    np.testing.assert_allclose(np.hstack(model.fit_indices_), np.hstack(found), rtol=1e-6)


def test_adequacy_of_nine_tests_in_psych(tests9):
    found = sampling_adequacy(np.corrcoef(tests9, rowvar=False), len(tests9))
    assert found.kmo == pytest.approx(0.7522445926, abs=1e-9)
    each = [0.8050212266, 0.7779382854, 0.7343028773, 0.7632620453, 0.7387238565, 0.8075590548, 0.5930468106,
            0.6829379392, 0.7878648519]  # fmt: skip
    np.testing.assert_allclose(found.kmo_columns, each, atol=1e-9)
    assert (found.chi_square, found.dof) == (pytest.approx(904.097051037, abs=1e-8), 36)
    assert found.p_value == pytest.approx(1.91207887406e-166, rel=1e-6)


def test_adequacy_of_eight_physical_variables_in_psych(need):
    R = numbers(need("factor_analysis") / "harman23_cor.csv")
    found = sampling_adequacy(R, 305)
    assert found.kmo == pytest.approx(0.8454608507, abs=1e-9)
    np.testing.assert_allclose(
        found.kmo_columns[:4], [0.8643146997, 0.8162962497, 0.8576544448, 0.8866618110], atol=1e-9
    )
    assert (found.chi_square, found.dof) == (pytest.approx(2085.74047788, abs=1e-7), 28)


def test_nothing_to_explain_and_nothing_left_to_test():
    alone = sampling_adequacy(np.eye(4), 50)
    assert (alone.kmo, alone.chi_square, alone.p_value) == (0.5, 0.0, 1.0)
    assert (alone.kmo_columns == 0.5).all()
    w = np.array([0.9, 0.8, 0.7])
    exact = fit_indices(np.outer(w, w) + np.diag(1 - w**2), w[:, None], 1 - w**2, 0.0, 100)
    assert exact[2:] == (1.0, 0.0, (0.0, 0.0), 1.0, 1.0, pytest.approx(0.0, abs=1e-12))


def test_the_interval_of_rmsea_holds_what_it_claims():
    """Of rows from the model itself: the upper end is 0 or above the truth (0) in 95 of 100, the lower end 0 in 95."""
    rng, w = np.random.default_rng(0), np.array([0.8, 0.7, 0.6, 0.7, 0.8, 0.5])
    low = []
    for _ in range(200):
        X = rng.standard_normal((300, 1)) * w + rng.standard_normal((300, 6)) * np.sqrt(1 - w**2)
        low.append(lowdim.FactorAnalysis(1).fit(X).fit_indices_.rmsea_interval[0])
    assert 0.01 <= np.mean(np.array(low) > 0) <= 0.10
