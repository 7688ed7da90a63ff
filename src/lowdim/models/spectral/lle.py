"""Locally linear embedding: places that are the same averages of their neighbours as the rows are."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from lowdim.engine.plan import Cost
from lowdim.math.graph import both_ways, closed_groups, path_lengths, smallest
from lowdim.math.linalg import Array
from lowdim.math.neighbors import BLOCK, Neighbours, exact_distances, nearest, nearest_known, together
from lowdim.models.base.estimator import Rule
from lowdim.models.base.results import squared
from lowdim.models.base.spectral import Embedded
from lowdim.models.spectral.graph_model import NeighbourhoodModel, Rows, Web, asked, equal_values
from lowdim.text.messages import error, warn

FLOOR = 1e-6  # of the mean squared distance of the neighbours: what a row is missed by counts as at least so much
NEW = 1e-3  # ridge of new rows, in units of each squared distance (spec: 2 to 12 times better than the usual one)


class Patches(NamedTuple):
    """z(x) = sum_j w_j z_j, w minimising |x - sum w_j x_j|^2 + ridge sum_j w_j^2 |x - x_j|^2, sum w = 1."""

    points: Array  # m x d cells, or m x m distances
    rows: Rows
    Z: Array  # m x q
    label: Rows  # piece of each of the m rows; all zero where there is one map
    k: int
    i: Rows  # w_ij, the weight of row j in row i
    j: Rows
    w: Array
    precision: Array  # of each row given its neighbours


class LocallyLinearEmbedding(NeighbourhoodModel):
    """Places that are the same averages of their neighbours as the rows are.

    Each row is regressed on its neighbours, weights w_ij that sum to one (with a ridge `reg` times the trace of their
    Gram matrix); the places are the eigenvectors of L = (I-W)' P (I-W) with the smallest eigenvalues but the constant.
    As a random field over the rows, sum_i log N(x_i; sum_j w_ij x_j, 1/p_i) is its pseudolikelihood
    (`log_pseudolikelihood_`). `variant`: "standard", P = I, as if every row were met equally well; "free", each row has
    its own precision p_i, so that the rows of P^(1/2) W no longer sum to one; "acyclic", each row is regressed on
    rows before it only, in order of path length from one end: then the pseudolikelihood is the likelihood (given the
    first row), as |L| factorises.

    Reference: Roweis and Saul (2000), Science 290; Lawrence seed 5.5; Lawrence (2012), JMLR 13, section 2.6.

    >>> import numpy as np
    >>> t = np.linspace(0, 3, 30)
    >>> Z = LocallyLinearEmbedding(1, n_neighbors=4).fit_transform(np.c_[np.cos(t), np.sin(t)])
    >>> bool(np.corrcoef(Z[:, 0], t)[0, 1] ** 2 > 0.98)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        **NeighbourhoodModel._rules,
        "metric": Rule(lambda v: v in ("euclidean", "precomputed"), "'euclidean' or 'precomputed'"),
        "variant": Rule(lambda v: v in ("standard", "free", "acyclic"), "'standard', 'free' or 'acyclic'"),
        "reg": Rule(lambda v: isinstance(v, int | float | np.number) and bool(0.0 <= v < np.inf), "a number >= 0"),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 7,
        variant: str = "standard",
        reg: float = 1e-3,
        metric: str = "euclidean",
        pieces: str = "bridge",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.variant = variant
        self.reg = reg
        self.metric = metric
        self.pieces = pieces

    def _cost(self, n: int, d: int) -> Cost:
        k = min(self.n_neighbors, n)
        pairs = 3 * n * min(4 * k * k, n) + (5 * n * n if self.variant == "acyclic" or self._of_pairs() else 0)
        peak = 8 * (3 * n * d + pairs + 6 * min(n, 600) ** 2) + 40 * BLOCK
        return Cost(1, 8 * n * d, peak, "a sample of the rows and transform for the others, or fewer n_neighbors")

    def _unknown(self, x: Array, mask: Any) -> Array:
        if mask is not None and not mask.all():
            row, j = np.argwhere(~mask)[0]
            self._refuse(int(row), f"c{j + 1}", int((~mask).sum()))
        return x

    # the fit ---------------------------------------------------------------------------------------
    def _map(self, web: Web, rows: Rows) -> Embedded:
        d = web.m if self._of_pairs() else web.points.shape[1]
        if web.k <= self.n_components:
            warn("LD436", k=web.k, q=self.n_components)
        if self.reg == 0.0 and web.k > d:
            raise error("LD437", k=web.k, d=d)
        index, used = self._chosen(web)
        w, missed, size = self._weights(web, index, used)
        count, gap = used.sum(axis=1), np.maximum(missed, FLOOR * size)
        W = sp.csr_array((w[used], index[used], np.append(0, np.cumsum(count))), shape=(web.m, web.m))
        known = count > 0
        each = np.where(known, d / np.where(known, gap, 1.0), 0.0)
        common = d * known.sum() / gap[known].sum()
        precision = known.astype(float) if self.variant == "standard" else each
        Z, values, solver, off, notes = self._vectors(web, W, precision)
        p = np.full(web.m, common) if self.variant == "standard" else each
        fit = 0.5 * float((d * np.log(p[known] / (2.0 * np.pi)) - p[known] * gap[known]).sum())
        label = web.label if web.maps > 1 else np.zeros(web.m, dtype=np.intp)
        C = sp.coo_array(W)
        params = Patches(
            web.points, rows, Z, label, web.k, C.row.astype(np.intp), C.col.astype(np.intp), C.data, precision
        )
        made = {} if self._of_pairs() else {"log_pseudolikelihood_": fit}
        if web.k > d and not self._of_pairs():
            notes += (f"ridge of {self.reg:g} times the spread of the neighbours",)
        floor = int((missed[known] < gap[known]).sum()) if self.variant != "standard" else 0
        if floor:
            notes += (f"{floor} rows are met almost exactly: their precision is held at its limit",)
        name = "log likelihood given the first row" if self.variant == "acyclic" else "log pseudolikelihood"
        return Embedded(params, Z, values, solver, off, made, notes, made.get("log_pseudolikelihood_"), name)

    def _chosen(self, web: Web) -> tuple[Rows, Any]:
        """The rows each row is regressed on, m x k, and which of the entries count."""
        if self.variant == "acyclic":
            return self._before(web)
        found = nearest_known(_apart(web.points), web.k) if self._of_pairs() else nearest(web.points, web.k)
        index, used = found.row, np.isfinite(found.distance)
        ends = np.concatenate([web.bridges.i, web.bridges.j]), np.concatenate([web.bridges.j, web.bridges.i])
        for i, j in zip(*ends, strict=True):  # a bridge is one more neighbour
            free = np.flatnonzero(~used[i])
            if not len(free):
                index, used = np.pad(index, ((0, 0), (0, 1))), np.pad(used, ((0, 0), (0, 1)))
                free = np.array([used.shape[1] - 1])
            index[i, free[0]], used[i, free[0]] = j, True
        return index, used & (web.label[index] == web.label[:, None]) if web.maps > 1 else used

    def _before(self, web: Web) -> tuple[Rows, Any]:
        """The k nearest of the rows before each, by path length from the row farthest from the middle one."""
        index, used = np.zeros((web.m, web.k), dtype=np.intp), np.zeros((web.m, web.k), dtype=bool)
        G = both_ways(together(web.pairs, web.bridges), web.m)
        for c in range(web.maps):
            part = np.flatnonzero(web.label == c) if web.maps > 1 else np.arange(web.m)
            P = web.points[np.ix_(part, part)] if self._of_pairs() else web.points[part]
            square = (P**2).sum(axis=1) if self._of_pairs() else ((P - P.mean(axis=0)) ** 2).sum(axis=1)
            far = np.argmax(path_lengths(G, part[[int(np.argmin(square))]])[0, part])
            order = np.argsort(path_lengths(G, part[[int(far)]])[0, part], kind="stable")
            D = P[np.ix_(order, order)] if self._of_pairs() else exact_distances(P[order])
            found = nearest_known(np.where(np.tri(len(part), k=-1, dtype=bool), D, np.inf), min(web.k, len(part)))
            wide = found.row.shape[1]
            index[part[order], :wide] = part[order][found.row]
            used[part[order], :wide] = np.isfinite(found.distance)
        return index, used

    def _weights(self, web: Web, index: Rows, used: Any) -> tuple[Array, Array, Array]:
        """Weights of the regressions, what they miss each row by, squared, and the mean square of its neighbours."""
        m, k = index.shape
        w, missed, size = np.zeros((m, k)), np.zeros(m), np.zeros(m)
        step = max(1, BLOCK // max(k * max(k, web.points.shape[1] * (not self._of_pairs())), 1))
        for start in range(0, m, step):
            rows = np.arange(start, min(start + step, m))
            C = self._gram(web.points, web.points[rows], index[rows]) * (used[rows, :, None] & used[rows, None, :])
            trace = np.trace(C, axis1=1, axis2=2)
            try:
                w[rows] = _solved(C, used[rows], self.reg * trace)
            except np.linalg.LinAlgError:
                raise error("LD437", k=web.k, d=web.points.shape[1]) from None
            missed[rows] = np.maximum(np.einsum("ij,ijk,ik->i", w[rows], C, w[rows]), 0.0)
            size[rows] = trace / np.maximum(used[rows].sum(axis=1), 1)
        return w, missed, size

    def _gram(self, points: Array, X: Array, index: Rows) -> Array:
        """(x_j - x)'(x_l - x) of the neighbours j, l of each row, from cells or from distances."""
        if not self._of_pairs():
            Y = points[index] - X[:, None, :]
            return np.asarray(Y @ Y.transpose(0, 2, 1))
        square = np.take_along_axis(X, index, 1) ** 2
        between = points[index[:, :, None], index[:, None, :]] ** 2
        return np.asarray(0.5 * (square[:, :, None] + square[:, None, :] - between))

    def _vectors(self, web: Web, W: sp.csr_array, precision: Array) -> tuple[Array, Array, str, float, tuple[str, ...]]:
        """The slowest vectors of each map, eigenvalues of the first."""
        groups = 0 if self.variant == "acyclic" else closed_groups(W) - web.maps
        if groups > 0:
            warn("LD439", count=groups + web.maps)
        R = sp.csr_array(sp.diags_array(np.sqrt(precision)) @ (sp.eye_array(web.m) - W))
        Z, solver, off, values = np.zeros((web.m, self.n_components)), "", 0.0, np.zeros(self.n_components)
        notes: tuple[str, ...] = ()
        for c in range(web.maps):
            part = np.flatnonzero(web.label == c) if web.maps > 1 else np.arange(web.m)
            q = min(self.n_components, len(part) - 1)
            if q == 0:
                continue
            root = R if web.maps == 1 else sp.csr_array(R[part][:, part])
            found = smallest(sp.csr_array(root.T @ root), np.ones(len(part)), asked(q, len(part)), root)
            Z[part, :q] = found.vectors[:, :q]
            if c == 0:
                values[:q], solver, notes = found.values[:q], found.solver, equal_values(found.values, q)
            off = max(off, found.residual)
        return Z, values, solver, off, notes

    def _keep(self, found: Embedded, frame: Any, source: Any) -> Any:
        """Densities and precisions are stated in the table's own units."""
        unit = float(frame.scale[0])
        if unit != 1.0 and self.variant != "standard":
            found = found._replace(values=squared(found.values, unit))
        if unit != 1.0 and found.objective is not None:
            count = len(found.params.rows) - (found.params.label.max() + 1 if self.variant == "acyclic" else 0)
            stated = found.objective + source.d * float(count) * float(np.log(unit))
            found = found._replace(objective=stated, made={**found.made, "log_pseudolikelihood_": stated})
        return super()._keep(found, frame, source)

    # new rows --------------------------------------------------------------------------------------
    def _extend(self, params: Patches, X: Array) -> Array:
        near = self._near(params.points, params.rows, X, params.k)
        same = params.label[near.row] == params.label[near.row[:, :1]]
        D = X[:, params.rows] if self._of_pairs() else X
        Z = np.empty((len(X), params.Z.shape[1]))
        k = near.row.shape[1]
        step = max(1, BLOCK // max(k * max(k, D.shape[1] * (not self._of_pairs())), 1))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            C = self._gram(params.points, D[part], near.row[part])
            w = _near_weights(C, Neighbours(near.distance[part], near.row[part]), same[part])
            Z[part] = (w[:, None, :] @ params.Z[near.row[part]])[:, 0]
        return Z

    # the random field --------------------------------------------------------------------------------
    def _precision(self) -> sp.csr_array:
        """L = (I-W)' P (I-W) over the rows mapped."""
        p = self.params_
        m = len(p.rows)
        R = sp.diags_array(np.sqrt(p.precision)) @ (sp.eye_array(m) - sp.csr_array((p.w, (p.i, p.j)), shape=(m, m)))
        return sp.csr_array(R.T @ R)


def _solved(C: Array, used: Any, ridge: Array) -> Array:
    """Weights that sum to one and minimise w'(C + ridge I)w, over the entries in use."""
    k = C.shape[1]
    C = C.copy()
    at = np.arange(k)
    C[:, at, at] += np.where(used, ridge[:, None], 1.0)
    w = np.linalg.solve(C, used.astype(float)[:, :, None])[:, :, 0]
    total = w.sum(axis=1)
    return np.asarray(w / np.where(total != 0.0, total, 1.0)[:, None])


def _near_weights(C: Array, near: Neighbours, used: Any) -> Array:
    """Weights of new rows: in units of each distance, so that they tend to the row itself as it is approached."""
    d = near.distance
    nearest_one = d[:, :1]
    t = np.where(used, np.divide(nearest_one, d, out=np.ones_like(d), where=d > 0.0), 0.0)
    unit = np.where(d > 0.0, d, 1.0)
    cosine = C / (unit[:, :, None] * unit[:, None, :]) * (used[:, :, None] & used[:, None, :])
    at = np.arange(d.shape[1])
    cosine[:, at, at] = 1.0 + NEW
    w = t * np.linalg.solve(cosine, t[:, :, None])[:, :, 0]
    return np.asarray(w / w.sum(axis=1)[:, None])


def _apart(D: Array) -> Array:
    """Distances with no row its own neighbour."""
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    return D
