"""Gaps filled from the nearest rows: the mean of the K rows that are nearest by the cells both have.

Distances are mean squares over the shared cells, columns in units of their spread; a cell is filled from rows in which
it is seen, near ones counting more. Its spread is that of these values with what a mean of so few is unsure of, and
a draw is the value of one of them: fills and draws stay within what the column has. Where all of them agree, as those
of a column of few levels often do, the spread is that of one more value that may differ (Laplace's rule of succession).

Reference: Troyanskaya et al., Missing value estimation methods for DNA microarrays, Bioinformatics 17 (2001); Andridge
and Little, A review of hot deck imputation for survey non-response, International Statistical Review 78 (2010).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.engines.engine import FittedEngine, drawing
from lowdim.maths.linalg import Array, Mask, centre_and_spread

CLOSE = 1e-2  # mean squared distance, in spreads, below which rows count as equally near
LEAST_SPREAD = 1e-3  # of a fill, in spreads of its column
SPARE_ROWS = 3  # times as many nearest rows are looked up as fill a gap: some lack its column
PIECE_CELLS = 4_000_000  # distances held at a time


class Donors(NamedTuple):
    """The values that a column's gaps may take, gap by gap, and how much each counts."""

    rows: NDArray[np.intp]  # that have the gaps
    values: Array  # gaps x K
    share: Array  # gaps x K, sums of 1

    def mean_and_sd(self) -> tuple[Array, Array]:
        """The weighted mean, and the spread of a new value about it: that of the values and the mean's own doubt."""
        mean = (self.share * self.values).sum(axis=1)
        squares = (self.share**2).sum(axis=1)
        within = (self.share * (self.values - mean[:, None]) ** 2).sum(axis=1) / np.maximum(1.0 - squares, 0.1)
        spread = np.maximum(within * (1.0 + squares), LEAST_SPREAD**2)
        return mean, np.sqrt(np.where(self.agreed, self.dissent, spread))

    @property
    def agreed(self) -> Mask:
        """Where all values are the same one, as happens to levels: another one is not impossible for that."""
        return np.asarray((self.values == self.values[:, :1]).all(axis=1))

    @property
    def dissent(self) -> float:
        """How likely any other value is after K that agree, and so their variance in spreads (rule of succession)."""
        return 1.0 / (int(self.values.shape[1]) + 2)

    def draw(self, rng: np.random.Generator, column: Array) -> Array:
        """One of the values for each gap, where they agree now and then any one of the column."""
        upto = np.cumsum(self.share, axis=1)
        pick = (rng.random((len(upto), 1)) * upto[:, -1:] >= upto).sum(axis=1)
        drawn = self.values[np.arange(len(upto)), np.minimum(pick, upto.shape[1] - 1)]
        other = np.flatnonzero(self.agreed & (rng.random(len(upto)) < self.dissent))
        drawn[other] = rng.choice(column, len(other)) if len(column) else 0.0
        return np.asarray(drawn)


class NearestRows(FittedEngine):
    """Fill from the K nearest of these rows, kept in units of their columns' spread, gaps as zeros."""

    def __init__(self, X: Array, K: int) -> None:
        self.K, self.mask = K, ~np.isnan(X)
        self.mean, self.sd = centre_and_spread(X)
        self.x = np.where(self.mask, (X - self.mean) / self.sd, 0.0)

    def fills(self, rows: Array) -> tuple[Array, Array]:
        filled, sd = np.array(rows), np.zeros(rows.shape)
        for j, near in self.donors(rows).items():
            mean, spread = near.mean_and_sd()
            filled[near.rows, j] = self.mean[j] + self.sd[j] * mean
            sd[near.rows, j] = self.sd[j] * spread
        return filled, sd

    def drawn(self, rows: Array, seed: int, number: int) -> Array:
        filled, rng = np.array(rows), drawing(seed, number)
        for j, near in self.donors(rows).items():
            filled[near.rows, j] = self.mean[j] + self.sd[j] * near.draw(rng, self.x[self.mask[:, j], j])
        return filled

    def donors(self, rows: Array) -> dict[int, Donors]:
        """By column, the K nearest rows' values for each gap of these rows."""
        seen = ~np.isnan(rows)
        z = np.where(seen, (rows - self.mean) / self.sd, 0.0)
        step, some = max(1, PIECE_CELLS // len(self.x)), min(SPARE_ROWS * self.K, len(self.x))
        pieces: dict[int, list[Donors]] = {}
        for start in range(0, len(rows), step):
            piece = slice(start, start + step)
            distance = self._distances(z[piece], seen[piece])
            near = np.argpartition(distance, some - 1, axis=1)[:, :some]  # once for all gaps of a row
            order = np.argsort(np.take_along_axis(distance, near, axis=1), axis=1, kind="stable")
            near = np.take_along_axis(near, order, axis=1)
            for j in np.flatnonzero(~seen[piece].all(axis=0)).tolist():
                gap = np.flatnonzero(~seen[piece, j])
                values, share = self._with_column(distance[gap], near[gap], j)
                pieces.setdefault(j, []).append(Donors(gap + start, values, share))
        return {j: Donors(*map(np.concatenate, zip(*parts, strict=True))) for j, parts in pieces.items()}

    def _distances(self, z: Array, seen: Mask) -> Array:
        """Mean squared differences over the cells that two rows share; rows that share none are as far as strangers."""
        here, there = seen.astype(np.float64), self.mask.astype(np.float64)
        total = (z * z) @ there.T + here @ (self.x * self.x).T - 2.0 * z @ self.x.T
        shared = here @ there.T
        return np.where(shared > 0.0, np.maximum(total, 0.0) / np.maximum(shared, 1.0), 2.0)

    def _with_column(self, distance: Array, near: NDArray[np.intp], j: int) -> tuple[Array, Array]:
        """The values of column j in the K nearest rows that have it, and what each counts, for rows at these distances
        from the table's, of which `near` are the nearest, nearest first."""
        K, all_with = self.K, np.flatnonzero(self.mask[:, j])
        many = min(K, len(all_with))
        if not many:  # a column hidden entirely: its mean
            return np.zeros((len(near), K)), np.full((len(near), K), 1.0 / K)
        has = self.mask[near, j]
        place = np.argsort(~has, axis=1, kind="stable")[:, :many]
        best = np.take_along_axis(near, place, axis=1)
        best = np.pad(best, ((0, 0), (0, many - best.shape[1])), mode="edge")
        few = np.flatnonzero(has.sum(axis=1) < many)
        if len(few):  # a column with so many gaps that near rows lack it
            best[few] = all_with[np.argpartition(distance[np.ix_(few, all_with)], many - 1, axis=1)[:, :many]]
        weight = 1.0 / (CLOSE + np.take_along_axis(distance, best, axis=1))
        short = K - many  # of a column seen in fewer rows: the last counts for nothing more
        values = np.pad(self.x[best, j], ((0, 0), (0, short)), mode="edge")
        return values, np.pad(weight / weight.sum(axis=1, keepdims=True), ((0, 0), (0, short)))
