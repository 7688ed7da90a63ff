"""Isomap: classical scaling of the lengths of paths through the neighbourhood graph."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from lowdim.engine.plan import Cost
from lowdim.math.distances import centred_gram
from lowdim.math.eigen import DENSE, Eigen, Problem, lanczos, solve
from lowdim.math.graph import both_ways, path_lengths, spread_rows
from lowdim.math.linalg import Array, sign_rule
from lowdim.math.neighbors import BLOCK, together
from lowdim.models.base.estimator import Rule
from lowdim.models.base.results import in_range, squared
from lowdim.models.base.spectral import Embedded
from lowdim.models.spectral.graph_model import NeighbourhoodModel, Rows, Web, equal_values
from lowdim.text.messages import warn

SPREAD = 1e-12  # of the first eigenvalue: an axis below it is rounding, and its places are zero


class Geodesics(NamedTuple):
    """z(x) = -1/2 (delta(x)^2 - mean) axes - shift, delta(x) the lengths of the paths from x to the landmarks."""

    points: Array  # m x d cells, or m x 0
    rows: Rows  # which rows of the table they are
    lengths: Array  # m x L, 0 between pieces
    landmark: Rows  # L of the m
    mean: Array  # L
    axes: Array  # L x q
    shift: Array  # pieces x q
    label: Rows  # piece of each of the m
    k: int


class Isomap(NeighbourhoodModel):
    """Positions whose distances are the lengths of paths along the neighbourhood graph.

    With D_G the shortest paths and H = I - 11'/n, B = -1/2 H D_G^2 H = U Lambda U' and Z = U_q Lambda_q^(1/2). With
    `landmarks` the scaling is of so many rows, spread by path length; all rows are placed by Gower's formula and turned
    to their principal axes. A new row x goes by its neighbours j, itself among them: delta(x, i) = min_j d(x, j) +
    D_G(j, i), then Gower. `metric`: "euclidean", "precomputed" (distances), or "graph" (lengths of edges; 0, NaN or
    not stored: no edge; to have a row known as itself by `transform`, store its own 0 and leave the others out).

    Reference: Tenenbaum, de Silva and Langford (2000), Science 290; de Silva and Tenenbaum (2004), landmarks;
    Lawrence seed 5.6.

    >>> import numpy as np
    >>> t = np.linspace(0, 3, 30)  # half a circle, unrolled
    >>> Z = Isomap(1, n_neighbors=2).fit_transform(np.c_[np.cos(t), np.sin(t)])
    >>> bool(np.corrcoef(Z[:, 0], t)[0, 1] ** 2 > 0.9999)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        **NeighbourhoodModel._rules,
        "landmarks": Rule(
            lambda v: v is None or (isinstance(v, int | np.integer) and bool(v >= 2)), "None, or a whole number >= 2"
        ),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 7,
        landmarks: int | None = None,
        metric: str = "euclidean",
        pieces: str = "bridge",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.landmarks = landmarks
        self.metric = metric
        self.pieces = pieces

    def _cost(self, n: int, d: int) -> Cost:
        pairs = n * (n if self.landmarks is None else self.landmarks)
        peak = 8 * (3 * n * d + 3 * pairs + 6 * n * min(self.n_neighbors, n)) + 16 * BLOCK
        return Cost(1, 8 * n * d, peak, "Isomap(landmarks=200), or a sample of the rows")

    # the fit ---------------------------------------------------------------------------------------
    def _map(self, web: Web, rows: Rows) -> Embedded:
        G = both_ways(together(web.pairs, web.bridges), web.m)
        parts = [np.arange(web.m)] if web.maps == 1 else [np.flatnonzero(web.label == c) for c in range(web.maps)]
        kept = [self._scaled(G if web.maps == 1 else sp.csr_array(G[part][:, part])) for part in parts]
        landmark = np.concatenate([part[one.landmark] for part, one in zip(parts, kept, strict=True)])
        lengths, axes = np.zeros((web.m, len(landmark))), []
        Z = np.zeros((web.m, self.n_components))
        start = 0
        for part, one in zip(parts, kept, strict=True):
            if web.maps == 1:
                lengths = one.lengths
            else:
                lengths[np.ix_(part, np.arange(start, start + len(one.landmark)))] = one.lengths
            Z[part] = one.Z
            axes.append(one.axes)
            start += len(one.landmark)
        data = self.metric == "euclidean"
        label = web.label if web.maps > 1 else np.zeros(web.m, dtype=np.intp)
        params = Geodesics(
            web.points if data else np.zeros((web.m, 0)),
            rows,
            lengths,
            landmark,
            np.concatenate([one.mean for one in kept]),
            np.concatenate(axes),
            np.array([one.shift for one in kept]),
            label,
            web.k,
        )
        values = (kept[0].Z ** 2).sum(axis=0)
        made = {"landmarks_": rows[landmark]} if self.landmarks is not None else {}
        return Embedded(params, Z, values, kept[0].solver, max(one.residual for one in kept), made, kept[0].notes)

    def _scaled(self, G: sp.csr_array) -> _Scaled:
        """Classical scaling of one connected graph."""
        m = G.shape[0]
        count = m if self.landmarks is None else min(max(self.landmarks, self.n_components + 1), m)
        if count == m:
            landmark, lengths = np.arange(m), path_lengths(G)
        else:
            landmark, lengths = spread_rows(G, count)
        B = np.square(lengths if count == m else lengths[landmark])
        B *= -0.5
        mean = -2.0 * B.mean(axis=0)
        found = _leading(centred_gram(B), min(self.n_components + 1, count))
        values = np.concatenate([found.values, np.zeros(self.n_components + 1)])[: self.n_components + 1]
        axes, notes = self._axes(found.vectors, values, m)
        if count == m:
            V = np.zeros((m, self.n_components))
            V[:, : min(found.vectors.shape[1], self.n_components)] = found.vectors[:, : self.n_components]
            Z = V * np.sqrt(np.where(values > SPREAD * max(values[0], 0.0), values, 0.0))[:-1]
            return _Scaled(
                landmark, lengths, mean, axes, np.zeros(self.n_components), Z, found.solver, found.residual, notes
            )
        Z = -0.5 * (lengths**2 - mean) @ axes
        shift = Z.mean(axis=0)
        turn = np.linalg.svd(Z - shift, full_matrices=False)[2].T
        turn = turn * sign_rule((Z - shift) @ turn)
        return _Scaled(
            landmark, lengths, mean, axes @ turn, shift @ turn, (Z - shift) @ turn, found.solver, found.residual, notes
        )

    def _axes(self, V: Array, values: Array, m: int) -> tuple[Array, tuple[str, ...]]:
        """V / sqrt(lambda), zero where an axis has no spread; what there is to say of the spectrum."""
        q = self.n_components
        real = values[:q] > SPREAD * max(float(values[0]), 0.0)
        axes = np.zeros((len(V), q))
        used = np.flatnonzero(real)
        axes[:, used] = V[:, used] / np.sqrt(values[used])
        if len(used) < q and m > q:
            warn("LD413", found=len(used), asked=q, model=type(self).__name__)
        return axes, equal_values(values, q, 0.0) if len(used) == q else ()

    def _keep(self, found: Embedded, frame: Any, source: Any) -> Any:
        """The frame's unit goes into the axes: places and eigenvalues are in the table's own."""
        back = 1.0 / float(frame.scale[0])
        if back != 1.0:
            p = found.params
            with np.errstate(over="ignore"):
                Z = in_range(found.Z * back, "Places", back)
            found = found._replace(
                params=p._replace(axes=p.axes * back, shift=p.shift * back), Z=Z, values=squared(found.values, back)
            )
        return super()._keep(found, frame, source)

    # new rows --------------------------------------------------------------------------------------
    def _unknown(self, x: Array, mask: Any) -> Array:
        if self.metric == "graph" and mask is None:  # nothing says which zeros are no edge: all of them
            return np.where(x == 0.0, np.inf, x)
        return super()._unknown(x, mask)

    def _extend(self, params: Geodesics, X: Array) -> Array:
        near = self._near(params.points, params.rows, X, params.k)
        home = params.label[near.row[:, 0]]
        away = np.where(params.label[near.row] == home[:, None], near.distance, np.inf)
        Z = np.empty((len(X), params.axes.shape[1]))
        of = params.label[params.landmark]
        for c in np.unique(home):
            who, marks = np.flatnonzero(home == c), np.flatnonzero(of == c)
            whole = len(marks) == len(of)
            rows = max(1, BLOCK // max(len(marks), 1))
            for start in range(0, len(who), rows):
                part = who[start : start + rows]
                delta = np.full((len(part), len(marks)), np.inf)
                for j in range(_used(away[part])):  # neighbours are few, landmarks many
                    by = params.lengths[near.row[part, j]]
                    np.minimum(delta, away[part, j, None] + (by if whole else by[:, marks]), out=delta)
                Z[part] = -0.5 * (delta**2 - params.mean[marks]) @ params.axes[marks] - params.shift[c]
        return Z

    # the random field --------------------------------------------------------------------------------
    def _covariance(self) -> Array:
        """-1/2 H D_G^2 H of the rows mapped; with landmarks, what their rows of it determine (Nystroem)."""
        p = self.params_
        unit = 1.0 / float(self.frame_.scale[0])
        K = np.zeros((len(p.lengths), len(p.lengths)))
        of = p.label[p.landmark]
        for c in range(len(p.shift)):
            part, marks = np.flatnonzero(p.label == c), np.flatnonzero(of == c)
            E = -0.5 * (p.lengths[np.ix_(part, marks)] ** 2 - p.mean[marks])
            E -= E.mean(axis=1)[:, None]
            if len(marks) < len(part):
                values, V = np.linalg.eigh(centred_gram(-0.5 * p.lengths[np.ix_(p.landmark[marks], marks)] ** 2))
                real = values > SPREAD * values[-1]
                F = E @ (V[:, real] / np.sqrt(values[real]))
                E = F @ F.T
            K[np.ix_(part, part)] = squared((E + E.T) / 2, unit)
        return K


class _Scaled(NamedTuple):
    """One connected graph, scaled."""

    landmark: Rows
    lengths: Array
    mean: Array
    axes: Array
    shift: Array
    Z: Array
    solver: str
    residual: float
    notes: tuple[str, ...]


def _used(away: Array) -> int:
    """The last neighbour of any of these rows, and one."""
    return int(np.flatnonzero(np.isfinite(away).any(axis=0)).max(initial=0)) + 1


def _leading(B: Array, k: int) -> Eigen:
    """The k largest eigenpairs of a dense matrix: by products where it is large, since few are wanted."""
    if len(B) <= max(DENSE, 10 * k):
        return solve(Problem(B), k)
    values, V, off, _ = lanczos(lambda v: B @ v, len(B), k, np.random.default_rng(0))
    return Eigen(values, V, off, "Lanczos")
