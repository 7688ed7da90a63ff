"""What double precision can hold: numbers beyond it are clipped, and said to be."""

from __future__ import annotations

import numpy as np

from lowdim.math.linalg import Array
from lowdim.text.messages import warn

LARGEST = float(np.finfo(float).max)


def in_range(values: Array, what: str, size: float) -> Array:
    """The values, those beyond the largest double set to it, with a warning that names them."""
    if np.isfinite(values).all():
        return values
    warn("LD152", what=what, limit=f"{LARGEST:.2e}", size=f"{size:.0e}")
    return np.clip(values, -LARGEST, LARGEST)


def squared(variance: Array, factor: Array | float) -> Array:
    """variance * factor^2, never with factor^2 alone: it overflows long before the product does."""
    with np.errstate(over="ignore"):
        out = variance * factor * factor
    return in_range(np.asarray(out), "Variances", float(np.max(factor)))


def product(A: Array, B: Array) -> Array:
    """A @ B; where that leaves double precision, its largest number."""
    with np.errstate(over="ignore", invalid="ignore"):
        out = A @ B
        fine = np.isfinite(out.sum())  # one cheap look, as for blocks
    return out if fine else np.clip(out, -LARGEST, LARGEST)
