"""Columns of Arrow as rows of float64: which are numbers, and how they are turned round in the cache."""

from __future__ import annotations

import difflib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask
from lowdim.table.roles import unique_names
from lowdim.text.escape import protect_terminal
from lowdim.text.format import listing
from lowdim.text.messages import Notes, error, warn

STRIP_CELLS = 2**18  # 1 MB of float32: columns are laid side by side so many at a time, in the cache
TURN_ROWS = 128  # rows turned at once
PAD = 8  # columns a power of two apart would share the same few places of the cache
FLOAT32_TYPES = ("float32", "float16", "int8", "int16", "uint8", "uint16", "bool")  # what float32 holds exactly


class Picked(NamedTuple):
    """The columns of a file that are used: their positions in it and their names."""

    positions: list[int]
    names: tuple[str, ...]


def is_number_type(kind: Any) -> bool:
    """Whether an Arrow type is a number, a truth value, or nothing at all."""
    import pyarrow.types as t

    return bool(
        t.is_floating(kind) or t.is_integer(kind) or t.is_boolean(kind) or t.is_null(kind) or t.is_decimal(kind)
    )


def choose_columns(schema: Any, columns: tuple[str, ...] | None, weight: str | None, name: str) -> Picked:
    """The columns asked for, or all that are numbers; what is left out unasked is said."""
    names = unique_names([str(column) for column in schema.names], len(schema.names), Notes(name))
    index = _index_columns(schema)
    if columns is not None:
        chosen = [position(column, names, "columns") for column in columns]
        for j in chosen:
            if not is_number_type(schema.field(j).type):
                raise error(
                    "LD104", name, column=names[j], type=protect_terminal(str(schema.field(j).type))[:60], python=""
                )
        return Picked(chosen, tuple(names[j] for j in chosen))
    usable = [j for j, field in enumerate(schema) if is_number_type(field.type) and schema.names[j] not in index]
    left_out([names[j] for j in range(len(names)) if j not in set(usable)], name)
    chosen = [j for j in usable if names[j] != weight]
    return Picked(chosen, tuple(names[j] for j in chosen))


def left_out(columns: list[str], name: str) -> None:
    """Say which columns of a file are not used."""
    if columns:
        were = "column measures nothing and was" if len(columns) == 1 else "columns measure nothing and were"
        warn("LD119", what=f"{len(columns):,} {were}", name=name, columns=listing(columns, 10))


def _index_columns(schema: Any) -> set[str]:
    """Columns that pandas wrote as the names of the rows."""
    try:
        index = (schema.pandas_metadata or {}).get("index_columns", [])
    except ValueError:  # not written by pandas
        return set()
    return {column for column in index if isinstance(column, str)}


def position(column: str, names: list[str], option: str) -> int:
    """Where a named column stands, or the error that proposes another."""
    if column in names:
        return names.index(column)
    near = difflib.get_close_matches(str(column), names, n=1, cutoff=0.6)
    raise error(
        "LD103",
        column=protect_terminal(str(column)),
        option=option,
        fix=f"did you mean '{near[0]}' ?" if near else f"the columns are: {listing(names, 10)}",
    )


def arrow_numbers(column: Any) -> tuple[NDArray[Any], Mask | None]:
    """The numbers of an Arrow array without a copy, and which are there; what stands at a gap means nothing."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_null(column.type):
        return np.zeros(len(column), dtype=np.float32), np.zeros(len(column), dtype=bool)
    if t.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif t.is_decimal(column.type):
        column = column.cast(pa.float64(), safe=False)
    seen, data = column.buffers()
    begin, end = column.offset, column.offset + len(column)
    values = np.frombuffer(data, dtype=column.type.to_pandas_dtype(), count=end)[begin:] if end else np.zeros(0)
    if column.null_count == 0 or seen is None:
        return values, None
    bits = np.unpackbits(np.frombuffer(seen, dtype=np.uint8), count=end, bitorder="little")
    return values, bits[begin:].view(np.bool_)


def turn(batches: list[list[Any]], rows: int, d: int) -> tuple[Array, Mask | None]:
    """Batches (lists of Arrow columns) as one row-major table: zeros at nulls, and a mask where there are any.

    Where no column has nulls, NaN is left for whoever finishes the block: it is a gap as well.

    Columns are laid side by side in the cache and turned round from there: writing each straight into its place
    of a row-major table costs twice the time.
    """
    x = np.empty((rows, d))
    seen: Mask | None = None
    begin = 0
    for columns in batches:
        parts = [arrow_numbers(column) for column in columns]
        n = len(parts[0][0])
        wide = min(max(STRIP_CELLS // max(d, 1), TURN_ROWS), 8192, max(n, 1))
        short = all(values.dtype.name in FLOAT32_TYPES for values, _ in parts)
        side = np.zeros((d, wide + PAD), dtype=np.float32 if short else np.float64)
        for at in range(0, n, wide):
            strip = [(values[at : at + wide], mask if mask is None else mask[at : at + wide]) for values, mask in parts]
            size = min(wide, n - at)
            flags = _lay(strip, side[:, :size])
            _turn(side[:, :size], x[begin + at :])
            if flags is not None:
                seen = np.ones((rows, d), dtype=bool) if seen is None else seen
                _turn(flags, seen[begin + at :])
        begin += n
    return x, seen


def _lay(strip: list[tuple[NDArray[Any], Mask | None]], side: NDArray[Any]) -> Mask | None:
    """Columns side by side, zeros at nulls; which cells are seen, or None where no column has nulls."""
    holes = False
    for j, (values, mask) in enumerate(strip):
        side[j] = values
        holes = holes or mask is not None
    if not holes:
        return None
    flags: Mask = side == side  # NaN is a gap as well as null
    for j, (_, mask) in enumerate(strip):
        if mask is not None:
            flags[j] &= mask
    if flags.all():
        return None
    # Zeros by the bits of the flags: a choice cell by cell costs four times as much.
    whole: np.dtype[Any] = np.dtype(np.int32 if side.dtype == np.float32 else np.int64)
    bits: NDArray[Any] = side.view(whole)
    bits &= -(flags.view(np.int8).astype(whole))
    return flags


def _turn(side: NDArray[Any], out: NDArray[Any]) -> None:
    for at in range(0, side.shape[1], TURN_ROWS):
        part = side[:, at : at + TURN_ROWS].T
        out[at : at + len(part)] = part
