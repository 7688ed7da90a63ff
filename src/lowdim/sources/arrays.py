"""Sources in memory: arrays, masked arrays, memory maps, sparse matrices, data frames; and the way to all others."""

from __future__ import annotations

import sys
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask
from lowdim.sources.files.base import check_unchanged, stamp
from lowdim.sources.source import Block, Rows, Source
from lowdim.sources.views import gather
from lowdim.text.messages import error

GAP_TYPES = ("NAType", "NaTType", "NoneType")
SPARSE_SHARE = 0.1  # up to this share of stored cells a sparse matrix is worked on as it is
MOST_WEIGHT = 1e100  # what weights add up to at most; a smaller share of the whole than one by this counts for nothing


class ArraySource(Source):
    """A two-dimensional array of any real dtype; gaps are NaN, or False in `seen`."""

    def __init__(self, values: NDArray[Any], seen: Mask | None = None, **where: Any) -> None:
        super().__init__(values.shape, **where)
        self.values, self.seen = values, seen

    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        with np.errstate(over="ignore"):  # a long double beyond a double is infinite, and refused as such
            values = np.ascontiguousarray(self.values[rows], dtype=np.float64)
        return values, None if self.seen is None else np.ascontiguousarray(self.seen[rows])


class MappedSource(ArraySource):
    """A memory map: its file must not change between two passes."""

    def __init__(self, values: NDArray[Any], seen: Mask | None, path: Path, **where: Any) -> None:
        super().__init__(values, seen, **where)
        self.path, self.stamp = path, stamp(path)

    def unchanged(self, where: str = "") -> None:
        check_unchanged([self.path], [self.stamp], where)

    def fingerprint(self) -> str:
        """By the file's state; its first and last rows tell of another part of the same file."""
        return f"{tuple(self.stamp)} {super().fingerprint()}"


class SparseSource(Source):
    """A scipy.sparse matrix, made dense a tile at a time; zeros are values or gaps, as the caller says."""

    def __init__(self, values: Any, zeros: str, **where: Any) -> None:
        super().__init__(values.shape, **where)
        self.values = sp.csr_array(values)
        if not self.values.has_canonical_format:  # sorted and summed in a copy: the caller's stays as it was
            self.values = self.values.copy()
            self.values.sum_duplicates()
        self.gaps = zeros == "gaps"
        if self.gaps:  # a stored zero is a seen zero
            self.pattern = sp.csr_array(
                (np.ones(self.values.nnz, dtype=bool), self.values.indices, self.values.indptr), values.shape
            )
        elif self.values.nnz <= SPARSE_SHARE * self.n * self.d:  # few are stored: in no column most, and all numbers?
            often = np.bincount(self.values.indices, minlength=self.d).max(initial=0)
            self.is_sparse = bool(2 * often <= self.n and np.isfinite(self.values.data).all())

    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        values = self.values[rows].toarray().astype(np.float64)
        return values, self.pattern[rows].toarray() if self.gaps else None

    def stored(self, rows: Rows) -> Any:
        return self.values[rows].astype(np.float64, copy=False)

    @property
    def per_row(self) -> float:
        return float(self.values.nnz / max(self.n, 1))


class ArrowSource(Source):
    """An Arrow table (polars, pyarrow, anything with `__arrow_c_stream__`), converted a tile at a time."""

    def __init__(self, table: Any, **where: Any) -> None:
        super().__init__(table.shape, columns=tuple(table.column_names), **where)
        self.table = table

    def read(self, rows: Rows) -> tuple[Array, Mask | None]:
        import pyarrow as pa

        part = (
            self.table.slice(rows.start, rows.stop - rows.start) if isinstance(rows, slice) else self.table.take(rows)
        )
        values = np.empty(part.shape, dtype=np.float64)
        for j, column in enumerate(part.columns):
            values[:, j] = column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()
        return values, None


