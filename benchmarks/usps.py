"""Handwritten digits by densities: one model a class, a digit goes to the likeliest. `python benchmarks/usps.py`

A mixture of probabilistic PCAs beside one PPCA, a shrunk full covariance and the nearest neighbour. K and
q of the mixture are those of docs/measurements.md; `--choose` compares others on the last fifth of every class.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lowdim import PPCA, MixtureOfPPCA

HOME = Path(os.environ.get("LOWDIM_DATA", Path(__file__).resolve().parents[1] / "../shared/data"))
CHOSEN = {"clusters": 3, "axes": 10, "single": 30, "shrinkage": 0.05}
GRID = {
    "mixture": [(2, 10), (3, 8), (3, 10), (3, 12), (4, 10), (5, 8)],
    "single": [15, 20, 30, 40],
    "shrinkage": [0.01, 0.02, 0.05, 0.1, 0.2],
}


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training digits and their names, test digits and theirs."""
    with np.load(HOME / "usps_digits" / "usps.npz") as found:
        return found["X_train"] / 1000, found["y_train"], found["X_test"] / 1000, found["y_test"]


def errors(fit: Callable[[np.ndarray], Any], X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> int:
    """Mistakes of the classifier made of one density for each class."""
    logs = [fit(X[y == c])(new) + np.log((y == c).mean()) for c in range(10)]
    return int((np.argmax(logs, axis=0) != truth).sum())


def mixture(K: int, q: int, seed: int = 0) -> Callable[[np.ndarray], Any]:
    return lambda rows: MixtureOfPPCA(K, q, random_state=seed).fit(rows).score_samples


def single(q: int) -> Callable[[np.ndarray], Any]:
    return lambda rows: PPCA(q).fit(rows).score_samples


def shrunk(share: float) -> Callable[[np.ndarray], Any]:
    """A full covariance drawn towards a multiple of the identity."""

    def fit(rows: np.ndarray) -> Any:
        mean, C = rows.mean(axis=0), np.cov(rows.T, bias=True)
        C = (1 - share) * C + share * np.trace(C) / len(C) * np.eye(len(C))
        L = np.linalg.cholesky(C)

        def density(new: np.ndarray) -> np.ndarray:
            y = np.linalg.solve(L, (new - mean).T)
            return np.asarray(-0.5 * (y * y).sum(axis=0) - np.log(np.diag(L)).sum())

        return density

    return fit


def neighbour(X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> int:
    """Mistakes of the nearest training digit."""
    apart = (X * X).sum(axis=1) - 2 * new @ X.T
    return int((y[apart.argmin(axis=1)] != truth).sum())


def choose() -> None:
    """The grids on the last fifth of every class."""
    X, y, *_ = digits()
    held = np.zeros(len(y), dtype=bool)
    for c in range(10):
        at = np.flatnonzero(y == c)
        held[at[-(len(at) // 5) :]] = True
    table = (X[~held], y[~held], X[held], y[held])
    for K, q in GRID["mixture"]:
        print(f"mixture K={K} q={q}: {errors(mixture(K, q), *table)} of {held.sum()}", flush=True)
    for q in GRID["single"]:
        print(f"PPCA q={q}: {errors(single(q), *table)}", flush=True)
    for share in GRID["shrinkage"]:
        print(f"shrunk {share}: {errors(shrunk(share), *table)}", flush=True)


def main() -> None:
    table = digits()
    K, q = CHOSEN["clusters"], CHOSEN["axes"]
    for seed in range(3):
        begin = time.perf_counter()
        wrong = errors(mixture(int(K), int(q), seed), *table)
        print(
            f"mixture of PPCA, K={K}, q={q}, seed {seed}: {wrong} errors of {len(table[3])} "
            f"({time.perf_counter() - begin:.1f} s)",
            flush=True,
        )
    print(f"one PPCA a class, q={CHOSEN['single']}: {errors(single(int(CHOSEN['single'])), *table)}")
    print(f"shrunk full covariance, {CHOSEN['shrinkage']}: {errors(shrunk(CHOSEN['shrinkage']), *table)}")
    print(f"nearest neighbour: {neighbour(*table)}")


if __name__ == "__main__":
    choose() if "--choose" in sys.argv else main()
