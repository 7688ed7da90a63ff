"""Gaussian processes: kernels with their gradients, the likelihood of columns, and predictions at new places.

dL/dK = 1/2 (a a' - d K^-1), a = K^-1 Y, comes from LAPACK's potrf and potri; every kernel then carries it by hand to
gradients in places and in the logarithms of its numbers.

Reference: Rasmussen and Williams, Gaussian Processes for Machine Learning, MIT Press 2006: 2.2, 4.29 and 5.9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import EPS, Array, Mask, distinct
from lowdim.maths.pairs import squared_distances

JITTER_LEVELS = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)  # of the mean diagonal, tried in turn
LEAST_VARIANCE = 1e-100  # of a cell, in the frame's units: a table that never changes leaves none
Index = NDArray[np.intp]


class KernelTerm(NamedTuple):
    """One kernel: t its numbers (not their logarithms), Z new places, X old ones, K = k(Z, X)."""

    numbers: tuple[str, ...]
    cross: Callable[[Array, Array, Array], Array]  # t, Z, X -> m x n
    diagonal: Callable[[Array, Array], Array]  # t, Z -> m
    slope: Callable[[Array, Array, Array, Array, int], Array]  # t, Z, X, K, axis -> d k(z, x) / d z_axis, m x n
    diagonal_slope: Callable[[Array, Array, int], Array]  # t, Z, axis -> d k(z, z) / d z_axis, m
    gradient: Callable[[Array, Array, Array, Array], tuple[Array, Array]]  # t, X, K, dL/dK -> dL/dX, dL/dlog t


# v exp(-g/2 |x - y|^2) --------------------------------------------------------------------------------------
def _rbf(t: Array, Z: Array, X: Array) -> Array:
    K = squared_distances(Z, X)
    K *= -0.5 * t[1]
    np.exp(K, out=K)
    K *= t[0]
    return K


def _rbf_slope(t: Array, Z: Array, X: Array, K: Array, axis: int) -> Array:
    slope: Array = -t[1] * (Z[:, axis, None] - X[:, axis]) * K
    return slope


def _rbf_gradient(t: Array, X: Array, K: Array, G: Array) -> tuple[Array, Array]:
    H = G * K
    total = H.sum(axis=1)
    HX = H @ X
    square = 2.0 * (float(total @ (X * X).sum(axis=1)) - float((X * HX).sum()))
    return -2.0 * t[1] * (total[:, None] * X - HX), np.array([total.sum(), -0.5 * t[1] * square])


# v x'y ------------------------------------------------------------------------------------------------------
def _linear_gradient(t: Array, X: Array, K: Array, G: Array) -> tuple[Array, Array]:
    GX = G @ X
    return 2.0 * t[0] * GX, np.array([t[0] * (X * GX).sum()])


# v (2 / pi) asin(p(x, y) / sqrt((1 + p(x, x)) (1 + p(y, y)))),  p = w x'y + b (Williams, 1998) ------------------------
def _size(t: Array, X: Array) -> Array:
    size: Array = t[1] * (X * X).sum(axis=1) + t[2] + 1.0
    return size


def _mlp(t: Array, Z: Array, X: Array) -> Array:
    return np.asarray(t[0] * 2.0 / np.pi * np.arcsin(_angle(t, Z, X)))


def _angle(t: Array, Z: Array, X: Array) -> Array:
    A: Array = t[1] * (Z @ X.T) + t[2]
    A /= np.sqrt(_size(t, Z))[:, None]
    A /= np.sqrt(_size(t, X))
    np.clip(A, -1.0, 1.0, out=A)
    return A


def _bend(t: Array, A: Array) -> Array:
    """dk / dA."""
    return np.asarray(t[0] * 2.0 / np.pi / np.sqrt(np.maximum(1.0 - A * A, 1e-12)))


def _mlp_diagonal(t: Array, Z: Array) -> Array:
    p = _size(t, Z)
    return np.asarray(t[0] * 2.0 / np.pi * np.arcsin((p - 1.0) / p))


def _mlp_slope(t: Array, Z: Array, X: Array, K: Array, axis: int) -> Array:
    A, p = _angle(t, Z, X), _size(t, Z)
    inner = t[1] * X[:, axis] / np.sqrt(np.outer(p, _size(t, X)))
    slope: Array = _bend(t, A) * (inner - A * (t[1] * Z[:, axis] / p)[:, None])
    return slope


def _mlp_diagonal_slope(t: Array, Z: Array, axis: int) -> Array:
    p = _size(t, Z)
    slope: Array = _bend(t, (p - 1.0) / p) / p**2 * 2.0 * t[1] * Z[:, axis]
    return slope


def _mlp_gradient(t: Array, X: Array, K: Array, G: Array) -> tuple[Array, Array]:
    A, p = _angle(t, X, X), _size(t, X)
    M = G * _bend(t, A)
    c = -(M * A).sum(axis=1) / p
    M /= np.sqrt(p)[:, None]
    M /= np.sqrt(p)
    MX, square = M @ X, (X * X).sum(axis=1)
    return 2.0 * t[1] * (MX + c[:, None] * X), np.array(
        [(G * K).sum(), t[1] * ((X * MX).sum() + c @ square), t[2] * (M.sum() + c.sum())]
    )


KERNEL_TERMS: dict[str, KernelTerm] = {
    "rbf": KernelTerm(
        ("variance", "inverse_width"),
        _rbf,
        lambda t, Z: np.full(len(Z), t[0]),
        _rbf_slope,
        lambda t, Z, axis: np.zeros(len(Z)),
        _rbf_gradient,
    ),
    "linear": KernelTerm(
        ("variance",),
        lambda t, Z, X: t[0] * (Z @ X.T),
        lambda t, Z: t[0] * (Z * Z).sum(axis=1),
        lambda t, Z, X, K, axis: np.broadcast_to(t[0] * X[:, axis], (len(Z), len(X))),
        lambda t, Z, axis: 2.0 * t[0] * Z[:, axis],
        _linear_gradient,
    ),
    "mlp": KernelTerm(
        ("variance", "weight_variance", "bias_variance"),
        _mlp,
        _mlp_diagonal,
        _mlp_slope,
        _mlp_diagonal_slope,
        _mlp_gradient,
    ),
    "bias": KernelTerm(
        ("variance",),
        lambda t, Z, X: np.full((len(Z), len(X)), t[0]),
        lambda t, Z: np.full(len(Z), t[0]),
        lambda t, Z, X, K, axis: np.zeros((len(Z), len(X))),
        lambda t, Z, axis: np.zeros(len(Z)),
        lambda t, X, K, G: (np.zeros_like(X), np.array([t[0] * G.sum()])),
    ),
}


class KernelSum(NamedTuple):
    """A sum of kernels, `names` joined by "+", and white noise; theta the logarithms of its numbers, noise last."""

    names: str
    theta: Array

    @property
    def terms(self) -> list[KernelTerm]:
        return [KERNEL_TERMS[name] for name in self.names.split("+")]

    @property
    def labels(self) -> list[str]:
        """A name for each of the numbers."""
        return [f"{name} {number}" for name in self.names.split("+") for number in KERNEL_TERMS[name].numbers] + [
            "noise"
        ]

    @property
    def noise(self) -> float:
        return float(np.exp(self.theta[-1]))

    def parts(self) -> list[tuple[KernelTerm, Array]]:
        """Each term with its numbers."""
        t, at = np.exp(self.theta), 0
        parts = []
        for term in self.terms:
            parts.append((term, t[at : at + len(term.numbers)]))
            at += len(term.numbers)
        return parts

    def scaled(self, size: float) -> KernelSum:
        """The same kernel for places divided by `size`."""
        at, theta, step = 0, self.theta.copy(), 2.0 * np.log(size)
        for name in self.names.split("+"):
            which = {"rbf": 1, "linear": 0, "mlp": 1}.get(name)
            if which is not None:
                theta[at + which] += step
            at += len(KERNEL_TERMS[name].numbers)
        return self._replace(theta=theta)

    def cross(self, Z: Array, X: Array) -> list[Array]:
        """The matrices of its parts, without noise."""
        return [term.cross(t, Z, X) for term, t in self.parts()]

    def diagonal(self, Z: Array) -> Array:
        return np.asarray(sum(term.diagonal(t, Z) for term, t in self.parts()))

    def slopes(self, Z: Array, X: Array, mats: list[Array], axis: int) -> Array:
        """d k(z, x) / d z_axis."""
        return np.asarray(sum(term.slope(t, Z, X, K, axis) for (term, t), K in zip(self.parts(), mats, strict=True)))

    def diagonal_slopes(self, Z: Array) -> Array:
        """d k(z, z) / d z, m x q."""
        return np.column_stack(
            [sum(term.diagonal_slope(t, Z, a) for term, t in self.parts()) for a in range(Z.shape[1])]
        )

    def gradient(self, X: Array, mats: list[Array], G: Array) -> tuple[Array, Array]:
        """dL/dX and dL/dtheta from dL/dK (symmetric)."""
        gradients = [term.gradient(t, X, K, G) for (term, t), K in zip(self.parts(), mats, strict=True)]
        noise = np.array([self.noise * np.trace(G)])
        return np.asarray(sum(dX for dX, _ in gradients)), np.concatenate([dt for _, dt in gradients] + [noise])


class ColumnGroup(NamedTuple):
    """ColumnGroup of a table seen in the same rows; Y their cells there, or fewer columns with the same Y Y'."""

    rows: Index | None  # None: all of them
    columns: Index
    Y: Array
    width: int  # how many columns


