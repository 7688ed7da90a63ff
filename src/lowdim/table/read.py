"""From a file, a frame or an array to a table that was understood and checked, or to new rows for an old model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lowdim.maths.linalg import Array, Mask, evenly_spread
from lowdim.storage.memory import free_memory
from lowdim.table import cells as cell
from lowdim.table import checks
from lowdim.table.cells import find_gap_codes
from lowdim.table.column import BOX, MOST_LABELS, Column, as_box, log_entries, log_words
from lowdim.table.detect import (
    GAP_CODES,
    LOOK_ROWS,
    NUMBER_GAP_CODES,
    SUBTOTALS,
    Guess,
    beginning,
    bottom_records,
    joined_names,
    lower_header,
    other_separators,
    second_table,
    without_types,
)
from lowdim.table.grades import declared_orders
from lowdim.table.open_file import Place, Raw, find_file, from_memory, read_binary, too_large
from lowdim.table.options import LISTS, ReadingOptions, asked_role, check_options, split_names
from lowdim.table.roles import assign_roles, check_name, check_names, give_roles, note_labels, unique_names
from lowdim.table.sheets import read_workbook
from lowdim.table.table import Table
from lowdim.table.text_file import read_text, separator_word
from lowdim.table.whole_table import what_it_holds
from lowdim.text.errors import CheckError
from lowdim.text.escape import protect_terminal, shown
from lowdim.text.fix import Fix, choices, propose
from lowdim.text.format import count, listing
from lowdim.text.label_match import label_places, unseen_labels
from lowdim.text.messages import Message, Messages, Notes, entry_of, error, message

MOST_GAPS = 20  # blank lines below which another table is looked for
MOST_REPEATS = 0.25  # of the rows that may be names again, or subtotals
MOST_LINES = 3  # times that further lines of a header are looked for
MOSTLY = 0.9  # of the cells of a column that are numbers where it is measured
MANY_VALUES = 0.45  # of the same, that are different where they are no codes
USED = "value in the columns that are used"
TABLE_MEMORY_SHARE = 0.8  # of the free memory that one table may use


def read(table: Any, **options: Any) -> Table:
    """Read a table from a file, a frame or an array, and check it.

    Separator, decimal sign, encoding, header and codes for gaps are guessed, and `guess` of the table says how; its
    `messages` list every change. What cannot be analysed raises `TableError` with a code and a fix.

    Parameters
    ----------
    table : path, frame, array or Table
        CSV and its kin (also packed: .gz, .bz2, .xz, .zip), Parquet, Arrow (Feather), .npy, .xlsx, .ods; pandas, polars
        or Arrow; anything that NumPy makes a two-dimensional array of. A Table is given back as it is.
    sep : str, default None
        Separator of a text file: one character, or "comma", "semicolon", "tab", "pipe", "space".
    decimal : {".", ","}, default None
        Decimal sign.
    encoding : str, default None
        Encoding of a text file.
    header : bool, default None
        Whether the first row holds the names.
    names : path or list of str, default None
        The names of the columns, or a file with one a line.
    na : str, number or list, default ()
        Further codes for gaps.
    sheet : str or int, default None
        Sheet of a workbook, by name or counted from 1.
    transpose : bool, default False
        Swap rows and columns.
    spread : str, default None
        Of a table in long form the column whose values become columns; what else is no measurement names the rows.
    sample : int, default None
        Read so many rows at most, spread over the file.
    memory : int or str, default None
        Bytes that may be used, or a size such as "2GB"; by default 0.8 of what is free.
    columns, drop, use, label, encode, log : list of str, default ()
        Columns to use alone, to leave out, to use as measurements whatever they look like, to keep as labels, to let
        shape the axes as categories, to take the logarithm of.
    id, time, weight : str, default None
        The column that names the rows, says when they were, or how often each counts.
    inf : {"error", "missing"}, default "error"
        What infinite cells are.
    below_limit : {"half", "zero", "limit"}, default None
        What cells such as "<0.05" are worth; by default half the limit in columns that mostly hold numbers.
    ranges : bool, default False
        Read ranges as their middle, 22-23 as 22.5, and numbers beside remarks as numbers: 65+, [98], 76 (+1).
    keep_copies : bool, default False
        Keep columns that repeat an earlier one.
    labelled_rows : bool, default False
        Keep rows that hold labels and no number, as a model of labels takes them; else they are left out.
    scale : {"unit", "none"}, default "unit"
        How an analysis will scale the columns; decides which notes make sense.
    strict : bool, default False
        Make every change an error.
    pairs : {"distances", "similarities"}, default None
        The table is square and its cells say how far its own rows are from each other, or how alike they are.
    no_log : bool, default False
        Analyse strongly skew columns as they are; by default an analysis takes them in logarithms where hidden cells
        are predicted better so. `log` names the columns itself, "gnp+2" adding 2 first.

    Returns
    -------
    Table

    Examples
    --------
    >>> t = read([[1, 2.5], [2, None], [4, 3.5], [3, 1.0]])
    >>> t.names, t.n, [m.code for m in t.messages]
    (('c1', 'c2'), 4, [])
    """
    if isinstance(table, Table):
        return table
    reading = check_options(options)
    raw = load_raw(table, reading)
    if reading.transpose:
        raw = transpose_raw(raw)
    raw = sample_raw(spread_raw(raw, reading.spread), reading.sample)
    notes = Notes(raw.name, raw.unit)
    notes.messages.extend(raw.notes)
    raw, names, blank = name_columns(raw, reading, notes)
    reading = check_names(reading, names)
    checks.refuse_width(names, len(raw.lines), reading)
    parsed, decimal, used = parse_columns(raw, names, reading, notes)
    place = Place(raw.name, raw.unit, raw.lines, reading.na)
    named = raw.names is not None or bool(raw.path)  # an array's maker calls all of it numbers
    coded = gaps_in_disguise(parsed, reading, place, notes) if named else ()
    if coded:
        parsed, used = [_recoded(c, coded) for c in parsed], (*used, *coded)
    columns = assign_roles(parsed, blank, reading, place, notes)
    notes.stop()
    holds = what_it_holds(columns, reading, place, notes)
    if named and holds == "measurements":
        columns = give_roles(columns, reading, place, notes, declared_orders(table))
    note_labels(columns, reading, notes)
    if holds == "measurements":
        work = check_numbers(columns, raw, reading, place, notes)
    else:  # each column is a row too: none is left out for what is in it
        work = checks.stacked(columns, len(raw.lines), reading, place, notes)
        checks.enough_rows(work, place, notes)
    notes.stop()
    hard = Messages(m._replace(severity="error") if m.severity == "changed" else m for m in notes.messages)
    if reading.strict and hard.errors:
        raise CheckError(hard)
    return Table(
        raw,
        columns,
        work,
        Messages(notes.messages),
        raw.guess._replace(decimal=decimal, na=used, units=tuple((c.name, c.unit) for c in parsed if c.unit)),
        reading.scale,
        {**options, "na": (*reading.na, *coded)} if coded else dict(options),
        holds,
    )


def load_raw(table: Any, reading: ReadingOptions) -> Raw:
    """The table before anything is decided."""
    if isinstance(table, Raw):
        return table
    if not isinstance(table, str | PathLike):
        return from_memory(table)
    memory = reading.memory if reading.memory is not None else int(TABLE_MEMORY_SHARE * free_memory())
    file = find_file(table, memory, reading.sample)
    if file.kind in ("xlsx", "ods"):
        raw = read_workbook(file, reading, memory)
    elif file.kind != "text":
        raw = read_binary(file, memory)
    else:
        raw = read_text(file.data, protect_terminal(file.path.name), reading, "CSV")
        need = 8 * 3 * len(raw.lines) * len(raw.cells)
        if need > memory:
            raise too_large(raw.name, file.size, need, memory)
    whole = file.kind != "text" or len(file.data) >= file.size
    if raw.names is not None and not reading.transpose:
        raw = without_strangers(lower_headers(raw, reading.names is not None))
    return raw._replace(path=str(file.path), sha256=file.sha256, unit=raw.unit if whole else "sampled line")


def lower_headers(raw: Raw, named: bool) -> Raw:
    """The table without further lines of its header: names below those of groups, types, units."""
    if raw.names is not None and (bare := without_types(raw.names)) != raw.names and not named:
        what, why = "The names begin with the types of the columns, which were left out", "so Orange writes them"
        note = message("LD018", f"{raw.name}: {listing(raw.names)}", what=what, why=why, fix="or leave the types out")
        raw = raw._replace(names=bare, heads=(raw.names,), notes=(*raw.notes, note))
    for _ in range(MOST_LINES):
        if raw.names is None or len(raw.lines) < 2 or any(cell.is_textual(column) is None for column in raw.cells):
            return raw
        rows = _records(raw, slice(0, LOOK_ROWS))
        under, kind = lower_header(raw.names, rows)
        if not under or (_comes_again(under[-1], raw.cells, len(under)) and kind != "survey"):
            return raw
        names = None if named else raw.names
        for at, line in enumerate(under if names else ()):
            names = names and joined_names(names, line, sure=at > 0)
        k, first = len(under), int(raw.lines[0])
        if kind == "types":
            names = None
        if names is None:
            pairs = [f"{name} {shown(unit)}" for name, unit in zip(raw.names, under[0], strict=True) if unit]
            what = f"{raw.unit.capitalize()} {first} stands between the names and the numbers and was left out"
            why = "it holds words wherever the columns hold numbers, as a line of units does"
            fix = "if it is a row of data, leave its words empty"
            if k > 1:
                lines = f"{raw.unit.capitalize()}s {first} to {raw.lines[k - 1]}"
                what = f"{lines} say what the columns are and were left out"
                why = "such lines hold types and roles, no measurements"
        else:
            pairs = [shown(name) for name in names]
            what = f"The names stand in {k + 1} {raw.unit}s, {first - 1} to {raw.lines[k - 1]}, and were joined"
            why = "the upper ones name groups of columns"
            fix = "or write each name in one cell of the first"
        raw = raw._replace(
            cells=[column.slice(k) for column in raw.cells],
            lines=raw.lines[k:],
            names=names or raw.names,
            heads=(*(raw.heads or (raw.names,)), *under),
            notes=(*raw.notes, message("LD018", f"{raw.name}: {listing(pairs)}", what=what, why=why, fix=fix)),
        )
    return raw


def _records(raw: Raw, rows: slice) -> list[list[str]]:
    """Some rows of a table of text."""
    texts = [cell.as_text(cell.is_textual(column)[rows]).to_pylist() for column in raw.cells]
    return [list(row) for row in zip(*texts, strict=True)]


def without_strangers(raw: Raw) -> Raw:
    """The table without what is no row of it: another table below, footnotes, totals, and the names again."""
    if raw.names is None or not len(raw.lines) or any(cell.is_textual(column) is None for column in raw.cells):
        return raw
    gaps = (np.flatnonzero(np.diff(raw.lines) > 1) + 1).tolist()
    if gaps and len(gaps) <= MOST_GAPS:
        last, at = gaps[-1] + 1, None
        if last <= LOOK_ROWS * MOST_GAPS:
            rows, names = _records(raw, slice(0, last)), [name.strip() for name in raw.names]
            at = second_table(rows, [k for k in gaps if rows[k] != names])  # the same names begin another page of it
        if at is not None:
            note = message(
                "LD019", f"{raw.name}, {raw.unit} {raw.lines[at]} on", n=len(raw.lines) - at, what="another table"
            )
            kept = [column.slice(0, at) for column in raw.cells]
            raw = raw._replace(cells=kept, lines=raw.lines[:at], notes=(*raw.notes, note))
    rows = _records(raw, slice(max(0, len(raw.lines) - LOOK_ROWS), len(raw.lines)))
    below = bottom_records(rows)
    if below:
        said = [shown(next(filter(None, row))) for row in rows[-below:] if any(row)]
        where = f"{raw.name}, {raw.unit} {raw.lines[-below]} on: {listing(said)}"
        note = message("LD019", where, n=len(said), what="a total, a mean or a remark")
        kept = [column.slice(0, len(column) - below) for column in raw.cells]
        raw = raw._replace(cells=kept, lines=raw.lines[:-below], notes=(*raw.notes, note))
    return _without_repeats(raw)


def _without_repeats(raw: Raw) -> Raw:
    """The table without lines that hold the names once more, and those of subtotals."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [cell.as_text(cell.is_textual(column)) for column in raw.cells]
    names = [name.strip() for name in raw.names or []]
    again = np.ones(len(raw.lines), dtype=bool)
    for text, name in zip(texts, names, strict=True):
        again &= pc.equal(text, name).to_numpy(zero_copy_only=False)
        if not again.any():
            break
    parts = cell.is_code(pc.utf8_rtrim(pc.utf8_lower(texts[0]), ": "), SUBTOTALS)
    notes, keep = list(raw.notes), np.ones(len(raw.lines), dtype=bool)
    for mask, what in ((again & any(names), "the names again"), (parts & ~again, "a subtotal")):
        if 0 < mask.sum() <= MOST_REPEATS * len(mask):
            lines = [str(line) for line in raw.lines[mask]]
            notes.append(message("LD019", f"{raw.name}, {raw.unit} {listing(lines, 5)}", n=len(lines), what=what))
            keep &= ~mask
    if keep.all():
        return raw
    kept = [column.filter(pa.array(keep)) for column in raw.cells]
    return raw._replace(cells=kept, lines=raw.lines[keep], notes=tuple(notes))


