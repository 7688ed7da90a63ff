"""Cells of a stream held back, which ones by a hash of their row, and how far from them a fit to the rest ends up.

A fit without them predicts them; their errors are counted on a scale of logarithms, so that counts of blocks add.
`CalibratedCells` is what a model adds whose own cells are too sure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fold import Run, fold
from lowdim.engine.monitor import STOPPED, Fit
from lowdim.engine.plan import Cost
from lowdim.engine.statistics import Sum
from lowdim.math.linalg import Array, Mask
from lowdim.math.streams import HELD_OUT_HASH
from lowdim.models.base.calibration import (
    HELD_CELLS_WANTED,
    LEAST_INFLATION,
    MOST_INFLATION,
    NORMAL_90,
    Inflation,
    bounded_inflation,
    held_share,
)
from lowdim.models.base.results import Cells, Posterior
from lowdim.models.base.survey import TableSurvey
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, Framed, View

MOST_STREAM_SHARE, MOST_ROUNDS = 0.1, 3  # a stream with few cells holds fewer out, and others in a second and third fit
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


def count_errors(held: HeldOutCells, frames: tuple[Frame, ...], predict: Callable[[Block], Cells], block: Block) -> Sum:
    """How many held-out cells of a block are predicted with which error: counts between ERROR_EDGES."""
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


def held_out_fits(
    fit: Callable[[Source], Fit],
    counts_of: Callable[[Any, HeldOutCells, tuple[Frame, ...], Block], Sum],
    source: Source,
    held_out: list[HeldOutCells],
    run: Run,
) -> tuple[list[Fit], float]:
    """Fits to a source without the cells held out, and the inflation that makes their intervals hold.

    `counts_of` gives a block's counts under parameters. Where someone ends a fit, none follows.
    """
    raw, frames = split_frames(source)
    fits: list[Fit] = []
    counts = np.zeros(len(ERROR_EDGES) + 1)
    for held in held_out:
        fits.append(fit(without_held_cells(source, held)))
        if fits[-1].reason in STOPPED:
            break
        counts += fold(partial(counts_of, fits[-1].params, held, frames), raw, run).value
    return fits, inflation_from_counts(counts)


def count_in_pieces(
    held: HeldOutCells, frames: tuple[Frame, ...], predict: Callable[[Block], Cells], rows: int, block: Block
) -> Sum:
    """`count_errors` of a block, so many rows at a time."""
    total = Sum(np.zeros(len(ERROR_EDGES) + 1))
    for piece in block.tiles(rows):
        total = total.merge(count_errors(held, frames, predict, piece))
    return total


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


class CalibratedCells:
    """What a model adds whose own cells are too sure: `inflation` of its parameters makes their intervals hold."""

    def _decode(self, params: Any, posterior: Posterior) -> Cells:
        return self._inflation(params).inflate(self._uncalibrated_cells(params, posterior))

    def _uncalibrated_cells(self, params: Any, posterior: Posterior) -> Cells:
        cells: Cells = super()._decode(params, posterior)  # type: ignore[misc]
        return cells

    def _draw(self, params: Any, posterior: Posterior, rng: list[np.random.Generator]) -> Array:
        draw: Array = super()._draw(params, posterior, rng)  # type: ignore[misc]
        return self._inflation(params).inflate_draw(draw, self._uncalibrated_cells(params, posterior))

    def _inflation(self, params: Any) -> Inflation:
        prior = self._prior(params, 1)  # type: ignore[attr-defined]
        return Inflation(params.inflation, self._uncalibrated_cells(params, prior))

    def _held_out_counts(self, params: Any, held: HeldOutCells, frames: tuple[Frame, ...], block: Block) -> Sum:
        """How far held-back cells lie off, in standard deviations."""
        return count_errors(held, frames, partial(self._cells_given, params), block)  # type: ignore[attr-defined]

    def _with_inflation(
        self, fit: Fit, refit: Callable[[Source], Fit], survey: TableSurvey, seed: int, run: Run
    ) -> Fit:
        """The fit of a table with gaps, its inflation found by `refit` to the table without some cells."""
        rounds = [held for held in held_out_rounds(survey.columns.seen, seed) if held.columns.any()]
        rounds = [] if fit.reason in STOPPED or not survey.gaps else rounds
        fits, inflation = held_out_fits(refit, self._held_out_counts, survey.source, rounds, run)
        passes = fit.passes + sum(part.passes + 1 for part in fits)
        return fit._replace(params=fit.params._replace(inflation=inflation), passes=passes)

    def _cost(self, n: int, d: int) -> Cost:
        cost: Cost = super()._cost(n, d)  # type: ignore[misc]
        passes = (1 + MOST_ROUNDS) * cost.passes  # with gaps so many fits
        return cost._replace(passes=passes, bytes=8 * n * d * passes)
