"""What a map keeps of a table: its neighbours, and the order of its distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array

NEAR = 10  # neighbours of the headline figure as in `compare` and the report
TIE_SHARE = 1e-12  # distances closer than this share of the largest are equal: rounding must not order rows


class NeighbourShares(NamedTuple):
    """How many of each row's k nearest rows in the table are among its k nearest on the map.

    `share[k - 1]` is the mean share for k = 1 ... n - 2. `area` weighs 1/k the same above chance,
    ((n - 1) share - k) / (n - 1 - k): 1 where all neighbourhoods are kept, 0 for a map of random places.
    """

    share: Array
    area: float

    def at(self, k: int = NEAR) -> float:
        """The share of the k nearest that are kept; all there are where rows are few."""
        return float(self.share[min(k, len(self.share)) - 1]) if len(self.share) else 0.0


def distances(X: Array) -> Array:
    """Squared distances between rows, n x n; with gaps the mean over the cells both rows have, times the columns.

    No model is asked: a pair without a common cell is infinitely far apart.
    """
    mask = ~np.isnan(X)
    x = np.where(mask, X - np.nanmean(X, axis=0) if mask.any(axis=0).all() else X, 0.0)
    m = mask.astype(np.float64)
    squares = (x * x) @ m.T
    total = squares + squares.T - 2.0 * (x @ x.T)
    both = m @ m.T
    with np.errstate(divide="ignore", invalid="ignore"):
        matrix = np.where(both > 0.0, np.maximum(total, 0.0) * (X.shape[1] / both), np.inf)
    np.fill_diagonal(matrix, 0.0)
    finite = np.isfinite(matrix)
    size = float(matrix[finite].max(initial=0.0))
    return np.where(finite & (matrix <= TIE_SHARE * size), 0.0, matrix)


def order(D: Array) -> NDArray[np.intp]:
    """The other rows of each row, nearest first; rows equally far in the order of the table."""
    D = D.copy()
    np.fill_diagonal(D, -1.0)
    return np.argsort(D, axis=1, kind="stable")[:, 1:]


def ranks(order: NDArray[np.intp]) -> NDArray[np.intp]:
    """From the order of the other rows, the place of each in it, counted from 0, n x n; a row's own is the last."""
    n = len(order)
    place = np.full((n, n), n - 1, dtype=np.intp)
    np.put_along_axis(place, order, np.broadcast_to(np.arange(n - 1), (n, n - 1)), axis=1)
    return place


def kept(first: NDArray[np.intp], second: NDArray[np.intp]) -> NeighbourShares:
    """Neighbourhoods of every size compared, from two orders of the other rows.

    A row that is the r-th nearest here and the s-th there is common to all neighbourhoods of max(r, s) and more.

    Reference: Lee and Verleysen (2009) for the share, Lee et al. (2015) for the area.
    """
    n = len(first)
    if n < 3:
        return NeighbourShares(np.ones(0), 1.0)
    there = np.take_along_axis(ranks(second), first, axis=1)
    largest = np.maximum(there, np.arange(n - 1))
    common = np.cumsum(np.bincount(largest.ravel(), minlength=n - 1))[: n - 2]
    k = np.arange(1, n - 1)
    share = common / (n * k)
    above = ((n - 1) * share - k) / (n - 1 - k)
    return NeighbourShares(share, float((above / k).sum() / (1.0 / k).sum()))


def rank_agreement(D: Array, E: Array) -> float:
    """Spearman's correlation of two sets of distances over all pairs that can be compared."""
    from scipy.stats import rankdata

    i, j = np.triu_indices(len(D), 1)
    a, b = D[i, j], E[i, j]
    known = np.isfinite(a) & np.isfinite(b)
    if known.sum() < 2:
        return 0.0
    a, b = rankdata(a[known]), rankdata(b[known])
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0.0 else 0.0


def overlap(a: NDArray[np.intp], b: NDArray[np.intp]) -> float:
    """The mean share of each row's nearest rows that two maps have in common."""
    return float((a[:, :, None] == b[:, None, :]).any(axis=2).mean()) if a.size else 1.0


def steadiness(near: list[NDArray[np.intp]]) -> list[float]:
    """For each repeat, what its map has in common with those of the others."""
    if len(near) < 2:
        return []
    shared = np.array([[overlap(a, b) for b in near] for a in near])
    return [float((row.sum() - row[i]) / (len(row) - 1)) for i, row in enumerate(shared)]
