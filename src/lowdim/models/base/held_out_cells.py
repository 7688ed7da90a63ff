"""Cells of a stream held back, which ones by a hash of their row, and how far from them a fit to the rest ends up.

A fit without them predicts them; their errors are counted on a scale of logarithms, so that counts of blocks add.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fit import STOPPED, Fit
from lowdim.engine.fold import Run, fold
from lowdim.engine.plan import Cost
from lowdim.engine.statistics import Sum
from lowdim.maths.linalg import Array, Mask
from lowdim.maths.seeds import HELD_OUT_HASH
from lowdim.models.base.calibrated_cells import MOST_ROUNDS
from lowdim.models.base.calibration import (
    HELD_CELLS_WANTED,
    LEAST_INFLATION,
    MOST_INFLATION,
    NORMAL_90,
    bounded_inflation,
    held_share,
)
from lowdim.models.base.results import Cells
from lowdim.models.base.survey import TableSurvey
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, Framed, View

MOST_STREAM_SHARE = 0.1  # of the seen cells of a stream are held out in one fit
LEAST_SEEN_IN_COLUMN = 10.0  # seen cells of a column that may lose some
LOG_ERROR_STEP = 2e-3  # of log |z| in the counts of a stream: a factor is then known to 0.1 %
ERROR_EDGES = np.exp(
    np.arange(np.log(LEAST_INFLATION * NORMAL_90), np.log(MOST_INFLATION * NORMAL_90) + LOG_ERROR_STEP, LOG_ERROR_STEP)
)


class HeldOutCells(NamedTuple):
    """Which cells of a table are held out: a hash of the cells of their row decides.

    So neither the order of rows, copies, weights nor the size of a block change which they are.
    """

    share: float
    round: int  # 0, or a number more for other cells of the same table
    seed: int
    columns: Mask  # d, those with cells enough to lose some

    def cells(self, block: Block) -> Mask:
        """Those of a block, in the units of the source that holds the rows."""
        keys = np.random.default_rng([self.seed, HELD_OUT_HASH]).integers(
            2**63, size=(2, block.x.shape[1]), dtype=np.uint64
        )
        bits = mix_bits(row_hash(block.x, keys[0])[:, None] ^ keys[1]) >> np.uint64(11)  # 53 of them
        low, high = (np.uint64(k * self.share * 2**53) for k in (self.round, self.round + 1))
        held = np.asarray((bits >= low) & (bits < high) & self.columns)
        return held if block.mask is None else held & block.mask

    def without(self, block: Block) -> Block:
        """The block, in the same units, as if its held cells were missing."""
        held = self.cells(block)
        if not held.any():
            return block
        mask = ~held if block.mask is None else block.mask & ~held
        return block._replace(x=np.where(held, 0.0, block.x), mask=mask)


def held_out_rounds(seen: Array, seed: int) -> list[HeldOutCells]:
    """The cells to hold out of a table, one set a fit, given how many are seen in each column."""
    columns = seen >= LEAST_SEEN_IN_COLUMN
    count = float(seen[columns].sum())
    share = min(held_share(count), MOST_STREAM_SHARE)
    rounds = MOST_ROUNDS if share * count < 2.0 * HELD_CELLS_WANTED else 1
    return [HeldOutCells(share, k, seed, columns) for k in range(rounds)]


def row_hash(x: Array, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of the cells of each row: neither the order of rows nor copies of them change it."""
    return mix_bits(((x + 0.0).view(np.uint64) * (keys * np.uint64(2) + np.uint64(1))).sum(axis=1, dtype=np.uint64))


