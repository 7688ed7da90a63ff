"""Where the axes of a figure stand: constrained layout, with the room for tick labels counted and not measured.

Measuring every text twice takes a third of the time of a picture, and is exact for a font that the reader of an SVG
does not have. So the room of an axis is told from the characters of its labels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

WIDTHS = {
    **dict.fromkeys(" .,:;!|'()[]ijlftrI", 0.38),
    **dict.fromkeys("−+±=×<>", 0.84),
    **dict.fromkeys("mwMW%@", 0.95),
}  # in units of the font's size
OTHER_WIDTH = 0.64
LINE_HEIGHT = 1.2  # of a line, in the same units
LABEL_GAP = 4.0  # points between tick labels and the name of the axis, as matplotlib has it


def fix_layout(figure: Figure) -> None:
    """Lay the figure out once; savefig would do it again for every file, and draw the figure once more for that."""
    if figure.get_layout_engine() is None:
        return
    lay_out(figure)
    for ax in figure.axes:
        if ax.name != "3d":
            fix_label(ax.xaxis)
            fix_label(ax.yaxis)
    figure.set_layout_engine("none")


def fix_label(axis: Any) -> None:
    """Put the name of an axis where the layout left room for it; matplotlib would measure every tick label again."""
    from matplotlib.transforms import ScaledTranslation

    ax, label, upright = axis.axes, axis.label, axis.axis_name == "y"
    if not label.get_text():
        axis.set_label_coords(0.5, 0.5)  # anywhere, as long as it is not asked for
        return
    side = int(axis.get_label_position() in ("top", "right"))
    away = (tick_room(axis)[0][side] + LABEL_GAP) / 72.0 * (1 if side else -1)
    shift = ScaledTranslation(*((away, 0.0) if upright else (0.0, away)), ax.figure.dpi_scale_trans)
    x, y = label.get_position()
    axis.set_label_coords(*((side, y) if upright else (x, side)), transform=ax.transAxes + shift)


def lay_out(figure: Figure) -> None:
    """Give every axes its place, as SVG is drawn: 72 dots an inch."""
    engine = figure.get_layout_engine()
    if engine is None:
        return
    figure.dpi = 72
    for spine in (spine for ax in figure.axes for spine in ax.spines.values()):
        spine.set_in_layout(False)  # the axes' own box holds them
    boxes: dict[Any, Any] = {axis: partial(axis_box, axis) for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)}
    boxes |= {ax: AxesBox(ax, ax.get_tightbbox) for ax in figure.axes if ax.get_axes_locator() is None}
    for part, box in boxes.items():
        part.get_tightbbox = box
    try:
        engine.execute(figure)
    finally:
        for part in boxes:
            del part.get_tightbbox


class AxesBox:
    """The box of axes with all that belongs to them, measured once: the engine asks again after it has moved them."""

    def __init__(self, ax: Any, measure: Callable[..., Bbox | None]) -> None:
        self.ax, self.measure, self.margins = ax, measure, None

    def __call__(self, renderer: Any = None, **how: Any) -> Bbox | None:
        from matplotlib.transforms import Bbox

        if self.margins is not None:
            self.ax.apply_aspect()
            return Bbox(self.ax.bbox.get_points() + self.margins)
        box = self.measure(renderer, **how)
        self.margins = None if box is None else box.get_points() - self.ax.bbox.get_points()
        return box


def axis_box(axis: Any, renderer: Any = None, *, for_layout_only: bool = True) -> Bbox | None:
    """About the box that an axis takes with its tick labels and its name: `Axis.get_tightbbox` without measuring."""
    from matplotlib.transforms import Bbox

    if not axis.get_visible() or not axis.get_in_layout():
        return None
    along = 0 if axis.axis_name == "x" else 1
    ends = np.array(axis.axes.bbox.get_points())  # corner x side: two corners of the axes
    depth, low, high = tick_room(axis)
    if axis.label.get_text():
        side = int(axis.get_label_position() in ("top", "right"))
        depth[side] += text_box(axis.label)[1 - along] + LABEL_GAP
    if axis.get_major_formatter().get_offset():
        high += LINE_HEIGHT * axis.offsetText.get_fontsize() * along
    ends[:, along] = low, high
    ends[:, 1 - along] += -depth[0], depth[1]
    return Bbox(ends)


def tick_room(axis: Any) -> tuple[list[float], float, float]:
    """How far the tick labels reach below (or left) and above (or right) of the axes, and from where to where along."""
    along = 0 if axis.axis_name == "x" else 1
    low, high = map(float, axis.axes.bbox.get_points()[:, along])
    depth = [0.0, 0.0]
    for text, at, side in _tick_labels(axis, along):
        size = text_box(text)
        depth[side] = max(depth[side], size[1 - along])
        low, high = min(low, at - size[along] / 2), max(high, at + size[along] / 2)
    tick = axis.get_major_ticks(1)[0]
    return [room + tick.get_tick_padding() + tick.get_pad() if room else 0.0 for room in depth], low, high


def _tick_labels(axis: Any, along: int) -> list[tuple[Text, float, int]]:
    """The labels that are seen, where along the axis each stands (in dots), and the side it is on."""
    labels = axis.get_majorticklabels()
    first, last = sorted(axis.get_view_interval())
    reach = 1e-9 * (last - first)
    above = {id(tick.label2) for tick in axis.get_major_ticks()}
    seen = []
    for text in labels:
        where = text.get_position()[along]
        if text.get_text() and first - reach <= where <= last + reach:
            point = axis.axes.transData.transform((where, 0.0) if along == 0 else (0.0, where))
            seen.append((text, float(point[along]), int(id(text) in above)))
    return seen


def text_box(text: Text) -> tuple[float, float]:
    """About the width and height of a text, turned as it is."""
    lines, size = text.get_text().split("\n"), float(text.get_fontsize())
    wide, tall = max(text_width(line, size) for line in lines), LINE_HEIGHT * size * len(lines)
    turn = np.radians(text.get_rotation())
    c, s = abs(float(np.cos(turn))), abs(float(np.sin(turn)))
    return wide * c + tall * s, wide * s + tall * c


def text_width(text: str, size: float) -> float:
    """About how wide a line of text is, in points.

    >>> text_width("0.5", 10.0), text_width("", 10.0)
    (16.6, 0.0)
    """
    return size * sum(WIDTHS.get(sign, OTHER_WIDTH) for sign in text)
