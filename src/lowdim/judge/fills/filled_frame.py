"""A frame that came in, with the gaps of its numbers and of its words filled, in its own types."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.judge.fills.labels import LabelFill
from lowdim.judge.mixed_table import mixed_table
from lowdim.math.linalg import Array
from lowdim.sources.coded import Labels, in_kind
from lowdim.table.table import Table


def filled_frame(came: Any, table: Table, filled: Array, labels: tuple[LabelFill, ...]) -> Any:
    """The rows of a frame that were read, every column in its place; only gaps are not as they were."""
    names = [str(name) for name in came.columns]
    by_column: dict[str, tuple[Array, Labels]] = {}
    numbers = [c for c in table.columns if c.role == "number"]
    for j, c in enumerate(numbers):
        if not c.encoded:
            by_column[names[c.position - 1]] = (filled[:, j], ())
    rows = _rows(came, table)
    words = {c.position: c.coded.values for c in mixed_table(table).columns if c.words}
    for fill in labels:
        codes, column = words[fill.position].copy(), _cells(rows, fill.position - 1)
        codes[fill.rows] = fill.best
        by_column[names[fill.position - 1]] = _own_words(codes, column, fill)
    values = np.column_stack([part for part, _ in by_column.values()])
    return in_kind(rows, values, tuple(by_column), tuple(own for _, own in by_column.values()))


def _own_words(codes: Array, column: list[Any], fill: LabelFill) -> tuple[Array, Labels]:
    """Codes, and what each stands for in the frame's own type: the first cell that has it."""
    gap = set(fill.rows.tolist())
    own: dict[int, Any] = {}
    for i, code in enumerate(codes):
        if i not in gap and code == code:
            own.setdefault(int(code), column[i])
    labels = tuple(own.get(k, label) for k, label in enumerate(fill.labels))
    return np.where(np.isnan(codes), 0.0, codes), labels


def _rows(came: Any, table: Table) -> Any:
    """The rows of the frame that were read."""
    if len(table.rows) == table.shape[0]:
        return came
    return came.iloc[table.rows] if table.index is not None else came[table.rows.tolist()]


def _cells(frame: Any, j: int) -> list[Any]:
    column = frame.iloc[:, j] if getattr(frame, "iloc", None) is not None else frame[frame.columns[j]]
    return list(column.to_list() if callable(getattr(column, "to_list", None)) else column.to_pylist())
