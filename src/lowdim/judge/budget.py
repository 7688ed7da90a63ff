"""A time budget turned into counts from the table's size: the clock is never read, so a repeat gives the same bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.judge.dimensions.jury import MOST_FOLDS
from lowdim.judge.dimensions.parallel import SHUFFLED_CELLS, SHUFFLES
from lowdim.judge.dimensions.row_folds import usual_folds

FIXED_SECONDS, SECONDS_A_CELL = (
    5.0,
    6e-5,
)  # seconds of everything at the counts of a table's size: so many, and so many a cell
USUAL_REFITS = 100
LEAST_REPEATS = 20  # refits and shuffles below which a spread cannot be told
MOST_REPEATS = 1000
LEAST_FOLDS = 2  # a row must be left out of something


class Counts(NamedTuple):
    """How often the slow parts repeat; None = as the table's size says."""

    shuffles: int | None = None
    folds: int | None = None
    refits: int = USUAL_REFITS


def counts(budget: float | None, n: int, d: int) -> Counts:
    """The counts that about so many seconds allow on two cores of 2020; without a budget those of the table's size.

    A tenth of the time gives a tenth of the repeats, down to the fewest that say anything.

    >>> counts(None, 100, 10)
    Counts(shuffles=None, folds=None, refits=100)
    >>> counts(1.0, 100, 10).refits < counts(10.0, 100, 10).refits
    True
    """
    if budget is None:
        return Counts()
    cells = max(n * d, 1)
    share = budget / (FIXED_SECONDS + SECONDS_A_CELL * cells)
    shuffles = share * float(np.clip(SHUFFLED_CELLS // cells, *SHUFFLES))
    folds = share * usual_folds(n, d)
    return Counts(
        int(np.clip(shuffles, LEAST_REPEATS, MOST_REPEATS)),
        int(np.clip(folds, LEAST_FOLDS, MOST_FOLDS)),
        int(np.clip(share * USUAL_REFITS, LEAST_REPEATS, MOST_REPEATS)),
    )
