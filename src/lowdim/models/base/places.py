"""Places on a map that somebody gives: checked as a table is, and decoded within what doubles can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.sources.arrays import as_matrix, complete_matrix
from lowdim.text.messages import error


def given_places(Z: Any, q: int, model: object, *, gaps: bool = False) -> Array:
    """Places of q coordinates, n x q, of anything that is a table; one place may be given as a row of q numbers.

    >>> given_places([0.5, 2.0], 2, None)
    array([[0.5, 2. ]])
    """
    flat = isinstance(Z, list | tuple) and bool(Z) and not any(map(np.iterable, Z))
    if flat or (isinstance(Z, np.ndarray) and Z.shape == (q,)):
        Z = np.asarray(Z)[None]
    if not q and isinstance(Z, np.ndarray) and Z.ndim == 2 and not Z.shape[1]:
        return np.zeros(Z.shape)  # a model without axes
    found = as_matrix(Z) if gaps else complete_matrix(Z, "a place on the map", "it has every coordinate")
    if found.shape[1] != q:
        raise error("LD220", got=found.shape[1], want=q, model=type(model).__name__, missing="")
    return found


def decoded_within_range(decode: Callable[[Array], Any], Z: Array) -> Any:
    """The array or arrays that places decode to; refused where one of them leaves double precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        cells = decode(Z)
        parts = cells if isinstance(cells, tuple) else (cells,)
        if any(np.isinf(part).any() or (np.isnan(part).any() and not np.isnan(Z).any()) for part in parts):
            raise error("LD224", size=f"{float(np.abs(Z).max(initial=0.0)):.1e}")
    return cells
