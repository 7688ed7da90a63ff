"""Labels by the rows that agree with their row in every cell it shows: no model knows better than many of these.

What a model says of a label counts as much as `WORTH` rows, and each row that has the label and agrees counts as one:
the mean of a Dirichlet posterior whose prior is the model. A table of few columns and many rows (class, age, sex,
survived) is so filled by its own frequencies, whatever goes together in it; in a wide one hardly a row agrees with
another, and the model stays alone. Columns of real numbers agree with none, so a row that shows one has no rows alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask, evenly_spread

WORTH = 20.0  # rows that a model's opinion counts as
COMPARED_ROWS = 5_000  # that a row is compared with: more teach little
MOST_VALUES = 100  # of a column in which rows can agree
AT_ONCE = 1_000  # rows compared in one product

Indicators = NDArray[np.float32]  # rows x values: one where a row has the value; sums of them are exact


class RowsAlike(NamedTuple):
    """The rows of a table as indicators of their values."""

    values: tuple[Array, ...]  # of each column, rising; empty where rows cannot agree
    ones: tuple[Indicators, ...]  # of each column
    sizes: Sequence[int]  # labels of each column; 0 where it has none

    @property
    def discrete(self) -> Mask:
        """The columns in which rows can agree."""
        return np.array([len(own) > 0 for own in self.values], dtype=bool)

    def counts(self, rows: Array, columns: Sequence[int]) -> dict[int, Array]:
        """How many rows agree in all cells seen and have each label, rows x labels, where the label is a gap."""
        seen = ~np.isnan(rows)
        able = np.flatnonzero(~seen[:, ~self.discrete].any(axis=1))
        found = {j: np.zeros((len(rows), self.sizes[j])) for j in columns}
        for some in np.split(able, range(AT_ONCE, len(able), AT_ONCE)):
            agreeing = self._agreeing(rows[some], seen[some])
            for j in columns:
                gap = np.isnan(rows[some, j])
                found[j][np.ix_(some[gap], self.values[j].astype(np.intp))] = agreeing[gap] @ self.ones[j]
        return found

    def _agreeing(self, rows: Array, seen: Mask) -> Indicators:
        """One where a row of the table agrees with a row in all that this one shows."""
        same = np.concatenate([_indicators(x, own) for x, own in zip(rows.T, self.values, strict=True)], axis=1)
        agreed = same @ np.concatenate(self.ones, axis=1).T
        return np.asarray(agreed == seen.sum(axis=1, keepdims=True), dtype=np.float32)


def rows_alike(V: Array, kinds: Sequence[str], sizes: Sequence[int]) -> RowsAlike:
    """The rows of a table of these kinds, spread over all of it where it is long."""
    V = V[evenly_spread(len(V), COMPARED_ROWS)]
    values = tuple(_own_values(x, kind) for x, kind in zip(V.T, kinds, strict=True))
    return RowsAlike(values, tuple(_indicators(x, own) for x, own in zip(V.T, values, strict=True)), sizes)


def with_rows_alike(shares: Mapping[int, Array], counts: Mapping[int, Array]) -> dict[int, Array]:
    """A model's probabilities of labels, by column, together with the rows that agree.

    Examples
    --------
    >>> told = with_rows_alike({0: np.array([[0.5, 0.5]])}, {0: np.array([[20.0, 0.0]])})
    >>> told[0].tolist()
    [[0.75, 0.25]]
    """
    return {j: (counts[j] + WORTH * p) / (counts[j].sum(axis=1, keepdims=True) + WORTH) for j, p in shares.items()}


def _own_values(x: Array, kind: str) -> Array:
    found = np.unique(x[~np.isnan(x)])
    return found if kind not in ("real", "positive") and len(found) <= MOST_VALUES else np.zeros(0)


def _indicators(x: Array, values: Array) -> Indicators:
    return np.asarray(x[:, None] == values, dtype=np.float32)
