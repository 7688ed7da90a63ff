"""One linear-Gaussian model: x = mu + W z + e, and probabilistic PCA as its simplest member."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from lowdim.engine.em import em, online
from lowdim.engine.fold import Run
from lowdim.engine.monitor import Fit
from lowdim.engine.plan import USUAL, Cost, kept_blocks, walking
from lowdim.engine.statistics import Moments, stored_moments
from lowdim.engine.statistics import moments as moments_of
from lowdim.math.eigen import PASSES
from lowdim.math.gaussian import LIGHT, Sums, expand, parameter_covariance, posterior, regress, sums
from lowdim.math.linalg import Array, align, lower, orthogonality, root_times, sign_rule
from lowdim.models.base.estimator import COUNT, POSITIVE, TRUTH, WHOLE, Rule
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, em_digits, squared
from lowdim.models.base.survey import (
    TableSurvey,
    columns_of,
    is_wide,
    standardized,
    survey_for_fit,
)
from lowdim.models.linear.parameters import FLOOR, Linear, check_q, closed_noise, excess, on_floor, ppca_start
from lowdim.models.linear.principal_axes import Spectrum, principal, spectrum_of
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block, Header, Source, tile_rows
from lowdim.sources.views import FRAME_ROWS, Frame, Framed, Stored, frame_of
from lowdim.text.messages import error, warn


class LinearGaussian(LatentModel):
    """What PCA, probabilistic PCA and factor analysis share: every hook but the M-step's noise."""

    _own_units: ClassVar[bool] = False  # whether the model is the same whatever the columns' units
    n_components: Any
    standardize: bool
    _ddof: ClassVar[int] = 1  # a standardised column has unit variance with divisor n - _ddof
    _low_share: ClassVar[float] = FLOOR  # the bound of a noise variance as a share of its column's variance
    tol: float
    max_iter: int

    def _stats(self, params: Linear, block: Block) -> Sums:
        latent = posterior(block.x, block.mask, params.W, params.mu, params.psi)
        return sums(block.mask, block.weight, latent, params.W, params.psi)

    def _objective(self, params: Linear, stats: Sums) -> float:
        return stats.log_density

    def _update(self, params: Linear, stats: Sums) -> Linear:
        """One M-step, expanded, and turned back towards the last W so that steps can be compared."""
        W, mu, left = regress(stats, params.W, params.mu)
        psi = np.maximum(self._noise(left, stats.seen), params.low)
        if params.W.shape[1]:
            W, mu = expand(stats, W, mu)
            W = align(W, params.W)
        return params._replace(W=W, mu=mu, psi=psi)

    def _noise(self, left: Array, count: Array) -> Array:
        """Noise variances from the squares left over in each column."""
        raise NotImplementedError

    def _pack(self, params: Linear) -> Array:
        u = self._unit(params)
        return np.concatenate([params.W.ravel() / u, params.mu / u, np.log(params.psi)])

    def _unit(self, params: Any) -> float:
        """The columns' typical spread, told by the bounds: extrapolation must not depend on the table's units."""
        return float(np.sqrt(params.low.mean() / self._low_share))

    def _unpack(self, vector: Array, like: Linear) -> Linear:
        d, q = like.W.shape
        W, mu, logs = np.split(vector, [d * q, d * q + d])
        near = np.log(like.psi)
        psi = np.exp(np.clip(logs, near - 3.0, near + 3.0))  # an extrapolation may not run away
        u = self._unit(like)
        return like._replace(W=W.reshape(d, q) * u, mu=mu * u, psi=np.maximum(psi, like.low))

    def _posterior(self, params: Linear, block: Block) -> Posterior:
        latent = posterior(block.x, block.mask, params.W, params.mu, params.psi)
        packed = np.broadcast_to(latent.cov.T, (block.rows, latent.cov.shape[0]))
        return Posterior(latent.mean, packed, latent.log_density)

    def _decode(self, params: Linear, found: Posterior) -> Cells:
        """Mean and variance of the noiseless cells; parameters count as uncertain too."""
        q = params.W.shape[1]
        i, j = lower(q)
        twice = np.where(i == j, 1.0, 2.0)
        var = (found.packed * twice) @ (params.W[:, i] * params.W[:, j]).T
        second = found.packed + found.mean[:, i] * found.mean[:, j]
        if params.V.ndim == 2:
            V = np.broadcast_to(params.V, (len(params.W), q + 1))
            var += second[:, i == j] @ V[:, :q].T + V[:, q]
        else:
            V = params.V
            var += (second * twice) @ V[:, i, j].T + 2.0 * found.mean @ V[:, :q, q].T + V[:, q, q]
        noise = np.broadcast_to(params.psi * params.excess, var.shape)
        return Cells(found.mean @ params.W.T + params.mu, np.maximum(var, 0.0), noise)

    def _draw(self, params: Linear, found: Posterior, rng: list[np.random.Generator]) -> Array:
        d, q = params.W.shape
        normal = np.array([r.standard_normal(q + d) for r in rng]).reshape(len(rng), q + d)
        z = found.mean + root_times(found.cov, normal[:, :q])
        return z @ params.W.T + params.mu + normal[:, q:] * np.sqrt(params.psi)

    def _redraw(self, params: Linear, rng: np.random.Generator) -> Linear:
        d, q = params.W.shape
        normal = rng.standard_normal((d, q + 1))
        step = normal * np.sqrt(params.V) if params.V.ndim == 2 else root_times(params.V, normal)
        return params._replace(W=params.W + step[:, :q], mu=params.mu + step[:, q], psi=params.psi * params.excess)

    def _prior(self, params: Linear, n: int) -> Posterior:
        q = params.W.shape[1]
        i, j = lower(q)
        return Posterior(np.zeros((n, q)), np.tile((i == j).astype(float), (n, 1)), np.zeros(n))

    def _axes(self, params: Linear) -> Array:
        return params.T

    # fitting -------------------------------------------------------------------------------------
    def _wide(self, n: int, d: int) -> bool:
        """Whether d x d matrices are to be avoided."""
        return is_wide(n, d)

    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        survey = survey_for_fit(
            source,
            run,
            standardize=self.standardize,
            wide=self._wide(source.n, source.d),
            each=self._own_units,
            ddof=self._ddof,
            unit_free=self._own_units,
        )
        fit = self._with_gaps(survey, run) if survey.gaps else self._complete(survey, run)
        return fit.restated(survey.log_stretch, survey.passes), survey.frame

    def _complete(self, survey: TableSurvey, run: Run) -> Fit:
        raise NotImplementedError

    def _start(self, survey: TableSurvey) -> Linear:
        raise NotImplementedError

    def _with_gaps(self, survey: TableSurvey, run: Run) -> Fit:
        fit = em(self, self._start(survey), survey.source, run)
        return fit._replace(params=self._canonical(fit.params, fit.stats), passes=fit.passes + survey.gathered)

    def _canonical(self, params: Linear, stats: Sums) -> Linear:
        """Columns of W orthogonal, falling, signs fixed; the parameters' covariance turned along."""
        q = params.W.shape[1]
        V = parameter_covariance(stats, params.psi, q)
        if q:
            _, _, Qt = np.linalg.svd(self._metric(params), full_matrices=False)
            Q = Qt.T * sign_rule(params.W @ Qt.T)
            turn = np.eye(q + 1)
            turn[:q, :q] = Q
            params, V = params._replace(W=params.W @ Q), turn.T @ V @ turn if V.ndim == 3 else V
        return params._replace(V=V)

    def _metric(self, params: Linear) -> Array:
        """The matrix whose right singular vectors are the canonical axes."""
        return params.W

    # rows that come a few at a time ------------------------------------------------------------------
    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, decay: float = 1.0) -> Self:
        """Add complete rows to those of earlier calls; the answer is that of all of them at once.

        With `decay` below 1 each call makes the rows of earlier ones count that much less, so that the model
        follows a table that drifts. A model that was fitted with `fit` starts anew: `fit` keeps no moments to
        add to.
        """
        self._check_options()
        if not 0.0 < decay <= 1.0:
            raise error("LD210", option="decay", value=decay, allowed="a share in (0, 1]")
        source = self._arranged(as_source(X, weight=sample_weight))
        if source.n == 0:
            return self  # an empty batch says nothing, least of all where the origin should be
        each = self._own_units or self.standardize
        frame, moments = vars(self).get("_online") or (
            frame_of(source.sample(FRAME_ROWS), each, origin=not source.is_sparse),
            None,
        )
        if moments is not None:
            moments = moments._replace(n=moments.n * decay)
        light = source.is_sparse and not frame.shift.any()
        rows = Stored(source, frame) if light else Framed(source, frame)
        blocks = map(rows.block, range(rows.n_blocks))
        with np.errstate(over="ignore", invalid="ignore"):
            moments = online(moments, blocks, self._absorb)
        assert moments is not None
        if not np.isfinite(moments.covariance).all():
            raise error("LD156")
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
        fit = self._from_moments(m, source.columns)
        value = fit.objective + m.n * float(np.log(frame.scale).sum())
        self._keep(fit._replace(objective=value, history=(value,), passes=1), frame, source.header)

    def _absorb(self, m: Moments | None, block: Block) -> Moments:
        if block.mask is not None:
            row, column = np.argwhere(~block.mask)[0]
            raise error(
                "LD163",
                f"row {block.start + row + 1}, column {column + 1} of this batch",
                job="partial_fit",
                why="rows with gaps need several passes",
                fix="fit(X), which takes gaps",
            )
        found = moments_of(block) if isinstance(block.x, np.ndarray) else stored_moments(block)
        return found if m is None else m.merge(found)

    def _from_moments(self, m: Moments, names: tuple[str, ...]) -> Fit:
        raise NotImplementedError

    # what it says ----------------------------------------------------------------------------------
    def _loadings(self, params: Linear, frame: Frame) -> Array:
        """W in reported units and coordinates, d x q."""
        return (params.W @ np.linalg.pinv(params.T).T) * frame.report[:, None]

    def get_covariance(self) -> Array:
        """The model's covariance of the columns, W W' + Psi, in reported units."""
        W, psi = self._covariance_parts()
        return W @ W.T + np.diag(psi)

    def get_precision(self) -> Array:
        """Its inverse, by the matrix inversion lemma: only a q x q matrix is solved."""
        W, psi = self._covariance_parts()
        V = W / psi[:, None]
        return np.diag(1.0 / psi) - V @ np.linalg.solve(np.eye(W.shape[1]) + W.T @ V, V.T)

    def _covariance_parts(self) -> tuple[Array, Array]:
        report = self.frame_.report
        return self.params_.W * report[:, None], squared(self.params_.psi, report)

    def _cost(self, n: int, d: int) -> Cost:
        asked = self.n_components
        q = min(int(asked), d) if isinstance(asked, int | np.integer) else min(n, d)
        wide = self._wide(n, d)
        # The look (three where its sample missed huge cells), a gathered start (two), EM or Krylov, a last density.
        passes = 6 + max(self.max_iter, PASSES if wide else 1)
        words = "fewer columns, fewer dimensions (n_components, --dims), or a sample of rows (--sample)"
        return Cost(passes, 8 * n * d * passes, self._peak(n, d, q, wide), words, min(USUAL, self.max_iter) + 2)

    def _peak(self, n: int, d: int, q: int, wide: bool) -> int:
        """Bytes at the worst moment: of the look, of the solve, or of an EM pass (counted in numbers, by hand)."""
        tile, p = min(tile_rows(d), n), q * (q + 1) // 2
        cells = tile * d
        survey = walking(n, d, 6 * cells, 6 * d if wide else 3 * d * d)
        if wide:
            basis = d * min(PASSES * (q + 8), d)
            solve = 8 * (4 * n * d + 4 * n * n if n < d else 3 * basis) + walking(n, d, 4 * cells, d * (q + 8))
        else:
            solve = 8 * 9 * d * d + walking(n, d, 4 * cells, 0)  # an eigenproblem; or QR of a tile's triangle
        outer = min(d * p, LIGHT)
        em = walking(n, d, 8 * cells + (11 * p + 6 * q) * tile + outer, min(d * (p + q + 1), LIGHT) + d * (q + 4))
        em += 8 * (4 * min(d * (q + 1) ** 2, 2 * LIGHT) + (0 if wide else 3 * d * d))
        return max(survey, solve, em) + kept_blocks(n, d)

    def _certify_em(self, fit: Fit, W: Array, boundary: tuple[str, ...], n: float) -> Certificate:
        """The certificate of an EM fit to n rows whose axes are the orthogonal columns of W."""
        sizes = np.linalg.norm(W, axis=0)
        kept = sizes[sizes > 0]
        condition = float(kept.max() / kept.min()) if len(kept) else 1.0
        digits = float(np.clip(min(15.0 - np.log10(condition), em_digits(fit.remaining, n)), 0.0, 15.0))
        return Certificate(
            fit.solver,
            fit.passes,
            fit.objective,
            self._objective_name,
            fit.converged,
            fit.reason,
            fit.remaining,
            orthogonality(W / np.where(sizes > 0, sizes, 1.0)),
            condition,
            digits,
            boundary,
        )


