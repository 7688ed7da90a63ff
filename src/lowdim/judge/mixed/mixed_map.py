"""The map of a table whose columns are mostly answers: a mixed model, and which of the table's numbers its columns are.

A table that was read is numbers: answers and levels as they are coded, labels of several as zeros and ones for each.
The mixed model takes every column once. Here numbers become its columns, and what it says of them numbers again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lowdim.judge.mixed.given_others import GivenOthers, UsualRows, cells_at, given_others, usual_posterior, usual_rows
from lowdim.judge.mixed_table import MixedTable, codes_of_ones, mixed_table
from lowdim.maths.linalg import Array, Mask, evenly_spread
from lowdim.models.base.results import Posterior
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.sources.labelled_frames import CodedColumn, CodedSource
from lowdim.table.kinds.scales import ColumnScales
from lowdim.table.roles import mostly_answers
from lowdim.table.table import Table
from lowdim.text.escape import protect_terminal

MOST_MAP_SITES = 600  # levels and columns together, beyond which a fit takes too long
MAP_CELLS = 500_000  # rows times sites that a fit sees; further rows are placed on its map
LEAST_FITTED = 1000
MAP_TOL, MAP_PASSES = 1e-3, 100  # nats a row: far below what a map can show


def is_mixed(table: Table) -> bool:
    """Whether so many of the columns that make the axes hold answers (yes/no, levels, labels) that each column gets its
    own likelihood. Counts are no answers: a negative binomial fills them no better than a Gaussian does.

    >>> from lowdim.table.read import read
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 1)) + rng.standard_normal((60, 6))
    >>> import pandas as pd
    >>> names = [f"item{k}" for k in range(6)]
    >>> is_mixed(read(pd.DataFrame(X, columns=names))), is_mixed(read(pd.DataFrame((X > 0) + 0, columns=names)))
    (False, True)
    """
    numbers = [c for c in table.columns if c.role == "number"]
    if table.holds != "measurements" or not mostly_answers(numbers, table.n):
        return False
    return _sites(measured(table).columns) <= MOST_MAP_SITES


def measured(table: Table) -> MixedTable:
    """The columns that make the axes, each once, with its likelihood."""
    found = mixed_table(table, spared=tuple(table.labels))
    return MixedTable(tuple(c for c in found.columns if c.numbers))


def _sites(columns: Any) -> int:
    return sum(max(len(c.coded.labels), len(np.unique(c.coded.values)) if c.kind == "ordinal" else 1) for c in columns)


@dataclass(frozen=True, eq=False)
class MixedMap:
    """A mixed model of a table, and the table's numbers that each of its columns is."""

    model: MixedFactorAnalysis
    names: tuple[str, ...]  # of the table's numbers
    numbers: tuple[tuple[int, ...], ...]  # of each column of the model: where they stand
    scales: ColumnScales | None = None  # of the numbers, where some are logarithms

    @property
    def column_scales(self) -> ColumnScales | None:
        """The same of the columns of the model."""
        return None if self.scales is None else self.scales.of([own[0] for own in self.numbers])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the model, as the file names them."""
        return tuple(str(name) for name in self.model.feature_names_in_)

    @property
    def of_number(self) -> dict[int, int]:
        """The column of the model that each of the table's numbers belongs to."""
        return {j: k for k, own in enumerate(self.numbers) for j in own}

    def codes(self, X: Array) -> Array:
        """Rows of the table's numbers as those of the model's columns."""
        own = (X[:, js[0]] if len(js) == 1 else codes_of_ones(X[:, list(js)])[0] for js in self.numbers)
        return np.column_stack([np.zeros((len(X), 0)), *own])

    def source(self, X: Array) -> CodedSource:
        """The same as the model takes them, with their labels."""
        labels = self.model.labels_
        coded = [CodedColumn(codes, own) for codes, own in zip(self.codes(X).T, labels, strict=True)]
        return CodedSource(coded, self.columns)

    def posterior(self, X: Array) -> Posterior:
        """Where each row lies, and how surely."""
        return self.model.posterior(self.source(X))

    def transform(self, X: Array) -> Array:
        """Where each row lies."""
        return self.posterior(X).mean

    def inverse_transform(self, Z: Array) -> Array:
        """The mean of every number at some places; of zeros and ones the probability of a one."""
        cells, shares = cells_at(self.model, np.asarray(Z, dtype=np.float64))
        return self.as_numbers(cells.mean, shares)

    def given_others(self, X: Array) -> GivenOthers:
        """Every cell beside what the others of its row say."""
        return given_others(self.model, self.source(X), self._usual)

    @cached_property
    def _usual(self) -> UsualRows:
        return usual_rows(self.model)

    def usual_rows(self, seen: Mask) -> Posterior:
        """How surely rows that show these columns of the model are usually placed."""
        return usual_posterior(self.model, self._usual, seen)

    def rebuilt(self, X: Array) -> Array:
        """The mean of every number given all cells of its row; of zeros and ones the probability of a one."""
        source, several = self.source(X), self._several
        shares = self.model.probabilities(source, columns=several) if several else {}
        return self.as_numbers(self.model.expected_cells(source).mean, shares)

    @property
    def _several(self) -> tuple[str, ...]:
        """The columns of several labels."""
        return tuple(name for name, own in zip(self.columns, self.numbers, strict=True) if len(own) > 1)

    def as_numbers(self, mean: Array, shares: dict[str, Array]) -> Array:
        """Means of the model's columns and probabilities of several labels as numbers of the table."""
        out = np.empty((len(mean), len(self.names)))
        for k, (name, own) in enumerate(zip(self.columns, self.numbers, strict=True)):
            if len(own) == 1:
                out[:, own[0]] = mean[:, k]
                continue
            order = {label: t for t, label in enumerate(self.model.levels_[k])}
            for label, j in zip(self.model.labels_[k], own, strict=True):
                out[:, j] = shares[name][:, order[label]] if label in order else 0.0
        return out


