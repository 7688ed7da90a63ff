"""Where a mixture starts: centres among the rows of a sample, and the covariance about them."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from lowdim.maths.gaps import fill_deviations, pattern_groups
from lowdim.maths.kmeans import Labels, lloyd_steps, nearest_centers, plus_plus
from lowdim.maths.linalg import Array, largest, svd
from lowdim.sources.source import Block

LEAST_VARIANCE = 1e-12  # the least share of a column's variance that counts as spread about the starting centres
LEAST_WHITE = 1e-10  # the least share of the largest variance that is made 1: below it lies rounding
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


def within_sums(centers: Array, unit: Array, block: Block, labels: Labels | None = None) -> WithinSums:
    """The squares of a block about its nearest centres, or about those that `labels` name."""
    residual, seen, w = _residuals(centers, start_labels(centers, unit, block) if labels is None else labels, block)
    return WithinSums(float(w.sum()), w @ seen, residual.T @ (residual * w[:, None]))


def wide_covariance(centers: Array, unit: Array, block: Block) -> StartCovariance:
    """The pooled covariance of a few rows of many columns about their nearest centres."""
    residual, seen, w = _residuals(centers, start_labels(centers, unit, block), block)
    F = residual * np.sqrt(w[:, None] / np.maximum(w @ seen, 1e-12 * w.sum()))
    return StartCovariance((F * F).sum(axis=0), None, F)


def _residuals(centers: Array, labels: Labels, block: Block) -> tuple[Array, Array, Array]:
    """Deviations of rows from their centres, which cells are seen, and the rows' weights."""
    residual = block.x - centers[labels]
    seen = np.ones_like(residual)
    if block.mask is not None:
        residual *= block.mask
        seen = block.mask.astype(np.float64)
    w = np.ones(block.rows) if block.weight is None else block.weight
    return residual, seen, w


def choose_centers(block: Block, K: int, unit: Array, mean: Array, rng: np.random.Generator, far: bool) -> Array:
    """K rows of a sample, spread out by k-means++ and moved by a few K-means steps; drawn at random if not `far`."""
    x = block.x / unit
    centers = plus_plus(x, block.mask, block.weight, K, mean / unit, [rng], far)
    if far:
        centers, _ = lloyd_steps(x, block.mask, block.weight, centers, LLOYD_STEPS)
    return centers[0] * unit


class WhiteRows(NamedTuple):
    """Rows in units in which they have variance 1 in every direction, their gaps filled by one Gaussian."""

    block: Block  # complete
    mean: Array  # d
    back: Array  # d x d: a row y stands for mean + y back

    def start(self, K: int, rng: np.random.Generator, far: bool) -> tuple[Array, Labels]:
        """Centres in the table's units, and the label of each row."""
        one, zero = np.ones(len(self.mean)), np.zeros(len(self.mean))
        centers = choose_centers(self.block, K, one, zero, rng, far)
        return self.mean + centers @ self.back, start_labels(centers, one, self.block)

    def start_along(self, rank: int, K: int, unit: Array, rng: np.random.Generator) -> tuple[Array, Labels]:
        """The same by one direction alone, a column as it is or made white: that of the `rank`-th lowest kurtosis.

        Two groups apart along a direction have the lowest there is, 1; one group has 3.
        """
        x, weight = self.block.x, self.block.weight
        w = np.full(len(x), 1.0 / len(x)) if weight is None else weight / weight.sum()
        sides = np.hstack([x @ self.back / unit, x])
        squares = (sides - w @ sides) ** 2
        kurtosis = (w @ squares**2) / np.maximum(w @ squares, LEAST_WHITE) ** 2
        at = int(np.argsort(np.where(w @ squares > LEAST_WHITE, kurtosis, np.inf), kind="stable")[rank % len(kurtosis)])
        side, one = Block(sides[:, [at]], None, weight), np.ones(1)
        labels = start_labels(choose_centers(side, K, one, np.zeros(1), rng, True), one, side)
        shares = np.zeros((K, len(x)))
        shares[labels, np.arange(len(x))] = w
        centers = shares @ x / np.maximum(shares.sum(axis=1), LEAST_WHITE)[:, None]
        return self.mean + centers @ self.back, labels


def white_rows(block: Block, mean: Array, unit: Array) -> WhiteRows:
    """The rows of a sample made white: groups that differ across the main direction then count as much as along it."""
    about = within_sums(mean[None], unit, block, np.zeros(block.rows, dtype=np.int64)).covariance()
    assert about.C is not None
    values, U = np.linalg.eigh(about.C / np.outer(unit, unit))
    root = np.sqrt(np.maximum(values, LEAST_WHITE * values[-1]))
    P = (U / root) @ U.T / unit[:, None]  # symmetric: no sign is open
    deviations = block.x - mean
    if block.mask is not None:
        deviations = fill_deviations(deviations * block.mask, pattern_groups(block.mask), P @ P.T).deviations
    return WhiteRows(Block(deviations @ P, None, block.weight), mean, (U * root) @ U.T * unit)


def variance_bounds(about: StartCovariance, unit: Array, unit_free: bool, share: float) -> Array:
    """The least variance of each column: a share of those about the starting centres.

    Not of the table's own: two clusters far apart, or one wild row, would set a bound above every true variance.
    """
    variance = np.maximum(about.variance, LEAST_VARIANCE * unit**2)
    return share * (variance if unit_free else np.full(len(unit), float(variance.mean())))
