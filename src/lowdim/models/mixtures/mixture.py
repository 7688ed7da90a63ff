"""Mixtures: a row belongs to one of K components, each a model of its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Fit, em
from lowdim.engine.fold import Run, fold, one_blas_thread, walk
from lowdim.engine.plan import Cost, kept_blocks, walking
from lowdim.maths.linalg import Array, Mask, lower
from lowdim.models.base.calibration import MOST_ROUNDS, held_out_fits
from lowdim.models.base.estimator import COUNT, POSITIVE, SEED_WORDS, TRUTH, Absent, Rule, is_seed, seed_of
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, certify, draw_labels, em_digits
from lowdim.models.base.survey import TableSurvey, survey_table
from lowdim.models.mixtures.components import Component
from lowdim.models.mixtures.soft_labels import label_covariances, responsibilities
from lowdim.models.mixtures.starts import (
    StartCovariance,
    choose_centers,
    start_labels,
    variance_bounds,
    white_rows,
    wide_covariance,
    within_sums,
)
from lowdim.sources.source import Block, Header, Source, tile_rows
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

START_ROWS = 2048  # rows on which starts are compared; or so many a component where that is more:
START_ROWS_EACH = 32
WIDE_START_ROWS = 256  # rows whose directions start a table of very many columns
WHITE_COLUMNS = 64  # columns up to which starts are also looked for among rows made white
DIRECTION_EVERY = 4  # the first start takes the rows as they are, every fourth after it one direction alone
RACE_STEPS = (4, 8)  # EM steps of every start, and of the best third of them
TIE = 1e-9  # objectives closer than this share of their size differ by rounding: the same start, renumbered
PIECE_NUMBERS = 2**21  # numbers the components may hold of a tile at a time (16 MB)
LEAST_COMPONENT_WEIGHT = 1e-10  # a component with less than this share of the rows is not fitted anew
LEAST_REG_COVAR = 1e-12  # where none is wanted: below it covariances are not told from singular ones
REG_COVAR = Rule(
    lambda v: isinstance(v, int | float | np.number) and not isinstance(v, bool) and bool(0 <= v < 1),
    "a share of the variances, 0 <= share < 1",
)
INIT = Rule(
    lambda v: not isinstance(v, str) or v in ("k-means++", "random"),
    "'k-means++', 'random', or an array of means, one row a component",
)


class MixtureParams(NamedTuple):
    """Parameters: the components and the logarithms of their weights."""

    log_weights: Array  # K
    components: tuple[Any, ...]
    moments: bool  # whether a component's statistics are its weighted moments
    inflation: float = 1.0  # what standard deviations of cells are multiplied by


class MixtureSums(NamedTuple):
    """What the M-step needs: each component's own statistics."""

    n: float
    log_density: float
    components: tuple[Any, ...]

    def merge(self, other: Self) -> Self:
        components = tuple(a.merge(b) for a, b in zip(self.components, other.components, strict=True))
        return type(self)(self.n + other.n, self.log_density + other.log_density, components)


class MixturePosterior(NamedTuple):
    """A posterior over components, and the rows it is of: their cells need both."""

    mean: Array  # responsibilities, n x K
    packed: Array  # n x 0; `posterior` makes the covariances
    log_density: Array
    x: Array
    mask: Mask | None


