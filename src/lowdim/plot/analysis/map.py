"""The map: rows on two axes with each row's own uncertainty, and what the map leaves out; the other axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.maps.groups import colour_word
from lowdim.maths.linalg import Array, Mask
from lowdim.plot import base as draw
from lowdim.plot.access import groups_of, lacks, names_of, rows_with_gaps
from lowdim.plot.base import Plot
from lowdim.plot.beside_points import JOIN, RowPictures, draw_beside, draw_path, path_words
from lowdim.plot.colour import Groups, column_groups, draw_groups, edge, explain_kinds, groups, legend_marks, rows_named
from lowdim.plot.marks import LEAST_SHOWN_ROWS, as_map, panels, shade_counts, spread_out
from lowdim.plot.marks import MOST_POINTS as MOST_POINTS
from lowdim.plot.pictures import CONNECTIONS, SHAPE, Connections, Shape, everyone, form_of_rows
from lowdim.plot.registry import AXES, COLOR, InReport, plot
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.jobs.analysis import Analysis
    from lowdim.jobs.table_model import TableModel
    from lowdim.table.table import Table

MOST_ELLIPSES = 40  # of more rows, only odd ones and the least certain get one
FAR_OUT = 1.5  # widths of nearly all rows beyond which a row is drawn nearer
MAP_BINS = (80, 60)  # of the density image
ELLIPSE_REACH = -2.0 * np.log1p(-0.90)  # of every row's ellipse: the 90% quantile of chi-square, 2 degrees of freedom
T2_LEVEL = 0.95  # of the limit that complete rows lie within
MOST_NAMED_ROWS = 10  # odd rows named on a map
MOST_ALL_NAMED = 60  # rows with names of their own that are all named
MOST_NAMED_PAIRS = 80  # rows of distances that are all named
MOST_OTHER_AXES, MOST_SMALL_POINTS = 6, 800  # panels of the other axes, and points on one
LEGEND_LETTERS = 98  # of two labels side by side below a map


@draw.styled
def map_of_model(
    subject: TableModel,
    *,
    color: Any = None,
    axes: tuple[int, int] = (0, 1),
    join: bool = False,
    shape: Shape = None,
    connections: Connections = None,
) -> Plot:
    """Rows where one model puts them, whatever model it is: two of its axes, without ellipses.

    Of distances or similarities between rows nothing but its name says what a row is: rows are named where they are
    few, and the axes are as long in every direction.
    """
    entry = subject.entry
    if entry.lack("map") and not entry.local:
        raise lacks(subject, "map", "it has no axes", "a model with axes: -m ppca, isomap or gplvm")
    if entry.local:  # a mixture with axes in its parts: on the common map of all parts
        z = np.asarray(subject.model.coordinate(subject.taken, max(axes) + 1).places)
    else:
        z = subject.places.z[subject.at_rows]
    names, of_pairs = names_of(subject), subject.table.holds != "measurements"
    draw.need_axes(z.shape[1], 2, "map")
    a, b = check_axes(axes, z.shape[1])
    xy, n = np.ascontiguousarray(z[:, [a, b]]), len(z)
    gap = np.zeros(n, dtype=bool) if of_pairs else rows_with_gaps(subject)
    kinds = groups_of(subject, color, in_order=join)
    figure = draw.blank(6.4, 4.8)
    ax = figure.subplots()
    dots = spread_out(n, MOST_POINTS)
    draw_groups(ax, xy, kinds, gap, dots)
    ax.margins(0.05 if shape is None else 0.12)
    as_map(ax, f"axis {a + 1}", f"axis {b + 1}")
    explain_kinds(figure, kinds, gap)
    pictures = None if shape is None else row_pictures(subject.table, subject.at_rows, shape, connections)
    words, extra = _extras(ax, z, xy, join, pictures)
    title = f"{draw.count(n, 'row')} where {entry.title} puts them"
    draw.headline(figure, title)
    if of_pairs:
        shown = range(n) if n <= MOST_NAMED_PAIRS else ()
        draw.place_labels(ax, xy[list(shown)], [draw.short(names[i], 14) for i in shown], size=7.0, avoid=xy)
    some = f" {len(dots):,} of {n:,} rows are drawn." if len(dots) < n else ""
    sentence = f"{draw.count(n, 'row')} on axes {a + 1} and {b + 1} of {entry.title}.{words}{some}{kinds.words}"
    data = {"row": np.array(names), "position": xy, "has_gaps": gap, **extra}
    return Plot("map", figure, title=title, sentence=sentence, data=data)


def row_pictures(table: Table, rows: NDArray[np.intp], shape: Shape, connections: Connections) -> RowPictures:
    """The rows of a table as pictures, in its own units; gaps at their column's mean."""
    own = table.scales.outward(table.X)
    form = form_of_rows(shape, table.names, own, connections, everyone(table))
    return RowPictures(np.where(np.isnan(own), np.nanmean(own, axis=0), own)[rows], form)