def _comes_again(row: list[str], columns: list[Any], after: int) -> bool:
    """Whether a cell of a row stands anywhere below it, as no unit does."""
    import pyarrow.compute as pc

    texts = (cell.as_text(cell.is_textual(column.slice(after))) for column in columns)
    pairs = ((word, text) for word, text in zip(row, texts, strict=True) if word not in GAP_CODES + NUMBER_GAP_CODES)
    return any(pc.any(pc.equal(text, word)).as_py() for word, text in pairs)


def transpose_raw(raw: Raw) -> Raw:
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


def spread_raw(raw: Raw, item: str | None) -> Raw:
    """A table in long form as one in wide form: a column for each value of `item`, a row for what else is no
    measurement. Where no `item` is asked for the table is what it was.

    What is measured are the columns of numbers with fractions or with many values; else the last column of numbers.
    """
    import pyarrow as pa

    if item is None:
        return raw
    names = unique_names(raw.names, len(raw.cells), Notes(raw.name, raw.unit))
    check_name(item, "spread", names)
    texts = [None if (text := cell.is_textual(column)) is None else cell.as_text(text) for column in raw.cells]
    read_so = [
        cell.typed_cells(name, j + 1, column) if text is None else cell.text_column(name, j + 1, column, ())[0]
        for j, (name, column, text) in enumerate(zip(names, raw.cells, texts, strict=True))
    ]
    numbers = [c for c in read_so if c.name != item and c.good >= MOSTLY * c.seen > 0]
    measured = [c.position - 1 for c in [c for c in numbers if _is_measured(c.values)] or numbers[-1:]]
    at = names.index(item)
    keys = [j for j in range(len(names)) if j not in (at, *measured)]
    words = [(column if text is None else text).to_pylist() for column, text in zip(raw.cells, texts, strict=True)]
    units, items = dict[tuple[Any, ...], int](), dict[str, int]()
    places = [
        (units.setdefault(key, len(units)), items.setdefault(str(one), len(items)))
        for key, one in zip(zip(*(words[j] for j in keys), strict=True), words[at], strict=True)
    ]
    if not measured or not keys or len(set(places)) < len(places):
        twice = f"{len(places) - len(set(places)):,} rows are of a pair that is there already"
        problem = twice if measured and keys else "there is no column of numbers, or none that names the rows"
        raise error("LD021", raw.name, item=item, problem=problem)
    if (need := 24 * len(units) * len(items) * len(measured)) > (memory := int(TABLE_MEMORY_SHARE * free_memory())):
        raise too_large(raw.name, need // 3, need, memory, shape=f", {len(units):,} x {len(items):,} once spread")
    rows = np.full((len(units), len(items)), -1, dtype=np.int64)
    rows[tuple(np.array(places).T)] = np.arange(len(places))
    first = np.zeros(len(units), dtype=np.int64)
    first[[unit for unit, _ in reversed(places)]] = np.arange(len(places))[::-1]
    kept, wide = [raw.cells[j].take(pa.array(first)) for j in keys], list[Any]()
    for j in measured:
        wide += [raw.cells[j].take(pa.array(rows[:, k], mask=rows[:, k] < 0)) for k in range(len(items))]
    called = [one if len(measured) == 1 else f"{one} {names[j]}" for j in measured for one in items]
    lines = np.arange(1, len(units) + 1)
    return raw._replace(
        cells=kept + wide, names=[*(names[j] for j in keys), *called], lines=lines, unit="row", index=None
    )


def _is_measured(values: Array) -> bool:
    """Whether numbers have fractions or many values."""
    seen = values[~np.isnan(values)]
    return len(np.unique(seen)) > MANY_VALUES * len(seen) or bool((seen != np.round(seen)).any())


def sample_raw(raw: Raw, most: int | None) -> Raw:
    """At most so many rows, spread evenly."""
    n = len(raw.lines)
    if most is None or n <= most:
        return raw
    rows = evenly_spread(n, most)
    index = None if raw.index is None else raw.index[rows]
    return raw._replace(cells=[column.take(rows) for column in raw.cells], lines=raw.lines[rows], index=index)


def name_columns(raw: Raw, reading: ReadingOptions, notes: Notes) -> tuple[Raw, list[str], set[int]]:
    """Names from the options or the file, and the positions of columns whose header is empty."""
    header, width = raw.names, len(raw.cells)
    while header and width and not header[width - 1].strip() and _hollow(raw.cells[width - 1]):
        width -= 1  # every line ends with a separator
    header, raw = header and header[:width], raw._replace(cells=raw.cells[:width])
    blank = {j + 1 for j, name in enumerate(header or []) if not name.strip()}
    if reading.names is not None:
        header = _names_from(reading.names)
        if len(header) != len(raw.cells):
            raise error("LD106", got=len(header), want=len(raw.cells))
        source = protect_terminal(Path(reading.names).name) if isinstance(reading.names, str | PathLike) else "a list"
        raw = raw._replace(guess=raw.guess._replace(names=source))
    return raw, unique_names(header, len(raw.cells), notes), blank


def _hollow(column: Any) -> bool:
    text = cell.is_textual(column)
    return text is not None and bool(cell.is_code(cell.as_text(text), GAP_CODES).all())


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


def parse_columns(
    raw: Raw, names: list[str], reading: ReadingOptions, notes: Notes
) -> tuple[list[cell.ColumnCells], str, tuple[str, ...]]:
    """Every column's cells as numbers, gaps, dates or text; the decimal sign; the codes for gaps that occurred."""
    codes = reading.na
    parsed, slow, units = list[cell.ColumnCells](), dict[int, cell.DecimalEvidence](), dict[str, str]()
    texts = {j: text for j, column in enumerate(raw.cells) if (text := cell.is_textual(column)) is not None}
    plain = cell.plain_columns(texts, codes)
    for j, (name, column) in enumerate(zip(names, raw.cells, strict=True)):
        text = texts.get(j)
        if text is None or j in plain:
            parsed.append(plain[j]._replace(name=name) if j in plain else cell.typed_cells(name, j + 1, column))
            continue
        numeric = asked_role(name, reading) in ("", "number", "weight")
        unit = reading.units.get(name, "")
        cells, enough, units[name] = cell.text_column(name, j + 1, text, codes, units=numeric, unit=unit)
        parsed.append(cells)
        if not enough and name not in reading.drop:
            slow[j] = cell.decimal_evidence(cells.text, cells.gap)
    if any(e.comma or e.either or e.groups for e in slow.values()) or reading.decimal == ",":
        for j, c in enumerate(parsed):  # only now is it worth asking the plain columns about their points
            if j not in slow and c.text is not None:
                slow[j] = cell.decimal_evidence(c.text, c.gap)
    signs = {names[j]: slow[j] for j in sorted(slow)}
    decimal, assumed = cell.decide_decimal(signs, reading.decimal, raw.guess.sep)
    if assumed:
        notes.add("LD112", f"columns {listing(assumed.pop('columns'))}", **assumed)
    for j, evidence in slow.items():
        read_so = cell.slow_numbers(parsed[j], decimal, evidence, reading.below_limit or "half")
        if reading.below_limit is None and 2 * (read_so.good - read_so.below) < read_so.seen:  # hardly a number else
            read_so = cell.slow_numbers(parsed[j], decimal, evidence)
        parsed[j] = read_so
        if reading.ranges:
            parsed[j] = cell.rough_numbers(parsed[j], decimal)
    wanted = [c for c in parsed if asked_role(c.name, reading) in ("", "number") and c.good >= 0.5 * c.seen]
    _note_signs("LD118", {name: example for name, example in units.items() if example}, len(wanted), notes)
    below = [c for c in wanted if c.below]
    if below and reading.below_limit is None:
        where = listing([f"{c.name} ({c.below})" for c in below])
        ways = [("as zero", propose(below_limit="zero")), ("as the limit", propose(below_limit="limit"))]
        facts = {"n": sum(c.below for c in below), "columns": count(len(below), "column")}
        notes.add("LD128", where, **facts, fix=choices(ways))
    _note_signs("LD114", {c.name: c.grouped for c in wanted if c.grouped}, len(wanted), notes)
    seen = _codes_seen(parsed)
    return [_recoded(c, codes) for c in parsed] if codes else parsed, decimal, seen


def gaps_in_disguise(
    parsed: list[cell.ColumnCells], reading: ReadingOptions, place: Place, notes: Notes
) -> tuple[str, ...]:
    """Numbers such as -999 that can only stand for gaps, each noted; `--use` of their column calls them measured."""
    numbers = {c.name: c.values for c in parsed if c.good and not c.bad.any() and c.name not in reading.drop}
    codes = [code for code in find_gap_codes(numbers) if code.sure and not {*code.columns} & {*reading.use}]
    for code in codes:
        text, first = f"{code.value:.15g}", code.columns[0]
        row = int(np.argmax(numbers[first] == code.value))
        ways = [("say so", propose(na=[text])), ("it is a number", propose(use=list(code.columns)))]
        notes.add(
            "LD157",
            f"e.g. {first}: {place.unit} {place.lines[row]}",
            value=text,
            times=f"{code.times:,} times",
            columns=count(len(code.columns), "column"),
            names=listing(code.columns, 10),
            fix=choices(ways),
        )
    return tuple(f"{code.value:.15g}" for code in codes)


def _recoded(c: cell.ColumnCells, codes: tuple[str, ...]) -> cell.ColumnCells:
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


def _note_signs(code: str, examples: dict[str, str], numbers: int, notes: Notes) -> None:
    """What was taken out of cells before they were numbers, with an example of each column."""
    if examples:
        names = listing([f"{name} ({shown(example)})" for name, example in examples.items()])
        spare = list(examples)[: max(0, numbers - 2)]  # two columns of numbers have to be left
        notes.add(
            code,
            names,
            what=count(len(examples), "column"),
            fix=Fix("keep as label:  ", propose(label=spare)) if spare else "",
        )


def _codes_seen(parsed: list[cell.ColumnCells]) -> tuple[str, ...]:
    """The codes for gaps that occurred, beside the empty cell."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes: dict[str, None] = {}
    for c in parsed:
        if c.text is not None and c.gap.any() and len(codes) < 20:
            codes.update(dict.fromkeys(pc.unique(c.text.filter(pa.array(c.gap))).to_pylist()))
    return tuple(code for code in codes if code)


def check_numbers(
    columns: list[Column], raw: Raw, reading: ReadingOptions, place: Place, notes: Notes
) -> checks.Numbers:
    """The numbers after every check; errors are raised, changes made and noted."""
    work = checks.stacked(columns, len(raw.lines), reading, place, notes)
    checks.enough_rows(work, place, notes)
    labelled = np.zeros(len(work.X), dtype=bool)  # rows that are kept for labels that rows with numbers have too
    for c in columns if reading.labelled_rows else ():
        if c.role == "label" and not c.date and 2 <= len(c.labels) <= MOST_LABELS:
            labelled |= np.isin(c.values, np.unique(c.values[~np.isnan(work.X).all(axis=1)]))
    work = checks.empty_rows(checks.empty(work, place, notes), labelled, place, notes)
    checks.enough_rows(work, place, notes)
    work = checks.copies(checks.constant(work, place, notes), reading, notes)
    if raw.names is not None or raw.path:
        work = checks.made_of_others(checks.nearly_empty(work, reading, notes), reading, notes)
    if work.columns and not reading.labelled_rows:  # else what was left out may tell what a row is
        work = checks.empty_rows(work, labelled, place, notes, USED)
    if reading.log:
        work = checks.logs(work, reading, place)
    if len(work.columns) < 2:
        checks.too_few_columns(len(work.columns), columns, _better_separator(raw, reading), place, notes)
    notes.stop()
    return checks.remarks(checks.without_negatives(work, reading, place, notes), columns, reading, place, notes)


def _better_separator(raw: Raw, reading: ReadingOptions) -> str:
    """A separator that would give more columns, as a flag names it; nothing if there is none."""
    if reading.sep is None or not raw.guess.encoding or len(raw.cells) > 1:
        return ""
    text = "\n".join([*(raw.names or []), *(str(v) for v in raw.cells[0][:100].to_pylist())])
    others = other_separators(beginning(text.encode()), reading.sep)
    return separator_word(others[0]) if others else ""


# new rows ------------------------------------------------------------------------------------------
class NewTableRows(NamedTuple):
    """The cells of new rows in the order of a model's columns, gaps where the table lacks one."""

    X: Array
    row_names: tuple[str, ...]
    absent: tuple[str, ...]  # columns of the model that the table lacks
    unknown: tuple[str, ...]  # columns of numbers that the model does not know
    messages: Messages
    strange: Mask  # cells of labels that the model does not know: to it they are gaps, and no gaps to fill
    index: Any = None  # of a frame
    guess: Guess = Guess("array")  # how the table was read


def read_rows(
    table: Any, wanted: tuple[str, ...], labels: Sequence[Sequence[Any]] = (), **options: Any
) -> NewTableRows:
    """Read new rows for an old model: its columns are what they were, whatever they look like; no row is left out.

    Parameters
    ----------
    table : path, frame, array or Table
        As for `read`; one row is enough.
    wanted : tuple of str
        The columns of the model. An array of as many columns is taken by position, all else by name.
    labels : sequence of sequences of labels
        What the codes of each of these columns stand for, () where they are numbers; of no column where not given.
    **options
        Those of `read`, as far as the table has the columns that they name; and `units`, the unit that the cells of a
        column had in the model's own table, {"crp": "mg/L"}: cells with it and without are numbers, however few.

    Returns
    -------
    NewTableRows

    Examples
    --------
    >>> read_rows(np.array([[1.0, 2.0]]), ("c2", "c1", "c9")).X
    array([[ 2., 1., nan]])
    """
    known = dict(zip(wanted, labels or ((),) * len(wanted), strict=True))
    if isinstance(table, Table):
        found = _placed(list(table.columns), known, table.row_names, table.messages)
        return found._replace(index=table.index, guess=table.guess)
    reading = check_options(options)
    raw = load_raw(table, reading)
    raw = spread_raw(transpose_raw(raw) if reading.transpose else raw, reading.spread)
    return new_rows_of(raw, known, reading)


def new_rows_of(raw: Raw, known: Mapping[str, Sequence[Any]], reading: ReadingOptions) -> NewTableRows:
    """The same of a table that is read already, or of some of its rows; `known` has the labels of each column."""
    notes = Notes(raw.name, raw.unit)
    notes.messages.extend(raw.notes)
    if raw.names is None and not raw.path and reading.names is None and len(raw.cells) == len(known):
        raw = raw._replace(names=list(known))  # an array has no names: its columns are the model's, in order
    raw, names, blank = name_columns(raw, reading, notes)
    reading = _here(reading, names, known)
    parsed, _, _ = parse_columns(raw, names, reading, notes)
    place = Place(raw.name, raw.unit, raw.lines, reading.na)
    columns = assign_roles(parsed, blank, reading, place, notes)
    notes.stop()
    work = checks.logs(checks.stacked(columns, len(raw.lines), reading, place, notes), reading, place)
    notes.stop()
    numbers = [c._replace(values=work.X[:, j]) for j, c in enumerate(work.columns)]
    messages = Messages(m for m in notes.messages if not entry_of(m).once)
    named = next((c.values for c in columns if c.role == "id"), raw.index)
    plain = named is None or type(named).__name__ == "RangeIndex"
    rows = tuple(str(k + 1) if plain or named[k] is None else str(named[k]) for k in range(len(raw.lines)))
    labels = [c for c in columns if c.role == "label"]
    return _placed([*numbers, *labels], known, rows, messages)._replace(index=raw.index, guess=raw.guess)


def _here(reading: ReadingOptions, names: list[str], known: Mapping[str, Sequence[Any]]) -> ReadingOptions:
    """The options of the first table as far as this one has the columns they name; labels are read as labels."""
    here: dict[str, Any] = {option: tuple(n for n in getattr(reading, option) if n in names) for option in LISTS}
    here["log"] = log_words({n: c for n, c in log_entries(reading.log, list(known)).items() if n in names})
    single = {
        role: getattr(reading, role) if getattr(reading, role) in names else None for role in ("id", "time", "weight")
    }
    worded = tuple(name for name, labels in known.items() if labels and name in names)
    here["label"], here["encode"] = (*here["label"], *here["encode"], *worded), ()
    aside = {*here["label"], *here["drop"], *single.values()}
    here["use"] = tuple(name for name in known if name in names and name not in aside)
    return reading._replace(**{**here, **single, "columns": ()})


def _placed(
    columns: list[Column], known: Mapping[str, Sequence[Any]], rows: tuple[str, ...], messages: Messages
) -> NewTableRows:
    """Cells in the order of the model's columns, each a number or the code of the model's own label."""
    wanted = tuple(known)
    here = {c.name: c for c in columns if c.values.dtype.kind == "f" and (bool(known.get(c.name)) or not c.labels)}
    absent = tuple(name for name in wanted if name not in here)
    if len(absent) == len(wanted):
        raise error(
            "LD220",
            got=len(here),
            want=len(wanted),
            model="the map",
            missing=f"; none of its columns is one of {listing(wanted, 10)}",
        )
    X, strange = np.full((len(rows), len(wanted)), np.nan), np.zeros((len(rows), len(wanted)), dtype=bool)
    said = list[Message]()
    for j, (name, labels) in enumerate(known.items()):
        if name not in here:
            continue
        X[:, j] = here[name].values
        if labels:  # by the codes of the model's labels
            box = tuple(labels) == BOX != here[name].labels  # whatever stands in a cell ticks it
            words = (as_box(here[name]) if box else here[name]).words
            own = tuple(sorted({v for v in words if v is not None}))
            places = [np.nan if k is None else float(k) for k in label_places(own, labels)]
            code = dict(zip(own, places, strict=True))
            X[:, j] = [code.get(v, np.nan) for v in words]
        strange[:, j] = np.isnan(X[:, j]) & ~here[name].gaps
        if strange[:, j].any():
            found: dict[str, list[str]] = {}
            for i in np.flatnonzero(strange[:, j]).tolist():
                found.setdefault(words[i], []).append(rows[i])
            said.append(unseen_labels(name, found, labels))
    unknown = tuple(c.name for c in columns if c.role == "number" and c.name not in wanted)
    return NewTableRows(X, rows, absent, unknown, Messages([*messages, *said]), strange)
