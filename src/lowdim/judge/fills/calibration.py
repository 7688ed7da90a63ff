"""Half widths of intervals from cells whose truth is known, and what filling each column is worth.

The interval of a fill in column j is fill +- c_j sd. c_j is the ceil(level (m + 1))-th smallest |z| of the m
cells whose value is known: all of them, with those of column j counted again so that a column with laws of
its own gets a factor of its own as far as it has cells to show for it.

Reference: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, Springer (2005), for the rank; Kish,
Survey Sampling, Wiley (1965), for what unequally weighted cells are worth.

Of a model's own intervals (`models/base/calibration.py`) one factor for all columns is found within the fit, from cells
held back once; here every column has a factor, from cells hidden in folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr

from lowdim.judge.cells import all_surprises
from lowdim.maths.linalg import Array, Mask, evenly_spread
from lowdim.models.base.calibration import normal_half_width
from lowdim.models.linear.linear_gaussian import LinearGaussian

USELESS_SKILL = 0.1  # skill below this: no better than the column mean (docs/measurements.md)
GOOD_SKILL, FAIR_SKILL = 0.5, 0.3  # skill from which fills are called good, and fair
HALF_GUESSED, MOST_GUESSED = 0.4, 0.6  # share of gaps from which half, or most, of a column is called a guess
NO_DIFFERENCE = 0.05  # of the cells that are claimed to be missed: so few more or fewer are nothing to tell
RARE = 0.05  # a coverage rarer than this by chance is called narrow or wide
POOLED_CELLS = 12.0  # how many cells the pooled law is worth beside a column's own
SKEWED = 0.5  # skewness from which a column of positive numbers may be better off as its logarithm (Bulmer 1979)
CALIBRATION_WORK = 5e7  # cells times columns that calibrating a map may cost; more rows than that are thinned
MANY_COLUMNS = 1_000  # columns beyond which a map has one factor for all
LEAST_CALIBRATION_ROWS = 50


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
    outside: int = 0  # fills below the smallest or above the largest value seen
    skewed: bool = False  # only positive values, and skewed: its logarithm may serve better
    copy: str = ""  # how many of its gaps another column told, in words


class HiddenErrors(NamedTuple):
    """Cells hidden on purpose: how many standard deviations each fill was off, its column and its fold."""

    z: Array
    column: NDArray[np.intp]
    fold: NDArray[np.intp]


class MapCalibration(NamedTuple):
    """Half widths, in a map's own standard deviations, of intervals for the gaps of new rows, a column each."""

    level: float
    half: tuple[float, ...]
    fill_dims: int | None = None  # of the model that fills the map's own table, where it is known


# half widths --------------------------------------------------------------------------------------------
def factors(z: Array, column: NDArray[np.intp], d: int, levels: Sequence[float]) -> Array:
    """Half widths c_j in standard deviations for every column at each level, levels x d, from hidden cells' |z|."""
    plain = np.array([normal_half_width(level) for level in levels])
    if len(z) == 0:
        return np.tile(plain[:, None], (1, d))
    order = np.argsort(z, kind="stable")
    z, column = z[order], column[order]
    out = np.empty((len(levels), d))
    for j in range(d):
        weight = (column == j) + POOLED_CELLS / len(z)
        # rank level (m + 1) of m, m being how many equally weighted cells these are worth (Kish)
        total = float(weight.sum())
        m = total**2 / float((weight * weight).sum())  # no dot product: its threads wait longer than it takes
        ranks = np.array([min(level * (1.0 + 1.0 / m), 1.0) * total * (1 - 1e-12) for level in levels])
        out[:, j] = z[np.minimum(np.searchsorted(np.cumsum(weight), ranks), len(z) - 1)]
    return out if len(z) >= 20 else np.maximum(out, plain[:, None])


def cross(hidden: HiddenErrors, d: int, levels: Sequence[float]) -> NDArray[np.bool_]:
    """Whether each hidden cell was inside an interval calibrated on the other folds, one row a level."""
    inside = np.zeros((len(levels), len(hidden.z)), dtype=bool)
    for k in np.unique(hidden.fold):
        own = hidden.fold == k
        c = factors(hidden.z[~own], hidden.column[~own], d, levels)
        inside[:, own] = hidden.z[own] <= c[:, hidden.column[own]]
    return inside


def map_calibration(
    model: LinearGaussian, X: Any, *, level: float = 0.9, fill_dims: int | None = None, surprises: Array | None = None
) -> MapCalibration:
    """Half widths for the fills of new rows on a map, from the seen cells of the table X it was fitted to.

    |z| of a seen cell is its distance from what the other cells of its row say, in closed form for every cell
    (`surprises`, where they are known already). No cell is hidden from the fit, so z is a little small where
    rows are few; the standard deviations of new fills count the doubt about the parameters, which makes up for it.

    >>> from lowdim.models.linear.ppca import ProbabilisticPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 1)) + 0.3 * rng.standard_normal((300, 4))
    >>> [round(c, 1) for c in map_calibration(ProbabilisticPCA(1).fit(X), X).half]
    [1.7, 1.6, 1.7, 1.6]
    """
    found = all_surprises(model, X) if surprises is None else surprises
    n, d = found.shape
    few = int(np.clip(CALIBRATION_WORK / d**2, LEAST_CALIBRATION_ROWS, n)) if n > LEAST_CALIBRATION_ROWS else n
    rows = evenly_spread(n, few, ends=True)
    z = np.abs(found[rows])
    seen = np.isfinite(z) & (z > 0.0)  # a gap has no surprise: 0
    column = np.broadcast_to(np.arange(d), z.shape)[seen]
    if d <= MANY_COLUMNS:
        half = factors(z[seen], column, d, (level,))[0]
    else:
        half = np.full(d, factors(z[seen], column * 0, 1, (level,))[0, 0])
    return MapCalibration(level, tuple(half.tolist()), fill_dims)


