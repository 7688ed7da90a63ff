"""The Gaussian process latent variable model: places of rows, and smooth functions from places to cells."""

from __future__ import annotations

from itertools import count
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.engine.fit import INTERRUPTED, Cost, Fit, Monitor, plan
from lowdim.engine.fold import Run, one_blas_thread
from lowdim.maths.linalg import Array, Mask, sign_rule, svd
from lowdim.maths.pairs import median_width, squared_distances
from lowdim.maths.seeds import GPLVM_START
from lowdim.models.base.calibration import MOST_ROUNDS, held_out_fits
from lowdim.models.base.estimator import Absent
from lowdim.models.base.options import COUNT, POSITIVE, SEED, TRUTH, Rule, check_components, none_or, option, seed_of
from lowdim.models.base.results import Fitted, squared
from lowdim.models.base.survey import TableSurvey, survey_table
from lowdim.models.gaussian_process.gp import (
    JITTER_LEVELS,
    KERNEL_TERMS,
    Decoder,
    Kernel,
    columns_by_pattern,
    decoder,
    terms_of,
)
from lowdim.models.gaussian_process.gp_map import GaussianProcessMap, UnplacedRows, strided, warn_jitter
from lowdim.models.gaussian_process.gplvm_climb import (
    GPLVM_RACE_STEPS,
    INITS,
    NO_BETTER,
    LikelihoodSurface,
    PlacesProblem,
    StartPlaces,
    decoder_at,
    induced_table,
    mean_variance,
    race,
    start_places,
)
from lowdim.sources.source import Source
from lowdim.sources.views import gather
from lowdim.text.format import duration
from lowdim.text.messages import error, warn

NOISE_START, LARGEST_FLOOR = 0.5, 0.5  # of the mean variance
START_SHAKE = 0.2  # of the places' spread, by which further starts are shaken
UNASKED_ROWS, DEFAULT_INDUCING = 2000, 100  # rows up to which each is an inducing point, and points beyond
SECONDS_OF_A_THOUSAND = 32.0  # of one core, 1,000 x 20 with the defaults (benchmarks/results.md)
PRINCIPAL_STARTS = 6  # optima from principal scores differ by 50 nats a hundred rows; GPy's mean is passed with 4 to 6
EXACT_NOISE = 1e-8  # of the mean variance, the least noise of a closed form
BACK_RIDGE = 1e-3  # of the back constraint's own kernel, for its start only


