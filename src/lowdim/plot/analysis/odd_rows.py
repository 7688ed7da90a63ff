"""Odd rows: the plane of T2 and Q, and why a row is odd: each cell beside what the rest of its row says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import (
    LEAST_SHOWN_ROWS,
    MOST_POINTS,
    MOST_VECTOR_POINTS,
    about,
    name_ticks,
    p_value,
    rarity,
    shade_counts,
    write,
)
from lowdim.plot.registry import ROW, InReport, plot

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis
    from lowdim.judge.rows.row_card import RowCard, RowCell

CUT_P = 0.01  # of the two limits
MOST_NAMED_ODD = 8  # rows named on a plot
FARTHEST_RARITY = 16.0  # -log10 p beyond which only "farther" is said
MOST_WHY_CELLS = 15  # cells of one row that are drawn
MOST_WHY_ROWS, MOST_WHY_COLUMNS = 24, 30  # rows and columns of the heatmap


@plot(
    "t2_q",
    "Rows by their distance within the map and off it.",
    needs="analysis",
    report=InReport("odd", "rows", "rows.csv"),
)
def t2_q(analysis: Analysis, *, show_rows: bool = True) -> Plot:
    """Every row in the plane of its two p-values, with how many chance alone puts into each zone.

    T2 and Q are independent, so p = a, 1%, cuts off shares a, a and a^2 of ordinary rows. Rows that the false
    discovery rate picks are marked.

    Parameters
    ----------
    show_rows : bool, default True
        Whether rows are drawn one by one; else counts of at least five.
    """
    rows, names = analysis.odd, [str(name) for name in analysis.row_names]
    a = CUT_P
    x, y = (np.minimum(rarity(law.p), FARTHEST_RARITY) for law in (rows.T2, rows.Q))
    n, cut = len(x), float(-np.log10(a))
    zone = (x > cut).astype(int) + 2 * (y > cut).astype(int)
    many = np.bincount(zone, minlength=4)
    chance = n * np.array([(1 - a) ** 2, a * (1 - a), a * (1 - a), a * a])
    figure, ax = draw.canvas(6.4, 4.4)
    ax.set_xlim(-0.02 * max(x.max(initial=0), 2 * cut), 1.14 * max(x.max(initial=0), 1.6 * cut))
    ax.set_ylim(-0.02 * max(y.max(initial=0), 2 * cut), 1.14 * max(y.max(initial=0), 1.6 * cut))
    _plane(ax, x, y, rows.odd, show_rows)
    ax.axvline(cut, color=draw.INK, lw=0.9, ls="--")
    ax.axhline(cut, color=draw.INK, lw=0.9, ls="--")
    _zones(ax, cut, many, chance, dense=n > MOST_POINTS or not show_rows)
    if show_rows:  # the farthest odd ones are named
        odd = np.flatnonzero(rows.odd)
        odd = odd[np.argsort(-(x + y)[odd], kind="stable")][:MOST_NAMED_ODD]
        draw.place_labels(ax, np.column_stack([x, y])[odd], [draw.short(names[k], 14) for k in odd])
    ax.set_xlabel("within the map: −log10 p of T²  (3 = one row in 1,000 is as far)", fontsize=9)
    ax.set_ylabel("off the map: −log10 p of Q", fontsize=9)
    outside, expected = int(many[1:].sum()), about(chance[1:].sum())
    title = f"{draw.count(outside, 'row')} of {n:,} beyond p = {a:.3g}; about {expected} expected by chance"
    sentence = (
        f"{title}: {many[1]} within the map only (about {about(chance[1])} by chance), {many[2]} off the map "
        f"only (about {about(chance[2])}), {many[3]} in both (about {about(chance[3])})."
    )
    draw.headline(figure, title)
    data: dict[str, Any] = {"zone": ["ordinary", "T2 only", "Q only", "both"], "rows": many, "chance": chance}
    if show_rows:
        data |= {"row": names, "T2_rarity": rarity(rows.T2.p), "Q_rarity": rarity(rows.Q.p), "odd": rows.odd}
    return Plot("t2_q", figure, title=title, sentence=sentence, data=data)


def _plane(ax: Any, x: Array, y: Array, far: NDArray[np.bool_], show_rows: bool) -> None:
    """Points, or counts in cells where there are too many points or none may be shown."""
    if show_rows and len(x) <= MOST_POINTS:
        many = len(x) > MOST_VECTOR_POINTS
        ax.plot(x[~far], y[~far], "o", ms=4, mfc="none", color=draw.COLOURS[0], alpha=0.8, rasterized=many)
    else:
        bins, least = (48, 1) if show_rows else (16, LEAST_SHOWN_ROWS)
        shade_counts(
            ax, x, y, "rows in a cell (log scale)", least=least, bins=bins, ends=(ax.get_xlim(), ax.get_ylim())
        )
    if show_rows and far.any():
        label = "odd at the false discovery rate"
        ax.plot(x[far][:MOST_POINTS], y[far][:MOST_POINTS], "D", ms=6, color=draw.COLOURS[3], label=label)
        ax.legend(loc="upper right", fontsize=8)


def _zones(ax: Any, cut: float, rows: NDArray[np.intp], chance: Array, *, dense: bool) -> None:
    behind = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75} if dense else None
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    x_text, y_text = x0 + 0.012 * (x1 - x0), y0 + 0.012 * (y1 - y0)
    # points thin out away from the origin, so the far corner of the ordinary zone is its emptiest
    places = (
        (cut - 0.01 * (x1 - x0), cut - 0.015 * (y1 - y0), "right", "top", "ordinary"),
        (x1, y_text, "right", "bottom", "far within the map"),
        (x_text, y1, "left", "top", "off the map"),
        (x1, cut + 0.015 * (y1 - y0), "right", "bottom", "both"),
    )
    for (x, y, ha, va, name), n_rows, by in zip(places, rows, chance, strict=True):
        text = f"{name}: {n_rows:,}\nby chance {about(by)}"
        write(ax, x, y, text, ha=ha, va=va, fontsize=8, bbox=behind, zorder=3 if dense else 1.5)


# why a row is odd ------------------------------------------------------------------------------------
@plot(
    "why_row",
    "One row, cell by cell, beside what the rest of it says.",
    needs="analysis",
    options=(ROW,),
)
def why_row(analysis: Analysis, row: int | None = None) -> Plot:
    """One row, cell by cell: what it holds, what the rest of the row says, and the surprise in sd.

    The culprits are the cells that, hidden, make the row ordinary.

    Parameters
    ----------
    row : int, optional
        Its position; the oddest row where it is left out.
    """
    if row is None:
        row = analysis.odd.rows[0].row if analysis.odd.rows else int(np.argmin(analysis.odd.D2.p))
    card = analysis.explain(row)
    names = [cell.column for cell in card.cells]
    surprise = np.array([cell.surprise for cell in card.cells], dtype=float)  # of a gap NaN
    size = np.where(np.isnan(surprise), -1.0, np.abs(surprise))
    order = np.argsort(-size, kind="stable")[:MOST_WHY_CELLS]
    order = order[size[order] >= 0] if (size[order] >= 0).any() else order
    culprit = np.array([name in card.hide for name in names])
    k = len(order)
    figure, ax = draw.canvas(6.4, 1.75 + 0.27 * k)
    _bars(ax, surprise[order], culprit[order])
    told = [_told(cell) for cell in card.cells]
    _says(ax, [told[j] for j in order], culprit[order])
    n_hidden = len(names) - k
    hidden_text = f"\n{draw.count(n_hidden, 'column')} less surprising or missing, not drawn" if n_hidden else ""
    ax.set_xlabel(f"surprise: value minus what the rest says, in sd{hidden_text}", fontsize=9)
    title, sentence = _why_words(card, told, surprise)
    draw.headline(figure, title)
    data = {
        "column": names,
        "value": np.array([cell.value for cell in card.cells], dtype=float),
        "expected": [cell.expected for cell in card.cells],
        "sd": [cell.sd for cell in card.cells],
        "surprise": surprise,
        "culprit": culprit,
    }
    name_ticks(ax.yaxis, range(k), [("▶ " if culprit[j] else "") + draw.short(names[j]) for j in order], most=30)
    return Plot("why_row", figure, title=title, sentence=sentence, data=data)


def _bars(ax: Any, surprise: Array, culprit: NDArray[np.bool_]) -> None:
    """A bar for every cell that is seen, culprits hatched, over the two sd that are ordinary."""
    ax.axvspan(-2, 2, color=draw.GREY, alpha=0.15, lw=0)
    ax.axvline(0, color=draw.INK, lw=0.8)
    for i in np.flatnonzero(~np.isnan(surprise)):
        colour, hatch = (draw.COLOURS[3], "///") if culprit[i] else (draw.COLOURS[5], None)
        ax.barh(i, surprise[i], height=0.62, color=colour, ec=draw.INK, lw=0.5, hatch=hatch)
    ax.set_xlim(min(-3.0, 1.1 * np.nanmin(surprise, initial=0.0)), max(3.0, 1.1 * np.nanmax(surprise, initial=0.0)))
    ax.set_ylim(len(surprise) - 0.4, -0.95)


def _told(cell: RowCell) -> tuple[str, str, str]:
    """A cell's value, what the rest says of it, and the same within a sentence; answers are said as they are called."""
    if cell.told:
        return cell.told[0], cell.told[1], cell.told[1]
    off = f" ± {draw.number(cell.sd, 2, 1e9)}"
    if cell.range is not None:
        off = f" ({' to '.join(draw.number(end, 2, 1e9) for end in cell.range)})"
    value = "gap" if cell.value is None else draw.number(cell.value, 4, 1e9)
    return value, f"{draw.number(cell.expected, 4, 1e9)}{off}", f"{draw.number(cell.expected)}{off}"


