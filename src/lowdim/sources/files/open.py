"""From a path to a Source: tables that are read a block at a time and never need to fit into memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.sources.arrays import ArraySource, SparseSource, check_weight
from lowdim.sources.arrow_rows import position
from lowdim.sources.files import arrow as feather
from lowdim.sources.files import npy_zarr as arrayfile
from lowdim.sources.files import parquet, text_files
from lowdim.sources.files.base import Affordable, Layout
from lowdim.sources.files.base import block_tiles as tiles_for
from lowdim.sources.source import Source
from lowdim.sources.views import Chosen
from lowdim.table.open_file import PACKED, file_kind, regular_size
from lowdim.table.options import split_names
from lowdim.text.escape import protect_terminal
from lowdim.text.messages import error


def stream(
    path: str | PathLike[str],
    *,
    columns: Sequence[str] | str | None = None,
    zeros: str = "values",
    weight: Any = None,
    tile: int | None = None,
    block_tiles: int | None = None,
) -> Source:
    """A table in a file as a Source, read a block at a time: for tables that do not fit into memory.

    A file that changes while it is read is an error, as is a cell of a text file that is no number. A text file is
    parsed once for all the passes of a fit: its rows wait in a file beside the checkpoint, or a temporary one.

    Parameters
    ----------
    path : path
        Parquet (a file, or a folder of files in the order of their names), Arrow IPC (Feather), CSV and its kin,
        .npy, Zarr; sparse matrices (.npz of scipy.sparse, Matrix Market .mtx) are held in memory.
    columns : list of str or str, default None
        The columns to use; otherwise all numbers are used, and a warning says what was left out.
    zeros : {"values", "gaps"}, default "values"
        What the cells are that a sparse matrix does not store.
    weight : str or array of shape (n,), default None
        How often each row counts: a column, or the numbers.
    tile, block_tiles : int, default None
        Rows of a tile, and tiles of a block (a power of two): how rows are walked, never the answer.

    Returns
    -------
    Source

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.arange(6.0).reshape(3, 2))
    ...     source = stream(f"{folder}/x.npy")
    ...     source.n, source.d, source.block(0).x[2].tolist()
    (3, 2, [4.0, 5.0])
    """
    if zeros not in ("values", "gaps"):
        raise error("LD210", option="zeros", value=zeros, allowed="'values' or 'gaps'")
    names = None if columns is None else split_names(columns)
    named = weight if isinstance(weight, str) else None
    source = _open(path, names, named, zeros, Layout(tile, block_tiles))
    if source.d == 0:
        raise error("LD105", shape=(source.n, 0))
    if named is not None:
        weight = _weight(_open(path, (named,), None, zeros, Layout()))
    return source if weight is None else source.weighted(check_weight(weight, source.n))


def _open(
    path: str | PathLike[str], columns: tuple[str, ...] | None, weight: str | None, zeros: str, layout: Layout
) -> Source:
    """The source of a file by what it is."""
    place = Path(path)
    if place.is_dir():
        if arrayfile.is_zarr(place):
            return _some(arrayfile.open_zarr(place, layout), columns, weight, layout)
        inside = parquet.parquet_files(place)
        if inside:
            return parquet.open_source(inside, columns, weight, layout)
    regular_size(place, os.fspath(path))  # refuses what is not there, empty, or no file
    if place.suffix.lower() == ".npz":
        return _some(_sparse(arrayfile.load_npz(place), zeros, layout), columns, weight, layout)
    with place.open("rb") as file:
        head = file.read(4096)
    kind = file_kind(head, place)
    if kind == "parquet":
        return parquet.open_source([place], columns, weight, layout)
    if kind == "arrow":
        return feather.open_source(place, columns, weight, layout)
    if kind == "npy":
        return _some(arrayfile.open_npy(place, layout), columns, weight, layout)
    if kind == "text" and head.startswith(b"%%MatrixMarket"):
        return _some(_sparse(arrayfile.load_mtx(place), zeros, layout), columns, weight, layout)
    if kind == "text":
        return text_files.open_source(place, columns, weight, layout)
    raise error(
        "LD002",
        name=protect_terminal(place.name),
        why=f"it is {'packed' if kind in PACKED else 'a workbook'}"
        ", and only a file that can be read in parts is streamed",
        fix="unpack it" if kind in PACKED else "save the sheet as CSV or Parquet",
    )


def read_whole(path: Path, kind: str, affordable: Affordable) -> Any:
    """All of a file by what it is, an Arrow table or an array, for those who hold it in memory."""
    reader = {"parquet": parquet.read_whole, "arrow": feather.read_whole, "npy": arrayfile.read_whole}[kind]
    return reader(path, affordable)


def _sparse(matrix: Any, zeros: str, layout: Layout) -> Source:
    """A matrix that is held in memory."""
    tile, tiles = layout
    tiles = tiles_for(matrix.shape[1], tile) if tiles is None else tiles
    if isinstance(matrix, np.ndarray):  # a dense Matrix Market file
        return ArraySource(matrix, columns=None, tile=tile, block_tiles=tiles)
    return SparseSource(matrix, zeros, columns=None, tile=tile, block_tiles=tiles)


def _some(source: Source, columns: tuple[str, ...] | None, weight: str | None, layout: Layout) -> Source:
    """The columns asked for of a table whose columns are called c1, c2, ..."""
    if columns is None and weight is None:
        return source
    names = list(source.columns)
    chosen = [name for name in names if name != weight] if columns is None else list(columns)
    if weight is not None:
        position(weight, names, "weight")
    return Chosen(source, [position(name, names, "columns") for name in chosen], layout.tile)


def _weight(source: Source) -> Array:
    """The one column of a source, whole; a gap in it is an error."""
    weights = np.empty(source.n)
    for i in range(source.n_blocks):
        block = source.block(i)
        if block.mask is not None:
            row = block.start + int(np.argmin(block.mask[:, 0])) + 1
            raise error("LD230", f"row {row}, column '{source.columns[0]}'", problem="a gap", n=source.n)
        weights[block.start : block.start + len(block.x)] = block.x[:, 0]
    return weights
