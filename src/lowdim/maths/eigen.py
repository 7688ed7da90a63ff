"""A few eigenpairs of what is too large for `linalg.largest`: operators by their products, matrices at either end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from scipy.linalg.lapack import dpbtrf, dpbtrs
from scipy.sparse import csgraph

from lowdim.maths.linalg import Array, largest, moderate_factor, sign_rule

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
    start = rng.standard_normal(d)
    if not operate(start).any():  # nothing varies: ARPACK knows no way on from there
        return np.zeros(k), np.eye(d, k), 0.0, 1
    C = spl.LinearOperator((d, d), matvec=product, dtype=np.float64)
    values, V = spl.eigsh(C, k, ncv=space, tol=0, v0=start)
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
        # one more block of the basis, C times it, and the eigenpairs within the basis (Rayleigh and Ritz)
        basis, image = np.hstack([basis, Q]), np.hstack([image, operate(Q)])
        H = basis.T @ image
        values, U = np.linalg.eigh((H + H.T) / 2)
        values, U = values[::-1][:k], U[:, ::-1][:, :k]
        V, CV = basis @ U, image @ U
        off = float(np.linalg.norm(CV - V * values, axis=0).max(initial=0.0) / max(values[0], 1e-300))
        if off <= tol or basis.shape[1] == d:
            break
        # the next block: C times the last one, less what the basis holds of it
        Q = image[:, -width:][:, : d - basis.shape[1]]  # the last block fills the space: then the answer is exact
        for _ in range(3):  # twice is enough (Kahan), once more where a spent subspace left only rounding
            Q = Q - basis @ (basis.T @ Q)
            Q = np.linalg.qr(Q)[0]
    return values, V * sign_rule(V), off, number


class Problem(NamedTuple):
    """An eigenproblem of a spectral method: M v = lambda v, or M v = lambda D v with scale = D^-1/2.

    `end` is the end of the spectrum that is wanted, `skip` the number of known trivial vectors there (constants).
    `null` is one such vector at the small end, M null = 0, known exactly: it is put aside before, so that it mixes with
    no other where the next eigenvalue is almost zero too. `few` says that so few pairs of the large end are wanted that
    products with vectors find them sooner than a factorisation would, once the matrix is large.
    """

    matrix: Any  # dense, sparse, or a LinearOperator
    end: str = "largest"
    skip: int = 0
    scale: Array | None = None
    null: Array | None = None
    few: bool = False
    space: int = 20  # vectors that Lanczos keeps at least


class Eigen(NamedTuple):
    """Eigenpairs, the wanted end first; |Mv - lambda v| / |M| at worst; and who found them."""

    values: Array
    vectors: Array
    residual: float
    solver: str


DENSE_ROWS = 600  # rows up to which a dense solver is as fast as any
WIDEST_BAND = 150  # rows apart up to which a band is factorised sooner than a sparse matrix
FACTOR_ROWS = 3000  # rows from which a factorisation may be too large
WIDE_GRAPH_STEPS = 15  # a large graph of no more steps across fills many dimensions: its factors are almost dense
LANCZOS_RESTARTS = 60  # without factors; 30 do for Laplacians of 30 dimensions of noise, in a tenth of the time
NULL_SHIFT = 1e-10  # of the mean diagonal, added before a sparse matrix is factorised: its null space is wanted


def solve(problem: Problem, k: int) -> Eigen:
    """The k eigenpairs that a spectral method asks for, by the solver that suits the matrix."""
    M, s = problem.matrix, problem.scale
    if s is not None:
        M = sp.csr_array(sp.diags_array(s) @ M @ sp.diags_array(s)) if sp.issparse(M) else M * s[:, None] * s
    scale = moderate_factor(M) if isinstance(M, np.ndarray) else 1.0
    M = M if scale == 1.0 else M * scale  # residuals are squared
    count = min(k + problem.skip, M.shape[0])
    t = None if problem.null is None else problem.null / np.linalg.norm(problem.null)
    if _by_products(problem, M, count):
        values, V, solver = _iterated(M, count, problem.end, t, problem.space)
    else:
        A = M.toarray() if sp.issparse(M) else M
        A = A if t is None else A + float(np.abs(A).sum(axis=0).max(initial=0.0)) * np.outer(t, t)  # beyond the others
        values, V = largest(A if problem.end == "largest" else -A, count)
        values, solver = (values if problem.end == "largest" else -values), "dense"
    size = _size(M, values)
    off = float(np.linalg.norm(M @ V - V * values, axis=0).max(initial=0.0)) / (size or 1.0)
    if s is not None:
        V = V * s[:, None]
    values, V = values[problem.skip :] / scale, V[:, problem.skip :]
    return Eigen(values, V * sign_rule(V), off, solver)


def _by_products(problem: Problem, M: Any, count: int) -> bool:
    """Whether a matrix is only multiplied with vectors, or made dense and factorised."""
    if isinstance(M, spl.LinearOperator):
        return True
    if sp.issparse(M):
        return bool(M.shape[0] > max(DENSE_ROWS, 2 * count + 1))
    return problem.few and len(M) > max(DENSE_ROWS, 10 * count)


def _size(M: Any, values: Array) -> float:
    if isinstance(M, spl.LinearOperator):
        return float(np.abs(values).max(initial=0.0))
    return float(spl.norm(M)) if sp.issparse(M) else float(np.linalg.norm(M))


def _iterated(M: Any, k: int, end: str, null: Array | None, space: int) -> tuple[Array, Array, str]:
    """Lanczos at the large end; at the small end, where it would crawl, of the shifted inverse."""
    n = M.shape[0]
    v0 = np.random.default_rng(0).standard_normal(n)
    space = min(n - 1, max(4 * k, space))
    if end == "largest":
        values, V = spl.eigsh(M, k, which="LA", v0=v0, tol=0, ncv=space)
        order = np.argsort(-values, kind="stable")
        return values[order], V[:, order], "Lanczos"
    direct = _directly(M, k, null, v0, space) if n > FACTOR_ROWS and steps_across(M) <= WIDE_GRAPH_STEPS else None
    if direct is not None:
        return direct
    inverted = _inverted(sp.csr_array(M), NULL_SHIFT * float(M.diagonal().mean()))

    def apart(v: Array) -> Array:
        return v if null is None else v - null * (null @ v)

    # the smallest eigenvalues are the largest of the inverse, known vectors of which are taken out
    inverse = spl.LinearOperator((n, n), matvec=lambda v: apart(inverted(apart(v.ravel()))), dtype=np.float64)
    values, V = spl.eigsh(inverse, k, which="LA", v0=apart(v0), tol=0, ncv=space)
    order = np.argsort(-values, kind="stable")
    V = np.linalg.qr(V[:, order])[0]
    values = (V * (M @ V)).sum(axis=0)  # Rayleigh quotients: the inverse's own values carry the shift
    return values, V, "Lanczos, shifted and inverted"


def _inverted(M: sp.csr_array, shift: float) -> Callable[[Array], Array]:
    """v -> (M + shift)^-1 v of a sparse M >= 0: by Cholesky within a band where rows can be lined up, else sparse."""
    order = csgraph.reverse_cuthill_mckee(M, symmetric_mode=True)
    place = np.argsort(order)
    j = place[M.indices]
    above = j - np.repeat(place, np.diff(M.indptr))
    n, width, upper = len(order), int(above.max(initial=0)), above >= 0
    if width <= WIDEST_BAND:
        band = np.zeros((n, width + 1))  # LAPACK's, turned: a row for each column, which ends with the diagonal
        band[j[upper], width - above[upper]] = M.data[upper]
        band[:, width] += shift
        factor, failed = dpbtrf(band.T, lower=0, overwrite_ab=1)
        if not failed:
            return lambda v: np.asarray(dpbtrs(factor, v[order], lower=0)[0]).take(place)
    how = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    return cast("Callable[[Array], Array]", spl.splu(sp.csc_array(M + shift * sp.eye_array(n)), **how).solve)


def steps_across(M: Any) -> float:
    """Steps from the first row to the farthest that can be reached."""
    G = abs(M)
    G.indices, G.indptr = G.indices.astype(np.int32), G.indptr.astype(np.int32)  # SciPy 1.13 takes no wider ones
    steps = csgraph.dijkstra(G, unweighted=True, indices=0)
    return float(steps[np.isfinite(steps)].max())


def _directly(M: Any, k: int, null: Array | None, v0: Array, space: int) -> tuple[Array, Array, str] | None:
    """The small end without factors, if a few restarts find it: rows that fill many dimensions have wide gaps there."""
    size = float(abs(M).sum(axis=0).max())

    def product(v: Array) -> Array:
        v = v.ravel()
        return np.asarray(M @ v if null is None else M @ v + size * null * (null @ v))

    operator = spl.LinearOperator(M.shape, matvec=product, dtype=np.float64)
    try:
        values, V = spl.eigsh(operator, k, which="SA", v0=v0, tol=0, ncv=space, maxiter=LANCZOS_RESTARTS)
    except spl.ArpackNoConvergence:
        return None
    order = np.argsort(values, kind="stable")
    return values[order], V[:, order], "Lanczos"
