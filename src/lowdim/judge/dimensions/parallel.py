"""Eigenvalues against chance: parallel analysis with gaps, and the threshold of Gavish and Donoho."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.judge.dimensions.evidence import JuryTable
from lowdim.math.linalg import Array, Mask
from lowdim.math.streams import SHUFFLED_TABLES

SHUFFLES = (20, 200)  # the fewest that give a 95 % band, and enough for any table
SHUFFLED_CELLS = 2e7  # cells shuffled in all: a budget by the table's size, never by the clock


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
    out = np.zeros_like(x)
    for j in range(x.shape[1]):
        rows = np.flatnonzero(mask[:, j])
        out[rows, j] = rng.permutation(x[rows, j])
    return out


def parallel_analysis(t: JuryTable, *, shuffles: int | None, band: float, seed: int) -> ParallelAnalysis:
    """Horn's parallel analysis: shuffled columns have the same cells and gaps, and share nothing.

    Reference: Horn (1965), with permuted columns (Buja and Eyuboglu 1992).
    """
    count = int(np.clip(SHUFFLED_CELLS // max(t.n * t.d, 1), *SHUFFLES)) if shuffles is None else shuffles
    chance = np.array(
        [
            eigenvalues(shuffled(t.x, t.mask, np.random.default_rng([seed, SHUFFLED_TABLES, s])), t.mask)
            for s in range(count)
        ]
    )
    return ParallelAnalysis(eigenvalues(t.x, t.mask), np.quantile(chance, band, axis=0), count)


def threshold(beta: float) -> float:
    """omega(beta): the hard threshold for singular values in units of their median, noise unknown.

    omega = lambda(beta) / sqrt(median of the Marchenko-Pastur law), lambda(beta)^2 = 2 (beta + 1)
    + 8 beta / (beta + 1 + sqrt(beta^2 + 14 beta + 1)).

    Reference: Gavish and Donoho (2014), eq. 11 and section IV.

    >>> round(threshold(1.0), 3)
    2.858
    """
    best = 2 * (beta + 1) + 8 * beta / (beta + 1 + np.sqrt(beta**2 + 14 * beta + 1))
    return float(np.sqrt(best / marchenko_pastur_median(beta)))


def marchenko_pastur_median(beta: float) -> float:
    """The median of the Marchenko-Pastur law with ratio beta <= 1 and unit variance."""
    half, cells = 2.0 * np.sqrt(beta), 4000
    # x = 1 + beta - half cos(u): the density's square roots at both ends vanish from the integral
    u = (np.arange(cells) + 0.5) * np.pi / cells
    mass = np.sin(u) ** 2 / (1.0 + beta - half * np.cos(u))
    below = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    angle = np.interp(0.5, below, np.arange(cells + 1) * np.pi / cells)
    return float(1.0 + beta - half * np.cos(angle))


def gavish_donoho(values: Array, n: int, d: int) -> int:
    """Singular values above the threshold: the number that a hard cut should keep."""
    s = np.sqrt(values)
    return int((s > threshold(min(n, d) / max(n, d)) * np.median(s)).sum())
