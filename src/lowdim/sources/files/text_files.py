"""CSV and its kin, streamed: the form and the types are fixed by the checker, then blocks are read by themselves.

A later cell that is no number is an error that names its line, never a gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Index, Mask, evenly_spread
from lowdim.sources.arrow_rows import left_out
from lowdim.sources.files.base import FileSource, Layout
from lowdim.sources.files.parquet import take_rows
from lowdim.sources.files.spool import RowSpool
from lowdim.sources.source import Rows, tile_rows
from lowdim.table import cells as cell
from lowdim.table.detect import LOOK_BYTES, LOOK_WIDE, guess_encoding
from lowdim.table.open_file import Place, Raw
from lowdim.table.options import ReadingOptions
from lowdim.table.read import name_columns, parse_columns
from lowdim.table.roles import assign_roles, check_names
from lowdim.table.text_file import (
    MANY_FIELDS,
    RecordScan,
    ragged_error,
    read_text,
    respaced,
    split_records,
    tokenise,
    whole_records,
)
from lowdim.text.escape import protect_terminal
from lowdim.text.messages import Notes, catalogue, error, warn

PIECE = 2**25  # bytes looked at together
INDEX_STEP = 1024  # rows between two marks of the index
LOOK_COST = 3  # bytes of memory a byte takes while the rows are counted
SAMPLE_PLACES = 8  # places of the file that the types are decided from
BYTEWISE = ("utf-8", "utf-8-sig", "cp1252", "latin-1")  # a line break is one byte, and no part of another letter


class RecordIndex(NamedTuple):
    """Every `step`-th row of a text file: its first byte and its line; `end` is the byte after the last row."""

    n: int
    step: int
    offsets: NDArray[np.int64]
    lines: NDArray[np.int64]
    end: int

    def span(self, begin: int, end: int) -> tuple[int, int, int, int]:
        """The bytes that hold these rows, the first row in them, and how many rows they hold."""
        first, last = begin // self.step, -(-end // self.step)
        stop = int(self.offsets[last]) if last < len(self.offsets) else self.end
        return int(self.offsets[first]), stop, first * self.step, min(last * self.step, self.n) - first * self.step


class CsvForm(NamedTuple):
    """How a text file is read: everything that was guessed, fixed for all of it."""

    name: str
    sep: str
    decimal: str
    encoding: str
    width: int  # fields in a record
    positions: tuple[int, ...]  # of the fields that are used
    names: tuple[str, ...]
    slow: tuple[bool, ...]  # fields with thousands separators or units in them


class WarningNotes(Notes):
    """Notes that give a warning at once where a cell was changed."""

    def add(self, code: str, where: str = "", **facts: Any) -> None:
        super().add(code, where, **facts)
        if catalogue()[code].of_stream:
            warn(code, where, **facts)


class CsvSource(FileSource):
    """A text file whose blocks are parsed one by one."""

    kind = "CSV"
    clean: ClassVar[bool] = True
    owns_arrays: ClassVar[bool] = True

    def __init__(self, path: Path, form: CsvForm, marks: RecordIndex, named: bool, layout: Layout) -> None:
        super().__init__([path], (marks.n, len(form.names)), form.names, layout)
        self.form, self.marks, self.named = form, marks, named
        self.spool = RowSpool(self.n, self.d)

    def decoding(self, rows: int) -> int:
        """Text as read and as parsed, where each cell lies, numbers by columns; before that, a look at every byte."""
        text = int((self.marks.end - self.marks.offsets[:1].sum()) / max(self.n, 1) * rows)
        return max(self.hands * (3 * text + 28 * rows * self.d), LOOK_COST * min(PIECE, self.marks.end))

    def starts(self) -> Index:
        return np.arange(0, max(self.n, 1), self.marks.step)

    def decode(self, rows: Rows) -> tuple[Array, Mask | None]:
        if isinstance(rows, slice):
            return take_rows(self._columns, rows, self.d)
        if self.spool.is_filling and len(rows) * self.marks.step >= self.n:
            self._fill()  # rows all over the file: all of it has to be parsed for them anyway
        return take_rows(self._few, rows, self.d)

    def spooled(self, folder: Path | None) -> AbstractContextManager[None]:
        return self.spool.used(folder)

    def _columns(self, begin: int, end: int) -> list[list[Any]]:
        """The columns of a run of rows, from the spool or, the first time, parsed and put there."""
        columns = self.spool.rows(begin, end)
        if columns is None:
            columns = self._parsed(begin, end)
            self.spool.add(begin, columns[0])
        return columns

    def _fill(self) -> None:
        """Every row into the spool, block by block."""
        step = self.tile * self.block_tiles
        with ThreadPoolExecutor(self.hands) as pool:
            for done in [pool.submit(self._put, at, min(at + step, self.n)) for at in range(0, self.n, step)]:
                done.result()

    def _put(self, begin: int, end: int) -> None:
        self._columns(begin, end)

    def _few(self, begin: int, end: int) -> list[list[Any]]:
        """The columns of a few rows here or there, which are not worth a place in the spool."""
        return self.spool.rows(begin, end) or self._parsed(begin, end)

    def _parsed(self, begin: int, end: int) -> list[list[Any]]:
        start, stop, first, count = self.marks.span(begin, end)
        text = piece(self.paths[0], start, stop)
        line = int(self.marks.lines[first // self.marks.step])
        columns = parse(text, self.form, line)
        if len(columns[0]) != count:
            raise EOFError(f"{len(columns[0]):,} rows where {count:,} were counted; are all quotes closed?")
        return [[column.slice(begin - first, end - begin) for column in columns]]


def piece(path: Path, start: int, stop: int) -> bytes:
    """Some bytes of a file."""
    with path.open("rb") as file:
        file.seek(start)
        return file.read(stop - start)


def parse(text: bytes, form: CsvForm, line: int) -> list[Any]:
    """The columns that are used, as Arrow arrays of float64; `line` is that of the first record."""
    import pyarrow as pa

    if form.sep == " ":
        text = respaced(text)
    if not any(form.slow):
        try:
            return _quickly(text, form)
        except pa.ArrowInvalid:  # some cell is no plain number: once more, slowly, to say which or to read it
            pass
    return _slowly(text, form, line)


def _quickly(text: bytes, form: CsvForm) -> list[Any]:
    import pyarrow as pa

    if form.width >= MANY_FIELDS:
        table = tokenise(text.replace(b"\r\n", b"\n"), form.sep, form.width, len(text) + 2)
        plain = cell.plain_columns({j: table.column(j) for j in form.positions}, ())
        if len(plain) < len(form.positions):
            raise pa.ArrowInvalid("some column is not plain")
        return [pa.array(plain[j].values, mask=plain[j].gap) for j in form.positions]
    numbers = (form.positions, form.decimal)
    table = tokenise(text, form.sep, form.width, len(text) + 2, threads=False, numbers=numbers)
    return [column.combine_chunks() for column in table.columns]


def _slowly(text: bytes, form: CsvForm, line: int) -> list[Any]:
    """Every cell read as text first, as the checker does it."""
    import pyarrow as pa

    if form.encoding not in ("utf-8", "utf-8-sig"):
        text = text.decode(form.encoding, "replace").encode()
    text = text.replace(b"\r\n", b"\n")
    table, lines, bad = split_records(text, form.sep, 0, form.width, form.name, False)
    lines = lines + line - 1
    if bad:
        raise ragged_error(bad, lines, form.sep, text[:LOOK_BYTES].decode("utf-8", "replace"), form.width, False)
    place = Place(form.name, "line", lines)
    arrays = []
    for j, name in zip(form.positions, form.names, strict=True):
        c, enough, _ = cell.text_column(name, j + 1, table.column(j), ())
        c = c if enough else cell.slow_numbers(c, form.decimal, cell.DecimalEvidence())
        if c.bad.any():
            raise error(
                "LD111",
                f"{form.name}, column {j + 1}, {place.cell(c, int(np.argmax(c.bad)))}",
                column=name,
                good=c.good,
                seen=c.seen,
                fix="correct the cell, or leave the column out:  columns=[...]",
            )
        arrays.append(pa.array(c.values))
    return arrays


def open_source(path: Path, columns: tuple[str, ...] | None, weight: str | None, layout: Layout) -> CsvSource:
    """The table of a text file, known by its beginning and a few other places."""
    raw, skip = beginning_of(path, ReadingOptions())
    for note in raw.notes:  # no header, or lines above it
        warn(note)
    marks = index_records(path, skip, min(INDEX_STEP, tile_rows(len(raw.cells))))
    form = _fixed(raw, _sample(path, marks, raw), columns, weight)
    return CsvSource(path, form, marks, raw.names is not None, layout)


def beginning_of(path: Path, reading: ReadingOptions) -> tuple[Raw, int]:
    """The first rows of a text file, and how many lines stand before them."""
    name = protect_terminal(path.name)
    head = whole_records(piece(path, 0, LOOK_BYTES))
    if len(head) == LOOK_BYTES or head.count(b"\n") < 2:  # long lines
        head = whole_records(piece(path, 0, LOOK_WIDE))
    encoding = reading.encoding or guess_encoding(head)
    if encoding not in BYTEWISE:
        raise error(
            "LD009", name=name, encoding="a stream of bytes", why=f"it is written in {encoding}", fix="save it as UTF-8"
        )
    raw = read_text(head, name, reading._replace(encoding=encoding), "CSV", as_it_stands=True)
    return raw, int(raw.lines[0]) - 1 if len(raw.lines) else head.count(b"\n") + 1


def _sample(path: Path, marks: RecordIndex, raw: Raw) -> Raw:
    """Rows from a few places of the file as columns of text."""
    k = len(marks.offsets)
    if k < 2:
        return raw
    places = evenly_spread(k, SAMPLE_PLACES)
    text, lines = b"", list[NDArray[np.int64]]()
    for at in places:
        start, stop, _, count = marks.span(int(at) * marks.step, min((int(at) + 1) * marks.step, marks.n))
        part = piece(path, start, stop)
        text += part if part.endswith(b"\n") else part + b"\n"
        lines.append(marks.lines[at] + np.arange(count))  # good enough for a message about a sample
    return as_cells(text, raw, np.concatenate(lines))


def as_cells(text: bytes, raw: Raw, lines: NDArray[np.int64]) -> Raw:
    """Records of a file that begins as `raw` does, as columns of text; `lines` is where they stand."""
    width = len(raw.cells)
    if raw.guess.encoding not in ("utf-8", "utf-8-sig"):
        text = text.decode(raw.guess.encoding, "replace").encode()
    text = text.replace(b"\r\n", b"\n")
    text = respaced(text) if raw.guess.sep == " " else text
    table, _, bad = split_records(text, raw.guess.sep, 0, width, raw.name, False)
    if bad:
        raise ragged_error(bad, lines, raw.guess.sep, "", width, raw.names is not None)
    return raw._replace(cells=list(table.columns), lines=lines)


def _fixed(head: Raw, sample: Raw, columns: tuple[str, ...] | None, weight: str | None) -> CsvForm:
    """The form of the file: which columns are numbers by their beginning and by the sample, and how they are read."""
    notes = WarningNotes(head.name)
    reading = ReadingOptions(columns=columns or (), weight=weight)
    sample, names, blank = name_columns(sample, reading, notes)
    reading = check_names(reading, names)
    parsed, decimal, _ = parse_columns(sample, names, reading, notes)
    roles = assign_roles(parsed, blank, reading, Place(head.name, "line", sample.lines), notes)
    notes.stop()
    if columns:
        used = [c for name in reading.columns for c in roles if c.name == name]
    else:
        # A running number shows at the beginning of a file, not in a sample of it.
        quiet = Notes(head.name)
        first = head._replace(cells=list(head.cells[: len(names)]))
        early, _, _ = parse_columns(first, names, reading._replace(decimal=decimal), quiet)
        begins = assign_roles(early, blank, reading, Place(head.name, "line", head.lines), quiet)
        ids = {c.name for c in begins if c.role == "id"}
        used = [c for c in roles if c.role == "number" and c.name not in ids]
        here = {c.name for c in used}
        left_out([c.name for c in roles if c.name not in here and c.role != "weight"], head.name)
    # Which fields have to be read as text first; a decimal comma is read quickly too.
    fields = {c.position - 1: sample.cells[c.position - 1] for c in used}
    plain = cell.plain_columns(fields, ())
    quick = [j in plain or cell.text_cells("", 0, cell.as_text(column), ())[1] for j, column in fields.items()]
    return CsvForm(
        name=head.name,
        sep=head.guess.sep,
        decimal=decimal,
        encoding=head.guess.encoding,
        width=len(head.cells),
        positions=tuple(c.position - 1 for c in used),
        names=tuple(c.name for c in used),
        slow=tuple(decimal != "," and not at_once for at_once in quick),
    )


# where records begin: one look at the bytes, so that any block can be read by itself --------------------
def index_records(path: Path, skip: int, step: int, piece_bytes: int = PIECE) -> RecordIndex:
    """The index of the rows that begin after so many lines."""
    n, offsets, lines, scan = 0, list[NDArray[np.int64]](), list[NDArray[np.int64]](), RecordScan()
    with path.open("rb") as file:
        for starts, firsts in _pieces(file, scan, piece_bytes):
            rows = firsts > skip
            starts, firsts = starts[rows], firsts[rows]
            marked = (n + np.arange(len(starts))) % step == 0
            offsets.append(starts[marked])
            lines.append(firsts[marked])
            n += len(starts)
    none = np.zeros(0, dtype=np.int64)
    return RecordIndex(n, step, np.concatenate([none, *offsets]), np.concatenate([none, *lines]), scan.at)


def _pieces(
    file: BinaryIO, scan: RecordScan, piece_bytes: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    while data := file.read(piece_bytes):
        yield scan.look(data)
    yield scan.close()
