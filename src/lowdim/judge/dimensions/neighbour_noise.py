"""Noise that neighbouring columns share, beside the factors: readings in order of time, place or wavelength.

Such noise predicts a cell from its neighbours as a dimension would, and factor analysis takes it for several. Where a
correlation that falls off along the columns explains the table with fewer numbers, it is taken for what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from lowdim.judge.dimensions.factors import LEAST_NOISE, NOISE_STEPS, NOISE_TOL, TINY, CovarianceForm
from lowdim.judge.dimensions.judges import free_numbers
from lowdim.maths.linalg import Array, Mask, largest

MOST_CORRELATED = 0.95
MOST_NOISE = 0.7  # correlation up to which it is noise: beyond, half of a cell and more is in its neighbours, a signal
COLUMNS_ASKED = (6, 100)  # fewer have too few neighbours to tell a fall from a factor, more take seconds
CLEAR_NATS = 5.0  # of BIC by which shared noise must explain a table better: AR(1) of 0.5 has 70, others 1 at most


class NeighbourFactors(NamedTuple):
    """Sigma = W W' + Psi^1/2 R Psi^1/2 with R_jk = rho^|j - k|."""

    W: Array  # d x q
    psi: Array  # d
    rho: float

    @property
    def q(self) -> int:
        return int(self.W.shape[1])

    @property
    def covariance(self) -> Array:
        root = np.sqrt(self.psi)
        return np.asarray(self.W @ self.W.T + falling_correlations(len(root), self.rho) * np.outer(root, root))

    def cell_errors(self, r: Array, mask: Mask | None) -> Array:
        """Each cell less what the other cells of its row say, (P r)_j / P_jj; rows without gaps."""
        assert mask is None
        P = np.linalg.inv(self.covariance)
        return np.asarray((r @ P) / np.diag(P))

    def log_likelihood(self, S: CovarianceForm, n: float) -> float:
        """Of n rows with covariance S."""
        C = self.covariance
        trace = float(np.trace(np.linalg.solve(C, S.matrix)))
        return -0.5 * n * (len(C) * float(np.log(2 * np.pi)) + float(np.linalg.slogdet(C)[1]) + trace)


def falling_correlations(d: int, rho: float) -> Array:
    """rho^|j - k|: each column is correlated with its neighbours, and through them with the others."""
    return np.asarray(rho ** np.abs(np.subtract.outer(np.arange(d), np.arange(d))), dtype=np.float64)


def neighbour_ladder(S: CovarianceForm) -> Iterator[NeighbourFactors]:
    """0, 1, 2, ... factors with noise that neighbours share, each from the noises of the last.

    As `factor_ladder` with the noise's own Cholesky factor in place of Psi^1/2; rho is the mean correlation of
    neighbours that the factors leave.
    """
    C, v = S.matrix, np.maximum(S.variance, TINY)
    psi, rho = v, 0.0
    for q in range(len(v)):
        for _ in range(NOISE_STEPS):
            root = np.sqrt(psi)[:, None] * np.linalg.cholesky(falling_correlations(len(v), rho))
            half = solve_triangular(root, C, lower=True)
            theta, U = largest(solve_triangular(root, half.T, lower=True), q)
            W = (root @ U) * np.sqrt(np.maximum(theta - 1.0, 0.0))
            left, last = C - W @ W.T, (psi, rho)
            psi = np.clip(np.diag(left), LEAST_NOISE * v, v)
            rho = float(np.clip((np.diag(left, 1) / np.sqrt(psi[1:] * psi[:-1])).mean(), 0.0, MOST_CORRELATED))
            if float(np.abs(psi - last[0]).max()) + abs(rho - last[1]) < NOISE_TOL:
                break
        yield NeighbourFactors(W, psi, rho)


class NeighbourEvidence(NamedTuple):
    """BIC of 0, 1, ... factors beside noise that neighbours share, and its correlation at the best."""

    bic: Array
    rho: float


def neighbour_evidence(S: CovarianceForm, n: float, bic: Array) -> NeighbourEvidence | None:
    """Noise that neighbours share, where it clearly explains n rows better than `bic`, and with fewer dimensions."""
    if S.is_rows or not COLUMNS_ASKED[0] <= len(S.variance) <= COLUMNS_ASKED[1]:
        return None
    fits = list(islice(neighbour_ladder(S), len(bic)))
    price = 0.5 * float(np.log(n))
    found = np.array([f.log_likelihood(S, n) - price * (free_numbers(len(f.psi), f.q) + 1) for f in fits])
    best = int(np.argmax(found))
    clear = found[best] > bic.max() + CLEAR_NATS and best < int(np.argmax(bic)) and fits[best].rho <= MOST_NOISE
    return NeighbourEvidence(found, fits[best].rho) if clear else None
