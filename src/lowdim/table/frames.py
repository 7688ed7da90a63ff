"""Results handed back as what the table came as: frames in, frames out."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from lowdim.math.linalg import Array
from lowdim.table.detect import Guess


class Origin(Protocol):
    """What rows came as: a pandas index or None, and the kind of table."""

    @property
    def index(self) -> Any: ...

    @property
    def guess(self) -> Guess: ...


def like(values: Array, columns: tuple[str, ...], table: Origin) -> Any:
    """Values with a row for each of the table's: a pandas frame with its index, a polars frame, or the array itself.

    >>> from lowdim.table.table import read
    >>> like(np.ones((3, 1)), ("axis1",), read([[1, 2], [2, 4], [3, 5]])).shape
    (3, 1)
    """
    if table.index is not None:
        import pandas as pd

        return pd.DataFrame(values, index=table.index, columns=list(columns))
    if table.guess.kind == "polars frame":
        import polars as pl

        return pl.DataFrame(np.asarray(values), schema=list(columns), orient="row")
    return values