def _says(ax: Any, told: list[tuple[str, str, str]], culprit: NDArray[np.bool_]) -> None:
    """Value and expectation as two columns of text at the right, in points from the edge of the axes."""
    head = ("value", "rest says ± sd (or 90%)", "")
    for i, (value, expected, _) in enumerate((head, *told)):
        weight = "bold" if i and culprit[i - 1] else "normal"
        for text, side, shift in ((value, "right", 54), (expected, "left", 62)):
            ax.annotate(
                text,
                (1.0, i - 1 if i else -0.85),
                (shift, 0),
                xycoords=ax.get_yaxis_transform(),
                textcoords="offset points",
                ha=side,
                va="center",
                fontsize=8.5,
                fontweight=weight,
                annotation_clip=False,
            )


def _why_words(card: RowCard, told: list[tuple[str, str, str]], surprise: Array) -> tuple[str, str]:
    who, hide, p, p_after = f"Row {draw.short(card.name)}", card.hide, card.p or 0.0, card.p_after or 0.0
    if np.isnan(surprise).all():
        return f"{who} has no seen cell", f"{who} has no seen cell, so nothing in it can surprise."
    j = int(np.nanargmax(np.abs(surprise)))
    column = draw.quoted(card.cells[j].column)
    title = f"{who}: {column} is {told[j][0]} where the rest of the row says {told[j][2]}"
    if not hide:
        title = f"{who} is ordinary (p {p_value(p)})"
    cells = "that cell" if len(hide) == 1 else f"{len(hide)} cells ({', '.join(draw.short(h) for h in hide)})"
    cure = f" Hide {cells}, and the row is ordinary (p {p_value(p_after)})." if hide else ""
    return title, (
        f"{who} has p {p_value(p)}. Most surprising: {column} is {told[j][0]}; "
        f"the rest of the row says {told[j][2]}{' (sd)' if '±' in told[j][2] else ''}, "
        f"{surprise[j]:+.1f} sd off.{cure}"
    )


