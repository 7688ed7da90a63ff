"""Dual probabilistic PCA: the loadings are integrated out and the positions are fitted."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.engine.fit import STOPPED, Cost, Fit, em
from lowdim.engine.fold import Run, walk
from lowdim.maths.gaussian import Sums, design, posterior, sums
from lowdim.maths.linalg import Array, align, inverse_packed, lower, root, sign_rule, times_packed, unpack
from lowdim.models.base.calibration import cost_with_held_out_fits, held_out_fits
from lowdim.models.base.estimator import Absent
from lowdim.models.base.options import check_components
from lowdim.models.base.results import Fitted, Posterior, certify, in_range, product, squared
from lowdim.models.base.scores import minus_squared_error
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.linear_gaussian import LinearGaussian, LinearGaussianParams, noise_on_bound, principal_start
from lowdim.models.linear.principal_axes import closed_noise, principal
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, gather
from lowdim.text.messages import error


class DualPPCAParams(NamedTuple):
    """Parameters, in the frame's units; W holds the loadings' posterior means, V their covariances."""

    W: Array  # d x q, E[w_j]
    mu: Array  # d, column means
    psi: Array  # d, the noise variance s2, repeated
    T: Array
    V: Array  # d x (q+1) x (q+1), Cov[w_j], and the mean's own doubt
    low: Array
    excess: Array
    X: Array  # n x q, the fitted positions
    spread: Array  # q x q, X'X / n: where an empty row may be
    inflation: float = 1.0  # what standard deviations of cells are multiplied by


class DualSums(NamedTuple):
    """The M-step's sums with columns as rows, and each column's new mean."""

    sums: Sums
    means: Array

    def merge(self, other: Self) -> Self:
        return type(self)(self.sums.merge(other.sums), self.means + other.means)


class DualPPCA(LinearGaussian[DualPPCAParams, Posterior]):
    """Dual probabilistic PCA: y_j = mu_j + X w_j + e_j for each column j, with w_j ~ N(0, I_q).

    The loadings w_j are integrated out and the positions X are fitted, so the columns are the
    independent observations: p(Y | X) = prod_j N(y_j | mu_j 1, X X' + s2 I). Complete tables: the
    leading eigenvectors of Y Y'/d, s2 = the discarded eigenvalues over n - q. Gaps: each column sees
    its own rows, one EM over columns.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, q)
        The fitted positions X.
    components_ : ndarray of shape (q, d)
        Posterior means of the loadings.
    noise_variance_, n_components_ : float, int

    References
    ----------
    N. D. Lawrence (2005), "Probabilistic non-linear principal component analysis with Gaussian process latent variable
    models", J. Mach. Learn. Res. 6, 1783-1816, sec. 2.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.random.default_rng(0).standard_normal((6, 40))
    >>> model = DualPPCA(2).fit(Y)
    >>> bool(np.allclose(model.transform(Y), model.embedding_))
    True
    """

    _has_doubt = False  # positions are themselves what is fitted
    _pairs_matter = False  # loadings are integrated out: rows are compared, not columns
    n_parameters_ = bic = aic = Absent("it fits a position for every row", "objective_, or ProbabilisticPCA")
    _objective_name = "log-likelihood"
    _why = "columns, not rows, are independent given the positions"
    score_samples = Absent(
        _why, "objective_ is the log-likelihood of the whole table; ProbabilisticPCA has a density for rows"
    )
    get_covariance = Absent(_why, "ProbabilisticPCA")
    get_precision = Absent(_why, "ProbabilisticPCA")
    sample = Absent("the positions are parameters without a distribution", "ProbabilisticPCA")
    partial_fit = Absent("every row is a parameter", "fit, or ProbabilisticPCA().partial_fit")
    _laws_broken: ClassVar[dict[str, str]] = {
        "score_is_objective": _why,
        "sample_then_fit": "it cannot sample rows",
        "all_missing_row_gets_prior": "an empty row gets the spread of the fitted positions",
        "weights_repeat_rows": "with gaps, weights are refused",
    }

    # complete tables -----------------------------------------------------------------------------
    def _complete(self, survey: TableSurvey, run: Run) -> Fitted:
        self._check_most(survey.source)
        spectrum = principal(survey, self.n_components, run)
        n, (d, q) = spectrum.n, spectrum.vectors.shape
        # Eigenvalues of Y Y' / d are those of Y'Y / n times n / d, and s2 the mean of the n - q discarded ones.
        values, tail = spectrum.values * n / d, spectrum.tail * n / d
        s2, floor = (v * n / d for v in closed_noise(spectrum, spectrum.tail / max(n - q, 1)))
        top = np.maximum(values, s2)
        logs = n * np.log(2 * np.pi) + np.log(top).sum() + (n - q) * np.log(s2)
        value = float(-0.5 * d * (logs + (values / top).sum() + tail / s2))
        params = DualPPCAParams(
            W=spectrum.vectors * np.sqrt(d * values * (top - s2)) / top,
            mu=spectrum.mean,
            psi=np.full(d, s2),
            T=np.eye(q),
            V=np.tile(np.diag(np.append(s2 / top, s2 / n)), (d, 1, 1)),
            low=np.full(d, floor),
            excess=np.full(d, d / max(d - q, d / 4)),
            X=np.zeros((0, q)),
            spread=np.diag(top - s2) / n,
        )
        places = [z for _, z in walk(partial(self._places, params), survey.source, run)]
        params = params._replace(X=np.concatenate(places))
        fit = Fit(params, None, value, (value,), spectrum.passes + 1, True, "closed form", spectrum.solver)
        boundary = noise_on_bound(params, q, spectrum.rank)
        certificate = certify(fit, self._objective_name, rows=float(d), axes=params.X, boundary=boundary)
        certificate = certificate._replace(residual=spectrum.residual, digits=spectrum.digits)
        return Fitted(params, survey.frame, certificate, self._attributes(params, survey.frame), (value,))

    def _check_most(self, source: Source) -> None:
        why = f"the table has {source.n} rows and {source.d} columns"
        check_components(self.n_components, min(source.n, source.d), why)

    # gaps: columns become the rows of an EM ------------------------------------------------------------
    def _with_gaps(self, survey: TableSurvey, run: Run) -> Fitted:
        self._check_most(survey.source)
        if survey.source.weight is not None:
            raise error(
                "LD230",
                problem="a dual model with gaps has no weights for rows: they are parameters",
                n=survey.source.n,
            )
        fit = self._positions(survey, run, survey.source)
        if fit.reason not in STOPPED:
            fit = held_out_fits(self, partial(self._positions, survey, run), survey, 0, run).calibrate(fit)
        params = fit.params
        boundary = noise_on_bound(params, self.n_components)
        columns = float(survey.source.d)
        certificate = certify(fit, self._objective_name, rows=columns, axes=params.X, boundary=boundary)
        return Fitted(params, survey.frame, certificate, self._attributes(params, survey.frame), fit.history)

    def _positions(self, survey: TableSurvey, run: Run, source: Source) -> Fit[DualPPCAParams, DualSums]:
        """Positions of the rows of a source, and the loadings given them."""
        x, mask = gather(source)  # the table turned on its side, in memory
        seen = None if mask is None else np.ascontiguousarray(mask.T)
        side = ArraySource(np.ascontiguousarray(x.T), seen, columns=None)
        start = self._first_positions(survey._replace(source=source), run)
        fit: Fit[DualPPCAParams, DualSums] = em(self, start, side, run, rows=source.total)
        params = fit.params
        if params.X.shape[1]:  # canonical axes: the columns of X orthogonal, falling
            params = params._replace(X=params.X @ np.linalg.svd(params.X, full_matrices=False)[2].T)
        params = self._loadings_of(params, side, run)
        return fit._replace(params=params, passes=fit.passes + 3)  # its start, its turning, its loadings

    def _first_positions(self, survey: TableSurvey, run: Run) -> DualPPCAParams:
        """Positions of the rows under a start for the primal model, in units where loadings have unit variance."""
        start = principal_start(survey, self.n_components)
        d, q = start.W.shape
        rows = [z for _, z in walk(partial(_primal_place, start), survey.source, run)]
        X = np.concatenate(rows) @ root(start.W.T @ start.W / d)
        cells = float(survey.columns.seen.sum())  # each row's position was fitted with q numbers
        return DualPPCAParams(
            W=start.W,
            mu=start.mu,
            psi=start.psi,
            T=start.T,
            V=np.zeros((d, q + 1, q + 1)),
            low=start.low,
            excess=np.full(d, cells / max(cells - len(X) * q, cells / 4)),
            X=X,
            spread=np.eye(q),
        )

    def _stats(self, params: DualPPCAParams, block: Block) -> DualSums:
        """E-step over columns; each column's mean is updated at once, inside its own row here."""
        rows = slice(block.start, block.start + len(block.x))
        s2 = np.full(len(params.X), params.psi[0])
        x, seen = block.x - params.mu[rows, None], block.mask
        x = x if seen is None else x * seen
        latent = posterior(x, seen, params.X, np.zeros(len(params.X)), s2)
        count = block.x.shape[1] if seen is None else np.maximum(seen.sum(axis=1), 1)
        step = latent.residual.sum(axis=1) / count
        residual = latent.residual - (step[:, None] if seen is None else step[:, None] * seen)
        means = np.zeros_like(params.mu)
        means[rows] = params.mu[rows] + step
        return DualSums(sums(seen, None, latent._replace(residual=residual), params.X, s2), means)

    def _objective(self, params: DualPPCAParams, stats: DualSums) -> float:
        return stats.sums.log_density

    def _update(self, params: DualPPCAParams, stats: DualSums) -> DualPPCAParams:
        s, q = stats.sums, params.X.shape[1]
        if q == 0:
            s2 = max(float(s.squares.sum() / s.seen.sum()), float(params.low[0]))
            return params._replace(mu=stats.means, psi=np.full_like(params.psi, s2))
        B = s.B[:, :q]
        A = design(s.A, q)[:, :q, :q]
        A[:, np.arange(q), np.arange(q)] += np.finfo(float).tiny  # a row of gaps only has nothing to solve for
        step = np.linalg.solve(A, B[:, :, None])[:, :, 0]
        noise = float((s.squares - (step * B).sum(axis=1)).sum() / s.seen.sum())
        X = (params.X + step) @ root(unpack(s.zz[:, None], q)[0] / s.n)
        psi = np.full_like(params.psi, max(noise, float(params.low[0])))
        return params._replace(X=align(X, params.X), mu=stats.means, psi=psi)

    def _pack(self, params: DualPPCAParams) -> Array:
        u = np.sqrt(params.low.mean() / self._low_share)  # as in `LinearGaussian`
        return np.concatenate([params.X.ravel() / u, params.mu / u, np.log(params.psi[:1])])

    def _unpack(self, vector: Array, like: DualPPCAParams) -> DualPPCAParams:
        X, mu, logs = np.split(vector, [like.X.size, like.X.size + len(like.mu)])
        near = np.log(like.psi[0])
        s2 = max(float(np.exp(np.clip(logs[0], near - 3.0, near + 3.0))), float(like.low[0]))
        u = np.sqrt(like.low.mean() / self._low_share)
        return like._replace(X=X.reshape(like.X.shape) * u, mu=mu * u, psi=np.full_like(like.psi, s2))

    def _loadings_of(self, params: DualPPCAParams, side: Source, run: Run) -> DualPPCAParams:
        """The loadings' posterior, one column a row of `side`; signs by the largest loading."""
        q, d, s2 = params.X.shape[1], len(params.mu), float(params.psi[0])
        W, V = np.zeros((d, q)), np.zeros((d, q + 1, q + 1))

        for start, (mean, cov, seen) in walk(partial(_loadings, params), side, run):
            rows = slice(start, start + len(mean))
            W[rows], V[rows, :q, :q] = mean, unpack(cov, q)
            V[rows, q, q] = s2 / np.maximum(seen, 1)
        flip = sign_rule(W)
        turn = np.append(flip, 1.0)
        X = params.X * flip
        return params._replace(W=W * flip, V=V * np.outer(turn, turn), X=X, spread=X.T @ X / max(len(X), 1))

    # rows ------------------------------------------------------------------------------------------
    def _posterior(self, params: DualPPCAParams, block: Block) -> Posterior:
        """Where a row's likelihood peaks given the loadings' posterior; at a fitted row, its own place."""
        q = params.W.shape[1]
        i, j = lower(q)
        s2 = float(params.psi[0])
        table = params.W[:, i] * params.W[:, j] + params.V[:, i, j]
        x = block.x - params.mu
        mask = np.ones_like(x) if block.mask is None else block.mask.astype(np.float64)
        x = x * mask
        A = (table / s2).T @ mask.T
        empty = ~mask.any(axis=1)
        A[:, empty] = np.eye(q)[i, j][:, None]
        cov, _ = inverse_packed(A, q)
        mean = times_packed(cov, np.ascontiguousarray((x @ params.W / s2).T)).T
        cov *= float(params.excess[0])  # positions were fitted to the residuals that s2 is the mean square of
        cov[:, empty] = params.spread[i, j][:, None]
        return Posterior(mean, cov.T, np.zeros(len(block.x)))

    def _axes(self, params: DualPPCAParams) -> Array:
        return params.T * float(self.frame_.report[0])

    # what it says ----------------------------------------------------------------------------------
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None, run: Run | None = None) -> float:
        """Minus the mean squared error of the seen cells as `reconstruct` makes them; never worse with more axes."""
        check_is_fitted(self)
        return minus_squared_error(self, X, sample_weight)

    def _attributes(self, params: DualPPCAParams, frame: Frame) -> dict[str, Any]:
        unit = float(frame.report[0])  # positions are lengths in the table's units, loadings have none
        return {
            "embedding_": in_range(product(params.X, unit * np.eye(params.X.shape[1])), "Positions", unit),
            "components_": np.ascontiguousarray(params.W.T),
            "noise_variance_": float(squared(params.psi[:1], float(frame.report[0]))[0]),
            "mean_": frame.outward(params.mu),
            "n_components_": params.W.shape[1],
            "scale_": frame.unit.copy(),
        }

    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        cost = super()._cost(n, d, gaps)
        if gaps:
            cost = cost_with_held_out_fits(cost, n, d)
        return cost._replace(peak=cost.peak + 8 * 3 * n * d, alternative="ProbabilisticPCA, which streams")


# what walks the table: functions of arrays, so that any engine can send them elsewhere
def _primal_place(start: LinearGaussianParams, block: Block) -> Array:
    return posterior(block.x, block.mask, start.W, start.mu, start.psi).mean


def _loadings(params: DualPPCAParams, block: Block) -> tuple[Array, Array, Array]:
    """Mean and packed covariance of each column's loadings, and how many of its cells are seen."""
    rows, n = slice(block.start, block.start + len(block.x)), len(params.X)
    seen = np.ones_like(block.x, dtype=bool) if block.mask is None else block.mask
    x = (block.x - params.mu[rows, None]) * seen
    latent = posterior(x, seen, params.X, np.zeros(n), np.full(n, float(params.psi[0])))
    return latent.mean, latent.cov, seen.sum(axis=1)
