"""Fisher's linear discriminant: the directions in which known classes lie apart."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from lowdim.engine.fit import Fit, em
from lowdim.engine.fold import Run, fold
from lowdim.engine.plan import USUAL_PASSES, Cost, walking
from lowdim.maths.eigen import Problem, solve
from lowdim.maths.linalg import Array, sign_rule
from lowdim.models.base.estimator import COUNT, POSITIVE, Absent, Rule
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Certificate, Posterior, certify, in_range
from lowdim.models.base.survey import survey_for_fit
from lowdim.models.projections.cca_algebra import (
    LEAST_VIEW_NOISE,
    NULL_VARIANCE,
    PATTERN_NUMBERS,
    given_seen,
    patterns,
    seen_sums,
)
from lowdim.sources.arrays import ArraySource, as_source
from lowdim.sources.source import Block, Header, Source
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
    """What an EM step needs: the classes' sums side by side."""

    n: Array
    log_density: float
    s: Array
    Q: Array

    def merge(self, other: Self) -> Self:
        parts: Any = zip(self, other, strict=True)
        return type(self)(*(a + b for a, b in parts))


class Classed(Joined):
    """Rows and, as a last column, the number of each row's class."""

    @property
    def header(self) -> Header:
        assert self.first is not None
        return self.first.header


