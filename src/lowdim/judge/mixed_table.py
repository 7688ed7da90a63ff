"""The columns of a table that a mixed model takes, each with its likelihood."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, evenly_spread
from lowdim.models.mixed.column_kinds import MOST_COUNT
from lowdim.sources.labelled_frames import CodedColumn, CodedSource
from lowdim.table.cell_kinds import AMOUNT, CELL_KINDS, COUNT, LABEL, ORDINAL, REAL, YES_NO
from lowdim.table.column import Column, codes_of
from lowdim.table.kinds import is_mostly_zero, zero_share
from lowdim.table.table import Table
from lowdim.text.format import listing
from lowdim.text.messages import error

MAP_CELLS = 500_000  # rows times sites that a fit sees; further rows are placed on its map
LEAST_FITTED = 1000
RARE_ROWS = 5  # of a level that no row of these has


class MixedColumn(NamedTuple):
    """One column of a mixed table: its likelihood, and where it comes from."""

    name: str
    kind: str  # of the likelihood: real, yes/no, ordinal, count or label; or another that was asked for
    coded: CodedColumn
    position: int  # in the file, from 1
    number: int | None = None  # the column of the table's X that it is; None where it was set aside
    left: Array = np.zeros(0)  # its codes in the rows that were left out for having no number

    @property
    def words(self) -> bool:
        """Whether its cells are labels: words without an order."""
        return bool(self.coded.labels) and not self.coded.ordered

    @property
    def gaps(self) -> NDArray[np.intp]:
        """The rows in which it is missing."""
        return np.flatnonzero(np.isnan(self.coded.values))


class MixedTable(NamedTuple):
    """The columns of a table that a mixed model takes, in the order of the file."""

    columns: tuple[MixedColumn, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(c.kind for c in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    @property
    def source(self) -> CodedSource:
        return CodedSource([c.coded for c in self.columns], self.names)

    @property
    def words(self) -> str:
        """What the columns are: "4 real, 1 yes/no, 2 label"."""
        return listing([f"{self.kinds.count(kind)} {kind}" for kind in CELL_KINDS if kind in self.kinds])


def mixed_table(table: Table, *, spared: Collection[str] = ()) -> MixedTable:
    """The columns of a table as a mixed model takes them.

    Parameters
    ----------
    table : Table
    spared : collection of str
        Names of columns that take no part, of those that reading set aside as labels.

    Examples
    --------
    >>> from lowdim.table.read import read
    >>> import pandas as pd
    >>> X = np.random.default_rng(0).standard_normal((12, 2))
    >>> frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "sex": ["m", "f", None, "f"] * 3})
    >>> mixed_table(read(frame)).words
    '2 real, 1 yes/no'
    """
    place = {c.position: j for j, c in enumerate(table.numbers)}
    taken = (c for c in table.columns if c.role == "number" or (c.is_category and c.name not in spared))
    return MixedTable(tuple(mixed_column(c, table, place.get(c.position)) for c in taken))


def mixed_column(c: Column, table: Table, number: int | None = None) -> MixedColumn:
    """A column with its likelihood, in the rows of the table and in those left out of it."""
    words = table.left_labels.get(c.name)
    left = np.full(len(table.left_rows), np.nan) if words is None else codes_of(words, c.labels)
    coded = CodedColumn(c.values, c.code_words, bool(c.grades))
    return MixedColumn(c.name, likelihood(c), coded, c.position, number, left)


def likelihood(c: Column) -> str:
    """The kind of a column's likelihood: that of its cells, where its values allow it."""
    if c.is_answer or (c.measure is COUNT and np.nanmax(c.values, initial=0.0) <= MOST_COUNT):
        return c.measure.word
    return (AMOUNT if not c.log and is_mostly_zero(zero_share(c.values)) else REAL).word


def sites(table: Table) -> int:
    """Levels and columns together."""
    return sum(max(len(c.labels), len(np.unique(c.values)) if c.measure is ORDINAL else 1) for c in table.numbers)


def rows_fitted(table: Table) -> NDArray[np.intp]:
    """The rows of a table that its mixed map is fitted to: all but those of a long one, of which some are spread over
    it, with a few of every level that none of these has."""
    few = min(table.n, max(int(MAP_CELLS / max(sites(table), 1)), LEAST_FITTED))
    at = evenly_spread(table.n, few)
    if few == table.n:
        return at
    rare = list[NDArray[np.intp]]()
    for c in table.numbers:
        if c.is_answer:
            known = np.unique(c.values[at])
            unseen = np.flatnonzero(~np.isnan(c.values) & ~np.isin(c.values, known))
            rare += [unseen[c.values[unseen] == level][:RARE_ROWS] for level in np.unique(c.values[unseen])]
    return np.unique(np.concatenate([at, *rare]))


def in_order(c: MixedColumn, order: Sequence[str]) -> MixedColumn:
    """A column of three words or more as levels, by their ranks; as it is where the order does not have them all."""
    labels = tuple(label for label in order if label in c.coded.labels)
    if len(labels) < 3 or len(labels) < len(c.coded.labels):
        return c
    rank = np.array([labels.index(label) for label in c.coded.labels] + [np.nan])  # the last is a gap's
    values, left = (rank[np.where(np.isnan(x), -1, x).astype(np.intp)] for x in (c.coded.values, c.left))
    return c._replace(kind=ORDINAL.word, coded=CodedColumn(values, labels, True), left=left)


def with_kinds(mixed: MixedTable, asked: Mapping[str, str], logs: Collection[str]) -> MixedTable:
    """The same columns, some of them with the likelihood that is asked for; `logs` are logarithms, which stay real."""
    for name, kind in asked.items():
        found = next((c for c in mixed.columns if c.name == name), None)
        if found is None:
            raise error("LD103", column=name, option="likelihoods", fix=f"the columns are: {listing(mixed.names, 12)}")
        if found.words:
            allowed = [word for word, one in CELL_KINDS.items() if one.of_words]
        else:
            allowed = [REAL.word] if name in logs else [word for word, one in CELL_KINDS.items() if one.of_numbers]
        if kind not in allowed:
            what = f"words, {name}" if found.words else f"the logarithm of {name}" if name in logs else name
            raise error(
                "LD210", option="likelihoods", value=f"{name}:{kind}", allowed=f"for {what}: {', '.join(allowed)}"
            )
    two = {c.name for c in mixed.columns if len(c.coded.labels) == 2 and asked.get(c.name) == LABEL.word}
    kinds = {**asked, **dict.fromkeys(two, YES_NO.word)}
    return MixedTable(tuple(c._replace(kind=kinds.get(c.name, c.kind)) for c in mixed.columns))
