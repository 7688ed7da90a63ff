"""Gaps filled with intervals that hold what they claim, checked on cells hidden on purpose.

A fill is the model's mean of the cell given the row's seen cells. Its standard deviation counts the noise
(with the degrees of freedom its fitting cost), the row's position and the doubt about each column's
parameters. What a model cannot know, how far the table is from the model, is measured: cells are hidden
in folds, and `judge/fills/calibration.py` turns how far off their fills were into the half width of every interval.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.calibration import (
    ColumnFill,
    HiddenErrors,
    beyond,
    calibrated,
    cross,
    shares_of_levels,
    skewed,
    width_word,
)
from lowdim.judge.fills.contest import (
    FILL_BUDGET,
    SCORED_DRAWS,
    STRAIGHT,
    STRAIGHT_WORDS,
    EngineTrial,
    Ground,
    Outcome,
    contest_lines,
    hold,
    straight_model,
)
from lowdim.judge.fills.dimension import fill_dimension
from lowdim.judge.fills.engines import Engine, Rung, engines_for
from lowdim.judge.fills.filled_frame import filled_frame
from lowdim.judge.fills.labels import LabelFill, fill_labels, label_lines, label_sentence
from lowdim.judge.fills.mixed_engine import BesideNumbers, beside_numbers, beside_ones, mixed_engine, on_numbers
from lowdim.judge.fills.models import TRIAL_TOL, FillModel, by_model, candidates, no_gaps
from lowdim.judge.fills.trials import (
    Trials,
    folds_for,
    heats_for,
    joined,
    row_folds,
    skill,
)
from lowdim.judge.mixed_table import mixed_table
from lowdim.judge.rows.odd_rows import check_level
from lowdim.judge.table_input import numbers_of
from lowdim.math.linalg import Array, Mask, evenly_spread
from lowdim.models.base.calibration import normal_half_width
from lowdim.models.base.estimator import seed_of
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.sources.views import gather
from lowdim.table.kinds.scales import ColumnScales
from lowdim.table.table import Table, frame_like
from lowdim.text.escape import join_names
from lowdim.text.format import count, parse_duration
from lowdim.text.messages import error
from lowdim.text.notebook import card

SMALL_CELLS = 100_000  # cells up to which parameters are uncertain enough to count as random
WIDE_COLUMNS, WIDE_CELLS = 60, 1_000_000  # with more columns up to so many: to try every dimension costs more
TRIAL_ROWS = 6_000  # rows of a large table that trials are made with: more of them teach nothing about a quantile
FILL_SAMPLE = 2_000  # rows from which a large table's number of dimensions is chosen
LEVELS = (0.5, 0.8, 0.9, 0.95)  # at which a calibration is drawn
SEES_ONES = ("nearest rows", "chained trees")  # engines that labels as zeros and ones serve
NO_GAPS = "No gaps: nothing to fill."
CHOSEN_BEST = "chosen because it predicts hidden cells best"
NAMED_COLUMNS = 10  # columns named one by one
LISTED_COLUMNS = 20  # columns a notebook lists


class RawFills(NamedTuple):
    """The fills as the model made them, gap by gap in the order of the rows, in units of `unit`."""

    filled: Array
    sd: Array  # not calibrated
    unit: Array  # a power of two for each column


class Fills(NamedTuple):
    """A table with its gaps filled, interval by interval, and how far to trust it."""

    filled: Array
    lower: Array  # equals filled where a cell was seen
    upper: Array
    sd: Array  # calibrated; 0 where seen
    is_filled: Mask  # True where a gap was filled
    columns: tuple[ColumnFill, ...]
    level: float
    n_components: int
    held: int
    tried: int
    skill: float  # over all hidden cells, each column in units of its spread
    drawn: Callable[[int, int], Array]  # (seed, number) -> one table drawn by the model, not calibrated
    hidden: HiddenErrors  # the cells hidden on purpose, for intervals at another level
    bare: RawFills
    how: str  # why so many dimensions
    table: Table | None = None  # that was filled, where it was read
    scales: ColumnScales | None = None  # on which columns were filled; fills are values that their columns can have
    engine: str = STRAIGHT  # what filled the gaps, by name
    engine_words: str = STRAIGHT_WORDS
    contest: tuple[EngineTrial, ...] = ()  # how each engine did on the hidden cells; none where only one was asked for
    labels: tuple[
        LabelFill, ...
    ] = ()  # columns of words with gaps, also those that stand in `filled` as zeros and ones
    came: Any = None  # the frame that was filled

    @property
    def modelled(self) -> Array:
        """The fills as the model has them: levels and counts not rounded, logarithms as logarithms."""
        table = self.filled if self.scales is None else self.scales.inward(self.filled)
        raw = np.array(table)
        raw[self.is_filled] = self.bare.filled / self.bare.unit[np.nonzero(self.is_filled)[1]]
        return raw

    def at(self, level: float) -> Fills:
        """The same fills with intervals of another level: the numbers that `fill(X, level=level)` gives."""
        check_level(level)
        columns, c = calibrated(self.columns, self.hidden, level)
        where, (_, sd, unit) = np.nonzero(self.is_filled)[1], self.bare
        half = sd * c[where] / unit[where]
        modelled = self.modelled if self.scales is None else self.scales.reached(self.modelled)
        filled = modelled[self.is_filled]
        lower, upper, spread = self.filled.copy(), self.filled.copy(), np.zeros(self.filled.shape)
        lower[self.is_filled], upper[self.is_filled] = filled - half, filled + half
        spread[self.is_filled] = half / normal_half_width(level)
        if self.scales is not None:
            spread = np.where(self.is_filled, self.scales.spread(modelled, spread), 0.0)
            lower, upper = (
                np.where(self.is_filled, self.scales.possible(self.scales.outward(ends), rounding), self.filled)
                for ends, rounding in ((lower, "down"), (upper, "up"))
            )
        for word in self.labels:  # its zeros and ones: the values that together are likely enough
            p = word.one_shares
            lower[word.cells], upper[word.cells], spread[word.cells] = p >= level, p > 1.0 - level, word.one_sd
        return self._replace(
            lower=lower, upper=upper, sd=spread, columns=columns, level=level, held=self._of_numbers(columns)
        )

    def _of_numbers(self, columns: tuple[ColumnFill, ...]) -> int:
        """Hidden cells of columns that are no labels, held by their intervals."""
        return sum(c.held for j, c in enumerate(columns) if j not in self._ones)

    @property
    def _ones(self) -> set[int]:
        """Columns of zeros and ones that stand for labels."""
        return {j for c in self.labels for j in c.numbers}

    @property
    def number_gaps(self) -> Mask:
        """Where numbers were filled, n x d: gaps that are no zeros and ones of a label."""
        gaps = self.is_filled.copy()
        gaps[:, sorted(self._ones)] = False
        return gaps

    def level_shares(self, j: int) -> Array:
        """How likely each level of a column of levels is in each of its gaps, gaps x levels; none for other columns."""
        levels = () if self.scales is None or j in self._ones else self.scales.levels[j]
        gap = self.is_filled[:, j]
        return shares_of_levels(self.modelled[gap, j], self.sd[gap, j], levels)

    @property
    def chances(self) -> Array:
        """The probability of each fill of a column of levels, n x d; NaN everywhere else."""
        out = np.full(self.filled.shape, np.nan)
        for j in np.flatnonzero(self.is_filled.any(axis=0)).tolist():
            share, gap = self.level_shares(j), self.is_filled[:, j]
            if share.shape[1] and self.scales is not None:
                own = np.searchsorted(self.scales.levels[j], self.filled[gap, j])
                out[gap, j] = share[np.arange(len(share)), own]
        return out

    @property
    def filled_numbers(self) -> int:
        """How many gaps of numbers were filled."""
        return int(self.number_gaps.sum())

    @property
    def filled_labels(self) -> int:
        """How many gaps of words were filled."""
        return sum(c.gaps for c in self.labels)

    def coverage(self, levels: Sequence[float] = LEVELS) -> Array:
        """The share of hidden cells held by intervals of each level, every fold calibrated on the others."""
        if not self.tried:
            return np.zeros(len(levels))
        return np.asarray(cross(self.hidden, len(self.columns), levels).mean(axis=1))

    @property
    def engines(self) -> NDArray[Any]:
        """The name of what filled each gap, n x d; empty where a cell was seen."""
        names = np.where(self.is_filled, self.engine, "").astype(object)
        for c in self.labels:
            names[c.cells] = c.engine
        return names

    @property
    def progress(self) -> str:
        """What was done, in a few words."""
        numbers = f"{self.filled_numbers} gaps, {self.held} of {self.tried} hidden cells held"
        tried, right = sum(c.tried for c in self.labels), sum(c.right for c in self.labels)
        words = f"{self.filled_labels} labels, {right} of {tried} hidden ones right"
        return ", ".join([numbers] * bool(self.filled_numbers or not self.labels) + [words] * bool(self.labels))

    @property
    def frame(self) -> Any:
        """The frame that came in with the gaps of numbers and of words filled, in its own types; else the numbers."""
        if self.table is None:
            return self.filled
        if self.came is None:
            return frame_like(self.filled, self.table.names, self.table)
        return filled_frame(self.came, self.table, self.filled, self.labels)

    @property
    def outside(self) -> NDArray[np.int8]:
        """-1 where a fill is below every value its column has, 1 where above, 0 elsewhere."""
        return beyond(self.filled, self.is_filled)

    @property
    def sentence(self) -> str:
        """One sentence, of numbers and of words each: how many, and how it did on hidden cells."""
        gaps, words = self.filled_numbers, label_sentence(self.labels) if self.labels else ""
        if gaps == 0:
            return words or NO_GAPS
        if self.tried == 0:
            return f"{gaps} gaps filled; too few cells are seen to check the intervals. {words}".rstrip()
        word = width_word(self.held, self.tried, self.level)
        text = (
            f"{gaps} gap{'' if gaps == 1 else 's'} filled; our {100 * self.level:.3g}% intervals held "
            f"{100 * self.held / self.tried:.0f}% of {self.tried} cells hidden on purpose{word and ': ' + word}."
        )
        return f"{text} {words}".rstrip()

    def own_model(self, map_dims: int | None = None) -> str:
        """Which model the fills are from; a map of the same table has a model of its own."""
        if self.engine != STRAIGHT:
            errors = {report.engine: report.error for report in self.contest}
            return (
                f"Fills are by {self.engine_words}: off by {errors[self.engine]:.2f} of a column's spread on hidden "
                f"cells, where the straight model is off by {errors[STRAIGHT]:.2f}."
            )
        text = f"Fills use their own model ({count(self.n_components, 'dimension')}, {self.how})"
        return f"{text}." if map_dims is None else f"{text}; the map uses {map_dims}."

    def outside_words(self, logged: Collection[str] = ()) -> tuple[str, ...]:
        """A line for every column with fills beyond the values it has; `logged` are logarithms already."""
        lines = []
        for j, c in enumerate(self.columns):
            if c.outside:
                seen = self.filled[~self.is_filled[:, j], j]
                log = f": try --log {join_names([c.column])}" if c.skewed and c.column not in logged else ""
                are = "is" if c.outside == 1 else "are"
                lines.append(
                    f"{count(c.outside, 'fill')} of {c.column} {are} outside the values seen "
                    f"({seen.min():.3g} .. {seen.max():.3g}){log}"
                )
        return tuple(lines)

    def to_log(self, logged: Collection[str] = ()) -> tuple[str, ...]:
        """Columns with fills outside the values seen whose logarithm may serve better."""
        return tuple(c.column for c in self.columns if c.outside and c.skewed and c.column not in logged)

    def text(self, *, map_dims: int | None = None, logged: Collection[str] = ()) -> str:
        """The table of `lowdim fill`; `map_dims` are those of a map of the same table."""
        parts = [self._number_lines(map_dims, logged) if self.filled_numbers else [], self._label_text()]
        return "\n".join([line for part in parts for line in part] or [NO_GAPS])

    def _number_lines(self, map_dims: int | None, logged: Collection[str]) -> list[str]:
        dims = f"from {count(self.n_components, 'dimension')}"
        numbers = tuple(c for j, c in enumerate(self.columns) if j not in self._ones)
        lines = [
            f"{count(self.filled_numbers, 'gap')} filled "
            f"{dims if self.engine == STRAIGHT else 'by ' + self.engine_words}.",
            *column_lines(numbers, {c.column: c.gaps for c in numbers}, self.level),
        ]
        beyond = self.outside_words(logged)
        lines += [f"  {line}" for line in beyond[:NAMED_COLUMNS]]
        lines += (
            [f"  and {len(beyond) - NAMED_COLUMNS} more columns with fills outside their values"]
            if beyond[NAMED_COLUMNS:]
            else []
        )
        lines += contest_lines(self.contest) if self.contest else []
        return [*lines, self.own_model(map_dims), self._example()]

    def _label_text(self) -> list[str]:
        """The table of words, and its first fill."""
        if not self.labels:
            return []
        lines = [f"{count(self.filled_labels, 'label')} filled.", *label_lines(self.labels)]
        first = min((c for c in self.labels if len(c.rows)), key=lambda c: int(c.rows[0]), default=None)
        if first is None:
            return lines
        fill = f"e.g. row {first.rows[0] + 1} {first.column} = {first.fills[0]}"
        return [*lines, f"{fill}  (probability {first.probability[0]:.2f})"]

    def _example(self) -> str:
        """The first fill of a number, in words; of a yes/no column with its probability."""
        i, j = np.argwhere(self.number_gaps)[0]
        text = f"e.g. row {i + 1} {self.columns[j].column} = {self.filled[i, j]:.3g}"
        if self.scales is not None and self.scales.levels[j] == (0.0, 1.0):
            return f"{text}  (probability of 1: {min(max(self.modelled[i, j], 0.0), 1.0):.2f})"
        return f"{text}  ({self.lower[i, j]:.3g} .. {self.upper[i, j]:.3g})"

    def __repr__(self) -> str:
        """At most four lines: what, what it held, which model, and where the rest is."""
        n, d = self.filled.shape
        first = f"Fills of {count(n, 'row')} x {count(d, 'column')}, {100 * self.level:.3g}% intervals"
        own = [self.own_model()] if self.filled_numbers else []
        return "\n".join([first, self.sentence, *own, ".text(), .filled, .lower, .upper, .at(0.8), .multiple(20)"])

    def _repr_html_(self) -> str:
        """What each column's fills are worth, as a small static table."""
        numbers = (c for j, c in enumerate(self.columns) if c.gaps and j not in self._ones)
        some = sorted(numbers, key=lambda c: -c.skill)
        listed = (
            (c.column, f"{c.gaps:,}", f"{c.skill:.2f}", f"{c.held} of {c.tried}", f"{c.outside:,}", c.advice)
            for c in some[:LISTED_COLUMNS]
        )
        more = f"and {len(some) - LISTED_COLUMNS:,} more columns: .text(). " if len(some) > LISTED_COLUMNS else ""
        return card(
            self.sentence,
            ("column", "gaps", "skill", f"{100 * self.level:.3g}% intervals held", "outside the values seen", "advice"),
            listed,
            note=f"{more}{self.own_model()}" if some else "",
        )

    def multiple(self, m: int = 20, *, random_state: Any = 0) -> Array:
        """m tables drawn jointly, m x n x d, their spread calibrated as the intervals are."""
        factor = np.array([c.factor for c in self.columns])
        seed, centre = seed_of(random_state), self.modelled
        tables = (centre + (self.drawn(seed, k) - centre) * factor for k in range(m))
        if self.scales is not None:
            tables = (self.scales.possible(self.scales.outward(table)) for table in tables)
        drawn = np.stack([np.where(self.is_filled, table, self.filled) for table in tables])
        for c in self.labels:
            for number in range(m) if c.numbers else ():
                drawn[number][c.cells] = c.as_ones(c.drawn(seed, number)[: len(c.rows)])
        return drawn


