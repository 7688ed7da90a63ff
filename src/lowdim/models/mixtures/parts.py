"""The parts of a mixture: one model K times over, each time fitted to all rows by its share in them.

A mixture asks of its parts what every latent model has: a row's share in a part is the row's weight in the block that
the part's own hooks see, so neither knows of the other. `Parts` is all there is to it, for any linear-Gaussian model.
The classes after it do the same in less time, or with what the parts have in common: probabilistic PCA and factor
analysis are solved from their weighted moments where no cell is missing, full Gaussians (no latent model, since where
a row lies says nothing) share the patterns of gaps and may share a covariance, and what Bayesian PCA believes of its
parameters counts in the objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from lowdim.engine.statistics import Moments
from lowdim.maths import bayesian_gaussian as vb
from lowdim.maths.factor import maximum_likelihood
from lowdim.maths.gaps import GivenSeen, Scatter, bounded_covariance, given_seen, pattern_groups
from lowdim.maths.gaussian import Latent, Sums, posterior, sums
from lowdim.maths.linalg import Array, Mask, align, largest, lower, unpack
from lowdim.maths.seeds import normals
from lowdim.models.base.results import Cells, in_range, squared
from lowdim.models.linear.bayesian_pca import DEAD, BayesianPCA, BayesianPCAParams, stand_in
from lowdim.models.linear.factor_analysis import FactorAnalysis, log_likelihood
from lowdim.models.linear.linear_gaussian import LinearGaussianParams, excess, on_floor, principal_start
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.linear.robust_ppca import FIRST_DOF, RobustPPCA, RobustPPCAParams, least_dof
from lowdim.models.mixtures.starts import StartCovariance
from lowdim.sources.source import Block
from lowdim.sources.views import Frame
from lowdim.text.messages import error

NEWTON_STEPS = 3  # of a factor model in one M-step: it need not arrive before the others do
EM_STEPS = 5  # on the moments, where Newton's method cannot be used
WIDE_COLUMNS = 1024  # columns beyond which no d x d matrix is made
SUBSPACE_COLUMNS = 64  # columns from which axes are followed instead of solved for
MOMENT_COLUMNS = 64  # columns for each axis beyond which moments cost more than the passes they save
MOST_AXES = 10  # of a Bayesian part where the caller names no number; those that are not needed are switched off
VAGUE = 1e-9  # rows that a Bayesian part counts as seen on its mean: they decide only where it sees no cell of a column
ON_FLOOR = 1e-9  # an eigenvalue within this share of its bound is on it: an extrapolation may round it above
LOG_STEP = 3.0  # by how much an extrapolation may change the logarithm of a variance: it may not run away
COVARIANCE_TYPES: tuple[str, ...] = ("full", "tied", "diag", "spherical")


def responsibilities(log_weights: Array, rows: Sequence[Any], mask: Mask | None) -> tuple[Array, Array]:
    """The share of each part in each row, p(k | seen cells) by Bayes' rule, K x n; and the rows' log densities."""
    joint = np.array([row.log_density for row in rows])
    joint += log_weights[:, None]
    top = joint.max(axis=0)
    joint -= top
    np.exp(joint, out=joint)
    total = joint.sum(axis=0)
    joint /= total
    log_density = top + np.log(total)
    if mask is not None:
        empty = ~mask.any(axis=1)
        log_density[empty] = 0.0  # a row without any cell has density 1
        joint[:, empty] = np.exp(log_weights)[:, None]
    return joint, log_density


class Parts:
    """Any linear-Gaussian model as the parts of a mixture, by its own hooks."""

    extrapolates = True  # whether steps of EM may be extrapolated
    most_squared: float = WIDE_COLUMNS  # columns up to which d x d matrices are made
    moment_columns = 0  # columns up to which an M-step without gaps is made from a part's weighted moments alone

    def __init__(self, model: Any, count: int) -> None:
        self.model, self.count = model, count  # a model, and how many parts follow it
        self.unit_free: bool = model._own_units  # whether it is the same whatever the columns' units
        self.standardize: bool = model.standardize
        self.has_axes = model.n_components is None or model.n_components > 0
        self.correlated = self.has_axes  # whether columns may go together within a part

    def start(self, about: StartCovariance, low: Array, n: float) -> Any:
        """A part of n rows about zero, its noise not below its bounds."""
        start = self.model._start(about.survey(np.ones_like(low), n))
        return start._replace(psi=np.maximum(start.psi, low), low=low)

    # a step of EM ------------------------------------------------------------------------------------
    def rows(self, params: Sequence[Any], block: Block) -> list[Any]:
        """The E-step of each part, with the `log_density` of every row."""
        return [self.model._posterior(p, block) for p in params]

    def sums(
        self, params: Sequence[Any], block: Block, shares: Array, rows: list[Any], moments: bool
    ) -> tuple[Any, ...]:
        """The statistics of each part: those of the model, each row counted by its share."""
        return tuple(
            self.model._stats(p, block._replace(weight=share)) for p, share in zip(params, shares, strict=True)
        )

    def update(self, params: Sequence[Any], stats: Sequence[Any], skipped: Sequence[bool]) -> tuple[Any, ...]:
        """The M-step; parts that are `skipped` have too little weight to be fitted anew."""
        return tuple(p if skip else self.step(p, s) for p, s, skip in zip(params, stats, skipped, strict=True))

    def step(self, p: Any, s: Any) -> Any:
        """The M-step of one part."""
        return self.model._update(p, s)

    def parameter_terms(self, params: Sequence[Any]) -> float:
        """What the parameters add to the objective."""
        return 0.0

    def finish(self, p: Any, s: Any, n: float) -> Any:
        """A part as it is kept after the last pass: canonical axes, and how uncertain its parameters are."""
        if n < 1.0:
            return p
        return self.model._canonical(p, s)._replace(excess=excess(np.full(len(p.mu), n), p.W.shape[1]))

    def pack(self, p: Any) -> Array:
        return self.model._pack(p)

    def unpack(self, vector: Array, like: Any) -> Any:
        return self.model._unpack(vector, like)

    # cells -------------------------------------------------------------------------------------------
    def decode(self, params: Sequence[Any], block: Block) -> list[Cells]:
        """The cells that each part says rows have, given those that are seen."""
        return [self.model._decode(p, self.model._posterior(p, block)) for p in params]

    def draw(self, p: Any, block: Block, rng: list[np.random.Generator]) -> Array:
        """The cells of rows drawn jointly from one part, given those that are seen."""
        return self.model._draw(p, self.model._posterior(p, block), rng)

    def redraw(self, p: Any, rng: np.random.Generator) -> Any:
        return self.model._redraw(p, rng)

    # reports -----------------------------------------------------------------------------------------
    def on_floor(self, p: Any) -> bool:
        return bool(on_floor(p).any())

    def condition(self, p: Any) -> float:
        sizes = (p.W**2 / p.psi[:, None]).sum(axis=0)
        return float(np.sqrt(1.0 + sizes.max(initial=0.0)))

    def n_parameters(self, params: Sequence[Any], frame: Frame) -> int:
        """The numbers fitted: those of each part, as the model counts them when it is fitted by itself."""
        model = clone(self.model)
        model.frame_ = frame
        count = 0
        for p in params:
            model.params_ = p
            count += model.n_parameters_
        return count

    def attributes(self, params: Sequence[Any], report: Array) -> dict[str, Any]:
        """Axes one a row, those of a part with fewer than another followed by zeros; and the noise."""
        psi = np.array([squared(p.psi, report) for p in params])
        noise = psi if self.unit_free else psi[:, 0]
        if not self.has_axes:
            return {"covariances_": noise}
        axes = np.zeros((len(params), max(p.W.shape[1] for p in params), len(report)))
        for k, p in enumerate(params):
            axes[k, : p.W.shape[1]] = (p.W * report[:, None]).T
        return {"components_": axes, "noise_variance_": noise}

    def numbers(self, d: int, gaps: bool) -> tuple[int, int]:
        """How many numbers a row takes at work, and how many the statistics of a part are."""
        q = min(MOST_AXES, d) if self.model.n_components is None else int(self.model.n_components)
        moments = d * d if d <= self.moment_columns else 0
        return d + q + (3 * q * (q + 1) // 2 if gaps else 0), d * (q * (q + 1) // 2 + 2 * q + 4) + moments


class RobustParts(Parts):
    """Probabilistic PCA with Student's rows."""

    def start(self, about: StartCovariance, low: Array, n: float) -> RobustPPCAParams:
        d, q = len(low), int(self.model.n_components)
        start = principal_start(about.survey(np.ones(d), n), q)
        low_dof = least_dof(n, d, q)
        dof = max(FIRST_DOF, low_dof) if self.model.dof is None else float(self.model.dof)
        start = start._replace(psi=np.maximum(start.psi, low), low=low)
        return RobustPPCAParams(*start, dof=dof, low_dof=low_dof)

    def attributes(self, params: Sequence[RobustPPCAParams], report: Array) -> dict[str, Any]:
        return {**super().attributes(params, report), "dof_": np.array([p.dof for p in params])}


