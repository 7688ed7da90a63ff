"""Cells that look wrong by themselves, whatever the rest of their row says: no model is needed to see them.

Each of these is only said of a few cells of a column that otherwise keeps to its kind: percentages up to 100, numbers
from zero on, whole numbers, sizes within a few powers of ten; and of rows that are zero where hardly another row is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lowdim.maths.linalg import Array, Mask
from lowdim.table.column import Column
from lowdim.table.kinds import MOST_LEVELS, name_words

ENOUGH_CELLS = 50  # of a column, from which a few are few
MOST_WRONG, MOST_SHARE = 3, 0.01  # cells of a column that may be wrong: one more is another kind of column
PERCENT_WORDS = {"percent", "perc", "pct", "percentage", "prozent", "pourcentage", "porcentaje", "%"}
WIDE_PERCENT, FULL = 25.0, 95.0  # percentages that nobody calls so begin below the one, and many are above the other
ZERO_CLIFF = 20  # times as many cells as near to zero on its upper side as the nearest of those below it
CLIFF = 10  # times as many cells just below 100 as above it
ZERO_SHARE = 0.02  # of a column's cells that are zero, from which zero is where its numbers end
FAR, APART = 20.0, 3.0  # times what nearly all others are, and the largest of them
LOG_SPREADS = 6.0  # by which its logarithm lies beyond the middle one: skew columns have a long end by nature
LARGE = 1000.0  # numbers that are written whole because they are large
ZERO_CELLS = 5  # cells of a row that are zero where hardly another row is


class WrongCell(NamedTuple):
    """A cell that looks wrong, and why; of a row of zeros the first one."""

    row: int
    column: int
    why: str


def wrong_cells(X: Array, columns: Sequence[Column]) -> list[WrongCell]:
    """The cells of a table that look wrong by themselves, column by column, rows of zeros last.

    >>> rate = np.append(np.linspace(5.0, 100.0, 299).round(), 118.0)
    >>> wrong_cells(rate[:, None], [Column("Grad.Rate", "number", rate, 1)])
    [WrongCell(row=299, column=0, why='a percentage above 100')]
    """
    found = list[WrongCell]()
    for j, c in enumerate(columns):
        v = X[:, j]
        seen = v[~np.isnan(v)]
        if len(seen) < ENOUGH_CELLS or c.labels or c.log or c.levels:
            continue
        for wrong, why in (
            (_beyond_hundred(c.name, v, seen), "a percentage above 100"),
            (below_zero(v, seen), "a negative number where the others count from zero"),
            (_fractions(v, seen), "a fraction among whole numbers"),
            (_far(v, seen), "far larger than all others"),
        ):
            if 0 < wrong.sum() <= max(MOST_WRONG, MOST_SHARE * len(seen)):
                found += [WrongCell(int(row), j, why) for row in np.flatnonzero(wrong)]
    return found + _zero_rows(X, [not c.labels for c in columns])


def _none(v: Array) -> Mask:
    return np.zeros(len(v), dtype=bool)


def _beyond_hundred(name: str, v: Array, seen: Array) -> Mask:
    """Cells above 100 of percentages: called so, or spread widely up to 100 with next to nothing beyond."""
    above, full = (seen > 100).sum(), ((seen > FULL) & (seen <= 100)).sum()
    cliff = seen.min() < WIDE_PERCENT and full >= CLIFF * above
    called = bool({*name_words(name), *("%" in name) * ["%"]} & PERCENT_WORDS) and np.quantile(seen, 0.9) > 10
    return v > 100 if seen.min() >= 0 and above <= MOST_WRONG and (cliff or called) else _none(v)


def below_zero(v: Array, seen: Array) -> Mask:
    """Negative cells of a column whose others end at zero: many are zero, or lie as near to it on the other side. A
    tail that thins out to zero has few there: of Gaussian columns one in 600 is taken for one with an end."""
    negative = seen[seen < 0]
    if not 0 < len(negative) <= MOST_WRONG:
        return _none(v)
    near = ((seen >= 0) & (seen <= -negative.max())).sum()
    return v < 0 if (seen == 0).mean() >= ZERO_SHARE or near >= ZERO_CLIFF * len(negative) else _none(v)


def _fractions(v: Array, seen: Array) -> Mask:
    """Cells that are not whole, halves only among counts; of large numbers the small ones may have decimals."""
    counts = seen.min() >= 0 and (seen == 0).mean() >= ZERO_SHARE and len(np.unique(seen)) <= ENOUGH_CELLS
    with np.errstate(invalid="ignore"):
        wrong = (v != np.round(v)) & (counts | (2 * v != np.round(2 * v))) & ~np.isnan(v)
    few = (seen != np.round(seen)).sum() <= MOST_WRONG and np.quantile(np.abs(seen), 0.9) <= LARGE
    return wrong if few else _none(v)


def _far(v: Array, seen: Array) -> Mask:
    """The few that are many times as large as nearly all others, and lie apart from all of them."""
    usual = FAR * float(np.quantile(seen, 1.0 - MOST_SHARE, method="lower"))
    spreads = seen.min() >= 0 and (seen == 0).mean() < 0.5 and len(np.unique(seen)) > MOST_LEVELS
    if not spreads or usual <= 0 or not (seen > usual).any():
        return _none(v)
    low, middle, high = np.quantile(np.log(seen[seen > 0]), (0.25, 0.5, 0.75))
    least = float(seen[seen > usual].min())
    apart = least > APART * seen[seen <= usual].max() and np.log(least) > middle + LOG_SPREADS * (high - low) / 1.349
    return v > usual if apart else _none(v)


def _zero_rows(X: Array, measured: Sequence[bool]) -> list[WrongCell]:
    """Rows that are zero in several columns and most of their cells, where hardly another row is."""
    numbers = np.flatnonzero(measured)
    if len(X) < ENOUGH_CELLS or len(numbers) < ZERO_CELLS:
        return []
    zero = X[:, numbers] == 0
    rare = zero & (zero.mean(axis=0) <= MOST_SHARE)
    cells = rare.sum(axis=1)
    rows = np.flatnonzero((cells >= ZERO_CELLS) & (2 * cells >= (~np.isnan(X[:, numbers])).sum(axis=1)))
    if len(rows) > max(MOST_WRONG, MOST_SHARE * len(X)):
        return []
    return [
        WrongCell(int(row), int(numbers[np.argmax(rare[row])]), f"one of {cells[row]} zeros of a row") for row in rows
    ]
