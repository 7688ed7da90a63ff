"""What the main job asks of the map of a table, whichever model drew it: one protocol, answered by the Gaussian map
(`gaussian_map.py`) and by that of answers (`judge/mixed/answer_map.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from lowdim.judge.partition import ALL_BULK, Partition
from lowdim.maths.linalg import Array

if TYPE_CHECKING:
    from lowdim.judge.axes import AxisCard
    from lowdim.judge.fills.calibration import MapCalibration
    from lowdim.judge.mixed.mixed_cells import GapAnswers
    from lowdim.judge.mixed.mixed_map import MixedMap
    from lowdim.judge.rows.odd_rows import OddRows
    from lowdim.judge.rows.place_card import MappedRows, PlaceCard
    from lowdim.judge.rows.reference_law import RowLaw
    from lowdim.judge.rows.row_card import RowCard
    from lowdim.judge.stability import Stability
    from lowdim.models.base.results import Posterior
    from lowdim.table.table import Table


class NumberFills(NamedTuple):
    """The gaps of some rows filled, in the table's numbers; lower and upper equal filled where a cell is seen."""

    filled: Array
    sd: Array  # 0 where seen
    lower: Array
    upper: Array


class ResampledMap(Protocol):
    """A map and the same with its table's rows drawn again."""

    @property
    def W(self) -> Array:
        """Weights of each resampling, B x numbers x q."""
        ...

    def axes(self, level: float, scores: Array | None = None) -> tuple[AxisCard, ...]:
        """A card for every axis; `scores` are the places of the rows, where they are known."""
        ...

    def stability(self) -> Stability:
        """How far the map moves."""
        ...


class TableMap(Protocol):
    """A model of a table's rows with the names of the table's numbers; X are rows of such numbers."""

    @property
    def title(self) -> str:
        """What the model is called."""
        ...

    @property
    def method(self) -> str:
        """Its short name in the registry."""
        ...

    @property
    def mixed(self) -> MixedMap | None:
        """The map of answers; None of a Gaussian one."""
        ...

    def told(self, table: Table) -> str:
        """What was fitted, and to which rows where these are not all."""
        ...

    # the table's own rows
    def positions(self, X: Array, partition: Partition = ALL_BULK) -> Posterior:
        """Where each row lies by its cells that are not wrong; far rows by all they have."""
        ...

    def blurred(self, X: Array, rng: np.random.Generator) -> Array:
        """Where each row may lie as well, since columns in steps say no more than which step a value is nearest to."""
        ...

    def odd_rows(
        self,
        X: Array,
        row_names: Any,
        *,
        partition: Partition = ALL_BULK,
        odd_level: float = 0.95,
        law: RowLaw | None = None,
    ) -> OddRows:
        """The odd rows; new ones are judged by the law of the table's own."""
        ...

    def resampled(self, table: Table, partition: Partition, bootstraps: int, seed: int) -> ResampledMap:
        """The map with its rows drawn again."""
        ...

    def surprises(self, X: Array) -> Array:
        """How far each cell is from what the others of its row say, in standard deviations; 0 at gaps."""
        ...

    def widths(self, X: Array) -> Array:
        """How wide an interval must be to hold each cell, in standard deviations; 0 at gaps."""
        ...

    # what it says of columns, single rows and places
    @property
    def loadings(self) -> Array:
        """How each column changes with each axis, numbers x q."""
        ...

    @property
    def noise_share(self) -> float:
        """The share of the variation that is column-by-column noise."""
        ...

    def explain(
        self,
        X: Array,
        row: int,
        law: RowLaw,
        *,
        row_names: Any = None,
        hidden: Sequence[str] = (),
        edited: Mapping[str, Any] | None = None,
    ) -> RowCard:
        """One row, every cell beside what the others say."""
        ...

    def at(self, place: Array, rows: MappedRows) -> PlaceCard:
        """What lives at a place, and the rows about it."""
        ...

    # new rows
    @property
    def plain_law(self) -> RowLaw:
        """The same where nothing is known but the model."""
        ...

    def fills(self, X: Array, used: MapCalibration) -> NumberFills:
        """The gaps of rows with intervals, as the table is told."""
        ...

    def gap_answers(self, X: Array) -> GapAnswers | None:
        """What fills the gaps of columns of answers, as the file calls it; None of a Gaussian map."""
        ...

    def larger(self, X: Array) -> Array:
        """How much larger than a complete row's each row's ellipse is."""
        ...

    @property
    def middles(self) -> Array:
        """The mean of every number as the table is told; NaN where it has levels."""
        ...


def ellipse_size(posterior: Posterior) -> Array:
    """Geometric mean of the half axes of each row's ellipse."""
    q = posterior.mean.shape[1]
    if q == 0:
        return np.ones(len(posterior.mean))
    return np.asarray(np.exp(0.5 * np.linalg.slogdet(posterior.cov)[1] / q))
