"""Canonical correlations of two views, their tests, and a whole Gaussian seen through gaps.

Two views with factors F1, F2 (F'F = n S): F_m = Q_m diag(s_m) V_m', and the singular values of Q1'Q2 are the
canonical correlations; nothing is squared that was not squared before.

A Gaussian N(mu, C) of which row i shows only some cells: with P_i the inverse of C over them (zero elsewhere),
r_i = x_i - mu and y_i = P_i r_i, every expectation an EM needs follows from the three sums n, s = sum y_i and
Q = sum (y_i y_i' - P_i): sum E[r] = C s, and sum E[r r'] = n C + C Q C. RowNumbers of one pattern share one P.

Reference: Bjoerck and Golub, Math. Comp. 27 (1973), sec. 2; Bach and Jordan (2005), thm. 2; the sums re-derived.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import EPS, Array, Mask, align, distinct, sign_rule, svd

RowNumbers = NDArray[np.intp]
VIEW_RANK_SHARE = 1e-12  # singular values below this share of the largest are rounding: a dozen digits survive a QR
NULL_VARIANCE = 1e-6  # of a direction a view does not have: far below any that matters, no digits are lost to it
LEAST_VARIANCE_SHARE = 1e-10  # least variance of a direction in the density, where columns have unit variance
CLOSE_TO_ONE = 1e-8  # the density keeps its correlations this far below 1, where it would be singular
LEAST_VIEW_NOISE = 1e-6  # variance of any direction in EM: below it rows are fitted exactly and nothing is learnt
PATTERN_NUMBERS = 2**19  # numbers (4 MB) in the little matrices held at a time
PATTERN_ROWS = 16  # rows of one pattern from which one product for all of them beats one product each


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


def canonical_analysis(F1: Array, F2: Array, n: float) -> Canonical:
    """The canonical analysis of two views from factors of their joint scatter, F'F = n S."""
    (Q1, s1, V1, r1), (Q2, s2, V2, r2) = (_view(F) for F in (F1, F2))
    U, rho, Vt = svd(Q1[:, :r1].T @ Q2[:, :r2]) if r1 and r2 else (np.zeros((r1, 0)), np.zeros(0), np.zeros((0, r2)))
    turned = []
    for s, V, r, A in ((s1, V1, r1, U), (s2, V2, r2, Vt.T)):
        wide = np.sqrt(np.maximum(s[:r] ** 2 / n, LEAST_VARIANCE_SHARE))
        turned.append((V[:, :r] @ (A * (np.sqrt(n) / s[:r, None])), V[:, :r] @ (A * wide[:, None])))
    flip = sign_rule(np.concatenate([turned[0][1], turned[1][1]]))
    d1, d = len(V1), len(V1) + len(V2)
    block = np.zeros((d, d))
    for at, s, V, r in ((slice(d1), s1, V1, r1), (slice(d1, d), s2, V2, r2)):
        block[at, at] = (
            V * np.where(np.arange(len(s)) < r, np.maximum(s**2 / n, LEAST_VARIANCE_SHARE), NULL_VARIANCE)
        ) @ V.T
    conditions = [s[0] / s[r - 1] for s, r in ((s1, r1), (s2, r2)) if r]
    return Canonical(
        np.minimum(rho, 1.0),
        turned[0][0] * flip,
        turned[1][0] * flip,
        np.concatenate([turned[0][1], turned[1][1]]) * flip,
        block,
        (r1, r2),
        float(max(conditions, default=1.0)),
        (U, Vt.T),
    )


def _view(F: Array) -> tuple[Array, Array, Array, int]:
    """Q, s, V and the rank of one view, all directions of V there."""
    Q, s, Vt = svd(F)
    return Q, s, Vt.T, int((s > VIEW_RANK_SHARE * s[0]).sum()) if len(s) and s[0] > 0.0 else 0


def scatter_factor(S: Array, n: float) -> Array:
    """F with F'F = n S, for any covariance; what is below zero by rounding counts as zero."""
    values, U = np.linalg.eigh(S)
    F: Array = np.sqrt(np.maximum(values, 0.0) * n)[:, None] * U.T
    return F


def shared_factors(analysis: Canonical, q: int) -> tuple[Array, Array]:
    """W (d x q) and the noise (d x d, two blocks) of the model with q correlations, those at 1 kept just below."""
    rho = np.zeros(q)
    rho[: min(q, len(analysis.rho))] = np.minimum(analysis.rho[:q], 1.0 - CLOSE_TO_ONE)
    W = np.zeros((len(analysis.loading), q))
    W[:, : len(analysis.rho)] = analysis.loading[:, :q]
    W *= np.sqrt(rho)
    return W, analysis.block - within_blocks(W @ W.T, len(analysis.first))


