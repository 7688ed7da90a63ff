"""A stack of engines: their fills averaged, with weights that hidden cells choose.

Every engine is fitted once without each fold of the rows and fills the cells hidden there: numbers get a mean and a
spread, labels a probability each. Engines err in different cells, so that an average of a few is nearer than the best
of them. Of numbers the weights are those with the least squared error on hidden cells, drawn a little towards equal
ones; of labels those with the least log loss, a column's own as far as it has cells to show for them, else those of all
columns. None is negative, their sum is one. How a stack does is measured with the weights that the other folds choose.

As a law the stack is a mixture: each row is drawn by one of the engines, chosen by the weights.

References: Wolpert, Stacked generalization, Neural Networks 5 (1992); Breiman, Stacked regressions, Machine Learning 24
(1996).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lowdim.judge.fills.engines.category import word_opinions
from lowdim.judge.fills.engines.engine import LINEAR, Engine, FittedEngine, Shares, drawing
from lowdim.judge.hidden_cells import SMALL_TRIAL_CELLS, FoldCells, HiddenFold, hidden_cells
from lowdim.maths.linalg import Array, centre_and_spread
from lowdim.text.messages import LowdimError, no_warnings

if TYPE_CHECKING:
    from lowdim.judge.fills.view import FillView

EVENED = 0.03  # of the engines' squared error, by which weights are drawn towards equal ones
LEAST_WEIGHT = 0.02  # an engine of numbers with less is left out: it costs a fit
LEAST_OPINION = 0.05  # and an opinion about labels: few confident misses speak for it (docs/measurements.md)
NEWTON_STEPS = 50  # of weights by log loss, at the most
POOLED_WORDS = 30.0  # hidden cells of a column that the weights of all columns count as
LEAST_SHARE = 1e-3  # that a label counts at the least in a log loss


# what engines make of hidden cells ------------------------------------------------------------------------
class Guesses(NamedTuple):
    """What an engine makes of hidden cells of numbers."""

    error: Array  # truth - fill
    sd: Array  # of the engine, not calibrated


class WordTrials(NamedTuple):
    """Hidden cells of one column of words, and what each opinion makes of them."""

    cells: FoldCells
    told: Mapping[str, Array]  # opinion -> cells x labels
    usual: Array  # cells x labels: the column's frequencies in the rows that were left

    def of_truth(self, shares: Array) -> Array:
        """The probability that each hidden cell's own label was given."""
        truth = self.cells.truth.astype(np.intp)
        return np.maximum(shares[np.arange(len(truth)), truth], LEAST_SHARE)

    def right(self, shares: Array) -> int:
        """How many of them the most likely label told."""
        return int((shares.argmax(axis=1) == self.cells.truth).sum())


class Trial(NamedTuple):
    """What the engines made of the hidden cells."""

    engines: dict[str, Engine]  # by name, the best linear model first; those that could be fitted
    cells: FoldCells  # of numbers
    guesses: dict[str, Guesses]  # of these, by engine
    words: dict[int, WordTrials]  # by column
    failed: list[str]


def tried(
    view: FillView,
    linear: Sequence[Engine],
    others: Sequence[Engine],
    folds: Sequence[HiddenFold],
    *,
    regressions: bool,
) -> Trial:
    """Let every engine fill the hidden cells, once a fold: the numbers, where some are missing, and the words.

    Of the linear models the one with the least squared error stays; in a large table the first fold chooses it.
    """
    cells, wanted, unit = hidden_cells(folds), list(view.words), centre_and_spread(view.rows)[1]
    small = (~np.isnan(view.rows)).sum() < SMALL_TRIAL_CELLS
    engines = [*linear, *others]
    left, off = list(range(len(engines))), np.zeros(len(engines))  # those that could be fitted, and their squared error
    made: list[list[Guesses]] = [[] for _ in engines]
    told: list[dict[str, Shares]] = []  # fold by fold, of all its hidden words
    usual: list[dict[int, Array]] = []
    for k, fold in enumerate(folds):
        latent: dict[str, FittedEngine] = {}
        for e in list(left):
            try:
                with no_warnings():
                    fitted = engines[e].fit(fold.fitted)
                    own = guesses_of(fitted, fold)
            except LowdimError:
                left.remove(e)
                continue
            if not np.isfinite(own.error).all() or not np.isfinite(own.sd).all():
                left.remove(e)
                continue
            made[e].append(own)
            off[e] += ((own.error / unit[fold.column[fold.column < view.d]]) ** 2).sum()
            if fitted.tells_labels:
                latent[engines[e].name] = fitted
        rivals = [e for e in left if e < len(linear)]
        if len(rivals) > 1 and (not small or k == len(folds) - 1):
            best = rivals[int(np.argmin(off[rivals]))]
            left = [e for e in left if e == best or e not in rivals]
        if wanted:
            opinions = word_opinions(latent, fold.fitted, view.kinds, view.sizes, wanted, regressions)
            is_word = fold.column >= view.d
            rows, at = np.unique(fold.at[is_word], return_inverse=True)
            own_cells = {j: at[fold.column[is_word] == j] for j in wanted}
            shares = opinions.shares(fold.rows[rows], wanted)
            told.append({name: {j: one[j][own_cells[j]] for j in wanted} for name, one in shares.items()})
            usual.append({j: np.tile(opinions.usual[j], (len(own_cells[j]), 1)) for j in wanted})
    fine = {engines[e].name: engines[e] for e in left}
    failed = [name for name in dict.fromkeys(engine.name for engine in engines) if name not in fine]
    # opinions of all folds
    names = [name for name in (told[0] if told else ()) if name not in failed and all(name in one for one in told)]
    words = {
        j: WordTrials(
            cells.of(cells.column == j),
            {name: np.concatenate([one[name][j] for one in told]) for name in names},
            np.concatenate([one[j] for one in usual]),
        )
        for j in wanted
    }
    cells = cells.of(cells.column < view.d)
    if linear and not fine:  # nothing to check by: a linear model fills, unchecked
        return Trial({LINEAR: linear[0]}, cells.of(cells.row < 0), {LINEAR: joined([])}, words, failed)
    return Trial(fine, cells, {engines[e].name: joined(made[e]) for e in left} if linear else {}, words, failed)


