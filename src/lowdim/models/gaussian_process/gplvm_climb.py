"""The climb of a GP-LVM: its likelihood as a function of one vector, where places start from, and races between starts.

log p(Y | X) of all columns is the likelihood of Gaussian processes (Lawrence 2005, eq. 2), or through inducing points
a bound on it in time that grows as the rows (Titsias 2009).
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fit import STOPPED, Monitor, notify_monitor
from lowdim.engine.fold import Run, recalled
from lowdim.maths.linalg import Array, Mask, lower, sign_rule, svd
from lowdim.maths.optimise import climb
from lowdim.models.gaussian_process.bound import DIAGONAL, CollapsedBound, collapsed_bound, induced_decoder
from lowdim.models.gaussian_process.gp import (
    ColumnGroup,
    Decoder,
    JitteredSurface,
    Kernel,
    condition,
    jittered_cholesky,
    likelihood,
    summed,
)
from lowdim.models.gaussian_process.psi import PsiSums
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.nonlinear.gtm import GTM
from lowdim.models.spectral.isomap import Isomap
from lowdim.text.messages import LowdimWarning, error

BOUNDS = {"noise": (1e-6, 1e2), "variance": (1e-4, 1e4), "other": (1e-6, 1e6)}  # of the mean variance; of 1
INITS = ("auto", "pca", "gtm", "isomap")
MOST_GTM_DIMENSIONS = 3
GTM_PASSES = 200
GPLVM_RACE_STEPS = 60  # that show which start is best: on oil its end is 3 to 7 nats below the best of three climbs
LOOK_EVERY, HELD_OUT_PATIENCE = 5, 3  # iterations between looks at held-out cells, and looks that may be no better
NO_BETTER = "held-out cells are predicted no better"


# the likelihood -------------------------------------------------------------------------------------------------------
class InducedTable(NamedTuple):
    """A centred table, zero at its gaps, whose columns are seen through inducing points."""

    Y: Array
    seen: Array  # n x d, 1 where a cell is seen; n x 1 where none is missing
    ridge: float  # added to the diagonal of the inducing points' matrix


def induced_table(Y: Array, mask: Mask | None) -> InducedTable:
    seen = np.ones((len(Y), 1)) if mask is None or mask.all() else mask.astype(np.float64)
    return InducedTable(Y, seen, DIAGONAL * mean_variance(Y, mask))


def mean_variance(Y: Array, mask: Mask | None) -> float:
    """Of the seen cells of a centred table; a table without any spread has a little."""
    cells = Y.size if mask is None else max(int(mask.sum()), 1)
    return max(float((Y**2).sum()) / cells, 1e-200)


def bound_at(table: InducedTable, kernel: Kernel, X: Array, Z: Array, K: Array, jitter_level: int) -> CollapsedBound:
    """The bound with rows at X and inducing points at Z; K = k(X, Z)."""
    i, j = lower(len(Z))
    two = np.stack([((K if w.all() else K * w[:, None]).T @ K)[i, j] for w in table.seen.T], axis=1)
    psi0, square = kernel.diagonal(X) @ table.seen, float((table.Y**2).sum())
    sums = PsiSums(K.T @ table.Y, two, psi0, table.seen.sum(axis=0), square, 0.0)
    return collapsed_bound(kernel.cross(Z, Z), table.ridge, 1.0 / kernel.noise, sums, jitter_level)


def decoder_at(table: InducedTable, kernel: Kernel, X: Array, Z: Array, jitter_level: int) -> Decoder:
    """Predictions of the table's cells at any place."""
    bound = bound_at(table, kernel, X, Z, kernel.cross(X, Z), jitter_level)
    return induced_decoder(kernel, Z, bound.C / kernel.noise, bound.inverse)