@plot(
    "why_all",
    "The surprises of the most surprising rows, cell by cell.",
    needs="analysis",
    report=InReport("odd", "rows", says_something=lambda analysis: int(analysis.odd.odd.sum()) > 1),
)
def why_all(analysis: Analysis) -> Plot:
    """Surprise of the most surprising rows, cell by cell, rows and columns ordered so that like lie together."""
    names, labels = analysis.table.names, [str(name) for name in analysis.row_names]
    S = np.where(np.isnan(analysis.table.X), np.nan, analysis.surprises)
    size = np.abs(np.nan_to_num(S))
    rows = np.argsort(-size.max(axis=1, initial=0.0), kind="stable")[:MOST_WHY_ROWS]
    columns = np.sort(np.argsort(-size[rows].max(axis=0, initial=0.0), kind="stable")[:MOST_WHY_COLUMNS])
    rows = rows[alike(np.nan_to_num(S[np.ix_(rows, columns)]))]
    columns = columns[alike(np.nan_to_num(S[np.ix_(rows, columns)]).T)]
    part = S[np.ix_(rows, columns)]
    figure, ax = draw.canvas(6.4, 2.4 + 0.15 * len(rows))
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
    title = f"{draw.count(beyond, 'cell')} more than 3 sd from what the rest of the row says"
    n_seen = int(np.isfinite(S).sum())
    sentence = (
        f"{title}, of {n_seen:,} seen (about {about(0.0027 * n_seen)} expected by chance); the farthest is "
        f"{draw.quoted(names[j])} in row {draw.short(labels[i])}, {np.nan_to_num(S)[i, j]:+.1f} sd off."
    )
    draw.headline(figure, title)
    data = {"row": [labels[k] for k in rows], **{str(names[k]): S[rows, k] for k in columns}}
    return Plot("why_all", figure, title=title, sentence=sentence, data=data)


def _heat(figure: Any, ax: Any, part: Array, reach: float) -> None:
    """Colour and, beyond 3 sd, a sign: + or − says the side without colour; gaps are hatched."""
    cells = np.ma.masked_invalid(part)  # one small image, not a path a cell
    shown = ax.imshow(cells, cmap=draw.DIVERGING, vmin=-reach, vmax=reach, aspect="auto", interpolation="nearest")
    ax.patch.set(hatch="////", edgecolor=draw.GREY, facecolor="white")
    for i, j in zip(*np.nonzero(np.abs(np.nan_to_num(part)) > 3), strict=True):
        sign = "+" if part[i, j] > 0 else "−"
        write(ax, j, i, sign, ha="center", va="center", color="white", fontsize=8, fontweight="bold")
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
