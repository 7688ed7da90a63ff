"""Factor analysis: the linear-Gaussian model with a noise variance for every column."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Cost, Fit
from lowdim.engine.fold import Run
from lowdim.engine.statistics import Moments
from lowdim.maths.factor import degrees_of_freedom, goodness_of_fit, maximum_likelihood, most_factors
from lowdim.maths.factor_fit import fit_indices
from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import Array
from lowdim.maths.rotate import METHODS, simple_axes
from lowdim.models.base.options import WHOLE, one_of, option
from lowdim.models.base.results import Fitted, Posterior, certify, squared
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.factor_table import FactorTable, factor_table
from lowdim.models.linear.linear_gaussian import LinearGaussian, LinearGaussianParams, excess, on_floor, principal_start
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Block
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

LOWEST = 0.005  # the least uniqueness, as in R's factanal
NEWTON_COLUMNS = 1500  # columns up to which the second derivatives, one for each pair of them, are quickly had
SCORES = ("regression", "bartlett")


class FactorAnalysis(LinearGaussian[LinearGaussianParams, Posterior]):
    """Maximum-likelihood factor analysis, from rows (gaps welcome) or from Moments.

    x = mu + W z + e,  z ~ N(0, I_q),  e_j ~ N(0, psi_j).  Complete tables and Moments: the exact
    optimum by Newton's method in log psi on the correlation matrix, uniquenesses in [0.005, 1] as in
    R's factanal. Gaps: EM. `rotation` turns the factors; `scores` are posterior means ("regression")
    or Bartlett's unbiased ones. With `likelihoods` (for yes/no, levels, counts, labels) it is made as a
    `MixedFactorAnalysis`.

    Attributes
    ----------
    components_ : ndarray of shape (q, d)
        Loadings.
    noise_variance_, uniquenesses_ : ndarray of shape (d,)
        Noise of each column, and its share of the column's variance.
    rotation_, factor_covariance_ : ndarray of shape (q, q)
        What turned the factors, and their covariance (I unless the rotation is oblique).
    goodness_of_fit_ : GoodnessOfFit or None
        Chi-square test against an unrestricted covariance, with Bartlett's correction.
    fit_indices_ : FitIndices or None
        RMSEA with its 90 % interval, CFI, TLI and SRMR, of complete tables and Moments.
    loadings_, communalities_ : ndarray of shape (d, q), (d,)
        Loadings of standardised columns, as papers print them, and the share of each column's variance they explain.
    n_components_ : int
    n_parameters_ : int
        The numbers fitted, as `bic` and `aic` count them.

    References
    ----------
    D. N. Lawley and A. E. Maxwell (1971), Factor Analysis as a Statistical Method, 2nd ed., Butterworths.

    Examples
    --------
    >>> import numpy as np
    >>> R = np.array([[1.0, 0.56, 0.48], [0.56, 1.0, 0.42], [0.48, 0.42, 1.0]])
    >>> FactorAnalysis(1).fit(Moments(100, np.zeros(3), R)).components_.round(3).tolist()
    [[0.8, 0.7, 0.6]]
    """

    _low_share: ClassVar[float] = LOWEST
    _ddof: ClassVar[int] = 0  # standardised columns give correlations exactly, as factor analysts expect
    _own_units = True

    n_components: Any = option(default=1, rule=WHOLE, words="Factors.", kind="int", kw_only=False)
    rotation: str | None = option(
        default=None,
        rule=one_of(None, *METHODS),
        words='How loadings are turned towards a simple structure, e.g. "varimax" or "promax".',
    )
    scores: str = option(
        default="regression", rule=one_of(*SCORES), words="Posterior means, or Bartlett's unbiased positions."
    )

    def _fit_table(self, X: Any, y: Any, weight: Any, run: Run | None) -> Self:
        """A table is fitted as any; of the Moments of one there is nothing to open, to plan or to walk."""
        if not isinstance(X, Moments):
            return super()._fit_table(X, y, weight, run)
        self._check_options()
        C = check_covariance(X)
        d = len(C)
        columns = ArraySource(np.empty((0, d)), columns=None)
        unit = np.sqrt(np.diag(C)) if self.standardize else np.ones(d)
        frame = Frame(X.centre, 1.0 / unit, unit)
        moments = Moments(float(X.n), np.zeros(d), C / np.outer(unit, unit))
        fitted = self.fit_moments(moments, frame, columns.columns)
        return self._keep(fitted.of_moments(-float(X.n) * float(np.log(unit).sum()), 0), columns)

    def avoids_covariance(self, n: int, d: int) -> bool:
        return d > NEWTON_COLUMNS  # correlations are what factors explain, where Newton's matrix can be had

    def _check_factors(self, d: int, variance: Array, names: tuple[str, ...]) -> None:
        if d < 3:
            raise error("LD207", d=d)
        dof = degrees_of_freedom(d, self.n_components)
        if dof < 0 or self.n_components > d:
            raise error("LD206", q=self.n_components, d=d, dof=dof, most=most_factors(d))
        flat = np.flatnonzero(variance <= 0.0)
        if len(flat):
            raise error("LD131", column=names[flat[0]])

    # complete tables -----------------------------------------------------------------------------
    def _complete(self, survey: TableSurvey, run: Run) -> Fitted:
        if survey.moments is None:  # more columns than Newton's method is quick for: EM, as with gaps
            return self._with_gaps(survey, run)
        return self.fit_moments(survey.moments, survey.frame, survey.source.columns)

    def fit_moments(self, m: Moments, frame: Frame, names: tuple[str, ...]) -> Fitted:
        d, C, q = len(m.mean), m.covariance, self.n_components
        variance = np.diag(C)
        self._check_factors(d, variance, names)
        sd = np.sqrt(variance)
        # Newton's method in log psi, on correlations
        R = C / np.outer(sd, sd)
        solution = maximum_likelihood(R, q, lower=LOWEST)
        if solution.ridge > 0.0:
            why = "columns depend on each other" if m.n > d else f"{m.n:g} rows cannot tell {d} columns apart"
            warn("LD205", ridge=solution.ridge, why=why)
        W, psi = solution.loadings * sd[:, None], solution.uniquenesses * variance
        params = LinearGaussianParams(
            W=W,
            mu=m.mean,
            psi=psi,
            T=np.eye(q),
            V=(psi / m.n)[:, None],
            low=LOWEST * variance,
            excess=excess(np.full(d, m.n), q),
        )
        warn_of_heywood(params, names)
        value = log_likelihood(m, W, psi)
        reason = "the gradient vanishes" if solution.converged else "the optimiser stopped short"
        fit = Fit(params, None, value, (value,), 0, solution.converged, reason, "newton")
        notes = (f"{solution.evaluations} evaluations of the criterion",)
        axes, boundary = W / np.sqrt(psi)[:, None], on_bound(params, names)
        certificate = certify(fit, self._objective_name, rows=m.n, axes=axes, boundary=boundary, notes=notes)
        digits = min(certificate.digits, float(-np.log10(max(solution.gradient, solution.ridge, 1e-15))))
        certificate = certificate._replace(residual=solution.gradient, digits=max(digits, 0.0))
        if self.rotation is not None:
            params = params._replace(T=simple_axes(W, psi, self.rotation))
        attributes = self._attributes(params, frame)
        attributes["goodness_of_fit_"] = goodness_of_fit(solution.criterion, m.n, d, q)
        explained = solution.loadings, solution.uniquenesses, solution.criterion
        attributes["fit_indices_"] = fit_indices(R, *explained, m.n)
        return Fitted(params, frame, certificate, attributes, fit.history)

    # gaps ------------------------------------------------------------------------------------------
    def _start(self, survey: TableSurvey) -> LinearGaussianParams:
        """The factors of the pairwise correlations; of many columns their principal axes."""
        d, variance = survey.source.d, survey.columns.variance
        self._check_factors(d, variance, survey.source.columns)
        if survey.pairs is None:
            start = principal_start(survey, self.n_components)
            left = np.maximum(variance - (start.W**2).sum(axis=1), 10 * LOWEST * variance)
            return start._replace(psi=left, low=LOWEST * variance)
        sd = np.sqrt(variance)
        R = survey.pairs.covariance() / np.outer(sd, sd)
        np.fill_diagonal(R, 1.0)
        solution = maximum_likelihood(np.clip(R, -1.0, 1.0), self.n_components, lower=LOWEST)
        psi = np.maximum(solution.uniquenesses, 10 * LOWEST) * variance  # EM cannot leave the bound quickly
        return LinearGaussianParams(
            W=solution.loadings * sd[:, None],
            mu=survey.columns.mean,
            psi=psi,
            T=np.eye(self.n_components),
            V=np.zeros((d, 1)),
            low=LOWEST * variance,
            excess=excess(survey.columns.seen, self.n_components),
        )

    def _noise(self, squares: Array, seen: Array) -> Array:
        """A noise variance for every column."""
        return squares / seen

    def _with_gaps(self, survey: TableSurvey, run: Run) -> Fitted:
        fit = self.fit_from(self._start(survey), survey.source, run)
        fit = fit._replace(passes=fit.passes + survey.gathered)
        params, names = fit.params, survey.source.columns
        warn_of_heywood(params, names)
        axes, boundary = params.W / np.sqrt(params.psi)[:, None], on_bound(params, names)
        certificate = certify(fit, self._objective_name, rows=fit.stats.n, axes=axes, boundary=boundary)
        if self.rotation is not None:
            params = params._replace(T=simple_axes(params.W, params.psi, self.rotation))
        return Fitted(params, survey.frame, certificate, self._attributes(params, survey.frame), fit.history)

    # scores ------------------------------------------------------------------------------------------
    def _places(self, params: LinearGaussianParams, block: Block) -> Array:
        rows = self._posterior(params, block)
        q = params.W.shape[1]
        if self.scores == "regression" or q == 0:
            return rows.mean
        # mean = (I - Cov) z_bartlett; a direction no cell speaks of keeps the prior's 0
        shrinkage = np.eye(q) - rows.cov
        return (np.linalg.pinv(shrinkage, rcond=1e-10, hermitian=True) @ rows.mean[:, :, None])[:, :, 0]

    # what it says ----------------------------------------------------------------------------------
    def factor_table(self) -> FactorTable:
        """Loadings, communalities, factor correlations and fit indices as papers print them: `.text()`, `.lines()`."""
        check_is_fitted(self)
        return factor_table(self)

    def _attributes(self, params: LinearGaussianParams, frame: Frame) -> dict[str, Any]:
        variance = (params.W**2).sum(axis=1) + params.psi
        return {
            "components_": np.ascontiguousarray(self._loadings(params, frame).T),
            "noise_variance_": squared(params.psi, frame.report),
            "mean_": frame.outward(params.mu),
            "loadings_": np.linalg.solve(params.T, params.W.T).T / np.sqrt(variance)[:, None],
            "communalities_": 1.0 - params.psi / variance,
            "uniquenesses_": params.psi / variance,
            "factor_covariance_": params.T.T @ params.T,
            "rotation_": params.T,
            "goodness_of_fit_": None,
            "fit_indices_": None,
            "n_components_": params.W.shape[1],
            "scale_": frame.unit.copy(),
        }

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        return super()._cost(n, d, gaps or self.avoids_covariance(n, d))


def on_bound(params: LinearGaussianParams, names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns whose noise is on its bound."""
    return tuple(names[j] for j in np.flatnonzero(on_floor(params)))


