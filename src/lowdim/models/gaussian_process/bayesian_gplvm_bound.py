"""The evidence bound of the Bayesian GP-LVM: the functions are integrated out, inducing points stay.

Of d columns seen in the same n rows, A = K + beta psi2:
F = d/2 (n log(beta / 2 pi) + log|K| - log|A| - beta psi0 + beta tr(K^-1 psi2)) - beta/2 tr Y'Y
    + beta^2/2 tr(Y'psi1 A^-1 psi1'Y), less the places' divergence from N(0, I).
The table stays where it is: one fold for the value, one walk for the gradient.

Reference: Titsias and Lawrence, Bayesian Gaussian process latent variable model, AISTATS 2010: eq. 11-15.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from lowdim.engine.fold import Run, fold, recalled, tree, walk
from lowdim.engine.statistics import Sum
from lowdim.math.gaussian import LOG_TWO_PI
from lowdim.math.linalg import Array, lower
from lowdim.models.gaussian_process.gp import condition, jittered_cholesky
from lowdim.models.gaussian_process.psi import (
    PSI_KERNELS,
    PsiGradients,
    PsiKernel,
    PsiSums,
    SumGradients,
    VariationalParams,
    psi_gradients,
    psi_sums,
)
from lowdim.sources.source import Block, Source
from lowdim.text.messages import error

DIAGONAL = 1e-6  # of v, added to the matrix of inducing points that move: they may meet
CACHED_PAIRS = 2**22  # pairs of all rows, 32 MB, kept from the fold to the walk: a third of the time of a small table
PairCache = dict[int, list[Array]]  # the pairs of each tile, by its first row


# from sums to the bound -----------------------------------------------------------------------------------------------
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


def collapsed_bound(psi: PsiKernel, p: VariationalParams, sums: PsiSums, jitter_level: int = 0) -> CollapsedBound:
    """log p(Y) is at least this; a LinAlgError where a matrix cannot be factorised."""
    d, groups, m = sums.one.shape[1], len(sums.seen), psi.order(p)
    i, j = lower(m)
    K, ridge = psi.gram(p), ridge_of(p)
    factor = jittered_cholesky(K, ridge, jitter_level)
    Ki, times = factor.inverse(), np.where(i == j, 1.0, 2.0)
    value, dK, dbeta = -0.5 * p.beta * sums.square - sums.kl, np.zeros((m, m)), -0.5 * sums.square
    one, two, C, inverse = np.empty((m, d)), np.empty((len(i), groups)), np.empty((m, d)), np.empty((groups, m, m))
    for g in range(groups):
        columns = slice(0, d) if groups == 1 else slice(g, g + 1)
        part = _group_bound(p.beta, K, factor.logdet, Ki, sums, g, columns, ridge, factor.jitter_level)
        if part.jitter_level > factor.jitter_level:  # all with the jitter that one of them needs
            return collapsed_bound(psi, p, sums, part.jitter_level)
        value, dK, dbeta = value + part.value, dK + part.K, dbeta + part.beta
        one[:, columns], two[:, g], C[:, columns], inverse[g] = part.one, times * part.two[i, j], part.C, Ki - part.A
    psi0 = np.full(groups, -0.5 * p.beta * (d if groups == 1 else 1))
    down = SumGradients(one, two, psi0)
    return CollapsedBound(value, down, 0.5 * (dK + dK.T), dbeta, inverse, C, factor.jitter_level)


def ridge_of(p: VariationalParams) -> float:
    """What is added to the diagonal of the inducing points' matrix."""
    return DIAGONAL * p.v if len(p.Z) else 0.0


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


def packed_gradient(psi: PsiKernel, p: VariationalParams, bound: CollapsedBound, rows: PsiGradients) -> Array:
    """The gradient in the order of the packed parameters: variances, relevances and precisions by logarithms."""
    gram = psi.gram_gradient(p, psi.gram(p), bound.K)
    dv = rows.v + gram.v + ridge_of(p) * float(np.trace(bound.K))
    dw = (rows.w + gram.w) * p.w
    dZ = (rows.Z + gram.Z).ravel()
    return np.concatenate([rows.mu.ravel(), (rows.S * p.S).ravel(), dZ, dw, [dv, bound.beta * p.beta]])


