"""Parquet, one file or a folder of them: row groups are streamed, never read whole."""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.maths.linalg import Array, Index, Mask
from lowdim.sources.arrow_rows import Picked, choose_columns, is_number_type, turn
from lowdim.sources.files.base import Affordable, FileSource, Layout, naming_damage, runs_of
from lowdim.sources.source import Rows
from lowdim.text.escape import protect_terminal
from lowdim.text.messages import error

BUFFER = 2**20  # bytes of a column that are read at a time: a page of the usual size at once
PAGE = 2**20  # bytes of a column that are unpacked together, as most writers do it
FEW_ROWS = 1024  # rows decoded together where single rows are asked for
SUFFIXES = (".parquet", ".pq", ".parq")


BatchStream = Generator[tuple[int, list[Any]], None, None]  # first row, columns


class RowGroup(NamedTuple):
    """A row group: its file, its place in it, and the first of its rows in the whole table."""

    file: int
    place: int
    start: int


class DecodedBatch:
    """A batch that was decoded, and how many of its rows are still to be asked for."""

    def __init__(self, start: int, columns: list[Any]) -> None:
        self.start, self.columns = start, columns
        self.end = start + len(columns[0])
        self.unread = self.end - start


class Cursor:
    """Decodes a file forwards for threads that ask almost in order.

    What is passed over on the way to a block is kept, a few batches at most, until somebody asks for it; a jump
    backwards or far ahead starts again at the row group of the row asked for.
    """

    def __init__(self, walk: Callable[[int], BatchStream], n: int, window: int = 8) -> None:
        self.walk, self.n, self.window = walk, n, window
        self.lock = threading.Lock()
        self.stream: BatchStream | None = None
        self.at = -1  # the row after the last that was decoded
        self.held: deque[DecodedBatch] = deque()

    def rows(self, begin: int, end: int) -> list[list[Any]]:
        """The columns of these rows, in the batches they came in."""
        with self.lock:
            if not self._near(begin, end):
                self.close()
                self.stream = self.walk(begin)
            while self.at < end:
                start, columns = next(self.stream or iter(()), (0, []))
                if not columns:
                    raise EOFError(f"it ends before row {end:,}")
                self.held.append(DecodedBatch(start, columns))
                self.at = self.held[-1].end
            parts = self._cut(begin, end)
            if self.at >= self.n and not self.held:
                self.close()  # the decoders of a hundred columns hold a hundred pages
            while len(self.held) > self.window:
                self.held.popleft()
        return parts

    def close(self) -> None:
        """Forget everything."""
        if self.stream is not None:
            self.stream.close()
        self.stream, self.at = None, -1
        self.held.clear()

    def _near(self, begin: int, end: int) -> bool:
        if self.at < 0:
            return False
        had = sum(max(min(h.end, end) - max(h.start, begin), 0) for h in self.held)
        ahead = begin - self.at
        most = self.window * max((h.end - h.start for h in self.held), default=end - begin)
        return had == min(end, self.at) - begin if ahead < 0 else ahead <= most

    def _cut(self, begin: int, end: int) -> list[list[Any]]:
        parts = []
        for h in self.held:
            a, b = max(h.start, begin), min(h.end, end)
            if a < b:
                parts.append([column.slice(a - h.start, b - a) for column in h.columns])
                h.unread -= b - a
        self.held = deque(h for h in self.held if h.unread > 0)
        return parts


class ParquetSource(FileSource):
    """A Parquet file, or all those of a folder one below the other."""

    kind = "Parquet"
    clean: ClassVar[bool] = True
    owns_arrays: ClassVar[bool] = True

    def __init__(
        self,
        paths: list[Path],
        groups: list[RowGroup],
        rows: int,
        picked: Picked,
        read_columns: list[str] | None,
        layout: Layout,
    ) -> None:
        super().__init__(paths, (rows, len(picked.names)), picked.names, layout)
        self.groups, self.picked, self.read_columns = groups, picked, read_columns

    @property
    def batch(self) -> int:
        """Rows decoded together."""
        return self.tile * self.block_tiles

    def decoding(self, rows: int) -> int:
        """The batches that were decoded and are turned into rows, and for each column a page and its buffer."""
        longest = int(np.diff(self.starts(), append=self.n).max(initial=0))
        page = min(2 * PAGE, 16 * longest) + min(BUFFER, 8 * longest)  # neither is larger than its row group
        return (self.hands + 2) * 8 * rows * self.d + page * self.d

    def begin(self) -> Cursor:
        return Cursor(partial(self._walk, self.batch), self.n, max(8, 2 * (os.cpu_count() or 1)))

    def starts(self) -> Index:
        return np.array([group.start for group in self.groups], dtype=np.intp)

    def decode(self, rows: Rows) -> tuple[Array, Mask | None]:
        if isinstance(rows, slice):
            return take_rows(self.reader.rows, rows, self.d)
        cursor = Cursor(partial(self._walk, FEW_ROWS), self.n)  # a few rows here and there: little is decoded for each
        try:
            return take_rows(cursor.rows, rows, self.d)
        finally:
            cursor.close()

    def _walk(self, size: int, row: int) -> BatchStream:
        """(first row, columns) of one batch after the other, from the row group that holds this row."""
        first = int(np.searchsorted(self.starts(), row, side="right")) - 1
        for k, group in groupby(self.groups[first:], key=lambda group: group.file):
            mine = list(group)
            at = mine[0].start
            with open_parquet(self.paths[k]) as file:
                order, wanted = self.picked.positions, [file.schema_arrow.names[j] for j in self.picked.positions]
                places = [one.place for one in mine]
                for batch in file.iter_batches(size, row_groups=places, columns=self.read_columns, use_threads=True):
                    batch.validate()
                    if self.read_columns is not None:
                        order = [batch.schema.names.index(name) for name in wanted]
                    if batch.num_rows:
                        yield at, [batch.column(j) for j in order]
                    at += batch.num_rows


