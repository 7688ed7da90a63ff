"""CSV and its kin: every cell read as text first, so that types are decided from all the cells."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowdim.table import detect as sniff
from lowdim.table.cells import LARGE_TEXT
from lowdim.table.detect import GAP_CODES, NUMBER_GAP_CODES, SEPS, Guess, beginning, first_line, records
from lowdim.table.open_file import Raw, titles_note
from lowdim.table.options import ReadingOptions
from lowdim.text.escape import protect_terminal, shown
from lowdim.text.fix import Fix, propose
from lowdim.text.format import listing, size
from lowdim.text.messages import LowdimError, Message, error, message

LONGEST_FIELD = 10**6  # bytes a cell may have
WIDEST_LINE = 100_000  # fields a line may have: 5 kB of memory each until it is known what its column is
NARROWER = "check the separator of the file; save a table that is so wide as .npy or Parquet, or on its side"
MANY_FIELDS = 1000  # from which the cells are split as one column: Arrow keeps 9 kB for each one it splits
BLOCK = 2**24
MOST_NULS = 0.01  # of the bytes of a text
MOST_LEFT = 0.05  # of the records of a file that may be of another length and left out
NEWLINE, RETURN, QUOTE = 10, 13, 34  # bytes


class RecordScan:
    """Reads a file a piece at a time and tells where its records begin.

    A line break between quotes ends no record, and a blank line is none.
    """

    def __init__(self) -> None:
        self.at, self.line = 0, 1  # the next byte, and the line it stands in
        self.start, self.first = 0, 1  # the same of the record that is open
        self.inside, self.last = 0, 0  # whether a quote is open, and the byte before

    def look(self, data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First byte and line of every record that ends in this piece."""
        a = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(a == NEWLINE)
        lines = self.line + np.arange(len(ends))
        self.line += len(ends)
        if self.inside or b'"' in data:
            quotes = np.flatnonzero(a == QUOTE)
            outside = (np.searchsorted(quotes, ends) + self.inside) % 2 == 0
            ends, lines = ends[outside], lines[outside]
            self.inside = (self.inside + len(quotes)) % 2
        starts, firsts, before = ends, lines, ends
        if len(ends):
            starts = np.concatenate([[self.start], self.at + ends[:-1] + 1])
            firsts = np.concatenate([[self.first], lines[:-1] + 1])
            before = np.where(ends > 0, a[np.maximum(ends - 1, 0)], self.last)
            self.start, self.first = int(self.at + ends[-1] + 1), int(lines[-1] + 1)
        sizes = self.at + ends - starts
        full = (sizes > 1) | ((sizes == 1) & (before != RETURN))
        self.at, self.last = self.at + len(data), int(a[-1])
        return starts[full], firsts[full]

    def close(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The last record, where no line break ends it."""
        if self.inside:
            raise error("LD007", f"the row begins in line {self.first}")
        size = self.at - self.start
        full = size > 1 or (size == 1 and self.last != RETURN)
        return np.array([self.start] * full, dtype=np.int64), np.array([self.first] * full, dtype=np.int64)


def whole_records(data: bytes) -> bytes:
    """The beginning of a file without the record that it breaks off in."""
    scan = RecordScan()
    scan.look(data)
    return data[: scan.start] if scan.start else data


def read_text(data: bytes, name: str, options: ReadingOptions, kind: str, *, as_it_stands: bool = False) -> Raw:
    """A text table as columns of strings; `as_it_stands` where the rest of the file will be read as its beginning is,
    and no line of it may be changed or left out."""
    text, encoding = sniff.decode(data, options.encoding, name)
    noted = list[Message]()
    if 0 in text:
        text = _without_nuls(text, name, 0.0 if as_it_stands else MOST_NULS, noted)
    declared, at = (list[str](), 0) if as_it_stands else sniff.declared_names(text)
    if declared:  # what declares them is no record, nor is a comment among the data
        text = b"\n" * text.count(b"\n", 0, at) + re.sub(rb"^%.*$", b"", text[at:], flags=re.M)
    text = text if as_it_stands else sniff.without_rulings(text)
    skip, named = sniff.preamble(beginning(text))
    head = "".join(beginning(text).splitlines(keepends=True)[skip:])
    if not head.strip():
        raise error("LD005", name=name, size=f"{len(data)} bytes, but no row")
    if not (options.sep or named or declared or as_it_stands) and sniff.is_parted_by_two(head):
        text, head = text.replace(b"::", b"\t"), head.replace("::", "\t")
    sep = options.sep or named or ("," if declared else sniff.guess_separator(head))
    guessed = not (options.sep or named or declared or as_it_stands)
    fixed = _fixed_columns(text, head, skip, sep) if guessed else b""
    if fixed:
        text, sep = fixed, "\t"
    quoted = text if as_it_stands else sniff.in_double_quotes(text, sep)
    if fixed or quoted != text:
        text, head = quoted, "".join(beginning(quoted).splitlines(keepends=True)[skip:])
    rows, titles = records(head, sep), list[str]()
    if guessed and (parted := sniff.with_names_parted(text, rows, skip, sep)) != text:
        text, head = parted, "".join(beginning(parted).splitlines(keepends=True)[skip:])
        rows = records(head, sep)
    above = sniff.title_records(rows) if options.header is not False and not declared else 0
    if not above and rows and rows[0] and re.match(r"\d+$", rows[0][0]) and not declared:
        above = int(sniff.is_size_line(rows, len(_records(text, skip, "\t" if sep == " " else sep)[0])))
    if above and (taken := _lines_of(head, above, sep)):
        titles = [", ".join(filter(None, row)) for row in rows[:above] if any(row)]
        rows, skip = rows[above:], skip + taken
    names, header = (declared, False) if declared else _header(rows, options.header, text, skip, sep)
    if sep == " ":
        text = respaced(text)
    width = _width(rows, names)
    table, lines, bad = split_records(text, sep, skip, width, name, header)
    if bad and not as_it_stands:
        text = _evened(text, sep, skip, bad, rows, width, name, noted)
        table, lines, bad = split_records(text, sep, skip, width, name, header)
    if bad:
        raise ragged_error(bad, lines, sep, head, width, names is not None)
    first = int(lines[0]) if len(lines) else 1
    cells = list(table.columns)
    if header:  # it was parsed as a row: the first
        cells, lines = [column.slice(1) for column in cells], lines[1:]
    _check_fields(cells, lines)
    guess = Guess(kind if sep != "\t" else "TSV", sep, ".", encoding, names is not None, (), first_line(rows[0]), skip)
    if (options.encoding is None and not encoding.startswith("utf")) or sniff.is_mixed(data, encoding):
        noted.append(_encoding_note(text, encoding, name))
    noted += [titles_note(titles, name)] if titles else []
    if options.header is None and names is None:
        noted.append(message("LD008", f"{first_line(rows[0])}", name=name, line=first))
    return Raw(name, cells, names, lines, guess, notes=tuple(noted))


def _without_nuls(text: bytes, name: str, most: float, noted: list[Message]) -> bytes:
    """The text without a few NUL bytes; with more than this share it is none."""
    nuls = text.count(0)
    line = text.count(b"\n", 0, text.index(0)) + 1
    if nuls > most * len(text):
        raise error(
            "LD002",
            f"line {line}",
            name=name,
            why="it holds NUL bytes: a damaged or a binary file",
            fix="save the table as CSV or Parquet",
        )
    noted.append(message("LD013", f"{name}, line {line}", n=nuls))
    return text.replace(b"\0", b"")


def _encoding_note(text: bytes, encoding: str, name: str) -> Message:
    """What is said of a file that is not, or not all, UTF-8."""
    words = re.findall(r"[^\W\d_]*[^\x00-\x7f]+[^\W\d_]*", beginning(text))
    example = shown(max(words, key=len)) if words else "nothing beyond ASCII"
    what = f"a few bytes of '{name}' are no UTF-8 and were read as Windows-1252"
    if not encoding.startswith("utf"):
        what = f"'{name}' is not written in UTF-8 and was read as {sniff.NAMES.get(encoding, encoding)}"
    other = "cp1250" if encoding != "cp1250" else "cp1252"
    fix = Fix(
        "if letters are wrong, name its encoding:  ", propose(encoding=other), ", cp1251, shift_jis, gb18030, ..."
    )
    return message("LD012", f"e.g. {example}", what=what, fix=fix)


def _fixed_columns(text: bytes, head: str, skip: int, sep: str) -> bytes:
    """The text with tabs where its columns of a fixed width end; nothing where another separator does as well."""
    lengths = set(map(len, records(head, sep)))
    if not (lengths == {1} or (sep == " " and len(lengths) > 1)) or '"' in head:
        return b""
    cuts = sniff.fixed_columns(head.splitlines())
    lines = text.decode("utf-8", "replace").split("\n")
    if not cuts or any(line[cut : cut + 1].strip() for line in lines[skip:] for cut in cuts[1:]):
        return b""
    cut = ["\t".join(sniff.cut_line(line, cuts)) if line.strip() else "" for line in lines[skip:]]
    return "\n".join([*lines[:skip], *cut]).encode()


def _evened(
    text: bytes,
    sep: str,
    skip: int,
    bad: dict[int, int],
    rows: list[list[str]],
    width: int,
    name: str,
    noted: list[Message],
) -> bytes:
    """The text with records of one length, as far as a reader would know how: empty cells at the end are often not
    written, or written once too often, and a few records of another length are left out; else the text as it is."""
    mark = "\t" if sep == " " else sep
    starts, lines = _records(text, skip, mark)
    if max(bad) > len(starts) or sniff.other_separators("\n".join(mark.join(row) for row in rows), mark):
        return text
    numbers = [sniff.are_numbers([row[j] for row in rows[1:] if len(row) == width]) for j in range(width)]
    ends = [*starts[1:].tolist(), len(text)]
    parts, done = list[bytes](), 0
    short, joined, left = list[int](), list[int](), list[int]()
    for number in sorted(bad):
        start, end = int(starts[number - 1]), int(ends[number - 1])
        record = text[start:end]
        body = record.rstrip(b"\n")
        cells = next(iter(records(body.decode("utf-8", "replace"), mark)), [])
        fits = all(
            not numbers[j] or cell in sniff.GAPS or sniff.is_number(cell) for j, cell in enumerate(cells[1:width], 1)
        )
        if len(cells) < width and (fits or sum(map(bool, cells)) == 1):
            body += mark.encode() * (width - len(cells))
            short.append(int(lines[number - 1]))
        elif len(cells) > width and not any(cells[width:]):
            body = body.rsplit(mark.encode(), len(cells) - width)[0]
        elif len(cells) > width and fits and sum(numbers) >= 2 and not numbers[-1] and b'"' not in body:
            before, after = cells[: width - 1], cells[width - 1 :]  # words with a comma that nobody put between quotes
            body = f'{mark.join(before)}{mark}"{mark.join(after)}"'.encode()
            joined.append(int(lines[number - 1]))
        else:
            body = b"\n" * body.count(b"\n")
            left.append(int(lines[number - 1]))
        parts += [text[done:start], body, b"\n" * (len(record) - len(record.rstrip(b"\n")))]
        done = end
    if len(left) > MOST_LEFT * len(starts):
        return text
    for where, what, why in (
        (
            short,
            f"fewer cells than {width}: what is missing at the end was taken as empty",
            "programs often do not write it",
        ),
        (
            joined,
            f"more cells than {width}: those at the end were joined",
            "the last column holds words, which may have such a sign",
        ),
    ):
        if where:
            at = f"{name}, lines {listing(map(str, where), 5)}"
            noted.append(message("LD014", at, n=len(where), what=what, why=why))
    if left:
        at = f"{name}, lines {listing(map(str, left), 5)}"
        noted.append(message("LD020", at, n=len(left), width=width, line=left[0], sep=SEPS.get(sep, "separator")))
    return b"".join([*parts, text[done:]])


def _lines_of(head: str, above: int, sep: str) -> int:
    """How many lines the first records take with the blank ones around them; 0 where a quote swallows the others."""
    lines = head.split("\n")
    begins = RecordScan().look(f"{head}\n".encode())[1]
    records = [int(line) for line in begins if sep != " " or lines[line - 1].strip()]
    return records[above] - 1 if above < len(records) else 0


def _header(
    rows: list[list[str]], option: bool | None, text: bytes, skip: int, sep: str
) -> tuple[list[str] | None, bool]:
    """The names, and whether they stand in the first record."""
    header = sniff.guess_header(rows) if option is None else option
    if header:
        names, width = rows[0], _width(rows[1:], None)
        if rows[1:] and len(names) == width - 1:  # a name short: R leaves out that of the row names, others end
            trailing = all(row[-1] in GAP_CODES for row in rows[1:] if len(row) == width)  # every line with a separator
            names = [*names, ""] if trailing else ["", *names]
        return names, True
    if option is None and skip:  # names in a comment: "#id,x,y"
        last = text.split(b"\n", skip)[skip - 1].decode("utf-8", "replace")
        names = (records(last.lstrip("# "), sep) or [[]])[0]
        if len(names) == len(rows[0]) > 1 and not any(map(sniff.is_number, names)):
            return names, False
    return None, False


def _width(rows: list[list[str]], names: list[str] | None) -> int:
    if names is not None:
        return len(names)
    return Counter(map(len, rows)).most_common(1)[0][0] if rows else 0


def split_records(
    text: bytes, sep: str, skip: int, width: int, name: str, header: bool
) -> tuple[Any, NDArray[np.int64], dict[int, int]]:
    """The records as an Arrow table of strings, the line of each, and the fields of those of another length."""
    if width > WIDEST_LINE:
        raise error("LD171", d=f"{width:,}", most=f"{WIDEST_LINE:,}", fix=NARROWER)
    starts, lines = _records(text, skip, "\t" if sep == " " else sep)
    block = max(BLOCK, 2 * int(np.diff(starts, append=len(text)).max(initial=0)) + 2)
    body = text[starts[0] :] if len(starts) else b""
    first = body
    if header:  # a name short: the row names have none
        line, newline, remainder = body.partition(b"\n")
        cells = records(line.decode("utf-8", "replace"), "\t" if sep == " " else sep)
        if cells and len(cells[0]) == width - 1 and line.count(b'"') % 2 == 0:
            first = (b"\t" if sep == " " else sep.encode()) + line + newline + remainder
    bad: list[tuple[int, int, str]] = []
    try:
        table = tokenise(first, sep, width, block)
    except OSError as problem:
        raise _unreadable(name, problem) from None
    except ValueError:  # rows of different lengths: once more, slowly, to say which
        try:
            table = tokenise(first, sep, width, block, bad=bad)
        except (ValueError, OSError) as problem:
            raise _unreadable(name, problem) from None
    if table.num_rows + len(bad) != len(lines):  # quotes inside cells: count lines as the csv module does
        lines = _slow_lines(body, sep, int(lines[0]) if len(lines) else 1)
    if table.num_rows + len(bad) != len(lines):
        lines = np.arange(1, table.num_rows + len(bad) + 1)
    wrong = {number: fields for number, fields, cells in bad if cells.strip()}
    if len(bad) > len(wrong):  # lines of spaces alone are no rows
        lines = np.delete(lines, [number - 1 for number, _, cells in bad if not cells.strip()])
    return table, lines, wrong


def _unreadable(name: str, problem: Exception) -> LowdimError:
    return error("LD002.text", name=name, problem=protect_terminal(str(problem))[:160])


def tokenise(
    body: bytes,
    sep: str,
    width: int,
    block: int,
    *,
    bad: list[tuple[int, int, str]] | None = None,
    threads: bool = True,
    numbers: tuple[Sequence[int], str] | None = None,
) -> Any:
    """Records as an Arrow table of strings, or of numbers in the fields named with their decimal sign.

    `bad` gets (number, fields, text) of records of another length, which are an error where it is None.
    """
    import pyarrow as pa
    from pyarrow import csv as reader

    if numbers is None and width >= MANY_FIELDS:
        return _tokenise_wide(body, "\t" if sep == " " else sep, width, bad)

    def note(row: Any) -> str:
        assert bad is not None
        bad.append((row.number, row.actual_columns, row.text))
        return "skip"

    names = [f"f{j}" for j in range(width)]
    used = names if numbers is None else [names[j] for j in numbers[0]]
    kind = pa.string() if numbers is None else pa.float64()
    more: dict[str, Any] = {} if bad is None else {"invalid_row_handler": note}
    cells: dict[str, Any] = {"strings_can_be_null": False}
    if numbers is not None:
        cells = {"include_columns": used, "null_values": [*GAP_CODES, *NUMBER_GAP_CODES], "decimal_point": numbers[1]}
    return reader.read_csv(
        pa.BufferReader(body),
        parse_options=reader.ParseOptions(delimiter="\t" if sep == " " else sep, newlines_in_values=True, **more),
        read_options=reader.ReadOptions(column_names=names, use_threads=threads and bad is None, block_size=block),
        convert_options=reader.ConvertOptions(column_types=dict.fromkeys(used, kind), check_utf8=False, **cells),
    )


def _tokenise_wide(body: bytes, sep: str, width: int, bad: list[tuple[int, int, str]] | None) -> Any:
    """Records of many fields as an Arrow table of strings: every cell on a line of its own, then cut into columns."""
    import pyarrow as pa

    a = np.frombuffer(body if body.endswith(b"\n") else body + b"\n", dtype=np.uint8)
    quotes = np.flatnonzero(a == QUOTE)
    inside = np.logical_xor.accumulate(a == QUOTE) if len(quotes) else np.zeros(len(a), dtype=bool)
    if len(quotes) % 2 or _stray(a, quotes, sep):
        cells, counts, lines = _split_slowly(body, sep)
    else:
        line_end = (a == NEWLINE) & ~inside
        blank = line_end & np.concatenate([[True], line_end[:-1]])
        a, line_end, inside = a[~blank], line_end[~blank], inside[~blank]
        cell_end = line_end | ((a == ord(sep)) & ~inside)
        starts = np.concatenate([[0], np.flatnonzero(line_end)[:-1] + 1])[: int(line_end.sum())]
        counts = np.add.reduceat(cell_end, starts, dtype=np.int64)
        lines = [part.tobytes() for part in np.split(a, starts[1:])] if (counts != width).any() else []
        cells = _split_cells(np.where(cell_end, np.uint8(NEWLINE), a), sep)
    if (counts != width).any():
        if bad is None or len(cells) != counts.sum():
            raise pa.ArrowInvalid("rows of different lengths")
        wrong = np.flatnonzero(counts != width)
        bad.extend((int(k) + 1, int(counts[k]), lines[k].decode("utf-8", "replace")) for k in wrong)
        cells = cells.filter(pa.array(np.repeat(counts == width, counts)))
    n = len(cells) // width
    by_column = cells.take(pa.array(np.arange(n * width).reshape(n, width).T.ravel()))
    return pa.table([by_column.slice(j * n, n) for j in range(width)], names=[f"f{j}" for j in range(width)])


def _split_cells(text: NDArray[np.uint8], sep: str) -> Any:
    """Cells that stand one a line, as one Arrow array of strings."""
    import pyarrow as pa
    from pyarrow import csv as reader

    kind = pa.large_string() if len(text) > LARGE_TEXT else pa.string()
    options: dict[str, Any] = {"strings_can_be_null": False, "check_utf8": False, "column_types": {"f": kind}}
    table = reader.read_csv(
        pa.py_buffer(text),
        parse_options=reader.ParseOptions(delimiter=sep, newlines_in_values=True, ignore_empty_lines=False),
        read_options=reader.ReadOptions(column_names=["f"], block_size=BLOCK),
        convert_options=reader.ConvertOptions(**options),
    )
    return table.column(0).combine_chunks()


def _split_slowly(body: bytes, sep: str) -> tuple[Any, NDArray[np.int64], list[bytes]]:
    """Cells, how many each record has, and the records, where quotes stand inside cells."""
    import pyarrow as pa

    rows = [row for row in csv.reader(io.StringIO(body.decode("utf-8", "replace")), delimiter=sep) if row]
    cells = pa.array([cell for row in rows for cell in row], pa.string())
    return cells, np.array([len(row) for row in rows], dtype=np.int64), [sep.join(row).encode() for row in rows]


def _records(text: bytes, skip: int, sep: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each record after the skipped lines starts, in bytes and in lines."""
    scan = RecordScan()
    starts, lines = scan.look(text) if text else (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    if b'"' in text:
        a = np.frombuffer(text, dtype=np.uint8)
        if scan.inside or _stray(a, np.flatnonzero(a == QUOTE), sep):
            _refuse_unclosed(text, sep)
    if scan.at > scan.start:  # no line break ends the last one
        starts, lines = np.append(starts, scan.start), np.append(lines, scan.first)
    rows = lines > skip
    return starts[rows], lines[rows]


def _stray(a: NDArray[np.uint8], quotes: NDArray[np.intp], sep: str) -> bool:
    """Whether a quote stands where it neither opens nor closes a cell."""
    allowed = np.array([10, 34, ord(sep)], dtype=np.int64)
    before = a[np.maximum(quotes[::2] - 1, 0)]
    after = a[np.minimum(quotes[1::2] + 1, len(a) - 1)]
    edge = quotes[::2] == 0
    return bool((~np.isin(before, allowed) & ~edge).any() or (~np.isin(after, allowed)).any())


def _refuse_unclosed(text: bytes, sep: str) -> None:
    """A stray quote is an error only if it opens a cell and does not close it."""
    source = csv.reader(io.StringIO(text.decode()), delimiter=sep, strict=True)
    line = 1
    try:
        for _ in source:
            line = source.line_num + 1
    except csv.Error as problem:
        if "limit" not in str(problem):  # a cell too long for the csv module may still be well quoted
            raise error("LD007", f"the cell begins in line {line}") from None


def _slow_lines(body: bytes, sep: str, first: int) -> NDArray[np.int64]:
    source = csv.reader(io.StringIO(body.decode()), delimiter="\t" if sep == " " else sep)
    starts, line = [], first
    try:
        for record in source:
            if record:
                starts.append(line)
            line = first + source.line_num
    except csv.Error:
        pass
    return np.array(starts, dtype=np.int64)


def respaced(text: bytes) -> bytes:
    """Runs of spaces between cells as one tab."""
    cells = re.compile(rb'"[^"\n]*"|\S+')
    return b"\n".join(b"\t".join(cells.findall(line)) for line in text.split(b"\n"))


def ragged_error(
    bad: dict[int, int], lines: NDArray[np.int64], sep: str, head: str, width: int, header: bool
) -> LowdimError:
    """The error that names the first records of another length."""
    places = [int(lines[number - 1]) for number in bad]
    fields = next(iter(bad.values()))
    where = (
        f"line {places[0]} has {fields} field{'s' * (fields != 1)}, "
        f"{'the header has' if header else 'most lines have'} {width}."
    )
    if len(places) > 1:
        where += f"  First few: {', '.join(map(str, places[:5]))}" + (
            f" and {len(places) - 5} more" if len(places) > 5 else ""
        )
    others = sniff.other_separators(head, sep)
    fix = (
        Fix("a wrong separator?  try  ", propose(sep=separator_word(others[0])))
        if others
        else Fix(f"a {SEPS.get(sep, 'separator')} inside a cell?  put that cell between quotes in line {places[0]}")
    )
    return error("LD006", where, fix=fix)


def separator_word(sep: str) -> str:
    """A separator as a flag names it."""
    return {"\t": "tab", " ": "space"}.get(sep, sep)


def _check_fields(cells: list[Any], lines: NDArray[np.int64]) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    everywhere = [chunk for column in cells for chunk in column.chunks]
    if not everywhere or (pc.max(pc.binary_length(pa.chunked_array(everywhere))).as_py() or 0) <= LONGEST_FIELD:
        return
    for j, column in enumerate(cells):
        longest = pc.max(pc.binary_length(column)).as_py() or 0
        if longest > LONGEST_FIELD:
            row = pc.index(pc.binary_length(column), longest).as_py()
            raise error(
                "LD172",
                f"line {int(lines[row])}, column {j + 1}",
                size=size(longest),
                most=size(LONGEST_FIELD),
                fix="check the quotes and the separator of this line",
            )
