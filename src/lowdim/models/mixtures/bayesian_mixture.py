"""A variational Bayesian mixture: the number of parts, and of the axes of each, by the evidence in one fit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from lowdim.engine.fit import STOPPED, Fit, em
from lowdim.engine.fold import Run, one_blas_thread
from lowdim.maths.linalg import Array
from lowdim.models.base.estimator import Absent
from lowdim.models.base.options import COUNT, EM_ENDS, POSITIVE, WHOLE, none_or, one_of, option
from lowdim.models.base.results import Fitted
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.bayesian_pca import BayesianPCA, BayesianPCAParams
from lowdim.models.mixtures.mixture import MixtureModel, MixtureParams, MixtureSums
from lowdim.models.mixtures.parts import BayesianParts
from lowdim.models.mixtures.starts import StartCovariance
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame

LEAST_ROWS = 1.0  # a part with less than one row is not fitted anew: the death test takes it away
BOX = 6.0  # a mean lies within a box so many standard deviations of the table wide, its prior flat there
LOG_NOISE_RANGE = float(np.log(np.log(1e10)))  # the prior of log tau is flat over so many powers of ten
DIRICHLET = 1.0  # the prior of the weights is flat too


class BayesianMixtureParams(NamedTuple):
    """What is believed of the parts and of their weights, in the frame's units."""

    log_weights: Array  # K: E log pi while fitting, log E pi after it
    components: tuple[Any, ...]
    moments: bool
    counts: Array  # K: q(pi) is Dirichlet with these
    side: Array  # d: lengths of the sides of the box in which means lie
    inflation: float = 1.0  # what standard deviations of cells are multiplied by

    @property
    def log_volume(self) -> float:
        """Of the box."""
        return float(np.log(self.side).sum())

    def without_part(self, k: int) -> BayesianMixtureParams:
        """The others; what the part held is theirs."""
        keep = [j for j in range(len(self.components)) if j != k]
        return self.weighing(self.counts[keep])._replace(components=tuple(self.components[j] for j in keep))

    def weighing(self, counts: Array) -> BayesianMixtureParams:
        """With other beliefs of the weights."""
        return self._replace(counts=counts, log_weights=digamma(counts) - digamma(counts.sum()))


class BayesianMixtureOfPPCA(MixtureModel):
    """A mixture of Bayesian PCAs: how many parts the table has, and how many axes each, by the evidence.

    p(x) = sum_k pi_k N(x | mu_k, W_k W_k' + I / tau_k), or with a noise of every column in place of I / tau_k. What is
    believed of pi, mu, W and tau is found by variational Bayes: axes that the rows of a part do not support are
    switched off, and parts are taken away as long as the evidence bound is higher without them. Gaps are welcome.

    Attributes
    ----------
    n_clusters_ : int
        The number of parts kept.
    n_axes_ : array of shape (n_clusters_,)
        The number of axes of each.
    components_ : array of shape (n_clusters_, most axes, n_features)
        The axes of each part, one a row; zeros where a part has fewer.
    noise_variance_ : array of shape (n_clusters_,) or (n_clusters_, n_features)
        1 / E[tau] of each part, or of each of its columns.
    objective_, history_, n_iter_, converged_, certificate_, params_, frame_
        The evidence bound, its course, passes, and how far to trust the fit; the parameters and their units.

    References
    ----------
    Z. Ghahramani and M. J. Beal, "Variational inference for Bayesian mixtures of factor analysers", NIPS 12 (2000);
    here parts die but are not born.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) * [3.0, 2.0, 1.0, 0.0] + 0.3 * rng.standard_normal((200, 4))
    >>> X[:100] += 9.0
    >>> model = BayesianMixtureOfPPCA(4).fit(X)
    >>> model.n_clusters_, model.n_axes_.tolist()
    (2, [1, 1])
    """

    _objective_name: ClassVar[str] = "evidence bound"
    _laws_broken: ClassVar[dict[str, str]] = {
        "score_is_objective": "the bound also pays for what is learnt about the parameters",
        "sample_then_fit": "its scores include the parameters' doubt, which more rows lessen",
    }
    n_parameters_ = bic = aic = Absent("its parameters are believed, not counted", "objective_, the evidence bound")

    n_clusters: int = option(
        default=6, rule=COUNT, words="The number of parts to begin with, more than there can be.", kw_only=False
    )
    n_components: int | None = option(
        default=None,
        rule=none_or(WHOLE),
        words="The number of axes each part begins with; None is one less than columns, at most 10.",
        kw_only=False,
    )
    noise: str = option(
        default="part",
        rule=one_of("part", "column"),
        words="One noise variance for each part; or one for every column of each part: a mixture of factor analysers.",
    )
    tol: float = option(default=1e-6, rule=POSITIVE, words=EM_ENDS)
    max_iter: int = option(
        default=1000, rule=COUNT, words="The most passes of one fit; each test of a simpler mixture is one."
    )

    def _parts(self) -> BayesianParts:
        return BayesianParts(BayesianPCA(self.n_components), int(self.n_clusters), columns=self.noise == "column")

    # one pass --------------------------------------------------------------------------------------
    def _stats(self, params: Any, block: Block, labels: NDArray[np.int64] | None = None) -> MixtureSums:
        if block.mask is not None:  # a row without any cell says nothing of the parts
            block = block._replace(weight=block.times * block.mask.any(axis=1))
        return super()._stats(params, block, labels)

    def _objective(self, params: Any, stats: MixtureSums) -> float:
        """The bound: of the rows, of the parts within the range of their flat priors, and of the weights."""
        flat = sum(params.log_volume + np.size(p.shape) * LOG_NOISE_RANGE for p in params.components)
        # What the weights add: their prior is flat too, and the parts have no order.
        counts = params.counts
        K, total = len(counts), float(counts.sum())
        prior = gammaln(K * DIRICHLET) - K * gammaln(DIRICHLET)
        entropy = float(gammaln(counts).sum() - gammaln(total))
        means = (DIRICHLET - counts) @ (digamma(counts) - digamma(total))
        of_weights = float(prior + entropy + means + gammaln(K + 1.0))
        return super()._objective(params, stats) - float(flat) + of_weights

    def _update(self, params: Any, stats: MixtureSums) -> Any:
        n = stats.shares
        components = self._parts().update(params.components, stats.components, (n < LEAST_ROWS).tolist())
        return params.weighing(DIRICHLET + n)._replace(components=components)

    def _about(self, survey: TableSurvey, centers: Array, about: StartCovariance, low: Array) -> Any:
        p: MixtureParams = super()._about(survey, centers, about, low)
        sd = np.sqrt(np.maximum(survey.columns.variance, low))
        counts = np.full(len(centers), DIRICHLET + float(survey.columns.n) / len(centers))
        return BayesianMixtureParams(p.log_weights, p.components, False, counts, BOX * sd).weighing(counts)

    # fitting ---------------------------------------------------------------------------------------
    def _one_fit(self, survey: TableSurvey, run: Run, source: Source, limit: int | None = None) -> Fit[Any, Any]:
        """A start, and then as long as the bound is higher for it a fit with a part or an axis less."""
        with one_blas_thread():
            params, passes = self._start(survey._replace(source=source), run)
        # the death test: simpler mixtures, the likeliest to gain first; one that the bound prefers is gone on from
        best = em(self, params, source, run, mix=False, limit=limit)
        passes += best.passes
        simplify = partial(_simpler, self._parts())
        trials = simplify(best.params) if best.converged else iter(())
        while (simpler := next(trials, None)) is not None:
            trial = em(self, simpler, source, run, mix=False, beat=best.objective)
            passes += trial.passes
            if trial.objective > best.objective:
                gains = tuple(value for value in trial.history if value > best.objective)
                best, trials = trial._replace(history=best.history + gains), simplify(trial.params)
            if trial.reason in STOPPED:
                best = best._replace(reason=trial.reason, converged=False)
                break
        p = best.params
        parts = tuple(_within_box(part.turned(), p.side) for part in p.components)
        weights = np.log(p.counts / p.counts.sum())
        return best._replace(params=p._replace(components=parts, log_weights=weights), passes=passes)

    # what it says ----------------------------------------------------------------------------------
    def _reported(self, fit: Fit[Any, Any], frame: Frame) -> Fitted:
        fitted = super()._reported(fit, frame)
        kept = f"{len(fit.params.components)} of {self.n_clusters} parts kept"
        return fitted._replace(certificate=fitted.certificate._replace(notes=(*fitted.certificate.notes, kept)))


