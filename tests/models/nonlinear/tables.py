"""Small bent tables."""

import numpy as np


def arc(n=80, noise=0.05, gaps=0.0, seed=0, rowwise=False):
    """Half a turn of a helix; with `rowwise` no row loses all its cells."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 3, n)
    X = np.column_stack([np.cos(t), np.sin(t), t]) + noise * rng.standard_normal((n, 3)) + [5.0, 0.0, 1.0]
    scale = [1, 1, 9] if rowwise else [1, 1, 1]
    return np.where(rng.random(X.shape) * scale < gaps, np.nan, X) if gaps else X


def long_arc(n=120, gaps=0.0):
    """The same a little longer, without noise in its seed."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 4, n)
    X = np.column_stack([np.cos(t), np.sin(t), t]) + 0.05 * rng.standard_normal((n, 3))
    X[rng.random(X.shape) < gaps] = np.nan
    return X
