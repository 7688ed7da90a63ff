"""Factor analysis of columns that are no real numbers: yes/no, ordinal, counts and labels beside real ones."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import STOPPED, Cost, Fit, em, walking
from lowdim.engine.fold import Run
from lowdim.maths.linalg import Array, align, root_times
from lowdim.models.base.calibration import cost_with_held_out_fits, held_out_fits
from lowdim.models.base.estimator import Absent, Out, WeightedEstimator
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import (
    COUNT,
    EM_ENDS,
    ORTHOGONAL,
    POSITIVE,
    SEED,
    TRUTH,
    WHOLE,
    Rule,
    one_of,
    option,
    seed_of,
)
from lowdim.models.base.results import Cells, Certificate, Fitted, Posterior, certify, in_table_units, squared, standard
from lowdim.models.mixed.column_kinds import KINDS, sites_of, strange_values
from lowdim.models.mixed.first_look import (
    LOWEST,
    asked_kinds,
    first_look,
    found_kinds,
    start,
    survey_sites,
    with_indicators,
)
from lowdim.models.mixed.predictions import (
    AmountCells,
    amount_cells,
    draw,
    expected,
    fills,
    probabilities,
    quantiles,
    site_means,
)
from lowdim.models.mixed.variational_em import (
    LEAST_R,
    LONGEST,
    MOST_R,
    MixedParams,
    MixedSums,
    beliefs_of_rows,
    canonical_axes,
    expanded,
    penalty,
    relevance_step,
    sums_of_rows,
    updated,
)
from lowdim.sources.labelled_frames import coded_source, decoded, in_kind
from lowdim.sources.source import Block, Source, tile_rows
from lowdim.sources.views import Frame
from lowdim.text.messages import error, warn

OUTER_ROUNDS, OUTER_PASSES = 20, 8  # of relevance: how often it is estimated, and passes of EM in between
HALVINGS = 6  # of a Newton step that fell
CALIBRATED_ROWS = 100  # by weight: with more the curvature of the weights says how uncertain they are
SETTLED = 0.02  # relative change of all precisions at which they are kept


def _are_kinds(value: Any) -> bool:
    asked = value.values() if isinstance(value, dict) else [value] if isinstance(value, str) else value
    return all(kind in (*KINDS, "auto") for kind in asked)


class MixedFactorAnalysis(WeightedEstimator, LatentModel[MixedParams, Posterior]):
    """Factor analysis with a likelihood for each column: real, yes/no, ordinal, count or label; gaps welcome.

    z ~ N(0, I_q), and every column is a noisy function of w'z + b: Gaussian for real ones, logistic for yes/no, with
    learned thresholds for ordinal ones, negative binomial for counts, k - 1 logistic sticks (the most frequent label
    first) for k labels, for amounts that are often zero a logistic and a Gaussian for what is not. Fitted by
    variational EM: each row's posterior is the Gaussian with the highest bound, found by Newton's method with
    expectations in closed form. A table of real columns only is that of `FactorAnalysis`.

    Frames may hold text, categories and truth values; they come back from `impute` and `reconstruct` as they were,
    labels as labels. From arrays and files numbers are read, and come back.

    Attributes
    ----------
    components_ : ndarray of shape (q, G)
        Weights, one vector for each real, yes/no, count and ordinal column and for each label but the last, two for
        amounts. Of real columns in units of their spread, of others in logits.
    component_names_ : tuple of str
        The column of each, with its label; "rain > 0" is whether there is any.
    likelihoods_ : tuple of str
        The kind of each column.
    levels_ : tuple of tuples
        The values that each yes/no, ordinal and label column can have, in the order of `probabilities`.
    labels_ : tuple of tuples
        What the numbers 0, 1, ... stand for in each column of labels; empty for others.
    intercepts_ : ndarray
        Of each weight vector: the mean of a real column, the logit of others at z = 0, 0 for ordinal ones.
    thresholds_ : tuple of ndarray
        Of each ordinal column, rising; empty for others.
    noise_variance_ : ndarray
        Of the real columns, in the table's units.
    dispersion_ : ndarray
        r of the counts: their variance is mean + mean^2 / r.
    relevance_ : ndarray
        With `ard`, the prior variance of the weights of each axis kept.
    n_components_ : int
    objective_, history_ : float, ndarray
        The lower bound of the log-likelihood less the priors' penalty, in nats, and its value after each pass.

    References
    ----------
    M. Opper and C. Archambeau (2009), "The variational Gaussian approximation revisited", Neural Comput. 21, 786-792.
    M. E. Khan, B. Marlin, G. Bouchard and K. Murphy (2010), "Variational bounds for mixed-data factor analysis", NIPS
    23. D. Bartholomew, M. Knott and I. Moustaki (2011), "Latent Variable Models and Factor Analysis", 3rd ed., Wiley.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal(300)
    >>> seen = z[:, None] + 0.5 * rng.standard_normal((300, 4))
    >>> X = np.column_stack([seen[:, :2], seen[:, 2] > 0, np.digitize(seen[:, 3], [-1, 1])])
    >>> X[0] = [2.0, 2.0, np.nan, np.nan]
    >>> MixedFactorAnalysis(1).fit(X).impute(X)[0].tolist()
    [2.0, 2.0, 1.0, 2.0]
    """

    n_components: int = option(
        default=2, rule=WHOLE, words="Latent dimensions q; with `ard` the most there may be.", kw_only=False
    )
    likelihoods: Any = option(
        default="auto",
        rule=Rule(_are_kinds, f"one of {', '.join(KINDS)} or auto, a dict of them by column, or one for each"),
        kind='"auto", str, dict or sequence',
        words="""The kind of all columns, of some by name, or one for each: "real", "positive" (real by its normal
        scores), "amount" (zero in many rows, as rain and claims are: whether there is any, and how much by its normal
        score), "yes/no", "ordinal", "count", "label", "marker" (labels as indicators with Gaussian noise: for labels
        that mark clusters of real columns) or "auto". By itself it takes text and categories as labels, ordered
        categories as ordinal, two values as yes/no, whole numbers of 3 to 10 values, each five times on average, as
        ordinal, a fifth zeros beside many numbers above 0 of several magnitudes as amounts, and all else as real.
        Labels between which the real columns differ much are markers where hidden cells of up to 1,000 rows are then
        predicted better, by two standard errors.""",
    )
    noise: str = option(
        default="columns",
        rule=one_of("columns", "one"),
        words="A noise variance for each real column, or one for all (as in probabilistic PCA), in units of their "
        "spread.",
    )
    ard: bool = option(
        default=False,
        rule=TRUTH,
        words="Find how many of the dimensions are needed (automatic relevance determination), as in Bayesian PCA.",
    )
    rotation: str | None = option(
        default=None,
        rule=one_of(None, *ORTHOGONAL),
        words="Turns the axes so that each column loads on few of them; positions stay N(0, I), and every fill, bound "
        "and probability as it is.",
    )
    alpha: float = option(
        default=0.1,
        rule=POSITIVE,
        words="Prior precision of the weights of columns that are not real. It keeps them finite where a column can be "
        "told from others without error; with `ard` it is found.",
    )
    calibrate: bool = option(
        default=True,
        rule=TRUTH,
        words="Of fewer than 100 rows with gaps, scale intervals so that 90 % ones hold 90 % of cells that up to three "
        "fits more hold out.",
    )
    tol: float = option(default=1e-5, rule=POSITIVE, words=EM_ENDS)
    max_iter: int = option(default=500, rule=COUNT, words="The most passes of EM.")
    random_state: Any = option(
        default=0,
        rule=SEED,
        words="Of the cells that `calibrate` holds out, and of a start with over 2,048 weight vectors.",
    )
    n_parameters_ = bic = aic = Absent(
        "its log density is a lower bound, no likelihood", "objective_, the penalised bound"
    )
    _objective_name: ClassVar[str] = "penalised lower bound"
    _laws_broken: ClassVar[dict[str, str]] = {
        "score_is_objective": "the objective counts the priors of the weights too",
        "sample_then_fit": "the rows' bounds are no log-likelihood, whose ratio the law bounds",
    }

    # the steps, in the frame -----------------------------------------------------------------------
    def _stats(self, params: MixedParams, block: Block) -> MixedSums:
        """The E-step: each row's posterior at the top of its bound, and the sums that the M-step needs."""
        sites, _ = sites_of(params.columns, block)
        return sums_of_rows(params, sites, beliefs_of_rows(params, sites), block.weight)

    def _objective(self, params: MixedParams, stats: MixedSums) -> float:
        return stats.bound - penalty(params)

    def _update(self, params: MixedParams, stats: MixedSums) -> MixedParams:
        """The M-step, the prior of z let free and absorbed; axes stay as near the last as a turn can bring them."""
        step = updated(params, stats, self.noise == "one")
        if not params.W.shape[1]:
            return step
        step = expanded(step, stats)
        return step if self.ard else step._replace(W=align(step.W, params.W))

    def _pack(self, params: MixedParams) -> Array:
        logs = np.log(params.psi), np.log(params.r)
        return np.concatenate([params.W.ravel(), params.mu, params.b, params.t, *logs])

    def _unpack(self, vector: Array, like: MixedParams) -> MixedParams:
        ends = np.cumsum([like.W.size, len(like.mu), len(like.b), len(like.t), len(like.psi)])
        W, mu, b, t, psi, r = np.split(vector, ends)
        first = like.columns.first
        for begin, end in pairwise(first):  # thresholds may not change places
            if (np.diff(t[begin:end]) <= 0).any():
                t[begin:end] = like.t[begin:end]
        near, near_r = np.log(like.psi), np.log(like.r)
        psi = np.exp(np.clip(psi, near - 3.0, near + 3.0))  # an extrapolation may not run away
        r = np.clip(np.exp(np.clip(r, near_r - 3.0, near_r + 3.0)), LEAST_R, MOST_R)
        W = W.reshape(like.W.shape)
        too_long = (like.columns.answers > 0) & ((W**2).sum(axis=1) >= 0.999 * LONGEST**2)
        W = np.where(too_long[:, None], like.W, W)
        return like._replace(W=W, mu=mu, b=b, t=t, psi=np.maximum(psi, like.low), r=r)

    def _posterior(self, params: MixedParams, block: Block) -> Posterior:
        sites, strange = sites_of(params.columns, block)
        if len(strange):
            warn("LD506", cells=strange_values(params.columns, block, strange))
        rows = beliefs_of_rows(params, sites)
        return Posterior(rows.mean, np.ascontiguousarray(rows.cov.T), rows.bound)

    def _decode(self, params: MixedParams, rows: Posterior) -> Cells:
        return fills(params, rows)

    def _draw(self, params: MixedParams, rows: Posterior, rng: list[np.random.Generator]) -> Array:
        return draw(params, rows, rng)

    def _redraw(self, params: MixedParams, rng: np.random.Generator) -> MixedParams:
        """Weights and intercepts drawn from their curvature; the thresholds of a column move together."""
        q = params.W.shape[1]
        step = root_times(params.V, rng.standard_normal((len(params.W), q + 1)))
        moved = params.with_intercepts_moved(step[:, q])
        return moved._replace(W=params.W + step[:, :q], psi=params.psi * params.excess)

    def _cells_at(self, params: MixedParams, rows: Posterior) -> Cells:
        return self._decode(params, rows)  # as wide as held-out cells ask, site by site

    def _cells_drawn(self, params: MixedParams, rows: Posterior, rng: list[np.random.Generator]) -> Array:
        return self._draw(params, rows, rng)

    def _prior(self, params: MixedParams, n: int) -> Posterior:
        return standard(n, params.W.shape[1])

    def _axes(self, params: MixedParams) -> Array:
        return params.T

    # fitting ---------------------------------------------------------------------------------------
    def arrange(self, X: Any, *, weight: Any = None, fitted: bool = True) -> Source:
        """Rows as a source of numbers with the fitted columns in the fitted order, labels by the numbers they had."""
        return super().arrange(self._coded(X, weight))

    def _coded(self, X: Any, weight: Any = None) -> Source:
        check_is_fitted(self)
        columns = self.params_.columns
        return coded_source(X, weight, dict(zip(columns.names, columns.labels, strict=True)))

    def _open(self, X: Any, y: Any, weight: Any) -> Source:
        """Frames in memory may hold labels, all else numbers."""
        return coded_source(X, weight)

    def _fit(self, source: Source, run: Run) -> Fitted:
        # A first look: the scale of each column, and its values.
        asked = asked_kinds(self.likelihoods, source.columns)
        look = first_look(source, run)
        # What each column is: as asked, or by its values and its type. Labels that mark clusters of the real columns
        # become indicators, where cells hidden from two short fits say so.
        kinds = found_kinds(look, asked)
        kinds = with_indicators(self, source, kinds, asked)
        # The columns as sites of one latent Gaussian model, and axes guessed from the correlations of these.
        survey = survey_sites(source, run, look, kinds)
        rng = np.random.default_rng(seed_of(self.random_state))
        params = start(survey, self.n_components, self.alpha, self.noise == "one", rng)
        passes = survey.passes
        # How many axes are needed, where that is asked for.
        if self.ard and self.n_components:
            params, used = self._relevant(params, survey.source, run)
            passes += used
        # Variational EM: Newton's steps of every row's posterior, then of the parameters. Of few rows the weights are
        # so uncertain that their curvature says too little of it: cells that were held out say how much too little.
        begin = params

        def climbed(table: Source, limit: int | None = None) -> Fit[MixedParams, MixedSums]:
            """The fit to a table, with axes that can be told apart and the covariances of their weights."""
            fit = em(self, begin, table, run, limit=limit, halve=HALVINGS)
            return fit._replace(params=canonical_axes(fit.params, fit.stats, self.ard, self.rotation))

        if self.calibrate and survey.source.total < CALIBRATED_ROWS:
            real = np.array([kind == "real" for kind in kinds])
            columns = look.scales.columns._replace(seen=np.where(real, survey.seen, 0.0))
            scales = look.scales._replace(source=survey.source, columns=columns)
            held = held_out_fits(self, climbed, scales, seed_of(self.random_state), run)
            fit = held.then(lambda limit: climbed(survey.source, limit))
        else:
            fit = climbed(survey.source)
        params = fit.params
        for (j, _), low in zip(survey.columns.gaussian, params.on_bound, strict=True):
            if low and kinds[j] != "marker":
                warn("LD204", column=source.columns[j], bound=LOWEST)
        attributes = self._reported(params, survey.frame)
        fitted = Fitted(params, survey.frame, self._certified(fit, params), attributes, fit.history)
        return fitted.restated(survey.seen, passes)

    def _relevant(self, params: MixedParams, source: Source, run: Run) -> tuple[MixedParams, int]:
        """Precisions of the axes' weights, those that are switched off dropped; and the passes that took."""
        params = params._replace(alpha=np.ones_like(params.alpha))
        passes = 0
        for _ in range(min(OUTER_ROUNDS, self.max_iter)):
            before = params.alpha[:1]
            fit = em(self, params, source, run, limit=min(OUTER_PASSES, self.max_iter), halve=HALVINGS)
            passes += fit.passes
            params = relevance_step(fit.params, fit.stats)
            alpha = params.alpha[:1]
            settled = alpha.shape == before.shape and (np.abs(np.log(alpha / before)) < SETTLED).all()
            if settled or fit.reason in STOPPED:
                break
        return params, passes

    # verbs that give tables ------------------------------------------------------------------------
    def impute(
        self,
        X: Any,
        *,
        return_std: bool = False,
        return_proba: bool = False,
        draws: int | None = None,
        random_state: Any = 0,
        out: Out = None,
        run: Run | None = None,
    ) -> Any:
        """The table with its gaps filled; what was seen is kept to the bit.

        Real columns get the mean, yes/no and label columns the most likely value, ordinal columns and counts the
        median. A column whose type admits whole numbers only gets the nearest.

        Parameters
        ----------
        X : table of the fitted columns
        return_std : bool, default False
            Add the standard deviation of each fill, n x d, 0 where seen; of a label the root of the chance that it is
            wrong.
        return_proba : bool, default False
            Add the probabilities of the levels of yes/no, ordinal and label columns, as `probabilities` gives them.
        draws : int, optional
            Instead of one table, so many whose gaps are drawn jointly.
        random_state : int, Generator or RandomState, default 0
            Of the draws.
        out : path, array or Sink, optional
            Where numbers go, for tables larger than memory.

        Returns
        -------
        table of the kind of X; with `return_std` or `return_proba` a tuple of it and those; with `draws` a list of
        tables from a frame, an array of shape (draws, n, d) from numbers
        """
        answer = super().impute(X, return_std=return_std, draws=draws, random_state=random_state, out=out, run=run)
        if draws is not None:
            tables = [self._as_table(X, drawn) for drawn in answer]
            return answer if isinstance(tables[0], np.ndarray) and tables[0].dtype.kind == "f" else tables
        rest: list[Any]
        filled, *rest = answer if return_std else (answer,)
        if out is None:
            filled = self._as_table(X, filled)
        if return_proba:
            rest.append(self.probabilities(X, run=run))
        return (filled, *rest) if rest else filled

    def _as_table(self, X: Any, values: Array, gaps_only: bool = True) -> Any:
        columns = self.params_.columns
        return in_kind(X, values, columns.names, columns.labels, gaps_only)

    def reconstruct(self, X: Any, *, out: Out = None, run: Run | None = None) -> Any:
        """What `impute` would fill into every cell, seen or not: a table of the kind of X, or numbers into `out`."""
        values = super().reconstruct(X, out=out, run=run)
        return values if out is not None else self._as_table(X, values, gaps_only=False)

    def inverse_transform(self, Z: Any) -> Any:
        """The fills, n x d, of rows at positions Z (n x q); an array of objects where columns have labels."""
        return self._labelled(super().inverse_transform(Z))

    def sample(self, n: int = 1, *, random_state: Any = 0) -> Any:
        """New rows from the fitted model, n x d; an array of objects where columns have labels."""
        return self._labelled(super().sample(n, random_state=random_state))

    def _labelled(self, values: Array) -> Any:
        columns = self.params_.columns
        if not any(columns.labels):
            return values
        parts = zip(values.T, columns.labels, columns.whole, strict=True)
        return np.column_stack([decoded(*own) for own in parts])

    def probabilities(
        self, X: Any, *, columns: Collection[str] | None = None, run: Run | None = None
    ) -> dict[str, Array]:
        """The probability of each level of every yes/no, ordinal and label column, given the seen cells of the row; of
        an amount that of zero and of more.

        Parameters
        ----------
        X : table of the fitted columns
        columns : collection of str, optional
            Their names, where not all are asked for.

        Returns
        -------
        dict of ndarray of shape (n, levels)
            By the column's name, levels in the order of `levels_`. Of a cell that is seen, what the model would say of
            it given all cells of the row, this one too.
        """
        own = self.params_.columns
        told = [len(levels) > 0 or kind == "amount" for levels, kind in zip(own.levels, own.kinds, strict=True)]
        places = [j for j, name in enumerate(own.names) if told[j] and (columns is None or name in columns)]

        def shares(block: Block) -> tuple[Array, ...]:
            rows = self._posterior(self.params_, self.frame_.inward(block))
            found = probabilities(self.params_, rows, places)
            for cells in amount_cells(self.params_, site_means(self.params_, rows)):
                found[cells.column] = np.column_stack([cells.zero, 1.0 - cells.zero])
            return tuple(found[j] for j in places)

        parts = self._each(shares, X, run=run)
        return {own.names[j]: part for j, part in zip(places, parts, strict=True)}

    def expected_cells(self, X: Any, *, run: Run | None = None) -> Cells:
        """The mean of every cell and its variance given the row's seen cells, also between levels and between counts.

        What `impute` fills is a value that the column can have; this is what squared errors are judged by. Labels have
        no mean: theirs is 0.
        """

        def cells(block: Block) -> Cells:
            rows = self._posterior(self.params_, self.frame_.inward(block))
            return in_table_units(self.frame_, expected(self.params_, rows))

        return Cells(*self._each(cells, X, run=run))

    def quantile(self, X: Any, share: Any, *, run: Run | None = None) -> Array:
        """The value below which a share of each cell's distribution lies, given the row's seen cells.

        Two of them are the ends of an interval: of levels and counts values that the column can have, of amounts 0
        where zeros alone are as many.

        Parameters
        ----------
        X : table of the fitted columns
        share : float or ndarray of shape (d,)
            Between 0 and 1, for all columns or one for each.

        Returns
        -------
        ndarray of shape (n, d)
            NaN where a column holds labels, which have no order.
        """
        check_is_fitted(self)
        d = len(self.params_.columns.kinds)
        try:
            each = np.broadcast_to(np.asarray(share, dtype=np.float64), d)
        except (TypeError, ValueError):
            each = np.full(d, np.nan)
        if not ((each > 0.0) & (each < 1.0)).all():
            raise error("LD210", option="share", value=share, allowed=f"a number between 0 and 1, or {d} of them")

        def values(block: Block) -> Array:
            rows = self._posterior(self.params_, self.frame_.inward(block))
            return self.frame_.outward(quantiles(self.params_, rows, each))

        return np.asarray(self._each(values, X, run=run))

    def amount_cells(self, X: Any, *, run: Run | None = None) -> list[AmountCells]:
        """The distribution of every cell of each column of amounts, given the row's seen cells."""
        places = list(self.params_.columns.amounts.items())

        def parts(block: Block) -> tuple[Array, ...]:
            rows = self._posterior(self.params_, self.frame_.inward(block))
            return tuple(p for own in amount_cells(self.params_, site_means(self.params_, rows)) for p in own[2:])

        told = self._each(parts, X, run=run) if places else ()
        return [AmountCells(j, s, *told[3 * k : 3 * k + 3]) for k, (j, (s, _)) in enumerate(places)]

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> float:
        """Mean of the rows' lower bounds, in nats a row, weighted by `sample_weight`."""
        return super().score(self._coded(X, sample_weight), run=run)

    # what it says ----------------------------------------------------------------------------------
    def _reported(self, params: MixedParams, frame: Frame) -> dict[str, Any]:
        """The fitted attributes, in the table's units."""
        columns, first = params.columns, params.columns.first
        places = [j for j, _ in columns.gaussian]
        unit = columns.spread / frame.scale[places]
        means = params.mu * unit + columns.centre + frame.shift[places]
        levels = tuple(tuple(columns.value(j, t) for t in range(len(own))) for j, own in enumerate(columns.levels))
        thresholds = [np.zeros(0)] * len(columns.kinds)
        for o, j in enumerate(columns.ordinal):
            thresholds[j] = params.t[first[o] : first[o + 1]]
        return {
            "components_": np.ascontiguousarray(params.W.T),
            "component_names_": columns.weight_names(),
            "likelihoods_": columns.kinds,
            "levels_": levels,
            "labels_": columns.labels,
            "intercepts_": np.concatenate([means, params.b, np.zeros(len(columns.ordinal))]),
            "thresholds_": tuple(thresholds),
            "noise_variance_": squared(params.psi, unit) if places else np.zeros(0),
            "dispersion_": params.r,
            "n_components_": params.W.shape[1],
            **({"relevance_": 1.0 / params.alpha[0]} if self.ard and len(params.alpha) else {}),
        }

    def _certified(self, fit: Fit[MixedParams, MixedSums], params: MixedParams) -> Certificate:
        sizes = np.linalg.norm(params.W, axis=0)
        kept = sizes[sizes > 0]
        condition = float(kept.max() / kept.min()) if len(kept) else 1.0
        sites = zip(params.columns.gaussian, params.on_bound, strict=True)
        names = tuple(params.columns.names[j] for (j, _), low in sites if low)
        return certify(fit, self._objective_name, condition=condition, rows=fit.stats.n, boundary=names)

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        q = int(self.n_components)
        p, tile = q * (q + 1) // 2, min(tile_rows(d), n)
        passes = 5 + self.max_iter + (OUTER_ROUNDS * OUTER_PASSES if self.ard else 0)
        peak = walking(n, d, (40 * d + 8 * p + 6 * q) * tile, d * (p + 2 * q + 6)) + 8 * 3 * d * d
        words = "fewer columns, fewer labels, fewer dimensions (n_components), or a sample of rows"
        cost = Cost(passes, 8 * n * d * passes, peak, words)
        return cost_with_held_out_fits(cost, n, d) if gaps and self.calibrate and n < CALIBRATED_ROWS else cost
