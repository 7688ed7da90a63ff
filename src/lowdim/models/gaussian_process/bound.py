"""A bound on the likelihood of Gaussian processes through inducing points, from a few sums over rows.

Of d columns seen in the same n rows, A = K + beta psi2:
F = d/2 (n log(beta / 2 pi) + log|K| - log|A| - beta psi0 + beta tr(K^-1 psi2)) - beta/2 tr Y'Y
    + beta^2/2 tr(Y'psi1 A^-1 psi1'Y), less the places' divergence from N(0, I) where they have a posterior.
Where places are points, psi1 = k(X, Z), psi2 = psi1'psi1, psi0 = tr k(X, X), and there is no divergence.

The evidence bound of the Bayesian GP-LVM is this bound with sums that are expectations under the places' posteriors.
The table stays where it is: one fold for the value, one walk for the gradient.

Reference: Titsias, Variational learning of inducing variables in sparse Gaussian processes, AISTATS 2009: eq. 9;
Titsias and Lawrence, Bayesian Gaussian process latent variable model, AISTATS 2010: eq. 11-15.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from lowdim.engine.fold import Run, fold, recalled, tree, walk
from lowdim.engine.statistics import Sum
from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import Array, lower
from lowdim.models.gaussian_process.gp import (
    DecodedColumns,
    Decoder,
    JitteredSurface,
    Kernel,
    condition,
    jittered_cholesky,
)
from lowdim.models.gaussian_process.psi import (
    PSI_KERNELS,
    PsiGradients,
    PsiSums,
    SumGradients,
    VariationalParams,
    psi_gradients,
    psi_sums,
)
from lowdim.sources.source import Block, Source
from lowdim.text.messages import error

DIAGONAL = 1e-6  # of the variance, added to the matrix of inducing points that move: they may meet
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


def collapsed_bound(K: Array, ridge: float, beta: float, sums: PsiSums, jitter_level: int = 0) -> CollapsedBound:
    """log p(Y) is at least this, K + ridge I the inducing points' matrix; a LinAlgError where one has no factors."""
    (m, d), groups, b = sums.one.shape, len(sums.seen), beta
    i, j = lower(m)
    whole = jittered_cholesky(K, ridge, jitter_level)
    Ki, times = whole.inverse(), np.where(i == j, 1.0, 2.0)
    value, dK, dbeta = -0.5 * b * sums.square - sums.kl, np.zeros((m, m)), -0.5 * sums.square
    one, two, C, inverse = np.empty((m, d)), np.empty((len(i), groups)), np.empty((m, d)), np.empty((groups, m, m))
    for g in range(groups):
        # the columns of a group, of which there is one where no cell is missing
        columns = slice(0, d) if groups == 1 else slice(g, g + 1)
        P, n, psi0, psi2 = sums.one[:, columns], float(sums.seen[g]), float(sums.psi0[g]), np.empty((m, m))
        psi2[i, j] = psi2[j, i] = sums.two[:, g]
        factor, width = jittered_cholesky(K + b * psi2, ridge, whole.jitter_level), P.shape[1]
        if factor.jitter_level > whole.jitter_level:  # all with the jitter that one of them needs
            return collapsed_bound(K, ridge, beta, sums, factor.jitter_level)
        # its value: fit = tr(Y'psi1 A^-1 psi1'Y), over = tr(K^-1 psi2)
        Ai, c = factor.inverse(), factor.solve(P)
        cc, KP = c @ c.T, Ki @ psi2
        fit, over = float((P * c).sum()), float(np.trace(KP))
        each = n * (np.log(b) - LOG_TWO_PI) + whole.logdet - factor.logdet - b * (psi0 - over)  # twice a column's share
        value += 0.5 * width * each + 0.5 * b**2 * fit
        # its gradients in psi1'Y, psi2 (a packed pair stands for two), K and beta
        one[:, columns] = b**2 * c
        two[:, g] = times * (0.5 * b * width * (Ki - Ai) - 0.5 * b**3 * cc)[i, j]
        dK += 0.5 * width * (Ki - Ai - b * KP @ Ki) - 0.5 * b**2 * cc
        by_rows = 0.5 * width * (n / b - float((Ai * psi2).sum()) - psi0 + over)
        dbeta += by_rows + b * fit - 0.5 * b**2 * float((cc * psi2).sum())
        C[:, columns] = c
        inverse[g] = Ki - Ai
    down = SumGradients(one, two, np.full(groups, -0.5 * b * (d if groups == 1 else 1)))
    return CollapsedBound(value, down, 0.5 * (dK + dK.T), dbeta, inverse, C, whole.jitter_level)


