"""What a model says about rows: where they lie, and what their cells are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.math.linalg import Array, lower, unpack
from lowdim.models.base.overflow import product


class Posterior(NamedTuple):
    """p(z | seen cells) of each row: Gaussian mean, covariance and the row's log density."""

    mean: Array  # n x q
    packed: Array  # covariances as packed lower triangles, n x q(q+1)/2
    log_density: Array  # n

    @property
    def cov(self) -> Array:
        """The covariances as n matrices of order q."""
        return unpack(self.packed.T, self.mean.shape[1])

    @property
    def std(self) -> Array:
        """Standard deviation of each coordinate, n x q."""
        i, j = lower(self.mean.shape[1])
        return np.sqrt(np.maximum(self.packed[:, i == j], 0.0))

    def turned(self, T: Array) -> Posterior:
        """The posterior of z T."""
        i, j = lower(T.shape[1])
        return self._replace(mean=product(self.mean, T), packed=product(product(T.T, self.cov), T)[:, i, j])


def standard(n: int, q: int) -> Posterior:
    """N(0, I) of each of n rows."""
    i, j = lower(q)
    return Posterior(np.zeros((n, q)), np.tile(np.where(i == j, 1.0, 0.0), (n, 1)), np.zeros(n))


def draw_labels(share: Array, rng: Sequence[np.random.Generator]) -> NDArray[np.intp]:
    """One of K for each row, drawn by its shares (n x K) with the row's own generator."""
    edges = np.cumsum(share, axis=1)
    at = np.array([r.random() for r in rng])[:, None] * edges[:, -1:]
    return np.asarray((at >= edges[:, :-1]).sum(axis=1), dtype=np.intp)


class Cells(NamedTuple):
    """The cells a latent position decodes to: mean, variance of the noiseless cell, noise variance."""

    mean: Array
    var: Array
    noise: Array
