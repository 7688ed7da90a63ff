"""What fills are worth, in words: the tables and lines that `lowdim fill` prints."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lowdim.judge.fills.calibration import ColumnFill
from lowdim.judge.fills.engines.engine import LINEAR, STACK
from lowdim.judge.fills.words import LabelFill
from lowdim.text.escape import join_names
from lowdim.text.format import count, figures
from lowdim.text.notebook import card
from lowdim.text.table import text_table

if TYPE_CHECKING:
    from lowdim.judge.fills.result import EngineShare, Fills

NAMED_COLUMNS = 10  # columns named one by one
LISTED_COLUMNS = 20  # columns a notebook lists


def number_lines(f: Fills, map_dims: int | None, logged: Collection[str]) -> list[str]:
    """What filled the numbers, what each column's fills are worth, and the first of them."""
    numbers = f.number_columns
    how = f"from {count(f.n_components, 'dimension')}" if f.engine == LINEAR else f"by {f.engine_words}"
    lines = [f"{count(f.filled_numbers, 'gap')} filled {how}."]
    lines += column_lines(numbers, {c.column: c.gaps for c in numbers}, f.level)
    beyond = outside_lines(f, logged)
    lines += beyond[:NAMED_COLUMNS]
    if beyond[NAMED_COLUMNS:]:
        lines.append(f"  and {len(beyond) - NAMED_COLUMNS} more columns with fills outside their values")
    lines += engine_lines(f.engines) if len(f.engines) > 1 else []
    lines.append(f.gain if f.engine == STACK else f.own_model(map_dims))
    # the first fill, of a yes/no column with its probability
    i, j = np.argwhere(f.number_gaps)[0]
    grades = () if f.table is None else f.table.numbers[j].grades
    first, *ends = (
        grades[round(float(part[i, j]))] if grades else figures(float(part[i, j]))
        for part in (f.filled, f.lower, f.upper)
    )
    text = f"e.g. row {i + 1} {f.columns[j].column} = {first}"
    if f.scales is not None and f.scales.levels[j] == (0.0, 1.0):
        return [*lines, f"{text}  (probability of 1: {min(max(f.modelled[i, j], 0.0), 1.0):.2f})"]
    return [*lines, f"{text}  ({' .. '.join(ends)})"]


def column_lines(columns: Sequence[ColumnFill], gaps: Mapping[str, int], level: float) -> list[str]:
    """What each column's fills are worth as lines of text, the best first; `gaps` says how many each column had."""
    held = f"{100 * level:.3g}% intervals contain"
    rows: list[tuple[object, ...]] = [("column", "gaps", "skill*", held, "advice")]
    for c in sorted((c for c in columns if gaps[c.column]), key=lambda c: -c.skill):
        rows.append((c.column, f"{gaps[c.column]:,}", f"{c.skill:.2f}", f"{c.held} of {c.tried}", c.advice))
    note = "  * share of the column's variance predicted for cells hidden on purpose. 0 = no better than the mean."
    return [*text_table(rows, right=[1, 2, 3]), note]


def outside_lines(f: Fills, logged: Collection[str] = ()) -> list[str]:
    """A line for every column with fills beyond the values it has; `logged` are logarithms already."""
    lines = []
    for j, c in enumerate(f.columns):
        if c.outside:
            seen = f.filled[~f.is_filled[:, j], j]
            log = f": try --log {join_names([c.column])}" if c.skewed and c.column not in logged else ""
            are = "is" if c.outside == 1 else "are"
            lines.append(
                f"  {count(c.outside, 'fill')} of {c.column} {are} outside the values seen "
                f"({seen.min():.3g} .. {seen.max():.3g}){log}"
            )
    return lines


def engine_lines(engines: Sequence[EngineShare]) -> list[str]:
    """The engines of a stack as lines of text, those with the largest shares first."""
    rows: list[tuple[object, ...]] = [("engine", "share", "error*", "")]
    for one in sorted(engines, key=lambda one: (bool(one.why), -one.share)):
        known = ("-", "-") if one.error is None else (f"{100 * one.share:.0f}%", f"{one.error:.3f}")
        rows.append((one.engine, *known, one.why))
    note = "  * root mean square on cells hidden on purpose, in SD of their columns."
    return [*text_table(rows, right=[1, 2]), note]


def label_lines(labels: Sequence[LabelFill]) -> list[str]:
    """What the fills of each column of words are worth, the best first, and the first fill."""
    rows: list[tuple[object, ...]] = [("column", "gaps", "skill*", "right", "most frequent", "filled by", "advice")]
    for c in sorted(labels, key=lambda c: (not c.certain, -c.skill)):
        known = ("-", "-", "-") if c.certain else (f"{c.skill:.2f}", f"{c.right} of {c.tried}", c.usual)
        rows.append((c.column, f"{c.gaps:,}", *known, c.engine, c.advice))
    note = "  * share of the log loss of the column's frequencies that is explained in cells hidden on purpose."
    lines = [f"{count(sum(c.gaps for c in labels), 'label')} filled.", *text_table(rows, right=[1, 2, 3, 4]), note]
    first = min((c for c in labels if len(c.rows)), key=lambda c: int(c.rows[0]), default=None)
    if first is not None:
        fill = f"e.g. row {first.rows[0] + 1} {first.column} = {first.fills[0]}"
        lines.append(f"{fill}  (probability {first.probability[0]:.2f})")
    return lines


def label_sentence(labels: Sequence[LabelFill]) -> str:
    """One sentence: how many labels were filled, and how many of those hidden on purpose were right."""
    gaps, tried = sum(c.gaps for c in labels), sum(c.tried for c in labels)
    if all(c.certain for c in labels):
        return f"{count(gaps, 'label')} filled, each known for certain."
    if not tried:
        return f"{count(gaps, 'label')} filled; too few are seen to check them."
    right, usual = (100 * sum(part) / tried for part in ((c.right for c in labels), (c.usual for c in labels)))
    return (
        f"{count(gaps, 'label')} filled; {right:.0f}% of {tried:,} hidden on purpose were right "
        f"(the most frequent label: {usual:.0f}%)."
    )


def fills_card(f: Fills) -> str:
    """What each column's fills are worth, as a small static table."""
    some = sorted((c for c in f.number_columns if c.gaps), key=lambda c: -c.skill)
    listed = (
        (c.column, f"{c.gaps:,}", f"{c.skill:.2f}", f"{c.held} of {c.tried}", f"{c.outside:,}", c.advice)
        for c in some[:LISTED_COLUMNS]
    )
    more = f"and {len(some) - LISTED_COLUMNS:,} more columns: .text(). " if len(some) > LISTED_COLUMNS else ""
    return card(
        f.sentence,
        ("column", "gaps", "skill", f"{100 * f.level:.3g}% intervals contain", "outside the values seen", "advice"),
        listed,
        note=f"{more}{f.own_model()}" if some else "",
    )
