"""The linear-Gaussian model x = mu + W z + e as functions of its parameters; their bounds, and where EM starts from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.gaussian import Sums, expand, parameter_covariance, posterior, regress, sums
from lowdim.maths.linalg import Array, align, largest, lower, root_times, sign_rule
from lowdim.models.base.results import Cells, Posterior
from lowdim.models.base.survey import TableSurvey
from lowdim.sources.source import Block
from lowdim.sources.views import gather
from lowdim.text.messages import error

FLOOR = 1e-10  # noise variances below this share of the mean variance are not told from zero


class LinearGaussianParams(NamedTuple):
    """Parameters, in the frame's units."""

    W: Array  # d x q
    mu: Array  # d
    psi: Array  # d, noise variances
    T: Array  # q x q: reported coordinates are z T
    V: Array  # covariance of (w_j, mu_j): d x (q+1) x (q+1); its diagonal d x (q+1) where that is all; v_j as d x 1
    low: Array  # d, the bounds of the noise variances
    excess: Array  # d, how much wider than psi the noise of a new cell is, since psi was fitted too


# the steps, in the frame ------------------------------------------------------
def row_posterior(params: LinearGaussianParams, block: Block) -> Posterior:
    """The distribution of each row's position given its seen cells."""
    latent = posterior(block.x, block.mask, params.W, params.mu, params.psi)
    packed = np.broadcast_to(latent.cov.T, (block.rows, latent.cov.shape[0]))
    return Posterior(latent.mean, packed, latent.log_density)


def decode_cells(params: LinearGaussianParams, rows: Posterior) -> Cells:
    """Mean and variance of the noiseless cells; parameters count as uncertain too.

    With z of mean m and covariance C, and (w_j, mu_j) of covariance V_j independent of it, the variance of
    w_j'z + mu_j is w_j'C w_j + tr(V_j E[(z, 1)(z, 1)']).
    """
    q = params.W.shape[1]
    i, j = lower(q)
    twice = np.where(i == j, 1.0, 2.0)
    var = (rows.packed * twice) @ (params.W[:, i] * params.W[:, j]).T
    second = rows.packed + rows.mean[:, i] * rows.mean[:, j]
    if params.V.ndim == 2:
        V = np.broadcast_to(params.V, (len(params.W), q + 1))
        var += second[:, i == j] @ V[:, :q].T + V[:, q]
    else:
        V = params.V
        var += (second * twice) @ V[:, i, j].T + 2.0 * rows.mean @ V[:, :q, q].T + V[:, q, q]
    noise = np.broadcast_to(params.psi * params.excess, var.shape)
    return Cells(rows.mean @ params.W.T + params.mu, np.maximum(var, 0.0), noise)


def predict_cells(params: LinearGaussianParams, block: Block) -> Cells:
    """Every cell of a block given the seen cells of its row."""
    return decode_cells(params, row_posterior(params, block))


def e_step(params: LinearGaussianParams, block: Block) -> Sums:
    """The sums over rows that an M-step needs; `log_density` of them is the log-likelihood of the block."""
    if block.mask is not None:
        from lowdim.maths.gaussian import pattern_sums  # a quicker way to the same sums

        if quick := pattern_sums(block.x, block.mask, block.weight, (params.W, params.mu, params.psi)):
            return quick
    latent = posterior(block.x, block.mask, params.W, params.mu, params.psi)
    return sums(block.mask, block.weight, latent, params.W, params.psi)


def m_step(params: LinearGaussianParams, stats: Sums, noise: Callable[[Array, Array], Array]) -> LinearGaussianParams:
    """One M-step, expanded, and turned back towards the last W so that steps can be compared.

    `noise` gives noise variances from the squares left over in each column and the count of its seen cells.
    """
    W, mu, squares = regress(stats, params.W, params.mu)
    psi = np.maximum(noise(squares, stats.seen), params.low)
    if params.W.shape[1]:
        W, mu = expand(stats, W, mu)
        W = align(W, params.W)
    return params._replace(W=W, mu=mu, psi=psi)


def isotropic_noise(squares: Array, count: Array) -> Array:
    """One noise variance for all columns, repeated."""
    return np.full(len(squares), squares.sum() / count.sum())


def column_noise(squares: Array, count: Array) -> Array:
    """A noise variance for every column."""
    return squares / count


