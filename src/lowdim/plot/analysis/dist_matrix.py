"""Distances between rows as matrices: in the table beside the map, and as ever more principal axes are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.maps.neighbours import distances, rank_agreement
from lowdim.maths.linalg import Array
from lowdim.models.linear.pca import PCA
from lowdim.plot import base as draw
from lowdim.plot.analysis.decode import KEPT
from lowdim.plot.analysis.map_quality import compared
from lowdim.plot.base import Plot
from lowdim.plot.marks import spread_out
from lowdim.plot.registry import PlotOption, plot
from lowdim.table.table import column_units
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.jobs.analysis import Analysis
    from lowdim.table.table import Table

MOST_MATRIX_ROWS = 400  # rows of a matrix that is drawn: more than there are dots
ORDER = PlotOption("order", ("axis", "rows"), "How rows are ordered: along the first axis, or as in the table")
PANELS = (1, 2, 10, 100)  # axes kept where none are named


@plot("dist_matrix", "Distances in the table and on the map.", needs="analysis", options=(ORDER,))
def dist_matrix(analysis: Analysis, Z: Any = None, *, order: str = "axis") -> Plot:
    """Distances between rows in the table and on the map, both in one order and shaded alike.

    Map distances are scaled by the one factor that fits them best. Blocks on the diagonal are groups; a map that keeps
    distances shows the same picture twice. Rows without a common cell are hatched.

    Reference: [Lawrence2012] of `docs/sources.md`, figures 3.2 to 3.11.

    Parameters
    ----------
    Z : array of shape (n_rows, q), optional
        Another map of the same rows; that of the analysis where it is left out.
    order : {"axis", "rows"}, default "axis"
        Along the map's first axis, or as in the table: frames of a film, angles of a turn.
    """
    X, Y, names, n = compared(analysis, "dist_matrix", Z, analysis.table.n)
    at = in_order(Y[:, 0], order)
    names = [names[i] for i in at]
    D, E = np.sqrt(distances(X[at])), np.sqrt(distances(Y[at]))
    known = np.isfinite(D)
    size = float((E[known] ** 2).sum())
    scale = float((D[known] * E[known]).sum()) / size if size > 0.0 else 1.0
    top = float(max(D[known].max(initial=0.0), scale * E.max(initial=0.0))) or 1.0
    figure = draw.blank(7.2, 3.5)
    pair = figure.subplots(1, 2, sharex=True, sharey=True)
    for ax, M, words in ((pair[0], np.where(known, D, np.nan), "in the table"), (pair[1], scale * E, "on the map")):
        image = _matrix(ax, M, top, words)
        _ends(ax, names)
    by = "by axis 1" if order == "axis" else "in their order"
    pair[0].set_ylabel(f"rows {by}")
    figure.colorbar(image, ax=list(pair), label="distance (dark: far)", shrink=0.85)
    ranks = rank_agreement(D**2, E**2)
    title = f"Distances of {draw.count(len(at), 'row')} {by}: rank agreement {ranks:.2f}"
    draw.headline(figure, title)
    subset_text = "" if len(at) == n else f" {len(at)} of {n:,} rows are drawn, evenly spread."
    ordered = "ordered by the map's first axis" if order == "axis" else "in the order of the table"
    sentence = (
        f"Distances between rows in the table and on the map, {ordered} and shaded alike: their ranks agree by "
        f"{ranks:.2f}.{subset_text}"
    )
    data = {"row": names, "table": np.where(known, D, np.nan), "map": scale * E, "scale": scale}
    return Plot("dist_matrix", figure, title=title, sentence=sentence, data=data)


def _ends(ax: Axes, names: Sequence[str]) -> None:
    """A few rows' names down the side."""
    at = spread_out(len(names), 25 if len(names) <= 25 else 8)
    ax.set_yticks(at, [draw.short(names[i], 12) for i in at], fontsize=7)


def _matrix(ax: Axes, M: Array, top: float, words: str) -> Any:
    """A matrix in shades from 0 to `top`; what is not known is hatched."""
    ax.set_facecolor("#dddddd")
    ax.patch.set_hatch("////")
    image = ax.imshow(M, cmap=draw.SEQUENTIAL, vmin=0.0, vmax=top, interpolation="nearest")
    ax.set_title(words, fontsize=9)
    ax.set_xticks([])
    return image


