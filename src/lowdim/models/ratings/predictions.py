"""Ratings predicted by a fitted factorisation: users placed by their ratings, and the law of each pair's rating."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import t as student

from lowdim.maths.linalg import LARGEST, Array, Index, Mask, lower, square, unpack
from lowdim.models.ratings.sweep import (
    FADED_SHARE,
    VANISHED_VARIANCE,
    FitKind,
    Gamma,
    SweepState,
    VectorBeliefs,
    VectorPrior,
    determined,
    extended,
    packed_squares,
    row_sums,
    settle_precisions,
    user_half,
)
from lowdim.sources.ratings import as_ids, look_up
from lowdim.sources.views import HUGE_SCALE

PAIRS_AT_ONCE = 2**16  # pairs predicted together
EVALUATED_LEVEL = 0.9  # of the intervals that `evaluate` counts


class RatingFactors(NamedTuple):
    """Everything fitted, in the frame's units: beliefs, noise and priors; ids, and who rated what."""

    items: VectorBeliefs
    users: VectorBeliefs
    precisions: Gamma  # of each user's noise
    user_prior: VectorPrior
    item_prior: VectorPrior
    noise: Gamma
    known: Array  # k, the share of items that a dimension tells from the prior
    point: bool
    shared: bool
    user_ids: Any
    item_ids: Any
    ptr: NDArray[np.int64]
    seen: NDArray[np.int64]

    @property
    def kind(self) -> FitKind:
        return FitKind(self.point, self.shared, "float64")

    @property
    def state(self) -> SweepState:
        """As the fit left it, for users it has not seen."""
        return SweepState(self.items, self.user_prior, self.item_prior, self.noise, np.empty(0))

    @property
    def kept(self) -> Mask:
        """The dimensions that the ratings need."""
        return self.known >= FADED_SHARE

    @property
    def variances(self) -> Array:
        """Prior variance of the items' factors in each dimension; of points, their mean square."""
        return (self.items.mean[:, :-1] ** 2).mean(axis=0) if self.point else np.diag(self.item_prior.cov)[:-1]

    @property
    def users_by_place(self) -> NDArray[Any]:
        """The users' ids, or their places where the fit was to a matrix."""
        return np.arange(len(self.users.mean)) if self.user_ids is None else self.user_ids

    @property
    def items_by_place(self) -> NDArray[Any]:
        return np.arange(len(self.items.mean)) if self.item_ids is None else self.item_ids

    def user_places(self, users: Any) -> Index:
        """The place of each id; -1 where it was not in the fit."""
        return look_up(as_ids(users, "users", "user"), self.users_by_place)

    def item_places(self, items: Any) -> Index:
        return look_up(as_ids(items, "items", "item"), self.items_by_place)

    def rated_by(self, user: int) -> Index:
        """Places of the items that the user at a place rated; none of one who was not in the fit."""
        return self.seen[self.ptr[user] : self.ptr[user + 1]] if user >= 0 else np.empty(0, dtype=np.intp)


class User(NamedTuple):
    """A user who was not in the ratings: what `fold_in` gives, and `predict` and `recommend` take."""

    mean: Array  # factors, bias
    cov: Array  # packed
    shape: float
    rate: float
    seen: Index  # places of the items rated

    @property
    def std(self) -> Array:
        """Standard deviations of factors and bias."""
        return np.sqrt(np.diag(unpack(self.cov[:, None], len(self.mean))[0]))


class Recommended(NamedTuple):
    """Items by falling prediction, with the standard deviation of a rating."""

    items: NDArray[Any]
    mean: Array
    std: Array


class Evaluation(NamedTuple):
    """How well held-out ratings are predicted; `coverage` is the share inside the 90 % intervals."""

    ratings: int
    rmse: float
    mae: float
    log_density: float
    coverage: float


# users placed by their ratings ----------------------------------------------------------------------------------------
class PlacedUsers(NamedTuple):
    """Posteriors of users with the noise of each."""

    mean: Array
    packed: Array
    log_density: Array
    shape: Array
    rate: Array


def place_users(state: SweepState, items: tuple[Any, Any], kind: FitKind, X: sp.csr_array) -> PlacedUsers:
    """Users placed by their ratings, X in the frame's units; their precisions settled, not one step towards it.

    Where items are points, users still are not: their beliefs are then exact.
    """
    sums = row_sums(X, *items)
    tau = np.full(X.shape[0], state.noise.mean)
    tau = tau if kind.shared else settle_precisions(sums, state.user_prior, state.noise)
    users = user_half(sums, state, tau, kind._replace(point=False))
    shape = np.full(len(tau), float(state.noise.shape)) + (0.0 if kind.shared else sums.cells / 2)
    log_density = np.where(sums.cells > 0, users.bound, 0.0)
    return PlacedUsers(users.beliefs.mean, users.beliefs.cov, log_density, shape, shape / tau)


def in_frame(X: sp.csr_array, unit: tuple[float, float], dtype: str) -> sp.csr_array:
    """Stored ratings in the frame's units, given as (shift, scale)."""
    shift, scale = unit
    far = scale <= HUGE_SCALE  # differences of such numbers may pass the end of doubles
    cells = X.data * scale - shift * scale if far else (X.data - shift) * scale
    return sp.csr_array((cells.astype(dtype), X.indices, X.indptr), shape=X.shape)


