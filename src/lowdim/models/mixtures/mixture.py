"""Mixtures: a row belongs to one of K components, each a model of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.em import em
from lowdim.engine.fold import Run, fold, one_blas_thread, walk
from lowdim.engine.monitor import Fit
from lowdim.engine.plan import Cost, kept_blocks, walking
from lowdim.math.clusters import label_covariances, responsibilities
from lowdim.math.linalg import Array, Mask, lower
from lowdim.models.base.estimator import COUNT, POSITIVE, SEED_WORDS, Absent, Rule, is_seed, seed_of
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, certify, draw_labels, em_digits, product
from lowdim.models.base.survey import TableSurvey, survey_table
from lowdim.models.mixtures.components import Component, component_of
from lowdim.models.mixtures.starts import (
    StartCovariance,
    choose_centers,
    start_labels,
    variance_bounds,
    wide_covariance,
    within_sums,
)
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, Header, Source, tile_rows
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

START_ROWS = 2048  # rows on which starts are compared; or so many a component where that is more:
START_ROWS_EACH = 32
WIDE_START_ROWS = 256  # rows whose directions start a table of very many columns
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

    _rules: ClassVar[dict[str, Rule]] = {
        "tol": POSITIVE,
        "max_iter": COUNT,
        "n_init": COUNT,
        "init": INIT,
        "reg_covar": REG_COVAR,
        "random_state": Rule(is_seed, SEED_WORDS),
    }
    decode = Absent("shares of clusters are no position", "inverse_transform, or predict_cells")
    n_clusters: int
    tol: float
    max_iter: int
    n_init: int
    init: Any
    reg_covar: float
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

    def _piece(self, params: MixtureParams, block: Block) -> MixtureSums:
        component = self._component()
        patterns = component.patterns(block.mask)
        expected = [component.expect(p, block, patterns) for p in params.components]
        shares, log_density = responsibilities(params.log_weights, [e.log_density for e in expected], block.mask)
        w = block.weight
        total = float(log_density.sum() if w is None else w @ log_density)
        shares = shares if w is None else shares * w
        return MixtureSums(block.size, total, self._sums(params, block, patterns, expected, shares))

    def _sums(
        self, params: MixtureParams, block: Block, patterns: Any, expected: Sequence[Any], shares: Array
    ) -> tuple[Any, ...]:
        """Each component's statistics, its share of a row being the row's weight."""
        component = self._component()
        return tuple(
            component.sums(p, block._replace(weight=share), patterns, rows, params.moments)
            for p, rows, share in zip(params.components, expected, shares, strict=True)
        )

    def _labelled(self, params: MixtureParams, labels: NDArray[np.int64], block: Block) -> MixtureSums:
        """The statistics of a block whose rows belong to these components."""
        component = self._component()
        patterns = component.patterns(block.mask)
        shares = np.zeros((len(params.components), block.rows))
        shares[labels, np.arange(block.rows)] = 1.0 if block.weight is None else block.weight
        expected = [component.expect(p, block, patterns) for p in params.components]
        return MixtureSums(block.size, 0.0, self._sums(params, block, patterns, expected, shares))

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
        with one_blas_thread():
            params, passes = self._start(survey, component, run)
        fit = em(self, params, survey.source, run)
        components = tuple(map(component.finish, fit.params.components, fit.stats.components))
        params = fit.params._replace(components=components)
        self._warn_of_components(params, float(fit.stats.n))
        return fit._replace(params=params).restated(survey.log_stretch, survey.passes + passes), survey.frame

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

    def _starts(self, survey: TableSurvey, component: Component, unit: Array, sample: Block) -> list[MixtureParams]:
        """Components about `n_init` sets of centres among the rows of a sample."""
        K, wide, far = self._count(), component.is_wide(survey.source.d), self.init != "random"
        seed, starts, low = seed_of(self.random_state), [], None
        for i in range(1 if K == 1 else int(self.n_init)):
            centers = choose_centers(sample, K, unit, survey.columns.mean, np.random.default_rng([seed, i]), far)
            about = wide_covariance(centers, unit, sample) if wide else within_sums(centers, unit, sample).covariance()
            if low is None:  # one for all, or the start with the lowest would win
                low = variance_bounds(about, unit, component.unit_free, self._floor())
            params = self._about(survey, centers, about, low)
            starts.append(self._update(params, self._labelled(params, start_labels(centers, unit, sample), sample)))
        return starts

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

    def _race(self, starts: list[MixtureParams], sample: Block) -> MixtureParams:
        """The best start after a few EM steps on a sample: all run a little way, the best third further.

        Starts with fewer components on their floor come first, then those of higher likelihood.
        """
        if len(starts) == 1:
            return starts[0]
        for steps in RACE_STEPS:
            runs = [self._run(params, sample, steps) for params in starts]
            size = TIE * max(abs(value) for _, value, _ in runs)
            runs.sort(key=lambda run: (run[0], round(run[1] / size)))  # stable: of equals the first
            starts = [params for _, _, params in runs[: -(-len(runs) // 3)]]
        return starts[0]

    def _run(self, params: MixtureParams, sample: Block, steps: int) -> tuple[int, float, MixtureParams]:
        """A few EM steps: how many components sit on the floor, the objective with its sign turned, the parameters."""
        component, value = self._component(), 0.0
        for _ in range(steps):
            stats = self._stats(params, sample)
            value, params = stats.log_density, self._update(params, stats)
        return sum(component.on_floor(p) for p in params.components), -value, params

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
        means: Array = self.means_
        Z = np.atleast_2d(np.asarray(Z, dtype=np.float64))
        if Z.shape[1] != len(means):
            raise error("LD220", got=Z.shape[1], want=len(means), model=type(self).__name__, missing="")
        return product(Z, means)

    def bic(self, X: Any, *, sample_weight: Any = None) -> float:
        """Schwarz's criterion of a table, the smaller the better."""
        value, n = self._total(X, sample_weight)
        return -2.0 * value + self.n_parameters_ * float(np.log(n))

    def aic(self, X: Any, *, sample_weight: Any = None) -> float:
        """Akaike's criterion of a table, the smaller the better."""
        return -2.0 * self._total(X, sample_weight)[0] + 2.0 * self.n_parameters_

    def _total(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        """The log-likelihood of a table, and its rows by weight."""
        source = as_source(X, weight=sample_weight)
        scores = self.score_samples(source)
        return float(scores.sum() if source.weight is None else source.weight @ scores), source.total

    # reports -----------------------------------------------------------------------------------------
    def _attributes(self, params: MixtureParams, frame: Frame, fit: Fit) -> dict[str, Any]:
        component, components = self._component(), params.components
        return {
            "weights_": np.exp(params.log_weights),
            "means_": np.array([frame.outward(p.mu) for p in components]),
            "n_parameters_": len(components) - 1 + component.n_parameters(components),
            "n_clusters_": len(components),
            **component.attributes(components, frame.report),
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        component, components = self._component(), fit.params.components
        condition = max(component.condition(p) for p in components)
        return certify(
            fit,
            self._objective_name,
            condition=condition,
            digits=min(15.0 - np.log10(condition), em_digits(fit.remaining, fit.stats.n)),
            boundary=tuple(f"covariance of component {k}" for k, p in enumerate(components) if component.on_floor(p)),
            notes=(f"variances not below {self._floor():g} of those about the starting centres",),
        )

    def _cost(self, n: int, d: int) -> Cost:
        K, component = self._count(), self._component()
        passes = 4 + self.max_iter
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


class Mixture(MixtureModel):
    """A mixture of any components: p(x) = sum_k pi_k p_k(x), by maximum likelihood, gaps welcome.

    The latent position is one-of-K, so `transform` gives responsibilities p(k | seen cells of the row), `predict`
    the likeliest component; `impute` mixes the components' conditional means, its spread is that within and between
    components. `sample` gives rows only, not their labels.

    Parameters
    ----------
    component : {"full", "tied", "diag", "spherical"} or estimator, default="full"
        Gaussians with such covariances, or ProbabilisticPCA or FactorAnalysis, not fitted.
    n_clusters : int, default=2
        The number K of components.
    tol : float, default=1e-8
        EM ends when the log-likelihood can gain no more than this, in nats a row.
    max_iter : int, default=1000
        The most passes over the table.
    n_init : int, default=10
        Starts that are compared on a sample; the best goes on with all rows.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Centres to start from.
    reg_covar : float, default=1e-6
        No covariance falls below this share of the variances about the first start's centres: the likelihood then
        has a maximum, and a component on that floor is named (LD251).
    random_state : int, Generator, RandomState or None, default=0
        The seed of the starts; None is 0.

    Attributes
    ----------
    weights_ : array of shape (n_clusters,)
        The shares pi_k.
    means_ : array of shape (n_clusters, n_features)
        The components' means.
    covariances_ : array
        Of Gaussians, in scikit-learn's shapes for such covariances.
    components_ : array of shape (n_clusters, n_axes, n_features)
        W of each linear component; there, in place of `covariances_`.
    noise_variance_ : array of shape (n_clusters,) or (n_clusters, n_features)
        The noise of each linear component.
    n_parameters_ : int
        The numbers fitted, as `bic` and `aic` count them.
    n_clusters_ : int
        The number of components.
    objective_, history_, n_iter_, converged_, certificate_, params_, frame_
        The log-likelihood, its course, passes, and how far to trust the fit; the parameters and their units.

    References
    ----------
    M. E. Tipping and C. M. Bishop, "Mixtures of probabilistic principal component analyzers", Neural Computation 11
    (1999), 443-482.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [0.1, 0.0], [5.0, 5.2], [5.1, np.nan], [4.9, 5.0]])
    >>> labels = Mixture("spherical", 2).fit(X).predict(X)
    >>> labels.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {"n_clusters": COUNT, **MixtureModel._rules}

    def __init__(
        self,
        component: Any = "full",
        n_clusters: int = 2,
        *,
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_init: int = 10,
        init: Any = "k-means++",
        reg_covar: float = 1e-6,
        random_state: Any = 0,
    ) -> None:
        self.component = component
        self.n_clusters = n_clusters
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init = init
        self.reg_covar = reg_covar
        self.random_state = random_state

    def _component(self) -> Component:
        component = component_of(self.component)
        if component is None:
            raise error("LD250", component=self.component)
        return component

    def _standardize(self) -> bool:
        return bool(getattr(self.component, "standardize", False))
