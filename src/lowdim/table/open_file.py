"""From a path or an object in memory to a table before anything is decided: magic bytes, limits of size, and no file
that could run code. Text is split by `text_file.py`, sheets are read by `sheets.py`; Parquet, Arrow, .npy, frames and
arrays are columns here.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import hashlib
import lzma
import os
import re
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.table.detect import Guess
from lowdim.text.escape import protect_terminal, shell_word, shown
from lowdim.text.fix import Fix, Spelling, propose
from lowdim.text.format import listing
from lowdim.text.format import size as size_text
from lowdim.text.messages import LowdimError, Message, error, message

if TYPE_CHECKING:
    from lowdim.table.cells import ColumnCells

BOMB_RATIO = 200  # text that shrank more than this is a bomb, not a table
SMALL_FILE = 10**7  # bytes that are unpacked whatever their ratio
TEXT_COST = 6  # bytes of memory a byte of CSV needs while it is read: text, cells, numbers (measured 5.5 on 187 MB)
CELL_COST = 60  # the same of a cell: where it lies, its number, its mask (measured 65 and 66 on rows of 4 and 27 bytes)
LEAST_SAMPLE = 3  # rows worth sampling
TEXTS = (".csv", ".tsv", ".txt", ".dat")
# what is raised where a packed file is damaged, or locked by a password
DAMAGES = (
    OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, RuntimeError
)  # fmt: skip
SAVE = "save the table as CSV or Parquet"
BINARY = {
    ".parquet": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".npy": "npy",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".ods": "ods",
    ".gz": "gzip",
    ".bz2": "bzip2",
    ".xz": "xz",
    ".zip": "zip",
}
MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\x93NUMPY", "npy"),
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"FEA1", "an old Feather file (version 1)"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls)"),
    (b"\x89HDF", "an HDF5 file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ", "xz"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd"),
    (b"7z\xbc\xaf", "packed by 7-zip"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"{\\rtf", "a text document (RTF)"),
    (b"PK\x05\x06", "an empty zip archive"),
)
PACKED = ("gzip", "bzip2", "xz", "zip")  # a text inside
OLD_PICKLE = re.compile(  # protocols 0 and 1 have no magic bytes
    rb"\([dl]p\d|c(copy_?reg|__builtin__|builtins|numpy[\w.]*|pandas[\w.]*|os|posix|nt|subprocess)\n\w+\n"
)

COST = 3  # bytes of memory for a byte of numbers: the column, its float64, the table's own copy


class Raw(NamedTuple):
    """A table before anything is decided about it: one Arrow array a column, strings where it was text."""

    name: str
    cells: list[Any]
    names: list[str] | None
    lines: NDArray[np.int64]  # where each row stands in the file, counted from 1
    guess: Guess
    sha256: str = ""
    path: str = ""
    unit: str = "line"  # what `lines` counts
    index: Any = None  # the index of a frame
    notes: tuple[Message, ...] = ()
    heads: tuple[list[str], ...] = ()  # the lines of the header as they stand, where it has two


class Place(NamedTuple):
    """Where rows stand, for messages: file, unit of counting, and the line of each row."""

    name: str
    unit: str
    lines: NDArray[np.int64]
    codes: tuple[str, ...] = ()  # extra codes for gaps

    def cell(self, c: ColumnCells, row: int) -> str:
        """A cell as a message names it: line 14 "<0.05"."""
        return f"{self.unit} {self.lines[row]} {c.example(row)}"

    def column(self, c: ColumnCells, row: int) -> str:
        return f"{self.name}, column {c.position}, e.g. {self.unit} {self.lines[row]}: {c.example(row)}"


class FoundFile(NamedTuple):
    """A file that may be read: what it is, and its bytes where it is text."""

    path: Path
    kind: str
    size: int
    sha256: str
    data: bytes = b""


def find_file(name: str | os.PathLike[str], memory: int, sample: int | None) -> FoundFile:
    """The file at a path, refused with a reason unless it is a table that fits into memory."""
    path = Path(name)
    size = regular_size(path, str(name))
    with path.open("rb") as file:
        head = file.read(4096)
        kind = file_kind(head, path)
        if kind in PACKED:
            return FoundFile(path, "text", size, file_digest(path), _unpacked(path, kind, size, memory))
        if kind != "text":
            return FoundFile(path, kind, size, file_digest(path))
        if size * TEXT_COST > memory:
            if sample is None:
                shape, affordable = _affordable(head, size, memory)
                raise too_large(path.name, size, size * TEXT_COST, memory, shape=shape, sample=affordable)
            data = spread_lines(path, size, sample)
        else:
            file.seek(0)
            data = file.read()
            if (need := text_cost(data)) > memory and sample is None:
                shape, affordable = _affordable(head, size, memory)
                raise too_large(path.name, size, need, memory, shape=shape, sample=affordable)
        return FoundFile(path, "text", size, file_digest(data), data)


def regular_size(path: Path, text: str) -> int:
    """The size of a regular file; anything else is refused."""
    name = protect_terminal(path.name or text)
    if re.match(r"[a-z]{2,}:/", text):  # a Path has one slash left of two
        raise error(
            "LD002",
            name=protect_terminal(text),
            why="it is an address; only files of this computer are read",
            fix="download it, and give the file",
        )
    if text == "-":
        raise error(
            "LD002",
            name=text,
            why="a table is read more than once, so it cannot come through a pipe",
            fix=Fix(
                "write it to a file, and give the file:  ",
                Spelling("... > table.csv && lowdim table.csv", "ld.analyse('table.csv')"),
            ),
        )
    try:
        status = path.stat()
        with path.open("rb") if stat.S_ISREG(status.st_mode) else open(os.devnull, "rb"):
            pass
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(path, name) from None
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise error("LD002", name=name, why=f"the system says: {reason}", fix="check the path and its rights") from None
    if stat.S_ISDIR(status.st_mode):
        raise _folder(path, name)
    if not stat.S_ISREG(status.st_mode):
        raise error("LD002", name=name, why="it is not a regular file", fix="give the path of one file")
    if status.st_size == 0:
        raise error("LD005", name=name, size="0 bytes")
    return status.st_size


def _folder(path: Path, name: str) -> LowdimError:
    """A folder is no table; the tables in it are named."""
    if (path / "run.json").is_file():
        what = "a run folder, made from a table"
        show = Spelling(f"lowdim report {_word(path)}", f"ld.load_run({protect_terminal(str(path))!r})")
        return error("LD002", name=name, why=f"it is {what}", fix=Fix("show the run:  ", show))
    inside = sorted(one for one in path.iterdir() if one.suffix.lower() in (*TEXTS, *BINARY) and one.is_file())
    where = "in it: " + listing([protect_terminal(one.name) for one in inside]) if inside else ""
    fix = Fix("give the path of one file")
    if inside:
        call = f"ld.analyse({protect_terminal(str(inside[0]))!r})"
        fix = Fix("give one file:  ", Spelling(f"lowdim {_word(inside[0])}", call))
    return error("LD002", where, name=name, why="it is a folder", fix=fix)


def _word(path: Path) -> str:
    return shell_word(protect_terminal(str(path)))


def _missing(path: Path, name: str) -> LowdimError:
    folder = path.parent
    there = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    near = [protect_terminal(one) for one in difflib.get_close_matches(path.name, sorted(there), n=1, cutoff=0.7)]
    place = "the current folder" if str(folder) == "." else protect_terminal(str(folder))
    return error(
        "LD001",
        place if folder.is_dir() else f"there is no folder {place}",
        name=name,
        why="",
        fix=f"did you mean {near[0]} ?" if near else "check the spelling",
    )


def file_kind(head: bytes, path: Path) -> str:
    """What a file is by its first bytes: text, parquet, arrow, npy, a sheet or a packed text; others are refused."""
    name, suffix = protect_terminal(path.name), path.suffix.lower()
    pickled = len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5  # the mark of a protocol
    if suffix in (".pkl", ".pickle", ".joblib") or pickled or OLD_PICKLE.match(head):
        raise error(
            "LD002",
            name=name,
            fix=SAVE,
            why="it looks like a Python pickle (first bytes "
            f"{head[:3].hex(' ')}); pickles can run code, so they are never opened",
        )
    kind = next((what for magic, what in MAGIC if head.startswith(magic)), "text")
    if kind == "zip":
        kind = _zip(path, name, suffix)
    if kind not in ("text", *BINARY.values()):
        raise error("LD002", name=name, why=f"it is {kind}", fix=SAVE)
    wanted = BINARY.get(suffix, kind)
    if wanted != kind:
        raise error(
            "LD002",
            name=name,
            fix="give it the ending of what it is, or write it again",
            why=f"its name says {wanted}, but it begins with {shown(head[:8].decode('latin-1'))}",
        )
    if kind == "text":
        refuse_markup(head, name)
    return kind


def _zip(path: Path, name: str, suffix: str) -> str:
    """The same of a zip archive, as sheets are; others may hold one text."""
    try:
        with zipfile.ZipFile(path) as archive:
            inside = archive.namelist()
            said = archive.read("mimetype")[:100] if "mimetype" in inside and "content.xml" in inside else b""
    except Exception:  # a damaged archive fails in many ways
        raise error("LD002", name=name, why="it is a zip archive that is damaged or cut short", fix=SAVE) from None
    if said == b"application/vnd.oasis.opendocument.spreadsheet" and suffix == ".ods":
        return "ods"
    if "xl/workbook.xml" not in inside:
        if len(_members(inside)) == 1:
            return "zip"
        why, where = f"it is a zip archive of {len(_members(inside))} files", listing(map(shown, _members(inside)))
        raise error("LD002", where, name=name, why=why, fix="unpack it, and give one file in it")
    if suffix not in (".xlsx", ".xlsm"):
        raise error(
            "LD002",
            name=name,
            why="it is an Excel workbook, whatever its name says",
            fix=f"rename it to {path.stem}.xlsx",
        )
    return "xlsx"


def refuse_markup(head: bytes, name: str) -> None:
    """HTML, XML and JSON are text, but no table."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    line = head[: len(head) - len(start)].count(b"\n") + 1
    example = f"line {line}: " + shown(start.split(b"\n")[0].decode("latin-1").strip())
    if re.match(rb"<(!doctype html|html|head|body|script)", start, re.I):
        raise error("LD003", example, name=name)
    for mark, what in ((b"<", "XML"), (b"{", "JSON"), (b"[", "JSON")):
        if start.startswith(mark) and not re.match(rb"<=?\s*[\d.]", start):  # "<0.05" may open a table
            raise error("LD002", example, name=name, why=f"it looks like {what}", fix=SAVE)


