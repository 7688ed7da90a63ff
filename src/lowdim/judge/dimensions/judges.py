"""The judges of dimensions: what each has to say of 0, 1, 2, ... of them.

Rows left out in turn: how well dimensions of the other rows say each cell from the rest of its row. No cell is hidden
from a fit: the cells of a row that was left out are predicted one by one in closed form, so that every seen cell of the
table is predicted once, the same cells for every number of dimensions. Parallel analysis: which eigenvalues rise above
those of shuffled columns, also with gaps. Evidence: BIC of factor analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np

from lowdim.judge.dimensions.factors import CovarianceForm, covariance, factor_ladder
from lowdim.judge.hidden_cells import left_out
from lowdim.maths.linalg import Array, Mask
from lowdim.maths.seeds import HELD_OUT_FOLDS, SHUFFLED_TABLES


# rows left out in turn -------------------------------------------------------------------------------
class CellPredictor(Protocol):
    """What predicts each cell of a row from the rest of it."""

    def cell_errors(self, r: Array, mask: Mask | None) -> Array: ...


Ladder = Callable[[CovarianceForm], Iterator[CellPredictor]]  # fits with 0, 1, 2, ... dimensions
ROW_FOLDS = (5, 20)  # the fewest and the most folds unless asked for: of a small table a fifth of the rows is missed
FOLDED_CELLS = 20_000  # cells times folds of a small table: more folds where they cost nothing
SMALLEST_RISE = 1e-4  # of skill; after LEVEL_STEPS numbers without one no more are tried
LEVEL_STEPS = 3
DIMENSION_PRICE = 1.0 / 16.0  # share of all skill that a dimension must add to be needed (benchmarks/dimensions.md)
LEAST_CARRIED = 0.6  # share of all skill that the dimensions needed have, however little each of them adds
STRUCTURE_ERRORS = 2.0  # standard errors by which anything at all must beat the column means: noise reaches 1.5


class PairedDifference(NamedTuple):
    """Skill of `q` dimensions less that of `other`, on the same cells, and its standard error with rows as clusters."""

    q: int
    other: int
    difference: float
    error: float
    cells: int

    def __str__(self) -> str:
        if abs(self.difference) <= self.error:
            return f"{self.q} and {self.other} cannot be distinguished ({self.difference:.3g} +- {self.error:.2g})"
        word = "beats" if self.difference > 0 else "loses to"
        return f"{self.q} {word} {self.other} by {abs(self.difference):.3g} +- {self.error:.2g}"


class FoldErrors(NamedTuple):
    """Squared errors of the cells of each row, summed, for 0, 1, ... dimensions."""

    squares: Array  # tried x n
    cells: int
    folds: int

    @property
    def skill(self) -> Array:
        """1 - squared error / squared error without any dimension: that of the column means."""
        total = self.squares.sum(axis=1)
        return np.asarray(1.0 - total / max(float(total[0]), 1e-300))

    def compare(self, q: int, other: int) -> PairedDifference:
        """Two numbers of dimensions row by row."""
        gain = self.squares[other] - self.squares[q]
        total = max(float(self.squares[0].sum()), 1e-300)
        error = float(np.sqrt(len(gain) * gain.var(ddof=1))) / total
        return PairedDifference(q, other, float(gain.sum()) / total, error, self.cells)

    @property
    def has_structure(self) -> bool:
        """Whether some number of dimensions predicts better than the column means, by two standard errors."""
        found = self.compare(int(np.argmax(self.skill)), 0)
        return found.difference > STRUCTURE_ERRORS * found.error

    @property
    def detectable(self) -> int:
        """How many differ from noise: the smallest number within one paired standard error of the best."""
        if not self.has_structure:
            return 0
        best = int(np.argmax(self.skill))
        near = (q for q in range(1, best) if (c := self.compare(best, q)).difference <= c.error)
        return max(next(near, best), self.needed)

    @property
    def needed(self) -> int:
        """The number beyond which each dimension adds less than a sixteenth of all skill.

        The largest s(q)/s(best) - q/16; of many small dimensions, as many as have three fifths of the skill.
        """
        if not self.has_structure:
            return 0
        share = self.skill / float(self.skill.max())
        worth = int(np.argmax(share - DIMENSION_PRICE * np.arange(len(share))))
        return max(worth, int(np.argmax(share >= LEAST_CARRIED)))


def usual_folds(n: int, d: int) -> int:
    """How many folds n rows of d cells are dealt into.

    >>> usual_folds(50, 4), usual_folds(300, 10), usual_folds(1000, 10), usual_folds(3, 2)
    (20, 6, 5, 3)
    """
    return min(int(np.clip(FOLDED_CELLS // max(n * d, 1), *ROW_FOLDS)), n)


class RowFolds:
    """The rows of a table, in an order that says nothing, dealt into folds, and the covariance of what each leaves."""

    def __init__(self, x: Array, mask: Mask | None, folds: int, seed: int) -> None:
        self.x, self.mask, self.out = x, mask, left_out(len(x), folds)
        rng = np.random.default_rng([seed, HELD_OUT_FOLDS, 1])
        self.covariances = [covariance(x[~out], None if mask is None else mask[~out], rng) for out in self.out]

    def errors(self, ladder: Ladder, most: int, *, weight: Array, patient: bool = False) -> FoldErrors:
        """Errors of 0, 1, ..., `most` dimensions; unless `patient`, until skill no longer rises.

        `weight` is what a squared error counts in each column.
        """
        squares: list[Array] = []
        best, level = 0.0, 0
        for fits in islice(zip(*map(ladder, self.covariances), strict=False), most + 1):
            found = np.zeros(len(self.x))
            for f, out in zip(fits, self.out, strict=True):
                errors = f.cell_errors(self.x[out], None if self.mask is None else self.mask[out])
                found[out] = (errors**2) @ weight
            squares.append(found)
            skill = 1.0 - float(found.sum()) / max(float(squares[0].sum()), 1e-300)
            level = 0 if skill > best + SMALLEST_RISE or len(squares) == 1 else level + 1
            best = max(best, skill)
            if level == LEVEL_STEPS and not patient:
                break
        cells = self.x.size if self.mask is None else int(self.mask.sum())
        return FoldErrors(np.array(squares), cells, len(self.out))


# eigenvalues against chance --------------------------------------------------------------------------
SHUFFLES = (20, 100)  # the fewest that give a 95 % band, and enough for any table
SHUFFLED_CELLS = 5e6  # cells shuffled in all: a budget by the table's size, never by the clock


class ParallelAnalysis(NamedTuple):
    """Eigenvalues of the table beside those of shuffled tables."""

    eigenvalues: Array
    band: Array  # the upper edge of the band of shuffled tables, one number an eigenvalue
    shuffles: int

    @property
    def q(self) -> int:
        """Leading eigenvalues above the band; the first below ends the count."""
        below = np.flatnonzero(self.eigenvalues <= self.band)
        return int(below[0]) if len(below) else len(self.eigenvalues)


def eigenvalues(x: Array, mask: Mask | None) -> Array:
    """Eigenvalues (1/n) of a table with gaps, falling.

    Tall: of the covariances of available pairs. Wide: of the table with gaps at their column's mean. Both
    are off where there are many gaps, and off alike for the table and its shuffled copies.
    """
    n, d = x.shape
    if n < d:
        return np.linalg.eigvalsh(x @ x.T / n)[::-1][: n - 1]
    if mask is None:
        return np.linalg.eigvalsh(x.T @ x / n)[::-1]
    m = mask.astype(np.float64)
    count = np.maximum(m.T @ m, 1.0)
    means = (x.T @ m) / count
    return np.asarray(np.linalg.eigvalsh((x.T @ x) / count - means * means.T)[::-1], dtype=np.float64)


def shuffled(x: Array, mask: Mask | None, rng: np.random.Generator) -> Array:
    """The table with the seen cells of each column in another order; gaps stay where they are."""
    if mask is None:
        return rng.permuted(x, axis=0)
    out = np.zeros_like(x.T, order="C")
    for mixed, column, seen in zip(out, np.ascontiguousarray(x.T), mask.T, strict=True):
        mixed[seen] = rng.permutation(column[seen])
    return out.T


def parallel_analysis(x: Array, mask: Mask | None, *, shuffles: int | None, band: float, seed: int) -> ParallelAnalysis:
    """Horn's parallel analysis: shuffled columns have the same cells and gaps, and share nothing.

    Reference: Horn (1965), with permuted columns (Buja and Eyuboglu 1992).
    """
    count = int(np.clip(SHUFFLED_CELLS // max(x.size, 1), *SHUFFLES)) if shuffles is None else shuffles
    chance = np.array(
        [eigenvalues(shuffled(x, mask, np.random.default_rng([seed, SHUFFLED_TABLES, s])), mask) for s in range(count)]
    )
    return ParallelAnalysis(eigenvalues(x, mask), np.quantile(chance, band, axis=0), count)


# evidence --------------------------------------------------------------------------------------------
def factor_evidence(S: CovarianceForm, n: float, most: int, rng: np.random.Generator) -> Array:
    """Schwarz's criterion as a log evidence of factor analysis with 0, ..., `most` factors, n rows with covariance S.

    log L - (free numbers) / 2 log n: loadings up to a rotation, and a noise for each column.

    Reference: Lawley and Maxwell (1971), Factor Analysis as a Statistical Method; Schwarz (1978), Ann. Statist. 6.
    """
    fits = islice(factor_ladder(S, rng), most + 1)
    return np.array([f.log_likelihood(S, n) - 0.5 * free_numbers(len(f.psi), f.q) * float(np.log(n)) for f in fits])


def free_numbers(d: int, q: int) -> int:
    """Loadings up to a rotation and d noises: the free numbers of a covariance with q factors."""
    return d * q - q * (q - 1) // 2 + d


def weights(logs: Array) -> Array:
    """Log evidences as posterior weights under an even prior.

    >>> weights(np.log([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    w: Array = np.exp(logs - logs.max())
    return w / float(w.sum())
