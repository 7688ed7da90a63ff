"""The first look at a table: its frame, its columns, its gaps; one pass."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.data.block import Array, Block
from lowdim.data.source import Source
from lowdim.data.views import Frame, Framed
from lowdim.engine.fold import Run, fold
from lowdim.engine.merge import Columns, Moments, Pairs, Survey, columns, survey
from lowdim.math.linalg import EPS
from lowdim.messages import error, warn

SAMPLE = 256  # rows that set the origin; the mean of so many lies within sd/16 of the truth
MODERATE = 2.0**200  # sizes within 1/this .. this square and sum without leaving double precision
COARSE = 1e-6  # a column whose rounding unit exceeds this share of its spread is warned about
SPREAD = 1e8  # columns whose spreads differ by more are warned about


class Look(NamedTuple):
    """What one pass found out; all numbers in the frame's units."""

    frame: Frame
    source: Source  # seen through the frame
    columns: Columns
    moments: Moments | None  # where the table is complete and not wide
    pairs: Pairs | None  # where it has gaps and is not wide

    @property
    def gaps(self) -> bool:
        return self.columns.gaps

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.columns


def look(source: Source, run: Run, *, standardize: bool, wide: bool) -> Look:
    """Survey a table. A wide one is surveyed column by column, any other by pairs of columns."""
    frame = frame_of(source.sample(SAMPLE))
    found, cols = _survey(source, frame, run, wide)
    if not np.isfinite(cols.scatter).all():  # the sample missed the largest cells
        frame = frame._replace(scale=np.full(source.d, _power(_largest(source, run))))
        found, cols = _survey(source, frame, run, wide)
    check_columns(source, cols, frame)
    moments = None if found is None or cols.gaps else found.complete
    pairs = None if found is None or not cols.gaps else found.pairs()
    whole = Look(frame, Framed(source, frame), cols, moments, pairs)
    return _standardized(whole, source) if standardize else whole


def _survey(source: Source, frame: Frame, run: Run, wide: bool) -> tuple[Survey | None, Columns]:
    framed = Framed(source, frame)
    with np.errstate(over="ignore", invalid="ignore"):
        if wide:
            return None, fold(columns, framed, run)
        found = fold(survey, framed, run)
    parts = [] if found.columns is None else [found.columns]
    if found.complete is not None:
        m = found.complete
        count = np.full(len(m.mean), m.n)
        parts.append(Columns(m.n, 0.0, count, m.mean, m.n * np.maximum(np.diag(m.covariance), 0.0), 0.0))
    return found, parts[0] if len(parts) == 1 else parts[0].merge(parts[1])


def _largest(source: Source, run: Run) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return fold(columns, source, run).size


def frame_of(sample: Block) -> Frame:
    """An origin among the rows, and a power of two that brings huge or tiny numbers into range."""
    d = sample.x.shape[1]
    seen = np.ones_like(sample.x) if sample.mask is None else sample.mask.astype(float)
    count = np.maximum(seen.sum(axis=0), 1.0)
    size = _power(float(np.abs(sample.x).max(initial=0.0)))
    shift = (sample.x * size).sum(axis=0) / count / size
    off = float(np.abs((sample.x - shift) * seen).max(initial=0.0))
    return Frame(shift, np.full(d, _power(off)), np.ones(d))


def _power(size: float) -> float:
    """The power of two that brings this size near one, or 1 where it is moderate already."""
    if size == 0.0 or 1.0 / MODERATE < size < MODERATE:
        return 1.0
    return float(2.0 ** -np.clip(np.frexp(size)[1], -1000, 1000))


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


def _standardized(whole: Look, source: Source) -> Look:
    """The same look in units of each column's spread (n - 1), with no second pass."""
    cols, names = whole.columns, whole.names
    n = np.maximum(cols.seen, 2.0)
    sd = np.sqrt(cols.scatter / (n - 1.0))
    floor = 16 * EPS * np.abs(whole.frame.shift * whole.frame.scale + cols.mean)  # rounding, not spread
    constant = sd <= floor
    for j in np.flatnonzero(constant)[:5]:
        warn("LD130", column=names[j])
    sd = np.where(constant, 1.0, sd)
    frame = Frame(whole.frame.shift, whole.frame.scale / sd, sd / whole.frame.scale)
    scaled = cols._replace(mean=cols.mean / sd, scatter=cols.scatter / sd**2)
    m, p = whole.moments, whole.pairs
    if m is not None:
        m = m._replace(mean=m.mean / sd, covariance=m.covariance / np.outer(sd, sd))
    if p is not None:
        p = p._replace(total=p.total / sd[:, None], product=p.product / np.outer(sd, sd))
    return Look(frame, Framed(source, frame), scaled, m, p)


def warn_spread(whole: Look) -> None:
    """Say so where one column's unit decides every axis."""
    sd: Array = np.sqrt(whole.columns.variance)
    names, some = whole.names, np.flatnonzero(sd > 0)
    if len(some) > 1:
        small, large = some[np.argmin(sd[some])], some[np.argmax(sd[some])]
        if sd[large] > SPREAD * sd[small]:
            warn("LD154", factor=f"{sd[large] / sd[small]:.0e}", small=names[small], large=names[large])
