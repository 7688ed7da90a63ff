"""Nonlinear factor analysis: Gaussian factors through a network, and a Gaussian posterior for each row."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.engine.fold import Run, fold, one_blas_thread, recalled
from lowdim.engine.monitor import Fit, Monitor, notify_monitor
from lowdim.engine.plan import Cost
from lowdim.engine.statistics import Sum
from lowdim.math.linalg import Array, Mask, lower
from lowdim.math.mlp import Layers, drawn, output, pack, unpack
from lowdim.math.optimise import Peak, climb, joined, minus, parted
from lowdim.models.base.calibration import (
    Inflation,
    held_out_rounds,
    inflation_from_errors,
    inflation_note,
    without_held_cells,
)
from lowdim.models.base.estimator import COUNT, POSITIVE, SEED_WORDS, TRUTH, Rule, is_seed, seed_of
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, em_digits, squared, standard
from lowdim.models.base.survey import TableSurvey, survey_for_fit
from lowdim.models.nonlinear.gtm import RoughSheet
from lowdim.models.nonlinear.nonlinear_fa_bound import (
    NOISE_FLOOR,
    PIECE,
    SIDE,
    Bound,
    Rows,
    cells,
    encoded,
    placed,
    points,
    regression,
    spoken,
    value_of,
)
from lowdim.sources.source import Block, Header, Source
from lowdim.sources.views import Frame, gather
from lowdim.text.messages import LowdimWarning, error, warn

SHEET = {1: 40, 2: 15, 3: 7}  # nodes a side of the sheet it starts from
WATCHED = 20  # steps over which the bound must gain `tol`
FIRST, SETTLED = 200, 1e-10  # steps of a regression on the sheet's places, and the gain at which it ends
FRESH = 20  # draws a row for the bound on fresh samples
LEAST = 0.03  # standard deviation of a place at the start: a sheet's node may be certain of a row


class Curved(NamedTuple):
    """Parameters, in the frame's units: cells at the network's word of the factors, one noise variance."""

    mean: Array  # d
    layers: Layers
    size: float  # one unit of the network's output, in the frame's
    psi: float  # noise variance in the network's units
    low: float
    coder: Layers = ()  # tells (m, log s) of a row from its cells; empty where rows are searched for
    widen: float = 1.0  # standard deviations of fills are multiplied by this


class NonlinearFactorAnalysis(LatentModel):
    """Nonlinear factor analysis: factors z through a perceptron, a Gaussian posterior for each row; gaps welcome.

    x = g(z) + e,  z ~ N(0, I),  e ~ N(0, s2 I),  q(z | x) = N(m, diag(s^2)) with an m and s of each row's own. The
    evidence bound sum_n E_q log p(x_n | z) - KL(q | p) is maximised over network, noise and every m and s at once
    (L-BFGS), from a GTM's sheet, its expectations by three Gauss-Hermite points an axis: drawn points that stay the
    same would be learnt by heart, and inflate it. `score_samples` is the bound of each row, a lower limit of its log
    density; `fresh_bound_` that of the table on points never used before. New rows find m and s by a search of
    their own; with `amortised=True` a second perceptron tells them from a row's cells (and which are missing), and is
    learnt with the rest: faster for new rows, but with many gaps much the worse for rows not learnt from. Of tables
    with gaps a few seen cells are held back at first, to see how wide the intervals of fills must be.

    Reference: Honkela and Valpola, NIPS 17 (2005); Lappalainen and Honkela (2000); Lawrence seed 6.

    >>> t = np.random.default_rng(0).standard_normal(80)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = NonlinearFactorAnalysis(1, hidden=5, tol=1.0).fit(X)
    >>> bool(abs(np.corrcoef(model.transform(X)[:, 0], t)[0, 1]) > 0.95)
    True
    """

    _objective_name: ClassVar[str] = "evidence bound"
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": Rule(lambda v: v in (1, 2, 3), "1, 2 or 3"),
        "hidden": COUNT,
        "weight_prior": Rule(lambda v: not isinstance(v, str) and 0 <= v < np.inf, "a number >= 0"),
        "amortised": TRUTH,
        "standardize": TRUTH,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "random_state": Rule(is_seed, SEED_WORDS),
    }
    _laws_broken: ClassVar[dict[str, str]] = {
        "sample_then_fit": "its free parameters are not those of a Gaussian",
        "mask_of_ones_is_no_mask": "a row's search may end a rounding error elsewhere",
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        hidden: int = 30,
        weight_prior: float = 1e-2,
        amortised: bool = False,
        standardize: bool = False,
        tol: float = 1.0,
        max_iter: int = 1000,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.hidden = hidden
        self.weight_prior = weight_prior
        self.amortised = amortised
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        seen = survey_for_fit(source, run, standardize=self.standardize)
        if self.n_components > source.d:
            raise error("LD200", asked=self.n_components, most=source.d, why=f"the table has {source.d} columns")
        size = float(np.sqrt(seen.columns.variance.mean())) or 1.0
        with one_blas_thread(), Monitor(run, "NonlinearFactorAnalysis", -1.0, int(self.max_iter)) as watch:
            m, s, before = self._places(seen, run, watch)
            fit, params = self._raised(seen, size, np.hstack([m, np.log(s)]), run, watch)
        if params.psi <= NOISE_FLOOR * (1 + 1e-6):
            warn("LD481", floor=params.psi * size**2)
        told = fold(partial(self._told, params, seed_of(self.random_state)), seen.source, run).value
        stretch = seen.log_stretch
        history = tuple(v + stretch - float(seen.columns.seen.sum()) * np.log(size) for v in fit.history)
        return fit._replace(
            params=params,
            stats=float(told[1]) + stretch,
            objective=float(told[0]) + stretch,
            history=history,
            passes=fit.passes + seen.passes + before + 2,
        ), seen.frame

    def _told(self, params: Curved, seed: int, block: Block) -> Sum:
        """The bound of the rows placed anew, and the same on fresh draws."""
        rows = _rows(params, block)
        theta, bound = _found(params, rows)
        q = theta.shape[1] // 2
        u = np.random.default_rng([seed, 85, block.start]).standard_normal((block.rows, FRESH, q))
        parts = (slice(i, i + PIECE) for i in range(0, block.rows, PIECE))
        share = np.full(FRESH, 1.0 / FRESH)
        fresh = np.concatenate(
            [value_of(params.layers, params.psi, rows.part(p), theta[p], u[p], share) for p in parts]
        )
        w = np.ones(block.rows) if block.weight is None else block.weight
        units = cells(rows) * np.log(params.size)
        return Sum(np.array([w @ (bound - units), w @ (fresh - units)]))

    def _places(self, seen: TableSurvey, run: Run, watch: Monitor) -> tuple[Array, Array, int]:
        """Where a sheet puts the rows, and how surely, in units of their spread; and the passes that took."""
        q = int(self.n_components)
        sheet = RoughSheet(q, grid=SHEET[q], basis=6 if q < 3 else 4, tol=0.1, max_iter=min(200, int(self.max_iter)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)  # its own notes: the table's were given, the rest is a start
            halt = run._replace(callback=lambda step: watch.interrupted, verbose=0)
            found = sheet.fit(seen.source, run=halt).posterior(seen.source)
        w = seen.source.weight
        middle = np.average(found.mean, axis=0, weights=w)
        spread = np.sqrt(np.average((found.mean - middle) ** 2, axis=0, weights=w))
        spread = np.where(spread > 0, spread, 1.0)
        return (found.mean - middle) / spread, np.clip(found.std / spread, LEAST, 1.0), int(sheet.n_iter_) + 1

    def _raised(self, seen: TableSurvey, size: float, theta: Array, run: Run, watch: Monitor) -> tuple[Fit, Curved]:
        """The network to the sheet's places, then everything together; with gaps first with some cells held back."""
        x, mask = gather(seen.source)
        w = np.ones(len(x)) if seen.source.weight is None else np.asarray(seen.source.weight, dtype=np.float64)
        counts = w > 0.0
        x = (x - seen.columns.mean) / size
        rows = Rows(x if mask is None else np.where(mask, x, 0.0), mask).part(counts)
        problem, v = self._started(rows, w[counts], theta[counts], run, watch)
        widen = 1.0
        if rows.mask is not None:
            held = held_out_rounds(seen.columns.seen, seed_of(self.random_state))[0]
            _, left = gather(without_held_cells(seen.source, held))
            fewer = rows.mask if left is None else left[counts]
            some = problem._replace(rows=Rows(np.where(fewer, rows.x, 0.0), fewer))
            first = self._climb("held back", some, v, run, lambda v, value: watch.interrupted)
            widen = 1.0 if watch.interrupted else inflation_from_errors(_off(some, first.x, rows.x, rows.mask & ~fewer))
            v = first.x

        peak = self._climb("bound", problem, v, run, partial(notify_monitor, watch))
        reason = watch.reason if peak.reason == "stopped" else peak.reason
        fit = watch.fit("L-BFGS on network and " + ("encoder" if self.amortised else "rows") + " together")
        params = _curved(problem, peak.x)._replace(mean=seen.columns.mean, size=size, widen=widen)
        return fit._replace(converged=reason == "converged", reason=reason, remaining=WATCHED * peak.remaining), params

    def _climb(self, name: str, problem: Bound, v: Array, run: Run, see: Any) -> Peak:
        """Up the bound, until the last steps gained less than `tol` nats."""
        f = parted(recalled(run, name, joined(problem.at)))
        return climb(f, v, see, max_iter=int(self.max_iter), tol=float(self.tol) / WATCHED, window=WATCHED)

    def _started(self, rows: Rows, w: Array, theta: Array, run: Run, watch: Monitor) -> tuple[Bound, Array]:
        """Drawn layers brought to the sheet's places, and the vector all of this is."""
        q, d, H = theta.shape[1] // 2, rows.x.shape[1], int(self.hidden)
        rng = np.random.default_rng([seed_of(self.random_state), 86])
        layers = _bent(drawn((q, H, d), rng, 2.0), rng)
        prior = max(float(self.weight_prior), 1e-9)

        def brought(name: str, like: Layers, to: Rows, places: Array) -> Peak:
            f = parted(recalled(run, name, joined(minus(partial(regression, like, to, w, places, prior)))))
            return climb(
                f,
                pack(like),
                lambda v, value: watch.interrupted,
                tol=SETTLED * float(w.sum()),
                window=1,
                max_iter=min(FIRST, int(self.max_iter)) + 1,
            )

        net = brought("network", layers, rows, theta[:, :q])
        psi = max(-2.0 * net.value / max(float(w @ cells(rows)), 1.0), 1e-3)
        problem, more = Bound(layers, (), rows, w, prior), np.empty(0)
        if self.amortised:
            coder = _bent(drawn((d if rows.mask is None else 2 * d, H, 2 * q), rng), rng)
            problem = problem._replace(coder=coder)
            more = brought("encoder", coder, Rows(theta, None), spoken(rows, coder)).x
        return problem, np.concatenate([net.x, [np.log(psi)], more if self.amortised else problem.own(theta)])

    # rows ---------------------------------------------------------------------------------------------
    def _posterior(self, params: Curved, block: Block) -> Posterior:
        rows = _rows(params, block)
        theta, bound = _found(params, rows)
        return _gaussian(theta, bound - cells(rows) * np.log(params.size))

    def _decode(self, params: Curved, found: Posterior) -> Cells:
        return self._width(params).inflate(_decoded(params, found))

    def _width(self, params: Curved) -> Inflation:
        nothing = _decoded(params, self._prior(params, 1))
        return Inflation(params.widen, nothing.var + nothing.noise)

    def _draw(self, params: Curved, found: Posterior, rng: list[np.random.Generator]) -> Array:
        q, d = found.mean.shape[1], len(params.mean)
        normal = np.array([r.standard_normal(q + d) for r in rng]).reshape(len(rng), q + d)
        Y = output(params.layers, found.mean + found.std * normal[:, :q])
        draw = (Y + np.sqrt(params.psi) * normal[:, q:]) * params.size + params.mean
        return self._width(params).inflate_draw(draw, _decoded(params, found))

    def _redraw(self, params: Curved, rng: np.random.Generator) -> Curved:
        return params

    def _prior(self, params: Curved, n: int) -> Posterior:
        return standard(n, params.layers[0][0].shape[0])

    def _axes(self, params: Curved) -> Array:
        return np.eye(params.layers[0][0].shape[0])

    # what it says ---------------------------------------------------------------------------------------
    def _attributes(self, params: Curved, frame: Frame, fit: Fit) -> dict[str, Any]:
        noise = squared(np.array([params.psi * params.size**2]), float(frame.report[0]))
        return {
            "mean_": frame.outward(params.mean),
            "noise_variance_": float(noise[0]),
            "fresh_bound_": fit.stats,
            "calibration_": params.widen,
            "n_components_": params.layers[0][0].shape[0],
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        p = fit.params
        reached = em_digits(fit.remaining, header.n)
        held = ("noise_variance_",) if p.psi <= p.low * (1 + 1e-6) else ()
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
            float(np.clip(reached, 0.0, 15.0)),
            held,
            (f"on fresh samples the bound is {fit.stats:.6g}", inflation_note(p.widen)),
        )

    def _cost(self, n: int, d: int) -> Cost:
        q, H, points = int(self.n_components), int(self.hidden), 3 ** int(self.n_components)
        work = min(n, PIECE) * points * (4 * H + 4 * d + 4 * q) + SIDE[q] ** q * (min(n, PIECE) + d)
        weights = (q + 1 + (4 if self.amortised else 1) * d) * H
        peak = 8 * (13 * n * d + 45 * (4 * n * q + weights) + work) + 8 * 3 * d * d  # of a table with gaps
        passes = 170 + int(self.max_iter)
        return Cost(passes, 8 * n * d * passes, peak, "a sample of rows, or fewer columns", min(500, passes))


