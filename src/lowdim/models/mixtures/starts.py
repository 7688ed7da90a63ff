"""Where a mixture starts: centres among the rows of a sample, and the covariance about them."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from lowdim.math.clusters import Labels, cluster_sums, move_centers, nearest_centers, plus_plus
from lowdim.math.linalg import Array, largest, svd
from lowdim.sources.source import Block

LEAST_VARIANCE = 1e-12  # the least share of a column's variance that counts as spread about the starting centres
LLOYD_STEPS = 8  # rounds of K-means on the sample: EM does the rest


class StartCovariance(NamedTuple):
    """A covariance: whole, or as the rows F it is made of (C = F'F) where it would be too large."""

    variance: Array  # d
    C: Array | None
    F: Array | None

    def axes(self, sd: Array, q: int) -> tuple[Array, Array]:
        """Its q leading eigenpairs in units of sd; where there are fewer, zeros."""
        if self.C is not None:
            return largest(self.C / np.outer(sd, sd), q)
        assert self.F is not None
        _, values, Vt = svd(self.F / sd)
        k = min(q, len(values))
        V = np.zeros((len(sd), q))
        V[:, :k] = Vt[:k].T
        return np.concatenate([values[:k] ** 2, np.zeros(q - k)]), V


class WithinSums(NamedTuple):
    """Squares of rows about the nearest of their centres."""

    n: float
    seen: Array  # d
    S: Array  # d x d, gaps on their centre

    def merge(self, other: Self) -> Self:
        return type(self)(self.n + other.n, self.seen + other.seen, self.S + other.S)

    def covariance(self) -> StartCovariance:
        """The pooled covariance; a column is made up for its gaps."""
        inflation = np.sqrt(self.n / np.maximum(self.seen, 1e-12 * self.n))
        C = self.S / self.n * np.outer(inflation, inflation)
        return StartCovariance(np.diag(C).copy(), C, None)


def start_labels(centers: Array, unit: Array, block: Block) -> Labels:
    """The nearest centre of each row, columns measured in these units."""
    labels: Labels = nearest_centers(block.x / unit, block.mask, centers[None] / unit)[0]
    return labels


def within_sums(centers: Array, unit: Array, block: Block) -> WithinSums:
    """The squares of a block about its nearest centres."""
    residual, seen, w = _residuals(centers, unit, block)
    return WithinSums(float(w.sum()), w @ seen, residual.T @ (residual * w[:, None]))


def wide_covariance(centers: Array, unit: Array, block: Block) -> StartCovariance:
    """The pooled covariance of a few rows of many columns about their nearest centres."""
    residual, seen, w = _residuals(centers, unit, block)
    F = residual * np.sqrt(w[:, None] / np.maximum(w @ seen, 1e-12 * w.sum()))
    return StartCovariance((F * F).sum(axis=0), None, F)


def _residuals(centers: Array, unit: Array, block: Block) -> tuple[Array, Array, Array]:
    """Deviations from the nearest centre, which cells are seen, and the rows' weights."""
    residual = block.x - centers[start_labels(centers, unit, block)]
    seen = np.ones_like(residual)
    if block.mask is not None:
        residual *= block.mask
        seen = block.mask.astype(np.float64)
    w = np.ones(block.rows) if block.weight is None else block.weight
    return residual, seen, w


def choose_centers(block: Block, K: int, unit: Array, mean: Array, rng: np.random.Generator, far: bool) -> Array:
    """K rows of a sample, spread out by k-means++ and moved by a few K-means steps; drawn at random if not `far`."""
    x = block.x / unit
    centers = plus_plus(x, block.mask, block.weight, K, mean / unit, rng, far)
    for _ in range(LLOYD_STEPS if far else 0):
        before, (centers, _) = (
            centers,
            move_centers(centers, cluster_sums(x, block.mask, block.weight, 0, centers[None])),
        )
        if np.array_equal(centers, before):
            break
    return centers * unit


def variance_bounds(about: StartCovariance, unit: Array, unit_free: bool, share: float) -> Array:
    """The least variance of each column: a share of those about the starting centres.

    Not of the table's own: two clusters far apart, or one wild row, would set a bound above every true variance.
    """
    variance = np.maximum(about.variance, LEAST_VARIANCE * unit**2)
    return share * (variance if unit_free else np.full(len(unit), float(variance.mean())))
