"""What drives each axis: loadings with bootstrap intervals, labels tied to it, rows at its ends or alone beyond a gap.

An axis of the map is a sum of columns with signs. Each loading gets an interval from the same map with its rows drawn
again (`judge/stability.py`), matched to the fitted axes by order and sign. Two axes whose variances differ by less than
resampling moves the difference are interchangeable: only their plane is determined, so resampled ones are turned onto
the fitted ones within it, and the card says so.

Few rows may make an axis. A far group draws an axis to itself, or a line between the axes. Along that line the scores
are as skew as along any, since the third moments of two groups of one shape are those of the line that joins them; so
the axes and the skewest lines of the map are looked at. The largest m scores of a smooth law have an exponential tail,
whatever their unit. Then m times the stretch that holds the next r scores, over r times the mean distance of the
largest from their nearest, has an F law with 2 r and 2 (m - 1) degrees of freedom (Renyi): r = 1 asks for a gap, a
larger r for a stretch that is nearly empty. Lighter tails (uniform scores) leave somewhat wider gaps, and levels leave
many, so it must also be wide beside the spread of the other rows and beside their own gaps.

Reference: Gabriel (1971) for loadings; Efron and Tibshirani (1993), ch. 13 for percentile intervals;
North et al. (1982) for nearly equal eigenvalues; Renyi (1953), "On the theory of order statistics", Acta Mathematica
Hungarica 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import fdtrc

from lowdim.judge.labels import LabelCard, LabelTie
from lowdim.judge.maps.map_columns import line_names, lines_of
from lowdim.judge.outliers.partition import AXIS_SHARE, GROUP_ROWS
from lowdim.maths.linalg import Array, Mask, align
from lowdim.table.column import one_name
from lowdim.text.escape import protect_terminal
from lowdim.text.format import count, listing
from lowdim.text.messages import check_level
from lowdim.text.table import text_table

if TYPE_CHECKING:
    from lowdim.judge.maps.latent_cells import LatentCells
    from lowdim.judge.stability import ResampledMap

NEAR_VARIANCE = 1.25  # times that of another axis, up to which two may be interchangeable
MOST_NAMED = 4  # columns an axis is named after, at the most
NEAR_LARGEST = 0.5  # of the largest loading: what a column needs to be one of them
LEAST_TOLD = 0.05  # of the rows, that have a label which says which way an axis goes
TOGETHER = 0.75  # of the columns, from which an axis is all of them together
END_ROWS = 3  # rows shown at each end
# rows that alone make an axis:
MADE_SHARE = 0.5  # of an axis' variation that must lie between them and the others
WIDE_GAP = 0.5  # of the others' standard deviation
GAP_LEVEL = 0.01  # how rarely a smooth tail may leave such a gap, over all cuts and lines
STRAY_SHARE = 0.02  # of the rows that may lie in the gap
OWN_GAPS = 1.5  # times the widest gap between the others
TAIL_SHARE = 0.05  # of all rows at the other end, whose gaps are those of a tail
SAME_LINE = 0.9  # correlation from which a line is the axis
PART_OF_LINE = 0.3  # and from which the axis is one of those it lies between
POWER_STEPS = 30  # towards a skewest line; each about squares what is left


class Loading(NamedTuple):
    """One column's loading on one axis, with its bootstrap interval."""

    column: str
    value: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether its sign is."""
        return self.low > 0.0 or self.high < 0.0


class ApartRows(NamedTuple):
    """Rows that lie apart along a line of the map, by position from 0."""

    rows: tuple[int, ...]  # the farthest first
    share: float  # of the variation along the line that lies between them and the others
    axes: tuple[int, ...]  # that the line lies between, from 1 and the nearest first; one where it is that axis


class AxisCard(NamedTuple):
    """One axis."""

    axis: int  # from 1
    share: float  # of the table's variation
    loadings: tuple[Loading, ...]  # every column, in the table's order
    top: tuple[Loading, ...]  # those the axis is named after, largest first
    interchangeable: tuple[int, ...]  # axes that share a plane with this one, itself included; () if none
    labels: tuple[LabelTie, ...]
    low_rows: tuple[int, ...]  # positions from 0 of the rows at the negative end, furthest first
    high_rows: tuple[int, ...]
    level: float
    refits: int
    sentence: str
    apart: ApartRows | None = None  # the few rows that alone make it, or a line between it and others

    def apart_words(self, row_names: Sequence[str] | None = None, group: int | None = None) -> str:
        """Which few rows make the axis, "" where none do; without names, how many; of a group that is told already, its
        number."""
        if self.apart is None:
            return ""
        which = "" if row_names is None else f" (rows {listing(row_names[i] for i in self.apart.rows)})"
        *some, last = map(str, sorted(self.apart.axes))
        if group is not None:
            far, make = f"Group {group} lies", "makes"
        else:
            far, make = f"{count(len(self.apart.rows), 'row')} lie", "make"
        line = f"in a direction between axes {', '.join(some)} and {last}" if some else f"along axis {last}"
        share = f"{100 * self.apart.share:.0f}% of the variation along it"
        return f"{far} far from all others {line} and {make} {share}{which if group is None else ''}."

    def __repr__(self) -> str:
        """At most four lines: what the axis is made of, and where the rest is."""
        return "\n".join(filter(None, (self.sentence, self.apart_words(), ".text(), .loadings, .labels, .low_rows")))

    def text(self, row_names: Sequence[str] | None = None) -> str:
        """The card of `lowdim explain --axis`."""
        apart = [f"  {words}"] if (words := self.apart_words(row_names)) else []
        rows = [("column", "loading", f"{100 * self.level:.3g}% of {self.refits} refits", "")]
        for c in sorted(self.loadings, key=lambda c: -abs(c.value)):
            rows.append(
                (c.column, f"{c.value:+.2f}", f"{c.low:+.2f} .. {c.high:+.2f}", "" if c.sure else "sign not sure")
            )
        lines = [self.sentence, *apart, *text_table(rows, right=(1,))]
        lines += [
            f"  label {t.label}: explains {100 * t.share:.0f}% of the axis by its {t.values} values (p {t.p:.1g})"
            for t in self.labels
            if t.tied
        ]
        return "\n".join(lines)


# the cards -----------------------------------------------------------------------------------------------
def axes(
    found: ResampledMap,
    scores: Array,
    *,
    cards_of_labels: Sequence[LabelCard] = (),
    answers: Mapping[str, Sequence[str]],
    level: float,
    outside: Mask | None = None,
) -> tuple[AxisCard, ...]:
    """A card for every axis of a map: what it is made of, and how surely.

    `scores` are the places of the rows on it. `cards_of_labels` are what labels that did not shape the axes tell of
    them; `answers` are the labels that columns of the map hold. Rows `outside` the fit make no axis.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 1)) * [1.2, 1.0, -0.8, 0.0] + 0.2 * rng.standard_normal((100, 4))
    >>> from lowdim.judge.maps.table_map import table_map
    >>> from lowdim.judge.stability import refitted_map
    >>> from lowdim.models.linear.ppca import ProbabilisticPCA
    >>> map = table_map(ProbabilisticPCA(1).fit(X), ("c1", "c2", "c3", "c4"))
    >>> resampled = refitted_map(map.cells, X, bootstraps=20)
    >>> axes(resampled, map.transform(X), answers={}, level=0.9)[0].sentence
    'Axis 1 is c1 + c2 against c3 (94% of variation).'
    """
    check_level(level)
    cells, W = found.cells, found.fitted
    # resampled axes in the fitted order and signs; those that a rotation told apart are already
    groups = () if found.turned else tied_axes(W, found.W, cells.axis_unit)
    drawn = found.W if found.turned else np.array([matched(W, Wb, groups) for Wb in found.W])
    drawn = drawn if len(drawn) else W[None]
    value, names = cells.loadings_of(W), line_names(cells.columns)
    low, high = np.quantile(cells.loadings_of(drawn), [(1 - level) / 2, (1 + level) / 2], axis=0)
    low, high = np.minimum(low, value), np.maximum(high, value)  # resampled columns share less with an axis than all do
    fitted = np.arange(len(scores)) if outside is None else np.flatnonzero(~outside)
    parted = rows_apart(scores[fitted]) if cells.places_vary else ()
    apart = {few.axes[0]: few._replace(rows=tuple(fitted[list(few.rows)].tolist())) for few in parted}
    cards = []
    for k, share in enumerate(cells.shares):
        ends = zip(names, *(part[:, k].tolist() for part in (value, low, high)), strict=True)
        loadings = tuple(Loading(*column) for column in ends)
        # the columns it is named after: large beside the largest, and of a sure sign where any is
        own = by_column(loadings, lines_of(cells.columns), cells)
        largest = max((abs(c.value) for c in own), default=0.0)
        near = [c for c in own if abs(c.value) >= NEAR_LARGEST * largest and largest > 0]
        sure = sorted([c for c in near if c.sure] or near, key=lambda c: -abs(c.value))
        top = both_ends(sure)
        told = together(sure, len(own)) if not any(answers.values()) else with_answers(top, answers)
        same = next((tuple(a + 1 for a in group) for group in groups if k in group), ())
        order = np.argsort(scores[:, k], kind="stable").tolist()
        few = min(END_ROWS, len(order) // 2)
        cards.append(
            AxisCard(
                axis=k + 1,
                share=share,
                loadings=loadings,
                top=top,
                interchangeable=same,
                labels=tuple(sorted((card.axes[k] for card in cards_of_labels), key=lambda tie: (tie.p, -tie.share))),
                low_rows=tuple(order[:few]),
                high_rows=tuple(order[::-1][:few]),
                level=level,
                refits=len(found.W),
                sentence=sentence(k + 1, told, share, same),
                apart=apart.get(k + 1),
            )
        )
    return tuple(cards)


def by_column(
    loadings: Sequence[Loading], lines: Sequence[tuple[int, int | None]], cells: LatentCells
) -> list[Loading]:
    """One loading a column: of several labels the root mean square, each by its spread, named by the labels at the two
    ends of the axis that are not rare. It rises with the first of them."""
    shares, found = cells.line_shares, dict[int, list[int]]()
    for line, (k, _) in enumerate(lines):
        found.setdefault(k, []).append(line)
    single = [loadings[own[0]] for own in found.values() if len(own) == 1]
    lead = 1.0 if not single or max(single, key=lambda c: abs(c.value)).value >= 0 else -1.0
    out = list[Loading]()
    for k, own in found.items():
        if len(own) == 1:
            out.append(loadings[own[0]])
            continue
        column = cells.columns[k]
        often = [line for line in own if shares[line] >= LEAST_TOLD] or own
        rising = sorted(often, key=lambda line: -lead * loadings[line].value)
        ends = [column.labels[int(lines[line][1] or 0)] for line in (rising[0], rising[-1])]
        if len(rising) == 1:  # the others are rare, each by itself
            ends = [ends[0], "others"] if lead * loadings[rising[0]].value >= 0 else ["others", ends[0]]
        named = f"{column.name} ({ends[0]} rather than {ends[1]})"
        spread = np.array([shares[line] * (1.0 - shares[line]) for line in own])
        size = float(np.sqrt(spread @ np.array([loadings[line].value ** 2 for line in own]) / max(spread.sum(), 1e-12)))
        sure = any(loadings[line].sure for line in (rising[0], rising[-1]))
        ends_of = sorted((lead * size, 0.0 if not sure else lead * 0.5 * size))
        out.append(Loading(protect_terminal(named), lead * size, ends_of[0], ends_of[1]))
    return out


def sentence(axis: int, top: tuple[Loading, ...], share: float, same: tuple[int, ...]) -> str:
    """'Axis 1 is white_flow + t_lower against kappa (23% of variation).'"""
    if not top:
        return f"Axis {axis} is made of no column: nothing is left for it."
    lead = np.sign(top[0].value)
    one = " + ".join(r.column for r in top if np.sign(r.value) == lead)
    other = " + ".join(r.column for r in top if np.sign(r.value) != lead)
    doubt = "" if any(r.sure for r in top) else "; no loading's sign is sure"
    text = f"Axis {axis} is {one}{' against ' + other if other else ''} ({100 * share:.0f}% of variation{doubt})."
    if same:
        listed = ", ".join(map(str, same[:-1])) + f" and {same[-1]}"
        text += f" Axes {listed} are interchangeable: read them together."
    return text


def together(near: Sequence[Loading], d: int) -> tuple[Loading, ...]:
    """The columns that an axis of d columns is named after; where nearly all of them rise together that is said, since
    the third decimal of a loading picks no four."""
    one_sign = len({c.value > 0 for c in near}) == 1
    if len(near) <= MOST_NAMED or len(near) < TOGETHER * d or not one_sign:
        return both_ends(near)
    many, led = "all" if len(near) == d else f"{len(near)} of", listing(c.column for c in near[:MOST_NAMED])
    return (near[0]._replace(column=f"{many} {d} columns together, led by {led}"),)


def both_ends(near: Sequence[Loading]) -> tuple[Loading, ...]:
    """The first columns of a list, largest first, the last of which gives way to the largest of the other sign where
    all of them have one: an axis has two ends."""
    top = tuple(near[:MOST_NAMED])
    other = next((c for c in near if (c.value > 0) != (near[0].value > 0)), None)
    return top if other is None or other in top else (*top[:-1], other)


def with_answers(top: Sequence[Loading], answers: Mapping[str, Sequence[str]]) -> tuple[Loading, ...]:
    """The columns that an axis is named after, those that hold one of two answers by the answer that the axis has more
    of, and as the file calls them.

    >>> top = [Loading(f"V{k}=y", v, v, v) for k, v in ((5, 0.9), (4, 0.8), (0, -0.7))]
    >>> told = with_answers(top, {f"V{k}": ("n", "y") for k in range(6)})
    >>> sentence(1, told, 0.5, ())
    "Axis 1 is 'y' on V5 and V4 against V0 (50% of variation)."
    """
    known: dict[str, tuple[str, str]] = {}
    for name, labels in answers.items():
        if len(labels) == 2:  # a mixed map names the answer of a loading, a Gaussian one the column alone
            known |= dict.fromkeys((name, one_name(name, labels[1])), (name, labels[1]))
    if not any(c.column in known for c in top):
        return tuple(top)
    one_answer = len({known.get(c.column, ("", ""))[1] for c in top}) == 1  # it then needs no second word
    told: list[Loading] = []
    for lead in (True, False):
        side = [c for c in top if (c.value > 0) == (top[0].value > 0 if lead else top[0].value <= 0)]
        by_answer: dict[str, list[Loading]] = {}  # the columns of each answer together, then those of numbers
        for c in side:
            if c.column in known:
                by_answer.setdefault(known[c.column][1], []).append(c)
        for answer, own in by_answer.items():
            *many, last = (known[c.column][0] for c in own)
            names = f"{', '.join(many)} and {last}" if many else last
            word = answer if len(answer) > 1 else f"'{answer}'"
            words = f"{word} on {names}" if lead or not one_answer else names
            told.append(own[0]._replace(column=words, low=min(c.low for c in own), high=max(c.high for c in own)))
        told += [c for c in side if c.column not in known]
    return tuple(told)


# matching resampled axes ------------------------------------------------------------------------------------
def tied_axes(W: Array, resampled: Array, unit: Array | float = 1.0) -> tuple[tuple[int, ...], ...]:
    """Groups of neighbouring axes whose variances are near each other and resampling cannot tell apart, positions
    from 0.

    Resampled weights are turned onto the fitted W as a whole, so the variances along the *fitted* directions can be
    compared without the sorting that keeps the eigenvalues of a resampled table apart; `unit` is what weights are
    multiplied by for that.
    """
    q, unit = W.shape[1], np.broadcast_to(unit, len(W))
    if q < 2 or len(resampled) < 2:
        return ()
    W, resampled = W * unit[:, None], resampled * unit[:, None]
    value = (W**2).sum(axis=0)
    turned = np.array([(align(Wb, W) ** 2).sum(axis=0) for Wb in resampled])
    groups, start = [], 0
    for k in range(1, q + 1):
        # against the first of the group, not the neighbour: a long chain of small steps is no tie
        near = k < q and value[start] < NEAR_VARIANCE * value[k]
        if near and value[start] - value[k] < 2.0 * (turned[:, start] - turned[:, k]).std():
            continue
        groups += [tuple(range(start, k))] if k - start > 1 else []
        start = k
    return tuple(groups)


def matched(W: Array, Wb: Array, groups: tuple[tuple[int, ...], ...]) -> Array:
    """A refit's axes in the fitted order and signs, turned within groups of interchangeable axes."""
    size = np.linalg.norm(W, axis=0)[:, None] * np.linalg.norm(Wb, axis=0)
    cosine = (W.T @ Wb) / np.where(size > 0, size, 1.0)
    _, order = linear_sum_assignment(-np.abs(cosine))
    sign = np.where(cosine[np.arange(len(order)), order] < 0, -1.0, 1.0)
    out = Wb[:, order] * sign
    for group in groups:
        at = list(group)
        out[:, at] = align(out[:, at], W[:, at])
    return out


# rows that alone make an axis ---------------------------------------------------------------------------------
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
