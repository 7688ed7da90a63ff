"""Gaussian processes: kernels with their gradients, the likelihood of columns, and predictions at new places.

dL/dK = 1/2 (a a' - d K^-1), a = K^-1 Y, comes from LAPACK's potrf and potri; every kernel then carries it by hand to
gradients in places and in the logarithms of its numbers.

Reference: Rasmussen and Williams, Gaussian Processes for Machine Learning, MIT Press 2006: 2.2, 4.29 and 5.9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import EPS, Array, Mask, distinct
from lowdim.maths.pairs import squared_distances

JITTER_LEVELS = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)  # of the mean diagonal, tried in turn
LEAST_VARIANCE = 1e-100  # of a cell, in the frame's units: a table that never changes leaves none
Index = NDArray[np.intp]


class KernelTerm:
    """One kernel k(z, x) = v s(a z, a x) with its numbers; Z are m places, X are n, K = k(Z, X) is m x n."""

    numbers: ClassVar[tuple[str, ...]] = ("variance",)  # v, then what is squared with the places, a^2
    start: ClassVar[tuple[float, ...]]  # their logarithms where a climb starts, the table's mean variance being 1
    scale: ClassVar[int | None] = None  # which of the numbers multiplies squared places
    of_differences: ClassVar[bool] = False  # whether k(z, x) depends on z - x only
    inducing: ClassVar[bool] = True  # whether it has a pull

    def __init__(self, *values: float) -> None:
        self.values = values

    def cross(self, Z: Array, X: Array) -> Array:
        """k(Z, X)."""
        raise NotImplementedError

    def diagonal(self, Z: Array) -> Array:
        """k(z, z) of each place."""
        return np.full(len(Z), self.values[0])

    def slope(self, Z: Array, X: Array, K: Array, axis: int) -> Array:
        """d k(z, x) / d z_axis, m x n."""
        return np.zeros_like(K)

    def diagonal_slope(self, Z: Array, axis: int) -> Array:
        """d k(z, z) / d z_axis, m."""
        return np.zeros(len(Z))

    def pull(self, Z: Array, X: Array, K: Array, G: Array) -> Array:
        """dL/dZ from G = dL/dK."""
        return np.zeros_like(Z)

    def gradient(self, X: Array, K: Array, G: Array) -> tuple[Array, Array]:
        """dL/dX and dL/dlog numbers from a symmetric G = dL/dk(X, X); by Euler's rule dL/dlog a is x'dL/dx."""
        dX = 2.0 * self.pull(X, X, K, G)
        return dX, np.array([(G * K).sum(axis=1).sum(), 0.5 * (X * dX).sum()])[: len(self.numbers)]


class RBF(KernelTerm):
    """v exp(-g/2 |x - y|^2)."""

    numbers = ("variance", "inverse_width")
    start = 0.0, 0.0
    scale, of_differences = 1, True

    def cross(self, Z: Array, X: Array) -> Array:
        v, g = self.values
        K = squared_distances(Z, X)
        K *= -0.5 * g
        np.exp(K, out=K)
        K *= v
        return K

    def slope(self, Z: Array, X: Array, K: Array, axis: int) -> Array:
        return -self.values[1] * (Z[:, axis, None] - X[:, axis]) * K

    def pull(self, Z: Array, X: Array, K: Array, G: Array) -> Array:
        H = G * K
        return self.values[1] * (H @ X - H.sum(axis=1)[:, None] * Z)


class Linear(KernelTerm):
    """v x'y."""

    start = (-1.0,)
    scale = 0

    def cross(self, Z: Array, X: Array) -> Array:
        return self.values[0] * (Z @ X.T)

    def diagonal(self, Z: Array) -> Array:
        return self.values[0] * (Z * Z).sum(axis=1)

    def slope(self, Z: Array, X: Array, K: Array, axis: int) -> Array:
        return np.broadcast_to(self.values[0] * X[:, axis], K.shape)

    def diagonal_slope(self, Z: Array, axis: int) -> Array:
        return 2.0 * self.values[0] * Z[:, axis]

    def pull(self, Z: Array, X: Array, K: Array, G: Array) -> Array:
        return self.values[0] * (G @ X)


