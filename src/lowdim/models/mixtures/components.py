"""The components of a mixture: full Gaussians, and linear-Gaussian models.

A mixture fits weighted models: a row's share in a component is the row's weight in the block that the component
sees, so neither knows of the other. Full Gaussians take any gaps, each with a covariance of its own or all with one.
Complete tables give a linear component its weighted moments, from which probabilistic PCA is solved in closed form
and factor analysis by Newton's method at no further pass; rows with gaps give it the sums of its own E-step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from lowdim.maths.factor import maximum_likelihood
from lowdim.maths.gaps import Filled, Group, fill_deviations, open_scatter, open_variance, pattern_groups
from lowdim.maths.gaussian import LOG_TWO_PI, SHARP, Latent, Sums, posterior, sums
from lowdim.maths.linalg import Array, Mask, align, inverse_packed, largest, lower, unpack
from lowdim.models.base.results import Cells, in_range, squared
from lowdim.models.linear.parameters import (
    LinearGaussianParams,
    canonical_axes,
    check_q,
    column_noise,
    draw_cells,
    draw_parameters,
    excess,
    isotropic_noise,
    m_step,
    on_floor,
    predict_cells,
    row_posterior,
)
from lowdim.models.mixtures.starts import StartCovariance
from lowdim.sources.source import Block

NEWTON_STEPS = 3  # of a factor component in one M-step: it need not arrive before the others do
EM_STEPS = 5  # on the moments, where Newton's method cannot be used
WIDE_COLUMNS = 1024  # columns beyond which no d x d matrix is made
SUBSPACE_COLUMNS = 64  # columns from which axes are followed instead of solved for
MOMENT_COLUMNS = 64  # columns for each axis beyond which moments cost more than the passes they save
ON_FLOOR = 1e-9  # an eigenvalue within this share of its bound is on it: an extrapolation may round it above
NEGLIGIBLE_SHARE = 1e-40  # a share that changes no digit of a sum, however far the row
LOG_STEP = 3.0  # by how much an extrapolation may change the logarithm of a variance: it may not run away
COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")


class Component(Protocol):
    """What a mixture asks of its components; their parameters p and sums s are records of their own."""

    unit_free: bool  # whether the model is the same whatever the columns' units
    correlated: bool  # whether columns may go together within a component
    has_axes: bool  # whether a row has a position in it

    # fitting
    def check(self, d: int) -> None: ...
    def is_wide(self, d: int) -> bool: ...  # whether there are too many columns to square
    def uses_moments(self, gaps: bool, d: int) -> bool: ...
    def start(self, mu: Array, about: StartCovariance, low: Array, n: float) -> Any: ...
    def patterns(self, mask: Mask | None) -> Any: ...  # what all components share of a block's gaps
    def expect(self, p: Any, block: Block, patterns: Any) -> Any: ...
    def sums(self, p: Any, block: Block, patterns: Any, expected: Any, moments: bool) -> Any: ...
    def update(self, params: Sequence[Any], sums: Sequence[Any], skipped: Sequence[bool]) -> tuple[Any, ...]: ...
    def finish(self, p: Any, s: Any) -> Any: ...
    def pack(self, p: Any) -> Array: ...
    def unpack(self, vector: Array, like: Any) -> Any: ...

    # rows
    def cells(self, p: Any, block: Block) -> Cells: ...
    def draw(self, p: Any, block: Block, rng: list[np.random.Generator]) -> Array: ...
    def redraw(self, p: Any, rng: np.random.Generator) -> Any: ...

    # reports
    def on_floor(self, p: Any) -> bool: ...
    def condition(self, p: Any) -> float: ...
    def n_parameters(self, params: Sequence[Any]) -> int: ...
    def attributes(self, params: Sequence[Any], report: Array) -> dict[str, Any]: ...
    def row_numbers(self, d: int, gaps: bool) -> int: ...  # numbers a row takes at work
    def sums_numbers(self, d: int) -> int: ...


def component_of(component: Any) -> Component | None:
    """The component that an estimator or the name of a covariance stands for; None where it cannot be mixed."""
    from lowdim.models.linear.factor_analysis import FactorAnalysis
    from lowdim.models.linear.ppca import ProbabilisticPCA

    if isinstance(component, str):
        named: dict[str, Component] = {
            "full": GaussianComponent(),
            "tied": GaussianComponent(tied=True),
            "diag": LinearComponent(0, isotropic=False),
            "spherical": LinearComponent(0, isotropic=True),
        }
        return named.get(component)
    if type(component) in (ProbabilisticPCA, FactorAnalysis):
        return LinearComponent(int(component.n_components), isotropic=type(component) is ProbabilisticPCA)
    return component if isinstance(component, GaussianComponent) else None


# full Gaussians --------------------------------------------------------------------------------------------
class FullGaussian(NamedTuple):
    """Parameters of x ~ N(mu, C), in the frame's units."""

    mu: Array  # d
    C: Array  # d x d
    P: Array  # d x d: (x - mu) P is white
    logdet: float  # log |C|
    low: Array  # d: C - diag(low) has no negative eigenvalue
    n: float  # rows it was fitted to
    on_floor: bool  # whether that bound holds it up


