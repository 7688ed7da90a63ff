"""Maximum entropy unfolding: the Gaussian random field that expects the distances of neighbours as they are."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.plan import Cost
from lowdim.math.eigen import Problem, solve
from lowdim.math.graph import springs
from lowdim.math.linalg import Array, centred
from lowdim.math.neighbors import apart, together
from lowdim.models.base.estimator import COUNT, Rule
from lowdim.models.base.spectral import Embedded
from lowdim.models.spectral.graph_model import NeighbourhoodModel, Web
from lowdim.models.spectral.landmarks import carried, unordered
from lowdim.models.spectral.mvu import WHOLE, few_threads
from lowdim.text.messages import warn

STEPS = 200  # Newton steps; 9 to 15 are usual
DONE = 1e-12  # optimality conditions below this are rounding
SPAN = 1e-10  # of the mean variance: springs for shorter squared distances would leave the others no digits
SURE = 1e-6  # a whole step of so small a promise is safe (the objective is self-concordant), and lost in its rounding
ASKED = 1e-8  # above this the fit says that it has not converged
Rows = NDArray[np.intp]
SMALL = Rule(
    lambda v: isinstance(v, int | float) and not isinstance(v, bool) and 1e-12 <= v <= 1.0, "a number from 1e-12 to 1"
)  # more is stiffer than the table, less is rounding beside it


class Springs(NamedTuple):
    """Rows that differ, their places, and the field: edges with their multipliers, and the base precision gamma."""

    points: Array  # m x d
    places: Array  # m x q
    edges: NDArray[np.int64]  # of the rows that differ, 2 columns
    multipliers: Array
    gamma: float
    k: int


class Distances(NamedTuple):
    """Edges i < j and the squared distance a column is to have there, on average; gamma and c on the diagonal."""

    i: Rows
    j: Rows
    delta: Array
    n: int
    gamma: float


class Held(NamedTuple):
    """Multipliers, R with R'R = K but for the constant direction, and how far the optimum is."""

    multipliers: Array
    R: Array
    kkt: float
    steps: int