def _extras(ax: Axes, z: Array, xy: Array, join: bool, pictures: RowPictures | None) -> tuple[str, dict[str, Any]]:
    """Rows joined and pictures beside points, where asked for: what is said of them, and their numbers."""
    words: str = ""
    data: dict[str, Any] = {}
    if join:
        draw_path(ax, xy)
        words += path_words(z)
    if pictures is not None:
        shown = draw_beside(ax, xy, pictures)
        words += f" {draw.count(len(shown), 'row')} {'is' if len(shown) == 1 else 'are'} drawn as pictures."
        data["pictured"] = shown + 1
    return words, data


@plot(
    "map",
    "Rows on two axes, each with its own uncertainty.",
    needs="analysis",
    options=(COLOR, AXES, JOIN, SHAPE, CONNECTIONS),
    report=InReport("map", "rows", "rows.csv"),
    of_model=map_of_model,
)
def map_of_analysis(
    analysis: Analysis,
    *,
    color: Any = None,
    labels: Any = "odd",
    axes: tuple[int, int] = (0, 1),
    join: bool = False,
    shape: Shape = None,
    connections: Connections = None,
) -> Plot:
    """Rows on two axes; each ellipse is where 90% of that row's position lies, given its gaps.

    A row's ellipse has half-axes sqrt(chi2_2(0.9) v), v the eigenvalues of its 2 x 2 posterior covariance S. The dashed
    T2 limit is z' B^-1 z = r, which 95% of rows are below by the law of ordinary rows (chi-square with 2 degrees of
    freedom, or what the bulk of the table says); B, the covariance of complete rows' positions, is I - S of the best
    known row. Of more than 3,000 rows a density is drawn, or, where they are coloured, 3,000 of them spread over the
    table.

    Parameters
    ----------
    color : str or array of shape (n_rows,), optional
        A column by its name, "group", or one value a row; in a table of up to 3,000 rows the groups that the rows fall
        into, or the first label column.
    labels : {"odd", "none"} or list
        Rows that are named: the odd ones, none, or these by name or position.
    shape : tuple of int or "skeleton", optional
        (height, width) draws some rows as images beside their points, "skeleton" as figures of joined points.
    """
    draw.need_axes(analysis.dims, 2, "map")
    a, b = check_axes(axes, analysis.dims)
    names, n, share = analysis.row_names, len(analysis.row_names), np.array(analysis.shares)
    gap, odd = analysis.has_gaps, np.array([found.row for found in analysis.odd.rows], dtype=int)
    kinds = _kinds(analysis, color, join)
    coloured = bool(kinds.names) or kinds.value is not None
    named = rows_named(names, labels, odd.tolist(), MOST_NAMED_ROWS)
    if labels == "odd" and n <= MOST_ALL_NAMED and not all(name.isdigit() for name in names):
        named = list(dict.fromkeys([*odd.tolist(), *range(n)]))
    mean, cov = analysis.posterior.mean, analysis.posterior.cov[:, [a, b]][:, :, [a, b]]
    xy = np.ascontiguousarray(mean[:, [a, b]])
    low, high = np.quantile(xy, [0.01, 0.99], axis=0)
    reach = FAR_OUT * np.max(high - low)
    at = np.clip(xy, low - reach, high + reach)  # what lies far out is drawn where the eye still sees the others
    far = (at != xy).any(axis=1)
    half, angle = ellipses(cov)
    best = int(np.argmin(np.trace(cov, axis1=1, axis2=2)))  # the row whose position is known best
    level = float(analysis.odd.judged.law.limit(np.array(2), T2_LEVEL))
    (limit,), (turn,) = ellipses((np.eye(2) - cov[best])[None], level)
    around, dots = _with_ellipse(gap, odd, half, n), _dots(n, odd, coloured)
    figure = draw.blank(6.4, 5.4)
    ax, strip = figure.subplots(2, 1, height_ratios=[18, 1])
    if len(dots):
        draw_groups(ax, at, kinds, gap, dots)
    else:
        shade_counts(ax, at[~far, 0], at[~far, 1], "rows a cell", bins=MAP_BINS)
    _draw_ellipses(ax, at, half, angle, around, odd, kinds, len(dots) == 0)
    along = np.linspace(0, 2 * np.pi, 181)
    x, y = limit[0] * np.cos(along), limit[1] * np.sin(along)
    c, s = np.cos(turn), np.sin(turn)
    line = f"T² limit: {draw.percent(T2_LEVEL)} of complete rows lie inside"
    ax.plot(c * x - s * y, s * x + c * y, "--", color=draw.INK, lw=1.0, zorder=1, label=line)
    marks = legend_marks(kinds, gap) if len(dots) and not kinds.names else []
    marks += ax.plot(*at[far].T, "x", color=draw.INK, ms=7, zorder=5, label="farther out") if far.any() else []
    if n <= MOST_ELLIPSES:
        ax.update_datalim(np.concatenate([at - half.max(), at + half.max()]))
    as_map(ax, *(f"axis {k + 1} ({draw.percent(share[k])} of the variation)" for k in (a, b)))
    if len(dots) and kinds.names:
        explain_kinds(figure, kinds, gap)
    _legend(ax, marks, len(around), n, len(dots) == 0, len(odd) > 0)
    _draw_left_out(strip, share, (a, b))
    draw.place_labels(ax, at[named], [draw.short(names[i], 14) for i in named])
    pictures = None if shape is None else row_pictures(analysis.table, np.arange(n), shape, connections)
    words, extra = _extras(ax, mean, at, join, pictures)
    if far.any():
        words += f" {draw.count(int(far.sum()), 'row')} {'lies' if far.sum() == 1 else 'lie'} farther out than drawn."
    inside = ((xy @ [[c, -s], [s, c]] / np.where(limit > 0, limit, np.inf)) ** 2).sum(axis=1) <= 1.0
    title, sentence = _map_words(share, (a, b), half, gap, float(inside.mean()))
    draw.headline(figure, title)
    data = {"row": np.array(names), "position": xy, "half_axis": half, "angle": np.degrees(angle), "has_gaps": gap}
    data |= {"has_ellipse": np.isin(np.arange(n), around), "inside_limit": inside, "limit_half_axis": limit}
    data |= {"limit_angle": np.degrees(turn), "share": _left_out(share, (a, b))}
    data |= ({"color": kinds.shown()} if coloured else {}) | extra
    sentence += _drawn_words(n, dots, around) + words + kinds.words
    return Plot("map", figure, title=title, sentence=sentence, data=data)


