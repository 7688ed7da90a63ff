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

MOST_POINTS = 3000  # more marks than this make an SVG heavy: they are binned
MOST_VECTOR_POINTS = 600  # and more than this are drawn as an image within it
LEAST_SHOWN_ROWS = 5  # that must share a cell before it is shown where no single row may be
LARGEST_RARITY = 300.0  # -log10 of the smallest p-value that doubles hold with all their digits


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
