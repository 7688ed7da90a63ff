"""The table before any model: its columns, and where its gaps are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.math.linalg import Array, Mask
from lowdim.plot.base import (
    COLOURS,
    GREY,
    INK,
    PAPER,
    Plot,
    blank,
    count,
    drawn,
    headline,
    number,
    percent,
    quoted,
    short,
    thinned,
)
from lowdim.plot.marks import whole_ticks
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 30
FENCE = 3.0  # Tukey's "far out": more than three interquartile ranges beyond a quartile
RUNS = 2500  # hatched pieces a file can hold; beyond, shares of gaps are drawn
BANDS = 200  # rows of pixels where rows are pooled
HATCH = "/////"
FAR = "#9c4400"  # the vermilion of the palette, dark enough for small text


class Strip(NamedTuple):
    """One column: how much of it is seen, its quartiles, its range without far values, and a histogram of that."""

    seen: int
    quartiles: tuple[float, float, float]
    low: float
    high: float
    below: int  # far values below `low`
    above: int
    counts: NDArray[np.int_]


@drawn
def columns(X: Array, names: Sequence[str], *, most: int = 16) -> Plot:
    """Each column as a strip: histogram, range, share of gaps, far values.

    A far value lies more than three interquartile ranges beyond a quartile (Tukey 1977, "far out"); the
    histogram spans the others. Of more than `most` columns those with most gaps and far values are drawn;
    `data` holds all.

    >>> columns(np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 5.0]]), ["a", "b"]).sentence
    "Of 2 columns, 1 has gaps ('b' most, 33%), none has far values and 1 never changes."
    """
    X = np.asarray(X, dtype=np.float64)
    n = len(X)
    strips = [_strip(X[:, j]) for j in range(X.shape[1])]
    gap = np.array([1.0 - s.seen / max(n, 1) for s in strips])
    far = np.array([s.below + s.above for s in strips])
    still = np.array([s.seen > 0 and s.low == s.high and not s.below + s.above for s in strips])
    kept = worst(gap + still + far / max(n, 1), most)
    title, sentence = _column_words(names, gap, far, still, len(kept))
    figure = blank(6.4, max(4.0, 0.75 + 0.27 * len(kept)))
    left, right = figure.subplots(1, 2, width_ratios=[4, 1], sharey=True)
    _draw_strips(left, [strips[j] for j in kept])
    _draw_shares(right, gap[kept])
    left.set_yticks(range(len(kept)), [short(names[j]) for j in kept], fontsize=9)
    left.set_ylim(len(kept) - 0.4, -0.6)
    headline(figure, title)
    data = {
        "column": np.array([str(name) for name in names]),
        "seen": [s.seen for s in strips],
        "gap_share": gap,
        "low": [s.low for s in strips],
        "high": [s.high for s in strips],
        "quartile": np.array([s.quartiles for s in strips]).reshape(len(strips), 3),
        "far_below": [s.below for s in strips],
        "far_above": [s.above for s in strips],
        "count": np.array([s.counts for s in strips]).reshape(len(strips), BINS),
    }
    return Plot("columns", figure, title=title, sentence=sentence, data=data)


def _strip(x: Array) -> Strip:
    x = x[np.isfinite(x)]
    if not len(x):
        return Strip(0, (np.nan, np.nan, np.nan), np.nan, np.nan, 0, 0, np.zeros(BINS, dtype=int))
    part = x / 4  # so that differences of the largest numbers still fit
    q1, q2, q3 = (float(v) for v in np.percentile(part, [25, 50, 75]))
    reach = FENCE * (q3 - q1) if q3 > q1 else np.inf  # half the column at one value: nothing to measure by
    near = x[(part >= q1 - reach) & (part <= q3 + reach)]
    low, high = float(near.min()), float(near.max())
    place = np.zeros(len(near)) if high == low else (near / 2 - low / 2) / (high / 2 - low / 2)
    counts = np.bincount(np.minimum((place * BINS).astype(int), BINS - 1), minlength=BINS)
    return Strip(len(x), (4 * q1, 4 * q2, 4 * q3), low, high, int((x < low).sum()), int((x > high).sum()), counts)


def worst(score: Array, most: int) -> NDArray[np.int_]:
    """The `most` positions with the highest scores, in their own order."""
    return np.sort(np.argsort(-score, kind="stable")[:most])


def _column_words(names: Sequence[str], gap: Array, far: Array, still: Array, shown: int) -> tuple[str, str]:
    d, gaps, odd, same = len(gap), int((gap > 0).sum()), int((far > 0).sum()), int(still.sum())
    title = f"{count(d, 'column')}: {gaps} with gaps, {odd} with far values, {same} never changing"
    title += f" ({shown} drawn: those with most of these)" if shown < d else ""
    worst = f" ({quoted(names[int(gap.argmax())])} most, {percent(gap.max())})" if gaps else ""
    most = f" ({quoted(names[int(far.argmax())])} most, {far.max()})" if odd else ""
    return title, (
        f"Of {count(d, 'column')}, {_has(gaps)} gaps{worst}, {_has(odd)} far values{most} and "
        f"{same} never {'changes' if same == 1 else 'change'}."
    )


def _has(k: int) -> str:
    return f"{k or 'none'} {'have' if k > 1 else 'has'}"


def _draw_strips(ax: Axes, strips: list[Strip]) -> None:
    edges = np.linspace(0.0, 1.0, BINS + 1)
    for k, s in enumerate(strips):
        if not s.seen:
            ax.fill_between([0, 1], k - 0.3, k + 0.4, facecolor=PAPER, edgecolor=GREY, hatch=HATCH, lw=0.5)
            ax.text(0.5, k, "only gaps", ha="center", va="center", fontsize=8, bbox={"fc": PAPER, "ec": "none"})
        elif s.low == s.high:
            ax.plot([0, 1], [k + 0.4, k + 0.4], color=GREY, lw=0.5)
            ax.text(0.5, k, f"always {number(s.low)}", ha="center", va="center", fontsize=8)
        else:
            tall = 0.75 * s.counts / s.counts.max()
            ax.stairs(k + 0.4 - tall, edges, baseline=k + 0.4, fill=True, color=COLOURS[0])
            ax.plot([0, 1], [k + 0.4, k + 0.4], color=GREY, lw=0.5)
            ax.text(-0.02, k + 0.05, number(s.low), ha="right", va="center", fontsize=7, color=INK)
            ax.text(1.02, k + 0.05, number(s.high), ha="left", va="center", fontsize=7, color=INK)
        for at, many, mark, side in ((-0.24, s.below, "<", "right"), (1.24, s.above, ">", "left")):
            if many:
                ax.plot([at], [k + 0.05], mark, color=COLOURS[3], ms=5)
                away = at + (0.04 if at > 0 else -0.04)
                ax.text(away, k + 0.05, f"{many:,}", ha=side, va="center", fontsize=7, color=FAR)
    ax.set_xlim(-0.42, 1.52)
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(left=False)
    ax.set_xlabel("smallest to largest; < > far values", fontsize=9)


def _draw_shares(ax: Axes, share: Array) -> None:
    top = max(0.1, float(share.max(initial=0.0)))
    ax.barh(np.arange(len(share)), share, height=0.6, color=PAPER, edgecolor=INK, hatch=HATCH, lw=0.6)
    for k, value in enumerate(share):
        ax.text(value + 0.03 * top, k, percent(value), va="center", fontsize=7)
    ax.set_xlim(0, 1.6 * top)
    ax.set_xticks([])
    ax.tick_params(left=False, labelleft=False)
    ax.spines["bottom"].set_visible(False)
    ax.set_xlabel("share of gaps", fontsize=9)


@drawn
def gaps(mask: Mask, names: Sequence[str], row_names: Sequence[str] | None = None, *, order: str = "pattern") -> Plot:
    """Rows by columns with every gap hatched, and totals at the sides; `mask` is True where a cell is seen.

    `order="pattern"` sets rows with the same gaps together, most gaps first; `"time"` keeps the table's order.
    Where single gaps would be too small to see, rows are pooled and shades show the share of gaps.

    >>> gaps(np.array([[True, True], [True, False]]), ["a", "b"]).sentence
    "1 of 4 cells (25%) is a gap, in 1 of 2 columns; 1 of 2 rows is complete; 'b' has most gaps (50%)."
    """
    if order not in ("pattern", "time"):
        raise error("LD210", option="order", value=order, allowed="'pattern' or 'time'")
    hole = ~np.asarray(mask, dtype=bool)
    n = len(hole)
    rows = _by_pattern(hole) if order == "pattern" else np.arange(n)
    per_column, per_row = hole.sum(axis=0), hole.sum(axis=1)
    title, sentence = _gap_words(hole, names)
    figure = blank()
    grid = figure.subplots(2, 2, width_ratios=[6, 1], height_ratios=[1, 4])
    body, top, side = grid[1, 0], grid[0, 0], grid[1, 1]
    grid[0, 1].set_axis_off()
    pooled = _draw_holes(body, hole[rows])
    _draw_totals(top, side, per_column / max(n, 1), per_row[rows])
    _name_columns(body, names, per_column)
    _name_rows(body, rows, row_names, order)
    headline(figure, title)
    data = {
        "column": np.array([str(name) for name in names]),
        "gaps_in_column": per_column,
        "gap_share": per_column / max(n, 1),
    }
    # the numbers of what is drawn: a line a row, or a line a band of rows
    data |= {"row": rows + 1, "gaps_in_row": per_row[rows]} if pooled is None else {"share_in_band": pooled}
    return Plot("gaps", figure, title=title, sentence=sentence, data=data)


def _by_pattern(hole: Mask) -> NDArray[np.int_]:
    """Rows with the same gaps together: most gaps first, then the commonest pattern, then the table's order."""
    packed = np.packbits(hole, axis=1)
    _, which, many = np.unique(packed, axis=0, return_inverse=True, return_counts=True)
    which = which.ravel()
    return np.lexsort((np.arange(len(hole)), which, -many[which], -hole.sum(axis=1)))


