"""A person's table: read, understood, checked, and every change made to it said aloud."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowdim.math.linalg import Array, evenly_spread
from lowdim.storage.memory import free_memory
from lowdim.table import cells as cell
from lowdim.table import checks
from lowdim.table.binary_file import base_name, from_memory, read_binary
from lowdim.table.detect import GAPS, Guess, beginning, other_separators
from lowdim.table.notes import CheckError, Messages, Notes
from lowdim.table.open_file import Raw, digest, find, too_large
from lowdim.table.options import Options, join_names, settle, split_names
from lowdim.table.roles import Column, Place, asked_role, assign, check_names, settle_names
from lowdim.table.text_file import read_text, separator_word
from lowdim.table.units import without_units
from lowdim.text.escape import protect_terminal, shown
from lowdim.text.format import count, listing
from lowdim.text.messages import Message, error

__all__ = ["Column", "Guess", "Messages", "Table", "read"]
SHARE = 0.8  # of the free memory that one table may use
ASIDE = {"out": "left out", "label": "label", "id": "id", "time": "time", "weight": "weight"}


def column_units(X: Array, scale: str) -> Array:
    """What one unit of each column is worth: its spread (divisor n - 1, gaps left out), or 1 where units are kept."""
    sd = np.nanstd(X, axis=0, ddof=1) if scale == "unit" else np.ones(X.shape[1])
    return np.where(sd > 0.0, sd, 1.0)


class Table:
    """A table that can be analysed: its numbers, its labels, and what was done to it."""

    def __init__(
        self,
        raw: Raw,
        columns: list[Column],
        work: checks.Numbers,
        messages: Messages,
        guess: Guess,
        scale: str,
        options: dict[str, Any],
    ) -> None:
        self.name, self.path, self.guess, self.messages, self.scale = raw.name, raw.path, guess, messages, scale
        self.options = options  # of reading, as they were given: to read the same file again in the same way
        self.X: Array = work.X
        self.n: int = len(work.X)
        self.shape = (len(raw.lines), len(raw.cells))  # of the file
        self.rows = work.rows  # positions of the kept rows in the file, from 0
        self.lines, self.unit = raw.lines[work.rows], raw.unit
        self.columns = _kept(columns, work)
        self.sha256 = raw.sha256 or _fingerprint(self.X, self.names)
        self.index = None if raw.index is None else raw.index[work.rows]  # of a frame

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the number columns, in the order of X."""
        return tuple(c.name for c in self.columns if c.role == "number")

    @property
    def labels(self) -> dict[str, NDArray[Any]]:
        """The label columns by name; None where a label is missing."""
        return {c.name: c.values for c in self.columns if c.role == "label"}

    @property
    def row_names(self) -> tuple[str, ...]:
        """The id column, a frame's index, or "1", "2", ...: rows as they are counted in the file."""
        found = self._first("id")
        if found is not None:
            return tuple(
                str(r + 1) if v is None else protect_terminal(str(v)) for r, v in zip(self.rows, found, strict=True)
            )
        if self.index is not None and type(self.index).__name__ != "RangeIndex":
            return tuple(protect_terminal(str(v)) for v in self.index)
        return tuple(str(r + 1) for r in self.rows)

    @property
    def time(self) -> NDArray[Any] | None:
        """The time of each row: dates, numbers or text; None where no column tells it."""
        return self._first("time")

    @property
    def weight(self) -> Array | None:
        """How many times each row counts; None where no column was named."""
        return self._first("weight")

    def _first(self, role: str) -> NDArray[Any] | None:
        return next((c.values for c in self.columns if c.role == role), None)

    def check(self) -> Messages:
        """What was found and what was changed."""
        return self.messages

    def summary(self) -> str:
        """The page that `lowdim check` prints."""
        from lowdim.table.describe import page

        return page(self)

    def __repr__(self) -> str:
        gaps = int(np.isnan(self.X).sum())
        kinds = [
            f"{sum(c.role == role for c in self.columns)} {word}"
            for role, word in ASIDE.items()
            if any(c.role == role for c in self.columns)
        ]
        aside = f" (and {', '.join(kinds)})" if kinds else ""
        return (
            f"Table {self.name}: {count(self.n, 'row')} x {count(self.d, 'column')}{aside}, {count(gaps, 'gap')}\n"
            f"{self.guess}; {count(len(self.messages), 'message')}: .check()"
        )

    def _repr_html_(self) -> str:
        from lowdim.table.describe import card

        return card(self)


