"""The Bayesian Gaussian process latent variable model: uncertain places, and as many dimensions as are needed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.engine.fit import STOPPED, Cost, Fit, Monitor, notify_monitor
from lowdim.engine.fold import Run, one_blas_thread
from lowdim.maths.linalg import LARGEST, Array, Mask
from lowdim.maths.optimise import Peak, climb
from lowdim.maths.seeds import BAYESIAN_GPLVM_START
from lowdim.models.base.calibration import MOST_ROUNDS, held_out_fits
from lowdim.models.base.estimator import Absent
from lowdim.models.base.options import COUNT, POSITIVE, SEED, check_components, one_of, option, seed_of
from lowdim.models.base.results import Fitted, squared
from lowdim.models.base.survey import TableSurvey, survey_table
from lowdim.models.gaussian_process.bound import CACHED_PAIRS, CentredTable, EvidenceBound, induced_decoder
from lowdim.models.gaussian_process.gp import JITTER_LEVELS, Decoder, Kernel
from lowdim.models.gaussian_process.gp_map import GaussianProcessMap, strided, warn_jitter
from lowdim.models.gaussian_process.psi import CACHED_CELLS, PSI_KERNELS, VariationalParams
from lowdim.models.linear.pca import PCA
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.sources.source import Source
from lowdim.sources.views import Frame, Framed
from lowdim.text.messages import LowdimWarning, warn

LINEAR_TOL = 0.02  # of `tol` with the linear kernel: its climb has a long tail, and its steps are cheap
FROZEN_STEPS = 100  # iterations before signal and noise may move; all of these starts: docs/measurements.md
START_PLACE_VARIANCE, START_SIGNAL = 0.3, 15.0  # of a place; signal over noise: 0.1 and 100 end 40 nats lower on oil,
GAPS_PLACE_VARIANCE, GAPS_SIGNAL = 0.1, 100.0  # but with gaps these fill better (three of four masks of oil)
KEPT_SHARE = 1e-3  # of the largest relevance: a dimension below is not needed
LEAST_SPREAD = 1e-6  # of the largest relevance: the prior of a useless dimension stays this wide
NOISE_BOUNDS, SIGNAL_BOUNDS = (1e-8, 1e2), (1e-4, 1e4)  # of the mean variance
FURTHEST_PLACE = 1e4  # its prior's standard deviation is 1
LARGEST_RELEVANCE = 1e8  # and largest precision of a place
START_PASSES = 100  # of the EM that a table with gaps starts from


class BayesianGPLVMParams(NamedTuple):
    """Parameters, in the frame's units; places are multiplied by the roots of the relevances."""

    X: Array  # n x q, means of the places
    S: Array  # n x q, their variances
    Z: Array  # m x q, inducing points
    mu: Array  # d
    kernel: Kernel
    alpha: Array  # m x d, predictions are k(z, Z) alpha
    inverse: Array  # 1 x m x m, or d x m x m where cells are missing: what k(z, Z) takes off the variance
    w: Array  # q, relevances, largest first
    jitter_level: int
    inflation: float
    centre: Array  # q
    spread: Array  # q x q

    @property
    def kept(self) -> Mask:
        return self.w > KEPT_SHARE * self.w[0]

    def decoder(self) -> Decoder:
        return induced_decoder(self.kernel, self.Z, self.alpha, self.inverse)


