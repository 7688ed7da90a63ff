"""Density networks: one sample of latent points for all rows, bent through the table by a network."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.em import em
from lowdim.engine.fold import Run, fold, one_blas_thread, walk
from lowdim.engine.monitor import STOPPED, Fit, Monitor
from lowdim.engine.plan import Cost, kept_blocks, walking
from lowdim.engine.statistics import Sum
from lowdim.math.linalg import Array
from lowdim.math.mlp import UNITS, Layers, drawn, pack, unpack
from lowdim.math.optimise import climb, minus
from lowdim.models.base.calibration import MOST_ROUNDS
from lowdim.models.base.estimator import COUNT, POSITIVE, SEED_WORDS, Rule, is_seed, seed_of
from lowdim.models.base.results import Cells, Certificate, Posterior, draw_labels, standard
from lowdim.models.base.survey import TableSurvey
from lowdim.models.nonlinear.density_network_em import (
    HIDDEN_PRIOR,
    OWN,
    Hidden,
    Net,
    Own,
    blended,
    expected,
    fitted,
    places,
    profile,
    pulled,
    squares,
)
from lowdim.models.nonlinear.gtm import GTM, PIECE
from lowdim.models.nonlinear.gtm_em import NOISE_FLOOR, SheetSums, flat, strength
from lowdim.models.nonlinear.importance import spread
from lowdim.models.nonlinear.rbf_grid import Basis, grid, spread_basis
from lowdim.sources.source import Block, Header, Source, tile_rows
from lowdim.sources.views import Frame
from lowdim.text.messages import error

INNER = 10  # steps of the hidden layers in one M-step; each finds the best output layer for its own
ENOUGH = 1e-6  # nats: a step of these that gains less is the last
GAIN = 2.0  # of the hidden weights' start: units bend within the sample, and are not all flat
SIDE = 2.5  # bells over a Gaussian sample reach so many standard deviations each way
LEAST = 10  # draws of a row's own
ROUND = 20  # steps of L-BFGS before rows draw anew
LITTLE, PATIENCE = 1e-3, 5  # nats a row; noisy climbs end when so many rounds or epochs gained no more
NOISY = 5e-3  # the same of log densities by draws


def _sizes(hidden: Any) -> bool:
    units = hidden[1:] if isinstance(hidden, tuple) and len(hidden) > 1 and hidden[0] in UNITS else hidden
    return COUNT.holds(units) or (isinstance(units, tuple) and len(units) > 0 and all(map(COUNT.holds, units)))


def _bells(hidden: Any) -> bool:
    named = isinstance(hidden, tuple) and len(hidden) == 3 and hidden[0] == "rbf"
    return (isinstance(hidden, str) and hidden == "rbf") or (
        named and COUNT.holds(hidden[1]) and POSITIVE.holds(hidden[2])
    )


def _named(samples: Any, name: str, least: int = 1) -> bool:
    pair = isinstance(samples, tuple) and len(samples) == 2 and samples[0] == name
    return pair and COUNT.holds(samples[1]) and samples[1] >= least


def _whole(block: Block) -> Block:
    return block


class DensityNetwork(GTM):
    """A density network: a Gaussian sample of latent points, the same for every row, bent through the table.

    x = g(z) + e,  z ~ N(0, I),  e ~ N(0, s2 I),  p(x) = 1/K sum_k N(x; g(z_k), s2 I) over K drawn z_k; g a perceptron
    with tanh units, `hidden=20` or `(20, 10)`, sigmoid ones, `("sigmoid", 20, 10)`, or radial bells, `hidden="rbf"` or
    `("rbf", 6, 1.0)` (bells a side and their width in spacings). Generalised EM: shares of the sample in each row,
    then L-BFGS on the hidden layers, the output layer being the best there is at each of its steps (variable
    projection). With a `batch_size` the M-step follows every so many rows, on running statistics (stepwise EM).

    `score_samples` is the log density under the sample, an estimate of that under the Gaussian.
    `n_samples=("importance", 100)`: after the EM each row has 100 draws of its own, from Gaussians at its modes and
    from the prior, and L-BFGS climbs the log density they estimate, drawn anew every few steps; `score_samples` and
    `posterior` are by such draws too. `n_samples=("grid", 10)` with bells is the GTM.

    Reference: MacKay, Nucl. Instrum. Methods A 354 (1995); Lawrence seed 6; Cappe and Moulines, J. R. Stat. Soc. B 71
    (2009), for minibatches.

    >>> t = np.linspace(0, 3, 60)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = DensityNetwork(1, n_samples=40, hidden=5).fit(X)
    >>> bool(abs(np.corrcoef(model.transform(X)[:, 0], t)[0, 1]) > 0.95)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "n_samples": Rule(
            lambda v: COUNT.holds(v) or _named(v, "grid") or _named(v, "importance", LEAST),
            f"a whole number >= 1, ('grid', points a side) or ('importance', draws >= {LEAST})",
        ),
        "hidden": Rule(
            lambda v: _sizes(v) or _bells(v),
            "units, a tuple of units, ('sigmoid', units, ...), 'rbf' or ('rbf', bells, width)",
        ),
        "batch_size": Rule(lambda v: v is None or COUNT.holds(v), "None, or a whole number >= 1"),
        **{name: GTM._rules[name] for name in ("weight_prior", "tol", "max_iter")},
        "random_state": Rule(is_seed, SEED_WORDS),
    }
    standardize = False  # columns keep their units: of the eight options a network can have this one is a pipeline's

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_samples: Any = 100,
        hidden: Any = 20,
        weight_prior: Any = 0.02,
        batch_size: int | None = None,
        tol: float = 1e-2,
        max_iter: int = 1000,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_samples = n_samples
        self.hidden = hidden
        self.weight_prior = weight_prior
        self.batch_size = batch_size
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    # expectation is the sheet's ---------------------------------------------------------------------------
    def _objective(self, params: Any, stats: SheetSums) -> float:
        return super()._objective(params, stats) - 0.5 * HIDDEN_PRIOR * squares(params.layers)

    def _update(self, params: Any, stats: SheetSums) -> Any:
        """The hidden layers, each step with the best output layer; then the noise. Bells are the sheet's own case."""
        if not params.layers:
            return super()._update(params, stats)
        found = climb(
            minus(lambda v: profile(unpack(v, params.layers), params, stats)),
            pack(params.layers),
            max_iter=INNER + 1,
            tol=ENOUGH,
            window=1,
        )
        layers = unpack(found.x, params.layers)
        f = fitted(layers, params, stats)
        if -found.value > expected(params.layers, params.W, params.nodes, params, stats):  # nothing but rounding
            layers, f = params.layers, fitted(params.layers, params, stats)._replace(W=params.W, Y=params.nodes)
        left = stats.xx - 2.0 * float((f.Y * stats.RX).sum()) + float((stats.G * f.Y**2).sum())
        psi = max(left / max(stats.cells, 1.0), params.low)
        prior = strength(f.A / psi, f.W, params) if self.weight_prior == "auto" else params.prior
        return params._replace(layers=layers, W=f.W, psi=psi, prior=prior)

    def _pack(self, params: Any) -> Array:
        return np.concatenate([pack(params.layers), super()._pack(params)])

    def _unpack(self, vector: Array, like: Any) -> Any:
        count = len(pack(like.layers))
        found: Any = super()._unpack(vector[count:], like)
        return found._replace(layers=unpack(vector[:count], like.layers))

    # other ways up ----------------------------------------------------------------------------------------
    def _em(
        self, start: Any, seen: TableSurvey, run: Run, source: Source | None = None, limit: int | None = None
    ) -> Fit:
        """Expectation-maximisation, whole or in batches; then each row's own draws, where these are asked for."""
        source = seen.source if source is None else source
        auto, most = self.weight_prior == "auto", int(self.max_iter if limit is None else limit)
        if self.batch_size is not None:
            fit = self._batches(start, source, run, most)
        elif start.layers:
            fit = em(self, start, source, run, mix=not auto, may_fall=auto, limit=most)
        else:
            fit = super()._em(start, seen, run, source, limit)
        own = len(start.draws) and limit is None and fit.reason not in STOPPED
        return self._own(fit, source, run) if own else fit

    def _batches(self, params: Any, source: Source, run: Run, most: int) -> Fit:
        """Stepwise EM; after every epoch a pass says what its parameters are worth."""
        since, best = 0, -np.inf
        with one_blas_thread(), Monitor(run, type(self).__name__, -1.0, most) as watch:
            running: Any = None
            while True:
                stats = fold(partial(self._stats, params), source, run)
                value = self._objective(params, stats)
                watch.see(params, stats, value, True)
                since, best = 0 if value > best + LITTLE * source.total else since + 1, max(best, value)
                if watch.reason or since >= PATIENCE:
                    fit = watch.fit("stepwise EM on minibatches")
                    calm = not watch.reason
                    return fit._replace(
                        converged=calm,
                        reason=watch.reason or "converged",
                        remaining=LITTLE * source.total,
                        passes=2 * fit.passes - 1,
                    )
                params, running = self._epoch(
                    params, stats if running is None else running, len(watch.history), source, run
                )

    def _epoch(self, params: Any, running: SheetSums, number: int, source: Source, run: Run) -> tuple[Any, SheetSums]:
        """Every row once, tile by tile, in an order drawn within each; an M-step after each batch."""
        size, seed = int(self.batch_size or 1), seed_of(self.random_state)
        count = (number - 1) * (-(-source.n // size))
        for start, tile in walk(_whole, source, run):
            order = np.random.default_rng([seed, 88, number, start]).permutation(tile.rows)
            for some in (order[i : i + size] for i in range(0, len(order), size)):
                part = Block(
                    tile.x[some],
                    None if tile.mask is None else tile.mask[some],
                    None if tile.weight is None else tile.weight[some],
                    start,
                )
                count += 1
                if part.size > 0.0:
                    running = blended(running, self._stats(params, part), source.total / part.size, count)
                    params = self._update(params, running)
        return params, running

    def _own(self, fit: Fit, source: Source, run: Run) -> Fit:
        """Rounds of L-BFGS on the log density that each row's own draws estimate, drawn anew at each round."""
        params, since, best, passes = fit.params, 0, -np.inf, fit.passes + 1
        seed, (K, L) = seed_of(self.random_state), params.draws.shape
        with one_blas_thread(), Monitor(run, type(self).__name__, -1.0, -(-int(self.max_iter) // ROUND)) as watch:
            while True:
                u = spread(K, L, np.random.default_rng([seed, 89, len(watch.history)]))
                f, v = partial(self._drawn_value, params._replace(draws=u), source, run), self._pack(params)
                value, passes = f(v)[0], passes + 1
                watch.see(params, None, value, True)
                since, best = 0 if value > best + NOISY * source.total else since + 1, max(best, value)
                if watch.reason or since >= PATIENCE:
                    break
                peak = climb(f, v, lambda v, value: watch.interrupted, max_iter=ROUND + 1, tol=ENOUGH, window=1)
                params, passes = self._unpack(peak.x, params), passes + peak.calls
        found = watch.fit(f"EM, then L-BFGS on {K} draws of each row's own")
        return found._replace(
            history=(*fit.history, *found.history),
            passes=passes,
            stats=fold(partial(self._stats, found.params), source, run),
            remaining=NOISY * source.total,
            converged=not watch.reason,
            reason=watch.reason or "converged",
        )

    def _drawn_value(self, at: Any, source: Source, run: Run, v: Array) -> tuple[float, Array]:
        """The log posterior estimated by draws from proposals made at some parameters, and its gradient."""
        params = self._unpack(v, at)
        told = fold(partial(self._pull, at, params), source, run).value
        W = params.W.copy()
        W[-1] = 0.0
        unit = np.sqrt(params.low / NOISE_FLOOR)
        plain = pack(tuple((HIDDEN_PRIOR * V, 0.0 * b) for V, b in params.layers))
        slope = told[1:] - np.concatenate([plain, params.prior * W.ravel(), [0.0]])
        slope[len(plain) : -1] *= unit
        value = float(told[0]) - 0.5 * params.prior * float((W**2).sum())
        return value - 0.5 * HIDDEN_PRIOR * squares(params.layers), slope

    def _pull(self, at: Any, params: Any, block: Block) -> Sum:
        """Log densities by draws and their slopes, a few rows at a time."""
        return Sum(np.sum([pulled(at, params, piece) for piece in block.tiles(OWN)], axis=0))

    # rows -------------------------------------------------------------------------------------------------
    def _posterior(self, params: Any, block: Block) -> Any:
        if not len(params.draws):
            return super()._posterior(params, block)
        return Own.joined([places(params, piece) for piece in block.tiles(OWN)])

    def _plain(self, params: Any, found: Any) -> Cells:
        if not isinstance(found, Own):
            return super()._plain(params, found)
        return Cells(found.cells, found.var, np.full_like(found.cells, params.psi))

    def _draw(self, params: Any, found: Any, rng: list[np.random.Generator]) -> Array:
        """One of a row's own draws, or a place of the prior, and noise."""
        if not len(params.draws):
            return super()._draw(params, found, rng)
        L, d = params.grid.shape[1], params.W.shape[1]
        z, noise = np.split(np.array([r.standard_normal(L + d) for r in rng]).reshape(-1, L + d), [L], axis=1)
        if isinstance(found, Posterior):
            return np.asarray(params.surface.at(z) + np.sqrt(params.psi) * noise)
        z = found.z[np.arange(len(rng)), draw_labels(found.share, rng)]
        cells = params.surface.at(z) + np.sqrt(params.psi) * noise
        return self._width(params).inflate_draw(cells, self._plain(params, found))

    def _prior(self, params: Any, n: int) -> Any:
        if not len(params.draws):
            return super()._prior(params, n)
        return standard(n, params.grid.shape[1])

    def _shared(self, params: Any) -> Any:
        """Nodes are the shared sample's, whatever draws rows have of their own."""
        return params._replace(draws=params.draws[:0])

    def score_error(self, X: Any, *, run: Run | None = None) -> Array:
        """Standard error of each row's log density, where it is estimated by draws of the row's own; else zeros."""
        check_is_fitted(self)
        p, frame = self.params_, self.frame_
        if not len(p.draws):
            return self._each(lambda b: np.zeros(b.rows), X, run=run)
        return self._each(lambda b: self._posterior(p, frame.inward(b)).error, X, run=run)

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        found, p = super()._certify(fit, frame, header), fit.params
        how = (
            f"log densities are estimated by {len(p.draws)} draws of each row's own (score_error says how well)"
            if len(p.draws)
            else f"log densities are those under {len(p.grid)} points, not under the Gaussian"
        )
        return found._replace(notes=(*found.notes, how))

    # where it starts --------------------------------------------------------------------------------------
    def _start(self, seen: TableSurvey) -> Any:
        """The principal plane, as well as drawn units can make it; its noise what the plane leaves out."""
        d, L = seen.source.d, int(self.n_components)
        if d < L:
            raise error("LD200", asked=L, most=d, why=f"the table has {d} columns")
        rng = np.random.default_rng([seed_of(self.random_state), 84])
        even, K = _named(self.n_samples, "grid"), self._count
        nodes = grid(K, L) if even else rng.standard_normal((K, L))
        layers, basis = self._first(L, 1.0 if even else SIDE, rng)
        phi = (Hidden(layers, self._unit) if layers else basis).at(nodes)
        target, values, total, low = flat(seen, nodes)
        penalty = np.full(phi.shape[1], 1e-6 * len(nodes))
        penalty[-1] = 0.0  # the constant follows the origin
        W = np.asarray(np.linalg.solve(phi.T @ phi + np.diag(penalty), phi.T @ target))
        psi = max((total - float(values.sum())) / max(d - L, 1), 1e-1 * total / d, low)
        prior = (0.1 if self.weight_prior == "auto" else float(self.weight_prior)) * NOISE_FLOOR / low
        own = spread(K, L + 1, np.random.default_rng([seed_of(self.random_state), 87]))
        own = own if _named(self.n_samples, "importance") else own[:0]
        return Net(nodes, layers, basis.centres, basis.width, W, psi, prior, low, self._unit, own)

    @property
    def _count(self) -> int:
        """Points of the sample; of a grid those a side."""
        return int(self.n_samples[1] if isinstance(self.n_samples, tuple) else self.n_samples)

    @property
    def _unit(self) -> str:
        return str(self.hidden[0]) if isinstance(self.hidden, tuple) and self.hidden[0] in UNITS else "tanh"

    @property
    def _units(self) -> tuple[int, ...]:
        """Of each hidden layer; none are bells."""
        if _bells(self.hidden):
            return ()
        each = self.hidden if isinstance(self.hidden, tuple) else (self.hidden,)
        return tuple(int(k) for k in each if not isinstance(k, str))

    def _first(self, L: int, side: float, rng: np.random.Generator) -> tuple[Layers, Basis]:
        """Drawn hidden layers, or bells over the sample."""
        if _bells(self.hidden):
            bells, width = (6, 1.0) if isinstance(self.hidden, str) else self.hidden[1:]
            basis = spread_basis(int(bells), L, float(width))
            return (), Basis(basis.centres * side, basis.width * side)
        layers = drawn((L, *self._units), rng, GAIN if self._unit == "tanh" else 2.0 * GAIN)  # as steep
        return tuple((W, b + rng.standard_normal(len(b))) for W, b in layers), Basis(np.zeros((0, L)), 1.0)

    def _cost(self, n: int, d: int) -> Cost:
        L = int(self.n_components)
        K = self._count ** (L if _named(self.n_samples, "grid") else 1)
        bells = 6 if isinstance(self.hidden, str) else self.hidden[1] if _bells(self.hidden) else 0
        H = 1 + (sum(self._units) or int(bells) ** L)
        own = _named(self.n_samples, "importance")
        each = int(self.max_iter) * (1 if self.batch_size is None else 2) + own * 3 * (int(self.max_iter) + ROUND)
        passes, tile, node = (
            6 + MOST_ROUNDS + (1 + MOST_ROUNDS) * each,
            min(tile_rows(d), n),
            2 * K * d,
        )  # with gaps so many fits
        work = 4 * tile * d + 4 * PIECE * K + 8 * K * H + 2 * node + own * OWN * K * (2 * d + 3 * H + 10 * L)
        peak = walking(n, d, work, node) + 8 * (2 * d * H * H + 2 * node)
        wide = 8 * (3 * d * d if d <= n else 4 * n * d + 4 * n * n)
        return Cost(
            passes,
            8 * n * d * passes,
            peak + kept_blocks(n, d) + wide,
            "fewer samples, or fewer columns",
            min(100, int(self.max_iter)),
        )
