"""Hard clusters: nearest centres, the sums of a step of Lloyd's iteration, and k-means++ starts.

Several starts are carried through one walk of the rows: centres are R x K x d, sums have R in front.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Labels = NDArray[np.int64]
EPS = float(np.finfo(float).eps)
SCRATCH = 2**17  # numbers compared at a time: they stay in the cache of a core
FEW = 16  # clusters up to which comparing them one after the other is quicker
FAR = 8  # farthest rows a pass keeps: more empty clusters than that wait for the next pass
MILD = 64.0  # squares of rows over squared distances up to which the latter may be had from sums
CLOSE = 1e6  # squares of centres over squared distances beyond which |x|^2 - 2xm + |m|^2 costs digits that matter


class ClusterSums(NamedTuple):
    """What one pass finds out about R sets of K centres; plain sums, measured from the frame's origin."""

    rows: Array  # R x K, rows by weight; those without any cell belong nowhere
    total: Array  # R x K x d, sums of the seen cells
    seen: Array  # R x K x d, how many were seen; R x K x 1 where all were
    left: Array  # R, sums of squared distances from the centres
    far: Array  # R x F, the largest squared distances; none where every cluster has rows
    row: Any  # R x F, whose they are
    cells: Array  # R x F x d, the rows themselves, gaps filled from their centre

    def merge(self, other: Self) -> Self:
        rows, total, seen, left = (a + b for a, b in zip(self[:4], other[:4], strict=True))
        return type(self)(rows, total, seen, left, *_farthest(self[4:], other[4:]))

    def of(self, r: int) -> ClusterSums:
        """The sums of one start, as if it had been alone."""
        return ClusterSums(*(part[r : r + 1] for part in self))


