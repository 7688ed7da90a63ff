"""Autoencoders: rows through a bottleneck and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Cost, Fit, Monitor, walking
from lowdim.engine.fold import Run, one_blas_thread, recalled
from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import Array, Mask, lower
from lowdim.maths.optimise import climb, joined, minus, parted
from lowdim.maths.seeds import AUTOENCODER_BOUND, AUTOENCODER_HELD_OUT, AUTOENCODER_TRAINING, normals
from lowdim.models.base.calibration import row_hash
from lowdim.models.base.estimator import Absent, WeightedEstimator
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import COUNT, POSITIVE, SEED, TRUTH, Rule, check_components, none_or, option, seed_of
from lowdim.models.base.results import Cells, Fitted, Posterior, certify, squared, standard
from lowdim.models.base.scores import minus_squared_error
from lowdim.models.base.survey import LARGE_ORDER, TableSurvey, is_wide, survey_table
from lowdim.models.linear.principal_axes import Spectrum, certify_spectrum, principal
from lowdim.models.nonlinear.mlp import (
    ACTIVATION,
    Adam,
    Layers,
    backward,
    forward,
    layer_sizes,
    minibatches,
    output,
    pack_layers,
    random_layers,
    unpack_layers,
)
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, gather
from lowdim.text.messages import warn

ROWS_THROUGH_NETWORK = 2048  # rows at a time: the activations of their layers stay near the cache
HELD_OUT_PERIOD = 10  # one row in so many is held out,
LEAST_HELD_OUT = 5  # unless fewer than these would be: then the training rows themselves are watched
TRAINING_PATIENCE = {"L-BFGS": 50, "Adam": 20}  # steps or epochs without a better value on the held-out rows
FOREVER = 10**9
VARIATIONAL_BATCH = 32  # noise is drawn anew for each: frozen noise inflates the bound (docs/measurements.md)
LEAST_GAIN = 1e-10  # of the variance: a step of L-BFGS that gains less is the last
LOG_RANGE = 20.0  # logarithms of posterior variances stay within +- this
EXPLAINED = "share of the variance explained"
EARLY_STOP = "the held-out rows stopped improving"
NO_AUTOENCODER_DENSITY = "an autoencoder without the variational form has no density"
FOR_A_DENSITY = "variational=True (a lower bound), NonlinearFactorAnalysis, or compare reconstruct(X) with X"
BOUND_PAIRS = 8  # draws a row, and their opposites, by which its bound is taken; the same for every row


class AutoencoderParams(NamedTuple):
    """Parameters: cells in the frame's units, less `mean`, over `spread`, go through the encoder and back."""

    mean: Array
    encoder: Layers
    decoder: Layers
    spread: Array  # 0 of a constant column, which decodes to its mean
    size: float  # one unit of the loss, in the frame's
    psi: float  # noise variance of the variational form in the loss's units, otherwise 0
    activation: str = "tanh"


class EncoderDecoder(NamedTuple):
    """Both networks, as a function of one vector."""

    encoder: Layers
    decoder: Layers
    activation: str

    @property
    def vector(self) -> Array:
        return pack_layers(self.encoder + self.decoder)

    def at(self, v: Array) -> EncoderDecoder:
        """The same networks with the weights of a vector."""
        both = unpack_layers(v, self.encoder + self.decoder)
        return self._replace(encoder=both[: len(self.encoder)], decoder=both[len(self.encoder) :])


class TrainingRows(NamedTuple):
    """Standardised rows, 0 at gaps, the weight of each column's error, the weight of each row; which cells count."""

    S: Array
    c: Array  # d, mean square 1
    w: Array
    seen: Array | None = None  # 1 where a cell was seen, 0 where not; None: all were

    def rows(self, which: NDArray[Any]) -> TrainingRows:
        return TrainingRows(self.S[which], self.c, self.w[which], None if self.seen is None else self.seen[which])

    def errors(self, decoded: Array) -> Array:
        """Errors of the seen cells, weighted by column."""
        R = (decoded - self.S) * self.c
        return R if self.seen is None else R * self.seen

    def n_seen(self, d: int) -> Array | int:
        """Seen cells of each row."""
        return d if self.seen is None else self.seen.sum(axis=1)


