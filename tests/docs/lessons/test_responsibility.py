"""The posterior of a row over the nodes of a GTM: shares by hand, its mean and mode those of the model."""

import numpy as np
import pytest
from lessons.responsibility import responsibility
from scipy.special import softmax

import lowdim as ld
from tests.plot.svg_checks import same_twice
from tests.plot.tables import roll


@pytest.fixture(scope="module")
def sheet():
    return ld.GTM(2, grid=8, basis=4).fit(roll()[0])


def test_shares_are_those_of_the_nodes_densities(sheet):
    X, _ = roll()
    plot = same_twice(lambda: responsibility(sheet, X, 7))
    by_hand = softmax(-((X[7] - sheet.nodes_) ** 2).sum(axis=1) / (2 * sheet.noise_variance_))
    assert plot.data["share"] == pytest.approx(by_hand, abs=1e-9)
    assert plot.data["mean"] == pytest.approx(by_hand @ sheet.grid_) == sheet.transform(X)[7]
    assert plot.data["mode"].tolist() == sheet.grid_[by_hand.argmax()].tolist() and plot.title.startswith("Row 8: ")
    held = int((np.cumsum(np.sort(by_hand)[::-1]) < 0.9).sum()) + 1
    assert f"{held} of 64 nodes hold" in plot.sentence


def test_without_a_row_the_most_spread_out_is_drawn(sheet):
    X, _ = roll(gaps=0.3)
    plot = responsibility(sheet, X)
    apart = np.linalg.norm(sheet.transform(X) - sheet.mode(X), axis=1)
    assert f"Row {int(apart.argmax()) + 1} (the most spread out of all)" in plot.sentence
    assert f"{apart.max() / (2 / 7):.3g} spacings apart" in plot.sentence
    assert "where little of the posterior is" in plot.sentence
