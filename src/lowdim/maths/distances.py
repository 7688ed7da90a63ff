"""Matrices of distances: the standard transformation both ways, and what can be wrong with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse.linalg as spl

from lowdim.maths.linalg import Array

SAME_SHARE = 1e-8  # of the largest entry: two halves of a matrix that differ by less are the same but for rounding
WHOLE_SPECTRUM_ROWS = 2500  # rows up to which every eigenvalue is computed to state the negative mass, a few seconds
LARGE_NEGATIVE_SHARE = 0.05  # of the spread: from here on a negative part is a warning, below it a note
SQUARABLE = 1e100  # sizes whose squares, and sums of many of them, can be stored
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
    case: str = ""  # "not symmetric" or "diagonal", which have a way out of their own


def fault(D: Array, *, similar: bool = False) -> Fault | None:
    """The first thing wrong with a square matrix of distances (or of similarities, which need only be symmetric)."""
    size = float(np.abs(D).max(initial=0.0))
    gap = np.abs(D - D.T)
    if gap.max(initial=0.0) > SAME_SHARE * size:
        i, j = _worst(gap)
        return Fault(f"it is not symmetric: {D[i, j]:g} one way and {D[j, i]:g} the other", i, j, "not symmetric")
    if similar:
        return None
    if D.min(initial=0.0) < 0.0:
        i, j = _worst(-D)
        return Fault(f"a distance is negative: {D[i, j]:g}", i, j)
    diagonal = np.diag(D)
    if diagonal.max(initial=0.0) > SAME_SHARE * size:
        i = int(np.argmax(diagonal))
        return Fault(f"a row's distance to itself is {diagonal[i]:g}, not 0", i, i, "diagonal")
    return None


def _worst(A: Array) -> tuple[int, int]:
    i, j = np.unravel_index(int(np.argmax(A)), A.shape)
    return int(i), int(j)


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
    size = float(np.abs(B).max(initial=0.0)) or 1.0  # squares of large numbers would leave double precision
    rounding = n * np.finfo(float).eps * size * float(np.linalg.norm(B / size))
    below = values[values < -rounding]
    return NegativeMass(float(-below.sum() / max(total, np.finfo(float).tiny)), len(below), float(values.min()), exact)


def squared_distances(X: Array, Y: Array) -> Array:
    """|x - y|^2 of all pairs by one product, never negative; close pairs lose digits to cancellation."""
    D: Array = (X**2).sum(axis=1)[:, None] + (Y**2).sum(axis=1)
    D -= 2.0 * X @ Y.T
    np.maximum(D, 0.0, out=D)
    return D


def centre_and_spread(X: Array) -> tuple[Array, Array]:
    """The mean of each column's seen cells (0 without any) and their spread (1 without any); NaN is a gap."""
    mask = ~np.isnan(X)
    count = np.maximum(mask.sum(axis=0), 1)
    mean = np.where(mask, X, 0.0).sum(axis=0) / count
    spread = np.sqrt(np.where(mask, (X - mean) ** 2, 0.0).sum(axis=0) / count)
    return mean, np.where(spread > 0.0, spread, 1.0)


def moderate_unit(size: Array) -> Array:
    """Powers of two to divide by, so that squares of numbers of these sizes can be stored; 1 where they can anyway."""
    fits = (size == 0.0) | ((size > 1.0 / SQUARABLE) & (size < SQUARABLE))
    return np.where(fits, 1.0, np.ldexp(1.0, np.clip(np.frexp(size)[1], -1000, 1000)))


def seen_spread(X: Array, ddof: int = 0) -> Array:
    """The standard deviation of each column's seen cells (NaN is a gap), whatever their unit.

    >>> seen_spread(np.array([[1e200, 3.0], [3e200, np.nan], [np.nan, 5.0]])).tolist()
    [1e+200, 1.0]
    """
    unit = moderate_unit(np.asarray(np.nanmax(np.abs(X), axis=0, initial=0.0)))
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(np.nanstd(X / unit, axis=0, ddof=ddof) * unit, np.finfo(np.float64).max))


def centred(A: Array) -> Array:
    """HAH, symmetric to the bit."""
    A = A - A.mean(axis=0)
    A -= A.mean(axis=1)[:, None]
    return np.asarray((A + A.T) / 2)
