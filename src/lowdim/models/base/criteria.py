"""Criteria that weigh a likelihood against the numbers fitted to reach it."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.sources.arrays import as_source


def bic(model: Any, X: Any, sample_weight: Any) -> float:
    """Schwarz's criterion of a table under a fitted model, the smaller the better."""
    value, n = _total(model, X, sample_weight)
    return -2.0 * value + int(model.n_parameters_) * float(np.log(n))


def aic(model: Any, X: Any, sample_weight: Any) -> float:
    """Akaike's criterion of a table under a fitted model, the smaller the better."""
    return -2.0 * _total(model, X, sample_weight)[0] + 2.0 * int(model.n_parameters_)


def _total(model: Any, X: Any, sample_weight: Any) -> tuple[float, float]:
    """The log-likelihood of a table, and its rows by weight."""
    source = as_source(X, weight=sample_weight)
    scores = model.score_samples(source)
    return float(scores.sum() if source.weight is None else source.weight @ scores), source.total


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
