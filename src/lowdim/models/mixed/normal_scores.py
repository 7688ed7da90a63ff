"""Positive columns by their normal scores: a monotone curve from log(x + a) to the score of its rank.

The curve comes from counts in fixed bins between the least and the largest logarithm, so that blocks merge by addition
and a weight of 2 is the row twice. Each bin counts a little more than it holds: the curve rises everywhere, and can be
followed back.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, Self

import numpy as np
from scipy.special import ndtri

from lowdim.engine.fold import Run, fold
from lowdim.maths.linalg import Array
from lowdim.sources.source import Block, Source

BINS = 256
PRIOR_ROWS = 1.0  # spread evenly over the bins
LEAST_RANGE = 1e-9  # of logarithms: less is one value


class BinCounts(NamedTuple):
    """How many rows, by weight, each bin of each column holds."""

    counts: Array  # columns x BINS

    def merge(self, other: Self) -> Self:
        return type(self)(self.counts + other.counts)


class LogRange(NamedTuple):
    """A positive column: what is added before its logarithm, and the ends of that."""

    column: int
    offset: float
    low: float
    high: float


def curves(ranges: list[LogRange], source: Source, run: Run) -> dict[int, Array]:
    """The curve of each of these columns, 2 x knots: logarithms and their normal scores, both rising."""
    wide = [own for own in ranges if own.high - own.low > LEAST_RANGE]
    if not wide:
        return {}
    counts = fold(partial(_counted, tuple(wide)), source, run).counts
    return {own.column: _curve(own, many) for own, many in zip(wide, counts, strict=True)}


def _counted(ranges: tuple[LogRange, ...], block: Block) -> BinCounts:
    out = np.zeros((len(ranges), BINS))
    for k, (j, offset, low, high) in enumerate(ranges):
        seen = block.x[:, j] + offset > 0 if block.mask is None else block.mask[:, j] & (block.x[:, j] + offset > 0)
        share = (np.log(block.x[seen, j] + offset) - low) / (high - low)
        at = np.clip((share * BINS).astype(np.intp), 0, BINS - 1)
        out[k] = np.bincount(at, None if block.weight is None else block.weight[seen], minlength=BINS)
    return BinCounts(out)


def _curve(own: LogRange, counts: Array) -> Array:
    """A knot in the middle of each bin, at the middle of its ranks: what is there many times has one score, nearly."""
    many = counts + PRIOR_ROWS / BINS
    middle = np.cumsum(many) - 0.5 * many
    bins = own.low + (own.high - own.low) * (np.arange(BINS) + 0.5) / BINS
    return np.array([bins, ndtri(middle / many.sum())])


def scored(curve: Array, logs: Array) -> tuple[Array, Array]:
    """The normal scores of logarithms, and the logarithms of the curve's slopes there; straight beyond its ends."""
    if not curve.size:
        return logs, np.zeros_like(logs)
    x, y = curve
    at = np.clip(np.searchsorted(x, logs, side="right") - 1, 0, len(x) - 2)
    beyond = (y[-1] - y[0]) / (x[-1] - x[0])
    outside = (logs < x[0]) | (logs > x[-1])
    slope = np.where(outside, beyond, (np.diff(y) / np.diff(x))[at])
    end = np.where(logs < x[0], 0, len(x) - 1)
    value = np.where(outside, y[end] + beyond * (logs - x[end]), y[at] + slope * (logs - x[at]))
    return value, np.log(slope)


def unscored(curve: Array, scores: Array) -> Array:
    """The logarithms that have these scores."""
    if not curve.size:
        return scores
    x, y = curve
    beyond = (x[-1] - x[0]) / (y[-1] - y[0])
    inside = np.interp(scores, y, x)
    return np.asarray(inside + beyond * (np.minimum(scores - y[0], 0.0) + np.maximum(scores - y[-1], 0.0)))