def _gap_words(hole: Mask, names: Sequence[str]) -> tuple[str, str]:
    (n, d), total = hole.shape, int(hole.sum())
    per, full = hole.sum(axis=0), int((~hole.any(axis=1)).sum())
    if not total:
        return "No gaps: every cell is seen", f"All {n * d:,} cells are seen: there are no gaps."
    share, one = percent(total / (n * d)), total == 1
    title = f"{share} of the cells are gaps; {full:,} of {count(n, 'row')} {'is' if full == 1 else 'are'} complete"
    return title, (
        f"{total:,} of {n * d:,} cells ({share}) {'is a gap' if one else 'are gaps'}, in "
        f"{int((per > 0).sum())} of {count(d, 'column')}; {full:,} of {count(n, 'row')} "
        f"{'is' if full == 1 else 'are'} complete; {quoted(names[int(per.argmax())])} has most gaps "
        f"({percent(per.max() / n)})."
    )


def _runs(hole: Mask) -> NDArray[np.int_]:
    """Unbroken stretches of gaps down each column: (column, first row, last row + 1)."""
    padded = np.zeros((hole.shape[1], len(hole) + 2), dtype=np.int8)
    padded[:, 1:-1] = hole.T
    step = np.diff(padded, axis=1)
    return np.column_stack([np.argwhere(step == 1), np.argwhere(step == -1)[:, 1]])


