"""The largest eigenpairs of a large symmetric operator, by its products alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse.linalg as spl

from lowdim.math.linalg import Array, sign_rule

PASSES = 40  # the most products a Krylov basis may take; plans read it too


def lanczos(
    operate: Callable[[Array], Array], d: int, k: int, rng: np.random.Generator, *, tol: float = 1e-8
) -> tuple[Array, Array, float, int]:
    """The k largest eigenpairs by implicitly restarted Lanczos, one vector a product, with a residual test.

    For operators whose product is cheaper than keeping a wide basis orthogonal: stored cells in memory. A flat
    spectrum costs hundreds of products, where blocks of vectors would not get there at all. Returns as
    `block_krylov` does.

    Reference: Lehoucq, Sorensen and Yang (1998), ARPACK; four times k vectors halve its products here.
    """
    count = 0

    def product(v: Array) -> Array:
        nonlocal count
        count += 1
        return operate(v.ravel())

    space = min(d, max(4 * k, 20))
    if k >= d or space <= k:
        return block_krylov(operate, d, k, rng, tol=tol)
    C = spl.LinearOperator((d, d), matvec=product, dtype=np.float64)
    values, V = spl.eigsh(C, k, ncv=space, tol=0, v0=rng.standard_normal(d))
    values, V = values[::-1].copy(), np.linalg.qr(V[:, ::-1])[0]
    off = float(np.linalg.norm(operate(V) - V * values, axis=0).max(initial=0.0) / max(values[0], 1e-300))
    return values, V * sign_rule(V), off, count + 1


def block_krylov(
    operate: Callable[[Array], Array],
    d: int,
    k: int,
    rng: np.random.Generator,
    *,
    tol: float = 1e-8,
    max_passes: int = PASSES,
) -> tuple[Array, Array, float, int]:
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