def columns_by_pattern(Y: Array, mask: Mask | None) -> list[ColumnGroup]:
    """The columns grouped by the rows in which they are seen."""
    d = Y.shape[1]
    if mask is None or mask.all():
        return [ColumnGroup(None, np.arange(d), _narrow(Y), d)]
    _, which = distinct(mask.T)
    groups = []
    for k in range(int(which.max()) + 1):
        columns = np.flatnonzero(which == k)
        rows = np.flatnonzero(mask[:, columns[0]])
        groups.append(ColumnGroup(rows, columns, _narrow(Y[np.ix_(rows, columns)]), len(columns)))
    return groups


def _narrow(Y: Array) -> Array:
    """Y, or a square matrix with the same Y Y' where there are more columns than rows."""
    return Y if Y.shape[1] <= len(Y) else np.ascontiguousarray(np.asarray(np.linalg.qr(Y.T, mode="r")).T)


class JitteredCholesky(NamedTuple):
    """A lower Cholesky factor, and the jitter that had to be added to the diagonal."""

    L: Array
    jitter: float
    jitter_level: int

    def solve(self, B: Array) -> Array:
        return np.asarray(lapack.dpotrs(self.L, B, lower=1)[0])

    @property
    def logdet(self) -> float:
        return 2.0 * float(np.log(np.diag(self.L)).sum())

    def inverse_root(self) -> Array:
        """R = L^-1, so that K^-1 = R'R: |R k|^2 keeps twice the digits that k'K^-1 k has of little noise."""
        return np.asarray(lapack.dtrtri(self.L, lower=1)[0])

    def inverse(self) -> Array:
        """K^-1, both triangles."""
        low = lapack.dpotri(self.L, lower=1)[0]  # above its diagonal are the factor's zeros
        low.flat[:: len(low) + 1] *= 0.5
        return np.asarray(low.T + low)


