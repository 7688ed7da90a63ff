"""What one pass of K-means tells the next: which rows cannot have changed their centre."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.kmeans import ClusteredRows, first_largest, membership, rows_in_cache, sum_of_squares
from lowdim.maths.linalg import Array

MOST_GATHERED = 0.6  # share of a tile's rows up to which they are gathered, and not all compared
CAUTION = 1.01  # steps count for more and margins for less: rounding of either is a thousandth of that at most
CLOSE_CALL = 1e-9  # differences of scores over squares of rows and centres that are far beyond rounding


class KnownTile:
    """What earlier passes tell of the nearest centres of one tile's rows, so that most need no distances in the next.

    A row's margin is how much farther its second centre is than its nearest. Centres that move shrink it by no more
    than their steps, and while some is left the nearest stays. All labels are those of `nearest_centers`, to the row:
    margins are cut by more than rounding could add, and where two centres are as near as rounding can tell, the whole
    tile is compared as there.

    Hamerly, "Making k-means even faster" (SDM 2010), with one number a row.
    """

    def __init__(self, x: Array, weight: Array | None, K: int) -> None:
        w = np.ones(len(x)) if weight is None else weight
        self.belongs, self.squares = membership(np.zeros(len(x), dtype=np.int32), w, K), sum_of_squares(x, weight)
        self.label, self.margin, self.open = self.belongs.indices, np.zeros(len(x)), True
        self.row_squares = np.einsum("ij,ij->i", x, x)

    def see(self, x: Array, centers: MovedCenters) -> None:
        """Find the nearest of centres that have moved."""
        label, margin = self.label, self.margin
        if not self.open:
            margin -= centers.shrink.take(label)
            rows = np.flatnonzero(margin <= 0.0)
            if len(rows) < MOST_GATHERED * len(x):
                found, room, sure = _nearest_with_margins(x.take(rows, axis=0), self.row_squares.take(rows), centers)
                if sure:
                    label[rows], margin[rows] = found, room
                    return
        label[:], margin[:], sure = _nearest_with_margins(x, self.row_squares, centers)
        self.open = not sure


class MovedCenters(NamedTuple):
    """The centres of a pass, and what a step from those before may have cost the margins."""

    mu: Array  # K x d
    half: Array  # K x 1, half their squares
    shrink: Array  # K, what the margins of each cluster's rows have lost at most


class KnownNearest:
    """Every tile's `KnownTile`, and the present centres."""

    def __init__(self, mu: Array) -> None:
        self.tiles: dict[int, KnownTile] = {}
        self.centers = MovedCenters(mu, np.zeros((0, 1)), np.zeros(0))
        self.move(mu)

    def move(self, mu: Array) -> None:
        """The centres of the next pass, K x d."""
        step = np.sqrt(((mu - self.centers.mu) ** 2).sum(axis=1)) * CAUTION
        others = np.full(len(mu), step.max())
        others[step.argmax()] = np.partition(step, -2)[-2]
        self.centers = MovedCenters(mu, (0.5 * mu**2).sum(axis=1)[:, None], step + others)

    def tile(self, x: Array, weight: Array | None, start: int) -> ClusteredRows:
        """The tile that begins with row `start` and has no gaps, with the nearest of the present centres."""
        if start not in self.tiles:
            self.tiles[start] = KnownTile(x, weight, len(self.centers.mu))
        tile = self.tiles[start]
        tile.see(x, self.centers)
        return ClusteredRows(tile.belongs, tile.squares)


def _nearest_with_margins(x: Array, squares: Array, centers: MovedCenters) -> tuple[NDArray[np.int32], Array, bool]:
    """Labels as of `nearest_centers`, the rows' margins on the safe side, and whether rounding decided none of them.

    With distances a <= b of a row from its first two centres and scores s and t of these, b - a = 2 (s - t) / (a + b),
    and a + b is at most 2 sqrt((a^2 + b^2) / 2) = 2 sqrt(|x|^2 - s - t).
    """
    mu, half, _ = centers
    label, margin = np.empty(len(x), dtype=np.int32), np.empty(len(x))
    doubt, sure = CLOSE_CALL * float(squares.max(initial=0.0) + 2.0 * half.max()), True
    for rows in rows_in_cache(len(x), len(mu)):
        score = mu @ x[rows].T
        score -= half
        top = first_largest(score, label[rows])
        score.reshape(-1)[label[rows] * len(top) + np.arange(len(top))] = -np.inf  # in half the time of two indices
        second = score.max(axis=0)
        room = squares[rows] - top
        room -= second
        top -= second
        sure = sure and bool(top.min() > doubt)
        np.divide(top, np.sqrt(np.maximum(room, doubt)), out=margin[rows])
    margin /= CAUTION
    margin -= np.sqrt(2.0 * doubt)
    return label, margin, sure