class VariationalVerb(Absent):
    """A verb that only the variational form has."""

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is not None and instance.variational is True:
            return getattr(LatentModel, self.name).__get__(instance, owner)
        return super().__get__(instance, owner)


class Autoencoder(WeightedEstimator, LatentModel[AutoencoderParams, Posterior]):
    """An autoencoder: a network squeezes each row into a few numbers, another makes the row of them again.

    z = f(x),  x = g(z) + e,  f and g perceptrons with the same hidden layers (mirrored in g) that minimise the squared
    error of the cells, like PCA in the table's units. Without hidden layers the answer is PCA's, and solved as such.
    Otherwise L-BFGS on all rows, or Adam on minibatches; a tenth of the rows (by a hash of their cells, so equal rows
    stay together) is held out if that is five or more, and the weights that do best on it are kept. The variational
    form has z ~ N(0, I), f gives mean and variance, and the evidence bound is maximised: it can `sample`, and its
    `score_samples` is the bound of each row, a lower limit of its log density (by 16 draws, the same for every row).
    Gaps enter as column means and do not count in the loss.

    Attributes
    ----------
    mean_ : array, d
        The columns' means.
    components_ : array, q x d
        The principal axes; only without hidden layers.
    held_out_ : int
        Rows held out; only with hidden layers.
    noise_variance_ : float
        Variance of e, in the units the table is reported in; only of the variational form.
    n_components_ : int
        q.
    objective_, history_ : float, array
        The share of the variance explained (of the variational form the evidence bound a row, in nats), on the
        held-out rows where there are any, and its values step by step.
    n_iter_, converged_, certificate_ : int, bool, Certificate
        Steps or epochs, whether they ended by themselves, and how far the numbers can be trusted.

    References
    ----------
    P. Baldi, K. Hornik: Neural networks and principal component analysis: learning from examples without local minima.
    Neural Networks 2(1), 53-58 (1989), for the linear case.
    G. E. Hinton, R. R. Salakhutdinov: Reducing the dimensionality of data with neural networks. Science 313(5786),
    504-507 (2006).
    D. P. Kingma, M. Welling: Auto-encoding variational Bayes. International Conference on Learning Representations
    (2014).

    Examples
    --------
    >>> t = np.linspace(0, 3, 200)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> bool(abs(Autoencoder(1, hidden=8).fit(X).reconstruct(X) - X).max() < 0.05)
    True
    """

    n_parameters_ = bic = aic = Absent("it has no density, or in the variational form a bound", "DensityNetwork")
    score_samples = VariationalVerb(NO_AUTOENCODER_DENSITY, FOR_A_DENSITY)
    sample = VariationalVerb(NO_AUTOENCODER_DENSITY, "variational=True")
    posterior = VariationalVerb("it places a row at one point", "transform, or variational=True")
    impute = Absent("its cells have no spread", "reconstruct, or lowdim fill FILE -o FILLED")
    _laws_broken: ClassVar[dict[str, str]] = {
        "objective_never_falls": "it watches rows that were held out",
        "score_is_objective": NO_AUTOENCODER_DENSITY,
        "sample_then_fit": "only the variational form can sample",
        "all_missing_row_gets_prior": "a row without cells is encoded as the mean row, which may lie anywhere",
        "impute_keeps_seen": "its cells have no spread",
    }

    n_components: int = option(default=2, rule=COUNT, words="Numbers q that a row is squeezed into.", kw_only=False)
    hidden: int | tuple[int, ...] = option(
        default=20,
        rule=Rule(lambda v: layer_sizes(v) is not None, "a whole number >= 1, a tuple of such numbers, or () for none"),
        words="Units of the hidden layer, or of each, from the cells inwards; () for none.",
        kind="int or tuple of int",
    )
    activation: str = ACTIVATION
    batch_size: int | None = option(
        default=None,
        rule=none_or(COUNT, "L-BFGS on all rows"),
        words="Rows of a step of Adam; None: L-BFGS on all rows (the variational form: Adam on 32).",
    )
    learning_rate: float = option(default=1e-3, rule=POSITIVE, words="About how far Adam moves a weight in a step.")
    variational: bool = option(default=False, rule=TRUTH, words="The variational form.")
    standardize: bool = option(default=False, rule=TRUTH, words="Errors count in units of each column's spread.")
    max_iter: int = option(default=1000, rule=COUNT, words="Steps of L-BFGS, or epochs of Adam, at most.")
    random_state: Any = option(default=0, rule=SEED, words="Draws the first weights, batches and noise; None is 0.")

    # fitting ------------------------------------------------------------------------------------------
    @property
    def _linear(self) -> bool:
        return len(layer_sizes(self.hidden)) == 0 and not self.variational

    def _fit(self, source: Source, run: Run) -> Fitted:
        wide = is_wide(source.n, source.d) or not self._linear
        survey = survey_table(source, run, standardize=self.standardize, wide=wide, pairs_matter=False)
        most = min(source.n, source.d) if self._linear else source.d
        check_components(self.n_components, most, f"the table has {source.n} rows and {source.d} columns")
        if self._linear and not survey.gaps:
            return _linear_fit(principal(survey, self.n_components, run), survey)
        x, mask = gather(source)
        # Standardised rows; a column's error counts by its spread, so that the loss is in the table's units.
        sd = np.sqrt(survey.columns.variance)
        S = (survey.frame.inward(Block(x, mask)).x - survey.columns.mean) / _divisor(sd)
        seen = None if mask is None else mask.astype(np.float64)
        S = S if seen is None else S * seen
        w = np.ones(len(S)) if source.weight is None else np.asarray(source.weight, dtype=np.float64)
        task = TrainingRows(S, sd / (np.sqrt((sd**2).mean()) or 1.0), w, seen)
        counts = task.w > 0.0
        held = _held_out_rows(x[counts])
        fit = self._train(survey, task.rows(counts), held, run)
        return self._fitted(fit._replace(passes=fit.passes + survey.passes + 1), int(held.sum()), survey.frame)

    def _train(self, survey: TableSurvey, task: TrainingRows, held: Mask, run: Run) -> Fit:
        """Down the loss of the training rows, to where the held-out ones fare best."""
        q, d = int(self.n_components), task.S.shape[1]
        sizes = (d, *layer_sizes(self.hidden))
        rng = np.random.default_rng([seed_of(self.random_state), AUTOENCODER_TRAINING])
        encoder = random_layers((*sizes, 2 * q if self.variational else q), rng)
        nets = EncoderDecoder(encoder, random_layers((q, *sizes[::-1]), rng), self.activation)
        watched, learnt = task.rows(held) if held.any() else task, task.rows(~held)
        solver = "L-BFGS" if self.batch_size is None and not self.variational else "Adam"
        with one_blas_thread(), Monitor(run, "Autoencoder", -1.0, int(self.max_iter)) as watch:
            patience = TRAINING_PATIENCE[solver] if held.any() else FOREVER
            progress = _TrainingProgress(watch, partial(self._validation_value, nets, watched), patience)
            (self._descend if solver == "L-BFGS" else self._descend_in_batches)(nets, learnt, progress, run)
            fit = watch.fit(solver)
        last = watch.history[-1]
        if not fit.objective - last <= (d if self.variational else 1.0) or watch.history[0] == fit.objective > last:
            warn("LD480", best=int(np.argmax(watch.history)) + 1, epochs=len(watch.history), value=f"{last:.3g}")
        size = float(np.sqrt(survey.columns.variance.mean())) or 1.0
        move = float(survey.frame.log_stretch(None)) - d * float(np.log(size)) if self.variational else 0.0  # a row's
        return fit._replace(
            params=self._params(nets.at(fit.params), survey, size, float(fit.params[-1])),
            converged=progress.reason in ("converged", EARLY_STOP),
            reason=progress.reason,
            remaining=0.0,
            objective=fit.objective + move,
            history=tuple(v + move for v in fit.history),
        )

    def _params(self, nets: EncoderDecoder, survey: TableSurvey, size: float, log_psi: float) -> AutoencoderParams:
        psi = float(np.exp(np.clip(log_psi, -LOG_RANGE, LOG_RANGE))) if self.variational else 0.0
        mean, spread = survey.columns.mean, np.sqrt(survey.columns.variance)
        return AutoencoderParams(mean, nets.encoder, nets.decoder, spread, size, psi, nets.activation)

    def _validation_value(self, nets: EncoderDecoder, task: TrainingRows, v: Array) -> float:
        """The share of variance explained; of the variational form the bound a row, with one fixed draw of noise."""
        rng = np.random.default_rng(AUTOENCODER_BOUND) if self.variational else None
        with np.errstate(over="ignore", invalid="ignore"):
            value, _ = _loss(nets, task, v, rng)
        return -value if self.variational else 1.0 - value

    def _descend(self, nets: EncoderDecoder, task: TrainingRows, progress: _TrainingProgress, run: Run) -> None:
        """L-BFGS on all rows."""
        f = parted(recalled(run, "loss", joined(minus(lambda v: _loss(nets, task, v, None)))))
        peak = climb(
            f,
            nets.vector,
            lambda v, value: progress.stop(v, progress.value_of(v)),
            max_iter=int(self.max_iter),
            tol=LEAST_GAIN,
            window=1,
        )
        progress.end(peak.reason == "converged")

    def _descend_in_batches(
        self, nets: EncoderDecoder, task: TrainingRows, progress: _TrainingProgress, run: Run
    ) -> None:
        """Adam, epoch by epoch."""
        adam = Adam.start(np.append(nets.vector, 0.0) if self.variational else nets.vector)
        value, epoch = progress.value_of(adam.x), 0
        while not progress.stop(adam.x, value) and np.isfinite(adam.x).all():
            epoch += 1
            f = recalled(run, f"epoch {epoch}", partial(self._epoch, nets, task, epoch, progress.value_of))
            value, *state = f(adam.pack())
            adam = Adam.unpack(np.array(state))
        progress.end(False)

    def _epoch(
        self, nets: EncoderDecoder, task: TrainingRows, number: int, value_of: Callable[[Array], float], v: Array
    ) -> Array:
        """Every row once; batches and noise are drawn by the epoch's number alone. Its value, then Adam's state."""
        adam = Adam.unpack(v)
        rng = np.random.default_rng([seed_of(self.random_state), AUTOENCODER_TRAINING, number])
        size = VARIATIONAL_BATCH if self.batch_size is None else int(self.batch_size)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in minibatches(len(task.S), size, rng):
                _, slope = _loss(nets, task.rows(rows), adam.x, rng if self.variational else None)
                adam = adam.step(slope, float(self.learning_rate))
        return np.append(value_of(adam.x), adam.pack())

    # rows ---------------------------------------------------------------------------------------------
    def _posterior(self, params: AutoencoderParams, block: Block) -> Posterior:
        q = params.decoder[0][0].shape[0]
        off = block.x - params.mean
        mask = None if block.mask is None or block.mask.all() else block.mask
        off = off if mask is None else off * mask  # a gap enters as the column's mean
        code = output(params.encoder, off / _divisor(params.spread), params.activation)
        i, j = lower(q)
        packed = np.zeros((len(block.x), len(i)))
        if code.shape[1] == q:
            return Posterior(code, packed, np.zeros(len(block.x)))
        packed[:, i == j] = np.exp(np.clip(code[:, q:], -LOG_RANGE, LOG_RANGE))
        return _with_bounds(params, block.x, mask, Posterior(code[:, :q], packed, np.zeros(len(block.x))))

    def _decode(self, params: AutoencoderParams, posterior: Posterior) -> Cells:
        mean = _decode_places(params, posterior.mean)
        return Cells(mean, np.zeros_like(mean), np.full_like(mean, params.psi * params.size**2))

    def _draw(self, params: AutoencoderParams, posterior: Posterior, rng: list[np.random.Generator]) -> Array:
        q, d = posterior.mean.shape[1], len(params.mean)
        normal = normals(rng, q + d)
        cells = self._decode(params, posterior._replace(mean=posterior.mean + posterior.std * normal[:, :q]))
        return np.where(params.spread > 0, cells.mean + np.sqrt(cells.noise) * normal[:, q:], cells.mean)

    def _prior(self, params: AutoencoderParams, n: int) -> Posterior:
        return standard(n, params.decoder[0][0].shape[0])

    def _axes(self, params: AutoencoderParams) -> Array:
        """Scores of the linear form are lengths in the table's units, as PCA's; codes of a network have no unit."""
        one = np.eye(params.decoder[0][0].shape[0])
        return one * float(self.frame_.report[0]) if len(params.encoder) == 1 and params.psi == 0.0 else one

    # what a fit leaves ----------------------------------------------------------------------------------
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> float:
        """Minus the mean squared error of the seen cells as `reconstruct` makes them; if variational, the bound."""
        if self.variational is True:
            return super().score(X, y, sample_weight=sample_weight, run=run)
        check_is_fitted(self)
        return minus_squared_error(self, X, sample_weight)

    def _fitted(self, fit: Fit[AutoencoderParams, Any], held_out: int, frame: Frame) -> Fitted:
        p = fit.params
        name = "evidence bound a row" if self.variational else EXPLAINED
        where = f" of {held_out} held-out rows" if held_out else ""
        notes = ("one of many local optima: another random_state may do better",)
        certificate = certify(fit, name + where, residual=0.0, digits=0.0, notes=notes)
        attributes = {"mean_": frame.outward(p.mean), "n_components_": p.decoder[0][0].shape[0], "held_out_": held_out}
        if self.variational:
            noise = squared(np.array([p.psi * p.size**2]), float(frame.report[0]))
            attributes["noise_variance_"] = float(noise[0])
        return Fitted(p, frame, certificate, attributes, fit.history)

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        if self._linear:
            peak = walking(n, d, 6 * min(n, 8192) * d, 3 * d * d) + 8 * 9 * min(d, LARGE_ORDER) ** 2
            most = max(48, 6 + int(self.max_iter))  # with gaps its loss is descended, as that of a network
            return Cost(most, 8 * 48 * n * d, peak + 8 * 5 * n * d, "fewer columns")
        units = [d, *layer_sizes(self.hidden), 2 * int(self.n_components)]
        weights = 2 * sum((a + 1) * b for a, b in pairwise(units))
        peak = 8 * (5 * n * d + 6 * min(n, ROWS_THROUGH_NETWORK) * (2 * sum(units) + d) + 50 * weights)
        most, fix = int(self.max_iter), "a sample of rows, or fewer columns"
        return Cost(6 + most, 8 * n * d * 4, peak, fix)


