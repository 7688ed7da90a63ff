"""Kernel matrices and their eigenpairs; finite features in their place: landmarks and frequencies, through the fold."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse.linalg as spl
from numpy.typing import NDArray
from scipy.linalg.blas import dsymv

from lowdim.engine.fold import one_blas_thread
from lowdim.math.distances import centred_gram
from lowdim.math.eigen import Eigen, Problem, solve
from lowdim.math.kernels import Kernel
from lowdim.math.linalg import EPS, Array, Mask, sign_rule
from lowdim.math.neighbors import exact_distances, squared_distances
from lowdim.models.spectral.preimage import gaussian
from lowdim.sources.source import Block, Source
from lowdim.sources.views import View
from lowdim.text.messages import error

PRODUCTS = 1e6  # gamma |x|^2 up to which distances by products leave a Gaussian kernel ten digits
BLOCK = 2**21  # similarities worked on at once, 16 MB
KRYLOV = 600  # rows from which few eigenpairs come cheaper by products than by a factorisation
SPACE = 32  # vectors Lanczos keeps at least: a third fewer products than with 20, and they cost most
STRIP = 256  # rows of a kernel matrix made at once: they stay in the cache between product and exponential


def similarities(kernel: Kernel, X: Array, Y: Array) -> Array:
    """k(x, y) of all pairs: finite, of the right shape, and for narrow Gaussians from exact differences."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if kernel.name == "gaussian":
            size = float((Y**2).sum(axis=1).max(initial=0.0))
            exact = not kernel.gamma * size <= PRODUCTS
            return gaussian(exact_distances(X, Y) ** 2 if exact else squared_distances(X, Y), kernel.gamma)
        K = kernel(X, Y)
    if K.shape != (len(X), len(Y)):
        raise error(
            "LD415",
            problem=f"a callable must take tables of {len(X)} and {len(Y)} rows and give that many "
            f"rows and columns; it gave {K.shape}",
        )
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
    K, kernel = np.zeros((n, n)), Kernel("gaussian", gamma)
    with np.errstate(over="ignore", invalid="ignore"):
        a = gamma * (X**2).sum(axis=1)
    narrow = not float(a.max(initial=0.0)) <= PRODUCTS
    one, root = np.ones(n), np.sqrt(2.0) * np.sqrt(gamma)
    left, right = np.column_stack([root * X, -a, one]), np.column_stack([root * X, one, -a])
    with one_blas_thread():  # strips are thin: threads would wait for each other more than they work
        for i in range(0, n, STRIP):
            end = min(i + STRIP, n) if half else n
            part = K[i : i + STRIP, :end]
            if narrow:
                part[...] = similarities(kernel, X[i : i + STRIP], X[:end])
                continue
            np.matmul(left[i : i + STRIP], right[:end].T, out=part)
            np.minimum(part, 0.0, out=part)
            np.exp(part, out=part)
    np.fill_diagonal(K, 1.0)
    return K


def by_products(n: int, q: int) -> bool:
    """Whether q eigenpairs of n x n numbers come cheaper by products with vectors than by a factorisation."""
    return n > KRYLOV and q <= n // 20


def times(K: Array, v: Array, half: bool) -> Array:
    """K v of a symmetric matrix of which perhaps only the half below the diagonal is there."""
    return np.asarray(dsymv(1.0, K.T, v, lower=0) if half else K @ v)


