"""Odd rows of a mixed map: how far each row is from what the model expects, and why.

Of a row, with position m and G the information of its seen cells, each counted as in an ordinary row:

    T2 = |m|^2 + m' G^-1 m                      the part within the map
    Q  = k + sqrt(2 k) (S - E S) / sd S         the part off it, k = #seen - q

where S sums -2 log p(cell | the others of its row) less its expectation over the cell's values, in units of the spread
that this has: a row whose answers are unlikely given each other. E S and sd S are those of the bulk of the rows.
D2 = T2 + Q. For real columns they behave as those of a Gaussian map, chi-square with q, #seen - q and #seen degrees of
freedom; what is ordinary is said by the bulk of the rows, as there (`null_law.py`).

A cell's p is the probability of all values that are no likelier, given the others. Where more cells of a column have
small p than should (an overconfident model), they are raised to the power that puts their lower quantile where it
belongs; real columns and counts have a t law of their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from lowdim.judge.dimensions.jury import axes_drawn, choose_dimension
from lowdim.judge.mixed.mixed_map import MixedMap, fit_mixed_map, mixed_map
from lowdim.judge.quantified import quantified
from lowdim.judge.rows.answers import CellAnswers, JudgedAnswers
from lowdim.judge.rows.null_law import (
    GAUSSIAN_LAW,
    JUDGING_DOF,
    LEAST_ROWS_OF_LAW,
    UPPER_ROWS,
    UPPER_SHARE,
    RowLaw,
    most_dof,
    t_law,
)
from lowdim.judge.rows.odd_rows import (
    LEAST_IN_GROUP,
    MOST_IN_GROUPS,
    JudgedRows,
    OddRows,
    RowDistances,
    laws,
    picked,
    row_p_values,
)
from lowdim.judge.rows.surprise import RANK_SHARE
from lowdim.math.linalg import Array, Mask, unpack
from lowdim.math.outlying import robust_units, similar_groups
from lowdim.models.mixed.given_others import GivenOthers
from lowdim.table.table import Table

LEAST_SPREAD, MOST_SPREAD = 0.1, 30.0  # of a row's standardised surprise
LOOKED_AGAIN = 0.25  # rows with a smaller p are looked at with their least likely cell hidden


class MixedDistances(NamedTuple):
    """The distances of every row."""

    D2: Array
    T2: Array
    Q: Array
    rank: NDArray[np.intp]
    seen: NDArray[np.intp]


def mixed_distances(told: GivenOthers, law: RowLaw) -> MixedDistances:
    """T2, Q and D2 of every row, by what its cells say of each other; the law says what that usually is."""
    z, seen = told.position, told.seen.sum(axis=1)
    values, U = np.linalg.eigh(unpack(told.information.T, z.shape[1]))
    held = values > RANK_SHARE * values.max(axis=1, initial=0.0, keepdims=True)
    inverse = np.where(held, 1.0 / np.where(held, values, 1.0), 0.0)
    across = np.matmul(np.swapaxes(U, 1, 2), z[:, :, None])[:, :, 0]
    T2 = (z * z).sum(axis=1) + (inverse * across**2).sum(axis=1)
    rank = np.minimum(held.sum(axis=1), seen)
    k = seen - rank
    Q = np.where(k > 0, np.maximum(k + np.sqrt(2.0 * k) * (told.off - law.middle) / law.spread, 0.0), 0.0)
    return MixedDistances(T2 + Q, T2, Q, rank, seen)


def tempered_p(told: GivenOthers, levelled: Mask) -> Array:
    """p of every cell, by the law of its column's cells; 1 at gaps."""
    p = told.p.copy()
    for j in range(p.shape[1]):
        own = told.seen[:, j]
        many = int(own.sum())
        if many < LEAST_ROWS_OF_LAW:
            continue
        share = max(UPPER_SHARE, UPPER_ROWS / many)
        if levelled[j]:
            low = float(np.quantile(p[own, j], share))
            p[:, j] **= min(1.0, np.log(share) / np.log(low)) if low < share else 1.0
        else:
            scale, dof = t_law(np.abs(told.surprise[own, j]))
            p[:, j] = np.where(own, 2.0 * stdtr(dof, -np.abs(told.surprise[:, j]) / scale), 1.0)
    return p


