"""Arrays in files: .npy mapped into memory, Zarr by its chunks, sparse matrices (.npz, .mtx)."""

from __future__ import annotations

import re
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Index, Mask, evenly_spread
from lowdim.sources.arrays import check_kind
from lowdim.sources.files.base import (
    PIECES,
    Affordable,
    FileSource,
    LastFew,
    Layout,
    check_width,
    damaged,
    naming_damage,
    row_words,
    runs_of,
)
from lowdim.sources.files.sinks import ZARR_MARKS, import_zarr
from lowdim.sources.source import Rows
from lowdim.storage.memory import free_memory
from lowdim.table.open_file import BOMB_RATIO, SMALL_FILE, too_large
from lowdim.text.escape import protect_terminal
from lowdim.text.messages import error

BANDS_KEPT = 2  # bands of a Zarr array that stay unpacked
TAIL_BYTES = 4096  # bytes in which the last line of a Matrix Market file begins
MATRIX_LINE = re.compile(rb"((^|[ \t]+)[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|nan))*")
CONTROL_BYTES = bytes(b for b in range(32) if b not in b"\t\n\r") + b"\x7f"  # none of them stands in a text of numbers
PIECE_BYTES = 2**20  # bytes of a Matrix Market file looked at together
MOST_CELLS = 2**53  # cells of an array that is no lie: more bytes than any disk has
ROW_BYTES = 16  # bytes that a row of a sparse matrix takes, empty or not
ENTRY_BYTES = 4  # bytes that an entry of a Matrix Market file takes at least


class NpySource(FileSource):
    """A .npy file mapped into memory."""

    kind = "NumPy array"

    def __init__(self, path: Path, shape: tuple[int, int], layout: Layout) -> None:
        super().__init__([path], shape, None, layout)

    def begin(self) -> NDArray[Any]:
        return load_npy(self.paths[0])

    def decode(self, rows: Rows) -> tuple[Array, Mask | None]:
        self.unchanged(row_words(rows))  # before the map is touched: a file that was cut would end the process
        return np.ascontiguousarray(self.reader[rows], dtype=np.float64), None


def load_npy(path: Path) -> NDArray[Any]:
    """The array of a .npy file, mapped into memory; a map longer than the file is refused, pickles never opened."""
    try:
        with np.errstate(over="ignore"):  # a shape whose product is beyond 64 bits is longer than any file
            mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        return mapped
    except Exception as problem:
        if "Python objects" in str(problem) or "Object arrays" in str(problem):
            raise error(
                "LD002",
                name=protect_terminal(path.name),
                why="it holds Python objects, which are pickles; pickles can run code, so they are never opened",
                fix="save numbers, or CSV",
            ) from None
        raise damaged(path, NpySource.kind, problem) from None


def open_npy(path: Path, layout: Layout) -> NpySource:
    """The table of a .npy file, refused before anything is allocated where its header lies."""
    array = load_npy(path)
    check_kind(array.shape, array.dtype)
    return NpySource(path, (array.shape[0], array.shape[1]), layout)


def read_whole(path: Path, affordable: Affordable) -> NDArray[Any]:
    """The array of a .npy file in memory, whatever its cells are."""
    array = load_npy(path)
    affordable(array.size, 1, "")
    return np.array(array)