class MLP(KernelTerm):
    """v (2 / pi) asin a, a = p(x, y) / sqrt((1 + p(x, x)) (1 + p(y, y))), p = w x'y + b (Williams, 1998)."""

    numbers = ("variance", "weight_variance", "bias_variance")
    start = 0.0, 0.0, 0.0
    scale, inducing = 1, False

    def _size(self, X: Array) -> Array:
        """1 + p(x, x)."""
        _, w, b = self.values
        return w * (X * X).sum(axis=1) + b + 1.0

    def _angle(self, Z: Array, X: Array) -> Array:
        """a."""
        _, w, b = self.values
        A = w * (Z @ X.T) + b
        A /= np.sqrt(self._size(Z))[:, None]
        A /= np.sqrt(self._size(X))
        np.clip(A, -1.0, 1.0, out=A)
        return A

    def _bend(self, A: Array) -> Array:
        """dk / da."""
        return self.values[0] * 2.0 / np.pi / np.sqrt(np.maximum(1.0 - A * A, 1e-12))

    def cross(self, Z: Array, X: Array) -> Array:
        return self.values[0] * 2.0 / np.pi * np.arcsin(self._angle(Z, X))

    def diagonal(self, Z: Array) -> Array:
        size = self._size(Z)
        return self.values[0] * 2.0 / np.pi * np.arcsin((size - 1.0) / size)

    def slope(self, Z: Array, X: Array, K: Array, axis: int) -> Array:
        w, A, size = self.values[1], self._angle(Z, X), self._size(Z)
        inner = w * X[:, axis] / np.sqrt(np.outer(size, self._size(X)))
        return self._bend(A) * (inner - A * (w * Z[:, axis] / size)[:, None])

    def diagonal_slope(self, Z: Array, axis: int) -> Array:
        size = self._size(Z)
        return self._bend((size - 1.0) / size) / size**2 * 2.0 * self.values[1] * Z[:, axis]

    def gradient(self, X: Array, K: Array, G: Array) -> tuple[Array, Array]:
        (_, w, b), A, size = self.values, self._angle(X, X), self._size(X)
        M = G * self._bend(A)
        c = -(M * A).sum(axis=1) / size  # what changes the sizes
        M /= np.sqrt(size)[:, None]
        M /= np.sqrt(size)
        MX, square = M @ X, (X * X).sum(axis=1)
        numbers = [(G * K).sum(), w * ((X * MX).sum() + c @ square), b * (M.sum() + c.sum())]
        return 2.0 * w * (MX + c[:, None] * X), np.array(numbers)


class Bias(KernelTerm):
    """v, wherever the places are."""

    start = (-4.0,)
    of_differences = True

    def cross(self, Z: Array, X: Array) -> Array:
        return np.full((len(Z), len(X)), self.values[0])


KERNEL_TERMS: dict[str, type[KernelTerm]] = {"rbf": RBF, "linear": Linear, "mlp": MLP, "bias": Bias}


def terms_of(word: str) -> tuple[str, ...]:
    """The names of the terms of a sum of kernels, as a person writes it.

    >>> terms_of("rbf + linear")
    ('rbf', 'linear')
    """
    return tuple(word.replace(" ", "").split("+"))


class Kernel(NamedTuple):
    """A sum of kernels and white noise; theta the logarithms of its numbers, those of each term and noise last."""

    names: tuple[str, ...]
    theta: Array

    @property
    def labels(self) -> list[str]:
        """A name for each of the numbers."""
        return [f"{name} {number}" for name in self.names for number in KERNEL_TERMS[name].numbers] + ["noise"]

    @property
    def noise(self) -> float:
        return float(np.exp(self.theta[-1]))

    @property
    def terms(self) -> list[KernelTerm]:
        """Each term with its numbers."""
        values, terms = np.exp(self.theta), []
        for kind in (KERNEL_TERMS[name] for name in self.names):
            own, values = np.split(values, [len(kind.numbers)])
            terms.append(kind(*own))
        return terms

    def scaled(self, size: float) -> Kernel:
        """The same kernel for places divided by `size`."""
        at, theta = 0, self.theta.copy()
        for kind in (KERNEL_TERMS[name] for name in self.names):
            if kind.scale is not None:
                theta[at + kind.scale] += 2.0 * np.log(size)
            at += len(kind.numbers)
        return self._replace(theta=theta)

    def parts(self, Z: Array, X: Array) -> list[Array]:
        """The matrices of its terms, without noise: what slopes and gradients begin with."""
        return [term.cross(Z, X) for term in self.terms]

    def cross(self, Z: Array, X: Array) -> Array:
        """k(Z, X), without noise."""
        return summed(self.parts(Z, X))

    def diagonal(self, Z: Array) -> Array:
        return summed([term.diagonal(Z) for term in self.terms])

    def slopes(self, Z: Array, X: Array, parts: list[Array], axis: int) -> Array:
        """d k(z, x) / d z_axis."""
        return summed([term.slope(Z, X, K, axis) for term, K in zip(self.terms, parts, strict=True)])

    def gradient(self, X: Array, parts: list[Array], G: Array) -> tuple[Array, Array]:
        """dL/dX and dL/dtheta from dL/dK (symmetric)."""
        dX, dtheta = zip(*(term.gradient(X, K, G) for term, K in zip(self.terms, parts, strict=True)), strict=True)
        return summed(dX), np.concatenate([*dtheta, [self.noise * np.trace(G)]])


