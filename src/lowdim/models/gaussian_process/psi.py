"""Psi statistics: averages of a kernel over uncertain places x_n ~ N(mu_n, diag S_n), with gradients by hand.

psi0 = sum_n E k(x_n, x_n), psi1 = E k(x_n, z), psi2_j = sum over the rows in which column j is seen of
E k(z, x_n) k(x_n, z'). All the bound needs are sums over rows, so they come piece by piece: the averages over a
piece's pairs of inducing points stay in the cache, and those of all rows never exist.

Reference: Titsias and Lawrence, Bayesian Gaussian process latent variable model, AISTATS 2010: eq. 14-24.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from operator import add
from typing import NamedTuple, Protocol

import numpy as np

from lowdim.maths.linalg import Array, lower
from lowdim.models.gaussian_process.gp import RBF

CACHED_CELLS = 2**17  # rows times pairs worked on at a time: a megabyte, which stays in the cache


class VariationalParams(NamedTuple):
    """Uncertain places, inducing points, relevances, signal variance and noise precision."""

    mu: Array  # n x q
    S: Array  # n x q, variances
    Z: Array  # m x q; 0 x q for a kernel with inducing points of its own
    w: Array  # q
    v: float
    beta: float

    @property
    def points(self) -> int:
        """Inducing points: a kernel that has its own has one a dimension."""
        return len(self.Z) or len(self.w)

    def pack(self) -> Array:
        """One vector; positive numbers by their logarithms."""
        logs = np.log(self.w), [np.log(self.v), np.log(self.beta)]
        return np.concatenate([self.mu.ravel(), np.log(self.S).ravel(), self.Z.ravel(), *logs])

    def unpack(self, vector: Array) -> VariationalParams:
        """The parameters of a vector, shaped as these."""
        n, m, q = self.mu.size, self.Z.size, len(self.w)
        mu, S, Z, w, (v, beta) = np.split(vector, [n, 2 * n, 2 * n + m, 2 * n + m + q])
        S, Z = np.exp(S).reshape(self.S.shape), Z.reshape(self.Z.shape)
        return VariationalParams(mu.reshape(self.mu.shape), S, Z, np.exp(w), float(np.exp(v)), float(np.exp(beta)))

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


class PsiSums(NamedTuple):
    """What the bound needs of the rows; columns in groups that are seen in the same rows."""

    one: Array  # m x d, psi1'Y
    two: Array  # pairs x groups, packed psi2
    psi0: Array  # groups, psi0
    seen: Array  # groups, rows
    square: float  # sum of the squared cells
    kl: float  # from the places' posterior to N(0, I)

    def merge(self, other: PsiSums) -> PsiSums:
        return PsiSums(*map(add, self, other))


class SumGradients(NamedTuple):
    """Gradients of the bound in the first three of these sums."""

    one: Array
    two: Array
    psi0: Array


class PsiKernel(Protocol):
    """The statistics of one kernel, made for what rows share; p are the places of some rows, n of them.

    A gradient takes G, the gradients in what the method before it gives.
    """

    def __init__(self, shared: VariationalParams) -> None: ...

    def gram(self) -> Array:
        """m x m, the kernel of the inducing points."""

    def gram_gradient(self, K: Array, G: Array) -> tuple[Array, Array, float]:
        """In Z, w and log v."""

    def psi0(self, p: VariationalParams) -> Array:
        """E k(x_n, x_n) of each row."""

    def psi0_gradient(self, p: VariationalParams, G: Array) -> PsiGradients: ...

    def psi1(self, p: VariationalParams) -> Array:
        """n x m."""

    def psi1_gradient(self, p: VariationalParams, psi1: Array, G: Array) -> PsiGradients: ...

    def psi2(self, p: VariationalParams) -> Array:
        """E k(x, z_i) k(x, z_j) for i >= j, n x pairs; an off-diagonal pair stands for two in gradients."""

    def psi2_gradient(self, p: VariationalParams, T: Array, G: Array) -> tuple[Array, Array, Array]:
        """In mu, S, and a vector to be summed over rows; T is psi2, and may be overwritten."""

    def shared_gradient(self, total: Array) -> tuple[Array, Array, float]:
        """In Z, w and log v, from these summed vectors."""


# k(x, y) = v exp(-1/2 sum_q w_q (x_q - y_q)^2), Titsias and Lawrence (2010) eq. 16-18 ---------------------------------
class RBFPsi:
    """Psi statistics of the squared exponential kernel with a relevance for each dimension.

    The exponent of psi2 is linear in (w mu, w) of a row and in the middle of a pair and its square: one product over
    the m(m+1)/2 pairs, and one each way back.
    """

    def __init__(self, shared: VariationalParams) -> None:
        self.Z, self.w, self.v = shared.Z, shared.w, shared.v
        self.kernel, self.root = RBF(shared.v, 1.0), np.sqrt(shared.w)  # of places times the root

    def gram(self) -> Array:
        return self.kernel.cross(self.Z * self.root, self.Z * self.root)

    def gram_gradient(self, K: Array, G: Array) -> tuple[Array, Array, float]:
        dX, dt = self.kernel.gradient(self.Z * self.root, K, G)
        return dX * self.root, 0.5 * (dX * self.Z).sum(axis=0) / self.root, float(dt[0])

    def psi0(self, p: VariationalParams) -> Array:
        return np.full(len(p.mu), p.v)

    def psi0_gradient(self, p: VariationalParams, G: Array) -> PsiGradients:
        zeros = np.zeros_like(p.mu), np.zeros_like(p.S), np.zeros_like(p.Z), np.zeros_like(p.w)
        return PsiGradients(*zeros, p.v * float(G.sum()))

    def psi1(self, p: VariationalParams) -> Array:
        # v prod_q c^(1/2) exp(-1/2 w c (mu - z)^2), c = 1 / (w S + 1), the square multiplied out
        c = 1.0 / (p.w * p.S + 1.0)
        wc = p.w * c
        rows = 0.5 * (np.log(c) - wc * p.mu**2).sum(axis=1)
        E = (wc * p.mu) @ p.Z.T - 0.5 * wc @ (p.Z**2).T
        return p.v * np.exp(np.minimum(E + rows[:, None], 0.0))

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

    @cached_property
    def _pairs(self) -> tuple[Array, Array]:
        """Middle and difference of each pair of inducing points."""
        i, j = lower(len(self.Z))
        return 0.5 * (self.Z[i] + self.Z[j]), self.Z[i] - self.Z[j]

    @cached_property
    def _forward(self) -> Array:
        """2q + 2 x pairs, the right factor of the exponent."""
        M, D = self._pairs
        return np.vstack([M.T, M.T**2, np.ones(len(M)), -0.25 * (D**2 @ self.w) + 2.0 * np.log(self.v)])

    @cached_property
    def _backward(self) -> Array:
        """Pairs x 2q + 1."""
        M, _ = self._pairs
        return np.column_stack([M, M**2, np.ones(len(M))])

    def psi2(self, p: VariationalParams) -> Array:
        # v^2 prod_q b^(1/2) exp(-1/4 w (z - z')^2 - w b (mu - (z + z') / 2)^2), b = 1 / (2 w S + 1)
        b = 1.0 / (2.0 * p.w * p.S + 1.0)
        wb = p.w * b
        rows = (0.5 * np.log(b) - wb * p.mu**2).sum(axis=1)
        E = np.column_stack([2.0 * wb * p.mu, -wb, rows, np.ones(len(rows))]) @ self._forward
        np.minimum(E, 2.0 * np.log(p.v), out=E)  # it is no larger but for rounding
        return np.exp(E, out=E)

    def psi2_gradient(self, p: VariationalParams, T: Array, G: Array) -> tuple[Array, Array, Array]:
        q = len(p.w)
        b = 1.0 / (2.0 * p.w * p.S + 1.0)
        wb, H = p.w * b, np.multiply(T, G, out=T)
        back = H @ self._backward
        HZ, r = back[:, :q], back[:, 2 * q :]
        Q = r * p.mu**2 - 2.0 * p.mu * HZ + back[:, q : 2 * q]
        by_pair = np.column_stack([wb * p.mu, wb, np.ones(len(b))]).T @ H  # 2q + 1 x pairs
        dw = -(p.S * b * r + b**2 * Q).sum(axis=0)
        return -2.0 * wb * (r * p.mu - HZ), wb * (2.0 * wb * Q - r), np.concatenate([by_pair.ravel(), dw])

    def shared_gradient(self, total: Array) -> tuple[Array, Array, float]:
        (m, q), (M, D) = self.Z.shape, self._pairs
        i, j = lower(m)
        by_pair, dw = total[:-q].reshape(2 * q + 1, -1), total[-q:]
        half = by_pair[:q].T - by_pair[q : 2 * q].T * M  # of the gradient in the middles: an end moves them half as far
        side = 0.5 * self.w * D * by_pair[2 * q][:, None]
        dZ = np.zeros_like(self.Z)
        np.add.at(dZ, i, half - side)
        np.add.at(dZ, j, half + side)
        return dZ, dw - 0.25 * by_pair[2 * q] @ D**2, 2.0 * float(by_pair[2 * q].sum())


# k(x, y) = sum_q w_q x_q y_q, Titsias and Lawrence (2010) section 3.2 -------------------------------------------------
class LinearPsi:
    """Psi statistics of the linear kernel with a relevance for each dimension.

    Its functions are f(x) = x'u with u ~ N(0, diag w): its q weights determine it, so the inducing points are the unit
    vectors divided by the roots of w. Their matrix is the identity, nothing is lost, and none has to be optimised:
    with M = mu diag(w)^1/2, psi1 = M and psi2 = sum_n M M' + diag(w S). Pairs are those of dimensions.
    """

    def __init__(self, shared: VariationalParams) -> None:
        self.Z, self.w = shared.Z, shared.w

    def gram(self) -> Array:
        return np.eye(len(self.w))

    def gram_gradient(self, K: Array, G: Array) -> tuple[Array, Array, float]:
        return np.zeros_like(self.Z), np.zeros_like(self.w), 0.0

    def psi0(self, p: VariationalParams) -> Array:
        return (p.mu**2 + p.S) @ p.w

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

    def psi2(self, p: VariationalParams) -> Array:
        i, j = lower(len(p.w))
        M = self.psi1(p)
        T = M[:, i] * M[:, j]
        T[:, i == j] += p.w * p.S
        return T

    def psi2_gradient(self, p: VariationalParams, T: Array, G: Array) -> tuple[Array, Array, Array]:
        (n, q), root = p.mu.shape, np.sqrt(p.w)
        i, j = lower(q)
        full = np.zeros((len(G), q, q))
        full[:, i, j] = G
        full = full + full.transpose(0, 2, 1)
        dM = (full @ (p.mu * root)[:, :, None])[:, :, 0]
        diagonal = np.broadcast_to(G[:, i == j], (n, q))
        dw = (0.5 * dM * p.mu / root + diagonal * p.S).sum(axis=0)
        return dM * root, diagonal * p.w, dw

    def shared_gradient(self, total: Array) -> tuple[Array, Array, float]:
        return np.zeros_like(self.Z), total, 0.0


PSI_KERNELS: dict[str, type[PsiKernel]] = {"rbf": RBFPsi, "linear": LinearPsi}


# sums over rows -------------------------------------------------------------------------------------------------------
def _pieces(n: int, pairs: int) -> Iterator[slice]:
    step = max(8, CACHED_CELLS // max(pairs, 1))
    return (slice(i, min(i + step, n)) for i in range(0, n, step))


def psi_sums(kernel: str, p: VariationalParams, Y: Array, shares: Array, cache: list[Array] | None = None) -> PsiSums:
    """The sums of some rows: Y their cells, zero at gaps; shares n x groups, 1 where a group is seen.

    `cache` gathers the pairs, for a table so small that they need not be computed twice.
    """
    # psi2 is a number for each pair of inducing points: a few rows at a time, and never all of them
    psi, m = PSI_KERNELS[kernel](p), p.points
    two = np.zeros((shares.shape[1], m * (m + 1) // 2))
    for part in _pieces(len(Y), two.shape[1]):
        T = psi.psi2(p.rows(part.start, part.stop))
        two += shares[part].T @ T
        if cache is not None:
            cache.append(T)
    kl = 0.5 * float((p.mu**2 + p.S - np.log(p.S) - 1.0).sum())
    return PsiSums(psi.psi1(p).T @ Y, two.T, psi.psi0(p) @ shares, shares.sum(axis=0), float((Y**2).sum()), kl)


def psi_gradients(
    kernel: str, p: VariationalParams, Y: Array, shares: Array, down: SumGradients, cache: list[Array] | None = None
) -> PsiGradients:
    """Gradients in the parameters from those in the sums, the divergence taken off; mu and S of these rows only."""
    psi = PSI_KERNELS[kernel](p)
    # by psi1, psi0 and the divergence; then by psi2, a few rows at a time; then what rows share by the sums of these
    first = psi.psi1_gradient(p, psi.psi1(p), Y @ down.one.T)
    zeroth = psi.psi0_gradient(p, shares @ down.psi0)
    dmu, dS = first.mu + zeroth.mu - p.mu, first.S + zeroth.S - 0.5 * (1.0 - 1.0 / p.S)  # - p.mu, ...: the divergence
    one_group, total = shares.shape[1] == 1, np.zeros(())
    for k, part in enumerate(_pieces(len(Y), len(down.two))):
        rows = p.rows(part.start, part.stop)
        T = psi.psi2(rows) if cache is None else cache[k]
        mu, S, shared = psi.psi2_gradient(rows, T, down.two.T if one_group else shares[part] @ down.two.T)
        dmu[part] += mu
        dS[part] += S
        total = total + shared
    Z, w, v = psi.shared_gradient(total)
    return PsiGradients(dmu, dS, first.Z + zeroth.Z + Z, first.w + zeroth.w + w, first.v + zeroth.v + v)
