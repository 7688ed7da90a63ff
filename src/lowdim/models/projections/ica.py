"""Independent component analysis: the sources whose mixture a table is."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.decomposition import fastica
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import Cost, walking
from lowdim.engine.fold import Run, one_blas_thread, walk
from lowdim.maths.linalg import Array, orthogonality, sign_rule
from lowdim.maths.seeds import ICA_TURN
from lowdim.models.base.estimator import FILL_FIRST, Absent
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.options import COUNT, POSITIVE, SEED, check_components, none_or, one_of, option, seed_of
from lowdim.models.base.results import Cells, Certificate, Fitted, Posterior, in_range
from lowdim.models.base.scores import minus_squared_error
from lowdim.models.base.survey import LARGE_ORDER, survey_table
from lowdim.models.linear.principal_axes import principal
from lowdim.sources.source import Block, Source
from lowdim.text.messages import error

NORMAL_LOG_COSH = 0.374567  # E log cosh of a standard normal, by quadrature: what negentropy is measured from
LEAST_SPREAD_SHARE = 1e-7  # directions with less than this share of the first one's spread are not mixed from sources
CACHED_ROWS = 2048  # rows whose log cosh is taken at a time: few sources stay in the cache of a core
WHOLE_ROWS = f"leave the rows with gaps out; or {FILL_FIRST}"


class ICAParams(NamedTuple):
    """Parameters in the frame's units: x = mu + W s + what no source explains, s = U (x - mu)."""

    W: Array  # d x q, mixing
    mu: Array
    U: Array  # q x d, unmixing


