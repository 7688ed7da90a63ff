"""Variational EM of the latent Gaussian model with a likelihood for each column.

z ~ N(0, I); every site has eta = w'z + b. The posterior of a row is N(m, V), so that eta ~ N(w'm + b, w'V w), and every
cell gives f, its expected log density, g = df/d(mean) and h = -2 df/d(variance) = -d2f/d(mean)2, all in closed form
(`logistic.py`). The bound of a row, sum f - KL(N(m, V) | N(0, I)), is climbed by V^-1 = I + sum h w w' and
Newton's m + V (sum g w - m), half as far where that fell. One Newton step a pass of (w, b) is the M-step: it needs
sums of h and g with the moments of z, which merge by addition.

References: M. Opper and C. Archambeau (2009), "The variational Gaussian approximation revisited", Neural Comput. 21,
786. M. E. Khan, B. Marlin, G. Bouchard and K. Murphy (2010), "Variational bounds for mixed-data factor analysis", NIPS
23. The sites of ordinal columns and the closed form of E softplus are derived in docs/mixed.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, polygamma

from lowdim.maths.gaussian import LOG_TWO_PI, design
from lowdim.maths.linalg import EPS, Array, inverse_packed, lower, times_packed, unpack
from lowdim.models.mixed.column_kinds import MixedColumns, Sites
from lowdim.models.mixed.logistic import logistic_mean

ROUNDS = 5  # of every row's posterior
STILL, MORE_ROUNDS = 1e-4, 40  # rows that would still move by more go on, for so many rounds at most
INTERCEPT_PRECISION = 0.01  # of the prior of intercepts and thresholds: a column of noes only stays finite
LEAST_R, MOST_R = 0.05, 100.0  # of the negative binomial; beyond the latter it is Poisson's to a percent
LONGEST = 8.0  # of a weight vector in logits: 5 % of what lies behind such an answer is its own
BARRIER = 0.002  # strength of the prior that keeps it shorter, a seen cell
NOISE_ROWS, NOISE_SHARE = 4.0, 0.5  # the prior of noise variances: so many rows, and their noise as a share of variance
FALL = 1e-11  # a bound that falls by no more than this share is the same


class MixedParams(NamedTuple):
    """Parameters, reals in units of their spread; weight vectors: Gaussian sites, single sites, ordinal columns."""

    W: Array  # G x q
    mu: Array  # R, intercepts of the Gaussian sites
    b: Array  # M, intercepts of the single sites
    t: Array  # thresholds of the ordinal columns, one column after the other, rising within each
    psi: Array  # R, noise variances
    r: Array  # of each count, its negative binomial's
    T: Array  # q x q: reported coordinates are z T
    V: Array  # covariance of (w, b) of each weight vector: G x (q+1) x (q+1)
    low: Array  # R, the bounds of the noise variances
    excess: Array  # R, how much wider than psi the noise of a new cell is, since psi was fitted too
    alpha: Array  # G x q, precisions of the weights' prior
    columns: MixedColumns

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of Gaussian sites, single sites and ordinal columns."""
        return len(self.mu), len(self.b), len(self.W) - len(self.mu) - len(self.b)


class RowBeliefs(NamedTuple):
    """N(m, V) of each row, its bound, and g and h of every weight vector there."""

    mean: Array  # n x q
    cov: Array  # packed, (q(q+1)/2) x n
    bound: Array  # n
    cells: SiteTerms

    def of(self, rows: NDArray[np.intp]) -> RowBeliefs:
        """The same of some rows only."""
        cells = SiteTerms(*(part[rows] for part in self.cells))
        return RowBeliefs(self.mean[rows], self.cov[:, rows], self.bound[rows], cells)

    def put(self, rows: NDArray[np.intp], part: RowBeliefs) -> RowBeliefs:
        """With some of the rows replaced."""

        def replaced(whole: Array, new: Array) -> Array:
            whole = whole.copy()
            whole[rows] = new
            return whole

        cells = SiteTerms(*(replaced(a, b) for a, b in zip(self.cells, part.cells, strict=True)))
        cov = replaced(self.cov.T, part.cov.T).T
        return RowBeliefs(replaced(self.mean, part.mean), cov, replaced(self.bound, part.bound), cells)


class SiteTerms(NamedTuple):
    """f summed over each row, and its slopes."""

    f: Array  # n
    g: Array  # n x G
    h: Array  # n x G
    squares: Array  # n x R: E of the squared error of Gaussian sites, 0 where not seen
    g_below: Array  # n x O: g of the threshold below the level; that of the one above is the rest
    h_below: Array  # n x O


