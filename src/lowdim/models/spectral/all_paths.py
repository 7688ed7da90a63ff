"""The lengths of all paths through a graph that bends in a few dimensions, sooner than row by row."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from lowdim.maths.eigen import NULL_SHIFT, WIDE_GRAPH_STEPS, steps_across
from lowdim.maths.graph import laplacian, path_lengths, rows_of
from lowdim.maths.linalg import Array
from lowdim.maths.neighbors import Indices

FEW_ROWS = 300  # rows up to which paths are found one by one
MOST_JOINS = 4  # joins of an elimination over entries of the graph up to which it is the quicker way to all paths


def all_path_lengths(G: sp.csr_array) -> Array:
    """Lengths of the shortest paths between all rows; infinite across pieces."""
    order = elimination(G) if G.shape[0] > FEW_ROWS else None
    return path_lengths(G) if order is None else _lengths_by_elimination(G, *order)


def elimination(G: sp.csr_array) -> tuple[Indices, list[Indices]] | None:
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


def _lengths_by_elimination(G: sp.csr_array, order: Indices, later: list[Indices]) -> Array:
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