def nearest(x: Array, mask: Mask | None, mu: Array) -> Labels:
    """R x n: the nearest of each set of centres, by the cells that are seen; the first of equals.

    Distances are compared as x'm - |m|^2 / 2: products of matrices, a few rows at a time, so that they stay in cache.
    """
    R, K, d = mu.shape
    flat = mu.reshape(R * K, d)
    half = 0.5 * flat**2
    norms, label = half.sum(axis=1)[:, None], np.empty((R, len(x)), dtype=np.int64)
    step = max(SCRATCH // (R * K), 64)
    scratch = np.empty((0 if K <= FEW else min(step, len(x)), R * K))
    for begin in range(0, len(x), step):
        rows = slice(begin, begin + step)
        some = x[rows]
        score = flat @ some.T if K <= FEW else np.matmul(some, flat.T, out=scratch[: len(some)]).T
        score -= norms if mask is None else half @ mask[rows].T.astype(np.float64)
        for r in range(R):
            best_of(score[r * K : r * K + K], label[r, rows])
    return label


def best_of(score: Array, label: Labels) -> None:
    """The first largest of each column of K x n scores, into `label`; few are compared one by one, many at once."""
    if len(score) > FEW:
        score.T.argmax(axis=1, out=label)
        return
    best, place = score[0].copy(), np.zeros(score.shape[1], dtype=np.int8)
    for k in range(1, len(score)):
        np.putmask(place, score[k] > best, k)
        np.maximum(best, score[k], out=best)
    label[:] = place


def _refined(x: Array, mask: Mask | None, mu: Array, label: Labels) -> Labels:
    """The nearest centres again, compared from each row's present one: |t|^2 - 2 t'(x - m), t = m_j - m."""
    label = label.copy()
    for k in np.unique(label):
        rows = np.flatnonzero(label == k)
        rest, step = x[rows] - mu[k], mu - mu[k]
        if mask is None:
            gain = 2.0 * rest @ step.T - (step**2).sum(axis=1)
        else:
            here = mask[rows]
            gain = 2.0 * (rest * here) @ step.T - here.astype(np.float64) @ (step**2).T
        label[rows] = gain.argmax(axis=1)
    return label


def cluster_sums(x: Array, mask: Mask | None, weight: Array | None, start: int, mu: Array) -> ClusterSums:
    """One E step and the sums of the M step for every set of centres, over rows `start`, `start + 1`, ..."""
    labels = nearest(x, mask, mu)
    seen = None if mask is None else mask.astype(np.float64)
    alone = [_one(x, mask, seen, weight, start, mu[r], labels[r]) for r in range(len(mu))]
    rows, total, seen_of, left = (
        np.stack(parts) if len(mu) > 1 else np.asarray(parts[0])[None]
        for parts in zip(*(found[:4] for found in alone), strict=True)
    )
    return ClusterSums(rows, total, seen_of, left, *_padded([found[4:] for found in alone]))


def _one(
    x: Array, mask: Mask | None, seen: Array | None, weight: Array | None, start: int, mu: Array, label: Labels
) -> tuple[Any, ...]:
    live = np.ones(len(x)) if weight is None else weight
    live = live if mask is None else live * mask.any(axis=1)
    count, total = _added(x, mu, label, live)
    left = -1.0
    if mask is None:  # |x|^2 - 2xm + |m|^2, where no digits that matter cancel
        squares = float(np.vdot(x, x) if weight is None else weight @ np.einsum("ij,ij->i", x, x))
        left = squares - float(np.vdot(2.0 * total - count[:, None] * mu, mu))
        left = left if squares < MILD * left else -1.0
    if left < 0.0:
        label, rest = settled(x, mask, mu, label)
        count, total = _added(x, mu, label, live)
        left = float(live @ (rest * rest).sum(axis=1))
    none = np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros((0, x.shape[1]))
    far = none if count.all() else _far(x, mask, mu, label, live, start)
    return count, total, count[:, None] if seen is None else _added(seen, mu, label, live)[1], left, *far


def _added(x: Array, mu: Array, label: Labels, w: Array) -> tuple[Array, Array]:
    """How many rows each centre has, and their sum."""
    at, ends = label.astype(np.int32), np.arange(len(x) + 1, dtype=np.int32)  # as SciPy has them: nothing to convert
    belongs = sp.csc_array((w, at, ends), shape=(len(mu), len(x)))
    return np.asarray(np.bincount(label, w, len(mu)), dtype=np.float64), belongs @ x


def labels_of(x: Array, mask: Mask | None, mu: Array) -> tuple[Labels, Array]:
    """The nearest of one set of centres, and what it leaves over."""
    return settled(x, mask, mu, nearest(x, mask, mu[None])[0])


def settled(x: Array, mask: Mask | None, mu: Array, label: Labels) -> tuple[Labels, Array]:
    """Labels that rounding has not decided: compared again where centres lie far out beside the distances to them."""
    rest = rests(x, mask, mu, label)
    if (mu**2).sum(axis=1).max() * len(x) > CLOSE * float(np.vdot(rest, rest)):
        label = _refined(x, mask, mu, label)
        rest = rests(x, mask, mu, label)
    return label, rest


def rests(x: Array, mask: Mask | None, mu: Array, label: Labels) -> Array:
    """What the centres leave over of each row; nothing where there is a gap."""
    rest = mu.take(label, axis=0)
    np.subtract(x, rest, out=rest)
    if mask is not None:
        rest *= mask
    return rest


def _far(x: Array, mask: Mask | None, mu: Array, label: Labels, live: Array, start: int) -> tuple[Array, Labels, Array]:
    """The farthest rows: needed only where some cluster got none, and one that is empty is so in every tile."""
    squares = np.where(live > 0, (rests(x, mask, mu, label) ** 2).sum(axis=1), 0.0)
    best = np.lexsort((np.arange(len(x)), -squares))[:FAR]
    best = best[squares[best] > 0.0]
    cells = x[best] if mask is None else np.where(mask[best], x[best], mu[label[best]])
    return squares[best], best + start, cells


def _farthest(one: Any, two: Any) -> Any:
    """The farthest of two lots of rows, start by start."""
    if not one[0].shape[1] or not two[0].shape[1]:
        return one if one[0].shape[1] else two
    far, row, cells = (np.concatenate(pair, axis=1) for pair in zip(one, two, strict=True))
    best = np.lexsort((row, -far), axis=1)[:, :FAR]
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
        for part, found in zip(out, lot, strict=True):
            part[r, : len(found)] = found
    return out


def moved(mu: Array, sums: ClusterSums) -> tuple[Array, int]:
    """The M step of one start, and how many empty clusters were put on a farthest row.

    Each of these rows then lies on a centre and no other row is farther than before, so the objective cannot
    fall. A column that no row of a cluster has seen keeps its value.
    """
    count, total, seen = sums.rows[0], sums.total[0], sums.seen[0]
    new = np.where(seen > 0, total / np.where(seen > 0, seen, 1.0), mu)
    bare = np.flatnonzero(count == 0)
    if not len(bare):
        return new, 0
    spare: list[Array] = []
    for square, row in zip(sums.far[0], sums.cells[0], strict=True):
        if square > 0.0 and not any(np.array_equal(row, other) for other in spare):
            spare.append(row)
    k = min(len(bare), len(spare))
    if k:
        new[bare[:k]] = spare[:k]
    return new, k


def distances(x: Array, mask: Mask | None, mu: Array) -> Array:
    """n x K distances over the seen cells; those that cancellation would spoil are taken from differences."""
    x2 = np.einsum("ij,ij->i", x, x)[:, None]
    m2 = (mu**2).sum(axis=1) if mask is None else mask.astype(np.float64) @ (mu**2).T
    square = x2 - 2.0 * (x @ mu.T) + m2
    i, k = np.nonzero(square * CLOSE < x2 + m2)
    for part in np.array_split(np.arange(len(i)), max(1, i.size * x.shape[1] // 2**20)):
        rest = x[i[part]] - mu[k[part]]
        if mask is not None:
            rest *= mask[i[part]]
        square[i[part], k[part]] = np.einsum("ij,ij->i", rest, rest)
    return np.sqrt(np.maximum(square, 0.0))


def plus_plus(
    x: Array, mask: Mask | None, weight: Array | None, K: int, fill: Array, rng: np.random.Generator
) -> Array:
    """K rows far from each other: each drawn by its weighted squared distance from those before, best of a few.

    Rows with gaps are measured over what they show; as centres their gaps hold `fill`.

    Reference: Arthur and Vassilvitskii (2007), with 2 + log K tries a centre as they suggest.
    """
    rows = x if mask is None else np.where(mask, x, fill)
    order = _sorted(rows)
    x, mask, rows = x[order], None if mask is None else mask[order], rows[order]
    w = np.ones(len(x)) if weight is None else weight[order]
    w = w if mask is None else w * mask.any(axis=1)
    seen = None if mask is None else mask.astype(np.float64)
    x2, tries = np.einsum("ij,ij->i", x, x), 2 + int(np.log(K))
    chosen = _draw(w, 1, rng)
    near = _squares(x, x2, seen, rows[chosen])[:, 0]
    for _ in range(1, K):
        some = _draw(w * near, tries, rng)
        each = np.minimum(near[:, None], _squares(x, x2, seen, rows[some]))
        best = int((w @ each).argmin())
        chosen, near = np.append(chosen, some[best]), each[:, best]
    return np.asarray(rows[chosen], dtype=np.float64)


def _sorted(x: Array) -> NDArray[np.intp]:
    """An order of rows that does not depend on the one they came in, copies side by side.

    Draws then fall on the same rows however these are shuffled, and whether one is repeated or weighted.
    """
    unlike = np.cos(np.arange(1.0, x.shape[1] + 1.0))  # no two rows of a table have the same sum with such weights
    return np.argsort((x * unlike).sum(axis=1), kind="stable")


def _draw(share: Array, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """k positions drawn by share; any where nothing is left to share out."""
    edges = np.cumsum(share)
    if edges[-1] <= 0.0:
        return np.zeros(k, dtype=np.intp)
    return np.minimum(np.searchsorted(edges, rng.random(k) * edges[-1], side="right"), len(share) - 1)


def _squares(x: Array, x2: Array, seen: Array | None, c: Array) -> Array:
    """n x k squared distances from a few rows; what is only rounding is zero."""
    c2 = (c**2).sum(axis=1) if seen is None else seen @ (c**2).T
    square = x2[:, None] - 2.0 * (x @ c.T) + c2
    return np.where(square > 8 * EPS * (x2[:, None] + c2), square, 0.0)
