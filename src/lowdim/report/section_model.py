"""The report on the model: the map, its axes, what they leave out, and whether they hold up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lowdim.jobs.table_model import subject
from lowdim.judge.axes import AxisCard
from lowdim.judge.labels import LabelCard, LabelTie
from lowdim.judge.rows.group_contrast import NAMED_COLUMNS
from lowdim.maths.linalg import Array
from lowdim.report.no_rows import few, said
from lowdim.report.page_parts import Grid, Section, grid, section_charts
from lowdim.report.section_reproduce import code_of, command_of

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

FILMSTRIP = "The filmstrip shows what the model expects of each column along axis 1."
MOST_TOOLTIPS = 1000  # rows of a map that say their name and place; of more only the odd ones do
TURNED = "The axes were turned by {}, so that each column loads on few of them; together they say what they said."


def the_map(analysis: Analysis, rows: bool) -> Section:
    """Rows along the first two axes, and the axes that are not on the map."""
    read = (
        (
            "Each point is a row; its ellipse holds that row's position with 90% probability given its gaps. Rows with "
            "gaps are hollow. The dashed curve is the T2 limit: by the law of ordinary rows, which their bulk "
            "sets, it holds 95% of complete ones. The strip below says what the map leaves out. Rest on a point to see "
            "which row it is, or step through the rows with the arrow keys."
        )
        if rows
        else "Each cell's shade is its number of rows; empty cells hold fewer than five."
    )
    missing = "" if analysis.dims >= 2 else " A map needs two axes."
    return Section(
        "map",
        "The map",
        " ".join(analysis.said[topic] for topic in ("map", "groups") if topic in analysis.said),
        read,
        f"The map shows two axes. An axis may as well be flipped: left and right mean nothing.{missing}",
        command_of(analysis, "plot map"),
        code_of(analysis, "analysis.plot.map().save('map.svg')"),
        charts=section_charts(analysis, "map", rows, tooltips={"map": tooltips}) if analysis.dims >= 2 else (),
        grids=profiles(analysis, rows),
    )


def profiles(analysis: Analysis, rows: bool) -> tuple[Grid, ...]:
    """Each group of rows: how many, and what sets it apart in the table's units."""
    groups = analysis.groups
    if len(groups.sizes) < 2:
        return ()
    found, lines = subject(analysis), []
    for k, size in enumerate(groups.sizes):
        called = groups.names[k] if rows or groups.shared[k] is not None else ""
        card = found.group(k + 1)
        first, rest = (f"{k + 1}", called, few(size) if not rows else f"{size:,}"), ("", "", "")
        for column in card.columns[:NAMED_COLUMNS]:
            lines.append((*first, column.name, *column.means, column.size))
            first = rest
    means = ("its mean", "95% interval", "mean of the others", "95% interval of theirs")
    header = ("group", "called", "rows", "column", *means, "difference")
    return (grid("What sets each group apart", header, lines),)


def tooltips(analysis: Analysis) -> tuple[Array, list[str]]:
    """Places and words of the rows that can be pointed at, from left to right."""
    xy, sd = analysis.posterior.mean[:, :2], analysis.posterior.std[:, :2]
    rows = np.arange(len(xy)) if len(xy) <= MOST_TOOLTIPS else np.flatnonzero(analysis.odd.odd)[:MOST_TOOLTIPS]
    rows = rows[np.argsort(xy[rows, 0], kind="stable")]
    texts, called = [], analysis.groups.of_rows
    for i in rows:
        gaps = int(analysis.gaps.by_row[i])
        gap_words = f", {gaps} gap{'' if gaps == 1 else 's'}" if gaps else ""
        odd, group = ", odd" if analysis.odd.odd[i] else "", "" if called is None else f" (group {called[i]})"
        texts.append(
            f"row {analysis.table.row_names[i]}{group}: axis 1 {xy[i, 0]:+.2f} ± {sd[i, 0]:.2f}, "
            f"axis 2 {xy[i, 1]:+.2f} ± {sd[i, 1]:.2f} (sd){gap_words}{odd}"
        )
    return xy[rows], texts


def axes(analysis: Analysis, rows: bool) -> Section:
    """What drives each axis."""
    cards = analysis.axes
    words = (analysis.said if rows else said(analysis))["axes"]
    each = grid(
        "Each axis",
        ("axis", "share of variation", "rises with", "falls with", "interchangeable with"),
        (
            (
                f"axis {c.axis}",
                f"{100 * c.share:.0f}%",
                *_signs(c),
                ", ".join(str(k) for k in c.interchangeable if k != c.axis),
            )
            for c in cards
        ),
    )
    ties = grid(
        "What labels explain that had no part in the map (share of the variance between their values, less chance)",
        ("label", "values", "of", "share", "p", "beyond chance"),
        (
            (label.label, label.map.values, what, tie.share, tie.p, "yes" if tie.tied else "no")
            for label in analysis.labels
            for what, tie in told_of(label)
        ),
    )
    ends = (ends_of(analysis),) if rows and cards else ()
    return Section(
        "axes",
        "What drives each axis",
        f"{words} {TURNED.format(s.rotate)}" if (s := analysis.settings).rotate and len(cards) > 1 else words,
        analysis.map.cells.loading_note
        + "A loading says how a column moves along an axis; its bar is the interval it would keep for other "
        "rows of the same kind (bootstrap). In the biplot arrows that point the same way are columns that rise "
        "together.",
        "Axes of nearly equal variance are interchangeable: read their plane, not their directions. A sign "
        "by itself means nothing, and a loading is not a cause.",
        command_of(analysis, "plot loadings"),
        code_of(analysis, "print(analysis.axes[0].text())"),
        charts=section_charts(analysis, "axes", rows),
        grids=((each,) if cards else ()) + ((ties,) if ties.rows else ()) + ends,
    )