def column_lines(columns: Sequence[ColumnFill], gaps: Mapping[str, int], level: float) -> list[str]:
    """What each column's fills are worth as lines of text, the best first; `gaps` says how many each column had."""
    listed = sorted((c for c in columns if gaps[c.column]), key=lambda c: -c.skill)
    wide = max([6, *(len(c.column) for c in listed)])
    digits = max([4, *(len(f"{gaps[c.column]:,}") for c in listed)])
    held = f"{100 * level:.3g}% intervals held"
    lines = [f"  {'column':<{wide}}  {'gaps':>{digits}}  skill*  {held}   advice"]
    for c in listed:
        share = f"{c.held} of {c.tried}"
        number = f"{gaps[c.column]:>{digits},}"
        lines.append(f"  {c.column:<{wide}}  {number}  {c.skill:>6.2f}  {share:>{len(held)}}   {c.advice}")
    note = "  * share of the column's variance predicted for cells hidden on purpose. 0 = no better than the mean."
    return [*lines, note]


# the public face ----------------------------------------------------------------------------------------
def fill(
    table: Any,
    n_components: int | None = None,
    *,
    model: LinearGaussian | None = None,
    level: float = 0.9,
    folds: int | None = None,
    standardize: bool | None = None,
    random_state: int = 0,
    engines: str = "all",
    words: str = "all",
    budget: float | str | None = None,
) -> Fills:
    """Fill the gaps of a table with calibrated intervals, and say column by column what that is worth.

    The straight model of a small table is variational Bayesian PCA (or the whole Gaussian, where there are rows enough
    and it fills hidden cells better), that of a large one probabilistic PCA. Engines that bend or fall into groups fill
    the same hidden cells: nearest rows, mixtures of Gaussians and of factor analysers, a bent sheet, chained trees, and
    a blend of the best. The one with the least squared error replaces the straight model if it is better by two
    standard errors, paired by rows, and its draws are no worse as distributions (energy score); `.contest` says how
    each did.

    Parameters
    ----------
    table : path, data frame, array or Table
        Gaps are NaN or empty cells.
    n_components : int, optional
        Dimensions at most: as many as are found useful where it is not given.
    model : LinearGaussian, optional
        A model to use instead, options only.
    level : float, default 0.9
        Level of the intervals.
    folds : int, optional
        Parts in which cells are hidden to check the fills; by the table's size where it is not given.
    standardize : bool, optional
        Whether columns count in units of their spread: as the table was read, True for an array.
    random_state : int, default 0
        Decides which cells are hidden.
    engines : {"all", "straight"}, default "all"
        Whether engines that bend and fall into groups are tried beside the straight model: where the table counts in
        units of its columns' spread, has 30 rows or more, and neither `n_components` nor `model` is given.
    words : {"all", "measured"}, default "all"
        Which columns of words are filled: all whose labels repeat, or only those that were taken as measured. Each gets
        its most likely label by a latent model of all columns, or its most frequent one where that learns nothing.
    budget : float or str, optional
        Seconds of one core, or "2m", that these engines may take beside the straight model; 40 where it is not given.
        The time is forecast from the table's size, never read from the clock; what does not fit is not tried, and that
        is said.

    Returns
    -------
    Fills
        `.filled`, `.lower`, `.upper` and `.sd` are n x d, `.frame` is a frame if a frame came in; `.columns` say what
        each column's fills are worth, `.labels` the same of columns of words, with the probability of each label;
        `.at(0.8)` gives other intervals, `.multiple(20)` tables drawn jointly.

    References
    ----------
    Rubin, Multiple Imputation for Nonresponse in Surveys, Wiley, 1987. Stekhoven and Buehlmann, MissForest,
    Bioinformatics 28, 2012. Breiman, Stacked regressions, Machine Learning 24, 1996. Gneiting and Raftery, Strictly
    proper scoring rules, Journal of the American Statistical Association 102, 2007. docs/measurements.md for the choice
    of models.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 1)) @ np.ones((1, 5)) + 0.3 * rng.standard_normal((80, 5))
    >>> truth, X[3, 2] = X[3, 2], np.nan
    >>> found = fill(X)
    >>> bool(found.lower[3, 2] < truth < found.upper[3, 2]), found.columns[2].advice
    (True, 'good')
    """
    check_level(level)
    seconds = check_engines(engines, words, budget)
    source, standardize, read_table = numbers_of(table, standardize)
    values, seen = gather(source)
    mask = np.ones(values.shape, dtype=bool) if seen is None else seen
    check_fillable(mask, source.columns)
    unit = _units(np.where(mask, values, np.nan))
    X = np.where(mask, values, np.nan) * unit
    asked = model is not None or n_components is not None
    labels, spent = _words(read_table, words, random_state, seconds)
    only_words = {j for c in labels for j in c.numbers} >= set(np.flatnonzero(~mask.all(axis=0)).tolist())
    rivals = engines == "all" and standardize and not asked and not only_words
    beside = beside_numbers(read_table) if rivals else None
    models = [] if only_words else _models(X, n_components, model, standardize, random_state)
    best = _outcome(models, X, folds, random_state, max(seconds - spent, 1e-9) if rivals else 0.0, beside)
    rows = X if beside is None else np.concatenate([X, beside.codes], axis=1)
    fit, found = best.fit(rows), best.trials
    mean, sd = _with_labels(*fit.fills(rows), labels)
    scales = None if read_table is None else read_table.scales
    filled = possible_fills(np.where(mask, values, mean / unit), mask, scales, labels)
    chosen = len(models) > 1 or beside is not None or mask.size > SMALL_CELLS or not standardize
    return Fills(
        *(filled, filled, filled, filled),  # intervals follow
        ~mask,
        _columns(filled, mask, source.columns, found, X),
        level,
        fit.n_components,
        0,
        int((~np.isin(found.column, [j for c in labels for j in c.numbers])).sum()),
        skill(found, X),
        lambda seed, number: fit.drawn(rows, seed, number) / unit,
        HiddenErrors(found.z, found.column, found.fold),
        RawFills(mean[~mask], sd[~mask], unit),
        "as asked" if asked else CHOSEN_BEST if chosen else "as many as it finds use for",
        read_table,
        scales,
        *(best.engine, best.words, best.tried),
        labels,
        table if read_table is not None and not isinstance(table, str | PathLike | Table) else None,
    ).at(level)


