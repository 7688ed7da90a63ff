"""The Gaussian process latent variable model: places of rows, and smooth functions from places to cells."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fold import Run, one_blas_thread
from lowdim.engine.monitor import STOPPED, Fit, Monitor
from lowdim.engine.plan import Cost, plan
from lowdim.math.kernels import median_width
from lowdim.math.linalg import Array, Mask, lower, sign_rule, svd
from lowdim.math.neighbors import squared_distances
from lowdim.math.optimise import climb_rows
from lowdim.models.base.calibration import hold_back, inflation_from_errors, inflation_note
from lowdim.models.base.estimator import COUNT, POSITIVE, SEED_WORDS, TRUTH, Absent, Rule, is_seed, seed_of
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, em_digits, squared
from lowdim.models.base.survey import survey_for_fit
from lowdim.models.gaussian_process.gp import KINDS, LADDER, Decoder, Kernel, column_groups
from lowdim.models.gaussian_process.gplvm_likelihood import (
    STARTS,
    Places,
    Problem,
    Start,
    Surface,
    kernel_names,
    mean_variance,
    noise_floor,
    places,
)
from lowdim.models.gaussian_process.gplvm_search import ENOUGH, RACE, race
from lowdim.models.linear.parameters import check_q
from lowdim.sources.source import Block, Header, Source
from lowdim.sources.views import Frame, gather
from lowdim.text.messages import error, warn

NOISE_START, LARGEST_FLOOR = 0.5, 0.5  # of the mean variance
TRIED = 1000  # rows of the fit, where what they say is asked all at once
JITTER = 0.2  # of the places' spread, by which further starts are shaken
PRINCIPAL = 6  # starts near principal scores: optima differ by 50 nats a hundred rows; GPy's mean is passed with 4 to 6
EXACT = 1e-8  # of the mean variance, the noise of a closed form
BACK_RIDGE = 1e-3  # of the back constraint's own kernel, for its start only


def _is_kernel(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    names, floor = kernel_names(value).split("+"), noise_floor(value)
    known = all(name in KINDS for name in names) and set(names) != {"bias"} and len(set(names)) == len(names)
    return known and value.count("white") <= 1 and (floor is None or 0.0 < floor <= LARGEST_FLOOR)


class GPLVM(LatentModel):
    """The Gaussian process latent variable model: smooth functions of the rows' places; gaps welcome.

    y_j = mu_j + f_j(X) + e_j of each column j, f_j a Gaussian process with covariance k, e ~ N(0, s2 I). Places X and
    the kernel's numbers maximise p(Y | X) by L-BFGS; there is no prior on X (with a free length scale it would say
    nothing), and places are reported with unit mean square. `kernel` is "rbf", "linear" (then it is dual PPCA), "mlp"
    (arcsine) or a sum, e.g. "rbf+linear+bias"; white noise is always in it, at least 1e-6 of the mean variance, or
    what "rbf+white(1e-3)" states: a table without noise needs it. `init`: "auto" (principal axes, or with
    gaps the posterior mean of a GTM), "pca", "gtm", "isomap", or places. `back_constraints=True` makes places a smooth
    function of rows. A climb ends where ten iterations gain less than `tol` nats a hundred rows each, on average. Of
    `n_init` starts, shaken ones of the first, the one that is best after 60 iterations goes on; None is 6 from
    principal axes, and 1 from any other start.

    A new row goes to the peak of p(cells | place) N(place | those of the fit), `posterior` is Laplace's Gaussian there
    and `score_samples` Laplace's estimate. With gaps 5 to 15 % of the seen cells are held back first: a climb ends
    where these are told no better, and the intervals are widened until they hold (`calibration_`).

    Reference: Lawrence, JMLR 6 (2005); Lawrence and Quinonero-Candela (2006), back constraints; Lawrence seed 6.

    >>> t = np.linspace(0, 3, 30)
    >>> noise = 0.01 * np.sin(99 * np.arange(90)).reshape(30, 3)
    >>> model = GPLVM(1).fit(np.column_stack([np.cos(t), np.sin(t), t]) + noise)
    >>> bool(abs(np.corrcoef(model.embedding_[:, 0], t)[0, 1]) > 0.99)
    True
    """

    _objective_name: ClassVar[str] = "log-likelihood given the places"
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "kernel": Rule(
            _is_kernel,
            f"{', '.join(KINDS)}, or several joined by '+', none twice, not bias alone; "
            "white(1e-3) among them states the least noise, at most 0.5",
        ),
        "init": Rule(lambda v: not isinstance(v, str) or v in STARTS, f"one of {', '.join(STARTS)}, or n x q places"),
        "back_constraints": TRUTH,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "random_state": Rule(is_seed, SEED_WORDS),
        "n_init": Rule(lambda v: v is None or COUNT.holds(v), "None, or a whole number >= 1"),
    }
    _pairs = "every row's place is a parameter, and the likelihood is one of all rows at once"
    _laws_broken: ClassVar[dict[str, str]] = {
        "merge_any_order": _pairs,
        "weights_repeat_rows": _pairs,
        "score_is_objective": "the objective is given the places, the score integrates over them",
        "sample_then_fit": "its free parameters grow with the rows",
        "row_order_does_not_matter": "the cells held back for the intervals go by row number",
    }
    partial_fit = Absent(_pairs, "fit; GTM streams")

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str = "rbf",
        init: Any = "auto",
        back_constraints: bool = False,
        tol: float = 0.05,
        max_iter: int = 1000,
        random_state: Any = None,
        n_init: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.init = init
        self.back_constraints = back_constraints
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_init = n_init

    def fit(self, X: Any, y: Any = None, *, run: Run | None = None) -> Self:  # type: ignore[override]
        """Fit the model to a table; `y` is ignored. Time grows as rows cubed, memory as rows squared."""
        return super().fit(X, y, run=run)

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        if source.weight is not None:
            raise error("LD283", model=type(self).__name__)
        check_q(int(self.n_components), source.d)
        if self.n_components > source.n:
            raise error("LD200", asked=self.n_components, most=source.n, why=f"the table has {source.n} rows")
        seen = survey_for_fit(source, run)
        x, mask = gather(seen.source)
        mu = x.sum(axis=0) / (len(x) if mask is None else mask.sum(axis=0))  # the same bits whatever the tiles
        Y = x - mu if mask is None else np.where(mask, x - mu, 0.0)
        with one_blas_thread():
            with Monitor(run, type(self).__name__, -1.0, 1) as watch:  # Ctrl-C ends the start, and then the climb
                halt = Run(run.engine, run.memory, callback=lambda step: watch.interrupted)
                first = places(self.init, Y, mask, int(self.n_components), halt)
            run = run._replace(callback=lambda step: True) if watch.interrupted else run
            fit = self._search(Y, mask, mu, first, run)
            fit = fit._replace(reason="interrupted", converged=False) if watch.interrupted else fit
        self._say(fit.params, fit.stats)
        return fit.restated(seen.log_stretch, seen.passes + 1), seen.frame

    def _search(self, Y: Array, mask: Mask | None, mu: Array, first: Start, run: Run) -> Fit:
        """The best of several climbs, or a closed form."""
        begin = self._begin(first.X, Y, mask)
        if self.back_constraints and mask is not None:
            raise error("LD475", count=int((~mask).sum()))
        if kernel_names(self.kernel) == "linear" and mask is None and not self.back_constraints:
            return self._closed(Y, mu)
        starts = self._starts(begin, first)
        return self._climb(Y, mask, mu, starts, run) if mask is None else self._calibrated(Y, mask, mu, starts, run)

    def _calibrated(self, Y: Array, mask: Mask, mu: Array, starts: list[Array], run: Run) -> Fit:
        """With gaps: cells held back say when places begin to follow the noise, and how wide intervals must be."""
        need, seen = self._cost(*Y.shape), [len(g.rows) for g in column_groups(Y, mask) if g.rows is not None]
        plan(type(self).__name__, need._replace(peak=need.peak + 8 * sum(m * (m + len(Y)) for m in seen)), run)
        less, held = hold_back(mask, seed_of(self.random_state))
        if not held.any():
            return self._climb(Y, mask, mu, starts, run)
        fit = self._climb(np.where(less, Y, 0.0), less, mu, starts, run, held=(Y, held))
        widen = self._needed(fit.params, Y, less, held)
        if fit.reason not in STOPPED:  # the cells held back come in; where they ended the climb no place moves for them
            enough, passes = fit.reason == ENOUGH, fit.passes
            fit = self._climb(Y, mask, mu, [fit.stats[0]], run, most=1 if enough else int(self.max_iter))
            fit = fit._replace(passes=passes + fit.passes)
            fit = fit._replace(reason=ENOUGH, converged=True) if enough else fit
        return fit._replace(params=fit.params._replace(widen=widen))

    def _begin(self, X: Array, Y: Array, mask: Mask | None) -> Array:
        """Where a climb starts: places (or their weights), and the kernel's numbers."""
        size = np.log(mean_variance(Y, mask))
        numbers = {"rbf": (size, 0.0), "linear": (size - 1.0,), "mlp": (size, 0.0, 0.0), "bias": (size - 4.0,)}
        theta = [v for name in kernel_names(self.kernel).split("+") for v in numbers[name]]
        return np.concatenate([X.ravel(), theta, [size + np.log(NOISE_START)]])

    def _starts(self, begin: Array, first: Start) -> list[Array]:
        """The first start, and others near it; many places would do to begin with where they are principal scores."""
        cells, found = first.X.size, [begin]
        for i in range(1, (PRINCIPAL if first.how == "pca" else 1) if self.n_init is None else int(self.n_init)):
            rng = np.random.default_rng([seed_of(self.random_state), 73, i])
            found.append(begin.copy())
            found[-1][:cells] += JITTER * max(float(begin[:cells].std()), 1e-3) * rng.standard_normal(cells)
        return found

    def _climb(
        self,
        Y: Array,
        mask: Mask | None,
        mu: Array,
        starts: list[Array],
        run: Run,
        *,
        most: int = 0,
        held: tuple[Array, Mask] | None = None,
    ) -> Fit:
        """The best of several climbs; the statistics are its vector and its problem."""
        n, q, names = len(Y), int(self.n_components), kernel_names(self.kernel)
        gamma = median_width(Y) if self.back_constraints else 0.0
        back = np.exp(-gamma * squared_distances(Y, Y)) if self.back_constraints else None
        problem = Problem(column_groups(Y, mask), names, (n, q), back, mean_variance(Y, mask), noise_floor(self.kernel))
        if back is not None:
            ridged = back + BACK_RIDGE * np.eye(n)
            starts = [np.append(np.linalg.solve(ridged, problem.split(x)[0]), problem.split(x)[1]) for x in starts]
        stage = f"{len(starts)} starts, {0 if mask is None else int(mask.sum())} cells"
        top = race(
            problem, starts, run, (type(self).__name__, stage), most or int(self.max_iter), self.tol * n / 100, held
        )
        params = self._settled(problem, top.x, Y, mask, mu, top.rung, gamma)
        vector = np.append(problem.places(top.x).ravel(), problem.split(top.x)[1])
        return Fit(
            params,
            (vector, problem),
            top.value,
            top.history,
            top.heard,
            top.reason == "converged",
            top.reason,
            "L-BFGS",
            top.remaining,
        )

    def _settled(
        self, problem: Problem, vector: Array, Y: Array, mask: Mask | None, mu: Array, rung: int, gamma: float
    ) -> Places:
        """Places on their principal axes, with unit mean square; the likelihood is the same."""
        X, (W, theta) = problem.places(vector), problem.split(vector)
        if problem.back is None and not set(problem.names.split("+")) & {"linear", "mlp"}:
            X = X - X.mean(axis=0)  # these kernels see differences only
        _, _, Vt = svd(X - X.mean(axis=0))
        turn = Vt.T * sign_rule(X @ Vt.T)
        size = float(np.sqrt(np.maximum((X - X.mean(axis=0)) ** 2, 0.0).mean()))
        size = size if size > 0 else 1.0
        X, back = X @ turn / size, np.zeros((0, X.shape[1])) if problem.back is None else W @ turn / size
        kernel = Kernel(problem.names, theta).scaled(size)
        q = X.shape[1]
        spread = np.atleast_2d(np.cov(X.T, bias=True)) + 1e-12 * np.eye(q)
        seen = np.zeros((0, Y.shape[1]), dtype=bool) if mask is None else mask
        return Places(X, Y, seen, mu, problem.names, kernel.theta, rung, 1.0, X.mean(axis=0), spread, back, gamma)

    def _closed(self, Y: Array, mu: Array) -> Fit:
        """The linear kernel of a complete table: eigenvectors of Y Y'/d, noise the discarded values over n - q."""
        n, d, q = *Y.shape, int(self.n_components)
        U, s, _ = svd(Y)
        values, size, floor = s**2 / d, mean_variance(Y, None), noise_floor(self.kernel) or EXACT
        noise = max(float(values[q:].sum()) / max(n - q, 1), floor * size)
        X = np.zeros((n, q))
        X[:, : len(values)] = U[:, :q] * np.sqrt(np.maximum(values[:q] - noise, 0.0))
        problem = Problem(column_groups(Y, None), "linear", (n, q), None, size, floor)
        vector = np.append(X.ravel() / np.sqrt(size), [np.log(size), np.log(noise)])
        surface = Surface(problem)
        value = surface(vector)[0]
        params = self._settled(problem, vector, Y, None, mu, surface.rung, 0.0)
        return Fit(params, (vector, problem), value, (value,), 1, True, "closed form", "SVD")

    def _needed(self, params: Any, Y: Array, less: Mask, held: Mask) -> float:
        """What the standard deviations of cells held back must be multiplied by, so that 90 % intervals hold 90 %."""
        rows = np.flatnonzero(held.any(axis=1))
        block = Block(np.where(less[rows], Y[rows] + params.mu, 0.0), less[rows])
        cells = self._cells_given(params, block)
        off = np.abs(Y[rows] + params.mu - cells.mean) / np.sqrt(cells.var + cells.noise)
        return inflation_from_errors(off[held[rows]])

    def _say(self, params: Places, stats: Any) -> None:
        if params.rung:
            warn("LD472", jitter=LADDER[params.rung])
        for name in self._on_bound(stats):
            if name != "noise" or noise_floor(self.kernel) is None:  # a floor that was asked for is no surprise
                warn("LD471", name=name)

    def _on_bound(self, stats: Any) -> list[str]:
        vector, problem = stats
        low, high = (edge[-(len(vector) - problem.shape[0] * problem.shape[1]) :] for edge in problem.bounds())
        theta = vector[problem.shape[0] * problem.shape[1] :]
        labels = Kernel(problem.names, theta).labels
        return [name for name, t, a, b in zip(labels, theta, low, high, strict=True) if t <= a + 1e-9 or t >= b - 1e-9]

    # rows ---------------------------------------------------------------------------------------------
    def _posterior(self, params: Places, block: Block) -> Posterior:
        """The peak of each row's density over places, and Laplace's covariance and evidence there."""
        D, P = params.decoder(), _inverse(params.spread)
        seen = np.ones(block.x.shape, dtype=bool) if block.mask is None else block.mask
        y = np.where(seen, block.x - params.mu, 0.0)
        f = partial(_height, D, P, params.centre, y, seen)
        Z = self._nearest(params, D, P, y, seen)
        H = _inverse(_curvature(D, P, Z, seen))
        fixed = seen.all(axis=1) & (len(params.back) > 0)
        go = np.flatnonzero(~fixed)
        Z[go] = climb_rows(lambda rows, z: f(go[rows], z), Z[go], H[go])
        if fixed.any():
            Z[fixed] = np.exp(-params.gamma * squared_distances(y[fixed], params.Y)) @ params.back
        curve = _curvature(D, P, Z, seen)
        value = f(np.arange(len(Z)), Z)[0]
        value -= 0.5 * (np.linalg.slogdet(curve)[1] + np.linalg.slogdet(params.spread)[1])
        i, j = lower(Z.shape[1])
        packed = _inverse(curve)[:, i, j]
        empty = ~seen.any(axis=1)
        Z[empty], packed[empty], value[empty] = params.centre, params.spread[i, j], 0.0
        return Posterior(Z, packed, value)

    def _nearest(self, params: Places, D: Decoder, P: Any, y: Array, seen: Mask) -> Array:
        """The best of the places of the rows of the fit."""
        mean, var, _ = D.at(params.X)
        w, off = 1.0 / (var + D.kernel.noise), params.X - params.centre
        value = seen @ (np.log(w) - w * mean**2).T + 2.0 * y @ (w * mean).T - y**2 @ w.T - ((off @ P) * off).sum(axis=1)
        return np.asarray(params.X[value.argmax(axis=1)])

    def _decode(self, params: Places, found: Posterior) -> Cells:
        D = params.decoder()
        mean, var, parts = D.at(found.mean)
        if found.packed.any():
            J = D.slopes(found.mean, parts)
            var = var + np.einsum("mad,mab,mbd->md", J, found.cov, J)
        empty = self._unknown(params, found)
        w = np.where(empty, 1.0, params.widen**2)[:, None]
        if empty.any():  # what the places of the fit say, all of them
            m, v, _ = D.at(params.X[:: -(-len(params.X) // TRIED)])
            mean[empty], var[empty] = m.mean(axis=0), v.mean(axis=0) + m.var(axis=0)
        return Cells(mean + params.mu, w * var, w * np.full_like(mean, params.kernel.noise))

    def _unknown(self, params: Places, found: Posterior) -> Mask:
        """Rows of which nothing is known."""
        i, j = lower(len(params.centre))
        return np.asarray((found.packed == params.spread[i, j]).all(axis=1) & (found.mean == params.centre).all(axis=1))

    def _draw(self, params: Places, found: Posterior, rng: list[np.random.Generator]) -> Array:
        d, q = len(params.mu), found.mean.shape[1]
        normal = np.array([r.standard_normal(q + d) for r in rng]).reshape(len(rng), q + d)
        root = np.linalg.cholesky(found.cov)
        Z = found.mean + (root @ normal[:, :q, None])[:, :, 0]
        cells = self._decode(params, Posterior(Z, np.zeros_like(found.packed), found.log_density))
        own = np.where(self._unknown(params, found), 1.0 / params.widen, 1.0)[:, None]  # a draw of the model as it is
        return np.asarray(cells.mean + own * np.sqrt(cells.var + cells.noise) * normal[:, q:])

    def _redraw(self, params: Places, rng: np.random.Generator) -> Places:
        return params  # the functions are integrated out already

    def _prior(self, params: Places, n: int) -> Posterior:
        i, j = lower(len(params.centre))
        return Posterior(np.tile(params.centre, (n, 1)), np.tile(params.spread[i, j], (n, 1)), np.zeros(n))

    def _axes(self, params: Places) -> Array:
        return np.eye(params.X.shape[1])

    def inverse_transform(self, Z: Any, *, return_std: bool = False) -> Any:
        """The cells that places decode to; with `return_std` also the standard deviation of new cells there."""
        mean = super().inverse_transform(Z)
        return (mean, np.sqrt(self.predictive_variance(Z))) if return_std else mean

    def predictive_variance(self, Z: Any) -> Array:
        """How uncertain a new cell would be at places on the map, noise and all; small near the rows of the fit."""
        check_is_fitted(self)
        Z = np.atleast_2d(np.asarray(Z, dtype=np.float64))
        q = self.params_.X.shape[1]
        if Z.shape[1] != q:
            raise error("LD220", got=Z.shape[1], want=q, model=type(self).__name__, missing="")
        cells = self._decode(self.params_, Posterior(Z, np.zeros((len(Z), q * (q + 1) // 2)), np.zeros(len(Z))))
        return self.frame_.lengths(np.sqrt(cells.var + cells.noise)) ** 2

    # what it says ---------------------------------------------------------------------------------------
    def _attributes(self, params: Places, frame: Frame, fit: Fit) -> dict[str, Any]:
        numbers = dict(zip(params.kernel.labels, np.exp(params.theta).tolist(), strict=True))
        unit = float(frame.report[0])
        for name in numbers:
            if name.split()[-1] in ("variance", "noise"):
                numbers[name] = float(squared(np.array([numbers[name]]), unit)[0])
        return {
            "embedding_": params.X,
            "kernel_": numbers,
            "noise_variance_": numbers["noise"],
            "jitter_": LADDER[params.rung],
            "calibration_": params.widen,
            "n_components_": params.X.shape[1],
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        p = fit.params
        notes = ["places are points without a prior; the posterior of a row is Laplace's"]
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
            tuple(self._on_bound(fit.stats)),
            tuple(notes),
        )

    def _cost(self, n: int, d: int) -> Cost:
        """Of a complete table; what gaps add is known when they are."""
        starts = PRINCIPAL if self.n_init is None else int(self.n_init)
        passes, parts = 6 + int(self.max_iter) + RACE * (starts - 1), 1 + kernel_names(self.kernel).count("+")
        squares = 6.0 + 1.5 * parts + (2.5 if self.back_constraints else 0.0)  # measured: 5.2 to 10.6, by kernel
        return Cost(
            passes,
            8 * n * d * 3,
            int(8 * (squares * n * n + 6 * n * d)),
            "GTM, which streams, or a sample of the rows",
            min(150 + RACE * (starts - 1), passes),
        )


def _height(D: Decoder, P: Array, centre: Array, y: Array, seen: Mask, rows: Any, Z: Array) -> tuple[Array, Array]:
    """log p(cells | place) and the logarithm of the prior (its constant left out) of some rows, and the slopes."""
    value, slope = D.density(Z, y[rows], seen[rows])
    off = (Z - centre) @ P
    return value - 0.5 * ((Z - centre) * off).sum(axis=1), slope - off


def _curvature(D: Decoder, P: Array, Z: Array, seen: Mask) -> Array:
    """Gauss and Newton's: how sharply the cells tell each row's place, and the prior."""
    _, var, parts = D.at(Z)
    J = D.slopes(Z, parts)
    return np.asarray(np.einsum("mad,mbd->mab", J * (seen / (var + D.kernel.noise))[:, None, :], J) + P)


def _inverse(A: Array) -> Array:
    return np.asarray(np.linalg.inv(A), dtype=np.float64)
