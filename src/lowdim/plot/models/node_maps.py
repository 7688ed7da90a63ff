"""Two pictures on the map of a GTM: how much the sheet is stretched, and one row's posterior over the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.math.linalg import Array, Mask
from lowdim.plot.base import COLOURS, GREY, INK, PAPER, Plot, blank, count, drawn, headline, number, percent, short
from lowdim.plot.colour import Groups, draw_groups, groups, legend_marks
from lowdim.plot.marks import POINTS, legend_above, spread_out
from lowdim.plot.models.gtm import Lattice, lattice
from lowdim.text.messages import error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALLEST = 1e-12  # of the largest stretch: a sheet that is folded flat has none, and its logarithm must be drawn
FLAT = "Greys"  # under coloured rows; dark = stretched, or likely
HELD = 0.9  # of a posterior
APART = 1.5  # node spacings between mean and mode from which the mean stands between places


@drawn
def magnification(model: Any, X: Any = None, *, color: Any = None, color_name: str = "") -> Plot:
    """How much area (with one axis: length) of the table a piece of the map is worth, on a logarithmic scale.

    The factor is sqrt(det J'J), J the slopes of the sheet, over its median on the map. Dark borders separate groups
    that lie close on the map and far apart in the table. The rows of X lie at their posterior means.

    Reference: Bishop, Svensen and Williams, "Magnification factors for the GTM algorithm" (1997).

    >>> from lowdim import GTM
    >>> X = np.column_stack([np.linspace(0, 1, 40), np.linspace(0, 1, 40) ** 3])
    >>> plot = magnification(GTM(1, grid=9).fit(X), X)
    >>> bool(np.median(plot.data["log10_stretch"]) == 0.0)
    True
    """
    net = lattice(model, "magnification")
    stretch = np.asarray(model.magnification(net.points), dtype=np.float64)
    stretch = np.maximum(stretch, SMALLEST * (stretch.max(initial=0.0) or 1.0))
    value = np.log10(stretch / np.median(stretch))
    cells = None if X is None else np.asarray(X, dtype=np.float64)
    rows = np.zeros((0, net.points.shape[1])) if cells is None else np.asarray(model.transform(cells))
    gap: Mask = np.zeros(len(rows), dtype=bool) if cells is None else np.asarray(np.isnan(cells).any(axis=1))
    kinds = groups(color, len(rows), color_name)
    figure = blank(6.4, 4.8)
    ax = figure.subplots()
    if len(net.sides) == 1:
        _curve(ax, net, value, rows, kinds)
    else:
        darkest = float(value.max()) + 0.4 * (float(np.ptp(value)) or 1.0)  # rows must stay visible on it
        shade = ax.pcolormesh(
            *net.sides,
            value.reshape([len(s) for s in net.sides]).T,
            cmap=FLAT,
            shading="nearest",
            vmax=darkest,
            rasterized=True,
        )
        _bar(figure, ax, shade, value)
        draw_groups(ax, rows, kinds, gap, spread_out(len(rows), POINTS))
        ax.set(xlabel="axis 1 of the map (no scale)", ylabel="axis 2 of the map (no scale)")
        _below(figure, legend_marks(kinds, gap))
    title, sentence = _stretch_words(model, net, value, rows)
    headline(figure, title)
    return Plot(
        "magnification",
        figure,
        title=title,
        sentence=sentence + (kinds.words if len(rows) else ""),
        data={"place": net.points, "stretch": stretch, "log10_stretch": value, "row": rows},
    )


def _curve(ax: Axes, net: Lattice, value: Array, rows: Array, kinds: Groups) -> None:
    """With one axis the stretch is a curve; rows are ticks below it."""
    ax.plot(net.sides[0], value, "o-", color=INK, ms=3)
    low = float(value.min()) - 0.08 * (float(np.ptp(value)) or 1.0)
    for k in range(max(1, len(kinds.names))):
        some = rows[kinds.kind == k, 0] if len(rows) else rows[:, 0]
        name = short(kinds.names[k]) if kinds.names else "rows"
        ax.plot(some, np.full(len(some), low), "|", color=kinds.look(k)[0], ms=9, label=name)
    ax.set(xlabel="the map's axis (no scale)", ylabel="stretch over its median")
    _powers(ax.yaxis, value)
    legend_above(ax, ncols=4)


def _power(value: float) -> str:
    return f"× {number(10.0**value)}"


def _powers(axis: Any, value: Array) -> None:
    """Ticks of a logarithm that say the number itself."""
    low, high = float(value.min()), float(value.max())
    steps = (1.0, 2.0, 5.0) if high - low < 2.5 else (1.0,)
    ticks = [np.log10(s) + k for k in range(int(np.floor(low)), int(np.ceil(high)) + 1) for s in steps]
    inside = [tick for tick in ticks if low <= tick <= high]
    axis.set_ticks(inside, [_power(tick) for tick in inside])


def _bar(figure: Figure, ax: Axes, shade: Any, value: Array) -> None:
    bar = figure.colorbar(shade, ax=ax, shrink=0.8, label="area in the table, over its median")
    bar.ax.set_ylim(float(value.min()), float(value.max()))
    _powers(bar.ax.yaxis, value)


def _below(figure: Figure, marks: list[Any]) -> None:
    if marks:
        figure.legend(handles=marks, loc="outside lower left", ncols=4, fontsize=8)


def _stretch_words(model: Any, net: Lattice, value: Array, rows: Array) -> tuple[str, str]:
    most, least = float(10.0 ** (value.max() - value.min())), float(np.quantile(value, 0.9))
    size = "area" if len(net.sides) == 2 else "length"
    title = f"The sheet is stretched {number(most)} times more at one place of the map than at another"
    ends = f"{number(10.0 ** value.min())} and {number(10.0 ** value.max())}"
    text = f"A piece of the map is worth between {ends} times the median {size} of the table."
    if len(rows):
        there = np.log10(np.maximum(model.magnification(rows), 1e-300)) - np.log10(
            np.maximum(np.median(model.magnification(net.points)), 1e-300)
        )
        text += (
            f" {percent(float((there > least).mean()))} of {len(rows):,} rows lie in the most stretched tenth of "
            "the map: dark borders separate what is near on the map and far apart in the table."
        )
    return title, text


# one row ------------------------------------------------------------------------------------------------
@drawn
def responsibility(model: Any, X: Any, row: int | None = None, *, row_names: Sequence[str] | None = None) -> Plot:
    """One row's posterior over the nodes of a GTM or the sample of a density network; its mean and mode joined.

    `row` is a position from 0; without it the row whose mean and mode lie farthest apart is drawn. Where they do, the
    posterior is spread out or has several peaks, and the mean, which `transform` gives, stands between places.

    Reference: Lawrence seed, figure 6.10; Bishop, Svensen and Williams (1998).

    >>> from lowdim import GTM
    >>> t = np.linspace(0, 3, 60)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> plot = responsibility(GTM(1, grid=9).fit(X), X, 30)
    >>> plot.data["share"].shape, round(float(plot.data["share"].sum()), 12)
    ((9,), 1.0)
    """
    net, X = lattice(model, "responsibility"), np.asarray(X, dtype=np.float64)
    means, modes = np.asarray(model.transform(X)), np.asarray(model.mode(X))
    apart = np.sqrt(((means - modes) ** 2).sum(axis=1))
    chosen = row is None
    i = int(np.argmax(apart)) if row is None else int(row)
    if not 0 <= i < len(X):
        raise error("LD210", option="row", value=row, allowed=f"a position from 0 to {len(X) - 1}")
    places, share = np.asarray(model.grid_), np.asarray(model.responsibilities(X[i : i + 1]))[0]
    figure = blank(6.4, 4.8)
    ax = figure.subplots()
    if places.shape[1] == 1:
        _bars(ax, places[:, 0], share, float(means[i, 0]), float(modes[i, 0]))
    else:
        _nodes(figure, ax, places, share, net)
        some = means[spread_out(len(means), POINTS)]
        ax.plot(*some.T, ".", color=GREY, ms=2, alpha=0.6, zorder=2, label="the other rows")
        _joined(ax, means[i], modes[i])
        ax.set(xlabel="axis 1 of the map (no scale)", ylabel="axis 2 of the map (no scale)")
    legend_above(ax, ncols=3)
    name = str(i + 1) if row_names is None else str(row_names[i])
    title, sentence = _row_words(name, share, float(apart[i]), _spacing(net, places), chosen, int(np.isnan(X[i]).sum()))
    headline(figure, title)
    return Plot(
        "responsibility",
        figure,
        title=title,
        sentence=sentence,
        data={"node": places, "share": share, "mean": means[i], "mode": modes[i]},
    )


def _spacing(net: Lattice, places: Array) -> float:
    """Between neighbouring nodes; of a drawn sample, what it would be on average."""
    side = net.sides[0]
    if net.own:
        return float(side[1] - side[0]) if len(side) > 1 else 1.0
    return float(4.0 / len(places) ** (1.0 / places.shape[1]))


def _nodes(figure: Figure, ax: Axes, places: Array, share: Array, net: Lattice) -> None:
    """Shares as shades of a grid, or as areas where the nodes are drawn at random."""
    if net.own:
        order = np.lexsort(places.T[::-1])
        shade = ax.pcolormesh(
            *net.sides,
            share[order].reshape([len(s) for s in net.sides]).T,
            cmap="Blues",
            vmin=0.0,
            shading="nearest",
            rasterized=True,
        )
        figure.colorbar(shade, ax=ax, shrink=0.8, label="share of the row (responsibility) of each node")
        return
    x, y = places.T
    ax.scatter(x, y, s=18, marker="+", color=INK, linewidths=0.6, alpha=0.6, zorder=1, label="nodes")
    ax.scatter(
        x,
        y,
        s=500.0 * share,
        facecolors=COLOURS[5],
        edgecolors=COLOURS[0],
        linewidths=0.6,
        alpha=0.8,
        zorder=3,
        label="area: share of the row",
    )


def _joined(ax: Axes, mean: Array, mode: Array) -> None:
    ax.plot(*np.stack([mean, mode]).T, "-", color=COLOURS[3], lw=1.4, zorder=5)
    ax.plot(*mean[:, None], "o", color=COLOURS[3], mec=PAPER, ms=9, zorder=6, label="its mean")
    ax.plot(*mode[:, None], "*", color=COLOURS[3], mec=PAPER, ms=13, zorder=6, label="its mode")


def _bars(ax: Axes, places: Array, share: Array, mean: float, mode: float) -> None:
    order = np.argsort(places)
    ax.vlines(places[order], 0.0, share[order], color=COLOURS[0], lw=4)
    low = -0.06 * float(share.max())
    _joined(ax, np.array([mean, low]), np.array([mode, low]))
    ax.set(xlabel="the map's axis (no scale)", ylabel="share of the row (responsibility) of each node")


def _row_words(name: str, share: Array, apart: float, spacing: float, chosen: bool, gaps: int) -> tuple[str, str]:
    held = int(np.searchsorted(np.cumsum(np.sort(share)[::-1]), HELD) + 1)
    steps = apart / spacing
    far = steps > APART
    hold = f"{held} of {count(len(share), 'node')} {'holds' if held == 1 else 'hold'} {percent(HELD)}"
    title = f"Row {short(name)}: {hold} of its posterior" + ("; its mean stands between places" if far else "")
    text = (
        f"Row {short(name)}{' (the most spread out of all)' if chosen else ''}: the likeliest node has "
        f"{percent(float(share.max()))} and {hold}; mean and mode lie {number(steps)} spacings apart"
    )
    text += ", so that the mean stands where little of the posterior is" if far else ""
    return title, text + (f". {count(gaps, 'gap')} in the row." if gaps else ".")
