"""Kernels of two sets of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lowdim.math.linalg import Array, squared_distances
from lowdim.math.neighbors import exact_distances

WIDTH_ROWS = 1000  # rows whose distances set the width by the median heuristic


class KernelFunction(NamedTuple):
    """k(x, y): "linear" x'y, "rbf" exp(-gamma |x-y|^2), "poly" (gamma x'y + coef0)^degree, "sigmoid" tanh."""

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    call: Callable[[Array, Array], Any] | None = None

    def __call__(self, X: Array, Y: Array) -> Array:
        if self.call is not None:
            return np.asarray(self.call(X, Y), dtype=np.float64)
        if self.name == "rbf":
            return gaussian(squared_distances(X, Y), self.gamma)
        K = X @ Y.T
        if self.name == "linear":
            return K
        K *= self.gamma
        K += self.coef0
        return K**self.degree if self.name == "poly" else np.tanh(K, out=K)


def gaussian(D: Array, gamma: float) -> Array:
    """exp(-gamma D) in place, for widths of any size."""
    with np.errstate(over="ignore", under="ignore"):
        D *= -gamma
        return np.asarray(np.exp(D, out=D))


def median_width(X: Array) -> float:
    """gamma = 1 / (2 m^2), m the median distance of unequal rows among up to 1000 strided ones; 1 if all are equal."""
    sample = X[:: max(1, len(X) // WIDTH_ROWS)][:WIDTH_ROWS]
    D = exact_distances(sample)[np.triu_indices(len(sample), 1)]
    D = D[D > 0]
    return 1.0 / (2.0 * float(np.median(D)) ** 2) if len(D) else 1.0
