"""Small marks that the judges' plots share: plain ticks, names at ticks, p-values as lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.plot import base as draw
from lowdim.text.format import p_value as p_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lowdim.table.column import ColumnScales

MOST_POINTS = 3000  # more marks than this make an SVG heavy: they are binned
MOST_VECTOR_POINTS = 600  # and more than this are drawn as an image within it
LEAST_SHOWN_ROWS = 5  # that must share a cell before it is shown where no single row may be
LARGEST_RARITY = 300.0  # -log10 of the smallest p-value that doubles hold with all their digits


def panels(figure: Figure, many: int, across: int, **shared: Any) -> list[Axes]:
    """So many axes in a grid, `across` in a line; what is left of the last line stays empty."""
    grid = figure.subplots(-(-many // across), across, squeeze=False, **shared).ravel()
    for ax in grid[many:]:
        ax.set_axis_off()
    return list(grid[:many])


def shade_counts(
    ax: Axes,
    x: Array,
    y: Array,
    label: str,
    *,
    bins: Any,
    least: int = 1,
    cmap: str = draw.SEQUENTIAL,
    ends: Any = None,
) -> None:
    """Where points are too many to be drawn one by one: how many lie in each cell, on a logarithmic scale.

    Cells with fewer than `least` stay empty; all cells lie between the `ends` of both axes.
    """
    from matplotlib.colors import LogNorm

    counts, across, up = np.histogram2d(x, y, bins=bins, range=ends)
    norm = LogNorm(least, max(counts.max(), least + 1))
    shown = np.ma.masked_less(counts.T, least)
    image = ax.pcolormesh(across, up, shown, cmap=cmap, norm=norm, rasterized=True, zorder=0)
    bar = draw.figure_of(ax).colorbar(image, ax=ax, pad=0.01, aspect=30, label=label)
    plain_log(bar.ax.yaxis)


def write(ax: Axes, x: float, y: float, text: str, **style: Any) -> Any:
    """Small text in a plot."""
    return ax.text(x, y, text, **{"color": draw.INK, "fontsize": 8.5, **style})


def name_ticks(axis: Any, places: Any, names: Sequence[object], *, most: int = 24, **style: Any) -> None:
    """Names as ticks, cut short."""
    axis.set_ticks(list(places), [draw.short(name, most) for name in names], **{"fontsize": 8.5, **style})


def plain_log(axis: Any) -> None:
    """A logarithmic axis with plain numbers at its ticks (formulas are switched off in our plots)."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    low, high = axis.get_view_interval()
    decades = np.log10(max(high, 1e-300) / max(low, 1e-300))
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 3 else (1.0,), numticks=10))
    axis.set_major_formatter(FuncFormatter(lambda value, _: draw.number(value)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def own_ticks(axis: Any, scales: ColumnScales, j: int, unit: float = 1.0, most: int = 5) -> None:
    """Ticks of a model's numbers of column j, named as the table has them: of a logarithm 1, 2, 5, 10, ..."""
    from matplotlib.ticker import MaxNLocator

    low, high = unit * np.sort(axis.get_view_interval())
    ends = np.zeros((2, len(scales.log)))
    ends[:, j] = low, high
    least, highest = scales.outward(ends)[:, j]
    ticks: Any = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(least, highest)
    if scales.log[j] and high - low > np.log(3.0):
        powers = 10.0 ** np.arange(np.floor(np.log10(max(highest, 1e-300)) - (high - low) / np.log(10.0) - 1.0), 300.0)
        powers = powers[powers <= highest]
        ticks = np.sort(np.concatenate([powers, 2.0 * powers, 5.0 * powers, [0.0]]))
    ticks = ticks[(ticks >= least) & (ticks <= highest)]
    if len(ticks) > most + 1:
        ticks = ticks[spread_out(len(ticks), most)]
    own = np.zeros((len(ticks), len(scales.log)))
    own[:, j] = ticks
    axis.set_ticks(scales.inward(own)[:, j] / unit, [f"{tick:,.10g}" for tick in ticks])


def as_map(
    ax: Axes, across: str = "axis 1", up: str = "axis 2", *, box: bool = False, ends: Array | None = None
) -> None:
    """Names of two axes, and a unit that is as long across as up: distances, angles and circles are true.

    The axes take all the room there is, or keep their limits and take a `box` of less; `ends` are the corners of what
    is to be seen, where that is not all that is drawn.
    """
    ax.set(xlabel=across, ylabel=up)
    if ends is not None:
        ax.dataLim.set_points(ends)
        ax.autoscale_view()
    ax.set_aspect("equal", adjustable="box" if box else "datalim")


def whole_ticks(axis: Any, most: int = 12) -> None:
    """Ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))


def about(expected: float) -> str:
    """A number that chance makes, no finer than it is known.

    >>> about(49.7), about(1.914), about(0.0096)
    ('50', '1.9', '0.0096')
    """
    return f"{expected:,.0f}" if expected >= 10 else f"{expected:.2g}"


def rarity(p: Any) -> Array:
    """-log10 p, finite also where p is 0."""
    digits: Array = -np.log10(np.clip(np.asarray(p, dtype=float), 10.0**-LARGEST_RARITY, 1.0)) + 0.0
    return digits


def legend_above(ax: Axes, *handles: Any, **style: Any) -> None:
    """A legend between the headline and the axes, where no mark can be."""
    at = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.1, "fontsize": 8}
    ax.legend(*handles, **{**at, **style})


def spread_out(count: int, most: int) -> NDArray[np.intp]:
    """Positions of at most `most` of `count` things, evenly spread, first and last among them.

    >>> spread_out(10, 4).tolist()
    [0, 3, 6, 9]
    """
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, most)).round().astype(np.intp))
