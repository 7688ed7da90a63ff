"""The map of a table by a linear-Gaussian model, as the main job asks it (`table_map.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lowdim.judge.axes import AxisCard, axes
from lowdim.judge.cells import CellBeliefs, all_surprises, distances, given_others
from lowdim.judge.fills.calibration import MapCalibration
from lowdim.judge.framed_gaussian import FramedGaussian, framed_gaussian
from lowdim.judge.maps.table_map import NumberFills, ellipse_size
from lowdim.judge.partition import ALL_BULK, Partition
from lowdim.judge.robust import without_wrong
from lowdim.judge.rows.place_card import MappedRows, PlaceCard, explain_place
from lowdim.judge.rows.reference_law import LEAST_ROWS_OF_LAW, RowLaw, cell_p_values, law_of_table, model_law
from lowdim.judge.stability import Refits, Stability, refits, stability
from lowdim.maths.linalg import Array, Mask
from lowdim.models.base.results import Posterior
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Block
from lowdim.table.kinds.scales import ColumnScales
from lowdim.table.table import Table


@dataclass(frozen=True, eq=False)
class GaussianMap:
    """A linear-Gaussian model, the names of its table's numbers, and which of these are logarithms."""

    model: LinearGaussian
    names: tuple[str, ...]
    scales: ColumnScales | None = None
    unit: Array | float = 1.0  # what the table was divided by before the fit

    answers = ()
    title = "PPCA"
    method = "ppca"
    mixed = None

    def told(self, table: Table) -> str:
        """What was fitted."""
        return self.title

    @property
    def line_names(self) -> tuple[str, ...]:
        """The columns."""
        return self.names

    def lines(self, X: Array) -> Array:
        """The rows."""
        return X

    def source(self, X: Array) -> ArraySource:
        """Rows as the model takes them."""
        return ArraySource(X, columns=self.names)

    def positions(self, X: Array, partition: Partition = ALL_BULK) -> Posterior:
        """Where each row lies by its cells that are not wrong; far rows by all they have."""
        return self.model.posterior(without_wrong(self.source(X), partition, rows=False))

    def blurred(self, X: Array, rng: np.random.Generator) -> Array:
        """Where each row would lie with its values anywhere within their steps: of a yes or no, anywhere about it."""
        with np.errstate(over="ignore", invalid="ignore"):  # steps of huge numbers may be out of range: these stay
            near = X + rng.uniform(-0.5, 0.5, X.shape) * [usual_step(x) for x in X.T]
        return np.asarray(self.model.transform(self.source(np.where(np.isfinite(near), near, X))))

    def resampled(self, table: Table, partition: Partition, bootstraps: int, seed: int) -> ResampledGaussian:
        """The map with its rows drawn again."""
        X = without_wrong(self.source(table.X), partition, rows=True)
        found = refits(self.model, X, bootstraps=bootstraps, random_state=seed)
        return ResampledGaussian(self.model, X, table, found, seed)

    @property
    def levels(self) -> tuple[tuple[Any, ...], ...]:
        """No column has any."""
        return ((),) * len(self.names)

    @cached_property
    def _gaussian(self) -> FramedGaussian:
        """The model in the units it works in, for cells of the table."""
        g = framed_gaussian(self.model)
        return g._replace(frame=g.frame._replace(shift=g.frame.shift * self.unit, scale=g.frame.scale / self.unit))

    def beliefs(self, rows: Block, law: RowLaw, kept: Mask | None = None) -> CellBeliefs:
        """Every cell given the other kept cells of its row, in closed form; levels are where they count as being."""
        g, counted = self._gaussian, law.counted(rows.x)
        block = g.inward(rows._replace(x=counted))
        cells, seen = given_others(g, block.x, block.mask, kept), rows.seen
        T2, Q, rank = distances(g, cells.latent, block.mask if kept is None else kept)
        many = seen.sum(axis=1)
        rank = np.minimum(rank, many)
        none = np.zeros(seen.shape)
        return CellBeliefs(
            seen=seen,
            mean=g.frame.outward(np.where(seen, block.x - cells.shift, cells.latent.mean @ g.W.T + g.mu)),
            sd=cells.sd / g.frame.scale,
            surprise=cells.surprise,
            p=none + 1.0 if law.cells is None else cell_p_values(cells.surprise, cells.D2, seen, law),
            likeliest=none,
            likeliest_share=none,
            D2=cells.D2,
            T2=T2,
            Q=np.where(many > rank, Q, 0.0),
            rank=rank,
            p_D2=law.p_value(cells.D2, many),
        )

    def own_law(self, X: Array, held: Mask | None = None, far: Mask | None = None) -> tuple[RowLaw, Mask | None]:
        """The law of the bulk of a table's own rows; few rows have the model's."""
        if len(X) < LEAST_ROWS_OF_LAW:
            return self.plain_law, None
        mask = ~np.isnan(X)
        return law_of_table(self._gaussian, np.where(mask, X, 0.0), mask, held, far)

    def surprises(self, X: Array) -> Array:
        """How far each cell is from what the others of its row say, in standard deviations; 0 at gaps."""
        return all_surprises(self.model, self.source(X))

    def widths(self, X: Array) -> Array:
        """How wide an interval must be to hold each cell: as wide as the cell is far."""
        return self.surprises(X)

    @property
    def loadings(self) -> Array:
        """How each column changes with each axis."""
        return np.asarray(self.model.components_.T)

    @property
    def noise_share(self) -> float:
        """The share of the variation that is column-by-column noise."""
        return float(self.model.noise_variance_ * len(self.names) / np.trace(self.model.get_covariance()))

    def at(self, place: Array, rows: MappedRows) -> PlaceCard:
        """What lives at a place, and the rows about it."""
        return explain_place(self.model, place, rows, self.names, self.scales, self.unit * np.ones(len(self.names)))

    @property
    def plain_law(self) -> RowLaw:
        """That of the model alone."""
        return model_law(self.model)

    def fills(self, X: Array, used: MapCalibration) -> NumberFills:
        """The gaps of rows with intervals, as the table is told: logarithms as what they are the logarithms of."""
        filled, sd = self.model.impute(self.source(X), return_std=True)
        half, scales = sd * np.array(used.half), self.scales
        parts = filled, filled - half, filled + half
        if scales is None:
            return NumberFills(parts[0], sd, *parts[1:])
        gap = np.isnan(X)
        told = [np.where(gap, scales.within(scales.outward(part)), scales.outward(part)) for part in parts]
        return NumberFills(told[0], np.where(gap, scales.spread(filled, sd), 0.0), *told[1:])

    def gap_answers(self, X: Array) -> None:
        """No column holds answers."""
        return None

    def larger(self, X: Array) -> Array:
        """How much larger than a complete row's each row's ellipse is."""
        whole = self.model.posterior(self.source(np.asarray(self.model.mean_)[None, :]))
        return ellipse_size(self.model.posterior(self.source(X))) / ellipse_size(whole)

    @property
    def middles(self) -> Array:
        """The mean of every number as the table is told."""
        mean = np.asarray(self.model.mean_)
        return mean if self.scales is None else self.scales.outward(mean)


def usual_step(x: Array) -> float:
    """The median of the steps between the different values of a column; 0 where it has one.

    >>> usual_step(np.array([1.0, 3.0, 2.0, 2.0, 9.0]))
    1.0
    """
    steps = np.diff(np.unique(x[~np.isnan(x)]))
    return float(np.median(steps)) if len(steps) else 0.0


class ResampledGaussian(NamedTuple):
    """A Gaussian map with its rows drawn again: `X` are those of the bulk."""

    model: LinearGaussian
    X: ArraySource
    table: Table
    refits: Refits
    seed: int

    @property
    def W(self) -> Array:
        """Weights of each refit."""
        return self.refits.W

    def axes(self, level: float, scores: Array | None = None) -> tuple[AxisCard, ...]:
        """A card for every axis."""
        how: dict[str, Any] = {"labels": self.table.labels, "level": level, "random_state": self.seed}
        return axes(self.model, self.X, resampled_fits=self.refits, **how)

    def stability(self) -> Stability:
        """How far the map moves."""
        how: dict[str, Any] = {"row_names": self.table.row_names, "random_state": self.seed}
        return stability(self.model, self.X, resampled_fits=self.refits, **how)
