"""A whole table as one array, for the functions that are given a matrix and not a table to be walked."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.sources.arrays import as_source
from lowdim.sources.views import gather
from lowdim.text.messages import error


def in_columns(X: Any) -> Any:
    """A table as it is; one column that is given as an array, a list or a Series, as a table of it."""
    flat = getattr(X, "ndim", 0) == 1 or (isinstance(X, list | tuple) and bool(X) and not np.iterable(X[0]))
    return np.asarray(X)[:, None] if flat else X


def as_matrix(X: Any, least: int = 1) -> Array:
    """Any table as an array of float64, gaps as NaN; what is no table, or has fewer rows, is refused."""
    source = as_source(X)
    if source.n < least:
        raise error("LD160", n=source.n, least=least)
    x, mask = gather(source)
    return x if mask is None else np.where(mask, x, np.nan)


def complete_matrix(X: Any, job: str, why: str, least: int = 1) -> Array:
    """`as_matrix` of a table without gaps; the first gap is named."""
    x = as_matrix(X, least)
    if np.isnan(x).any():
        row, column = np.argwhere(np.isnan(x))[0]
        fix = "fill the gaps first: ProbabilisticPCA(k).fit(X).impute(X)"
        raise error("LD163", f"row {row + 1}, column {column + 1}", job=job, why=why, fix=fix)
    return x
