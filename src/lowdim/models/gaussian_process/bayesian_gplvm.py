"""The Bayesian Gaussian process latent variable model: places with doubt, and as many dimensions as are needed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from lowdim.engine.fold import Run, fold, one_blas_thread
from lowdim.engine.monitor import STOPPED, Fit, Monitor
from lowdim.engine.plan import Cost
from lowdim.math.linalg import Array, Mask
from lowdim.math.optimise import Peak, climb
from lowdim.models.base.calibration import (
    ERROR_EDGES,
    MOST_ROUNDS,
    count_errors,
    held_out_rounds,
    inflation_from_counts,
    inflation_note,
    split_frames,
    without_held_cells,
)
from lowdim.models.base.estimator import COUNT, POSITIVE, SEED_WORDS, Rule, is_seed, seed_of
from lowdim.models.base.results import Certificate, em_digits, squared
from lowdim.models.base.survey import TableSurvey, survey_for_fit
from lowdim.models.gaussian_process.bayesian_gplvm_bound import KEEP, PSI, Evidence, Seen
from lowdim.models.gaussian_process.gp import LADDER, Decoder, Kernel
from lowdim.models.gaussian_process.gplvm import GPLVM, TRIED
from lowdim.models.gaussian_process.gplvm_search import heard
from lowdim.models.gaussian_process.psi import PIECE, Blurred
from lowdim.models.linear.linear_gaussian import ProbabilisticPCA
from lowdim.models.linear.parameters import check_q
from lowdim.models.linear.pca import PCA
from lowdim.sources.source import Header, Source
from lowdim.sources.views import Frame, Framed
from lowdim.text.messages import LowdimWarning, error, warn

FROZEN = 100  # iterations before signal and noise may move; all of these starts: spec, algorithms
DOUBT, SIGNAL = 0.3, 15.0  # first variance of a place; first signal over noise: 0.1 and 100 end 40 nats lower on oil,
GAPS_DOUBT, GAPS_SIGNAL = 0.1, 100.0  # but with gaps these fill better (three of four masks of oil)
KEPT = 1e-3  # of the largest relevance: a dimension below is not needed
LEAST = 1e-6  # of the largest relevance: the prior of a useless dimension stays this wide
NOISE, STRENGTH = (1e-8, 1e2), (1e-4, 1e4)  # bounds of the noise and of the signal, of the mean variance
FAR = 1e4  # bound of a place: its prior's standard deviation is 1
WIDE = 1e8  # bound of relevances, and of the precision of a place
PASSES = 100  # of the EM that a table with gaps starts from


class Doubtful(NamedTuple):
    """Parameters, in the frame's units; places are multiplied by the roots of the relevances."""

    X: Array  # n x q, means of the places
    S: Array  # n x q, their variances
    Z: Array  # m x q, inducing points
    mu: Array  # d
    names: str  # of the kernel
    theta: Array  # logarithms of its numbers, noise last
    alpha: Array  # m x d, predictions are k(z, Z) alpha
    inverse: Array  # 1 x m x m, or d x m x m where cells are missing: what k(z, Z) takes off the variance
    w: Array  # q, relevances, largest first
    rung: int
    widen: float
    centre: Array  # q
    spread: Array  # q x q
    back: Array  # 0 x q
    gamma: float

    @property
    def kernel(self) -> Kernel:
        return Kernel(self.names, self.theta)

    def decoder(self) -> Decoder:
        d = len(self.mu)
        whole = len(self.inverse) == 1
        return Decoder(
            self.kernel,
            self.Z,
            self.alpha,
            [(None, np.arange(d) if whole else np.array([j]), A) for j, A in enumerate(self.inverse)],
        )


