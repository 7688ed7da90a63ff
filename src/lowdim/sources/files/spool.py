"""Parsed rows kept in an Arrow file while a fit walks a text file again and again: text is parsed once."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from lowdim.sources.arrow_rows import Picked
from lowdim.sources.files.arrow import RecordBatches
from lowdim.storage.memory import free_memory

CELL_BYTES = 8.25  # of a cell in the spool: its number, and a bit that says whether it is there
FREE_SHARE = 0.9  # of the free disk that a spool may take
SPOOL_MEMORY_SHARE = 0.25  # of the free memory that it may take where the folder lies in memory
NAME = ".lowdim-rows.tmp"  # a checkpoint sweeps what a killed fit left under such a name


class RowSpool:
    """The rows of one table of numbers, each run of them written once, as they are parsed, in any order.

    Nothing is kept but inside `used`. Where the disk has no room, or fills up, rows are parsed again as if there
    were no spool.
    """

    def __init__(self, n: int, d: int) -> None:
        self.n, self.d = n, d
        self.lock = threading.Lock()
        self.path = Path()
        self.schema: Any = None
        self.writer: Any = None
        self.runs: list[tuple[int, int, int]] = []  # first row, the one after the last, number of the batch
        self.reader: RecordBatches | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return RowSpool, (self.n, self.d)  # on another machine there is none

    @contextmanager
    def used(self, folder: Path | None) -> Iterator[None]:
        """Keep rows in this folder, or in one of its own that is removed at the end."""
        with ExitStack() as clean:
            if self.writer is None and self.reader is None and self.n:
                with suppress(OSError):
                    place = folder or Path(
                        clean.enter_context(TemporaryDirectory(prefix="lowdim-", ignore_cleanup_errors=True))
                    )
                    if has_room(place, int(CELL_BYTES * self.n * self.d)):
                        clean.callback(self._close)  # before the folder is removed
                        self._open(place / NAME)
            yield

    def _open(self, path: Path) -> None:
        import pyarrow as pa

        self.path, self.runs = path, []
        self.schema = pa.schema([(f"f{j}", pa.float64()) for j in range(self.d)])
        self.writer = pa.ipc.new_file(str(path), self.schema)

    def _close(self) -> None:
        with self.lock:
            self.reader = None
            writer, self.writer = self.writer, None
            with suppress(OSError):
                if writer is not None:
                    writer.close()
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    @property
    def is_filling(self) -> bool:
        """Whether rows are being kept and some are still to come."""
        return self.writer is not None

    def rows(self, begin: int, end: int) -> list[list[Any]] | None:
        """The columns of these rows, in the batches they came in; None while some rows have not been seen."""
        reader = self.reader
        try:
            return None if reader is None else reader.rows(begin, end)
        except Exception:  # the file is gone or damaged; the text is still there
            self._close()
            return None

    def add(self, begin: int, columns: list[Any]) -> None:
        """Keep these rows, the first of which is row `begin`; rows that are there already are not kept twice."""
        import pyarrow as pa

        end = begin + len(columns[0])
        with self.lock:
            # The place of this run among those that are there, and the rows that are free before and after it.
            at = bisect_left(self.runs, (begin, end, 0))
            before = self.runs[at - 1][1] if at else 0
            after = self.runs[at][0] if at < len(self.runs) else self.n
            if self.writer is None or not before <= begin < end <= after:
                return
            try:
                self.writer.write_batch(pa.record_batch(columns, schema=self.schema))
                self.runs.insert(at, (begin, end, len(self.runs)))
                # Runs lie in the file as they came; `runs` says in which order they are rows of the table.
                if sum(stop - start for start, stop, _ in self.runs) == self.n:
                    self._finish()
            except OSError:  # the disk is full
                self.writer = None
                with suppress(OSError):
                    self.path.unlink(missing_ok=True)

    def _finish(self) -> None:
        """Every row is there: from now on they are read from the file."""
        self.writer.close()
        self.writer = None
        starts = np.array([start for start, _, _ in self.runs], dtype=np.intp)
        names = tuple(f"f{j}" for j in range(self.d))
        self.reader = RecordBatches(
            self.path, Picked(list(range(self.d)), names), starts, [number for _, _, number in self.runs]
        )


def has_room(folder: Path, need: int) -> bool:
    """Whether so many bytes fit into a folder, and into memory where that is where it lies."""
    try:
        if need > FREE_SHARE * shutil.disk_usage(folder).free:
            return False
        return not in_memory(folder) or need <= SPOOL_MEMORY_SHARE * free_memory()
    except OSError:
        return False


def in_memory(folder: Path) -> bool:
    """Whether a folder lies on a disk that is made of memory (tmpfs)."""
    if sys.platform != "linux":
        return False
    device = os.stat(folder).st_dev
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        with suppress(OSError):
            if kind in ("tmpfs", "ramfs") and os.stat(place).st_dev == device:
                return True
    return False
