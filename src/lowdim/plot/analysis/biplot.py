"""The biplot: rows as points and columns as arrows on two axes."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import MOST_POINTS, spread_out
from lowdim.plot.registry import AXES, InReport, PlotOption, plot
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.jobs.analysis import Analysis

DENSITY_BINS = (80, 60)  # where rows are too many to be drawn one by one
TOP_ARROWS = 8
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
def biplot_of(
    analysis: Analysis,
    *,
    axes: tuple[int, int] = (0, 1),
    scaling: str = "covariance",
    top: int = TOP_ARROWS,
    sample: int | None = None,
) -> Plot:
    """Rows as points and columns as arrows on two axes; point . arrow approximates the (centred) cell.

    Parameters
    ----------
    analysis : Analysis
        What `lowdim.analyse` gave.
    axes : tuple of two int, default (0, 1)
        Positions of the axes.
    scaling : {"covariance", "form", "symmetric"}
        Whether angles of arrows, distances of rows, or neither are true.
    top : int, default 8
        Arrows drawn, the longest first.
    sample : int, optional
        Draw so many rows, spread over the table; all where it is left out.

    Returns
    -------
    Plot
    """
    draw.need_axes(analysis.dims, 2, "biplot")
    scores, names = analysis.posterior.mean, analysis.table.in_ones().names
    n = len(scores)
    model = analysis.model if analysis.mixed is None else SimpleNamespace(components_=np.asarray(analysis.loadings).T)
    if sample is None or sample >= n:
        return biplot(model, scores, names, axes=axes, scaling=scaling, top=top)
    plot_of_sample = biplot(model, scores[spread_out(n, sample)], names, axes=axes, scaling=scaling, top=top)
    plot_of_sample.sentence += f" {sample:,} of {n:,} rows are drawn."
    plot_of_sample.data.pop("point")
    return plot_of_sample


@draw.styled
def biplot(
    model: Any,
    scores: Array,
    names: Sequence[str],
    *,
    axes: tuple[int, int] = (0, 1),
    scaling: str = "covariance",
    top: int = TOP_ARROWS,
    intervals: tuple[Array, Array] | None = None,
) -> Plot:
    """Rows as points and columns as arrows on two axes; point . arrow approximates the (centred) cell.

    With standardised scores U, axes of length one V and variances L, points are U L^(a/2) and arrows
    V L^((1-a)/2): a = 1 "form", 0 "covariance", 1/2 "symmetric" (Gabriel 1971; Greenacre 2010). The `top`
    longest arrows are drawn, on a scale of their own that the chart states. `intervals` are the lower and upper
    ends of the entries of `model.components_` (q x d).

    >>> from lowdim.models.linear.pca import PCA
    >>> X = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 4.0], [4.0, 3.0]])
    >>> model = PCA(2).fit(X)
    >>> plot = biplot(model, model.transform(X), ["a", "b"])
    >>> bool(np.allclose(plot.data["point"] @ plot.data["arrow"].T, X - X.mean(axis=0)))
    True
    """
    if scaling not in SCALING_POWERS:
        raise error("LD210", option="scaling", value=scaling, allowed=", ".join(map(repr, SCALING_POWERS)))
    keep = list(axes)
    C = np.asarray(model.components_, dtype=np.float64)[keep]
    length = np.linalg.norm(C, axis=1)
    length = np.where(length > 0, length, 1.0)
    unit = scores[:, keep] / _size(scores[:, keep])
    known = vars(model).get("explained_variance_")
    variance = length**2 if known is None else np.asarray(known)[keep]
    power = SCALING_POWERS[scaling]
    points = unit * variance ** (power / 2)
    stretch = variance ** ((1 - power) / 2) / length
    arrows = C.T * stretch
    chosen = np.argsort(-(arrows**2).sum(axis=1), kind="stable")[:top]
    figure = draw.blank(6.4, 4.6)
    ax = figure.subplots()
    ends = None if intervals is None else [np.asarray(end)[keep].T * stretch for end in intervals]
    factor = _draw_biplot(ax, points, arrows, chosen, ends)
    title, sentence = _biplot_words(scaling, arrows, chosen, names, axes)
    ax.set(xlabel=f"axis {axes[0] + 1}", ylabel=f"axis {axes[1] + 1}")
    along = np.linspace(0.08, 1.0, 40)[:, None, None] * (arrows[chosen] * factor)  # no name on an arrow
    draw.place_labels(ax, arrows[chosen] * factor, [draw.short(names[j]) for j in chosen], avoid=along.reshape(-1, 2))
    words = f"arrows drawn × {draw.number(factor)}"
    ax.text(1.0, 1.0, words, transform=ax.transAxes, ha="right", va="bottom", fontsize=8)
    draw.headline(figure, title)
    data: dict[str, Any] = {"point": points, "column": np.array([str(name) for name in names]), "arrow": arrows}
    data |= {"drawn": np.isin(np.arange(len(arrows)), chosen), "factor": factor}
    if ends is not None:
        data |= {"arrow_low": ends[0], "arrow_high": ends[1]}
    return Plot("biplot", figure, title=title, sentence=sentence, data=data)


def _size(scores: Array) -> Array:
    """Root mean square of each axis (n - 1), 1 where it is zero."""
    size = np.sqrt((scores**2).sum(axis=0) / max(len(scores) - 1, 1))
    return np.where(size > 0, size, 1.0)


def _draw_biplot(ax: Axes, points: Array, arrows: Array, chosen: NDArray[np.int_], ends: list[Array] | None) -> float:
    reach = float(np.abs(points).max(initial=0.0)) or 1.0
    longest = float(np.abs(arrows[chosen]).max(initial=0.0)) or 1.0
    factor = float(f"{0.95 * reach / longest:.2g}")
    if len(points) > MOST_POINTS:
        ax.hist2d(points[:, 0], points[:, 1], bins=DENSITY_BINS, cmap="Greys", norm="log", zorder=0)
    else:
        ax.scatter(points[:, 0], points[:, 1], s=8, color=draw.GREY, alpha=0.7, zorder=1, linewidths=0)
    for j in chosen:
        ax.annotate(
            "",
            arrows[j] * factor,
            (0, 0),
            zorder=3,
            arrowprops={"arrowstyle": "-|>", "color": draw.COLOURS[0], "lw": 1.2, "shrinkA": 0, "shrinkB": 0},
        )
        if ends is not None:
            (x, y), low, high = arrows[j] * factor, ends[0][j] * factor, ends[1][j] * factor
            ax.plot([low[0], high[0]], [y, y], color=draw.COLOURS[3], lw=1.0, zorder=4)
            ax.plot([x, x], [low[1], high[1]], color=draw.COLOURS[3], lw=1.0, zorder=4)
    ax.axhline(0, color=draw.GREY, lw=0.4)
    ax.axvline(0, color=draw.GREY, lw=0.4)
    ax.set_xlim(-1.25 * reach, 1.25 * reach)
    ax.set_ylim(-1.15 * reach, 1.15 * reach)
    return factor


def _biplot_words(
    scaling: str, arrows: Array, chosen: NDArray[np.int_], names: Sequence[str], axes: tuple[int, int]
) -> tuple[str, str]:
    title = f"Biplot, {scaling} scaling: {SCALING_MEANS[scaling]}"
    if len(chosen) < len(arrows):
        title += f" ({len(chosen)} of {len(arrows)} columns drawn)"
    parts = []
    for k, axis in enumerate(axes):
        j = int(np.argmax(np.abs(arrows[:, k])))
        way = "with" if arrows[j, k] > 0 else "against"
        parts.append(f"axis {axis + 1} follows {draw.quoted(names[j])} most ({way} it)")
    return (
        title,
        f"In {scaling} scaling ({SCALING_MEANS[scaling]}), {' and '.join(parts)}; a sign by itself means nothing.",
    )
