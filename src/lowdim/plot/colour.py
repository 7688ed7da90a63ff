"""What a map is coloured by: a column of the table or values of one's own, as kinds or as numbers."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask
from lowdim.plot import base as draw
from lowdim.table.column import LABEL_KINDS
from lowdim.table.table import Column, Table
from lowdim.text.format import listing
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_KINDS = len(draw.SHAPES)  # kinds with a colour and a shape of their own; the others share one
KIND_LOOKS = (*zip(draw.COLOURS, draw.SHAPES, strict=True), (draw.GREY, "h"))
CUT_RANGE = 3.0  # a range so many times that of 96% of the rows is cut: one far row would take all the colours
YEAR, IN_YEARS = 365.2425, " (year)"  # dates are coloured as years
NO_LABEL = "(no label)"


class Groups(NamedTuple):
    """How rows are told apart: a kind each (with its names), or a number each (NaN where there is none)."""

    kind: NDArray[np.int_]
    names: tuple[str, ...]
    title: str = ""
    value: Array | None = None
    total: int = 0  # kinds there are, also those that share a mark

    @property
    def words(self) -> str:
        """What the colours mean, for the sentence of a plot."""
        about = draw.quoted(self.title) if self.title else "the values given"
        if self.value is None:
            some_named = f", the {MOST_KINDS} most common by name" if self.total > MOST_KINDS else ""
            return f" Colour and shape are {about}: {draw.count(self.total, 'kind')}{some_named}." if self.names else ""
        finite = self.value[np.isfinite(self.value)]
        n_missing = len(self.value) - len(finite)
        ends = finite.min(), finite.max()
        low, high = (f"{x:.2f}" if self.title.endswith(IN_YEARS) else draw.number(x) for x in ends)
        text = f" Colour is {about}, from {low} to {high}."
        if not n_missing:
            return text
        return f"{text} {draw.count(n_missing, 'row')} without a value {'is' if n_missing == 1 else 'are'} hollow."

    def look(self, k: int) -> tuple[str, str]:
        """Colour and shape of a kind."""
        return KIND_LOOKS[k]

    def shown(self) -> NDArray[Any]:
        """A value or the name of its kind for every row."""
        return self.value if self.value is not None else np.array([*self.names, ""])[self.kind]


def groups(color: Any, n: int, title: str = "") -> Groups:
    """Kinds by how common they are, the first eight by name, or numbers where there are more of those than kinds.

    >>> groups(["a", "b", "a"], 3).names
    ('a', 'b')
    """
    if color is None:
        return Groups(np.zeros(n, dtype=int), ())
    if isinstance(color, Groups):
        return color
    raw = np.asarray(color)
    if raw.ndim != 1 or len(raw) != n:
        raise error("LD210", option="color", value=f"an array of shape {raw.shape}", allowed=f"{n} values, one a row")
    if raw.dtype.kind in "fiu":
        value = np.where(np.isfinite(raw.astype(float)), raw, np.nan).astype(float)
        if len(np.unique(value[np.isfinite(value)])) > MOST_KINDS:
            return Groups(np.zeros(n, dtype=int), (), title, value)
    text = np.array([kind_name(v) for v in raw.tolist()])
    kinds, which, many = np.unique(text, return_inverse=True, return_counts=True)
    order = np.argsort(-many, kind="stable")
    rank = np.empty(len(kinds), dtype=int)
    rank[order] = np.arange(len(kinds))
    names = [str(kinds[k]) for k in order]
    if len(kinds) > MOST_KINDS:
        names = [*names[:MOST_KINDS], f"others ({len(kinds) - MOST_KINDS} kinds)"]
    total = int((kinds != NO_LABEL).sum())
    return Groups(np.minimum(rank[which.ravel()], MOST_KINDS), tuple(names), title, total=total)


def kind_name(value: Any) -> str:
    """What a kind is called by one of its values."""
    if value is None or value != value:
        return NO_LABEL
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def chosen(table: Table, color: Any) -> tuple[Any, str]:
    """The values of a column by its name, or values of one's own, and what they are called."""
    if isinstance(color, str):
        column = next((c for c in table.columns if c.name == color and _usable(c)), None)
        if column is None:
            names = [c.name for c in table.columns if _usable(c)]
            near = difflib.get_close_matches(color.lower(), [name.lower() for name in names], 1)
            meant = next((f"did you mean '{name}'? " for name in names if [name.lower()] == near), "")
            fix = f"{meant}choose one of: {listing(names, 12)}"
            raise error("LD103", column=color, option="color", fix=fix)
        if column.values.dtype.kind == "M":
            return _values(column), color + IN_YEARS
        return _values(column), f"log of {color}" if column.log else color
    values = np.asarray(color)
    if values.ndim == 1 and len(values) == table.shape[0]:  # rows as they came; some may have been left out
        values = values[table.rows]
    return values, str(getattr(color, "name", None) or "")


def column_groups(table: Table, color: Any, rows: NDArray[np.intp] | None = None) -> Groups:
    """Rows of a table told apart by a column, or by values of one's own."""
    values, name = chosen(table, color)
    values = np.asarray(values) if rows is None else np.asarray(values)[rows]
    return groups(values, table.n if rows is None else len(rows), name)


