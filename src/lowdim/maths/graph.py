"""Neighbourhood graphs: edges, components, Laplacians and the lengths of paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from scipy.sparse import csgraph

from lowdim.maths.eigen import DENSE_ROWS, NULL_SHIFT, WIDE_GRAPH_STEPS, Eigen, Problem, solve, steps_across
from lowdim.maths.linalg import Array, Index, sign_rule, svd
from lowdim.maths.pairs import BLOCK_PAIRS, RowPairs, exact_distances, nearest, pair_distances

SHORTEST_EDGE = 1e-300  # the length of an edge between equal rows: a stored zero would be no edge at all
FEW_ROWS = 300  # rows up to which paths are found one by one
MOST_JOINS = 4  # joins of an elimination over entries of the graph up to which it is the quicker way to all paths


def components(G: Any) -> tuple[int, Index]:
    """How many pieces the graph is in, and the piece of each row."""
    count, label = csgraph.connected_components(G, directed=False)
    return int(count), np.asarray(label, dtype=np.intp)


def bridges(label: Index, X: Array, *, known: bool = False) -> RowPairs:
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
    # Of each two pieces that are joined, the pair of rows that are closest.
    i, j = np.empty(len(joins.row), dtype=np.intp), np.empty(len(joins.row), dtype=np.intp)
    for k, pieces in enumerate(zip(joins.row, joins.col, strict=True)):
        a, b = (order[label[order] == piece] for piece in pieces)
        if known:
            first, second = np.unravel_index(int(np.argmin(X[np.ix_(a, b)])), (len(a), len(b)))
        else:
            neighbours = nearest(X[b], 1, X[a])
            second = np.argmin(neighbours.distance[:, 0])
            first = neighbours.row[second, 0]
        i[k], j[k] = a[first], b[second]
    return RowPairs(i, j, X[i, j] if known else pair_distances(X, X, i, j))


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


def rows_of(W: sp.csr_array) -> Index:
    """The row of each stored entry."""
    return np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))


def degrees(W: Any) -> Array:
    return np.asarray(W.sum(axis=1), dtype=np.float64).ravel()


def path_lengths(G: sp.csr_array, start: Index | None = None) -> Array:
    """Lengths of the shortest paths from the given rows (all by default) to every row; infinite across pieces."""
    return np.asarray(csgraph.dijkstra(G, indices=start), dtype=np.float64)  # it goes both ways already: no copy


def all_path_lengths(G: sp.csr_array) -> Array:
    """Lengths of the shortest paths between all rows; infinite across pieces."""
    order = elimination(G) if G.shape[0] > FEW_ROWS else None
    return path_lengths(G) if order is None else _lengths_by_elimination(G, *order)


def elimination(G: sp.csr_array) -> tuple[Index, list[Index]] | None:
    """An order of rows, and the later rows that each is joined to once all before it are taken out.

    Whoever is taken out leaves its neighbours joined to each other. The order is the one in which a sparse matrix is
    factorised, the joins are its factor; None where there are too many, as in graphs that fill many dimensions.
    """
    n = G.shape[0]
    if steps_across(G) <= WIDE_GRAPH_STEPS:
        return None
    joined = laplacian(sp.csr_array((np.ones(G.nnz), G.indices, G.indptr), shape=G.shape))
    positive, how = sp.csc_array(joined + NULL_SHIFT * sp.eye_array(n)), {"SymmetricMode": True}
    lu = spl.splu(positive, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=how)
    if lu.L.nnz > MOST_JOINS * G.nnz or not np.array_equal(lu.perm_r, lu.perm_c):
        return None
    L = sp.csc_array(lu.L)
    L.sort_indices()
    return np.argsort(lu.perm_c), [L.indices[L.indptr[v] + 1 : L.indptr[v + 1]] for v in range(n)]


def _lengths_by_elimination(G: sp.csr_array, order: Index, later: list[Index]) -> Array:
    """Lengths of all paths: shortest through rows taken out before, then row by row, the last first.

    All paths from a row to those after it go by way of the later rows it is joined to: their lengths are known by then.
    """
    n = len(order)
    D = np.full((n, n), np.inf)
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    D[place[rows_of(G)], place[G.indices]] = G.data
    np.fill_diagonal(D, 0.0)
    flat = D.reshape(-1)
    for v, u in enumerate(later):
        at, step = u[:, None] * n + u.astype(np.intp), D[v, u]
        flat[at] = np.minimum(flat[at], step[:, None] + step)
    for v in range(n - 1, -1, -1):
        if len(later[v]):
            beyond = D[later[v], v + 1 :]
            beyond += D[v, later[v], None]
            D[v, v + 1 :] = D[v + 1 :, v] = beyond.min(axis=0)
    return D.take(place, axis=0).take(place, axis=1)


def matrix_of(pairs: RowPairs, values: Array, n: int) -> sp.csr_array:
    """n x n, these values at the pairs, which are different and come row by row."""
    return sp.csr_array((values, pairs.j.copy(), np.searchsorted(pairs.i, np.arange(n + 1))), shape=(n, n))


def both_ways(pairs: RowPairs, n: int) -> sp.csr_array:
    """The graph of these pairs, each edge both ways, weighted by its length."""
    ends = pairs.i.astype(np.int32), pairs.j.astype(np.int32)  # SciPy 1.13 finds no paths between wider numbers
    G = sp.csr_array((np.maximum(pairs.d, SHORTEST_EDGE), ends), shape=(n, n))
    return sp.csr_array(G.maximum(G.T))


def spread_rows(G: sp.csr_array, count: int) -> tuple[Index, Array]:
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
