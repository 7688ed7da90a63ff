"""Control charts: distances of the rows in order, each beside a limit that knows its gaps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import MOST_POINTS, MOST_VECTOR_POINTS, about, legend_above, plain_log, whole_ticks
from lowdim.plot.registry import InReport, plot

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis
    from lowdim.jobs.apply import PlacedRows
    from lowdim.judge.outliers.law import RowLaw
    from lowdim.judge.rows.odd_rows import Law

MOST_NAMED_BEYOND = 8  # rows named on a chart
LEVEL = 0.99  # of the limits


class LimitedDistance(NamedTuple):
    """One distance in the order of the rows, with each row's own limit (NaN where it has none)."""

    value: Array
    limit: Array
    beyond: NDArray[np.bool_]


def with_limits(laws: list[Law], reference: RowLaw) -> LimitedDistance:
    """The distances, with limits by the law of ordinary rows for each row's own degrees of freedom.

    A row without degrees of freedom has no value and no limit.
    """
    dof = np.concatenate([law.dof for law in laws]).astype(float)
    limit = np.where(dof > 0, reference.limit(dof, LEVEL), np.nan)
    value = np.where(dof > 0, np.concatenate([law.value for law in laws]), np.nan)
    return LimitedDistance(value, limit, np.nan_to_num(value) > np.nan_to_num(limit, nan=np.inf))


@plot(
    "control",
    "Distances of the rows in order, with limits that know the gaps.",
    needs="analysis",
    report=InReport("odd", "rows", "rows.csv", says_something=lambda analysis: analysis.table.time is not None),
)
def control(analysis: Analysis, *, placed: PlacedRows | None = None) -> Plot:
    """T2 and Q of the rows in the order of the table, each row beside the limit of its own degrees of freedom.

    The limit is that of the law of ordinary rows: chi-square, or what the bulk of the table says. A row with gaps has
    fewer degrees of freedom, so its limit is lower: the limit steps.

    Parameters
    ----------
    placed : PlacedRows, optional
        New rows, as `analysis.apply` gave them: they are drawn after the history and marked.
    """
    parts: list[Analysis | PlacedRows] = [analysis] if placed is None else [analysis, placed]
    judged = [part.odd for part in parts if part.odd is not None]
    reference = judged[-1].judged.law
    n = sum(len(part.row_names) for part in parts)
    names, is_new = [name for part in parts for name in part.row_names], np.arange(n) >= len(analysis.row_names)
    within, off = (with_limits(laws, reference) for laws in ([o.T2 for o in judged], [o.Q for o in judged]))
    figure, axes = draw.canvas(6.4, 4.6, rows=2, sharex=True)
    for ax, distance, label in zip(axes, (within, off), ("within the map (T²)", "off the map (Q)"), strict=True):
        _trail(ax, distance, names, is_new)
        ax.set_ylabel(label + (", log scale" if ax.get_yscale() == "log" else ""), fontsize=9)
    axes[1].set_xlabel("row, in the order of the table")
    whole_ticks(axes[1].xaxis)
    _split(axes, is_new)
    legend_above(axes[0], *_keys(f"{100 * LEVEL:.3g}%", n), ncols=3)
    title, sentence = _control_words(within, off, is_new, n)
    draw.headline(figure, title)
    data = {"row": names, "T2": within.value, "T2_limit": within.limit, "T2_beyond": within.beyond}
    data |= {"Q": off.value, "Q_limit": off.limit, "Q_beyond": off.beyond, "new": is_new}
    return Plot("control", figure, title=title, sentence=sentence, data=data)


