"""Where a mixture starts: centres among the rows of a sample, and the spread about them."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lowdim.math.eigen import largest
from lowdim.math.linalg import Array, svd
from lowdim.sources.source import Block

NARROW = 1e-12  # the least share of a column's variance that counts as spread about the starting centres
LLOYD = 8  # rounds of K-means on the sample: the rest is EM's business


class Spread(NamedTuple):
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


class Within(NamedTuple):
    """Squares of rows about the nearest of some centres."""

    n: float
    seen: Array  # d
    S: Array  # d x d, gaps on their centre

    def merge(self, other: Self) -> Self:
        return type(self)(self.n + other.n, self.seen + other.seen, self.S + other.S)

    def spread(self) -> Spread:
        """The pooled covariance; a column is made up for its gaps."""
        more = np.sqrt(self.n / np.maximum(self.seen, 1e-12 * self.n))
        C = self.S / self.n * np.outer(more, more)
        return Spread(np.diag(C).copy(), C, None)


def distances(block: Block, centres: Array, unit: Array) -> Array:
    """Squared distances of rows to centres in these units, n x K; gaps are made up for by the seen cells."""
    x, c = block.x / unit, centres / unit
    if block.mask is None:
        apart = (x * x).sum(axis=1)[:, None] - 2.0 * x @ c.T + (c * c).sum(axis=1)
    else:
        m = block.mask.astype(np.float64)
        apart = (x * x).sum(axis=1)[:, None] - 2.0 * x @ c.T + m @ (c * c).T
        apart *= (m.shape[1] / np.maximum(m.sum(axis=1), 1.0))[:, None]
    return np.maximum(apart, 0.0)


def nearest(block: Block, centres: Array, unit: Array) -> NDArray[np.intp]:
    """The nearest centre of each row."""
    return distances(block, centres, unit).argmin(axis=1)


def within(centres: Array, unit: Array, block: Block) -> Within:
    """The spread of a block about its nearest centres."""
    rest, seen, w = _rest(centres, unit, block)
    return Within(float(w.sum()), w @ seen, rest.T @ (rest * w[:, None]))


def within_wide(centres: Array, unit: Array, block: Block) -> Spread:
    """The same of a few rows of many columns."""
    rest, seen, w = _rest(centres, unit, block)
    F = rest * np.sqrt(w[:, None] / np.maximum(w @ seen, 1e-12 * w.sum()))
    return Spread((F * F).sum(axis=0), None, F)


def _rest(centres: Array, unit: Array, block: Block) -> tuple[Array, Array, Array]:
    """Deviations from the nearest centre, which cells are seen, and the rows' weights."""
    rest = block.x - centres[nearest(block, centres, unit)]
    seen = np.ones_like(rest)
    if block.mask is not None:
        rest *= block.mask
        seen = block.mask.astype(np.float64)
    w = np.ones(block.rows) if block.weight is None else block.weight
    return rest, seen, w


def in_order(block: Block) -> Block:
    """The rows sorted by their cells: what is drawn from them then depends neither on their order nor on whether a
    row is repeated or has a weight."""
    keys = block.x if block.mask is None else np.hstack([block.x, block.mask])
    order = np.lexsort(keys.T)
    return Block(
        block.x[order],
        None if block.mask is None else block.mask[order],
        None if block.weight is None else block.weight[order],
    )


def choose_centres(block: Block, K: int, unit: Array, mean: Array, rng: np.random.Generator, plain: bool) -> Array:
    """K rows of a sample, spread out by k-means++ and moved by a few K-means rounds, or picked by chance alone.

    Reference: Arthur and Vassilvitskii (2007), greedy over 2 + log K candidates.
    """
    w = np.ones(block.rows) if block.weight is None else block.weight
    rows = block.x if block.mask is None else np.where(block.mask, block.x, mean)
    centres = _spread(block, rows, w, K, unit, rng, plain)
    return centres if plain else _lloyd(block, centres, w, unit)


def _spread(block: Block, rows: Array, w: Array, K: int, unit: Array, rng: np.random.Generator, plain: bool) -> Array:
    tries = 1 if plain else 2 + int(np.log(K))
    first = rng.choice(block.rows, p=w / w.sum())
    centres = [rows[first]]
    near = distances(block, rows[first][None], unit)[:, 0]
    while len(centres) < K:
        mass = w * (near > 0.0) if plain else w * near
        total = mass.sum()
        share = mass / total if total > 0 and np.isfinite(total) else w / w.sum()
        picked = rng.choice(block.rows, tries, p=share)
        apart = np.minimum(distances(block, rows[picked], unit), near[:, None])
        best = int((w @ apart).argmin())
        centres.append(rows[picked[best]])
        near = apart[:, best]
    return np.array(centres)


def _lloyd(block: Block, centres: Array, w: Array, unit: Array) -> Array:
    seen = np.ones(block.x.shape) if block.mask is None else block.mask.astype(np.float64)
    for _ in range(LLOYD):
        label = nearest(block, centres, unit)
        hot = np.zeros((len(centres), block.rows))
        hot[label, np.arange(block.rows)] = w
        count = hot @ seen
        new = np.where(count > 0, (hot @ block.x) / np.where(count > 0, count, 1.0), centres)
        if np.array_equal(new, centres):
            break
        centres = new
    return centres


def bound(spread: Spread, unit: Array, own_units: bool, floor: float) -> Array:
    """The stated floor of the variances, told by the spread about the starting centres.

    Not by the table's own: two clusters far apart, or one wild row, would set a floor above every true variance.
    """
    variance = np.maximum(spread.variance, NARROW * unit**2)
    return floor * (variance if own_units else np.full(len(unit), float(variance.mean())))