class MaximumEntropyUnfolding(NeighbourhoodModel):
    """Maximum likelihood of a Gaussian random field whose springs join neighbours; the map is that of its covariance.

        log p(Y) = p/2 log|L + gamma I| - 1/2 tr((L + gamma I) YY') - np/2 log 2 pi,   L = sum l_ij (e_i-e_j)(e_i-e_j)'

    At the optimum the field expects p (k_ii + k_jj - 2 k_ij) = |y_i - y_j|^2 for neighbours, K = (L + gamma I)^-1; with
    `multipliers="positive"`, at most that, and about half the springs are slack. With n_neighbors = n - 1 and free ones
    it is PCA / sqrt p. `gamma` counts in units of 1 / the mean variance of a column. Free multipliers of fewer than
    n - 1 columns (and rows that almost coincide) need 2 p `eps` (in the mean variance) more on every squared distance,
    which is taken off the map again.

    Reference: seed 002 (Lawrence), section 5.3; Lawrence (2012), JMLR 13, 1609-1638.

    >>> t = np.linspace(0, 4, 40)
    >>> model = MaximumEntropyUnfolding(1).fit(np.column_stack([np.cos(t), np.sin(t)]))
    >>> bool(np.abs(np.corrcoef(model.embedding_[:, 0], t)[0, 1]) > 0.95), model.kkt_ < 1e-8
    (True, True)
    """

    metric = "euclidean"
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "n_neighbors": COUNT,
        "pieces": WHOLE,
        "multipliers": Rule(lambda v: v in ("positive", "free"), "'positive' or 'free'"),
        "gamma": SMALL,
        "eps": SMALL,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 7,
        multipliers: str = "positive",
        gamma: float = 1e-4,
        eps: float = 1e-6,
        pieces: str = "bridge",
    ) -> None:
        self.n_components, self.n_neighbors, self.multipliers = n_components, n_neighbors, multipliers
        self.gamma, self.eps, self.pieces = gamma, eps, pieces

    def _cost(self, n: int, d: int) -> Cost:
        edges = min(n * (n - 1) // 2, n * self.n_neighbors)
        closed = self.multipliers == "free" and self.n_neighbors >= n - 1
        peak = 8 * (2 * n * d + 8 * n**2 + (0 if closed else 3 * edges**2))
        return Cost(1, 8 * n * d, peak, "fewer n_neighbors, MaximumVarianceUnfolding (landmarks) or LaplacianEigenmaps")

    def _map(self, web: Web, rows: Rows) -> Embedded:
        n, p = web.points.shape
        Y = web.points - web.points.mean(axis=0)
        mean = float((Y**2).sum()) / (n * p)
        pairs = together(web.pairs, web.bridges) if len(web.bridges.i) else web.pairs
        i, j = unordered(sp.csr_array((np.ones(len(pairs.i)), (pairs.i, pairs.j)), shape=(n, n)))
        free = self.multipliers == "free"
        square = apart(Y, Y, i, j) ** 2 / p
        uneven = not free and float(square.min()) < SPAN * mean
        if uneven:
            warn("LD458", times=f"{mean / max(float(square.min()), 1e-300):.0e}", eps=self.eps)
        eps = self.eps * mean if uneven or (free and p < n - 1) else 0.0
        want = Distances(i, j, square + 2.0 * eps, n, self.gamma / mean)
        whole = free and len(i) == n * (n - 1) // 2
        with few_threads(len(i)):
            held = _closed(want, Y, eps) if whole else free_springs(want) if free else positive_springs(want)
        if held.kkt > ASKED:
            warn("LD454", kkt=held.kkt, steps=held.steps)
        return self._embedded(web, rows, want, held, Y, eps)

    def _embedded(self, web: Web, rows: Rows, want: Distances, held: Held, Y: Array, eps: float) -> Embedded:
        found = solve(Problem(centred(held.R.T @ held.R)), self.n_components)
        values = np.maximum(found.values - eps, 0.0)
        Z = found.vectors * np.sqrt(values)
        edges = np.column_stack([want.i, want.j]).astype(np.int64)
        k = min(max(self.n_neighbors, 2 * self.n_components + 2), web.m)
        params = Springs(web.points, Z, edges, held.multipliers, want.gamma, k)
        value = log_likelihood(want, held.multipliers, Y.shape[1], float((Y**2).sum()), eps)
        made = {
            "multipliers_": held.multipliers,
            "edges_": rows[edges],
            "kkt_": held.kkt,
            "gamma_": want.gamma,
            "eps_": eps,
            "objective_": value,
        }
        notes: tuple[str, ...] = (
            f"optimality conditions hold to {held.kkt:.1e}",
            f"{int((held.multipliers != 0).sum())} of {len(edges)} springs are in use",
        )
        notes += (f"2 p {eps:.3g} was added to squared distances",) * (eps > 0.0)
        how = f"projected Newton, {held.steps} steps" if held.steps else "closed form (all pairs joined)"
        return Embedded(params, Z, values, how, max(found.residual, held.kkt), made, notes, value, "log-likelihood")

    def _extend(self, params: Springs, X: Array) -> Array:
        return carried(X, params.points, params.places, params.k)

    def _precision(self) -> Any:
        p = self.params_
        return springs(p.edges[:, 0], p.edges[:, 1], p.multipliers, len(p.points)) + p.gamma * np.eye(len(p.points))

    @property
    def covariance_(self) -> Array:
        """K = (L + gamma I)^-1, its constant direction, of variance 1 / gamma, included."""
        check_is_fitted(self)
        n = len(self.params_.points)
        return super().covariance_ + 1.0 / (self.params_.gamma * n)


def log_likelihood(want: Distances, multipliers: Array, p: int, total: float, eps: float = 0.0) -> float:
    """p/2 log|L + gamma I| - 1/2 tr((L + gamma I) YY') - np/2 log 2 pi; `total` = tr(YY'), delta padded by 2 eps."""
    P, c = _stiffness(want, multipliers)
    logdet = 2.0 * float(np.log(np.diagonal(np.linalg.cholesky(P))).sum())
    logdet += np.log(want.gamma) - np.log(want.gamma + c)  # the constant direction, put back
    energy = p * float(multipliers @ (want.delta - 2.0 * eps)) + want.gamma * total  # of the table, not padded
    return 0.5 * (p * logdet - energy - want.n * p * float(np.log(2.0 * np.pi)))


def slope(want: Distances, R: Array) -> Array:
    """-2/p of the gradient of log p: each edge's wanted squared distance less that expected, k_ii + k_jj - 2 k_ij.

    From K = R'R it is |r_i - r_j|^2, which keeps the digits of short edges beside long ones.
    """
    return np.asarray(want.delta - ((R[:, want.i] - R[:, want.j]) ** 2).sum(axis=0))


def positive_springs(want: Distances) -> Held:
    """Maximise over multipliers >= 0 by projected Newton (Bertsekas 1982)."""
    w = (want.n - 1) / (len(want.i) * want.delta)
    value, R = _value(want, w)
    best = Held(w, R, np.inf, 0)
    for number in range(1, STEPS + 1):
        g = slope(want, R)
        kkt = float(np.abs(np.minimum(w * want.delta, g / want.delta)).max())
        best = Held(w, R, kkt, number - 1) if kkt < best.kkt else best
        if kkt <= DONE or (best.kkt <= ASKED and number - 1 - best.steps > 3):
            break
        fixed = (w * want.delta <= min(1e-6, kkt)) & (g > 0.0)
        step = np.where(fixed, -w, 0.0)
        step[~fixed] = _newton(want, R, g, ~fixed)
        found = _searched(want, w, step, g, value)
        if found is None:
            break
        w, value, R = found
    return best


def free_springs(want: Distances) -> Held:
    """Maximise over all multipliers with L + gamma I > 0 by damped Newton."""
    start = positive_springs(want)
    w = np.maximum(start.multipliers, 0.0)
    R = _value(want, w)[1]
    best = Held(w, R, np.inf, start.steps)
    every = np.ones(len(w), dtype=bool)
    for number in range(start.steps, start.steps + STEPS):
        g = slope(want, R)
        kkt = float(np.abs(g / want.delta).max())
        best = Held(w, R, kkt, number) if kkt < best.kkt else best
        if kkt <= DONE or (best.kkt <= ASKED and number - best.steps > 3):
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


def _closed(want: Distances, Y: Array, eps: float) -> Held:
    """All pairs joined, multipliers free: HKH = HYY'H / p + eps H, and the multipliers are the cells of its inverse."""
    n, p = Y.shape
    S = centred(Y @ Y.T / p) + eps * (np.eye(n) - 1.0 / n)
    level = float(np.trace(S)) / n
    R = sl.cholesky(S + level / n, check_finite=False)
    P = sl.cho_solve((R, False), np.eye(n)) - 1.0 / (level * n)  # the constant direction is taken out again
    L = P - want.gamma * (np.eye(n) - 1.0 / n)
    return Held(-L[want.i, want.j], R, float(np.abs(slope(want, R) / want.delta).max()), 0)


def _stiffness(want: Distances, w: Array) -> tuple[Array, float]:
    """L + gamma I + c 11'/n: with c the constant direction, of which no distance depends, costs no digits."""
    L = springs(want.i, want.j, w, want.n)
    c = 1.0 / float(want.delta.max())
    return L + want.gamma * np.eye(want.n) + c / want.n, c


def _value(want: Distances, w: Array) -> tuple[float, Array]:
    """-2/p log p up to a constant, w'delta - log|L + gamma I|, and R with R'R = K."""
    P, c = _stiffness(want, w)
    root = np.linalg.cholesky(P)
    logdet = 2.0 * float(np.log(np.diagonal(root)).sum()) - float(np.log(want.gamma + c))
    low = sl.solve_triangular(root, np.eye(want.n), lower=True, check_finite=False)
    return float(w @ want.delta) - logdet, np.asarray(low)


def _newton(want: Distances, R: Array, g: Array, which: NDArray[np.bool_]) -> Array:
    """-(Hessian of some edges)^-1 gradient; the Hessian is (B'KB) squared cell by cell."""
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


def _searched(want: Distances, w: Array, step: Array, g: Array, value: float) -> tuple[Array, float, Array] | None:
    """Armijo's rule along the projected path."""
    way = 1.0
    while way > 1e-10:
        new = np.maximum(w + way * step, 0.0)
        try:
            found, R = _value(want, new)
            gain = float(g @ (new - w))
            if found <= value + 1e-4 * gain or abs(gain) < SURE:
                return new, found, R
        except np.linalg.LinAlgError:
            pass
        way /= 2.0
    return None
