"""The first look at a table: its frame, its columns, its gaps; one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.engine.fold import Run, fold
from lowdim.engine.monitor import Fit
from lowdim.engine.statistics import Columns, Moments, Pairs, Survey, columns, stored_columns, stored_survey, survey
from lowdim.math.linalg import EPS, Array
from lowdim.models.base.overflow import LARGEST
from lowdim.sources.source import Block, Source
from lowdim.sources.views import Frame, Framed, Stored
from lowdim.text.messages import error, warn

SAMPLE = 256  # rows that set the origin; the mean of so many lies within sd/16 of the truth
MODERATE = 2.0**200  # sizes within 1/this .. this square and sum without leaving double precision
FAR = 2.0**1020  # numbers beyond this may differ by more than a double can hold
COARSE = 1e-6  # a column whose rounding unit exceeds this share of its spread is warned about
SPREAD = 1e8  # columns whose spreads differ by more are warned about


class Look(NamedTuple):
    """What one pass found out; all numbers in the frame's units."""

    frame: Frame
    source: Source  # seen through the frame
    columns: Columns
    moments: Moments | None  # where the table is complete and not wide
    pairs: Pairs | None  # where it has gaps and is not wide
    passes: int = 1

    @property
    def gaps(self) -> bool:
        return self.columns.gaps

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.columns

    @property
    def gathered(self) -> int:
        """1 where the table is wide and has to be gathered for a start: a pass more."""
        return int(self.pairs is None and self.moments is None)

    @property
    def stretch(self) -> float:
        """What the log density of all seen cells gains when it is stated in the table's units."""
        return float(self.columns.seen @ np.log(self.frame.scale))

    def outward(self, fit: Fit, more: int = 0) -> Fit:
        """A fit to what was looked at, told in the table's units; the look's own passes count, and so many more."""
        s = self.stretch
        return fit._replace(
            objective=fit.objective + s,
            history=tuple(value + s for value in fit.history),
            passes=fit.passes + self.passes + more,
        )

    @property
    def stored(self) -> Source | None:
        """The stored cells of a light sparse table, in the frame."""
        return Stored(self.source.source, self.frame) if isinstance(self.source, Framed) and self.source.light else None


def look(source: Source, run: Run, *, standardize: bool, wide: bool, each: bool = False, ddof: int = 1) -> Look:
    """Survey a table. A wide one is surveyed column by column, any other by pairs of columns.

    `each=True` lets every column have a scale of its own, for models that do not mind.
    """
    each = each or standardize
    frame = frame_of(source.sample(SAMPLE), each, origin=not source.light)
    found, cols = _survey(source, frame, run, wide)
    passes = 1
    if not np.isfinite(cols.scatter).all():  # the sample missed the largest cells
        frame = _larger(frame, _largest(source, run), each)
        found, cols = _survey(source, frame, run, wide)
        passes = 3
    check_columns(source, cols, frame)
    moments = None if found is None or cols.gaps else found.complete
    pairs = None if found is None or not cols.gaps else found.pairs()
    whole = Look(frame, Framed(source, frame), cols, moments, pairs, passes)
    return standardized(whole, source, ddof) if standardize else whole


def _survey(source: Source, frame: Frame, run: Run, wide: bool) -> tuple[Survey | None, Columns]:
    framed = Framed(source, frame)
    with np.errstate(over="ignore", invalid="ignore"):
        if source.light:
            stored = Stored(source, frame)
            if wide:
                return None, fold(stored_columns, stored, run)
            seen = fold(stored_survey, stored, run)
            assert seen.columns is not None
            return seen, seen.columns
        if wide:
            return None, fold(columns, framed, run)
        found = fold(survey, framed, run)
    parts = [] if found.columns is None else [found.columns]
    if found.complete is not None:
        parts.append(columns_of(found.complete))
    return found, parts[0] if len(parts) == 1 else parts[0].merge(parts[1])


def columns_of(m: Moments) -> Columns:
    """The column statistics that moments hold; the sizes stay unknown."""
    count = np.full(len(m.mean), m.n)
    return Columns(m.n, 0.0, count, m.mean, m.n * np.maximum(np.diag(m.covariance), 0.0), np.zeros_like(count))


def _largest(source: Source, run: Run) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return fold(columns, source, run).size