class MixedSums(NamedTuple):
    """What the M-step needs; every part is a plain sum over rows."""

    n: float
    bound: float
    z: Array  # sum E[z]
    zz: Array  # sum E[zz'], packed
    A: Array  # sum h E[(z,1)(z,1)'], packed: zz, z, 1           G x (q(q+1)/2 + q + 1)
    B: Array  # gradient by (w, b): sum (g m - h V w), sum g      G x (q + 1)
    squares: Array  # R, sum of E[e^2]
    seen: Array  # R, seen cells
    steps: Array  # for each threshold: sum h m, sum h, sum g      thresholds x (q + 2)
    dispersion: Array  # 2 x counts

    def merge(self, other: Self) -> Self:
        parts: Any = zip(self, other, strict=True)
        return type(self)(*(a + b for a, b in parts))


# the E-step -------------------------------------------------------------------------------------------------------
def site_terms(params: MixedParams, sites: Sites, eta: Array, var: Array) -> SiteTerms:
    """f, g and h of all cells where eta has this mean and variance, n x G each, intercepts not yet added."""
    R, M, _ = params.sizes
    real = _gaussian_terms(params, sites, eta[:, :R], var[:, :R])
    single = _single_terms(params, sites, eta[:, R : R + M], var[:, R : R + M])
    ordinal = _ordinal_terms(params, sites, eta[:, R + M :], var[:, R + M :])
    f = real[0] + single[0] + ordinal[0]
    g, h = (np.concatenate(parts, axis=1) for parts in zip(real[1:3], single[1:], ordinal[1:3], strict=True))
    return SiteTerms(f, g, h, real[3], *ordinal[3])


def _gaussian_terms(params: MixedParams, sites: Sites, eta: Array, var: Array) -> tuple[Array, Array, Array, Array]:
    e = (sites.x - eta - params.mu) * sites.seen
    squares = e * e + var * sites.seen
    f = -0.5 * (sites.seen @ (LOG_TWO_PI + np.log(params.psi)) + squares @ (1.0 / params.psi)) + sites.log_unit
    return f, e / params.psi, sites.seen / params.psi, squares


def _single_terms(params: MixedParams, sites: Sites, eta: Array, var: Array) -> tuple[Array, Array, Array]:
    mean = eta + params.b
    E = logistic_mean(mean, var)
    at, c = params.columns.count_sites, sites.c
    if at:  # x yeses and r noes
        c = c.copy()
        c[:, at] *= sites.y[:, at] + params.r
    f = (sites.y * mean - c * E.softplus).sum(axis=1)
    return f, sites.y - c * E.slope, c * E.curvature


def count_constants(params: MixedParams, sites: Sites) -> Array:
    """What the log density of each row's counts holds beside eta."""
    at = params.columns.count_sites
    x, r = sites.y[:, at], params.r
    return np.asarray(((gammaln(x + r) - gammaln(r) - gammaln(x + 1.0)) * sites.c[:, at]).sum(axis=1))


def dispersion_slopes(params: MixedParams, sites: Sites, rows: RowBeliefs, weight: Array) -> Array:
    """First and second derivative of f by log r, where r e^eta, the mean of the count, is held: 2 x counts.

    So held, the two hardly depend on each other.
    """
    at, r, q = params.columns.count_sites, params.r, params.W.shape[1]
    if not at:
        return np.zeros((2, 0))
    W, b = params.W[[len(params.mu) + s for s in at]], params.b[at]
    i, j = lower(q)
    var = (rows.cov * np.where(i == j, 1.0, 2.0)[:, None]).T @ (W[:, i] * W[:, j]).T
    E, x = logistic_mean(rows.mean @ W.T + b, var), sites.y[:, at]
    gap = r * (digamma(x + r) - digamma(r)) - r * E.softplus
    first = gap - x + (x + r) * E.slope
    second = gap + 2.0 * r * E.slope - (x + r) * E.curvature + r**2 * (polygamma(1, x + r) - polygamma(1, r))
    return np.array([weight @ (part * sites.c[:, at]) for part in (first, second)])


