"""Kernels by finite features: landmarks (Nystroem) and random frequencies (Fourier), as a table through the fold."""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.data.block import Array, Block, Mask
from lowdim.data.source import Source
from lowdim.data.views import View
from lowdim.math.kernels import Kernel
from lowdim.math.linalg import EPS
from lowdim.math.neighbors import exact_distances, squared_distances
from lowdim.math.preimage import gaussian
from lowdim.messages import error

PRODUCTS = 1e6  # gamma |x|^2 up to which distances by products leave a Gaussian kernel ten digits
BLOCK = 2**21  # similarities worked on at once, 16 MB


def similarities(kernel: Kernel, X: Array, Y: Array) -> Array:
    """k(x, y) of all pairs: finite, of the right shape, and for narrow Gaussians from exact differences."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if kernel.name == "gaussian":
            size = float((Y**2).sum(axis=1).max(initial=0.0))
            exact = not kernel.gamma * size <= PRODUCTS
            return gaussian(exact_distances(X, Y) ** 2 if exact else squared_distances(X, Y), kernel.gamma)
        K = kernel(X, Y)
    if K.shape != (len(X), len(Y)):
        raise error("LD415", problem=f"a callable must take tables of {len(X)} and {len(Y)} rows and give that many "
                    f"rows and columns; it gave {K.shape}")
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise error("LD415", problem=f"k(x, y) is {K[i, j]} for some rows")
    return K


class Features(NamedTuple):
    """A finite feature map: "nystroem" k(x, rows) root, "fourier" cosines and sines of x rows'."""

    kind: str
    kernel: Kernel
    rows: Array  # landmarks, m x d; or frequencies, m/2 x d
    root: Array  # m x r: U S^(-1/2) of the landmarks' kernel; empty for Fourier

    @property
    def width(self) -> int:
        return self.root.shape[1] if self.kind == "nystroem" else 2 * len(self.rows)

    def __call__(self, X: Array) -> Array:
        if self.kind == "nystroem":
            return similarities(self.kernel, X, self.rows) @ self.root
        angle = X @ self.rows.T
        return np.hstack([np.cos(angle), np.sin(angle)]) / np.sqrt(len(self.rows))


def nystroem(kernel: Kernel, rows: Array) -> Features:
    """phi(x) = S^(-1/2) U' k(x, rows): inner products are the kernel's own among the landmarks.

    Reference: Williams and Seeger (2001), NIPS 13.
    """
    K = similarities(kernel, rows, rows)
    values, U = np.linalg.eigh((K + K.T) / 2.0)
    keep = values > len(K) * EPS * max(float(values[-1]), 0.0)
    if not keep.any():
        raise error("LD415", problem="no pair of landmarks is similar at all")
    return Features("nystroem", kernel, rows, U[:, keep] / np.sqrt(values[keep]))


def fourier(kernel: Kernel, d: int, m: int, rng: np.random.Generator) -> Features:
    """phi(x) = (cos w'x, sin w'x) / sqrt(m/2), w ~ N(0, 2 gamma I): inner products near exp(-gamma |x - y|^2).

    Reference: Rahimi and Recht (2007), NIPS 20.
    """
    W = rng.standard_normal((max(m // 2, 1), d)) * np.sqrt(2.0 * kernel.gamma)
    return Features("fourier", kernel, W, np.zeros((0, 0)))


class Mapped(View):
    """A complete source seen through a feature map: a table of as many columns as there are features."""

    def __init__(self, source: Source, f: Callable[[Array], Array], width: int,
                 refuse: Callable[[int, str, int], None]) -> None:
        super().__init__((source.n, width), None, source.weight)  # tiles by its own width: they are wider than the table's
        self.source, self.f, self.refuse = source, f, refuse

    def read(self, rows: slice | NDArray[np.intp]) -> tuple[Array, Mask | None]:
        raise NotImplementedError("a mapped source makes finished blocks")

    @property
    def light(self) -> bool:
        return False

    def _finish(self, rows: slice | NDArray[np.intp], start: int) -> Block:
        block = self.source._finish(rows, start)
        if block.mask is not None:
            row, j = np.argwhere(~block.mask)[0]
            self.refuse(start + int(row), self.source.columns[j], int((~block.mask).sum()))
        return Block(chunked(self.f, block.x, self.d), None, block.weight, start)


def chunked(f: Callable[[Array], Array], X: Array, width: int) -> Array:
    """f of the rows, so many at a time that little beside the answer is held."""
    rows = max(16, BLOCK // max(width, 1))
    if len(X) <= rows:
        return f(X)
    return np.concatenate([f(X[i: i + rows]) for i in range(0, len(X), rows)])