def frame_of(sample: Block, each: bool = False, origin: bool = True) -> Frame:
    """An origin among the rows, and a power of two that brings huge or tiny numbers into range.

    `origin=False` leaves zero where it is, for tables of which only the cells that are not zero are stored.
    """
    x, mask = sample.x, sample.mask
    count = max(len(x), 1) if mask is None else np.maximum(mask.sum(axis=0), 1)
    largest = np.abs(x).max(axis=0, initial=0.0)
    size = _powers(largest, True)
    shift = (x if (size == 1.0).all() else x * size).sum(axis=0) / count / size
    # differences of such numbers overflow, and so large a spread hides no digits
    shift[(largest > FAR) | (not origin)] = 0.0
    off = x - shift
    if mask is not None:
        off *= mask
    off = np.abs(off, out=off).max(axis=0, initial=0.0)
    varies = bool((off > 0.0).any())  # a single row shows no spread, only a size
    return Frame(shift, _powers(off if varies else largest, each), np.ones(len(shift)))


def _larger(frame: Frame, size: Array, each: bool) -> Frame:
    """The frame for a table whose largest cells were not in the sample."""
    return frame._replace(shift=np.where(size > FAR, 0.0, frame.shift), scale=_powers(size, each))


def _powers(size: Array, each: bool) -> Array:
    """Powers of two that bring these sizes near one, and 1 where they are moderate already."""
    size = size if each else np.full_like(size, size.max(initial=0.0))
    moderate = (size == 0.0) | ((size > 1.0 / MODERATE) & (size < MODERATE))
    return np.where(moderate, 1.0, 2.0 ** -np.clip(np.frexp(size)[1], -1000, 1000))


def check_columns(source: Source, cols: Columns, frame: Frame) -> None:
    """Every message about columns and rows as a whole."""
    names = source.columns
    if cols.n == 0 or source.n == 0:
        raise error("LD160", n=source.n, least=2)
    empty = np.flatnonzero(cols.seen == 0)
    if len(empty):
        where = "" if len(empty) == 1 else f"and {len(empty) - 1} more: {[names[j] for j in empty[1:6]]}"
        raise error("LD120", where, column=names[empty[0]])
    if cols.empty:
        warn("LD121", count=f"{cols.empty:g}", n=f"{cols.n:g}")
    sd = np.sqrt(cols.variance)
    varies = sd > 0
    if not varies.any():
        warn("LD133")
        return
    quantum = EPS * np.abs(frame.shift * frame.scale + cols.mean)
    share = np.where(varies, quantum / np.where(varies, sd, 1.0), 0.0)
    for j in np.flatnonzero(share > COARSE)[:5]:
        warn("LD153", column=names[j], digits=max(0, int(-np.log10(share[j]))))


def standardized(whole: Look, source: Source, ddof: int = 1) -> Look:
    """The same look in units of each column's spread (divisor n - ddof), with no second pass."""
    cols, names = whole.columns, whole.names
    n = np.maximum(cols.seen, 2.0)
    sd = np.sqrt(cols.scatter / (n - ddof))
    floor = 16 * EPS * np.abs(whole.frame.shift * whole.frame.scale + cols.mean)  # rounding, not spread
    constant = sd <= floor
    for j in np.flatnonzero(constant)[:5]:
        warn("LD130", column=names[j])
    sd = np.where(constant, 1.0, sd)
    small = np.flatnonzero(sd < whole.frame.scale / LARGEST)
    if len(small):
        raise error("LD155", column=names[small[0]], sd=f"{sd[small[0]] / whole.frame.scale[small[0]]:.1e}")
    frame = Frame(whole.frame.shift, whole.frame.scale / sd, sd / whole.frame.scale)
    scaled = cols._replace(mean=cols.mean / sd, scatter=cols.scatter / sd**2)
    m, p = whole.moments, whole.pairs
    if m is not None:
        m = m._replace(mean=m.mean / sd, covariance=m.covariance / np.outer(sd, sd))
    if p is not None:
        p = p._replace(total=p.total / sd[:, None], product=p.product / np.outer(sd, sd))
    return Look(frame, Framed(source, frame), scaled, m, p, whole.passes)


def warn_spread(whole: Look) -> None:
    """Say so where one column's unit decides every axis."""
    sd: Array = np.sqrt(whole.columns.variance)
    names, some = whole.names, np.flatnonzero(sd > 0)
    if len(some) > 1:
        small, large = some[np.argmin(sd[some])], some[np.argmax(sd[some])]
        if sd[large] > SPREAD * sd[small]:
            warn("LD154", factor=f"{sd[large] / sd[small]:.0e}", small=names[small], large=names[large])


def check_pairs(seen: Look) -> None:
    """Say so where two columns are never seen in the same row."""
    if seen.pairs is None:
        return
    apart = np.argwhere(np.tril(seen.pairs.seen == 0, -1))
    if len(apart):
        j, k = apart[0]
        warn("LD162", count=len(apart), first=seen.names[k], second=seen.names[j])
