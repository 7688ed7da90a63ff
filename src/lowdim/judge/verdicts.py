"""What an analysis says in words: a few sentences and the trust strip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.judge.dimensions.text import in_words
from lowdim.judge.fills.calibration import width_word
from lowdim.judge.labels import values_of
from lowdim.judge.outliers.partition import is_group
from lowdim.judge.rows.odd_rows import disagrees, far_out, farthest_held, no_single_cell
from lowdim.judge.stability import DECIDING_DEGREES
from lowdim.table.table import MOST_GROUPS
from lowdim.text.format import count, listing, short

if TYPE_CHECKING:
    from lowdim.judge.maps.groups import RowGroups

NOT_RANDOM = " The gaps depend on values (LD124), so their intervals may contain fewer."
LONG_NAME = 42  # letters of a name in a sentence
LABEL_SHARE, AS_MUCH = 0.5, 0.05  # of an axis that a label tells, from which it is said; as good as equal to that
MOST_LABELS = 2  # that are said
OTHER_SHARE = 0.1  # of a group's rows, by which some other rows may differ and be the same group
ROWS_PER_DIMENSION = 3.0  # rows a dimension needs to be useful


class TrustCheck(NamedTuple):
    """One check of the trust strip: what was asked, whether it holds, and the evidence in words."""

    name: str
    holds: bool | None  # None = does not apply
    evidence: str


def sentences_of(analysis: Any) -> dict[str, str]:
    """What there is to say by its topic, in this order; a topic without news is left out."""
    fills, groups = analysis.fills, analysis.groups
    topics = {
        "dimensions": dimension_sentence(analysis),
        "axes": axis_sentence(analysis),
        "groups": " ".join(filter(None, (groups.sentence, groups.label_sentence))),
        "fills": fill_sentence(fills, not_random=bool(analysis.gaps.depends)) if fills.is_filled.any() else "",
        "odd": " ".join(filter(None, (odd_sentence(analysis.odd), held_sentence(analysis)))),
        "map": map_sentence(analysis),
        "sample": "" if analysis.of is None else sample_sentence(analysis),
    }
    short_of = short_names(c.name for c in analysis.table.columns)
    for name, told in sorted(short_of.items(), key=lambda pair: -len(pair[0])):  # one may hold another
        topics = {topic: text.replace(name, told) for topic, text in topics.items()}
    return {topic: text for topic, text in topics.items() if text}


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Names too long for a sentence, such as whole questions, with what stands for each: as much as tells them apart.

    >>> short_names(["Which of these films have you seen? Alien, the first of the year", "age"])
    {'Which of these films have you seen? Alien, the first of the year': 'Which of these films have…irst of the year'}
    """
    every = list(names)
    long = [name for name in every if len(name) > LONG_NAME]
    told = {name: short(name, LONG_NAME) for name in long}
    times = Counter([*told.values(), *every])
    return {name: words for name, words in told.items() if times[words] == 1}


def sample_sentence(analysis: Any) -> str:
    """Which figures come from all rows, and which from those that were drawn."""
    return (
        f"The model is fitted to all {analysis.of:,} rows; dimensions, fills, intervals, stability, odd rows "
        f"and pictures come from {analysis.table.n:,} rows drawn at random."
    )


def dimension_sentence(analysis: Any) -> str:
    words = in_words(analysis.jury)
    if analysis.settings.dims == "auto":
        return " ".join([words, *beside_lines(analysis)])
    return f"You asked for {count(analysis.dims, 'dimension')}. {words}"


def beside_lines(analysis: Any) -> list[str]:
    """What else there is to say of dimensions: the map's second axis, or what there is where nothing is shared."""
    if analysis.jury.needed:
        return ["The map has a second axis."] if second_axis(analysis.jury.needed, analysis.dims) else []
    found = [analysis.unshared.words] if analysis.unshared.words else []
    if analysis.by_variance:
        found.append("The map is of the columns' largest variances, in their own units (principal components).")
    return found or ["No groups of rows, no curves and no columns of several peaks were found either."]


def second_axis(needed: int, drawn: int) -> str:
    """What is said where one dimension is needed and the map has two axes, so that it can be drawn."""
    return "; the map has a second axis" if needed == 1 and drawn == 2 else ""


def axis_sentence(analysis: Any, names: bool = True) -> str:
    """The first axis; and of every axis that few rows make, which these are, or which of the groups."""
    if not analysis.axes:
        return "There is no axis to describe."
    made = (apart_sentence(card, analysis, names) for card in analysis.axes)
    first = str(analysis.axes[0].sentence)
    return " ".join(filter(None, (first, label_sentence(analysis), *made, unsteady(analysis.stability))))