class BayesianGPLVM(GPLVM):
    """The Bayesian GP-LVM: places with doubt under N(0, I), and only as many dimensions as are needed; gaps welcome.

    As GPLVM with k(x, y) = v exp(-1/2 sum_q w_q (x_q - y_q)^2), but the places are integrated out under a variational
    Gaussian each, through `n_inducing` points: L-BFGS raises a bound on log p(Y). With `kernel="linear"`,
    k = sum_q w_q x_q y_q, it is Bayesian PCA, exactly and without inducing points. A relevance w_q below 1e-3 of the
    largest says that dimension q is not needed; `kept_` counts the others. Places are reported times the root of
    their relevance (linear: over the largest), the most relevant first. Rows are read twice for each value of the
    bound and never held: time grows as rows times squared inducing points, memory as rows times n_components.

    A new row goes to the peak of p(cells | place) N(place | 0, I), `posterior` is Laplace's Gaussian there, and
    `score_samples` Laplace's estimate of the log density (no bound); `objective_` is the bound of all rows together.
    With gaps 5 to 15 % of the seen cells are held back first, and the intervals widened until they hold. The best of
    `n_init` starts is kept: climbs from other inducing points may end tens of nats apart.

    Reference: Titsias and Lawrence, AISTATS 2010.

    >>> t = np.linspace(0, 3, 40)
    >>> X = np.column_stack([np.cos(t), np.sin(t), t]) + 0.01 * np.sin(99 * np.arange(120)).reshape(40, 3)
    >>> BayesianGPLVM(3, n_inducing=10).fit(X).kept_
    1
    """

    _objective_name: ClassVar[str] = "evidence bound"
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "kernel": Rule(lambda v: v in PSI, f"one of {', '.join(PSI)}"),
        "n_inducing": COUNT,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "random_state": Rule(is_seed, SEED_WORDS),
        "n_init": COUNT,
    }
    _laws_broken: ClassVar[dict[str, str]] = {
        "weights_repeat_rows": GPLVM._pairs,
        "score_is_objective": "the objective is a bound for all rows together",
        "sample_then_fit": "its free parameters grow with the rows",
        "row_order_does_not_matter": "inducing points start at rows drawn by their number",
        "any_tile": "a line search follows the last digits of a bound that cancels many",
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        kernel: str = "rbf",
        n_inducing: int = 50,
        tol: float = 0.05,
        max_iter: int = 1000,
        random_state: Any = None,
        n_init: int = 1,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.n_inducing = n_inducing
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_init = n_init

    def fit(self, X: Any, y: Any = None, *, run: Run | None = None) -> Self:  # type: ignore[override]
        """Fit the model to a table; `y` is ignored. Time grows as rows times squared inducing points."""
        return super().fit(X, y, run=run)

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        if source.weight is not None:
            raise error("LD283", model=type(self).__name__)
        check_q(int(self.n_components), source.d)
        seen = _centred(survey_for_fit(source, run, unit_free=True), source)
        with one_blas_thread():
            fit = self._best(seen, run)
        if fit.params.rung:
            warn("LD472", jitter=LADDER[fit.params.rung])
        for name in fit.stats:
            warn("LD471", name=name)
        return fit.restated(seen.log_stretch, seen.passes), seen.frame

    def _best(self, seen: TableSurvey, run: Run) -> Fit:
        """The best of several climbs; with gaps after some that show how wide intervals must be."""
        table, first, widen, passes = Seen(seen.source, seen.gaps, "all"), None, 1.0, 0
        if seen.gaps:
            first, widen, passes = self._widening(table, seen.columns.seen, run)
        if first is not None and first.reason in STOPPED:
            return first._replace(params=first.params._replace(widen=widen), passes=passes)
        best: Fit | None = None
        for i in range(self.n_init or 1):
            fit = self._rise(table, i, run)  # not from where a held-back one ended: 4 % worse fills of oil
            passes += fit.passes
            best = fit if best is None or fit.objective > best.objective else best
            if fit.reason in STOPPED:
                best = best._replace(reason=fit.reason, converged=False)
                break
        assert best is not None
        return best._replace(params=best.params._replace(widen=widen), passes=passes)

    def _widening(self, table: Seen, seen: Array, run: Run) -> tuple[Fit | None, float, int]:
        """The last of the fits with cells held back, what intervals must be multiplied by, and the passes it took."""
        under, frames = split_frames(table.source)
        counts, passes, fit = np.zeros(len(ERROR_EDGES) + 1), 0, None
        for held in held_out_rounds(seen, seed_of(self.random_state)):
            if not held.columns.any():
                break
            fewer = table._replace(source=without_held_cells(table.source, held), name=f"less {held.round}")
            fit = self._rise(fewer, 0, run)
            say = partial(self._cells_given, fit.params)
            counts += fold(partial(count_errors, held, frames, say), under, run._replace(checkpoint=None)).value
            passes += fit.passes + 1
            if fit.reason in STOPPED:
                break
        return fit, inflation_from_counts(counts), passes

    def _first(self, table: Seen, i: int, scores: Array) -> Blurred:
        """Unwhitened principal scores, the first with unit variance; inducing points among them."""
        (n, q), rng = scores.shape, np.random.default_rng([seed_of(self.random_state), 74, i])
        if self.kernel == "linear":
            return self._first_linear(scores, table.source.d, rng)
        mu = scores / max(float(np.sqrt((scores[:, 0] ** 2).mean())), 1e-300)
        mu += 1e-3 * rng.standard_normal(mu.shape)
        m = min(int(self.n_inducing), n)
        Z = mu[rng.choice(n, m, replace=False)] + 1e-2 * rng.standard_normal((m, q))
        doubt, signal = (GAPS_DOUBT, GAPS_SIGNAL) if table.gaps else (DOUBT, SIGNAL)
        return Blurred(mu, np.full((n, q), doubt), Z, np.ones(q), 1.0, signal)

    def _first_linear(self, scores: Array, d: int, rng: np.random.Generator) -> Blurred:
        """Probabilistic PCA's answer: whitened scores, and on each axis its share of the variance."""
        values = (scores**2).mean(axis=0)
        noise = max(float(d - values.sum()) / max(d - len(values), 1), 1.0 / GAPS_SIGNAL)
        w = np.maximum(values - noise, 0.1 * noise) / d
        doubt = noise / (d * w + noise)
        mu = scores * np.sqrt((1.0 - doubt) / np.maximum(values, 1e-300))
        mu += 1e-3 * rng.standard_normal(mu.shape)
        return Blurred(mu, np.tile(doubt, (len(mu), 1)), np.zeros((0, len(w))), w, 1.0, 1.0 / noise)

    def _rise(self, table: Seen, i: int, run: Run) -> Fit:
        """Raise the bound from start i, at first with signal and noise as they are."""
        frozen = FROZEN if self.kernel == "rbf" else 0
        with Monitor(run, type(self).__name__, -1.0, self.max_iter + frozen) as monitor:
            quiet = run._replace(checkpoint=None, callback=lambda step: monitor.interrupted, verbose=0)
            scores, passes = _principal(table, int(self.n_components), quiet)
            start, tol = self._first(table, i, scores), self.tol * len(scores) / 100
            surface = Evidence(self.kernel, start, table._replace(name=f"{table.name}, start {i}"), run)
            low, high = _bounds(start, self.kernel)
            x = np.clip(start.pack(), low, high)
            go: Callable[..., Peak] = partial(climb, surface, see=partial(heard, monitor), tol=tol)
            if frozen:
                held = low.copy(), high.copy()
                held[0][-2:] = held[1][-2:] = x[-2:]
                peak = go(x, bounds=held, max_iter=min(frozen, self.max_iter))
                x = peak.x
            if monitor.reason not in STOPPED:
                peak = go(x, bounds=(low, high), max_iter=self.max_iter)
        reason = monitor.reason if monitor.reason in STOPPED else peak.reason
        params, bound = self._doubtful(surface, peak.x), _at_bounds(self.kernel, peak.x, low, high, len(start.w))
        return Fit(
            params,
            bound,
            peak.value,
            tuple(monitor.history),
            passes + surface.passes + 1,
            reason == "converged",
            reason,
            "L-BFGS",
            peak.remaining,
        )

    def _doubtful(self, surface: Evidence, x: Array) -> Doubtful:
        found, p = surface.at(x, surface.rung_there), surface.like.unpack(x)
        order = np.argsort(-p.w, kind="stable")
        w, root = p.w[order], np.sqrt(p.w)[order]
        own = np.diag(1.0 / np.sqrt(p.w)) if self.kernel == "linear" else p.Z
        unit = root[0] if self.kernel == "linear" else 1.0
        theta = np.log([w[0], 1.0 / p.beta] if self.kernel == "linear" else [p.v, 1.0, 1.0 / p.beta])
        shape = root / unit
        return Doubtful(
            p.mu[:, order] * shape,
            p.S[:, order] * shape**2,
            own[:, order] * shape,
            np.zeros(found.C.shape[1]),
            self.kernel,
            theta,
            p.beta * found.C,
            found.inverse,
            w,
            found.rung,
            1.0,
            np.zeros(len(w)),
            np.diag(np.maximum(w, LEAST * w[0])) / unit**2,
            np.zeros((0, len(w))),
            0.0,
        )

    # rows -----------------------------------------------------------------------------------------------
    def _nearest(self, params: Any, D: Decoder, P: Any, y: Array, seen: Mask) -> Array:
        some = params.X[:: -(-len(params.X) // TRIED)]  # a matrix of all rows by new rows would not be bounded
        return super()._nearest(params._replace(X=some), D, P, y, seen)

    # what it says ---------------------------------------------------------------------------------------
    def _attributes(self, params: Doubtful, frame: Frame, fit: Fit) -> dict[str, Any]:  # type: ignore[override]
        unit, linear = float(frame.report[0]), params.names == "linear"
        signal = float(params.w.sum()) if linear else float(np.exp(params.theta[0]))
        signal, noise = squared(np.array([signal, np.exp(params.theta[-1])]), unit).tolist()
        return {
            "embedding_": params.X,
            "embedding_std_": np.sqrt(params.S),
            "relevance_": squared(params.w, unit) if linear else params.w,
            "kept_": int((params.w > KEPT * params.w[0]).sum()),
            "signal_variance_": signal,
            "noise_variance_": noise,
            "inducing_": params.Z,
            "jitter_": LADDER[params.rung],
            "calibration_": params.widen,
            "n_components_": params.X.shape[1],
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        p = fit.params
        notes = [
            f"{int((p.w > KEPT * p.w[0]).sum())} of {len(p.w)} dimensions are needed",
            "new rows are placed at a peak, with Laplace's covariance; the objective is a bound",
        ]
        if p.rung:
            notes.append(f"{LADDER[p.rung]:.0e} of the mean variance was added to the kernel's diagonal")
        notes.append(inflation_note(p.widen))
        digits = float(np.clip(em_digits(fit.remaining, len(p.X)), 0.0, 15.0))
        return Certificate(
            fit.solver,
            fit.passes,
            fit.objective,
            self._objective_name,
            fit.converged,
            fit.reason,
            fit.remaining,
            0.0,
            1.0,
            digits,
            fit.stats,
            tuple(notes),
        )

    def _cost(self, n: int, d: int) -> Cost:
        q, m = int(self.n_components), min(int(self.n_inducing), n)
        m = q if self.kernel == "linear" else m
        pairs, climbs = m * (m + 1) // 2, MOST_ROUNDS + (self.n_init or 1)
        # L-BFGS remembers 20 steps of 2 n q numbers, twice, and scipy copies some; a core works on four pieces
        peak = 8 * (min(n * pairs, KEEP) + 4 * PIECE + 2 * d * pairs + 3 * d * m * m + 8 * n * d + 200 * n * q)
        passes = 20 + climbs * (4 * (FROZEN + int(self.max_iter)) + PASSES + 20)
        return Cost(
            passes, 8 * n * d * passes, peak, "fewer n_inducing, GTM, or a sample of the rows", min(800, passes)
        )


def _centred(seen: TableSurvey, source: Source) -> TableSurvey:
    """The same look from the columns' means, in units in which the mean variance is one."""
    f, cols = seen.frame, seen.columns
    unit = float(np.sqrt(cols.scatter.sum() / max(float(cols.seen.sum()), 1.0))) or 1.0
    frame = Frame(f.shift + cols.mean / f.scale, f.scale / unit, f.unit)
    return seen._replace(frame=frame, source=Framed(source, frame))


def _principal(table: Seen, q: int, run: Run) -> tuple[Array, int]:
    """Principal scores, n x q (of a table with gaps probabilistic PCA's, in the same units), and the passes it took."""
    n, d = table.source.n, table.source.d
    found = np.zeros((n, q))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)  # the table's own were given, and a start need not be the best
        if table.gaps:
            model: Any = ProbabilisticPCA(min(q, max(d - 1, 1)), max_iter=PASSES).fit(table.source, run=run)
            unit = np.sqrt((model.components_**2).sum(axis=1))
        else:
            model, unit = PCA(min(q, max(n - 1, 1))).fit(table.source, run=run), 1.0
        some = model.transform(table.source, run=run) * unit
    found[:, : some.shape[1]] = some
    return found, model.certificate_.passes + 1


def _bounds(start: Blurred, kernel: str) -> tuple[Array, Array]:
    """Of every number of the vector."""
    n, m, q, wide = start.mu.size, start.Z.size, len(start.w), np.log(WIDE)
    low = np.concatenate(
        [
            np.full(n, -FAR),
            np.full(n, -wide),
            np.full(m, -FAR),
            np.full(q, -wide),
            np.log([STRENGTH[0], 1.0 / NOISE[1]]),
        ]
    )
    high = np.concatenate(
        [np.full(n, FAR), np.full(n, 1.0), np.full(m, FAR), np.full(q, wide), np.log([STRENGTH[1], 1.0 / NOISE[0]])]
    )
    if kernel == "linear":
        low[-2] = high[-2] = 0.0  # the relevances are all the signal there is
    return low, high


def _at_bounds(kernel: str, x: Array, low: Array, high: Array, q: int) -> tuple[str, ...]:
    """What is on a bound; a relevance at its lower one is a dimension that is not needed, and no news."""
    top = x >= high - 1e-9
    at = top | (x <= low + 1e-9)
    names = ["relevance"] if top[-2 - q : -2].any() else []
    names += [f"{kernel} variance"] if at[-2] and kernel == "rbf" else []
    return tuple(names + (["noise"] if at[-1] else []))
