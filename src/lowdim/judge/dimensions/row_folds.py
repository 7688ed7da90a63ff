"""Rows left out in turn: how well 0, 1, ... dimensions of the other rows say each cell from the rest of its row.

No cell is hidden from a fit: the cells of a row that was left out are predicted one by one in closed form, so that
every seen cell of the table is predicted once, the same cells for every number of dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np

from lowdim.judge.dimensions.factors import CovarianceForm
from lowdim.judge.dimensions.gap_covariance import covariance
from lowdim.maths.linalg import Array, Mask
from lowdim.maths.seeds import HELD_OUT_FOLDS


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
            return f"{self.q} and {self.other} cannot be told apart ({self.difference:.3g} +- {self.error:.2g})"
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
        """How many can be told from noise: the smallest number within one paired standard error of the best."""
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
        self.x, self.mask, self.folds = x, mask, folds
        self.out = [np.arange(len(x)) % folds == k for k in range(folds)]
        rng = np.random.default_rng([seed, HELD_OUT_FOLDS, 1])
        self.covariances = [covariance(x[~out], None if mask is None else mask[~out], rng) for out in self.out]

    def errors(self, ladder: Ladder, most: int, *, weight: Array, patient: bool = False) -> FoldErrors:
        """Errors of 0, 1, ..., `most` dimensions; unless `patient`, until skill no longer rises.

        `weight` is what a squared error counts in each column.
        """
        squares: list[Array] = []
        best, level = 0.0, 0
        for fits in islice(zip(*map(ladder, self.covariances), strict=False), most + 1):
            squares.append(self._squares(fits, weight))
            skill = 1.0 - float(squares[-1].sum()) / max(float(squares[0].sum()), 1e-300)
            level = 0 if skill > best + SMALLEST_RISE or len(squares) == 1 else level + 1
            best = max(best, skill)
            if level == LEVEL_STEPS and not patient:
                break
        cells = self.x.size if self.mask is None else int(self.mask.sum())
        return FoldErrors(np.array(squares), cells, self.folds)

    def _squares(self, fits: Sequence[CellPredictor], weight: Array) -> Array:
        found = np.zeros(len(self.x))
        for f, out in zip(fits, self.out, strict=True):
            found[out] = (f.cell_errors(self.x[out], None if self.mask is None else self.mask[out]) ** 2) @ weight
        return found
