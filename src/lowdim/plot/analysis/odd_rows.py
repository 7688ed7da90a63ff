"""Odd rows: the plane of T2 and Q, and why a row is odd: each cell beside what the rest of its row says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.plot.base import Plot
from lowdim.plot.marks import (
    MOST_POINTS,
    MOST_VECTOR_POINTS,
    about,
    name_ticks,
    p_value,
    plain_log,
    rarity,
    write,
)
from lowdim.plot.registry import ROW, InReport, plot

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

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
def t2_q_of(analysis: Analysis, *, level: float = 0.99, show_rows: bool = True) -> Plot:
    """Every row in the plane of its two p-values, with how many chance alone puts into each zone.

    Parameters
    ----------
    analysis : Analysis
        What `lowdim.analyse` gave.
    level : float, default 0.99
        Of the two limits.
    show_rows : bool, default True
        Whether rows are drawn one by one; else counts of at least five.

    Returns
    -------
    Plot
    """
    rows = analysis.odd
    names = analysis.row_names
    return t2_q(rows.T2.p, rows.Q.p, odd=rows.odd, row_names=names, level=level, show_rows=show_rows)


@draw.styled
def t2_q(
    T2_p: Any,
    Q_p: Any,
    *,
    level: float = 0.99,
    odd: Any = None,
    row_names: Sequence[object] | None = None,
    show_rows: bool = True,
) -> Plot:
    """Every row in the plane of its two p-values, with how many chance alone puts into each zone.

    T2 and Q are independent, so p = 1 - level cuts off shares a, a and a^2 of ordinary rows. `odd` marks the
    rows that the false discovery rate picks. `show_rows=False` draws counts only, none of fewer than 5 rows.

    >>> t2_q([0.5, 0.001, 0.3], [0.2, 0.4, 1e-9], level=0.95).data["rows"].tolist()
    [1, 1, 1, 0]
    """
    a = 1.0 - level
    x, y = (np.minimum(rarity(p), FARTHEST_RARITY) for p in (T2_p, Q_p))
    n, cut = len(x), float(-np.log10(a))
    far = np.zeros(n, dtype=bool) if odd is None else np.asarray(odd, dtype=bool)
    names = [str(k + 1) for k in range(n)] if row_names is None else [str(name) for name in row_names]
    zone = (x > cut).astype(int) + 2 * (y > cut).astype(int)
    rows = np.bincount(zone, minlength=4)
    chance = n * np.array([(1 - a) ** 2, a * (1 - a), a * (1 - a), a * a])
    figure, ax = draw.canvas(6.4, 4.4)
    ax.set_xlim(-0.02 * max(x.max(initial=0), 2 * cut), 1.14 * max(x.max(initial=0), 1.6 * cut))
    ax.set_ylim(-0.02 * max(y.max(initial=0), 2 * cut), 1.14 * max(y.max(initial=0), 1.6 * cut))
    _plane(figure, ax, x, y, far, show_rows)
    ax.axvline(cut, color=draw.INK, lw=0.9, ls="--")
    ax.axhline(cut, color=draw.INK, lw=0.9, ls="--")
    _zones(ax, cut, rows, chance, dense=n > MOST_POINTS or not show_rows)
    if show_rows:
        _name_farthest(ax, np.column_stack([x, y]), far if odd is not None else zone > 0, names)
    ax.set_xlabel("within the map: −log10 p of T²  (3 = one row in 1,000 is as far)", fontsize=9)
    ax.set_ylabel("off the map: −log10 p of Q", fontsize=9)
    outside, expected = int(rows[1:].sum()), about(chance[1:].sum())
    title = f"{draw.count(outside, 'row')} of {n:,} beyond p = {a:.3g}; about {expected} expected by chance"
    sentence = (
        f"{title}: {rows[1]} within the map only (about {about(chance[1])} by chance), {rows[2]} off the map "
        f"only (about {about(chance[2])}), {rows[3]} in both (about {about(chance[3])})."
    )
    draw.headline(figure, title)
    data: dict[str, Any] = {"zone": ["ordinary", "T2 only", "Q only", "both"], "rows": rows, "chance": chance}
    if show_rows:
        data |= {"row": names, "T2_rarity": rarity(T2_p), "Q_rarity": rarity(Q_p), "odd": far}
    return Plot("t2_q", figure, title=title, sentence=sentence, data=data)


def _name_farthest(ax: Any, xy: Array, among: NDArray[np.bool_], names: list[str]) -> None:
    """The names of the rows that are farthest out among these."""
    rows = np.flatnonzero(among)
    rows = rows[np.argsort(-xy.sum(axis=1)[rows], kind="stable")][:MOST_NAMED_ODD]
    draw.place_labels(ax, xy[rows], [draw.short(names[k], 14) for k in rows])


def _plane(figure: Any, ax: Any, x: Array, y: Array, far: NDArray[np.bool_], show_rows: bool) -> None:
    """Points, or counts in cells where there are too many points or none may be shown."""
    from matplotlib.colors import LogNorm

    if show_rows and len(x) <= MOST_POINTS:
        ax.plot(
            x[~far],
            y[~far],
            "o",
            ms=4,
            mfc="none",
            color=draw.COLOURS[0],
            alpha=0.8,
            rasterized=len(x) > MOST_VECTOR_POINTS,
        )
    else:
        counts, xe, ye = np.histogram2d(x, y, bins=48 if show_rows else 16, range=(ax.get_xlim(), ax.get_ylim()))
        least = 1 if show_rows else 5
        shown = np.ma.masked_less(counts.T, least)
        mesh = ax.pcolormesh(
            xe,
            ye,
            shown,
            cmap=draw.SEQUENTIAL + "_r",
            rasterized=True,
            norm=LogNorm(least, max(counts.max(), least + 1)),
        )
        bar = figure.colorbar(mesh, ax=ax, pad=0.01, aspect=30, label="rows in a cell (log scale)")
        plain_log(bar.ax.yaxis)
    if show_rows:
        ax.plot(
            x[far][:MOST_POINTS],
            y[far][:MOST_POINTS],
            "D",
            ms=6,
            color=draw.COLOURS[3],
            label="odd at the false discovery rate",
        )
        if far.any():
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
        write(
            ax,
            x,
            y,
            f"{name}: {n_rows:,}\nby chance {about(by)}",
            ha=ha,
            va=va,
            fontsize=8,
            bbox=behind,
            zorder=3 if dense else 1.5,
        )


# why a row is odd ------------------------------------------------------------------------------------
@plot(
    "why_row",
    "One row, cell by cell, beside what the rest of it says.",
    needs="analysis",
    options=(ROW,),
)
def why_row_of(analysis: Analysis, row: int | None = None) -> Plot:
    """One row, cell by cell: what it holds, what the rest of the row says, and the surprise in sd.

    Parameters
    ----------
    analysis : Analysis
        What `lowdim.analyse` gave.
    row : int, optional
        Its position; the oddest row where it is left out.

    Returns
    -------
    Plot
    """
    if row is None:
        row = analysis.odd.rows[0].row if analysis.odd.rows else int(np.argmin(analysis.odd.D2.p))
    card = analysis.explain(row)
    return why_row(
        [np.nan if c.value is None else c.value for c in card.cells],
        [c.expected for c in card.cells],
        [c.sd for c in card.cells],
        [np.nan if c.surprise is None else c.surprise for c in card.cells],
        [c.column for c in card.cells],
        row_name=card.name,
        hide=card.hide,
        p=card.p,
        p_after=card.p_after,
        words=[c.told for c in card.cells],
    )


@draw.styled
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
    words: Sequence[Sequence[str]] = (),
) -> Plot:
    """One row, cell by cell: what it holds, what the rest of the row says, and the surprise in sd.

    A gap has value NaN (or None). `hide` names the culprits: the cells that, hidden, make the row ordinary. `words` are
    a cell's value and what the rest says, where they are answers and no numbers.

    >>> why_row([121.7, 16.0], [78.3, 16.1], [6.5, 0.4], [6.7, -0.2], ["ratio", "lignin"], row_name=1).title
    "Row 1: 'ratio' is 121.7 where the rest of the row says 78.3 ± 6.5"
    """
    value, expected, sd, surprise = (np.array(a, dtype=float) for a in (value, expected, sd, surprise))
    size = np.where(np.isnan(surprise), -1.0, np.abs(surprise))
    order = np.argsort(-size, kind="stable")[:MOST_WHY_CELLS]
    order = order[size[order] >= 0] if (size[order] >= 0).any() else order
    blamed = {str(name) for name in hide}
    culprit = np.array([str(names[j]) in blamed for j in range(len(names))])
    k = len(order)
    figure, ax = draw.canvas(6.4, 1.75 + 0.27 * k)
    _bars(ax, size, surprise, order, culprit)
    told = _told(value, expected, sd, words)
    _says(ax, told, order, culprit)
    n_hidden = len(names) - k
    hidden_text = f"\n{draw.count(n_hidden, 'column')} less surprising or missing, not drawn" if n_hidden else ""
    ax.set_xlabel(f"surprise: value minus what the rest says, in sd{hidden_text}", fontsize=9)
    title, sentence = _why_words(told, surprise, names, str(row_name), tuple(hide), p, p_after)
    draw.headline(figure, title)
    data = {
        "column": [str(name) for name in names],
        "value": value,
        "expected": expected,
        "sd": sd,
        "surprise": surprise,
        "culprit": culprit,
    }
    name_ticks(ax.yaxis, range(k), [("▶ " if culprit[j] else "") + draw.short(names[j]) for j in order], most=30)
    return Plot("why_row", figure, title=title, sentence=sentence, data=data)


def _bars(ax: Any, size: Array, surprise: Array, order: NDArray[np.intp], culprit: NDArray[np.bool_]) -> None:
    ax.axvspan(-2, 2, color=draw.GREY, alpha=0.15, lw=0)
    ax.axvline(0, color=draw.INK, lw=0.8)
    for i, j in enumerate(order):
        if size[j] >= 0:
            ax.barh(
                i,
                surprise[j],
                height=0.62,
                color=draw.COLOURS[3] if culprit[j] else draw.COLOURS[5],
                ec=draw.INK,
                lw=0.5,
                hatch="///" if culprit[j] else None,
            )
    drawn_ones = surprise[order[size[order] >= 0]]
    ax.set_xlim(min(-3.0, 1.1 * drawn_ones.min(initial=0.0)), max(3.0, 1.1 * drawn_ones.max(initial=0.0)))
    ax.set_ylim(len(order) - 0.4, -0.95)


def _told(value: Array, expected: Array, sd: Array, words: Sequence[Sequence[str]]) -> list[tuple[str, str, str]]:
    """Each cell's value, what the rest says of it, and the same within a sentence."""
    told = []
    for j, v in enumerate(value):
        if len(words) > j and words[j]:
            told.append((words[j][0], words[j][1], words[j][1]))
            continue
        off = f" ± {draw.number(sd[j], 2, 1e9)}"
        says = f"{draw.number(expected[j], 4, 1e9)}{off}", f"{draw.number(expected[j])}{off}"
        told.append(("gap" if np.isnan(v) else draw.number(v, 4, 1e9), *says))
    return told


