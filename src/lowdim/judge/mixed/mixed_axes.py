"""What drives the axes of a mixed map, and whether the map holds up.

A loading is the correlation of a column's latent response (w'z + noise, in units in which its variance is 1) with the
axis; an axis' share is the mean square of its loadings, a column of several labels counted once. Rows are resampled to
first order (`judge/mixed/row_pulls.py`): no fit is made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.judge.axes import AxisCard, axis_cards, matched, tied_axes
from lowdim.judge.mixed.row_pulls import MovedParams, RowPulls, leanings, moved_positions, row_pulls
from lowdim.judge.stability import RemovedRow, Stability, angle, axis_angles, clouds_of, stability_of
from lowdim.maths.linalg import Array, evenly_spread
from lowdim.maths.seeds import BOOTSTRAP

if TYPE_CHECKING:
    from lowdim.judge.mixed.mixed_map import MixedMap

MIXED_CLOUD_ROWS = 300  # rows whose clouds are kept
CLOUD_REFITS = 40  # resamplings in which they are placed
TRIED_ROWS = 5  # rows without which the map is looked at


class MixedRefits(NamedTuple):
    """A mixed map resampled."""

    W: Array  # B x lines x q, leanings
    moved: tuple[MovedParams, ...]
    pulls: RowPulls

    @property
    def rows(self) -> int:
        """Rows that were looked at."""
        return len(self.pulls.at)


def mixed_refits(
    map: MixedMap, X: Array, weight: Array | None, bootstraps: int, seed: int, fitted: int | None = None
) -> MixedRefits:
    """The map with its rows drawn again; of a long table, those `fitted`, which are spread over it."""
    at = evenly_spread(len(X), fitted or len(X))
    source = map.source(X[at])
    source.weight = None if weight is None else weight[at]
    pulls = row_pulls(map.model, source)
    pulls = pulls._replace(at=at[pulls.at])
    made = tuple(pulls.resampled(np.random.default_rng([seed, BOOTSTRAP, b])) for b in range(bootstraps))
    return MixedRefits(np.array([there.leanings for there in made]), made, pulls)


def correlations(lean: Array) -> Array:
    """Leanings as correlations of latent responses, whose noise has variance 1, with the axes."""
    return np.asarray(lean / np.sqrt(1.0 + (lean**2).sum(axis=-1, keepdims=True)))


def loadings_of(map: MixedMap) -> Array:
    """The loading of each line of the map on each axis."""
    return _every_line(map, correlations(leanings(map.model)))


def _every_line(map: MixedMap, lines: Array) -> Array:
    """Of a label that no row of the fit has, nothing leans."""
    out = np.zeros((len(map.ones), lines.shape[1]))
    out[map.fitted] = lines
    return out


def shares_of(map: MixedMap) -> tuple[float, ...]:
    """Each axis' share of the variation of the latent responses."""
    squares, column = loadings_of(map) ** 2, np.array([k for k, _ in map.ones])
    return tuple(np.mean([squares[column == k].mean(axis=0) for k in range(len(map.names))], axis=0).tolist())


def mixed_axes(
    map: MixedMap, scores: Array, labels: Mapping[str, Any], refits: MixedRefits, level: float
) -> tuple[AxisCard, ...]:
    """A card for every axis of a mixed map."""
    lean = leanings(map.model)
    q = lean.shape[1]
    told_apart = map.model.rotation is not None  # by the rotation
    groups = () if q < 2 or told_apart else tied_axes(lean, refits.W)
    drawn = correlations(np.array([matched(lean, W, groups) for W in refits.W])) if q else refits.W
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    bands = loadings_of(map), _every_line(map, low), _every_line(map, high)
    return axis_cards(bands, map.line_names, shares_of(map), groups, scores, labels, level, len(refits.W))


def mixed_stability(map: MixedMap, X: Array, refits: MixedRefits, row_names: tuple[str, ...]) -> Stability:
    """How far a mixed map moves when its rows are resampled, and when one of them is removed."""
    source, lean = map.source(X), leanings(map.model)
    k = min(2, lean.shape[1])
    rows = evenly_spread(len(X), MIXED_CLOUD_ROWS, ends=True)
    here, there = moved_positions(map.model, source, rows, refits.moved[:CLOUD_REFITS])
    clouds = clouds_of(here[:, :k], [places[:, :k] for places in there], rows)
    return stability_of(lean, refits.W, clouds, _removed(refits.pulls, lean, row_names), refits.rows)


def _removed(pulls: RowPulls, lean: Array, row_names: tuple[str, ...]) -> tuple[RemovedRow, ...]:
    """The map without each of the rows that turn it most."""
    k = min(2, lean.shape[1])
    if not k:
        return ()
    removed = []
    for i in np.argsort(-pulls.turns.max(axis=1), kind="stable")[:TRIED_ROWS]:
        W = matched(lean, pulls.without(int(i)).leanings, ())
        turns, row = axis_angles(W, lean), int(pulls.at[i])
        axis = int(np.argmax(turns))
        removed.append(RemovedRow(row, row_names[row], axis + 1, float(turns[axis]), angle(W[:, :k], lean[:, :k])))
    return tuple(sorted(removed, key=lambda r: -r.angle))
