"""The linear-Gaussian model x = mu + W z + e, z ~ N(0, I), e_j ~ N(0, psi_j): all that its members share.

Probabilistic PCA, factor analysis and their kin differ in how the noise is tied (`_noise`), in what is done with a
complete table (`_complete`) and in what they report; the E-step, the M-step, the canonical axes, draws and new rows
are here.
"""

from __future__ import annotations

from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Cost, Fit, em, plan, walking
from lowdim.engine.fold import Run
from lowdim.engine.statistics import Moments, moments, stored_moments
from lowdim.maths.eigen import PASSES
from lowdim.maths.gaussian import LIGHT, Sums, design, expand, pattern_sums, posterior, regress, sums
from lowdim.maths.linalg import EPS, Array, Mask, align, lower, root_times, sign_rule
from lowdim.maths.seeds import normals
from lowdim.models.base.estimator import WeightedEstimator
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import COUNT, EM_ENDS_WITH_GAPS, POSITIVE, TRUTH, WHOLE, check_components, option
from lowdim.models.base.results import Cells, Fitted, Posterior, RowPosterior, squared, standard
from lowdim.models.base.scores import count_parameters
from lowdim.models.base.survey import TableSurvey, columns_of, first_axes, is_wide, standardized, survey_table
from lowdim.sources.source import Block, Source, tile_rows
from lowdim.sources.views import FRAME_ROWS, Frame, Framed, Stored, frame_of
from lowdim.text.messages import error, warn

FLOOR = 1e-10  # noise variances below this share of the mean variance are not told from zero


class LinearGaussianParams(NamedTuple):
    """Parameters, in the frame's units."""

    W: Array  # d x q
    mu: Array  # d
    psi: Array  # d, noise variances
    T: Array  # q x q: reported coordinates are z T
    V: Array  # covariance of (w_j, mu_j): d x (q+1) x (q+1); its diagonal d x (q+1) where that is all; v_j as d x 1
    low: Array  # d, the bounds of the noise variances
    excess: Array  # d, how much wider than psi the noise of a new cell is, since psi was fitted too


class LinearParams(Protocol):
    """What the parameters of every member have; each is a NamedTuple with these fields and perhaps more."""

    @property
    def W(self) -> Array: ...
    @property
    def mu(self) -> Array: ...
    @property
    def psi(self) -> Array: ...
    @property
    def T(self) -> Array: ...
    @property
    def V(self) -> Array: ...
    @property
    def low(self) -> Array: ...
    @property
    def excess(self) -> Array: ...
    @property
    def _replace(self) -> Any: ...


class GaussianRows(RowPosterior, Protocol):
    """Where rows lie, with covariances."""

    @property
    def cov(self) -> Array: ...


P = TypeVar("P", bound=LinearParams)
R = TypeVar("R", bound=GaussianRows)


