"""The map of a table of answers, as the main job asks it (`judge/maps/table_map.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lowdim.judge.axes import AxisCard
from lowdim.judge.cells import CellBeliefs
from lowdim.judge.fills.calibration import MapCalibration
from lowdim.judge.maps.gaussian_map import GaussianMap
from lowdim.judge.maps.table_map import NumberFills, TableMap, ellipse_size
from lowdim.judge.mixed.mixed_axes import (
    MixedRefits,
    loadings_of,
    mixed_axes,
    mixed_refits,
    mixed_stability,
    shares_of,
)
from lowdim.judge.mixed.mixed_cells import (
    GapAnswers,
    explain_mixed_place,
    fill_numbers,
    gap_answers,
    has_levels,
    tail_scores,
)
from lowdim.judge.mixed.mixed_map import MixedMap, rows_fitted
from lowdim.judge.mixed.mixed_rows import law_of_map, mixed_beliefs
from lowdim.judge.partition import ALL_BULK, Partition
from lowdim.judge.rows.place_card import MappedRows, PlaceCard
from lowdim.judge.rows.reference_law import GAUSSIAN_LAW, RowLaw
from lowdim.judge.stability import Stability
from lowdim.maths.linalg import Array, Mask
from lowdim.models.base.calibration import normal_half_width
from lowdim.models.base.results import Posterior
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.sources.source import Block
from lowdim.table.kinds.scales import ColumnScales, logs_of
from lowdim.table.table import Table


@dataclass(frozen=True, eq=False)
class AnswerMap(MixedMap):
    """A mixed map that answers the main job; one wrong answer bends it little, so that nothing is held out of it."""

    title = "Mixed factor analysis"
    method = "mixed"

    @property
    def mixed(self) -> MixedMap:
        """The map itself."""
        return self

    def told(self, table: Table) -> str:
        """What was fitted, with the rows it saw where these are not all."""
        few = rows_fitted(table)
        return "mixed factor analysis" + (f" of {few:,} rows spread over the table" if few < table.n else "")

    def positions(self, X: Array, partition: Partition = ALL_BULK) -> Posterior:
        """Where each row lies, and how surely."""
        return self.posterior(X)

    def blurred(self, X: Array, rng: np.random.Generator) -> Array:
        """A draw of each row's place: few answers leave it open, and say nothing of groups."""
        posterior = self.posterior(X)
        root = np.linalg.cholesky(posterior.cov)
        drawn: Array = np.einsum("nij,nj->ni", root, rng.standard_normal(posterior.mean.shape))
        return posterior.mean + drawn

    def beliefs(self, rows: Block, law: RowLaw, kept: Mask | None = None) -> CellBeliefs:
        """Every cell given the others of its row; nothing is held out, so that all that are seen are kept."""
        return mixed_beliefs(self, np.where(rows.seen, rows.x, np.nan), law)

    def own_law(self, X: Array, held: Mask | None = None, far: Mask | None = None) -> tuple[RowLaw, Mask | None]:
        """The law of the bulk of a table's own rows."""
        return law_of_map(self, X), None

    def resampled(self, table: Table, partition: Partition, bootstraps: int, seed: int) -> ResampledAnswers:
        """The map with its rows drawn again."""
        found = mixed_refits(self, table.X, table.weight, bootstraps, seed, rows_fitted(table))
        return ResampledAnswers(self, table, found)

    def surprises(self, X: Array) -> Array:
        """How far each cell is from what the others of its row say, as a normal score; 0 at gaps."""
        return self.given_others(X).surprise

    def widths(self, X: Array) -> Array:
        """How wide an interval must be to hold each cell, in standard deviations; 0 at gaps alone."""
        return tail_scores(self, X)

    @property
    def loadings(self) -> Array:
        """The correlation of each line's latent response with each axis."""
        return loadings_of(self)

    @property
    def noise_share(self) -> float:
        """The share of the latent responses' variation that no axis has."""
        return 1.0 - sum(shares_of(self))

    def at(self, place: Array, rows: MappedRows) -> PlaceCard:
        """What lives at a place, and the rows about it."""
        return explain_mixed_place(self, place, rows)

    @property
    def plain_law(self) -> RowLaw:
        """That of rows from the model."""
        return GAUSSIAN_LAW

    def fills(self, X: Array, used: MapCalibration) -> NumberFills:
        """The gaps of rows; levels may hold more than is claimed, not less."""
        half = np.maximum(used.half, normal_half_width(used.level) * has_levels(self))
        return fill_numbers(self, X, half)

    def gap_answers(self, X: Array) -> GapAnswers:
        """What fills the gaps of columns of answers, as the file calls it."""
        return gap_answers(self, X)

    def larger(self, X: Array) -> Array:
        """How much larger than a complete row's the ellipse of a row with these gaps usually is."""
        seen = ~np.isnan(X)
        whole = np.ones((1, len(self.names)), dtype=bool)
        return np.asarray(ellipse_size(self.usual_rows(seen)) / ellipse_size(self.usual_rows(whole)))

    @property
    def middles(self) -> Array:
        """The means of real columns as the table is told; NaN where a column has levels or counts."""
        out = np.full(len(self.names), np.nan)
        for name, mean in zip(self.model.component_names_, self.model.intercepts_, strict=True):
            k = self.names.index(name) if name in self.names else -1
            if k >= 0 and self.model.likelihoods_[k] == "real":
                out[k] = mean
        return out if self.scales is None else self.scales.outward(out)


class ResampledAnswers(NamedTuple):
    """A mixed map with its table's rows drawn again."""

    map: MixedMap
    table: Table
    refits: MixedRefits

    @property
    def W(self) -> Array:
        """Leanings of each resampling."""
        return self.refits.W

    def axes(self, level: float, scores: Array | None = None) -> tuple[AxisCard, ...]:
        """A card for every axis."""
        places = self.map.transform(self.table.X) if scores is None else scores
        return mixed_axes(self.map, places, self.table.labels, self.refits, level)

    def stability(self) -> Stability:
        """How far the map moves."""
        return mixed_stability(self.map, self.table.X, self.refits, self.table.row_names)


def table_map(
    model: LinearGaussian | MixedFactorAnalysis, names: tuple[str, ...], scales: ColumnScales | None = None
) -> TableMap:
    """The map of a table whose columns have these names, by the model of it."""
    if isinstance(model, MixedFactorAnalysis):
        return AnswerMap(model, logs_of(scales))
    return GaussianMap(model, names, scales)
