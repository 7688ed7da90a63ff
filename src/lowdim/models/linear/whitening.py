"""Plain functions where a model would be too much: whitening and total least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.models.base.results import product
from lowdim.models.linear.pca import PCA
from lowdim.sources.arrays import complete_matrix, in_columns
from lowdim.sources.source import Block
from lowdim.text.messages import error


class Whitened(NamedTuple):
    """Rows with mean zero and covariance I (n - 1), and the matrix that made them."""

    rows: Array
    matrix: Array  # rows = (X - mean) @ matrix
    mean: Array


def whiten(X: Any, *, method: str = "pca") -> Whitened:
    """Sphere a complete table: zero mean, unit variances, no correlations.

    "pca" whitens along the principal axes, Lambda^(-1/2) U'; "zca" turns back to the columns,
    U Lambda^(-1/2) U', the whitened table closest to the original.

    Parameters
    ----------
    X : table without gaps, n x d
    method : {"pca", "zca"}, default "pca"

    Returns
    -------
    Whitened
        `rows` (n x d), the `matrix` with rows = (X - mean) @ matrix, and the `mean`.

    References
    ----------
    A. Kessy, A. Lewin and K. Strimmer (2018), "Optimal whitening and decorrelation", Am. Stat. 72, 309-314.

    Examples
    --------
    >>> W = whiten([[1.0, 2.0], [3.0, 2.5], [2.0, 4.0], [5.0, 1.0]])
    >>> np.cov(W.rows.T).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if method not in ("pca", "zca"):
        raise error("LD210", option="method", value=method, allowed="'pca' or 'zca'")
    rows = complete_matrix(X, "whiten", "a covariance of all columns needs every cell")
    model = PCA(solver="qr").fit(X)
    rank = int((model.explained_variance_ > 1e-20 * model.explained_variance_.max()).sum())
    V, sd = model.components_[:rank].T, np.sqrt(model.explained_variance_[:rank])
    matrix = V / sd if method == "pca" else (V / sd) @ V.T
    centred = model.frame_.inward(Block(rows)).x - model.params_.mu
    return Whitened(product(centred, matrix / model.frame_.scale[:, None]), matrix, model.mean_)


class Plane(NamedTuple):
    """y = X @ coefficients + intercept, and each row's perpendicular distance to it."""

    coefficients: Array
    intercept: float
    normal: Array  # unit vector over (columns of X, y)
    distances: Array


def total_least_squares(X: Any, y: Any) -> Plane:
    """Orthogonal regression: errors in every variable, distances measured perpendicular to the plane.

    With v the last principal axis of the centred (X, y), the plane is v'((x, y) - mean) = 0, so the
    coefficients are -v_x / v_y.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)

    Returns
    -------
    Plane
        `coefficients`, `intercept`, unit `normal` over (columns of X, y), and each row's `distances`.

    References
    ----------
    G. H. Golub and C. F. Van Loan (1980), "An analysis of the total least squares problem", SIAM J. Numer. Anal. 17,
    883-893.

    Examples
    --------
    >>> plane = total_least_squares([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> plane.coefficients.round(6).tolist(), round(float(plane.intercept), 6)
    ([2.0], 1.0)
    """
    X = complete_matrix(X, "total_least_squares", "a distance needs every cell")
    y = complete_matrix(in_columns(y), "total_least_squares", "a distance needs every cell")
    if len(y) != len(X):
        raise error("LD210", option="y", value=f"{len(y)} numbers", allowed=f"one number for each of the {len(X)} rows")
    table = np.column_stack([X, y])
    model = PCA(solver="qr").fit(table)
    if len(model.components_) < table.shape[1]:
        raise error("LD160", n=len(table), least=table.shape[1])
    v = model.components_[-1]
    if abs(v[-1]) < 1e-12:
        raise error(
            "LD210",
            option="y",
            value="y",
            allowed="a y that the plane can be solved for; here the fitted plane is parallel to it",
        )
    coefficients = -v[:-1] / v[-1]
    off = product(model.frame_.inward(Block(table)).x - model.params_.mu, v) / model.frame_.scale[0]
    return Plane(coefficients, float(model.mean_[-1] - model.mean_[:-1] @ coefficients), v, off)
