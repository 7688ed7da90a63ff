"""Fills that need no guess: another column says the same, or a column has one label only."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.words import COPY, LabelFill
from lowdim.judge.mixed_table import MixedColumn, mixed_column, mixed_table
from lowdim.maths.linalg import Array
from lowdim.table.column import Column
from lowdim.table.relations import CopiedColumn, Relation, copied_columns
from lowdim.table.table import Table
from lowdim.text.format import count, listing

ONE_LABEL = "its only label"
MOSTLY_SEEN = 0.5  # share of the rows that have a column's only label, below which a gap may be the other answer


# numbers ------------------------------------------------------------------------------------------------
class NumberCopy(NamedTuple):
    """A column of numbers that was left out because it is a function of another: what fills its gaps."""

    column: str
    position: int  # in the file, from 1
    of: int  # the column it is a function of, among the table's numbers
    kept: str  # its name
    relation: Relation
    rows: NDArray[np.intp]  # in which it was a gap
    told: NDArray[np.intp]  # in which it filled a gap of the other

    def at(self, values: Array) -> Array:
        """Its gaps, by these values of the table's numbers."""
        return self.relation.of(values[self.rows, self.of])

    @property
    def words(self) -> str:
        """What fills it, as a line of text."""
        return f"{self.column}: {count(len(self.rows), 'gap')} filled as {self.kept} says, of which it is a copy."


def number_copies(table: Table | None) -> tuple[NumberCopy, ...]:
    """The columns of numbers that were left out as functions of others, with the rows in which one tells the other."""
    if table is None or table.holds != "measurements":
        return ()
    at, found, known = {name: j for j, name in enumerate(table.names)}, list[NumberCopy](), np.isnan(table.X)
    for pair in copied_columns(table):
        relation = pair.column.copy and pair.column.copy.relation
        if relation and pair.kept.name in at:
            j = at[pair.kept.name]
            told = pair.told[known[pair.told, j]]
            known[told, j] = False  # by the first of its copies
            named = (pair.column.name, pair.column.position, j, pair.kept.name)
            found.append(NumberCopy(*named, relation, pair.gaps, told))
    return tuple(found)


# labels -------------------------------------------------------------------------------------------------
class ToldColumn(NamedTuple):
    """A column of labels that has copies: what is known or thought of each row of the table, then of each left out."""

    shares: Array  # rows x labels, NaN where nothing is
    fill: LabelFill | None  # of the gaps that no copy tells
    n: int

    @property
    def guessed(self) -> NDArray[np.intp]:
        """Rows that the fill is for."""
        none = np.zeros(0, dtype=np.intp)
        return none if self.fill is None else np.concatenate([self.fill.rows, self.n + self.fill.left])

    def drawn(self, rows: NDArray[np.intp], codes: NDArray[np.intp], seed: int, number: int) -> NDArray[np.intp]:
        """A label for each of these rows, `codes` saying which label of another column each of its own is."""
        labels = np.nan_to_num(self.shares).argmax(axis=1)
        if self.fill is not None:
            labels[self.guessed] = self.fill.drawn(seed, number)
        return np.asarray(codes[labels[rows]])


def certain_labels(table: Table, full: Table, fills: tuple[LabelFill, ...]) -> tuple[LabelFill, ...]:
    """Fills of a table, with those that copies tell and those of only labels; `full` is it with what copies tell."""
    made = {fill.position: fill for fill in fills}
    told = {c.name: c for c in mixed_table(full).columns}
    here = {c.name: c for c in mixed_table(table).columns}
    pairs = [pair for pair in copied_columns(table) if pair.kept.name in told and pair.kept.labels]
    for name in dict.fromkeys(pair.kept.name for pair in pairs):
        column, own = _told_column(told[name], made.get(here[name].position)), here[name]
        others = [pair for pair in pairs if pair.kept.name == name]
        some = [_kept(column, own, others), *(_copy(column, own, pair, table) for pair in others)]
        made |= {fill.position: fill for fill in some if fill.gaps}
    made |= {fill.position: fill for fill in (_only_label(c, table) for c in only_labels(table)) if fill.gaps}
    return tuple(made[position] for position in sorted(made))


