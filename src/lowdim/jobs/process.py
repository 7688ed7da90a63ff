"""What a job asks of the process it runs in: Ctrl-C for all of it, and few searches for lost objects.

Of Ctrl-C there is one rule: whoever runs the longest piece of work installs the handler, and what runs inside leaves
it alone.

* A fit that is called by itself (`engine/fit.py`) takes the signal from Python's own handler, ends after the
  present pass and returns the best parameters so far.
* A job of many fits runs inside `stopped_as_a_whole`: the first Ctrl-C raises KeyboardInterrupt at once, and no single
  fit takes it for itself. `jobs/analysis.py` turns it into `Stopped`, which holds the finished stages.
* The command line (`cli/progress.py`) installs no handler that acts: it counts signals through the interpreter's
  wake-up socket, so that a second Ctrl-C can end the process whatever runs.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SELDOM = (50_000, 20, 20)  # objects and rounds between two searches; Python's own 700 make a report a fifth slower


@contextmanager
def stopped_as_a_whole() -> Iterator[None]:
    """While this runs, Ctrl-C ends all of it, not the one fit that happens to run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)


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
