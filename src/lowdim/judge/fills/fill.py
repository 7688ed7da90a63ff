"""Gaps filled with intervals that hold what they claim, checked on cells hidden on purpose.

view       the table as numbers and codes                                     view.py
folds      rows left out, their cells hidden part by part                     judge/hidden_cells.py
engines    which are offered, and what each is                                engines/offered.py, engines/
trial      each is fitted once without every fold and fills its hidden cells  stack.py
weights    numbers by least squares, labels by log loss                       stack.py
fills      the engines that have a weight, each fitted once to all rows       fill.py, words.py
intervals  how far off the stack was on the hidden cells                      calibration.py
result     fills, intervals, draws, what each column's are worth              result.py
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.calibration import ColumnFill, HiddenErrors, beyond, skewed
from lowdim.judge.fills.copies import NumberCopy, certain_labels, number_copies
from lowdim.judge.fills.engines.engine import FittedEngine
from lowdim.judge.fills.engines.offered import SMALL_CELLS, admitted, linear_engines, offered_engines
from lowdim.judge.fills.result import EngineShare, Fills, possible_fills
from lowdim.judge.fills.stack import (
    Guesses,
    Stacked,
    Trial,
    gap_weights,
    joined,
    least_squares_weights,
    stacked_guesses,
    tried,
)
from lowdim.judge.fills.view import FillView, fill_view, number_view
from lowdim.judge.fills.words import LabelFill, label_fills
from lowdim.judge.hidden_cells import FoldCells, folds_for, hidden_folds
from lowdim.judge.read_table import numbers_of
from lowdim.judge.row_order import row_order
from lowdim.maths.linalg import Array, Mask, centre_and_spread
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.sources.views import gather
from lowdim.table.grades import declared_orders
from lowdim.table.relations import told_by_copies
from lowdim.table.table import Table
from lowdim.text.format import parse_duration
from lowdim.text.messages import check_level, error, no_warnings

STACK_FITS = 4  # folds of a small table that a stack is tried on: all eight choose no better weights
TRIAL_ROWS = 6_000  # rows of a large table that trials are made with: more of them teach nothing about a quantile


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

    A stack of engines fills numbers: a linear model, nearest rows, mixtures of groups, chained trees and, where the
    table has labels or levels, a latent model with a likelihood for each column. Each fills cells hidden on purpose;
    their fills are averaged with the non-negative weights that have the least squared error there, unless the linear
    model alone does as well, cell for cell, with weights that the other folds choose. Labels are filled by
    a stack with the least log loss: latent models, regressions on the other columns, frequencies, each together with
    the rows that agree.

    The linear model of a small table is variational Bayesian PCA (or the whole Gaussian, where there are rows enough
    and it fills hidden cells better), that of a large one probabilistic PCA.

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
        Whether numbers are filled by a stack, or by its linear model alone, which is quick. A table that does not
        count in units of its columns' spread or has fewer than 30 rows, and one for which `n_components` or `model` is
        given, has the linear model alone.
    words : {"all", "measured"}, default "all"
        Which columns of words are filled: all whose labels repeat, or only those that were taken as measured, by the
        smallest latent model.
    budget : float or str, optional
        Seconds of one core, or "2m", that engines may take beside the linear model; a tenth of a second for each gap
        where it is not given, 2 at the least and 40 at the most. The time is forecast from the table's size, never read
        from the clock; the cheapest engines come first, what does not fit is not tried, and that is said.

    Returns
    -------
    Fills
        `.filled`, `.lower`, `.upper` and `.sd` are n x d, `.frame` is a frame if a frame came in; `.columns` say what
        each column's fills are worth, `.labels` the same of columns of words, with the probability of each label;
        `.at(0.8)` gives other intervals, `.multiple(20)` the numbers of tables drawn jointly, `.frames(20)` these as
        frames, words too; `.write("filled.csv")` writes the file that was read with its gaps filled.

    References
    ----------
    Rubin, Multiple Imputation for Nonresponse in Surveys, Wiley, 1987. Breiman, Stacked regressions, Machine Learning
    24, 1996. Stekhoven and Buehlmann, MissForest, Bioinformatics 28, 2012. docs/measurements.md for the choice of
    engines.

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
    if words not in ("all", "measured"):
        raise error("LD210", option="words", value=words, allowed="'all' or 'measured'")
    if engines not in ("all", "straight"):
        raise error("LD210", option="engines", value=engines, allowed="'all' or 'straight'")
    seconds = parse_duration(budget)
    source, standardize, read_table = numbers_of(table, standardize, labelled_rows=words == "all")
    values, seen = gather(source)
    mask = np.ones(values.shape, dtype=bool) if seen is None else seen
    if len(mask) < 2:
        raise error("LD160", n=len(mask), least=2)
    if not mask.any(axis=0).all():
        raise error("LD120", column=source.columns[int(mask.any(axis=0).argmin())])
    told = None if read_table is None else told_by_copies(read_table)
    X, unit = _in_units(np.where(mask, values, np.nan if told is None else told.X))
    came = table if read_table is not None and not isinstance(table, str | PathLike | Table) else None
    view = number_view(X) if told is None else fill_view(told, X, words, declared_orders(came))

    # engines, each tried once a fold
    asked = model is not None or n_components is not None
    stack, gaps = engines == "all" and standardize and not asked, bool(np.isnan(view.numbers).any())
    linear = []
    if gaps:
        linear = linear_engines(view, n_components, model, standardize=standardize, labels=stack, seed=random_state)
    offered = offered_engines(view, numbers=stack and gaps, quick=words == "measured")
    parts, fits = folds_for(~np.isnan(view.rows)) if folds is None else (folds, folds)
    few = min(fits, STACK_FITS) if stack and folds is None else fits
    kept, skipped = admitted(offered, few, seconds, view)
    rows = view.rows
    if len(rows) > TRIAL_ROWS:
        rows = rows[row_order(rows, ~np.isnan(rows), random_state)[:TRIAL_ROWS]]
    columns = [*(range(view.d) if linear else ()), *view.words]
    hidden = hidden_folds(rows, parts, few if kept else fits, random_state, columns) if columns else []
    trial = tried(view, linear, kept, hidden, regressions=words == "all")

    @cache
    def fitted(name: str) -> FittedEngine:
        """An engine that has a weight, fitted to all rows: once, whether it fills numbers, labels or both."""
        with no_warnings():
            return trial.engines[name].fit(view.rows)

    filling = _numbers(view, trial, fitted)
    labels = label_fills(view, trial.words, fitted)
    if read_table is not None and told is not None and words == "all":
        labels = certain_labels(read_table, told, labels)
    several = len(linear) > 1 or mask.size > SMALL_CELLS or not standardize
    how = "as asked" if asked else "chosen because it predicts hidden cells best" if several else ""
    shares = (*filling.shares, *(EngineShare(name, 0.0, None, why) for name, why in skipped.items()))
    return (
        _result(values, mask, source.columns, unit, view, filling, labels, read_table)
        ._replace(how=how or "as many as it finds use for", came=came, engines=shares)
        .at(level)
    )


def _in_units(table: Array) -> tuple[Array, Array]:
    """Columns of huge or tiny numbers brought near one by powers of two, and these; 1 for any other. Rows lie one after
    another in memory however the table came, so that sums end in the same bits."""
    size = np.nanmax(np.abs(table), axis=0)
    moderate = (size == 0.0) | ((size > 1e-100) & (size < 1e100))
    unit = np.where(moderate, 1.0, 2.0 ** -np.clip(np.frexp(size)[1].astype(float), -1000, 1000))
    return np.ascontiguousarray(table * unit), unit


class Filling(NamedTuple):
    """What fills the numbers of a view, how it did on the hidden cells, and the part of each engine in it."""

    fitted: FittedEngine | None  # none where no number is missing
    cells: FoldCells
    guesses: Guesses
    error: float  # root mean square on the hidden cells, columns in units of their spread
    shares: tuple[EngineShare, ...]


def _numbers(view: FillView, trial: Trial, fitted: Callable[[str], FittedEngine]) -> Filling:
    """The numbers' stack: weights by the hidden cells, then each engine that has one, fitted to all rows."""
    if not trial.guesses:
        return Filling(None, trial.cells, joined([]), 0.0, ())
    gaps = np.isnan(view.numbers).sum(axis=0)
    weight, unit = gap_weights(trial.cells.column, gaps), centre_and_spread(view.numbers)[1][trial.cells.column]

    def off(guesses: Guesses) -> float:
        square = (guesses.error / unit) ** 2
        return float(np.sqrt(weight @ square / weight.sum())) if len(square) else 0.0

    names, made = list(trial.guesses), list(trial.guesses.values())
    weights, guesses = np.eye(len(names))[0], made[0]  # the linear model comes first
    if len(names) > 1 and len(weight):
        stack = stacked_guesses(made, trial.cells.fold, weight, unit)
        if off(stack) < off(guesses):  # in a small table weights may follow chance
            weights, guesses = least_squares_weights(np.stack([g.error for g in made]) / unit, weight), stack
    used = [fitted(name) for name, w in zip(names, weights, strict=True) if w]
    shares = (EngineShare(*part) for part in zip(names, weights.tolist(), map(off, made), strict=True))
    failed = (EngineShare(name, 0.0, None, "could not be fitted") for name in trial.failed)
    engine = used[0] if len(used) == 1 else Stacked(used, weights[weights > 0])
    return Filling(engine, trial.cells, guesses, off(guesses), (*shares, *failed))


