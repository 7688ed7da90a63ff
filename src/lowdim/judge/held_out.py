"""What a robust fit holds out of a table, as an analysis keeps it and a run folder stores it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask


class HeldOut(NamedTuple):
    """What is held out of a fit, by position: cells (k x 2: row, column), rows, and how much each row counts."""

    choice: str  # "plain", "student" or "screened"
    cells: NDArray[np.intp]
    rows: NDArray[np.intp]
    weights: Array  # empty where all rows count alike
    sentence: str  # "" where nothing is held out

    def cell_mask(self, n: int, d: int) -> Mask:
        """True at the cells that are held out, n x d."""
        mask = np.zeros((n, d), dtype=bool)
        mask[self.cells[:, 0], self.cells[:, 1]] = True
        return mask

    def row_mask(self, n: int) -> Mask:
        """True for the rows that are held out."""
        mask = np.zeros(n, dtype=bool)
        mask[self.rows] = True
        return mask


NOTHING_HELD = HeldOut("plain", np.zeros((0, 2), dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0), "")
