"""Few rows for many: farthest points, cliques of neighbours, and weights that carry places over to the other rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from lowdim.maths.linalg import Array, Index, Mask
from lowdim.maths.pairs import Neighbours, exact_distances, nearest

WEIGHT_RIDGE = 1e-3  # in units of each squared distance: 2 to 12 times better than the usual one (docs/measurements.md)
BLOCK_NUMBERS = 2**20  # numbers of differences held at once while weights are made


def farthest(X: Array, count: int) -> Index:
    """Rows far from each other: from the one farthest from the mean, always the row farthest from those chosen.

    >>> farthest(np.array([[0.0], [1.0], [2.0], [9.0]]), 3).tolist()
    [3, 0, 2]
    """
    chosen = np.empty(min(count, len(X)), dtype=np.intp)
    closest = exact_distances(X, X.mean(axis=0)[None])[:, 0]
    for c in range(len(chosen)):
        chosen[c] = np.argmax(closest)
        new = exact_distances(X, X[chosen[c]][None])[:, 0]
        closest = new if c == 0 else np.minimum(closest, new)
    return chosen


def cliques(i: Index, j: Index, n: int) -> tuple[Index, Index]:
    """All pairs that meet in a neighbourhood, a row and the rows it points to: each pair once, i < j.

    >>> [part.tolist() for part in cliques(np.array([0, 0]), np.array([1, 2]), 3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    A = sp.csr_array((np.ones(len(i)), (i, j)), shape=(n, n)) + sp.eye_array(n)
    return unordered(A.T @ A)


def unordered(A: Any) -> tuple[Index, Index]:
    """The pairs i < j that a symmetric or one-sided graph joins, by row and column."""
    both = sp.coo_array(sp.triu(sp.csr_array(A + A.T), 1))
    both.sum_duplicates()
    order = np.lexsort((both.col, both.row))
    return both.row[order].astype(np.intp), both.col[order].astype(np.intp)


def cells_gram(points: Array, X: Array, index: Index) -> Array:
    """(p_j - x)'(p_l - x) of the neighbours j, l of each row."""
    off = points[index] - X[:, None, :]
    return off @ off.transpose(0, 2, 1)


def blend_weights(
    neighbours: Neighbours, gram: Callable[[slice], Array], width: int, used: Mask | None = None
) -> Array:
    """w of min |x - sum w_j p_j|^2 + ridge sum w_j^2 |x - p_j|^2 with sum w = 1, over the neighbours; n x k.

    `gram(part)` is that of (p_j - x) for a part of the rows, made of `width` numbers a neighbour; neighbours not `used`
    have no weight. In units of the distances the matrix has a unit diagonal; a neighbour at distance zero gets all the
    weight, and near it the weights change continuously.
    """
    n, k = neighbours.row.shape
    W, at = np.empty((n, k)), np.arange(k)
    used = np.ones((n, k), dtype=bool) if used is None else used
    rows = max(1, BLOCK_NUMBERS // max(k * max(k, width), 1))
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        d, counts = neighbours.distance[part], used[part]
        r = np.where(counts, np.divide(d[:, :1], d, out=np.ones_like(d), where=d > 0.0), 0.0)
        unit = np.where(d > 0.0, d, 1.0)
        cosine = gram(part) / (unit[:, :, None] * unit[:, None, :]) * (counts[:, :, None] & counts[:, None, :])
        cosine[:, at, at] = 1.0 + WEIGHT_RIDGE
        w = r * np.linalg.solve(cosine, r[:, :, None])[:, :, 0]
        W[part] = w / w.sum(axis=1, keepdims=True)
    return W


def extend_places(X: Array, fixed: Index, Z: Array, k: int) -> Array:
    """Places of all rows: the fixed ones at Z, the others where their neighbours' weights (LLE) put them.

    Minimises sum_i |z_i - sum_j w_ij z_j|^2; the graph of neighbours must lead from every row to a fixed one.
    """
    n = len(X)
    neighbours = nearest(X, k)
    count = neighbours.row.shape[1]
    W = blend_weights(neighbours, lambda part: cells_gram(X, X[part], neighbours.row[part]), X.shape[1])
    A = sp.csr_array((W.ravel(), neighbours.row.ravel(), np.arange(0, n * count + 1, count)), shape=(n, n))
    R = sp.csr_array(sp.eye_array(n) - A)
    M = sp.csr_array(R.T @ R)
    loose = np.setdiff1d(np.arange(n), fixed)
    out = np.empty((n, Z.shape[1]))
    out[fixed] = Z
    if len(loose):
        inner = sp.csc_array(M[loose][:, loose])
        ridge = 1e-12 * float(inner.diagonal().mean())  # a group may be tied to no fixed row
        held, how = sp.csc_array(inner + ridge * sp.eye_array(len(loose))), {"SymmetricMode": True}
        lu = spl.splu(held, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=how)
        out[loose] = lu.solve(-(M[loose][:, fixed] @ Z))
    return out


def interpolate_places(X: Array, points: Array, Z: Array, k: int) -> Array:
    """Places of rows X: their k nearest points' places, weighted as the points themselves make up the row."""
    neighbours = nearest(X, min(k, len(points)), points)
    W = blend_weights(neighbours, lambda part: cells_gram(points, X[part], neighbours.row[part]), X.shape[1])
    return np.einsum("nk,nkq->nq", W, Z[neighbours.row])
