"""Tables and slow oracles for the tests of neighbourhood graphs."""

import itertools

import numpy as np
from scipy.spatial.distance import cdist

rng = np.random.default_rng


def roll(n, seed=0):
    r = rng(seed)
    t, h = 1.5 * np.pi * (1 + 2 * r.random(n)), 21 * r.random(n)
    along = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2  # the length of the spiral
    return np.c_[t * np.cos(t), h, t * np.sin(t)], np.c_[along, h]


def blobs(count, rows=20, seed=0):
    r = rng(seed)
    return np.concatenate(
        [0.3 * r.standard_normal((rows + 3 * i, 3)) + 10 * r.standard_normal(3) for i in range(count)]
    )


def explained(Z, truth):
    A = np.c_[np.ones(len(Z)), Z]
    left = truth - A @ np.linalg.lstsq(A, truth, rcond=None)[0]
    return 1 - (left**2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)


def apart(A, B):
    """The largest difference of two maps, signs of axes aside, in units of the larger."""
    size = np.abs(B).max() or 1.0
    A, B = A / size, B / size
    return np.abs(A * np.where((A * B).sum(axis=0) < 0, -1.0, 1.0) - B).max()


def adjacency(X, k):
    D = cdist(X, X)
    order = np.argsort(D, axis=1)[:, 1 : k + 1]
    A = np.zeros(D.shape)
    np.put_along_axis(A, order, 1.0, axis=1)
    return A, D


def lengths(X, k):
    A, D = adjacency(X, k)
    G = np.where((A + A.T) > 0, D, np.inf)
    np.fill_diagonal(G, 0.0)
    for j in range(len(X)):
        G = np.minimum(G, G[:, j, None] + G[j])
    return G


def bent(n=40):
    """A noisy half circle in three dimensions, in one piece."""
    rng = np.random.default_rng(1)
    t = (np.arange(n) + 0.3 * rng.random(n)) * 4 / n
    return np.column_stack([np.cos(t), np.sin(t), 0.3 * t]) + 0.002 * rng.standard_normal((n, 3))


TABLES = {
    "plain": rng(0).standard_normal((40, 3)),
    "copies": np.repeat(rng(1).standard_normal((15, 3)), 3, axis=0),
    "grid": np.array(list(itertools.product(range(6), range(5))), dtype=float),  # ties everywhere
    "line": np.c_[np.arange(30.0), np.zeros((30, 2))],
    "huge": rng(2).standard_normal((30, 3)) * 1e200,
    "tiny": rng(3).standard_normal((30, 3)) * 1e-200,
    "offset": rng(4).standard_normal((30, 3)) + 1e8,
    "simplex": np.eye(12),
    "wide": rng(5).standard_normal((30, 200)),
    "far": np.r_[rng(6).standard_normal((30, 3)), [[100.0, 0.0, 0.0]]],
    "few": rng(7).standard_normal((5, 3)),
    "pieces": blobs(3),
    "many-pieces": blobs(9, 8),
}
