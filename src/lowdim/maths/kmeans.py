"""Clusters: nearest centres, the sums of a step of Lloyd's iteration, k-means++ starts, and soft labels.

Several starts are carried through one walk of the rows: centres are R x K x d, sums have R in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowdim.maths.linalg import EPS, Array, Mask, lower

Labels = NDArray[np.int64]
CACHED_NUMBERS = 2**17  # numbers compared at a time: they stay in the cache of a core
MOST_PLACES = 255  # clusters up to which a byte tells them apart
FARTHEST_ROWS = 8  # farthest rows a pass keeps: more empty clusters than that wait for the next pass
SAFE_SQUARES = 64.0  # squares of rows over squared distances up to which the latter may be had from sums
_PLACES = np.arange(MOST_PLACES, 0, -1, dtype=np.uint8)
CANCELLATION = (
    1e6  # squares of centres over squared distances beyond which |x|^2 - 2xm + |m|^2 costs digits that matter
)


class ClusterSums(NamedTuple):
    """The statistics of one pass under R sets of K centres; plain sums, measured from the frame's origin."""

    rows: Array  # R x K, rows by weight; those without any cell belong nowhere
    total: Array  # R x K x d, sums of the seen cells
    seen: Array  # R x K x d, how many were seen; R x K x 1 where all were
    inertia: Array  # R, sums of squared distances from the centres
    far: Array  # R x F, the largest squared distances; none where every cluster has rows
    far_row: Any  # R x F, the numbers of those rows
    far_cells: Array  # R x F x d, the rows themselves, gaps filled from their centre

    def merge(self, other: Self) -> Self:
        rows, total, seen, inertia = (a + b for a, b in zip(self[:4], other[:4], strict=True))
        return type(self)(rows, total, seen, inertia, *_farthest(self[4:], other[4:]))

    def of_start(self, r: int) -> ClusterSums:
        """The sums of one start, as if it had been alone."""
        return ClusterSums(*(part[r : r + 1] for part in self))


class ClusteredRows(NamedTuple):
    """Rows by their nearest centres, which have no gaps."""

    belongs: Any  # of `membership`
    squares: float  # the sum of squares of all cells


def nearest_centers(x: Array, mask: Mask | None, mu: Array) -> Labels:
    """R x n: the nearest of each set of centres, by the cells that are seen; the first of equals."""
    R, K, d = mu.shape
    label, flat = np.empty((R, len(x)), dtype=np.int64), mu.reshape(R * K, d)
    half = 0.5 * flat**2
    for rows in rows_in_cache(len(x), R * K):
        score = flat @ x[rows].T
        score -= half.sum(axis=1)[:, None] if mask is None else half @ mask[rows].T.astype(np.float64)
        for r in range(R):
            first_largest(score[r * K : r * K + K], label[r, rows])
    return label


