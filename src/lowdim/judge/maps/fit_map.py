"""The model of a table's map: which one the columns want, to which rows, and how it is fitted."""

from __future__ import annotations

import numpy as np

from lowdim.judge.mixed_table import likelihood
from lowdim.judge.outliers.partition import ALL_BULK, Partition, fit_bulk, partition_of
from lowdim.judge.read_table import source_of
from lowdim.maths.linalg import evenly_spread
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.sources.labelled_frames import CodedColumn, CodedSource
from lowdim.table.column import mostly_answers
from lowdim.table.table import Table

MOST_MAP_SITES = 600  # levels and columns together, beyond which a fit takes too long
MAP_CELLS = 500_000  # rows times sites that a fit sees; further rows are placed on its map
LEAST_FITTED = 1000
MAP_TOL, MAP_PASSES = 1e-3, 100  # nats a row: far below what a map can show


def is_mixed(table: Table, q: int = 2, unit: bool = True) -> bool:
    """Whether each column gets its own likelihood: where a category makes axes, or so many of the columns that do hold
    answers (yes/no, levels). Counts are no answers: a negative binomial fills them no better than a Gaussian does.

    A map without an axis (`q`), or one whose columns keep their own units (`unit`), is Gaussian where it can be.

    >>> from lowdim.table.read import read
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 1)) + rng.standard_normal((60, 6))
    >>> import pandas as pd
    >>> names = [f"item{k}" for k in range(6)]
    >>> is_mixed(read(pd.DataFrame(X, columns=names))), is_mixed(read(pd.DataFrame((X > 0) + 0, columns=names)))
    (False, True)
    """
    if table.holds != "measurements":
        return False
    labels = table.code_labels
    if any(len(own) > 2 for own in labels):  # their codes are no numbers
        return True
    answers = any(labels) or mostly_answers(table.numbers, table.n)
    return q > 0 and unit and answers and _sites(table) <= MOST_MAP_SITES


def _sites(table: Table) -> int:
    """Levels and columns together."""
    return sum(max(len(c.labels), len(np.unique(c.values)) if likelihood(c) == "ordinal" else 1) for c in table.numbers)


def rows_fitted(table: Table) -> int:
    """How many rows of a table its mixed map is fitted to; all but those of a long one."""
    return min(table.n, max(int(MAP_CELLS / max(_sites(table), 1)), LEAST_FITTED))


def fit_mixed_map(table: Table, q: int, seed: int, rotation: str | None = None) -> MixedFactorAnalysis:
    """The mixed model of the columns that make a table's axes, with q dimensions, which a `rotation` may turn.

    Of a long table it is fitted to rows that are spread over all of it.
    """
    at = evenly_spread(table.n, rows_fitted(table))
    coded = [CodedColumn(c.values[at], c.labels) for c in table.numbers]
    model = MixedFactorAnalysis(
        q,
        likelihoods=tuple(likelihood(c) for c in table.numbers),
        tol=MAP_TOL,
        max_iter=MAP_PASSES,
        random_state=seed,
        rotation=rotation,
    )
    weight = None if table.weight is None else table.weight[at]
    return model.fit(CodedSource(coded, table.names), sample_weight=weight)


def map_partition(table: Table, q: int, unit: bool, seed: int) -> Partition:
    """The bulk of the rows, and what contradicts it, where a Gaussian map of q axes of the bulk predicts better; one
    wrong answer bends a mixed map little, so that all rows are its bulk."""
    if q == 0 or is_mixed(table, q, unit):
        return ALL_BULK
    return partition_of(source_of(table), q, standardize=unit, sample_weight=table.weight, random_state=seed)


def fit_map(
    table: Table, q: int, unit: bool, partition: Partition, seed: int, rotation: str | None
) -> ProbabilisticPCA | MixedFactorAnalysis:
    """The model of a map of q axes; a Gaussian one of the bulk."""
    if is_mixed(table, q, unit):
        return fit_mixed_map(table, q, seed, rotation)
    return fit_bulk(source_of(table), q, partition, standardize=unit, sample_weight=table.weight, rotation=rotation)
