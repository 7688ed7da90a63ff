"""K-means with one start beside scikit-learn's: how good the optimum is that each ends in."""

from __future__ import annotations

import warnings

import numpy as np
from clock import table
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import load_digits

SEEDS = 20
WORDS = """### K-means: what one start ends in

The inertia of `KMeans(K, n_init=1)` over that of scikit-learn's `KMeans(K, n_init=1)`, over {seeds} seeds of each: the
median, the mean and the worst, each divided by scikit-learn's, and how many of the seeds end within 0.1 % of the best
that either saw."""


def centres(n: int, d: int, K: int) -> np.ndarray:
    """Overlapping groups about K centres."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((K, d))[rng.integers(0, K, n)] + rng.standard_normal((n, d))


def tables() -> dict[str, tuple[np.ndarray, int]]:
    from speed import DATA

    from tests.references.tables import oil

    return {
        "20,000 x 20, ten centres, K 10": (centres(20_000, 20, 10), 10),
        "100,000 x 50, fifty centres, K 50": (centres(100_000, 50, 50), 50),
        "digits, 1,797 x 64, K 10": (load_digits().data, 10),
        "oil flow, 1,000 x 12, K 10": (oil(DATA / "oil_flow")[0], 10),
    }


def starts() -> str:
    from lowdim import KMeans

    rows = []
    for name, (X, K) in tables().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, peer = (
                np.array([make(K, n_init=1, random_state=seed).fit(X).inertia_ for seed in range(SEEDS)])
                for make in (KMeans, Peer)
            )
        ratios = [float(f(ours) / f(peer)) for f in (np.median, np.mean, np.max)]
        near = 1.001 * min(ours.min(), peer.min())
        rows.append((name, *(f"{ratio:.4f}" for ratio in ratios), int((ours < near).sum()), int((peer < near).sum())))
    head = ("table", "median", "mean", "worst", "at the best", "scikit-learn's at the best")
    return WORDS.format(seeds=SEEDS) + "\n\n" + table(head, rows)
