"""One row in full: every cell beside what the others say of it, and the fewest cells that make the row ordinary.

A cell may be hidden, or edited, before the row is looked at: so a person asks "what if".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.judge.cells import CellBeliefs
from lowdim.judge.outliers.law import GAUSSIAN_LAW, RowLaw, p_of_rows
from lowdim.judge.rows.odd_rows import P_NOTE, Ends, around, blame, disagrees, expectation, own_cell, row_name
from lowdim.maths.linalg import Array
from lowdim.sources.source import Block
from lowdim.table.cell_kinds import ORDINAL
from lowdim.text.format import count, figures, listing, observed, p_value
from lowdim.text.messages import check_level, error
from lowdim.text.notebook import card
from lowdim.text.table import text_table

if TYPE_CHECKING:
    from lowdim.judge.maps.table_map import TableMap

ODD_LEVEL = 0.95  # a row with p < 1 - ODD_LEVEL is not ordinary
LISTED_CELLS = 30  # cells of a row that a notebook lists
FEW_CELLS = 5  # that a sentence names to hide
ONE_BY_ONE = 10  # cells of a row that are hidden singly to make it ordinary


class RowCell(NamedTuple):
    """One cell of a row beside what the others of the row say; value and surprise are None at a gap."""

    column: str
    value: float | None
    expected: float
    sd: float
    surprise: float | None
    limit: int = 0  # 1 where the rest of the row says more than the column can be, -1 where less
    told: tuple[str, ...] = ()  # of a cell that holds an answer: what it is called, and what the rest says
    range: Ends | None = None  # 90% of such cells, where no ± is true of them, or the interval of a gap's fill

    def words(self) -> tuple[str, str, str]:
        """Value, what the rest says, and the surprise, as a person reads them."""
        value, says = self.told or (
            "gap" if self.value is None else observed(self.value, self.sd),
            f"{expectation(self.value, self.expected, self.sd, self.limit)} {around(self)}",
        )
        return value, says, "" if self.surprise is None else f"{self.surprise:+.1f} sd"


class RowFill(NamedTuple):
    """A gap of the row as the table's fills have it, with the interval that was checked on hidden cells."""

    column: str
    fill: float
    lower: float
    upper: float


class RowCard(NamedTuple):
    """One row in full; `p` is that by which the list of odd rows picks, the others are of one distance.

    A model without a law of its rows has no distances and no p: these are None then.
    """

    row: int
    name: str
    cells: tuple[RowCell, ...]
    D2: float | None
    p: float | None
    T2: float | None
    p_T2: float | None
    dof_T2: int
    Q: float | None
    p_Q: float | None
    seen: int
    hide: tuple[str, ...]  # cells that, hidden one after the other, make the row ordinary
    p_after: float | None
    sentence: str
    p_D2: float | None
    fills: tuple[RowFill, ...] = ()  # of its gaps, where there is an analysis that has them

    @property
    def shown(self) -> tuple[RowCell, ...]:
        """The cells, a gap as the table's fills have it, with the interval that was checked on hidden cells."""
        fills = {f.column: f for f in self.fills}
        return tuple(
            c._replace(expected=f.fill, limit=0, range=(f.lower, f.upper))
            if c.value is None and not c.told and (f := fills.get(c.column))
            else c
            for c in self.cells
        )

    def __repr__(self) -> str:
        """At most four lines: the sentence, the distances, and where the rest is."""
        seen = f"{len(self.cells)} cells, {self.seen} seen: .text(), .cells, .hide"
        return "\n".join(filter(None, (self.sentence, self._laws, seen)))

    def _repr_html_(self) -> str:
        """Every cell beside what the rest of its row says, the most surprising first."""
        order = sorted(self.shown, key=lambda c: -abs(c.surprise or 0.0))
        listed = ((("▶ " if c.column in self.hide else "") + c.column, *c.words()) for c in order[:LISTED_CELLS])
        left = len(order) - LISTED_CELLS
        more = f" {left:,} less surprising or missing cells: .text()" if left > 0 else ""
        return card(
            self.sentence,
            ("column", "value", "the rest says", "surprise"),
            listed,
            note=(f"{self._laws}.{more}" if self._laws else more.strip())
            + (" ▶ hide these and the row is ordinary." if self.hide else ""),
        )

    @property
    def _laws(self) -> str:
        """The distances with their p; nothing where the model has no law of them."""
        if self.D2 is None or self.p_D2 is None or self.T2 is None or self.p_T2 is None:
            return ""
        off = (
            "Q is not defined: no more seen cells than dimensions"
            if self.Q is None or self.p_Q is None
            else f"off map Q {self.Q:.1f} on {self.seen - self.dof_T2}, p {p_value(self.p_Q)}"
        )
        return (
            f"total D2 {self.D2:.1f} on {count(self.seen, 'cell')}, p {p_value(self.p_D2)};  "
            f"within map T2 {self.T2:.1f} on {self.dof_T2}, p {p_value(self.p_T2)};  {off}"
        )

    def text(self) -> str:
        """The table of `lowdim explain --row`."""
        lines = [self.sentence, *filter(None, (self._laws, P_NOTE if self.p != self.p_D2 else "")), ""]
        rows = [("column", "value", "the rest says", "surprise"), *((c.column, *c.words()) for c in self.shown)]
        lines += text_table(rows, right=(1, 2, 3))
        return "\n".join(lines)