def possible_fills(filled: Array, mask: Mask, scales: ColumnScales | None, labels: tuple[LabelFill, ...]) -> Array:
    """Fills in the table's units, as values that their columns can have; zeros and ones by the most likely label."""
    if scales is not None:
        filled = scales.outward(filled)
        filled = np.where(mask, filled, scales.possible(filled))
    for c in labels:
        filled[c.cells] = c.as_ones(c.best)
    return filled


def _words(table: Table | None, words: str, seed: int, budget: float) -> tuple[tuple[LabelFill, ...], float]:
    """The gaps of columns of words filled, of all or of those that were taken as measured; and the seconds of that."""
    if table is None or table.holds != "measurements":
        return (), 0.0
    if words == "measured" and not any(c.encoded for c in table.columns):
        return (), 0.0
    mixed = mixed_table(table)
    found, seconds = fill_labels(mixed, random_state=seed, budget=budget, quick=words == "measured")
    if words == "all":
        return found, seconds
    on_map = (c for c in found if c.numbers and len(c.rows))  # where rows without a number are not
    none, no_shares = np.zeros(0, dtype=np.intp), np.zeros((0, 0))
    return tuple(c._replace(left=none, left_shares=no_shares) for c in on_map), seconds


def _with_labels(mean: Array, sd: Array, labels: tuple[LabelFill, ...]) -> tuple[Array, Array]:
    """Zeros and ones that stand for labels: their fills are the probabilities of these labels."""
    mean, sd = np.array(mean), np.array(sd)
    for c in labels:
        mean[c.cells], sd[c.cells] = c.one_shares, c.one_sd
    return mean, sd


