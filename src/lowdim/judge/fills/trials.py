"""Cells hidden on purpose: rows left out of a fit, their cells hidden part by part, and how the fills did.

Every model that fills is tried on the same cells: which rows are left out and which of their cells are hidden follows
from the table and the seed alone, so that two models are compared cell by cell.

A fill is judged by its error and as a distribution. The latter is the energy score of the cells of a row that were
hidden together: with m draws x_k about a fill, stretched as its intervals are, and the truth y,

    ES = mean_k |x_k - y| - mean_k<l |x_k - x_l| / 2

in units of the columns' spread. It is least, on average, for draws from the law that y has: means alone, or draws too
narrow or too wide, have a higher one.

Reference: Gneiting and Raftery, Strictly proper scoring rules, prediction, and estimation, Journal of the American
Statistical Association 102 (2007).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.calibration import factors
from lowdim.judge.fills.models import FillModel, FittedFill
from lowdim.judge.hidden_cells import dealt
from lowdim.maths.linalg import Array, Mask, centre_and_spread
from lowdim.maths.seeds import FILL_TRIALS
from lowdim.models.base.calibration import normal_half_width
from lowdim.text.messages import LowdimError
from lowdim.text.quiet import no_warnings

ENOUGH_HIDDEN = 20_000  # hidden cells beyond which another fold teaches nothing about a quantile
SMALL_TRIAL_CELLS = 2_500  # seen cells below which every fold is fitted: each hides few
HIDDEN_PARTS = 10  # a left-out row hides a tenth of its cells at a time
SCORED_CELLS = 1_500  # hidden cells of a fold for which draws are made: enough to tell two energy scores apart
SCORED_LEVEL = 0.9  # the level at which draws are stretched before they are scored


class Trials(NamedTuple):
    """Cells hidden on purpose: where, in which fold and part, and how the model did."""

    row: NDArray[np.intp]
    column: NDArray[np.intp]
    fold: NDArray[np.intp]
    part: NDArray[np.intp]  # cells of a row with one part were hidden together
    error: Array  # value - fill
    sd: Array  # of the model, not calibrated
    plain: Array  # value - mean of the column's cells that were left
    draws: Array  # draw - fill, cells x draws; NaN where none was made

    @property
    def z(self) -> Array:
        return np.abs(self.error) / self.sd

    def before(self, fold: int) -> Trials:
        """Those of the first folds."""
        own = self.fold < fold
        where = (self.row[own], self.column[own], self.fold[own], self.part[own])
        return Trials(*where, self.error[own], self.sd[own], self.plain[own], self.draws[own])


class PairedScore(NamedTuple):
    """A mean score, how much more it is than another's on the same cells, and the standard error of that by rows."""

    score: float
    difference: float
    error: float


# hiding -------------------------------------------------------------------------------------------------
def row_folds(n: int, folds: int, seed: int) -> NDArray[np.intp]:
    """A fold for every row, as even as they can be."""
    return np.random.default_rng([seed, FILL_TRIALS]).permutation(n) % folds


def folds_for(mask: Mask) -> tuple[int, int]:
    """(folds, fits) by the table's size: 8 and 8 for a small table, fewer fits where one hides plenty."""
    cells = int(mask.sum())
    if cells < SMALL_TRIAL_CELLS:
        folds = min(8, len(mask))
        return folds, folds
    return 5, 3 if 3 * cells < 5 * ENOUGH_HIDDEN else 2


def heats_for(mask: Mask, fits: int) -> int:
    """How many folds choose between several models before the others try the chosen one."""
    return min(fits, 1 if mask.sum() >= SMALL_TRIAL_CELLS else 2)


def trials(
    model: FillModel,
    X: Array,
    fold: NDArray[np.intp],
    which: Iterable[int],
    seed: int,
    *,
    draws: int = 0,
    numbers: int | None = None,
) -> Trials:
    """Fit without the rows of each of these folds and predict their cells; one that cannot be fitted is left out.

    A left-out row hides one part of its cells at a time, so the fits see the table's own gaps and no others. Columns
    beyond the first `numbers` are labels as codes: no cell of theirs is hidden.
    """
    tried: list[Trials] = []
    for k in which:
        try:
            with no_warnings():
                fitted = model(X[fold != k])
                tried.append(_hidden_in(fitted, X, fold, k, seed, draws, numbers or X.shape[1]))
        except LowdimError:
            continue
    return joined(tried, draws)


def joined(tried: Sequence[Trials], draws: int = 0) -> Trials:
    """Trials one after another."""
    none, zero = np.zeros(0, dtype=np.intp), np.zeros(0)
    empty = Trials(none, none, none, none, zero, zero, zero, np.zeros((0, draws)))
    return Trials(*(np.concatenate(piece) for piece in zip(empty, *tried, strict=True)))


