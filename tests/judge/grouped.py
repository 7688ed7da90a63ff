"""Tables of one group of any shape, and of several: what groups are looked for in, here and in benchmarks/groups.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array

COLUMNS, NOISE = 8, 0.4  # of the tables whose rows lie on a plane
STRAIGHT = ("Gaussian", "t5", "t3", "skew", "lognormal", "uniform", "Likert", "zero-heavy", "AR(1)")
BENT = ("horseshoe", "circle", "roll", "S-curve")
SEVERAL = ("2 at 4 sd", "3 at 5 sd", "4 at 5 sd", "5 at 5 sd", "8 % at 6 sd", "unequal at 5 sd")


def grouped(law: str, n: int, seed: int) -> tuple[Array, NDArray[np.int64]]:
    """A table of n rows, and the group of each row."""
    rng = np.random.default_rng([seed, n, (*STRAIGHT, *BENT, *SEVERAL).index(law)])
    if law in BENT:
        return bent(law, n, rng), np.zeros(n, dtype=np.int64)
    z, group = several(law, n, rng) if law in SEVERAL else (straight(law, n, rng), np.zeros(n, dtype=np.int64))
    W = np.linalg.qr(rng.standard_normal((COLUMNS, 2)))[0].T * np.sqrt(COLUMNS / 2)  # a column's variance is about one
    X = z @ W + NOISE * noise_of(law, n, rng)
    if law == "Likert":
        X = np.clip(np.round(3.0 + X), 1.0, 5.0)
    if law == "zero-heavy":
        X = np.maximum(X - 0.5, 0.0)
    return X, group


def noise_of(law: str, n: int, rng: np.random.Generator) -> Array:
    """The noise of the cells: heavy where the rows are."""
    return rng.standard_t(int(law[1:]), (n, COLUMNS)) if law in ("t3", "t5") else rng.standard_normal((n, COLUMNS))


def straight(law: str, n: int, rng: np.random.Generator) -> Array:
    """Places on a plane, of one group."""
    if law in ("t3", "t5"):
        return rng.standard_t(int(law[1:]), (n, 2))
    if law == "skew":
        return rng.exponential(size=(n, 2))
    if law == "lognormal":
        return np.exp(0.75 * rng.standard_normal((n, 2)))
    if law == "uniform":
        return rng.uniform(-1.7, 1.7, (n, 2))
    z = rng.standard_normal((n, 2))
    if law == "AR(1)":
        for i in range(1, n):
            z[i] = 0.9 * z[i - 1] + np.sqrt(1.0 - 0.81) * z[i]
    return z


def bent(law: str, n: int, rng: np.random.Generator) -> Array:
    """Rows along a curve, or on a sheet, in space."""
    t, side = rng.random(n), rng.uniform(-1.0, 1.0, n)
    if law == "horseshoe":
        centers = np.linspace(-1.0, 11.0, 14)
        return 10.0 * np.exp(-0.5 * ((10.0 * t[:, None] - centers) / 2.0) ** 2) + rng.normal(0.0, 0.5, (n, 14))
    if law == "circle":
        Z = np.column_stack([np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)])
    elif law == "roll":
        angle = 1.5 * np.pi * (1.0 + 2.0 * t)
        Z = np.column_stack([angle * np.cos(angle), 10.0 * side, angle * np.sin(angle)]) / 8.0
    else:
        angle = 3.0 * np.pi * (t - 0.5)
        Z = np.column_stack([np.sin(angle), side, np.sign(angle) * (np.cos(angle) - 1.0)])
    return Z @ np.linalg.qr(rng.standard_normal((COLUMNS, Z.shape[1])))[0].T * 2.0 + 0.1 * rng.standard_normal(
        (n, COLUMNS)
    )


def several(law: str, n: int, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
    """Places of several groups, each so many spreads from its nearest neighbours."""
    apart = float(law.split()[-2])
    if law.startswith("8 %"):
        group = (np.arange(n) < round(0.08 * n)).astype(np.int64)
        centers = np.array([[0.0, 0.0], [apart, 0.0]])
    elif law.startswith("unequal"):
        group = rng.integers(0, 3, n)
        centers = np.array([[0.0, 0.0], [apart, 0.0], [0.0, apart]]) * 1.25
    else:
        K = int(law.split()[0])
        group = rng.integers(0, K, n)
        ring = 2.0 * np.pi * np.arange(K) / K
        centers = np.column_stack([np.cos(ring), np.sin(ring)]) * apart / 2.0 / np.sin(np.pi / K)
    z = rng.standard_normal((n, 2))
    if law.startswith("unequal"):  # round and narrow, long, wide
        turn = (
            np.array([[0.5, 0.0], [0.0, 0.5]]),
            np.array([[0.6, 0.0], [0.9, 1.2]]),
            np.array([[1.4, 0.0], [0.0, 1.0]]),
        )
        z = np.einsum("nij,nj->ni", np.array(turn)[group], z)
    return z + centers[group], group


def told(truth: NDArray[Any], label: NDArray[Any]) -> float:
    """The adjusted Rand index of two ways to group the same rows."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(truth, label))
