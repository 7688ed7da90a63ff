"""Regularised iterative FAMD: what missMDA's imputeFAMD does (imputeMCA of labels alone, imputePCA of numbers alone).

Written from the published method, for machines on which missMDA itself cannot be installed: V. Audigier, F. Husson and
J. Josse (2016), "A principal component method to impute missing values for mixed data", Advances in Data Analysis and
Classification 10, 5-26. Numbers are divided by their standard deviation and indicators of labels by the root of their
frequency; gaps are filled by a projection on `dims` axes whose singular values are shrunk by the noise of the others,
again and again, with means, deviations and frequencies of the filled table. The number of axes is the one that
predicts a twentieth of the seen cells best, as in `estim_ncpFAMD`.
"""

from __future__ import annotations

import numpy as np

ROUNDS, SETTLED = 500, 1e-5
DIMS, HIDDEN = (1, 2, 3, 4, 5, 6), 0.05


def filled(X: np.ndarray, owner: np.ndarray, is_label: np.ndarray, dims: int) -> np.ndarray:
    """The table with its gaps filled; columns of one label share an owner, and hold all its indicators."""
    gap = np.isnan(X)
    full = np.where(gap, np.nanmean(X, axis=0), X)
    labels = len(np.unique(owner[is_label]))
    for _ in range(ROUNDS):
        mean = full.mean(axis=0)
        unit = np.where(is_label, np.sqrt(np.maximum(mean, 1e-8)), np.maximum(full.std(axis=0), 1e-8))
        told = mean + shrunk((full - mean) / unit, dims, labels) * unit
        before, full = full, np.where(gap, told, X)
        if np.abs((full - before) / unit).max() < SETTLED:
            break
    return full


def shrunk(Z: np.ndarray, dims: int, labels: int) -> np.ndarray:
    """The projection on the first axes with singular values less the noise of the others."""
    n, d = Z.shape
    values, axes = np.linalg.eigh(Z.T @ Z / n)
    values, axes = np.maximum(values[::-1], 0.0), axes[:, ::-1][:, :dims]
    left = max(min(n - 1, d - labels) - dims, 1)  # axes that hold noise: the indicators of a label sum to one
    noise = min(values[dims:].sum() / left, values[dims - 1])
    factor = np.where(values[:dims] > 0.0, (values[:dims] - noise) / np.maximum(values[:dims], 1e-300), 0.0)
    return (Z @ axes * np.maximum(factor, 0.0)) @ axes.T


def chosen(X: np.ndarray, owner: np.ndarray, is_label: np.ndarray) -> int:
    """The number of axes that predicts cells hidden on purpose best."""
    rng = np.random.default_rng(0)
    groups, place = np.unique(owner, return_inverse=True)
    hidden = (rng.random((len(X), len(groups))) < HIDDEN)[:, place] & ~np.isnan(X)
    less, spread = np.where(hidden, np.nan, X), np.nanstd(X, axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    most = min(len(X) - 1, X.shape[1] - len(np.unique(owner[is_label]))) - 1
    tried = [q for q in DIMS if q <= most] or [1]
    errors = [(((filled(less, owner, is_label, q) - X) / spread)[hidden] ** 2).sum() for q in tried]
    return tried[int(np.argmin(errors))]


def imputed(X: np.ndarray, owner: np.ndarray, is_label: np.ndarray) -> np.ndarray:
    """The table with its gaps filled by as many axes as hidden cells ask for."""
    return filled(X, owner, is_label, chosen(X, owner, is_label))