def _usable(c: Column) -> bool:
    return (c.values.dtype.kind != "O" and c.role != "label") or not c.gaps.all()


def _values(c: Column) -> NDArray[Any]:
    """Numbers as they are, dates as years; years, places, ranks and what was left out as numbers where they can be."""
    if c.values.dtype.kind == "M":
        days = c.values.astype("datetime64[s]").astype(float) / 86400.0
        return np.where(np.isnat(c.values), np.nan, 1970.0 + days / YEAR)
    ordered = c.role == "label" and c.kind not in (*LABEL_KINDS, "key")
    if (c.role == "out" or ordered) and c.labels:
        try:
            return np.array([np.nan if v is None else float(v) for v in c.words])
        except ValueError:
            return c.words
    return c.words if c.labels or c.role == "label" else c.values


def draw_groups(ax: Axes, xy: Array, kinds: Groups, gap: Mask, rows: NDArray[np.intp]) -> None:
    """These rows as marks: a colour and a shape for each kind, or a shade for each number; gaps are hollow."""
    figure = draw.figure_of(ax)
    size = 20.0 if len(rows) <= 300 else 9.0
    if kinds.value is not None:
        value = kinds.value[rows]
        has_value = np.isfinite(value)
        colours = _shades(figure, ax, kinds.value, kinds.title)(value[has_value])
        for part, inner, width in ((~has_value, draw.PAPER, 0.8), (has_value, colours, 0.3)):
            x, y = xy[rows[part]].T
            ax.scatter(x, y, s=size, facecolors=inner, edgecolors=draw.GREY, linewidths=width, zorder=3)
        return
    for k in range(max(1, len(kinds.names))):
        colour, shape = kinds.look(k)
        for part, hollow in (((kinds.kind == k) & ~gap, False), ((kinds.kind == k) & gap, True)):
            (x, y), inner = xy[rows[part[rows]]].T, draw.PAPER if hollow else colour
            dots = ax.scatter(x, y, s=size, marker=shape, facecolors=inner, edgecolors=edge(colour), linewidths=1.0)
            dots.set_zorder(3)


def edge(colour: str) -> str:
    """A colour's outline: yellow alone cannot be seen on white."""
    return "#857A00" if colour == draw.COLOURS[7] else colour


def _shades(figure: Figure, ax: Axes, value: Array, title: str) -> Any:
    """The colour of each number, and the bar that explains them."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    finite = value[np.isfinite(value)]
    low, high = float(finite.min()), float(finite.max())
    inner = np.percentile(finite, [2, 98])
    cut = high - low > CUT_RANGE * (inner[1] - inner[0]) > 0
    shade = ScalarMappable(Normalize(*(inner if cut else (low, high))), draw.SEQUENTIAL)
    ends = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    beyond = (bool(low < inner[0]), bool(high > inner[1])) if cut else (False, False)
    figure.colorbar(shade, ax=ax, label=draw.short(title or "value", 40), shrink=0.8, extend=ends[beyond])
    return shade.to_rgba


def legend_marks(kinds: Groups, gap: Mask) -> list[Any]:
    """What colours, shapes and hollow marks mean."""
    from matplotlib.lines import Line2D

    def mark(shape: str, colour: str, text: str, *, hollow: bool = False) -> Line2D:
        inner = draw.PAPER if hollow else colour
        return Line2D([], [], marker=shape, ls="", color=edge(colour), mfc=inner, label=text, ms=5)

    if kinds.value is not None:
        no_value = ~np.isfinite(kinds.value)
        what = f"gap in {draw.short(kinds.title)}" if kinds.title else "no value"
        return [mark("o", draw.GREY, f"hollow: {what}", hollow=True)] if no_value.any() else []
    marks = [mark(kinds.look(k)[1], kinds.look(k)[0], draw.short(text)) for k, text in enumerate(kinds.names)]
    if np.any(gap):
        marks.append(mark("o", draw.GREY if kinds.names else draw.COLOURS[0], "hollow: row with gaps", hollow=True))
    return marks


def explain_kinds(figure: Figure, kinds: Groups, gap: Mask) -> None:
    """The legend of what rows are told apart by: named kinds beside the map, hollow marks alone below it."""
    marks = legend_marks(kinds, gap)
    if marks and kinds.names:
        title = draw.short(kinds.title, 18) or None
        figure.legend(handles=marks, loc="outside right center", title=title, title_fontsize=8, alignment="left")
    elif marks:
        figure.legend(handles=marks, loc="outside lower left")


def rows_named(row_names: Sequence[str], labels: Any, odd: Sequence[int], most: int) -> list[int]:
    """Positions of the rows that a map names: the odd ones, none, or those asked for by name or position."""
    if isinstance(labels, str) and labels in ("odd", "none"):
        return list(odd)[:most] if labels == "odd" else []
    allowed = "'odd', 'none', or a list of row names or of positions from 0"
    if isinstance(labels, str):
        raise error("LD210", option="labels", value=labels, allowed=allowed)
    places = {name: k for k, name in reversed(list(enumerate(row_names)))}
    positions = []
    for wanted in labels:
        place = places.get(wanted) if isinstance(wanted, str) else int(wanted)
        if place is None or not 0 <= place < len(row_names):
            raise error("LD210", option="labels", value=wanted, allowed=allowed)
        positions.append(place)
    return positions
