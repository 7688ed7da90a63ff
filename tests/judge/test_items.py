"""Adequacy and reliability against the R package psych 2.2.9, and intervals against simulated truth."""

import numpy as np
import pytest

import lowdim
from lowdim.text.messages import LowdimError
from tests.references.tables import numbers


@pytest.fixture
def items(need):
    return numbers(need("factor_analysis") / "bfi.csv")[:, :25]


def test_adequacy_of_personality_items_with_gaps(items):
    found = lowdim.factorability(items)
    assert found.kmo == pytest.approx(0.8458974925, abs=1e-9)
    np.testing.assert_allclose(found.kmo_columns[:3], [0.7447239242, 0.8377403200, 0.8730536489], atol=1e-9)
    assert (found.chi_square, found.dof) == (pytest.approx(20163.7885648, abs=1e-6), 300)


def test_moments_are_as_good_as_their_table(items):
    X = items[~np.isnan(items).any(axis=1)]
    moments = lowdim.Moments(len(X), X.mean(axis=0), np.cov(X, rowvar=False))
    np.testing.assert_allclose(
        lowdim.factorability(moments).kmo_columns, lowdim.factorability(X).kmo_columns, rtol=1e-9
    )


def test_alpha_of_conscientiousness(items):
    turned = items[:, 5:10] * [1, 1, 1, -1, -1]
    assert lowdim.reliability(turned).alpha == pytest.approx(0.7267349729, abs=1e-9)


def test_alpha_with_its_interval_and_omega_of_three_tests(need):
    X = numbers(need("factor_analysis") / "holzinger_swineford_1939.csv", ["x4", "x5", "x6"])
    found = lowdim.reliability(X)
    assert found.alpha == pytest.approx(0.8827069129, abs=1e-9)
    np.testing.assert_allclose(found.alpha_interval, (0.8577307811, 0.9039254843), atol=1e-8)
    assert lowdim.reliability(X / X.std(axis=0)).omega == pytest.approx(0.884961526, abs=1e-6)
    assert "alpha  0.883  (95% 0.858 to 0.904)" in found.text()


def test_intervals_hold_the_truth():
    """Of items that all measure one thing equally well alpha and omega are the same: k rho / (1 + (k - 1) rho)."""
    truth, held = 4 * 0.5 / (1 + 3 * 0.5), []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        found = lowdim.reliability(rng.standard_normal((120, 1)) + rng.standard_normal((120, 4)), level=0.9)
        held.append([low <= truth <= high for low, high in (found.alpha_interval, found.omega_interval)])
    assert (np.mean(held, axis=0) >= 0.8).all() and (np.mean(held, axis=0) <= 0.98).all()


def test_too_few_items_and_flat_ones_are_refused():
    X = np.random.default_rng(0).standard_normal((30, 4))
    with pytest.raises(LowdimError, match="LD207"):
        lowdim.reliability(X[:, :2])
    X[:, 1] = 3.0
    for call in (lowdim.reliability, lowdim.factorability):
        with pytest.raises(LowdimError, match="LD131"):
            call(X)


def test_the_table_of_factors(need):
    X = numbers(need("factor_analysis") / "holzinger_swineford_1939.csv", [f"x{j}" for j in range(1, 10)])
    model = lowdim.FactorAnalysis(3, rotation="oblimin").fit(X)
    table = model.factor_table()
    np.testing.assert_allclose(table.communalities + table.uniquenesses, 1.0)
    explained = table.loadings @ table.factor_correlations @ table.loadings.T
    np.testing.assert_allclose(np.diag(explained), table.communalities, atol=1e-10)
    assert table.sums_of_squares.sum() == pytest.approx(table.communalities.sum())
    assert "RMSEA 0.055 (90% 0.017 to 0.089), CFI 0.988, TLI 0.963, SRMR 0.017." in table.text()
    assert [len(line) for line in table.lines()] == [6] * 10
    plain = lowdim.FactorAnalysis(3).fit(X).factor_table()
    assert not plain.correlated and "Factor correlations" not in plain.text()
    X[0, 0] = np.nan
    assert lowdim.FactorAnalysis(3).fit(X).factor_table().text().endswith("without missing values.")
