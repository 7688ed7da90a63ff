"""The bent sheet of a GTM or a density network, and how much it is stretched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.maths.linalg import Array, Mask
from lowdim.plot import base as draw
from lowdim.plot.access import fit_spread_rows, groups_of, lacks, rows_with_gaps
from lowdim.plot.base import Plot
from lowdim.plot.colour import Groups, draw_groups, explain_kinds
from lowdim.plot.marks import MOST_POINTS, as_map, legend_above, own_ticks, spread_out
from lowdim.plot.registry import COLOR, PLANE, plot
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.jobs.analysis import Analysis
    from lowdim.jobs.table_model import TableModel

SHEET_LINES = 15  # lines a side where the latent points are a drawn sample and no grid
SHEET_REACH = 2.0  # of such a sheet, in standard deviations of its Gaussian
SMALLEST_STRETCH = 1e-12  # of the largest: a sheet that is folded flat has none, and its logarithm must be drawn
STRETCH_SHADES = "Greys"  # under coloured rows; dark = stretched
POINTS_PER_NODE = 4  # points of a line between two nodes


class Lattice(NamedTuple):
    """The regular grid of latent points that a sheet is drawn by: its coordinates along each axis."""

    sides: tuple[Array, ...]
    of_model: bool  # the model's own nodes

    @property
    def points(self) -> Array:
        """All of them, K x L, the last axis first to change."""
        return np.stack([part.ravel() for part in np.meshgrid(*self.sides, indexing="ij")], axis=1)

    @property
    def words(self) -> str:
        """Its size, e.g. 20 x 20."""
        return " x ".join(str(len(side)) for side in self.sides)


def lattice(subject: TableModel, name: str) -> Lattice:
    """The grid of a GTM; of a density network, which has a drawn sample, a regular one over most of it."""
    grid = vars(subject.model).get("grid_")
    if grid is None or grid.shape[1] > 2:
        why = "it has no sheet of nodes" if grid is None else f"its map has {grid.shape[1]} axes, and pages have two"
        fix = "a GTM or a density network with one or two axes:  lowdim fit FILE -m gtm --dims 2"
        raise lacks(subject, name, why, fix)
    sides = tuple(np.unique(grid[:, k]) for k in range(grid.shape[1]))
    even = all(np.allclose(np.diff(side), np.ptp(side) / max(len(side) - 1, 1)) for side in sides)
    if even and int(np.prod([len(side) for side in sides])) == len(grid):
        return Lattice(sides, True)
    return Lattice((np.linspace(-SHEET_REACH, SHEET_REACH, SHEET_LINES),) * grid.shape[1], False)


class TablePlane(NamedTuple):
    """Two directions of the table: V (d x 2) after `mean` is taken off, their labels, their share of the variation."""

    mean: Array
    V: Array
    labels: tuple[str, str]
    share: float

    def of(self, cells: Array) -> Array:
        """Cells as points of the plane."""
        return np.asarray((cells - self.mean) @ self.V)


def plane(X: Array, columns: tuple[int, int] | None, names: Sequence[str], unit: Array) -> TablePlane:
    """The plane of two columns in their own units, or that of the first principal axes of a complete table."""
    d = X.shape[1]
    if d < 2:
        why, fix = "a sheet is seen in a plane", "a table of two columns or more"
        raise error("LD216.model", name="gtm_sheet", model="a table of one column", why=why, fix=fix)
    centred = X - X.mean(axis=0)
    total = float((centred**2).sum()) or 1.0
    if columns is None and d == 2:
        columns = (0, 1)
    if columns is None:
        axes = np.linalg.svd(centred, full_matrices=False)[2][:2].T
        part = (centred @ axes).var(axis=0) * len(X) / total
        labels = [f"principal axis {k + 1} ({draw.percent(p)} of the variation)" for k, p in enumerate(part)]
        return TablePlane(X.mean(axis=0), axes, (labels[0], labels[1]), float(part.sum()))
    if len({*columns}) != 2 or not all(0 <= j < d for j in columns):
        raise error("LD210", option="columns", value=columns, allowed=f"two different columns from 0 to {d - 1}")
    pair = list(columns)
    share, labels = float((centred[:, pair] ** 2).sum()) / total, [draw.short(names[j]) for j in pair]
    return TablePlane(np.zeros(d), np.eye(d)[:, pair] * unit[pair], (labels[0], labels[1]), share)


def gtm_of(analysis: Analysis, model: Any) -> TableModel:
    """The model that is given, or a GTM of up to 3,000 rows."""
    from lowdim.models.nonlinear.gtm import GTM

    return fit_spread_rows(analysis, model, GTM, MOST_POINTS)


@plot(
    "gtm_sheet",
    "The bent sheet of a GTM or a density network.",
    needs="model",
    options=(COLOR, PLANE),
    stand_in=gtm_of,
)
def gtm_sheet(subject: TableModel, *, columns: tuple[int, int] | None = None, color: Any = None) -> Plot:
    """The sheet of a fitted GTM or density network as lines through its nodes, bent through the rows.

    The plane is that of two columns or of the first two principal axes of the rows, their gaps filled by the model;
    rows with gaps are hollow. Rows scatter about the sheet with the model's noise, which the sentence gives.

    Reference: C. Bishop, M. Svensen and C. Williams, GTM: the generative topographic mapping, Neural Computation 10,
    1998, figure 1.

    Parameters
    ----------
    subject : TableModel
        The model; of an analysis without `model=`, a GTM of its table.
    columns : tuple of two int, optional
        Positions of the columns to draw in; the plane of the first principal axes where it is left out.
    """
    from matplotlib.lines import Line2D

    model, X, net = subject.model, subject.taken, lattice(subject, "gtm_sheet")
    gap = rows_with_gaps(subject)
    filled = np.asarray(model.impute(X)) if gap.any() else X
    view = plane(filled, columns, subject.table.names, subject.unit)
    nodes = view.of(np.asarray(model.inverse_transform(net.points)))
    rows = view.of(filled)
    figure = draw.blank(6.4, 4.8)
    ax = figure.subplots()
    kinds, shown = groups_of(subject, color), spread_out(len(X), MOST_POINTS)
    draw_groups(ax, rows, kinds, gap, shown)
    _lines(ax, model, net, view)
    ax.plot(*nodes.T, ".", color=draw.INK, ms=2.5, zorder=5)
    ax.set(xlabel=view.labels[0], ylabel=view.labels[1])
    if columns is None and X.shape[1] > 2:
        as_map(ax, *view.labels)
    else:
        for axis, j in zip((ax.xaxis, ax.yaxis), columns or (0, 1), strict=True):
            own_ticks(axis, subject.table.scales, j)
    sheet = Line2D([], [], color=draw.INK, lw=0.8, marker=".", ms=4)
    sheet.set_label("the sheet, and its nodes" if net.of_model else "the sheet (a latent grid)")
    legend_above(ax, handles=[sheet])
    explain_kinds(figure, kinds, gap)
    title, sentence = _words(model, X, net, view, len(shown))
    draw.headline(figure, title)
    data = {"node_place": net.points, "node": nodes, "row": rows, "has_gaps": gap}
    return Plot("gtm_sheet", figure, title=title, sentence=sentence + kinds.words, data=data)


def _lines(ax: Axes, model: Any, net: Lattice, view: TablePlane) -> None:
    """Curves of the sheet along which one latent coordinate alone changes."""
    from matplotlib.collections import LineCollection

    curves = []
    for k, side in enumerate(net.sides):
        steps = np.arange(POINTS_PER_NODE * (len(side) - 1) + 1) / POINTS_PER_NODE
        along = np.interp(steps, np.arange(len(side)), side)
        others = [other for j, other in enumerate(net.sides) if j != k]
        for fixed in others[0] if others else [None]:
            Z = along[:, None] if fixed is None else np.insert(along[:, None], 1 - k, fixed, axis=1)
            curves.append(view.of(np.asarray(model.inverse_transform(Z))))
    ax.add_collection(LineCollection(curves, colors=draw.INK, linewidths=0.7, alpha=0.55, zorder=4))
    ax.autoscale_view()


def explained(model: Any, X: Array) -> float:
    """The share of the seen cells' variation about their means that the model makes again."""
    mask: Mask = ~np.isnan(X)
    mean = np.nanmean(X, axis=0)
    residual = np.where(mask, X - np.asarray(model.reconstruct(X)), 0.0)
    total = float((np.where(mask, X - mean, 0.0) ** 2).sum())
    return 1.0 - float((residual**2).sum()) / total if total > 0 else 1.0


