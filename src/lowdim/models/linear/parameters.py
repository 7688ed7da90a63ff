"""Parameters of the linear-Gaussian model, their bounds, and where EM starts from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.math.eigen import largest
from lowdim.math.linalg import Array
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.principal_axes import Spectrum
from lowdim.sources.views import gather
from lowdim.text.messages import error

FLOOR = 1e-10  # noise variances below this share of the mean variance are not told from zero


class Linear(NamedTuple):
    """Parameters, in the frame's units."""

    W: Array  # d x q
    mu: Array  # d
    psi: Array  # d, noise variances
    T: Array  # q x q: reported coordinates are z T
    V: Array  # covariance of (w_j, mu_j): d x (q+1) x (q+1); its diagonal d x (q+1) where that is all; v_j as d x 1
    low: Array  # d, the bounds of the noise variances
    excess: Array  # d, how much wider than psi the noise of a new cell is, since psi was fitted too


def check_q(q: int, d: int) -> None:
    """At most as many latent dimensions as columns."""
    if q > d:
        raise error("LD200", asked=q, most=d, why=f"the table has {d} columns")


def ppca_start(survey: TableSurvey, q: int) -> Linear:
    """The eigenvectors of the pairwise moments; of the zero-filled table where it is wide."""
    d = survey.source.d
    check_q(q, d)
    total = float(survey.columns.variance.sum())
    values, V = first_axes(survey, q)
    floor = noise_floor(total, d)
    s2 = max((total - float(values.sum())) / max(d - q, 1), 1e-3 * total / d, floor)
    W = V * np.sqrt(np.maximum(values - s2, 0.01 * s2))
    return Linear(
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
    return max(FLOOR * total / max(d, 1), float(np.finfo(float).tiny) ** 0.5)


def closed_noise(found: Spectrum, s2: float) -> tuple[float, float]:
    """A noise variance and its bound: what is left over, or the stated floor where that is only rounding."""
    if s2 > found.floor:
        return s2, found.floor
    floor = noise_floor(found.total, len(found.mean))
    return floor, floor


def on_floor(params: Any) -> NDArray[np.bool_]:
    """Which noise variances sit on their bound."""
    return params.psi <= params.low * (1 + 1e-6)


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
