"""A table as engines take it: columns of numbers first, then labels as codes, each with its kind.

This is the only place where `fill` asks a Table what its columns are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.words import LabelFill, plain_fill
from lowdim.judge.mixed_table import in_order, likelihood, mixed_table
from lowdim.maths.linalg import Array
from lowdim.table.cell_kinds import REAL
from lowdim.table.table import Table


class FillView(NamedTuple):
    """The columns of a table that help to fill it."""

    rows: Array  # numbers, then labels as codes; NaN is a gap
    left: Array  # the rows that were left out for having no number, likewise
    kinds: tuple[str, ...]  # likelihoods: real, yes/no, ordinal, count or label
    sizes: tuple[int, ...]  # how many labels; 0 of numbers
    places: NDArray[np.intp]  # of the numbers among the table's
    words: Mapping[int, LabelFill]  # the columns of words that have gaps, filled by their frequencies

    @property
    def d(self) -> int:
        """How many columns of numbers there are."""
        return len(self.places)

    @property
    def numbers(self) -> Array:
        return self.rows[:, : self.d]

    @property
    def is_mixed(self) -> bool:
        """Whether a column is no real number, so that a model of mixed columns knows more than one of numbers."""
        return set(self.kinds) != {REAL.word}


def number_view(X: Array) -> FillView:
    """A table of numbers alone."""
    d = X.shape[1]
    return FillView(X, np.zeros((0, d)), (REAL.word,) * d, (0,) * d, np.arange(d), {})


def fill_view(table: Table, X: Array, words: str, orders: Mapping[int, Sequence[str]]) -> FillView:
    """The view of a table whose numbers are X: with all its labels, or with those that are measured ("measured").

    `orders` are the labels of ordered columns, the lowest first, by the position of the column.
    """
    numbers = table.numbers
    plain = mixed_table(table).columns if table.holds == "measurements" else ()
    mixed = [in_order(c, orders[c.position]) if c.position in orders else c for c in plain]
    at = [k for k, c in enumerate(plain) if c.words and (words == "all" or c.number is not None)]
    labels = [mixed[k] for k in at]
    places = np.array([j for j, c in enumerate(numbers) if not c.labels], dtype=np.intp)
    d = len(places)
    left = [c.left if words == "all" else np.zeros(0) for c in labels]
    view = FillView(
        np.ascontiguousarray(np.column_stack([X[:, places], *(c.coded.values for c in labels)])),
        np.column_stack([np.full((len(left[0]) if left else 0, d), np.nan), *left]),
        (*(likelihood(numbers[j]) for j in places), *(c.kind for c in labels)),
        (*(0 for _ in places), *(len(c.coded.labels) for c in labels)),
        places,
        {},
    )
    gapped = {}
    for j, (k, c) in enumerate(zip(at, labels, strict=True), start=d):
        own = np.flatnonzero(np.isnan(view.left[:, j]) & ~np.isnan(view.left).all(axis=1))
        if len(c.gaps) or len(own):
            gapped[j] = plain_fill(view.rows, j, c, plain[k], own)
    return view._replace(words=gapped)
