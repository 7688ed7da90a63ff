"""The bound of the Bayesian GP-LVM from its psi statistics: the functions are integrated out, inducing points stay.

Of d columns seen in the same n rows, A = K + beta psi2:
F = d/2 (n log(beta / 2 pi) + log|K| - log|A| - beta psi0 + beta tr(K^-1 psi2)) - beta/2 tr Y'Y
    + beta^2/2 tr(Y'psi1 A^-1 psi1'Y), less the places' divergence from N(0, I).

Reference: Titsias and Lawrence (2010), eq. 11-15.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.math.gaussian import LOG_TWO_PI
from lowdim.math.linalg import Array, lower
from lowdim.models.gaussian_process.gp import factor
from lowdim.models.gaussian_process.psi import Blurred, Downward, Psi, PsiSums, Slopes

DIAGONAL = 1e-6  # of v, added to the matrix of inducing points that move: they may meet


class Collapsed(NamedTuple):
    """The bound, its slopes in what it is made of, and what predictions need."""

    value: float
    down: Downward
    K: Array  # slope in the inducing points' matrix
    beta: float  # slope
    inverse: Array  # groups x m x m, K^-1 - A^-1
    C: Array  # m x d, A^-1 psi1'Y
    rung: int


class _Part(NamedTuple):
    value: float
    one: Array  # slope in psi1'Y
    two: Array
    K: Array
    beta: float
    A: Array  # inverse
    C: Array
    rung: int


def collapsed(psi: Psi, p: Blurred, sums: PsiSums, rung: int = 0) -> Collapsed:
    """log p(Y) is at least this; a LinAlgError where a matrix cannot be factorised."""
    d, groups, m = sums.one.shape[1], len(sums.seen), psi.order(p)
    i, j = lower(m)
    K, ridge = psi.gram(p), ridge_of(psi, p)
    made = factor(K, ridge, rung)
    Ki, each = made.inverse(), np.where(i == j, 1.0, 2.0)
    value, dK, dbeta = -0.5 * p.beta * sums.square - sums.kl, np.zeros((m, m)), -0.5 * sums.square
    one, two, C, inverse = np.empty((m, d)), np.empty((len(i), groups)), np.empty((m, d)), np.empty((groups, m, m))
    for g in range(groups):
        columns = slice(0, d) if groups == 1 else slice(g, g + 1)
        part = _group(p.beta, K, made.logdet, Ki, sums, g, columns, ridge, made.rung)
        if part.rung > made.rung:  # all with the jitter that one of them needs
            return collapsed(psi, p, sums, part.rung)
        value, dK, dbeta = value + part.value, dK + part.K, dbeta + part.beta
        one[:, columns], two[:, g], C[:, columns], inverse[g] = part.one, each * part.two[i, j], part.C, Ki - part.A
    own = np.full(groups, -0.5 * p.beta * (d if groups == 1 else 1))
    return Collapsed(value, Downward(one, two, own), 0.5 * (dK + dK.T), dbeta, inverse, C, made.rung)


def ridge_of(psi: Psi, p: Blurred) -> float:
    return DIAGONAL * p.v if len(p.Z) else 0.0


def _group(
    b: float, K: Array, logdet: float, Ki: Array, sums: PsiSums, g: int, columns: slice, ridge: float, rung: int
) -> _Part:
    """The bound of some columns with the same rows, and its slopes."""
    P, n, own, m = sums.one[:, columns], float(sums.seen[g]), float(sums.own[g]), len(K)
    i, j = lower(m)
    d, psi2 = P.shape[1], np.empty((m, m))
    psi2[i, j] = psi2[j, i] = sums.two[:, g]
    made = factor(K + b * psi2, ridge, rung)
    A, C = made.inverse(), made.solve(P)
    CC, KP = C @ C.T, Ki @ psi2
    fit, over = float((P * C).sum()), float(np.trace(KP))
    value = 0.5 * d * (n * (np.log(b) - LOG_TWO_PI) + logdet - made.logdet - b * (own - over)) + 0.5 * b**2 * fit
    two = 0.5 * b * d * (Ki - A) - 0.5 * b**3 * CC
    dK = 0.5 * d * (Ki - A - b * KP @ Ki) - 0.5 * b**2 * CC
    dbeta = 0.5 * d * (n / b - float((A * psi2).sum()) - own + over) + b * fit
    dbeta -= 0.5 * b**2 * float((CC * psi2).sum())
    return _Part(value, b**2 * C, two, dK, dbeta, A, C, made.rung)


def whole_slope(psi: Psi, p: Blurred, found: Collapsed, rows: Slopes) -> Array:
    """Every slope in the order of the packed parameters; variances, relevances and precisions by their logarithms."""
    gram = psi.pull_gram(p, psi.gram(p), found.K)
    dv = rows.v + gram.v + ridge_of(psi, p) * float(np.trace(found.K))
    return np.concatenate(
        [
            rows.mu.ravel(),
            (rows.S * p.S).ravel(),
            (rows.Z + gram.Z).ravel(),
            (rows.w + gram.w) * p.w,
            [dv, found.beta * p.beta],
        ]
    )
