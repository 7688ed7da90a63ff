"""The table before any model: its columns, where its gaps are, and which of them come together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask, evenly_spread
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import LEAST_SHOWN_ROWS, whole_ticks
from lowdim.plot.registry import InReport, plot
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.judge.gaps import GapReport
    from lowdim.table.table import Table

STRIP_BINS = 30
MOST_STRIPS, MOST_PAIRED_COLUMNS = 16, 20  # columns that are drawn
FENCE = 3.0  # Tukey's "far out": more than three interquartile ranges beyond a quartile
MOST_HATCHED = 2500  # hatched pieces a file can hold; beyond, shares of gaps are drawn
GAP_BANDS = 200  # rows of pixels where rows are pooled
MOST_NAMED_GAPS = 26  # columns that are named below
HATCH = "/////"
FAR_COLOUR = "#9c4400"  # the vermilion of the palette, dark enough for small text
FALSE_DISCOVERY = 0.05
NORMAL_FROM = 50.0  # rows expected to meet beyond which the middle of the law is as good as normal


class Strip(NamedTuple):
    """One column: how much of it is seen, its quartiles, its range without far values, and a histogram of that; of a
    category the rows of each label, and what stands at both ends."""

    seen: int
    quartiles: tuple[float, float, float]
    low: float
    high: float
    below: int  # far values below `low`
    above: int
    counts: NDArray[np.int_]
    labels: tuple[str, str] | None = None


@plot(
    "columns",
    "Each column as a strip: its histogram, range, gaps and far values.",
    needs="table",
    report=InReport("table", "rows"),
)
def columns(table: Table) -> Plot:
    """Each column as a strip: histogram, range, share of gaps, far values.

    A far value lies more than three interquartile ranges beyond a quartile (Tukey 1977, "far out"); the histogram spans
    the others. A category has a bar for each label, the most frequent first. Of more than 16 columns those with most
    gaps and far values are drawn; the numbers are those of all.

    Examples
    --------
    >>> import lowdim
    >>> columns(lowdim.read(np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 6.0]]))).sentence
    "Of 2 columns, 1 has gaps ('c2' most, 33%) and none has far values."
    """
    X, names, n = table.X, table.scale_names, table.n
    strips = [_bars(X[:, j], labels) if labels else _strip(X[:, j]) for j, labels in enumerate(table.code_labels)]
    reach = np.array([(s.low, s.high, *s.quartiles) for s in strips]).reshape(len(strips), 5)
    own = table.scales.outward(reach.T).T  # also of a column that is analysed as a logarithm
    gap = np.array([1.0 - s.seen / max(n, 1) for s in strips])
    far = np.array([s.below + s.above for s in strips])
    constant = np.array([s.seen > 0 and s.low == s.high and not s.below + s.above for s in strips])
    shown = worst(gap + constant + far / max(n, 1), MOST_STRIPS)
    title, sentence = _column_words(names, gap, far, constant, len(shown))
    figure = draw.blank(6.4, max(4.0, 0.75 + 0.27 * len(shown)))
    left, right = figure.subplots(1, 2, width_ratios=[4, 1], sharey=True)
    _draw_strips(left, [strips[j] for j in shown], own[shown, :2])
    top = max(0.1, float(gap[shown].max(initial=0.0)))
    right.barh(np.arange(len(shown)), gap[shown], height=0.6, color=draw.PAPER, edgecolor=draw.INK, hatch=HATCH, lw=0.6)
    for k, share in enumerate(gap[shown]):
        right.text(share + 0.03 * top, k, draw.percent(share), va="center", fontsize=7)
    right.set(xlim=(0, 1.6 * top), xticks=[])
    right.tick_params(left=False, labelleft=False)
    right.spines["bottom"].set_visible(False)
    right.set_xlabel("share of gaps", fontsize=9)
    left.set_yticks(range(len(shown)), [draw.short(names[j]) for j in shown], fontsize=9)
    left.set_ylim(len(shown) - 0.4, -0.6)
    draw.headline(figure, title)
    widest = max((len(s.counts) for s in strips), default=STRIP_BINS)
    data = {
        "column": names,
        "seen": [s.seen for s in strips],
        "gap_share": gap,
        "low": own[:, 0],
        "high": own[:, 1],
        "quartile": own[:, 2:],
        "far_below": [s.below for s in strips],
        "far_above": [s.above for s in strips],
        "count": np.array([np.pad(s.counts, (0, widest - len(s.counts))) for s in strips]).reshape(len(strips), widest),
    }
    return Plot("columns", figure, title=title, sentence=sentence, data=data)


def _bars(codes: Array, labels: Sequence[str]) -> Strip:
    """A category: how many rows have each label, the most frequent first."""
    times = np.bincount(codes[~np.isnan(codes)].astype(np.intp), minlength=len(labels))
    order = np.argsort(-times, kind="stable")
    seen, last = int(times.sum()), float(len(labels) - 1)
    ends = (labels[order[0]], f"{len(labels)} labels")
    return Strip(seen, (0.0, 0.0, last), 0.0, last, 0, 0, times[order], ends)


def _strip(x: Array) -> Strip:
    x = x[np.isfinite(x)]
    if not len(x):
        return Strip(0, (np.nan, np.nan, np.nan), np.nan, np.nan, 0, 0, np.zeros(STRIP_BINS, dtype=int))
    part = x / 4  # so that differences of the largest numbers still fit
    q1, q2, q3 = (float(v) for v in np.percentile(part, [25, 50, 75]))
    reach = FENCE * (q3 - q1) if q3 > q1 else np.inf  # half the column at one value: nothing to measure by
    near = x[(part >= q1 - reach) & (part <= q3 + reach)]
    low, high = float(near.min()), float(near.max())
    place = np.zeros(len(near)) if high == low else (near / 2 - low / 2) / (high / 2 - low / 2)
    counts = np.bincount(np.minimum((place * STRIP_BINS).astype(int), STRIP_BINS - 1), minlength=STRIP_BINS)
    return Strip(len(x), (4 * q1, 4 * q2, 4 * q3), low, high, int((x < low).sum()), int((x > high).sum()), counts)


def worst(score: Array, most: int) -> NDArray[np.int_]:
    """The `most` positions with the highest scores, in their own order."""
    return np.sort(np.argsort(-score, kind="stable")[:most])


def _column_words(names: Sequence[str], gap: Array, far: Array, constant: Array, shown: int) -> tuple[str, str]:
    d, gaps, odd, same = len(gap), int((gap > 0).sum()), int((far > 0).sum()), int(constant.sum())
    counts = ((gaps, "with gaps"), (odd, "with far values"), (same, "constant"))
    found = ", ".join(f"{k} {what}" for k, what in counts if k)
    title = f"{draw.count(d, 'column')}: {found or 'no gaps, no far values'}"
    title += f" ({shown} drawn{': those with most gaps and far values' * bool(gaps or odd)})" if shown < d else ""
    worst = f" ({draw.quoted(names[int(gap.argmax())])} most, {draw.percent(gap.max())})" if gaps else ""
    most = f" ({draw.quoted(names[int(far.argmax())])} most, {far.max()})" if odd else ""
    return title, (
        f"Of {draw.count(d, 'column')}, {_has(gaps)} gaps{worst} and {_has(odd)} far values{most}"
        f"{f'; {same} never ' + ('changes' if same == 1 else 'change') if same else ''}."
    )


def _has(k: int) -> str:
    return f"{k or 'none'} {'have' if k > 1 else 'has'}"


def _draw_strips(ax: Axes, strips: list[Strip], ends: Array) -> None:
    """Each strip between its `ends` in the column's own units."""
    edges = np.linspace(0.0, 1.0, STRIP_BINS + 1)
    for k, (s, (low, high)) in enumerate(zip(strips, ends, strict=True)):
        if not s.seen:
            ax.fill_between([0, 1], k - 0.3, k + 0.4, facecolor=draw.PAPER, edgecolor=draw.GREY, hatch=HATCH, lw=0.5)
            ax.text(0.5, k, "only gaps", ha="center", va="center", fontsize=8, bbox={"fc": draw.PAPER, "ec": "none"})
        elif s.low == s.high:
            ax.plot([0, 1], [k + 0.4, k + 0.4], color=draw.GREY, lw=0.5)
            ax.text(0.5, k, f"always {draw.number(low)}", ha="center", va="center", fontsize=8)
        else:
            heights = 0.75 * s.counts / s.counts.max()
            if s.labels is None:
                ax.stairs(k + 0.4 - heights, edges, baseline=k + 0.4, fill=True, color=draw.COLOURS[0])
            else:
                share = 1.0 / len(heights)
                middles = (np.arange(len(heights)) + 0.5) * share
                ax.bar(middles, -heights, 0.8 * share, bottom=k + 0.4, color=draw.COLOURS[2])
            ax.plot([0, 1], [k + 0.4, k + 0.4], color=draw.GREY, lw=0.5)
            first, last = (draw.number(low), draw.number(high)) if s.labels is None else s.labels
            ax.text(-0.02, k + 0.05, draw.short(first, 12), ha="right", va="center", fontsize=7, color=draw.INK)
            ax.text(1.02, k + 0.05, draw.short(last, 12), ha="left", va="center", fontsize=7, color=draw.INK)
        for at, many, mark, side in ((-0.24, s.below, "<", "right"), (1.24, s.above, ">", "left")):
            if many:
                ax.plot([at], [k + 0.05], mark, color=draw.COLOURS[3], ms=5)
                away = at + (0.04 if at > 0 else -0.04)
                ax.text(away, k + 0.05, f"{many:,}", ha=side, va="center", fontsize=7, color=FAR_COLOUR)
    ax.set_xlim(-0.42, 1.52)
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(left=False)
    ax.set_xlabel("smallest to largest; < > far values", fontsize=9)


