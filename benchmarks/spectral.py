"""Isomap, landmark Isomap, locally linear embedding and Laplacian eigenmaps beside scikit-learn's on a swiss roll."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from clock import contest, machine, times
from peers import quiet

N, K = 2000, 10


def roll(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """n rows of a swiss roll with a little noise, and the coordinates it was made of."""
    rng = np.random.default_rng(seed)
    t, h = 1.5 * np.pi * (1.0 + 2.0 * rng.random(n)), 21.0 * rng.random(n)
    X = np.c_[t * np.cos(t), h, t * np.sin(t)] + 0.05 * rng.standard_normal((n, 3))
    return X, np.c_[t, h]


def likeness(A: np.ndarray, B: np.ndarray) -> float:
    """The smallest correlation of the columns of two maps, whatever their signs."""
    return min(abs(float(np.corrcoef(a, b)[0, 1])) for a, b in zip(A.T, B.T, strict=True))


def isomap(threads: int = 1) -> str:
    from sklearn.manifold import Isomap as Theirs

    from lowdim import Isomap

    X, _ = roll()
    exact = Isomap(2, n_neighbors=K).fit_transform(X)
    runs = contest(
        {
            "lowdim, exact": lambda: Isomap(2, n_neighbors=K).fit_transform(X),
            "lowdim, 100 landmarks": lambda: Isomap(2, n_neighbors=K, n_landmarks=100).fit_transform(X),
            "scikit-learn": quiet(lambda: Theirs(n_components=2, n_neighbors=K).fit_transform(X)),
        },
        threads,
        5,
    )
    return _section(f"Isomap, {N} x 3, {K} neighbours", threads, runs, exact)


def lle(threads: int = 1) -> str:
    from sklearn.manifold import LocallyLinearEmbedding as Theirs

    from lowdim import LocallyLinearEmbedding

    X, _ = roll()
    mine = LocallyLinearEmbedding(2, n_neighbors=K)
    exact = mine.fit_transform(X)
    theirs = quiet(lambda: Theirs(n_components=2, n_neighbors=K, random_state=0).fit_transform(X))
    runs = contest({"lowdim": lambda: mine.fit_transform(X), "scikit-learn": theirs}, threads, 15)
    return _section(f"Locally linear embedding, {N} x 3, {K} neighbours", threads, runs, exact)


def laplacian(threads: int = 1) -> str:
    from sklearn.manifold import SpectralEmbedding as Theirs

    from lowdim import LaplacianEigenmaps

    X, _ = roll()
    mine = LaplacianEigenmaps(2, n_neighbors=K - 1)  # scikit-learn counts the row itself among its neighbours
    exact = mine.fit_transform(X)
    theirs = quiet(
        lambda: Theirs(n_components=2, affinity="nearest_neighbors", n_neighbors=K, random_state=0).fit_transform(X)
    )
    runs = contest({"lowdim": lambda: mine.fit_transform(X), "scikit-learn": theirs}, threads, 25)
    return _section(f"Laplacian eigenmaps, {N} x 3, {K - 1} neighbours", threads, runs, exact)


def _section(title: str, threads: int, runs: Any, exact: np.ndarray) -> str:
    body = times(runs, correlation_with_ours=lambda Z: likeness(Z, exact))
    return f"## {title}, {threads} BLAS thread{'s' * (threads > 1)}\n\n{body}"


CASES: dict[str, Callable[..., str]] = {"isomap": isomap, "lle": lle, "laplacian": laplacian}

if __name__ == "__main__":
    print(machine(f"python benchmarks/spectral.py {' '.join(sys.argv[1:])}"))
    for name in sys.argv[1:] or CASES:
        print("\n" + CASES[name](), flush=True)