def _kinds(analysis: Analysis, color: Any, join: bool) -> Groups:
    """What rows are coloured by: a column or values given, else the groups they fall into, else the first label."""
    if isinstance(color, str) and color == colour_word(c.name for c in analysis.table.columns):
        return _row_groups(analysis)
    if color is not None:
        return column_groups(analysis.table, color)
    if len(analysis.row_names) > MOST_POINTS:
        return groups(None, len(analysis.row_names))
    if analysis.groups.of_rows is not None and not join:
        return _row_groups(analysis)
    label = next(iter(analysis.label_names), None)
    return groups(None, len(analysis.row_names)) if label is None else column_groups(analysis.table, label)


def _row_groups(analysis: Analysis) -> Groups:
    """Rows by the groups that they fall into."""
    return groups(analysis.groups.of_rows, len(analysis.row_names), "group")


def check_axes(axes: tuple[int, int], q: int) -> tuple[int, int]:
    """Two different axes by position, or the error that says which there are."""
    pair = tuple(axes) if isinstance(axes, Sequence | np.ndarray) else ()
    whole = all(isinstance(k, int | np.integer) and 0 <= k < q for k in pair)
    if len(pair) != 2 or not whole or pair[0] == pair[1]:
        raise error(
            "LD210", option="axes", value=axes, allowed=f"two different positions from 0 (axis 1) to {q - 1} (axis {q})"
        )
    return int(pair[0]), int(pair[1])


