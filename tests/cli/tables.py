"""Tables of the command-line tests, and nonlinear fits that stop early."""

from __future__ import annotations

import numpy as np

from lowdim.registry import ModelEntry


def bent(n=40, gaps=0.0, seed=0):
    """Rows along a bend in four columns of different units."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 3, n)
    X = np.column_stack([np.cos(t), np.sin(t), t, rng.standard_normal(n) * 0.1]) + 0.05 * rng.standard_normal((n, 4))
    X[rng.random(X.shape) < gaps] = np.nan
    return X * [1.0, 10.0, 100.0, 0.1] + [0.0, 5.0, 0.0, 3.0]


def quick(monkeypatch):
    """Fits that stop early: what is tested is what becomes of them."""
    small = {
        "gtm": {"grid": 5, "basis": 3, "tol": 0.01},
        "density": {"n_samples": 20, "hidden": 3, "tol": 0.01},
        "nlfa": {"hidden": 3, "tol": 0.1},
        "gplvm": {"tol": 0.05},
        "bgplvm": {"n_inducing": 6, "tol": 0.05},
        "autoencoder": {"hidden": (3,), "max_iter": 10},
    }
    made = ModelEntry.make
    monkeypatch.setattr(ModelEntry, "make", lambda self, *how: made(self, *how).set_params(**small.get(self.name, {})))


def large(n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 6)) @ rng.standard_normal((6, d)) + 1.5 * rng.standard_normal((n, d))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X
