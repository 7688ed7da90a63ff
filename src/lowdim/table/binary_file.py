"""Tables that are not text files: Parquet, Arrow, .npy, Excel, frames and arrays, as columns for the same checks."""

from __future__ import annotations

import sys
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.table.detect import Guess, first_line, guess_header, title_records
from lowdim.table.open_file import BOMB_RATIO, SMALL_FILE, FoundFile, Raw, too_large
from lowdim.table.options import ReadingOptions
from lowdim.table.text_file import titles_note
from lowdim.text.escape import protect_terminal
from lowdim.text.fix import Fix, propose
from lowdim.text.format import listing, size
from lowdim.text.messages import LowdimError, error, message

LOOK_ROWS_OF_SHEETS = 1000  # by which the sheet with the table is chosen
COST = 3  # bytes of memory for a byte of numbers: the column, its float64, the table's own copy


def read_binary(file: FoundFile, options: ReadingOptions, memory: int) -> Raw:
    """A file that is not text."""
    name = protect_terminal(file.path.name)
    if file.kind == "xlsx":
        return _excel(file, name, options, memory)
    from lowdim.sources.files.open import read_whole  # the formats are read in one place, which knows tables

    def affordable(rows: int, columns: int, shape: str) -> None:
        need = rows * max(columns, 1) * 8 * COST
        if need > memory:
            raise too_large(name, file.size, need, memory, shape=shape)

    try:
        whole = read_whole(file.path, file.kind, affordable)
    except LowdimError as problem:
        if problem.code != "LD015":
            raise
        raise error("LD002.damaged", name=name, kind=file.kind) from None
    return _raw(whole, name, file.kind)._replace(path=str(file.path))


def _raw(whole: Any, name: str, kind: str) -> Raw:
    if kind != "npy":
        return from_arrow(whole, name, {"parquet": "Parquet", "arrow": "Arrow"}[kind])
    if whole.dtype.names:
        fields = list(whole.dtype.names)
        return from_arrays([np.asarray(whole[field]) for field in fields], fields, name, "NumPy file")
    return from_matrix(whole, name, "NumPy file")


def _excel(file: FoundFile, name: str, options: ReadingOptions, memory: int) -> Raw:
    import openpyxl  # 0.2 s: not before a workbook is read

    _refuse_bomb(file, name, memory)
    try:
        book = openpyxl.load_workbook(file.path, read_only=True, data_only=True)
        sheets = [sheet.title for sheet in book.worksheets]
        chosen, others = _sheet(options.sheet, sheets, name), list[str]()
        if options.sheet is None and len(sheets) > 1:
            sizes = [_numbers_of(sheet) for sheet in book.worksheets]
            chosen = sizes.index(max(sizes))
            others = [title for k, title in enumerate(sheets) if k != chosen and (sizes[k] or k < chosen)]
        sheet = book.worksheets[chosen]
        sheet.reset_dimensions()  # a sheet may claim a million rows and hold three
        rows = [[_cell(value) for value in row] for row in sheet.iter_rows(values_only=True)]
        book.close()
    except LowdimError:
        raise
    except Exception:  # a damaged workbook may fail anywhere inside the reader
        raise error("LD002.damaged", name=name, kind="Excel") from None
    kind = f"Excel, sheet '{protect_terminal(sheets[chosen])}'" + (f" of {len(sheets)}" if len(sheets) > 1 else "")
    raw = from_records(rows, name, kind, options.header)._replace(path=str(file.path), unit="row")
    if not others:
        return raw
    facts = {"sheet": protect_terminal(sheets[chosen]), "others": listing([protect_terminal(one) for one in others])}
    return raw._replace(notes=(message("LD011", name, **facts, fix=Fix(propose(sheet=others[0]))), *raw.notes))


def _numbers_of(sheet: Any) -> int:
    """How many cells of a sheet's beginning are numbers."""
    sheet.reset_dimensions()
    rows = sheet.iter_rows(max_row=LOOK_ROWS_OF_SHEETS, values_only=True)
    return sum(isinstance(value, int | float) and not isinstance(value, bool) for row in rows for value in row)


def _refuse_bomb(file: FoundFile, name: str, memory: int) -> None:
    with zipfile.ZipFile(file.path) as archive:
        total = sum(part.file_size for part in archive.infolist())
    if total > memory or (total > SMALL_FILE and total > BOMB_RATIO * file.size):
        raise error(
            "LD170.table",
            name=name,
            size=f"{size(file.size)} packed",
            fix="save the sheet as CSV",
            shape=f", {size(total)} unpacked",
            why=f"{size(memory)} may be used",
        )


def _sheet(sheet: str | int | None, sheets: list[str], name: str) -> int:
    if sheet is None and sheets:
        return 0
    if sheet in sheets:
        return sheets.index(str(sheet))
    if isinstance(sheet, int) and 1 <= sheet <= len(sheets):
        return sheet - 1
    fix = Fix(propose(sheet=sheets[0])) if sheets else "add a sheet"
    raise error("LD010", name=name, sheet=sheet, fix=fix)


