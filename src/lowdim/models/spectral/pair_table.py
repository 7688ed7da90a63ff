"""Matrices of pairs, looked at before they are used: distances, similarities, weights or lengths of edges.

Every check names the pair at fault. Also here, as public functions: the way from similarities to distances and back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from lowdim.maths import pairs
from lowdim.maths.linalg import Array, Mask, moderate_factor
from lowdim.models.base.results import in_range
from lowdim.sources.arrays import complete_matrix
from lowdim.text.messages import error

NEEDS_ALL_PAIRS = "each row is told by its numbers with all others, and NaN is a gap"
PAIRS_WITH_GAPS = (
    "ClassicalMDS fits distances with missing pairs:  lowdim fit FILE -m mds --distances; or leave rows out"
)


def check_square(shape: tuple[int, ...], what: str) -> None:
    """One row and one column for each thing."""
    n, d = shape
    if n != d:
        problem = f"it has {n} rows and {d} columns, and is not square"
        raise error("LD410", what=what, problem=problem, case="not square")


def check_pairs(D: Any, what: str, *, similar: bool = False, loops: bool = False) -> None:
    """Refuse a matrix, dense or sparse, that is not symmetric or has negative lengths, or diagonals without `loops`.

    Infinite numbers are not known; of `similar` ones only symmetry is asked.
    """
    check_square(D.shape, what)
    if sp.issparse(D):
        wrong = pairs.sparse_fault(D, loops=loops)
    else:
        wrong = pairs.fault(np.where(np.isfinite(D), D, 0.0), similar=similar)
    if wrong is not None:
        where = f"row {wrong.i + 1}, column {wrong.j + 1}"
        raise error("LD410", where, what=what, problem=wrong.problem, case=wrong.case)


def check_lengths(D: Array, what: str) -> Array:
    """Distances of new rows to those of the fit, infinite where there is no edge; negative ones are refused."""
    if D.min(initial=0.0) < 0.0:
        i, j = np.argwhere(D < 0.0)[0]
        problem = f"a distance is negative: {D[i, j]:g}"
        raise error("LD410", f"row {i + 1}, column {j + 1}", what=what, problem=problem)
    return D


def known_either_way(D: Array) -> Array:
    """Pairs that are known one way only (elsewhere NaN or infinite) are known."""
    return np.where(np.isfinite(D), D, D.T)


def refuse_gap(
    mask: Mask, job: str, columns: tuple[str, ...] = (), start: int = 0, *, why: str = NEEDS_ALL_PAIRS,
    fix: str = PAIRS_WITH_GAPS,
) -> NoReturn:  # fmt: skip
    """The error that names the first pair that is not known; `start` is the number of the first row."""
    row, j = np.argwhere(~mask)[0]
    column = columns[j] if columns else f"c{j + 1}"
    where = f"row {start + row + 1}, column '{column}', and {int((~mask).sum()) - 1} more"
    raise error("LD163", where, job=job, why=why, fix=fix)


# public functions -------------------------------------------------------------------------------------------
@wraps(pairs.to_squared_distances)
def to_squared_distances(K: Any) -> Array:
    """`lowdim.to_squared_distances`: of any table of similarities."""
    return _of_any_size(pairs.to_squared_distances, K, "similarities")


@wraps(pairs.to_similarities)
def to_similarities(D: Any) -> Array:
    """`lowdim.to_similarities`: of any table of squared distances."""
    return _of_any_size(pairs.to_similarities, D, "distances")


def _of_any_size(f: Callable[[Array], Array], X: Any, what: str) -> Array:
    """f of a complete matrix of pairs; f of a multiple is that multiple."""
    D = complete_matrix(X, f.__name__, "every pair has one number")
    check_square(D.shape, what)
    scale = moderate_factor(D)
    with np.errstate(over="ignore"):
        return in_range(f(D * scale) / scale, "Numbers", 1.0 / scale)
