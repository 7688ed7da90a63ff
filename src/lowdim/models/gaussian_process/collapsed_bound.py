"""A bound on the likelihood of Gaussian processes through inducing points, from a few sums over rows.

Of d columns seen in the same n rows, A = K + beta psi2:
F = d/2 (n log(beta / 2 pi) + log|K| - log|A| - beta psi0 + beta tr(K^-1 psi2)) - beta/2 tr Y'Y
    + beta^2/2 tr(Y'psi1 A^-1 psi1'Y), less the places' divergence from N(0, I) where they have a posterior.
Where places are points, psi1 = k(X, Z), psi2 = psi1'psi1, psi0 = tr k(X, X), and there is no divergence.

Reference: Titsias, Variational learning of inducing variables in sparse Gaussian processes, AISTATS 2009: eq. 9;
Titsias and Lawrence, Bayesian Gaussian process latent variable model, AISTATS 2010: eq. 11-15.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import Array, lower
from lowdim.models.gaussian_process.gp import Decoder, Index, KernelSum, jittered_cholesky

DIAGONAL = 1e-6  # of the variance, added to the matrix of inducing points that move: they may meet


class PsiSums(NamedTuple):
    """What the bound needs of the rows; columns in groups that are seen in the same rows."""

    one: Array  # m x d, psi1'Y
    two: Array  # pairs x groups, packed psi2
    psi0: Array  # groups, psi0
    seen: Array  # groups, rows
    square: float  # sum of the squared cells
    kl: float  # from the places' posterior to N(0, I)

    def merge(self, other: Self) -> Self:
        return type(self)(*(a + b for a, b in zip(self, other, strict=True)))  # type: ignore[operator]


class SumGradients(NamedTuple):
    """Gradients of the bound in the first three of these sums."""

    one: Array
    two: Array
    psi0: Array


class CollapsedBound(NamedTuple):
    """The bound, its gradients in what it is made of, and what predictions need."""

    value: float
    down: SumGradients
    K: Array  # gradient in the inducing points' matrix
    beta: float  # gradient
    inverse: Array  # groups x m x m, K^-1 - A^-1
    C: Array  # m x d, A^-1 psi1'Y
    jitter_level: int


class _GroupBound(NamedTuple):
    value: float
    one: Array  # gradient in psi1'Y
    two: Array
    K: Array
    beta: float
    A: Array  # inverse
    C: Array
    jitter_level: int


def collapsed_bound(K: Array, ridge: float, beta: float, sums: PsiSums, jitter_level: int = 0) -> CollapsedBound:
    """log p(Y) is at least this, K + ridge I the inducing points' matrix; a LinAlgError where one has no factors."""
    d, groups, m = sums.one.shape[1], len(sums.seen), len(K)
    i, j = lower(m)
    factor = jittered_cholesky(K, ridge, jitter_level)
    Ki, times = factor.inverse(), np.where(i == j, 1.0, 2.0)
    value, dK, dbeta = -0.5 * beta * sums.square - sums.kl, np.zeros((m, m)), -0.5 * sums.square
    one, two, C, inverse = np.empty((m, d)), np.empty((len(i), groups)), np.empty((m, d)), np.empty((groups, m, m))
    for g in range(groups):
        columns = slice(0, d) if groups == 1 else slice(g, g + 1)
        part = _group_bound(beta, K, factor.logdet, Ki, sums, g, columns, ridge, factor.jitter_level)
        if part.jitter_level > factor.jitter_level:  # all with the jitter that one of them needs
            return collapsed_bound(K, ridge, beta, sums, part.jitter_level)
        value, dK, dbeta = value + part.value, dK + part.K, dbeta + part.beta
        one[:, columns], two[:, g], C[:, columns], inverse[g] = part.one, times * part.two[i, j], part.C, Ki - part.A
    psi0 = np.full(groups, -0.5 * beta * (d if groups == 1 else 1))
    down = SumGradients(one, two, psi0)
    return CollapsedBound(value, down, 0.5 * (dK + dK.T), dbeta, inverse, C, factor.jitter_level)


def _group_bound(
    b: float, K: Array, logdet: float, Ki: Array, sums: PsiSums, g: int, columns: slice, ridge: float, level: int
) -> _GroupBound:
    """The bound of columns that are seen in the same rows, and its gradients."""
    P, n, psi0, m = sums.one[:, columns], float(sums.seen[g]), float(sums.psi0[g]), len(K)
    i, j = lower(m)
    d, psi2 = P.shape[1], np.empty((m, m))
    psi2[i, j] = psi2[j, i] = sums.two[:, g]
    factor = jittered_cholesky(K + b * psi2, ridge, level)
    A, C = factor.inverse(), factor.solve(P)
    CC, KP = C @ C.T, Ki @ psi2
    fit, over = float((P * C).sum()), float(np.trace(KP))
    value = 0.5 * d * (n * (np.log(b) - LOG_TWO_PI) + logdet - factor.logdet - b * (psi0 - over)) + 0.5 * b**2 * fit
    two = 0.5 * b * d * (Ki - A) - 0.5 * b**3 * CC
    dK = 0.5 * d * (Ki - A - b * KP @ Ki) - 0.5 * b**2 * CC
    dbeta = 0.5 * d * (n / b - float((A * psi2).sum()) - psi0 + over) + b * fit
    dbeta -= 0.5 * b**2 * float((CC * psi2).sum())
    return _GroupBound(value, b**2 * C, two, dK, dbeta, A, C, factor.jitter_level)


def induced_decoder(kernel: KernelSum, Z: Array, alpha: Array, inverse: Array) -> Decoder:
    """Predictions k(z, Z) alpha; `inverse`, one for all columns or one each, is what k(z, Z) takes off the variance."""
    d = alpha.shape[1]
    columns = [np.arange(d)] if len(inverse) == 1 else list(np.arange(d)[:, None])
    size, U = np.linalg.eigh(inverse)  # roots, as Decoder has them
    roots = np.sqrt(np.maximum(size, 0.0))[:, :, None] * np.swapaxes(U, 1, 2)
    groups: list[tuple[Index | None, Index, Array]] = [(None, j, root) for j, root in zip(columns, roots, strict=True)]
    return Decoder(kernel, Z, alpha, groups)
