"""Mixtures: a row belongs to one of K parts, each a model of its own.

What all of them share (`MixtureModel`), the mixture of any parts, and the ones with names: of Gaussians, of
probabilistic PCAs, of factor analysers.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Cost, Fit, em, plan, walking
from lowdim.engine.fold import Run, fold, one_blas_thread
from lowdim.maths.linalg import Array, lower
from lowdim.models.base.calibration import cost_with_held_out_fits, held_out_fits
from lowdim.models.base.estimator import Absent, WeightedEstimator
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import (
    CALIBRATE,
    COUNT,
    EM_ENDS,
    POSITIVE,
    SEED,
    TRUTH,
    WHOLE,
    Rule,
    one_of,
    option,
    seed_of,
)
from lowdim.models.base.results import Cells, Fitted, certify, draw_labels, inflation_note
from lowdim.models.base.survey import TableSurvey, survey_table
from lowdim.models.mixtures.alignment import CommonMap, coordinate
from lowdim.models.mixtures.parts import COVARIANCE_TYPES, Parts, linear_parts, parts_of, responsibilities
from lowdim.models.mixtures.starts import StartCovariance, center_sets, wide_covariance, within_sums
from lowdim.sources.source import Block, Source, tile_rows
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

START_ROWS = 2048  # rows on which starts are compared; or so many a part where that is more:
START_ROWS_EACH = 32
WIDE_START_ROWS = 256  # rows whose directions start a table of very many columns
RACE_STEPS = (4, 8)  # EM steps of every start, and of the best third of them
TIE = 1e-9  # objectives closer than this share of their size differ by rounding: the same start, renumbered
PIECE_NUMBERS = 2**21  # numbers the parts may hold of a tile at a time (16 MB)
LEAST_PART_WEIGHT = 1e-10  # a part with less than this share of the rows is not fitted anew
LEAST_REG_COVAR = 1e-12  # where none is wanted: below it covariances are not told from singular ones
REG_COVAR: Rule = Rule(
    lambda v: isinstance(v, int | float | np.number) and not isinstance(v, bool) and bool(0 <= v < 1),
    "a share of the variances, 0 <= share < 1",
)
INIT: Rule = Rule(
    lambda v: not isinstance(v, str) or v in ("k-means++", "random"),
    "'k-means++', 'random', or an array of means, one row a component",
)


class MixtureParams(NamedTuple):
    """Parameters: the parts and the logarithms of their weights."""

    log_weights: Array  # K
    components: tuple[Any, ...]
    moments: bool  # whether a part's statistics are its weighted moments
    inflation: float = 1.0  # what standard deviations of cells are multiplied by


class MixtureSums(NamedTuple):
    """What the M-step needs: each part's own statistics."""

    shares: Array  # K: how many rows each part has
    log_density: float
    components: tuple[Any, ...]

    def merge(self, other: Self) -> Self:
        components = tuple(a.merge(b) for a, b in zip(self.components, other.components, strict=True))
        return type(self)(self.shares + other.shares, self.log_density + other.log_density, components)


class MixturePosterior(NamedTuple):
    """A posterior over parts, and the rows it is of: their cells need both."""

    mean: Array  # responsibilities, n x K
    log_density: Array
    block: Block  # in the frame

    @property
    def packed(self) -> Array:
        """The covariances diag(r) - r r' of which part a row is of."""
        r, (i, j) = self.mean, lower(self.mean.shape[1])
        return np.where(i == j, r[:, i], 0.0) - r[:, i] * r[:, j]


