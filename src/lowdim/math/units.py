"""Numbers so large or small that their squares cannot be stored, and what is to be known of them all the same."""

from __future__ import annotations

import numpy as np

from lowdim.math.linalg import Array

SQUARABLE = 1e100  # sizes whose squares, and sums of many of them, can be stored


def moderate_unit(size: Array) -> Array:
    """Powers of two to divide by, so that squares of numbers of these sizes can be stored; 1 where they can anyway."""
    fits = (size == 0.0) | ((size > 1.0 / SQUARABLE) & (size < SQUARABLE))
    return np.where(fits, 1.0, np.ldexp(1.0, np.clip(np.frexp(size)[1], -1000, 1000)))


def seen_spread(X: Array, ddof: int = 0) -> Array:
    """The standard deviation of each column's seen cells (NaN is a gap), whatever their unit.

    >>> seen_spread(np.array([[1e200, 3.0], [3e200, np.nan], [np.nan, 5.0]])).tolist()
    [1e+200, 1.0]
    """
    unit = moderate_unit(np.asarray(np.nanmax(np.abs(X), axis=0, initial=0.0)))
    with np.errstate(over="ignore"):
        return np.minimum(np.nanstd(X / unit, axis=0, ddof=ddof) * unit, np.finfo(np.float64).max)
