"""Eigenpairs of symmetric matrices: the largest ones, in falling order, signs fixed."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as sl

from lowdim.math.linalg import EPS, Array, sign_rule

FULL_SHARE = 0.3  # above this share of the spectrum, computing all of it is faster
PASSES = 40  # the most products a Krylov basis may take; plan reads it too


def largest(C: Array, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues of C, falling, and their eigenvectors by the sign rule."""
    d = len(C)
    if k == 0:
        return np.zeros(0), np.zeros((d, 0))
    subset = None if k > FULL_SHARE * d else (d - k, d - 1)
    try:
        values, V = sl.eigh(C, subset_by_index=subset, check_finite=False)
        found = len(values) >= k  # LAPACK's evr has been seen to return none of a subset of many equal values
    except sl.LinAlgError:
        found = False
    if not found:
        values, V = sl.eigh(C, check_finite=False, driver="ev")
    values, V = values[::-1][:k], V[:, ::-1][:, :k]
    return np.ascontiguousarray(values), np.ascontiguousarray(V * sign_rule(V))


def residual(C: Array, values: Array, V: Array) -> float:
    """|CV - V Lambda| / (|C| d ulp), as LAPACK's own tests measure it."""
    size = float(np.linalg.norm(C))
    if size == 0.0 or len(values) == 0:
        return 0.0
    return float(np.linalg.norm(C @ V - V * values) / (size * len(C) * EPS))


def block_krylov(operate: Callable[[Array], Array], d: int, k: int, rng: np.random.Generator, *,
                 tol: float = 1e-8, max_passes: int = PASSES) -> tuple[Array, Array, float, int]:
    """The k largest eigenpairs of a symmetric positive operator, with a residual test.

    Every product with the operator is one pass over the data. The Krylov basis keeps all blocks, so a
    slowly falling spectrum is resolved as fast as polynomials allow. Returns values, vectors, the
    residual max |Cv - lambda v| / lambda_1, and passes.

    Reference: Musco and Musco (2015), algorithm 2, in its symmetric form.
    """
    width = min(k + 8, d)
    Q = np.linalg.qr(rng.standard_normal((d, width)))[0]
    basis, image = np.zeros((d, 0)), np.zeros((d, 0))
    number = 0
    while number < max_passes:
        number += 1
        basis, image = np.hstack([basis, Q]), np.hstack([image, operate(Q)])
        H = basis.T @ image
        values, U = np.linalg.eigh((H + H.T) / 2)
        values, U = values[::-1][:k], U[:, ::-1][:, :k]
        V, CV = basis @ U, image @ U
        off = float(np.linalg.norm(CV - V * values, axis=0).max(initial=0.0) / max(values[0], 1e-300))
        if off <= tol or basis.shape[1] == d:
            break
        Q = image[:, -width:][:, : d - basis.shape[1]]  # the last block fills the space: then the answer is exact
        for _ in range(3):  # twice is enough (Kahan), once more where a spent subspace left only rounding
            Q = Q - basis @ (basis.T @ Q)
            Q = np.linalg.qr(Q)[0]
    return values, V * sign_rule(V), off, number
