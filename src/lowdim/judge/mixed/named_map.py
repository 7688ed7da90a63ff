"""The mixed model that `lowdim fit -m mixed` makes, asked as the main job asks its map of answers.

The main job's map is made of the columns that shape a table's axes, labels set aside stay aside. Here they take part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lowdim.judge.axes import AxisCard
from lowdim.judge.fills.calibration import MapCalibration, map_calibration
from lowdim.judge.mixed.answer_map import AnswerMap
from lowdim.judge.mixed.mixed_axes import mixed_axes, mixed_refits
from lowdim.judge.mixed.mixed_rows import law_of_map
from lowdim.judge.mixed_table import MixedTable
from lowdim.judge.rows.reference_law import RowLaw
from lowdim.maths.linalg import Array, evenly_spread
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.table.kinds.scales import ColumnScales, limit_lists, log_scales, logs_of
from lowdim.table.table import Table

JUDGED_ROWS = 20_000  # rows from which it is found what is ordinary; further ones say the same
RESAMPLINGS = 200  # first-order ones, of which hundreds take less than a second


@dataclass(frozen=True, eq=False)
class NamedMap:
    """A mixed model of a table whose labels take part, and the rows in its columns."""

    map: AnswerMap
    table: Table
    X: Array

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
        others = {name: own for name, own in self.table.labels.items() if name not in self.map.names}
        return mixed_axes(self.map, self.map.transform(self.X), others, refits, level)

    @property
    def _some(self) -> Array:
        return self.X[evenly_spread(len(self.X), JUDGED_ROWS)]


def named_map(model: MixedFactorAnalysis, mixed: MixedTable, table: Table) -> NamedMap:
    """The map of a table by a mixed model of these of its columns."""
    scales = scales_beside(mixed.names, table.names, table.scales)
    return NamedMap(AnswerMap(model, logs_of(scales)), table, mixed.source.values)


def scales_beside(names: Sequence[str], known: Sequence[str], scales: ColumnScales | None) -> ColumnScales | None:
    """The scales of these columns by those of the ones that are `known`; all others are labels."""
    if scales is None:
        return None
    logs = {name: float(scales.offset[j]) for j, name in enumerate(known) if scales.log[j]}
    ends = dict(zip(known, zip(*limit_lists(scales), strict=True), strict=True))
    limits = zip(*(ends.get(name, (None, None)) for name in names), strict=True)
    return log_scales(names, logs, [list(side) for side in limits])
