"""Mixtures: a row belongs to one of K parts, each a model of its own."""

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
from lowdim.math.linalg import Array, Mask, lower
from lowdim.models.base.estimator import COUNT, POSITIVE, SEED_WORDS, Absent, Rule, is_seed, seed_of
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, draw_labels, em_digits
from lowdim.models.base.survey import TableSurvey, survey_table
from lowdim.models.mixtures.components import Part, part_of
from lowdim.models.mixtures.responsibilities import named, one_of, responsibilities
from lowdim.models.mixtures.starts import Spread, bound, choose_centres, in_order, nearest, within, within_wide
from lowdim.sources.source import Block, Header, Source, tile_rows
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

SAMPLE = 2048  # rows on which starts are compared; or SHARE a component where that is more
SHARE = 32
WIDE_SAMPLE = 256  # rows whose directions start a table of very many columns
HEAT = (4, 8)  # EM steps of every start, and of the best third of them
TIED = 1e-9  # objectives closer than this share of their size differ by rounding: the same start, renumbered
PIECE = 2**21  # numbers the components may hold of a tile at a time (16 MB)
LEAST = 1e-10  # a component with less than this share of the rows is not fitted anew
LOWEST = 1e-12  # the floor where none is asked for: below it covariances are not told from singular ones
FLOOR = Rule(
    lambda v: isinstance(v, int | float | np.number) and not isinstance(v, bool) and bool(0 <= v < 1),
    "a share of the variances, 0 <= share < 1",
)
SEED = Rule(is_seed, SEED_WORDS)
INIT = Rule(
    lambda v: not isinstance(v, str) or v in ("k-means++", "random"),
    "'k-means++', 'random', or an array of means, one row a component",
)


class Weighted(NamedTuple):
    """Parameters: the components and the logarithms of their weights."""

    logs: Array  # K
    parts: tuple[Any, ...]
    dense: bool  # whether a component's statistics are its weighted moments


class MixtureSums(NamedTuple):
    """What the M-step needs: each component's own statistics."""

    n: float
    log_density: float
    parts: tuple[Any, ...]

    def merge(self, other: Self) -> Self:
        parts = tuple(a.merge(b) for a, b in zip(self.parts, other.parts, strict=True))
        return type(self)(self.n + other.n, self.log_density + other.log_density, parts)


class Shared(NamedTuple):
    """A posterior over components, and the rows it is of: their cells need both."""

    mean: Array  # responsibilities, n x K
    packed: Array  # n x 0; `posterior` makes the covariances
    log_density: Array
    x: Array
    mask: Mask | None


