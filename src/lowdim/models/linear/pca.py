"""Principal component analysis: the linear-Gaussian model as its noise goes to zero."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim.engine.fit import STOPPED, Cost, Fit
from lowdim.engine.fold import Run, fold
from lowdim.engine.statistics import Moments, Sum
from lowdim.maths.gaussian import Sums, posterior
from lowdim.maths.linalg import Array, lower
from lowdim.models.base.calibration import cost_with_held_out_fits, held_out_fits
from lowdim.models.base.options import (
    EM_ENDS_WITH_GAPS,
    POSITIVE,
    SEED,
    TRUTH,
    WHOLE,
    Rule,
    check_components,
    one_of,
    option,
    seed_of,
)
from lowdim.models.base.results import Fitted, Posterior, certify, in_range, product, squared
from lowdim.models.base.survey import TableSurvey, first_axes, is_wide
from lowdim.models.linear.linear_gaussian import LinearGaussian, excess, noise_floor, on_floor, principal_start
from lowdim.models.linear.minka import minka, rank_of
from lowdim.models.linear.principal_axes import (
    SOLVERS,
    Spectrum,
    certify_spectrum,
    closed_noise,
    principal,
    spectrum_log_likelihood,
    spectrum_of,
)
from lowdim.sources.source import Block, Source
from lowdim.sources.views import HUGE_SCALE, Frame
from lowdim.text.messages import error, warn

VANISHING = 1e-7  # the noise, as a share of the mean variance, that stands for sigma -> 0 with gaps
RUNAWAY = 3.0  # axes that hold more than this many times the seen variance follow the noise
ROUNDED = 1e-14  # variances below this share of the largest are rounding
EXACT = 1e-9  # the same for placing one row, as a share of the smallest variance kept


class PCAParams(NamedTuple):
    """Parameters, in the frame's units, named as in LinearGaussianParams; z are scores with variances `variance`."""

    W: Array  # d x q, orthonormal
    mu: Array
    psi: Array  # d, the noise of the density, at its floor where nothing is left
    T: Array
    V: Array
    low: Array
    excess: Array
    variance: Array  # q, n - 1
    inflation: float = 1.0  # what standard deviations of cells are multiplied by


def _components(v: Any) -> bool:
    fraction = isinstance(v, float | np.floating) and bool(0.0 < v < 1.0)
    return v is None or (isinstance(v, str) and v == "mle") or WHOLE.holds(v) or fraction