def take_rows(get: Callable[[int, int], list[list[Any]]], rows: Rows, d: int) -> tuple[Array, Mask | None]:
    """Rows of any order through a reader of runs of rows."""
    if isinstance(rows, slice) and rows.stop <= rows.start:
        return np.empty((0, d)), None
    if isinstance(rows, slice):
        return turn(get(rows.start, rows.stop), rows.stop - rows.start, d)
    runs, back = runs_of(rows)
    parts = [get(*run) for run in runs]
    x, seen = turn([batch for part in parts for batch in part], sum(end - begin for begin, end in runs), d)
    return x[back], None if seen is None else seen[back]


def open_parquet(path: Path) -> Any:
    """A Parquet file opened so that no more of it is in memory than a batch needs."""
    from pyarrow import parquet

    # Not mapped into memory: a file that is cut while it is mapped kills the process.
    return parquet.ParquetFile(
        path, pre_buffer=False, buffer_size=BUFFER, memory_map=False, page_checksum_verification=True
    )


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files of a folder in the order of their names, numbers in them by their size."""

    def parts(path: Path) -> list[tuple[bool, int, str]]:
        split = re.split(r"(\d+)", path.name)
        return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in split]

    named = [path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file()]
    return sorted((path for path in named if not path.name.startswith((".", "_"))), key=parts)


def open_source(
    paths: list[Path], columns: tuple[str, ...] | None, weight: str | None, layout: Layout
) -> ParquetSource:
    """The table of one Parquet file or several, known by their footers."""
    schema, groups, rows = _footer(paths[0])[0], list[RowGroup](), 0
    name = paths[0].name if len(paths) == 1 else paths[0].parent.name
    picked = choose_columns(schema, columns, weight, protect_terminal(name))
    for k, path in enumerate(paths):
        footer, counts = _footer(path)
        same = footer.names == schema.names and all(is_number_type(footer.field(j).type) for j in picked.positions)
        if not same:
            raise error("LD016", name=protect_terminal(path.name), first=protect_terminal(paths[0].name))
        for place, count in enumerate(counts):
            groups.append(RowGroup(k, place, rows))
            rows += count
    # The reader is asked for columns by name, but where these could mean other columns too.
    clear = len(set(schema.names)) == len(schema.names) and not any("." in name for name in schema.names)
    by_name = [schema.names[j] for j in picked.positions] if clear else None
    return ParquetSource(paths, groups, rows, picked, by_name, layout)


def _footer(path: Path) -> tuple[Any, list[int]]:
    """The schema of a file, and the rows of each of its groups."""
    with naming_damage(path, ParquetSource.kind), open_parquet(path) as file:
        metadata = file.metadata
        return file.schema_arrow, [_counted(metadata.row_group(k)) for k in range(metadata.num_row_groups)]


def read_whole(path: Path, affordable: Affordable) -> Any:
    """Every column of a file as an Arrow table, refused by what its footer claims before anything is allocated."""
    with naming_damage(path, ParquetSource.kind), open_parquet(path) as file:
        rows, columns = file.metadata.num_rows, file.metadata.num_columns
        affordable(rows, columns, f" and claims {rows:,} rows x {columns:,} columns")
        table, _ = file.read(), file.schema_arrow.names  # which fail here where a name is no text
        return table


def _counted(group: Any) -> int:
    """The rows of a row group, where its columns agree about them."""
    count = int(group.num_rows)
    for j in {0, group.num_columns - 1} if group.num_columns else set():
        if group.column(j).num_values < count or count < 0:
            raise EOFError("its footer claims more rows than it has")
    return count
