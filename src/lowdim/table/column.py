"""One column of a table: what it is for, what its cells are, and what their numbers stand for.

Every column that a model may use is a column of numbers: measurements on their scale, categories as codes 0, 1, ... of
their labels, NaN at gaps. What a number means is asked of the column, never of its name. Engines that want a category
as zeros and ones make them by `in_ones`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask
from lowdim.table.kinds.functions import CopyOf
from lowdim.text.escape import protect_terminal
from lowdim.text.format import all_digits

MOST_LABELS = 50  # different labels of a column that a model takes
ROWS_A_LABEL = 2  # rows that a label has on average, at least: else a column names its rows
LABEL_KINDS = ("", "code", "yes/no")  # of columns set aside: words, codes and answers; not dates, places, ranks
LEAST_ANSWERS = 0.5  # share of the columns that hold answers, from which the map is that of a mixed model
LEAST_MIXED_ROWS = 30
ASIDE_WORDS = {"id": "names rows", "time": "says when", "weight": "weighs rows"}


class Column(NamedTuple):
    """A column of a table: its role is number (it shapes axes), label, id, time, weight or out.

    `values` are float64, NaN at gaps, where the column is one of numbers or of labels, whose codes they are; names of
    rows and times are as they were read.
    """

    name: str
    role: str
    values: NDArray[Any]
    position: int  # in the file, counted from 1
    note: str = ""  # in words, for people
    kind: str = ""  # what it is: id, counter, year, ..., code, yes/no, ordinal, count; "" = a measurement, or text
    labels: tuple[str, ...] = ()  # what the codes 0, 1, ... stand for; () = numbers are numbers
    levels: tuple[float, ...] = ()  # the numbers it can have, where it is an item of a few levels
    log: bool = False  # its values are logarithms of those in the file
    offset: float = 0.0  # that was added before its logarithm was taken
    date: bool = False  # a label that is a date
    copy: CopyOf | None = None  # the column that it says the same as, for which it was left out

    @property
    def gaps(self) -> Mask:
        """Where a cell is missing."""
        if self.values.dtype.kind == "f":
            return np.isnan(self.values)
        if self.values.dtype.kind == "M":
            return np.isnat(self.values)
        return np.array([v is None for v in self.values], dtype=bool)

    @property
    def words(self) -> NDArray[Any]:
        """Its cells as text, labels as they are called; None at gaps."""
        if self.values.dtype.kind != "f":
            return self.values
        if self.labels:
            return words_of(self.values, self.labels)
        found = np.empty(len(self.values), dtype=object)
        found[:] = [None if v != v else all_digits(v) for v in self.values.tolist()]
        return found

    @property
    def is_answer(self) -> bool:
        """Whether a column that shapes axes holds answers: a label, yes or no, or a level."""
        return bool(self.labels) or (self.kind in ("yes/no", "ordinal") and bool(self.levels))

    @property
    def is_category(self) -> bool:
        """Whether a column that was set aside holds labels that repeat, and not too many different ones."""
        if self.role != "label" or self.date or self.kind not in LABEL_KINDS:
            return False
        return 2 <= len(self.labels) <= min(MOST_LABELS, int((~self.gaps).sum()) // ROWS_A_LABEL)

    @property
    def why_aside(self) -> str:
        """Why a column is neither filled nor part of a mixed model, in a few words."""
        seen = int((~self.gaps).sum())
        if not seen:
            return "empty"
        if self.copy is not None:
            return f"says the same as {self.copy.name}"
        levels = len(self.labels) or len(np.unique(self.values[~self.gaps].astype(str)))
        if self.role != "label":
            return ASIDE_WORDS.get(self.role) or ("never changes" if levels == 1 else self.note or "left out")
        if self.date or self.kind not in (*LABEL_KINDS, "key"):
            return self.note or self.kind or "a date"
        if levels == 1:
            return "has one label only"
        if 2 <= levels <= min(MOST_LABELS, seen // ROWS_A_LABEL):
            return "kept as a label, as asked"
        many = f"{levels:,} values"
        return f"{many} in {seen:,} cells" if levels > seen // ROWS_A_LABEL else f"{many}, more than {MOST_LABELS}"

    def at(self, rows: NDArray[np.intp]) -> Column:
        """The column in some rows, with the labels that they have."""
        values = self.values[rows]
        if not self.labels:
            return self._replace(values=values)
        had = np.unique(values[~np.isnan(values)]).astype(np.intp)
        if len(had) == len(self.labels):
            return self._replace(values=values)
        place = np.full(len(self.labels) + 1, np.nan)  # the last is a gap's
        place[had] = np.arange(len(had))
        codes = place[np.where(np.isnan(values), -1, values).astype(np.intp)]
        return self._replace(values=codes, labels=tuple(self.labels[k] for k in had))


def with_words(c: Column, words: NDArray[Any]) -> Column:
    """The column with these words (None at gaps) for its cells, as codes of its labels, which are in alphabetical
    order."""
    labels = tuple(sorted({v for v in words if v is not None}))
    return c._replace(values=codes_of(words, labels), labels=labels)


def codes_of(words: NDArray[Any], labels: Sequence[str]) -> Array:
    """Words as the codes of these labels; NaN at gaps, and where a word is none of them.

    >>> codes_of(np.array(["b", None, "a", "c"], dtype=object), ("a", "b")).tolist()
    [1.0, nan, 0.0, nan]
    """
    code = {label: float(k) for k, label in enumerate(labels)}
    return np.array([code.get(v, np.nan) for v in words], dtype=np.float64)


def words_of(codes: Array, labels: Sequence[Any]) -> NDArray[Any]:
    """Codes as the labels that they stand for; None at gaps."""
    found = np.empty(len(codes), dtype=object)
    found[:] = [None if v != v else labels[int(v)] for v in codes.tolist()]
    return found


def mostly_answers(numbers: Sequence[Column], n: int) -> bool:
    """Whether so many of the columns that make the axes hold answers that the map is one of answers."""
    answers = sum(c.is_answer for c in numbers)
    return n >= LEAST_MIXED_ROWS and len(numbers) > 2 and answers >= LEAST_ANSWERS * len(numbers)


# zeros and ones, for engines that want them -----------------------------------------------------------------------
def ones_of(labels: Sequence[Sequence[Any]]) -> list[tuple[int, int | None]]:
    """The columns in zeros and ones: which column each is of, and which label is its one; None where numbers are
    numbers. Of two labels the second is enough.

    >>> ones_of([(), ("no", "yes"), ("a", "b", "c")])
    [(0, None), (1, 1), (2, 0), (2, 1), (2, 2)]
    """
    found: list[tuple[int, int | None]] = []
    for j, own in enumerate(labels):
        if len(own) > 2:
            found += [(j, k) for k in range(len(own))]
        else:
            found.append((j, len(own) - 1 if own else None))
    return found


def one_names(
    names: Sequence[str], labels: Sequence[Sequence[Any]], ones: Sequence[tuple[int, int | None]]
) -> tuple[str, ...]:
    """What columns in zeros and ones are called."""
    return tuple(names[j] if k is None else one_name(names[j], labels[j][k]) for j, k in ones)


def one_name(name: str, label: Any) -> str:
    """A label of a column as people read it: species=Gentoo."""
    return protect_terminal(f"{name}={label}")


def in_ones(X: Array, ones: Sequence[tuple[int, int | None]]) -> Array:
    """A table with its labels in zeros and ones, as `ones_of` has them; NaN at gaps.

    >>> in_ones(np.array([[1.5, 2.0], [2.5, np.nan]]), ones_of([(), ("a", "b", "c")])).tolist()
    [[1.5, 0.0, 0.0, 1.0], [2.5, nan, nan, nan]]
    """
    if all(k is None for _, k in ones):
        return X
    parts = [X[:, j] if k is None else np.where(np.isnan(X[:, j]), np.nan, X[:, j] == k) for j, k in ones]
    return np.column_stack(parts)
