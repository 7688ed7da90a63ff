"""The mixed model that `lowdim fit -m mixed` makes, asked as the main job asks its map of answers.

The main job's map is made of the numbers of a table, labels set aside stay aside. Here they take part, so that the map
has numbers of its own: each column as it is, a label of two as 0 or 1, and one of several as zeros and ones for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.axes import AxisCard
from lowdim.judge.fills.calibration import MapCalibration, map_calibration
from lowdim.judge.mixed.answer_map import AnswerMap, table_map
from lowdim.judge.mixed.mixed_axes import mixed_axes, mixed_refits
from lowdim.judge.mixed.mixed_rows import law_of_map
from lowdim.judge.mixed_table import MixedTable
from lowdim.judge.rows.null_law import RowLaw
from lowdim.maths.linalg import Array, evenly_spread
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.sources.labelled_frames import CodedColumn
from lowdim.table.kinds.scales import ColumnScales, limit_lists, log_scales
from lowdim.table.table import Table
from lowdim.text.escape import protect_terminal

JUDGED_ROWS = 20_000  # rows from which it is found what is ordinary; further ones say the same
RESAMPLINGS = 200  # first-order ones, of which hundreds take less than a second


@dataclass(frozen=True, eq=False)
class NamedMap:
    """A mixed model of a table whose labels take part, and the table as its numbers."""

    map: AnswerMap
    table: Table
    X: Array  # the rows, in the map's numbers

    @property
    def scale_names(self) -> tuple[str, ...]:
        """The map's numbers as X has them: "log of gnp" where it holds logarithms."""
        logs = self.table.logs
        return tuple(f"log of {name}" if name in logs else name for name in self.map.names)

    @cached_property
    def law(self) -> RowLaw:
        """Which distances of a row are ordinary, by the bulk of the rows."""
        return law_of_map(self.map, self._some)

    def calibration(self, level: float) -> MapCalibration:
        """Half widths that make the intervals of fills in new rows hold what they claim."""
        return map_calibration(self.map.model, None, level=level, surprises=self.map.widths(self._some))

    def axes(self, level: float, seed: int) -> tuple[AxisCard, ...]:
        """A card for every axis; labels that made the axes are in their loadings, and no news beside them."""
        refits = mixed_refits(self.map, self.X, self.table.weight, RESAMPLINGS, seed)
        others = {name: own for name, own in self.table.labels.items() if name not in self.map.columns}
        return mixed_axes(self.map, self.map.transform(self.X), others, refits, level)

    @property
    def _some(self) -> Array:
        return self.X[evenly_spread(len(self.X), JUDGED_ROWS)]


def named_map(model: MixedFactorAnalysis, mixed: MixedTable, table: Table) -> NamedMap:
    """The map of a table by a mixed model of these of its columns."""
    names = number_names(model)
    map = table_map(model, names, number_scales(names, table.names, table.scales))
    assert isinstance(map, AnswerMap)
    X = numbers_of_codes([c.coded for c in mixed.columns], [c.strange for c in mixed.columns])
    return NamedMap(map, table, X)


def number_names(model: MixedFactorAnalysis) -> tuple[str, ...]:
    """What the numbers of a mixed model's columns are called: of two labels the second, of more each of them."""
    columns = zip(model.feature_names_in_.tolist(), model.labels_, strict=True)
    return tuple(
        part
        for name, labels in columns
        for part in ([protect_terminal(f"{name}={x}") for x in _told(labels)] if labels else [str(name)])
    )


def number_scales(names: tuple[str, ...], known: tuple[str, ...], scales: ColumnScales | None) -> ColumnScales | None:
    """The scales of these numbers by those of the ones that are `known`; all others are zeros and ones."""
    if scales is None:
        return None
    logs = {name: float(scales.offset[j]) for j, name in enumerate(known) if scales.log[j]}
    ends = dict(zip(known, zip(*limit_lists(scales), strict=True), strict=True))
    limits = zip(*(ends.get(name, (0.0, 1.0)) for name in names), strict=True)
    return log_scales(names, logs, [list(side) for side in limits])


def _told(labels: tuple[str, ...]) -> tuple[str, ...]:
    """The labels that have a number of their own: the first of two has none."""
    return labels[1:] if len(labels) == 2 else labels


def numbers_of_codes(columns: Sequence[CodedColumn], strange: Sequence[NDArray[np.intp]]) -> Array:
    """Columns of codes as the numbers of a map; of several labels one without a code (`strange` rows) is none of them.

    >>> numbers_of_codes([CodedColumn(np.array([1.0, np.nan]), ("a", "b", "c"))], [np.array([1])]).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    parts = []
    for c, rows in zip(columns, strange, strict=True):
        if len(c.labels) <= 2:
            parts.append(c.values[:, None])
            continue
        ones = np.where(np.isnan(c.values)[:, None], np.nan, c.values[:, None] == np.arange(len(c.labels)))
        ones[rows] = 0.0
        parts.append(ones)
    return np.column_stack(parts)
