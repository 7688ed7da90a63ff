"""A file as pieces of a person's table, words and all: for what reads cells as `read` does, but not all at once."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from lowdim.sources.files.arrow import as_table, open_ipc
from lowdim.sources.files.base import damaged, stamp
from lowdim.sources.files.parquet import open_parquet, parquet_files
from lowdim.sources.files.text_files import text_pieces
from lowdim.table.binary_file import from_memory
from lowdim.table.open_file import Raw, file_kind, regular_size
from lowdim.table.options import ReadingOptions
from lowdim.text.escape import protect_terminal
from lowdim.text.messages import LowdimError, error

PIECE_ROWS = 4096
HEAD = 4096  # bytes that say what a file is


def raw_pieces(file: str | PathLike[str], reading: ReadingOptions) -> tuple[int, Iterator[Raw]]:
    """How many rows a file has, and its rows piece by piece; a file that changes meanwhile is an error.

    Text files, Parquet (a folder of files too) and Arrow; others hold numbers only, or are held in memory anyway.
    """
    path = Path(file)
    inside = parquet_files(path) if path.is_dir() else []
    if inside:
        return sum(_opened(each, "parquet", reading)[0] for each in inside), _of_folder(inside, reading)
    regular_size(path, str(file))
    with path.open("rb") as head:
        kind = file_kind(head.read(HEAD), path)
    if kind not in ("text", "parquet", "arrow"):
        why = "words are read piece by piece from text, Parquet and Arrow files, and from folders of Parquet"
        raise error("LD002", name=protect_terminal(path.name), why=why, fix="save it as CSV or Parquet")
    return _opened(path, kind, reading)


def _opened(path: Path, kind: str, reading: ReadingOptions) -> tuple[int, Iterator[Raw]]:
    try:
        n, pieces = text_pieces(path, reading, PIECE_ROWS) if kind == "text" else _of_batches(path, kind)
    except LowdimError:
        raise
    except Exception as problem:  # a damaged file may fail anywhere inside a foreign reader
        raise damaged(path, kind, problem) from None
    return n, _watched(path, kind, pieces)


def _of_folder(inside: list[Path], reading: ReadingOptions) -> Iterator[Raw]:
    for each in inside:  # one file is open at a time
        yield from _opened(each, "parquet", reading)[1]


def _of_batches(path: Path, kind: str) -> tuple[int, Iterator[Raw]]:
    batches: Iterator[Any]
    if kind == "parquet":
        file = open_parquet(path)
        n, batches = file.metadata.num_rows, file.iter_batches(PIECE_ROWS)
    else:
        ipc = open_ipc(path)
        whole = [ipc.get_batch(k) for k in range(ipc.num_record_batches)]  # mapped: not in memory
        n = sum(batch.num_rows for batch in whole)
        batches = (b.slice(at, PIECE_ROWS) for b in whole for at in range(0, b.num_rows, PIECE_ROWS))
    return n, (from_memory(as_table(batch))._replace(path=str(path)) for batch in batches)


def _watched(path: Path, kind: str, pieces: Iterator[Raw]) -> Iterator[Raw]:
    was = stamp(path)
    while True:
        try:
            piece = next(pieces, None)
        except LowdimError:
            raise
        except Exception as problem:
            raise damaged(path, kind, problem) from None
        if not path.exists() or stamp(path) != was:
            raise error("LD174", name=protect_terminal(path.name), problem="it was written to")
        if piece is None:
            return
        yield piece
