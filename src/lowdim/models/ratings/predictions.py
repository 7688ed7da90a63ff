"""Ratings predicted by a fitted factorisation: users placed by their ratings, and the law of each pair's rating."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import t as student

from lowdim.maths.linalg import Array, unpack
from lowdim.maths.scale import LARGEST
from lowdim.models.base.results import Posterior
from lowdim.models.ratings.beliefs import Gamma, VectorBeliefs, VectorPrior, pair_means, row_sums
from lowdim.models.ratings.sweep import (
    FADED_SHARE,
    VANISHED_VARIANCE,
    FitKind,
    SweepState,
    determined,
    settle_precisions,
    user_half,
)
from lowdim.sources.ratings import as_ids, look_up
from lowdim.sources.views import HUGE_SCALE

PAIRS_AT_ONCE = 2**16  # pairs predicted together
EVALUATED_LEVEL = 0.9  # of the intervals that `evaluate` counts
Places = NDArray[np.intp]


class RatingFactors(NamedTuple):
    """Everything fitted, in the frame's units: beliefs, noise and priors; ids, and who rated what."""

    item_mean: Array  # items x (k+1): factors, bias
    item_cov: Array  # packed
    user_mean: Array
    user_cov: Array
    shape: Array  # of each user's noise precision
    rate: Array
    user_prior: tuple[Array, Array]
    item_prior: tuple[Array, Array]
    noise: tuple[float, float]
    known: Array  # k, the share of items that a dimension tells from the prior
    point: bool
    shared: bool
    user_ids: Any
    item_ids: Any
    ptr: NDArray[np.int64]
    seen: NDArray[np.int64]

    @property
    def items(self) -> VectorBeliefs:
        return VectorBeliefs(self.item_mean, self.item_cov, np.zeros(len(self.item_mean)))

    @property
    def kind(self) -> FitKind:
        return FitKind(self.point, self.shared, "float64")

    @property
    def state(self) -> SweepState:
        """As the fit left it, for users it has not seen."""
        priors = VectorPrior(*self.user_prior), VectorPrior(*self.item_prior)
        return SweepState(self.items, *priors, Gamma(*self.noise), np.empty(0))

    @property
    def kept(self) -> NDArray[np.bool_]:
        """The dimensions that the ratings need."""
        return np.asarray(self.known >= FADED_SHARE)

    @property
    def variances(self) -> Array:
        """Prior variance of the items' factors in each dimension; of points, their mean square."""
        if self.point:
            return np.asarray((self.item_mean[:, :-1] ** 2).mean(axis=0))
        return np.asarray(np.diag(self.item_prior[1])[:-1])

    def users_by_place(self) -> NDArray[Any]:
        """The users' ids, or their places where the fit was to a matrix."""
        return np.arange(len(self.shape)) if self.user_ids is None else self.user_ids

    def items_by_place(self) -> NDArray[Any]:
        return np.arange(len(self.item_mean)) if self.item_ids is None else self.item_ids

    def user_places(self, users: Any) -> Places:
        """The place of each id; -1 where it was not in the fit."""
        return look_up(as_ids(users, "users", "user"), self.users_by_place())

    def item_places(self, items: Any) -> Places:
        return look_up(as_ids(items, "items", "item"), self.items_by_place())


class PlacedUsers(NamedTuple):
    """Posteriors of users with the noise of each."""

    mean: Array
    packed: Array
    log_density: Array
    shape: Array
    rate: Array

    def turned(self, T: Array) -> Posterior:
        return Posterior(*self[:3]).turned(T)


class User(NamedTuple):
    """A user who was not in the ratings: what `fold_in` gives, and `predict` and `recommend` take."""

    mean: Array  # factors, bias
    cov: Array  # packed
    shape: float
    rate: float
    seen: Places  # places of the items rated

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


class RatingLaw(NamedTuple):
    """Student's t of each of some ratings, in the table's units."""

    mean: Array
    scale: Array
    shape: Array  # half the degrees of freedom

    def std(self) -> Array:
        return np.asarray(self.scale * np.sqrt(self.shape / (self.shape - 1)))

    def reach(self, level: float) -> Array:
        """Half the width of the interval that holds a rating with this probability."""
        with np.errstate(over="ignore"):
            return np.asarray(np.minimum(student.ppf(0.5 + level / 2, 2 * self.shape) * self.scale, LARGEST))

    def log_density(self, values: Array) -> Array:
        off = (values / 2 - self.mean / 2) / (self.scale / 2)  # halves: a difference may be beyond the largest double
        return np.asarray(student.logpdf(off, 2 * self.shape) - np.log(self.scale))


def predict_pairs(
    params: RatingFactors, unit: tuple[float, float], user: User | None, u: Places, i: Places
) -> RatingLaw:
    """The rating of each pair of places, -1 being the prior; `user`, where given, stands for every u."""
    starts = range(0, max(len(u), 1), PAIRS_AT_ONCE)
    parts = [
        _predict_pairs(params, unit, user, u[at : at + PAIRS_AT_ONCE], i[at : at + PAIRS_AT_ONCE]) for at in starts
    ]
    return RatingLaw(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _predict_pairs(p: RatingFactors, unit: tuple[float, float], user: User | None, u: Places, i: Places) -> RatingLaw:
    if user is None:
        users = beliefs_at(p.user_mean, p.user_cov, p.user_prior, u)
        shape, rate = np.where(u < 0, p.noise[0], p.shape[u]), np.where(u < 0, p.noise[1], p.rate[u])
    else:
        users = VectorBeliefs(np.tile(user.mean, (len(u), 1)), np.tile(user.cov, (len(u), 1)), np.zeros(len(u)))
        shape, rate = np.full(len(u), user.shape), np.full(len(u), user.rate)
    mean, var = pair_means(users, beliefs_at(p.item_mean, p.item_cov, p.item_prior, i))
    scale = np.sqrt((var * (shape - 1.0) + rate) / shape)  # its variance is then the exact one, var + E[1 / tau]
    size = 1.0 / unit[1]
    return RatingLaw(mean * size + unit[0], scale * size, shape)


def beliefs_at(mean: Array, cov: Array, prior: tuple[Array, Array], at: Places) -> VectorBeliefs:
    """Beliefs about the vectors at these places; at place -1, the prior."""
    known, (center, spread) = at >= 0, prior
    i, j = np.tril_indices(len(center))
    return VectorBeliefs(
        np.where(known[:, None], mean[at], center), np.where(known[:, None], cov[at], spread[i, j]), np.zeros(len(at))
    )


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
    size: Array = (items.mean[:, :k] ** 2).sum(axis=0)
    return size / max(float(size.max(initial=0.0)), 1e-300)


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