def read(table: Any, **options: Any) -> Table:
    """A table from a file, a frame or an array; what cannot be analysed raises TableError with a code and a fix.

    Files: CSV and its kin (also .gz), Parquet, Arrow (Feather), .npy, .xlsx. Separator, decimal sign, encoding,
    header and codes for gaps are guessed, and `table.guess` says how; `table.messages` lists every change.

    How to read: sep, decimal ("." or ","), encoding, header (True or False), names (a file or a list), na (more
    codes for gaps), sheet, transpose, sample (rows spread over the file), memory (bytes, or "2GB").
    What columns are: columns (use these alone), drop, number, label, id, time, weight, encode (labels as zeros
    and ones), log. What to do with: inf ("error" or "missing"), below_limit ("half", "zero" or "limit" for
    cells such as "<0.05"), keep_copies. strict=True makes every change an error.

    >>> t = read([[1, 2.5], [2, None], [4, 3.5], [3, 1.0]])
    >>> t.names, t.n, [m.code for m in t.messages]
    (('c1', 'c2'), 4, [])
    """
    if isinstance(table, Table):
        return table
    how = settle(options)
    raw = _take(table, how)
    if how.transpose:
        raw = turned(raw)
    raw = _sampled(raw, how.sample)
    notes = Notes(raw.name, raw.unit)
    notes.found.extend(raw.notes)
    raw, names, blank = _named(raw, how, notes)
    how = check_names(how, names)
    checks.refuse_width(names, len(raw.lines), how)
    parsed, decimal, used = tell_apart(raw, names, how, notes)
    place = Place(raw.name, raw.unit, raw.lines, how.na)
    columns = assign(parsed, blank, how, place, notes)
    notes.stop()
    work = _checked(columns, raw, how, place, notes)
    if how.strict:
        _refuse_changes(notes)
    return Table(
        raw,
        columns,
        work,
        Messages(notes.found),
        raw.guess._replace(decimal=decimal, na=used),
        how.scale,
        dict(options),
    )


def _take(table: Any, how: Options) -> Raw:
    """The table before anything is decided."""
    if not isinstance(table, str | PathLike):
        return from_memory(table)
    memory = how.memory if how.memory is not None else int(SHARE * free_memory())
    found = find(table, memory, how.sample)
    if found.kind != "text":
        raw = read_binary(found, how, memory)
    else:
        raw = read_text(found.data, base_name(found.path), how, "CSV")
        need = 8 * 3 * len(raw.lines) * len(raw.cells)
        if need > memory:
            raise too_large(raw.name, found.size, need, memory)
    whole = found.kind != "text" or len(found.data) >= found.size
    return raw._replace(
        path=str(found.path),
        sha256=digest(found.path if whole else found.data),
        unit=raw.unit if whole else "sampled line",
    )


def turned(raw: Raw) -> Raw:
    """The table on its side: the first column, if it is text, becomes the names, and the names become a column."""
    import pyarrow as pa

    texts = [cell.is_textual(column) for column in raw.cells]
    if all(text is None for text in texts):
        X = np.column_stack([cell.typed_cells("", 0, column).values for column in raw.cells])
        body: list[Any] = [pa.array(row, from_pandas=True) for row in X]
        head = None
    else:
        rows = [
            (column if text is None else text).cast(pa.string()).to_pylist()
            for column, text in zip(raw.cells, texts, strict=True)
        ]
        first = [v or "" for v in rows[0]]
        words = sum(not cell.matches(pa.array([v]), cell.PLAIN)[0] for v in first) > len(first) / 2
        head = first if words else None
        body = [pa.array(list(cells), pa.string()) for cells in zip(*rows[bool(head) :], strict=True)]
    names = raw.names[bool(head) :] if raw.names is not None else None
    if names is not None and any(name.strip() for name in names):
        body = [pa.array(names, pa.string()), *body]
        title = (raw.names or [""])[0] if head else ""
        head = [title, *(head or [f"c{j + 1}" for j in range(len(body) - 1)])]
    n = len(body[0]) if body else 0
    return raw._replace(cells=body, names=head, lines=np.arange(1, n + 1), unit="row", index=None)


