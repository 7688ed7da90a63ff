"""What drives each axis: one card an axis, and all loadings as a heatmap."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.axes import AxisCard, Loading
from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import panels
from lowdim.plot.registry import InReport, plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.jobs.analysis import Analysis

MOST_NAMED_COLUMNS = 24  # columns a heatmap can name
CARDS = 6  # axes that get one
TOP_COLUMNS = 5  # on a card


@plot(
    "axis_cards",
    "One card an axis: its columns, its ends, its labels.",
    needs="analysis",
    report=InReport("axes", hide_rows=("show_rows",)),
)
def axis_cards(analysis: Analysis, *, show_rows: bool = True) -> Plot:
    """One card an axis: its strongest columns with intervals, the rows at both ends, labels tied to it.

    Of more than six axes the first six are drawn.

    Parameters
    ----------
    show_rows : bool, default True
        Whether the rows at both ends are named.
    """
    draw.need_axes(analysis.dims, 1, "axis_cards")
    cards, row_names = analysis.axes, analysis.row_names if show_rows else ()
    shown = cards[:CARDS]
    strongest = [sorted(card.loadings, key=lambda x: -abs(x.value))[:TOP_COLUMNS] for card in cards]
    across = min(len(shown), 2)
    most_columns = max(len(part) for part in strongest)
    figure = draw.blank(6.4, max(4.0, 0.7 + -(-len(shown) // across) * (1.05 + 0.19 * most_columns)))
    for ax, card, part in zip(panels(figure, len(shown), across), shown, strongest, strict=False):
        _card(ax, card, part, row_names, 38 if across == 2 else 80)
    title, sentence = _card_words(cards, strongest, len(shown))
    level = draw.percent(cards[0].level)
    figure.supxlabel(f"loading, with its {level} interval (hollow: the interval includes zero)", fontsize=9)
    draw.headline(figure, title)
    flat = [(card.axis, card.share, x.column, x.value, x.low, x.high) for card in cards for x in card.loadings]
    data = dict(zip(("axis", "share", "column", "loading", "low", "high"), zip(*flat, strict=True), strict=True))
    return Plot("axis_cards", figure, title=title, sentence=sentence, data=data)


def _card(ax: Axes, card: AxisCard, part: list[Loading], rows: Sequence[str], width: int) -> None:
    """One axis; the rows at its ends where they may be named."""
    for k, x in enumerate(part):
        colour = draw.COLOURS[0] if x.value > 0 else draw.COLOURS[3]
        ax.plot([x.low, x.high], [k, k], color=colour, lw=1.5)
        ax.plot([x.value], [k], "o" if x.value > 0 else "s", color=colour, ms=5, mfc=colour if x.sure else draw.PAPER)
    ax.axvline(0.0, color=draw.GREY, lw=0.6)
    ax.set_yticks(range(len(part)), [draw.short(x.column, 18 if width < 50 else 24) for x in part], fontsize=8)
    ax.set_ylim(len(part) - 0.4, -0.6)
    ax.tick_params(axis="x", labelsize=8)
    ax.locator_params(axis="x", nbins=5)
    ax.set_title(f"axis {card.axis}: {draw.percent(card.share)} of the variation", fontsize=9)
    lines = [
        f"{end} rows: {', '.join(draw.short(rows[i], 12) for i in row_positions)}"
        for end, row_positions in (("− end", card.low_rows), ("+ end", card.high_rows))
        if row_positions and rows
    ]
    tied = [f"{draw.short(t.label, 20)} explains {draw.percent(t.share)}" for t in card.labels if t.tied]
    lines += tied[:2]
    others = [str(k) for k in card.interchangeable if k != card.axis]
    lines += [f"interchangeable with axis {' and '.join(others)}"] if others else []
    ax.set_xlabel("\n".join(line for text in lines for line in textwrap.wrap(text, width)), fontsize=8, loc="left")


def _card_words(cards: Sequence[AxisCard], strongest: list[list[Loading]], shown: int) -> tuple[str, str]:
    parts = []
    for card, part in zip(cards, strongest, strict=True):
        words = ", ".join(f"{draw.quoted(x.column)} ({_signed(x.value)})" for x in part[:3] if x.sure)
        parts.append(f"axis {card.axis} ({draw.percent(card.share)}): {words or 'no column for certain'}")
    text = "; ".join(parts[:3])
    doubtful = sum(not x.sure for part in strongest for x in part)
    verb = "has an interval that includes" if doubtful == 1 else "have intervals that include"
    more = f"; {doubtful} of the loadings drawn {verb} zero" if doubtful else ""
    first = next((x for x in strongest[0] if x.sure), None)
    title = "No column drives axis 1 for certain"
    if first is not None:
        way = "rises" if first.value > 0 else "falls"
        title = f"Axis 1 ({draw.percent(cards[0].share)}) {way} most with {draw.quoted(first.column)}"
    title += f" ({shown} of {len(cards)} axes drawn)" if shown < len(cards) else ""
    return title, f"{text[0].upper()}{text[1:]}{more}."


@plot("loadings", "Columns by axes, shaded by loading.", needs="analysis", report=InReport("axes"))
def loadings(analysis: Analysis) -> Plot:
    """Columns by axes, shaded by loading; columns are ordered by the axis they load on most.

    A dot's area grows with the width of the loading's interval: a large dot is a doubtful loading, a hollow one is
    wider than twice the loading, so that it would reach across zero. Of more than 24 columns those with the largest
    loadings are drawn.
    """
    draw.need_axes(analysis.dims, 1, "loadings")
    cards, names, L = analysis.axes, analysis.table.in_ones().names, np.asarray(analysis.loadings, dtype=np.float64)
    widths = np.array([[x.high - x.low for x in card.loadings] for card in cards]).T
    half = widths / 2
    rows = by_axis(L)
    title, sentence = _loading_words(L, names, half, len(rows))
    figure = draw.blank(6.4, max(4.0, 1.3 + 0.2 * len(rows)))
    ax = figure.subplots()
    top = float(np.abs(L).max(initial=0.0)) or 1.0
    image = ax.imshow(L[rows], cmap=draw.DIVERGING, vmin=-top, vmax=top, aspect="auto")
    figure.colorbar(image, ax=ax, shrink=0.8, label="loading (− against, + with the axis)")
    _dots(ax, L[rows], half[rows])
    ax.set_yticks(range(len(rows)), [draw.short(names[j]) for j in rows], fontsize=8)
    q = L.shape[1]
    places = range(0, q, -(-q // 16))
    words = [f"{k + 1}\n{draw.percent(cards[k].share)}" if q <= 10 else f"{k + 1}" for k in places]
    ax.set_xticks(places, words, fontsize=9)
    ax.set_xlabel("axis (share of the variation)")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    draw.headline(figure, title)
    data = {"column": names, "loading": L, "drawn_row": rows + 1, "width": widths}
    return Plot("loadings", figure, title=title, sentence=sentence, data=data)


def by_axis(L: Array, most: int = MOST_NAMED_COLUMNS) -> NDArray[np.int_]:
    """Columns grouped by the axis they load on most, + before −, larger before smaller; the largest `most`."""
    size = np.abs(L)
    home = size.argmax(axis=1)
    loading = L[np.arange(len(L)), home]
    # against its whole axis, so that a weak axis keeps its columns too
    strength = (size / np.maximum(size.max(axis=0, initial=0.0), np.finfo(float).tiny)).max(axis=1, initial=0.0)
    strongest = np.sort(np.argsort(-strength, kind="stable")[:most])
    return strongest[np.lexsort((-loading[strongest], home[strongest]))]


def _dots(ax: Axes, L: Array, half: Array) -> None:
    widest = float(half.max(initial=0.0)) or 1.0
    y, x = np.indices(L.shape)
    area = 90.0 * (half / widest).ravel()
    across = (half >= np.abs(L)).ravel()
    looks = ((~across, draw.INK, draw.PAPER), (across, draw.PAPER, draw.INK))  # seen on dark cells and on light ones
    for part, fill, edge in looks:
        ax.scatter(x.ravel()[part], y.ravel()[part], s=area[part], facecolors=fill, edgecolors=edge, linewidths=0.8)
    words = f"dot area: width of the interval (largest {draw.number(2 * widest)}); hollow: over twice the loading"
    ax.set_title(words, fontsize=8)


def _loading_words(L: Array, names: Sequence[str], half: Array, shown: int) -> tuple[str, str]:
    q = L.shape[1]
    parts = []
    for k in range(min(q, 3)):
        top = np.argsort(-np.abs(L[:, k]), kind="stable")[:2]
        words = " and ".join(f"{draw.quoted(names[j])} ({_signed(L[j, k])})" for j in top)
        parts.append(f"axis {k + 1} follows {words}")
    text = "; ".join(parts)
    more = "" if q <= 3 else f"; {draw.count(q - 3, 'more axis', 'more axes')}"
    clear = int((half < np.abs(L)).sum())
    sentence = (
        f"{text[0].upper()}{text[1:]}{more}. {clear} of {L.size} loadings are larger than half the width of their "
        "interval."
    )
    j = int(np.argmax(np.abs(L[:, 0])))
    title = f"Axis 1 follows {draw.quoted(names[j])} most" + (
        f", axis 2 {draw.quoted(names[int(np.argmax(np.abs(L[:, 1])))])}" if q > 1 else ""
    )
    return title + (f" (the {shown} largest of {len(L)} drawn)" if shown < len(L) else ""), sentence


def _signed(value: float) -> str:
    text = draw.number(value)
    return text if value < 0 else f"+{text}"