def _simpler(parts: BayesianParts, params: BayesianMixtureParams) -> Iterator[BayesianMixtureParams]:
    """Mixtures with two parts as one, the nearest first, with a part less, the lightest first, or with an axis less."""
    K, part = len(params.components), params.components
    pairs = [(i, j) for i in range(K) for j in range(i)]
    for i, j in sorted(pairs, key=lambda pair: _apart(part[pair[0]], part[pair[1]])):
        yield _merged(parts, params, i, j)
    for k in np.argsort(params.counts, kind="stable").tolist() if K > 1 else []:
        yield params.without_part(k)
    for k in range(K):
        if axes := part[k].W.shape[1]:  # without its weakest one
            yield params._replace(components=(*part[:k], part[k].first(axes - 1), *part[k + 1 :]))


def _within_box(p: BayesianPCAParams, side: Array) -> BayesianPCAParams:
    """A mean of which no cell was seen is as uncertain as its box is wide, no more."""
    most = side**2 / 12.0
    if p.V[:, -1, -1].max() <= most.min():
        return p
    V = np.broadcast_to(p.V, (len(side), *p.V.shape[1:]))
    scale = np.ones(V.shape[:2])
    scale[:, -1] = np.sqrt(np.minimum(most / V[:, -1, -1], 1.0))
    return p._replace(V=V * scale[:, :, None] * scale[:, None, :])


def _apart(p: BayesianPCAParams, other: BayesianPCAParams) -> float:
    """The squared distance of two parts' means in units of their variances."""
    size = sum(float((q.W**2).sum() + q.psi.sum()) for q in (p, other))
    return float(((p.mu - other.mu) ** 2).sum()) / size


def _merged(parts: BayesianParts, params: BayesianMixtureParams, i: int, j: int) -> BayesianMixtureParams:
    """Parts i and j as one with their common covariance, all its axes alive again."""
    pair, counts = [params.components[i], params.components[j]], params.counts[[i, j]]
    n = counts - DIRICHLET
    share = np.maximum(n, LEAST_ROWS) / np.maximum(n, LEAST_ROWS).sum()
    mean = share @ np.array([p.mu for p in pair])
    F = np.vstack([np.sqrt(s) * np.vstack([p.W.T, p.mu - mean]) for s, p in zip(share, pair, strict=True)])
    variance = (F * F).sum(axis=0) + share @ np.array([p.psi for p in pair])
    one = parts.start(StartCovariance(variance, None, F), pair[0].low, float(max(n.sum(), LEAST_ROWS)))
    rest = params.without_part(j)
    at = i - (j < i)
    total = rest.counts.copy()
    total[at] = counts.sum() - DIRICHLET
    components = (*rest.components[:at], one._replace(mu=mean), *rest.components[at + 1 :])
    return rest.weighing(total)._replace(components=components)