def _outcome(
    models: list[FillModel], X: Array, folds: int | None, seed: int, budget: float, beside: BesideNumbers | None = None
) -> Outcome:
    """What fills a table: the best straight model, or within a budget the engine that drives it out."""
    mask, d = ~np.isnan(X), X.shape[1]
    if not models:  # nothing to fill, nothing to check
        return Outcome(no_gaps, joined([]), STRAIGHT, STRAIGHT_WORDS, ())
    engines = engines_for(X) if budget else []
    if beside is not None:
        X = np.concatenate([X, beside.codes], axis=1)
        models = [on_numbers(model, d) for model in models] + _with_ones(len(X), d, beside)
        engines = _beside_others(engines, len(X), d, beside)
    number, fits = folds_for(mask) if folds is None else (folds, folds)
    X = X[evenly_spread(len(X), TRIAL_ROWS)] if len(X) > TRIAL_ROWS else X
    heats = heats_for(mask, fits) if len(models) > 1 or engines else fits
    ground = Ground(X, row_folds(len(X), number, seed), heats, fits, seed, SCORED_DRAWS if engines else 0, d)
    straight, first = straight_model(ground, models)
    if engines:
        return hold(ground, straight, first, engines, budget)
    return Outcome(straight, ground.rest(straight, first), STRAIGHT, STRAIGHT_WORDS, ())


