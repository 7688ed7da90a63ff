"""Gaps filled with intervals that hold what they claim, checked on cells hidden on purpose.

A fill is the model's mean of the cell given the row's seen cells. Its standard deviation counts the noise
(with the degrees of freedom its fitting cost), the row's position and the doubt about each column's
parameters. What a model cannot know, how far the table is from the model, is measured: cells are hidden
in folds, and `judge/fills/calibration.py` turns how far off their fills were into the half width of every interval.
"""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from lowdim.judge.fills.calibration import (
    ColumnFill,
    HiddenErrors,
    beyond,
    skewed,
)
from lowdim.judge.fills.contest import (
    FILL_BUDGET,
    SCORED_DRAWS,
    STRAIGHT,
    STRAIGHT_WORDS,
    Ground,
    Outcome,
    hold,
    straight_model,
)
from lowdim.judge.fills.dimension import fill_dimension
from lowdim.judge.fills.engines import Engine, Rung, engines_for
from lowdim.judge.fills.filled_table import Fills, RawFills, declared_orders, number_copies, with_copies
from lowdim.judge.fills.labels import COPY, LabelFill, fill_labels
from lowdim.judge.fills.mixed_engine import BesideNumbers, beside_numbers, beside_ones, mixed_engine, on_numbers
from lowdim.judge.fills.models import TRIAL_TOL, FillModel, by_model, candidates, no_gaps, within_reach
from lowdim.judge.fills.trials import (
    Trials,
    folds_for,
    heats_for,
    joined,
    row_folds,
    skill,
)
from lowdim.judge.mixed.copied_labels import certain_labels
from lowdim.judge.mixed_table import mixed_table
from lowdim.judge.quantified import quantified
from lowdim.judge.table_input import numbers_of
from lowdim.maths.linalg import Array, Mask, evenly_spread
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.sources.views import gather
from lowdim.table.kinds.copies import told_by_copies
from lowdim.table.kinds.scales import ColumnScales
from lowdim.table.table import Table
from lowdim.text.format import parse_duration
from lowdim.text.messages import check_level, error

SMALL_CELLS = 100_000  # cells up to which parameters are uncertain enough to count as random
WIDE_COLUMNS, WIDE_CELLS = 60, 1_000_000  # with more columns up to so many: to try every dimension costs more
TRIAL_ROWS = 6_000  # rows of a large table that trials are made with: more of them teach nothing about a quantile
FILL_SAMPLE = 2_000  # rows from which a large table's number of dimensions is chosen
SEES_ONES = ("nearest rows", "chained trees")  # engines that labels as zeros and ones serve
COPY_WORDS = "what their copies say"
CHOSEN_BEST = "chosen because it predicts hidden cells best"


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
        `.at(0.8)` gives other intervals, `.multiple(20)` the numbers of tables drawn jointly, `.frames(20)` these as
        frames, words too.

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
    source, standardize, read_table = numbers_of(table, standardize, labelled_rows=words == "all")
    values, seen = gather(source)
    mask = np.ones(values.shape, dtype=bool) if seen is None else seen
    check_fillable(mask, source.columns)
    told = None if read_table is None else told_by_copies(read_table)
    X, unit = _in_units(np.where(mask, values, np.nan) if told is None else quantified(told).values)
    asked = model is not None or n_components is not None
    came = table if read_table is not None and not isinstance(table, str | PathLike | Table) else None
    labels, spent = _words(told, words, random_state, seconds, came)
    only_words = {c.number for c in labels} >= set(np.flatnonzero(np.isnan(X).any(axis=0)).tolist())
    rivals = engines == "all" and standardize and not asked and not only_words
    beside = beside_numbers(told) if rivals else None
    if read_table is not None and words == "all":
        labels = certain_labels(read_table, labels)
    models = [] if only_words else _models(X, n_components, model, standardize, random_state)
    best = _outcome(models, X, folds, random_state, max(seconds - spent, 1e-9) if rivals else 0.0, beside)
    several = len(models) > 1 or beside is not None or mask.size > SMALL_CELLS or not standardize
    how = "as asked" if asked else CHOSEN_BEST if several else "as many as it finds use for"
    rows = X if beside is None else np.concatenate([X, beside.codes], axis=1)
    return _filled(GappedNumbers(values, mask, source.columns, X, unit), best, rows, how, labels, read_table, came).at(
        level
    )


class GappedNumbers(NamedTuple):
    """A table of numbers: its values, where they are seen, its columns, and the same in units of about one."""

    values: Array
    mask: Mask
    names: tuple[str, ...]
    X: Array
    unit: Array


