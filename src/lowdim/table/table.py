"""A person's table that was read: its columns as one matrix, its labels, and what was done to it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, seen_spread
from lowdim.table.cell_kinds import YES_NO
from lowdim.table.checks import Numbers
from lowdim.table.column import (
    LABEL_KINDS,
    Column,
    ColumnScales,
    in_ones,
    log_words,
    one_name,
    ones_of,
    scales_of,
    words_of,
)
from lowdim.table.detect import Guess
from lowdim.table.open_file import Raw
from lowdim.text.escape import protect_terminal
from lowdim.text.format import all_digits, count
from lowdim.text.messages import Message, Messages, error

__all__ = ["Column", "Guess", "Messages", "Table"]
MOST_GROUPS = 12  # groups that colours can tell apart
LOOKED_AT = 100  # names by which counters are told
ASIDE = {"out": "left out", "label": "label", "id": "id", "time": "time", "weight": "weight"}


def column_units(X: Array, scale: str) -> Array:
    """What one unit of each column is worth: its spread (divisor n - 1, gaps left out), or 1 where units are kept."""
    sd = seen_spread(X, 1) if scale == "unit" else np.ones(X.shape[1])
    return np.where(sd > 0.0, sd, 1.0)


class Table:
    """A table that was read: its numbers, its labels, and what was done to it. `lowdim.read` makes it.

    Attributes
    ----------
    X : array of shape (n, d)
        The columns that are analysed: numbers on their scale, categories as codes of their labels, NaN at gaps.
    n, d : int
        Rows and columns that are analysed.
    names : tuple of str
        The columns of X, as the file names them.
    numbers : tuple of Column
        The same with all that is known of them.
    aside : tuple of str
        The names of all other columns.
    columns : tuple of Column
        Every column with its name, role, values, labels, position in the file, and a note.
    labels : dict of str to array
        The label columns by name; None where a label is missing.
    row_names : tuple of str
        The id column, a frame's index, or rows as they are counted in the file.
    scales : ColumnScales
        The scale each number column is on, and the values it can have.
    time, weight : array or None
        The time of each row, and how often it counts, where a column says so.
    rows, lines : array of shape (n,)
        Where each row stands in the file: its position from 0, and its line (or row, as `unit` says) from 1.
    shape : tuple of int
        Rows and columns of the file.
    left_rows, left_labels : array, dict of str to array
        Rows of the file that were left out because they hold no number, and their labels, those of copies too.
    messages : Messages
        What was found and what was changed.
    guess : Guess
        What the file is and what had to be guessed.
    name, path, sha256 : str
        The file's name, its path ("" without a file), and the digest of its bytes or numbers.
    index : pandas.Index or None
        The index of a frame, for the rows that are kept.
    scale : str
        How an analysis is to scale the columns.
    holds : str
        "measurements", or "distances" or "similarities" between the rows.
    options : dict
        The options of reading as they were given, to read the same file again in the same way.
    """

    def __init__(
        self,
        raw: Raw,
        columns: list[Column],
        work: Numbers,
        messages: Messages,
        guess: Guess,
        scale: str,
        options: dict[str, Any],
        holds: str = "measurements",
    ) -> None:
        self.name, self.path, self.guess, self.messages, self.scale = raw.name, raw.path, guess, messages, scale
        self.holds = holds
        self.names_given = raw.names is not None or bool(raw.path)  # an array has none
        self.options = options  # of reading, as they were given: to read the same file again in the same way
        self.X: Array = work.X
        self.n: int = len(work.X)
        self.shape = (len(raw.lines), len(raw.cells))  # of the file
        self.rows = work.rows  # positions of the kept rows in the file, from 0
        self.lines, self.unit = raw.lines[work.rows], raw.unit
        self.left_rows = np.setdiff1d(np.arange(len(raw.lines)), work.rows)  # of the file, without any number
        self.left_labels = {c.name: c.words[self.left_rows] for c in columns if c.role == "label" or c.copy}
        self.columns = _kept(columns, work)
        own = repr((self.X.shape, self.names)).encode() + self.X.tobytes()
        self.sha256 = raw.sha256 or hashlib.sha256(own).hexdigest()
        self.index = None if raw.index is None else raw.index[work.rows]  # of a frame
        self._index_names_rows = raw.index is not None and type(raw.index).__name__ != "RangeIndex"  # else it counts

    @property
    def d(self) -> int:
        return int(self.X.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of X."""
        return tuple(c.name for c in self.numbers)

    @property
    def numbers(self) -> tuple[Column, ...]:
        """The columns of X."""
        return tuple(c for c in self.columns if c.role == "number")

    @property
    def code_labels(self) -> tuple[tuple[str, ...], ...]:
        """What the codes of each column of X stand for; () where numbers are numbers."""
        return tuple(c.labels for c in self.numbers)

    @property
    def code_words(self) -> tuple[tuple[str, ...], ...]:
        """The same of labels and of grades: the words that stand in the file."""
        return tuple(c.code_words for c in self.numbers)

    @property
    def aside(self) -> tuple[str, ...]:
        """The names of all other columns: labels, ids, times, and those that were left out."""
        return tuple(c.name for c in self.columns if c.role != "number")

    @property
    def scales(self) -> ColumnScales:
        """The scale each number column is on, and the values it can have."""
        return scales_of(self.numbers, self.X)

    @property
    def logs(self) -> dict[str, float]:
        """The columns that are logarithms, each with what was added to it before."""
        return {c.name: c.offset for c in self.numbers if c.log}

    @property
    def labels(self) -> dict[str, NDArray[Any]]:
        """The label columns by name, those of a few groups first; None where a label is missing."""
        found = [c for c in self.columns if c.role == "label"]
        few = {c.name for c in found if c.kind in LABEL_KINDS and not c.date and 2 <= len(c.labels) <= MOST_GROUPS}
        return {c.name: c.words for c in sorted(found, key=lambda c: c.name not in few)}

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """The id that was asked for or the first that is different in every row, one in words before a counter; the
        year of a row, a frame's index, the date of a row, or "1", "2", ...: as rows are counted in the file."""
        columns = [c for c in self.columns if c.role == "id"]
        asked = [c.values for c in columns if not c.kind]
        years = [c for c in self.columns if c.role == "time" and c.kind == "year"]
        columns += [c._replace(values=np.array([all_digits(v) for v in c.values], dtype=object)) for c in years]
        # those of which a message says that they name the rows, then others
        first = sorted(columns, key=lambda c: (bool(c.note), _in_digits(c)))
        ids = next(iter(asked), next((c.values for c in first if len(set(c.values)) == self.n), None))
        if ids is not None:
            return tuple(
                str(r + 1) if v is None else protect_terminal(str(v)) for r, v in zip(self.rows, ids, strict=True)
            )
        if self.index is not None and self._index_names_rows:
            return tuple(protect_terminal(str(v)) for v in self.index)
        when = self.time if self.time is not None and self.time.dtype.kind == "M" else np.zeros(0, "datetime64[D]")
        if len(np.unique(when)) == self.n and not np.isnat(when).any():
            return tuple(_date_words(when))
        return tuple(str(r + 1) for r in self.rows)

    def position(self, row: int | str) -> int:
        """Where a row stands, counted from 0: as it is, or by the row's name."""
        if not isinstance(row, str):
            return row
        if row not in self.row_names:
            raise error("LD210", option="row", value=row, allowed="the name of a row, or its position from 0")
        return self.row_names.index(row)

    @property
    def time(self) -> NDArray[Any] | None:
        """The time of each row: dates, numbers or text; None where no column tells it."""
        return next((c.values for c in self.columns if c.role == "time"), None)

    @property
    def weight(self) -> Array | None:
        """How many times each row counts; None where no column was named."""
        return next((c.values for c in self.columns if c.role == "weight"), None)

    def in_logarithms(self, logs: dict[str, float], said: Message) -> Table:
        """The same table with these columns in logarithms, after what is to be added to each; `said` tells of it."""
        made = copy(self)
        made.X = self.X.copy()
        columns, at = list(self.columns), {name: j for j, name in enumerate(self.names)}
        for k, c in enumerate(columns):
            if c.role == "number" and c.name in logs:
                values = np.log(c.values + logs[c.name])
                made.X[:, at[c.name]] = values
                note = "; ".join(filter(None, ("logarithm", c.note)))
                columns[k] = c._replace(values=values, note=note, log=True, offset=logs[c.name])
        made.columns = tuple(columns)
        made.options = {**self.options, "log": log_words(logs)}
        made.messages = Messages((*self.messages, said))
        return made

    def in_ones(self) -> Table:
        """The same table for a model of numbers alone, its categories as zeros and ones: a column for each label, of
        two labels one for the second."""
        if not any(self.code_labels):
            return self
        made, ones = copy(self), ones_of(self.code_labels)
        made.X = in_ones(self.X, ones)
        parts: dict[int, list[Column]] = {}
        for (j, k), values in zip(ones, made.X.T, strict=True):
            c = self.numbers[j]
            if k is not None:
                c = c._replace(name=one_name(c.name, c.labels[k]), labels=(), kind=YES_NO.word, levels=(0.0, 1.0))
            parts.setdefault(c.position, []).append(c._replace(values=values))
        made.columns = tuple(one for c in self.columns for one in parts.get(c.position, [c]))
        return made

    @property
    def scale_names(self) -> tuple[str, ...]:
        """The number columns as X has them: "log of gnp" where it holds logarithms."""
        logs = self.logs
        return tuple(f"log of {name}" if name in logs else name for name in self.names)

    def check(self) -> Messages:
        """What was found and what was changed."""
        return self.messages

    def summary(self) -> str:
        """The page that `lowdim check` prints."""
        from lowdim.table.describe import check_page

        return check_page(self)

    def __repr__(self) -> str:
        gaps = int(np.isnan(self.X).sum())
        kinds = [
            f"{sum(c.role == role for c in self.columns)} {word}"
            for role, word in ASIDE.items()
            if any(c.role == role for c in self.columns)
        ]
        aside = f" (and {', '.join(kinds)})" if kinds else ""
        return (
            f"Table {self.name}: {count(self.n, 'row')} x {count(self.d, 'column')}{aside}, {count(gaps, 'gap')}\n"
            f"{self.guess}; {count(len(self.messages), 'message')}: .check()"
        )

    def _repr_html_(self) -> str:
        from lowdim.table.describe import table_card

        return table_card(self)