def _is_kernel(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    terms = terms_of(value)
    return all(term in KERNEL_TERMS for term in terms) and set(terms) != {"bias"} and len(set(terms)) == len(terms)


class GPLVMParams(NamedTuple):
    """Parameters, in the frame's units."""

    X: Array  # n x q, where the rows lie
    Y: Array  # n x d, cells less their columns' means; zero at gaps
    seen: Mask  # n x d; 0 x d where no cell is missing
    mu: Array  # d
    kernel: Kernel
    jitter_level: int
    inflation: float  # what standard deviations are multiplied by
    centre: Array  # q, of the places: the prior of a new row is N(centre, spread)
    spread: Array  # q x q
    back: Array  # n x q weights of the back constraints, or 0 x q
    gamma: float  # their kernel's
    Z: Array  # m x q, inducing points; none where every row is one

    def decoder(self) -> Decoder:
        seen = self.seen if len(self.seen) else None
        if len(self.Z):
            return decoder_at(induced_table(self.Y, seen), self.kernel, self.X, self.Z, self.jitter_level)
        return decoder(self.kernel, self.X, self.Y, seen, self.jitter_level)


class CentredCells(NamedTuple):
    """A table in memory, in the frame's units."""

    Y: Array  # n x d, cells less their columns' means; zero at gaps
    mask: Mask | None
    mu: Array  # d

    def without(self, held: Mask) -> CentredCells:
        """The same without some of its cells."""
        remaining = ~held if self.mask is None else self.mask & ~held
        return CentredCells(np.where(held, 0.0, self.Y), remaining, self.mu)


class ClimbEnd(NamedTuple):
    """Where a climb ended: its vector, and which of the kernel's numbers are on a bound."""

    x: Array
    boundary: tuple[str, ...]


class GPLVM(GaussianProcessMap[GPLVMParams]):
    """The Gaussian process latent variable model: each column a smooth function of the rows' places; gaps welcome.

    y_j = mu_j + f_j(X) + e_j of each column j, f_j a Gaussian process with covariance k, e ~ N(0, s2 I). Places X and
    the kernel's numbers maximise p(Y | X) by L-BFGS. There is no prior on X (with a free length scale it would change
    nothing), and places are reported with unit mean square. With gaps 5 to 10 % of the seen cells are held out first
    (thrice in a small table): a climb ends where these are predicted no better, and intervals are scaled so that 90 %
    ones hold 90 % of these.

    A new row goes to the peak of p(cells | place) N(place | those of the fit); `posterior` is Laplace's Gaussian there
    and `score_samples` Laplace's estimate. Time grows as rows cubed, memory as rows squared; with inducing points both
    as the rows.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
        Places of the rows of the fit, on their principal axes.
    kernel_ : dict
        The kernel's numbers by name; variances in the table's units.
    noise_variance_ : float
        s2, in the table's units.
    jitter_ : float
        Share of the mean variance that had to be added to the kernel's diagonal.
    calibration_ : float
        Factor of standard deviations, from held-out cells; 1 without gaps.
    n_components_, objective_, history_, n_iter_, converged_, certificate_, params_, frame_
        As every model has them; the objective is log p(Y | X); the parameters and their units.

    References
    ----------
    Lawrence, N. D. (2005). Probabilistic non-linear principal component analysis with Gaussian process latent variable
    models. Journal of Machine Learning Research 6, 1783-1816.

    Lawrence, N. D. and Quiñonero-Candela, J. (2006). Local distance preservation in the GP-LVM through back
    constraints. Proceedings of the 23rd International Conference on Machine Learning, 513-520.

    Examples
    --------
    >>> t = np.linspace(0, 3, 30)
    >>> noise = 0.01 * np.sin(99 * np.arange(90)).reshape(30, 3)
    >>> model = GPLVM(1).fit(np.column_stack([np.cos(t), np.sin(t), t]) + noise)
    >>> bool(abs(np.corrcoef(model.embedding_[:, 0], t)[0, 1]) > 0.99)
    True
    """

    n_parameters_ = bic = aic = Absent(
        "it fits a place for every row", "objective_, or BayesianGPLVM, whose bound pays for them"
    )
    _objective_name: ClassVar[str] = "log-likelihood given the places"
    _laws_broken: ClassVar[dict[str, str]] = {
        "merge_any_order": GaussianProcessMap._pairs,
        "weights_repeat_rows": GaussianProcessMap._pairs,
        "score_is_objective": "the objective is given the places, the score integrates over them",
        "sample_then_fit": "its free parameters grow with the rows",
        "row_order_does_not_matter": "the cells held back for the intervals go by row number",
    }
    partial_fit = Absent(GaussianProcessMap._pairs, "fit; GTM streams")

    kernel: str = option(
        default="rbf",
        rule=Rule(_is_kernel, f"{', '.join(KERNEL_TERMS)}, or several joined by '+', none twice, not bias alone"),
        words='"rbf", "linear" (then it is dual PPCA), "mlp" (arcsine), or a sum such as "rbf+linear+bias".',
    )
    noise_floor: float | None = option(
        default=None,
        rule=none_or(
            Rule(lambda v: POSITIVE.holds(v) and v <= LARGEST_FLOOR, f"a number > 0 and at most {LARGEST_FLOOR}")
        ),
        words="Least noise variance, as a share of the mean variance; a table without noise needs one. None is 1e-6, "
        "with a warning where a fit ends there.",
    )
    init: Any = option(
        default="auto",
        rule=Rule(lambda v: not isinstance(v, str) or v in INITS, f"one of {', '.join(INITS)}, or n x q places"),
        kind='{"auto", "pca", "gtm", "isomap"} or array of shape (n, n_components)',
        words='First places: principal scores, posterior means of a GTM, Isomap\'s map, or an array. "auto" is '
        '"gtm" for a table with gaps and at most 3 dimensions, else "pca".',
    )
    back_constraints: bool = option(
        default=False, rule=TRUTH, words="Make places a smooth function of rows; the table must be complete."
    )
    tol: float = option(
        default=5e-4,
        rule=POSITIVE,
        words="A climb ends where ten iterations gain less than this each, on average; nats a row.",
    )
    max_iter: int = option(default=1000, rule=COUNT, words="Most iterations of a climb.")
    n_init: int | None = option(
        default=None,
        rule=none_or(COUNT),
        words="Starts, all but the first shaken; the best after 60 iterations goes on. None is 6 from principal "
        "scores, and 1 from any other start or through inducing points.",
    )
    n_inducing: int | None = option(
        default=None,
        rule=none_or(COUNT),
        words="Places through which the columns are seen, for a bound on log p(Y | X) in time that grows as the rows; "
        'not with back constraints or "mlp". As many as rows are none: the likelihood itself. None is that up to '
        "2,000 rows, and 100 beyond, with a warning.",
    )
    random_state: Any = option(default=0, rule=SEED, words="Seed of further starts and of held-out cells; None is 0.")

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> Fitted:
        check_components(self.n_components, source.d)
        check_components(self.n_components, source.n, f"the table has {source.n} rows")
        if source.n > UNASKED_ROWS and not self._has_inducing and self.n_init is None:
            seconds = SECONDS_OF_A_THOUSAND * (source.n / 1000.0) ** 3
            raise error("LD478", n=source.n, need=duration(seconds), most=UNASKED_ROWS)
        survey = survey_table(source, run)
        x, mask = gather(survey.source)
        if self.back_constraints and mask is not None:
            raise error("LD475", count=int((~mask).sum()))
        mu = x.sum(axis=0) / (len(x) if mask is None else mask.sum(axis=0))  # the same bits whatever the tiles
        table = CentredCells(x - mu if mask is None else np.where(mask, x - mu, 0.0), mask, mu)
        with one_blas_thread():
            closed = terms_of(self.kernel) == ("linear",) and mask is None and not self.back_constraints
            fit = self._closed(table) if closed else self._climbed(table, survey, run)
        warn_jitter(fit.params)
        for name in fit.stats.boundary:
            if name != "noise" or self.noise_floor is None:  # a stated floor is no surprise
                warn("LD471", name=name)
        return self._fitted(fit, survey)

    def _closed(self, table: CentredCells) -> Fit[GPLVMParams, ClimbEnd]:
        """The linear kernel of a complete table: eigenvectors of Y Y'/d, noise the discarded values over n - q."""
        Y, (n, d), q = table.Y, table.Y.shape, int(self.n_components)
        U, s, _ = svd(Y)
        values, size, floor = s**2 / d, mean_variance(Y, None), self.noise_floor or EXACT_NOISE
        noise = max(float(values[q:].sum()) / max(n - q, 1), floor * size)
        X = np.zeros((n, q))
        X[:, : len(values)] = U[:, :q] * np.sqrt(np.maximum(values[:q] - noise, 0.0))
        problem = PlacesProblem(columns_by_pattern(Y, None), ("linear",), (n, q), None, 0.0, size, floor)
        vector = np.append(X.ravel() / np.sqrt(size), [np.log(size), np.log(noise)])
        surface = LikelihoodSurface(problem)
        value = surface(vector)[0]
        params = _canonical(problem, vector, table, surface.jitter_level)
        end = ClimbEnd(vector, problem.on_bound(vector))
        return Fit(params, end, value, (value,), 1, True, "closed form", "SVD")

    def _climbed(self, table: CentredCells, survey: TableSurvey, run: Run) -> Fit[GPLVMParams, ClimbEnd]:
        """The best of several climbs.

        With gaps some cells are held out, which no start may see: they tell when places begin to follow the noise, and
        how wide intervals must be.
        """
        seed, rounds = seed_of(self.random_state), count()
        if table.mask is None:
            return self._from_starts(table, None, run, seed)
        # Refuse a table whose columns, each seen in other rows, have more matrices than memory.
        n, d = table.Y.shape
        if not self._inducing_count(n):
            need, rows = self._cost(n, d, gaps=True), [len(g.Y) for g in columns_by_pattern(table.Y, table.mask)]
            plan(type(self).__name__, need._replace(peak=need.peak + 8 * sum(m * (m + n) for m in rows)), run)

        def refit(less: Source) -> Fit[GPLVMParams, ClimbEnd]:
            held = np.asarray(table.mask) & ~np.asarray(gather(less)[1])
            return self._from_starts(table, held, run, seed, f", round {next(rounds)}")

        held_out = held_out_fits(self, refit, survey, seed, run)
        if not held_out.fits:
            return self._from_starts(table, None, run, seed)
        before = held_out.fits[-1]
        if held_out.stopped:
            return before._replace(passes=held_out.passes)
        # the held-out cells come in; where they ended the climb no place moves for them
        early = before.reason == NO_BETTER
        fit = self._race(table, None, [before.stats.x], run, max_iter=1 if early else int(self.max_iter))
        level = fit.history[0] - before.history[-1]  # what the cells that come in add; the climb to there is kept
        fit = fit._replace(history=(*(value + level for value in before.history[:-1]), *fit.history))
        fit = fit._replace(reason=NO_BETTER, converged=True) if early else fit
        return held_out.calibrate(fit)

    def _from_starts(
        self, table: CentredCells, held: Mask | None, run: Run, seed: int, label: str = ""
    ) -> Fit[GPLVMParams, ClimbEnd]:
        """The best of several climbs; with cells held out, which neither starts nor climbs are given."""
        less = table if held is None else table.without(held)
        with Monitor(run, type(self).__name__, -1.0, 1) as watch:  # Ctrl-C ends the start, and then the climb
            halt = Run(run.engine, run.memory, callback=lambda step: watch.interrupted)
            start = start_places(self.init, less.Y, less.mask, int(self.n_components), halt)
        run = run._replace(callback=lambda step: True) if watch.interrupted else run
        starts = self._starts(start, mean_variance(table.Y, table.mask), seed)
        fit = self._race(less, None if held is None else (table.Y, held), starts, run, label)
        return fit._replace(reason=INTERRUPTED, converged=False) if watch.interrupted else fit

    def _race(
        self,
        table: CentredCells,
        held: tuple[Array, Mask] | None,
        starts: list[Array],
        run: Run,
        label: str = "",
        max_iter: int = 0,
    ) -> Fit[GPLVMParams, ClimbEnd]:
        """The best of several climbs; with cells held out, these are given with the whole table's."""
        n, problem = len(table.Y), self._problem(table)
        if problem.back is not None:  # weights that make places like these
            ridged = problem.back + BACK_RIDGE * np.eye(n)
            parts = [problem.split(x) for x in starts]
            starts = [np.append(np.linalg.solve(ridged, X), kernel.theta) for X, _, kernel in parts]
        name = type(self).__name__, f"{len(starts)} starts{label}"
        top, n_iter = race(problem, starts, run, name, max_iter or int(self.max_iter), self.tol * n, held)
        params = _canonical(problem, top.x, table, top.surface.best_level)
        end = ClimbEnd(top.x, problem.on_bound(top.x))
        converged = top.reason == "converged"
        return Fit(params, end, top.value, top.history, n_iter, converged, top.reason, "L-BFGS", top.remaining)

    @property
    def _has_inducing(self) -> bool:
        """Whether the kernel and the places can be seen through inducing points."""
        return not self.back_constraints and all(KERNEL_TERMS[name].inducing for name in terms_of(self.kernel))

    def _inducing_count(self, n: int) -> int:
        """Inducing points; 0 where every row is one."""
        if not self._has_inducing:
            if self.n_inducing is not None and int(self.n_inducing) < n:
                few = ", ".join(name for name, kind in KERNEL_TERMS.items() if kind.inducing)
                allowed = f"None with back constraints and with a kernel other than {few}"
                raise error("LD210", option="n_inducing", value=self.n_inducing, allowed=allowed)
            return 0
        count = int(self.n_inducing or (DEFAULT_INDUCING if n > UNASKED_ROWS else n))
        return 0 if count >= n else count

    def _first_numbers(self, size: float) -> Array:
        """Logarithms of the kernel's numbers to start from, in a table of this mean variance."""
        terms = [np.array(KERNEL_TERMS[name].start) for name in terms_of(self.kernel)]
        for numbers in terms:
            numbers[0] += np.log(size)
        return np.concatenate([*terms, [np.log(size) + np.log(NOISE_START)]])

    def _starts(self, start: StartPlaces, size: float, seed: int) -> list[Array]:
        """Vectors to climb from: places, inducing points at some of them, the kernel's numbers; all but one shaken."""
        n, m = len(start.X), self._inducing_count(len(start.X))
        if self.n_inducing is None and m:
            warn("LD479", n=n, m=DEFAULT_INDUCING, most=UNASKED_ROWS)
        several = start.init == "pca" and not m  # from principal scores several are worth trying
        inducing = np.random.default_rng([seed, GPLVM_START, 0]).choice(n, m, replace=False)
        starts = []
        for i in range((PRINCIPAL_STARTS if several else 1) if self.n_init is None else int(self.n_init)):
            X = start.X
            if i:
                shake = np.random.default_rng([seed, GPLVM_START, i]).standard_normal(X.shape)
                X = X + START_SHAKE * max(float(X.std()), 1e-3) * shake
            starts.append(np.concatenate([X.ravel(), X[inducing].ravel(), self._first_numbers(size)]))
        return starts

    def _problem(self, table: CentredCells) -> PlacesProblem:
        """What is climbed, of a table or of one without its held-out cells."""
        Y, mask, _ = table
        names, shape, m = terms_of(self.kernel), (len(Y), int(self.n_components)), self._inducing_count(len(Y))
        back, gamma = None, 0.0
        if self.back_constraints:
            gamma = median_width(Y)
            back = np.exp(-gamma * squared_distances(Y, Y))
        groups, induced = ([], induced_table(Y, mask)) if m else (columns_by_pattern(Y, mask), None)
        return PlacesProblem(groups, names, shape, back, gamma, mean_variance(Y, mask), self.noise_floor, induced, m)

    # rows ---------------------------------------------------------------------------------------------
    def _candidates(self, params: GPLVMParams) -> Array:
        return strided(params.X) if len(params.Z) else params.X

    def _place(self, params: GPLVMParams, rows: UnplacedRows) -> Array:
        """With back constraints a complete row's place is a function of it; any other row climbs."""
        if not len(params.back):
            return super()._place(params, rows)
        mapped = np.asarray(rows.seen.all(axis=1))
        Z = np.empty((len(mapped), params.X.shape[1]))
        Z[~mapped] = super()._place(params, rows.rows(~mapped))
        Z[mapped] = np.exp(-params.gamma * squared_distances(rows.y[mapped], params.Y)) @ params.back
        return Z

    # results ------------------------------------------------------------------------------------------
    def _fitted(self, fit: Fit[GPLVMParams, ClimbEnd], survey: TableSurvey) -> Fitted:
        """What a fit says of itself, in the table's units."""
        params, unit = fit.params, float(survey.frame.report[0])
        numbers = dict(zip(params.kernel.labels, np.exp(params.kernel.theta).tolist(), strict=True))
        for name in numbers:
            if name.split()[-1] in ("variance", "noise"):
                numbers[name] = float(squared(np.array([numbers[name]]), unit)[0])
        attributes = {
            "embedding_": params.X,
            "kernel_": numbers,
            "noise_variance_": numbers["noise"],
            "jitter_": JITTER_LEVELS[params.jitter_level],
            "calibration_": params.inflation,
            "n_components_": params.X.shape[1],
        }
        notes = ["places are points without a prior; the posterior of a row is Laplace's"]
        if len(params.Z):
            notes.append(f"the objective is a bound through {len(params.Z)} inducing points")
        certificate = self._certificate(fit, notes, fit.stats.boundary)
        fitted = Fitted(params, survey.frame, certificate, attributes, fit.history)
        return fitted.restated(survey.columns.seen, survey.passes + 1)

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        """What gaps add to the matrices is known when they are."""
        m = self._inducing_count(n)
        starts = (1 if m else PRINCIPAL_STARTS) if self.n_init is None else int(self.n_init)
        passes, terms = 6 + int(self.max_iter) + GPLVM_RACE_STEPS * (starts - 1), len(terms_of(self.kernel))
        squares = 6.0 + 1.5 * terms + (2.5 if self.back_constraints else 0.0)  # measured: 5.2 to 10.6, by kernel
        peak = int(8 * (squares * n * (m or n) + 6 * n * d + (40 * n * int(self.n_components) if m else 0)))
        cost = Cost(passes, 8 * n * d * 3, peak, "GTM, which streams, or a sample of the rows")
        return cost._replace(passes=(1 + MOST_ROUNDS) * passes) if gaps else cost


def _canonical(problem: PlacesProblem, vector: Array, table: CentredCells, jitter_level: int) -> GPLVMParams:
    """Places on their principal axes, with unit mean square; the likelihood is the same."""
    X, (W, Z, kernel) = problem.places(vector), problem.split(vector)
    if problem.back is None and all(KERNEL_TERMS[name].of_differences for name in problem.names):
        X, Z = X - X.mean(axis=0), Z - X.mean(axis=0)
    _, _, Vt = svd(X - X.mean(axis=0))
    turn = Vt.T * sign_rule(X @ Vt.T)
    size = float(np.sqrt(((X - X.mean(axis=0)) ** 2).mean())) or 1.0
    X = X @ turn / size
    return GPLVMParams(
        X=X,
        Y=table.Y,
        seen=np.zeros((0, table.Y.shape[1]), dtype=bool) if table.mask is None else table.mask,
        mu=table.mu,
        kernel=kernel.scaled(size),
        jitter_level=jitter_level,
        inflation=1.0,
        centre=X.mean(axis=0),
        spread=np.atleast_2d(np.cov(X.T, bias=True)) + 1e-12 * np.eye(X.shape[1]),
        back=np.zeros((0, X.shape[1])) if problem.back is None else W @ turn / size,
        gamma=problem.gamma,
        Z=Z @ turn / size,
    )
