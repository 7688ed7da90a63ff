"""The one partition of a table's rows: the bulk, groups apart from it, single far rows, and wrong cells.

It is found once in an analysis (`judge/robust.py` screens the table and says whether a fit without these predicts
better), and all that follows goes by it, so that a far group is told once:

* the model and the law of ordinary rows are those of the bulk, without the wrong cells;
* dimensions are counted in the bulk, where there are groups beside it;
* a group is no odd row: it is told as a group, with those that the map shows (`judge/maps/groups.py`);
* single far rows and wrong cells are held out of the fit, and told beside the odd rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask
from lowdim.text.format import count

# Which share of the rows is what, for all that judges rows:
FEW_SHARE = 0.015  # single rows: a law of the others, set by its quantiles, does not mind them
GROUP_SHARE, GROUP_ROWS = 0.05, 5  # far rows that lie together are a group, no outliers; fewer are told one by one
COUNTED_SHARE = 0.15  # far rows, before a model tells which, are set aside while dimensions are counted: more of them
# may be what the dimensions are about
AXIS_SHARE = 0.22  # rows make an axis of the map, a fifth and what chance adds: more are what the map is of
PART_SHARE = 0.25  # far rows that lie together are apart from the bulk: more are a part of it as the others are
FAR_SHARE = 0.35  # scattered rows are far: of more, no half of the rows is left that could say what is ordinary


class Partition(NamedTuple):
    """Rows and cells that are no part of the bulk, by position; all other rows are."""

    choice: str  # of the fit: "plain", "student" (far rows count less) or "screened"
    wrong_cells: NDArray[np.intp]  # k x 2: row, column
    far_rows: NDArray[np.intp]  # far from the bulk, each by itself
    groups: tuple[NDArray[np.intp], ...]  # rows far from the bulk that lie together, the largest group first
    weights: Array  # how much each row counts in the fit; empty where all count alike

    @property
    def outside(self) -> NDArray[np.intp]:
        """All rows that are no part of the bulk."""
        return np.sort(np.concatenate([self.far_rows, *self.groups]))

    def cell_mask(self, n: int, d: int) -> Mask:
        """True at the wrong cells, n x d."""
        mask = np.zeros((n, d), dtype=bool)
        mask[self.wrong_cells[:, 0], self.wrong_cells[:, 1]] = True
        return mask

    def outside_mask(self, n: int) -> Mask:
        """True for the rows that are no part of the bulk."""
        mask = np.zeros(n, dtype=bool)
        mask[self.outside] = True
        return mask

    def group_mask(self, n: int) -> Mask:
        """True for the rows of groups apart from the bulk."""
        mask = np.zeros(n, dtype=bool)
        for rows in self.groups:
            mask[rows] = True
        return mask

    @property
    def sentence(self) -> str:
        """'9 cells and 4 rows are held out of the fit.' Groups are told with the map's."""
        if self.choice == "plain":
            return ""
        if self.choice == "student":
            return "Nothing is held out of the fit; far rows count less in it."
        held = [count(len(self.wrong_cells), "cell")] * bool(len(self.wrong_cells))
        held += [count(len(self.far_rows), "row")] * bool(len(self.far_rows))
        one = len(self.wrong_cells) + len(self.far_rows) == 1
        return f"{' and '.join(held)} {'is' if one else 'are'} held out of the fit." if held else ""


def is_group(size: int, n: int) -> bool:
    """Whether so many far rows together, of n, are a group."""
    return size >= max(GROUP_ROWS, GROUP_SHARE * n)


NO_ROWS = np.zeros(0, dtype=np.intp)
ALL_BULK = Partition("plain", np.zeros((0, 2), dtype=np.intp), NO_ROWS, (), np.zeros(0))


def far_partition(
    choice: str, wrong_cells: Mask, far: Mask, together: list[NDArray[np.intp]], weights: Array
) -> Partition:
    """Far rows parted into groups, which are large, and single ones; `together` are those that lie together."""
    groups = tuple(np.sort(rows) for rows in together if is_group(len(rows), len(far)))
    single = np.setdiff1d(np.flatnonzero(far), np.concatenate([NO_ROWS, *groups]))
    return Partition(choice, np.argwhere(wrong_cells & ~far[:, None]), single, groups, weights)