def summed(parts: Sequence[Array]) -> Array:
    """The sum of some arrays; of one it is the array itself."""
    return reduce(np.add, parts)


class ColumnGroup(NamedTuple):
    """Columns of a table seen in the same rows; Y their cells there, or fewer columns with the same Y Y'."""

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
    """A lower Cholesky factor, and the level of jitter that its diagonal needed."""

    L: Array
    jitter_level: int  # index into JITTER_LEVELS

    def solve(self, B: Array) -> Array:
        return lapack.dpotrs(self.L, B, lower=1)[0]

    @property
    def logdet(self) -> float:
        return 2.0 * float(np.log(np.diag(self.L)).sum())

    def inverse(self) -> Array:
        """K^-1, both triangles."""
        low = lapack.dpotri(self.L, lower=1)[0]  # above its diagonal are the factor's zeros
        low.flat[:: len(low) + 1] *= 0.5
        return low.T + low


def jittered_cholesky(K: Array, noise: float = 0.0, jitter_level: int = 0) -> JitteredCholesky:
    """Cholesky of K + noise I, with more and more jitter until it succeeds; a LinAlgError where no level does."""
    mean = float(np.trace(K)) / max(len(K), 1) + noise
    if np.isfinite(mean):
        for k in range(jitter_level, len(JITTER_LEVELS)):
            A = K.copy()
            A.flat[:: len(K) + 1] += noise + JITTER_LEVELS[k] * mean
            L, info = lapack.dpotrf(A.T, lower=1, clean=1, overwrite_a=1)  # A is symmetric, and A.T in LAPACK's order
            if info == 0 and np.isfinite(L[-1:, -1:]).all():
                return JitteredCholesky(L, k)
    raise np.linalg.LinAlgError("the kernel's matrix is not positive definite, even with the largest jitter")


class JitteredSurface:
    """What a climb climbs: value and gradient at a vector; once a matrix needs jitter it keeps it.

    `evaluate` takes the vector and the level of jitter as one array and gives value, level and gradient as one: what a
    checkpoint remembers.
    """

    def __init__(self, evaluate: Callable[[Array], Array]) -> None:
        self.evaluate, self.calls, self.jitter_level = evaluate, 0, 0
        self.best, self.best_level = -np.inf, 0

    def __call__(self, vector: Array) -> tuple[float, Array]:
        packed = self.evaluate(np.append(vector, self.jitter_level))
        value, self.jitter_level, self.calls = float(packed[0]), int(packed[1]), self.calls + 1
        if value > self.best:
            self.best, self.best_level = value, self.jitter_level
        return value, packed[2:]


class LikelihoodGradient(NamedTuple):
    """The log-likelihood of all columns, its gradient in K, and the jitter level that was needed."""

    value: float
    G: Array
    jitter_level: int


def likelihood(K: Array, noise: float, groups: list[ColumnGroup], jitter_level: int = 0) -> LikelihoodGradient:
    """sum_j log N(y_j | 0, K + noise I) over the seen rows of each column, and dL/dK."""
    n, value = len(K), 0.0
    total = np.zeros((n, n)) if groups[0].rows is not None else np.empty(0)
    for rows, _, Y, count in groups:
        A = K if rows is None else K[np.ix_(rows, rows)]
        m = len(A)
        if m == 0:
            continue
        factor = jittered_cholesky(A, noise, jitter_level)
        jitter_level = factor.jitter_level
        # log N of all columns of the group: -1/2 (d m log 2 pi + d log|K| + tr Y'K^-1 Y)
        alpha = factor.solve(Y)
        value -= 0.5 * (count * (m * LOG_TWO_PI + factor.logdet) + float((Y * alpha).sum()))
        # dL/dK = 1/2 (alpha alpha' - d K^-1)
        G = factor.inverse()
        G *= -0.5 * count
        G += 0.5 * (alpha @ alpha.T)
        if rows is None:
            total = G
        else:
            total[np.ix_(rows, rows)] += G
    return LikelihoodGradient(value, total, jitter_level)


