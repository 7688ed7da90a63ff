"""Kernels of two sets of rows, and their centring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lowdim.math.linalg import Array
from lowdim.math.neighbors import exact_distances, squared_distances

PAIRS = 1000  # rows whose distances set the width by the median heuristic


class Kernel(NamedTuple):
    """k(x, y): "linear" x'y, "gaussian" exp(-gamma |x-y|^2), "poly" (gamma x'y + c)^degree, "sigmoid" tanh."""

    name: str
    gamma: float = 1.0
    degree: int = 3
    constant: float = 1.0
    call: Callable[[Array, Array], Any] | None = None

    def __call__(self, X: Array, Y: Array) -> Array:
        if self.call is not None:
            return np.asarray(self.call(X, Y), dtype=np.float64)
        if self.name == "gaussian":
            K = squared_distances(X, Y)
            K *= -self.gamma
            return np.exp(K, out=K)
        K = X @ Y.T
        if self.name == "linear":
            return K
        K *= self.gamma
        K += self.constant
        return K**self.degree if self.name == "poly" else np.tanh(K, out=K)

    def diagonal(self, X: Array) -> Array:
        """k(x, x) of every row."""
        if self.call is not None:
            return np.array([float(np.asarray(self(row[None], row[None])).ravel()[0]) for row in X])
        if self.name == "gaussian":
            return np.ones(len(X))
        square = (X**2).sum(axis=1)
        if self.name == "linear":
            return square
        inner = self.gamma * square + self.constant
        return inner**self.degree if self.name == "poly" else np.tanh(inner)


def median_width(X: Array) -> float:
    """gamma = 1 / (2 m^2), m the median distance of unequal rows among up to 1000 strided ones; 1 if all are equal."""
    some = X[:: max(1, len(X) // PAIRS)][:PAIRS]
    D = exact_distances(some)[np.triu_indices(len(some), 1)]
    D = D[D > 0]
    return 1.0 / (2.0 * float(np.median(D)) ** 2) if len(D) else 1.0


class Centre(NamedTuple):
    """What centring a kernel needs of its training matrix."""

    columns: Array  # mean of each column of K
    whole: float  # mean of all


def centre_of(K: Array) -> Centre:
    means = K.mean(axis=0)
    return Centre(means, float(means.mean()))


def centred(K: Array, c: Centre) -> Array:
    """k(x, y) - mean k(., y) - mean k(x, .) + mean, in feature space x - mean times y - mean; a new array."""
    return K - c.columns - K.mean(axis=1)[:, None] + c.whole