def _members(inside: list[str]) -> list[str]:
    """The files of a zip archive without folders and what a Mac adds."""
    return [one for one in inside if not one.endswith("/") and not one.startswith("__MACOSX/")]


def is_packed(path: str) -> bool:
    """Whether a file has to be unpacked before its text can be read."""
    with open(path, "rb") as file:
        head = file.read(8)
    return any(head.startswith(magic) for magic, kind in MAGIC if kind in PACKED)


@contextmanager
def _opened(path: Path, kind: str) -> Iterator[IO[bytes] | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile]:
    """The one text inside a packed file."""
    if kind == "zip":
        with zipfile.ZipFile(path) as archive, archive.open(_members(archive.namelist())[0]) as file:
            yield file
    else:
        with gzip.open(path) if kind == "gzip" else bz2.open(path) if kind == "bzip2" else lzma.open(path) as file:
            yield file


def _unpacked(path: Path, kind: str, size: int, memory: int) -> bytes:
    """The one text inside a packed file, refused as soon as it grows beyond reason."""
    parts, total, need, name = list[bytes](), 0, 0, protect_terminal(path.name)
    try:
        with _opened(path, kind) as file:
            while part := file.read(2**20):
                parts.append(part)
                total += len(part)
                if total > SMALL_FILE and total > BOMB_RATIO * size:
                    raise error(
                        "LD170.table",
                        name=name,
                        size=f"{size_text(size)} packed",
                        shape=f", more than {size_text(total)} unpacked",
                        why=f"it grows more than {BOMB_RATIO} times, as files made to fill a disk do",
                        fix="unpack it yourself if you trust it",
                    )
                need += text_cost(part)
                if need > memory:
                    raise too_large(name, size, need, memory, shape=" packed")
    except DAMAGES:
        raise error("LD002", name=name, why="the packed file is damaged or cut short", fix="copy it again") from None
    data = b"".join(parts)
    if not data:
        raise error("LD005", name=name, size="0 bytes once unpacked")
    inner = file_kind(data[:4096], Path(path.stem + ".csv"))
    if inner != "text":
        raise error("LD002", name=name, why=f"it holds a packed {inner} file", fix="unpack it first")
    return data