def _dots(n: int, odd: NDArray[np.int_], coloured: bool) -> NDArray[np.intp]:
    """Positions of the rows drawn one by one: all where they are few, some where they are coloured, else none."""
    if n <= MOST_POINTS:
        return np.arange(n)
    return np.union1d(spread_out(n, MOST_POINTS), odd).astype(np.intp) if coloured else np.array([], dtype=np.intp)


def _drawn_words(n: int, dots: NDArray[np.intp], around: NDArray[np.int_]) -> str:
    """What of a long table is drawn."""
    if n <= MOST_POINTS:
        least = f" Ellipses are drawn for {draw.count(len(around), 'row')}: odd ones and the least certain."
        return "" if len(around) in (0, n) else least
    ringed = f"; only {draw.count(len(around), 'odd row')} with an ellipse" if len(around) else ""
    return f" {len(dots):,} of {n:,} rows are drawn{ringed}." if len(dots) else f" Rows are drawn as a density{ringed}."


def ellipses(cov: Array, reach: float = ELLIPSE_REACH) -> tuple[Array, Array]:
    """Half-axes (longer first) and the angle of the longer one, of 2 x 2 covariances at this squared distance."""
    values, U = np.linalg.eigh(cov)
    half = np.sqrt(reach * np.maximum(values[:, ::-1], 0.0))
    return half, np.arctan2(U[:, 1, 1], U[:, 0, 1])


def _with_ellipse(gap: Any, odd: NDArray[np.int_], half: Array, n: int) -> NDArray[np.int_]:
    """All rows where they are few; else odd rows and those with gaps, the least certain first."""
    if n <= MOST_ELLIPSES:
        return np.arange(n)
    uncertain = np.setdiff1d(np.flatnonzero(gap), odd)
    if n > MOST_POINTS:
        uncertain = uncertain[:0]  # over a density only the odd rows can be told apart
    widest = uncertain[np.argsort(-half[uncertain].prod(axis=1), kind="stable")]
    return np.concatenate([odd, widest[: max(MOST_ELLIPSES - len(odd), 0)]])


def _draw_ellipses(
    ax: Axes,
    xy: Array,
    half: Array,
    angle: Array,
    rows: NDArray[np.int_],
    odd: NDArray[np.int_],
    kinds: Groups,
    density: bool,
) -> None:
    from matplotlib.collections import EllipseCollection

    if not len(rows):
        return
    for part, line, alpha in ((~np.isin(rows, odd), 0.6, 0.55), (np.isin(rows, odd), 1.0, 0.9)):
        shown = rows[part]
        if not len(shown):
            continue
        colours = [edge(kinds.look(k)[0]) if kinds.value is None else draw.GREY for k in kinds.kind[shown]]
        place: dict[str, Any] = {"units": "xy", "offsets": xy[shown], "offset_transform": ax.transData, "zorder": 2}
        style: dict[str, Any] = {"facecolors": "none", "edgecolors": colours, "linewidths": line, "alpha": alpha}
        width, height = 2 * half[shown].T
        ax.add_collection(EllipseCollection(width, height, np.degrees(angle[shown]), **place, **style))
    if density:
        x, y = xy[rows].T
        ax.scatter(x, y, s=20, marker="D", facecolors=draw.PAPER, edgecolors=draw.COLOURS[3], zorder=4)