class ICA(LatentModel[ICAParams, Posterior]):
    """Independent component analysis by FastICA: the table as a mixture of independent, non-Gaussian sources.

    x = mu + W s, the s_i independent with mean 0 and variance 1. The rows are whitened along their q principal
    axes, and scikit-learn's FastICA turns them until the sources are as far from Gaussian as they can be. Sources
    come in the order of that distance and with the largest entry of their column of `mixing_` positive, so equal
    tables give equal answers. Complete tables only: what a gap hides changes the shape of every source, which is all
    that ICA goes by.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Unmixes: s = components_ (x - mean_).
    mixing_ : array of shape (n_features, n_components)
        W, mixes.
    mean_ : array of shape (n_features,)
        mu.
    sources_ : array of shape (n_samples, n_components)
        The sources of the training rows.
    negentropy_ : array of shape (n_components,)
        Their distances from a Gaussian by log cosh, falling.
    n_components_ : int
        The number of sources.
    objective_, history_, n_iter_, converged_, certificate_, params_, frame_
        The sum of `negentropy_`, passes, and how far to trust the fit; the parameters and their units.

    References
    ----------
    A. Hyvarinen and E. Oja, "Independent component analysis: algorithms and applications", Neural Networks 13
    (2000), 411-430.

    Examples
    --------
    >>> import numpy as np
    >>> s = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> sources = ICA(2).fit(s @ np.array([[1.0, 0.5], [0.3, 1.0]])).sources_
    >>> sorted(abs(np.corrcoef(sources.T, s.T)[:2, 2:]).max(axis=1).round(2).tolist())
    [1.0, 1.0]
    """

    n_components: int | None = option(
        default=None,
        rule=none_or(COUNT, "all"),
        words="The number q of sources; None for all the table can have.",
        kw_only=False,
    )
    fun: str = option(
        default="logcosh",
        rule=one_of("logcosh", "exp", "cube"),
        words="FastICA's measure of the distance from a Gaussian.",
    )
    algorithm: str = option(
        default="parallel", rule=one_of("parallel", "deflation"), words="All sources at once, or one after the other."
    )
    tol: float = option(
        default=1e-4, rule=POSITIVE, words="FastICA ends when no entry of its turn changes by more than this."
    )
    max_iter: int = option(default=1000, rule=COUNT, words="The most turns.")
    random_state: Any = option(default=0, rule=SEED, words="The seed of the first turn; None is 0.")
    _objective_name: ClassVar[str] = "negentropy of the sources (by log cosh)"
    _why = "sources without noise: rows off their plane have no density, and the sources' own shapes are not fitted"
    n_parameters_ = bic = aic = Absent(_why, "ProbabilisticPCA or FactorAnalysis, which have a density")
    score_samples = Absent(_why, "ProbabilisticPCA or FactorAnalysis, which have a density")
    sample = Absent(_why, "ProbabilisticPCA().sample")
    prior = Absent("it has no density of sources", "ProbabilisticPCA")
    posterior = Absent("a complete row determines its sources", "transform")
    impute = Absent("a gap leaves the sources of its row open", FILL_FIRST)
    _laws_broken: ClassVar[dict[str, str]] = {
        "weights_repeat_rows": "scikit-learn's FastICA knows no weights",
        "score_is_objective": _why,
        "sample_then_fit": "it cannot sample rows",
        "all_missing_row_gets_prior": "gaps are refused",
        "impute_keeps_seen": "gaps are refused",
    }

    def _fit(self, source: Source, run: Run) -> Fitted:
        survey = survey_table(source, run, units_matter=False, pairs_matter=False)
        if survey.gaps:
            why = "sources are told by the shape of their law, which what a gap hides would change, as any fill does"
            raise error("LD163", f"{survey.columns.holes} cells (NaN)", job="ICA", why=why, fix=WHOLE_ROWS)
        # Whiten: along the principal axes, in units of their spreads, rows have covariance I, and only a turn is left
        # to find (Hyvarinen and Oja 2000, section 5.2).
        most = min(source.n, source.d)
        why = f"the table has {source.n} rows and {source.d} columns (n_features = {source.d})"
        check_components(self.n_components, most, why)
        spectrum = principal(survey, most if self.n_components is None else self.n_components, run)
        varies = spectrum.values > LEAST_SPREAD_SHARE**2 * max(float(spectrum.values[0]), np.finfo(float).tiny)
        if not varies.any() or (self.n_components is not None and not varies.all()):
            raise error("LD284", n_sources=self.n_components or most, rank=int(varies.sum()))
        axes, spread = spectrum.vectors[:, varies], np.sqrt(spectrum.values[varies])
        whitening = axes / spread
        Z = np.empty((source.n, whitening.shape[1]))
        for start, rows in walk(partial(whitened, spectrum.mean, whitening), survey.source, run):
            Z[start : start + len(rows)] = rows
        # Turn: FastICA's fixed point (section 6).
        turn, turns, reason = self._turned(Z)
        # Order and sign: the least Gaussian source first, the largest entry of each column of the mixing positive.
        distance = negentropy(Z, turn)
        order = np.argsort(-distance, kind="stable")
        turn = turn[order]
        turn *= sign_rule((axes * spread) @ turn.T)[:, None]
        params = ICAParams(W=(axes * spread) @ turn.T, mu=spectrum.mean, U=turn @ whitening.T)
        value, frame = float(distance.sum()), survey.frame
        certificate = Certificate(
            solver=f"FastICA ({self.algorithm}, {turns} turns)",
            passes=spectrum.passes + survey.passes + 1,
            objective=value,
            objective_name=self._objective_name,
            converged=reason == "converged",
            reason=reason,
            residual=spectrum.residual,
            orthogonality=orthogonality(turn),
            condition=spectrum.condition,
            digits=float(np.clip(min(spectrum.digits, -np.log10(self.tol)), 0.0, 15.0)),
            notes=("digits are those of the turn, by tol",),
        )
        with np.errstate(over="ignore"):
            unmixing = in_range(params.U * frame.scale, "Components", float(frame.scale.max()))
            mixing = in_range(params.W / frame.scale[:, None], "The mixing matrix", float(1.0 / frame.scale.min()))
        attributes = {
            "components_": unmixing,
            "mixing_": mixing,
            "mean_": frame.outward(params.mu),
            "n_components_": len(params.U),
            "sources_": Z @ turn.T,
            "negentropy_": distance[order],
        }
        return Fitted(params, frame, certificate, attributes, (value,))

    def _turned(self, Z: Array) -> tuple[Array, int, str]:
        """scikit-learn's FastICA on whitened rows, from a start of our own seed."""
        q = Z.shape[1]
        start = np.random.default_rng([seed_of(self.random_state), ICA_TURN]).standard_normal((q, q))
        with one_blas_thread(), warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            _, turn, _, passes = fastica(
                Z,
                algorithm=self.algorithm,
                whiten=False,
                fun=self.fun,
                max_iter=self.max_iter,
                tol=self.tol,
                w_init=start,
                return_n_iter=True,
                compute_sources=False,
            )
        late = any(issubclass(w.category, ConvergenceWarning) for w in raised)
        # decorrelated once more, so that sources have unit variance to the last digit
        values, V = np.linalg.eigh(turn @ turn.T)
        turn = (V / np.sqrt(values)) @ V.T @ turn
        return turn, int(passes), "the sources were still turning" if late else "converged"

    # hooks ---------------------------------------------------------------------------------------
    def _posterior(self, params: ICAParams, block: Block) -> Posterior:
        if block.mask is not None and not block.mask.all():
            row, j = np.argwhere(~block.mask)[0]
            where = f"row {block.start + row + 1}, column {j + 1} (NaN)"
            raise error("LD163", where, job="ICA", why="a gap leaves the sources of its row open", fix=WHOLE_ROWS)
        q = len(params.U)
        mean = (block.x - params.mu) @ params.U.T
        return Posterior(mean, np.zeros((len(block.x), q * (q + 1) // 2)), np.zeros(len(block.x)))

    def _decode(self, params: ICAParams, posterior: Posterior) -> Cells:
        cells = posterior.mean @ params.W.T + params.mu
        return Cells(cells, np.zeros_like(cells), np.zeros_like(cells))

    def _axes(self, params: ICAParams) -> Array:
        return np.eye(len(params.U))

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> float:
        """Minus the mean squared error of the seen cells as `reconstruct` makes them; never worse with more axes."""
        check_is_fitted(self)
        return minus_squared_error(self, X, sample_weight)

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        q = min(n, d, d if self.n_components is None else self.n_components)
        peak = walking(n, d, 6 * min(n, 8192) * d, 3 * d * d) + 8 * (6 * n * q + 9 * min(d, LARGE_ORDER) ** 2)
        return Cost(48, 8 * 48 * n * d, peak, "fewer sources (n_components), or a sample of rows")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


def whitened(mean: Array, K: Array, block: Block) -> Array:
    """Whitened rows; the frame's origin is near their mean, or most cells are zero: no digits are lost."""
    rows = block.x @ K
    rows -= mean @ K
    return rows


def negentropy(Z: Array, turn: Array) -> Array:
    """(E log cosh s - that of a normal)^2 of each source s = turn z: zero where it is Gaussian."""
    total = np.zeros(len(turn))
    for begin in range(0, len(Z), CACHED_ROWS):
        log_cosh = np.abs(Z[begin : begin + CACHED_ROWS] @ turn.T)
        log_cosh += np.log(0.5 + 0.5 * np.exp(-2.0 * log_cosh))
        total += np.ones(len(log_cosh)) @ log_cosh
    return (total / len(Z) - NORMAL_LOG_COSH) ** 2
