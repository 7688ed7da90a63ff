"""Judging a map by eye: distances and neighbours that it keeps, rows that it misplaces, and another map beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.judge.compare.map_quality import (
    NEAR,
    cells_of,
    coordinates,
    distances,
    floors,
    kept,
    rank_agreement,
    shares_true,
    typical,
)
from lowdim.judge.compare.map_quality import order as near_order
from lowdim.judge.compare.map_quality import shepard as shepard_pairs
from lowdim.maths.linalg import Array
from lowdim.maths.rotate import procrustes
from lowdim.plot import base as draw
from lowdim.plot.access import unit_of
from lowdim.plot.base import Plot
from lowdim.plot.marks import (
    MOST_POINTS,
    MOST_VECTOR_POINTS,
    as_map,
    legend_above,
    plain_log,
    shade_counts,
    spread_out,
)
from lowdim.plot.registry import PlotOption, plot
from lowdim.table.column import in_ones, ones_of
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.jobs.analysis import Analysis

MOST_COMPARED_ROWS = 1000  # rows whose pairs are compared
PAIR_BINS = 60  # bins a side of the pairs
LINES = ("-", "--", "-.")  # of this map, of PCA and of random projections
MOST_NAMED_MOVES = 5  # rows that are named
MOST_MATRIX_ROWS = 400  # rows of a matrix that is drawn: more than there are dots
ORDER = PlotOption("order", ("axis", "rows"), "How rows are ordered: along the first axis, or as in the table")


class Compared(NamedTuple):
    """The rows of a table that are compared with a map: their cells in units of the columns, places and names."""

    X: Array
    Z: Array
    names: list[str]
    n: int  # rows of the table

    @property
    def some(self) -> str:
        """How many of the rows these are, where they are not all."""
        return "" if len(self.X) == self.n else f" ({len(self.X):,} of {self.n:,} rows, evenly spread)"


def compared(analysis: Analysis, name: str, Z: Any = None, most: int = MOST_COMPARED_ROWS) -> Compared:
    """Rows of the table, evenly spread, beside another map of it or that of the analysis."""
    table = analysis.table
    if table.n < 3:
        raise error("LD160", n=table.n, least=3)
    places = coordinates(scaled_scores(analysis, name) if Z is None else Z, table.n)
    rows = spread_out(table.n, most)
    X, _ = cells_of(table.in_ones().X / unit_of(analysis))
    return Compared(X[rows], places[rows], [table.row_names[i] for i in rows], table.n)


def scaled_scores(analysis: Analysis, name: str) -> Array:
    """Positions whose axes are as long as what they move in the table."""
    draw.need_axes(analysis.dims, 1, name)
    # in the units the model was fitted in, where its axes are orthogonal
    W = analysis.map.cells.loadings.T
    return np.asarray(analysis.posterior.mean * np.sqrt((W**2).sum(axis=1)))


@plot("shepard", "Distances on the map over those in the table.", needs="analysis")
def shepard(analysis: Analysis, Z: Any = None) -> Plot:
    """Distances on the map over those in the table, pair by pair, with the best rising curve (Shepard's diagram).

    Shades count pairs. Stress is Kruskal's stress-1, the distance of the pairs from the curve. Rows with gaps are
    compared over the cells both have; of more than 1,000 rows so many are compared.

    Reference: J. Kruskal, Multidimensional scaling by optimizing goodness of fit to a nonmetric hypothesis,
    Psychometrika 29, 1964.
    """
    rows = compared(analysis, "shepard", Z)
    pairs = shepard_pairs(distances(rows.X), distances(rows.Z))
    figure = draw.blank(6.4, 4.4)
    ax = figure.subplots()
    if len(pairs.table) <= MOST_POINTS:
        (marks,) = ax.plot(pairs.table, pairs.map, "o", ms=2.5, color=draw.COLOURS[0], alpha=0.5, mew=0)
        marks.set(label="a pair of rows", rasterized=len(pairs.table) > MOST_VECTOR_POINTS)
    else:
        shade_counts(ax, pairs.table, pairs.map, "pairs of rows", bins=PAIR_BINS, cmap="Blues")
    at = spread_out(len(pairs.table), MOST_POINTS)
    ax.step(pairs.table[at], pairs.fitted[at], where="post", color=draw.COLOURS[3], lw=2, label="best rising curve")
    ax.set(xlabel="distance in the table", ylabel="distance on the map")
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    legend_above(ax)
    title = f"Distances: rank agreement {pairs.ranks:.2f}, stress {pairs.stress:.3f}{rows.some}"
    draw.headline(figure, title)
    at = spread_out(len(pairs.table), 200)
    sentence = (
        f"{draw.count(len(pairs.table), 'pair')} of rows{rows.some}: the order of their distances in the table "
        f"and on the map agrees by {pairs.ranks:.2f} (Spearman), and the map is off a rising curve by "
        f"{draw.percent(pairs.stress)} of its size (Kruskal's stress)."
    )
    data = {
        "table": pairs.table[at],
        "map": pairs.map[at],
        "fitted": pairs.fitted[at],
        "stress": pairs.stress,
        "rank_agreement": pairs.ranks,
    }
    return Plot("shepard", figure, title=title, sentence=sentence, data=data)


@plot("neighbors", "Nearest rows that the map keeps.", needs="analysis")
def neighbors(analysis: Analysis, Z: Any = None) -> Plot:
    """The share of each row's k nearest rows that are so on the map, for every k; the title speaks of ten.

    PCA and a random projection with as many axes are drawn beside it, and chance, k / (n - 1). The random projection's
    curve is the mean of five, its band reaches from the lowest to the highest.

    Reference: J. Lee and M. Verleysen, Quality assessment of dimensionality reduction: rank-based criteria,
    Neurocomputing 72, 2009.
    """
    X, Y, *_ = compared(analysis, "neighbors", Z)
    table_order, n = near_order(distances(X)), len(X)
    k = min(NEAR, n - 2)
    floor = floors(X, Y.shape[1], table_order)
    curves = {"this map": kept(table_order, near_order(distances(Y)))}
    curves |= {name: typical(random_curves) for name, random_curves in floor.items()}
    size = np.arange(1, n - 1)
    chance = size / (n - 1)
    figure, ax = draw.canvas(6.4, 4.2)
    for i, ((name, same), line) in enumerate(zip(curves.items(), LINES, strict=False)):
        label = f"{draw.short(name)} ({same.at(k):.0%} of {k})"
        ax.plot(size, same.share, ls=line, lw=1.4 if i else 2.4, color=draw.COLOURS[i % 6], label=label)
    low, *_, high = np.sort([one.share for one in floor["random projection"]], axis=0)
    ax.fill_between(size, low, high, color=draw.COLOURS[(len(curves) - 1) % 6], alpha=0.15, lw=0)
    ax.plot(size, chance, ":", color=draw.GREY, lw=1.2, label=f"chance ({min(k / (n - 1), 1.0):.0%})")
    ax.axvline(min(k, n - 2), color=draw.GREY, lw=0.6)
    ax.set(xscale="log", ylim=(0, 1.02), xlim=(1, max(n - 2, 2)))
    ax.set(xlabel="k, nearest rows that are looked at", ylabel="share kept on the map")
    plain_log(ax.xaxis)
    ax.legend(loc="upper left" if curves["this map"].share[0] < 0.6 else "lower right")
    title = f"The map keeps {curves['this map'].at(k):.0%} of each row's {k} nearest rows"
    draw.headline(figure, title)
    others = ", ".join(f"{name} {same.at(k):.0%}" for name, same in list(curves.items())[1:])
    sentence = (
        f"{title}; with as many axes {others}; chance {min(k / (n - 1), 1.0):.0%}. Over all sizes, 0 being "
        f"chance and 1 everything: {', '.join(f'{name} {same.area:.2f}' for name, same in curves.items())}."
    )
    data = {"k": size, **{name: same.share for name, same in curves.items()}, "chance": chance}
    return Plot("neighbors", figure, title=title, sentence=sentence, data=data)


@plot("trust", "The map, each row in the colour of its doubt.", needs="analysis")
def trust(analysis: Analysis, Z: Any = None) -> Plot:
    """The map, rows in the colour of their doubt, 1 less trustworthiness: dark ones are among rows that are not theirs.

    A row's share is 1 where its ten nearest on the map are its ten nearest in the table, 0 where they are the farthest;
    the mean over rows is the map's trustworthiness. The rows least to be trusted are named.

    Reference: J. Venna and S. Kaski, Neighborhood preservation in nonlinear projection methods, ICANN, 2001.
    """
    rows = compared(analysis, "trust", Z)
    X, Y, names, _ = rows
    near = min(NEAR, len(X) - 2)
    table_order, map_order = near_order(distances(X)), near_order(distances(Y))
    row_trust, whole = shares_true(table_order, map_order, near), shares_true(map_order, table_order, near)
    xy = Y[:, :2] if Y.shape[1] > 1 else np.column_stack([Y[:, 0], np.zeros(len(Y))])
    figure = draw.blank(6.4, 4.6)
    ax = figure.subplots()
    first = np.argsort(-row_trust, kind="stable")  # the doubtful on top
    x, y = xy[first].T
    dots = ax.scatter(x, y, s=26 if len(X) <= 300 else 11, c=1.0 - row_trust[first], cmap=draw.SEQUENTIAL)
    dots.set(clim=(0.0, max(float(1.0 - row_trust.min()), 0.1)), edgecolor=draw.GREY, linewidth=0.3)
    dots.set_rasterized(len(X) > MOST_VECTOR_POINTS)
    figure.colorbar(dots, ax=ax, label="doubt about a row (0: all its neighbours are true)", shrink=0.9)
    _plain_axes(ax, Y.shape[1])
    mean, bad = float(row_trust.mean()), int((row_trust < 0.9).sum())
    title = f"Trustworthiness {mean:.3f}; {draw.count(bad, 'row')} of {len(X):,} below 0.9{rows.some}"
    draw.headline(figure, title)
    worst = np.argsort(row_trust, kind="stable")[:MOST_NAMED_MOVES]
    worst = worst[row_trust[worst] < 0.9]
    draw.place_labels(ax, xy[worst], [draw.short(names[i], 12) for i in worst], avoid=xy)
    least = ", ".join(f"{draw.short(names[i])} {row_trust[i]:.2f}" for i in worst)
    sentence = (
        f"Of each row's {near} nearest rows on the map, those that are far away in the table count against it: "
        f"{mean:.3f} on average (continuity {float(whole.mean()):.3f}).{f' Least: {least}.' * (len(worst) > 0)}"
    )
    data = {"row": names, "place": Y, "trust": row_trust, "continuity": whole}
    return Plot("trust", figure, title=title, sentence=sentence, data=data)


def _plain_axes(ax: Axes, q: int) -> None:
    as_map(ax, f"axis 1 (of {q}; all count)" if q > 2 else "axis 1", "axis 2" if q > 1 else "")
    if q == 1:
        ax.set_yticks([])


@plot("versus", "The map and another one of the same rows, laid on it.", needs="analysis")
def versus(analysis: Analysis, other: Any = None) -> Plot:
    """The map and another one of the same rows, shifted, turned and scaled onto it, a line for each row's move.

    The turn is the best one (Procrustes, with reflection) over all axes; a map with fewer axes is padded with zeros.
    The rows that move most are named.

    Reference: J. Gower and G. Dijksterhuis, Procrustes Problems, Oxford University Press, 2004.

    Parameters
    ----------
    other : array of shape (n_rows, q), optional
        The other map; Isomap of up to 1,000 rows of the filled table where it is left out.
    """
    A, words = scaled_scores(analysis, "versus"), list(analysis.row_names)
    rows = spread_out(len(A), MOST_COMPARED_ROWS)  # that are drawn
    called = ("this map", "the other" if other is not None else "Isomap")
    from matplotlib.collections import LineCollection

    if other is None:
        from lowdim.models.spectral.isomap import Isomap

        filled = in_ones(analysis.fills.modelled, ones_of(analysis.table.code_labels))
        B = np.asarray(Isomap(A.shape[1]).fit_transform(filled[rows] / unit_of(analysis)))
        A, words, rows = A[rows], [words[i] for i in rows], np.arange(len(rows))
    else:
        B = coordinates(other, len(A))
    q = max(A.shape[1], B.shape[1], 2)
    A, B = (np.pad(M, ((0, 0), (0, q - M.shape[1]))) for M in (A, B))
    fit = procrustes(B, A)
    moved = np.sqrt(((fit.aligned - A) ** 2).sum(axis=1))
    size = float(np.sqrt(((A - A.mean(axis=0)) ** 2).sum(axis=1).mean())) or 1.0
    figure = draw.blank(6.4, 5.0)
    ax = figure.subplots()
    here, there = A[rows, :2], fit.aligned[rows, :2]
    many = len(rows) > 300
    lines = LineCollection(list(np.stack([here, there], axis=1)), colors=draw.GREY, linewidths=0.4 if many else 0.8)
    ax.add_collection(lines).set(alpha=0.5, zorder=1, rasterized=many)
    kinds = ((here, "o", draw.COLOURS[0], "none", 0.0, 3), (there, "s", draw.PAPER, draw.COLOURS[3], 0.8, 2))
    for (xy, shape, inner, outer, line, order), label in zip(kinds, called, strict=True):
        x, y = xy.T
        dots = ax.scatter(x, y, s=7 if many else 20, marker=shape, facecolors=inner, edgecolors=outer, linewidths=line)
        dots.set(zorder=order, label=label, rasterized=many)
    legend_above(ax, ncols=2)
    _plain_axes(ax, q)
    typical = draw.percent(float(np.median(moved)) / size)
    common = draw.percent(max(1.0 - fit.error, 0.0))
    title = f"{draw.short(called[1])} turned onto {draw.short(called[0])}: {common} in common"
    draw.headline(figure, title)
    most = rows[np.argsort(-moved[rows], kind="stable")][:MOST_NAMED_MOVES]
    most = most[moved[most] > 1e-6 * size]
    draw.place_labels(ax, fit.aligned[most, :2], [draw.short(words[i], 12) for i in most], avoid=here)
    far = f"; most, row {draw.short(words[most[0]])}, by {draw.percent(moved[most[0]] / size)}" if len(most) else ""
    sentence = (
        f"After the best shift, turn and scale the two maps have {common} of their "
        f"spread in common; a row moves by {typical} of the map's size (median){far}."
    )
    data = {"row": words, "first": A, "second": fit.aligned, "moved": moved}
    return Plot("versus", figure, title=title, sentence=sentence, data=data)


@plot("dist_matrix", "Distances in the table and on the map.", needs="analysis", options=(ORDER,))
def dist_matrix(analysis: Analysis, Z: Any = None, *, order: str = "axis") -> Plot:
    """Distances between rows in the table and on the map, both in one order and shaded alike.

    Map distances are scaled by the one factor that fits them best. Blocks on the diagonal are groups; a map that keeps
    distances shows the same picture twice. Rows without a common cell are hatched.

    Reference: [Lawrence2012] of `docs/sources.md`, figures 3.2 to 3.11.

    Parameters
    ----------
    order : {"axis", "rows"}, default "axis"
        Along the map's first axis, or as in the table: frames of a film, angles of a turn.
    """
    if order not in ("axis", "rows"):
        raise error("LD210", option="order", value=order, allowed="'axis' or 'rows'")
    X, Y, names, n = compared(analysis, "dist_matrix", Z, analysis.table.n)
    at = np.argsort(Y[:, 0], kind="stable") if order == "axis" else np.arange(n)
    at = at[spread_out(n, MOST_MATRIX_ROWS)]
    names = [names[i] for i in at]
    D, E = np.sqrt(distances(X[at])), np.sqrt(distances(Y[at]))
    known = np.isfinite(D)
    size = float((E[known] ** 2).sum())
    scale = float((D[known] * E[known]).sum()) / size if size > 0.0 else 1.0
    top = float(max(D[known].max(initial=0.0), scale * E.max(initial=0.0))) or 1.0
    named = spread_out(len(at), 25 if len(at) <= 25 else 8)  # a few rows' names down the side
    figure = draw.blank(7.2, 3.5)
    pair = figure.subplots(1, 2, sharex=True, sharey=True)
    for ax, M, words in ((pair[0], np.where(known, D, np.nan), "in the table"), (pair[1], scale * E, "on the map")):
        ax.set_facecolor("#dddddd")
        ax.patch.set_hatch("////")
        image = ax.imshow(M, cmap=draw.SEQUENTIAL, vmin=0.0, vmax=top, interpolation="nearest")
        ax.set_title(words, fontsize=9)
        ax.set_xticks([])
        ax.set_yticks(named, [draw.short(names[i], 12) for i in named], fontsize=7)
    by = "by axis 1" if order == "axis" else "in their order"
    pair[0].set_ylabel(f"rows {by}")
    figure.colorbar(image, ax=list(pair), label="distance (dark: far)", shrink=0.85)
    ranks = rank_agreement(D**2, E**2)
    title = f"Distances of {draw.count(len(at), 'row')} {by}: rank agreement {ranks:.2f}"
    draw.headline(figure, title)
    subset_text = "" if len(at) == n else f" {len(at)} of {n:,} rows are drawn, evenly spread."
    ordered = "ordered by the map's first axis" if order == "axis" else "in the order of the table"
    sentence = (
        f"Distances between rows in the table and on the map, {ordered} and shaded alike: their ranks agree by "
        f"{ranks:.2f}.{subset_text}"
    )
    data = {"row": names, "table": np.where(known, D, np.nan), "map": scale * E, "scale": scale}
    return Plot("dist_matrix", figure, title=title, sentence=sentence, data=data)
