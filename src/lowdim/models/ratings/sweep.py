"""Matrix factorisation by variational Bayes: a sweep takes users from items, then all that is shared from users.

A vector of one side is (factors, bias), q = k + 1 numbers with a full covariance; beside a one it is extended to
e = (factors, 1, bias). With the other side's extension in the order (factors, bias, 1) a rating is their inner
product, so both halves of a sweep are the same functions. Triangles are packed by rows, as everywhere.

Reference: Lim and Teh, Variational Bayesian approach to movie rating prediction, KDD Cup and Workshop 2007.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import Array, Mask, inverse_packed, lower, times_packed, unpack
from lowdim.maths.optimise import gamma_shape

SLICE = 48  # columns at a time of products with a table: a fifth to two fifths less time at 17,770 items, the same bits
NOISE_SHAPES = (1.5, 1e4)  # of the noise: below, a new user's ratings have no variance; above, all users are alike
KNOWN_SHAPE = 5e5  # the shape of a precision that all users share: as good as known
IMAGINED_VECTORS = 1.0  # imagined users and items that keep a prior's covariance regular; one vanishes among hundreds
START_FACTOR_VARIANCE = 0.05  # variance of items' factors to start from: about what movielens_small ends with (0.07)
VANISHED_VARIANCE = 1e-4  # and what those imagined items have, so that a dimension nobody needs can vanish
BIAS_VARIANCE = 0.2  # variance of biases to start from, as a share of the ratings' variance
NOISE_GAIN = 1.2  # precision times spread of the noise, in units of the ratings, as START_NOISE has it
SETTLE_ROUNDS = 200  # of settling; each shrinks the difference at least by half on movielens_small
SETTLE_TOLERANCE = 1e-13  # relative
FADED_SHARE = 0.01  # share of items that a dimension must be able to tell from the prior, or it is tried without


# beliefs and where a fit stands ---------------------------------------------------------------------------------------
class VectorBeliefs(NamedTuple):
    """Gaussian beliefs about the vectors of one side."""

    mean: Array  # N x q
    cov: Array  # N x q(q+1)/2, packed
    logdet: Array | float = 0.0  # N, log determinants of the covariances where the bound needs them

    def rows(self, at: Any) -> VectorBeliefs:
        return VectorBeliefs(
            self.mean[at], self.cov[at], self.logdet[at] if isinstance(self.logdet, np.ndarray) else 0.0
        )

    def points(self) -> VectorBeliefs:
        """The same beliefs without doubt: their means."""
        return VectorBeliefs(self.mean, np.zeros_like(self.cov))

    def changed(self, M: Array, shift: Array) -> VectorBeliefs:
        """Beliefs about M g + shift."""
        i, j = lower(len(shift))
        cov = (M @ unpack(self.cov.T, len(shift)) @ M.T)[:, i, j]
        return VectorBeliefs(self.mean @ M.T + shift, cov, self.logdet + 2 * np.linalg.slogdet(M)[1])


class VectorPrior(NamedTuple):
    """Where a vector is before its ratings are seen."""

    mean: Array  # q
    cov: Array  # q x q

    def changed(self, M: Array, shift: Array) -> VectorPrior:
        """The prior of M g + shift."""
        return VectorPrior(M @ self.mean + shift, M @ self.cov @ M.T)


class Gamma(NamedTuple):
    """The noise precision of users: density proportional to t^(shape - 1) exp(-rate t)."""

    shape: Any
    rate: Any

    @property
    def mean(self) -> Any:
        return self.shape / self.rate

    @property
    def mean_log(self) -> Any:
        return digamma(self.shape) - np.log(self.rate)


START_NOISE = Gamma(3.0, 2.0)  # to start from: movielens_small ends with shape 3.3 and mean noise 0.65 of the variance


class FitKind(NamedTuple):
    """What kind of fit it is."""

    point: bool  # users and items as points; they then share one noise precision
    shared: bool  # one noise precision for all users
    dtype: str  # the precision of the sums


class SweepState(NamedTuple):
    """Where a fit stands: beliefs about items, priors, and each user's noise precision."""

    items: VectorBeliefs
    user_prior: VectorPrior
    item_prior: VectorPrior
    noise: Gamma
    tau: Array


