"""A time budget turned into counts from the table's size: the clock is never read, so a repeat gives the same bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.judge.dimensions.judges import SHUFFLED_CELLS, SHUFFLES, usual_folds
from lowdim.judge.dimensions.jury import MOST_FOLDS

DEFAULT_BUDGET = 60.0  # seconds that an analysis may take where nobody says
FIXED_SECONDS = 2.5  # of any table, measured on one core of 2023 as the three that follow
SECONDS_A_JUDGED_CELL, JUDGED_CELLS = 1.2e-5, 500_000  # what judges look at: no more, however large a table is
SECONDS_A_CELL = 2e-6  # of reading, fitting, placing and filling
SECONDS_A_COLUMN = 3e-4
USUAL_REFITS = 100
LEAST_REPEATS = 20  # refits and shuffles below which a spread cannot be told
MOST_REPEATS = 1000
LEAST_FOLDS = 2  # a row must be left out of something


class Counts(NamedTuple):
    """How often the slow parts repeat; None = as the table's size says."""

    shuffles: int | None = None
    folds: int | None = None
    refits: int = USUAL_REFITS


def usual_seconds(n: int, d: int) -> float:
    """About how long an analysis takes with the counts of a table's size.

    >>> round(usual_seconds(176, 58)), round(usual_seconds(200_000, 40))
    (3, 25)
    """
    cells = n * d
    judged = min(cells, JUDGED_CELLS)
    return FIXED_SECONDS + SECONDS_A_JUDGED_CELL * judged + SECONDS_A_CELL * cells + SECONDS_A_COLUMN * d


def counts(budget: float | None, n: int, d: int) -> Counts:
    """The counts that about so many seconds allow; without a budget those of the table's size, within a minute.

    A tenth of the time gives a tenth of the repeats, down to the fewest that say anything.

    >>> counts(None, 100, 10)
    Counts(shuffles=None, folds=None, refits=100)
    >>> counts(1.0, 100, 10).refits < counts(10.0, 100, 10).refits
    True
    >>> counts(None, 10_000_000, 20).refits
    20
    """
    share = (DEFAULT_BUDGET if budget is None else budget) / usual_seconds(n, d)
    if budget is None and share >= 1.0:
        return Counts()
    shuffles = share * float(np.clip(SHUFFLED_CELLS // max(n * d, 1), *SHUFFLES))
    folds = share * usual_folds(n, d)
    return Counts(
        int(np.clip(shuffles, LEAST_REPEATS, MOST_REPEATS)),
        int(np.clip(folds, LEAST_FOLDS, MOST_FOLDS)),
        int(np.clip(share * USUAL_REFITS, LEAST_REPEATS, MOST_REPEATS)),
    )
