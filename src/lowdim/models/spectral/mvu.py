"""Maximum variance unfolding, by a semidefinite program over the neighbourhood graph."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import minimum_spanning_tree

from lowdim.engine.fit import Cost
from lowdim.engine.fold import one_blas_thread
from lowdim.maths.eigen import Problem, solve
from lowdim.maths.graph import both_ways, components, path_lengths, spread_rows
from lowdim.maths.linalg import Array, Index
from lowdim.maths.pairs import RowPairs, joined_known, pair_distances, together
from lowdim.models.base.options import COUNT, TRUTH, none_or, one_of, option
from lowdim.models.spectral.graph_model import NEIGHBORS_JOINED, ONE_MAP, GraphModel, NeighbourGraph
from lowdim.models.spectral.landmarks import cliques, extend_places, interpolate_places, unordered
from lowdim.models.spectral.mvu_solver import Unfolded, unfold
from lowdim.models.spectral.random_field import FieldMatrix
from lowdim.models.spectral.spectral_model import SpectralFit
from lowdim.text.messages import warn

ALL_ROWS = 600  # rows up to which each is a node of the program: its Schur matrix costs edges^3 / 3 a step
USUAL_LANDMARKS = 200  # nodes beyond that; 150 unroll a roll with R2 0.99 (benchmarks/unfolding.py)
PATH_NEIGHBORS = 8  # neighbours, at least, along which geodesic lengths to landmarks are measured
REAL_SHARE = 1e-9  # of the largest eigenvalue: below is what an interior point leaves where there is nothing
THREADED_EDGES = 1500  # from here on a second BLAS thread is worth having
POOR_GAP = 1e-5  # a certificate above this is worth a warning


class MVUParams(NamedTuple):
    """Rows that differ, their places (all dimensions that have any variance), and neighbours to place new rows by."""

    points: Array  # m x d
    places: Array  # m x r
    width: int  # dimensions of the map
    k: int


class MaximumVarianceUnfolding(GraphModel):
    """Maximum variance unfolding: the rows drawn apart as far as their neighbours let them go.

        maximise tr(HKH),  K >= 0,  k_ii + k_jj - 2 k_ij <= |x_i - x_j|^2  for neighbours i, j

    and the map is that of K. Solved by an interior point method with an eigenvalue certificate. With
    n_neighbors = n - 1 it is PCA. New rows are placed by weights on their neighbours. `field()` has the covariance K.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The largest of K, falling.
    objective_, gap_ : float
        tr K, and the share by which it could be larger at most.
    edges_, multipliers_ : ndarrays of shape (edges, 2), (edges,)
        The pairs of rows that are held, and the tension of each.
    landmarks_ : ndarray
        The rows that were unfolded.

    References
    ----------
    K. Q. Weinberger, F. Sha and L. K. Saul (2004), "Learning a kernel matrix for nonlinear dimensionality reduction",
    Proceedings of the 21st International Conference on Machine Learning, 106.
    K. Q. Weinberger and L. K. Saul (2006), "Unsupervised learning of image manifolds by semidefinite programming",
    International Journal of Computer Vision 70, 77-90.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 3 * np.pi, 60)
    >>> model = MaximumVarianceUnfolding(1).fit(np.column_stack([t * np.cos(t), t * np.sin(t)]))
    >>> bool(np.abs(np.corrcoef(model.embedding_[:, 0], np.sqrt(1 + t**2) * t + np.arcsinh(t))[0, 1]) > 0.999)
    True
    """

    metric: ClassVar[str] = "euclidean"
    n_neighbors: int = option(default=4, rule=COUNT, words=NEIGHBORS_JOINED)
    pieces: str = option(default="bridge", rule=one_of("bridge", "largest"), words=ONE_MAP)
    cliques: bool = option(
        default=True,
        rule=TRUTH,
        words="Whether all pairs within a neighbourhood are joined, which matters more than the solver.",
    )
    n_landmarks: int | None = option(
        default=None,
        rule=none_or(COUNT, "all rows up to 600"),
        words="Rows that are unfolded, with lengths along the graph, and carry the others; None is all rows up to 600, "
        "and 200 of more.",
    )
    _laws_broken: ClassVar[dict[str, str]] = {
        **GraphModel._laws_broken,
        "row_order_does_not_matter": "an interior point stops 1e-8 before the optimum, where depends on the order",
    }

    def _n_nodes(self, n: int) -> int:
        """Rows that are nodes of the program."""
        count = self.n_landmarks if self.n_landmarks is not None else n if n <= ALL_ROWS else USUAL_LANDMARKS
        return n if count >= n else max(count, self.n_components + 2)

    def _cost_of_map(self, n: int, d: int) -> Cost:
        nodes = self._n_nodes(n)
        edges = min(nodes * (nodes - 1) // 2, nodes * self.n_neighbors * (self.n_neighbors + 1) // 2)
        closed = nodes == n and self.n_neighbors >= n - 1
        peak = 8 * (2 * n * d + 8 * nodes**2 + (0 if closed else 3 * edges**2) + (nodes * n if nodes < n else 0))
        return Cost(1, 8 * n * d, peak, "fewer n_neighbors or n_landmarks, or Isomap")

    def _graph_neighbors(self, m: int, n_neighbors: int) -> int:
        if self._n_nodes(m) == m:
            return super()._graph_neighbors(m, n_neighbors)
        return min(max(n_neighbors, PATH_NEIGHBORS), m - 1)  # paths along few neighbours take detours

    def _map_graph(self, graph: NeighbourGraph, rows: Index) -> SpectralFit:
        # Weinberger and Saul: the pairs whose distances are held, of all rows or of landmarks.
        by_landmarks = self._n_nodes(graph.m) < graph.m
        if by_landmarks:
            nodes, edges = self._landmark_program(graph)
        else:
            nodes, (i, j) = np.arange(graph.m), self._held_pairs(graph.edges(), graph.m)
            edges = RowPairs(i, j, pair_distances(graph.points, graph.points, i, j))
        # The semidefinite program: the K of largest trace in which none of them is longer.
        n, square = len(nodes), edges.d**2
        if len(square) < n * (n - 1) // 2:
            with few_threads(len(square)):
                unfolded = unfold(edges.i, edges.j, square, n)
        else:  # where all pairs are joined by their own distances the answer is the table's
            Y = graph.points[nodes] - graph.points[nodes].mean(axis=0)
            K = Y @ Y.T
            gap = float(square.sum()) / n / float(np.trace(K)) - 1.0
            unfolded = Unfolded(K, np.full(len(square), 1.0 / n), gap, 0)
        if unfolded.gap > POOR_GAP:
            warn("LD453", gap=unfolded.gap, steps=unfolded.steps)
        # The map is that of K; other rows are carried by their neighbours.
        eigen = solve(Problem(unfolded.K), len(nodes))
        count = max(int((eigen.values > REAL_SHARE * eigen.values[0]).sum()), self.n_components)
        values = np.maximum(eigen.values[:count], 0.0)
        Y = eigen.vectors[:, :count] * np.sqrt(values)
        places = extend_places(graph.points, nodes, Y, graph.k) if by_landmarks else Y
        k = min(max(graph.asked, 2 * self.n_components + 2), graph.m)
        value, gap = float(np.trace(unfolded.K)), max(unfolded.gap, 0.0)
        attributes = {
            "landmarks_": rows[nodes],
            "edges_": rows[nodes][np.column_stack([edges.i, edges.j])],
            "gap_": gap,
            "multipliers_": unfolded.multipliers,
            "objective_": value,
        }
        steps = f"interior point in edge space, {unfolded.steps} steps"
        solver = steps if unfolded.steps else "closed form (all pairs joined)"
        return SpectralFit(
            MVUParams(graph.points, places, self.n_components, k),
            places[:, : self.n_components],
            values[: self.n_components],
            solver + (", landmarks" if by_landmarks else ""),
            gap,
            attributes,
            (f"tr K is within {gap:.1e} of the largest possible (eigenvalue certificate)",),
            value,
            "variance, tr K",
        )

    def _held_pairs(self, pairs: RowPairs, n: int) -> tuple[Index, Index]:
        if self.cliques:
            return cliques(pairs.i, pairs.j, n)
        return unordered(sp.csr_array((np.ones(len(pairs.i)), (pairs.i, pairs.j)), shape=(n, n)))

    def _landmark_program(self, graph: NeighbourGraph) -> tuple[Index, RowPairs]:
        """Rows far from each other along the graph, and the lengths of the paths between close ones."""
        G = both_ways(graph.edges(), graph.m)
        nodes = spread_rows(G, self._n_nodes(graph.m))[0]
        bare = np.setdiff1d(graph.label, graph.label[nodes])  # a piece without a landmark would have no place
        nodes = np.append(nodes, [np.flatnonzero(graph.label == piece)[0] for piece in bare]).astype(np.intp)
        D = path_lengths(G, nodes)[:, nodes]
        D = np.minimum(D, D.T)
        pairs = joined_known(D, min(graph.asked, len(nodes) - 1))[0]
        if components(sp.csr_array((np.ones(len(pairs.i)), (pairs.i, pairs.j)), shape=D.shape))[0] > 1:
            tree = sp.coo_array(minimum_spanning_tree(D))
            pairs = together(pairs, RowPairs(tree.row.astype(np.intp), tree.col.astype(np.intp), tree.data))
        i, j = self._held_pairs(pairs, len(nodes))
        return nodes, RowPairs(i, j, D[i, j])

    def _extend(self, params: MVUParams, X: Array) -> Array:
        return interpolate_places(X, params.points, params.places[:, : params.width], params.k)

    def _field_matrix(self) -> FieldMatrix:
        return FieldMatrix(covariance=self.params_.places @ self.params_.places.T)


def few_threads(edges: int) -> Any:
    """One BLAS thread for matrices so small that several only wait for each other."""
    return one_blas_thread() if edges < THREADED_EDGES else nullcontext()
