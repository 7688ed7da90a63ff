"""Ratings: (user, item, value) tables, sparse matrices and arrays with gaps, as one sparse matrix with ids."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Index, Mask
from lowdim.sources.arrays import as_source
from lowdim.sources.arrow_rows import is_number_type, position
from lowdim.sources.source import Block, Source
from lowdim.text.escape import protect_terminal
from lowdim.text.messages import LowdimError, Message, error

USERS_PER_TILE = 8192  # users a tile: its sums over 20,000 items are made in tens of milliseconds and merged in one
MANY_RATINGS = 2**24  # ratings from which on single precision is kept as it is
MATRIX_FILES = (".npz", ".npy", ".mtx", ".zarr")  # files that hold a matrix; all others hold triples
TEXT_TYPES = ("string", "large_string", "string_view")  # Arrow's types
DUPLICATE_RULES = ("error", "mean", "last")
Ids = NDArray[Any] | None  # sorted whole numbers or texts; None = places


class RatingBlock(NamedTuple):
    """As Block, but by the cells it stores: a tile of users of which most items are not rated."""

    X: sp.csr_array
    start: int

    @property
    def rows(self) -> int:
        return int(self.X.shape[0])

    def tiles(self, tile: int) -> Iterator[RatingBlock]:
        yield self  # a block of ratings is one tile


class Ratings(Source):
    """Ratings as a source: rows are users, columns are items, and what is not stored was not rated."""

    def __init__(self, matrix: sp.csr_array, users: Ids = None, items: Ids = None, tile: int = USERS_PER_TILE) -> None:
        super().__init__(matrix.shape, None, tile=tile)
        self.matrix, self.users, self.items = matrix, users, items

    def read(self, rows: slice | Index) -> tuple[Array, Mask | None]:
        part = self.matrix[rows]
        seen = sp.csr_array((np.ones(part.nnz, dtype=bool), part.indices, part.indptr), shape=part.shape)
        return part.toarray().astype(np.float64), seen.toarray()

    def block(self, i: int) -> Any:
        """Tile i as it is stored: its arrays are views."""
        begin, end = i * self.tile, min((i + 1) * self.tile, self.n)
        ptr = self.matrix.indptr[begin : end + 1]
        cells = slice(ptr[0], ptr[-1])
        parts = (self.matrix.data[cells], self.matrix.indices[cells], (ptr - ptr[0]).astype(self.matrix.indices.dtype))
        return RatingBlock(sp.csr_array(parts, shape=(end - begin, self.d)), begin)

    def places(self) -> tuple[Index, Index, Array]:
        """User, item and value of every rating, by places."""
        rows = np.repeat(np.arange(self.n), np.diff(self.matrix.indptr))
        return rows, self.matrix.indices.astype(np.intp), self.matrix.data.astype(np.float64)


class Triples(NamedTuple):
    """Columns of a table of ratings: places of users and items (-1 = not known), their ids, and the values."""

    u: Index
    i: Index
    users: Ids
    items: Ids
    values: Array


def as_ratings(
    X: Any, *, columns: Sequence[str] | None = None, duplicates: str = "error", items: Ids = None
) -> Ratings:
    """Anything that holds ratings: a frame or file of triples, a sparse matrix, an array with gaps.

    A cell that a sparse matrix stores is a rating, zero or not. `items` are ids known from before: ratings of
    others are left out, and columns are in their order.

    >>> ratings = as_ratings(sp.csr_array([[0.0, 5.0], [4.0, 0.0]]))
    >>> ratings.matrix.nnz, ratings.users is None
    (2, True)
    """
    if isinstance(X, Ratings):
        return X
    if is_triples(X):
        return _of_triples(triples(X, columns, items=items), duplicates)
    if not sp.issparse(X):
        source = as_source(X, zeros="gaps")
        if source.weight is not None:
            raise error("LD230", problem="users have no weights here", n=source.n)
        # the seen cells of a table, a block at a time
        blocks = (source.block(at) for at in range(source.n_blocks))
        parts = [block.X if isinstance(block, RatingBlock) else stored_cells(block) for block in blocks]
        empty = sp.csr_array((source.n, source.d))
        return Ratings(sp.csr_array(sp.vstack(parts, format="csr")) if parts else empty)
    if X.dtype.kind not in "biuf":
        as_source(X)  # says what is wrong with it
    matrix = X.tocoo() if X.format in ("coo", "dia", "bsr") else sp.csr_array(X)
    if matrix.format == "csr" and matrix.has_canonical_format:
        return Ratings(_clean(matrix))
    cells = matrix.tocoo()  # pairs in the order in which they are stored, some perhaps twice
    u, i = (at.astype(np.intp) for at in cells.coords)
    return _of_triples(Triples(u, i, None, None, cells.data), duplicates, cells.shape)


def is_triples(X: Any) -> bool:
    """Whether X is a table or file with a row for each rating."""
    if isinstance(X, str | PathLike):
        return Path(X).suffix.lower() not in MATRIX_FILES
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        return True
    return not isinstance(X, np.ndarray | Source) and callable(getattr(X, "__arrow_c_stream__", None))


def triples(
    X: Any, columns: Sequence[str] | None, *, users: Ids = None, items: Ids = None, rated: bool = True
) -> Triples:
    """The three columns of a table of ratings, ids looked up in those known or sorted where none are.

    `rated=False` asks for the pairs alone: a third column need not be there.
    """
    table = triple_table(X)
    names = list(table.column_names)
    if columns is None and len(names) != 3 and (rated or len(names) != 2):
        raise error("LD270", d=len(names), names=protect_terminal(", ".join(map(str, names[:8]))))
    wanted = 3 if rated else 2
    at = [0, 1, 2][:wanted] if columns is None else [position(name, names, "columns") for name in columns[:wanted]]
    values = _values(table.column(at[2]), names[at[2]]) if rated else np.zeros(table.num_rows)
    u, users = _places(table.column(at[0]), names[at[0]], "user", users)
    i, items = _places(table.column(at[1]), names[at[1]], "item", items)
    return Triples(u, i, users, items, values)


def triple_table(X: Any) -> Any:
    """A file or frame of triples as an Arrow table."""
    import pyarrow as pa

    return _read(Path(X)) if isinstance(X, str | PathLike) else (X if isinstance(X, pa.Table) else _frame(X))


def _frame(X: Any) -> Any:
    import pyarrow as pa

    pandas = sys.modules.get("pandas")
    try:
        if pandas is not None and isinstance(X, pandas.DataFrame):
            return pa.Table.from_pandas(X, preserve_index=False)
        return pa.table(X)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as problem:  # a column of mixed kinds
        text = protect_terminal(str(problem))[:200]
        raise error("LD278", name=type(X).__name__, problem=f"a column mixes kinds of values ({text})") from None


def _read(path: Path) -> Any:
    """A file of triples as an Arrow table; ids in text are text until all prove to be whole numbers: 007 is not 7."""
    import pyarrow as pa

    # Readers of a person's files, with all that guesses what they hold: ratings in memory need none of them.
    from lowdim.sources.files.parquet import parquet_files
    from lowdim.table.options import ReadingOptions  # as above
    from lowdim.table.read import load_raw  # as above

    paths = parquet_files(path) if path.is_dir() else [path]
    try:
        reading = ReadingOptions(header=True, memory=sys.maxsize)  # triples are many rows of three columns
        raws = [load_raw(part, reading) for part in paths or [path]]
        return pa.concat_tables([pa.table(raw.cells, names=raw.names) for raw in raws])
    except (LowdimError, pa.ArrowException) as problem:
        message = getattr(problem, "message", None)
        text = protect_terminal(str(message.what if isinstance(message, Message) else problem))
        raise error("LD278", name=protect_terminal(path.name), problem=text[:200]) from None


def _values(column: Any, name: str) -> Array:
    """The ratings as numbers, every one of them there and finite."""
    import pyarrow as pa

    try:
        if not is_number_type(column.type) and str(column.type) not in TEXT_TYPES:
            raise pa.ArrowInvalid(f"it holds {column.type}")
        values = column.cast(pa.float64()).to_numpy()
    except pa.ArrowException as problem:
        python = f" ({protect_terminal(str(problem))[:120]})"
        raise error("LD104", column=protect_terminal(name), type=str(column.type), python=python) from None
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        what = "missing" if np.isnan(values[row]) else "infinite (infinity)"
        raise error("LD272", f"row {row + 1}", column=protect_terminal(name), what=what)
    return np.asarray(values, dtype=np.float64)


def _places(column: Any, name: str, side: str, known: Ids) -> tuple[Index, Ids]:
    """The place of each row's id among the known ones, or among all of the column in their order."""
    if column.null_count:
        row = int(np.argmax(np.asarray(column.is_null().to_numpy())))
        raise error("LD273", f"row {row + 1}", column=protect_terminal(name), side=side, problem="an id is missing")
    coded = column.combine_chunks().dictionary_encode() if len(column) else column.combine_chunks()
    if not len(column):
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64) if known is None else known
    words = as_ids(coded.dictionary, name, side)
    rank: Index
    if known is None:
        order = np.argsort(words, kind="stable")
        rank, known = np.empty(len(words), dtype=np.intp), words[order]
        rank[order] = np.arange(len(words))
    else:
        rank = look_up(words, known)
    return rank[coded.indices.to_numpy()], known


