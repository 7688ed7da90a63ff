"""Probabilistic canonical correlation analysis: what two views of the same rows share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Cost, Fit, em, walking
from lowdim.engine.fold import Run, fold
from lowdim.engine.statistics import triangle
from lowdim.maths.gaps import Scatter
from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import Array, Index, floored, half_root, lower, orthogonality, quadratic_forms, root_times
from lowdim.maths.seeds import normals
from lowdim.models.base.estimator import Absent, Out, WeightedEstimator, in_kind
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import (
    COUNT,
    EM_ENDS_WITH_GAPS,
    POSITIVE,
    WHOLE,
    Rule,
    check_components,
    option,
    seed_of,
)
from lowdim.models.base.results import Cells, Certificate, Fitted, Posterior, certify, in_range, standard
from lowdim.models.base.scores import count_shared
from lowdim.models.base.survey import TableSurvey, survey_table
from lowdim.models.linear.principal_axes import SQUARED
from lowdim.models.projections.covariance import (
    GAP_NUMBERS,
    LEAST_VARIANCE,
    deviations,
    from_log_cholesky,
    given_in_pieces,
    log_cholesky,
    whitening,
)
from lowdim.models.projections.two_views import (
    CLOSE_TO_ONE,
    Canonical,
    bounded,
    canonical_analysis,
    canonical_tests,
    model_canonical,
    regress_views,
    shared_factors,
)
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, Source, tile_rows
from lowdim.sources.views import Chosen, Frame, Joined
from lowdim.text.messages import error, warn

START_EIGENVALUE = 0.05  # the least of the pairwise correlations that start EM, which need not be those of any table
TWO_TABLES = "its rows are of two tables"


class CCAParams(NamedTuple):
    """Parameters in the frame's units; the first `first` columns are the first view."""

    W: Array  # d x q
    mu: Array  # d
    noise: Array  # d x d, two full blocks
    seen: Array  # d, rows each column's numbers rest on, one with gaps counted in part
    first: int

    @property
    def covariance(self) -> Array:
        return self.W @ self.W.T + self.noise


class ViewPosteriors(NamedTuple):
    """The posteriors of the rows' shared positions given either view, and given both."""

    x: Posterior
    y: Posterior
    both: Posterior


class TwoTables(Joined):
    """Two views as one table, the second as it was given; what it says of its columns is said of the first."""

    def __init__(self, first: Source, y: Any) -> None:
        table, self.y_ndim = second_table(y)
        second = as_source(table)
        super().__init__(first, second, (first.d, second.d))