def mixed_map(model: MixedFactorAnalysis, names: tuple[str, ...], scales: ColumnScales | None = None) -> MixedMap:
    """A mixed model and the numbers of its table."""
    return MixedMap(model, names, numbers_of_columns(model, names), logs_of(scales))


def logs_of(scales: ColumnScales | None) -> ColumnScales | None:
    """The scales where some column is a logarithm; levels end by themselves."""
    return scales if scales is not None and scales.log.any() else None


def numbers_of_columns(model: MixedFactorAnalysis, names: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """The table's numbers that each column is: those called by its name, or by it and a label of it."""
    place, numbers = {name: j for j, name in enumerate(names)}, list[tuple[int, ...]]()
    for name, labels in zip(model.feature_names_in_.tolist(), model.labels_, strict=True):
        parts = [protect_terminal(f"{name}={label}") for label in labels] if labels else [name]
        numbers.append(tuple(place[part] for part in parts if part in place))
    return tuple(numbers)


def rows_fitted(table: Table) -> int:
    """How many rows of a table its mixed map is fitted to; all but those of a long one."""
    return min(table.n, max(int(MAP_CELLS / max(_sites(measured(table).columns), 1)), LEAST_FITTED))


def fit_mixed_map(table: Table, q: int, seed: int, rotation: str | None = None) -> MixedFactorAnalysis:
    """The mixed model of the columns that make a table's axes, with q dimensions, which a `rotation` may turn.

    Of a long table it is fitted to rows that are spread over all of it.
    """
    mixed = measured(table)
    at = evenly_spread(table.n, rows_fitted(table))
    coded = [c.coded._replace(values=c.coded.values[at]) for c in mixed.columns]
    weight = None if table.weight is None else table.weight[at]
    options: dict[str, Any] = {"tol": MAP_TOL, "max_iter": MAP_PASSES, "random_state": seed, "rotation": rotation}
    model = MixedFactorAnalysis(q, likelihoods=mixed.kinds, **options)
    return model.fit(CodedSource(coded, mixed.names), sample_weight=weight)
