"""Two small pictures drawn by hand: the map in a stamp and the eigenvalues as a sparkline."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from lowdim.maths.linalg import Array, evenly_spread
from lowdim.plot.marks import LEAST_SHOWN_ROWS

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

MOST_STAMP_POINTS = 400  # points on a stamp
BLUE, ORANGE = "#0072B2", "#B34700"


def svg(name: str, size: tuple[int, int], title: str, words: str, body: str) -> str:
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
        return svg(
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
    return svg(
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
        return svg(name, size, "Eigenvalues", "None: fewer than two columns vary.", "")
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
    return svg(name, size, "Eigenvalues", words, bars + line)
