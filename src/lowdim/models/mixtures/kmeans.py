"""K-means: hard clusters, gaps welcome, any number of starts in one read."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import STOPPED, Cost, Fit, Monitor, walking
from lowdim.engine.fold import Run, fold, one_blas_thread, walk
from lowdim.maths.kmeans import (
    SAFE_SQUARES,
    ClusterSums,
    Labels,
    center_distances,
    cluster_sums,
    lloyd_steps,
    move_centers,
    nearest_labels,
    plus_plus,
)
from lowdim.maths.linalg import EPS, LARGEST, MODERATE_SIZE, Array
from lowdim.maths.seeds import KMEANS_SAMPLE, normals
from lowdim.models.base.calibration import cost_with_held_out_fits, held_out_fits
from lowdim.models.base.estimator import Absent, Out, WeightedEstimator
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import COUNT, NOT_NEGATIVE, SEED, Rule, option, seed_of
from lowdim.models.base.results import Cells, Fitted, Posterior, certify, draw_labels, inflation_note, squared
from lowdim.models.base.survey import TableSurvey, survey_table
from lowdim.sources.source import Block, Source, tile_rows
from lowdim.sources.views import FRAME_ROWS, Frame, Framed, frame_of
from lowdim.text.messages import error, warn

SEEDING_ROWS = 2**14  # rows that k-means++ draws its centres from: all of a table that has no more
SEEDING_CELLS = 2**22  # and the most cells of them
SAMPLE_SHARE, SAMPLE_ROWS, SAMPLE_ROWS_EACH = 8, 2048, 64  # of others an eighth, but so many, and so many a cluster
SAMPLE_TRIES, SAMPLE_STEPS = (
    4,
    5,
)  # starts on a sample, and steps there, of which the best goes on (docs/measurements.md)
LABELLED_ROWS = 2**22  # labels are kept of tables of up to so many rows
SHORT_PASS = 2**24  # rows x columns x centres of a pass in which threads wait for each other longer than they work
MOST_STARTS, CHEAP_NUMBERS = 10, 2**22  # starts, and rows x columns x clusters times them (docs/measurements.md)
N_INIT = Rule(lambda v: (isinstance(v, str) and v == "auto") or COUNT.holds(v), "'auto' or a whole number >= 1")
KMEANS_INIT = Rule(
    lambda v: v == "k-means++" if isinstance(v, str) else np.ndim(v) == 2, "'k-means++' or an array of n_clusters rows"
)


class KMeansParams(NamedTuple):
    """Parameters, in the frame's units."""

    mu: Array  # K x d
    rows: Array  # K, rows by weight
    seen: Array  # K x d, the cells each centre is the mean of
    squares: Array  # d, squared distances from the centres, column by column
    inflation: float = 1.0  # what standard deviations of cells are multiplied by

    @property
    def psi(self) -> Array:
        """Mean square of each column about the centres; K numbers a column were fitted."""
        n = self.seen.sum(axis=0)
        return self.squares / np.maximum(np.maximum(n - len(self.mu), n / 4.0), np.finfo(float).tiny)

    @property
    def shares(self) -> Array:
        """Each cluster's share of the rows."""
        return self.rows / max(float(self.rows.sum()), np.finfo(float).tiny)

    def rounding(self, inertia: float) -> float:
        """What rounding of sums and centres may add to the squares: centres have lost at most three digits."""
        return 8 * SAFE_SQUARES * EPS * inertia + 1e6 * EPS**2 * float((self.seen * self.mu**2).sum())


class LloydSteps(NamedTuple):
    """How a start went: its steps, and how many empty clusters were put on a far row."""

    taken: int
    reseeded: int


