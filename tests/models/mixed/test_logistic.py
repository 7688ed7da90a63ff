"""Expectations of the logistic function against quadrature."""

import numpy as np
import pytest
from scipy.special import expit

from lowdim.models.mixed.logistic import SHARES, logistic_mean, logistic_share

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@pytest.mark.parametrize("v", [0.0, 0.3, 1.0, 9.0])
def test_expectations_agree_with_quadrature_and_softplus_is_never_below(v):
    m = np.linspace(-12, 12, 241)
    x = m[:, None] + np.sqrt(v) * NODES
    mean = logistic_mean(m, np.full(m.shape, v))
    softplus = np.logaddexp(0.0, x) @ WEIGHTS
    assert (mean.softplus >= softplus - 1e-9).all() and np.abs(mean.softplus - softplus).max() < 1.7e-5
    assert np.abs(mean.slope - expit(x) @ WEIGHTS).max() < 6e-6
    assert np.abs(mean.curvature - (expit(x) * expit(-x)) @ WEIGHTS).max() < 3e-5
    assert np.array_equal(logistic_share(m, np.full(m.shape, v)), mean.slope)


def test_slope_and_curvature_are_the_derivatives_of_softplus():
    m, v, e = np.linspace(-6, 6, 61), np.full(61, 0.7), 1e-5
    up, down, here = logistic_mean(m + e, v), logistic_mean(m - e, v), logistic_mean(m, v)
    assert np.allclose((up.softplus - down.softplus) / (2 * e), here.slope, atol=1e-9)
    assert np.allclose((up.slope - down.slope) / (2 * e), here.curvature, atol=1e-9)
    wider, narrower = logistic_mean(m, v + e), logistic_mean(m, v - e)  # dE/dv = E'' / 2
    assert np.allclose((wider.softplus - narrower.softplus) / e, here.curvature, atol=1e-8)
    assert abs(sum(SHARES) - 1.0) < 1e-15
