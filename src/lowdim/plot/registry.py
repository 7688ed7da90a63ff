"""The named plots: each is one decorated function, from which Python, the command and the report know all of it.

    @plot("parity", "Even and odd values of each column.", needs="table")
    def parity(table: Table) -> Plot: ...

is `analysis.plot.parity()`, `lowdim plot parity FILE` and a line of `lowdim plot --list`. It is drawn in our style, and
its docstring is completed with what all such plots take and give. Names and descriptions are read from the text of the
modules, so that listing the plots imports none of them, nor NumPy.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec

from lowdim.text.messages import error

if TYPE_CHECKING:
    from lowdim.plot.base import Plot

PLOT_FOLDERS = ("analysis", "models")  # of this package: where its plots are
DECORATED = re.compile(r'^@plot\(\s*"(\w+)",\s*"([^"]+)"', re.MULTILINE)
Needs = Literal["table", "analysis", "model"]
P = ParamSpec("P")
SECTION = re.compile(r"\n\n(Parameters|Returns|Examples)\n-+\n")  # of a docstring
FIRST = {
    "table": "Table\n    What `lowdim.read` gave.",
    "analysis": "Analysis\n    What `lowdim.analyse` gave.",
    "model": "TableModel\n    A model and its rows; of an analysis its own model, or the one given as `model=`.",
}  # what a plot takes first, by what it needs
OTHER_MAP = (
    "array of shape (n_rows, q), optional\n    Another map of the same rows; that of the analysis where it is left out."
)
RETURNED = "Plot\n    The figure, its numbers, a title and a sentence."


class PlotOption(NamedTuple):
    """An option of a plot that the command line offers too.

    `kind` says how its text is read: "column" (a name), "row" (a name, or counted from 1), "rows", "axis" (counted
    from 1), "axes" (two of them), "columns" (two names), "flag", "wholes" (whole numbers), "text", "shape" (of an
    image, such as 28,28, or a word), or a tuple of allowed words.
    """

    name: str  # the keyword of the function
    kind: str | tuple[str, ...]
    help: str
    flag: str = ""  # on the command line; --name unless it says another
    doc: str = ""  # type and meaning in Python, for docstrings that do not explain it themselves

    @property
    def spelling(self) -> str:
        """The flag of the command line."""
        return self.flag or "--" + self.name.replace("_", "-")


COLOR = PlotOption(
    "color",
    "column",
    "The column to colour rows by",
    doc="str or array of shape (n_rows,), optional\n    A column by its name, or one value a row.",
)
COLUMN = PlotOption("column", "column", "The one column to draw")
AXES = PlotOption(
    "axes", "axes", "The two axes to draw, e.g. 1,3", doc="tuple of two int, default (0, 1)\n    Positions of the axes."
)
ROW = PlotOption("row", "row", "The row, by its name or counted from 1")
AXIS = PlotOption("axis", "axis", "The axis to walk along, counted from 1", doc="int, default 0\n    Its position.")
PLANE = PlotOption(
    "columns",
    "columns",
    "The two columns to draw in",
    flag="--plane",
    doc="tuple of two int, default (0, 1)\n    Positions of the columns.",
)


class InReport(NamedTuple):
    """Where the report shows a plot, and when: where rows are shown or are not, and where it says something."""

    section: str
    when: Literal["always", "rows", "no rows"] = "always"
    file: str = ""  # the download that holds its numbers; its own where there is none
    hide_rows: tuple[str, ...] = ()  # options that are set to False in a report without rows
    says_something: Callable[[Any], bool] = lambda analysis: True


class NamedPlot(NamedTuple):
    """One row of the registry.

    `needs` is what the function takes first: the "table", the "analysis", or a "model" with the rows it was fitted to
    (`lowdim.jobs.table_model.TableModel`). `stand_in(analysis, model)` makes a TableModel of an analysis and of the
    model that is given, or None; without it the model of the analysis itself is drawn where none is given.
    """

    name: str
    about: str
    needs: Needs
    function: Callable[..., Plot]
    options: tuple[PlotOption, ...] = ()
    report: InReport | None = None
    stand_in: Callable[[Any, Any], Any] | None = None
    of_model: Callable[..., Plot] | None = None


REGISTERED: dict[str, NamedPlot] = {}


def plot(
    name: str,
    about: str,
    *,
    needs: Needs,
    options: tuple[PlotOption, ...] = (),
    report: InReport | None = None,
    stand_in: Callable[[Any, Any], Any] | None = None,
    of_model: Callable[..., Plot] | None = None,
) -> Callable[[Callable[P, Plot]], Callable[P, Plot]]:
    """Register a function as the plot of this name.

    Parameters
    ----------
    name : str
        What it is called by in Python and on the command line.
    about : str
        One line for `lowdim plot --list`; without a double quote in it.
    needs : {"table", "analysis", "model"}
        What the function takes as its first argument.
    options : tuple of PlotOption
        Keywords of the function that are flags of the command too.
    report : InReport, optional
        Where the report shows it; without it, it does not.
    stand_in : callable, optional
        For a plot of a model: takes an analysis and the model that is given, or None, and makes a TableModel.
    of_model : callable, optional
        For a plot of an analysis: the same picture of a run of one model, as a plot of a model.

    Returns
    -------
    callable
        A decorator that gives the function back, drawn in our style and with a whole docstring.
    """
    from lowdim.plot.base import styled  # here, as a list of the plots imports no NumPy

    def register(function: Callable[P, Plot]) -> Callable[P, Plot]:
        drawn = styled(function)
        drawn.__doc__ = whole_docstring(function, needs, options)
        REGISTERED[name] = NamedPlot(name, about, needs, drawn, options, report, stand_in, of_model)
        return drawn

    return register


def whole_docstring(function: Callable[..., Plot], needs: Needs, options: tuple[PlotOption, ...]) -> str:
    """A plot's docstring with what it takes first, the options it shares with others, and what it gives.

    What the function itself says of a parameter comes before what all plots say of it.
    """
    head, *parts = SECTION.split("\n" + (inspect.getdoc(function) or "") + "\n")
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    first, *others = inspect.signature(function).parameters
    entries = {first: FIRST[needs], "Z": OTHER_MAP} | {option.name: option.doc or option.help for option in options}
    for entry in re.split(r"^(?=\w+ : )", sections.get("Parameters", ""), flags=re.MULTILINE):
        parameter, _, words = entry.strip().partition(" : ")
        entries[parameter] = words
    explained = "\n".join(f"{name} : {entries[name]}" for name in (first, *others) if name in entries)
    sections = {"Parameters": explained, "Returns": RETURNED} | {
        title: text.strip() for title, text in sections.items() if title != "Parameters"
    }
    body = "\n\n".join(f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items())
    return f"{head.strip()}\n\n{body}\n"


@cache
def _written() -> dict[str, tuple[str, str]]:
    """Name -> module and description of every plot of this package, by the text of its files."""
    rows = {}
    for folder in PLOT_FOLDERS:
        for path in sorted((Path(__file__).parent / folder).glob("*.py")):
            for name, about in DECORATED.findall(path.read_text(encoding="utf-8")):
                rows[name] = (f"lowdim.plot.{folder}.{path.stem}", about)
    return rows


def descriptions() -> dict[str, str]:
    """Every plot by name with its description; nothing is imported.

    >>> "map" in descriptions()
    True
    """
    written = {name: about for name, (_, about) in _written().items()}
    return written | {name: row.about for name, row in REGISTERED.items()}


def find(name: str) -> NamedPlot:
    """The plot of this name; its module is imported, and no other.

    >>> find("scree").needs
    'analysis'
    """
    if name not in REGISTERED and name in _written():
        import_module(_written()[name][0])
    if name not in REGISTERED:
        raise error("LD210", option="plot", value=name, allowed="one of " + ", ".join(descriptions()))
    return REGISTERED[name]


def every_plot() -> tuple[NamedPlot, ...]:
    """All plots in the order of the list; their modules are imported."""
    return tuple(find(name) for name in descriptions())


def in_section(section: str, rows: bool) -> tuple[NamedPlot, ...]:
    """The plots that a section of the report shows, with or without rows."""
    wanted = ("always", "rows" if rows else "no rows")
    shown = (row for row in every_plot() if row.report is not None)
    return tuple(row for row in shown if row.report and row.report.section == section and row.report.when in wanted)