# probabilistic PCA and factor analysis ----------------------------------------------------------------------
class LinearParts(Parts):
    """Probabilistic PCA or factor analysis; without axes, spherical or diagonal Gaussians."""

    def __init__(self, model: ProbabilisticPCA | FactorAnalysis, count: int) -> None:
        super().__init__(model, count)
        if self.has_axes:  # beyond these d x d sums cost far more than the E-step's own
            self.moment_columns = min(MOMENT_COLUMNS * (int(model.n_components) + 1), WIDE_COLUMNS)

    def start(self, about: StartCovariance, low: Array, n: float) -> LinearGaussianParams:
        """In units of the bounds, so that columns count alike."""
        sd = np.sqrt(low)
        start = principal_start(about.survey(sd, n), int(self.model.n_components))
        return start._replace(W=start.W * sd[:, None], psi=np.maximum(start.psi, 1.0) * low, low=low)

    def rows(self, params: Sequence[LinearGaussianParams], block: Block) -> list[Latent]:
        return [posterior(block.x, block.mask, p.W, p.mu, p.psi) for p in params]

    def sums(
        self, params: Sequence[Any], block: Block, shares: Array, rows: list[Latent], moments: bool
    ) -> tuple[Sums | Scatter, ...]:
        if moments:
            given = (GivenSeen(block.x - p.mu, r.log_density, [], []) for p, r in zip(params, rows, strict=True))
            return tuple(g.scatter(share) for g, share in zip(given, shares, strict=True))
        return tuple(sums(block.mask, w, r, p.W, p.psi) for p, r, w in zip(params, rows, shares, strict=True))

    def step(self, p: LinearGaussianParams, s: Sums | Scatter) -> LinearGaussianParams:
        if isinstance(s, Scatter):
            if not self.unit_free:
                return closed_ppca(p, s)
            likelier = newton_factors(p, s)
            if likelier is None:  # a few EM steps on the moments alone
                likelier, block = p, rows_of_moments(p, s)
                for _ in range(EM_STEPS):
                    likelier = self.model._update(likelier, self.model._stats(likelier, block))
            return likelier
        least = 1e-12 * s.n  # a column that no row of this part sees keeps its noise
        new = self.model._update(p, s._replace(seen=np.maximum(s.seen, least)))
        return new._replace(psi=np.where(s.seen > least, new.psi, p.psi))

    def finish(self, p: LinearGaussianParams, s: Sums | Scatter, n: float) -> LinearGaussianParams:
        if n < 1.0:
            return p._replace(V=np.maximum(p.psi, p.low)[:, None])
        stats = self.model._stats(p, rows_of_moments(p, s)) if isinstance(s, Scatter) else s
        stats = stats._replace(seen=np.maximum(stats.seen, 1.0))
        return self.model._canonical(p, stats)._replace(excess=excess(stats.seen, p.W.shape[1]))

    def pack(self, p: LinearGaussianParams) -> Array:
        sd = np.sqrt(p.low)
        return np.concatenate([(p.W / sd[:, None]).ravel(), p.mu / sd, np.log(p.psi)])

    def unpack(self, vector: Array, like: LinearGaussianParams) -> LinearGaussianParams:
        (d, q), sd, near = like.W.shape, np.sqrt(like.low), np.log(like.psi)
        W, mu, logs = np.split(vector, [d * q, d * q + d])
        psi = np.exp(np.clip(logs, near - LOG_STEP, near + LOG_STEP))
        return like._replace(W=W.reshape(d, q) * sd[:, None], mu=mu * sd, psi=np.maximum(psi, like.low))