def _legend(ax: Axes, marks: list[Any], with_ellipse: int, n: int, density: bool, bold: bool) -> None:
    """What every mark is; ellipses say which kind they are."""
    from matplotlib.lines import Line2D

    marks = list(marks)
    if density and with_ellipse:
        marks.append(Line2D([], [], marker="D", ls="", color=draw.COLOURS[3], mfc=draw.PAPER, label="odd row", ms=5))
    if with_ellipse:
        subset_text = "" if with_ellipse == n else f" ({draw.count(with_ellipse, 'row')})"
        subset_text += "; bold: odd row" if bold and not density else ""
        label = f"90%: this row's position given its gaps{subset_text}"
        marks.append(Line2D([], [], marker="o", ls="", color=draw.GREY, mfc="none", mew=0.6, ms=9, label=label))
    marks += [line for line in ax.get_lines() if str(line.get_label()).startswith("T²")]
    figure = draw.figure_of(ax)
    longest = sorted(len(str(mark.get_label())) for mark in marks)[-2:]
    figure.legend(handles=marks, loc="outside lower left", ncols=2 if sum(longest) <= LEGEND_LETTERS else 1, fontsize=8)


def _left_out(share: Array, axes: tuple[int, int]) -> Array:
    """Shares of the variation: this map, the other axes, noise."""
    on_map = float(share[list({*axes})].sum())
    return np.array([on_map, float(share.sum()) - on_map, max(0.0, 1.0 - float(share.sum()))])


def _draw_left_out(ax: Axes, share: Array, axes: tuple[int, int]) -> None:
    parts = _left_out(share, axes)
    start = 0.0
    looks = (("this map", draw.COLOURS[0], ""), ("other axes", draw.COLOURS[5], ".."), ("noise", draw.PAPER, "///"))
    words = []
    for part, (name, colour, hatch) in zip(parts, looks, strict=True):
        ax.barh(0, part, left=start, color=colour, edgecolor=draw.INK, hatch=hatch, height=0.9, lw=0.6)
        start += part
        words.append(f"{name} {draw.percent(part)}")
    ax.set_xlim(0, 1.002 * max(1.0, start))
    ax.set_yticks([])
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.set_xlabel("what the map leaves out:  " + "  ·  ".join(words), fontsize=9, loc="left")


def _map_words(share: Array, axes: tuple[int, int], half: Array, gap: Mask, inside: float) -> tuple[str, str]:
    n, gaps = len(gap), int(gap.sum())
    on_map, other, noise = _left_out(share, axes)
    a, b = axes[0] + 1, axes[1] + 1
    missing = draw.percent(other + noise)
    title = f"Axes {a} and {b} carry {draw.percent(on_map)} of the variation; {missing} is not on this map"
    text = (
        f"{draw.count(n, 'row')} on axes {a} and {b}, which carry {draw.percent(on_map)} of the variation; "
        f"other axes carry {draw.percent(other)} and noise {draw.percent(noise)}. {draw.percent(inside)} of the rows "
        f"lie inside the {draw.percent(T2_LEVEL)} T² limit."
    )
    area = half.prod(axis=1)
    if 0 < gaps < n and np.median(area[~gap]) > 0:
        times = float(np.sqrt(np.median(area[gap]) / np.median(area[~gap])))
        width_text = f"{draw.number(times)} times as wide as" if times > 1.05 else "about as wide as"
        text += (
            f" {draw.count(gaps, 'row')} {'has' if gaps == 1 else 'have'} gaps; the 90% ellipses of their positions "
            f"are {width_text} complete rows' (median)."
        )
    return title, text


