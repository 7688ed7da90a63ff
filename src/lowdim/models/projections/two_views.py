"""Two views of the same rows: their canonical correlations, the model that shares them, and tests of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import f as f_law

from lowdim.maths.gaps import Scatter
from lowdim.maths.linalg import EPS, Array, align, floored, floored_eigh, half_root, sign_rule, svd
from lowdim.models.projections.covariance import LEAST_VARIANCE, NULL_VARIANCE

VIEW_RANK_SHARE = 1e-12  # singular values below this share of the largest are rounding: a dozen digits survive a QR
LEAST_VARIANCE_SHARE = 1e-10  # least variance of a direction in the density, where columns have unit variance
CLOSE_TO_ONE = 1e-8  # the density keeps its correlations this far below 1, where it would be singular


# canonical correlations --------------------------------------------------------------------------------
class Canonical(NamedTuple):
    """The canonical analysis of two views: all correlations, falling, and what makes them."""

    rho: Array  # m = min of the two ranks
    first: Array  # d1 x m: (x - mean) first has unit variance and correlates by rho with
    second: Array  # d2 x m: (y - mean) second
    loading: Array  # (d1 + d2) x m: covariance of the columns with their own view's variates
    block: Array  # d x d: the covariance within each view, no direction below the floor
    ranks: tuple[int, int]
    condition: float
    variates: tuple[Array, Array]  # the two sets of orthonormal singular vectors, for the certificate


class ColumnView(NamedTuple):
    """One view by its factor F = Q diag(s) V', F'F = n S."""

    Q: Array
    s: Array  # falling
    V: Array  # all its directions, the first `rank` with variance
    rank: int
    n: float

    def turned(self, A: Array) -> tuple[Array, Array]:
        """Weights with unit variance along the columns of A (in the whitened view), and the loadings of these."""
        V, s = self.V[:, : self.rank], self.s[: self.rank, None]
        wide = np.sqrt(np.maximum(s**2 / self.n, LEAST_VARIANCE_SHARE))
        return V @ (A * (np.sqrt(self.n) / s)), V @ (A * wide)

    @property
    def covariance(self) -> Array:
        """S, no direction below the floor."""
        there = np.arange(len(self.s)) < self.rank
        values = np.where(there, np.maximum(self.s**2 / self.n, LEAST_VARIANCE_SHARE), NULL_VARIANCE)
        return (self.V * values) @ self.V.T

    @property
    def condition(self) -> float:
        return float(self.s[0] / self.s[self.rank - 1]) if self.rank else 1.0


def view_of(F: Array, n: float) -> ColumnView:
    """A view by its factor."""
    Q, s, Vt = svd(F)
    rank = int((s > VIEW_RANK_SHARE * s[0]).sum()) if len(s) and s[0] > 0.0 else 0
    return ColumnView(Q, s, Vt.T, rank, n)


def canonical_analysis(F1: Array, F2: Array, n: float) -> Canonical:
    """The canonical analysis of two views from factors of their joint scatter, F'F = n S.

    The correlations are the singular values of Q1'Q2, Q being orthonormal coordinates of each view.

    Reference: A. Bjorck and G. H. Golub (1973), "Numerical methods for computing angles between linear subspaces".
    """
    # Each view whitened; between the two, correlations are singular values.
    one, two = view_of(F1, n), view_of(F2, n)
    if one.rank and two.rank:
        U, rho, Vt = svd(one.Q[:, : one.rank].T @ two.Q[:, : two.rank])
    else:
        U, rho, Vt = np.zeros((one.rank, 0)), np.zeros(0), np.zeros((0, two.rank))
    # Back in the columns: weights of unit variance, loadings, and each view's own covariance.
    (first, x_loading), (second, y_loading) = one.turned(U), two.turned(Vt.T)
    loading = np.concatenate([x_loading, y_loading])
    flip = sign_rule(loading)
    d1, d = len(first), len(loading)
    block = np.zeros((d, d))
    block[:d1, :d1] = one.covariance
    block[d1:, d1:] = two.covariance
    return Canonical(
        rho=np.minimum(rho, 1.0),
        first=first * flip,
        second=second * flip,
        loading=loading * flip,
        block=block,
        ranks=(one.rank, two.rank),
        condition=max(one.condition, two.condition),
        variates=(U, Vt.T),
    )


def model_canonical(C: Array, d1: int) -> Canonical:
    """The canonical analysis of a covariance."""
    F = half_root(C).T
    return canonical_analysis(F[:, :d1], F[:, d1:], 1.0)


# the model with q shared positions -----------------------------------------------------------------------
def shared_factors(analysis: Canonical, q: int) -> tuple[Array, Array]:
    """W (d x q) and the noise (d x d, two blocks) of the model with q correlations, those at 1 kept just below.

    Bach and Jordan (2005), theorem 2: W_m = S_mm U_m P^(1/2), and what W_m W_m' leaves of S_mm.
    """
    rho = np.zeros(q)
    rho[: min(q, len(analysis.rho))] = np.minimum(analysis.rho[:q], 1.0 - CLOSE_TO_ONE)
    W = np.zeros((len(analysis.loading), q))
    W[:, : len(analysis.rho)] = analysis.loading[:, :q]
    W *= np.sqrt(rho)
    return W, analysis.block - within_blocks(W @ W.T, len(analysis.first))


def within_blocks(C: Array, d1: int) -> Array:
    """The two diagonal blocks of a matrix, zero elsewhere."""
    out = np.zeros_like(C)
    out[:d1, :d1] = C[:d1, :d1]
    out[d1:, d1:] = C[d1:, d1:]
    return out


def bounded(noise: Array, d1: int) -> Array:
    """A noise covariance of two blocks with no direction below the bound of EM."""
    out = np.zeros_like(noise)
    for at in (slice(d1), slice(d1, None)):
        out[at, at] = floored(noise[at, at], LEAST_VARIANCE)
    return out


def regress_views(sums: Scatter, W: Array, mu: Array, noise: Array, d1: int) -> tuple[Array, Array, Array]:
    """One expanded M-step of x = mu + W z + e: new W, mean and noise (two full blocks).

    With z ~ N(nu, P) let free and absorbed again, the step is W = Cov[x, z] P^(-1/2), mu + E[x], and what W
    leaves of each view's covariance, no direction below the bound (clipping is the exact bounded maximum).
    """
    # E-step of z: its regression on the cells; P = E[zz'], which is absorbed.
    C = sums.covariance()  # of the rows with their gaps expected
    B = np.linalg.solve(W @ W.T + noise, W)  # E[z | x] = B'(x - mu)
    P = np.eye(W.shape[1]) - W.T @ B + B.T @ C @ B
    values, U = floored_eigh(P, EPS)
    # M-step: W = Cov[x, z] P^(-1/2), and each view keeps what that leaves of its own covariance.
    new = C @ B @ (U / np.sqrt(values)) @ U.T
    left = within_blocks(C - new @ new.T, d1)
    return align(new, W) if W.shape[1] else new, mu + sums.s / sums.n, bounded(left, d1)


# tests ---------------------------------------------------------------------------------------------------
class CanonicalTest(NamedTuple):
    """Are all correlations from the `first`-th (from 1) on zero? One of four statistics with its F.

    Roy's F is an upper bound, so its p is a lower one.
    """

    first: int
    correlation: float  # the largest of them
    statistic: str
    value: float
    F: float
    df1: float
    df2: float
    p: float


def canonical_tests(rho: Array, ranks: tuple[int, int], n: float) -> tuple[CanonicalTest, ...]:
    """Wilks, Pillai, Hotelling-Lawley and Roy for each number of remaining correlations, those that exist.

    For those from k + 1 on, the two views count p - k and q - k columns and the rows n - k.
    Wilks: Rao's F; Pillai's and Roy's as usual; Hotelling-Lawley: McKeon's F, Pillai and Samson's where rows are few.

    Reference: Rao (1951); Pillai (1955); McKeon, Biometrika 61 (1974); Muller and Peterson (1984).
    """
    tests = []
    for k in range(len(rho)):
        for name, *numbers in _statistics(rho[k:] ** 2, ranks[0] - k, ranks[1] - k, n - k):
            value, F, df1, df2 = map(float, numbers)
            if df1 > 0.0 and df2 > 0.0 and np.isfinite(F) and np.isfinite(value):
                p = float(f_law.sf(F, df1, df2))
                tests.append(CanonicalTest(k + 1, float(rho[k]), name, value, F, df1, df2, p))
    return tuple(tests)


def _statistics(r2: Array, p: int, q: int, n: float) -> list[tuple[str, float, float, float, float]]:
    """(name, value, F, df1, df2) of the four statistics of squared correlations r2."""
    s, m, v = min(p, q), (abs(p - q) - 1) / 2.0, (n - p - q - 2.0) / 2.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(r2 < 1.0, r2 / np.maximum(1.0 - r2, np.finfo(float).tiny), np.inf)
        rows = [("Wilks", float(np.prod(1.0 - r2)), *_wilks(float(np.prod(1.0 - r2)), p, q, n))]
        V, a, b = float(r2.sum()), s * (2.0 * m + s + 1.0), s * (2.0 * v + s + 1.0)
        rows.append(("Pillai", V, b / a * V / (s - V) if s > V else np.inf, a, b))
        rows.append(("Hotelling-Lawley", float(ratio.sum()), *_hotelling(float(ratio.sum()), p, q, s, m, v)))
        r = max(p, q)
        rows.append(("Roy", float(ratio[0]), float(ratio[0]) * (n - 1.0 - r) / r, float(r), n - 1.0 - r))
    return rows


def _wilks(value: float, p: int, q: int, n: float) -> tuple[float, float, float]:
    square = p * p + q * q - 5
    t = np.sqrt((p * p * q * q - 4) / square) if square > 0 else 1.0
    df1, df2 = float(p * q), (n - 1.5 - (p + q) / 2.0) * t - p * q / 2.0 + 1.0
    part = value ** (1.0 / t)
    return (1.0 - part) / part * df2 / df1 if part > 0.0 else np.inf, df1, float(df2)


def _hotelling(U: float, p: int, q: int, s: int, m: float, v: float) -> tuple[float, float, float]:
    if v > 1.0:
        b = (p + 2.0 * v) * (q + 2.0 * v) / (2.0 * (2.0 * v + 1.0) * (v - 1.0))
        df1, df2 = float(p * q), 4.0 + (p * q + 2.0) / (b - 1.0)
        return df2 / df1 * U * 2.0 * v / (df2 - 2.0), df1, df2
    df1, df2 = s * (2.0 * m + s + 1.0), 2.0 * (s * v + 1.0)
    return df2 * U / (s * df1), df1, df2
