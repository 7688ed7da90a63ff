"""Plots of the number of dimensions against what NumPy and SciPy say directly."""

import numpy as np
import pytest
from scipy import stats

import lowdim as ld
from lowdim.plot.analysis import dimensions
from lowdim.plot.analysis.dimensions import gamma_density
from lowdim.text.errors import OptionError
from tests.conftest import need
from tests.plot.from_arrays import Parts, distances, heldout, jury, scree
from tests.plot.svg_checks import HOSTILE, apart, same_twice, texts


def test_scree_counts_what_stands_above_shuffled_data() -> None:
    values, band = np.array([3.0, 1.6, 1.1, 0.9, 1.3]), np.array([1.5, 1.3, 1.2, 1.0, 0.5])
    plot = same_twice(lambda: scree(values, band=band, q=3))
    assert plot.data["above"].tolist() == [True, True, False, False, False]  # the first below ends the count
    assert plot.title == "2 eigenvalues stand above shuffled data; 3 kept"
    assert "hold 72% of the variance" in plot.sentence  # 5.7 / 7.9
    assert "the last of them is 1.6 where shuffled data reach 1.3" in plot.sentence
    assert plot.data["kept"].tolist() == [3] and "95% limit of shuffled data" in texts(plot)


def test_scree_of_noise_and_of_edges() -> None:
    plot = scree([1.1, 1.0], band=[1.2, 1.1], q=0)
    assert plot.title == "No eigenvalue stands above shuffled data"
    assert "kept" not in plot.sentence
    assert same_twice(lambda: scree([2.0, -0.01])).title == "2 eigenvalues, from 2 down to -0.01"
    wide = same_twice(lambda: scree(1e6 * 0.5 ** np.arange(200.0), band=np.full(200, 2.0), q=18))
    assert any("log scale" in t for t in texts(wide)) and any("the first 40 of 200" in t for t in texts(wide))
    assert len(wide.data["eigenvalue"]) == 200


def test_jury_counts_votes() -> None:
    weights = [0, 0, 0.03, 0.97], [0, 0, 0.2, 0.8]
    picks = {"held-out cells": 3, "BIC": 3, "Minka, complete rows": 3, "parallel analysis": 2, "late": None}
    plot = same_twice(lambda: jury(range(4), weights, picks, 3))
    assert plot.title == "3 dimensions: 3 of 4 judges agree"
    assert "Minka, complete rows 3 (weight 80%)" in plot.sentence
    assert plot.sentence.endswith("No answer from late.")
    assert plot.data["weight: evidence on all rows (BIC)"].tolist() == [0, 0, 0.03, 0.97]
    assert plot.data["weight: Minka, complete rows"].tolist() == [0, 0, 0.2, 0.8]
    assert np.isnan(plot.data["pick"][4]) and plot.data["pick"][:4].tolist() == [3, 3, 3, 2]
    assert "no answer for this table" in texts(plot)


def test_jury_may_find_nothing_and_takes_any_name() -> None:
    assert jury([0, 1], [[0.99, 0.01]], {"e": 0}, 0).title == "No shared structure found: 1 of 1 judge agrees"
    plot = same_twice(lambda: jury(range(60), [np.full(60, 1 / 60)], dict.fromkeys(HOSTILE, 7), 7))
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
    assert "2 and 3 cannot be distinguished (-0.009 ± 0.014)" in plot.sentence and "450 cells" in plot.sentence
    assert any("3 detectable" in t for t in texts(plot))
    assert same_twice(lambda: heldout([0], [0.0], [0.0], 0)).title.startswith("No number of dimensions")


def test_gamma_density_is_scipys() -> None:
    x = np.linspace(0.05, 4, 50)
    for k in (1.0, 4.3, 10.0, 1000.0):
        assert gamma_density(x, k) == pytest.approx(stats.gamma.pdf(x, k / 2, scale=2 / k), rel=1e-10, abs=1e-250)


def test_distances_of_independent_columns_match_their_number() -> None:
    X = np.random.default_rng(0).standard_normal((400, 10))
    law = ld.distance_law(X)
    plot = same_twice(lambda: distances(law))
    k = plot.data["effective"][0]
    squared = ((X[:, None] - X) ** 2).sum(axis=2)[np.triu_indices(400, 1)]
    assert k == law.effective == pytest.approx(2 * squared.mean() ** 2 / squared.var(), rel=0.02) and 9 < k < 11
    edges = np.r_[plot.data["left"], plot.data["right"][-1]]
    assert (plot.data["density"] * np.diff(edges)).sum() == pytest.approx(1.0)
    direct, _ = np.histogram(squared / squared.mean(), bins=edges, density=True)
    assert plot.data["density"] == pytest.approx(direct, abs=0.08)
    assert plot.sentence.endswith("spread, not the number of signals.")
    assert "spread, not number of signals" in texts(plot)


def test_distances_tiny_and_wide() -> None:
    rng = np.random.default_rng(0)
    tiny = ld.distance_law(rng.standard_normal((4, 2)))
    same_twice(lambda: distances(tiny))
    wide = ld.distance_law(rng.standard_normal((60, 1000)))
    assert "cells are compared on average" in same_twice(lambda: distances(wide._replace(compared=900.5))).sentence


def test_what_was_not_measured_is_said() -> None:
    none = Parts(eigenvalues=[], rows=[], notes=("fewer than two columns vary",), q=2, distances=None)
    for plot in (dimensions.scree, dimensions.jury, dimensions.heldout, dimensions.distances):
        with pytest.raises(OptionError, match="LD216"):
            plot(Parts(jury=none, dims=2))
    with pytest.raises(OptionError, match=r"LD216[\s\S]*no rows were left out"):
        heldout([0, 1], [0.0, 0.1], [0.0, 0.0], 2)


def test_drawing_again_changes_nothing() -> None:
    plot = scree([3.0, 1.0], band=[1.2, 1.1], q=1)
    assert plot.svg() == plot.svg()


def test_digester_jury() -> None:
    """The judges' own results bind as they are; four eigenvalues stand above, five are needed."""
    from lowdim.judge.dimensions.jury import choose_dimension

    X = np.genfromtxt(need("digester/kamyr.csv"), delimiter=",")
    found = choose_dimension(X, most=6, shuffles=40, folds=4)
    analysis = Parts(jury=found, dims=found.q)
    assert dimensions.scree(analysis).title == "4 eigenvalues stand above shuffled data; 5 kept"
    assert found.distances is not None
    assert 5.4 < dimensions.distances(analysis).data["effective"][0] < 7.0  # 6.4, participation ratio 5.4