def judge_mixed_rows(
    map: MixedMap, X: Array, *, odd_level: float = 0.95, row_names: Any = None, law: RowLaw | None = None
) -> OddRows:
    """The rows that a mixed map finds odd, each with its reason.

    Rows that are not those of the fit are judged by a `law` of the fit: they may be odd all together.
    """
    told = map.given_others(X)
    own = law is None and len(X) >= LEAST_ROWS_OF_LAW
    law = law_of_rows(told) if own else law or GAUSSIAN_LAW
    far, p = mixed_distances(told, law), tempered_p(told, levelled(map)) if own else told.p
    least = np.where(told.seen, p, 2.0)
    tied = least <= least.min(axis=1, keepdims=True)
    worst = np.argmax(np.where(tied, np.abs(told.surprise), -1.0), axis=1)
    at = np.arange(len(X)), worst
    cell_p = np.minimum(least.min(axis=1), 1.0)
    look = row_p_values(law.p_value(far.D2, far.seen), cell_p, far.seen) < LOOKED_AGAIN
    values = map.codes(X)
    rows = RowDistances(
        *far[:3],
        far.rank,
        far.seen,
        worst,
        told.surprise[at],
        np.nan_to_num(values[at]) - told.mean[at],
        told.sd[at],
        np.nan_to_num(values[at]),
        cell_p if own else np.zeros(0),
    )
    left = _without_worst(map, X, far.D2, worst, look, law)
    usual = law.middle, law.spread
    answers = JudgedAnswers(answers_of(map), left, told.likeliest[at], told.likeliest_share[at], usual)
    judged = JudgedRows(rows, map.columns, np.ones(len(map.columns)), row_names, map.column_scales, law, answers)
    D2, T2, Q = laws(rows, law)
    return _with_groups(picked(D2._replace(p=rows_p(map, X, far, law)), T2, Q, judged, odd_level), X)


def rows_p(map: MixedMap, X: Array, far: MixedDistances, law: RowLaw) -> Array:
    """The p of each row's D2: by the law, and where all columns are answers not below the probability of these very
    answers, whatever a smooth law of distances says."""
    p = law.p_value(far.D2, far.seen)
    return np.maximum(p, np.exp(map.model.score_samples(map.source(X)))) if levelled(map).all() else p


def law_of_rows(told: GivenOthers) -> RowLaw:
    """What the bulk of the rows says is ordinary: its surprise has this middle, and so wide a spread that as many rows
    as should lie beyond an upper quantile of their law.

    Sums of few answers are bounded below and have tails of their own, so that a median says little of them.
    """
    middle = float(np.median(told.off))
    many = len(told.off)
    share = max(UPPER_SHARE, UPPER_ROWS / many)
    low, high = np.log(LEAST_SPREAD), np.log(MOST_SPREAD)
    for _ in range(30):
        law = RowLaw(1.0, most_dof(many), middle, float(np.exp(0.5 * (low + high))))
        far = mixed_distances(told, law)
        beyond = float((law.p_value(far.D2, far.seen) < share).mean())
        low, high = (0.5 * (low + high), high) if beyond > share else (low, 0.5 * (low + high))
    return law


def odd_mixed_rows(table: Table, dims: int | str, odd_level: float, seed: int) -> OddRows:
    """The odd rows of a table of answers, by the map that the main job draws."""
    if dims == "auto":
        jury = choose_dimension(quantified(table), standardize=True, random_state=seed)
        dims = axes_drawn(jury, table.d)
    map = mixed_map(fit_mixed_map(table, int(dims), seed), table.names, table.scales)
    return judge_mixed_rows(map, table.X, odd_level=odd_level, row_names=table.row_names)


def levelled(map: MixedMap) -> Mask:
    """Which columns have levels."""
    return np.array([len(levels) > 0 for levels in map.model.levels_], dtype=bool)


def answers_of(map: MixedMap) -> tuple[CellAnswers, ...]:
    """What the cells of each column are called."""
    kinds, labels = map.model.likelihoods_, map.model.labels_
    return tuple(CellAnswers(kind, tuple(str(x) for x in own)) for kind, own in zip(kinds, labels, strict=True))


def _without_worst(map: MixedMap, X: Array, D2: Array, worst: NDArray[np.intp], look: Mask, law: RowLaw) -> Array:
    """D2 of the rows that are looked at, with the least likely cell hidden; of others as it is."""
    left, rows = D2.copy(), np.flatnonzero(look)
    if len(rows):
        hidden = X[rows].copy()
        for i, k in enumerate(worst[rows]):
            hidden[i, list(map.numbers[k])] = np.nan
        left[rows] = mixed_distances(map.given_others(hidden), law).D2
    return left


def _with_groups(found: OddRows, X: Array) -> OddRows:
    """The odd rows that lie together."""
    if int(found.odd.sum()) < LEAST_IN_GROUP:
        return found
    mask = ~np.isnan(X)
    centre, spread = robust_units(np.where(mask, X, 0.0), mask)
    Z = np.where(mask, (X - centre) / spread, 0.0)
    groups = similar_groups(Z, mask, np.flatnonzero(found.odd)[:MOST_IN_GROUPS])
    return found._replace(groups=tuple(tuple(int(k) for k in group) for group in groups))


def law_of_later_rows(law: RowLaw) -> RowLaw:
    """The law of the bulk of a map's own rows, by which rows that come later are judged: a row may be beyond any
    experience, also where no law fits the bulk."""
    return law._replace(dof=max(law.dof, JUDGING_DOF))
