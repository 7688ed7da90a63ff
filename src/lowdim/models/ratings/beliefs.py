"""Matrix factorisation by variational Bayes: sums over stored cells, and what follows from them.

A vector of one side is (factors, bias), q = k + 1 numbers with a full covariance; beside a one it is extended to
e = (factors, 1, bias). With the other side's extension in the order (factors, bias, 1) a rating is their inner
product, so both halves of a sweep are the same functions. Triangles are packed by rows, as everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, polygamma

from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import VECTORISED, Array, inverse_packed, lower, times_packed, unpack

FEW_MATRICES = 100  # matrices up to which LAPACK, one by one, beats arithmetic over all of them (measured at order 11)
SLICE = 48  # columns at a time of products with a table: a fifth to two fifths less time at 17,770 items, the same bits
NOISE_SHAPES = (1.5, 1e4)  # of the noise: below, a new user's ratings have no variance; above, all users are alike


class VectorBeliefs(NamedTuple):
    """Gaussian beliefs about the vectors of one side."""

    mean: Array  # N x q
    cov: Array  # N x q(q+1)/2, packed
    logdet: Array  # N


class VectorPrior(NamedTuple):
    """Where a vector is before its ratings are seen."""

    mean: Array  # q
    cov: Array  # q x q


class Gamma(NamedTuple):
    """The noise precision of users: density proportional to t^(shape - 1) exp(-rate t)."""

    shape: Any
    rate: Any

    @property
    def mean(self) -> Any:
        return self.shape / self.rate

    @property
    def mean_log(self) -> Any:
        return digamma(self.shape) - np.log(self.rate)


class RowSums(NamedTuple):
    """What the ratings of each row say about its vector: quadratic, linear and constant part of their errors."""

    A: Array  # N x q(q+1)/2, sum of E[f f'] over the row's cells, f = (factors, 1) of the other side
    r: Array  # N x q, sum of E[f (x - bias)]
    c: Array  # N, sum of E[(x - bias)^2]
    cells: Array  # N, how many


class Sweep(NamedTuple):
    """What a tile of users adds to the update of all that is shared."""

    A: Array  # items x q(q+1)/2
    r: Array  # items x q
    first: Array  # sum of E[g - the prior's mean] over users who rated
    second: Array  # sum of the squares E[(g - mean)(g - mean)'], packed
    totals: Array  # users who rated, precisions, their logs, squared errors, ratings, bound

    def merge(self, other: Self) -> Self:
        return type(self)(*(a + b for a, b in zip(self, other, strict=True)))


def extended(mean: Array) -> Array:
    """(factors, 1, bias) of each vector."""
    return np.concatenate([mean[:, :-1], np.ones((len(mean), 1)), mean[:, -1:]], axis=1)


def packed_squares(mean: Array, cov: Array) -> Array:
    """E[e e'] of each extended vector, packed."""
    e, one = extended(mean), mean.shape[1] - 1
    i, j = lower(e.shape[1])
    T = e[:, i] * e[:, j]
    T[:, (i != one) & (j != one)] += cov
    return T


def row_sums(X: sp.csr_array, table: NDArray[Any], ext: NDArray[Any]) -> RowSums:
    """The sums of each row's stored cells, from the other side's `squares` and `extended` in any precision."""
    q = ext.shape[1] - 1
    p = q * (q + 1) // 2
    ones = sp.csr_array((np.ones(X.nnz, dtype=table.dtype), X.indices, X.indptr), shape=X.shape)
    S = _by_slices(ones, table)
    R = np.asarray(X @ ext, dtype=np.float64)
    square = sp.csr_array((X.data.astype(np.float64) ** 2, X.indices, X.indptr), shape=X.shape)
    x2 = square @ np.ones(X.shape[1])
    return RowSums(
        S[:, :p], R[:, :q] - S[:, p : p + q], x2 - 2 * R[:, q] + S[:, p + q], np.diff(X.indptr).astype(np.float64)
    )


def _by_slices(X: Any, T: NDArray[Any]) -> Array:
    """X @ T in double precision, a few columns at a time: as many of a cell's other side stay in the cache."""
    S = np.empty((X.shape[0], T.shape[1]))
    for begin in range(0, T.shape[1], SLICE):
        part = slice(begin, begin + SLICE)
        S[:, part] = X @ np.ascontiguousarray(T[:, part])
    return S


def column_sums(X: sp.csr_array, mean: Array, cov: Array, tau: Array, dtype: Any) -> tuple[Array, Array]:
    """A and r of each column, its cells weighted by the precisions of their rows.

    The rows are spread over the columns as they come: the columns' table is small enough for the cache where
    that of the rows is not (three times faster at 480,000 users than gathering users by item).
    """
    q = mean.shape[1]
    p = q * (q + 1) // 2
    T = (packed_squares(mean, cov)[:, : p + q] * tau[:, None]).astype(dtype)
    F = (extended(mean)[:, :q] * tau[:, None]).astype(dtype)
    turned = (X.shape[1], X.shape[0])
    ones = np.ones(X.nnz, dtype=dtype)
    S = _by_slices(sp.csc_array((ones, X.indices, X.indptr), shape=turned), T)
    R = np.asarray(sp.csc_array((X.data, X.indices, X.indptr), shape=turned) @ F, dtype=np.float64)
    return S[:, :p], R - S[:, p:]


def posterior_beliefs(A: Array, r: Array, prior: VectorPrior) -> VectorBeliefs:
    """The posterior of vectors with prior N(mean, cov) and precision-weighted sums A, r."""
    q = len(prior.mean)
    P = np.linalg.inv(prior.cov)
    i, j = lower(q)
    packed, logdet = _inverses(np.ascontiguousarray((A + P[i, j]).T), q)
    mean = times_packed(packed, np.ascontiguousarray((r + P @ prior.mean).T))
    return VectorBeliefs(np.ascontiguousarray(mean.T), np.ascontiguousarray(packed.T), -logdet)


def _inverses(A: Array, q: int) -> tuple[Array, Array]:
    """As `inverse_packed`; LAPACK's LU is twice as fast as its triangular solves from order 13 on (measured)."""
    if q <= VECTORISED and (A.shape[1] > FEW_MATRICES or q < 2):
        return inverse_packed(A, q)
    full = unpack(A, q)
    logdet = 2.0 * np.log(np.diagonal(np.linalg.cholesky(full), axis1=1, axis2=2)).sum(axis=1)
    i, j = lower(q)
    return np.ascontiguousarray(np.linalg.inv(full)[:, i, j].T), logdet


def points_of(beliefs: VectorBeliefs) -> VectorBeliefs:
    """The same beliefs without doubt: their means."""
    return VectorBeliefs(beliefs.mean, np.zeros_like(beliefs.cov), np.zeros_like(beliefs.logdet))


def second_moments(mean: Array, cov: Array) -> Array:
    """E[g g'], packed."""
    i, j = lower(mean.shape[1])
    return mean[:, i] * mean[:, j] + cov


def expected_errors(sums: RowSums, beliefs: VectorBeliefs) -> Array:
    """Expected squared error of each row's cells, summed."""
    i, j = lower(beliefs.mean.shape[1])
    twice = np.where(i == j, 1.0, 2.0)
    quadratic = (sums.A * second_moments(beliefs.mean, beliefs.cov)) @ twice
    errors: Array = np.maximum(sums.c - 2 * (beliefs.mean * sums.r).sum(axis=1) + quadratic, 0.0)
    return errors


def log_prior(beliefs: VectorBeliefs, prior: VectorPrior, point: bool) -> Array:
    """E[log p(g)] - E[log q(g)] of each vector; of a point, log p(g)."""
    q = len(prior.mean)
    i, j = lower(q)
    P = np.linalg.inv(prior.cov)
    logdet = np.linalg.slogdet(P)[1]
    d = beliefs.mean - prior.mean
    quadratic = beliefs.cov @ (np.where(i == j, 1.0, 2.0) * P[i, j]) + ((d @ P) * d).sum(axis=1)
    entropy = -q * LOG_TWO_PI if point else beliefs.logdet + q
    return np.asarray(0.5 * (logdet - quadratic + entropy))


def log_gamma_prior(tau: Gamma, prior: Gamma) -> Array:
    """E[log p(t)] - E[log q(t)] of precisions under a gamma prior: minus the divergence of two gammas."""
    a, b = tau
    return np.asarray(
        gammaln(a)
        - gammaln(prior.shape)
        - (a - prior.shape) * digamma(a)
        - prior.shape * (np.log(b) - np.log(prior.rate))
        - a * (prior.rate - b) / b
    )


def precision(sums: RowSums, error: Array, prior: Gamma) -> Gamma:
    """The posterior of each row's noise precision."""
    return Gamma(prior.shape + sums.cells / 2, prior.rate + error / 2)


def refit_prior(
    n: float, first: Array, packed: Array, old: VectorPrior, like: VectorPrior, weight: float
) -> VectorPrior:
    """The prior that suits n vectors best, beside `weight` vectors with the covariance of others they are like.

    The sums are about the mean of the old prior: raw squares would lose the spread of vectors far from zero.
    """
    off = first / max(n, 1.0)
    scatter = unpack(packed[:, None], len(first))[0] - n * np.outer(off, off)
    return VectorPrior(old.mean + off, (scatter + weight * like.cov) / (n + weight))


def log_hyper(prior: VectorPrior, start: VectorPrior, weight: float) -> float:
    """What those `weight` vectors add to the objective."""
    trace = float(np.trace(np.linalg.solve(prior.cov, start.cov)))
    return -0.5 * weight * (float(np.linalg.slogdet(prior.cov)[1]) + trace)


def refit_gamma(mean: float, mean_log: float, shape: float, floor: float) -> Gamma:
    """The gamma prior that suits precisions of this mean and mean logarithm best; noise stays above a floor.

    Newton for log a - digamma(a) = log E[t] - E[log t] on the scale of log a, as Minka (2002) does; on the floor
    the right-hand side changes with it.
    """
    noise = max(1.0 / mean, floor)  # the best rate for any shape is shape times this
    wanted = max(noise * mean - 1.0 - np.log(noise) - mean_log, 0.45 / NOISE_SHAPES[1])
    for _ in range(60):
        slope = shape * (1.0 / shape - float(polygamma(1, shape)))
        step = (np.log(shape) - float(digamma(shape)) - wanted) / slope
        shape = float(np.clip(shape * np.exp(np.clip(-step, -1.0, 1.0)), *NOISE_SHAPES))
        if abs(step) < 1e-12:
            break
    return Gamma(shape, shape * noise)


def pair_means(users: VectorBeliefs, items: VectorBeliefs) -> tuple[Array, Array]:
    """Mean and variance of the noiseless rating of user t by item t, for each pair t of beliefs."""
    k = users.mean.shape[1] - 1
    z, w = users.mean[:, :k], items.mean[:, :k]
    mean = (z * w).sum(axis=1) + users.mean[:, k] + items.mean[:, k]
    U, V = (unpack(side.cov.T, k + 1) for side in (users, items))
    var = U[:, k, k] + V[:, k, k] + np.einsum("ni,nij,nj->n", z, V[:, :k, :k], z)
    var += np.einsum("ni,nij,nj->n", w, U[:, :k, :k], w) + (U[:, :k, :k] * V[:, :k, :k]).sum(axis=(1, 2))
    var += 2 * (z * V[:, :k, k]).sum(axis=1) + 2 * (w * U[:, :k, k]).sum(axis=1)
    return mean, np.maximum(var, 0.0)


def grid_means(users: VectorBeliefs, items: VectorBeliefs) -> tuple[Array, Array]:
    """The same for every user with every item, users x items: two products of matrices."""
    q = users.mean.shape[1]
    i, j = lower(q + 1)
    twice = np.where(i == j, 1.0, 2.0)
    turn = [*range(q - 1), q, q - 1]  # the items' (factors, 1, bias) as (factors, bias, 1)
    place = {(int(a), int(b)): t for t, (a, b) in enumerate(zip(i, j, strict=True))}
    order = [place[max(turn[a], turn[b]), min(turn[a], turn[b])] for a, b in zip(i, j, strict=True)]
    mean = extended(users.mean) @ extended(items.mean)[:, turn].T
    square = (packed_squares(users.mean, users.cov) * twice) @ packed_squares(items.mean, items.cov)[:, order].T
    return mean, np.maximum(square - mean**2, 0.0)
