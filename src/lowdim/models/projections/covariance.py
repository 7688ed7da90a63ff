"""A full covariance that EM fits through gaps: its bound, rows given their seen cells, free numbers to extrapolate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lowdim.maths.gaps import BoundedCovariance, GivenSeen, bounded_covariance, given_seen, pattern_groups
from lowdim.maths.linalg import EPS, Array, Mask
from lowdim.sources.source import Block

LEAST_VARIANCE = 1e-6  # of any direction in EM, of columns of unit variance: below it rows are fitted exactly
NULL_VARIANCE = 1e-6  # of a direction that is not there: far below any that matters, no digits are lost to it
MOST_LOG = 3.0  # of a log scale that an extrapolation may reach
SMALLEST = 1e-290  # a variance that can be divided by
GAP_NUMBERS = 2**19  # numbers (4 MB) in the little matrices of gaps held at a time


def deviations(mu: Array, block: Block) -> Array:
    """The seen cells minus their mean, zero at gaps."""
    r = block.x - mu
    return r if block.mask is None else r * block.mask


def whitening(C: Array) -> BoundedCovariance:
    """C with its precision P P' and log |C|; directions lost in rounding, beside each column's variance, are lifted."""
    return bounded_covariance(C, len(C) * EPS * np.maximum(np.diag(C), SMALLEST))


def given_in_pieces(r: Array, mask: Mask | None, whole: BoundedCovariance) -> Iterator[tuple[slice, GivenSeen]]:
    """Rows of deviations, zero at gaps, given what is seen of them; so many at a time that their matrices stay small.

    A piece is a power of two of rows, so that tiles are cut alike.
    """
    n, d = r.shape
    step = max(n, 1) if mask is None else 1 << (max(GAP_NUMBERS // (d * d), 1).bit_length() - 1)
    for begin in range(0, n, step):
        at = slice(begin, begin + step)
        groups = pattern_groups(None if mask is None else mask[at])
        yield at, given_seen(r[at], groups, whole.P, whole.logdet)


def log_cholesky(C: Array) -> Array:
    """The Cholesky factor of C with the logarithm of its diagonal: any numbers there are some covariance."""
    L = np.asarray(np.linalg.cholesky(C), dtype=np.float64)
    at = np.arange(len(L))
    L[at, at] = np.log(L[at, at])
    return L


def from_log_cholesky(L: Array) -> Array:
    """The covariance of such a factor; an extrapolation may not run away."""
    L, at = L.copy(), np.arange(len(L))
    L[at, at] = np.exp(np.clip(L[at, at], 0.5 * np.log(LEAST_VARIANCE), MOST_LOG))
    return L @ L.T
