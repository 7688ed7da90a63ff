"""What the lessons in a plane share: two columns of a table without gaps, or a table of ours where none is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.text.messages import error

if TYPE_CHECKING:
    from lowdim.table.table import Table

LEAST_ROWS = 3


class TwoColumns(NamedTuple):
    """Rows in two columns, and what these are called."""

    X: Array
    names: tuple[str, str]


def line_with_noise(n: int = 40, *, random_state: int = 3) -> TwoColumns:
    """Rows along a line in the plane, with noise: what a lesson draws where no table is given."""
    rng = np.random.default_rng(random_state)
    X = rng.standard_normal((n, 1)) @ [[2.0, 1.0]] + 1.1 * rng.standard_normal((n, 2)) + [3.0, 2.0]
    return TwoColumns(X, ("x1", "x2"))


def plane_of(table: Table | None, columns: tuple[int, int], name: str) -> TwoColumns:
    """Two columns of a table, the rows that have both; the line of ours where no table is given."""
    if table is None:
        return line_with_noise()
    if len(set(columns)) != 2 or not all(0 <= j < table.d for j in columns):
        raise error(
            "LD210", option="columns", value=columns, allowed=f"two different positions from 0 to {table.d - 1}"
        )
    X = table.X[:, list(columns)]
    X = X[np.isfinite(X).all(axis=1)]
    if len(X) < LEAST_ROWS or not (np.ptp(X, axis=0) > 0).all():
        why = f"fewer than {LEAST_ROWS} rows have both columns, or one of them never changes there"
        raise error("LD216", name=name, why=why)
    names = table.scale_names
    return TwoColumns(X, (names[columns[0]], names[columns[1]]))
