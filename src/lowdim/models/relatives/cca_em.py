"""One Gaussian of two views that share q positions: every hook of canonical correlation analysis."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.em import em
from lowdim.engine.fold import Run, fold
from lowdim.engine.monitor import Fit
from lowdim.engine.plan import USUAL_PASSES, Cost, walking
from lowdim.engine.statistics import triangle
from lowdim.math.gaussian import LOG_TWO_PI
from lowdim.math.linalg import Array, lower, orthogonality
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, em_digits
from lowdim.models.base.survey import TableSurvey, survey_for_fit
from lowdim.models.linear.principal_axes import SQUARED
from lowdim.models.relatives.cca_algebra import (
    CHUNK,
    CLOSE,
    LOW,
    Canonical,
    SeenSums,
    bounded,
    canonical,
    drawn_gaps,
    given_seen,
    model_canonical,
    patterns,
    regress_views,
    scatter_factor,
    seen_sums,
    shared,
)
from lowdim.sources.joined import Joined
from lowdim.sources.source import Block, Header, Source, tile_rows
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

LEAST = 0.05  # least eigenvalue of the pairwise correlations that start EM, which need not be those of any table


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


class TwoViewGaussian(LatentModel):
    """The model of one table whose first columns are the one view and whose last are the other."""

    n_components: int
    views: int | None
    tol: float
    max_iter: int

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
                asked=self.n_components,
                most=most,
                why=f"the views have {k} and {source.d - k} columns (n_features = {k})",
            )
        seen = survey_for_fit(source, run, standardize=True, wide=False)
        fit = self._with_gaps(seen, k, run) if seen.gaps else self._complete(seen, k, run)
        frame = seen.frame._replace(unit=np.ones(source.d))  # everything is told in the table's units
        return fit.restated(seen.log_stretch, seen.passes), frame

    def _complete(self, seen: TableSurvey, k: int, run: Run) -> Fit:
        m = seen.moments
        assert m is not None
        F, passes = scatter_factor(m.covariance, m.n), 0
        if any(poor(m.covariance[at, at]) for at in (slice(k), slice(k, None))):
            R = fold(triangle, seen.source, run).R[1:, 1:]  # the first row is the mean's
            F, passes = np.concatenate([R, np.zeros((max(0, len(m.mean) - len(R)), len(m.mean)))]), 1
        found = canonical(F[:, :k], F[:, k:], m.n)
        say_rank(found, k, len(m.mean) - k, m.n)
        W, noise = shared(found, self.n_components)
        params = CCAParams(W, m.mean, noise, seen.columns.seen, k)
        part = next(patterns(None, 1, params.covariance))
        squares = float(((F @ part.N[0].T) ** 2).sum())
        value = -0.5 * (m.n * (len(m.mean) * LOG_TWO_PI + float(part.logdet[0])) + squares)
        return Fit(params, found, value, (value,), passes, True, "closed form", "svd of the whitened views")

    # gaps ----------------------------------------------------------------------------------------
    def _with_gaps(self, seen: TableSurvey, k: int, run: Run) -> Fit:
        assert seen.pairs is not None
        values, U = np.linalg.eigh(seen.pairs.covariance())
        W, noise = shared(model_canonical((U * np.maximum(values, LEAST)) @ U.T, k), self.n_components)
        count = seen.columns.seen * (seen.columns.seen.mean() / seen.columns.n)  # a row counts by the cells it shows
        start = CCAParams(W, seen.columns.mean, bounded(noise, k), count, k)
        fit = em(self, start, seen.source, run)
        params = fit.params
        low = int((np.linalg.eigvalsh(params.noise) < LOW * (1.0 + 1e-6)).sum())
        if low:
            warn("LD288", count=low)
        found = model_canonical(params.covariance, k)
        W, noise = shared(found, self.n_components)
        say_rank(found, k, len(W) - k, fit.stats.n)
        return fit._replace(params=params._replace(W=W, noise=noise), stats=found)

    def _stats(self, params: CCAParams, block: Block) -> SeenSums:
        return seen_sums(off(params, block), block.mask, block.weight, params.covariance)

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
        L[at, at] = np.exp(np.clip(L[at, at], 0.5 * np.log(LOW), 3.0))  # an extrapolation may not run away
        return like._replace(W=W.reshape(d, q), mu=mu, noise=bounded(L @ L.T, like.first))

    # hooks ---------------------------------------------------------------------------------------
    def _posterior(self, params: CCAParams, block: Block) -> Posterior:
        q = params.W.shape[1]
        found = given_seen(off(params, block), block.mask, params.covariance, params.W, np.eye(q), lower(q))
        return Posterior(found.y @ params.W, found.left, found.log_density)

    def _decode(self, params: CCAParams, found: Posterior) -> Cells:
        """What the shared positions say of the cells; a view's own noise is not decoded."""
        i, j = lower(params.W.shape[1])
        table = params.W[:, i] * params.W[:, j] * np.where(i == j, 1.0, 2.0)
        var = np.maximum(found.packed @ table.T, 0.0)
        return Cells(found.mean @ params.W.T + params.mu, var, np.broadcast_to(np.diag(params.noise), var.shape))

    def _draw(self, params: CCAParams, found: Posterior, rng: list[np.random.Generator]) -> Array:
        d, q = params.W.shape
        normal = np.array([r.standard_normal(q + d) for r in rng]).reshape(len(rng), q + d)
        values, U = np.linalg.eigh(found.cov) if q else (np.zeros((len(rng), 0)), np.zeros((len(rng), 0, 0)))
        z = found.mean + (U @ (np.sqrt(np.maximum(values, 0)) * normal[:, :q])[:, :, None])[:, :, 0]
        values, V = np.linalg.eigh(params.noise)
        return z @ params.W.T + params.mu + normal[:, q:] @ (V * np.sqrt(np.maximum(values, 0.0))).T

    def _redraw(self, params: CCAParams, rng: np.random.Generator) -> CCAParams:
        """Parameters of another table drawn from the model, as many rows as the least seen column has."""
        C, d, n = params.covariance, len(params.mu), float(params.seen.min())
        T = np.tril(rng.standard_normal((d, d)), -1)  # Bartlett: T T' is Wishart
        T[np.arange(d), np.arange(d)] = np.sqrt(rng.chisquare(np.maximum(n - 1.0 - np.arange(d), 1.0)))
        half = np.linalg.cholesky(C) @ T / np.sqrt(max(n - 1.0, 1.0))
        W, noise = shared(model_canonical(half @ half.T, params.first), params.W.shape[1])
        mu = params.mu + half @ rng.standard_normal(d) / np.sqrt(max(n, 1.0))
        return params._replace(W=W, mu=mu, noise=noise)

    def _prior(self, params: CCAParams, n: int) -> Posterior:
        i, j = lower(params.W.shape[1])
        return Posterior(np.zeros((n, params.W.shape[1])), np.tile((i == j).astype(float), (n, 1)), np.zeros(n))

    def _axes(self, params: CCAParams) -> Array:
        return np.eye(params.W.shape[1])

    # fills: what the other cells of the row say, those of the same view included -------------------------
    def _expected(self, b: Block) -> tuple[Array, Array]:
        """Each cell given the seen ones: mean and standard deviation, the parameters' doubt included."""
        params, inner = self.params_, self.frame_.inward(b)
        C, r = params.covariance, off(params, inner)
        every = np.arange(len(C))
        found = given_seen(r, inner.mask, C, C, C, (every, every))
        assert b.mask is not None  # a complete block has nothing to fill
        cells = b.mask.sum(axis=1)[:, None]
        leverage = 1.0 + (found.y * r).sum(axis=1)[:, None]
        # as a regression on the seen cells has it: n / (n - 1 - cells), at most 4, and 1 + leverage / n
        wider = params.seen / np.maximum(params.seen - 1.0 - cells, params.seen / 4.0) * (1.0 + leverage / params.seen)
        std = np.sqrt(np.maximum(found.left, 0.0) * wider)
        return self.frame_.outward(params.mu + found.y @ C), self.frame_.lengths(std)

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
            drawn = drawn_gaps(off(params, inner), inner.mask, params.covariance, normal)
            return np.where(b.mask, b.x, self.frame_.outward(params.mu + drawn))

        return self._each(fill, X)

    # what it says ----------------------------------------------------------------------------------
    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        found = fit.stats
        apart = max((orthogonality(A) for A in found.variates), default=0.0)
        boundary = ("canonical_correlations_",) if (found.rho[: self.n_components] > 1.0 - CLOSE).any() else ()
        digits = 15.0 - float(np.log10(found.condition))
        notes: tuple[str, ...] = ()
        if fit.solver == "em":
            n = max(float(fit.params.seen.max()), 1.0)
            digits = min(digits, em_digits(fit.remaining, n))
            notes = ("no tests: their F needs complete rows",)
        residual = fit.remaining if fit.solver == "em" else 0.0
        return Certificate(
            fit.solver,
            fit.passes,
            fit.objective,
            self._objective_name,
            fit.converged,
            fit.reason,
            residual,
            apart,
            found.condition,
            float(np.clip(digits, 0.0, 15.0)),
            boundary,
            notes,
        )

    def _cost(self, n: int, d: int) -> Cost:
        passes = 6 + self.max_iter
        cells = min(tile_rows(d), n) * d
        peak = walking(n, d, 8 * cells + 4 * CHUNK, 3 * d * d) + 8 * 12 * d * d
        words = "fewer columns: reduce each view first, for example by PCA(k)"
        return Cost(passes, 8 * n * d * passes, peak, words, min(USUAL_PASSES, self.max_iter) + 2)


def off(params: CCAParams, block: Block) -> Array:
    """What the mean leaves of the seen cells, zero at gaps."""
    r = block.x - params.mu
    return r if block.mask is None else r * block.mask


def within_views(params: CCAParams) -> tuple[Any, Any]:
    """Row and column of each entry of the two views' lower triangles."""
    i, j = lower(len(params.mu))
    own = (i < params.first) == (j < params.first)
    return i[own], j[own]


def poor(S: Array) -> bool:
    """Whether squaring the view has cost digits, or one of its columns nothing new."""
    values = np.linalg.eigvalsh(S)
    return bool(values[0] < SQUARED * max(values[-1], np.finfo(float).tiny))


def say_rank(found: Canonical, d1: int, d2: int, n: float) -> None:
    """Warn of views whose columns follow from each other, and of more directions than rows can tell apart."""
    for name, rank, d in zip(("first", "second"), found.ranks, (d1, d2), strict=True):
        if rank < d:
            warn("LD281", view=name, rank=rank, d=d)
    over = int(sum(found.ranks) - (n - 1.0))
    if over > 0 and min(found.ranks):
        warn("LD282", count=min(over, *found.ranks), total=sum(found.ranks), n=f"{n:g}")
