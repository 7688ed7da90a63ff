"""Soft labels: each component's share of a row, and how uncertain they leave which it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lowdim.maths.linalg import Array, Mask, lower


def responsibilities(log_weights: Array, log_densities: Sequence[Array], mask: Mask | None) -> tuple[Array, Array]:
    """Each component's share of each row, K x n, and the rows' log densities."""
    joint = np.array(log_densities)
    joint += log_weights[:, None]
    top = joint.max(axis=0)
    joint -= top
    np.exp(joint, out=joint)
    total = joint.sum(axis=0)
    joint /= total
    log_density = top + np.log(total)
    if mask is not None:
        empty = ~mask.any(axis=1)
        log_density[empty] = 0.0  # a row without any cell has density 1
        joint[:, empty] = np.exp(log_weights)[:, None]
    return joint, log_density


def label_covariances(share: Array) -> Array:
    """The packed covariances diag(r) - r r' of one-of-K labels with shares r, n x K."""
    i, j = lower(share.shape[1])
    return np.where(i == j, share[:, i], 0.0) - share[:, i] * share[:, j]
