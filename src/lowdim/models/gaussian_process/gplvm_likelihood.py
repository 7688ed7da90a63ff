"""The likelihood of a GP-LVM as a function of one vector, and the parameters a fit ends with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lowdim.maths.linalg import Array, Mask
from lowdim.models.gaussian_process.gp import ColumnGroup, Decoder, KernelSum, condition, decoder, likelihood
from lowdim.models.gaussian_process.gplvm_inducing import InducedTable, decoder_at, induced_likelihood, induced_table
from lowdim.text.messages import error

BOUNDS = {"noise": (1e-6, 1e2), "variance": (1e-4, 1e4), "other": (1e-6, 1e6)}  # of the mean variance; of 1


class GPLVMParams(NamedTuple):
    """Parameters, in the frame's units."""

    X: Array  # n x q, where the rows lie
    Y: Array  # n x d, cells less their columns' means; zero at gaps
    seen: Mask  # n x d; 0 x d where no cell is missing
    mu: Array  # d
    names: str  # of the kernel's terms
    theta: Array  # logarithms of its numbers
    jitter_level: int
    inflation: float  # what standard deviations are multiplied by
    centre: Array  # q, of the places: the prior of a new row is N(centre, spread)
    spread: Array  # q x q
    back: Array  # n x q weights of the back constraints, or 0 x q
    gamma: float  # their kernel's
    Z: Array = np.zeros((0, 1))  # m x q, inducing points; none where every row is one

    @property
    def kernel(self) -> KernelSum:
        return KernelSum(self.names, self.theta)

    def decoder(self) -> Decoder:
        seen = self.seen if len(self.seen) else None
        if len(self.Z):
            table = induced_table(self.Y, seen, mean_variance(self.Y, seen), len(self.Z))
            return decoder_at(table, self.kernel, self.X, self.Z, self.jitter_level)
        return decoder(self.kernel, self.X, self.Y, seen, self.jitter_level)


class PlacesProblem(NamedTuple):
    """What a climb is about: the columns in groups, and how a vector becomes places and a kernel."""

    groups: list[ColumnGroup]
    names: str  # of the kernel's terms
    shape: tuple[int, int]
    back: Array | None  # n x n, places are back @ weights
    mean_variance: float
    noise_floor: float | None = None  # where it was stated; a share of the mean variance
    induced: InducedTable | None = None  # where the rows are seen through inducing points: these follow the places

    @property
    def moving(self) -> int:
        """Rows and inducing points: what has a place."""
        return self.shape[0] + (0 if self.induced is None else self.induced.points)

    def split(self, vector: Array) -> tuple[Array, Array]:
        """Places (or their weights), and the logarithms of the kernel's numbers."""
        n, q = self.shape
        return vector[: n * q].reshape(self.shape), vector[self.moving * q :]

    def inducing(self, vector: Array) -> Array:
        """The inducing points."""
        n, q = self.shape
        return vector[n * q : self.moving * q].reshape(-1, q)

    def places(self, vector: Array) -> Array:
        W = self.split(vector)[0]
        return W if self.back is None else self.back @ W

    def kernel(self, vector: Array) -> KernelSum:
        return KernelSum(self.names, self.split(vector)[1])

    def bounds(self) -> tuple[Array, Array]:
        free = np.full(self.moving * self.shape[1], np.inf)
        size = np.log(self.mean_variance)
        low, high = [], []
        for name in KernelSum(self.names, np.zeros(1)).labels:
            number = name.split()[-1]
            a, b = np.log(BOUNDS[number if number in BOUNDS else "other"])
            shift = size if number in BOUNDS else 0.0
            low.append(a + shift)
            high.append(b + shift)
        low[-1] = low[-1] if self.noise_floor is None else np.log(self.noise_floor) + size
        return np.append(-free, low), np.append(free, high)

    def on_bound(self, vector: Array) -> list[str]:
        """The kernel's numbers that lie on a bound."""
        kernel = self.kernel(vector)
        low, high = (edge[-len(kernel.theta) :] for edge in self.bounds())
        pairs = zip(kernel.labels, kernel.theta, low, high, strict=True)
        return [name for name, t, a, b in pairs if t <= a + 1e-9 or t >= b - 1e-9]


class LikelihoodSurface:
    """The log-likelihood and its gradient; once a kernel's matrix needs jitter it keeps it."""

    def __init__(self, problem: PlacesProblem) -> None:
        self.problem, self.jitter_level = problem, 0
        self.best, self.best_level = -np.inf, 0
        self.evaluate: Callable[[Array], Array] = self.packed

    def __call__(self, vector: Array) -> tuple[float, Array]:
        packed = self.evaluate(vector)
        value, self.jitter_level = float(packed[0]), int(packed[1])
        if value > self.best:
            self.best, self.best_level = value, self.jitter_level
        return value, packed[2:]

    def packed(self, vector: Array) -> Array:
        """Value, jitter level and gradient in one array: what a checkpoint remembers."""
        p = self.problem
        X, kernel = p.places(vector), p.kernel(vector)
        try:
            if p.induced is not None:
                return induced_likelihood(p.induced, kernel, X, p.inducing(vector), self.jitter_level)
            parts = kernel.cross(X, X)
            K = parts[0] if len(parts) == 1 else np.asarray(sum(parts))
            L = likelihood(K, kernel.noise, p.groups, self.jitter_level)
        except np.linalg.LinAlgError:
            if np.isfinite(self.best):  # a wall for the climb, which keeps the best place so far
                return np.concatenate([[-np.inf, self.jitter_level], np.zeros_like(vector)])
            at = X if p.induced is None else p.inducing(vector)
            raise error("LD473", condition=condition(np.asarray(sum(kernel.cross(at, at))), kernel.noise)) from None
        dX, dtheta = kernel.gradient(X, parts, L.G)
        dX = dX if p.back is None else p.back.T @ dX
        return np.concatenate([[L.value, L.jitter_level], dX.ravel(), dtheta])


def mean_variance(Y: Array, mask: Mask | None) -> float:
    """Of the seen cells of a centred table; a table without any spread has a little."""
    cells = Y.size if mask is None else max(int(mask.sum()), 1)
    return max(float((Y**2).sum()) / cells, 1e-200)
