"""Labels as one number each: what a judge of dimensions counts, and what a straight model sees of a category.

The zeros and ones of one label tell each other, so that counted one by one they seem to share dimensions. Here a label
is scored by the mean position of its rows along the first axis of all columns, the scores and the axis found in turn:
the first axis of multiple correspondence analysis, beside numbers that of nonlinear principal components.

Reference: Gifi, Nonlinear Multivariate Analysis, Wiley (1990).
"""

from __future__ import annotations

import numpy as np

from lowdim.judge.read_table import source_of
from lowdim.maths.linalg import Array, centre_and_spread
from lowdim.sources.arrays import ArraySource
from lowdim.table.column import in_ones, ones_of
from lowdim.table.table import Table

TURNS = 30  # of scores and axis; the axis of a few columns stands still long before
STILL = 1e-6


def quantified(table: Table) -> ArraySource:
    """The table's columns, codes of a category with three labels or more replaced by their scores.

    >>> from lowdim.table.read import read
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1.2, 2, 3, 4, 5, 7], "b": [1.5, 2, 3, 4.5, 5, 6.5], "c": list("xxyyzz")})
    >>> quantified(read(frame, encode=["c"])).columns
    ('a', 'b', 'c')
    """
    several = [j for j, labels in enumerate(table.code_labels) if len(labels) > 2]
    if not several:
        return source_of(table)
    X, axis = table.X.copy(), _first_axis(in_ones(table.X, ones_of(table.code_labels)))
    for _ in range(TURNS):
        for j in several:
            X[:, j] = _scores(table.X[:, j], axis)
        before, axis = axis, _first_axis(X)
        if 1.0 - abs(float(before @ axis)) < STILL:
            break
    return ArraySource(X, columns=table.names)


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