def start_state(
    n: int, m: int, k: int, kind: FitKind, spread: float = START_FACTOR_VARIANCE, noise: Gamma = START_NOISE
) -> SweepState:
    """Small random items; the same for the same number of items."""
    rng = np.random.default_rng([0, m, k])
    small = np.sqrt(0.2 * (START_FACTOR_VARIANCE if kind.point else spread))
    mean = np.concatenate([rng.standard_normal((m, k)) * small, np.zeros((m, 1))], axis=1)
    i, j = lower(k + 1)
    doubt = 0.0 if kind.point else 0.2 * spread
    cov = np.tile(np.where(i == j, doubt, 0.0), (m, 1))
    users = VectorPrior(np.zeros(k + 1), np.diag(np.append(np.ones(k), BIAS_VARIANCE)))
    items = VectorPrior(np.zeros(k + 1), np.diag(np.append(np.full(k, spread), BIAS_VARIANCE)))
    logdet = np.full(m, 0.0 if kind.point else (k + 1) * np.log(doubt))
    return SweepState(VectorBeliefs(mean, cov, logdet), users, items, noise, np.full(n, noise.mean))


def map_spread(rows: Array, columns: Array) -> float:
    """The variance of items' factors at which points do not follow noise.

    Points with these priors are a fit with a penalty on the nuclear norm, 1 / sqrt(variance); noise alone has a
    spectral norm near sqrt(a) + sqrt(b) with a, b the ratings in the rows and columns of a usual rating.
    """
    a, b = (float((n**2).sum() / n.sum()) for n in (rows, columns))
    return float((NOISE_GAIN * (np.sqrt(a) + np.sqrt(b))) ** -2)


# sums over ratings ----------------------------------------------------------------------------------------------------
class RowSums(NamedTuple):
    """What the ratings of each row say about its vector: quadratic, linear and constant part of their errors."""

    A: Array  # N x q(q+1)/2, sum of E[f f'] over the row's cells, f = (factors, 1) of the other side
    r: Array  # N x q, sum of E[f (x - bias)]
    c: Array  # N, sum of E[(x - bias)^2]
    cells: Array  # N, how many


def extended(mean: Array) -> Array:
    """(factors, 1, bias) of each vector."""
    return np.concatenate([mean[:, :-1], np.ones((len(mean), 1)), mean[:, -1:]], axis=1)


def packed_squares(mean: Array, cov: Array) -> Array:
    """E[e e'] of each extended vector, packed."""
    e, one = extended(mean), mean.shape[1] - 1
    i, j = lower(e.shape[1])
    T = e[:, i] * e[:, j]
    T[:, (i != one) & (j != one)] += cov
    return T


def item_tables(items: VectorBeliefs, kind: FitKind) -> tuple[Any, Any]:
    """The items as the users' sums need them."""
    return packed_squares(items.mean, items.cov).astype(kind.dtype), extended(items.mean).astype(kind.dtype)


def row_sums(X: sp.csr_array, table: NDArray[Any], ext: NDArray[Any]) -> RowSums:
    """The sums of each row's stored cells, from the other side's `squares` and `extended` in any precision."""
    q = ext.shape[1] - 1
    p = q * (q + 1) // 2
    ones = sp.csr_array((np.ones(X.nnz, dtype=table.dtype), X.indices, X.indptr), shape=X.shape)
    S = _by_slices(ones, table)
    R = np.asarray(X @ ext, dtype=np.float64)
    square = sp.csr_array((X.data.astype(np.float64) ** 2, X.indices, X.indptr), shape=X.shape)
    x2 = square @ np.ones(X.shape[1])
    cells = np.diff(X.indptr).astype(np.float64)
    return RowSums(S[:, :p], R[:, :q] - S[:, p : p + q], x2 - 2 * R[:, q] + S[:, p + q], cells)


