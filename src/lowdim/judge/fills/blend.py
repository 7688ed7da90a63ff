"""A blend of engines: their fills averaged, with shares that hidden cells choose.

Engines err in different cells, so that an average of a few is often nearer than the best of them. Shares are those with
the least squared error on hidden cells, none negative, their sum one, drawn a little towards equal ones. How a blend
does is measured with the shares that the other folds choose.

Its law is a mixture: each row is drawn by one of the engines, chosen by the shares.

References: Breiman, Stacked regressions, Machine Learning 24 (1996); Caruana and others, Ensemble selection from
libraries of models, ICML (2004), for choosing few of many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.models import FillModel, FittedFill, drawing
from lowdim.judge.fills.trials import Trials
from lowdim.maths.linalg import Array
from lowdim.maths.seeds import FILL_TRIALS

EVENED = 0.03  # of the members' squared error, by which shares are drawn towards equal ones
LEAST_SHARE = 0.05  # a member with less is left out: it costs a fit


def products(errors: Array, weight: Array) -> Array:
    """Mean products of the members' errors, K x K, from errors K x cells.

    >>> products(np.array([[1.0, 1.0], [1.0, -1.0]]), np.ones(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return np.asarray((errors * weight) @ errors.T / weight.sum())


def best_shares(P: Array) -> Array:
    """Shares, none negative and of sum one, with the least w'Pw: by trying which members take part.

    >>> best_shares(np.diag([1.0, 3.0])).round(2).tolist()
    [0.74, 0.26]
    """
    K = len(P)
    even = P + EVENED * np.trace(P) / K * np.eye(K)
    best, least = np.zeros(K), np.inf
    for size in range(1, K + 1):
        for some in map(list, combinations(range(K), size)):
            w = np.linalg.solve(even[np.ix_(some, some)], np.ones(size))
            w = w / w.sum()
            value = float(w @ even[np.ix_(some, some)] @ w)
            if (w > 0).all() and value < least:
                best, least = np.zeros(K), value
                best[some] = w
    return best


def without_crumbs(P: Array) -> Array:
    """The best shares of those members whose share is no crumb."""
    share = best_shares(P)
    kept = np.flatnonzero(share >= LEAST_SHARE)
    out = np.zeros(len(P))
    out[kept] = best_shares(P[np.ix_(kept, kept)])
    return out


def best_team(errors: Array, weight: Array, most: int) -> list[int]:
    """Which members beside the first, so many at most, blend best with it; one must gain a hundredth to be let in."""
    P = products(errors, weight)

    def score(team: Iterable[int]) -> float:
        at = [0, *team]
        w = best_shares(P[np.ix_(at, at)])
        return float(w @ P[np.ix_(at, at)] @ w)

    team, now = [], float(P[0, 0])
    for size in range(1, min(most, len(P) - 1) + 1):
        found = min(combinations(range(1, len(P)), size), key=score)
        if score(found) < 0.99 * now:
            team, now = list(found), score(found)
    return team


def blended_trials(members: Sequence[Trials], weight: Array, unit: Array) -> Trials:
    """How a blend does on the hidden cells of its members, the shares of each fold chosen by the others."""
    first, errors = members[0], np.stack([m.error for m in members])
    error, sd, draws = np.zeros_like(first.error), np.zeros_like(first.sd), np.zeros_like(first.draws)
    for k in np.unique(first.fold):
        own = first.fold == k
        other = ~own if (~own).any() else own
        share = without_crumbs(products(errors[:, other] / unit[first.column[other]], weight[other]))
        error[own] = share @ errors[:, own]
        away = error[own] - errors[:, own]  # the member's fill less the blend's
        spread = np.stack([m.sd[own] for m in members]) ** 2 + away**2
        sd[own] = np.sqrt(share @ spread)
        draws[own] = _drawn_by_one([m.draws[own] for m in members], away, share, first.row[own], int(k))
    return first._replace(error=error, sd=sd, draws=draws)


def _drawn_by_one(draws: list[Array], away: Array, share: Array, row: NDArray[np.intp], k: int) -> Array:
    """Draws about the blend's fills: of each row and number by one member."""
    _, at = np.unique(row, return_inverse=True)
    rng = np.random.default_rng([FILL_TRIALS, k])
    who = _member(share, rng.random((int(at.max(initial=-1)) + 1, draws[0].shape[1])))[at]
    drawn = np.stack([d + a[:, None] for d, a in zip(draws, away, strict=True)])
    return np.asarray(np.take_along_axis(drawn, who[None], axis=0)[0])


def _member(share: Array, uniform: Array) -> NDArray[np.intp]:
    """A member for each uniform number, by the shares."""
    return np.searchsorted(np.cumsum(share)[:-1], uniform, side="right")


def by_blend(models: Sequence[FillModel], share: Array) -> FillModel:
    """Fill by several models together; those without a share are not fitted."""
    kept = [(model, float(s)) for model, s in zip(models, share, strict=True) if s > 0]
    shares = np.array([s for _, s in kept])

    def fit(X: Array) -> FittedFill:
        fitted = [model(X) for model, _ in kept]

        def fills(rows: Array) -> tuple[Array, Array]:
            means, sds = map(np.stack, zip(*(one.fills(rows) for one in fitted), strict=True))
            mean = np.tensordot(shares, means, 1)
            variance = np.tensordot(shares, sds**2 + (means - mean) ** 2, 1)
            gap = np.isnan(rows[:, : mean.shape[1]])
            return np.where(gap, mean, rows[:, : mean.shape[1]]), np.where(gap, np.sqrt(variance), 0.0)

        def drawn(rows: Array, seed: int, number: int) -> Array:
            tables = np.stack([one.drawn(rows, seed, number) for one in fitted])
            who = _member(shares, drawing(seed, number).random(len(rows)))
            return np.asarray(tables[who, np.arange(len(rows))])

        return FittedFill(max(one.n_components for one in fitted), fills, drawn)

    return fit
