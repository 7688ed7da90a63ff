"""The law of distances: the printed figures of [Lawrence2012] 1, and simulations."""

import csv

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import lowdim as ld
from lowdim.judge.dimensions.distance_law import distance_law
from tests.conftest import need
from tests.judge.simulated import noise, seeds_gaussian, with_gaps


def oil() -> np.ndarray:
    with need("oil_flow/oil_flow.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "train"]
    return np.array([[float(row[f"x{j:02d}"]) for j in range(1, 13)] for row in rows])


def test_published_variances():
    """[Lawrence2012], figures 1.10, 1.12, 1.14: 1.98, 1.09, 0.694 against 8/p."""
    stick = np.genfromtxt(need("stick_man/stick_man.csv"), delimiter=",", skip_header=1)
    yeast = np.nan_to_num(np.load(need("spellman_yeast/spellman_yeast.npz"))["X"].astype(float))
    for X, want, p in ((oil(), 1.97894, 12), (stick, 1.09324, 102), (yeast, 0.69368, 6178)):
        law = distance_law(X)
        assert law.variance == pytest.approx(want, abs=5e-6)
        assert law.columns == p
        assert law.gaussian_variance == pytest.approx(8 / p, rel=1e-9)
        assert law.mean == pytest.approx(2.0, rel=1e-9)


def test_all_pairs_are_scipys():
    X = seeds_gaussian(0)[:80]
    unit = X / X.std(axis=0, ddof=1)
    want = pdist(unit, "sqeuclidean") / 10
    law = distance_law(X)
    assert law.pairs == len(want) == 80 * 79 // 2
    assert (law.mean, law.variance) == pytest.approx((want.mean(), want.var(ddof=1)), rel=1e-10)
    slack = 1e-12 * want.max()  # the first and last edge are pairs themselves: either side of one is right
    below = np.append(0, np.cumsum(law.counts))
    assert (below[1:-1] >= np.searchsorted(np.sort(want), law.edges[1:-1] - slack)).all()
    assert (below[1:-1] <= np.searchsorted(np.sort(want), law.edges[1:-1] + slack)).all()
    assert below[-1] == len(want)
    assert (law.edges[0], law.edges[-1]) == pytest.approx((want.min(), want.max()), rel=1e-10)
    raw = distance_law(X, standardize=False)
    assert raw.mean == pytest.approx((pdist(X, "sqeuclidean") / 10).mean(), rel=1e-10)


@pytest.mark.parametrize("draw", ["uniform", "exponential", "normal"])
def test_independent_columns_of_any_shape(draw):
    """Variance 2 (kurtosis + 1)/p for independent columns of unit variance; 8/p is the Gaussian's alone."""
    X = getattr(np.random.default_rng(0), draw)(size=(2000, 40))
    kurtosis = {"uniform": 1.8, "exponential": 9.0, "normal": 3.0}[draw]
    law = distance_law(X)
    assert law.independent_variance == pytest.approx(2 * (kurtosis + 1) / 40, rel=0.08)
    assert law.variance == pytest.approx(law.independent_variance, rel=0.06)


def test_gamma_law_of_independent_gaussian_columns():
    law = distance_law(noise(0, 1000, 12))
    centres, width = (law.edges[1:] + law.edges[:-1]) / 2, np.diff(law.edges)
    density = law.counts / law.pairs / width
    assert np.abs(density - law.gamma(centres)).max() < 0.03 * density.max()
    x = np.linspace(0.01, 20, 20_000)
    assert np.trapezoid(law.gamma(x, 5.0), x) == pytest.approx(1.0, abs=1e-3)


def test_effective_dimension_is_the_participation_ratio():
    rng = np.random.default_rng(1)
    C = np.diag([4.0, 2.0, 1.0, 0.5, 0.2])
    law = distance_law(rng.standard_normal((1500, 5)) @ np.sqrt(C), standardize=False)
    assert law.effective == pytest.approx(np.trace(C) ** 2 / np.trace(C @ C), rel=0.05)


def test_gaps_compare_what_both_rows_have():
    X = with_gaps(noise(0, 60, 8), 0.3)
    law, t = distance_law(X), (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0, ddof=1)
    want = []
    for i in range(60):
        for j in range(i):
            both = ~np.isnan(t[i]) & ~np.isnan(t[j])
            want += [((t[i] - t[j])[both] ** 2).mean()] if both.any() else []
    assert law.pairs == len(want)
    assert (law.mean, law.variance) == pytest.approx((np.mean(want), np.var(want, ddof=1)), rel=1e-10)
    assert "cells both rows have" in law.sentence


def test_effective_dimension_does_not_shrink_with_gaps():
    X = seeds_gaussian(0)
    full, gaps = distance_law(X).effective, distance_law(with_gaps(X, 0.3)).effective
    assert gaps == pytest.approx(full, rel=0.08)
    independent = distance_law(with_gaps(noise(0, 800, 20), 0.3))
    assert independent.effective == pytest.approx(20, rel=0.05)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_drawn_pairs_agree_with_all_of_them(gaps):
    X = with_gaps(seeds_gaussian(0), gaps)
    whole, some = distance_law(X), distance_law(X, pairs=20_000)
    assert some.drawn and not whole.drawn
    assert 19_990 <= some.pairs <= 20_000  # pairs with no cell in common are left out
    assert some.mean == pytest.approx(whole.mean, rel=0.02)
    assert some.variance == pytest.approx(whole.variance, rel=0.05)
    assert distance_law(X, pairs=20_000).variance == some.variance  # the same seed, the same pairs


def test_refusals():
    with pytest.raises(ld.messages.OptionError, match="LD210"):
        distance_law(noise(0), pairs=1)
    with pytest.raises(ld.messages.TableError, match="LD160"):
        distance_law(noise(0)[:2])
    with pytest.warns(ld.messages.TableWarning), pytest.raises(ld.messages.TableError, match="LD163"):
        distance_law(np.ones((10, 3)))


def test_rows_of_a_simplex_are_all_equally_far():
    law = distance_law(np.eye(12), standardize=False)
    assert law.counts.sum() == law.pairs == 66 and law.mean == pytest.approx(2 / 12)