@plot(
    "spreads",
    "Columns as histograms in bins of at least five rows.",
    needs="table",
    report=InReport("table", "no rows"),
)
def spreads(table: Table) -> Plot:
    """A histogram of each column between 2.5 standard deviations around its mean, in bins of at least five rows."""
    table = table.in_ones()
    X, names = table.X, table.names
    shown = min(len(names), MOST_STRIPS)
    centre, sd = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    edges = np.linspace(-2.5, 2.5, 13)
    z = (X - centre) / np.where(sd > 0, sd, 1.0)
    counts = np.array([np.histogram(x[~np.isnan(x)], bins=edges)[0] for x in z.T])
    counts = np.where(counts >= LEAST_SHOWN_ROWS, counts, 0)
    figure, ax = draw.canvas(6.4, 0.9 + 0.3 * shown)
    for k in range(shown):
        heights = counts[k] / max(counts[k].max(), 1)
        low = shown - 1 - k
        ax.bar(edges[:-1], 0.85 * heights, np.diff(edges), bottom=low, align="edge", color=draw.COLOURS[0])
    ax.set_yticks(np.arange(shown)[::-1] + 0.4, [draw.short(name) for name in names[:shown]], fontsize=8.5)
    ax.axvline(0, color=draw.INK, lw=0.6)
    ax.set_xlabel("standard deviations from the column's mean")
    title = f"{draw.count(len(names), 'column')} in bins of at least {LEAST_SHOWN_ROWS} rows"
    draw.headline(figure, title)
    subset_text = "" if shown == len(names) else f" The first {shown} are drawn."
    sentence = f"Bins with fewer rows are left empty, because this report was asked to show no row.{subset_text}"
    data = {"column": names, "mean": centre, "sd": sd, "count": counts}
    return Plot("spreads", figure, title=title, sentence=sentence, data=data)