def _words(model: Any, X: Array, net: Lattice, view: TablePlane, shown: int) -> tuple[str, str]:
    what = f"{net.words} {'nodes' if net.of_model else 'latent points'}"
    noise = float(np.sqrt(model.noise_variance_))
    title = f"A sheet of {what}, bent through {draw.count(len(X), 'row')}"
    text = (
        f"The sheet ({what}) holds {draw.percent(explained(model, X))} of the variation; a cell scatters about it with "
        f"a standard deviation of {draw.number(noise)} (model's units). This plane shows "
        f"{draw.percent(view.share)} of it."
    )
    return title, text + (f" {shown:,} of {len(X):,} rows are drawn." if shown < len(X) else "")


# on the map ------------------------------------------------------------------------------------------
@plot("magnification", "How much the sheet of a GTM is stretched.", needs="model", options=(COLOR,), stand_in=gtm_of)
def magnification(subject: TableModel, *, color: Any = None) -> Plot:
    """How much area (with one axis: length) of the table a piece of the map is worth, on a logarithmic scale.

    The factor is sqrt(det J'J), J the slopes of the sheet, over its median on the map. Dark borders separate groups
    that lie close on the map and far apart in the table. Rows lie at their posterior means.

    Reference: C. Bishop, M. Svensen and C. Williams, Magnification factors for the GTM algorithm, Fifth International
    Conference on Artificial Neural Networks, 1997.

    Parameters
    ----------
    subject : TableModel
        A GTM or a density network; of an analysis without `model=`, a GTM of its table.
    """
    model, X, net = subject.model, subject.taken, lattice(subject, "magnification")
    stretch = np.asarray(model.magnification(net.points), dtype=np.float64)
    stretch = np.maximum(stretch, SMALLEST_STRETCH * (stretch.max(initial=0.0) or 1.0))
    value = np.log10(stretch / np.median(stretch))
    rows, gap, kinds = np.asarray(model.transform(X)), rows_with_gaps(subject), groups_of(subject, color)
    figure = draw.blank(6.4, 4.8)
    ax = figure.subplots()
    if len(net.sides) == 1:
        _curve(ax, net, value, rows, kinds)
    else:
        darkest = float(value.max()) + 0.4 * (float(np.ptp(value)) or 1.0)  # rows must stay visible on it
        grid, (x, y) = value.reshape([len(s) for s in net.sides]).T, net.sides
        shade = ax.pcolormesh(x, y, grid, cmap=STRETCH_SHADES, shading="nearest", vmax=darkest, rasterized=True)
        bar = figure.colorbar(shade, ax=ax, shrink=0.8, label="area in the table, over its median")
        bar.ax.set_ylim(float(value.min()), float(value.max()))
        _powers(bar.ax.yaxis, value)
        draw_groups(ax, rows, kinds, gap, spread_out(len(rows), MOST_POINTS))
        as_map(ax, "axis 1 of the map (no scale)", "axis 2 of the map (no scale)", box=True)
        explain_kinds(figure, kinds, gap)
    title, sentence = _stretch_words(model, net, value, rows)
    draw.headline(figure, title)
    data = {"place": net.points, "stretch": stretch, "log10_stretch": value, "row": rows}
    return Plot("magnification", figure, title=title, sentence=sentence + kinds.words, data=data)