def solved(K: Array, q: int, *, half: bool) -> Eigen:
    """The q largest eigenpairs of H K H; where n is large the centring is done to vectors, never to K."""
    n = len(K)
    if not half and not by_products(n, q):
        return solve(Problem(centred_gram(K)), q)

    def operate(v: Array) -> Array:
        y = times(K, v.ravel() - v.mean(), half)
        return np.asarray(y - y.mean())

    H = spl.LinearOperator((n, n), matvec=operate, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(n)
    with one_blas_thread():  # memory is the limit, not arithmetic
        values, V = spl.eigsh(H, q, which="LA", ncv=min(n - 1, max(4 * q, SPACE)), v0=start, tol=0)
        values, V = values[::-1].copy(), V[:, ::-1] * sign_rule(V[:, ::-1])
        off = max(float(np.linalg.norm(operate(v) - value * v)) for value, v in zip(values, V.T, strict=True))
    return Eigen(values, V, off / max(float(np.abs(values).max()), 1e-300), "Lanczos")


class Features(NamedTuple):
    """A finite feature map: "nystroem" k(x, rows) root, "fourier" cosines and sines of x rows'."""

    kind: str
    kernel: Kernel
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
        return np.hstack([np.cos(angle), np.sin(angle)]) / np.sqrt(len(self.rows))

    def axes(self, W: Array, mean: Array) -> tuple[Array, Array, Array]:
        """Weights, columns and origin of z = (k - columns) weights = (features - mean) W; Fourier: k are the features.

        root = U S^-1/2 is undone by U S^1/2; the origin is the mean image as a sum of the landmarks' images.
        """
        if self.kind == "fourier":
            return W, mean, np.zeros(0)
        s = 1.0 / (self.root**2).sum(axis=0)
        weights = self.root @ W
        return weights * sign_rule(weights), (mean * s) @ self.root.T, self.root @ mean


def nystroem(kernel: Kernel, rows: Array) -> Features:
    """phi(x) = S^(-1/2) U' k(x, rows): inner products are the kernel's own among the landmarks.

    Reference: Williams and Seeger (2001), NIPS 13.
    """
    K = similarities(kernel, rows, rows)
    values, U = np.linalg.eigh((K + K.T) / 2.0)
    keep = values > len(K) * EPS * max(float(values[-1]), 0.0)
    if not keep.any():
        raise error("LD415", problem="no pair of landmarks is similar at all")
    return Features("nystroem", kernel, rows, U[:, keep] / np.sqrt(values[keep]))


def fourier(kernel: Kernel, d: int, m: int, rng: np.random.Generator) -> Features:
    """phi(x) = (cos w'x, sin w'x) / sqrt(m/2), w ~ N(0, 2 gamma I): inner products near exp(-gamma |x - y|^2).

    Reference: Rahimi and Recht (2007), NIPS 20.
    """
    W = rng.standard_normal((max(m // 2, 1), d)) * (np.sqrt(2.0) * np.sqrt(kernel.gamma))
    return Features("fourier", kernel, W, np.zeros((0, 0)))


class Mapped(View):
    """A complete source seen through a feature map: a table of as many columns as there are features."""

    def __init__(
        self, source: Source, f: Callable[[Array], Array], width: int, refuse: Callable[[int, str, int], None]
    ) -> None:
        super().__init__((source.n, width), None, source.weight)  # tiles by its own width, not the table's
        self.source, self.f, self.refuse = source, f, refuse

    def read(self, rows: slice | NDArray[np.intp]) -> tuple[Array, Mask | None]:
        raise NotImplementedError("a mapped source makes finished blocks")

    @property
    def is_sparse(self) -> bool:
        return False

    def block_of(self, rows: slice | NDArray[np.intp], start: int = 0) -> Block:
        block = self.source.block_of(rows, start)
        if block.mask is not None:
            row, j = np.argwhere(~block.mask)[0]
            self.refuse(start + int(row), self.source.columns[j], int((~block.mask).sum()))
        return Block(chunked(self.f, block.x, self.d), None, block.weight, start)


def chunked(f: Callable[[Array], Array], X: Array, width: int) -> Array:
    """f of the rows, so many at a time that little beside the answer is held."""
    rows = max(16, BLOCK // max(width, 1))
    if len(X) <= rows:
        return f(X)
    return np.concatenate([f(X[i : i + rows]) for i in range(0, len(X), rows)])
