"""Scores of models without a density, for `GridSearchCV`: the higher the better, of rows that the fit has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim.math.neighbors import nearest
from lowdim.sources.arrays import as_source
from lowdim.sources.views import Framed, gather
from lowdim.text.messages import error

NEAR = 10  # rows that count as near, as where maps are judged


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
