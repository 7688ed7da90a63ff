"""Psi statistics of the ARD kernel and the bound of the Bayesian GP-LVM, with their slopes by hand.

k(x, y) = v exp(-1/2 sum_q w_q (x_q - y_q)^2) averaged over places x_n ~ N(mu_n, diag S_n): psi1 = E k(x_n, z),
psi2_j = sum over the rows in which column j is seen of E k(z, x_n) k(x_n, z'). The exponent of psi2 is linear in
(w mu, w): two products over the m(m+1)/2 pairs of inducing points. Reference: Titsias and Lawrence (2010), eq. 14-24.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.math.gaussian import LOG_TWO_PI
from lowdim.math.gp import KINDS, factor
from lowdim.math.linalg import Array, lower

DIAGONAL = 1e-6  # of v, added to the inducing points' own matrix


class Blurred(NamedTuple):
    """The variational parameters: places with doubt, inducing points, relevances, signal and noise precision."""

    mu: Array  # n x q
    S: Array  # n x q, variances
    Z: Array  # m x q
    w: Array  # q
    v: float
    beta: float

    def pack(self) -> Array:
        return np.concatenate([self.mu.ravel(), np.log(self.S).ravel(), self.Z.ravel(), np.log(self.w),
                               [np.log(self.v), np.log(self.beta)]])

    def unpack(self, vector: Array) -> Blurred:
        """The parameters of a vector, shaped as these."""
        n, m, q = self.mu.size, self.Z.size, len(self.w)
        mu, S, Z, w, rest = np.split(vector, [n, 2 * n, 2 * n + m, 2 * n + m + q])
        return Blurred(mu.reshape(self.mu.shape), np.exp(S).reshape(self.S.shape), Z.reshape(self.Z.shape), np.exp(w),
                       float(np.exp(rest[0])), float(np.exp(rest[1])))


class Slopes(NamedTuple):
    """What a statistic pulls back: slopes in mu, S, Z, w and log v."""

    mu: Array
    S: Array
    Z: Array
    w: Array
    v: float


def psi1(p: Blurred) -> Array:
    """E k(x_n, z_m), n x m."""
    c = 1.0 / (p.w * p.S + 1.0)
    wc = p.w * c
    rows = 0.5 * (np.log(c) - wc * p.mu**2).sum(axis=1)
    E = (wc * p.mu) @ p.Z.T - 0.5 * wc @ (p.Z**2).T
    return np.asarray(p.v * np.exp(np.minimum(E + rows[:, None], 0.0)))


def pull1(p: Blurred, psi: Array, G: Array) -> Slopes:
    """From dF/dpsi1."""
    c, H = 1.0 / (p.w * p.S + 1.0), G * psi
    wc, r = p.w * c, H.sum(axis=1)[:, None]
    HZ = H @ p.Z
    Q = r * p.mu**2 - 2.0 * p.mu * HZ + H @ p.Z**2
    return Slopes(-wc * (r * p.mu - HZ), 0.5 * wc * (wc * Q - r), H.T @ (wc * p.mu) - (H.T @ wc) * p.Z,
                  -0.5 * (p.S * c * r + c**2 * Q).sum(axis=0), float(H.sum()))


def pairs(p: Blurred) -> Array:
    """E k(x_n, z_i) k(x_n, z_j) of each row and each pair i >= j, n x m(m+1)/2."""
    i, j = lower(len(p.Z))
    middle, apart = 0.5 * (p.Z[i] + p.Z[j]), p.Z[i] - p.Z[j]
    b = 1.0 / (2.0 * p.w * p.S + 1.0)
    wb = p.w * b
    rows = (0.5 * np.log(b) - wb * p.mu**2).sum(axis=1)
    E = (2.0 * wb * p.mu) @ middle.T
    E -= wb @ (middle**2).T
    E += rows[:, None]
    E -= 0.25 * (apart**2 @ p.w)
    np.minimum(E, 0.0, out=E)
    np.exp(E, out=E)
    E *= p.v**2
    return E


def pull2(p: Blurred, T: Array, G: Array) -> Slopes:
    """From the slope in each row's pairs, n x m(m+1)/2 (an off-diagonal pair stands for two)."""
    i, j = lower(len(p.Z))
    middle, apart = 0.5 * (p.Z[i] + p.Z[j]), p.Z[i] - p.Z[j]
    b, H = 1.0 / (2.0 * p.w * p.S + 1.0), G * T
    wb, r, total = p.w * b, H.sum(axis=1)[:, None], H.sum(axis=0)
    HZ = H @ middle
    Q = r * p.mu**2 - 2.0 * p.mu * HZ + H @ middle**2
    half = H.T @ (wb * p.mu) - (H.T @ wb) * middle  # half the slope in the middles: an end moves it half as far
    side = 0.5 * p.w * apart * total[:, None]
    dZ = np.zeros_like(p.Z)
    np.add.at(dZ, i, half - side)
    np.add.at(dZ, j, half + side)
    return Slopes(-2.0 * wb * (r * p.mu - HZ), wb * (2.0 * wb * Q - r), dZ,
                  -(p.S * b * r + b**2 * Q).sum(axis=0) - 0.25 * total @ apart**2, 2.0 * float(H.sum()))


