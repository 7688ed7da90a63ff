"""Does the map hold up: where each row lands when the table is drawn again, and how far each axis turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import MOST_POINTS, MOST_VECTOR_POINTS, as_map, legend_above, name_ticks, p_value, spread_out
from lowdim.plot.registry import InReport, plot

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

MOST_CLOUDS = 150  # rows whose clouds are drawn
MOST_CLOUD_DOTS = 2500  # bootstrap positions drawn
MOST_DRAWN_AXES = 8  # axes whose angles are drawn
CHI2_90 = 4.605170185988091  # the 90% quantile of chi-square with 2 degrees of freedom: 2 log 10
FIRM_ANGLE, LOOSE_ANGLE = 15.0, 35.0  # degrees: an axis that keeps its direction, and one that does not


@plot(
    "stability",
    "Where rows land when the table is drawn again.",
    needs="analysis",
    report=InReport("stability", "rows"),
)
def stability(analysis: Analysis) -> Plot:
    """Bootstrap clouds of the rows on the map, and the histogram of each axis's angle to its own direction.

    Clouds were turned onto the map by Procrustes; ellipses are the 90% Gaussian of a row's own cloud. Angles are taken
    before the turn, so axes that swap show; that of the plane is the largest principal angle between the two maps.
    """
    draw.need_axes(analysis.dims, 2, "stability")
    found = analysis.stability
    B, turns, plane = found.cloud, found.axes, found.plane[:, None]
    R = analysis.posterior.mean[found.shown][:, :2]
    names = [analysis.row_names[i] for i in found.shown]
    spread = np.sqrt(((B - R) ** 2).mean(axis=0).sum(axis=1)) if len(B) else np.zeros(len(R))
    total = float(np.sqrt(R.var(axis=0).sum())) or 1.0
    figure, (left, right) = draw.canvas(6.4, 4.0, columns=2, width_ratios=[1.7, 1])
    _clouds(left, B, R, spread, names)
    middle = np.median(turns, axis=0) if len(turns) else np.zeros(0)
    _ridges(right, np.column_stack([plane, turns]), ["map plane", *(f"axis {k + 1}" for k in range(len(middle)))])
    title, sentence = _words(middle, plane, spread, total, names, len(B))
    draw.headline(figure, title)
    far = np.quantile(turns, [0.05, 0.95], axis=0) if len(turns) else np.zeros((2, 0))
    data = {"row": names, "spread": spread, "axis": np.arange(1, len(middle) + 1), "median_angle": middle}
    data |= {"angle_5": far[0], "angle_95": far[1], "median_plane": np.median(plane, axis=0) if plane.size else []}
    return Plot("stability", figure, title=title, sentence=sentence, data=data)


def _clouds(ax: Any, B: Array, R: Array, spread: Array, names: Sequence[str]) -> None:
    """Rows as points, bootstrap positions as dots, a 90% ellipse a row."""
    rows = spread_out(len(R), MOST_CLOUDS)
    per = max(1, MOST_CLOUD_DOTS // max(len(rows), 1))
    dots = B[spread_out(len(B), per)][:, rows].reshape(-1, 2)
    low, high = np.quantile(np.concatenate([dots, R]), [0.002, 0.998], axis=0)
    edge = 0.08 * np.where(high > low, high - low, 1.0)
    inside = ((dots >= low - edge) & (dots <= high + edge)).all(axis=1)
    x, y = dots[inside].T
    ax.plot(x, y, ".", ms=2, color=draw.COLOURS[5], alpha=0.7, label="drawn again", zorder=1, rasterized=True)
    _ellipses(ax, B, rows)
    x, y = R[spread_out(len(R), MOST_POINTS)].T
    (points,) = ax.plot(x, y, "o", ms=2.6 if len(R) <= 200 else 1.5, color=draw.INK, label="this table", zorder=3)
    points.set_rasterized(len(R) > MOST_VECTOR_POINTS)
    as_map(ax, ends=np.array([low - edge, high + edge]))
    visible = rows[((R[rows] >= low - edge) & (R[rows] <= high + edge)).all(axis=1)]
    worst = visible[np.argsort(-spread[visible], kind="stable")][:3]
    draw.place_labels(ax, R[worst], [draw.short(names[k], 12) for k in worst])
    subset_text = "" if len(rows) == len(R) else f", {len(rows)} rows"
    ax.plot([], [], "-", lw=0.9, color=draw.COLOURS[0], label=f"90% of a row's cloud{subset_text}")
    legend_above(ax, ncols=3, columnspacing=0.8, handletextpad=0.3, handlelength=1.0, fontsize=7.5)


def _ellipses(ax: Any, B: Array, rows: NDArray[np.intp]) -> None:
    """The 90% Gaussian ellipse of every row's cloud, as one collection of lines."""
    from matplotlib.collections import LineCollection

    if len(B) < 3:
        return
    turn = np.linspace(0, 2 * np.pi, 29)  # corners that no eye finds, and a smaller file
    circle = np.sqrt(CHI2_90) * np.column_stack([np.cos(turn), np.sin(turn)])
    lines = []
    for k in rows:
        values, U = np.linalg.eigh(np.cov(B[:, k].T))
        lines.append(B[:, k].mean(axis=0) + circle * np.sqrt(np.maximum(values, 0.0)) @ U.T)
    many = len(rows) > 60  # a crowd of ellipses is shade, not lines
    width, alpha = (0.4, 0.4) if many else (0.6, 0.8)
    ax.add_collection(LineCollection(lines, colors=draw.COLOURS[0], linewidths=width, alpha=alpha, zorder=2))