def _kept(columns: list[Column], work: Numbers) -> tuple[Column, ...]:
    """All columns with the rows that are kept; numbers that were set aside have the role "out"."""
    numbers = {c.name: (j, c) for j, c in enumerate(work.columns)}
    result = []
    for c in columns:
        if c.role != "number":
            result.append(c.at(work.rows))
        elif c.name in numbers:
            j, new = numbers[c.name]
            result.append(new._replace(values=work.X[:, j]))
        else:
            note, copy = dict(work.aside).get(c.name, "left out"), dict(work.copies).get(c.name)
            result.append(c.at(work.rows)._replace(role="out", note=note, copy=copy))
    return tuple(result)


def _date_words(when: NDArray[np.datetime64]) -> list[str]:
    """Dates as people write them, with the time of day where there is one."""
    days = bool((when == when.astype("datetime64[D]")).all())
    return [word.replace("T", " ") for word in np.datetime_as_string(when, unit="D" if days else "auto").tolist()]


def _in_digits(c: Column) -> bool:
    """Whether names are numbers, as those of a counter are."""
    return all(str(v).isdigit() for v in c.values[:LOOKED_AT])


class Origin(Protocol):
    """What rows came as: a pandas index or None, and the kind of table."""

    @property
    def index(self) -> Any: ...

    @property
    def guess(self) -> Guess: ...


def frame_like(values: Array, columns: tuple[str, ...], table: Origin, labels: Sequence[Sequence[Any]] = ()) -> Any:
    """Values with a row for each of the table's: a pandas frame with its index, a polars frame, or the array itself.

    In a frame the codes of columns that have `labels` are these labels.

    >>> from lowdim.table.read import read
    >>> frame_like(np.ones((3, 1)), ("axis1",), read([[1, 2], [2, 4], [3, 5]])).shape
    (3, 1)
    """
    if table.index is not None:
        import pandas as pd

        frame = pd.DataFrame(values, index=table.index, columns=list(columns))
        for j, own in enumerate(labels):
            if own:
                frame.isetitem(j, pd.Series(words_of(values[:, j], own), index=table.index, dtype=object))
        return frame
    if table.guess.kind == "polars frame":
        import polars as pl

        frame = pl.DataFrame(np.asarray(values), schema=list(columns), orient="row")
        for j, own in enumerate(labels):
            if own:
                words = pl.Series(columns[j], words_of(values[:, j], own).tolist(), dtype=pl.String)
                frame = frame.with_columns(words)
        return frame
    return values
