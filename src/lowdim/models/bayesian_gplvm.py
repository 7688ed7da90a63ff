"""The Bayesian Gaussian process latent variable model: places with doubt, and as many dimensions as are needed."""
from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.data.block import Array, Mask
from lowdim.data.source import Header
from lowdim.data.views import Frame
from lowdim.engine.fold import Run
from lowdim.engine.monitor import Fit, Monitor
from lowdim.engine.plan import Cost
from lowdim.math.gp import LADDER, Decoder, Kernel
from lowdim.math.linalg import svd
from lowdim.math.optimise import climb
from lowdim.math.psi import Blurred, Bound, bound
from lowdim.messages import LowdimWarning, error
from lowdim.models.certificate import Certificate
from lowdim.models.estimator import SEED_WORDS, Rule, is_seed, seed_of
from lowdim.models.gplvm import GPLVM, heard
from lowdim.models.limits import squared
from lowdim.models.linear import COUNT, POSITIVE, ProbabilisticPCA
from lowdim.models.places import Start, mean_variance

FROZEN = 100  # iterations before signal and noise may move; all of these starts: spec, algorithms
DOUBT, SIGNAL = 0.1, 100.0  # first variance of a place; first signal over noise
KEPT = 1e-3  # of the largest relevance: a dimension below is not needed
LEAST = 1e-6  # of the largest relevance: the prior of a useless dimension stays this wide
NOISE = (1e-8, 1e2)  # bounds of the noise, of the mean variance


class Doubtful(NamedTuple):
    """Parameters, in the frame's units; places are multiplied by the roots of the relevances."""

    X: Array  # n x q, means of the places
    S: Array  # n x q, their variances
    Z: Array  # m x q, inducing points
    mu: Array  # d
    theta: Array  # logarithms of signal, 1 and noise
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
        return Kernel("rbf", self.theta)

    def decoder(self) -> Decoder:
        d = len(self.mu)
        whole = len(self.inverse) == 1
        return Decoder(self.kernel, self.Z, self.alpha, [
            (None, np.arange(d) if whole else np.array([j]), A) for j, A in enumerate(self.inverse)])


class Evidence:
    """The bound and its slope; once the inducing points' matrix needs jitter it keeps it."""

    def __init__(self, like: Blurred, Y: Array, mask: Mask | None) -> None:
        self.like, self.Y, self.mask, self.rung = like, Y, mask, 0

    def at(self, vector: Array) -> Bound:
        p = self.like.unpack(vector)
        try:
            return bound(p, self.Y, self.mask, self.rung)
        except np.linalg.LinAlgError:
            raise error("LD473", condition=float(np.inf)) from None

    def __call__(self, vector: Array) -> tuple[float, Array]:
        found = self.at(vector)
        self.rung = found.rung
        return found.value, found.slope