def _trail(ax: Any, distance: LimitedDistance, names: Sequence[str], is_new: NDArray[np.bool_]) -> None:
    """The values in order, the limit as a step line, rows beyond it marked and the farthest named."""
    n = len(distance.value)
    x = np.arange(1.0, n + 1.0)
    if n <= MOST_POINTS:
        if n <= 300:
            ax.plot(x, distance.value, "-", color=draw.COLOURS[0], lw=0.6, alpha=0.5)
        marks = ax.plot(x[~is_new], distance.value[~is_new], ".")
        marks += ax.plot(x[is_new], distance.value[is_new], "o", mfc="none", mew=0.7)
        for mark in marks:
            mark.set(color=draw.COLOURS[0], ms=4.0 if n <= 300 else 3.0, rasterized=n > MOST_VECTOR_POINTS)
        ax.step(x, distance.limit, where="mid", color=draw.INK, lw=0.9)
    else:  # too many rows to see: the largest and the median of 400 stretches
        edges = np.linspace(0, n, 401).astype(int)
        middle = (edges[:-1] + edges[1:] + 1) / 2
        value, limit = ([a[i:j] for i, j in pairwise(edges)] for a in (np.nan_to_num(distance.value), distance.limit))
        ax.fill_between(middle, 0.0, [np.median(v) for v in value], color=draw.COLOURS[5], alpha=0.5, lw=0)
        ax.plot(middle, [v.max() for v in value], color=draw.COLOURS[0], lw=0.8)
        ax.step(middle, [np.median(v) for v in limit], where="mid", color=draw.INK, lw=0.9)
    beyond = np.flatnonzero(distance.beyond)
    excess = np.nan_to_num(distance.value - distance.limit)
    beyond = beyond[np.argsort(-excess[beyond], kind="stable")][: 400 if n <= MOST_POINTS else 60]
    ax.plot(x[beyond], distance.value[beyond], "D", color=draw.COLOURS[3], ms=5)
    _height(ax, distance)
    far = draw.thinned(beyond, MOST_NAMED_BEYOND // 2, max(1, n // 16))  # labels of neighbours would lie on each other
    ax.set_xlim(1 - 0.02 * n - 0.5, n + 0.02 * n + 0.5)
    draw.place_labels(ax, np.column_stack([x[far], distance.value[far]]), [draw.short(names[k], 14) for k in far])


def _height(ax: Any, distance: LimitedDistance) -> None:
    value = distance.value[np.isfinite(distance.value)]
    top = float(value.max()) if len(value) else 1.0
    limit = float(np.nanmax(distance.limit)) if np.isfinite(distance.limit).any() else 1.0
    if top > 12 * limit:
        ax.set_yscale("log")
        ax.set_ylim(max(float(value[value > 0].min()), limit / 1e3), 1.6 * top)
        plain_log(ax.yaxis)
    else:
        ax.set_ylim(0, 1.12 * max(top, limit))


def _keys(share: str, n: int) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], color=draw.COLOURS[0], marker="." if n <= MOST_POINTS else "", lw=0.8),
        Line2D([], [], color=draw.INK, lw=0.9),
        Line2D([], [], color=draw.COLOURS[3], marker="D", lw=0, ms=5),
    ]
    value = "each row" if n <= MOST_POINTS else "largest (line) and median (area)"
    return marks, [value, f"{share} limit for its seen cells", "beyond it"]


def _split(axes: Any, is_new: NDArray[np.bool_]) -> None:
    """A line where history ends and new rows begin, if they do so once."""
    if not is_new.any() or is_new.all() or (np.diff(is_new.astype(int)) != 0).sum() != 1 or not is_new[-1]:
        return
    start = float(np.argmax(is_new)) + 0.5
    for ax in axes:
        ax.axvline(start, color=draw.GREY, lw=1.2)
    at = axes[0].get_xaxis_transform()
    for text, side, shift in (("← history", "right", -4), ("new rows →", "left", 4)):
        note = axes[0].annotate(text, (start, 1.0), (shift, -2), xycoords=at, textcoords="offset points", va="top")
        note.set(ha=side, fontsize=8.5)


def _control_words(within: LimitedDistance, off: LimitedDistance, is_new: NDArray[np.bool_], n: int) -> tuple[str, str]:
    either = within.beyond | off.beyond
    share = f"{100 * LEVEL:.3g}%"
    title = f"{draw.count(int(either.sum()), 'row')} of {n:,} beyond {share} limits"
    if is_new.any():
        title = (
            f"{int(either[is_new].sum())} of {draw.count(int(is_new.sum()), 'new row')} beyond {share} limits "
            f"({int(either[~is_new].sum())} of {int((~is_new).sum()):,} in history)"
        )
    two = np.isfinite(off.limit)
    chance = (1.0 - LEVEL) * (n + two.sum()) - (1.0 - LEVEL) ** 2 * two.sum()
    steps = len(np.unique(off.limit[two]))
    remarks = f" As cells are missing, the limit of Q takes {steps} values." if steps > 1 else ""
    remarks += "" if two.all() else f" Q is not defined for {draw.count(int((~two).sum()), 'row')}."
    return title, (
        f"{title}: {int(within.beyond.sum())} in T² and {int(off.beyond.sum())} in Q; about "
        f"{about(chance)} rows expected by chance.{remarks}"
    )
