"""Where results go, block by block: an array in memory or a .npy file."""
from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Protocol

import numpy as np

from lowdim.data.block import Array
from lowdim.messages import error


class Sink(Protocol):
    """Takes rows by their global index."""

    def write(self, start: int, rows: Array) -> None: ...

    def close(self) -> Array: ...


class ArraySink:
    """Rows into an array, the caller's own or one made on the first write."""

    def __init__(self, n: int, out: Array | None = None) -> None:
        self.n, self.out = n, out

    def write(self, start: int, rows: Array) -> None:
        if self.out is None:
            self.out = np.empty((self.n, *rows.shape[1:]))
        want = (self.n, *rows.shape[1:])
        if self.out.shape != want or self.out.dtype != np.float64:
            raise error("LD210", option="out", value=f"{self.out.dtype} array of shape {self.out.shape}",
                        allowed=f"a float64 array of shape {want}")
        self.out[start: start + len(rows)] = rows

    def close(self) -> Array:
        assert self.out is not None
        return self.out


class NpySink:
    """Rows into a .npy file that never needs to be in memory."""

    def __init__(self, n: int, path: str | PathLike[str]) -> None:
        self.n, self.path = n, Path(path)
        self.out: np.memmap | None = None

    def write(self, start: int, rows: Array) -> None:
        if self.out is None:
            self.out = np.lib.format.open_memmap(self.path, "w+", np.float64, (self.n, *rows.shape[1:]))
        self.out[start: start + len(rows)] = rows

    def close(self) -> Array:
        assert self.out is not None
        self.out.flush()
        return np.lib.format.open_memmap(self.path, "r")


def as_sink(out: Array | str | PathLike[str] | Sink | None, n: int) -> Sink:
    """The sink for `out`: nothing, an array, a path that ends in .npy, or a sink."""
    if out is None or isinstance(out, np.ndarray):
        return ArraySink(n, out)
    if isinstance(out, str | PathLike):
        if Path(out).suffix != ".npy":
            raise error("LD210", option="out", value=str(out), allowed="a path that ends in .npy, or an array")
        return NpySink(n, out)
    return out