class LinearGaussian(WeightedEstimator, LatentModel[P, R], Generic[P, R]):
    """What PCA, probabilistic PCA, factor analysis and their kin share.

    What a pass of EM sums (`stats`) is `Sums`, unless a member gives all the steps that take it.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (d,)
        Column means, and the unit of each column (its spread where standardised, else 1).
    """

    _has_doubt: ClassVar[bool] = True
    _own_units: ClassVar[bool] = False  # whether the model is the same whatever the columns' units
    _pairs_matter: ClassVar[bool] = True  # whether it rests on correlations of columns
    _ddof: ClassVar[int] = 1  # a standardised column has unit variance with divisor n - _ddof
    _fewer_with_gaps: ClassVar[bool] = False  # whether gaps leave fewer axes, where no number of them is asked for
    _low_share: ClassVar[float] = FLOOR  # the bound of a noise variance as a share of its column's variance
    avoids_covariance = staticmethod(is_wide)  # of n, d: whether a fit to a complete table holds no d x d matrix

    n_components: Any = option(default=2, rule=WHOLE, words="Latent dimensions q.", kind="int", kw_only=False)
    standardize: bool = option(default=False, rule=TRUTH, words="Work in units of each column's spread.")
    tol: float = option(default=1e-7, rule=POSITIVE, words=EM_ENDS_WITH_GAPS)
    max_iter: int = option(default=1000, rule=COUNT, words="The most passes of EM.")

    # the fit ---------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> Fitted:
        survey = survey_table(
            source,
            run,
            standardize=self.standardize,
            wide=self.avoids_covariance(source.n, source.d),
            each=self._own_units,
            ddof=self._ddof,
            units_matter=not self._own_units,
            pairs_matter=self._pairs_matter,
        )
        if survey.gaps:
            plan(type(self).__name__, self._cost(source.n, source.d, gaps=True), run, source.leaf)
            fitted = self._with_gaps(survey, run)
        else:
            fitted = self._complete(survey, run)
        return fitted.restated(survey.columns.seen, survey.passes)

    def _complete(self, survey: TableSurvey, run: Run) -> Fitted:
        """The fit to a complete table."""
        raise NotImplementedError

    def _with_gaps(self, survey: TableSurvey, run: Run) -> Fitted:
        """The fit to a table with gaps."""
        raise NotImplementedError

    def fit_moments(self, m: Moments, frame: Frame, names: tuple[str, ...]) -> Fitted:
        """The fit to complete rows with these moments in the frame; nothing is assigned."""
        raise NotImplementedError

    def fit_from(self, start: P, source: Source, run: Run | None = None) -> Fit[P, Any]:
        """EM from given parameters over a table in the frame; nothing is assigned, the fit has canonical axes."""
        fit: Fit[P, Any] = em(self, start, source, run or Run())
        return fit._replace(params=self._canonical(fit.params, fit.stats))

    # EM: one pass sums `_stats` over blocks, `_update` makes the next parameters of them -----------------
    def _stats(self, params: P, block: Block) -> Any:
        """The E-step: the sums over rows that the M-step needs, and the log density of the block."""
        s: Sums | None = None
        if block.mask is not None:  # few patterns of gaps: each is a complete table of its own
            s = pattern_sums(block.x, block.mask, block.weight, (params.W, params.mu, params.psi))
        if s is None:
            latent = posterior(block.x, block.mask, params.W, params.mu, params.psi)
            s = sums(block.mask, block.weight, latent, params.W, params.psi)
        return s

    def _objective(self, params: P, stats: Any) -> float:
        """The log-likelihood of these parameters."""
        return float(stats.log_density)

    def _update(self, params: P, stats: Any) -> P:
        """The M-step."""
        # Each column's (w_j, mu_j) is regressed on E[(z, 1)]; what that leaves over is its noise.
        W, mu, squares = regress(stats, params.W, params.mu)
        psi = np.maximum(self._noise(squares, stats.seen), params.low)
        if params.W.shape[1]:
            # Parameter expansion: z ~ N(nu, P) is fitted too and absorbed; then W is turned back towards the last one,
            # so that steps can be compared and extrapolated.
            W, mu = expand(stats, W, mu)
            W = align(W, params.W)
        step: P = params._replace(W=W, mu=mu, psi=psi)
        return step

    def _noise(self, squares: Array, seen: Array) -> Array:
        """Noise variances from the squares left over in each column and its seen cells: one for all columns."""
        return np.full(len(squares), squares.sum() / seen.sum())

    def _canonical(self, params: P, stats: Any) -> P:
        """Columns of W orthogonal in the metric of the noise, falling, signs fixed; V is turned along."""
        W, psi, q = params.W, params.psi, params.W.shape[1]
        # The covariance of each column's (w_j, mu_j), given where the rows lie: psi_j A_j^-1.
        if len(stats.A) < len(psi):  # light: after expansion A is close to n I
            V = (psi / stats.seen)[:, None]
        else:
            values, U = np.linalg.eigh(design(stats.A, q))
            values = np.maximum(values, EPS * np.maximum(values[:, -1:], 1.0))
            V = (U * (psi[:, None] / values)[:, None, :]) @ U.transpose(0, 2, 1)
        if q:
            # The axes are those of W'Psi^-1 W; the parameters' covariance turns with them.
            Qt = np.linalg.svd(W / np.sqrt(psi / psi[0])[:, None], full_matrices=False)[2]
            Q = Qt.T * sign_rule(W @ Qt.T)
            W = W @ Q
            if V.ndim == 3:
                turn = np.eye(q + 1)
                turn[:q, :q] = Q
                V = turn.T @ V @ turn
        canonical: P = params._replace(W=W, V=V)
        return canonical

    # what EM's extrapolation sees: one vector, in units that do not depend on the table's -----------------
    def _pack(self, params: P) -> Array:
        u = np.sqrt(params.low.mean() / self._low_share)  # the columns' typical spread, told by the bounds of the noise
        return np.concatenate([params.W.ravel() / u, params.mu / u, np.log(params.psi)])

    def _unpack(self, vector: Array, like: P) -> P:
        d, q = like.W.shape
        W, mu, logs = np.split(vector, [d * q, d * q + d])
        near = np.log(like.psi)
        psi = np.exp(np.clip(logs, near - 3.0, near + 3.0))  # an extrapolation may not run away
        u = np.sqrt(like.low.mean() / self._low_share)
        made: P = like._replace(W=W.reshape(d, q) * u, mu=mu * u, psi=np.maximum(psi, like.low))
        return made

    # rows ------------------------------------------------------------------------------------------
    def _posterior(self, params: P, block: Block) -> R:
        latent = posterior(block.x, block.mask, params.W, params.mu, params.psi)
        packed = np.broadcast_to(latent.cov.T, (len(block.x), latent.cov.shape[0]))
        rows: Any = Posterior(latent.mean, packed, latent.log_density)
        return rows

    def _prior(self, params: P, n: int) -> R:
        rows: Any = standard(n, params.W.shape[1])
        return rows

    def _decode(self, params: P, rows: R) -> Cells:
        """Mean and variance of the noiseless cells; parameters count as uncertain too.

        With z of mean m and covariance C, and (w_j, mu_j) of covariance V_j independent of it, the variance of
        w_j'z + mu_j is w_j'C w_j + tr(V_j E[(z, 1)(z, 1)']).
        """
        q = params.W.shape[1]
        i, j = lower(q)
        twice = np.where(i == j, 1.0, 2.0)
        var = (rows.packed * twice) @ (params.W[:, i] * params.W[:, j]).T
        second = rows.packed + rows.mean[:, i] * rows.mean[:, j]
        if params.V.ndim == 2:
            V = np.broadcast_to(params.V, (len(params.W), q + 1))
            var += second[:, i == j] @ V[:, :q].T + V[:, q]
        else:
            V = params.V
            var += (second * twice) @ V[:, i, j].T + 2.0 * rows.mean @ V[:, :q, q].T + V[:, q, q]
        noise = np.broadcast_to(params.psi * params.excess, var.shape)
        return Cells(rows.mean @ params.W.T + params.mu, np.maximum(var, 0.0), noise)

    def _draw(self, params: P, rows: R, rng: list[np.random.Generator]) -> Array:
        d, q = params.W.shape
        normal = normals(rng, q + d)
        z = rows.mean + root_times(rows.cov, normal[:, :q])
        return z @ params.W.T + params.mu + normal[:, q:] * np.sqrt(params.psi)

    def _redraw(self, params: P, rng: np.random.Generator) -> P:
        d, q = params.W.shape
        normal = rng.standard_normal((d, q + 1))
        step = normal * np.sqrt(params.V) if params.V.ndim == 2 else root_times(params.V, normal)
        drawn: P = params._replace(W=params.W + step[:, :q], mu=params.mu + step[:, q], psi=params.psi * params.excess)
        return drawn

    def _doubt(self, params: P, mean: Array) -> Array:
        """(I + (|m|^2 I + m m') / 4) / n, for n rows.

        A fit takes the positions of its rows to have mean 0 and covariance I. Those of n rows from N(0, I) have a mean
        of covariance I / n, and a covariance I + E with symmetric E, E_kk of variance 2 / n and others of 1 / n: each
        position is off by that mean and by E m / 2. What noise adds to the doubt about W is of the order of the
        positions' own covariance over n, and left out.
        """
        q = params.W.shape[1]
        i, j = lower(q)
        same = np.where(i == j, 1.0, 0.0)
        V = params.V if params.V.ndim == 2 else params.V[:, np.arange(q + 1), np.arange(q + 1)]
        rows = float(np.mean(params.psi / V[:, -1]))  # the doubt about a column's mean is psi_j / n_j
        return (same + 0.25 * ((mean**2).sum(axis=1)[:, None] * same + mean[:, i] * mean[:, j])) / rows

    def _axes(self, params: P) -> Array:
        return params.T

    # rows that come a few at a time --------------------------------------------------------------------
    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, decay: float = 1.0) -> Self:
        """Add complete rows to those of earlier calls; the answer is that of all of them at once.

        With `decay` below 1 rows of earlier calls count that much less each time: the model follows a table that
        drifts. A model that was fitted with `fit`, which keeps no moments, starts anew.
        """
        self._check_options()
        if not 0.0 < decay <= 1.0:
            raise error("LD210", option="decay", value=decay, allowed="a share in (0, 1]")
        source = self.arrange(X, weight=sample_weight, fitted=False)
        if source.n:  # an empty batch says nothing, least of all where the origin should be
            frame, m = self._added(source, decay)
            if m.n >= 2.0:
                fit_frame, scaled = frame, m
                if self.standardize:
                    survey = standardized(TableSurvey(frame, source, columns_of(m), m, None), source, self._ddof)
                    assert survey.moments is not None
                    fit_frame, scaled = survey.frame, survey.moments
                fitted = self.fit_moments(scaled, fit_frame, source.columns)
                self._keep(fitted.of_moments(m.n * float(np.log(fit_frame.scale).sum()), 1), source)
            self._online = (frame, m)
            self.n_features_in_ = source.d
            if source.named:
                self.feature_names_in_ = np.array(source.columns, dtype=object)
        return self

    def _added(self, source: Source, decay: float) -> tuple[Frame, Moments]:
        """The frame of the first rows, and the moments of all rows so far, earlier ones counted `decay` times."""
        each = self._own_units or self.standardize
        frame, m = vars(self).get("_online") or (
            frame_of(source.sample(FRAME_ROWS), each, origin=not source.is_sparse),
            None,
        )
        if m is not None:
            m = m._replace(n=m.n * decay)
        stored = source.is_sparse and not frame.shift.any()
        rows = Stored(source, frame) if stored else Framed(source, frame)
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(rows.n_blocks):
                block = rows.block(i)
                if block.mask is not None:
                    row, column = np.argwhere(~block.mask)[0]
                    where = f"row {block.start + row + 1}, column {column + 1} of this batch"
                    why, fix = "rows with gaps need several passes", "fit(X), which takes gaps"
                    raise error("LD163", where, job="partial_fit", why=why, fix=fix)
                batch = moments(block) if isinstance(block.x, np.ndarray) else stored_moments(block)
                m = batch if m is None else m.merge(batch)
        assert m is not None
        if not np.isfinite(m.covariance).all():
            raise error("LD156")
        return frame, m

    # what it says ----------------------------------------------------------------------------------
    def _loadings(self, params: P, frame: Frame) -> Array:
        """W in reported units and coordinates, d x q."""
        return (params.W @ np.linalg.pinv(params.T).T) * frame.report[:, None]

    def _isotropic_attributes(self, params: P, frame: Frame) -> dict[str, Any]:
        """What a model with one noise variance reports: its axes as they are turned, by what they carry."""
        turned = params.W @ np.linalg.pinv(params.T).T
        squares = turned**2
        variance, total = squares.sum(axis=0) + params.psi[0], float(squares.sum() + params.psi.sum())
        reported = squared(np.append(variance, params.psi[0]), float(frame.report[0]))
        return {
            "components_": np.ascontiguousarray((turned * frame.report[:, None]).T),
            "n_components_": turned.shape[1],
            "explained_variance_": reported[:-1],
            "explained_variance_ratio_": variance / total,
            "mean_": frame.outward(params.mu),
            "scale_": frame.unit.copy(),
            "noise_variance_": float(reported[-1]),
        }

    def get_covariance(self) -> Array:
        """The model's covariance of the columns, W W' + Psi, in reported units."""
        W, psi = self._covariance_parts()
        root = np.sqrt(self.frame_.report)
        return squared(W @ W.T + np.diag(psi), np.multiply.outer(root, root))

    def get_precision(self) -> Array:
        """Its inverse, by the matrix inversion lemma: only a q x q matrix is solved."""
        W, psi = self._covariance_parts()
        V = W / psi[:, None]
        precision = np.diag(1.0 / psi) - V @ np.linalg.solve(np.eye(W.shape[1]) + W.T @ V, V.T)
        root = 1.0 / np.sqrt(np.maximum(self.frame_.report, np.finfo(float).tiny))
        return squared(precision, np.multiply.outer(root, root))

    def _covariance_parts(self) -> tuple[Array, Array]:
        return self.params_.W, self.params_.psi

    @property
    def n_parameters_(self) -> int:
        """The numbers fitted, as `bic` and `aic` count them."""
        check_is_fitted(self)
        return count_parameters(*self.params_.W.shape, own_units=self._own_units or bool(self.standardize))

    # what it costs -----------------------------------------------------------------------------------
    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        """A survey and a solve, or with gaps a survey, a start and passes of EM."""
        if isinstance(self.n_components, int | np.integer):
            q = min(int(self.n_components), d)
        else:
            q = min(n, d, n * d // (2 * (n + d)) + 1) if gaps and self._fewer_with_gaps else min(n, d)
        wide = self.avoids_covariance(n, d)
        tile, p = min(tile_rows(d), n), q * (q + 1) // 2
        cells = tile * d
        peak = walking(n, d, 6 * cells, 6 * d if wide else 3 * d * d)  # the survey
        if wide:
            basis = d * min(PASSES * (q + 8), d)
            solve = 8 * (4 * n * d + 4 * n * n if n < d else 3 * basis) + walking(n, d, 4 * cells, d * (q + 8))
        else:
            solve = 8 * 9 * d * d + walking(n, d, 4 * cells, 0)  # an eigenproblem; or QR of a tile's triangle
        peak = max(peak, solve)
        if gaps:
            outer, node = min(d * p, LIGHT), min(d * (p + q + 1), LIGHT) + d * (q + 4)
            a_pass = walking(n, d, 8 * cells + (11 * p + 6 * q) * tile + outer, node)
            peak = max(peak, a_pass + 8 * (4 * min(d * (q + 1) ** 2, 2 * LIGHT) + (0 if wide else 3 * d * d)))
        # The survey (three where its sample missed huge cells), a gathered start (two), EM or Krylov, a last density.
        passes = 6 + max(self.max_iter if gaps else 1, PASSES if wide else 1)
        words = "fewer columns, fewer dimensions (n_components, --dims), or a sample of rows (--sample)"
        return Cost(passes, 8 * n * d * passes, peak, words)


# bounds, and where EM starts from ------------------------------------------------------------------------------
def principal_start(survey: TableSurvey, q: int) -> LinearGaussianParams:
    """Axes along the leading eigenvectors of the pairwise moments; of the zero-filled table where it is wide."""
    d = survey.source.d
    check_components(q, d)
    values, V = first_axes(survey, q)
    total = float(survey.columns.variance.sum())
    floor = noise_floor(total, d)
    s2 = max((total - float(values.sum())) / max(d - q, 1), 1e-3 * total / d, floor)
    return LinearGaussianParams(
        W=axes_beyond(values, V, s2),
        mu=survey.columns.mean,
        psi=np.full(d, s2),
        T=np.eye(q),
        V=np.zeros((d, 1)),
        low=np.full(d, floor),
        excess=excess(survey.columns.seen, q),
    )


def axes_beyond(values: Array, vectors: Array, s2: float) -> Array:
    """Axes as long as their variances exceed the noise; one that does not is short, but not gone."""
    return vectors * np.sqrt(np.maximum(values - s2, 0.01 * s2))


def excess(seen: Array, q: int) -> Array:
    """n / (n - q - 1): each column's residuals were fitted with q + 1 numbers of its own (at most 4)."""
    return seen / np.maximum(seen - q - 1.0, seen / 4.0)


def noise_floor(total: float, d: int) -> float:
    """The smallest noise variance told from zero."""
    return max(FLOOR * total / max(d, 1), float(np.sqrt(np.finfo(float).tiny)))


def on_floor(params: LinearParams) -> Mask:
    """Which noise variances sit on their bound."""
    return params.psi <= params.low * (1 + 1e-6)


def noise_on_bound(params: LinearParams, q: int, rank: int | None = None) -> tuple[str, ...]:
    """What a certificate says is on a bound, with a warning, where q of the `rank` axes leave nothing for the noise."""
    if not on_floor(params).any():
        return ()
    warn("LD202", floor=float(params.psi[0]), q=q, rank=q if rank is None else rank)
    return ("noise_variance_",)
