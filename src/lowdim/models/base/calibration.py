"""Calibration of intervals by held-out cells.

A share of the seen cells is held out; a fit to the rest predicts them, and the standard deviations of all cells are
multiplied by the factor (the inflation) that makes 90 % intervals hold 90 % of them. Which cells are held out is
decided by a hash of their row, and their errors are counted on a scale of logarithms: so counts of blocks add, and
neither the order of rows nor the size of a block changes the factor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from lowdim.engine.fit import STOPPED, Cost, Fit
from lowdim.engine.fold import Run, fold
from lowdim.engine.statistics import Sum
from lowdim.maths.linalg import Array, Mask
from lowdim.maths.seeds import HELD_OUT_HASH
from lowdim.models.base.results import Cells
from lowdim.models.base.survey import TableSurvey
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, Framed, View
from lowdim.text.messages import warn

P = TypeVar("P")
S = TypeVar("S")


def normal_half_width(level: float) -> float:
    """The half width, in standard deviations, that holds `level` of a Gaussian.

    >>> round(normal_half_width(0.9), 4)
    1.6449
    """
    return float(ndtri(0.5 + level / 2))


LEAST_HELD_SHARE, MOST_HELD_SHARE = 0.05, 0.1  # of the seen cells are held out in one fit (docs/measurements.md)
HELD_CELLS_WANTED = 400  # or so many: their coverage is then known to 1.5 %
NORMAL_90 = normal_half_width(0.9)
LEAST_INFLATION, WRONG_INFLATION = 0.2, 5.0  # factors beyond these say that the model is wrong, not its intervals
MOST_INFLATION = 200.0  # of a model that follows single rows; what is known of a column bounds its cells all the same
MOST_ROUNDS = 3  # fits with cells held out: a table with few cells holds out others in a second and third
LEAST_SEEN_IN_COLUMN = 10.0  # seen cells of a column that may lose some
LOG_ERROR_STEP = 2e-3  # of log |z| in the counts: a factor is then known to 0.1 %
ERROR_EDGES = np.exp(
    np.arange(np.log(LEAST_INFLATION * NORMAL_90), np.log(MOST_INFLATION * NORMAL_90) + LOG_ERROR_STEP, LOG_ERROR_STEP)
)


def variance_factor(factor: float, cells: Cells, unknown_row: Cells) -> Array:
    """What the variance of each cell is multiplied by where standard deviations are `factor` times as wide.

    It never exceeds by it that of a row of which nothing is known (its cells, 1 x d).
    """
    total, unknown = cells.var + cells.noise, unknown_row.var + unknown_row.noise
    known = total < unknown * (1.0 - 1e-9)  # an unknown row is what it is
    if factor <= 1.0:
        return np.where(known, factor**2, 1.0)
    wider = np.minimum(factor**2 * total, unknown) / np.where(total > 0, total, 1.0)
    return np.where(known, np.maximum(wider, 1.0), 1.0)


# which cells are held out ------------------------------------------------------------------------------------
class HeldOutCells(NamedTuple):
    """Which cells of a table are held out: a hash of the cells of their row decides.

    So neither the order of rows, copies, weights nor the size of a block change which they are.
    """

    share: float
    round: int  # 0, or a number more for other cells of the same table
    seed: int
    columns: Mask  # d, those with cells enough to lose some

    def split(self, block: Block) -> tuple[Mask, Block]:
        """Which cells of a block are held out, and the block without them; in the units the source stores."""
        keys = np.random.default_rng([self.seed, HELD_OUT_HASH]).integers(
            2**63, size=(2, block.x.shape[1]), dtype=np.uint64
        )
        bits = mix_bits(row_hash(block.x, keys[0])[:, None] ^ keys[1]) >> np.uint64(11)  # 53 of them
        low, high = (np.uint64(k * self.share * 2**53) for k in (self.round, self.round + 1))
        held = np.asarray((bits >= low) & (bits < high) & self.columns)
        held = held if block.mask is None else held & block.mask
        if not held.any():
            return held, block
        mask = ~held if block.mask is None else block.mask & ~held
        return held, block._replace(x=np.where(held, 0.0, block.x), mask=mask)


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
        super().__init__(source, block_tiles=source.block_tiles)
        self.held = held

    def read(self, rows: slice | NDArray[np.intp]) -> tuple[Array, Mask | None]:
        raise NotImplementedError("a source with cells held out makes finished blocks")

    def block_of(self, rows: slice | NDArray[np.intp], start: int = 0) -> Block:
        return self.held.split(self.source.block_of(rows, start))[1]


def count_errors(
    held: HeldOutCells,
    frames: tuple[Frame, ...],
    predict: Callable[[Block], Cells],
    block: Block,
    rows: int | None = None,
) -> Sum:
    """How many held-out cells are predicted with which error: counts between ERROR_EDGES, of so many rows at a time."""
    counts = np.zeros(len(ERROR_EDGES) + 1)
    for piece in [block] if rows is None else block.tiles(rows):
        # The rows with held cells, whole and without these, both seen through the frames.
        is_held, less = held.split(piece)
        rows_of_held = np.flatnonzero(is_held.any(axis=1))
        if not len(rows_of_held):
            continue
        whole, remaining = piece.take(rows_of_held), less.take(rows_of_held)
        at, weights = is_held[rows_of_held], whole.times
        for frame in frames:
            whole, remaining = frame.inward(whole), frame.inward(remaining)
        # The error of each held cell in standard deviations, counted by its row's weight.
        cells = predict(remaining)
        off, sd = np.abs(whole.x - cells.mean)[at], np.sqrt(cells.var + cells.noise)[at]
        z = np.divide(off, sd, out=np.where(off > 0.0, np.inf, 0.0), where=sd > 0.0)  # no doubt at all may be wrong
        weight = np.broadcast_to(weights[:, None], at.shape)[at]
        counts += np.bincount(np.searchsorted(ERROR_EDGES, z), weight, len(counts))
    return Sum(counts)


class HeldOutFits(NamedTuple, Generic[P]):
    """Fits to a table without some of its cells, one a round, and the inflation that makes their intervals hold."""

    fits: list[Fit[P, Any]]
    inflation: float
    passes: int  # of all of them, and of the counts of their errors
    stopped: bool  # whether someone ended the last of them

    def calibrate(self, fit: Fit[P, S]) -> Fit[P, S]:
        """A fit to all cells, with the inflation and the passes that it took to find it."""
        params: Any = fit.params
        return fit._replace(params=params._replace(inflation=self.inflation), passes=fit.passes + self.passes)

    def then(self, fit: Callable[[int | None], Fit[P, S]]) -> Fit[P, S]:
        """The fit that follows, to all cells, given its most passes: where they were stopped, its statistics alone."""
        last = self.calibrate(fit(1 if self.stopped else None))
        if not self.stopped:
            return last
        return last._replace(passes=last.passes - 1, reason=self.fits[-1].reason, converged=False)


def cost_with_held_out_fits(cost: Cost, n: int, d: int) -> Cost:
    """What a fit costs with those to a table with gaps without some of its cells."""
    passes = (1 + MOST_ROUNDS) * cost.passes
    return cost._replace(passes=passes, bytes=8 * n * d * passes)


class Calibrated(Protocol):
    """A model whose cells are calibrated, as `held_out_fits` sees it."""

    def _held_out_counts(self, params: Any, held: HeldOutCells, frames: tuple[Frame, ...], block: Block) -> Sum: ...


def held_out_fits(
    model: Calibrated,
    refit: Callable[[Source], Fit[P, Any]],
    survey: TableSurvey,
    seed: int,
    run: Run,
    most_rounds: int = MOST_ROUNDS,
) -> HeldOutFits[P]:
    """Fits to a table with gaps without some of its cells, and the inflation; where one is stopped, none follows.

    Parameters
    ----------
    model : Calibrated
        Its `_held_out_counts` says how far held-out cells lie off.
    refit : function
        A fit to the source it is given: the table, in the frame, as if its held-out cells were missing.
    survey : TableSurvey
        Of the table; a complete one is not calibrated.
    seed : int
        Which cells are held out.
    """
    # How many cells each round holds out, of the columns that can lose some, and how many rounds that takes.
    columns = survey.columns.seen >= LEAST_SEEN_IN_COLUMN
    count = float(survey.columns.seen[columns].sum())
    share = float(np.clip(HELD_CELLS_WANTED / max(count, 1.0), LEAST_HELD_SHARE, MOST_HELD_SHARE))
    rounds = most_rounds if share * count < 2.0 * HELD_CELLS_WANTED else 1
    raw: Source = survey.source
    frames: tuple[Frame, ...] = ()  # through which the table is seen, from the innermost outwards
    while isinstance(raw, Framed):
        frames = (raw.frame, *frames)
        raw = raw.source
    fits: list[Fit[P, Any]] = []
    stopped, counts = False, np.zeros(len(ERROR_EDGES) + 1)
    for k in range(rounds if survey.gaps and columns.any() else 0):
        held = HeldOutCells(share, k, seed, columns)
        # Seen through the same frames: the hash is of cells as they are stored.
        less: Source = WithoutHeldCells(raw, held)
        for frame in frames:
            less = Framed(less, frame)
        fits.append(refit(less))
        stopped = fits[-1].reason in STOPPED
        if stopped:
            break
        counts += fold(partial(model._held_out_counts, fits[-1].params, held, frames), raw, run).value
    return HeldOutFits(fits, inflation_from_counts(counts), sum(fit.passes + 1 for fit in fits), stopped)


def inflation_from_counts(counts: Array) -> float:
    """The inflation, given how many held-out cells have an error, in standard deviations, between two ERROR_EDGES.

    Of m errors as likely as the next one, that one is below the k-th smallest with probability k / (m + 1), so
    k = 0.9 (m + 1): with few cells a little wider than their own quantile. A factor so large that the model must be
    wrong is warned of.

    >>> z = np.arange(1.0, 20.0) / 10
    >>> counts = np.bincount(np.searchsorted(ERROR_EDGES, z), minlength=len(ERROR_EDGES) + 1)
    >>> bool(abs(inflation_from_counts(counts) * NORMAL_90 / 1.8 - 1.0) < 2e-3)
    True
    """
    total = float(counts.sum())
    if total == 0.0:
        return 1.0
    at = int(np.searchsorted(np.cumsum(counts), min(0.9 * (total + 1.0), total) * (1.0 - 1e-12)))
    edge = np.inf if at == len(ERROR_EDGES) else float(ERROR_EDGES[at])
    inflation = float(np.clip(edge * np.exp(-0.5 * LOG_ERROR_STEP) / NORMAL_90, LEAST_INFLATION, MOST_INFLATION))
    if inflation > WRONG_INFLATION:
        warn("LD477", factor=f"{inflation:.2g}")
    return inflation
