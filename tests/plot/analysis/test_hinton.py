"""Squares: areas are exact, and the pointer is told every value."""

import numpy as np
import pytest
from matplotlib.patches import Rectangle

import lowdim as ld
from lowdim.plot.access import plot_model
from lowdim.plot.analysis.hinton import GROUND
from lowdim.plot.analysis.hinton import hinton as hinton_of
from lowdim.text.errors import OptionError
from tests.plot.from_arrays import Parts, on_table
from tests.plot.svg_checks import HOSTILE, SVG, parsed, same_twice, svg_of, texts
from tests.plot.tables import bishop


def hinton(W, names):
    """The squares of a model with these loadings."""
    return hinton_of(on_table(Parts(components_=W.T), np.zeros((2, len(W))), names))


def test_areas_are_exactly_proportional():
    W = np.random.default_rng(0).standard_normal((8, 5))
    plot = same_twice(lambda: hinton(W, HOSTILE))
    ax = plot.figure.axes[0]
    boxes = [p for p in ax.patches if isinstance(p, Rectangle)]
    assert len(boxes) == 40
    for box in boxes:
        c, r = (round(box.get_x() + box.get_width() / 2), round(box.get_y() + box.get_height() / 2))
        assert box.get_width() * box.get_height() == pytest.approx(0.81 * abs(W[r, c]) / np.abs(W).max(), rel=1e-9)
        assert box.get_facecolor()[:3] == ((1, 1, 1) if W[r, c] > 0 else (0, 0, 0))
        assert box.get_linewidth() == 0 or box.get_edgecolor()[3] == 0
    assert ax.get_facecolor()[:3] == pytest.approx([int(GROUND[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    assert ax.get_aspect() == 1.0


def test_the_pointer_is_told_every_value():
    W = np.array([[1.25, 0.0], [-0.5, 2.0]])
    root = parsed(hinton(W, ["a<b", "c"]))
    said = [t.text for g in root.iter(f"{SVG}g") for t in g.findall(f"{SVG}title")]
    assert sorted(said) == ["a<b, axis 1: 1.25", "c, axis 1: -0.5", "c, axis 2: 2"]


def test_axes_that_were_switched_off_stay_empty():
    """Bishop's figure: maximum likelihood uses all nine columns, the Bayesian model three, and the rest are empty."""
    X = bishop()
    bayes = ld.BayesianPCA(9).fit(X)
    plot = hinton_of(on_table(bayes, X))
    assert plot.title == "3 of 9 axes in use" and plot.sentence.endswith("6 of 9 axes are switched off.")
    assert [t for t in texts(plot) if "off" in t].count("off") == 6
    assert plot.data["entry"][:, :3] == pytest.approx(bayes.components_.T) and not plot.data["entry"][:, 3:].any()
    likely = ld.PPCA(9).fit(X)
    plot = hinton_of(on_table(likely, X))
    assert plot.title == "9 of 9 axes in use" and plot.data["entry"] == pytest.approx(likely.components_.T)
    shown = plot_model("relevance", bayes, ld.read(X))
    assert shown.title == "3 of 9 axes kept" and shown.data["kept"].sum() == 3


def test_squares_of_nothing_of_much_and_of_the_wrong_shape():
    parsed(hinton(np.zeros((3, 2)), HOSTILE[:3]))
    with pytest.raises(OptionError, match="LD215"):
        hinton(np.zeros((3, 0)), HOSTILE[:3])
    big = hinton(np.random.default_rng(0).normal(size=(200, 30)), [f"column {j}" for j in range(200)])
    assert "24 of 200 columns drawn" in big.title and len(svg_of(big)) < 700_000