def canonical_axes(params: LinearGaussianParams, stats: Sums, metric: Array) -> LinearGaussianParams:
    """W turned along the right singular vectors of `metric`, signs fixed; the parameters' covariance V with it."""
    q = params.W.shape[1]
    V = parameter_covariance(stats, params.psi, q)
    if q:
        _, _, Qt = np.linalg.svd(metric, full_matrices=False)
        Q = Qt.T * sign_rule(params.W @ Qt.T)
        turn = np.eye(q + 1)
        turn[:q, :q] = Q
        params, V = params._replace(W=params.W @ Q), turn.T @ V @ turn if V.ndim == 3 else V
    return params._replace(V=V)


def draw_cells(params: LinearGaussianParams, rows: Posterior, rng: list[np.random.Generator]) -> Array:
    """The cells of each row drawn jointly, with the row's own generator."""
    d, q = params.W.shape
    normal = np.array([r.standard_normal(q + d) for r in rng]).reshape(len(rng), q + d)
    z = rows.mean + root_times(rows.cov, normal[:, :q])
    return np.asarray(z @ params.W.T + params.mu + normal[:, q:] * np.sqrt(params.psi))


def draw_parameters(params: LinearGaussianParams, rng: np.random.Generator) -> LinearGaussianParams:
    """Parameters drawn from what the table leaves open about them."""
    d, q = params.W.shape
    normal = rng.standard_normal((d, q + 1))
    step = normal * np.sqrt(params.V) if params.V.ndim == 2 else root_times(params.V, normal)
    return params._replace(W=params.W + step[:, :q], mu=params.mu + step[:, q], psi=params.psi * params.excess)


# bounds and starts --------------------------------------------------------------------------------------
def check_q(q: int, d: int) -> None:
    """At most as many latent dimensions as columns."""
    if q > d:
        raise error("LD200", n_components=q, most=d, why=f"the table has {d} columns")


def ppca_start(survey: TableSurvey, q: int) -> LinearGaussianParams:
    """The eigenvectors of the pairwise moments; of the zero-filled table where it is wide."""
    d = survey.source.d
    check_q(q, d)
    total = float(survey.columns.variance.sum())
    values, V = first_axes(survey, q)
    floor = noise_floor(total, d)
    s2 = max((total - float(values.sum())) / max(d - q, 1), 1e-3 * total / d, floor)
    W = V * np.sqrt(np.maximum(values - s2, 0.01 * s2))
    return LinearGaussianParams(
        W,
        survey.columns.mean,
        np.full(d, s2),
        np.eye(q),
        np.zeros((d, 1)),
        np.full(d, floor),
        excess(survey.columns.seen, q),
    )


def excess(seen: Array, q: int) -> Array:
    """n / (n - q - 1): each column's residuals were fitted with q + 1 numbers of its own (at most 4)."""
    return seen / np.maximum(seen - q - 1.0, seen / 4.0)


def first_axes(survey: TableSurvey, q: int) -> tuple[Array, Array]:
    """Leading eigenpairs of what the first look found; of the zero-filled table where it is wide."""
    if survey.pairs is not None:
        return largest(survey.pairs.covariance(), q)
    if survey.moments is not None:
        return largest(survey.moments.covariance, q)
    return _zero_filled(survey, q)


def noise_floor(total: float, d: int) -> float:
    """The smallest noise variance told from zero."""
    return max(FLOOR * total / max(d, 1), float(np.sqrt(np.finfo(float).tiny)))


def on_floor(params: Any) -> NDArray[np.bool_]:
    """Which noise variances sit on their bound."""
    return np.asarray(params.psi <= params.low * (1 + 1e-6))


def _zero_filled(survey: TableSurvey, q: int) -> tuple[Array, Array]:
    """Leading axes of a wide table whose gaps sit on their column's mean."""
    X, mask = gather(survey.source)
    X -= survey.columns.mean
    if mask is not None:
        X *= mask
    if survey.source.weight is not None:
        X *= np.sqrt(survey.source.weight)[:, None]
    if len(X) > X.shape[1]:  # the smaller side
        values, V = largest(X.T @ X, q)
    else:
        values, U = largest(X @ X.T, min(q, len(X)))
        V = np.linalg.qr(X.T @ U)[0]
    if q > V.shape[1]:
        V = np.hstack([V, np.zeros((len(V), q - V.shape[1]))])
        values = np.concatenate([values, np.zeros(q - len(values))])
    return values / survey.columns.seen.mean(), V
