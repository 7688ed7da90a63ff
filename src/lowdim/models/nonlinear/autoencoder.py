"""Autoencoders: rows through a bottleneck and back."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fold import Run, one_blas_thread, recalled
from lowdim.engine.monitor import Fit, Monitor
from lowdim.engine.plan import Cost, walking
from lowdim.math.gaussian import LOG_TWO_PI
from lowdim.math.linalg import Array, Mask, lower
from lowdim.math.mlp import Adam, Layers, backward, batches, drawn, forward, output, pack, unpack
from lowdim.math.optimise import climb, joined, minus, parted
from lowdim.models.base.calibration import row_hash
from lowdim.models.base.estimator import COUNT, POSITIVE, SEED_WORDS, TRUTH, Absent, Rule, is_seed, seed_of
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, squared, standard
from lowdim.models.base.survey import LARGE_ORDER, TableSurvey, is_wide, survey_table, warn_spread
from lowdim.models.linear.principal_axes import Spectrum, principal
from lowdim.sources.source import Block, Header, Source
from lowdim.sources.views import Frame, gather
from lowdim.text.messages import error, warn

PIECE = 2048  # rows through the network at a time: what their layers say stays near the cache
HELD = 10  # one row in so many is held out,
FEW = 5  # unless fewer than these would be: then the training rows themselves are watched
PATIENCE = {"L-BFGS": 50, "Adam": 20}  # steps or epochs without a better value on the held-out rows
BATCH = 32  # of the variational form: its noise is drawn anew, frozen noise would inflate the bound (spec, algorithms)
SETTLED = 1e-10  # of the variance: a step of L-BFGS that gains less is the last
RANGE = 20.0  # logarithms of posterior variances stay within +- this
GAPS = "fill the gaps first: ProbabilisticPCA(k).fit(X).impute(X), or  lowdim fill FILE -o FILLED"
WHY_NOT = "an autoencoder without the variational form has no density"
INSTEAD = "variational=True (a lower bound), NonlinearFactorAnalysis, or compare reconstruct(X) with X"
PAIRS = 8  # draws a row, and their opposites, that say what its bound is; the same for every row


class Coder(NamedTuple):
    """Parameters: cells in the frame's units, less `mean`, over `spread`, go through the encoder and back."""

    mean: Array
    encoder: Layers
    decoder: Layers
    spread: Array  # 0 of a constant column, which decodes to its mean
    size: float  # what one unit of the loss is worth in the frame's
    psi: float  # noise variance of the variational form in the loss's units, otherwise 0


class Task(NamedTuple):
    """What is minimised: standardised rows, what each column's error counts, what each row does."""

    S: Array
    c: Array  # d, mean square 1
    w: Array

    def rows(self, some: NDArray[Any]) -> Task:
        return Task(self.S[some], self.c, self.w[some])


class VariationalOnly(Absent):
    """A verb that only the variational form has."""

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is not None and instance.variational is True:
            return getattr(LatentModel, self.name).__get__(instance, owner)
        return super().__get__(instance, owner)


