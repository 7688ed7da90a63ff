"""A fit by passes: what it will cost, expectation-maximisation, and what watches it.

That is history, convergence, falls, callbacks and Ctrl-C.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import FrameType, TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from lowdim.engine.fold import Memory, Run, fold, one_blas_thread
from lowdim.maths.linalg import Array
from lowdim.sources.source import KEEP_CELLS, Source, cores, tile_rows
from lowdim.storage.memory import free_memory
from lowdim.text.format import size
from lowdim.text.messages import error, warn

ROUNDING = 64 * np.finfo(float).eps  # relative noise of an objective summed over many rows
INTERRUPTED = "interrupted"  # the reason of a fit that Ctrl-C ended
STOPPED = (INTERRUPTED, "stopped by the callback")  # by someone: nothing else should begin
LIMIT = "the limit of passes was reached"
FALL_OF_TOL, FALL_OF_VALUE = 1e-2, 1e-8  # falls below both shares are no news
MEMORY = 8  # passes an extrapolation looks back on; more did not help (docs/measurements.md)
SMALL_FIT = 2**26  # bytes: what takes so little is not worth asking how much is free
HOPE = 10.0  # gains may turn out this many times larger than they promise before a fit is given up


# before a fit: what it will cost -------------------------------------------------------------------------------
class Cost(NamedTuple):
    """The forecast of a fit: passes over the table, bytes read, peak memory, and what else could be done.

    `passes` is the most that may be needed.
    """

    passes: int
    bytes: int
    peak: int
    alternative: str


def walking(n: int, d: int, work: int, node: int) -> int:
    """Bytes a pass holds at its peak, where a tile takes `work` numbers and its statistics `node`.

    As many tiles as there are cores are worked on, and a few finished ones wait for their turn; the tree holds
    one node a level. Of a small table the source keeps the finished blocks, cells and mask, from pass to pass.
    """
    blocks = -(-n // tile_rows(d))
    hands = min(cores(), blocks)
    waiting = min(blocks, 2 * hands + 1) + blocks.bit_length()
    kept = 9 * n * d if n * d <= KEEP_CELLS else 0
    return 8 * (hands * work + waiting * node) + kept


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


# during it -------------------------------------------------------------------------------------------------------
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


@dataclass(eq=False, repr=False)  # without words of its own: `signal.signal` asks for those of each handler
class Monitor:
    """Decides after each pass whether to go on; use it as a context so that Ctrl-C is caught.

    A fit has converged when its objective can gain no more than `tol` nats.

    Ctrl-C is taken only from Python itself: whoever has a handler of their own (an analysis, which is stopped as
    a whole and not fit by fit) keeps it.
    """

    run: Run
    name: str
    tol: float
    max_iter: int
    may_fall: bool = False
    beat: float = -np.inf  # a fit that will not come so high is given up
    history: list[float] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    remaining: float = np.inf  # how much the objective may still gain
    best: tuple[float, Any, Any] | None = None  # the objective, its parameters and their statistics
    reason: str = ""  # why the fit ends; empty while it goes on
    interrupted: bool = False
    old: Any = None  # the handler of Ctrl-C that was there before

    def __enter__(self) -> Monitor:
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
        """Note a pass and decide whether to go on; True if the objective fell.

        `jumped` says that the parameters were extrapolated: then a fall is no news.
        """
        self.history.append(value)
        if isinstance(self.run.checkpoint, Memory):
            self.run.checkpoint.note(value)
        before = None if self.best is None else self.best[0]
        gain = float("inf") if before is None else value - before
        if self.may_fall:  # what moves counts, whichever way
            gain = abs(gain)
        fell = False
        if before is not None:
            # It may fall by rounding, and where terms cancel by far less than `tol`. NaN counts as a fall.
            noise = max(ROUNDING * abs(before), min(FALL_OF_TOL * self.tol, FALL_OF_VALUE * abs(before)))
            fell = not gain >= -noise
        if not fell:
            if before is None or gain >= 0:
                self.best = (value, params, stats)
            self.gains.append(max(gain, 0.0))
            if len(self.gains) >= 3:  # if gains go on shrinking as they did (Aitken)
                earlier, last = self.gains[-2:]
                rate = min(last / earlier, 0.99) if earlier > 0 else 0.99
                self.remaining = 0.0 if last <= ROUNDING * abs(value) else last / (1.0 - rate)
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
        elif not fell and self.remaining <= self.tol:
            self.reason = "converged"
        elif not fell and value + HOPE * self.remaining < self.beat:
            self.reason = "it will not do better"
        elif len(self.history) >= self.max_iter:
            self.reason = LIMIT
        if self.run.callback is not None and self.run.callback(step) and not self.reason:
            self.reason = "stopped by the callback"
        return fell

    def fit(self, solver: str) -> Fit[Any, Any]:
        """The best seen."""
        assert self.best is not None
        value, params, stats = self.best
        remaining = min(self.remaining, abs(value) + 1.0)  # after a pass or two nothing is known but the size
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


def notify_monitor(monitor: Monitor, x: Any, value: float) -> bool:
    """Note an iteration of a climb over numbers in memory; True where someone wants it to stop."""
    monitor.see(None, None, value, True)
    return monitor.reason in STOPPED


def em(
    model: Any,
    params: Any,
    source: Source,
    run: Run,
    *,
    mix: bool = True,
    limit: int | None = None,
    may_fall: bool = False,
    beat: float = -np.inf,
    rows: float | None = None,
    halve: int = 0,
) -> Fit[Any, Any]:
    """Expectation-maximisation with Anderson extrapolation; a fall goes back to the plain EM step.

    Each pass folds the statistics of the present parameters, so the objective it reports is exactly
    theirs, and the best parameters seen are the ones returned; the last ones for a model whose steps `may_fall`.
    `limit` lowers the model's own limit of passes; a fit that will not `beat` a value ends early. The model's `tol`
    is in nats a row: of `rows` rows, by default those of the source, by their weights. A plain step cannot fall, unless
    it is Newton's: one that did is taken half as far, up to `halve` times.
    """
    mixer = Anderson(model._pack, model._unpack) if mix else None
    plain: Any = None  # the EM step to go back to, where the present parameters were extrapolated
    most, halvings = model.max_iter if limit is None else limit, 0
    tol = model.tol * (source.total if rows is None else rows)
    with one_blas_thread(), Monitor(run, type(model).__name__, tol, most, may_fall, beat) as watch:
        while True:
            # E-step: one pass over the table sums what the M-step needs, and gives the objective of these parameters.
            stats = fold(partial(model._stats, params), source, run)
            fell = watch.see(params, stats, model._objective(params, stats), plain is not None or halvings < halve)
            if watch.reason:
                return watch.fit("em")
            if fell:
                if mixer is not None:  # what led here is forgotten
                    mixer = Anderson(model._pack, model._unpack)
                if plain is None and watch.best is not None:
                    best, halvings = watch.best[1], halvings + 1
                    plain = model._unpack(0.5 * (model._pack(best) + model._pack(params)), best)
                params, plain = plain, None
                continue
            halvings = 0
            # M-step; Anderson's extrapolation goes further along the last steps, and keeps the plain one to go back to.
            step = model._update(params, stats)
            params, plain = (step, None) if mixer is None else mixer.next(params, step)


@dataclass(eq=False)
class Anderson:
    """Anderson's extrapolation of a fixed-point iteration x -> g(x).

    With f = g - x and the last differences dF, dG: x_next = g - dG argmin |f - dF c|.

    Reference: Walker and Ni, SIAM J. Numer. Anal. 49 (2011), eq. 2.2.
    """

    pack: Callable[[Any], Array]
    unpack: Callable[[Array, Any], Any]
    f: list[Array] = field(default_factory=list)
    g: list[Array] = field(default_factory=list)

    def next(self, params: Any, step: Any) -> tuple[Any, Any]:
        """The extrapolated parameters, and the plain step to go back to (None if they are the same)."""
        g = self.pack(step)
        self.f = [*self.f, g - self.pack(params)][-MEMORY - 1 :]
        self.g = [*self.g, g][-MEMORY - 1 :]
        if len(self.f) < 2:
            return step, None
        dF, dG = (np.diff(np.array(rows), axis=0).T for rows in (self.f, self.g))
        c, *_ = np.linalg.lstsq(dF, self.f[-1], rcond=1e-10)
        return self.unpack(g - dG @ c, step), step
