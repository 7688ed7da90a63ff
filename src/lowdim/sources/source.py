"""Where rows live: the one interface of every table, in memory or not, and the blocks of rows it gives."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.maths.linalg import Array, Index, Mask, evenly_spread
from lowdim.text.messages import LowdimError, error

TILE_CELLS = 2**20  # 8 MB of float64: a tile stays in the last-level cache while BLAS works on it
TILE_ROWS = (256, 8192)  # fewer rows waste BLAS, more waste the cache in row-wise E-steps
KEEP_CELLS = 2**22  # up to 32 MB of finished blocks are kept between passes
Rows = slice | Index  # which rows of a table


class Block(NamedTuple):
    """Rows `start`, `start + 1`, ... of a table; a gap holds 0.0 in `x` and False in `mask`.

    `x` is a CSR matrix only where `Stored` made the block: for the few statistics that work on stored cells.
    """

    x: Array
    mask: Mask | None = None  # True = seen; None = complete, the cheap path
    weight: Array | None = None  # how many times each row counts; None = once
    start: int = 0

    @property
    def seen(self) -> Mask:
        """The mask as an array, also of a complete block."""
        return np.ones(self.x.shape, dtype=bool) if self.mask is None else self.mask

    @property
    def times(self) -> Array:
        """The weights as an array: how many times each row counts."""
        return np.ones(self.x.shape[0]) if self.weight is None else self.weight

    @property
    def with_nan(self) -> Array:
        """The cells, gaps as NaN."""
        return self.x if self.mask is None else np.where(self.mask, self.x, np.nan)

    def take(self, rows: slice | Index | Mask) -> Block:
        """These rows of the block in this order; where they have no gaps they are complete.

        `start` is the block's own: it says nothing of rows that are no longer one after the other.
        """
        mask = None if self.mask is None else self.mask[rows]
        if mask is not None and mask.all():
            mask = None
        return Block(self.x[rows], mask, None if self.weight is None else self.weight[rows], self.start)

    def tiles(self, tile: int) -> Iterator[Block]:
        """The block cut into tiles, the leaves of every fold."""
        n = self.x.shape[0]
        if n <= tile:
            yield self
            return
        for begin in range(0, n, tile):
            yield self.take(slice(begin, begin + tile))._replace(start=self.start + begin)


@cache
def cores() -> int:
    """Cores this process may use, looked up once; not every system says which."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def tile_rows(d: int) -> int:
    """Rows in a tile: a power of two that depends on the number of columns alone."""
    rows = min(max(TILE_CELLS // max(d, 1), TILE_ROWS[0]), TILE_ROWS[1])
    return 1 << (rows.bit_length() - 1)


class Source(ABC):
    """A table as a stream of blocks, each of `block_tiles` (a power of two) whole tiles.

    A kind of table implements `read`: raw numbers of any rows. What everyone else calls is `block_of`, the same rows
    checked and with a mask and weights, and `block(i)`, the i-th run of rows of the walk.
    """

    source: Source | None = None  # of a view: the source that it shows another way
    owns_arrays: ClassVar[bool] = False  # whether `read` gives arrays that nobody else holds
    clean: ClassVar[bool] = False  # whether its mask knows every gap and zeros stand there, so that a sum tells of NaN
    is_sparse: bool = False  # whether `leaf.stored(rows)` gives the few cells that are not zero
    local: ClassVar[bool] = True  # whether the rows live in this process; False = any machine can read them

    def __init__(
        self,
        shape: tuple[int, int],
        columns: tuple[str, ...] | None,
        weight: Array | None = None,
        tile: int | None = None,
        block_tiles: int | None = None,
    ) -> None:
        self.n, self.d = shape
        self.named = columns is not None
        self.columns = columns if columns is not None else tuple(f"c{j + 1}" for j in range(self.d))
        self.weight = weight
        self.tile = tile_rows(self.d) if tile is None else tile
        self.block_tiles = 1 if block_tiles is None else block_tiles
        if self.tile < 1 or self.block_tiles < 1 or self.block_tiles & (self.block_tiles - 1):
            words = "tile >= 1 and block_tiles a power of two"
            raise error("LD210", option="tile, block_tiles", value=(tile, block_tiles), allowed=words)
        self._kept: dict[int, Block] = {}

    @abstractmethod
    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        """These rows as float64, gaps as NaN or, where a mask is given, marked False in it."""

    @property
    def n_blocks(self) -> int:
        step = self.tile * self.block_tiles
        return -(-self.n // step)

    @property
    def total(self) -> float:
        """The number of rows, each counted by its weight."""
        return float(self.n) if self.weight is None else float(self.weight.sum())

    @property
    def repeats(self) -> int:
        """How many rows the table would have if each were repeated by its weight."""
        if self.weight is None:
            return self.n
        return max(int(self.total), int((self.weight > 0).sum()))  # weights may be small fractions

    def changed(self, **attributes: Any) -> Source:
        """A copy of this source with other attributes and no kept blocks; this source stays as it is."""
        other = copy(self)
        other.__dict__.update(attributes, _kept={})
        return other

    def weighted(self, weight: Array | None) -> Source:
        """The same rows counted by other weights."""
        return self.changed(weight=weight)

    def single_tile_blocks(self) -> Source:
        """The same rows a tile at a time: for verbs that hold what they make of a block."""
        return self.changed(block_tiles=1)

    @property
    def leaf(self) -> Source:
        """The source that holds the rows, under every view of it."""
        return self if self.source is None else self.source.leaf

    def rebased(self, leaf: Source) -> Source:
        """This view of another leaf: how an executor sends a few rows of a table without the rest."""
        return leaf

    def stored(self, rows: Rows) -> Any:
        """These rows as a CSR matrix, where the source is sparse."""
        raise NotImplementedError

    @property
    def per_row(self) -> float:
        """Stored cells a row."""
        return float(self.d)

    @property
    def overhead(self) -> int:
        """Bytes that reading takes beside the tiles themselves, all threads together."""
        return 0

    def executor(self) -> Any:
        """What must walk these rows, where they lie with someone else; None = whoever asks."""
        return None

    def spooled(self, folder: Path | None) -> AbstractContextManager[None]:
        """While this lasts, a source that is slow to read may keep its rows in a quicker form.

        They lie in the folder given or a temporary one, and are removed at the end.
        """
        return nullcontext()

    def unchanged(self, where: str = "") -> None:
        """Asked before each walk: a table that is no longer what it was refuses to go on."""
        return  # what lies in memory is the caller's own to change

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}}  # what is sent to another machine is the way to the rows

    def block(self, i: int) -> Block:
        """Block i. Small tables keep their finished blocks from pass to pass."""
        if i in self._kept:
            return self._kept[i]
        step = self.tile * self.block_tiles
        begin, end = i * step, min((i + 1) * step, self.n)
        try:
            block = self.block_of(slice(begin, end), begin)
        except Exception as problem:
            if not isinstance(problem, LowdimError):  # ours name the row themselves
                problem.add_note(f"lowdim: while reading block {i}, rows {begin + 1} to {end}")
            raise
        if self.n * self.d <= KEEP_CELLS:
            self._kept[i] = block
        return block

    def sample(self, k: int, rng: np.random.Generator | None = None) -> Block:
        """About k rows by global index: drawn by `rng`, or evenly spread where there is none."""
        k = min(k, self.n)
        rows = evenly_spread(self.n, k) if rng is None else np.sort(rng.choice(self.n, k, replace=False))
        return self.block_of(rows)

    def block_of(self, rows: Rows, start: int = 0) -> Block:
        """These rows as a finished block: gaps found and zeroed, infinite cells refused, weights beside them."""
        values, mask = self.read(rows)
        weight = self.weights(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = bool(np.isfinite(values.sum()))  # one cheap look; only if it fails, a look at every cell
        if mask is None and finite:
            return Block(values, None, weight, start)
        seen = mask
        if seen is None or not (self.clean and finite):
            seen = ~np.isnan(values) if mask is None else mask & ~np.isnan(values)
            values = np.where(seen, values, 0.0)
        if weight is not None:
            seen = seen | (weight == 0.0)[:, None]  # what counts for nothing has no gaps either
        if not finite and not np.isfinite(values).all():
            i, j = np.argwhere(~np.isfinite(values))[0]
            row = int(np.arange(rows.start, rows.stop)[i] if isinstance(rows, slice) else rows[i])
            name = self.columns[j]
            # scikit-learn's users look for the word "infinity" in this error
            raise error("LD150", f"row {row + 1}, column '{name}' (infinity)", value=values[i, j], column=name)
        return Block(values, None if seen.all() else seen, weight, start)

    def weights(self, rows: Rows) -> Array | None:
        """How often each of these rows counts."""
        return None if self.weight is None else self.weight[rows]

    def fingerprint(self) -> str:
        """A short name for this table's shape and first and last rows."""
        digest = hashlib.blake2b(f"{self.n} {self.d} {self.columns}".encode(), digest_size=16)
        for rows in (slice(0, min(self.n, 8)), slice(max(self.n - 8, 0), self.n)):
            digest.update(self.read(rows)[0].tobytes())
        return digest.hexdigest()
