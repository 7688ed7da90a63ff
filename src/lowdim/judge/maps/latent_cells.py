"""What a latent model says of the cells of a table: all that a map is asked and a model alone can answer.

This is what any model can that places rows with gaps: where each row lies, what lives at a place, what a row's gaps
hold, and, one cell hidden after the other, each cell given the others of its row. Models with closed forms answer the
same questions faster, and more of them (`gaussian_cells.py`, `judge/mixed/mixed_cells.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.special import ndtr

from lowdim.judge.cells import CellBeliefs
from lowdim.judge.maps.map_columns import MapColumn
from lowdim.judge.outliers.partition import ALL_BULK, Partition
from lowdim.maths.linalg import Array, Mask
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Posterior
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Block

if TYPE_CHECKING:
    from lowdim.judge.axes import AxisCard
    from lowdim.judge.outliers.law import RowLaw
    from lowdim.judge.stability import Stability
    from lowdim.table.table import Table

NO_SHARES: Mapping[int, Array] = MappingProxyType({})


class ExpectedCells(NamedTuple):
    """What a model expects of every cell of some rows, n x d, in its columns' units."""

    mean: Array  # of levels between their values, of several labels 0
    sd: Array  # of a new cell
    shares: Mapping[int, Array] = NO_SHARES  # of each column of levels: their probabilities, n x levels
    fill: Array | None = None  # what best fills a gap, where that is not the mean


class ResampledMap(Protocol):
    """A map and the same with its table's rows drawn again."""

    @property
    def W(self) -> Array:
        """Weights of each resampling, B x lines x q."""
        ...

    def axes(self, level: float, scores: Array) -> tuple[AxisCard, ...]:
        """A card for every axis; `scores` are the places of the rows."""
        ...

    def stability(self) -> Stability:
        """How far the map moves."""
        ...


@dataclass(frozen=True, eq=False)
class LatentCells:
    """A fitted model and the columns it has; X are rows of these in the table's numbers, NaN at gaps."""

    model: LatentModel[Any, Any]
    columns: tuple[MapColumn, ...]
    unit: Array | float = 1.0  # what the table was divided by before the fit

    def source(self, X: Array) -> ArraySource:
        """Rows as the model takes them."""
        return ArraySource(
            X if np.all(self.unit == 1.0) else X / self.unit, columns=tuple(c.name for c in self.columns)
        )

    def posterior(self, X: Array, partition: Partition = ALL_BULK) -> Posterior:
        """Where each row lies, and how surely; by its cells that are not wrong, where these would bend it."""
        return self.model.posterior(self.source(X))

    def at(self, Z: Array) -> ExpectedCells:
        """What lives at some places."""
        return self._in_units(self.model.decode(Z))

    def in_rows(self, X: Array) -> ExpectedCells:
        """Every cell of some rows, seen or not, as the seen ones say: what fills their gaps."""
        return self._in_units(self.model.predict_cells(self.source(X)))

    def _in_units(self, cells: Cells) -> ExpectedCells:
        return ExpectedCells(cells.mean * self.unit, np.sqrt(cells.var + cells.noise) * self.unit)

    def law(self, X: Array) -> RowLaw | None:
        """The law of the rows' distances, where X are rows that the model was fitted to; None where there is none."""
        return None

    def beliefs(self, rows: Block, law: RowLaw | None, kept: Mask | None = None) -> CellBeliefs:
        """Every cell given the other kept cells of its row, by hiding one after the other: for single rows."""
        x, seen = np.where(rows.seen, rows.x, np.nan), rows.seen
        many, d = x.shape
        each = np.repeat(x if kept is None else np.where(kept, x, np.nan), d + 1, axis=0).reshape(many, d + 1, d)
        each[:, 1 + np.arange(d), np.arange(d)] = np.nan
        told, j = self.in_rows(each.reshape(-1, d)), np.arange(d)
        mean, sd = (part.reshape(many, d + 1, d)[:, 1 + j, j] for part in (told.mean, told.sd))
        far, none = np.where(seen, (x - mean) / sd, 0.0), np.zeros(many)
        return CellBeliefs(
            seen=seen,
            mean=mean,
            sd=sd,
            surprise=far,
            p=2.0 * ndtr(-np.abs(far)),
            share=np.ones(seen.shape),
            likeliest=np.zeros(seen.shape),
            likeliest_share=np.zeros(seen.shape),
            D2=none,
            T2=none,
            Q=none,
            rank=none.astype(np.intp),
            p_D2=none + 1.0,
        )

    @property
    def instead(self) -> Array:
        """What stands for a cell of each column where one asks what it tells of others: a gap."""
        return np.full(len(self.columns), np.nan)

    # what models with closed forms answer beside: the main job's are such ------------------------------------------
    title: ClassVar[str]
    method: ClassVar[str]  # its short name in the registry
    has_axes: ClassVar[bool] = False  # whether `resampled` knows what drives them
    loading_note: ClassVar[str]  # what its loadings are, where that is not how columns move along the axes

    def fitted(self, table: Table) -> str:
        """What was fitted, and to which rows where these are not all."""
        raise NotImplementedError

    def blurred(self, X: Array, rng: np.random.Generator) -> Array:
        """Where each row may lie as well, for what its cells leave open."""
        raise NotImplementedError

    @property
    def plain_law(self) -> RowLaw:
        """The law of rows from the model."""
        raise NotImplementedError

    def own_law(self, X: Array, held: Mask | None = None, far: Mask | None = None) -> tuple[RowLaw, Mask | None]:
        """The law that the bulk of a table's own rows sets, and the cells beside which the others are looked at: all
        but wrong ones; None where these are all. Cells `held` out of the fit and `far` rows have no part in it."""
        raise NotImplementedError

    def surprises(self, X: Array) -> Array:
        """How far each cell is from what the others of its row say, in standard deviations; 0 at gaps."""
        raise NotImplementedError

    def widths(self, X: Array) -> Array:
        """How wide an interval must be to hold each cell, in standard deviations; 0 at gaps."""
        raise NotImplementedError

    def usual(self, seen: Mask) -> Posterior:
        """How surely rows that show these cells are usually placed."""
        raise NotImplementedError

    @property
    def means(self) -> Array:
        """The mean of every column of measurements; NaN of others."""
        raise NotImplementedError

    @property
    def loadings(self) -> Array:
        """How each line of a column changes with each axis, lines x q."""
        raise NotImplementedError

    @property
    def variances(self) -> Array:
        """Of the table along each axis."""
        raise NotImplementedError

    @property
    def noise_share(self) -> float:
        """The share of the variation that is column-by-column noise."""
        raise NotImplementedError

    def resampled(
        self, X: Array, table: Table, partition: Partition, bootstraps: int, seed: int, every_row: bool = False
    ) -> ResampledMap:
        """The model with the rows X of a table drawn again; `every_row` had a part in its fit, also of a long table."""
        raise NotImplementedError
