"""What a fit will cost, said before it starts."""
from __future__ import annotations

from typing import NamedTuple

from lowdim.engine.fold import Run
from lowdim.messages import error


class Cost(NamedTuple):
    """The forecast of a fit: passes over the table, bytes read, peak memory, and what else could be done."""

    passes: int
    bytes: int
    peak: int
    alternative: str


def plan(job: str, cost: Cost, run: Run) -> Cost:
    """Refuse what cannot fit into memory, naming the alternative; otherwise pass the forecast on."""
    allowed = run.memory if run.memory is not None else available()
    if allowed is not None and cost.peak > allowed:
        raise error("LD170", job=job, need=size(cost.peak), have=size(allowed), alternative=cost.alternative)
    return cost


def available() -> int | None:
    """Bytes of memory that are free to use, where the system says."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def size(count: float) -> str:
    """Bytes in words.

    >>> size(3_200_000_000)
    '3.2 GB'
    """
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
