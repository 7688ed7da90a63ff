"""The columns of a map: what their cells are and are called, the lines that pictures have of them, and their fills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lowdim.maths.linalg import Array
from lowdim.table.cell_kinds import CELL_KINDS, ORDINAL, REAL, CellKind
from lowdim.table.column import one_names, ones_of
from lowdim.text.format import figures


class MapColumn(NamedTuple):
    """A column that a model has: its name in the file, and what its cells are: labels, levels, or numbers."""

    name: str
    kind: str = REAL.word  # of its likelihood
    labels: tuple[str, ...] = ()  # what the codes 0, 1, ... stand for; () where numbers are numbers
    levels: tuple[float, ...] = ()  # the only numbers it can have, in the order of their probabilities; () = any
    grades: tuple[str, ...] = ()  # what the levels 0, 1, ... of an ordered column are called, where they are words

    @property
    def code_words(self) -> tuple[str, ...]:
        """What its codes stand for: labels, which have no order, or grades, which have one."""
        return self.labels or self.grades

    @property
    def cells(self) -> CellKind:
        """What can be asked of its kind."""
        return CELL_KINDS[self.kind]

    def word(self, value: float) -> str:
        """An answer as the file has it: its columns, fills and messages have the same word."""
        return self.code_words[int(value)] if self.code_words else figures(value, 4)

    def told(self, value: float, likeliest: float, chance: float) -> tuple[str, ...]:
        """The answer or level, and what the rest of its row says; nothing of numbers, which have no likeliest value.

        >>> MapColumn("vote", "yes/no", ("n", "y"), (0.0, 1.0)).told(1.0, 0.0, 0.973)
        ('y', 'n (97%)')
        """
        if not (self.cells.named or self.grades or (self.cells is ORDINAL and chance > 0.0)):
            return ()
        return self.word(value), f"{self.word(likeliest)} ({100 * chance:.0f}%)"


class NumberFills(NamedTuple):
    """The gaps of some rows filled, in the table's numbers; lower and upper equal filled where a cell is seen."""

    filled: Array
    sd: Array  # 0 where seen
    lower: Array
    upper: Array


class GapAnswers(NamedTuple):
    """The gaps of columns of words and of levels: where they are, their fills, and how likely these are."""

    row: list[int]  # from 0
    column: list[int]
    fill: list[str | float]  # a label as it is called
    probability: list[float]


def lines_of(columns: Sequence[MapColumn]) -> list[tuple[int, int | None]]:
    """The column of each line, and the label whose probability it is; None where numbers are numbers."""
    return ones_of([c.labels for c in columns])


def line_names(columns: Sequence[MapColumn]) -> tuple[str, ...]:
    """What the lines are called: the columns, of several labels one for each."""
    return one_names([c.name for c in columns], [c.labels for c in columns], lines_of(columns))