def _filled(
    gaps: GappedNumbers,
    best: Outcome,
    rows: Array,
    how: str,
    labels: tuple[LabelFill, ...],
    table: Table | None,
    came: Any,
) -> Fills:
    """The table filled by what was found best; intervals follow."""
    values, mask, names, X, unit = gaps
    fit, found = best.fit(rows), best.trials
    known = ~np.isnan(X)  # seen, or told by a copy
    mean, sd = fit.fills(rows)
    mean, sd = _with_labels(np.where(known, X, mean), np.where(known, 0.0, sd), labels)
    copies, by_copies = number_copies(table), known.all() and not mask.all()
    scales = None if table is None else table.scales
    filled = possible_fills(np.where(mask, values, mean / unit), mask, scales, labels)
    return Fills(
        *(filled, filled, filled, filled),
        ~mask,
        with_copies(_columns(filled, mask, names, found, X), copies),
        0.0,
        fit.n_components,
        0,
        int((~np.isin(found.column, [c.number for c in labels if c.number is not None])).sum()),
        skill(found, X),
        lambda seed, number: np.where(known, X, fit.drawn(rows, seed, number)) / unit,
        HiddenErrors(found.z, found.column, found.fold),
        RawFills(mean[~mask], sd[~mask], unit),
        how,
        table,
        scales,
        *((COPY, COPY_WORDS) if by_copies else (best.engine, best.words)),
        best.tried,
        labels,
        came,
        copies,
    )


def possible_fills(filled: Array, mask: Mask, scales: ColumnScales | None, labels: tuple[LabelFill, ...]) -> Array:
    """Fills in the table's units, as values that their columns can have; codes by the most likely label."""
    if scales is not None:
        filled = scales.outward(filled)
        filled = np.where(mask, filled, scales.possible(filled))
    for c in labels:
        if c.number is not None:
            filled[c.rows, c.number] = c.best
    return filled


def _words(table: Table | None, words: str, seed: int, budget: float, came: Any) -> tuple[tuple[LabelFill, ...], float]:
    """The gaps of columns of words filled, of all or of those that were taken as measured; and the seconds of that."""
    if table is None or table.holds != "measurements":
        return (), 0.0
    if words == "measured" and not any(table.code_labels):
        return (), 0.0
    mixed = mixed_table(table)
    quick, orders = words == "measured", declared_orders(came)
    found, seconds = fill_labels(mixed, random_state=seed, budget=budget, quick=quick, orders=orders)
    if words == "all":
        return found, seconds
    on_map = (c for c in found if c.number is not None and len(c.rows))  # where rows without a number are not
    none, no_shares = np.zeros(0, dtype=np.intp), np.zeros((0, 0))
    return tuple(c._replace(left=none, left_shares=no_shares) for c in on_map), seconds


def _with_labels(mean: Array, sd: Array, labels: tuple[LabelFill, ...]) -> tuple[Array, Array]:
    """Codes of labels: of two the probability of the second, of more the likeliest."""
    mean, sd = np.array(mean), np.array(sd)
    for c in labels:
        if c.number is not None:
            mean[c.rows, c.number], sd[c.rows, c.number] = c.middle, c.spread
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
    straight, found = straight_model(ground, models)
    if engines:
        return hold(ground, straight, found, engines, budget)
    return Outcome(straight, found, STRAIGHT, STRAIGHT_WORDS, ())


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
    return [within_reach(by_model(ProbabilisticPCA(q, standardize=standardize, tol=TRIAL_TOL / n)))]


def check_engines(engines: str, words: str, budget: float | str | None) -> float:
    """The seconds that the engines may take, or the error that says what may be asked."""
    if words not in ("all", "measured"):
        raise error("LD210", option="words", value=words, allowed="'all' or 'measured'")
    if engines not in ("all", "straight"):
        raise error("LD210", option="engines", value=engines, allowed="'all' or 'straight'")
    seconds = parse_duration(budget)
    return FILL_BUDGET if seconds is None else seconds


def _in_units(table: Array) -> tuple[Array, Array]:
    """Columns of huge or tiny numbers brought near one by powers of two, and these; 1 for any other."""
    size = np.nanmax(np.abs(table), axis=0)
    moderate = (size == 0.0) | ((size > 1e-100) & (size < 1e100))
    unit = np.where(moderate, 1.0, 2.0 ** -np.clip(np.frexp(size)[1].astype(float), -1000, 1000))
    return table * unit, unit


def check_fillable(mask: Mask, names: tuple[str, ...]) -> None:
    """At least two rows, and no column that is gaps only."""
    if len(mask) < 2:
        raise error("LD160", n=len(mask), least=2)
    empty = np.flatnonzero(~mask.any(axis=0))
    if len(empty):
        raise error("LD120", column=names[empty[0]])
