"""K-means on arrays: k-means++ starts, nearest centres, the sums of a step of Lloyd's iteration, the step itself.

Several starts are carried through one walk of the rows: centres are R x K x d, sums have R in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowdim.maths.linalg import EPS, Array, Mask

Labels = NDArray[np.int64]
CACHED_NUMBERS = 2**16  # numbers compared at a time: they stay in the cache of a core
MOST_PLACES = 255  # clusters up to which a byte tells them apart
FARTHEST_ROWS = 8  # farthest rows a pass keeps: more empty clusters than that wait for the next pass
SAFE_SQUARES = 64.0  # squares of rows over squared distances up to which the latter may be had from sums
CANCELLATION = (
    1e6  # squares of centres over squared distances beyond which |x|^2 - 2xm + |m|^2 costs digits that matter
)
_PLACES = np.arange(MOST_PLACES, 0, -1, dtype=np.uint8)


# starts --------------------------------------------------------------------------------------------------
def plus_plus(
    x: Array,
    mask: Mask | None,
    weight: Array | None,
    K: int,
    fill: Array,
    generators: Sequence[np.random.Generator],
    far: bool = True,
) -> Array:
    """R x K x d: for each generator K rows far from each other, drawn by squared distance from those before.

    Rows with gaps are measured over what they show; as centres their gaps hold `fill`. With `far=False` each row
    that is not yet among the centres is drawn by its weight alone.

    Arthur and Vassilvitskii, "k-means++: the advantages of careful seeding" (SODA 2007), greedy as they suggest in
    section 7: 2 + log K rows are tried for a centre, and the one that leaves the smallest sum of squares stays.
    """
    # Rows in an order that does not depend on the one they came in, copies side by side: draws then fall on the same
    # rows however these are shuffled, and whether one is repeated or weighted.
    rows = x if mask is None else np.where(mask, x, fill)
    unlike = np.cos(np.arange(1.0, x.shape[1] + 1.0))  # no two rows of a table have the same sum with such weights
    order = np.argsort((rows * unlike).sum(axis=1), kind="stable")
    x, mask, rows = x[order], None if mask is None else mask[order], rows[order]
    w = np.ones(len(x)) if weight is None else weight[order]
    w = w if mask is None else w * mask.any(axis=1)
    # Squared distances over what each row shows are |x|^2 - 2xc + |c|^2 in one product, with what rounding may have
    # made of them taken off, so that copies of a row are at 0 from it.
    certain = 1.0 - 8 * EPS
    x2 = certain * np.einsum("ij,ij->i", x, x)
    ones = np.ones((len(x), 1)) if mask is None else mask
    terms = np.hstack([-2.0 * x, x2[:, None], certain * ones])
    R = len(generators)
    starts, chosen = np.arange(R), np.empty((R, K), dtype=np.intp)
    square = np.full((R, len(x)), np.inf)  # of each row from the nearest centre so far
    for k in range(K):
        # The first centre is any row, drawn by its weight; for the others a few rows are drawn by weight times squared
        # distance from the nearest centre so far ...
        by_distance = far and k > 0
        tries = 2 + int(np.log(K)) if by_distance else 1
        candidates = np.zeros((R, tries), dtype=np.intp)  # the first row where all shares are zero
        for r, rng in enumerate(generators):
            edges = np.cumsum(w * (square[r] if by_distance else square[r] > 0.0))
            if edges[-1] > 0.0:
                drawn = np.searchsorted(edges, rng.random(tries) * edges[-1], side="right")
                candidates[r] = np.minimum(drawn, len(x) - 1)
        # ... and of these the one stays that leaves the smallest weighted sum of squares.
        c = rows[candidates.ravel()]
        c2 = (c**2).sum(axis=1, keepdims=True) if mask is None else c**2
        left = (np.hstack([c, np.ones((len(c), 1)), c2]) @ terms.T).reshape(R, tries, -1)
        np.clip(left, 0.0, square[:, None], out=left)
        best = (left @ w).argmin(axis=1)
        chosen[:, k], square = candidates[starts, best], left[starts, best]
    return rows[chosen]


def lloyd_steps(x: Array, mask: Mask | None, weight: Array | None, mu: Array, steps: int) -> tuple[Array, Array]:
    """R sets of centres after a few steps over rows in memory, and R inertias: those before the last step."""
    for _ in range(steps):
        sums, before = cluster_sums(x, mask, weight, 0, mu), mu
        mu = np.stack([move_centers(centers, sums, r)[0] for r, centers in enumerate(mu)])
        if np.array_equal(mu, before):
            break
    return mu, sums.inertia


# a step of Lloyd's iteration -------------------------------------------------------------------------------
class ClusterSums(NamedTuple):
    """The statistics of one pass under R sets of K centres; plain sums, measured from the frame's origin."""

    rows: Array  # R x K, rows by weight; those without any cell belong nowhere
    total: Array  # R x K x d, sums of the seen cells
    seen: Array  # R x K x d, how many were seen; R x K x 1 where all were
    inertia: Array  # R, sums of squared distances from the centres
    far: Array  # R x F, the largest squared distances; F is 0 where every cluster has rows
    far_row: Any  # R x F, the numbers of those rows
    far_cells: Array  # R x F x d, the rows themselves, gaps filled from their centre

    def merge(self, other: Self) -> Self:
        rows, total, seen, inertia = (a + b for a, b in zip(self[:4], other[:4], strict=True))
        return type(self)(rows, total, seen, inertia, *_farthest(self, other))


