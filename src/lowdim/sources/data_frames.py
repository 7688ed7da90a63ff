"""Sources in memory from data frames (pandas, polars, Arrow), and columns of Python objects as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Rows, Source
from lowdim.text.messages import error

GAP_TYPES = ("NAType", "NaTType", "NoneType")


class ArrowSource(Source):
    """An Arrow table (polars, pyarrow, anything with `__arrow_c_stream__`), converted a tile at a time."""

    def __init__(self, table: Any, **where: Any) -> None:
        super().__init__(table.shape, columns=tuple(table.column_names), **where)
        self.table = table

    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        import pyarrow as pa

        part = (
            self.table.slice(rows.start, rows.stop - rows.start) if isinstance(rows, slice) else self.table.take(rows)
        )
        values = np.empty(part.shape, dtype=np.float64)
        for j, column in enumerate(part.columns):
            values[:, j] = column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()
        return values, None


def from_pandas(X: Any, where: dict[str, Any]) -> Source:
    """A pandas data frame of numbers."""
    columns = tuple(str(name) for name in X.columns)
    kinds = [str(dtype) for dtype in X.dtypes]
    for j, (dtype, kind) in enumerate(zip(X.dtypes, kinds, strict=True)):
        letter = getattr(dtype, "kind", "O")
        if letter == "c":
            raise error("LD102", column=f"column '{columns[j]}'")
        if letter not in "biuf" and kind != "object":
            raise error("LD104", column=columns[j], type=kind, python="")
    if "object" in kinds:
        values = (
            np.column_stack(
                [objects_as_numbers(X.iloc[:, j].to_numpy(dtype=object), columns[j]) for j in range(len(columns))]
            )
            if columns
            else np.empty(X.shape)
        )
    else:
        values = X.to_numpy(dtype=np.float64, na_value=np.nan) if len(columns) else np.empty(X.shape)
    return ArraySource(values, columns=columns, **where)


def from_arrow(X: Any, where: dict[str, Any]) -> Source:
    """Whatever hands out an Arrow stream of numbers."""
    import pyarrow as pa

    try:
        table = pa.table(X)
    except pa.ArrowInvalid:  # a Series: one column is no table
        raise error("LD100", shape=(len(X),)) from None
    number = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_null)
    for field in table.schema:
        if not any(is_kind(field.type) for is_kind in number):
            raise error("LD104", column=field.name, type=str(field.type), python="")
    return ArrowSource(table, **where)


def objects_as_numbers(column: NDArray[Any], name: str, first: int = 0) -> Array:
    """A column of Python objects as numbers; None, NA and NaT are gaps, text is refused."""
    values = np.empty(len(column))
    for i, cell in enumerate(column):
        where = f"row {first + i + 1}: {str(cell)[:40]!r}"
        if isinstance(cell, str | bytes):
            raise error("LD104", where, column=name, type="text", python="")
        if isinstance(cell, complex):
            raise error("LD102", where, column=f"column '{name}'")
        try:
            values[i] = np.nan if type(cell).__name__ in GAP_TYPES else float(cell)
        except OverflowError:
            raise error("LD150", where, value="too large for a double", column=name) from None
        except (TypeError, ValueError) as problem:
            raise error(
                "LD104", where, column=name, type=type(cell).__name__, python=f" (Python says: {problem})"
            ) from None
    return values
