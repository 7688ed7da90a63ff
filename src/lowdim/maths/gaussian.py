"""The masked linear-Gaussian model: x = mu + W z + e, z ~ N(0, I), e_j ~ N(0, psi_j).

Rows with any pattern of gaps at once: the precision of z given the seen cells of row i is
A_i = I + sum_j m_ij w_j w_j' / psi_j, which for all rows is one product of the mask with a table of
outer products, followed by one small inverse a pattern; then one product back for the M-step. Where that
table would not fit (d q^2 numbers), the light EM takes over: gaps count as latent variables too, rows are
taken one by one, and the statistics are d x q.

Reference: [Lawrence2012] 2.9 to 2.11, [Zabaras2017] on EM for PPCA; derived anew with gaps (docs/sources.md).
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import NamedTuple, Self

import numpy as np

from lowdim.maths.linalg import EPS, Array, Mask, distinct, inverse_packed, lower, root, times_packed, unpack

LOG_TWO_PI = float(np.log(2 * np.pi))
SHARP = 1e6  # sum of signal to noise ratios beyond which posterior means are refined
ROWS_A_PATTERN = 250  # rows with the same gaps from which each pattern is taken by itself: one costs 0.8 ms
LIGHT = 2**25  # numbers in the table of outer products (256 MB) beyond which the light EM takes over


class Latent(NamedTuple):
    """p(z | seen cells) of each row, its log density, and what the mean leaves unexplained."""

    mean: Array  # n x q
    cov: Array  # packed, (q(q+1)/2) x n, or x 1 where every row has the same
    log_density: Array
    residual: Array  # n x d, zero at gaps
    log_volume: Array | None = None  # n, -log |2 pi C_oo| / 2: the log density without its quadratic form


def posterior(x: Array, mask: Mask | None, W: Array, mu: Array, psi: Array) -> Latent:
    """The E-step: exact for every row, whatever its gaps."""
    q = W.shape[1]
    V = W / psi[:, None]
    i, j = lower(q)
    r = x - mu
    # The precision of z: A = I + W_o' Psi_o^-1 W_o over the seen cells o of a row, one for each pattern of gaps.
    if mask is None:
        A = (V.T @ W)[i, j][:, None]
        logs: Array | float = float(np.log(psi).sum()) + len(mu) * LOG_TWO_PI
    else:
        m = mask.astype(np.float64)
        r *= m
        first, of = distinct(mask)  # rows with the same gaps share a covariance
        if light(W):
            A = np.array([(V[row].T @ W[row])[i, j] for row in mask[first]]).T
        else:
            A = (V[:, i] * W[:, j]).T @ m[first].T
        logs = m @ (np.log(psi) + LOG_TWO_PI)
    A[i == j] += 1.0
    cov, logdet = inverse_packed(A, q)
    if mask is not None:
        cov, logdet = cov[:, of], logdet[of]
    # Its mean: E[z] = A^-1 W_o' Psi_o^-1 (x_o - mu_o).
    mean = times_packed(cov, np.ascontiguousarray((r @ V).T)).T
    residual = r - mean @ W.T
    if mask is not None:
        residual *= m
    if (W * V).sum() > SHARP:  # little noise makes A ill-conditioned: one step of refinement wins the digits back
        mean = mean + times_packed(cov, np.ascontiguousarray((residual @ V - mean).T)).T
        residual = r - mean @ W.T
        if mask is not None:
            residual *= m
    # The density of the seen cells, C = W W' + Psi: log |C_oo| = log |Psi_o| + log |A|, and
    # r' C^-1 r = |residual|^2_psi + |mean|^2, a sum of squares that cannot cancel
    quadratic = (residual * residual) @ (1.0 / psi) + (mean * mean).sum(axis=1)
    log_volume = np.broadcast_to(-0.5 * (logs + logdet), len(quadratic))
    return Latent(mean, cov, -0.5 * (logs + logdet + quadratic), residual, log_volume)


class Sums(NamedTuple):
    """What the M-step needs; every part is a plain sum over rows.

    With e = x - w'z - mu at the *present* parameters, the increments of (w_j, mu_j) regress e_j on
    (z, 1): near convergence the right-hand sides are small, and nothing cancels.
    """

    n: float
    log_density: float
    z: Array  # sum E[z]                                q
    zz: Array  # sum E[zz'], packed                     q(q+1)/2
    A: Array  # sum over seen of E[(z,1)(z,1)'], packed: zz, z, 1    d x (q(q+1)/2 + q + 1), light: 1 x ...
    B: Array  # sum over seen of E[e (z,1)]             d x (q + 1)
    squares: Array  # sum over seen of E[e^2]              d
    seen: Array  # seen cells                           d

    def merge(self, other: Self) -> Self:
        return type(self)(*map(add, self, other))


def light(W: Array) -> bool:
    """Whether d q(q+1)/2 numbers are too many to hold."""
    return bool(len(W) * W.shape[1] * (W.shape[1] + 1) // 2 > LIGHT)


def sums(
    mask: Mask | None, weight: Array | None, latent: Latent, W: Array, psi: Array, seen_sums: Array | None = None
) -> Sums:
    """The statistics of a block, given its posterior; `seen_sums` are A's with Cov[z] apart, where they are at hand."""
    (rows, q), d = latent.mean.shape, len(W)
    i, j = lower(q)
    z, heavy = latent.mean.T, not light(W)
    times = np.ones(rows) if weight is None else weight
    weighted, n = latent.residual * times[:, None], float(times.sum())
    # Sums over all rows: of Cov[z], z z', z and 1.
    cov = latent.cov[:, 0] * n if latent.cov.shape[1] == 1 else latent.cov @ times
    whole = np.concatenate([cov, ((z * times) @ z.T)[i, j], z @ times, [n]])
    per = whole[None, :] if seen_sums is None else seen_sums
    # The same for each column over the rows that show it: one product with the mask.
    if mask is not None and heavy and seen_sums is None:
        tall = np.concatenate([np.broadcast_to(latent.cov, (len(i), rows)), z[i] * z[j], z, np.ones((1, rows))])
        per = ((tall * times) @ mask.astype(np.float64)).T
    per = np.broadcast_to(per, (d if heavy else 1, len(whole)))
    C = per[:, : len(i)]  # sum over seen of Cov[z]
    if mask is None or heavy:  # ... and of Cov[z] w_j
        Cw = times_packed(C.T, np.ascontiguousarray(W.T)).T
    else:  # C is of all columns together: a row at a time, over the columns that it shows
        Cw = np.zeros_like(W)
        covs = unpack(np.broadcast_to(latent.cov, (len(i), rows)), q)
        for row, own, count in zip(mask, covs, times, strict=True):
            Cw[row] += W[row] @ (own * count)
    # What (w_j, mu_j) is regressed on: E[e_j (z, 1)] and E[(z, 1)(z, 1)'], and what it leaves: E[e_j^2].
    B = np.column_stack([weighted.T @ latent.mean - Cw, weighted.sum(axis=0)])
    A = per[:, len(i) :].copy()
    A[:, : len(i)] += C
    squares = (weighted * latent.residual).sum(axis=0) + (Cw * W).sum(axis=1)
    seen = np.broadcast_to(A[:, -1], d).copy()
    if not heavy and mask is not None:  # a gap is a latent variable whose error is all noise
        squares += psi * (seen - times @ mask)
    parts = whole[2 * len(i) : -1], cov + whole[len(i) : 2 * len(i)]
    return Sums(n, float(times @ latent.log_density), *parts, A, B, squares, seen)


