"""What a report is made of: charts with the numbers behind them, tables, downloads, and the words around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from lowdim.maths.linalg import Array
from lowdim.plot.base import Plot
from lowdim.plot.registry import in_section
from lowdim.report.svg import dots, slim
from lowdim.text.csv_table import csv_columns
from lowdim.text.errors import OptionError

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

MOST_GRID_ROWS = 25  # rows of numbers shown under a chart; the rest is in its CSV file
MOST_GRID_COLUMNS = 12  # columns shown
CSV_FIGURES = 6  # of a number in an embedded CSV file
MOST_CSV_LINES = 1000  # of an embedded CSV file; the code beside it gives them all


class Grid(NamedTuple):
    """A table of cells, ready to be shown; the first column names the row."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]  # a column of numbers stands on the right
    more: str = ""  # what was left out


class Bar(NamedTuple):
    """One cell of a row beside what the rest of the row says."""

    column: str
    value: str
    expected: str
    surprise: str
    left: float  # of the bar, percent of its track
    width: float
    far: bool


class RowStory(NamedTuple):
    """An odd row: its reason and its cells, the most surprising first."""

    name: str
    reason: str
    bars: tuple[Bar, ...]


class Download(NamedTuple):
    """A file that sits inside the page."""

    name: str
    words: str
    href: str


class Chart(NamedTuple):
    """A drawn plot, the numbers behind it, and where the whole of them can be had."""

    name: str
    title: str
    sentence: str
    svg: Markup
    grids: tuple[Grid, ...]
    file: str
    href: str
    code: str


class Section(NamedTuple):
    """One part of the report: a headline, charts, tables, how to read them and what they cannot say."""

    id: str
    title: str
    sentence: str
    read: str
    limits: str
    command: str
    code: str
    charts: tuple[Chart, ...] = ()
    grids: tuple[Grid, ...] = ()
    stories: tuple[RowStory, ...] = ()
    downloads: tuple[Download, ...] = ()
    touch: str = ""  # the numbers of a row card that can be touched, as JSON


def chart(plot: Plot, *, file: str = "", marks: tuple[Array, list[str]] | None = None) -> Chart:
    """A plot as the report shows it; with `file` its numbers are part of that download.

    `marks` are points of its first axes and what each is.
    """
    name = plot.name
    columns = plot.columns()
    lines = max(map(len, columns.values()), default=0)
    first = f"{name}_first_{MOST_CSV_LINES}.csv" if lines > MOST_CSV_LINES else f"{name}.csv"
    href = f"#file-{file.partition('.')[0]}" if file else data_url(csv_text(columns, MOST_CSV_LINES))
    picture = slim(plot.svg(f"plot-{name}"))  # ids begin with "plot-" because a section may have the plot's name
    if marks is not None:
        picture = picture.replace("</svg>", dots(plot, *marks) + "</svg>")
    svg = Markup(picture)  # noqa: S704 - matplotlib's SVG, its texts escaped there as ours are in dots()
    return Chart(
        name,
        plot.title,
        plot.sentence,
        svg,
        grids_of(plot),
        file or first,
        href,
        f"analysis.plot.{name}().save('{name}.svg')",
    )


def section_charts(
    analysis: Analysis,
    section: str,
    rows: bool,
    *,
    tooltips: dict[str, Callable[[Analysis], tuple[Array, list[str]]]] | None = None,
) -> tuple[Chart, ...]:
    """The plots that the registry puts into a section, as far as they say something of this table.

    `tooltips` makes what the points of a plot say, by its name.
    """
    charts = []
    for row in in_section(section, rows):
        if row.report is None or not row.report.says_something(analysis):
            continue
        hidden = {} if rows else dict.fromkeys(row.report.hide_rows, False)
        try:
            plot = analysis.plot.draw(row.name, **hidden)
        except OptionError:  # a plot that does not apply is left out; the section's words say why
            continue
        marks = tooltips[row.name](analysis) if tooltips and row.name in tooltips else None
        charts.append(chart(plot, file=row.report.file, marks=marks))
    return tuple(charts)


