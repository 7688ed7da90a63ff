"""The biplot: rows as points and columns as arrows on two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import MOST_POINTS, as_map, shade_counts
from lowdim.plot.registry import AXES, InReport, PlotOption, plot
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.jobs.analysis import Analysis

DENSITY_BINS = (80, 60)  # where rows are too many to be drawn one by one
TOP_ARROWS = 16
SCALING_POWERS = {"form": 1.0, "covariance": 0.0, "symmetric": 0.5}
SCALING_MEANS = {
    "form": "distances between rows are true",
    "covariance": "arrow angles show correlations",
    "symmetric": "a compromise: neither is exact",
}
SCALING = PlotOption(
    "scaling", tuple(SCALING_POWERS), "What is true in it: angles of arrows, distances of rows, neither"
)


@plot(
    "biplot",
    "Rows as points and columns as arrows on two axes.",
    needs="analysis",
    options=(AXES, SCALING),
    report=InReport("axes", "rows", "rows.csv"),
)
def biplot(analysis: Analysis, *, axes: tuple[int, int] = (0, 1), scaling: str = "covariance") -> Plot:
    """Rows as points and columns as arrows on two axes; point . arrow approximates the (centred) cell.

    With standardised scores U, axes of length one V and variances L, points are U L^(a/2) and arrows V L^((1-a)/2):
    a = 1 "form", 0 "covariance", 1/2 "symmetric" (Gabriel 1971; Greenacre 2010). Arrows are drawn on a scale of their
    own that the chart states.

    Parameters
    ----------
    scaling : {"covariance", "form", "symmetric"}
        Whether angles of arrows, distances of rows, or neither are true.
    """
    draw.need_axes(analysis.dims, 2, "biplot")
    if scaling not in SCALING_POWERS:
        raise error("LD210", option="scaling", value=scaling, allowed=", ".join(map(repr, SCALING_POWERS)))
    names, keep = analysis.table.in_ones().names, list(axes)
    scores = analysis.posterior.mean[:, keep]
    C = analysis.map.cells.loadings.T[keep]
    length = np.linalg.norm(C, axis=1)
    size = np.sqrt((scores**2).sum(axis=0) / max(len(scores) - 1, 1))  # root mean square of each axis
    variance = analysis.map.cells.variances[keep]
    power = SCALING_POWERS[scaling]
    points = scores / np.where(size > 0, size, 1.0) * variance ** (power / 2)
    arrows = C.T * (variance ** ((1 - power) / 2) / np.where(length > 0, length, 1.0))
    chosen = np.argsort(-(arrows**2).sum(axis=1), kind="stable")[:TOP_ARROWS]
    figure = draw.blank(6.4, 4.6)
    ax = figure.subplots()
    factor = _draw_biplot(ax, points, arrows, chosen)
    title, sentence = _biplot_words(scaling, arrows, chosen, names, axes)
    as_map(ax, *(f"axis {k + 1}" for k in axes))
    along = np.linspace(0.08, 1.0, 40)[:, None, None] * (arrows[chosen] * factor)  # no name on an arrow
    draw.place_labels(ax, arrows[chosen] * factor, [draw.short(names[j]) for j in chosen], avoid=along.reshape(-1, 2))
    words = f"arrows drawn × {draw.number(factor)}"
    ax.text(1.0, 1.0, words, transform=ax.transAxes, ha="right", va="bottom", fontsize=8)
    draw.headline(figure, title)
    drawn = np.isin(np.arange(len(arrows)), chosen)
    data = {"point": points, "column": names, "arrow": arrows, "drawn": drawn, "factor": factor}
    return Plot("biplot", figure, title=title, sentence=sentence, data=data)


def _draw_biplot(ax: Axes, points: Array, arrows: Array, chosen: NDArray[np.int_]) -> float:
    """Rows and arrows; the factor by which the arrows are drawn longer."""
    reach = float(np.abs(points).max(initial=0.0)) or 1.0
    longest = float(np.abs(arrows[chosen]).max(initial=0.0)) or 1.0
    factor = float(f"{0.95 * reach / longest:.2g}")
    if len(points) > MOST_POINTS:
        shade_counts(ax, points[:, 0], points[:, 1], "rows a cell", bins=DENSITY_BINS, cmap="Greys")
    else:
        ax.scatter(points[:, 0], points[:, 1], s=8, color=draw.GREY, alpha=0.7, zorder=1, linewidths=0)
    look = {"arrowstyle": "-|>", "color": draw.COLOURS[0], "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    for j in chosen:
        ax.annotate("", arrows[j] * factor, (0, 0), zorder=3, arrowprops=look)
    ax.axhline(0, color=draw.GREY, lw=0.4)
    ax.axvline(0, color=draw.GREY, lw=0.4)
    ax.update_datalim(arrows[chosen] * factor)
    ax.margins(0.1)
    return factor


def _biplot_words(
    scaling: str, arrows: Array, chosen: NDArray[np.int_], names: Sequence[str], axes: tuple[int, int]
) -> tuple[str, str]:
    title = f"Biplot, {scaling} scaling: {SCALING_MEANS[scaling]}"
    if len(chosen) < len(arrows):
        title += f" (the {len(chosen)} longest of {len(arrows)} arrows drawn)"
    parts = []
    for k, axis in enumerate(axes):
        j = int(np.argmax(np.abs(arrows[:, k])))
        way = "with" if arrows[j, k] > 0 else "against"
        parts.append(f"axis {axis + 1} follows {draw.quoted(names[j])} most ({way} it)")
    means = SCALING_MEANS[scaling]
    return title, f"In {scaling} scaling ({means}), {' and '.join(parts)}; a sign by itself means nothing."
