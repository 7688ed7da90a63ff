"""A simulator of a pump's readings, one of which is written down wrongly on purpose."""

from __future__ import annotations

import numpy as np

from lowdim.maths.linalg import Array

# mean; what one standard deviation of load adds, what one of warmth adds; standard deviation of the noise
READINGS = {
    "flow": (50.0, 9.0, -1.0, 1.2),
    "pressure": (6.0, 0.8, -0.2, 0.12),
    "power": (48.0, 10.0, 2.5, 1.2),
    "current": (80.0, 15.0, 5.0, 2.5),
    "speed": (1450.0, 110.0, 0.0, 20.0),
    "vibration": (2.5, 0.4, 0.2, 0.12),
    "bearing": (55.0, 4.0, 6.0, 1.0),
    "outside": (15.0, 0.0, 7.0, 1.0),
}
WRONG = (139, "power", 63.8)  # 36.8 with two digits swapped: high for this hour, not for the pump
HOURS = 240


def pump_readings() -> tuple[tuple[str, ...], Array]:
    """Eight readings of a pump in 240 hours, driven by its load and by how warm it is outside; all of them right."""
    rng = np.random.default_rng(0)
    mean, load, warmth, noise = np.array(list(READINGS.values())).T
    z = rng.standard_normal((HOURS, 2))
    X = mean + z @ np.array([load, warmth]) + noise * rng.standard_normal((HOURS, len(mean)))
    return tuple(READINGS), np.round(X, 1)
