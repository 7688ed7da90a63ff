"""What a column that was left out as a copy of another tells of that one's gaps, and the other way round."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.table.column import codes_of

if TYPE_CHECKING:
    from lowdim.table.column import Column
    from lowdim.table.table import Table


class CopiedColumn(NamedTuple):
    """A column that says the same as one that was kept, both as they were read."""

    column: Column
    kept: Column

    @property
    def pairs(self) -> dict[str, Any]:
        """The label of the kept column that goes with each label of the copy."""
        both = zip(self.column.words, self.kept.words, strict=True)
        return {own: kept for own, kept in both if own is not None and kept is not None}

    @property
    def told(self) -> NDArray[np.intp]:
        """Rows in which the kept column is a gap and the copy is not."""
        return np.flatnonzero(self.kept.gaps & ~self.column.gaps)

    @property
    def gaps(self) -> NDArray[np.intp]:
        """Rows in which the copy is a gap."""
        return np.flatnonzero(self.column.gaps)


def copied_columns(table: Table) -> list[CopiedColumn]:
    """The copies whose other is still a column of the table."""
    here = {c.name: c for c in table.columns if c.role in ("number", "label")}
    return [CopiedColumn(c, here[c.copy.name]) for c in table.columns if c.copy is not None and c.copy.name in here]


def told_by_copies(table: Table) -> Table:
    """The table with the gaps of its columns filled where a copy says what stands there.

    >>> import pandas as pd
    >>> from lowdim.table.read import read
    >>> x = np.random.default_rng(0).normal(size=(40, 2)).round(2)
    >>> frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "twice": 2 * x[:, 0]})
    >>> frame.loc[3, "a"] = frame.loc[[5, 6], "twice"] = np.nan
    >>> table = read(frame)
    >>> table.names, bool(2 * told_by_copies(table).X[3, 0] == frame.loc[3, "twice"])
    (('a', 'b'), True)
    """
    copies = copied_columns(table)
    if not copies:
        return table
    full = copy(table)
    columns = {c.name: c for c in table.columns}
    full.left_labels = dict(table.left_labels)
    for pair in copies:
        own, kept = pair.column, columns[pair.kept.name]
        if kept.role == "label":
            full.left_labels[kept.name] = _labels(table.left_labels[kept.name], table.left_labels[own.name], pair.pairs)
        if kept.labels:
            told = codes_of(_labels(kept.words, own.words, pair.pairs), kept.labels)
            columns[kept.name] = kept._replace(values=told)
        else:
            columns[kept.name] = kept._replace(values=_numbers(kept, own))
    full.columns = tuple(columns[c.name] for c in table.columns)
    full.X = np.column_stack([np.zeros((table.n, 0)), *(c.values for c in full.columns if c.role == "number")])
    return full


def _labels(kept: NDArray[Any], own: NDArray[Any], pairs: dict[str, Any]) -> NDArray[Any]:
    cells = zip(kept.tolist(), own.tolist(), strict=True)
    told = [pairs.get(b) if a is None and b is not None else a for a, b in cells]
    return np.array([*told, None], dtype=object)[:-1]


def _numbers(kept: Column, own: Column) -> Array:
    """The kept column on its scale, its gaps by the copy."""
    values = np.array(kept.values, dtype=np.float64)
    gap = np.isnan(values)
    if own.copy is not None and own.copy.relation is not None:
        told = own.copy.relation.back(np.asarray(own.values, dtype=np.float64)[gap])
        with np.errstate(all="ignore"):
            told = np.log(told + kept.offset) if kept.log else told
        values[gap] = np.where(np.isfinite(told), told, np.nan)
    return values