def _says(ax: Any, told: list[tuple[str, str, str]], order: NDArray[np.intp], culprit: NDArray[np.bool_]) -> None:
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
        put(i, told[j][0], told[j][1], "bold" if culprit[j] else "normal")


def _why_words(
    told: list[tuple[str, str, str]],
    surprise: Array,
    names: Sequence[object],
    row: str,
    hide: tuple[object, ...],
    p: float | None,
    after: float | None,
) -> tuple[str, str]:
    who = f"Row {draw.short(row)}" if row else "This row"
    if np.isnan(surprise).all():
        return f"{who} has no seen cell", f"{who} has no seen cell, so nothing in it can surprise."
    j = int(np.nanargmax(np.abs(surprise)))
    title = f"{who}: {draw.quoted(names[j])} is {told[j][0]} where the rest of the row says {told[j][2]}"
    if p is not None and not hide:
        title = f"{who} is ordinary (p {p_value(p)})"
    odds = "" if p is None else f"{who} has p {p_value(p)}. "
    cells = "that cell" if len(hide) == 1 else f"{len(hide)} cells ({', '.join(draw.short(h) for h in hide)})"
    cure = f" Hide {cells}, and the row is ordinary" + (f" (p {p_value(after)})." if after is not None else ".")
    return title, (
        f"{odds}Most surprising: {draw.quoted(names[j])} is {told[j][0]}; "
        f"the rest of the row says {told[j][2]}{' (sd)' if '±' in told[j][2] else ''}, "
        f"{surprise[j]:+.1f} sd off.{cure if hide else ''}"
    )


