"""The score of a map: how well a Gaussian process regresses the table on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from lowdim.maths.linalg import Array, moderate_factor
from lowdim.maths.pairs import exact_distances
from lowdim.models.gaussian_process.gp import ColumnGroup, columns_by_pattern, likelihood
from lowdim.sources.arrays import complete_matrix, in_columns
from lowdim.text.messages import error

MOST_SCORED_ROWS = 3000  # rows: each of some hundred steps factorises an n x n matrix
LEAST_LOG, MOST_LOG = -25.0, 25.0  # logs of variances, in units of the table's, and of widths, in units of the map's
LEAST_LOG_NOISE = -13.8  # log of a millionth: the least noise, so that a map that repeats the table has a finite score
HYPERPARAMETER_STARTS = (
    (0.0, 0.0, -2.0, -4.0),
    (1.0, 1.5, -2.0, -2.0),
    (0.0, 3.0, -2.0, -1.0),
)  # width: wide, middling, narrow


def embedding_score(Z: Any, Y: Any) -> float:
    """Log-likelihood of a table Y given its map Z, by a Gaussian process of the best hyperparameters.

        log p(Y | Z) = sum_j log N(y_j; 0, C),   C = a exp(-g/2 |z - z'|^2) + b + s delta

    Columns are centred and keep their units; a, g, b and s are maximised over (L-BFGS, analytic gradients, three
    starts). A map of lower score lost more of the table, or tore it; scores of maps of one table can be compared, and
    moving, turning or scaling a map changes nothing. The noise s is at least a millionth of the mean variance.

    Parameters
    ----------
    Z : table of n rows
        A map: positions of the rows.
    Y : table of n rows
        The table that was mapped, without gaps; at most 3000 rows.

    Returns
    -------
    float
        In nats.

    References
    ----------
    N. D. Lawrence (2012), "A unifying probabilistic perspective for spectral dimensionality reduction: insights and
    new models", Journal of Machine Learning Research 13, 1609-1638, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 3, 30)[:, None]
    >>> Y = np.hstack([np.sin(t), np.cos(t)])
    >>> embedding_score(t, Y) > embedding_score(t[::-1] ** 2 % 1, Y)
    True
    """
    (z, _), (y, log_unit) = _complete_table(Z, "map"), _complete_table(Y, "table")
    if len(z) != len(y):
        raise error("LD455", rows=len(z), table=len(y))
    if len(y) > MOST_SCORED_ROWS:
        raise error("LD456", n=len(y), most=MOST_SCORED_ROWS)
    y = y - y.mean(axis=0)
    size = float((y**2).mean())
    D = exact_distances(z) ** 2
    width = float(D.mean())
    if size == 0.0 or width == 0.0:
        raise error("LD457", what="table" if size == 0.0 else "map")
    groups = columns_by_pattern(y / np.sqrt(size), None)
    bounds = [(LEAST_LOG, MOST_LOG), (LEAST_LOG, MOST_LOG), (LEAST_LOG, MOST_LOG), (LEAST_LOG_NOISE, MOST_LOG)]
    optima = [
        minimize(loss, np.array(start), (D / width, groups), "L-BFGS-B", True, bounds=bounds, options={"maxiter": 500})
        for start in HYPERPARAMETER_STARTS
    ]
    return float(-min(optimum.fun for optimum in optima) - 0.5 * y.size * np.log(size) + y.size * log_unit)


def loss(theta: Array, D: Array, groups: list[ColumnGroup]) -> tuple[float, Array]:
    """-log p(Y | Z) and its gradient in the logs of a, g, b, s; D squared distances, Y the columns of the groups."""
    a, g, b, s = np.exp(theta)
    R = a * np.exp(-0.5 * g * D)
    try:
        value, G, _ = likelihood(R + b, s, groups)
    except np.linalg.LinAlgError:
        return 1e25, np.zeros(4)
    GR = G * R
    slope = [float(GR.sum()), -0.5 * g * float((GR * D).sum()), b * float(G.sum()), s * float(np.trace(G))]
    return -value, -np.array(slope)


def _complete_table(X: Any, what: str) -> tuple[Array, float]:
    """A table, or one column of it, without gaps, in a moderate unit; and the logarithm of what that multiplies by."""
    x = complete_matrix(in_columns(X), "embedding_score", f"the {what} has gaps, and a likelihood needs every cell")
    scale = moderate_factor(x)
    return x * scale, float(np.log(scale))