def explain_row(
    map: TableMap,
    X: Array,
    row: int,
    *,
    law: RowLaw | None,
    odd_level: float = ODD_LEVEL,
    row_names: Any = None,
    hidden: Sequence[str] = (),
    edited: Mapping[str, Any] | None = None,
) -> RowCard:
    """Every cell of one row beside what its other cells say, and a small set that makes the row ordinary.

    The set is found greedily: hide the least likely cell, look again, until p >= 1 - odd_level. `hidden` cells count
    as gaps, `edited` ones have other values, in the table's own units and answers as they are called. Without a `law`
    the card has no distances, and says how dense the model's rows are there.

    >>> from lowdim.judge.maps.table_map import table_map
    >>> from lowdim.models.linear.ppca import ProbabilisticPCA
    >>> X = np.random.default_rng(0).standard_normal((60, 1)) * np.ones(4) + 0.1 * np.sin(np.arange(240)).reshape(60, 4)
    >>> X[7, 2] += 5.0
    >>> map = table_map(ProbabilisticPCA(1).fit(X), ("c1", "c2", "c3", "c4"))
    >>> explain_row(map, X, 7, law=map.cells.plain_law).hide
    ('c3',)
    >>> explain_row(map, X, 7, law=map.cells.plain_law, hidden=["c3"]).sentence
    'Row 8 without c3 is ordinary (p 0.81).'
    """
    check_level(odd_level, "odd_level")
    if not 0 <= row < len(X):
        raise error("LD210", option="row", value=row, allowed=f"a row from 0 to {len(X) - 1}")
    x = touched_row(map, X[row : row + 1], hidden, edited or {})
    told = map.cells.beliefs(one_block(x), law)
    seen, dof = int(told.seen.sum()), int(told.rank[0])
    cells, name = (
        row_cells(map, x, told, law or GAUSSIAN_LAW),
        as_touched(row_name(row, row_names), hidden, edited or {}),
    )
    if law is None:
        density = float(map.cells.posterior(x).log_density[0])
        words = f"Row {name}: log density {figures(density, 4)}."
        none = (None,) * 4
        return RowCard(row, row_name(row, row_names), cells, *none, 0, None, None, seen, (), None, words, None)
    p_T2, p_Q = (float(law.p_value(far, np.array(k))[0]) for far, k in ((told.T2, dof), (told.Q, seen - dof)))
    p = float(p_of_rows(told, law)[0])
    hide, after = _ordinary(map, x, 1.0 - odd_level, law) if law.judges else ((), None)
    return RowCard(
        row,
        row_name(row, row_names),
        cells,
        D2=float(told.D2[0]),
        p=p,
        T2=float(told.T2[0]),
        p_T2=p_T2,
        dof_T2=dof,
        Q=float(told.Q[0]) if seen > dof else None,
        p_Q=p_Q if seen > dof else None,
        seen=seen,
        hide=hide,
        p_after=after,
        sentence=row_sentence(name, cells, hide, p, after) if after is not None else unjudged_sentence(name, cells),
        p_D2=float(told.p_D2[0]),
    )


def one_block(x: Array) -> Block:
    """Rows with NaN at gaps as a block."""
    mask = ~np.isnan(x)
    return Block(np.where(mask, x, 0.0), mask)


