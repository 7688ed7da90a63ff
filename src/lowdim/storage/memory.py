"""How much memory is free, and how often Python looks for some."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (50_000, 20, 20)  # objects and rounds between two searches; Python's own 700 make a report a fifth slower


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let Python look less often for objects that refer to each other and to nothing else.

    What it has to look through is all that was imported, and little of what we make is such.
    """
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def free_memory() -> int:
    """Bytes of memory that can be used now without taking any from other programs.

    Linux says it in a file that is read at once; elsewhere psutil asks the system.
    """
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    import psutil

    return int(psutil.virtual_memory().available)
