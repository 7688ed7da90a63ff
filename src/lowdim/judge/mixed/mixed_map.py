"""The map of a table by a mixed model, whose columns are those of the table: numbers, and labels as codes.

Where a picture wants one number each, a column of several labels has a line for each of them: the probability of that
label, or in a row a zero or a one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lowdim.judge.axes import AxisCard
from lowdim.judge.cells import CellBeliefs
from lowdim.judge.fills.calibration import MapCalibration
from lowdim.judge.maps.gaussian_map import GaussianMap
from lowdim.judge.maps.table_map import NumberFills, TableMap, ellipse_size
from lowdim.judge.mixed.given_others import GivenOthers, UsualRows, cells_at, given_others, usual_posterior, usual_rows
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
from lowdim.judge.mixed.mixed_rows import law_of_map, mixed_beliefs
from lowdim.judge.mixed_table import likelihood
from lowdim.judge.partition import ALL_BULK, Partition
from lowdim.judge.rows.answers import CellAnswers
from lowdim.judge.rows.place_card import MappedRows, PlaceCard
from lowdim.judge.rows.reference_law import GAUSSIAN_LAW, RowLaw
from lowdim.judge.stability import Stability
from lowdim.maths.linalg import Array, Mask, evenly_spread
from lowdim.models.base.calibration import normal_half_width
from lowdim.models.base.results import Posterior
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.sources.labelled_frames import CodedColumn, CodedSource
from lowdim.sources.source import Block
from lowdim.table.column import in_ones, mostly_answers, one_names, ones_of
from lowdim.table.kinds.scales import ColumnScales, logs_of
from lowdim.table.table import Table

MOST_MAP_SITES = 600  # levels and columns together, beyond which a fit takes too long
MAP_CELLS = 500_000  # rows times sites that a fit sees; further rows are placed on its map
LEAST_FITTED = 1000
MAP_TOL, MAP_PASSES = 1e-3, 100  # nats a row: far below what a map can show


def is_mixed(table: Table, q: int = 2, unit: bool = True) -> bool:
    """Whether each column gets its own likelihood: where a category makes axes, or so many of the columns that do hold
    answers (yes/no, levels). Counts are no answers: a negative binomial fills them no better than a Gaussian does.

    A map without an axis (`q`), or one whose columns keep their own units (`unit`), is Gaussian where it can be.

    >>> from lowdim.table.read import read
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 1)) + rng.standard_normal((60, 6))
    >>> import pandas as pd
    >>> names = [f"item{k}" for k in range(6)]
    >>> is_mixed(read(pd.DataFrame(X, columns=names))), is_mixed(read(pd.DataFrame((X > 0) + 0, columns=names)))
    (False, True)
    """
    if table.holds != "measurements":
        return False
    labels = table.code_labels
    if any(len(own) > 2 for own in labels):  # their codes are no numbers
        return True
    answers = any(labels) or mostly_answers(table.numbers, table.n)
    return q > 0 and unit and answers and _sites(table) <= MOST_MAP_SITES


def _sites(table: Table) -> int:
    """Levels and columns together."""
    return sum(max(len(c.labels), len(np.unique(c.values)) if likelihood(c) == "ordinal" else 1) for c in table.numbers)


@dataclass(frozen=True, eq=False)
class MixedMap:
    """A mixed model of a table; X are rows of its columns, labels as codes."""

    model: MixedFactorAnalysis
    scales: ColumnScales | None = None  # of the columns, where some are logarithms

    title = "Mixed factor analysis"
    method = "mixed"

    @property
    def mixed(self) -> MixedMap:
        """The map itself."""
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, as the file names them."""
        return tuple(str(name) for name in self.model.feature_names_in_)

    @property
    def labels(self) -> tuple[tuple[Any, ...], ...]:
        """What the codes of each column stand for; () where numbers are numbers."""
        return self.model.labels_

    @property
    def levels(self) -> tuple[tuple[Any, ...], ...]:
        """The only values that a column can have; () where it can be any number."""
        return self.model.levels_

    @cached_property
    def answers(self) -> tuple[CellAnswers, ...]:
        """What the cells of each column are called."""
        kinds = zip(self.model.likelihoods_, self.labels, strict=True)
        return tuple(CellAnswers(kind, tuple(str(x) for x in own)) for kind, own in kinds)

    # lines ----------------------------------------------------------------------------------------------
    @cached_property
    def ones(self) -> list[tuple[int, int | None]]:
        """The column of each line, and the label whose probability it is; None where numbers are numbers."""
        return ones_of(self.labels)

    @cached_property
    def fitted(self) -> list[int]:
        """The lines that the model has leanings of: not those of labels that no row of its fit has."""
        found = list[int]()
        for k, (kind, levels) in enumerate(zip(self.model.likelihoods_, self.model.levels_, strict=True)):
            own = [line for line, (column, _) in enumerate(self.ones) if column == k]
            if len(own) > 1:
                codes = sorted(self.labels[k].index(level) for level in levels)
                own = [own[code] for code in (codes[1:] if kind == "marker" and len(codes) == 2 else codes)]
            found += own
        return found

    @property
    def line_names(self) -> tuple[str, ...]:
        """What the lines are called."""
        return one_names(self.names, self.labels, self.ones)

    def lines(self, X: Array) -> Array:
        """Rows as the lines have them."""
        return in_ones(X, self.ones)

    def line_means(self, mean: Array, shares: Mapping[str, Array]) -> Array:
        """Means of the columns and probabilities of their levels, as the lines have them."""
        out = np.zeros((len(mean), len(self.ones)))
        for line, (k, code) in enumerate(self.ones):
            if code is None or len(self.labels[k]) == 2:
                out[:, line] = mean[:, k]
            else:
                out[:, line] = self.share(shares[self.names[k]], k, code)
        return out

    def share(self, shares: Array, k: int, code: int) -> Array:
        """The probability of one label of column k; 0 where no row of the fit has it."""
        levels = list(self.model.levels_[k])
        label = self.labels[k][code]
        return np.asarray(shares[:, levels.index(label)]) if label in levels else np.zeros(len(shares))

    # rows -----------------------------------------------------------------------------------------------
    def source(self, X: Array) -> CodedSource:
        """Rows as the model takes them, with their labels."""
        coded = [CodedColumn(codes, own) for codes, own in zip(X.T, self.labels, strict=True)]
        return CodedSource(coded, self.names)

    def posterior(self, X: Array) -> Posterior:
        """Where each row lies, and how surely."""
        return self.model.posterior(self.source(X))

    def transform(self, X: Array) -> Array:
        """Where each row lies."""
        return self.posterior(X).mean

    def inverse_transform(self, Z: Array) -> Array:
        """The mean of every line at some places."""
        cells, shares = cells_at(self.model, np.asarray(Z, dtype=np.float64))
        return self.line_means(cells.mean, shares)

    def given_others(self, X: Array) -> GivenOthers:
        """Every cell beside what the others of its row say."""
        return given_others(self.model, self.source(X), self._usual)

    @cached_property
    def _usual(self) -> UsualRows:
        return usual_rows(self.model)

    def usual_rows(self, seen: Mask) -> Posterior:
        """How surely rows that show these columns of the model are usually placed."""
        return usual_posterior(self.model, self._usual, seen)

    def rebuilt(self, X: Array) -> Array:
        """The mean of every line given all cells of its row."""
        source = self.source(X)
        several = tuple(name for name, own in zip(self.names, self.labels, strict=True) if len(own) > 2)
        shares = self.model.probabilities(source, columns=several) if several else {}
        return self.line_means(self.model.expected_cells(source).mean, shares)

    # as the main job asks (`judge/maps/table_map.py`) -------------------------------------------------------
    def told(self, table: Table) -> str:
        """What was fitted, with the rows it saw where these are not all."""
        few = rows_fitted(table)
        return "mixed factor analysis" + (f" of {few:,} rows spread over the table" if few < table.n else "")

    def positions(self, X: Array, partition: Partition = ALL_BULK) -> Posterior:
        """Where each row lies, and how surely; one wrong answer bends it little, so that nothing is held out."""
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


