"""How wide intervals must be: some seen cells are held back, and 90 % of them must lie where 90 % are promised."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.statistics import Sum
from lowdim.math.linalg import Array, Mask
from lowdim.models.base.posterior import Cells
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, Framed, View
from lowdim.text.messages import warn

HELD, HELD_MOST = 0.05, 0.15  # of the seen cells, held back to see how wide intervals must be (spec, algorithms)
HELD_CELLS = 400  # or so many: their coverage is then known to 1.5 %
TURNS = 2  # a stream with fewer cells holds others back in a second fit: then it is known to 1.1 %
LEAST = 10.0  # seen cells of a column that may lose some
NORMAL_90 = 1.6448536269514722  # half the width of a 90 % interval, in standard deviations
NARROW, WIDE = 0.2, 5.0  # factors beyond these say that the model is wrong, not its intervals
STEP = 2e-3  # of log |z| in the counts of a stream: a factor is then known to 0.1 %
EDGES = np.exp(np.arange(np.log(NARROW * NORMAL_90), np.log(WIDE * NORMAL_90) + STEP, STEP))


def held_share(cells: float) -> float:
    """How much of so many seen cells to hold back.

    >>> held_share(1e6), held_share(100.0), held_share(5000.0)
    (0.05, 0.15, 0.08)
    """
    return float(np.clip(HELD_CELLS / max(cells, 1.0), HELD, HELD_MOST))


def widened(by: float) -> str:
    """What a certificate says of it."""
    return (
        f"intervals are {by:.2f} times as wide as the model believes, by cells held back"
        if by != 1.0
        else "intervals are not calibrated: no cell was missing, too few were seen, or the fit was stopped early"
    )


def limited(by: float) -> float:
    """The factor within bounds; one at the upper bound is said."""
    if by > WIDE:
        warn("LD477", most=f"{WIDE:g}")
    return float(np.clip(by, NARROW, WIDE))


class Width(NamedTuple):
    """How much wider cells are than a model believes, but never wider than `most`, those of an unknown row."""

    by: float
    most: Array  # d, variances

    def share(self, cells: Cells) -> Array:
        """What the variance of each cell is multiplied by."""
        total = cells.var + cells.noise
        if self.by <= 1.0:
            return np.full_like(total, self.by**2)
        return np.clip(self.most / np.where(total > 0, total, 1.0), 1.0, self.by**2)

    def of(self, cells: Cells) -> Cells:
        share = self.share(cells)
        return Cells(cells.mean, share * cells.var, share * cells.noise)

    def drawn(self, draw: Array, cells: Cells) -> Array:
        """Drawn cells as far from the mean as the wider variances have it."""
        return np.asarray(cells.mean + np.sqrt(self.share(cells)) * (draw - cells.mean))


# in memory -------------------------------------------------------------------------------------------
def hold_back(mask: Mask, seed: int) -> tuple[Mask, Mask]:
    """The seen cells without those held back, and these; none where a column would be left empty."""
    held = mask & (np.random.default_rng([seed, 72]).random(mask.shape) < held_share(float(mask.sum())))
    less = mask & ~held
    return (less, held) if less.any(axis=0).all() else (mask, np.zeros_like(mask))


def needed(off: Array) -> float:
    """What standard deviations must be multiplied by, given how many of them held-back cells lie off."""
    return limited(float(np.quantile(off, 0.9)) / NORMAL_90) if len(off) else 1.0


# in a stream -------------------------------------------------------------------------------------------
class Held(NamedTuple):
    """Which cells of a table are held back: a hash of the cells of their row decides.

    So neither the order of rows, copies, weights nor the size of a block change which they are.
    """

    share: float
    turn: int  # 0, or 1 for other cells of the same table
    seed: int
    spare: Mask  # d, the columns that can spare cells

    def cells(self, block: Block) -> Mask:
        """Those of a block, in the units of the source that holds the rows."""
        keys = np.random.default_rng([self.seed, 74]).integers(2**63, size=(2, block.x.shape[1]), dtype=np.uint64)
        drawn = mixed(row_hash(block.x, keys[0])[:, None] ^ keys[1]) >> np.uint64(11)  # 53 bits
        low, high = (np.uint64(k * self.share * 2**53) for k in (self.turn, self.turn + 1))
        held = np.asarray((drawn >= low) & (drawn < high) & self.spare)
        return held if block.mask is None else held & block.mask

    def without(self, block: Block) -> Block:
        """The block, in the same units, as if its held cells were missing."""
        held = self.cells(block)
        if not held.any():
            return block
        mask = ~held if block.mask is None else block.mask & ~held
        return block._replace(x=np.where(held, 0.0, block.x), mask=mask)


def turns(seen: Array, seed: int) -> list[Held]:
    """Which cells to hold back of a table, fit by fit, given how many are seen in each column."""
    spare = seen >= LEAST
    count = float(seen[spare].sum())
    share = held_share(count)
    return [Held(share, k, seed, spare) for k in range(TURNS if share * count < TURNS * HELD_CELLS else 1)]


def row_hash(x: Array, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of the cells of each row: neither the order of rows nor copies of them change it."""
    return mixed(((x + 0.0).view(np.uint64) * (keys * np.uint64(2) + np.uint64(1))).sum(axis=1, dtype=np.uint64))


