"""Plots of the number of dimensions against what NumPy and SciPy say directly."""

import numpy as np
import pytest
from scipy import stats

from lowdim.plot.analysis.dimensions import distances, gamma_density, heldout, jury, scree
from tests.conftest import need
from tests.plot.svg_checks import HOSTILE, apart, same_twice, texts


def test_scree_counts_what_stands_above_shuffled_data() -> None:
    values, band = np.array([3.0, 1.6, 1.1, 0.9, 1.3]), np.array([1.5, 1.3, 1.2, 1.0, 0.5])
    plot = same_twice(lambda: scree(values, band=band, interval=[values - 0.2, values + 0.3], noise=0.8, q=3))
    assert plot.data["above"].tolist() == [True, True, False, False, False]  # the first below ends the count
    assert plot.title == "2 eigenvalues stand above shuffled data; 3 kept"
    assert "hold 72% of the variance" in plot.sentence  # 5.7 / 7.9
    assert "the last of them is 1.6 where shuffled data reach 1.3" in plot.sentence
    assert plot.data["noise"].tolist() == [0.8] and plot.data["kept"].tolist() == [3]
    assert {"95% limit of shuffled data", "noise level 0.8"} <= set(texts(plot))


def test_scree_of_noise_and_of_edges() -> None:
    plot = scree([1.1, 1.0], band=[1.2, 1.1], q=0)
    assert plot.title == "No eigenvalue stands above shuffled data"
    assert "kept" not in plot.sentence
    assert same_twice(lambda: scree([2.0, -0.01])).title == "2 eigenvalues, from 2 down to -0.01"
    wide = same_twice(lambda: scree(1e6 * 0.5 ** np.arange(200.0), band=np.ones((2, 200)) * [[0.5], [2.0]], q=18))
    assert any("log scale" in t for t in texts(wide)) and any("the first 40 of 200" in t for t in texts(wide))
    assert len(wide.data["eigenvalue"]) == 200


def test_jury_counts_votes_not_advice() -> None:
    weights = {"BIC": [0, 0, 0.03, 0.97], "Minka": [0, 0, 0.2, 0.8]}
    picks = {"held-out cells": 3, "BIC": 3, "Minka": 3, "parallel analysis": 2, "threshold": 1, "late": None}
    plot = same_twice(lambda: jury(range(4), weights, picks, 3, advisers=["threshold"]))
    assert plot.title == "3 dimensions: 3 of 4 judges agree"
    assert "BIC 3 (weight 97%)" in plot.sentence and "threshold 1 (no vote)" in plot.sentence
    assert plot.sentence.endswith("No answer from late.")
    assert plot.data["weight: Minka"].tolist() == [0, 0, 0.2, 0.8]
    assert np.isnan(plot.data["pick"][5]) and plot.data["pick"][:5].tolist() == [3, 3, 3, 2, 1]
    assert "no answer for this table" in texts(plot)


def test_jury_may_find_nothing_and_takes_any_name() -> None:
    assert jury([0, 1], {"e": [0.99, 0.01]}, {"e": 0}, 0).title == "No shared structure found: 1 of 1 judge agrees"
    plot = same_twice(
        lambda: jury(range(60), {n: np.full(60, 1 / 60) for n in HOSTILE[:3]}, dict.fromkeys(HOSTILE, 7), 7)
    )
    apart(plot.figure.axes[1].get_yticklabels())
    assert "a<b> & 'c'" in texts(plot) and "$x^2$ price $" in texts(plot)