class PCA(LinearGaussian[PCAParams, Posterior]):
    """Principal component analysis, as scikit-learn names things, with gaps welcome.

    Scores t = V'(x - mean) along orthonormal axes of falling variance. Complete tables are solved by
    the covariance, its dual, QR or block Krylov, whichever suits shape and conditioning; with gaps the
    axes minimise the squared error of the seen cells: EM in the limit sigma -> 0. The density is that
    of probabilistic PCA.

    Attributes
    ----------
    components_ : ndarray of shape (q, d)
        Orthonormal axes, of falling variance.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (q,)
        Variance along each axis (divisor n - 1), its share of the total, and the singular value.
    log_variance_ : ndarray of shape (q,)
        Logarithms of the variances, exact where these leave double precision.
    noise_variance_, n_components_, n_samples_, n_parameters_ : float, int, int, int
        Mean variance of the discarded axes, how many are kept, the rows of the fit (the sum of their weights), and the
        numbers fitted, as `bic` and `aic` count them.

    References
    ----------
    I. T. Jolliffe (2002), Principal Component Analysis, 2nd ed., Springer. S. Roweis (1998), "EM algorithms for PCA and
    SPCA", NIPS 10, for gaps. Derivations: [Zabaras2018], [Morrison2012] in docs/sources.md.

    Examples
    --------
    >>> import numpy as np
    >>> PCA(1).fit([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]).components_.round(4).tolist()
    [[0.7071, 0.7071]]
    """

    _has_doubt: ClassVar[bool] = False  # positions are projections, which take no spread of rows as known
    _low_share: ClassVar[float] = VANISHING
    _fewer_with_gaps: ClassVar[bool] = True

    n_components: Any = option(
        default=None,
        rule=Rule(_components, "None, 'mle', a whole number >= 0, or a fraction of the variance in (0, 1)"),
        kind='int, float, "mle" or None',
        words="Axes to keep: a number, the share of the variance to reach (in (0, 1)), as many as Minka's evidence "
        "says (at least one), or all; with gaps as many as the seen cells can tell, seen cells / 2 (rows + columns).",
        kw_only=False,
    )
    whiten: bool = option(default=False, rule=TRUTH, words="Scores of unit variance.")
    solver: str = option(
        default="auto",
        rule=one_of(*SOLVERS),
        words="How a complete table is solved; by default what suits its shape and conditioning.",
    )
    random_state: Any = option(
        default=0,
        rule=SEED,
        words="Of the first basis of the Krylov solver, and of the cells that are held out for calibration.",
    )
    tol: float = option(default=1e-6, rule=POSITIVE, words=EM_ENDS_WITH_GAPS)

    def avoids_covariance(self, n: int, d: int) -> bool:
        if self.solver in ("covariance", "qr"):
            return False
        return self.solver in ("dual", "krylov") or is_wide(n, d)

    # complete tables -----------------------------------------------------------------------------
    def _complete(self, survey: TableSurvey, run: Run) -> Fitted:
        if self.solver == "em":
            return self._with_gaps(survey, run)
        k = self._how_many(survey.source.repeats, survey.source.d)
        spectrum = principal(survey, k, run, solver=self.solver, seed=seed_of(self.random_state))
        return self._closed(self._cut(spectrum), survey.frame)

    def fit_moments(self, m: Moments, frame: Frame, names: tuple[str, ...]) -> Fitted:
        d = len(m.mean)
        return self._closed(self._cut(spectrum_of(m, self._how_many(d, d))), frame)

    def _how_many(self, n: int, d: int) -> int:
        most = min(n, d)
        if self.n_components is None or not WHOLE.holds(self.n_components):
            return most
        check_components(self.n_components, most, f"the table has {n} rows and {d} columns")
        return int(self.n_components)

    def _cut(self, spectrum: Spectrum) -> Spectrum:
        """As many axes as the asked fraction of variance needs, or as the evidence says."""
        if self.n_components is None or WHOLE.holds(self.n_components) or spectrum.total == 0.0:
            return spectrum
        k = self._asked(spectrum.values, spectrum.total, spectrum.n, len(spectrum.vectors))
        tail = spectrum.tail + float(spectrum.values[k:].sum())
        return spectrum._replace(values=spectrum.values[:k], vectors=spectrum.vectors[:, :k], tail=tail)

    def _asked(self, values: Array, total: float, n: float, d: int) -> int:
        """How many of the axes with these variances, of n rows and d columns, an option that is no number means."""
        if self.n_components == "mle":
            rank = rank_of(values, ROUNDED)
            if rank < min(n - 1, d) or rank < 2:  # so many axes reproduce the table: there is no noise
                return max(rank, 1)
            return 1 + int(np.argmax(minka(values, n, d, share=ROUNDED)[1:]))
        return enough(values / max(total, np.finfo(float).tiny), float(self.n_components))

    def _closed(self, spectrum: Spectrum, frame: Frame) -> Fitted:
        """Axes and variances are those of the spectrum, with divisor n - 1; the density is probabilistic PCA's."""
        d, q = spectrum.vectors.shape
        more = spectrum.n / (spectrum.n - 1.0) if spectrum.n > 1.0 else 1.0
        unexplained = spectrum.tail * more / (d - q) if q < d else 0.0
        noise, floor = closed_noise(spectrum, unexplained)
        params = self._params(spectrum.vectors, spectrum.mean, spectrum.values * more, noise, floor, spectrum.n)
        value = spectrum_log_likelihood(spectrum, float(params.psi[0]), more)
        certificate = certify_spectrum(spectrum, value, self._objective_name, spectrum.passes)
        if q == d:
            unexplained = 0.0 if on_floor(params).any() else float(params.psi[0])
        return Fitted(params, frame, certificate, self._attributes(params, frame, spectrum.n, unexplained), (value,))

    def _params(self, V: Array, mu: Array, variance: Array, noise: float, floor: float, n: float) -> PCAParams:
        d, q = V.shape
        live = variance > EXACT**2 * variance.max(initial=0.0)
        one = np.where(live, 1.0 / np.sqrt(np.where(live, variance, 1.0)), 0.0)
        # doubt about an entry of an axis: noise / (n variance); about the mean: noise / n
        doubt = np.append(one**2, 1.0) * noise / n
        return PCAParams(
            W=V,
            mu=mu,
            psi=np.full(d, noise),
            T=np.diag(one) if self.whiten else np.eye(q),
            V=np.tile(doubt, (d, 1)),
            low=np.full(d, floor),
            excess=excess(np.full(d, n), q),
            variance=variance,
        )

    # gaps ------------------------------------------------------------------------------------------
    def _start(self, survey: TableSurvey) -> PCAParams:
        """Principal axes of the pairwise moments, with next to no noise."""
        start = principal_start(survey, self._with_gaps_many(survey))
        total, d = float(survey.columns.variance.sum()), survey.source.d
        vanishing = np.full(d, max(VANISHING * total / d, float(start.low[0])))
        return PCAParams(*start._replace(psi=vanishing, low=vanishing), variance=np.ones(start.W.shape[1]))

    def _with_gaps_many(self, survey: TableSurvey) -> int:
        n, d = survey.source.repeats, survey.source.d
        k = self._how_many(n, d)
        if survey.gaps and k == d > 1 and WHOLE.holds(self.n_components):
            raise error("LD213", n_components=self.n_components, most=min(n, d) - 1)
        if WHOLE.holds(self.n_components):
            return k
        if self.n_components is None:
            return self._told_apart(survey) if survey.gaps else k
        values = np.maximum(first_axes(survey, min(n, d))[0], 0.0)
        most = self._told_apart(survey) if self.n_components == "mle" and survey.gaps else max(min(n, d) - 1, 1)
        return min(self._asked(values, float(values.sum()), n, d), most)

    def _told_apart(self, survey: TableSurvey) -> int:
        """As many axes as the seen cells can tell: two for each number, of which an axis has one a row and a column."""
        n, d = survey.source.repeats, survey.source.d
        most = int(float(survey.columns.seen.sum()) // (2 * (n + d)))
        count = max(min(most, min(n, d) - 1), min(1, d - 1))
        warn("LD218", count=count, d=min(n, d))
        return count

    def _noise(self, squares: Array, seen: Array) -> Array:
        return np.zeros(len(squares))  # the bound stands in its place, and stays

    def _objective(self, params: PCAParams, stats: Sums) -> float:
        return stats.log_density * VANISHING  # squared error in units of the mean variance

    def _with_gaps(self, survey: TableSurvey, run: Run) -> Fitted:
        """Roweis's EM in the limit of no noise; then what it left over is the noise of the density."""
        fit = self.fit_from(self._start(survey), survey.source, run)
        scored = fit._replace(params=self._in_scores(fit), passes=fit.passes + survey.gathered)
        had, has = float(survey.columns.variance.sum()), float(scored.params.variance.sum())
        if survey.gaps and had > 0.0 and has > RUNAWAY * had:
            warn("LD217", times=f"{has / had:.3g}")
        if fit.reason not in STOPPED:
            refit = partial(self._refit, fit.params, run)
            scored = held_out_fits(self, refit, survey, seed_of(self.random_state), run).calibrate(scored)
        params, n = scored.params, scored.stats.n
        density = float(fold(partial(self._density, params), survey.source, run).value)
        # one pass for the density, and one where a wide table was gathered to count its axes
        more_passes = 1 + survey.gathered * (not WHOLE.holds(self.n_components))
        scored = scored._replace(objective=density, passes=scored.passes + more_passes)
        axes = params.W * np.sqrt(params.variance)
        certificate = certify(scored, self._objective_name, rows=n, axes=axes)
        noise = 0.0 if on_floor(params).any() else float(params.psi[0])
        attributes = self._attributes(params, survey.frame, n, noise)
        return Fitted(params, survey.frame, certificate, attributes, scored.history)

    def _refit(self, start: PCAParams, run: Run, source: Source) -> Fit[PCAParams, Sums]:
        """The axes go on from these to those of another source."""
        fit = self.fit_from(start, source, run)
        return fit._replace(params=self._in_scores(fit))

    def _in_scores(self, fit: Fit[PCAParams, Sums]) -> PCAParams:
        """What EM with next to no noise found, as axes, scores and the noise left."""
        W, stats = fit.params.W, fit.stats
        (d, q), n = W.shape, stats.n
        more = n / (n - 1.0) if n > 1.0 else 1.0
        lengths = np.linalg.norm(W, axis=0)
        tiny = float(fit.params.psi[0])  # what the vanishing noise took from the axes goes back to them
        unexplained = max(float(stats.squares.sum() / stats.seen.sum()) - q / d * tiny, 0.0) * more
        unexplained *= d / (d - q) if q < d else 0.0
        variance = (lengths**2 + tiny) * more
        V = W / np.where(lengths > 0, lengths, 1.0)
        floor = noise_floor(float(variance.sum()) + unexplained * (d - q), d)
        return self._params(V, fit.params.mu, variance, max(unexplained, floor), floor, n)

    def _density(self, params: PCAParams, block: Block) -> Sum:
        """The block's log density."""
        rows = self._posterior(params, block).log_density
        return Sum(np.asarray(rows.sum() if block.weight is None else block.weight @ rows))

    # rows ------------------------------------------------------------------------------------------
    def _places(self, params: PCAParams, block: Block) -> Array:
        """Scores by projection; by least squares on the seen cells where there are gaps."""
        scores = (block.x - params.mu) @ params.W
        if block.mask is not None:
            part = ~block.mask.all(axis=1)
            scores[part] = _least_squares(params, block.x[part], block.mask[part])
        return scores

    def _placed(self, block: Block) -> Array:
        """Complete rows take one subtraction and one product, in which the frame is included."""
        frame, params = self.frame_, self.params_
        if block.mask is not None or frame.scale.min(initial=1.0) <= HUGE_SCALE:
            return super()._placed(block)
        return product(block.x - frame.outward(params.mu), frame.scale[:, None] * params.W @ self._axes(params))

    def _posterior(self, params: PCAParams, block: Block) -> Posterior:
        """Covariance and density are probabilistic PCA's, so a row with gaps is less certain."""
        size = np.sqrt(np.maximum(params.variance - params.psi[0], 0.0))
        latent = posterior(block.x, block.mask, params.W * size, params.mu, params.psi)
        i, j = lower(params.W.shape[1])
        packed = np.broadcast_to(latent.cov.T * (size[i] * size[j]), (len(block.x), len(i)))
        return Posterior(self._places(params, block), packed, latent.log_density)

    def _prior(self, params: PCAParams, n: int) -> Posterior:
        i, j = lower(params.W.shape[1])
        spread = np.maximum(params.variance - params.psi[0], 0.0)
        return Posterior(np.zeros((n, len(spread))), np.tile(np.where(i == j, spread[i], 0.0), (n, 1)), np.zeros(n))

    def score_samples(self, X: Any, *, run: Run | None = None) -> Array:
        """Log density of each row's seen cells under probabilistic PCA."""
        scores = super().score_samples(X, run=run)
        if self.params_.psi[0] <= self.params_.low[0]:
            q = self.n_components_
            floor = squared(self.params_.psi[:1], float(self.frame_.report[0]))[0]
            warn("LD202", floor=float(floor), q=q, rank=q)
        return scores

    def _axes(self, params: PCAParams) -> Array:
        """Scores are lengths in the table's units, however the frame had to scale them; whitened ones are not."""
        return params.T if self.whiten else params.T * float(self.frame_.report[0])

    # what it says ----------------------------------------------------------------------------------
    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        climbs = gaps or self.solver == "em"
        cost = super()._cost(n, d, climbs)
        return cost_with_held_out_fits(cost, n, d) if climbs else cost

    def _attributes(self, params: PCAParams, frame: Frame, n: float, noise: float) -> dict[str, Any]:
        """What is reported of n rows whose discarded axes have the mean variance `noise`."""
        d, q = params.W.shape
        report = float(frame.report[0])
        total = float(params.variance.sum()) + noise * (d - q)
        ratio = params.variance / total if total > 0 else np.zeros(q)
        with np.errstate(over="ignore"):
            sizes = np.sqrt(params.variance * max(n - 1.0, 1.0)) * report
        return {
            "components_": np.ascontiguousarray(params.W.T),
            "mean_": frame.outward(params.mu),
            "explained_variance_": squared(params.variance, report),
            "explained_variance_ratio_": ratio,
            "singular_values_": in_range(sizes, "Singular values", report),
            "noise_variance_": float(squared(np.array([noise]), report)[0]),
            "n_components_": q,
            "n_samples_": round(n),
            "log_variance_": np.log(np.maximum(params.variance, np.finfo(float).tiny)) + 2 * np.log(report),
            "scale_": frame.unit.copy(),
        }

    def _covariance_parts(self) -> tuple[Array, Array]:
        p = self.params_
        return p.W * np.sqrt(np.maximum(p.variance - p.psi[0], 0.0)), p.psi

    def _loadings(self, params: PCAParams, frame: Frame) -> Array:
        return params.W


def _least_squares(params: PCAParams, x: Array, mask: Any) -> Array:
    """Scores of rows with gaps: least squares on what is seen, of least (whitened) length where it leaves a choice."""
    live = params.variance > EXACT**2 * params.variance.max(initial=0.0)
    scores = np.zeros((len(x), len(live)))
    if live.any():
        size, least = np.sqrt(params.variance[live]), params.variance[live].min()
        # beside a precision of more than 1e13 the prior would be lost to rounding, and a row seen once be singular
        tiny = np.full(len(params.mu), max(EXACT * float(least), 1e-13 * float(params.variance.max())))
        scores[:, live] = posterior(x, mask, params.W[:, live] * size, params.mu, tiny).mean * size
    return scores


def enough(ratio: Array, share: float) -> int:
    """The fewest axes that together explain more than a share of the variance."""
    return min(int(np.searchsorted(np.cumsum(ratio), share, side="right")) + 1, len(ratio))
