"""Isomap: classical scaling of the lengths of paths through the neighbourhood graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from lowdim.engine.fit import Cost
from lowdim.maths.eigen import Problem, solve
from lowdim.maths.graph import all_path_lengths, both_ways, spread_rows
from lowdim.maths.linalg import Array, Index, Mask, sign_rule, svd
from lowdim.maths.pairs import BLOCK_PAIRS, centred_gram
from lowdim.models.base.options import SEVERAL, none_or, one_of, option
from lowdim.models.base.results import product
from lowdim.models.spectral.graph_model import GraphModel, NeighbourGraph, equal_values
from lowdim.models.spectral.random_field import FieldMatrix
from lowdim.models.spectral.spectral_model import SpectralFit
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
    As a random field over the rows (`field()`) K = B.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Sums of squares of the places, falling.
    landmarks_ : ndarray of shape (n_landmarks,)
        The landmarks' rows of the table, where there are any.

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

    _lengths = ("axes", "shift")
    n_landmarks: int | None = option(
        default=None,
        rule=none_or(SEVERAL),
        words="Rows, spread by path length, that are scaled in place of all; the others are placed by Gower's formula, "
        "and all are turned to their principal axes. None scales every row.",
    )
    metric: str = option(
        default="euclidean",
        rule=one_of("euclidean", "precomputed", "graph"),
        words="Rows of a table, a matrix of distances (NaN: not known), or a matrix of lengths of edges (0, NaN or not "
        "stored: no edge; for `transform` to know a row as itself, store its own 0 and leave the others out).",
    )

    def _cost_of_map(self, n: int, d: int) -> Cost:
        pairs = n * (n if self.n_landmarks is None else self.n_landmarks)
        peak = 8 * (3 * n * d + 3 * pairs + 6 * n * min(self.n_neighbors, n)) + 16 * BLOCK_PAIRS
        return Cost(1, 8 * n * d, peak, "Isomap(n_landmarks=200), or a sample of the rows")

    # the fit ---------------------------------------------------------------------------------------
    def _map_graph(self, graph: NeighbourGraph, rows: Index) -> SpectralFit:
        """Steps 2 and 3 of Tenenbaum et al. (step 1 is the graph): lengths of paths, and their classical scaling."""
        G = both_ways(graph.edges(), graph.m)
        map_rows = graph.map_rows()
        maps = [self._scale(G if len(part) == graph.m else sp.csr_array(G[part][:, part])) for part in map_rows]
        # The maps of all pieces in one: places, and lengths of the paths to landmarks, zero between pieces.
        Z, lengths = maps[0].Z, maps[0].lengths
        if len(maps) > 1:
            Z, lengths = np.zeros((graph.m, Z.shape[1])), np.zeros((graph.m, sum(len(s.landmark) for s in maps)))
            end = 0
            for part, scaled in zip(map_rows, maps, strict=True):
                start, end = end, end + len(scaled.landmark)
                Z[part], lengths[part, start:end] = scaled.Z, scaled.lengths
        params = IsomapParams(
            graph.points if self.metric == "euclidean" else np.zeros((graph.m, 0)),
            rows,
            lengths,
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
        m, q = G.shape[0], self.n_components
        # Lengths of the shortest paths D_G, from all rows or from landmarks that are far from each other.
        count = m if self.n_landmarks is None else min(max(self.n_landmarks, q + 1), m)
        landmark, lengths = (np.arange(m), all_path_lengths(G)) if count == m else spread_rows(G, count)
        # B = -1/2 H D_G^2 H, its largest eigenvalues (one more, to see whether it is equal to the last) and axes.
        B = np.square(lengths if count == m else lengths[landmark])
        B *= -0.5
        mean = -2.0 * B.mean(axis=0)
        eigen = solve(Problem(centred_gram(B), few=True), min(q + 1, count))
        values = np.zeros(q + 1)
        values[: len(eigen.values)] = eigen.values
        used = np.flatnonzero(values[:q] > ROUNDING_SHARE * max(float(values[0]), 0.0))
        if len(used) < q and m > q:
            warn("LD413", n_axes=len(used), n_components=q, model=type(self).__name__)
        notes = equal_values(values, q, 0.0) if len(used) == q else ()
        Z, axes, shift = np.zeros((m, q)), np.zeros((count, q)), np.zeros(q)
        axes[:, used] = eigen.vectors[:, used] / np.sqrt(values[used])
        if count == m:
            Z[:, used] = eigen.vectors[:, used] * np.sqrt(values[used])
        else:
            # De Silva and Tenenbaum: the other rows by Gower's formula, then all turned to their principal axes.
            Z = -0.5 * (lengths**2 - mean) @ axes
            shift = Z.mean(axis=0)
            turn = svd(Z - shift)[2].T
            turn = turn * sign_rule((Z - shift) @ turn)
            axes, shift, Z = axes @ turn, shift @ turn, (Z - shift) @ turn
        return ScaledPiece(landmark, lengths, mean, axes, shift, Z, eigen.solver, eigen.residual, notes)

    # new rows --------------------------------------------------------------------------------------
    def _mark_unknown(self, x: Array, mask: Mask | None, columns: tuple[str, ...] = (), start: int = 0) -> Array:
        if self.metric == "graph" and mask is None:  # nothing says which zeros are no edge: all of them
            return np.where(x == 0.0, np.inf, x)
        return super()._mark_unknown(x, mask)

    def _extend(self, params: IsomapParams, X: Array) -> Array:
        # A row belongs to the piece of its nearest neighbour; those in other pieces lead nowhere.
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
                # delta(x, i) = min_j d(x, j) + D_G(j, i), then Gower's formula.
                delta = _path_lengths(params.lengths, landmarks, neighbours.row[part], distance[part])
                Z[part] = product(-0.5 * (delta**2 - params.mean[landmarks]), params.axes[landmarks]) - params.shift[c]
        return Z

    # the random field --------------------------------------------------------------------------------
    def _field_matrix(self) -> FieldMatrix:
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
        return FieldMatrix(covariance=K, length=1.0 / float(self.frame_.scale[0]))


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


def _path_lengths(lengths: Array, landmarks: Index, neighbours: Index, distance: Array) -> Array:
    """Lengths of the paths from new rows to landmarks, by the best of their neighbours; infinite ones do not count."""
    delta = np.full((len(neighbours), len(landmarks)), np.inf)
    all_landmarks = len(landmarks) == lengths.shape[1]
    last = int(np.flatnonzero(np.isfinite(distance).any(axis=0)).max(initial=0))
    for j in range(last + 1):  # neighbours are few, landmarks many
        beyond = lengths[neighbours[:, j]]
        np.minimum(delta, distance[:, j, None] + (beyond if all_landmarks else beyond[:, landmarks]), out=delta)
    return delta
