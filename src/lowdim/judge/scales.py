"""Which columns are better told in logarithms: by hidden cells, not by their skewness alone.

Columns of positive numbers that are strongly skew are candidates. Rows are left out in folds; each of their cells is
predicted from the others of its row, once with all columns as they are and once with the candidates as logarithms. The
log density of the true value, in the table's own unit (with the Jacobian of the logarithm), says which scale suits a
column: it is told in logarithms where that is better by more than chance, and by more than a little. A density forgives
a prediction that is a hundred times too large if its spread is; a person does not. So the medians, back in the table's
own unit, must not err much more than without logarithms, and about as little where some of them lie beyond what the
column can be; columns whose medians do are told as they are, and the others are tried again beside them.

Reference: Box and Cox, An analysis of transformations, Journal of the Royal Statistical Society B 26 (1964) 211.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

import numpy as np

from lowdim.engine.fold import Run, walk
from lowdim.judge.cells import FramedGaussian, framed_gaussian, given_others
from lowdim.judge.hidden_cells import left_out
from lowdim.judge.row_order import row_order
from lowdim.maths.linalg import Array, Mask
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.sources.arrays import as_source
from lowdim.sources.source import Block
from lowdim.table.checks import HUGE_NUMBER
from lowdim.table.column import ColumnScales
from lowdim.table.table import Table
from lowdim.text.format import count, listing
from lowdim.text.messages import message, no_warnings

STRONG_SKEW = 1.0  # skewness from which a column is a candidate: that of a chi squared of 8
LEAST_VALUES = 10  # different values a candidate has
LEAST_SCALE_ROWS = 20
SCALE_ROWS = 1_500  # rows from which the choice is made
MOST_ZEROS = 0.3  # share of zeros up to which half the least positive number is added before
SCALE_FOLDS = 4
MOST_SPREADS = 4.0  # spreads beyond which a cell counts no worse: one wrong cell must not choose
LEAST_GAIN = 0.25  # nats a cell from which a logarithm is worth telling anybody about
MOST_ERROR, MOST_BEYOND_ERROR = 1.5, 1.15  # of that without logarithms, in own units; where some medians are impossible
SCALE_DIMS = 2
NAMED_LOGS = 12  # columns a message names


class LogTrial(NamedTuple):
    """A candidate: what is added before its logarithm, and what the logarithm gains in nats a hidden cell."""

    column: str
    offset: float
    gain: float
    sd: float  # of the gain
    error: float  # mean error of hidden cells in the table's own unit, by that without logarithms
    beyond: int  # hidden cells whose median is larger than the column can be

    @property
    def denser(self) -> bool:
        return self.gain > max(2.0 * self.sd, LEAST_GAIN)

    @property
    def better(self) -> bool:
        return self.denser and self.error <= (MOST_BEYOND_ERROR if self.beyond else MOST_ERROR)


class HiddenCells(NamedTuple):
    """Of every seen cell, given the others of its row: the log density of its value, and its median; n x d."""

    density: Array
    median: Array


def on_suitable_scales(table: Table, declared: Collection[str] = ()) -> Table:
    """The table with its strongly skew columns in logarithms, where hidden cells say so; as it is where it was asked.

    Columns `declared` to be something by themselves stay as they are.

    >>> from lowdim.table.read import read
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> size = rng.normal(0, 2, 200)
    >>> frame = pd.DataFrame({name: np.exp(size + rng.normal(0, 0.5, 200)) for name in ("mass", "area", "price")})
    >>> on_suitable_scales(read(frame)).scales.log.tolist()
    [True, True, True]
    """
    asked = table.options.get("no_log") or table.options.get("log")
    if asked or table.logs or table.holds != "measurements" or table.n < LEAST_SCALE_ROWS or not table.names_given:
        return table
    better = [trial for trial in log_trials(table) if trial.better and trial.column not in declared]
    if not better:
        return table
    names = [trial.column for trial in better]
    gain = f"{min(trial.gain for trial in better):.2g} to {max(trial.gain for trial in better):.2g}"
    said = message(
        "LD195",
        table.name,
        what=count(len(better), "column") + (" is" if len(better) == 1 else " are"),
        names=listing(names, NAMED_LOGS),
        gain=gain if len(better) > 1 else f"{better[0].gain:.2g}",
    )
    return table.in_logarithms({trial.column: trial.offset for trial in better}, said)


def log_trials(table: Table) -> list[LogTrial]:
    """What the logarithm of each candidate gains, beside the others that are taken."""
    table = table.in_ones()
    X = table.X[row_order(table.X, ~np.isnan(table.X), 0)[:SCALE_ROWS]]
    offset, tried = _candidates(X, table)
    if not tried.any() or len(X) < LEAST_SCALE_ROWS or table.d < 2:
        return []
    plain, trials = _hidden_cells(X), dict[int, LogTrial]()
    while tried.any():
        scales = table.scales._replace(log=tried, offset=offset)
        trials |= _trials(X, scales, plain, table.names)
        refused = np.array([j in trials and trials[j].denser and not trials[j].better for j in range(table.d)])
        if not (refused & tried).any():
            break
        tried &= ~refused & np.array([j in trials and trials[j].better for j in range(table.d)])
    return [trials[j] for j in sorted(trials)]


def _trials(X: Array, scales: ColumnScales, plain: HiddenCells, names: tuple[str, ...]) -> dict[int, LogTrial]:
    """How the logarithms of these scales do, each beside the others."""
    logs = scales.inward(X)
    cells = _hidden_cells(logs)
    gain = cells.density - np.where(scales.log, logs, 0.0) - plain.density
    median = scales.outward(cells.median)
    off = [np.abs(X - scales.within(part)) for part in (median, plain.median)]
    beyond = (median > scales.most).sum(axis=0)
    trials = {}
    for j in np.flatnonzero(scales.log).tolist():
        seen = ~np.isnan(gain[:, j])
        own, (error, without) = gain[seen, j], (float(part[seen, j].mean()) for part in off)
        ratio = error / without if without > 0 else np.inf
        sd = float(own.std() / len(own) ** 0.5)
        trials[j] = LogTrial(names[j], float(scales.offset[j]), float(own.mean()), sd, ratio, int(beyond[j]))
    return trials


def _candidates(X: Array, table: Table) -> tuple[Array, Mask]:
    """What would be added to each column, and which columns are positive and strongly skew, less so as logarithms."""
    offset, tried = np.zeros(X.shape[1]), np.zeros(X.shape[1], dtype=bool)
    for j, c in enumerate(table.numbers):
        x = X[~np.isnan(X[:, j]), j]
        if c.levels or c.labels or len(x) < LEAST_SCALE_ROWS or x.min() < 0 or len(np.unique(x)) < LEAST_VALUES:
            continue
        if x.max() > HUGE_NUMBER:  # its moments are no numbers; reading has said so
            continue
        zeros = float((x == 0).mean())
        if zeros > MOST_ZEROS or (zeros and (table.X[:, j] < 0).any()):
            continue
        offset[j] = _half_least(table.X[:, j]) if (table.X[:, j] == 0).any() else 0.0
        raw, log = _skewness(x), _skewness(np.log(x + offset[j]))
        tried[j] = raw > STRONG_SKEW and abs(log) < raw and bool((np.nan_to_num(table.X[:, j], nan=1.0) >= 0).all())
    return offset, tried


def _half_least(x: Array) -> float:
    """Half of the least positive number, to one figure."""
    return float(f"{x[x > 0].min() / 2:.1g}")


def _skewness(x: Array) -> float:
    z = x - x.mean()
    sd = z.std()
    return float(np.mean((z / sd) ** 3)) if sd > 0 else 0.0


def _hidden_cells(X: Array) -> HiddenCells:
    """Every seen cell given the others of its row, by a model of the other folds of rows."""
    density, median = np.full(X.shape, np.nan), np.full(X.shape, np.nan)
    q = max(1, min(SCALE_DIMS, X.shape[1] - 1))
    for own in left_out(len(X), SCALE_FOLDS):
        with no_warnings():  # a column may be constant among these rows, and is not so in the table
            g = framed_gaussian(ProbabilisticPCA(q, standardize=True).fit(X[~own]))
        parts = [part for _, part in walk(partial(_given_others, g), as_source(X[own]), Run())]
        density[own], median[own] = (np.concatenate(piece) for piece in zip(*parts, strict=True))
    return HiddenCells(density, median)


def _given_others(g: FramedGaussian, raw: Block) -> HiddenCells:
    block = g.inward(raw)
    shift, sd = given_others(g, block.x, block.mask)[:2]
    z = np.minimum(np.abs(shift / sd), MOST_SPREADS)
    density: Array = -0.5 * z**2 - np.log(sd) + np.log(g.frame.scale)
    cells = HiddenCells(density, g.frame.outward(block.x - shift))
    return cells if block.mask is None else HiddenCells(*(np.where(block.mask, part, np.nan) for part in cells))
