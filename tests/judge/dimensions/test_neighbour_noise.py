"""Noise that neighbouring columns share is told from dimensions."""

from itertools import islice

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from lowdim.judge.dimensions.factors import covariance, factor_ladder
from lowdim.judge.dimensions.judges import factor_evidence
from lowdim.judge.dimensions.jury import choose_dimension
from lowdim.judge.dimensions.jury_table import standardized
from lowdim.judge.dimensions.neighbour_noise import falling_correlations, neighbour_evidence, neighbour_ladder
from tests.judge.simulated import noise, seeds_gaussian


def ordered(seed: int, sizes: tuple[float, ...] = (8.0, 6.0), n: int = 200, d: int = 12) -> np.ndarray:
    """Signals along drawn axes, and noise whose neighbouring columns correlate by 0.5."""
    rng = np.random.default_rng([seed, 41])
    axes = np.linalg.qr(rng.standard_normal((d, max(len(sizes), 1))))[0][:, : len(sizes)] * np.sqrt(sizes)
    e = rng.standard_normal((n, d)) @ np.linalg.cholesky(falling_correlations(d, 0.5)).T
    return rng.standard_normal((n, len(sizes))) @ axes.T + e


@pytest.mark.parametrize("seeds", [2, pytest.param(20, marks=pytest.mark.drill)])
def test_it_is_no_dimension_and_that_is_said(seeds):
    """Factor analysis alone finds 4 to 7 in each."""
    found = [choose_dimension(ordered(s)) for s in range(seeds)]
    assert [j.q for j in found] == [2] * seeds
    assert all("neighbouring columns share noise (correlation 0." in j.notes[-1] for j in found)


def test_columns_that_nearly_repeat_their_neighbours_are_a_signal():
    """Twelve months of a slow year: correlations of 0.9 are what the columns share, and not noise."""
    months = np.random.default_rng(0).standard_normal((61, 12)) @ np.linalg.cholesky(falling_correlations(12, 0.9)).T
    assert choose_dimension(months).q >= 2


def test_without_signals_there_are_none():
    assert choose_dimension(ordered(0, ())).q == 0


def test_other_tables_have_none_of_it():
    for X in (seeds_gaussian(0), noise(0), ordered(0)[:, np.random.default_rng(0).permutation(12)]):
        S = covariance(standardized(X, None), None, np.random.default_rng(0))
        bic = factor_evidence(S, len(X), 5, np.random.default_rng(0))
        found = neighbour_evidence(S, len(X), bic)
        assert found is None


def test_predictions_and_likelihood_are_those_of_the_covariance():
    X = standardized(ordered(0), None)
    S = covariance(X, None, np.random.default_rng(0))
    f = list(islice(neighbour_ladder(S), 3))[2]
    assert f.rho == pytest.approx(0.5, abs=0.1)
    C, rest = f.covariance, np.arange(12) != 4
    want = X[:5, 4] - X[:5, rest] @ np.linalg.solve(C[np.ix_(rest, rest)], C[rest, 4])
    np.testing.assert_allclose(f.cell_errors(X[:5], None)[:, 4], want, atol=1e-10)
    assert f.log_likelihood(S, 200.0) == pytest.approx(multivariate_normal(np.zeros(12), C).logpdf(X).sum())


def test_without_correlation_it_is_factor_analysis():
    S = covariance(standardized(noise(3, 300, 8), None), None, np.random.default_rng(0))
    plain = next(factor_ladder(S, np.random.default_rng(0)))
    alone = next(neighbour_ladder(S))._replace(rho=0.0)
    assert alone.log_likelihood(S, 300.0) == pytest.approx(plain.log_likelihood(S, 300.0))