class Bands(LastFew):
    """The chunks of a Zarr array, unpacked a band of rows at a time; the last few are kept."""

    most = BANDS_KEPT

    def __init__(self, path: Path, step: int) -> None:
        super().__init__()
        self.array = import_zarr(path).open_array(str(path), mode="r")
        self.height = int(self.array.chunks[0]) if self.array.chunks[0] > step else 0  # lower chunks are read as asked

    def rows(self, begin: int, end: int) -> NDArray[Any]:
        """These rows."""
        if not self.height:
            return np.asarray(self.array[begin:end])
        parts = []
        for k in range(begin // self.height, -(-end // self.height)):
            base = k * self.height
            parts.append(self.piece(k)[max(begin - base, 0) : end - base])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def read(self, k: int) -> NDArray[Any]:
        return np.asarray(self.array[k * self.height : (k + 1) * self.height])


class ZarrSource(FileSource):
    """A Zarr array of two dimensions."""

    kind = "Zarr"

    def __init__(self, path: Path, mark: Path, shape: tuple[int, int], height: int, layout: Layout) -> None:
        super().__init__([mark], shape, None, layout)
        self.path, self.height = path, height

    @property
    def name(self) -> str:
        return protect_terminal(self.path.name)

    def decoding(self, rows: int) -> int:
        """The bands that stay unpacked, and the one a thread cuts its block from."""
        return 8 * self.d * (BANDS_KEPT + 1) * (self.height if self.height > rows else rows) * self.hands

    def begin(self) -> Bands:
        return Bands(self.path, self.tile * self.block_tiles)

    def starts(self) -> Index:
        return self.height * evenly_spread(-(-max(self.n, 1) // self.height), PIECES)

    def decode(self, rows: Rows) -> tuple[Array, Mask | None]:
        if isinstance(rows, slice):
            return np.ascontiguousarray(self.reader.rows(rows.start, rows.stop), dtype=np.float64), None
        runs, back = runs_of(rows)
        parts = [self.reader.rows(*run) for run in runs]
        values = np.concatenate(parts) if parts else np.zeros((0, self.d))
        return np.ascontiguousarray(values[back], dtype=np.float64), None


def is_zarr(path: Path) -> bool:
    """Whether a folder is a Zarr array or group."""
    return path.suffix.lower() == ".zarr" or any((path / mark).is_file() for mark in ZARR_MARKS)


def open_zarr(path: Path, layout: Layout) -> ZarrSource:
    """The table of a Zarr array."""
    zarr, name = import_zarr(path), protect_terminal(path.name)
    with naming_damage(path, "Zarr"):
        array = zarr.open(str(path), mode="r")
        if not isinstance(array, zarr.Array):
            inside = ", ".join(sorted(str(key) for key in array))[:100]
            raise error(
                "LD002",
                f"in it: {protect_terminal(inside)}",
                name=name,
                why="it is a group of Zarr arrays",
                fix=f"give one of them:  {name}/NAME",
            )
        shape, kind, chunks = array.shape, array.dtype, array.chunks
        mark = next(path / one for one in ZARR_MARKS if (path / one).is_file())
    check_kind(shape, kind)
    if shape[0] * shape[1] > MOST_CELLS:
        raise damaged(path, "Zarr", f"it claims {shape[0]:,} rows x {shape[1]:,} columns")
    return ZarrSource(path, mark, shape, max(int(chunks[0]), 1), layout)


def load_npz(path: Path) -> Any:
    """The sparse matrix of a .npz file, every index in it checked; pickles are never opened."""
    _refuse_lies(path)
    with naming_damage(path, "a sparse matrix (scipy.sparse.save_npz)"):
        matrix = sp.load_npz(path)
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)  # an index beyond the matrix would be written beyond memory
        elif matrix.format == "coo":
            matrix = type(matrix)((matrix.data, matrix.coords), shape=matrix.shape)
        _refuse_rows(path, matrix.shape[0])
        return _narrow(matrix)


def _refuse_lies(path: Path) -> None:
    """Each array inside must be as long as its header says, and all of them fit into memory."""
    with naming_damage(path, "a sparse matrix (scipy.sparse.save_npz)"):
        total = 0
        with zipfile.ZipFile(path) as archive:
            for part in archive.infolist():
                with archive.open(part) as file:
                    version = np.lib.format.read_magic(file)
                    first, later = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
                    shape, _, kind = first(file) if version == (1, 0) else later(file)
                    if file.tell() + int(np.prod(shape, dtype=object)) * kind.itemsize != part.file_size:
                        raise EOFError(f"'{part.filename}' is not as long as it says")
                total += part.file_size
    if 3 * total > free_memory():
        raise too_large(path.name, path.stat().st_size, 3 * total, free_memory())


def load_mtx(path: Path) -> Any:
    """The matrix of a Matrix Market file, refused where it claims more than it can hold."""
    from scipy.io import mminfo, mmread
    from scipy.sparse import coo_array, issparse

    with naming_damage(path, "Matrix Market"):
        rows, columns, entries = (int(part) for part in mminfo(path)[:3])
        if max(entries, 0) * ENTRY_BYTES // 2 > path.stat().st_size or min(rows, columns, entries) < 0:
            raise EOFError(f"it claims {entries:,} entries and is too short for them")
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - TAIL_BYTES, 0))
            last_line = file.read().rpartition(b"\n")[2]  # what stands after the last line break, mostly nothing
        if not MATRIX_LINE.fullmatch(last_line):  # SciPy reads on beyond a number that breaks off there
            raise EOFError("it breaks off within a line")
        if _has_control_bytes(path):  # SciPy's reader would end the process
            raise damaged(path, "Matrix Market", "it has zero or control bytes, and is text")
        check_width(columns, "leave columns out, or turn the matrix")
        _refuse_rows(path, rows)
        matrix = mmread(path)
        return _narrow(coo_array(matrix) if issparse(matrix) else matrix)


def _refuse_rows(path: Path, rows: int) -> None:
    """Refuse a sparse matrix of far more rows than its file can say anything about: each costs memory, empty or not."""
    size, need = path.stat().st_size, ROW_BYTES * rows
    if need > SMALL_FILE and (need > BOMB_RATIO * size or need > free_memory()):
        raise too_large(path.name, size, need, free_memory(), shape=f" and claims {rows:,} rows")


def _has_control_bytes(path: Path) -> bool:
    """Whether bytes stand in a file that no text has."""
    with path.open("rb") as file:
        pieces = iter(partial(file.read, PIECE_BYTES), b"")
        return any(len(piece.translate(None, CONTROL_BYTES)) < len(piece) for piece in pieces)


def _narrow(matrix: Any) -> Any:
    check_kind(matrix.shape, matrix.dtype)
    check_width(matrix.shape[1], "leave columns out")
    return matrix
