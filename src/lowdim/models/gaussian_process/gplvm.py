"""The Gaussian process latent variable model: places of rows, and smooth functions from places to cells."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from lowdim.engine.fit import STOPPED, Fit, Monitor
from lowdim.engine.fold import Run, one_blas_thread
from lowdim.engine.plan import Cost, plan
from lowdim.maths.linalg import Array, Mask, sign_rule, svd
from lowdim.maths.pairs import squared_distances
from lowdim.maths.seeds import GPLVM_START
from lowdim.models.base.calibration import hold_back, inflation_from_errors
from lowdim.models.base.estimator import COUNT, POSITIVE, SEED_WORDS, TRUTH, Absent, Rule, is_seed, seed_of
from lowdim.models.base.results import Certificate, squared
from lowdim.models.gaussian_process.gp import JITTER_LEVELS, KERNEL_TERMS, columns_by_pattern
from lowdim.models.gaussian_process.gp_map import GaussianProcessMap, UnplacedRows, strided, warn_jitter
from lowdim.models.gaussian_process.gplvm_inducing import INDUCING_TERMS, induced_table
from lowdim.models.gaussian_process.gplvm_likelihood import (
    GPLVMParams,
    LikelihoodSurface,
    PlacesProblem,
    mean_variance,
)
from lowdim.models.gaussian_process.gplvm_search import (
    GPLVM_RACE_STEPS,
    INITS,
    NO_BETTER,
    StartPlaces,
    race,
    start_places,
)
from lowdim.sources.source import Block, Header, Source
from lowdim.sources.views import Frame, gather
from lowdim.text.format import duration
from lowdim.text.messages import error, warn

NOISE_START, LARGEST_FLOOR = 0.5, 0.5  # of the mean variance
START_SHAKE = 0.2  # of the places' spread, by which further starts are shaken
UNASKED_ROWS, DEFAULT_INDUCING = 2000, 100  # rows up to which each is an inducing point, and points beyond
SECONDS_OF_A_THOUSAND = 32.0  # of one core, 1,000 x 20 with the defaults (benchmarks/results.md)
PRINCIPAL_STARTS = 6  # optima from principal scores differ by 50 nats a hundred rows; GPy's mean is passed with 4 to 6
EXACT_NOISE = 1e-8  # of the mean variance, the least noise of a closed form
BACK_RIDGE = 1e-3  # of the back constraint's own kernel, for its start only
CellsHeldOut = tuple[Array, Mask] | None  # the table, and which of its cells a climb is not given


def terms_of(kernel: str) -> list[str]:
    """The terms of a sum of kernels.

    >>> terms_of("rbf + linear")
    ['rbf', 'linear']
    """
    return kernel.replace(" ", "").split("+")


def _is_kernel(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    terms = terms_of(value)
    return all(term in KERNEL_TERMS for term in terms) and set(terms) != {"bias"} and len(set(terms)) == len(terms)


class GPLVM(GaussianProcessMap):
    """The Gaussian process latent variable model: each column a smooth function of the rows' places; gaps welcome.

    y_j = mu_j + f_j(X) + e_j of each column j, f_j a Gaussian process with covariance k, e ~ N(0, s2 I). Places X and
    the kernel's numbers maximise p(Y | X) by L-BFGS. There is no prior on X (with a free length scale it would change
    nothing), and places are reported with unit mean square. With gaps 5 to 15 % of the seen cells are held out first: a
    climb ends where these are predicted no better, and intervals are scaled so that 90 % ones hold 90 % of these.

    A new row goes to the peak of p(cells | place) N(place | those of the fit); `posterior` is Laplace's Gaussian there
    and `score_samples` Laplace's estimate. Time grows as rows cubed, memory as rows squared; with inducing points both
    as the rows.

    Parameters
    ----------
    n_components : int, default 2
        Dimensions of the places.
    kernel : str, default "rbf"
        "rbf", "linear" (then it is dual PPCA), "mlp" (arcsine), or a sum such as "rbf+linear+bias".
    noise_floor : float or None, default None
        Least noise variance, as a share of the mean variance; a table without noise needs one. None is 1e-6, with a
        warning where a fit ends there.
    init : {"auto", "pca", "gtm", "isomap"} or array of shape (n, n_components), default "auto"
        First places: principal scores, posterior means of a GTM, Isomap's map, or an array. "auto" is "gtm" for a
        table with gaps and at most 3 dimensions, else "pca".
    back_constraints : bool, default False
        Make places a smooth function of rows; the table must be complete.
    tol : float, default 5e-4
        A climb ends where ten iterations gain less than this each, on average; nats a row.
    max_iter : int, default 1000
        Most iterations of a climb.
    n_init : int or None, default None
        Starts, all but the first shaken; the best after 60 iterations goes on. None is 6 from principal scores, and 1
        from any other start or through inducing points.
    n_inducing : int or None, default None
        Places through which the columns are seen, for a bound on log p(Y | X) in time that grows as the rows; not with
        back constraints or "mlp". As many as rows are none: the likelihood itself. None is that up to 2,000 rows, and
        100 beyond, with a warning.
    random_state : int, Generator, RandomState or None, default 0
        Seed of further starts and of held-out cells; None is 0.

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
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "kernel": Rule(_is_kernel, f"{', '.join(KERNEL_TERMS)}, or several joined by '+', none twice, not bias alone"),
        "noise_floor": Rule(
            lambda v: v is None or (POSITIVE.holds(v) and v <= LARGEST_FLOOR),
            f"None, or a number > 0 and at most {LARGEST_FLOOR}",
        ),
        "init": Rule(lambda v: not isinstance(v, str) or v in INITS, f"one of {', '.join(INITS)}, or n x q places"),
        "back_constraints": TRUTH,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "n_init": Rule(lambda v: v is None or COUNT.holds(v), "None, or a whole number >= 1"),
        "n_inducing": Rule(lambda v: v is None or COUNT.holds(v), "None, or a whole number >= 1"),
        "random_state": Rule(is_seed, SEED_WORDS),
    }
    _laws_broken: ClassVar[dict[str, str]] = {
        "merge_any_order": GaussianProcessMap._pairs,
        "weights_repeat_rows": GaussianProcessMap._pairs,
        "score_is_objective": "the objective is given the places, the score integrates over them",
        "sample_then_fit": "its free parameters grow with the rows",
        "row_order_does_not_matter": "the cells held back for the intervals go by row number",
    }
    partial_fit = Absent(GaussianProcessMap._pairs, "fit; GTM streams")

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str = "rbf",
        noise_floor: float | None = None,
        init: Any = "auto",
        back_constraints: bool = False,
        tol: float = 5e-4,
        max_iter: int = 1000,
        n_init: int | None = None,
        n_inducing: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.noise_floor = noise_floor
        self.init = init
        self.back_constraints = back_constraints
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.n_inducing = n_inducing
        self.random_state = random_state

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        if self.n_components > source.n:
            raise error("LD200", n_components=self.n_components, most=source.n, why=f"the table has {source.n} rows")
        if source.n > UNASKED_ROWS and not self._has_inducing and self.n_init is None:
            seconds = SECONDS_OF_A_THOUSAND * (source.n / 1000.0) ** 3
            raise error("LD478", n=source.n, need=duration(seconds), most=UNASKED_ROWS)
        survey = self._survey(source, run)
        x, mask = gather(survey.source)
        mu = x.sum(axis=0) / (len(x) if mask is None else mask.sum(axis=0))  # the same bits whatever the tiles
        Y = x - mu if mask is None else np.where(mask, x - mu, 0.0)
        with one_blas_thread():
            with Monitor(run, type(self).__name__, -1.0, 1) as watch:  # Ctrl-C ends the start, and then the climb
                halt = Run(run.engine, run.memory, callback=lambda step: watch.interrupted)
                start = start_places(self.init, *self._less(Y, mask)[:2], int(self.n_components), halt)
            run = run._replace(callback=lambda step: True) if watch.interrupted else run
            fit = self._search(Y, mask, mu, start, run)
            fit = fit._replace(reason="interrupted", converged=False) if watch.interrupted else fit
        warn_jitter(fit.params)
        for name in self._on_bound(fit):
            if name != "noise" or self.noise_floor is None:  # a stated floor is no surprise
                warn("LD471", name=name)
        return fit.restated(survey.log_stretch, survey.passes + 1), survey.frame

    def _search(self, Y: Array, mask: Mask | None, mu: Array, start: StartPlaces, run: Run) -> Fit:
        """The best of several climbs, or a closed form."""
        first = self._first_vector(start.X, Y, mask)
        if self.back_constraints and mask is not None:
            raise error("LD475", count=int((~mask).sum()))
        if terms_of(self.kernel) == ["linear"] and mask is None and not self.back_constraints:
            return self._closed(Y, mu)
        starts = [self._with_inducing(x, start.X.shape) for x in self._shaken(first, start)]
        if self.n_inducing is None and len(starts[0]) > len(first):
            warn("LD479", n=len(Y), m=DEFAULT_INDUCING, most=UNASKED_ROWS)
        return self._climb(Y, mask, mu, starts, run) if mask is None else self._calibrated(Y, mask, mu, starts, run)

    def _calibrated(self, Y: Array, mask: Mask, mu: Array, starts: list[Array], run: Run) -> Fit:
        """With gaps: held-out cells tell when places begin to follow the noise, and how wide intervals must be."""
        need, rows = self._cost(*Y.shape), [len(g.rows) for g in columns_by_pattern(Y, mask) if g.rows is not None]
        rows = [] if self._inducing_count(len(Y)) else rows
        plan(type(self).__name__, need._replace(peak=need.peak + 8 * sum(m * (m + len(Y)) for m in rows)), run)
        less, remaining, held = self._less(Y, mask)
        if remaining is None or held is None or not held.any():
            return self._climb(Y, mask, mu, starts, run)
        fit = self._climb(less, remaining, mu, starts, run, held=(Y, held))
        inflation = self._inflation(fit.params, Y, remaining, held)
        if fit.reason not in STOPPED:  # the held-out cells come in; where they ended the climb no place moves for them
            early, before = fit.reason == NO_BETTER, fit
            fit = self._climb(Y, mask, mu, [fit.stats[0]], run, max_iter=1 if early else int(self.max_iter))
            level = fit.history[0] - before.history[-1]  # what the cells that come in add; the climb to there is kept
            history = (*(value + level for value in before.history[:-1]), *fit.history)
            fit = fit._replace(passes=before.passes + fit.passes, history=history)
            fit = fit._replace(reason=NO_BETTER, converged=True) if early else fit
        return fit._replace(params=fit.params._replace(inflation=inflation))

    def _less(self, Y: Array, mask: Mask | None) -> tuple[Array, Mask | None, Mask | None]:
        """The table without the cells by which intervals are calibrated, which no start may see; and these."""
        if mask is None:
            return Y, None, None
        remaining, held = hold_back(mask, seed_of(self.random_state))
        return np.where(remaining, Y, 0.0), remaining, held

    def _first_vector(self, X: Array, Y: Array, mask: Mask | None) -> Array:
        """Where a climb starts: places, and the logarithms of the kernel's numbers."""
        size = np.log(mean_variance(Y, mask))
        numbers = {"rbf": (size, 0.0), "linear": (size - 1.0,), "mlp": (size, 0.0, 0.0), "bias": (size - 4.0,)}
        theta = [v for term in terms_of(self.kernel) for v in numbers[term]]
        return np.concatenate([X.ravel(), theta, [size + np.log(NOISE_START)]])

    def _shaken(self, first: Array, start: StartPlaces) -> list[Array]:
        """The first start, and others near it: from principal scores several are worth trying."""
        cells, starts = start.X.size, [first]
        several = start.init == "pca" and not self._inducing_count(len(start.X))
        count = (PRINCIPAL_STARTS if several else 1) if self.n_init is None else int(self.n_init)
        for i in range(1, count):
            rng = np.random.default_rng([seed_of(self.random_state), GPLVM_START, i])
            starts.append(first.copy())
            starts[-1][:cells] += START_SHAKE * max(float(first[:cells].std()), 1e-3) * rng.standard_normal(cells)
        return starts

    @property
    def _has_inducing(self) -> bool:
        """Whether the kernel and the places can be seen through inducing points."""
        return not self.back_constraints and set(terms_of(self.kernel)) <= set(INDUCING_TERMS)

    def _inducing_count(self, n: int) -> int:
        """Inducing points; 0 where every row is one."""
        if not self._has_inducing:
            if self.n_inducing is not None and int(self.n_inducing) < n:
                allowed = f"None with back constraints and with a kernel other than {', '.join(INDUCING_TERMS)}"
                raise error("LD210", option="n_inducing", value=self.n_inducing, allowed=allowed)
            return 0
        count = int(self.n_inducing or (DEFAULT_INDUCING if n > UNASKED_ROWS else n))
        return 0 if count >= n else count

    def _with_inducing(self, x: Array, shape: tuple[int, int]) -> Array:
        """A start with inducing points, where there are any: at some of its rows."""
        (n, q), m = shape, self._inducing_count(shape[0])
        at = np.random.default_rng([seed_of(self.random_state), GPLVM_START, 0]).choice(n, m, replace=False)
        return np.concatenate([x[: n * q], x[: n * q].reshape(shape)[at].ravel(), x[n * q :]])

    def _climb(
        self,
        Y: Array,
        mask: Mask | None,
        mu: Array,
        starts: list[Array],
        run: Run,
        *,
        max_iter: int = 0,
        held: CellsHeldOut = None,
    ) -> Fit:
        """The best of several climbs; the statistics are its vector, with places and not their weights, and problem."""
        n, q = len(Y), int(self.n_components)
        back, gamma = self._back_kernel(Y)
        names = "+".join(terms_of(self.kernel))
        size, m = mean_variance(Y, mask), self._inducing_count(n)
        groups, induced = ([], induced_table(Y, mask, size, m)) if m else (columns_by_pattern(Y, mask), None)
        problem = PlacesProblem(groups, names, (n, q), back, size, self.noise_floor, induced)
        if back is not None:
            ridged = back + BACK_RIDGE * np.eye(n)
            starts = [np.append(np.linalg.solve(ridged, problem.split(x)[0]), problem.split(x)[1]) for x in starts]
        name = type(self).__name__, f"{len(starts)} starts, {0 if mask is None else int(mask.sum())} cells"
        top = race(problem, starts, run, name, max_iter or int(self.max_iter), self.tol * n, held)
        params = _canonical(problem, top.x, Y, mask, mu, top.jitter_level, gamma)
        vector = np.append(problem.places(top.x).ravel(), top.x[n * q :])
        converged = top.reason == "converged"
        ended = top.n_iter, converged, top.reason, "L-BFGS", top.remaining
        return Fit(params, (vector, problem), top.value, top.history, *ended)

    def _back_kernel(self, Y: Array) -> tuple[Array | None, float]:
        """The kernel of the back constraints between rows, and its inverse squared width."""
        if not self.back_constraints:
            return None, 0.0
        from lowdim.maths.pairs import median_width

        gamma = median_width(Y)
        return np.exp(-gamma * squared_distances(Y, Y)), gamma

    def _closed(self, Y: Array, mu: Array) -> Fit:
        """The linear kernel of a complete table: eigenvectors of Y Y'/d, noise the discarded values over n - q."""
        n, d, q = *Y.shape, int(self.n_components)
        U, s, _ = svd(Y)
        values, size, floor = s**2 / d, mean_variance(Y, None), self.noise_floor or EXACT_NOISE
        noise = max(float(values[q:].sum()) / max(n - q, 1), floor * size)
        X = np.zeros((n, q))
        X[:, : len(values)] = U[:, :q] * np.sqrt(np.maximum(values[:q] - noise, 0.0))
        problem = PlacesProblem(columns_by_pattern(Y, None), "linear", (n, q), None, size, floor)
        vector = np.append(X.ravel() / np.sqrt(size), [np.log(size), np.log(noise)])
        surface = LikelihoodSurface(problem)
        value = surface(vector)[0]
        params = _canonical(problem, vector, Y, None, mu, surface.jitter_level, 0.0)
        return Fit(params, (vector, problem), value, (value,), 1, True, "closed form", "SVD")

    def _inflation(self, params: GPLVMParams, Y: Array, remaining: Mask, held: Mask) -> float:
        """What standard deviations must be multiplied by so that 90 % intervals hold 90 % of the held-out cells."""
        rows = np.flatnonzero(held.any(axis=1))
        block = Block(np.where(remaining[rows], Y[rows] + params.mu, 0.0), remaining[rows])
        cells = self._cells_given(params, block)
        off = np.abs(Y[rows] + params.mu - cells.mean) / np.sqrt(cells.var + cells.noise)
        return inflation_from_errors(off[held[rows]])

    def _on_bound(self, fit: Fit) -> list[str]:
        vector, problem = fit.stats
        return list(problem.on_bound(vector))

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
    def _attributes(self, params: GPLVMParams, frame: Frame, fit: Fit) -> dict[str, Any]:
        numbers = dict(zip(params.kernel.labels, np.exp(params.theta).tolist(), strict=True))
        unit = float(frame.report[0])
        for name in numbers:
            if name.split()[-1] in ("variance", "noise"):
                numbers[name] = float(squared(np.array([numbers[name]]), unit)[0])
        return {
            "embedding_": params.X,
            "kernel_": numbers,
            "noise_variance_": numbers["noise"],
            "jitter_": JITTER_LEVELS[params.jitter_level],
            "calibration_": params.inflation,
            "n_components_": params.X.shape[1],
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        notes = ["places are points without a prior; the posterior of a row is Laplace's"]
        if len(fit.params.Z):
            notes.append(f"the objective is a bound through {len(fit.params.Z)} inducing points")
        return self._certificate(fit, notes, tuple(self._on_bound(fit)))

    def _cost(self, n: int, d: int) -> Cost:
        """Of a complete table; what gaps add is known when they are."""
        m = self._inducing_count(n)
        starts = (1 if m else PRINCIPAL_STARTS) if self.n_init is None else int(self.n_init)
        passes, terms = 6 + int(self.max_iter) + GPLVM_RACE_STEPS * (starts - 1), len(terms_of(self.kernel))
        squares = 6.0 + 1.5 * terms + (2.5 if self.back_constraints else 0.0)  # measured: 5.2 to 10.6, by kernel
        peak = int(8 * (squares * n * (m or n) + 6 * n * d + (40 * n * int(self.n_components) if m else 0)))
        usual = min(150 + GPLVM_RACE_STEPS * (starts - 1), passes)
        return Cost(passes, 8 * n * d * 3, peak, "GTM, which streams, or a sample of the rows", usual)


def _canonical(
    problem: PlacesProblem, vector: Array, Y: Array, mask: Mask | None, mu: Array, jitter_level: int, gamma: float
) -> GPLVMParams:
    """Places on their principal axes, with unit mean square; the likelihood is the same."""
    X, W, Z = problem.places(vector), problem.split(vector)[0], problem.inducing(vector)
    if problem.back is None and not set(problem.names.split("+")) & {"linear", "mlp"}:
        X, Z = X - X.mean(axis=0), Z - X.mean(axis=0)  # these kernels depend on differences only
    _, _, Vt = svd(X - X.mean(axis=0))
    turn = Vt.T * sign_rule(X @ Vt.T)
    size = float(np.sqrt(np.maximum((X - X.mean(axis=0)) ** 2, 0.0).mean()))
    size = size if size > 0 else 1.0
    X, back = X @ turn / size, np.zeros((0, X.shape[1])) if problem.back is None else W @ turn / size
    kernel = problem.kernel(vector).scaled(size)
    spread = np.atleast_2d(np.cov(X.T, bias=True)) + 1e-12 * np.eye(X.shape[1])
    seen = np.zeros((0, Y.shape[1]), dtype=bool) if mask is None else mask
    centre = X.mean(axis=0)
    numbers = problem.names, kernel.theta, jitter_level, 1.0
    return GPLVMParams(X, Y, seen, mu, *numbers, centre, spread, back, gamma, Z @ turn / size)
