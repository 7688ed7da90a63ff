"""Nonlinear factor analysis: Gaussian factors through a network, and a Gaussian posterior for each row."""
from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.data.block import Array, Block, Mask
from lowdim.data.source import Header, Source
from lowdim.data.views import Frame, gather
from lowdim.engine.fold import Run, fold, one_blas_thread
from lowdim.engine.merge import Sum
from lowdim.engine.monitor import Fit, Monitor
from lowdim.engine.plan import Cost
from lowdim.math.basis import grid
from lowdim.math.gaussian import LOG_TWO_PI
from lowdim.math.linalg import lower
from lowdim.math.mlp import Layers, Loss, backward, drawn, forward, lbfgs, output, pack, slopes, unpack
from lowdim.messages import LowdimWarning, error, warn
from lowdim.models.base import LatentModel
from lowdim.models.certificate import Certificate
from lowdim.models.estimator import SEED_WORDS, Rule, is_seed, seed_of
from lowdim.models.gtm import GTM, NOISE_FLOOR
from lowdim.models.limits import squared
from lowdim.models.linear import COUNT, POSITIVE, TRUTH, check_pairs
from lowdim.models.look import Look, look
from lowdim.models.posterior import Cells, Posterior
from lowdim.models.principal import LARGE

POINTS = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0])  # Gauss-Hermite, three points: exact to the fifth power
SHARES = np.array([1.0, 4.0, 1.0]) / 6.0
PIECE = 64  # rows at a time: their nine points each stay near the cache
SIDE = {1: 61, 2: 21, 3: 9}  # places a side tried first for a new row, over +- REACH
REACH = 3.0
SHEET = {1: 40, 2: 15, 3: 7}  # nodes a side of the sheet it starts from
PLACING = 100  # steps of a row's own search
SETTLED = 1e-11  # slope, in units of the row's own curvature, at which that ends
WATCHED = 20  # steps over which the bound must gain `tol`
FRESH = 20  # draws a row for the bound on fresh samples
SMALL = 1e-3  # least standard deviation of a place at the start


class Curved(NamedTuple):
    """Parameters, in the frame's units: cells at the network's word of the factors, one noise variance."""

    mean: Array  # d
    layers: Layers
    size: float  # one unit of the network's output, in the frame's
    psi: float  # noise variance in the network's units
    low: float


