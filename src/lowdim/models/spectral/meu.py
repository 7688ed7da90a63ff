"""Maximum entropy unfolding, by maximum likelihood of springs between neighbours."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from lowdim.engine.fit import Cost
from lowdim.engine.fold import Run
from lowdim.maths.eigen import Problem, solve
from lowdim.maths.gaps import given_seen, pattern_groups
from lowdim.maths.linalg import Array, Index, Mask, distinct
from lowdim.maths.pairs import centred, exact_distances, joined_known, pair_distances
from lowdim.models.base.options import Rule, one_of, option
from lowdim.models.spectral.completion import TableRows
from lowdim.models.spectral.graph_model import ONE_MAP, GraphModel, NeighbourGraph, distinct_rows, graph_of
from lowdim.models.spectral.landmarks import interpolate_places, unordered
from lowdim.models.spectral.mvu import few_threads
from lowdim.models.spectral.mvu_solver import springs
from lowdim.models.spectral.random_field import FieldMatrix
from lowdim.models.spectral.spectral_model import SpectralFit
from lowdim.sources.views import Frame
from lowdim.text.messages import error, no_warnings, warn

MOST_NEWTON_STEPS = 200  # Newton steps; 9 to 15 are usual
KKT_ROUNDING = 1e-12  # optimality conditions below this are rounding
KKT_CONVERGED = 1e-8  # above this the fit warns that it has not converged
SHORTEST_SQUARE = 1e-10  # of the mean variance: springs for shorter squared distances would leave the others no digits
MOST_FIELD_STEPS = 30  # rounds of EM on the field, at most
FIELD_TOL = 1e-3  # of the largest cell: cells that move less have settled
SAFE_GAIN = 1e-6  # a whole step that promises less is safe (the objective is self-concordant), and lost in rounding
SMALL_SHARE = Rule(
    lambda v: isinstance(v, int | float) and not isinstance(v, bool) and 1e-12 <= v <= 1.0, "a number from 1e-12 to 1"
)  # more is stiffer than the table, less is rounding beside it


class MEUParams(NamedTuple):
    """Rows that differ, their places, and the field: edges with their multipliers, and the base precision gamma."""

    points: Array  # m x d
    places: Array  # m x q
    edges: Any  # int64, of the rows that differ, 2 columns
    multipliers: Array
    gamma: float
    k: int


class WantedDistances(NamedTuple):
    """Edges i < j and the squared distance a column is to have there, on average; gamma and c on the diagonal."""

    i: Index
    j: Index
    delta: Array
    n: int
    gamma: float


class SpringFit(NamedTuple):
    """Multipliers, R with R'R = K but for the constant direction, and how far the optimum is."""

    multipliers: Array
    R: Array
    kkt: float
    steps: int


