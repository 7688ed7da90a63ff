"""What fills gaps: an engine is fitted to some rows and says of any others what their gaps hold.

Rows are those of a `FillView`: columns of numbers first, then labels as codes, NaN at gaps. Every engine gives the
numbers a mean and a spread; one that tells labels gives each a probability as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.maths.seeds import FILL_DRAWS

LINEAR, MIXED_MODEL, STACK = "linear model", "mixed model", "stack"  # names, of a mixed model its beginning
MOST_ONES = 12  # labels of a column that are seen as zeros and ones
OUTER = 0.1  # of the values at each end, whose width is how far beyond them a fill may lie

Shares = dict[int, Array]  # column -> rows x labels: the probability of each


class FittedEngine:
    """An engine fitted to some rows; to make one is to fit it."""

    n_components = 0
    tells_labels = False

    def fills(self, rows: Array) -> tuple[Array, Array]:
        """The numbers, gaps at their means, and the standard deviation of each: 0 where seen."""
        raise NotImplementedError

    def drawn(self, rows: Array, seed: int, number: int) -> Array:
        """The rows with each gap drawn, those of a row jointly."""
        raise NotImplementedError

    def shares(self, rows: Array, columns: Sequence[int]) -> Shares:
        """The probability of each label of these columns."""
        raise NotImplementedError


EngineFit = Callable[[Array], FittedEngine]


class Engine(NamedTuple):
    """An engine with its settings: its name, what fits it, and the forecast of a fit's seconds on one core.

    Seconds follow from the table's size and the clock is never read: the same command gives the same bytes.
    """

    name: str
    fit: EngineFit
    seconds: float = 0.0


class OfNumbers(FittedEngine):
    """An engine of tables of numbers on the rows of a view: of its first d columns, and labels as zeros and ones.

    `sizes` says how many labels each column after the numbers has; without it they are not seen, nor is one that has
    too many. `bounded` fills lie no further beyond the values seen than their outer tenth is wide: lines go on where
    values end, and a row with one huge number would be given impossible ones elsewhere. A column with a long tail may
    be left by as much as the tail is long, one whose values end at a wall not at all.
    """

    def __init__(
        self, rows: Array, *, fit: EngineFit, d: int, sizes: Sequence[int] = (), bounded: bool = False
    ) -> None:
        self.d, self.sizes = d, sizes
        ends: tuple[Array | float, Array | float] = reach(rows[:, :d]) if bounded else (-np.inf, np.inf)
        self.low, self.high = ends
        self.inner = fit(self._wide(rows))
        self.n_components = self.inner.n_components

    def fills(self, rows: Array) -> tuple[Array, Array]:
        mean, sd = self.inner.fills(self._wide(rows))
        mean, sd = mean[:, : self.d], sd[:, : self.d]
        return np.where(sd > 0.0, np.clip(mean, self.low, self.high), mean), sd

    def drawn(self, rows: Array, seed: int, number: int) -> Array:
        draw = self.inner.drawn(self._wide(rows), seed, number)[:, : self.d]
        return np.where(np.isnan(rows[:, : self.d]), np.clip(draw, self.low, self.high), draw)

    def _wide(self, rows: Array) -> Array:
        labels = zip(rows[:, self.d :].T, self.sizes, strict=True) if self.sizes else ()
        ones = (zeros_and_ones(x, size) for x, size in labels if size <= MOST_ONES)
        return np.column_stack([rows[:, : self.d], *ones])


def reach(X: Array) -> tuple[Array, Array]:
    """The least and the largest value that a bounded fill of each column may have.

    >>> reach(np.arange(11.0)[:, None])
    (array([-1.]), array([11.]))
    """
    seen = np.where(np.isnan(X).all(axis=0), 0.0, X)
    low, inner_low, inner_high, high = np.nanquantile(seen, (0.0, OUTER, 1.0 - OUTER, 1.0), axis=0)
    return 2.0 * low - inner_low, 2.0 * high - inner_high


def zeros_and_ones(codes: Array, size: int) -> Array:
    """A column of codes as indicators of its labels but the last, NaN at gaps.

    >>> zeros_and_ones(np.array([0.0, 2.0, np.nan]), 3).tolist()
    [[1.0, 0.0], [0.0, 0.0], [nan, nan]]
    """
    return np.where(np.isnan(codes)[:, None], np.nan, codes[:, None] == np.arange(size - 1))


def drawing(seed: int, number: int) -> np.random.Generator:
    """The random numbers of one drawn table."""
    return np.random.default_rng([seed, FILL_DRAWS, number])


def draw_seed(seed: int, number: int) -> int:
    """The seed by which a model draws one table of many."""
    return seed + 1009 * number
