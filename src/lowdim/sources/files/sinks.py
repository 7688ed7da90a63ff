"""Results into files, block by block: .npy, Parquet, CSV and Zarr.

A file is written under another name and takes its own in one step when it is whole, so that neither an
error nor a full disk costs what stood there before.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.storage.atomic import Replacement, not_written
from lowdim.text.escape import protect_cell
from lowdim.text.messages import error

GROUP_CELLS = 2**22  # 32 MB of float64 in a row group
ZARR_CHUNK_ROWS = 8192
ZARR_MARKS = ("zarr.json", ".zarray")  # what makes a folder a Zarr array, of version 3 or 2


class FileSink:
    """Rows into a file that never needs to be in memory; a format says how it begins, takes rows and ends."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    folder: ClassVar[bool] = False  # whether the format is a folder of files

    def __init__(self, n: int, path: str | PathLike[str], names: tuple[str, ...] | None) -> None:
        self.n, self.path, self.names = n, Path(path), names
        self.new: Replacement | None = None
        self.out: Any = None
        self.waiting: list[Array] = []

    def begin(self, part: Path, width: tuple[int, ...]) -> Any:
        raise NotImplementedError

    def rows(self, start: int, rows: Array) -> None:
        raise NotImplementedError

    def end(self) -> None:
        raise NotImplementedError

    def result(self) -> Any:
        """What the caller gets."""
        return self.path

    def columns(self, width: tuple[int, ...]) -> list[str]:
        count = width[0] if width else 1
        names = self.names if self.names is not None and len(self.names) == count else ()
        return list(names) or [f"c{j + 1}" for j in range(count)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._drop()

    def write(self, start: int, rows: Array) -> None:
        try:
            if self.new is None:
                self.new = Replacement(self.path, folder=self.folder)
                self.out = self.begin(self.new.temp, rows.shape[1:])
            self.rows(start, rows)
        except OSError as cause:
            raise not_written(self.path, cause) from cause

    def close(self) -> Any:
        assert self.new is not None
        try:
            self.end()
            self.out = None
            self.new.put()
        except OSError as cause:
            raise not_written(self.path, cause) from cause
        finally:  # also where Ctrl-C comes while the last bytes are written
            self._drop()
        return self.result()

    def _drop(self) -> None:
        with suppress(Exception):  # what is left to be written cannot be: that is known already
            if self.out is not None:
                self.out.close()
        if self.new is not None:
            self.new.drop()


class NpySink(FileSink):
    """A .npy file, given back as a memory map.

    It is written, not mapped: on a full disk a write says so, while a mapped page ends the process.
    """

    suffixes = (".npy",)

    def begin(self, part: Path, width: tuple[int, ...]) -> Any:
        file = part.open("wb")
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (self.n, *width)})
        self.first = file.tell()
        return file

    def rows(self, start: int, rows: Array) -> None:
        self.out.seek(self.first + start * rows[0].nbytes if len(rows) else self.out.tell())
        self.out.write(np.ascontiguousarray(rows, dtype="<f8").data)

    def end(self) -> None:
        self.out.close()

    def result(self) -> Any:
        return np.lib.format.open_memmap(self.path, "r")


class TableSink(FileSink):
    """Rows gathered until they make a row group worth writing."""

    schema: Any

    def rows(self, start: int, rows: Array) -> None:
        self.waiting.append(rows)
        if sum(part.size for part in self.waiting) >= GROUP_CELLS:
            self._flush()

    def _flush(self) -> None:
        waiting, self.waiting = self.waiting, []
        if waiting:
            import pyarrow as pa  # an extra: only who writes such a table needs it

            rows = np.concatenate(waiting)
            values = rows.reshape(len(rows), -1)
            cells = [pa.array(np.ascontiguousarray(values[:, j])) for j in range(values.shape[1])]
            self.out.write_table(pa.table(cells, schema=self.schema))

    def end(self) -> None:
        self._flush()
        self.out.close()


class ParquetSink(TableSink):
    """A Parquet file, a row group for about 32 MB."""

    suffixes = (".parquet", ".pq")

    def begin(self, part: Path, width: tuple[int, ...]) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.schema = pa.schema([(name, pa.float64()) for name in self.columns(width)])
        return pq.ParquetWriter(part, self.schema)


class CsvSink(TableSink):
    """A CSV file with a header, every number in the shortest form that reads back to the same bits."""

    suffixes = (".csv",)

    def begin(self, part: Path, width: tuple[int, ...]) -> Any:
        import pyarrow as pa
        import pyarrow.csv as pc

        self.schema = pa.schema([(protect_cell(name), pa.float64()) for name in self.columns(width)])
        return pc.CSVWriter(part, self.schema)


class ZarrSink(FileSink):
    """A Zarr array, a chunk a write; of the folders that may be there, only a Zarr array is replaced."""

    suffixes = (".zarr",)
    folder = True

    def begin(self, part: Path, width: tuple[int, ...]) -> Any:
        zarr = import_zarr(self.path)
        old = [inside.name for inside in self.path.iterdir()] if self.path.is_dir() else []
        if old and not any(mark in old for mark in ZARR_MARKS):
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        return zarr.create_array(
            str(part), shape=(self.n, *width), dtype="float64", chunks=(min(self.n, ZARR_CHUNK_ROWS), *width)
        )

    def rows(self, start: int, rows: Array) -> None:
        self.out[start : start + len(rows)] = rows

    def end(self) -> None:
        """Every chunk is written already."""

    def result(self) -> Any:
        return import_zarr(self.path).open_array(str(self.path), mode="r")


FORMATS: tuple[type[FileSink], ...] = (NpySink, ParquetSink, CsvSink, ZarrSink)


def import_zarr(path: Path) -> Any:
    """The zarr package, or the error that says how to get it."""
    try:
        import zarr
    except ImportError:
        raise error("LD004", name=path.name, package="zarr", extra="zarr") from None
    return zarr


def file_sink(out: str | PathLike[str], n: int, names: tuple[str, ...] | None) -> FileSink:
    """The sink for a path, whose ending says the format."""
    for form in FORMATS:
        if Path(out).suffix.lower() in form.suffixes:
            return form(n, out, names)
    endings = ", ".join(suffix for form in FORMATS for suffix in form.suffixes)
    raise error("LD210", option="out", value=str(out), allowed=f"a path that ends in {endings}, or an array")
