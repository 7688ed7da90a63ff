"""GP-LVM against GPy on 100 rows of the oil flow: seconds, likelihood, nearest-neighbour errors.

    PYTHONPATH=src:. python benchmarks/gplvm.py [subsets] [rounds]      (GPy is optional)

Both start from whitened principal scores with an RBF kernel and noise; both go to their own stop, within 1000
iterations. Contestants take turns on every subset and keep their best time there; seconds are means over subsets.
Leave OPENBLAS_NUM_THREADS unset: the script limits the threads itself, and GPy also runs with as many as it finds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from clock import Run, machine, table, timed
from threadpoolctl import threadpool_limits

from lowdim import GPLVM
from tests.references.tables import neighbour_errors, oil

DATA = Path(os.environ.get("LOWDIM_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "oil_flow"
Answer = tuple[float, np.ndarray]


def ours(X: np.ndarray, n_init: int | None, tol: float) -> Answer:
    model = GPLVM(2, n_init=n_init, tol=tol).fit(X)
    return model.objective_, model.embedding_


def gpy(X: np.ndarray) -> Answer:
    import GPy

    Y = X - X.mean(axis=0)
    U = np.linalg.svd(Y, full_matrices=False)[0][:, :2] * np.sqrt(len(Y))
    model = GPy.models.GPLVM(Y, 2, X=U.copy(), kernel=GPy.kern.RBF(2))
    model.optimize("lbfgs", max_iters=1000)
    return float(model.log_likelihood()), np.asarray(model.X)


def contestants() -> dict[str, tuple[Callable[[np.ndarray], Answer], int | None]]:
    """Name, and the fit with its BLAS threads."""
    found: dict[str, tuple[Callable[[np.ndarray], Answer], int | None]] = {
        "lowdim, GPLVM(2)": (partial(ours, n_init=None, tol=5e-4), 1),
        "lowdim, n_init=1": (partial(ours, n_init=1, tol=5e-4), 1),
        "lowdim, tol=0.02": (partial(ours, n_init=None, tol=2e-4), 1),
    }
    try:
        import GPy  # noqa: F401
    except ImportError:
        print("GPy is not installed: ours alone")
        return found
    return {**found, "GPy, one thread": (gpy, 1), "GPy, its threads": (gpy, None)}


def contest(subsets: int, rounds: int) -> None:
    X, label = oil(DATA)
    entries = contestants()
    found: dict[str, list[tuple[float, float, float, int]]] = {name: [] for name in entries}
    for seed in range(subsets):
        rows = np.random.default_rng(seed).choice(len(X), 100, replace=False)
        best: dict[str, Run] = {}
        for _ in range(rounds):
            for name, (fit, threads) in entries.items():
                with threadpool_limits(threads):
                    best[name] = timed(partial(fit, X[rows])).with_older(best.get(name))
        for name, run in best.items():
            value, Z = run.answer
            found[name].append((run.seconds, run.cpu, value, neighbour_errors(Z, label[rows])))
    means = {name: np.mean(figures, axis=0) for name, figures in found.items()}
    first = means["lowdim, GPLVM(2)"]
    print(machine("python benchmarks/gplvm.py " + " ".join(sys.argv[1:])), "\n")
    print(
        table(
            ("contestant", "seconds", "times ours", "CPU s", "times ours", "log-likelihood", "errors"),
            [
                (name, m[0], m[0] / first[0], m[1], m[1] / first[1], f"{m[2]:.1f}", f"{m[3]:.2f}")
                for name, m in means.items()
            ],
        )
    )


if __name__ == "__main__":
    contest(int(sys.argv[1]) if len(sys.argv) > 1 else 10, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
