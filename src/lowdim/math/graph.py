"""Neighbourhood graphs: edges, components, Laplacians and the lengths of paths."""
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from lowdim.math.linalg import Array
from lowdim.math.neighbors import Neighbours

TINY = 1e-300  # the length of an edge between equal rows: a stored zero would be no edge at all


def edges(found: Neighbours, n: int | None = None, *, both: bool = True) -> sp.csr_array:
    """The graph that joins each row to its neighbours, weighted by distance; `both` ways unless told otherwise."""
    rows, k = found.row.shape
    size = rows if n is None else n
    data = np.maximum(found.distance.ravel(), TINY)
    G = sp.csr_array((data, found.row.ravel(), np.arange(0, rows * k + 1, k)), shape=(rows, size))
    return sp.csr_array(G.maximum(G.T)) if both else G


def components(G: Any) -> tuple[int, NDArray[np.intp]]:
    """How many pieces the graph is in, and the piece of each row."""
    count, label = csgraph.connected_components(G, directed=False)
    return int(count), np.asarray(label, dtype=np.intp)


def bridged(G: sp.csr_array, X: Array) -> sp.csr_array:
    """The graph with its pieces joined by the shortest edges that do it (a minimum spanning tree of pieces)."""
    count, label = components(G)
    if count == 1:
        return G
    from scipy.spatial import cKDTree

    parts = [np.flatnonzero(label == c) for c in range(count)]
    best = np.full((count, count), np.inf)
    ends = np.zeros((count, count, 2), dtype=np.intp)
    for a in range(count):
        tree = cKDTree(X[parts[a]])
        for b in range(a + 1, count):
            distance, index = tree.query(X[parts[b]])
            at = int(np.argmin(distance))
            best[a, b], ends[a, b] = max(distance[at], TINY), (parts[a][index[at]], parts[b][at])
    joins = csgraph.minimum_spanning_tree(np.where(np.isfinite(best), best, 0.0)).tocoo()
    i, j = ends[joins.row, joins.col].T
    more = sp.csr_array((joins.data, (i, j)), shape=G.shape)
    return sp.csr_array(G.maximum(more.maximum(more.T)))


def laplacian(W: Any) -> sp.csr_array:
    """D - W."""
    return sp.csr_array(sp.diags_array(degrees(W)) - W)


def degrees(W: Any) -> Array:
    return np.asarray(W.sum(axis=1), dtype=np.float64).ravel()


def path_lengths(G: sp.csr_array, start: NDArray[np.intp] | None = None) -> Array:
    """Lengths of the shortest paths from the given rows (all by default) to every row; infinite across pieces."""
    found = csgraph.dijkstra(G, directed=True, indices=start)  # the graph goes both ways already: no copy is made
    return np.asarray(found, dtype=np.float64)
