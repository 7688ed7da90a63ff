"""The map of a table by a linear-Gaussian model, as the main job asks it (`table_map.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lowdim.judge.axes import AxisCard, axes
from lowdim.judge.cells import all_surprises
from lowdim.judge.fills.calibration import MapCalibration
from lowdim.judge.maps.table_map import NumberFills, ellipse_size
from lowdim.judge.partition import ALL_BULK, Partition
from lowdim.judge.robust import without_wrong
from lowdim.judge.rows.odd_rows import OddRows, judge_rows
from lowdim.judge.rows.place_card import MappedRows, PlaceCard, explain_place
from lowdim.judge.rows.reference_law import RowLaw, model_law
from lowdim.judge.rows.row_card import RowCard, explain_row
from lowdim.judge.stability import Refits, Stability, refits, stability
from lowdim.maths.linalg import Array
from lowdim.models.base.results import Posterior
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.sources.arrays import ArraySource
from lowdim.table.kinds.scales import ColumnScales
from lowdim.table.table import Table


@dataclass(frozen=True, eq=False)
class GaussianMap:
    """A linear-Gaussian model, the names of its table's numbers, and which of these are logarithms."""

    model: LinearGaussian
    names: tuple[str, ...]
    scales: ColumnScales | None = None

    title = "PPCA"
    method = "ppca"
    mixed = None

    def told(self, table: Table) -> str:
        """What was fitted."""
        return self.title

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

    def odd_rows(
        self,
        X: Array,
        row_names: Any,
        *,
        partition: Partition = ALL_BULK,
        odd_level: float = 0.95,
        law: RowLaw | None = None,
    ) -> OddRows:
        """The odd rows, each with its reason."""
        how: dict[str, Any] = {"row_names": row_names, "scales": self.scales, "odd_level": odd_level, "law": law}
        how |= {"held": partition.cell_mask(*X.shape), "far": partition.outside_mask(len(X))}
        return judge_rows(self.model, self.source(X), grouped=partition.group_mask(len(X)), **how)

    def resampled(self, table: Table, partition: Partition, bootstraps: int, seed: int) -> ResampledGaussian:
        """The map with its rows drawn again."""
        X = without_wrong(self.source(table.X), partition, rows=True)
        found = refits(self.model, X, bootstraps=bootstraps, random_state=seed)
        return ResampledGaussian(self.model, X, table, found, seed)

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
        how: dict[str, Any] = {"row_names": row_names, "scales": self.scales, "law": law}
        return explain_row(self.model, self.source(X), row, hidden=hidden, edited=edited, **how)

    def at(self, place: Array, rows: MappedRows) -> PlaceCard:
        """What lives at a place, and the rows about it."""
        return explain_place(self.model, place, rows, self.names, self.scales, np.ones(len(self.names)))

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
