"""Uneven noise: where one noise for all columns asks for too many dimensions, factor analysis is asked."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from lowdim.engine.statistics import Moments
from lowdim.judge.dimensions.evidence import JuryTable, bic, falling, one_log_likelihood, quick_look, weights
from lowdim.judge.dimensions.heldout import FOLD_TOL, Folds, HeldOutDensity
from lowdim.math.factor import maximum_likelihood, most_factors
from lowdim.math.linalg import Array
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.factor_analysis import LOWEST, FactorAnalysis, log_likelihood
from lowdim.models.linear.parameters import Linear, excess
from lowdim.sources.source import Block
from lowdim.text.messages import LowdimWarning

MOST_COLUMNS = 60  # more are not asked about: the search for factors takes seconds a number there
FITTED_CELLS = 1e5  # seen cells of a table with gaps that are fitted; rows are drawn evenly from larger ones
FACTOR_PASSES = 100  # the most a fit may take, and
FOLD_PASSES = 20  # one to a fold: its start is nearly as good (airquality, wisconsin: the third digit moves)
FACTOR_TOL = 0.1  # nats in all that a fit may miss: votes turn on whole ones
EQUAL_NATS = 1.0  # nats within which two models are as good; the one with fewer dimensions is then preferred


class FactorEvidence(NamedTuple):
    """Factor analysis where it explains a table as well as even noise does, with fewer dimensions."""

    bic: Array  # for 0, 1, ... factors
    gain: float  # nats of BIC over the best fit with even noise
    even: int  # dimensions that even noise would need
    rows: int  # rows that were fitted

    @property
    def q(self) -> int:
        return int(np.argmax(self.bic))

    @property
    def weights(self) -> Array:
        return weights(self.bic)


def ask(t: JuryTable, even: int, *, standardized: bool) -> FactorEvidence | None:
    """Factor analysis with fewer than `even` dimensions, if its evidence is no less than that of even noise.

    BIC of Sigma = W W' + Psi, Psi diagonal, d q - q (q - 1)/2 + d numbers and the mean, against PPCA's. A table
    divided by its columns' spreads has d - 1 more numbers fitted, as `own_units` counts them; no covariance has
    more than d (d + 1)/2. Noise from 0.2 to 2 in 8 columns with 2 dimensions, 200 rows: PPCA's judges say 5 to 7
    in all of 50 tables, this one 2 in all.

    Reference: Lawley and Maxwell (1971); Schwarz (1978).
    """
    top = min(even, most_factors(t.d))
    if t.n <= t.d or t.d > MOST_COLUMNS:
        return None
    small = thinned(t)
    charged = min((t.d - 1) * standardized, max(t.d * (t.d + 1) // 2 - numbers(t.d, even) - 1 + t.d, 0))
    best = bic(one_log_likelihood(small, even), t.d, even, small.rows) - 0.5 * charged * float(np.log(small.rows))
    found: list[float] = []
    for q in range(top + 1):
        found.append(factor_log_likelihood(small, q) - 0.5 * (numbers(t.d, q) + t.d) * float(np.log(small.rows)))
        if falling(np.array(found)):
            break
    factors = FactorEvidence(np.array(found), max(found) - best, even, small.n)
    return factors if factors.gain > -EQUAL_NATS and factors.q < even else None


def numbers(d: int, q: int) -> int:
    """Loadings up to a rotation and d noises: the free numbers of a covariance with q factors."""
    return d * q - q * (q - 1) // 2 + d


def thinned(t: JuryTable) -> JuryTable:
    """The table, or rows spread evenly over it where gaps make a large one slow."""
    if t.mask is None or t.seen <= FITTED_CELLS:
        return t
    rows = np.linspace(0, t.n - 1, int(FITTED_CELLS * t.n / t.seen)).astype(int)
    return t._replace(x=t.x[rows], mask=t.mask[rows], n=len(rows))


def factor_log_likelihood(t: JuryTable, q: int) -> float:
    """The maximum log-likelihood of factor analysis with q factors: exact, or by EM where there are gaps."""
    if t.mask is not None:
        return _by_em(quick_look(Block(t.x, t.mask)), q, FACTOR_TOL, FACTOR_PASSES)[1]
    C = np.cov(t.x.T, bias=True)
    sd = np.sqrt(np.diag(C))
    found = maximum_likelihood(C / np.outer(sd, sd), q, lower=LOWEST)
    return log_likelihood(Moments(t.n, np.zeros(t.d), C), found.loadings * sd[:, None], found.uniquenesses * sd**2)


def factor_fit(seen: TableSurvey, q: int) -> Linear:
    """Factors of a table with hidden cells, a noise for every column."""
    return _by_em(seen, q, FOLD_TOL, FOLD_PASSES)[0]


def _by_em(seen: TableSurvey, q: int, tol: float, passes: int) -> tuple[Linear, float]:
    enough = max(tol, 1e-6 * float(seen.columns.seen.sum()))
    model = FactorAnalysis(q, tol=enough / seen.source.total, max_iter=passes)
    with warnings.catch_warnings():  # how a q that nobody will use converges is not the reader's business
        warnings.simplefilter("ignore", LowdimWarning)
        fit = model.fit_from(_start(seen, q), seen.source)
    return fit.params, fit.objective


def _start(seen: TableSurvey, q: int) -> Linear:
    """Factors of the pairwise correlations, from one start: poorer optima are left to the other folds."""
    assert seen.pairs is not None
    variance = np.maximum(seen.columns.variance, 1e-12)  # a column that only varies in hidden cells
    sd = np.sqrt(variance)
    R = np.clip(seen.pairs.covariance() / np.outer(sd, sd), -1.0, 1.0)
    np.fill_diagonal(R, 0.0)
    alone = np.clip(1.0 - (R**2).max(axis=1), 0.05, 1.0)  # what the nearest column leaves
    found = maximum_likelihood(R + np.eye(len(R)), q, lower=LOWEST, start=alone)
    psi = np.maximum(found.uniquenesses, 10 * LOWEST) * variance
    return Linear(
        found.loadings * sd[:, None],
        seen.columns.mean,
        psi,
        np.eye(q),
        np.zeros((len(R), 1)),
        LOWEST * variance,
        excess(seen.columns.seen, q),
    )


def hidden_cells(
    t: JuryTable, even: HeldOutDensity | None, found: FactorEvidence, folds: int | None, seed: int
) -> HeldOutDensity | None:
    """The hidden cells under factors, or under even noise where that clearly predicts them better.

    Factors follow a column that another one nearly repeats; with heavy tails they then predict worse (sleep).
    """
    if even is None:
        return None
    cells = Folds(t, folds, seed, fit=factor_fit)
    for q in range(len(found.bic)):
        uneven = cells.next()
        if q > found.q and falling(uneven.means()):
            break
    return even if even.clearly_better(uneven) else uneven
