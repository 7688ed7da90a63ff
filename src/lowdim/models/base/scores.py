"""How well a fitted model does on a table, in one number.

Criteria weigh a likelihood against the numbers fitted to reach it, which are counted here. Models without a density
have scores for `GridSearchCV`: the higher the better, of rows that the fit has not seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.maths.pairs import nearest
from lowdim.sources.arrays import as_source
from lowdim.sources.views import Framed, gather
from lowdim.text.messages import error

NEAR = 10  # rows that count as near, as where maps are judged


def count_parameters(d: int, q: int, *, own_units: bool) -> int:
    """The free numbers of a mean and of a covariance W W' + Psi of d columns; a turn of the q axes changes neither.

    Psi is one number, or d with `own_units`: then it, or the unit of each column, was fitted. A covariance has
    d (d + 1) / 2 numbers at most.

    >>> count_parameters(4, 1, own_units=False), count_parameters(4, 1, own_units=True)
    (9, 12)
    """
    return d + min(d * q - q * (q - 1) // 2 + (d if own_units else 1), d * (d + 1) // 2)


def count_shared(k: int, rest: int, q: int) -> int:
    """The free numbers of a mean and a covariance of two views, k and `rest` columns, that share q positions.

    Each view has a covariance of its own; what lies between them is a k x rest matrix of rank q.

    >>> count_shared(3, 2, 1), count_shared(3, 2, 2) == 5 + 5 * 6 // 2
    (18, True)
    """
    return k + rest + (k * (k + 1) + rest * (rest + 1)) // 2 + q * (k + rest - q)


def minus_squared_error(model: Any, X: Any, sample_weight: Any = None) -> float:
    """Minus the mean squared error of a row's seen cells as the model makes them again, in the table's units.

    More axes never lose by it: it compares options of models with as many axes.
    """
    source = as_source(X, weight=sample_weight)
    back = np.asarray(model.reconstruct(source))
    x, mask = gather(model.arrange(source))
    size = float(np.abs(x).max(initial=0.0)) or 1.0  # squares of huge and tiny cells are out of range
    missed = x / size - back / size
    squares = missed**2 if mask is None else np.where(mask, missed, 0.0) ** 2
    seen = np.full(len(x), x.shape[1]) if mask is None else mask.sum(axis=1)
    weight = np.ones(len(x)) if source.weight is None else source.weight
    with np.errstate(over="ignore"):
        error_ = float(weight @ squares.sum(axis=1) / max(float(weight @ seen), 1.0)) * size * size
    return -min(error_, float(np.finfo(np.float64).max))


def neighbours_kept(model: Any, X: Any) -> float:
    """The share of the ten nearest rows of each row in X that are among its ten nearest on the map; 1 is best.

    Fewer than 30 rows count a third of their number as near. Rows are compared with each other, not with those of the
    fit: a matrix of pairs says nothing of how far new rows are from each other, and is refused.
    """
    check_is_fitted(model)
    if model._of_pairs():
        why = "a matrix of pairs does not say how far new rows are from each other"
        raise error("LD240", model=type(model).__name__, verb="score", why=why, fix="lowdim.judge_map(D, Z)")
    Z = np.asarray(model.transform(X), dtype=np.float64)
    x, _ = gather(Framed(model.arrange(X), model.frame_))  # a gap lies at its column's origin
    k = min(NEAR, len(x) // 3)
    if k < 1:
        raise error("LD160", n=len(x), least=3)
    size = float(np.abs(Z).max(initial=0.0)) or 1.0
    table, places = nearest(x, k), nearest(Z / size, k)
    return float(np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(table.row, places.row, strict=True)]))
