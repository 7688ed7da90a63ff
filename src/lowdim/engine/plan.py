"""What a fit will cost, said before it starts."""

from __future__ import annotations

from typing import NamedTuple

from lowdim.engine.fold import Run
from lowdim.sources.source import KEEP_CELLS, Source, cores, tile_rows
from lowdim.storage.memory import free_memory
from lowdim.text.format import size
from lowdim.text.messages import error

USUAL_PASSES = 12  # passes a table with a third of its cells missing usually takes (docs/measurements.md)

SMALL_FIT = 2**26  # bytes: what takes so little is not worth asking how much is free


class Cost(NamedTuple):
    """The forecast of a fit: passes over the table, bytes read, peak memory, and what else could be done.

    `passes` is the most that may be needed, `likely` what a table with gaps usually takes.
    """

    passes: int
    bytes: int
    peak: int
    alternative: str
    likely: int = 1


def walking(n: int, d: int, work: int, node: int) -> int:
    """Bytes a pass holds at its peak, where a tile takes `work` numbers and its statistics `node`.

    As many tiles as there are cores are worked on, and a few finished ones wait for their turn; the tree holds
    one node a level.
    """
    blocks = -(-n // tile_rows(d))
    hands = min(cores(), blocks)
    waiting = min(blocks, 2 * hands + 1) + blocks.bit_length()
    return 8 * (hands * work + waiting * node)


def kept_blocks(n: int, d: int) -> int:
    """Bytes of the finished blocks that a source keeps between passes: cells and their mask, where there are few."""
    return 9 * n * d if n * d <= KEEP_CELLS else 0


def plan(job: str, cost: Cost, run: Run, source: Source | None = None) -> Cost:
    """Refuse what cannot fit into memory, naming the alternative; otherwise pass the forecast on.

    A source adds what it takes itself to read a few blocks at a time.
    """
    if source is not None:
        cost = cost._replace(peak=cost.peak + source.overhead)
    if run.memory is None and cost.peak <= SMALL_FIT:
        return cost
    allowed = run.memory if run.memory is not None else free_memory()
    if cost.peak > allowed:
        raise error("LD170", job=job, need=size(cost.peak), have=size(allowed), alternative=cost.alternative)
    return cost
