"""Maximum variance unfolding as a semidefinite program, solved by a primal-dual interior point in edge space.

    maximise tr(HKH)  over K >= 0 (psd)  where  k_ii + k_jj - 2 k_ij <= d_e  for every edge e = (i, j)
    minimise l'd      over l >= 0        where  S = L(l) - H >= 0 (psd) on differences

H = I - 11'/n centres. The paper holds lengths exactly and centres K by a constraint. Here an edge may also be shorter:
at the optimum it is as long as it may be wherever its multiplier l is positive; and tr(HKH) needs no centre.
One node is anchored at the origin, so K and S are (n-1) x (n-1) and definite inside. The Newton system (HKM direction)
has one unknown an edge: M = (B'KB) o (B'S^-1 B) + diag(t / l), B the incidence matrix, t the slack.

References: K. Q. Weinberger and L. K. Saul (2006), "Unsupervised learning of image manifolds by semidefinite
programming", International Journal of Computer Vision 70, 77-90. C. Helmberg, F. Rendl, R. J. Vanderbei and
H. Wolkowicz (1996), "An interior-point method for semidefinite programming", SIAM Journal on Optimization 6, 342-361.
S. Mehrotra (1992), "On the implementation of a primal-dual interior point method", SIAM Journal on Optimization 2,
575-601.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as sl

from lowdim.maths.linalg import Array, Index
from lowdim.maths.pairs import centred

MOST_STEPS = 60  # 17 to 30 are usual
GAP_REACHED = 5e-9  # certificate at which nothing is left to gain; rounding stops most problems near 1e-8
STALLED_STEPS = 2  # steps without a better certificate after which the best is taken


class Unfolded(NamedTuple):
    """The best feasible K (centred), its multipliers, how much larger tr K could be at most, and the steps taken."""

    K: Array  # n x n, centred
    multipliers: Array  # m, one an edge
    gap: float  # l'd / min(1, lambda_2(L(l))) / tr K - 1
    steps: int


class IterationPoint(NamedTuple):
    """Primal and dual matrices and slacks, or a direction in which they move."""

    K: Array  # (n-1) x (n-1)
    S: Array
    slack: Array  # m
    dual: Array  # m


def unfold(i: Index, j: Index, d: Array, n: int, goal: float = GAP_REACHED) -> Unfolded:
    """Maximise the variance with no edge (i, j) longer than its squared length d; the graph must be in one piece."""
    unit = float(np.mean(d))
    program = EdgeProgram(i, j, d / unit, n)
    point = program.start()
    best, since = program.certified(point, 0), 0
    for number in range(1, MOST_STEPS + 1):
        try:
            point = program.step(point)
        except np.linalg.LinAlgError:  # rounding has eaten the last pivots: the best seen is as good as it gets
            break
        if not all(np.isfinite(part).all() for part in point):
            break
        latest = program.certified(point, number)
        since = 0 if latest.gap < 0.9 * best.gap else since + 1
        best = latest if latest.gap < best.gap else best
        if best.gap <= goal or (since >= STALLED_STEPS and best.gap < 1e-4):
            break
    return best._replace(K=best.K * unit)


class EdgeProgram:
    """The edges of one problem, with everything that depends on them alone."""

    def __init__(self, i: Index, j: Index, d: Array, n: int) -> None:
        self.i, self.j, self.d, self.n = i, j, d, n
        self.C = np.eye(n - 1) - 1.0 / n  # H without the anchored node

    def start(self) -> IterationPoint:
        """Equal springs stiff enough for S > 0; K in proportion to S^-1, short enough for every edge."""
        ones = np.ones(len(self.d))
        soft = float(np.linalg.eigvalsh(self.laplacian(ones))[1])
        dual = ones * (2.0 / max(soft, 1e-12))
        S = self.laplacian(dual)[1:, 1:] - self.C
        inverse = sl.cho_solve(sl.cho_factor(S), np.eye(self.n - 1))
        K = inverse * (0.5 / float((self.lengths(inverse) / self.d).max()))
        return IterationPoint(K, S, self.d - self.lengths(K), dual)

    def laplacian(self, weight: Array) -> Array:
        """B diag(weight) B', n x n."""
        return springs(self.i, self.j, weight, self.n)

    def lengths(self, A: Array) -> Array:
        """diag(B'AB): squared lengths of the edges under an anchored matrix."""
        F = _padded(A)
        diagonal = np.diagonal(F)
        return diagonal[self.i] + diagonal[self.j] - 2.0 * F[self.i, self.j]

    def pairs(self, A: Array) -> Array:
        """B'AB, m x m."""
        F = _padded(A)
        half = F[self.i] - F[self.j]
        whole = half[:, self.i]
        whole -= half[:, self.j]
        return whole

    def step(self, at: IterationPoint) -> IterationPoint:
        """One predictor and corrector."""
        # S^-1, and the Newton matrix of the edges: M = (B'KB) o (B'S^-1 B) + diag(t / l), factorised once for both.
        low = sl.cholesky(at.S, lower=True, check_finite=False)
        root = sl.solve_triangular(low, np.eye(self.n - 1), lower=True)
        inverse = root.T @ root
        M = self.pairs(at.K)
        M *= self.pairs(inverse)
        M[np.diag_indices_from(M)] += at.slack / at.dual
        solver = sl.cho_factor(M, overwrite_a=True, check_finite=False)
        if not np.isfinite(solver[0]).all():
            raise np.linalg.LinAlgError("not finite")
        # The duality measure: what complementarity, K S = 0 and t l = 0, still lacks on average.
        mu = (float((at.K * at.S).sum()) + float(at.slack @ at.dual)) / (self.n - 1 + len(self.d))
        roots: tuple[Array, Array] = (sl.cholesky(at.K, lower=True, check_finite=False), low)
        aim = NewtonSystem(solver, inverse)
        # Predictor: straight for complementarity, and how far that way stays inside.
        first = self.direction(at, aim, 0.0, None)
        primal, dual = self.reach(at, first, roots)
        ahead = self.moved(at, first, min(primal, 1.0), min(dual, 1.0))
        remaining = float((ahead.K * ahead.S).sum()) + float(ahead.slack @ ahead.dual)
        # Mehrotra's centring: the less the predictor leaves, the closer to the boundary the corrector may aim.
        power = max(1.0, 3.0 * min(primal, dual) ** 2)  # a first step that is soon at the boundary asks for centring
        share = (remaining / (mu * (self.n - 1 + len(self.d)))) ** power
        # Corrector: towards that share of mu, with the predictor's second-order terms; it stops short of the boundary.
        second = self.direction(at, aim, min(max(share, 1e-10), 1.0) * mu, first)
        near = 0.9 + 0.09 * min(primal, dual, 1.0)
        return self.moved(at, second, *(min(1.0, near * way) for way in self.reach(at, second, roots)))

    def direction(
        self, at: IterationPoint, aim: NewtonSystem, mu: float, first: IterationPoint | None
    ) -> IterationPoint:
        """HKM direction towards K S = mu I, with Mehrotra's second-order terms of a first direction."""
        # K S = mu I and t l = mu to first order, B'KB + t = d: solved for the multipliers, from which S, K, t follow
        inverse = aim.inverse
        bend_K = 0.0 if first is None else _even(first.K @ (first.S @ inverse))
        bend = 0.0 if first is None else first.slack * first.dual / at.dual
        right = mu * (self.lengths(inverse) + 1.0 / at.dual) - self.d - bend
        if first is not None:
            right -= self.lengths(np.asarray(bend_K))
        dual = sl.cho_solve(aim.solver, right, check_finite=False)
        S = self.laplacian(dual)[1:, 1:]
        K = mu * inverse - at.K - _even(at.K @ (S @ inverse)) - bend_K
        slack = mu / at.dual - at.slack - at.slack / at.dual * dual - bend
        return IterationPoint(np.asarray(K), S, slack, dual)

    def reach(self, at: IterationPoint, way: IterationPoint, roots: tuple[Array, Array]) -> tuple[float, float]:
        """How far K and slack, and how far S and multipliers, may go along a direction."""
        primal = min(_until(roots[0], way.K), _ratio(at.slack, way.slack), 1e8)
        dual = min(_until(roots[1], way.S), _ratio(at.dual, way.dual), 1e8)
        return primal, dual

    def moved(self, at: IterationPoint, way: IterationPoint, primal: float, dual: float) -> IterationPoint:
        dual_next = at.dual + dual * way.dual
        return IterationPoint(at.K + primal * way.K, at.S + dual * way.S, at.slack + primal * way.slack, dual_next)

    def certified(self, at: IterationPoint, number: int) -> Unfolded:
        """K made exactly feasible by scaling, and what its variance could lack at most: the eigenvalue certificate."""
        F = _padded(at.K)
        over = max(1.0, float((self.lengths(at.K) / self.d).max()))
        K = centred(F) / over
        second = float(np.linalg.eigvalsh(self.laplacian(at.dual))[1])
        if second <= 0.0:
            return Unfolded(K, at.dual, float("inf"), number)
        return Unfolded(K, at.dual, float(at.dual @ self.d) / min(1.0, second) / float(np.trace(K)) - 1.0, number)


class NewtonSystem(NamedTuple):
    """The factorised Newton matrix, and S^-1."""

    solver: tuple[Array, bool]
    inverse: Array


def _padded(A: Array) -> Array:
    """An anchored matrix with the anchor's row and column of zeros."""
    return np.pad(A, ((1, 0), (1, 0)))


def _even(A: Array) -> Array:
    return np.asarray((A + A.T) / 2)


def _until(root: Array, way: Array) -> float:
    """The largest step that keeps root root' + step way positive definite."""
    half = sl.solve_triangular(root, way, lower=True, check_finite=False)
    inner = sl.solve_triangular(root, half.T, lower=True, check_finite=False)
    least = float(np.linalg.eigvalsh((inner + inner.T) / 2)[0])
    return np.inf if least >= 0.0 else -1.0 / least


def _ratio(x: Array, way: Array) -> float:
    down = way < 0.0
    return float((-x[down] / way[down]).min()) if down.any() else np.inf


def springs(i: Index, j: Index, multipliers: Array, n: int) -> Array:
    """The Laplacian of these springs, n x n."""
    L = np.zeros((n, n))
    L[i, j] = L[j, i] = -multipliers
    np.fill_diagonal(L, -L.sum(axis=1))
    return L
