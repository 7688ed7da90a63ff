"""Robust probabilistic PCA: rows are Student's, so that far ones count little."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import digamma, gammaln

from lowdim.engine.fit import Cost
from lowdim.engine.fold import Run
from lowdim.maths.gaussian import Latent, Sums, light, posterior, sums
from lowdim.maths.linalg import Array, lower, root_times, unpack
from lowdim.maths.optimise import gamma_shape
from lowdim.maths.seeds import normals
from lowdim.models.base.estimator import Absent, Out
from lowdim.models.base.options import EM_ENDS, POSITIVE, Rule, option
from lowdim.models.base.results import Cells, Fitted, certify
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.linear_gaussian import LinearGaussian, noise_on_bound, on_floor, principal_start
from lowdim.sources.source import Block

LEAST_DOF = 2.1  # with 2 or fewer a row has no covariance, and a fill no standard deviation
MOST_DOF = 1e4  # beyond which 1,000 rows of 1,000 columns cannot tell it from a Gaussian
FIRST_DOF = 10.0


class RobustPPCAParams(NamedTuple):
    """Parameters, in the frame's units; all but `dof` as those of a linear-Gaussian model."""

    W: Array  # d x q
    mu: Array  # d
    psi: Array  # d, all alike: squared scale of the noise
    T: Array  # q x q
    V: Array  # covariance of (w_j, mu_j)
    low: Array  # d, the bound of psi
    excess: Array  # d, how much wider than psi the noise of a new cell is, since psi was fitted too
    dof: float  # degrees of freedom of the rows
    low_dof: float  # their bound


class StudentSums(NamedTuple):
    """What a pass leaves; it merges by addition."""

    sums: Sums  # of the rows, each counted u times
    rows: float  # weights of the rows, counted once
    cells: Array  # d, the seen cells, counted once
    log_u: float  # sum of E[log u]
    log_density: float

    def merge(self, other: Self) -> Self:
        parts: Any = zip(self[1:], other[1:], strict=True)
        return type(self)(self.sums.merge(other.sums), *(a + b for a, b in parts))


class StudentPosterior(NamedTuple):
    """p(z | seen cells) of each row: a multivariate t with this mean and covariance."""

    mean: Array  # n x q
    packed: Array  # n x q(q+1)/2, covariances
    log_density: Array  # n
    dof: Array  # n: degrees of freedom, those of the rows and one for each seen cell
    inverse_u: Array  # n: E[1/u], the noise of the row's cells in units of psi

    @property
    def cov(self) -> Array:
        """The covariances as n matrices of order q."""
        return unpack(self.packed.T, self.mean.shape[1])


