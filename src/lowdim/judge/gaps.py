"""The gaps of a table: how many, where, together or apart, and whether they look random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from lowdim.judge.outliers.law import false_discovery
from lowdim.maths.linalg import Array, Mask, moderate_scale
from lowdim.table.column import in_ones, one_names, ones_of
from lowdim.text.escape import protect_terminal
from lowdim.text.format import count
from lowdim.text.messages import Message, message

FALSE_DISCOVERY_RATE = 0.01  # share of false alarms among the pairs reported; one clean table in a hundred is named
LEAST_CELLS = 5  # a side with fewer cells is not tested


class GapDependence(NamedTuple):
    """Whether a column is missing depends on what another one says."""

    column: str
    on: str
    difference: float  # mean of `on` where `column` is missing, less where it is seen, in units of its spread
    p: float
    answer: str = ""  # where `on` is an answer, which a row gave or did not, what that is called

    @property
    def where(self) -> str:
        """Where the column is missing more often, in a few words."""
        if self.answer:
            return f"{self.on.removesuffix(f'={self.answer}')} is {'' if self.difference > 0 else 'not '}{self.answer}"
        return f"{self.on} is {'high' if self.difference > 0 else 'low'}"


class GapReport(NamedTuple):
    """Counts, and the pairs of columns in which missing goes with the other's value."""

    cells: int
    gaps: int
    by_column: NDArray[np.intp]
    by_row: NDArray[np.intp]
    complete_rows: int
    depends: tuple[GapDependence, ...]  # strongest first
    tested: int
    sentence: str

    def notes(self) -> tuple[Message, ...]:
        """The message that gaps go with values, naming the strongest pair."""
        if not self.depends:
            return ()
        first, n = self.depends[0], len(self.depends)
        tested = f"p {first.p:.1g}; {n} of {self.tested} pairs of columns tested, 1% false discovery rate"
        others = len({one.column for one in self.depends}) - 1
        more = f"; the gaps of {count(others, 'more column')} go with values too" if others else ""
        return (message("LD124", column=first.column, when=first.where, more=more, tested=tested),)


def gap_report(X: Array, names: tuple[str, ...], labels: Sequence[Sequence[str]] = ()) -> GapReport:
    """Describe the gaps of a table; `labels` are those of its columns, () where numbers are numbers.

    For every column with gaps and every other column, Student's test compares the other column's values where
    the first is missing and where it is seen, of several labels the share of each; Benjamini and Hochberg's rule keeps
    false alarms at 1 %.

    >>> X = np.array([[1.0, np.nan], [2.0, 3.0], [4.0, 5.0]])
    >>> gap_report(X, ("a", "b")).sentence
    '1 of 6 cells is empty (17%); 2 of 3 rows are complete.'
    """
    seen = ~np.isnan(X)
    gone = ~seen
    ones = ones_of(labels or ((),) * len(names))
    others = one_names(names, labels, ones)
    pairs, p, difference = _tests(~seen, in_ones(X, ones), np.array([j for j, _ in ones], dtype=np.intp))
    alarm = false_discovery(p, FALSE_DISCOVERY_RATE) if len(p) else np.zeros(0, dtype=bool)
    order = np.argsort(p, kind="stable")
    dependences = tuple(
        GapDependence(
            names[pairs[k][0]],
            others[pairs[k][1]],
            float(difference[k]),
            float(p[k]),
            _answer(labels, ones[pairs[k][1]]),
        )
        for k in order
        if alarm[k]
    )
    whole = int(seen.all(axis=1).sum())
    return GapReport(
        X.size,
        int(gone.sum()),
        gone.sum(axis=0),
        gone.sum(axis=1),
        whole,
        dependences,
        len(p),
        _sentence(X.shape, int(gone.sum()), whole, dependences),
    )


def _answer(labels: Sequence[Sequence[str]], line: tuple[int, int | None]) -> str:
    """The label that a line of zeros and ones stands for."""
    j, code = line
    return "" if code is None else protect_terminal(labels[j][code])


def _tests(gone: Mask, X: Array, column: NDArray[np.intp]) -> tuple[list[tuple[int, int]], Array, Array]:
    """Student's t for every (column with gaps, other column), all at once by products of masks.

    X are the columns with labels in zeros and ones, `column` which of them each belongs to.

    The spread is pooled: a handful of cells that happen to lie together must not look like certainty.
    """
    seen, with_gaps = ~np.isnan(X), np.flatnonzero(gone.any(axis=0))
    Y = np.where(seen.any(axis=0), X, 0.0)
    Y = Y * moderate_scale(np.nanmax(np.abs(Y), axis=0, initial=0.0))
    spread = np.nanstd(Y, axis=0)
    Z = np.where(seen, (Y - np.nanmean(Y, axis=0)) / np.where(spread > 0, spread, 1.0), 0.0)
    side = []
    for rows in (gone[:, with_gaps], ~gone[:, with_gaps]):
        w = rows.astype(float)
        n, s, ss = w.T @ seen, w.T @ Z, w.T @ Z**2
        mean = s / np.maximum(n, 1.0)
        side.append((n, mean, np.maximum(ss - n * mean**2, 0.0) / np.maximum(n - 1.0, 1.0)))
    (n0, m0, v0), (n1, m1, v1) = side
    other = with_gaps[:, None] != column
    use = (n0 >= LEAST_CELLS) & (n1 >= LEAST_CELLS) & (v0 + v1 > 0) & other
    dof = np.maximum(n0 + n1 - 2.0, 1.0)
    pooled = ((n0 - 1.0) * v0 + (n1 - 1.0) * v1) / dof
    e = np.where(use, pooled * (1.0 / np.maximum(n0, 1.0) + 1.0 / np.maximum(n1, 1.0)), 1.0)
    t = (m0 - m1) / np.sqrt(e)
    pairs = [(int(with_gaps[j]), int(k)) for j, k in np.argwhere(use)]
    return pairs, 2.0 * stdtr(dof[use], -np.abs(t[use])), (m0 - m1)[use]


def _sentence(shape: tuple[int, int], gaps: int, whole: int, dependences: tuple[GapDependence, ...]) -> str:
    n, d = shape
    if gaps == 0:
        return "There are no gaps."
    words = "cells is" if gaps == 1 else "cells are"
    text = f"{gaps:,} of {n * d:,} {words} empty ({100 * gaps / (n * d):.0f}%); {whole:,} of {n:,} rows are complete."
    if dependences:
        first = dependences[0]
        text += (
            f" They do not look random: {first.column} is missing more often where {first.where} "
            f"(p {first.p:.1g}), so fills may be biased."
        )
    return text
