"""The model of a table's map: which one the columns want, to which rows, and how it is fitted."""

from __future__ import annotations

import numpy as np

from lowdim.judge.mixed.mixed_cells import with_axes_of_columns
from lowdim.judge.mixed_table import likelihood, rows_fitted, sites
from lowdim.judge.outliers.partition import ALL_BULK, Partition, fit_bulk, partition_of
from lowdim.judge.read_table import quantified, source_of
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.sources.labelled_frames import CodedColumn, CodedSource
from lowdim.table.table import Table
from lowdim.text.messages import no_warnings

MOST_MAP_SITES = 600  # levels and columns together, beyond which a fit takes too long
LEAST_MIXED_ROWS = 100  # of fewer the distances of levels are not known
MAP_TOL, MAP_PASSES = 1e-3, 100  # nats a row: far below what a map can show


def is_mixed(table: Table, q: int = 2, unit: bool = True) -> bool:
    """Whether each column gets its own likelihood: where any column holds answers, levels or labels. Counts alone do
    not ask for it: a negative binomial fills them no better than a Gaussian does.

    Levels of a few rows say nothing of their distances. A map without an axis (`q`), or one whose columns keep their
    own units (`unit`), is Gaussian where it can be.

    >>> from lowdim.table.read import read
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((120, 1)) + rng.standard_normal((120, 6))
    >>> import pandas as pd
    >>> names = [f"item{k}" for k in range(6)]
    >>> is_mixed(read(pd.DataFrame(X, columns=names))), is_mixed(read(pd.DataFrame((X > 0) + 0, columns=names)))
    (False, True)
    """
    if table.holds != "measurements":
        return False
    if any(len(own) > 2 for own in table.code_labels):  # their codes are no numbers
        return True
    enough = table.n >= LEAST_MIXED_ROWS and table.d > 2
    return q > 0 and unit and enough and any(c.is_answer for c in table.numbers) and sites(table) <= MOST_MAP_SITES


def fit_mixed_map(
    table: Table, q: int, seed: int, rotation: str | None = None, partition: Partition = ALL_BULK
) -> MixedFactorAnalysis:
    """The mixed model of the columns that make a table's axes, with q dimensions, which a `rotation` may turn; of the
    bulk of the rows without its wrong cells.

    Of a long table it is fitted to rows that are spread over all of it.
    """
    at = rows_fitted(table)
    X, weight = np.where(partition.cell_mask(*table.X.shape), np.nan, table.X), partition.counted(table.weight)
    coded = [CodedColumn(X[at, j], c.code_words, bool(c.grades)) for j, c in enumerate(table.numbers)]
    model = MixedFactorAnalysis(
        q,
        likelihoods=tuple(likelihood(c) for c in table.numbers),
        tol=MAP_TOL,
        max_iter=MAP_PASSES,
        random_state=seed,
        rotation=rotation,
    )
    with no_warnings():  # of a column that the axes explain nearly all of: the map says so by its loading
        model.fit(CodedSource(coded, table.names), sample_weight=None if weight is None else weight[at])
    return model if rotation else with_axes_of_columns(model)


def map_partition(table: Table, q: int, unit: bool, seed: int) -> Partition:
    """The bulk of the rows, and what contradicts it, where a map of q axes of the bulk predicts better: found among
    numbers, categories by their scores, whichever model is then fitted."""
    if q == 0 or table.holds != "measurements":
        return ALL_BULK
    return partition_of(quantified(table), q, standardize=unit, sample_weight=table.weight, random_state=seed)


def fit_map(
    table: Table, q: int, unit: bool, partition: Partition, seed: int, rotation: str | None
) -> ProbabilisticPCA | MixedFactorAnalysis:
    """The model of a map of q axes of the bulk."""
    if is_mixed(table, q, unit):
        return fit_mixed_map(table, q, seed, rotation, partition)
    return fit_bulk(source_of(table), q, partition, standardize=unit, sample_weight=table.weight, rotation=rotation)
