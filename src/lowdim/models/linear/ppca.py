"""Probabilistic PCA."""

from __future__ import annotations

import numpy as np

from lowdim.engine.fold import Run
from lowdim.engine.statistics import Moments
from lowdim.maths.rotate import simple_axes
from lowdim.models.base.options import ORTHOGONAL, check_components, one_of, option
from lowdim.models.base.results import Fitted, Posterior, certify
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.linear_gaussian import (
    LinearGaussian,
    LinearGaussianParams,
    excess,
    noise_on_bound,
    principal_start,
)
from lowdim.models.linear.principal_axes import (
    Spectrum,
    certify_spectrum,
    closed_noise,
    principal,
    spectrum_log_likelihood,
    spectrum_of,
)
from lowdim.sources.views import Frame
from lowdim.text.messages import warn


class ProbabilisticPCA(LinearGaussian[LinearGaussianParams, Posterior]):
    """Probabilistic principal component analysis, by maximum likelihood, gaps welcome.

    x = mu + W z + e,  z ~ N(0, I_q),  e ~ N(0, s2 I_d).  Complete tables are solved in closed form:
    W = U (Lambda - s2)^(1/2), s2 = mean of the d - q discarded eigenvalues; tables with gaps by
    parameter-expanded EM with Anderson extrapolation, every row's posterior exact. With `likelihoods` (for yes/no,
    levels, counts, labels) it is made as a `MixedFactorAnalysis` with one noise variance.

    Attributes
    ----------
    components_ : ndarray of shape (q, d)
        Loadings W', longest first.
    noise_variance_, n_components_, n_parameters_ : float, int, int
    explained_variance_, explained_variance_ratio_ : ndarray of shape (q,)
        Variance along each axis, noise included, and its share of the total.

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

    rotation: str | None = option(
        default=None,
        rule=one_of(None, *ORTHOGONAL),
        words="Report axes turned so that each column loads on few of them; density and fills stay as they are.",
    )

    # complete tables -----------------------------------------------------------------------------
    def _complete(self, survey: TableSurvey, run: Run) -> Fitted:
        check_components(self.n_components, survey.source.d)
        return self._closed(principal(survey, self.n_components, run), survey.frame)

    def fit_moments(self, m: Moments, frame: Frame, names: tuple[str, ...]) -> Fitted:
        check_components(self.n_components, len(m.mean))
        return self._closed(spectrum_of(m, self.n_components), frame)

    def _closed(self, spectrum: Spectrum, frame: Frame) -> Fitted:
        """Tipping and Bishop's solution, with a stated floor where nothing is left for the noise."""
        d, q = spectrum.vectors.shape
        # s2 is the mean of the discarded eigenvalues, and W the axes as long as the others exceed it.
        s2, floor = closed_noise(spectrum, spectrum.tail / max(d - q, 1))
        params = LinearGaussianParams(
            W=spectrum.vectors * np.sqrt(np.maximum(spectrum.values - s2, 0.0)),
            mu=spectrum.mean,
            psi=np.full(d, s2),
            T=np.eye(q),
            V=np.full((d, 1), s2 / spectrum.n),
            low=np.full(d, floor),
            excess=excess(np.full(d, spectrum.n), q),
        )
        boundary = noise_on_bound(params, q, spectrum.rank)
        value = spectrum_log_likelihood(spectrum, s2)
        certificate = certify_spectrum(spectrum, value, self._objective_name, spectrum.passes, boundary)
        if self.rotation is not None:
            params = params._replace(T=simple_axes(params.W, params.psi, self.rotation))
        return Fitted(params, frame, certificate, self._isotropic_attributes(params, frame), (value,))

    # gaps ------------------------------------------------------------------------------------------
    def _with_gaps(self, survey: TableSurvey, run: Run) -> Fitted:
        d, q = survey.source.d, self.n_components
        cells, free = float(survey.columns.seen.sum()), d * q + 1 - q * (q - 1) // 2 + d
        if cells < free:
            warn("LD212", seen=f"{cells:g}", free=free)
        fit = self.fit_from(principal_start(survey, q), survey.source, run)
        fit = fit._replace(passes=fit.passes + survey.gathered)
        params, boundary = fit.params, noise_on_bound(fit.params, q)
        certificate = certify(fit, self._objective_name, rows=fit.stats.n, axes=params.W, boundary=boundary)
        if self.rotation is not None:
            params = params._replace(T=simple_axes(params.W, params.psi, self.rotation))
        return Fitted(params, survey.frame, certificate, self._isotropic_attributes(params, survey.frame), fit.history)


PPCA = ProbabilisticPCA
