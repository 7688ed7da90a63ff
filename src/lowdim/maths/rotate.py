"""Rotations: loadings towards simple structure, and one configuration onto another."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag

from lowdim.maths.linalg import Array, sign_rule

METHODS = ("varimax", "quartimax", "equamax", "promax", "oblimin", "geomin", "bifactor")
KAISER = METHODS[:5]  # methods whose rows have unit length meanwhile, unless that is refused
EPSILON = 0.01  # of geomin, beside squared loadings
_STARTS = 4  # turned starts beside the principal axes: cheap insurance against a poorer optimum
_MANY_STARTS = 30  # of geomin and bifactor, which are known for poorer optima
_COARSE = 1e-4  # how closely a start is followed before the best one is taken to the end
_DISTINCT = 1e-6  # relative gain that makes another optimum worth taking
_COLLAPSE = 1e-4  # smallest singular value of T below which two oblique factors count as one


class Rotation(NamedTuple):
    """Rotated loadings L = W T^-1', scores z T, and Phi = T' T, so that L Phi L' = W W'."""

    loadings: Array  # d x q
    matrix: Array  # q x q
    factor_covariance: Array  # q x q, the identity for an orthogonal method


Criterion: TypeAlias = Callable[[Array], tuple[float, Array]]  # of loadings: its value, and its slope in them


class _Oblique(NamedTuple):
    T: Array
    value: float
    slope: Array  # along matrices with unit columns


class Alignment(NamedTuple):
    """One configuration laid on another: aligned = scale X rotation + shift."""

    aligned: Array
    rotation: Array
    scale: float
    shift: Array
    error: float  # residual sum of squares over the total of the centred target


def rotate(
    loadings: ArrayLike,
    method: str = "varimax",
    *,
    target: ArrayLike | None = None,
    normalize: bool | None = None,
    power: int = 4,
    gamma: float = 0.0,
    epsilon: float = EPSILON,
    max_iter: int = 1000,
    tol: float = 1e-10,
) -> Rotation:
    r"""Turn factors so that each column loads on few of them and the fit stays the same.

    With L = W T^-1' and Phi = T' T, the covariance L Phi L' = W W' does not change.
    varimax, quartimax, equamax: T orthogonal, maximum of sum L^4 - (kappa / d) sum_j (sum_i L_ij^2)^2 with kappa 1, 0
    and q / 2.
    promax: least squares from the varimax loadings to sign(L) |L|^power, factors of unit variance.
    The others are minima over unit columns of T, with correlated factors: oblimin of sum_{j != k} <l_j^2,
    (I - gamma 1 1' / d) l_k^2> (a gamma above 0 invites factors to merge), geomin of sum_i prod_j (L_ij^2 +
    epsilon)^(1 / q), bifactor of oblimin's over all factors but the first, which is general.
    With a `target` (NaN where it is free) the loadings come as near to it as they can, in its order and with its signs.
    Else factors come by falling sum of squares, a general one first, the largest entry of each positive. Kaiser's
    `normalize` gives all rows unit length meanwhile: by default in the first five methods.

    Reference: Kaiser (1958), Psychometrika 23, 187-200; Hendrickson and White (1964), Br. J. Stat.
    Psychol. 17, 65-70; Jennrich (2002), Psychometrika 67, 7-19 (gradient projection, oblique); Jennrich and Bentler
    (2011), Psychometrika 76, 537-549 (bifactor); Browne (2001), Multivar. Behav. Res. 36, 111-150 (geomin, targets).

    >>> simple = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7], [0.0, 0.6]])
    >>> turned = simple @ np.array([[0.8, -0.6], [0.6, 0.8]])
    >>> np.allclose(rotate(turned).loadings, simple)
    True
    """
    W = np.asarray(loadings, dtype=float)
    if method not in METHODS:
        raise ValueError(f"unknown rotation {method!r}: choose one of {', '.join(METHODS)}")
    if W.ndim != 2:
        raise ValueError(f"loadings must be a table, columns by factors, got shape {W.shape}")
    if not np.isfinite(W).all():
        raise ValueError("loadings must be finite")
    q = W.shape[1]
    if q < 2:
        return Rotation(W.copy(), np.eye(q), np.eye(q))
    A, V, rank = _principal_axes(W)
    if target is not None:
        return _towards(W, A, V, rank, np.asarray(target, dtype=float), max_iter, tol)
    T = np.eye(max(rank, 1))
    if rank > 1:
        core, size = _kaiser(A[:, :rank], method in KAISER if normalize is None else normalize)
        if method in ("varimax", "quartimax", "equamax", "promax"):
            kappa = {"quartimax": 0.0, "equamax": rank / 2.0}.get(method, 1.0)
            T = _orthomax(core, kappa, max_iter, tol)
        elif method == "oblimin":
            T = _lowest(core, partial(_oblimin, gamma=gamma), _STARTS, max_iter, tol)
        elif method == "geomin":
            T = _lowest(core, partial(_geomin, epsilon=epsilon / size**2), _MANY_STARTS, max_iter, tol)
        elif rank > 2:  # of a general factor and one more the principal axes stay
            T = _lowest(core, _bifactor, _MANY_STARTS, max_iter, tol)
        if method == "promax":
            T = T @ _promax(A[:, :rank] @ T, power)
    # Directions without loadings stay as they are: nothing says how to turn them.
    return _in_order(W, V @ block_diag(T, np.eye(q - len(T))), general=method == "bifactor")


def simple_axes(W: Array, psi: Array, rotation: str) -> Array:
    """The T of a rotation of loadings W with noise variances psi, found on the scale of correlations: units do not
    matter. One axis stays as it is."""
    if W.shape[1] < 2:
        return np.eye(W.shape[1])
    sd = np.sqrt((W**2).sum(axis=1) + psi)
    return rotate(W / sd[:, None], rotation).matrix


def procrustes(X: ArrayLike, target: ArrayLike, *, scaling: bool = True, reflection: bool = True) -> Alignment:
    r"""Shift, turn and scale a configuration onto another.

    Minimises ||s X Q + 1 t' - Y||^2 over Q' Q = I. With X_c' Y_c = U S V' the answer is Q = U V',
    s = tr S / ||X_c||^2; without `reflection` the last sign makes det Q = 1. The relative error lies
    between 0 and 1, except without `scaling`, where a configuration of another size can exceed 1.

    Reference: Schonemann (1966), Psychometrika 31, 1-10; Gower and Dijksterhuis (2004), chapters 3, 4.

    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> fit = procrustes(X, 3 * X @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 5)
    >>> round(fit.scale, 12), fit.shift.round(12), round(fit.error, 12)
    (3.0, array([5., 5.]), 0.0)
    """
    P, Y = np.asarray(X, dtype=float), np.asarray(target, dtype=float)
    if P.ndim != 2 or P.shape != Y.shape or P.size == 0:
        raise ValueError(f"X and target must be tables of the same shape, got {P.shape} and {Y.shape}")
    if not (np.isfinite(P).all() and np.isfinite(Y).all()):
        raise ValueError("X and target must be finite: leave out the rows with gaps")
    p, y = P.mean(axis=0), Y.mean(axis=0)
    A, B = P - p, Y - y
    # Unit size inside, so that squares of very large or small coordinates neither overflow nor vanish.
    size, extent = float(np.abs(A).max()) or 1.0, float(np.abs(B).max()) or 1.0
    A, B = A / size, B / extent
    U, S, Vt = np.linalg.svd(A.T @ B)
    if not reflection and np.linalg.det(U @ Vt) < 0:
        U[:, -1], S[-1] = -U[:, -1], -S[-1]
    Q = U @ Vt
    spread, total = float((A**2).sum()), float((B**2).sum())
    s = float(S.sum()) / spread if scaling and spread > 0 else size / extent
    squares = float(((s * A @ Q - B) ** 2).sum())
    error = squares / total if total > 0 else float(squares > 0)
    scale = s * (extent / size) if scaling and spread > 0 else 1.0
    return Alignment(scale * (P - p) @ Q + y, Q, scale, y - scale * p @ Q, error)


def _principal_axes(W: Array) -> tuple[Array, Array, int]:
    """W V with orthogonal columns, V, and the rank: a start that does not depend on how W was turned."""
    if not W.any():
        return W, np.eye(W.shape[1]), 0
    _, size, Vt = np.linalg.svd(W, full_matrices=len(W) < W.shape[1])
    V = Vt.T * sign_rule(W @ Vt.T)
    return W @ V, V, int((size > 1e-10 * size[0]).sum())


def _kaiser(A: Array, normalize: bool) -> tuple[Array, float]:
    """Rows of unit length, or of at most that with what divided them all; one without communality takes no part."""
    length = np.sqrt((A**2).sum(axis=1, keepdims=True))
    if not normalize:
        return A / float(length.max()), float(length.max())
    return A / np.where(length > 1e-12 * length.max(), length, np.inf), 1.0


def _in_order(W: Array, T: Array, general: bool = False) -> Rotation:
    """Factors by falling sum of squares, after the `general` one, the entry of largest magnitude positive."""
    L = np.asarray(np.linalg.solve(T, W.T).T, dtype=float)
    squares = (L**2).sum(axis=0)
    if general:
        squares[0] = np.inf
    order = np.argsort(-squares, kind="stable")
    signs = sign_rule(L)
    T, L = (T * signs)[:, order], (L * signs)[:, order]
    return Rotation(L, T, T.T @ T)


def _turned_starts(q: int, count: int = _STARTS) -> list[Array]:
    """The identity and some fixed orthogonal matrices, the same in every call."""
    rng = np.random.default_rng(q)
    return [np.eye(q)] + [np.linalg.qr(rng.standard_normal((q, q)))[0] for _ in range(count)]


def _orthomax(A: Array, kappa: float, max_iter: int, tol: float) -> Array:
    """Orthogonal T of greatest sum L^4 - (kappa / d) sum_j (sum_i L_ij^2)^2, L = A T."""
    best, T = -np.inf, np.eye(A.shape[1])
    for start in _turned_starts(A.shape[1]):
        trial = _jacobi(A, start, kappa, max_iter, max(tol, _COARSE))
        squares = (A @ trial) ** 2
        value = float((squares**2).sum() - kappa / len(A) * (squares.sum(axis=0) ** 2).sum())
        if value > best + _DISTINCT * abs(value):
            best, T = value, trial
    return _jacobi(A, T, kappa, max_iter, tol)


def _jacobi(A: Array, T: Array, kappa: float, max_iter: int, tol: float) -> Array:
    """Sweeps of plane rotations, each the exact maximum in its plane, until none turns more than tol."""
    q = T.shape[1]
    rows = np.vstack([A @ T, T]).T.copy()  # a factor per row: its d loadings, then its column of T
    for _ in range(max_iter):
        turned = 0.0
        for i, j in combinations(range(q), 2):
            angle = _plane_angle(rows[i, : len(A)], rows[j, : len(A)], kappa)
            c, s = np.cos(angle), np.sin(angle)
            rows[i], rows[j] = c * rows[i] + s * rows[j], c * rows[j] - s * rows[i]
            turned = max(turned, abs(angle))
        if turned <= tol:
            break
    return rows[:, len(A) :].T


def _plane_angle(x: Array, y: Array, kappa: float) -> float:
    """Kaiser's angle for one pair of factors."""
    u, v = x * x - y * y, 2 * x * y
    a, b = u.sum(), v.sum()
    top = 2 * (u @ v - kappa * a * b / len(x))
    bottom = u @ u - v @ v - kappa * (a * a - b * b) / len(x)
    # All angles serve equally well where both vanish: turning by rounding error would never end.
    if np.hypot(top, bottom) <= 1e-14 * (u @ u + v @ v):
        return 0.0
    return float(np.arctan2(top, bottom) / 4)


