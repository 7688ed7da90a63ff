"""What labels tell of a map that they did not shape: of the whole of it, of each axis, and of the groups of its rows.

One measure for all: the share of the variance that lies between the values of a label, less what so many values have by
chance,

    1 - (1 - between / total) (n - 1) / (n - g),

of one axis, of all axes each with its share of the table's variation, or of the zeros and ones that say of which group
each row is. Its p is that of the same rows with the label dealt anew: how many of 199 such deals tell as much, and
beyond what these can say by the gamma law with their mean and variance. There is one false discovery rate over all that
is asked.

Reference: Kelley (1935) for the measure (epsilon squared); Pitman (1937) for the deals, and for laws with their
moments; Benjamini and Hochberg (1995) for many labels at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from lowdim.judge.outliers.law import false_discovery
from lowdim.maths.linalg import Array, Mask, evenly_spread
from lowdim.maths.seeds import LABEL_DEALS
from lowdim.text.format import listing

MOST_VALUES = 3  # of a label that a group of rows is named after
SAME_ROWS = 0.9  # of the rows of a group, that have the values which it is named after; of values that most rows of
# the table have, as much nearer to all
LEAST_NAMED_ROWS = 5  # rows to each value, on average, of a label that may name a group
BEYOND_CHANCE = 2.0  # standard errors by which a group has more rows of a value than the table
FALSE_DISCOVERY_RATE = 0.05
DEALS, DEALT_ROWS, DEALS_AT_ONCE = 199, 2000, 16
LEAST_P = 1e-12  # that is told: no law is known farther out
FEW_DEALS = 10  # that tell as much: of fewer the number is too uncertain, and the gamma law says it better


class LabelTie(NamedTuple):
    """How much a label explains of something: the share of its variance between the label's values, less chance."""

    label: str
    share: float
    values: int
    p: float
    tied: bool  # at a false discovery rate of 5 % over all labels and all that they are asked of


class LabelCard(NamedTuple):
    """How much one label explains."""

    label: str
    map: LabelTie  # all axes together, each with its share of the variation
    axes: tuple[LabelTie, ...]
    groups: LabelTie | None  # None where the rows are one group

    def __repr__(self) -> str:
        """One line: its shares, those beyond chance with a star."""
        whats = ("the map", *(f"axis {k}" for k in range(1, len(self.axes) + 1)), "the groups")
        ties = (self.map, *self.axes, *([] if self.groups is None else [self.groups]))
        told = (f"{tie.share:.0%}{'*' * tie.tied} of {what}" for what, tie in zip(whats, ties, strict=False))
        return f"Label {self.label} explains {', '.join(told)} (*: more than chance)"


def label_cards(
    scores: Array, shares: Sequence[float], labels: Mapping[str, Any], group: NDArray[np.int64] | None = None
) -> tuple[LabelCard, ...]:
    """What each label explains of the places of rows on a map and of their groups, those first that explain most of it.

    `shares` are those of the axes in the variation; a label whose values are too many for the rows has no card.

    >>> rng = np.random.default_rng(0)
    >>> z, side = rng.standard_normal((60, 2)), np.repeat(["left", "right"], 30)
    >>> z[30:, 1] += 4.0
    >>> (card,) = label_cards(z, (0.5, 0.3), {"side": side})
    >>> [tie.tied for tie in card.axes], round(card.axes[1].share, 1), card.groups
    ([False, True], 0.8, None)
    """
    q, spread = scores.shape[1], scores.std(axis=0)
    used = np.where(spread > 0.0, np.sqrt(np.asarray(shares)) / np.where(spread > 0.0, spread, 1.0), 0.0)
    several = group is not None and group.max(initial=0) > 0
    parts = [np.eye(int(group.max()) + 1)[group]] if group is not None and several else []
    Y = np.hstack([scores * used, *parts])
    if not Y.shape[1]:  # no axis and no groups: there is nothing to explain
        return ()
    # the columns of which each share is made: the map, each axis, the groups
    of = np.zeros((1 + q + several, Y.shape[1]))
    of[0, :q] = 1.0
    of[1 : 1 + q, :q] = np.eye(q)
    of[1 + q :, q:] = 1.0
    found = list[tuple[str, int, Array, Array]]()
    for name, values in labels.items():
        texts = np.array(["" if v is None or v != v else str(v) for v in np.asarray(values, dtype=object).tolist()])
        known = texts != ""
        own, code = np.unique(texts[known], return_inverse=True)
        if 2 <= len(own) <= known.sum() / 2:
            found.append((name, len(own), *_told(Y[known], code, of)))
    p = np.array([p for *_, p in found]).ravel()
    tied = false_discovery(p, FALSE_DISCOVERY_RATE).reshape(len(found), len(of))
    cards = []
    for (name, values, share, chance), real in zip(found, tied, strict=True):
        parts_of = zip(share.tolist(), chance.tolist(), real.tolist(), strict=True)
        whole, *axes = (LabelTie(name, told, values, p, yes) for told, p, yes in parts_of)
        cards.append(LabelCard(name, whole, tuple(axes[:q]), axes[q] if several else None))
    return tuple(sorted(cards, key=lambda card: -card.map.share))


