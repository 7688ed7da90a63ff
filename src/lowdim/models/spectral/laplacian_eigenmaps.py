"""Laplacian eigenmaps: the slowest vibrations of the neighbourhood graph."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from lowdim.engine.plan import Cost
from lowdim.math.distances import fault
from lowdim.math.graph import degrees, laplacian, normalised, rows_of, smallest
from lowdim.math.linalg import Array
from lowdim.math.neighbors import BLOCK, TIE, Pairs, joined, joined_known, together, within
from lowdim.models.base.estimator import Rule
from lowdim.models.base.spectral import Embedded
from lowdim.models.spectral.graph_model import NeighbourhoodModel, Rows, Web, asked, equal_values, sparse_fault
from lowdim.sources.source import Source
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

FAINT = 1e-6  # the least weight of an edge between pieces under heat weights: theirs may be too small for a double
LEAST = 1e-290  # the least weight of any edge: a row far from all is placed by its neighbours, not left alone
ROUNDS = 20  # of making bridges the same both ways; one or two do
ONE = 1e-9  # an eigenvalue this close to 1 leaves places undetermined by their neighbours


class Vibrations(NamedTuple):
    """v(x) = sum_j w(x, j) v_j / ((1 - lambda) sum_j w(x, j)), over neighbours either way."""

    points: Array  # m x d cells, or m x 0
    rows: Rows
    vectors: Array  # m x q, L v = lambda D v
    values: Array  # pieces x q
    label: Rows  # piece of each of the m rows, whether they were bridged or not
    radius: Array  # each row is a neighbour of those within it
    reach: Array  # and, over a bridge, of those of other pieces within this
    width: float  # of heat weights; 0 for weights of one
    k: int
    i: Rows  # the weights w_ij, i <= j
    j: Rows
    w: Array


class LaplacianEigenmaps(NeighbourhoodModel):
    """Places that vary as slowly as possible along the edges of the neighbourhood graph.

    W = (A + A')/2, a_ij = 1 (or exp(-d_ij^2 / (2 width^2))) where j is among the neighbours of i; D its row sums and
    L = D - W. The places are the vectors of L v = lambda D v with the smallest eigenvalues but the constant, v'Dv = 1.
    normalisation="symmetric" gives those of D^-1/2 L D^-1/2 instead, as the seed's author did: D^1/2 v. New rows are
    where they would be in balance with their neighbours: those near them, and those that would count them as near.
    width=None takes the median distance of neighbours. metric="graph": the weights W themselves, symmetric.

    Reference: Belkin and Niyogi (2003), Neural Computation 15; Lawrence seed 5.4.

    >>> import numpy as np
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> LaplacianEigenmaps(1, metric="graph").fit(path).eigenvalues_.round(6)  # 1 - cos(pi / 4)
    array([0.292893])
    """

    _rules: ClassVar[dict[str, Rule]] = {
        **NeighbourhoodModel._rules,
        "weights": Rule(lambda v: v in ("binary", "heat"), "'binary' or 'heat'"),
        "width": Rule(
            lambda v: v is None or (isinstance(v, int | float | np.number) and bool(0.0 < v < np.inf)),
            "None, or a number > 0",
        ),
        "normalisation": Rule(lambda v: v in ("generalised", "symmetric"), "'generalised' or 'symmetric'"),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 7,
        weights: str = "binary",
        width: float | None = None,
        normalisation: str = "generalised",
        metric: str = "euclidean",
        pieces: str = "bridge",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.width = width
        self.normalisation = normalisation
        self.metric = metric
        self.pieces = pieces

    def _cost(self, n: int, d: int) -> Cost:
        edges = n * min(2 * self.n_neighbors, n)
        cells = edges if self.metric == "graph" else n * d  # a graph is mostly not there, and kept so
        peak = 8 * (3 * cells + 60 * edges) + 16 * BLOCK + 24 * min(n, 600) ** 2
        return Cost(1, 8 * cells, peak, "a sample of the rows, and transform for the others")

    def _kind(self) -> str:
        return "weights" if self.metric == "graph" else "distances"

    def _frame(self, source: Source) -> Frame:
        frame = super()._frame(source)
        return frame if self.width is None else frame._replace(scale=np.ones(source.d))  # the width is in the table's

    def _unknown(self, x: Array, mask: Any) -> Array:
        if self.metric == "graph":
            return x if mask is None else np.where(mask, x, 0.0)
        return super()._unknown(x, mask)

    def _checked(self, D: Any) -> Any:
        if self.metric != "graph":
            return super()._checked(D)
        wrong = (
            sparse_fault(D, loops=True)
            if sp.issparse(D)
            else fault(D, similar=True) or sparse_fault(sp.csr_array(D), loops=True)
        )
        if wrong is not None:
            raise error("LD410", f"row {wrong.i + 1}, column {wrong.j + 1}", what="weights", problem=wrong.problem)
        return D

    # the fit ---------------------------------------------------------------------------------------
    def _map(self, web: Web, rows: Rows) -> Embedded:
        width = self._width(web)
        bridge, reach = self._bridges(web)
        W = self._graph(web, bridge, width)
        d = degrees(W)
        lost = np.flatnonzero((d <= 2.0 * LEAST * web.m) & (width > 0.0))
        if len(lost):
            warn("LD438", f"row {rows[lost[0]] + 1}", width=width, count=len(lost))
        values, V = np.zeros((web.maps, self.n_components)), np.zeros((web.m, self.n_components))
        solver, off = "", 0.0
        notes: tuple[str, ...] = ()
        for c in range(web.maps):
            part = np.flatnonzero(web.label == c) if web.maps > 1 else np.arange(web.m)
            q = min(self.n_components, len(part) - 1)
            if q == 0:
                continue
            s = 1.0 / np.sqrt(d[part])
            M = normalised(W if len(part) == web.m else sp.csr_array(W[part][:, part]), s)
            found = smallest(M, 1.0 / s, asked(q, len(part)))
            values[c, :q], V[part, :q] = found.values[:q], found.vectors[:, :q] * s[:, None]
            solver, off = solver or found.solver, max(off, found.residual)
            notes = equal_values(found.values, q) if c == 0 else notes
        i = rows_of(W)
        half = i <= W.indices
        params = Vibrations(
            web.points if self.metric == "euclidean" else np.zeros((web.m, 0)),
            rows,
            V,
            values,
            web.label,
            web.radius,
            reach,
            width,
            web.k,
            i[half],
            W.indices[half].astype(np.intp),
            W.data[half],
        )
        Z = V * np.sqrt(d)[:, None] if self.normalisation == "symmetric" else V
        made = {"width_": width} if self.weights == "heat" else {}
        if self.weights == "heat" and self.width is None and self.metric != "graph":
            notes += (f"heat weights of width {width:.6g}, the median distance of neighbours",)
        return Embedded(params, Z, values[0], solver, off, made, notes)

    def _width(self, web: Web) -> float:
        if self.weights == "binary" or self.metric == "graph":
            return 0.0
        return float(np.median(web.pairs.d)) if self.width is None else float(self.width)

    def _graph(self, web: Web, bridge: Pairs, width: float) -> sp.csr_array:
        """W over the rows of the web."""
        p, shape = web.pairs, (web.m, web.m)
        if self.metric == "graph":
            return sp.csr_array((p.d, (p.i, p.j)), shape=shape)
        w = 0.5 * np.exp(_log_heat(p.d, width))
        cells = np.concatenate([w, w, np.exp(_log_heat(bridge.d, width, True))])
        at = np.concatenate([p.i, p.j, bridge.i]), np.concatenate([p.j, p.i, bridge.j])
        return sp.csr_array((cells, at), shape=shape)  # what is given twice is added

    def _bridges(self, web: Web) -> tuple[Pairs, Array]:
        """Edges between pieces, both ways, such that distances alone tell who is joined: each row reaches so far."""
        reach = np.zeros(web.m)
        if not len(web.bridges.i):
            return web.bridges, reach
        pairs = web.bridges
        for _ in range(ROUNDS):
            before = reach.copy()
            np.maximum.at(reach, pairs.i, pairs.d)
            np.maximum.at(reach, pairs.j, pairs.d)
            if np.array_equal(before, reach):
                break
            pairs = self._reached(web.points, reach, web.points, web.label, web.label)
        return pairs, reach

    def _reached(self, points: Array, reach: Array, X: Array, label: Rows, home: Rows) -> Pairs:
        """New rows i and mapped rows j of other pieces that reach as far as them."""
        who = np.flatnonzero(reach > 0.0)
        if self.metric == "euclidean":
            back = within(points[who], X, reach[who])
            found = Pairs(back.j, who[back.i], back.d)
        else:
            i, j = np.nonzero((X[:, who] <= reach[who] * (1.0 + TIE)) & (X[:, who] > 0.0))
            found = Pairs(i, who[j], X[i, who[j]])
        return found.chosen(label[found.j] != home[found.i])

    # new rows --------------------------------------------------------------------------------------
    def _extend(self, params: Vibrations, X: Array) -> Array:
        if self.metric == "graph":
            W = X[:, params.rows]
            home = params.label[np.argmax(W, axis=1)]
            total = W.sum(axis=1)
            average, top = W @ params.vectors, np.zeros(len(X))
        else:
            pairs, bridge, home = self._neighbours_of(params, X)
            over = _log_heat(bridge.d, params.width, True)
            w = np.concatenate([_log_heat(pairs.d, params.width) - np.log(2.0), over])
            pairs = together(pairs, bridge)
            top = np.full(len(X), -np.inf)
            np.maximum.at(top, pairs.i, w)  # far from all rows, weights are too small for a double
            w = np.exp(w - top[pairs.i])
            S = sp.csr_array((w, (pairs.i, pairs.j)), shape=(len(X), len(params.rows)))
            total, average = degrees(S), S @ params.vectors
        alone = np.flatnonzero(~(total > 0.0) & (np.bincount(params.label)[home] > 1))
        if len(alone):
            raise error("LD434", f"row {alone[0] + 1}", count=len(alone))
        values = params.values[home if len(params.values) > 1 else np.zeros(len(X), dtype=np.intp)]
        free = 1.0 - values
        if (np.abs(free) < ONE).any():
            raise error("LD435", axis=int(np.argwhere(np.abs(free) < ONE)[0][1]) + 1)
        Z = average / (free * np.where(total > 0.0, total, 1.0)[:, None])
        if self.normalisation == "symmetric":
            Z = Z * np.sqrt(total * np.exp(top))[:, None]
        return Z

    def _neighbours_of(self, params: Vibrations, X: Array) -> tuple[Pairs, Pairs, Rows]:
        """Rows i of X with the mapped rows near them and those to which they are near; over bridges; their pieces."""
        known = self.metric != "euclidean"
        D = self._lengths(X[:, params.rows]) if known else X
        nearest = self._near(params.points, params.rows, X, 1)
        home = params.label[nearest.row[:, 0]]
        there = joined_known(D, params.k)[0] if known else joined(X, params.k, params.points)[0]
        if known:
            i, j = np.nonzero((params.radius * (1.0 + TIE) >= D) & (D > 0.0))
            back = Pairs(i, j, D[i, j])
        else:
            turned = within(params.points, X, params.radius)
            back = Pairs(turned.j, turned.i, turned.d)
        pairs = together(there, back)
        if len(params.values) > 1:  # each piece has its own map
            pairs = pairs.chosen(params.label[pairs.j] == home[pairs.i])
            return pairs, pairs.chosen(np.zeros(0, dtype=np.intp)), home
        return pairs, self._reached(params.points, params.reach, D, params.label, home), home

    # the random field --------------------------------------------------------------------------------
    def _precision(self) -> sp.csr_array:
        """L = D - W over the rows mapped."""
        p = self.params_
        U = sp.csr_array((p.w, (p.i, p.j)), shape=(len(p.rows), len(p.rows)))
        return laplacian(U + U.T - sp.diags_array(U.diagonal()))


def _log_heat(d: Array, width: float, bridge: bool = False) -> Array:
    """Log of the weights of edges of these lengths; width 0: all are one."""
    if width == 0.0:
        return np.zeros(len(d))
    return np.maximum(-0.5 * (d / width) ** 2, np.log(FAINT if bridge else LEAST))