def _with_ones(n: int, d: int, beside: BesideNumbers) -> list[FillModel]:
    """The straight models of a small table that see its labels too, as zeros and ones."""
    wide = d + beside.ones
    if not beside.ones or n * wide > SMALL_CELLS:
        return []
    return [beside_ones(model, d, beside.levels) for model in candidates(n, wide, None)]


def _beside_others(engines: list[Engine], n: int, d: int, beside: BesideNumbers) -> list[Engine]:
    """The engines of numbers; trees and near rows see labels too, as zeros and ones, and the mixed one as labels."""

    def beside_labels(engine: Engine) -> Engine:
        more = ((d + beside.ones) / d) ** 2 if engine.name in SEES_ONES and beside.ones else 0.0

        def seen(rung: Rung) -> Rung:
            if not more:
                return rung._replace(fit=on_numbers(rung.fit, d))
            return rung._replace(fit=beside_ones(rung.fit, d, beside.levels), seconds=more * rung.seconds)

        return engine._replace(rungs=tuple(map(seen, engine.rungs)))

    mixed = mixed_engine(n, beside)
    return [*map(beside_labels, engines), *([] if mixed is None else [mixed])]


def _columns(filled: Array, mask: Mask, names: tuple[str, ...], found: Trials, table: Array) -> tuple[ColumnFill, ...]:
    """Every column before its intervals are calibrated: gaps, skill, fills beyond the values it has."""
    n, out, log = len(mask), (beyond(filled, ~mask) != 0).sum(axis=0), skewed(table)
    rows = []
    for j, name in enumerate(names):
        own = found.column == j
        base = float((found.plain[own] ** 2).sum())
        skill = 1.0 - float((found.error[own] ** 2).sum()) / base if base > 0 else 0.0
        gaps = int((~mask[:, j]).sum())
        rows.append(ColumnFill(name, gaps, n - gaps, skill, 0, int(own.sum()), 1.0, "", int(out[j]), bool(log[j])))
    return tuple(rows)


