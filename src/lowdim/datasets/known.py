"""What a table of the texts is when it is loaded: numbers, names, and what else is known of its rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.maths.linalg import Array


class KnownTable(NamedTuple):
    """A table that a text works with, as its examples want it."""

    name: str
    about: str
    columns: tuple[str, ...]
    X: Array  # gaps are NaN
    extra: dict[str, np.ndarray[Any, Any]]  # labels, times, places: what is known and no column
