"""What the columns of a mixed table are, and their cells as sites of one latent Gaussian model.

A site has a weight vector w and an intercept b, and its number is eta = w'z + b. Real columns are Gaussian sites; all
others are made of yes/no sites with gaps: a yes/no column is one; k labels are k - 1 sticks, of which stick t is seen
only where the label is not among the first t; the level x of an ordinal column lies above one threshold and below the
next, two sites that share w; a count is a negative binomial, x yeses and r noes. A positive column is a Gaussian site
by its normal score: a monotone curve from log(x + a) to the score of its rank. An amount, zero in many rows, is a
yes/no site (is there any) and such a Gaussian site, which is seen only where there is any.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import ndtri

from lowdim.engine.fold import Run, fold
from lowdim.engine.statistics import Sum
from lowdim.maths.linalg import Array, Index, Mask, moderate_factor
from lowdim.sources.source import Block, Source
from lowdim.table.kinds import ZeroShare, is_mostly_zero
from lowdim.text.format import all_digits, clip, listing
from lowdim.text.label_match import named_rows
from lowdim.text.messages import error, warn

KINDS = ("real", "positive", "amount", "yes/no", "ordinal", "count", "label", "marker")
IN_LOGARITHMS = ("positive", "amount")  # kinds whose Gaussian site is a score of a logarithm
LEVELLED = ("yes/no", "ordinal", "label", "marker")  # kinds whose cells have one of a few values
MOST_LEVELS = 100  # labels of a column: each costs a weight vector
MOST_COUNT = 1000.0  # beyond it 1.6e-5 nats for each unit add up, and a logarithm does as well
AUTO_LEVELS, ROWS_A_LEVEL = 10, 5  # whole numbers with so few values, each so often on average, are levels
LISTED_VALUES = 3  # of each column that a message names
ZERO_ADDED = 0.1  # of the mean, added before a logarithm where a column has zeros
BINS = 256  # of a curve of normal scores
PRIOR_ROWS = 1.0  # spread evenly over the bins
LEAST_RANGE = 1e-9  # of logarithms: less is one value


class ColumnLook(NamedTuple):
    """The values of each column, as long as they are few, and what they have in common; it merges."""

    levels: tuple[Array, ...]  # sorted; none where there are too many
    counts: tuple[Array, ...]  # weights of the rows of each level
    few: Array  # d, 1 where all levels are listed
    whole: Array  # d, 1 where all numbers are whole
    low: Array  # d
    high: Array
    total: Array  # d, sum of the cells by weight
    seen: Array  # d, seen cells by weight
    zeros: Array  # d, those that are 0
    least: Array  # d, the least number above 0
    logs: Array  # d, sum of the logarithms of numbers above 0 by weight

    def merge(self, other: Self) -> Self:
        pairs = [_joined(*parts) for parts in zip(self.levels, self.counts, other.levels, other.counts, strict=True)]
        few = self.few * other.few * [len(levels) <= MOST_LEVELS for levels, _ in pairs]
        kept = [pair if ok else (np.zeros(0), np.zeros(0)) for pair, ok in zip(pairs, few, strict=True)]
        return type(self)(
            tuple(levels for levels, _ in kept),
            tuple(counts for _, counts in kept),
            few,
            self.whole * other.whole,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.total + other.total,
            self.seen + other.seen,
            self.zeros + other.zeros,
            np.minimum(self.least, other.least),
            self.logs + other.logs,
        )

    def zero_share(self, j: int) -> ZeroShare:
        """What column j is like beside its zeros."""
        above = float(self.seen[j] - self.zeros[j])
        values = len(self.levels[j]) - (self.zeros[j] > 0) if self.few[j] else np.inf
        return ZeroShare(
            float(self.seen[j]),
            float(self.zeros[j]),
            float(self.low[j]),
            values,
            self.total[j] / max(above, 1e-300),
            self.logs[j] / max(above, 1e-300),
        )


def _joined(one: Array, one_counts: Array, two: Array, two_counts: Array) -> tuple[Array, Array]:
    levels, at = np.unique(np.concatenate([one, two]), return_inverse=True)
    return levels, np.bincount(at, np.concatenate([one_counts, two_counts]), minlength=len(levels)).astype(np.float64)


def look_at(block: Block) -> ColumnLook:
    """The look of one block; rows of weight zero are not there."""
    weight = block.times
    counts_for = block.seen & (weight > 0)[:, None]
    parts = [_look_at_column(x[seen], weight[seen]) for x, seen in zip(block.x.T, counts_for.T, strict=True)]
    levels, counts, *numbers = zip(*parts, strict=True)
    return ColumnLook(tuple(levels), tuple(counts), *(np.array(part, dtype=np.float64) for part in numbers))


def _look_at_column(x: Array, weight: Array) -> tuple[Array, Array, bool, bool, *tuple[float, ...]]:
    levels, at = np.unique(x, return_inverse=True)
    few = len(levels) <= MOST_LEVELS
    counts = np.bincount(at, weight, minlength=len(levels)).astype(np.float64) if few else np.zeros(0)
    # numbers beyond 2^53 have no fraction to lose; an empty block has no end, and +-1e308 merge as if it had none
    whole = bool((levels == np.round(levels)).all())
    low, high = (float(levels[0]), float(levels[-1])) if len(levels) else (1e308, -1e308)
    scale = moderate_factor(levels)
    with np.errstate(over="ignore"):
        total = float(np.clip((weight @ (x * scale)) / scale, -1e308, 1e308))
    positive = x > 0
    least = float(x[positive].min()) if positive.any() else 1e308
    logs = float(weight[positive] @ np.log(x[positive]))
    numbers = (low, high, total, float(weight.sum()), float(weight[x == 0].sum()), least, logs)
    return levels if few else np.zeros(0), counts, few, whole, *numbers


class MixedColumns(NamedTuple):
    """What each column of a table is."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]  # one of KINDS each
    labels: tuple[tuple[Any, ...], ...]  # what the numbers 0, 1, ... of a column stand for; () = themselves
    levels: tuple[Array, ...]  # the values a column can have, in the order of its sites; empty where it has any
    counts: tuple[Array, ...]  # how often each was seen, by weight; of an amount zeros and others
    offset: Array  # d, added to a positive column before its logarithm
    centre: Array  # a number for each Gaussian site: its mean before it is standardised,
    spread: Array  # and its standard deviation
    curves: tuple[Array, ...]  # what makes normal scores of the logarithms of a positive column, 2 x knots; else empty
    whole: tuple[bool, ...]  # of each column, whether its type holds whole numbers only

    @property
    def gaussian(self) -> list[tuple[int, int]]:
        """Column and level of each Gaussian site; level 0 where the column itself is the site."""
        return [
            (j, t)
            for j, kind in enumerate(self.kinds)
            if kind in ("real", "positive", "amount", "marker")
            for t in range(1 if kind != "marker" else len(self.levels[j]) - 1)
        ]

    @property
    def single(self) -> list[tuple[int, int]]:
        """Column and level of each yes/no site with a weight vector of its own."""
        return [
            (j, t)
            for j, kind in enumerate(self.kinds)
            if kind in ("yes/no", "count", "label", "amount")
            for t in range(1 if kind in ("count", "amount") else len(self.levels[j]) - 1)
        ]

    @property
    def ordinal(self) -> list[int]:
        """The ordinal columns; each has one weight vector and a threshold between any two levels."""
        return [j for j, kind in enumerate(self.kinds) if kind == "ordinal" and len(self.levels[j]) > 1]

    @property
    def amounts(self) -> dict[int, tuple[int, int]]:
        """Of each column of amounts the weight vector of how much there is, and that of whether there is any."""
        places = enumerate(zip(self.kinds, self.weights_of, strict=True))
        return {j: (own[0], own[1]) for j, (kind, own) in places if kind == "amount"}

    @property
    def count_sites(self) -> list[int]:
        """Positions of the counts among the single sites."""
        return [s for s, (j, _) in enumerate(self.single) if self.kinds[j] == "count"]

    @property
    def first(self) -> Index:
        """Where the thresholds of each ordinal column begin, and where the last one's end."""
        sizes = [len(self.levels[j]) - 1 for j in self.ordinal]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)

    @property
    def owners(self) -> list[int]:
        """The column of each weight vector: those of Gaussian sites, then of single sites, then of ordinal columns."""
        return [*(j for j, _ in self.gaussian), *(j for j, _ in self.single), *self.ordinal]

    @property
    def weights_of(self) -> list[list[int]]:
        """The weight vectors of each column."""
        places: list[list[int]] = [[] for _ in self.kinds]
        for s, j in enumerate(self.owners):
            places[j].append(s)
        return places

    @property
    def answers(self) -> Array:
        """Seen cells behind each weight vector, by weight; 0 where the column is real or a count."""
        single = [self.counts[j][t:].sum() if len(self.counts[j]) else 0.0 for j, t in self.single]
        of_levels = [self.counts[j].sum() for j in self.ordinal]
        return np.array([*([0.0] * len(self.gaussian)), *single, *of_levels])

    def weight_names(self) -> tuple[str, ...]:
        """A name for each weight vector: its column, with the label where it is of one, and whether there is any."""
        named, R = [*self.gaussian, *self.single], len(self.gaussian)
        several = {j for j, t in named if t > 0}
        words = [
            f"{self.names[j]}={self.value(j, t)}"
            if j in several
            else self.names[j] + " > 0" * (s >= R and self.kinds[j] == "amount")
            for s, (j, t) in enumerate(named)
        ]
        return (*words, *(self.names[j] for j in self.ordinal))

    def value(self, j: int, t: int) -> Any:
        """Level t of column j as the table has it."""
        number = self.levels[j][t]
        return self.labels[j][int(number)] if self.labels[j] else float(number)


