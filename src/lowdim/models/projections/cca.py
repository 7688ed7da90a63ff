"""Probabilistic canonical correlation analysis: what two views of the same rows share."""

from __future__ import annotations

from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Fit, em
from lowdim.engine.fold import Run, fold
from lowdim.engine.plan import USUAL_PASSES, Cost, walking
from lowdim.engine.statistics import triangle
from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import Array, lower, orthogonality
from lowdim.models.base.estimator import COUNT, POSITIVE, WHOLE, Absent, Out, Rule, in_kind, seed_of
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, certify, em_digits, in_range
from lowdim.models.base.scores import count_shared
from lowdim.models.base.survey import TableSurvey, survey_for_fit
from lowdim.models.linear.principal_axes import SQUARED
from lowdim.models.projections.cca_algebra import (
    CLOSE_TO_ONE,
    LEAST_VIEW_NOISE,
    PATTERN_NUMBERS,
    Canonical,
    SeenSums,
    bounded,
    canonical_analysis,
    canonical_tests,
    drawn_gaps,
    given_seen,
    model_canonical,
    patterns,
    regress_views,
    scatter_factor,
    seen_sums,
    shared_factors,
)
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, Header, Source, tile_rows
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
    """Two views as one table; what it says of its columns is said of the first."""

    @property
    def header(self) -> Header:
        assert self.first is not None
        return self.first.header


