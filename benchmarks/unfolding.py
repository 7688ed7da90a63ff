"""Maximum variance unfolding against Clarabel through cvxpy, and figures of unfolding.

    python benchmarks/unfolding.py [n of the contest]

Needs cvxpy and clarabel (a virtual environment of their own); the 60-row objective printed here is the reference of
tests/models/spectral/test_unfolding.py.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from lowdim import MaximumVarianceUnfolding
from lowdim.models.spectral.landmarks import farthest


def roll(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A swiss roll, and its arc length and height."""
    rng = np.random.default_rng(0)
    t, h = 1.5 * np.pi * (1 + 2 * rng.random(n)), 21 * rng.random(n)
    arc = 0.5 * (t * np.sqrt(1 + t * t) + np.arcsinh(t))
    return np.column_stack([t * np.cos(t), h, t * np.sin(t)]), np.column_stack([arc, h])


def clarabel(pairs: np.ndarray, d: np.ndarray, n: int) -> float:
    """The textbook program, as a user of cvxpy writes it."""
    import cvxpy as cp

    K = cp.Variable((n, n), PSD=True)
    near = [K[i, i] + K[j, j] - 2 * K[i, j] <= length for (i, j), length in zip(pairs, d, strict=True)]
    return float(cp.Problem(cp.Maximize(cp.trace(K)), [cp.sum(K) == 0, *near]).solve(solver=cp.CLARABEL))


def seconds(job: Callable[[], Any]) -> tuple[float, float, Any]:
    """By the clock, and of the processor: on a busy machine only the second compares."""
    begin, cpu = time.perf_counter(), time.process_time()
    answer = job()
    return time.perf_counter() - begin, time.process_time() - cpu, answer


def contest(n: int) -> None:
    X = roll(n)[0]
    ours = min(
        (seconds(lambda: MaximumVarianceUnfolding(2, n_neighbors=6, cliques=False).fit(X)) for _ in range(5)),
        key=lambda run: run[1],
    )
    model = ours[2]
    d = ((X[model.edges_[:, 0]] - X[model.edges_[:, 1]]) ** 2).sum(axis=1)
    peer = seconds(lambda: clarabel(model.edges_, d, n))
    print(
        f"n = {n}, {len(d)} edges: ours {ours[0]:.2f} s ({ours[1]:.2f} s of processor), tr K {model.objective_!r}, "
        f"certificate {model.gap_:.1e}"
    )
    print(
        f"  Clarabel {peer[0]:.1f} s ({peer[1]:.1f} s of processor), tr K {peer[2]!r}: "
        f"{peer[1] / ours[1]:.0f} times the processor time, {peer[0] / ours[0]:.0f} by the clock; "
        f"the objectives differ by {abs(peer[2] / model.objective_ - 1):.1e}",
        flush=True,
    )


def r2(Z: np.ndarray, truth: np.ndarray) -> str:
    A = np.column_stack([np.ones(len(Z)), Z])
    off = truth - A @ np.linalg.lstsq(A, truth, rcond=None)[0]
    return " / ".join(f"{v:.4f}" for v in 1 - (off**2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0))


def rolls() -> None:
    X, truth = roll(3000)
    some = farthest(X, 300)
    for name, rows, options in (
        ("300 farthest of 3000", some, {}),
        ("2000 rows, 200 landmarks", np.arange(2000), {}),
        ("2000 rows, 150 landmarks", np.arange(2000), {"n_landmarks": 150}),
    ):
        clock, cpu, model = seconds(lambda rows=rows, options=options: MaximumVarianceUnfolding(**options).fit(X[rows]))
        print(
            f"{name}: {clock:.1f} s ({cpu:.1f} s of processor), {len(model.edges_)} edges, certificate "
            f"{model.gap_:.1e}, R2 {r2(model.embedding_, truth[rows])}",
            flush=True,
        )


def main() -> None:
    warnings.simplefilter("ignore")  # Clarabel's "may be inaccurate"
    with threadpool_limits(1):
        rolls()
        contest(60)
        contest(int(sys.argv[1]) if len(sys.argv) > 1 else 100)


if __name__ == "__main__":
    main()