def _ridges(ax: Any, turns: Array, labels: Sequence[str]) -> None:
    """A small histogram of angles for every axis, one above the other, the median marked."""
    k = min(len(labels), MOST_DRAWN_AXES)
    middle = np.median(turns, axis=0) if len(turns) else np.zeros(k)
    top = float(min(90.0, max(15.0, 1.1 * turns[:, :k].max(initial=0.0))))
    edges = np.linspace(0.0, top, 31)
    for i in range(k):
        counts, _ = np.histogram(np.clip(turns[:, i], 0.0, top), bins=edges)
        heights = i - 0.75 * counts / max(counts.max(), 1)
        ax.stairs(heights, edges, baseline=i, fill=True, color=draw.COLOURS[5], alpha=0.7)
        ax.axhline(i, color=draw.GREY, lw=0.5)
        ax.plot([middle[i]], [i], "^", color=draw.COLOURS[3], ms=6, clip_on=False, zorder=4)
        behind = {"boxstyle": "square,pad=0.05", "fc": "white", "ec": "none", "alpha": 0.7}
        ax.text(top, i - 0.42, f"{middle[i]:.0f}°", ha="right", va="center", fontsize=8, bbox=behind)
    ax.set_xlim(0, top)
    ax.set_ylim(max(k, 1) - 0.7, -1.0)
    name_ticks(ax.yaxis, range(k), labels[:k])
    subset_text = "" if k == len(labels) else f"\n{len(labels) - k} more axes not drawn"
    ax.set_xlabel(f"angle to own direction (°)\ntriangle: median{subset_text}", fontsize=9)


def _words(
    middle: Array, both: Array, spread: Array, total: float, names: Sequence[str], draws: int
) -> tuple[str, str]:
    """Axes that hold, and the row that moves most."""
    if not draws or not len(middle):
        return "Stability was not measured", "The table was not drawn again, so nothing is known about stability."
    firm = int((middle < FIRM_ANGLE).sum())
    axes = f"{len(middle)} {'axis' if len(middle) == 1 else 'axes'}"
    holds = f"{firm} of {axes} keep{'s' if firm == 1 else ''} direction to within {FIRM_ANGLE:.0f}°"
    title = f"Drawn again, the map's plane turns by {np.median(both):.0f}° (median); {holds}"
    parts = ", ".join(f"axis {i + 1} {a:.0f}°" for i, a in enumerate(middle[:MOST_DRAWN_AXES]))
    more = "" if len(middle) <= MOST_DRAWN_AXES else f" and {len(middle) - MOST_DRAWN_AXES} more"
    loose = [str(i + 1) for i, a in enumerate(middle) if a > LOOSE_ANGLE]
    warn = f" Axes {', '.join(loose)} turn too far to be read one by one." if len(loose) > 1 else ""
    worst = int(np.argmax(spread))
    typical, most = draw.percent(float(np.median(spread)) / total), draw.percent(float(spread[worst]) / total)
    return title, (
        f"{draw.count(draws, 'table')} drawn again from the rows. Median angle of each axis to its own "
        f"direction: {parts}{more}.{warn} A row moves by {typical} of the map's spread (median, root mean "
        f"square); most, row {draw.short(names[worst])}, by {most}."
    )


def _law_gap(p: Array) -> tuple[float, float]:
    """How far the law of p-values is from even, and what chance allows one time in twenty (Kolmogorov)."""
    n = len(p)
    return float(np.abs(np.arange(1, n + 1) / n - np.sort(p)).max()), 1.36 / float(np.sqrt(n))


@plot(
    "distance_law",
    "Whether the rows' distances follow the model's law.",
    needs="analysis",
    report=InReport(
        "stability", "rows", "rows.csv", says_something=lambda analysis: np.greater(*_law_gap(analysis.odd.D2.p))
    ),
)
def distance_law(analysis: Analysis) -> Plot:
    """Each row's p-value (D2) against the one its rank should have were the model true: a straight line."""
    p = np.sort(analysis.odd.D2.p)
    n = len(p)
    due = (np.arange(n) + 0.5) / n
    gap, limit = _law_gap(p)
    figure, ax = draw.canvas(6.4, 4.0)
    keep = np.unique(np.concatenate([np.arange(min(n, 100)), spread_out(n, 250)]))
    x, y = -np.log10(due[keep]), -np.log10(np.maximum(p[keep], 1e-300))
    top = float(x.max()) * 1.05
    ax.plot([0, top], [0, top], color=draw.GREY, lw=1, ls="--", label="as the model says")
    ax.scatter(x, np.minimum(y, 2.5 * top), s=12, color=draw.COLOURS[0], linewidths=0, label="rows")
    ax.set(xlabel="rarity due to rank (−log10)", ylabel="rarity found (−log10 p of D²)")
    ax.legend(loc="upper left")
    word = "follow" if gap <= limit else "do not follow"
    title = f"The rows' distances {word} the model's law"
    sentence = (
        f"The largest difference between the two distributions of p is {gap:.2f}; about {limit:.2f} would be "
        f"rare by chance (5% level) for {draw.count(n, 'row')}. Points above the line are rows further out than "
        "the model expects" + (f"; the rarest has p {p_value(float(p[0]))}." if n else ".")
    )
    draw.headline(figure, title)
    return Plot("distance_law", figure, title=title, sentence=sentence, data={"due": due, "p": p})
