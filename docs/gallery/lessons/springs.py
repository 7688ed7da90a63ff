"""The mattress: a map's neighbourhood graph as springs, and the shape it takes in its heat bath."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import MOST_VECTOR_POINTS, as_map, legend_above, spread_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SPRING_LINES = 6000  # springs that are drawn; the strongest, where there are more
FAINTEST_SPRING = 1e-6  # of the strongest: weaker springs hold nothing, and are not drawn
TENSE_SHARE = 0.05  # of the springs, those under the most tension are drawn in red


@draw.styled
def springs(model: Any) -> Plot:
    """Rows on a map joined by the springs of its precision L: -L_ij is a spring's strength, wider lines are stronger.

    The energy of the map is sum_ij w_ij |z_i - z_j|^2; the springs that hold most of it are red: there the map is torn
    or folded. The second panel is coloured by one draw of the field: the mattress in its heat bath, which varies slowly
    along strong springs. Negative springs (free multipliers) are dashed.

    Reference: [Lawrence2012], chapter 5, and [Lawrence2012b], of `docs/sources.md`.

    Parameters
    ----------
    model : SpectralModel
        Fitted, with a field: Laplacian eigenmaps, LLE, an unfolding.

    Returns
    -------
    Plot
    """
    Y, field = model.embedding_, model.field()
    i, j, w = edges_of(field.precision)
    height = field.sample(1, 0)[:, 0]
    xy = Y[:, :2] if Y.shape[1] > 1 else np.column_stack([Y[:, 0], np.zeros(len(Y))])
    tension = w * ((Y[i] - Y[j]) ** 2).sum(axis=1)
    figure = draw.blank(9.0, 4.4)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    _draw_springs(left, xy, i, j, w, tension)
    _draw_heights(right, xy, height, i, j)
    as_map(left, up="axis 2" if Y.shape[1] > 1 else "", box=True)
    as_map(right, up="", box=True)
    title, sentence = _words(len(Y), i, w, tension)
    draw.headline(figure, title)
    data = {"place": Y, "from": i + 1, "to": j + 1, "strength": w, "tension": tension}
    return Plot("springs", figure, title=title, sentence=sentence, data=data | {"height": height})


def edges_of(L: Any) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """The springs i < j of a matrix and their strengths -L_ij, weak ones left out.

    >>> path = np.diag([1.0, 2.0, 1.0]) - np.eye(3, k=1) - np.eye(3, k=-1)
    >>> edges_of(path)[2].tolist()
    [1.0, 1.0]
    """
    A = sp.coo_array(L)
    upper = A.row < A.col
    i, j, w = A.row[upper].astype(np.intp), A.col[upper].astype(np.intp), -np.asarray(A.data, dtype=np.float64)[upper]
    visible = np.abs(w) > FAINTEST_SPRING * np.abs(w).max(initial=0.0)
    return i[visible], j[visible], w[visible]


def _draw_springs(ax: Axes, xy: Array, i: NDArray[np.intp], j: NDArray[np.intp], w: Array, tension: Array) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    size = np.abs(w)
    strongest = np.sort(np.argsort(-size, kind="stable")[:MOST_SPRING_LINES])
    limit = np.quantile(tension, 1.0 - TENSE_SHARE) if len(tension) else 0.0
    tense = (tension >= limit) & (tension > 0.0) & (len(tension) >= 20)
    widths = 0.3 + 1.5 * np.sqrt(size / (np.quantile(size, 0.95) if len(size) else 1.0))
    marks = []
    kinds = (
        (~tense & (w > 0), draw.GREY, "spring", "-"),
        (tense, draw.COLOURS[3], f"{TENSE_SHARE:.0%} under most tension", "-"),
        (w < 0, draw.COLOURS[0], "pushes apart", "--"),
    )
    for part, colour, words, line in kinds:
        at = strongest[part[strongest]]
        if len(at):
            ends = list(np.stack([xy[i[at]], xy[j[at]]], axis=1))
            ax.add_collection(
                LineCollection(
                    ends,
                    colors=colour,
                    linestyles=line,
                    alpha=0.7,
                    linewidths=np.minimum(widths[at], 2.2),
                    zorder=1 if colour == draw.GREY else 2,
                    rasterized=len(at) > MOST_VECTOR_POINTS,
                )
            )
            marks.append(Line2D([], [], color=colour, ls=line, lw=1.6, label=words))
    size_of_row = 3.0 if len(xy) <= 300 else 1.6
    marks += ax.plot(
        *xy.T, "o", ms=size_of_row, color=draw.INK, zorder=3, label="row", rasterized=len(xy) > MOST_VECTOR_POINTS
    )
    ax.autoscale_view()
    legend_above(ax, handles=marks, ncols=4, columnspacing=0.9)


def _draw_heights(ax: Axes, xy: Array, height: Array, i: NDArray[np.intp], j: NDArray[np.intp]) -> None:
    from matplotlib.collections import LineCollection

    shown = spread_out(len(i), MOST_SPRING_LINES)
    ax.add_collection(
        LineCollection(
            list(np.stack([xy[i[shown]], xy[j[shown]]], axis=1)),
            colors=draw.GREY,
            linewidths=0.3,
            alpha=0.4,
            zorder=1,
            rasterized=len(shown) > MOST_VECTOR_POINTS,
        )
    )
    top = float(np.abs(height).max(initial=0.0)) or 1.0
    dots = ax.scatter(
        xy[:, 0],
        xy[:, 1],
        c=height,
        cmap=draw.DIVERGING,
        vmin=-top,
        vmax=top,
        s=26 if len(xy) <= 300 else 12,
        edgecolors=draw.GREY,
        linewidths=0.4,
        zorder=3,
        rasterized=len(xy) > MOST_VECTOR_POINTS,
    )
    figure = draw.figure_of(ax)
    figure.colorbar(dots, ax=ax, label="height in the heat bath, one draw", shrink=0.85)


def _words(n: int, i: NDArray[np.intp], w: Array, tension: Array) -> tuple[str, str]:
    m = len(i)
    title = f"{draw.count(m, 'spring')} hold {draw.count(n, 'row')} ({2 * m / max(n, 1):.1f} at each)"
    if not m:
        return f"No springs hold the {n} rows", f"There is no spring between the {n} rows: they are free."
    n_tense = max(1, round(TENSE_SHARE * m))
    total = float(np.abs(tension).sum())
    energy_share = float(np.sort(np.abs(tension))[-n_tense:].sum()) / total if total > 0.0 else 0.0
    pushed = int((w < 0).sum())
    push = f" {draw.count(pushed, 'spring')} push apart." if pushed else ""
    return title, (
        f"{title}; on the map, the {draw.percent(n_tense / m)} of them under the most tension hold "
        f"{draw.percent(energy_share)} of the energy: there it is stretched or torn.{push}"
    )
