"""Fisher's linear discriminant: the directions in which known classes lie apart."""

from __future__ import annotations

from functools import partial, reduce
from operator import add
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from lowdim.engine.fit import Cost, Fit, em, walking
from lowdim.engine.fold import Run, fold
from lowdim.maths.eigen import Problem, solve
from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import EPS, Array, Index, floored, lower, sign_rule
from lowdim.models.base.estimator import Absent, WeightedEstimator
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import COUNT, EM_ENDS_WITH_GAPS, POSITIVE, Rule, check_components, none_or, option
from lowdim.models.base.results import Cells, Fitted, Posterior, certify, in_range
from lowdim.models.base.survey import survey_table
from lowdim.models.projections.covariance import (
    GAP_NUMBERS,
    LEAST_VARIANCE,
    NULL_VARIANCE,
    deviations,
    from_log_cholesky,
    given_in_pieces,
    log_cholesky,
    whitening,
)
from lowdim.sources.arrays import ArraySource, as_source
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, Framed, Joined, gather
from lowdim.text.messages import error, warn

LEAST_CLASS_VARIANCE = 1e-8  # share of the largest (columns of unit spread): sd 1e-4, as scikit-learn's tol
START_CORRELATION = 0.05  # least eigenvalue of the pairwise correlations that start EM


class LinearDiscriminantParams(NamedTuple):
    """Parameters in the frame's units."""

    W: Array  # d x q: directions in which rows of one class have unit variance
    mu: Array  # d: the classes' means, weighted by their priors
    means: Array  # K x d, from mu on
    C: Array  # d x d: covariance within classes (1/n)
    prior: Array  # K
    rows: Array  # K: rows of each class


class ClassSums(NamedTuple):
    """What an EM step needs: sums over rows about the mean of their class, gaps by their expectation."""

    n: Array  # K: rows of each class
    log_density: float  # of the seen cells
    s: Array  # K x d: sum of E[x - mu_c]
    S: Array  # d x d: sum of E[(x - mu_c)(x - mu_c)']

    def merge(self, other: Self) -> Self:
        return type(self)(*map(add, self, other))


class Classed(Joined):
    """Rows and, as a last column, the number of each row's class."""

    def __init__(self, rows: Source, classes: NDArray[Any], codes: Index) -> None:
        super().__init__(rows, ArraySource(codes[:, None].astype(np.float64), columns=None), (rows.d, 1))
        self.classes = classes


