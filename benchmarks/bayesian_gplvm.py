"""The Bayesian GP-LVM against GPy's on rows of the oil flow: seconds until our bound reaches GPy's last.

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=. python benchmarks/bayesian_gplvm.py [rows] [subsets]      (GPy is optional)

The same model (ARD kernel, white noise, N(0, I) over places, 5 dimensions, 20 inducing points) on the same rows, and
GPy starts from our start, number for number: unwhitened principal scores with variances of 0.3, inducing points at
rows, and a signal fifteen times the noise, which both keep for 100 iterations; then L-BFGS, GPy at most 1000
iterations. Where two climbs from one start end is chance nevertheless: a bound that is never reached counts as 0 times.
Nothing is compiled while the clock runs. OPENBLAS_NUM_THREADS sets GPy's threads (unset: its default); we use one.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lowdim import PCA, BayesianGPLVM, Run, as_source
from lowdim.models.gaussian_process.bound import CentredTable
from tests.references.tables import neighbour_errors, oil

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "oil_flow"
DIMENSIONS, POINTS, FROZEN = 5, 20, 100


class Reached(NamedTuple):
    """How a fit went: seconds and CPU seconds in all, the bound at the end, and the errors of its two main axes."""

    seconds: float
    cpu: float
    bound: float
    errors: int
    clock: np.ndarray  # seconds at each iteration
    used: np.ndarray  # CPU seconds there
    history: np.ndarray  # its bound there


def ours(X: np.ndarray, label: np.ndarray, seed: int = 0) -> Reached:
    begin, cpu, clock, used = time.perf_counter(), time.process_time(), [], []

    def note(step: Any) -> None:
        clock.append(time.perf_counter() - begin)
        used.append(time.process_time() - cpu)

    model = BayesianGPLVM(DIMENSIONS, n_inducing=POINTS, tol=2e-5, max_iter=2000, random_state=seed)
    model.fit(X, run=Run(engine="serial", callback=note))
    total = time.perf_counter() - begin, time.process_time() - cpu
    errors = neighbour_errors(model.embedding_[:, :2], label)
    return Reached(*total, model.objective_, errors, np.array(clock), np.array(used), model.history_)


def gpy(X: np.ndarray, label: np.ndarray, seed: int = 0) -> Reached:
    import GPy

    Y = X - X.mean(axis=0)
    scores = PCA(DIMENSIONS).fit_transform(X)
    like = BayesianGPLVM(DIMENSIONS, n_inducing=POINTS, random_state=seed)
    start = like._start(CentredTable(as_source(Y), False, ""), 0, scores)
    begin, cpu = time.perf_counter(), time.process_time()
    kernel = GPy.kern.RBF(DIMENSIONS, ARD=True, variance=Y.var())
    model = GPy.models.BayesianGPLVM(
        Y,
        DIMENSIONS,
        X=start.mu.copy(),
        X_variance=start.S.copy(),
        num_inducing=POINTS,
        Z=start.Z.copy(),
        kernel=kernel,
    )
    model.likelihood.variance = Y.var() / start.beta
    for part in (model.likelihood.variance, model.kern.variance):
        part.fix(warning=False)
    model.optimize("lbfgs", max_iters=FROZEN)
    for part in (model.likelihood.variance, model.kern.variance):
        part.unfix()
        part.constrain_positive(warning=False)
    model.optimize("lbfgs", max_iters=1000)
    used = time.perf_counter() - begin, time.process_time() - cpu
    size = np.asarray(model.kern.lengthscale)
    top = np.argsort(size)[:2]
    errors = neighbour_errors(np.asarray(model.X.mean)[:, top] / size[top], label)
    bound = np.asarray(model.log_likelihood()).item()
    return Reached(*used, bound, errors, np.zeros(0), np.zeros(0), np.zeros(0))


def until(found: Reached, bound: float) -> tuple[float, float]:
    """Seconds and CPU seconds until a bound was reached; infinite where it was not."""
    there = np.flatnonzero(found.history >= bound)
    return (float(found.clock[there[0]]), float(found.used[there[0]])) if len(there) else (np.inf, np.inf)


def starts_race(rows: int = 100, starts: int = 10) -> tuple[float, float, int, str]:
    """CPU seconds to GPy's best bound of so many starts, of both, start after start; the two take turns.

    GPy's are those of its starts up to the one that ends highest, ours those until any of ours has passed that bound.
    """
    X, label = oil(DATA)
    some = np.random.default_rng(0).choice(len(X), rows, replace=False)
    runs = [(ours(X[some], label[some], seed), gpy(X[some], label[some], seed)) for seed in range(starts)]
    mine, theirs = [a for a, _ in runs], [b for _, b in runs]
    ends = [found.bound for found in theirs]
    best = int(np.argmax(ends))
    seconds = 0.0
    for found in mine:
        there = until(found, ends[best])[1]
        seconds += min(there, found.cpu)
        if np.isfinite(there):
            break
    else:
        seconds = float("inf")
    own = [found.bound for found in mine]
    note = ", ".join(
        f"{who} {min(found):.1f} to {max(found):.1f} (median {np.median(found):.1f})"
        for who, found in (("bounds", own), ("peer", ends))
    )
    return seconds, sum(found.cpu for found in theirs[: best + 1]), starts, note


def contest(rows: int, subsets: int) -> None:
    X, label = oil(DATA)
    ratios: list[tuple[float, float]] = []
    for seed in range(subsets):
        some = np.random.default_rng(seed).choice(len(X), rows, replace=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            entries: dict[str, Any] = {"lowdim": ours(X[some], label[some])}
            try:
                entries["GPy"] = gpy(X[some], label[some])
            except ImportError:
                print("GPy is not installed: ours alone")
        for name, found in entries.items():
            print(
                f"rows {rows} subset {seed} {name:7s} seconds {found.seconds:6.2f} CPU {found.cpu:6.2f}  "
                f"bound {found.bound:9.2f}  errors in two {found.errors}",
                flush=True,
            )
        if "GPy" in entries:
            wall, cpu = until(entries["lowdim"], entries["GPy"].bound)
            ratios.append((entries["GPy"].seconds / wall, entries["GPy"].cpu / cpu))
            print(
                f"    ours is there after {wall:.2f} s, CPU {cpu:.2f}: {ratios[-1][0]:.1f} times faster, "
                f"CPU {ratios[-1][1]:.1f}",
                flush=True,
            )
    if ratios:
        wall, cpu = np.median(ratios, axis=0)
        print(f"median of {len(ratios)}: {wall:.1f} times faster to GPy's bound (by CPU seconds {cpu:.1f})")


if __name__ == "__main__":
    contest(*(int(word) for word in (sys.argv[1:] + ["300", "3"][len(sys.argv) - 1 :])))