def as_source(
    X: Any, *, weight: Any = None, zeros: str = "values", tile: int | None = None, block_tiles: int | None = None
) -> Source:
    """Any table as a Source.

    Parameters
    ----------
    X : array, frame, sparse matrix, Dask collection, path or Source
        A path is a file that is read a block at a time (`lowdim.stream`).
    weight : array of shape (n,) or float, default None
        How often each row counts.
    zeros : {"values", "gaps"}, default "values"
        What the cells are that a sparse matrix does not store.
    tile, block_tiles : int, default None
        Rows of a tile, and tiles of a block (a power of two): how rows are walked, never the answer.

    Returns
    -------
    Source

    Examples
    --------
    >>> as_source([[1.0, 2.0], [3.0, float("nan")]]).block(0).mask.tolist()
    [[True, True], [True, False]]
    """
    if isinstance(X, Source):
        return X if weight is None else X.weighted(check_weight(weight, X.n))
    if isinstance(X, str | PathLike):
        # The readers of files rest on this module, and on all of `table`: a fifth of a second that arrays do not need.
        from lowdim.sources.files.open import stream

        return stream(X, zeros=zeros, weight=weight, tile=tile, block_tiles=block_tiles)
    if zeros not in ("values", "gaps"):
        raise error("LD210", option="zeros", value=zeros, allowed="'values' or 'gaps'")
    where = {"tile": tile, "block_tiles": block_tiles}
    pandas = sys.modules.get("pandas")
    source: Source
    if type(X).__module__.partition(".")[0] == "dask":
        from lowdim.sources.dask.source import open_dask  # which is made of this module

        source = open_dask(X, where)
    elif sp.issparse(X):
        check_kind(X.shape, X.dtype)
        source = SparseSource(X, zeros, columns=None, **where)
    elif pandas is not None and isinstance(X, pandas.DataFrame):
        source = from_pandas(X, where)
    elif pandas is not None and isinstance(X, pandas.Series):
        raise error("LD100", shape=X.shape)
    elif not isinstance(X, np.ndarray) and callable(getattr(X, "__arrow_c_stream__", None)):
        source = from_arrow(X, where)
    else:
        source = from_array(X, where)
    if source.d == 0:
        raise error("LD105", shape=(source.n, 0))
    if weight is not None:
        source.weight = check_weight(weight, source.n)
    return source


def from_array(X: Any, where: dict[str, Any]) -> ArraySource:
    """An array, a masked array or lists of rows; a memory map, or a view of one, is watched while its file is there."""
    if isinstance(X, bytes | dict | set) or X is None:
        raise error("LD101", type=type(X).__name__)
    seen = ~np.ma.getmaskarray(X) if isinstance(X, np.ma.MaskedArray) else None
    try:
        values = np.asarray(X if seen is None else X.data)
    except ValueError as problem:  # rows of different lengths
        raise error("LD101", f"NumPy says: {problem}"[:200], type=type(X).__name__) from None
    if values.ndim == 0 and values.dtype.kind == "O":  # NumPy can make nothing of it
        raise error("LD101", type=type(X).__name__)
    if values.ndim == 2 and values.dtype.kind == "O":
        values = table_of_objects(values)
    check_kind(values.shape, values.dtype)
    base: Any = values
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    path = None if base is None or base.filename is None else Path(base.filename)
    if path is None or not path.exists():
        return ArraySource(values, seen, columns=None, **where)
    return MappedSource(values, seen, path, columns=None, **where)


def from_pandas(X: Any, where: dict[str, Any]) -> Source:
    """A pandas data frame of numbers."""
    columns = tuple(str(name) for name in X.columns)
    kinds = [str(dtype) for dtype in X.dtypes]
    for j, (dtype, kind) in enumerate(zip(X.dtypes, kinds, strict=True)):
        letter = getattr(dtype, "kind", "O")
        if letter == "c":
            raise error("LD102", column=f"column '{columns[j]}'")
        if letter not in "biuf" and kind != "object":
            raise error("LD104", column=columns[j], type=kind, python="")
    if "object" in kinds:
        values = table_of_objects(X.to_numpy(dtype=object), columns)
    else:
        values = X.to_numpy(dtype=np.float64, na_value=np.nan) if len(columns) else np.empty(X.shape)
    return ArraySource(values, columns=columns, **where)


