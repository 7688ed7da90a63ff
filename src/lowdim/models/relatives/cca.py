"""Probabilistic canonical correlation analysis: what two views of the same rows share."""

from __future__ import annotations

from copy import copy
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fold import Run
from lowdim.engine.monitor import Fit
from lowdim.math.linalg import Array
from lowdim.models.base.estimator import COUNT, POSITIVE, WHOLE, Absent, Out, Rule, seed_of
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Posterior, in_range
from lowdim.models.relatives.cca_algebra import Canonical, canonical_tests
from lowdim.models.relatives.cca_em import CCAParams, TwoViewGaussian
from lowdim.sources.arrays import as_source
from lowdim.sources.joined import Joined
from lowdim.sources.source import Source
from lowdim.sources.views import Chosen, Frame
from lowdim.text.messages import error


class Given(NamedTuple):
    """The three posteriors of the rows' shared positions."""

    x: Posterior
    y: Posterior
    both: Posterior


class CCA(TwoViewGaussian):
    """Probabilistic canonical correlation analysis of two views of the same rows, gaps welcome.

    x = mu_x + W_x z + e_x,  y = mu_y + W_y z + e_y,  z ~ N(0, I_q), with e_x and e_y independent of each other and
    each of any covariance. Complete tables in closed form: W_m = S_mm U_m P^(1/2) with canonical directions U_m and
    correlations P (W_x and W_y share P evenly); tables with gaps by EM of this very model, every row exact.
    `fit(X, y)` takes the views as two tables; `fit(table)` with `views=k` one table whose first k columns are X.

    A view of lower rank: directions without variance are left out of the correlations, and the density gives
    them a millionth of a column's variance (LD281). `x_loadings_`, `y_loadings_` are W (columns x q),
    `x_weights_`, `y_weights_` the directions whose variates have unit variance (1/n). `tests_` (complete tables)
    holds Wilks, Pillai, Hotelling-Lawley and Roy with their F for every number of remaining correlations.

    Reference: Bach and Jordan (2005), thm. 2; Zabaras seed (contents); Hotelling (1936).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((200, 1))
    >>> X, Y = (z @ np.ones((1, k)) + rng.standard_normal((200, k)) for k in (3, 2))
    >>> model = CCA(1).fit(X, Y)
    >>> model.transform(X).shape, model.predict(X).shape, bool(model.canonical_correlations_[0] > 0.6)
    ((200, 1), (200, 2), True)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": WHOLE,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "views": Rule(lambda v: v is None or COUNT.holds(v), "None, or how many columns the first view has"),
    }
    predict_cells = Absent("its rows are of two tables", "impute or reconstruct, which give both")
    decode = Absent("its rows are of two tables", "inverse_transform, which gives both")
    y_frame_: Frame

    def __init__(
        self, n_components: int = 1, *, views: int | None = None, tol: float = 1e-7, max_iter: int = 1000
    ) -> None:
        self.n_components = n_components
        self.views = views
        self.tol = tol
        self.max_iter = max_iter

    # fitting -------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> Self:
        """Fit to two views of the same rows, X and `y`; or to one table, its first `views` columns being X."""
        self._check_options()
        if y is None:
            return super().fit(X, sample_weight=sample_weight, run=run)
        table, ndim = column(y)
        first, second = as_source(X, weight=sample_weight), as_source(table)
        super().fit(Joined(first, second, (first.d, second.d)), run=run)
        k, frame = first.d, self.frame_
        self.frame_, self.y_frame_ = Frame(*(part[:k] for part in frame)), Frame(*(part[k:] for part in frame))
        self.n_features_in_, self.y_ndim_ = k, ndim
        for name, source in (("feature_names_in_", first), ("y_feature_names_in_", second)):
            if source.named:
                setattr(self, name, np.array(source.columns, dtype=object))
        return self

    def fit_transform(self, X: Any, y: Any = None, **how: Any) -> Array:
        """`fit` and then `transform` of the same rows, given all that was seen of them: both views."""
        return self.fit(X, y, **how).transform(X, y)

    # verbs ---------------------------------------------------------------------------------------
    def _joined(self) -> CCA:
        """This model as one of a single table that holds both views."""
        if "y_frame_" not in vars(self):
            return self
        other = copy(self)
        frame = Frame(*(np.concatenate(parts) for parts in zip(self.frame_, self.y_frame_, strict=True)))
        other.__dict__.update(frame_=frame, n_features_in_=len(frame.shift))
        for name in ("y_frame_", "feature_names_in_", "y_feature_names_in_"):
            other.__dict__.pop(name, None)
        return other

    def _views(self, X: Any, y: Any) -> Any:
        """The rows as the joined model takes them; a view that is None is unknown."""
        check_is_fitted(self)
        if "y_frame_" not in vars(self):
            if y is not None:
                raise error("LD280", problem="this CCA was fitted to one table: give the new rows as one table too")
            return X
        if X is None and y is None:
            raise error("LD280", problem="X and y are both None")
        k, d = self.n_features_in_, len(self.params_.mu)
        first = None if X is None else self._arranged(as_source(X))
        second = None if y is None else self._y_arranged(as_source(column(y)[0]), d - k)
        return Joined(first, second, (k, d - k))

    def _y_arranged(self, source: Source, width: int) -> Source:
        names = [str(name) for name in getattr(self, "y_feature_names_in_", ())]
        if source.named and names and set(names) <= set(source.columns):
            return Chosen(source, [source.columns.index(name) for name in names])
        if source.d != width:
            raise error("LD220", got=source.d, want=width, model="the second view of CCA", missing="")
        return source

    def _apart(self, cells: Array) -> Any:
        """Cells of both views as they were given: two tables, or one."""
        k = self.params_.first
        return (cells[..., :k], cells[..., k:]) if "y_frame_" in vars(self) else cells

    def transform(self, X: Any, y: Any = None, *, out: Out = None, run: Run | None = None) -> Array:
        """Posterior mean of the shared position given both views, or given one where the other is None."""
        check_is_fitted(self)
        whole = self._joined()
        return whole._each(lambda b: whole._latent(b).mean, self._views(X, y), out, run, self._axis_names)

    def posterior(self, X: Any, y: Any = None, *, run: Run | None = None) -> Any:
        """Mean, covariance and log density given what is there; with both views the three of them (x, y, both)."""
        whole = self._joined()
        if y is None or X is None:
            return LatentModel.posterior(whole, self._views(X, y), run=run)
        pairs = ((X, None), (None, y), (X, y))
        return Given(*(LatentModel.posterior(whole, self._views(*pair), run=run) for pair in pairs))

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """The second view expected from the first, gaps welcome; with `return_std` a standard deviation a cell."""
        check_is_fitted(self)
        whole, k = copy(self._joined()), self.params_.first
        whole.__dict__.pop("feature_names_in_", None)  # the joined table has names of its own
        filled = LatentModel.impute(whole, self._only_first(X, k), return_std=return_std)
        flat = getattr(self, "y_ndim_", 2) == 1  # a single column that came as a row of numbers goes as one
        cells = [part[:, k] if flat else part[:, k:] for part in (filled if return_std else (filled,))]
        return tuple(cells) if return_std else cells[0]

    def _only_first(self, X: Any, k: int) -> Source:
        """The rows with the second view unknown; where one table was fitted, the new one may hold it or not."""
        if "y_frame_" in vars(self):
            return Joined(self._arranged(as_source(X)), None, (k, len(self.params_.mu) - k))
        first, names = as_source(X), [str(name) for name in getattr(self, "feature_names_in_", ())[:k]]
        if first.named and names and set(names) <= set(first.columns):
            first = Chosen(first, [first.columns.index(name) for name in names])
        elif first.d != k:
            first = Chosen(self._arranged(first), list(range(k)))
        return Joined(first, None, (k, len(self.params_.mu) - k))

    def reconstruct(self, X: Any, y: Any = None, *, out: Out = None, run: Run | None = None) -> Any:
        """What the shared positions say every cell of both views should be."""
        return self._apart(LatentModel.reconstruct(self._joined(), self._views(X, y), out=out, run=run))

    def impute(
        self,
        X: Any,
        y: Any = None,
        *,
        return_std: bool = False,
        draws: int | None = None,
        random_state: Any = 0,
        out: Out = None,
        run: Run | None = None,
    ) -> Any:
        """Both views with their gaps filled from all seen cells of the row; what was seen is kept to the bit."""
        filled = LatentModel.impute(
            self._joined(),
            self._views(X, y),
            return_std=return_std,
            draws=draws,
            random_state=random_state,
            out=out,
            run=run,
        )
        return tuple(map(self._apart, filled)) if return_std else self._apart(filled)

    def inverse_transform(self, Z: Any) -> Any:
        """The cells of both views that shared positions decode to."""
        return self._apart(LatentModel.inverse_transform(self._joined(), Z))

    def sample(self, n: int = 1, *, random_state: Any = 0) -> Any:
        """New rows of both views from the fitted model."""
        return self._apart(LatentModel.sample(self._joined(), n, random_state=seed_of(random_state)))

    def score_samples(self, X: Any, y: Any = None, *, run: Run | None = None) -> Array:
        """Log density of each row's seen cells, in both views or in the one given."""
        return LatentModel.score_samples(self._joined(), self._views(X, y), run=run)

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> float:
        """Mean log density of the rows."""
        rows = as_source(self._views(X, y))
        weight = rows.weight if sample_weight is None else as_source(rows, weight=sample_weight).weight
        return float(np.average(LatentModel.score_samples(self._joined(), rows, run=run), weights=weight))

    # what it says ----------------------------------------------------------------------------------
    def _attributes(self, params: CCAParams, frame: Frame, fit: Fit) -> dict[str, Any]:
        k, q, found = params.first, params.W.shape[1], fit.stats
        assert isinstance(found, Canonical)
        m = min(q, len(found.rho))
        rho, weights = np.zeros(q), np.zeros((len(params.mu), q))
        rho[:m], weights[:k, :m], weights[k:, :m] = found.rho[:m], found.first[:, :m], found.second[:, :m]
        size = float(np.max(1.0 / frame.scale))
        with np.errstate(over="ignore"):
            noise = in_range(params.noise / frame.scale / frame.scale[:, None], "Noise covariances", size)
            weights = in_range(weights * frame.scale[:, None], "Weights", 1.0 / size)
        W, mean = params.W / frame.scale[:, None], frame.outward(params.mu)
        tests = () if fit.solver == "em" else canonical_tests(found.rho, found.ranks, float(params.seen[0]))
        return {
            "canonical_correlations_": rho,
            "n_components_": q,
            "x_loadings_": W[:k],
            "y_loadings_": W[k:],
            "x_weights_": weights[:k],
            "y_weights_": weights[k:],
            "x_mean_": mean[:k],
            "y_mean_": mean[k:],
            "x_noise_covariance_": noise[:k, :k],
            "y_noise_covariance_": noise[k:, k:],
            "tests_": tests,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.views is None
        tags.target_tags.multi_output = True
        return tags


def column(y: Any) -> tuple[Any, int]:
    """The second view as a table, and how many dimensions it came with: a single column may be a row of numbers."""
    if isinstance(y, str | PathLike | Source) or len(getattr(y, "shape", ())) == 2:
        return y, 2
    values = np.asarray(y)
    return (values.reshape(-1, 1), 1) if values.ndim == 1 else (values, 2)