def within_blocks(C: Array, d1: int) -> Array:
    """The two diagonal blocks of a matrix, zero elsewhere."""
    out = np.zeros_like(C)
    out[:d1, :d1], out[d1:, d1:] = C[:d1, :d1], C[d1:, d1:]
    return out


# a Gaussian seen through gaps ----------------------------------------------------------------------------
class SeenSums(NamedTuple):
    """What rows with gaps say of a Gaussian's mean and covariance; plain sums."""

    n: float
    log_density: float
    s: Array  # sum of P r                      d
    Q: Array  # sum of P r r' P - P             d x d

    def merge(self, other: Self) -> Self:
        parts: Any = zip(self, other, strict=True)
        return type(self)(*(a + b for a, b in parts))


class Pattern(NamedTuple):
    """RowNumbers, the pattern of each, and for every pattern N with N'N = P and the log determinant of 1/P."""

    rows: RowNumbers
    which: RowNumbers
    N: Array  # u x d x d
    logdet: Array  # u

    def whiten(self, r: Array) -> Array:
        """N r of each of the rows."""
        r = r[self.rows]
        white: Array = r @ self.N[0].T if len(self.N) == 1 else np.matmul(self.N[self.which], r[:, :, None])[:, :, 0]
        return white

    def back(self, t: Array) -> Array:
        """N' t of each of the rows."""
        rows: Array = t @ self.N[0] if len(self.N) == 1 else np.matmul(t[:, None, :], self.N[self.which])[:, 0, :]
        return rows


def patterns(mask: Mask | None, rows: int, C: Array) -> Iterator[Pattern]:
    """The rows by their patterns of gaps, a few little matrices at a time."""
    d = len(C)
    if mask is None:
        yield Pattern(np.arange(rows), np.zeros(rows, dtype=np.intp), *_factors(C, np.ones((1, d), dtype=bool)))
        return
    first, which = distinct(mask)
    seen, count, order = mask[first], np.bincount(which), np.argsort(which, kind="stable")
    step = max(PATTERN_NUMBERS // (d * d), 1)
    for k in np.flatnonzero(count >= PATTERN_ROWS):
        at = order[np.searchsorted(which[order], k) :][: count[k]]
        yield Pattern(at, np.zeros(len(at), dtype=np.intp), *_factors(C, seen[k : k + 1]))
    few = order[(count < PATTERN_ROWS)[which[order]]]
    for begin in range(0, len(few), step):
        at = few[begin : begin + step]
        used, place = np.unique(which[at], return_inverse=True)
        yield Pattern(at, place.ravel(), *_factors(C, seen[used]))


def _factors(C: Array, seen: Mask) -> tuple[Array, Array]:
    """For each pattern N = L^-1 over the seen cells, LL' = C over them, and log |C| there."""
    d = len(C)
    A = np.where(seen[:, :, None] & seen[:, None, :], C, 0.0)
    A[:, np.arange(d), np.arange(d)] += ~seen
    try:
        L = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        values, U = np.linalg.eigh(A)
        values = np.maximum(values, d * EPS * values[:, -1:])
        R = np.linalg.qr(np.sqrt(values)[:, :, None] * U.transpose(0, 2, 1), mode="r")
        L = (R * np.sign(np.diagonal(R, axis1=1, axis2=2))[:, :, None]).transpose(0, 2, 1)
    N = np.linalg.solve(L, np.broadcast_to(np.eye(d), L.shape)) * seen[:, :, None]
    return np.asarray(N, dtype=np.float64), np.asarray(2.0 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1))


def seen_sums(r: Array, mask: Mask | None, weight: Array | None, C: Array) -> SeenSums:
    """The sums of a block of residuals r = x - mu, zero at gaps."""
    rows, d = r.shape
    w = np.ones(rows) if weight is None else weight
    cells = np.full(rows, float(d)) if mask is None else mask.sum(axis=1)
    total, s, Q = 0.0, np.zeros(d), np.zeros((d, d))
    for part in patterns(mask, rows, C):
        t, weights = part.whiten(r), w[part.rows]
        y = part.back(t)
        total -= 0.5 * float(weights @ (cells[part.rows] * LOG_TWO_PI + part.logdet[part.which] + (t * t).sum(axis=1)))
        s += weights @ y
        N = part.N * np.sqrt(np.bincount(part.which, weights, len(part.N)))[:, None, None]
        N = N.reshape(-1, d)
        Q += (y * weights[:, None]).T @ y - N.T @ N
    return SeenSums(float(w.sum()), total, s, Q)