@plot("gaps", "Rows by columns with every gap hatched.", needs="table", report=InReport("gaps", "rows"))
def gaps(table: Table, *, order: str = "pattern") -> Plot:
    """Rows by columns with every gap hatched, and totals at the sides.

    Where single gaps would be too small to see, rows are pooled and shades show the share of gaps.

    Parameters
    ----------
    order : {"pattern", "time"}
        Rows with the same gaps together, most gaps first, or in the order of the table.

    Examples
    --------
    >>> import lowdim
    >>> gaps(lowdim.read(np.array([[1.0, 2.0], [3.0, np.nan], [2.0, 5.0]]))).sentence
    "1 of 6 cells (17%) is a gap, in 1 of 2 columns; 2 of 3 rows are complete; 'c2' has most gaps (33%)."
    """
    if order not in ("pattern", "time"):
        raise error("LD210", option="order", value=order, allowed="'pattern' or 'time'")
    hole, names = np.isnan(table.X), table.names
    n = len(hole)
    rows = np.arange(n)
    if order == "pattern":  # most gaps first, then the commonest pattern, then the table's order
        _, which, many = np.unique(np.packbits(hole, axis=1), axis=0, return_inverse=True, return_counts=True)
        rows = np.lexsort((rows, which.ravel(), -many[which.ravel()], -hole.sum(axis=1)))
    per_column, per_row = hole.sum(axis=0), hole.sum(axis=1)
    title, sentence = _gap_words(hole, names)
    figure = draw.blank()
    grid = figure.subplots(2, 2, width_ratios=[6, 1], height_ratios=[1, 4])
    body, top, side = grid[1, 0], grid[0, 0], grid[1, 1]
    grid[0, 1].set_axis_off()
    pooled = _draw_holes(body, hole[rows])
    _draw_totals(top, side, per_column / max(n, 1), per_row[rows])
    # column names upright; where there are too many, those with the most gaps
    d, most = len(names), np.argsort(-per_column, kind="stable")
    named = draw.thinned(most, MOST_NAMED_GAPS, 1 if d <= MOST_NAMED_GAPS else -(-d // MOST_NAMED_GAPS))
    words = [draw.short(names[j], 24 if d <= 12 else 16) for j in named]
    body.set_xticks(named, words, rotation=90 if d > 4 else 0, fontsize=8)
    if n <= 25:
        body.set_yticks(np.arange(n) + 0.5, [draw.short(table.row_names[r], 12) for r in rows], fontsize=7)
    elif order == "time":
        marks = evenly_spread(n, 6, ends=True)
        body.set_yticks(marks + 0.5, [draw.short(table.row_names[r], 12) for r in marks], fontsize=8)
    else:
        whole_ticks(body.yaxis)
    body.set_ylabel("rows, same gaps together" if order == "pattern" else "rows in the table's order")
    draw.headline(figure, title)
    data = {"column": names, "gaps_in_column": per_column, "gap_share": per_column / max(n, 1)}
    # the numbers of what is drawn: a line a row, or a line a band of rows
    data |= {"row": rows + 1, "gaps_in_row": per_row[rows]} if pooled is None else {"share_in_band": pooled}
    return Plot("gaps", figure, title=title, sentence=sentence, data=data)


def _gap_words(hole: Mask, names: Sequence[str]) -> tuple[str, str]:
    (n, d), total = hole.shape, int(hole.sum())
    per, full = hole.sum(axis=0), int((~hole.any(axis=1)).sum())
    if not total:
        return "No gaps: every cell is seen", f"All {n * d:,} cells are seen: there are no gaps."
    share, one = draw.percent(total / (n * d)), total == 1
    title = f"{share} of the cells are gaps; {full:,} of {draw.count(n, 'row')} {'is' if full == 1 else 'are'} complete"
    return title, (
        f"{total:,} of {n * d:,} cells ({share}) {'is a gap' if one else 'are gaps'}, in "
        f"{int((per > 0).sum())} of {draw.count(d, 'column')}; {full:,} of {draw.count(n, 'row')} "
        f"{'is' if full == 1 else 'are'} complete; {draw.quoted(names[int(per.argmax())])} has most gaps "
        f"({draw.percent(per.max() / n)})."
    )


def _draw_holes(ax: Axes, hole: Mask) -> Array | None:
    """Gaps as hatched boxes, or as shades of the share of gaps in bands of rows; those shares if so."""
    n, d = hole.shape
    padded = np.pad(hole.T.astype(np.int8), ((0, 0), (1, 1)))
    step = np.diff(padded, axis=1)  # where unbroken stretches of gaps begin and end
    runs = np.column_stack([np.argwhere(step == 1), np.argwhere(step == -1)[:, 1]])
    ax.set_xlim(-0.5, d - 0.5)
    ax.set_ylim(n, 0)
    ax.set_facecolor("#e3eef5")
    if len(runs) <= MOST_HATCHED:
        for column, first, last in runs:
            ends = [column - 0.45, column + 0.45]
            ax.fill_between(ends, first, last, facecolor=draw.PAPER, edgecolor=draw.INK, hatch=HATCH, lw=0.3)
        ax.set_xlabel("column (hatched: gap; plain: seen)")
        return None
    edges = np.linspace(0, n, min(GAP_BANDS, n) + 1).astype(int)
    share: Array = np.add.reduceat(hole, edges[:-1], axis=0, dtype=float) / np.diff(edges)[:, None]
    image = ax.imshow(share, cmap="Greys", aspect="auto", extent=(-0.5, d - 0.5, n, 0), vmin=0, vmax=1)
    image.set_interpolation("nearest")
    draw.figure_of(ax).colorbar(image, ax=ax, location="left", fraction=0.04, label="share of gaps (dark: all)")
    ax.set_xlabel("column")
    return share


def _draw_totals(top: Axes, side: Axes, share: Array, per_row: NDArray[np.int_]) -> None:
    d, n = len(share), len(per_row)
    top.bar(np.arange(d), 100 * share, width=0.9, color=draw.COLOURS[0])
    top.set_xlim(-0.5, d - 0.5)
    top.set_xticks([])
    top.set_ylabel("% gaps", fontsize=9)
    most = 100 * float(share.max(initial=0.0))
    top.set_ylim(0, max(1.0, 1.1 * most))
    top.set_yticks([0.0, most] if most > 0 else [0.0], ["0", draw.number(most)] if most > 0 else ["0"], fontsize=8)
    if n <= 2000:
        side.stairs(per_row, np.arange(n + 1), orientation="horizontal", fill=True, color=draw.COLOURS[0])
    else:
        edges = np.linspace(0, n, GAP_BANDS + 1).astype(int)
        mean = np.add.reduceat(per_row, edges[:-1]) / np.diff(edges)
        side.stairs(mean, edges, orientation="horizontal", fill=True, color=draw.COLOURS[0])
    side.set_ylim(n, 0)
    side.set_yticks([])
    side.set_xlim(0, max(1.0, 1.05 * float(per_row.max(initial=0))))
    whole_ticks(side.xaxis, 3)
    side.set_xlabel("gaps a row", fontsize=9)


# gaps that come together -----------------------------------------------------------------------------
@plot(
    "gap_pairs",
    "Which gaps come together more often than chance.",
    needs="table",
    report=InReport("gaps", "rows", says_something=lambda analysis: int((analysis.gaps.by_column > 0).sum()) > 2),
)
def gap_pairs(table: Table) -> Plot:
    """Which gaps come together: the correlation of every two columns' gaps, and what chance would give.

    With n rows, a and b gaps, the number of rows with both is hypergeometric if gaps fall independently; a pair is
    named where more of them meet than chance gives, false discoveries held at 5% (Benjamini and Hochberg 1995). The
    sentence also says whether rows with a gap differ in the other columns, which gaps left completely at random do not
    (Little 1988). That they are not at random in a way that depends on the missing number itself, no table can show.

    Examples
    --------
    >>> import lowdim
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> X[:8, :2] = np.nan
    >>> gap_pairs(lowdim.read(X)).sentence
    "Gaps in 'c1' and 'c2' come together in 8 rows where chance would give 1.6; 1 of 1 pair does so (5% false ..."
    """
    # here, as a plot of columns needs no judge of gaps
    from lowdim.judge.gaps import gap_report
    from lowdim.judge.outliers.law import false_discovery

    hole, names = np.isnan(table.X), table.names
    with_gaps = np.flatnonzero(hole.any(axis=0) & ~hole.all(axis=0))
    G = hole[:, with_gaps].astype(float)
    both, phi, p = _together(G)
    i, j = np.tril_indices(len(with_gaps), -1)
    is_named = false_discovery(p[i, j], FALSE_DISCOVERY)
    hint, tied = _value_hint(gap_report(table.X, names, table.code_labels))
    title, sentence = _pair_words([names[int(k)] for k in with_gaps], both, G.sum(axis=0), len(G), (i, j, is_named), p)
    figure = draw.blank(6.4, 4.0 if len(with_gaps) <= 10 else 5.6)
    ax = figure.subplots()
    shown = worst((phi - 2 * np.eye(len(with_gaps))).max(axis=1, initial=-2.0), MOST_PAIRED_COLUMNS)
    part = np.ix_(shown, shown)
    _draw_pairs(ax, phi[part], both[part], [draw.short(names[k], 18) for k in with_gaps[shown]])
    draw.headline(figure, title)
    data = {
        "first": np.array([names[k] for k in with_gaps[j]]),
        "second": np.array([names[k] for k in with_gaps[i]]),
        "together": both[i, j],
        "expected": np.outer(G.sum(axis=0), G.sum(axis=0))[i, j] / max(len(G), 1),
        "correlation": phi[i, j],
        "p": p[i, j],
        "named": is_named,
        "ties_to_values": tied,
    }
    return Plot("gap_pairs", figure, title=title, sentence=sentence + hint, data=data)


def _together(G: Array) -> tuple[Array, Array, Array]:
    """Rows with both gaps, the correlation of gaps, and the chance of at least so many (hypergeometric)."""
    from scipy.stats import hypergeom, norm

    n, a = len(G), G.sum(axis=0)
    both = G.T @ G
    expected = np.outer(a, a) / max(n, 1)
    spread = np.sqrt(np.outer(a * (n - a), a * (n - a))) / max(n, 1)
    phi = (both - expected) / np.where(spread > 0, spread, 1.0)
    # the exact sum is slow where it is long; there the normal law tells which pairs are worth it
    p = norm.sf((both - expected - 0.5) * np.sqrt(max(n - 1, 1)) / np.where(spread > 0, spread, 1.0))
    exact = (expected < NORMAL_FROM) | (p < FALSE_DISCOVERY)
    first, second = np.nonzero(exact)
    p[exact] = hypergeom.sf(both[exact] - 1, n, a[first], a[second])
    return both, phi, p


def _value_hint(report: GapReport) -> tuple[str, int]:
    """Whether rows with a gap in one column have other values elsewhere, as the report on the gaps found."""
    if not report.tested:
        return "", 0
    if not report.depends:
        return " Rows with and without gaps have similar values elsewhere, as gaps at random would.", 0
    first = report.depends[0]
    return (
        f" {draw.quoted(first.column)} is missing more often where {first.where}: gaps are not completely at random."
    ), len(report.depends)


def _pair_words(
    names: list[str], both: Array, per: Array, n: int, pairs: tuple[Any, Any, Mask], p: Array
) -> tuple[str, str]:
    i, j, is_named = pairs
    if len(names) < 2:
        gaps_in = "No column has" if not names else "Only one column has"
        return f"{gaps_in} gaps here and there: no pairs to compare", f"{gaps_in} both gaps and seen cells."
    best = int(np.argmin(p[i, j]))
    a, b = j[best], i[best]
    chance = per[a] * per[b] / n
    together = (
        f"in {draw.quoted(names[a])} and {draw.quoted(names[b])} come together in "
        f"{draw.count(int(both[a, b]), 'row')} where chance would give {draw.number(chance)}"
    )
    if not is_named.any():
        return (
            "No two columns' gaps come together more often than chance",
            f"No two columns' gaps come together more often than chance (closest: gaps {together}).",
        )
    verb = "do so" if is_named.sum() > 1 else "does so"
    return (
        f"Gaps in {draw.quoted(names[a])} and {draw.quoted(names[b])} come together: {int(both[a, b])} rows, "
        f"{draw.number(chance)} by chance",
        f"Gaps {together}; {int(is_named.sum())} of {draw.count(len(is_named), 'pair')} {verb} (5% false discovery "
        "rate).",
    )


def _draw_pairs(ax: Axes, phi: Array, both: Array, names: list[str]) -> None:
    k = len(names)
    ax.spines[:].set_visible(False)
    if k < 2:
        ax.set_axis_off()
        ax.text(0.5, 0.5, "nothing to compare", ha="center", transform=ax.transAxes, color=draw.GREY)
        return
    shown = np.where(np.tril(np.ones((k, k), dtype=bool), -1), phi, np.nan)
    image = ax.imshow(shown[1:, :-1], cmap=draw.DIVERGING, vmin=-1, vmax=1, aspect="auto")
    for r, c in np.argwhere(np.isfinite(shown)).tolist() if k <= 14 else ():
        colour = draw.PAPER if abs(phi[r, c]) > 0.6 else draw.INK
        ax.text(c, r - 1, f"{int(both[r, c])}", ha="center", va="center", fontsize=8, color=colour)
    ax.set_xticks(range(k - 1), names[:-1], rotation=90 if k > 4 else 0, fontsize=8)
    ax.set_yticks(range(k - 1), names[1:], fontsize=8)
    ax.tick_params(length=0)
    draw.figure_of(ax).colorbar(image, ax=ax, shrink=0.8, label="gaps apart   ←  correlation  →   together")
    ax.set_xlabel("in the cells: rows where both are gaps" if k <= 14 else "column")
