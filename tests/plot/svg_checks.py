"""What every plot must be, checked on its SVG."""

import functools
import xml.etree.ElementTree as ET

import numpy as np

from lowdim.plot.base import Plot, style
from lowdim.plot.canvas import SVGCanvas

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "a<b> & 'c'",
    "$x^2$ price $",
    "größe κ²",
    "100%",
    "=SUM(A1) 温度",
    "_under\\score{",
    "line\nbreak",
    "x" * 90,
]


@functools.lru_cache(maxsize=4)
def svg_of(plot: Plot) -> str:
    """Drawing is slow: once a plot is enough."""
    return plot.svg()


def parsed(plot: Plot) -> ET.Element:
    """The SVG, well formed, with role, title and description."""
    root = ET.fromstring(svg_of(plot))
    assert root.tag == f"{SVG}svg" and root.get("role") == "img"
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and desc is not None and plot.title and plot.sentence.endswith(".")
    assert title.text == " ".join(plot.title.split()) and desc.text == " ".join(plot.sentence.split())
    assert root.get("aria-labelledby", "").split() == [title.get("id"), desc.get("id")]
    return root


def texts(plot: Plot) -> list[str]:
    return ["".join(t.itertext()) for t in parsed(plot).iter(f"{SVG}text")]


def same_twice(make) -> Plot:
    """Two calls give the same bytes; no number is infinite; all text is inside."""
    one = make()
    assert svg_of(one) == make().svg()
    parsed(one)
    for key, value in one.data.items():
        if value.dtype.kind == "f":
            assert not np.isinf(value).any(), key
    inside(one)
    return one


def inside(plot: Plot, slack: float = 0.05) -> None:
    """Nothing that is drawn sticks out of the figure (in inches)."""
    svg_of(plot)  # lays out
    stays_inside(plot.figure, SVGCanvas, 72, slack)


def stays_inside(figure, canvas, dpi: int, slack: float = 0.05) -> None:
    """Nothing sticks out of a figure as this canvas measures it."""
    with style():
        figure.dpi = dpi
        box = figure.get_tightbbox(canvas(figure).get_renderer())
    wide, high = figure.get_size_inches()
    assert box.x0 > -slack and box.x1 < wide + slack and box.y0 > -slack and box.y1 < high + slack, box


def apart(texts_drawn) -> None:
    """No two of these texts overlap."""
    with style():
        boxes = [(t.get_text(), t.get_window_extent()) for t in texts_drawn if t.get_text().strip()]
    for i, (a, x) in enumerate(boxes):
        for b, y in boxes[i + 1 :]:
            cover = max(0.0, min(x.x1, y.x1) - max(x.x0, y.x0)) * max(0.0, min(x.y1, y.y1) - max(x.y0, y.y0))
            assert cover < 0.15 * min(x.width * x.height, y.width * y.height), (a, b)
