"""The canvas of our figures: SVG, with every text measured once and not once for each place it is asked from.

A label is measured for the layout, for the name of its axis and to be drawn, and the same names and numbers stand in
many pictures of a report; measuring took a tenth of the time of one.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

POINTS = 72.0  # an inch: SVG's unit


@lru_cache(maxsize=4096)
def text_size(text: str, font: FontProperties, ismath: Any) -> tuple[float, float, float]:
    """Width, height and descent of a text."""
    size: tuple[float, float, float] = text_to_path.get_text_width_height_descent(text, font, ismath)
    return size


class SVGRenderer(RendererSVG):
    """Matplotlib's, with measures kept."""

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: Any) -> tuple[float, float, float]:
        """As measured before where it was."""
        return text_size(s, prop.copy(), ismath)


class SVGCanvas(FigureCanvasSVG):
    """Matplotlib's, measuring and drawing by our renderer."""

    def get_renderer(self) -> SVGRenderer:
        """What layouts measure by."""
        return self._renderer(io.StringIO())

    def _renderer(self, out: io.StringIO) -> SVGRenderer:
        width, height = self.figure.get_size_inches() * POINTS
        bare = {"Date": None, "Creator": None}
        return SVGRenderer(width, height, out, image_dpi=self.figure.dpi, metadata=bare)  # type: ignore[no-untyped-call]

    def svg(self) -> str:
        """The figure as SVG, without date and program."""
        out, figure = io.StringIO(), self.figure
        width, height = figure.get_size_inches()
        figure.dpi, dpi = POINTS, figure.dpi
        renderer: Any = MixedModeRenderer(figure, width, height, dpi, self._renderer(out))  # type: ignore[no-untyped-call]
        with labels_in_place(figure):
            figure.draw(renderer)
        renderer.finalize()
        figure.dpi = dpi
        return out.getvalue()


@contextmanager
def labels_in_place(figure: Figure) -> Iterator[None]:
    """Tick labels as the layout left them: matplotlib would measure each again to place what stands beyond them."""
    axes = (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis))
    labels = [
        label
        for axis in axes
        if not axis.get_major_formatter().get_offset()
        for tick in axis.get_major_ticks()
        for label in (tick.label1, tick.label2)
        if label.get_in_layout()
    ]
    for label in labels:
        label.set_in_layout(False)
    try:
        yield
    finally:
        for label in labels:
            label.set_in_layout(True)


def attached(figure: Figure) -> SVGCanvas:
    """The figure's canvas of this kind."""
    return figure.canvas if isinstance(figure.canvas, SVGCanvas) else SVGCanvas(figure)