def cluster_sums(x: Array, mask: Mask | None, weight: Array | None, start: int, mu: Array) -> ClusterSums:
    """Lloyd's first step and the sums of his second for every set of centres, over rows `start`, `start + 1`, ..."""
    R, K, d = mu.shape
    w = np.ones(len(x)) if weight is None else weight
    w = w if mask is None else w * mask.any(axis=1)
    # Each row goes to its nearest centre, and each centre sums up its rows.
    labels = nearest_centers(x, mask, mu)
    inertia, exact = np.empty(R), np.arange(R)
    if mask is None:
        rows, total = _sum_by_label(labels, w, K, x)
        squares = float(np.vdot(x, x) if weight is None else w @ np.einsum("ij,ij->i", x, x))
        inertia = squares - ((2.0 * total - rows[:, :, None] * mu) * mu).sum(axis=(1, 2))  # |x|^2 - 2xm + |m|^2
        exact = np.flatnonzero(~(squares < SAFE_SQUARES * inertia))
    # With gaps, or where digits that matter cancelled, distances are taken row by row.
    for r in exact.tolist():
        labels[r], residual = recheck_labels(x, mask, mu[r], labels[r])
        inertia[r] = w @ (residual * residual).sum(axis=1)
    if len(exact):
        rows, total = _sum_by_label(labels, w, K, x)
    seen = rows[:, :, None] if mask is None else _sum_by_label(labels, w, K, mask.astype(np.float64))[1]
    # A cluster that is empty is so in every tile: where none is, no farthest rows are needed.
    F = 0 if rows.all() else FARTHEST_ROWS
    far, far_row, far_cells = np.full((R, F), -1.0), np.zeros((R, F), dtype=np.int64), np.zeros((R, F, d))
    for r in range(R if F else 0):
        square = np.where(w > 0, (residuals(x, mask, mu[r], labels[r]) ** 2).sum(axis=1), 0.0)
        best = np.lexsort((np.arange(len(x)), -square))[:F]
        lot = slice(len(best))
        far[r, lot], far_row[r, lot] = square[best], best + start
        far_cells[r, lot] = x[best] if mask is None else np.where(mask[best], x[best], mu[r, labels[r, best]])
    return ClusterSums(rows, total, seen, inertia, far, far_row, far_cells)


def _sum_by_label(labels: Labels, w: Array, K: int, x: Array) -> tuple[Array, Array]:
    """Under R sets of labels: the weights of the rows of each, R x K, and their weighted sums, R x K x d."""
    (R, n), d = labels.shape, x.shape[1]
    place = (labels.T + K * np.arange(R)).ravel().astype(np.int32)
    weight = np.repeat(w, R) if R > 1 else w
    ends = np.arange(0, R * n + 1, R, dtype=np.int32)  # as SciPy has them: nothing to convert
    belongs = sp.csc_array((weight, place, ends), shape=(R * K, n))
    rows = np.asarray(np.bincount(place, weight, R * K), dtype=np.float64)
    return rows.reshape(R, K), (belongs @ x).reshape(R, K, d)


def _farthest(one: ClusterSums, two: ClusterSums) -> tuple[Array, ...]:
    """The farthest of two lots of rows, start by start; none where either lot needs none."""
    if not one.far.size or not two.far.size:
        return (one if not one.far.size else two)[4:]
    far, row, cells = (np.concatenate(pair, axis=1) for pair in zip(one[4:], two[4:], strict=True))
    best = np.lexsort((row, -far), axis=1)[:, :FARTHEST_ROWS]
    return (
        np.take_along_axis(far, best, 1),
        np.take_along_axis(row, best, 1),
        np.take_along_axis(cells, best[:, :, None], 1),
    )


def move_centers(mu: Array, sums: ClusterSums, r: int) -> tuple[Array, int]:
    """Lloyd's second step for the r-th start, and how many empty clusters were moved: each centre to its rows' mean.

    A cluster without rows is put on one of the rows farthest from their centres. That row then lies on a centre and
    no other is farther than before, so the objective cannot fall. A column that no row of a cluster has seen keeps
    its value.
    """
    seen = sums.seen[r]
    new = np.where(seen > 0, sums.total[r] / np.where(seen > 0, seen, 1.0), mu)
    empty = np.flatnonzero(sums.rows[r] == 0)
    if not len(empty):
        return new, 0
    spare: list[Array] = []
    for square, row in zip(sums.far[r], sums.far_cells[r], strict=True):
        if square > 0.0 and not any(np.array_equal(row, other) for other in spare):
            spare.append(row)
    k = min(len(empty), len(spare))
    if k:
        new[empty[:k]] = spare[:k]
    return new, k


# nearest centres ------------------------------------------------------------------------------------------
def nearest_centers(x: Array, mask: Mask | None, mu: Array) -> Labels:
    """R x n: the nearest of each set of centres, by the cells that are seen; the first of equals.

    All rows are compared together, without a branch: a byte a score tells which centre has the largest. Where a score
    is no number none has, and the last centre is given: compiled code counts rows by these labels unasked.
    """
    R, K, d = mu.shape
    label, flat = np.empty((R, len(x)), dtype=np.int64), mu.reshape(R * K, d)
    half, step = 0.5 * flat**2, max(CACHED_NUMBERS // (R * K), 64)
    for begin in range(0, len(x), step):
        rows = slice(begin, begin + step)
        scores = flat @ x[rows].T  # x'm - |m|^2 / 2: the larger, the nearer
        scores -= half.sum(axis=1)[:, None] if mask is None else half @ mask[rows].T.astype(np.float64)
        for r, score in enumerate(scores.reshape(R, K, -1)):
            if K > MOST_PLACES:
                label[r, rows] = score.argmax(axis=0)
                continue
            hit = (score == score.max(axis=0)).view(np.uint8)
            hit *= _PLACES[-K:, None]
            label[r, rows] = K - np.maximum(hit.max(axis=0), 1)
    return label


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
    return np.sqrt(np.maximum(square, 0.0))