def _told(Y: Array, code: NDArray[np.intp], of: Array) -> tuple[Array, Array]:
    """The share of each sum of squares that lies between the values of a label, less chance, and its p."""
    n, g = len(Y), int(code.max()) + 1
    order = np.lexsort([*Y.T[::-1], code])  # an order that the rows' own does not matter to
    Y, code = Y[order] - Y.mean(axis=0), code[order]
    total = of @ (Y**2).sum(axis=0)
    scale = np.where(total > 0.0, total, 1.0)
    share = 1.0 - (1.0 - of @ _between(Y[None], np.bincount(code))[0] / scale) * (n - 1) / (n - g)
    some = np.sort(evenly_spread(n, DEALT_ROWS)) if n > DEALT_ROWS else np.arange(n)
    Y, code = Y[some] - Y[some].mean(axis=0), np.unique(code[some], return_inverse=True)[1]
    size, rng = np.bincount(code), np.random.default_rng(LABEL_DEALS)
    seen = of @ _between(Y[None], size)[0]
    Y = Y[np.lexsort(Y.T[::-1])]
    dealt = np.empty((DEALS, len(of)))
    for start in range(0, DEALS, DEALS_AT_ONCE):
        many = min(DEALS_AT_ONCE, DEALS - start)
        rows = rng.permuted(np.tile(np.arange(len(Y)), (many, 1)), axis=1)
        dealt[start : start + many] = _between(Y[rows], size) @ of.T
    beyond = (dealt >= seen * (1.0 - 1e-12)).sum(axis=0)
    mean, variance = dealt.mean(axis=0), dealt.var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = gammaincc(mean**2 / variance, seen * mean / variance)
    p = (1.0 + beyond) / (1.0 + DEALS)
    p = np.where((beyond < FEW_DEALS) & np.isfinite(tail), np.clip(tail, LEAST_P, p), p)
    return np.where(total > 0.0, share, 0.0), np.where(total > 0.0, p, 1.0)


def _between(Y: Array, size: NDArray[np.intp]) -> Array:
    """Sums of squares between parts of so many rows, of each column of centred tables (D x n x m)."""
    starts = np.concatenate([[0], np.cumsum(size)[:-1]])
    sums = np.add.reduceat(Y, starts, axis=1)
    return np.asarray((sums**2 / size[:, None]).sum(axis=1))


def share_between(values: Array, code: NDArray[np.int64]) -> float:
    """The share of the variance of some numbers that lies between parts, less chance; 0 where there are none.

    >>> round(share_between(np.array([1.0, 1.1, 3.0, 3.1, 0.9]), np.array([0, 0, 1, 1, 0])), 3)
    0.993
    """
    at = np.unique(code, return_inverse=True)[1]
    n, size = len(values), np.bincount(at)
    off = values - values.mean() if n else values
    total = float((off**2).sum())
    if total == 0.0 or not 1 < len(size) < n:
        return 0.0
    between = float((np.bincount(at, weights=off) ** 2 / size).sum())
    return 1.0 - (1.0 - between / total) * (n - 1) / (n - len(size))


# what rows of a group are ---------------------------------------------------------------------------------
class SharedValue(NamedTuple):
    """Values of a label that the rows of a group share."""

    label: str
    values: tuple[str, ...]
    inside: int  # rows of the group that have one of them
    known: int  # rows of the group that have any
    rows: int  # rows of the table that have one of them

    @property
    def words(self) -> str:
        """'species Adelie or Chinstrap in 219 of 219 rows'."""
        return f"{self.label} {listing(self.values, last=' or ')} in {self.inside:,} of {self.known:,} rows"

    @property
    def name(self) -> str:
        """What to call the group: its values, of codes and numbers with their label."""
        words = " or ".join(self.values)
        return words if any(letter.isalpha() for letter in words) else f"{self.label} {words}"


