"""A variational Bayesian mixture: the number of parts, and of the axes of each, by the evidence in one fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from lowdim.engine.fit import STOPPED, Fit, em
from lowdim.engine.fold import Run, one_blas_thread
from lowdim.maths import bayesian_gaussian as vb
from lowdim.maths.gaussian import Latent, Sums, sums
from lowdim.maths.linalg import Array
from lowdim.models.base.estimator import COUNT, WHOLE, Absent, Rule
from lowdim.models.base.results import Cells, Certificate, Posterior, squared
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.bayesian_pca import DEAD, BayesianPCAParams
from lowdim.models.linear.parameters import check_q, decode_cells, draw_cells, draw_parameters
from lowdim.models.mixtures.components import Component, LinearComponent
from lowdim.models.mixtures.mixture import MixtureModel, MixtureParams, MixtureSums
from lowdim.models.mixtures.starts import StartCovariance
from lowdim.sources.source import Block, Header, Source
from lowdim.sources.views import Frame

MOST_AXES = 10  # of a part where the caller names no number; those that are not needed are switched off
LEAST_ROWS = 1.0  # a part with less than one row is not fitted anew: the death test takes it away
VAGUE = 1e-9  # prior precision of a mean, in units of the noise's: decides only where a part sees no cell of a column
BOX = 6.0  # a mean lies within a box so many standard deviations of the table wide, its prior flat there
LOG_NOISE_RANGE = float(np.log(np.log(1e10)))  # the prior of log tau is flat over so many powers of ten
DIRICHLET = 1.0  # the prior of the weights is flat too


class BayesianMixtureParams(NamedTuple):
    """What is believed of the parts and of their weights, in the frame's units."""

    log_weights: Array  # K: E log pi while fitting, log E pi after it
    components: tuple[Any, ...]
    moments: bool
    counts: Array  # K: q(pi) is Dirichlet with these
    center: Array  # d: of the box in which means lie
    side: Array  # d: lengths of the sides of that box
    inflation: float = 1.0  # what standard deviations of cells are multiplied by

    @property
    def log_volume(self) -> float:
        """Of the box."""
        return float(np.log(self.side).sum())

    def without_part(self, k: int) -> BayesianMixtureParams:
        """The others; what the part held is theirs."""
        keep = [j for j in range(len(self.components)) if j != k]
        return self.weighing(self.counts[keep])._replace(components=tuple(self.components[j] for j in keep))

    def without_axis(self, k: int) -> BayesianMixtureParams:
        """The same without the weakest axis of a part."""
        parts = list(self.components)
        parts[k] = parts[k].first(parts[k].W.shape[1] - 1)
        return self._replace(components=tuple(parts))

    def weighing(self, counts: Array) -> BayesianMixtureParams:
        """With other beliefs of the weights."""
        return self._replace(counts=counts, log_weights=digamma(counts) - digamma(counts.sum()))


def weight_terms(counts: Array) -> float:
    """What the weights add to the bound, their prior flat and the parts without an order."""
    K, total = len(counts), float(counts.sum())
    prior = gammaln(K * DIRICHLET) - K * gammaln(DIRICHLET)
    entropy = float(gammaln(counts).sum() - gammaln(total))
    means = (DIRICHLET - counts) @ (digamma(counts) - digamma(total))
    return float(prior + entropy + means + gammaln(K + 1.0))


