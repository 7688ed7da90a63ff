"""What a mixed map makes of rows: how far each is from what the model expects, and each of its cells from the others.

Of a row, with position m and G the information of its seen cells, each counted as in an ordinary row:

    T2 = |m|^2 + m' G^-1 m                      the part within the map
    Q  = k + sqrt(2 k) (S - E S) / sd S         the part off it, k = #seen - q

where S sums -2 log p(cell | the others of its row) less its expectation over the cell's values, in units of the spread
that this has: a row whose answers are unlikely given each other. E S and sd S are those of the bulk of the rows.
D2 = T2 + Q. For real columns they behave as those of a Gaussian map, chi-square with q, #seen - q and #seen degrees of
freedom; what is ordinary is said by the bulk of the rows, as there (`judge/outliers/law.py`).

A cell's p is the probability of all values that are no likelier, given the others. Where more cells of a column have
small p than should (an overconfident model), they are raised to the power that puts their lower quantile where it
belongs; real columns and counts have a t law of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from lowdim.judge.cells import informed_shift
from lowdim.judge.mixed.given_others import GivenOthers
from lowdim.judge.outliers.law import (
    GAUSSIAN_DOF,
    LEAST_ROWS_OF_LAW,
    UPPER_ROWS,
    UPPER_SHARE,
    CellLaws,
    RowLaw,
    most_dof,
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