def _draw_holes(ax: Axes, hole: Mask) -> Array | None:
    """Gaps as hatched boxes, or as shades of the share of gaps in bands of rows; those shares if so."""
    n, d = hole.shape
    runs = _runs(hole)
    ax.set_xlim(-0.5, d - 0.5)
    ax.set_ylim(n, 0)
    ax.set_facecolor("#e3eef5")
    if len(runs) <= RUNS:
        for column, first, last in runs:
            ax.fill_between(
                [column - 0.45, column + 0.45], first, last, facecolor=PAPER, edgecolor=INK, hatch=HATCH, lw=0.3
            )
        ax.set_xlabel("column (hatched: gap; plain: seen)")
        return None
    edges = np.linspace(0, n, min(BANDS, n) + 1).astype(int)
    share: Array = np.add.reduceat(hole, edges[:-1], axis=0, dtype=float) / np.diff(edges)[:, None]
    image = ax.imshow(
        share, aspect="auto", extent=(-0.5, d - 0.5, n, 0), cmap="Greys", vmin=0, vmax=1, interpolation="nearest"
    )
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.colorbar(image, ax=ax, location="left", fraction=0.04, label="share of gaps (dark: all)")
    ax.set_xlabel("column")
    return share


def _draw_totals(top: Axes, side: Axes, share: Array, per_row: NDArray[np.int_]) -> None:
    d, n = len(share), len(per_row)
    top.bar(np.arange(d), 100 * share, width=0.9, color=COLOURS[0])
    top.set_xlim(-0.5, d - 0.5)
    top.set_xticks([])
    top.set_ylabel("% gaps", fontsize=9)
    most = 100 * float(share.max(initial=0.0))
    top.set_ylim(0, max(1.0, 1.1 * most))
    top.set_yticks([0.0, most] if most > 0 else [0.0], ["0", number(most)] if most > 0 else ["0"], fontsize=8)
    if n <= 2000:
        side.stairs(per_row, np.arange(n + 1), orientation="horizontal", fill=True, color=COLOURS[0])
    else:
        edges = np.linspace(0, n, BANDS + 1).astype(int)
        mean = np.add.reduceat(per_row, edges[:-1]) / np.diff(edges)
        side.stairs(mean, edges, orientation="horizontal", fill=True, color=COLOURS[0])
    side.set_ylim(n, 0)
    side.set_yticks([])
    side.set_xlim(0, max(1.0, 1.05 * float(per_row.max(initial=0))))
    whole_ticks(side.xaxis)
    side.set_xlabel("gaps a row", fontsize=9)


def _name_columns(ax: Axes, names: Sequence[str], weight: Any, most: int = 26) -> None:
    """Column names upright; where there are too many, those with the most gaps."""
    d = len(names)
    order = np.argsort(-np.asarray(weight), kind="stable")
    kept = thinned(order, d, 1) if d <= most else thinned(order, most, -(-d // most))
    long = 24 if d <= 12 else 16
    ax.set_xticks(kept, [short(names[j], long) for j in kept], rotation=90 if d > 4 else 0, fontsize=8)


def _name_rows(ax: Axes, rows: NDArray[np.int_], names: Sequence[str] | None, order: str) -> None:
    n = len(rows)
    sorted_ = "rows, same gaps together" if order == "pattern" else "rows in the table's order"
    if n <= 25:
        ax.set_yticks(np.arange(n) + 0.5, [short(r + 1 if names is None else names[r], 12) for r in rows], fontsize=7)
    elif order == "time":
        marks = np.unique(np.linspace(0, n - 1, 6).astype(int))
        ax.set_yticks(marks + 0.5, [short(r + 1 if names is None else names[r], 12) for r in marks], fontsize=8)
    else:
        whole_ticks(ax.yaxis)
    ax.set_ylabel(sorted_)
