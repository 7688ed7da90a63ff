"""The floor of every comparison: directions drawn at random, which know nothing of the table but its means."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.maths.seeds import RANDOM_PROJECTION


class RandomProjection:
    """Positions along q orthonormal directions drawn at random, gaps at their column's mean."""

    def __init__(self, n_components: int = 2, *, random_state: int = 0) -> None:
        self.n_components, self.random_state = n_components, random_state

    def fit(self, X: Array) -> Self:
        self.mean_ = np.nanmean(X, axis=0)
        normal = np.random.default_rng([self.random_state, RANDOM_PROJECTION]).standard_normal(
            (X.shape[1], self.n_components)
        )
        self.components_ = np.linalg.qr(normal)[0].T
        return self

    def transform(self, X: Array) -> Array:
        off = X - self.mean_
        places: Array = np.where(np.isnan(off), 0.0, off) @ self.components_.T
        return places

    def reconstruct(self, X: Array) -> Array:
        cells: Array = self.transform(X) @ self.components_ + self.mean_
        return cells

    def impute(self, X: Array, **options: Any) -> Array:
        return np.where(np.isnan(X), self.reconstruct(X), X)
