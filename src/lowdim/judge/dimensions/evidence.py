"""Evidence for a number of dimensions: BIC of factor analysis, Minka's Laplace evidence of principal axes.

Every judge of dimensions looks at the same `JuryTable`: centred, in units of each column's spread where asked, constant
columns left out, in memory.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fold import Run
from lowdim.judge.dimensions.factors import CovarianceForm, factor_ladder
from lowdim.judge.row_order import row_order
from lowdim.maths.linalg import Array, Mask
from lowdim.maths.seeds import EVIDENCE_SAMPLE
from lowdim.models.base.survey import survey_table
from lowdim.sources.arrays import ArraySource, as_source
from lowdim.sources.source import Source
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
    unit: Array  # what one unit of x is worth in the table's own: the columns' spreads where standardised
    sampled: int  # rows of the whole table where only some were drawn, else 0
    scores: Array | None = None  # n x d, columns as normal scores

    @property
    def seen(self) -> int:
        return self.n * self.d if self.mask is None else int(self.mask.sum())

    @property
    def rows(self) -> float:
        """The number of complete rows that would hold as many cells."""
        return self.seen / max(self.d, 1)

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


def jury_table(X: Any, *, standardize: bool, seed: int) -> JuryTable:
    """A table made ready: checked, in an order of its own, sampled where huge, constant columns set aside, centred."""
    source = as_source(X)
    if source.n < 3:
        raise error("LD160", n=source.n, least=3)
    n, source = source.n, _in_own_order(source, seed)
    seen = survey_table(source, Run(), standardize=standardize, wide=True, units_matter=False)
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
    unit = seen.frame.unit[varies]
    return JuryTable(np.ascontiguousarray(x), mask, len(x), x.shape[1], unit, n if n > source.n else 0)


def _in_own_order(source: Source, seed: int) -> Source:
    """The rows in an order that their cells set, the first of them where the table is too large to be judged whole; of
    a table that is hardly to be held in memory, rows drawn by the seed."""
    if source.weight is not None:
        warn("LD231")
    most = max(JUDGED_CELLS // source.d, 1000)
    if source.n * source.d <= ORDERED_CELLS:
        x, mask = gather(source)
    else:
        block = source.sample(most, np.random.default_rng([seed, EVIDENCE_SAMPLE]))
        x, mask = block.x, block.mask
    order = row_order(x, mask, seed)[:most]
    return ArraySource(x[order], None if mask is None else mask[order], columns=source.columns)


def spectrum(x: Array) -> Array:
    """Eigenvalues (1/n) of the covariance of complete rows, falling; min(n - 1, d) of them at the most."""
    n, d = x.shape
    x = x - x.mean(axis=0)
    values = np.linalg.eigvalsh(x @ x.T if n < d else x.T @ x)[::-1] / n
    eigenvalues: Array = np.maximum(values[: min(n - 1, d)], 0.0)
    return eigenvalues


def log_likelihoods(values: Array, d: int, n: float, most: int) -> tuple[Array, Array]:
    """Maximum log-likelihood and noise variance of PPCA with 0..most dimensions, from the spectrum.

    log L = -n/2 (d log 2 pi + sum_{i<=q} log l_i + (d - q) log s2 + d),  s2 = sum_{i>q} l_i / (d - q).

    Reference: Tipping and Bishop (1999), eq. 7 at its maximum.
    """
    q = np.arange(most + 1)
    tails = np.append(np.cumsum(values[::-1])[::-1], 0.0)[: most + 1]
    s2 = tails / (d - q)
    logs = np.concatenate([[0.0], np.cumsum(np.log(values[:most]))])
    return -0.5 * n * (d * np.log(2 * np.pi) + logs + (d - q) * np.log(s2) + d), s2


# criteria --------------------------------------------------------------------------------------------


def factor_evidence(S: CovarianceForm, n: float, most: int, rng: np.random.Generator) -> Array:
    """Schwarz's criterion as a log evidence of factor analysis with 0, ..., `most` factors, n rows with covariance S.

    log L - (free numbers) / 2 log n: loadings up to a rotation, and a noise for each column.

    Reference: Lawley and Maxwell (1971), Factor Analysis as a Statistical Method; Schwarz (1978), Ann. Statist. 6.
    """
    fits = islice(factor_ladder(S, rng), most + 1)
    return np.array([f.log_likelihood(S, n) - 0.5 * free_numbers(len(f.psi), f.q) * float(np.log(n)) for f in fits])


def free_numbers(d: int, q: int) -> int:
    """Loadings up to a rotation and d noises: the free numbers of a covariance with q factors."""
    return d * q - q * (q - 1) // 2 + d


def weights(logs: Array) -> Array:
    """Log evidences as posterior weights under an even prior.

    >>> weights(np.log([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    w: Array = np.exp(logs - logs.max())
    return w / float(w.sum())