def _bent(layers: Layers, rng: np.random.Generator) -> Layers:
    """With biases of the hidden units drawn too: they bend at different places."""
    (W, b), *rest = layers
    return ((W, b + rng.standard_normal(len(b))), *rest)


def _curved(problem: Bound, v: Array) -> Curved:
    """What a vector says, in the network's units."""
    coder = unpack(v[problem.weights + 1 :], problem.coder)
    return Curved(np.zeros(problem.rows.x.shape[1]), unpack(v, problem.like), 1.0, problem.psi(v), NOISE_FLOOR, coder)


def _decoded(params: Curved, found: Posterior) -> Cells:
    """What places say of the cells, a few rows at a time: each has nine points, or twenty-seven."""
    n, q = found.mean.shape
    u, share = points(q)
    mean, var = np.empty((n, len(params.mean))), np.empty((n, len(params.mean)))
    for some in (slice(i, i + PIECE) for i in range(0, n, PIECE)):
        z = found.mean[some, None] + found.std[some, None] * u
        Y = output(params.layers, z.reshape(-1, q)).reshape(len(z), len(u), -1)
        mean[some] = np.einsum("j,njd->nd", share, Y)
        var[some] = np.einsum("j,njd->nd", share, (Y - mean[some, None]) ** 2)
    unit = params.size**2
    return Cells(mean * params.size + params.mean, var * unit, np.full_like(mean, params.psi * unit))


