"""The Gaussian by which the cells of a table are judged: as sharp as the fills' straight model, not the map's few axes.

A map of two axes leaves most of what columns tell of each other to its noise. The fills' linear model does not: all
directions together where there are rows enough, else those that variational Bayesian PCA finds use for. Cells far from
what the others of their row say would bend it, so they are left out of its fit: those beyond a cut that is set by the
centre of their column, where less than one such cell in the whole table is expected. Such cells of any row, of a new
one too, are left out when its others are judged (`cells.kept_cells`). Who is left out here is not called wrong by it:
the law of all cells says so, or not (`partition.bulk_law`).
"""

from __future__ import annotations

import numpy as np

from lowdim.judge.cells import FramedGaussian, given_others, kept_by
from lowdim.judge.fills.engines.linear import VariationalPCA, WholeGaussian
from lowdim.judge.fills.engines.offered import most_dimensions, takes_whole
from lowdim.judge.outliers.law import as_counted, centre_cut
from lowdim.judge.outliers.outlyingness import robust_units
from lowdim.judge.row_order import row_order
from lowdim.maths.linalg import Array, Mask, centre_and_spread, moderate_scale
from lowdim.sources.source import Block
from lowdim.sources.views import Frame

JUDGE_CELLS = 60_000  # of a table that the fit sees: more of them do not sharpen it
MOST_JUDGED_COLUMNS = 300  # of wider tables the map's axes are as many as can be told from noise
LEAST_JUDGED_ROWS = 20  # as few rows as set a law
ROUNDS = 5  # of fit and screening; most tables are still after three
WIDE_CELL = 6.0  # robust units beyond which a cell has no part in the first fit,
WIDE_SHARE = 0.05  # unless so many of its column do
LEAST_NOISE = 1e-8  # of a column's variance


def sharp_gaussian(x: Array, seen: Mask) -> FramedGaussian | None:
    """The straight model of fills for these cells; none where a table is too small or too wide for one."""
    shown = np.where(seen, x, np.nan)
    rows = np.flatnonzero(seen.any(axis=1))
    n, d = len(rows), x.shape[1]
    if n < LEAST_JUDGED_ROWS or not 2 <= d <= MOST_JUDGED_COLUMNS or not seen.any(axis=0).all():
        return None
    if n * d > JUDGE_CELLS:
        rows = rows[row_order(x[rows], seen[rows], 0)[: JUDGE_CELLS // d]]
        if not seen[rows].any(axis=0).all():
            return None
    scale = moderate_scale(np.abs(np.where(seen[rows], x[rows], 0.0)).max(axis=0, initial=0.0))
    shift, spread = centre_and_spread(shown[rows] * scale)
    frame = Frame(shift / scale, scale / spread, np.ones(d))
    z = (shown[rows] * scale - shift) / spread
    if takes_whole(len(z), d):
        whole = WholeGaussian(z).part  # in units of the columns' spread already
        # a covariance is W W' + psi I with all axes but one, psi its least eigenvalue
        values, U = np.linalg.eigh(whole.C)
        least = max(float(values[0]), LEAST_NOISE)
        W, mu, psi = U[:, 1:] * np.sqrt(np.maximum(values[1:] - least, 0.0)), whole.mu, np.full(d, least)
    else:
        b = VariationalPCA(z, most_dimensions(len(z), d)).beliefs
        W, mu, psi = b.W, b.mu, np.full(d, b.psi)
    return FramedGaussian(W, mu, psi, psi, np.ones(d), frame, None)


def cell_judge(
    x: Array, mask: Mask, kept: Mask, counts: tuple[Array, ...], far: Mask
) -> tuple[FramedGaussian, Array] | None:
    """The Gaussian that judges the cells of a table, and the cut of each column beyond which a cell has no part in its
    fit. Rows that are `far` and, at first, cells that are not `kept` have none either; levels (`counts`) are never
    left out."""
    y = as_counted(x, counts)
    levels = np.array([places.size > 0 for places in counts], dtype=bool)
    inner = kept & ~far[:, None]
    centre, unit = robust_units(y, inner)
    wide = inner & (np.abs(y - centre) > WIDE_CELL * unit) & ~levels
    keep = kept & ~(wide & (wide.sum(axis=0) <= WIDE_SHARE * inner.sum(axis=0)))
    found = None
    for _ in range(ROUNDS):
        judge = sharp_gaussian(y, keep & ~far[:, None])
        if judge is None:
            return None
        z = judge.inward(Block(np.where(mask, y, 0.0), mask)).x
        cut = centre_cut(given_others(judge, z, mask, keep).surprise, inner, levels)
        found, before, keep = (judge, cut), keep, kept_by(judge, z, mask, cut)
        if np.array_equal(keep, before):
            break
    return found
