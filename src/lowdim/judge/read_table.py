"""What a caller from Python passes as a table (a path, a frame, an array or a Table that was read), and the numbers
that judges take of it.

The zeros and ones of one label tell each other, so that counted one by one they seem to share dimensions. Where a judge
wants one number each, a label is scored by the mean position of its rows along the first axis of all columns, the
scores and the axis found in turn: the first axis of multiple correspondence analysis, beside numbers that of nonlinear
principal components.

Reference: Gifi, Nonlinear Multivariate Analysis, Wiley (1990).
"""

from __future__ import annotations

from collections.abc import Collection
from functools import wraps
from os import PathLike
from typing import Any

import numpy as np

from lowdim.judge.scales import on_suitable_scales
from lowdim.maths.linalg import Array, centre_and_spread
from lowdim.sources.arrays import ArraySource, as_source
from lowdim.sources.source import Source
from lowdim.table.column import in_ones, ones_of
from lowdim.table.read import read as read_file
from lowdim.table.table import Messages, Table
from lowdim.table.whole_table import pair_facts
from lowdim.text.errors import CheckError
from lowdim.text.messages import LowdimError, Message, error

TURNS = 30  # of scores and axis; the axis of a few columns stands still long before
STILL = 1e-6


@wraps(read_file)
def read(table: Any, **options: Any) -> Table:
    """`lowdim.read`: the table that is analysed; errors have fixes as a caller from Python writes them."""
    try:
        return read_table(table, **options)
    except CheckError as problem:
        raise CheckError(Messages(_in_python(m, table, options) for m in problem.messages)) from None
    except LowdimError as problem:
        m = problem.message
        raise (type(problem)(_in_python(m, table, options)) if isinstance(m, Message) else problem) from None


def read_table(table: Any, *, declared: Collection[str] = (), **options: Any) -> Table:
    """A table, read and checked, its columns on scales that suit them: what every job begins with.

    A Table is given back as it is. Columns `declared` to be something by themselves stay as they are.
    """
    return table if isinstance(table, Table) else on_suitable_scales(read_file(table, **options), declared)


def _in_python(m: Message, table: Any, options: dict[str, Any]) -> Message:
    """A message whose fix is spelled for a caller from Python; options that were given stay as dots."""
    name = repr(str(table)) if isinstance(table, str | PathLike) else "table"
    return m._replace(fix=m.fix.in_python(f"{name}, ..." if options else name))


def source_of(table: Table) -> ArraySource:
    """The columns of a table with their names; distances between rows are no such columns."""
    if table.holds != "measurements":
        raise error("LD192", table.path, **pair_facts(table.name, table.path or "FILE", table.names, table.holds))
    return ArraySource(table.X, columns=table.names)


def numbers_of(table: Any, standardize: bool | None, **options: Any) -> tuple[Source, bool, Table | None]:
    """The numbers, whether columns count in units of their spread, and the Table where there is one.

    A path or a data frame is read as `lowdim.read` does, with these options; an array or a Source is taken as it is.
    """
    if isinstance(table, str | PathLike | Table) or (hasattr(type(table), "columns") and not isinstance(table, Source)):
        t = read(table, **options)
        return source_of(t), t.scale == "unit" if standardize is None else standardize, t
    return as_source(table), standardize is None or standardize, None


def quantified(table: Table) -> ArraySource:
    """The table's columns, codes of a category with three labels or more replaced by their scores.

    >>> from lowdim.table.read import read
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1.2, 2, 3, 4, 5, 7], "b": [1.5, 2, 3, 4.5, 5, 6.5], "c": list("xxyyzz")})
    >>> quantified(read(frame, encode=["c"])).columns
    ('a', 'b', 'c')
    """
    several = [j for j, labels in enumerate(table.code_labels) if len(labels) > 2]
    if not several:
        return source_of(table)
    X, axis = table.X.copy(), _first_axis(in_ones(table.X, ones_of(table.code_labels)))
    for _ in range(TURNS):
        for j in several:
            seen = ~np.isnan(X[:, j])
            at = table.X[seen, j].astype(np.intp)
            mean = np.bincount(at, axis[seen]) / np.maximum(np.bincount(at), 1)
            X[seen, j] = mean[at]
        before, axis = axis, _first_axis(X)
        if 1.0 - abs(float(before @ axis)) < STILL:
            break
    return ArraySource(X, columns=table.names)


def _first_axis(X: Array) -> Array:
    """The rows' positions along the first principal axis, gaps at the mean; of length 1."""
    mean, sd = centre_and_spread(X)
    U = np.linalg.svd(np.where(np.isnan(X), 0.0, (X - mean) / sd), full_matrices=False)[0]
    return np.asarray(U[:, 0])
