"""L-BFGS for functions with gradients: the best place seen is kept, and anyone may stop it; little ones in batches.

And Newton for the shape of a gamma.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import digamma, polygamma

from lowdim.maths.linalg import EPS, Array, Index

MEMORY = 20  # pairs of steps L-BFGS remembers
WINDOW = 10  # iterations over which a gain is averaged: single ones are irregular
AGAIN = 2  # fresh starts from the best place after a line search that found nothing
ARMIJO = 1e-4  # of the promised gain, the least that is taken (Nocedal and Wright, 3.1)
HALVINGS = 30
SLOPE = 1e-24  # squared distance from the peak, in units of its width, that is rounding
WALL = 1e300  # less than this is no value; what a start that is not finite counts as
BACK = 3  # windows back that the last one is compared with
FASTEST, SLOWEST = 0.8, 0.95  # bounds of a window's gain over that of the one before: 4 to 19 of the last are foreseen
FLAT = 1e-12  # relative difference of two values that is rounding

Moved = NDArray[np.bool_]
Smooth = Callable[[Array], tuple[float, Array]]
See = Callable[[Array, float], bool]


class Peak(NamedTuple):
    """Where a climb ended: the best place, its value, and what it may still gain."""

    x: Array
    value: float
    remaining: float
    reason: str
    calls: int = 0  # of the function


def minus(f: Smooth) -> Smooth:
    """The function upside down: losses fall where their negatives climb."""

    def down(x: Array) -> tuple[float, Array]:
        value, gradient = f(x)
        return -value, -gradient

    return down


def joined(f: Smooth) -> Callable[[Array], Array]:
    """Value and gradient as one vector, the value first."""

    def whole(x: Array) -> Array:
        value, gradient = f(x)
        return np.append(value, gradient)

    return whole


def parted(f: Callable[[Array], Array]) -> Smooth:
    """What `joined` put together."""

    def pair(x: Array) -> tuple[float, Array]:
        joined = f(x)
        return float(joined[0]), joined[1:]

    return pair


def climb(
    f: Smooth,
    x: Array,
    see: See | None = None,
    *,
    bounds: tuple[Array, Array] | None = None,
    max_iter: int,
    tol: float,
    window: int = WINDOW,
) -> Peak:
    """Maximise f(x) -> (value, gradient), within bounds; `see(x, value)` hears of each iteration, True stops it.

    It has converged where the last `window` iterations gained less than `tol` each on average, or where nothing along
    the gradient is any better, from a fresh start too. Values that are not finite are a wall: steps are shortened
    until they stay on this side of it.
    """
    watch = _Watch(f, see, max_iter, tol, window)
    box = None if bounds is None else np.column_stack(bounds)
    for attempt in range(1 + AGAIN):
        before = watch.value
        with suppress(StopIteration):
            minimize(
                watch.down,
                x,
                jac=True,
                method="L-BFGS-B",
                bounds=box,
                callback=watch.after,
                options={
                    "maxcor": MEMORY,
                    "maxiter": max_iter + 1,
                    "maxfun": 100 * max_iter,
                    "ftol": 0.0,
                    "gtol": 0.0,
                    "maxls": 40,
                },
            )
        if watch.reason or (attempt and watch.value - before <= tol):
            break
        x = watch.x
    return Peak(watch.x, watch.value, watch.remaining(), watch.reason or "converged", watch.calls)


class _Watch:
    """Counts iterations and remembers the best place."""

    def __init__(self, f: Smooth, see: See | None, max_iter: int, tol: float, window: int) -> None:
        self.f, self.see, self.max_iter, self.tol, self.window = f, see, max_iter, tol, window
        self.x, self.value, self.reason = np.empty(0), -np.inf, ""
        self.base: tuple[Array, float, Array] = (np.empty(0), 0.0, np.empty(0))
        self.last = self.base
        self.values: list[float] = []
        self.calls = 0

    def down(self, x: Array) -> tuple[float, Array]:
        self.calls += 1
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value, gradient = self.f(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            value, gradient = self._wall(x), np.zeros_like(x)
        if value > self.value:
            self.x, self.value = x.copy(), value
        self.last = x.copy(), value, gradient
        if not self.values:  # where it starts from
            self.values.append(value)
            self.base = self.last
            self._decide(x, value)
        return -value, -gradient

    def _wall(self, x: Array) -> float:
        """As much lower than where the step began as it had promised to be higher: the next is a fifth as long.

        Something huge would shorten it to nothing, by the cubic that a line search lays through values and slopes.
        """
        if not self.values:
            return -WALL
        there, value, slope = self.base
        return value - abs(float(slope @ (x - there))) - EPS * abs(value)

    def after(self, intermediate_result: Any) -> None:
        value = -float(intermediate_result.fun)
        self.values.append(value)
        self.base = self.last  # a step ends at the last place asked for
        self._decide(np.asarray(intermediate_result.x), value)
        if self.reason:
            raise StopIteration

    def remaining(self) -> float:
        """What it may still gain, if gains go on shrinking as they did over the last windows.

        Gains of a climb are irregular and have a long tail: a window is never taken to shrink by more than FASTEST.
        """
        k = min(self.window, (len(self.values) - 1) // (1 + BACK))
        if k < 1:
            return abs(self.values[0]) + 1.0
        last, before = (max(self.values[-1 - j] - self.values[-1 - j - k], 0.0) for j in (0, BACK * k))
        if last <= FLAT * abs(self.value):
            return last
        rate = (last / before) ** (1.0 / BACK) if before > 0.0 else SLOWEST
        rate = min(max(rate, FASTEST), SLOWEST)
        return last * rate / (1.0 - rate)

    def _decide(self, x: Array, value: float) -> None:
        k = self.window
        if self.see is not None and self.see(x, value):
            self.reason = "stopped"
        elif len(self.values) > k and max(value - self.values[-1 - k], 0.0) / k <= self.tol:  # the mean gain of a step
            self.reason = "converged"
        elif len(self.values) >= self.max_iter:
            self.reason = "the limit of passes was reached"
        if self.reason and len(self.values) == 1:
            raise StopIteration


Rows = Callable[[Index, Array], tuple[Array, Array]]


def climb_rows(f: Rows, Z: Array, H: Array, *, max_iter: int = 100) -> Array:
    """Maximise many little functions at once: f(rows, Z[rows]) -> (values, gradients); BFGS with halved steps.

    H are the first inverse curvatures, m x q x q. Each row goes its own way, whoever is beside it, until its slope is
    rounding: values alone would leave half of the digits of its place open.
    """
    Z, H, first = Z.copy(), H.copy(), H
    live = np.arange(len(Z))
    value, slope = f(live, Z)
    for _ in range(max_iter):
        promise = np.einsum("mi,mij,mj->m", slope[live], H[live], slope[live])
        live = live[promise > SLOPE]
        if not len(live):
            break
        old, before = Z[live], slope[live]
        moved, Z[live], value[live], slope[live] = _stepped(f, live, old, H[live], value[live], before)
        H[live] = _bfgs(H[live], Z[live] - old, before - slope[live], first[live])
        live = live[moved]
    return Z


def _stepped(f: Rows, live: Index, z: Array, H: Array, value: Array, slope: Array) -> tuple[Moved, Array, Array, Array]:
    """One step of each row, halved until it gains, or where gains are rounding until its slope falls; or none."""
    way = (H @ slope[:, :, None])[:, :, 0]
    promise = (way * slope).sum(axis=1)
    moved, at, best, new = np.zeros(len(live), dtype=bool), z.copy(), value.copy(), slope.copy()
    todo, step = np.arange(len(live)), 1.0
    for _ in range(HALVINGS):
        there = z[todo] + step * way[todo]
        trial, turned = f(live[todo], there)
        flat = np.abs(trial - value[todo]) <= FLAT * (1.0 + np.abs(value[todo]))
        falls = np.einsum("mi,mij,mj->m", turned, H[todo], turned) < 0.5 * promise[todo]
        good = (trial >= value[todo] + ARMIJO * step * promise[todo]) & ~flat | (flat & falls)
        took = todo[good]
        moved[took], at[took], best[took], new[took] = True, there[good], trial[good], turned[good]
        todo, step = todo[~good & ~flat], 0.5 * step  # flat, and the slope does not fall: this is as good as it gets
        if not len(todo):
            break
    return moved, at, best, new


def _bfgs(H: Array, s: Array, y: Array, first: Array) -> Array:
    """The inverse curvatures after steps s that changed the (downhill) slopes by y; reset where they make no sense."""
    sy = (s * y).sum(axis=1)
    good = sy > 1e-12 * np.sqrt((s * s).sum(axis=1) * (y * y).sum(axis=1))
    rho = 1.0 / np.where(good, sy, 1.0)
    Hy = (H @ y[:, :, None])[:, :, 0]
    scale = (1.0 + rho * (y * Hy).sum(axis=1)) * rho
    out = H + scale[:, None, None] * s[:, :, None] * s[:, None, :]
    cross = Hy[:, :, None] * s[:, None, :]
    out -= rho[:, None, None] * (cross + cross.transpose(0, 2, 1))
    return np.where(good[:, None, None], out, first)


def gamma_shape(gap: float) -> float:
    """The maximum likelihood shape a of a gamma whose log mean exceeds its mean log by `gap`: log a - digamma(a) = gap.

    Reference: Minka, Estimating a gamma distribution, 2002.

    >>> round(gamma_shape(float(np.log(3.0) - digamma(3.0))), 9)
    3.0
    """
    if gap <= 1e-12:
        return np.inf  # no spread that double precision can tell
    a = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)  # within 1.5 %
    for _ in range(4):
        a = 1.0 / (1.0 / a + (np.log(a) - digamma(a) - gap) / (a - a * a * polygamma(1, a)))
    return float(a)
