"""A whole Gaussian N(mu, C) seen through gaps.

With the precision L = C^-1 and the gaps m of a row whose seen cells are o, the gaps given the seen cells are
N(mu_m - L_mm^-1 L_mo (x_o - mu_o), L_mm^-1): only matrices as large as the gaps are inverted, one for each pattern of
gaps and not for each row, and all patterns with the same number of gaps at once. Everything else follows from the rows
filled so, f = E[x - mu]:

* the density of the seen cells: log |C_oo| = log |C| + log |L_mm| and r' C_oo^-1 r = f' L f;
* C_oo^-1 r, zero at the gaps, is L f; so Cov(z, x_o) C_oo^-1 r = Cov(z, x) L f for whatever z goes with x;
* sums over rows of E[x - mu] and of E[(x - mu)(x - mu)'], which are all that a fit needs (`Scatter`).

Reference: conditional Gaussians by precisions, Bishop (2006) eq. 2.73-2.75; EM with gaps, Little and Rubin 11.2.
"""

from __future__ import annotations

from operator import add
from typing import NamedTuple, Self

import numpy as np

from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import Array, Index, Mask, distinct

NEGLIGIBLE_SHARE = 1e-40  # a weight that changes no digit of a sum, however far the row
GATHERED_NUMBERS = 2**20  # numbers (8 MB) of the little matrices that are brought beside their rows at a time


# a covariance with a bound ----------------------------------------------------------------------------------
class BoundedCovariance(NamedTuple):
    """A covariance C with C - diag(low) >= 0, and what makes its rows white."""

    C: Array  # d x d
    P: Array  # d x d: (x - mu) P is white, so that P P' is the precision
    logdet: float  # log |C|
    lowest: float  # its least eigenvalue in units of the bound before it was lifted: below 1 it was


def bounded_covariance(C: Array, low: Array) -> BoundedCovariance:
    """C lifted to its bound: of all covariances with C - diag(low) >= 0 the likeliest one."""
    sd = np.sqrt(low)
    values, U = np.linalg.eigh(C / np.outer(sd, sd))
    lowest = float(values[0])
    values = np.maximum(values, 1.0)
    if lowest < 1.0:
        C = (U * values) @ U.T * np.outer(sd, sd)
    logdet = float(np.log(values).sum() + np.log(low).sum())
    return BoundedCovariance(C, U / np.sqrt(values) / sd[:, None], logdet, lowest)


# rows by their gaps -----------------------------------------------------------------------------------------
class Group(NamedTuple):
    """Rows with the same number of gaps."""

    rows: Index  # R
    which: Index  # R, the pattern of each row
    gone: Index  # P x m, the missing columns of each pattern


def pattern_groups(mask: Mask | None) -> list[Group]:
    """The rows of a mask grouped by the number of their gaps and then by pattern; none where all cells are seen."""
    if mask is None:
        return []
    first, of = distinct(mask)
    absent = ~mask[first]
    count = absent.sum(axis=1)
    groups = []
    for m in np.unique(count):
        patterns = np.flatnonzero(count == m)
        place = np.full(len(count), -1)
        place[patterns] = np.arange(len(patterns))
        which = place[of]
        rows = np.flatnonzero(which >= 0)
        groups.append(Group(rows, which[rows], np.nonzero(absent[patterns])[1].reshape(len(patterns), int(m))))
    return groups


class Scatter(NamedTuple):
    """Sums over rows about the *present* mean, gaps by their expectation: near convergence nothing cancels."""

    n: float
    log_density: float  # of the seen cells
    s: Array  # sum of E[x - mu]                  d
    S: Array  # sum of E[(x - mu)(x - mu)']       d x d

    def merge(self, other: Self) -> Self:
        return type(self)(*map(add, self, other))

    def covariance(self) -> Array:
        """The covariance (1/n) about the rows' own mean."""
        step = self.s / self.n
        return self.S / self.n - np.multiply.outer(step, step)


