"""A time budget turned into counts from the table's size: the clock is never read, so a repeat gives the same bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.judge.dimensions.heldout import PARTS
from lowdim.judge.dimensions.heldout import WORK as HIDDEN
from lowdim.judge.dimensions.parallel import SHUFFLES
from lowdim.judge.dimensions.parallel import WORK as SHUFFLED

FIXED, EACH = 5.0, 6e-5  # seconds of everything at the counts of a table's size: so many, and so many a cell
REFITS = 100
LEAST = 20  # refits and shuffles below which a spread cannot be told
MOST = 1000


class Counts(NamedTuple):
    """How often the slow parts repeat; None = as the table's size says."""

    shuffles: int | None = None
    folds: int | None = None
    refits: int = REFITS


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
    share = budget / (FIXED + EACH * cells)
    shuffles = share * float(np.clip(SHUFFLED // cells, *SHUFFLES))
    folds = share * float(np.clip(HIDDEN // cells, 1, PARTS))
    return Counts(
        int(np.clip(shuffles, LEAST, MOST)), int(np.clip(folds, 1, PARTS)), int(np.clip(share * REFITS, LEAST, MOST))
    )
