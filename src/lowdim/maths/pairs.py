"""Pairs of rows: their distances and similarities, what can be wrong with a matrix of them, and the nearest rows.

Neighbours are exact: found by a tree in few dimensions, by blocks of products in many.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from lowdim.maths.linalg import EPS, Array, Index, Mask

SAME_SHARE = 1e-8  # of the largest entry: two halves of a matrix that differ by less are the same but for rounding
WHOLE_SPECTRUM_ROWS = 2500  # rows up to which every eigenvalue is computed to state the negative mass, a few seconds
LARGE_NEGATIVE_SHARE = 0.05  # of the spread: from here on a negative part is a warning, below it a note
LOWEST_VALUES = 5  # eigenvalues at the lower end that are computed beyond that
TREE_DIMENSIONS = 10  # up to so many a k-d tree beats brute force (docs/measurements.md)
BLOCK_PAIRS = 2**22  # distances worked on at once, 32 MB
WIDTH_ROWS = 1000  # rows whose distances set the width of a Gaussian kernel by the median heuristic
SPARE_CANDIDATES = 8  # candidates beyond k whose distances are computed again from differences: products cancel
TIED_DISTANCES = 1e-10  # closer than this share of them, distances are equal: rounding must not choose neighbours


# distances ------------------------------------------------------------------------------------------------
def squared_distances(X: Array, Y: Array) -> Array:
    """|x - y|^2 of all pairs by one product, never negative; close pairs lose digits to cancellation."""
    D: Array = (X**2).sum(axis=1)[:, None] + (Y**2).sum(axis=1)
    D -= 2.0 * X @ Y.T
    np.maximum(D, 0.0, out=D)
    return D


def pair_distances(X: Array, Y: Array, i: Index, j: Index) -> Array:
    """|x_i - y_j| of listed pairs, from differences."""
    out = np.empty(len(i))
    rows = max(1, BLOCK_PAIRS // max(X.shape[1], 1))
    for start in range(0, len(i), rows):
        part = slice(start, start + rows)
        out[part] = np.sqrt(((X[i[part]] - Y[j[part]]) ** 2).sum(axis=1))
    return out


def exact_distances(X: Array, Y: Array | None = None) -> Array:
    """Distances of all pairs from differences: digits before speed."""
    return cdist(X, X if Y is None else Y)


def median_width(X: Array, variance: Array | None = None) -> float:
    """gamma = 1 / (2 m^2), m the median distance of unequal rows among up to 1000 strided ones; 1 if all are equal.

    Rows that are known up to a `variance`, of the strided ones, have expected distances.
    """
    sample = X[:: max(1, len(X) // WIDTH_ROWS)][:WIDTH_ROWS]
    i, j = np.triu_indices(len(sample), 1)
    D = exact_distances(sample)[i, j]
    if variance is not None:
        D = np.sqrt(D**2 + variance[i] + variance[j])
    D = D[D > 0]
    return 1.0 / (2.0 * float(np.median(D)) ** 2) if len(D) else 1.0


# matrices of pairs ------------------------------------------------------------------------------------------
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


def centred(A: Array) -> Array:
    """HAH, symmetric to the bit."""
    A = A - A.mean(axis=0)
    A -= A.mean(axis=1)[:, None]
    return (A + A.T) / 2


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


def mirrored(G: sp.csr_array) -> sp.csr_array:
    """A graph in which an edge given one way goes both ways."""
    back = sp.csr_array(G.T)
    return sp.csr_array(G + back - back.multiply(G != 0))


def sparse_fault(G: sp.csr_array, *, loops: bool = False) -> Fault | None:
    """What is wrong with a sparse matrix of pairs, as `fault` says of a dense one; `loops` allows a diagonal."""
    size = float(abs(G).max()) if G.nnz else 0.0
    gap = sp.coo_array(abs(G - G.T))
    if gap.nnz and gap.data.max() > SAME_SHARE * size:
        at = int(np.argmax(gap.data))
        i, j = int(gap.row[at]), int(gap.col[at])
        return Fault(f"it is not symmetric: {G[i, j]:g} one way and {G[j, i]:g} the other", i, j, "not symmetric")
    C = sp.coo_array(G)
    bad = np.flatnonzero((C.data < 0.0) | ((C.row == C.col) & (C.data > SAME_SHARE * size) & (not loops)))
    if not len(bad):
        return None
    i, j, value = int(C.row[bad[0]]), int(C.col[bad[0]]), C.data[bad[0]]
    return Fault(f"{value:g} is no length or weight here", i, j)


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
    rounding = n * EPS * size * float(np.linalg.norm(B / size))
    below = values[values < -rounding]
    return NegativeMass(float(-below.sum() / max(total, np.finfo(float).tiny)), len(below), float(values.min()), exact)


# nearest rows -----------------------------------------------------------------------------------------------
class Neighbours(NamedTuple):
    """The k nearest of each row, nearest first; equal distances by row number."""

    distance: Array  # n x k
    row: Index  # n x k


def nearest(X: Array, k: int, among: Array | None = None) -> Neighbours:
    """The k nearest rows `among` others, or of X itself, where a row is not its own neighbour.

    >>> nearest(np.array([[0.0], [1.0], [3.0]]), 1).row.ravel().tolist()
    [1, 0, 1]
    """
    Y = X if among is None else among
    count = min(k + int(among is None), len(Y))
    neighbours = _tree(X, Y, count) if X.shape[1] <= TREE_DIMENSIONS else _brute(X, Y, count)
    if among is not None:
        return neighbours
    # Each row out of its own list: among equal rows it may stand anywhere, or have been crowded out.
    distance, row = neighbours
    itself = row == np.arange(len(X))[:, None]
    itself[~itself.any(axis=1), -1] = True
    keep, k = ~itself, min(k, count - 1)
    rest = len(X), count - 1
    return Neighbours(distance[keep].reshape(rest)[:, :k], row[keep].reshape(rest)[:, :k])


class RowPairs(NamedTuple):
    """A list of pairs of rows: x_i and y_j at a distance d > 0."""

    i: Index
    j: Index
    d: Array

    def chosen(self, which: NDArray[Any]) -> RowPairs:
        return RowPairs(self.i[which], self.j[which], self.d[which])


def together(*parts: RowPairs) -> RowPairs:
    """The pairs of several lists in one."""
    return RowPairs(
        np.concatenate([p.i for p in parts]), np.concatenate([p.j for p in parts]), np.concatenate([p.d for p in parts])
    )


def joined(X: Array, k: int, among: Array | None = None) -> tuple[RowPairs, Array]:
    """Each row with every other at most as far as its k-th nearest, and how far that is.

    Rows equally far are all taken, so that the order of rows decides nothing; a row at distance zero is the row
    itself, and is not. The rows `among` which they are found must be different from each other.

    >>> joined(np.array([[0.0], [1.0], [2.0]]), 1)[0].j.tolist()
    [1, 0, 2, 1]
    """
    Y = X if among is None else among
    distance, row = nearest(X, k + 1 + int(among is not None), among)
    if among is not None:  # the row itself stands first, if it is there
        itself = distance[:, :1] == 0.0
        distance = np.where(itself, np.roll(distance, -1, axis=1), distance)[:, : max(distance.shape[1] - 1, 1)]
        row = np.where(itself, np.roll(row, -1, axis=1), row)[:, : distance.shape[1]]
    last = min(k, distance.shape[1])
    radius = distance[:, last - 1]
    tied = np.zeros(len(X), dtype=bool)
    if distance.shape[1] > last:
        tied = distance[:, last] <= radius * (1.0 + TIED_DISTANCES)
    untied_rows, tied_rows = np.flatnonzero(~tied), np.flatnonzero(tied)
    plain = RowPairs(
        np.repeat(untied_rows, last), row[untied_rows, :last].ravel(), distance[untied_rows, :last].ravel()
    )
    if not len(tied_rows):
        return plain, radius
    ties = within(X[tied_rows], Y, radius[tied_rows])
    both = together(plain, ties._replace(i=tied_rows[ties.i]))
    return both.chosen(np.lexsort((both.j, both.i))), radius


def within(X: Array, Y: Array, radius: Array) -> RowPairs:
    """Every pair with 0 < |x_i - y_j| <= radius_i, to rounding."""
    rows = max(1, BLOCK_PAIRS // max(len(Y), 1))
    centre = Y.mean(axis=0)
    A, B = X - centre, Y - centre
    size = (B**2).sum(axis=1).max(initial=0.0)
    parts = []
    for start in range(0, max(len(X), 1), rows):
        part = slice(start, start + rows)
        slack = 1e-12 * ((A[part] ** 2).sum(axis=1) + size)  # what a product may be wrong by, and more
        most = radius[part] ** 2 * (1.0 + 4.0 * TIED_DISTANCES) + slack
        i, j = np.nonzero(squared_distances(A[part], B) <= most[:, None])
        i += start
        d = pair_distances(X, Y, i, j)
        keep = (d <= radius[i] * (1.0 + TIED_DISTANCES)) & (d > 0.0)
        parts.append(RowPairs(i[keep], j[keep], d[keep]))
    return together(*parts)


def nearest_known(D: Array, k: int) -> Neighbours:
    """The k nearest by a matrix of distances, rows by columns; unknown ones are infinite and come last."""
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return Neighbours(np.take_along_axis(D, order, 1), order)


def joined_known(D: Array, k: int) -> tuple[RowPairs, Array]:
    """As `joined`, by a matrix of distances; infinite ones are unknown, zero ones are the row itself."""
    D = np.where(D > 0.0, D, np.inf)
    radius = np.partition(D, k - 1, axis=1)[:, k - 1] if k < D.shape[1] else D.max(axis=1, initial=0.0)
    i, j = np.nonzero((radius[:, None] * (1.0 + TIED_DISTANCES) >= D) & np.isfinite(D))
    largest = np.where(np.isfinite(D), D, 0.0).max(axis=1, initial=0.0)
    return RowPairs(i, j, D[i, j]), np.where(np.isfinite(radius), radius, largest)


def _tree(X: Array, Y: Array, k: int) -> Neighbours:
    """A tree's distances are of differences; only rows equally far at the cut need a second look."""
    tree = cKDTree(Y)
    count = min(k + 1, len(Y))
    distance, index = (np.asarray(part).reshape(len(X), count) for part in tree.query(X, count))
    if count == k and not (distance[:, 1:] == distance[:, :-1]).any():
        return Neighbours(distance, index)
    neighbours = Neighbours(np.ascontiguousarray(distance[:, :k]), np.ascontiguousarray(index[:, :k]))
    tied = np.flatnonzero((distance[:, 1:] == distance[:, :-1]).any(axis=1))
    if len(tied):
        count = min(k + SPARE_CANDIDATES, len(Y))
        candidates = np.asarray(tree.query(X[tied], count)[1]).reshape(len(tied), count)
        neighbours.distance[tied], neighbours.row[tied] = _ordered(X[tied], Y, candidates, k)
    return neighbours