class Sites(NamedTuple):
    """The cells of some rows as sites; what is not seen counts nothing."""

    x: Array  # n x R, Gaussian sites, standardised
    seen: Array  # n x R, 1 where seen
    y: Array  # n x M, yeses of the single sites
    c: Array  # n x M, 1 where seen
    level: Index  # n x O, of the ordinal columns
    known: Array  # n x O, 1 where seen
    log_unit: Array  # n: log density of the row's positive cells in the unit of the table less that of their sites

    def of(self, rows: Index) -> Sites:
        """The same of some rows only."""
        parts: Any = (cells[rows] for cells in self)
        return Sites(*parts)


def sites_of(columns: MixedColumns, block: Block) -> tuple[Sites, Index]:
    """The sites of a block, and the columns in which it has values that were never seen before; these are gaps."""
    code, known = level_codes(columns, block.x, block.seen)
    strange = np.flatnonzero((block.seen & ~known).any(axis=0))
    x, seen, log_unit = _gaussian_sites(columns, block.x, code, known)
    single = columns.single
    y, c = np.zeros((len(block.x), len(single))), np.zeros((len(block.x), len(single)))
    for s, (j, t) in enumerate(single):
        if columns.kinds[j] == "count":
            c[:, s], y[:, s] = known[:, j], np.where(known[:, j], block.x[:, j], 0.0)
        elif columns.kinds[j] == "amount":
            c[:, s], y[:, s] = known[:, j], known[:, j] & (block.x[:, j] > 0)
        else:
            c[:, s] = known[:, j] & (code[:, j] >= t)
            y[:, s] = c[:, s] * (code[:, j] == t)
    ordinal = columns.ordinal
    return Sites(x, seen, y, c, code[:, ordinal], known[:, ordinal].astype(np.float64), log_unit), strange


