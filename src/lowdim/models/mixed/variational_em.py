"""Variational EM of the latent Gaussian model with a likelihood for each column.

z ~ N(0, I); every site has eta = w'z + b. The posterior of a row is N(m, V), so that eta ~ N(w'm + b, w'V w), and every
cell gives f, its expected log density, g = df/d(mean) and h = -2 df/d(variance) = -d2f/d(mean)2, all in closed form
(`logistic_mean`). The bound of a row, sum f - KL(N(m, V) | N(0, I)), is climbed by V^-1 = I + sum h w w' and
Newton's m + V (sum g w - m), half as far where that fell. One Newton step a pass of (w, b) is the M-step: it needs
sums of h and g with the moments of z, which merge by addition.

References: M. Opper and C. Archambeau (2009), "The variational Gaussian approximation revisited", Neural Comput. 21,
786. M. E. Khan, B. Marlin, G. Bouchard and K. Murphy (2010), "Variational bounds for mixed-data factor analysis", NIPS
23. The sites of ordinal columns and the closed form of E softplus are derived in docs/mixed.md; the idea of the latter
is that of J. F. Monahan and L. A. Stefanski (1992), "Normal scale mixture approximations to F*(z) and computation of
the logistic-normal integral".
"""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import NamedTuple, Self

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from lowdim.maths.gaussian import LOG_TWO_PI, design
from lowdim.maths.linalg import (
    EPS,
    Array,
    Index,
    Mask,
    inverse_packed,
    lower,
    quadratic_forms,
    sign_rule,
    times_packed,
    unpack,
)
from lowdim.maths.normal import normal_below
from lowdim.maths.rotate import simple_axes
from lowdim.models.mixed.column_kinds import MixedColumns, Sites

ROUGH_ROUNDS, ROUNDS = 3, 3  # of every row's posterior: with rough slopes, and with those of the bound
CACHED_CELLS, LEAST_AT_ONCE = 2**17, 64  # rows times sites, and rows, that climb together
STILL, MORE_ROUNDS = 1e-4, 40  # rows that would still move by more go on, for so many rounds at most
INTERCEPT_PRECISION = 0.01  # of the prior of intercepts and thresholds: a column of noes only stays finite
LEAST_R, MOST_R = 0.05, 100.0  # of the negative binomial; beyond the latter it is Poisson's to a percent
LONGEST = 8.0  # of a weight vector in logits: 5 % of what lies behind such an answer is its own
BARRIER = 0.002  # strength of the prior that keeps it shorter, a seen cell
NOISE_ROWS, NOISE_SHARE = 4.0, 0.5  # the prior of noise variances: so many rows, and their noise as a share of variance
FALL = 1e-11  # a bound that falls by no more than this share is the same
LOGISTIC = 1.7  # a logistic curve is a normal one of this standard deviation, nearly
SWITCHED_OFF = 200.0  # precision from which an axis is dropped: its weights are below 0.07, in logits
# s(x) ~ sum_k SHARES_k Phi(SLOPES_k x), within 5.4e-6; these four minimise the largest error
SHARES = (0.05987694020126884, 0.3698345256494135, 0.4605285337345379, 0.10976000041477965)
SLOPES = (0.3204803466257068, 0.47352652352304286, 0.6957939155942269, 1.0190919348224514)
VARIANCES, MIXTURE = np.array(SLOPES)[:, None] ** -2.0, np.array(SHARES)[:, None]
SLACK = 1.6e-5  # the mixture's softplus lies below the true one by at most 1.55e-5: with this it is an upper bound
PIECE = 4096  # cells whose expectations are worked out at once: what they take stays in the nearest cache


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
    inflation: float = 1.0  # how much wider held-out cells of real columns ask cells of Gaussian sites to be

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of Gaussian sites, single sites and ordinal columns."""
        return len(self.mu), len(self.b), len(self.W) - len(self.mu) - len(self.b)

    @property
    def latent_noise(self) -> Array:
        """The standard deviation of the noise of each weight vector's latent response."""
        return np.concatenate([np.sqrt(self.psi), np.full(len(self.W) - len(self.psi), LOGISTIC)])

    @property
    def on_bound(self) -> Mask:
        """Which noise variances sit on their bound."""
        return self.psi <= self.low * (1 + 1e-6)

    def with_intercepts_moved(self, step: Array) -> Self:
        """The intercept of every weight vector moved; the thresholds of a column move together, the other way."""
        R, M, _ = self.sizes
        t = self.t - np.repeat(step[R + M :], np.diff(self.columns.first))
        return self._replace(mu=self.mu + step[:R], b=self.b + step[R : R + M], t=t)


