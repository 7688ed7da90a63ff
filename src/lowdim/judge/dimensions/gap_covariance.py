"""The covariance of a table with gaps: what a few factors expect the unseen cells to be, and how unsure they are."""

from __future__ import annotations

from itertools import islice

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.dimensions.factors import (
    LEAST_NOISE,
    TINY,
    CovarianceForm,
    Factors,
    factor_ladder,
    pattern_covariances,
    positions,
)
from lowdim.maths.linalg import Array, Mask, distinct

FILLING_FACTORS = (2, 8)  # factors that fill gaps: a quarter of the columns, within these
FILLING_PASSES = 8  # the most passes over the rows
FILLING_TOL = 5e-3  # shares of variance by which noises may still move


class _Patterns:
    """Rows of which many have the same gaps."""

    def __init__(self, x: Array, mask: Mask) -> None:
        self.x, self.mask = x, mask
        self.seen: Array = mask.astype(np.float64)
        self.first, self.of = distinct(mask)
        self.count: NDArray[np.float64] = np.bincount(self.of, minlength=len(self.first)).astype(np.float64)

    def places(self, f: Factors) -> tuple[Array, Array]:
        """The covariance of the factors for each pattern, and where each row lies."""
        G = pattern_covariances(f, self.mask[self.first])
        return G, positions(f, self.x, G[self.of])


def covariance(x: Array, mask: Mask | None, rng: np.random.Generator) -> CovarianceForm:
    """Second moments of centred columns; those of gaps as EM for a few factors expects them.

    Reference: Little and Rubin, Statistical Analysis with Missing Data, Wiley, 2002, section 11.3.
    """
    n, d = x.shape
    wide = d > n
    if mask is None or mask.all():
        A = x / np.sqrt(n)
        return CovarianceForm(A if wide else A.T @ A, wide, (A**2).sum(axis=0))
    p = _Patterns(x, mask)
    k = min(int(np.clip(d // 4, *FILLING_FACTORS)), max(d - 1, 1), n)
    f = next(islice(factor_ladder(_available(p, wide), rng), k, None))
    for _ in range(FILLING_PASSES):
        last, f = f, _em_pass(p, f)
        if float(np.abs(f.psi - last.psi).max()) < FILLING_TOL:
            break
    return _expected_wide(p, f) if wide else _expected(p, f)


def _available(p: _Patterns, wide: bool) -> CovarianceForm:
    """Covariances over the rows that have both cells; of a wide table, its rows with gaps at 0."""
    seen = np.maximum(p.seen.sum(axis=0), 1.0)
    if wide:
        return CovarianceForm(p.x / np.sqrt(seen), True, (p.x**2).sum(axis=0) / seen)
    C = (p.x.T @ p.x) / np.maximum(p.seen.T @ p.seen, 1.0)
    return CovarianceForm(C, False, np.diag(C).copy())


def _em_pass(p: _Patterns, f: Factors) -> Factors:
    """Each column on the places z of the rows that have it: W_j = (sum x_j z') (sum z z' + G)^-1."""
    G, z = p.places(f)
    moments = (z[:, :, None] * z[:, None, :] + G[p.of]).reshape(len(z), -1)
    S = (p.seen.T @ moments).reshape(-1, f.q, f.q)
    T = p.x.T @ z
    W = np.asarray(np.linalg.solve(S + 1e-9 * np.eye(f.q), T[:, :, None])[:, :, 0], dtype=np.float64)
    seen = np.maximum(p.seen.sum(axis=0), 1.0)
    v = np.maximum((p.x**2).sum(axis=0) / seen, TINY)
    return Factors(W, np.clip(v - (W * T).sum(axis=1) / seen, LEAST_NOISE * v, v))


def _expected(p: _Patterns, f: Factors) -> CovarianceForm:
    """(1/n) sum E[x x']: gaps on their expected values, and the covariance W_m G W_m' + Psi_m of what is left open."""
    G, z = p.places(f)
    filled = np.where(p.mask, p.x, z @ f.W.T)
    gone = (~p.mask[p.first]).astype(np.float64)
    C = filled.T @ filled
    for k in range(f.q):
        for j in range(k + 1):
            both = gone.T @ (gone * (p.count * G[:, k, j])[:, None])
            pair = np.outer(f.W[:, k], f.W[:, j])
            C += both * (pair if j == k else pair + pair.T)
    C[np.diag_indices(len(C))] += (p.count @ gone) * f.psi
    C /= len(p.x)
    return CovarianceForm(C, False, np.diag(C).copy())


def _expected_wide(p: _Patterns, f: Factors) -> CovarianceForm:
    """Rows with gaps on their expected values; what is left open is counted in the variances alone."""
    z = p.places(f)[1]
    A = np.where(p.mask, p.x, z @ f.W.T) / np.sqrt(len(p.x))
    return CovarianceForm(A, True, (A**2).sum(axis=0) + (1.0 - p.seen.mean(axis=0)) * f.psi)
