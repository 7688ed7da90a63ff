"""Smaller SVG with the same look: coordinates to a hundredth of a point, the page's font, no white space."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lowdim.plot.base import Plot, printable

if TYPE_CHECKING:
    from lowdim.maths.linalg import Array

COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
TAG = re.compile(r"<[^<>]*>")
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
FAMILY = re.compile(r"font-family: [^;\"]*sans-serif;? ?")
ZERO_TURN = re.compile(r' transform="rotate\(-?0 [^)]*\)"')
LONE_GROUP = re.compile(r"<g>(<(?:path|use)\b[^<>]*/>)</g>")
ALIKE_RUNS = (
    re.compile(
        r'<use href="#[^"]*" x="[^"]*" y="[^"]*"(?P<look> style="[^"]*")/>'
        r'(?:<use href="#[^"]*" x="[^"]*" y="[^"]*"(?P=look)/>)+'
    ),
    re.compile(r'<path d="[^"]*"(?P<look>(?: clip-path="[^"]*")? style="[^"]*")/>(?:<path d="[^"]*"(?P=look)/>)+'),
)
PATH = re.compile(r'(?<= d=")[^"]*')
LIGHT_FILL, DARK_FILL = "fill: #767676", "fill: #595959"  # letters need a contrast of 7:1, marks do not


def slim(svg: str) -> str:
    """The SVG in about half the bytes."""
    svg = TAG.sub(lambda tag: _tag(tag[0]), COMMENT.sub("", svg))
    svg = re.sub(r">\s+<", "><", svg).strip()
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', svg))
    svg = re.sub(r'<(g|path) id="([^"]*)"', lambda m: m[0] if m[2] in used else f"<{m[1]}", svg)
    svg = LONE_GROUP.sub(r"\1", svg)
    for run in ALIKE_RUNS:
        svg = run.sub(_shared, svg)
    return svg


def _shared(run: re.Match[str]) -> str:
    """Neighbours that look the same say so once."""
    look = run["look"]
    return f"<g{look}>{run[0].replace(look + '/>', '/>')}</g>"


def _tag(tag: str) -> str:
    tag = LONG_NUMBER.sub(lambda x: _short(x[0]), tag).replace("xlink:href", "href")
    if tag.startswith("<text"):
        tag = ZERO_TURN.sub("", FAMILY.sub("", tag)).replace(LIGHT_FILL, DARK_FILL)
    elif tag.startswith("<path"):
        tag = PATH.sub(lambda d: re.sub(r" ?([A-Za-z]) ?", r"\1", " ".join(d[0].split())), tag)
    return tag.replace(": ", ":").replace("; ", ";") if ' style="' in tag else tag


def _short(x: str) -> str:
    text = f"{float(x):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def dots(plot: Plot, points: Array, texts: Sequence[str]) -> str:
    """Invisible marks over the points of a plot's first axes: each says in words what lies under it.

    A browser shows the words where the mouse rests, without a script; the script steps through them by keys.
    The plot's SVG must have been made before: that is what lays out the axes.
    """
    figure = plot.figure
    at = figure.axes[0].transData.transform(points) * 72.0 / figure.dpi
    high = figure.get_figheight() * 72.0
    marks = (
        f'<circle cx="{x:.1f}" cy="{high - y:.1f}" r="5"><title>{html.escape(printable(text))}</title></circle>'
        for (x, y), text in zip(at, texts, strict=True)
    )
    return f'<g class="dots" fill-opacity="0">{"".join(marks)}</g>'
