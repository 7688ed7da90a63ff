"""Maximum-likelihood factor analysis of a correlation matrix, to the optimum and with its certificate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.special import chdtrc

from lowdim.maths.linalg import Array, sign_rule

_SMALLEST = 1e-10  # eigenvalues of R below this carry fewer than about four digits in double precision
_GRADIENT = 1e-8  # stop: the criterion is then within about the square of this of its minimum
_LONGEST = 2.0  # largest change of one log psi in a step: beyond it the quadratic model is fiction

_CURVED = 1e-6  # of the largest curvature: a negative one beyond it makes a saddle
_TIED = 1e-6  # of an eigenvalue, within which the next is its equal
_FALL = 1e-10  # of the criterion, by which a point must be lower to be better

_DIRECT = 6  # evaluations of a run that went straight to its minimum
_BUDGET = 500  # columns times further starts: poorer minima belong to small tables, and so does the time


class FactorFit(NamedTuple):
    """The maximum of the likelihood, and how well it was reached."""

    loadings: Array  # d x q, W' Psi^-1 W diagonal and decreasing
    uniquenesses: Array  # d
    criterion: float  # log|Sigma| + tr(R Sigma^-1) - log|R| - d
    gradient: float  # largest free component of the gradient in log psi
    evaluations: int
    converged: bool
    boundary: NDArray[np.bool_]  # d, the uniqueness sits on the lower bound
    ridge: float  # 0, or the most that was added to an eigenvalue of R


class GoodnessOfFit(NamedTuple):
    """Bartlett's test that q factors suffice."""

    statistic: float
    dof: int
    p_value: float


class _Point(NamedTuple):
    """Criterion and gradient at x = log psi, with the eigenpairs both come from (largest first)."""

    x: Array
    value: float
    gradient: Array
    theta: Array
    U: Array
    head: int  # eigenvalues the factors explain: among the first q, those above 1