def pattern_sums(x: Array, mask: Mask, weight: Array | None, params: tuple[Array, Array, Array]) -> Sums | None:
    """The statistics of a block with few patterns of gaps, (W, mu, psi) given: each pattern is a complete table.

    None where the patterns are many, and one product over all rows is quicker.
    """
    if light(params[0]) or not len(mask):
        return None
    first, of = distinct(mask)
    if len(first) * ROWS_A_PATTERN > len(mask):
        return None

    def in_all(values: Array, seen: Mask) -> Array:
        """Zeros for the columns that no row of a pattern shows."""
        whole = np.zeros((len(seen), *values.shape[1:]))
        whole[seen] = values
        return whole

    parts = []
    for k, seen in enumerate(mask[first]):
        W, mu, psi = (part[seen] for part in params)
        rows = np.flatnonzero(of == k)
        latent = posterior(x[np.ix_(rows, seen)], None, W, mu, psi)
        s = sums(None, None if weight is None else weight[rows], latent, W, psi)
        squares, cells = in_all(s.squares, seen), in_all(s.seen, seen)
        parts.append(s._replace(A=in_all(s.A, seen), B=in_all(s.B, seen), squares=squares, seen=cells))
    return reduce(Sums.merge, parts)


def design(A: Array, q: int) -> Array:
    """Packed sums of E[(z,1)(z,1)'], a row each, as matrices of order q + 1."""
    p = q * (q + 1) // 2
    full = np.empty((len(A), q + 1, q + 1))
    full[:, :q, :q] = unpack(A[:, :p].T, q)
    full[:, :q, q] = full[:, q, :q] = A[:, p : p + q]
    full[:, q, q] = A[:, -1]
    return full


def regress(s: Sums, W: Array, mu: Array) -> tuple[Array, Array, Array]:
    """The M-step for (w_j, mu_j) of every column, and the sum of squares each leaves."""
    q = W.shape[1]
    A = design(s.A, q)
    ridge = EPS * np.trace(A, axis1=1, axis2=2)[:, None] + np.finfo(float).tiny
    A[:, np.arange(q + 1), np.arange(q + 1)] += ridge  # a column seen once or twice is nearly singular
    step = np.linalg.solve(A[0], s.B.T).T if len(A) == 1 else np.linalg.solve(A, s.B[:, :, None])[:, :, 0]
    unexplained = np.maximum(s.squares - (step * s.B).sum(axis=1), 0.0)
    return W + step[:, :q], mu + step[:, q], unexplained


def expand(s: Sums, W: Array, mu: Array) -> tuple[Array, Array]:
    """Parameter expansion: let z ~ N(nu, P), fit nu and P, and absorb them into mu and W.

    Without it EM crawls: the mean and the length of the axes then move by a small share a pass.

    Reference: C. Liu, D. B. Rubin and Y. N. Wu (1998), "Parameter expansion to accelerate EM", Biometrika 85, 755.
    """
    q = W.shape[1]
    nu = s.z / s.n
    P = unpack(s.zz[:, None], q)[0] / s.n - np.outer(nu, nu)
    return W @ root(P), mu + W @ nu