def column_sums(X: sp.csr_array, mean: Array, cov: Array, tau: Array, dtype: Any) -> tuple[Array, Array]:
    """A and r of each column, its cells weighted by the precisions of their rows.

    The rows are spread over the columns as they come: the columns' table is small enough for the cache where
    that of the rows is not (three times faster at 480,000 users than gathering users by item).
    """
    q = mean.shape[1]
    p = q * (q + 1) // 2
    T = (packed_squares(mean, cov)[:, : p + q] * tau[:, None]).astype(dtype)
    F = (extended(mean)[:, :q] * tau[:, None]).astype(dtype)
    turned = (X.shape[1], X.shape[0])
    ones = np.ones(X.nnz, dtype=dtype)
    S = _by_slices(sp.csc_array((ones, X.indices, X.indptr), shape=turned), T)
    R = np.asarray(sp.csc_array((X.data, X.indices, X.indptr), shape=turned) @ F, dtype=np.float64)
    return S[:, :p], R - S[:, p:]


def _by_slices(X: Any, T: NDArray[Any]) -> Array:
    """X @ T in double precision, a few columns at a time: as many of a cell's other side stay in the cache."""
    S = np.empty((X.shape[0], T.shape[1]))
    for begin in range(0, T.shape[1], SLICE):
        part = slice(begin, begin + SLICE)
        S[:, part] = X @ np.ascontiguousarray(T[:, part])
    return S


# from sums to beliefs -------------------------------------------------------------------------------------------------
def posterior_beliefs(A: Array, r: Array, prior: VectorPrior) -> VectorBeliefs:
    """The posterior of vectors with prior N(mean, cov) and precision-weighted sums A, r."""
    P = np.linalg.inv(prior.cov)
    i, j = lower(len(P))
    packed, logdet = inverse_packed(np.ascontiguousarray((A + P[i, j]).T), len(P))
    mean = times_packed(packed, np.ascontiguousarray((r + P @ prior.mean).T))
    return VectorBeliefs(np.ascontiguousarray(mean.T), np.ascontiguousarray(packed.T), -logdet)


def second_moments(mean: Array, cov: Array) -> Array:
    """E[g g'], packed."""
    i, j = lower(mean.shape[1])
    return mean[:, i] * mean[:, j] + cov


def log_prior(beliefs: VectorBeliefs, prior: VectorPrior, point: bool) -> Array:
    """E[log p(g)] - E[log q(g)] of each vector; of a point, log p(g)."""
    q = len(prior.mean)
    i, j = lower(q)
    P = np.linalg.inv(prior.cov)
    logdet = np.linalg.slogdet(P)[1]
    d = beliefs.mean - prior.mean
    quadratic = beliefs.cov @ (np.where(i == j, 1.0, 2.0) * P[i, j]) + ((d @ P) * d).sum(axis=1)
    entropy = -q * LOG_TWO_PI if point else beliefs.logdet + q
    return 0.5 * (logdet - quadratic + entropy)


def log_gamma_prior(tau: Gamma, prior: Gamma) -> Array:
    """E[log p(t)] - E[log q(t)] of precisions under a gamma prior: minus the divergence of two gammas."""
    a, b = tau
    return (
        gammaln(a)
        - gammaln(prior.shape)
        - (a - prior.shape) * digamma(a)
        - prior.shape * (np.log(b) - np.log(prior.rate))
        - a * (prior.rate - b) / b
    )


# one sweep ------------------------------------------------------------------------------------------------------------
class UserStep(NamedTuple):
    """Beliefs about the users of a tile, their noise precisions, and what they add to the objective."""

    beliefs: VectorBeliefs
    tau: Array
    log_tau: Array
    error: Array
    bound: Array


class Sweep(NamedTuple):
    """What a tile of users adds to the update of all that is shared."""

    A: Array  # items x q(q+1)/2
    r: Array  # items x q
    first: Array  # sum of E[g - the prior's mean] over users who rated
    second: Array  # sum of the squares E[(g - mean)(g - mean)'], packed
    totals: Array  # users who rated, precisions, their logs, squared errors, ratings, bound

    def merge(self, other: Self) -> Self:
        return type(self)(*(a + b for a, b in zip(self, other, strict=True)))


