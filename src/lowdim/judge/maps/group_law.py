"""The chance that a row is of a group: each group is a few Gaussians of places on the map.

A row's place is known by its seen cells alone: of a place z drawn from N(0, I) they leave N(e, S). With A = I - S its
mean e is then A z and noise of covariance A S, whatever z is drawn from, so that of a part N(m, T)

    e ~ N(A m, A T A + A S).

A row without a seen cell has A = 0 and is of each part by its share; rows with gaps count as much as they say. The
parts are fitted by EM over the places, with the rows of each part given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from lowdim.maths.kmeans import Labels
from lowdim.maths.linalg import Array
from lowdim.models.base.results import Posterior

STEPS = 10  # of EM: places are known well beside the spread of a part, but for rows with gaps
LEAST_VARIANCE = 1e-9  # of the prior's: a part whose rows are all the same
ROWS_AT_ONCE = 4096


class GroupLaw(NamedTuple):
    """Gaussians of places on the first axes of a map, each a part of one group."""

    group: Labels  # of each part, from 0
    weight: Array  # K
    mean: Array  # K x q
    cov: Array  # K x q x q

    def chances(self, places: Posterior) -> Array:
        """The chance of each group for each row, n x groups.

        >>> from lowdim.models.base.results import standard
        >>> law = GroupLaw(np.array([0, 1]), np.array([0.8, 0.2]), np.array([[0.0], [6.0]]), np.ones((2, 1, 1)))
        >>> law.chances(standard(1, 1)).round(3).tolist()  # nothing is known of this row
        [[0.8, 0.2]]
        """
        n, q, K = len(places.mean), self.mean.shape[1], len(self.weight)
        told = np.empty((n, K))
        for start in range(0, n, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            e, A, noise = _on_first_axes(places, q, some)
            for k in range(K):
                off = e - A @ self.mean[k]
                spread = A @ self.cov[k] @ A + noise
                squares = (off * np.linalg.solve(spread, off[..., None])[..., 0]).sum(axis=1)
                told[some, k] = np.log(self.weight[k]) - 0.5 * (squares + np.linalg.slogdet(spread)[1])
        share = np.exp(told - logsumexp(told, axis=1, keepdims=True))
        return share @ (self.group[:, None] == np.arange(self.group.max() + 1))


def group_law(places: Posterior, part: Labels, group: Labels, axes: int) -> GroupLaw:
    """The law of groups on the first axes of a map: the part of each row (-1: of none), and the group of each part."""
    q, K = min(axes, places.mean.shape[1]), len(group)
    chosen = [np.flatnonzero(part == k) for k in range(K)]
    known = [_on_first_axes(places, q, rows) for rows in chosen]
    mean = np.array([e.mean(axis=0) for e, _, _ in known])
    cov = np.array([np.cov(e.T, bias=True).reshape(q, q) + LEAST_VARIANCE * np.eye(q) for e, _, _ in known])
    size = np.array([len(rows) for rows in chosen])
    for _ in range(STEPS):
        for k, (e, A, noise) in enumerate(known):
            m, T = mean[k], cov[k]
            gain = np.linalg.solve(A @ T @ A + noise, A @ T).swapaxes(1, 2)
            z = m + (gain @ (e - A @ m)[..., None])[..., 0]
            mean[k] = z.mean(axis=0)
            cov[k] = (z - mean[k]).T @ (z - mean[k]) / len(z) + (T - gain @ A @ T).mean(axis=0)
        pooled = np.tensordot(size, cov, axes=1) / size.sum() + LEAST_VARIANCE * np.eye(q)
    # a small part borrows from the others what its few rows do not tell
    few = (q + 1) / (size + q + 1)
    cov = (1.0 - few)[:, None, None] * cov + few[:, None, None] * pooled
    return GroupLaw(group, size / size.sum(), mean, cov)


def _on_first_axes(places: Posterior, q: int, rows: slice | NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """The mean e of some rows, A = I - S, and the covariance A S of e about A z."""
    some = Posterior(*(values[rows] for values in places))
    S = some.cov[:, :q, :q]
    A = np.eye(q) - S
    noise = A @ S
    return some.mean[:, :q], A, 0.5 * (noise + noise.swapaxes(1, 2)) + LEAST_VARIANCE * np.eye(q)
