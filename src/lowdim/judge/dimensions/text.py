"""The jury's verdict in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lowdim.text.format import clip
from lowdim.text.notebook import card

if TYPE_CHECKING:
    from lowdim.judge.dimensions.jury import DimensionRow, Jury

SURE_WEIGHT = 0.95  # evidence weight from which an answer needs no doubt beside it
NUMBERS = ("no", "one", "two", "three", "four", "five")
BAR_LENGTH = 20  # the longest bar of hashes stands for 1 / BAR each


def sentence(jury: Jury, weight: float) -> str:
    """'5', '5 (one judge says 4)', 'between 3 and 6' or 'no shared structure found'.

    One dissenting judge, another q that predicts hidden cells no worse, or an evidence weight below 0.95 is
    said beside the number; two dissenting judges make it a range. As many dimensions as columns allow are said
    to be so: '9 (as many as 10 columns allow; one judge says 4)'.
    """
    dissent = [v for v in jury.votes if v != jury.q]
    if len(dissent) > 1:
        head, doubt = f"between {min(jury.votes)} and {max(jury.votes)}", ""
    else:
        head = "no shared structure found" if jury.q == 0 else str(jury.q)
        doubt = _doubt(jury, dissent, weight)
    remarks = "; ".join(filter(None, (_saturated(jury), doubt)))
    return f"{head} ({remarks})" if remarks else head


def _doubt(jury: Jury, dissent: list[int], weight: float) -> str:
    if dissent:
        return f"one judge says {dissent[0]}"
    if jury.no_worse:
        return _no_worse(jury)
    return "" if weight >= SURE_WEIGHT else f"evidence weight {weight:.0%}"


def _saturated(jury: Jury) -> str:
    if not jury.saturated:
        return ""
    which = f"{jury.q} is as" if len({v for v in jury.votes if v != jury.q}) > 1 else "as"
    return f"{which} many as {jury.columns} columns allow"


def no_summary(jury: Jury, shown: float) -> str:
    """What as many dimensions as columns mean; `shown` is the share of variation on a map of two axes."""
    if not jury.saturated or jury.q < 3:  # two axes show all of two dimensions
        return ""
    return f"the table has no low-dimensional summary; a map of 2 axes shows {shown:.0%}"


def _no_worse(jury: Jury) -> str:
    found = jury.no_worse
    if len(found) == 1:
        return f"{found[0]} predicts no worse"
    if len(found) > 2 and found[-1] - found[0] == len(found) - 1:
        return f"{found[0]} to {found[-1]} predict no worse"
    return f"{', '.join(map(str, found[:-1]))} and {found[-1]} predict no worse"


def headline(jury: Jury) -> str:
    """The first line: the answer and every doubt about it."""
    dissent: dict[int, int] = {}
    for vote in jury.votes:
        if vote != jury.q:
            dissent[vote] = dissent.get(vote, 0) + 1
    total = NUMBERS[len(jury.votes)] if len(jury.votes) < len(NUMBERS) else str(len(jury.votes))
    doubts = [
        f"{NUMBERS[k]} judge{'s' if k > 1 else ''} of {total} say{'' if k > 1 else 's'} {v}"
        for v, k in sorted(dissent.items())
    ]
    doubts = [*filter(None, [_saturated(jury)]), *doubts, *([_no_worse(jury)] if jury.no_worse else [])]
    return f"Dimensions: {jury.sentence.split(' (')[0]}" + (f"   ({'; '.join(doubts)})" if doubts else "")


def jury_text(jury: Jury) -> str:
    """The table of `lowdim dims`: plain characters, no colour needed."""
    lines = [headline(jury), ""]
    if jury.rows:
        lines += [
            "  q   variance   held-out cells      evidence        noise floor",
            "      shared     Q2                  weight          (parallel analysis)",
        ]
        lines += [_row(row, jury.q) for row in jury.rows if row.q or jury.q == 0]
        lines += ["", *_judges(jury)]
        share = next((row.variance for row in jury.rows if row.q == jury.q), 0.0)
        lines += [
            f"  {share:.0%} of the variation is shared structure, {1.0 - share:.0%} is column-by-column noise",
            "  (variance shared = 1 - noise variance of the fit with q dimensions / mean variance).",
        ]
        summary = no_summary(jury, _plane(jury))
        lines += [f"  As many dimensions as columns allow: {summary} of the variance."] if summary else []
    if jury.distances is not None:
        lines.append(f"  Spread check: {jury.distances.sentence[0].lower()}{jury.distances.sentence[1:]}")
    return "\n".join([*lines, *(f"  Note: {note}." for note in jury.notes)])


def _plane(jury: Jury) -> float:
    """The share of variance along the two longest axes."""
    values = jury.eigenvalues.clip(min=0.0)
    return float(values[:2].sum() / values.sum()) if values.sum() > 0 else 0.0


def _row(row: DimensionRow, chosen: int) -> str:
    mark = ">" if row.q == chosen else " "
    skill = "" if row.q2 is None else f"{row.q2:.2f}"
    bar = "" if row.q2 is None else "#" * round(max(row.q2, 0.0) * BAR_LENGTH)
    weight = "." if row.bic_weight < 0.005 else f"{row.bic_weight:.0%}"
    heavy = "#" * round(row.bic_weight * 9)
    floor = "" if row.q == 0 else "above" if row.above_noise else "below"
    tail = "<- recommended" if row.q == chosen else ""
    return (
        f" {mark}{row.q:<3} {row.variance:>4.0%}     {skill:<6} {bar[:12]:<13} {weight:<4} {heavy:<10} "
        f"{floor:<9} {tail}"
    ).rstrip()


def _judges(jury: Jury) -> list[str]:
    voting = [f"{j.name} {j.q} ({j.detail})" for j in jury.judges if j.q is not None and j.votes]
    lines = [f"  {'Judges: ' if i == 0 else '        '}{words}" for i, words in enumerate(voting)]
    advising = [f"{j.name}: {j.q} ({j.detail})" for j in jury.judges if j.q is not None and not j.votes]
    lines += [f"          heard, not voting: {words}" for words in advising]
    lines += [f"          absent: {j.name} ({j.detail})" for j in jury.judges if j.q is None]
    near = [c for c in jury.paired if abs(c.other - jury.q) == 1]
    if near:
        lines.append(f"  Hidden cells, paired: {'; '.join(map(str, near))} (nats a cell, +- standard error).")
    return lines


def jury_lines(jury: Jury) -> str:
    """The jury in at most four lines: the answer, every judge's vote, what was tried."""
    votes = ", ".join(f"{j.name} {j.q}" for j in jury.judges if j.votes and j.q is not None)
    tried = f"{jury.rows[0].q} to {jury.rows[-1].q} tried" if jury.rows else "none tried"
    return "\n".join(
        filter(
            None,
            (
                f"Dimensions: {jury.sentence}",
                votes,
                *(clip(note, 120) for note in jury.notes[:1]),
                f"{tried}: .text(), .rows, .judges",
            ),
        )
    )


def jury_card(jury: Jury) -> str:
    """Every number of dimensions that was tried, and what each judge says."""
    listed = [_tried(row, jury.q) for row in jury.rows]
    details = "; ".join(f"{j.name}: {'cannot say' if j.q is None else j.q} ({j.detail})" for j in jury.judges)
    return card(
        f"Dimensions: {jury.sentence}",
        ("q", "variance shared", "Q2 of hidden cells", "evidence weight", "above the noise"),
        listed,
        note="; ".join([details, *jury.notes]),
    )


def _tried(row: DimensionRow, q: int) -> tuple[str, ...]:
    hidden = "" if row.q2 is None else f"{row.q2:.2f}"
    return (
        f"{row.q} (chosen)" if row.q == q else str(row.q),
        f"{100 * row.variance:.0f}%",
        hidden,
        f"{row.bic_weight:.2g}",
        "" if row.above_noise is None else "yes" if row.above_noise else "no",
    )
