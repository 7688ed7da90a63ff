"""Odd rows of a mixed map: how far each row is from what the model expects, and why.

Of a row, with position m and G the information of its seen cells, each counted as in an ordinary row:

    T2 = |m|^2 + m' G^-1 m                      the part within the map
    Q  = k + sqrt(2 k) (S - E S) / sd S         the part off it, k = #seen - q

where S sums -2 log p(cell | the others of its row) less its expectation over the cell's values, in units of the spread
that this has: a row whose answers are unlikely given each other. E S and sd S are those of the bulk of the rows.
D2 = T2 + Q. For real columns they behave as those of a Gaussian map, chi-square with q, #seen - q and #seen degrees of
freedom; what is ordinary is said by the bulk of the rows, as there (`reference_law.py`).

A cell's p is the probability of all values that are no likelier, given the others. Where more cells of a column have
small p than should (an overconfident model), they are raised to the power that puts their lower quantile where it
belongs; real columns and counts have a t law of their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from lowdim.judge.cells import informed_shift
from lowdim.judge.mixed.given_others import GivenOthers
from lowdim.judge.mixed.mixed_map import MixedMap
from lowdim.judge.rows.answers import CellAnswers, JudgedAnswers
from lowdim.judge.rows.odd_rows import (
    LEAST_IN_GROUP,
    LOOKED_AGAIN,
    MOST_IN_GROUPS,
    JudgedRows,
    OddRows,
    RowDistances,
    laws,
    picked,
)
from lowdim.judge.rows.outlyingness import robust_units, similar_groups
from lowdim.judge.rows.reference_law import (
    GAUSSIAN_DOF,
    GAUSSIAN_LAW,
    LEAST_ROWS_OF_LAW,
    UPPER_ROWS,
    UPPER_SHARE,
    CellLaws,
    RowLaw,
    most_dof,
    row_p_values,
    t_law,
)
from lowdim.maths.linalg import Array, Mask

LEAST_SPREAD, MOST_SPREAD = 0.1, 30.0  # of a row's standardised surprise


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
    more, rank = informed_shift(told.information.T, z)
    T2, rank = (z * z).sum(axis=1) + (z * more).sum(axis=1), np.minimum(rank, seen)
    k = seen - rank
    Q = np.where(k > 0, np.maximum(k + np.sqrt(2.0 * k) * (told.off - law.middle) / law.spread, 0.0), 0.0)
    return MixedDistances(T2 + Q, T2, Q, rank, seen)


def mixed_cell_laws(told: GivenOthers, levelled: Mask) -> CellLaws:
    """The law of each column's cells: of levels the power of their p, of others a t; few cells have the model's own."""
    d = told.p.shape[1]
    laws = CellLaws(np.ones(d), np.full(d, GAUSSIAN_DOF), levelled.astype(np.float64))
    for j in range(d):
        own = told.seen[:, j]
        many = int(own.sum())
        if many < LEAST_ROWS_OF_LAW:
            laws.power[j] = 1.0
            continue
        share = max(UPPER_SHARE, UPPER_ROWS / many)
        if levelled[j]:
            low = float(np.quantile(told.p[own, j], share))
            laws.power[j] = min(1.0, np.log(share) / np.log(low)) if low < share else 1.0
        else:
            laws.scale[j], laws.dof[j] = t_law(np.abs(told.surprise[own, j]))
    return laws


def mixed_cell_p(told: GivenOthers, law: RowLaw) -> Array:
    """p of every cell, by the law of its column's cells; 1 at gaps."""
    if law.cells is None:
        return told.p
    scale, dof, power, _ = law.cells
    student = np.where(told.seen, 2.0 * stdtr(dof, -np.abs(told.surprise) / scale), 1.0)
    return np.where(power > 0.0, told.p ** np.where(power > 0.0, power, 1.0), student)


