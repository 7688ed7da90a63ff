"""Gaps in columns of words, filled with labels and the probability of each, checked on cells hidden on purpose.

Rows are left out in folds as for numbers, a tenth of their cells hidden at a time; a latent model with a likelihood for
each column says how likely each label of a hidden cell is, given the rest of its row. Its log loss stands beside that
of the column's frequencies, paired, with rows as clusters: where it is not less, gaps are filled by the most frequent
label, with the frequencies as probabilities; where not by two standard errors, nothing is said to be learned about the
column. Regressions on the other columns have a say where that makes the log loss less
(judge/mixed/label_regressions.py), and so have the rows that agree in all that a row shows (judge/mixed/rows_alike.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.mixed_engine import (
    FITTED_ROWS,
    MIXED_ENGINE,
    MOST_SITES,
    MixedShape,
    mixed_seconds,
    mixed_shapes,
    quiet_fit,
)
from lowdim.judge.fills.models import draw_seed
from lowdim.judge.fills.trials import HIDDEN_PARTS, PairedScore, folds_for, heats_for, paired, row_folds
from lowdim.judge.hidden_cells import dealt
from lowdim.judge.mixed.label_regressions import WordRegressions, drawn_labels, label_shares, word_regressions
from lowdim.judge.mixed.rows_alike import RowsAlike, rows_alike, with_rows_alike
from lowdim.judge.mixed.word_opinions import WordOpinions
from lowdim.judge.mixed_table import MixedTable
from lowdim.maths.linalg import Array, evenly_spread
from lowdim.maths.seeds import FILL_DRAWS, FILL_TRIALS
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.text.format import count
from lowdim.text.messages import LowdimError
from lowdim.text.quiet import no_warnings

FREQUENCIES = "frequencies"
COPY = "copy"  # of another column that says the same
LEARNED_ERRORS = 2.0  # by which a log loss is less than that of the frequencies, if something is said to be learned
GOOD_LABELS, FAIR_LABELS = 0.4, 0.2  # share of log loss explained: McFadden (1977) calls 0.2 to 0.4 an excellent fit
LEAST_SHARE = 1e-3  # that a label counts at the least in a log loss
LABEL_ROWS = 20  # below so many rows nothing is tried, and below so many hidden cells of a column nothing is told
TRIED_ROWS = 400  # of a fold whose cells are hidden: more teach nothing about a mean
FINAL_TOL, FINAL_PASSES = 1e-4, 100
MOST_REGRESSION_SECONDS = 1.0  # beside one fit

LabelDraw = Callable[[int, int], NDArray[np.intp]]  # (seed, number) -> a label for each gap, by its number


class LabelFill(NamedTuple):
    """The gaps of one column of words: what fills them, how likely each label is, and what that was worth."""

    column: str
    position: int  # in the file, from 1
    labels: tuple[str, ...]
    rows: NDArray[np.intp]  # of the table, in which it was a gap
    shares: Array  # gaps x labels: the probability of each
    engine: str
    drawn: Any  # a LabelDraw for its rows and those left out; none while it is stored
    number: int | None = None  # the column of the table's X that it is; None where it was set aside
    tried: int = 0  # cells hidden on purpose
    right: int = 0  # of them, where the most likely label was the true one
    usual: int = 0  # of them, where the most frequent label was
    loss: float = 0.0  # mean log loss of the hidden cells, by what fills the gaps
    usual_loss: float = 0.0  # by the column's frequencies
    difference: float = 0.0  # of the model's log loss less that of the frequencies
    difference_error: float = 0.0  # its standard error, rows as clusters
    left: NDArray[np.intp] = np.zeros(0, dtype=np.intp)  # gaps among the rows left out for having no number
    left_shares: Array = np.zeros((0, 0))  # the probability of each label there
    order: tuple[int, ...] = ()  # of labels that are levels: their numbers, the lowest first
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
        return self._best(self.shares)

    def _best(self, shares: Array) -> NDArray[np.intp]:
        if not self.order:
            return np.asarray(shares.argmax(axis=1))
        order = np.array(self.order)
        return np.asarray(order[(np.cumsum(shares[:, order], axis=1)[:, :-1] < 0.5).sum(axis=1)])

    @property
    def every_best(self) -> list[int]:
        """What fills each gap, and then of each in the rows left out."""
        left = self._best(self.left_shares).tolist() if len(self.left) else []
        return [*self.best.tolist(), *left]

    @property
    def fills(self) -> list[str]:
        """What fills each gap."""
        return [self.labels[k] for k in self.best]

    @property
    def probability(self) -> Array:
        """Of each fill."""
        return np.asarray(self.shares[np.arange(len(self.shares)), self.best])

    def relabelled(self, labels: tuple[str, ...]) -> LabelFill:
        """The same, of levels in their order, with their labels in another order."""
        at, to = ([b.index(label) for label in a] for a, b in ((labels, self.labels), (self.labels, labels)))
        left = self.left_shares[:, at] if len(self.left) else self.left_shares
        drawn = partial(_renumbered, self.drawn, np.array(to))
        return self._replace(labels=labels, shares=self.shares[:, at], left_shares=left, drawn=drawn, order=tuple(to))

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

    @property
    def _worth(self) -> str:
        if not self.tried:
            return "too few cells to check"
        if self.engine == FREQUENCIES or not self.difference < -LEARNED_ERRORS * self.difference_error:
            return "no better than its most frequent label; do not use"
        return "good" if self.skill >= GOOD_LABELS else "fair" if self.skill >= FAIR_LABELS else "weak"


class LabelTrials(NamedTuple):
    """Cells of words hidden on purpose: where, and the log loss and the guess of the model and of the frequencies."""

    row: NDArray[np.intp]
    column: NDArray[np.intp]
    loss: Array
    right: Array  # 1 where the most likely label was the true one
    pooled_loss: Array  # of the model and the regressions together
    pooled_right: Array
    usual_loss: Array
    usual_right: Array

    @property
    def pooled(self) -> LabelTrials:
        """The trials of the model and the regressions together."""
        return self._replace(loss=self.pooled_loss, right=self.pooled_right)

    @property
    def pool_is_better(self) -> bool:
        """Whether its log loss is less."""
        return float(self.pooled_loss.sum()) < float(self.loss.sum())


class LabelGround(NamedTuple):
    """A mixed table as numbers, and the columns of words that have gaps."""

    V: Array
    kinds: tuple[str, ...]
    sizes: tuple[int, ...]  # labels of each column; 0 where it has none
    wanted: tuple[int, ...]
    fold: NDArray[np.intp]
    seed: int
    quick: bool = False  # only the smallest model is tried

    @property
    def sites(self) -> int:
        """About how many sites the columns are made of."""
        return sum(max(size - 1, 1) for size in self.sizes) + 3 * self.kinds.count("ordinal")

    @property
    def shapes(self) -> list[MixedShape]:
        return mixed_shapes(self.kinds, self.sites)[: 1 if self.quick else None]

    def heats(self, fits: int) -> int:
        """The folds that choose between the shapes."""
        return heats_for(~np.isnan(self.V), fits)

    @property
    def regression_seconds(self) -> float:
        """Of the regressions beside one fit, forecast; 0 where they would take too long, and are not tried."""
        outputs = sum(self.sizes[j] - 1 for j in self.wanted)
        seconds = 0.02 * len(self.wanted) + 1e-6 * min(len(self.V), FITTED_ROWS) * self.sites * outputs
        return 0.0 if self.quick or seconds > MOST_REGRESSION_SECONDS else seconds

    def seconds(self, fits: int) -> float:
        """Of all its fits, forecast."""
        heats = self.heats(fits)
        one = mixed_seconds(len(self.V), self.sites) + self.regression_seconds
        return one * (heats * len(self.shapes) + fits - heats + 2)

    def regressions(self, model: MixedFactorAnalysis, V: Array) -> WordRegressions | None:
        """Those of the wanted columns, fitted to rows of which a model was; none where they would take too long."""
        if not self.regression_seconds:
            return None
        return word_regressions(model, self.kinds, self.sizes, self.wanted, V[evenly_spread(len(V), FITTED_ROWS)])

    def alike(self, V: Array) -> RowsAlike:
        """The rows that those with gaps may agree with."""
        return rows_alike(V, self.kinds, self.sizes)

    def tried(self, shape: MixedShape, which: Sequence[int]) -> LabelTrials:
        """Fit without the rows of each of these folds and predict their hidden words."""
        return _joined([_hidden_words(self, shape, k) for k in which])


class JudgedWords(NamedTuple):
    """The best model: how it did on hidden words, and what it and others that have a say tell, fitted to all rows."""

    found: LabelTrials
    opinions: WordOpinions


class ModelWords(NamedTuple):
    """What a model fitted to all rows says of the columns of words: probabilities, and draws of the whole table."""

    opinions: WordOpinions
    shares: dict[int, Array]
    alike: dict[int, Array]  # how many rows agree and have each label
    drawn: Callable[[int, int], Array]

    def engine(self, j: int, rows: NDArray[np.intp]) -> str:
        """The name of what fills column j in these rows."""
        others = {"regressions": self.opinions.regressions is not None, "rows alike": bool(self.alike[j][rows].any())}
        told = [name for name, has_a_say in others.items() if has_a_say]
        return f"latent model and {', '.join(told)}" if told else MIXED_ENGINE


def fill_labels(
    mixed: MixedTable,
    *,
    random_state: int = 0,
    budget: float = np.inf,
    quick: bool = False,
    orders: Mapping[int, Sequence[str]] = MappingProxyType({}),
) -> tuple[tuple[LabelFill, ...], float]:
    """Fill the gaps of a table's columns of words.

    Parameters
    ----------
    mixed : MixedTable
        All columns that may help.
    random_state : int, default 0
        Decides which cells are hidden.
    budget : float
        Seconds of one core, forecast; where it does not suffice columns are filled by their frequencies.
    quick : bool, default False
        Try only the smallest model.
    orders : mapping of int to labels
        The labels of columns that are levels, in their order, by the position of the column.

    Returns
    -------
    labels : tuple of LabelFill
        One for each column of words with gaps, in the order of the file.
    seconds : float
        Of the budget, by the forecast.
    """
    wanted, named = mixed.words_with_gaps, mixed
    if not wanted:
        return (), 0.0
    mixed = mixed.ranked(orders)
    V = mixed.source.values
    number, fits = folds_for(~np.isnan(V))
    sizes = tuple(len(c.coded.labels) for c in mixed.columns)
    ground = LabelGround(V, mixed.kinds, sizes, wanted, row_folds(len(V), number, random_state), random_state, quick)
    seconds = ground.seconds(fits)
    too_much = seconds > budget or ground.sites > MOST_SITES
    tried = None if too_much or len(V) < LABEL_ROWS or len(ground.kinds) < 2 else _judged(ground, fits)
    if tried is None:
        found, told = _joined([_frequent_only(ground, k) for k in range(fits)]), None
    else:
        found, told = tried.found, _model_words(tried.opinions, ground, np.concatenate([V, mixed.left]))
    fills = tuple(_filled(mixed, ground, j, found, told) for j in wanted)
    levels = {
        c.position: c.coded.labels for c, ranked in zip(named.columns, mixed.columns, strict=True) if ranked is not c
    }
    fills = tuple(c.relabelled(levels[c.position]) if c.position in levels else c for c in fills)
    return fills, seconds if told else 0.0


def _judged(ground: LabelGround, fits: int) -> JudgedWords | None:
    """The mixed model that tells hidden words best; None for a table that it refuses."""
    heats = ground.heats(fits)
    try:
        tried = [(shape, ground.tried(shape, range(heats))) for shape in ground.shapes]
        shape, first = min(tried, key=lambda pair: float(pair[1].loss.mean()))
        found = _joined([first, ground.tried(shape, range(heats, fits))])
        model = quiet_fit(ground.V, ground.kinds, shape, tol=FINAL_TOL, max_iter=FINAL_PASSES)
    except LowdimError:
        return None
    alike = ground.alike(ground.V)
    if found.pool_is_better:
        return JudgedWords(found.pooled, WordOpinions(model, ground.regressions(model, ground.V), alike))
    return JudgedWords(found, WordOpinions(model, None, alike))


def _model_words(opinions: WordOpinions, ground: LabelGround, rows: Array) -> ModelWords:
    alike = opinions.alike.counts(rows, ground.wanted)
    shares = with_rows_alike(opinions.modelled(rows, ground.wanted), alike)
    return ModelWords(opinions, shares, alike, _table_draw(opinions, ground.wanted, rows))


def _filled(mixed: MixedTable, ground: LabelGround, j: int, found: LabelTrials, told: ModelWords | None) -> LabelFill:
    column, own = mixed.columns[j], found.column == j
    versus = paired(found.loss[own], found.usual_loss[own], found.row[own])
    better = own.sum() >= LABEL_ROWS and versus.difference < 0.0
    rows, left, model = column.gaps, mixed.left_gaps(j), told if better else None
    every, engine = np.concatenate([rows, len(ground.V) + left]), FREQUENCIES
    shares = np.tile(_frequencies(ground.V[:, j], ground.sizes[j]), (len(every), 1))
    draw: LabelDraw = partial(_frequent_labels, shares, j)
    if model is not None:
        shares, engine = model.shares[j][every], model.engine(j, every)
        draw = partial(_drawn_labels, model.drawn, every, j)
    known = (column.name, column.position, column.coded.labels, rows, shares[: len(rows)])
    fill = LabelFill(*known, engine, draw, column.number, left=left, left_shares=shares[len(rows) :])
    return _worth(fill, found, own, versus) if own.any() else fill


def _worth(fill: LabelFill, found: LabelTrials, own: NDArray[np.bool_], versus: PairedScore) -> LabelFill:
    """With how its column did on hidden cells."""
    told = fill.engine != FREQUENCIES
    usual_loss, usual = float(found.usual_loss[own].mean()), int(found.usual_right[own].sum())
    return fill._replace(
        tried=int(own.sum()),
        right=int(found.right[own].sum()) if told else usual,
        usual=usual,
        loss=versus.score if told else usual_loss,
        usual_loss=usual_loss,
        difference=versus.difference,
        difference_error=versus.error,
    )


# what is said of a label ---------------------------------------------------------------------------------
def _frequencies(codes: Array, size: int) -> Array:
    """How often each label is, with one row more that has all of them in equal parts."""
    seen = codes[~np.isnan(codes)].astype(np.intp)
    return np.asarray((np.bincount(seen, minlength=size) + 1.0 / size) / (len(seen) + 1.0), dtype=np.float64)


def _table_draw(opinions: WordOpinions, wanted: Sequence[int], V: Array) -> Callable[[int, int], Array]:
    """A table drawn as a whole, kept until another one is asked for: all its columns of words come from one draw."""

    @lru_cache(maxsize=1)
    def drawn(seed: int, number: int) -> Array:
        with no_warnings():
            table = np.asarray(opinions.model.impute(V, draws=1, random_state=draw_seed(seed, number))[0])
        return opinions.redrawn(V, table, wanted, np.random.default_rng([seed, FILL_DRAWS, number]))

    return drawn


def _drawn_labels(
    table: Callable[[int, int], Array], rows: NDArray[np.intp], j: int, seed: int, number: int
) -> NDArray[np.intp]:
    return np.asarray(table(seed, number)[rows, j], dtype=np.intp)


def _renumbered(drawn: LabelDraw, to: NDArray[np.intp], seed: int, number: int) -> NDArray[np.intp]:
    return np.asarray(to[drawn(seed, number)])


def _frequent_labels(shares: Array, j: int, seed: int, number: int) -> NDArray[np.intp]:
    return drawn_labels(shares, np.random.default_rng([seed, FILL_DRAWS, number, j]))


# hidden words --------------------------------------------------------------------------------------------
def _hidden_words(ground: LabelGround, shape: MixedShape, k: int) -> LabelTrials:
    """The words of the rows of fold k, hidden part by part: each row stands in the table once a part."""
    fitted = ground.V[ground.fold != k]
    model = quiet_fit(fitted, ground.kinds, shape)
    regressions, alike = ground.regressions(model, fitted), ground.alike(fitted)
    rows, part = _parts(ground, k)
    parts: list[LabelTrials] = []
    for p in range(HIDDEN_PARTS):
        hidden = part == p
        some = np.flatnonzero(hidden[:, ground.wanted].any(axis=1))
        if not len(some):
            continue
        left = np.where(hidden, np.nan, ground.V[rows])[some]
        modelled, counts = label_shares(model, ground.sizes, ground.wanted, left), alike.counts(left, ground.wanted)
        shares = pooled = with_rows_alike(modelled, counts)
        if regressions is not None:
            pooled = with_rows_alike(regressions.pooled(left, modelled), counts)
        for j in ground.wanted:
            at = hidden[some, j]
            parts.append(_scored(ground, k, j, rows[some[at]], shares[j][at], pooled[j][at]))
    return _joined(parts)


def _frequent_only(ground: LabelGround, k: int) -> LabelTrials:
    """The same cells where no model is tried."""
    rows, part = _parts(ground, k)
    parts = []
    for j in ground.wanted:
        at = rows[part[:, j] >= 0]
        shares = np.tile(_frequencies(ground.V[ground.fold != k, j], ground.sizes[j]), (len(at), 1))
        parts.append(_scored(ground, k, j, at, shares, shares))
    return _joined(parts)


def _parts(ground: LabelGround, k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows of fold k whose cells are hidden, and the part of each cell; -1 at gaps."""
    rows = np.flatnonzero(ground.fold == k)
    rows = rows[evenly_spread(len(rows), TRIED_ROWS)]
    mask = ~np.isnan(ground.V[rows])
    return rows, np.where(mask, dealt(mask, HIDDEN_PARTS, np.random.default_rng([ground.seed, FILL_TRIALS, k])), -1)