class MaximumEntropyUnfolding(GraphModel):
    """Maximum entropy unfolding: the Gaussian random field that expects the distances of neighbours as they are.

        log p(Y) = p/2 log|L + gamma I| - 1/2 tr((L + gamma I) YY') - np/2 log 2 pi,   L = sum l_ij (e_i-e_j)(e_i-e_j)'

    is maximised over the springs l_ij that join neighbours; the map is that of the covariance K = (L + gamma I)^-1. At
    the optimum p (k_ii + k_jj - 2 k_ij) = |y_i - y_j|^2 for neighbours. With n_neighbors = n - 1 and free springs it is
    PCA / sqrt p. New rows are placed by weights on their neighbours. Gaps by EM: the field is independent over
    columns, so the unseen cells of one are a solve with the springs; then the springs of the expected distances.
    `field()` has the precision L + gamma I.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The largest of K, falling.
    objective_, kkt_ : float
        The log-likelihood, and how far the optimality conditions are from holding.
    edges_, multipliers_ : ndarrays of shape (edges, 2), (edges,)
        The pairs of rows that are joined, and the springs l_ij.
    gamma_, eps_ : float
        In use, in the table's units.

    References
    ----------
    N. D. Lawrence (2012), "A unifying probabilistic perspective for spectral dimensionality reduction: insights and
    new models", Journal of Machine Learning Research 13, 1609-1638.
    D. P. Bertsekas (1982), "Projected Newton methods for optimization problems with simple constraints", SIAM Journal
    on Control and Optimization 20, 221-246.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 4, 40)
    >>> model = MaximumEntropyUnfolding(1).fit(np.column_stack([np.cos(t), np.sin(t)]))
    >>> bool(np.abs(np.corrcoef(model.embedding_[:, 0], t)[0, 1]) > 0.95), model.kkt_ < 1e-8
    (True, True)
    """

    metric: ClassVar[str] = "euclidean"
    pieces: str = option(default="bridge", rule=one_of("bridge", "largest"), words=ONE_MAP)
    multipliers: str = option(
        default="positive",
        rule=one_of("positive", "free"),
        words="Springs l_ij >= 0 (then distances are at most the table's, and about half the springs are slack), or "
        "any.",
    )
    gamma: float = option(
        default=1e-4, rule=SMALL_SHARE, words="Base precision, in units of 1 / the mean variance of a column."
    )
    eps: float = option(
        default=1e-6,
        rule=SMALL_SHARE,
        words="Free multipliers of fewer than n - 1 columns (and rows that almost coincide) need 2 p eps, in units of "
        "the mean variance, more on every squared distance; it is taken off the map again.",
    )

    def _cost_of_map(self, n: int, d: int) -> Cost:
        edges = min(n * (n - 1) // 2, n * self.n_neighbors)
        closed = self.multipliers == "free" and self.n_neighbors >= n - 1
        peak = 8 * (2 * n * d + 8 * n**2 + (0 if closed else 3 * edges**2))
        return Cost(1, 8 * n * d, peak, "fewer n_neighbors, MaximumVarianceUnfolding (landmarks) or LaplacianEigenmaps")

    def _map_graph(self, graph: NeighbourGraph, rows: Index, expected: ExpectedTable | None = None) -> SpectralFit:
        """The map of the springs between neighbours; with gaps of `expected` squared distances."""
        n, p = graph.points.shape
        Y = graph.points - graph.points.mean(axis=0)
        total = float((Y**2).sum()) + (0.0 if expected is None else expected.open)
        mean = total / (n * p)
        pairs = graph.edges()
        i, j = unordered(sp.csr_array((np.ones(len(pairs.i)), (pairs.i, pairs.j)), shape=(n, n)))
        free = self.multipliers == "free"
        square = (pair_distances(Y, Y, i, j) ** 2 if expected is None else expected.square[i, j]) / p
        uneven = not free and float(square.min()) < SHORTEST_SQUARE * mean
        if uneven:
            warn("LD458", times=f"{mean / max(float(square.min()), 1e-300):.0e}", eps=self.eps)
        eps = self.eps * mean if uneven or (free and p < n - 1) else 0.0
        # Lawrence (2012): springs whose field expects the squared distances of neighbours as they are, a column.
        want = WantedDistances(i, j, square + 2.0 * eps, n, self.gamma / mean)
        with few_threads(len(i)):
            if free and len(i) == n * (n - 1) // 2 and expected is None:
                springs_fit = _closed_form(want, Y, eps)
            else:
                springs_fit = free_springs(want) if free else positive_springs(want)
        if springs_fit.kkt > KKT_CONVERGED:
            warn("LD454", kkt=springs_fit.kkt, steps=springs_fit.steps)
        # The map of K = (L + gamma I)^-1, what was added to distances taken off again.
        eigen = solve(Problem(centred(springs_fit.R.T @ springs_fit.R)), self.n_components)
        values = np.maximum(eigen.values - eps, 0.0)
        Z = eigen.vectors * np.sqrt(values)
        edges = np.column_stack([want.i, want.j]).astype(np.int64)
        k = min(max(graph.asked, 2 * self.n_components + 2), graph.m)
        params = MEUParams(graph.points, Z, edges, springs_fit.multipliers, want.gamma, k)
        value = log_likelihood(want, springs_fit.multipliers, p, total, eps)
        attributes = {
            "multipliers_": springs_fit.multipliers,
            "edges_": rows[edges],
            "kkt_": springs_fit.kkt,
            "gamma_": want.gamma,
            "eps_": eps,
            "objective_": value,
        }
        notes: tuple[str, ...] = (
            f"optimality conditions hold to {springs_fit.kkt:.1e}",
            f"{int((springs_fit.multipliers != 0).sum())} of {len(edges)} springs are in use",
        )
        notes += (f"2 p {eps:.3g} was added to squared distances",) * (eps > 0.0)
        steps = springs_fit.steps
        solver = f"projected Newton, {steps} steps" if steps else "closed form (all pairs joined)"
        return SpectralFit(
            params, Z, values, solver, max(eigen.residual, springs_fit.kkt), attributes, notes, value, "log-likelihood"
        )

    # gaps: EM on the field ---------------------------------------------------------------------------
    def _embed(self, rows: TableRows, frame: Frame, run: Run) -> SpectralFit:
        """With gaps by EM: unseen cells given the field, a solve a column; then the springs of expected distances."""
        if rows.mask is None or self.pieces == "largest":
            return super()._embed(rows, frame, run)
        some, blank = np.flatnonzero(rows.mask.any(axis=1)), np.flatnonzero(~rows.mask.any(axis=1))
        first, copy_of = distinct_rows(rows.mean[some])
        if len(first) < 2:
            raise error("LD431", n=len(some))
        nodes, step, moved = some[first], 0, np.inf
        cells, seen = rows.mean[nodes], rows.mask[nodes]
        table = expected_table(cells, np.diag(rows.open[nodes]))
        while step < MOST_FIELD_STEPS and moved > FIELD_TOL:
            # M-step: neighbours by expected distances, and the springs between them.
            with no_warnings() if step else nullcontext():
                k = self._graph_neighbors(len(cells), self.n_neighbors)
                pairs, radius = joined_known(np.sqrt(table.square), k)
                graph = self._join_pieces(graph_of(cells, pairs, radius, k, self.n_neighbors))[0]
            fit = self._map_graph(graph, nodes, table)
            # E-step: unseen cells and expected distances under the field of these springs.
            before, (cells, table) = cells, expected_of_field(self._stiffness_of(fit.params), cells, seen)
            moved = float(np.abs(cells - before).max(initial=0.0) / max(np.abs(cells).max(initial=0.0), 1e-300))
            step += 1
        node = np.full(len(rows.mean), -1, dtype=np.intp)
        node[some] = copy_of
        sizes, copies = np.bincount(graph.label), len(some) - len(first)
        fit = self._of_table(fit, graph, node, nodes, sizes, copies, loose=np.zeros(0, dtype=np.intp))
        fit.Z[blank] = fit.Z[some].mean(axis=0)  # a row without cells lies in the middle
        settled = f"EM on the field: {step} rounds, the last moved cells by {moved:.1e} of the largest"
        return fit._replace(notes=(*fit.notes, settled))

    def _place_gaps(self, x: Array, mask: Mask) -> Array:
        """As complete rows are placed, by weights on neighbours, over the seen cells of each row."""
        p, Z = self.params_, np.empty((len(x), self.embedding_.shape[1]))
        pattern, of = distinct(mask)
        for number, row in enumerate(pattern):
            same, seen = np.flatnonzero(of == number), mask[row]
            if seen.any():
                Z[same] = interpolate_places(x[np.ix_(same, seen)], p.points[:, seen], p.places, p.k)
            else:
                Z[same] = self.embedding_[self.node_ >= 0].mean(axis=0)
        return Z

    def _stiffness_of(self, params: MEUParams) -> Array:
        n = len(params.points)
        return springs(params.edges[:, 0], params.edges[:, 1], params.multipliers, n) + params.gamma * np.eye(n)

    def _extend(self, params: MEUParams, X: Array) -> Array:
        return interpolate_places(X, params.points, params.places, params.k)

    def _field_matrix(self) -> FieldMatrix:
        """L + gamma I; in K the constant direction has the variance 1 / gamma."""
        p = self.params_
        return FieldMatrix(precision=self._stiffness_of(p), level=1.0 / (p.gamma * len(p.points)))


class ExpectedTable(NamedTuple):
    """What the seen cells say of a table: expected squared distances of its rows, and the variance left open."""

    square: Array  # n x n
    open: float


def expected_table(mean: Array, C: Array) -> ExpectedTable:
    """Of rows with these means and covariances C between rows, summed over columns.

    E |x_i - x_j|^2 = |m_i - m_j|^2 + c_ii + c_jj - 2 c_ij.
    """
    c = np.diag(C)
    D = np.maximum(exact_distances(mean) ** 2 + c[:, None] + c - 2.0 * C, 0.0)
    np.fill_diagonal(D, 0.0)
    return ExpectedTable(D, float(c.sum()))


def expected_of_field(P: Array, cells: Array, seen: Mask) -> tuple[Array, ExpectedTable]:
    """The E-step: each column is a draw of N(0, P^-1) over the rows, seen through its gaps; cells and distances."""
    centre = np.where(seen, cells, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    columns = np.where(seen, cells - centre, 0.0).T
    given = given_seen(columns, pattern_groups(np.ascontiguousarray(seen.T)), sl.cholesky(P, lower=True))
    Y = given.deviations.T
    return Y + centre, expected_table(Y, given.open_scatter(np.ones(len(columns))))


def log_likelihood(want: WantedDistances, multipliers: Array, p: int, total: float, eps: float = 0.0) -> float:
    """p/2 log|L + gamma I| - 1/2 tr((L + gamma I) YY') - np/2 log 2 pi; `total` = tr(YY'), delta padded by 2 eps."""
    P, c = _stiffness(want, multipliers)
    logdet = 2.0 * float(np.log(np.diagonal(np.linalg.cholesky(P))).sum())
    logdet += float(np.log(want.gamma) - np.log(want.gamma + c))  # the constant direction, put back
    energy = p * float(multipliers @ (want.delta - 2.0 * eps)) + want.gamma * total  # of the table, not padded
    return 0.5 * (p * logdet - energy - want.n * p * float(np.log(2.0 * np.pi)))


def slope(want: WantedDistances, R: Array) -> Array:
    """-2/p of the gradient of log p: each edge's wanted squared distance less that expected, k_ii + k_jj - 2 k_ij.

    From K = R'R it is |r_i - r_j|^2, which keeps the digits of short edges beside long ones.
    """
    return np.asarray(want.delta - ((R[:, want.i] - R[:, want.j]) ** 2).sum(axis=0))


def positive_springs(want: WantedDistances) -> SpringFit:
    """Maximise over multipliers >= 0 by projected Newton [Bertsekas 1982]."""
    w = (want.n - 1) / (len(want.i) * want.delta)
    value, R = _value(want, w)
    best = SpringFit(w, R, np.inf, 0)
    for number in range(1, MOST_NEWTON_STEPS + 1):
        g = slope(want, R)
        kkt = float(np.abs(np.minimum(w * want.delta, g / want.delta)).max())
        best = SpringFit(w, R, kkt, number - 1) if kkt < best.kkt else best
        if kkt <= KKT_ROUNDING or (best.kkt <= KKT_CONVERGED and number - 1 - best.steps > 3):
            break
        fixed = (w * want.delta <= min(1e-6, kkt)) & (g > 0.0)
        step = np.where(fixed, -w, 0.0)
        step[~fixed] = _newton(want, R, g, ~fixed)
        accepted = _line_search(want, w, step, g, value)
        if accepted is None:
            break
        w, value, R = accepted
    return best


def free_springs(want: WantedDistances) -> SpringFit:
    """Maximise over all multipliers with L + gamma I > 0 by damped Newton."""
    start = positive_springs(want)
    w = np.maximum(start.multipliers, 0.0)
    R = _value(want, w)[1]
    best = SpringFit(w, R, np.inf, start.steps)
    every = np.ones(len(w), dtype=bool)
    for number in range(start.steps, start.steps + MOST_NEWTON_STEPS):
        g = slope(want, R)
        kkt = float(np.abs(g / want.delta).max())
        best = SpringFit(w, R, kkt, number) if kkt < best.kkt else best
        if kkt <= KKT_ROUNDING or (best.kkt <= KKT_CONVERGED and number - best.steps > 3):
            break
        step = _newton(want, R, g, every)
        decrement = max(-float(g @ step), 0.0) ** 0.5
        way = 1.0 if decrement < 0.25 else 1.0 / (1.0 + decrement)  # inside the cone: the objective is self-concordant
        try:
            w = w + way * step
            R = _value(want, w)[1]
        except np.linalg.LinAlgError:
            break
    return best


def _closed_form(want: WantedDistances, Y: Array, eps: float) -> SpringFit:
    """All pairs joined, multipliers free: HKH = HYY'H / p + eps H, and the multipliers are the cells of its inverse."""
    n, p = Y.shape
    S = centred(Y @ Y.T / p) + eps * (np.eye(n) - 1.0 / n)
    level = float(np.trace(S)) / n
    R = sl.cholesky(S + level / n, check_finite=False)
    P = sl.cho_solve((R, False), np.eye(n)) - 1.0 / (level * n)  # the constant direction is taken out again
    L = P - want.gamma * (np.eye(n) - 1.0 / n)
    return SpringFit(-L[want.i, want.j], R, float(np.abs(slope(want, R) / want.delta).max()), 0)


def _stiffness(want: WantedDistances, w: Array) -> tuple[Array, float]:
    """L + gamma I + c 11'/n: with c the constant direction, of which no distance depends, costs no digits."""
    L = springs(want.i, want.j, w, want.n)
    c = 1.0 / float(want.delta.max())
    return L + want.gamma * np.eye(want.n) + c / want.n, c


def _value(want: WantedDistances, w: Array) -> tuple[float, Array]:
    """-2/p log p up to a constant, w'delta - log|L + gamma I|, and R with R'R = K."""
    P, c = _stiffness(want, w)
    root = np.linalg.cholesky(P)
    logdet = 2.0 * float(np.log(np.diagonal(root)).sum()) - float(np.log(want.gamma + c))
    low = sl.solve_triangular(root, np.eye(want.n), lower=True, check_finite=False)
    return float(w @ want.delta) - logdet, np.asarray(low)


def _newton(want: WantedDistances, R: Array, g: Array, which: Mask) -> Array:
    """-(Hessian of the chosen edges)^-1 gradient; the Hessian is (B'KB) squared cell by cell."""
    off = R[:, want.i[which]] - R[:, want.j[which]]
    scale = (off**2).sum(axis=0)  # the root of the Hessian's diagonal
    off /= np.sqrt(scale)
    H = off.T @ off
    H *= H
    for ridge in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        try:
            factor = sl.cho_factor(H + ridge * np.eye(len(H)) if ridge else H, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return np.asarray(-sl.cho_solve(factor, g[which] / scale, check_finite=False) / scale)
    return np.asarray(-g[which] / scale**2)


def _line_search(
    want: WantedDistances, w: Array, step: Array, g: Array, value: float
) -> tuple[Array, float, Array] | None:
    """Armijo's rule along the projected path."""
    way = 1.0
    while way > 1e-10:
        new = np.maximum(w + way * step, 0.0)
        try:
            new_value, R = _value(want, new)
            gain = float(g @ (new - w))
            if new_value <= value + 1e-4 * gain or abs(gain) < SAFE_GAIN:
                return new, new_value, R
        except np.linalg.LinAlgError:
            pass
        way /= 2.0
    return None
