"""The first pass over a table: its frame, its columns, its gaps."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from lowdim.engine.fold import Run, fold
from lowdim.engine.statistics import Columns, Moments, Pairs, columns, stored_columns, survey_block, survey_stored_block
from lowdim.maths.linalg import EPS, LARGEST, Array, largest, moderate_scale
from lowdim.sources.source import Source
from lowdim.sources.views import FAR_FROM_ZERO, FRAME_ROWS, Frame, Framed, Stored, frame_of, gather
from lowdim.text.messages import error, warn

COARSE_ROUNDING = 1e-6  # a column whose rounding unit exceeds this share of its spread is warned about
LARGE_ORDER = 2048  # from this order on, k eigenpairs come cheaper by Krylov than by a full factorisation
SPREAD_RATIO = 1e8  # columns whose spreads differ by more are warned about


class TableSurvey(NamedTuple):
    """What the first pass found; all numbers in the frame's units."""

    frame: Frame
    source: Source  # the table in the frame
    columns: Columns
    moments: Moments | None  # where the table is complete and not wide
    pairs: Pairs | None  # where it has gaps and is not wide
    passes: int = 1
    gaps: bool = False  # whether cells are missing
    gathered: int = 0  # 1 where the table is wide and has to be gathered for a start: a pass more

    @property
    def stored(self) -> Source | None:
        """The stored cells of a sparse table, in the frame."""
        if isinstance(self.source, Framed) and self.source.is_sparse:
            return Stored(self.source.source, self.frame)
        return None


def is_wide(n: int, d: int) -> bool:
    """Whether d x d matrices are to be avoided."""
    return d > n or min(n, d) > LARGE_ORDER


def survey_table(
    source: Source,
    run: Run,
    *,
    standardize: bool = False,
    wide: bool | None = None,
    each: bool = False,
    ddof: int = 1,
    units_matter: bool = True,
    pairs_matter: bool = True,
) -> TableSurvey:
    """Survey a table, and warn of what it finds. A wide one is surveyed column by column, others by pairs of columns.

    `each=True` lets every column have a scale of its own, for models that do not mind. `units_matter` and
    `pairs_matter` say whether units, or correlations of columns, are anything to the model.
    """
    each = each or standardize
    wide = is_wide(source.n, source.d) if wide is None else wide
    # A few hundred spread rows set the frame: near enough to the columns' means for sums that cancel nothing.
    frame = frame_of(source.sample(FRAME_ROWS), each, origin=not source.is_sparse)
    passes, blocks = 1, None
    while True:
        # One pass in the frame: statistics of the columns, and of pairs of them where the table is not wide.
        rows = Stored(source, frame) if source.is_sparse else Framed(source, frame)
        with np.errstate(over="ignore", invalid="ignore"):
            if wide:
                cols = fold(stored_columns if source.is_sparse else columns, rows, run)
            else:
                blocks = fold(survey_stored_block if source.is_sparse else survey_block, rows, run)
                parts = [] if blocks.columns is None else [blocks.columns]
                if blocks.complete is not None and not source.is_sparse:
                    parts.append(columns_of(blocks.complete))
                cols = reduce(Columns.merge, parts)
            if passes > 1 or np.isfinite(cols.scatter).all():
                break
            # The sample missed the largest cells: they are looked for, and the table is walked again in their unit.
            size = fold(columns, source, run).size
        shift = np.where(size > FAR_FROM_ZERO, 0.0, frame.shift)
        frame = frame._replace(shift=shift, scale=moderate_scale(size, together=not each))
        passes = 3
    moments = None if blocks is None or cols.holes else blocks.complete
    pairs = None if blocks is None or not cols.holes else blocks.pairs()
    survey = TableSurvey(frame, Framed(source, frame), cols, moments, pairs, passes, cols.holes > 0, int(wide))
    check_columns(survey, units_matter and not standardize, pairs_matter)
    return standardized(survey, source, ddof) if standardize else survey


def columns_of(m: Moments) -> Columns:
    """The column statistics that moments hold; the sizes stay unknown."""
    count = np.full(len(m.mean), m.n)
    return Columns(m.n, 0.0, count, m.mean, m.n * np.maximum(np.diag(m.covariance), 0.0), np.zeros_like(count))