def _hidden_in(fitted: FittedFill, X: Array, fold: NDArray[np.intp], k: int, seed: int, draws: int, d: int) -> Trials:
    """The cells of the rows of fold k, hidden part by part: each row stands in the table once a part."""
    rows = np.flatnonzero(fold == k)
    left, mask = X[rows, :d], ~np.isnan(X[rows, :d])
    part = np.where(mask, dealt(mask, HIDDEN_PARTS, np.random.default_rng([seed, FILL_TRIALS, k])), -1)
    cells = max(int(mask.sum()), 1)
    parts = int(np.clip(-(-ENOUGH_HIDDEN * HIDDEN_PARTS // (2 * cells)), 1, HIDDEN_PARTS))
    hidden = np.concatenate([part == p for p in range(parts)])
    truth, plain = np.tile(left, (parts, 1)), np.tile(left - centre_and_spread(X[fold != k, :d])[0], (parts, 1))
    less = np.concatenate([np.where(hidden, np.nan, truth), np.tile(X[rows, d:], (parts, 1))], axis=1)
    mean, sd = fitted.fills(less)
    i, j = np.nonzero(hidden)
    about = np.full((len(i), draws), np.nan)
    few = int(i[min(SCORED_CELLS, len(i)) - 1]) + 1 if len(i) else 0  # whole rows
    for number in range(draws):
        about[i < few, number] = (fitted.drawn(less[:few], seed, number) - mean[:few])[hidden[:few]]
    where = (np.tile(rows, parts)[i], j, np.full(len(i), k), i // len(rows))
    return Trials(*where, (truth - mean)[hidden], sd[hidden], plain[hidden], about)


# scores -------------------------------------------------------------------------------------------------
def skill(found: Trials, table: Array) -> float:
    """The share of variance predicted for all hidden cells, columns in units of their spread."""
    unit = centre_and_spread(table)[1][found.column]
    base = float(((found.plain / unit) ** 2).sum())
    return 1.0 - float(((found.error / unit) ** 2).sum()) / base if base > 0 else 0.0


def squared_errors(found: Trials, table: Array) -> Array:
    """The squared error of every hidden cell, in units of its column's spread."""
    return np.asarray((found.error / centre_and_spread(table)[1][found.column]) ** 2)


def energy_scores(found: Trials, table: Array) -> tuple[Array, NDArray[np.intp]]:
    """The energy score of the cells hidden together, and the row they are of; only where draws were made."""
    width = factors(found.z, found.column, table.shape[1], SCORED_LEVEL) / normal_half_width(SCORED_LEVEL)
    has = np.isfinite(found.draws).all(axis=1)
    column = found.column[has]
    unit = centre_and_spread(table)[1][column]
    drawn, truth = found.draws[has] * (width[column] / unit)[:, None], found.error[has] / unit
    key, group = np.unique(found.row[has] * HIDDEN_PARTS + found.part[has], return_inverse=True)

    def length(step: Array) -> Array:
        return np.sqrt(np.bincount(group, step**2, minlength=len(key)))

    m = drawn.shape[1]
    near = sum((length(drawn[:, k] - truth) for k in range(m)), np.zeros(len(key))) / m
    pairs = list(combinations(range(m), 2))
    apart = sum((length(drawn[:, k] - drawn[:, o]) for k, o in pairs), np.zeros(len(key))) / len(pairs)
    return near - 0.5 * apart, key // HIDDEN_PARTS


def gap_weights(column: NDArray[np.intp], table: Array) -> Array:
    """What each hidden cell counts: those of a column together as many as it has gaps, and one more; 1 on average."""
    gaps = np.isnan(table).sum(axis=0)[: int(column.max(initial=0)) + 1] + 1.0
    weight = (gaps / np.maximum(np.bincount(column, minlength=len(gaps)), 1))[column]
    return np.asarray(weight / weight.mean()) if len(weight) else weight


def paired(score: Array, other: Array, row: NDArray[np.intp], weight: Array | None = None) -> PairedScore:
    """Two scores of the same things, those of one row counted as one.

    >>> paired(np.array([1.0, 2.0, 3.0, 2.0]), np.array([2.0, 2.0, 3.0, 3.0]), np.array([0, 0, 1, 1])).difference
    -0.5
    """
    if not len(score):
        return PairedScore(0.0, 0.0, 0.0)
    w = np.ones(len(score)) if weight is None else weight
    gain = score - other
    mean = float(w @ gain / w.sum())
    _, at = np.unique(row, return_inverse=True)
    off = np.bincount(at, w * (gain - mean))
    few = len(off) / max(len(off) - 1, 1)
    return PairedScore(float(w @ score / w.sum()), mean, float(np.sqrt(few * (off @ off)) / w.sum()))
