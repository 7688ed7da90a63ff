"""The map of a table: a model of its rows, and what of it depends on the columns alone: names, labels, scales.

Whatever a model is, its cells are told in the table's own units, levels by their words, intervals within what a column
can be. Where a picture wants one number each, a column of several labels has a line for each of them: the probability
of that label, or in a row a zero or a one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from lowdim.judge.fills.calibration import MapCalibration
from lowdim.judge.maps.latent_cells import ExpectedCells, GaussianCells, LatentCells
from lowdim.judge.maps.map_columns import GapAnswers, MapColumn, NumberFills, line_names, lines_of
from lowdim.judge.mixed.mixed_cells import MixedCells
from lowdim.judge.rows.place_card import MappedRows, PlaceCard, PlaceCell, PlaceColumn
from lowdim.maths.linalg import Array
from lowdim.models.base.calibration import NORMAL_90, normal_half_width
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Posterior
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.table.column import ColumnScales, in_ones, logs_of, scales_beside
from lowdim.text.format import figures


@dataclass(frozen=True, eq=False)
class TableMap:
    """What a model says of a table's cells, and the scales of the table's columns; X are rows of these columns as a
    model has them, labels as codes."""

    cells: LatentCells
    scales: ColumnScales | None = None  # of the columns; None where all are as the file has them

    # columns and their lines ----------------------------------------------------------------------------
    @property
    def model(self) -> Any:
        """The fitted model."""
        return self.cells.model

    @property
    def columns(self) -> tuple[MapColumn, ...]:
        """What each column is."""
        return self.cells.columns

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns, as the file names them."""
        return tuple(c.name for c in self.columns)

    @cached_property
    def has_answers(self) -> bool:
        """Whether cells of some column are labels or levels."""
        return any(c.levels for c in self.columns)

    @cached_property
    def ones(self) -> list[tuple[int, int | None]]:
        """The column of each line, and the label whose probability it is; None where numbers are numbers."""
        return lines_of(self.columns)

    @cached_property
    def line_names(self) -> tuple[str, ...]:
        """What the lines are called: the columns, of several labels one for each."""
        return line_names(self.columns)

    def lines(self, X: Array) -> Array:
        """Rows as pictures and distances have them."""
        return in_ones(X, self.ones)

    def line_means(self, expected: ExpectedCells) -> Array:
        """Means of the columns and probabilities of their labels, as the lines have them."""
        parts = [
            expected.mean[:, k] if code is None or len(self.columns[k].labels) == 2 else self._share(expected, k, code)
            for k, code in self.ones
        ]
        return np.column_stack(parts)

    def _share(self, expected: ExpectedCells, k: int, code: int) -> Array:
        """The probability of one label of column k; 0 where no row of the fit has it."""
        levels, shares = self.columns[k].levels, expected.shares[k]
        return np.asarray(shares[:, levels.index(code)]) if code in levels else np.zeros(len(shares))

    def transform(self, X: Array) -> Array:
        """Where each row lies."""
        return self.cells.posterior(X).mean

    def inverse_transform(self, Z: Array) -> Array:
        """The mean of every line at some places."""
        return self.line_means(self.cells.at(np.asarray(Z, dtype=np.float64)))

    def rebuilt(self, X: Array) -> Array:
        """The mean of every line given all cells of its row."""
        return self.line_means(self.cells.in_rows(X))

    # what cells are, in the table's units ---------------------------------------------------------------
    def in_own_units(self, expected: ExpectedCells, half: Array) -> NumberFills:
        """What cells are expected to be, with intervals: of levels the likeliest (of ordinal ones the median) with the
        levels that hold, of several labels the likeliest alone; logarithms as what they are the logarithms of.

        `half` is half the width of an interval for each column, in standard deviations of a normal one; an interval of
        levels leaves out as much on each side.
        """
        middle = expected.mean if expected.fill is None else expected.fill
        low, high = (expected.mean + side * half * expected.sd for side in (-1.0, 1.0))
        out = NumberFills(np.array(middle), np.array(expected.sd), low, high)
        for k, column in enumerate(self.columns):
            if column.cells.never_negative:
                low[:, k] = np.maximum(low[:, k], 0.0)
            if k in expected.intervals:
                interval = expected.intervals[k]
                if expected.fill is None:
                    out.filled[:, k] = interval(0.5)[0]
                low[:, k], high[:, k] = interval(float(ndtr(-half[k])))
            if column.levels:
                for part, new in zip(out, _levels_that_hold(column, expected.shares[k], half[k]), strict=True):
                    part[:, k] = new
        if self.scales is None or not self.scales.log.any():
            return out
        # intervals of logarithms end where their columns do: log(x + a) goes on below x = 0, counts do not
        low, high = (np.where(self.scales.log, self.scales.reached(part), part) for part in (low, high))
        own = [self.scales.outward(part) for part in (out.filled, low, high)]
        return NumberFills(own[0], self.scales.spread(out.filled, out.sd), *own[1:])

    def in_lines(self, told: NumberFills, expected: ExpectedCells, half: Array) -> NumberFills:
        """What is told of columns as the lines have it: of several labels whether each is the likeliest, and which may
        be."""
        out = NumberFills(*(part[:, [k for k, _ in self.ones]] for part in told))
        for line, (k, code) in enumerate(self.ones):
            if code is None or len(self.columns[k].labels) <= 2:
                continue
            p, tail = self._share(expected, k, code), float(ndtr(-half[k]))
            out.filled[:, line] = told.filled[:, k] == code
            out.sd[:, line] = np.sqrt(p * (1.0 - p))
            out.lower[:, line] = p > 1.0 - tail
            out.upper[:, line] = p >= tail
        return out

    def fills(self, X: Array, used: MapCalibration) -> NumberFills:
        """The gaps of rows with intervals; those of levels may hold more than is claimed, not less."""
        levelled = np.array([bool(c.levels) for c in self.columns])
        half = np.maximum(used.half, normal_half_width(used.level) * levelled)
        told, gap = self.in_own_units(self.cells.in_rows(X), half), np.isnan(X)
        if self.scales is None:
            filled, low, high = (np.where(gap, part, X) for part in (told.filled, told.lower, told.upper))
        else:
            within, seen = self.scales.within, self.scales.outward(X)
            filled, low, high = (np.where(gap, within(part), seen) for part in (told.filled, told.lower, told.upper))
        return NumberFills(filled, np.where(gap, told.sd, 0.0), low, high)

    def gap_answers(self, X: Array) -> GapAnswers | None:
        """The most likely answer of every gap that has answers, of ordinal columns the median; None where no column
        has any."""
        if not self.has_answers:
            return None
        shares, out = self.cells.in_rows(X).shares, GapAnswers([], [], [], [])
        for k, column in enumerate(self.columns):
            rows = np.flatnonzero(np.isnan(X[:, k]))
            if not column.levels or not len(rows):
                continue
            levels, share = np.array(column.levels), shares[k][rows]
            best = _levels_that_hold(column, share, 0.0)[0]
            for i, value, own in zip(rows.tolist(), best.tolist(), share, strict=True):
                out.row.append(i)
                out.column.append(k)
                out.fill.append(column.code_words[int(value)] if column.code_words else value)
                out.probability.append(float(own[levels == value][0]))
        return out

    @property
    def middles(self) -> Array:
        """The mean of every number as the table is told; NaN where it has levels."""
        means = self.cells.means
        return means if self.scales is None else self.scales.outward(means)

    def larger(self, X: Array) -> Array:
        """How much larger than a complete row's the ellipse of a row with these gaps usually is."""
        seen = ~np.isnan(X)
        whole = self.cells.usual(np.ones((1, len(self.columns)), dtype=bool))
        return np.asarray(ellipse_size(self.cells.usual(seen)) / ellipse_size(whole))

    # a place --------------------------------------------------------------------------------------------
    def at(self, place: Array, rows: MappedRows) -> PlaceCard:
        """What lives at a place, with the bands that hold 90 % of new cells, and the rows about it, which are looked up
        by their lines.

        >>> from lowdim.models.linear.ppca import ProbabilisticPCA
        >>> X = np.random.default_rng(0).standard_normal((60, 1)) * np.ones(4) + np.sin(np.arange(240)).reshape(60, 4)
        >>> map = table_map(ProbabilisticPCA(1).fit(X), ("a", "b", "c", "d"))
        >>> card = map.at(np.array([9.0]), MappedRows(X, map.transform(X), [str(i + 1) for i in range(60)]))
        >>> card.been, len(card.near)
        (False, 5)
        """
        expected, half = self.cells.at(place[None]), np.full(len(self.columns), NORMAL_90)
        columns = self.in_own_units(expected, half)
        if self.scales is not None:  # no column goes on beyond what it can be
            ends = (self.scales.within(part) for part in (columns.filled, columns.lower, columns.upper))
            filled, low, high = ends
            columns = NumberFills(filled, columns.sd, low, high)
        told = self.in_lines(columns, expected, half)
        mean = self.line_means(expected)[0]
        off = (mean - rows.middle) / rows.spread
        numbered = [not self.columns[k].levels for k, _ in self.ones]
        own, low, high, sd = (part[0] for part in (told.filled, told.lower, told.upper, told.sd))
        if self.scales is not None:
            log = self.scales.log[[k for k, _ in self.ones]]
            sd = np.where(log, (high - low) / (2.0 * NORMAL_90), sd)
        numbers = np.column_stack([own, low, high, off, sd, np.where(numbered, own, mean)])
        cells = tuple(PlaceCell(n, *line) for n, line in zip(self.line_names, numbers.tolist(), strict=True))
        gap, every = float(rows.gaps(place[None])[0]), self._columns_at(cells, expected.shares, rows.X)
        return PlaceCard(tuple(place.tolist()), cells, rows.near(mean), gap <= rows.empty, gap, rows.empty, every)

    def _columns_at(
        self, cells: tuple[PlaceCell, ...], shares: Mapping[int, Array], lines: Array
    ) -> tuple[PlaceColumn, ...]:
        """Every column once: answers by their words with their probabilities, numbers with a band."""
        found = []
        for k, column in enumerate(self.columns):
            own = [line for line, (j, _) in enumerate(self.ones) if j == k]
            cell = max((cells[line] for line in own), key=lambda c: abs(c.off))
            word, chance, usual = "", None, None
            if column.levels:
                share = shares[k][0]
                best = column.levels[share.argmax()]
                word, chance = column.word(best), float(share.max())
                seen = lines[~np.isnan(lines[:, own[0]])][:, own]
                usual = float((seen[:, int(best)] if len(own) > 1 else seen[:, 0] == best).mean())
            low, high = (np.floor(cell.low), np.ceil(cell.high)) if column.cells.counted else (cell.low, cell.high)
            most = 12 if column.cells.ordered or column.cells.counted else 3  # levels and counts in full
            ends = (float(low), float(high))
            told = [column.word(end) if column.grades else figures(end, most) for end in ends]
            band = None if column.labels else (told[0], told[1])
            found.append(PlaceColumn(column.name, word, chance, usual, band, cell))
        return tuple(found)


