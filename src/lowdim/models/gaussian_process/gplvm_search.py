"""Where the places of a GP-LVM start from, and the climbs from there: one, or several of which the best goes on."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fit import STOPPED, Monitor, notify_monitor
from lowdim.engine.fold import Run, recalled
from lowdim.maths.linalg import Array, Mask, sign_rule, svd
from lowdim.maths.optimise import climb
from lowdim.models.gaussian_process.gp import jittered_cholesky
from lowdim.models.gaussian_process.gplvm_inducing import decoder_at
from lowdim.models.gaussian_process.gplvm_likelihood import LikelihoodSurface, PlacesProblem
from lowdim.text.messages import LowdimWarning, error

INITS = ("auto", "pca", "gtm", "isomap")
MOST_GTM_DIMENSIONS = 3
GTM_PASSES = 200
GPLVM_RACE_STEPS = 60  # that show which start is best: on oil its end is 3 to 7 nats below the best of three climbs
LOOK_EVERY, HELD_OUT_PATIENCE = 5, 3  # iterations between looks at held-out cells, and looks that may be no better
NO_BETTER = "held-out cells are predicted no better"


# starts ---------------------------------------------------------------------------------------------------------------
class StartPlaces(NamedTuple):
    """Places with unit variance on each axis, and which of INITS they came from."""

    X: Array
    init: str


def start_places(init: Any, Y: Array, mask: Mask | None, q: int, run: Run) -> StartPlaces:
    """First places of the rows of a centred table, gaps as zeros."""
    if not isinstance(init, str):
        X = np.array(init, dtype=np.float64)
        if X.shape != (len(Y), q) or not np.isfinite(X).all():
            raise error("LD474", shape=X.shape, n=len(Y), q=q)
        return StartPlaces(X, "given")
    if init == "auto":
        init = "pca" if mask is None or q > MOST_GTM_DIMENSIONS else "gtm"
    if init == "pca" or (init == "gtm" and q > MOST_GTM_DIMENSIONS):
        return StartPlaces(_unit_variance(_principal_scores(Y, mask, q, run)), "pca")
    if init == "gtm":
        return StartPlaces(_unit_variance(_gtm_means(Y, mask, q, run)[0]), "gtm")
    from lowdim.models.spectral.isomap import Isomap

    filled = Y if mask is None else _gtm_means(Y, mask, min(q, MOST_GTM_DIMENSIONS), run)[1]
    return StartPlaces(_unit_variance(Isomap(q).fit_transform(filled)), "isomap")


def _principal_scores(Y: Array, mask: Mask | None, q: int, run: Run) -> Array:
    """Principal scores; of a table with gaps the posterior means of probabilistic PCA."""
    if mask is None:
        U, s, Vt = svd(Y)
        Z = np.zeros((len(Y), q))
        Z[:, : min(q, len(s))] = (U * s * sign_rule(Vt.T))[:, :q]
        return Z
    from lowdim.models.linear.ppca import ProbabilisticPCA

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)
        table = np.where(mask, Y, np.nan)
        return np.asarray(ProbabilisticPCA(q).fit(table, run=run).transform(table))


def _gtm_means(Y: Array, mask: Mask | None, q: int, run: Run) -> tuple[Array, Array]:
    """Posterior means of a GTM, and its fills."""
    from lowdim.models.nonlinear.gtm import GTM

    table = Y if mask is None else np.where(mask, Y, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)  # a start need not be the best
        side, bells = (20, 6) if q < MOST_GTM_DIMENSIONS else (8, 4)
        model = GTM(q, grid=side, basis=bells, calibrate=False, max_iter=GTM_PASSES).fit(table, run=run)
        return model.transform(table), model.impute(table)


def _unit_variance(X: Array) -> Array:
    """Unit variance on each axis; an axis without any stays."""
    X = X - X.mean(axis=0)
    sd = X.std(axis=0)
    return np.asarray(X / np.where(sd > 1e-9 * sd.max(initial=0.0), sd, 1.0))


# climbs ---------------------------------------------------------------------------------------------------------------
class ClimbResult(NamedTuple):
    """Where a climb came to."""

    x: Array
    value: float
    remaining: float  # nats it may still gain
    reason: str
    history: tuple[float, ...]
    jitter_level: int
    n_iter: int  # those of other starts too


class EarlyStopping:
    """Ends a climb where the density of held-out cells stops rising: free places follow the noise."""

    def __init__(self, Y: Array, held: Mask) -> None:
        self.Y, self.held = Y, held
        self.x, self.best, self.n_iter, self.worse = np.empty(0), -np.inf, 0, 0

    def __call__(self, problem: PlacesProblem, jitter_level: int, x: Array) -> bool:
        """After an iteration; whether to stop."""
        self.n_iter += 1
        if self.n_iter % LOOK_EVERY == 0:
            value = self.density(problem, jitter_level, x)
            self.worse = 0 if value > self.best else self.worse + 1
            if value > self.best:
                self.x, self.best = x.copy(), value
        return self.worse >= HELD_OUT_PATIENCE

    def density(self, problem: PlacesProblem, jitter_level: int, x: Array) -> float:
        """log p(held-out cells | their rows' places, the other cells), without its constant."""
        X, kernel, total = problem.places(x), problem.kernel(x), 0.0
        if problem.induced is not None:
            D = decoder_at(problem.induced, kernel, X, problem.inducing(x), jitter_level)
            mean, var, _ = D.at(X)
            var = var + kernel.noise
            return -0.5 * float(((self.Y - mean) ** 2 / var + np.log(var))[self.held].sum())
        for rows, columns, _, _ in problem.groups:
            held = self.held[:, columns]
            at, seen = np.flatnonzero(held.any(axis=1)), slice(None) if rows is None else rows
            factor = jittered_cholesky(np.asarray(sum(kernel.cross(X[seen], X[seen]))), kernel.noise, jitter_level)
            k = np.asarray(sum(kernel.cross(X[at], X[seen])))
            var = kernel.diagonal(X[at]) - np.einsum("mn,nm->m", k, factor.solve(k.T)) + kernel.noise
            off = self.Y[np.ix_(at, columns)] - k @ factor.solve(self.Y[seen][:, columns])
            total -= 0.5 * float((off**2 / var[:, None] + np.log(var)[:, None])[held[at]].sum())
        return total


class Climb:
    """One climb that can be taken up again; a checkpoint remembers the values of the likelihood."""

    def __init__(
        self,
        problem: PlacesProblem,
        start: Array,
        run: Run,
        name: tuple[str, str],
        max_iter: int,
        stopping: EarlyStopping | None = None,
    ) -> None:
        self.problem, self.stopping = problem, stopping
        self.surface = LikelihoodSurface(problem)
        self.surface.evaluate = recalled(run, " ".join(name), self.surface.packed)
        self.bounds = problem.bounds()
        self.monitor = Monitor(run, name[0], -1.0, max_iter)
        self.x = np.clip(start, *self.bounds)

    def go(self, steps: int, tol: float) -> ClimbResult:
        """At most so many iterations more."""
        with self.monitor:
            peak = climb(self.surface, self.x, self._after, bounds=self.bounds, max_iter=steps, tol=tol)
        reason = NO_BETTER if peak.reason == "stopped" else peak.reason
        reason = self.monitor.reason if self.monitor.reason in STOPPED else reason
        self.x = peak.x if self.stopping is None or reason != NO_BETTER else self.stopping.x
        history, level = tuple(self.monitor.history), self.surface.best_level
        return ClimbResult(self.x, peak.value, peak.remaining, reason, history, level, len(history))

    def _after(self, x: Array, value: float) -> bool:
        stop = notify_monitor(self.monitor, x, value)
        return stop or (self.stopping is not None and self.stopping(self.problem, self.surface.jitter_level, x))


def race(
    problem: PlacesProblem,
    starts: list[Array],
    run: Run,
    name: tuple[str, str],
    max_iter: int,
    tol: float,
    held: tuple[Array, Mask] | None = None,
) -> ClimbResult:
    """The best of several climbs: each goes some way, and the one that is highest then goes on.

    Given the table and which of its cells are held out, a climb also ends where these are predicted no better.
    """
    steps = max_iter if len(starts) == 1 else min(GPLVM_RACE_STEPS, max_iter)
    best: tuple[ClimbResult, Climb] | None = None
    n_iter = 0
    for i, start in enumerate(starts):
        stopping = None if held is None else EarlyStopping(*held)
        ascent = Climb(problem, start, run, (name[0], f"{name[1]} {i}"), max_iter, stopping)
        result = ascent.go(steps, tol)
        n_iter += result.n_iter
        if best is None or result.value > best[0].value:
            best = result, ascent
        if result.reason in STOPPED:
            return best[0]._replace(reason=result.reason, n_iter=n_iter)
    assert best is not None
    result, ascent = best
    n_iter -= result.n_iter
    ended = result.reason in ("converged", NO_BETTER) or steps == max_iter
    result = result if ended else ascent.go(max_iter - steps, tol)
    return result._replace(n_iter=n_iter + result.n_iter)