class Scatter(NamedTuple):
    """Sums over rows about the *present* mean: near convergence nothing cancels."""

    n: float
    s: Array  # sum (x - mu)
    S: Array  # sum (x - mu)(x - mu)', gaps by their expectation

    def merge(self, other: Self) -> Self:
        return type(self)(self.n + other.n, self.s + other.s, self.S + other.S)

    def covariance(self) -> Array:
        """The covariance (1/n) about the rows' own mean."""
        step = self.s / self.n
        return self.S / self.n - np.multiply.outer(step, step)


class ExpectedRows(NamedTuple):
    """The E-step of one Gaussian for a block: log densities, and rows with their gaps filled."""

    log_density: Array
    filled: Filled


def scatter(x: Array, mu: Array, weight: Array) -> Scatter:
    """The sums of complete rows about mu, each row counted by its weight."""
    counts = weight > NEGLIGIBLE_SHARE
    if 2 * np.count_nonzero(counts) < len(counts):  # clusters far apart: most rows do not matter to this one
        x, weight = x[counts], weight[counts]
    root = np.sqrt(weight)
    t = x - mu
    t *= root[:, None]
    return Scatter(float(weight.sum()), root @ t, t.T @ t)


def full_gaussian(mu: Array, C: Array, low: Array, n: float) -> FullGaussian:
    """A Gaussian whose covariance is lifted to its bound: the likeliest one with C - diag(low) >= 0."""
    sd = np.sqrt(low)
    values, U = np.linalg.eigh(C / np.outer(sd, sd))
    on_floor = bool(values[0] < 1.0 + ON_FLOOR)
    short = bool(values[0] < 1.0)
    values = np.maximum(values, 1.0)
    if short:
        C = (U * values) @ U.T * np.outer(sd, sd)
    P = U / np.sqrt(values) / sd[:, None]
    return FullGaussian(mu, C, P, float(np.log(values).sum() + np.log(low).sum()), low, n, on_floor)


def log_matrix(p: FullGaussian) -> Array:
    """The logarithm of C in units of its bound, packed: any numbers there are some covariance."""
    sd = np.sqrt(p.low)
    values, U = np.linalg.eigh(p.C / np.outer(sd, sd))
    i, j = lower(len(sd))
    return np.asarray(((U * np.log(np.maximum(values, 1.0))) @ U.T)[i, j])


def from_log(packed: Array, like: FullGaussian) -> FullGaussian:
    """The Gaussian of a packed logarithm; an extrapolation may not run away."""
    sd = np.sqrt(like.low)
    values, U = np.linalg.eigh(unpack(packed[:, None], len(sd))[0])
    most = np.log(np.trace(like.C / np.outer(sd, sd))) + LOG_STEP
    C = (U * np.exp(np.clip(values, 0.0, most))) @ U.T * np.outer(sd, sd)
    return full_gaussian(like.mu, C, like.low, like.n)