def label_sentence(analysis: Any) -> str:
    """The labels that tell half of an axis or of the map, though they had no part in it: those that tell most, each by
    what it tells most of; of labels that tell as much the one of fewest values."""
    found = list[tuple[float, str, int, str]]()
    for card in analysis.labels:
        of_axes = [(f"axis {k}", tie) for k, tie in enumerate(card.axes, 1)]
        what, tie = max([*of_axes, ("the map", card.map)], key=lambda pair: pair[1].share)
        if tie.tied and tie.share >= LABEL_SHARE and tie.values <= MOST_GROUPS:
            found.append((tie.share, what, tie.values, card.label))
    told = list[tuple[float, str, int, str]]()
    while found and len(told) < MOST_LABELS:
        most = max(share for share, *_ in found)
        one = min((one for one in found if one[0] >= most - AS_MUCH), key=lambda one: one[2])
        told.append(one)
        found = [other for other in found if other[1] != one[1]]  # one label for each axis
    if not told:
        return ""
    words = " and ".join(f"{label} explains {share:.0%} of {what}" for share, what, _, label in told)
    return f"The label {words}; {'it was' if len(told) == 1 else 'they were'} not used to find the map."


def apart_sentence(card: Any, analysis: Any, names: bool) -> str:
    """The few rows that make an axis, and the label that they share; or which of the groups they are."""
    group = None if card.apart is None else told_group(card.apart.rows, analysis.groups)
    words: str = card.apart_words(analysis.row_names if names else None, group)
    if card.apart is None or group is not None:
        return words
    rows = np.isin(np.arange(analysis.table.n), card.apart.rows)
    shared = values_of([rows], analysis.table.labels)[0] if names else None
    return f"{words} They are {shared.words}." if shared else words


def told_group(rows: tuple[int, ...], groups: RowGroups) -> int | None:
    """The number of the group that some rows are, but for a few; None where they are none that is told.

    >>> from lowdim.judge.maps.groups import RowGroups
    >>> groups = RowGroups(np.array([0, 0, 0, 0, 0, 1, 1, 1]), ("flow",))
    >>> told_group((7, 6, 5), groups), told_group((4, 5), groups)
    (2, None)
    """
    for k, size in enumerate(groups.sizes[1:], 1):
        if len({*np.flatnonzero(groups.label == k).tolist()} ^ {*rows}) <= OTHER_SHARE * size:
            return k + 1
    return None


def unsteady(steady: Any) -> str:
    """What is said of a map that other rows of the same kind would turn far."""
    if steady.verdict != "unsteady":
        return ""
    what = "map is" if steady.axes.shape[1] > 1 else "axis is"
    return f"The {what} unsteady: resampling the rows turns it by about {np.median(steady.plane):.0f} degrees."


def fill_sentence(fills: Any, *, not_random: bool = False) -> str:
    """How the gaps were filled; what hidden cells say of intervals holds for gaps that come as those were chosen."""
    if not fills.is_filled.any():
        return "The measured columns have no gaps to fill."
    return str(fills.sentence) + NOT_RANDOM * (not_random and bool(fills.tried))


def odd_sentence(odd: Any) -> str:
    rate = 100 * (1 - odd.odd_level)
    below = f"{count(odd.below, 'row')} {'has' if odd.below == 1 else 'have'} p < {1 - odd.odd_level:.2g}"
    chance = f"{below}; about {odd.expected:,.0f} expected by chance"
    if odd.unjudged:
        first, *others = odd.unjudged
        beside = f", then {listing([row.name for row in others])}" if others else ""
        return (
            f"The most unusual row is {first.name}, because {because(first)}{beside}; it has no p-value, "
            "because no distribution fits most of the rows."
        )
    if not odd.rows:
        return f"No odd rows at a {rate:.3g}% false discovery rate ({chance})."
    first = odd.rows[0]
    many = len(odd.rows)
    lead = f"row {first.name}" if many == 1 else f"the oddest is row {first.name}"
    return f"{count(many, 'odd row')}{_together(odd)}: {lead}, because {because(first)} ({chance})."


def _together(odd: Any) -> str:
    """How many of the odd rows lie together, and from a share of the rows on what that is a sign of."""
    if not odd.groups:
        return ""
    size, n = len(odd.groups[0]), len(odd.odd)
    text = f", {'all' if size == len(odd.rows) else size} of them together"
    rather = f" ({100 * size / n:.0f}% of the rows: more likely a group or a curve than single errors)"
    return text + rather * is_group(size, n)


