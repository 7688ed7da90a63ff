"""Where a mixture starts: centres among the rows of a sample, and the covariance about them."""

from __future__ import annotations

from collections.abc import Iterator
from operator import add
from typing import NamedTuple, Self

import numpy as np

from lowdim.engine.statistics import Columns, Moments
from lowdim.maths.gaps import given_seen, pattern_groups
from lowdim.maths.kmeans import Labels, lloyd_steps, nearest_centers, plus_plus, residuals
from lowdim.maths.linalg import Array
from lowdim.models.base.survey import TableSurvey
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Block
from lowdim.sources.views import Frame

LEAST_VARIANCE = 1e-12  # the least share of a column's variance that counts as spread about the starting centres
LEAST_WHITE = 1e-10  # the least share of the largest variance that is made 1: below it lies rounding
LLOYD_STEPS = 8  # rounds of K-means on the sample: EM does the rest
WHITE_COLUMNS = 64  # columns up to which starts are also looked for among rows made white
DIRECTION_EVERY = 4  # the first start takes the rows as they are, every fourth after it one direction alone


class StartCovariance(NamedTuple):
    """A covariance: whole, or as the rows F it is made of (C = F'F) where it would be too large."""

    variance: Array  # d
    C: Array | None
    F: Array | None

    def survey(self, sd: Array, n: float) -> TableSurvey:
        """What a first pass would find of n rows about zero with this covariance, in units of sd."""
        d, nothing = len(sd), np.zeros(len(sd))
        columns = Columns(n, 0.0, np.full(d, n), nothing, n * self.variance / sd**2, nothing)
        moments = None if self.C is None else Moments(n, nothing, self.C / np.outer(sd, sd))
        rows = np.broadcast_to(0.0, (2 * d, d)) if self.F is None else self.F / sd * np.sqrt(len(self.F))
        source = ArraySource(rows, columns=None, weight=np.full(len(rows), n / len(rows)))
        return TableSurvey(Frame(nothing, np.ones(d), np.ones(d)), source, columns, moments, None)

    def variance_bounds(self, unit: Array, unit_free: bool, share: float) -> Array:
        """The least variance of each column: a share of those about the starting centres.

        Not of the table's own: two clusters far apart, or one wild row, would set a bound above every true variance.
        """
        variance = np.maximum(self.variance, LEAST_VARIANCE * unit**2)
        return share * (variance if unit_free else np.full(len(unit), float(variance.mean())))


class WithinSums(NamedTuple):
    """Squares of rows about the nearest of their centres."""

    n: float
    seen: Array  # d
    S: Array  # d x d, gaps on their centre

    def merge(self, other: Self) -> Self:
        return type(self)(*map(add, self, other))

    def covariance(self) -> StartCovariance:
        """The pooled covariance; a column is made up for its gaps."""
        inflation = np.sqrt(self.n / np.maximum(self.seen, 1e-12 * self.n))
        C = self.S / self.n * np.outer(inflation, inflation)
        return StartCovariance(np.diag(C).copy(), C, None)


def within_sums(centers: Array, unit: Array, block: Block, labels: Labels | None = None) -> WithinSums:
    """The squares of a block about its nearest centres, or about those that `labels` name."""
    if labels is None:
        labels = nearest_centers(block.x / unit, block.mask, centers[None] / unit)[0]
    residual, w = residuals(block.x, block.mask, centers, labels), block.times
    return WithinSums(float(w.sum()), w @ block.seen, residual.T @ (residual * w[:, None]))


def wide_covariance(centers: Array, unit: Array, block: Block) -> StartCovariance:
    """The pooled covariance of a few rows of many columns about their nearest centres."""
    labels = nearest_centers(block.x / unit, block.mask, centers[None] / unit)[0]
    residual, w = residuals(block.x, block.mask, centers, labels), block.times
    F = residual * np.sqrt(w[:, None] / np.maximum(w @ block.seen, 1e-12 * w.sum()))
    return StartCovariance((F * F).sum(axis=0), None, F)


