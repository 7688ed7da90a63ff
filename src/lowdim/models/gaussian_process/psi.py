"""Psi statistics: a kernel averaged over places that are in doubt, x_n ~ N(mu_n, diag S_n), with slopes by hand.

psi0 = sum_n E k(x_n, x_n), psi1 = E k(x_n, z), psi2_j = sum over the rows in which column j is seen of
E k(z, x_n) k(x_n, z'). All the bound needs are sums over rows, so they come piece by piece: the matrix of a piece's
pairs of inducing points stays in the cache, and that of all rows never exists.

Reference: Titsias and Lawrence (2010), eq. 14-24.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Self

import numpy as np

from lowdim.math.linalg import Array

PIECE = 2**17  # pairs worked on at a time: a megabyte, which stays in the cache


class Blurred(NamedTuple):
    """The variational parameters: places with doubt, inducing points, relevances, signal and noise precision."""

    mu: Array  # n x q
    S: Array  # n x q, variances
    Z: Array  # m x q; 0 x q for a kernel that brings its own
    w: Array  # q
    v: float
    beta: float

    def pack(self) -> Array:
        return np.concatenate(
            [
                self.mu.ravel(),
                np.log(self.S).ravel(),
                self.Z.ravel(),
                np.log(self.w),
                [np.log(self.v), np.log(self.beta)],
            ]
        )

    def unpack(self, vector: Array) -> Blurred:
        """The parameters of a vector, shaped as these."""
        n, m, q = self.mu.size, self.Z.size, len(self.w)
        mu, S, Z, w, rest = np.split(vector, [n, 2 * n, 2 * n + m, 2 * n + m + q])
        return Blurred(
            mu.reshape(self.mu.shape),
            np.exp(S).reshape(self.S.shape),
            Z.reshape(self.Z.shape),
            np.exp(w),
            float(np.exp(rest[0])),
            float(np.exp(rest[1])),
        )

    def rows(self, begin: int, end: int) -> Blurred:
        """Some places, and all the rest."""
        return self._replace(mu=self.mu[begin:end], S=self.S[begin:end])


class Slopes(NamedTuple):
    """What a statistic pulls back: slopes in mu, S, Z, w and log v."""

    mu: Array
    S: Array
    Z: Array
    w: Array
    v: float


class Psi(NamedTuple):
    """The statistics of one kernel; G are slopes in what the function before it gives."""

    order: Callable[[Blurred], int]  # m, how many inducing points
    gram: Callable[[Blurred], Array]  # m x m
    pull_gram: Callable[[Blurred, Array, Array], Slopes]  # p, K, G
    own: Callable[[Blurred], Array]  # E k(x_n, x_n), of each row
    pull_own: Callable[[Blurred, Array], Slopes]
    one: Callable[[Blurred], Array]  # psi1, n x m
    pull_one: Callable[[Blurred, Array, Array], Slopes]  # p, psi1, G
    pairs: Callable[[Blurred], Callable[[Blurred], Array]]  # p -> rows' p -> E k(x, z_i) k(x, z_j), i >= j, n x pairs
    pull_pairs: Callable[[Blurred], Puller]


class Puller(NamedTuple):
    """Slopes in the pairs pulled back piece by piece, what is not the rows' own gathered until the end."""

    piece: Callable[[Blurred, Array, Array], tuple[Array, Array, Array]]  # p, T, G -> slopes in mu and S, and the rest
    rest: Callable[[Array], tuple[Array, Array, float]]  # sums of the rest -> slopes in Z, w, log v


class PsiSums(NamedTuple):
    """What the bound needs of the rows; columns in groups that are seen in the same rows."""

    one: Array  # m x d, psi1'Y
    two: Array  # pairs x groups, packed psi2
    own: Array  # groups, psi0
    seen: Array  # groups, rows
    square: float  # sum of the squared cells
    kl: float  # from the places' posterior to N(0, I)

    def merge(self, other: Self) -> Self:
        return type(self)(*(a + b for a, b in zip(self, other, strict=True)))  # type: ignore[operator]


class Downward(NamedTuple):
    """Slopes of the bound in the first three of these sums."""

    one: Array
    two: Array
    own: Array


def _pieces(n: int, pairs: int) -> Iterator[slice]:
    step = max(8, PIECE // max(pairs, 1))
    return (slice(i, min(i + step, n)) for i in range(0, n, step))


def psi_sums(psi: Psi, p: Blurred, Y: Array, shares: Array, kept: list[Array] | None = None) -> PsiSums:
    """The sums of some rows: Y their cells, zero at gaps; shares n x groups, 1 where a group is seen.

    `kept` gathers the pairs, for a table so small that they need not be made twice.
    """
    m = psi.order(p)
    two, pairs = np.zeros((shares.shape[1], m * (m + 1) // 2)), psi.pairs(p)
    for part in _pieces(len(Y), two.shape[1]):
        T = pairs(p.rows(part.start, part.stop))
        two += shares[part].T @ T
        if kept is not None:
            kept.append(T)
    kl = 0.5 * float((p.mu**2 + p.S - np.log(p.S) - 1.0).sum())
    return PsiSums(psi.one(p).T @ Y, two.T, psi.own(p) @ shares, shares.sum(axis=0), float((Y**2).sum()), kl)


def psi_slopes(
    psi: Psi, p: Blurred, Y: Array, shares: Array, down: Downward, kept: list[Array] | None = None
) -> Slopes:
    """What the slopes in the sums are in the parameters, the divergence taken off; mu and S of these rows only."""
    puller, pairs = psi.pull_pairs(p), psi.pairs(p)
    first = psi.pull_one(p, psi.one(p), Y @ down.one.T)
    own = psi.pull_own(p, shares @ down.own)
    dmu, dS = first.mu + own.mu - p.mu, first.S + own.S - 0.5 * (1.0 - 1.0 / p.S)
    same, total = shares.shape[1] == 1, np.zeros(())
    for k, part in enumerate(_pieces(len(Y), len(down.two))):
        rows = p.rows(part.start, part.stop)
        T = pairs(rows) if kept is None else kept[k]
        a, b, rest = puller.piece(rows, T, down.two.T if same else shares[part] @ down.two.T)
        dmu[part] += a
        dS[part] += b
        total = total + rest
    Z, w, v = puller.rest(total)
    return Slopes(dmu, dS, first.Z + own.Z + Z, first.w + own.w + w, first.v + own.v + v)