def induced_decoder(kernel: Kernel, Z: Array, alpha: Array, inverse: Array) -> Decoder:
    """Predictions k(z, Z) alpha; `inverse`, one for all columns or one each, is what k(z, Z) takes off the variance."""
    d = alpha.shape[1]
    columns = [np.arange(d)] if len(inverse) == 1 else list(np.arange(d)[:, None])
    size, U = np.linalg.eigh(inverse)  # roots, as Decoder has them
    roots = np.sqrt(np.maximum(size, 0.0))[:, :, None] * np.swapaxes(U, 1, 2)
    groups = [DecodedColumns(None, at, root) for at, root in zip(columns, roots, strict=True)]
    return Decoder(kernel, Z, alpha, groups)


# uncertain places, over a table ---------------------------------------------------------------------------------------
class CentredTable(NamedTuple):
    """The table of a climb: its rows in units in which columns have mean 0, and whether cells are missing."""

    source: Source
    gaps: bool
    name: str  # a checkpoint tells climbs apart by it


class EvidenceBound(JitteredSurface):
    """The evidence bound and its gradient at a vector of packed parameters."""

    def __init__(self, kernel: str, like: VariationalParams, table: CentredTable, run: Run) -> None:
        super().__init__(recalled(run, f"evidence, {table.name}", self._evaluate))
        self.kernel, self.like, self.table = kernel, like, table
        self.run = run._replace(checkpoint=None)  # values are remembered, and so are folds with them

    def at(self, vector: Array, jitter_level: int, cache: PairCache | None = None) -> CollapsedBound:
        """The value, and what predictions need; one pass."""
        p, (source, gaps, _) = self.like.unpack(vector), self.table
        K = PSI_KERNELS[self.kernel](p).gram()
        sums = fold(partial(_tile_sums, self.kernel, p, gaps, cache), source, self.run)
        try:
            return collapsed_bound(K, ridge_of(p), p.beta, sums, jitter_level)
        except np.linalg.LinAlgError:
            raise error("LD473", condition=condition(K, ridge_of(p))) from None

    def _evaluate(self, x: Array) -> Array:
        """Value, jitter level and gradient: a checkpoint keeps one array."""
        p, (source, gaps, _) = self.like.unpack(x[:-1]), self.table
        pairs = len(p.mu) * p.points * (p.points + 1) // 2
        cache: PairCache | None = {} if pairs <= CACHED_PAIRS else None
        # The fold gives the sums, these the bound and its gradients in them; the walk carries these back to the rows.
        bound = self.at(x[:-1], int(x[-1]), cache)
        mu, S, shared = np.empty_like(p.mu), np.empty_like(p.S), []
        for start, part in walk(partial(_tile_gradients, self.kernel, p, gaps, bound.down, cache), source, self.run):
            end = start + len(part.mu)
            mu[start:end], S[start:end] = part.mu, part.S
            shared.append(Sum(np.concatenate([part.Z.ravel(), part.w, [part.v]])))
        Z, w, v = np.split(tree(shared).value, [p.Z.size, p.Z.size + len(p.w)])
        gradient = packed_gradient(self.kernel, p, bound, PsiGradients(mu, S, Z.reshape(p.Z.shape), w, float(v[0])))
        return np.concatenate([[bound.value, bound.jitter_level], gradient])


def ridge_of(p: VariationalParams) -> float:
    """What is added to the diagonal of the inducing points' matrix."""
    return DIAGONAL * p.v if len(p.Z) else 0.0


def packed_gradient(kernel: str, p: VariationalParams, bound: CollapsedBound, rows: PsiGradients) -> Array:
    """The gradient in the order of the packed parameters: variances, relevances and precisions by logarithms."""
    psi = PSI_KERNELS[kernel](p)
    dZ, dw, dv = psi.gram_gradient(psi.gram(), bound.K)
    dv = rows.v + dv + ridge_of(p) * float(np.trace(bound.K))
    shared = (rows.Z + dZ).ravel(), (rows.w + dw) * p.w, [dv, bound.beta * p.beta]
    return np.concatenate([rows.mu.ravel(), (rows.S * p.S).ravel(), *shared])


def _shares(gaps: bool, block: Block) -> Array:
    """Which groups of columns are seen, n x groups: one group where no cell is missing."""
    if block.mask is None:
        return np.ones((len(block.x), block.x.shape[1] if gaps else 1))
    return block.mask.astype(np.float64)


def _tile_sums(kernel: str, p: VariationalParams, gaps: bool, cache: PairCache | None, block: Block) -> PsiSums:
    """The sums of a tile."""
    pairs: list[Array] | None = None if cache is None else []
    rows = p.rows(block.start, block.start + len(block.x))
    sums = psi_sums(kernel, rows, block.x, _shares(gaps, block), pairs)
    if cache is not None and pairs is not None:
        cache[block.start] = pairs
    return sums


def _tile_gradients(
    kernel: str, p: VariationalParams, gaps: bool, down: SumGradients, cache: PairCache | None, block: Block
) -> PsiGradients:
    """The gradients of a tile: in its places, and its share of those in what rows share."""
    pairs = None if cache is None else cache.pop(block.start, None)  # another machine kept its own
    rows = p.rows(block.start, block.start + len(block.x))
    return psi_gradients(kernel, rows, block.x, _shares(gaps, block), down, pairs)