def induced_likelihood(table: InducedTable, kernel: Kernel, X: Array, Z: Array, jitter_level: int) -> Array:
    """Value, jitter level and gradient in X, Z and theta, in one array."""
    parts, (i, j) = kernel.parts(X, Z), lower(len(Z))
    K = summed(parts)
    bound = bound_at(table, kernel, X, Z, K, jitter_level)
    # from the gradients in psi1'Y and psi2 = K'K of each column to G, that in K = k(X, Z); g is that in k(x, x)
    G, g = table.Y @ bound.down.one.T, table.seen @ bound.down.psi0
    for w, packed in zip(table.seen.T, bound.down.two.T, strict=True):
        T = np.empty((len(Z), len(Z)))
        T[i, j] = T[j, i] = np.where(i == j, 2.0, 1.0) * packed
        G += (K if w.all() else K * w[:, None]) @ T
    # from there to places, points and numbers of each term: of v s(a x, a z) log a gets x'dx + z'dz (Euler)
    dX, dZ, dtheta = np.zeros_like(X), np.zeros_like(Z), []
    for term, part in zip(kernel.terms, parts, strict=True):
        x, z = term.pull(X, Z, part, G), term.pull(Z, X, part.T, G.T)
        within, numbers = term.gradient(Z, term.cross(Z, Z), bound.K)
        numbers[0] += float((G * part).sum()) + float(g @ term.diagonal(X))
        numbers[1:2] += 0.5 * (float((X * x).sum()) + float((Z * z).sum()))
        dX += x + np.stack([g * term.diagonal_slope(X, a) for a in range(X.shape[1])], axis=1)
        dZ += z + within
        dtheta += numbers.tolist()
    dtheta.append(-bound.beta / kernel.noise)
    return np.concatenate([[bound.value, bound.jitter_level], dX.ravel(), dZ.ravel(), dtheta])


class PlacesProblem(NamedTuple):
    """What a climb is about: the columns in groups, and how a vector becomes places, inducing points and a kernel."""

    groups: list[ColumnGroup]
    names: tuple[str, ...]  # of the kernel's terms
    shape: tuple[int, int]
    back: Array | None  # n x n, places are back @ weights
    gamma: float  # of that matrix: exp(-gamma |y - y'|^2) of rows
    mean_variance: float
    noise_floor: float | None = None  # where it was stated; a share of the mean variance
    induced: InducedTable | None = None  # where the rows are seen through inducing points: these follow the places
    points: int = 0  # how many of these

    def split(self, vector: Array) -> tuple[Array, Array, Kernel]:
        """Places (or their weights), inducing points and kernel."""
        n, q = self.shape
        W, Z, theta = np.split(vector, [n * q, (n + self.points) * q])
        return W.reshape(n, q), Z.reshape(-1, q), Kernel(self.names, theta)

    def places(self, vector: Array) -> Array:
        W = self.split(vector)[0]
        return W if self.back is None else self.back @ W

    def bounds(self) -> tuple[Array, Array]:
        """Of every number of a vector: places are free, the kernel's variances are bounded by the table's."""
        free, size = np.full((self.shape[0] + self.points) * self.shape[1], np.inf), np.log(self.mean_variance)
        low, high = [], []
        for label in Kernel(self.names, np.zeros(1)).labels:
            number = label.split()[-1]
            shift = size if number in BOUNDS else 0.0
            least, most = np.log(BOUNDS.get(number, BOUNDS["other"])) + shift
            low.append(least)
            high.append(most)
        low[-1] = low[-1] if self.noise_floor is None else np.log(self.noise_floor) + size
        return np.append(-free, low), np.append(free, high)

    def on_bound(self, vector: Array) -> tuple[str, ...]:
        """The kernel's numbers that lie on a bound."""
        kernel = self.split(vector)[2]
        low, high = (edge[-len(kernel.theta) :] for edge in self.bounds())
        numbers = zip(kernel.labels, kernel.theta, low, high, strict=True)
        return tuple(label for label, t, least, most in numbers if t <= least + 1e-9 or t >= most - 1e-9)