class MixtureModel(WeightedEstimator, LatentModel[Any, MixturePosterior]):
    """What all mixtures share: everything but how many parts there are, and of what model.

    A concrete mixture gives `_parts()`: how many there are, and the model that they follow.

    Attributes
    ----------
    n_clusters_ : int
        The number of components.
    weights_, means_ : arrays of shape (n_clusters_,) and (n_clusters_, n_features)
        The share pi_k of each component, and its mean mu_k.
    calibration_ : float
        What standard deviations of fills are multiplied by, found with cells held back; 1 without gaps.
    """

    _rows_to_predict = 512
    decode = Absent("shares of clusters are no position", "inverse_transform, or predict_cells")

    tol: float = option(default=1e-8, rule=POSITIVE, words=EM_ENDS)
    max_iter: int = option(default=1000, rule=COUNT, words="The most passes over the table.")
    n_init: int = option(
        default=10, rule=COUNT, words="Starts that are compared on a sample; the best goes on with all rows."
    )
    init: Any = option(
        default="k-means++",
        rule=INIT,
        kind='{"k-means++", "random"} or array of means, one row a component',
        words="Centres to start from.",
    )
    reg_covar: float = option(
        default=1e-6,
        rule=REG_COVAR,
        words="A floor and not an addition: no variance falls below this share of those about the starting centres, in "
        "any direction; the likelihood then has a maximum, and a component on that floor is named (LD251).",
    )
    calibrate: bool = option(default=True, rule=TRUTH, words=CALIBRATE)
    random_state: Any = option(
        default=0, rule=SEED, words="The seed of the starts and of the cells held back; None is 0."
    )

    def _parts(self) -> Parts:
        raise NotImplementedError

    # expectation and maximisation ---------------------------------------------------------------------
    def _stats(self, params: MixtureParams, block: Block, labels: NDArray[np.int64] | None = None) -> MixtureSums:
        """The E-step: each part's statistics, its share of a row being the row's weight; `labels` may name the part."""
        parts, total = self._parts(), None
        numbers, _ = parts.numbers(block.x.shape[1], block.mask is not None)
        at_once = max(256, PIECE_NUMBERS // (len(params.components) * numbers)) if labels is None else len(block.x)
        for piece in block.tiles(at_once):
            # how likely each row is under each part, and by that its share in each
            rows = parts.rows(params.components, piece)
            if labels is None:
                shares, log_density = responsibilities(params.log_weights, rows, piece.mask)
            else:
                shares, log_density = np.eye(len(rows))[:, labels], np.zeros(len(piece.x))
            value = float(piece.times @ log_density)
            # and what each part makes of the rows, counted by these shares
            shares = shares if piece.weight is None else shares * piece.weight
            components = parts.sums(params.components, piece, shares, rows, params.moments)
            sums = MixtureSums(shares.sum(axis=1), value, components)
            total = sums if total is None else total.merge(sums)
        assert total is not None  # a block has a row
        return total

    def _objective(self, params: MixtureParams, stats: MixtureSums) -> float:
        return stats.log_density + self._parts().parameter_terms(params.components)

    def _update(self, params: MixtureParams, stats: MixtureSums) -> MixtureParams:
        """The M-step: weights by their shares; a part left with next to nothing keeps its shape."""
        n = stats.shares
        total = max(float(n.sum()), np.finfo(float).tiny)
        skipped = (n < LEAST_PART_WEIGHT * total).tolist()
        components = self._parts().update(params.components, stats.components, skipped)
        return params._replace(log_weights=np.log(np.maximum(n / total, 1e-300)), components=components)

    def _pack(self, params: MixtureParams) -> Array:
        logs = np.maximum(params.log_weights, np.log(LEAST_PART_WEIGHT))
        return np.concatenate([logs, *map(self._parts().pack, params.components)])

    def _unpack(self, vector: Array, like: MixtureParams) -> MixtureParams:
        K = len(like.log_weights)
        logs = np.clip(vector[:K], like.log_weights - 3.0, like.log_weights + 3.0)  # no extrapolation may run away
        components = tuple(map(self._parts().unpack, vector[K:].reshape(K, -1), like.components))
        return like._replace(log_weights=logs - np.logaddexp.reduce(logs), components=components)

    # fitting ------------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> Fitted:
        parts = self._parts()
        if source.n < parts.count:
            raise error("LD253", n_components=parts.count, n=source.n)
        wide = source.d > parts.most_squared
        survey = survey_table(
            source,
            run,
            standardize=parts.standardize,
            wide=wide,
            each=parts.unit_free,
            units_matter=False,
            pairs_matter=False,
        )
        if not float(survey.columns.variance.mean()) > 0.0:
            raise error("LD254", model=type(self).__name__)
        refit = partial(self._one_fit, survey, run)
        if survey.gaps and self.calibrate:
            plan(type(self).__name__, self._cost(source.n, source.d, gaps=True), run, source.leaf)
            # fits without some of the cells tell how wide intervals must be; then one with all of them
            first = held_out_fits(self, refit, survey, seed_of(self.random_state), run)
            fit = first.then(lambda most: refit(survey.source, limit=most))
        else:
            fit = refit(survey.source)
        return self._reported(fit, survey.frame).restated(survey.columns.seen, survey.passes)

    def _one_fit(self, survey: TableSurvey, run: Run, source: Source, limit: int | None = None) -> Fit[Any, Any]:
        """A start and EM on these rows of the table."""
        parts = self._parts()
        with one_blas_thread():
            params, passes = self._start(survey._replace(source=source), run)
        fit = em(self, params, source, run, mix=parts.extrapolates, limit=limit)
        components = map(parts.finish, fit.params.components, fit.stats.components, fit.stats.shares.tolist())
        params = fit.params._replace(components=tuple(components))
        return fit._replace(params=params, passes=fit.passes + passes)

    def _start(self, survey: TableSurvey, run: Run) -> tuple[MixtureParams, int]:
        """The given means with the covariance about them; else the best of several starts on a sample."""
        parts = self._parts()
        K, d = parts.count, survey.source.d
        share = max(float(self.reg_covar), LEAST_REG_COVAR)
        # the unit of each column: its spread, or the typical one where the parts have units in common
        variance = survey.columns.variance
        mean_variance = float(variance.mean())
        each = np.where(variance > 0.0, variance, mean_variance)
        unit = np.sqrt(each if parts.unit_free else np.full(d, mean_variance))
        wide = d > parts.most_squared
        if not isinstance(self.init, str):
            centers = self._given_means(survey)
            if wide:
                about = wide_covariance(centers, unit, survey.source.sample(WIDE_START_ROWS))
            else:
                about = fold(partial(within_sums, centers, unit), survey.source, run).covariance()
            bounds = about.variance_bounds(unit, parts.unit_free, share)
            return self._about(survey, centers, about, bounds), int(not wide)
        more = START_ROWS_EACH * K
        sample = survey.source.sample(WIDE_START_ROWS + more if wide else max(START_ROWS, more))
        sets = center_sets(
            sample,
            K,
            unit,
            survey.columns.mean,
            n_init=int(self.n_init),
            seed=seed_of(self.random_state),
            far=self.init != "random",
            white=parts.correlated,
        )
        runs: list[tuple[MixtureParams, list[bool]]] = []
        low: Array | None = None
        for centers, labels in sets:
            sums = None if wide else within_sums(centers, unit, sample, labels)
            about = wide_covariance(centers, unit, sample) if sums is None else sums.covariance()
            if low is None:  # one for all, or the start with the lowest would win
                low = about.variance_bounds(unit, parts.unit_free, share)
            # equal parts about the centres, then each fitted to the rows nearest to its own
            params = self._about(survey, centers, about, low)
            params = self._update(params, self._stats(params, sample, labels))
            # a part that begins on its floor with rows enough has not fallen: such rows are flat
            rows = np.bincount(labels, sample.weight, K)
            flat = [n > d and parts.on_floor(p) for n, p in zip(rows, params.components, strict=True)]
            runs.append((params, flat))
        # A race: all starts go a little way by EM, the best third further. Those with fewer parts that fell to their
        # floor come first, then those of higher likelihood.
        for steps in RACE_STEPS if len(runs) > 1 else ():
            ends = []
            for params, flat in runs:
                for _ in range(steps):
                    stats = self._stats(params, sample)
                    params = self._update(params, stats)
                fell = sum(parts.on_floor(p) and not began for p, began in zip(params.components, flat, strict=True))
                ends.append((fell, stats.log_density, params, flat))
            size = TIE * max(abs(value) for _, value, _, _ in ends)
            ends.sort(key=lambda end: (end[0], round(-end[1] / size)))  # stable: of equals the first
            runs = [(params, flat) for _, _, params, flat in ends[: -(-len(ends) // 3)]]
        return runs[0][0], 0

    def _given_means(self, survey: TableSurvey) -> Array:
        """The means that `init` holds, in the frame."""
        K, d = self._parts().count, survey.source.d
        try:
            means = np.asarray(self.init, dtype=np.float64)
        except (TypeError, ValueError):
            means = np.zeros(0)
        if means.shape != (K, d) or not np.isfinite(means).all():
            value = f"<{type(self.init).__name__} of shape {means.shape}>"
            raise error("LD210", option="init", value=value, allowed=f"{INIT.words}: here {K} x {d} finite numbers")
        return survey.frame.inward(Block(means)).x

    def _about(self, survey: TableSurvey, centers: Array, about: StartCovariance, low: Array) -> MixtureParams:
        """Equal parts about these centres."""
        K, parts = len(centers), self._parts()
        part = parts.start(about, low, float(survey.columns.n) / K)
        moments = not survey.gaps and survey.source.d <= parts.moment_columns
        return MixtureParams(np.full(K, -np.log(K)), tuple(part._replace(mu=mu) for mu in centers), moments)

    # rows --------------------------------------------------------------------------------------------
    def _posterior(self, params: MixtureParams, block: Block) -> MixturePosterior:
        if block.mask is not None and block.mask.all():
            block = block._replace(mask=None)
        rows = self._parts().rows(params.components, block)
        shares, log_density = responsibilities(params.log_weights, rows, block.mask)
        return MixturePosterior(np.ascontiguousarray(shares.T), log_density, block)

    def _decode(self, params: MixtureParams, rows: MixturePosterior) -> Cells:
        """Mixed means; the variance of a cell is that within the parts and that between them."""
        cells, shares = self._parts().decode(params.components, rows.block), rows.mean.T[:, :, None]
        mean = sum(share * c.mean for c, share in zip(cells, shares, strict=True))
        var = sum(share * (c.var + (c.mean - mean) ** 2) for c, share in zip(cells, shares, strict=True))
        noise = sum(share * c.noise for c, share in zip(cells, shares, strict=True))
        return Cells(np.asarray(mean), np.asarray(var), np.asarray(noise))

    def _draw(self, params: MixtureParams, rows: MixturePosterior, rng: list[np.random.Generator]) -> Array:
        """A part by responsibility for each row, then its cells jointly."""
        parts, block = self._parts(), rows.block
        labels = draw_labels(rows.mean, rng)
        out = np.empty_like(block.x)
        for k in np.unique(labels):
            at = np.flatnonzero(labels == k)
            out[at] = parts.draw(params.components[k], block.take(at), [rng[i] for i in at])
        return out

    def _redraw(self, params: MixtureParams, rng: np.random.Generator) -> MixtureParams:
        if params.inflation != 1.0:  # the factor counts what the table leaves open
            return params
        parts = self._parts()
        return params._replace(components=tuple(parts.redraw(p, rng) for p in params.components))

    def _prior(self, params: MixtureParams, n: int) -> MixturePosterior:
        """Rows without any cell: of each part by its weight."""
        share, shape = np.exp(params.log_weights), (n, len(params.components[0].mu))
        block = Block(np.zeros(shape), np.zeros(shape, dtype=bool))
        return MixturePosterior(np.tile(share, (n, 1)), np.zeros(n), block)

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
        means = self.means_
        return self._of_places(lambda Z: Z @ means, Z, len(means))

    def coordinate(self, X: Any, n_components: int = 2, *, n_neighbors: int = 12) -> CommonMap:
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
        check_is_fitted(self)
        if not self._parts().has_axes:
            why, fix = "its parts have no axes to glue", "MixtureOfPPCA or MixtureOfFA"
            raise error("LD240", model=type(self).__name__, verb="coordinate", why=why, fix=fix)
        return coordinate(self, X, n_components, n_neighbors)

    # reports -----------------------------------------------------------------------------------------
    @property
    def n_parameters_(self) -> int:
        """The numbers fitted, as `bic` and `aic` count them."""
        check_is_fitted(self)
        components = self.params_.components
        return len(components) - 1 + self._parts().n_parameters(components, self.frame_)

    def _reported(self, fit: Fit[Any, Any], frame: Frame) -> Fitted:
        """What is said of a fit: its attributes, how far to trust them, and which parts are on their floor or empty."""
        parts, params, name = self._parts(), fit.params, type(self).__name__
        floor = max(float(self.reg_covar), LEAST_REG_COVAR)
        n = float(fit.stats.shares.sum())
        attributes = {
            "weights_": np.exp(params.log_weights),
            "means_": np.array([frame.outward(p.mu) for p in params.components]),
            "n_clusters_": len(params.components),
            "calibration_": params.inflation,
            **parts.attributes(params.components, frame.report),
        }
        condition = max(parts.condition(p) for p in params.components)
        rows = n * np.exp(params.log_weights)
        on_floor = [k for k, p in enumerate(params.components) if parts.on_floor(p)]
        if on_floor:
            counts = ", ".join(f"{rows[k]:.3g}" for k in on_floor[:5])
            warn("LD251", model=name, which=_listed(on_floor), floor=floor, rows=counts)
        empty = np.flatnonzero(rows < 0.5).tolist()
        if empty:
            warn("LD252", model=name, which=_listed(empty), count=len(empty))
        certificate = certify(
            fit,
            self._objective_name,
            condition=condition,
            rows=n,
            boundary=tuple(f"covariance of component {k}" for k in on_floor),
            notes=(
                f"variances not below {floor:g} of those about the starting centres",
                inflation_note(params.inflation),
            ),
        )
        return Fitted(params, frame, certificate, attributes, fit.history)

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        """A survey, starts on a sample, and passes of EM."""
        parts = self._parts()
        K, (row, sums) = parts.count, parts.numbers(d, True)
        passes = 4 + self.max_iter
        tile, node = min(tile_rows(d), n), K * sums
        work = 4 * min(tile * K * row, max(PIECE_NUMBERS, 256 * K * row)) + 4 * tile * d
        sample = max(START_ROWS, START_ROWS_EACH * K) * (d + 4 * K)
        peak = walking(n, d, work, node) + 8 * (sample + 24 * node)
        words = "fewer components, fewer columns, or covariance_type='diag'"
        cost = Cost(passes, 8 * n * d * passes, peak, words)
        return cost_with_held_out_fits(cost, n, d) if gaps else cost


def _listed(components: list[int]) -> str:
    """The numbers of the first few components."""
    more = f" and {len(components) - 5} more" if len(components) > 5 else ""
    return ", ".join(map(str, components[:5])) + more


# the mixtures with names -------------------------------------------------------------------------------------
class Mixture(MixtureModel):
    """A mixture of any parts: p(x) = sum_k pi_k p_k(x), gaps welcome.

    Each part is a model of its own, fitted by its own steps of EM to all rows, each counted by the part's share in it.
    Parts are fitted by maximum likelihood, those of `BayesianPCA` by variational Bayes (`objective_` is then the
    evidence bound, and axes that a part's rows do not support are switched off); those of `RobustPPCA` are Student's,
    so that far rows turn none of them.

    The latent position is one-of-K, so `transform` gives responsibilities p(k | seen cells of the row), `predict`
    the likeliest part; `impute` mixes the parts' conditional means, its spread is that within and between parts.
    `sample` gives rows only, not their labels.

    Attributes
    ----------
    covariances_ : array
        Of Gaussians, in scikit-learn's shapes for such covariances.
    components_ : array of shape (n_clusters, n_axes, n_features)
        W of each linear part; there, in place of `covariances_`.
    noise_variance_ : array of shape (n_clusters,) or (n_clusters, n_features)
        The noise of each linear part.
    dof_, n_axes_ : arrays of shape (n_clusters,)
        Degrees of freedom of each `RobustPPCA`; axes kept of each `BayesianPCA`.
    n_parameters_ : int
        The numbers fitted, as `bic` and `aic` count them.

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

    component: Any = option(
        default="full",
        rule=Rule(lambda v: True, "anything: what cannot be a part is refused with a message of its own"),
        kind='{"full", "tied", "diag", "spherical"} or estimator',
        words="What the parts are: Gaussians with such covariances, or one of ProbabilisticPCA, FactorAnalysis, "
        "RobustPPCA and BayesianPCA, not fitted. Its own `tol` and `max_iter` are not used.",
        kw_only=False,
    )
    n_clusters: int = option(default=2, rule=COUNT, words="The number K of parts.", kw_only=False)

    @property
    def _objective_name(self) -> str:  # type: ignore[override]  # of an option, no class variable
        return "log-likelihood" if isinstance(self.component, str) else self.component._objective_name

    @property
    def _laws_broken(self) -> dict[str, str]:  # type: ignore[override]  # of an option, no class variable
        return {} if isinstance(self.component, str) else self.component._laws_broken

    def _check_options(self) -> None:
        super()._check_options()
        if isinstance(self.component, LatentModel):
            self.component._check_options()

    def _parts(self) -> Parts:
        return parts_of(self.component, int(self.n_clusters))


class GaussianMixture(MixtureModel):
    """A mixture of Gaussians with full, tied, diagonal or spherical covariances, gaps welcome.

    p(x) = sum_k pi_k N(x | mu_k, C_k); with gaps every row counts by the density of its seen cells, exactly.

    Attributes
    ----------
    covariances_ : array of shape (n_components, n_features, n_features)
        For "full"; (n_features, n_features) for "tied", (n_components, n_features) for "diag", (n_components,) for
        "spherical".
    n_parameters_ : int
        The numbers fitted, as `bic` and `aic` count them.

    Notes
    -----
    `sample` gives rows only, where scikit-learn's gives rows and labels.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum likelihood from incomplete data via the EM algorithm",
    Journal of the Royal Statistical Society B 39 (1977), 1-38.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((90, 2)) + np.repeat([0.0, 7.0, 14.0], 30)[:, None]
    >>> GaussianMixture(3, covariance_type="tied").fit(X).weights_.round(2).tolist()
    [0.33, 0.33, 0.33]
    """

    n_components: int = option(
        default=1,
        rule=COUNT,
        words="The number K of components, under scikit-learn's name; the other mixtures call it `n_clusters`.",
        kw_only=False,
    )
    covariance_type: str = option(
        default="full",
        rule=one_of(*COVARIANCE_TYPES),
        words="Any covariance, one for all components, diagonal ones, or multiples of the identity.",
    )

    def _parts(self) -> Parts:
        return parts_of(self.covariance_type, int(self.n_components))


class MixtureOfPPCA(MixtureModel):
    """A mixture of probabilistic PCAs: K clusters, each with q axes and isotropic noise of its own, gaps welcome.

    p(x) = sum_k pi_k N(x | mu_k, W_k W_k' + s2_k I). Complete tables: W_k and s2_k in closed form from the weighted
    moments in every step; gaps: parameter-expanded EM. `sample` gives rows only, not their labels.

    Attributes
    ----------
    components_ : array of shape (n_clusters, n_components, n_features)
        The axes W_k of each component, one a row.
    noise_variance_ : array of shape (n_clusters,)
        The noise variances s2_k.
    n_parameters_ : int
        The numbers fitted, as `bic` and `aic` count them.

    References
    ----------
    M. E. Tipping and C. M. Bishop, "Mixtures of probabilistic principal component analyzers", Neural Computation 11
    (1999), 443-482.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 4)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    >>> MixtureOfPPCA(2, 1).fit(X).weights_.round(2).tolist()
    [0.5, 0.5]
    """

    n_clusters: int = option(default=2, rule=COUNT, words="The number K of components.", kw_only=False)
    n_components: int = option(default=1, rule=WHOLE, words="The number q of axes of each.", kw_only=False)

    def _parts(self) -> Parts:
        return linear_parts(int(self.n_components), int(self.n_clusters), own_units=False)


class MixtureOfFA(MixtureModel):
    """A mixture of factor analysers: K clusters, each with q factors and a noise variance for every column.

    p(x) = sum_k pi_k N(x | mu_k, W_k W_k' + Psi_k), Psi_k diagonal; the columns' units do not matter, and gaps are
    welcome. `sample` gives rows only, not their labels.

    Attributes
    ----------
    components_ : array of shape (n_clusters, n_components, n_features)
        The axes W_k of each component, one a row.
    noise_variance_ : array of shape (n_clusters, n_features)
        The diagonals of Psi_k.
    n_parameters_ : int
        The numbers fitted, as `bic` and `aic` count them.

    References
    ----------
    Z. Ghahramani and G. E. Hinton, "The EM algorithm for mixtures of factor analyzers", technical report CRG-TR-96-1,
    University of Toronto (1996); here with noise of its own for every cluster.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) * [1.0, 2.0, 1.0, 2.0] + rng.standard_normal((200, 4))
    >>> X[:100] += 9.0
    >>> MixtureOfFA(2, 1).fit(X).weights_.round(2).tolist()
    [0.5, 0.5]
    """

    n_clusters: int = option(default=2, rule=COUNT, words="The number K of components.", kw_only=False)
    n_components: int = option(default=1, rule=WHOLE, words="The number q of axes of each.", kw_only=False)
    reg_covar: float = option(
        default=1e-4,
        rule=REG_COVAR,
        words="No noise variance falls below this share of its column's variance about the starting centres; higher "
        "than for other mixtures since, as in factor analysis, uniquenesses like to run into it.",
    )

    def _parts(self) -> Parts:
        return linear_parts(int(self.n_components), int(self.n_clusters), own_units=True)
