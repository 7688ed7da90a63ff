"""One sweep of a factorisation: users from items, all that is shared from users; and the coordinates of the answer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import Array, lower, unpack
from lowdim.models.ratings.beliefs import (
    Gamma,
    RowSums,
    Sweep,
    VectorBeliefs,
    VectorPrior,
    column_sums,
    expected_errors,
    extended,
    log_gamma_prior,
    log_hyper,
    log_prior,
    packed_squares,
    points_of,
    posterior_beliefs,
    precision,
    refit_gamma,
    refit_prior,
    row_sums,
    second_moments,
)

IMAGINED_VECTORS = 1.0  # imagined users and items that keep a prior's covariance regular; one vanishes among hundreds
START_FACTOR_VARIANCE = 0.05  # variance of items' factors to start from: about what movielens_small ends with (0.07)
VANISHED_VARIANCE = 1e-4  # and what those imagined items have, so that a dimension nobody needs can vanish
BIAS_VARIANCE = 0.2  # variance of biases to start from, as a share of the ratings' variance
START_NOISE = Gamma(3.0, 2.0)  # to start from: movielens_small ends with shape 3.3 and mean noise 0.65 of the variance
NOISE_GAIN = 1.2  # precision times spread of the noise, in units of the ratings, as START_NOISE has it
SETTLE_ROUNDS = 200  # of settling; each shrinks the difference at least by half on movielens_small
SETTLE_TOLERANCE = 1e-13  # relative
FADED_SHARE = 0.01  # share of items that a dimension must be able to tell from the prior, or it is tried without


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


class UserStep(NamedTuple):
    """Beliefs about the users of a tile, their noise precisions, and what they add to the objective."""

    beliefs: VectorBeliefs
    tau: Array
    log_tau: Array
    error: Array
    bound: Array


def imagined(k: int) -> tuple[VectorPrior, VectorPrior]:
    """What the imagined users and items are like."""
    zero = np.zeros(k + 1)
    users, items = (np.append(np.full(k, variance), BIAS_VARIANCE) for variance in (1.0, VANISHED_VARIANCE))
    return VectorPrior(zero, np.diag(users)), VectorPrior(zero, np.diag(items))


def map_spread(rows: Array, columns: Array) -> float:
    """The variance of items' factors at which points do not follow noise.

    Points with these priors are a fit with a penalty on the nuclear norm, 1 / sqrt(variance); noise alone has a
    spectral norm near sqrt(a) + sqrt(b) with a, b the ratings in the rows and columns of a usual rating.
    """
    a, b = (float((n**2).sum() / n.sum()) for n in (rows, columns))
    return float((NOISE_GAIN * (np.sqrt(a) + np.sqrt(b))) ** -2)


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


def user_half(sums: RowSums, state: SweepState, tau: Array, kind: FitKind) -> UserStep:
    """Beliefs about users given items, then about their precisions."""
    beliefs = posterior_beliefs(sums.A * tau[:, None], sums.r * tau[:, None], state.user_prior)
    beliefs = points_of(beliefs) if kind.point else beliefs
    error = expected_errors(sums, beliefs)
    if kind.shared:
        log_tau, gain = np.log(tau), np.zeros(len(tau))
    else:
        precisions = precision(sums, error, state.noise)
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
    totals = [
        float(rated.sum()),
        *(float(part[rated].sum()) for part in (users.tau, users.log_tau, users.error, sums.cells, users.bound)),
    ]
    return users.tau, Sweep(A, r, off.sum(axis=0), second_moments(off, cov).sum(axis=0), np.array(totals))


def item_tables(items: VectorBeliefs, kind: FitKind) -> tuple[Any, Any]:
    """The items as the users' sums need them."""
    return packed_squares(items.mean, items.cov).astype(kind.dtype), extended(items.mean).astype(kind.dtype)


def sweep_objective(state: SweepState, stats: Sweep, rated: Any, kind: FitKind) -> float:
    """The bound (or, of points, the log posterior) of exactly this state and the users it led to."""
    items = VectorBeliefs(*(part[rated] for part in state.items))
    value = float(stats.totals[5] + log_prior(items, state.item_prior, kind.point).sum())
    if kind.point:
        return value
    like_users, like_items = imagined(len(stats.first) - 1)
    value += log_hyper(state.user_prior, like_users, IMAGINED_VECTORS)
    return value + log_hyper(state.item_prior, like_items, IMAGINED_VECTORS)