def user_half(sums: RowSums, state: SweepState, tau: Array, kind: FitKind) -> UserStep:
    """Beliefs about users given items, then about their precisions."""
    beliefs = posterior_beliefs(sums.A * tau[:, None], sums.r * tau[:, None], state.user_prior)
    beliefs = beliefs.points() if kind.point else beliefs
    # the expected squared error of each user's ratings, summed
    i, j = lower(beliefs.mean.shape[1])
    quadratic = (sums.A * second_moments(beliefs.mean, beliefs.cov)) @ np.where(i == j, 1.0, 2.0)
    error = np.maximum(sums.c - 2 * (beliefs.mean * sums.r).sum(axis=1) + quadratic, 0.0)
    if kind.shared:
        log_tau, gain = np.log(tau), np.zeros(len(tau))
    else:
        precisions = Gamma(state.noise.shape + sums.cells / 2, state.noise.rate + error / 2)
        tau, log_tau, gain = precisions.mean, precisions.mean_log, log_gamma_prior(precisions, state.noise)
    gain = gain + log_prior(beliefs, state.user_prior, kind.point)
    bound = 0.5 * sums.cells * (log_tau - LOG_TWO_PI) - 0.5 * tau * error + gain
    return UserStep(beliefs, tau, log_tau, error, bound)


def sweep(state: SweepState, table: Any, ext: Any, kind: FitKind, X: sp.csr_array, tau: Array) -> tuple[Array, Sweep]:
    """One tile of users: their new precisions, and what the shared update needs of them."""
    sums = row_sums(X, table, ext)
    users = user_half(sums, state, tau, kind)
    A, r = column_sums(X, users.beliefs.mean, users.beliefs.cov, users.tau, kind.dtype)
    rated = sums.cells > 0
    off, cov = users.beliefs.mean[rated] - state.user_prior.mean, users.beliefs.cov[rated]
    parts = users.tau, users.log_tau, users.error, sums.cells, users.bound
    totals = [float(rated.sum()), *(float(part[rated].sum()) for part in parts)]
    return users.tau, Sweep(A, r, off.sum(axis=0), second_moments(off, cov).sum(axis=0), np.array(totals))


def sweep_objective(state: SweepState, stats: Sweep, rated: Mask, kind: FitKind) -> float:
    """The bound (or, of points, the log posterior) of exactly this state and the users it led to."""
    value = float(stats.totals[5] + log_prior(state.items.rows(rated), state.item_prior, kind.point).sum())
    if kind.point:
        return value
    for prior, like in zip((state.user_prior, state.item_prior), imagined(len(stats.first) - 1), strict=True):
        trace = float(np.trace(np.linalg.solve(prior.cov, like.cov)))  # what the imagined vectors add
        value += -0.5 * IMAGINED_VECTORS * (float(np.linalg.slogdet(prior.cov)[1]) + trace)
    return value


def update_state(state: SweepState, stats: Sweep, tau: Array, rated: Mask, kind: FitKind, floor: float) -> SweepState:
    """Items given users, then every prior given both; each step can only raise the objective."""
    n, total, logs, error, count = stats.totals[:5]
    more = 1.0
    if kind.shared:  # first, as the errors are those of the old items
        new = count / max(error, floor * count)
        more, tau = new / tau[0], np.full(len(tau), new)
    items = posterior_beliefs(stats.A * more, stats.r * more, state.item_prior)
    if kind.point:
        return state._replace(items=items.points(), tau=tau)
    like_users, like_items = imagined(len(stats.first) - 1)
    users = refit_prior(n, stats.first, stats.second, state.user_prior, like_users)
    off, cov = items.mean[rated] - state.item_prior.mean, items.cov[rated]
    squares = second_moments(off, cov).sum(axis=0)
    item_prior = refit_prior(len(off), off.sum(axis=0), squares, state.item_prior, like_items)
    noise = state.noise if kind.shared else refit_noise(total / n, logs / n, floor)
    return SweepState(items, users, item_prior, noise, tau)


