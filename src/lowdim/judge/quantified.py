"""Labels as one number each: what a judge of dimensions counts where a label stands as several zeros and ones.

The zeros and ones of one label tell each other, so that counted one by one they seem to share dimensions. Here a label
is scored by the mean position of its rows along the first axis of all columns, the scores and the axis found in turn:
the first axis of multiple correspondence analysis, beside numbers that of nonlinear principal components.

Reference: Gifi, Nonlinear Multivariate Analysis, Wiley (1990).
"""

from __future__ import annotations

import numpy as np

from lowdim.judge.mixed_table import mixed_table
from lowdim.judge.table_input import source_of
from lowdim.maths.linalg import Array, centre_and_spread
from lowdim.sources.arrays import ArraySource
from lowdim.table.table import Table

TURNS = 30  # of scores and axis; the axis of a few columns stands still long before
STILL = 1e-6


def quantified(table: Table) -> ArraySource:
    """The table's numbers, the zeros and ones of a label with three values or more replaced by its scores.

    >>> from lowdim.table.read import read
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1.2, 2, 3, 4, 5, 7], "b": [1.5, 2, 3, 4.5, 5, 6.5], "c": list("xxyyzz")})
    >>> quantified(read(frame, encode=["c"])).columns
    ('a', 'b', 'c')
    """
    source = source_of(table)
    if not any(c.encoded for c in table.columns):
        return source
    columns = [c for c in mixed_table(table).columns if c.numbers]
    if all(len(c.numbers) == 1 for c in columns):
        return source
    numbers = [c.coded.values if c.words and len(c.numbers) > 1 else table.X[:, c.numbers[0]] for c in columns]
    labels = [k for k, c in enumerate(columns) if len(c.numbers) > 1]
    X = np.column_stack(numbers)
    axis = _first_axis(table.X)
    for _ in range(TURNS):
        for k in labels:
            X[:, k] = _scores(columns[k].coded.values, axis)
        before, axis = axis, _first_axis(X)
        if 1.0 - abs(float(before @ axis)) < STILL:
            break
    return ArraySource(X, columns=tuple(c.name for c in columns))


def _first_axis(X: Array) -> Array:
    """The rows' positions along the first principal axis, gaps at the mean; of length 1."""
    mean, sd = centre_and_spread(X)
    U = np.linalg.svd(np.where(np.isnan(X), 0.0, (X - mean) / sd), full_matrices=False)[0]
    return np.asarray(U[:, 0])


def _scores(codes: Array, axis: Array) -> Array:
    """The mean position of the rows of each label, for its rows."""
    seen = ~np.isnan(codes)
    at = codes[seen].astype(np.intp)
    mean = np.bincount(at, axis[seen]) / np.maximum(np.bincount(at), 1)
    scored = np.full(len(codes), np.nan)
    scored[seen] = mean[at]
    return scored