def from_arrow(X: Any, where: dict[str, Any]) -> Source:
    """Whatever hands out an Arrow stream of numbers."""
    import pyarrow as pa

    try:
        table = pa.table(X)
    except pa.ArrowInvalid:  # a Series: one column is no table
        raise error("LD100", shape=(len(X),)) from None
    number = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean, pa.types.is_null)
    for field in table.schema:
        if not any(is_kind(field.type) for is_kind in number):
            raise error("LD104", column=field.name, type=str(field.type), python="")
    return ArrowSource(table, **where)


def objects_as_numbers(column: NDArray[Any], name: str, first: int = 0) -> Array:
    """A column of Python objects as numbers; None, NA and NaT are gaps, text is refused."""
    values = np.empty(len(column))
    for i, cell in enumerate(column):
        where = f"row {first + i + 1}: {str(cell)[:40]!r}"
        if isinstance(cell, str | bytes):
            raise error("LD104", where, column=name, type="text", python="")
        if isinstance(cell, complex):
            raise error("LD102", where, column=f"column '{name}'")
        try:
            values[i] = np.nan if type(cell).__name__ in GAP_TYPES else float(cell)
        except OverflowError:
            raise error("LD150", where, value="too large for a double", column=name) from None
        except (TypeError, ValueError) as problem:
            raise error(
                "LD104", where, column=name, type=type(cell).__name__, python=f" (Python says: {problem})"
            ) from None
    return values


def table_of_objects(X: NDArray[Any], names: tuple[str, ...] | None = None, first: int = 0) -> Array:
    """`objects_as_numbers` of every column of an array, n x d."""
    names = tuple(f"c{j + 1}" for j in range(X.shape[1])) if names is None else names
    columns = [objects_as_numbers(X[:, j], name, first) for j, name in enumerate(names)]
    return np.column_stack(columns) if columns else np.empty(X.shape)


def check_kind(shape: tuple[int, ...], kind: Any) -> None:
    """Two dimensions of real numbers, or the error that says what else it is."""
    if len(shape) != 2:
        raise error("LD100", shape=shape)
    if kind.kind == "c":
        raise error("LD102", column="the array")
    if kind.kind not in "biuf":
        raise error("LD104", column="c1", type=str(kind)[:60], python="")


def check_weight(weight: Any, n: int) -> Array | None:
    """Frequency weights as an array; None where every row counts once, so that weights of one change no bit."""
    try:
        given = np.asarray(weight)
        real = given.dtype.kind in "biufO"  # text, dates and complex numbers would become numbers
        w = given.astype(np.float64) if real else None
    except (TypeError, ValueError):
        w = None
    if w is None:
        raise error("LD230", problem="not numbers", n=n)
    if w.ndim == 0:
        w = np.full(n, float(w))
    # scikit-learn's own words for these two, which its users' tests look for
    if w.ndim != 1:
        raise error("LD230", problem="Sample weights must be 1D array or scalar", n=n)
    if w.shape != (n,):
        raise error("LD230", problem=f"sample_weight.shape == {w.shape}, expected {(n,)}", n=n)
    if not np.isfinite(w).all() or (w < 0).any():
        raise error(
            "LD230", f"row {int(np.argmin(np.isfinite(w) & (w >= 0))) + 1}", problem="negative or not finite", n=n
        )
    if n and not w.any():
        raise error("LD230", problem="all weights are zero", n=n)
    # squares of rows are multiplied by weights and divided by their sum: all of it has to stay a double
    with np.errstate(over="ignore"):
        total = float(w.sum())
    if n and not 1.0 / MOST_WEIGHT <= total <= MOST_WEIGHT:
        raise error("LD230", problem=f"they add up to {total:.0e}, out of a range of 1e-100 to 1e100", n=n)
    return None if (w == 1.0).all() else np.where(w < total / MOST_WEIGHT, 0.0, w)


# whole tables, for the functions that are given a matrix and not a table to be walked --------------------------
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
    return Block(x, mask).with_nan


def complete_matrix(X: Any, job: str, why: str, least: int = 1) -> Array:
    """`as_matrix` of a table without gaps; the first gap is named."""
    x = as_matrix(X, least)
    if np.isnan(x).any():
        row, column = np.argwhere(np.isnan(x))[0]
        fix = "fill the gaps first: ProbabilisticPCA(k).fit(X).impute(X)"
        raise error("LD163", f"row {row + 1}, column {column + 1}", job=job, why=why, fix=fix)
    return x