def strange_values(columns: MixedColumns, block: Block, strange: Index) -> str:
    """The columns that have values never seen before; with values and rows in the first block only, for many blocks
    of a large table are not to say as many things."""
    if block.start:
        return listing([columns.names[j] for j in strange])
    unknown = block.seen & ~level_codes(columns, block.x, block.seen)[1]
    words = []
    for j in strange:
        values, labels = block.x[:, j], columns.labels[j]
        found = {v: np.flatnonzero(unknown[:, j] & (values == v)) + 1 for v in np.unique(values[unknown[:, j]])}
        called = {v: str(labels[int(v)]) if labels else all_digits(v) for v in found}
        cells = [f"{clip(called[v])} ({named_rows(rows.tolist())})" for v, rows in found.items()]
        words.append(f"{columns.names[j]}: {listing(cells, LISTED_VALUES)}")
    return listing(words, join="; ")


def level_codes(columns: MixedColumns, x: Array, mask: Mask) -> tuple[Index, Mask]:
    """The level of each cell in the order of its sites, and which cells say something."""
    code, known = np.zeros(x.shape, dtype=np.intp), mask.copy()
    for j, (kind, levels) in enumerate(zip(columns.kinds, columns.levels, strict=True)):
        if kind in LEVELLED:
            order = np.argsort(levels)
            at = np.minimum(np.searchsorted(levels[order], x[:, j]), len(levels) - 1)
            code[:, j] = order[at]
            known[:, j] &= levels[code[:, j]] == x[:, j]
        elif kind == "count":
            known[:, j] &= (x[:, j] >= 0) & (x[:, j] == np.round(x[:, j])) & (x[:, j] <= MOST_COUNT)
        elif kind == "positive":
            known[:, j] &= x[:, j] + columns.offset[j] > 0
        elif kind == "amount":
            known[:, j] &= x[:, j] >= 0
    return code, known


