"""The evidence bound of a table that stays where it is: one fold for its value, one walk for its slope."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from lowdim.engine.checkpoint.replay import recalled
from lowdim.engine.fold import Run, fold, tree, walk
from lowdim.engine.statistics import Sum
from lowdim.math.linalg import Array
from lowdim.models.gaussian_process.collapsed import Collapsed, collapsed, ridge_of, whole_slope
from lowdim.models.gaussian_process.gplvm_likelihood import condition
from lowdim.models.gaussian_process.psi import Blurred, Downward, Psi, PsiSums, Slopes, psi_slopes, psi_sums
from lowdim.models.gaussian_process.psi_linear import LINEAR
from lowdim.models.gaussian_process.psi_rbf import RBF
from lowdim.sources.source import Block, Source
from lowdim.text.messages import error

PSI: dict[str, Psi] = {"rbf": RBF, "linear": LINEAR}
KEEP = 2**22  # pairs of all rows, 32 MB, that are kept from the fold to the walk: a third of the time of a small table
Kept = dict[int, list[Array]]  # the pairs of each tile, by its first row


class Seen(NamedTuple):
    """The table of a climb: its rows in units in which columns have mean 0, and whether cells are missing."""

    source: Source
    gaps: bool
    name: str  # a checkpoint tells climbs apart by it


class Evidence:
    """The bound and its slope at a vector; once a matrix needs jitter it keeps it. `passes` counts walks."""

    def __init__(self, kernel: str, like: Blurred, seen: Seen, run: Run) -> None:
        self.kernel, self.like, self.seen, self.rung, self.passes = kernel, like, seen, 0, 0
        self.best, self.rung_there = -np.inf, 0
        self.run = run._replace(checkpoint=None)  # values are remembered, and so are folds with them
        self.f = recalled(run, f"evidence, {seen.name}", self._said)

    def __call__(self, vector: Array) -> tuple[float, Array]:
        said = self.f(np.append(vector, self.rung))
        value, self.rung, self.passes = float(said[0]), int(said[1]), self.passes + 2
        if value > self.best:
            self.best, self.rung_there = value, self.rung
        return value, said[2:]

    def at(self, vector: Array, rung: int, kept: Kept | None = None) -> Collapsed:
        """The value, and what predictions need; one pass."""
        psi, p, (source, gaps, _) = PSI[self.kernel], self.like.unpack(vector), self.seen
        sums = fold(partial(_told, self.kernel, p, gaps, kept), source, self.run)
        try:
            return collapsed(psi, p, sums, rung)
        except np.linalg.LinAlgError:
            raise error("LD473", condition=condition(psi.gram(p), ridge_of(psi, p))) from None

    def _said(self, x: Array) -> Array:
        """Value, rung and slope: a checkpoint keeps one array."""
        psi, p, (source, gaps, _) = PSI[self.kernel], self.like.unpack(x[:-1]), self.seen
        m = psi.order(p)
        kept: Kept | None = {} if len(p.mu) * m * (m + 1) // 2 <= KEEP else None
        found = self.at(x[:-1], int(x[-1]), kept)
        mu, S, rest = np.empty_like(p.mu), np.empty_like(p.S), []
        for start, part in walk(partial(_pulled, self.kernel, p, gaps, found.down, kept), source, self.run):
            end = start + len(part.mu)
            mu[start:end], S[start:end] = part.mu, part.S
            rest.append(Sum(np.concatenate([part.Z.ravel(), part.w, [part.v]])))
        Z, w, v = np.split(tree(rest).value, [p.Z.size, p.Z.size + len(p.w)])
        slope = whole_slope(psi, p, found, Slopes(mu, S, Z.reshape(p.Z.shape), w, float(v[0])))
        return np.concatenate([[found.value, found.rung], slope])


def _shares(gaps: bool, block: Block) -> Array:
    """Which groups of columns are seen, n x groups: one group where no cell is missing."""
    if block.mask is None:
        return np.ones((block.rows, block.x.shape[1] if gaps else 1))
    return block.mask.astype(np.float64)


def _told(kernel: str, p: Blurred, gaps: bool, kept: Kept | None, block: Block) -> PsiSums:
    """The sums of a tile."""
    mine: list[Array] | None = None if kept is None else []
    sums = psi_sums(PSI[kernel], p.rows(block.start, block.start + block.rows), block.x, _shares(gaps, block), mine)
    if kept is not None and mine is not None:
        kept[block.start] = mine
    return sums


def _pulled(kernel: str, p: Blurred, gaps: bool, down: Downward, kept: Kept | None, block: Block) -> Slopes:
    """The slopes of a tile: of its places, and its share of those of the rest."""
    mine = None if kept is None else kept.pop(block.start, None)  # another machine kept its own
    rows = p.rows(block.start, block.start + block.rows)
    return psi_slopes(PSI[kernel], rows, block.x, _shares(gaps, block), down, mine)
