"""Why a row is odd: each cell beside what the rest of its row says, for one row and for the oddest ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowdim.math.linalg import Array
from lowdim.plot.base import COLOURS, DIVERGING, GREY, INK, Plot, canvas, count, drawn, headline, number, quoted, short
from lowdim.plot.marks import about, name_ticks, small, write

CELLS = 15  # cells of one row that are drawn
LINES, LANES = 24, 30  # rows and columns of the heatmap


@drawn
def why_row(
    value: Any,
    expected: Any,
    sd: Any,
    surprise: Any,
    names: Sequence[object],
    *,
    row_name: object = "",
    hide: Sequence[object] = (),
    p: float | None = None,
    p_after: float | None = None,
) -> Plot:
    """One row, cell by cell: what it holds, what the rest of the row says, and the surprise in sd.

    A gap has value NaN (or None). `hide` names the culprits: the cells that, hidden, make the row ordinary.

    Reference: spec product.md 3.3 and 4.7, plot 20.

    >>> why_row([121.7, 16.0], [78.3, 16.1], [6.5, 0.4], [6.7, -0.2], ["ratio", "lignin"], row_name=1).title
    "Row 1: 'ratio' is 121.7 where the rest of the row says 78.3 ± 6.5"
    """
    value, expected, sd, surprise = (np.array(a, dtype=float) for a in (value, expected, sd, surprise))
    size = np.where(np.isnan(surprise), -1.0, np.abs(surprise))
    order = np.argsort(-size, kind="stable")[:CELLS]
    order = order[size[order] >= 0] if (size[order] >= 0).any() else order
    blamed = {str(name) for name in hide}
    culprit = np.array([str(names[j]) in blamed for j in range(len(names))])
    k = len(order)
    figure, ax = canvas(6.4, 1.75 + 0.27 * k)
    _bars(ax, size, surprise, order, culprit)
    _says(ax, value, expected, sd, order, culprit)
    left = len(names) - k
    rest = f"\n{count(left, 'column')} less surprising or missing, not drawn" if left else ""
    ax.set_xlabel(f"surprise: value minus what the rest says, in sd{rest}", fontsize=9)
    title, sentence = _why_words(value, expected, sd, surprise, names, str(row_name), tuple(hide), p, p_after)
    headline(figure, title)
    data = {
        "column": [str(name) for name in names],
        "value": value,
        "expected": expected,
        "sd": sd,
        "surprise": surprise,
        "culprit": culprit,
    }
    name_ticks(ax.yaxis, range(k), [("▶ " if culprit[j] else "") + short(names[j]) for j in order], most=30)
    return Plot("why_row", figure, title=title, sentence=sentence, data=data)


def _bars(ax: Any, size: Array, surprise: Array, order: NDArray[np.intp], culprit: NDArray[np.bool_]) -> None:
    ax.axvspan(-2, 2, color=GREY, alpha=0.15, lw=0)
    ax.axvline(0, color=INK, lw=0.8)
    for i, j in enumerate(order):
        if size[j] >= 0:
            ax.barh(
                i,
                surprise[j],
                height=0.62,
                color=COLOURS[3] if culprit[j] else COLOURS[5],
                ec=INK,
                lw=0.5,
                hatch="///" if culprit[j] else None,
            )
    drawn_ones = surprise[order[size[order] >= 0]]
    ax.set_xlim(min(-3.0, 1.1 * drawn_ones.min(initial=0.0)), max(3.0, 1.1 * drawn_ones.max(initial=0.0)))
    ax.set_ylim(len(order) - 0.4, -0.95)


def _says(
    ax: Any, value: Array, expected: Array, sd: Array, order: NDArray[np.intp], culprit: NDArray[np.bool_]
) -> None:
    """Value and expectation as two columns of text at the right, in points from the edge of the axes."""

    def put(y: float, first: str, second: str, weight: str = "normal") -> None:
        for text, side, shift in ((first, "right", 54), (second, "left", 62)):
            ax.annotate(
                text,
                (1.0, y),
                (shift, 0),
                xycoords=ax.get_yaxis_transform(),
                textcoords="offset points",
                ha=side,
                va="center",
                fontsize=8.5,
                fontweight=weight,
                annotation_clip=False,
            )

    put(-0.85, "value", "rest says ± sd")
    for i, j in enumerate(order):
        held = "gap" if np.isnan(value[j]) else _plain(value[j], 4)
        put(i, held, f"{_plain(expected[j], 4)} ± {_plain(sd[j], 2)}", "bold" if culprit[j] else "normal")


def _plain(value: float, figures: int) -> str:
    """So many figures, as plain digits where they do."""
    value = float(f"{value:.{figures}g}") + 0.0
    return f"{value:,.0f}" if 10.0 ** (figures - 1) <= abs(value) < 1e9 else f"{value:.{figures}g}"


def _why_words(
    value: Array,
    expected: Array,
    sd: Array,
    surprise: Array,
    names: Sequence[object],
    row: str,
    hide: tuple[object, ...],
    p: float | None,
    after: float | None,
) -> tuple[str, str]:
    who = f"Row {short(row)}" if row else "This row"
    if np.isnan(surprise).all():
        return f"{who} has no seen cell", f"{who} has no seen cell, so nothing in it can surprise."
    j = int(np.nanargmax(np.abs(surprise)))
    title = (
        f"{who}: {quoted(names[j])} is {_plain(value[j], 4)} where the rest of the row says "
        f"{number(expected[j])} ± {_plain(sd[j], 2)}"
    )
    if p is not None and not hide:
        title = f"{who} is ordinary (p {small(p)})"
    odds = "" if p is None else f"{who} has p {small(p)}. "
    cells = "that cell" if len(hide) == 1 else f"{len(hide)} cells ({', '.join(short(h) for h in hide)})"
    then = f" Hide {cells}, and the row is ordinary" + (f" (p {small(after)})." if after is not None else ".")
    return title, (
        f"{odds}Most surprising: {quoted(names[j])} is {_plain(value[j], 4)}; the rest of the row says "
        f"{number(expected[j])} ± {_plain(sd[j], 2)} (sd), {surprise[j]:+.1f} sd off.{then if hide else ''}"
    )


@drawn
def why_all(surprise: Any, names: Sequence[object], row_names: Sequence[object] | None = None) -> Plot:
    """Surprise of the most surprising rows, cell by cell, rows and columns ordered so that like lie together.

    Reference: spec product.md 4.7, plot 21.

    >>> why_all([[0.1, 5.0], [0.2, -0.3]], ["a", "b"]).data["row"].tolist()
    ['1', '2']
    """
    S = np.array(surprise, dtype=float)
    labels = [str(k + 1) if row_names is None else str(row_names[k]) for k in range(len(S))]
    size = np.abs(np.nan_to_num(S))
    rows = np.argsort(-size.max(axis=1, initial=0.0), kind="stable")[:LINES]
    columns = np.sort(np.argsort(-size[rows].max(axis=0, initial=0.0), kind="stable")[:LANES])
    rows = rows[alike(np.nan_to_num(S[np.ix_(rows, columns)]))]
    columns = columns[alike(np.nan_to_num(S[np.ix_(rows, columns)]).T)]
    part = S[np.ix_(rows, columns)]
    figure, ax = canvas(6.4, 2.4 + 0.15 * len(rows))
    reach = max(3.0, min(float(np.abs(np.nan_to_num(part)).max(initial=0.0)), 6.0))
    _heat(figure, ax, part, reach)
    turned: dict[str, Any] = (
        {"rotation": 90} if len(columns) > 8 else {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
    )
    name_ticks(ax.xaxis, range(len(columns)), [names[j] for j in columns], **turned)
    name_ticks(ax.yaxis, range(len(rows)), [labels[i] for i in rows], most=16, fontsize=7 if len(rows) > 25 else 8)
    ax.set_ylabel(f"row ({len(rows)} most surprising of {len(S):,})" if len(rows) < len(S) else "row")
    i, j = divmod(int(np.argmax(size)), size.shape[1])
    beyond = int((size > 3).sum())
    title = f"{count(beyond, 'cell')} more than 3 sd from what the rest of the row says"
    seen = int(np.isfinite(S).sum())
    sentence = (
        f"{title}, of {seen:,} seen (about {about(0.0027 * seen)} expected by chance); the farthest is "
        f"{quoted(names[j])} in row {short(labels[i])}, {np.nan_to_num(S)[i, j]:+.1f} sd off."
    )
    headline(figure, title)
    data = {"row": [labels[k] for k in rows], **{str(names[k]): S[rows, k] for k in columns}}
    return Plot("why_all", figure, title=title, sentence=sentence, data=data)


def _heat(figure: Any, ax: Any, part: Array, reach: float) -> None:
    """Colour and, beyond 3 sd, a sign: + or − says the side without colour; gaps are hatched."""
    shown = ax.imshow(
        np.ma.masked_invalid(part), cmap=DIVERGING, vmin=-reach, vmax=reach, aspect="auto", interpolation="nearest"
    )  # one small image, not a path a cell
    ax.patch.set(hatch="////", edgecolor=GREY, facecolor="white")
    for i, j in zip(*np.nonzero(np.abs(np.nan_to_num(part)) > 3), strict=True):
        write(
            ax,
            j,
            i,
            "+" if part[i, j] > 0 else "−",
            ha="center",
            va="center",
            color="white",
            fontsize=8,
            fontweight="bold",
        )
    bar = figure.colorbar(shown, ax=ax, pad=0.01, aspect=30, extend="both")
    bar.set_label("surprise in sd", fontsize=9)
    ax.set_xlabel("sign: beyond 3 sd; hatched: gap", fontsize=9)


def alike(A: Array) -> NDArray[np.intp]:
    """An order of rows in which neighbours are alike: leaves of the average-linkage tree.

    >>> np.abs(np.diff(np.array([0.0, 9.0, 0.1, 9.1])[alike(np.array([[0.0], [9.0], [0.1], [9.1]]))])).round(1).tolist()
    [0.1, 8.9, 0.1]
    """
    if len(A) < 3:
        return np.arange(len(A))
    from scipy.cluster.hierarchy import leaves_list, linkage

    return np.asarray(leaves_list(linkage(A, "average", optimal_ordering=True)), dtype=np.intp)
