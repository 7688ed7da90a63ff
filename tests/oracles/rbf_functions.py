"""Distances through basis functions, random functions, and the Gaussian kernel as their limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.maths.pairs import exact_distances, to_squared_distances
from lowdim.models.base.options import seed_of
from lowdim.text.messages import error


def rbf_basis(Y: Any, centres: Any, *, width: float = 1.0) -> Array:
    """phi_k(y) = exp(-|y - mu_k|^2 / width^2), n x M; a vector is a column of places on a line.

    Reference: [Lawrence2012] chapter 4, box 4.1.

    >>> rbf_basis([0.0, 1.0], [0.0]).round(4).tolist()
    [[1.0], [0.3679]]
    """
    y, mu = _places(Y, "Y"), _places(centres, "centres")
    if not width > 0.0:
        raise error("LD210", option="width", value=width, allowed="a number > 0")
    if y.shape[1] != mu.shape[1]:
        raise error("LD220", got=mu.shape[1], want=y.shape[1], model="rbf_basis", missing="; centres are places too")
    return np.asarray(np.exp(-((exact_distances(y, mu) / width) ** 2)))


def feature_distances(Y: Any, centres: Any, *, width: float = 1.0, variance: float = 1.0) -> Array:
    """Squared distances <(f_i - f_j)^2> = variance |phi_i - phi_j|^2 of random functions at all pairs of places.

    Where no basis function reaches they are near zero, however far apart the places are: [Lawrence2012] figure 4.4.

    Reference: [Lawrence2012] 4.1.

    >>> feature_distances([-1.0, 1.0, 9.0, 20.0], [-1.0, 0.0, 1.0])[[0, 2], [1, 3]].round(6).tolist()
    [1.927408, 0.0]
    """
    phi = rbf_basis(Y, centres, width=width)
    return np.maximum(variance * to_squared_distances(phi @ phi.T), 0.0)


def random_functions(
    Y: Any, centres: Any, n: int = 1, *, width: float = 1.0, variance: float = 1.0, random_state: Any = 0
) -> Array:
    """n functions f(y) = sum_k w_k phi_k(y), w_k ~ N(0, variance), at the places Y: one a column.

    Reference: [Lawrence2012] 4.1, figures 4.2 and 4.4.
    """
    phi = rbf_basis(Y, centres, width=width)
    rng = np.random.default_rng([seed_of(random_state), 4])
    return phi @ (np.sqrt(variance) * rng.standard_normal((phi.shape[1], n)))


def even_centres(low: float, high: float, n: int) -> tuple[Array, float]:
    """mu_k = low + k step, k = 1 .. n, and the step: a basis spread evenly over an interval ([Lawrence2012] 4.2.1)."""
    step = (high - low) / n
    return np.asarray(low + step * np.arange(1, n + 1), dtype=np.float64), step


def limit_kernel(
    Y: Any, *, width: float = 1.0, alpha: float = 1.0, low: float = -np.inf, high: float = np.inf
) -> Array:
    """The kernel of ever more, ever closer basis functions between low and high on a line.

        k(y, y') = alpha / sqrt(2 pi width^2) exp(-(y - y')^2 / (2 width^2)) 1/2 [erf(b) - erf(a)],
        b = sqrt(2) / width (high - (y + y') / 2), a alike with low;

    weights of variance alpha step / (pi width^2) reach it as the step falls to 0. Over the whole line the bracket
    is 2 and the Gaussian kernel with gamma = 1 / (2 width^2) is left.

    Reference: [Lawrence2012] 4.2.1.

    >>> limit_kernel([0.0, 1.0], alpha=np.sqrt(2 * np.pi)).round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """
    from scipy.special import erf

    y = np.asarray(Y, dtype=np.float64).ravel()
    middle = (y[:, None] + y) / 2.0
    ends = [erf(np.sqrt(2.0) / width * (end - middle)) for end in (low, high)]
    k = np.exp(-((y[:, None] - y) ** 2) / (2.0 * width**2)) * 0.5 * (ends[1] - ends[0])
    return np.asarray(alpha / np.sqrt(2.0 * np.pi * width**2) * k)


def _places(Y: Any, name: str) -> Array:
    y = np.asarray(Y, dtype=np.float64)
    y = y[:, None] if y.ndim == 1 else y
    if y.ndim != 2 or not np.isfinite(y).all():
        raise error("LD210", option=name, value=Y, allowed="finite places: one a row, or numbers on a line")
    return y
