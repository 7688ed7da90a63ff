"""Gaps in columns of words: a label for each with its probability, and what that was worth on hidden cells.

The opinions about a label (`engines/category.py`) are stacked by log loss. Where hidden cells of a column say that the
stack is no better than the column's frequencies, its gaps are filled by the most frequent label, with the frequencies
as probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.engines.category import FREQUENCIES, WordOpinions, drawn_labels, frequencies
from lowdim.judge.fills.engines.engine import FittedEngine, Shares
from lowdim.judge.fills.engines.offered import MIXED_MODEL
from lowdim.judge.fills.folds import FoldCells, paired
from lowdim.judge.fills.stack import POOLED_WORDS, log_loss_weights
from lowdim.judge.mixed_table import MixedColumn
from lowdim.maths.linalg import Array
from lowdim.maths.seeds import FILL_DRAWS
from lowdim.text.format import count
from lowdim.text.table import text_table

COPY = "copy"  # of another column that says the same
ALIKE = "rows alike"
LEARNED_ERRORS = 2.0  # by which a log loss is less than that of the frequencies, if something is said to be learned
GOOD_LABELS, FAIR_LABELS = 0.4, 0.2  # share of log loss explained: McFadden (1977) calls 0.2 to 0.4 an excellent fit
LEAST_SHARE = 1e-3  # that a label counts at the least in a log loss
LABEL_ROWS = 20  # below so many rows nothing is tried, and below so many hidden cells of a column nothing is told


class LabelFill(NamedTuple):
    """The gaps of one column of words: what fills them, how likely each label is, and what that was worth."""

    column: str
    position: int  # in the file, from 1
    labels: tuple[str, ...]
    rows: NDArray[np.intp]  # of the table, in which it was a gap
    shares: Array  # gaps x labels: the probability of each
    engine: str
    drawn: Any  # (seed, number) -> a label for each gap, also in rows left out, by its number; none while it is stored
    order: tuple[int, ...] = ()  # of labels that are levels: their numbers, the lowest first
    number: int | None = None  # the column of the table's X that it is; None where it was set aside
    tried: int = 0  # cells hidden on purpose
    right: int = 0  # of them, where the most likely label was the true one
    usual: int = 0  # of them, where the most frequent label was
    loss: float = 0.0  # mean log loss of the hidden cells, by what fills the gaps
    usual_loss: float = 0.0  # by the column's frequencies
    difference: float = 0.0  # of the stack's log loss less that of the frequencies
    difference_error: float = 0.0  # its standard error, rows as clusters
    left: NDArray[np.intp] = np.zeros(0, dtype=np.intp)  # gaps among the rows left out for having no number
    left_shares: Array = np.zeros((0, 0))  # the probability of each label there
    copy: str = ""  # what another column has to do with its fills, in words, where one says the same

    @property
    def gaps(self) -> int:
        """How many gaps it had, in rows of the table and in those that were left out of it."""
        return len(self.rows) + len(self.left)

    @property
    def middle(self) -> Array:
        """What stands for the fill of each gap among numbers: of two labels the probability of the second, of more the
        code of the likeliest."""
        return self.shares[:, 1] if len(self.labels) == 2 else self.best.astype(np.float64)

    @property
    def spread(self) -> Array:
        """Its standard deviation; none of more labels, which have no order."""
        p = self.middle
        return np.sqrt(p * (1.0 - p)) if len(self.labels) == 2 else np.zeros(len(p))

    @property
    def best(self) -> NDArray[np.intp]:
        """The most likely label of each gap, by its number; of levels the middle one."""
        return best_labels(self.shares, self.order)

    @property
    def every_best(self) -> list[int]:
        """What fills each gap, and then of each in the rows left out."""
        left = best_labels(self.left_shares, self.order).tolist() if len(self.left) else []
        return [*self.best.tolist(), *left]

    @property
    def fills(self) -> list[str]:
        """What fills each gap."""
        return [self.labels[k] for k in self.best]

    @property
    def probability(self) -> Array:
        """Of each fill."""
        return np.asarray(self.shares[np.arange(len(self.shares)), self.best])

    def drawn_once(self, seed: int, number: int) -> LabelFill:
        """The same with labels that were drawn, each for certain."""
        drawn, certain = self.drawn(seed, number)[: len(self.rows)], np.eye(len(self.labels))
        return self._replace(shares=certain[drawn])

    @property
    def skill(self) -> float:
        """The share of the frequencies' log loss that is explained; 0 = no better than them."""
        return 1.0 - self.loss / self.usual_loss if self.usual_loss > 0 else 0.0

    @property
    def certain(self) -> bool:
        """Whether all that fills it is what other cells say."""
        return bool(self.copy) and not self.tried

    @property
    def advice(self) -> str:
        """What to make of the fills."""
        if self.certain:
            return self.copy
        return "; ".join(filter(None, [self._worth, self.copy]))

    def facts(self) -> dict[str, Any]:
        """What its fills are worth."""
        return {
            "column": self.column,
            "labels": self.labels,
            "engine": self.engine,
            "order": self.order,
            "tried": self.tried,
            "right": self.right,
            "usual": self.usual,
            "loss": self.loss,
            "usual_loss": self.usual_loss,
            "difference": self.difference,
            "difference_error": self.difference_error,
            "copy": self.copy,
            "gaps": self.gaps,
            "skill": self.skill,
            "advice": self.advice,
        }

    @property
    def _worth(self) -> str:
        if not self.tried:
            return "too few cells to check"
        if self.engine == FREQUENCIES or not self.difference < -LEARNED_ERRORS * self.difference_error:
            return "no better than its most frequent label; do not use"
        return "good" if self.skill >= GOOD_LABELS else "fair" if self.skill >= FAIR_LABELS else "weak"


