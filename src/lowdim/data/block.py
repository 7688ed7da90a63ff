"""A block of rows: all that a model ever sees of a table."""
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Block(NamedTuple):
    """Rows `start`, `start + 1`, ... of a table; a gap holds 0.0 in `x` and False in `mask`.

    `x` is a CSR matrix only where `Stored` made the block: for the few statistics that work on stored cells.
    """

    x: Array
    mask: Mask | None = None  # True = seen; None = complete, the cheap path
    weight: Array | None = None  # how many times each row counts; None = once
    start: int = 0

    @property
    def rows(self) -> int:
        return int(self.x.shape[0])

    @property
    def size(self) -> float:
        """The number of rows, each counted by its weight."""
        return float(self.x.shape[0]) if self.weight is None else float(self.weight.sum())

    def part(self, begin: int, end: int) -> Block:
        """Rows begin to end of this block; a part that has no gaps is complete."""
        mask = None if self.mask is None else self.mask[begin:end]
        if mask is not None and mask.all():
            mask = None
        weight = None if self.weight is None else self.weight[begin:end]
        return Block(self.x[begin:end], mask, weight, self.start + begin)

    def tiles(self, tile: int) -> Iterator[Block]:
        """The block cut into tiles, the leaves of every fold."""
        if self.rows <= tile:
            yield self
            return
        for begin in range(0, self.rows, tile):
            yield self.part(begin, begin + tile)
