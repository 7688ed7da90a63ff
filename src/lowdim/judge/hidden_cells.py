"""Cells hidden and rows left out on purpose: cells of a table as it stands, or of left-out rows, part by part.

Which cells are hidden follows from the table and the seed alone, so that whatever is tried on them is compared cell by
cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.row_order import column_order, row_order
from lowdim.maths.linalg import Array, Mask, centre_and_spread
from lowdim.maths.seeds import FILL_TRIALS, HELD_OUT_FOLDS

THIN_COLUMN = 5  # a column seen in fewer cells loses none
ENOUGH_HIDDEN = 20_000  # hidden cells beyond which another fold teaches nothing about a quantile
SMALL_TRIAL_CELLS = 2_500  # seen cells below which every fold is fitted: each hides few
HIDDEN_PARTS = 10  # a table, or a row that is left out, hides a tenth of its cells at a time


def dealt(mask: Mask, rng: np.random.Generator) -> NDArray[np.intp]:
    """The part that hides each cell, -1 at gaps: each row deals its seen cells round and round, so that no part takes
    many of one row."""
    order = np.argsort(rng.random(mask.shape) + ~mask, axis=1)  # seen cells first, shuffled
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.broadcast_to(np.arange(mask.shape[1]), mask.shape), axis=1)
    return np.where(mask, (place + rng.integers(HIDDEN_PARTS, size=(len(mask), 1))) % HIDDEN_PARTS, -1)


def deal(mask: Mask, seed: int) -> NDArray[np.intp]:
    """The part of a table as it stands that hides each cell, -1 where none does: gaps, columns too thin to lose any."""
    part = dealt(mask, np.random.default_rng([seed, HELD_OUT_FOLDS]))
    return np.where(mask.sum(axis=0) >= THIN_COLUMN, part, -1)


# rows left out ------------------------------------------------------------------------------------------
def left_out(n: int, folds: int) -> list[Mask]:
    """The rows that each fold leaves out, as even as they can be; of rows in an order that says nothing (`row_order`).

    >>> [rows.tolist() for rows in left_out(3, 2)]
    [[True, False, True], [False, True, False]]
    """
    return [np.arange(n) % folds == k for k in range(folds)]


class HiddenFold(NamedTuple):
    """The rows of one fold, each as often as some of its cells are hidden, and the rows left to fit to."""

    fitted: Array
    rows: Array  # with the cells hidden
    at: NDArray[np.intp]  # of each hidden cell: the row here,
    row: NDArray[np.intp]  # the row of the table,
    column: NDArray[np.intp]
    truth: Array


class FoldCells(NamedTuple):
    """Hidden cells of all folds, one after another."""

    row: NDArray[np.intp]
    column: NDArray[np.intp]
    fold: NDArray[np.intp]
    truth: Array
    plain: Array  # the truth less the mean of the column's cells that were left

    def of(self, some: Mask) -> FoldCells:
        """Some of them."""
        return FoldCells(self.row[some], self.column[some], self.fold[some], self.truth[some], self.plain[some])


def folds_for(mask: Mask) -> tuple[int, int]:
    """(folds, fits) by the table's size: 8 and 8 for a small table, fewer fits where one hides plenty."""
    cells = int(mask.sum())
    if cells < SMALL_TRIAL_CELLS:
        folds = min(8, len(mask))
        return folds, folds
    return 5, 3 if 3 * cells < 5 * ENOUGH_HIDDEN else 2


def hidden_folds(
    rows: Array, folds: int, fits: int, seed: int, columns: Sequence[int] | None = None
) -> list[HiddenFold]:
    """The first folds of a table's rows, cells of these columns (of all, where none are named) hidden in them.

    Rows are dealt round and round in an order that their cells set, and cells of a row in such an order of the columns,
    so that those in which they came hide nothing.
    """
    some, found = np.arange(rows.shape[1]) if columns is None else np.array(columns), list[HiddenFold]()
    order = row_order(rows, ~np.isnan(rows), seed)
    some = some[column_order(rows[np.ix_(order, some)], seed)]
    for k, own_fold in enumerate(left_out(len(rows), folds)[:fits]):
        left = order[own_fold]
        mask = ~np.isnan(rows[np.ix_(left, some)])
        part = dealt(mask, np.random.default_rng([seed, FILL_TRIALS, k]))
        cells = max(int(mask.sum()), 1)
        parts = int(np.clip(-(-ENOUGH_HIDDEN * HIDDEN_PARTS // (2 * cells)), 1, HIDDEN_PARTS))
        # each row stands in the fold once for every part in which some cell of it is hidden
        which, own = np.nonzero(np.stack([(part == p).any(axis=1) for p in range(parts)]))
        at, among = np.nonzero(part[own] == which[:, None])
        column, seen = some[among], rows[left[own]]
        less = seen.copy()
        less[at, column] = np.nan
        found.append(HiddenFold(rows[order[~own_fold]], less, at, left[own[at]], column, seen[at, column]))
    return found


def hidden_cells(folds: Sequence[HiddenFold]) -> FoldCells:
    """The cells of these folds together."""
    none, zero = np.zeros(0, dtype=np.intp), np.zeros(0)
    each = [
        (f.row, f.column, np.full(len(f.row), k), f.truth, f.truth - centre_and_spread(f.fitted)[0][f.column])
        for k, f in enumerate(folds)
        if len(f.at)
    ]
    parts = zip((none, none, none, zero, zero), *each, strict=True)
    return FoldCells(*(np.concatenate(part) for part in parts))
