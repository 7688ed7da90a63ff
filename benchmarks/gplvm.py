"""GP-LVM against GPy on 100 rows of the oil flow: seconds, likelihood, nearest-neighbour errors.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/gplvm.py [subsets]      (GPy is optional)

Both start from whitened principal scores with an RBF kernel and noise; both go to their own stop,
within 1000 iterations.
"""
from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from lowdim import GPLVM
from tests.references.tables import neighbour_errors, oil

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "oil_flow"


def ours(X: np.ndarray) -> tuple[float, np.ndarray]:
    model = GPLVM(2).fit(X)
    return model.objective_, model.embedding_


def three(X: np.ndarray) -> tuple[float, np.ndarray]:
    model = GPLVM(2, n_init=3, tol=0.01).fit(X)
    return model.objective_, model.embedding_


def gpy(X: np.ndarray) -> tuple[float, np.ndarray]:
    import GPy

    Y = X - X.mean(axis=0)
    U = np.linalg.svd(Y, full_matrices=False)[0][:, :2] * np.sqrt(len(Y))
    model = GPy.models.GPLVM(Y, 2, X=U.copy(), kernel=GPy.kern.RBF(2))
    model.optimize("lbfgs", max_iters=1000)
    return float(model.log_likelihood()), np.asarray(model.X)


def contest(subsets: int) -> None:
    X, label = oil(DATA)
    entries: dict[str, Any] = {"lowdim": ours, "3 starts": three}
    try:
        import GPy  # noqa: F401

        entries["GPy"] = gpy
    except ImportError:
        print("GPy is not installed: ours alone")
    found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in entries}
    for seed in range(subsets):
        rows = np.random.default_rng(seed).choice(len(X), 100, replace=False)
        for name, fit in entries.items():
            begin = time.perf_counter()
            value, Z = fit(X[rows])
            found[name].append((time.perf_counter() - begin, value, neighbour_errors(Z, label[rows])))
    for name, figures in found.items():
        seconds, value, errors = np.array(figures).T
        print(f"{name:8s} seconds {np.median(seconds):.2f}  log-likelihood {value.mean():.1f}  "
              f"errors {errors.mean():.2f}")


if __name__ == "__main__":
    contest(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