class _TrainingProgress:
    """Notifies the monitor of each step, and stops a descent that no longer helps the held-out rows."""

    def __init__(self, watch: Monitor, value_of: Callable[[Array], float], patience: int) -> None:
        self.watch, self.value_of, self.patience = watch, value_of, patience
        self.reason, self.since, self.best = "", 0, -np.inf

    def stop(self, v: Array, value: float) -> bool:
        self.watch.see(v.copy(), None, value if np.isfinite(value) else -1e300, True)
        self.since = 0 if value > self.best + 1e-6 * abs(self.best) else self.since + 1
        self.best = max(self.best, value) if np.isfinite(value) else self.best
        self.reason = self.watch.reason or (EARLY_STOP if self.since >= self.patience else "")
        return bool(self.reason)

    def end(self, settled: bool) -> None:
        self.reason = self.reason or ("converged" if settled else "the weights were no longer finite")


def _linear_fit(spectrum: Spectrum, survey: TableSurvey) -> Fitted:
    """The linear autoencoder: PCA's axes are the best there are (Baldi and Hornik)."""
    V = spectrum.vectors
    d, q = V.shape
    encoder, decoder = ((V, np.zeros(q)),), ((np.ascontiguousarray(V.T), np.zeros(d)),)
    params = AutoencoderParams(spectrum.mean, encoder, decoder, np.ones(d), 1.0, 0.0)
    value = 1.0 - spectrum.tail / spectrum.total if spectrum.total > 0 else 1.0
    certificate = certify_spectrum(spectrum, value, EXPLAINED, spectrum.passes + survey.passes)
    attributes = {"mean_": survey.frame.outward(params.mean), "n_components_": q, "components_": decoder[0][0]}
    return Fitted(params, survey.frame, certificate, attributes, (value,))