class Autoencoder(LatentModel):
    """An autoencoder: a network squeezes each row into a few numbers, another makes the row of them again.

    z = f(x),  x = g(z) + e,  f and g perceptrons of tanh layers `hidden` (mirrored in g) that minimise the squared
    error of the cells, like PCA in the table's units (`standardize=True`: in units of each column's spread).
    Without hidden layers the answer is PCA's, and solved as such. Otherwise L-BFGS on all rows, or Adam on
    minibatches of `batch_size`; a tenth of the rows (by a hash of their cells, so equal rows stay together) is held
    out if that is five or more, and the weights that do best on it are kept. `variational=True`: z ~ N(0, I), f gives
    mean and variance, and the evidence bound is maximised; such a model can `sample`, and its `score_samples` is the
    bound of each row, a lower limit of its log density (by 16 draws, the same for every row). Tables with gaps are
    refused.

    Reference: Kipf seed on autoencoders; Baldi and Hornik (1989) for the linear case; Kingma and Welling (2014).

    >>> t = np.linspace(0, 3, 200)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> bool(abs(Autoencoder(1, hidden=(8,)).fit(X).reconstruct(X) - X).max() < 0.05)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "hidden": Rule(
            lambda v: isinstance(v, tuple | list) and all(COUNT.holds(k) for k in v),
            "a tuple of whole numbers >= 1, or () for none",
        ),
        "batch_size": Rule(lambda v: v is None or COUNT.holds(v), "None (L-BFGS on all rows), or a whole number >= 1"),
        "learning_rate": POSITIVE,
        "variational": TRUTH,
        "standardize": TRUTH,
        "max_iter": COUNT,
        "random_state": Rule(is_seed, SEED_WORDS),
    }
    score = VariationalOnly(WHY_NOT, INSTEAD)
    score_samples = VariationalOnly(WHY_NOT, INSTEAD)
    sample = VariationalOnly(WHY_NOT, "variational=True")
    posterior = VariationalOnly("it places a row at one point", "transform, or variational=True")
    impute = Absent("gaps are refused", GAPS)
    _laws_broken: ClassVar[dict[str, str]] = {
        "objective_never_falls": "it watches rows that were held out",
        "score_is_objective": WHY_NOT,
        "sample_then_fit": "only the variational form can sample",
        "all_missing_row_gets_prior": "gaps are refused",
        "impute_keeps_seen": "gaps are refused",
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        hidden: Any = (20,),
        batch_size: int | None = None,
        learning_rate: float = 1e-3,
        variational: bool = False,
        standardize: bool = False,
        max_iter: int = 1000,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.hidden = hidden
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.variational = variational
        self.standardize = standardize
        self.max_iter = max_iter
        self.random_state = random_state

    # fitting ------------------------------------------------------------------------------------------
    @property
    def _linear(self) -> bool:
        return len(self.hidden) == 0 and not self.variational

    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        wide = is_wide(source.n, source.d) or not self._linear
        seen = survey_table(source, run, standardize=self.standardize, wide=wide)
        if seen.gaps:
            raise error(
                "LD163",
                f"{seen.columns.holes:g} cells (NaN)",
                job="Autoencoder",
                why="its first layer needs every cell of a row",
                fix=GAPS,
            )
        if not self.standardize:
            warn_spread(seen)
        most = min(source.n, source.d) if self._linear else source.d
        if self.n_components > most:
            raise error(
                "LD200", asked=self.n_components, most=most, why=f"the table has {source.n} rows and {source.d} columns"
            )
        if self._linear:
            return _closed(principal(seen, self.n_components, run), seen.passes), seen.frame
        x, _ = gather(source)
        task = _task(seen, x)
        counts = task.w > 0.0
        fit = self._trained(seen, task.rows(counts), _held(x[counts]), run)
        return fit._replace(passes=fit.passes + seen.passes + 1), seen.frame

    def _trained(self, seen: TableSurvey, task: Task, held: Mask, run: Run) -> Fit:
        """Down the loss of the training rows, to where the held-out ones fare best."""
        q, d = int(self.n_components), task.S.shape[1]
        rng = np.random.default_rng([seed_of(self.random_state), 81])
        sizes = (d, *map(int, self.hidden))
        coder = (drawn((*sizes, 2 * q if self.variational else q), rng), drawn((q, *sizes[::-1]), rng))
        watched = task.rows(held) if held.any() else task
        learnt = task.rows(~held)
        solver = "L-BFGS" if self.batch_size is None and not self.variational else "Adam"
        with one_blas_thread(), Monitor(run, "Autoencoder", -1.0, int(self.max_iter)) as watch:
            progress = _Progress(watch, partial(self._worth, coder, watched), PATIENCE[solver] if held.any() else 10**9)
            way = self._down if solver == "L-BFGS" else self._minibatches
            way(coder, learnt, progress, run)
            fit = watch.fit(solver)
        last = watch.history[-1]
        if not fit.objective - last <= (d if self.variational else 1.0) or watch.history[0] == fit.objective > last:
            warn("LD480", best=int(np.argmax(watch.history)) + 1, epochs=len(watch.history), value=f"{last:.3g}")
        encoder, decoder = _layers(fit.params, coder)
        size = float(np.sqrt(seen.columns.variance.mean())) or 1.0
        psi = float(np.exp(np.clip(fit.params[-1], -RANGE, RANGE))) if self.variational else 0.0
        params = Coder(seen.columns.mean, encoder, decoder, np.sqrt(seen.columns.variance), size, psi)
        calm = progress.reason in ("converged", EARLY)
        move = float(seen.frame.log_stretch(None)) - d * float(np.log(size)) if self.variational else 0.0  # a row's
        return fit._replace(
            params=params,
            stats=int(held.sum()),
            converged=calm,
            reason=progress.reason,
            remaining=0.0,
            objective=fit.objective + move,
            history=tuple(v + move for v in fit.history),
        )

    def _worth(self, coder: tuple[Layers, Layers], task: Task, v: Array) -> float:
        """The share of variance explained; of the variational form the bound a row, with one fixed draw of noise."""
        rng = np.random.default_rng(82) if self.variational else None
        with np.errstate(over="ignore", invalid="ignore"):
            value, _ = _loss(coder, task, v, rng)
        return -value if self.variational else 1.0 - value

    def _down(self, coder: tuple[Layers, Layers], task: Task, progress: _Progress, run: Run) -> None:
        f = parted(recalled(run, "loss", joined(minus(lambda v: _loss(coder, task, v, None)))))
        peak = climb(
            f,
            pack(coder[0] + coder[1]),
            lambda v, value: progress.stop(v, progress.worth(v)),
            max_iter=int(self.max_iter),
            tol=SETTLED,
            window=1,
        )
        progress.end(peak.reason == "converged")

    def _minibatches(self, coder: tuple[Layers, Layers], task: Task, progress: _Progress, run: Run) -> None:
        start = pack(coder[0] + coder[1])
        adam = Adam.start(np.append(start, 0.0) if self.variational else start)
        value, epoch = progress.worth(adam.x), 0
        while not progress.stop(adam.x, value) and np.isfinite(adam.x).all():
            epoch += 1
            f = recalled(run, f"epoch {epoch}", partial(self._epoch, coder, task, epoch, progress.worth))
            value, *state = f(adam.pack())
            adam = Adam.unpack(np.array(state))
        progress.end(False)

    def _epoch(self, coder: tuple[Layers, Layers], task: Task, number: int, worth: Any, v: Array) -> Array:
        """Every row once; batches and noise are drawn by the epoch's number alone. What it is worth comes first."""
        adam = Adam.unpack(v)
        rng = np.random.default_rng([seed_of(self.random_state), 81, number])
        size = BATCH if self.batch_size is None else int(self.batch_size)
        with np.errstate(over="ignore", invalid="ignore"):
            for some in batches(len(task.S), size, rng):
                _, slope = _loss(coder, task.rows(some), adam.x, rng if self.variational else None)
                adam = adam.step(slope, float(self.learning_rate))
        return np.append(worth(adam.x), adam.pack())

    # rows ---------------------------------------------------------------------------------------------
    def _posterior(self, params: Coder, block: Block) -> Posterior:
        if block.mask is not None and not block.mask.all():
            row, j = np.argwhere(~block.mask)[0]
            raise error(
                "LD163",
                f"row {block.start + row + 1}, column {j + 1} (NaN)",
                job="Autoencoder",
                why="its first layer needs every cell of a row",
                fix=GAPS,
            )
        q = params.decoder[0][0].shape[0]
        found = output(params.encoder, (block.x - params.mean) / _divisor(params.spread))
        i, j = lower(q)
        packed = np.zeros((block.rows, len(i)))
        if found.shape[1] == q:
            return Posterior(found, packed, np.zeros(block.rows))
        packed[:, i == j] = np.exp(np.clip(found[:, q:], -RANGE, RANGE))
        return _evidence(params, block.x, Posterior(found[:, :q], packed, np.zeros(block.rows)))

    def _decode(self, params: Coder, found: Posterior) -> Cells:
        mean = _cells(params, found.mean)
        return Cells(mean, np.zeros_like(mean), np.full_like(mean, params.psi * params.size**2))

    def _draw(self, params: Coder, found: Posterior, rng: list[np.random.Generator]) -> Array:
        q, d = found.mean.shape[1], len(params.mean)
        normal = np.array([r.standard_normal(q + d) for r in rng]).reshape(len(rng), q + d)
        cells = self._decode(params, found._replace(mean=found.mean + found.std * normal[:, :q]))
        return np.where(params.spread > 0, cells.mean + np.sqrt(cells.noise) * normal[:, q:], cells.mean)

    def _prior(self, params: Coder, n: int) -> Posterior:
        return standard(n, params.decoder[0][0].shape[0])

    def _axes(self, params: Coder) -> Array:
        """Scores of the linear form are lengths in the table's units, as PCA's; codes of a network have no unit."""
        one = np.eye(params.decoder[0][0].shape[0])
        return one * float(self.frame_.report[0]) if len(params.encoder) == 1 and params.psi == 0.0 else one

    # what it says ---------------------------------------------------------------------------------------
    def _attributes(self, params: Coder, frame: Frame, fit: Fit) -> dict[str, Any]:
        found = {"mean_": frame.outward(params.mean), "n_components_": params.decoder[0][0].shape[0]}
        if isinstance(fit.stats, Spectrum):
            return {**found, "components_": np.ascontiguousarray(params.decoder[0][0])}
        noise = squared(np.array([params.psi * params.size**2]), float(frame.report[0]))
        return {**found, "held_out_": fit.stats, **({"noise_variance_": float(noise[0])} if self.variational else {})}

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        if isinstance(fit.stats, Spectrum):
            s = fit.stats
            return Certificate(
                fit.solver,
                fit.passes,
                fit.objective,
                "share of the variance explained",
                True,
                fit.reason,
                s.residual,
                s.orthogonality,
                s.condition,
                s.digits,
                (),
                (),
            )
        name = "evidence bound a row" if self.variational else "share of the variance explained"
        where = f" of {fit.stats} held-out rows" if fit.stats else ""
        return Certificate(
            fit.solver,
            fit.passes,
            fit.objective,
            name + where,
            fit.converged,
            fit.reason,
            0.0,
            0.0,
            1.0,
            0.0,
            (),
            ("one of many local optima: another random_state may do better",),
        )

    def _cost(self, n: int, d: int) -> Cost:
        if self._linear:
            peak = walking(n, d, 6 * min(n, 8192) * d, 3 * d * d) + 8 * 9 * min(d, LARGE_ORDER) ** 2
            return Cost(48, 8 * 48 * n * d, peak + 8 * 4 * n * d * int(d > n), "fewer columns", 3)
        units = [d, *map(int, self.hidden), 2 * int(self.n_components)]
        weights = 2 * sum((a + 1) * b for a, b in pairwise(units))
        peak = 8 * (5 * n * d + 6 * min(n, PIECE) * (2 * sum(units) + d) + 50 * weights)
        return Cost(
            6 + int(self.max_iter),
            8 * n * d * 4,
            peak,
            "a sample of rows, or fewer columns",
            min(200, int(self.max_iter)),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


EARLY = "the held-out rows stopped improving"


class _Progress:
    """Tells the monitor of each step, and when enough is enough."""

    def __init__(self, watch: Monitor, worth: Any, patience: int) -> None:
        self.watch, self.worth, self.patience = watch, worth, patience
        self.reason, self.since, self.best = "", 0, -np.inf

    def stop(self, v: Array, value: float) -> bool:
        self.watch.see(v.copy(), None, value if np.isfinite(value) else -1e300, True)
        self.since = 0 if value > self.best + 1e-6 * abs(self.best) else self.since + 1
        self.best = max(self.best, value) if np.isfinite(value) else self.best
        self.reason = self.watch.reason or (EARLY if self.since >= self.patience else "")
        return bool(self.reason)

    def end(self, settled: bool) -> None:
        self.reason = self.reason or ("converged" if settled else "the weights were no longer finite")


def _closed(found: Spectrum, passes: int) -> Fit:
    """The linear autoencoder: PCA's axes (Baldi and Hornik)."""
    d, q = found.vectors.shape
    V = found.vectors
    there, back = ((V, np.zeros(q)),), ((np.ascontiguousarray(V.T), np.zeros(d)),)
    coder = Coder(found.mean, there, back, np.ones(d), 1.0, 0.0)
    value = 1.0 - found.tail / found.total if found.total > 0 else 1.0
    return Fit(coder, found, value, (value,), found.passes + passes, True, "closed form", found.solver)


def _cells(params: Coder, z: Array) -> Array:
    """What places decode to."""
    return np.asarray(output(params.decoder, z) * params.spread + params.mean)


def _evidence(params: Coder, x: Array, found: Posterior) -> Posterior:
    """With the bound of each row as its log density."""
    half = np.random.default_rng(82).standard_normal((PAIRS, found.mean.shape[1]))
    m, s, unit = found.mean, found.std, params.psi * params.size**2
    square = np.mean([((x - _cells(params, m + s * e)) ** 2).sum(axis=1) for e in (*half, *-half)], axis=0)
    apart = 0.5 * (m**2 + s**2 - 2.0 * np.log(s) - 1.0).sum(axis=1)
    return found._replace(log_density=-0.5 * square / unit - 0.5 * x.shape[1] * (LOG_TWO_PI + np.log(unit)) - apart)


def _divisor(sd: Array) -> Array:
    return np.where(sd > 0, sd, 1.0)


def _task(seen: TableSurvey, x: Array) -> Task:
    """Standardised rows; a column's error counts by its spread, so that the loss is in the table's units."""
    sd = np.sqrt(seen.columns.variance)
    S = (seen.frame.inward(Block(x)).x - seen.columns.mean) / _divisor(sd)
    c = sd / (np.sqrt((sd**2).mean()) or 1.0)
    w = seen.source.weight
    return Task(S, c, np.ones(len(S)) if w is None else np.asarray(w, dtype=np.float64))


def _held(x: Array) -> Mask:
    """About a tenth of the rows by a hash of their cells: not order, copies, weights or seeds change them."""
    keys = np.random.default_rng(83).integers(2**63, size=(x.shape[1],), dtype=np.uint64)
    found = np.asarray((row_hash(x, keys) >> np.uint64(40)) % np.uint64(HELD) == 0)
    return found if FEW <= found.sum() <= len(x) // 2 else np.zeros(len(x), dtype=bool)


def _layers(v: Array, coder: tuple[Layers, Layers]) -> tuple[Layers, Layers]:
    both = unpack(v, coder[0] + coder[1])
    return both[: len(coder[0])], both[len(coder[0]) :]


def _loss(coder: tuple[Layers, Layers], task: Task, v: Array, rng: np.random.Generator | None) -> tuple[float, Array]:
    """Loss and gradient over rows, a piece at a time: mean squared error, or minus the bound where noise is drawn."""
    encoder, decoder = _layers(v, coder)
    total, slope, weight = 0.0, np.zeros_like(v), float(task.w.sum())
    for begin in range(0, len(task.S), PIECE):
        part = task.rows(np.arange(begin, min(begin + PIECE, len(task.S))))
        if rng is None:
            value, grown = _squares(encoder, decoder, part)
        else:
            value, grown = _bound(encoder, decoder, part, float(v[-1]), rng)
        total += value
        slope += grown
    return total / weight, slope / weight


def _squares(encoder: Layers, decoder: Layers, task: Task) -> tuple[float, Array]:
    code = forward(encoder, task.S)
    back = forward(decoder, code[-1])
    R = (back[-1] - task.S) * task.c
    d = R.shape[1]
    up, dZ = backward(decoder, back, R * (task.c * (2.0 / d)) * task.w[:, None])
    low, _ = backward(encoder, code, dZ)
    return float(task.w @ (R**2).sum(axis=1)) / d, pack(low + up)


def _bound(
    encoder: Layers, decoder: Layers, task: Task, log_psi: float, rng: np.random.Generator
) -> tuple[float, Array]:
    """Minus the evidence bound with one draw a row, z = m + s e; the last parameter is log psi."""
    code = forward(encoder, task.S)
    q, w, psi = code[-1].shape[1] // 2, task.w[:, None], np.exp(np.clip(log_psi, -RANGE, RANGE))
    m, raw = code[-1][:, :q], code[-1][:, q:]
    lv = np.clip(raw, -RANGE, RANGE)
    e, s = rng.standard_normal(m.shape), np.exp(0.5 * lv)
    back = forward(decoder, m + s * e)
    R = (back[-1] - task.S) * task.c
    square, d = (R**2).sum(axis=1), R.shape[1]
    each = 0.5 * square / psi + 0.5 * d * (np.log(psi) + LOG_TWO_PI) + 0.5 * (m**2 + s**2 - lv - 1.0).sum(axis=1)
    up, dZ = backward(decoder, back, R * task.c / psi * w)
    by_lv = np.where(raw == lv, 0.5 * (dZ * s * e + w * (s**2 - 1.0)), 0.0)
    low, _ = backward(encoder, code, np.hstack([dZ + w * m, by_lv]))
    by_psi = float(task.w @ (0.5 * d - 0.5 * square / psi))
    return float(task.w @ each), np.append(pack(low + up), by_psi)