def judge_mixed_rows(
    map: MixedMap, X: Array, *, odd_level: float = 0.95, row_names: Any = None, law: RowLaw | None = None
) -> OddRows:
    """The rows that a mixed map finds odd, each with its reason.

    Rows that are not those of the fit are judged by a `law` of the fit: they may be odd all together.
    """
    told = map.given_others(X)
    law = _own_law(map, told) if law is None else law
    far, p = mixed_distances(told, law), mixed_cell_p(told, law)
    least = np.where(told.seen, p, 2.0)
    tied = least <= least.min(axis=1, keepdims=True)
    worst = np.argmax(np.where(tied, np.abs(told.surprise), -1.0), axis=1)
    at = np.arange(len(X)), worst
    cell_p = np.zeros(0) if law.cells is None else np.minimum(least.min(axis=1), 1.0)
    D2_p = rows_p(map, X, far, law)
    left, p_hidden = _without_worst(map, X, far.D2, worst, row_p_values(D2_p, cell_p, far.seen), law)
    rows = RowDistances(
        *far[:3],
        far.rank,
        far.seen,
        worst,
        told.surprise[at],
        np.nan_to_num(X[at]) - told.mean[at],
        told.sd[at],
        np.nan_to_num(X[at]),
        cell_p,
        p_hidden,
    )
    usual = law.middle, law.spread
    answers = JudgedAnswers(answers_of(map), left, told.likeliest[at], told.likeliest_share[at], usual)
    judged = JudgedRows(rows, map.names, np.ones(len(map.names)), row_names, map.scales, law, answers)
    D2, T2, Q = laws(rows, law)
    return _with_groups(picked(D2._replace(p=D2_p), T2, Q, judged, odd_level), map.lines(X))


def rows_p(map: MixedMap, X: Array, far: MixedDistances, law: RowLaw) -> Array:
    """The p of each row's D2: by the law, and where all columns are answers not below the probability of these very
    answers, whatever a smooth law of distances says."""
    p = law.p_value(far.D2, far.seen)
    return np.maximum(p, np.exp(map.model.score_samples(map.source(X)))) if levelled(map).all() else p


def one_p(map: MixedMap, X: Array, told: GivenOthers, law: RowLaw) -> Array:
    """The p of each row: of its distance or of its least likely cell."""
    far = mixed_distances(told, law)
    cell = np.zeros(0) if law.cells is None else mixed_cell_p(told, law).min(axis=1)
    return row_p_values(rows_p(map, X, far, law), cell, far.seen)


def law_of_map(map: MixedMap, X: Array) -> RowLaw:
    """What is ordinary of the rows of a mixed map."""
    return _own_law(map, map.given_others(X))


def _own_law(map: MixedMap, told: GivenOthers) -> RowLaw:
    """The law of a table's own rows; few have the model's."""
    return law_of_rows(told, levelled(map)) if len(told.off) >= LEAST_ROWS_OF_LAW else GAUSSIAN_LAW


def law_of_rows(told: GivenOthers, levelled: Mask) -> RowLaw:
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
    return law._replace(cells=mixed_cell_laws(told, levelled))


def levelled(map: MixedMap) -> Mask:
    """Which columns have levels."""
    return np.array([len(levels) > 0 for levels in map.model.levels_], dtype=bool)


def answers_of(map: MixedMap) -> tuple[CellAnswers, ...]:
    """What the cells of each column are called."""
    kinds, labels = map.model.likelihoods_, map.model.labels_
    return tuple(CellAnswers(kind, tuple(str(x) for x in own)) for kind, own in zip(kinds, labels, strict=True))


def _without_worst(
    map: MixedMap, X: Array, D2: Array, worst: NDArray[np.intp], p: Array, law: RowLaw
) -> tuple[Array, Array]:
    """D2 and p of the rows that are looked at, with the least likely cell hidden; of others as they are."""
    left, p, rows = D2.copy(), p.copy(), np.flatnonzero(p < LOOKED_AGAIN)
    if len(rows):
        hidden = X[rows].copy()
        hidden[np.arange(len(rows)), worst[rows]] = np.nan
        told = map.given_others(hidden)
        left[rows], p[rows] = mixed_distances(told, law).D2, one_p(map, hidden, told, law)
    return left, p


def _with_groups(found: OddRows, X: Array) -> OddRows:
    """The odd rows that lie together."""
    if int(found.odd.sum()) < LEAST_IN_GROUP:
        return found
    mask = ~np.isnan(X)
    centre, spread = robust_units(np.where(mask, X, 0.0), mask)
    Z = np.where(mask, (X - centre) / spread, 0.0)
    groups = similar_groups(Z, mask, np.flatnonzero(found.odd)[:MOST_IN_GROUPS])
    return found._replace(groups=tuple(tuple(int(k) for k in group) for group in groups))
