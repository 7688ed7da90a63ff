"""Isomap: classical scaling of the lengths of paths through the neighbourhood graph."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from lowdim.engine.plan import Cost
from lowdim.maths.eigen import Problem, solve
from lowdim.maths.graph import both_ways, spread_rows
from lowdim.maths.linalg import Array, Index, sign_rule, svd
from lowdim.maths.pairs import BLOCK_PAIRS, centred_gram
from lowdim.models.base.estimator import Rule
from lowdim.models.base.results import product
from lowdim.models.spectral.graph_model import GraphModel, NeighbourGraph, equal_values
from lowdim.models.spectral.spectral_model import SpectralFit, lengths_in_table_units
from lowdim.sources.views import Frame
from lowdim.text.messages import warn

ROUNDING_SHARE = 1e-12  # of the first eigenvalue: an axis below it is rounding, and its places are zero


class IsomapParams(NamedTuple):
    """z(x) = -1/2 (delta(x)^2 - mean) axes - shift, delta(x) the lengths of the paths from x to the landmarks."""

    points: Array  # m x d cells, or m x 0
    rows: Index  # which rows of the table they are
    lengths: Array  # m x L, 0 between pieces
    landmark: Index  # L of the m
    mean: Array  # L
    axes: Array  # L x q
    shift: Array  # pieces x q
    label: Index  # piece of each of the m
    k: int


class Isomap(GraphModel):
    """Isomap: positions whose distances are the lengths of paths along the neighbourhood graph.

    With D_G the shortest paths and H = I - 11'/n, B = -1/2 H D_G^2 H = U Lambda U' and Z = U_q Lambda_q^(1/2). A new
    row x goes by its neighbours j, itself among them: delta(x, i) = min_j d(x, j) + D_G(j, i), then Gower's formula.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map, q.
    n_neighbors : int, default=7
        Neighbours each row is joined to, and any others as far as the last of them.
    n_landmarks : int or None, default=None
        Rows, spread by path length, that are scaled in place of all; the others are placed by Gower's formula, and
        all are turned to their principal axes. None scales every row.
    metric : {"euclidean", "precomputed", "graph"}, default="euclidean"
        Rows of a table, a matrix of distances (NaN: not known), or a matrix of lengths of edges (0, NaN or not
        stored: no edge; for `transform` to know a row as itself, store its own 0 and leave the others out).
    pieces : {"bridge", "largest", "each"}, default="bridge"
        A graph in pieces: joined by the shortest edges that do it, only its largest mapped, or a map for each.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        Places of the rows.
    eigenvalues_ : ndarray of shape (n_components,)
        Sums of squares of the places, falling.
    landmarks_ : ndarray of shape (n_landmarks,)
        The landmarks' rows of the table, where there are any.
    rows_, node_ : ndarray
        The rows that are nodes of the graph (equal rows are one), and the node of each row, -1 where it is left out.
    n_pieces_, piece_sizes_, pieces_, left_out_ : int, ndarrays
        Pieces of the graph, their sizes, the piece of each row, and the rows not in the graph that was mapped.
    n_neighbors_ : int
        Neighbours in use.
    precision_, covariance_ : ndarray
        The random field over the rows: K = B.
    cells_inferred_, completion_ : int, Completion
        With gaps: how many cells were not seen, and the model of them.
    n_components_, n_features_in_ : int
        Dimensions of the map, and columns of the table.
    certificate_, params_, frame_ : Certificate, NamedTuple, Frame
        How the fit was made; its numbers, and their units.

    References
    ----------
    J. B. Tenenbaum, V. de Silva and J. C. Langford (2000), "A global geometric framework for nonlinear dimensionality
    reduction", Science 290, 2319-2323.
    V. de Silva and J. B. Tenenbaum (2004), "Sparse multidimensional scaling using landmark points", technical report,
    Stanford University.
    J. C. Gower (1968), "Adding a point to vector diagrams in multivariate analysis", Biometrika 55, 582-585.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 3, 30)  # half a circle, unrolled
    >>> Z = Isomap(1, n_neighbors=2).fit_transform(np.c_[np.cos(t), np.sin(t)])
    >>> bool(np.corrcoef(Z[:, 0], t)[0, 1] ** 2 > 0.9999)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        **GraphModel._rules,
        "n_landmarks": Rule(
            lambda v: v is None or (isinstance(v, int | np.integer) and bool(v >= 2)), "None, or a whole number >= 2"
        ),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 7,
        n_landmarks: int | None = None,
        metric: str = "euclidean",
        pieces: str = "bridge",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.metric = metric
        self.pieces = pieces

    def _cost(self, n: int, d: int) -> Cost:
        pairs = n * (n if self.n_landmarks is None else self.n_landmarks)
        peak = 8 * (3 * n * d + 3 * pairs + 6 * n * min(self.n_neighbors, n)) + 16 * BLOCK_PAIRS
        return Cost(1, 8 * n * d, peak, "Isomap(n_landmarks=200), or a sample of the rows")

    # the fit ---------------------------------------------------------------------------------------
    def _map_graph(self, graph: NeighbourGraph, rows: Index) -> SpectralFit:
        G = both_ways(graph.edges(), graph.m)
        map_rows = graph.map_rows()
        maps = [self._scale(G if len(part) == graph.m else sp.csr_array(G[part][:, part])) for part in map_rows]
        Z = np.zeros((graph.m, self.n_components))
        for part, scaled in zip(map_rows, maps, strict=True):
            Z[part] = scaled.Z
        params = IsomapParams(
            graph.points if self.metric == "euclidean" else np.zeros((graph.m, 0)),
            rows,
            _joint_lengths(map_rows, maps, graph.m),
            np.concatenate([part[scaled.landmark] for part, scaled in zip(map_rows, maps, strict=True)]),
            np.concatenate([scaled.mean for scaled in maps]),
            np.concatenate([scaled.axes for scaled in maps]),
            np.array([scaled.shift for scaled in maps]),
            graph.map_label,
            graph.k,
        )
        attributes = {} if self.n_landmarks is None else {"landmarks_": rows[params.landmark]}
        off, first = max(scaled.residual for scaled in maps), maps[0]
        return SpectralFit(params, Z, (first.Z**2).sum(axis=0), first.solver, off, attributes, first.notes)

    def _scale(self, G: sp.csr_array) -> ScaledPiece:
        """Classical scaling of one connected graph."""
        from lowdim.maths.graph import all_path_lengths

        m, q = G.shape[0], self.n_components
        count = m if self.n_landmarks is None else min(max(self.n_landmarks, q + 1), m)
        landmark, lengths = (np.arange(m), all_path_lengths(G)) if count == m else spread_rows(G, count)
        B = np.square(lengths if count == m else lengths[landmark])
        B *= -0.5
        mean = -2.0 * B.mean(axis=0)
        eigen = solve(Problem(centred_gram(B), few=True), min(q + 1, count))
        values = np.concatenate([eigen.values, np.zeros(q + 1)])[: q + 1]
        axes, notes = self._axes(eigen.vectors, values, m)
        if count == m:
            V = np.pad(eigen.vectors[:, :q], ((0, 0), (0, max(q - eigen.vectors.shape[1], 0))))
            Z = V * np.sqrt(np.where(values > ROUNDING_SHARE * max(values[0], 0.0), values, 0.0))[:-1]
            shift = np.zeros(q)
        else:
            Z = -0.5 * (lengths**2 - mean) @ axes
            shift = Z.mean(axis=0)
            turn = svd(Z - shift)[2].T  # to the principal axes of all rows
            turn = turn * sign_rule((Z - shift) @ turn)
            axes, shift, Z = axes @ turn, shift @ turn, (Z - shift) @ turn
        return ScaledPiece(landmark, lengths, mean, axes, shift, Z, eigen.solver, eigen.residual, notes)

    def _axes(self, V: Array, values: Array, m: int) -> tuple[Array, tuple[str, ...]]:
        """V / sqrt(lambda), zero where an axis has no spread; notes on the spectrum."""
        q = self.n_components
        axes = np.zeros((len(V), q))
        used = np.flatnonzero(values[:q] > ROUNDING_SHARE * max(float(values[0]), 0.0))
        axes[:, used] = V[:, used] / np.sqrt(values[used])
        if len(used) < q and m > q:
            warn("LD413", n_axes=len(used), n_components=q, model=type(self).__name__)
        return axes, equal_values(values, q, 0.0) if len(used) == q else ()

    def _in_table_units(self, fit: SpectralFit, frame: Frame, d: int) -> SpectralFit:
        return lengths_in_table_units(fit, frame, ("axes", "shift"))

    # new rows --------------------------------------------------------------------------------------
    def _mark_unknown(self, x: Array, mask: Any) -> Array:
        if self.metric == "graph" and mask is None:  # nothing says which zeros are no edge: all of them
            return np.where(x == 0.0, np.inf, x)
        return super()._mark_unknown(x, mask)

    def _extend(self, params: IsomapParams, X: Array) -> Array:
        neighbours = self._nearest_mapped(params.points, params.rows, X, params.k)
        home = params.label[neighbours.row[:, 0]]
        distance = np.where(params.label[neighbours.row] == home[:, None], neighbours.distance, np.inf)
        landmark_label = params.label[params.landmark]
        Z = np.empty((len(X), params.axes.shape[1]))
        for c in np.unique(home):
            new_rows, landmarks = np.flatnonzero(home == c), np.flatnonzero(landmark_label == c)
            step = max(1, BLOCK_PAIRS // max(len(landmarks), 1))
            for start in range(0, len(new_rows), step):
                part = new_rows[start : start + step]
                delta = _path_lengths(params.lengths, landmarks, neighbours.row[part], distance[part])
                Z[part] = product(-0.5 * (delta**2 - params.mean[landmarks]), params.axes[landmarks]) - params.shift[c]
        return Z

    # the random field --------------------------------------------------------------------------------
    def _covariance(self) -> Array:
        """-1/2 H D_G^2 H of the rows mapped, in the frame's units; with landmarks, what their rows of it determine.

        With E the rows of B that belong to landmarks and B_L their own, K = E' B_L^+ E: Nystroem's formula (Williams
        and Seeger 2001).
        """
        p = self.params_
        K = np.zeros((len(p.lengths), len(p.lengths)))
        landmark_label = p.label[p.landmark]
        for c in range(len(p.shift)):
            part, landmarks = np.flatnonzero(p.label == c), np.flatnonzero(landmark_label == c)
            E = -0.5 * (p.lengths[np.ix_(part, landmarks)] ** 2 - p.mean[landmarks])
            E -= E.mean(axis=1)[:, None]
            if len(landmarks) < len(part):
                B = centred_gram(-0.5 * p.lengths[np.ix_(p.landmark[landmarks], landmarks)] ** 2)
                eigen = solve(Problem(B), len(B))
                real = eigen.values > ROUNDING_SHARE * eigen.values[0]
                F = E @ (eigen.vectors[:, real] / np.sqrt(eigen.values[real]))
                E = F @ F.T
            K[np.ix_(part, part)] = (E + E.T) / 2
        return K

    def _length(self) -> float:
        return 1.0 / float(self.frame_.scale[0])


class ScaledPiece(NamedTuple):
    """The map of one connected graph."""

    landmark: Index
    lengths: Array
    mean: Array
    axes: Array
    shift: Array
    Z: Array
    solver: str
    residual: float
    notes: tuple[str, ...]


def _joint_lengths(map_rows: list[Index], maps: list[ScaledPiece], m: int) -> Array:
    """Path lengths of all rows to all landmarks, zero between maps."""
    if len(maps) == 1:
        return maps[0].lengths
    lengths = np.zeros((m, sum(len(scaled.landmark) for scaled in maps)))
    start = 0
    for part, scaled in zip(map_rows, maps, strict=True):
        end = start + len(scaled.landmark)
        lengths[part, start:end] = scaled.lengths
        start = end
    return lengths


def _path_lengths(lengths: Array, landmarks: Index, neighbours: Index, distance: Array) -> Array:
    """Lengths of the paths from new rows to landmarks, by the best of their neighbours; infinite ones do not count."""
    delta = np.full((len(neighbours), len(landmarks)), np.inf)
    all_landmarks = len(landmarks) == lengths.shape[1]
    last = int(np.flatnonzero(np.isfinite(distance).any(axis=0)).max(initial=0))
    for j in range(last + 1):  # neighbours are few, landmarks many
        beyond = lengths[neighbours[:, j]]
        np.minimum(delta, distance[:, j, None] + (beyond if all_landmarks else beyond[:, landmarks]), out=delta)
    return delta
