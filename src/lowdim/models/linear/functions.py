"""Plain functions where a model would be too much: whitening and total least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.math.linalg import Array
from lowdim.models.linear.pca import PCA
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block
from lowdim.sources.views import gather
from lowdim.text.messages import error

FILL_THE_GAPS = "fill the gaps first: lowdim.PPCA(q).fit(X).impute(X)"


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
    rows, mask = gather(as_source(X))
    if mask is not None:
        raise error("LD163", job="whiten", why="a covariance of all columns needs every cell", fix=FILL_THE_GAPS)
    model = PCA(solver="qr").fit(X)
    rank = int((model.explained_variance_ > 1e-20 * model.explained_variance_.max()).sum())
    V, sd = model.components_[:rank].T, np.sqrt(model.explained_variance_[:rank])
    matrix = V / sd if method == "pca" else (V / sd) @ V.T
    centred = model.frame_.inward(Block(rows)).x - model.params_.mu
    return Whitened((centred / model.frame_.scale) @ matrix, matrix, model.mean_)


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
    y = np.asarray(y, dtype=np.float64)
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise error("LD100", f"X has shape {X.shape}, y has shape {y.shape}", shape=y.shape)
    table = np.column_stack([X, y])
    if not np.isfinite(table).all():
        raise error("LD163", job="total_least_squares", why="a distance needs every cell", fix=FILL_THE_GAPS)
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
    return Plane(coefficients, float(model.mean_[-1] - model.mean_[:-1] @ coefficients), v, (table - model.mean_) @ v)