class BayesianGPLVM(GaussianProcessMap[BayesianGPLVMParams]):
    """The Bayesian GP-LVM: uncertain places under N(0, I), and only as many dimensions as are needed; gaps welcome.

    As GPLVM with k(x, y) = v exp(-1/2 sum_q w_q (x_q - y_q)^2), but the places are integrated out under a variational
    Gaussian each, through inducing points: L-BFGS raises a bound on log p(Y). With `kernel="linear"`,
    k = sum_q w_q x_q y_q, it is Bayesian PCA, exactly and without inducing points. A relevance w_q below 1e-3 of the
    largest says that dimension q is not needed. Places are reported times the root of their relevance (linear: over
    the largest), the most relevant first. Rows are read twice for each value of the bound and never held: time grows
    as rows times squared inducing points, memory as rows times n_components.

    A new row goes to the peak of p(cells | place) N(place | 0, I), `posterior` is Laplace's Gaussian there, and
    `score_samples` Laplace's estimate of the log density, no bound. With gaps 5 to 10 % of the seen cells are held out
    first, and intervals scaled so that 90 % ones hold 90 % of these.

    Attributes
    ----------
    embedding_, embedding_std_ : arrays of shape (n, n_components)
        Means and standard deviations of the places of the rows of the fit.
    relevance_ : array of shape (n_components,)
        Prior variance of each axis, largest first: of the reported places with "rbf", where the length scale is 1;
        of the loadings with "linear", in the table's units, as BayesianPCA has it.
    kept_ : boolean array of shape (n_components,)
        Which dimensions are needed.
    n_kept_ : int
        How many are.
    signal_variance_, noise_variance_ : float
        In the table's units.
    inducing_ : array of shape (n_inducing, n_components)
        On the scale of `embedding_`.
    jitter_ : float
        Share of the mean variance that had to be added to the kernel's diagonal.
    calibration_ : float
        Factor of standard deviations, from held-out cells; 1 without gaps.
    n_components_, objective_, history_, n_iter_, converged_, certificate_, params_, frame_
        As every model has them; the objective is the bound of all rows together; the parameters and their units.

    References
    ----------
    Titsias, M. K. and Lawrence, N. D. (2010). Bayesian Gaussian process latent variable model. Proceedings of the 13th
    International Conference on Artificial Intelligence and Statistics, PMLR 9, 844-851.

    Examples
    --------
    >>> t = np.linspace(0, 3, 40)
    >>> X = np.column_stack([np.cos(t), np.sin(t), t]) + 0.01 * np.sin(99 * np.arange(120)).reshape(40, 3)
    >>> BayesianGPLVM(3, n_inducing=10).fit(X).n_kept_
    1
    """

    n_parameters_ = bic = aic = Absent("its places are believed, not counted", "objective_, the evidence bound")
    _objective_name: ClassVar[str] = "evidence bound"
    _laws_broken: ClassVar[dict[str, str]] = {
        "weights_repeat_rows": GaussianProcessMap._pairs,
        "score_is_objective": "the objective is a bound for all rows together",
        "sample_then_fit": "its free parameters grow with the rows",
        "row_order_does_not_matter": "inducing points start at rows drawn by their number",
        "any_tile": "a line search follows the last digits of a bound that cancels many",
    }
    partial_fit = Absent(GaussianProcessMap._pairs, "fit; GTM streams")

    n_components: int = option(default=10, rule=COUNT, words="Dimensions to begin with.", kw_only=False)
    kernel: str = option(
        default="rbf",
        rule=one_of(*PSI_KERNELS),
        words="Smooth functions with a relevance of each dimension, or linear ones.",
    )
    n_inducing: int = option(
        default=50, rule=COUNT, words="Inducing points, at most one a row; the linear kernel needs none."
    )
    tol: float = option(
        default=5e-4,
        rule=POSITIVE,
        words="A climb ends where ten iterations gain less than this each, on average (a fiftieth of it with the "
        "linear kernel); nats a row.",
    )
    max_iter: int = option(
        default=1000, rule=COUNT, words="Most iterations of a climb, after 100 with signal and noise held fixed."
    )
    n_init: int = option(
        default=1,
        rule=COUNT,
        words="Starts from other inducing points, of which the best is taken; they may end tens of nats apart.",
    )
    random_state: Any = option(
        default=0, rule=SEED, words="Seed of the inducing points and of held-out cells; None is 0."
    )

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> Fitted:
        check_components(self.n_components, source.d)
        # The table from its columns' means, in units in which the mean variance is one.
        survey = survey_table(source, run, units_matter=False)
        f, cols = survey.frame, survey.columns
        unit = float(np.sqrt(cols.scatter.sum() / max(float(cols.seen.sum()), 1.0))) or 1.0
        unit = max(unit, 2.0 * float(f.scale.max()) / LARGEST)  # of a table of denormals: a scale that can be stored
        frame = Frame(f.shift + cols.mean / f.scale, f.scale / unit, f.unit)
        survey = survey._replace(frame=frame, source=Framed(source, frame))
        with one_blas_thread():
            fit = self._best(survey, run)
        warn_jitter(fit.params)
        for name in fit.stats:
            warn("LD471", name=name)
        return self._fitted(fit, survey)

    def _best(self, survey: TableSurvey, run: Run) -> Fit[BayesianGPLVMParams, tuple[str, ...]]:
        """The best of several climbs; with gaps after some that show how wide intervals must be."""
        table, rounds = CentredTable(survey.source, survey.gaps, "all"), count()

        def refit(less: Source) -> Fit[BayesianGPLVMParams, tuple[str, ...]]:
            return self._climb(table._replace(source=less, name=f"less {next(rounds)}"), 0, run)

        held_out = held_out_fits(self, refit, survey, seed_of(self.random_state), run)
        if held_out.stopped:
            return held_out.fits[-1]._replace(passes=held_out.passes)
        fits: list[Fit[BayesianGPLVMParams, tuple[str, ...]]] = []
        for i in range(int(self.n_init)):
            fits.append(self._climb(table, i, run))  # not from where a held-out one ended: 4 % worse fills of oil
            if fits[-1].reason in STOPPED:
                break
        best = max(fits, key=lambda fit: fit.objective)  # the first of several
        if fits[-1].reason in STOPPED:
            best = best._replace(reason=fits[-1].reason, converged=False)
        return held_out.calibrate(best._replace(passes=sum(fit.passes for fit in fits)))

    def _start(self, table: CentredTable, i: int, scores: Array) -> VariationalParams:
        """Unwhitened principal scores, the first with unit variance; inducing points among them."""
        (n, q), rng = scores.shape, np.random.default_rng([seed_of(self.random_state), BAYESIAN_GPLVM_START, i])
        if self.kernel == "linear":
            # probabilistic PCA's answer: whitened scores, and on each axis its share of the variance
            d, values = table.source.d, (scores**2).mean(axis=0)
            noise = max(float(d - values.sum()) / max(d - q, 1), 1.0 / GAPS_SIGNAL)
            w = np.maximum(values - noise, 0.1 * noise) / d
            doubt = noise / (d * w + noise)
            mu = scores * np.sqrt((1.0 - doubt) / np.maximum(values, 1e-300))
            mu += 1e-3 * rng.standard_normal(mu.shape)
            return VariationalParams(mu, np.tile(doubt, (n, 1)), np.zeros((0, q)), w, 1.0, 1.0 / noise)
        mu = scores / max(float(np.sqrt((scores[:, 0] ** 2).mean())), 1e-300)
        mu += 1e-3 * rng.standard_normal(mu.shape)
        m = min(int(self.n_inducing), n)
        Z = mu[rng.choice(n, m, replace=False)] + 1e-2 * rng.standard_normal((m, q))
        variance, signal = (GAPS_PLACE_VARIANCE, GAPS_SIGNAL) if table.gaps else (START_PLACE_VARIANCE, START_SIGNAL)
        return VariationalParams(mu, np.full((n, q), variance), Z, np.ones(q), 1.0, signal)

    def _climb(self, table: CentredTable, i: int, run: Run) -> Fit[BayesianGPLVMParams, tuple[str, ...]]:
        """Raise the bound from start i, at first with signal and noise as they are."""
        frozen = FROZEN_STEPS if self.kernel == "rbf" else 0
        with Monitor(run, type(self).__name__, -1.0, self.max_iter + frozen) as monitor:
            quiet = run._replace(checkpoint=None, callback=lambda step: monitor.interrupted, verbose=0)
            scores, passes = _principal_scores(table, int(self.n_components), quiet)
            start, tol = self._start(table, i, scores), self.tol * len(scores)
            tol *= LINEAR_TOL if self.kernel == "linear" else 1.0
            bound = EvidenceBound(self.kernel, start, table._replace(name=f"{table.name}, start {i}"), run)
            low, high = _bounds(start, self.kernel)
            x = np.clip(start.pack(), low, high)
            go: Callable[..., Peak] = partial(climb, bound, see=partial(notify_monitor, monitor), tol=tol)
            if frozen:
                fixed = low.copy(), high.copy()
                fixed[0][-2:] = fixed[1][-2:] = x[-2:]
                peak = go(x, bounds=fixed, max_iter=min(frozen, self.max_iter))
                x = peak.x
            if monitor.reason not in STOPPED:
                peak = go(x, bounds=(low, high), max_iter=self.max_iter)
        reason = monitor.reason if monitor.reason in STOPPED else peak.reason
        return Fit(
            self._params(bound, peak.x),
            _on_bound(self.kernel, peak.x, low, high, len(start.w)),
            peak.value,
            tuple(monitor.history),
            passes + 2 * bound.calls + 1,
            reason == "converged",
            reason,
            "L-BFGS",
            peak.remaining,
        )

    def _params(self, bound: EvidenceBound, x: Array) -> BayesianGPLVMParams:
        """The most relevant dimensions first, places times the roots of the relevances."""
        at, p, linear = bound.at(x, bound.best_level), bound.like.unpack(x), self.kernel == "linear"
        order = np.argsort(-p.w, kind="stable")
        w, root = p.w[order], np.sqrt(p.w)[order]
        Z = np.diag(1.0 / np.sqrt(p.w)) if linear else p.Z
        unit = root[0] if linear else 1.0
        scale = root / unit
        return BayesianGPLVMParams(
            X=p.mu[:, order] * scale,
            S=p.S[:, order] * scale**2,
            Z=Z[:, order] * scale,
            mu=np.zeros(at.C.shape[1]),
            kernel=Kernel((self.kernel,), np.log([w[0], 1.0 / p.beta] if linear else [p.v, 1.0, 1.0 / p.beta])),
            alpha=p.beta * at.C,
            inverse=at.inverse,
            w=w,
            jitter_level=at.jitter_level,
            inflation=1.0,
            centre=np.zeros(len(w)),
            spread=np.diag(np.maximum(w, LEAST_SPREAD * w[0])) / unit**2,
        )

    # rows ---------------------------------------------------------------------------------------------
    def _candidates(self, params: BayesianGPLVMParams) -> Array:
        return strided(params.X)  # a matrix of all rows by new rows would not be bounded

    # results ------------------------------------------------------------------------------------------
    def _fitted(self, fit: Fit[BayesianGPLVMParams, tuple[str, ...]], survey: TableSurvey) -> Fitted:
        """What a fit says of itself, in the table's units."""
        params, unit, linear = fit.params, float(survey.frame.report[0]), self.kernel == "linear"
        signal = float(params.w.sum()) if linear else float(np.exp(params.kernel.theta[0]))
        signal, noise = squared(np.array([signal, params.kernel.noise]), unit).tolist()
        kept = int(params.kept.sum())
        attributes = {
            "embedding_": params.X,
            "embedding_std_": np.sqrt(params.S),
            "relevance_": squared(params.w, unit) if linear else params.w,
            "kept_": params.kept,
            "n_kept_": kept,
            "signal_variance_": signal,
            "noise_variance_": noise,
            "inducing_": params.Z,
            "jitter_": JITTER_LEVELS[params.jitter_level],
            "calibration_": params.inflation,
            "n_components_": params.X.shape[1],
        }
        notes = [
            f"{kept} of {len(params.kept)} dimensions are needed",
            "new rows are placed at a peak, with Laplace's covariance; the objective is a bound",
        ]
        if fit.converged and not linear:
            notes.append("the climb ends where ten steps gain less than tol each; a smaller tol may climb much further")
        certificate = self._certificate(fit, notes, fit.stats)
        fitted = Fitted(params, survey.frame, certificate, attributes, fit.history)
        return fitted.restated(survey.columns.seen, survey.passes)

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        climbs = int(self.n_init) + (MOST_ROUNDS if gaps else 0)
        q, m = int(self.n_components), min(int(self.n_inducing), n)
        m = q if self.kernel == "linear" else m
        pairs = m * (m + 1) // 2
        # L-BFGS remembers 20 steps of 2 n q numbers, twice, and scipy copies some; a core works on four pieces
        cached = min(n * pairs, CACHED_PAIRS) + 4 * CACHED_CELLS
        peak = 8 * (cached + 2 * d * pairs + 3 * d * m * m + 8 * n * d + 200 * n * q)
        passes = 20 + climbs * (4 * (FROZEN_STEPS + int(self.max_iter)) + START_PASSES + 20)
        smaller = "fewer n_inducing, GTM, or a sample of the rows"
        return Cost(passes, 8 * n * d * passes, peak, smaller)