# the result ---------------------------------------------------------------------------------------------
def _result(
    values: Array,
    mask: Mask,
    names: tuple[str, ...],
    unit: Array,
    view: FillView,
    filling: Filling,
    labels: tuple[LabelFill, ...],
    table: Table | None,
) -> Fills:
    """The table filled; intervals follow."""
    known = ~np.isnan(view.numbers)  # seen, or told by a copy
    fitted, places, X = filling.fitted, view.places, view.numbers
    mean, sd = (X, np.zeros(X.shape)) if fitted is None else fitted.fills(view.rows)
    modelled, spread = np.where(mask, values, 0.0), np.zeros(mask.shape)
    modelled[:, places] = np.where(known, X, mean) / unit[places]
    spread[:, places] = np.where(known, 0.0, sd) / unit[places]
    for c in labels:
        if c.number is not None:
            modelled[c.rows, c.number], spread[c.rows, c.number] = c.middle, c.spread

    def drawn(seed: int, number: int) -> Array:
        table = modelled.copy()
        if fitted is not None:
            draw = fitted.drawn(view.rows, seed, number)[:, : view.d]
            table[:, places] = np.where(known, X, draw) / unit[places]
        return table

    copies, scales = number_copies(table), None if table is None else table.scales
    filled = possible_fills(np.where(mask, values, modelled), mask, scales, labels)
    cells, found = filling.cells, filling.guesses
    column, in_units = places[cells.column], np.where(mask, values * unit, np.nan)
    by_copies = bool(known.all() and not mask[:, places].all())
    return Fills(
        filled=filled,
        lower=filled,
        upper=filled,
        sd=spread,
        is_filled=~mask,
        columns=_columns(filled, in_units, names, column, found.error, cells.plain, copies),
        level=0.0,
        n_components=0 if fitted is None else fitted.n_components,
        held=0,
        tried=len(cells.row),
        skill=_skill(found.error, cells.plain, centre_and_spread(X)[1][cells.column]),
        error=filling.error,
        drawn=drawn,
        hidden=HiddenErrors(np.abs(found.error) / found.sd, column, cells.fold),
        mean=modelled[~mask],
        spread=spread[~mask],
        table=table,
        scales=scales,
        labels=labels,
        copies=copies,
        only_copies=by_copies,
    )