def held_sentence(analysis: Any) -> str:
    """What is left out of the fit: the farthest of its cells in no odd row, or its rows where none of them is odd."""
    held, odd = analysis.partition, analysis.odd
    named = {*np.flatnonzero(odd.odd).tolist(), *(r.row for r in odd.unjudged)}
    shown = [(i, j) for i, j in held.wrong_cells.tolist() if i not in named]
    names, p = analysis.row_names, odd.D2.p
    far = sorted(
        held.far_rows.tolist(), key=lambda i: (p[i], names[i])
    )  # the farthest first, in whatever order they came
    if far and not shown and named.isdisjoint(far):
        which = "row" if len(far) == 1 else "rows"
        return f"{held.sentence.removesuffix('.')} ({which} {listing(names[i] for i in far)})."
    if not shown:
        return str(held.sentence)
    row, cell = farthest_held(analysis.map, odd.judged.law, analysis.table, held, shown)
    apart = "Apart from the odd rows, the" if np.any(odd.odd) else "The"
    return f"{held.sentence} {apart} farthest cell is in row {analysis.row_names[row]}: {cell}."


def because(row: Any) -> str:
    """Why a row is odd, in half a sentence."""
    if far_out(row.p_D2, row.p_hidden, row.p_Q, row.surprise):
        return "it lies far out on the map; no single cell explains it"
    if no_single_cell(row.surprise, row.p_hidden, row.words):
        return "its cells contradict each other; no single cell explains it"
    return disagrees(row.column, row, row.words)


def map_sentence(analysis: Any) -> str:
    shares = [card.share for card in analysis.axes]
    if not shares:
        return "There is no map to draw."
    shown = 100 * sum(shares[:2])
    if len(shares) <= 2:
        name = "2-D map shows" if len(shares) == 2 else "only axis shows"
        weaker = " or weaker dimensions" if analysis.jury.detectable > len(shares) else ""
        if f"{shown:.0f}" == "100":
            return f"The {name} nearly all of the variation."
        return f"The {name} {shown:.0f}% of the variation; the rest is column-by-column noise{weaker}."
    q = len(shares)
    other = "axis 3" if q == 3 else f"axes 3 {'and' if q == 4 else 'to'} {q}"
    return f"The 2-D map shows {shown:.0f}% of the variation; read it together with {other}."


def _predicts(fills: Any) -> TrustCheck:
    """Whether fills are better than the column means, or where there are words only than their most frequent ones."""
    words = "predicts hidden cells"
    if not fills.tried and any(c.tried for c in fills.labels):
        counts = [(c.right, c.usual, c.tried) for c in fills.labels]
        right, usual, tried = (sum(part) for part in zip(*counts, strict=True))
        share, most = f"{100 * right / tried:.0f}%", f"{100 * usual / tried:.0f}%"
        text = f"{share} of {tried:,} hidden labels were right; the most frequent label is in {most}"
        return TrustCheck(words, right > usual, text)
    if not fills.tried:
        return TrustCheck(words, None, "no cell was hidden")
    return TrustCheck(
        words,
        bool(fills.skill > 0.0),
        f"fills remove {100 * fills.skill:.0f}% of the squared error of column means (the fills' own model; "
        f"the map's share is Q2, under dimensions)",
    )


def _covers(fills: Any, not_random: bool) -> TrustCheck:
    """Whether intervals hold; cells hidden at random cannot vouch for gaps that go with values."""
    name = "intervals contain what they claim"
    if not fills.tried:
        words = "labels have probabilities in place of intervals" if fills.labels else "no cell was hidden"
        return TrustCheck(name, None, words)
    held = "narrow" not in width_word(fills.held, fills.tried, fills.level) and not not_random
    doubt = "; these were hidden at random and the gaps are not, so of them fewer may hold" if not_random else ""
    claim = f"{fills.held:,} of {fills.tried:,} hidden cells, {100 * fills.level:.0f}% claimed"
    return TrustCheck(name, held, claim + doubt)


def trust_strip(analysis: Any) -> tuple[TrustCheck, ...]:
    """Six checks; each points to its evidence."""
    n, q = analysis.of or analysis.table.n, analysis.dims
    gaps, fills, steady = analysis.gaps, analysis.fills, analysis.stability
    enough = n >= ROWS_PER_DIMENSION * max(q, 1) and n >= 3 * analysis.table.d / 2
    random = None if gaps.gaps == 0 else not gaps.depends
    return (
        TrustCheck(
            "enough rows",
            bool(enough),
            f"{count(n, 'row')} for {count(q, 'dimension')} of {count(analysis.table.d, 'column')}",
        ),
        TrustCheck("gaps plausible at random", random, gaps.sentence),
        _predicts(fills),
        _covers(fills, bool(gaps.depends)),
        TrustCheck(
            "map is stable",
            None if q == 0 else steady.verdict == "steady",
            steady.sentence.replace(f"; {steady.one_row}", ""),  # which the next check says
        ),
        TrustCheck(
            "no single row decides",
            None if not steady.removed else bool(steady.removed[0].angle < DECIDING_DEGREES),
            steady.one_row,
        ),
    )
