"""The jury's verdict in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lowdim.text.format import clip, count
from lowdim.text.notebook import card

if TYPE_CHECKING:
    from lowdim.judge.dimensions.jury import DimensionRow, Jury

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
BAR_LENGTH = 12  # the longest bar of hashes stands for all variance
LITTLE_SKILL = 0.1  # share of left-out cells that two dimensions predict, below which they sum nothing up
NOTHING_SHARED = "no shared structure found"
NOTHING_PREDICTS = "no measured column predicts another along a straight line."


def number(k: int) -> str:
    """A small number as a word.

    >>> number(3), number(40)
    ('three', '40')
    """
    return NUMBERS[k] if k < len(NUMBERS) else str(k)


def how_well(jury: Jury) -> str:
    """How well the dimensions needed predict hidden cells, beside more; 'no better' only where none is detectable."""
    share = f"{jury.carried:.0%}"
    if jury.carried >= 0.995:
        share = "more than 99%" if jury.detectable > jury.q else "all"
    worse = f"hidden cells are predicted {share} as well as with more"
    words = "more predict hidden cells no better" if share == "all" else worse
    return f"{words}{', in their own units' if jury.own_units else ''}"


def sentence(jury: Jury) -> str:
    """'2 (more predict hidden cells no better)', or 'no shared structure found'."""
    if jury.q == 0:
        return NOTHING_SHARED
    more = jury.detectable - jury.q
    weaker = f"; {count(more, 'weaker one')} detectable" if more > 0 else ""
    return f"{jury.q} ({how_well(jury)}{weaker})"


def in_words(jury: Jury) -> str:
    """'Two dimensions are needed: more predict hidden cells no better.'"""
    if jury.q == 0:
        return f"{NOTHING_SHARED[0].upper()}{NOTHING_SHARED[1:]}: {NOTHING_PREDICTS}"
    if not jury.rows:
        return f"Your table has {count(jury.q, 'dimension')}, which leave no noise."
    more = jury.detectable - jury.q
    needed = "dimension is needed" if jury.q == 1 else "dimensions are needed"
    words = [f"{number(jury.q).capitalize()} {needed}: {how_well(jury)}."]
    if more > 0:
        are = "dimension is" if more == 1 else "dimensions are"
        words.append(f"{number(more).capitalize()} weaker {are} detectable too.")
    return " ".join([*shares_little(jury), *words])


def shares_little(jury: Jury) -> list[str]:
    """A sentence where even two dimensions (one, if no more were tried) predict next to nothing of a cell."""
    if jury.q == 0 or len(jury.skill) < 2 or max(jury.skill[:3]) >= LITTLE_SKILL:
        return []
    axes = "one axis predicts" if len(jury.skill) == 2 else "two axes predict"
    predicted = f"{max(jury.skill[:3]):.0%} of a cell's variance from the rest of its row"
    return [f"The columns share little: {axes} only {predicted}."]


def jury_text(jury: Jury) -> str:
    """The table of `lowdim dims`: plain characters, no colour needed."""
    lines = [f"Dimensions: {jury.sentence}", ""]
    if jury.rows:
        lines += [
            "  q   variance   cells of left-out rows   evidence        noise floor",
            "      shared     skill       own units    weight          (parallel analysis)",
        ]
        lines += [_row(row, jury) for row in jury.rows]
        lines += ["", *_judges(jury), *_explained(jury)]
    if jury.distances is not None:
        lines.append(f"  Spread check: {jury.distances.sentence[0].lower()}{jury.distances.sentence[1:]}")
    return "\n".join([*lines, *(f"  Note: {note}." for note in jury.notes)])


def _explained(jury: Jury) -> list[str]:
    """What the columns of the table are."""
    tried = [row.variance for row in jury.rows if row.q == jury.q]
    share = tried[0] if tried else jury.rows[-1].variance
    return [
        f"  {share:.0%} of the variation is shared structure, {1.0 - share:.0%} is column-by-column noise",
        "  (variance shared = 1 - noise variance of the fit with q dimensions / mean variance).",
        "  Skill: share of the variance of a left-out row's cells that the rest of the row predicts; columns as",
        "  normal scores, a noise for each. Own units: the same (Q2) of principal axes, as the map has them.",
        *(f"  {words}" for words in shares_little(jury)),
    ]


def _row(row: DimensionRow, jury: Jury) -> str:
    mark = ">" if row.q == jury.q else " "
    skill = "" if row.skill is None else f"{row.skill:.2f}"
    bar = "" if row.skill is None else "#" * round(max(row.skill, 0.0) * BAR_LENGTH)
    own = "" if row.q2 is None else f"{row.q2:.2f}"
    weight = "." if row.bic_weight < 0.005 else f"{row.bic_weight:.0%}"
    heavy = "#" * round(row.bic_weight * 9)
    floor = "" if row.q == 0 else "above" if row.above_noise else "below"
    tail = "<- needed" if row.q == jury.q else "<- detectable" if row.q == jury.detectable else ""
    return (
        f" {mark}{row.q:<3} {row.variance:>4.0%}     {skill:<5} {bar:<12} {own:<6} {weight:<4} {heavy:<10} "
        f"{floor:<9} {tail}"
    ).rstrip()


def _judges(jury: Jury) -> list[str]:
    answers = [f"{j.name} {j.q} ({j.detail})" for j in jury.judges if j.q is not None]
    lines = [f"  {'Judges: ' if i == 0 else '        '}{words}" for i, words in enumerate(answers)]
    lines += [f"          absent: {j.name} ({j.detail})" for j in jury.judges if j.q is None]
    near = [c for c in jury.paired if abs(c.other - jury.q) == 1]
    if near:
        lines.append(f"  Skill, paired: {'; '.join(map(str, near))} (+- standard error, rows as clusters).")
    return lines


def jury_lines(jury: Jury) -> str:
    """The jury in at most four lines: the answer, every judge's number, what was tried."""
    answers = ", ".join(f"{j.name} {j.q}" for j in jury.judges if j.q is not None)
    tried = f"{jury.rows[0].q} to {jury.rows[-1].q} tried" if jury.rows else "none tried"
    notes = (clip(note, 120) for note in jury.notes[:1])
    return "\n".join(
        filter(None, (f"Dimensions: {jury.sentence}", answers, *notes, f"{tried}: .text(), .rows, .judges"))
    )


def jury_card(jury: Jury) -> str:
    """Every number of dimensions that was tried, and what each judge says."""
    listed = [_tried(row, jury) for row in jury.rows]
    details = "; ".join(f"{j.name}: {'cannot say' if j.q is None else j.q} ({j.detail})" for j in jury.judges)
    return card(
        f"Dimensions: {jury.sentence}",
        ("q", "variance shared", "skill", "Q2 in own units", "evidence weight", "above the noise"),
        listed,
        note="; ".join([details, *jury.notes]),
    )


def _tried(row: DimensionRow, jury: Jury) -> tuple[str, ...]:
    role = " (needed)" if row.q == jury.q else " (detectable)" if row.q == jury.detectable else ""
    return (
        f"{row.q}{role}",
        f"{100 * row.variance:.0f}%",
        "" if row.skill is None else f"{row.skill:.2f}",
        "" if row.q2 is None else f"{row.q2:.2f}",
        f"{row.bic_weight:.2g}",
        "" if row.above_noise is None else "yes" if row.above_noise else "no",
    )
