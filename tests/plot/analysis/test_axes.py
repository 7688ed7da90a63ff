"""Loadings, Hinton squares and axis cards."""

import numpy as np
import pytest

import lowdim as ld
from lowdim.judge.axes import AxisCard, Loading
from lowdim.judge.labels import LabelTie
from lowdim.plot.analysis.axes import by_axis
from lowdim.text.errors import OptionError
from tests.judge.rows.judging import axes as axis_cards_of
from tests.plot.from_arrays import axis_cards, loadings
from tests.plot.svg_checks import HOSTILE, apart, parsed, same_twice, texts


def test_loadings_are_ordered_by_axis():
    L = np.array([[0.1, -0.9], [0.8, 0.0], [0.2, 0.7], [-0.9, 0.3]])
    # axis 1's columns first (+0.8, -0.9), then axis 2's (+0.7, -0.9)
    assert by_axis(L).tolist() == [1, 3, 2, 0]
    plot = same_twice(lambda: loadings(L, HOSTILE[:4], 0.1 + 0 * L, np.array([0.5, 0.2])))
    ax = plot.figure.axes[0]
    np.testing.assert_allclose(ax.images[0].get_array(), L[[1, 3, 2, 0]])
    low, high = ax.images[0].get_clim()
    assert -low == high == 0.9  # white is zero
    apart(ax.get_yticklabels())
    assert plot.data["drawn_row"].tolist() == [2, 4, 3, 1]


def test_dot_areas_follow_the_widths_and_hollow_is_doubt():
    L = np.array([[0.9, 0.1], [0.5, -0.6]])
    widths = np.array([[0.2, 0.4], [1.2, 0.8]])
    plot = loadings(L, ["a", "b"], widths)
    sure, doubt = plot.figure.axes[0].collections
    places = [(c.get_offsets(), c.get_sizes(), c.get_facecolor()) for c in (sure, doubt)]
    for offsets, sizes, _ in places:
        for (x, y), size in zip(np.asarray(offsets).astype(int), sizes, strict=True):
            row = plot.data["drawn_row"][y] - 1
            assert size == pytest.approx(90 * widths[row, x] / 1.2)
    assert len(sure.get_offsets()) == 2 and len(doubt.get_offsets()) == 2
    assert "2 of 4 loadings are larger than half the width" in plot.sentence


def test_loadings_of_two_hundred_columns_and_of_no_axis():
    rng = np.random.default_rng(0)
    plot = loadings(rng.normal(size=(200, 12)), [f"column {j}" for j in range(200)], np.ones((200, 12)))
    assert len([t for t in texts(plot) if t.startswith("column ")]) == 24 and plot.data["loading"].shape == (200, 12)
    for k in range(12):  # the strongest column of every axis is among them
        assert np.abs(plot.data["loading"][:, k]).argmax() + 1 in plot.data["drawn_row"]
    parsed(loadings(np.zeros((4, 1)), HOSTILE[:4], np.zeros((4, 1))))
    with pytest.raises(OptionError, match="LD215"):
        loadings(np.zeros((4, 0)), HOSTILE[:4], np.zeros((4, 0)))


def test_cards_of_a_fitted_model():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(120, 2))
    X = z @ np.array([[3.0, 3.0, 0.0, 0.1], [0.0, 0.1, 1.5, -1.5]]) + 0.3 * rng.normal(size=(120, 4))
    cards = axis_cards_of(ld.PPCA(2).fit(X), X, bootstraps=20, labels={"side": np.where(z[:, 0] > 0, "left", "right")})
    plot = same_twice(lambda: axis_cards(cards))
    assert plot.data["axis"].tolist() == [1] * 4 + [2] * 4
    assert (plot.data["low"] <= plot.data["high"]).all()
    np.testing.assert_allclose(plot.data["loading"][:4], [x.value for x in cards[0].loadings])
    words = " ".join(texts(plot))
    assert f"{cards[0].low_rows[0] + 1}" in words and "side explains" in words
    assert plot.title.startswith("Axis 1 (")


def test_many_cards_and_none():
    row = tuple(Loading(name, 0.5 - 0.2 * k, 0.4 - 0.2 * k, 0.6 - 0.2 * k) for k, name in enumerate(HOSTILE[:5]))
    tie = (LabelTie("$sort$ <of>", 0.4, 3, 0.01, True),)
    cards = [
        AxisCard(k + 1, 0.1, row, row[:2], (1, 2) if k < 2 else (), tie, (0, 1), (2, 3), 0.9, 50, "") for k in range(8)
    ]
    plot = axis_cards(cards, row_names=[*HOSTILE])
    assert "6 of 8 axes drawn" in plot.title
    parsed(plot)
    assert any("interchangeable with axis 2" in text for text in texts(plot))
    assert len(plot.data["axis"]) == 40
    assert not any("end rows" in text for text in texts(axis_cards(cards, row_names=[*HOSTILE], show_rows=False)))
    with pytest.raises(OptionError, match="LD215"):
        axis_cards([])