class LinearDiscriminant(ClassifierMixin, LatentModel):
    """Linear discriminant analysis: classes as Gaussians with one covariance, gaps and weights welcome.

    x | class c ~ N(mu_c, C). `transform` projects on the directions that hold most of the variance between class means
    beside that within classes; `predict` and `predict_proba` are Bayes' rule, given the cells a row shows. Complete
    tables in one pass, with the same numbers as scikit-learn's default solver; tables with gaps by EM, every row
    exact. Directions without variance within classes are left out, as there (LD287).

    Parameters
    ----------
    n_components : int, default=None
        The directions to keep; None for all, one less than the classes.
    priors : array of shape (n_classes,), default=None
        Probabilities of the classes; None for their shares of the rows.
    shrinkage : float, default=0.0
        Moves C by this share towards the columns' own variances.
    tol : float, default=1e-7
        With gaps, EM ends when the log-likelihood can gain no more than this, in nats a row.
    max_iter : int, default=1000
        The most passes over the table.

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

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": Rule(lambda v: v is None or COUNT.holds(v), "None for all, or a whole number >= 1"),
        "shrinkage": Rule(
            lambda v: isinstance(v, int | float | np.number) and bool(0.0 <= v <= 1.0), "a share between 0 and 1"
        ),
        "tol": POSITIVE,
        "max_iter": COUNT,
    }
    _objective_name = "log-likelihood given the classes"
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

    def __init__(
        self,
        n_components: int | None = None,
        *,
        priors: Any = None,
        shrinkage: float = 0.0,
        tol: float = 1e-7,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.priors = priors
        self.shrinkage = shrinkage
        self.tol = tol
        self.max_iter = max_iter

    # fitting -------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> Self:
        """Fit to rows and their classes; `shrinkage` moves C towards the columns' own variances."""
        self._check_options()
        first = as_source(X, weight=sample_weight)
        classes, codes = classes_of(y, first)
        self._checked_prior(len(classes))
        labels = ArraySource(codes[:, None].astype(np.float64), columns=None)
        self._fit_source(Classed(first, labels, (first.d, 1)), run or Run())
        self.classes_ = classes
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_options: Any) -> Array:
        """`fit` and then `transform` of the same rows."""
        return self.fit(X, y, **fit_options).transform(X)

    def _checked_prior(self, count: int) -> Array | None:
        if self.priors is None:
            return None
        prior = np.asarray(self.priors, dtype=np.float64)
        if prior.shape != (count,) or not (prior >= 0).all() or not np.isclose(prior.sum(), 1.0):
            raise error("LD210", option="priors", value=self.priors, allowed=f"{count} shares >= 0 that add up to 1")
        return prior

    def _fit(self, source: Source, run: Run) -> tuple[Fit, Frame]:
        assert isinstance(source, Classed) and source.first is not None and source.second is not None
        X, d = source.first, source.first.d
        K = int(source.second.read(slice(0, source.n))[0].max()) + 1
        most = min(K - 1, d)
        if self.n_components is not None and self.n_components > most:
            raise error(
                "LD200",
                n_components=self.n_components,
                most=most,
                why=f"{K} classes and {d} columns (n_features = {d}) leave no more directions between them",
            )
        survey = survey_for_fit(X, run, standardize=True, wide=False)
        whole = Frame(*(np.append(part, last) for part, last in zip(survey.frame, (0.0, 1.0, 1.0), strict=True)))
        start = LinearDiscriminantParams(
            np.zeros((d, 0)), np.zeros(d), np.tile(survey.columns.mean, (K, 1)), np.eye(d), np.ones(K) / K, np.ones(K)
        )
        rows = Framed(source, whole)
        if survey.gaps:
            assert survey.pairs is not None
            values, U = np.linalg.eigh(survey.pairs.covariance())
            fit = em(self, start._replace(C=(U * np.maximum(values, START_CORRELATION)) @ U.T), rows, run)
            sums, span = fit.stats, None
        else:
            sums = fold(partial(class_scatter, start.means), rows, run)
            span = gather(rows)[0][:, :d] - survey.columns.mean if source.n < d else None
            params, value = closed_form(start, sums, span)
            fit = Fit(params, sums, value, (value,), 1, True, "closed form", "class moments")
        params = self._between(fit.params._replace(rows=sums.n), K, span)
        frame = survey.frame._replace(unit=np.ones(d))
        return fit._replace(params=params).restated(survey.log_stretch, survey.passes), frame

    def _stats(self, params: LinearDiscriminantParams, block: Block) -> ClassSums:
        return class_sums(params, block)

    def _objective(self, params: LinearDiscriminantParams, stats: ClassSums) -> float:
        return stats.log_density

    def _update(self, params: LinearDiscriminantParams, stats: ClassSums) -> LinearDiscriminantParams:
        """One M-step; no direction falls below the bound (clipping is the exact bounded maximum)."""
        C, n = params.C, stats.n.sum()
        step = stats.s @ C / np.maximum(stats.n, np.finfo(float).tiny)[:, None]
        new = C + C @ (stats.Q / n) @ C - (step * (stats.n / n)[:, None]).T @ step
        return params._replace(means=params.means + step, C=floored(new, LEAST_VIEW_NOISE))

    def _pack(self, params: LinearDiscriminantParams) -> Array:
        L = np.linalg.cholesky(params.C)
        at = np.arange(len(L))
        L[at, at] = np.log(L[at, at])
        return np.concatenate([params.means.ravel(), L[np.tril_indices(len(L))]])

    def _unpack(self, vector: Array, like: LinearDiscriminantParams) -> LinearDiscriminantParams:
        K, d = like.means.shape
        means, low = np.split(vector, [K * d])
        L, at = np.zeros((d, d)), np.arange(d)
        L[np.tril_indices(d)] = low
        L[at, at] = np.exp(np.clip(L[at, at], -12.0, 3.0))  # an extrapolation may not run away
        return like._replace(means=means.reshape(K, d), C=floored(L @ L.T, LEAST_VIEW_NOISE))

    def _between(self, params: LinearDiscriminantParams, K: int, span: Array | None) -> LinearDiscriminantParams:
        """The directions between the classes, and means that lie in the directions within them.

        `span`: fewer rows than columns, which span all of C and of the means but its floor.
        """
        n, d = params.rows.sum(), len(params.mu)
        checked = self._checked_prior(K)
        prior = params.rows / n if checked is None else checked
        spread = np.sqrt(np.maximum(np.diag(params.C), np.finfo(float).tiny))
        C = (1.0 - self.shrinkage) * params.C + self.shrinkage * np.diag(spread**2)
        values, U = eigenpairs(C / np.outer(spread, spread), None if span is None else span / spread)
        least = LEAST_CLASS_VARIANCE * max(values[-1], np.finfo(float).tiny)
        keep, rest = values > least, self.shrinkage if self.shrinkage > least else NULL_VARIANCE
        rank = int(keep.sum()) + (d - len(values)) * (self.shrinkage > least)
        if rank < d:
            warn("LD287", rank=rank, d=d)
        basis, wide = spread[:, None] * U[:, keep], np.sqrt(values[keep])
        K_w = (U[:, keep] / spread[:, None]) / wide  # whitens the rows of one class
        mu = prior @ params.means
        off = (params.means - mu) @ K_w
        _, _, Vt = np.linalg.svd(off * np.sqrt(n * prior)[:, None], full_matrices=False)
        most = min(K - 1, len(Vt))
        W = K_w @ Vt[: most if self.n_components is None else self.n_components].T
        C = whole_matrix(np.where(keep, values, NULL_VARIANCE), U, rest) * np.outer(spread, spread)
        return params._replace(W=W * sign_rule(W), mu=mu, means=off @ (basis * wide).T, C=C, prior=prior)

    # verbs ---------------------------------------------------------------------------------------
    def _class_scores(self, params: LinearDiscriminantParams, block: Block) -> tuple[Array, Array]:
        """Log of prior times density of each class, up to what all classes share; and y = P r."""
        r = block.x - params.mu
        r = r if block.mask is None else r * block.mask
        every = np.arange(len(params.means))
        conditional = given_seen(r, block.mask, params.C, params.means.T, np.zeros((len(every),) * 2), (every, every))
        logs = np.log(np.maximum(params.prior, np.finfo(float).tiny))
        return logs + conditional.y @ params.means.T + 0.5 * conditional.covariance, conditional.y

    def _posterior(self, params: LinearDiscriminantParams, block: Block) -> Posterior:
        """Each row's place between the classes; a gap is where its class and its other cells put it."""
        q = params.W.shape[1]
        logs, y = self._class_scores(params, block)
        mean = (block.x - params.mu) @ params.W
        if block.mask is not None:
            p = np.exp(logs - logs.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            mean = y @ (params.C @ params.W) + p @ (params.means @ params.W)
            for part in patterns(block.mask, block.rows, params.C):
                left, right = part.N @ (params.C @ params.W), part.N @ params.means.T
                known = left.transpose(0, 2, 1) @ right  # W'C P mu_c of each pattern
                mean[part.rows] -= np.matmul(known[part.which], p[part.rows][:, :, None])[:, :, 0]
        return Posterior(mean, np.zeros((block.rows, q * (q + 1) // 2)), np.zeros(block.rows))

    def _decode(self, params: LinearDiscriminantParams, posterior: Posterior) -> Cells:
        raise NotImplementedError("a discriminant does not decode")

    def _axes(self, params: LinearDiscriminantParams) -> Array:
        return np.eye(params.W.shape[1])

    def predict_log_proba(self, X: Any) -> Array:
        """Log probability of each class given the seen cells of each row, n x K."""
        logs = self._log_joint(X)
        top = logs.max(axis=1, keepdims=True)
        log_shares: Array = logs - top - np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
        return log_shares

    def decision_function(self, X: Any) -> Array:
        """Log of prior times density of each class, up to what all classes share, n x K.

        Of two classes, how much larger the second one's is, n, as in scikit-learn.
        """
        logs = self._log_joint(X)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def _log_joint(self, X: Any) -> Array:
        """Log of prior times density of each class, up to what all classes share, n x K."""
        check_is_fitted(self)
        return self._each(lambda b: self._class_scores(self.params_, self.frame_.inward(b))[0], X)

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class given the seen cells of each row, n x K."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self._log_joint(X), axis=1)]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # type: ignore[override]
        """The share of rows whose class is predicted rightly."""
        return float(ClassifierMixin.score(self, X, y, sample_weight))

    # reports ----------------------------------------------------------------------------------
    def _attributes(self, params: LinearDiscriminantParams, frame: Frame, fit: Fit) -> dict[str, Any]:
        whole = params.means @ np.linalg.solve(params.C, params.means.T)
        between = (params.means @ params.W) ** 2 * params.prior[:, None]
        total = float(np.diag(whole) @ params.prior)
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
            "explained_variance_ratio_": between.sum(axis=0) / total if total > 0.0 else np.zeros(params.W.shape[1]),
            "scalings_": scalings,
        }

    def _certify(self, fit: Fit, frame: Frame, header: Header) -> Certificate:
        C = fit.params.C
        widest, narrowest = (solve(Problem(M, few=True), 1).values[0] for M in (C, np.linalg.inv(C)))
        condition = float(np.sqrt(widest * narrowest))
        residual, digits = fit.remaining if fit.solver == "em" else 0.0, 15.0 - 2.0 * np.log10(condition)
        return certify(fit, self._objective_name, residual=residual, condition=condition, digits=digits)

    def _cost(self, n: int, d: int) -> Cost:
        passes = 5 + self.max_iter
        peak = walking(n, d, 8 * min(n, 8192) * d + 4 * PATTERN_NUMBERS, 4 * d * d) + 8 * (12 * d * d + 2 * n)
        return Cost(
            passes, 8 * n * d * passes, peak, "fewer columns: PCA(k) first", min(USUAL_PASSES, self.max_iter) + 2
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def class_sums(params: LinearDiscriminantParams, block: Block) -> ClassSums:
    """The statistics of a block under given parameters: each class about its own mean."""
    K, d = params.means.shape
    codes = block.x[:, d].astype(np.intp)
    seen = None if block.mask is None else block.mask[:, :d]
    seen = None if seen is None or seen.all() else seen
    r = block.x[:, :d] - params.means[codes]
    r = r if seen is None else r * seen
    parts = []
    for k in range(K):
        rows = codes == k
        mask, weight = (None if part is None else part[rows] for part in (seen, block.weight))
        parts.append(seen_sums(r[rows], mask, weight, params.C))
    return ClassSums(
        np.array([p.n for p in parts]),
        sum(p.log_density for p in parts),
        np.array([p.s for p in parts]),
        np.sum([p.Q for p in parts], axis=0),
    )


def class_scatter(means: Array, block: Block) -> ClassSums:
    """The sums of complete rows: each class about its own centre, and the products of all."""
    K, d = means.shape
    codes, w = block.x[:, d].astype(np.intp), np.ones(block.rows) if block.weight is None else block.weight
    r = block.x[:, :d] - means[codes]
    belongs, root = (codes == np.arange(K)[:, None]) * w, r * np.sqrt(w)[:, None]
    return ClassSums(belongs.sum(axis=1), 0.0, belongs @ r, root.T @ root)  # as a square: symmetric to the last bit


def closed_form(
    start: LinearDiscriminantParams, sums: ClassSums, span: Array | None
) -> tuple[LinearDiscriminantParams, float]:
    """Means and covariance of a complete table, and its log-likelihood given the classes."""
    n, d, least = float(sums.n.sum()), len(start.mu), float(np.finfo(float).eps)
    step = sums.s / np.maximum(sums.n, np.finfo(float).tiny)[:, None]
    values, U = eigenpairs(sums.Q / n - (step * (sums.n / n)[:, None]).T @ step, span)
    values = np.maximum(values, least)
    log_det = float(np.log(values).sum()) + (d - len(values)) * np.log(least)
    params = start._replace(means=start.means + step, C=whole_matrix(values, U, least))
    return params, float(-0.5 * n * (d * np.log(2 * np.pi) + log_det + d))


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
        return np.asarray((U * values) @ U.T)
    return np.asarray((U * (values - rest)) @ U.T + rest * np.eye(len(U)))


def floored(C: Array, least: float) -> Array:
    """A covariance with no direction below a bound."""
    values, U = eigenpairs(C)
    return whole_matrix(np.maximum(values, least), U, least)


def classes_of(y: Any, source: Source) -> tuple[Any, Any]:
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