def moments_of(p: LinearGaussianParams, s: Scatter) -> Moments:
    """The weighted moments of a part's rows."""
    return Moments(s.n, p.mu + s.s / s.n, s.covariance())


def rows_of_moments(p: LinearGaussianParams, s: Scatter) -> Block:
    """A few weighted rows with the moments of a part's, which are all that its E-step depends on."""
    return stand_in(moments_of(p, s)).block(0)


def closed_ppca(p: LinearGaussianParams, s: Scatter) -> LinearGaussianParams:
    """The likeliest probabilistic PCA of weighted moments, its noise not below the bound."""
    (d, q), C = p.W.shape, s.covariance()
    values, V = leading_axes(C, p.W) if d >= max(SUBSPACE_COLUMNS, 6 * q) else largest(C, q)
    tail = max(float(np.trace(C) - values.sum()), 0.0)
    s2 = max(tail / (d - q), float(p.low[0])) if q < d else float(p.low[0])
    W = V * np.sqrt(np.maximum(values - s2, 0.0))
    return p._replace(W=align(W, p.W), mu=p.mu + s.s / s.n, psi=np.full(d, s2))


def leading_axes(C: Array, W: Array) -> tuple[Array, Array]:
    """The q leading eigenpairs of C in the space of W, C W and C C W.

    It holds the present axes, so no step falls, and from step to step it closes in on the true ones: as an M-step
    ten times cheaper than all eigenpairs.
    """
    basis = [np.linalg.qr(W)[0]]
    for _ in range(2):
        basis.append(np.linalg.qr(C @ basis[-1])[0])
    B = np.linalg.qr(np.hstack(basis))[0]
    values, U = np.linalg.eigh(B.T @ C @ B)
    q = W.shape[1]
    return values[::-1][:q], B @ U[:, ::-1][:, :q]


