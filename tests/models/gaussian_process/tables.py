"""Tables that the tests of this family share."""

import numpy as np


def arc(n=40, noise=0.05, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 3, n)
    X = np.column_stack([np.cos(t), np.sin(t), t, t**2 / 3]) + noise * rng.standard_normal((n, 4)) + [5.0, 0, 1, 2]
    return np.where(rng.random(X.shape) < gaps, np.nan, X), t


def holed(X, share=0.2, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)