class ProbabilisticPCA(LinearGaussian):
    """Probabilistic principal component analysis, by maximum likelihood, gaps welcome.

    x = mu + W z + e,  z ~ N(0, I_q),  e ~ N(0, s2 I_d).  Complete tables are solved in closed form:
    W = U (Lambda - s2)^(1/2), s2 = mean of the d - q discarded eigenvalues; tables with gaps by
    parameter-expanded EM with Anderson extrapolation, every row's posterior exact.

    Reference: Tipping and Bishop (1999); Lawrence seed 2.8-2.11 (errata 3-5), Zabaras seed on PPCA.

    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0, 3.1], [2.0, 4.1, np.nan], [3.0, 5.9, 9.0], [4.0, np.nan, 12.1]])
    >>> ProbabilisticPCA(1).fit(X).impute(X).round(1)[3].tolist()
    [4.0, 8.0, 12.1]
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": WHOLE,
        "standardize": TRUTH,
        "tol": POSITIVE,
        "max_iter": COUNT,
    }

    def __init__(
        self, n_components: int = 2, *, standardize: bool = False, tol: float = 1e-4, max_iter: int = 1000
    ) -> None:
        self.n_components = n_components
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter

    def _complete(self, survey: TableSurvey, run: Run) -> Fit:
        check_q(self.n_components, survey.source.d)
        return self._closed(principal(survey, self.n_components, run))

    def _from_moments(self, m: Moments, names: tuple[str, ...]) -> Fit:
        check_q(self.n_components, len(m.mean))
        return self._closed(spectrum_of(m, self.n_components))

    def _closed(self, found: Spectrum) -> Fit:
        """Tipping and Bishop's solution, with a stated floor where nothing is left for the noise."""
        d, q = found.vectors.shape
        s2, floor = closed_noise(found, found.tail / max(d - q, 1))
        if s2 == floor:
            warn("LD202", floor=s2, q=q, rank=found.rank)
        W = found.vectors * np.sqrt(np.maximum(found.values - s2, 0.0))
        value = log_likelihood(found, s2)
        params = Linear(
            W,
            found.mean,
            np.full(d, s2),
            np.eye(q),
            np.full((d, 1), s2 / found.n),
            np.full(d, floor),
            excess(np.full(d, found.n), q),
        )
        return Fit(params, found, value, (value,), found.passes, True, "closed form", found.solver)

    def _start(self, survey: TableSurvey) -> Linear:
        return ppca_start(survey, self.n_components)

    def _with_gaps(self, survey: TableSurvey, run: Run) -> Fit:
        d, q = survey.source.d, self.n_components
        cells, free = float(survey.columns.seen.sum()), d * q + 1 - q * (q - 1) // 2 + d
        if cells < free:
            warn("LD212", seen=f"{cells:g}", free=free)
        fit = super()._with_gaps(survey, run)
        if on_floor(fit.params).any():
            warn("LD202", floor=float(fit.params.psi[0]), q=q, rank=q)
        return fit

    def _noise(self, left: Array, count: Array) -> Array:
        return np.full(len(left), left.sum() / count.sum())

    def _attributes(self, params: Linear, frame: Frame, fit: Fit) -> dict[str, Any]:
        W = self._loadings(params, frame)
        variance = (params.W**2).sum(axis=0) + params.psi[0]
        total = float((params.W**2).sum() + params.psi.sum())
        reported = squared(np.append(variance, params.psi[0]), float(frame.report[0]))
        return {
            "components_": np.ascontiguousarray(W.T),
            "noise_variance_": float(reported[-1]),
            "mean_": frame.outward(params.mu),
            "explained_variance_": reported[:-1],
            "explained_variance_ratio_": variance / total,
            "n_components_": W.shape[1],
            "scale_": frame.unit.copy(),
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        boundary = ("noise_variance_",) if on_floor(fit.params).any() else ()
        if isinstance(fit.stats, Spectrum):
            return certify_spectrum(fit, fit.stats, self._objective_name, boundary)
        return self._certify_em(fit, fit.params.W, boundary, fit.stats.n)


def log_likelihood(found: Spectrum, s2: float, more: float = 1.0) -> float:
    """Log-likelihood of all rows under the spectrum's own axes, variances `more` times its values, noise s2."""
    d, q = found.vectors.shape
    top = np.maximum(found.values * more, s2)
    logdet = float(np.log(top).sum()) + (d - q) * np.log(s2)
    trace = float((found.values / top).sum()) + found.tail / s2
    return float(-0.5 * found.n * (d * np.log(2 * np.pi) + logdet + trace))


def certify_spectrum(fit: Fit, found: Spectrum, name: str, boundary: tuple[str, ...] = ()) -> Certificate:
    """The certificate of a closed-form fit."""
    ties = np.flatnonzero(found.values[:-1] - found.values[1:] <= 1e-12 * found.values[:-1])
    ties = ties[found.values[ties] > 1e-12 * found.values[0]] if len(ties) else ties
    notes: tuple[str, ...] = ()
    if len(ties):
        groups = np.split(ties, np.flatnonzero(np.diff(ties) > 1) + 1)  # pairs beside pairs are not all equal
        first, last = int(groups[0][0]) + 1, int(groups[0][-1]) + 2
        more = f", and so have others ({len(groups) - 1} more groups)" if len(groups) > 1 else ""
        warn("LD203", first=first, last=last, more=more)
        notes = (f"components {first} to {last} have equal variance{more}: read them together",)
    return Certificate(
        fit.solver,
        fit.passes,
        fit.objective,
        name,
        fit.converged,
        fit.reason,
        found.residual,
        found.orthogonality,
        found.condition,
        found.digits,
        boundary,
        notes,
    )


PPCA = ProbabilisticPCA
