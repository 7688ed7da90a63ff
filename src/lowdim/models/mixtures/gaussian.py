"""A whole Gaussian x ~ N(mu, C) as the part of a mixture: a latent model without axes, gaps welcome."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.maths.gaps import GivenSeen, Group, Scatter, bounded_covariance, given_seen, pattern_groups
from lowdim.maths.linalg import Array, lower, unpack
from lowdim.maths.seeds import normals
from lowdim.models.base.results import Cells
from lowdim.sources.source import Block

ON_FLOOR = 1e-9  # an eigenvalue within this share of its bound is on it: an extrapolation may round it above
LOG_STEP = 3.0  # by how much an extrapolation may change the logarithm of a variance: it may not run away


class GaussianParams(NamedTuple):
    """Parameters, in the frame's units."""

    mu: Array  # d
    C: Array  # d x d
    P: Array  # d x d: (x - mu) P is white
    logdet: float  # log |C|
    low: Array  # d: C - diag(low) has no negative eigenvalue
    n: float  # rows it was fitted to
    on_floor: bool  # whether that bound holds it up

    @property
    def excess(self) -> float:
        """n / (n - d - 1), at most 4: each cell is predicted from the others by d fitted numbers."""
        return self.n / max(self.n - len(self.mu) - 1.0, self.n / 4.0)


def gaussian(mu: Array, C: Array, low: Array, n: float) -> GaussianParams:
    """A Gaussian whose covariance is lifted to its bound."""
    C, P, logdet, lowest = bounded_covariance(C, low)
    return GaussianParams(mu, C, P, logdet, low, n, lowest < 1.0 + ON_FLOOR)


class FullGaussian:
    """The hooks of a latent model for x ~ N(mu, C); where a row lies says nothing, so its posterior is of its cells."""

    _own_units = True
    n_components = 0

    def _posterior(self, p: GaussianParams, block: Block, groups: list[Group] | None = None) -> GivenSeen:
        r = block.x - p.mu
        if block.mask is not None:
            r *= block.mask
        return given_seen(r, pattern_groups(block.mask) if groups is None else groups, p.P, p.logdet)

    def _stats(self, p: GaussianParams, block: Block) -> Scatter:
        return self._posterior(p, block).scatter(block.times)

    def _update(self, p: GaussianParams, s: Scatter) -> GaussianParams:
        return gaussian(p.mu + s.s / s.n, s.covariance(), p.low, s.n)

    def _decode(self, p: GaussianParams, rows: GivenSeen) -> Cells:
        """Mean of each cell given the seen ones; noise counts the fitted covariance's own uncertainty."""
        var = rows.variance()
        return Cells(rows.deviations + p.mu, var / p.n, var * p.excess)

    def _draw(self, p: GaussianParams, rows: GivenSeen, rng: list[np.random.Generator]) -> Array:
        drawn = normals(rng, len(p.mu)) @ np.linalg.cholesky(p.C).T
        return rows.drawn(p.P, drawn) + p.mu

    def _redraw(self, p: GaussianParams, rng: np.random.Generator) -> GaussianParams:
        step = np.linalg.cholesky(p.C) @ rng.standard_normal(len(p.mu)) / np.sqrt(p.n)
        return gaussian(p.mu + step, p.C * p.excess, p.low, p.n)

    def _pack(self, p: GaussianParams) -> Array:
        """The mean and the logarithm of C, in units of the bound: any numbers there are some covariance."""
        sd = np.sqrt(p.low)
        values, U = np.linalg.eigh(p.C / np.outer(sd, sd))
        log_C = (U * np.log(np.maximum(values, 1.0))) @ U.T
        return np.concatenate([p.mu / sd, log_C[lower(len(sd))]])

    def _unpack(self, vector: Array, like: GaussianParams) -> GaussianParams:
        d, sd = len(like.mu), np.sqrt(like.low)
        values, U = np.linalg.eigh(unpack(vector[d:, None], d)[0])
        most = np.log(np.trace(like.C / np.outer(sd, sd))) + LOG_STEP
        C = (U * np.exp(np.clip(values, 0.0, most))) @ U.T * np.outer(sd, sd)
        return gaussian(vector[:d] * sd, C, like.low, like.n)