def _scored(ground: LabelGround, k: int, j: int, rows: NDArray[np.intp], shares: Array, pooled: Array) -> LabelTrials:
    truth = ground.V[rows, j].astype(np.intp)
    usual = np.tile(_frequencies(ground.V[ground.fold != k, j], ground.sizes[j]), (len(rows), 1))
    return LabelTrials(rows, np.full(len(rows), j), *_told(shares, truth), *_told(pooled, truth), *_told(usual, truth))


def _told(shares: Array, truth: NDArray[np.intp]) -> tuple[Array, Array]:
    """The log loss of each cell, and 1 where its most likely label is the true one."""
    own = shares[np.arange(len(truth)), truth]
    return -np.log(np.maximum(own, LEAST_SHARE)), (shares.argmax(axis=1) == truth).astype(np.float64)


def _joined(parts: Sequence[LabelTrials]) -> LabelTrials:
    none, zero = np.zeros(0, dtype=np.intp), np.zeros(0)
    empty = LabelTrials(none, none, zero, zero, zero, zero, zero, zero)
    return LabelTrials(*(np.concatenate(piece) for piece in zip(empty, *parts, strict=True)))


# words ---------------------------------------------------------------------------------------------------
def label_lines(labels: Sequence[LabelFill]) -> list[str]:
    """What each column's fills are worth as lines of text, the best first."""
    listed = sorted(labels, key=lambda c: (not c.certain, -c.skill))
    wide, long = max([6, *(len(c.column) for c in listed)]), max([9, *(len(c.engine) for c in listed)])
    lines = [f"  {'column':<{wide}}  gaps  skill*  right        most frequent  {'filled by':<{long}}  advice"]
    for c in listed:
        right, usual = ("-", "-") if c.certain else (f"{c.right} of {c.tried}", f"{c.usual}")
        skill = "-" if c.certain else f"{c.skill:.2f}"
        head = f"  {c.column:<{wide}}  {c.gaps:>4,}  {skill:>6}  {right:<11}  {usual:>13}"
        lines.append(f"{head}  {c.engine:<{long}}  {c.advice}")
    note = "  * share of the log loss of the column's frequencies that is explained in cells hidden on purpose."
    return [*lines, note]


def label_sentence(labels: Sequence[LabelFill]) -> str:
    """One sentence: how many labels were filled, and how many of those hidden on purpose were right."""
    gaps, tried = sum(c.gaps for c in labels), sum(c.tried for c in labels)
    if all(c.certain for c in labels):
        return f"{count(gaps, 'label')} filled, each known for certain."
    if not tried:
        return f"{gaps:,} labels filled; too few are seen to check them."
    right, usual = (100 * sum(part) / tried for part in ((c.right for c in labels), (c.usual for c in labels)))
    return (
        f"{gaps:,} label{'' if gaps == 1 else 's'} filled; {right:.0f}% of {tried:,} hidden on purpose were right "
        f"(the most frequent label: {usual:.0f}%)."
    )
