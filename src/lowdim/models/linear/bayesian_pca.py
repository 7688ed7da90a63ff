"""Bayesian PCA: how many axes a table supports, and how sure it is of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fit import LIMIT, Cost, Fit, em
from lowdim.engine.fold import Run
from lowdim.engine.statistics import Moments
from lowdim.maths import bayesian_gaussian as vb
from lowdim.maths.gaussian import Sums, sums
from lowdim.maths.linalg import EPS, Array, sign_rule
from lowdim.models.base.estimator import Absent
from lowdim.models.base.options import EM_ENDS, POSITIVE, WHOLE, check_components, none_or, one_of, option
from lowdim.models.base.results import Fitted, Posterior, certify, squared
from lowdim.models.base.survey import TableSurvey, columns_of, first_axes
from lowdim.models.linear.linear_gaussian import LinearGaussian, axes_beyond, noise_floor, noise_on_bound
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame
from lowdim.text.messages import warn

MOST = 50  # columns of W to start from where the caller names no number; ARD prunes what is not needed
DEAD = 0.1  # a column whose loadings are smaller than this share of their own doubt is dropped at once
ROUNDING = 64 * EPS  # of an eigenvalue of moments, as a share of the total variance


class BayesianPCAParams(NamedTuple):
    """Parameters, in the frame's units."""

    W: Array  # d x q, posterior means
    mu: Array  # d
    psi: Array  # d, 1 / E[tau]: all the same, but where each column has a noise of its own
    T: Array  # q x q
    V: Array  # covariance of (w_j, mu_j): d x (q+1) x (q+1), 1 x ... where all columns have the same
    low: Array  # d, the bound of the noise variance
    excess: Array  # d, E[1/tau] E[tau]
    spread: Array  # q, 1 / alpha
    shape: Any  # of tau's gamma; d of them where each column has a noise of its own
    n_start: int  # columns of W at the start

    @property
    def beliefs(self) -> vb.Beliefs:
        psi = self.psi if np.ndim(self.shape) else float(self.psi[0])
        return vb.Beliefs(self.W, self.mu, psi, self.V, self.spread, self.shape)

    def first(self, q: int) -> BayesianPCAParams:
        """With the first q columns of W only, those with the smallest alpha."""
        keep = np.append(np.arange(q), self.W.shape[1])
        return self._replace(W=self.W[:, :q], T=np.eye(q), V=self.V[:, keep][:, :, keep], spread=self.spread[:q])

    def turned(self) -> BayesianPCAParams:
        """In the basis in which sum_j E[w_j w_j'] is diagonal: the bound is the same, or higher by a little."""
        (d, q), turn = self.W.shape, np.eye(self.W.shape[1] + 1)
        second = self.W.T @ self.W + self.V[:, :q, :q].sum(axis=0) * (d / len(self.V))
        values, R = np.linalg.eigh(second) if q else (np.zeros(0), np.zeros((0, 0)))
        R = R[:, ::-1] * sign_rule(self.W @ R[:, ::-1])
        turn[:q, :q] = R
        return self._replace(W=self.W @ R, V=turn.T @ self.V @ turn, spread=values[::-1] / d)

    def believing(self, b: vb.Beliefs) -> BayesianPCAParams:
        """These parameters with other beliefs."""
        d, q = b.W.shape
        excess = b.shape / np.maximum(b.shape - 1.0, b.shape / 4.0)
        return self._replace(
            W=b.W,
            mu=b.mu,
            psi=np.full(d, b.psi),
            T=np.eye(q),
            V=b.V,
            excess=np.full(d, excess),
            spread=b.spread,
            shape=b.shape,
        )