class LikelihoodSurface(JitteredSurface):
    """log p(Y | X) and its gradient in places (or their weights), inducing points and the kernel's numbers."""

    def __init__(self, problem: PlacesProblem, run: Run | None = None, name: str = "") -> None:
        super().__init__(recalled(run or Run(), name, self._evaluate))
        self.problem = problem

    def _evaluate(self, x: Array) -> Array:
        problem, vector, level = self.problem, x[:-1], int(x[-1])
        (_, Z, kernel), X = problem.split(vector), problem.places(vector)
        try:
            if problem.induced is not None:
                return induced_likelihood(problem.induced, kernel, X, Z, level)
            parts = kernel.parts(X, X)
            found = likelihood(summed(parts), kernel.noise, problem.groups, level)
        except np.linalg.LinAlgError:
            if np.isfinite(self.best):  # a wall for the climb, which keeps the best place so far
                return np.concatenate([[-np.inf, level], np.zeros_like(vector)])
            at = X if problem.induced is None else Z
            raise error("LD473", condition=condition(kernel.cross(at, at), kernel.noise)) from None
        # the chain rule: from K to places and the kernel's numbers, and from places to their weights
        dX, dtheta = kernel.gradient(X, parts, found.G)
        dX = dX if problem.back is None else problem.back.T @ dX
        return np.concatenate([[found.value, found.jitter_level], dX.ravel(), dtheta])


# starts ---------------------------------------------------------------------------------------------------------------
class StartPlaces(NamedTuple):
    """Places with unit variance on each axis, and which of INITS they came from."""

    X: Array
    init: str


def start_places(init: Any, Y: Array, mask: Mask | None, q: int, run: Run) -> StartPlaces:
    """First places of the rows of a centred table, gaps as zeros: those given, or another model's."""
    if not isinstance(init, str):
        X = np.array(init, dtype=np.float64)
        if X.shape != (len(Y), q) or not np.isfinite(X).all():
            raise error("LD474", shape=X.shape, n=len(Y), q=q)
        return StartPlaces(X, "given")
    if init == "auto":
        init = "pca" if mask is None else "gtm"
    init = "pca" if init == "gtm" and q > MOST_GTM_DIMENSIONS else init
    table = Y if mask is None else np.where(mask, Y, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)  # a start need not be the best
        if init == "gtm":
            X = _gtm(table, q, run).transform(table)
        elif init == "isomap":
            filled = Y if mask is None else _gtm(table, min(q, MOST_GTM_DIMENSIONS), run).impute(table)
            X = Isomap(q).fit_transform(filled)
        elif mask is not None:
            X = ProbabilisticPCA(q).fit(table, run=run).transform(table)
        else:
            U, s, Vt = svd(Y)
            X = np.zeros((len(Y), q))
            X[:, : min(q, len(s))] = (U * s * sign_rule(Vt.T))[:, :q]
    X = X - X.mean(axis=0)
    sd = X.std(axis=0)
    return StartPlaces(X / np.where(sd > 1e-9 * sd.max(initial=0.0), sd, 1.0), init)


def _gtm(table: Array, q: int, run: Run) -> GTM:
    """A small GTM of a table with gaps."""
    side, bells = (20, 6) if q < MOST_GTM_DIMENSIONS else (8, 4)
    return GTM(q, grid=side, basis=bells, calibrate=False, max_iter=GTM_PASSES).fit(table, run=run)