def told_of(label: LabelCard) -> list[tuple[str, LabelTie]]:
    """What a label is asked of: the map, each axis, and the groups where there are several."""
    axes = [(f"axis {k}", tie) for k, tie in enumerate(label.axes, 1)]
    return [("the map", label.map), *axes, *([] if label.groups is None else [("the groups", label.groups)])]


def _signs(card: AxisCard) -> tuple[str, str]:
    up, down = ([x.column for x in card.top if (x.value > 0) == sign] for sign in (True, False))
    return ", ".join(up), ", ".join(down)


def ends_of(analysis: Analysis) -> Grid:
    """The rows at both ends of every axis."""
    names = analysis.table.row_names
    return grid(
        "Rows at both ends of each axis",
        ("axis", "negative end", "positive end"),
        (
            (f"axis {c.axis}", *(", ".join(names[i] for i in ends[:3]) for ends in (c.low_rows, c.high_rows)))
            for c in analysis.axes
        ),
    )


def lost(analysis: Analysis, rows: bool) -> Section:
    """What the axes leave out of each column."""
    ones = analysis.table.in_ones()
    X, names = ones.X, ones.names
    rebuilt = analysis.map.rebuilt(analysis.table.X)
    spread = np.nanvar(X, axis=0)
    residual = np.nanmean((X - rebuilt) ** 2, axis=0)
    share = 1 - residual / np.where(spread > 0, spread, 1.0)
    order = np.argsort(-share, kind="stable")
    kept = grid(
        "Share of each column's variance that the axes keep (R2)",
        ("column", "share kept", "left over (sd)"),
        ((names[k], float(share[k]), float(np.sqrt(residual[k]))) for k in order),
    )
    q = analysis.dims
    head = "The only axis keeps" if q == 1 else f"The {q} axes keep"
    most, least = order[0], order[-1]
    sentence = (
        f"{head} {100 * np.mean(share):.0f}% of a column's variance on average (R2 of rebuilt cells): "
        f"most of {names[most]} ({100 * share[most]:.0f}%), "
        f"least of {names[least]} ({100 * share[least]:.0f}%)."
        if q
        else "Without an axis everything is noise."
    )
    return Section(
        "lost",
        "What is lost",
        sentence,
        "A row is rebuilt from its first axes, one, two, five and so on; what is left over is noise to the "
        "model. " + FILMSTRIP + analysis.map.cells.rebuilt_note,
        "Rebuilding a row uses that row's own cells, so it looks better than predicting a hidden cell.",
        command_of(analysis, "plot reconstruct" if rows else "plot traverse"),
        code_of(analysis, f"analysis.plot.{'reconstruct' if rows else 'traverse'}(0).save('rebuilt.svg')"),
        charts=section_charts(analysis, "lost", rows),
        grids=(kept,),
    )


def holds_up(analysis: Analysis, rows: bool) -> Section:
    """Resampling, removing one row, the climb of the fit, and whether distances follow their law."""
    s = analysis.stability
    turns = grid(
        "How far each axis turns when the rows are drawn again (degrees)",
        ("axis", "median", "5%", "95%"),
        ((f"axis {k + 1}", *map(float, np.percentile(a, [50, 5, 95]))) for k, a in enumerate(s.axes.T)),
    )
    removed = grid(
        "If one row were removed (degrees)",
        ("row", "axis that turns most", "axis turns", "map plane turns"),
        ((r.name, f"axis {r.axis}", r.angle, r.plane) for r in s.removed),
    )
    sentence = s.sentence if rows else f"The map: {s.verdict} when the rows are drawn again."
    return Section(
        "stability",
        "Does it hold up?",
        sentence,
        "Rows are drawn again with replacement and the model refitted; the clouds show where each row would "
        "lie. Where the model's law of distances does not hold, a second chart shows rows leaving the dashed line; "
        "where the fit has not converged, the trace shows its climb.",
        "Resampling shows how much chance there is in these rows, not whether the model is right.",
        command_of(analysis, "plot stability" if rows else "plot trace"),
        code_of(analysis, "print(analysis.stability.sentence)"),
        charts=section_charts(analysis, "stability", rows),
        grids=((turns,) if s.axes.size else ()) + ((removed,) if rows and s.removed else ()),
    )
