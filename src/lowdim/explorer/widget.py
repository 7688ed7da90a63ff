"""The explorer in a notebook: the page's module as a widget, its questions answered by the kernel."""

from __future__ import annotations

from os import PathLike
from typing import Any

from lowdim.explorer.endpoints import Endpoints
from lowdim.jobs.analysis import Analysis
from lowdim.jobs.one_model import FittedMethod
from lowdim.jobs.run_folder import SavedRun
from lowdim.jobs.table_model import TableModel, subject
from lowdim.text.messages import error


def explore(found: Analysis | FittedMethod | SavedRun | TableModel | str | PathLike[str]) -> Any:
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
    return ExploreWidget(Endpoints(subject(found)))