def newton_factors(p: LinearGaussianParams, s: Scatter) -> LinearGaussianParams | None:
    """Likelier factors of weighted moments, a few Newton steps from the present ones.

    None where a column hardly varies within the part: its bound is then no share of a variance.
    """
    m = moments_of(p, s)
    variance = np.diag(m.covariance)
    share = float((p.low / np.maximum(variance, p.low)).max())
    if share > 0.5:
        return None
    sd = np.sqrt(variance)
    start = np.clip(p.psi / variance, share, 1.0)
    correlation = m.covariance / np.outer(sd, sd)
    fit = maximum_likelihood(correlation, p.W.shape[1], lower=share, start=start, max_iter=NEWTON_STEPS)
    W, psi = fit.loadings * sd[:, None], np.maximum(fit.uniquenesses * variance, p.low)
    rounding = 0.5e-14 * m.n * float((variance / psi).sum())  # what it may pretend to win
    if not log_likelihood(m, W, psi) > log_likelihood(m, p.W, p.psi) + rounding:
        return p._replace(mu=m.mean)
    return p._replace(W=align(W, p.W), mu=m.mean, psi=psi)


# Bayesian PCA ---------------------------------------------------------------------------------------------
class BayesianParts(Parts):
    """Bayesian PCA, or where every column has a noise of its own Bayesian factor analysis.

    A row counts by a bound of its log density.
    """

    extrapolates = False  # axes are switched off on the way

    def __init__(self, model: BayesianPCA, count: int, *, columns: bool = False) -> None:
        super().__init__(model, count)
        self.unit_free = columns

    def start(self, about: StartCovariance, low: Array, n: float) -> BayesianPCAParams:
        d, model = len(low), self.model
        if model.n_components is None:
            model = BayesianPCA(min(MOST_AXES, d - 1))
        start = model._start(about.survey(np.ones(d), n))
        if not self.unit_free:
            return start._replace(psi=np.maximum(start.psi, low), low=low)
        # of the noise each column has the share that it has of the variance
        total = float(about.variance.sum())
        psi = np.maximum(start.psi * about.variance * (d / total) if total else start.psi, low)
        V = np.broadcast_to(start.V, (d, *start.V.shape[1:])).copy()
        return start._replace(psi=psi, low=low, V=V, shape=np.full(d, 0.5 * n))

    def step(self, p: BayesianPCAParams, s: Sums) -> BayesianPCAParams:
        """The beliefs that a part's rows lead to; a mean of which no cell is seen stays where it is."""
        A = s.A.copy()
        A[:, -1] += VAGUE
        floor = p.low if self.unit_free else float(p.low[0])
        return p.believing(vb.update(s._replace(A=A), p.beliefs, floor=floor, dead=DEAD))

    def parameter_terms(self, params: Sequence[BayesianPCAParams]) -> float:
        return sum(vb.parameter_terms(p.beliefs) for p in params)

    def finish(self, p: BayesianPCAParams, s: Sums, n: float) -> BayesianPCAParams:
        return p.turned()

    def attributes(self, params: Sequence[BayesianPCAParams], report: Array) -> dict[str, Any]:
        return {**super().attributes(params, report), "n_axes_": np.array([p.W.shape[1] for p in params])}


