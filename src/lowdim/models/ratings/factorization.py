"""Probabilistic matrix factorisation: users and items as vectors, ratings as their inner products."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Cost, Fit, Monitor
from lowdim.engine.fold import Run, one_blas_thread, tree, walk
from lowdim.maths.linalg import MODERATE_SIZE, Array, Index, Mask, lower, moderate_scale, unpack
from lowdim.models.base.estimator import Absent
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import COUNT, POSITIVE, WHOLE, Rule, none_or, one_of, option
from lowdim.models.base.results import Cells, Certificate, Fitted, certify, squared
from lowdim.models.ratings.predictions import (
    Evaluation,
    PlacedUsers,
    RatingFactors,
    RatingLaw,
    Recommended,
    User,
    dimension_strength,
    evaluate,
    grid_means,
    in_frame,
    place_users,
    predict_pairs,
)
from lowdim.models.ratings.sweep import (
    START_FACTOR_VARIANCE,
    START_NOISE,
    FitKind,
    Gamma,
    Sweep,
    SweepState,
    VectorBeliefs,
    canonical_state,
    item_tables,
    map_spread,
    start_state,
    sweep,
    sweep_objective,
    update_state,
    without_faded,
)
from lowdim.sources.arrays import SparseSource
from lowdim.sources.ratings import (
    DUPLICATE_RULES,
    MANY_RATINGS,
    RatingBlock,
    Ratings,
    as_ratings,
    is_triples,
    stored_cells,
    triples,
)
from lowdim.sources.source import Block, Source, cores
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

RATING_NOISE_FLOOR = 1e-6  # least noise variance, a share of the ratings' own; below, solves lose what it weighs up
RATING_SPREADS = (1e-300, 1e307)  # of ratings: beyond, their reciprocal is no number
NEGLIGIBLE_NATS = 0.1  # nats that change no answer, however few the ratings
JUMP_SWEEPS = (30, 60, 120, 240, 480)  # sweeps after which fading dimensions are tried without


def _is_finite(v: Any) -> bool:
    return isinstance(v, int | float | np.number) and not isinstance(v, bool) and bool(np.isfinite(v))


BOUND = none_or(Rule(_is_finite, "a finite number, min_rating < max_rating"))
WITHIN = "Predictions stay within min_rating and max_rating; ratings beyond them are refused."


class MatrixFactorization(LatentModel[RatingFactors, PlacedUsers]):
    """Probabilistic matrix factorisation: x_ui = b + b_u + b_i + w_i'z_u + e, e ~ N(0, 1/t_u).

    Users (z_u, b_u) and items (w_i, b_i) are Gaussian with full covariances a priori, learnt from all ratings. In the
    answer z is white, w has uncorrelated dimensions by falling variance, and a new user or item is at the prior.
    Ratings are a table of (user, item, rating) with any ids; a sparse matrix, in which a stored zero is a rating; or
    an array with NaN where nothing was rated.

    Attributes
    ----------
    user_factors_, user_factors_std_ : array of shape (n_users, n_components)
        z of each user, and the standard deviations of the beliefs about it.
    user_bias_, user_bias_std_ : array of shape (n_users,)
    item_factors_, item_factors_std_ : array of shape (n_items, n_components)
    item_bias_, item_bias_std_ : array of shape (n_items,)
    mean_ : float
        b, the mean of all.
    noise_precision_ : array of shape (n_users,)
        The expected t_u.
    relevance_ : array of shape (n_components,)
        Prior variance of the items' factors in each dimension, falling.
    kept_ : array of bool of shape (n_components,)
        The dimensions that the ratings need.
    n_kept_ : int
        Their number.
    n_components_ : int
        The number of dimensions fitted.
    user_ids_, item_ids_ : array
        The ids, where a table was fitted.
    objective_, history_, n_iter_, converged_, certificate_, params_, frame_
        The lower bound on the log evidence, up to a constant that grows with `n_components` (compare fits with as
        many), or the log posterior of "map"; its course, sweeps, how far to trust it; parameters and units.

    References
    ----------
    Y. J. Lim and Y. W. Teh, "Variational Bayesian approach to movie rating prediction", KDD Cup and Workshop (2007).
    R. Salakhutdinov and A. Mnih, "Probabilistic matrix factorization", NIPS 20 (2008).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[5.0, 4.0, np.nan], [4.0, np.nan, 1.0], [np.nan, 4.0, 2.0]])
    >>> model = MatrixFactorization(1).fit(X)
    >>> bool(model.predict(0, 2) < model.predict(0, 0))
    True
    """

    _least_rows: ClassVar[int] = 1
    _objective_name = "lower bound on the log evidence (variational) or log posterior (map)"
    _laws_broken: ClassVar[dict[str, str]] = {
        "score_is_objective": "the objective is a bound or a log posterior; scores are of single ratings",
        "sample_then_fit": "scores are of single ratings of known users",
        "weights_repeat_rows": "a user who counts twice would be two users: there are no row weights",
        "merge_any_order": "what merges are sums over items inside a sweep, tested with the model",
    }
    n_parameters_ = bic = aic = Absent(
        "users and items have parameters of their own, believed, not counted", "objective_"
    )
    partial_fit = Absent(
        "every rating of a user bears on all they rated before", "fit again with all ratings; a new user alone: fold_in"
    )
    n_components: int = option(default=10, rule=WHOLE, words="The number k of dimensions.", kw_only=False)
    method: str = option(
        default="variational",
        rule=one_of("variational", "map"),
        words='"variational" keeps Gaussian beliefs about every user and item and switches off dimensions that the '
        'ratings do not need. "map" fits points, with one noise precision for all: the best points for a user\'s own '
        "precision follow that user's noise.",
    )
    noise: str = option(
        default="user",
        rule=one_of("user", "shared"),
        words="A noise precision t_u for each user, gamma distributed, or one for all.",
    )
    columns: Any = option(
        default=None,
        rule=none_or(
            Rule(
                lambda v: isinstance(v, tuple | list) and len(v) == 3, "the names of three columns: user, item, rating"
            )
        ),
        kind="sequence of three names",
        words="The columns of user, item and rating, where a table has more than three.",
    )
    duplicates: str = option(
        default="error", rule=one_of(*DUPLICATE_RULES), words="What several ratings of one pair mean."
    )
    min_rating: float | None = option(default=None, rule=BOUND, words=WITHIN)
    max_rating: float | None = option(default=None, rule=BOUND, words=WITHIN)
    tol: float = option(
        default=3e-4,
        rule=POSITIVE,
        words="Sweeps end when the objective can gain no more than this, in nats a rating (or 0.1 nats in all).",
    )
    max_iter: int = option(default=200, rule=COUNT, words="The most sweeps over the ratings.")

    # fitting -------------------------------------------------------------------------------------
    def _check_options(self) -> None:
        super()._check_options()
        if not np.less(*self._range()):
            raise error("LD210", option="min_rating", value=self.min_rating, allowed=BOUND.words)

    def _fit_table(self, X: Any, y: Any, weight: Any, run: Run | None) -> Any:
        """Ratings are held in memory: there is nothing to fold elsewhere, or to keep on disk."""
        words = "no checkpoint, and 'threads' or 'serial': ratings are held in memory"
        if run is not None and run.checkpoint is not None:
            raise error("LD210", option="checkpoint", value=run.checkpoint, allowed=words)
        if run is not None and run.engine not in ("threads", "serial"):
            raise error("LD210", option="engine", value=run.engine, allowed=words)
        return super()._fit_table(X, y, weight, run)

    def _open(self, X: Any, y: Any, weight: Any) -> Source:
        return as_ratings(X, columns=self.columns, duplicates=self.duplicates)

    def _check_ratings(self, source: Ratings) -> None:
        low, high = self._range()
        if source.matrix.nnz == 0:
            raise error("LD276")
        bad = (source.matrix.data < low) | (source.matrix.data > high)
        if bad.any():
            u, i, values = (part[np.argmax(bad)] for part in source.places())
            ids = [at if names is None else names[at] for at, names in ((u, source.users), (i, source.items))]
            raise error("LD274", f"user {ids[0]}, item {ids[1]}", value=values, low=low, high=high)

    def _range(self) -> tuple[float, float]:
        low, high = self.min_rating, self.max_rating
        return -np.inf if low is None else float(low), np.inf if high is None else float(high)

    def _fit(self, source: Source, run: Run) -> Fitted:
        assert isinstance(source, Ratings)
        self._check_ratings(source)
        X, d, point = source.matrix, source.d, self.method == "map"
        kind = FitKind(point, point or self.noise == "shared", "float32" if X.nnz >= MANY_RATINGS else "float64")
        middle, spread = center_and_spread(X.data)
        counts = np.bincount(X.indices, minlength=d).astype(np.float64)
        variance = map_spread(np.diff(X.indptr).astype(np.float64), counts) if point else START_FACTOR_VARIANCE
        noise, rated = START_NOISE, counts > 0
        if X.data.min() == X.data.max():  # all alike: nothing to explain, no noise
            variance, noise = RATING_NOISE_FLOOR, Gamma(START_NOISE.shape, START_NOISE.shape * RATING_NOISE_FLOOR)
        with one_blas_thread():
            state = start_state(source.n, d, self.n_components, kind, variance, noise)
            fit = self._sweeps(source, run, state, kind, rated, (middle, 1.0 / spread))
            state, shift = canonical_state(fit.params, kind)
            middle += shift * spread
            params = self._place_all(source, run, state, kind, rated, (middle, 1.0 / spread))
        frame = Frame(np.full(d, middle), np.full(d, 1.0 / spread), np.ones(d))
        fit = fit._replace(passes=fit.passes + 1)
        certificate = self._certificate(fit, params, spread)
        return Fitted(params, frame, certificate, self._attributes(params, frame), fit.history)

    def _sweeps(
        self, source: Ratings, run: Run, state: SweepState, kind: FitKind, rated: Mask, unit: tuple[float, float]
    ) -> Fit[SweepState, Sweep]:
        """Sweeps over users until the objective has nothing left to gain."""
        nnz, spent = source.matrix.nnz, 0
        whole: SweepState | None = None  # the state before dimensions were left out that may not be needed
        with Monitor(run, type(self).__name__, max(self.tol * nnz, NEGLIGIBLE_NATS), self.max_iter) as watch:
            while True:
                # users given items, a tile at a time: their precisions, and the sums that all the rest needs
                tau = np.empty(source.n)
                leaves = walk(partial(_sweep_tile, state, item_tables(state.items, kind), kind, unit), source, run)
                stats: Sweep = tree(_noting(leaves, tau))
                value = sweep_objective(state, stats, rated, kind) + nnz * np.log(unit[1])
                if whole is not None and not value >= watch.history[-1]:
                    state, whole, spent = whole, None, spent + 1  # the dimensions were needed: as if never tried
                    continue
                watch.see(state, stats, value, False)
                if watch.reason:
                    fit: Fit[SweepState, Sweep] = watch.fit(f"{self.method}, sweeps")
                    return fit._replace(passes=fit.passes + spent)
                if whole is not None:
                    watch.gains.clear()  # what a jump gained says nothing about the pace
                # items given users, then the priors; now and then without the dimensions that fade
                state, whole = update_state(state, stats, tau, rated, kind, RATING_NOISE_FLOOR), None
                jumps = len(watch.history) in JUMP_SWEEPS and not kind.point
                fewer = without_faded(state, rated) if jumps else None
                if fewer is not None:
                    state, whole = fewer, state

    def _place_all(
        self, source: Ratings, run: Run, state: SweepState, kind: FitKind, rated: Mask, unit: tuple[float, float]
    ) -> RatingFactors:
        """Every user placed in the coordinates of the answer, and all that is kept of a fit."""
        kind = kind._replace(dtype="float64")
        tile = partial(_place_tile, state, item_tables(state.items, kind), kind, unit)
        tiles = zip(*(placed for _, placed in walk(tile, source, run)), strict=True)
        mean, cov, _, shape, rate = (np.concatenate(parts) for parts in tiles)
        return RatingFactors(
            items=state.items,
            users=VectorBeliefs(mean, cov),
            precisions=Gamma(shape, rate),
            user_prior=state.user_prior,
            item_prior=state.item_prior,
            noise=Gamma(float(state.noise.shape), float(state.noise.rate)),
            known=dimension_strength(state.items.rows(rated), state.item_prior, kind),
            point=kind.point,
            shared=kind.shared,
            user_ids=source.users,
            item_ids=source.items,
            ptr=source.matrix.indptr.astype(np.int64),
            seen=source.matrix.indices.astype(np.int64),
        )

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        q = self.n_components + 1
        table, user = d * (q + 1) * (q + 2) // 2, q * (q + 3) // 2 + 3
        waiting = 2 * cores() + 1 + max(n // 8192, 1).bit_length()
        return Cost(self.max_iter + len(JUMP_SWEEPS) + 1, 0, 8 * (table * waiting + n * user), "fewer n_components")

    def _attributes(self, params: RatingFactors, frame: Frame) -> dict[str, Any]:
        k, unit = self.n_components, 1.0 / float(frame.scale[0])
        i, j = lower(k + 1)
        user, item = (np.sqrt(np.maximum(cov[:, i == j], 0.0)) for cov in (params.users.cov, params.items.cov))
        attributes = {
            "user_factors_": params.users.mean[:, :k].copy(),
            "user_bias_": params.users.mean[:, k] * unit,
            "user_factors_std_": user[:, :k].copy(),
            "user_bias_std_": user[:, k] * unit,
            "item_factors_": params.items.mean[:, :k] * unit,
            "item_bias_": params.items.mean[:, k] * unit,
            "item_factors_std_": item[:, :k] * unit,
            "item_bias_std_": item[:, k] * unit,
            "mean_": float(frame.shift[0]),
            "noise_precision_": squared(params.precisions.mean, 1.0 / unit),
            "relevance_": squared(params.variances, unit),
            "kept_": params.kept,
            "n_kept_": int(params.kept.sum()),
            "n_components_": k,
        }
        if params.user_ids is not None:
            attributes |= {"user_ids_": params.user_ids, "item_ids_": params.item_ids}
        return attributes

    def _certificate(self, fit: Fit[Any, Any], params: RatingFactors, spread: float) -> Certificate:
        sizes = np.sqrt(params.variances[params.kept])
        condition = float(sizes.max() / sizes.min()) if len(sizes) and sizes.min() > 0 else 1.0
        on_floor = params.noise.rate / params.noise.shape <= 1.01 * RATING_NOISE_FLOOR
        if on_floor:
            least = squared(np.array(RATING_NOISE_FLOOR), spread)
            warn("LD202", floor=float(least), q=self.n_components, rank=self.n_components)
        return certify(
            fit,
            "log posterior" if params.point else "lower bound on the log evidence",
            condition=condition,
            rows=len(params.seen),
            boundary=("noise_precision_",) if on_floor else (),
            notes=(f"{int(params.kept.sum())} of {self.n_components} dimensions are needed",),
        )

    # single ratings ------------------------------------------------------------------------------
    def predict(self, users: Any, items: Any = None, *, return_std: bool = False, interval: float | None = None) -> Any:
        """The rating of each pair of a user and an item, by id (by place where the fit was to a matrix).

        Parameters
        ----------
        users, items : ids, one or many
            One user may come with many items and one item with many users; a `User` of `fold_in` is a user too. Who
            or what was not in the fit is at the prior: an unknown user of a known item gets what users think of it
            on average, an unknown pair the mean of all. Without `items`, a table of (user, item) stands for its
            pairs, a `User` for all items, and a matrix for all cells of its rows: users placed by what they rated.
        return_std : bool
            Add the standard deviation of each rating: noise and every doubt about user and item.
        interval : float, optional
            A probability such as 0.9: give (mean, low, high).

        Returns
        -------
        float or array, or a tuple of them
        """
        check_is_fitted(self)
        if interval is not None and (return_std or not 0 < interval < 1):
            words = "a share between 0 and 1, without return_std"
            raise error("LD210", option="interval", value=interval, allowed=words)
        if items is None and not isinstance(users, User) and not is_triples(users):
            if return_std or interval is not None:
                raise error("LD210", option="items", value=None, allowed="the items, or impute(X, return_std=True)")
            return self.reconstruct(users)
        law = self._listed(users, rated=False)[1] if items is None and is_triples(users) else self._law(users, items)
        parts = [self._clip(law.mean)]
        if return_std:
            parts.append(law.std())
        elif interval is not None:
            reach = law.reach(interval)
            parts += [self._clip(law.mean - reach), self._clip(law.mean + reach)]
        one = items is not None and np.ndim(items) == 0 and (isinstance(users, User) or np.ndim(users) == 0)
        out = tuple(float(part[0]) if one else part for part in parts)
        return out if len(out) > 1 else out[0]

    def _clip(self, ratings: Array) -> Array:
        return np.clip(ratings, *self._range())

    def _law(self, users: Any, items: Any) -> RatingLaw:
        """The ratings of these items (None: all) by these users, by ids."""
        p = self.params_
        i = np.arange(len(p.items.mean)) if items is None else p.item_places(items)
        if isinstance(users, User):
            return self._law_at(np.zeros(len(i), dtype=np.intp), i, users)
        u = p.user_places(users)
        if len(u) != len(i) and 1 not in (len(u), len(i)):
            raise error("LD277", users=len(u), items=len(i))
        u, i = np.broadcast_arrays(u, i)
        return self._law_at(u, i)

    def _law_at(self, u: Index, i: Index, user: User | None = None) -> RatingLaw:
        return predict_pairs(self.params_, self._unit, u, i, user)

    @property
    def _unit(self) -> tuple[float, float]:
        return float(self.frame_.shift[0]), float(self.frame_.scale[0])

    # held-out ratings ----------------------------------------------------------------------------
    def _listed(self, X: Any, rated: bool) -> tuple[Array, RatingLaw]:
        """The ratings of a table with a row for each pair, and their laws."""
        p = self.params_
        table = triples(X, self.columns, users=p.users_by_place, items=p.items_by_place, rated=rated)
        return table.values, self._law_at(table.u, table.i)

    def _held_out(self, X: Any) -> tuple[Array, RatingLaw]:
        """The ratings in X, and the law of each."""
        check_is_fitted(self)
        if is_triples(X):
            values, law = self._listed(X, rated=True)
        else:
            ratings, users = as_ratings(X, duplicates=self.duplicates), len(self.params_.users.mean)
            super().arrange(ratings)
            if ratings.n != users:
                raise error("LD275", n=ratings.n, d=ratings.d, users=users, items=len(self.params_.items.mean))
            u, i, values = ratings.places()
            law = self._law_at(u, i)
        if not len(values):
            raise error("LD276")
        return values, law

    def score_samples(self, X: Any, *, run: Run | None = None) -> Array:
        """Log density of each rating in X, a table of triples or a matrix of the fitted users and items.

        In the order of the table, or of the matrix by rows. The users are those of the fit; others are at the prior.
        """
        values, law = self._held_out(X)
        return law.log_density(values)

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> float:
        """Mean log density of the ratings in X, weighted by `sample_weight`, a number for each of them."""
        return float(np.average(self.score_samples(X, run=run), weights=sample_weight))

    def rmse(self, X: Any) -> float:
        """Root mean squared error of the ratings in X."""
        return self.evaluate(X).rmse

    def evaluate(self, X: Any) -> Evaluation:
        """Errors, log density and coverage of ratings that the fit has not seen."""
        values, law = self._held_out(X)
        return evaluate(values, law, self._clip(law.mean))

    # one user ------------------------------------------------------------------------------------
    def fold_in(self, items: Any, values: Any) -> User:
        """A user who was not in the fit, placed by their ratings of these items: in closed form but for the noise.

        Items that are not known say nothing. Nothing of the model changes.
        """
        check_is_fitted(self)
        p, places = self.params_, self.params_.item_places(items)
        ratings = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if len(ratings) != len(places):
            raise error("LD277", users=len(ratings), items=len(places))
        known = places >= 0
        if not np.isfinite(ratings[known]).all():
            raise error("LD272", column="values", what="missing or infinite (infinity)")
        cells = (np.zeros(known.sum(), dtype=int), places[known])
        row = sp.coo_array((ratings[known], cells), (1, len(p.items.mean)))
        X = in_frame(as_ratings(row, duplicates=self.duplicates).matrix, self._unit, "float64")
        if np.abs(X.data).max(initial=0.0) > MODERATE_SIZE:
            raise error("LD272", column="values", what=f"more than {MODERATE_SIZE:.0e} spreads of the fitted ones away")
        user = place_users(p.state, item_tables(p.items, p.kind), p.kind, X)
        return User(user.mean[0], user.packed[0], float(user.shape[0]), float(user.rate[0]), places[known])

    def recommend(self, user: Any, n: int = 10, *, exclude_seen: bool = True) -> Recommended:
        """The n items a user is expected to rate highest; a user who is not known is at the prior."""
        check_is_fitted(self)
        if not isinstance(n, int | np.integer) or n < 0:
            raise error("LD210", option="n", value=n, allowed="a whole number >= 0")
        p, new = self.params_, user if isinstance(user, User) else None
        at = int(p.user_places(user)[0]) if new is None else 0
        candidates = np.arange(len(p.items.mean))
        if exclude_seen:
            candidates = np.setdiff1d(candidates, p.rated_by(at) if new is None else new.seen)
        law = self._law_at(np.full(len(candidates), at), candidates, new)
        best = np.argsort(-law.mean, kind="stable")[:n]
        return Recommended(p.items_by_place[candidates[best]], self._clip(law.mean[best]), law.std()[best])

    # rows: users, old or new -----------------------------------------------------------------------
    def arrange(self, X: Any, *, weight: Any = None, fitted: bool = True) -> Source:
        """Users as rows with a column for each item of the fit, whatever they came as."""
        check_is_fitted(self)
        if is_triples(X) or sp.issparse(X):
            items = self.params_.items_by_place
            X = as_ratings(X, columns=self.columns, duplicates=self.duplicates, items=items)
        rows = SparseSource(X.matrix, "gaps", columns=None) if isinstance(X, Ratings) else X
        return super().arrange(rows, weight=weight)

    def _posterior(self, params: RatingFactors, block: Block) -> PlacedUsers:
        return place_users(params.state, item_tables(params.items, params.kind), params.kind, stored_cells(block))

    def _prior(self, params: RatingFactors, n: int) -> PlacedUsers:
        mean, cov = params.user_prior
        i, j = lower(len(mean))
        return self._at(params, np.tile(mean, (n, 1)))._replace(packed=np.tile(cov[i, j], (n, 1)))

    def _at(self, params: RatingFactors, Z: Array) -> PlacedUsers:
        n, q = Z.shape
        shape, rate = (np.full(n, part) for part in params.noise)  # of a user of whom no rating is known
        return PlacedUsers(Z, np.zeros((n, q * (q + 1) // 2)), np.zeros(n), shape, rate)

    def _decode(self, params: RatingFactors, rows: PlacedUsers) -> Cells:
        mean, var = grid_means(VectorBeliefs(rows.mean, rows.packed), params.items)
        return Cells(mean, var, (rows.rate / (rows.shape - 1))[:, None])

    def _cells(self, block: Block) -> Array:
        return self._clip(super()._cells(block))

    def _fill_and_std(self, b: Block) -> tuple[Array, Array]:
        filled, std = super()._fill_and_std(b)
        return filled if b.mask is None else np.where(b.mask, b.x, self._clip(filled)), std

    def _draw(self, params: RatingFactors, rows: PlacedUsers, rng: list[np.random.Generator]) -> Array:
        """Users and their noise drawn from the beliefs about them, then their ratings of every item."""
        W, q = params.items.mean, rows.mean.shape[1]
        roots, out = _roots(rows.packed, q), np.empty((len(rng), len(W)))
        for row, generator in enumerate(rng):
            g = rows.mean[row] + roots[row] @ generator.standard_normal(q)
            tau = generator.gamma(rows.shape[row]) / rows.rate[row]
            out[row] = W[:, :-1] @ g[:-1] + W[:, -1] + g[-1] + generator.standard_normal(len(W)) / np.sqrt(tau)
        return out

    def _redraw(self, params: RatingFactors, rng: np.random.Generator) -> RatingFactors:
        """Items drawn from the beliefs about them."""
        mean, cov, _ = params.items
        roots = _roots(cov, mean.shape[1])
        step = np.einsum("nij,nj->ni", roots, rng.standard_normal(mean.shape))
        return params._replace(items=VectorBeliefs(mean + step, np.zeros_like(cov)))

    def _axes(self, params: RatingFactors) -> Array:
        q = params.items.mean.shape[1]
        return np.eye(q)[:, : q - 1]


def center_and_spread(values: NDArray[Any]) -> tuple[float, float]:
    """Mean and spread of the ratings, also where their squares cannot be stored; no spread counts as one."""
    scale = float(moderate_scale(np.asarray(np.abs(values).max(initial=0.0), dtype=np.float64)))
    scaled = values if scale == 1.0 else values * scale
    mean = float(scaled.mean(dtype=np.float64))
    spread = float(np.sqrt(np.square(scaled - scaled.dtype.type(mean)).mean(dtype=np.float64)))
    spread = spread if spread > 1e-12 * abs(mean) else 1.0
    return mean / scale, float(np.clip(spread / scale, *RATING_SPREADS))


def _noting(leaves: Any, tau: Array) -> Iterator[Sweep]:
    """The sums of each tile; its users' precisions are noted on the way."""
    for begin, (precisions, sums) in leaves:
        tau[begin : begin + len(precisions)] = precisions
        yield sums


def _sweep_tile(
    state: SweepState, items: tuple[Any, Any], kind: FitKind, unit: tuple[float, float], block: RatingBlock
) -> tuple[Array, Sweep]:
    tau = state.tau[block.start : block.start + block.rows]
    return sweep(state, *items, kind, in_frame(block.X, unit, kind.dtype), tau)


def _place_tile(
    state: SweepState, items: tuple[Any, Any], kind: FitKind, unit: tuple[float, float], block: RatingBlock
) -> PlacedUsers:
    return place_users(state, items, kind, in_frame(block.X, unit, kind.dtype))


def _roots(packed: Array, q: int) -> Array:
    """The symmetric square root of each packed covariance, n x q x q: of a white one rounding chooses the vectors."""
    values, V = np.linalg.eigh(unpack(packed.T, q))
    return (V * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ V.transpose(0, 2, 1)
