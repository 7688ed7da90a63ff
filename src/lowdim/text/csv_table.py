"""Tables as CSV text that no spreadsheet will run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

from lowdim.text.escape import csv_cell


def csv_line(
    cells: Iterable[object], cell: Callable[..., str] = csv_cell, sep: str = ",", newline: str = "\r\n"
) -> str:
    """One line of a CSV file; `cell` makes text of a value."""
    return sep.join(cell(value) for value in cells) + newline


def csv_table(header: Iterable[object], rows: Iterable[Iterable[object]], newline: str = "\r\n") -> str:
    """A CSV file: its header and its rows, numbers with all their digits.

    >>> csv_table(["a", "=b"], [[0.1, None]])
    "a,'=b\\r\\n0.1,\\r\\n"
    """
    return "".join(csv_lines(header, rows, newline))


def csv_lines(header: Iterable[object], rows: Iterable[Iterable[object]], newline: str = "\r\n") -> Iterator[str]:
    """The lines of a CSV file, one after the other."""
    yield csv_line(header, newline=newline)
    for row in rows:
        yield csv_line(row, newline=newline)


def csv_columns(columns: Mapping[str, Iterable[Any]], newline: str = "\r\n") -> str:
    """A CSV file of columns, padded where lengths differ.

    >>> csv_columns({"a": [1, 2], "b": [3]}, "\\n")
    'a,b\\n1,3\\n2,\\n'
    """
    return csv_table(map(str, columns), zip_longest(*columns.values()), newline)