def dimension_strength(items: VectorBeliefs, prior: VectorPrior, kind: FitKind) -> Array:
    """The share of items each dimension tells from the prior; of points, its size beside the largest one's."""
    k = len(prior.mean) - 1
    if not kind.point:
        count = np.maximum(determined(items, prior)[:k], 0.0)
        return np.where(np.diag(prior.cov)[:k] > 1.01 * VANISHED_VARIANCE, count, 0.0) / max(len(items.mean), 1)
    size = (items.mean[:, :k] ** 2).sum(axis=0)
    return size / max(float(size.max(initial=0.0)), 1e-300)


# ratings of pairs -----------------------------------------------------------------------------------------------------
class RatingLaw(NamedTuple):
    """Student's t of each of some ratings, in the table's units."""

    mean: Array
    scale: Array
    shape: Array  # half the degrees of freedom

    def std(self) -> Array:
        return self.scale * np.sqrt(self.shape / (self.shape - 1))

    def reach(self, level: float) -> Array:
        """Half the width of the interval that holds a rating with this probability."""
        with np.errstate(over="ignore"):
            return np.minimum(student.ppf(0.5 + level / 2, 2 * self.shape) * self.scale, LARGEST)

    def log_density(self, values: Array) -> Array:
        off = (values / 2 - self.mean / 2) / (self.scale / 2)  # halves: a difference may be beyond the largest double
        return student.logpdf(off, 2 * self.shape) - np.log(self.scale)


def predict_pairs(p: RatingFactors, unit: tuple[float, float], u: Index, i: Index, user: User | None) -> RatingLaw:
    """The rating of each pair of places, -1 being the prior; a `user`, where given, is the only one, at place 0."""
    users, precisions = p.users, p.precisions
    if user is not None:
        users = VectorBeliefs(user.mean[None], user.cov[None])
        precisions = Gamma(np.array([user.shape]), np.array([user.rate]))
    shift, width, laws = unit[0], 1.0 / unit[1], []
    for begin in range(0, max(len(u), 1), PAIRS_AT_ONCE):
        at, of = u[begin : begin + PAIRS_AT_ONCE], i[begin : begin + PAIRS_AT_ONCE]
        mean, var = pair_means(beliefs_at(users, p.user_prior, at), beliefs_at(p.items, p.item_prior, of))
        shape, rate = (np.where(at < 0, new, old[at]) for new, old in zip(p.noise, precisions, strict=True))
        size = np.sqrt((var * (shape - 1.0) + rate) / shape)  # its variance is then the exact one, var + E[1 / tau]
        laws.append((mean * width + shift, size * width, shape))
    return RatingLaw(*(np.concatenate(part) for part in zip(*laws, strict=True)))


def beliefs_at(beliefs: VectorBeliefs, prior: VectorPrior, at: Index) -> VectorBeliefs:
    """Beliefs about the vectors at these places; at place -1, the prior."""
    known, (i, j) = at[:, None] >= 0, lower(len(prior.mean))
    cov = np.where(known, beliefs.cov[at], prior.cov[i, j])
    return VectorBeliefs(np.where(known, beliefs.mean[at], prior.mean), cov)


def pair_means(users: VectorBeliefs, items: VectorBeliefs) -> tuple[Array, Array]:
    """Mean and variance of the noiseless rating of user t by item t, for each pair t of beliefs."""
    k = users.mean.shape[1] - 1
    z, w = users.mean[:, :k], items.mean[:, :k]
    mean = (z * w).sum(axis=1) + users.mean[:, k] + items.mean[:, k]
    U, V = (unpack(side.cov.T, k + 1) for side in (users, items))
    var = U[:, k, k] + V[:, k, k] + np.einsum("ni,nij,nj->n", z, V[:, :k, :k], z)
    var += np.einsum("ni,nij,nj->n", w, U[:, :k, :k], w) + (U[:, :k, :k] * V[:, :k, :k]).sum(axis=(1, 2))
    var += 2 * (z * V[:, :k, k]).sum(axis=1) + 2 * (w * U[:, :k, k]).sum(axis=1)
    return mean, np.maximum(var, 0.0)


def grid_means(users: VectorBeliefs, items: VectorBeliefs) -> tuple[Array, Array]:
    """The same for every user with every item, users x items: two products of matrices."""
    q = users.mean.shape[1]
    i, j = lower(q + 1)
    turn = [*range(q - 1), q, q - 1]  # the items' (factors, 1, bias) as (factors, bias, 1)
    order = square(q + 1)[np.ix_(turn, turn)][i, j]  # and so their squares
    mean = extended(users.mean) @ extended(items.mean)[:, turn].T
    twice = packed_squares(users.mean, users.cov) * np.where(i == j, 1.0, 2.0)
    return mean, np.maximum(twice @ packed_squares(items.mean, items.cov)[:, order].T - mean**2, 0.0)


def evaluate(values: Array, law: RatingLaw, shown: Array) -> Evaluation:
    """Errors of the predictions `shown`, and how well the law of each rating fits it."""
    size = float(max(np.abs(values).max(initial=0.0), np.abs(shown).max(initial=0.0))) or 1.0
    error = values / size - shown / size  # so that no difference and no square leaves double precision
    return Evaluation(
        len(values),
        min(size * float(np.sqrt((error**2).mean())), LARGEST),
        min(size * float(np.abs(error).mean()), LARGEST),
        float(law.log_density(values).mean()),
        float((np.abs(values / 2 - law.mean / 2) <= law.reach(EVALUATED_LEVEL) / 2).mean()),
    )