class RowBeliefs(NamedTuple):
    """N(m, V) of each row, its bound, and g and h of every weight vector there."""

    mean: Array  # n x q
    cov: Array  # packed, (q(q+1)/2) x n
    bound: Array  # n
    cells: SiteTerms

    def of(self, rows: Index) -> RowBeliefs:
        """The same of some rows only."""
        cells = SiteTerms(*(part[rows] for part in self.cells))
        return RowBeliefs(self.mean[rows], self.cov[:, rows], self.bound[rows], cells)

    def put(self, rows: Index, part: RowBeliefs) -> RowBeliefs:
        """With some of the rows replaced."""

        def replaced(whole: Array, new: Array) -> Array:
            whole = whole.copy()
            whole[rows] = new
            return whole

        cells = SiteTerms(*(replaced(a, b) for a, b in zip(self.cells, part.cells, strict=True)))
        cov = replaced(self.cov.T, part.cov.T).T
        return RowBeliefs(replaced(self.mean, part.mean), cov, replaced(self.bound, part.bound), cells)


LogisticRule = Callable[[Array, Array], "LogisticMean"]


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
        return type(self)(*map(add, self, other))


# expected log densities of cells ----------------------------------------------------------------------------------
class LogisticMean(NamedTuple):
    """Expectations under N(m, v) of softplus log(1 + e^x), of its slope s(x) and of the slope of that."""

    softplus: Array
    slope: Array
    curvature: Array


def logistic_mean(m: Array, v: Array) -> LogisticMean:
    """E softplus(x), E s(x) and E s'(x) for x ~ N(m, v), cell by cell; the first is never below the truth.

    With s a mixture of normal distribution functions, E Phi(s x) = Phi(m / t) where t^2 = 1/s^2 + v, and its integral
    and derivative in m are as simple.

    >>> [round(float(part), 4) for part in logistic_mean(np.array(0.0), np.array(0.0))]
    [0.6932, 0.5, 0.25]
    """
    m, v = np.broadcast_arrays(m, v)
    out, flat_m, flat_v = np.empty((3, m.size)), m.ravel(), v.ravel()
    for begin in range(0, m.size, PIECE):
        part = slice(begin, begin + PIECE)
        own = flat_m[part]
        t = np.sqrt(VARIANCES + flat_v[part])  # a line each part of the mixture
        below, density = normal_below(own / t)
        below *= MIXTURE
        density *= MIXTURE
        softplus = density * t
        softplus += own * below
        density /= t
        for k, each in enumerate((softplus, below, density)):
            out[k, part] = each[0] + each[1] + (each[2] + each[3])
    out[0] += SLACK
    return LogisticMean(*out.reshape(3, *m.shape))


def logistic_share(m: Array, v: Array) -> Array:
    """E s(x) alone: the probability of a yes."""
    return logistic_mean(m, v).slope


def logistic_bend(m: Array, v: Array) -> Array:
    """E s''(x): how the curvature changes with m."""
    total = np.zeros(np.shape(m))
    for share, s in zip(SHARES, SLOPES, strict=True):
        t = np.sqrt(v + s**-2)
        u = m / t
        total -= share * u * normal_below(u)[1] / (t * t)
    return total


def less_steep(v: Array) -> Array:
    """By how much E s(x), x ~ N(m, v), is less steep than s(m), about.

    Reference: D. J. C. MacKay (1992), "The evidence framework applied to classification networks", Neural Comput. 4,
    720.
    """
    return np.asarray(1.0 / np.sqrt(1.0 + (np.pi / 8.0) * v))