def _gaussian_sites(columns: MixedColumns, x: Array, code: Index, known: Mask) -> tuple[Array, Array, Array]:
    sites = columns.gaussian
    value, seen, log_unit = np.zeros((len(x), len(sites))), np.zeros((len(x), len(sites))), np.zeros(len(x))
    for s, (j, t) in enumerate(sites):
        there = known[:, j] & (x[:, j] > 0) if columns.kinds[j] == "amount" else known[:, j]
        seen[:, s] = there
        if columns.kinds[j] in IN_LOGARITHMS:
            logs = np.log(np.where(there, x[:, j] + columns.offset[j], 1.0))
            value[:, s], slope = scored(columns.curves[j], logs)
            log_unit += there * (slope - logs - np.log(columns.spread[s]))
        else:
            value[:, s] = code[:, j] == t if columns.kinds[j] == "marker" else x[:, j]
    return (value - columns.centre) / columns.spread * seen, seen, log_unit


def start_table(columns: MixedColumns, block: Block) -> Block:
    """One number for each weight vector, from which axes are guessed: the site, its share, or the level itself."""
    sites, _ = sites_of(columns, block)
    y = sites.y.copy()
    for s in columns.count_sites:
        y[:, s] = np.log1p(y[:, s])
    x = np.concatenate([sites.x, y, sites.level * sites.known], axis=1)
    mask = np.concatenate([sites.seen, sites.c, sites.known], axis=1) > 0
    return block._replace(x=x, mask=None if mask.all() else mask)


# what a column is ---------------------------------------------------------------------------------------------
def choose_kind(name: str, asked: str, look: ColumnLook, j: int, labels: tuple[Any, ...], ordered: bool) -> str:
    """The kind of column j: as asked, if its values allow that, or by its values and its type."""
    levels = len(look.levels[j])
    if asked == "auto":
        if labels:
            asked = "ordinal" if ordered and levels > 2 else "yes/no" if levels == 2 else "label"
        elif look.few[j] and look.whole[j] and levels == 2:
            asked = "yes/no"
        else:
            often = look.seen[j] >= ROWS_A_LEVEL * levels
            other = "amount" if is_mostly_zero(look.zero_share(j)) else "real"
            asked = "ordinal" if look.few[j] and look.whole[j] and 2 < levels <= AUTO_LEVELS and often else other
    problem = ""
    if asked in LEVELLED and not look.few[j]:
        raise error("LD500", column=name, most=MOST_LEVELS)
    if asked == "yes/no" and levels > 2:
        problem = f"it has {levels} different values"
    elif asked not in LEVELLED and labels:
        problem = "it holds labels"
    elif asked == "count" and (look.low[j] < 0 or not look.whole[j]):
        problem = "counts are whole numbers and not negative"
    elif asked == "count" and look.high[j] > MOST_COUNT:
        problem = f"counts above {MOST_COUNT:,.0f} are better taken as 'positive', by their logarithms"
    elif asked in IN_LOGARITHMS and look.low[j] < 0:
        problem = "it has negative numbers"
    if problem:
        raise error("LD501", column=name, kind=asked, problem=problem)
    return "yes/no" if asked == "ordinal" and levels == 2 else asked


def describe(
    names: tuple[str, ...],
    kinds: tuple[str, ...],
    look: ColumnLook,
    labels: tuple[tuple[Any, ...], ...],
    whole: tuple[bool, ...],
) -> MixedColumns:
    """The columns of a table that was looked at; labels by their frequency, other levels in their own order."""
    levels, counts = [], []
    for j, kind in enumerate(kinds):
        order: Any = slice(None, None, -1 if kind == "yes/no" else 1)  # the site of a yes/no column asks for its yes
        if kind in ("label", "marker"):
            order = np.argsort(-look.counts[j], kind="stable")
        listed = kind in LEVELLED
        levels.append(look.levels[j][order] if listed else np.zeros(0))
        zeros = look.zeros[j]
        parts = np.array([zeros, look.seen[j] - zeros]) if kind == "amount" else np.zeros(0)
        counts.append(look.counts[j][order] if listed else parts)
        unused = [t for t in range(len(labels[j])) if t not in look.levels[j]]
        if kind == "ordinal" and unused:
            warn("LD503", column=names[j], level=labels[j][unused[0]])
    positive = np.array([kind == "positive" for kind in kinds])
    mean = look.total / np.maximum(look.seen, 1.0)
    offset = np.where(positive & (look.low == 0), ZERO_ADDED * mean, 0.0)
    columns = MixedColumns(
        names,
        kinds,
        labels,
        tuple(levels),
        tuple(counts),
        offset,
        centre=np.zeros(0),
        spread=np.zeros(0),
        curves=(np.zeros((2, 0)),) * len(names),
        whole=whole,
    )
    sites = len(columns.gaussian)
    return columns._replace(centre=np.zeros(sites), spread=np.ones(sites))