def _ordinal_terms(
    params: MixedParams, sites: Sites, eta: Array, var: Array
) -> tuple[Array, Array, Array, tuple[Array, Array]]:
    """Level x: above threshold x - 1 and below threshold x, and log(1 - exp(-gap)) between the two."""
    if not eta.shape[1]:
        return np.zeros(len(eta)), eta, eta, (eta, eta)
    under, over, has_under, has_over = thresholds_around(params, sites)
    yes = logistic_mean(eta - under, var)
    no = logistic_mean(eta - over, var)
    both = has_under * has_over
    gap = np.where(both > 0, over - under, 1.0)
    f = has_under * (eta - under - yes.softplus) - has_over * no.softplus + both * np.log(-np.expm1(-gap))
    g, h = has_under * (1.0 - yes.slope), has_under * yes.curvature
    return f.sum(axis=1), g - has_over * no.slope, h + has_over * no.curvature, (g, h)


def threshold_places(columns: MixedColumns, level: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the thresholds below and above each level stand in `t`; beyond the ends, at the nearest."""
    first, last = columns.first[:-1], columns.first[1:] - 1
    place = first + level
    return np.maximum(place - 1, first), np.minimum(place, last)


def thresholds_around(params: MixedParams, sites: Sites) -> tuple[Array, Array, Array, Array]:
    """The thresholds below and above each level, and 1 where there is one and the cell is seen."""
    first, last = params.columns.first[:-1], params.columns.first[1:] - 1
    under, over = threshold_places(params.columns, sites.level)
    lowest, highest = sites.level == 0, first + sites.level > last
    return params.t[under], params.t[over], sites.known * ~lowest, sites.known * ~highest


class RowClimb(NamedTuple):
    """Where the posteriors of some rows are on their way up: the best so far, and the next to try."""

    best: RowBeliefs
    best_A: Array  # precisions of the best, packed, p x n
    m: Array  # q x n, to try
    A: Array  # p x n
    cov: Array  # its inverse
    logdet: Array  # n
    step: Array  # q x n, from the best to what a full step would try
    turn: Array  # p x n, likewise of the precision
    rho: Array  # n, the share of it that is tried

    def of(self, rows: NDArray[np.intp]) -> RowClimb:
        """The same of some rows only."""
        return RowClimb(self.best.of(rows), *(part[..., rows] for part in self[1:]))


def beliefs_of_rows(params: MixedParams, sites: Sites) -> RowBeliefs:
    """The E-step: each row's posterior climbs its bound from N(0, I / 2), always the same; a few rows take longer."""
    (G, q), n = params.W.shape, len(sites.x)
    i, j = lower(q)
    m, A = np.zeros((q, n)), np.tile(np.where(i == j, 2.0, 0.0)[:, None], (1, n))
    cov, logdet = inverse_packed(A, q)
    climb = _next(params, _tried(params, sites, m, cov, logdet), A)
    if not G - len(params.mu):
        return _round(params, sites, climb).best  # Gaussian sites alone need no second step
    for _ in range(ROUNDS - 1):
        climb = _round(params, sites, climb)
    best, rows, part, few = climb.best, np.arange(n), climb, sites
    for _ in range(MORE_ROUNDS):  # only rows that still move: how far one goes is no matter of the others
        slow = np.flatnonzero((part.rho < 1.0) | (np.abs(part.step) > STILL).any(axis=0))
        if not len(slow):
            break
        rows, few = rows[slow], few.of(slow)
        part = _round(params, few, part.of(slow))
        best = best.put(rows, part.best)
    return best._replace(bound=best.bound + count_constants(params, sites))


def _tried(params: MixedParams, sites: Sites, m: Array, cov: Array, logdet: Array) -> RowBeliefs:
    """N(m, V) of each row with its bound; `logdet` is that of the precision."""
    q = len(m)
    i, j = lower(q)
    twice = np.where(i == j, 1.0, 2.0)[:, None]
    cells = site_terms(params, sites, m.T @ params.W.T, (cov * twice).T @ (params.W[:, i] * params.W[:, j]).T)
    kl = 0.5 * (cov[i == j].sum(axis=0) + (m * m).sum(axis=0) - q + logdet)
    return RowBeliefs(m.T, cov, cells.f - kl, cells)


def _round(params: MixedParams, sites: Sites, climb: RowClimb) -> RowClimb:
    """What was to be tried is tried; rows whose bound fell stay where they were and go half as far next."""
    trial = _tried(params, sites, climb.m, climb.cov, climb.logdet)
    fell = ~(trial.bound >= climb.best.bound - FALL * (1.0 + np.abs(climb.best.bound)))
    if not fell.any():
        return _next(params, trial, climb.A)
    back = np.flatnonzero(fell)
    best = trial.put(back, climb.best.of(back))
    best_A, rho = np.where(fell, climb.best_A, climb.A), np.where(fell, 0.5 * climb.rho, 1.0)
    ahead = _next(params, best, best_A)
    step, turn = np.where(fell, climb.step, ahead.step), np.where(fell, climb.turn, ahead.turn)
    A = best_A + rho * turn
    cov, logdet = inverse_packed(A, len(step))
    return RowClimb(best, best_A, best.mean.T + rho * step, A, cov, logdet, step, turn, rho)


def _next(params: MixedParams, best: RowBeliefs, best_A: Array) -> RowClimb:
    """A full step from the best: V^-1 = I + sum h w w', and Newton's step of m with that V."""
    q = params.W.shape[1]
    i, j = lower(q)
    A = (params.W[:, i] * params.W[:, j]).T @ best.cells.h.T
    A[i == j] += 1.0
    cov, logdet = inverse_packed(A, q)
    step = times_packed(cov, np.ascontiguousarray((best.cells.g @ params.W - best.mean).T))
    return RowClimb(best, best_A, best.mean.T + step, A, cov, logdet, step, A - best_A, np.ones(A.shape[1]))


def one_step(params: MixedParams, sites: Sites, mean: Array, cov: Array) -> Array:
    """The means of rows one Newton step from N(mean, cov), n x q and packed p x n: parameters that moved a little."""
    best = _tried(params, sites, np.ascontiguousarray(mean.T), cov, np.zeros(len(mean)))
    return np.ascontiguousarray(_next(params, best, np.zeros_like(cov)).m.T)


def sums_of_rows(params: MixedParams, sites: Sites, rows: RowBeliefs, weight: Array | None) -> MixedSums:
    """The statistics of some rows given their posteriors."""
    q, n = params.W.shape[1], len(sites.x)
    i, j = lower(q)
    w = np.ones(n) if weight is None else weight
    z = rows.mean.T
    tall = np.concatenate([rows.cov, z[i] * z[j], z, np.ones((1, n))]) * w
    whole = tall.sum(axis=1)
    per = (tall @ rows.cells.h).T
    Cw = times_packed(np.ascontiguousarray(per[:, : len(i)].T), np.ascontiguousarray(params.W.T)).T
    A = per[:, len(i) :].copy()
    A[:, : len(i)] += per[:, : len(i)]
    weighted = rows.cells.g * w[:, None]
    B = np.column_stack([weighted.T @ rows.mean - Cw, weighted.sum(axis=0)])
    zz = whole[: len(i)] + whole[len(i) : 2 * len(i)]
    return MixedSums(
        float(w.sum()),
        float(w @ rows.bound),
        whole[2 * len(i) : -1],
        zz,
        A,
        B,
        w @ rows.cells.squares,
        w @ sites.seen,
        _threshold_sums(params, sites, rows, w),
        dispersion_slopes(params, sites, rows, w),
    )


def _threshold_sums(params: MixedParams, sites: Sites, rows: RowBeliefs, w: Array) -> Array:
    """Sums of h m, h and g for each threshold, of the rows whose level lies next to it."""
    R, M, _ = params.sizes
    q, size = params.W.shape[1], len(params.t)
    out = np.zeros((size, q + 2))
    if not size:
        return out
    under, over = threshold_places(params.columns, sites.level)
    g, h = rows.cells.g_below, rows.cells.h_below
    g_all, h_all = rows.cells.g[:, R + M :], rows.cells.h[:, R + M :]
    for place, slope, curve in ((under, g, h), (over, g_all - g, h_all - h)):
        at, weighted = place.ravel(), w[:, None] * curve
        for k in range(q):
            out[:, k] += np.bincount(at, (weighted * rows.mean[:, k : k + 1]).ravel(), minlength=size)
        out[:, q] += np.bincount(at, weighted.ravel(), minlength=size)
        out[:, q + 1] += np.bincount(at, (w[:, None] * slope).ravel(), minlength=size)
    return out


# the M-step -------------------------------------------------------------------------------------------------------
def penalty(params: MixedParams) -> float:
    """What the priors of weights, intercepts, thresholds and noise take from the bound."""
    weights, level = float((params.alpha * params.W**2).sum()), levels_at_zero(params)
    quadratic = weights + INTERCEPT_PRECISION * float(level @ level + params.t @ params.t)
    rows = noise_rows(params)
    noise = float(rows @ (np.log(params.psi) + NOISE_SHARE / params.psi))
    room = 1.0 - (params.W**2).sum(axis=1) / LONGEST**2
    bars = BARRIER * params.columns.answers
    if (room[bars > 0] <= 0).any():
        return np.inf
    return 0.5 * (quadratic + noise) - float(bars @ np.log(np.where(bars > 0, room, 1.0)))


def noise_rows(params: MixedParams) -> Array:
    """Rows that the prior of each noise variance counts for; none where all sites are Gaussian, as in factor analysis,
    and none of indicators, which have a bound of their own."""
    columns = params.columns
    mixed = len(params.W) > len(params.mu)
    return np.array([NOISE_ROWS * (mixed and columns.kinds[j] != "marker") for j, _ in columns.gaussian])


def weight_precisions(params: MixedParams) -> Array:
    """Of the weights' priors, G x q: alpha, and the slope of the barrier at their length."""
    room = np.maximum(LONGEST**2 - (params.W**2).sum(axis=1), 1e-6)
    return np.asarray(params.alpha + (2.0 * BARRIER * params.columns.answers / room)[:, None])


def levels_at_zero(params: MixedParams) -> Array:
    """What the prior of intercepts is about: logits of single sites at z = 0, logs of the means of counts."""
    level = params.b.copy()
    level[params.columns.count_sites] += np.log(params.r)
    return level


def with_prior(params: MixedParams, A: Array) -> Array:
    """The precision of (w, b) of every weight vector: what the rows say and what the priors say."""
    q, R = params.W.shape[1], len(params.mu)
    k = np.arange(q + 1)
    prior = np.concatenate([weight_precisions(params), np.full((len(A), 1), INTERCEPT_PRECISION)], axis=1)
    prior[:R, q] = 0.0
    ridge = EPS * np.trace(A, axis1=1, axis2=2)[:, None] + np.finfo(float).tiny
    A = A.copy()
    A[:, k, k] += prior + ridge
    return A


def updated(params: MixedParams, stats: MixedSums, one_noise: bool = False) -> MixedParams:
    """One M-step: Newton's for weights, intercepts and thresholds, closed form for the noise."""
    R, M, n_ordinal = params.sizes
    q = params.W.shape[1]
    A = design(stats.A, q)
    level = np.concatenate([np.zeros(R), levels_at_zero(params), np.zeros(n_ordinal)])
    B = stats.B - np.column_stack([weight_precisions(params) * params.W, INTERCEPT_PRECISION * level])
    free = slice(0, R + M)
    step = np.zeros_like(B)
    step[free] = np.linalg.solve(with_prior(params, A)[free], B[free][:, :, None])[:, :, 0]
    step = _held_back(params, stats, A, step)
    W = params.W + step[:, :q]
    gain = 2.0 * (step * stats.B).sum(axis=1) - np.einsum("gi,gij,gj->g", step, A, step)
    squares = np.maximum(stats.squares - params.psi * gain[:R], 0.0)
    W[R + M :], t = _ordinal_steps(params, stats, A[R + M :])
    r, shift = _dispersion_step(params, stats.dispersion)
    b = params.b + step[R : R + M, q]
    b[params.columns.count_sites] -= shift
    parts = squares, stats.seen, noise_rows(params)
    squares, seen, rows = (np.full(R, part.sum()) for part in parts) if one_noise else parts
    psi = np.maximum((squares + rows * NOISE_SHARE) / (seen + rows), params.low)
    return params._replace(W=W, mu=params.mu + step[:R, q], b=b, t=t, psi=psi, r=r)


def _held_back(params: MixedParams, stats: MixedSums, A: Array, step: Array) -> Array:
    """The steps, where a weight vector would get long those of Newton with the barrier itself, not its slope here."""
    R, M, _ = params.sizes
    q, bars = params.W.shape[1], BARRIER * params.columns.answers
    long = ((params.W + step[:, :q]) ** 2).sum(axis=1) > LONGEST**2 / 4
    for k in np.flatnonzero((long & (bars > 0))[: R + M]):  # ordinal columns have their own
        begin = np.append(params.W[k], params.b[k - R])
        prior = np.append(params.alpha[k], INTERCEPT_PRECISION)
        step[k] = ordered_newton(begin, stats.B[k], A[k], prior, np.zeros(0), q, float(bars[k])) - begin
    return step


def _dispersion_step(params: MixedParams, slopes: Array) -> tuple[Array, Array]:
    """Newton's step of log r with the mean held, at most 1; and what the intercept has to give way."""
    first, second = slopes
    step = np.where(second < 0, -first / np.where(second < 0, second, 1.0), np.sign(first))
    r = np.clip(params.r * np.exp(np.clip(step, -1.0, 1.0)), LEAST_R, MOST_R)
    return r, np.log(r / params.r)


def _ordinal_steps(params: MixedParams, stats: MixedSums, A: Array) -> tuple[Array, Array]:
    """Weights and thresholds of the ordinal columns, column by column."""
    R, M, _ = params.sizes
    q, first = params.W.shape[1], params.columns.first
    W, t = params.W[R + M :].copy(), params.t.copy()
    for o, j in enumerate(params.columns.ordinal):
        at = slice(first[o], first[o + 1])
        sums, alpha = stats.steps[at], params.alpha[R + M + o]
        n = len(sums)
        H = np.zeros((q + n, q + n))
        H[:q, :q] = A[o, :q, :q]
        H[:q, q:] = -sums[:, :q].T
        H[q:, :q] = -sums[:, :q]
        H[q:, q:] = np.diag(sums[:, q])
        slope = np.concatenate([stats.B[R + M + o, :q], -sums[:, q + 1]])
        prior = np.concatenate([alpha, np.full(n, INTERCEPT_PRECISION)])
        start = np.concatenate([W[o], t[at]])
        inner, bar = params.columns.counts[j][1:-1], BARRIER * float(params.columns.counts[j].sum())
        end = ordered_newton(start, slope, H, prior, inner, q, bar)
        W[o], t[at] = end[:q], end[q:]
    return W, t


def ordered_newton(start: Array, slope: Array, H: Array, prior: Array, inner: Array, q: int, bar: float = 0.0) -> Array:
    """The weights and rising thresholds with the highest quadratic model of the sites, prior and log(1 - exp(-gap)).

    `inner` are the rows of the levels between two thresholds; the first q entries of `start` are the weights, which
    the barrier `bar` log(LONGEST^2 - |w|^2) keeps short.
    """

    def value(x: Array) -> float:
        d, gap = x - start, np.diff(x[q:])
        room = LONGEST**2 - float(x[:q] @ x[:q])
        if (gap <= 0).any() or (bar > 0 and room <= 0):
            return -np.inf
        quadratic = slope @ d - 0.5 * d @ H @ d - 0.5 * prior @ (x * x)
        return float(quadratic + inner @ np.log(-np.expm1(-gap))) + (bar * np.log(room) if bar > 0 else 0.0)

    x, best = start, value(start)
    for _ in range(20):
        gap = np.diff(x[q:])
        e = np.expm1(gap)
        first, second = inner / e, inner * (e + 1.0) / e**2
        gradient, curve = slope - H @ (x - start) - prior * x, H + np.diag(prior)
        w, room = x[:q], LONGEST**2 - float(x[:q] @ x[:q])
        if bar > 0:
            gradient[:q] -= 2.0 * bar / room * w
            curve[:q, :q] += 2.0 * bar / room * np.eye(q) + 4.0 * bar / room**2 * np.outer(w, w)
        k = q + np.arange(len(gap))
        gradient[k] -= first
        gradient[k + 1] += first
        curve[k, k] += second
        curve[k + 1, k + 1] += second
        curve[k, k + 1] -= second
        curve[k + 1, k] -= second
        step = np.linalg.solve(curve, gradient)
        size = 1.0
        while size > 1e-6 and not value(x + size * step) >= best:
            size *= 0.5
        if size <= 1e-6:
            return x
        gain, x = value(x + size * step) - best, x + size * step
        best += gain
        if gain <= 1e-12 * (1.0 + abs(best)):
            return x
    return x


def expanded(params: MixedParams, stats: MixedSums) -> MixedParams:
    """Parameter expansion: let z ~ N(nu, P), fit both and absorb them, where that gains more than the priors take."""
    q, n = params.W.shape[1], stats.n
    nu, second = stats.z / n, unpack(stats.zz[:, None], q)[0] / n
    values, U = np.linalg.eigh(second - np.outer(nu, nu))
    if q == 0 or values[0] <= EPS:
        return params
    gain = 0.5 * n * (np.trace(second) - q - np.log(values).sum())
    W = params.W @ ((U * np.sqrt(values)) @ U.T)
    moved = params.W @ nu
    R, M, _ = params.sizes
    sizes = np.diff(params.columns.first)
    wider = params._replace(
        W=W, mu=params.mu + moved[:R], b=params.b + moved[R : R + M], t=params.t - np.repeat(moved[R + M :], sizes)
    )
    return wider if gain > penalty(wider) - penalty(params) else params