def rough_mean(m: Array, v: Array) -> LogisticMean:
    """The slopes alone, to about a hundredth, in a thirtieth of the time: of one logistic function, less steep."""
    less = less_steep(v)
    half = 0.5 * np.tanh(0.5 * less * m)
    return LogisticMean(np.zeros_like(half), 0.5 + half, less * (0.25 - half * half))


class Answers(NamedTuple):
    """Some rows as sites, and where their yes/no cells are: what the rounds of a climb have in common."""

    sites: Sites
    single: Index  # cells of single sites that are seen, as places in n x M laid flat
    trials: Array  # of each: 1, of a count x + r
    above: Index  # cells of ordinal columns that lie above a threshold, as places in n x O laid flat
    under: Array  # that threshold
    below: Index  # and those that lie below one
    over: Array
    gaps: Array  # n: log(1 - exp(-gap)) of cells between two thresholds


def answers_of(params: MixedParams, sites: Sites) -> Answers:
    """Where the yes/no cells of some rows are."""
    single, counts = np.flatnonzero(sites.c), params.columns.count_sites
    trials = sites.c
    if counts:
        trials = trials.copy()
        trials[:, counts] *= sites.y[:, counts] + params.r
    under, over, has_under, has_over = thresholds_around(params, sites)
    above, below = np.flatnonzero(has_under), np.flatnonzero(has_over)
    both = has_under & has_over
    gaps = (both * np.log(-np.expm1(-np.where(both, over - under, 1.0)))).sum(axis=1)
    return Answers(sites, single, trials.ravel()[single], above, under.ravel()[above], below, over.ravel()[below], gaps)


def site_terms(
    params: MixedParams, asked: Answers, eta: Array, var: Array, mean_of: LogisticRule = logistic_mean
) -> SiteTerms:
    """f, g and h of all cells where w'z has this mean and variance, n x G each, intercepts not yet added.

    Only the yes/no cells that are seen are worked out: of many labels these are few. `mean_of` is `rough_mean` where f
    is not asked for.
    """
    (R, M, n_ordinal), sites, n = params.sizes, asked.sites, len(eta)
    # Gaussian sites: E log N(x; eta, psi), in which the variance of eta counts as squared error.
    e = (sites.x - eta[:, :R] - params.mu) * sites.seen
    squares = e * e + var[:, :R] * sites.seen
    f = -0.5 * (sites.seen @ (LOG_TWO_PI + np.log(params.psi)) + squares @ (1.0 / params.psi)) + sites.log_unit
    # Yes/no sites: y eta - E softplus(eta); a count has x yeses and r noes. An ordinal cell is a yes at the threshold
    # below its level and a no at the one above.
    mean, level = eta[:, R : R + M] + params.b, eta[:, R + M :].ravel()
    var_single, var_level = var[:, R : R + M].ravel(), var[:, R + M :].ravel()
    E = mean_of(
        np.concatenate([mean.ravel()[asked.single], level[asked.above] - asked.under, level[asked.below] - asked.over]),
        np.concatenate([var_single[asked.single], var_level[asked.above], var_level[asked.below]]),
    )
    ends = np.cumsum([len(asked.single), len(asked.above)])
    single, yes, no = (LogisticMean(*parts) for parts in zip(*(np.split(part, ends) for part in E), strict=True))

    def placed(values: Array, at: Index, wide: int) -> Array:
        cells = np.zeros(n * wide)
        cells[at] = values
        return cells.reshape(n, wide)

    f = f + (sites.y * mean - placed(asked.trials * single.softplus, asked.single, M)).sum(axis=1) + asked.gaps
    f = f + placed(level[asked.above] - asked.under - yes.softplus, asked.above, n_ordinal).sum(axis=1)
    f = f - placed(no.softplus, asked.below, n_ordinal).sum(axis=1)
    g_single = sites.y - placed(asked.trials * single.slope, asked.single, M)
    h_single = placed(asked.trials * single.curvature, asked.single, M)
    g_below = placed(1.0 - yes.slope, asked.above, n_ordinal)
    h_below = placed(yes.curvature, asked.above, n_ordinal)
    g_level = g_below - placed(no.slope, asked.below, n_ordinal)
    h_level = h_below + placed(no.curvature, asked.below, n_ordinal)
    g = np.concatenate([e / params.psi, g_single, g_level], axis=1)
    h = np.concatenate([sites.seen / params.psi, h_single, h_level], axis=1)
    return SiteTerms(f, g, h, squares, g_below, h_below)