def as_ids(ids: Any, name: str, side: str) -> NDArray[Any]:
    """Ids as whole numbers or texts: an Arrow array, a list, a column of numbers."""
    import pyarrow as pa

    try:
        array = ids if isinstance(ids, pa.Array) else pa.array(np.atleast_1d(np.asarray(ids)))
        kind = array.type
        if pa.types.is_dictionary(kind):
            array, kind = array.dictionary_decode(), kind.value_type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            return np.asarray(array.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)
        if str(kind) not in TEXT_TYPES:
            raise pa.ArrowInvalid(f"it holds {kind}")
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as problem:
        text = protect_terminal(str(problem))[:120]
        raise error("LD273", column=protect_terminal(name), side=side, problem=text) from None
    words = np.array(array.to_pylist(), dtype=object)
    return words.astype(np.int64) if _whole(words) else words


def _whole(words: NDArray[Any]) -> bool:
    """Whether every text is a whole number as Python would write it."""
    try:
        return all(str(int(word)) == word and abs(int(word)) < 2**63 for word in words)
    except ValueError:
        return False


def look_up(words: NDArray[Any], known: NDArray[Any]) -> Index:
    """The place of each id among the known ones; -1 where it is none of them."""
    if words.dtype != known.dtype and len(words):  # 7 and "7" name the same user
        if known.dtype == object:
            words = np.array([str(word) for word in words], dtype=object)
        else:
            words = np.array([int(word) if _whole(np.array([word], dtype=object)) else None for word in words])
            present = np.array([word is not None for word in words])
            out = np.full(len(words), -1, dtype=np.intp)
            out[present] = look_up(words[present].astype(np.int64), known)
            return out
    if not len(known):
        return np.full(len(words), -1, dtype=np.intp)
    at = np.minimum(np.searchsorted(known, words), len(known) - 1)
    return np.where(known[at] == words, at, -1).astype(np.intp)