def rows_fitted(table: Table) -> int:
    """How many rows of a table its mixed map is fitted to; all but those of a long one."""
    return min(table.n, max(int(MAP_CELLS / max(_sites(table), 1)), LEAST_FITTED))


def fit_mixed_map(table: Table, q: int, seed: int, rotation: str | None = None) -> MixedFactorAnalysis:
    """The mixed model of the columns that make a table's axes, with q dimensions, which a `rotation` may turn.

    Of a long table it is fitted to rows that are spread over all of it.
    """
    at = evenly_spread(table.n, rows_fitted(table))
    coded = [CodedColumn(c.values[at], c.labels) for c in table.numbers]
    model = MixedFactorAnalysis(
        q,
        likelihoods=tuple(likelihood(c) for c in table.numbers),
        tol=MAP_TOL,
        max_iter=MAP_PASSES,
        random_state=seed,
        rotation=rotation,
    )
    weight = None if table.weight is None else table.weight[at]
    return model.fit(CodedSource(coded, table.names), sample_weight=weight)


def table_map(
    model: LinearGaussian | MixedFactorAnalysis, names: tuple[str, ...], scales: ColumnScales | None = None
) -> TableMap:
    """The map of a table whose columns have these names, by the model of it."""
    if isinstance(model, MixedFactorAnalysis):
        return MixedMap(model, logs_of(scales))
    return GaussianMap(model, names, scales)
