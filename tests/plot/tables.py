"""Tables that several tests of plots share."""

import numpy as np


def roll(n=120, gaps=0.0, seed=0):
    """A bent sheet in four columns, three kinds of rows along it."""
    rng = np.random.default_rng(seed)
    t, u = rng.uniform(0.5, 3.5, n), rng.uniform(-1, 1, n)
    X = np.column_stack([np.cos(t), np.sin(t), u, 0.3 * t * u]) + 0.05 * rng.standard_normal((n, 4))
    X[rng.random(X.shape) < gaps] = np.nan
    return X, np.array(["low", "mid", "high"])[np.digitize(t, [1.5, 2.5])]


def bishop(seed=0):
    """300 x 10, sd 1 in three directions and 0.5 in seven: the table of Bishop's figure 12.14, by its description."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    return rng.standard_normal((300, 10)) * np.r_[np.ones(3), np.full(7, 0.5)] @ Q


def three(seed=0):
    rng = np.random.default_rng(seed)
    parts = (
        rng.standard_normal((150, 2)) @ [[1.5, 0.9], [0.0, 0.4]],
        0.6 * rng.standard_normal((90, 2)) + [3, -2],
        rng.standard_normal((60, 2)) @ [[0.3, 0.0], [0.5, 1.0]] + [4, 2],
    )
    return np.concatenate(parts)
