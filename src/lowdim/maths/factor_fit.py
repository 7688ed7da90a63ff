"""How well factors explain correlations, and whether there is anything to explain: the figures that papers print."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtr, chdtrc, chndtr

from lowdim.maths.factor import degrees_of_freedom
from lowdim.maths.linalg import Array

LEVEL = 0.9  # of RMSEA's interval, as every program prints it
SMALLEST = 1e-10  # eigenvalues of R are no smaller, as in the fit


class FitIndices(NamedTuple):
    """Indices of a factor model of n rows, by the likelihood-ratio chi-square n F."""

    chi_square: float
    dof: int
    p_value: float
    rmsea: float
    rmsea_interval: tuple[float, float]  # 90 %
    cfi: float
    tli: float
    srmr: float


class SamplingAdequacy(NamedTuple):
    """Whether correlations are worth factors: Kaiser, Meyer and Olkin's measure, and Bartlett's test of sphericity."""

    kmo: float
    kmo_columns: Array
    chi_square: float
    dof: int
    p_value: float


def fit_indices(R: Array, loadings: Array, uniquenesses: Array, criterion: float, n: float) -> FitIndices:
    r"""RMSEA with its 90 % interval, CFI, TLI and SRMR of factors of a correlation matrix R.

    chi-square = n F. RMSEA = sqrt(max(chi-square / dof - 1, 0) / n), its interval by the noncentral chi-square.
    CFI = 1 - excess / excess of independent columns, excess = max(chi-square - dof, 0); TLI compares chi-square / dof.
    SRMR is the root mean square of the residual correlations, the diagonal counted. Without a degree of freedom there
    is nothing to reject: RMSEA 0, CFI and TLI 1.

    Reference: Steiger (1990), Multivar. Behav. Res. 25, 173-180; Bentler (1990), Psychol. Bull. 107, 238-246; Tucker
    and Lewis (1973), Psychometrika 38, 1-10; the conventions of the R package lavaan.
    """
    d, q = loadings.shape
    dof, chi = degrees_of_freedom(d, q), n * criterion
    residual = R - loadings @ loadings.T - np.diag(uniquenesses)
    srmr = float(np.sqrt((residual[np.tril_indices(d)] ** 2).mean()))
    if dof <= 0:
        return FitIndices(chi, max(dof, 0), 1.0, 0.0, (0.0, 0.0), 1.0, 1.0, srmr)
    pairs, alone = d * (d - 1) // 2, -n * _log_det(R)
    excess, excess_alone = max(chi - dof, 0.0), max(alone - pairs, chi - dof, 0.0)
    cfi = 1.0 - excess / excess_alone if excess_alone > 0 else 1.0
    ratio = alone / pairs
    tli = (ratio - chi / dof) / (ratio - 1.0) if ratio != 1.0 else 1.0
    low, high = (_noncentrality(chi, dof, tail) for tail in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))
    rmsea, *interval = (float(np.sqrt(excess / (dof * n))) for excess in (excess, low, high))
    return FitIndices(chi, dof, float(chdtrc(dof, chi)), rmsea, (interval[0], interval[1]), cfi, tli, srmr)


def _noncentrality(chi: float, dof: int, tail: float) -> float:
    """The noncentrality at which chi-square has `tail` below chi; 0 where it has less already."""
    if chdtr(dof, chi) <= tail:
        return 0.0
    below: Callable[[float], float] = lambda shift: float(chndtr(chi, dof, shift)) - tail  # noqa: E731
    top = chi + 1.0
    while below(top) > 0.0:
        top *= 2.0
    return float(brentq(below, 0.0, top, xtol=1e-10 * top, rtol=1e-12))


def sampling_adequacy(R: Array, n: float) -> SamplingAdequacy:
    r"""KMO of all columns and of each, and Bartlett's test that no columns are correlated.

    KMO = sum r_ij^2 / (sum r_ij^2 + sum p_ij^2) over i != j, with p_ij the correlation that is left given all others.
    Bartlett: -(n - 1 - (2 d + 5) / 6) log |R| is chi-square with d (d - 1) / 2 degrees of freedom.

    Reference: Kaiser (1974), Psychometrika 39, 31-36; Bartlett (1951), Biometrika 38, 337-344.
    """
    d = len(R)
    values, V = np.linalg.eigh(R)
    inverse = (V / np.maximum(values, SMALLEST)) @ V.T
    size = np.sqrt(np.diag(inverse))
    partial = inverse / np.outer(size, size)
    r, p = (M**2 - np.diag(np.diag(M**2)) for M in (R, partial))
    shared, left = r.sum(axis=1), p.sum(axis=1)
    each = np.divide(shared, shared + left, out=np.full(d, 0.5), where=shared + left > 0)
    overall = float(shared.sum() / (shared.sum() + left.sum())) if shared.sum() > 0 else 0.5
    chi, dof = max(-(n - 1 - (2 * d + 5) / 6) * _log_det(R), 0.0), d * (d - 1) // 2
    return SamplingAdequacy(overall, each, float(chi), dof, float(chdtrc(dof, chi)) if dof else 1.0)


def _log_det(R: Array) -> float:
    return float(np.log(np.maximum(np.linalg.eigvalsh(R), SMALLEST)).sum())