def _decode_places(params: AutoencoderParams, z: Array) -> Array:
    return output(params.decoder, z, params.activation) * params.spread + params.mean


def _with_bounds(params: AutoencoderParams, x: Array, mask: Mask | None, posterior: Posterior) -> Posterior:
    """The posterior with the bound of each row as its log density."""
    half = np.random.default_rng(AUTOENCODER_BOUND).standard_normal((BOUND_PAIRS, posterior.mean.shape[1]))
    m, s, unit = posterior.mean, posterior.std, params.psi * params.size**2
    seen = np.ones(x.shape[1]) if mask is None else mask
    error_squares = [(((x - _decode_places(params, m + s * e)) * seen) ** 2).sum(axis=1) for e in (*half, *-half)]
    square, count = np.mean(error_squares, axis=0), x.shape[1] if mask is None else mask.sum(axis=1)
    divergence = 0.5 * (m**2 + s**2 - 2.0 * np.log(s) - 1.0).sum(axis=1)
    likelihood = -0.5 * square / unit - 0.5 * count * (LOG_TWO_PI + np.log(unit))
    return posterior._replace(log_density=likelihood - divergence)


def _divisor(sd: Array) -> Array:
    return np.where(sd > 0, sd, 1.0)


def _held_out_rows(x: Array) -> Mask:
    """About a tenth of the rows by a hash of their cells: not order, copies, weights or seeds change them."""
    keys = np.random.default_rng(AUTOENCODER_HELD_OUT).integers(2**63, size=(x.shape[1],), dtype=np.uint64)
    held = (row_hash(x, keys) >> np.uint64(40)) % np.uint64(HELD_OUT_PERIOD) == 0
    return held if LEAST_HELD_OUT <= held.sum() <= len(x) // 2 else np.zeros(len(x), dtype=bool)


