"""Nonlinear factor analysis: Gaussian factors through a network, and a Gaussian posterior for each row."""
from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.data.block import Array, Block
from lowdim.data.source import Header, Source
from lowdim.data.views import Frame, gather
from lowdim.engine.fold import Run, fold, one_blas_thread
from lowdim.engine.merge import Sum
from lowdim.engine.monitor import Fit, Monitor
from lowdim.engine.plan import Cost
from lowdim.math.curved import NOISE_FLOOR, PIECE, SIDE, Rows, cells, joint, placed, points, regression, value_of
from lowdim.math.linalg import lower
from lowdim.math.mlp import Layers, Loss, drawn, lbfgs, output, pack, unpack
from lowdim.messages import LowdimWarning, error, warn
from lowdim.models.base import LatentModel
from lowdim.models.certificate import Certificate
from lowdim.models.estimator import SEED_WORDS, Rule, is_seed, seed_of
from lowdim.models.gtm import GTM
from lowdim.models.limits import squared
from lowdim.models.linear import COUNT, POSITIVE, TRUTH, check_pairs
from lowdim.models.look import Look, look
from lowdim.models.posterior import Cells, Posterior
from lowdim.models.principal import LARGE

SHEET = {1: 40, 2: 15, 3: 7}  # nodes a side of the sheet it starts from
WATCHED = 20  # steps over which the bound must gain `tol`
FRESH = 20  # draws a row for the bound on fresh samples
LEAST = 0.03  # standard deviation of a place at the start: a sheet's node may be certain of a row


class Curved(NamedTuple):
    """Parameters, in the frame's units: cells at the network's word of the factors, one noise variance."""

    mean: Array  # d
    layers: Layers
    size: float  # one unit of the network's output, in the frame's
    psi: float  # noise variance in the network's units
    low: float