def in_order(first: Array, order: str) -> NDArray[np.intp]:
    """Positions of the rows that are drawn: along an axis or as they are, at most 400, evenly spread.

    >>> in_order(np.array([3.0, 1.0, 2.0]), "axis").tolist(), in_order(np.array([3.0, 1.0, 2.0]), "rows").tolist()
    ([1, 2, 0], [0, 1, 2])
    """
    if order not in ("axis", "rows"):
        raise error("LD210", option="order", value=order, allowed="'axis' or 'rows'")
    at = np.argsort(first, kind="stable") if order == "axis" else np.arange(len(first))
    return at[spread_out(len(at), MOST_MATRIX_ROWS)]


@plot(
    "dist_panels", "Distances as more principal axes are kept, with their errors.", needs="table", options=(KEPT, ORDER)
)
def dist_panels(table: Table, *, kept: Sequence[int] = PANELS, order: str = "rows") -> Plot:
    """Squared distances a column between rows in q principal axes, a panel for each q, beside those in the table.

    Axes that are left out only make distances smaller, so the mean absolute error is
    2 / d (total variance - the first q eigenvalues), both with divisor n - 1.

    Reference: [Lawrence2012] of `docs/sources.md`, figures 3.2, 3.4 and 3.7.

    Parameters
    ----------
    table : Table
        What `lowdim.read` gave, without gaps; in units of its columns' spread, unless it was read with scale "none".
    kept : sequence of int, default (1, 2, 10, 100)
        How many axes are kept, a panel each; those the table has.
    order : {"axis", "rows"}, default "rows"
        Along the first axis, or as in the table.

    Examples
    --------
    >>> import lowdim
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> dist_panels(lowdim.read(X, scale="none"), kept=[1, 3]).data["error"].round(3).tolist()
    [0.741, 0.0]
    """
    if np.isnan(table.X).any():
        fix = "fill the gaps first: lowdim fill FILE -o FILLED"
        raise error("LD163", job="dist_panels", why="a distance over all columns needs every cell", fix=fix)
    table = table.in_ones()
    X = table.X / column_units(table.X, table.scale)
    n, d = X.shape
    steps = sorted({int(q) for q in kept if 1 <= q <= min(n - 1, d)})
    if not steps:
        raise error("LD210", option="kept", value=tuple(kept), allowed=f"numbers of axes, 1 to {min(n - 1, d)}")
    Z = np.asarray(PCA(steps[-1]).fit_transform(X))
    at = in_order(Z[:, 0], order)
    whole = distances(X) / d
    pairs = np.triu_indices(n, 1)
    shown, wrong = [], []
    for q in steps:
        D = distances(Z[:, :q]) / d
        shown.append(D[np.ix_(at, at)])
        wrong.append(float(np.abs(whole[pairs] - D[pairs]).mean()))
    shown.append(whole[np.ix_(at, at)])
    figure = draw.blank(min(2.5 * len(shown) + 0.9, 11.0), 3.1)
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    words = [f"q = {q}: error {draw.number(e) if e > 1e-12 else 0}" for q, e in zip(steps, wrong, strict=True)]
    for ax, M, title in zip(panels, shown, [*words, "the table"], strict=True):
        image = _matrix(ax, M, float(whole.max()), title)
        ax.set_yticks([])
    panels[0].set_ylabel("rows in their order" if order == "rows" else "rows by axis 1")
    figure.colorbar(image, ax=list(panels), label="squared distance a column", shrink=0.85)
    title = f"Distances of {draw.count(n, 'row')} as axes are kept"
    draw.headline(figure, title)
    path = ", ".join(f"{draw.number(e) if e > 1e-12 else 0} with {q}" for q, e in zip(steps, wrong, strict=True))
    sentence = f"Squared distances a column between rows are off by (mean absolute error): {path} principal axes."
    data = {"q": steps, "error": wrong, "row": at + 1, "distance": np.stack(shown, axis=1)}
    return Plot("dist_panels", figure, title=title, sentence=sentence, data=data)