class BayesianPart(LinearComponent):
    """A Bayesian PCA as a part of a mixture, or a Bayesian factor analysis where it is not isotropic.

    A row counts by a bound of its log density.
    """

    def __init__(self, q: int | None, *, isotropic: bool) -> None:
        super().__init__(MOST_AXES if q is None else q, isotropic=isotropic)
        self.given = q

    def check(self, d: int) -> None:
        check_q(self.given or 0, d)

    def uses_moments(self, gaps: bool, d: int) -> bool:
        return False

    def start(self, mu: Array, about: StartCovariance, low: Array, n: float) -> Any:
        d, floor, total = len(mu), float(low[0]), float(about.variance.sum())
        q = min(self.q, d - 1) if self.given is None else self.q
        values, U = about.axes(np.ones(d), q) if q else (np.zeros(0), np.zeros((d, 0)))
        # half the axes count as noise: too little noise at first and every axis looks alive
        unexplained = (total - float(values[: d // 2].sum())) / max(d - min(q, d // 2), 1)
        psi = max(unexplained, 1e-3 * total / d, floor)
        W = U * np.sqrt(np.maximum(values - psi, 0.01 * psi))
        V, spread = np.eye(q + 1)[None] * (psi / n), (W**2).mean(axis=0) + psi / n
        if self.isotropic:
            return BayesianPCAParams(W, mu, np.full(d, psi), np.eye(q), V, low, np.ones(d), spread, 0.5 * n * d, q)
        each = np.maximum(psi * about.variance * (d / total) if total else np.full(d, psi), low)
        V, shape = np.broadcast_to(V, (d, q + 1, q + 1)).copy(), np.full(d, 0.5 * n)
        return BayesianPCAParams(W, mu, each, np.eye(q), V, low, np.ones(d), spread, shape, q)

    def expect(self, p: Any, block: Block, patterns: None) -> Latent:
        latent = vb.rows(block.x, block.mask, p.beliefs)
        return latent._replace(log_density=vb.row_bounds(block.mask, p.beliefs, latent))

    def sums(self, p: Any, block: Block, patterns: None, expected: Latent, moments: bool) -> Sums:
        return sums(block.mask, block.weight, expected, p.W, p.psi)

    def update(self, params: Sequence[Any], sums: Sequence[Any], skipped: Sequence[bool]) -> tuple[Any, ...]:
        return tuple(
            p if skip else p.believing(vb.update(s, p.beliefs, floor=self._floor(p), dead=DEAD, vague=VAGUE))
            for p, s, skip in zip(params, sums, skipped, strict=True)
        )

    def _floor(self, p: Any) -> Any:
        return float(p.low[0]) if self.isotropic else p.low

    def finish(self, p: Any, s: Any) -> Any:
        return p.turned()

    # rows ----------------------------------------------------------------------------------------
    def _posterior(self, p: Any, block: Block) -> Posterior:
        latent = vb.rows(block.x, block.mask, p.beliefs)
        packed = np.broadcast_to(latent.cov.T, (block.rows, latent.cov.shape[0]))
        return Posterior(latent.mean, packed, latent.log_density)

    def cells(self, p: Any, block: Block) -> Cells:
        return decode_cells(p, self._posterior(p, block))

    def draw(self, p: Any, block: Block, rng: list[np.random.Generator]) -> Array:
        return draw_cells(p, self._posterior(p, block), rng)

    def redraw(self, p: Any, rng: np.random.Generator) -> Any:
        return draw_parameters(p._replace(V=np.broadcast_to(p.V, (len(p.W), *p.V.shape[1:]))), rng)

    # reports -------------------------------------------------------------------------------------
    def attributes(self, params: Sequence[Any], report: Array) -> dict[str, Any]:
        """Axes one a row, those of the part with the fewest followed by zeros."""
        most = max(p.W.shape[1] for p in params)
        W = np.zeros((len(params), most, len(report)))
        for k, p in enumerate(params):
            W[k, : p.W.shape[1]] = (p.W * report[:, None]).T
        psi = np.array([squared(p.psi, report) for p in params])
        noise = psi[:, 0] if self.isotropic else psi
        return {"components_": W, "n_axes_": np.array([p.W.shape[1] for p in params]), "noise_variance_": noise}


class BayesianMixtureOfPPCA(MixtureModel):
    """A mixture of Bayesian PCAs: how many parts the table has, and how many axes each, by the evidence.

    p(x) = sum_k pi_k N(x | mu_k, W_k W_k' + I / tau_k), or with a noise of every column in place of I / tau_k. What is
    believed of pi, mu, W and tau is found by variational Bayes: axes that the rows of a part do not support are
    switched off, and parts are taken away as long as the evidence bound is higher without them. Gaps are welcome.

    Parameters
    ----------
    n_clusters : int, default=6
        The number of parts to begin with, more than there can be.
    n_components : int or None, default=None
        The number of axes each part begins with; None is one less than columns, at most 10.
    noise : {"part", "column"}, default="part"
        One noise variance for each part; or one for every column of each part: a mixture of factor analysers.
    tol : float, default=1e-6
        A fit ends when the bound can gain no more than this, in nats a row.
    max_iter : int, default=1000
        The most passes of one fit; each test of a simpler mixture is one.
    n_init : int, default=10
        Starts that are compared on a sample; the best goes on with all rows.
    init : {"k-means++", "random"} or array of means, one row a part, default="k-means++"
        Centres to start from.
    reg_covar : float, default=1e-6
        No noise variance falls below this share of the variances about the starting centres.
    calibrate : bool, default=True
        Of a table with gaps: fit first without 5 to 10 % of the seen cells, and scale intervals so that 90 % ones hold
        90 % of these; the fit itself has all cells. False: one fit.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the starts and of the cells held back; None is 0.

    Attributes
    ----------
    n_clusters_ : int
        The number of parts kept.
    n_axes_ : array of shape (n_clusters_,)
        The number of axes of each.
    weights_ : array of shape (n_clusters_,)
        The expected shares.
    means_ : array of shape (n_clusters_, n_features)
        The parts' means.
    components_ : array of shape (n_clusters_, most axes, n_features)
        The axes of each part, one a row; zeros where a part has fewer.
    noise_variance_ : array of shape (n_clusters_,) or (n_clusters_, n_features)
        1 / E[tau] of each part, or of each of its columns.
    calibration_ : float
        What standard deviations of fills are multiplied by, found with cells held back; 1 without gaps.
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
    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": COUNT,
        "n_components": Rule(lambda v: v is None or WHOLE.holds(v), "None or a whole number >= 0"),
        "noise": Rule(lambda v: v in ("part", "column"), "'part' or 'column'"),
        **MixtureModel._rules,
    }

    def __init__(
        self,
        n_clusters: int = 6,
        n_components: int | None = None,
        *,
        noise: str = "part",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_init: int = 10,
        init: Any = "k-means++",
        reg_covar: float = 1e-6,
        calibrate: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.noise = noise
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init = init
        self.reg_covar = reg_covar
        self.calibrate = calibrate
        self.random_state = random_state

    def _component(self) -> BayesianPart:
        q = None if self.n_components is None else int(self.n_components)
        return BayesianPart(q, isotropic=self.noise == "part")

    # one pass --------------------------------------------------------------------------------------
    def _stats(self, params: Any, block: Block) -> MixtureSums:
        if block.mask is not None:  # a row without any cell says nothing of the parts
            seen: Array = np.asarray(block.mask.any(axis=1), dtype=np.float64)
            block = block._replace(weight=seen if block.weight is None else block.weight * seen)
        return super()._stats(params, block)

    def _objective(self, params: Any, stats: MixtureSums) -> float:
        prior = [params.log_volume + np.size(p.shape) * LOG_NOISE_RANGE for p in params.components]
        parts = sum(vb.parameter_terms(p.beliefs) for p in params.components) - sum(prior)
        return stats.log_density + float(parts) + weight_terms(params.counts)

    def _update(self, params: Any, stats: MixtureSums) -> Any:
        n = np.array([s.n for s in stats.components])
        centred = [p._replace(mu=p.mu - params.center) for p in params.components]
        parts = self._component().update(centred, stats.components, (n < LEAST_ROWS).tolist())
        components = tuple(p._replace(mu=p.mu + params.center) for p in parts)
        return params.weighing(DIRICHLET + n)._replace(components=components)

    def _about(self, survey: TableSurvey, centers: Array, about: StartCovariance, low: Array) -> Any:
        p: MixtureParams = super()._about(survey, centers, about, low)
        sd = np.sqrt(np.maximum(survey.columns.variance, low))
        counts = np.full(len(centers), DIRICHLET + float(survey.columns.n) / len(centers))
        start = BayesianMixtureParams(p.log_weights, p.components, False, counts, survey.columns.mean, BOX * sd)
        return start.weighing(counts)

    # fitting ---------------------------------------------------------------------------------------
    def _one_fit(
        self, survey: TableSurvey, component: Component, run: Run, source: Source, limit: int | None = None
    ) -> Fit:
        """A start, and then as long as the bound is higher for it a fit with a part or an axis less."""
        with one_blas_thread():
            params, passes = self._start(survey._replace(source=source), component, run)
        best = em(self, params, source, run, mix=False, limit=limit)
        passes += best.passes
        simplify = partial(_simpler, self._component())
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
        parts = tuple(_within_box(component.finish(part, None), p.side) for part in p.components)
        weights = np.log(p.counts / p.counts.sum())
        return best._replace(params=p._replace(components=parts, log_weights=weights), passes=passes)

    # what it says ----------------------------------------------------------------------------------
    def _attributes(self, params: Any, frame: Frame, fit: Fit) -> dict[str, Any]:
        return {
            "weights_": np.exp(params.log_weights),
            "means_": np.array([frame.outward(p.mu) for p in params.components]),
            "n_clusters_": len(params.components),
            "calibration_": params.inflation,
            **self._component().attributes(params.components, frame.report),
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        certificate = super()._certify(fit, frame, header)
        kept = f"{len(fit.params.components)} of {self.n_clusters} parts kept"
        return certificate._replace(notes=(*certificate.notes, kept))


def _simpler(part: BayesianPart, params: BayesianMixtureParams) -> Iterator[BayesianMixtureParams]:
    """Mixtures with two parts as one, the nearest first, with a part less, the lightest first, or with an axis less."""
    K, parts = len(params.components), params.components
    pairs = [(i, j) for i in range(K) for j in range(i)]
    for i, j in sorted(pairs, key=lambda pair: _apart(parts[pair[0]], parts[pair[1]])):
        yield _merged(part, params, i, j)
    for k in np.argsort(params.counts, kind="stable").tolist() if K > 1 else []:
        yield params.without_part(k)
    for k in range(K):
        if params.components[k].W.shape[1]:
            yield params.without_axis(k)


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


def _merged(part: BayesianPart, params: BayesianMixtureParams, i: int, j: int) -> BayesianMixtureParams:
    """Parts i and j as one with their common covariance, all its axes alive again."""
    pair, counts = [params.components[i], params.components[j]], params.counts[[i, j]]
    n = counts - DIRICHLET
    share = np.maximum(n, LEAST_ROWS) / np.maximum(n, LEAST_ROWS).sum()
    mean = share @ np.array([p.mu for p in pair])
    F = np.vstack([np.sqrt(s) * np.vstack([p.W.T, p.mu - mean]) for s, p in zip(share, pair, strict=True)])
    variance = (F * F).sum(axis=0) + share @ np.array([p.psi for p in pair])
    one = part.start(mean, StartCovariance(variance, None, F), pair[0].low, float(max(n.sum(), LEAST_ROWS)))
    rest = params.without_part(j)
    at = i - (j < i)
    total = rest.counts.copy()
    total[at] = counts.sum() - DIRICHLET
    parts = (*rest.components[:at], one, *rest.components[at + 1 :])
    return rest.weighing(total)._replace(components=parts)
