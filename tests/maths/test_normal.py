"""The normal distribution function against scipy's."""

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from lowdim.maths.normal import normal_below


def test_it_is_right_to_the_last_bits_and_rises():
    u = np.concatenate([np.linspace(-37.0, 37.0, 74_001), [np.inf, -np.inf, 1e200, -1e200]])
    below, density = normal_below(u)
    assert np.abs(below - ndtr(u)).max() < 5e-16 and np.abs(density - norm.pdf(u.clip(-40.0, 40.0))).max() < 5e-16
    assert (np.diff(below[:-4]) >= 0.0).all() and np.abs(below[-4:] - [1.0, 0.0, 1.0, 0.0]).max() < 1e-300
    lower_half = (u >= -8.0) & (u <= 0.0)
    assert np.abs(below[lower_half] / ndtr(u[lower_half]) - 1.0).max() < 0.02  # far tails are right in size too