def mixed(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of a 64-bit mixing hash: every bit reaches every other."""
    for _ in range(2):
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return h ^ (h >> np.uint64(33))


class Less(View):
    """A source as if its held cells were missing."""

    def __init__(self, source: Source, held: Held) -> None:
        super().__init__((source.n, source.d), source.columns, source.weight, source.tile, source.block_tiles)
        self.named, self.source, self.held = source.named, source, held

    def read(self, rows: slice | NDArray[np.intp]) -> tuple[Array, Mask | None]:
        raise NotImplementedError("a source with cells held back makes finished blocks")

    def _finish(self, rows: slice | NDArray[np.intp], start: int) -> Block:
        return self.held.without(self.source._finish(rows, start))


def less(source: Source, held: Held) -> Source:
    """The source without its held cells, seen through the same frames: the hash is of cells as they are stored."""
    return Framed(less(source.source, held), source.frame) if isinstance(source, Framed) else Less(source, held)


def unframed(source: Source) -> tuple[Source, tuple[Frame, ...]]:
    """What lies under the frames of a source, and these from the innermost outwards."""
    if not isinstance(source, Framed):
        return source, ()
    under, frames = unframed(source.source)
    return under, (*frames, source.frame)


def off(held: Held, frames: tuple[Frame, ...], say: Callable[[Block], Cells], block: Block) -> Sum:
    """How many held-back cells of a block lie how many standard deviations off: counts between EDGES."""
    out = held.cells(block)
    rows = out.any(axis=1)
    if not rows.any():
        return Sum(np.zeros(len(EDGES) + 1))
    part = Block(block.x[rows], None if block.mask is None else block.mask[rows])
    left = held.without(part)
    for frame in frames:
        part, left = frame.inward(part), frame.inward(left)
    told = say(left)
    z = np.abs(part.x - told.mean) / np.sqrt(told.var + told.noise)
    w = np.ones(block.rows) if block.weight is None else block.weight
    each = np.broadcast_to(w[rows][:, None], z.shape)[out[rows]]
    return Sum(np.asarray(np.bincount(np.searchsorted(EDGES, z[out[rows]]), each, len(EDGES) + 1), dtype=np.float64))


def factor(counts: Array) -> float:
    """What standard deviations must be multiplied by: `needed`, from counts between EDGES.

    >>> z = np.abs(np.random.default_rng(0).standard_normal(4000))
    >>> counts = np.bincount(np.searchsorted(EDGES, z), minlength=len(EDGES) + 1)
    >>> bool(abs(factor(counts) / needed(z) - 1.0) < 2e-3)
    True
    """
    total = float(counts.sum())
    if total == 0.0:
        return 1.0
    at = int(np.searchsorted(np.cumsum(counts), 0.9 * total * (1.0 - 1e-12)))
    return limited(np.inf if at == len(EDGES) else float(EDGES[at]) * np.exp(-0.5 * STEP) / NORMAL_90)