# climbs ---------------------------------------------------------------------------------------------------------------
class EarlyStopping:
    """Ends a climb where the density of held-out cells stops rising: free places follow the noise."""

    def __init__(self, problem: PlacesProblem, Y: Array, held: Mask) -> None:
        self.problem, self.Y, self.held = problem, Y, held
        self.x, self.best, self.n_iter, self.worse = np.empty(0), -np.inf, 0, 0

    def __call__(self, x: Array, jitter_level: int) -> bool:
        """After an iteration; whether to stop."""
        self.n_iter += 1
        if self.n_iter % LOOK_EVERY == 0:
            value = self.density(x, jitter_level)
            self.worse = 0 if value > self.best else self.worse + 1
            if value > self.best:
                self.x, self.best = x.copy(), value
        return self.worse >= HELD_OUT_PATIENCE

    def density(self, x: Array, jitter_level: int) -> float:
        """log p(held-out cells | their rows' places, the other cells), without its constant."""
        problem, total = self.problem, 0.0
        (_, Z, kernel), X = problem.split(x), problem.places(x)
        if problem.induced is not None:
            mean, var, _ = decoder_at(problem.induced, kernel, X, Z, jitter_level).at(X)
            var = var + kernel.noise
            return -0.5 * float(((self.Y - mean) ** 2 / var + np.log(var))[self.held].sum())
        for rows, columns, _, _ in problem.groups:  # as Decoder has it, but at rows with held-out cells only
            held = self.held[:, columns]
            at, seen = np.flatnonzero(held.any(axis=1)), slice(None) if rows is None else rows
            factor = jittered_cholesky(kernel.cross(X[seen], X[seen]), kernel.noise, jitter_level)
            k = kernel.cross(X[at], X[seen])
            var = kernel.diagonal(X[at]) - np.einsum("mn,nm->m", k, factor.solve(k.T)) + kernel.noise
            off = self.Y[np.ix_(at, columns)] - k @ factor.solve(self.Y[seen][:, columns])
            total -= 0.5 * float((off**2 / var[:, None] + np.log(var)[:, None])[held[at]].sum())
        return total


class Climb:
    """One climb that can be taken up again: where it came to, and how."""

    def __init__(
        self, surface: LikelihoodSurface, start: Array, monitor: Monitor, stopping: EarlyStopping | None
    ) -> None:
        self.surface, self.monitor, self.stopping = surface, monitor, stopping
        places = surface.problem
        self.bounds = places.bounds()
        self.x = np.clip(start, *self.bounds)
        self.value, self.remaining, self.reason = -np.inf, np.inf, ""

    @property
    def history(self) -> tuple[float, ...]:
        return tuple(self.monitor.history)

    def go(self, steps: int, tol: float) -> None:
        """At most so many iterations more."""
        with self.monitor:
            peak = climb(self.surface, self.x, self._after, bounds=self.bounds, max_iter=steps, tol=tol)
        self.value, self.remaining, self.reason = peak.value, peak.remaining, peak.reason
        if self.monitor.reason in STOPPED:
            self.reason = self.monitor.reason
        elif self.reason == "stopped":
            self.reason = NO_BETTER
        self.x = self.stopping.x if self.stopping is not None and self.reason == NO_BETTER else peak.x

    def _after(self, x: Array, value: float) -> bool:
        stop = notify_monitor(self.monitor, x, value)
        return stop or (self.stopping is not None and self.stopping(x, self.surface.jitter_level))


def race(
    problem: PlacesProblem,
    starts: list[Array],
    run: Run,
    name: tuple[str, str],
    max_iter: int,
    tol: float,
    held: tuple[Array, Mask] | None = None,
) -> tuple[Climb, int]:
    """The best of several climbs, each of which goes some way and the highest of which goes on; and all iterations.

    Given the table and which of its cells are held out, a climb also ends where these are predicted no better.
    """
    steps = max_iter if len(starts) == 1 else min(GPLVM_RACE_STEPS, max_iter)
    climbs: list[Climb] = []
    for i, start in enumerate(starts):
        surface = LikelihoodSurface(problem, run, f"{name[0]} {name[1]} {i}")
        stopping = None if held is None else EarlyStopping(problem, *held)
        climbs.append(Climb(surface, start, Monitor(run, name[0], -1.0, max_iter), stopping))
        climbs[-1].go(steps, tol)
        if climbs[-1].reason in STOPPED:
            break
    best = max(climbs, key=lambda one: one.value)  # the first of several
    if climbs[-1].reason in STOPPED:
        best.reason = climbs[-1].reason
    elif best.reason not in ("converged", NO_BETTER) and steps < max_iter:
        best.go(max_iter - steps, tol)
    return best, sum(len(one.history) for one in climbs)
