"""Two tables of the same rows, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask
from lowdim.sources.source import Header, Source
from lowdim.text.messages import error


class Joined(Source):
    """The columns of one source and then those of another; a source that is None is all gaps.

    Both are read by the joined table's tiles, so a view of either (a frame, chosen columns) is read as it is.
    """

    def __init__(self, first: Source | None, second: Source | None, widths: tuple[int, int]) -> None:
        present = first or second
        assert present is not None
        if first is not None and second is not None and first.n != second.n:
            raise error("LD280", problem=f"X has {first.n} rows and Y has {second.n}: inconsistent numbers of samples")
        names = [
            f"{view}: {name}"
            for view, source, width in zip("xy", (first, second), widths, strict=True)
            for name in (source.columns if source is not None else [f"c{j + 1}" for j in range(width)])
        ]
        super().__init__((present.n, sum(widths)), tuple(names), present.weight)
        self.named, self.first, self.second, self.widths = False, first, second, widths

    @property
    def header(self) -> Header:
        """What is said of the columns of a fit is said of the first table's."""
        assert self.first is not None
        return self.first.header

    def read(self, rows: slice | NDArray[np.intp]) -> tuple[Array, Mask | None]:
        parts = [
            self._part(source, width, rows)
            for source, width in zip((self.first, self.second), self.widths, strict=True)
        ]
        return np.ascontiguousarray(np.concatenate(parts, axis=1)), None

    def _part(self, source: Source | None, width: int, rows: slice | NDArray[np.intp]) -> Array:
        if source is None:
            count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
            return np.full((count, width), np.nan)
        values, mask = source.read(rows)
        return values if mask is None else np.where(mask, values, np.nan)

    @property
    def overhead(self) -> int:
        return sum(source.leaf.overhead for source in (self.first, self.second) if source is not None)

    @contextmanager
    def spooled(self, folder: Path | None) -> Iterator[None]:
        with ExitStack() as stack:
            for source in (self.first, self.second):
                if source is not None:
                    stack.enter_context(source.spooled(None))  # two files of one name do not fit into one folder
            yield

    def fingerprint(self) -> str:
        return " ".join(source.fingerprint() for source in (self.first, self.second) if source is not None)
