"""What watches a fit: history, convergence, falls, callbacks and Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from os import PathLike
from types import FrameType, TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from lowdim.engine.fold import Run
from lowdim.text.messages import warn

ROUNDING = 64 * np.finfo(float).eps  # relative noise of an objective summed over many rows
INTERRUPTED = "interrupted"  # the reason of a fit that Ctrl-C ended
STOPPED = (INTERRUPTED, "stopped by the callback")  # by someone: nothing else should begin
LIMIT = "the limit of passes was reached"
FALL_OF_TOL, FALL_OF_VALUE = 1e-2, 1e-8  # falls below both shares are no news
HOPE = 10.0  # gains may turn out this many times larger than they promise before a fit is given up


class Step(NamedTuple):
    """What a callback sees after each pass."""

    model: str
    passes: int
    objective: float
    gain: float


P = TypeVar("P")
S = TypeVar("S")


class Fit(NamedTuple, Generic[P, S]):
    """What a climb ends with: the best parameters seen, their statistics, and how it went."""

    params: P
    stats: S
    objective: float
    history: tuple[float, ...]
    passes: int
    converged: bool
    reason: str
    solver: str
    remaining: float = 0.0  # what the objective may still gain, in nats

    def restated(self, log_stretch: float, passes: int) -> Fit[P, S]:
        """The fit in other units, in which its log density is larger by `log_stretch`, after so many more passes."""
        return self._replace(
            objective=self.objective + log_stretch,
            history=tuple(value + log_stretch for value in self.history),
            passes=self.passes + passes,
        )


class Monitor:
    """Decides after each pass whether to go on; use it as a context so that Ctrl-C is caught.

    A fit has converged when its objective can gain no more than `tol` nats for each of `rows` rows.

    Ctrl-C is taken only from Python itself: whoever has a handler of their own (an analysis, which is stopped as
    a whole and not fit by fit) keeps it.
    """

    def __init__(
        self,
        run: Run,
        name: str,
        tol: float,
        max_iter: int,
        may_fall: bool = False,
        beat: float = -np.inf,
        rows: float = 1.0,
    ) -> None:
        self.run, self.name, self.tol, self.max_iter = run, name, tol * rows, max_iter
        self.may_fall, self.beat = may_fall, beat
        self.history: list[float] = []
        self.best: tuple[float, Any, Any] | None = None
        self.gains: list[float] = []
        self.reason, self.interrupted = "", False

    def __enter__(self) -> Monitor:
        self.old: Any = None
        free = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if free and threading.current_thread() is threading.main_thread():
            self.old = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.old is not None:
            signal.signal(signal.SIGINT, self.old)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:  # the second Ctrl-C means now
            raise KeyboardInterrupt
        self.interrupted = True

    def see(self, params: Any, stats: Any, value: float, jumped: bool) -> bool:
        """Note a pass; True if the objective fell. `jumped` says the parameters were extrapolated."""
        self.history.append(value)
        memory = self.run.checkpoint
        if memory is not None and not isinstance(memory, str | PathLike):
            memory.note(value)
        before = None if self.best is None else self.best[0]
        gain = float("inf") if before is None else value - before
        if self.may_fall:  # what moves counts, whichever way
            gain = abs(gain)
        fell = before is not None and not gain >= -self._noise(before)  # NaN counts as a fall
        if not fell or self.best is None:
            if before is None or gain >= 0:
                self.best = (value, params, stats)
            self.gains.append(max(gain, 0.0))
        self._decide(value, gain, fell, jumped, before)
        return fell

    def _noise(self, value: float) -> float:
        """By how much an objective near this value may fall: rounding, and where terms cancel far less than `tol`."""
        return max(ROUNDING * abs(value), min(FALL_OF_TOL * self.tol, FALL_OF_VALUE * abs(value)))

    def _decide(self, value: float, gain: float, fell: bool, jumped: bool, before: float | None) -> None:
        step = Step(self.name, len(self.history), value, gain)
        if self.run.verbose:
            print(
                f"{self.name}  pass {step.passes}/{self.max_iter}  objective {value:.6f}  change {gain:.1e}",
                file=sys.stderr,
            )
        if fell and not jumped:
            self.reason = "the objective fell"
            warn("LD208", before=before, after=value, number=step.passes)
        elif self.interrupted:
            self.reason = INTERRUPTED
        elif not fell and self.remaining(value) <= self.tol:
            self.reason = "converged"
        elif not fell and value + HOPE * self.remaining(value) < self.beat:
            self.reason = "it will not do better"
        elif len(self.history) >= self.max_iter:
            self.reason = LIMIT
        if self.run.callback is not None and self.run.callback(step) and not self.reason:
            self.reason = "stopped by the callback"

    def remaining(self, value: float) -> float:
        """How much the objective may still gain, if gains go on shrinking as they did (Aitken)."""
        if len(self.gains) < 3:
            return float("inf")
        last, before = self.gains[-1], self.gains[-2]
        if last <= ROUNDING * abs(value):
            return 0.0
        rate = min(last / before, 0.99) if before > 0 else 0.99
        return last / (1.0 - rate)

    def fit(self, solver: str) -> Fit[Any, Any]:
        """The best seen."""
        assert self.best is not None
        value, params, stats = self.best
        remaining = min(self.remaining(value), abs(value) + 1.0)  # after a pass or two nothing is known but the size
        return Fit(
            params,
            stats,
            value,
            tuple(self.history),
            len(self.history),
            self.reason == "converged",
            self.reason,
            solver,
            remaining,
        )
