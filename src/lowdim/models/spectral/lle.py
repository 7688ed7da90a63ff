"""Locally linear embedding: places that are the same averages of their neighbours as the rows are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from lowdim.engine.fit import Cost
from lowdim.maths.eigen import Eigen
from lowdim.maths.graph import both_ways, path_lengths, smallest
from lowdim.maths.linalg import Array, Index, Mask
from lowdim.maths.pairs import BLOCK_PAIRS, exact_distances, nearest, nearest_known, neighbor_weights
from lowdim.models.base.options import COUNT, NOT_NEGATIVE, one_of, option
from lowdim.models.base.results import squared
from lowdim.models.spectral.graph_model import GraphModel, NeighbourGraph, smallest_vectors
from lowdim.models.spectral.landmarks import blend_weights, cells_gram
from lowdim.models.spectral.random_field import FieldMatrix
from lowdim.models.spectral.spectral_model import SpectralFit, SpectralModel
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

LEAST_ERROR = 1e-6  # of the mean squared distance of the neighbours: a row's error counts as at least so much


class LLEParams(NamedTuple):
    """z(x) = sum_j w_j z_j, w minimising |x - sum w_j x_j|^2 + ridge sum_j w_j^2 |x - x_j|^2, sum w = 1."""

    points: Array  # m x d cells, or m x m distances
    rows: Index
    Z: Array  # m x q
    label: Index  # piece of each of the m rows; all zero where there is one map
    k: int
    i: Index  # w_ij, the weight of row j in row i
    j: Index
    w: Array
    precision: Array  # of each row given its neighbours


class LocallyLinearEmbedding(GraphModel):
    """Locally linear embedding: places that are the same averages of their neighbours as the rows are.

    Each row is regressed on its neighbours, with weights w_ij that sum to one; the places are the eigenvectors of
    L = (I-W)' P (I-W) with the smallest eigenvalues but the constant. As a random field over the rows,
    sum_i log N(x_i; sum_j w_ij x_j, 1/p_i) is its pseudolikelihood; `field()` has the precision L.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        Places of the rows, columns of unit length.
    eigenvalues_ : ndarray of shape (n_components,)
        The smallest eigenvalues of L but zero, rising; of the largest piece where each has its map.
    log_pseudolikelihood_ : float
        Of the table in its own unit; not for a matrix of distances.

    References
    ----------
    S. T. Roweis and L. K. Saul (2000), "Nonlinear dimensionality reduction by locally linear embedding", Science 290,
    2323-2326.
    N. D. Lawrence (2012), "A unifying probabilistic perspective for spectral dimensionality reduction: insights and
    new models", Journal of Machine Learning Research 13, 1609-1638, section 2.6.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 3, 30)
    >>> Z = LocallyLinearEmbedding(1, n_neighbors=4).fit_transform(np.c_[np.cos(t), np.sin(t)])
    >>> bool(np.corrcoef(Z[:, 0], t)[0, 1] ** 2 > 0.98)
    True
    """

    n_neighbors: int = option(
        default=7, rule=COUNT, words="Neighbours each row is regressed on; more than n_components."
    )
    variant: str = option(
        default="standard",
        rule=one_of("standard", "free", "acyclic"),
        words='"standard": P = I, as if every row were met equally well. "free": each row has its own precision p_i, '
        'so that the rows of P^(1/2) W no longer sum to one. "acyclic": each row is regressed on rows before it only; '
        "then the pseudolikelihood is the likelihood (given the first row), as |L| factorises.",
    )
    order: str = option(
        default="path",
        rule=one_of("path", "rows"),
        words='What "before" is for the acyclic variant: nearer to one end of the table along its graph, or higher up '
        "in the table, for rows that follow each other in time.",
    )
    reg: float = option(
        default=1e-3,
        rule=NOT_NEGATIVE,
        words="Ridge of the regressions, times the trace of the neighbours' Gram matrix.",
    )
    metric: str = option(
        default="euclidean", rule=one_of("euclidean", "precomputed"), words="Rows of a table, or a matrix of distances."
    )

    def _cost_of_map(self, n: int, d: int) -> Cost:
        k = min(self.n_neighbors, n)
        pairs = 3 * n * min(4 * k * k, n) + (5 * n * n if self.variant == "acyclic" or self._of_pairs() else 0)
        peak = 8 * (3 * n * d + pairs + 6 * min(n, 600) ** 2) + 40 * BLOCK_PAIRS
        return Cost(1, 8 * n * d, peak, "a sample of the rows and transform for the others, or fewer n_neighbors")

    _mark_unknown = SpectralModel._mark_unknown  # every distance of a neighbourhood is needed

    # the fit ---------------------------------------------------------------------------------------
    def _map_graph(self, graph: NeighbourGraph, rows: Index) -> SpectralFit:
        d = graph.m if self._of_pairs() else graph.points.shape[1]
        if graph.k <= self.n_components:
            warn("LD436", k=graph.k, q=self.n_components)
        if self.reg == 0.0 and graph.k > d:
            raise error("LD437", k=graph.k, d=d)
        # Roweis and Saul, step 2: each row as an average of its neighbours, by weights that sum to one.
        index, used = self._regressors(graph)
        w, error_squares, size = self._regress(graph, index, used)
        count, floored = used.sum(axis=1), np.maximum(error_squares, LEAST_ERROR * size)
        W = sp.csr_array((w[used], index[used], np.append(0, np.cumsum(count))), shape=(graph.m, graph.m))
        known = count > 0
        each = np.where(known, d / np.where(known, floored, 1.0), 0.0)
        standard = self.variant == "standard"
        precision = known.astype(float) if standard else each
        # Step 3: the places that are the same averages, vectors of L = (I-W)' P (I-W) with the smallest eigenvalues.
        groups = 0 if self.variant == "acyclic" else closed_groups(W)
        if groups > graph.n_maps:
            warn("LD439", count=groups)
        R = sp.csr_array(sp.diags_array(np.sqrt(precision)) @ (sp.eye_array(graph.m) - W))

        def solve_map(part: Index, k: int) -> Eigen:
            root = R if len(part) == graph.m else sp.csr_array(R[part][:, part])
            return smallest(sp.csr_array(root.T @ root), np.ones(len(part)), k, root)

        maps = smallest_vectors(graph, self.n_components, solve_map)
        # Lawrence (2012), section 2.6: the pseudolikelihood of the field, a regression a row.
        p = np.full(graph.m, d * known.sum() / floored[known].sum()) if standard else each
        fit = 0.5 * float((d * np.log(p[known] / (2.0 * np.pi)) - p[known] * floored[known]).sum())
        C = sp.coo_array(W)
        edges = C.row.astype(np.intp), C.col.astype(np.intp), C.data
        params = LLEParams(graph.points, rows, maps.vectors, graph.map_label, graph.k, *edges, precision)
        notes = maps.notes
        if graph.k > d and not self._of_pairs():
            notes += (f"ridge of {self.reg:g} times the spread of the neighbours",)
        exact = 0 if standard else int((error_squares[known] < floored[known]).sum())
        if exact:
            notes += (f"{exact} rows are met almost exactly: their precision is held at its limit",)
        attributes = {} if self._of_pairs() else {"log_pseudolikelihood_": fit}
        name = "log likelihood given the first row" if self.variant == "acyclic" else "log pseudolikelihood"
        return SpectralFit(
            params,
            maps.vectors,
            maps.values[0],
            maps.solver,
            maps.residual,
            attributes,
            notes,
            None if self._of_pairs() else fit,
            name,
        )

    def _regressors(self, graph: NeighbourGraph) -> tuple[Index, Mask]:
        """The rows each row is regressed on, m x k, and which of the entries count."""
        if self.variant == "acyclic":
            return self._earlier_neighbours(graph)
        points, k = graph.points, graph.k
        if self._of_pairs():
            points = points.copy()
            np.fill_diagonal(points, np.inf)  # no row is its own neighbour
            neighbours = nearest_known(points, k)
        else:
            neighbours = nearest(points, k)
        index, used = neighbours.row, np.isfinite(neighbours.distance)
        i, j = graph.bridges.i, graph.bridges.j
        for row, other in zip(np.append(i, j), np.append(j, i), strict=True):  # a bridge is one more neighbour
            spare = np.flatnonzero(~used[row])
            if not len(spare):
                index, used = np.pad(index, ((0, 0), (0, 1))), np.pad(used, ((0, 0), (0, 1)))
                spare = np.array([used.shape[1] - 1])
            index[row, spare[0]], used[row, spare[0]] = other, True
        return index, used & (graph.map_label[index] == graph.map_label[:, None])

    def _earlier_neighbours(self, graph: NeighbourGraph) -> tuple[Index, Mask]:
        """The k nearest of the rows before each."""
        index, used = np.zeros((graph.m, graph.k), dtype=np.intp), np.zeros((graph.m, graph.k), dtype=bool)
        G = None if self.order == "rows" else both_ways(graph.edges(), graph.m)
        for part in graph.map_rows():
            P = graph.points[np.ix_(part, part)] if self._of_pairs() else graph.points[part]
            order = np.arange(len(part))
            if G is not None:  # by path length from the row farthest from the middle one
                square = (P**2).sum(axis=1) if self._of_pairs() else ((P - P.mean(axis=0)) ** 2).sum(axis=1)
                far = np.argmax(path_lengths(G, part[[int(np.argmin(square))]])[0, part])
                order = np.argsort(path_lengths(G, part[[int(far)]])[0, part], kind="stable")
            D = P[np.ix_(order, order)] if self._of_pairs() else exact_distances(P[order])
            before = np.tri(len(part), k=-1, dtype=bool)
            neighbours = nearest_known(np.where(before, D, np.inf), min(graph.k, len(part)))
            width = neighbours.row.shape[1]
            index[part[order], :width] = part[order][neighbours.row]
            used[part[order], :width] = np.isfinite(neighbours.distance)
        return index, used

    def _regress(self, graph: NeighbourGraph, index: Index, used: Mask) -> tuple[Array, Array, Array]:
        """Weights of the regressions, their squared errors, and the mean squared distance of each row's neighbours."""
        m, k = index.shape
        w, error_squares, size = np.zeros((m, k)), np.zeros(m), np.zeros(m)
        step = max(1, BLOCK_PAIRS // max(k * max(k, graph.points.shape[1] * (not self._of_pairs())), 1))
        for start in range(0, m, step):
            rows = np.arange(start, min(start + step, m))
            C = self._gram(graph.points, graph.points[rows], index[rows]) * (used[rows, :, None] & used[rows, None, :])
            trace = np.trace(C, axis1=1, axis2=2)
            try:
                w[rows] = neighbor_weights(C, used[rows], self.reg * trace)
            except np.linalg.LinAlgError:
                raise error("LD437", k=graph.k, d=graph.points.shape[1]) from None
            error_squares[rows] = np.maximum(np.einsum("ij,ijk,ik->i", w[rows], C, w[rows]), 0.0)
            size[rows] = trace / np.maximum(used[rows].sum(axis=1), 1)
        return w, error_squares, size

    def _gram(self, points: Array, X: Array, index: Index) -> Array:
        """(x_j - x)'(x_l - x) of the neighbours j, l of each row, from cells or from distances."""
        if not self._of_pairs():
            return cells_gram(points, X, index)
        square = np.take_along_axis(X, index, 1) ** 2
        between = points[index[:, :, None], index[:, None, :]] ** 2
        return 0.5 * (square[:, :, None] + square[:, None, :] - between)

    def _in_table_units(self, fit: SpectralFit, frame: Frame, d: int) -> SpectralFit:
        """Densities and precisions are stated in the table's own units."""
        unit = float(frame.scale[0])
        if unit != 1.0 and self.variant != "standard":
            fit = fit._replace(values=squared(fit.values, unit))
        if unit != 1.0 and fit.objective is not None:
            count = len(fit.params.rows) - (fit.params.label.max() + 1 if self.variant == "acyclic" else 0)
            value = fit.objective + d * float(count) * float(np.log(unit))
            fit = fit._replace(objective=value, attributes={**fit.attributes, "log_pseudolikelihood_": value})
        return fit

    # new rows --------------------------------------------------------------------------------------
    def _extend(self, params: LLEParams, X: Array) -> Array:
        neighbours = self._nearest_mapped(params.points, params.rows, X, params.k)
        same_map = params.label[neighbours.row] == params.label[neighbours.row[:, :1]]
        D = X[:, params.rows] if self._of_pairs() else X

        def gram(part: slice) -> Array:
            return self._gram(params.points, D[part], neighbours.row[part])

        W = blend_weights(neighbours, gram, 0 if self._of_pairs() else D.shape[1], same_map)
        return np.einsum("nk,nkq->nq", W, params.Z[neighbours.row])

    # the random field --------------------------------------------------------------------------------
    def _field_matrix(self) -> FieldMatrix:
        """L = (I-W)' P (I-W) over the rows mapped."""
        p = self.params_
        m = len(p.rows)
        R = sp.diags_array(np.sqrt(p.precision)) @ (sp.eye_array(m) - sp.csr_array((p.w, (p.i, p.j)), shape=(m, m)))
        return FieldMatrix(precision=sp.csr_array(R.T @ R))


def closed_groups(W: Any) -> int:
    """Groups of rows that no path leaves (along i -> j where w_ij is not zero): each has a constant of its own."""
    count, label = csgraph.connected_components(W, directed=True, connection="strong")
    C = sp.coo_array(W)
    leaves = np.unique(label[C.row[label[C.row] != label[C.col]]])
    return int(count - len(leaves))