def _principal_scores(table: CentredTable, q: int, run: Run) -> tuple[Array, int]:
    """Principal scores, n x q (of a table with gaps probabilistic PCA's, in the same units), and the passes it took."""
    n, d = table.source.n, table.source.d
    scores = np.zeros((n, q))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowdimWarning)  # the table's own were given, and a start need not be the best
        if table.gaps:
            model: Any = ProbabilisticPCA(min(q, max(d - 1, 1)), max_iter=START_PASSES).fit(table.source, run=run)
            unit = np.sqrt((model.components_**2).sum(axis=1))
        else:
            model, unit = PCA(min(q, max(n - 1, 1))).fit(table.source, run=run), 1.0
        principal = model.transform(table.source, run=run) * unit
    scores[:, : principal.shape[1]] = principal
    return scores, model.certificate_.passes + 1


def _bounds(start: VariationalParams, kernel: str) -> tuple[Array, Array]:
    """Of every number of the packed vector."""
    n, m, q, far, wide = start.mu.size, start.Z.size, len(start.w), FURTHEST_PLACE, np.log(LARGEST_RELEVANCE)
    counts = n, n, m, q
    low = np.repeat([-far, -wide, -far, -wide], counts)
    high = np.repeat([far, 1.0, far, wide], counts)
    low = np.append(low, np.log([SIGNAL_BOUNDS[0], 1.0 / NOISE_BOUNDS[1]]))
    high = np.append(high, np.log([SIGNAL_BOUNDS[1], 1.0 / NOISE_BOUNDS[0]]))
    if kernel == "linear":
        low[-2] = high[-2] = 0.0  # the relevances are all the signal there is
    return low, high


def _on_bound(kernel: str, x: Array, low: Array, high: Array, q: int) -> tuple[str, ...]:
    """What is on a bound; a relevance at its lower one is a dimension that is not needed, and no news."""
    top = x >= high - 1e-9
    at = top | (x <= low + 1e-9)
    names = ["relevance"] if top[-2 - q : -2].any() else []
    names += [f"{kernel} variance"] if at[-2] and kernel == "rbf" else []
    return tuple(names + (["noise"] if at[-1] else []))
