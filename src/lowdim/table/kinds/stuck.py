"""Stretches of rows in which a column that changes from row to row holds one value: a stuck sensor, or a filled gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.maths.linalg import Array

LEAST_STUCK = 10  # rows one after the other that hold one value
MOST_ORDINARY = 4  # rows that elsewhere hold one value at the most: more is how a slow or a rounded column goes
LEAST_VALUES = 20  # different values of a column that changes
MOST_SAME = 0.2  # share of the other rows that may repeat the row before
MOST_STUCK_SHARE = 0.2  # of the rows: beyond, holding a value is what the column does


class Stretch(NamedTuple):
    """Rows start, ..., stop - 1 of a column."""

    column: int
    start: int
    stop: int


def stuck_stretches(X: Array) -> list[Stretch]:
    """The stretches of every column, in its order.

    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> X[20:40, 1] = X[20, 1]
    >>> stuck_stretches(X)
    [Stretch(column=1, start=20, stop=40)]
    """
    if len(X) < 2 * LEAST_STUCK:
        return []
    same = X[1:] == X[:-1]
    many = same.sum(axis=0)
    candidates = np.flatnonzero((many >= LEAST_STUCK - 1) & (many <= (MOST_SAME + MOST_STUCK_SHARE) * len(X)))
    return [stretch for j in candidates.tolist() for stretch in _of_column(j, X[:, j], same[:, j])]


def _of_column(j: int, x: Array, same: Array) -> list[Stretch]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]])))
    starts, stops = edges[::2], edges[1::2] + 1
    length = stops - starts
    long = length >= LEAST_STUCK
    stuck = int(length[long].sum())
    outside = len(x) - stuck
    if (
        not long.any()
        or stuck > MOST_STUCK_SHARE * len(x)
        or length[~long].max(initial=1) > MOST_ORDINARY
        or (length[~long] - 1).sum() > MOST_SAME * outside
        or len(np.unique(x[~np.isnan(x)])) < LEAST_VALUES
    ):
        return []
    return [Stretch(j, int(a), int(b)) for a, b in zip(starts[long], stops[long], strict=True)]