def check_columns(survey: TableSurvey, units_matter: bool, pairs_matter: bool) -> None:
    """Every message about the columns and rows of a survey: empty ones, their rounding, their pairs, their units."""
    cols, names = survey.columns, survey.source.columns
    if cols.n == 0 or survey.source.n == 0:
        raise error("LD160", n=survey.source.n, least=2)
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
    quantum = EPS * np.abs(survey.frame.shift * survey.frame.scale + cols.mean)
    share = np.where(varies, quantum / np.where(varies, sd, 1.0), 0.0)
    for j in np.flatnonzero(share > COARSE_ROUNDING)[:5]:
        warn("LD153", column=names[j], digits=max(0, int(-np.log10(share[j]))))
    if survey.pairs is not None and pairs_matter:  # are two columns never seen in the same row?
        disjoint = np.argwhere(np.tril(survey.pairs.seen == 0, -1))
        if len(disjoint):
            j, k = disjoint[0]
            warn("LD162", count=len(disjoint), first=names[k], second=names[j])
    if units_matter:  # does one column's unit decide every axis?
        varying = np.flatnonzero(varies)
        small, large = varying[np.argmin(sd[varying])], varying[np.argmax(sd[varying])]
        if sd[large] > SPREAD_RATIO * sd[small]:
            warn("LD154", factor=f"{sd[large] / sd[small]:.0e}", small=names[small], large=names[large])


def standardized(survey: TableSurvey, source: Source, ddof: int = 1, note: str = "LD130") -> TableSurvey:
    """The same survey in units of each column's spread (divisor n - ddof), with no second pass."""
    cols, names = survey.columns, survey.source.columns
    n = np.maximum(cols.seen, 2.0)
    sd = np.sqrt(cols.scatter / (n - ddof))
    floor = 16 * EPS * np.abs(survey.frame.shift * survey.frame.scale + cols.mean)  # rounding, not spread
    constant = sd <= floor
    for j in np.flatnonzero(constant)[:5]:
        warn(note, column=names[j])
    sd = np.where(constant, 1.0, sd)
    small = np.flatnonzero(sd < survey.frame.scale / LARGEST)
    if len(small):
        raise error("LD155", column=names[small[0]], sd=f"{sd[small[0]] / survey.frame.scale[small[0]]:.1e}")
    frame = Frame(survey.frame.shift, survey.frame.scale / sd, survey.frame.lengths(sd))
    scaled = cols._replace(mean=cols.mean / sd, scatter=cols.scatter / sd**2)
    m, p = survey.moments, survey.pairs
    if m is not None:
        m = m._replace(mean=m.mean / sd, covariance=m.covariance / np.outer(sd, sd))
    if p is not None:
        p = p._replace(total=p.total / sd[:, None], product=p.product / np.outer(sd, sd))
    return survey._replace(frame=frame, source=Framed(source, frame), columns=scaled, moments=m, pairs=p)


def first_axes(survey: TableSurvey, q: int) -> tuple[Array, Array]:
    """Leading eigenpairs of what the survey found; of the zero-filled table where it is wide."""
    if survey.pairs is not None:
        return largest(survey.pairs.covariance(), q)
    if survey.moments is not None:
        return largest(survey.moments.covariance, q)
    # A wide table: its gaps sit on their column's mean, and the smaller side is solved.
    X, mask = gather(survey.source)
    X -= survey.columns.mean
    if mask is not None:
        X *= mask
    if survey.source.weight is not None:
        X *= np.sqrt(survey.source.weight)[:, None]
    if len(X) > X.shape[1]:
        values, V = largest(X.T @ X, q)
    else:
        values, U = largest(X @ X.T, min(q, len(X)))
        V = np.linalg.qr(X.T @ U)[0]
    if q > V.shape[1]:
        V = np.hstack([V, np.zeros((len(V), q - V.shape[1]))])
        values = np.concatenate([values, np.zeros(q - len(values))])
    return values / survey.columns.seen.mean(), V
