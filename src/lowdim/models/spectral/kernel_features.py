"""Kernel matrices and their eigenpairs; finite features in their place, through the fold: landmarks, frequencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse.linalg as spl
from scipy.linalg.blas import dsymv

from lowdim.engine.fold import one_blas_thread
from lowdim.maths.eigen import Eigen, Problem, solve
from lowdim.maths.linalg import EPS, Array, Index, Mask, sign_rule
from lowdim.maths.pairs import centred_gram, exact_distances, squared_distances
from lowdim.sources.source import Block, Source, tile_rows
from lowdim.sources.views import View
from lowdim.text.messages import error

MOST_FOR_PRODUCTS = 1e6  # gamma |x|^2 up to which distances by products leave a Gaussian kernel ten digits
CHUNK_CELLS = 2**21  # similarities worked on at once, 16 MB
LANCZOS_ROWS = 600  # rows from which few eigenpairs come cheaper by products than by a factorisation
LANCZOS_SPACE = 32  # vectors Lanczos keeps at least: a third fewer products than with 20, and they cost most
STRIP_ROWS = 64  # rows of a kernel matrix worked on at once: they stay in the cache from one step to the next


class KernelFunction(NamedTuple):
    """k(x, y): "linear" x'y, "rbf" exp(-gamma |x-y|^2), "poly" (gamma x'y + coef0)^degree, "sigmoid" tanh."""

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    call: Callable[[Array, Array], Any] | None = None

    def __call__(self, X: Array, Y: Array) -> Array:
        if self.call is not None:
            return np.asarray(self.call(X, Y), dtype=np.float64)
        if self.name == "rbf":
            return gaussian(squared_distances(X, Y), self.gamma)
        K = X @ Y.T
        if self.name == "linear":
            return K
        K *= self.gamma
        K += self.coef0
        return K**self.degree if self.name == "poly" else np.tanh(K, out=K)


def gaussian(D: Array, gamma: float) -> Array:
    """exp(-gamma D) in place, for widths of any size."""
    with np.errstate(over="ignore", under="ignore"):
        D *= -gamma
        return np.asarray(np.exp(D, out=D))


def similarities(kernel: KernelFunction, X: Array, Y: Array) -> Array:
    """k(x, y) of all pairs: finite, of the right shape, and for narrow Gaussians from exact differences."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if kernel.name == "rbf":
            size = float((Y**2).sum(axis=1).max(initial=0.0))
            exact = not kernel.gamma * size <= MOST_FOR_PRODUCTS
            return gaussian(exact_distances(X, Y) ** 2 if exact else squared_distances(X, Y), kernel.gamma)
        K = kernel(X, Y)
    if K.shape != (len(X), len(Y)):
        words = f"a callable must take tables of {len(X)} and {len(Y)} rows and give that many rows and columns"
        raise error("LD415", problem=f"{words}; it gave {K.shape}")
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise error("LD415", problem=f"k(x, y) is {K[i, j]} for some rows")
    return K


def gaussian_matrix(X: Array, gamma: float, *, half: bool = False) -> Array:
    """exp(-gamma |x_i - x_j|^2), a strip of rows at a time and in place; exactly one on the diagonal.

    With a = gamma |x|^2 the exponent is one product, (s x, -a, 1)'(s y, 1, -a), s = sqrt(2 gamma). `half` leaves out
    what lies above the diagonal, apart from the strips: `times` needs no more, and exponentials cost most.
    """
    n = len(X)
    K, kernel = np.zeros((n, n)), KernelFunction("rbf", gamma)
    with np.errstate(over="ignore", invalid="ignore"):
        a = gamma * (X**2).sum(axis=1)
    narrow = not float(a.max(initial=0.0)) <= MOST_FOR_PRODUCTS
    one, root = np.ones(n), np.sqrt(2.0) * np.sqrt(gamma)
    left, right = np.column_stack([root * X, -a, one]), np.column_stack([root * X, one, -a])
    with one_blas_thread():  # strips are thin: threads would wait for each other more than they work
        for i in range(0, n, STRIP_ROWS):
            end = min(i + STRIP_ROWS, n) if half else n
            part = K[i : i + STRIP_ROWS, :end]
            if narrow:
                part[...] = similarities(kernel, X[i : i + STRIP_ROWS], X[:end])
                continue
            np.matmul(left[i : i + STRIP_ROWS], right[:end].T, out=part)
            np.minimum(part, 0.0, out=part)
            np.exp(part, out=part)
    np.fill_diagonal(K, 1.0)
    return K


def by_products(n: int, q: int) -> bool:
    """Whether q eigenpairs of n x n numbers come cheaper by products with vectors than by a factorisation."""
    return n > LANCZOS_ROWS and q <= n // 20


def times(K: Array, v: Array, half: bool) -> Array:
    """K v of a symmetric matrix, perhaps only the `half` of it that `gaussian_matrix` makes; v: one vector or some."""
    if not half or v.ndim == 1:
        return np.asarray(dsymv(1.0, K.T, v, lower=0) if half else K @ v)
    y = np.zeros(v.shape[::-1])  # turned, products with strips take half the time
    for i in range(0, len(K), STRIP_ROWS):
        end = min(i + STRIP_ROWS, len(K))
        y[:, i:end] += v[:end].T @ K[i:end, :end].T
        y[:, :i] += v[i:end].T @ K[i:end, :i]
    return y.T


