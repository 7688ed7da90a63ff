"""A stack of engines: their fills averaged, with weights that hidden cells choose.

Engines err in different cells, so that an average of a few is nearer than the best of them. Of numbers the weights are
those with the least squared error on hidden cells, drawn a little towards equal ones; of labels those with the least
log loss, a column's own as far as it has cells to show for them, else those of all columns. None is negative, their sum
is one. How a stack does is measured with the weights that the other folds choose.

As a law the stack is a mixture: each row is drawn by one of the engines, chosen by the weights.

References: Wolpert, Stacked generalization, Neural Networks 5 (1992); Breiman, Stacked regressions, Machine Learning 24
(1996).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lowdim.judge.fills.engines.engine import FittedEngine, drawing
from lowdim.judge.fills.folds import Guesses
from lowdim.maths.linalg import Array

EVENED = 0.03  # of the engines' squared error, by which weights are drawn towards equal ones
LEAST_WEIGHT = 0.02  # an engine of numbers with less is left out: it costs a fit
LEAST_OPINION = 0.05  # and an opinion about labels: few confident misses speak for it (docs/measurements.md)
NEWTON_STEPS = 50  # of weights by log loss, at the most
POOLED_WORDS = 30.0  # hidden cells of a column that the weights of all columns count as


# weights ------------------------------------------------------------------------------------------------
def least_squares_weights(errors: Array, weight: Array) -> Array:
    """Weights of engines with the least squared error of their average, from errors engines x cells.

    With P the mean products of errors, w minimises w'Pw with sum one and w >= 0: w is proportional to the v >= 0 that
    minimises v'Pv / 2 - sum(v), and with P = LL' that is |L'v - L^-1 1|^2, non-negative least squares.

    >>> least_squares_weights(np.array([[1.0, 1.0], [3.0, -3.0]]), np.ones(2)).round(2).tolist()
    [0.89, 0.11]
    """
    K = len(errors)
    P = (errors * weight) @ errors.T / max(float(weight.sum()), 1e-300)
    P += (EVENED * np.trace(P) / K + 1e-300) * np.eye(K)
    return _without_crumbs(lambda some: _simplex(P[np.ix_(some, some)]), K, LEAST_WEIGHT)


def _simplex(P: Array) -> Array:
    L = np.linalg.cholesky(P / np.trace(P))
    v = nnls(L.T, np.linalg.solve(L, np.ones(len(P))))[0]
    return np.asarray(v / v.sum())


def log_loss_weights(told: Array, prior: Array, worth: float) -> Array:
    """Weights of opinions with the least log loss of their average, from the probabilities (opinions x cells) that each
    gives to the true label; `prior` counts as so many cells."""
    K, cells = told.shape
    # the prior as cells that one opinion alone explains: so much of each (a Dirichlet prior)
    counts = np.append(np.ones(cells), worth * prior / prior.sum())
    every = np.column_stack([told, np.eye(K)])
    return _without_crumbs(lambda some: _mixture(every[some], counts, some, cells), K, LEAST_OPINION)


def _mixture(P: Array, counts: Array, some: NDArray[np.intp], cells: int) -> Array:
    """The weights of a mixture with the most likelihood: steps of Newton, each by non-negative least squares.

    With R = P / w'P, r the mean of R and H that of RR', the quadratic about w of -mean log(w'P) + sum(w) is
    v'Hv / 2 - v'(2r - 1), since Hw = r.

    Reference: Kim, Carbonetto, Stephens and Anitescu, A fast algorithm for maximum likelihood estimation of mixture
    proportions using sequential quadratic programming, Journal of Computational and Graphical Statistics 29 (2020).
    """
    used = np.append(np.arange(cells), cells + some)  # the prior of those that take part
    P, counts = P[:, used], counts[used] / counts[used].sum()
    w = np.full(len(P), 1.0 / len(P))
    for _ in range(NEWTON_STEPS):
        R = P / (w @ P)
        r, H = R @ counts, (R * counts) @ R.T
        L = np.linalg.cholesky(H + 1e-10 * np.trace(H) * np.eye(len(w)))
        v = nnls(L.T, np.linalg.solve(L, 2.0 * r - 1.0))[0]
        step = (v + 1e-12) / (v + 1e-12).sum() - w
        size, now = 1.0, counts @ np.log(w @ P)
        while counts @ np.log((w + size * step) @ P) < now and size > 1e-6:
            size *= 0.5
        w = w + size * step
        if np.abs(size * step).max() < 1e-6:
            break
    return np.asarray(w)


def _without_crumbs(weights: Callable[[NDArray[np.intp]], Array], K: int, least: float) -> Array:
    """The best weights of those whose weight is no crumb."""
    first = weights(np.arange(K))
    kept = np.flatnonzero(first >= min(least, float(first.max())))
    out = np.zeros(K)
    out[kept] = weights(kept)
    return out


# the stack ----------------------------------------------------------------------------------------------
def stacked_guesses(tried: Sequence[Guesses], fold: NDArray[np.intp], weight: Array, unit: Array) -> Guesses:
    """How a stack does on the hidden cells of its engines, the weights of each fold chosen by the others.

    `unit` is the spread of each cell's column.
    """
    errors, sds = np.stack([g.error for g in tried]), np.stack([g.sd for g in tried])
    error, sd = np.zeros(errors.shape[1]), np.zeros(errors.shape[1])
    for k in np.unique(fold):
        own = fold == k
        other = ~own if (~own).any() else own
        w = least_squares_weights(errors[:, other] / unit[other], weight[other])
        error[own] = w @ errors[:, own]
        sd[own] = np.sqrt(w @ (sds[:, own] ** 2 + (errors[:, own] - error[own]) ** 2))
    return Guesses(error, sd)


def stacked(fitted: Sequence[FittedEngine], weights: Array) -> FittedEngine:
    """FittedEngine engines as one: the mean of the mixture, its spread, and draws by one engine a row."""
    if len(fitted) == 1:
        return fitted[0]

    def fills(rows: Array) -> tuple[Array, Array]:
        means, sds = map(np.stack, zip(*(one.fills(rows) for one in fitted), strict=True))
        mean = np.tensordot(weights, means, 1)
        variance = np.tensordot(weights, sds**2 + (means - mean) ** 2, 1)
        seen = rows[:, : mean.shape[1]]
        return np.where(np.isnan(seen), mean, seen), np.where(np.isnan(seen), np.sqrt(variance), 0.0)

    def drawn(rows: Array, seed: int, number: int) -> Array:
        tables = [one.drawn(rows, seed, number) for one in fitted]
        d = min(table.shape[1] for table in tables)  # a mixed model draws labels too
        who = np.searchsorted(np.cumsum(weights)[:-1], drawing(seed, number).random(len(rows)), side="right")
        return np.asarray(np.stack([table[:, :d] for table in tables])[who, np.arange(len(rows))])

    return FittedEngine(max(one.n_components for one in fitted), fills, drawn)
