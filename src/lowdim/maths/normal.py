"""The normal distribution function of many numbers at once, without a branch: a few nanoseconds each."""

from __future__ import annotations

import numpy as np

from lowdim.maths.linalg import Array

FARTHEST = 38.0  # from where on both are zero in double precision, or nearly
DENSITY_AT_ZERO = float(1.0 / np.sqrt(2.0 * np.pi))
# Phi(-x) e^(x^2 / 2) for x >= 0 as one polynomial over another, rising powers: fitted for this file on [0, 8.5] in 40
# digits, each error counted as it is in Phi, which is then right to 2.2e-17; beyond, Phi(-x) is below 1e-17 itself
ABOVE = (
    0.5, 0.5022704337988634, 0.2544725086050073, 0.07699606288965306, 0.014471076300841736, 0.0015900543594268852,
    8.005176146605615e-05,
)  # fmt: skip
UNDER = (
    1.0, 1.8024254284006025, 1.4470724385289335, 0.6733376889185732, 0.19702748658759378, 0.03647116529932109,
    0.0039858278196059985, 0.00020065632026101618,
)  # fmt: skip


def normal_below(u: Array) -> tuple[Array, Array]:
    """The standard normal distribution function and density.

    >>> below, density = normal_below(np.array([-1.0, 0.0, 1.0]))
    >>> below.round(4).tolist(), density.round(4).tolist()
    ([0.1587, 0.5, 0.8413], [0.242, 0.3989, 0.242])
    """
    x = np.minimum(np.abs(u), FARTHEST)
    falling = np.exp(-0.5 * x * x)
    above = np.full_like(x, ABOVE[-1])
    for power in ABOVE[-2::-1]:
        above *= x
        above += power
    under = np.full_like(x, UNDER[-1])
    for power in UNDER[-2::-1]:
        under *= x
        under += power
    above /= under
    above *= falling  # Phi(-x)
    falling *= DENSITY_AT_ZERO
    return np.where(u > 0.0, 1.0 - above, above), falling
