"""Psi statistics: averages of a kernel over uncertain places x_n ~ N(mu_n, diag S_n), with gradients by hand.

psi0 = sum_n E k(x_n, x_n), psi1 = E k(x_n, z), psi2_j = sum over the rows in which column j is seen of
E k(z, x_n) k(x_n, z'). All the bound needs are sums over rows, so they come piece by piece: the averages over a
piece's pairs of inducing points stay in the cache, and those of all rows never exist.

Reference: Titsias and Lawrence, Bayesian Gaussian process latent variable model, AISTATS 2010: eq. 14-24.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from lowdim.maths.linalg import Array, lower
from lowdim.models.gaussian_process.collapsed_bound import PsiSums, SumGradients
from lowdim.models.gaussian_process.gp import KERNEL_TERMS

CACHED_CELLS = 2**17  # rows times pairs worked on at a time: a megabyte, which stays in the cache


class VariationalParams(NamedTuple):
    """Uncertain places, inducing points, relevances, signal variance and noise precision."""

    mu: Array  # n x q
    S: Array  # n x q, variances
    Z: Array  # m x q; 0 x q for a kernel with inducing points of its own
    w: Array  # q
    v: float
    beta: float

    def pack(self) -> Array:
        """One vector; positive numbers by their logarithms."""
        logs = np.log(self.w), [np.log(self.v), np.log(self.beta)]
        return np.concatenate([self.mu.ravel(), np.log(self.S).ravel(), self.Z.ravel(), *logs])

    def unpack(self, vector: Array) -> VariationalParams:
        """The parameters of a vector, shaped as these."""
        n, m, q = self.mu.size, self.Z.size, len(self.w)
        mu, S, Z, w, scalars = np.split(vector, [n, 2 * n, 2 * n + m, 2 * n + m + q])
        return VariationalParams(
            mu.reshape(self.mu.shape),
            np.exp(S).reshape(self.S.shape),
            Z.reshape(self.Z.shape),
            np.exp(w),
            float(np.exp(scalars[0])),
            float(np.exp(scalars[1])),
        )

    def rows(self, begin: int, end: int) -> VariationalParams:
        """The places of these rows, and everything that rows share."""
        return self._replace(mu=self.mu[begin:end], S=self.S[begin:end])


class PsiGradients(NamedTuple):
    """Gradients in mu, S, Z, w and log v."""

    mu: Array
    S: Array
    Z: Array
    w: Array
    v: float


class GradientParts(NamedTuple):
    """Gradients through the pairs of one piece of rows: in its places, and a vector to be summed over pieces."""

    mu: Array
    S: Array
    shared: Array


class PairAverages(Protocol):
    """E k(x, z_i) k(x, z_j) for i >= j, of any rows; an off-diagonal pair stands for two in gradients."""

    def values(self, p: VariationalParams) -> Array:
        """Rows x pairs."""

    def gradient(self, p: VariationalParams, T: Array, G: Array) -> GradientParts:
        """From gradients G in the values T, which may be overwritten."""

    def shared_gradient(self, total: Array) -> tuple[Array, Array, float]:
        """Gradients in Z, w and log v from the summed `shared` vectors."""


class PsiKernel(Protocol):
    """The statistics of one kernel; a gradient takes G, the gradients in what the method before it gives."""

    def order(self, p: VariationalParams) -> int:
        """m, the number of inducing points."""

    def gram(self, p: VariationalParams) -> Array:
        """m x m, the kernel of the inducing points."""

    def gram_gradient(self, p: VariationalParams, K: Array, G: Array) -> PsiGradients: ...

    def psi0(self, p: VariationalParams) -> Array:
        """E k(x_n, x_n) of each row."""

    def psi0_gradient(self, p: VariationalParams, G: Array) -> PsiGradients: ...

    def psi1(self, p: VariationalParams) -> Array:
        """n x m."""

    def psi1_gradient(self, p: VariationalParams, psi1: Array, G: Array) -> PsiGradients: ...

    def pairs(self, p: VariationalParams) -> PairAverages:
        """psi2 before its sum over rows."""


# k(x, y) = v exp(-1/2 sum_q w_q (x_q - y_q)^2), Titsias and Lawrence (2010) eq. 16-18 ---------------------------------
class RBFPsi:
    """Psi statistics of the squared exponential kernel with a relevance for each dimension."""

    def order(self, p: VariationalParams) -> int:
        return len(p.Z)

    def gram(self, p: VariationalParams) -> Array:
        root = np.sqrt(p.w)
        return KERNEL_TERMS["rbf"].cross(np.array([p.v, 1.0]), p.Z * root, p.Z * root)

    def gram_gradient(self, p: VariationalParams, K: Array, G: Array) -> PsiGradients:
        root = np.sqrt(p.w)
        dX, dt = KERNEL_TERMS["rbf"].gradient(np.array([p.v, 1.0]), p.Z * root, K, G)
        return PsiGradients(np.zeros(0), np.zeros(0), dX * root, 0.5 * (dX * p.Z).sum(axis=0) / root, float(dt[0]))

    def psi0(self, p: VariationalParams) -> Array:
        return np.full(len(p.mu), p.v)

    def psi0_gradient(self, p: VariationalParams, G: Array) -> PsiGradients:
        zeros = np.zeros_like(p.mu), np.zeros_like(p.S), np.zeros_like(p.Z), np.zeros_like(p.w)
        return PsiGradients(*zeros, p.v * float(G.sum()))

    def psi1(self, p: VariationalParams) -> Array:
        c = 1.0 / (p.w * p.S + 1.0)
        wc = p.w * c
        rows = 0.5 * (np.log(c) - wc * p.mu**2).sum(axis=1)
        E = (wc * p.mu) @ p.Z.T - 0.5 * wc @ (p.Z**2).T
        return np.asarray(p.v * np.exp(np.minimum(E + rows[:, None], 0.0)))

    def psi1_gradient(self, p: VariationalParams, psi1: Array, G: Array) -> PsiGradients:
        c, H = 1.0 / (p.w * p.S + 1.0), G * psi1
        wc, r = p.w * c, H.sum(axis=1)[:, None]
        HZ = H @ p.Z
        Q = r * p.mu**2 - 2.0 * p.mu * HZ + H @ p.Z**2
        return PsiGradients(
            -wc * (r * p.mu - HZ),
            0.5 * wc * (wc * Q - r),
            H.T @ (wc * p.mu) - (H.T @ wc) * p.Z,
            -0.5 * (p.S * c * r + c**2 * Q).sum(axis=0),
            float(H.sum()),
        )

    def pairs(self, p: VariationalParams) -> PairAverages:
        return RBFPairs(p)


class RBFPairs:
    """The pairs of inducing points of one set of parameters.

    The exponent of psi2 is linear in (w mu, w) of a row and in the middle of a pair and its square: one product over
    the m(m+1)/2 pairs, and one each way back.
    """

    def __init__(self, p: VariationalParams) -> None:
        i, j = lower(len(p.Z))
        self.p, self.middle, self.difference = p, 0.5 * (p.Z[i] + p.Z[j]), p.Z[i] - p.Z[j]

    @cached_property
    def _forward(self) -> Array:
        """2q + 2 x pairs, the right factor of the exponent."""
        M, p = self.middle, self.p
        return np.vstack([M.T, M.T**2, np.ones(len(M)), -0.25 * (self.difference**2 @ p.w) + 2.0 * np.log(p.v)])

    @cached_property
    def _backward(self) -> Array:
        """Pairs x 2q + 1."""
        return np.column_stack([self.middle, self.middle**2, np.ones(len(self.middle))])

    def values(self, p: VariationalParams) -> Array:
        b = 1.0 / (2.0 * p.w * p.S + 1.0)
        wb = p.w * b
        rows = (0.5 * np.log(b) - wb * p.mu**2).sum(axis=1)
        E = np.column_stack([2.0 * wb * p.mu, -wb, rows, np.ones(len(rows))]) @ self._forward
        np.minimum(E, 2.0 * np.log(p.v), out=E)  # it is no larger but for rounding
        return np.asarray(np.exp(E, out=E))

    def gradient(self, p: VariationalParams, T: Array, G: Array) -> GradientParts:
        q = len(p.w)
        b = 1.0 / (2.0 * p.w * p.S + 1.0)
        wb, H = p.w * b, np.multiply(T, G, out=T)
        back = H @ self._backward
        HZ, r = back[:, :q], back[:, 2 * q :]
        Q = r * p.mu**2 - 2.0 * p.mu * HZ + back[:, q : 2 * q]
        by_pair = np.column_stack([wb * p.mu, wb, np.ones(len(b))]).T @ H  # 2q + 1 x pairs
        dw = -(p.S * b * r + b**2 * Q).sum(axis=0)
        shared = np.concatenate([by_pair.ravel(), dw])
        return GradientParts(-2.0 * wb * (r * p.mu - HZ), wb * (2.0 * wb * Q - r), shared)

    def shared_gradient(self, total: Array) -> tuple[Array, Array, float]:
        m, q = self.p.Z.shape
        i, j = lower(m)
        by_pair, dw = total[:-q].reshape(2 * q + 1, -1), total[-q:]
        # half the gradient in the middles: an end moves them half as far
        half = by_pair[:q].T - by_pair[q : 2 * q].T * self.middle
        side = 0.5 * self.p.w * self.difference * by_pair[2 * q][:, None]
        dZ = np.zeros_like(self.p.Z)
        np.add.at(dZ, i, half - side)
        np.add.at(dZ, j, half + side)
        return dZ, dw - 0.25 * by_pair[2 * q] @ self.difference**2, 2.0 * float(by_pair[2 * q].sum())


# k(x, y) = sum_q w_q x_q y_q, Titsias and Lawrence (2010) section 3.2 -------------------------------------------------
class LinearPsi:
    """Psi statistics of the linear kernel with a relevance for each dimension.

    Its functions are f(x) = x'u with u ~ N(0, diag w): its q weights determine it, so the inducing points are the unit
    vectors divided by the roots of w. Their matrix is the identity, nothing is lost, and none has to be optimised:
    with M = mu diag(w)^1/2, psi1 = M and psi2 = sum_n M M' + diag(w S).
    """

    def order(self, p: VariationalParams) -> int:
        return len(p.w)

    def gram(self, p: VariationalParams) -> Array:
        return np.eye(len(p.w))

    def gram_gradient(self, p: VariationalParams, K: Array, G: Array) -> PsiGradients:
        return PsiGradients(np.zeros(0), np.zeros(0), np.zeros_like(p.Z), np.zeros_like(p.w), 0.0)

    def psi0(self, p: VariationalParams) -> Array:
        return np.asarray((p.mu**2 + p.S) @ p.w)

    def psi0_gradient(self, p: VariationalParams, G: Array) -> PsiGradients:
        g = G[:, None]
        dmu, dS = 2.0 * g * p.w * p.mu, g * np.broadcast_to(p.w, p.S.shape)
        return PsiGradients(dmu, dS, np.zeros_like(p.Z), G @ (p.mu**2 + p.S), 0.0)

    def psi1(self, p: VariationalParams) -> Array:
        return p.mu * np.sqrt(p.w)

    def psi1_gradient(self, p: VariationalParams, psi1: Array, G: Array) -> PsiGradients:
        root = np.sqrt(p.w)
        dw = 0.5 * (G * p.mu).sum(axis=0) / root
        return PsiGradients(G * root, np.zeros_like(p.S), np.zeros_like(p.Z), dw, 0.0)

    def pairs(self, p: VariationalParams) -> PairAverages:
        return LinearPairs(p)


class LinearPairs:
    """The pairs of dimensions, which take the place of pairs of inducing points."""

    def __init__(self, p: VariationalParams) -> None:
        self.p = p

    def values(self, p: VariationalParams) -> Array:
        i, j = lower(len(p.w))
        M = p.mu * np.sqrt(p.w)
        T = M[:, i] * M[:, j]
        T[:, i == j] += p.w * p.S
        return T

    def gradient(self, p: VariationalParams, T: Array, G: Array) -> GradientParts:
        (n, q), root = p.mu.shape, np.sqrt(p.w)
        i, j = lower(q)
        full = np.zeros((len(G), q, q))
        full[:, i, j] = G
        full = full + full.transpose(0, 2, 1)
        dM = (full @ (p.mu * root)[:, :, None])[:, :, 0]
        diagonal = np.broadcast_to(G[:, i == j], (n, q))
        dw = (0.5 * dM * p.mu / root + diagonal * p.S).sum(axis=0)
        return GradientParts(dM * root, diagonal * p.w, dw)

    def shared_gradient(self, total: Array) -> tuple[Array, Array, float]:
        return np.zeros_like(self.p.Z), total, 0.0


PSI_KERNELS: dict[str, PsiKernel] = {"rbf": RBFPsi(), "linear": LinearPsi()}


# sums over rows -------------------------------------------------------------------------------------------------------
def _pieces(n: int, pairs: int) -> Iterator[slice]:
    step = max(8, CACHED_CELLS // max(pairs, 1))
    return (slice(i, min(i + step, n)) for i in range(0, n, step))


def psi_sums(
    psi: PsiKernel, p: VariationalParams, Y: Array, shares: Array, cache: list[Array] | None = None
) -> PsiSums:
    """The sums of some rows: Y their cells, zero at gaps; shares n x groups, 1 where a group is seen.

    `cache` gathers the pairs, for a table so small that they need not be computed twice.
    """
    m = psi.order(p)
    two, pairs = np.zeros((shares.shape[1], m * (m + 1) // 2)), psi.pairs(p)
    for part in _pieces(len(Y), two.shape[1]):
        T = pairs.values(p.rows(part.start, part.stop))
        two += shares[part].T @ T
        if cache is not None:
            cache.append(T)
    kl = 0.5 * float((p.mu**2 + p.S - np.log(p.S) - 1.0).sum())
    return PsiSums(psi.psi1(p).T @ Y, two.T, psi.psi0(p) @ shares, shares.sum(axis=0), float((Y**2).sum()), kl)


def psi_gradients(
    psi: PsiKernel, p: VariationalParams, Y: Array, shares: Array, down: SumGradients, cache: list[Array] | None = None
) -> PsiGradients:
    """Gradients in the parameters from those in the sums, the divergence taken off; mu and S of these rows only."""
    pairs = psi.pairs(p)
    first = psi.psi1_gradient(p, psi.psi1(p), Y @ down.one.T)
    zeroth = psi.psi0_gradient(p, shares @ down.psi0)
    dmu, dS = first.mu + zeroth.mu - p.mu, first.S + zeroth.S - 0.5 * (1.0 - 1.0 / p.S)
    one_group, total = shares.shape[1] == 1, np.zeros(())
    for k, part in enumerate(_pieces(len(Y), len(down.two))):
        rows = p.rows(part.start, part.stop)
        T = pairs.values(rows) if cache is None else cache[k]
        parts = pairs.gradient(rows, T, down.two.T if one_group else shares[part] @ down.two.T)
        dmu[part] += parts.mu
        dS[part] += parts.S
        total = total + parts.shared
    Z, w, v = pairs.shared_gradient(total)
    return PsiGradients(dmu, dS, first.Z + zeroth.Z + Z, first.w + zeroth.w + w, first.v + zeroth.v + v)
