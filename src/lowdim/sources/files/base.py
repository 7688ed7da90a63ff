"""A table in a file: read a block at a time, refused where it is damaged or changes between two looks."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.maths.linalg import Array, Index, Mask, evenly_spread
from lowdim.sources.source import KEEP_CELLS, Block, Rows, Source, cores, tile_rows
from lowdim.text.escape import protect_terminal
from lowdim.text.messages import LowdimError, error

BLOCK_CELLS = 2**22  # 32 MB of float64: few enough to hold several, enough to make a read worth its start
BLOCK_COST = 18  # bytes a cell of a block takes: two copies of its number and its mask
PIECES = 32  # places of a large file that a sample is taken from
DRAW = 8  # rows looked at for one that is drawn
WIDEST_FILE = 10**6  # columns


class Stamp(NamedTuple):
    """What tells one state of a file from another without reading it."""

    size: int
    changed: int  # nanoseconds
    inode: int


def stamp(path: Path) -> Stamp:
    """The stamp of a file as it is now."""
    status = os.stat(path)
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ino)


def check_unchanged(paths: list[Path], stamps: list[Stamp], where: str = "") -> None:
    """Refuse files that are no longer what they were when these stamps were taken."""
    for path, was in zip(paths, stamps, strict=True):
        try:
            now = stamp(path)
        except OSError:
            raise changed(path, "it is gone", where) from None
        if now != was:
            words = {"size": "it has another size", "changed": "it was written to", "inode": "it was replaced"}
            raise changed(path, next(words[part] for part in words if getattr(now, part) != getattr(was, part)), where)


def changed(path: str | PathLike[str], problem: str, where: str = "") -> LowdimError:
    """The error of a file that changes while it is read."""
    return error("LD174", where, name=protect_terminal(Path(path).name), problem=problem)


def block_tiles(d: int, tile: int | None) -> int:
    """How many tiles (a power of two) make about 32 MB of float64."""
    cells = max(d, 1) * (tile or tile_rows(d))
    return 1 << max(BLOCK_CELLS // cells, 1).bit_length() - 1


def damaged(path: str | PathLike[str], kind: str, problem: object, where: str = "") -> LowdimError:
    """The one error of a file that its reader cannot read."""
    text = protect_terminal(str(problem) or type(problem).__name__)
    return error("LD015", where, name=protect_terminal(Path(path).name), kind=kind, problem=text[:160])


@contextmanager
def naming_damage(path: str | PathLike[str], kind: str) -> Iterator[None]:
    """Whatever a reader raises here means that the file is damaged; our own errors say what they mean."""
    try:
        yield
    except LowdimError:
        raise
    except Exception as problem:  # a damaged file may fail anywhere inside a foreign reader
        raise damaged(path, kind, problem) from None


def check_width(d: int, fix: str) -> None:
    """Refuse more columns than a table has."""
    if d > WIDEST_FILE:
        raise error("LD171", d=f"{d:,}", most=f"{WIDEST_FILE:,}", fix=fix)


Affordable = Callable[[int, int, str], None]  # refuses so many rows and columns that do not fit into memory


class Layout(NamedTuple):
    """Rows of a tile and tiles of a block, how a table is walked; None: as its width asks."""

    tile: int | None = None
    block_tiles: int | None = None


class LastFew:
    """Pieces of a file by their number, the last few kept; who asks for another waits until it is read."""

    most: ClassVar[int]

    def __init__(self) -> None:
        self.lock, self.kept = threading.Lock(), OrderedDict[int, Any]()

    def read(self, k: int) -> Any:
        raise NotImplementedError

    def piece(self, k: int) -> Any:
        with self.lock:
            if k not in self.kept:
                self.kept[k] = self.read(k)
                while len(self.kept) > self.most:
                    self.kept.popitem(last=False)
            return self.kept[k]


class FileSource(Source):
    """A table in one file or several; a format says how rows are taken from it.

    Every block is read with the file's size, time and inode as they were when it was opened, and its sum is that
    of the pass before: a file that changes meanwhile is an error, never an answer.
    """

    local = False
    kind: ClassVar[str] = ""

    def __init__(
        self, paths: list[Path], shape: tuple[int, int], columns: tuple[str, ...] | None, layout: Layout
    ) -> None:
        check_width(shape[1], "name the columns to use:  columns=[...]")
        tiles = block_tiles(shape[1], layout.tile) if layout.block_tiles is None else layout.block_tiles
        super().__init__(shape, columns, None, layout.tile, tiles)
        self.paths = [path.absolute() for path in paths]  # a worker may stand in another folder
        self.stamps = [stamp(path) for path in paths]
        self._sums: dict[tuple[int, int], float] = {}
        self._reader: Any = None

    def decode(self, rows: Rows) -> tuple[Array, Mask | None]:
        """These rows, by a format; whatever it raises means that the file is damaged."""
        raise NotImplementedError

    def begin(self) -> Any:
        """What reads the file and cannot be sent to another machine; made anew there."""
        return None

    def starts(self) -> Index:
        """Rows that reading may begin at without reading what stands before them."""
        return np.zeros(1, dtype=np.intp)

    @property
    def name(self) -> str:
        """The file or folder as messages name it."""
        return protect_terminal((self.paths[0] if len(self.paths) == 1 else self.paths[0].parent).name)

    @property
    def reader(self) -> Any:
        if self._reader is None:
            self._reader = self.begin()
        return self._reader

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_reader": None, "_sums": {}}

    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        try:
            cells = self.decode(rows)
        except LowdimError:
            raise
        except Exception as problem:  # a damaged file may fail anywhere inside a foreign reader
            self.unchanged(row_words(rows))
            raise damaged(self.name, self.kind, problem, row_words(rows)) from None
        self.unchanged(row_words(rows))
        return cells

    def unchanged(self, where: str = "") -> None:
        check_unchanged(self.paths, self.stamps, where)

    def block_of(self, rows: Rows, start: int = 0) -> Block:
        block = super().block_of(rows, start)
        with np.errstate(over="ignore"):  # of finite cells
            total = float(block.x.sum())
        if isinstance(rows, slice) and self._sums.setdefault((rows.start, rows.stop), total) != total:
            raise changed(self.name, "its numbers are not those of the pass before", row_words(rows))
        return block

    def single_tile_blocks(self) -> Source:
        return self.changed(block_tiles=1, _reader=None)  # a reader may decode a block at a time

    def sample(self, k: int, rng: np.random.Generator | None = None) -> Block:
        """About k rows: of a large file from a few places where reading is cheap, which depend on the file alone."""
        if self.n * self.d <= KEEP_CELLS:
            return super().sample(k, rng)
        starts = self.starts()
        starts = starts[evenly_spread(len(starts), PIECES)]
        each = -(-k // len(starts)) * (1 if rng is None else DRAW)
        rows = np.unique(np.concatenate([np.arange(s, min(s + each, self.n)) for s in starts]))
        if rng is not None:
            rows = np.sort(rng.choice(rows, min(k, len(rows)), replace=False))
        return self.block_of(rows, 0)

    @property
    def overhead(self) -> int:
        """Bytes beside the tiles: the rest of a block, twice (as read, and in the model's frame), and the format's."""
        rows = min(self.tile * self.block_tiles, self.n)
        more = BLOCK_COST * max(rows - self.tile, 0) * self.d
        return self.hands * more + self.decoding(rows)

    @property
    def hands(self) -> int:
        """How many threads may read at once."""
        return min(cores(), self.n_blocks)

    def decoding(self, rows: int) -> int:
        """Bytes that the format holds while all threads read blocks of so many rows."""
        return 0 if self.clean else self.hands * 8 * rows * self.d  # gaps are found in a copy

    def fingerprint(self) -> str:
        """A short name for the file's shape, size and time, and a sample of its rows."""
        digest = hashlib.blake2b(f"{self.n} {self.d} {self.columns}".encode(), digest_size=16)
        for was in self.stamps:
            digest.update(f"{was.size} {was.changed}".encode())
        block = self.sample(PIECES)
        digest.update(block.x.tobytes() + (b"" if block.mask is None else block.mask.tobytes()))
        return digest.hexdigest()


def runs_of(rows: Index) -> tuple[list[tuple[int, int]], Index]:
    """Rows of any order as runs (first, one after the last) of rising rows, and where each row is among those.

    >>> runs_of(np.array([7, 3, 4, 7]))[0]
    [(3, 5), (7, 8)]
    """
    once, back = np.unique(rows, return_inverse=True)
    runs = np.split(once, np.flatnonzero(np.diff(once) != 1) + 1)
    return [(int(run[0]), int(run[-1]) + 1) for run in runs if len(run)], back


def row_words(rows: Rows) -> str:
    """Rows as a message names them."""
    if isinstance(rows, slice):
        return f"rows {rows.start + 1:,} to {rows.stop:,}"
    return f"{len(rows):,} rows from row {int(rows[0]) + 1:,} on" if len(rows) else "no rows"
