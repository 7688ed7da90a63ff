"""Climbs over the places of rows: one, or several of which the best goes on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.engine.checkpoint.replay import recalled
from lowdim.engine.fold import Run
from lowdim.engine.monitor import STOPPED, Monitor
from lowdim.math.linalg import Array, Mask
from lowdim.math.optimise import climb
from lowdim.models.gaussian_process.gp import Kernel, factor
from lowdim.models.gaussian_process.gplvm_likelihood import Problem, Surface

RACE = 60  # iterations that show which start is best: on oil its end is 3 to 7 nats below the best of three climbs
EVERY, PATIENCE = 5, 3  # iterations between looks at cells held back, and looks that may be no better
ENOUGH = "cells held back are told no better"


class Reached(NamedTuple):
    """Where a climb came to."""

    x: Array
    value: float
    remaining: float  # nats it may still gain an iteration
    reason: str
    history: tuple[float, ...]
    rung: int
    heard: int  # iterations, those of other starts too


class Held:
    """Cells held back from a climb, which ends where they are told no better: free places follow the noise."""

    def __init__(self, Y: Array, held: Mask) -> None:
        self.Y, self.held = Y, held
        self.x, self.best, self.looks, self.since = np.empty(0), -np.inf, 0, 0

    def enough(self, problem: Problem, rung: int, x: Array) -> bool:
        """Looks now and then."""
        self.looks += 1
        if self.looks % EVERY == 0:
            value = self.density(problem, rung, x)
            self.since = 0 if value > self.best else self.since + 1
            if value > self.best:
                self.x, self.best = x.copy(), value
        return self.since >= PATIENCE

    def density(self, problem: Problem, rung: int, x: Array) -> float:
        """log p(cells held back | their rows' places, the others), without its constant."""
        X, kernel, total = problem.places(x), Kernel(problem.names, problem.split(x)[1]), 0.0
        for rows, columns, _, _ in problem.groups:
            held = self.held[:, columns]
            at, seen = np.flatnonzero(held.any(axis=1)), slice(None) if rows is None else rows
            made = factor(np.asarray(sum(kernel.cross(X[seen], X[seen]))), kernel.noise, rung)
            k = np.asarray(sum(kernel.cross(X[at], X[seen])))
            var = kernel.diagonal(X[at]) - np.einsum("mn,nm->m", k, made.solve(k.T)) + kernel.noise
            off = self.Y[np.ix_(at, columns)] - k @ made.solve(self.Y[seen][:, columns])
            total -= 0.5 * float((off**2 / var[:, None] + np.log(var)[:, None])[held[at]].sum())
        return total


class Ascent:
    """One climb that can be taken up again; a checkpoint remembers what the likelihood said."""

    def __init__(
        self, problem: Problem, start: Array, run: Run, name: tuple[str, str], max_iter: int, held: Held | None = None
    ) -> None:
        self.problem, self.held = problem, held
        self.surface = Surface(problem)
        self.surface.ask = recalled(run, " ".join(name), self.surface.told)
        self.bounds = problem.bounds()
        self.monitor = Monitor(run, name[0], -1.0, max_iter)
        self.x = np.clip(start, *self.bounds)

    def go(self, steps: int, tol: float) -> Reached:
        """At most so many iterations more."""
        with self.monitor:
            peak = climb(self.surface, self.x, self._see, bounds=self.bounds, max_iter=steps, tol=tol)
        reason = ENOUGH if peak.reason == "stopped" else peak.reason
        reason = self.monitor.reason if self.monitor.reason in STOPPED else reason
        self.x = peak.x if self.held is None or reason != ENOUGH else self.held.x
        return Reached(
            self.x,
            peak.value,
            peak.remaining,
            reason,
            tuple(self.monitor.history),
            self.surface.rung_there,
            len(self.monitor.history),
        )

    def _see(self, x: Array, value: float) -> bool:
        stop = heard(self.monitor, x, value)
        return stop or (self.held is not None and self.held.enough(self.problem, self.surface.rung, x))


def heard(monitor: Monitor, x: Array, value: float) -> bool:
    monitor.see(None, None, value, True)
    return monitor.reason in STOPPED


def race(
    problem: Problem,
    starts: list[Array],
    run: Run,
    name: tuple[str, str],
    max_iter: int,
    tol: float,
    held: tuple[Array, Mask] | None = None,
) -> Reached:
    """The best of several climbs: each goes some way, and the one that is highest then goes on.

    Given the table and which of its cells are held back, a climb also ends where these are told no better.
    """
    some = max_iter if len(starts) == 1 else min(RACE, max_iter)
    best: tuple[Reached, Ascent] | None = None
    others = 0
    for i, start in enumerate(starts):
        watch = None if held is None else Held(*held)
        ascent = Ascent(problem, start, run, (name[0], f"{name[1]} {i}"), max_iter, watch)
        found = ascent.go(some, tol)
        others += found.heard
        if best is None or found.value > best[0].value:
            best = found, ascent
        if found.reason in STOPPED:
            return best[0]._replace(reason=found.reason, heard=others)
    assert best is not None
    found, ascent = best
    others -= found.heard
    ended = found.reason in ("converged", ENOUGH) or some == max_iter
    found = found if ended else ascent.go(max_iter - some, tol)
    return found._replace(heard=others + found.heard)