def _sampled(raw: Raw, most: int | None) -> Raw:
    """At most so many rows, spread evenly."""
    n = len(raw.lines)
    if most is None or n <= most:
        return raw
    rows = evenly_spread(n, most)
    index = None if raw.index is None else raw.index[rows]
    return raw._replace(cells=[column.take(rows) for column in raw.cells], lines=raw.lines[rows], index=index)


def _named(raw: Raw, how: Options, notes: Notes) -> tuple[Raw, list[str], set[int]]:
    """Names from the options or the file, and the positions of columns whose header is empty."""
    given = raw.names
    while given and not given[-1].strip() and _hollow(raw.cells[-1]):  # every line ends with a separator
        given = given[:-1]
        raw = raw._replace(cells=raw.cells[:-1])
    blank = {j + 1 for j, name in enumerate(given or []) if not name.strip()}
    if how.names is not None:
        given = _names_from(how.names)
        if len(given) != len(raw.cells):
            raise error("LD106", got=len(given), want=len(raw.cells))
        source = base_name(how.names) if isinstance(how.names, str | PathLike) else "a list"
        raw = raw._replace(guess=raw.guess._replace(names=source))
    return raw, settle_names(given, len(raw.cells), notes), blank


def _hollow(column: Any) -> bool:
    text = cell.is_textual(column)
    return text is not None and bool(cell.is_code(cell.as_text(text), GAPS).all())


def _names_from(names: Any) -> list[str]:
    """Names as they are, or from a file with one a line or all in one line."""
    if not isinstance(names, str | PathLike):
        return [str(name) for name in names]
    path = Path(names)
    if isinstance(names, str) and "," in names and not path.is_file():
        return list(split_names(names))
    if not path.is_file():
        raise error("LD001", "given as --names", name=protect_terminal(str(names)), why="", fix="check the spelling")
    lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    return list(split_names(lines[0])) if len(lines) == 1 else lines


def tell_apart(raw: Raw, names: list[str], how: Options, notes: Notes) -> tuple[list[cell.Cells], str, tuple[str, ...]]:
    """Every column's cells as numbers, gaps, dates or text; the decimal sign; the codes for gaps that occurred."""
    codes = how.na
    parsed, slow, units = list[cell.Cells](), dict[int, cell.Evidence](), dict[str, str]()
    for j, (name, column) in enumerate(zip(names, raw.cells, strict=True)):
        text = cell.is_textual(column)
        if text is None:
            parsed.append(cell.typed_cells(name, j + 1, column))
            continue
        found, enough = cell.text_cells(name, j + 1, cell.as_text(text), codes)
        if not enough and asked_role(found, how) in ("", "number", "weight"):
            bare, units[name] = without_units(found.text, found.gap)
            found, enough = cell.text_cells(name, j + 1, bare, codes) if units[name] else (found, enough)
        parsed.append(found)
        if not enough and name not in how.drop:
            slow[j] = cell.weigh(found.text, found.gap)
    if any(e.comma or e.either or e.groups for e in slow.values()) or how.decimal == ",":
        for j, c in enumerate(parsed):  # only now is it worth asking the plain columns about their points
            if j not in slow and c.text is not None:
                slow[j] = cell.weigh(c.text, c.gap)
    decimal = cell.decide_decimal({names[j]: slow[j] for j in sorted(slow)}, how.decimal)
    for j, evidence in slow.items():
        parsed[j] = _slowly(parsed[j], decimal, evidence, how)
    wanted = [c for c in parsed if asked_role(c, how) in ("", "number") and c.good >= 0.5 * c.seen]
    _note_signs("LD118", {name: example for name, example in units.items() if example}, len(wanted), notes)
    _note_signs("LD114", {c.name: c.grouped for c in wanted if c.grouped}, len(wanted), notes)
    return [_recoded(c, codes) for c in parsed], decimal, _codes_seen(parsed)