def text_cost(text: bytes) -> int:
    """About how many bytes of memory a text needs while it is read as a table."""
    return TEXT_COST * len(text) + CELL_COST * (
        text.count(b"\n") + max(text.count(sep) for sep in (b",", b";", b"\t", b"|"))
    )


def spread_lines(path: Path, size: int, count: int) -> bytes:
    """The first line and `count` whole lines spread evenly over a file too large to be read."""
    with path.open("rb") as file:
        lines, last = [file.readline(2**20)], file.tell()
        for k in range(count):
            file.seek(max(last, k * size // count) - 1)
            if file.read(1) != b"\n":
                file.readline()
            line = file.readline(2**20)
            last = file.tell()
            lines.append(line if line.endswith(b"\n") else line + b"\n")
            if last >= size:
                break
    return b"".join(lines)


def too_large(name: str, size: int, need: int, memory: int, *, shape: str = "", sample: int = 0) -> LowdimError:
    """The refusal of a table that would not fit."""
    fix = Fix("allow more memory:  ", propose(memory=f"{need // 10**6 + 1}MB"))
    if sample:
        fix = Fix(f"read {sample:,} rows, spread over the file:  ", propose(sample=sample), "\n", *fix.parts)
    return error(
        "LD170.table",
        name=protect_terminal(name),
        size=size_text(size),
        shape=shape,
        fix=fix,
        why=f"reading it whole needs about {size_text(need)} of memory; {size_text(memory)} may be used",
    )


def _affordable(head: bytes, size: int, memory: int) -> tuple[str, int]:
    """About how many rows a file has, in words, and a round number of them that fits well."""
    lines = head.split(b"\n")[:-1] or [head]
    line = sum(map(len, lines)) / len(lines) + 1
    rows = max(int(memory / (4 * TEXT_COST * line)), LEAST_SAMPLE)
    unit: int = 10 ** (len(str(rows)) - 1)
    return f", about {int(size / line):,} rows", min(rows // unit * unit, 200_000)


def file_digest(data: bytes | Path) -> str:
    """SHA-256 of bytes or of a file."""
    if isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    with data.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# tables that are no text: Parquet, Arrow, .npy, frames and arrays ------------------------------------------------
def read_binary(file: FoundFile, memory: int) -> Raw:
    """A file that is not text."""
    name = protect_terminal(file.path.name)
    from lowdim.sources.files.open import read_whole  # the formats are read in one place, which knows tables

    def affordable(rows: int, columns: int, shape: str) -> None:
        need = rows * max(columns, 1) * 8 * COST
        if need > memory:
            raise too_large(name, file.size, need, memory, shape=shape)

    try:
        whole = read_whole(file.path, file.kind, affordable)
    except LowdimError as problem:
        if problem.code != "LD015":
            raise
        raise error("LD002.damaged", name=name, kind=file.kind) from None
    if file.kind != "npy":
        return from_arrow(whole, name, {"parquet": "Parquet", "arrow": "Arrow"}[file.kind])
    if whole.dtype.names:
        fields = list(whole.dtype.names)
        return from_arrays([np.asarray(whole[field]) for field in fields], fields, name, "NumPy file")
    return from_matrix(whole, name, "NumPy file")


def cell_text(value: Any) -> str:
    """A cell of a sheet as the text a CSV would hold."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    return repr(value) if isinstance(value, float) else str(value)


def titles_note(titles: list[str], name: str) -> Message:
    """What is said of lines above the names."""
    return message("LD017", f"{name}: " + listing([shown(title) for title in titles]), n=len(titles))


def from_arrow(table: Any, name: str, kind: str) -> Raw:
    """A table from Arrow columns, each of its own type."""
    names = [str(column) for column in table.column_names]
    return Raw(name, list(table.columns), names, np.arange(1, table.num_rows + 1), Guess(kind), unit="row")


def from_arrays(arrays: list[Any], names: list[str], name: str, kind: str) -> Raw:
    """A table from one array a column; objects of mixed type become text."""
    cells = [_array(values, column) for values, column in zip(arrays, names, strict=True)]
    n = len(cells[0]) if cells else 0
    return Raw(name, cells, names, np.arange(1, n + 1), Guess(kind), unit="row")


def _array(values: Any, name: str) -> Any:
    """A column as Arrow has it; complex numbers have no place on an axis."""
    import pyarrow as pa

    letter = getattr(values.dtype, "kind", "O")
    if letter == "c" or (letter == "O" and any(isinstance(cell, complex) for cell in values)):
        raise error("LD102", column=f"column '{name}'")
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        gone = {"NAType", "NaTType", "NoneType"}
        return pa.array([None if type(cell).__name__ in gone else cell_text(cell) for cell in values], pa.string())


def from_matrix(values: Any, name: str, kind: str) -> Raw:
    """A table from a two-dimensional array."""
    if values.ndim != 2:
        raise error("LD100", shape=values.shape)
    if values.dtype.kind == "c":
        raise error("LD102", column="the array")
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    if values.dtype.kind == "V":
        raise error("LD101", case="person's table", type=str(values.dtype))
    raw = from_arrays(list(values.T), [f"c{j + 1}" for j in range(values.shape[1])], name, kind)
    return raw._replace(names=None, lines=np.arange(1, len(values) + 1))


def from_memory(table: Any) -> Raw:
    """A table that is already in memory: a pandas or polars frame, anything with Arrow columns, an array."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(table, pandas.DataFrame):
        named = [str(column) for column in table.columns]
        raw = from_arrays([table.iloc[:, j] for j in range(table.shape[1])], named, "the frame", "pandas frame")
        return raw._replace(lines=np.arange(1, len(table) + 1), index=table.index)
    if not isinstance(table, np.ndarray) and callable(getattr(table, "__arrow_c_stream__", None)):
        import pyarrow as pa

        if not (hasattr(table, "column_names") or hasattr(type(table), "columns")):  # a Series: one column is no table
            raise error("LD100", shape=(len(table),))
        frame = "polars frame" if type(table).__module__.startswith("polars") else "Arrow table"
        return from_arrow(pa.table(table), "the frame", frame)
    if isinstance(table, dict | set | bytes) or table is None or "sparse" in type(table).__module__:
        raise error("LD101", case="person's table", type=type(table).__name__)
    try:
        values = table if isinstance(table, np.ndarray) else np.asarray(table)
    except ValueError:
        raise error(
            "LD101", "its rows have different lengths", case="person's table", type=type(table).__name__
        ) from None
    if values.ndim == 0 and values.dtype.kind == "O":  # a LazyFrame, a Query: NumPy wraps what it does not know
        raise error("LD101", case="person's table", type=type(table).__name__)
    return from_matrix(values, "the array", "array")
