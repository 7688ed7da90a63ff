"""The GP-LVM through inducing points: a bound on log p(Y | X) in time that grows as the rows.

For sums of kernels k(x, y) = v s(a x, a y) with a = 1 or the root of an inverse squared width: the slope by log v is
the sum of G * K, and that by log a is what the places' slopes make of it, x'dx + z'dz (Euler).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lowdim.maths.linalg import Array, Mask, lower
from lowdim.models.gaussian_process.collapsed_bound import (
    DIAGONAL,
    CollapsedBound,
    PsiSums,
    collapsed_bound,
    induced_decoder,
)
from lowdim.models.gaussian_process.gp import Decoder, KernelSum


def _rbf_pull(t: Array, X: Array, Z: Array, K: Array, G: Array) -> Array:
    H = G * K
    return np.asarray(t[1] * (H @ Z - H.sum(axis=1)[:, None] * X))


# what slopes G in k(X, Z) make of X
INDUCING_TERMS: dict[str, Callable[[Array, Array, Array, Array, Array], Array]] = {
    "rbf": _rbf_pull,
    "linear": lambda t, X, Z, K, G: np.asarray(t[0] * (G @ Z)),
    "bias": lambda t, X, Z, K, G: np.zeros_like(X),
}


class InducedTable(NamedTuple):
    """A centred table, zero at its gaps, whose columns are seen through so many inducing points."""

    Y: Array
    seen: Array  # n x d, 1 where a cell is seen; n x 1 where none is missing
    ridge: float  # added to the diagonal of the inducing points' matrix
    points: int


def induced_table(Y: Array, mask: Mask | None, mean_variance: float, count: int) -> InducedTable:
    seen = np.ones((len(Y), 1)) if mask is None or mask.all() else mask.astype(np.float64)
    return InducedTable(Y, seen, DIAGONAL * mean_variance, count)


def bound_at(table: InducedTable, kernel: KernelSum, X: Array, Z: Array, K: Array, jitter_level: int) -> CollapsedBound:
    """The bound with rows at X and inducing points at Z; K = k(X, Z)."""
    i, j = lower(len(Z))
    two = np.stack([((K if w.all() else K * w[:, None]).T @ K)[i, j] for w in table.seen.T], axis=1)
    sums = PsiSums(
        K.T @ table.Y, two, kernel.diagonal(X) @ table.seen, table.seen.sum(axis=0), float((table.Y**2).sum()), 0.0
    )
    return collapsed_bound(np.asarray(sum(kernel.cross(Z, Z))), table.ridge, 1.0 / kernel.noise, sums, jitter_level)


def induced_likelihood(table: InducedTable, kernel: KernelSum, X: Array, Z: Array, jitter_level: int) -> Array:
    """Value, jitter level and gradient in X, Z and theta, in one array."""
    parts, (i, j) = kernel.cross(X, Z), lower(len(Z))
    K = parts[0] if len(parts) == 1 else np.asarray(sum(parts))
    bound = bound_at(table, kernel, X, Z, K, jitter_level)
    G = table.Y @ bound.down.one.T  # the slope in K
    for w, packed in zip(table.seen.T, bound.down.two.T, strict=True):
        T = np.empty((len(Z), len(Z)))
        T[i, j] = T[j, i] = np.where(i == j, 2.0, 1.0) * packed
        G += (K if w.all() else K * w[:, None]) @ T
    dX, dZ, dtheta = _carried(kernel, X, Z, parts, G, table.seen @ bound.down.psi0, bound.K)
    dtheta.append(-bound.beta / kernel.noise)
    return np.concatenate([[bound.value, bound.jitter_level], dX.ravel(), dZ.ravel(), dtheta])


def _carried(
    kernel: KernelSum, X: Array, Z: Array, parts: list[Array], G: Array, g: Array, H: Array
) -> tuple[Array, Array, list[float]]:
    """Slopes in k(X, Z), the diagonal of k(X, X) and k(Z, Z), carried to X, Z and the logarithms of the numbers."""
    dX, dZ, dtheta, axes = np.zeros_like(X), np.zeros_like(Z), [], range(X.shape[1])
    for name, (term, t), K in zip(kernel.names.split("+"), kernel.parts(), parts, strict=True):
        x, z = INDUCING_TERMS[name](t, X, Z, K, G), INDUCING_TERMS[name](t, Z, X, K.T, G.T)
        within, numbers = term.gradient(t, Z, term.cross(t, Z, Z), H)
        numbers[0] += float((G * K).sum()) + float(g @ term.diagonal(t, X))
        numbers[1:2] += 0.5 * (float((X * x).sum()) + float((Z * z).sum()))
        dX += x + np.stack([g * term.diagonal_slope(t, X, a) for a in axes], axis=1)
        dZ += z + within
        dtheta += numbers.tolist()
    return dX, dZ, dtheta


def decoder_at(table: InducedTable, kernel: KernelSum, X: Array, Z: Array, jitter_level: int) -> Decoder:
    """Predictions of the table's cells at any place."""
    bound = bound_at(table, kernel, X, Z, np.asarray(sum(kernel.cross(X, Z))), jitter_level)
    return induced_decoder(kernel, Z, bound.C / kernel.noise, bound.inverse)