def best_labels(shares: Array, order: Sequence[int]) -> NDArray[np.intp]:
    """The most likely label of each row of probabilities, or the middle one of levels in this order."""
    if not order:
        return np.asarray(shares.argmax(axis=1))
    levels = np.array(order)
    return np.asarray(levels[(np.cumsum(shares[:, levels], axis=1)[:, :-1] < 0.5).sum(axis=1)])


# hidden words -------------------------------------------------------------------------------------------
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


def word_weights(trials: Mapping[int, WordTrials], left_out: int | None = None) -> dict[int, dict[str, float]]:
    """The weights of the opinions for each column, by its hidden cells and those of all, or by other folds' alone."""
    names = list(next(iter(trials.values())).told)
    kept = {j: t.cells.fold != left_out for j, t in trials.items()}
    told = {j: np.stack([t.of_truth(t.told[name])[kept[j]] for name in names]) for j, t in trials.items()}
    every = np.concatenate(list(told.values()), axis=1)
    pooled = log_loss_weights(every, np.full(len(names), 1.0), 1.0)
    pooled = np.maximum(pooled, 1e-6)
    return {
        j: dict(zip(names, log_loss_weights(own, pooled, POOLED_WORDS).tolist(), strict=True))
        for j, own in told.items()
    }


def stacked_trials(trials: Mapping[int, WordTrials]) -> dict[int, Array]:
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


# fills --------------------------------------------------------------------------------------------------
class WordStack(NamedTuple):
    """Opinions fitted to all rows, with the weights of each for each column."""

    opinions: WordOpinions
    weights: Mapping[int, Mapping[str, float]]

    def shares(self, rows: Array, columns: Sequence[int]) -> Shares:
        """The probability of each label of these columns, rows x labels."""
        told = self.opinions.shares(rows, columns)
        return {j: sum((w * told[name][j] for name, w in self.weights[j].items() if w), np.zeros(1)) for j in columns}

    def engine(self, j: int, rows: Array) -> str:
        """The names of what fills column j of these rows, those with the largest weights first."""
        weights: dict[str, float] = {}
        for name, w in self.weights[j].items():
            family = MIXED_MODEL if name.startswith(MIXED_MODEL) else name
            weights[family] = weights.get(family, 0.0) + w
        names = sorted((name for name, w in weights.items() if w), key=lambda name: -weights[name])
        alike = [ALIKE] if self.opinions.alike.counts(rows, [j])[j].any() else []
        return ", ".join([*names, *alike])

    def table_draw(self, rows: Array) -> Callable[[int, int], Array]:
        """A table drawn as a whole, kept until another one is asked for: all its columns of words come from one draw.

        The latent model draws it, then each column of words is drawn anew given all others.
        """
        latent: FittedEngine | None = next(iter(self.opinions.latent.values()), None)
        columns = [j for j in self.weights if np.isnan(rows[:, j]).any()]

        @lru_cache(maxsize=1)
        def drawn(seed: int, number: int) -> Array:
            rng = np.random.default_rng([seed, FILL_DRAWS, number])
            table = rows.copy() if latent is None else latent.drawn(rows, seed, number)
            for j in columns:
                gap = np.isnan(rows[:, j])
                others = table[gap]
                others[:, j] = np.nan
                table[gap, j] = drawn_labels(self.shares(others, [j])[j], rng)
            return table

        return drawn


def plain_fill(rows: Array, j: int, c: MixedColumn, own: MixedColumn, left: NDArray[np.intp]) -> LabelFill:
    """The gaps of a column filled by its frequencies; `own` has its labels as the table numbers them, while column j of
    the rows has the lowest first where they are levels. `left` are its gaps in rows that were left out."""
    labels, many = own.coded.labels, len(c.gaps)
    order = tuple(labels.index(label) for label in c.coded.labels) if c.kind == "ordinal" else ()
    usual = _as_numbered(frequencies(rows[:, j], len(labels))[None], order)
    shares = np.tile(usual, (many + len(left), 1))
    return LabelFill(
        column=c.name,
        position=c.position,
        labels=labels,
        rows=c.gaps,
        shares=shares[:many],
        engine=FREQUENCIES,
        drawn=partial(_frequent_labels, shares, j),
        order=order,
        number=c.number,
        left=left,
        left_shares=shares[many:],
    )