def mix_bits(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of a 64-bit mixing hash: every bit reaches every other."""
    for _ in range(2):
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return h ^ (h >> np.uint64(33))


class WithoutHeldCells(View):
    """A source as if its held cells were missing."""

    def __init__(self, source: Source, held: HeldOutCells) -> None:
        super().__init__((source.n, source.d), source.columns, source.weight, source.tile, source.block_tiles)
        self.named, self.source, self.held = source.named, source, held

    def read(self, rows: slice | NDArray[np.intp]) -> tuple[Array, Mask | None]:
        raise NotImplementedError("a source with cells held out makes finished blocks")

    def block_of(self, rows: slice | NDArray[np.intp], start: int = 0) -> Block:
        return self.held.without(self.source.block_of(rows, start))


def without_held_cells(source: Source, held: HeldOutCells) -> Source:
    """The source without its held cells, seen through the same frames: the hash is of cells as they are stored."""
    return (
        Framed(without_held_cells(source.source, held), source.frame)
        if isinstance(source, Framed)
        else WithoutHeldCells(source, held)
    )


def split_frames(source: Source) -> tuple[Source, tuple[Frame, ...]]:
    """What lies under the frames of a source, and these from the innermost outwards."""
    if not isinstance(source, Framed):
        return source, ()
    under, frames = split_frames(source.source)
    return under, (*frames, source.frame)


def count_errors(
    held: HeldOutCells,
    frames: tuple[Frame, ...],
    predict: Callable[[Block], Cells],
    block: Block,
    rows: int | None = None,
) -> Sum:
    """How many held-out cells are predicted with which error: counts between ERROR_EDGES, of so many rows at a time."""
    pieces = [block] if rows is None else block.tiles(rows)
    return reduce(Sum.merge, (_count_errors(held, frames, predict, piece) for piece in pieces))


def _count_errors(
    held: HeldOutCells, frames: tuple[Frame, ...], predict: Callable[[Block], Cells], block: Block
) -> Sum:
    is_held = held.cells(block)
    rows = is_held.any(axis=1)
    if not rows.any():
        return Sum(np.zeros(len(ERROR_EDGES) + 1))
    part = Block(block.x[rows], None if block.mask is None else block.mask[rows])
    remaining = held.without(part)
    for frame in frames:
        part, remaining = frame.inward(part), frame.inward(remaining)
    cells = predict(remaining)
    at = is_held[rows]
    off, sd = np.abs(part.x - cells.mean)[at], np.sqrt(cells.var + cells.noise)[at]
    z = np.divide(off, sd, out=np.where(off > 0.0, np.inf, 0.0), where=sd > 0.0)  # no doubt at all may be wrong
    w = np.ones(block.rows) if block.weight is None else block.weight
    weights = np.broadcast_to(w[rows][:, None], at.shape)[at]
    counts = np.bincount(np.searchsorted(ERROR_EDGES, z), weights, len(ERROR_EDGES) + 1)
    return Sum(np.asarray(counts, dtype=np.float64))


class HeldOutFits(NamedTuple):
    """Fits to a table without some of its cells, one a round, and the inflation that makes their intervals hold."""

    fits: list[Fit]
    inflation: float

    @property
    def passes(self) -> int:
        return sum(fit.passes + 1 for fit in self.fits)

    @property
    def stopped(self) -> bool:
        """Whether someone ended the last of them."""
        return bool(self.fits) and self.fits[-1].reason in STOPPED

    def calibrate(self, fit: Fit) -> Fit:
        """A fit to all cells, with the inflation and the passes that it took to find it."""
        return fit._replace(params=fit.params._replace(inflation=self.inflation), passes=fit.passes + self.passes)

    def then(self, fit: Callable[[int | None], Fit]) -> Fit:
        """The fit that follows, to all cells, given its most passes: where they were stopped, its statistics alone."""
        last = self.calibrate(fit(1 if self.stopped else None))
        if not self.stopped:
            return last
        return last._replace(passes=last.passes - 1, reason=self.fits[-1].reason, converged=False)


def cost_with_held_out_fits(cost: Cost, n: int, d: int) -> Cost:
    """What a fit costs with those to a table with gaps without some of its cells."""
    passes = (1 + MOST_ROUNDS) * cost.passes
    return cost._replace(passes=passes, bytes=8 * n * d * passes)


def held_out_fits(model: Any, refit: Callable[[Source], Fit], survey: TableSurvey, seed: int, run: Run) -> HeldOutFits:
    """A calibrated model's fits to a table with gaps without some of its cells; where one is stopped, none follows."""
    rounds = [held for held in held_out_rounds(survey.columns.seen, seed) if survey.gaps and held.columns.any()]
    raw, frames = split_frames(survey.source)
    fits: list[Fit] = []
    counts = np.zeros(len(ERROR_EDGES) + 1)
    for held in rounds:
        fits.append(refit(without_held_cells(survey.source, held)))
        if fits[-1].reason in STOPPED:
            break
        counts += fold(partial(model._held_out_counts, fits[-1].params, held, frames), raw, run).value
    return HeldOutFits(fits, inflation_from_counts(counts))


def inflation_from_counts(counts: Array) -> float:
    """The inflation, as `inflation_from_errors` has it, from counts between ERROR_EDGES.

    >>> from lowdim.models.base.calibration import inflation_from_errors
    >>> z = np.abs(np.random.default_rng(0).standard_normal(4000))
    >>> counts = np.bincount(np.searchsorted(ERROR_EDGES, z), minlength=len(ERROR_EDGES) + 1)
    >>> bool(abs(inflation_from_counts(counts) / inflation_from_errors(z) - 1.0) < 2e-3)
    True
    """
    total = float(counts.sum())
    if total == 0.0:
        return 1.0
    at = int(np.searchsorted(np.cumsum(counts), min(0.9 * (total + 1.0), total) * (1.0 - 1e-12)))
    return bounded_inflation(
        np.inf if at == len(ERROR_EDGES) else float(ERROR_EDGES[at]) * np.exp(-0.5 * LOG_ERROR_STEP) / NORMAL_90
    )
