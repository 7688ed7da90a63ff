"""Eigenvalues against chance: parallel analysis, also with gaps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.maths.linalg import Array, Mask
from lowdim.maths.seeds import SHUFFLED_TABLES

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
