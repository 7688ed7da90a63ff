"""Cells hidden on purpose: rows left out of a fit, their cells hidden part by part.

Every engine is tried on the same cells: which rows are left out and which of their cells are hidden follows from the
table and the seed alone, so that two engines are compared cell by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.engines.engine import EngineFit, FittedEngine
from lowdim.judge.hidden_cells import dealt
from lowdim.judge.row_order import row_order
from lowdim.maths.linalg import Array, Mask, centre_and_spread
from lowdim.maths.seeds import FILL_TRIALS
from lowdim.text.messages import LowdimError, no_warnings

ENOUGH_HIDDEN = 20_000  # hidden cells beyond which another fold teaches nothing about a quantile
SMALL_TRIAL_CELLS = 2_500  # seen cells below which every fold is fitted: each hides few
HIDDEN_PARTS = 10  # a left-out row hides a tenth of its cells at a time


class HiddenFold(NamedTuple):
    """The rows of one fold, each as often as some of its cells are hidden, and the rows left to fit to."""

    fitted: Array
    rows: Array  # with the cells hidden
    at: NDArray[np.intp]  # of each hidden cell: the row here,
    row: NDArray[np.intp]  # the row of the table,
    column: NDArray[np.intp]
    truth: Array

    @property
    def centre(self) -> Array:
        """The mean of each hidden cell's column in the rows that are left."""
        return centre_and_spread(self.fitted)[0][self.column]


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


class Guesses(NamedTuple):
    """What an engine makes of hidden cells of numbers."""

    error: Array  # truth - fill
    sd: Array  # of the engine, not calibrated


class PairedScore(NamedTuple):
    """A mean score, how much more it is than another's on the same cells, and the standard error of that by rows."""

    score: float
    difference: float
    error: float


# hiding -------------------------------------------------------------------------------------------------
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

    Rows are dealt round and round in an order that their cells set, so that the one in which they came hides nothing.
    """
    some = np.arange(rows.shape[1]) if columns is None else np.array(columns)
    order = row_order(rows, ~np.isnan(rows), seed)
    return [_hidden_fold(rows, order, folds, k, seed, some) for k in range(fits)]


def _hidden_fold(
    rows: Array, order: NDArray[np.intp], folds: int, k: int, seed: int, columns: NDArray[np.intp]
) -> HiddenFold:
    own_fold = np.arange(len(order)) % folds == k
    left, fitted = order[own_fold], order[~own_fold]
    mask = ~np.isnan(rows[np.ix_(left, columns)])
    part = np.where(mask, dealt(mask, HIDDEN_PARTS, np.random.default_rng([seed, FILL_TRIALS, k])), -1)
    cells = max(int(mask.sum()), 1)
    parts = int(np.clip(-(-ENOUGH_HIDDEN * HIDDEN_PARTS // (2 * cells)), 1, HIDDEN_PARTS))
    # each row stands in the fold once for every part in which some cell of it is hidden
    which, own = np.nonzero(np.stack([(part == p).any(axis=1) for p in range(parts)]))
    at, among = np.nonzero(part[own] == which[:, None])
    column, seen = columns[among], rows[left[own]]
    less = seen.copy()
    less[at, column] = np.nan
    return HiddenFold(rows[fitted], less, at, left[own[at]], column, seen[at, column])


def hidden_cells(folds: Sequence[HiddenFold]) -> FoldCells:
    """The cells of these folds together."""
    none, zero = np.zeros(0, dtype=np.intp), np.zeros(0)
    each = [
        (f.row, f.column, np.full(len(f.row), k), f.truth, f.truth - f.centre) for k, f in enumerate(folds) if len(f.at)
    ]
    parts = zip((none, none, none, zero, zero), *each, strict=True)
    return FoldCells(*(np.concatenate(part) for part in parts))


def guesses_of(fitted: FittedEngine, fold: HiddenFold) -> Guesses:
    """What a fitted engine makes of the hidden numbers of a fold."""
    mean, sd = fitted.fills(fold.rows)
    number = fold.column < mean.shape[1]
    at, column = fold.at[number], fold.column[number]
    return Guesses(fold.truth[number] - mean[at, column], sd[at, column])


def guessed(fit: EngineFit, folds: Sequence[HiddenFold]) -> Guesses | None:
    """What a fit makes of the hidden numbers, fitted without the rows of each fold; None where it cannot be fitted."""
    try:
        with no_warnings():
            return joined([guesses_of(fit(fold.fitted), fold) for fold in folds])
    except LowdimError:
        return None


def joined(guesses: Sequence[Guesses]) -> Guesses:
    """Those of several folds, one after another."""
    none = Guesses(np.zeros(0), np.zeros(0))
    return Guesses(*(np.concatenate(part) for part in zip(none, *guesses, strict=True)))


# scores -------------------------------------------------------------------------------------------------
def gap_weights(column: NDArray[np.intp], gaps: NDArray[np.intp]) -> Array:
    """What each hidden cell counts: those of a column together as many as it has gaps, and one more; 1 on average."""
    weight = ((gaps + 1.0) / np.maximum(np.bincount(column, minlength=len(gaps)), 1))[column]
    return np.asarray(weight / weight.mean()) if len(weight) else weight


def paired(score: Array, other: Array, row: NDArray[np.intp]) -> PairedScore:
    """Two scores of the same things, those of one row counted as one.

    >>> paired(np.array([1.0, 2.0, 3.0, 2.0]), np.array([2.0, 2.0, 3.0, 3.0]), np.array([0, 0, 1, 1])).difference
    -0.5
    """
    if not len(score):
        return PairedScore(0.0, 0.0, 0.0)
    gain = score - other
    mean = float(gain.mean())
    _, at = np.unique(row, return_inverse=True)
    off = np.bincount(at, gain - mean)
    few = len(off) / max(len(off) - 1, 1)
    return PairedScore(float(score.mean()), mean, float(np.sqrt(few * (off @ off)) / len(score)))