class NonlinearFactorAnalysis(LatentModel):
    """Nonlinear factor analysis: factors z through a perceptron, a Gaussian posterior for each row; gaps welcome.

    x = g(z) + e,  z ~ N(0, I),  e ~ N(0, s2 I),  q(z | x) = N(m, diag(s^2)) with an m and s of each row's own. The
    evidence bound sum_n E_q log p(x_n | z) - KL(q | p) is maximised over network, noise and every m and s at once
    (L-BFGS), from a GTM's sheet, its expectations by three Gauss-Hermite points an axis: drawn points that stay the
    same would be learnt by heart, and inflate it. `score_samples` is the bound of each row, a lower limit of its log
    density; `fresh_bound_` that of the table on points never used before. New rows find m and s by a search of
    their own.

    Reference: Honkela and Valpola, NIPS 17 (2005); Lappalainen and Honkela (2000); Lawrence seed 6.

    >>> t = np.random.default_rng(0).standard_normal(80)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = NonlinearFactorAnalysis(1, hidden=5, tol=1.0).fit(X)
    >>> bool(abs(np.corrcoef(model.transform(X)[:, 0], t)[0, 1]) > 0.95)
    True
    """

    _objective_name: ClassVar[str] = "evidence bound"
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": Rule(lambda v: v in (1, 2, 3), "1, 2 or 3"), "hidden": COUNT,
        "weight_prior": Rule(lambda v: not isinstance(v, str) and v >= 0, "a number >= 0"), "standardize": TRUTH,
        "tol": POSITIVE, "max_iter": COUNT, "random_state": Rule(is_seed, SEED_WORDS)}
    _laws_broken: ClassVar[dict[str, str]] = {
        "sample_then_fit": "its free parameters are not those of a Gaussian",
        "mask_of_ones_is_no_mask": "a row's search may end a rounding error elsewhere"}

    def __init__(self, n_components: int = 2, *, hidden: int = 30, weight_prior: float = 1e-2,
                 standardize: bool = False, tol: float = 1.0, max_iter: int = 1000, random_state: Any = 0) -> None:
        self.n_components = n_components
        self.hidden = hidden
        self.weight_prior = weight_prior
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        wide = source.d > source.n or min(source.n, source.d) > LARGE
        seen = look(source, run, standardize=self.standardize, wide=wide)
        if seen.gaps:
            check_pairs(seen)
        if self.n_components > source.d:
            raise error("LD200", asked=self.n_components, most=source.d, why=f"the table has {source.d} columns")
        x, mask = gather(seen.source)
        w = np.ones(len(x)) if source.weight is None else np.asarray(source.weight, dtype=np.float64)
        variance = float(seen.columns.variance.mean())
        size = float(np.sqrt(variance)) or 1.0
        x = (x - seen.columns.mean) / size
        rows = Rows(x if mask is None else np.where(mask, x, 0.0), mask)
        with one_blas_thread(), Monitor(run, "NonlinearFactorAnalysis", -1.0, int(self.max_iter)) as watch:
            m, s, before = self._places(seen, run, watch)
            counts = w > 0.0
            fit = self._down(rows.part(counts), w[counts], m[counts], s[counts], watch)
        layers, psi = fit.params
        params = Curved(seen.columns.mean, layers, size, psi, NOISE_FLOOR)
        if psi <= NOISE_FLOOR * (1 + 1e-6):
            warn("LD481", floor=psi * size**2)
        told = fold(partial(self._told, params, seed_of(self.random_state)), seen.source, run).value
        stretch = seen.stretch
        history = tuple(v + stretch - float(seen.columns.seen.sum()) * np.log(size) for v in fit.history)
        return fit._replace(params=params, stats=float(told[1]) + stretch, objective=float(told[0]) + stretch,
                            history=history, passes=fit.passes + seen.passes + before + 2), seen.frame

    def _told(self, params: Curved, seed: int, block: Block) -> Sum:
        """The bound of the rows placed anew, and the same on fresh draws."""
        rows = _rows(params, block)
        theta, bound = placed(params.layers, params.psi, rows)
        q = theta.shape[1] // 2
        u = np.random.default_rng([seed, 85, block.start]).standard_normal((block.rows, FRESH, q))
        parts = (slice(i, i + PIECE) for i in range(0, block.rows, PIECE))
        share = np.full(FRESH, 1.0 / FRESH)
        fresh = np.concatenate([value_of(params.layers, params.psi, rows.part(p), theta[p], u[p], share)
                                for p in parts])
        w = np.ones(block.rows) if block.weight is None else block.weight
        units = cells(rows) * np.log(params.size)
        return Sum(np.array([w @ (bound - units), w @ (fresh - units)]))

    def _places(self, seen: Look, run: Run, watch: Monitor) -> tuple[Array, Array, int]:
        """Where a sheet puts the rows, and how surely, in units of their spread; and the passes that took."""
        q = int(self.n_components)
        sheet = GTM(q, grid=SHEET[q], basis=6 if q < 3 else 4, tol=1.0, max_iter=min(100, int(self.max_iter)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)  # its own notes: the table's were given, the rest is a start
            halt = Run(run.engine, run.memory, callback=lambda step: watch.interrupted)
            found = sheet.fit(seen.source, run=halt).posterior(seen.source)
        w = seen.source.weight
        middle = np.average(found.mean, axis=0, weights=w)
        spread = np.sqrt(np.average((found.mean - middle) ** 2, axis=0, weights=w))
        spread = np.where(spread > 0, spread, 1.0)
        return (found.mean - middle) / spread, np.clip(found.std / spread, LEAST, 1.0), int(sheet.n_iter_) + 1

    def _down(self, rows: Rows, w: Array, m: Array, s: Array, watch: Monitor) -> Fit:
        """The network to the sheet's places, then everything together."""
        q, d = m.shape[1], rows.x.shape[1]
        rng = np.random.default_rng([seed_of(self.random_state), 86])
        layers = drawn((q, int(self.hidden), d), rng, 2.0)
        layers = ((layers[0][0], layers[0][1] + rng.standard_normal(int(self.hidden))), layers[1])
        prior = max(float(self.weight_prior), 1e-9)
        fit_net = partial(regression, layers, rows, w, m, prior)
        first = lbfgs(fit_net, pack(layers), min(200, int(self.max_iter)), lambda v: watch.interrupted)
        layers = unpack(first.x, layers)
        count = len(first.x)
        seen = float(w @ cells(rows))
        psi = max(2.0 * first.value / max(seen, 1.0), 1e-3)
        unit = np.sqrt(w)[:, None]
        start = np.concatenate([first.x, [np.log(psi)], (m * unit).ravel(), (np.log(s) * unit).ravel()])

        told = _Watch(watch, lambda v: joint(v, layers, rows, w, prior), float(self.tol))
        told.loss(start)
        if not told.stop(start):
            down = lbfgs(told.loss, start, int(self.max_iter), told.stop, tol=1e-12)
            told.reason = told.reason or ("converged" if down.settled else "the limit of passes was reached")
        fit = watch.fit("L-BFGS on network and rows together")
        best = fit.params
        psi = max(float(np.exp(best[count])), NOISE_FLOOR)
        return fit._replace(params=(unpack(best[:count], layers), psi), converged=told.reason == "converged",
                            reason=told.reason, left=told.left)

    # rows ---------------------------------------------------------------------------------------------
    def _posterior(self, params: Curved, block: Block) -> Posterior:
        rows = _rows(params, block)
        theta, bound = placed(params.layers, params.psi, rows)
        q = theta.shape[1] // 2
        i, j = lower(q)
        packed = np.zeros((block.rows, len(i)))
        packed[:, i == j] = np.exp(2.0 * theta[:, q:])
        return Posterior(theta[:, :q], packed, bound - cells(rows) * np.log(params.size))

    def _decode(self, params: Curved, found: Posterior) -> Cells:
        n, q = found.mean.shape
        u, share = points(q)
        z = found.mean[:, None] + found.std[:, None] * u
        Y = output(params.layers, z.reshape(-1, q)).reshape(n, len(u), -1)
        mean = np.einsum("j,njd->nd", share, Y)
        var = np.einsum("j,njd->nd", share, (Y - mean[:, None]) ** 2)
        noise = np.full_like(mean, params.psi * params.size**2)
        return Cells(mean * params.size + params.mean, var * params.size**2, noise)

    def _draw(self, params: Curved, found: Posterior, rng: list[np.random.Generator]) -> Array:
        q, d = found.mean.shape[1], len(params.mean)
        normal = np.array([r.standard_normal(q + d) for r in rng]).reshape(len(rng), q + d)
        Y = output(params.layers, found.mean + found.std * normal[:, :q])
        return (Y + np.sqrt(params.psi) * normal[:, q:]) * params.size + params.mean

    def _redraw(self, params: Curved, rng: np.random.Generator) -> Curved:
        return params

    def _prior(self, params: Curved, n: int) -> Posterior:
        q = params.layers[0][0].shape[0]
        i, j = lower(q)
        return Posterior(np.zeros((n, q)), np.tile(np.where(i == j, 1.0, 0.0), (n, 1)), np.zeros(n))

    def _axes(self, params: Curved) -> Array:
        return np.eye(params.layers[0][0].shape[0])

    # what it says ---------------------------------------------------------------------------------------
    def _attributes(self, params: Curved, frame: Frame, fit: Fit) -> dict[str, Any]:
        noise = squared(np.array([params.psi * params.size**2]), float(frame.report[0]))
        return {"mean_": frame.outward(params.mean), "noise_variance_": float(noise[0]), "fresh_bound_": fit.stats,
                "n_components_": params.layers[0][0].shape[0]}

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        p = fit.params
        reached = -0.5 * np.log10(2.0 * max(fit.left, 1e-30) / max(header.n, 1))
        held = ("noise_variance_",) if p.psi <= p.low * (1 + 1e-6) else ()
        return Certificate(fit.solver, fit.passes, fit.objective, self._objective_name, fit.converged, fit.reason,
                           fit.left, 0.0, 1.0, float(np.clip(reached, 0.0, 15.0)), held,
                           (f"on fresh samples the bound is {fit.stats:.6g}",))

    def _cost(self, n: int, d: int) -> Cost:
        q, H, points = int(self.n_components), int(self.hidden), 3 ** int(self.n_components)
        work = min(n, PIECE) * points * (4 * H + 4 * d + 4 * q) + SIDE[q] ** q * (min(n, PIECE) + d)
        peak = 8 * (5 * n * d + 45 * (4 * n * q + (q + 1 + d) * H) + work) + 8 * 3 * d * d
        passes = 170 + int(self.max_iter)
        return Cost(passes, 8 * n * d * passes, peak, "a sample of rows, or fewer columns", min(500, passes))


class _Watch:
    """Tells the monitor of each step; enough is when the last WATCHED steps gained less than `tol` nats."""

    def __init__(self, watch: Monitor, f: Loss, tol: float) -> None:
        self.watch, self.f, self.tol, self.reason, self.left, self.best = watch, f, tol, "", 0.0, np.inf

    def loss(self, v: Array) -> tuple[float, Array]:
        value, slope = self.f(v)
        self.best = min(self.best, value)
        return value, slope

    def stop(self, v: Array) -> bool:
        self.watch.see(v.copy(), None, -self.best, True)  # `v` is the best so far
        seen = self.watch.history
        self.left = seen[-1] - seen[-WATCHED - 1] if len(seen) > WATCHED else abs(seen[-1])
        self.reason = self.watch.reason or ("converged" if len(seen) > WATCHED and self.left < self.tol else "")
        return bool(self.reason)


def _rows(params: Curved, block: Block) -> Rows:
    x = (block.x - params.mean) / params.size
    mask = None if block.mask is None or block.mask.all() else block.mask
    return Rows(x if mask is None else np.where(mask, x, 0.0), mask)
