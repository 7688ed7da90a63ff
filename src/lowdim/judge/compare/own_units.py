"""A model whose columns have likelihoods of their own, met with a table in units of its columns' spread."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.sources.arrays import ArraySource


class InOwnUnits:
    """The verbs that a comparison asks for: rows come centred and scaled, the model gets them as the table has them.

    What it says of a cell is the mean, which may lie between two levels: errors are squared, and so are those of the
    others.
    """

    def __init__(self, model: Any, mean: Array, unit: Array, names: tuple[str, ...]) -> None:
        self.model, self.mean, self.unit, self.names = model, mean, unit, names

    def _inward(self, X: Array) -> ArraySource:
        values = X * self.unit + self.mean
        whole = np.round(values)
        near = np.abs(values - whole) <= 1e-9 * np.maximum(np.abs(whole), 1.0)  # levels and counts as they were
        return ArraySource(np.where(near, whole, values), columns=self.names)

    def fit(self, X: Array) -> Self:
        self.model.fit(self._inward(X))
        return self

    @property
    def converged_(self) -> bool:
        return bool(self.model.converged_)

    def reconstruct(self, X: Array) -> Array:
        return np.asarray((self.model.expected_cells(self._inward(X)).mean - self.mean) / self.unit)

    def impute(self, X: Array) -> Array:
        return np.where(np.isnan(X), self.reconstruct(X), X)

    def transform(self, X: Array) -> Array:
        return np.asarray(self.model.transform(self._inward(X)))

    def score_samples(self, X: Array) -> Array:
        stretch: Array = (~np.isnan(X)) @ np.log(self.unit)
        return np.asarray(self.model.score_samples(self._inward(X)) + stretch)