class BayesianPCA(LinearGaussian[BayesianPCAParams, Posterior]):
    """Bayesian principal component analysis: the table decides how many axes it supports; gaps welcome.

    x = mu + W z + e,  z ~ N(0, I),  e ~ N(0, I / tau),  column i of W ~ N(0, I / alpha_i), flat priors on mu,
    log tau and log alpha (automatic relevance determination). `method="variational"` keeps Gaussian posteriors of
    W, mu and z and a gamma one of tau, alpha at its best value: `objective_` is the evidence lower bound (up to the
    flat priors' constants), intervals include the doubt about W, mu and tau, and a column is kept only if the bound
    is higher with it than without (the death test). `method="laplace"` is Bishop's first treatment,
    alpha_i = d / w_i'w_i; its `objective_` is the log-likelihood, which pruning may lower. With `likelihoods` (for
    yes/no, levels, counts, labels) it is made as a `MixedFactorAnalysis` that finds its dimensions.

    Attributes
    ----------
    components_, components_std_ : ndarray of shape (q, d)
        Posterior means and standard deviations of the loadings of the q axes kept.
    relevance_ : ndarray of shape (axes considered,)
        Prior variance 1 / alpha of the loadings of each axis; nearly zero where it is switched off.
    kept_, n_kept_ : ndarray of bool of shape (axes considered,), int
        Which axes are kept, and how many.
    noise_variance_, n_components_ : float, int
    explained_variance_, explained_variance_ratio_ : ndarray of shape (q,)

    References
    ----------
    C. M. Bishop (1999), "Bayesian PCA", NIPS 11, and "Variational principal components", ICANN 99.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 10)) + 0.5 * rng.standard_normal((300, 10))
    >>> BayesianPCA().fit(X).n_components_
    3
    """

    n_parameters_ = bic = aic = Absent("its parameters are believed, not counted", "objective_, the evidence bound")

    n_components: Any = option(
        default=None,
        rule=none_or(WHOLE),
        kind="int or None",
        words="The most axes to consider: by default one fewer than rows and than columns, and at most 50.",
        kw_only=False,
    )
    method: str = option(
        default="variational",
        rule=one_of("variational", "laplace"),
        words="Posteriors of all parameters, or the most likely ones with alpha by Laplace's approximation.",
    )
    tol: float = option(default=1e-6, rule=POSITIVE, words=EM_ENDS)

    @property
    def is_sure(self) -> bool:
        """Whether its parameters count as known, and not as uncertain."""
        return self.method == "laplace"

    @property
    def _objective_name(self) -> str:  # type: ignore[override]  # of an option, no class variable
        return "log-likelihood" if self.is_sure else "evidence bound"

    @property
    def _laws_broken(self) -> dict[str, str]:  # type: ignore[override]  # of an option, no class variable
        if self.is_sure:
            return {"objective_never_falls": "re-estimating alpha by Laplace's approximation may lower the likelihood"}
        return {
            "score_is_objective": "the bound also pays for what is learnt about the parameters",
            "sample_then_fit": "its scores include the parameters' doubt, which more rows lessen",
        }

    # one pass --------------------------------------------------------------------------------------
    def _stats(self, params: BayesianPCAParams, block: Block) -> Sums:
        if self.is_sure:
            return super()._stats(params, block)
        latent = vb.rows(block.x, block.mask, params.beliefs)
        return sums(block.mask, block.weight, latent, params.W, params.psi)

    def _objective(self, params: BayesianPCAParams, stats: Sums) -> float:
        return stats.log_density if self.is_sure else vb.bound(stats, params.beliefs)

    def _update(self, params: BayesianPCAParams, stats: Sums) -> BayesianPCAParams:
        return params.believing(
            vb.update(stats, params.beliefs, floor=float(params.low[0]), dead=DEAD, sure=self.is_sure)
        )

    def _posterior(self, params: BayesianPCAParams, block: Block) -> Posterior:
        if self.is_sure:
            return super()._posterior(params, block)
        latent = vb.rows(block.x, block.mask, params.beliefs)
        packed = np.broadcast_to(latent.cov.T, (len(block.x), latent.cov.shape[0]))
        return Posterior(latent.mean, packed, vb.row_bounds(block.mask, params.beliefs, latent))

    # fitting ---------------------------------------------------------------------------------------
    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        return super()._cost(n, d, gaps=True)  # complete tables are climbed too

    def _complete(self, survey: TableSurvey, run: Run) -> Fitted:
        if survey.moments is None:
            return self._with_gaps(survey, run)
        in_memory = run._replace(engine="serial", checkpoint=None)
        return self._reported(self._pruned(self._start(survey), stand_in(survey.moments), in_memory), survey.frame)

    def _with_gaps(self, survey: TableSurvey, run: Run) -> Fitted:
        fit = self._pruned(self._start(survey), survey.source, run)
        return self._reported(fit._replace(passes=fit.passes + survey.gathered), survey.frame)

    def fit_moments(self, m: Moments, frame: Frame, names: tuple[str, ...]) -> Fitted:
        source, d = stand_in(m), len(m.mean)
        survey = TableSurvey(Frame(np.zeros(d), np.ones(d), np.ones(d)), source, columns_of(m), m, None)
        return self._reported(self._pruned(self._start(survey), source, Run(engine="serial")), frame)

    def _start(self, survey: TableSurvey) -> BayesianPCAParams:
        d, cells = survey.source.d, float(survey.columns.seen.sum())
        most = max(min(survey.source.n, d, MOST + 1) - 1, 0)
        q = most if self.n_components is None else int(self.n_components)
        check_components(q, d)
        values, U = first_axes(survey, q)
        total = float(survey.columns.variance.sum())
        floor = noise_floor(total, d) if survey.moments is None else max(ROUNDING * total, np.finfo(float).tiny ** 0.5)
        # Half the axes count as noise: too little noise at first and every axis looks alive.
        unexplained = (total - float(values[: d // 2].sum())) / max(d - min(q, d // 2), 1)
        psi = max(unexplained, 1e-3 * total / d, floor)
        W = axes_beyond(values, U, psi)
        return BayesianPCAParams(
            W=W,
            mu=survey.columns.mean,
            psi=np.full(d, psi),
            T=np.eye(q),
            V=np.eye(q + 1)[None] * (psi * d / cells),
            low=np.full(d, floor),
            excess=np.ones(d),
            spread=(W**2).mean(axis=0) + psi * d / cells,
            shape=0.5 * cells,
            n_start=q,
        )

    def _pruned(self, start: BayesianPCAParams, source: Source, run: Run) -> Fit[BayesianPCAParams, Sums]:
        """Fit; then, as long as the bound is higher for it, fit again without the weakest column (the death test)."""
        best: Fit[BayesianPCAParams, Sums] = em(self, start, source, run, mix=False, may_fall=self.is_sure)
        passes = best.passes
        while not self.is_sure and best.converged and best.params.W.shape[1]:
            if passes >= self.max_iter:
                best = best._replace(converged=False, reason=LIMIT)
                break
            fewer = best.params.first(best.params.W.shape[1] - 1)
            trial: Fit[BayesianPCAParams, Sums] = em(
                self, fewer, source, run, mix=False, limit=self.max_iter - passes, beat=best.objective
            )
            passes += trial.passes
            if trial.objective <= best.objective:
                break
            gains = tuple(value for value in trial.history if value > best.objective)
            best = trial._replace(history=best.history + gains)
        q, n_start = best.params.W.shape[1], best.params.n_start
        if self.n_components is None and n_start == MOST and 2 * q > n_start:
            warn("LD232", q=q, n_start=n_start)
        return best._replace(params=best.params if self.is_sure else best.params.turned(), passes=passes)

    # what it says ----------------------------------------------------------------------------------
    def _reported(self, fit: Fit[BayesianPCAParams, Sums], frame: Frame) -> Fitted:
        params = fit.params
        d, q = params.W.shape
        one = float(frame.report[0])
        variance = (params.W**2).sum(axis=0) + params.psi[0]
        total = float((params.W**2).sum() + params.psi.sum())
        reported = squared(np.append(variance, params.psi[0]), one)
        doubt = np.broadcast_to(np.diagonal(params.V, axis1=1, axis2=2)[:, :q], (d, q))
        attributes = {
            "components_": np.ascontiguousarray(self._loadings(params, frame).T),
            "components_std_": np.ascontiguousarray((np.sqrt(doubt) * frame.report[:, None]).T),
            "noise_variance_": float(reported[-1]),
            "mean_": frame.outward(params.mu),
            "explained_variance_": reported[:-1],
            "explained_variance_ratio_": variance / total,
            "n_components_": q,
            "relevance_": np.append(squared(params.spread, one), np.zeros(params.n_start - q)),
            "kept_": np.arange(params.n_start) < q,
            "n_kept_": q,
            "scale_": frame.unit.copy(),
        }
        # the axes are orthogonal in the expected sense: sum_j E[w_j w_j'] is diagonal
        second = params.W.T @ params.W + params.V[:, :q, :q].sum(axis=0) * (d / len(params.V))
        certificate = certify(
            fit,
            self._objective_name,
            rows=fit.stats.n,
            axes=np.linalg.cholesky(second).T,
            boundary=noise_on_bound(params, q),
            notes=(f"{q} of {params.n_start} axes kept, {params.n_start - q} switched off",),
        )
        return Fitted(params, frame, certificate, attributes, fit.history)


def stand_in(m: Moments) -> ArraySource:
    """Weighted rows with the same moments as a complete table, which are all that its posteriors depend on."""
    d = len(m.mean)
    values, U = np.linalg.eigh(m.covariance)
    arms = U.T * np.sqrt(d * np.maximum(values, 0.0))[:, None]
    return ArraySource(np.vstack([m.mean + arms, m.mean - arms]), columns=None, weight=np.full(2 * d, m.n / (2 * d)))
