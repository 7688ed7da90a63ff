"""Where results go, block by block: an array in memory, or a file (`sources/files/sinks.py`)."""

from __future__ import annotations

from os import PathLike
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.sources.files.sinks import file_sink
from lowdim.text.messages import error


class Sink(Protocol):
    """Takes rows by their global index, in order; as a context, what an error leaves half done is removed."""

    def write(self, start: int, rows: Array) -> None: ...

    def close(self) -> Any: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ArraySink:
    """Rows into an array, the caller's own or one made on the first write."""

    def __init__(self, n: int, out: Array | None = None) -> None:
        self.n, self.out = n, out

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to clear away."""

    def write(self, start: int, rows: Array) -> None:
        if self.out is None:
            self.out = np.empty((self.n, *rows.shape[1:]))
        want = (self.n, *rows.shape[1:])
        if self.out.shape != want or self.out.dtype != np.float64:
            raise error(
                "LD210",
                option="out",
                value=f"{self.out.dtype} array of shape {self.out.shape}",
                allowed=f"a float64 array of shape {want}",
            )
        self.out[start : start + len(rows)] = rows

    def close(self) -> Array:
        assert self.out is not None
        return self.out


def as_sink(out: Array | str | PathLike[str] | Sink | None, n: int, names: tuple[str, ...] | None = None) -> Sink:
    """The sink for `out`: nothing, an array, a path whose ending says the format, or a sink."""
    if out is None or isinstance(out, np.ndarray):
        return ArraySink(n, out)
    if not isinstance(out, str | PathLike):
        return out
    return file_sink(out, n, names)
