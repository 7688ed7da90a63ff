"""Cells hidden and rows left out on purpose: which part of a table hides each of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Mask
from lowdim.maths.seeds import HELD_OUT_FOLDS

THIN_COLUMN = 5  # a column seen in fewer cells loses none
HELD_OUT_PARTS = 20  # parts the seen cells are dealt into; a fold hides one of them


def dealt(mask: Mask, parts: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A part for every cell: each row deals its seen cells round and round, so that no part takes many of one row."""
    order = np.argsort(rng.random(mask.shape) + ~mask, axis=1)  # seen cells first, shuffled
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.broadcast_to(np.arange(mask.shape[1]), mask.shape), axis=1)
    return np.asarray((place + rng.integers(parts, size=(len(mask), 1))) % parts)


def deal(mask: Mask, seed: int, parts: int = HELD_OUT_PARTS) -> NDArray[np.intp]:
    """The fold that hides each cell, -1 where none does: gaps, and columns too thin to lose any."""
    fold = dealt(mask, parts, np.random.default_rng([seed, HELD_OUT_FOLDS]))
    return np.where(mask & (mask.sum(axis=0) >= THIN_COLUMN), fold, -1)


def left_out(n: int, folds: int) -> list[Mask]:
    """The rows that each fold leaves out, as even as they can be; of rows in an order that says nothing (`row_order`).

    >>> [rows.tolist() for rows in left_out(3, 2)]
    [[True, False, True], [False, True, False]]
    """
    return [np.arange(n) % folds == k for k in range(folds)]