class Rows(NamedTuple):
    """Cells less the mean, in the network's units; 0 and False at gaps."""

    x: Array
    mask: Mask | None

    def part(self, some: Any) -> Rows:
        return Rows(self.x[some], None if self.mask is None else self.mask[some])


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
        with one_blas_thread():
            m, s = self._places(seen, run)
            fit = self._down(rows, w, m, s, run)
        layers, psi = fit.params
        params = Curved(seen.columns.mean, layers, size, psi, NOISE_FLOOR)
        if psi <= NOISE_FLOOR * (1 + 1e-6):
            warn("LD481", floor=psi * size**2)
        told = fold(partial(self._told, params, seed_of(self.random_state)), seen.source, run).value
        stretch = float(seen.columns.seen @ np.log(seen.frame.scale))
        history = tuple(v + stretch - float(seen.columns.seen.sum()) * np.log(size) for v in fit.history)
        return fit._replace(params=params, stats=float(told[1]) + stretch, objective=float(told[0]) + stretch,
                            history=history, passes=fit.passes + seen.passes + 60), seen.frame

    def _told(self, params: Curved, seed: int, block: Block) -> Sum:
        """The bound of the rows placed anew, and the same on fresh draws."""
        rows = _rows(params, block)
        theta, bound = placed(params.layers, params.psi, rows)
        q = theta.shape[1] // 2
        u = np.random.default_rng([seed, 85, block.start]).standard_normal((block.rows, FRESH, q))
        parts = (slice(i, i + PIECE) for i in range(0, block.rows, PIECE))
        share = np.full(FRESH, 1.0 / FRESH)
        fresh = np.concatenate([_value(params.layers, params.psi, rows.part(p), theta[p], u[p], share)
                                for p in parts])
        w = np.ones(block.rows) if block.weight is None else block.weight
        units = _count(rows) * np.log(params.size)
        return Sum(np.array([w @ (bound - units), w @ (fresh - units)]))

    def _places(self, seen: Look, run: Run) -> tuple[Array, Array]:
        """Where a sheet puts the rows, and how surely; in units of their spread."""
        q = int(self.n_components)
        sheet = GTM(q, grid=SHEET[q], basis=6 if q < 3 else 4, tol=1.0, max_iter=min(100, int(self.max_iter)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)  # its own notes: the table's were given, the rest is a start
            found = sheet.fit(seen.source, run=Run(run.engine, run.memory)).posterior(seen.source)
        w = seen.source.weight
        middle = np.average(found.mean, axis=0, weights=w)
        spread = np.sqrt(np.average((found.mean - middle) ** 2, axis=0, weights=w))
        spread = np.where(spread > 0, spread, 1.0)
        return (found.mean - middle) / spread, np.clip(found.std / spread, SMALL ** 0.5, 1.0)

    def _down(self, rows: Rows, w: Array, m: Array, s: Array, run: Run) -> Fit:
        """The network to the sheet's places, then everything together."""
        q, d = m.shape[1], rows.x.shape[1]
        rng = np.random.default_rng([seed_of(self.random_state), 86])
        layers = drawn((q, int(self.hidden), d), rng, 2.0)
        layers = ((layers[0][0], layers[0][1] + rng.standard_normal(int(self.hidden))), layers[1])
        prior = max(float(self.weight_prior), 1e-9)
        fit_net = partial(regression, layers, rows, w, m, prior)
        first = lbfgs(fit_net, pack(layers), min(200, int(self.max_iter)))
        layers = unpack(first.x, layers)
        count = len(first.x)
        seen = float(w @ _count(rows))
        psi = max(2.0 * first.value / max(seen, 1.0), 1e-3)
        start = np.concatenate([first.x, [np.log(psi)], m.ravel(), np.log(s).ravel()])

        with Monitor(run, "NonlinearFactorAnalysis", -1.0, int(self.max_iter)) as watch:
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
        return Posterior(theta[:, :q], packed, bound - _count(rows) * np.log(params.size))

    def _decode(self, params: Curved, found: Posterior) -> Cells:
        n, q = found.mean.shape
        u, share = _points(q)
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


# the bound ------------------------------------------------------------------------------------------------
def _rows(params: Curved, block: Block) -> Rows:
    x = (block.x - params.mean) / params.size
    mask = None if block.mask is None or block.mask.all() else block.mask
    return Rows(x if mask is None else np.where(mask, x, 0.0), mask)


def _count(rows: Rows) -> Array:
    return np.full(len(rows.x), float(rows.x.shape[1])) if rows.mask is None else rows.mask.sum(axis=1).astype(float)


def _points(q: int) -> tuple[Array, Array]:
    """Gauss-Hermite points of a standard normal in q dimensions, and their shares."""
    each = np.stack(np.meshgrid(*[np.arange(3)] * q, indexing="ij"), axis=-1).reshape(-1, q)
    return POINTS[each], SHARES[each].prod(axis=1)


def _value(layers: Layers, psi: float, rows: Rows, theta: Array, u: Array, share: Array) -> Array:
    """The bound of each row by the given points."""
    n, q = len(theta), theta.shape[1] // 2
    m, logs = theta[:, :q], theta[:, q:]
    z = m[:, None] + np.exp(logs)[:, None] * u
    R = output(layers, z.reshape(-1, q)).reshape(n, len(share), -1) - rows.x[:, None]
    if rows.mask is not None:
        R *= rows.mask[:, None]
    return np.asarray(-0.5 / psi * ((R**2).sum(axis=2) @ share) + _rest(rows, psi, m, logs))


def _rest(rows: Rows, psi: float, m: Array, logs: Array) -> Array:
    """What the bound has beside the squares: the noise's size, less the divergence from the prior."""
    return np.asarray(-0.5 * _count(rows) * (LOG_TWO_PI + np.log(psi))
                      - 0.5 * (m**2 + np.exp(2.0 * logs) - 2.0 * logs - 1.0).sum(axis=1))


class Slopes(NamedTuple):
    """The bound of each row, and its slopes: by m and log s of the row, by the network, by log psi."""

    value: Array
    theta: Array
    layers: Layers
    log_psi: float


def slopes_of(layers: Layers, psi: float, rows: Rows, theta: Array, w: Array) -> Slopes:
    """The bound by Gauss-Hermite points, and every slope; those of what rows share are summed with weights w."""
    n, q = len(theta), theta.shape[1] // 2
    u, share = _points(q)
    m, logs = theta[:, :q], theta[:, q:]
    s = np.exp(logs)
    said = forward(layers, (m[:, None] + s[:, None] * u).reshape(-1, q))
    R = rows.x[:, None] - said[-1].reshape(n, len(u), -1)
    if rows.mask is not None:
        R *= rows.mask[:, None]
    square = (R**2).sum(axis=2) @ share
    pull = (R * (share[:, None] / psi)).reshape(len(said[-1]), -1)
    if (w != 1.0).any():
        pull *= np.repeat(w, len(u))[:, None]
    found, dZ = backward(layers, said, pull)
    dZ = dZ.reshape(n, len(u), q)
    by = np.hstack([dZ.sum(axis=1) - w[:, None] * m,
                    s * np.einsum("njq,jq->nq", dZ, u) - w[:, None] * (s**2 - 1.0)])
    return Slopes(-0.5 / psi * square + _rest(rows, psi, m, logs), by, found,
                  float(w @ (0.5 * square / psi - 0.5 * _count(rows))))


def joint(v: Array, like: Layers, rows: Rows, w: Array, prior: float) -> tuple[float, Array]:
    """Minus the bound with the weights' prior, and its gradient by network, log psi and every row's m and log s."""
    layers, count = unpack(v, like), len(pack(like))
    n, q = len(rows.x), like[0][0].shape[0]
    log_psi = float(np.clip(v[count], np.log(NOISE_FLOOR), 10.0))
    m, logs = v[count + 1:].reshape(2, n, q)
    total, by_net, by_psi, by = 0.0, np.zeros(count), 0.0, np.empty((2, n, q))
    for i in range(0, n, PIECE):
        some = slice(i, i + PIECE)
        f = slopes_of(layers, float(np.exp(log_psi)), rows.part(some), np.hstack([m[some], logs[some]]), w[some])
        total += float(w[some] @ f.value)
        by_net += pack(f.layers)
        by_psi += f.log_psi
        by[0, some], by[1, some] = f.theta[:, :q], f.theta[:, q:]
    by_psi = by_psi if log_psi == v[count] else 0.0
    weights = pack(tuple((W, 0.0 * b) for W, b in layers))
    slope = np.concatenate([prior * weights - by_net, [-by_psi], -by.ravel()])
    return 0.5 * prior * float(weights @ weights) - total, slope


def regression(like: Layers, rows: Rows, w: Array, m: Array, prior: float, v: Array) -> tuple[float, Array]:
    """Half the squared error of the network at given places, with the weights' prior; and its gradient."""
    layers = unpack(v, like)
    said = forward(layers, m)
    R = said[-1] - rows.x
    if rows.mask is not None:
        R *= rows.mask
    found, _ = backward(layers, said, R * w[:, None])
    weights = pack(tuple((W, 0.0 * b) for W, b in layers))
    return 0.5 * float(w @ (R**2).sum(axis=1)) + 0.5e-2 * prior * float(weights @ weights), \
        pack(found) + 1e-2 * prior * weights


# new rows -------------------------------------------------------------------------------------------------
def placed(layers: Layers, psi: float, rows: Rows) -> tuple[Array, Array]:
    """(m, log s) and the bound of each row, each by a BFGS of its own from the best of many places."""
    parts = [_search(layers, psi, rows.part(slice(i, i + PIECE))) for i in range(0, len(rows.x), PIECE)]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _first(layers: Layers, psi: float, rows: Rows) -> tuple[Array, Array]:
    """The likeliest of a grid of places, and the spread that the slopes there leave."""
    q = layers[0][0].shape[0]
    Z = REACH * grid(SIDE[q], q)
    Y = output(layers, Z)
    seen = np.ones_like(rows.x) if rows.mask is None else rows.mask.astype(np.float64)
    worth = (rows.x @ Y.T - 0.5 * seen @ (Y**2).T) / psi - 0.5 * (Z**2).sum(axis=1)
    m = Z[worth.argmax(axis=1)]
    J = slopes(layers, m)
    s2 = 1.0 / (1.0 + np.einsum("nqd,nd->nq", J**2, seen) / psi)
    return np.hstack([m, 0.5 * np.log(s2)]), np.hstack([s2, np.full_like(s2, 0.5)])


def _search(layers: Layers, psi: float, rows: Rows) -> tuple[Array, Array]:
    """BFGS for all rows side by side, every row with a step and a curvature of its own."""
    theta, scale = _first(layers, psi, rows)
    q, ones = theta.shape[1] // 2, np.ones(len(theta))
    empty = _count(rows) == 0.0
    theta[empty] = 0.0  # the prior
    B = scale[:, :, None] * np.eye(2 * q)
    f = slopes_of(layers, psi, rows, theta, ones)
    value, slope = f.value, f.theta
    t, live = ones.copy(), ~empty
    for _ in range(PLACING):
        step = np.einsum("nij,nj->ni", B, slope)
        live &= (np.einsum("ni,ni->n", step, slope) > SETTLED**2) & (t > 1e-6)
        some = np.flatnonzero(live)
        if not len(some):
            break
        move = np.clip(t[some, None] * step[some], -1.0, 1.0)
        f = slopes_of(layers, psi, rows.part(some), theta[some] + move, ones[some])
        near = f.value > value[some] - 1e-9 * (1.0 + np.abs(value[some]))  # only rounding apart: slopes decide
        better = (f.value > value[some]) | (near & ((f.theta**2).sum(axis=1) < (slope[some] ** 2).sum(axis=1)))
        went, drop = some[better], slope[some] - f.theta
        t[some] = np.where(better, 1.0, 0.5 * t[some])
        B[went] = _curved(B[went], move[better], drop[better])
        theta[went] += move[better]
        value[went], slope[went] = f.value[better], f.theta[better]
    value[empty] = 0.0
    return theta, value


def _curved(B: Array, s: Array, y: Array) -> Array:
    """The BFGS update of inverse curvatures, left alone where the slope did not fall along the step."""
    sy = np.einsum("ni,ni->n", s, y)
    good = sy > 1e-10 * np.sqrt((s**2).sum(axis=1) * (y**2).sum(axis=1))
    r = np.where(good, 1.0 / np.where(good, sy, 1.0), 0.0)[:, None, None]
    A = np.eye(s.shape[1]) - r * s[:, :, None] * y[:, None]
    return np.asarray(A @ B @ A.transpose(0, 2, 1) + r * s[:, :, None] * s[:, None])
