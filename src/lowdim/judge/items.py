"""Columns as the items of a scale: are they worth factors, and how surely does their sum measure one?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import fdtri

from lowdim.engine.statistics import Moments
from lowdim.maths.factor import maximum_likelihood
from lowdim.maths.factor_fit import SamplingAdequacy, sampling_adequacy
from lowdim.maths.linalg import Array, Mask, moderate_factor
from lowdim.maths.seeds import BOOTSTRAP
from lowdim.models.linear.factor_analysis import check_covariance
from lowdim.sources.arrays import as_source
from lowdim.sources.views import gather
from lowdim.text.messages import check_level, error

RESAMPLINGS = 300  # of rows, for the interval of omega


class Reliability(NamedTuple):
    """How surely the sum of some columns measures what they share."""

    alpha: float
    alpha_interval: tuple[float, float]
    omega: float
    omega_interval: tuple[float, float]
    level: float

    def text(self) -> str:
        """Both in a line each."""
        kinds = (("alpha", self.alpha, self.alpha_interval), ("omega", self.omega, self.omega_interval))
        return "\n".join(
            f"{name}  {v:.3f}  ({self.level:.0%} {low:.3f} to {high:.3f})" for name, v, (low, high) in kinds
        )


def factorability(X: Any) -> SamplingAdequacy:
    """Are the columns of a table worth factors? Kaiser, Meyer and Olkin's measure and Bartlett's test of sphericity.

    Parameters
    ----------
    X : table of numbers, missing values welcome, or Moments
        Of columns with missing values the correlation of each pair is that of the rows that have both.

    Returns
    -------
    SamplingAdequacy
        `kmo` (below .5: not worth it; above .8: well worth it) and `kmo_columns`, and the test's `chi_square`, `dof`
        and `p_value`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) + rng.standard_normal((200, 6))
    >>> factorability(X).kmo > 0.8, factorability(rng.standard_normal((200, 6))).kmo < 0.6
    (True, True)
    """
    if isinstance(X, Moments):
        C, n = check_covariance(X), float(X.n)
        sd = np.sqrt(np.diag(C))
        return sampling_adequacy(C / np.outer(sd, sd), n)
    x, mask, names = _cells(X)
    return sampling_adequacy(_pairwise(x, mask, names, correlations=True), float(len(x)))


def reliability(X: Any, *, level: float = 0.95, random_state: int = 0) -> Reliability:
    r"""How surely the sum of a table's columns, the items of one scale, measures what they share.

    alpha = d / (d - 1) (1 - sum of the variances / variance of the sum), with Feldt's interval;
    omega = (sum lambda)^2 / ((sum lambda)^2 + sum psi) of the one-factor model, with an interval by rows drawn again.
    Items must point one way: turn those that are asked the other way round.

    Parameters
    ----------
    X : table of numbers with at least 3 columns, missing values welcome
    level : float, default 0.95
        Level of the intervals.
    random_state : int, default 0
        Of the rows that are drawn again.

    Returns
    -------
    Reliability

    References
    ----------
    L. S. Feldt (1965), Psychometrika 30, 357-370. R. P. McDonald (1999), Test Theory, Erlbaum.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scale = reliability(rng.standard_normal((400, 1)) + rng.standard_normal((400, 4)))
    >>> abs(scale.alpha - 0.8) < 0.03, abs(scale.omega - 0.8) < 0.03
    (True, True)
    """
    check_level(level, "level")
    x, mask, names = _cells(X)
    C, n = _pairwise(x, mask, names), len(x)
    d = len(C)
    if d < 3:
        raise error("LD207", d=d)
    alpha, tails = _alpha(C), ((1 + level) / 2, (1 - level) / 2)
    ends = [1.0 - (1.0 - alpha) * float(fdtri(n - 1.0, (n - 1.0) * (d - 1.0), tail)) for tail in tails]
    rng = np.random.default_rng([random_state, BOOTSTRAP])
    drawn = []
    for _ in range(RESAMPLINGS):
        rows = rng.integers(n, size=n)
        again = _pairwise(x[rows], None if mask is None else mask[rows])
        if (np.diag(again) > 0).all():  # a column of few values may have one only
            drawn.append(_omega(again))
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2]) if drawn else (0.0, 1.0)
    return Reliability(alpha, (ends[0], ends[1]), _omega(C), (float(low), float(high)), level)


def _alpha(C: Array) -> float:
    """Cronbach's alpha of a covariance."""
    d, total = len(C), float(C.sum())
    return d / (d - 1) * (1.0 - float(np.trace(C)) / total) if total > 0 else 0.0


def _omega(C: Array) -> float:
    """McDonald's omega, by one factor of the correlations, of the sum in the columns' own units."""
    sd = np.sqrt(np.diag(C))
    fit = maximum_likelihood(np.clip(C / np.outer(sd, sd), -1.0, 1.0), 1)
    shared = float((fit.loadings[:, 0] * sd).sum()) ** 2
    return shared / (shared + float((fit.uniquenesses * sd**2).sum()))


def _cells(X: Any) -> tuple[Array, Mask | None, tuple[str, ...]]:
    """The cells of a table, in a moderate unit, and which are seen."""
    source = as_source(X)
    if source.n < 3:
        raise error("LD160", n=source.n, least=3)
    x, mask = gather(source)
    return x * moderate_factor(x), mask, source.columns


def _pairwise(x: Array, mask: Mask | None, names: tuple[str, ...] = (), correlations: bool = False) -> Array:
    """Covariances or correlations, each of the rows that have both columns; with names, a column that does not vary is
    refused."""
    seen = np.ones(x.shape) if mask is None else mask.astype(np.float64)
    shift = np.where(seen > 0, x, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1.0)
    z = np.where(seen > 0, x - shift, 0.0)
    n = np.maximum(seen.T @ seen, 1.0)
    sums = z.T @ seen  # of column i in the rows that have j
    C = (z.T @ z - sums * sums.T / n) / np.maximum(n - 1.0, 1.0)
    flat = np.flatnonzero(~(np.diag(C) > 0.0))
    if len(flat) and names:
        raise error("LD131", column=names[flat[0]])
    if not correlations:
        return np.asarray(C)
    V = ((z * z).T @ seen - sums**2 / n) / np.maximum(n - 1.0, 1.0)  # of column i in the rows that have j
    size = np.sqrt(np.maximum(V * V.T, np.finfo(float).tiny))
    R = np.clip(C / size, -1.0, 1.0)
    np.fill_diagonal(R, 1.0)
    return R