def _off(problem: Bound, v: Array, x: Array, held: Mask) -> Array:
    """How many standard deviations held-back cells lie off what is said of them."""
    params = _curved(problem, v)
    found = _decoded(params, _gaussian(*_found(params, problem.rows)))  # placed anew, as new rows are
    return np.asarray(np.abs(x - found.mean)[held] / np.sqrt((found.var + found.noise)[held]))


def _gaussian(theta: Array, log_density: Array) -> Posterior:
    """Posteriors of (m, log s) of each row."""
    q = theta.shape[1] // 2
    i, j = lower(q)
    packed = np.zeros((len(theta), len(i)))
    packed[:, i == j] = np.exp(2.0 * theta[:, q:])
    return Posterior(theta[:, :q], packed, log_density)


def _found(params: Curved, rows: Rows) -> tuple[Array, Array]:
    """(m, log s) and the bound of each row; one whose gaps its encoder knows nothing of is searched for."""
    if not params.coder:
        return placed(params.layers, params.psi, rows)
    if rows.mask is None or params.coder[0][0].shape[0] > rows.x.shape[1]:
        return encoded(params.layers, params.coder, params.psi, rows)
    whole = rows.mask.all(axis=1)
    theta, bound = placed(params.layers, params.psi, rows)
    if whole.any():
        theta[whole], bound[whole] = encoded(params.layers, params.coder, params.psi, Rows(rows.x[whole], None))
    return theta, bound


def _rows(params: Curved, block: Block) -> Rows:
    x = (block.x - params.mean) / params.size
    mask = None if block.mask is None or block.mask.all() else block.mask
    return Rows(x if mask is None else np.where(mask, x, 0.0), mask)
