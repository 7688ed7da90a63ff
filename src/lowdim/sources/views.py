"""A table seen another way: in other units, some of its columns, by its stored cells, or beside another table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lowdim.maths.linalg import LARGEST, Array, Mask, moderate_scale
from lowdim.sources.source import Block, Rows, Source, tile_rows
from lowdim.text.messages import error

STORED_CELLS = 2**21  # stored cells in a tile: a product takes ten milliseconds, and starting one a tenth of that
FRAME_ROWS = 256  # rows that set the origin; the mean of so many lies within sd/16 of the truth
FAR_FROM_ZERO = 2.0**1020  # numbers beyond this may differ by more than a double can hold
HUGE_SCALE = 2.0**-900  # the scale of tables whose cells lie so near the end of double precision that sums may pass it


class Frame(NamedTuple):
    """The origin and unit a model works in: z = (x - shift) * scale.

    `shift` keeps digits where a column sits far from zero, `scale` where numbers are huge or tiny.
    `unit` is what one reported unit is worth in the table's own: the column's spread where the model
    standardises, otherwise one.
    """

    shift: Array
    scale: Array
    unit: Array

    def inward(self, block: Block, in_place: bool = False) -> Block:
        """The block in the model's units; in place where the block is nobody else's."""
        if self.scale.min(initial=1.0) <= HUGE_SCALE:  # differences of such numbers may pass the end of doubles
            z = block.x * self.scale - self.shift * self.scale
        else:
            z = np.subtract(block.x, self.shift, out=block.x if in_place else None)
            if (self.scale != 1.0).any():  # a second copy of the block costs as much as the first
                z *= self.scale
        if block.mask is not None:
            z[~block.mask] = 0.0
        return block._replace(x=z)

    def outward(self, z: Array) -> Array:
        """Cells in the model's units, in the table's; those beyond double precision at its end."""
        if self.scale.min(initial=1.0) > HUGE_SCALE:
            return z / self.scale + self.shift
        with np.errstate(over="ignore"):
            return np.clip(z / self.scale + self.shift, -LARGEST, LARGEST)

    def lengths(self, z: Array) -> Array:
        """Standard deviations in the model's units, in the table's."""
        with np.errstate(over="ignore"):
            return np.minimum(z / self.scale, LARGEST)

    def log_stretch(self, mask: Mask | None) -> Array | float:
        """What a log density gains when it is stated in the table's units."""
        logs = np.log(self.scale)
        return float(logs.sum()) if mask is None else np.asarray(mask @ logs, dtype=np.float64)

    @property
    def report(self) -> Array:
        """Factor from the model's units to the reported ones."""
        return 1.0 / (self.scale * self.unit)


def frame_of(sample: Block, each: bool = False, origin: bool = True) -> Frame:
    """An origin among the rows, and a power of two that brings huge or tiny numbers into range.

    `origin=False` leaves zero where it is, for tables of which only the cells that are not zero are stored.
    """
    x, mask = sample.x, sample.mask
    count = max(len(x), 1) if mask is None else np.maximum(mask.sum(axis=0), 1)
    largest = np.abs(x).max(axis=0, initial=0.0)
    size = moderate_scale(largest)
    shift = (x if (size == 1.0).all() else x * size).sum(axis=0) / count / size
    # differences of such numbers overflow, and so large a spread hides no digits
    shift[(largest > FAR_FROM_ZERO) | (not origin)] = 0.0
    off = np.abs(x - shift if mask is None else (x - shift) * mask).max(axis=0, initial=0.0)
    varies = bool((off > 0.0).any())  # a single row shows no spread, only a size
    return Frame(shift, moderate_scale(off if varies else largest, together=not each), np.ones(len(shift)))


class View(Source):
    """A source seen some other way."""

    source: Source

    def __init__(
        self,
        source: Source,
        columns: tuple[str, ...] | None = None,
        tile: int | None = None,
        block_tiles: int | None = None,
    ) -> None:
        """The same columns, unless others are named; walked the same way, unless tiles are given."""
        names = source.columns if columns is None else columns
        super().__init__((source.n, len(names)), names, source.weight, tile or source.tile, block_tiles)
        self.named, self.source = source.named, source

    def rebased(self, leaf: Source) -> Source:
        return self.changed(source=self.source.rebased(leaf), weight=None)

    def weighted(self, weight: Array | None) -> Source:
        return self.changed(source=self.source.weighted(weight), weight=weight)

    def single_tile_blocks(self) -> Source:
        return self.changed(source=self.source.single_tile_blocks(), block_tiles=1)

    def weights(self, rows: Rows) -> Array | None:
        return self.source.weights(rows)

    def spooled(self, folder: Path | None) -> AbstractContextManager[None]:
        return self.source.spooled(folder)

    def fingerprint(self) -> str:
        return self.source.fingerprint()