class KMeans(ClusterMixin, WeightedEstimator, LatentModel[KMeansParams, Posterior]):
    """K-means: centres m_k and hard labels c_i that make sum_i |x_i - m_(c_i)|^2 small, by Lloyd's iteration.

    It is the limit s -> 0 of a mixture of K spherical Gaussians N(m_k, s^2 I): responsibilities become 0 or 1 and
    EM becomes "nearest centre, then mean". Gaps: distances are over a row's seen cells and a centre is the mean
    of what its rows show, which is the same limit. A row without any cell belongs to every cluster by its share:
    `predict` names the largest, `reconstruct` gives the mean. A cluster that loses all its rows is put on the
    row farthest from its centre.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The centres.
    counts_ : array of shape (n_clusters,)
        Rows of each cluster, by weight.
    labels_ : array of shape (n_samples,)
        The cluster of each row; of tables of up to 4,194,304 rows.
    inertia_ : float
        The sum of squares.
    n_iter_ : int
        Steps of the best start.
    objective_, history_, converged_, certificate_, params_, frame_
        Minus the inertia, its course, and how far to trust the fit; the parameters and their units.

    References
    ----------
    S. P. Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28 (1982), 129-137.
    D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA (2007), 1027-1035.
    C. M. Bishop, "Pattern Recognition and Machine Learning", Springer (2006), sec. 9.1 and 9.3.2.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.1], [0.2, 0.0], [9.0, 9.1], [9.2, np.nan]])
    >>> model = KMeans(2).fit(X)
    >>> model.predict(X).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0]), float(model.impute(X)[3, 1])
    (True, 9.1)
    """

    _objective_name = "minus the inertia"
    _why = "in the limit of K-means the clusters have no width, so rows have no density"
    score_samples = Absent(
        _why,
        "transform gives each row's distances, score minus the sum of squares; "
        "GaussianMixture(covariance_type='spherical') has densities",
    )
    n_parameters_ = bic = aic = Absent(_why, "choose_clusters, or GaussianMixture(covariance_type='spherical')")
    sample = Absent(_why, "GaussianMixture(covariance_type='spherical').fit(X).sample(n)")
    decode = Absent("a row's distances to the centres are no position", "cluster_centers_[model.predict(X)]")
    inverse_transform = Absent(
        "distances from the centres do not tell where a row is", "reconstruct(X), or cluster_centers_[predict(X)]"
    )
    _laws_broken: ClassVar[dict[str, str]] = {"score_is_objective": _why, "sample_then_fit": "it cannot sample rows"}

    n_clusters: int = option(default=8, rule=COUNT, words="The number K of clusters.", kw_only=False)
    init: Any = option(
        default="k-means++",
        rule=KMEANS_INIT,
        kind='"k-means++" or array of shape (n_clusters, n_features)',
        words="Centres to start from.",
    )
    n_init: Any = option(
        default="auto",
        rule=N_INIT,
        kind='"auto" or int',
        words='Starts, carried through the same passes; the best is kept. "auto" is 10 for small tables, and fewer, at '
        "last 1, as rows, columns and clusters grow. A start of a large table is itself the best of a few on a sample.",
    )
    max_iter: int = option(default=300, rule=COUNT, words="The most steps.")
    tol: float = option(
        default=1e-4,
        rule=NOT_NEGATIVE,
        words="A start ends when the squared steps of its centres add up to less than this share of a column's mean "
        "variance.",
    )
    random_state: Any = option(default=0, rule=SEED, words="The seed of the starts; None is 0.")

    # fitting -------------------------------------------------------------------------------------
    def _fit(self, source: Source, run: Run) -> Fitted:
        check_clusters(source, self.n_clusters)
        survey = _plain(survey_table(source, run, wide=True, units_matter=False), source)
        frame, table = survey.frame, survey.source
        # Starts by k-means++, then Lloyd's two steps in turns until the centres stay where they are.
        mu = self._starts(table, frame, survey.columns.mean)
        if run.engine == "threads" and table.leaf.executor() is None and table.n * mu.size <= SHORT_PASS:
            run = run._replace(engine="serial")  # threads cost more than they save; the answer is the same to the bit
        small = self.tol * float(survey.columns.variance.mean())
        fit = self._lloyd(mu, small, table, run)
        empty = int((fit.params.rows == 0).sum())
        if fit.stats.reseeded:
            warn("LD262", count=fit.stats.reseeded)
        if empty:
            warn("LD261", used=self.n_clusters - empty, n_clusters=self.n_clusters)
        # A last pass: the labels, and how far the rows of each column lie from their centres.
        params, labels = _with_squares(fit.params, table, run)
        fit = fit._replace(params=params, passes=fit.passes + survey.passes + 1)
        if fit.reason not in STOPPED:
            refit = partial(self._refit, params.mu, small, run)
            fit = held_out_fits(self, refit, survey, seed_of(self.random_state), run).calibrate(fit)
        values = -squared(-np.array([fit.objective, *fit.history]), float(frame.report[0]))
        fit = fit._replace(objective=float(values[0]), history=tuple(values[1:]), remaining=0.0)
        return self._fitted(fit, frame, labels)

    def _refit(self, mu: Array, small: float, run: Run, source: Source) -> Fit[KMeansParams, LloydSteps]:
        """Centres that go on from these in another source."""
        fit = self._lloyd(mu[None], small, source, run)
        return fit._replace(params=_with_squares(fit.params, source, run)[0], passes=fit.passes + 1)

    def _fitted(self, fit: Fit[KMeansParams, LloydSteps], frame: Frame, labels: Labels | None) -> Fitted:
        """Certificate and attributes of a fit in the table's units."""
        params = fit.params
        size, width = float(np.abs(params.mu).max(initial=0.0)), float(np.sqrt(params.psi.mean()))
        condition = float(np.clip(size / width, 1.0, 1e15)) if width > 0 else 1.0
        notes = [] if fit.solver == "online" else ["a local optimum: more starts (n_init) may find a better one"]
        notes += [] if params.inflation == 1.0 else [inflation_note(params.inflation)]
        certificate = certify(
            fit,
            self._objective_name,
            digits=15.0 - np.log10(condition),
            condition=condition,
            boundary=("empty clusters",) if (params.rows == 0).any() else (),
            notes=tuple(notes),
        )
        attributes = {
            "cluster_centers_": frame.outward(params.mu),
            "counts_": params.rows.copy(),
            "inertia_": -fit.objective,
            "n_iter_": fit.stats.taken,
        }
        if labels is not None:
            attributes["labels_"] = labels
        return Fitted(params, frame, certificate, attributes, fit.history)

    def _starts(self, framed: Source, frame: Frame, fill: Array) -> Array:
        """R x K x d centres to start from, in the frame."""
        K, d = self.n_clusters, framed.d
        if not isinstance(self.init, str):
            centers = np.array(self.init, dtype=np.float64)
            with np.errstate(over="ignore", invalid="ignore"):
                fits = centers.shape == (K, d) and np.abs((centers - frame.shift) * frame.scale).max() < MODERATE_SIZE
            if not fits:  # NaN too
                raise error(
                    "LD210",
                    option="init",
                    value=f"an array of shape {centers.shape}",
                    allowed=f"'k-means++' or {K} x {d} finite numbers of the table's order of size",
                )
            return frame.inward(Block(centers)).x[None]
        seed, rows = seed_of(self.random_state), _seeding_rows(framed.n, d, K)
        whole = rows == framed.n
        block = framed.sample(rows) if whole else _sample(framed, rows, np.random.default_rng([seed, KMEANS_SAMPLE]))
        with one_blas_thread():
            return np.stack(
                [_start(block, K, fill, [seed, r], whole) for r in range(1, 1 + self._n_starts(framed.total, d))]
            )

    def _n_starts(self, n: float, d: int) -> int:
        """Ten where they cost next to nothing, fewer as a pass over all distances costs more."""
        if self.n_init != "auto":
            return int(self.n_init)
        return int(np.clip(CHEAP_NUMBERS // max(n * d * self.n_clusters, 1.0), 1, MOST_STARTS))

    def _lloyd(self, mu: Array, small: float, source: Source, run: Run) -> Fit[KMeansParams, LloydSteps]:
        """Every start moves until none of its centres does; a pass carries all that still move."""
        moving, arrived = [_Start(centers) for centers in mu], list[_Start]()
        with one_blas_thread(), Monitor(run, type(self).__name__, -1.0, self.max_iter + 1) as watch:
            while True:
                # Lloyd's first step: each row to its nearest centre, for all starts in one pass.
                sums = fold(partial(_sums, np.stack([start.mu for start in moving])), source, run)
                for r, start in enumerate(moving):
                    start.see(sums, r, small)
                arrived += [start for start in moving if start.arrived]
                best = max(arrived + moving, key=lambda start: start.value)
                moving = [start for start in moving if not start.arrived]
                watch.see(best.params, None, best.value, False)
                if not moving:
                    watch.reason = "converged"
                if watch.reason:
                    steps = LloydSteps(min(best.steps, self.max_iter), best.reseeded)
                    return watch.fit("Lloyd's iteration")._replace(stats=steps)
                # Lloyd's second step: each centre to the mean of its rows.
                for start in moving:
                    start.step()

    # rows that come a few at a time ------------------------------------------------------------------
    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Add rows: each goes to its nearest centre, which becomes the mean of all the rows it ever took.

        The first call needs at least n_clusters rows to start from; a model that was fitted goes on from there.
        Earlier rows are not looked at again, so `inertia_` is what each row found when it came, and the centres
        depend on the order of rows, as in [Bishop2006] eq. 9.5.
        """
        self._check_options()
        source = self.arrange(X, weight=sample_weight, fitted=False)
        if source.n == 0:
            return self
        params = self.params_ if self.__sklearn_is_fitted__() else None
        if params is None:
            check_clusters(source, self.n_clusters)
            frame = frame_of(source.sample(FRAME_ROWS), origin=not source.is_sparse)
            framed = Framed(source, frame)
            mu = self._starts(framed, frame, np.zeros(source.d))[0]
            params = KMeansParams(mu, np.zeros(len(mu)), np.zeros_like(mu), np.zeros(source.d))
        else:
            frame, framed = self.frame_, Framed(source, self.frame_)
        before = self.n_iter_ if self.__sklearn_is_fitted__() else 0
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for i in range(framed.n_blocks):
                params = _absorb_tile(params, framed.block(i))
        if not np.isfinite(params.squares).all():
            raise error("LD156")
        value = -float(squared(params.squares.sum(), float(frame.report[0])))
        fit = Fit(params, LloydSteps(before + 1, 0), value, (value,), before + 1, True, "online", "online")
        return self._keep(self._fitted(fit, frame, None), source)

    # rows ------------------------------------------------------------------------------------------
    def predict(self, X: Any, *, run: Run | None = None) -> Labels:
        """The nearest centre of each row, by its seen cells."""
        check_is_fitted(self)
        labels = self._each(lambda b: _labels(self.params_, self.frame_.inward(b)).astype(np.float64), X, run=run)
        return np.asarray(labels, dtype=np.int64)

    def fit_predict(self, X: Any, y: Any = None, **fit_options: Any) -> Labels:
        """`fit`, and the label of each row."""
        self.fit(X, y, **fit_options)
        return self.labels_.copy() if "labels_" in vars(self) else self.predict(X)

    def transform(self, X: Any, *, out: Out = None, run: Run | None = None) -> Array:
        """Distance of each row from each centre over the row's seen cells, n x n_clusters."""
        check_is_fitted(self)
        return self._each(self._distances, X, out, run, self._axis_names)

    def _distances(self, b: Block) -> Array:
        z = self.frame_.inward(b)
        with np.errstate(over="ignore"):
            distances = center_distances(z.x, z.mask, self.params_.mu) * self.frame_.report[0]
        return np.minimum(distances, LARGEST)

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> float:
        """Minus the inertia: the negative sum of squared distances from the nearest centres."""
        source = Framed(self.arrange(X, weight=sample_weight), self.frame_)
        if source.n == 0:
            raise error("LD160", n=0, least=1)
        sums = fold(partial(_sums, self.params_.mu[None]), source, run or Run())
        return -float(squared(sums.inertia.sum(), float(self.frame_.report[0])))

    def _posterior(self, params: KMeansParams, block: Block) -> Posterior:
        """Which cluster: 0 or 1, or the clusters' shares for a row without any cell; nothing is in doubt."""
        K = len(params.mu)
        mean = np.zeros((len(block.x), K))
        mean[np.arange(len(block.x)), _labels(params, block)] = 1.0
        if block.mask is not None:
            mean[~block.mask.any(axis=1)] = params.shares
        return Posterior(mean, np.broadcast_to(0.0, (len(block.x), K * (K + 1) // 2)), np.zeros(len(block.x)))

    def _latent(self, block: Block) -> Posterior:
        return self._posterior(self.params_, self.frame_.inward(block))

    def _prior(self, params: KMeansParams, n: int) -> Posterior:
        K = len(params.mu)
        return Posterior(np.tile(params.shares, (n, 1)), np.zeros((n, K * (K + 1) // 2)), np.zeros(n))

    def _decode(self, params: KMeansParams, posterior: Posterior) -> Cells:
        """The centre, and how far a new cell may lie from it: the spread of the rows about their centres."""
        mean = posterior.mean @ params.mu
        between = posterior.mean @ params.mu**2 - mean**2
        doubt = posterior.mean**2 @ (params.psi / np.maximum(params.seen, 1.0))
        sure = posterior.mean.max(axis=1, keepdims=True, initial=0.0) == 1.0
        var = np.where(sure, 0.0, np.maximum(between, 0.0)) + doubt
        return Cells(mean, var, np.broadcast_to(params.psi, mean.shape))

    def _draw(self, params: KMeansParams, posterior: Posterior, rng: list[np.random.Generator]) -> Array:
        """Around the centre with the spread of the rows: the mixture with a width, for fills only."""
        d = params.mu.shape[1]
        labels = draw_labels(posterior.mean, rng)
        return params.mu[labels] + normals(rng, d) * np.sqrt(params.psi)

    def _redraw(self, params: KMeansParams, rng: np.random.Generator) -> KMeansParams:
        normal = rng.standard_normal(params.mu.shape)
        return params._replace(mu=params.mu + normal * np.sqrt(params.psi / np.maximum(params.seen, 1.0)))

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        R, K = self._n_starts(n, d) if isinstance(self.init, str) else 1, self.n_clusters
        tile, passes = min(tile_rows(d), n), self.max_iter + 5  # the survey (three at worst), the labels, one to judge
        peak = walking(n, d, (4 * d + 2 * R * K) * tile, R * K * (2 * d + 2)) + 32 * min(n, LABELLED_ROWS)
        peak += 8 * _seeding_rows(n, d, K) * (6 * d + 2 * SAMPLE_TRIES * (2 + int(np.log(K))))
        words = "fewer columns, fewer clusters, or partial_fit"
        cost = Cost(passes, 8 * n * d * passes, peak, words)
        return cost_with_held_out_fits(cost, n, d) if gaps else cost


def check_clusters(source: Source, n_clusters: int) -> None:
    """Refuse more clusters than there are rows that count."""
    n = source.n if source.weight is None else int((source.weight > 0).sum())
    if n < n_clusters:
        raise error("LD260", n=n, n_clusters=n_clusters)


def _seeding_rows(n: int, d: int, K: int) -> int:
    """How many rows k-means++ draws from: all, or a share of them, within bounds."""
    most = max(min(SEEDING_ROWS, SEEDING_CELLS // max(d, 1)), 4 * K)
    return n if n <= most else min(most, max(n // SAMPLE_SHARE, SAMPLE_ROWS, SAMPLE_ROWS_EACH * K))


def _sample(source: Source, k: int, rng: np.random.Generator) -> Block:
    """k rows drawn by their weights, each weighing as often as it was drawn."""
    if source.weight is None:
        return source.sample(k, rng)
    drawn = rng.choice(source.n, k, p=source.weight / source.weight.sum())
    rows, times = np.unique(drawn, return_counts=True)
    return source.block_of(rows)._replace(weight=times.astype(np.float64))


def _start(block: Block, K: int, fill: Array, seed: list[int], whole: bool) -> Array:
    """K x d centres by k-means++ on all rows of a table; on a sample the best of a few, each moved by a few steps.

    Steps over a sample cost little, and most of what passes over all rows would do is then done.
    """
    x, mask, weight = block.x, block.mask, block.weight
    generators = [np.random.default_rng([*seed, t]) for t in range(1 if whole else SAMPLE_TRIES)]
    centers = plus_plus(x, mask, weight, K, fill, generators)
    if whole:
        return centers[0]
    centers, inertia = lloyd_steps(x, mask, weight, centers, SAMPLE_STEPS)
    return centers[inertia.argmin()]


class _Start:
    """One start on its way: its centres, their inertia by the last pass, and whether it has arrived."""

    def __init__(self, mu: Array) -> None:
        self.mu, self.next, self.value, self.arrived, self.last = mu, mu, -np.inf, False, False
        self.steps, self.reseeded, self.empty = 0, 0, 0

    def see(self, sums: ClusterSums, r: int, small: float) -> None:
        """Note the sums at the present centres, which are the r-th, and where they lead."""
        before, self.value, self.steps = self.value, -float(sums.inertia[r]), self.steps + 1
        seen = np.broadcast_to(sums.seen[r], self.mu.shape).copy()
        params = KMeansParams(self.mu, sums.rows[r], seen, np.zeros(self.mu.shape[1]))
        if 0.0 < before - self.value <= params.rounding(-self.value):  # a mean of copies may miss them by a digit
            self.value, self.arrived = before, True
            return
        self.params = params
        self.next, self.empty = move_centers(self.mu, sums, r)
        step = float(((self.next - self.mu) ** 2).sum())
        self.arrived = self.last or step == 0.0
        self.last = step <= small and not self.empty

    def step(self) -> None:
        self.mu, self.reseeded = self.next, self.reseeded + self.empty


def _plain(survey: TableSurvey, source: Source) -> TableSurvey:
    """The survey without its frame where the origin lies among the rows anyway: every pass saves a copy."""
    frame, cols = survey.frame, survey.columns
    if (frame.scale != 1.0).any() or float((frame.shift**2).sum()) > float(cols.variance.sum()):
        return survey
    origin = Frame(np.zeros_like(frame.shift), frame.scale, frame.unit)
    return survey._replace(frame=origin, source=source, columns=cols._replace(mean=cols.mean + frame.shift))


def _with_squares(params: KMeansParams, source: Source, run: Run) -> tuple[KMeansParams, Labels | None]:
    """The parameters with the squares left over in each column, and the rows' labels where there are not too many."""
    labels: list[Labels] = []
    squares = np.zeros(source.d)
    for _, (label, part) in walk(partial(_labels_and_squares, params), source, run):
        squares += part
        labels += [label] if source.n <= LABELLED_ROWS else []
    return params._replace(squares=squares), np.concatenate(labels) if labels else None


# what walks the table: functions of arrays, so that any engine can send them elsewhere
def _sums(mu: Array, block: Block) -> ClusterSums:
    return cluster_sums(block.x, block.mask, block.weight, block.start, mu)


def _labels(params: KMeansParams, block: Block) -> Labels:
    """The nearest centre of each row; the largest cluster for a row without any cell."""
    return _labels_and_residuals(params, block)[0]


def _labels_and_residuals(params: KMeansParams, block: Block) -> tuple[Labels, Array]:
    label, residual = nearest_labels(block.x, block.mask, params.mu)
    if block.mask is not None:
        label[~block.mask.any(axis=1)] = int(params.rows.argmax())
    return label, residual


def _labels_and_squares(params: KMeansParams, block: Block) -> tuple[Labels, Array]:
    """Each row's label, and the squares left over in each column."""
    label, residual = _labels_and_residuals(params, block)
    residual *= residual
    return label, residual.sum(axis=0) if block.weight is None else block.weight @ residual


def _absorb_tile(params: KMeansParams, tile: Block) -> KMeansParams:
    """The centres after these rows: each still the mean of all the cells it ever took."""
    sums = cluster_sums(tile.x, tile.mask, tile.weight, tile.start, params.mu[None])
    seen = params.seen + sums.seen[0]
    step = sums.total[0] - (seen - params.seen) * params.mu
    mu = params.mu + step / np.where(seen > 0, seen, 1.0)
    squares = params.squares + _labels_and_squares(params, tile)[1]
    return params._replace(mu=mu, rows=params.rows + sums.rows[0], seen=seen, squares=squares)