class Given(NamedTuple):
    """What the inducing points say of one group of columns."""

    A: Array  # inverse of K + beta psi2
    C: Array  # m x columns, A^-1 psi1'Y


class Bound(NamedTuple):
    """The evidence bound, its slope in the packed parameters, and what predictions need."""

    value: float
    slope: Array
    K: Array  # inverse of the inducing points' matrix
    groups: list[tuple[NDArray[np.intp], Given]]
    rung: int


def bound(p: Blurred, Y: Array, seen: NDArray[np.bool_] | None, rung: int = 0) -> Bound:
    """log p(Y) is at least this; a gap holds zero in Y, and a column's rows are those it is seen in."""
    (n, d), m = Y.shape, len(p.Z)
    i, j = lower(m)
    P1, T = psi1(p), pairs(p)
    root = np.sqrt(p.w)
    K = KINDS["rbf"].cross(np.array([p.v, 1.0]), p.Z * root, p.Z * root)
    made = factor(K, DIAGONAL * p.v, rung)
    Ki, half = made.inverse(), np.where(i == j, 1.0, 2.0)
    shares = np.ones((n, 1)) if seen is None else seen.astype(np.float64)
    packed, P = T.T @ shares, P1.T @ Y
    value = -0.5 * p.beta * float((Y**2).sum()) - kl(p)
    dK, dbeta, G2 = np.zeros((m, m)), -0.5 * float((Y**2).sum()), np.empty((len(i), shares.shape[1]))
    groups, dC = [], np.empty((m, d))
    for g in range(shares.shape[1]):
        columns = np.arange(d) if seen is None else np.array([g])
        part, found = _group(p, K, made.logdet, Ki, packed[:, g], P[:, columns], float(shares[:, g].sum()), made.rung)
        value, dK, dbeta = value + part.value, dK + part.K, dbeta + part.beta
        G2[:, g], dC[:, columns] = half * part.psi2[i, j], part.psi1
        groups.append((columns, found))
    slope = _collect(p, pull1(p, P1, Y @ dC.T), pull2(p, T, shares @ G2.T), dK, K, dbeta,
                     -0.5 * p.beta * p.v * float(shares.sum()) * (d if seen is None else 1))
    return Bound(value, slope, Ki, groups, made.rung)


class _Part(NamedTuple):
    value: float
    K: Array
    psi1: Array  # slope in psi1'Y, which is Y's share of the slope in psi1
    psi2: Array
    beta: float


def _group(p: Blurred, K: Array, logdet: float, Ki: Array, packed: Array, P: Array, n: float,
           rung: int) -> tuple[_Part, Given]:
    """The bound of some columns with the same rows, and its slopes in what it is made of."""
    m, d, b = len(K), P.shape[1], p.beta
    i, j = lower(m)
    psi2 = np.empty((m, m))
    psi2[i, j] = psi2[j, i] = packed
    made = factor(K + b * psi2, DIAGONAL * p.v, rung)
    A, C = made.inverse(), made.solve(P)
    CC, KP = C @ C.T, Ki @ psi2
    fit, over = float((P * C).sum()), float(np.trace(KP))
    value = 0.5 * d * (n * (np.log(b) - LOG_TWO_PI) + logdet - made.logdet - b * (n * p.v - over)) + 0.5 * b**2 * fit
    dpsi2 = 0.5 * b * d * (Ki - A) - 0.5 * b**3 * CC
    dK = 0.5 * d * (Ki - A - b * KP @ Ki) - 0.5 * b**2 * CC
    dbeta = 0.5 * d * (n / b - float((A * psi2).sum()) - n * p.v + over) + b * fit
    dbeta -= 0.5 * b**2 * float((CC * psi2).sum())
    return _Part(value, dK, b**2 * C, dpsi2, dbeta), Given(A, C)


def _collect(p: Blurred, one: Slopes, two: Slopes, dK: Array, K: Array, dbeta: float, own: float) -> Array:
    """Every slope in the order of the packed parameters; variances, relevances and precisions by their logarithms."""
    root = np.sqrt(p.w)
    dX, dt = KINDS["rbf"].pull(np.array([p.v, 1.0]), p.Z * root, K, 0.5 * (dK + dK.T))
    dw = one.w + two.w + 0.5 * (dX * p.Z).sum(axis=0) / root
    dS = one.S + two.S - 0.5 * (1.0 - 1.0 / p.S)
    dv = one.v + two.v + dt[0] + own + DIAGONAL * p.v * float(np.trace(dK))
    return np.concatenate([(one.mu + two.mu - p.mu).ravel(), (dS * p.S).ravel(),
                           (one.Z + two.Z + dX * root).ravel(), dw * p.w, [dv, dbeta * p.beta]])


def kl(p: Blurred) -> float:
    """From the places' posterior to N(0, I)."""
    return 0.5 * float((p.mu**2 + p.S - np.log(p.S) - 1.0).sum())