def rows_in_cache(n: int, K: int) -> list[slice]:
    """n rows in parts whose scores x'm - |m|^2 / 2 at K centres stay in cache: the larger, the nearer."""
    step = max(CACHED_NUMBERS // K, 64)
    return [slice(begin, begin + step) for begin in range(0, n, step)]


def first_largest(score: Array, label: NDArray[np.integer[Any]]) -> Array:
    """The largest of each column of K x n scores, its place into `label`, the first of equals.

    All columns are compared together, without a branch: a byte a score tells which of them is the largest. Where a
    score is no number none is, and the last place is given: compiled code counts rows by these labels unasked.
    """
    K, best = len(score), np.asarray(score.max(axis=0), dtype=np.float64)
    if K > MOST_PLACES:
        label[:] = score.argmax(axis=0)
        return best
    hit = (score == best).view(np.uint8)
    hit *= _PLACES[-K:, None]
    np.subtract(K, np.maximum(hit.max(axis=0), 1), out=label, dtype=label.dtype)
    return best


def _compare_from_nearest(x: Array, mask: Mask | None, mu: Array, label: Labels) -> Labels:
    """The nearest centres again, compared from each row's present one: |t|^2 - 2 t'(x - m), t = m_j - m."""
    label = label.copy()
    for k in np.unique(label):
        rows = np.flatnonzero(label == k)
        residual, step = x[rows] - mu[k], mu - mu[k]
        if mask is None:
            gain = 2.0 * residual @ step.T - (step**2).sum(axis=1)
        else:
            seen = mask[rows]
            gain = 2.0 * (residual * seen) @ step.T - seen.astype(np.float64) @ (step**2).T
        label[rows] = gain.argmax(axis=1)
    return label


def cluster_sums(
    x: Array, mask: Mask | None, weight: Array | None, start: int, mu: Array, nearest: ClusteredRows | None = None
) -> ClusterSums:
    """One E step and the sums of the M step for every set of centres, over rows `start`, `start + 1`, ...

    Where the nearest of one set of centres are known already, they are taken as given.
    """
    seen = None if mask is None else mask.astype(np.float64)
    if nearest is None:
        w = np.ones(len(x)) if weight is None else weight
        w = w if mask is None else w * mask.any(axis=1)
        labels = nearest_centers(x, mask, mu).astype(np.int32)
        lots = [membership(label, w, mu.shape[1]) for label in labels]
        squares = sum_of_squares(x, weight) if mask is None else np.inf
    else:
        squares, lots = nearest.squares, [nearest.belongs]
    sums = [_sums_of_start(x, mask, seen, start, squares, m, b) for m, b in zip(mu, lots, strict=True)]
    rows, total, seen_of, inertia = (
        np.stack(parts) if len(mu) > 1 else np.asarray(parts[0])[None]
        for parts in zip(*(part[:4] for part in sums), strict=True)
    )
    return ClusterSums(rows, total, seen_of, inertia, *_padded([part[4:] for part in sums]))


def _sums_of_start(
    x: Array, mask: Mask | None, seen: Array | None, start: int, squares: float, mu: Array, belongs: Any
) -> tuple[Any, ...]:
    """The fields of ClusterSums for one set of centres; with infinite `squares` all distances are taken."""
    count, total = _counts(belongs), belongs @ x
    inertia = squares - float(np.vdot(2.0 * total - count[:, None] * mu, mu))  # |x|^2 - 2xm + |m|^2
    if not squares < SAFE_SQUARES * inertia:  # digits that matter cancel
        label, residual = recheck_labels(x, mask, mu, belongs.indices)
        belongs = membership(label.astype(np.int32), belongs.data, len(mu))
        count, total = _counts(belongs), belongs @ x
        inertia = float(belongs.data @ (residual * residual).sum(axis=1))
    no_rows = np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros((0, x.shape[1]))
    far = no_rows if count.all() else _far(x, mask, mu, belongs.indices, belongs.data, start)
    return count, total, count[:, None] if seen is None else belongs @ seen, inertia, *far


def sum_of_squares(x: Array, weight: Array | None) -> float:
    """Of all cells, each row by its weight."""
    return float(np.vdot(x, x) if weight is None else weight @ np.einsum("ij,ij->i", x, x))


def membership(label: NDArray[np.int32], w: Array, K: int) -> Any:
    """Which rows each of K centres has, with their weights: K x n, to be multiplied by the rows; it holds `label`."""
    ends = np.arange(len(label) + 1, dtype=np.int32)  # as SciPy has them: nothing to convert
    return sp.csc_array((w, label, ends), shape=(K, len(label)))


def _counts(belongs: Any) -> Array:
    """How many rows each centre has, by weight."""
    return np.asarray(np.bincount(belongs.indices, belongs.data, belongs.shape[0]), dtype=np.float64)


def nearest_labels(x: Array, mask: Mask | None, mu: Array) -> tuple[Labels, Array]:
    """The nearest of one set of centres for each row, and the residuals."""
    return recheck_labels(x, mask, mu, nearest_centers(x, mask, mu[None])[0])


def recheck_labels(x: Array, mask: Mask | None, mu: Array, label: Labels) -> tuple[Labels, Array]:
    """Labels and residuals; compared again where centres lie so far out that rounding may have decided."""
    residual = residuals(x, mask, mu, label)
    if (mu**2).sum(axis=1).max() * len(x) > CANCELLATION * float(np.vdot(residual, residual)):
        label = _compare_from_nearest(x, mask, mu, label)
        residual = residuals(x, mask, mu, label)
    return label, residual


def residuals(x: Array, mask: Mask | None, mu: Array, label: Labels) -> Array:
    """Rows minus their centres; zero where there is a gap."""
    residual = mu.take(label, axis=0)
    np.subtract(x, residual, out=residual)
    if mask is not None:
        residual *= mask
    return residual


def _far(
    x: Array, mask: Mask | None, mu: Array, label: Labels, weight: Array, start: int
) -> tuple[Array, Labels, Array]:
    """The farthest rows: needed only where some cluster got none, and one that is empty is so in every tile."""
    squares = np.where(weight > 0, (residuals(x, mask, mu, label) ** 2).sum(axis=1), 0.0)
    best = np.lexsort((np.arange(len(x)), -squares))[:FARTHEST_ROWS]
    best = best[squares[best] > 0.0]
    cells = x[best] if mask is None else np.where(mask[best], x[best], mu[label[best]])
    return squares[best], best + start, cells


def _farthest(one: Any, two: Any) -> Any:
    """The farthest of two lots of rows, start by start."""
    if not one[0].shape[1] or not two[0].shape[1]:
        return one if one[0].shape[1] else two
    far, row, cells = (np.concatenate(pair, axis=1) for pair in zip(one, two, strict=True))
    best = np.lexsort((row, -far), axis=1)[:, :FARTHEST_ROWS]
    return (
        np.take_along_axis(far, best, 1),
        np.take_along_axis(row, best, 1),
        np.take_along_axis(cells, best[:, :, None], 1),
    )


def _padded(lots: list[Any]) -> Any:
    """The farthest rows of every start in arrays of one size: -1 where a start has fewer than another."""
    if len(lots) == 1:
        return tuple(part[None] for part in lots[0])
    F = max(len(far) for far, _, _ in lots)
    d = lots[0][2].shape[1]
    out = np.full((len(lots), F), -1.0), np.zeros((len(lots), F), dtype=np.int64), np.zeros((len(lots), F, d))
    for r, lot in enumerate(lots):
        for part, values in zip(out, lot, strict=True):
            part[r, : len(values)] = values
    return out


def move_centers(mu: Array, sums: ClusterSums) -> tuple[Array, int]:
    """The M step of one start, and how many empty clusters were put on a farthest row.

    Each of these rows then lies on a centre and no other row is farther than before, so the objective cannot
    fall. A column that no row of a cluster has seen keeps its value.
    """
    count, total, seen = sums.rows[0], sums.total[0], sums.seen[0]
    new = np.where(seen > 0, total / np.where(seen > 0, seen, 1.0), mu)
    empty = np.flatnonzero(count == 0)
    if not len(empty):
        return new, 0
    spare: list[Array] = []
    for square, row in zip(sums.far[0], sums.far_cells[0], strict=True):
        if square > 0.0 and not any(np.array_equal(row, other) for other in spare):
            spare.append(row)
    k = min(len(empty), len(spare))
    if k:
        new[empty[:k]] = spare[:k]
    return new, k


def center_distances(x: Array, mask: Mask | None, mu: Array) -> Array:
    """n x K distances over the seen cells; those that cancellation would spoil are taken from differences."""
    x2 = np.einsum("ij,ij->i", x, x)[:, None]
    m2 = (mu**2).sum(axis=1) if mask is None else mask.astype(np.float64) @ (mu**2).T
    square = x2 - 2.0 * (x @ mu.T) + m2
    i, k = np.nonzero(square * CANCELLATION < x2 + m2)
    for part in np.array_split(np.arange(len(i)), max(1, i.size * x.shape[1] // 2**20)):
        residual = x[i[part]] - mu[k[part]]
        if mask is not None:
            residual *= mask[i[part]]
        square[i[part], k[part]] = np.einsum("ij,ij->i", residual, residual)
    distances: Array = np.sqrt(np.maximum(square, 0.0))
    return distances


def plus_plus(
    x: Array, mask: Mask | None, weight: Array | None, K: int, fill: Array, rng: np.random.Generator, far: bool = True
) -> Array:
    """K rows far from each other: each drawn by its weighted squared distance from those before, best of a few.

    Rows with gaps are measured over what they show; as centres their gaps hold `fill`. With `far=False` each row
    that is not yet among the centres is drawn by its weight alone.

    Arthur and Vassilvitskii, "k-means++: the advantages of careful seeding" (SODA 2007), with 2 + log K tries a
    centre as they suggest: the one that leaves the smallest sum of squares stays.
    """
    rows = x if mask is None else np.where(mask, x, fill)
    order = _sorted(rows)
    x, mask, rows = x[order], None if mask is None else mask[order], rows[order]
    w = np.ones(len(x)) if weight is None else weight[order]
    w = w if mask is None else w * mask.any(axis=1)
    seen = None if mask is None else mask.astype(np.float64)
    x2, tries = np.einsum("ij,ij->i", x, x), 2 + int(np.log(K)) if far else 1
    centers = _draw(w, 1, rng)
    square = _squares(x, x2, seen, rows[centers])[:, 0]
    for _ in range(1, K):
        candidates = _draw(w * (square if far else square > 0.0), tries, rng)
        squares = np.minimum(square[:, None], _squares(x, x2, seen, rows[candidates]))
        best = int((w @ squares).argmin())
        centers, square = np.append(centers, candidates[best]), squares[:, best]
    return np.asarray(rows[centers], dtype=np.float64)


def _sorted(x: Array) -> NDArray[np.intp]:
    """An order of rows that does not depend on the one they came in, copies side by side.

    Draws then fall on the same rows however these are shuffled, and whether one is repeated or weighted.
    """
    unlike = np.cos(np.arange(1.0, x.shape[1] + 1.0))  # no two rows of a table have the same sum with such weights
    return np.argsort((x * unlike).sum(axis=1), kind="stable")


def _draw(share: Array, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """k positions drawn by share; the first where all shares are zero."""
    edges = np.cumsum(share)
    if edges[-1] <= 0.0:
        return np.zeros(k, dtype=np.intp)
    positions: NDArray[np.intp] = np.searchsorted(edges, rng.random(k) * edges[-1], side="right")
    return np.minimum(positions, len(share) - 1)


def _squares(x: Array, x2: Array, seen: Array | None, c: Array) -> Array:
    """n x k squared distances from a few rows; what is only rounding is zero."""
    c2 = (c**2).sum(axis=1) if seen is None else seen @ (c**2).T
    square = x2[:, None] - 2.0 * (x @ c.T) + c2
    return np.where(square > 8 * EPS * (x2[:, None] + c2), square, 0.0)


# soft labels ---------------------------------------------------------------------------------------------
def responsibilities(log_weights: Array, log_densities: Sequence[Array], mask: Mask | None) -> tuple[Array, Array]:
    """Each component's share of each row, K x n, and the rows' log densities."""
    joint = np.array(log_densities)
    joint += log_weights[:, None]
    top = joint.max(axis=0)
    joint -= top
    np.exp(joint, out=joint)
    total = joint.sum(axis=0)
    joint /= total
    log_density = top + np.log(total)
    if mask is not None:
        empty = ~mask.any(axis=1)
        log_density[empty] = 0.0  # a row without any cell has density 1
        joint[:, empty] = np.exp(log_weights)[:, None]
    return joint, log_density


def label_covariances(share: Array) -> Array:
    """The packed covariances diag(r) - r r' of one-of-K labels with shares r, n x K."""
    i, j = lower(share.shape[1])
    return np.where(i == j, share[:, i], 0.0) - share[:, i] * share[:, j]
