"""Maximum variance unfolding: the rows drawn apart as far as their neighbours let them go."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowdim.engine.fold import one_blas_thread
from lowdim.engine.plan import Cost
from lowdim.math.eigen import Problem, solve
from lowdim.math.graph import both_ways, by_size, components, path_lengths, spread_rows
from lowdim.math.linalg import Array
from lowdim.math.neighbors import Pairs, apart, joined, joined_known, together
from lowdim.models.base.estimator import COUNT, Rule
from lowdim.models.base.spectral import Embedded
from lowdim.models.spectral.graph_model import NeighbourhoodModel, Web
from lowdim.models.spectral.landmarks import carried, cliques, settled, unordered
from lowdim.models.spectral.mvu_solver import Unfolded, unfold
from lowdim.text.messages import warn

ALL = 600  # rows up to which each is a node of the program: its Schur matrix costs edges^3 / 3 a step
LANDMARKS = 200  # nodes beyond that; 150 unroll a roll with R2 0.99 (benchmarks/unfolding.py)
GRAPH = 8  # neighbours, at least, along which geodesic lengths to landmarks are measured
SMALL = 1e-9  # of the largest eigenvalue: what an interior point leaves where there is nothing
CROWD = 1500  # edges: from here on a second BLAS thread is worth having
POOR = 1e-5  # a certificate above this is worth a warning
WHOLE = Rule(lambda v: v in ("bridge", "largest"), "'bridge' or 'largest'")  # nothing holds separate pieces together
Rows = NDArray[np.intp]


class Unrolled(NamedTuple):
    """Rows that differ, their places (all dimensions that have any variance), and neighbours to place new rows by."""

    points: Array  # m x d
    places: Array  # m x r
    width: int  # dimensions of the map
    k: int


class MaximumVarianceUnfolding(NeighbourhoodModel):
    """Unroll a sheet: K of the largest variance tr(HKH) such that no neighbours get farther apart; then its map.

        maximise tr(HKH),  K >= 0,  k_ii + k_jj - 2 k_ij <= |x_i - x_j|^2  for neighbours i, j

    Solved by an interior point method with an eigenvalue certificate, gap_: tr K could be larger by no more than this
    share. All pairs within a neighbourhood are joined (`cliques`), which matters more than the solver. Past 600 rows
    `n_landmarks` of them are unfolded with lengths along the graph, and carry the others. With n_neighbors = n - 1 it
    is PCA. New rows are placed by weights on their neighbours.

    Reference: seed 002 (Lawrence), section 5.2; Weinberger and Saul (2006), IJCV 70.

    >>> t = np.linspace(0, 3 * np.pi, 60)
    >>> model = MaximumVarianceUnfolding(1).fit(np.column_stack([t * np.cos(t), t * np.sin(t)]))
    >>> bool(np.abs(np.corrcoef(model.embedding_[:, 0], np.sqrt(1 + t**2) * t + np.arcsinh(t))[0, 1]) > 0.999)
    True
    """

    metric = "euclidean"
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "n_neighbors": COUNT,
        "pieces": WHOLE,
        "cliques": Rule(lambda v: isinstance(v, bool), "True or False"),
        "n_landmarks": Rule(lambda v: v is None or COUNT.holds(v), "None (all rows up to 600) or a whole number >= 1"),
    }
    _laws_broken: ClassVar[dict[str, str]] = {
        **NeighbourhoodModel._laws_broken,
        "row_order_does_not_matter": "an interior point stops 1e-8 before the optimum, where depends on the order",
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 4,
        cliques: bool = True,
        n_landmarks: int | None = None,
        pieces: str = "bridge",
    ) -> None:
        self.n_components, self.n_neighbors, self.cliques = n_components, n_neighbors, cliques
        self.n_landmarks, self.pieces = n_landmarks, pieces

    def _count(self, n: int) -> int:
        """Rows that are nodes of the program."""
        few = self.n_landmarks if self.n_landmarks is not None else n if n <= ALL else LANDMARKS
        return n if few >= n else max(few, self.n_components + 2)

    def _cost(self, n: int, d: int) -> Cost:
        nodes = self._count(n)
        edges = min(nodes * (nodes - 1) // 2, nodes * self.n_neighbors * (self.n_neighbors + 1) // 2)
        closed = nodes == n and self.n_neighbors >= n - 1
        peak = 8 * (2 * n * d + 8 * nodes**2 + (0 if closed else 3 * edges**2) + (nodes * n if nodes < n else 0))
        return Cost(1, 8 * n * d, peak, "fewer n_neighbors or n_landmarks, or Isomap")

    def _web(self, X: Any) -> Web:
        m = X.shape[0]
        if self._count(m) == m:
            return super()._web(X)
        k = min(max(self.n_neighbors, GRAPH), m - 1)  # paths along few neighbours take detours
        pairs, radius = joined(X, k)
        label = components(sp.csr_array((np.ones(len(pairs.i)), (pairs.i, pairs.j)), shape=(m, m)))[1]
        return Web(X, pairs, radius, by_size(label)[0], pairs.chosen(np.zeros(0, dtype=np.intp)), k)

    def _map(self, web: Web, rows: Rows) -> Embedded:
        few = self._count(web.m) < web.m
        nodes, edges = self._landmarks(web) if few else (np.arange(web.m), self._joins(web.pairs, web.bridges, web))
        with few_threads(len(edges.i)):
            found = _unfolded(edges, web.points[nodes], len(nodes))
        if found.gap > POOR:
            warn("LD453", gap=found.gap, steps=found.steps)
        eigen = solve(Problem(found.K), len(nodes))
        keep = max(int((eigen.values > SMALL * eigen.values[0]).sum()), self.n_components)
        values = np.maximum(eigen.values[:keep], 0.0)
        Y = eigen.vectors[:, :keep] * np.sqrt(values)
        places = settled(web.points, nodes, Y, web.k) if few else Y
        k = min(max(self.n_neighbors, 2 * self.n_components + 2), web.m)
        params = Unrolled(web.points, places, self.n_components, k)
        value, gap = float(np.trace(found.K)), max(found.gap, 0.0)
        made = {
            "landmarks_": rows[nodes],
            "edges_": rows[nodes][np.column_stack([edges.i, edges.j])],
            "gap_": gap,
            "multipliers_": found.multipliers,
            "objective_": value,
        }
        note = f"tr K is within {gap:.1e} of the largest possible (eigenvalue certificate)"
        return Embedded(
            params,
            places[:, : self.n_components],
            values[: self.n_components],
            _solver(found, few),
            gap,
            made,
            (note,),
            value,
            "variance, tr K",
        )

    def _joins(self, pairs: Pairs, bridges: Pairs, web: Web) -> Pairs:
        """Every pair that must not get farther apart, once."""
        n = web.m
        pairs = together(pairs, bridges) if len(bridges.i) else pairs
        if self.cliques:
            i, j = cliques(pairs.i, pairs.j, n)
        else:
            i, j = unordered(sp.csr_array((np.ones(len(pairs.i)), (pairs.i, pairs.j)), shape=(n, n)))
        return Pairs(i, j, apart(web.points, web.points, i, j))

    def _landmarks(self, web: Web) -> tuple[Rows, Pairs]:
        """Rows far from each other along the graph, and the lengths of the paths between close ones."""
        G = both_ways(together(web.pairs, web.bridges) if len(web.bridges.i) else web.pairs, web.m)
        nodes = spread_rows(G, self._count(web.m))[0]
        bare = np.setdiff1d(web.label, web.label[nodes])  # a piece without a landmark would have no place
        nodes = np.append(nodes, [np.flatnonzero(web.label == piece)[0] for piece in bare]).astype(np.intp)
        D = path_lengths(G, nodes)[:, nodes]
        D = np.minimum(D, D.T)
        pairs = joined_known(D, min(self.n_neighbors, len(nodes) - 1))[0]
        if components(sp.csr_array((np.ones(len(pairs.i)), (pairs.i, pairs.j)), shape=D.shape))[0] > 1:
            from scipy.sparse.csgraph import minimum_spanning_tree

            tree = sp.coo_array(minimum_spanning_tree(D))
            pairs = together(pairs, Pairs(tree.row.astype(np.intp), tree.col.astype(np.intp), tree.data))
        if self.cliques:
            i, j = cliques(pairs.i, pairs.j, len(nodes))
        else:
            i, j = unordered(sp.csr_array((np.ones(len(pairs.i)), (pairs.i, pairs.j)), shape=D.shape))
        return nodes, Pairs(i, j, D[i, j])

    def _extend(self, params: Unrolled, X: Array) -> Array:
        return carried(X, params.points, params.places[:, : params.width], params.k)

    def _covariance(self) -> Any:
        return self.params_.places @ self.params_.places.T


def few_threads(edges: int) -> Any:
    """One BLAS thread for matrices so small that several only wait for each other."""
    return one_blas_thread() if edges < CROWD else nullcontext()


def _unfolded(edges: Pairs, points: Array, n: int) -> Unfolded:
    """The program's answer; where all pairs are joined by their own distances it is the table's, and known."""
    if len(edges.i) < n * (n - 1) // 2:
        return unfold(edges.i, edges.j, edges.d**2, n)
    Y = points - points.mean(axis=0)
    K = Y @ Y.T
    return Unfolded(K, np.full(len(edges.i), 1.0 / n), float((edges.d**2).sum()) / n / float(np.trace(K)) - 1.0, 0)


def _solver(found: Unfolded, few: bool) -> str:
    how = f"interior point in edge space, {found.steps} steps" if found.steps else "closed form (all pairs joined)"
    return how + (", landmarks" if few else "")