class LinearDiscriminant(ClassifierMixin, WeightedEstimator, LatentModel[LinearDiscriminantParams, Posterior]):
    """Linear discriminant analysis: classes as Gaussians with one covariance, gaps and weights welcome.

    x | class c ~ N(mu_c, C). `transform` projects on the directions that hold most of the variance between class means
    beside that within classes; `predict` and `predict_proba` are Bayes' rule, given the cells a row shows. Complete
    tables in one pass, with the same numbers as scikit-learn's default solver; tables with gaps by EM, every row
    exact. Directions without variance within classes are left out, as there (LD287).

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, in order.
    means_ : array of shape (n_classes, n_features)
        Their means mu_c.
    xbar_ : array of shape (n_features,)
        The mean of these, weighted by `priors_`.
    priors_ : array of shape (n_classes,)
        The probabilities used.
    covariance_ : array of shape (n_features, n_features)
        C, with divisor n.
    scalings_ : array of shape (n_features, n_components)
        The directions; rows of one class have unit variance along each.
    explained_variance_ratio_ : array of shape (n_components,)
        Their shares of the variance between classes.
    n_components_ : int
        The number of directions.
    objective_, history_, n_iter_, converged_, certificate_, params_, frame_
        The log-likelihood given the classes, its course, passes, and how far to trust the fit; parameters and units.

    References
    ----------
    R. A. Fisher, "The use of multiple measurements in taxonomic problems", Annals of Eugenics 7 (1936), 179-188.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminant(2).fit(X, y)
    >>> round(model.score(X, y), 2), model.explained_variance_ratio_.round(3).tolist()
    (0.98, [0.991, 0.009])
    """

    n_components: int | None = option(
        default=None,
        rule=none_or(COUNT, "all"),
        words="The directions to keep; None for all, one less than the classes.",
        kw_only=False,
    )
    priors: Any = option(
        default=None,
        rule=Rule(lambda _: True, "shares of the classes"),
        kind="array of shape (n_classes,) or None",
        words="Probabilities of the classes; None for their shares of the rows.",
    )
    shrinkage: float = option(
        default=0.0,
        rule=Rule(
            lambda v: isinstance(v, int | float | np.number) and bool(0.0 <= v <= 1.0), "a share between 0 and 1"
        ),
        words="Moves C by this share towards the columns' own variances.",
    )
    tol: float = option(default=1e-7, rule=POSITIVE, words=EM_ENDS_WITH_GAPS)
    max_iter: int = option(default=1000, rule=COUNT, words="The most passes over the table.")
    _objective_name: ClassVar[str] = "log-likelihood given the classes"
    _why = "it tells classes apart, and a row's class is not among its cells"
    inverse_transform = Absent("it keeps only the directions that tell classes apart", "means_, or PCA")
    reconstruct = Absent("it keeps only the directions that tell classes apart", "PCA().reconstruct")
    impute = Absent(_why, "ProbabilisticPCA().impute, or  lowdim fill FILE -o FILLED")
    predict_cells = Absent(_why, "ProbabilisticPCA")
    decode = Absent(_why, "ProbabilisticPCA")
    prior = Absent(_why, "ProbabilisticPCA")
    posterior = Absent(_why, "predict_proba, the posterior of the classes")
    sample = Absent(_why, "GaussianMixture().sample")
    n_parameters_ = bic = aic = Absent(_why, "score, the share of rows whose class it finds")
    score_samples = Absent(_why, "predict_log_proba, or GaussianMixture().score_samples")
    _laws_broken: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("all_missing_row_gets_prior", "impute_keeps_seen", "sample_then_fit"), _why),
        "mask_of_ones_is_no_mask": "it has no way back from the directions to the cells",
        "score_is_objective": "its score is the accuracy of the classes",
    }

    # fitting -------------------------------------------------------------------------------------
    def _open(self, X: Any, y: Any, weight: Any) -> Source:
        rows = as_source(X, weight=weight)
        return Classed(rows, *classes_of(y, rows))

    def _keep(self, fitted: Fitted, source: Source) -> Self:
        """The classes are no column."""
        assert isinstance(source, Classed) and source.first is not None
        return super()._keep(fitted, source.first)

    def _fit(self, source: Source, run: Run) -> Fitted:
        assert isinstance(source, Classed) and source.first is not None
        K, d = len(source.classes), source.first.d
        priors = None if self.priors is None else np.asarray(self.priors, dtype=np.float64)
        if priors is not None and (
            priors.shape != (K,) or not (priors >= 0).all() or not np.isclose(priors.sum(), 1.0)
        ):
            raise error("LD210", option="priors", value=self.priors, allowed=f"{K} shares >= 0 that add up to 1")
        why = f"{K} classes and {d} columns (n_features = {d}) leave no more directions between them"
        check_components(self.n_components, min(K - 1, d), why)
        survey = survey_table(source.first, run, standardize=True, wide=False)
        mean = survey.columns.mean
        # rows in the frame, the number of their class beside them as it is
        shift, scale, unit = survey.frame
        rows = Framed(source, Frame(np.append(shift, 0.0), np.append(scale, 1.0), np.append(unit, 1.0)))
        start = LinearDiscriminantParams(
            W=np.zeros((d, 0)),
            mu=np.zeros(d),
            means=np.tile(mean, (K, 1)),
            C=np.eye(d),
            prior=np.ones(K) / K,
            rows=np.ones(K),
        )
        if survey.gaps:
            # With gaps EM finds means and covariance, from the pairwise correlations on.
            assert survey.pairs is not None
            start = start._replace(C=floored(survey.pairs.covariance(), START_CORRELATION))
            fit = em(self, start, rows, run)
            span = None
        else:
            # Complete rows: the moments of the classes, in one pass.
            span = gather(rows)[0][:, :d] - mean if source.n < d else None
            sums = fold(partial(self._stats, start), rows, run)
            params, value = closed_form(start, sums, span)
            fit = Fit(params, sums, value, (value,), 1, True, "closed form", "class moments")
        # Fisher's directions, in which the class means lie furthest apart beside the rows of one class.
        n = fit.stats.n
        params = fit.params._replace(rows=n, prior=n / n.sum() if priors is None else priors)
        params = between_classes(params, self.n_components, self.shrinkage, span)
        frame = survey.frame._replace(unit=np.ones(d))  # everything is reported in the table's units
        widest, narrowest = (solve(Problem(M, few=True), 1).values[0] for M in (params.C, np.linalg.inv(params.C)))
        condition = float(np.sqrt(widest * narrowest))
        digits = 15.0 - 2.0 * np.log10(condition)
        certificate = certify(fit, self._objective_name, condition=condition, digits=digits)
        attributes = {"classes_": source.classes, **reported(params, frame)}
        fitted = Fitted(params, frame, certificate, attributes, fit.history)
        return fitted.restated(survey.columns.seen, survey.passes)

    def _stats(self, params: LinearDiscriminantParams, block: Block) -> ClassSums:
        """The E-step: each row about the mean of its class, its gaps given its seen cells."""
        K, d = params.means.shape
        codes, w = block.x[:, d].astype(np.intp), block.times
        belongs = (codes == np.arange(K)[:, None]) * w
        mask = None if block.mask is None else block.mask[:, :d]
        r = block.x[:, :d] - params.means[codes]
        sums = []
        for at, given in given_in_pieces(r if mask is None else r * mask, mask, whitening(params.C)):
            own, both = belongs[:, at], given.scatter(w[at])
            sums.append(ClassSums(own.sum(axis=1), both.log_density, own @ given.deviations, both.S))
        return reduce(ClassSums.merge, sums)

    def _objective(self, params: LinearDiscriminantParams, stats: ClassSums) -> float:
        return stats.log_density

    def _update(self, params: LinearDiscriminantParams, stats: ClassSums) -> LinearDiscriminantParams:
        """The M-step; no direction falls below the bound (clipping is the exact bounded maximum)."""
        means, C = class_moments(params, stats)
        return params._replace(means=means, C=floored(C, LEAST_VARIANCE))

    def _pack(self, params: LinearDiscriminantParams) -> Array:
        return np.concatenate([params.means.ravel(), log_cholesky(params.C)[lower(len(params.C))]])

    def _unpack(self, vector: Array, like: LinearDiscriminantParams) -> LinearDiscriminantParams:
        K, d = like.means.shape
        L = np.zeros((d, d))
        L[lower(d)] = vector[K * d :]
        return like._replace(means=vector[: K * d].reshape(K, d), C=floored(from_log_cholesky(L), LEAST_VARIANCE))

    # verbs ---------------------------------------------------------------------------------------
    def _class_scores(self, params: LinearDiscriminantParams, block: Block) -> Array:
        """Log of prior times density of each class, up to what all classes share, n x K.

        With the precision A of a row's seen cells this is log prior + mu_c'A (x - mu) - mu_c'A mu_c / 2.
        """
        whole = whitening(params.C)
        pull = whole.P @ (whole.P.T @ params.means.T)  # A mu_c of a complete row
        squares = (params.means.T * pull).sum(axis=0)
        every = np.arange(len(params.means))
        scores = np.empty((len(block.x), len(every)))
        for at, given in given_in_pieces(deviations(params.mu, block), block.mask, whole):
            scores[at] = given.deviations @ pull - 0.5 * (squares - given.open_products(pull, (every, every)))
        return scores + np.log(np.maximum(params.prior, np.finfo(float).tiny))

    def _posterior(self, params: LinearDiscriminantParams, block: Block) -> Posterior:
        """Each row's place between the classes; a gap is where its class and its other cells put it."""
        q = params.W.shape[1]
        places = deviations(params.mu, block)
        if block.mask is not None:
            # each class fills the gaps from the seen cells; linear in its mean, so that one mean does for their average
            centre = softmax(self._class_scores(params, block), axis=1) @ params.means
            off = (places - centre) * block.mask
            for at, given in given_in_pieces(off, block.mask, whitening(params.C)):
                places[at] = centre[at] + given.deviations
        return Posterior(places @ params.W, np.zeros((len(block.x), q * (q + 1) // 2)), np.zeros(len(block.x)))

    def _decode(self, params: LinearDiscriminantParams, posterior: Posterior) -> Cells:
        raise NotImplementedError("a discriminant does not decode")

    def _axes(self, params: LinearDiscriminantParams) -> Array:
        return np.eye(params.W.shape[1])

    def predict_log_proba(self, X: Any) -> Array:
        """Log probability of each class given the seen cells of each row, n x K."""
        return log_softmax(self._log_joint(X), axis=1)

    def decision_function(self, X: Any) -> Array:
        """Log of prior times density of each class, up to what all classes share, n x K.

        Of two classes, how much larger the second one's is, n, as in scikit-learn.
        """
        logs = self._log_joint(X)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def _log_joint(self, X: Any) -> Array:
        """Log of prior times density of each class, up to what all classes share, n x K."""
        check_is_fitted(self)
        return self._each(lambda b: self._class_scores(self.params_, self.frame_.inward(b)), X)

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class given the seen cells of each row, n x K."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self._log_joint(X), axis=1)]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # type: ignore[override]  # y counts
        """The share of rows whose class is predicted rightly."""
        return float(ClassifierMixin.score(self, X, y, sample_weight))

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        passes = 5 + self.max_iter
        peak = walking(n, d, 8 * min(n, 8192) * d + 4 * GAP_NUMBERS, 4 * d * d) + 8 * (12 * d * d + 2 * n)
        return Cost(passes, 8 * n * d * passes, peak, "fewer columns: PCA(k) first")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def reported(params: LinearDiscriminantParams, frame: Frame) -> dict[str, Any]:
    """The fitted attributes, in the table's units."""
    total = float(np.diag(params.means @ np.linalg.solve(params.C, params.means.T)) @ params.prior)
    between = ((params.means @ params.W) ** 2 * params.prior[:, None]).sum(axis=0)
    scale = float(frame.scale.max())
    with np.errstate(over="ignore"):
        covariance = in_range(params.C / frame.scale / frame.scale[:, None], "Covariances", 1.0 / scale)
        scalings = in_range(params.W * frame.scale[:, None], "Scalings", scale)
    return {
        "means_": frame.outward(params.mu + params.means),
        "xbar_": frame.outward(params.mu),
        "priors_": params.prior,
        "covariance_": covariance,
        "n_components_": params.W.shape[1],
        "explained_variance_ratio_": between / total if total > 0.0 else np.zeros_like(between),
        "scalings_": scalings,
    }


def class_moments(params: LinearDiscriminantParams, sums: ClassSums) -> tuple[Array, Array]:
    """The mean of each class and the covariance within them, from sums about the present means."""
    step = sums.s / np.maximum(sums.n, np.finfo(float).tiny)[:, None]
    share = sums.n / sums.n.sum()
    return params.means + step, sums.S / sums.n.sum() - (step * share[:, None]).T @ step


def closed_form(
    start: LinearDiscriminantParams, sums: ClassSums, span: Array | None
) -> tuple[LinearDiscriminantParams, float]:
    """Means and covariance of a complete table, and its log-likelihood given the classes."""
    n, d = float(sums.n.sum()), len(start.mu)
    means, C = class_moments(start, sums)
    values, U = eigenpairs(C, span)
    values = np.maximum(values, EPS)
    log_det = float(np.log(values).sum()) + (d - len(values)) * np.log(EPS)
    value = float(-0.5 * n * (d * LOG_TWO_PI + log_det + d))
    return start._replace(means=means, C=whole_matrix(values, U, EPS)), value


def between_classes(
    params: LinearDiscriminantParams, q: int | None, shrinkage: float, span: Array | None
) -> LinearDiscriminantParams:
    """The q directions between the classes, and means that lie in the directions within them.

    `span`: fewer rows than columns, which span all of C and of the means but its floor.
    """
    n, (K, d) = params.rows.sum(), params.means.shape
    tiny = np.finfo(float).tiny
    # C in units of each column's spread within classes, shrunk towards them; directions without variance are left out
    spread = np.sqrt(np.maximum(np.diag(params.C), tiny))
    C = (1.0 - shrinkage) * params.C + shrinkage * np.diag(spread**2)
    values, U = eigenpairs(C / np.outer(spread, spread), None if span is None else span / spread)
    least = LEAST_CLASS_VARIANCE * max(values[-1], tiny)
    keep = values > least
    rank = int(keep.sum()) + (d - len(values)) * (shrinkage > least)
    if rank < d:
        warn("LD287", rank=rank, d=d)
    # whiten the rows of one class, and take the principal axes of the class means there
    spans, wide = spread[:, None] * U[:, keep], np.sqrt(values[keep])
    white = (U[:, keep] / spread[:, None]) / wide
    mu = params.prior @ params.means
    off = (params.means - mu) @ white
    _, _, Vt = np.linalg.svd(off * np.sqrt(n * params.prior)[:, None], full_matrices=False)
    W = white @ Vt[: min(K - 1, len(Vt)) if q is None else q].T
    rest = shrinkage if shrinkage > least else NULL_VARIANCE
    C = whole_matrix(np.where(keep, values, NULL_VARIANCE), U, rest) * np.outer(spread, spread)
    return params._replace(W=W * sign_rule(W), mu=mu, means=off @ (spans * wide).T, C=C)


def eigenpairs(C: Array, span: Array | None = None) -> tuple[Array, Array]:
    """Rising eigenvalues and vectors of a symmetric matrix; with `span`, those within the span of a few rows."""
    if span is None:
        values, U = np.linalg.eigh((C + C.T) / 2.0)
        return values, U
    B = np.linalg.qr(span.T)[0]
    values, U = np.linalg.eigh(B.T @ C @ B)
    return values, B @ U


def whole_matrix(values: Array, U: Array, rest: float) -> Array:
    """The matrix with these eigenpairs, and `rest` in every direction without one."""
    if U.shape[1] == len(U):
        return (U * values) @ U.T
    return (U * (values - rest)) @ U.T + rest * np.eye(len(U))


def classes_of(y: Any, source: Source) -> tuple[NDArray[Any], Index]:
    """The classes in order, and the number of each row's."""
    try:
        if y is None:
            raise error("LD286", problem="LinearDiscriminant requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
    except (ValueError, TypeError) as problem:
        if type(problem).__module__.startswith("lowdim"):
            raise
        raise error("LD286", problem=str(problem)) from problem
    if len(codes) != source.n:
        raise error("LD286", problem=f"X has {source.n} rows and y has {len(codes)}: inconsistent numbers of samples")
    used = np.unique(codes if source.weight is None else codes[source.weight > 0])
    if len(used) < 2:
        raise error("LD286", problem=f"the number of classes has to be greater than one; got {len(used)} class")
    kind = {"i": np.int64, "u": np.int64, "f": np.float64, "U": object}.get(classes.dtype.kind)  # what a file can hold
    classes = classes if kind is None else classes.astype(kind)
    at = np.minimum(np.searchsorted(used, codes), len(used) - 1)  # rows of a class that counts for nothing: anywhere
    return classes[used] if len(used) < len(classes) else classes, at
