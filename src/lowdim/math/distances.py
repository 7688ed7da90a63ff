"""Matrices of distances: the standard transformation both ways, what can be wrong with them, and corrections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse.linalg as spl
from numpy.typing import NDArray

from lowdim.math.linalg import Array

SAME_SHARE = 1e-8  # of the largest entry: two halves of a matrix that differ by less are the same but for rounding
VIOLATED_SHARE = 1e-9  # of the largest distance: a triangle must be violated by more than rounding
TRIANGLE_ROWS = 150  # rows whose triangles are looked at: half a million of them
WHOLE_SPECTRUM_ROWS = 2500  # rows up to which every eigenvalue is computed to state the negative mass, a few seconds
LARGE_NEGATIVE_SHARE = 0.05  # of the spread: from here on a negative part is a warning, below it a note
LOWEST_VALUES = 5  # eigenvalues at the lower end that are computed beyond that


def to_squared_distances(K: Array) -> Array:
    """Squared distances of a similarity: d_ij = k_ii + k_jj - 2 k_ij, zero on the diagonal.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Similarities, symmetric.

    Returns
    -------
    D : ndarray of shape (n, n)
        Squared distances.

    References
    ----------
    K. V. Mardia, J. T. Kent and J. M. Bibby (1979), Multivariate Analysis, Academic Press, section 14.2: the standard
    transformation.

    Examples
    --------
    >>> to_squared_distances(np.array([[1.0, 0.5], [0.5, 4.0]]))
    array([[0., 4.],
           [4., 0.]])
    """
    k = np.diag(K)
    D = k[:, None] + k - 2.0 * K
    np.fill_diagonal(D, 0.0)
    return D


def to_similarities(D: Array) -> Array:
    """The centred inner products behind squared distances: B = -1/2 H D H, H = I - 11'/n.

    Parameters
    ----------
    D : ndarray of shape (n, n)
        Squared distances.

    Returns
    -------
    B : ndarray of shape (n, n)
        Similarities whose rows and columns sum to zero; `to_squared_distances(B)` is D.

    References
    ----------
    W. S. Torgerson (1952), "Multidimensional scaling: I. Theory and method", Psychometrika 17, 401-419.
    J. C. Gower (1966), "Some distance properties of latent root and vector methods used in multivariate analysis",
    Biometrika 53, 325-338.

    Examples
    --------
    >>> to_similarities(np.array([[0.0, 4.0], [4.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return centred_gram(-0.5 * D)


def centred_gram(K: Array) -> Array:
    """H K H of a symmetric matrix, in place."""
    means = K.mean(axis=0)
    K -= means
    K -= means[:, None]
    K += means.mean()
    return K


class Fault(NamedTuple):
    """A cell that no matrix of this kind can have."""

    problem: str
    i: int
    j: int


def fault(D: Array, *, similar: bool = False) -> Fault | None:
    """The first thing wrong with a square matrix of distances (or of similarities, which need only be symmetric)."""
    size = float(np.abs(D).max(initial=0.0))
    gap = np.abs(D - D.T)
    if gap.max(initial=0.0) > SAME_SHARE * size:
        i, j = _worst(gap)
        return Fault(f"it is not symmetric: {D[i, j]:g} one way and {D[j, i]:g} the other", i, j)
    if similar:
        return None
    if D.min(initial=0.0) < 0.0:
        i, j = _worst(-D)
        return Fault(f"a distance is negative: {D[i, j]:g}", i, j)
    diagonal = np.diag(D)
    if diagonal.max(initial=0.0) > SAME_SHARE * size:
        i = int(np.argmax(diagonal))
        return Fault(f"a row's distance to itself is {diagonal[i]:g}, not 0", i, i)
    return None


def _worst(A: Array) -> tuple[int, int]:
    i, j = np.unravel_index(int(np.argmax(A)), A.shape)
    return int(i), int(j)


class Triangles(NamedTuple):
    """How many of the triangles looked at have a side longer than the way round, and the worst of them."""

    share: float
    i: int
    j: int
    by: int  # the way from i to j by this row is shorter


def violated(D: Array) -> Triangles:
    """The share of triples of rows that break d_ij <= d_ik + d_kj, among up to 150 evenly spread rows."""
    n = len(D)
    rows: NDArray[np.intp] = np.unique(np.arange(min(n, TRIANGLE_ROWS)) * n // min(n, TRIANGLE_ROWS))
    S = D[np.ix_(rows, rows)]
    m, count, worst = len(rows), 0, (0.0, 0, 0, 0)
    least = VIOLATED_SHARE * float(S.max(initial=0.0))
    for k in range(m):
        excess = S - (S[:, k, None] + S[k])
        count += int((excess > least).sum()) // 2
        i, j = _worst(excess)
        if excess[i, j] > worst[0]:
            worst = (float(excess[i, j]), int(rows[i]), int(rows[j]), int(rows[k]))
    return Triangles(count / max(m * (m - 1) * (m - 2) / 6, 1), *worst[1:])


class NegativeMass(NamedTuple):
    """Where the eigenvalues of a matrix of pairs lie: one that comes from real positions has none below zero."""

    share: float  # |negative| / |all|; beyond WHOLE_SPECTRUM_ROWS rows a lower bound
    below: int  # how many are negative beyond rounding; beyond WHOLE_SPECTRUM_ROWS rows at least so many
    lowest: float
    exact: bool


def negative_mass(B: Array) -> NegativeMass:
    """The share of a symmetric matrix's eigenvalues, by size, that is negative."""
    n = len(B)
    if n <= WHOLE_SPECTRUM_ROWS:
        values = np.linalg.eigvalsh(B)
        exact, total = True, float(np.abs(values).sum())
    else:
        values = spl.eigsh(
            B,
            LOWEST_VALUES,
            which="SA",
            v0=np.random.default_rng(0).standard_normal(n),
            return_eigenvectors=False,
            tol=1e-6,
        )
        exact, total = False, float(np.trace(B) - 2.0 * np.minimum(values, 0.0).sum())
    rounding = n * np.finfo(float).eps * float(np.linalg.norm(B))
    below = values[values < -rounding]
    return NegativeMass(float(-below.sum() / max(total, np.finfo(float).tiny)), len(below), float(values.min()), exact)


def lingoes(D: Array) -> float:
    """The least c for which the squared distances d_ij^2 + 2c (i != j) are Euclidean: minus B's lowest eigenvalue.

    Reference: J. C. Lingoes (1971), "Some boundary conditions for a monotone analysis of symmetric matrices",
    Psychometrika 36, 195-203.
    """
    values = np.linalg.eigvalsh(to_similarities(D**2))
    return max(0.0, -float(values[0]))


def cailliez(D: Array) -> float:
    """The least c for which the distances d_ij + c (i != j) are Euclidean.

    The largest eigenvalue of [[0, 2 B(d^2)], [-I, -4 B(d)]], B the double centring.

    Reference: F. Cailliez (1983), "The analytical solution of the additive constant problem", Psychometrika 48,
    305-308.
    """
    n = len(D)
    zero = np.zeros((n, n))
    M = np.block([[zero, 2.0 * to_similarities(D**2)], [-np.eye(n), -4.0 * to_similarities(D)]])
    values = sl.eigvals(M, check_finite=False)
    real = values.real[np.abs(values.imag) <= 1e-7 * np.abs(values).max(initial=0.0)]
    return max(0.0, float(real.max(initial=0.0)))


def distinct(D: Array) -> NDArray[np.intp]:
    """Rows that no earlier row is at distance zero from."""
    twin = np.tril(D == 0.0, -1).any(axis=1)
    return np.flatnonzero(~twin)