class Mixture(LatentModel):
    """A mixture of any components: p(x) = sum_k pi_k p_k(x), by maximum likelihood, gaps welcome.

    The latent position is one-of-K, so `transform` gives responsibilities p(k | seen cells of the row), `predict`
    the likeliest component; `impute` mixes the components' conditional means, its spread is within plus between.
    `component` is PPCA, FactorAnalysis, or one of "full", "tied", "diag", "spherical" for Gaussians. `n_init` starts
    are compared on a sample, the best goes on with all rows. No covariance falls below `floor` times the variances
    about the first start's centres: the likelihood then has a maximum, and a component on the floor is named (LD251).

    Reference: Tipping and Bishop (1999b), "Mixtures of probabilistic principal component analysers"; Lawrence
    seed 2.14, Zabaras seed on mixtures; Anderson extrapolation of EM as for PPCA.

    >>> import numpy as np
    >>> X = np.array([[0.0, 0.1], [0.2, np.nan], [0.1, 0.0], [5.0, 5.2], [5.1, np.nan], [4.9, 5.0]])
    >>> Mixture("spherical", 2).fit(X).predict(X).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": COUNT,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "n_init": COUNT,
        "init": INIT,
        "floor": FLOOR,
        "random_state": SEED,
    }

    decode = Absent("shares of clusters are no position", "inverse_transform, or predict_cells")

    def __init__(
        self,
        component: Any = "full",
        n_clusters: int = 2,
        *,
        tol: float = 1e-5,
        max_iter: int = 1000,
        n_init: int = 10,
        init: Any = "k-means++",
        floor: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.component = component
        self.n_clusters = n_clusters
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init = init
        self.floor = floor
        self.random_state = random_state

    # what the presets change -----------------------------------------------------------------------
    def _part(self) -> Part:
        found = part_of(self.component)
        if found is None:
            raise error("LD250", component=self.component)
        return found

    def _asked(self) -> tuple[int, float]:
        """The number of components and the floor."""
        return int(self.n_clusters), max(float(self.floor), LOWEST)

    def _standardize(self) -> bool:
        return bool(getattr(self.component, "standardize", False))

    # expectation and maximisation ---------------------------------------------------------------------
    def _stats(self, params: Weighted, block: Block) -> MixtureSums:
        held = self._part().held(block.x.shape[1], block.mask is not None)
        rows = max(256, PIECE // (len(params.parts) * held))
        return reduce(MixtureSums.merge, (self._piece(params, piece) for piece in block.tiles(rows)))

    def _piece(self, params: Weighted, block: Block) -> MixtureSums:
        part = self._part()
        shape = part.patterns(block.mask)
        seen = [part.expect(p, block, shape, params.dense) for p in params.parts]
        shares, log_density = responsibilities(params.logs, [s.log_density for s in seen], block.mask)
        w = block.weight
        total = float(log_density.sum() if w is None else w @ log_density)
        shares = shares if w is None else shares * w
        return MixtureSums(block.size, total, self._sums(part, params, block, shape, seen, shares))

    def _sums(
        self, part: Part, params: Weighted, block: Block, shape: Any, seen: Sequence[Any], shares: Array
    ) -> tuple[Any, ...]:
        each = zip(params.parts, seen, shares, strict=True)
        return tuple(part.sums(p, block._replace(weight=share), shape, s, params.dense) for p, s, share in each)

    def _given(self, params: Weighted, labels: NDArray[np.intp], block: Block) -> MixtureSums:
        """The statistics of a block whose rows are known to belong to these components."""
        part = self._part()
        shape = part.patterns(block.mask)
        shares = np.zeros((len(params.parts), block.rows))
        shares[labels, np.arange(block.rows)] = 1.0 if block.weight is None else block.weight
        seen = [part.expect(p, block, shape, params.dense) for p in params.parts]
        return MixtureSums(block.size, 0.0, self._sums(part, params, block, shape, seen, shares))

    def _objective(self, params: Weighted, stats: MixtureSums) -> float:
        return stats.log_density

    def _update(self, params: Weighted, stats: MixtureSums) -> Weighted:
        """Weights by their shares; a component left with next to nothing keeps its shape."""
        n = np.array([s.n for s in stats.parts])
        total = max(float(n.sum()), np.finfo(float).tiny)
        kept = (n < LEAST * total).tolist()
        logs = np.log(np.maximum(n / total, 1e-300))
        return params._replace(logs=logs, parts=self._part().update(params.parts, stats.parts, kept))

    def _pack(self, params: Weighted) -> Array:
        part = self._part()
        return np.concatenate([np.maximum(params.logs, np.log(LEAST)), *(part.pack(p) for p in params.parts)])

    def _unpack(self, vector: Array, like: Weighted) -> Weighted:
        part, K = self._part(), len(like.logs)
        logs = np.clip(vector[:K], like.logs - 3.0, like.logs + 3.0)
        ends = np.cumsum([part.length(p) for p in like.parts])
        pieces = np.split(vector[K:], ends[:-1])
        return like._replace(
            logs=logs - np.logaddexp.reduce(logs),
            parts=tuple(part.unpack(v, p) for v, p in zip(pieces, like.parts, strict=True)),
        )

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        part, (K, floor) = self._part(), self._asked()
        part.check(source.d)
        if source.n < K:
            raise error("LD253", asked=K, n=source.n)
        seen = survey_table(source, run, standardize=self._standardize(), wide=part.wide(source.d), each=part.own_units)
        with one_blas_thread():
            params, passes = self._start(seen, part, K, self._unit(seen, part), floor, run)
        fit = em(self, params, seen.source, run)
        parts = tuple(map(part.finish, fit.params.parts, fit.stats.parts))
        params = fit.params._replace(parts=parts)
        self._say(params, part, float(fit.stats.n), floor)
        return fit._replace(params=params).restated(seen.log_stretch, seen.passes + passes), seen.frame

    def _unit(self, seen: TableSurvey, part: Part) -> Array:
        """The columns' own spreads, or their typical one where units are shared."""
        variance = seen.columns.variance
        mean = float(variance.mean())
        if not mean > 0.0:
            raise error("LD254", model=type(self).__name__)
        own = np.where(variance > 0.0, variance, mean)
        return np.sqrt(own if part.own_units else np.full(len(own), mean))

    def _start(
        self, seen: TableSurvey, part: Part, K: int, unit: Array, floor: float, run: Run
    ) -> tuple[Weighted, int]:
        """Given means with the spread about them; else the best of several starts on a sample."""
        wide = part.wide(seen.source.d)
        if not isinstance(self.init, str):
            centres = self._means(seen, K)
            spread = (
                within_wide(centres, unit, seen.source.sample(WIDE_SAMPLE))
                if wide
                else fold(partial(within, centres, unit), seen.source, run).spread()
            )
            return self._about(seen, part, centres, spread, bound(spread, unit, part.own_units, floor)), int(not wide)
        sample = in_order(seen.source.sample(WIDE_SAMPLE + SHARE * K if wide else max(SAMPLE, SHARE * K)))
        seed, starts, low = seed_of(self.random_state), [], None
        for i in range(1 if K == 1 else int(self.n_init)):
            rng = np.random.default_rng([seed, i])
            centres = choose_centres(sample, K, unit, seen.columns.mean, rng, self.init == "random")
            spread = within_wide(centres, unit, sample) if wide else within(centres, unit, sample).spread()
            if low is None:  # one for all, or the start with the lowest would win
                low = bound(spread, unit, part.own_units, floor)
            params = self._about(seen, part, centres, spread, low)
            starts.append(self._update(params, self._given(params, nearest(sample, centres, unit), sample)))
        return self._race(starts, sample), 0

    def _means(self, seen: TableSurvey, K: int) -> Array:
        """Means given by the caller, in the frame."""
        try:
            means = np.asarray(self.init, dtype=np.float64)
        except (TypeError, ValueError):
            means = np.zeros(0)
        if means.shape != (K, seen.source.d) or not np.isfinite(means).all():
            allowed = f"{INIT.words}: here {K} x {seen.source.d} finite numbers"
            raise error(
                "LD210", option="init", value=f"<{type(self.init).__name__} of shape {means.shape}>", allowed=allowed
            )
        return seen.frame.inward(Block(means)).x

    def _about(self, seen: TableSurvey, part: Part, centres: Array, spread: Spread, low: Array) -> Weighted:
        K = len(centres)
        n = float(seen.columns.n) / K
        parts = tuple(part.start(mu, spread, low, n) for mu in centres)
        return Weighted(np.full(K, -np.log(K)), parts, part.dense(seen.gaps, seen.source.d))

    def _race(self, starts: list[Weighted], sample: Block) -> Weighted:
        """The best of some starts after a few EM steps on a sample: all a little way, the best third further."""
        if len(starts) == 1:
            return starts[0]
        for steps in HEAT:
            runs = [self._run(params, sample, steps) for params in starts]
            size = TIED * max(abs(value) for _, value, _ in runs)
            runs.sort(key=lambda found: (found[0], round(found[1] / size)))  # stable: of equals the first
            starts = [params for _, _, params in runs[: -(-len(runs) // 3)]]
        return starts[0]

    def _run(self, params: Weighted, sample: Block, steps: int) -> tuple[int, float, Weighted]:
        """A few EM steps: how many components sit on the floor, the objective with its sign turned, the parameters."""
        part, value = self._part(), 0.0
        for _ in range(steps):
            stats = self._stats(params, sample)
            value, params = stats.log_density, self._update(params, stats)
        return sum(part.on_floor(p) for p in params.parts), -value, params

    def _say(self, params: Weighted, part: Part, n: float, floor: float) -> None:
        share = np.exp(params.logs)
        held = [k for k, p in enumerate(params.parts) if part.on_floor(p)]
        if held:
            warn(
                "LD251",
                model=type(self).__name__,
                which=named(held),
                floor=floor,
                rows=", ".join(f"{n * share[k]:.3g}" for k in held[:5]),
            )
        empty = [k for k in range(len(share)) if n * share[k] < 0.5]
        if empty:
            warn("LD252", model=type(self).__name__, which=named(empty), count=len(empty))

    # rows --------------------------------------------------------------------------------------------
    def _posterior(self, params: Weighted, block: Block) -> Any:
        part = self._part()
        mask = None if block.mask is None or block.mask.all() else block.mask
        block = block._replace(mask=mask)
        shape = part.patterns(mask)
        logs = [part.expect(p, block, shape, params.dense).log_density for p in params.parts]
        shares, log_density = responsibilities(params.logs, logs, mask)
        return Shared(np.ascontiguousarray(shares.T), np.zeros((block.rows, 0)), log_density, block.x, mask)

    def _decode(self, params: Weighted, found: Any) -> Cells:
        """Mixed means; the spread of a cell is the components' own and that between them."""
        part, rows = self._part(), _rows(params, found)
        mean: Any = 0.0
        made = []
        for p, r in zip(params.parts, found.mean.T, strict=True):
            made.append(part.cells(p, rows))
            mean = mean + r[:, None] * made[-1].mean
        var = sum(r[:, None] * (c.var + (c.mean - mean) ** 2) for c, r in zip(made, found.mean.T, strict=True))
        noise = sum(r[:, None] * c.noise for c, r in zip(made, found.mean.T, strict=True))
        return Cells(mean, np.asarray(var), np.asarray(noise))

    def _draw(self, params: Weighted, found: Any, rng: list[np.random.Generator]) -> Array:
        """A component by responsibility for each row, then its cells jointly."""
        part, rows = self._part(), _rows(params, found)
        own = draw_labels(found.mean, rng)
        out = np.empty_like(rows.x)
        for k in np.unique(own):
            at = np.flatnonzero(own == k)
            some = Block(rows.x[at], None if rows.mask is None else rows.mask[at])
            out[at] = part.draw(params.parts[k], some, [rng[i] for i in at])
        return out

    def _redraw(self, params: Weighted, rng: np.random.Generator) -> Weighted:
        part = self._part()
        return params._replace(parts=tuple(part.redraw(p, rng) for p in params.parts))

    def _prior(self, params: Weighted, n: int) -> Posterior:
        share = np.exp(params.logs)
        return Posterior(
            np.tile(share, (n, 1)), np.broadcast_to(one_of(share[None]), (n, len(lower(len(share))[0]))), np.zeros(n)
        )

    def _axes(self, params: Weighted) -> Array:
        return np.eye(len(params.logs))

    def posterior(self, X: Any, *, run: Run | None = None) -> Posterior:
        """Responsibilities, their covariances diag(r) - r r', and each row's log density."""
        source = self.arrange(X)
        if source.n == 0:
            raise error("LD160", n=0, least=1)
        found = [part for _, part in walk(self._latent, source, run or Run())]
        share = np.concatenate([part.mean for part in found])
        return Posterior(share, one_of(share), np.concatenate([part.log_density for part in found]))

    def predict_proba(self, X: Any, *, run: Run | None = None) -> Array:
        """Responsibilities: the probability of each component for each row, n x K."""
        found: Array = self._each(lambda b: self._latent(b).mean, X, run=run)
        return found

    def predict(self, X: Any, *, run: Run | None = None) -> NDArray[np.int64]:
        """The likeliest component of each row, counted from 0."""
        found: Array = self._each(lambda b: self._latent(b).mean.argmax(axis=1).astype(float), X, run=run)
        return found.astype(np.int64)

    def fit_predict(self, X: Any, y: Any = None, **how: Any) -> NDArray[np.int64]:
        """`fit` and then `predict` of the same rows."""
        return self.fit(X, y, **how).predict(X)

    def inverse_transform(self, Z: Any) -> Array:
        """Centres mixed by the shares in each row of Z."""
        means: Array = self.means_
        Z = np.atleast_2d(np.asarray(Z, dtype=np.float64))
        if Z.shape[1] != len(means):
            raise error("LD220", got=Z.shape[1], want=len(means), model=type(self).__name__, missing="")
        return np.asarray(Z @ means)

    def bic(self, X: Any, *, sample_weight: Any = None) -> float:
        """Schwarz's criterion of a table, the smaller the better."""
        value, n = self._total(X, sample_weight)
        return -2.0 * value + self.n_parameters_ * float(np.log(n))

    def aic(self, X: Any, *, sample_weight: Any = None) -> float:
        """Akaike's criterion of a table, the smaller the better."""
        return -2.0 * self._total(X, sample_weight)[0] + 2.0 * self.n_parameters_

    def _total(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        from lowdim.sources.arrays import as_source

        source = as_source(X, weight=sample_weight)
        scores = self.score_samples(source)
        return float(scores.sum() if source.weight is None else source.weight @ scores), source.total

    # what it says ----------------------------------------------------------------------------------
    def _attributes(self, params: Weighted, frame: Frame, fit: Fit) -> dict[str, Any]:
        part, parts = self._part(), params.parts
        means = np.array([frame.outward(p.mu) for p in parts])
        free = len(parts) - 1 + sum(part.free(p) for p in parts) + part.shared(parts[0])
        return {
            "weights_": np.exp(params.logs),
            "means_": means,
            "n_parameters_": free,
            "n_clusters_": len(parts),
            **part.attributes(parts, frame.report),
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        part, parts = self._part(), fit.params.parts
        condition = max(part.condition(p) for p in parts)
        reached = em_digits(fit.remaining, fit.stats.n)
        digits = float(np.clip(min(15.0 - np.log10(condition), reached), 0.0, 15.0))
        boundary = tuple(f"covariance of component {k}" for k, p in enumerate(parts) if part.on_floor(p))
        return Certificate(
            fit.solver,
            fit.passes,
            fit.objective,
            self._objective_name,
            fit.converged,
            fit.reason,
            fit.remaining,
            0.0,
            condition,
            digits,
            boundary,
            (f"variances not below {self._asked()[1]:g} of those about the starting centres",),
        )

    def _cost(self, n: int, d: int) -> Cost:
        K, part = self._asked()[0], self._part()
        passes = 4 + self.max_iter
        tile = min(tile_rows(d), n)
        held, node = part.held(d, True), K * part.kept(d)
        work = 4 * min(tile * K * held, max(PIECE, 256 * K * held)) + 4 * tile * d
        sample = max(SAMPLE, SHARE * K) * (d + 4 * K)
        peak = walking(n, d, work, node) + 8 * (sample + 24 * node) + kept_blocks(n, d)
        words = "fewer components, fewer columns, or covariance_type='diag'"
        return Cost(passes, 8 * n * d * passes, peak, words, min(60, self.max_iter) + 2)


def _rows(params: Weighted, found: Any) -> Block:
    """The rows a posterior is of; where it is of none, rows without any cell."""
    if isinstance(found, Shared):
        return Block(found.x, found.mask)
    shape = (len(found.mean), len(params.parts[0].mu))
    return Block(np.zeros(shape), np.zeros(shape, dtype=bool))