def _promax(L: Array, power: int) -> Array:
    """T from varimax loadings: T^-1' regresses them on their own powers, T' T has a unit diagonal."""
    L = L / np.abs(L).max()  # or a high power of small loadings underflows
    U = np.linalg.lstsq(L, L * np.abs(L) ** (power - 1), rcond=None)[0]
    # Columns of U differ by orders of magnitude for high powers; their scale is free at this point.
    try:
        T = np.linalg.inv(U / np.sqrt((U**2).sum(axis=0))).T
    except np.linalg.LinAlgError:  # powers of nearly parallel factors are parallel: the varimax factors stay
        return np.eye(len(U))
    return np.asarray(T / np.sqrt((T**2).sum(axis=0)))


def _towards(W: Array, A: Array, V: Array, rank: int, target: Array, max_iter: int, tol: float) -> Rotation:
    """Loadings as near to a target as they can come where it says something, in its order and with its signs."""
    known = ~np.isnan(target)
    if target.shape != W.shape:
        raise ValueError(f"the target must be a table of {W.shape}, as the loadings are, got {target.shape}")
    if rank < W.shape[1]:
        raise ValueError(f"the loadings have rank {rank}: fewer factors than the target has")
    if (known.sum(axis=0) < W.shape[1] - 1).any():
        raise ValueError(f"each factor of the target needs at least {W.shape[1] - 1} known entries")
    core, size = _kaiser(A, False)
    T = V @ _lowest(
        core, partial(_off_target, target=np.where(known, target, 0.0) / size, known=known), _MANY_STARTS, max_iter, tol
    )
    return Rotation(np.asarray(np.linalg.solve(T, W.T).T, dtype=float), T, T.T @ T)


