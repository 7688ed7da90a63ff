"""Numbers whose squares can be stored: one guard for all that is huge or tiny, and the spread of columns."""

from __future__ import annotations

import numpy as np

from lowdim.maths.linalg import Array

LARGEST = float(np.finfo(float).max)
MODERATE_SIZE = 2.0**200  # sizes within 1/this .. this square and sum without leaving double precision


def moderate_scale(size: Array, *, together: bool = False) -> Array:
    """Powers of two that bring numbers of these sizes near one; 1 where they are moderate already.

    A power of two changes no digit. `together` gives all of them one factor, that of the largest.

    >>> moderate_scale(np.array([3.0, 2.0**300])).tolist() == [1.0, 2.0**-301]
    True
    """
    size = np.full_like(size, size.max(initial=0.0)) if together else size
    moderate = (size == 0.0) | ((size > 1.0 / MODERATE_SIZE) & (size < MODERATE_SIZE))
    return np.where(moderate, 1.0, 2.0 ** -np.clip(np.frexp(size)[1], -1000, 1000))


def moderate_factor(*tables: Array) -> float:
    """The power of two that brings the largest number of these tables near one; 1 where it is moderate."""
    sizes = [0.0, *(np.abs(table).max(initial=0.0) for table in tables)]  # 0.0: never in single precision
    return float(moderate_scale(np.max(sizes)))


def centre_and_spread(X: Array) -> tuple[Array, Array]:
    """The mean of each column's seen cells (0 without any) and their spread (1 without any); NaN is a gap."""
    mask = ~np.isnan(X)
    count = np.maximum(mask.sum(axis=0), 1)
    mean = np.where(mask, X, 0.0).sum(axis=0) / count
    spread = np.sqrt(np.where(mask, (X - mean) ** 2, 0.0).sum(axis=0) / count)
    return mean, np.where(spread > 0.0, spread, 1.0)


def seen_spread(X: Array, ddof: int = 0) -> Array:
    """The standard deviation of each column's seen cells (NaN is a gap), whatever their unit.

    >>> seen_spread(np.array([[1e200, 3.0], [3e200, np.nan], [np.nan, 5.0]])).tolist()
    [1e+200, 1.0]
    """
    scale = moderate_scale(np.nanmax(np.abs(X), axis=0, initial=0.0))
    with np.errstate(over="ignore"):
        return np.minimum(np.nanstd(X * scale, axis=0, ddof=ddof) / scale, LARGEST)
