"""A person's table as the mixed model takes it: every column once, labels as labels, each with its likelihood.

A table that was read holds labels aside, or as columns of zeros and ones where they were asked for or are all there
is. Here they are one column again. Numbers keep the kind that reading gave them: yes/no, ordinal, count, or real.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.models.mixed.column_kinds import MOST_COUNT
from lowdim.sources.labelled_frames import CodedColumn, CodedSource
from lowdim.table.roles import MOST_LABELS, Column
from lowdim.table.table import Table
from lowdim.text.format import listing
from lowdim.text.messages import error

LABEL_KINDS = ("", "code", "yes/no")  # of columns set aside: words, codes and answers; not dates, places, ranks
ROWS_A_LABEL = 2  # rows that a label has on average, at least: else a column names its rows
KIND_WORDS = ("real", "positive", "yes/no", "ordinal", "count", "label", "marker")
KINDS_OF_NUMBERS, KINDS_OF_WORDS = ("real", "positive", "yes/no", "ordinal", "count"), ("yes/no", "label", "marker")


class MixedColumn(NamedTuple):
    """One column of a mixed table: its likelihood, and where it comes from."""

    name: str
    kind: str  # of the likelihood: real, yes/no, ordinal, count or label; or another that was asked for
    coded: CodedColumn
    position: int  # in the file, from 1
    numbers: tuple[int, ...] = ()  # the columns of the table's numbers it is; none where it was set aside
    words: bool = False  # whether its cells are labels
    strange: NDArray[np.intp] = np.zeros(0, dtype=np.intp)  # rows whose label has no code, and is none of the gaps
    left: Array = np.zeros(0)  # its codes in the rows that were left out for having no number

    @property
    def gaps(self) -> NDArray[np.intp]:
        """The rows in which it is missing."""
        return np.setdiff1d(np.flatnonzero(np.isnan(self.coded.values)), self.strange)


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
    def left(self) -> Array:
        """The rows that were left out for having no number."""
        return np.column_stack([c.left for c in self.columns])

    def left_gaps(self, j: int) -> NDArray[np.intp]:
        """Those of them in which column j is missing, and some label is not."""
        left = self.left
        return np.flatnonzero(np.isnan(left[:, j]) & ~np.isnan(left).all(axis=1))

    @property
    def words_with_gaps(self) -> tuple[int, ...]:
        """The columns of words that have gaps."""
        return tuple(j for j, c in enumerate(self.columns) if c.words and (len(c.gaps) or len(self.left_gaps(j))))

    def ranked(self, orders: Mapping[int, Sequence[str]]) -> MixedTable:
        """With columns of words whose order is declared, by their position, as levels in that order."""
        return MixedTable(tuple(_in_order(c, orders.get(c.position, ())) for c in self.columns))

    @property
    def source(self) -> CodedSource:
        return CodedSource([c.coded for c in self.columns], self.names)

    @property
    def words(self) -> str:
        """What the columns are: "4 real, 1 yes/no, 2 label"."""
        return listing([f"{self.kinds.count(kind)} {kind}" for kind in KIND_WORDS if kind in self.kinds])


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
    numbers = [c for c in table.columns if c.role == "number"]
    place = {id(c): j for j, c in enumerate(numbers)}
    groups: dict[int, list[Column]] = {}
    for c in numbers:
        if c.encoded:
            groups.setdefault(c.position, []).append(c)
    found: list[MixedColumn] = []
    for c in table.columns:
        if c.role == "number" and not c.encoded:
            found.append(_number(c, place[id(c)]))
        elif c.role == "number" and c is groups[c.position][0]:
            found.append(_answers(groups[c.position], tuple(place[id(one)] for one in groups[c.position])))
        elif c.name not in spared and is_label(c):
            found.append(_words(c.name, c.values, c.position))
    return MixedTable(tuple(c._replace(left=_left_codes(c, table)) for c in found))


def _in_order(c: MixedColumn, order: Sequence[str]) -> MixedColumn:
    """A column of three words or more by their ranks; as it is where the order does not have them all."""
    labels = tuple(label for label in order if label in c.coded.labels)
    if not c.words or len(labels) < 3 or len(labels) < len(c.coded.labels):
        return c
    rank = np.array([labels.index(label) for label in c.coded.labels] + [np.nan])  # the last is a gap's
    values, left = (rank[np.where(np.isnan(x), -1, x).astype(np.intp)] for x in (c.coded.values, c.left))
    return c._replace(kind="ordinal", coded=CodedColumn(values, labels, True), left=left)


def with_kinds(mixed: MixedTable, asked: Mapping[str, str], logs: Collection[str]) -> MixedTable:
    """The same columns, some of them with the likelihood that is asked for; `logs` are logarithms, which stay real."""
    for name, kind in asked.items():
        found = next((c for c in mixed.columns if c.name == name), None)
        if found is None:
            raise error("LD103", column=name, option="likelihoods", fix=f"the columns are: {listing(mixed.names, 12)}")
        allowed = KINDS_OF_WORDS if found.coded.labels else ("real",) if name in logs else KINDS_OF_NUMBERS
        if kind not in allowed:
            what = f"words, {name}" if found.coded.labels else f"the logarithm of {name}" if name in logs else name
            raise error(
                "LD210", option="likelihoods", value=f"{name}:{kind}", allowed=f"for {what}: {', '.join(allowed)}"
            )
    two = {c.name for c in mixed.columns if len(c.coded.labels) == 2 and asked.get(c.name) == "label"}
    kinds = {**asked, **dict.fromkeys(two, "yes/no")}
    return MixedTable(tuple(c._replace(kind=kinds.get(c.name, c.kind)) for c in mixed.columns))


def label_column(c: Column, table: Table) -> MixedColumn:
    """A column of labels as codes, in the rows of the table and in those left out of it."""
    made = _words(c.name, c.values, c.position)
    return made._replace(left=_left_codes(made, table))


def _left_codes(column: MixedColumn, table: Table) -> Array:
    """A column in the rows that have no number: its labels where it was set aside, else gaps."""
    code = {label: float(k) for k, label in enumerate(column.coded.labels)}
    words = table.left_labels.get(column.name) if not column.numbers else None
    cells = [None] * len(table.left_rows) if words is None else words.tolist()
    return np.array([np.nan if v is None else code.get(str(v), np.nan) for v in cells], dtype=np.float64)


def is_label(c: Column) -> bool:
    """Whether a column that was set aside holds labels that repeat, and not too many different ones."""
    if c.role != "label" or c.date or c.kind not in LABEL_KINDS:
        return False
    seen = [v for v in c.values if v is not None]
    return 2 <= len(set(seen)) <= min(MOST_LABELS, len(seen) // ROWS_A_LABEL)


def why_aside(c: Column) -> str:
    """Why a column is neither filled nor part of a mixed model, in a few words."""
    seen = [v for v in c.values.tolist() if v is not None and v == v]
    levels = len({str(v) for v in seen})
    if not seen:
        return "empty"
    if c.copy is not None:
        return f"says the same as {c.copy.name}"
    if c.role != "label":
        words = {"id": "names rows", "time": "says when", "weight": "weighs rows"}
        return words.get(c.role) or ("never changes" if levels == 1 else c.note or "left out")
    if c.date or c.kind not in (*LABEL_KINDS, "key"):
        return c.note or c.kind or "a date"
    if levels == 1:
        return "has one label only"
    if 2 <= levels <= min(MOST_LABELS, len(seen) // ROWS_A_LABEL):
        return "kept as a label, as asked"
    many = f"{levels:,} values"
    hardly_repeat = levels > len(seen) // ROWS_A_LABEL
    return f"{many} in {len(seen):,} cells" if hardly_repeat else f"{many}, more than {MOST_LABELS}"


def number_kind(c: Column) -> str:
    """The likelihood of a column of numbers: that of its kind, where its values allow it."""
    if c.kind == "count" and not c.log and np.nanmax(c.values, initial=0.0) <= MOST_COUNT:
        return "count"
    return c.kind if c.kind in ("yes/no", "ordinal") and c.levels else "real"


def _number(c: Column, j: int) -> MixedColumn:
    values = np.asarray(c.values, dtype=np.float64)
    return MixedColumn(c.name, number_kind(c), CodedColumn(values), c.position, (j,))


def _answers(group: Sequence[Column], numbers: tuple[int, ...]) -> MixedColumn:
    """Zeros and ones made from a label, as that label; a label that lost its column is a gap to the model."""
    first = group[0]
    name = first.name_in_file
    Y = np.column_stack([c.values for c in group])
    if len(group) == 1 and first.answers[0]:
        return MixedColumn(name, "yes/no", CodedColumn(Y[:, 0], first.answers), first.position, numbers, True)
    codes, strange = codes_of_ones(Y)
    coded = CodedColumn(codes, tuple(c.answers[1] for c in group))
    return MixedColumn(name, "label", coded, first.position, numbers, True, strange)


def codes_of_ones(Y: Array) -> tuple[Array, NDArray[np.intp]]:
    """Which of its labels each row has, by zeros and ones for each; and the rows that are seen and have none of them.

    >>> codes_of_ones(np.array([[0.0, 1.0], [np.nan, np.nan], [0.0, 0.0]]))[1].tolist()
    [2]
    """
    seen, hit = ~np.isnan(Y[:, 0]), np.nan_to_num(Y).max(axis=1) > 0.5
    return np.where(hit, np.nan_to_num(Y).argmax(axis=1), np.nan), np.flatnonzero(seen & ~hit)


def _words(name: str, values: NDArray[Any], position: int) -> MixedColumn:
    labels = tuple(sorted({str(v) for v in values if v is not None}))
    code = {label: float(k) for k, label in enumerate(labels)}
    codes: Array = np.array([np.nan if v is None else code[str(v)] for v in values], dtype=np.float64)
    kind = "yes/no" if len(labels) == 2 else "label"
    return MixedColumn(name, kind, CodedColumn(codes, labels), position, (), True)
