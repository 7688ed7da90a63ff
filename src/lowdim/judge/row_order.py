"""An order of the rows, and one of the columns, that their cells set, so that the order in which a table came says
nothing.

Rows are dealt to folds, drawn and looked at in this order wherever a decision hangs on it: a table whose rows were
shuffled gives the same answer to the last digit. Units, signs and the order of the columns hardly set it either.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask, evenly_spread
from lowdim.maths.seeds import ROW_ORDER
from lowdim.models.base.calibration import mix_bits, row_hash

RANKED_CELLS = 2**20  # of a larger table some columns are ranked: sorting them all would take as long as a fit


def row_order(x: Array, mask: Mask | None, seed: int, weight: Array | None = None) -> NDArray[np.intp]:
    """The positions of the rows in an order that looks drawn, but follows from their seen cells (and weights) alone.

    First by a hash of how far each cell ranks from the middle of its column, whichever column that is. Rows that tie,
    as those of answers may, go by a hash of their numbers; rows that tie still are equal, and it is no matter which of
    them comes first.

    >>> x = np.random.default_rng(0).standard_normal((50, 3))
    >>> order = row_order(x, None, 0)
    >>> bool((x[order] == x[::-1][row_order(x[::-1], None, 0)]).all())
    True
    >>> other = np.array([-1.0, 9.0, 0.1]) * x[:, [2, 0, 1]]
    >>> bool((order == row_order(other, None, 0)).all())
    True
    """
    n, d = x.shape
    keys = np.random.default_rng([seed, ROW_ORDER]).integers(2**63, size=d + 2, dtype=np.uint64)
    far = np.zeros(n, dtype=np.uint64)
    for j in evenly_spread(d, max(RANKED_CELLS // max(n, 1), 1)):
        rows = np.arange(n) if mask is None else np.flatnonzero(mask[:, j])
        _, at, ties = np.unique(x[rows, j], return_inverse=True, return_counts=True)
        ranks = np.abs(2 * np.cumsum(ties) - ties - len(rows))[at]  # from the middle; equal cells share theirs
        far[rows] += mix_bits(ranks.astype(np.uint64) ^ keys[d])
    counts = np.ones(n) if weight is None else weight
    numbers = np.column_stack([x if mask is None else np.where(mask, x, np.nan), counts])
    return np.lexsort((row_hash(np.ascontiguousarray(numbers), keys[: d + 1]), mix_bits(far ^ keys[d + 1])))


def column_order(x: Array, seed: int) -> NDArray[np.intp]:
    """The positions of the columns in an order that looks drawn, but follows from their cells alone, with the rows in
    `row_order`: by a sum over the rows of how far each cell ranks from the middle, times numbers that are drawn. Units
    and signs do not set it; gaps hold one value.

    >>> x = np.random.default_rng(0).standard_normal((50, 4))
    >>> order, other = column_order(x, 0), np.array([-1.0, 9.0, 0.1, 2.0]) * x[:, [2, 0, 3, 1]]
    >>> bool((np.array([2, 0, 3, 1])[column_order(other, 0)] == order).all())
    True
    """
    n, d = x.shape
    drawn = np.random.default_rng([seed, ROW_ORDER, 1]).standard_normal(n)
    key = np.zeros(d)
    for j in range(d):
        _, at, ties = np.unique(x[:, j], return_inverse=True, return_counts=True)
        key[j] = drawn @ np.abs(2 * np.cumsum(ties) - ties - n)[at]
    return np.argsort(key, kind="stable")
