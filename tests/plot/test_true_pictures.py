"""What pictures must show truly, whatever the table: equal axes, own units, names beside their points."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Annotation

import lowdim as ld
from lowdim.plot.registry import every_plot
from lowdim.text.messages import LowdimError
from tests.plot.svg_checks import inside

MAPS = ("map", "biplot", "density", "stability", "other_axes", "trust")  # a unit is as long across as up
FARTHEST_NAME = 200.0  # points from a name to what it names


def factors(n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    z, W = rng.standard_normal((n, 3)) * [1.5, 1.0, 0.7], rng.standard_normal((3, d))
    return z @ W + 0.3 * rng.standard_normal((n, d))


def logged() -> np.ndarray:
    """Columns over four decades."""
    X = np.exp(1.2 * factors(90, 6, 0))
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    X[4, 0] *= 1e4
    return X


TABLES = {
    "logged": logged,
    "unequal": lambda: factors(90, 7, 1) * 10.0 ** np.arange(-4, 3) + 10.0 ** np.arange(-2, 5),
    "tiny": lambda: factors(5, 3, 2),
    "huge": lambda: np.concatenate([factors(3200, 5, 3), factors(3, 5, 4) + 60.0]),
}


@pytest.fixture(scope="module", params=TABLES)
def analysed(request):
    X = TABLES[request.param]()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])], index=[f"row {i}" for i in range(len(X))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = ld.read(frame, log=[*frame] if request.param == "logged" else ())
        return request.param, ld.analyse(table, dims=1 if request.param == "tiny" else 3, budget="1s")


def drawn(analysis, name):
    """The plot, laid out; None where it says that it does not apply."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            plot = analysis.plot.draw(name)
        except LowdimError:
            return None
    plot.figure.draw_without_rendering()
    return plot


@pytest.mark.parametrize("name", MAPS)
def test_a_unit_is_as_long_across_as_up(analysed, name):
    plot = drawn(analysed[1], name)
    for ax in plot.figure.axes if plot else ():
        if ax.get_xlabel().startswith("axis") and ax.get_ylabel().startswith("axis"):
            across, up = np.diff(ax.transData.transform([[0.0, 0.0], [1.0, 1.0]]), axis=0)[0]
            assert across == pytest.approx(up, rel=6e-3), ax.get_xlabel()
    assert (plot is None) == (analysed[0] == "tiny" and name != "trust")


@pytest.mark.parametrize("name", ["map", "biplot", "t2_q"])
def test_names_stand_beside_their_points(analysed, name):
    plot = drawn(analysed[1], name)
    for text in [t for ax in plot.figure.axes for t in ax.texts if isinstance(t, Annotation)] if plot else ():
        assert np.hypot(*text.xyann) <= FARTHEST_NAME, text.get_text()


def test_numbers_are_in_the_columns_own_units(analysed):
    """Of a walk, of fills and of the ends of columns: what the table itself could hold."""
    kind, analysis = analysed
    own = analysis.table.scales.outward(analysis.table.X)
    reach = np.array([np.nanmin(own, axis=0), np.nanmax(own, axis=0)])
    strips = drawn(analysis, "columns")
    slack = 1e-9 * np.abs(reach)
    assert (strips.data["low"] >= reach[0] - slack[0]).all() and (strips.data["high"] <= reach[1] + slack[1]).all()
    walk, filled = drawn(analysis, "traverse"), drawn(analysis, "fills")
    assert (walk.data["lower"] <= walk.data["mean"]).all() and (walk.data["mean"] <= walk.data["upper"]).all()
    if kind == "logged":
        assert (walk.data["lower"] > 0).all() and (filled.data["lower"] > 0).all()
        ratio = np.log(walk.data["upper"] / walk.data["mean"]) / np.log(walk.data["mean"] / walk.data["lower"])
        assert ratio == pytest.approx(1.0, abs=1e-6)  # even about the mean as logarithms, and so uneven in own units
        assert "±" not in walk.sentence and "±" not in drawn(analysis, "why_row").sentence


@pytest.mark.slow
def test_every_plot_of_any_table_applies_or_says_why(analysed):
    for name in (row.name for row in every_plot()):
        plot = drawn(analysed[1], name)
        if plot is not None:
            inside(plot, slack=0.15)
            assert all(np.isfinite(v).any() or not v.size for v in plot.data.values() if v.dtype.kind == "f"), name