# positive columns and amounts by their normal scores ------------------------------------------------------------
class LogRange(NamedTuple):
    """A positive column or one of amounts: what is added before its logarithm, and the ends of that."""

    column: int
    offset: float
    low: float
    high: float


def log_ranges(columns: MixedColumns, look: ColumnLook) -> list[LogRange]:
    """The ends of the logarithms of such columns that have more than one value."""
    ranges = []
    for j, kind in enumerate(columns.kinds):
        least = look.least[j] if kind == "amount" else look.low[j]
        if kind in IN_LOGARITHMS and look.seen[j] > 0 and least < 1e308:
            offset = float(columns.offset[j])
            low, high = np.log(np.array([least, look.high[j]]) + offset).tolist()
            if high - low > LEAST_RANGE:
                ranges.append(LogRange(j, offset, low, high))
    return ranges


def score_curves(ranges: list[LogRange], source: Source, run: Run) -> list[Array]:
    """The curve of each of these columns, 2 x knots: logarithms and their normal scores, both rising.

    It comes from counts in fixed bins between the least and the largest logarithm, so that blocks merge by addition and
    a weight of 2 is the row twice. Each bin counts a little more than it holds: the curve rises everywhere, and can be
    followed back.
    """
    counts = fold(partial(_bin_counts, tuple(ranges)), source, run).value
    return [_curve(own, many) for own, many in zip(ranges, counts, strict=True)]


def _bin_counts(ranges: tuple[LogRange, ...], block: Block) -> Sum:
    """How many rows, by weight, each bin of each column holds."""
    counts = np.zeros((len(ranges), BINS))
    for k, (j, offset, low, high) in enumerate(ranges):
        seen = block.seen[:, j] & (block.x[:, j] + offset > 0)
        share = (np.log(block.x[seen, j] + offset) - low) / (high - low)
        at = np.clip((share * BINS).astype(np.intp), 0, BINS - 1)
        counts[k] = np.bincount(at, block.times[seen], minlength=BINS)
    return Sum(counts)


def _curve(own: LogRange, counts: Array) -> Array:
    """A knot in the middle of each bin, at the middle of its ranks: what is there many times has one score, nearly."""
    many = counts + PRIOR_ROWS / BINS
    middle = np.cumsum(many) - 0.5 * many
    bins = own.low + (own.high - own.low) * (np.arange(BINS) + 0.5) / BINS
    return np.array([bins, ndtri(middle / many.sum())])


def scored(curve: Array, logs: Array) -> tuple[Array, Array]:
    """The normal scores of logarithms, and the logarithms of the curve's slopes there; straight beyond its ends."""
    if not curve.size:
        return logs, np.zeros_like(logs)
    x, y = curve
    at = np.clip(np.searchsorted(x, logs, side="right") - 1, 0, len(x) - 2)
    beyond = (y[-1] - y[0]) / (x[-1] - x[0])
    outside = (logs < x[0]) | (logs > x[-1])
    slope = np.where(outside, beyond, (np.diff(y) / np.diff(x))[at])
    end = np.where(logs < x[0], 0, len(x) - 1)
    value = np.where(outside, y[end] + beyond * (logs - x[end]), y[at] + slope * (logs - x[at]))
    return value, np.log(slope)


def unscored(curve: Array, scores: Array) -> Array:
    """The logarithms that have these scores."""
    if not curve.size:
        return scores
    x, y = curve
    beyond = (x[-1] - x[0]) / (y[-1] - y[0])
    inside = np.interp(scores, y, x)
    return inside + beyond * (np.minimum(scores - y[0], 0.0) + np.maximum(scores - y[-1], 0.0))