def maximum_likelihood(
    R: ArrayLike, q: int, *, lower: float = 0.005, start: ArrayLike | None = None, max_iter: int = 200
) -> FactorFit:
    r"""Factor loadings and uniquenesses of greatest likelihood for a correlation matrix.

    Sigma = W W' + Psi with Psi diagonal, lower <= psi <= 1. With A = Psi^-1/2 R Psi^-1/2 = U Theta U'
    the best W for a given Psi is Psi^1/2 U_q (Theta_q - I)^1/2, which leaves
    F(psi) = sum_{m > q} (theta_m - log theta_m - 1), minimised over log psi by projected Newton steps.
    A singular or indefinite R has its eigenvalues raised to 1e-10 and its diagonal rescaled to one:
    `ridge` says by how much, and `start` replaces the start from squared multiple correlations.

    Reference: Lawley and Maxwell (1971), Factor Analysis as a Statistical Method, sections 2.3 to 2.6;
    Joreskog (1967), Psychometrika 32, 443-482; Bertsekas (1982), SIAM J. Control Optim. 20, 221-246.

    >>> w = np.array([0.9, 0.8, 0.7, 0.6])
    >>> fit = maximum_likelihood(np.outer(w, w) + np.diag(1 - w**2), 1)
    >>> fit.loadings[:, 0].round(6)
    array([0.9, 0.8, 0.7, 0.6])
    >>> fit.uniquenesses.round(6), fit.converged
    (array([0.19, 0.36, 0.51, 0.64]), True)
    """
    S, logdet, precision, ridge = _positive_definite(_checked(R, q, lower))
    d = len(S)
    if q == 0:
        none = np.zeros(d, dtype=bool)
        return FactorFit(np.zeros((d, 0)), np.ones(d), max(-logdet, 0.0), 0.0, 0, True, none, ridge)
    more: list[Array] = []
    if start is None:
        # Uniquenesses of the squared multiple correlations, as R's factanal starts. Where R is singular every multiple
        # correlation is near one, and the bound is a poor place to begin.
        multiple = (1 - 0.5 * q / d) / precision
        first = [multiple] if ridge == 0 else [multiple, np.full(d, 0.5)]
        # In reserve: 1 - r_ij^2, as if column i were itself a factor, the best explained columns first.
        order = np.argsort(-precision, kind="stable")[: max(1, _BUDGET // d)]
        more = [1 - np.minimum(S[i] ** 2, 1 - 1e-12) for i in order]
    else:
        first = [np.asarray(start, dtype=float)]
        if first[0].shape != (d,) or not (np.isfinite(first[0]) & (first[0] > 0)).all():
            raise ValueError(f"start must hold {d} positive uniquenesses")
    best, evaluations, slope = _search(S, q, first, more, lower, max_iter)
    psi = np.clip(np.exp(best.x), lower, 1.0)
    return FactorFit(
        loadings=_loadings(best, q),
        uniquenesses=psi,
        criterion=max(best.value - logdet, 0.0),
        gradient=slope,
        evaluations=evaluations,
        converged=slope <= _GRADIENT,
        boundary=best.x <= np.log(lower),
        ridge=ridge,
    )


def degrees_of_freedom(d: int, q: int) -> int:
    """Free correlations less free parameters: ((d - q)^2 - d - q) / 2 (Lawley and Maxwell 1971, 2.3).

    >>> degrees_of_freedom(6, 2), degrees_of_freedom(5, 3)
    (4, -2)
    """
    return ((d - q) ** 2 - d - q) // 2


def most_factors(d: int) -> int:
    """The most factors that leave no fewer correlations than numbers to explain them.

    >>> [most_factors(d) for d in (2, 3, 6, 10)]
    [0, 1, 3, 6]
    """
    return max((q for q in range(d) if degrees_of_freedom(d, q) >= 0), default=0)


def goodness_of_fit(criterion: float, n: float, d: int, q: int) -> GoodnessOfFit:
    """Likelihood-ratio test of q factors against any covariance, with Bartlett's correction.

    (n - 1 - (2 d + 5) / 6 - 2 q / 3) F is chi-squared on ((d - q)^2 - d - q) / 2 degrees of freedom.
    Without a positive number of them there is nothing to test: the p-value is then 1.

    Reference: Bartlett (1951), Biometrika 38, 337-344; the figures R's factanal prints.

    >>> test = goodness_of_fit(0.0572, n=112, d=6, q=2)
    >>> round(test.statistic, 2), test.dof, round(test.p_value, 2)
    (6.11, 4, 0.19)
    """
    dof = degrees_of_freedom(d, q)
    # Bartlett's factor turns negative for a handful of rows, where the test has nothing to say.
    statistic = max(n - 1 - (2 * d + 5) / 6 - 2 * q / 3, 0.0) * criterion
    p_value = float(chdtrc(dof, statistic)) if dof > 0 else 1.0
    return GoodnessOfFit(float(statistic), dof, p_value)


def _checked(R: ArrayLike, q: int, lower: float) -> Array:
    S: Array = np.asarray(R, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or S.shape[0] == 0:
        raise ValueError(f"R must be a square correlation matrix, got shape {S.shape}")
    if not np.isfinite(S).all():
        raise ValueError("R must be finite: a correlation is missing or infinite")
    if np.abs(np.diag(S) - 1).max() > 1e-6:
        raise ValueError("R must have ones on its diagonal: divide a covariance by the standard deviations")
    if not 0 <= q <= len(S):
        raise ValueError(f"q must lie between 0 and the {len(S)} columns of R, got {q}")
    if not 0 < lower < 1:
        raise ValueError(f"lower must lie between 0 and 1, got {lower}")
    return (S + S.T) / 2


def _eigen(A: Array, overwrite: bool = False) -> tuple[Array, Array]:
    """Eigenvalues, rising, and eigenvectors; SciPy 1.13 gives the driver "evd" too little room for one column."""
    driver = "evd" if len(A) > 1 else "ev"
    values, U = eigh(A, driver=driver, overwrite_a=overwrite, check_finite=False)
    return values, U


def _positive_definite(R: Array) -> tuple[Array, float, Array, float]:
    """R, its log determinant, the diagonal of its inverse, and what was added to its eigenvalues."""
    values, V = _eigen(R)
    raised = np.maximum(values, _SMALLEST)
    precision = (V**2) @ (1 / raised)
    logdet = float(np.log(raised).sum())
    if values[0] >= _SMALLEST:
        return R, logdet, precision, 0.0
    S = (V * raised) @ V.T
    scale = np.diag(S)
    S = S / np.sqrt(np.outer(scale, scale))
    return S, logdet - float(np.log(scale).sum()), precision * scale, float(_SMALLEST - values[0])


def _search(
    R: Array, q: int, starts: list[Array], more: list[Array], lower: float, max_iter: int
) -> tuple[_Point, int, float]:
    """The lowest minimum found, the evaluations of all runs, and the free slope there."""
    bounds = (float(np.log(lower)), 0.0)
    runs = [_descend(R, q, np.clip(np.log(psi), *bounds), bounds, max_iter) for psi in starts]
    # Newton goes straight to the one minimum of a well-determined problem. In 510 drawn problems each of the 49 runs
    # that ended in a poorer minimum had wandered first; in real tables such a run may also end on the bound. Only then
    # are others tried.
    wandered = max(run[1] for run in runs) > _DIRECT
    if wandered or any((run[0].x <= bounds[0]).any() for run in runs):
        runs += [_descend(R, q, np.clip(np.log(psi), *bounds), bounds, max_iter) for psi in more]
    lowest = min(run[0].value for run in runs)
    best, _, slope = next(run for run in runs if run[0].value <= lowest + 1e-9 * (1 + abs(lowest)))
    return best, sum(run[1] for run in runs), slope


def _descend(R: Array, q: int, x: Array, bounds: tuple[float, float], max_iter: int) -> tuple[_Point, int, float]:
    """Projected Newton from one start: the last point, the evaluations and the free slope there."""
    point, evaluations = _evaluate(R, q, x), 1
    for _ in range(max_iter):
        free = _free(point, bounds)
        if not free.any() or np.abs(point.gradient[free]).max() <= _GRADIENT:
            lower, tried = _off_a_saddle(R, q, point, free, bounds)
            evaluations += tried
            if lower is None:
                break
            point = lower
            continue
        step = np.zeros_like(x)
        step[free] = _newton(_hessian(point)[np.ix_(free, free)], point.gradient[free])
        new, tried = _backtrack(R, q, point, step, bounds)
        evaluations += tried
        if new is None:
            break
        point = new
    return point, evaluations, float(np.abs(point.gradient[_free(point, bounds)]).max(initial=0.0))


def _off_a_saddle(
    R: Array, q: int, point: _Point, free: NDArray[np.bool_], bounds: tuple[float, float]
) -> tuple[_Point | None, int]:
    """A lower point where the slope vanishes and yet it is no minimum; None at a minimum.

    From a start as symmetric as R the gradient along such a direction is exactly zero, so that descent stays on the
    ridge. Where the last factor and the first left out tie, F has a crest: either way off it is down.
    """
    ways = []
    if free.any():
        values, V = _eigen(_hessian(point)[np.ix_(free, free)])
        if values[0] < -_CURVED * max(values[-1], 1.0):
            ways.append(np.zeros_like(point.x))
            ways[0][free] = V[:, 0]
    k = min(q, len(point.x) - 1)
    if k and point.theta[k - 1] - point.theta[k] <= _TIED * point.theta[k]:
        ways.append(point.U[:, k - 1] ** 2 - point.U[:, k] ** 2)
    tried = [
        _evaluate(R, q, np.clip(point.x + length * way / max(np.abs(way).max(), 1e-300), *bounds))
        for way in ways
        for length in (-1.0, -0.1, 0.1, 1.0)
    ]
    best = min(tried, key=lambda new: new.value, default=point)
    return (best if best.value < point.value - _FALL * (1.0 + abs(point.value)) else None), len(tried)


def _free(point: _Point, bounds: tuple[float, float]) -> NDArray[np.bool_]:
    """The variables a descent may move: not those on a bound whose gradient presses against it."""
    low = (point.x <= bounds[0]) & (point.gradient > 0)
    high = (point.x >= bounds[1]) & (point.gradient < 0)
    return ~(low | high)


def _backtrack(R: Array, q: int, point: _Point, step: Array, bounds: tuple[float, float]) -> tuple[_Point | None, int]:
    """Halve the step, projected on the bounds, until the criterion falls enough (Armijo)."""
    noise = 1e-14 * len(step) * (1 + abs(point.value))  # below this a fall cannot be told from rounding
    for tried in range(1, 31):
        x = np.clip(point.x + step, *bounds)
        new = _evaluate(R, q, x)
        if new.value <= point.value + 1e-4 * point.gradient @ (x - point.x) + noise:
            return new, tried
        step = step / 2
    return None, tried


def _evaluate(R: Array, q: int, x: Array) -> _Point:
    """F + log|R| at x = log psi: log|Psi| + sum_head (log theta + 1) + sum_tail theta - d.

    No logarithm of a small eigenvalue is taken, so a nearly singular R costs no digits. A head
    eigenvalue below 1 belongs to the tail: its loading would be imaginary, and the best is zero.
    """
    scale = np.exp(-x / 2)
    theta, U = _eigen(scale[:, None] * R * scale, overwrite=True)
    theta, U = theta[::-1], U[:, ::-1]
    k = int((theta[:q] > 1).sum())
    value = float(x.sum() + np.log(theta[:k]).sum() + theta[k:].sum() - (len(x) - k))
    return _Point(x, value, (U[:, k:] ** 2) @ (1 - theta[k:]), theta, U, k)


def _hessian(point: _Point) -> Array:
    """Exact second derivatives of F in log psi (o is the elementwise product, tail U2).

    H = (U2 U2') o (U2 Theta U2')
      + sum_{l <= q} (u_l u_l') o (U2 diag[(1 - theta_m)(theta_m + theta_l) / (theta_l - theta_m)] U2')
    """
    theta, U, k = point.theta, point.U, point.head
    U2, tail = U[:, k:], theta[k:]
    H = (U2 @ U2.T) * ((U2 * tail) @ U2.T)
    for u, t in zip(U.T[:k], theta[:k], strict=True):
        gap = np.maximum(t - tail, 1e-10 * t)  # tied eigenvalues: F has a crest there, never a valley
        H += np.outer(u, u) * ((U2 * ((1 - tail) * (tail + t) / gap)) @ U2.T)
    return H


def _newton(H: Array, g: Array) -> Array:
    """-|H|^-1 g, a descent direction whatever the signs of the curvature, no longer than allowed."""
    values, V = _eigen(H)
    curvature = np.abs(values)
    step = -V @ ((V.T @ g) / np.maximum(curvature, 1e-8 * max(curvature.max(), 1e-8)))
    return np.asarray(step * min(1.0, _LONGEST / max(np.abs(step).max(), 1e-300)))


def _loadings(point: _Point, q: int) -> Array:
    """Psi^1/2 U_q (Theta_q - I)^1/2, the entry of largest magnitude of each column positive."""
    k = point.head
    W = np.zeros((len(point.x), q))
    W[:, :k] = np.exp(point.x / 2)[:, None] * point.U[:, :k] * np.sqrt(point.theta[:k] - 1)
    return W * sign_rule(W)