class CCA(LatentModel):
    """Probabilistic canonical correlation analysis of two views of the same rows, gaps welcome.

    x = mu_x + W_x z + e_x,  y = mu_y + W_y z + e_y,  z ~ N(0, I_q), with e_x and e_y independent of each other and
    each of any covariance. Complete tables in closed form: W_m = S_mm U_m P^(1/2) with canonical directions U_m and
    correlations P (W_x and W_y share P evenly); tables with gaps by EM of this very model, every row exact. In a view
    of lower rank, directions without variance are left out of the correlations, and the density gives them a
    millionth of a column's variance (LD281).

    Parameters
    ----------
    n_components : int, default=1
        The number q of shared positions.
    views : int, default=None
        With `fit(table)`: the first so many columns are the view X. None: `fit(X, y)` takes the views as two tables.
    tol : float, default=1e-7
        With gaps, EM ends when the log-likelihood can gain no more than this, in nats a row.
    max_iter : int, default=1000
        The most passes over the table.

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
    objective_, history_, n_iter_, converged_, certificate_, params_, frame_
        The log-likelihood, its course, passes, and how far to trust the fit; the parameters and their units.

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

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": WHOLE,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "views": Rule(lambda v: v is None or COUNT.holds(v), "None, or how many columns the first view has"),
    }
    predict_cells = Absent(TWO_TABLES, "impute or reconstruct, which give both")
    decode = Absent(TWO_TABLES, "inverse_transform, which gives both")
    n_y_features_in_: int

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
        if y is None:
            return super().fit(X, sample_weight=sample_weight, run=run)
        self._check_options()
        table, ndim = second_table(y)
        first, second = as_source(X, weight=sample_weight), as_source(table)
        self._fit_source(TwoTables(first, second, (first.d, second.d)), run or Run())
        self.n_y_features_in_, self.y_ndim_ = second.d, ndim
        if second.named:
            self.y_feature_names_in_ = np.array(second.columns, dtype=object)
        return self

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
            raise error(
                "LD280",
                problem=f"views={self.views} leaves none of the {source.d} columns, n_features = "
                f"{source.d}, for the second view",
            )
        return int(self.views)

    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        k = self._first(source)
        most = min(k, source.d - k)
        if self.n_components > most:
            raise error(
                "LD200",
                n_components=self.n_components,
                most=most,
                why=f"the views have {k} and {source.d - k} columns (n_features = {k})",
            )
        survey = survey_for_fit(source, run, standardize=True, wide=False)
        fit = self._with_gaps(survey, k, run) if survey.gaps else self._complete(survey, k, run)
        frame = survey.frame._replace(unit=np.ones(source.d))  # everything is reported in the table's units
        return fit.restated(survey.log_stretch, survey.passes), frame

    def _complete(self, survey: TableSurvey, k: int, run: Run) -> Fit:
        m = survey.moments
        assert m is not None
        d, views = len(m.mean), (slice(k), slice(k, None))
        passes = int(m.n <= d or any(is_ill_conditioned(m.covariance[at, at]) for at in views))
        if passes:
            R = fold(triangle, survey.source, run).R[1:, 1:]  # the first row is the mean's
            F = np.concatenate([R, np.zeros((max(0, k - len(R), d - k - len(R)), d))])  # all directions of each view
        else:
            F = scatter_factor(m.covariance, m.n)
        analysis = canonical_analysis(F[:, :k], F[:, k:], m.n)
        warn_of_rank(analysis, k, len(m.mean) - k, m.n)
        W, noise = shared_factors(analysis, self.n_components)
        params = CCAParams(W, m.mean, noise, survey.columns.seen, k)
        part = next(patterns(None, 1, params.covariance))
        squares = float(((F @ part.N[0].T) ** 2).sum())
        value = -0.5 * (m.n * (len(m.mean) * LOG_TWO_PI + float(part.logdet[0])) + squares)
        return Fit(params, analysis, value, (value,), passes, True, "closed form", "svd of the whitened views")

    # gaps ----------------------------------------------------------------------------------------
    def _with_gaps(self, survey: TableSurvey, k: int, run: Run) -> Fit:
        assert survey.pairs is not None
        values, U = np.linalg.eigh(survey.pairs.covariance())
        W, noise = shared_factors(
            model_canonical((U * np.maximum(values, START_EIGENVALUE)) @ U.T, k), self.n_components
        )
        count = survey.columns.seen * (
            survey.columns.seen.mean() / survey.columns.n
        )  # a row counts by the cells it shows
        start = CCAParams(W, survey.columns.mean, bounded(noise, k), count, k)
        fit = em(self, start, survey.source, run)
        params = fit.params
        low = int((np.linalg.eigvalsh(params.noise) < LEAST_VIEW_NOISE * (1.0 + 1e-6)).sum())
        if low:
            warn("LD288", count=low)
        analysis = model_canonical(params.covariance, k)
        W, noise = shared_factors(analysis, self.n_components)
        warn_of_rank(analysis, k, len(W) - k, fit.stats.n)
        return fit._replace(params=params._replace(W=W, noise=noise), stats=analysis)

    def _stats(self, params: CCAParams, block: Block) -> SeenSums:
        return seen_sums(deviations(params, block), block.mask, block.weight, params.covariance)

    def _objective(self, params: CCAParams, stats: SeenSums) -> float:
        return stats.log_density

    def _update(self, params: CCAParams, stats: SeenSums) -> CCAParams:
        W, mu, noise = regress_views(stats, params.W, params.mu, params.noise, params.first)
        return params._replace(W=W, mu=mu, noise=noise)

    def _pack(self, params: CCAParams) -> Array:
        L = np.linalg.cholesky(params.noise)
        at = np.arange(len(L))
        L[at, at] = np.log(L[at, at])
        i, j = within_views(params)
        return np.concatenate([params.W.ravel(), params.mu, L[i, j]])

    def _unpack(self, vector: Array, like: CCAParams) -> CCAParams:
        d, q = like.W.shape
        W, mu, low = np.split(vector, [d * q, d * q + d])
        L, at = np.zeros((d, d)), np.arange(d)
        L[within_views(like)] = low
        L[at, at] = np.exp(np.clip(L[at, at], 0.5 * np.log(LEAST_VIEW_NOISE), 3.0))  # an extrapolation may not run away
        return like._replace(W=W.reshape(d, q), mu=mu, noise=bounded(L @ L.T, like.first))

    # hooks ---------------------------------------------------------------------------------------
    def _posterior(self, params: CCAParams, block: Block) -> Posterior:
        q = params.W.shape[1]
        conditional = given_seen(
            deviations(params, block), block.mask, params.covariance, params.W, np.eye(q), lower(q)
        )
        return Posterior(conditional.y @ params.W, conditional.covariance, conditional.log_density)

    def _decode(self, params: CCAParams, posterior: Posterior) -> Cells:
        """What the shared positions say of the cells; a view's own noise is not decoded."""
        i, j = lower(params.W.shape[1])
        table = params.W[:, i] * params.W[:, j] * np.where(i == j, 1.0, 2.0)
        var = np.maximum(posterior.packed @ table.T, 0.0)
        return Cells(posterior.mean @ params.W.T + params.mu, var, np.broadcast_to(np.diag(params.noise), var.shape))

    def _draw(self, params: CCAParams, posterior: Posterior, rng: list[np.random.Generator]) -> Array:
        d, q = params.W.shape
        normal = np.array([r.standard_normal(q + d) for r in rng]).reshape(len(rng), q + d)
        values, U = np.linalg.eigh(posterior.cov) if q else (np.zeros((len(rng), 0)), np.zeros((len(rng), 0, 0)))
        z = posterior.mean + (U @ (np.sqrt(np.maximum(values, 0)) * normal[:, :q])[:, :, None])[:, :, 0]
        values, V = np.linalg.eigh(params.noise)
        cells: Array = z @ params.W.T + params.mu + normal[:, q:] @ (V * np.sqrt(np.maximum(values, 0.0))).T
        return cells

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
        i, j = lower(params.W.shape[1])
        return Posterior(np.zeros((n, params.W.shape[1])), np.tile((i == j).astype(float), (n, 1)), np.zeros(n))

    def _axes(self, params: CCAParams) -> Array:
        return np.eye(params.W.shape[1])

    # fills, from all other cells of the row, those of the same view included -------------------------
    def _expected(self, b: Block) -> tuple[Array, Array]:
        """Each cell given the seen ones: mean and standard deviation, the parameters' doubt included."""
        params, inner = self.params_, self.frame_.inward(b)
        C, r = params.covariance, deviations(params, inner)
        every = np.arange(len(C))
        conditional = given_seen(r, inner.mask, C, C, C, (every, every))
        assert b.mask is not None  # a complete block has nothing to fill
        cells = b.mask.sum(axis=1)[:, None]
        leverage = 1.0 + (conditional.y * r).sum(axis=1)[:, None]
        # as a regression on the seen cells has it: n / (n - 1 - cells), at most 4, and 1 + leverage / n
        inflation = (
            params.seen / np.maximum(params.seen - 1.0 - cells, params.seen / 4.0) * (1.0 + leverage / params.seen)
        )
        std = np.sqrt(np.maximum(conditional.covariance, 0.0) * inflation)
        return self.frame_.outward(params.mu + conditional.y @ C), self.frame_.lengths(std)

    def _fill(self, b: Block) -> Array:
        return b.x if b.mask is None else np.where(b.mask, b.x, self._expected(b)[0])

    def _fill_std(self, b: Block) -> Array:
        return np.zeros_like(b.x) if b.mask is None else np.where(b.mask, 0.0, self._expected(b)[1])

    def _impute_draw(self, X: Any, number: int, seed: int) -> Array:
        params = self._redraw(self.params_, np.random.default_rng([seed, number]))

        def fill(b: Block) -> Array:
            if b.mask is None:
                return b.x
            inner, d = self.frame_.inward(b), len(params.mu)
            normal = np.array(
                [np.random.default_rng([seed, number, b.start + i]).standard_normal(d) for i in range(b.rows)]
            )
            drawn = drawn_gaps(deviations(params, inner), inner.mask, params.covariance, normal)
            return np.where(b.mask, b.x, self.frame_.outward(params.mu + drawn))

        return self._each(fill, X)

    # verbs ---------------------------------------------------------------------------------------
    @property
    def _of_two_tables(self) -> bool:
        return "n_y_features_in_" in vars(self)

    def arrange(self, X: Any) -> Source:
        """Rows of both views as one source; `frame_` is that of both."""
        check_is_fitted(self)
        return X if isinstance(X, Joined) else super().arrange(X)

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
        first = None if X is None else self._arranged(as_source(X))
        second = None if y is None else self._y_arranged(as_source(second_table(y)[0]))
        return Joined(first, second, (self.n_features_in_, self.n_y_features_in_))

    def _y_arranged(self, source: Source) -> Source:
        names = [str(name) for name in getattr(self, "y_feature_names_in_", ())]
        if source.named and names and set(names) <= set(source.columns):
            return Chosen(source, [source.columns.index(name) for name in names])
        if source.d != self.n_y_features_in_:
            raise error("LD220", got=source.d, want=self.n_y_features_in_, model="the second view of CCA", missing="")
        return source

    def _as_given(self, cells: Array) -> Any:
        """Cells of both views as they were fitted: two tables, or one."""
        k = self.params_.first
        return (cells[..., :k], cells[..., k:]) if self._of_two_tables else cells

    def transform(self, X: Any, y: Any = None, *, out: Out = None, run: Run | None = None) -> Array:
        """Posterior mean of the shared position given both views, or given one where the other is None."""
        return in_kind(super().transform(self._views(X, y), out=out, run=run), X)

    def posterior(self, X: Any, y: Any = None, *, run: Run | None = None) -> Any:
        """Mean, covariance and log density given what is there; with both views the three of them (x, y, both)."""
        if y is None or X is None:
            return super().posterior(self._views(X, y), run=run)
        views = (self._views(*pair) for pair in ((X, None), (None, y), (X, y)))
        return ViewPosteriors(*(LatentModel.posterior(self, rows, run=run) for rows in views))

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
            return Joined(self._arranged(as_source(X)), None, widths)
        first, names = as_source(X), [str(name) for name in getattr(self, "feature_names_in_", ())[:k]]
        if first.named and names and set(names) <= set(first.columns):
            first = Chosen(first, [first.columns.index(name) for name in names])
        elif first.d != k:
            first = Chosen(self._arranged(first), list(range(k)))
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
        rows = as_source(self._views(X, y))
        weight = rows.weight if sample_weight is None else as_source(rows, weight=sample_weight).weight
        return float(np.average(super().score_samples(rows, run=run), weights=weight))

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

    # reports ----------------------------------------------------------------------------------
    def _attributes(self, params: CCAParams, frame: Frame, fit: Fit) -> dict[str, Any]:
        k, q, analysis = params.first, params.W.shape[1], fit.stats
        assert isinstance(analysis, Canonical)
        m = min(q, len(analysis.rho))
        rho, weights = np.zeros(q), np.zeros((len(params.mu), q))
        rho[:m], weights[:k, :m], weights[k:, :m] = analysis.rho[:m], analysis.first[:, :m], analysis.second[:, :m]
        size = float(frame.lengths(np.ones_like(frame.scale)).max())
        with np.errstate(over="ignore"):
            noise = in_range(params.noise / frame.scale / frame.scale[:, None], "Noise covariances", size)
            weights = in_range(weights * frame.scale[:, None], "Weights", 1.0 / size)
        W, mean = params.W / frame.scale[:, None], frame.outward(params.mu)
        tests = () if fit.solver == "em" else canonical_tests(analysis.rho, analysis.ranks, float(params.seen[0]))
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

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        analysis = fit.stats
        orthogonal = max((orthogonality(A) for A in analysis.variates), default=0.0)
        boundary = (
            ("canonical_correlations_",) if (analysis.rho[: self.n_components] > 1.0 - CLOSE_TO_ONE).any() else ()
        )
        digits = 15.0 - float(np.log10(analysis.condition))
        notes: tuple[str, ...] = ()
        if fit.solver == "em":
            n = max(float(fit.params.seen.max()), 1.0)
            digits = min(digits, em_digits(fit.remaining, n))
            notes = ("no tests: their F needs complete rows",)
        residual = fit.remaining if fit.solver == "em" else 0.0
        accuracy = {"residual": residual, "orthogonality": orthogonal, "condition": analysis.condition}
        return certify(fit, self._objective_name, **accuracy, digits=digits, boundary=boundary, notes=notes)

    def _cost(self, n: int, d: int) -> Cost:
        passes = 6 + self.max_iter
        cells = min(tile_rows(d), n) * d
        peak = walking(n, d, 8 * cells + 4 * PATTERN_NUMBERS, 3 * d * d) + 8 * 12 * d * d
        words = "fewer columns: reduce each view first, for example by PCA(k)"
        return Cost(passes, 8 * n * d * passes, peak, words, min(USUAL_PASSES, self.max_iter) + 2)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.views is None
        tags.target_tags.multi_output = True
        return tags


def deviations(params: CCAParams, block: Block) -> Array:
    """The seen cells minus their mean, zero at gaps."""
    r = block.x - params.mu
    return r if block.mask is None else r * block.mask


def within_views(params: CCAParams) -> tuple[Any, Any]:
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