def test_heldout_differences_are_paired() -> None:
    skill, errors = [0, 0.3, 0.45, 0.459], [0.05, 0.03, 0.0, 0.014]
    own = [0, 0.2, 0.4, 0.38]
    plot = same_twice(lambda: heldout(range(4), skill, errors, 2, own=own, detectable=3, cells=450))
    assert plot.data["difference"] == pytest.approx([-0.45, -0.15, 0.0, 0.009])
    assert plot.data["own_units"].tolist() == own and plot.data["detectable"].tolist() == [3]
    assert plot.title == "2 dimensions predict 45% of the variance of left-out rows' cells"
    assert "2 beats 1 (0.15 ± 0.03)" in plot.sentence
    assert "2 and 3 cannot be told apart (-0.009 ± 0.014)" in plot.sentence and "450 cells" in plot.sentence
    assert any("3 told from noise" in t for t in texts(plot))
    assert same_twice(lambda: heldout([0], [0.0], [0.0], 0)).title.startswith("No number of dimensions")


def test_gamma_density_is_scipys() -> None:
    x = np.linspace(0.05, 4, 50)
    for k in (1.0, 4.3, 10.0, 1000.0):
        assert gamma_density(x, k) == pytest.approx(stats.gamma.pdf(x, k / 2, scale=2 / k), rel=1e-10, abs=1e-250)


def test_distances_of_independent_columns_match_their_number() -> None:
    X = np.random.default_rng(0).standard_normal((400, 10))
    squared = ((X[::2, None] - X[None, 1::2]) ** 2).sum(axis=2).ravel()
    plot = same_twice(lambda: distances(squared, 10))
    k = plot.data["effective"][0]
    assert k == pytest.approx(2 * squared.mean() ** 2 / squared.var()) and 9 < k < 11
    assert (plot.data["density"] * (plot.data["right"] - plot.data["left"])).sum() == pytest.approx(1.0)
    assert plot.sentence.endswith("spread, not the number of signals.")
    assert "spread, not number of signals" in texts(plot)


def test_distances_from_a_histogram_equal_those_from_the_values() -> None:
    squared = np.random.default_rng(1).chisquare(3, 5000)
    counts, edges = np.histogram(squared, bins=34)
    one = distances(squared, 12)
    two = distances(counts, 12, edges=edges, mean=squared.mean(), effective=2 * squared.mean() ** 2 / squared.var())
    assert one.data["density"] == pytest.approx(two.data["density"]) and one.title == two.title
    loose = distances(counts, 12, edges=edges)  # moments from the middles of the bins
    assert loose.data["effective"][0] == pytest.approx(one.data["effective"][0], rel=0.02)


def test_distances_tiny_and_wide() -> None:
    same_twice(lambda: distances([1.0, 2.0, 4.0], 2))
    same_twice(lambda: distances([1.0, 1.0, 1.0], 2))
    same_twice(lambda: distances(np.random.default_rng(0).chisquare(1000, 2000), 1000, law=0.004, compared=900.5))


def test_what_was_not_measured_is_said() -> None:
    assert same_twice(lambda: scree([])).title == "No eigenvalues"
    assert same_twice(lambda: heldout([], [], [], 2)).title == "No rows were left out"
    assert same_twice(lambda: jury([], {"BIC": []}, {"BIC": None}, 2)).title == "2 dimensions: 0 of 0 judges agree"


def test_drawing_again_changes_nothing() -> None:
    plot = scree([3.0, 1.0], band=[1.2, 1.1], q=1)
    assert plot.svg() == plot.svg()


def test_digester_jury() -> None:
    """The judges' own results bind as they are; four eigenvalues stand above, five are needed."""
    from lowdim.judge.dimensions.jury import choose_dimension

    X = np.genfromtxt(need("digester/kamyr.csv"), delimiter=",")
    found = choose_dimension(X, most=6, shuffles=40, folds=4)
    plot = scree(found.eigenvalues, band=found.band, q=found.q)
    assert plot.title == "4 eigenvalues stand above shuffled data; 5 kept"
    law = found.distances
    assert law is not None
    spread = distances(
        law.counts, law.columns, edges=law.edges, mean=law.mean, effective=law.effective, compared=law.compared
    )
    assert 5.4 < spread.data["effective"][0] < 7.0  # 6.4, participation ratio 5.4
