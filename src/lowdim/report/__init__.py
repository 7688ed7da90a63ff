"""The report: one HTML file, no network, readable without JavaScript."""

from __future__ import annotations

from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis


def write_report(analysis: Analysis, path: str | PathLike[str], *, rows: bool = True) -> Path:
    """Write the report of an analysis; the same table gives the same bytes but for the line with the time.

    Parameters
    ----------
    analysis : Analysis
        What `lowdim.analyse` gave, or a run folder opened again.
    path : str or path-like
        The HTML file; an older one stays where writing fails.
    rows : bool, default True
        Whether rows' values and names are shown.

    Returns
    -------
    Path
        Where it is.
    """
    from lowdim.jobs.run_folder import write
    from lowdim.storage.atomic import check_folder

    path = check_folder(path)  # before the drawing, which takes a while
    return write(path, report_html(analysis, rows=rows, when=time_of_day()))


def time_of_day() -> str:
    """When a page was made."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def report_html(analysis: Analysis, *, rows: bool = True, when: str = "") -> str:
    """The report as text."""
    from lowdim.jobs.process import seldom_collected
    from lowdim.plot.base import style
    from lowdim.report.page import page

    with seldom_collected(), style():  # once for all plots
        return render("report.html", page=page(analysis, rows), when=when)


def render(template: str, **facts: Any) -> str:
    """A page from its template; everything in it is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("lowdim.report", "templates")
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return pages.get_template(template).render(**facts)
