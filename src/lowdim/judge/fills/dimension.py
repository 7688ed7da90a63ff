"""How many dimensions fill best: fills may use more than a map shows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.judge.fills.engines.linear import TRIAL_TOL, LinearModel
from lowdim.judge.fills.stack import guesses_of, joined, paired
from lowdim.judge.hidden_cells import ENOUGH_HIDDEN, hidden_cells, hidden_folds
from lowdim.maths.linalg import Array, centre_and_spread
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.sources.arrays import as_source
from lowdim.sources.views import gather
from lowdim.text.messages import LowdimError, no_warnings


class FillDimension(NamedTuple):
    """The number of dimensions that fills best, and the error of each number tried."""

    n_components: int
    tried: tuple[int, ...]
    error: Array  # mean squared error of hidden cells, columns in units of their spread; 1 = the mean
    behind: Array  # paired standard error of each error minus the best


def fill_dimension(
    X: Any, *, most: int | None = None, folds: int = 5, standardize: bool = True, random_state: int = 0
) -> FillDimension:
    """How many dimensions fill best: the fewest within one paired standard error of the least error of hidden cells.

    Fills may use more dimensions than a map shows; the ladder stops when three more have not helped.
    """
    values, seen = gather(as_source(X))
    mask = np.ones(values.shape, dtype=bool) if seen is None else seen
    n, d = values.shape
    table = np.where(mask, values, np.nan)
    sd = centre_and_spread(table)[1]
    fits = int(np.clip(-(-ENOUGH_HIDDEN * folds // max(int(mask.sum()), 1)), 2, folds))
    hidden = hidden_folds(table, folds, fits, random_state + 1)
    cells = hidden_cells(hidden)
    top = min(d - 1, n - 2, int(mask.sum()) // (2 * max(d, 1))) if most is None else most
    tried: list[int] = []
    squares: list[Array] = []
    for q in _ladder(max(top, 0)):
        model = ProbabilisticPCA(q, standardize=standardize, tol=TRIAL_TOL / n)
        try:
            with no_warnings():
                found = joined([guesses_of(LinearModel(fold.fitted, model), fold) for fold in hidden])
            squares.append((found.error / sd[cells.column]) ** 2)
        except LowdimError:  # cannot be fitted
            squares.append(np.full(len(cells.row), np.inf))
        tried.append(q)
        error_of = np.array([s.mean() if len(s) else np.inf for s in squares])
        best = int(np.argmin(error_of))
        if len(tried) - best > 3:
            break
    fitted = np.isfinite(error_of)  # one that could not be fitted has nothing to pair
    behind = np.array(
        [paired(s, squares[best], cells.row).error if k else 0.0 for s, k in zip(squares, fitted, strict=True)]
    )
    near = next(k for k in range(len(tried)) if error_of[k] <= error_of[best] + behind[k])
    finite = np.where(np.isfinite(error_of), error_of, 1.0)
    return FillDimension(tried[near], tuple(tried), finite, behind)


def _ladder(top: int) -> list[int]:
    """0, 1, 2, ... in steps that grow with the number: each about a fifth of the one before."""
    steps = [0]
    while steps[-1] < top:
        steps.append(min(top, steps[-1] + max(1, steps[-1] // 5)))
    return steps