def _of_triples(t: Triples, duplicates: str, shape: tuple[int, int] | None = None) -> Ratings:
    """One sparse matrix; of several ratings of a pair one is made, or the pair is named."""
    keep = (t.i >= 0) & ~np.isnan(t.values)
    u, i, values = t.u[keep], t.i[keep], t.values[keep]
    if shape is None:
        assert t.users is not None and t.items is not None
        shape = (len(t.users), len(t.items))
    order = np.lexsort((i, u))  # stable: the last of a pair stays the last
    u, i, values = u[order], i[order], np.asarray(values[order], dtype=np.float64)
    new = np.ones(len(u), dtype=bool)
    new[1:] = (u[1:] != u[:-1]) | (i[1:] != i[:-1])
    if not new.all():
        if duplicates == "error":
            raise _twice(t, u, i, new, np.flatnonzero(keep)[order])
        first = np.flatnonzero(new)
        size = np.diff(np.append(first, len(u)))
        values = np.add.reduceat(values, first) / size if duplicates == "mean" else values[first + size - 1]
        u, i = u[first], i[first]
    ptr = np.zeros(shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(u, minlength=shape[0]), out=ptr[1:])
    matrix = sp.csr_array((values, i.astype(np.int32), ptr), shape=shape)
    return Ratings(_clean(matrix), t.users, t.items)


def _twice(t: Triples, u: Index, i: Index, new: Mask, rows: Index) -> Exception:
    """The error that names the first pair that was rated more than once."""
    at = int(np.argmin(new)) - 1
    same = rows[(u == u[at]) & (i == i[at])]
    names = [place if ids is None else ids[place] for place, ids in ((u[at], t.users), (i[at], t.items))]
    user, item = (protect_terminal(repr(name.item() if isinstance(name, np.generic) else name)) for name in names)
    where = "rows " + ", ".join(str(row + 1) for row in same[:5])
    return error("LD271", where, user=user, item=item, times="twice" if len(same) == 2 else f"{len(same)} times")


def stored_cells(block: Block) -> sp.csr_array:
    """The seen cells of a block of rows."""
    rows, cols = np.nonzero(block.seen)
    ptr = np.append(0, np.cumsum(np.bincount(rows, minlength=len(block.x))))
    return sp.csr_array((block.x[rows, cols], cols.astype(np.int32), ptr), shape=block.x.shape)


def _clean(matrix: sp.csr_array) -> sp.csr_array:
    """Finite ratings as doubles, or as they are where there are many single ones; stored NaN is a gap."""
    if matrix.data.dtype != np.float32 or matrix.nnz < MANY_RATINGS:
        data = matrix.data.astype(np.float64, copy=False)
        matrix = sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(matrix.data.sum(dtype=np.float64)):
            return matrix
    gaps = np.isnan(matrix.data)
    if gaps.any():
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[~gaps]
        ptr = np.append(0, np.cumsum(np.bincount(rows, minlength=matrix.shape[0])))
        matrix = sp.csr_array((matrix.data[~gaps], matrix.indices[~gaps], ptr), shape=matrix.shape)
    bad = ~np.isfinite(matrix.data)
    if bad.any():
        at = int(np.argmax(bad))
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        column = f"c{int(matrix.indices[at]) + 1}"
        raise error("LD150", f"row {row + 1}, column '{column}' (infinity)", value=matrix.data[at], column=column)
    return matrix