class BayesianGPLVM(GPLVM):
    """The Bayesian GP-LVM: places with doubt under N(0, I), and only as many dimensions as are needed; gaps welcome.

    As GPLVM with k(x, y) = v exp(-1/2 sum_q w_q (x_q - y_q)^2), but the places are integrated out under a variational
    Gaussian each, through `n_inducing` points: L-BFGS raises a bound on log p(Y). A relevance w_q below 1e-3 of the
    largest says that dimension q is not needed; `kept_` counts the others. Places are reported times the root of
    their relevance, the most relevant first. Time grows as rows times squared inducing points.

    Reference: Titsias and Lawrence, AISTATS 2010.

    >>> t = np.linspace(0, 3, 40)
    >>> X = np.column_stack([np.cos(t), np.sin(t), t]) + 0.01 * np.sin(99 * np.arange(120)).reshape(40, 3)
    >>> BayesianGPLVM(3, n_inducing=10).fit(X).kept_
    1
    """

    _objective_name: ClassVar[str] = "evidence bound"
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT, "n_inducing": COUNT, "tol": POSITIVE, "max_iter": COUNT,
        "random_state": Rule(is_seed, SEED_WORDS), "n_init": COUNT}
    _laws_broken: ClassVar[dict[str, str]] = {
        **GPLVM._laws_broken, "score_is_objective": "the objective is a bound for all rows together"}
    init: Any = "pca"
    back_constraints = False

    def __init__(self, n_components: int = 10, *, n_inducing: int = 50, tol: float = 0.05,
                 max_iter: int = 1000, random_state: Any = None, n_init: int = 1) -> None:
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_init = n_init

    # fitting ------------------------------------------------------------------------------------------
    def _search(self, Y: Array, mask: Mask | None, mu: Array, first: Start, run: Run) -> Fit:
        widen, less = 1.0, mask
        if mask is not None:
            less, held = self._held(mask)
            if held.any():
                fit = self._rise(np.where(less, Y, 0.0), less, mu, self._first(Y, less, 0), run, FROZEN)
                widen = self._needed(fit.params, Y, less, held)
        best: Fit | None = None
        for i in range(int(self.n_init)):
            again = mask is not None and widen != 1.0 and i == 0
            start = fit.stats if again else self._first(Y, mask, i)
            found = self._rise(Y, mask, mu, start, run, 0 if again else FROZEN)
            best = found if best is None or found.objective > best.objective else best
            if found.reason in ("interrupted", "stopped by the callback"):
                break
        assert best is not None
        return best._replace(params=best.params._replace(widen=widen))

    def _first(self, Y: Array, mask: Mask | None, i: int) -> Blurred:
        """Unwhitened principal scores, the first with unit variance; inducing points among them."""
        q, n = int(self.n_components), len(Y)
        if mask is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LowdimWarning)
                table = np.where(mask, Y, np.nan)
                Y = ProbabilisticPCA(min(q, max(Y.shape[1] - 1, 1))).fit(table).impute(table)
                Y = Y - Y.mean(axis=0)
        U, s, _ = svd(Y)
        mu = np.zeros((n, q))
        mu[:, : min(q, len(s))] = (U * (s / max(s[0], 1e-300)))[:, :q] * np.sqrt(n)
        rng = np.random.default_rng([seed_of(self.random_state), 74, i])
        mu += 1e-3 * rng.standard_normal(mu.shape) * (1.0 if i == 0 else 100.0)
        m = min(int(self.n_inducing), n)
        Z = mu[rng.choice(n, m, replace=False)] + 1e-2 * rng.standard_normal((m, q))
        v = mean_variance(Y, mask)
        return Blurred(mu, np.full((n, q), DOUBT), Z, np.ones(q), v, SIGNAL / v)

    def _rise(self, Y: Array, mask: Mask | None, mu: Array, start: Blurred, run: Run, frozen: int) -> Fit:
        """Raise the bound, at first with signal and noise as they are."""
        surface, x = Evidence(start, Y, mask), start.pack()
        size, tol = mean_variance(Y, mask), self.tol * len(Y) / 100
        wide = np.log(1e8)
        low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
        n, q = start.mu.size, len(start.w)
        low[n: 2 * n], high[n: 2 * n] = -wide, 1.0
        low[-2 - q: -2], high[-2 - q: -2] = -wide, wide
        low[-2], high[-2] = np.log(1e-4 * size), np.log(1e4 * size)
        low[-1], high[-1] = -np.log(NOISE[1] * size), -np.log(NOISE[0] * size)
        with Monitor(run, type(self).__name__, -1.0, self.max_iter + frozen) as monitor:
            if frozen:
                held = low.copy(), high.copy()
                held[0][-2:] = held[1][-2:] = x[-2:]
                x = climb(surface, x, partial(heard, monitor), bounds=held, max_iter=min(frozen, self.max_iter),
                          tol=tol).x
            peak = climb(surface, np.clip(x, low, high), partial(heard, monitor), bounds=(low, high),
                         max_iter=self.max_iter, tol=tol)
        stopped = monitor.reason in ("interrupted", "stopped by the callback")
        reason = monitor.reason if stopped else peak.reason
        params = self._doubtful(surface, peak.x, mu)
        return Fit(params, start.unpack(peak.x), peak.value, tuple(monitor.history), len(monitor.history),
                   reason == "converged", reason, "L-BFGS", peak.left)

    def _doubtful(self, surface: Evidence, x: Array, mu: Array) -> Doubtful:
        found, p = surface.at(x), surface.like.unpack(x)
        order = np.argsort(-p.w, kind="stable")
        root = np.sqrt(p.w)[order]
        alpha = np.empty((len(p.Z), surface.Y.shape[1]))
        for columns, given in found.groups:
            alpha[:, columns] = p.beta * given.C
        inverse = np.array([found.K - given.A for _, given in found.groups])
        w = p.w[order]
        return Doubtful(p.mu[:, order] * root, p.S[:, order] * w, p.Z[:, order] * root, mu,
                        np.log([p.v, 1.0, 1.0 / p.beta]), alpha, inverse, w, found.rung, 1.0, np.zeros(len(w)),
                        np.diag(np.maximum(w, LEAST * w[0])), np.zeros((0, len(w))), 0.0)

    def _on_bound(self, stats: Any) -> list[str]:
        return []

    # what it says ---------------------------------------------------------------------------------------
    def _attributes(self, params: Doubtful, frame: Frame, fit: Fit) -> dict[str, Any]:  # type: ignore[override]
        unit = float(frame.report[0])
        signal, noise = (float(squared(np.array([np.exp(params.theta[k])]), unit)[0]) for k in (0, 2))
        return {"embedding_": params.X, "embedding_std_": np.sqrt(params.S), "relevance_": params.w,
                "kept_": int((params.w > KEPT * params.w[0]).sum()), "signal_variance_": signal,
                "noise_variance_": noise, "inducing_": params.Z, "jitter_": LADDER[params.rung],
                "calibration_": params.widen, "n_components_": params.X.shape[1]}

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        p = fit.params
        notes = [f"{int((p.w > KEPT * p.w[0]).sum())} of {len(p.w)} dimensions are needed",
                 "new rows are placed at a peak, with Laplace's covariance; the objective is a bound"]
        if len(p.inverse) > 1:
            notes.append(f"intervals widened {p.widen:.2f} times, by cells held back")
        digits = float(np.clip(-0.5 * np.log10(2.0 * max(fit.left, 1e-30) / max(len(p.X), 1)), 0.0, 15.0))
        return Certificate(fit.solver, fit.passes, fit.objective, self._objective_name, fit.converged, fit.reason,
                           fit.left, 0.0, 1.0, digits, (), tuple(notes))

    def _cost(self, n: int, d: int) -> Cost:
        m, passes = min(int(self.n_inducing), n), 6 + FROZEN + int(self.max_iter)
        pairs = m * (m + 1) // 2
        peak = 8 * (5 * n * pairs + 2 * d * pairs + 3 * d * m * m + 8 * n * d + 60 * n * int(self.n_components))
        return Cost(passes, 8 * n * d * 3, peak, "fewer n_inducing, GTM, or a sample of the rows", min(400, passes))