def csv_text(columns: dict[str, Any], most: int | None = None) -> str:
    """Columns as CSV, numbers to six figures, text safe for spreadsheets, padded where lengths differ.

    With `most` only the first lines: a chart is not an archive, and the page should stay small.
    """
    cells = {
        name: [_plain(x) for x in (value if value.dtype.kind != "f" else map(_rounded, value.tolist()))]
        for name, value in ((name, np.asarray(value)[:most]) for name, value in columns.items())
    }
    return csv_columns(cells)


def _rounded(x: float) -> float:
    return float(f"{x:.{CSV_FIGURES}g}")


def _plain(x: Any) -> Any:
    if isinstance(x, bool | np.bool_):
        return int(x)
    if isinstance(x, float) and x.is_integer() and abs(x) < 1e15:
        return int(x)
    return str(x) if isinstance(x, np.str_) else x


def data_url(text: str) -> str:
    """A CSV file as a link; percent-encoding keeps digits as they are, base64 would add a third."""
    return "data:text/csv;charset=utf-8," + quote(text.replace("\r\n", "\n"), safe=",.-_()+*/:;=@!")


def grids_of(plot: Plot) -> tuple[Grid, ...]:
    """The numbers behind a plot: single numbers in one table, columns of one length in another."""
    groups: dict[int, list[tuple[str, Any]]] = {}
    for key, value in plot.columns().items():
        groups.setdefault(len(value), []).append((key.replace("_", " "), value))
    out = []
    for length, columns in groups.items():
        if length == 1 and len(groups) > 1:
            out.append(grid(f"{plot.title}: single numbers", ("what", "value"), ((k, v[0]) for k, v in columns)))
        elif length:
            first = columns[:MOST_GRID_COLUMNS]
            rows = [[value[i] for _, value in first] for i in range(min(length, MOST_GRID_ROWS))]
            rows_text = f"{length - MOST_GRID_ROWS:,} more rows" if length > MOST_GRID_ROWS else ""
            columns_text = (
                f"{len(columns) - MOST_GRID_COLUMNS:,} more columns" if len(columns) > MOST_GRID_COLUMNS else ""
            )
            more = " and ".join(filter(None, (rows_text, columns_text)))
            title = plot.title if len(groups) == 1 else f"{plot.title}: {first[0][0]}"
            out.append(grid(title, tuple(k for k, _ in first), rows, more=more and f"{more} in the CSV file."))
    return tuple(out)


def cell(value: Any) -> str:
    """A number to four figures as a person writes it, anything else as it is.

    >>> cell(0.123456), cell(53121.4), cell(True), cell(None), cell(-0.00001234)
    ('0.1235', '53,121', 'yes', '', '-1.23e-05')
    """
    if value is None:
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return _number(float(value))
    return f"{value:,}" if isinstance(value, int | np.integer) else str(value)


def _number(x: float) -> str:
    if np.isnan(x):
        return ""
    if 1e4 <= abs(x) < 1e9:
        return f"{x:,.0f}"
    return f"{x:.3g}" if x and (abs(x) < 1e-3 or abs(x) >= 1e9) else f"{x:.4g}"


def _is_number(x: Any) -> bool:
    return x is None or (isinstance(x, int | float | np.number) and not isinstance(x, bool))


def grid(
    caption: str, header: tuple[str, ...], rows: Iterable[Sequence[Any]], *, most: int = 200, more: str = ""
) -> Grid:
    """A table from rows of values."""
    cells = [tuple(row) for row in rows]
    numeric = tuple(all(_is_number(row[k]) for row in cells) for k in range(len(header)))
    texts = tuple(tuple(cell(value) for value in row) for row in cells[:most])
    remark = more or (f"{len(cells) - most:,} more are left out." if len(cells) > most else "")
    return Grid(caption, header, texts, numeric, remark)
