"""The report on single cells and rows: the fills and what they are worth, the odd rows and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lowdim.judge.rows.odd_rows import around, expectation
from lowdim.judge.verdicts import fill_sentence
from lowdim.report.no_rows import few, said
from lowdim.report.page_parts import Bar, Grid, RowStory, Section, grid, section_charts
from lowdim.report.section_reproduce import code_of, command_of
from lowdim.report.touch import touch_data
from lowdim.text.escape import listed
from lowdim.text.format import listing, observed

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

MOST_STORIES = 10  # odd rows told in full
MOST_BARS = 12  # cells of each
ONLY_LINEAR = (
    " Here only the linear model fills; `lowdim fill` stacks it with nearest rows, mixtures of groups and chained "
    "trees, weighted by how well each predicts hidden cells."
)
BAR_REACH = 8.0  # surprises beyond so many standard deviations fill their track


def fills(analysis: Analysis, rows: bool) -> Section:
    """What each gap holds, and how far to trust it."""
    f = analysis.fills
    if f.labels and not f.tried:  # answers alone: nothing that has an interval
        return label_fills(analysis, rows)
    header = ("column", "gaps", "skill", "held", "tried", "outside the values seen", "advice")
    skill = grid(
        "Skill and calibration by column",
        header,
        (
            (
                c.column,
                *((c.gaps if rows else few(c.gaps)), c.skill, c.held, c.tried),
                c.outside if rows else few(c.outside),
                c.advice,
            )
            for c, of in zip(f.columns, analysis.table.numbers, strict=True)
            if not of.labels
        ),
        most=500,
    )
    own = f.own_model(analysis.dims) + ONLY_LINEAR if f.is_filled.any() else ""
    return Section(
        "fills",
        "Filling the gaps",
        analysis.said.get("fills", fill_sentence(analysis.fills)),
        "Skill is the share of a column's variance predicted for cells hidden on purpose; 0 is no better "
        f"than the column mean. The {100 * f.level:.3g}% intervals are checked on the same cells: a point "
        f"inside its band holds what it claims. {own}".rstrip(),
        "Do not analyse filled cells as if they had been measured; use multiple imputation for statistics. "
        "Where gaps depend on the missing value itself, no check on seen cells can tell."
        f"{beyond(analysis, rows)}",
        command_of(analysis, "fill", "-o", "filled.csv", "--multiple", "20"),
        code_of(analysis, "tables = analysis.fills.multiple(20)"),
        charts=section_charts(analysis, "fills", rows),
        grids=(skill, *([label_grid(analysis, rows)] * bool(f.labels))),
    )


def label_grid(analysis: Analysis, rows: bool) -> Grid:
    """The columns of labels that were filled, and how often that was right."""
    header = ("column", "gaps", "hidden on purpose", "right", "right by the most frequent", "filled by")
    lines = (
        (c.column, c.gaps if rows else few(c.gaps), c.tried, c.right, c.usual, c.engine) for c in analysis.fills.labels
    )
    return grid("Answers filled, by column", header, lines, most=500)


def label_fills(analysis: Analysis, rows: bool) -> Section:
    """The same where every fill is an answer: what is likely, and how often that was right."""
    return Section(
        "fills",
        "Filling the gaps",
        analysis.said.get("fills", fill_sentence(analysis.fills)),
        "Answers have probabilities in place of intervals: fills.csv has that of every fill, and "
        "`lowdim fill --intervals` those of every answer. They are checked on cells hidden on purpose, beside the most "
        "frequent answer of each column.",
        "Do not analyse filled cells as if they had been measured; use multiple imputation for statistics. "
        "Where gaps depend on the missing value itself, no check on seen cells can tell.",
        command_of(analysis, "fill", "-o", "filled.csv", "--multiple", "20"),
        code_of(analysis, "tables = analysis.fills.multiple(20)"),
        grids=(label_grid(analysis, rows),),
    )


def beyond(analysis: Analysis, rows: bool) -> str:
    """How many fills lie outside the values seen, and the command that may help; nothing where none does."""
    f = analysis.fills
    where = [c for c in f.columns if c.outside]
    if not where:
        return ""
    logged = {c.name for c in analysis.table.columns if c.role == "number" and c.log}
    many = sum(c.outside for c in where)
    number = f"{many:,}" if rows else few(many).capitalize()
    text = (
        f" {number} fill{' is' if many == 1 else 's are'} outside the values seen in "
        f"{listing([c.column for c in where])}: a Gaussian model knows no bounds."
    )
    log = f.to_log(logged)
    command = command_of(analysis, "fill", "-o", "filled.csv", "--log", listed(log)) if log else ""
    return f"{text} As logarithms: {command}" if log else text


def odd(analysis: Analysis, rows: bool) -> Section:
    """Rows that the model does not expect, and why."""
    o = analysis.odd
    listed = grid(
        "Odd rows",
        ("row", "cells seen", "p", "D2", "p of D2", "column", "value", "expected", "sd", "why"),
        (
            (r.name, r.seen, r.p, r.D2, r.p_D2, r.column, *(r.words or (r.value, r.expected)), r.sd, r.reason)
            for r in o.rows
        ),
        most=50,
    )
    return Section(
        "odd",
        "Odd rows",
        " ".join(filter(None, (f"{o.sentence}.", analysis.partition.sentence))) if rows else said(analysis)["odd"],
        "T2 is the distance within the map, Q the distance off it, D2 both together; limits follow each "
        "row's own gaps, so they step where cells are missing. A row is picked by p: that of D2 or of its least likely "
        "cell, whichever is rarer. A cell's surprise is its distance from what the rest of its row says, in standard "
        "deviations." + analysis.map.cells.surprise_note,
        "An odd row is unusual, not wrong. A row that bent the model itself looks less odd than it is. Q is "
        "not defined for rows with no more seen cells than dimensions.",
        command_of(analysis, "odd"),
        code_of(analysis, "print(analysis.odd.text())"),
        charts=section_charts(analysis, "odd", rows),
        grids=((listed,) if rows and o.rows else ()) + (held_grid(analysis) if rows else ()),
        stories=stories(analysis) if rows else (),
        touch=touch_data(analysis) if rows else "",
    )


def held_grid(analysis: Analysis) -> tuple[Grid, ...]:
    """The cells that are left out of the fit, and the rows; none where there are none."""
    found, names, columns = analysis.partition, analysis.row_names, analysis.table.names
    values = analysis.table.scales.outward(analysis.table.X) if found.wrong_cells.size else analysis.table.X
    lines: list[tuple[Any, ...]] = [(names[i], columns[j], float(values[i, j])) for i, j in found.wrong_cells]
    lines += [(names[i], "the whole row", "") for i in found.outside]
    return (grid("Held out of the fit", ("row", "column", "value"), lines, most=50),) if lines else ()


def stories(analysis: Analysis) -> tuple[RowStory, ...]:
    """The oddest rows, each with its cells by surprise."""
    out = []
    for r in analysis.odd.rows[:MOST_STORIES]:
        cells = sorted(
            (c for c in analysis.explain(r.row).cells if c.surprise is not None), key=lambda c: -abs(c.surprise or 0.0)
        )
        out.append(RowStory(r.name, r.reason, tuple(bar(c) for c in cells[:MOST_BARS])))
    return tuple(out)


def bar(c: Any) -> Bar:
    """A cell's surprise as a bar around the middle of its track."""
    size = max(-BAR_REACH, min(BAR_REACH, float(c.surprise)))
    width = 50.0 * abs(size) / BAR_REACH
    value, says = c.told or (
        observed(c.value, c.sd),
        f"{expectation(c.value, c.expected, c.sd, c.limit)} {around(c).replace('+-', '±')}",
    )
    return Bar(
        c.column,
        value,
        says,
        f"{c.surprise:+.1f}",
        round(50.0 if size >= 0 else 50.0 - width, 1),
        round(width, 1),
        abs(float(c.surprise)) > 3.0,
    )
