"""The table that every judge of dimensions looks at: centred, in units of each column's spread where asked, constant
columns left out, in memory; and its columns as normal scores, so that no tail, unit or skewness of a single column
decides how many are shared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from lowdim.engine.fold import Run
from lowdim.judge.row_order import column_order, row_order
from lowdim.maths.linalg import Array, Mask
from lowdim.maths.seeds import EVIDENCE_SAMPLE
from lowdim.models.base.survey import survey_table
from lowdim.sources.arrays import ArraySource, as_source
from lowdim.sources.views import gather
from lowdim.text.messages import error, warn

JUDGED_CELLS = 2**18  # of larger tables some rows are judged: a quarter million cells decide any q worth having
ORDERED_CELLS = 2**24  # of a table that is gathered to be put in order, 128 MB


class JuryTable(NamedTuple):
    """A table as the judges see it; gaps hold 0.0."""

    x: Array  # n x d, columns centred on their seen cells
    mask: Mask | None  # None = complete
    n: int
    d: int
    sampled: int  # rows of the whole table where only some were drawn, else 0
    came: NDArray[np.intp]  # where each column of the table as it came stands here

    @property
    def seen(self) -> int:
        return self.n * self.d if self.mask is None else int(self.mask.sum())

    def rows_of(self, keep: Mask) -> JuryTable:
        """Some of the rows, their columns centred again."""
        x, mask = self.x[keep], None if self.mask is None else self.mask[keep]
        seen = np.full(self.d, float(len(x))) if mask is None else np.maximum(mask.sum(axis=0), 1.0)
        x = x - x.sum(axis=0) / seen
        return self._replace(x=x if mask is None else x * mask, mask=mask, n=len(x))

    @property
    def complete(self) -> Array:
        """The complete rows."""
        return self.x if self.mask is None else self.x[self.mask.all(axis=1)]

    @property
    def shares(self) -> Array:
        """The variance of each column over the mean of them: what its errors count."""
        variance = (self.x**2).sum(axis=0) / (self.n if self.mask is None else np.maximum(self.mask.sum(axis=0), 1))
        return np.asarray(variance / max(float(variance.mean()), 1e-300))


def jury_table(X: Any, *, standardize: bool, seed: int) -> JuryTable:
    """A table made ready: checked, in an order of its own, sampled where huge, constant columns set aside, centred."""
    source = as_source(X)
    if source.n < 3:
        raise error("LD160", n=source.n, least=3)
    if source.weight is not None:
        warn("LD231")
    # The rows in an order that their cells set, the first of them where the table is too large to be judged whole; of a
    # table that is hardly to be held in memory, rows drawn by the seed.
    most = max(JUDGED_CELLS // source.d, 1000)
    if source.n * source.d <= ORDERED_CELLS:
        x, mask = gather(source)
    else:
        block = source.sample(most, np.random.default_rng([seed, EVIDENCE_SAMPLE]))
        x, mask = block.x, block.mask
    order = row_order(x, mask, seed)[:most]
    judged = ArraySource(x[order], None if mask is None else mask[order], columns=source.columns)
    # In the columns' units, centred, gaps at 0.
    seen = survey_table(judged, Run(), standardize=standardize, wide=True, units_matter=False)
    x, mask = gather(seen.source)
    x -= seen.columns.mean
    if mask is not None:
        x[~mask] = 0.0
    varies = seen.columns.variance > 0.0
    if not varies.all():
        x, mask = x[:, varies], None if mask is None else mask[:, varies]
    if mask is not None:
        kept = mask.any(axis=1)  # an empty row says nothing about the number of dimensions
        x, mask = x[kept], mask[kept]
        mask = None if mask.all() else mask
    # Columns in an order of their own too: judges draw numbers column by column.
    columns = column_order(x, seed)
    x, mask = x[:, columns], None if mask is None else mask[:, columns]
    sampled = source.n if source.n > judged.n else 0
    return JuryTable(np.ascontiguousarray(x), mask, len(x), x.shape[1], sampled, np.argsort(columns))


def normal_scores(x: Array, mask: Mask | None) -> Array:
    """Each cell as the normal quantile of its rank among the seen cells of its column, variance one; gaps are 0.

    The quantile of (r - 1/2)/m for the r-th of m seen cells; equal cells share their mean rank, so ties stay ties.

    References
    ----------
    Blom, Statistical Estimates and Transformed Beta-Variables, Wiley, 1958.

    Examples
    --------
    >>> normal_scores(np.array([[1.0], [10.0], [1e9]]), None).round(2).ravel().tolist()
    [-1.22, 0.0, 1.22]
    """
    if mask is None:
        scores = ndtri((rankdata(x, axis=0) - 0.5) / len(x))
    else:
        scores = np.zeros_like(x)
        for j in range(x.shape[1]):
            rows = np.flatnonzero(mask[:, j])
            scores[rows, j] = ndtri((rankdata(x[rows, j]) - 0.5) / max(len(rows), 1))
    return standardized(scores, mask)


def standardized(x: Array, mask: Mask | None) -> Array:
    """Columns with mean 0 and variance 1 over their seen cells; gaps are 0, a column without spread is 0."""
    seen = np.full(x.shape[1], float(len(x))) if mask is None else np.maximum(mask.sum(axis=0), 1.0)
    x = x - x.sum(axis=0) / seen
    if mask is not None:
        x *= mask
    sd = np.sqrt((x**2).sum(axis=0) / seen)
    return x / np.where(sd > 0.0, sd, 1.0)
