"""Eigenvalues against chance, by simulation and the published threshold."""

import numpy as np
import pytest

from lowdim.judge.dimensions.evidence import jury_table, spectrum
from lowdim.judge.dimensions.parallel import (
    eigenvalues,
    gavish_donoho,
    marchenko_pastur_median,
    parallel_analysis,
    shuffled,
    threshold,
)
from tests.judge.simulated import noise, rank_two, seeds_gaussian, with_gaps


def test_threshold_is_gavish_and_donohos():
    """2.858 for square tables, and their cubic within its stated 0.02."""
    assert threshold(1.0) == pytest.approx(2.858, abs=5e-4)
    for b in (0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0):
        assert threshold(b) == pytest.approx(0.56 * b**3 - 0.95 * b**2 + 1.82 * b + 1.43, abs=0.02)


@pytest.mark.parametrize(("n", "d"), [(1200, 300), (800, 720)])
def test_median_is_that_of_random_matrices(n, d):
    X = np.random.default_rng(0).standard_normal((n, d))
    found = np.median(np.linalg.eigvalsh(X.T @ X / n))
    assert marchenko_pastur_median(d / n) == pytest.approx(found, rel=0.01)


def test_gavish_donoho_on_known_ranks():
    for X, q in ((rank_two(200, d=100), 2), (noise(0, 300, 60), 0), (seeds_gaussian(0), 3)):
        assert gavish_donoho(spectrum(X), *X.shape) == q


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


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_noise_passes_the_band_as_often_as_promised(gaps):
    """At a 90 % band one table of noise in ten shows a first eigenvalue above it: 200 tables, within 3 sigma."""
    above = 0
    for s in range(200):
        t = jury_table(with_gaps(noise(s, 40, 9), gaps, s), standardize=True, seed=s)
        above += parallel_analysis(t, shuffles=49, band=0.9, seed=s).q > 0
    assert abs(above - 20) <= 3 * np.sqrt(200 * 0.1 * 0.9) + 2


def test_counts_follow_the_size():
    small, large = (jury_table(noise(0, n, 10), standardize=True, seed=0) for n in (30, 40_000))
    assert parallel_analysis(small, shuffles=None, band=0.95, seed=0).shuffles == 200
    assert parallel_analysis(large, shuffles=None, band=0.95, seed=0).shuffles == 50
