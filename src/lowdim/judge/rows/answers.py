"""Cells that hold answers: what they are called, and what the rest of their row says of them."""

from __future__ import annotations

from typing import NamedTuple

from lowdim.maths.linalg import Array
from lowdim.text.format import figures


class CellAnswers(NamedTuple):
    """What the cells of a column of a mixed map are: answers with names, levels, or numbers."""

    kind: str
    labels: tuple[str, ...] = ()

    def word(self, value: float) -> str:
        """An answer as the file has it: its columns, fills and messages have the same word."""
        return self.labels[int(value)] if self.labels else figures(value, 4)

    def told(self, value: float, likeliest: float, chance: float) -> tuple[str, ...]:
        """The answer, and what the rest of its row says; nothing where numbers say more.

        >>> CellAnswers("yes/no", ("n", "y")).told(1.0, 0.0, 0.973)
        ('y', 'n (97%)')
        """
        if self.kind not in ("yes/no", "label", "marker"):
            return ()
        return self.word(value), f"{self.word(likeliest)} ({100 * chance:.0f}%)"


class JudgedAnswers(NamedTuple):
    """What else is known of the culprits of a mixed map's rows."""

    columns: tuple[CellAnswers, ...]
    left: Array  # D2 without the culprit
    likeliest: Array  # the most likely answer given the rest of the row,
    chance: Array  # and its probability
    surprise: tuple[float, float] = (0.0, 1.0)  # of the rows, standardised: its middle and its spread

    def told(self, k: int, j: int, value: float) -> tuple[str, ...]:
        """The answer of row k in column j, and what the rest of the row says."""
        return self.columns[j].told(value, float(self.likeliest[k]), float(self.chance[k]))