class MixtureModel(LatentModel):
    """What all mixtures share: everything but their options.

    A concrete mixture gives `_component()`, the model its components follow, and where its options have other names
    `_count()`, their number.
    """

    _rows_to_predict = 512
    _rules: ClassVar[dict[str, Rule]] = {
        "tol": POSITIVE,
        "max_iter": COUNT,
        "n_init": COUNT,
        "init": INIT,
        "reg_covar": REG_COVAR,
        "calibrate": TRUTH,
        "random_state": Rule(is_seed, SEED_WORDS),
    }
    decode = Absent("shares of clusters are no position", "inverse_transform, or predict_cells")
    n_clusters: int
    tol: float
    max_iter: int
    n_init: int
    init: Any
    reg_covar: float
    calibrate: bool
    random_state: Any
    means_: Array
    n_parameters_: int

    def _component(self) -> Component:
        raise NotImplementedError

    def _count(self) -> int:
        return int(self.n_clusters)

    def _standardize(self) -> bool:
        return False

    def _floor(self) -> float:
        return max(float(self.reg_covar), LEAST_REG_COVAR)

    # expectation and maximisation ---------------------------------------------------------------------
    def _stats(self, params: MixtureParams, block: Block) -> MixtureSums:
        numbers = self._component().row_numbers(block.x.shape[1], block.mask is not None)
        rows = max(256, PIECE_NUMBERS // (len(params.components) * numbers))
        return reduce(MixtureSums.merge, (self._piece(params, piece) for piece in block.tiles(rows)))

    def _piece(self, params: MixtureParams, block: Block, labels: NDArray[np.int64] | None = None) -> MixtureSums:
        """Each component's statistics, its share of a row being the row's weight; `labels` may name them."""
        component = self._component()
        patterns = component.patterns(block.mask)
        expected = [component.expect(p, block, patterns) for p in params.components]
        if labels is None:
            shares, log_density = responsibilities(params.log_weights, [e.log_density for e in expected], block.mask)
        else:
            shares, log_density = np.eye(len(expected))[:, labels], np.zeros(block.rows)
        w = block.weight
        total = float(log_density.sum() if w is None else w @ log_density)
        sums = tuple(
            component.sums(p, block._replace(weight=share), patterns, rows, params.moments)
            for p, rows, share in zip(params.components, expected, shares if w is None else shares * w, strict=True)
        )
        return MixtureSums(block.size, total, sums)

    def _objective(self, params: MixtureParams, stats: MixtureSums) -> float:
        return stats.log_density

    def _update(self, params: MixtureParams, stats: MixtureSums) -> MixtureParams:
        """Weights by their shares; a component left with next to nothing keeps its shape."""
        n = np.array([s.n for s in stats.components])
        total = max(float(n.sum()), np.finfo(float).tiny)
        skipped = (n < LEAST_COMPONENT_WEIGHT * total).tolist()
        components = self._component().update(params.components, stats.components, skipped)
        return params._replace(log_weights=np.log(np.maximum(n / total, 1e-300)), components=components)

    def _pack(self, params: MixtureParams) -> Array:
        logs = np.maximum(params.log_weights, np.log(LEAST_COMPONENT_WEIGHT))
        return np.concatenate([logs, *map(self._component().pack, params.components)])

    def _unpack(self, vector: Array, like: MixtureParams) -> MixtureParams:
        K = len(like.log_weights)
        logs = np.clip(vector[:K], like.log_weights - 3.0, like.log_weights + 3.0)  # no extrapolation may run away
        components = tuple(map(self._component().unpack, vector[K:].reshape(K, -1), like.components))
        return like._replace(log_weights=logs - np.logaddexp.reduce(logs), components=components)

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        component, K = self._component(), self._count()
        component.check(source.d)
        if source.n < K:
            raise error("LD253", n_components=K, n=source.n)
        wide = component.is_wide(source.d)
        survey = survey_table(source, run, standardize=self._standardize(), wide=wide, each=component.unit_free)
        refit = partial(self._one_fit, survey, component, run)
        if self.calibrate and survey.gaps:
            first = held_out_fits(self, refit, survey, seed_of(self.random_state), run)
            fit = first.then(lambda most: refit(survey.source, limit=most))
        else:
            fit = refit(survey.source)
        self._warn_of_components(fit.params, float(fit.stats.n))
        return fit.restated(survey.log_stretch, survey.passes), survey.frame

    def _one_fit(
        self, survey: TableSurvey, component: Component, run: Run, source: Source, limit: int | None = None
    ) -> Fit:
        """A start and EM on these rows of the table."""
        with one_blas_thread():
            params, passes = self._start(survey._replace(source=source), component, run)
        fit = em(self, params, source, run, limit=limit)
        components = tuple(map(component.finish, fit.params.components, fit.stats.components))
        return fit._replace(params=fit.params._replace(components=components), passes=fit.passes + passes)

    def _units(self, survey: TableSurvey, component: Component) -> Array:
        """Each column's spread, or their typical one where units are shared."""
        variance = survey.columns.variance
        mean = float(variance.mean())
        if not mean > 0.0:
            raise error("LD254", model=type(self).__name__)
        each = np.where(variance > 0.0, variance, mean)
        return np.sqrt(each if component.unit_free else np.full(len(each), mean))

    def _start(self, survey: TableSurvey, component: Component, run: Run) -> tuple[MixtureParams, int]:
        """The given means with the covariance about them; else the best of several starts on a sample."""
        unit, wide = self._units(survey, component), component.is_wide(survey.source.d)
        if not isinstance(self.init, str):
            centers = self._given_means(survey)
            if wide:
                about = wide_covariance(centers, unit, survey.source.sample(WIDE_START_ROWS))
            else:
                about = fold(partial(within_sums, centers, unit), survey.source, run).covariance()
            low = variance_bounds(about, unit, component.unit_free, self._floor())
            return self._about(survey, centers, about, low), int(not wide)
        more = START_ROWS_EACH * self._count()
        sample = survey.source.sample(WIDE_START_ROWS + more if wide else max(START_ROWS, more))
        return self._race(self._starts(survey, component, unit, sample), sample), 0

    def _starts(
        self, survey: TableSurvey, component: Component, unit: Array, sample: Block
    ) -> list[tuple[MixtureParams, Mask]]:
        """Components about `n_init` sets of centres among the rows of a sample, and which of them begin flat.

        Most sets are chosen with the rows made white, since in their own units one long direction may hide the groups;
        some by one direction alone, since many directions may hide it.
        """
        d, starts, low = survey.source.d, [], None
        wide, mean = component.is_wide(d), survey.columns.mean
        for centers, labels in self._centers(component, unit, mean, sample):
            sums = None if wide else within_sums(centers, unit, sample, labels)
            about = wide_covariance(centers, unit, sample) if sums is None else sums.covariance()
            if low is None:  # one for all, or the start with the lowest would win
                low = variance_bounds(about, unit, component.unit_free, self._floor())
            params = self._about(survey, centers, about, low)
            params = self._update(params, self._piece(params, sample, labels))
            rows = np.bincount(labels, sample.weight, len(centers))
            flat = [n > d and component.on_floor(p) for n, p in zip(rows, params.components, strict=True)]
            starts.append((params, np.array(flat)))
        return starts

    def _centers(
        self, component: Component, unit: Array, mean: Array, sample: Block
    ) -> Iterator[tuple[Array, NDArray[np.int64]]]:
        """Sets of centres among the rows of a sample, each with the nearest of them for every row."""
        K, far, seed = self._count(), self.init != "random", seed_of(self.random_state)
        n_init = 1 if K == 1 else int(self.n_init)
        white = white_rows(sample, mean, unit) if n_init > 1 and len(mean) <= WHITE_COLUMNS else None
        for i in range(n_init):
            rng = np.random.default_rng([seed, i])
            if white is not None and far and i and i % DIRECTION_EVERY == 0:
                yield white.start_along(i // DIRECTION_EVERY - 1, K, unit, rng)
            elif white is not None and component.correlated and i:
                yield white.start(K, rng, far)
            else:
                centers = choose_centers(sample, K, unit, mean, rng, far)
                yield centers, start_labels(centers, unit, sample)

    def _given_means(self, survey: TableSurvey) -> Array:
        """The means that `init` holds, in the frame."""
        K, d = self._count(), survey.source.d
        try:
            means = np.asarray(self.init, dtype=np.float64)
        except (TypeError, ValueError):
            means = np.zeros(0)
        if means.shape != (K, d) or not np.isfinite(means).all():
            value = f"<{type(self.init).__name__} of shape {means.shape}>"
            raise error("LD210", option="init", value=value, allowed=f"{INIT.words}: here {K} x {d} finite numbers")
        return survey.frame.inward(Block(means)).x

    def _about(self, survey: TableSurvey, centers: Array, about: StartCovariance, low: Array) -> MixtureParams:
        """Equal components about these centres."""
        K, component = len(centers), self._component()
        n = float(survey.columns.n) / K
        components = tuple(component.start(mu, about, low, n) for mu in centers)
        return MixtureParams(np.full(K, -np.log(K)), components, component.uses_moments(survey.gaps, survey.source.d))

    def _race(self, starts: list[tuple[MixtureParams, Mask]], sample: Block) -> MixtureParams:
        """The best start after a few EM steps on a sample: all run a little way, the best third further.

        Starts with fewer components that fell to their floor come first, then those of higher likelihood. One that
        begins there with rows enough has not fallen: such rows are flat.
        """
        if len(starts) == 1:
            return starts[0][0]
        for steps in RACE_STEPS:
            runs = [(*self._run(params, flat, sample, steps), flat) for params, flat in starts]
            size = TIE * max(abs(value) for _, value, _, _ in runs)
            runs.sort(key=lambda run: (run[0], round(run[1] / size)))  # stable: of equals the first
            starts = [(params, flat) for _, _, params, flat in runs[: -(-len(runs) // 3)]]
        return starts[0][0]

    def _run(self, params: MixtureParams, flat: Mask, sample: Block, steps: int) -> tuple[int, float, MixtureParams]:
        """A few EM steps: how many components fell to the floor, the objective with its sign turned, the parameters."""
        component, value = self._component(), 0.0
        for _ in range(steps):
            stats = self._stats(params, sample)
            value, params = stats.log_density, self._update(params, stats)
        fell = [component.on_floor(p) and not began for p, began in zip(params.components, flat, strict=True)]
        return sum(fell), -value, params

    def _warn_of_components(self, params: MixtureParams, n: float) -> None:
        component, rows, name = self._component(), n * np.exp(params.log_weights), type(self).__name__
        low = [k for k, p in enumerate(params.components) if component.on_floor(p)]
        if low:
            counts = ", ".join(f"{rows[k]:.3g}" for k in low[:5])
            warn("LD251", model=name, which=_listed(low), floor=self._floor(), rows=counts)
        empty = [k for k in range(len(rows)) if rows[k] < 0.5]
        if empty:
            warn("LD252", model=name, which=_listed(empty), count=len(empty))

    # rows --------------------------------------------------------------------------------------------
    def _posterior(self, params: MixtureParams, block: Block) -> Any:
        component = self._component()
        mask = None if block.mask is None or block.mask.all() else block.mask
        block = block._replace(mask=mask)
        patterns = component.patterns(mask)
        logs = [component.expect(p, block, patterns).log_density for p in params.components]
        shares, log_density = responsibilities(params.log_weights, logs, mask)
        return MixturePosterior(np.ascontiguousarray(shares.T), np.zeros((block.rows, 0)), log_density, block.x, mask)

    def _decode(self, params: MixtureParams, posterior: Any) -> Cells:
        """Mixed means; the variance of a cell is that within the components and that between them."""
        component, rows, shares = self._component(), _rows(params, posterior), posterior.mean.T[:, :, None]
        mean: Any = 0.0
        cells = []
        for p, share in zip(params.components, shares, strict=True):
            cells.append(component.cells(p, rows))
            mean = mean + share * cells[-1].mean
        var = sum(share * (c.var + (c.mean - mean) ** 2) for c, share in zip(cells, shares, strict=True))
        noise = sum(share * c.noise for c, share in zip(cells, shares, strict=True))
        return Cells(mean, np.asarray(var), np.asarray(noise))

    def _draw(self, params: MixtureParams, posterior: Any, rng: list[np.random.Generator]) -> Array:
        """A component by responsibility for each row, then its cells jointly."""
        component, rows = self._component(), _rows(params, posterior)
        labels = draw_labels(posterior.mean, rng)
        out = np.empty_like(rows.x)
        for k in np.unique(labels):
            at = np.flatnonzero(labels == k)
            block = Block(rows.x[at], None if rows.mask is None else rows.mask[at])
            out[at] = component.draw(params.components[k], block, [rng[i] for i in at])
        return out

    def _redraw(self, params: MixtureParams, rng: np.random.Generator) -> MixtureParams:
        component = self._component()
        if params.inflation != 1.0:  # the factor counts what the table leaves open
            return params
        return params._replace(components=tuple(component.redraw(p, rng) for p in params.components))

    def _prior(self, params: MixtureParams, n: int) -> Posterior:
        share = np.exp(params.log_weights)
        packed = np.broadcast_to(label_covariances(share[None]), (n, len(lower(len(share))[0])))
        return Posterior(np.tile(share, (n, 1)), packed, np.zeros(n))

    def _axes(self, params: MixtureParams) -> Array:
        return np.eye(len(params.log_weights))

    def posterior(self, X: Any, *, run: Run | None = None) -> Posterior:
        """Responsibilities, their covariances diag(r) - r r', and each row's log density."""
        source = self.arrange(X)
        if source.n == 0:
            raise error("LD160", n=0, least=1)
        parts = [part for _, part in walk(self._latent, source, run or Run())]
        share = np.concatenate([part.mean for part in parts])
        return Posterior(share, label_covariances(share), np.concatenate([part.log_density for part in parts]))

    def predict_proba(self, X: Any, *, run: Run | None = None) -> Array:
        """Responsibilities: the probability of each component for each row, n x K."""
        return self._each(lambda b: self._latent(b).mean, X, run=run)

    def predict(self, X: Any, *, run: Run | None = None) -> NDArray[np.int64]:
        """The likeliest component of each row, counted from 0."""
        labels = self._each(lambda b: self._latent(b).mean.argmax(axis=1).astype(float), X, run=run)
        return labels.astype(np.int64)

    def fit_predict(self, X: Any, y: Any = None, **fit_options: Any) -> NDArray[np.int64]:
        """`fit` and then `predict` of the same rows."""
        return self.fit(X, y, **fit_options).predict(X)

    def inverse_transform(self, Z: Any) -> Array:
        """Centres mixed by the shares in each row of Z."""
        check_is_fitted(self)
        means: Array = self.means_
        mixed: Array = self._of_places(lambda Z: Z @ means, Z, len(means))
        return mixed

    def coordinate(self, X: Any, n_components: int = 2, *, n_neighbors: int = 12) -> Any:
        """One map for all parts: their own maps glued so that every row lies where its neighbours put it.

        Parameters
        ----------
        X : table of the fitted columns, n x d, gaps welcome
        n_components : int, default 2
            Axes of the common map.
        n_neighbors : int, default 12
            Neighbours that place a row.

        Returns
        -------
        CommonMap
            `places` (n x n_components), `strain` of each axis, and `transform(X)` for other rows.
        """
        from lowdim.models.mixtures.alignment import coordinate

        check_is_fitted(self)
        if not self._component().has_axes:
            why, fix = "its parts have no axes to glue", "MixtureOfPPCA or MixtureOfFA"
            raise error("LD240", model=type(self).__name__, verb="coordinate", why=why, fix=fix)
        return coordinate(self, X, n_components, n_neighbors)

    # reports -----------------------------------------------------------------------------------------
    def _attributes(self, params: MixtureParams, frame: Frame, fit: Fit) -> dict[str, Any]:
        component, components = self._component(), params.components
        return {
            "weights_": np.exp(params.log_weights),
            "means_": np.array([frame.outward(p.mu) for p in components]),
            "n_parameters_": len(components) - 1 + component.n_parameters(components),
            "n_clusters_": len(components),
            "calibration_": params.inflation,
            **component.attributes(components, frame.report),
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        from lowdim.models.base.calibration import inflation_note

        component, components = self._component(), fit.params.components
        condition = max(component.condition(p) for p in components)
        return certify(
            fit,
            self._objective_name,
            condition=condition,
            digits=min(15.0 - np.log10(condition), em_digits(fit.remaining, fit.stats.n)),
            boundary=tuple(f"covariance of component {k}" for k, p in enumerate(components) if component.on_floor(p)),
            notes=(
                f"variances not below {self._floor():g} of those about the starting centres",
                inflation_note(fit.params.inflation),
            ),
        )

    def _cost(self, n: int, d: int) -> Cost:
        K, component = self._count(), self._component()
        passes = 4 + MOST_ROUNDS + (1 + MOST_ROUNDS) * self.max_iter  # with gaps so many fits
        tile = min(tile_rows(d), n)
        row, node = component.row_numbers(d, True), K * component.sums_numbers(d)
        work = 4 * min(tile * K * row, max(PIECE_NUMBERS, 256 * K * row)) + 4 * tile * d
        sample = max(START_ROWS, START_ROWS_EACH * K) * (d + 4 * K)
        peak = walking(n, d, work, node) + 8 * (sample + 24 * node) + kept_blocks(n, d)
        words = "fewer components, fewer columns, or covariance_type='diag'"
        return Cost(passes, 8 * n * d * passes, peak, words, min(60, self.max_iter) + 2)


def _rows(params: MixtureParams, posterior: Any) -> Block:
    """The rows a posterior is of; where it is of none, rows without any cell."""
    if isinstance(posterior, MixturePosterior):
        return Block(posterior.x, posterior.mask)
    shape = (len(posterior.mean), len(params.components[0].mu))
    return Block(np.zeros(shape), np.zeros(shape, dtype=bool))


def _listed(components: list[int]) -> str:
    """The numbers of the first few components."""
    more = f" and {len(components) - 5} more" if len(components) > 5 else ""
    return ", ".join(map(str, components[:5])) + more
