"""Nonlinear factor analysis: Gaussian factors through a network, and a Gaussian posterior for each row."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.engine.fit import INTERRUPTED, Cost, Fit, Monitor, notify_monitor
from lowdim.engine.fold import Run, fold, one_blas_thread, recalled
from lowdim.engine.statistics import Sum
from lowdim.maths.linalg import EPS, Array, lower
from lowdim.maths.optimise import Peak, climb, joined, minus, parted
from lowdim.maths.seeds import NONLINEAR_FA_FRESH, NONLINEAR_FA_NETWORK, normals
from lowdim.models.base.calibration import held_out_fits
from lowdim.models.base.estimator import Absent, WeightedEstimator
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import COUNT, POSITIVE, SEED, TRUTH, Rule, check_components, option, seed_of
from lowdim.models.base.results import Cells, Fitted, Posterior, certify, inflation_note, squared, standard
from lowdim.models.base.survey import TableSurvey, survey_table
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.nonlinear.gtm import GTM
from lowdim.models.nonlinear.mlp import (
    ACTIVATION,
    HIDDEN,
    Layers,
    layer_sizes,
    pack_layers,
    random_biases,
    random_layers,
    unpack_layers,
)
from lowdim.models.nonlinear.nonlinear_fa_bound import (
    NETWORK_NOISE_FLOOR,
    ROWS_A_PIECE,
    SEARCH_SIDE,
    CellRows,
    Network,
    NonlinearFABound,
    bounds_by_points,
    encode,
    encoder_input,
    hermite_points,
    pieces,
    regression_loss,
    search_places,
)
from lowdim.sources.source import Block, Source
from lowdim.sources.views import gather
from lowdim.text.messages import LowdimWarning, warn

START_GRID = {1: 40, 2: 15, 3: 7}  # nodes a side of the GTM it starts from
START_PASSES = 200  # of that GTM, or of probabilistic PCA with more factors
TOL_WINDOW = 20  # steps over which the bound must gain `tol`
REGRESSION_STEPS, REGRESSION_GAIN = 200, 1e-10  # of the first regressions, and the gain a row at which they end
SAMPLE_ROWS = 2000  # of a table twice as long or longer: the climb begins with so many
SAMPLE_EASE = 2.0  # times `tol`, for that beginning
FRESH_DRAWS = 20  # a row, for the bound on fresh samples
LEAST_PLACE_SD = 0.03  # standard deviation of a place at the start: a GTM may be certain of a row
LEAST_PRIOR = 1e-9
OVERSTATED = 0.5  # nats a row by which three points an axis may overstate the bound before it is said
NETWORK_GAIN = 2.0  # of the first weights: units bend within the factors' spread


class NonlinearFAParams(NamedTuple):
    """Parameters, in the frame's units: cells at the network's output for the factors, one noise variance."""

    mean: Array  # d
    layers: Layers
    size: float  # one unit of the network's output, in the frame's
    psi: float  # noise variance in the network's units
    low: float  # its floor
    encoder: Layers = ()  # gives (m, log s) of a row from its cells; empty where rows are searched for
    inflation: float = 1.0  # what standard deviations of fills are multiplied by
    activation: str = "tanh"

    @property
    def net(self) -> Network:
        return Network(self.layers, self.activation)


class NonlinearFactorAnalysis(WeightedEstimator, LatentModel[NonlinearFAParams, Posterior]):
    """Nonlinear factor analysis: factors z through a perceptron, a Gaussian posterior for each row.

    x = g(z) + e,  z ~ N(0, I),  e ~ N(0, s2 I),  q(z | x) = N(m, diag(s^2)) with an m and s of each row's own. The
    evidence bound sum_n E_q log p(x_n | z) - KL(q | p) is maximised over network, noise and every m and s at once
    (L-BFGS), from places that a GTM gives, its expectations by three Gauss-Hermite points an axis: drawn points that
    stay the same would be learnt by heart, and inflate it. `score_samples` is the bound of each row, a lower limit of
    its log density. Rows may have gaps and count by weights; of tables with gaps a few seen cells are held back at
    first, to see how wide the intervals of fills must be.

    Attributes
    ----------
    mean_ : array, d
        The columns' means.
    noise_variance_ : float
        s2, in the units the table is reported in.
    fresh_bound_ : float
        The bound of the table on points never used before: no higher than `objective_` but for what was inflated.
    calibration_ : float
        What standard deviations of fills are multiplied by, found with cells held back; 1 without gaps.
    n_components_ : int
        q.
    objective_, history_ : float, array
        The evidence bound of all rows, placed anew as `transform` places them, and the values of the climb step by
        step (with the weights' prior, each row where the climb has it).

    References
    ----------
    H. Lappalainen, A. Honkela: Bayesian nonlinear independent component analysis by multi-layer perceptrons. In M.
    Girolami (ed.), Advances in Independent Component Analysis, 93-121, Springer (2000).
    A. Honkela, H. Valpola: Unsupervised variational Bayesian learning of nonlinear models. Advances in Neural
    Information Processing Systems 17, 593-600 (2005).
    D. P. Kingma, M. Welling: Auto-encoding variational Bayes. International Conference on Learning Representations
    (2014), for the encoder.

    Examples
    --------
    >>> t = np.random.default_rng(0).standard_normal(80)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = NonlinearFactorAnalysis(1, hidden=5, tol=0.01).fit(X)
    >>> bool(abs(np.corrcoef(model.transform(X)[:, 0], t)[0, 1]) > 0.95)
    True
    """

    n_parameters_ = bic = aic = Absent(
        "its log density is a lower bound, no likelihood", "objective_, the evidence bound"
    )
    _objective_name: ClassVar[str] = "evidence bound"
    _laws_broken: ClassVar[dict[str, str]] = {
        "sample_then_fit": "its free parameters are not those of a Gaussian",
        "mask_of_ones_is_no_mask": "a row's search may end a rounding error elsewhere",
    }

    n_components: int = option(
        default=2,
        rule=Rule(lambda v: v in SEARCH_SIDE, "1, 2, 3, 4 or 5"),
        words="Factors q. Each multiplies the points of an expectation, and so the time, by three.",
        kw_only=False,
    )
    hidden: int | tuple[int, ...] = option(default=30, rule=HIDDEN, words="Units of the hidden layer, or of each.")
    activation: str = ACTIVATION
    weight_prior: float = option(
        default=1e-2,
        rule=Rule(lambda v: not isinstance(v, str) and 0 <= v < np.inf, "a number >= 0"),
        words="Precision of the weights; cells are in units of the columns' mean spread. Too small for a table, the "
        "network bends between the points of an expectation: `fresh_bound_` then falls behind `objective_`.",
    )
    amortized: bool = option(
        default=False,
        rule=TRUTH,
        words="True: a second perceptron of the same layers gives m and s from a row's cells (and which are missing), "
        "and is learnt with the rest: faster for complete rows. False: each row finds its m and s by a search, as rows "
        "with gaps do in any case (an encoder fills new rows twice as badly at 30 % gaps).",
    )
    standardize: bool = option(default=False, rule=TRUTH, words="Work in units of each column's spread.")
    tol: float = option(
        default=1e-2, rule=POSITIVE, words="The climb ends when 20 steps gained less than this in all, in nats a row."
    )
    max_iter: int = option(default=2000, rule=COUNT, words="Steps of L-BFGS at most.")
    random_state: Any = option(
        default=0, rule=SEED, words="Draws the first weights and the cells held back; None is 0."
    )

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> Fitted:
        survey = survey_table(source, run, standardize=self.standardize)
        check_components(self.n_components, source.d)
        size, seed = float(np.sqrt(survey.columns.variance.mean())) or 1.0, seed_of(self.random_state)
        with one_blas_thread(), Monitor(run, "NonlinearFactorAnalysis", -1.0, int(self.max_iter)) as watch:
            # With gaps a climb without some cells, which its start may not see either, shows how wide intervals must
            # be: one round, since a climb is long. Where it ended all cells come in.
            refit = partial(self._begun, survey, size, run, watch, raised=True)
            first = held_out_fits(self, refit, survey, seed, run, most_rounds=1)
            begun = first.fits[0] if first.fits else self._begun(survey, size, run, watch, survey.source)
            problem, v = begun.stats
            if first.fits:
                problem = problem._replace(rows=_counting_rows(survey.source, survey.columns.mean, size))
            peak = self._raise_bound("bound", problem, v, run, partial(notify_monitor, watch))
        params = _params(problem, peak.x)._replace(mean=survey.columns.mean, size=size, inflation=first.inflation)
        reason = watch.reason if peak.reason == "stopped" else peak.reason
        fit = watch.fit("L-BFGS on network and " + ("encoder" if self.amortized else "rows") + " together")
        if params.psi <= NETWORK_NOISE_FLOOR * (1 + 1e-6):
            warn("LD202.network", floor=params.psi * size**2)
        bounds = fold(partial(self._bound_sums, params, seed), survey.source, run).value
        stretch = float(survey.columns.seen @ np.log(survey.frame.scale))
        history = tuple(v + stretch - float(survey.columns.seen.sum()) * np.log(size) for v in fit.history)
        fit = fit._replace(
            params=params,
            objective=float(bounds[0]) + stretch,
            history=history,
            passes=fit.passes + survey.passes + begun.passes + 2,
            converged=reason == "converged",
            reason=reason,
            remaining=peak.remaining,
        )
        return self._fitted(fit, float(bounds[1]) + stretch, survey)

    def _fitted(self, fit: Fit[NonlinearFAParams, Any], fresh: float, survey: TableSurvey) -> Fitted:
        """What the fit leaves, given the bound on fresh draws."""
        p, frame, n = fit.params, survey.frame, survey.source.n
        note = f"on fresh samples the bound is {fresh:.6g}"
        if fit.objective - fresh > OVERSTATED * n:
            note += ", far lower: the network bends too sharply for three points an axis; raise weight_prior"
        certificate = certify(
            fit,
            self._objective_name,
            rows=n,
            boundary=("noise_variance_",) if p.psi <= p.low * (1 + 1e-6) else (),
            notes=(note, inflation_note(p.inflation)),
        )
        attributes = {
            "mean_": frame.outward(p.mean),
            "noise_variance_": float(squared(np.array([p.psi * p.size**2]), float(frame.report[0]))[0]),
            "fresh_bound_": fresh,
            "calibration_": p.inflation,
            "n_components_": p.net.inputs,
        }
        return Fitted(p, frame, certificate, attributes, fit.history)

    def _bound_sums(self, params: NonlinearFAParams, seed: int, block: Block) -> Sum:
        """The bound of the rows placed anew, and the same on fresh draws."""
        rows = _cell_rows(params, block)
        theta, bound = _row_posteriors(params, rows)
        q = theta.shape[1] // 2
        n, rng = len(block.x), np.random.default_rng([seed, NONLINEAR_FA_FRESH, block.start])
        u = rng.standard_normal((n, FRESH_DRAWS, q))
        share = np.full(FRESH_DRAWS, 1.0 / FRESH_DRAWS)
        fresh = np.concatenate(
            [bounds_by_points(params.net, params.psi, rows.part(p), theta[p], u[p], share) for p in pieces(n)]
        )
        w = block.times
        units = rows.counts * np.log(params.size)
        return Sum(np.array([w @ (bound - units), w @ (fresh - units)]))

    def _begun(
        self, survey: TableSurvey, size: float, run: Run, watch: Monitor, source: Source, raised: bool = False
    ) -> Fit[NonlinearFAParams, tuple[NonlinearFABound, Array]]:
        """Where a climb begins: the network to the first places of a source; `raised` as far as its cells lead."""
        m, s, passes = self._first_places(source, run, watch)
        weight = np.ones(source.n) if source.weight is None else source.weight
        counts = weight > 0.0
        rows = _counting_rows(source, survey.columns.mean, size)
        if rows.mask is None and rows.x.shape[1] > weight.sum() and not self.amortized:
            # Noise and prior are the same along every axis: those that no row spans are left alone by the network.
            U, S, axes = np.linalg.svd(rows.x, full_matrices=False)
            spanned = EPS * max(rows.x.shape) * S[0] <= S
            rows = CellRows((U * S)[:, spanned], None, axes[spanned])
        theta = np.hstack([m, np.log(s)])
        problem, v = self._from_sample(rows, weight[counts], theta[counts], run, watch)
        if raised:
            v = self._raise_bound("held back", problem, v, run, lambda v, value: watch.interrupted).x
        params = _params(problem, v)._replace(mean=survey.columns.mean, size=size)
        reason = INTERRUPTED if watch.interrupted else "converged"
        return Fit(params, (problem, v), -np.inf, (), passes, not watch.interrupted, reason, "L-BFGS")

    def _first_places(self, source: Source, run: Run, watch: Monitor) -> tuple[Array, Array, int]:
        """Where a GTM puts the rows, and how surely, in units of their spread; and the passes that took.

        The nodes of a GTM grow too many with more than three factors: then it is probabilistic PCA.
        """
        q, most = int(self.n_components), min(START_PASSES, int(self.max_iter))
        start: ProbabilisticPCA | GTM = ProbabilisticPCA(q, tol=1e-4, max_iter=most)
        if q in START_GRID:
            start = GTM(q, grid=START_GRID[q], basis=6 if q < 3 else 4, calibrate=False, tol=1e-4, max_iter=most)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)  # the table's were given, and the rest is about a start
            halt = run._replace(callback=lambda step: watch.interrupted, verbose=0)
            posterior = start.fit(source, run=halt).posterior(source)
        w = source.weight
        middle = np.average(posterior.mean, axis=0, weights=w)
        spread = np.sqrt(np.average((posterior.mean - middle) ** 2, axis=0, weights=w))
        spread = np.where(spread > 0, spread, 1.0)
        s = np.clip(posterior.std / spread, LEAST_PLACE_SD, 1.0)
        return (posterior.mean - middle) / spread, s, int(start.n_iter_) + 1

    def _raise_bound(
        self, name: str, problem: NonlinearFABound, v: Array, run: Run, see: Any, ease: float = 1.0
    ) -> Peak:
        """Up the bound, until the last TOL_WINDOW steps gained less than `tol` nats a row in all, or `ease` times that.

        A weight moves all rows and a place one: in units of n^(-1/4) for weights the climb takes half the steps.
        """
        f = parted(recalled(run, name, joined(problem.value_and_grad)))
        tol, unit = ease * float(self.tol) * float(problem.w.sum()) / TOL_WINDOW, np.ones(len(v))
        shared = len(pack_layers(problem.net.layers)) + 1
        unit[:shared] = 1.0 if self.amortized else float(problem.w.sum()) ** -0.25

        def scaled(u: Array) -> tuple[float, Array]:
            value, slope = f(u * unit)
            return value, slope * unit

        peak = climb(
            scaled,
            v / unit,
            lambda u, value: see(u * unit, value),
            max_iter=int(self.max_iter),
            tol=tol,
            window=TOL_WINDOW,
        )
        return peak._replace(x=peak.x * unit)

    def _from_sample(
        self, rows: CellRows, w: Array, theta: Array, run: Run, watch: Monitor
    ) -> tuple[NonlinearFABound, Array]:
        """Where the climb begins; of a long table, where one over rows spread over it ended, all rows placed anew.

        That takes half the time, and ends higher: the network bends more freely while few rows hold it.
        """
        few = np.linspace(0, len(w) - 1, SAMPLE_ROWS).astype(int) if len(w) >= 2 * SAMPLE_ROWS else slice(None)
        problem, v = self._first_vector(rows.part(few), w[few], theta[few], run, watch)
        if isinstance(few, slice):
            return problem, v
        v = self._raise_bound("sample", problem, v, run, lambda v, value: watch.interrupted, SAMPLE_EASE).x
        whole, shared = problem._replace(rows=rows, w=w), v[: problem.weights + 1]
        if self.amortized:
            return whole, v
        places = search_places(problem.net.at(v), problem.psi(v), rows)[0]
        return whole, np.append(shared, whole.row_parameters(places))

    def _first_vector(
        self, rows: CellRows, w: Array, theta: Array, run: Run, watch: Monitor
    ) -> tuple[NonlinearFABound, Array]:
        """Drawn layers brought to the first places by regression, and the vector all of this is."""
        q, hidden, axes = theta.shape[1] // 2, layer_sizes(self.hidden), rows.axes
        d = rows.x.shape[1] if axes is None else axes.shape[1]
        rng = np.random.default_rng([seed_of(self.random_state), NONLINEAR_FA_NETWORK])
        net = _random_network((q, *hidden, d), NETWORK_GAIN, self.activation, rng)
        if axes is not None:
            net = net._replace(layers=_turned(net.layers, axes.T))
        prior = max(float(self.weight_prior), LEAST_PRIOR)
        fitted = self._regress("network", net, rows, w, theta[:, :q], prior, run, watch)
        psi = max(-2.0 * fitted.value / max(float(w @ rows.counts), 1.0), 1e-3)
        problem = NonlinearFABound(net, Network((), self.activation), rows, w, prior)
        if not self.amortized:
            return problem, np.concatenate([fitted.x, [np.log(psi)], problem.row_parameters(theta)])
        inputs = d if rows.mask is None else 2 * d
        encoder = _random_network((inputs, *hidden, 2 * q), 1.0, self.activation, rng)
        target, cells = CellRows(theta, None), encoder_input(rows, encoder)
        encoding = self._regress("encoder", encoder, target, w, cells, prior, run, watch).x
        return problem._replace(encoder=encoder), np.concatenate([fitted.x, [np.log(psi)], encoding])

    def _regress(
        self, name: str, net: Network, to: CellRows, w: Array, at: Array, prior: float, run: Run, watch: Monitor
    ) -> Peak:
        """The network's weights by least squares: outputs `to` at inputs `at`."""
        f = parted(recalled(run, name, joined(minus(partial(regression_loss, net, to, w, at, prior)))))
        return climb(
            f,
            pack_layers(net.layers),
            lambda v, value: watch.interrupted,
            tol=REGRESSION_GAIN * float(w.sum()),
            window=1,
            max_iter=min(REGRESSION_STEPS, int(self.max_iter)) + 1,
        )

    # rows ---------------------------------------------------------------------------------------------
    def _posterior(self, params: NonlinearFAParams, block: Block) -> Posterior:
        rows = _cell_rows(params, block)
        theta, bound = _row_posteriors(params, rows)
        return _gaussian(theta, bound - rows.counts * np.log(params.size))

    def _decode(self, params: NonlinearFAParams, posterior: Posterior) -> Cells:
        return _cells(params, posterior)

    def _draw(self, params: NonlinearFAParams, posterior: Posterior, rng: list[np.random.Generator]) -> Array:
        q, d = posterior.mean.shape[1], len(params.mean)
        normal = normals(rng, q + d)
        Y = params.net.output(posterior.mean + posterior.std * normal[:, :q])
        return (Y + np.sqrt(params.psi) * normal[:, q:]) * params.size + params.mean

    def _prior(self, params: NonlinearFAParams, n: int) -> Posterior:
        return standard(n, params.net.inputs)

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        q, sizes, points = int(self.n_components), layer_sizes(self.hidden), 3 ** int(self.n_components)
        H = sum(sizes)
        work = min(n, ROWS_A_PIECE) * points * (4 * H + 4 * d + 4 * q)
        work += SEARCH_SIDE[q] ** q * (min(n, ROWS_A_PIECE) + 2 * d)
        weights = (q + 1 + (4 if self.amortized else 1) * d + (H - min(sizes))) * H
        peak = 8 * (13 * n * d + 45 * (4 * n * q + weights) + work) + 8 * 3 * d * d  # of a table with gaps
        passes = 170 + int(self.max_iter)
        return Cost(passes, 8 * n * d * passes, peak, "a sample of rows, or fewer columns")


def _random_network(sizes: tuple[int, ...], gain: float, activation: str, rng: np.random.Generator) -> Network:
    """Drawn weights, and drawn biases of the hidden units."""
    layers = random_layers(sizes, rng, gain)
    return Network((*random_biases(layers[:-1], rng), layers[-1]), activation)


def _counting_rows(source: Source, mean: Array, size: float) -> CellRows:
    """The rows of a source that count, in the network's units."""
    x, mask = gather(source)
    x = (x - mean) / size
    rows = CellRows(x if mask is None else np.where(mask, x, 0.0), mask)
    return rows.part(slice(None) if source.weight is None else source.weight > 0.0)


def _turned(layers: Layers, turn: Array) -> Layers:
    """The network with its output in other axes."""
    W, b = layers[-1]
    return (*layers[:-1], (W @ turn, b @ turn))


def _params(problem: NonlinearFABound, v: Array) -> NonlinearFAParams:
    """The parameters in a vector, in the network's units; the cells' own where the rows stand in other axes."""
    layers, encoder = problem.net.at(v).layers, unpack_layers(v[problem.weights + 1 :], problem.encoder.layers)
    if problem.rows.axes is not None:
        layers = _turned(layers, problem.rows.axes)
    return NonlinearFAParams(
        np.zeros(len(layers[-1][1])),
        layers,
        1.0,
        problem.psi(v),
        NETWORK_NOISE_FLOOR,
        encoder,
        activation=problem.net.activation,
    )


def _cells(params: NonlinearFAParams, posterior: Posterior) -> Cells:
    """The cells of uncertain places, a few rows at a time: each has nine points, or twenty-seven."""
    n, q = posterior.mean.shape
    u, share = hermite_points(q)
    mean, var = np.empty((n, len(params.mean))), np.empty((n, len(params.mean)))
    for p in pieces(n):
        z = posterior.mean[p, None] + posterior.std[p, None] * u
        Y = params.net.output(z.reshape(-1, q)).reshape(len(z), len(u), -1)
        mean[p] = np.einsum("j,njd->nd", share, Y)
        var[p] = np.einsum("j,njd->nd", share, (Y - mean[p, None]) ** 2)
    unit = params.size**2
    return Cells(mean * params.size + params.mean, var * unit, np.full_like(mean, params.psi * unit))


def _gaussian(theta: Array, log_density: Array) -> Posterior:
    """Posteriors of (m, log s) of each row."""
    q = theta.shape[1] // 2
    i, j = lower(q)
    packed = np.zeros((len(theta), len(i)))
    packed[:, i == j] = np.exp(2.0 * theta[:, q:])
    return Posterior(theta[:, :q], packed, log_density)


def _row_posteriors(params: NonlinearFAParams, rows: CellRows) -> tuple[Array, Array]:
    """(m, log s) and the bound of each row; an encoder is trusted with complete rows, those with gaps are searched."""
    if not params.encoder:
        return search_places(params.net, params.psi, rows)
    encoder = Network(params.encoder, params.activation)
    if rows.mask is None:
        return encode(params.net, encoder, params.psi, rows)
    theta, bound = np.empty((len(rows.x), 2 * params.net.inputs)), np.empty(len(rows.x))
    whole = rows.mask.all(axis=1)
    for at, find in ((whole, partial(encode, params.net, encoder)), (~whole, partial(search_places, params.net))):
        if at.any():
            theta[at], bound[at] = find(params.psi, CellRows(rows.x[at], None if at is whole else rows.mask[at]))
    return theta, bound


def _cell_rows(params: NonlinearFAParams, block: Block) -> CellRows:
    x = (block.x - params.mean) / params.size
    mask = None if block.mask is None or block.mask.all() else block.mask
    return CellRows(x if mask is None else np.where(mask, x, 0.0), mask)