def dispersion_slopes(params: MixedParams, sites: Sites, rows: RowBeliefs, weight: Array) -> Array:
    """First and second derivative of f by log r, where r e^eta, the mean of the count, is held: 2 x counts.

    So held, the two hardly depend on each other.
    """
    at, r = params.columns.count_sites, params.r
    if not at:
        return np.zeros((2, 0))
    W = params.W[[len(params.mu) + s for s in at]]
    E = logistic_mean(rows.mean @ W.T + params.b[at], quadratic_forms(rows.cov.T, W))
    x = sites.y[:, at]
    gap = r * (digamma(x + r) - digamma(r)) - r * E.softplus
    first = gap - x + (x + r) * E.slope
    second = gap + 2.0 * r * E.slope - (x + r) * E.curvature + r**2 * (polygamma(1, x + r) - polygamma(1, r))
    return np.array([weight @ (part * sites.c[:, at]) for part in (first, second)])


def threshold_places(columns: MixedColumns, level: Index) -> tuple[Index, Index]:
    """Where the thresholds below and above each level stand in `t`; beyond the ends, at the nearest."""
    first, last = columns.first[:-1], columns.first[1:] - 1
    place = first + level
    return np.maximum(place - 1, first), np.minimum(place, last)


def thresholds_around(params: MixedParams, sites: Sites) -> tuple[Array, Array, Mask, Mask]:
    """The thresholds below and above each level, and where there is one and the cell is seen."""
    first, last = params.columns.first[:-1], params.columns.first[1:] - 1
    under, over = threshold_places(params.columns, sites.level)
    lowest, highest = sites.level == 0, first + sites.level > last
    known = sites.known > 0
    return params.t[under], params.t[over], known & ~lowest, known & ~highest


# the E-step -------------------------------------------------------------------------------------------------------
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

    def of(self, rows: Index) -> RowClimb:
        """The same of some rows only."""
        return RowClimb(self.best.of(rows), *(part[..., rows] for part in self[1:]))