@plot("other_axes", "Axes 3, 4, ... each against axis 1.", needs="analysis", report=InReport("map", "rows"))
def other_axes(analysis: Analysis) -> Plot:
    """Axes 3, 4, ... each against axis 1: what the map of axes 1 and 2 does not show."""
    draw.need_axes(analysis.dims, 3, "other_axes")
    z, shares = analysis.posterior.mean, analysis.shares
    axes = range(2, min(analysis.dims, 2 + MOST_OTHER_AXES))
    keep, odd = spread_out(len(z), MOST_SMALL_POINTS), analysis.odd.odd
    across = min(3, len(axes))
    figure = draw.blank(6.4, 2.3 * -(-len(axes) // across) + 0.5)
    for panel, k in zip(panels(figure, len(axes), across), axes, strict=True):
        panel.scatter(z[keep, 0], z[keep, k], s=7, color=draw.COLOURS[0], alpha=0.6, linewidths=0)
        panel.scatter(z[odd, 0], z[odd, k], s=45, facecolors="none", edgecolors=draw.COLOURS[3], linewidths=1.3)
        as_map(panel, "axis 1", f"axis {k + 1} ({draw.percent(shares[k])})")
    carried = sum(shares[2:])
    others = "Axis 3 carries"
    if analysis.dims > 3:
        others = f"Axes 3 {'and' if analysis.dims == 4 else 'to'} {analysis.dims} carry"
    title = f"{others} {draw.percent(carried)} of the variation"
    subset_text = "" if analysis.dims - 2 <= MOST_OTHER_AXES else f" The first {MOST_OTHER_AXES} of them are drawn."
    sentence = f"Each panel has axis 1 across and another axis upwards; odd rows are ringed.{subset_text}" + (
        f" {len(keep):,} of {len(z):,} rows are drawn." if len(keep) < len(z) else ""
    )
    draw.headline(figure, title)
    numbers = [k + 1 for k in range(2, analysis.dims)]
    data = {"axis": numbers, "share_of_variation": shares[2:], "spread_of_rows": z[:, 2:].std(axis=0)}
    return Plot("other_axes", figure, title=title, sentence=sentence, data=data)


@plot(
    "density",
    "The map as counts of rows in cells of at least five.",
    needs="analysis",
    report=InReport("map", "no rows"),
)
def density(analysis: Analysis) -> Plot:
    """The map as counts of rows in cells; cells with fewer than five rows stay empty."""
    draw.need_axes(analysis.dims, 2, "density")
    xy = analysis.posterior.mean[:, :2]
    bins = int(np.clip(np.sqrt(len(xy) / 8), 4, 40))
    reach = max(3.2 * float(xy.std(axis=0).max()), 1e-9)
    counts, xs, ys = np.histogram2d(xy[:, 0], xy[:, 1], bins=bins, range=[(-reach, reach)] * 2)
    full = counts >= LEAST_SHOWN_ROWS
    figure = draw.blank(6.4, 4.6)
    ax = figure.subplots()
    shade = ax.pcolormesh(xs, ys, np.where(full, counts, np.nan).T, cmap=draw.SEQUENTIAL, rasterized=False)
    figure.colorbar(shade, ax=ax, label="rows")
    as_map(ax, *(f"axis {c.axis} ({draw.percent(c.share)})" for c in analysis.axes[:2]), box=True)
    n_shown = int(counts[full].sum())
    title = f"Axes 1 and 2 carry {draw.percent(sum(c.share for c in analysis.axes[:2]))} of the variation"
    sentence = (
        f"{n_shown:,} of {len(xy):,} rows lie in cells with at least {LEAST_SHOWN_ROWS} rows; the others are not "
        "shown, because this report was asked to show no row."
    )
    draw.headline(figure, title)
    i, j = np.nonzero(full)
    middle = (xs[:-1] + xs[1:]) / 2, (ys[:-1] + ys[1:]) / 2
    data = {"axis_1": middle[0][i], "axis_2": middle[1][j], "rows": counts[full].astype(int)}
    return Plot("density", figure, title=title, sentence=sentence, data=data)