# criteria of oblique factors: a value and its slope in the loadings -------------------------------------------------
def _oblimin(L: Array, gamma: float = 0.0) -> tuple[float, Array]:
    """1/4 sum_{j != k} <l_j^2, (I - gamma 1 1' / d) l_k^2>."""
    squares = L * L
    others = squares.sum(axis=1, keepdims=True) - squares
    others = others - gamma * others.mean(axis=0)
    return float((squares * others).sum()) / 4, others * L


def _bifactor(L: Array) -> tuple[float, Array]:
    """Oblimin's of all factors but the first."""
    value, slope = _oblimin(L[:, 1:])
    return value, np.column_stack([np.zeros(len(L)), slope])


def _geomin(L: Array, epsilon: float) -> tuple[float, Array]:
    """sum_i prod_j (L_ij^2 + epsilon)^(1 / q)."""
    squares = L * L + epsilon
    products = np.exp(np.log(squares).mean(axis=1, keepdims=True))
    return float(products.sum()), 2.0 / L.shape[1] * L / squares * products


def _off_target(L: Array, target: Array, known: Array) -> tuple[float, Array]:
    """1/2 sum of squared differences from the known entries of a target."""
    off = known * (L - target)
    return float((off**2).sum()) / 2, off


def _lowest(A: Array, criterion: Criterion, starts: int, max_iter: int, tol: float) -> Array:
    """Unit columns of T with the least criterion, from the quartimax axes and turned ones."""
    first = [_orthomax(A, 0.0, max_iter, tol), *_turned_starts(A.shape[1], starts)]
    best = _oblique(A, first[0], criterion)
    for start in first:
        trial = _descend(A, _oblique(A, start, criterion), criterion, max_iter, max(tol, _COARSE))
        if trial.value < best.value - _DISTINCT * abs(best.value):
            best = trial
    return _descend(A, best, criterion, max_iter, tol).T


