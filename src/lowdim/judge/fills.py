"""Gaps filled with intervals that hold what they claim, checked on cells hidden on purpose.

A fill is the model's mean of the cell given the row's seen cells. Its standard deviation counts the noise
(with the degrees of freedom its fitting cost), the row's position and the doubt about each column's
parameters. What a model cannot know, how far the table is from the model, is measured: cells are hidden
in folds, and the interval of column j is fill +- c_j sd, c_j being the ceil(level (m + 1))-th smallest |z|
of the m hidden cells: all of them, with those of column j counted again so that a column with laws of its
own gets a factor of its own as far as it has cells to show for it.

Reference: spec algorithms.md, "Fills and intervals"; Rubin (1987) for multiple imputation; Vovk, Gammerman
and Shafer (2005) for the rank of the quantile.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri

from lowdim.data.arrays import as_source
from lowdim.data.block import Array, Mask
from lowdim.data.views import gather
from lowdim.judge.engines import TRIAL, Engine, by_model, candidates
from lowdim.judge.odd import check_level
from lowdim.messages import LowdimError, LowdimWarning, error
from lowdim.models.base import seed_of
from lowdim.models.linear import LinearGaussian, ProbabilisticPCA

USELESS = 0.1  # skill below this: no better than the column mean (spec, product 4.8)
ENOUGH = 20_000  # hidden cells beyond which another fold teaches nothing about a quantile
SHARED = 12.0  # how many cells the pooled law is worth beside a column's own
SMALL = 100_000  # cells up to which parameters are uncertain enough to count as random
SAMPLE = 2_000  # rows from which a large table's number of dimensions is chosen


class ColumnFill(NamedTuple):
    """What filling one column is worth, from its cells hidden on purpose."""

    column: str
    gaps: int
    seen: int
    skill: float  # share of the column's variance predicted for hidden cells; 0 = no better than the mean
    held: int  # hidden cells inside an interval calibrated on the other folds
    tried: int
    factor: float  # the interval's half width in model standard deviations, over the Gaussian quantile
    advice: str


class Fills(NamedTuple):
    """A table with its gaps filled, interval by interval, and how far to trust it."""

    filled: Array
    lower: Array  # equals filled where a cell was seen
    upper: Array
    sd: Array  # calibrated; 0 where seen
    mask: Mask  # True = filled, False = seen
    columns: tuple[ColumnFill, ...]
    level: float
    n_components: int
    held: int
    tried: int
    skill: float  # over all hidden cells, each column in units of its spread
    drawn: Callable[[int, int], Array]  # (seed, number) -> one table drawn by the model, not calibrated

    @property
    def sentence(self) -> str:
        """One sentence: how many, and what the intervals held."""
        gaps = int(self.mask.sum())
        if self.tried == 0:
            return f"{gaps} gaps filled; too few cells are seen to check the intervals."
        word = _width(self.held, self.tried, self.level)
        return (f"{gaps} gap{'' if gaps == 1 else 's'} filled; our {100 * self.level:.3g}% intervals held "
                f"{100 * self.held / self.tried:.0f}% of {self.tried} cells hidden on purpose{word and ': ' + word}.")

    def text(self) -> str:
        """The table of `lowdim fill`."""
        some = sorted((c for c in self.columns if c.gaps), key=lambda c: -c.skill)
        wide = max([6, *(len(c.column) for c in some)])
        held = f"{100 * self.level:.3g}% intervals held"
        q = self.n_components
        gaps = int(self.mask.sum())
        lines = [f"{gaps} gap{'' if gaps == 1 else 's'} filled from {q} dimension{'' if q == 1 else 's'}.",
                 f"  {'column':<{wide}}  gaps  skill*  {held}   advice"]
        for c in some:
            share = f"{c.held} of {c.tried}"
            lines.append(f"  {c.column:<{wide}} {c.gaps:>5}  {c.skill:>6.2f}  {share:>{len(held)}}   {c.advice}")
        lines.append("  * share of the column's variance predicted for cells hidden on purpose. "
                     "0 = no better than the mean.")
        if gaps:
            i, j = np.argwhere(self.mask)[0]
            lines.append(f"e.g. row {i + 1} {self.columns[j].column} = {self.filled[i, j]:.3g}  "
                         f"({self.lower[i, j]:.3g} .. {self.upper[i, j]:.3g})")
        return "\n".join(lines)

    def multiple(self, m: int = 20, *, random_state: Any = 0) -> Array:
        """m tables drawn jointly, m x n x d, their spread calibrated as the intervals are."""
        factor = np.array([c.factor for c in self.columns])
        seed, centre = seed_of(random_state), self.filled
        tables = (self.drawn(seed, k) for k in range(m))
        return np.stack([np.where(self.mask, centre + (table - centre) * factor, centre) for table in tables])


class Trials(NamedTuple):
    """Cells hidden on purpose: where, in which fold, and how the model did."""

    row: NDArray[np.intp]
    column: NDArray[np.intp]
    fold: NDArray[np.intp]
    error: Array  # value - fill
    sd: Array  # of the model, not calibrated
    plain: Array  # value - mean of the column's cells that were left

    @property
    def z(self) -> Array:
        return np.abs(self.error) / self.sd


class FillDimension(NamedTuple):
    """The number of dimensions that fills best, and the error of each number tried."""

    n_components: int
    tried: tuple[int, ...]
    error: Array  # mean squared error of hidden cells, columns in units of their spread; 1 = the mean
    behind: Array  # paired standard error of each error minus the best


# hiding -------------------------------------------------------------------------------------------------
def assign(mask: Mask, folds: int, seed: int) -> NDArray[np.intp]:
    """A fold for every seen cell, -1 for gaps: a row's cells go to different folds as far as they can.

    A column keeps at least two seen cells in every fold, so some of a rare column's are never hidden.
    """
    rng = np.random.default_rng([seed, 40])
    order = np.argsort(np.argsort(np.where(mask, rng.random(mask.shape), 2.0), axis=1), axis=1)
    fold = (order + rng.integers(folds, size=(len(mask), 1))) % folds
    fold[~mask] = -1
    for j in np.flatnonzero(mask.sum(axis=0) < 3 * folds):
        rows = rng.permutation(np.flatnonzero(mask[:, j]))
        fold[rows, j] = np.arange(len(rows)) % folds  # spread evenly, the first two never hidden
        fold[rows[:2], j] = -1
    return fold


def folds_for(mask: Mask) -> tuple[int, int]:
    """(folds, fits) by the table's size: 8 and 8 for a small table, fewer fits where one hides plenty."""
    cells = int(mask.sum())
    folds = 8 if cells < 5_000 else 10
    return folds, int(np.clip(-(-ENOUGH * folds // max(cells, 1)), 2, 8 if cells < 5_000 else 5))


def trials(engine: Engine, X: Array, fold: NDArray[np.intp], fits: int) -> Trials:
    """Fit without the cells of each fold and predict them; a fold that cannot be fitted is left out."""
    parts = []
    for k in range(fits):
        hidden = fold == k
        left = np.where(hidden, np.nan, X)
        if not hidden.any():
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LowdimWarning)
                made = engine(left)
        except LowdimError:
            continue
        i, j = np.nonzero(hidden)
        plain = (X - np.nanmean(left, axis=0))[hidden]
        parts.append(Trials(i, j, np.full(len(i), k), (X - made.filled)[hidden], made.sd[hidden], plain))
    if not parts:
        none, zero = np.zeros(0, dtype=np.intp), np.zeros(0)
        return Trials(none, none, none, zero, zero, zero)
    return Trials(*(np.concatenate(piece) for piece in zip(*parts, strict=True)))


# calibrating --------------------------------------------------------------------------------------------
def factors(z: Array, column: NDArray[np.intp], d: int, level: float) -> Array:
    """Half widths c_j in standard deviations for every column, from hidden cells' |z|."""
    gauss = float(ndtri(0.5 + level / 2))
    if len(z) == 0:
        return np.full(d, gauss)
    order = np.argsort(z, kind="stable")
    z, column = z[order], column[order]
    out = np.empty(d)
    for j in range(d):
        own = column == j
        weight = own + SHARED / len(z)
        # rank level (m + 1) of m, m being how many equally weighted cells these are worth (Kish)
        total = float(weight.sum())
        m = total**2 / float(weight @ weight)
        reach = np.searchsorted(np.cumsum(weight), min(level * (1.0 + 1.0 / m), 1.0) * total * (1 - 1e-12))
        out[j] = z[min(int(reach), len(z) - 1)]
    return out if len(z) >= 20 else np.maximum(out, gauss)


def _cross(found: Trials, d: int, level: float) -> NDArray[np.bool_]:
    """Whether each hidden cell was inside an interval calibrated on the other folds."""
    inside = np.zeros(len(found.z), dtype=bool)
    for k in np.unique(found.fold):
        own = found.fold == k
        c = factors(found.z[~own], found.column[~own], d, level)
        inside[own] = found.z[own] <= c[found.column[own]]
    return inside


def _table(mask: Mask, names: tuple[str, ...], found: Trials, c: Array, level: float) -> tuple[ColumnFill, ...]:
    """Skill, calibration and advice of every column."""
    d = mask.shape[1]
    inside = _cross(found, d, level)
    gauss = float(ndtri(0.5 + level / 2))
    rows = []
    for j in range(d):
        own = found.column == j
        base = float((found.plain[own] ** 2).sum())
        skill = 1.0 - float((found.error[own] ** 2).sum()) / base if base > 0 else 0.0
        gaps, tried, held = int((~mask[:, j]).sum()), int(own.sum()), int(inside[own].sum())
        advice = _advice(skill, gaps / len(mask), held, tried, level)
        rows.append(ColumnFill(names[j], gaps, len(mask) - gaps, skill, held, tried, float(c[j] / gauss), advice))
    return tuple(rows)


def _advice(skill: float, share: float, held: int, tried: int, level: float) -> str:
    if tried == 0:
        return "too few cells to check"
    if skill < USELESS:
        return "no better than the column mean; do not use"
    words = ["good" if skill >= 0.5 else "fair" if skill >= 0.3 else "weak"]
    if share >= 0.4:
        words.append("half of this column is a guess" if share < 0.6 else "most of this column is a guess")
    width = _width(held, tried, level)
    return "; ".join([*words, f"intervals look {width}"] if width else words)


def _width(held: int, tried: int, level: float) -> str:
    """'a little narrow' or 'a little wide' where chance makes so few or so many one time in twenty."""
    if bdtr(held, tried, level) < 0.05:
        return "a little narrow" if held > (2 * level - 1) * tried else "too narrow"
    return "a little wide" if held > 0 and 1.0 - bdtr(held - 1, tried, level) < 0.05 else ""


# the public face ----------------------------------------------------------------------------------------
def fill(X: Any, q: int | None = None, *, model: LinearGaussian | None = None, level: float = 0.9,
         folds: int | None = None, standardize: bool = True, random_state: int = 0) -> Fills:
    """Fill the gaps of a table with calibrated intervals, and say column by column what that is worth.

    Small tables are filled by variational Bayesian PCA with at most q dimensions (`q=None`: as many as it
    finds use for, or the whole Gaussian where there are rows enough and it fills hidden cells better), large
    ones by ProbabilisticPCA(q) (`q=None`: `fill_dimension` of a sample of rows). A `model` of the
    linear-Gaussian family, options only, is used instead.

    Reference: spec algorithms.md, "Fills and intervals".

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 1)) @ np.ones((1, 5)) + 0.3 * rng.standard_normal((80, 5))
    >>> truth, X[3, 2] = X[3, 2], np.nan
    >>> made = fill(X)
    >>> bool(made.lower[3, 2] < truth < made.upper[3, 2]), made.columns[2].advice
    (True, 'good')
    """
    check_level(level)
    source = as_source(X)
    values, seen = gather(source)
    mask = np.ones(values.shape, dtype=bool) if seen is None else seen
    table = np.where(mask, values, np.nan)
    check_fillable(mask, source.columns)
    unit = _units(table)
    table = table * unit
    count, fits = folds_for(mask) if folds is None else (folds, folds)
    fold = assign(mask, count, random_state)
    tried = [(engine, trials(engine, table, fold, fits))
             for engine in _engines(table, q, model, standardize, random_state)]
    engine, found = max(tried, key=lambda pair: _skill(pair[1], table))
    made = engine(table)
    c = factors(found.z, found.column, source.d, level)
    columns = _table(mask, source.columns, found, c, level)
    gauss = float(ndtri(0.5 + level / 2))
    half = made.sd * c
    filled = np.where(mask, values, made.filled / unit)
    return Fills(filled, np.where(mask, values, (made.filled - half) / unit),
                 np.where(mask, values, (made.filled + half) / unit), half / gauss / unit, ~mask, columns, level,
                 made.n_components, sum(r.held for r in columns), sum(r.tried for r in columns), _skill(found, table),
                 lambda seed, number: made.drawn(seed, number) / unit)


def _engines(table: Array, q: int | None, model: LinearGaussian | None, standardize: bool, seed: int) -> list[Engine]:
    n, d = table.shape
    if model is not None:
        return [by_model(model)]
    if n * d <= SMALL and standardize:
        return candidates(n, d, q)
    if q is None:
        spread = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(int))
        q = fill_dimension(table[spread], standardize=standardize, random_state=seed).n_components
    return [by_model(ProbabilisticPCA(q, standardize=standardize, tol=TRIAL))]


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


def _skill(found: Trials, table: Array) -> float:
    """The share of variance predicted for all hidden cells, columns in units of their spread."""
    spread = np.nanstd(table, axis=0)
    unit = np.where(spread > 0, spread, 1.0)[found.column]
    base = float(((found.plain / unit) ** 2).sum())
    return 1.0 - float(((found.error / unit) ** 2).sum()) / base if base > 0 else 0.0


def fill_dimension(X: Any, *, most: int | None = None, folds: int = 5, standardize: bool = True,
                   random_state: int = 0) -> FillDimension:
    """How many dimensions fill best: the fewest within one paired standard error of the least error of hidden cells.

    Fills may use more dimensions than a map shows; the ladder stops when three more have not helped.
    """
    values, seen = gather(as_source(X))
    mask = np.ones(values.shape, dtype=bool) if seen is None else seen
    n, d = values.shape
    table = np.where(mask, values, np.nan)
    sd = np.nanstd(table, axis=0)
    sd = np.where(sd > 0, sd, 1.0)
    fold = assign(mask, folds, random_state + 1)
    fits = int(np.clip(-(-ENOUGH * folds // max(int(mask.sum()), 1)), 2, folds))
    top = min(d - 1, n - 2, int(mask.sum()) // (2 * max(d, 1))) if most is None else most
    tried: list[int] = []
    squares: list[Array] = []
    for q in _ladder(max(top, 0)):
        found = trials(by_model(ProbabilisticPCA(q, standardize=standardize, tol=TRIAL)), table, fold, fits)
        tried.append(q)
        squares.append((found.error / sd[found.column]) ** 2)
        error_of = np.array([s.mean() if len(s) else np.inf for s in squares])
        best = int(np.argmin(error_of))
        if len(tried) - best > 3:
            break
    same = [len(s) == len(squares[best]) for s in squares]  # a fold that failed leaves nothing to pair
    behind = np.array([(s - squares[best]).std() / max(len(s), 1) ** 0.5 if k else 0.0
                       for s, k in zip(squares, same, strict=True)])
    near = next(k for k in range(len(tried)) if error_of[k] <= error_of[best] + behind[k])
    finite = np.where(np.isfinite(error_of), error_of, 1.0)
    return FillDimension(tried[near], tuple(tried), finite, behind)


def _ladder(top: int) -> list[int]:
    """0, 1, 2, ... in steps that grow with the number: each about a fifth of the one before."""
    steps = [0]
    while steps[-1] < top:
        steps.append(min(top, steps[-1] + max(1, steps[-1] // 5)))
    return steps