def _loss(like: EncoderDecoder, task: TrainingRows, v: Array, rng: np.random.Generator | None) -> tuple[float, Array]:
    """Loss and gradient over rows, a piece at a time: mean squared error, or minus the bound where noise is drawn."""
    nets = like.at(v)
    total, gradient, weight = 0.0, np.zeros_like(v), float(task.w.sum())
    for begin in range(0, len(task.S), ROWS_THROUGH_NETWORK):
        part = task.rows(np.arange(begin, min(begin + ROWS_THROUGH_NETWORK, len(task.S))))
        if rng is None:
            value, slope = _squared_error(nets, part)
        else:
            value, slope = _negative_bound(nets, part, float(v[-1]), rng)
        total += value
        gradient += slope
    return total / weight, gradient / weight


def _squared_error(nets: EncoderDecoder, task: TrainingRows) -> tuple[float, Array]:
    unit = nets.activation
    code = forward(nets.encoder, task.S, unit)
    back = forward(nets.decoder, code[-1], unit)
    R = task.errors(back[-1])
    d = R.shape[1]
    by_decoder, dZ = backward(nets.decoder, back, R * (task.c * (2.0 / d)) * task.w[:, None], unit)
    by_encoder, _ = backward(nets.encoder, code, dZ, unit)
    return float(task.w @ (R**2).sum(axis=1)) / d, pack_layers(by_encoder + by_decoder)