def jittered_cholesky(K: Array, noise: float = 0.0, jitter_level: int = 0) -> JitteredCholesky:
    """Cholesky of K + noise I, with more and more jitter until it succeeds; a LinAlgError where no level does."""
    mean = float(np.trace(K)) / max(len(K), 1) + noise
    if np.isfinite(mean):
        for k in range(jitter_level, len(JITTER_LEVELS)):
            A = K.copy()
            A.flat[:: len(K) + 1] += noise + JITTER_LEVELS[k] * mean
            L, info = lapack.dpotrf(A.T, lower=1, clean=1, overwrite_a=1)  # A is symmetric, and A.T in LAPACK's order
            if info == 0 and np.isfinite(L[-1:, -1:]).all():
                return JitteredCholesky(L, JITTER_LEVELS[k] * mean, k)
    raise np.linalg.LinAlgError("the kernel's matrix is not positive definite, even with the largest jitter")


class LikelihoodGradient(NamedTuple):
    """The log-likelihood of all columns, its gradient in K, and the jitter level that was needed."""

    value: float
    G: Array
    jitter_level: int


def likelihood(K: Array, noise: float, groups: list[ColumnGroup], jitter_level: int = 0) -> LikelihoodGradient:
    """sum_j log N(y_j | 0, K + noise I) over the seen rows of each column, and dL/dK."""
    n = len(K)
    total = np.zeros((n, n)) if groups[0].rows is not None else np.empty(0)
    value = 0.0
    for rows, _, Y, count in groups:
        A = K if rows is None else K[np.ix_(rows, rows)]
        m = len(A)
        if m == 0:
            continue
        factor = jittered_cholesky(A, noise, jitter_level)
        jitter_level = factor.jitter_level
        alpha = factor.solve(Y)
        value -= 0.5 * (count * (m * LOG_TWO_PI + factor.logdet) + float((Y * alpha).sum()))
        G = factor.inverse()
        G *= -0.5 * count
        G += 0.5 * (alpha @ alpha.T)
        if rows is None:
            total = G
        else:
            total[np.ix_(rows, rows)] += G
    return LikelihoodGradient(value, total, jitter_level)