# over a table ---------------------------------------------------------------------------------------------------------
class CentredTable(NamedTuple):
    """The table of a climb: its rows in units in which columns have mean 0, and whether cells are missing."""

    source: Source
    gaps: bool
    name: str  # a checkpoint tells climbs apart by it


class EvidenceBound:
    """The bound and its gradient at a vector; once a matrix needs jitter it keeps it. `passes` counts walks."""

    def __init__(self, kernel: str, like: VariationalParams, table: CentredTable, run: Run) -> None:
        self.kernel, self.like, self.table, self.jitter_level, self.passes = kernel, like, table, 0, 0
        self.best, self.best_level = -np.inf, 0
        self.run = run._replace(checkpoint=None)  # values are remembered, and so are folds with them
        self.f = recalled(run, f"evidence, {table.name}", self._evaluate)

    def __call__(self, vector: Array) -> tuple[float, Array]:
        packed = self.f(np.append(vector, self.jitter_level))
        value, self.jitter_level, self.passes = float(packed[0]), int(packed[1]), self.passes + 2
        if value > self.best:
            self.best, self.best_level = value, self.jitter_level
        return value, packed[2:]

    def at(self, vector: Array, jitter_level: int, cache: PairCache | None = None) -> CollapsedBound:
        """The value, and what predictions need; one pass."""
        psi, p, (source, gaps, _) = PSI_KERNELS[self.kernel], self.like.unpack(vector), self.table
        sums = fold(partial(_tile_sums, self.kernel, p, gaps, cache), source, self.run)
        try:
            return collapsed_bound(psi, p, sums, jitter_level)
        except np.linalg.LinAlgError:
            raise error("LD473", condition=condition(psi.gram(p), ridge_of(p))) from None

    def _evaluate(self, x: Array) -> Array:
        """Value, jitter level and gradient: a checkpoint keeps one array."""
        psi, p, (source, gaps, _) = PSI_KERNELS[self.kernel], self.like.unpack(x[:-1]), self.table
        m = psi.order(p)
        cache: PairCache | None = {} if len(p.mu) * m * (m + 1) // 2 <= CACHED_PAIRS else None
        bound = self.at(x[:-1], int(x[-1]), cache)
        mu, S, shared = np.empty_like(p.mu), np.empty_like(p.S), []
        for start, part in walk(partial(_tile_gradients, self.kernel, p, gaps, bound.down, cache), source, self.run):
            end = start + len(part.mu)
            mu[start:end], S[start:end] = part.mu, part.S
            shared.append(Sum(np.concatenate([part.Z.ravel(), part.w, [part.v]])))
        Z, w, v = np.split(tree(shared).value, [p.Z.size, p.Z.size + len(p.w)])
        gradient = packed_gradient(psi, p, bound, PsiGradients(mu, S, Z.reshape(p.Z.shape), w, float(v[0])))
        return np.concatenate([[bound.value, bound.jitter_level], gradient])


def _shares(gaps: bool, block: Block) -> Array:
    """Which groups of columns are seen, n x groups: one group where no cell is missing."""
    if block.mask is None:
        return np.ones((block.rows, block.x.shape[1] if gaps else 1))
    return block.mask.astype(np.float64)


def _tile_sums(kernel: str, p: VariationalParams, gaps: bool, cache: PairCache | None, block: Block) -> PsiSums:
    """The sums of a tile."""
    pairs: list[Array] | None = None if cache is None else []
    rows = p.rows(block.start, block.start + block.rows)
    sums = psi_sums(PSI_KERNELS[kernel], rows, block.x, _shares(gaps, block), pairs)
    if cache is not None and pairs is not None:
        cache[block.start] = pairs
    return sums


def _tile_gradients(
    kernel: str, p: VariationalParams, gaps: bool, down: SumGradients, cache: PairCache | None, block: Block
) -> PsiGradients:
    """The gradients of a tile: in its places, and its share of those in what rows share."""
    pairs = None if cache is None else cache.pop(block.start, None)  # another machine kept its own
    rows = p.rows(block.start, block.start + block.rows)
    return psi_gradients(PSI_KERNELS[kernel], rows, block.x, _shares(gaps, block), down, pairs)
