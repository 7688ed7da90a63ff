"""Charts that only the report needs: the other axes, how the distances follow their law, and tables without rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.plot.base import (
    COLOURS,
    GREY,
    INK,
    SEQUENTIAL,
    Plot,
    blank,
    canvas,
    count,
    drawn,
    headline,
    label_axes,
    percent,
    short,
)
from lowdim.plot.marks import small, spread_out

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

MOST = 800  # points on a small chart
PANELS = 6
CELL = 5  # rows that must share a cell before it is shown in a report without rows
STRIPS = 16  # columns drawn


@drawn
def other_axes(found: Analysis) -> Plot:
    """Axes 3, 4, ... each against axis 1: what the map of axes 1 and 2 does not show."""
    z, shares = found.posterior.mean, [card.share for card in found.axes]
    axes = range(2, min(found.dims, 2 + PANELS))
    keep, odd = spread_out(len(z), MOST), found.odd.odd
    across = min(3, len(axes))
    down = -(-len(axes) // across)
    figure, panels = canvas(6.4, 2.3 * down + 0.5, rows=down, columns=across, squeeze=False, sharex=True)
    for panel, k in zip(panels.flat, axes, strict=False):
        panel.scatter(z[keep, 0], z[keep, k], s=7, color=COLOURS[0], alpha=0.6, linewidths=0)
        panel.scatter(z[odd, 0], z[odd, k], s=45, facecolors="none", edgecolors=COLOURS[3], linewidths=1.3)
        label_axes(panel, "axis 1", "", f"axis {k + 1} ({percent(shares[k])})")
    for panel in panels.flat[len(axes) :]:
        panel.set_visible(False)
    left = sum(shares[2:])
    title = f"The other {count(found.dims - 2, 'axis', 'axes')} carry {percent(left)} of the variation"
    some = "" if found.dims - 2 <= PANELS else f" The first {PANELS} of them are drawn."
    sentence = f"Each panel has axis 1 across and another axis upwards; odd rows are ringed.{some}" + (
        f" {len(keep):,} of {len(z):,} rows are drawn." if len(keep) < len(z) else ""
    )
    headline(figure, title)
    data = {
        "axis": [k + 1 for k in range(2, found.dims)],
        "share_of_variation": shares[2:],
        "spread_of_rows": z[:, 2:].std(axis=0),
    }
    return Plot("other_axes", figure, title=title, sentence=sentence, data=data)


@drawn
def distance_law(found: Analysis) -> Plot:
    """Each row's p-value (D2) against the one its rank should have were the model true: a straight line."""
    p = np.sort(found.odd.D2.p)
    n = len(p)
    due = (np.arange(n) + 0.5) / n
    gap = float(np.abs(np.arange(1, n + 1) / n - p).max())
    limit = 1.36 / np.sqrt(n)
    figure, ax = canvas(6.4, 4.0)
    keep = np.unique(np.concatenate([np.arange(min(n, 100)), spread_out(n, 250)]))
    x, y = -np.log10(due[keep]), -np.log10(np.maximum(p[keep], 1e-300))
    top = float(x.max()) * 1.05
    ax.plot([0, top], [0, top], color=GREY, lw=1, ls="--", label="as the model says")
    ax.scatter(x, np.minimum(y, 2.5 * top), s=12, color=COLOURS[0], linewidths=0, label="rows")
    label_axes(ax, "rarity due to rank (−log10)", "rarity found (−log10 p of D²)")
    ax.legend(loc="upper left")
    word = "follow" if gap <= limit else "do not follow"
    title = f"The rows' distances {word} the model's law"
    sentence = (
        f"The largest difference between the two distributions of p is {gap:.2f}; about {limit:.2f} would be "
        f"rare by chance (5% level) for {count(n, 'row')}. Points above the line are rows further out than "
        "the model expects" + (f"; the rarest has p {small(float(p[0]))}." if n else ".")
    )
    headline(figure, title)
    return Plot("distance_law", figure, title=title, sentence=sentence, data={"due": due, "p": p})


@drawn
def density(found: Analysis) -> Plot:
    """The map as counts of rows in cells; cells with fewer than five rows stay empty."""
    xy = found.posterior.mean[:, :2]
    bins = int(np.clip(np.sqrt(len(xy) / 8), 4, 40))
    reach = np.maximum(3.2 * xy.std(axis=0), 1e-9).tolist()
    counts, xs, ys = np.histogram2d(xy[:, 0], xy[:, 1], bins=bins, range=[(-r, r) for r in reach])
    full = counts >= CELL
    figure = blank(6.4, 4.6)
    ax = figure.subplots()
    shade = ax.pcolormesh(xs, ys, np.where(full, counts, np.nan).T, cmap=SEQUENTIAL + "_r", rasterized=False)
    figure.colorbar(shade, ax=ax, label="rows")
    label_axes(ax, *(f"axis {c.axis} ({percent(c.share)})" for c in found.axes[:2]))
    held = int(counts[full].sum())
    title = f"Axes 1 and 2 carry {percent(sum(c.share for c in found.axes[:2]))} of the variation"
    sentence = (
        f"{held:,} of {len(xy):,} rows lie in cells with at least {CELL} rows; the others are not shown, "
        "because this report was asked to show no row."
    )
    headline(figure, title)
    i, j = np.nonzero(full)
    middle = (xs[:-1] + xs[1:]) / 2, (ys[:-1] + ys[1:]) / 2
    data = {"axis_1": middle[0][i], "axis_2": middle[1][j], "rows": counts[full].astype(int)}
    return Plot("density", figure, title=title, sentence=sentence, data=data)


@drawn
def spreads(found: Analysis) -> Plot:
    """A histogram of each column between 2.5 standard deviations around its mean, in bins of at least five rows."""
    X, names = found.table.X, found.table.names
    shown = min(len(names), STRIPS)
    centre, sd = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    edges = np.linspace(-2.5, 2.5, 13)
    counts = np.array(
        [
            np.histogram((x[~np.isnan(x)] - m) / (s or 1.0), bins=edges)[0]
            for x, m, s in zip(X.T, centre, sd, strict=True)
        ]
    )
    counts = np.where(counts >= CELL, counts, 0)
    figure, ax = canvas(6.4, 0.9 + 0.3 * shown)
    for k in range(shown):
        tall = counts[k] / max(counts[k].max(), 1)
        ax.bar(edges[:-1], 0.85 * tall, width=np.diff(edges), bottom=shown - 1 - k, align="edge", color=COLOURS[0])
    ax.set_yticks([shown - 1 - k + 0.4 for k in range(shown)], [short(name) for name in names[:shown]], fontsize=8.5)
    ax.axvline(0, color=INK, lw=0.6)
    label_axes(ax, "standard deviations from the column's mean")
    title = f"{count(len(names), 'column')} in bins of at least {CELL} rows"
    headline(figure, title)
    some = "" if shown == len(names) else f" The first {shown} are drawn."
    data: dict[str, Any] = {"column": names, "mean": centre, "sd": sd, "count": counts}
    return Plot(
        "spreads",
        figure,
        title=title,
        data=data,
        sentence=f"Bins with fewer rows are left empty, because this report was asked to show no row.{some}",
    )