class Decoder(NamedTuple):
    """What predictions need: K^-1 y_j of every column, and a root R of K^-1 = R'R of every group of columns."""

    kernel: KernelSum
    X: Array
    alpha: Array  # n x d, zero where a column is not seen
    groups: list[tuple[Index | None, Index, Array]]  # rows, columns, root

    def at(self, Z: Array) -> tuple[Array, Array, list[Array]]:
        """Mean and variance (without noise) of every cell at places Z, m x d each, and the kernel's parts there."""
        mats = self.kernel.cross(Z, self.X)
        K = np.asarray(sum(mats))
        return K @ self.alpha, self._variance(Z, K)[0], mats

    def _variance(self, Z: Array, K: Array) -> tuple[Array, list[Array]]:
        """Of every cell, and k R' of each group of columns."""
        prior, var, halves = self.kernel.diagonal(Z), np.empty((len(Z), self.alpha.shape[1])), []
        for rows, columns, root in self.groups:
            k = K if rows is None else K[:, rows]
            halves.append(k @ root.T)
            var[:, columns] = (prior - np.einsum("mn,mn->m", halves[-1], halves[-1]))[:, None]
        return np.maximum(var, 1e-12 * prior[:, None]), halves

    def slopes(self, Z: Array, mats: list[Array]) -> Array:
        """d mean / d z, m x q x d."""
        each = [self.kernel.slopes(Z, self.X, mats, a) @ self.alpha for a in range(Z.shape[1])]
        return np.stack(each, axis=1)

    def density(self, Z: Array, y: Array, seen: Mask) -> tuple[Array, Array]:
        """log p(y | z) of the seen cells of each row at its place, and its slope."""
        mats = self.kernel.cross(Z, self.X)
        K = np.asarray(sum(mats))
        var, halves = self._variance(Z, K)
        mean, v = K @ self.alpha, np.maximum(var + self.kernel.noise, LEAST_VARIANCE)
        residual = np.where(seen, y - mean, 0.0)
        value = -0.5 * np.where(seen, residual**2 / v + np.log(v) + LOG_TWO_PI, 0.0).sum(axis=1)
        dv = 0.5 * np.where(seen, (residual / v) ** 2 - 1.0 / v, 0.0)
        R = (residual / v) @ self.alpha.T
        for (rows, columns, root), half in zip(self.groups, halves, strict=True):
            R[:, slice(None) if rows is None else rows] -= 2.0 * dv[:, columns].sum(axis=1)[:, None] * (half @ root)
        slope = np.stack(
            [np.einsum("mn,mn->m", R, self.kernel.slopes(Z, self.X, mats, a)) for a in range(Z.shape[1])], axis=1
        )
        return value, slope + dv.sum(axis=1)[:, None] * self.kernel.diagonal_slopes(Z)


def decoder(kernel: KernelSum, X: Array, Y: Array, mask: Mask | None, jitter_level: int = 0) -> Decoder:
    """The predictions of columns Y at places X; a gap holds zero."""
    K = np.asarray(sum(kernel.cross(X, X)))
    alpha = np.zeros_like(Y)
    groups: list[tuple[Index | None, Index, Array]] = []
    for rows, columns, _, _ in columns_by_pattern(Y, mask):
        at = np.arange(len(X)) if rows is None else rows
        factor = jittered_cholesky(K[np.ix_(at, at)], kernel.noise, jitter_level)
        alpha[np.ix_(at, columns)] = factor.solve(Y[np.ix_(at, columns)])
        groups.append((rows, columns, factor.inverse_root()))
    return Decoder(kernel, X, alpha, groups)


def condition(K: Array, noise: float) -> float:
    """Condition number of K + noise I: largest over smallest eigenvalue, as far as double precision can tell."""
    values = np.abs(np.linalg.eigvalsh(K) + noise) if np.isfinite(K).all() else np.array([0.0, 1.0])
    return float(values.max() / max(values.min(), EPS * values.max(), 1e-300))
