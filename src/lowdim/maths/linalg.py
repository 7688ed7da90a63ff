"""Small linear algebra: signs, packed triangles, many little inverses at once, floored spectra and roots.

And numbers whose squares can be stored: one guard for all that is huge or tiny, and the spread of columns.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
EPS = float(np.finfo(np.float64).eps)
LARGEST = float(np.finfo(float).max)
MODERATE_SIZE = 2.0**200  # sizes within 1/this .. this square and sum without leaving double precision
FULL_SHARE = 0.3  # above this share of a spectrum, computing all of it is faster
VECTORISED = 12  # up to this order a Cholesky written over all matrices at once beats LAPACK (2 to 4 times, measured)
SMALL_MASK = 2**14  # bytes of a mask's bits up to which its patterns are kept in mind
FEW_MATRICES = 24  # unless there are no more of them than this


def evenly_spread(n: int, most: int, *, ends: bool = False) -> NDArray[np.intp]:
    """At most so many of n positions, evenly spread from the first on; with `ends`, up to the last one.

    >>> evenly_spread(10, 4).tolist(), evenly_spread(10, 4, ends=True).tolist(), evenly_spread(2, 4).tolist()
    ([0, 2, 5, 7], [0, 3, 6, 9], [0, 1])
    """
    k = min(n, most)
    if ends:
        return np.unique(np.linspace(0, max(n - 1, 0), k).astype(np.intp))
    return (np.arange(k) * n) // max(k, 1)


def sign_rule(V: Array) -> Array:
    """+1 or -1 for each column, so that its largest entry is positive (near-ties: the first)."""
    if V.shape[0] == 0 or V.shape[1] == 0:
        return np.ones(V.shape[1])
    size = np.abs(V)
    largest = size.max(axis=0)
    first = np.argmax(size >= largest * (1 - 1e-8), axis=0)
    return np.where(V[first, np.arange(V.shape[1])] < 0, -1.0, 1.0)


def svd(X: Array) -> tuple[Array, Array, Array]:
    """Thin SVD; where the fast routine fails on finite input, the slow one answers."""
    try:
        factors: tuple[Array, Array, Array] = sl.svd(X, full_matrices=False, check_finite=False)
    except sl.LinAlgError:
        factors = sl.svd(X, full_matrices=False, check_finite=False, lapack_driver="gesvd")
    return factors


def orthogonality(V: Array) -> float:
    """|I - V'V| / (d ulp), as LAPACK's own tests measure it."""
    return float(np.abs(np.eye(V.shape[1]) - V.T @ V).max(initial=0.0) / (max(len(V), 1) * EPS))


@cache
def lower(q: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Row and column of each entry of a packed lower triangle, row by row."""
    i, j = np.tril_indices(q)
    i.flags.writeable = j.flags.writeable = False
    return i, j