def _brute(X: Array, Y: Array, k: int) -> Neighbours:
    rows = max(1, BLOCK_PAIRS // max(len(Y), 1))
    count = min(k + SPARE_CANDIDATES, len(Y))
    centre = Y.mean(axis=0)  # digits: distances do not care where the origin is
    A, B = X - centre, Y - centre
    parts = []
    for start in range(0, len(X), rows):
        D = squared_distances(A[start : start + rows], B)
        every = np.tile(np.arange(len(Y)), (len(D), 1))
        index = np.argpartition(D, count - 1, axis=1)[:, :count] if count < len(Y) else every
        parts.append(_ordered(X[start : start + rows], Y, index, k))
    return Neighbours(np.concatenate([p.distance for p in parts]), np.concatenate([p.row for p in parts]))


def _ordered(X: Array, Y: Array, index: Index, k: int) -> Neighbours:
    """The first k of the candidates, by distance from differences and then by number."""
    index = np.sort(index, axis=1)
    distance = np.empty(index.shape)
    rows = max(1, BLOCK_PAIRS // max(index.shape[1] * X.shape[1], 1))
    for start in range(0, len(X), rows):
        part = slice(start, start + rows)
        distance[part] = np.sqrt(((X[part, None, :] - Y[index[part]]) ** 2).sum(axis=2))
    order = np.argsort(distance, axis=1, kind="stable")[:, :k]
    return Neighbours(np.take_along_axis(distance, order, 1), np.take_along_axis(index, order, 1))


def neighbor_weights(C: Array, used: Mask, ridge: Array) -> Array:
    """Weights that sum to one and minimise w'(C + ridge I)w, over the entries in use."""
    k = C.shape[1]
    C = C.copy()
    at = np.arange(k)
    C[:, at, at] += np.where(used, ridge[:, None], 1.0)
    w = np.linalg.solve(C, used.astype(float)[:, :, None])[:, :, 0]
    total = w.sum(axis=1)
    return np.asarray(w / np.where(total != 0.0, total, 1.0)[:, None])