class GivenSeen(NamedTuple):
    """Rows given their seen cells: each gap on its conditional mean, and what the gaps leave open."""

    deviations: Array  # n x d, E[x - mu]
    log_density: Array  # n, of the seen cells
    groups: list[Group]
    covs: list[Array]  # P x m x m of each group: the covariances of its patterns' gaps

    def scatter(self, weight: Array) -> Scatter:
        """The sums of these rows, each counted by its weight."""
        t, w = self.deviations, weight
        counts = w > NEGLIGIBLE_SHARE
        if 2 * np.count_nonzero(counts) < len(counts):  # of clusters far apart most rows do not matter to one
            t, w = t[counts], w[counts]
        root = np.sqrt(w)
        t = t * root[:, None]
        S = t.T @ t
        if self.groups:
            S += self.open_scatter(weight)
        return Scatter(float(w.sum()), float(weight @ self.log_density), root @ t, S)

    def open_scatter(self, weight: Array) -> Array:
        """The sum over rows of the conditional covariances of their gaps, d x d."""
        d = self.deviations.shape[1]
        total = np.zeros(d * d)
        for (rows, which, gone), cov in zip(self.groups, self.covs, strict=True):
            share = np.bincount(which, weight[rows], len(gone))
            at = gone[:, :, None] * d + gone[:, None, :]
            total += np.bincount(at.ravel(), (cov * share[:, None, None]).ravel(), d * d)
        return total.reshape(d, d)

    def variance(self) -> Array:
        """The conditional variance of each cell, zero where seen."""
        out = np.zeros_like(self.deviations)
        for (rows, which, gone), cov in zip(self.groups, self.covs, strict=True):
            out[rows[:, None], gone[which]] = np.diagonal(cov, axis1=1, axis2=2)[which]
        return out

    def drawn(self, P: Array, rows: Array) -> Array:
        """The gaps drawn jointly: rows drawn from N(0, C), moved to agree with what is seen (Matheron's rule)."""
        off = self.deviations - rows
        for at, which, gone in self.groups:
            off[at[:, None], gone[which]] = 0.0
        return rows + given_seen(off, self.groups, P).deviations

    def open_products(self, B: Array, at: tuple[Index, Index]) -> Array:
        """Entries `at` of B' Cov(x | seen) B for every row, B being d x k: how far open B'x is."""
        out = np.zeros((len(self.deviations), len(at[0])))
        for (rows, which, gone), cov in zip(self.groups, self.covs, strict=True):
            left = B[gone]  # P x m x k
            out[rows] = np.einsum("pmk,pmk->pk", left[:, :, at[0]], cov @ left[:, :, at[1]])[which]
        return out


def given_seen(deviations: Array, groups: list[Group], P: Array, logdet: float = 0.0) -> GivenSeen:
    """Rows of x - mu, zero at gaps, given what is seen of them; N(mu, C) has P P' = C^-1 and log |C| = logdet."""
    n, d = deviations.shape
    covs: list[Array] = []
    filled, logs = deviations, np.full(n, d * LOG_TWO_PI + logdet)
    if groups:
        L = P @ P.T
        pull, filled = deviations @ L, deviations.copy()
    for rows, which, gone in groups:
        m = gone.shape[1]
        open_precision = L[gone[:, :, None], gone[:, None, :]]
        covs.append(np.asarray(np.linalg.inv(open_precision), dtype=np.float64))
        logs[rows] += np.linalg.slogdet(open_precision)[1][which] - m * LOG_TWO_PI  # log |C_oo| = log |C| + log |L_mm|
        step = max(GATHERED_NUMBERS // max(m * m, 1), 1)
        for begin in range(0, len(rows) if m else 0, step):
            part = slice(begin, begin + step)
            at = rows[part, None], gone[which[part]]
            filled[at] = -(covs[-1][which[part]] @ pull[at][:, :, None])[:, :, 0]
    white = filled @ P
    return GivenSeen(filled, -0.5 * (logs + np.einsum("ij,ij->i", white, white)), groups, covs)
