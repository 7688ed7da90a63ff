"""What a report is made of: charts with the numbers behind them, tables, and the words around both."""
from __future__ import annotations

import base64
import re
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from lowdim.plot.base import Plot

SHOWN = 60  # rows of numbers shown under a chart; the rest is in its CSV file


class Grid(NamedTuple):
    """A table of cells, ready to be shown."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int = 0  # rows left out


class Chart(NamedTuple):
    """A drawn plot, the numbers behind it, and the file they can be had as."""

    name: str
    title: str
    sentence: str
    svg: Markup
    grid: Grid
    csv: str  # data URL
    code: str


class Section(NamedTuple):
    """One part of the report: a headline, charts, tables, how to read them and what they cannot say."""

    id: str
    title: str
    sentence: str
    charts: tuple[Chart, ...]
    grids: tuple[Grid, ...]
    read: str
    limits: str
    command: str


def chart(plot: Plot) -> Chart:
    """A plot as the report shows it."""
    data = base64.b64encode(plot.csv().encode()).decode()
    return Chart(plot.name, plot.title, plot.sentence, Markup(scoped(plot.svg(), plot.name)), grid_of(plot),  # noqa: S704 - our own SVG, names escaped
                 f"data:text/csv;base64,{data}", f"found.plot.{plot.name}().save('{plot.name}.svg')")


def scoped(svg: str, name: str) -> str:
    """The SVG with ids of its own, so that several can stand on one page."""
    own = f"{name}-title", f"{name}-desc"

    def rename(found: re.Match[str]) -> str:
        return found[0] if found[2] in own else f"{found[1]}{name}-{found[2]}{found[3]}"

    svg = re.sub(r'(\bid=")([^"]+)(")', rename, svg)
    svg = re.sub(r"(url\(#)([^)]+)(\))", rename, svg)
    return re.sub(r'(href="#)([^"]+)(")', rename, svg)


def grid_of(plot: Plot) -> Grid:
    """The first rows of the numbers behind a plot."""
    columns = [(key, value.ravel()) for key, value in plot.data.items()]
    length = max((len(value) for _, value in columns), default=0)
    rows = tuple(tuple(cell(value[i]) if i < len(value) else "" for _, value in columns)
                 for i in range(min(length, SHOWN)))
    return Grid(plot.title, tuple(key.replace("_", " ") for key, _ in columns), rows, max(length - SHOWN, 0))


def cell(value: Any) -> str:
    """A number to four digits, anything else as it is."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{float(value):.4g}"
    return "" if value is None else str(value)


def grid(caption: str, header: tuple[str, ...], rows: Any, most: int = 200) -> Grid:
    """A table from rows of values."""
    listed = [tuple(cell(value) for value in row) for row in rows]
    return Grid(caption, header, tuple(listed[:most]), max(len(listed) - most, 0))
