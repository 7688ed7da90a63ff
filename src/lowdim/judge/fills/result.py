"""A table with its gaps filled: fills, intervals, draws, what each column's are worth, and a frame as it came in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.calibration import (
    ColumnFill,
    HiddenErrors,
    beyond,
    calibrated,
    cross,
    shares_of_levels,
    width_word,
)
from lowdim.judge.fills.copies import NumberCopy
from lowdim.judge.fills.engines.engine import LINEAR, STACK
from lowdim.judge.fills.text import fills_card, label_lines, label_sentence, number_lines
from lowdim.judge.fills.words import COPY, LabelFill
from lowdim.judge.fills.write import FillWriter, check_other_file, check_text_file, filled_frame
from lowdim.maths.linalg import Array, Mask
from lowdim.models.base.calibration import normal_half_width
from lowdim.models.base.options import seed_of
from lowdim.table.column import ColumnScales
from lowdim.table.options import check_options
from lowdim.table.read import load_raw
from lowdim.table.table import Table, frame_like
from lowdim.table.write_back import original
from lowdim.text.format import count, listing
from lowdim.text.messages import check_level, error

LEVELS = (0.5, 0.8, 0.9, 0.95)  # at which a calibration is drawn
NO_GAPS = "No gaps: nothing to fill."
NAMED_ENGINES = 4  # of a stack, in a sentence
LINEAR_WORDS = "a linear model of the row's other cells"
COPY_WORDS = "what their copies say"


class EngineShare(NamedTuple):
    """The part of an engine in the fills of numbers."""

    engine: str
    share: float  # its weight
    error: float | None  # root mean square on the hidden cells, in SD of their columns; None where it was not tried
    why: str = ""  # it was not tried


class Fills(NamedTuple):
    """A table with its gaps filled, interval by interval, and how far to trust it."""

    filled: Array
    lower: Array  # equals filled where a cell was seen
    upper: Array
    sd: Array  # calibrated; 0 where seen
    is_filled: Mask  # True where a gap was filled
    columns: tuple[ColumnFill, ...]
    level: float
    n_components: int
    held: int
    tried: int
    skill: float  # over all hidden cells, each column in units of its spread
    error: float  # root mean square over them, by the gaps of each column
    drawn: Callable[[int, int], Array]  # (seed, number) -> one table drawn by the engines, not calibrated
    hidden: HiddenErrors  # the cells hidden on purpose, for intervals at another level
    mean: Array  # of each gap as the engines have it, in the order of the rows: before levels and counts are rounded
    spread: Array  # likewise, not calibrated
    how: str = ""  # why so many dimensions
    table: Table | None = None  # that was filled, where it was read
    scales: ColumnScales | None = None  # on which columns were filled; fills are values that their columns can have
    engines: tuple[EngineShare, ...] = ()  # of numbers; those that were not tried last
    labels: tuple[LabelFill, ...] = ()  # columns of words with gaps, also those that stand in `filled` as codes
    copies: tuple[NumberCopy, ...] = ()  # columns that were left out as functions of others
    only_copies: bool = False  # whether copies tell all gaps of numbers
    came: Any = None  # the frame that was filled

    @property
    def modelled(self) -> Array:
        """The fills as the engines have them: levels and counts not rounded, logarithms as logarithms."""
        table = self.filled if self.scales is None else self.scales.inward(self.filled)
        raw = np.array(table)
        raw[self.is_filled] = self.mean
        return raw

    def at(self, level: float) -> Fills:
        """The same fills with intervals of another level: the numbers that `fill(X, level=level)` gives."""
        check_level(level)
        columns, c = calibrated(self.columns, self.hidden, level)
        half = self.spread * c[np.nonzero(self.is_filled)[1]]
        modelled = self.modelled if self.scales is None else self.scales.reached(self.modelled)
        filled = modelled[self.is_filled]
        lower, upper, spread = self.filled.copy(), self.filled.copy(), np.zeros(self.filled.shape)
        lower[self.is_filled], upper[self.is_filled] = filled - half, filled + half
        spread[self.is_filled] = half / normal_half_width(level)
        if self.scales is not None:
            spread = np.where(self.is_filled, self.scales.spread(modelled, spread), 0.0)
            # A value that the column can have is between the ends just where it is between the values inside them.
            lower, upper = (
                np.where(self.is_filled, self.scales.possible(self.scales.outward(ends), rounding), self.filled)
                for ends, rounding in ((lower, "up"), (upper, "down"))
            )
            lower, upper = np.minimum(lower, self.filled), np.maximum(upper, self.filled)
        for word in self.labels:
            if word.number is not None:
                cells, p = (word.rows, word.number), word.middle
                two = len(word.labels) == 2  # codes that together are likely enough; of more labels the likeliest alone
                lower[cells], upper[cells] = (p >= level, p > 1.0 - level) if two else (p, p)
                spread[cells] = word.spread
        rated = self._replace(lower=lower, upper=upper, sd=spread, columns=columns, level=level)
        return rated._replace(held=sum(c.held for c in rated.number_columns))

    @property
    def number_columns(self) -> tuple[ColumnFill, ...]:
        """The columns that are no labels."""
        return tuple(c for j, c in enumerate(self.columns) if j not in self._codes)

    @property
    def _codes(self) -> set[int]:
        """Columns that are codes of labels."""
        return {c.number for c in self.labels if c.number is not None}

    @property
    def number_gaps(self) -> Mask:
        """Where numbers were filled, n x d: gaps that are no labels."""
        gaps = self.is_filled.copy()
        gaps[:, sorted(self._codes)] = False
        return gaps

    def level_shares(self, j: int) -> Array:
        """How likely each level of a column of levels is in each of its gaps, gaps x levels; none for other columns."""
        levels = () if self.scales is None or j in self._codes else self.scales.levels[j]
        gap = self.is_filled[:, j]
        return shares_of_levels(self.modelled[gap, j], self.sd[gap, j], levels)

    @property
    def chances(self) -> Array:
        """The probability of each fill of a column of levels, n x d; NaN everywhere else."""
        out = np.full(self.filled.shape, np.nan)
        for j in np.flatnonzero(self.is_filled.any(axis=0)).tolist():
            share, gap = self.level_shares(j), self.is_filled[:, j]
            if share.shape[1] and self.scales is not None:
                own = np.searchsorted(self.scales.levels[j], self.filled[gap, j])
                out[gap, j] = share[np.arange(len(share)), own]
        return out

    @property
    def filled_numbers(self) -> int:
        """How many gaps of numbers were filled."""
        return int(self.number_gaps.sum())

    @property
    def filled_labels(self) -> int:
        """How many gaps of words were filled."""
        return sum(c.gaps for c in self.labels)

    def coverage(self, levels: Sequence[float] = LEVELS) -> Array:
        """The share of hidden cells held by intervals of each level, every fold calibrated on the others."""
        if not self.tried:
            return np.zeros(len(levels))
        return np.asarray(cross(self.hidden, len(self.columns), levels).mean(axis=1))

    @property
    def engine(self) -> str:
        """What filled the numbers, by name: the linear model, a stack, or copies."""
        used = [one.engine for one in self.engines if one.share]
        return COPY if self.only_copies else STACK if len(used) > 1 else used[0] if used else LINEAR

    @property
    def engine_words(self) -> str:
        """The same as a person says it."""
        used = sorted((one for one in self.engines if one.share), key=lambda one: -one.share)
        if self.only_copies:
            return COPY_WORDS
        if len(used) < 2:
            return LINEAR_WORDS if self.engine == LINEAR else f"a {self.engine}"
        return f"a stack: {listing([f'{one.share:.0%} {one.engine}' for one in used], NAMED_ENGINES)}"

    @property
    def filled_by(self) -> NDArray[Any]:
        """The name of what filled each gap, n x d; empty where a cell was seen."""
        names = np.where(self.is_filled, self.engine, "").astype(object)
        for copy in self.copies:
            names[copy.told, copy.of] = f"{COPY} {copy.column}"
        for c in self.labels:
            if c.number is not None:
                names[c.rows, c.number] = c.engine
        return names

    @property
    def progress(self) -> str:
        """What was done, in a few words."""
        numbers = f"{count(self.filled_numbers, 'gap')}, {self.held:,} of {self.tried:,} hidden cells held"
        numbers = numbers if self.filled_numbers else "no gaps"
        tried, right = sum(c.tried for c in self.labels), sum(c.right for c in self.labels)
        words = f"{count(self.filled_labels, 'label')}, {right:,} of {tried:,} hidden ones right"
        return ", ".join([numbers] * bool(self.filled_numbers or not self.labels) + [words] * bool(self.labels))

    @property
    def frame(self) -> Any:
        """The frame that came in with the gaps of numbers and of words filled, in its own types; else the numbers."""
        if self.table is None:
            return self.filled
        if self.came is None:
            return frame_like(self.filled, self.table.names, self.table, self.table.code_words)
        return filled_frame(self.came, self.table, self)

    def frames(self, m: int = 20, *, random_state: Any = 0) -> list[Any]:
        """m tables as `frame` is one, numbers and words drawn jointly: for statistics that count the doubt of fills."""
        seed, numbers = seed_of(random_state), self.multiple(m, random_state=random_state)
        return [
            self._replace(filled=table, labels=tuple(c.drawn_once(seed, k) for c in self.labels)).frame
            for k, table in enumerate(numbers)
        ]

    def write(
        self, path: str | PathLike[str], *, intervals: bool = False, multiple: int = 0, random_state: Any = 0
    ) -> list[Path]:
        """Write the file that was read with its gaps filled, every cell that was seen as it stood.

        Parameters
        ----------
        path : path
            Of a text file: CSV, or as the file is.
        intervals : bool, default False
            Also write the ends of the intervals, which cells were gaps, and the probabilities of labels and levels:
            NAME.lower.csv, NAME.upper.csv, NAME.mask.csv, NAME.probability.csv, with a column for each label in
            alphabetical order, and for each level, the lowest first.
        multiple : int, default 0
            So many tables drawn jointly: NAME.1.csv ...
        random_state : default 0
            Decides the draws.

        Returns
        -------
        list of Path
            The files.
        """
        if self.table is None or not self.table.path:
            raise error("LD210", option="path", value=str(path), allowed="for fills of a file; write .frame instead")
        check_text_file(str(path))
        check_other_file(self.table.path, str(path))
        table = self.table
        sheet = original(load_raw(table.path, check_options(table.options)), table.options)
        to = FillWriter(table, sheet, Path(path))
        return to.write_fills(self, intervals, multiple, seed_of(random_state))

    @property
    def outside(self) -> NDArray[np.int8]:
        """-1 where a fill is below every value its column has, 1 where above, 0 elsewhere."""
        return beyond(self.filled, self.is_filled)

    @property
    def sentence(self) -> str:
        """One sentence, of numbers and of words each: how many, and how it did on hidden cells."""
        gaps, words = self.filled_numbers, label_sentence(self.labels) if self.labels else ""
        if gaps == 0:
            return words or NO_GAPS
        if self.tried == 0:
            return f"{count(gaps, 'gap')} filled; too few cells are seen to check the intervals. {words}".rstrip()
        word = width_word(self.held, self.tried, self.level)
        text = (
            f"{count(gaps, 'gap')} filled; our {100 * self.level:.3g}% intervals contain "
            f"{100 * self.held / self.tried:.0f}% of {self.tried:,} cells hidden on purpose{word and ': ' + word}."
        )
        return f"{text} {words}".rstrip()

    def own_model(self, map_dims: int | None = None) -> str:
        """Which model the fills are from; a map of the same table has a model of its own."""
        if self.only_copies:
            return f"Fills are {self.engine_words}."
        if self.engine == STACK:
            return f"Fills are by {self.engine_words}. {self.gain}"
        text = f"Fills use their own model ({count(self.n_components, 'dimension')}, {self.how})"
        return f"{text}." if map_dims is None else f"{text}; the map uses {map_dims}."

    @property
    def gain(self) -> str:
        """What the stack has gained, in a sentence."""
        alone = next((one.error for one in self.engines if one.engine == LINEAR), None)
        words = "" if alone is None else f"; linear model alone {alone:.3f}"
        return f"Error on hidden cells {self.error:.3f} SD{words}."

    def to_log(self, logged: Collection[str] = ()) -> tuple[str, ...]:
        """Columns with fills outside the values seen whose logarithm may serve better."""
        return tuple(c.column for c in self.columns if c.outside and c.skewed and c.column not in logged)

    def text(self, *, map_dims: int | None = None, logged: Collection[str] = ()) -> str:
        """The table of `lowdim fill`; `map_dims` are those of a map of the same table."""
        numbers = number_lines(self, map_dims, logged) if self.filled_numbers else []
        labels = label_lines(self.labels) if self.labels else []
        copies = [copy.words for copy in self.copies if len(copy.rows)]
        return "\n".join([*numbers, *labels, *copies] or [NO_GAPS])

    def facts(self, map_dims: int | None = None) -> dict[str, Any]:
        """What `text` says, as the command has it with --json."""
        return {
            "sentence": self.sentence,
            "columns": list(self.columns),
            "labels": [c.facts() for c in self.labels],
            "copies": [{"column": c.column, "gaps": len(c.rows), "of": c.kept} for c in self.copies],
            "fills_from": self.own_model(map_dims) if self.filled_numbers else "",
            "engine": self.engine,
            "engines": list(self.engines),
            "error": self.error,
        }

    def of_copy(self, copy: NumberCopy) -> tuple[Array, Array, Array]:
        """The fills of a copy, and the lower and upper ends of their intervals."""
        ends = np.stack([copy.at(self.lower), copy.at(self.upper)])
        return copy.at(self.filled), ends.min(axis=0), ends.max(axis=0)

    def __repr__(self) -> str:
        """At most four lines: what, what it held, which model, and where the rest is."""
        n, d = self.filled.shape
        first = f"Fills of {count(n, 'row')} x {count(d, 'column')}, {100 * self.level:.3g}% intervals"
        own = [self.own_model()] if self.filled_numbers else []
        return "\n".join([first, self.sentence, *own, ".text(), .filled, .lower, .upper, .at(0.8), .multiple(20)"])

    def _repr_html_(self) -> str:
        return fills_card(self)

    def multiple(self, m: int = 20, *, random_state: Any = 0) -> Array:
        """m tables drawn jointly, m x n x d, their spread calibrated as the intervals are."""
        factor = np.array([c.factor for c in self.columns])
        seed, centre = seed_of(random_state), self.modelled
        tables = (centre + (self.drawn(seed, k) - centre) * factor for k in range(m))
        if self.scales is not None:
            tables = (self.scales.possible(self.scales.outward(table)) for table in tables)
        drawn = np.stack([np.where(self.is_filled, table, self.filled) for table in tables])
        for c in self.labels:
            for number in range(m) if c.number is not None else ():
                drawn[number][c.rows, c.number] = c.drawn(seed, number)[: len(c.rows)]
        return drawn


def possible_fills(filled: Array, mask: Mask, scales: ColumnScales | None, labels: tuple[LabelFill, ...]) -> Array:
    """Fills in the table's units, as values that their columns can have; codes by the most likely label."""
    if scales is not None:
        filled = scales.outward(filled)
        filled = np.where(mask, filled, scales.possible(filled))
    for c in labels:
        if c.number is not None:
            filled[c.rows, c.number] = c.best
    return filled


# words ---------------------------------------------------------------------------------------------------