def warn_of_heywood(params: LinearGaussianParams, names: tuple[str, ...]) -> None:
    """A warning for columns that the factors explain wholly."""
    for name in on_bound(params, names)[:5]:
        warn("LD204", column=name, bound=LOWEST)


def check_covariance(m: Moments) -> Array:
    """The covariance of Moments given by hand, checked."""
    C = np.asarray(m.covariance, dtype=np.float64)
    mean = np.asarray(m.mean)
    for holds, problem in (
        (C.ndim == 2 and C.shape == (len(C), len(C)), "square"),
        (m.n >= 2, "of n >= 2 rows"),
        (mean.shape == C.shape[:1], "as long as its mean"),
        (np.isfinite(C).all() and np.isfinite(mean).all(), "finite, as its mean"),
        (np.allclose(C, C.T, rtol=1e-8, atol=0), "symmetric"),
        ((np.diag(C) > 0).all(), "of columns that vary"),
        ((np.abs(C) <= 1.000001 * np.sqrt(np.outer(np.diag(C), np.diag(C)))).all(), "of correlations between -1 and 1"),
    ):
        if not holds:
            raise error(
                "LD210",
                option="Moments",
                value=f"covariance of shape {C.shape}",
                allowed=f"a covariance that is {problem}",
            )
    return (C + C.T) / 2


def log_likelihood(m: Moments, W: Array, psi: Array) -> float:
    """Log-likelihood of n rows with these moments under W W' + Psi, mean fitted."""
    V = W / psi[:, None]
    A = np.eye(W.shape[1]) + W.T @ V
    logdet = float(np.log(psi).sum() + np.linalg.slogdet(A)[1])
    trace = float((np.diag(m.covariance) / psi).sum() - np.trace(np.linalg.solve(A, V.T @ m.covariance @ V)))
    return -0.5 * m.n * (len(psi) * LOG_TWO_PI + logdet + trace)
