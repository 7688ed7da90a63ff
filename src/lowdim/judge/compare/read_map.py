"""Coordinates made elsewhere: a file with one line for each row of a table, matched to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.compare.map_quality import coordinates
from lowdim.maths.linalg import Array
from lowdim.table.cells import as_text, is_textual
from lowdim.table.options import check_options
from lowdim.table.read import load_raw
from lowdim.table.table import Table
from lowdim.text.escape import protect_terminal as protect_terminal
from lowdim.text.messages import error

ROW_WORDS = ("row", "rows", "id", "name", "index", "label", "")  # headings of a column that names the rows
AXIS = re.compile(r"axis ?\d+", re.IGNORECASE)  # as in scores.csv, whose other columns are no coordinates


class FileColumn(NamedTuple):
    """A column of the file: its heading, its cells as text, and as numbers, NaN where they are none."""

    name: str
    text: list[str]
    value: Array

    @property
    def numeric(self) -> bool:
        """Whether most cells are numbers: the others are then mistakes, not names."""
        return bool(len(self.text)) and float(np.isfinite(self.value).mean()) > 0.5


def read_map(coordinates: Any, table: Table) -> Array:
    """Coordinates for the rows of a table, from a file (CSV, .npy, Parquet) or an array, in the table's order.

    Of a file, the columns axis1, axis2, ... are taken, or else all columns of numbers. Where a column names the rows
    (row, id, name, or text that holds the table's names) lines are matched by it; otherwise by their order, and there
    must be as many as rows in the table, or in the file it came from.
    """
    if not isinstance(coordinates, str | PathLike):
        return _by_order(np.asarray(coordinates, dtype=np.float64), table, "lines of coordinates")
    raw = load_raw(coordinates, check_options({}))
    heads = raw.names or [""] * 0
    columns = [_column(heads[j] if heads else f"c{j + 1}", cells) for j, cells in enumerate(raw.cells)]
    named = _names(columns, table)
    axes = [c for c in columns if AXIS.fullmatch(c.name.strip())] or [
        c for c in columns if c is not named and c.numeric and not _counts(c)
    ]
    if not axes:
        raise error("LD299", raw.name, problem="no column of numbers")
    Z = np.column_stack([c.value for c in axes])
    _whole(Z, axes, raw.name, raw.lines)
    if named is None:
        return _by_order(Z, table, f"lines in {raw.name}")
    return Z[_lines(named, table, raw.name)]


def _column(name: str, cells: Any) -> FileColumn:
    text = is_textual(cells)
    words = [str(v if v is not None else "").strip() for v in (cells if text is None else as_text(text)).to_pylist()]
    return FileColumn(name, words, np.array([_number(word) for word in words], dtype=np.float64))


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        pass
    try:
        return float(word.replace(",", "."))  # a decimal comma, between other separators
    except ValueError:
        return np.nan


def _counts(column: FileColumn) -> bool:
    """Whether a column only counts lines, from 0 or 1, without a heading or under one for names."""
    start = np.arange(len(column.value))
    counted = any(np.array_equal(column.value, start + first) for first in (0, 1))
    return counted and column.name.strip().lower() in ROW_WORDS


def _names(columns: Sequence[FileColumn], table: Table) -> FileColumn | None:
    """The column that names the rows."""
    known = set(table.row_names)
    for c in columns:
        heading = c.name.strip().lower() in ROW_WORDS
        if heading and (not c.numeric or (known & set(c.text) and not _counts(c))):
            return c
        if not c.numeric and known & set(c.text):
            return c
    return None


def _lines(named: FileColumn, table: Table, name: str) -> NDArray[np.intp]:
    """The line of each row of the table, by name."""
    at: dict[str, int] = {}
    for line, word in enumerate(named.text):
        if word in at:
            raise error("LD298", name, problem=f"two lines are called '{protect_terminal(word)}'")
        at[word] = line
    absent = [row for row in table.row_names if row not in at]
    if absent:
        more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        raise error(
            "LD298", name, problem=f"no line is called '{protect_terminal(absent[0])}'{more}, as rows of the table are"
        )
    return np.array([at[row] for row in table.row_names], dtype=np.intp)


def _whole(Z: Array, axes: Sequence[FileColumn], name: str, lines: NDArray[np.int64]) -> None:
    bad = np.argwhere(~np.isfinite(Z))
    if len(bad):
        i, j = bad[0]
        word = axes[j].text[i]
        what = f"'{protect_terminal(word)}' is no coordinate" if word else "a coordinate is missing"
        more = f", and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise error("LD299", f"{name}, line {lines[i]}, column '{protect_terminal(axes[j].name)}'", problem=what + more)


def _by_order(Z: Array, table: Table, what: str) -> Array:
    """Lines in the table's order: as many as there are rows, or as its file had."""
    if len(Z) == table.shape[0]:
        Z = Z[table.rows]
    if len(Z) != table.n:
        raise error("LD296", what=what, got=len(Z), want=table.n)
    return coordinates(Z, table.n)
