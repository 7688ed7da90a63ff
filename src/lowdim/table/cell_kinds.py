"""What the cells of a column can be, and what whoever models, fills or tells them asks of that.

Reading decides which kind a column has (`table/kinds.py`, `judge/mixed_table.py` `likelihood`), and a mixed model gives
each kind its likelihood; all others ask here.
"""

from __future__ import annotations

from typing import NamedTuple


class CellKind(NamedTuple):
    """A kind of cells; `word` is what options, files and people call it."""

    word: str
    of_words: bool = False  # columns of words can be of it,
    of_numbers: bool = False  # and columns of numbers
    named: bool = False  # a cell is told as an answer, by its name
    levelled: bool = False  # a cell has one of a few values, each with a probability
    ordered: bool = False  # these have an order, so that the middle one is one of them
    never_negative: bool = False
    counted: bool = False  # whole numbers without an end


REAL = CellKind("real", of_numbers=True)
POSITIVE = CellKind("positive", of_numbers=True, never_negative=True)
AMOUNT = CellKind("amount", of_numbers=True, never_negative=True)  # zero in many rows, or of any size
YES_NO = CellKind("yes/no", of_words=True, of_numbers=True, named=True, levelled=True)
ORDINAL = CellKind("ordinal", of_numbers=True, levelled=True, ordered=True)
COUNT = CellKind("count", of_numbers=True, never_negative=True, counted=True)
LABEL = CellKind("label", of_words=True, named=True, levelled=True)
MARKER = CellKind("marker", of_words=True, named=True, levelled=True)  # a label that says which cluster a row is of
CELL_KINDS = {kind.word: kind for kind in (REAL, POSITIVE, AMOUNT, YES_NO, ORDINAL, COUNT, LABEL, MARKER)}
