"""Factors of a covariance and the cells they predict, against the maximum, against conditioning cell by cell."""

from itertools import islice

import numpy as np
import pytest

from lowdim.judge.dimensions.factors import (
    CovarianceForm,
    Factors,
    covariance,
    factor_ladder,
    principal_ladder,
)
from lowdim.judge.dimensions.jury_table import standardized
from lowdim.maths.factor import maximum_likelihood
from tests.judge.simulated import noise, rank_two, uneven, with_gaps


def ladder(S: CovarianceForm, most: int) -> list[Factors]:
    return list(islice(factor_ladder(S, np.random.default_rng(0)), 1, most + 1))


def complete(X: np.ndarray) -> CovarianceForm:
    return covariance(standardized(X, None), None, np.random.default_rng(0))


def conditional_error(C: np.ndarray, r: np.ndarray, seen: np.ndarray, j: int) -> float:
    """A cell less its expectation given the other seen cells, by solving with their covariance."""
    rest = seen.copy()
    rest[j] = False
    return float(r[j] - C[j, rest] @ np.linalg.solve(C[np.ix_(rest, rest)], r[rest]))


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_errors_are_those_of_conditioning_on_the_rest_of_the_row(gaps):
    rng = np.random.default_rng(1)
    f = Factors(rng.standard_normal((6, 2)), rng.uniform(0.2, 1.0, 6))
    r, mask = rng.standard_normal((9, 6)), rng.random((9, 6)) >= gaps
    r = r * mask
    C = f.W @ f.W.T + np.diag(f.psi)
    found = f.cell_errors(r, None if mask.all() else mask)
    for i, j in np.argwhere(mask):
        assert found[i, j] == pytest.approx(conditional_error(C, r[i], mask[i], j), abs=1e-10)
    assert (found[~mask] == 0.0).all()


def test_the_likelihood_of_a_ladder_nears_the_maximum():
    """Within a hundredth of a nat a row."""
    S = complete(uneven(0))
    for f in ladder(S, 3):
        best = maximum_likelihood(S.matrix, f.q, lower=0.02)
        top = Factors(best.loadings, best.uniquenesses).log_likelihood(S, 200.0)
        assert top - 2.0 < f.log_likelihood(S, 200.0) < top + 1e-6
    sign, logdet = np.linalg.slogdet(S.matrix * np.eye(8))
    assert sign == 1 and next(factor_ladder(S, np.random.default_rng(0))).log_likelihood(S, 200.0) == pytest.approx(
        -100.0 * (8 * np.log(2 * np.pi) + logdet + 8)
    )


@pytest.mark.parametrize("n", [60, 400])
def test_rows_and_products_give_the_factors_of_the_covariance(n):
    """A wide table by its rows, a large one by products: the same loadings as of the whole matrix."""
    X = standardized(rank_two(n, d=250), None)
    S = complete(X)
    whole = CovarianceForm(X.T @ X / n, False, (X**2).mean(axis=0))
    assert S.is_rows == (n < 250)
    for f, g in zip(ladder(S, 2), ladder(whole, 2), strict=True):
        np.testing.assert_allclose(f.W @ f.W.T, g.W @ g.W.T, atol=2e-3)


def test_the_ladder_has_a_rung_for_every_column():
    """Beyond the order that LAPACK takes whole, with more vectors at hand than there are columns at the end."""
    S = complete(noise(0, 400, 50))
    last = ladder(S, 50)[-1]
    assert last.q == 50
    np.testing.assert_allclose(np.diag(last.W @ last.W.T) + last.psi, S.variance, rtol=0.02)


def test_principal_axes_leave_the_mean_rest_as_noise():
    S = complete(noise(0, 100, 6))
    values = np.sort(np.linalg.eigvalsh(S.matrix))[::-1]
    for f in principal_ladder(S, 3):
        assert f.psi == pytest.approx(np.full(6, values[f.q :].mean()))
        np.testing.assert_allclose(np.sort((f.W**2).sum(axis=0))[::-1], values[: f.q] - f.psi[0], rtol=1e-9)


def test_gaps_leave_the_covariance_of_the_whole_table():
    """The expected moments are nearer to the covariance without gaps than those of available pairs."""
    rng = np.random.default_rng(2)
    X = standardized(rng.standard_normal((400, 2)) @ rng.standard_normal((2, 12)) + noise(0, 400, 12), None)
    holes = with_gaps(X, 0.3)
    mask = ~np.isnan(holes)
    x = np.where(mask, X, 0.0)
    full, found = X.T @ X / 400, covariance(x, mask, np.random.default_rng(0)).matrix
    pairs = (x.T @ x) / (mask.astype(float).T @ mask.astype(float))
    assert np.abs(found - full).mean() < np.abs(pairs - full).mean() and np.linalg.eigvalsh(found).min() > 0.0


def test_a_wide_table_with_gaps_and_a_row_without_cells():
    X = with_gaps(rank_two(20, d=60), 0.2)
    X[3] = np.nan
    mask = ~np.isnan(X)
    S = covariance(standardized(np.where(mask, X, 0.0), mask), mask, np.random.default_rng(0))
    assert S.is_rows and S.matrix.shape == (20, 60) and np.isfinite(S.matrix).all()
    f = ladder(S, 2)[-1]
    G, z = f.places(np.zeros((1, 60)), mask[3:4], np.array([0]))
    np.testing.assert_allclose(G[0], np.eye(2))
    np.testing.assert_array_equal(z, np.zeros((1, 2)))
