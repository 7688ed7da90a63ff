"""Tables of two signals with far rows or wrong cells, whose plane is known."""

from typing import NamedTuple

import numpy as np

CASES = (
    ("clean", 0.0), ("cluster", 0.05), ("cluster", 0.1), ("cluster", 0.2), ("scattered", 0.05), ("scattered", 0.1),
    ("scattered", 0.2), ("cells", 0.01), ("cells", 0.05), ("cells", 0.1),
)  # fmt: skip


class Contaminated(NamedTuple):
    X: np.ndarray
    W: np.ndarray  # d x 2, the true plane
    far: np.ndarray  # n, rows that were moved
    wrong: np.ndarray  # n x d, cells that were


def contaminated(kind: str, share: float, seed: int, n: int = 200, d: int = 10) -> Contaminated:
    """Far rows at 4 to 8 standard deviations of every column, in one cluster or each with signs of its own; wrong
    cells 5 to 10 standard deviations off."""
    rng = np.random.default_rng([seed, 77])
    W = np.linalg.qr(rng.standard_normal((d, 2)))[0] * np.sqrt(d) * [1.0, 0.8]
    X = rng.standard_normal((n, 2)) @ W.T + 0.5 * rng.standard_normal((n, d))
    s, far, wrong = X.std(axis=0), np.zeros(n, dtype=bool), np.zeros((n, d), dtype=bool)
    many = round(share * n)
    if kind == "cluster":
        far[rng.permutation(n)[:many]] = True
        X[far] = s * (rng.uniform(4, 8) * rng.choice([-1, 1], d) + 0.4 * rng.standard_normal((many, d)))
    if kind == "scattered":
        far[rng.permutation(n)[:many]] = True
        X[far] = s * (
            rng.uniform(4, 8, (many, 1)) * rng.choice([-1, 1], (many, d)) + 0.4 * rng.standard_normal((many, d))
        )
    if kind == "cells":
        wrong = rng.random((n, d)) < share
        X = np.where(wrong, X + s * rng.choice([-1, 1], (n, d)) * rng.uniform(5, 10, (n, d)), X)
    return Contaminated(X, W, far, wrong)


def hidden_group(seed: int, n: int = 40, many: int = 10) -> np.ndarray:
    """Rows close to a plane of five columns; the first ones a group off it, no farther than the others reach."""
    rng = np.random.default_rng([seed, 8])
    W = rng.standard_normal((2, 5))
    z, noise = rng.standard_normal((n, 2)), 0.05 * rng.standard_normal((n, 5))
    z[:many] = [1.5, -1.5] + 0.1 * rng.standard_normal((many, 2))
    X = z @ W + noise
    X[:many] += 1.5 * np.linalg.svd(W)[2][2]  # a direction off the plane
    return X


def angle(A: np.ndarray, B: np.ndarray) -> float:
    """The largest angle between two planes, in degrees."""
    inner = np.linalg.svd(np.linalg.qr(A)[0].T @ np.linalg.qr(B)[0])[1]
    return float(np.degrees(np.arccos(min(inner.min(), 1.0))))
