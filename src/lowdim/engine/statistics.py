"""Statistics that merge: moments by Chan's rule, pairwise sums for gaps, triangles for QR."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from lowdim.maths.linalg import Array, exact_sums
from lowdim.sources.source import Block

NARROW = 32  # columns up to which exact sums cost little beside reading the rows


class Moments(NamedTuple):
    """Count, mean and covariance (1/n) of a table, merged by Chan's rule.

    The mean is measured from `shift`, a point near the data, so that merging loses no digits to a
    large offset; a table's own Moments have shift 0. Where covariances come with divisor n - 1,
    factor analysis does not mind: it works on correlations.

    Reference: Chan, Golub and LeVeque (1983), eq. 2.1.

    >>> a, b = (moments(Block(np.array(rows))) for rows in ([[1.0], [3.0]], [[8.0]]))
    >>> a.merge(b).mean.tolist(), round(float(a.merge(b).covariance[0, 0]), 3)
    ([4.0], 8.667)
    """

    n: float
    mean: Array
    covariance: Array
    shift: Array | float = 0.0

    @property
    def centre(self) -> Array:
        """The mean itself."""
        return np.asarray(self.mean, dtype=np.float64) + self.shift

    def merge(self, other: Self) -> Self:
        n = self.n + other.n
        if n == 0.0:
            return self
        part = other.n / n
        step = other.mean - self.mean
        mean = self.mean + part * step
        covariance = other.covariance - self.covariance  # in place from here on: d x d copies cost more than sums
        covariance *= part
        covariance += self.covariance
        step *= (part * (1.0 - part)) ** 0.5
        covariance += np.multiply.outer(step, step)
        return self._replace(n=n, mean=mean, covariance=covariance)


def moments(block: Block) -> Moments:
    """The moments of a complete block whose origin is already near its mean."""
    x, n = block.x, float(block.times.sum())
    if n == 0.0:
        return Moments(0.0, np.zeros(x.shape[1]), np.zeros((x.shape[1],) * 2))
    if block.weight is None and x.shape[1] <= NARROW:
        total, covariance = exact_sums(x)
    else:
        weighted = x if block.weight is None else x * block.weight[:, None]
        total, covariance = weighted.sum(axis=0), x.T @ x if block.weight is None else weighted.T @ x
    mean = total / n
    covariance /= n
    covariance -= np.multiply.outer(mean, mean)
    return Moments(n, mean, covariance)


class Pairs(NamedTuple):
    """Sums over the rows that see both columns j and k: counts, sums of x_j, products.

    They only start an EM, so plain sums around the shift are good enough.
    """

    seen: Array
    total: Array
    product: Array

    def merge(self, other: Self) -> Self:
        return type(self)(*(a + b for a, b in zip(self, other, strict=True)))

    def covariance(self) -> Array:
        """Covariances (1/n) of available pairs; 0 where a pair is never seen together."""
        n = np.maximum(self.seen, 1.0)
        means = self.total / n
        return np.where(self.seen > 0, self.product / n - means * means.T, 0.0)


def pairs(block: Block) -> Pairs:
    """Pairwise sums of a block with gaps."""
    assert block.mask is not None
    seen = block.mask.astype(np.float64)
    w = 1.0 if block.weight is None else block.weight[:, None]
    return Pairs(seen.T @ (w * seen), block.x.T @ (w * seen), block.x.T @ (w * block.x))


class Columns(NamedTuple):
    """For each column: how often seen, mean and sum of squares about it (Chan's rule again)."""

    n: float  # rows by weight
    empty: float  # rows that are gaps only
    seen: Array
    mean: Array
    scatter: Array
    size: Array  # largest magnitude
    holes: int = 0  # empty cells, whatever their weight

    def merge(self, other: Self) -> Self:
        count = self.seen + other.seen
        safe = np.where(count > 0, count, 1.0)
        step = other.mean - self.mean
        scatter = self.scatter + other.scatter + step**2 * (self.seen * other.seen / safe)
        return type(self)(
            self.n + other.n,
            self.empty + other.empty,
            count,
            self.mean + step * (other.seen / safe),
            scatter,
            np.maximum(self.size, other.size),
            self.holes + other.holes,
        )

    @property
    def variance(self) -> Array:
        """Variance (1/n) of the seen cells of each column."""
        return self.scatter / np.where(self.seen > 0, self.seen, 1.0)


def columns(block: Block) -> Columns:
    """The column statistics of a block."""
    x, times = block.x, block.times
    n = float(times.sum())
    if block.mask is None:
        count, empty, holes = np.full(x.shape[1], n), 0.0, 0
        weight = None if block.weight is None else times[:, None]
    else:
        weight = block.mask * times[:, None]
        count = weight.sum(axis=0)
        empty = float(times[~block.mask.any(axis=1)].sum())
        holes = int(block.mask.size - block.mask.sum())
    safe = np.where(count > 0, count, 1.0)
    mean = (x if weight is None else weight * x).sum(axis=0) / safe
    off = (x - mean) ** 2
    scatter = (off if weight is None else weight * off).sum(axis=0)
    return Columns(n, empty, count, mean, scatter, np.abs(x).max(axis=0, initial=0.0), holes)


class BlockSurvey(NamedTuple):
    """The first look at a table: column statistics, and moments of pairs or of all columns at once."""

    columns: Columns | None  # only where some block has gaps
    complete: Moments | None
    gaps: Pairs | None

    def merge(self, other: Self) -> Self:
        both: Iterable[tuple[Any, Any]] = zip(self, other, strict=True)
        return type(self)(*(b if a is None else a if b is None else a.merge(b) for a, b in both))

    def pairs(self) -> Pairs:
        """Everything as pairwise sums."""
        if self.complete is None:
            assert self.gaps is not None
            return self.gaps
        n, mean, C, _ = self.complete
        ones = np.ones_like(C)
        whole = Pairs(n * ones, n * mean[:, None] * ones, n * (C + np.multiply.outer(mean, mean)))
        return whole if self.gaps is None else whole.merge(self.gaps)


def survey_block(block: Block) -> BlockSurvey:
    """One block surveyed: complete blocks take the cheap path."""
    if block.mask is None:
        return BlockSurvey(None, moments(block), None)
    return BlockSurvey(columns(block), None, pairs(block))


def upper(x: Array) -> Array:
    """The R factor of x."""
    return np.asarray(np.linalg.qr(x, mode="r"))


class Triangle(NamedTuple):
    """The R factor of [1 | x], rows scaled by the square root of their weight."""

    R: Array

    def merge(self, other: Self) -> Self:
        return type(self)(upper(np.concatenate([self.R, other.R])))


def triangle(block: Block) -> Triangle:
    """QR of a complete block; the column of ones does the centring without squaring anything."""
    x = np.column_stack([np.ones(len(block.x)), block.x])
    if block.weight is not None:
        x *= np.sqrt(block.weight)[:, None]
    return Triangle(upper(x))


class Sum(NamedTuple):
    """An array that merges by addition."""

    value: Array

    def merge(self, other: Self) -> Self:
        return type(self)(self.value + other.value)


# blocks of stored cells of a sparse table: those not stored are zeros, and are only counted ---------------------
def stored_columns(block: Block) -> Columns:
    """The column statistics of a block of stored cells; those not stored are zeros, and are only counted."""
    x: Any = block.x
    n, d = float(block.times.sum()), x.shape[1]
    w = np.repeat(block.times, np.diff(x.indptr))
    count = np.bincount(x.indices, w, d)
    mean = np.bincount(x.indices, w * x.data, d) / max(n, 1.0)
    scatter = np.bincount(x.indices, w * (x.data - mean[x.indices]) ** 2, d) + (n - count) * mean**2
    size = np.zeros(d)
    np.maximum.at(size, x.indices, np.abs(x.data))
    return Columns(n, 0.0, np.full(d, n), mean, scatter, size)


def stored_moments(block: Block) -> Moments:
    """The moments of a block of stored cells: few are, so the mean is small beside the spread, and nothing cancels."""
    x: Any = block.x
    n, d = float(block.times.sum()), x.shape[1]
    if n == 0.0:
        return Moments(0.0, np.zeros(d), np.zeros((d, d)))
    weighted = x if block.weight is None else x.multiply(block.weight[:, None]).tocsr()
    mean = np.asarray(weighted.sum(axis=0)).ravel() / n
    covariance = (weighted.T @ x).toarray() / n
    covariance -= np.multiply.outer(mean, mean)
    return Moments(n, mean, covariance)


def survey_stored_block(block: Block) -> BlockSurvey:
    """One block of stored cells surveyed: its columns by themselves, for the diagonal of moments may lose digits."""
    return BlockSurvey(stored_columns(block), stored_moments(block), None)