def _columns(
    filled: Array,
    table: Array,
    names: tuple[str, ...],
    column: NDArray[np.intp],
    error: Array,
    plain: Array,
    copies: tuple[NumberCopy, ...],
) -> tuple[ColumnFill, ...]:
    """Every column before its intervals are calibrated: gaps, skill, fills beyond the values it has."""
    gap = np.isnan(table)
    out, log = (beyond(filled, gap) != 0).sum(axis=0), skewed(table)
    found = []
    for j, name in enumerate(names):
        own, gaps = column == j, int(gap[:, j].sum())
        telling = [copy for copy in copies if copy.of == j and len(copy.told)]
        found.append(
            ColumnFill(
                column=name,
                gaps=gaps,
                seen=len(table) - gaps,
                skill=_skill(error[own], plain[own], 1.0),
                held=0,
                tried=int(own.sum()),
                factor=1.0,
                advice="",
                outside=int(out[j]),
                skewed=bool(log[j]),
                copy="; ".join(f"{len(copy.told)} by its copy {copy.column}" for copy in telling),
            )
        )
    return tuple(found)


def _skill(error: Array, plain: Array, unit: Array | float) -> float:
    """The share of variance predicted for hidden cells; 0 = no better than the column means."""
    base = float(((plain / unit) ** 2).sum())
    return 1.0 - float(((error / unit) ** 2).sum()) / base if base > 0 else 0.0
