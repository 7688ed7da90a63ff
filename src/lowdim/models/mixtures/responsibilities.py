"""Responsibilities: whose row is it, and what one-of-K leaves open."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lowdim.math.linalg import Array, Mask, lower


def responsibilities(logs: Array, found: Sequence[Array], mask: Mask | None) -> tuple[Array, Array]:
    """Each component's share of each row, K x n, and the rows' log densities."""
    joint = np.array(found)
    joint += logs[:, None]
    top = joint.max(axis=0)
    joint -= top
    np.exp(joint, out=joint)
    total = joint.sum(axis=0)
    joint /= total
    log_density = top + np.log(total)
    if mask is not None:
        empty = ~mask.any(axis=1)
        log_density[empty] = 0.0  # nothing seen, nothing said
        joint[:, empty] = np.exp(logs)[:, None]
    return joint, log_density


def one_of(share: Array) -> Array:
    """The packed covariances diag(r) - r r' of one-of-K."""
    i, j = lower(share.shape[1])
    return np.where(i == j, share[:, i], 0.0) - share[:, i] * share[:, j]


def named(which: list[int]) -> str:
    """Some components in words."""
    more = f" and {len(which) - 5} more" if len(which) > 5 else ""
    return ", ".join(map(str, which[:5])) + more
