"""Factor analysis: the linear-Gaussian model with a noise variance for every column."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from lowdim.engine.fit import Fit
from lowdim.engine.fold import Run
from lowdim.engine.statistics import Moments
from lowdim.maths.factor import FactorFit, degrees_of_freedom, goodness_of_fit, maximum_likelihood, most_factors
from lowdim.maths.gaussian import LOG_TWO_PI, Sums
from lowdim.maths.linalg import Array
from lowdim.maths.rotate import METHODS, simple_axes
from lowdim.models.base.estimator import COUNT, POSITIVE, TRUTH, WHOLE, Rule
from lowdim.models.base.results import Certificate, Posterior, squared
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.linear.parameters import LinearGaussianParams, column_noise, excess, on_floor, ppca_start
from lowdim.sources.source import Header
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

LOWEST = 0.005  # the least uniqueness, as in R's factanal
NEWTON_COLUMNS = 1500  # columns up to which the second derivatives, one for each pair of them, are quickly had
SCORES = ("regression", "bartlett")


class FactorAnalysis(LinearGaussian):
    """Maximum-likelihood factor analysis, from rows (gaps welcome) or from Moments.

    x = mu + W z + e,  z ~ N(0, I_q),  e_j ~ N(0, psi_j).  Complete tables and Moments: the exact
    optimum by Newton's method in log psi on the correlation matrix, uniquenesses in [0.005, 1] as in
    R's factanal. Gaps: EM. `rotation` turns the factors; `scores` are posterior means ("regression")
    or Bartlett's unbiased ones. With `likelihoods` (for yes/no, levels, counts, labels) it is made as a
    `MixedFactorAnalysis`.

    Parameters
    ----------
    n_components : int, default 1
        Factors.
    rotation : str or None, default None
        How loadings are turned towards a simple structure, e.g. "varimax" or "promax".
    scores : {"regression", "bartlett"}, default "regression"
    standardize : bool, default False
        Report loadings in units of each column's spread; the fit is the same.
    tol : float, default 1e-7
        With gaps, EM ends when the objective can gain no more than this, in nats a row.
    max_iter : int, default 1000
        The most passes of EM.

    Attributes
    ----------
    components_ : ndarray of shape (q, d)
        Loadings.
    noise_variance_, uniquenesses_ : ndarray of shape (d,)
        Noise of each column, and its share of the column's variance.
    mean_, scale_ : ndarray of shape (d,)
        Column means, and the unit of each column (its spread where standardised, else 1).
    rotation_, factor_covariance_ : ndarray of shape (q, q)
        What turned the factors, and their covariance (I unless the rotation is oblique).
    goodness_of_fit_ : GoodnessOfFit or None
        Chi-square test against an unrestricted covariance.
    n_components_ : int
    n_parameters_ : int
        The numbers fitted, as `bic` and `aic` count them.
    objective_, history_, n_iter_, converged_, certificate_, params_, frame_ : see `LatentModel`

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

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": WHOLE,
        "rotation": Rule(lambda v: v is None or v in METHODS, f"None or one of {METHODS}"),
        "scores": Rule(lambda v: v in SCORES, f"one of {SCORES}"),
        "standardize": TRUTH,
        "tol": POSITIVE,
        "max_iter": COUNT,
    }
    _low_share: ClassVar[float] = LOWEST
    _ddof: ClassVar[int] = 0  # standardised columns give correlations exactly, as factor analysts expect

    _own_units = True

    def __init__(
        self,
        n_components: int = 1,
        *,
        rotation: str | None = None,
        scores: str = "regression",
        standardize: bool = False,
        tol: float = 1e-7,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.rotation = rotation
        self.scores = scores
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> Self:
        """Fit to a table, or to the Moments of one."""
        if not isinstance(X, Moments):
            return super().fit(X, y, sample_weight=sample_weight, run=run)
        self._check_options()
        C = check_covariance(X)
        d = len(C)
        header = Header(int(X.n), d, tuple(f"c{j + 1}" for j in range(d)), False)
        unit = np.sqrt(np.diag(C)) if self.standardize else np.ones(d)
        frame = Frame(X.centre, 1.0 / unit, unit)
        moments = Moments(float(X.n), np.zeros(d), C / np.outer(unit, unit))
        fit = self.fit_moments(moments, header.columns)
        stretch = -float(X.n) * float(np.log(unit).sum())
        fit = fit._replace(objective=fit.objective + stretch, history=(fit.objective + stretch,), passes=0)
        return self._keep(fit, frame, header)

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
    def _complete(self, survey: TableSurvey, run: Run) -> Fit:
        if survey.moments is None:  # more columns than Newton's method is quick for: EM, as with gaps
            return self._with_gaps(survey, run)
        return self.fit_moments(survey.moments, survey.names)

    def fit_moments(self, m: Moments, names: tuple[str, ...]) -> Fit:
        d, C = len(m.mean), m.covariance
        variance = np.diag(C)
        self._check_factors(d, variance, names)
        sd = np.sqrt(variance)
        solution = maximum_likelihood(C / np.outer(sd, sd), self.n_components, lower=LOWEST)
        if solution.ridge > 0.0:
            why = "columns depend on each other" if m.n > d else f"{m.n:g} rows cannot tell {d} columns apart"
            warn("LD205", ridge=solution.ridge, why=why)
        W, psi = solution.loadings * sd[:, None], solution.uniquenesses * variance
        params = LinearGaussianParams(
            W,
            m.mean,
            psi,
            np.eye(self.n_components),
            (psi / m.n)[:, None],
            LOWEST * variance,
            excess(np.full(d, m.n), self.n_components),
        )
        params = self._turned(params)
        value = log_likelihood(m, W, psi)
        self._say_heywood(params, names)
        reason = "the gradient vanishes" if solution.converged else "the optimiser stopped short"
        return Fit(params, (solution, m.n), value, (value,), 0, solution.converged, reason, "newton")

    # gaps ------------------------------------------------------------------------------------------
    def _start(self, survey: TableSurvey) -> LinearGaussianParams:
        """The factors of the pairwise correlations; of many columns their principal axes."""
        d, variance = survey.source.d, survey.columns.variance
        self._check_factors(d, variance, survey.names)
        if survey.pairs is None:
            start = ppca_start(survey, self.n_components)
            left = np.maximum(variance - (start.W**2).sum(axis=1), 10 * LOWEST * variance)
            return start._replace(psi=left, low=LOWEST * variance)
        sd = np.sqrt(variance)
        R = survey.pairs.covariance() / np.outer(sd, sd)
        np.fill_diagonal(R, 1.0)
        solution = maximum_likelihood(np.clip(R, -1.0, 1.0), self.n_components, lower=LOWEST)
        psi = np.maximum(solution.uniquenesses, 10 * LOWEST) * variance  # EM cannot leave the bound quickly
        return LinearGaussianParams(
            solution.loadings * sd[:, None],
            survey.columns.mean,
            psi,
            np.eye(self.n_components),
            np.zeros((d, 1)),
            LOWEST * variance,
            excess(survey.columns.seen, self.n_components),
        )

    def _noise(self, squares: Array, count: Array) -> Array:
        return column_noise(squares, count)

    def _with_gaps(self, survey: TableSurvey, run: Run) -> Fit:
        fit = super()._with_gaps(survey, run)
        self._say_heywood(fit.params, survey.names)
        return fit._replace(params=self._turned(fit.params))

    def _metric(self, params: LinearGaussianParams) -> Array:
        return params.W / np.sqrt(params.psi)[:, None]

    def _say_heywood(self, params: LinearGaussianParams, names: tuple[str, ...]) -> None:
        for j in np.flatnonzero(on_floor(params))[:5]:
            warn("LD204", column=names[j], bound=LOWEST)

    # rotation and scores -----------------------------------------------------------------------------
    def _turned(self, params: LinearGaussianParams) -> LinearGaussianParams:
        """Rotated on the scale of correlations, so that units do not matter."""
        if self.rotation is None or self.n_components < 2:
            return params
        return params._replace(T=simple_axes(params.W, params.psi, self.rotation))

    def _scores(self, posterior: Posterior) -> Array:
        if self.scores == "regression" or posterior.mean.shape[1] == 0:
            return posterior.mean
        # mean = (I - Cov) z_bartlett; a direction no cell speaks of keeps the prior's 0
        shrinkage = np.eye(posterior.mean.shape[1]) - posterior.cov
        return (np.linalg.pinv(shrinkage, rcond=1e-10, hermitian=True) @ posterior.mean[:, :, None])[:, :, 0]

    # what it says ----------------------------------------------------------------------------------
    def _attributes(self, params: LinearGaussianParams, frame: Frame, fit: Fit) -> dict[str, Any]:
        L = self._loadings(params, frame)
        psi = squared(params.psi, frame.report)
        d, q = L.shape
        gof = None
        if not isinstance(fit.stats, Sums):
            solution, n = fit.stats
            gof = goodness_of_fit(solution.criterion, n, d, q)
        variance = (params.W**2).sum(axis=1) + params.psi
        return {
            "components_": np.ascontiguousarray(L.T),
            "noise_variance_": psi,
            "mean_": frame.outward(params.mu),
            "uniquenesses_": params.psi / variance,
            "factor_covariance_": params.T.T @ params.T,
            "rotation_": params.T,
            "goodness_of_fit_": gof,
            "n_components_": q,
            "scale_": frame.unit.copy(),
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        names = tuple(header.columns[j] for j in np.flatnonzero(on_floor(fit.params)))
        W = self._metric(fit.params)
        if isinstance(fit.stats, Sums):
            return self._certify_em(fit, W, names, fit.stats.n)
        solution: FactorFit = fit.stats[0]
        certificate = self._certify_em(fit, W, names, fit.stats[1])
        digits = min(certificate.digits, float(-np.log10(max(solution.gradient, solution.ridge, 1e-15))))
        notes = (f"{solution.evaluations} evaluations of the criterion",)
        return certificate._replace(residual=solution.gradient, digits=max(digits, 0.0), notes=notes)


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
