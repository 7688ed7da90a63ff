"""What a fitted factorisation says: predictions with their doubt, recommendations, new users, scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fold import Run
from lowdim.math.linalg import Array, unpack
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Posterior
from lowdim.models.ratings.beliefs import Beliefs, Gamma, Prior, grid_means, pair_means, row_sums
from lowdim.models.ratings.sweep import FADING, LEAST, How, State, determined, settle, tables, user_half
from lowdim.sources.arrays import SparseSource, as_source
from lowdim.sources.ratings import Ratings, as_ids, as_ratings, is_triples, look_up, triples
from lowdim.sources.source import Block, Source
from lowdim.text.messages import error

PAIRS = 2**16  # pairs predicted together
LEVEL = 0.9  # of the intervals that `evaluate` counts


class Factors(NamedTuple):
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
    def items(self) -> Beliefs:
        return Beliefs(self.item_mean, self.item_cov, np.zeros(len(self.item_mean)))

    @property
    def how(self) -> How:
        return How(self.point, self.shared, "float64")

    @property
    def state(self) -> State:
        """As the fit left it, for users it has not seen."""
        return State(self.items, Prior(*self.user_prior), Prior(*self.item_prior), Gamma(*self.noise), np.empty(0))


class Placed(NamedTuple):
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
    seen: NDArray[np.intp]  # places of the items rated

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
    """How ratings that were held out are met; `coverage` is the share inside the 90 % intervals."""

    ratings: int
    rmse: float
    mae: float
    log_density: float
    coverage: float


class RatingModel(LatentModel):
    """The verbs of a model of ratings; rows are users, and what they are asked about are pairs."""

    params_: Factors
    columns: Any
    duplicates: str
    scale: Any

    # single ratings ------------------------------------------------------------------------------
    def predict(self, users: Any, items: Any = None, *, return_std: bool = False, interval: float | None = None) -> Any:
        """The rating of each pair of a user and an item, by id (by place where the fit was to a matrix).

        Without `items`, a table of (user, item) stands for its pairs, a `User` for all items, and a matrix for all
        cells of its rows: users placed by what they rated, as `reconstruct` does it.
        One user may come with many items and one item with many users; a `User` of `fold_in` is a user too. Who
        or what was not in the fit is at the prior: an unknown user of a known item gets what users think of it
        on average, an unknown pair the mean of all. `return_std=True` adds the standard deviation of a rating:
        noise and every doubt about user and item. `interval=0.9` gives (mean, low, high).
        """
        check_is_fitted(self)
        if interval is not None and (return_std or not 0 < interval < 1):
            words = "a share between 0 and 1, without return_std"
            raise error("LD210", option="interval", value=interval, allowed=words)
        if items is None and isinstance(users, User):
            items = self._item_ids()
        if items is None and not is_triples(users):
            return self._grid(users, return_std, interval)
        one = items is not None and np.ndim(items) == 0 and (isinstance(users, User) or np.ndim(users) == 0)
        mean, scale, shape = (
            self._listed(users, rated=False)[1:] if items is None else self._rated(users, self._item_places(items))
        )
        parts = [mean]
        if return_std:
            parts = [mean, scale * np.sqrt(shape / (shape - 1))]
        elif interval is not None:
            reach = student.ppf(0.5 + interval / 2, 2 * shape) * scale
            parts = [mean, mean - reach, mean + reach]
        if self.scale is not None:
            parts = [part if return_std and k else np.clip(part, *self.scale) for k, part in enumerate(parts)]
        out = tuple(float(part[0]) if one else part for part in parts)
        return out if len(out) > 1 else out[0]

    def _grid(self, X: Any, return_std: bool, interval: float | None) -> Any:
        """Every cell of these rows."""
        if return_std or interval is not None:
            raise error("LD210", option="items", value=None, allowed="the items, or impute(X, return_std=True)")
        return self.reconstruct(X)

    def _user_places(self, users: Any) -> NDArray[np.intp]:
        known = self.params_.user_ids
        return look_up(as_ids(users, "users", "user"), np.arange(len(self.params_.shape)) if known is None else known)

    def _item_places(self, items: Any) -> NDArray[np.intp]:
        return look_up(as_ids(items, "items", "item"), self._item_ids())

    def _item_ids(self) -> NDArray[Any]:
        known = self.params_.item_ids
        return np.arange(len(self.params_.item_mean)) if known is None else known

    def _rated(self, users: Any, items: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """Mean, scale and half the degrees of freedom of Student's t of each pair, in the table's units."""
        if isinstance(users, User):
            return self._of_pairs(users, np.zeros(len(items), dtype=np.intp), items)
        places = self._user_places(users)
        if len(places) != len(items) and 1 not in (len(places), len(items)):
            raise error("LD277", users=len(places), items=len(items))
        places, items = np.broadcast_arrays(places, items)
        return self._of_pairs(None, places, items)

    def _of_pairs(self, user: User | None, u: NDArray[np.intp], i: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        parts = [self._pairs(user, u[at : at + PAIRS], i[at : at + PAIRS]) for at in range(0, max(len(u), 1), PAIRS)]
        mean, scale, shape = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, scale, shape

    def _pairs(self, user: User | None, u: NDArray[np.intp], i: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        p = self.params_
        if user is None:
            users = chosen(p.user_mean, p.user_cov, p.user_prior, u)
            shape, rate = np.where(u < 0, p.noise[0], p.shape[u]), np.where(u < 0, p.noise[1], p.rate[u])
        else:
            users = Beliefs(np.tile(user.mean, (len(u), 1)), np.tile(user.cov, (len(u), 1)), np.zeros(len(u)))
            shape, rate = np.full(len(u), user.shape), np.full(len(u), user.rate)
        mean, var = pair_means(users, chosen(p.item_mean, p.item_cov, p.item_prior, i))
        unit = 1.0 / float(self.frame_.scale[0])
        scale = np.sqrt((var * (shape - 1.0) + rate) / shape)  # its variance is then the exact one, var + E[1 / tau]
        return mean * unit + float(self.frame_.shift[0]), scale * unit, shape

    # held-out ratings ----------------------------------------------------------------------------
    def _listed(self, X: Any, rated: bool) -> tuple[Array, Array, Array, Array]:
        """The same of a table with a row for each pair."""
        known = self.params_.user_ids
        users = np.arange(len(self.params_.shape)) if known is None else known
        found = triples(X, self.columns, users=users, items=self._item_ids(), rated=rated)
        return (found.values, *self._of_pairs(None, found.u, found.i))

    def _held_out(self, X: Any) -> tuple[Array, Array, Array, Array]:
        """Values of the ratings in X, and mean, scale and half the degrees of freedom of each."""
        check_is_fitted(self)
        p = self.params_
        if is_triples(X):
            found = self._listed(X, rated=True)
        else:
            ratings = as_ratings(X, duplicates=self.duplicates)
            self._check_width(ratings)
            if ratings.n != len(p.shape):
                raise error("LD275", n=ratings.n, d=ratings.d, users=len(p.shape), items=len(p.item_mean))
            u, i, values = ratings.places()
            found = (values, *self._of_pairs(None, u, i))
        if not len(found[0]):
            raise error("LD276")
        return found

    def score_samples(self, X: Any, *, run: Run | None = None) -> Array:
        """Log density of each rating in X, a table of triples or a matrix of the fitted users and items.

        In the order of the table, or of the matrix by rows. The users are those of the fit; others are at the prior.
        """
        values, mean, scale, shape = self._held_out(X)
        return np.asarray(student.logpdf((values - mean) / scale, 2 * shape) - np.log(scale))

    def score(self, X: Any, y: Any = None) -> float:  # type: ignore[override]
        """Mean log density of the ratings in X."""
        return float(self.score_samples(X).mean())

    def rmse(self, X: Any) -> float:
        """Root mean squared error of the ratings in X."""
        return self.evaluate(X).rmse

    def evaluate(self, X: Any) -> Evaluation:
        """Errors, log density and coverage of ratings that the fit has not seen."""
        values, mean, scale, shape = self._held_out(X)
        reach = student.ppf(0.5 + LEVEL / 2, 2 * shape) * scale
        inside = np.abs(values - mean) <= reach
        density = student.logpdf((values - mean) / scale, 2 * shape) - np.log(scale)
        off = values - (mean if self.scale is None else np.clip(mean, *self.scale))
        return Evaluation(
            len(values),
            float(np.sqrt((off**2).mean())),
            float(np.abs(off).mean()),
            float(density.mean()),
            float(inside.mean()),
        )

    # one user ------------------------------------------------------------------------------------
    def fold_in(self, items: Any, values: Any) -> User:
        """A user who was not in the fit, placed by their ratings of these items: in closed form but for the noise.

        Items that are not known say nothing. Nothing of the model changes.
        """
        check_is_fitted(self)
        places = self._item_places(items)
        found = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if len(found) != len(places):
            raise error("LD277", users=len(found), items=len(places))
        fine = places >= 0
        if not np.isfinite(found[fine]).all():
            raise error("LD272", column="values", what="missing or infinite (infinity)")
        p, where = self.params_, (np.zeros(fine.sum(), dtype=int), places[fine])
        one = sp.coo_array((found[fine], where), (1, len(p.item_mean)))
        X = as_ratings(one, duplicates=self.duplicates).matrix
        got = place(p.state, tables(p.items, p.how), p.how, framed(X, self._unit, "float64"))
        return User(got.mean[0], got.packed[0], float(got.shape[0]), float(got.rate[0]), places[fine])

    @property
    def _unit(self) -> tuple[float, float]:
        return float(self.frame_.shift[0]), float(self.frame_.scale[0])

    def recommend(self, user: Any, n: int = 10, *, exclude_seen: bool = True) -> Recommended:
        """The n items a user is expected to rate highest; a user who is not known is at the prior."""
        check_is_fitted(self)
        p, places = self.params_, np.arange(len(self.params_.item_mean))
        if not isinstance(n, int | np.integer) or n < 0:
            raise error("LD210", option="n", value=n, allowed="a whole number >= 0")
        new = isinstance(user, User)
        at = -1 if new else int(self._user_places(user)[0])
        seen = user.seen if new else p.seen[p.ptr[at] : p.ptr[at + 1]] if at >= 0 else np.empty(0, dtype=np.intp)
        left = np.setdiff1d(places, seen) if exclude_seen else places
        mean, scale, shape = self._of_pairs(user if new else None, np.full(len(left), at), left)
        best = np.argsort(-mean, kind="stable")[:n]
        shown = mean if self.scale is None else np.clip(mean, *self.scale)
        std = scale * np.sqrt(shape / (shape - 1))
        return Recommended(self._item_ids()[left[best]], shown[best], std[best])

    # rows: users, old or new -----------------------------------------------------------------------
    def _source(self, X: Any) -> Source:
        """Users as rows with a column for each item of the fit, whatever they came as."""
        check_is_fitted(self)
        if is_triples(X) or sp.issparse(X):
            X = as_ratings(X, columns=self.columns, duplicates=self.duplicates, items=self._item_ids())
        source = SparseSource(X.matrix, "gaps", columns=None) if isinstance(X, Ratings) else as_source(X)
        self._check_width(source)
        return source

    def _posterior(self, params: Factors, block: Block) -> Any:
        mask = np.ones(block.x.shape, dtype=bool) if block.mask is None else block.mask
        rows, cols = np.nonzero(mask)
        ptr = np.append(0, np.cumsum(np.bincount(rows, minlength=block.rows)))
        X = sp.csr_array((block.x[rows, cols], cols, ptr), shape=block.x.shape)
        return place(params.state, tables(params.items, params.how), params.how, X)

    def _decode(self, params: Factors, posterior: Any) -> Cells:
        users = Beliefs(posterior.mean, posterior.packed, np.zeros(len(posterior.mean)))
        mean, var = grid_means(users, params.items)
        shape, rate = (
            (posterior.shape, posterior.rate)
            if isinstance(posterior, Placed)
            else (np.full(len(mean), part) for part in params.noise)
        )
        return Cells(mean, var, (rate / (shape - 1))[:, None])

    def _cells(self, block: Block) -> Array:
        found = super()._cells(block)
        return found if self.scale is None else np.clip(found, *self.scale)

    def _prior(self, params: Factors, n: int) -> Posterior:
        mean, cov = params.user_prior
        i, j = np.tril_indices(len(mean))
        return Posterior(np.tile(mean, (n, 1)), np.tile(cov[i, j], (n, 1)), np.zeros(n))

    def _draw(self, params: Factors, posterior: Any, rng: list[np.random.Generator]) -> Array:
        """Users and their noise drawn from what is believed of them, then their ratings of every item."""
        q, m = posterior.mean.shape[1], len(params.item_mean)
        shape, rate = (
            (posterior.shape, posterior.rate)
            if isinstance(posterior, Placed)
            else (np.full(len(rng), part) for part in params.noise)
        )
        values, V = np.linalg.eigh(unpack(posterior.packed.T, q))
        roots = V * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        out = np.empty((len(rng), m))
        for row, one in enumerate(rng):
            g = posterior.mean[row] + roots[row] @ one.standard_normal(q)
            tau = one.gamma(shape[row]) / rate[row]
            out[row] = params.item_mean[:, :-1] @ g[:-1] + params.item_mean[:, -1] + g[-1]
            out[row] += one.standard_normal(m) / np.sqrt(tau)
        return out

    def _redraw(self, params: Factors, rng: np.random.Generator) -> Factors:
        q = params.item_mean.shape[1]
        values, V = np.linalg.eigh(unpack(params.item_cov.T, q))
        step = np.einsum(
            "nij,nj->ni", V * np.sqrt(np.maximum(values, 0.0))[:, None, :], rng.standard_normal((len(V), q))
        )
        return params._replace(item_mean=params.item_mean + step, item_cov=np.zeros_like(params.item_cov))

    def _axes(self, params: Factors) -> Array:
        q = params.item_mean.shape[1]
        return np.eye(q)[:, : q - 1]


def place(state: State, items: tuple[Any, Any], how: How, X: sp.csr_array) -> Placed:
    """Users placed by their ratings, X in the frame's units; their precisions settled, not one step towards it.

    Where items are points, users still are not: their beliefs are then exact.
    """
    sums = row_sums(X, *items)
    tau = np.full(X.shape[0], state.noise.mean)
    tau = tau if how.shared else settle(sums, state.user_prior, state.noise)
    users = user_half(sums, state, tau, how._replace(point=False))
    shape = np.full(len(tau), float(state.noise.shape)) + (0.0 if how.shared else sums.cells / 2)
    return Placed(users.found.mean, users.found.cov, np.where(sums.cells > 0, users.bound, 0.0), shape, shape / tau)


def framed(X: sp.csr_array, unit: tuple[float, float], dtype: str) -> sp.csr_array:
    """Stored ratings in the frame's units."""
    return sp.csr_array((((X.data - unit[0]) * unit[1]).astype(dtype), X.indices, X.indptr), shape=X.shape)


def chosen(mean: Array, cov: Array, prior: tuple[Array, Array], at: NDArray[np.intp]) -> Beliefs:
    """Beliefs about the vectors at these places; at place -1, the prior."""
    known, (centre, spread) = at >= 0, prior
    i, j = np.tril_indices(len(centre))
    spread = spread[i, j]
    return Beliefs(
        np.where(known[:, None], mean[at], centre), np.where(known[:, None], cov[at], spread), np.zeros(len(at))
    )


def strength(items: Beliefs, prior: Prior, how: How) -> Array:
    """How many items each dimension tells from the prior; of points, how many dimensions of its size would be one."""
    k = len(prior.mean) - 1
    if not how.point:
        found = np.maximum(determined(items, prior)[:k], 0.0)
        return np.where(np.diag(prior.cov)[:k] > 1.01 * LEAST, found, 0.0) / max(len(items.mean), 1)
    size = (items.mean[:, :k] ** 2).sum(axis=0)
    return size / max(float(size.max(initial=0.0)), 1e-300)


def kept(params: Factors) -> NDArray[np.bool_]:
    """The dimensions that the ratings need."""
    return np.asarray(params.known >= FADING)
