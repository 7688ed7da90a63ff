"""Filled gaps: every fill with its interval over its column's own spread, and whether intervals hold their claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrik, betaincinv

from lowdim.judge.fills.calibration import width_word
from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import about, legend_above, name_ticks, own_ticks, spread_out, write
from lowdim.plot.registry import COLUMN, InReport, plot
from lowdim.table.column import in_ones, one_names, ones_of
from lowdim.text.format import listing
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lowdim.jobs.analysis import Analysis
    from lowdim.table.column import ColumnScales

MOST_FILL_LANES, MOST_LANE_FILLS = 10, 40  # columns drawn at once, and fills drawn in each
MOST_CHECKED_COLUMNS = 28  # columns whose calibration is drawn
MOST_INTERVALS = 120  # fills of one column drawn one by one; more become a band


@plot(
    "fills",
    "Every filled gap with its interval.",
    needs="analysis",
    options=(COLUMN,),
    report=InReport("fills", "rows", "fills.csv"),
)
def fills(analysis: Analysis, column: str | int | None = None) -> Plot:
    """Each filled cell with its interval, over the spread of the cells its column has; of a label its probability.

    All columns are drawn in units of their own spread, on the scale they are analysed on; one column in its own units.
    A label has no interval.

    Parameters
    ----------
    column : str or int, optional
        One column by its name or position, in its own units; all that have gaps where it is left out.
    """
    found, table, rows = analysis.fills, analysis.table, analysis.table.row_names
    if not found.is_filled.any():
        raise error("LD216", name="fills", why="there are no gaps")
    ones = ones_of(table.code_labels)  # a line for each number, and for each label of a category
    names, gap = one_names(table.names, table.code_labels, ones), found.is_filled[:, [number for number, _ in ones]]
    filled = np.where(found.is_filled, table.scales.inward(np.asarray(found.filled)), table.X)
    ends = (table.scales.inward(np.asarray(end)) for end in (found.lower, found.upper))  # an end of 0 has no logarithm
    low, high = (np.where(np.isnan(end), np.nanmin(filled, axis=0), end) for end in ends)
    X, low, high = (np.array(in_ones(part, ones)) for part in (filled, low, high))
    scales = table.scales.of([number for number, _ in ones])
    chance = np.zeros(len(ones), dtype=bool)  # lines whose fills are the probability of a label
    labels = {label.number: label for label in found.labels}
    for line, (number, code) in enumerate(ones):
        if code is not None and number in labels:
            chance[line] = True
            for part in (X, low, high):
                part[labels[number].rows, line] = labels[number].shares[:, code]
    level = found.level
    i, j = np.nonzero(gap)
    at = -1
    if column is not None:
        if isinstance(column, str) and column not in names:
            raise error("LD210", option="column", value=column, allowed=f"a column of numbers: {listing(names, 12)}")
        at = names.index(column) if isinstance(column, str) else int(column)
        i, j = i[j == at], j[j == at]
    # the cells a column has of its own: their mean, their sd, and how far most of them reach
    seen = [X[~gap[:, k], k] for k in range(X.shape[1])]
    mean = np.array([s.mean() if len(s) else 0.0 for s in seen])
    sd = np.array([s.std() or 1.0 if len(s) else 1.0 for s in seen])
    column_width = np.array([float(np.subtract(*np.quantile(s, middle(level)[::-1]))) if len(s) else 0.0 for s in seen])
    share = (high[i, j] - low[i, j]) / np.where(column_width[j] > 0, column_width[j], 1.0)
    owner = np.array([number for number, _ in ones], dtype=np.intp)  # a gap of a category is one, of all its labels
    _, once = np.unique(np.stack([i, owner[j]]), axis=1, return_index=True)
    told = table.names if column is None else names
    own = owner[j[once]] if column is None else j
    title, sentence = _fill_words(own, share[~chance[j]], int(chance[j[once]].sum()), told, level, column is not None)
    cells = FilledCells(X, gap, low, high, chance, level)
    figure = _one(cells, i, at, rows, scales) if column is not None and len(i) else _lanes(cells, mean, sd, names)
    draw.headline(figure, title)
    data = {
        "row": [rows[k] for k in i],
        "column": [names[k] for k in j],
        "fill": scales.outward(X)[i, j],
        "lower": scales.outward(low)[i, j],
        "upper": scales.outward(high)[i, j],
        "share_of_spread": share,
    }
    return Plot("fills", figure, title=title, sentence=sentence, data=data)


def middle(level: float) -> list[float]:
    """The quantiles between which this share of a column lies."""
    return [(1.0 - level) / 2.0, (1.0 + level) / 2.0]


class FilledCells(NamedTuple):
    """A filled table, where it was filled, the ends of the intervals, and the columns whose fills are probabilities."""

    X: Array
    gap: NDArray[np.bool_]
    low: Array
    high: Array
    chance: NDArray[np.bool_]  # a column
    level: float


def _fill_words(
    j: NDArray[np.intp], share: Array, answers: int, names: Sequence[str], level: float, one: bool
) -> tuple[str, str]:
    """What is said of gaps of the columns j: `answers` of them are labels, the others have intervals so wide beside
    their column."""
    if not len(j):
        return "No gaps to fill", "Every cell was seen, so nothing was filled."
    columns, totals = np.unique(j, return_counts=True)
    claim = f"{100 * level:.3g}%"
    half = float(np.median(share)) if len(share) else 0.0
    in_one = one or len(columns) == 1
    where = f"in {draw.quoted(names[columns[0]]) if in_one else draw.count(len(columns), 'column')}"
    many = draw.count(len(j), "gap")
    if not len(share):
        return f"{many} of labels filled {where}", f"{many} filled {where}: how likely each label is."
    labels = f", {answers:,} of labels" if answers else ""
    title = f"{many} filled {where}{labels}; {claim} intervals {draw.percent(half)} as wide as the column"
    most = columns[int(np.argmax(totals))]
    more = "" if in_one else f" Most are in {draw.quoted(names[most])}: {totals.max():,}."
    return title, (
        f"{many} filled {where}{labels}. Half of the {claim} intervals are narrower than "
        f"{draw.percent(half)} of the width that holds {claim} of the column's seen cells.{more}"
    )


def _lanes(cells: FilledCells, mean: Array, sd: Array, names: Sequence[str]) -> Figure:
    """A lane for every column with gaps: grey where its seen cells are, a mark and a bar for every fill."""
    X, gap, low, high, chance, level = cells
    totals = gap.sum(axis=0)
    shown = np.argsort(-totals, kind="stable")[:MOST_FILL_LANES]
    shown = shown[totals[shown] > 0]
    most = int(np.clip(120 // max(len(shown), 1), 1, MOST_LANE_FILLS))
    size = np.array([0.5 + 0.05 * min(totals[j], most) for j in shown])
    figure, ax = draw.canvas(6.4, 1.7 + 0.45 * float(size.sum()) if len(shown) else 2.0)
    at = np.cumsum(size) - size / 2
    for y, lane_height, j in zip(at, size, shown, strict=True):
        seen_cells = (X[~gap[:, j], j] - mean[j]) / sd[j]
        if len(seen_cells):  # a wide bar for `level` of them, a line to the farthest
            a, b = np.quantile(seen_cells, middle(level))
            ax.barh(y, b - a, left=a, height=0.84 * lane_height, color=draw.GREY, alpha=0.25, lw=0)
            ax.hlines(y, seen_cells.min(), seen_cells.max(), color=draw.GREY, lw=0.8, alpha=0.6)
        rows = np.flatnonzero(gap[:, j])
        rows = rows[np.argsort(X[rows, j], kind="stable")][spread_out(len(rows), most)]
        lane = y + (np.linspace(-0.38, 0.38, len(rows)) * lane_height if len(rows) > 1 else np.zeros(1))
        z, a, b = ((m[rows, j] - mean[j]) / sd[j] for m in (X, low, high))
        ax.hlines(lane, a, b, color=draw.COLOURS[0], lw=1.1)
        ax.plot(z, lane, "o" if chance[j] else "D", ms=3.2, color=draw.COLOURS[3], mec="white", mew=0.3)
    subset_texts = [f", {most} shown" if totals[j] > most else "" for j in shown]
    words = [f"{draw.short(names[j], 20)} ({totals[j]:,}{more})" for j, more in zip(shown, subset_texts, strict=True)]
    name_ticks(ax.yaxis, at, words, most=40)
    ax.set_ylim(float(size.sum()) if len(shown) else 1.0, 0.0)
    hidden = int((totals > 0).sum()) - len(shown)
    what = ("column or label", "columns and labels") if chance.any() else ("column", "columns")
    more = f"\n{draw.count(hidden, *what)} with fewer gaps not drawn" if hidden else ""
    ax.set_xlabel(f"distance from the column's mean, in its own sd{more}", fontsize=9)
    _fill_keys(ax, level, 3 if max((len(word) for word in words), default=0) < 24 else 1, chance[shown])
    return figure


def _fill_keys(ax: Any, level: float, across: int, chance: NDArray[np.bool_]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    claim = f"{100 * level:.3g}%"
    marks = [
        Line2D([], [], color=draw.COLOURS[0], marker="D", mfc=draw.COLOURS[3], mec="white", ms=5, lw=1.1),
        Patch(color=draw.GREY, alpha=0.25),
        Line2D([], [], color=draw.GREY, lw=0.8),
    ]
    words = [f"fill and {claim} interval", f"{claim} of seen cells", "all seen cells"]
    if chance.any():
        marks.append(Line2D([], [], color=draw.COLOURS[3], marker="o", mec="white", ms=5, lw=0))
        words.append("probability of a label")
    kept = slice(1 if len(chance) and chance.all() else 0, None)
    legend_above(ax, marks[kept], words[kept], ncols=across)


def _one(cells: FilledCells, rows: NDArray[np.intp], j: int, names: Sequence[str], scales: ColumnScales) -> Figure:
    """One column in its own units: fills in the order of the rows beside a histogram of its seen cells."""
    X, gap, low, high, chance, level = cells
    seen_cells = X[~gap[:, j], j]
    figure = draw.blank()
    left, ax = figure.subplots(1, 2, sharey=True, width_ratios=[1, 4])
    bins = int(np.clip(2 * len(seen_cells) ** (1 / 3), 3, 30))
    left.hist(seen_cells, bins, orientation="horizontal", color=draw.GREY, alpha=0.5)
    left.invert_xaxis()
    left.set_xlabel(f"seen cells ({len(seen_cells):,})", fontsize=9)
    left.set_ylabel("value, in the column's units")
    if len(seen_cells):
        low_end, high_end = np.quantile(seen_cells, middle(level))
        ax.axhspan(low_end, high_end, color=draw.GREY, alpha=0.18, lw=0, label=f"{100 * level:.3g}% of seen cells")
    said = "probability of the label" if chance[j] else f"fill and {100 * level:.3g}% interval"
    _draw_intervals(ax, X[rows, j], low[rows, j], high[rows, j], [names[k] for k in rows], said)
    legend_above(ax, ncols=2)
    own_ticks(left.yaxis, scales, j)
    return figure


def _draw_intervals(ax: Any, mid: Array, a: Array, b: Array, names: Sequence[str], said: str) -> None:
    """Fills with their intervals from a to b, one by one in the order of the rows, or as a band where they are many."""
    x = np.arange(len(mid))
    if len(mid) <= MOST_INTERVALS:
        ends, colour, line = [np.maximum(mid - a, 0.0), np.maximum(b - mid, 0.0)], draw.COLOURS[3], draw.COLOURS[0]
        ax.errorbar(x, mid, ends, fmt="D", ms=3.5, lw=1.1, color=colour, ecolor=line, label=said)
        places = spread_out(len(mid), 8)
        name_ticks(ax.xaxis, places, [names[k] for k in places], most=8)
        ax.set_xlabel("row of the filled cell", fontsize=9)
    else:
        order = np.argsort(mid, kind="stable")
        mark, _, band = said.partition(" and ")
        if band:
            ax.fill_between(x, a[order], b[order], color=draw.COLOURS[0], alpha=0.3, lw=0, label=band)
        ax.plot(x, mid[order], color=draw.COLOURS[3], lw=1.4, label=mark)
        ax.set_xlabel("filled cells, smallest first", fontsize=9)


# calibration --------------------------------------------------------------------------------------------
@plot("calibration", "Whether intervals of fills hold what they claim.", needs="analysis", report=InReport("fills"))
def calibration(analysis: Analysis) -> Plot:
    """How many cells hidden on purpose the intervals held, column by column, against what they claim.

    Bands hold 95% of what exact intervals would give: Binomial(tried, level).

    Reference: for the bars, C. Clopper and E. Pearson, The use of confidence or fiducial limits illustrated in the case
    of the binomial, Biometrika 26, 1934.
    """
    from lowdim.judge.fills.result import LEVELS  # loads the engines of fills

    found, level = analysis.fills, analysis.fills.level
    names = [column.column for column in found.columns]
    held = np.array([column.held for column in found.columns], dtype=float)
    tried = np.array([column.tried for column in found.columns], dtype=float)
    figure = draw.blank(6.4, max(3.4, 1.9 + 0.17 * min(len(names), MOST_CHECKED_COLUMNS)))
    axes = figure.subplots(1, 2, width_ratios=[1, 1.15]) if found.tried else [None, figure.subplots()]
    data: dict[str, Any] = {}
    if found.tried:
        at, actual = np.array(LEVELS, dtype=float), np.asarray(found.coverage(LEVELS), dtype=float)
        data = {"claimed": at, "actual": actual} | _curve(axes[0], at, actual, int(tried.sum()))
    band = np.array([binomial(0.025, tried, level), binomial(0.975, tried, level)]) / np.maximum(tried, 1.0)
    share = held / np.maximum(tried, 1.0)
    outside = (tried > 0) & ((share < band[0]) | (share > band[1]))
    _columns(axes[1], held, tried, names, level, band, outside)
    title, sentence = _calibration_words(float(held.sum()), float(tried.sum()), level, outside, share, names)
    draw.headline(figure, title)
    columns = {"column": names, "held": held, "tried": tried, "share": share}
    data = columns | {"band_lower": band[0], "band_upper": band[1], "outside": outside} | data
    return Plot("calibration", figure, title=title, sentence=sentence, data=data)


def binomial(tail: float, n: Any, p: Any) -> Array:
    """The smallest k with P(Binomial(n, p) <= k) >= tail.

    >>> binomial(0.025, np.array([100.0]), 0.9).tolist()
    [84.0]
    """
    n = np.asarray(n).astype(int)  # whole numbers, or SciPy warns
    k = np.ceil(np.where(n > 0, bdtrik(tail, np.maximum(n, 1), p), 0.0))
    less = np.maximum(k - 1.0, 0.0)
    return np.where(bdtr(less, n, p) >= tail, less, k)


def _curve(ax: Any, levels: Array, shares: Array, cells: int) -> dict[str, Any]:
    """Claimed against actual coverage, with the band of exact intervals."""
    grid = np.linspace(0.01, 0.99, 99)
    low, high = (binomial(t, np.full(len(grid), float(cells)), grid) / max(cells, 1) for t in (0.025, 0.975))
    ax.fill_between(100 * grid, 100 * low, 100 * high, color=draw.GREY, alpha=0.3, lw=0, label="95% band, exact")
    ax.plot([0, 100], [0, 100], color=draw.GREY, lw=0.8)
    ax.plot(100 * levels, 100 * shares, "o-", ms=4.5, lw=1.2, color=draw.COLOURS[0], label="hidden cells")
    least = 10 * max(float(np.floor(10 * min(levels.min(), shares.min()))) - 1.0, 0.0)
    ax.set(xlim=(least, 100), ylim=(least, 100))
    ax.set_xlabel("claimed (%)", fontsize=9)
    ax.set_ylabel("actually held (%)", fontsize=9)
    ax.legend(fontsize=8, loc="upper left")
    edge = [binomial(t, np.full(len(levels), float(cells)), levels) / max(cells, 1) for t in (0.025, 0.975)]
    return {"claimed_lower": edge[0], "claimed_upper": edge[1]}


def _columns(
    ax: Any, held: Array, tried: Array, names: Sequence[str], level: float, band: Array, outside: NDArray[np.bool_]
) -> None:
    """Each column's share held, lowest first, with its 95% interval over the band of exact intervals."""
    share = held / np.maximum(tried, 1.0)
    order = np.flatnonzero(tried > 0)
    order = order[np.argsort(share[order], kind="stable")]
    shown = order[spread_out(len(order), MOST_CHECKED_COLUMNS)] if len(order) else order
    low = np.where(held > 0, betaincinv(np.maximum(held, 1), tried - held + 1, 0.025), 0.0)
    high = np.where(held < tried, betaincinv(held + 1, np.maximum(tried - held, 1), 0.975), 1.0)
    for y, j in enumerate(shown):
        ax.barh(y, 100 * (band[1, j] - band[0, j]), left=100 * band[0, j], height=0.8, color=draw.GREY, alpha=0.3, lw=0)
        ax.hlines(y, 100 * low[j], 100 * high[j], color=draw.COLOURS[0], lw=1.2)
        ax.plot(100 * share[j], y, "D" if outside[j] else "o", ms=5, color=draw.COLOURS[3 if outside[j] else 0])
    ax.axvline(100 * level, color=draw.INK, lw=0.9, ls="--")
    ax.set_ylim(len(shown) - 0.4, -0.6)
    least = 100 * float(min([*low[shown], level]))
    ax.set_xlim(max(0.0, least - 3), 101)
    words = [f"{draw.short(names[j], 18)} ({tried[j]:.0f})" for j in shown]
    name_ticks(ax.yaxis, range(len(shown)), words, most=30, fontsize=8)
    subset_text = "" if len(shown) == len(order) else f"\n{len(shown)} of {len(order)} columns"
    ax.set_xlabel(f"held by {100 * level:.3g}% intervals (%){subset_text}", fontsize=9)
    if not len(shown):
        write(ax, 0.5, 0.5, "no cell could be hidden", transform=ax.transAxes, ha="center")


def _calibration_words(
    inside: float, total: float, level: float, outside: NDArray[np.bool_], share: Array, names: Sequence[str]
) -> tuple[str, str]:
    claim = f"{100 * level:.3g}%"
    if total == 0:
        return "Too few cells to check the intervals", "No cell could be hidden, so the intervals are not checked."
    word = width_word(int(inside), int(total), level) or "as claimed"
    title = f"{claim} intervals contain {draw.percent(inside / total)} of {total:,.0f} hidden cells: {word}"
    bad = np.flatnonzero(outside)
    if not len(bad):
        return title, f"{title}. No column lies outside the 95% band of exact intervals."
    worst = bad[int(np.argmax(np.abs(share[bad] - level)))]
    return title, (
        f"{title}. {draw.count(len(bad), 'column')} of {len(share)} outside the 95% band of exact intervals "
        f"(about {about(0.05 * len(share))} expected by chance), farthest {draw.quoted(names[worst])} with "
        f"{draw.percent(share[worst])}."
    )
