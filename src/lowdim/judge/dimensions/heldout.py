"""Cells hidden on purpose: does one more dimension predict cells that the fit has not seen?

The same cells are hidden for every number of dimensions, so that two of them are compared cell by cell:
unpaired errors hide real differences (the digester table: 0.044 +- 0.017 paired, +- 0.045 unpaired).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.dimensions.evidence import JuryTable, quick_fit, quick_look
from lowdim.math.gaussian import LOG_TWO_PI
from lowdim.math.linalg import Array, Mask
from lowdim.math.streams import HELD_OUT_FOLDS
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.parameters import Linear, predict_cells
from lowdim.sources.source import Block

THIN_COLUMN = 5  # a column seen in fewer cells, or with fewer that differ from the rest, loses none
HELD_OUT_PARTS = 20  # parts the seen cells are dealt into; a fold hides one of them
HELD_OUT_CELLS = (
    2e5  # seen cells over all folds that are fitted; a large table needs fewer folds for the same certainty
)
FOLD_TOL = 0.05  # nats in all that a fold's fit may miss; votes turn on tenths of a nat and more


class PairedDifference(NamedTuple):
    """Mean difference of log density a hidden cell, `q` minus `other`, and its paired standard error."""

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


class HeldOutDensity(NamedTuple):
    """How well 0, 1, ... dimensions predict the hidden cells; the lists grow by one a dimension."""

    row: NDArray[np.intp]  # the row of each hidden cell
    log_density: tuple[Array, ...]
    square: tuple[Array, ...]  # squared errors

    def means(self) -> Array:
        """Mean log density a hidden cell, for each q."""
        return np.array([cells.mean() for cells in self.log_density])

    def q2(self) -> Array:
        """1 - squared error / squared error of the column means, for each q."""
        return 1.0 - np.array([cells.sum() for cells in self.square]) / self.square[0].sum()

    def compare(self, q: int, other: int) -> PairedDifference:
        """Two numbers of dimensions, cell by cell; the cells of a row count as one cluster."""
        diff = self.log_density[q] - self.log_density[other]
        return PairedDifference(q, other, *self.clustered(diff), len(diff))

    def clustered(self, diff: Array) -> tuple[float, float]:
        """The mean of a number for every hidden cell, and its standard error with rows as clusters."""
        mean = float(diff.mean())
        sums = np.bincount(self.row, weights=diff - mean)
        clusters = max(len(np.unique(self.row)), 2)
        return mean, float(np.sqrt((sums**2).sum() * clusters / (clusters - 1.0))) / len(diff)

    def clearly_better(self, other: HeldOutDensity) -> bool:
        """Whether the best number here predicts the same cells better than the best one there, by a standard error."""
        mean, error = self.clustered(
            self.log_density[int(np.argmax(self.means()))] - other.log_density[int(np.argmax(other.means()))]
        )
        return mean > error

    def smallest(self) -> int:
        """The smallest q within one paired standard error of the best."""
        best = int(np.argmax(self.means()))
        for q in range(best):
            found = self.compare(best, q)
            if found.difference <= found.error:
                return q
        return best


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


def fold_count(t: JuryTable) -> int:
    """How many of the folds are fitted: all where the table is small, fewer by its size alone."""
    return int(np.clip(HELD_OUT_CELLS // max(t.seen, 1), 1, HELD_OUT_PARTS))


def even_fit(seen: TableSurvey, q: int) -> Linear:
    """Principal axes of a table with hidden cells, one noise for all columns."""
    return quick_fit(seen, q, FOLD_TOL).params


class Folds:
    """Fits a growing number of dimensions to the same folds."""

    def __init__(
        self, t: JuryTable, folds: int | None, seed: int, *, fit: Callable[[TableSurvey, int], Linear] = even_fit
    ) -> None:
        mask = np.ones((t.n, t.d), dtype=bool) if t.mask is None else t.mask
        fold = np.where(_varied(t.x, mask), deal(mask, seed), -1)
        self.x, self.fit = t.x, fit
        self.hidden = [fold == f for f in range(fold_count(t) if folds is None else folds)]
        self.blocks = [Block(t.x * ~h, mask & ~h) for h in self.hidden]
        self.looks = [quick_look(b) for b in self.blocks]
        self.found = HeldOutDensity(np.concatenate([np.nonzero(h)[0] for h in self.hidden]), (), ())

    @property
    def count(self) -> int:
        """How many cells are hidden in all."""
        return len(self.found.row)

    def next(self) -> HeldOutDensity:
        """The judgement with one more dimension."""
        q = len(self.found.log_density)
        parts = [self._fold(q, k) for k in range(len(self.hidden))]
        density, square = (np.concatenate(p) for p in zip(*parts, strict=True))
        self.found = HeldOutDensity(self.found.row, (*self.found.log_density, density), (*self.found.square, square))
        return self.found

    def _fold(self, q: int, k: int) -> tuple[Array, Array]:
        h = self.hidden[k]
        mean, var = predict(self.fit(self.looks[k], q), self.blocks[k])
        off = (self.x - mean)[h] ** 2
        return -0.5 * (LOG_TWO_PI + np.log(var[h]) + off / var[h]), off


def _varied(x: Array, mask: Mask) -> Mask:
    """Columns with enough cells that are not the usual value: without these a fold would find them constant."""
    usual = [np.median(x[mask[:, j], j]) if mask[:, j].any() else 0.0 for j in range(x.shape[1])]
    return np.asarray(((x != usual) & mask).sum(axis=0) >= THIN_COLUMN)


def predict(params: Linear, block: Block) -> tuple[Array, Array]:
    """Mean and variance of every cell given the seen cells of its row; parameters count as uncertain too."""
    cells = predict_cells(params, block)
    return cells.mean, cells.var + cells.noise