def guesses_of(fitted: FittedEngine, fold: HiddenFold) -> Guesses:
    """What a fitted engine makes of the hidden numbers of a fold."""
    mean, sd = fitted.fills(fold.rows)
    number = fold.column < mean.shape[1]
    at, column = fold.at[number], fold.column[number]
    return Guesses(fold.truth[number] - mean[at, column], sd[at, column])


def joined(guesses: Sequence[Guesses]) -> Guesses:
    """Those of several folds, one after another."""
    none = Guesses(np.zeros(0), np.zeros(0))
    return Guesses(*(np.concatenate(part) for part in zip(none, *guesses, strict=True)))


# scores -------------------------------------------------------------------------------------------------
def gap_weights(column: NDArray[np.intp], gaps: NDArray[np.intp]) -> Array:
    """What each hidden cell counts: those of a column together as many as it has gaps, and one more; 1 on average."""
    weight = ((gaps + 1.0) / np.maximum(np.bincount(column, minlength=len(gaps)), 1))[column]
    return np.asarray(weight / weight.mean()) if len(weight) else weight


class PairedScore(NamedTuple):
    """A mean score, how much more it is than another's on the same cells, and the standard error of that by rows."""

    score: float
    difference: float
    error: float


def paired(score: Array, other: Array, row: NDArray[np.intp]) -> PairedScore:
    """Two scores of the same things, those of one row counted as one.

    >>> paired(np.array([1.0, 2.0, 3.0, 2.0]), np.array([2.0, 2.0, 3.0, 3.0]), np.array([0, 0, 1, 1])).difference
    -0.5
    """
    if not len(score):
        return PairedScore(0.0, 0.0, 0.0)
    gain = score - other
    mean = float(gain.mean())
    _, at = np.unique(row, return_inverse=True)
    off = np.bincount(at, gain - mean)
    few = len(off) / max(len(off) - 1, 1)
    return PairedScore(float(score.mean()), mean, float(np.sqrt(few * (off @ off)) / len(score)))


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


# numbers ------------------------------------------------------------------------------------------------
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


class Stacked(FittedEngine):
    """Fitted engines as one: the mean of the mixture, its spread, and draws by one engine a row."""

    def __init__(self, fitted: Sequence[FittedEngine], weights: Array) -> None:
        self.fitted, self.weights = fitted, weights
        self.n_components = max(one.n_components for one in fitted)

    def fills(self, rows: Array) -> tuple[Array, Array]:
        means, sds = map(np.stack, zip(*(one.fills(rows) for one in self.fitted), strict=True))
        mean = np.tensordot(self.weights, means, 1)
        variance = np.tensordot(self.weights, sds**2 + (means - mean) ** 2, 1)
        seen = rows[:, : mean.shape[1]]
        return np.where(np.isnan(seen), mean, seen), np.where(np.isnan(seen), np.sqrt(variance), 0.0)

    def drawn(self, rows: Array, seed: int, number: int) -> Array:
        tables = [one.drawn(rows, seed, number) for one in self.fitted]
        d = min(table.shape[1] for table in tables)  # a mixed model draws labels too
        who = np.searchsorted(np.cumsum(self.weights)[:-1], drawing(seed, number).random(len(rows)), side="right")
        return np.asarray(np.stack([table[:, :d] for table in tables])[who, np.arange(len(rows))])


# labels -------------------------------------------------------------------------------------------------
def word_weights(trials: Mapping[int, WordTrials], left_out: int | None = None) -> dict[int, dict[str, float]]:
    """The weights of the opinions for each column, by its hidden cells and those of all, or by other folds' alone."""
    names = list(next(iter(trials.values())).told)
    kept = {j: t.cells.fold != left_out for j, t in trials.items()}
    told = {j: np.stack([t.of_truth(t.told[name])[kept[j]] for name in names]) for j, t in trials.items()}
    every = np.concatenate(list(told.values()), axis=1)
    pooled = np.maximum(log_loss_weights(every, np.full(len(names), 1.0), 1.0), 1e-6)
    return {
        j: dict(zip(names, log_loss_weights(own, pooled, POOLED_WORDS).tolist(), strict=True))
        for j, own in told.items()
    }


def stacked_words(trials: Mapping[int, WordTrials]) -> dict[int, Array]:
    """What the stack makes of the hidden cells of each column, the weights of each fold chosen by the others."""
    found = {j: np.zeros_like(t.usual) for j, t in trials.items()}
    folds = np.unique(np.concatenate([t.cells.fold for t in trials.values()]))
    for k in folds.tolist():
        weights = word_weights(trials, k if len(folds) > 1 else None)
        for j, t in trials.items():
            own = t.cells.fold == k
            for name, w in weights[j].items():
                found[j][own] += w * t.told[name][own]
    return found
