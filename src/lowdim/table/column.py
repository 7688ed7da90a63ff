"""One column of a table: what it is for, what its cells are, what their numbers stand for, and the scale and the limits
that they have.

Every column that a model may use is a column of numbers: measurements on their scale, categories as codes 0, 1, ... of
their labels, NaN at gaps. What a number means is asked of the column, never of its name. Engines that want a category
as zeros and ones make them by `in_ones`. `ColumnScales` takes numbers to a model and back in the table's own units.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask
from lowdim.table.cell_kinds import COUNT, LABEL, ORDINAL, REAL, YES_NO, CellKind
from lowdim.text.escape import protect_terminal
from lowdim.text.format import all_digits

if TYPE_CHECKING:
    from lowdim.table.relations import Relation

BOX = ("not ticked", "ticked")  # what the codes 0 and 1 of a box stand for
MOST_LABELS = 50  # different labels of a column that a model takes
ROWS_A_LABEL = 2  # rows that a label has on average, at least: else a column names its rows
LABEL_KINDS = ("", "code", YES_NO.word)  # of columns set aside: words, codes and answers; not dates, places, ranks
ASIDE_WORDS = {"id": "names rows", "time": "says when", "weight": "weighs rows"}

ROUNDINGS = {"down": np.floor, "up": np.ceil}
ZERO_SHARE = 1e-9  # of what was added: a number below it was zero
HIGHEST_LOG = 700.0  # of a number that can still be stored
REACH = 0.5  # of the range of the values seen: so far beyond them a value is still plausible
LEAST_OF_RANGE = 10  # seen cells from which a range is known
CEILINGS = (1.0, 100.0, 360.0)  # shares, percentages, degrees: a column that reaches one exactly ends there
PERCENT = re.compile(r"%|percent|pct|proportion|fraction|\bshare\b", re.IGNORECASE)
LOG_FIGURES = 13  # that a number keeps through its logarithm and back


class CopyOf(NamedTuple):
    """The column that another says the same as; how, where both are numbers."""

    name: str
    relation: Relation | None = None


class Column(NamedTuple):
    """A column of a table: its role is number (it shapes axes), label, id, time, weight or out.

    `values` are float64, NaN at gaps, where the column is one of numbers or of labels, whose codes they are; names of
    rows and times are as they were read.
    """

    name: str
    role: str
    values: NDArray[Any]
    position: int  # in the file, counted from 1
    note: str = ""  # in words, for people
    kind: str = ""  # what it is: id, counter, year, ..., code, yes/no, ordinal, count; "" = a measurement, or text
    labels: tuple[str, ...] = ()  # what the codes 0, 1, ... stand for; () = numbers are numbers
    levels: tuple[float, ...] = ()  # the numbers it can have, where it is an item of a few levels
    grades: tuple[str, ...] = ()  # what the levels 0, 1, ... are called, the lowest first, where they are words
    log: bool = False  # its values are logarithms of those in the file
    offset: float = 0.0  # that was added before its logarithm was taken
    date: bool = False  # a label that is a date
    copy: CopyOf | None = None  # the column that it says the same as, for which it was left out

    @property
    def gaps(self) -> Mask:
        """Where a cell is missing."""
        if self.values.dtype.kind == "f":
            return np.isnan(self.values)
        if self.values.dtype.kind == "M":
            return np.isnat(self.values)
        return np.array([v is None for v in self.values], dtype=bool)

    @property
    def words(self) -> NDArray[Any]:
        """Its cells as text, labels as they are called; None at gaps."""
        if self.values.dtype.kind != "f":
            return self.values
        if self.code_words:
            return words_of(self.values, self.code_words)
        found = np.empty(len(self.values), dtype=object)
        found[:] = [None if v != v else all_digits(v) for v in self.values.tolist()]
        return found

    @property
    def code_words(self) -> tuple[str, ...]:
        """What its codes 0, 1, ... stand for: labels, which have no order, or grades, which have one."""
        return self.labels or self.grades

    @property
    def measure(self) -> CellKind:
        """What a column that shapes axes measures."""
        if self.labels:
            return YES_NO if len(self.labels) == 2 else LABEL
        if self.kind in (YES_NO.word, ORDINAL.word) and self.levels:
            return YES_NO if self.kind == YES_NO.word else ORDINAL
        return COUNT if self.kind == COUNT.word and not self.log else REAL

    @property
    def is_answer(self) -> bool:
        """Whether a column that shapes axes holds answers: a label, yes or no, or a level."""
        return self.measure not in (REAL, COUNT)

    @property
    def is_category(self) -> bool:
        """Whether a column that was set aside holds labels that repeat, and not too many different ones."""
        if self.role != "label" or self.date or self.kind not in LABEL_KINDS:
            return False
        return 2 <= len(self.labels) <= min(MOST_LABELS, int((~self.gaps).sum()) // ROWS_A_LABEL)

    @property
    def why_aside(self) -> str:
        """Why a column is neither filled nor part of a mixed model, in a few words."""
        seen = int((~self.gaps).sum())
        if not seen:
            return "empty"
        if self.copy is not None:
            return f"says the same as {self.copy.name}"
        levels = len(self.labels) or len(np.unique(self.values[~self.gaps].astype(str)))
        if self.role != "label":
            return ASIDE_WORDS.get(self.role) or ("never changes" if levels == 1 else self.note or "left out")
        if self.date or self.kind not in (*LABEL_KINDS, "key"):
            return self.note or self.kind or "a date"
        if levels == 1:
            return "has one label only"
        if 2 <= levels <= min(MOST_LABELS, seen // ROWS_A_LABEL):
            return "kept as a label, as asked"
        many = f"{levels:,} values"
        return f"{many} in {seen:,} cells" if levels > seen // ROWS_A_LABEL else f"{many}, more than {MOST_LABELS}"

    def at(self, rows: NDArray[np.intp]) -> Column:
        """The column in some rows, with the labels that they have."""
        values = self.values[rows]
        if not self.labels:
            return self._replace(values=values)
        had = np.unique(values[~np.isnan(values)]).astype(np.intp)
        if len(had) == len(self.labels):
            return self._replace(values=values)
        place = np.full(len(self.labels) + 1, np.nan)  # the last is a gap's
        place[had] = np.arange(len(had))
        codes = place[np.where(np.isnan(values), -1, values).astype(np.intp)]
        return self._replace(values=codes, labels=tuple(self.labels[k] for k in had))


def as_box(c: Column) -> Column:
    """The column as one of a box that was ticked or not: whatever stands in a cell ticks it."""
    return c._replace(values=np.where(c.gaps, 0.0, 1.0), labels=BOX)


def with_words(c: Column, words: NDArray[Any]) -> Column:
    """The column with these words (None at gaps) for its cells, as codes of its labels, which are in alphabetical
    order."""
    labels = tuple(sorted({v for v in words if v is not None}))
    return c._replace(values=codes_of(words, labels), labels=labels)


def with_grades(c: Column, grades: Sequence[str]) -> Column:
    """A column of labels that say how much as levels 0, 1, ... that shape axes, `grades` from the lowest to the
    highest."""
    levels = tuple(map(float, range(len(grades))))
    graded = c._replace(role="number", kind=ORDINAL.word, labels=(), levels=levels, grades=tuple(grades))
    return graded._replace(values=codes_of(c.words, grades))


def codes_of(words: NDArray[Any], labels: Sequence[str]) -> Array:
    """Words as the codes of these labels; NaN at gaps, and where a word is none of them.

    >>> codes_of(np.array(["b", None, "a", "c"], dtype=object), ("a", "b")).tolist()
    [1.0, nan, 0.0, nan]
    """
    code = {label: float(k) for k, label in enumerate(labels)}
    return np.array([code.get(v, np.nan) for v in words], dtype=np.float64)


def words_of(codes: Array, labels: Sequence[Any]) -> NDArray[Any]:
    """Codes as the labels that they stand for, of numbers between two levels the nearer one; None at gaps."""
    found, most = np.empty(len(codes), dtype=object), len(labels) - 1
    found[:] = [None if v != v else labels[min(max(round(v), 0), most)] for v in codes.tolist()]
    return found


# zeros and ones, for engines that want them -----------------------------------------------------------------------
def ones_of(labels: Sequence[Sequence[Any]]) -> list[tuple[int, int | None]]:
    """The columns in zeros and ones: which column each is of, and which label is its one; None where numbers are
    numbers. Of two labels the second is enough.

    >>> ones_of([(), ("no", "yes"), ("a", "b", "c")])
    [(0, None), (1, 1), (2, 0), (2, 1), (2, 2)]
    """
    found: list[tuple[int, int | None]] = []
    for j, own in enumerate(labels):
        if len(own) > 2:
            found += [(j, k) for k in range(len(own))]
        else:
            found.append((j, len(own) - 1 if own else None))
    return found


def one_names(
    names: Sequence[str], labels: Sequence[Sequence[Any]], ones: Sequence[tuple[int, int | None]]
) -> tuple[str, ...]:
    """What columns in zeros and ones are called."""
    return tuple(names[j] if k is None else one_name(names[j], labels[j][k]) for j, k in ones)


def one_name(name: str, label: Any) -> str:
    """A label of a column as people read it: species=Gentoo."""
    return protect_terminal(f"{name}={label}")


def in_ones(X: Array, ones: Sequence[tuple[int, int | None]]) -> Array:
    """A table with its labels in zeros and ones, as `ones_of` has them; NaN at gaps.

    >>> in_ones(np.array([[1.5, 2.0], [2.5, np.nan]]), ones_of([(), ("a", "b", "c")])).tolist()
    [[1.5, 0.0, 0.0, 1.0], [2.5, nan, nan, nan]]
    """
    if all(k is None for _, k in ones):
        return X
    parts = [X[:, j] if k is None else np.where(np.isnan(X[:, j]), np.nan, X[:, j] == k) for j, k in ones]
    return np.column_stack(parts)


def scales_in_ones(scales: ColumnScales | None, ones: Sequence[tuple[int, int | None]]) -> ColumnScales | None:
    """The scales of columns in zeros and ones."""
    if scales is None or all(k is None for _, k in ones):
        return scales
    own, one = scales.of([j for j, _ in ones]), np.array([k is not None for _, k in ones])
    return own._replace(least=np.where(one, 0.0, own.least), most=np.where(one, 1.0, own.most))


# the scale a column is analysed on -----------------------------------------------------------------------------
class ColumnScales(NamedTuple):
    """For every column of numbers: whether a model gets log(x + offset), and which values a cell can have."""

    log: Mask
    offset: Array
    levels: tuple[tuple[float, ...], ...]  # () = any
    whole: Mask  # counts
    least: Array  # what a cell can be at the least, in the table's units: 0 where no value is negative
    most: Array = np.array(np.inf)  # and at the most

    def of(self, columns: Sequence[int]) -> ColumnScales:
        """The scales of some of the columns, in this order."""
        at = list(columns)
        least, most = (np.broadcast_to(end, self.log.shape)[at] for end in (self.least, self.most))
        levels = tuple(self.levels[j] for j in at)
        return ColumnScales(self.log[at], self.offset[at], levels, self.whole[at], least, most)

    def within(self, X: Array) -> Array:
        """Numbers in the table's units, none of them beyond what its column can be."""
        return np.asarray(np.clip(X, self.least, self.most))

    def inward(self, X: Array) -> Array:
        """The table's units as a model takes them; what has no logarithm is a gap."""
        if not self.log.any():
            return X
        Y = np.array(X, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(Y[..., self.log] + self.offset[self.log])
        Y[..., self.log] = np.where(np.isfinite(logs), logs, np.nan)
        return Y

    def outward(self, Y: Array) -> Array:
        """A model's numbers in the table's units."""
        if not self.log.any():
            return Y
        X, offset = np.array(Y, dtype=np.float64), self.offset[self.log]
        own = np.exp(np.minimum(X[..., self.log], HIGHEST_LOG)) - offset
        X[..., self.log] = np.where(np.abs(own) < ZERO_SHARE * offset, 0.0, own)
        return X

    def reached(self, Y: Array) -> Array:
        """A model's numbers, none of them beyond what its column can be."""
        with np.errstate(divide="ignore"):
            least, most = (
                np.where(self.log, np.log(np.where(self.log, end + self.offset, 1.0)), end)
                for end in (self.least, self.most)
            )
        return np.asarray(np.clip(Y, least, most))

    def spread(self, middle: Array, sd: Array) -> Array:
        """Standard deviations in the table's units, of a model's numbers around `middle`."""
        if not self.log.any():
            return sd
        near = self.within(self.outward(middle + sd)) - self.within(self.outward(middle - sd))
        return np.where(self.log, near / 2, sd)

    def told(self, j: int, value: float, expected: float, sd: float) -> tuple[float, float, float, int]:
        """A value of column j, what was expected and its sd: a model's numbers in the table's units.

        What is expected ends at what the column can be; the last number says where: -1 below, 1 above, 0 within.
        """
        ends = np.zeros((2, len(self.log)))
        ends[:, j] = value, expected
        value, expected = self.outward(ends)[:, j].tolist()
        least, most = (float(np.broadcast_to(end, self.log.shape)[j]) for end in (self.least, self.most))
        limit = (expected > most) - (expected < least)
        expected = min(max(expected, least), most)
        if not self.log[j]:
            return value, expected, sd, limit
        low, high = ((expected + self.offset[j]) * np.exp((-sd, min(sd, HIGHEST_LOG))) - self.offset[j]).tolist()
        return float(f"{value:.{LOG_FIGURES}g}"), expected, (min(high, most) - max(low, least)) / 2, limit

    def possible(self, X: Array, rounding: str = "near") -> Array:
        """Numbers in the table's units as values their columns can have: the nearest, or "down" or "up".

        >>> none = np.zeros(2, dtype=bool)
        >>> scales = ColumnScales(none, np.zeros(2), ((1.0, 2.0, 4.0), ()), none, np.array([1.0, 0.0]))
        >>> scales.possible(np.array([[3.2, -0.5], [9.0, 2.5]])).tolist()
        [[4.0, 0.0], [4.0, 2.5]]
        """
        X = self.within(X)
        counts = X[..., self.whole]
        X[..., self.whole] = np.round(counts) if rounding == "near" else ROUNDINGS[rounding](counts)
        for j, levels in enumerate(self.levels):
            if levels:
                X[..., j] = _level(X[..., j], np.array(levels), rounding)
        return X


def log_scales(
    names: Sequence[str], logs: Mapping[str, float], limits: Sequence[Sequence[float | None]] | None = None
) -> ColumnScales | None:
    """Scales of these logarithms, with what was added to each before, and of the columns' `limits` (None: no end).

    None where there are neither.
    """
    if not logs and limits is None:
        return None
    log = np.array([name in logs for name in names], dtype=bool)
    offset, d = np.array([float(logs.get(name, 0.0)) for name in names]), len(names)
    least, most = np.full(d, -np.inf), np.full(d, np.inf)
    if limits is not None:
        least, most = (
            np.array([open_end if end is None else end for end in ends], dtype=np.float64)
            for ends, open_end in zip(limits, (-np.inf, np.inf), strict=True)
        )
    return ColumnScales(log, offset, ((),) * d, np.zeros(d, dtype=bool), least, most)


def logs_of(scales: ColumnScales | None) -> ColumnScales | None:
    """The scales where some column is a logarithm, as a mixed model wants them: its levels end by themselves."""
    return scales if scales is not None and scales.log.any() else None


def log_entries(asked: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    """Columns to take the logarithm of, each with what is added to it before.

    >>> log_entries(["gnp+2.5", "area", "a+1"], ["gnp", "area", "a+1"])
    {'gnp': 2.5, 'area': 0.0, 'a+1': 0.0}
    """
    found: dict[str, float] = {}
    for entry in asked:
        name, plus, number = entry.rpartition("+")
        added = plus and name in names and entry not in names and re.fullmatch(r"\d+(\.\d*)?(e[+-]?\d+)?", number)
        found[name if added else entry] = float(number) if added else 0.0
    return found


def log_words(logs: Mapping[str, float]) -> tuple[str, ...]:
    """The same as --log takes it."""
    return tuple(f"{name}+{all_digits(offset)}" if offset else name for name, offset in logs.items())


def _level(x: Array, levels: Array, rounding: str) -> Array:
    """The nearest level, or the highest that is not above, or the lowest that is not below."""
    if rounding == "near":
        at = np.searchsorted((levels[1:] + levels[:-1]) / 2, x)
    elif rounding == "down":
        at = np.maximum(np.searchsorted(levels, x, side="right") - 1, 0)
    else:
        at = np.minimum(np.searchsorted(levels, x), len(levels) - 1)
    return np.where(np.isnan(x), np.nan, levels[at])


def scales_of(columns: Sequence[Column], X: Array) -> ColumnScales:
    """The scales of a table's columns of numbers, X being what a model gets."""
    log = np.array([c.log for c in columns], dtype=bool)
    offset = np.array([c.offset for c in columns])
    counts = np.array([c.kind == COUNT.word for c in columns], dtype=bool)
    d, levels = len(columns), tuple(c.levels or tuple(map(float, range(len(c.labels)))) for c in columns)
    free = ColumnScales(log, offset, levels, counts, np.full(d, -np.inf))
    low, high = np.fmin.reduce(X, axis=0, initial=np.inf), np.fmax.reduce(X, axis=0, initial=-np.inf)
    ends = free.outward(np.stack([low, high]))
    kept = [[float(f"{end:.{LOG_FIGURES}g}") for end in side] for side in ends[:, log].tolist()]
    ends[:, log] = kept  # what went through a logarithm, as it stands in the file
    low, high = ends
    # half the range beyond the values seen is still plausible; a logarithm goes down to half its least value, and what
    # is never negative not below zero; of a column with few values nothing is known
    known = ((~np.isnan(X)).sum(axis=0) >= LEAST_OF_RANGE) & (high > low)
    reach = np.where(known, REACH * np.where(known, high, 0.0) - REACH * np.where(known, low, 0.0), np.inf)
    with np.errstate(over="ignore"):  # a limit beyond the largest double is none
        least = np.where(low >= 0, np.maximum(low - reach, 0.0), low - reach)
        least, most = np.where(log & known, low / 2, least), high + reach
    for j, c in enumerate(columns):
        top = float(high[j])
        for end in CEILINGS if low[j] >= 0 else ():  # what is never negative may have a natural end: a share, degrees
            if top == end or (top < end <= 100.0 and PERCENT.search(c.name)):
                most[j] = min(most[j], end)
        if c.labels:
            least[j], most[j] = 0.0, len(c.labels) - 1.0
    return free._replace(least=least, most=most)


def limit_lists(scales: ColumnScales) -> list[list[float | None]]:
    """The limits of every column as a file of JSON takes them: the least, the most, None where there is no end."""
    ends = (np.broadcast_to(end, scales.log.shape).tolist() for end in (scales.least, scales.most))
    return [[end if np.isfinite(end) else None for end in side] for side in ends]


def scales_beside(names: Sequence[str], known: Sequence[str], scales: ColumnScales | None) -> ColumnScales | None:
    """The scales of these columns by those of the ones that are `known`; all others are labels."""
    if scales is None:
        return None
    logs = {name: float(scales.offset[j]) for j, name in enumerate(known) if scales.log[j]}
    ends = dict(zip(known, zip(*limit_lists(scales), strict=True), strict=True))
    limits = zip(*(ends.get(name, (None, None)) for name in names), strict=True)
    return log_scales(names, logs, [list(side) for side in limits])
