"""Columns that have likelihoods of their own, met with a table in units of their spread."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from lowdim.judge.mixed_table import likelihood
from lowdim.maths.linalg import Array
from lowdim.sources.arrays import ArraySource
from lowdim.table.cell_kinds import REAL
from lowdim.table.table import Table, column_units


class OwnUnits(NamedTuple):
    """What a table's numbers were before they were centred and scaled, and the likelihood of each column."""

    mean: Array
    unit: Array
    kinds: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, X: Array, scale: str) -> OwnUnits:
        """Of the rows that are fitted; every column of numbers by itself, as every method sees them."""
        kinds = tuple(likelihood(c) for c in table.numbers)
        return cls(np.nanmean(X, axis=0), column_units(X, scale), kinds, table.names)

    @property
    def has_levels(self) -> bool:
        return set(self.kinds) != {REAL.word}


class InOwnUnits:
    """The verbs that a comparison asks for: rows come centred and scaled, the model gets them as the table has them.

    What it says of a cell is the mean, which may lie between two levels: errors are squared, and so are those of the
    others.
    """

    def __init__(self, model: Any, own: OwnUnits) -> None:
        self.model, self.own = model, own

    def _inward(self, X: Array) -> ArraySource:
        values = X * self.own.unit + self.own.mean
        whole = np.round(values)
        near = np.abs(values - whole) <= 1e-9 * np.maximum(np.abs(whole), 1.0)  # levels and counts as they were
        return ArraySource(np.where(near, whole, values), columns=self.own.names)

    def fit(self, X: Array) -> Self:
        self.model.fit(self._inward(X))
        return self

    @property
    def converged_(self) -> bool:
        return bool(self.model.converged_)

    def reconstruct(self, X: Array) -> Array:
        return np.asarray((self.model.expected_cells(self._inward(X)).mean - self.own.mean) / self.own.unit)

    def impute(self, X: Array) -> Array:
        return np.where(np.isnan(X), self.reconstruct(X), X)

    def transform(self, X: Array) -> Array:
        return np.asarray(self.model.transform(self._inward(X)))

    def score_samples(self, X: Array) -> Array:
        stretch: Array = (~np.isnan(X)) @ np.log(self.own.unit)
        return np.asarray(self.model.score_samples(self._inward(X)) + stretch)
