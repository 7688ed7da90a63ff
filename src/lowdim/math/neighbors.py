"""Nearest neighbours, exactly: a tree in few dimensions, blocks of products in many."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from lowdim.math.linalg import Array

TREE = 10  # dimensions up to which a k-d tree beats brute force (spec, stack)
BLOCK = 2**22  # distances worked on at once, 32 MB
SPARE = 8  # candidates beyond k whose distances are computed again from differences: products cancel


class Neighbours(NamedTuple):
    """The k nearest of each row, nearest first; equal distances by row number."""

    distance: Array  # n x k
    row: NDArray[np.intp]  # n x k


def nearest(X: Array, k: int, among: Array | None = None) -> Neighbours:
    """The k nearest rows `among` others, or of X itself, where a row is not its own neighbour.

    >>> nearest(np.array([[0.0], [1.0], [3.0]]), 1).row.ravel().tolist()
    [1, 0, 1]
    """
    Y = X if among is None else among
    own = among is None
    count = min(k + int(own), len(Y))
    found = _tree(X, Y, count) if X.shape[1] <= TREE else _brute(X, Y, count)
    return _without_self(found, k) if own else found


def squared_distances(X: Array, Y: Array) -> Array:
    """|x - y|^2 of all pairs by one product, never negative; close pairs lose digits to cancellation."""
    D = (X**2).sum(axis=1)[:, None] + (Y**2).sum(axis=1)
    D -= 2.0 * X @ Y.T
    return np.maximum(D, 0.0, out=D)


def exact_distances(X: Array, Y: Array | None = None) -> Array:
    """Distances of all pairs from differences: digits before speed."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(X, X if Y is None else Y))


def _tree(X: Array, Y: Array, k: int) -> Neighbours:
    more = min(k + SPARE, len(Y))
    _, index = cKDTree(Y).query(X, more)
    return _ordered(X, Y, np.asarray(index).reshape(len(X), more), k)


def _brute(X: Array, Y: Array, k: int) -> Neighbours:
    rows = max(1, BLOCK // max(len(Y), 1))
    more = min(k + SPARE, len(Y))
    centre = Y.mean(axis=0)  # digits: distances do not care where the origin is
    A, B = X - centre, Y - centre
    parts = []
    for start in range(0, len(X), rows):
        D = squared_distances(A[start: start + rows], B)
        every = np.tile(np.arange(len(Y)), (len(D), 1))
        index = np.argpartition(D, more - 1, axis=1)[:, :more] if more < len(Y) else every
        parts.append(_ordered(X[start: start + rows], Y, index, k))
    return Neighbours(np.concatenate([p.distance for p in parts]), np.concatenate([p.row for p in parts]))


def _ordered(X: Array, Y: Array, index: NDArray[np.intp], k: int) -> Neighbours:
    """The first k of the candidates, by distance from differences and then by number."""
    index = np.sort(index, axis=1)
    distance = np.empty(index.shape)
    rows = max(1, BLOCK // max(index.shape[1] * X.shape[1], 1))
    for start in range(0, len(X), rows):
        part = slice(start, start + rows)
        distance[part] = np.sqrt(((X[part, None, :] - Y[index[part]]) ** 2).sum(axis=2))
    order = np.argsort(distance, axis=1, kind="stable")[:, :k]
    return Neighbours(np.take_along_axis(distance, order, 1), np.take_along_axis(index, order, 1))


def _without_self(found: Neighbours, k: int) -> Neighbours:
    """Each row out of its own list: among equal rows it may stand anywhere, or have been crowded out."""
    n, more = found.row.shape
    at = found.row == np.arange(n)[:, None]
    at[~at.any(axis=1), -1] = True
    keep = ~at
    k = min(k, more - 1)
    return Neighbours(found.distance[keep].reshape(n, more - 1)[:, :k], found.row[keep].reshape(n, more - 1)[:, :k])
