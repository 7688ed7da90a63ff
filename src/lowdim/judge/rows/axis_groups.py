"""Rows that alone make an axis: a few of them, beyond a gap that no smooth tail leaves.

A far group draws an axis to itself, or a line between the axes. Along that line the scores are as skew as along any,
since the third moments of two groups of one shape are those of the line that joins them; so the axes and the skewest
lines of the map are looked at.

The largest m scores of a smooth law have an exponential tail, whatever their unit. Then m times the stretch that holds
the next r scores, over r times the mean distance of the largest from their nearest, has an F law with 2 r and
2 (m - 1) degrees of freedom (Renyi): r = 1 asks for a gap, a larger r for a stretch that is nearly empty. Lighter
tails (uniform scores) leave somewhat wider gaps, and levels leave many, so it must also be wide beside the spread of
the other rows and beside their own gaps.

Reference: Renyi (1953), "On the theory of order statistics", Acta Mathematica Hungarica 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from lowdim.judge.outliers.partition import AXIS_SHARE, GROUP_ROWS
from lowdim.maths.linalg import Array

MADE_SHARE = 0.5  # of an axis' variation that must lie between them and the others
WIDE_GAP = 0.5  # of the others' standard deviation
GAP_LEVEL = 0.01  # how rarely a smooth tail may leave such a gap, over all cuts and lines
STRAY_SHARE = 0.02  # of the rows that may lie in the gap
OWN_GAPS = 1.5  # times the widest gap between the others
TAIL_SHARE = 0.05  # of all rows at the other end, whose gaps are those of a tail
SAME_LINE = 0.9  # correlation from which a line is the axis
PART_OF_LINE = 0.3  # and from which the axis is one of those it lies between
POWER_STEPS = 30  # towards a skewest line; each about squares what is left


class ApartRows(NamedTuple):
    """Rows that lie apart along a line of the map, by position from 0."""

    rows: tuple[int, ...]  # the farthest first
    share: float  # of the variation along the line that lies between them and the others
    axes: tuple[int, ...]  # that the line lies between, from 1 and the nearest first; one where it is that axis


def rows_apart(scores: Array) -> tuple[ApartRows, ...]:
    """The few rows that alone make an axis of a map (n x q), or a line between axes; at most one group for each axis.

    >>> scores = np.random.default_rng(0).standard_normal((100, 2))
    >>> rows_apart(scores)
    ()
    >>> scores[[7, 30, 31, 58, 90, 91], 1] += 12.0
    >>> sorted(rows_apart(scores)[0].rows), rows_apart(scores)[0].axes
    ([7, 30, 31, 58, 90, 91], (2,))
    """
    cuts = int(AXIS_SHARE * len(scores)) - GROUP_ROWS + 1  # from one end
    spread = scores.std(axis=0)
    used = np.flatnonzero(spread > 0.0)
    if cuts < 1 or not len(used):
        return ()
    unit = (scores - scores.mean(axis=0))[:, used] / spread[used]
    lines = np.hstack([unit, _skewest(unit)])
    groups = []
    for line in lines.T:
        cosine = np.abs(line @ unit) / (len(unit) * line.std())
        order = np.argsort(-cosine, kind="stable")
        near = order[:1] if cosine[order[0]] >= SAME_LINE else order[cosine[order] >= PART_OF_LINE]
        ends = (_beyond_a_gap(sign * line, cuts, 2 * lines.shape[1]) for sign in (1.0, -1.0))
        groups += [ApartRows(*end, tuple((used[near] + 1).tolist())) for end in ends if end is not None]
    kept: dict[int, ApartRows] = {}
    for group in sorted(groups, key=lambda group: -group.share):
        if group.axes[0] not in kept and not any(set(group.rows) & set(other.rows) for other in kept.values()):
            kept[group.axes[0]] = group
    return tuple(kept.values())


def _skewest(unit: Array) -> Array:
    """Scores along the lines of largest third moment that are reached from each axis, n x q."""
    U, _, Vt = np.linalg.svd(unit, full_matrices=False)
    white = U @ Vt * np.sqrt(len(unit))
    w = np.eye(unit.shape[1])
    for _ in range(POWER_STEPS):
        w = white.T @ (white @ w) ** 2
        w = w / np.maximum(np.linalg.norm(w, axis=0), np.finfo(float).tiny)
    return np.asarray(white @ w)


def _beyond_a_gap(score: Array, cuts: int, looks: int) -> tuple[tuple[int, ...], float] | None:
    """The rows of largest score beyond a gap that no tail leaves, and the share of the variation that they make."""
    order = np.argsort(-score, kind="stable")
    s, n = score[order] - score.mean(), len(score)
    m = np.arange(GROUP_ROWS, GROUP_ROWS + cuts)
    beyond, squares = np.cumsum(s)[m - 1], np.cumsum(s**2)
    between = np.minimum(beyond**2 * n / (m * (n - m)) / squares[-1], 1.0)
    excess = np.maximum((beyond - m * s[m - 1]) / (m - 1), np.finfo(float).eps * np.ptp(s))
    others = np.sqrt(np.maximum(squares[-1] - squares[m - 1] - beyond**2 / (n - m), 0.0) / (n - m))  # their sd
    made, p = between >= MADE_SHARE, np.ones((0, len(m)))
    for r in (2**k for k in range(int(np.log2(max(STRAY_SHARE * n, 1.0))) + 1)):
        gap, own = s[m - 1] - s[m - 1 + r], _widest_after(s, r)[m - 1 + r]
        wide = (gap >= WIDE_GAP * others) & (gap >= OWN_GAPS * own)
        p = np.vstack([p, np.where(made & wide, fdtrc(2 * r, 2 * (m - 1), m * gap / r / excess), 1.0)])
    rare = p.min(axis=0) * p.size * looks <= GAP_LEVEL
    if not rare.any():
        return None
    best = int(np.argmax(np.where(rare, between, 0.0)))
    return tuple(order[: m[best]].tolist()), float(between[best])


def _widest_after(s: Array, r: int) -> Array:
    """The widest stretch of falling scores that holds r of them, from each score on, but for those of the last tail."""
    stretch = s[:-r] - s[r:]
    stretch[len(stretch) - int(TAIL_SHARE * len(s)) :] = 0.0
    return np.append(np.maximum.accumulate(stretch[::-1])[::-1], np.zeros(r))
