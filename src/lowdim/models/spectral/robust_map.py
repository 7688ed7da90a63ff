"""A map that a few wrong distances cannot bend, and the distances that look wrong beside it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lowdim.maths.eigen import Problem, solve
from lowdim.maths.graph import components, path_lengths
from lowdim.maths.linalg import Array, Index, Mask
from lowdim.maths.pairs import exact_distances, to_similarities
from lowdim.models.spectral.pair_table import check_pairs, check_square
from lowdim.sources.arrays import as_matrix
from lowdim.text.messages import error, warn

LEAST_SMOOTHING = 1e-3  # logarithms of ratios below this weigh as in least squares; it starts at 1 and halves each time
STEPS_PER_WEIGHTING = 20  # majorisation steps between two changes of the weights


class Suspect(NamedTuple):
    """A distance that does not agree with the map of all the others."""

    first: Any
    second: Any
    distance: float
    on_map: float
    log_ratio: float  # log(distance / on_map): positive = too long


class RobustMap(NamedTuple):
    """Places, the distances they were made from and have, and how it went."""

    embedding: Array  # n x q
    distances: Array  # NaN = not known
    on_map: Array
    objective: float  # mean |log(distance / on_map)|
    passes: int
    converged: bool

    def suspects(self, count: int = 10, names: Any = None) -> list[Suspect]:
        """The distances farthest from the map's, by |log(distance / on_map)|."""
        off, i, j = _log_ratios(self.distances, self.on_map)
        names = np.arange(len(self.distances)) if names is None else list(names)
        order = np.argsort(-np.abs(off), kind="stable")[:count]
        return [
            Suspect(
                names[i[t]],
                names[j[t]],
                float(self.distances[i[t], j[t]]),
                float(self.on_map[i[t], j[t]]),
                float(off[t]),
            )
            for t in order
        ]


def robust_map(D: Any, n_components: int = 2, *, tol: float = 1e-6, max_iter: int = 300) -> RobustMap:
    """A map of distances that a few wrong ones cannot bend, and the distances that look wrong beside it.

    Positions minimise sum_ij |log(d_ij / delta_ij)|, d given and delta on the map. Weighted stress
    sum w_ij (d_ij - delta_ij)^2 with w = d^-2 is least squares in log d to first order; weights divided by
    |log(d / delta)| of the step before make it least absolute values. Each stress is majorised (SMACOF). It starts
    from classical scaling, where unknown distances are shortest paths.

    Parameters
    ----------
    D : array-like of shape (n, n)
        Distances, symmetric; NaN = not known.
    n_components : int, default=2
        Dimensions of the map.
    tol : float, default=1e-6
        Relative change of the objective at which to stop.
    max_iter : int, default=300
        Changes of the weights at most.

    Returns
    -------
    RobustMap
        `embedding` (n x n_components), `distances` and `on_map` (n x n), `objective` (mean |log ratio|), `passes`,
        `converged`, and `suspects(count, names)`: the distances farthest from the map's.

    References
    ----------
    J. de Leeuw (1977), "Applications of convex analysis to multidimensional scaling", in Recent Developments in
    Statistics, North-Holland, 133-145.
    I. Borg and P. J. F. Groenen (2005), Modern Multidimensional Scaling, 2nd edition, Springer, chapters 8 and 11.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
    >>> line[0, 1] = line[1, 0] = 5.0
    >>> [(s.first, s.second, round(s.on_map)) for s in robust_map(line, 1).suspects(1)]
    [(np.int64(0), np.int64(1), 1)]
    """
    D = as_matrix(D, 2)
    known = _known_pairs(D)
    unit = float(D[known].max(initial=0.0)) or 1.0
    S = np.where(known, D / unit, 0.0)
    Z = _start(S, known, n_components)
    best, converged, passes = np.inf, False, 0
    while passes < max_iter and not converged:
        passes += 1
        smooth = max(LEAST_SMOOTHING, 0.5**passes)  # from least squares on: else a pair of neighbours may stay swapped
        Z = _reweighted(Z, S, known, smooth)
        value = _objective(Z, S, known)
        converged = best - value <= tol * max(best, 1e-12) and smooth == LEAST_SMOOTHING
        best = min(best, value)
    if not converged:
        warn("LD201", model="robust_map", passes=passes, reason="max_iter was reached")
    return RobustMap(Z * unit, D, exact_distances(Z) * unit, best, passes, converged)


def _known_pairs(D: Array) -> Mask:
    """Which pairs are known and to be mapped; anything that is no matrix of distances is refused."""
    check_square(D.shape, "distances")
    known = ~np.isnan(D) & ~np.isnan(D.T)
    check_pairs(np.where(known, D, np.nan), "distances")
    known &= np.where(known, D, 0.0) > 0.0  # a distance of zero has no logarithm
    count, label = components(sp.csr_array(known.astype(np.float64)))
    if count > 1:
        i, j = int(np.argmax(label == 0)), int(np.argmax(label == 1))
        raise error("LD419", count=count, i=i + 1, j=j + 1)
    return known


def _start(S: Array, known: Mask, q: int) -> Array:
    lengths = S
    if not known[~np.eye(len(S), dtype=bool)].all():
        lengths = np.where(known, S, path_lengths(sp.csr_array(np.where(known, S, 0.0))))
        np.fill_diagonal(lengths, 0.0)
    eigen = solve(Problem(to_similarities(lengths**2)), min(q, len(S)))
    return eigen.vectors * np.sqrt(np.maximum(eigen.values, 1e-12))


def _log_ratios(distances: Array, on_map: Array) -> tuple[Array, Index, Index]:
    """log(distance / on_map) of the known pairs, each once."""
    i, j = np.triu_indices(len(distances), 1)
    use = np.nan_to_num(distances[i, j]) > 0.0
    i, j = i[use], j[use]
    return np.log(distances[i, j]) - np.log(np.maximum(on_map[i, j], 1e-300)), i, j


def _objective(Z: Array, S: Array, known: Mask) -> float:
    off = _log_ratios(np.where(known, S, 0.0), exact_distances(Z))[0]
    return float(np.abs(off).mean())


def _reweighted(Z: Array, S: Array, known: Mask, smooth: float) -> Array:
    """A few steps of majorisation with the weights of this map: Z <- V^+ B(Z) Z, Guttman's transform."""
    # least absolute values of log d by least squares: divided by |log(d / delta)|, and by d^2 as logarithms ask
    delta = exact_distances(Z)
    safe = np.where(known, S, 1.0)
    off = np.abs(np.log(np.maximum(delta, 1e-12) / safe))
    W = np.where(known, 1.0 / (safe**2 * np.maximum(off, smooth)), 0.0)
    n = len(S)
    V = np.diag(W.sum(axis=1)) - W
    inverse = np.linalg.inv(V + W.mean()) - 1.0 / (n * n * W.mean())  # 11'/n spans V's null space
    for _ in range(STEPS_PER_WEIGHTING):
        # B(Z) Z, then V^+: no step lets the stress rise
        R = np.where(known, W * S / np.maximum(delta, 1e-12), 0.0)
        Z = inverse @ (R.sum(axis=1)[:, None] * Z - R @ Z)
        delta = exact_distances(Z)
    return Z
