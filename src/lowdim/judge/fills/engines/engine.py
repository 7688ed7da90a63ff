"""What fills gaps: an engine is fitted to some rows and says of any others what their gaps hold.

Rows are those of a `FillView`: columns of numbers first, then labels as codes, NaN at gaps. Every engine gives the
numbers a mean and a spread; one with `shares` gives each label a probability as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.maths.seeds import FILL_DRAWS

MOST_ONES = 12  # labels of a column that are seen as zeros and ones

Shares = dict[int, Array]  # column -> rows x labels: the probability of each


class FittedEngine(NamedTuple):
    """A fitted engine: its dimensions, and what it says of rows with gaps."""

    n_components: int
    fills: Callable[[Array], tuple[Array, Array]]  # rows -> means (what is seen stays), sd (0 where seen)
    drawn: Callable[[Array, int, int], Array]  # (rows, seed, number) -> the rows with each gap drawn
    shares: Callable[[Array, Sequence[int]], Shares] | None = None  # (rows, columns of labels)


EngineFit = Callable[[Array], FittedEngine]


class Engine(NamedTuple):
    """An engine with its settings: its name, what fits it, and the forecast of a fit's seconds on one core.

    Seconds follow from the table's size and the clock is never read: the same command gives the same bytes.
    """

    name: str
    fit: EngineFit
    seconds: float


def drawing(seed: int, number: int) -> np.random.Generator:
    """The random numbers of one drawn table."""
    return np.random.default_rng([seed, FILL_DRAWS, number])


def draw_seed(seed: int, number: int) -> int:
    """The seed by which a model draws one table of many."""
    return seed + 1009 * number


def zeros_and_ones(codes: Array, size: int) -> Array:
    """A column of codes as indicators of its labels but the last, NaN at gaps.

    >>> zeros_and_ones(np.array([0.0, 2.0, np.nan]), 3).tolist()
    [[1.0, 0.0], [0.0, 0.0], [nan, nan]]
    """
    return np.where(np.isnan(codes)[:, None], np.nan, codes[:, None] == np.arange(size - 1))


def of_numbers(fit: EngineFit, d: int, sizes: Sequence[int] = ()) -> EngineFit:
    """A fit to tables of numbers as one to rows of a view: its first d columns, and labels as zeros and ones.

    `sizes` says how many labels each column after the numbers has; without it they are not seen, nor is one that has
    too many.
    """

    def wide(rows: Array) -> Array:
        labels = zip(rows[:, d:].T, sizes, strict=True) if sizes else ()
        return np.column_stack([rows[:, :d], *(zeros_and_ones(x, size) for x, size in labels if size <= MOST_ONES)])

    def fitted(rows: Array) -> FittedEngine:
        inner = fit(wide(rows))

        def fills(rows: Array) -> tuple[Array, Array]:
            mean, sd = inner.fills(wide(rows))
            return mean[:, :d], sd[:, :d]

        return FittedEngine(inner.n_components, fills, lambda rows, seed, k: inner.drawn(wide(rows), seed, k)[:, :d])

    return fitted
