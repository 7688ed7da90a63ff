"""Squared distances between rows: how many independent columns would spread them as they are spread?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.dimensions.jury_table import JuryTable, jury_table
from lowdim.maths.linalg import Array
from lowdim.maths.seeds import DISTANCE_PAIRS
from lowdim.models.base.options import seed_of
from lowdim.text.messages import error

MOST_PAIRS = 2_000_000  # all pairs of 2000 rows; beyond, this many are drawn
HISTOGRAM_BINS = 60


class DistanceLaw(NamedTuple):
    """Squared distances a column between pairs of rows, beside the law of independent columns.

    `effective` tells spread, not the number of signals: three wide directions among ten columns that all
    vary give about 6.7. For Gaussian rows it is the participation ratio tr(C)^2 / tr(C^2).
    """

    mean: float
    variance: float
    effective: float  # 2 mean^2 / variance, the variance brought to no gaps
    columns: int  # columns that vary
    compared: float  # harmonic mean of the cells a pair compares: `columns` where there are no gaps
    gaussian_variance: float  # 8 sigma^4 / compared: independent Gaussian columns
    independent_variance: float  # 2 sigma^4 (kurtosis + 1) / compared: independent columns shaped like these
    pairs: int
    drawn: bool  # whether pairs (or rows) were drawn because there are too many
    counts: NDArray[np.intp]
    edges: Array

    @property
    def sentence(self) -> str:
        """One line for a person."""
        gaps = (
            ""
            if self.compared == self.columns
            else f" (gaps: each pair by the cells both rows have, {self.compared:.3g} on average)"
        )
        return (
            f"Distances look like about {self.effective:.2g} independent columns out of {self.columns}"
            f"{gaps}: a measure of spread, not the number of signals."
        )

    def gamma(self, at: Array, columns: float | None = None) -> Array:
        """Density of the gamma law for so many independent Gaussian columns (all of them by default).

        Shape k/2, mean that of the table: for k columns of variance s2 the mean is 2 s2, the variance 8 s2^2/k.
        """
        from scipy.stats import gamma

        k = self.compared if columns is None else columns
        return np.asarray(gamma.pdf(at, k / 2.0, scale=2.0 * self.mean / k))


def distance_law(X: Any, *, standardize: bool = True, pairs: int = MOST_PAIRS, random_state: Any = 0) -> DistanceLaw:
    """The law of squared distances between rows, divided by the number of columns.

    y_ij = 1/p sum_k (x_ik - x_jk)^2 over pairs i < j. Independent Gaussian columns: y ~ Gamma(p/2) with mean 2 s^2 and
    variance 8 s^4/p. Independent columns of any shape: (x - x')^2 has mean 2 s^2 and second moment 2 m4 + 6 s^4, so the
    variance is 2 s^4 (kurtosis + 1)/p, kurtosis = m4/s^4. More variance than that is dependence between columns:
    2 mean^2/variance columns would have it. Rows with gaps are compared over the cells both have, and p is that number.

    Parameters
    ----------
    X : table of n rows
        Gaps are allowed.
    standardize : bool, default=True
        Whether columns are brought to unit variance (n - 1).
    pairs : int, default=2_000_000
        Beyond so many pairs, so many are drawn.
    random_state : int, Generator, RandomState or None, default=0
        Draws the pairs; None is 0.

    Returns
    -------
    DistanceLaw
        `mean`, `variance`, `effective` columns, the variances of independent columns, a histogram (`counts`, `edges`),
        a `sentence` and the density `gamma(at)`.

    References
    ----------
    N. D. Lawrence (2012), Dimensionality Reduction for Machine Learning, manuscript, chapter 1, with the variance
    8 s^4/p (docs/sources.md).

    Examples
    --------
    >>> import numpy as np
    >>> law = distance_law(np.random.default_rng(0).standard_normal((300, 20)))
    >>> round(law.mean, 6), 18 < law.effective < 22
    (2.0, True)
    """
    if isinstance(pairs, bool) or not isinstance(pairs, int | np.integer) or pairs < 2:
        raise error("LD210", option="pairs", value=pairs, allowed="a whole number >= 2")
    seed = seed_of(random_state)
    t = jury_table(X, standardize=standardize, seed=seed)
    if t.d == 0:
        raise error(
            "LD163",
            "no column varies",
            job="the distance law",
            why="all distances are zero",
            fix="check that the right table was read",
        )
    law = law_of(t, seed, pairs=int(pairs))
    if law is None:
        raise error("LD161", "no two pairs of rows can be compared", seen=t.seen)
    return law


def law_of(t: JuryTable, seed: int, *, pairs: int = MOST_PAIRS, quick: bool = False) -> DistanceLaw | None:
    """The law of a table made ready; None where no two pairs of rows can be compared."""
    if quick and t.n * (t.n - 1) // 2 > pairs:  # all pairs of few rows are one product; drawn pairs are slower
        pairs //= 10
    drawn = t.n * (t.n - 1) // 2 > pairs
    y, cells = _drawn_pairs(t, pairs, seed) if drawn else _all_pairs(t)
    y, cells = y[cells > 0], cells[cells > 0]
    if len(y) < 2 or y.var() == 0.0:
        return None
    mean, variance = float(y.mean()), float(y.var(ddof=1))
    compared = float(t.d if t.mask is None else 1.0 / (1.0 / cells).mean())
    count = np.full(t.d, float(t.n)) if t.mask is None else t.mask.sum(axis=0)
    s2, m4 = (t.x**2).sum(axis=0) / (count - 1.0), (t.x**4).sum(axis=0) / count
    spread, shape = float((s2**2).mean()), float((m4 + s2**2).mean())
    # The variance without gaps. A mean over h of the p columns, drawn at random, has variance c + (v - c)/h with v a
    # single column's variance and c the mean covariance of two columns; c follows, and h becomes p.
    full = variance
    if 1.0 < compared < t.d:
        single = 2.0 * shape
        shared = (variance - single / compared) / (1.0 - 1.0 / compared)
        full = max(shared + (single - shared) / t.d, variance * compared / t.d)
    low, high = float(y.min()), float(y.max())
    room = 1e-9 * high if high - low < 1e-9 * high else 0.0  # rows of a simplex are all equally far, to the last digits
    counts, edges = np.histogram(y, bins=HISTOGRAM_BINS, range=(low - room, high + room))
    return DistanceLaw(
        mean,
        variance,
        effective=2.0 * mean**2 / full,
        columns=t.d,
        compared=compared,
        gaussian_variance=8.0 * spread / compared,
        independent_variance=2.0 * shape / compared,
        pairs=len(y),
        drawn=drawn or t.sampled > 0,
        counts=counts,
        edges=edges,
    )


def _all_pairs(t: JuryTable) -> tuple[Array, Array]:
    """Every pair i < j: mean squared difference over the cells both rows have, and their number."""
    m = np.ones_like(t.x) if t.mask is None else t.mask.astype(np.float64)
    upper = np.triu_indices(t.n, 1)
    squares = (t.x**2) @ m.T
    total = squares + squares.T - 2.0 * (t.x @ t.x.T)
    cells = (m @ m.T)[upper]
    return np.maximum(total[upper], 0.0) / np.maximum(cells, 1.0), cells


def _drawn_pairs(t: JuryTable, pairs: int, seed: int) -> tuple[Array, Array]:
    """Shuffled rows beside themselves moved on by drawn distances: each pair at most once."""
    rng = np.random.default_rng([seed, DISTANCE_PAIRS])
    order = rng.permutation(t.n)
    x, m = t.x[order], None if t.mask is None else t.mask[order]
    half = (t.n - 1) // 2  # moving on by s and by n - s would give the same pairs
    steps = rng.choice(half, size=min(-(-pairs // t.n), half), replace=False) + 1
    parts = []
    for s in steps:
        off = (x - np.roll(x, s, axis=0)) ** 2
        both = None if m is None else m & np.roll(m, s, axis=0)
        cells = np.full(t.n, float(t.d)) if both is None else both.sum(axis=1).astype(np.float64)
        parts.append((off.sum(axis=1) if both is None else (off * both).sum(axis=1), cells))
    total, cells = (np.concatenate(p)[:pairs] for p in zip(*parts, strict=True))
    return total / np.maximum(cells, 1.0), cells