# full Gaussians -------------------------------------------------------------------------------------------
class GaussianParams(NamedTuple):
    """A whole Gaussian x ~ N(mu, C), in the frame's units."""

    mu: Array  # d
    C: Array  # d x d
    P: Array  # d x d: (x - mu) P is white
    logdet: float  # log |C|
    low: Array  # d: C - diag(low) has no negative eigenvalue
    n: float  # rows it was fitted to
    on_floor: bool  # whether that bound holds it up

    @property
    def excess(self) -> float:
        """n / (n - d - 1), at most 4: each cell is predicted from the others by d fitted numbers."""
        return self.n / max(self.n - len(self.mu) - 1.0, self.n / 4.0)


def gaussian(mu: Array, C: Array, low: Array, n: float) -> GaussianParams:
    """A Gaussian whose covariance is lifted to its bound."""
    C, P, logdet, lowest = bounded_covariance(C, low)
    return GaussianParams(mu, C, P, logdet, low, n, lowest < 1.0 + ON_FLOOR)


class GaussianParts(Parts):
    """Full Gaussians; `tied=True` gives all of them one covariance."""

    most_squared = np.inf
    unit_free, standardize = True, False
    has_axes, correlated = False, True

    def __init__(self, count: int, *, tied: bool = False) -> None:
        self.count, self.tied = count, tied

    def start(self, about: StartCovariance, low: Array, n: float) -> GaussianParams:
        assert about.C is not None
        return gaussian(np.zeros_like(low), about.C, low, n)

    def rows(self, params: Sequence[GaussianParams], block: Block) -> list[GivenSeen]:
        """Rows with their gaps on their conditional means; the patterns of gaps are found once for all parts."""
        groups = pattern_groups(block.mask)
        seen = 1.0 if block.mask is None else block.mask
        return [given_seen((block.x - p.mu) * seen, groups, p.P, p.logdet) for p in params]

    def sums(
        self, params: Sequence[Any], block: Block, shares: Array, rows: list[GivenSeen], moments: bool
    ) -> tuple[Scatter, ...]:
        return tuple(r.scatter(share) for r, share in zip(rows, shares, strict=True))

    def update(self, params: Sequence[Any], stats: Sequence[Scatter], skipped: Sequence[bool]) -> tuple[Any, ...]:
        """The M-step: each mean and covariance those of its rows; tied, the parts' covariances about their means."""
        if not self.tied:
            return tuple(
                p if skip else gaussian(p.mu + s.s / s.n, s.covariance(), p.low, s.n)
                for p, s, skip in zip(params, stats, skipped, strict=True)
            )
        total, n = np.zeros_like(params[0].C), 0.0
        for s, skip in zip(stats, skipped, strict=True):
            if not skip:
                total, n = total + s.n * s.covariance(), n + s.n
        shared = gaussian(params[0].mu, total / n, params[0].low, n)
        return tuple(
            shared._replace(mu=p.mu if skip else p.mu + s.s / s.n)
            for p, s, skip in zip(params, stats, skipped, strict=True)
        )

    def pack(self, p: GaussianParams) -> Array:
        """The mean and the logarithm of C, in units of the bound: any numbers there are some covariance."""
        sd = np.sqrt(p.low)
        values, U = np.linalg.eigh(p.C / np.outer(sd, sd))
        log_C = (U * np.log(np.maximum(values, 1.0))) @ U.T
        return np.concatenate([p.mu / sd, log_C[lower(len(sd))]])

    def unpack(self, vector: Array, like: GaussianParams) -> GaussianParams:
        d, sd = len(like.mu), np.sqrt(like.low)
        values, U = np.linalg.eigh(unpack(vector[d:, None], d)[0])
        most = np.log(np.trace(like.C / np.outer(sd, sd))) + LOG_STEP
        C = (U * np.exp(np.clip(values, 0.0, most))) @ U.T * np.outer(sd, sd)
        return gaussian(vector[:d] * sd, C, like.low, like.n)

    def decode(self, params: Sequence[GaussianParams], block: Block) -> list[Cells]:
        """Mean of each cell given the seen ones; noise counts the fitted covariance's own uncertainty."""
        cells = []
        for p, rows in zip(params, self.rows(params, block), strict=True):
            var = rows.variance()
            cells.append(Cells(rows.deviations + p.mu, var / p.n, var * p.excess))
        return cells

    def draw(self, p: GaussianParams, block: Block, rng: list[np.random.Generator]) -> Array:
        drawn = normals(rng, len(p.mu)) @ np.linalg.cholesky(p.C).T
        return self.rows([p], block)[0].drawn(p.P, drawn) + p.mu

    def redraw(self, p: GaussianParams, rng: np.random.Generator) -> GaussianParams:
        step = np.linalg.cholesky(p.C) @ rng.standard_normal(len(p.mu)) / np.sqrt(p.n)
        return gaussian(p.mu + step, p.C * p.excess, p.low, p.n)

    def finish(self, p: GaussianParams, s: Scatter, n: float) -> GaussianParams:
        return p._replace(n=max(p.n if self.tied else n, 1.0))

    def on_floor(self, p: GaussianParams) -> bool:
        return p.on_floor

    def condition(self, p: GaussianParams) -> float:
        values = np.linalg.eigvalsh(p.C / np.sqrt(np.outer(np.diag(p.C), np.diag(p.C))))
        return float(np.sqrt(values[-1] / max(values[0], np.finfo(float).tiny)))

    def n_parameters(self, params: Sequence[GaussianParams], frame: Frame) -> int:
        d, K = len(params[0].mu), len(params)
        return d * K + d * (d + 1) // 2 * (1 if self.tied else K)

    def attributes(self, params: Sequence[GaussianParams], report: Array) -> dict[str, Any]:
        C = np.array([p.C for p in params[: 1 if self.tied else None]])
        with np.errstate(over="ignore"):
            C = in_range(C * report[:, None] * report, "Variances", float(report.max()))
        return {"covariances_": C[0] if self.tied else C}

    def numbers(self, d: int, gaps: bool) -> tuple[int, int]:
        """A pattern of its own may take as many as its gaps squared."""
        return d + (d * d // 8 if gaps else 0), (d + 1) * (d + 1)


@cache  # every hook of a pass asks for them: made anew they take a tenth of the fit of a small table
def linear_parts(q: int, count: int, *, own_units: bool) -> LinearParts:
    """Factor analysers, or without noise of the columns' own probabilistic PCAs, with q axes."""
    return LinearParts(FactorAnalysis(q) if own_units else ProbabilisticPCA(q), count)


def parts_of(component: Any, count: int) -> Parts:
    """So many parts as an estimator, or the name of a covariance, says."""
    kind = type(component)
    if kind in (ProbabilisticPCA, FactorAnalysis):
        return LinearParts(component, count)
    if kind is RobustPPCA:
        return RobustParts(component, count)
    if kind is BayesianPCA and not component.is_sure:
        return BayesianParts(component, count)
    if kind is str and component in COVARIANCE_TYPES:
        if component in ("full", "tied"):
            return GaussianParts(count, tied=component == "tied")
        return linear_parts(0, count, own_units=component == "diag")
    raise error("LD250", component=component)