@plot(
    "why_all",
    "The surprises of the most surprising rows, cell by cell.",
    needs="analysis",
    report=InReport("odd", "rows", says_something=lambda analysis: int(analysis.odd.odd.sum()) > 1),
)
def why_all_of(analysis: Analysis) -> Plot:
    """Surprise of the most surprising rows, cell by cell, rows and columns ordered so that like lie together.

    Parameters
    ----------
    analysis : Analysis
        What `lowdim.analyse` gave.

    Returns
    -------
    Plot
    """
    t = analysis.table
    return why_all(np.where(np.isnan(t.X), np.nan, analysis.surprises), t.names, t.row_names)


@draw.styled
def why_all(surprise: Any, names: Sequence[object], row_names: Sequence[object] | None = None) -> Plot:
    """Surprise of the most surprising rows, cell by cell, rows and columns ordered so that like lie together.

    >>> why_all([[0.1, 5.0], [0.2, -0.3]], ["a", "b"]).data["row"].tolist()
    ['1', '2']
    """
    S = np.array(surprise, dtype=float)
    labels = [str(k + 1) if row_names is None else str(row_names[k]) for k in range(len(S))]
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
    shown = ax.imshow(
        np.ma.masked_invalid(part), cmap=draw.DIVERGING, vmin=-reach, vmax=reach, aspect="auto", interpolation="nearest"
    )  # one small image, not a path a cell
    ax.patch.set(hatch="////", edgecolor=draw.GREY, facecolor="white")
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