def word_columns(table: Table) -> dict[int, MixedColumn]:
    """The columns whose gaps are filled with labels, as codes, by their position in the file."""
    found = {c.position: c for c in mixed_table(table).columns if c.words}
    copies = [pair.column for pair in copied_columns(table) if pair.kept.position in found]
    return found | {c.position: mixed_column(c, table) for c in (*copies, *only_labels(table))}


def only_labels(table: Table) -> list[Column]:
    """Columns that most rows have, all with one label."""
    labels = [c for c in table.columns if c.role == "label" and not c.date]
    return [c for c in labels if len(c.labels) == 1 and (~c.gaps).sum() >= MOSTLY_SEEN * table.n]


def _told_column(column: MixedColumn, fill: LabelFill | None) -> ToldColumn:
    codes = np.concatenate([column.coded.values, column.left])
    shares = np.where(np.isnan(codes)[:, None], np.nan, codes[:, None] == np.arange(len(column.coded.labels)))
    told = ToldColumn(shares, fill, len(column.coded.values))
    if fill is not None:
        shares[told.guessed] = np.concatenate([fill.shares, fill.left_shares.reshape(len(fill.left), shares.shape[1])])
    return told


def _kept(told: ToldColumn, own: MixedColumn, pairs: list[CopiedColumn]) -> LabelFill:
    """The fills of a column by its copies, and by what fills the rest."""
    names = listing([pair.column.name for pair in pairs])
    codes = np.arange(told.shares.shape[1])
    fill = _fill(told, own, codes, told.fill or _no_fill(own))
    many = fill.gaps - len(told.guessed)
    return fill._replace(copy=f"{many} by {names}, which say{'s' * (len(pairs) == 1)} the same" if many else "")


def _copy(told: ToldColumn, kept: MixedColumn, pair: CopiedColumn, table: Table) -> LabelFill:
    """The fills of a copy by the column that was kept."""
    own = mixed_column(pair.column, table)
    goes = {str(label): own.coded.labels.index(name) for name, label in pair.pairs.items()}
    codes = np.array([goes[label] for label in kept.coded.labels], dtype=np.intp)
    fill = _fill(told, own, codes, _no_fill(own))
    return fill._replace(engine=f"{COPY} of {kept.name}", copy=f"as {kept.name}, which says the same")


def _no_fill(own: MixedColumn) -> LabelFill:
    """A fill of a column that has no gaps of its own."""
    none, no_shares = np.zeros(0, dtype=np.intp), np.zeros((0, 0))
    return LabelFill(own.name, own.position, own.coded.labels, none, no_shares, COPY, None, number=own.number)


def _fill(told: ToldColumn, own: MixedColumn, codes: NDArray[np.intp], fill: LabelFill) -> LabelFill:
    """A fill of the gaps of a column, `codes` saying which of its labels goes with each of the told column's."""
    rows, n = own.gaps, told.n
    left = np.flatnonzero(np.isnan(own.left) & ~np.isnan(told.shares[n:]).any(axis=1))
    every, shares = np.concatenate([rows, n + left]), np.empty_like(told.shares)
    shares[:, codes] = told.shares
    return fill._replace(
        rows=rows,
        shares=shares[rows],
        left=left,
        left_shares=shares[n + left],
        drawn=partial(told.drawn, every, codes),
    )


def _only_label(c: Column, table: Table) -> LabelFill:
    """The fills of a column with one label: that, but for rows without any answer, which are no rows to fill."""
    own = mixed_column(c, table)
    some = np.array([[v is not None for v in words] for words in table.left_labels.values()]).any(axis=0)
    certain = np.concatenate([np.ones(table.n), np.where(some, 1.0, np.nan)])[:, None]
    fill = _fill(ToldColumn(certain, None, table.n), own, np.zeros(1, dtype=np.intp), _no_fill(own))
    return fill._replace(engine=ONE_LABEL, copy=ONE_LABEL)
