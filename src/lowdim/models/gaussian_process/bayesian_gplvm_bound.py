"""The evidence bound of the Bayesian GP-LVM: the functions are integrated out, inducing points stay.

The bound of `collapsed_bound.py`, its sums expectations under the places' posteriors.
The table stays where it is: one fold for the value, one walk for the gradient.

Reference: Titsias and Lawrence, Bayesian Gaussian process latent variable model, AISTATS 2010: eq. 11-15.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from lowdim.engine.fold import Run, fold, recalled, tree, walk
from lowdim.engine.statistics import Sum
from lowdim.maths.linalg import Array
from lowdim.models.gaussian_process.collapsed_bound import (
    DIAGONAL,
    CollapsedBound,
    PsiSums,
    SumGradients,
    collapsed_bound,
)
from lowdim.models.gaussian_process.gp import condition
from lowdim.models.gaussian_process.psi import (
    PSI_KERNELS,
    PsiGradients,
    PsiKernel,
    VariationalParams,
    psi_gradients,
    psi_sums,
)
from lowdim.sources.source import Block, Source
from lowdim.text.messages import error

CACHED_PAIRS = 2**22  # pairs of all rows, 32 MB, kept from the fold to the walk: a third of the time of a small table
PairCache = dict[int, list[Array]]  # the pairs of each tile, by its first row


# from sums to the bound -----------------------------------------------------------------------------------------------
def ridge_of(p: VariationalParams) -> float:
    """What is added to the diagonal of the inducing points' matrix."""
    return DIAGONAL * p.v if len(p.Z) else 0.0


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
            return collapsed_bound(psi.gram(p), ridge_of(p), p.beta, sums, jitter_level)
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