class GivenSeen(NamedTuple):
    """Of each row: y = P r, the log density of its seen cells, and the covariance of A'r given them."""

    y: Array
    log_density: Array
    covariance: Array  # n x k(k+1)/2 packed: A'CA - A'C P C A, or its diagonal


def given_seen(
    r: Array, mask: Mask | None, C: Array, A: Array, prior: Array, pick: tuple[RowNumbers, RowNumbers]
) -> GivenSeen:
    """Each row's y and log density, and entries `pick` of prior - A' P A for a matrix A (d x k) of covariances."""
    rows, d = r.shape
    cells = np.full(rows, float(d)) if mask is None else mask.sum(axis=1)
    y, log_density, covariance = np.empty((rows, d)), np.empty(rows), np.empty((rows, len(pick[0])))
    for part in patterns(mask, rows, C):
        t = part.whiten(r)
        y[part.rows] = part.back(t)
        log_density[part.rows] = -0.5 * (cells[part.rows] * LOG_TWO_PI + part.logdet[part.which] + (t * t).sum(axis=1))
        B = part.N @ A
        explained = np.einsum("udi,udi->ui", B[:, :, pick[0]], B[:, :, pick[1]])
        covariance[part.rows] = (prior[pick] - explained)[part.which]
    return GivenSeen(y, log_density, covariance)


def drawn_gaps(r: Array, mask: Mask | None, C: Array, normal: Array) -> Array:
    """r with its gaps drawn jointly given the seen cells; `normal` holds a standard normal for each cell."""
    out = np.empty_like(r)
    for part in patterns(mask, len(r), C):
        B = part.N @ C
        values, U = np.linalg.eigh(C - B.transpose(0, 2, 1) @ B)
        half = U * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        mean = part.back(part.whiten(r)) @ C
        out[part.rows] = mean + (half[part.which] @ normal[part.rows][:, :, None])[:, :, 0]
    return out


# the M-step of the two-view model ---------------------------------------------------------------------------
def regress_views(sums: SeenSums, W: Array, mu: Array, noise: Array, d1: int) -> tuple[Array, Array, Array]:
    """One expanded M-step of x = mu + W z + e: new W, mean and noise (two full blocks).

    With z ~ N(nu, P) let free and absorbed again, the step is W = Cov[x, z] P^(-1/2), mu + E[x], and what W
    leaves of each view's covariance, no direction below the bound (clipping is the exact bounded maximum).
    """
    C = W @ W.T + noise
    s, Q = sums.s / sums.n, sums.Q / sums.n
    ez, ex = W.T @ s, C @ s
    P = np.eye(W.shape[1]) + W.T @ Q @ W - np.outer(ez, ez)
    cross = W + C @ Q @ W - np.outer(ex, ez)
    values, U = np.linalg.eigh(P)
    new = cross @ (U / np.sqrt(np.maximum(values, EPS))) @ U.T
    unexplained = within_blocks(C + C @ Q @ C - np.outer(ex, ex) - new @ new.T, d1)
    return align(new, W) if W.shape[1] else new, mu + ex, bounded(unexplained, d1)


def bounded(noise: Array, d1: int) -> Array:
    """A noise covariance of two blocks with no direction below the bound."""
    out = np.zeros_like(noise)
    for at in (slice(d1), slice(d1, len(noise))):
        values, U = np.linalg.eigh((noise[at, at] + noise[at, at].T) / 2.0)
        out[at, at] = (U * np.maximum(values, LEAST_VIEW_NOISE)) @ U.T
    return out


def model_canonical(C: Array, d1: int) -> Canonical:
    """The canonical analysis of a covariance."""
    F = scatter_factor(C, 1.0)
    return canonical_analysis(F[:, :d1], F[:, d1:], 1.0)


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
    from scipy.stats import f as law

    tests = []
    for k in range(len(rho)):
        p, q = ranks[0] - k, ranks[1] - k
        for name, value, F, df1, df2 in _statistics(rho[k:] ** 2, p, q, n - k):
            exists = df1 > 0.0 and df2 > 0.0 and np.isfinite(F) and np.isfinite(value)
            if exists:
                tests.append(
                    CanonicalTest(
                        k + 1,
                        float(rho[k]),
                        name,
                        float(value),
                        float(F),
                        float(df1),
                        float(df2),
                        float(law.sf(F, df1, df2)),
                    )
                )
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
