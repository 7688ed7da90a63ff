"""How plots are reached: those of an analysis (`analysis.plot.map()`), and those of one model and its table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask
from lowdim.plot.base import Plot
from lowdim.plot.colour import Groups, column_groups, groups
from lowdim.plot.marks import MOST_POINTS, spread_out
from lowdim.plot.registry import descriptions, every_plot, find
from lowdim.table.table import Table, column_units
from lowdim.text.messages import LowdimError, error

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis
    from lowdim.jobs.table_model import TableModel


class Plots:
    """Every named plot of one analysis, as methods; `lowdim plot --list` and `dir()` name them.

    Parameters
    ----------
    analysis : Analysis
        What `lowdim.analyse` gave, or a run folder opened again.

    Examples
    --------
    >>> import lowdim
    >>> from lowdim.datasets import load_demo
    >>> analysis = lowdim.analyse(load_demo("gaussian").X, dims=2, budget="1s")
    >>> analysis.plot.scree().name
    'scree'
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    def draw(self, name: str, *values: Any, **options: Any) -> Plot:
        """Draw the plot of this name.

        Parameters
        ----------
        name : str
            One of `dir(analysis.plot)`.
        *values, **options
            What the plot takes; `model=` draws another model, fitted to the columns of the table, where the plot is
            one of a model.

        Returns
        -------
        Plot
            The figure, its numbers, a title and a sentence; a plot that does not apply raises an error that says why.
        """
        row = find(name)
        if row.needs == "table":
            return row.function(self._analysis.table, *values, **options)
        if row.needs == "analysis":
            return row.function(self._analysis, *values, **options)
        subject = (row.stand_in or given_model)(self._analysis, options.pop("model", None))
        return row.function(subject, *values, **options)

    def __getattr__(self, name: str) -> Callable[..., Plot]:
        if name.startswith("_") or name not in descriptions():
            raise AttributeError(name)
        return update_wrapper(partial(self.draw, name), find(name).function)

    def __dir__(self) -> list[str]:
        return ["draw", *descriptions()]


class ModelPlots(Plots):
    """The named plots of one model on its table.

    Parameters
    ----------
    subject : TableModel
        What `lowdim.subject` gave.
    """

    def __init__(self, subject: TableModel) -> None:
        self._subject = subject

    def draw(self, name: str, *values: Any, **options: Any) -> Plot:
        """Draw the plot of this name; one of an analysis raises an error that names those of a model."""
        row = find(name)
        if row.needs == "table":
            return row.function(self._subject.table, *values, **options)
        if row.needs == "analysis" and row.of_model is None:
            names = ", ".join(other.name for other in every_plot() if other.needs == "model" or other.of_model)
            fix = f"one of {names}; or the main job:  lowdim plot {row.name} TABLE"
            why = "it comes from the main job"
            raise error("LD216.model", name=row.name, model="a run of one model", why=why, fix=fix)
        return (row.of_model or row.function)(self._subject, *values, **options)


def groups_of(subject: TableModel, color: Any, in_order: bool = False) -> Groups:
    """How the rows of a fit are told apart: by a column's name, values of one's own, their order, or the first label
    column."""
    n = len(subject.at_rows)
    if color is None and in_order:
        return groups(np.arange(1.0, n + 1.0), n, "row, in order")
    if color is None and n <= MOST_POINTS:
        color = next(iter(subject.table.labels), None)
    return groups(None, n) if color is None else column_groups(subject.table, color, subject.at_rows)


def names_of(subject: TableModel) -> list[str]:
    """The names of the rows of a fit."""
    names = subject.table.row_names
    return [names[i] for i in subject.at_rows]


def rows_with_gaps(subject: TableModel) -> Mask:
    """True for each row of a fit with a gap in the table."""
    return np.asarray(np.isnan(subject.table.X[subject.at_rows]).any(axis=1))


def lacks(subject: TableModel, name: str, why: str, fix: str) -> LowdimError:
    """The error that a model has not what a plot draws."""
    return error("LD216.model", name=name, model=f"this {type(subject.model).__name__}", why=why, fix=fix)


def plot_model(
    name: str,
    model: Any,
    table: Table,
    *values: Any,
    unit: Array | None = None,
    rows: NDArray[np.intp] | None = None,
    **options: Any,
) -> Plot:
    """Draw a named plot of a model that was fitted to the rows of a table.

    Parameters
    ----------
    name : str
        A plot of a model or of a table.
    model : estimator
        Fitted to `table.X[rows] / unit`.
    table : Table
        What `lowdim.read` gave.
    unit : array of shape (n_columns,), optional
        What one unit of each column was worth in the fit; 1 where it is left out.
    rows : array of int, optional
        Positions of the rows of the fit; all where it is left out.
    *values, **options
        What the plot takes.

    Returns
    -------
    Plot

    Examples
    --------
    >>> import lowdim
    >>> table = lowdim.read(np.random.default_rng(0).standard_normal((30, 3)))
    >>> plot_model("trace", lowdim.PPCA(1).fit(table.X), table).name
    'trace'
    """
    from lowdim.jobs.table_model import model_on_table  # with all models: too long for who draws a stored run

    return model_on_table(model, table, unit, rows).plot.draw(name, *values, **options)


def unit_of(analysis: Analysis) -> Array:
    """What one unit of each column is worth on the map of an analysis."""
    return column_units(analysis.table.in_ones().X, analysis.settings.scale)


def given_model(analysis: Analysis, model: Any) -> TableModel:
    """A model that was fitted to all rows of an analysis, in the units of the table; its own where none is given."""
    from lowdim.jobs.table_model import model_on_table, subject  # with all models, as above

    return subject(analysis) if model is None else model_on_table(model, analysis.table)


def fit_spread_rows(analysis: Analysis, model: Any, make: Callable[[], Any], most: int) -> TableModel:
    """The model that is given, or a new one of at most so many rows, each column in units of its spread."""
    from lowdim.jobs.table_model import model_on_table  # with all models, as above

    if model is not None:
        return given_model(analysis, model)
    table, unit = analysis.table.in_ones(), unit_of(analysis)
    rows = spread_out(table.n, most)
    return model_on_table(make().fit(table.X[rows] / unit), table, unit, rows)