def _models(table: Array, q: int | None, model: LinearGaussian | None, standardize: bool, seed: int) -> list[FillModel]:
    n, d = table.shape
    if model is not None:
        return [by_model(model)]
    if standardize and n * d <= (WIDE_CELLS if d > WIDE_COLUMNS else SMALL_CELLS):
        return candidates(n, d, q)
    if q is None:
        rows = evenly_spread(n, FILL_SAMPLE, ends=True)
        q = fill_dimension(table[rows], standardize=standardize, random_state=seed).n_components
    return [by_model(ProbabilisticPCA(q, standardize=standardize, tol=TRIAL_TOL / n))]


def check_engines(engines: str, words: str, budget: float | str | None) -> float:
    """The seconds that the engines may take, or the error that says what may be asked."""
    if words not in ("all", "measured"):
        raise error("LD210", option="words", value=words, allowed="'all' or 'measured'")
    if engines not in ("all", "straight"):
        raise error("LD210", option="engines", value=engines, allowed="'all' or 'straight'")
    seconds = parse_duration(budget)
    return FILL_BUDGET if seconds is None else seconds


def _units(table: Array) -> Array:
    """Powers of two that bring columns of huge or tiny numbers near one; 1 for any other."""
    size = np.nanmax(np.abs(table), axis=0)
    moderate = (size == 0.0) | ((size > 1e-100) & (size < 1e100))
    return np.where(moderate, 1.0, 2.0 ** -np.clip(np.frexp(size)[1].astype(float), -1000, 1000))


def check_fillable(mask: Mask, names: tuple[str, ...]) -> None:
    """At least two rows, and no column that is gaps only."""
    if len(mask) < 2:
        raise error("LD160", n=len(mask), least=2)
    empty = np.flatnonzero(~mask.any(axis=0))
    if len(empty):
        raise error("LD120", column=names[empty[0]])