def imagined(k: int) -> tuple[VectorPrior, VectorPrior]:
    """What the imagined users and items are like."""
    zero = np.zeros(k + 1)
    users, items = (np.append(np.full(k, variance), BIAS_VARIANCE) for variance in (1.0, VANISHED_VARIANCE))
    return VectorPrior(zero, np.diag(users)), VectorPrior(zero, np.diag(items))


def refit_prior(n: float, first: Array, packed: Array, old: VectorPrior, like: VectorPrior) -> VectorPrior:
    """The prior that suits n vectors best, beside imagined ones with the covariance of those they are like.

    The sums are about the mean of the old prior: raw squares would lose the spread of vectors far from zero.
    """
    off = first / max(n, 1.0)
    scatter = unpack(packed[:, None], len(first))[0] - n * np.outer(off, off)
    return VectorPrior(old.mean + off, (scatter + IMAGINED_VECTORS * like.cov) / (n + IMAGINED_VECTORS))


def refit_noise(mean: float, mean_log: float, floor: float) -> Gamma:
    """The gamma prior that suits precisions of this mean and mean logarithm best; noise stays above a floor.

    The best rate for any shape is shape times the noise; on the floor the equation for the shape changes with it.
    """
    noise = max(1.0 / mean, floor)
    shape = float(np.clip(gamma_shape(noise * mean - 1.0 - np.log(noise) - mean_log), *NOISE_SHAPES))
    return Gamma(shape, shape * noise)


def settle_precisions(sums: RowSums, prior: VectorPrior, noise: Gamma) -> Array:
    """The noise precisions at which users' beliefs and precisions agree.

    In the coordinates in which the prior is white and the row's quadratic form diagonal, each further round costs
    q numbers a row: what a fit takes many sweeps to come to is found at once, for old users and new.
    """
    q = len(prior.mean)
    L = np.linalg.cholesky(prior.cov)
    values, Q = np.linalg.eigh(L.T @ unpack(sums.A.T, q) @ L)
    values = np.maximum(values, 0.0)
    turn = L @ Q  # g = turn y, y has precision 1 + tau values
    r = np.einsum("nij,ni->nj", turn, sums.r)
    first = np.einsum("nij,i->nj", Q, np.linalg.solve(L, prior.mean))
    tau = np.full(len(values), noise.mean)
    for _ in range(SETTLE_ROUNDS):
        spread = 1.0 / (1.0 + tau[:, None] * values)
        y = (first + tau[:, None] * r) * spread
        error = np.maximum(sums.c - 2 * (y * r).sum(axis=1) + (values * (y**2 + spread)).sum(axis=1), 0.0)
        new = (noise.shape + sums.cells / 2) / (noise.rate + error / 2)
        done = np.abs(new - tau) <= SETTLE_TOLERANCE * tau
        tau = new
        if done.all():
            break
    return tau


# the coordinates of the answer, and dimensions that fade --------------------------------------------------------------
class CoordinateChange(NamedTuple):
    """A change of coordinates that leaves every rating as it is: g -> G g + s for users, h -> H h + t for items."""

    G: Array
    s: Array
    H: Array
    t: Array
    mean: float  # what moved from the biases into the global mean


