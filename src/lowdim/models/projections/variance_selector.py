"""Feature selection: the columns with the largest variance, and what leaving the others out costs."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Cost, walking
from lowdim.engine.fold import Run
from lowdim.maths.linalg import Array, Mask
from lowdim.models.base.estimator import Absent, Out, WeightedEstimator
from lowdim.models.base.latent import given_places
from lowdim.models.base.options import COUNT, check_components, option
from lowdim.models.base.results import Certificate, Fitted, squared
from lowdim.models.base.scores import minus_squared_error
from lowdim.models.base.survey import survey_table
from lowdim.sources.source import Block, Source
from lowdim.text.messages import error


class VarianceSelectorParams(NamedTuple):
    """Parameters in the frame's units."""

    support: Mask  # d: which columns are kept
    mu: Array  # d
    variance: Array  # d, divisor n - 1


class VarianceSelector(WeightedEstimator):
    """The n_components columns with the largest variance.

    Let d_ij be the squared distance of rows i, j over all p columns, and e_ij that over the q kept ones, each
    stretched by sqrt(q/p) (`scale_`). The mean of |d_ij / p - e_ij / q| over pairs is exactly

        error_ = 2/p (sum of the discarded columns' variances, divisor n - 1),

    which no other choice of q columns makes smaller. `transform` keeps the columns as they are, to the bit and with
    their gaps; `inverse_transform` puts the others at their mean. With gaps a column's variance is that of its
    seen cells, and the identity holds for columns, no longer for pairs of rows. It is no latent variable model: it
    chooses columns, and rows have no density.

    Attributes
    ----------
    variances_ : array of shape (n_features,)
        The columns' variances, divisor n - 1.
    mean_ : array of shape (n_features,)
        The columns' means.
    error_ : float
        The mean error of squared distances.
    scale_ : float
        sqrt(q/p), by which kept columns are stretched in that error.
    n_components_ : int
        The number of columns kept.
    objective_, history_, n_iter_, converged_, certificate_, params_, frame_
        Minus `error_`, passes, and how far to trust the fit; the parameters and their units.

    References
    ----------
    N. D. Lawrence, "Dimensionality Reduction for Machine Learning", manuscript (2012), sec. 3.3; with the factor
    1/(n(n-1)) that its eq. 3.1 lacks.

    Examples
    --------
    >>> import numpy as np
    >>> selector = VarianceSelector(1).fit(np.array([[1.0, 5.0], [2.0, 9.0], [3.0, 1.0]]))
    >>> selector.get_support().tolist(), selector.error_
    ([False, True], 1.0)
    """

    n_components: int = option(default=2, rule=COUNT, words="The number q of columns to keep.", kw_only=False)
    _objective_name: ClassVar[str] = "minus the error of squared distances"
    _why = "it chooses columns and models no rows"
    n_parameters_ = bic = aic = Absent(_why, "ProbabilisticPCA, or error_ for the distances lost")
    score_samples = Absent(_why, "ProbabilisticPCA")
    sample = Absent(_why, "ProbabilisticPCA().sample")
    predict_cells = Absent(_why, "ProbabilisticPCA")
    decode = Absent(_why, "ProbabilisticPCA")
    prior = Absent(_why, "ProbabilisticPCA")
    posterior = Absent(_why, "transform")
    impute = Absent(_why, "ProbabilisticPCA().impute, or  lowdim fill FILE -o FILLED")
    _laws_broken: ClassVar[dict[str, str]] = {
        "score_is_objective": _why,
        "sample_then_fit": _why,
        "all_missing_row_gets_prior": _why,
        "impute_keeps_seen": _why,
        "mask_of_ones_is_no_mask": "there is no posterior of a row to compare",
    }

    def _fit(self, source: Source, run: Run) -> Fitted:
        check_components(self.n_components, source.d)
        survey = survey_table(source, run, wide=True)
        cols, frame, q, d = survey.columns, survey.frame, self.n_components, source.d
        # The largest variances; of equal ones the first.
        variance = cols.scatter / np.maximum(cols.seen - 1.0, np.finfo(float).tiny) * (cols.seen > 1.0)
        support = np.zeros(d, dtype=bool)
        support[np.argsort(-variance, kind="stable")[:q]] = True
        # What squared distances lose, in the table's units.
        unit = float(frame.report[0])
        lost = float(squared(np.array([2.0 / d * float(variance[~support].sum())]), unit)[0])
        certificate = Certificate(
            solver="variances",
            passes=survey.passes,
            objective=-lost,
            objective_name=self._objective_name,
            converged=True,
            reason="closed form",
        )
        attributes = {
            "variances_": squared(variance, unit),
            "mean_": frame.outward(cols.mean),
            "error_": lost,
            "scale_": float(np.sqrt(q / d)),
            "n_components_": q,
        }
        params = VarianceSelectorParams(support, cols.mean, variance)
        return Fitted(params, frame, certificate, attributes, (-lost,))

    # verbs ---------------------------------------------------------------------------------------
    def transform(self, X: Any, *, out: Out = None, run: Run | None = None) -> Array:
        """The kept columns, as they are."""
        check_is_fitted(self)
        return self._each(lambda block: block.with_nan[:, self.params_.support], X, out, run, self._axis_names)

    def inverse_transform(self, Z: Any) -> Array:
        """The table's columns: those kept as they are, the others at their mean."""
        check_is_fitted(self)
        keep = self.params_.support
        Z = given_places(Z, int(keep.sum()), self, gaps=True)
        out = np.tile(self.mean_, (len(Z), 1))
        out[:, keep] = Z
        return out

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> float:
        """Minus the mean squared error of the seen cells as `reconstruct` makes them; never worse with more axes."""
        check_is_fitted(self)
        return minus_squared_error(self, X, sample_weight)

    def reconstruct(self, X: Any, *, out: Out = None, run: Run | None = None) -> Array:
        """The table with the other columns at their mean, gaps of the kept ones too."""
        check_is_fitted(self)
        keep, mean = self.params_.support, self.mean_

        def rebuilt(b: Block) -> Array:
            seen = keep if b.mask is None else keep & b.mask
            return np.where(seen, b.x, mean)

        return self._each(rebuilt, X, out, run, lambda source: source.columns)

    def get_support(self, indices: bool = False) -> Any:
        """Which columns are kept: True and False, or their numbers from 0."""
        check_is_fitted(self)
        keep = self.params_.support
        return np.flatnonzero(keep) if indices else keep.copy()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the kept columns."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            names_in = np.asarray(input_features, dtype=object)
            if len(names_in) != self.n_features_in_ or (names is not None and list(names_in) != list(names)):
                raise error("LD285", want=self.n_features_in_)
            names = names_in
        if names is None:
            names = np.array([f"x{j}" for j in range(self.n_features_in_)], dtype=object)
        return names[self.params_.support]

    @property
    def _n_features_out(self) -> int:
        return int(self.params_.support.sum())

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        return Cost(3, 24 * n * d, walking(n, d, 6 * min(n, 8192) * d, 7 * d), "fewer columns")