def values_of(groups: Sequence[Mask], labels: Mapping[str, Any]) -> list[SharedValue | None]:
    """For groups of rows the few values of one label that nearly all rows of the group have, and whose rows are of the
    group more often than not, beyond its share of all rows; None for a group that has none. The label is the one that
    tells most groups, and best.

    >>> area = np.array(["North", "North", "South", "West", "West", "West"] * 4)
    >>> found = values_of([area == "West", area != "West"], {"area": area, "half": np.repeat(["a", "b"], 12)})
    >>> [value.words for value in found]
    ['area West in 12 of 12 rows', 'area North or South in 12 of 12 rows']
    >>> values_of([np.arange(24) < 12], {"area": area})  # half of each
    [None]
    >>> values_of([np.arange(24) < 12], {"area": np.where(np.arange(24) < 12, None, area)})  # it is missing
    [None]
    >>> values_of([np.arange(24) < 16], {"code": np.where(np.arange(24) < 23, "0", "1")})  # nearly all rows have it
    [None]
    """
    best, shared = (0, 0.0), list[SharedValue | None]([None] * len(groups))
    for name, values in labels.items():
        texts = np.array(["" if v is None or v != v else str(v) for v in values])
        known = texts != ""
        own, at, times = np.unique(texts[known], return_inverse=True, return_counts=True)
        if len(own) < 2 or LEAST_NAMED_ROWS * len(own) > known.sum():
            continue
        told, agreed = list[SharedValue | None](), list[float]()
        for rows in groups:
            within = np.bincount(at, weights=rows[known], minlength=len(own))
            chosen = 2 * within > times
            inside, of_group = int(within[chosen].sum()), int(within.sum())
            usual = float(times[chosen].sum() / known.sum())  # of all rows, what is nothing to tell
            few = 0 < chosen.sum() <= min(MOST_VALUES, len(own) - 1)
            nearly_all = inside >= (SAME_ROWS + (1.0 - SAME_ROWS) * usual) * of_group
            # of a large group most rows of any value are, so that this is asked for beyond its share of all rows
            theirs = 2.0 * inside >= (1.0 + of_group / known.sum()) * times[chosen].sum()
            if not (few and nearly_all and theirs and 2 * of_group >= rows.sum()):
                told.append(None)
                continue
            told.append(SharedValue(name, tuple(own[chosen].tolist()), inside, of_group, int(times[chosen].sum())))
            agreed.append(inside / (of_group + times[chosen].sum() - inside))
        if agreed and (len(agreed), sum(agreed)) > best:
            best, shared = (len(agreed), sum(agreed)), told
    return shared


def commonest_values(rows: Mask, labels: Mapping[str, Any]) -> tuple[SharedValue, ...]:
    """What most of some rows are in each label, where more of them are than of all rows and chance; the label first
    that tells most.

    >>> area = np.repeat(["North", "South"], 10)
    >>> commonest_values(np.arange(20) % 10 < 5, {"area": area})
    ()
    >>> commonest_values(area == "South", {"area": area})[0].words
    'area South in 10 of 10 rows'
    """
    found = list[tuple[float, SharedValue]]()
    for name, values in labels.items():
        texts = np.array(["" if v is None or v != v else str(v) for v in values])
        known = texts != ""
        own, at, times = np.unique(texts[known], return_inverse=True, return_counts=True)
        within = np.bincount(at, weights=rows[known], minlength=len(own)) if len(own) > 1 else np.zeros(1)
        if not within.any() or LEAST_NAMED_ROWS * len(own) > known.sum():
            continue
        k, inside = int(within.argmax()), within.max() / within.sum()
        usual = times[k] / known.sum()
        if inside - usual < BEYOND_CHANCE * np.sqrt(usual * (1.0 - usual) / within.sum()):
            continue
        value = SharedValue(name, (str(own[k]),), int(within[k]), int(within.sum()), int(times[k]))
        found.append((usual - inside, value))
    return tuple(value for _, value in sorted(found, key=lambda pair: pair[0]))
