"""SVG of the report: plots made smaller with the same look; the map and the eigenvalues as small pictures."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lowdim.maths.linalg import Array, evenly_spread
from lowdim.plot.base import Plot, printable
from lowdim.plot.marks import LEAST_SHOWN_ROWS

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

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
MOST_STAMP_POINTS = 400  # points on a stamp
BLUE, ORANGE = "#0072B2", "#B34700"
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


# drawn by hand --------------------------------------------------------------------------------------------
def drawn(name: str, size: tuple[int, int], title: str, words: str, body: str) -> str:
    """A small SVG with its title and description."""
    w, h = size
    return (
        f'<svg viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" xmlns="http://www.w3.org/2000/svg" '
        f'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{html.escape(title)}</title>'
        f'<desc id="{name}-desc">{html.escape(words)}</desc>{body}</svg>'
    )


def map_stamp(analysis: Analysis, name: str, *, rows: bool = True, size: tuple[int, int] = (260, 210)) -> str:
    """The first two axes at a glance; without rows a density of cells with at least five of them."""
    if analysis.dims < 2:
        return scree_line(analysis, name, size=size)
    w, h = size
    xy = analysis.posterior.mean[:, :2]
    odd = analysis.odd.odd
    x, y = (xy - xy.mean(axis=0)).T / (np.abs(xy - xy.mean(axis=0)).max() or 1.0)
    px, py = w / 2 + x * (w / 2 - 8), h / 2 - y * (h / 2 - 8)
    cross = f'<path d="M0 {h / 2:g}H{w}M{w / 2:g} 0V{h}" stroke="#8a8f94" stroke-width=".7" fill="none"/>'
    if not rows:
        return drawn(
            name,
            size,
            "The map at a glance",
            f"Rows on axes 1 and 2, in cells of at least {LEAST_SHOWN_ROWS}.",
            cross + _cells(px, py, size),
        )
    shown = evenly_spread(len(x), MOST_STAMP_POINTS, ends=True)
    body = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2"/>' for a, b in zip(px[shown], py[shown], strict=True))
    rings = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="5.5"/>' for a, b in list(zip(px[odd], py[odd], strict=True))[:20]
    )
    return drawn(
        name,
        size,
        "The map at a glance",
        f"{len(x):,} rows on axes 1 and 2; {int(odd.sum())} odd, ringed.",
        f'{cross}<g fill="{BLUE}" fill-opacity=".75">{body}</g>'
        f'<g fill="none" stroke="{ORANGE}" stroke-width="1.6">{rings}</g>',
    )


def _cells(px: Array, py: Array, size: tuple[int, int]) -> str:
    bins = (13, 10) if len(px) > 500 else (8, 6)
    counts, xs, ys = np.histogram2d(px, py, bins=bins, range=((0, size[0]), (0, size[1])))
    top = max(float(counts.max()), 1.0)
    return (
        f'<g fill="{BLUE}">'
        + "".join(
            f'<rect x="{xs[i]:.0f}" y="{ys[j]:.0f}" width="{xs[1]:.0f}" height="{ys[1]:.0f}" '
            f'fill-opacity="{0.15 + 0.85 * counts[i, j] / top:.2f}"/>'
            for i, j in np.argwhere(counts >= LEAST_SHOWN_ROWS)
        )
        + "</g>"
    )


def scree_line(analysis: Analysis, name: str, *, size: tuple[int, int] = (170, 70)) -> str:
    """The eigenvalues as bars, those of the map in colour, shuffled tables as a dashed line."""
    values = np.asarray(analysis.jury.eigenvalues, dtype=float)[:20]
    band = np.asarray(analysis.jury.band, dtype=float)[:20]
    (w, h), q = size, analysis.dims
    if not len(values):
        return drawn(name, size, "Eigenvalues", "None: fewer than two columns vary.", "")
    tallest = max(float(values.max()), float(band.max(initial=0.0)), 1e-300)
    step = w / len(values)
    bars = "".join(
        f'<rect x="{k * step + 1:.1f}" y="{h - 4 - v:.1f}" width="{step - 2:.1f}" height="{v + 2:.1f}" '
        f'fill="{BLUE if k < q else "#8a8f94"}"/>'
        for k, v in enumerate(values / tallest * (h - 10))
    )
    points = " ".join(f"{(k + 0.5) * step:.1f},{h - 4 - v:.1f}" for k, v in enumerate(band / tallest * (h - 10)))
    line = f'<polyline fill="none" stroke="{ORANGE}" stroke-width="1.5" stroke-dasharray="4 2" points="{points}"/>'
    words = f"{q} of {len(values)} kept; the dashed line is the 95% level of shuffled tables."
    return drawn(name, size, "Eigenvalues", words, bars + line)
