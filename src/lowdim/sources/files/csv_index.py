"""Where the records of a text file begin: one look at its bytes, so that any block can be read by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.text.messages import error

PIECE = 2**25  # bytes looked at together
NEWLINE, RETURN, QUOTE = 10, 13, 34


class Index(NamedTuple):
    """Every `step`-th row of a text file: its first byte and its line; `end` is the byte after the last row."""

    n: int
    step: int
    offsets: NDArray[np.int64]
    lines: NDArray[np.int64]
    end: int

    def span(self, begin: int, end: int) -> tuple[int, int, int, int]:
        """The bytes that hold these rows, the first row in them, and how many rows they hold."""
        first, last = begin // self.step, -(-end // self.step)
        stop = int(self.offsets[last]) if last < len(self.offsets) else self.end
        return int(self.offsets[first]), stop, first * self.step, min(last * self.step, self.n) - first * self.step


class Scan:
    """Reads a file a piece at a time and tells where its records begin.

    A line break between quotes ends no record, and a blank line is none.
    """

    def __init__(self) -> None:
        self.at, self.line = 0, 1  # the next byte, and the line it stands in
        self.start, self.first = 0, 1  # the same of the record that is open
        self.inside, self.last = 0, 0  # whether a quote is open, and the byte before

    def look(self, data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First byte and line of every record that ends in this piece."""
        a = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(a == NEWLINE)
        lines = self.line + np.arange(len(ends))
        self.line += len(ends)
        if self.inside or b'"' in data:
            quotes = np.flatnonzero(a == QUOTE)
            outside = (np.searchsorted(quotes, ends) + self.inside) % 2 == 0
            ends, lines = ends[outside], lines[outside]
            self.inside = (self.inside + len(quotes)) % 2
        starts, firsts, before = ends, lines, ends
        if len(ends):
            starts = np.concatenate([[self.start], self.at + ends[:-1] + 1])
            firsts = np.concatenate([[self.first], lines[:-1] + 1])
            before = np.where(ends > 0, a[np.maximum(ends - 1, 0)], self.last)
            self.start, self.first = int(self.at + ends[-1] + 1), int(lines[-1] + 1)
        sizes = self.at + ends - starts
        full = (sizes > 1) | ((sizes == 1) & (before != RETURN))
        self.at, self.last = self.at + len(data), int(a[-1])
        return starts[full], firsts[full]

    def close(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The last record, where no line break ends it."""
        if self.inside:
            raise error("LD007", f"the row begins in line {self.first}")
        size = self.at - self.start
        full = size > 1 or (size == 1 and self.last != RETURN)
        return np.array([self.start] * full, dtype=np.int64), np.array([self.first] * full, dtype=np.int64)


def index(path: Path, skip: int, step: int, piece: int = PIECE) -> Index:
    """The index of the rows that begin after so many lines."""
    n, offsets, lines, scan = 0, list[NDArray[np.int64]](), list[NDArray[np.int64]](), Scan()
    with path.open("rb") as file:
        for starts, firsts in _pieces(file, scan, piece):
            rows = firsts > skip
            starts, firsts = starts[rows], firsts[rows]
            marked = (n + np.arange(len(starts))) % step == 0
            offsets.append(starts[marked])
            lines.append(firsts[marked])
            n += len(starts)
    none = np.zeros(0, dtype=np.int64)
    return Index(n, step, np.concatenate([none, *offsets]), np.concatenate([none, *lines]), scan.at)


def _pieces(file: BinaryIO, scan: Scan, piece: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    while data := file.read(piece):
        yield scan.look(data)
    yield scan.close()


def whole_records(data: bytes) -> bytes:
    """The beginning of a file without the record that it breaks off in."""
    scan = Scan()
    scan.look(data)
    return data[: scan.start] if scan.start else data