def touched_row(map: TableMap, x: Array, hidden: Sequence[str], edited: Mapping[str, Any]) -> Array:
    """The one row x with some columns hidden and others changed, in the table's units and words."""
    x, names = x.copy(), map.names
    unknown = [name for name in (*hidden, *edited) if name not in names]
    if unknown:
        raise error("LD210", option="column", value=unknown[0], allowed=f"one of {listing(names, 12)}")
    for name, value in edited.items():
        k = names.index(name)
        column = map.columns[k]
        known = {column.word(v): v for v in column.levels}
        if column.labels or str(value) in known:
            x[0, k] = known.get(str(value), np.nan)
        else:
            number = np.full((1, len(names)), _number(value))
            x[0, k] = (number if map.scales is None else map.scales.inward(number))[0, k]
        if not np.isfinite(x[0, k]) or (column.levels and x[0, k] not in column.levels):
            listed = f"one of {listing(sorted(known) if column.labels else list(known), 12)}"
            any_number = "a number that the column's scale has a place for"
            raise error("LD210", option=name, value=value, allowed=listed if known else any_number)
    for name in hidden:
        x[0, names.index(name)] = np.nan
    return x


def _number(value: Any) -> float:
    """A number as it was given; NaN where it is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def as_touched(name: str, hidden: Sequence[str], edited: Mapping[str, Any]) -> str:
    """'8 without c3 and with c1 at 2.5'"""
    without = f" without {', '.join(hidden)}" if hidden else ""
    changes = ", ".join(
        f"{column} at {value if isinstance(value, str) else observed(value, 0.0)}"
        for column, value in edited.items()
        if column not in hidden
    )
    return f"{name}{without}{' and' if without and changes else ''}{f' with {changes}' if changes else ''}"


def row_cells(map: TableMap, x: Array, told: CellBeliefs, law: RowLaw) -> tuple[RowCell, ...]:
    """Every cell of the one row that these beliefs are of."""
    cells = []
    for k, column in enumerate(map.columns):
        seen, value = bool(told.seen[0, k]), float(np.nan_to_num(x[0, k]))
        likeliest = float(told.likeliest[0, k])
        words = column.told(value if seen else likeliest, likeliest, float(told.likeliest_share[0, k]))
        if words and not seen:  # the fill of a level is the middle one, of numbers as they are
            words = ("gap", words[1]) if column.cells is not ORDINAL or column.grades else ()
        own = own_cell(map.scales, law, k, value, float(told.mean[0, k]), float(told.sd[0, k]))
        cells.append(
            RowCell(
                column.name,
                value=own.value if seen else None,
                expected=own.expected,
                sd=own.sd,
                surprise=float(told.surprise[0, k]) if seen else None,
                limit=own.limit,
                told=words,
                range=own.range,
            )
        )
    return tuple(cells)


def _ordinary(map: TableMap, x: Array, rate: float, law: RowLaw) -> tuple[tuple[str, ...], float]:
    """Columns hidden one after the other, the least likely first, until the row is ordinary; and its p then.

    Beyond the first ten a third is added at a time: nobody reads so many, and a wide row has thousands.
    """
    hidden: list[int] = []
    while True:
        told = map.cells.beliefs(one_block(x), law)
        p = float(p_of_rows(told, law)[0])
        if p >= rate or not told.seen.any():
            return tuple(map.names[k] for k in hidden), p
        more = 1 if len(hidden) < ONE_BY_ONE else min(len(hidden) // 3, int(told.seen.sum()))
        worst = np.argsort(-blame(told, law)[0], kind="stable")[:more].tolist()
        hidden += worst
        x = x.copy()
        x[0, worst] = np.nan


def unjudged_sentence(name: str, cells: tuple[RowCell, ...]) -> str:
    """Of a row of a table to whose bulk no law fits."""
    seen = [c for c in cells if c.surprise is not None]
    sentence = f"Row {name} is not judged: no distribution fits most of the rows."
    if not seen:
        return sentence
    worst = max(seen, key=lambda c: abs(c.surprise or 0.0))
    return f"{sentence} Its farthest cell: {disagrees(worst.column, worst, worst.told)}."


def row_sentence(name: str, cells: tuple[RowCell, ...], hide: tuple[str, ...], p: float, after: float) -> str:
    if not hide:
        return f"Row {name} is ordinary (p {p_value(p)})."
    worst = next(c for c in cells if c.column == hide[0])
    says = disagrees(worst.column, worst, worst.told)
    odd = f"Row {name} is unlike what the model expects (p {p_value(p)}): "
    seen = sum(c.value is not None for c in cells)
    if len(hide) > FEW_CELLS or len(hide) == seen > 1:
        many = f"all {seen}" if len(hide) == seen else f"{len(hide)} of {seen}"
        return f"{odd}many cells disagree, most of all {says}. No few make it odd: {many} would have to be hidden."
    which = "that cell" if len(hide) == 1 else f"these {len(hide)} cells: {', '.join(hide)}"
    then = f"Hide {which}, and the row is ordinary (p {p_value(after)})"
    return f"{odd}{says}. {then}."
