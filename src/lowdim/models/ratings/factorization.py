"""Probabilistic matrix factorisation: users and items as vectors, ratings as their inner products."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lowdim.engine.fold import Run, one_blas_thread, tree, walk
from lowdim.engine.monitor import Fit, Monitor
from lowdim.engine.plan import Cost, plan
from lowdim.math.linalg import Array, lower
from lowdim.models.base.estimator import COUNT, POSITIVE, WHOLE, Absent, Rule
from lowdim.models.base.results import Certificate, em_digits, squared
from lowdim.models.ratings.beliefs import Beliefs, Gamma, Sweep
from lowdim.models.ratings.predictions import Factors, Placed, RatingModel, framed, kept, place, strength
from lowdim.models.ratings.sweep import (
    NOISE,
    SPREAD,
    How,
    State,
    canonical,
    faded,
    map_spread,
    moved,
    objective,
    principal,
    start,
    sweep,
    tables,
    turned,
    update,
)
from lowdim.sources.ratings import MANY, RULES, Ratings, Slab, as_ratings
from lowdim.sources.source import Header, Source, cores
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

FLOOR = 1e-6  # the smallest noise variance, as a share of the ratings' own; below, solves lose what it weighs up
SHARP = 5e5  # the shape of a precision that all users share: as good as known
SPREADS = (1e-300, 1e307)  # of ratings: beyond, their reciprocal is no number
LITTLE = 0.1  # nats that change no answer, however few the ratings
JUMPS = (30, 60, 120, 240, 480)  # sweeps after which fading dimensions are tried without


def _is_scale(v: Any) -> bool:
    return v is None or (isinstance(v, tuple | list) and len(v) == 2 and bool(np.isfinite(v).all()) and v[0] < v[1])


def _is_columns(v: Any) -> bool:
    return v is None or (isinstance(v, tuple | list) and len(v) == 3)


class MatrixFactorization(RatingModel):
    """Probabilistic matrix factorisation: x_ui = b + b_u + b_i + w_i'z_u + e, e ~ N(0, 1/t_u).

    Users (z_u, b_u) and items (w_i, b_i) are Gaussian with full covariances a priori, learnt from all; each user has
    a noise precision t_u of their own, gamma distributed (`noise="shared"`: one for all). `method="variational"`
    keeps Gaussian beliefs about every user and item and switches off dimensions that the ratings do not need
    (`kept_`); `objective_` is its lower bound on the evidence, up to a constant that grows with
    `n_components`: compare fits with as many. `method="map"` fits points, with one noise precision
    for all: the best points for a user's own precision follow that user's noise. In the answer z is white, w has
    uncorrelated dimensions by falling variance, and a new user or item is at the prior.

    Ratings are a table of (user, item, rating) with any ids, `columns` naming the three where there are more; a
    sparse matrix, in which a stored zero is a rating; or an array with NaN where nothing was rated. `duplicates`
    of a pair are an "error", or their "mean" or the "last" counts. Predictions stay in `scale=(low, high)`. Sweeps
    end when `objective_` can gain no more than `tol` a rating, or 0.1 in all.

    Reference: Lawrence seed 2 (matrix factorisation); Lim and Teh (2007); Salakhutdinov and Mnih (2008).

    >>> import numpy as np
    >>> X = np.array([[5.0, 4.0, np.nan], [4.0, np.nan, 1.0], [np.nan, 4.0, 2.0]])
    >>> model = MatrixFactorization(1).fit(X)
    >>> bool(model.predict(0, 2) < model.predict(0, 0))
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": WHOLE,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "method": Rule(lambda v: v in ("variational", "map"), "'variational' or 'map'"),
        "noise": Rule(lambda v: v in ("user", "shared"), "'user' or 'shared'"),
        "duplicates": Rule(lambda v: v in RULES, "'error', 'mean' or 'last'"),
        "columns": Rule(_is_columns, "None or the names of three columns: user, item, rating"),
        "scale": Rule(_is_scale, "None or (low, high)"),
    }
    _objective_name = "lower bound on the log evidence (variational) or log posterior (map)"
    _laws_broken: ClassVar[dict[str, str]] = {
        "score_is_objective": "the objective is a bound or a log posterior; scores are of single ratings",
        "sample_then_fit": "scores are of single ratings of known users",
        "weights_repeat_rows": "a user who counts twice would be two users: there are no row weights",
        "merge_any_order": "what merges are sums over items inside a sweep, tested with the model",
    }

    partial_fit = Absent(
        "every rating of a user bears on all they rated before", "fit again with all ratings; a new user alone: fold_in"
    )

    def __init__(
        self,
        n_components: int = 10,
        *,
        method: str = "variational",
        noise: str = "user",
        columns: Any = None,
        duplicates: str = "error",
        scale: Any = None,
        tol: float = 3e-4,
        max_iter: int = 200,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.noise = noise
        self.columns = columns
        self.duplicates = duplicates
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter

    # fitting -------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, *, run: Run | None = None) -> Self:  # type: ignore[override]
        """Fit users and items to ratings; `y` is ignored."""
        run = Run() if run is None else run
        self._check_options()
        for option, value, fine in (
            ("checkpoint", run.checkpoint, run.checkpoint is None),
            ("engine", run.engine, run.engine in ("threads", "serial")),
        ):
            if not fine:
                raise error(
                    "LD210",
                    option=option,
                    value=value,
                    allowed="no checkpoint, and 'threads' or 'serial': ratings are held in memory",
                )
        ratings = as_ratings(X, columns=self.columns, duplicates=self.duplicates)
        if ratings.matrix.nnz == 0:
            raise error("LD276")
        self._check_scale(ratings)
        plan(type(self).__name__, self._cost(ratings.n, ratings.d), run)
        fit, frame = self._fit(ratings, run)
        return self._keep(fit, frame, ratings.header)

    def _check_scale(self, ratings: Ratings) -> None:
        if self.scale is None:
            return
        low, high = self.scale
        bad = (ratings.matrix.data < low) | (ratings.matrix.data > high)
        if bad.any():
            u, i, values = (part[np.argmax(bad)] for part in ratings.places())
            who = [at if ids is None else ids[at] for at, ids in ((u, ratings.users), (i, ratings.items))]
            raise error("LD274", f"user {who[0]}, item {who[1]}", value=values, low=low, high=high)

    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        assert isinstance(source, Ratings)
        X, k = source.matrix, self.n_components
        middle, spread = centre(X.data)
        point = self.method == "map"
        how = How(point, point or self.noise == "shared", "float32" if X.nnz >= MANY else "float64")
        counts = np.bincount(X.indices, minlength=source.d).astype(np.float64)
        size = map_spread(np.diff(X.indptr).astype(np.float64), counts) if how.point else SPREAD
        noise = NOISE
        if np.ptp(X.data) == 0:  # all alike: nothing to explain, no noise
            size, noise = FLOOR, Gamma(NOISE.shape, NOISE.shape * FLOOR)
        state = start(source.n, source.d, k, how, size, noise)
        with one_blas_thread():
            fit = self._sweeps(source, run, state, how, counts > 0, (middle, 1.0 / spread))
            return self._finish(source, run, fit, how, counts > 0, (middle, spread))

    def _sweeps(self, source: Ratings, run: Run, state: State, how: How, rated: Any, unit: tuple[float, float]) -> Fit:
        """Sweeps over users until the objective has nothing left to gain."""
        nnz, plain, spent = source.matrix.nnz, None, 0
        with Monitor(run, type(self).__name__, max(self.tol * nnz, LITTLE), self.max_iter) as watch:
            while True:
                tau, leaves = np.empty(source.n), _leaves(source, run, state, how, unit)
                stats: Sweep = tree(part for part in _noted(leaves, tau))
                value = objective(state, stats, rated, how) + nnz * np.log(unit[1])
                if plain is not None and not value >= watch.history[-1]:
                    state, plain, spent = plain, None, spent + 1  # the dimensions were needed: as if never tried
                    continue
                watch.see(state, stats, value, False)
                if watch.reason:
                    fit = watch.fit(f"{self.method}, sweeps")
                    return fit._replace(passes=fit.passes + spent)
                if plain is not None:
                    watch.gains.clear()  # what a jump gained says nothing about the pace
                state, plain = update(state, stats, tau, rated, how, FLOOR), None
                less = faded(state, rated) if len(watch.history) in JUMPS and not how.point else None
                if less is not None:
                    state, plain = less, state

    def _finish(
        self, source: Ratings, run: Run, fit: Fit, how: How, rated: Any, unit: tuple[float, float]
    ) -> tuple[Fit, Frame]:
        """The answer in its own coordinates, and every user placed in them."""
        state, (middle, spread) = fit.params, unit
        turn = principal(state.items) if how.point else canonical(state.user_prior, state.item_prior)
        items = turned(state.items, turn.H, turn.t)
        users, own = moved(state.user_prior, turn.G, turn.s), moved(state.item_prior, turn.H, turn.t)
        middle = middle + turn.mean * spread
        k = self.n_components
        known = strength(Beliefs(*(part[rated] for part in items)), own, how)
        noise = state.noise
        if how.shared:
            noise = Gamma(SHARP, SHARP / float(state.tau[0]))
        where = source.matrix
        n, p = source.n, (k + 1) * (k + 2) // 2
        params = Factors(
            items.mean,
            items.cov,
            np.empty((n, k + 1)),
            np.empty((n, p)),
            np.empty(n),
            np.empty(n),
            (users.mean, users.cov),
            (own.mean, own.cov),
            (float(noise.shape), float(noise.rate)),
            known,
            how.point,
            how.shared,
            source.users,
            source.items,
            where.indptr.astype(np.int64),
            where.indices.astype(np.int64),
        )
        tile = partial(_placed, params.state, tables(items, params.how), params.how, (middle, 1.0 / spread))
        for begin, found in walk(tile, source, run):
            rows = slice(begin, begin + len(found.mean))
            params.user_mean[rows], params.user_cov[rows] = found.mean, found.packed
            params.shape[rows], params.rate[rows] = found.shape, found.rate
        d = source.d
        frame = Frame(np.full(d, middle), np.full(d, 1.0 / spread), np.ones(d))
        return fit._replace(params=params, stats=None, passes=fit.passes + 1), frame

    def _cost(self, n: int, d: int) -> Cost:
        q = self.n_components + 1
        table, user = d * (q + 1) * (q + 2) // 2, q * (q + 3) // 2 + 3
        waiting = 2 * cores() + 1 + max(n // 8192, 1).bit_length()
        return Cost(self.max_iter + len(JUMPS) + 1, 0, 8 * (table * waiting + n * user), "fewer n_components", 50)

    def _attributes(self, params: Factors, frame: Frame, fit: Fit) -> dict[str, Any]:
        k, unit = self.n_components, 1.0 / float(frame.scale[0])
        i, j = lower(k + 1)
        user, item = (np.sqrt(np.maximum(cov[:, i == j], 0.0)) for cov in (params.user_cov, params.item_cov))
        found = {
            "user_factors_": params.user_mean[:, :k].copy(),
            "user_bias_": params.user_mean[:, k] * unit,
            "user_factors_std_": user[:, :k].copy(),
            "user_bias_std_": user[:, k] * unit,
            "item_factors_": params.item_mean[:, :k] * unit,
            "item_bias_": params.item_mean[:, k] * unit,
            "item_factors_std_": item[:, :k] * unit,
            "item_bias_std_": item[:, k] * unit,
            "mean_": float(frame.shift[0]),
            "noise_precision_": squared(params.shape / params.rate, 1.0 / unit),
            "relevance_": _sizes(params) * unit,
            "kept_": kept(params),
            "n_components_": k,
        }
        if params.user_ids is not None:
            found |= {"user_ids_": params.user_ids, "item_ids_": params.item_ids}
        return found

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        params: Factors = fit.params
        sizes = _sizes(params)[kept(params)]
        condition = float(sizes.max() / sizes.min()) if len(sizes) and sizes.min() > 0 else 1.0
        reached = em_digits(fit.remaining, len(params.seen))
        digits = float(np.clip(min(15.0 - np.log10(condition), reached), 0.0, 15.0))
        floor = params.noise[1] / params.noise[0] <= 1.01 * FLOOR
        if floor:
            least = squared(np.array(FLOOR), 1.0 / float(frame.scale[0]))
            warn("LD202", floor=float(least), q=self.n_components, rank=self.n_components)
        name = "log posterior" if params.point else "lower bound on the log evidence"
        note = f"{int(kept(params).sum())} of {self.n_components} dimensions are needed"
        return Certificate(
            fit.solver,
            fit.passes,
            fit.objective,
            name,
            fit.converged,
            fit.reason,
            fit.remaining,
            0.0,
            condition,
            digits,
            ("noise_precision_",) if floor else (),
            (note,),
        )


def centre(values: NDArray[Any]) -> tuple[float, float]:
    """Mean and spread of the ratings, also where their squares cannot be stored; no spread counts as one."""
    size = float(np.abs(values).max(initial=0.0)) or 1.0
    size = 1.0 if 1e-100 < size < 1e100 else size
    scaled = values if size == 1.0 else values / size
    mean = float(scaled.mean(dtype=np.float64))
    spread = float(np.sqrt(max(np.square(scaled - scaled.dtype.type(mean)).mean(dtype=np.float64), 0.0)))
    spread = spread if spread > 1e-12 * max(abs(mean), 1e-300) else 1.0
    return mean * size, float(np.clip(spread * size, *SPREADS))


def _leaves(source: Ratings, run: Run, state: State, how: How, unit: tuple[float, float]) -> Any:
    return walk(partial(_tile, state, tables(state.items, how), how, unit), source, run)


def _noted(leaves: Any, tau: Array) -> Iterator[Sweep]:
    """The sums of each tile; its users' precisions are noted on the way."""
    for begin, (found, part) in leaves:
        tau[begin : begin + len(found)] = found
        yield part


def _tile(state: State, items: tuple[Any, Any], how: How, unit: tuple[float, float], slab: Slab) -> tuple[Array, Sweep]:
    tau = state.tau[slab.start : slab.start + slab.rows]
    return sweep(state, *items, how, framed(slab.X, unit, how.dtype), tau)


def _placed(state: State, items: tuple[Any, Any], how: How, unit: tuple[float, float], slab: Slab) -> Placed:
    return place(state, items, how, framed(slab.X, unit, how.dtype))


def _sizes(params: Factors) -> Array:
    """Standard deviation of the items' factors in each dimension, about a mean that all share."""
    if params.point:
        return np.asarray(np.sqrt((params.item_mean[:, :-1] ** 2).mean(axis=0)))
    return np.asarray(np.sqrt(np.diag(params.item_prior[1])[:-1]))