def _oblique(A: Array, T: Array, criterion: Criterion) -> _Oblique:
    """A criterion at L = A T^-1', with its slope in T."""
    inverse = np.linalg.inv(T)
    L = A @ inverse.T
    value, slope = criterion(L)
    G = -inverse.T @ slope.T @ L
    return _Oblique(T, value, G - T * (T * G).sum(axis=0))


def _descend(A: Array, here: _Oblique, criterion: Criterion, max_iter: int, tol: float) -> _Oblique:
    """Gradient projection: steps down the slope, columns brought back to unit length."""
    step = 1.0 / len(A)
    for _ in range(max_iter):
        if np.abs(here.slope).max() <= tol * len(A):
            break
        new = _line_search(A, here, criterion, step)
        if new is None:
            break
        # Barzilai and Borwein's length: the curvature met in the last step, several times fewer steps.
        moved, bent = new.T - here.T, new.slope - here.slope
        step = min(float((moved**2).sum()) / max(abs(float((moved * bent).sum())), 1e-300), 1e3)
        here = new
    return here


def _line_search(A: Array, here: _Oblique, criterion: Criterion, step: float) -> _Oblique | None:
    """Halve the step until the criterion falls enough, or the slope where rounding hides the fall."""
    length = float((here.slope**2).sum())
    noise = 1e-15 * len(A)  # rows of A have at most unit length
    for _ in range(40):
        T = here.T - step * here.slope
        T = T / np.sqrt((T**2).sum(axis=0))
        # A gamma above 0 can drive the criterion to minus infinity along merging factors: stay off.
        if np.linalg.svd(T, compute_uv=False)[-1] > _COLLAPSE:
            new = _oblique(A, T, criterion)
            if new.value <= here.value - max(1e-4 * step * length, noise):
                return new
            if abs(new.value - here.value) <= noise and (new.slope**2).sum() < length:
                return new
        step /= 2
    return None
