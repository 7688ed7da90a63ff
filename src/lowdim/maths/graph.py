"""Neighbourhood graphs: edges, components, Laplacians and the lengths of paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from scipy.sparse import csgraph

from lowdim.maths.eigen import DENSE_ROWS, Eigen, Problem, solve
from lowdim.maths.linalg import Array, sign_rule, svd
from lowdim.maths.neighbors import BLOCK_PAIRS, Indices, RowPairs, exact_distances, nearest, pair_distances

SHORTEST_EDGE = 1e-300  # the length of an edge between equal rows: a stored zero would be no edge at all


def components(G: Any) -> tuple[int, Indices]:
    """How many pieces the graph is in, and the piece of each row."""
    count, label = csgraph.connected_components(G, directed=False)
    return int(count), np.asarray(label, dtype=np.intp)


def bridges(label: Indices, X: Array, *, known: bool = False) -> RowPairs:
    """The shortest edges that join all pieces (a minimum spanning tree of pieces), of rows X or `known` distances."""
    count = int(label.max()) + 1
    order = np.argsort(label, kind="stable")
    begin = np.searchsorted(label[order], np.arange(count))
    best = np.full((count, count), np.inf)
    rows = max(1, BLOCK_PAIRS // len(label))
    for start in range(0, len(label), rows):
        part = order[start : start + rows]
        D = X[np.ix_(part, order)] if known else exact_distances(X[part], X[order])
        np.minimum.at(best, label[part], np.minimum.reduceat(D, begin, axis=1))
    np.fill_diagonal(best, 0.0)
    joins = csgraph.minimum_spanning_tree(np.maximum(np.minimum(best, best.T), SHORTEST_EDGE * (best > 0))).tocoo()
    ends = np.array(
        [
            _closest(order[label[order] == a], order[label[order] == b], X, known)
            for a, b in zip(joins.row, joins.col, strict=True)
        ],
        dtype=np.intp,
    ).reshape(-1, 2)
    i, j = ends.T
    return RowPairs(i, j, X[i, j] if known else pair_distances(X, X, i, j))


def _closest(a: Indices, b: Indices, X: Array, known: bool) -> tuple[int, int]:
    """The pair of rows, one of each piece, that are closest."""
    if known:
        at = np.unravel_index(int(np.argmin(X[np.ix_(a, b)])), (len(a), len(b)))
        return int(a[at[0]]), int(b[at[1]])
    neighbours = nearest(X[b], 1, X[a])
    best = int(np.argmin(neighbours.distance[:, 0]))
    return int(a[neighbours.row[best, 0]]), int(b[best])


def by_size(label: Indices) -> tuple[Indices, Indices]:
    """Pieces numbered from the largest down, equals by their first row; the new numbers and the sizes."""
    size = np.bincount(label)
    order = np.argsort(-size, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[label], size[order]


def smallest(M: Any, null: Array, q: int, root: Any = None) -> Eigen:
    """The q smallest eigenpairs of M >= 0 apart from the direction `null`, of which M null = 0 is known.

    M = R'R, R the `root`, gives small ones more digits: where R is small enough, as its singular vectors.
    """
    if root is None:
        eigen = solve(Problem(M, "smallest", null=null), q)
        return eigen._replace(values=np.maximum(eigen.values, 0.0))
    if M.shape[0] <= DENSE_ROWS:
        R = root.toarray()
        t = null / np.linalg.norm(null)
        V = svd(np.vstack([R, (float(np.linalg.norm(R)) + 1e-300) * t]))[2][::-1][:q].T
        eigen = Eigen(np.zeros(q), V - np.outer(t, t @ V), 0.0, "dense, of the root")
    else:
        eigen = solve(Problem(M, "smallest", null=null), q)
    image = root @ eigen.vectors
    values, E = np.linalg.eigh(image.T @ image)
    V = eigen.vectors @ E
    off = float(np.linalg.norm(M @ V - V * values, axis=0).max(initial=0.0)) / (float(spl.norm(M)) or 1.0)
    return Eigen(np.maximum(values, 0.0), V * sign_rule(V), off, eigen.solver)


def laplacian(W: Any) -> sp.csr_array:
    """D - W."""
    return sp.csr_array(sp.diags_array(degrees(W)) - W)


def rows_of(W: sp.csr_array) -> Indices:
    """The row of each stored entry."""
    return np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))


def degrees(W: Any) -> Array:
    return np.asarray(W.sum(axis=1), dtype=np.float64).ravel()


def path_lengths(G: sp.csr_array, start: Indices | None = None) -> Array:
    """Lengths of the shortest paths from the given rows (all by default) to every row; infinite across pieces."""
    return np.asarray(csgraph.dijkstra(G, indices=start), dtype=np.float64)  # it goes both ways already: no copy


def matrix_of(pairs: RowPairs, values: Array, n: int) -> sp.csr_array:
    """n x n, these values at the pairs, which are different and come row by row."""
    return sp.csr_array((values, pairs.j.copy(), np.searchsorted(pairs.i, np.arange(n + 1))), shape=(n, n))


def both_ways(pairs: RowPairs, n: int) -> sp.csr_array:
    """The graph of these pairs, each edge both ways, weighted by its length."""
    ends = pairs.i.astype(np.int32), pairs.j.astype(np.int32)  # SciPy 1.13 finds no paths between wider numbers
    G = sp.csr_array((np.maximum(pairs.d, SHORTEST_EDGE), ends), shape=(n, n))
    return sp.csr_array(G.maximum(G.T))


def spread_rows(G: sp.csr_array, count: int) -> tuple[Indices, Array]:
    """Rows far from each other, each the farthest from those before by way of the graph; and those path lengths.

    The first is the row with the longest edges.

    Reference: V. de Silva and J. B. Tenenbaum (2004), "Sparse multidimensional scaling using landmark points", Stanford
    University: "maxmin" landmarks.
    """
    n = G.shape[0]
    chosen, lengths = np.empty(count, dtype=np.intp), np.empty((count, n))
    closest = np.full(n, np.inf)
    for c in range(count):
        chosen[c] = np.argmax(degrees(G)) if c == 0 else np.argmax(closest)
        lengths[c] = path_lengths(G, chosen[c : c + 1])[0]
        closest = np.minimum(closest, lengths[c])
    return chosen, lengths.T
