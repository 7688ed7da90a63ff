"""Cells that hold answers: what they are called, and what the rest of their row says of them."""

from __future__ import annotations

from typing import NamedTuple

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