def label_fills(
    rows: Array,
    left: Array,
    plain: Mapping[int, LabelFill],
    trials: Mapping[int, WordTrials],
    fit: Callable[[Mapping[int, Mapping[str, float]]], WordStack],
) -> tuple[LabelFill, ...]:
    """The gaps of columns filled: by the stack where it tells hidden cells better than their frequencies do.

    `plain` fills them by these. `fit` makes the stack from the weights of the columns that it serves; it is not called
    where there are none.
    """
    tried = {j: t for j, t in trials.items() if len(t.cells.row)}
    if not tried:
        return tuple(plain.values())
    told, weights = stacked_trials(tried), word_weights(tried)
    judged = {j: _judged(plain[j], t, told[j]) for j, t in tried.items()}
    better = [j for j, c in judged.items() if c.tried >= LABEL_ROWS and c.difference < 0.0]
    made = {j: c._replace(right=c.usual, loss=c.usual_loss) for j, c in judged.items()}  # by the frequencies
    if better and any(set(t.told) != {FREQUENCIES} for t in tried.values()):
        every = np.concatenate([rows, left])
        stack = fit({j: weights[j] for j in better})
        shares, draw = stack.shares(every, better), stack.table_draw(every)
        for j in better:
            c, many = judged[j], len(judged[j].rows)
            gaps = np.concatenate([c.rows, len(rows) + c.left])
            own = _as_numbered(shares[j][gaps], c.order)
            drawn = partial(_of_draw, draw, gaps, j, c.order)
            made[j] = c._replace(
                engine=stack.engine(j, every[gaps]), shares=own[:many], left_shares=own[many:], drawn=drawn
            )
    return tuple({**plain, **made}.values())


def _judged(fill: LabelFill, t: WordTrials, shares: Array) -> LabelFill:
    """With how the stack did on the hidden cells of its column."""
    loss, usual = -np.log(t.of_truth(shares)), -np.log(t.of_truth(t.usual))
    versus = paired(loss, usual, t.cells.row)
    return fill._replace(
        tried=len(loss),
        right=t.right(shares),
        usual=t.right(t.usual),
        loss=versus.score,
        usual_loss=float(usual.mean()),
        difference=versus.difference,
        difference_error=versus.error,
    )


def _as_numbered(shares: Array, order: Sequence[int]) -> Array:
    """Probabilities of levels, the lowest first, with their labels as the table numbers them."""
    return shares[:, np.argsort(order)] if order else shares


def _of_draw(
    table: Callable[[int, int], Array],
    rows: NDArray[np.intp],
    j: int,
    order: Sequence[int],
    seed: int,
    number: int,
) -> NDArray[np.intp]:
    drawn = np.asarray(table(seed, number)[rows, j], dtype=np.intp)
    return np.array(order)[drawn] if order else drawn


def _frequent_labels(shares: Array, j: int, seed: int, number: int) -> NDArray[np.intp]:
    return drawn_labels(shares, np.random.default_rng([seed, FILL_DRAWS, number, j]))


# words ---------------------------------------------------------------------------------------------------
def label_lines(labels: Sequence[LabelFill]) -> list[str]:
    """What each column's fills are worth as lines of text, the best first."""
    rows: list[tuple[object, ...]] = [("column", "gaps", "skill*", "right", "most frequent", "filled by", "advice")]
    for c in sorted(labels, key=lambda c: (not c.certain, -c.skill)):
        known = ("-", "-", "-") if c.certain else (f"{c.skill:.2f}", f"{c.right} of {c.tried}", c.usual)
        rows.append((c.column, f"{c.gaps:,}", *known, c.engine, c.advice))
    note = "  * share of the log loss of the column's frequencies that is explained in cells hidden on purpose."
    return [*text_table(rows, right=[1, 2, 3, 4]), note]


def label_sentence(labels: Sequence[LabelFill]) -> str:
    """One sentence: how many labels were filled, and how many of those hidden on purpose were right."""
    gaps, tried = sum(c.gaps for c in labels), sum(c.tried for c in labels)
    if all(c.certain for c in labels):
        return f"{count(gaps, 'label')} filled, each known for certain."
    if not tried:
        return f"{count(gaps, 'label')} filled; too few are seen to check them."
    right, usual = (100 * sum(part) / tried for part in ((c.right for c in labels), (c.usual for c in labels)))
    return (
        f"{count(gaps, 'label')} filled; {right:.0f}% of {tried:,} hidden on purpose were right "
        f"(the most frequent label: {usual:.0f}%)."
    )