# centres ------------------------------------------------------------------------------------------------
def center_sets(
    sample: Block, K: int, unit: Array, mean: Array, *, n_init: int, seed: int, far: bool, white: bool
) -> Iterator[tuple[Array, Labels]]:
    """Sets of K centres among the rows of a sample, each with the nearest of them for every row.

    Most sets are chosen with the rows made `white`, since in their own units one long direction may hide the groups;
    some by one direction alone, since many directions may hide it.
    """
    n_init = 1 if K == 1 else n_init
    whitened = white_rows(sample, mean, unit) if n_init > 1 and len(mean) <= WHITE_COLUMNS else None
    for i in range(n_init):
        rng = np.random.default_rng([seed, i])
        if whitened is not None and far and i and i % DIRECTION_EVERY == 0:
            yield whitened.start_along(i // DIRECTION_EVERY - 1, K, unit, rng)
        elif whitened is not None and white and i:
            centers, labels = choose_centers(whitened.block, K, np.ones_like(unit), np.zeros_like(unit), rng, far)
            yield whitened.mean + centers @ whitened.back, labels
        else:
            yield choose_centers(sample, K, unit, mean, rng, far)


def choose_centers(
    block: Block, K: int, unit: Array, mean: Array, rng: np.random.Generator, far: bool
) -> tuple[Array, Labels]:
    """K rows of a sample, and the nearest of them for every row, columns measured in units of `unit`.

    Spread out by k-means++ and moved by a few K-means steps; drawn at random if not `far`.
    """
    x = block.x / unit
    centers = plus_plus(x, block.mask, block.weight, K, mean / unit, [rng], far)
    if far:
        centers, _ = lloyd_steps(x, block.mask, block.weight, centers, LLOYD_STEPS)
    return centers[0] * unit, nearest_centers(x, block.mask, centers)[0]


class WhiteRows(NamedTuple):
    """Rows in units in which they have variance 1 in every direction, their gaps filled by one Gaussian."""

    block: Block  # complete
    mean: Array  # d
    back: Array  # d x d: a row y stands for mean + y back

    def start_along(self, rank: int, K: int, unit: Array, rng: np.random.Generator) -> tuple[Array, Labels]:
        """Centres in the table's units, and the label of each row, by one direction alone.

        A column as it is or made white, that of the `rank`-th lowest kurtosis: two groups apart along a direction have
        the lowest there is, 1; one group has 3.
        """
        x, weight = self.block.x, self.block.weight
        w = np.full(len(x), 1.0 / len(x)) if weight is None else weight / weight.sum()
        # the column of low kurtosis, K-means along it alone, and the centres of what that parts
        sides = np.hstack([x @ self.back / unit, x])
        squares = (sides - w @ sides) ** 2
        kurtosis = (w @ squares**2) / np.maximum(w @ squares, LEAST_WHITE) ** 2
        at = int(np.argsort(np.where(w @ squares > LEAST_WHITE, kurtosis, np.inf), kind="stable")[rank % len(kurtosis)])
        side = Block(sides[:, [at]], None, weight)
        _, labels = choose_centers(side, K, np.ones(1), np.zeros(1), rng, True)
        shares = np.zeros((K, len(x)))
        shares[labels, np.arange(len(x))] = w
        centers = shares @ x / np.maximum(shares.sum(axis=1), LEAST_WHITE)[:, None]
        return self.mean + centers @ self.back, labels


def white_rows(block: Block, mean: Array, unit: Array) -> WhiteRows:
    """The rows of a sample made white: groups that differ across the main direction then count as much as along it."""
    about = within_sums(mean[None], unit, block, np.zeros(len(block.x), dtype=np.int64)).covariance()
    assert about.C is not None
    values, U = np.linalg.eigh(about.C / np.outer(unit, unit))
    root = np.sqrt(np.maximum(values, LEAST_WHITE * values[-1]))
    P = (U / root) @ U.T / unit[:, None]  # symmetric: no sign is open
    deviations = block.x - mean
    if block.mask is not None:
        deviations = given_seen(deviations * block.mask, pattern_groups(block.mask), P).deviations
    return WhiteRows(Block(deviations @ P, None, block.weight), mean, (U * root) @ U.T * unit)
