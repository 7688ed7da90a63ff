"""Eigenvalues against chance, by simulation."""

import numpy as np
import pytest

from lowdim.judge.dimensions.evidence import jury_table
from lowdim.judge.dimensions.parallel import (
    eigenvalues,
    parallel_analysis,
    shuffled,
)
from tests.judge.simulated import noise, seeds_gaussian, with_gaps


def test_shuffles_keep_columns_and_gaps():
    X = with_gaps(seeds_gaussian(0), 0.3)
    mask = ~np.isnan(X)
    x = np.where(mask, X, 0.0)
    out = shuffled(x, mask, np.random.default_rng(0))
    assert (out[~mask] == 0).all()
    for j in range(10):
        np.testing.assert_array_equal(np.sort(out[mask[:, j], j]), np.sort(x[mask[:, j], j]))
    assert (out != x).any(axis=0).all()


def test_eigenvalues_are_numpys_where_complete():
    X = seeds_gaussian(0) - seeds_gaussian(0).mean(axis=0)
    want = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    np.testing.assert_allclose(eigenvalues(X, None), want, rtol=1e-10)
    np.testing.assert_allclose(eigenvalues(X, np.ones(X.shape, bool)), want, rtol=1e-10)
    wide = X[:8] - X[:8].mean(axis=0)
    np.testing.assert_allclose(
        eigenvalues(wide, None), np.linalg.eigvalsh(np.cov(wide.T, bias=True))[::-1][:7], rtol=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_noise_passes_the_band_as_often_as_promised(gaps):
    """At a 90 % band one table of noise in ten shows a first eigenvalue above it: 200 tables, within 3 sigma."""
    above = 0
    for s in range(200):
        t = jury_table(with_gaps(noise(s, 40, 9), gaps, s), standardize=True, seed=s)
        above += parallel_analysis(t.x, t.mask, shuffles=49, band=0.9, seed=s).q > 0
    assert abs(above - 20) <= 3 * np.sqrt(200 * 0.1 * 0.9) + 2


def test_counts_follow_the_size():
    small, large = (jury_table(noise(0, n, 10), standardize=True, seed=0) for n in (30, 40_000))
    assert parallel_analysis(small.x, None, shuffles=None, band=0.95, seed=0).shuffles == 100
    assert parallel_analysis(large.x, None, shuffles=None, band=0.95, seed=0).shuffles == 20