class RobustPPCA(LinearGaussian[RobustPPCAParams, StudentPosterior]):
    """Probabilistic PCA with Student's rows: a row far from all others turns no axis. Gaps welcome.

    x = mu + W z + e,  z ~ N(0, I / u),  e ~ N(0, s2 I / u),  u ~ Gamma(dof/2, dof/2), one u a row: rows are
    multivariate t with scale matrix C = W W' + s2 I. Given its k seen cells at squared distance D2 = r' C^-1 r, a row
    counts E[u] = (dof + k) / (dof + D2) times, and its position is a t of dof + k degrees of freedom. Everything is
    fitted by maximum likelihood, `dof` included, by parameter-expanded EM with Anderson extrapolation.

    Wrong single cells make their whole row count less, and a dense far group of a tenth of the rows still turns the
    axes: `lowdim.robust_fit` screens a table for both.

    Attributes
    ----------
    components_ : ndarray of shape (q, d)
        Loadings W', longest first.
    dof_ : float
        Degrees of freedom; above about 50 the rows are Gaussian.
    noise_variance_, n_components_, n_parameters_ : float, int, int
    explained_variance_, explained_variance_ratio_ : ndarray of shape (q,)
        Of the scale matrix C, that is of the bulk of the rows: the covariance is dof / (dof - 2) times as large.

    References
    ----------
    C. Archambeau, N. Delannay and M. Verleysen (2006), "Robust probabilistic projections", ICML 23, 33-40.
    C. Liu and D. B. Rubin (1995), "ML estimation of the t distribution using EM and its extensions, ECM and ECME",
    Statistica Sinica 5, 19-39.
    C. Liu, D. B. Rubin and Y. N. Wu (1998), "Parameter expansion to accelerate EM: the PX-EM algorithm",
    Biometrika 85, 755-770.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 1)) * [1.0, 1.0, 1.0] + 0.1 * rng.standard_normal((100, 3))
    >>> X[:5] = [30.0, -30.0, 0.0] + rng.standard_normal((5, 3))
    >>> RobustPPCA(1).fit(X).components_.round(1).tolist()
    [[0.9, 0.9, 0.9]]
    """

    dof: float | None = option(
        default=None,
        rule=Rule(
            lambda v: v is None or LEAST_DOF <= v <= MOST_DOF, f"None, or a number from {LEAST_DOF:g} to {MOST_DOF:g}"
        ),
        words="Degrees of freedom of the rows, from 2.1 to 10,000; by default they are fitted, and not below the few "
        "that would let a plane through q + 1 rows explain these alone (many columns, few rows).",
    )
    tol: float = option(default=1e-7, rule=POSITIVE, words=EM_ENDS)
    partial_fit = Absent(
        "how much a row counts depends on all rows, so that moments of earlier ones do not do",
        "fit, which takes streams, or ProbabilisticPCA().partial_fit",
    )

    # the steps -------------------------------------------------------------------------------------
    def _stats(self, params: RobustPPCAParams, block: Block) -> StudentSums:
        """Sums over rows counted E[u] times; Cov[z] = S / u, so that E[u z z'] = u m m' + S."""
        latent, D2, seen = _distances(params, block)
        w, mask = block.times, block.seen
        # E-step: u given a row is a gamma of (dof + k) / 2 and (dof + D2) / 2
        u = (params.dof + seen) / (params.dof + D2)
        log_u = digamma(0.5 * (params.dof + seen)) - np.log(0.5 * (params.dof + D2))
        s = sums(block.mask, w * u, latent._replace(cov=latent.cov / u), params.W, params.psi)
        cells = w @ mask
        if light(params.W) and block.mask is not None:  # a gap's E[u e^2] is psi, whatever u
            s = s._replace(squares=s.squares + params.psi * ((w @ ~mask) - (w * u) @ ~mask))
            cells = np.full(len(params.mu), w.sum())
        log_density = float(w @ _log_density(latent, D2, seen, params.dof))
        return StudentSums(s, float(w.sum()), cells, float(w @ log_u), log_density)

    def _objective(self, params: RobustPPCAParams, stats: StudentSums) -> float:
        return stats.log_density

    def _update(self, params: RobustPPCAParams, stats: StudentSums) -> RobustPPCAParams:
        """The M-step with a free mean of u, which the scales absorb (PX-EM); u's shape is that of a gamma.

        Noise on its bound cannot absorb it: then the mean is 1, as in plain EM.
        """
        # (W, mu, s2) as without u, each row counted E[u] times; s2 takes up what the mean of u is off 1
        mean_u, mean_log = stats.sums.n / stats.rows, stats.log_u / stats.rows
        step = super()._update(params, stats.sums._replace(seen=mean_u * stats.cells))
        gap = float(np.log(mean_u)) - mean_log
        if on_floor(step).any():
            step, gap = step._replace(W=step.W * np.sqrt(mean_u)), mean_u - 1.0 - mean_log
        return step if self.dof is not None else step._replace(dof=_bounded(2.0 * gamma_shape(gap), params))

    def _canonical(self, params: RobustPPCAParams, stats: StudentSums) -> RobustPPCAParams:
        return super()._canonical(params, stats.sums)

    def _pack(self, params: RobustPPCAParams) -> Array:
        return np.append(super()._pack(params), np.log(params.dof))

    def _unpack(self, vector: Array, like: RobustPPCAParams) -> RobustPPCAParams:
        step = super()._unpack(vector[:-1], like)
        dof = _bounded(float(np.exp(np.clip(vector[-1], -50.0, 50.0))), like)
        one = np.full_like(step.psi, step.psi[0])
        return step._replace(psi=one, dof=dof if self.dof is None else like.dof)

    # rows ------------------------------------------------------------------------------------------
    def _posterior(self, params: RobustPPCAParams, block: Block) -> StudentPosterior:
        latent, D2, seen = _distances(params, block)
        inverse_u = (params.dof + D2) / (params.dof + seen - 2.0)
        packed = latent.cov.T * inverse_u[:, None]
        log_density = _log_density(latent, D2, seen, params.dof)
        return StudentPosterior(latent.mean, packed, log_density, params.dof + seen, inverse_u)

    def _prior(self, params: RobustPPCAParams, n: int) -> StudentPosterior:
        q = params.W.shape[1]
        i, j = lower(q)
        inverse_u = np.full(n, params.dof / (params.dof - 2.0))
        packed = np.where(i == j, 1.0, 0.0) * inverse_u[:, None]
        return StudentPosterior(np.zeros((n, q)), packed, np.zeros(n), np.full(n, params.dof), inverse_u)

    def _at(self, params: RobustPPCAParams, Z: Array) -> StudentPosterior:
        """A position z says how much its row counts as cells would: E[1/u | z] = (dof + z'z) / (dof + q - 2)."""
        n, q = Z.shape
        dof = np.full(n, params.dof + q)
        inverse_u = (params.dof + (Z**2).sum(axis=1)) / (dof - 2.0)
        return StudentPosterior(Z, np.zeros((n, q * (q + 1) // 2)), np.zeros(n), dof, inverse_u)

    def _decode(self, params: RobustPPCAParams, rows: StudentPosterior) -> Cells:
        cells = super()._decode(params, rows)
        return cells._replace(noise=cells.noise * rows.inverse_u[:, None])

    def _draw(self, params: RobustPPCAParams, rows: StudentPosterior, rng: list[np.random.Generator]) -> Array:
        """One u a row for its position and its noise: 1/u over its mean is (dof - 2) / chi2(dof)."""
        d, q = params.W.shape
        normal = normals(rng, q + d)
        chi2 = np.array([r.chisquare(dof) for r, dof in zip(rng, rows.dof, strict=True)])
        wide = np.sqrt((rows.dof - 2.0) / chi2)[:, None]
        z = rows.mean + wide * root_times(rows.cov, normal[:, :q])
        noise = wide * normal[:, q:] * np.sqrt(params.psi * rows.inverse_u[:, None])
        return z @ params.W.T + params.mu + noise

    def row_weights(self, X: Any, *, out: Out = None, run: Run | None = None) -> Array:
        """How much each row counts: E[u] = (dof + k) / (dof + D2), about 1 in the bulk and near 0 far from it.

        Parameters
        ----------
        X : table of the fitted columns, n x d, gaps welcome
        out : path, array or Sink, optional

        Returns
        -------
        ndarray of shape (n,), or what `out` holds
        """

        def weights(block: Block) -> Array:
            _, D2, seen = _distances(self.params_, self.frame_.inward(block))
            return (self.params_.dof + seen) / (self.params_.dof + D2)

        return self._each(weights, X, out, run)

    # fitting ---------------------------------------------------------------------------------------
    def _cost(self, n: int, d: int, gaps: bool) -> Cost:
        return super()._cost(n, d, gaps=True)  # complete tables are climbed too

    def _complete(self, survey: TableSurvey, run: Run) -> Fitted:
        return self._with_gaps(survey, run)

    def _with_gaps(self, survey: TableSurvey, run: Run) -> Fitted:
        q = self.n_components
        low = least_dof(survey.source.total, survey.source.d, q)
        dof = max(FIRST_DOF, low) if self.dof is None else float(self.dof)
        start = RobustPPCAParams(*principal_start(survey, q), dof=dof, low_dof=low)
        fit = self.fit_from(start, survey.source, run)
        fit = fit._replace(passes=fit.passes + survey.gathered)
        params = fit.params
        boundary = noise_on_bound(params, q)
        if self.dof is None and not params.low_dof < params.dof < MOST_DOF:
            boundary += ("dof_",)
        certificate = certify(fit, self._objective_name, rows=fit.stats.rows, axes=params.W, boundary=boundary)
        attributes = {"dof_": float(params.dof), **self._isotropic_attributes(params, survey.frame)}
        return Fitted(params, survey.frame, certificate, attributes, fit.history)

    # what it says ----------------------------------------------------------------------------------
    def _covariance_parts(self) -> tuple[Array, Array]:
        W, noise = super()._covariance_parts()
        factor = self.params_.dof / (self.params_.dof - 2.0)
        return W * np.sqrt(factor), noise * factor

    @property
    def n_parameters_(self) -> int:
        """The numbers fitted, the degrees of freedom among them where they were not given."""
        return super().n_parameters_ + (self.dof is None)


def _distances(params: RobustPPCAParams, block: Block) -> tuple[Latent, Array, Array]:
    """The Gaussian posterior of each row, its squared distance D2 = r' C_oo^-1 r, and how many cells it shows."""
    latent = posterior(block.x, block.mask, params.W, params.mu, params.psi)
    D2 = (latent.residual * latent.residual) @ (1.0 / params.psi) + (latent.mean * latent.mean).sum(axis=1)
    seen = np.full(len(block.x), len(params.mu)) if block.mask is None else block.mask.sum(axis=1)
    return latent, D2, seen.astype(np.float64)


def _log_density(latent: Latent, D2: Array, seen: Array, dof: float) -> Array:
    """log t of each row's seen cells."""
    assert latent.log_volume is not None
    constant = gammaln(0.5 * (dof + seen)) - gammaln(0.5 * dof) + 0.5 * seen * np.log(2.0 / dof)
    return constant + latent.log_volume - 0.5 * (dof + seen) * np.log1p(D2 / dof)


def least_dof(n: float, d: int, q: int) -> float:
    """The fewest degrees of freedom that n rows of d columns allow.

    A plane through q + 1 rows explains them without noise: as s2 falls each of them gains (d - q)/2 log(1/s2), and each
    other row loses (dof + q)/2 log(1/s2). Twice as many degrees of freedom as make the losses as large as the gains.

    >>> least_dof(200, 10, 2), least_dof(53, 202, 2)
    (2.1, 20.0)
    """
    others = n - q - 1.0
    return float(np.clip(2.0 * ((q + 1) * (d - q) / others - q) if others > 0 else MOST_DOF, LEAST_DOF, MOST_DOF))


def _bounded(dof: float, params: RobustPPCAParams) -> float:
    return float(np.clip(dof, params.low_dof, MOST_DOF))
