"""The report on the table itself: its columns, its gaps, its number of dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.report.no_rows import few
from lowdim.report.page_parts import Section, grid, section_charts
from lowdim.report.section_reproduce import code_of, command_of
from lowdim.text.format import count

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis


def table(analysis: Analysis, rows: bool) -> Section:
    """Size, roles, a card a column."""
    t = analysis.table
    header = ("column", "role", "gaps", "mean", "sd", *(("smallest", "largest") if rows else ()))
    cards = grid("Your columns", header, (_column(c, rows) for c in t.columns), most=500)
    aside = sum(c.role != "number" for c in t.columns)
    set_aside = f", and {aside} set aside" if aside else ""
    return Section(
        "table",
        "Your table",
        f"{t.name} has {analysis.of or t.n:,} rows and {count(t.d, 'measured column')}{set_aside} ({t.guess})."
        + ("" if analysis.of is None else f" What follows is about {t.n:,} rows drawn at random."),
        "Each strip is a histogram of one column, from its smallest to its largest value, or a bar for each label of a "
        "category; the bar on the right is its share of gaps. A triangle marks values far from the rest.",
        "Columns set aside as labels, names or times shape no axis; the changes above list them.",
        command_of(analysis, "check"),
        code_of(analysis, "print(analysis.table.summary())"),
        charts=section_charts(analysis, "table", rows),
        grids=(cards,),
    )


def _column(c: Any, rows: bool) -> tuple[Any, ...]:
    if c.role != "number" or c.labels:
        gaps = int(c.gaps.sum()) if c.role == "number" else None
        return (
            c.name,
            "category" if c.role == "number" else c.role,
            gaps if rows or gaps is None else few(gaps),
            None,
            None,
            *((None, None) if rows else ()),
        )
    x = c.values[~np.isnan(c.values)]
    x = np.exp(x) - c.offset if c.log else x  # in the table's own unit
    gaps = int(len(c.values) - len(x))
    ends = (float(x.min()), float(x.max())) if rows else ()
    return (c.name, c.role, gaps if rows else few(gaps), float(x.mean()), float(x.std()), *ends)


def gaps(analysis: Analysis, rows: bool) -> Section:
    """How many, where, together or not, at random?"""
    g = analysis.gaps
    dependence = grid(
        "Where being missing goes with another column's value",
        ("missing column", "goes with", "difference in sd", "p"),
        ((d.column, d.on, d.difference, d.p) for d in g.depends),
    )
    together = "" if rows else " Which gaps come together is not shown: some of those cells hold few rows."
    return Section(
        "gaps",
        "Gaps",
        g.sentence,
        "A hatched cell is a gap; rows with the same gaps stand together. The second chart counts rows in "
        "which two columns are missing at once, against what chance would make.",
        f"{g.tested:,} pairs of columns were tested (Student's test, 1% false discovery rate). Gaps that "
        f"depend on the missing value itself cannot be seen in the table.{together}",
        command_of(analysis, "plot gaps"),
        code_of(analysis, "analysis.plot.gaps().save('gaps.svg')"),
        charts=section_charts(analysis, "gaps", rows) if g.gaps else (),
        grids=(dependence,) if g.depends else (),
    )


def dimensions(analysis: Analysis, rows: bool) -> Section:
    """How many, by every judge."""
    j = analysis.jury
    tried = grid(
        "Each number of dimensions",
        (
            "dimensions",
            "variance shared",
            "Q2 in own units",
            "BIC weight",
            "Minka weight",
            "above shuffled data",
            "skill",
        ),
        j.rows,
    )
    judges = grid("Judges", ("judge", "says", "because"), ((x.name, x.q, x.detail) for x in j.judges))
    return Section(
        "dimensions",
        "How many dimensions",
        analysis.said["dimensions"],
        "Rows are left out in turn, and each of their cells is predicted from the rest of its row: the skill is the "
        "share of their variance that is predicted so. A dimension is needed if it adds at least a sixteenth of the "
        "skill of the best number; it is detectable if the skill rises by more than its standard error. An "
        "eigenvalue above the band of shuffled tables is more than chance makes.",
        "Columns are taken as normal scores, so that no tail decides; Q2 is the same share in the columns' own units, "
        "by the principal axes of the map. The other judges advise: they answer slightly different questions. The "
        "spread of distances is not a number of signals.",
        command_of(analysis, "dims"),
        code_of(analysis, "print(analysis.jury.text())"),
        charts=section_charts(analysis, "dimensions", rows),
        grids=(tried, judges) if j.rows else (judges,),
    )