def _curve(ax: Axes, net: Lattice, value: Array, rows: Array, kinds: Groups) -> None:
    """With one axis the stretch is a curve; rows are ticks below it."""
    ax.plot(net.sides[0], value, "o-", color=draw.INK, ms=3)
    low = float(value.min()) - 0.08 * (float(np.ptp(value)) or 1.0)
    for k in range(max(1, len(kinds.names))):
        places = rows[kinds.kind == k, 0]
        name = draw.short(kinds.names[k]) if kinds.names else "rows"
        ax.plot(places, np.full(len(places), low), "|", color=kinds.look(k)[0], ms=9, label=name)
    ax.set(xlabel="the map's axis (no scale)", ylabel="stretch over its median")
    _powers(ax.yaxis, value)
    legend_above(ax, ncols=4)


def _powers(axis: Any, value: Array) -> None:
    """Ticks of a logarithm that say the number itself."""
    low, high = float(value.min()), float(value.max())
    steps = (1.0, 2.0, 5.0) if high - low < 2.5 else (1.0,)
    ticks = [np.log10(s) + k for k in range(int(np.floor(low)), int(np.ceil(high)) + 1) for s in steps]
    inside = [tick for tick in ticks if low <= tick <= high]
    axis.set_ticks(inside, [f"× {draw.number(10.0**tick)}" for tick in inside])


def _stretch_words(model: Any, net: Lattice, value: Array, rows: Array) -> tuple[str, str]:
    most, least = float(10.0 ** (value.max() - value.min())), float(np.quantile(value, 0.9))
    size = "area" if len(net.sides) == 2 else "length"
    title = f"The sheet is stretched {draw.number(most)} times more at one place of the map than at another"
    ends = f"{draw.number(10.0 ** value.min())} and {draw.number(10.0 ** value.max())}"
    text = f"A piece of the map is worth between {ends} times the median {size} of the table."
    there, middle = model.magnification(rows), np.median(model.magnification(net.points))
    at_rows = np.log10(np.maximum(there, 1e-300)) - np.log10(np.maximum(middle, 1e-300))
    return title, text + (
        f" {draw.percent(float((at_rows > least).mean()))} of {len(rows):,} rows lie in the most stretched tenth "
        "of the map: dark borders separate what is near on the map and far apart in the table."
    )
