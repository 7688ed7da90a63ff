"""Expectations of the logistic function and its relatives under a Gaussian, in closed form.

The logistic function is close to a mixture of normal distribution functions, s(x) ~ sum_k p_k Phi(s_k x), within 5.4e-6
for four of them. With x ~ N(m, v), E Phi(s x) = Phi(m / t), t^2 = 1/s^2 + v, and its integral and derivative in m are
as simple. The four p and s minimise the largest error of the mixture; the idea is that of Monahan and Stefanski (1992),
"Normal scale mixture approximations to F*(z) and computation of the logistic-normal integral".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from lowdim.maths.linalg import Array

SHARES = (0.05987694020126884, 0.3698345256494135, 0.4605285337345379, 0.10976000041477965)
SLOPES = (0.3204803466257068, 0.47352652352304286, 0.6957939155942269, 1.0190919348224514)
SLACK = 1.6e-5  # the mixture's softplus lies below the true one by at most 1.55e-5: with this it is an upper bound
ROOT_TWO_PI = float(np.sqrt(2.0 * np.pi))


class LogisticMean(NamedTuple):
    """Expectations under N(m, v) of softplus log(1 + e^x), of its slope s(x) and of the slope of that."""

    softplus: Array
    slope: Array
    curvature: Array


def logistic_mean(m: Array, v: Array) -> LogisticMean:
    """E softplus(x), E s(x) and E s'(x) for x ~ N(m, v), cell by cell; the first is never below the truth.

    >>> [round(float(part), 4) for part in logistic_mean(np.array(0.0), np.array(0.0))]
    [0.6932, 0.5, 0.25]
    """
    softplus = np.full(np.shape(m), SLACK)
    slope, curvature = np.zeros(np.shape(m)), np.zeros(np.shape(m))
    for share, s in zip(SHARES, SLOPES, strict=True):
        t = np.sqrt(v + s**-2)
        u = m / t
        below = ndtr(u)
        below *= share
        density = np.exp(-0.5 * u * u) * (share / ROOT_TWO_PI)
        softplus += m * below + t * density
        slope += below
        curvature += density / t
    return LogisticMean(softplus, slope, curvature)


def logistic_share(m: Array, v: Array) -> Array:
    """E s(x) alone: the probability of a yes."""
    parts = (share * ndtr(m / np.sqrt(v + s**-2)) for share, s in zip(SHARES, SLOPES, strict=True))
    return np.asarray(sum(parts), dtype=np.float64)