class DecodedColumns(NamedTuple):
    """Columns that are predicted from the same rows, and a root R of their K^-1 = R'R."""

    rows: Index | None  # None: all of them
    columns: Index
    root: Array


class Decoder(NamedTuple):
    """What predictions need: K^-1 y_j of every column, and a root of K^-1 of every group of columns."""

    kernel: Kernel
    X: Array
    alpha: Array  # n x d, zero where a column is not seen
    groups: list[DecodedColumns]

    def at(self, Z: Array) -> tuple[Array, Array, list[Array]]:
        """Mean and variance (without noise) of every cell at places Z, m x d each, and the kernel's parts there."""
        parts = self.kernel.parts(Z, self.X)
        K = summed(parts)
        return K @ self.alpha, self._variance(Z, K)[0], parts

    def _variance(self, Z: Array, K: Array) -> tuple[Array, list[Array]]:
        """k(z, z) - |R k|^2 of every cell, and k R' of each group of columns."""
        prior, var, halves = self.kernel.diagonal(Z), np.empty((len(Z), self.alpha.shape[1])), []
        for rows, columns, root in self.groups:
            k = K if rows is None else K[:, rows]
            halves.append(k @ root.T)
            var[:, columns] = (prior - np.einsum("mn,mn->m", halves[-1], halves[-1]))[:, None]
        return np.maximum(var, 1e-12 * prior[:, None]), halves

    def slopes(self, Z: Array, parts: list[Array]) -> Array:
        """d mean / d z, m x q x d."""
        each = [self.kernel.slopes(Z, self.X, parts, a) @ self.alpha for a in range(Z.shape[1])]
        return np.stack(each, axis=1)

    def density(self, Z: Array, y: Array, seen: Mask) -> tuple[Array, Array]:
        """log p(y | z) of the seen cells of each row at its place, and its slope."""
        parts = self.kernel.parts(Z, self.X)
        K = summed(parts)
        var, halves = self._variance(Z, K)
        mean, v = K @ self.alpha, np.maximum(var + self.kernel.noise, LEAST_VARIANCE)
        residual = np.where(seen, y - mean, 0.0)
        value = -0.5 * np.where(seen, residual**2 / v + np.log(v) + LOG_TWO_PI, 0.0).sum(axis=1)
        # the slope by k(z, x): through the mean, and through the variance of each group of columns
        dv = 0.5 * np.where(seen, (residual / v) ** 2 - 1.0 / v, 0.0)
        R = (residual / v) @ self.alpha.T
        for (rows, columns, root), half in zip(self.groups, halves, strict=True):
            R[:, slice(None) if rows is None else rows] -= 2.0 * dv[:, columns].sum(axis=1)[:, None] * (half @ root)
        slopes = [np.einsum("mn,mn->m", R, self.kernel.slopes(Z, self.X, parts, a)) for a in range(Z.shape[1])]
        own = [summed([term.diagonal_slope(Z, a) for term in self.kernel.terms]) for a in range(Z.shape[1])]
        return value, np.stack(slopes, axis=1) + dv.sum(axis=1)[:, None] * np.column_stack(own)


def decoder(kernel: Kernel, X: Array, Y: Array, mask: Mask | None, jitter_level: int = 0) -> Decoder:
    """The predictions of columns Y at places X; a gap holds zero."""
    K, alpha, groups = kernel.cross(X, X), np.zeros_like(Y), []
    for rows, columns, _, _ in columns_by_pattern(Y, mask):
        at = np.arange(len(X)) if rows is None else rows
        factor = jittered_cholesky(K[np.ix_(at, at)], kernel.noise, jitter_level)
        alpha[np.ix_(at, columns)] = factor.solve(Y[np.ix_(at, columns)])
        # R = L^-1, so that K^-1 = R'R: |R k|^2 keeps twice the digits that k'K^-1 k has of little noise
        groups.append(DecodedColumns(rows, columns, lapack.dtrtri(factor.L, lower=1)[0]))
    return Decoder(kernel, X, alpha, groups)


def condition(K: Array, noise: float) -> float:
    """Condition number of K + noise I: largest over smallest eigenvalue, as far as double precision can tell."""
    values = np.abs(np.linalg.eigvalsh(K) + noise) if np.isfinite(K).all() else np.array([0.0, 1.0])
    return float(values.max() / max(values.min(), EPS * values.max(), 1e-300))