def _slowly(c: cell.Cells, decimal: str, evidence: cell.Evidence, how: Options) -> cell.Cells:
    values, bad, example = cell.numbers(c.text, c.gap, decimal, evidence)
    if how.below_limit is not None:
        values, bad = cell.below_limit(c.text, bad, values, how.below_limit)
    return c._replace(values=values, bad=bad, grouped=example)


def _recoded(c: cell.Cells, codes: tuple[str, ...]) -> cell.Cells:
    """Codes that are numbers, such as -999, mean every cell of that value, however it is written."""
    wanted = []
    for code in codes:
        try:
            wanted.append(float(code.replace(",", ".")))
        except ValueError:
            continue
    hit = np.isin(c.values, wanted) if wanted else np.zeros(0, dtype=bool)
    if not hit.any():
        return c
    return c._replace(values=np.where(hit, np.nan, c.values), gap=c.gap | hit)


def _note_signs(code: str, found: dict[str, str], numbers: int, notes: Notes) -> None:
    """What was taken out of cells before they were numbers, with an example of each column."""
    if found:
        names = listing([f"{name} ({shown(example)})" for name, example in found.items()])
        spare = list(found)[: max(0, numbers - 2)]  # two columns of numbers have to be left
        notes.add(
            code,
            names,
            what=count(len(found), "column"),
            fix=f"keep as label:  --label {join_names(spare)}" if spare else "",
        )


def _codes_seen(parsed: list[cell.Cells]) -> tuple[str, ...]:
    """The codes for gaps that occurred, beside the empty cell."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: dict[str, None] = {}
    for c in parsed:
        if c.text is not None and c.gap.any() and len(found) < 20:
            found.update(dict.fromkeys(pc.unique(c.text.filter(pa.array(c.gap))).to_pylist()))
    return tuple(code for code in found if code)


def _checked(columns: list[Column], raw: Raw, how: Options, place: Place, notes: Notes) -> checks.Numbers:
    """The numbers after every check; errors are raised, changes made and noted."""
    work = checks.stack(columns, len(raw.lines))
    work = checks.infinite(work, how, place, notes)
    checks.enough_rows(work, place, notes)
    work = checks.logs(work, how, place)
    work = checks.empty(work, place, notes)
    checks.enough_rows(work, place, notes)
    work = checks.copies(checks.constant(work, place, notes), how, notes)
    checks.enough_columns(work, columns, _better_separator(raw, how), place, notes)
    notes.stop()
    return checks.remarks(work, how, place, notes)


def _better_separator(raw: Raw, how: Options) -> str:
    """A separator that would give more columns, as a flag names it; nothing if there is none."""
    if how.sep is None or not raw.guess.encoding or len(raw.cells) > 1:
        return ""
    text = "\n".join([*(raw.names or []), *(str(v) for v in raw.cells[0][:100].to_pylist())])
    others = other_separators(beginning(text.encode()), how.sep)
    return separator_word(others[0]) if others else ""


def _refuse_changes(notes: Notes) -> None:
    hard = Messages(m._replace(severity="error") if m.severity == "changed" else m for m in notes.found)
    if hard.errors:
        raise CheckError(hard)


def _kept(columns: list[Column], work: checks.Numbers) -> tuple[Column, ...]:
    """All columns with the rows that are kept; numbers that were set aside have the role "out"."""
    found = {c.name: (j, c) for j, c in enumerate(work.columns)}
    result = []
    for c in columns:
        if c.role != "number":
            result.append(c._replace(values=c.values[work.rows]))
        elif c.name in found:
            j, new = found[c.name]
            result.append(new._replace(values=work.X[:, j]))
        else:
            result.append(c._replace(role="out", values=c.values[work.rows], note="left out"))
    return tuple(result)


def _fingerprint(X: Array, names: tuple[str, ...]) -> str:
    return hashlib.sha256(repr((X.shape, names)).encode() + X.tobytes()).hexdigest()


def problems(table: Any, **options: Any) -> tuple[Message, ...]:
    """The messages of a table whether it can be analysed or not: what `lowdim check --json` lists."""
    from lowdim.text.messages import LowdimError

    try:
        return tuple(read(table, **options).messages)
    except CheckError as problem:
        return tuple(problem.messages)
    except LowdimError as problem:
        return (problem.message,) if isinstance(problem.message, Message) else ()
