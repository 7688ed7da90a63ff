"""Rows grouped by which of their cells are missing: a full Gaussian seen through gaps.

With precision L of the whole row and the missing cells m of a row, the missing ones given the seen ones are
N(mu_m - L_mm^-1 L_mo (x_o - mu_o), L_mm^-1): only matrices as large as the gaps are inverted, one for each pattern
and not for each row, and all patterns with the same number of gaps at once.

Reference: conditional Gaussians by precisions, Bishop (2006) eq. 2.73-2.75; EM with gaps, Little and Rubin 11.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Index, distinct


class Group(NamedTuple):
    """Rows with the same number of gaps."""

    rows: Index  # R
    which: Index  # R, the pattern of each row
    gone: Index  # P x m, the missing columns of each pattern


class Filled(NamedTuple):
    """Rows with each gap on its conditional mean, and what the gaps leave open."""

    deviations: Array  # n x d, as deviations from the mean
    logdet: Array  # n, log |L_mm|
    covs: list[Array]  # P x m x m of each group


def pattern_groups(mask: NDArray[np.bool_]) -> list[Group]:
    """The rows of a mask grouped by the number of their gaps and then by pattern."""
    first, of = distinct(mask)
    absent = ~mask[first]
    count = absent.sum(axis=1)
    parts = []
    for m in np.unique(count):
        patterns = np.flatnonzero(count == m)
        place = np.full(len(count), -1)
        place[patterns] = np.arange(len(patterns))
        which = place[of]
        rows = np.flatnonzero(which >= 0)
        parts.append(Group(rows, which[rows], np.nonzero(absent[patterns])[1].reshape(len(patterns), int(m))))
    return parts


def fill_deviations(deviations: Array, parts: list[Group], L: Array) -> Filled:
    """Rows of deviations, zero at gaps, filled by the conditional means of a Gaussian with precision L."""
    pull = deviations @ L
    out, logdet = deviations.copy(), np.zeros(len(deviations))
    covs: list[Array] = []
    for rows, which, gone in parts:
        A = L[gone[:, :, None], gone[:, None, :]]
        covs.append(np.asarray(np.linalg.inv(A), dtype=np.float64))
        if gone.shape[1] == 0:
            continue
        logdet[rows] = np.linalg.slogdet(A)[1][which]
        at = rows[:, None], gone[which]
        out[at] = -(covs[-1][which] @ pull[at][:, :, None])[:, :, 0]
    return Filled(out, logdet, covs)


def open_scatter(parts: list[Group], covs: list[Array], weight: Array, d: int) -> Array:
    """The sum over rows of the conditional covariances of their gaps, d x d."""
    total = np.zeros(d * d)
    for (rows, which, gone), cov in zip(parts, covs, strict=True):
        if gone.shape[1]:
            share = np.bincount(which, weight[rows], len(gone))
            at = gone[:, :, None] * d + gone[:, None, :]
            total += np.bincount(at.ravel(), (cov * share[:, None, None]).ravel(), d * d)
    return total.reshape(d, d)


def open_variance(parts: list[Group], covs: list[Array], shape: tuple[int, int]) -> Array:
    """The conditional variance of each cell, zero where seen."""
    out = np.zeros(shape)
    for (rows, which, gone), cov in zip(parts, covs, strict=True):
        out[rows[:, None], gone[which]] = np.diagonal(cov, axis1=1, axis2=2)[which]
    return out