# what a column's fills are worth ------------------------------------------------------------------------
def calibrated(
    columns: tuple[ColumnFill, ...], hidden: HiddenErrors, level: float
) -> tuple[tuple[ColumnFill, ...], Array]:
    """The columns as rated at this level, and their half widths."""
    d, usual = len(columns), normal_half_width(level)
    c = factors(hidden.z, hidden.column, d, (level,))[0]
    held = np.bincount(hidden.column[cross(hidden, d, (level,))[0]], minlength=d)
    rated = []
    for j, col in enumerate(columns):
        words = advice(col.skill, col.gaps / (col.gaps + col.seen), int(held[j]), col.tried, level)
        words = "; ".join(filter(None, [words if col.tried or not col.copy else "", col.copy]))
        rated.append(col._replace(held=int(held[j]), factor=float(c[j] / usual), advice=words))
    return tuple(rated), c


def advice(skill: float, share: float, held: int, tried: int, level: float) -> str:
    """What to make of a column's fills, by their skill, the share of gaps, and what intervals held."""
    if tried == 0:
        return "too few cells to check"
    if skill < USELESS_SKILL:
        return "no better than the column mean; do not use"
    words = ["good" if skill >= GOOD_SKILL else "fair" if skill >= FAIR_SKILL else "weak"]
    if share >= HALF_GUESSED:
        words.append(f"{'half' if share < MOST_GUESSED else 'most'} of this column is a guess")
    width = width_word(held, tried, level)
    return "; ".join([*words, f"intervals look {width}"] if width else words)


def width_word(held: int, tried: int, level: float) -> str:
    """'a little narrow' or 'a little wide' where chance makes so few or so many one time in twenty; 'too narrow' where
    half as many again are missed as is claimed; nothing where as many are, to a twentieth.

    >>> width_word(880, 1000, 0.9), width_word(830, 1000, 0.9), width_word(895, 1000, 0.9)
    ('a little narrow', 'too narrow', '')
    >>> width_word(19498, 21570, 0.9), width_word(19700, 21570, 0.9)  # 90.4 % and 91.3 %
    ('', 'a little wide')
    """
    if abs(held - level * tried) < NO_DIFFERENCE * (1.0 - level) * tried:
        return ""
    if bdtr(held, tried, level) < RARE:
        return "a little narrow" if tried - held <= round(1.5 * (1 - level) * tried, 6) else "too narrow"
    return "a little wide" if held > 0 and 1.0 - bdtr(held - 1, tried, level) < RARE else ""


def shares_of_levels(mean: Array, spread: Array, levels: Sequence[float]) -> Array:
    """The probability of each level of cells with these means and spreads, cells x levels; none for fewer than two.

    Of two levels the mean is a probability; of more, each has the share of a normal distribution that lies nearest to
    it, so that the level nearest to the mean is the middle one.

    >>> shares_of_levels(np.array([0.3]), np.array([0.2]), (0.0, 1.0)).tolist()
    [[0.7, 0.3]]
    """
    own = np.array(levels, dtype=np.float64)
    if len(own) < 2:
        return np.zeros((len(mean), 0))
    if len(own) == 2:
        high = np.clip((mean - own[0]) / (own[1] - own[0]), 0.0, 1.0)
        return np.column_stack([1.0 - high, high])
    below = ndtr((0.5 * (own[1:] + own[:-1]) - mean[:, None]) / np.maximum(spread, 1e-12)[:, None])
    return np.diff(np.column_stack([np.zeros(len(mean)), below, np.ones(len(mean))]), axis=1)


def beyond(filled: Array, gap: Mask) -> NDArray[np.int8]:
    """-1 where a fill is below the smallest value its column has, 1 where above the largest, else 0."""
    low = np.where(gap, np.inf, filled).min(axis=0, initial=np.inf)
    high = np.where(gap, -np.inf, filled).max(axis=0, initial=-np.inf)
    return np.where(gap, (filled > high).astype(np.int8) - (filled < low), 0).astype(np.int8)


def skewed(table: Array) -> NDArray[np.bool_]:
    """Columns of positive numbers with a long upper tail; NaN is a gap."""
    out = np.zeros(table.shape[1], dtype=bool)
    for j, column in enumerate(table.T):
        x = column[~np.isnan(column)]
        sd = float(x.std()) if len(x) else 0.0
        out[j] = sd > 0.0 and bool((x > 0.0).all()) and float((((x - x.mean()) / sd) ** 3).mean()) > SKEWED
    return out