def solve_kernel(K: Array, q: int, *, half: bool) -> Eigen:
    """The q largest eigenpairs of H K H; where n is large the centring is done to vectors, never to K."""
    n = len(K)
    if not half and not by_products(n, q):
        return solve(Problem(centred_gram(K)), q)

    def centred_product(v: Array) -> Array:
        y = times(K, v - v.mean(axis=0), half)
        return np.asarray(y - y.mean(axis=0))

    HKH = spl.LinearOperator((n, n), matvec=centred_product, matmat=centred_product, dtype=np.float64)
    with one_blas_thread():  # memory is the limit, not arithmetic
        return solve(Problem(HKH, space=LANCZOS_SPACE), q)


class FeatureMap(NamedTuple):
    """A finite feature map: "nystroem" k(x, rows) root, "fourier" cosines and sines of x rows'."""

    kind: str
    kernel: KernelFunction
    rows: Array  # landmarks, m x d; or frequencies, m/2 x d
    root: Array  # m x r: U S^(-1/2) of the landmarks' kernel; empty for Fourier

    @property
    def width(self) -> int:
        return self.root.shape[1] if self.kind == "nystroem" else 2 * len(self.rows)

    def of(self, X: Array) -> Array:
        """The features of these rows, one a column."""
        if self.kind == "nystroem":
            return similarities(self.kernel, X, self.rows) @ self.root
        angle = X @ self.rows.T
        return np.asarray(np.hstack([np.cos(angle), np.sin(angle)]) / np.sqrt(len(self.rows)))

    def axes(self, W: Array, mean: Array) -> tuple[Array, Array, Array]:
        """Weights, columns and origin of z = (k - columns) weights = (features - mean) W; Fourier: k are the features.

        root = U S^-1/2 is undone by U S^1/2; the origin is the mean image as a sum of the landmarks' images.
        """
        if self.kind == "fourier":
            return W, mean, np.zeros(0)
        s = 1.0 / (self.root**2).sum(axis=0)
        weights = self.root @ W
        return weights * sign_rule(weights), (mean * s) @ self.root.T, self.root @ mean


def nystroem(kernel: KernelFunction, rows: Array) -> FeatureMap:
    """phi(x) = S^(-1/2) U' k(x, rows): inner products are the kernel's own among the landmarks.

    Reference: C. K. I. Williams and M. Seeger (2001), "Using the Nystroem method to speed up kernel machines",
    Advances in Neural Information Processing Systems 13, 682-688.
    """
    K = similarities(kernel, rows, rows)
    eigen = solve(Problem((K + K.T) / 2.0), len(K))
    keep = eigen.values > len(K) * EPS * max(float(eigen.values[0]), 0.0)
    if not keep.any():
        raise error("LD415", problem="no pair of landmarks is similar at all")
    return FeatureMap("nystroem", kernel, rows, eigen.vectors[:, keep] / np.sqrt(eigen.values[keep]))


def fourier(kernel: KernelFunction, d: int, m: int, rng: np.random.Generator) -> FeatureMap:
    """phi(x) = (cos w'x, sin w'x) / sqrt(m/2), w ~ N(0, 2 gamma I): inner products near exp(-gamma |x - y|^2).

    Reference: A. Rahimi and B. Recht (2007), "Random features for large-scale kernel machines", Advances in Neural
    Information Processing Systems 20, 1177-1184.
    """
    W = rng.standard_normal((max(m // 2, 1), d)) * (np.sqrt(2.0) * np.sqrt(kernel.gamma))
    return FeatureMap("fourier", kernel, W, np.zeros((0, 0)))


class FeatureSource(View):
    """A source seen through a feature map: a table of as many columns as there are features; NaN where it has gaps."""

    def __init__(self, source: Source, f: Callable[[Array], Array], width: int) -> None:
        names = tuple(f"feature {k + 1}" for k in range(width))
        super().__init__(source, names, tile_rows(width))  # tiles by its own width, not the table's
        self.named, self.f = False, f

    def read(self, rows: slice | Index) -> tuple[Array, Mask | None]:
        raise NotImplementedError("a mapped source makes finished blocks")

    def block_of(self, rows: slice | Index, start: int = 0) -> Block:
        block = self.source.block_of(rows, start)
        whole = block.mask is None
        x = chunked(self.f, block.x, self.d) if whole else np.full((len(block.x), self.d), np.nan)
        return Block(x, None, block.weight, start)


def chunked(f: Callable[[Array], Array], X: Array, width: int) -> Array:
    """f of the rows, so many at a time that little beside the answer is held."""
    rows = max(16, CHUNK_CELLS // max(width, 1))
    if len(X) <= rows:
        return f(X)
    return np.concatenate([f(X[i : i + rows]) for i in range(0, len(X), rows)])