class CCA(WeightedEstimator, LatentModel[CCAParams, Posterior]):
    """Probabilistic canonical correlation analysis of two views of the same rows, gaps welcome.

    x = mu_x + W_x z + e_x,  y = mu_y + W_y z + e_y,  z ~ N(0, I_q), with e_x and e_y independent of each other and
    each of any covariance. Complete tables in closed form: W_m = S_mm U_m P^(1/2) with canonical directions U_m and
    correlations P (W_x and W_y share P evenly); tables with gaps by EM of this very model, every row exact. In a view
    of lower rank, directions without variance are left out of the correlations, and the density gives them a
    millionth of a column's variance (LD281).

    Attributes
    ----------
    canonical_correlations_ : array of shape (n_components,)
        Correlations of the canonical variates, falling.
    x_loadings_, y_loadings_ : array of shape (n_columns, n_components)
        W of each view.
    x_weights_, y_weights_ : array of shape (n_columns, n_components)
        The directions whose variates have unit variance (1/n).
    x_mean_, y_mean_ : array of shape (n_columns,)
        The means.
    x_noise_covariance_, y_noise_covariance_ : array of shape (n_columns, n_columns)
        Covariances of e_x and e_y.
    tests_ : tuple of CanonicalTest
        Wilks, Pillai, Hotelling-Lawley and Roy with their F for every number of remaining correlations; empty where
        there are gaps.
    n_components_, n_parameters_ : int
        The number of shared positions, and of the numbers fitted, as `bic` and `aic` count them.
    n_y_features_in_, y_feature_names_in_, y_ndim_
        Columns of the second table, their names, and 1 where it came as a row of numbers; of two tables only.

    References
    ----------
    F. R. Bach and M. I. Jordan, "A probabilistic interpretation of canonical correlation analysis", technical report
    688, Department of Statistics, University of California, Berkeley (2005), theorem 2.
    H. Hotelling, "Relations between two sets of variates", Biometrika 28 (1936), 321-377.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((200, 1))
    >>> X, Y = (z @ np.ones((1, k)) + rng.standard_normal((200, k)) for k in (3, 2))
    >>> model = CCA(1).fit(X, Y)
    >>> model.transform(X).shape, model.predict(X).shape, bool(model.canonical_correlations_[0] > 0.6)
    ((200, 1), (200, 2), True)
    """

    n_components: int = option(default=1, rule=WHOLE, words="The number q of shared positions.", kw_only=False)
    views: int | None = option(
        default=None,
        rule=Rule(lambda v: v is None or COUNT.holds(v), "None, or how many columns the first view has"),
        words="With `fit(table)`: the first so many columns are the view X. None: `fit(X, y)` takes the views as two "
        "tables.",
    )
    tol: float = option(default=1e-7, rule=POSITIVE, words=EM_ENDS_WITH_GAPS)
    max_iter: int = option(default=1000, rule=COUNT, words="The most passes over the table.")
    predict_cells = Absent(TWO_TABLES, "impute or reconstruct, which give both")
    decode = Absent(TWO_TABLES, "inverse_transform, which gives both")

    # fitting -------------------------------------------------------------------------------------
    def _open(self, X: Any, y: Any, weight: Any) -> Source:
        """Two views of the same rows, X and `y`; or one table, its first `views` columns being X."""
        first = as_source(X, weight=weight)
        return first if y is None else TwoTables(first, y)

    def _keep(self, fitted: Fitted, source: Source) -> Self:
        """What is said of the columns of two tables is said of the first one's."""
        return super()._keep(fitted, source.first if isinstance(source, TwoTables) and source.first else source)

    def fit_transform(self, X: Any, y: Any = None, **fit_options: Any) -> Array:
        """`fit` and then `transform` of the same rows, given all that was seen of them: both views."""
        return self.fit(X, y, **fit_options).transform(X, y)

    def _first(self, source: Source) -> int:
        """How many columns the first view has."""
        if isinstance(source, Joined):
            return source.widths[0]
        if self.views is None:
            raise error("LD280", problem="CCA requires y to be passed, but the target y is None")
        if self.views >= source.d:
            left = f"views={self.views} leaves none of the {source.d} columns, n_features = {source.d},"
            raise error("LD280", problem=f"{left} for the second view")
        return int(self.views)

    def _fit(self, source: Source, run: Run) -> Fitted:
        k = self._first(source)
        why = f"the views have {k} and {source.d - k} columns (n_features = {k})"
        check_components(self.n_components, min(k, source.d - k), why)
        survey = survey_table(source, run, standardize=True, wide=False)
        climb = self._with_gaps if survey.gaps else self._complete
        fit, analysis = climb(survey, k, run)
        warn_of_rank(analysis, k, source.d - k, survey.columns.n)
        frame = survey.frame._replace(unit=np.ones(source.d))  # everything is reported in the table's units
        attributes = reported(fit.params, analysis, frame)
        if not survey.gaps:
            attributes["tests_"] = canonical_tests(analysis.rho, analysis.ranks, survey.columns.n)
        if isinstance(source, TwoTables):
            assert source.second is not None
            attributes |= {"n_y_features_in_": source.second.d, "y_ndim_": source.y_ndim}
            if source.second.named:
                attributes["y_feature_names_in_"] = np.array(source.second.columns, dtype=object)
        fitted = Fitted(fit.params, frame, self._certified(fit, analysis), attributes, fit.history)
        return fitted.restated(survey.columns.seen, survey.passes)

    def _complete(self, survey: TableSurvey, k: int, run: Run) -> tuple[Fit[CCAParams, None], Canonical]:
        """Closed form: Bach and Jordan's theorem 2."""
        m = survey.moments
        assert m is not None
        d = len(m.mean)
        # A factor F of the scatter, F'F = n S: of the covariance, or of the rows where squaring them costs digits.
        passes = int(m.n <= d or any(is_ill_conditioned(m.covariance[at, at]) for at in (slice(k), slice(k, None))))
        if passes:
            R = fold(triangle, survey.source, run).R[1:, 1:]  # the first row is the mean's
            F = np.concatenate([R, np.zeros((max(0, k - len(R), d - k - len(R)), d))])  # all directions of each view
        else:
            F = np.sqrt(m.n) * half_root(m.covariance).T
        # Canonical directions and correlations, and the model that shares q of them.
        analysis = canonical_analysis(F[:, :k], F[:, k:], m.n)
        W, noise = shared_factors(analysis, self.n_components)
        params = CCAParams(W, m.mean, noise, survey.columns.seen, k)
        whole = whitening(params.covariance)
        value = -0.5 * (m.n * (d * LOG_TWO_PI + whole.logdet) + float(((F @ whole.P) ** 2).sum()))
        return Fit(params, None, value, (value,), passes, True, "closed form", "svd of the whitened views"), analysis

    def _with_gaps(self, survey: TableSurvey, k: int, run: Run) -> tuple[Fit[CCAParams, Scatter], Canonical]:
        """EM of the same model, from the pairwise correlations on."""
        assert survey.pairs is not None
        correlations = floored(survey.pairs.covariance(), START_EIGENVALUE)
        W, noise = shared_factors(model_canonical(correlations, k), self.n_components)
        cols = survey.columns
        count = cols.seen * (cols.seen.mean() / cols.n)  # a row counts by the cells it shows
        fit = em(self, CCAParams(W, cols.mean, bounded(noise, k), count, k), survey.source, run)
        low = int((np.linalg.eigvalsh(fit.params.noise) < LEAST_VARIANCE * (1.0 + 1e-6)).sum())
        if low:
            warn("LD288", count=low)
        # The same covariance along its canonical directions.
        analysis = model_canonical(fit.params.covariance, k)
        W, noise = shared_factors(analysis, self.n_components)
        return fit._replace(params=fit.params._replace(W=W, noise=noise)), analysis

    def _certified(self, fit: Fit[CCAParams, Any], analysis: Canonical) -> Certificate:
        em = fit.solver == "em"
        on_bound = (analysis.rho[: self.n_components] > 1.0 - CLOSE_TO_ONE).any()
        return certify(
            fit,
            self._objective_name,
            digits=15.0 - float(np.log10(analysis.condition)),
            rows=float(fit.params.seen.max()) if em else None,
            orthogonality=max(orthogonality(A) for A in analysis.variates),
            condition=analysis.condition,
            boundary=("canonical_correlations_",) if on_bound else (),
            notes=("no tests: their F needs complete rows",) if em else (),
        )

    def _stats(self, params: CCAParams, block: Block) -> Scatter:
        """The E-step: each row's gaps given its seen cells."""
        rows = given_in_pieces(deviations(params.mu, block), block.mask, whitening(params.covariance))
        return reduce(Scatter.merge, (given.scatter(block.times[at]) for at, given in rows))

    def _objective(self, params: CCAParams, stats: Scatter) -> float:
        return stats.log_density

    def _update(self, params: CCAParams, stats: Scatter) -> CCAParams:
        W, mu, noise = regress_views(stats, params.W, params.mu, params.noise, params.first)
        return params._replace(W=W, mu=mu, noise=noise)

    def _pack(self, params: CCAParams) -> Array:
        return np.concatenate([params.W.ravel(), params.mu, log_cholesky(params.noise)[within_views(params)]])

    def _unpack(self, vector: Array, like: CCAParams) -> CCAParams:
        d, q = like.W.shape
        W, mu, low = np.split(vector, [d * q, d * q + d])
        L = np.zeros((d, d))
        L[within_views(like)] = low
        return like._replace(W=W.reshape(d, q), mu=mu, noise=bounded(from_log_cholesky(L), like.first))

    # hooks ---------------------------------------------------------------------------------------
    def _posterior(self, params: CCAParams, block: Block) -> Posterior:
        q = params.W.shape[1]
        whole = whitening(params.covariance)
        B = whole.P @ (whole.P.T @ params.W)  # E[z | x] = B'(x - mu), and what is open of x adds B' Cov B
        complete = (np.eye(q) - params.W.T @ B)[lower(q)]
        rows = standard(len(block.x), q)
        for at, given in given_in_pieces(deviations(params.mu, block), block.mask, whole):
            rows.mean[at] = given.deviations @ B
            rows.packed[at] = complete + given.open_products(B, lower(q))
            rows.log_density[at] = given.log_density
        if block.mask is not None:
            rows.log_density[~block.mask.any(axis=1)] = 0.0  # nothing is seen, and nothing is left to rounding
        return rows

    def _decode(self, params: CCAParams, posterior: Posterior) -> Cells:
        """What the shared positions say of the cells; a view's own noise is not decoded."""
        var = np.maximum(quadratic_forms(posterior.packed, params.W), 0.0)
        return Cells(posterior.mean @ params.W.T + params.mu, var, np.broadcast_to(np.diag(params.noise), var.shape))

    def _draw(self, params: CCAParams, posterior: Posterior, rng: list[np.random.Generator]) -> Array:
        d, q = params.W.shape
        normal = normals(rng, q + d)
        z = posterior.mean + root_times(posterior.cov, normal[:, :q])
        return z @ params.W.T + params.mu + normal[:, q:] @ half_root(params.noise).T

    def _redraw(self, params: CCAParams, rng: np.random.Generator) -> CCAParams:
        """Parameters of another table drawn from the model, as many rows as the least seen column has."""
        C, d, n = params.covariance, len(params.mu), float(params.seen.min())
        T = np.tril(rng.standard_normal((d, d)), -1)  # Bartlett: T T' is Wishart
        T[np.arange(d), np.arange(d)] = np.sqrt(rng.chisquare(np.maximum(n - 1.0 - np.arange(d), 1.0)))
        half = np.linalg.cholesky(C) @ T / np.sqrt(max(n - 1.0, 1.0))
        W, noise = shared_factors(model_canonical(half @ half.T, params.first), params.W.shape[1])
        mu = params.mu + half @ rng.standard_normal(d) / np.sqrt(max(n, 1.0))
        return params._replace(W=W, mu=mu, noise=noise)

    def _prior(self, params: CCAParams, n: int) -> Posterior:
        return standard(n, params.W.shape[1])

    # fills, from all other cells of the row, those of the same view included -------------------------
    def _cells_given(self, params: CCAParams, block: Block) -> Cells:
        """Each cell given the seen ones, the parameters' doubt included."""
        whole, seen = whitening(params.covariance), params.seen
        mean, var = np.empty_like(block.x), np.empty_like(block.x)
        for at, given in given_in_pieces(deviations(params.mu, block), block.mask, whole):
            # as a regression on the seen cells has it: n / (n - 1 - cells), at most 4, and 1 + leverage / n
            cells = block.seen[at].sum(axis=1)[:, None]
            leverage = 1.0 + ((given.deviations @ whole.P) ** 2).sum(axis=1)[:, None]
            inflation = seen / np.maximum(seen - 1.0 - cells, seen / 4.0) * (1.0 + leverage / seen)
            mean[at] = params.mu + given.deviations
            var[at] = np.maximum(given.variance(), 0.0) * inflation
        return Cells(mean, var, np.zeros_like(var))

    def _fill(self, b: Block) -> Array:
        return self._fill_and_std(b)[0]

    def _cells(self, block: Block) -> Array:
        """What the shared positions say of the cells: not a fill, which also looks at the cell's own view."""
        return self.frame_.outward(self._decode(self.params_, self._latent(block)).mean)

    def _drawn_given(self, params: CCAParams, block: Block, rng: list[np.random.Generator]) -> Array:
        whole = whitening(params.covariance)
        drawn = normals(rng, len(params.mu)) @ half_root(whole.C).T
        for at, given in given_in_pieces(deviations(params.mu, block), block.mask, whole):
            drawn[at] = given.drawn(whole.P, drawn[at])
        return params.mu + drawn

    # verbs ---------------------------------------------------------------------------------------
    @property
    def _of_two_tables(self) -> bool:
        return "n_y_features_in_" in vars(self)

    def arrange(self, X: Any, *, weight: Any = None, fitted: bool = True) -> Source:
        """Rows of both views as one source; `frame_` is that of both."""
        return X if isinstance(X, Joined) else super().arrange(X, weight=weight, fitted=fitted)

    def _views(self, X: Any, y: Any) -> Any:
        """The rows of both views side by side; a view that is None is unknown."""
        check_is_fitted(self)
        if isinstance(X, Joined):
            return X
        if not self._of_two_tables:
            if y is not None:
                raise error("LD280", problem="this CCA was fitted to one table: give the new rows as one table too")
            return X
        if X is None and y is None:
            raise error("LD280", problem="X and y are both None")
        first = None if X is None else super().arrange(X)
        second = None if y is None else as_source(second_table(y)[0])
        if second is not None:
            chosen = chosen_by_name(second, getattr(self, "y_feature_names_in_", ()))
            if chosen is None and second.d != self.n_y_features_in_:
                view = "the second view of CCA"
                raise error("LD220", got=second.d, want=self.n_y_features_in_, model=view, missing="")
            second = chosen or second
        return Joined(first, second, (self.n_features_in_, self.n_y_features_in_))

    def _as_given(self, cells: Array) -> Any:
        """Cells of both views as they were fitted: two tables, or one."""
        k = self.params_.first
        return (cells[..., :k], cells[..., k:]) if self._of_two_tables else cells

    def transform(self, X: Any, y: Any = None, *, out: Out = None, run: Run | None = None) -> Array:
        """Posterior mean of the shared position given both views, or given one where the other is None."""
        return in_kind(super().transform(self._views(X, y), out=out, run=run), X)

    def posterior(self, X: Any, y: Any = None, *, parameters: bool = False, run: Run | None = None) -> Any:
        """Mean, covariance and log density given what is there; with both views the three of them (x, y, both)."""
        if y is None or X is None:
            return super().posterior(self._views(X, y), parameters=parameters, run=run)
        views = (self._views(*pair) for pair in ((X, None), (None, y), (X, y)))
        return ViewPosteriors(*(LatentModel.posterior(self, rows, parameters=parameters, run=run) for rows in views))

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """The second view expected from the first, gaps welcome; with `return_std` a standard deviation a cell."""
        check_is_fitted(self)
        k = self.params_.first
        filled = super().impute(self._only_first(X, k), return_std=return_std)
        flat = getattr(self, "y_ndim_", 2) == 1  # a single column that came as a row of numbers goes as one
        cells = [part[:, k] if flat else part[:, k:] for part in (filled if return_std else (filled,))]
        return tuple(cells) if return_std else cells[0]

    def _only_first(self, X: Any, k: int) -> Source:
        """The rows with the second view unknown; where one table was fitted, the new one may hold it or not."""
        widths = (k, len(self.params_.mu) - k)
        if self._of_two_tables:
            return Joined(super().arrange(X), None, widths)
        table = as_source(X)
        first = chosen_by_name(table, getattr(self, "feature_names_in_", ())[:k])
        if first is None:
            first = table if table.d == k else Chosen(super().arrange(table), list(range(k)))
        return Joined(first, None, widths)

    def reconstruct(self, X: Any, y: Any = None, *, out: Out = None, run: Run | None = None) -> Any:
        """Every cell of both views as the shared positions have it."""
        return self._as_given(super().reconstruct(self._views(X, y), out=out, run=run))

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
        rows = self._views(X, y)
        filled = super().impute(rows, return_std=return_std, draws=draws, random_state=random_state, out=out, run=run)
        return tuple(map(self._as_given, filled)) if return_std else self._as_given(filled)

    def inverse_transform(self, Z: Any) -> Any:
        """The cells of both views that shared positions decode to."""
        return self._as_given(super().inverse_transform(Z))

    def sample(self, n: int = 1, *, random_state: Any = 0) -> Any:
        """New rows of both views from the fitted model."""
        return self._as_given(super().sample(n, random_state=seed_of(random_state)))

    def score_samples(self, X: Any, y: Any = None, *, run: Run | None = None) -> Array:
        """Log density of each row's seen cells, in both views or in the one given."""
        return super().score_samples(self._views(X, y), run=run)

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> float:
        """Mean log density of the rows."""
        return super().score(self._views(X, y), sample_weight=sample_weight, run=run)

    @property
    def n_parameters_(self) -> int:
        """The numbers fitted, as `bic` and `aic` count them."""
        check_is_fitted(self)
        return count_shared(self.params_.first, len(self.params_.mu) - self.params_.first, self.params_.W.shape[1])

    def bic(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Schwarz's criterion of both views, the smaller the better."""
        return super().bic(self._views(X, y), sample_weight=sample_weight)

    def aic(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Akaike's criterion of both views, the smaller the better."""
        return super().aic(self._views(X, y), sample_weight=sample_weight)

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        passes = 6 + self.max_iter
        cells = min(tile_rows(d), n) * d
        peak = walking(n, d, 8 * cells + 4 * GAP_NUMBERS, 3 * d * d) + 8 * 12 * d * d
        words = "fewer columns: reduce each view first, for example by PCA(k)"
        return Cost(passes, 8 * n * d * passes, peak, words)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.views is None
        tags.target_tags.multi_output = True
        return tags


def reported(params: CCAParams, analysis: Canonical, frame: Frame) -> dict[str, Any]:
    """The fitted attributes, in the table's units; no tests."""
    k, q = params.first, params.W.shape[1]
    m = min(q, len(analysis.rho))
    rho, weights = np.zeros(q), np.zeros((len(params.mu), q))
    rho[:m] = analysis.rho[:m]
    weights[:, :m] = np.concatenate([analysis.first[:, :m], analysis.second[:, :m]])
    size = float(frame.lengths(np.ones_like(frame.scale)).max())
    with np.errstate(over="ignore"):
        noise = in_range(params.noise / frame.scale / frame.scale[:, None], "Noise covariances", size)
        weights = in_range(weights * frame.scale[:, None], "Weights", 1.0 / size)
    W, mean = params.W / frame.scale[:, None], frame.outward(params.mu)
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
        "tests_": (),
    }


def chosen_by_name(source: Source, names: Sequence[str]) -> Source | None:
    """The columns of a source that have these names; None where it has none, or not these."""
    wanted = [str(name) for name in names]
    if not source.named or not wanted or not set(wanted) <= set(source.columns):
        return None
    return Chosen(source, [source.columns.index(name) for name in wanted])


def within_views(params: CCAParams) -> tuple[Index, Index]:
    """Row and column of each entry of the two views' lower triangles."""
    i, j = lower(len(params.mu))
    within = (i < params.first) == (j < params.first)
    return i[within], j[within]


def is_ill_conditioned(S: Array) -> bool:
    """Whether squaring the view has cost digits, or one of its columns nothing new."""
    values = np.linalg.eigvalsh(S)
    return bool(values[0] < SQUARED * max(values[-1], np.finfo(float).tiny))


def warn_of_rank(analysis: Canonical, d1: int, d2: int, n: float) -> None:
    """Warn of views whose columns follow from each other, and of more directions than rows can tell apart."""
    for name, rank, d in zip(("first", "second"), analysis.ranks, (d1, d2), strict=True):
        if rank < d:
            warn("LD281", view=name, rank=rank, d=d)
    excess = int(sum(analysis.ranks) - (n - 1.0))
    if excess > 0 and min(analysis.ranks):
        warn("LD282", count=min(excess, *analysis.ranks), total=sum(analysis.ranks), n=f"{n:g}")


def second_table(y: Any) -> tuple[Any, int]:
    """The second view as a table, and how many dimensions it came with: a single column may be a row of numbers."""
    if isinstance(y, str | PathLike | Source) or len(getattr(y, "shape", ())) == 2:
        return y, 2
    values = np.asarray(y)
    return (values.reshape(-1, 1), 1) if values.ndim == 1 else (values, 2)
