"""Minka's evidence for a number of principal axes, from the eigenvalues alone."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from lowdim.maths.linalg import Array

RANK_SHARE = 1e-10  # eigenvalues below this share of the largest count as zero
SMALLEST_WIDTH = 2.0 / np.pi  # sqrt(2 pi / A) may not exceed pi, the range of an angle between two axes


def rank_of(values: Array, share: float = RANK_SHARE) -> int:
    """How many eigenvalues are not zero: above a share of the largest."""
    return int((values > share * values[0]).sum()) if len(values) and values[0] > 0 else 0


def minka(values: Array, n: float, d: int, most: int | None = None, share: float = RANK_SHARE) -> Array:
    """Minka's Laplace evidence for 0, 1, ... dimensions from the covariance's eigenvalues l (1/n), n rows.

    log p(D|k) = log p(U) - n/2 (sum_{i<=k} log l_i + (d - k) log v) + (m + k)/2 log 2 pi
                 - 1/2 log|A_Z| - k/2 log n,   m = d k - k (k + 1)/2,  v = mean of the d - k last l_i,
    log|A_Z| = sum_{i<=k} sum_{j>i} log n (1/l^_j - 1/l^_i)(l_i - l_j),  l^ = l, and v beyond k.

    k = 0 has empty products: the spherical Gaussian. Fewer rows than columns: the d - r zero eigenvalues are
    summed in closed form, and k stops at r - 1, where some noise is left. (Leaving them out, as if the table
    had r columns, answers r/2 for a rank of 2 in 1000 columns and 100 rows.) Tied eigenvalues make A_Z
    singular, as if an angle were free over the whole line; it is free over a half turn, so no factor
    (2 pi / A)^(1/2) may exceed pi, nor all together, with p(U), the share 2^-k of one choice of signs.

    Reference: Minka (2000), Automatic choice of dimensionality for PCA, section 3.

    >>> int(np.argmax(minka(np.array([9.0, 4.0, 1.1, 1.0, 0.9]), 100, 5)))
    2
    """
    lam = np.asarray(values, dtype=np.float64)[: rank_of(values, share)]
    last = len(lam) - 1 if most is None else min(most, len(lam) - 1)
    return np.array([_minka_one(lam, k, n, d) for k in range(last + 1)])


def _minka_one(lam: Array, k: int, n: float, d: int) -> float:
    r = len(lam)
    v = float(lam[k:].sum()) / (d - k)
    i = np.arange(1, k + 1)
    log_pu = float((gammaln((d - i + 1) / 2) - (d - i + 1) / 2 * np.log(np.pi)).sum() - k * np.log(2.0))
    fit = -0.5 * n * (float(np.log(lam[:k]).sum()) + (d - k) * float(np.log(v)))
    hat = np.concatenate([lam[:k], np.full(r - k, v)])
    A = n * (1.0 / hat[None, :] - 1.0 / hat[:k, None]) * (lam[:k, None] - lam[None, :])
    A = A[np.triu(np.ones((k, r), dtype=bool), 1)]
    zeros = n * (lam[:k] / v - 1.0)  # the factors of an eigenvalue that is zero
    logs = float(_log_width(A).sum()) + (d - r) * float(_log_width(zeros).sum())
    m = d * k - k * (k + 1) / 2
    axes = min(log_pu + m / 2 * float(np.log(2 * np.pi)) - 0.5 * logs, -k * float(np.log(2.0)))
    return fit + axes + k / 2 * float(np.log(2 * np.pi / n))


def _log_width(A: Array) -> Array:
    return np.log(np.maximum(A, SMALLEST_WIDTH))