class Framed(View):
    """A source seen through a frame."""

    def __init__(self, source: Source, frame: Frame) -> None:
        super().__init__(source, block_tiles=source.block_tiles)
        self.frame, self.is_sparse = frame, source.is_sparse

    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        raise NotImplementedError("a framed source makes finished blocks")

    def block_of(self, rows: Rows, start: int = 0) -> Block:
        return self.frame.inward(self.source.block_of(rows, start), in_place=self.leaf.owns_arrays)


def gather(source: Source) -> tuple[Array, Mask | None]:
    """The whole table in memory, for the methods that cannot do with less."""
    x, mask, complete = np.empty((source.n, source.d)), np.ones((source.n, source.d), dtype=bool), True
    for i in range(source.n_blocks):
        block = source.block(i)
        x[block.start : block.start + len(block.x)] = block.x
        if block.mask is not None:
            complete = False
            mask[block.start : block.start + len(block.x)] = block.mask
    return x, None if complete else mask


class Chosen(View):
    """Some columns of a source, in the order asked for; never sparse: its leaf has them in another order."""

    def __init__(self, source: Source, order: list[int], tile: int | None = None) -> None:
        names = tuple(source.columns[j] for j in order)
        super().__init__(source, names, tile_rows(len(order)) if tile is None else tile, source.block_tiles)
        self.named, self.order = True, order

    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        values, mask = self.source.read(rows)
        return np.ascontiguousarray(values[:, self.order]), None if mask is None else mask[:, self.order]

    def sample(self, k: int, rng: np.random.Generator | None = None) -> Block:
        block = self.source.sample(k, rng)  # which knows where reading is cheap
        mask = None if block.mask is None else block.mask[:, self.order]
        x = np.ascontiguousarray(block.x[:, self.order])
        return block._replace(x=x, mask=None if mask is None or mask.all() else mask)


class Stored(View):
    """A sparse source by its stored cells: blocks of CSR rows in a frame without origin, never made dense."""

    def __init__(self, source: Source, frame: Frame) -> None:
        rows = STORED_CELLS // max(int(source.leaf.per_row), 1)
        super().__init__(source, tile=1 << max(rows.bit_length() - 1, 8))
        self.is_sparse, self.scale = source.is_sparse, frame.scale
        view: Source | None = source
        while view is not None:  # frames under this one count too
            if isinstance(view, Framed):
                self.scale = self.scale * view.frame.scale
            view = view.source

    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        return self.source.read(rows)

    def block(self, i: int) -> Block:
        if i not in self._kept:
            self._kept[i] = super().block(i)  # a copy of the stored cells, for the many passes to come
        return self._kept[i]

    def block_of(self, rows: Rows, start: int = 0) -> Block:
        cells = self.leaf.stored(rows)
        if (self.scale != 1.0).any():
            cells = sp.csr_array(cells.multiply(self.scale))
        return Block(cells, None, self.weights(rows), start)


class Joined(Source):
    """The columns of one source and then those of another; a source that is None is all gaps.

    Both are read by the joined table's tiles, so a view of either (a frame, chosen columns) is read as it is.
    """

    def __init__(self, first: Source | None, second: Source | None, widths: tuple[int, int]) -> None:
        present = first or second
        assert present is not None
        if first is not None and second is not None and first.n != second.n:
            raise error("LD280", problem=f"X has {first.n} rows and Y has {second.n}: inconsistent numbers of samples")
        names = [
            f"{view}: {name}"
            for view, source, width in zip("xy", (first, second), widths, strict=True)
            for name in (source.columns if source is not None else [f"c{j + 1}" for j in range(width)])
        ]
        super().__init__((present.n, sum(widths)), tuple(names), present.weight)
        self.named, self.first, self.second, self.widths = False, first, second, widths

    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        parts = [
            self._part(source, width, rows)
            for source, width in zip((self.first, self.second), self.widths, strict=True)
        ]
        return np.ascontiguousarray(np.concatenate(parts, axis=1)), None

    def _part(self, source: Source | None, width: int, rows: Rows) -> Array:
        if source is None:
            count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
            return np.full((count, width), np.nan)
        return Block(*source.read(rows)).with_nan

    @property
    def overhead(self) -> int:
        return sum(source.leaf.overhead for source in (self.first, self.second) if source is not None)

    def unchanged(self, where: str = "") -> None:
        for source in (self.first, self.second):
            if source is not None:
                source.leaf.unchanged(where)

    @contextmanager
    def spooled(self, folder: Path | None) -> Iterator[None]:
        with ExitStack() as stack:
            for source in (self.first, self.second):
                if source is not None:
                    stack.enter_context(source.spooled(None))  # two files of one name do not fit into one folder
            yield

    def fingerprint(self) -> str:
        return " ".join(source.fingerprint() for source in (self.first, self.second) if source is not None)
