"""Factors of a covariance for 0, 1, 2, ... of them, and what they say about each cell from the rest of its row.

The covariance of a table with gaps is found with a few factors, too: they say what the unseen cells are expected to be,
and how unsure that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
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
FILLING_FACTORS = (2, 8)  # factors that fill gaps: a quarter of the columns, within these
FILLING_PASSES = 8  # the most passes over the rows
FILLING_TOL = 5e-3  # shares of variance by which noises may still move


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
        G, z = self.places(r, mask[first], of)
        precision = 1.0 / self.psi - G.reshape(len(G), -1) @ outer.T
        return np.asarray((r / self.psi - z @ V.T) / precision[of] * mask)

    def places(self, r: Array, patterns: Mask, of: NDArray[np.intp]) -> tuple[Array, Array]:
        """The covariance of the factors given the seen cells o of each pattern of gaps, and where each row lies.

        G = (I + W_o' Psi_o^-1 W_o)^-1 for each of `patterns`; G W_o' Psi_o^-1 r_o for each row r, which is 0 at gaps;
        `of` is the pattern of each row.
        """
        V = self.W / self.psi[:, None]
        inner = (self.W[:, :, None] * V[:, None, :]).reshape(len(V), -1)
        precision = np.eye(self.q) + (patterns.astype(np.float64) @ inner).reshape(len(patterns), self.q, self.q)
        G = np.asarray(np.linalg.inv(precision), dtype=np.float64)
        return G, np.asarray(np.matmul(G[of], (r @ V)[:, :, None])[:, :, 0])

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


def covariance(x: Array, mask: Mask | None, rng: np.random.Generator) -> CovarianceForm:
    """Second moments of centred columns; those of gaps as EM for a few factors expects them.

    Reference: Little and Rubin, Statistical Analysis with Missing Data, Wiley, 2002, section 11.3.
    """
    n, d = x.shape
    wide = d > n
    if mask is None or mask.all():
        A = x / np.sqrt(n)
        return CovarianceForm(A if wide else A.T @ A, wide, (A**2).sum(axis=0))
    seen = mask.astype(np.float64)
    cells = np.maximum(seen.sum(axis=0), 1.0)
    # The start: factors of the covariances over the rows that have both cells; of a wide table, of its rows with gaps
    # at 0.
    if wide:
        start = CovarianceForm(x / np.sqrt(cells), True, (x**2).sum(axis=0) / cells)
    else:
        C = (x.T @ x) / np.maximum(seen.T @ seen, 1.0)
        start = CovarianceForm(C, False, np.diag(C).copy())
    k = min(int(np.clip(d // 4, *FILLING_FACTORS)), max(d - 1, 1), n)
    f = next(islice(factor_ladder(start, rng), k, None))
    # Passes: each column on the places z of the rows that have it, W_j = (sum x_j z') (sum z z' + G)^-1.
    first, of = distinct(mask)
    patterns = mask[first]
    v = np.maximum((x**2).sum(axis=0) / cells, TINY)
    for _ in range(FILLING_PASSES):
        G, z = f.places(x, patterns, of)
        moments = (z[:, :, None] * z[:, None, :] + G[of]).reshape(n, -1)
        S = (seen.T @ moments).reshape(-1, f.q, f.q)
        T = x.T @ z
        W = np.asarray(np.linalg.solve(S + 1e-9 * np.eye(f.q), T[:, :, None])[:, :, 0], dtype=np.float64)
        last, f = f, Factors(W, np.clip(v - (W * T).sum(axis=1) / cells, LEAST_NOISE * v, v))
        if float(np.abs(f.psi - last.psi).max()) < FILLING_TOL:
            break
    # (1/n) sum E[x x']: gaps on their expected values, and the covariance W_m G W_m' + Psi_m of what is left open; of
    # a wide table that is counted in the variances alone.
    G, z = f.places(x, patterns, of)
    filled = np.where(mask, x, z @ f.W.T)
    if wide:
        A = filled / np.sqrt(n)
        return CovarianceForm(A, True, (A**2).sum(axis=0) + (1.0 - seen.mean(axis=0)) * f.psi)
    gone = (~patterns).astype(np.float64)
    count = np.bincount(of, minlength=len(patterns)).astype(np.float64)
    C = filled.T @ filled
    for i in range(f.q):
        for j in range(i + 1):
            both = gone.T @ (gone * (count * G[:, i, j])[:, None])
            pair = np.outer(f.W[:, i], f.W[:, j])
            C += both * (pair if j == i else pair + pair.T)
    C[np.diag_indices(d)] += (count @ gone) * f.psi
    C /= n
    return CovarianceForm(C, False, np.diag(C).copy())
