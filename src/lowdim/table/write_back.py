"""A table written back as it came: every column in its place, every cell as it stood but those that are given anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from lowdim.maths.linalg import Array
from lowdim.table import cells as cell
from lowdim.table.detect import GAP_CODES, NUMBER_GAP_CODES
from lowdim.table.open_file import Raw, is_packed
from lowdim.table.options import check_options
from lowdim.table.read import sample_raw, spread_raw, transpose_raw
from lowdim.text.csv_table import csv_line
from lowdim.text.escape import in_quotes, protect_cell
from lowdim.text.format import all_digits, figures_by_width

# a sign, digits with their marks, an exponent, a unit of letters, or dashes alone: nothing that a spreadsheet could run
HARMLESS = re.compile(
    r"[+-]?[\d.,' \u00a0\u2009\u202f\u2019]*([eE][+-]?\d+)? ?%?|-+"
    r"|[+-]?[\d.,]*\d([eE][+-]?\d+)? ?[°µμ]?[^\W\d_]+( ?/ ?[°µμ]?[^\W\d_]+)?"
)
ROWS_AT_ONCE = 4096  # rows turned into text at once
LINE_END_BYTES = 2**16  # bytes in which the line ends are looked for
Texts = dict[int, dict[int, str]]  # column -> row -> text, both from 0 as they stand in the file


class Sheet(NamedTuple):
    """The cells of a table as text, and how its file writes them."""

    names: list[str] | None  # as the header has them; None where there is none
    cells: list[Any]  # an Arrow array of strings for each column
    sep: str = ","
    encoding: str = "utf-8"
    newline: str = "\r\n"
    whole: bool = False  # whether it is all of a text file, row by row
    heads: tuple[list[str], ...] = ()  # the lines of the header, where it has two

    @property
    def rows(self) -> int:
        return len(self.cells[0]) if self.cells else 0

    def constant(self, text: str) -> Sheet:
        """The same shape and names with one text in every cell."""
        import pyarrow as pa

        return self._replace(cells=[pa.array([text] * self.rows, pa.string())] * len(self.cells))

    def other_columns(self, columns: dict[str, list[str]]) -> Sheet:
        """Other columns, by name, written as this file writes its own."""
        import pyarrow as pa

        cells = [pa.array(texts, pa.string()) for texts in columns.values()]
        return self._replace(names=list(columns), cells=cells, heads=())


def original(raw: Raw, options: dict[str, Any]) -> Sheet:
    """The table of a file before anything was decided about it; `options` are those of `lowdim.read`."""
    reading = check_options(options)
    raw = spread_raw(transpose_raw(raw) if reading.transpose else raw, reading.spread)
    raw = sample_raw(raw, reading.sample)
    cells = [texts(column) for column in raw.cells]
    if not raw.guess.encoding:
        return Sheet(raw.names, cells, heads=raw.heads)
    whole = not (reading.transpose or reading.spread) and reading.sample is None and not is_packed(raw.path)
    return Sheet(raw.names, cells, raw.guess.sep, raw.guess.encoding, line_end(raw.path), whole, raw.heads)


def line_end(path: str) -> str:
    """How the lines of a text file end."""
    with open(path, "rb") as file:
        head = file.read(LINE_END_BYTES).replace(b"\0", b"")  # UTF-16 has a zero beside every plain letter
    return "\r\n" if b"\r\n" in head else "\n"


def texts(column: Any) -> Any:
    """An Arrow column of any type as strings; a gap is empty."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kind

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if kind.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kind.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    try:
        strings = column.cast(pa.large_string() if kind.is_large_string(column.type) else pa.string())
    except pa.ArrowException:
        strings = pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())
    return strings.fill_null("")


def lines(sheet: Sheet, new: Texts) -> Iterator[str]:
    """The lines of the table with the new texts in their cells."""
    for names in sheet.heads or (() if sheet.names is None else (sheet.names,)):
        yield _line(names, sheet)
    for start in range(0, sheet.rows, ROWS_AT_ONCE):
        stop = min(start + ROWS_AT_ONCE, sheet.rows)
        block = [column.slice(start, stop - start).to_pylist() for column in sheet.cells]
        for j, texts in new.items():
            for row in range(start, stop) if len(texts) > stop - start else sorted(texts):
                if start <= row < stop and row in texts:
                    block[j][row - start] = texts[row]
        for cells in zip(*block, strict=True):
            yield _line(cells, sheet)


def _line(cells: Any, sheet: Sheet) -> str:
    return csv_line(cells, partial(quoted_cell, sep=sheet.sep), sheet.sep, sheet.newline)


def quoted_cell(text: str, sep: str) -> str:
    """Text as one cell of a file with this separator: no formula, quoted where it must be.

    >>> quoted_cell("-1,5", ";"), quoted_cell("=1+1", ";"), quoted_cell("a;b", ";")
    ('-1,5', "'=1+1", '"a;b"')
    """
    return '""' if sep == " " and not text else in_quotes(safe(text), sep)


def safe(text: str) -> str:
    """Text that no spreadsheet will run; numbers stay as they are whatever their decimal sign."""
    return text if HARMLESS.fullmatch(text) else protect_cell(text)


def harmless(sheet: Sheet) -> bool:
    """Whether every cell can be written as it stands."""
    import pyarrow.compute as pc

    names = all(safe(name) == name for head in sheet.heads or (sheet.names or (),) for name in head)
    return names and all(safe(text) == text for column in sheet.cells for text in pc.unique(column).to_pylist())


def around_numbers(column: Any, unit: str) -> tuple[str, str]:
    """What stands before and behind the numbers of a text column with this unit, as the first cell that has it.

    >>> around_numbers(["", "<0.5", "7.3 mg/L"], "mg/L"), around_numbers(["-$ 5"], "$"), around_numbers(["5"], "")
    (('', ' mg/L'), ('$ ', ''), ('', ''))
    """
    for one in column if unit else ():
        text = str(one).strip().lstrip("+-")
        if text.startswith(unit):
            return text[: len(text) - len(text.removeprefix(unit).lstrip())], ""
        if text.endswith(unit):
            return "", text[len(text.removesuffix(unit).rstrip()) :]
    return "", ""


def decimal_of(column: Any, usual: str, unit: str = "") -> str:
    """The decimal sign of a text column: what its own numbers show, else that of the table."""
    text = cell.as_text(column)
    text = cell.bare_numbers(text, unit) if unit else text
    evidence = cell.decimal_evidence(text, cell.is_code(text, GAP_CODES + NUMBER_GAP_CODES))
    return "," if evidence.comma else "." if evidence.point else usual


def fill_texts(values: Array, half: Array, decimal: str, around: tuple[str, str] = ("", "")) -> list[str]:
    """Numbers as the file writes them, with the digits that their intervals (half widths) call for, all where they have
    none, their unit around them.

    >>> import numpy as np
    >>> fill_texts(np.array([3.14159265, 1234567.8]), np.array([0.5, 0.5]), ",")
    ['3,14159', '1234567,8']
    """
    pairs = zip(values.tolist(), half.tolist(), strict=True)
    before, behind = around
    texts = (figures_by_width(value, width) if width else all_digits(value) for value, width in pairs)
    return [f"{before}{text.replace('.', decimal)}{behind}" for text in texts]
