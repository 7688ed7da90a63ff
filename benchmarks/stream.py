"""transform of a table on disk: rows a second, and what it holds in memory."""
from __future__ import annotations

import ctypes
import gc
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from ppca import simulate

import lowdim


class Watch:
    """The most anonymous memory this process held meanwhile (pages of mapped files are the system's)."""

    def __enter__(self) -> Watch:
        give_back()
        self.before = self.most = anonymous()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._look)
        self.thread.start()
        return self

    def _look(self) -> None:
        while not self.done.wait(0.005):
            self.most = max(self.most, anonymous())

    def __exit__(self, *problem: object) -> None:
        self.done.set()
        self.thread.join()

    @property
    def megabytes(self) -> float:
        return (self.most - self.before) / 1e6


def give_back() -> None:
    """Freed memory goes back to the system, or the next allocation would not show."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def anonymous() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


def transform(n: int = 1_000_000, d: int = 50, q: int = 5) -> str:
    part = simulate(50_000, d, q, 0.2)
    model = lowdim.PPCA(q).fit(part)
    with tempfile.TemporaryDirectory() as folder:
        X = np.lib.format.open_memmap(f"{folder}/table.npy", "w+", np.float64, (n, d))
        for begin in range(0, n, len(part)):
            X[begin: begin + len(part)] = part[: n - begin]
        X.flush()
        del X
        table = np.load(f"{folder}/table.npy", mmap_mode="r")
        with Watch() as watch:
            begin = time.perf_counter()
            Z = model.transform(table, out=f"{folder}/scores.npy")
            seconds = time.perf_counter() - begin
        same = bool(np.allclose(Z[:1000], Z[len(part): len(part) + 1000], rtol=1e-12, atol=1e-12))
    return (f"### transform, {n:,} x {d} with 20 % gaps, from a memory map to a .npy file\n\n"
            f"{seconds:.2f} s, **{n / seconds:,.0f} rows/s**, at most **{watch.megabytes:.0f} MB** beyond the start "
            f"(the table has {8 * n * d / 1e6:.0f} MB); repeated rows agree: {same}.")
