"""K-means against scikit-learn: seconds an iteration of Lloyd, same start, same table, in turns.

python benchmarks/kmeans.py [threads]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from clock import contest, machine, times
from sklearn.cluster import KMeans as Peer

import lowdim

FEW, MANY = 2, 22  # the difference of two fits is what their iterations cost, whatever else a fit does
CASES = ((20_000, 20, 10), (100_000, 50, 50))


def blobs(n: int, d: int, K: int) -> np.ndarray:
    """Overlapping groups, so that Lloyd's iteration has something to do."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((K, d))[rng.integers(0, K, n)] + rng.standard_normal((n, d))


def entries(X: np.ndarray, K: int, run: lowdim.Run) -> dict[str, Callable[[], Any]]:
    """Both contestants with few iterations and with many, from the same start."""
    made: dict[str, Callable[[], Any]] = {}
    for steps in (MANY, FEW):
        how = {"init": X[:K].copy(), "tol": 0.0, "max_iter": steps}
        made[f"lowdim, {steps} iterations"] = partial(lowdim.KMeans(K, **how).fit, X, run=run)
        made[f"scikit-learn, {steps} iterations"] = partial(Peer(K, n_init=1, algorithm="lloyd", **how).fit, X)
    return made


def main() -> None:
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    warnings.simplefilter("ignore")  # neither converges in so few steps
    print(machine(f"python benchmarks/kmeans.py {threads}"), "\n")
    run = lowdim.Run(engine="serial" if threads == 1 else "threads")
    for n, d, K in CASES:
        runs = contest(entries(blobs(n, d, K), K, run), threads)
        long, short = (runs[f"lowdim, {steps} iterations"] for steps in (MANY, FEW))
        far, near = (runs[f"scikit-learn, {steps} iterations"] for steps in (MANY, FEW))
        ours, theirs = ((a.seconds - b.seconds) / (MANY - FEW) for a, b in ((long, short), (far, near)))
        print(f"{n} x {d}, K = {K}, {threads} thread(s)\n")
        print(times(runs, inertia=lambda m: f"{m.inertia_:.6f}"))
        print(
            f"\nan iteration: {1e3 * ours:.2f} ms, scikit-learn {1e3 * theirs:.2f} ms, ratio {ours / theirs:.2f}; "
            f"a whole fit of {MANY}: {long.seconds / far.seconds:.2f}; inertias differ by "
            f"{abs(long.answer.inertia_ / far.answer.inertia_ - 1):.1e}\n"
        )


if __name__ == "__main__":
    main()
