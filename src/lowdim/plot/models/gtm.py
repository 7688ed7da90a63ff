"""The bent sheet of a GTM or a density network, in the plane of two columns or of the table's principal axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.math.linalg import Array, Mask
from lowdim.plot.base import COLOURS, INK, Plot, blank, count, drawn, headline, number, percent, short
from lowdim.plot.colour import draw_groups, groups, legend_marks
from lowdim.plot.marks import POINTS, spread_out
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIDE = 15  # lines a side where the latent points are a drawn sample and no grid
REACH = 2.0  # of such a sheet, in standard deviations of its Gaussian
FINE = 4  # points of a line between two nodes


class Lattice(NamedTuple):
    """The regular grid of latent points that a sheet is drawn by: its coordinates along each axis."""

    sides: tuple[Array, ...]
    own: bool  # the model's own nodes

    @property
    def points(self) -> Array:
        """All of them, K x L, the last axis first to change."""
        return np.stack([part.ravel() for part in np.meshgrid(*self.sides, indexing="ij")], axis=1)

    @property
    def words(self) -> str:
        """Its size, e.g. 20 x 20."""
        return " x ".join(str(len(side)) for side in self.sides)


def lattice(model: Any, name: str) -> Lattice:
    """The grid of a GTM; of a density network, which has a drawn sample, a regular one over most of it."""
    grid = vars(model).get("grid_")
    if grid is None or grid.shape[1] > 2:
        why = "it has no sheet of nodes" if grid is None else f"its map has {grid.shape[1]} axes, and pages have two"
        raise error(
            "LD494",
            name=name,
            model=f"this {type(model).__name__}",
            why=why,
            fix="a GTM or a density network with one or two axes:  lowdim fit FILE -m gtm --dims 2",
        )
    sides = tuple(np.unique(grid[:, k]) for k in range(grid.shape[1]))
    even = all(np.allclose(np.diff(side), np.ptp(side) / max(len(side) - 1, 1)) for side in sides)
    if even and int(np.prod([len(side) for side in sides])) == len(grid):
        return Lattice(sides, True)
    return Lattice((np.linspace(-REACH, REACH, SIDE),) * grid.shape[1], False)


class Plane(NamedTuple):
    """Two directions of the table: V (d x 2) after `mean` is taken off, their labels, their share of the variation."""

    mean: Array
    V: Array
    labels: tuple[str, str]
    share: float

    def of(self, cells: Array) -> Array:
        """Cells as points of the plane."""
        return np.asarray((cells - self.mean) @ self.V)


def plane(X: Array, columns: tuple[int, int] | None, names: Sequence[str], unit: Array) -> Plane:
    """The plane of two columns in their own units, or that of the first principal axes of a complete table."""
    d = X.shape[1]
    if d < 2:
        raise error(
            "LD494",
            name="gtm_sheet",
            model="a table of one column",
            why="a sheet is seen in a plane",
            fix="a table of two columns or more",
        )
    centred = X - X.mean(axis=0)
    total = float((centred**2).sum()) or 1.0
    if columns is None and d == 2:
        columns = (0, 1)
    if columns is None:
        axes = np.linalg.svd(centred, full_matrices=False)[2][:2].T
        part = (centred @ axes).var(axis=0) * len(X) / total
        labels = [f"principal axis {k + 1} ({percent(p)} of the variation)" for k, p in enumerate(part)]
        return Plane(X.mean(axis=0), axes, (labels[0], labels[1]), float(part.sum()))
    if len({*columns}) != 2 or not all(0 <= j < d for j in columns):
        raise error("LD210", option="columns", value=columns, allowed=f"two different columns from 0 to {d - 1}")
    pair = list(columns)
    share = float((centred[:, pair] ** 2).sum()) / total
    return Plane(np.zeros(d), np.eye(d)[:, pair] * unit[pair], (short(names[pair[0]]), short(names[pair[1]])), share)


@drawn
def gtm_sheet(
    model: Any,
    X: Any,
    *,
    columns: tuple[int, int] | None = None,
    names: Sequence[str] | None = None,
    color: Any = None,
    color_name: str = "",
    unit: Any = None,
) -> Plot:
    """The sheet of a fitted GTM or density network as lines through its nodes, bent through the rows of X.

    The plane is that of two `columns` (positions from 0) or of the first two principal axes of X, its gaps filled by
    the model; rows with gaps are hollow. `unit` is what one unit of each column of X is worth, where X was scaled.
    Rows scatter about the sheet with the model's noise, which the sentence gives.

    Reference: Bishop, Svensen and Williams, Neural Computation 10 (1998), figure 1; Netlab's demgtm1.

    >>> from lowdim import GTM
    >>> t = np.linspace(0, 3, 60)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> gtm_sheet(GTM(1, grid=9).fit(X), X).title
    'A sheet of 9 nodes, bent through 60 rows'
    """
    X, net = np.asarray(X, dtype=np.float64), lattice(model, "gtm_sheet")
    heads = [f"c{j + 1}" for j in range(X.shape[1])] if names is None else list(names)
    gap = np.isnan(X).any(axis=1)
    filled = np.asarray(model.impute(X)) if gap.any() else X
    view = plane(filled, columns, heads, np.ones(X.shape[1]) if unit is None else np.asarray(unit, dtype=np.float64))
    nodes = view.of(np.asarray(model.inverse_transform(net.points)))
    rows = view.of(filled)
    figure = blank(6.4, 4.8)
    ax = figure.subplots()
    kinds, shown = groups(color, len(X), color_name), spread_out(len(X), POINTS)
    draw_groups(ax, rows, kinds, gap, shown)
    _lines(ax, model, net, view)
    ax.plot(*nodes.T, ".", color=INK, ms=2.5, zorder=5)
    ax.set(xlabel=view.labels[0], ylabel=view.labels[1])
    _legend(ax, legend_marks(kinds, gap), net.own, not kinds.names and kinds.value is None)
    title, sentence = _words(model, X, net, view, len(shown))
    headline(figure, title)
    return Plot(
        "gtm_sheet",
        figure,
        title=title,
        sentence=sentence + kinds.words,
        data={"node_place": net.points, "node": nodes, "row": rows, "has_gaps": gap},
    )


def _lines(ax: Axes, model: Any, net: Lattice, view: Plane) -> None:
    """Curves of the sheet along which one latent coordinate alone changes."""
    from matplotlib.collections import LineCollection

    curves = []
    for k, side in enumerate(net.sides):
        along = np.interp(np.arange(FINE * (len(side) - 1) + 1) / FINE, np.arange(len(side)), side)
        others = [other for j, other in enumerate(net.sides) if j != k]
        for fixed in others[0] if others else [None]:
            Z = along[:, None] if fixed is None else np.insert(along[:, None], 1 - k, fixed, axis=1)
            curves.append(view.of(np.asarray(model.inverse_transform(Z))))
    ax.add_collection(LineCollection(curves, colors=INK, linewidths=0.7, alpha=0.55, zorder=4))
    ax.autoscale_view()


def _legend(ax: Axes, marks: list[Any], own: bool, plain: bool) -> None:
    from matplotlib.lines import Line2D

    first = [Line2D([], [], marker="o", ls="", color=COLOURS[0], label="row", ms=5)] if plain else []
    what = "the sheet, and its nodes" if own else "the sheet (a latent grid)"
    sheet = Line2D([], [], color=INK, lw=0.8, marker=".", ms=4, label=what)
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.legend(handles=[*first, *marks, sheet], loc="outside lower left", ncols=3, fontsize=8)


def explained(model: Any, X: Array) -> float:
    """The share of the seen cells' variation about their means that the model makes again."""
    seen: Mask = ~np.isnan(X)
    mean = np.nanmean(X, axis=0)
    left = np.where(seen, X - np.asarray(model.reconstruct(X)), 0.0)
    total = float((np.where(seen, X - mean, 0.0) ** 2).sum())
    return 1.0 - float((left**2).sum()) / total if total > 0 else 1.0


def _words(model: Any, X: Array, net: Lattice, view: Plane, shown: int) -> tuple[str, str]:
    what = f"{net.words} {'nodes' if net.own else 'latent points'}"
    noise = float(np.sqrt(model.noise_variance_))
    title = f"A sheet of {what}, bent through {count(len(X), 'row')}"
    text = (
        f"The sheet ({what}) holds {percent(explained(model, X))} of the variation; a cell scatters about it with "
        f"a standard deviation of {number(noise)} (model's units). This plane shows {percent(view.share)} of it."
    )
    return title, text + (f" {shown:,} of {len(X):,} rows are drawn." if shown < len(X) else "")
