"""Columns brought to normal scores: no tail, unit or skewness of a single column decides how many are shared."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from lowdim.maths.linalg import Array, Mask


def normal_scores(x: Array, mask: Mask | None) -> Array:
    """Each cell as the normal quantile of its rank among the seen cells of its column, variance one; gaps are 0.

    The quantile of (r - 1/2)/m for the r-th of m seen cells; equal cells share their mean rank, so ties stay ties.

    References
    ----------
    Blom, Statistical Estimates and Transformed Beta-Variables, Wiley, 1958.

    Examples
    --------
    >>> normal_scores(np.array([[1.0], [10.0], [1e9]]), None).round(2).ravel().tolist()
    [-1.22, 0.0, 1.22]
    """
    if mask is None:
        scores = ndtri((rankdata(x, axis=0) - 0.5) / len(x))
    else:
        scores = np.zeros_like(x)
        for j in range(x.shape[1]):
            rows = np.flatnonzero(mask[:, j])
            scores[rows, j] = ndtri((rankdata(x[rows, j]) - 0.5) / max(len(rows), 1))
    return standardized(scores, mask)


def standardized(x: Array, mask: Mask | None) -> Array:
    """Columns with mean 0 and variance 1 over their seen cells; gaps are 0, a column without spread is 0."""
    seen = np.full(x.shape[1], float(len(x))) if mask is None else np.maximum(mask.sum(axis=0), 1.0)
    x = x - x.sum(axis=0) / seen
    if mask is not None:
        x *= mask
    sd = np.sqrt((x**2).sum(axis=0) / seen)
    return x / np.where(sd > 0.0, sd, 1.0)