def beliefs_of_rows(params: MixedParams, sites: Sites) -> RowBeliefs:
    """The E-step: each row's posterior climbs its bound, always from the same place; as many rows at once as a cache
    holds."""
    n, most = len(sites.x), max(CACHED_CELLS // max(len(params.W), 1), LEAST_AT_ONCE)
    if n <= most:
        return _climbed(params, sites)
    parts = [_climbed(params, sites.of(np.arange(k, min(k + most, n)))) for k in range(0, n, most)]
    mean, cov, bound, cells = zip(*parts, strict=True)
    terms = SiteTerms(*map(np.concatenate, zip(*cells, strict=True)))
    return RowBeliefs(np.concatenate(mean), np.concatenate(cov, axis=1), np.concatenate(bound), terms)


def _climbed(params: MixedParams, sites: Sites) -> RowBeliefs:
    """The same of rows that are few enough; some of them take longer."""
    (G, q), n = params.W.shape, len(sites.x)
    i, j = lower(q)
    asked = answers_of(params, sites)
    # From N(0, I / 2); where there are yes/no cells a few steps with rough slopes lead near the top.
    m = np.zeros((q, n))
    A = np.tile(np.where(i == j, 2.0, 0.0)[:, None], (1, n))
    cov, logdet = inverse_packed(A, q)
    all_gaussian = len(params.mu) == G
    for _ in range(0 if all_gaussian else ROUGH_ROUNDS):
        rough = site_terms(params, asked, m.T @ params.W.T, quadratic_forms(cov.T, params.W), rough_mean)
        A, cov, logdet, step = _newton(params, m.T, rough)
        m = m + step
    climb = _next(params, _tried(params, asked, m, cov, logdet), A)
    if all_gaussian:  # the bound of Gaussian sites is quadratic: one Newton step is at its top
        return _round(params, asked, climb).best
    for _ in range(ROUNDS - 1):
        climb = _round(params, asked, climb)
    # From here on only rows that still move: how far one goes is no matter of the others.
    best, part, few = climb.best, climb, sites
    rows = np.arange(n)
    for _ in range(MORE_ROUNDS):
        slow = np.flatnonzero((part.rho < 1.0) | (np.abs(part.step) > STILL).any(axis=0))
        if not len(slow):
            break
        rows, few = rows[slow], few.of(slow)
        part = _round(params, answers_of(params, few), part.of(slow))
        best = best.put(rows, part.best)
    # What the log density of a row's counts holds beside eta.
    at, r = params.columns.count_sites, params.r
    x = sites.y[:, at]
    constant = ((gammaln(x + r) - gammaln(r) - gammaln(x + 1.0)) * sites.c[:, at]).sum(axis=1)
    return best._replace(bound=best.bound + constant)


def _tried(params: MixedParams, asked: Answers, m: Array, cov: Array, logdet: Array) -> RowBeliefs:
    """N(m, V) of each row with its bound; `logdet` is that of the precision."""
    q = len(m)
    i, j = lower(q)
    cells = site_terms(params, asked, m.T @ params.W.T, quadratic_forms(cov.T, params.W))
    kl = 0.5 * (cov[i == j].sum(axis=0) + (m * m).sum(axis=0) - q + logdet)
    return RowBeliefs(m.T, cov, cells.f - kl, cells)


def _round(params: MixedParams, asked: Answers, climb: RowClimb) -> RowClimb:
    """What was to be tried is tried; rows whose bound fell stay where they were and go half as far next."""
    trial = _tried(params, asked, climb.m, climb.cov, climb.logdet)
    fell = ~(trial.bound >= climb.best.bound - FALL * (1.0 + np.abs(climb.best.bound)))  # NaN counts as a fall
    if not fell.any():
        return _next(params, trial, climb.A)
    back = np.flatnonzero(fell)
    best = trial.put(back, climb.best.of(back))
    best_A = np.where(fell, climb.best_A, climb.A)
    rho = np.where(fell, 0.5 * climb.rho, 1.0)
    ahead = _next(params, best, best_A)
    step = np.where(fell, climb.step, ahead.step)
    turn = np.where(fell, climb.turn, ahead.turn)
    A = best_A + rho * turn
    cov, logdet = inverse_packed(A, len(step))
    return RowClimb(best, best_A, best.mean.T + rho * step, A, cov, logdet, step, turn, rho)


def _next(params: MixedParams, best: RowBeliefs, best_A: Array) -> RowClimb:
    """A full step from the best."""
    A, cov, logdet, step = _newton(params, best.mean, best.cells)
    return RowClimb(best, best_A, best.mean.T + step, A, cov, logdet, step, A - best_A, np.ones(A.shape[1]))


def _newton(params: MixedParams, mean: Array, cells: SiteTerms) -> tuple[Array, Array, Array, Array]:
    """The precisions, their inverses and log determinants, and the step of the means, as in Opper and Archambeau."""
    q = params.W.shape[1]
    i, j = lower(q)
    # V^-1 = I + sum h w w', at which the bound's slope in V is zero, were h to stay as it is
    A = (params.W[:, i] * params.W[:, j]).T @ cells.h.T
    A[i == j] += 1.0
    cov, logdet = inverse_packed(A, q)
    # Newton's step of m with that V: V (sum g w - m)
    step = times_packed(cov, np.ascontiguousarray((cells.g @ params.W - mean).T))
    return A, cov, logdet, step


def one_step(params: MixedParams, sites: Sites, mean: Array, cov: Array) -> Array:
    """The means of rows one Newton step from N(mean, cov), n x q and packed p x n: parameters that moved a little."""
    cells = site_terms(params, answers_of(params, sites), mean @ params.W.T, quadratic_forms(cov.T, params.W))
    return mean + _newton(params, mean, cells)[-1].T


def sums_of_rows(params: MixedParams, sites: Sites, rows: RowBeliefs, weight: Array | None) -> MixedSums:
    """The statistics of some rows given their posteriors."""
    q, n = params.W.shape[1], len(sites.x)
    i, j = lower(q)
    w = np.ones(n) if weight is None else weight
    z = rows.mean.T
    tall = np.concatenate([rows.cov, z[i] * z[j], z, np.ones((1, n))]) * w
    whole = tall.sum(axis=1)
    # of each weight vector: sums of h Cov[z], h m m', h m and h, and so A = sum h E[(z,1)(z,1)']
    per = (tall @ rows.cells.h).T
    Cw = times_packed(np.ascontiguousarray(per[:, : len(i)].T), np.ascontiguousarray(params.W.T)).T
    A = per[:, len(i) :].copy()
    A[:, : len(i)] += per[:, : len(i)]
    # and the gradient of the bound by (w, b); the posteriors are at their top, so that they add nothing to it
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
    level = levels_at_zero(params)
    weights = float((params.alpha * params.W**2).sum()) + float(gaussian_precisions(params) @ params.mu**2)
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
    return params.alpha + (2.0 * BARRIER * params.columns.answers / room)[:, None]


def gaussian_precisions(params: MixedParams) -> Array:
    """Of the priors of the intercepts of Gaussian sites: none, but of amounts, of which a table may have hardly any."""
    kinds = params.columns.kinds
    return np.array([INTERCEPT_PRECISION * (kinds[j] == "amount") for j, _ in params.columns.gaussian])


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
    prior[:R, q] = gaussian_precisions(params)
    ridge = EPS * np.trace(A, axis1=1, axis2=2)[:, None] + np.finfo(float).tiny
    A = A.copy()
    A[:, k, k] += prior + ridge
    return A


def updated(params: MixedParams, stats: MixedSums, one_noise: bool = False) -> MixedParams:
    """One M-step: Newton's for weights, intercepts and thresholds, closed form for the noise."""
    R, M, n_ordinal = params.sizes
    q = params.W.shape[1]
    A = design(stats.A, q)
    # Newton's step of (w, b) of Gaussian and single sites: the curvature of the sites and of the priors
    of_logits = INTERCEPT_PRECISION * levels_at_zero(params)
    level = np.concatenate([gaussian_precisions(params) * params.mu, of_logits, np.zeros(n_ordinal)])
    B = stats.B - np.column_stack([weight_precisions(params) * params.W, level])
    free = slice(0, R + M)
    step = np.zeros_like(B)
    step[free] = np.linalg.solve(with_prior(params, A)[free], B[free][:, :, None])[:, :, 0]
    # A weight vector that would get long takes Newton's steps with the barrier itself, not its slope here.
    bars = BARRIER * params.columns.answers
    long = ((params.W + step[:, :q]) ** 2).sum(axis=1) > LONGEST**2 / 4
    for k in np.flatnonzero((long & (bars > 0))[free]):  # ordinal columns have their own
        begin = np.append(params.W[k], params.b[k - R])
        prior = np.append(params.alpha[k], INTERCEPT_PRECISION)
        step[k] = ordered_newton(begin, stats.B[k], A[k], prior, np.zeros(0), q, float(bars[k])) - begin
    W = params.W + step[:, :q]
    # ordinal columns: weights and thresholds together, these kept in order
    W[R + M :], t = _ordinal_steps(params, stats, A[R + M :])
    # counts: Newton's step of log r with their mean held, at most 1, for which the intercept gives way
    first, second = stats.dispersion
    log_step = np.where(second < 0, -first / np.where(second < 0, second, 1.0), np.sign(first))
    r = np.clip(params.r * np.exp(np.clip(log_step, -1.0, 1.0)), LEAST_R, MOST_R)
    b = params.b + step[R : R + M, q]
    b[params.columns.count_sites] -= np.log(r / params.r)
    # noise: the squares that the new weights leave, exact since these sites are quadratic, and the prior's
    gain = 2.0 * (step * stats.B).sum(axis=1) - np.einsum("gi,gij,gj->g", step, A, step)
    squares = np.maximum(stats.squares - params.psi * gain[:R], 0.0)
    seen, rows = stats.seen, noise_rows(params)
    if one_noise:
        squares, seen, rows = (np.full(R, part.sum()) for part in (squares, seen, rows))
    psi = np.maximum((squares + rows * NOISE_SHARE) / (seen + rows), params.low)
    return params._replace(W=W, mu=params.mu + step[:R, q], b=b, t=t, psi=psi, r=r)


def _ordinal_steps(params: MixedParams, stats: MixedSums, A: Array) -> tuple[Array, Array]:
    """Weights and thresholds of the ordinal columns, column by column."""
    R, M, _ = params.sizes
    q, first = params.W.shape[1], params.columns.first
    W, t = params.W[R + M :].copy(), params.t.copy()
    for o, j in enumerate(params.columns.ordinal):
        at = slice(first[o], first[o + 1])
        sums, alpha = stats.steps[at], params.alpha[R + M + o]
        n = len(sums)
        # eta less a threshold is linear in both, so their curvatures and slopes are those of one vector (w, t)
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
        # gradient and curvature: of the quadratic model, of the barrier, and of the gaps between thresholds
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
        # Newton's step, halved until it climbs
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
    nu = stats.z / n
    second = unpack(stats.zz[:, None], q)[0] / n
    values, U = np.linalg.eigh(second - np.outer(nu, nu))
    if q == 0 or values[0] <= EPS:
        return params
    gain = 0.5 * n * (np.trace(second) - q - np.log(values).sum())
    W = params.W @ ((U * np.sqrt(values)) @ U.T)
    wider = params.with_intercepts_moved(params.W @ nu)._replace(W=W)
    return wider if gain > penalty(wider) - penalty(params) else params


# the axes ---------------------------------------------------------------------------------------------------------
def relevance_step(params: MixedParams, stats: MixedSums) -> MixedParams:
    """Precisions G / sum E[w_k^2] where sum E[w w'] is diagonal; axes above SWITCHED_OFF are dropped.

    Automatic relevance determination, as in C. M. Bishop (1999), "Variational principal components", ICANN 99.
    """
    q = params.W.shape[1]
    if q == 0:
        return params
    # the axes along which sum E[w w'] is diagonal, largest first
    V = weight_covariances(params, stats)[:, :q, :q].sum(axis=0)
    values, U = np.linalg.eigh(params.W.T @ params.W + V)
    alpha = len(params.W) / values[::-1]
    kept = alpha < SWITCHED_OFF
    W = (params.W @ U[:, ::-1])[:, kept]
    size = W.shape[1]
    return params._replace(
        W=W,
        T=np.eye(size),
        V=np.zeros((len(W), size + 1, size + 1)),
        alpha=np.tile(np.maximum(alpha[kept], INTERCEPT_PRECISION), (len(W), 1)),
    )


def weight_covariances(params: MixedParams, stats: MixedSums) -> Array:
    """The covariance of (w, b) of each weight vector, by the curvature of the bound there."""
    return np.asarray(np.linalg.inv(with_prior(params, design(stats.A, params.W.shape[1]))), dtype=np.float64)


def canonical_axes(params: MixedParams, stats: MixedSums, ard: bool, rotation: str | None) -> MixedParams:
    """Axes orthogonal in units of the noise, falling, signs fixed; where axes have relevances (`ard`), in their order.

    Axes that are asked to be simple are turned further. The covariances of the weights are turned along.
    """
    q = params.W.shape[1]
    V = weight_covariances(params, stats)
    if q == 0:
        return params._replace(V=V)
    # principal axes of the weights in units of the noise, or the axes in the order of their relevance
    metric = params.W / params.latent_noise[:, None]
    if ard:
        Q = np.eye(q)[:, np.argsort(-(metric**2).sum(axis=0), kind="stable")]
    else:
        Q = np.linalg.svd(metric, full_matrices=False)[2].T
    Q = Q * sign_rule(metric @ Q)
    alpha = params.alpha @ np.abs(Q) if ard else params.alpha
    if rotation is not None and q > 1:
        T = simple_axes(params.W @ Q, params.latent_noise**2, rotation)
        Q = Q @ T
        alpha = 1.0 / ((1.0 / alpha) @ T**2) if ard else alpha  # prior variances along the new axes
    turn = np.eye(q + 1)
    turn[:q, :q] = Q
    return params._replace(W=params.W @ Q, V=turn.T @ V @ turn, alpha=alpha)