def _cell(value: Any) -> str:
    """A cell of a sheet as the text a CSV would hold."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    return repr(value) if isinstance(value, float) else str(value)


def from_records(rows: list[list[str]], name: str, kind: str, header_option: bool | None) -> Raw:
    """A table from lists of text, such as a sheet has."""
    import pyarrow as pa

    full = [i for i, row in enumerate(rows) if any(cell.strip() for cell in row)]
    if not full:
        raise error("LD005", name=name, size="no row")
    above = 0 if header_option is False else title_records([[cell.strip() for cell in rows[i]] for i in full[:200]])
    titles = [" ".join(cell.strip() for cell in rows[i] if cell.strip()) for i in full[:above]]
    first, last = full[above], full[-1] + 1
    width = max(len(row) for row in rows[first:last])
    body = [[cell.strip() for cell in row] + [""] * (width - len(row)) for row in rows[first:last]]
    header = guess_header(body[:200]) if header_option is None else header_option
    data = body[1:] if header else body
    columns = [pa.array([row[j] for row in data], pa.string()) for j in range(width)]
    lines = np.arange(first + 1 + header, last + 1)
    notes = [titles_note(titles, name)] if titles else []
    if header_option is None and not header:
        notes.append(message("LD008", first_line(body[0]), name=name, line=first + 1))
    return Raw(name, columns, body[0] if header else None, lines, Guess(kind, header=header), notes=tuple(notes))


def from_arrow(table: Any, name: str, kind: str) -> Raw:
    """A table from Arrow columns, each of its own type."""
    names = [str(column) for column in table.column_names]
    return Raw(name, list(table.columns), names, np.arange(1, table.num_rows + 1), Guess(kind), unit="row")


def from_arrays(arrays: list[Any], names: list[str], name: str, kind: str) -> Raw:
    """A table from one array a column; objects of mixed type become text."""
    cells = [_array(values, column) for values, column in zip(arrays, names, strict=True)]
    n = len(cells[0]) if cells else 0
    return Raw(name, cells, names, np.arange(1, n + 1), Guess(kind), unit="row")


def _array(values: Any, name: str) -> Any:
    """A column as Arrow has it; complex numbers have no place on an axis."""
    import pyarrow as pa

    letter = getattr(values.dtype, "kind", "O")
    if letter == "c" or (letter == "O" and any(isinstance(cell, complex) for cell in values)):
        raise error("LD102", column=f"column '{name}'")
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        gone = {"NAType", "NaTType", "NoneType"}
        return pa.array([None if type(cell).__name__ in gone else _cell(cell) for cell in values], pa.string())


def from_matrix(values: Any, name: str, kind: str) -> Raw:
    """A table from a two-dimensional array."""
    if values.ndim != 2:
        raise error("LD100", shape=values.shape)
    if values.dtype.kind == "c":
        raise error("LD102", column="the array")
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    if values.dtype.kind == "V":
        raise error("LD101", case="person's table", type=str(values.dtype))
    raw = from_arrays(list(values.T), [f"c{j + 1}" for j in range(values.shape[1])], name, kind)
    return raw._replace(names=None, lines=np.arange(1, len(values) + 1))


def from_memory(table: Any) -> Raw:
    """A table that is already in memory: a pandas or polars frame, anything with Arrow columns, an array."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(table, pandas.DataFrame):
        named = [str(column) for column in table.columns]
        raw = from_arrays([table.iloc[:, j] for j in range(table.shape[1])], named, "the frame", "pandas frame")
        return raw._replace(lines=np.arange(1, len(table) + 1), index=table.index)
    if not isinstance(table, np.ndarray) and callable(getattr(table, "__arrow_c_stream__", None)):
        import pyarrow as pa

        if not (hasattr(table, "column_names") or hasattr(type(table), "columns")):  # a Series: one column is no table
            raise error("LD100", shape=(len(table),))
        frame = "polars frame" if type(table).__module__.startswith("polars") else "Arrow table"
        return from_arrow(pa.table(table), "the frame", frame)
    if isinstance(table, dict | set | bytes) or table is None or "sparse" in type(table).__module__:
        raise error("LD101", case="person's table", type=type(table).__name__)
    try:
        values = table if isinstance(table, np.ndarray) else np.asarray(table)
    except ValueError:
        raise error(
            "LD101", "its rows have different lengths", case="person's table", type=type(table).__name__
        ) from None
    if values.ndim == 0 and values.dtype.kind == "O":  # a LazyFrame, a Query: NumPy wraps what it does not know
        raise error("LD101", case="person's table", type=type(table).__name__)
    return from_matrix(values, "the array", "array")


def base_name(path: str | PathLike[str]) -> str:
    """The name of a file as messages print it."""
    return protect_terminal(Path(path).name)