def update_state(state: SweepState, stats: Sweep, tau: Array, rated: Any, kind: FitKind, floor: float) -> SweepState:
    """Items given users, then every prior given both; each step can only raise the objective."""
    n, total, logs, error, count = stats.totals[:5]
    more = 1.0
    if kind.shared:  # first, as the errors are those of the old items
        new = count / max(error, floor * count)
        more, tau = new / tau[0], np.full(len(tau), new)
    items = posterior_beliefs(stats.A * more, stats.r * more, state.item_prior)
    items = points_of(items) if kind.point else items
    if kind.point:
        return state._replace(items=items, tau=tau)
    like_users, like_items = imagined(len(stats.first) - 1)
    users = refit_prior(n, stats.first, stats.second, state.user_prior, like_users, IMAGINED_VECTORS)
    off, cov = items.mean[rated] - state.item_prior.mean, items.cov[rated]
    squares = second_moments(off, cov).sum(axis=0)
    item_prior = refit_prior(len(off), off.sum(axis=0), squares, state.item_prior, like_items, IMAGINED_VECTORS)
    noise = state.noise if kind.shared else refit_gamma(total / n, logs / n, state.noise.shape, floor)
    return SweepState(items, users, item_prior, noise, tau)


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


def determined(items: VectorBeliefs, prior: VectorPrior) -> Array:
    """How many items each dimension tells from the prior: the sum of 1 - posterior / prior variance (MacKay 1992)."""
    i, j = lower(len(prior.mean))
    return np.asarray((1.0 - items.cov[:, i == j] / np.diag(prior.cov)).sum(axis=0))


def without_faded(state: SweepState, rated: Any) -> SweepState | None:
    """The state without the dimensions that tell hardly any item from the prior; None where there are none.

    Left alone they fade like one over the number of sweeps. Whoever asks must see whether the objective rises.
    """
    turn = canonical_change(state.user_prior, state.item_prior)
    prior = change_prior(state.item_prior, turn.H, turn.t)
    items = change_beliefs(state.items, turn.H, turn.t)
    known = determined(VectorBeliefs(*(part[rated] for part in items)), prior)[:-1]
    variances = np.diag(prior.cov)[:-1]
    weak = np.flatnonzero((known < FADED_SHARE * rated.sum()) & (variances > 1.01 * VANISHED_VARIANCE))
    if not len(weak):
        return None
    i, j = lower(len(prior.mean))
    mean, cov = items.mean.copy(), items.cov.copy()
    mean[:, weak] = 0.0
    cov[:, np.isin(i, weak) | np.isin(j, weak)] = 0.0
    cov[:, np.isin(i, weak) & (i == j)] = VANISHED_VARIANCE
    item_prior = VectorPrior(prior.mean.copy(), prior.cov.copy())
    item_prior.mean[weak] = 0.0
    item_prior.cov[weak, weak] = VANISHED_VARIANCE
    logdet = np.linalg.slogdet(unpack(cov.T, len(prior.mean)))[1]
    users = change_prior(state.user_prior, turn.G, turn.s)
    users.mean[-1] += turn.mean  # there is no global mean inside a fit
    return state._replace(items=VectorBeliefs(mean, cov, logdet), user_prior=users, item_prior=item_prior)


def change_prior(prior: VectorPrior, M: Array, shift: Array) -> VectorPrior:
    """The prior of M g + shift."""
    return VectorPrior(M @ prior.mean + shift, M @ prior.cov @ M.T)


def change_beliefs(beliefs: VectorBeliefs, M: Array, shift: Array) -> VectorBeliefs:
    """Beliefs about M g + shift."""
    q = len(shift)
    i, j = lower(q)
    cov = (M @ unpack(beliefs.cov.T, q) @ M.T)[:, i, j]
    return VectorBeliefs(beliefs.mean @ M.T + shift, cov, beliefs.logdet + 2 * np.linalg.slogdet(M)[1])
