"""What is asked of the map of a table, whichever model drew it: one protocol, answered by the Gaussian map
(`gaussian_map.py`) and by the mixed one (`judge/mixed/mixed_map.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from lowdim.judge.partition import ALL_BULK, Partition
from lowdim.maths.linalg import Array, Mask

if TYPE_CHECKING:
    from lowdim.judge.axes import AxisCard
    from lowdim.judge.cells import CellBeliefs
    from lowdim.judge.fills.calibration import MapCalibration
    from lowdim.judge.mixed.mixed_cells import GapAnswers
    from lowdim.judge.mixed.mixed_map import MixedMap
    from lowdim.judge.rows.answers import CellAnswers
    from lowdim.judge.rows.place_card import MappedRows, PlaceCard
    from lowdim.judge.rows.reference_law import RowLaw
    from lowdim.judge.stability import Stability
    from lowdim.models.base.results import Posterior
    from lowdim.sources.arrays import ArraySource
    from lowdim.sources.source import Block
    from lowdim.table.kinds.scales import ColumnScales
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
    def model(self) -> Any:
        """The fitted model."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, as the file names them."""
        ...

    @property
    def scales(self) -> ColumnScales | None:
        """On which the columns are; None where all are as the file has them."""
        ...

    @property
    def answers(self) -> tuple[CellAnswers, ...]:
        """What the cells of each column are called; none where all are numbers."""
        ...

    @property
    def levels(self) -> tuple[tuple[Any, ...], ...]:
        """The only values that a column can have; () where it can be any number."""
        ...

    @property
    def line_names(self) -> tuple[str, ...]:
        """What the lines are called: the columns, of several labels one for each."""
        ...

    def lines(self, X: Array) -> Array:
        """Rows as pictures and distances have them: several labels in zeros and ones."""
        ...

    def source(self, X: Array) -> ArraySource:
        """Rows as the model takes them."""
        ...

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

    def resampled(self, table: Table, partition: Partition, bootstraps: int, seed: int) -> ResampledMap:
        """The map with its rows drawn again."""
        ...

    # what the rest of a row makes of each of its cells
    def beliefs(self, rows: Block, law: RowLaw, kept: Mask | None = None) -> CellBeliefs:
        """Every cell given the other `kept` cells of its row (all that are seen), and how far the row is as a whole;
        p-values are by the law."""
        ...

    def own_law(self, X: Array, held: Mask | None = None, far: Mask | None = None) -> tuple[RowLaw, Mask | None]:
        """The law that the bulk of a table's own rows sets, and the cells beside which the others are looked at: all
        but wrong ones; None where these are all. Cells `held` out of the fit and `far` rows have no part in it."""
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