def _levels_that_hold(column: MapColumn, share: Array, half: float) -> tuple[Array, Array, Array, Array]:
    """The best level of a column for each row of probabilities, the spread, and the levels between which it lies."""
    levels = np.array(column.levels)
    if len(column.labels) > 2:  # labels have no order
        best = levels[share.argmax(axis=1)]
        return best, np.zeros(len(best)), best, best
    order = np.argsort(levels)
    levels, share = levels[order], share[:, order]
    upto = np.cumsum(share, axis=1)
    upto[:, -1] = 1.0
    mean = share @ levels
    sd = np.sqrt(np.maximum(share @ levels**2 - mean**2, 0.0))
    tail = float(ndtr(-half))
    low, middle, high = (levels[(upto < q - 1e-12).sum(axis=1)] for q in (tail, 0.5, 1.0 - tail))
    return middle if column.cells.ordered else levels[share.argmax(axis=1)], sd, low, high


def ellipse_size(posterior: Posterior) -> Array:
    """Geometric mean of the half axes of each row's ellipse."""
    q = posterior.mean.shape[1]
    if q == 0:
        return np.ones(len(posterior.mean))
    return np.asarray(np.exp(0.5 * np.linalg.slogdet(posterior.cov)[1] / q))


def table_map(
    model: LatentModel[Any, Any],
    names: tuple[str, ...],
    scales: ColumnScales | None = None,
    unit: Array | float = 1.0,
) -> TableMap:
    """The map of a table by its model, whose columns have these names, were divided by `unit` and are on these scales.

    A model that gives each column its own likelihood knows its columns, labels that were set aside among them, and its
    levels end by themselves.
    """
    if isinstance(model, MixedFactorAnalysis):
        cells = MixedCells(model)
        return TableMap(cells, logs_of(scales_beside([c.name for c in cells.columns], names, scales)))
    columns = tuple(MapColumn(name) for name in names)
    kind = GaussianCells if isinstance(model, LinearGaussian) else LatentCells
    return TableMap(kind(model, columns, unit), scales)
