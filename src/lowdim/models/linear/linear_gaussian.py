"""One linear-Gaussian model, x = mu + W z + e: all that its members share."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.em import em
from lowdim.engine.fit import Fit
from lowdim.engine.fold import Run
from lowdim.engine.plan import USUAL_PASSES, Cost
from lowdim.engine.statistics import Moments
from lowdim.maths.gaussian import Sums
from lowdim.maths.linalg import Array, orthogonality
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, certify, em_digits, squared, standard
from lowdim.models.base.survey import TableSurvey, columns_of, is_wide, standardized, survey_for_fit
from lowdim.models.linear.parameters import (
    FLOOR,
    LinearGaussianParams,
    canonical_axes,
    decode_cells,
    draw_cells,
    draw_parameters,
    e_step,
    m_step,
    row_posterior,
)
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame
from lowdim.text.messages import error


class LinearGaussian(LatentModel):
    """What PCA, probabilistic PCA and factor analysis share: every hook but the M-step's noise."""

    _own_units: ClassVar[bool] = False  # whether the model is the same whatever the columns' units
    n_components: Any
    standardize: bool
    _pairs_matter: ClassVar[bool] = True  # whether it rests on correlations of columns
    _ddof: ClassVar[int] = 1  # a standardised column has unit variance with divisor n - _ddof
    _low_share: ClassVar[float] = FLOOR  # the bound of a noise variance as a share of its column's variance
    tol: float
    max_iter: int

    def _stats(self, params: LinearGaussianParams, block: Block) -> Sums:
        return e_step(params, block)

    def _objective(self, params: LinearGaussianParams, stats: Sums) -> float:
        return stats.log_density

    def _update(self, params: LinearGaussianParams, stats: Sums) -> LinearGaussianParams:
        return m_step(params, stats, self._noise)

    def _noise(self, squares: Array, count: Array) -> Array:
        """Noise variances from the squares left over in each column."""
        raise NotImplementedError

    def _pack(self, params: LinearGaussianParams) -> Array:
        u = self._unit(params)
        return np.concatenate([params.W.ravel() / u, params.mu / u, np.log(params.psi)])

    def _unit(self, params: Any) -> float:
        """The columns' typical spread, told by the bounds: extrapolation must not depend on the table's units."""
        return float(np.sqrt(params.low.mean() / self._low_share))

    def _unpack(self, vector: Array, like: LinearGaussianParams) -> LinearGaussianParams:
        d, q = like.W.shape
        W, mu, logs = np.split(vector, [d * q, d * q + d])
        near = np.log(like.psi)
        psi = np.exp(np.clip(logs, near - 3.0, near + 3.0))  # an extrapolation may not run away
        u = self._unit(like)
        return like._replace(W=W.reshape(d, q) * u, mu=mu * u, psi=np.maximum(psi, like.low))

    def _posterior(self, params: LinearGaussianParams, block: Block) -> Posterior:
        return row_posterior(params, block)

    def _decode(self, params: LinearGaussianParams, rows: Posterior) -> Cells:
        return decode_cells(params, rows)

    def _draw(self, params: LinearGaussianParams, rows: Posterior, rng: list[np.random.Generator]) -> Array:
        return draw_cells(params, rows, rng)

    def _redraw(self, params: LinearGaussianParams, rng: np.random.Generator) -> LinearGaussianParams:
        return draw_parameters(params, rng)

    def _prior(self, params: LinearGaussianParams, n: int) -> Posterior:
        return standard(n, params.W.shape[1])

    def _axes(self, params: LinearGaussianParams) -> Array:
        return params.T

    def avoids_covariance(self, n: int, d: int) -> bool:
        """Whether a fit to a complete n x d table holds no d x d matrix."""
        return is_wide(n, d)

    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        own, wide = self._own_units, self.avoids_covariance(source.n, source.d)
        units: dict[str, Any] = {"standardize": self.standardize, "each": own, "unit_free": own, "ddof": self._ddof}
        survey = survey_for_fit(source, run, wide=wide, pairs_matter=self._pairs_matter, **units)
        fit = self._with_gaps(survey, run) if survey.gaps else self._complete(survey, run)
        return fit.restated(survey.log_stretch, survey.passes), survey.frame

    def _complete(self, survey: TableSurvey, run: Run) -> Fit:
        raise NotImplementedError

    def _start(self, survey: TableSurvey) -> LinearGaussianParams:
        raise NotImplementedError

    def _with_gaps(self, survey: TableSurvey, run: Run) -> Fit:
        fit = self.fit_from(self._start(survey), survey.source, run)
        return fit._replace(passes=fit.passes + survey.gathered)

    def fit_from(self, start: LinearGaussianParams, source: Source, run: Run | None = None) -> Fit:
        """EM from given parameters over a table in the frame; nothing is assigned, the fit has canonical axes."""
        fit = em(self, start, source, run or Run())
        return fit._replace(params=self._canonical(fit.params, fit.stats))

    def _canonical(self, params: LinearGaussianParams, stats: Sums) -> LinearGaussianParams:
        """Columns of W orthogonal, falling, signs fixed; the parameters' covariance turned along."""
        return canonical_axes(params, stats, self._metric(params))

    def _metric(self, params: LinearGaussianParams) -> Array:
        """The matrix whose right singular vectors are the canonical axes."""
        return params.W

    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, decay: float = 1.0) -> Self:
        """Add complete rows to those of earlier calls; the answer is that of all of them at once.

        With `decay` below 1 rows of earlier calls count that much less each time: the model follows a table that
        drifts. A model that was fitted with `fit`, which keeps no moments, starts anew.
        """
        from lowdim.models.linear.partial_fit import add_rows

        self._check_options()
        if not 0.0 < decay <= 1.0:
            raise error("LD210", option="decay", value=decay, allowed="a share in (0, 1]")
        source = self._arranged(as_source(X, weight=sample_weight))
        if source.n:  # an empty batch says nothing, least of all where the origin should be
            frame, moments = add_rows(self, source, decay)
            if moments.n >= 2.0:
                self._keep_moments(moments, frame, source)
            self._online = (frame, moments)
            self.n_features_in_ = source.d
            if source.named:
                self.feature_names_in_ = np.array(source.columns, dtype=object)
        return self

    def _keep_moments(self, m: Moments, frame: Frame, source: Source) -> None:
        if self.standardize:
            scaled = standardized(TableSurvey(frame, source, columns_of(m), m, None), source, self._ddof)
            assert scaled.moments is not None
            m, frame = scaled.moments, scaled.frame
        fit = self.fit_moments(m, source.columns)
        value = fit.objective + m.n * float(np.log(frame.scale).sum())
        self._keep(fit._replace(objective=value, history=(value,), passes=1), frame, source.header)

    def fit_moments(self, m: Moments, names: tuple[str, ...]) -> Fit:
        """The fit to complete rows with these moments in the frame; nothing is assigned."""
        raise NotImplementedError

    def _loadings(self, params: LinearGaussianParams, frame: Frame) -> Array:
        """W in reported units and coordinates, d x q."""
        return (params.W @ np.linalg.pinv(params.T).T) * frame.report[:, None]

    def get_covariance(self) -> Array:
        """The model's covariance of the columns, W W' + Psi, in reported units."""
        W, psi = self._covariance_parts()
        root = np.sqrt(self.frame_.report)
        return squared(W @ W.T + np.diag(psi), np.multiply.outer(root, root))

    def get_precision(self) -> Array:
        """Its inverse, by the matrix inversion lemma: only a q x q matrix is solved."""
        W, psi = self._covariance_parts()
        V = W / psi[:, None]
        P = np.diag(1.0 / psi) - V @ np.linalg.solve(np.eye(W.shape[1]) + W.T @ V, V.T)
        root = 1.0 / np.sqrt(np.maximum(self.frame_.report, np.finfo(float).tiny))
        return squared(P, np.multiply.outer(root, root))

    def _covariance_parts(self) -> tuple[Array, Array]:
        return self.params_.W, self.params_.psi

    @property
    def n_parameters_(self) -> int:
        """The numbers fitted, as `bic` and `aic` count them."""
        from lowdim.models.base.scores import count_parameters

        check_is_fitted(self)
        return count_parameters(*self.params_.W.shape, own_units=self._own_units or bool(self.standardize))

    def _cost(self, n: int, d: int) -> Cost:
        from lowdim.maths.eigen import PASSES
        from lowdim.models.base.linear_memory import peak_bytes

        q = min(int(self.n_components), d) if isinstance(self.n_components, int | np.integer) else min(n, d)
        wide = self.avoids_covariance(n, d)
        # The look (three where its sample missed huge cells), a gathered start (two), EM or Krylov, a last density.
        passes = 6 + max(self.max_iter, PASSES if wide else 1)
        words = "fewer columns, fewer dimensions (n_components, --dims), or a sample of rows (--sample)"
        return Cost(passes, 8 * n * d * passes, peak_bytes(n, d, q, wide), words, min(USUAL_PASSES, self.max_iter) + 2)

    def _isotropic_attributes(self, params: Any, frame: Frame) -> dict[str, Any]:
        """What a model with one noise variance reports."""
        W, squares = self._loadings(params, frame), params.W**2
        variance, total = squares.sum(axis=0) + params.psi[0], float(squares.sum() + params.psi.sum())
        reported = squared(np.append(variance, params.psi[0]), float(frame.report[0]))
        axes = {"components_": np.ascontiguousarray(W.T), "n_components_": W.shape[1]}
        shares = {"explained_variance_": reported[:-1], "explained_variance_ratio_": variance / total}
        units = {"mean_": frame.outward(params.mu), "scale_": frame.unit.copy()}
        return {**axes, **shares, **units, "noise_variance_": float(reported[-1])}

    def _certify_em(self, fit: Fit, W: Array, boundary: tuple[str, ...], n: float) -> Certificate:
        """The certificate of an EM fit to n rows whose axes are the orthogonal columns of W."""
        sizes = np.linalg.norm(W, axis=0)
        kept = sizes[sizes > 0]
        condition = float(kept.max() / kept.min()) if len(kept) else 1.0
        digits = min(15.0 - np.log10(condition), em_digits(fit.remaining, n))
        square = orthogonality(W / np.where(sizes > 0, sizes, 1.0))
        return certify(
            fit, self._objective_name, orthogonality=square, condition=condition, digits=digits, boundary=boundary
        )