class GaussianComponent:
    """Full Gaussians; `tied=True` gives all of them one covariance."""

    unit_free = correlated = True
    has_axes = False

    def __init__(self, tied: bool = False) -> None:
        self.tied = tied

    def check(self, d: int) -> None:
        """Any table will do."""

    def start(self, mu: Array, about: StartCovariance, low: Array, n: float) -> FullGaussian:
        assert about.C is not None
        return full_gaussian(mu, about.C, low, n)

    def is_wide(self, d: int) -> bool:
        return False

    def uses_moments(self, gaps: bool, d: int) -> bool:
        return False

    def patterns(self, mask: Mask | None) -> list[Group]:
        return [] if mask is None else pattern_groups(mask)

    def expect(self, p: FullGaussian, block: Block, patterns: list[Group]) -> ExpectedRows:
        residual = block.x - p.mu
        logs: Array | float = len(p.mu) * LOG_TWO_PI + p.logdet
        filled = Filled(residual, np.zeros(0), [])
        if block.mask is not None:
            residual *= block.mask
            filled = fill_deviations(residual, patterns, p.P @ p.P.T)
            logs = block.mask.sum(axis=1) * LOG_TWO_PI + p.logdet + filled.logdet
        y = filled.deviations @ p.P
        return ExpectedRows(-0.5 * (logs + np.einsum("ij,ij->i", y, y)), filled)

    def sums(
        self, p: FullGaussian, block: Block, patterns: list[Group], expected: ExpectedRows, moments: bool
    ) -> Scatter:
        assert block.weight is not None
        if block.mask is None:
            return scatter(block.x, p.mu, block.weight)
        filled = expected.filled
        seen = scatter(filled.deviations, np.zeros_like(p.mu), block.weight)
        return seen._replace(S=seen.S + open_scatter(patterns, filled.covs, block.weight, len(p.mu)))

    def update(
        self, params: Sequence[FullGaussian], sums: Sequence[Scatter], skipped: Sequence[bool]
    ) -> tuple[FullGaussian, ...]:
        """The M-step; components that are `skipped` have too little weight to be fitted anew."""
        if self.tied:
            return self._update_tied(params, sums, skipped)
        return tuple(
            p if skip else full_gaussian(p.mu + s.s / s.n, s.covariance(), p.low, s.n)
            for p, s, skip in zip(params, sums, skipped, strict=True)
        )

    def _update_tied(
        self, params: Sequence[FullGaussian], sums: Sequence[Scatter], skipped: Sequence[bool]
    ) -> tuple[FullGaussian, ...]:
        total, n = np.zeros_like(params[0].C), 0.0
        for s, skip in zip(sums, skipped, strict=True):
            if not skip:
                total, n = total + s.n * s.covariance(), n + s.n
        shared = full_gaussian(params[0].mu, total / n, params[0].low, n)
        return tuple(
            shared._replace(mu=p.mu if skip else p.mu + s.s / s.n)
            for p, s, skip in zip(params, sums, skipped, strict=True)
        )

    def finish(self, p: FullGaussian, s: Scatter) -> FullGaussian:
        return p._replace(n=max(p.n if self.tied else s.n, 1.0))

    def pack(self, p: FullGaussian) -> Array:
        return np.concatenate([p.mu / np.sqrt(p.low), log_matrix(p)])

    def unpack(self, vector: Array, like: FullGaussian) -> FullGaussian:
        d = len(like.mu)
        return from_log(vector[d:], like._replace(mu=vector[:d] * np.sqrt(like.low)))

    # rows ----------------------------------------------------------------------------------------
    def cells(self, p: FullGaussian, block: Block) -> Cells:
        """Mean of each cell given the seen ones; noise counts the fitted covariance's own uncertainty."""
        if block.mask is None:
            residual, var = block.x - p.mu, np.zeros_like(block.x)
        else:
            patterns = pattern_groups(block.mask)
            filled = fill_deviations((block.x - p.mu) * block.mask, patterns, p.P @ p.P.T)
            residual, var = filled.deviations, open_variance(patterns, filled.covs, block.x.shape)
        return Cells(residual + p.mu, var / p.n, var * _prediction_excess(p))

    def draw(self, p: FullGaussian, block: Block, rng: list[np.random.Generator]) -> Array:
        d = len(p.mu)
        normal = np.array([r.standard_normal(d) for r in rng]).reshape(len(rng), d)
        root = np.linalg.cholesky(p.C)
        out: Array = normal @ root.T + p.mu
        if block.mask is None:
            return block.x.copy()
        # a joint draw moved to agree with the seen cells (Matheron's rule)
        return out + fill_deviations((block.x - out) * block.mask, pattern_groups(block.mask), p.P @ p.P.T).deviations

    def redraw(self, p: FullGaussian, rng: np.random.Generator) -> FullGaussian:
        step = np.linalg.cholesky(p.C) @ rng.standard_normal(len(p.mu)) / np.sqrt(p.n)
        return full_gaussian(p.mu + step, p.C * _prediction_excess(p), p.low, p.n)

    # reports -------------------------------------------------------------------------------------
    def on_floor(self, p: FullGaussian) -> bool:
        return p.on_floor

    def n_parameters(self, params: Sequence[FullGaussian]) -> int:
        d, K = len(params[0].mu), len(params)
        return d * K + d * (d + 1) // 2 * (1 if self.tied else K)

    def condition(self, p: FullGaussian) -> float:
        values = np.linalg.eigvalsh(p.C / np.sqrt(np.outer(np.diag(p.C), np.diag(p.C))))
        return float(np.sqrt(values[-1] / max(values[0], np.finfo(float).tiny)))

    def row_numbers(self, d: int, gaps: bool) -> int:
        """A pattern of its own may take as many as its gaps squared."""
        return d + (d * d // 8 if gaps else 0)

    def sums_numbers(self, d: int) -> int:
        return (d + 1) * (d + 1)

    def attributes(self, params: Sequence[FullGaussian], report: Array) -> dict[str, Any]:
        C = np.array([p.C for p in params[: 1 if self.tied else None]])
        with np.errstate(over="ignore"):
            C = in_range(C * report[:, None] * report, "Variances", float(report.max()))
        return {"covariances_": C[0] if self.tied else C}


def _prediction_excess(p: FullGaussian) -> float:
    """n / (n - d - 1), at most 4: each cell is predicted from the others by d fitted numbers."""
    return p.n / max(p.n - len(p.mu) - 1.0, p.n / 4.0)


# linear-Gaussian models ---------------------------------------------------------------------------------
class LinearComponent:
    """x = mu + W z + e with q axes: probabilistic PCA (isotropic noise) or factor analysis (one for each column)."""

    def __init__(self, q: int, isotropic: bool) -> None:
        self.q, self.isotropic, self.unit_free, self.correlated = q, isotropic, not isotropic, q > 0
        self.has_axes = q > 0
        self.noise = isotropic_noise if isotropic else column_noise

    def check(self, d: int) -> None:
        check_q(self.q, d)

    def start(self, mu: Array, about: StartCovariance, low: Array, n: float) -> LinearGaussianParams:
        """Axes and noise of a covariance, in units of the bounds so that columns count alike."""
        d, sd = len(mu), np.sqrt(low)
        total = float((about.variance / low).sum())
        values, V = about.axes(sd, self.q) if self.q else (np.zeros(0), np.zeros((d, 0)))
        s2 = max((total - float(values.sum())) / max(d - self.q, 1), 1e-3 * total / d, 1.0)
        W = V * np.sqrt(np.maximum(values - s2, 0.01 * s2)) * sd[:, None]
        return LinearGaussianParams(
            W, mu, s2 * low, np.eye(self.q), np.zeros((d, 1)), low, excess(np.full(d, n), self.q)
        )

    def is_wide(self, d: int) -> bool:
        return d > WIDE_COLUMNS

    def uses_moments(self, gaps: bool, d: int) -> bool:
        """Not with gaps, nor where d x d sums cost far more than the E-step's own."""
        return self.q > 0 and not gaps and d <= min(MOMENT_COLUMNS * (self.q + 1), WIDE_COLUMNS)

    def patterns(self, mask: Mask | None) -> None:
        """Gaps are dealt with by the E-step itself."""

    def expect(self, p: LinearGaussianParams, block: Block, patterns: None) -> Latent:
        return expect_complete(block.x, p) if block.mask is None else posterior(block.x, block.mask, p.W, p.mu, p.psi)

    def sums(
        self, p: LinearGaussianParams, block: Block, patterns: None, expected: Latent, moments: bool
    ) -> Sums | Scatter:
        assert block.weight is not None
        if moments:
            return scatter(block.x, p.mu, block.weight)
        return sums(block.mask, block.weight, expected, p.W, p.psi)

    def update(
        self, params: Sequence[LinearGaussianParams], sums: Sequence[Any], skipped: Sequence[bool]
    ) -> tuple[LinearGaussianParams, ...]:
        return tuple(p if skip else self._step(p, s) for p, s, skip in zip(params, sums, skipped, strict=True))

    def _step(self, p: LinearGaussianParams, s: Any) -> LinearGaussianParams:
        if isinstance(s, Scatter):
            return closed_ppca(p, s) if self.isotropic else newton_factors(p, s) or self._em_on_moments(p, s)
        least = 1e-12 * s.n  # a column that no row of this component sees keeps its noise
        new = m_step(p, s._replace(seen=np.maximum(s.seen, least)), self.noise)
        return new._replace(psi=np.where(s.seen > least, new.psi, p.psi))

    def _em_on_moments(self, p: LinearGaussianParams, s: Scatter) -> LinearGaussianParams:
        """A few EM steps on the moments alone."""
        for _ in range(EM_STEPS):
            new = m_step(p, sums_of(p, s), self.noise)
            step = new.mu - p.mu
            outer = np.multiply.outer(s.s, step)
            S = s.S - outer - outer.T + s.n * np.multiply.outer(step, step)
            p, s = new, s._replace(s=s.s - s.n * step, S=S)
        return p

    def finish(self, p: LinearGaussianParams, s: Any) -> LinearGaussianParams:
        """Canonical axes, and the covariance of the parameters."""
        if s.n < 1.0:
            return p._replace(V=np.maximum(p.psi, p.low)[:, None])
        stats = sums_of(p, s) if isinstance(s, Scatter) else s
        stats = stats._replace(seen=np.maximum(stats.seen, 1.0))
        turned = canonical_axes(p, stats, p.W if self.isotropic else p.W / np.sqrt(p.psi)[:, None])
        if turned.V.shape[1:] == (1,) and self.q == 0:
            turned = turned._replace(V=(turned.psi / stats.seen)[:, None])
        return turned._replace(excess=excess(stats.seen, self.q))

    def pack(self, p: LinearGaussianParams) -> Array:
        sd = np.sqrt(p.low)
        return np.concatenate([(p.W / sd[:, None]).ravel(), p.mu / sd, np.log(p.psi)])

    def unpack(self, vector: Array, like: LinearGaussianParams) -> LinearGaussianParams:
        (d, q), sd, near = like.W.shape, np.sqrt(like.low), np.log(like.psi)
        W, mu, logs = np.split(vector, [d * q, d * q + d])
        psi = np.exp(np.clip(logs, near - LOG_STEP, near + LOG_STEP))
        return like._replace(W=W.reshape(d, q) * sd[:, None], mu=mu * sd, psi=np.maximum(psi, like.low))

    # rows ----------------------------------------------------------------------------------------
    def cells(self, p: LinearGaussianParams, block: Block) -> Cells:
        return predict_cells(p, block)

    def draw(self, p: LinearGaussianParams, block: Block, rng: list[np.random.Generator]) -> Array:
        return draw_cells(p, row_posterior(p, block), rng)

    def redraw(self, p: LinearGaussianParams, rng: np.random.Generator) -> LinearGaussianParams:
        return draw_parameters(p, rng)

    # reports -------------------------------------------------------------------------------------
    def on_floor(self, p: LinearGaussianParams) -> bool:
        return bool(on_floor(p).any())

    def n_parameters(self, params: Sequence[LinearGaussianParams]) -> int:
        from lowdim.models.base.scores import count_parameters

        d, q = params[0].W.shape
        return len(params) * count_parameters(d, q, own_units=not self.isotropic)

    def condition(self, p: LinearGaussianParams) -> float:
        sizes = (p.W**2 / p.psi[:, None]).sum(axis=0)
        return float(np.sqrt(1.0 + sizes.max(initial=0.0)))

    def row_numbers(self, d: int, gaps: bool) -> int:
        return d + self.q + (3 * self.q * (self.q + 1) // 2 if gaps else 0)

    def sums_numbers(self, d: int) -> int:
        moments = d * d if self.uses_moments(False, d) else 0
        return d * (self.q * (self.q + 1) // 2 + 2 * self.q + 4) + moments

    def attributes(self, params: Sequence[LinearGaussianParams], report: Array) -> dict[str, Any]:
        psi = np.array([squared(p.psi, report) for p in params])
        noise = psi[:, 0] if self.isotropic else psi
        if self.q == 0:
            return {"covariances_": noise}
        W = np.array([(p.W * report[:, None]).T for p in params])
        return {"components_": W, "noise_variance_": noise}


def expect_complete(x: Array, p: LinearGaussianParams) -> Latent:
    """The E-step of complete rows: what all of them share is solved once, the residual are two products."""
    q, V, r = p.W.shape[1], p.W / p.psi[:, None], x - p.mu
    A = np.eye(q) + p.W.T @ V
    cov = np.asarray(np.linalg.inv(A), dtype=np.float64)
    mean = r @ (V @ cov)
    residual = r - mean @ p.W.T
    if np.trace(A) > SHARP:  # little noise: one step of refinement wins the digits back
        mean += (residual @ V - mean) @ cov
        residual = r - mean @ p.W.T
    logs = float(np.log(p.psi).sum() + np.linalg.slogdet(A)[1]) + len(p.mu) * LOG_TWO_PI
    quadratic = np.einsum("ij,ij,j->i", residual, residual, 1.0 / p.psi) + np.einsum("ij,ij->i", mean, mean)
    i, j = lower(q)
    return Latent(mean, cov[i, j][:, None], -0.5 * (logs + quadratic), residual)


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

    None where a column hardly varies within the component: its bound is then no share of a variance.
    """
    C, mu = s.covariance(), p.mu + s.s / s.n
    variance = np.diag(C)
    share = float((p.low / np.maximum(variance, p.low)).max())
    if share > 0.5:
        return None
    sd = np.sqrt(variance)
    start = np.clip(p.psi / variance, share, 1.0)
    fit = maximum_likelihood(C / np.outer(sd, sd), p.W.shape[1], lower=share, start=start, max_iter=NEWTON_STEPS)
    W, psi = fit.loadings * sd[:, None], np.maximum(fit.uniquenesses * variance, p.low)
    noise = 1e-14 * float((variance / psi).sum())  # what rounding may pretend to win
    if not factor_misfit(C, W, psi) < factor_misfit(C, p.W, p.psi) - noise:
        return p._replace(mu=mu)
    return p._replace(W=align(W, p.W), mu=mu, psi=psi)


def factor_misfit(C: Array, W: Array, psi: Array) -> float:
    """log |S| + tr(C S^-1) with S = W W' + Psi."""
    V = W / psi[:, None]
    A = np.eye(W.shape[1]) + W.T @ V
    trace = float((np.diag(C) / psi).sum() - np.trace(np.linalg.solve(A, V.T @ C @ V)))
    return float(np.log(psi).sum() + np.linalg.slogdet(A)[1]) + trace


def sums_of(p: LinearGaussianParams, s: Scatter) -> Sums:
    """The sums of the E-step of complete rows, from their moments about mu: every one is linear in them."""
    q = p.W.shape[1]
    i, j = lower(q)
    V = p.W / p.psi[:, None]
    A = (V.T @ p.W)[i, j][:, None]
    A[i == j] += 1.0
    cov = unpack(inverse_packed(A, q)[0], q)[0]
    G = cov @ V.T  # E[z] = G r
    E = np.eye(len(p.mu)) - p.W @ G  # e = E r
    ES, spread = E @ s.S, s.n * p.W @ cov
    zz = (s.n * cov + G @ s.S @ G.T)[i, j]
    z = G @ s.s
    B = np.column_stack([ES @ G.T - spread, E @ s.s])
    residual = (ES * E).sum(axis=1) + (spread * p.W).sum(axis=1)
    whole = np.concatenate([zz, z, [s.n]])[None, :]
    return Sums(s.n, 0.0, z, zz, whole, B, np.maximum(residual, 0.0), np.full(len(p.mu), s.n))
