"""Arrow's own files (IPC, Feather): record batches mapped into memory, or unpacked one at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lowdim.maths.linalg import Array, Index, Mask
from lowdim.sources.arrow_rows import Picked, choose_columns
from lowdim.sources.files.base import Affordable, FileSource, LastFew, Layout, naming_damage
from lowdim.sources.files.parquet import take_rows
from lowdim.sources.source import Rows
from lowdim.text.escape import protect_terminal

BATCHES_KEPT = 4  # batches that stay open: of a packed file, unpacked


class RecordBatches(LastFew):
    """The record batches of a file by row, the last few kept; `order` is their place where rows are not in order."""

    most = BATCHES_KEPT

    def __init__(self, path: Path, picked: Picked, starts: Index, order: list[int] | None = None) -> None:
        super().__init__()
        self.path, self.picked, self.starts, self.order = path, picked, starts, order
        self.file: Any = None

    def rows(self, begin: int, end: int) -> list[list[Any]]:
        """The columns of these rows, in the batches they came in."""
        first, last = (int(np.searchsorted(self.starts, row, side="right")) - 1 for row in (begin, end - 1))
        parts = []
        for k in range(first, last + 1):
            start = int(self.starts[k])
            columns = self.piece(k)
            a, b = max(begin - start, 0), min(end - start, len(columns[0]))
            if b > a:
                parts.append([column.slice(a, b - a) for column in columns])
        if sum(len(part[0]) for part in parts) != end - begin:
            raise EOFError(f"it ends before row {end:,}")
        return parts

    def read(self, k: int) -> list[Any]:
        self.file = open_ipc(self.path) if self.file is None else self.file
        batch = self.file.get_batch(k if self.order is None else self.order[k])
        batch.validate()  # a length beyond its buffers would be read beyond the file
        return [batch.column(j) for j in self.picked.positions]


class FeatherSource(FileSource):
    """An Arrow IPC file."""

    kind = "Arrow"
    clean: ClassVar[bool] = True
    owns_arrays: ClassVar[bool] = True

    def __init__(self, path: Path, starts: Index, rows: int, picked: Picked, layout: Layout) -> None:
        super().__init__([path], (rows, len(picked.names)), picked.names, layout)
        self.first, self.picked = starts, picked

    def decoding(self, rows: int) -> int:
        """The batches that stay open, unpacked, and those of a block that is read."""
        longest = int(np.diff(self.first, append=self.n).max(initial=0))
        return 8 * self.d * (BATCHES_KEPT * longest + self.hands * max(longest, rows))

    def begin(self) -> RecordBatches:
        return RecordBatches(self.paths[0], self.picked, self.first)

    def starts(self) -> Index:
        return self.first

    def decode(self, rows: Rows) -> tuple[Array, Mask | None]:
        return take_rows(self.reader.rows, rows, self.d)


def open_ipc(path: Path, fields: list[int] | None = None) -> Any:
    """The reader of an Arrow file, mapped into memory; of some of its fields where they are given."""
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(included_fields=fields) if fields is not None else None
    return pa.ipc.open_file(pa.memory_map(str(path)), options=options)


def open_source(path: Path, columns: tuple[str, ...] | None, weight: str | None, layout: Layout) -> FeatherSource:
    """The table of an Arrow file; its batches are counted by their first column."""
    with naming_damage(path, FeatherSource.kind):
        file = open_ipc(path)
        picked = choose_columns(file.schema, columns, weight, protect_terminal(path.name))
        few = open_ipc(path, [picked.positions[0] if picked.positions else 0]) if len(file.schema) else file
        sizes = [_counted(few.get_batch(k)) for k in range(few.num_record_batches)]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    return FeatherSource(path, starts[:-1], int(starts[-1]), picked, layout)


def read_whole(path: Path, affordable: Affordable) -> Any:
    """Every column of a file as an Arrow table, refused as soon as it grows too large; every cell is checked."""
    import pyarrow as pa

    with naming_damage(path, FeatherSource.kind):
        file = open_ipc(path)
        batches, rows, _ = [], 0, file.schema.names  # which fails here where a name is no text
        for k in range(file.num_record_batches):
            batches.append(file.get_batch(k))
            rows += batches[-1].num_rows
            affordable(rows, len(file.schema), "")
            batches[-1].validate(full=True)
        return pa.Table.from_batches(batches, file.schema)


def _counted(batch: Any) -> int:
    batch.validate()
    return int(batch.num_rows)