def _negative_bound(
    nets: EncoderDecoder, task: TrainingRows, log_psi: float, rng: np.random.Generator
) -> tuple[float, Array]:
    """Minus the evidence bound with one draw a row, z = m + s e; the last parameter is log psi."""
    unit = nets.activation
    code = forward(nets.encoder, task.S, unit)
    q, w, psi = code[-1].shape[1] // 2, task.w[:, None], np.exp(np.clip(log_psi, -LOG_RANGE, LOG_RANGE))
    m, raw = code[-1][:, :q], code[-1][:, q:]
    lv = np.clip(raw, -LOG_RANGE, LOG_RANGE)
    e, s = rng.standard_normal(m.shape), np.exp(0.5 * lv)
    back = forward(nets.decoder, m + s * e, unit)
    R = task.errors(back[-1])
    square, d = (R**2).sum(axis=1), task.n_seen(R.shape[1])
    each = 0.5 * square / psi + 0.5 * d * (np.log(psi) + LOG_TWO_PI) + 0.5 * (m**2 + s**2 - lv - 1.0).sum(axis=1)
    by_decoder, dZ = backward(nets.decoder, back, R * task.c / psi * w, unit)
    by_lv = np.where(raw == lv, 0.5 * (dZ * s * e + w * (s**2 - 1.0)), 0.0)
    by_encoder, _ = backward(nets.encoder, code, np.hstack([dZ + w * m, by_lv]), unit)
    by_psi = float(task.w @ (0.5 * d - 0.5 * square / psi))
    return float(task.w @ each), np.append(pack_layers(by_encoder + by_decoder), by_psi)
