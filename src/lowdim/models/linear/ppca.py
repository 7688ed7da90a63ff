"""Probabilistic PCA."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from lowdim.engine.fit import Fit
from lowdim.engine.fold import Run
from lowdim.engine.statistics import Moments
from lowdim.maths.linalg import Array
from lowdim.models.base.estimator import COUNT, POSITIVE, TRUTH, TURN, WHOLE, Rule
from lowdim.models.base.results import Certificate
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.linear.parameters import LinearGaussianParams, check_q, excess, isotropic_noise, on_floor, ppca_start
from lowdim.models.linear.principal_axes import (
    Spectrum,
    certify_spectrum,
    closed_noise,
    principal,
    spectrum_log_likelihood,
    spectrum_of,
)
from lowdim.sources.source import Header
from lowdim.sources.views import Frame
from lowdim.text.messages import warn


class ProbabilisticPCA(LinearGaussian):
    """Probabilistic principal component analysis, by maximum likelihood, gaps welcome.

    x = mu + W z + e,  z ~ N(0, I_q),  e ~ N(0, s2 I_d).  Complete tables are solved in closed form:
    W = U (Lambda - s2)^(1/2), s2 = mean of the d - q discarded eigenvalues; tables with gaps by
    parameter-expanded EM with Anderson extrapolation, every row's posterior exact. With `likelihoods` (for yes/no,
    levels, counts, labels) it is made as a `MixedFactorAnalysis` with one noise variance.

    Parameters
    ----------
    n_components : int, default 2
        Latent dimensions q.
    standardize : bool, default False
        Work in units of each column's spread.
    rotation : {None, "varimax", "quartimax"}, default None
        Report axes turned so that each column loads on few of them; the density and the fills stay as they are.
    tol : float, default 1e-7
        With gaps, EM ends when the log-likelihood can gain no more than this, in nats a row.
    max_iter : int, default 1000
        The most passes of EM.

    Attributes
    ----------
    components_ : ndarray of shape (q, d)
        Loadings W', longest first.
    mean_, scale_ : ndarray of shape (d,)
        Column means, and the unit of each column (its spread where standardised, else 1).
    noise_variance_, n_components_, n_parameters_ : float, int, int
    explained_variance_, explained_variance_ratio_ : ndarray of shape (q,)
        Variance along each axis, noise included, and its share of the total.
    objective_, history_, n_iter_, converged_, certificate_, params_, frame_ : see `LatentModel`

    References
    ----------
    M. E. Tipping and C. M. Bishop (1999), "Probabilistic principal component analysis", J. R. Stat. Soc. B 61, 611.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0, 3.1], [2.0, 4.1, np.nan], [3.0, 5.9, 9.0], [4.0, np.nan, 12.1]])
    >>> ProbabilisticPCA(1).fit(X).impute(X).round(1)[3].tolist()
    [4.0, 8.0, 12.1]
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": WHOLE,
        "standardize": TRUTH,
        "rotation": TURN,
        "tol": POSITIVE,
        "max_iter": COUNT,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        standardize: bool = False,
        rotation: str | None = None,
        tol: float = 1e-7,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.standardize = standardize
        self.rotation = rotation
        self.tol = tol
        self.max_iter = max_iter

    def _complete(self, survey: TableSurvey, run: Run) -> Fit:
        check_q(self.n_components, survey.source.d)
        return self._closed(principal(survey, self.n_components, run))

    def fit_moments(self, m: Moments, names: tuple[str, ...]) -> Fit:
        check_q(self.n_components, len(m.mean))
        return self._closed(spectrum_of(m, self.n_components))

    def _closed(self, spectrum: Spectrum) -> Fit:
        """Tipping and Bishop's solution, with a stated floor where nothing is left for the noise."""
        d, q = spectrum.vectors.shape
        s2, floor = closed_noise(spectrum, spectrum.tail / max(d - q, 1))
        if s2 == floor:
            warn("LD202", floor=s2, q=q, rank=spectrum.rank)
        W = spectrum.vectors * np.sqrt(np.maximum(spectrum.values - s2, 0.0))
        value = spectrum_log_likelihood(spectrum, s2)
        params = LinearGaussianParams(
            W,
            spectrum.mean,
            np.full(d, s2),
            np.eye(q),
            np.full((d, 1), s2 / spectrum.n),
            np.full(d, floor),
            excess(np.full(d, spectrum.n), q),
        )
        return Fit(
            self._turned(params), spectrum, value, (value,), spectrum.passes, True, "closed form", spectrum.solver
        )

    def _start(self, survey: TableSurvey) -> LinearGaussianParams:
        return ppca_start(survey, self.n_components)

    def _with_gaps(self, survey: TableSurvey, run: Run) -> Fit:
        d, q = survey.source.d, self.n_components
        cells, free = float(survey.columns.seen.sum()), d * q + 1 - q * (q - 1) // 2 + d
        if cells < free:
            warn("LD212", seen=f"{cells:g}", free=free)
        fit = super()._with_gaps(survey, run)
        if on_floor(fit.params).any():
            warn("LD202", floor=float(fit.params.psi[0]), q=q, rank=q)
        return fit._replace(params=self._turned(fit.params))

    def _turned(self, params: LinearGaussianParams) -> LinearGaussianParams:
        from lowdim.maths.rotate import simple_axes

        turn = self.rotation if params.W.shape[1] > 1 else None
        return params if turn is None else params._replace(T=simple_axes(params.W, params.psi, turn))

    def _noise(self, squares: Array, count: Array) -> Array:
        return isotropic_noise(squares, count)

    def _attributes(self, params: LinearGaussianParams, frame: Frame, fit: Fit) -> dict[str, Any]:
        if self.rotation is not None:  # the axes that are reported, by what they carry
            params = params._replace(W=params.W @ params.T, T=np.eye(len(params.T)))
        return self._isotropic_attributes(params, frame)

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        boundary = ("noise_variance_",) if on_floor(fit.params).any() else ()
        if isinstance(fit.stats, Spectrum):
            return certify_spectrum(fit, fit.stats, self._objective_name, boundary)
        return self._certify_em(fit, fit.params.W, boundary, fit.stats.n)


PPCA = ProbabilisticPCA