@cache
def square(q: int) -> NDArray[np.intp]:
    """Where the entries of a symmetric matrix stand in its packed triangle, q x q."""
    i, j = np.indices((q, q))
    return np.asarray(np.maximum(i, j) * (np.maximum(i, j) + 1) // 2 + np.minimum(i, j))


def distinct(mask: Mask) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first row of each pattern of a mask, patterns in order, and the pattern of every row."""
    bits = np.packbits(mask, axis=1)
    return (_recalled if bits.size <= SMALL_MASK else _patterns)(bits.tobytes(), *bits.shape)


def _patterns(bits: bytes, n: int, wide: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    words = np.zeros((n, -(-max(wide, 1) // 8) * 8), dtype=np.uint8)
    words[:, :wide] = np.frombuffer(bits, dtype=np.uint8).reshape(n, wide)
    keys = words.view(np.uint64 if words.shape[1] == 8 else np.dtype((np.void, words.shape[1]))).ravel()
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    first.flags.writeable = of.flags.writeable = False
    return first, of


_recalled = lru_cache(maxsize=32)(_patterns)  # the fit of a small table asks for them at every pass


def unpack(A: Array, q: int) -> Array:
    """Packed triangles along the first axis, (p, n), as n symmetric matrices."""
    i, j = lower(q)
    full = np.empty((A.shape[1], q, q))
    full[:, i, j] = full[:, j, i] = A.T
    return full


def exact_sums(x: Array) -> tuple[Array, Array]:
    """Column sums and x'x of n x d numbers, the same to the last bit or two in whatever order a processor adds.

    Each x is split into h + l, where h has so few bits that sums of n of its products are exact; what l adds is smaller
    by 2^-20 and so are its rounding errors. Reference: Ozaki, Ogita, Oishi and Rump, Numer. Algorithms 59 (2012) 95.

    >>> float(exact_sums(np.full((1024, 1), 0.1))[1][0, 0]) == 1024 * (0.1 * 0.1)
    True
    """
    bits = (52 - max(len(x), 2).bit_length()) // 2
    top = np.ldexp(1.5, np.frexp(np.abs(x.T, order="C").max(axis=1, initial=0.0))[1] + (52 - bits))
    h, one = (x + top) - top, np.ones(len(x))  # columns side by side, and sums as products: narrow rows take long
    low = x - h
    cross = low.T @ (h + 0.5 * low)
    return one @ h + one @ low, h.T @ h + (cross + cross.T)


def inverse_packed(A: Array, q: int) -> tuple[Array, Array]:
    """Inverses, packed alike, and log determinants of n positive definite matrices, (p, n)."""
    if q == 0:
        return A, np.zeros(A.shape[1])
    if q > VECTORISED or A.shape[1] <= FEW_MATRICES:
        full = unpack(A, q)
        sign, logdet = np.linalg.slogdet(full)
        if (sign > 0.0).all():
            return np.ascontiguousarray(np.linalg.inv(full)[:, *lower(q)].T), logdet
        if q > VECTORISED:
            raise np.linalg.LinAlgError("a matrix is not positive definite")
    # Cholesky's steps over all matrices at once; with next to no noise a pivot is lost in rounding.
    at = square(q)
    L, N, inverse = np.zeros((q, q, A.shape[1])), np.zeros((q, q, A.shape[1])), np.empty_like(A)  # N = L^-1
    for j in range(q):
        column = A[at[j:, j]] - (L[j:, :j] * L[j, :j]).sum(axis=1)
        L[j, j] = np.sqrt(np.maximum(column[0], EPS * A[at[j, j]]))  # below that it is rounding, and may be zero
        L[j + 1 :, j] = column[1:] / L[j, j]
    for i in range(q):
        N[i, i] = 1.0 / L[i, i]
        N[i, :i] = -(L[i, :i, None] * N[:i, :i]).sum(axis=0) * N[i, i]
    for i in range(q):
        inverse[at[i, : i + 1]] = (N[i:, i, None] * N[i:, : i + 1]).sum(axis=0)
    return inverse, 2.0 * np.log(L[range(q), range(q)]).sum(axis=0)


def times_packed(A: Array, b: Array) -> Array:
    """n packed symmetric matrices, (p, n) or one (p, 1), times n vectors (q, n)."""
    if A.shape[1] == 1 < b.shape[1]:
        return np.asarray(unpack(A, len(b))[0] @ b)
    out = np.zeros_like(b)
    for j, row in enumerate(square(len(b))):
        out += A[row] * b[j]
    return out


def quadratic_forms(packed: Array, W: Array) -> Array:
    """w'C w of n packed symmetric matrices, n x q(q+1)/2, and the m rows of W (m x q): n x m."""
    i, j = lower(W.shape[1])
    return packed @ (W[:, i] * W[:, j] * np.where(i == j, 1.0, 2.0)).T


def floored_eigh(C: Array, least: Array | float = 0.0) -> tuple[Array, Array]:
    """Eigenvalues of one symmetric matrix or many, rising, none below `least`, and their eigenvectors.

    By default what rounding put below zero counts as zero.
    """
    values, U = np.linalg.eigh(C)
    return np.maximum(values, least), U


def floored(C: Array, least: float) -> Array:
    """A covariance with no direction below `least`: of all such, the likeliest where C is what was seen."""
    values, U = floored_eigh((C + C.T) / 2.0, least)
    return (U * values) @ U.T


def root(P: Array) -> Array:
    """The symmetric square root of a positive semi-definite matrix; what rounding put below zero counts as zero."""
    values, U = np.linalg.eigh(P)
    return (U * np.sqrt(np.maximum(values, 0.0))) @ U.T


def half_root(C: Array) -> Array:
    """F with F F' = C, for one covariance or many: F times standard normal numbers has covariance C."""
    values, U = floored_eigh(C)
    return U * np.sqrt(values)[..., None, :]


def align(W: Array, target: Array) -> Array:
    """W turned (rotation or reflection) to lie as close to the target as it can."""
    U, _, Vt = np.linalg.svd(W.T @ target)
    return np.asarray(W @ (U @ Vt))


def root_times(C: Array, normal: Array) -> Array:
    """Vectors with these covariances from standard normal ones, a row each."""
    return (half_root(C) @ normal[:, :, None])[:, :, 0]


def largest(C: Array, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues of C, falling, and their eigenvectors by the sign rule."""
    if k == 0:
        return np.zeros(0), np.zeros((len(C), 0))
    exponent = int(np.frexp(np.abs(C).max())[1])
    C = np.ldexp(C, -exponent)  # LAPACK's evr has thresholds of its own: below 1e-6 another unit gives other bits
    n = len(C)
    part = {} if k > FULL_SHARE * n else {"range": "I", "il": n - k + 1, "iu": n}
    # without scipy's checks, which take as long as a small matrix
    values, V, found, _, info = sl.lapack.dsyevr(C, lower=1, lwork=33 * n, liwork=10 * n, **part)
    values, V = values[:found], V[:, :found]
    if info or found < k:  # LAPACK's evr has been seen to return none of a subset of many equal values
        values, V = sl.eigh(C, check_finite=False, driver="ev")
    V = V[:, ::-1][:, :k]
    return np.ldexp(values[::-1][:k], exponent), np.ascontiguousarray(V * sign_rule(V))


def residual(C: Array, values: Array, V: Array) -> float:
    """|CV - V Lambda| / (|C| d ulp), as LAPACK's own tests measure it."""
    size = float(np.linalg.norm(C))
    if size == 0.0 or len(values) == 0:
        return 0.0
    return float(np.linalg.norm(C @ V - V * values) / (size * len(C) * EPS))


# numbers that are huge or tiny, and the spread of columns ----------------------------------------------------------
def moderate_scale(size: Array, *, together: bool = False) -> Array:
    """Powers of two that bring numbers of these sizes near one; 1 where they are moderate already.

    A power of two changes no digit. `together` gives all of them one factor, that of the largest.

    >>> moderate_scale(np.array([3.0, 2.0**300])).tolist() == [1.0, 2.0**-301]
    True
    """
    size = np.full_like(size, size.max(initial=0.0)) if together else size
    moderate = (size == 0.0) | ((size > 1.0 / MODERATE_SIZE) & (size < MODERATE_SIZE))
    return np.where(moderate, 1.0, 2.0 ** -np.clip(np.frexp(size)[1], -1000, 1000))


def moderate_factor(*tables: Array) -> float:
    """The power of two that brings the largest number of these tables near one; 1 where it is moderate."""
    sizes = [0.0, *(np.abs(table).max(initial=0.0) for table in tables)]  # 0.0: never in single precision
    return float(moderate_scale(np.max(sizes)))


def centre_and_spread(X: Array) -> tuple[Array, Array]:
    """The mean of each column's seen cells (0 without any) and their spread (1 without any); NaN is a gap."""
    mask = ~np.isnan(X)
    count = np.maximum(mask.sum(axis=0), 1)
    mean = np.where(mask, X, 0.0).sum(axis=0) / count
    spread = np.sqrt(np.where(mask, (X - mean) ** 2, 0.0).sum(axis=0) / count)
    return mean, np.where(spread > 0.0, spread, 1.0)


def seen_spread(X: Array, ddof: int = 0) -> Array:
    """The standard deviation of each column's seen cells (NaN is a gap), whatever their unit.

    >>> seen_spread(np.array([[1e200, 3.0], [3e200, np.nan], [np.nan, 5.0]])).tolist()
    [1e+200, 1.0]
    """
    scale = moderate_scale(np.nanmax(np.abs(X), axis=0, initial=0.0))
    with np.errstate(over="ignore"):
        return np.minimum(np.nanstd(X * scale, axis=0, ddof=ddof) / scale, LARGEST)