def canonical_change(users: VectorPrior, items: VectorPrior) -> CoordinateChange:
    """Coordinates in which users' factors are white, items' uncorrelated by falling variance, biases apart from both.

    A bias that goes with the factors, b = b' + c'z, is a shift of the other side's factors by c.
    """
    k = len(users.mean) - 1
    c = np.linalg.solve(users.cov[:k, :k], users.cov[:k, k])
    e = np.linalg.solve(items.cov[:k, :k], items.cov[:k, k])
    L = np.linalg.cholesky(users.cov[:k, :k])
    values, V = np.linalg.eigh(L.T @ items.cov[:k, :k] @ L)
    V = V[:, np.argsort(-values, kind="stable")]
    V = V * np.where(((L @ V).T @ (items.mean[:k] + c)) < 0, -1.0, 1.0)  # the usual item has positive loadings
    G, H = np.eye(k + 1), np.eye(k + 1)
    G[:k, :k], G[k, :k] = np.linalg.solve(L @ V, np.eye(k)), -c
    H[:k, :k], H[k, :k] = (L @ V).T, -e
    # z' (w + c) + (b_u - c'z) + b_i, then (z + e)' v + (b_i - e'v) with v = w + c
    s = np.append(G[:k, :k] @ e, 0.0)
    t = np.append(H[:k, :k] @ c, -e @ c)
    mean_u, mean_i = float(G[k] @ users.mean), float(H[k] @ items.mean + t[k])
    s[k], t[k] = -mean_u, -mean_i
    t[k] += -e @ c
    return CoordinateChange(G, s, H, t, mean_u + mean_i)


def principal_change(items: VectorBeliefs) -> CoordinateChange:
    """The rotation to the items' principal axes: all that leaves the priors of points as they are."""
    k = items.mean.shape[1] - 1
    W = items.mean[:, :k]
    values, V = np.linalg.eigh(W.T @ W) if k else (np.empty(0), np.empty((0, 0)))
    V = V[:, np.argsort(-values, kind="stable")]
    V = V * np.where((W @ V).sum(axis=0) < 0, -1.0, 1.0)
    R = np.eye(k + 1)
    R[:k, :k] = V.T
    return CoordinateChange(R, np.zeros(k + 1), R, np.zeros(k + 1), 0.0)


def canonical_state(state: SweepState, kind: FitKind) -> tuple[SweepState, float]:
    """The end of a fit in the coordinates of the answer, and what these move into the global mean."""
    change = principal_change(state.items) if kind.point else canonical_change(state.user_prior, state.item_prior)
    users = state.user_prior.changed(change.G, change.s)
    items, prior = state.items.changed(change.H, change.t), state.item_prior.changed(change.H, change.t)
    noise = Gamma(KNOWN_SHAPE, KNOWN_SHAPE / float(state.tau[0])) if kind.shared else state.noise
    return SweepState(VectorBeliefs(items.mean, items.cov), users, prior, noise, np.empty(0)), change.mean


def determined(items: VectorBeliefs, prior: VectorPrior) -> Array:
    """How many items each dimension tells from the prior: the sum of 1 - posterior / prior variance (MacKay 1992)."""
    i, j = lower(len(prior.mean))
    return (1.0 - items.cov[:, i == j] / np.diag(prior.cov)).sum(axis=0)


def without_faded(state: SweepState, rated: Mask) -> SweepState | None:
    """The state without the dimensions that tell hardly any item from the prior; None where there are none.

    Left alone they fade like one over the number of sweeps. Whoever asks must see whether the objective rises.
    """
    turn = canonical_change(state.user_prior, state.item_prior)
    prior, items = state.item_prior.changed(turn.H, turn.t), state.items.changed(turn.H, turn.t)
    known = determined(items.rows(rated), prior)[:-1]
    weak = np.flatnonzero((known < FADED_SHARE * rated.sum()) & (np.diag(prior.cov)[:-1] > 1.01 * VANISHED_VARIANCE))
    if not len(weak):
        return None
    i, j = lower(len(prior.mean))
    items.mean[:, weak] = prior.mean[weak] = 0.0
    items.cov[:, np.isin(i, weak) | np.isin(j, weak)] = 0.0
    items.cov[:, np.isin(i, weak) & (i == j)] = prior.cov[weak, weak] = VANISHED_VARIANCE
    items = items._replace(logdet=np.linalg.slogdet(unpack(items.cov.T, len(prior.mean)))[1])
    users = state.user_prior.changed(turn.G, turn.s)
    users.mean[-1] += turn.mean  # there is no global mean inside a fit
    return state._replace(items=items, user_prior=users, item_prior=prior)
