"""Laplacian eigenmaps: the slowest vibrations of the neighbourhood graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lowdim.engine.fit import Cost
from lowdim.maths.eigen import Eigen
from lowdim.maths.graph import degrees, laplacian, matrix_of, rows_of, smallest
from lowdim.maths.linalg import Array, Index, Mask
from lowdim.maths.pairs import BLOCK_PAIRS, TIED_DISTANCES, RowPairs, joined, joined_known, together, within
from lowdim.models.base.options import Rule, none_or, one_of, option
from lowdim.models.spectral.graph_model import GraphModel, NeighbourGraph, smallest_vectors
from lowdim.models.spectral.pair_table import check_lengths, check_pairs, check_square
from lowdim.models.spectral.random_field import FieldMatrix
from lowdim.models.spectral.spectral_model import SpectralFit
from lowdim.sources.arrays import SparseSource
from lowdim.sources.source import Source
from lowdim.sources.views import Frame, Framed, gather
from lowdim.text.messages import error, warn

LEAST_BRIDGE_WEIGHT = 1e-6  # of an edge between pieces under heat weights: theirs may be too small for a double
LEAST_EDGE_WEIGHT = 1e-290  # of any edge: a row far from all is placed by its neighbours, not left alone
BRIDGE_ROUNDS = 20  # of making bridges the same both ways; one or two do
NEAR_ONE = 1e-9  # an eigenvalue this close to 1 leaves places undetermined by their neighbours


class LaplacianParams(NamedTuple):
    """v(x) = sum_j w(x, j) v_j / ((1 - lambda) sum_j w(x, j)), over neighbours either way."""

    points: Array  # m x d cells, or m x 0
    rows: Index
    vectors: Array  # m x q, L v = lambda D v
    values: Array  # pieces x q
    label: Index  # piece of each of the m rows, whether they were bridged or not
    radius: Array  # each row is a neighbour of those within it
    reach: Array  # and, over a bridge, of those of other pieces within this
    width: float  # of heat weights; 0 for weights of one
    k: int
    i: Index  # the weights w_ij, i <= j
    j: Index
    w: Array


class LaplacianEigenmaps(GraphModel):
    """Laplacian eigenmaps: places that vary as slowly as possible along the edges of the neighbourhood graph.

    W = (A + A')/2, a_ij = 1 (or exp(-d_ij^2 / (2 width^2))) where j is among the neighbours of i; D its row sums and
    L = D - W. The places are the vectors of L v = lambda D v with the smallest eigenvalues but the constant, v'Dv = 1.
    New rows are where they would be in balance with their neighbours: those near them, and those that would count
    them as near. L is the precision of its random field (`field()`).

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The smallest lambda but zero, rising; of the largest piece where each has its map.
    width_ : float
        Width of the heat kernel in use.

    References
    ----------
    M. Belkin and P. Niyogi (2003), "Laplacian eigenmaps for dimensionality reduction and data representation", Neural
    Computation 15, 1373-1396.
    N. D. Lawrence (2012), "A unifying probabilistic perspective for spectral dimensionality reduction: insights and
    new models", Journal of Machine Learning Research 13, 1609-1638.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> LaplacianEigenmaps(1, metric="graph").fit(path).eigenvalues_.round(6)  # 1 - cos(pi / 4)
    array([0.292893])
    """

    weights: str = option(
        default="binary",
        rule=one_of("binary", "heat"),
        words="Weights of edges: one, or the heat kernel of their length.",
    )
    width: float | None = option(
        default=None,
        rule=none_or(Rule(lambda v: isinstance(v, int | float | np.number) and bool(0.0 < v < np.inf), "a number > 0")),
        words="Width of the heat kernel, in the table's unit; None takes the median distance of neighbours.",
    )
    normalization: str = option(
        default="generalized",
        rule=one_of("generalized", "symmetric"),
        words="Vectors of L v = lambda D v, or those of D^-1/2 L D^-1/2, which are D^1/2 v.",
    )
    metric: str = option(
        default="euclidean",
        rule=one_of("euclidean", "precomputed", "graph"),
        words="Rows of a table, a matrix of distances (NaN: not known), or the symmetric weights W themselves.",
    )

    def _cost_of_map(self, n: int, d: int) -> Cost:
        edges = n * min(2 * self.n_neighbors, n)
        cells = edges if self.metric == "graph" else n * d  # a graph is mostly not there, and kept so
        peak = 8 * (3 * cells + 60 * edges) + 16 * BLOCK_PAIRS + 24 * min(n, 600) ** 2
        return Cost(1, 8 * cells, peak, "a sample of the rows, and transform for the others")

    def _frame(self, source: Source) -> Frame:
        frame = super()._frame(source)
        return frame if self.width is None else frame._replace(scale=np.ones(source.d))  # the width is in the table's

    def _mark_unknown(self, x: Array, mask: Mask | None, columns: tuple[str, ...] = (), start: int = 0) -> Array:
        if self.metric == "graph":  # a pair without a weight is not joined
            return x if mask is None else np.where(mask, x, 0.0)
        return super()._mark_unknown(x, mask)

    def _read_pairs(self, source: Source, frame: Frame) -> Any:
        if self.metric != "graph":
            return super()._read_pairs(source, frame)
        check_square((source.n, source.d), "weights")
        if isinstance(source, SparseSource):
            W = sp.csr_array(source.values * frame.scale[0])
        else:
            W = sp.csr_array(self._mark_unknown(*gather(Framed(source, frame))))
        check_pairs(W, "weights", loops=True)
        return W

    # the fit ---------------------------------------------------------------------------------------
    def _map_graph(self, graph: NeighbourGraph, rows: Index) -> SpectralFit:
        width = 0.0  # of the heat kernel; 0: every weight is one, or given
        if self.weights == "heat" and self.metric != "graph":
            width = float(np.median(graph.pairs.d)) if self.width is None else float(self.width)
        bridges, reach = self._two_way_bridges(graph)
        # Belkin and Niyogi, step 2: weights of the edges, one or the heat kernel, and the degrees D.
        W = self._weights(graph, bridges, width)
        degree = degrees(W)
        isolated = np.flatnonzero((degree <= 2.0 * LEAST_EDGE_WEIGHT * graph.m) & (width > 0.0))
        if len(isolated):
            warn("LD438", f"row {rows[isolated[0]] + 1}", width=width, count=len(isolated))

        # Step 3: L v = lambda D v, solved as D^-1/2 L D^-1/2 u = lambda u with v = D^-1/2 u.
        def solve_map(part: Index, k: int) -> Eigen:
            s = 1.0 / np.sqrt(degree[part])
            M = normalised(W if len(part) == graph.m else sp.csr_array(W[part][:, part]), s)
            eigen = smallest(M, 1.0 / s, k)
            return eigen._replace(vectors=eigen.vectors * s[:, None])

        maps = smallest_vectors(graph, self.n_components, solve_map)
        i = rows_of(W)
        upper = i <= W.indices  # W is symmetric: half of it is kept
        params = LaplacianParams(
            graph.points if self.metric == "euclidean" else np.zeros((graph.m, 0)),
            rows,
            maps.vectors,
            maps.values,
            graph.label,
            graph.radius,
            reach,
            width,
            graph.k,
            i[upper],
            W.indices[upper].astype(np.intp),
            W.data[upper],
        )
        symmetric = self.normalization == "symmetric"
        Z = maps.vectors * np.sqrt(degree)[:, None] if symmetric else maps.vectors
        attributes = {"width_": width} if self.weights == "heat" else {}
        notes = maps.notes
        if self.weights == "heat" and self.width is None and self.metric != "graph":
            notes += (f"heat weights of width {width:.6g}, the median distance of neighbours",)
        return SpectralFit(params, Z, maps.values[0], maps.solver, maps.residual, attributes, notes)

    def _weights(self, graph: NeighbourGraph, bridges: RowPairs, width: float) -> sp.csr_array:
        """W over the rows of the graph."""
        p, shape = graph.pairs, (graph.m, graph.m)
        if self.metric == "graph":
            return sp.csr_array((p.d, (p.i, p.j)), shape=shape)
        A = matrix_of(p, 0.5 * np.exp(_log_heat(p.d, width)), graph.m)
        A.sort_indices()
        W = sp.csr_array(A + sp.csr_array(A.T))
        if not len(bridges.i):
            return W
        w = np.exp(_log_heat(bridges.d, width, bridge=True))
        return sp.csr_array(W + sp.csr_array((w, (bridges.i, bridges.j)), shape=shape))

    def _two_way_bridges(self, graph: NeighbourGraph) -> tuple[RowPairs, Array]:
        """Edges between pieces, both ways, such that distances alone say who is joined: each row reaches so far."""
        pairs, reach = graph.bridges, np.zeros(graph.m)
        if not len(pairs.i):
            return pairs, reach
        for _ in range(BRIDGE_ROUNDS):
            before = reach.copy()
            np.maximum.at(reach, pairs.i, pairs.d)
            np.maximum.at(reach, pairs.j, pairs.d)
            if np.array_equal(before, reach):
                break
            pairs = self._reached(graph.points, reach, graph.points, graph.label, graph.label)
        return pairs, reach

    def _reached(self, points: Array, reach: Array, X: Array, label: Index, home: Index) -> RowPairs:
        """New rows i and mapped rows j of other pieces that reach as far as them."""
        ends = np.flatnonzero(reach > 0.0)
        if self.metric == "euclidean":
            back = within(points[ends], X, reach[ends])
            pairs = RowPairs(back.j, ends[back.i], back.d)
        else:
            i, j = np.nonzero((X[:, ends] <= reach[ends] * (1.0 + TIED_DISTANCES)) & (X[:, ends] > 0.0))
            pairs = RowPairs(i, ends[j], X[i, ends[j]])
        return pairs.chosen(label[pairs.j] != home[pairs.i])

    # new rows --------------------------------------------------------------------------------------
    def _extend(self, params: LaplacianParams, X: Array) -> Array:
        if self.metric == "graph":
            W = X[:, params.rows]
            home = params.label[np.argmax(W, axis=1)]
            total, average, log_unit = W.sum(axis=1), W @ params.vectors, np.zeros(len(X))
        else:
            pairs, log_w, home = self._neighbours_of(params, X)
            log_unit = np.full(len(X), -np.inf)
            np.maximum.at(log_unit, pairs.i, log_w)  # far from all rows, weights are too small for a double
            w = np.exp(log_w - log_unit[pairs.i])
            S = sp.csr_array((w, (pairs.i, pairs.j)), shape=(len(X), len(params.rows)))
            total, average = degrees(S), S @ params.vectors
        isolated = np.flatnonzero(~(total > 0.0) & (np.bincount(params.label)[home] > 1))
        if len(isolated):
            raise error("LD434", f"row {isolated[0] + 1}", count=len(isolated))
        free = 1.0 - params.values[home if len(params.values) > 1 else np.zeros(len(X), dtype=np.intp)]
        if (np.abs(free) < NEAR_ONE).any():
            raise error("LD435", axis=int(np.argwhere(np.abs(free) < NEAR_ONE)[0][1]) + 1)
        Z: Array = average / (free * np.where(total > 0.0, total, 1.0)[:, None])
        if self.normalization == "symmetric":
            Z = Z * np.sqrt(total * np.exp(log_unit))[:, None]
        return Z

    def _neighbours_of(self, params: LaplacianParams, X: Array) -> tuple[RowPairs, Array, Index]:
        """Rows i of X with the mapped rows near them and those to which they are near; log weights; their pieces."""
        known = self.metric != "euclidean"
        D = check_lengths(X[:, params.rows], "distances") if known else X
        home = params.label[self._nearest_mapped(params.points, params.rows, X, 1).row[:, 0]]
        near = joined_known(D, params.k)[0] if known else joined(X, params.k, params.points)[0]
        if known:
            i, j = np.nonzero((params.radius * (1.0 + TIED_DISTANCES) >= D) & (D > 0.0))
            back = RowPairs(i, j, D[i, j])
        else:
            counted = within(params.points, X, params.radius)
            back = RowPairs(counted.j, counted.i, counted.d)
        pairs = together(near, back)
        if len(params.values) > 1:  # each piece has its own map
            pairs = pairs.chosen(params.label[pairs.j] == home[pairs.i])
            bridges = pairs.chosen(np.zeros(0, dtype=np.intp))
        else:
            bridges = self._reached(params.points, params.reach, D, params.label, home)
        log_w = _log_heat(pairs.d, params.width) - np.log(2.0)
        return together(pairs, bridges), np.append(log_w, _log_heat(bridges.d, params.width, bridge=True)), home

    # the random field --------------------------------------------------------------------------------
    def _field_matrix(self) -> FieldMatrix:
        """L = D - W over the rows mapped."""
        p = self.params_
        U = sp.csr_array((p.w, (p.i, p.j)), shape=(len(p.rows), len(p.rows)))
        return FieldMatrix(precision=laplacian(U + U.T - sp.diags_array(U.diagonal())))


def _log_heat(d: Array, width: float, bridge: bool = False) -> Array:
    """Log of the weights of edges of these lengths; width 0: all are one."""
    if width == 0.0:
        return np.zeros(len(d))
    return np.maximum(-0.5 * (d / width) ** 2, np.log(LEAST_BRIDGE_WEIGHT if bridge else LEAST_EDGE_WEIGHT))


def normalised(W: sp.csr_array, s: Array) -> sp.csr_array:
    """I - S W S, s = diag S."""
    A = W.copy()
    A.data *= -s[rows_of(W)] * s[W.indices]
    return sp.csr_array(A + sp.eye_array(len(s), format="csr"))
