"""Factors of a covariance for 0, 1, 2, ... of them, and what they say about each cell from the rest of its row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from lowdim.maths.linalg import Array, Mask, distinct, largest

LEAST_NOISE = 0.02  # share of its variance that a column keeps as noise: predictions gain nothing below it
NOISE_STEPS = 25  # the most updates of the noises for one number of factors
NOISE_TOL = 2e-3  # shares of variance by which noises may still move
DIRECT_ORDER = 48  # up to this order eigenvectors come from LAPACK, beyond from products with the last ones;
DIRECT_ROWS = 160  # of rows that stand for a covariance, whose products are long, up to so many
PRODUCTS = 3  # products between two updates of the noises
SPARE = 4  # vectors beyond those asked for, so that the products converge and the next one is at hand
TINY = 1e-12  # variance of a column that has none


class CovarianceForm(NamedTuple):
    """A covariance: itself, or rows A with A'A where there are fewer rows than columns."""

    matrix: Array  # d x d, or n x d
    is_rows: bool
    variance: Array  # d

    def leading(self, root: Array, k: int, start: Array) -> tuple[Array, Array]:
        """The k largest eigenpairs of the covariance, each column over its `root`; `start` has vectors near them."""
        A = self.matrix / root if self.is_rows else self.matrix / np.outer(root, root)
        if len(A) > (DIRECT_ROWS if self.is_rows else DIRECT_ORDER):
            return _by_products(A, self.is_rows, k, start)
        if not self.is_rows:
            return largest(A, k)
        values, V = largest(A @ A.T, min(k, len(A)))
        return values, (A.T @ V) / np.sqrt(np.maximum(values, 1e-300))


def _by_products(A: Array, is_rows: bool, k: int, start: Array) -> tuple[Array, Array]:
    """Products with `start`, and the best k vectors of the space they end in (Rayleigh and Ritz).

    Made orthogonal once, at the end: eigenvalues that matter are above 1 and below d / LEAST_NOISE.
    """
    U = start
    for _ in range(PRODUCTS):
        U = A.T @ (A @ U) if is_rows else A @ U
    U = _orthonormal(U)
    B = A @ U
    values, V = largest(B.T @ B if is_rows else U.T @ B, k)
    return values, U @ V


def _orthonormal(A: Array) -> Array:
    """Columns that span what the columns of A span; numpy's qr takes as long again for its checks."""
    k = min(A.shape)
    packed, tau, _, _ = lapack.dgeqrf(A[:, :k], lwork=32 * k)
    return np.asarray(lapack.dorgqr(packed, tau, lwork=32 * k)[0])


class Factors(NamedTuple):
    """Sigma = W W' + diag(psi)."""

    W: Array  # d x q
    psi: Array  # d

    @property
    def q(self) -> int:
        return int(self.W.shape[1])

    def cell_errors(self, r: Array, mask: Mask | None) -> Array:
        """Each seen cell less what the other seen cells of its row say; gaps have 0.

        With the precision P of a row's seen cells that is (P r)_j / P_jj. By Woodbury P = Psi^-1 - V G V' with
        V = Psi^-1 W, G = (I + W' Psi^-1 W)^-1: nothing larger than q x q is inverted, once for each pattern of gaps.
        """
        V = self.W / self.psi[:, None]
        outer = (V[:, :, None] * V[:, None, :]).reshape(len(V), -1)
        if mask is None:
            G = np.linalg.inv(np.eye(self.q) + self.W.T @ V)
            return np.asarray((r / self.psi - (r @ V @ G) @ V.T) / (1.0 / self.psi - outer @ G.ravel()))
        first, of = distinct(mask)
        G = pattern_covariances(self, mask[first])
        precision = 1.0 / self.psi - G.reshape(len(G), -1) @ outer.T
        return np.asarray((r / self.psi - positions(self, r, G[of]) @ V.T) / precision[of] * mask)

    def log_likelihood(self, S: CovarianceForm, n: float) -> float:
        """Of n rows with covariance S: -n/2 (d log 2 pi + log|Sigma| + tr Sigma^-1 S)."""
        V = self.W / self.psi[:, None]
        inner = np.eye(self.q) + self.W.T @ V
        B = S.matrix @ V
        explained = np.linalg.solve(inner, B.T @ B if S.is_rows else V.T @ B)
        trace = float((S.variance / self.psi).sum() - np.trace(explained))
        logdet = float(np.log(self.psi).sum()) + float(np.linalg.slogdet(inner)[1])
        return -0.5 * n * (len(self.psi) * float(np.log(2 * np.pi)) + logdet + trace)


def factor_ladder(S: CovarianceForm, rng: np.random.Generator) -> Iterator[Factors]:
    """Factor analysis with 0, 1, 2, ... factors, a noise for each column, each from the noises of the last.

    The best W for given noises is Psi^1/2 U (theta - 1)^1/2, theta and U leading eigenpairs of Psi^-1/2 C Psi^-1/2;
    then Psi = diag(C - W W'), until it stays.

    Reference: Lawley and Maxwell (1971), Factor Analysis as a Statistical Method, section 2.3.
    """
    d = len(S.variance)
    v = np.maximum(S.variance, TINY)
    psi, spare = v, rng.standard_normal((d, SPARE))
    U = np.zeros((d, 0))
    yield Factors(U, psi)
    for q in range(1, d + 1):
        for _ in range(NOISE_STEPS):
            root = np.sqrt(psi)
            theta, U = S.leading(root, q, np.column_stack([U, spare]))
            W = root[:, None] * U * np.sqrt(np.maximum(theta - 1.0, 0.0))
            last, psi = psi, np.clip(v - (W**2).sum(axis=1), LEAST_NOISE * v, v)
            if float(np.abs(psi - last).max()) < NOISE_TOL:
                break
        yield Factors(W, psi)


def principal_ladder(S: CovarianceForm, most: int) -> Iterator[Factors]:
    """Probabilistic PCA with 0, ..., `most` axes, one noise for all columns: W = U (lambda - s2)^1/2, s2 the mean rest.

    Reference: Tipping and Bishop (1999), Probabilistic principal component analysis, section 3.2.
    """
    d, total = len(S.variance), float(S.variance.sum())
    if S.is_rows:
        values, V = largest(S.matrix @ S.matrix.T, min(most, len(S.matrix)))
        U = (S.matrix.T @ V) / np.sqrt(np.maximum(values, 1e-300))
    else:
        values, U = largest(S.matrix, most)
    for q in range(len(values) + 1):
        s2 = max((total - float(values[:q].sum())) / max(d - q, 1), 1e-9 * total / d, TINY)
        yield Factors(U[:, :q] * np.sqrt(np.maximum(values[:q] - s2, 0.0)), np.full(d, s2))


def pattern_covariances(f: Factors, mask: Mask) -> Array:
    """The covariance of the factors given the seen cells, (I + W_o' Psi_o^-1 W_o)^-1, for each row of a mask."""
    inner = (f.W[:, :, None] * (f.W / f.psi[:, None])[:, None, :]).reshape(len(f.W), -1)
    precision = np.eye(f.q) + (mask.astype(np.float64) @ inner).reshape(len(mask), f.q, f.q)
    return np.asarray(np.linalg.inv(precision), dtype=np.float64)


def positions(f: Factors, r: Array, G: Array) -> Array:
    """Where each row lies: G W_o' Psi_o^-1 r_o, with r = 0 at gaps."""
    return np.asarray(np.matmul(G, (r @ (f.W / f.psi[:, None]))[:, :, None])[:, :, 0])
