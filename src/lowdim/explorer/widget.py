"""The explorer in a notebook: the page's module as a widget, its questions answered by the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lowdim.explorer.answers import Answers
from lowdim.jobs.analysis_base import Analysis
from lowdim.jobs.one_model import FittedMethod
from lowdim.jobs.run_folder import SavedRun, load_run
from lowdim.jobs.subject import Subject, subject_of_analysis, subject_of_run
from lowdim.text.messages import error

if TYPE_CHECKING:
    from os import PathLike


def explore(found: Analysis | FittedMethod | SavedRun | Subject | str | PathLike[str]) -> Any:
    """The explorer of an analysis inside a notebook.

    Parameters
    ----------
    found : Analysis, FittedMethod, SavedRun, or the path of a run folder
        What `lowdim.analyse`, `lowdim.fit_method` or `lowdim.load_run` gave.

    Returns
    -------
    anywidget.AnyWidget
        Shown where it is the last line of a cell. Its traits follow the page and lead it: `selection` (positions of the
        rows drawn round), `row` (the one looked at) and `place` (where the cross is, one number an axis).

    Notes
    -----
    Needs the extra `lowdim[widget]`. Outside notebooks: `lowdim explore RUN`.

    Examples
    --------
    >>> import numpy as np
    >>> import lowdim
    >>> X = np.random.default_rng(0).standard_normal((40, 1)) * np.ones(4) + 0.1 * np.eye(40, 4)
    >>> widget = lowdim.explore(lowdim.fit_method(X, "ppca", dims=1))
    >>> widget.row = 7
    >>> widget.selection
    []
    """
    try:
        from lowdim.explorer.traits import ExploreWidget
    except ImportError as cause:
        raise error("LD327") from cause
    return ExploreWidget(Answers(subject_of(found)))


def subject_of(found: Any) -> Subject:
    """What is to be explored, whatever names it."""
    if isinstance(found, Subject):
        return found
    if isinstance(found, Analysis):
        return subject_of_analysis(found, getattr(found, "run", None))
    if isinstance(found, FittedMethod):
        if found.method.lack("map") or found.table.holds == "distances":
            raise error("LD326", path="(from Python)", title=found.method.title)
        return Subject(found.table, found.model, found.method, found.unit)
    run = found if isinstance(found, SavedRun) else load_run(found)
    run.check_table()
    return subject_of_run(run)
