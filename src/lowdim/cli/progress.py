"""Progress on stderr, and Ctrl-C: once to stop after the present step, twice to leave at once."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from types import TracebackType

from lowdim.cli.output import complain
from lowdim.text.escape import protect_terminal

ORDER = ("read", "dimensions", "fit", "fills", "axes", "report")
EVERY = 10.0  # seconds between signs of life where stderr is not a terminal
STOPPING = "Stopping; what is finished will be saved and marked. Ctrl-C again to quit now."


class Stages:
    """A line for each stage as it ends, one live line for the present one; answers true when asked to stop."""

    def __init__(self, quiet: bool, interrupts: Interrupts | None = None) -> None:
        self.quiet, self.interrupts, self.live = quiet, interrupts, sys.stderr.isatty()
        self.start, self.shown, self.now = time.perf_counter(), 0.0, "read"
        self.over = threading.Event()

    def __call__(self, stage: str, text: str) -> bool:
        self._line(f"  [ok] {stage:<12} {text:<50} {time.perf_counter() - self.start:.1f} s")
        self.start, self.shown = time.perf_counter(), 0.0
        self.now = ORDER[min(ORDER.index(stage) + 1, len(ORDER) - 1)] if stage in ORDER else stage
        return self.interrupts is not None and self.interrupts.count > 0

    def _line(self, text: str) -> None:
        if not self.quiet:
            (_over if self.live else complain)(text)

    def __enter__(self) -> Stages:
        if not self.quiet:
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()

    def _tick(self) -> None:
        """A sign of life: the clock is shown, and decides nothing."""
        while not self.over.wait(1.0):
            spent = time.perf_counter() - self.start
            if self.live:
                _over(f"  [..] {self.now:<12} {spent:.0f} s", end="")
            elif spent - self.shown >= EVERY:
                self.shown = spent
                complain(f"  [..] {self.now:<12} {spent:.0f} s so far")


def _over(text: str, end: str = "\n") -> None:
    """Write over the live line of a terminal."""
    sys.stderr.write("\r" + protect_terminal(text).ljust(79) + end)
    sys.stderr.flush()


class Interrupts:
    """Counts Ctrl-C whoever handles the signal: a fit catches it to end itself, and the command must know too.

    The interpreter writes every signal's number to a wake-up socket; a thread reads it there.
    """

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Interrupts:
        self.main = threading.current_thread() is threading.main_thread()
        if self.main:
            self.ours, self.theirs = socket.socketpair()
            self.theirs.setblocking(False)
            self.old_wake = signal.set_wakeup_fd(self.theirs.fileno(), warn_on_full_buffer=False)
            self.old = signal.signal(signal.SIGINT, lambda number, frame: None)
            threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.main:
            signal.set_wakeup_fd(self.old_wake)
            signal.signal(signal.SIGINT, self.old)
            self.theirs.close()

    def _watch(self) -> None:
        with self.ours:
            while data := self.ours.recv(1):
                if data[0] != signal.SIGINT:
                    continue
                self.count += 1
                if self.count > 1:
                    os._exit(130)  # files are replaced whole, so nothing is left half-written
                complain(STOPPING)
