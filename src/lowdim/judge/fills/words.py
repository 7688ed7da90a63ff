"""Gaps in columns of words: a label for each with its probability, and what that was worth on hidden cells.

The opinions about a label (`engines/category.py`) are stacked by log loss. Where hidden cells of a column say that the
stack is no better than the column's frequencies, its gaps are filled by the most frequent label, with the frequencies
as probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.engines.category import (
    FREQUENCIES,
    REGRESSIONS,
    WordStack,
    drawn_labels,
    frequencies,
    pool_with,
    word_opinions,
)
from lowdim.judge.fills.engines.engine import MIXED_MODEL, FittedEngine
from lowdim.judge.fills.stack import WordTrials, paired, stacked_words, word_weights
from lowdim.judge.mixed_table import MixedColumn
from lowdim.maths.linalg import Array
from lowdim.maths.seeds import FILL_DRAWS
from lowdim.table.cell_kinds import ORDINAL

if TYPE_CHECKING:
    from lowdim.judge.fills.view import FillView

COPY = "copy"  # of another column that says the same
LEARNED_ERRORS = 2.0  # by which a log loss is less than that of the frequencies, if something is said to be learned
GOOD_LABELS, FAIR_LABELS = 0.4, 0.2  # share of log loss explained: McFadden (1977) calls 0.2 to 0.4 an excellent fit
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


# fills --------------------------------------------------------------------------------------------------
def plain_fill(rows: Array, j: int, c: MixedColumn, own: MixedColumn, left: NDArray[np.intp]) -> LabelFill:
    """The gaps of a column filled by its frequencies; `own` has its labels as the table numbers them, while column j of
    the rows has the lowest first where they are levels. `left` are its gaps in rows that were left out."""
    labels, many = own.coded.labels, len(c.gaps)
    order = tuple(labels.index(label) for label in c.coded.labels) if c.kind == ORDINAL.word else ()
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
    view: FillView, trials: Mapping[int, WordTrials], fitted: Callable[[str], FittedEngine]
) -> tuple[LabelFill, ...]:
    """The gaps of columns filled: by the stack where it tells hidden cells better than their frequencies do.

    `fitted` gives an engine by its name, fitted to all rows; no engine is asked for that has no weight.
    """
    hidden = {j: t for j, t in trials.items() if len(t.cells.row)}
    if not hidden:
        return tuple(view.words.values())
    told, weights = stacked_words(hidden), word_weights(hidden)
    judged = {j: _judged(view.words[j], t, told[j]) for j, t in hidden.items()}
    better = [j for j, c in judged.items() if c.tried >= LABEL_ROWS and c.difference < 0.0]
    made = {j: c._replace(right=c.usual, loss=c.usual_loss) for j, c in judged.items()}  # by the frequencies
    used = {name for j in better for name, w in weights[j].items() if w}
    latent = [name for name in next(iter(hidden.values())).told if name.startswith(MIXED_MODEL)]
    if better and latent:
        pooled = any(name.startswith(REGRESSIONS) for name in used)
        # regressions have the gaps of other columns as the first of the latent models expects them
        kept = [name for k, name in enumerate(latent) if {name, pool_with(name)} & used or (pooled and k == 0)]
        models = {name: fitted(name) for name in kept}
        opinions = word_opinions(models, view.rows, view.kinds, view.sizes, better, pooled)
        stack = WordStack(opinions, {j: weights[j] for j in better})
        every = np.concatenate([view.rows, view.left])
        shares, draw = stack.shares(every, better), stack.table_draw(every)
        for j in better:
            c, many = judged[j], len(judged[j].rows)
            gaps = np.concatenate([c.rows, len(view.rows) + c.left])
            own = _as_numbered(shares[j][gaps], c.order)
            drawn = partial(_of_draw, draw, gaps, j, c.order)
            made[j] = c._replace(
                engine=stack.engine(j, every[gaps]), shares=own[:many], left_shares=own[many:], drawn=drawn
            )
    return tuple({**view.words, **made}.values())


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
