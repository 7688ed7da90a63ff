"""What each column is for: a number that shapes axes, a label, the name or time of a row, a weight, or nothing."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.math.linalg import Array, Mask
from lowdim.table.cells import DAY_NUMBERS, LIMIT_TEXT, ColumnCells, dates, is_code, matches
from lowdim.table.detect import GAP_CODES
from lowdim.table.notes import Notes
from lowdim.table.options import ReadingOptions, join_names
from lowdim.text.escape import protect_terminal
from lowdim.text.format import all_digits, count, listing
from lowdim.text.messages import error

NUMBER_SHARE = 0.5  # a column of which this share is numbers is meant as numbers
RUNNING_ROWS = 5  # rows from which 1, 2, 3, ... is a running number and not a measurement
MOST_LABELS = 50  # columns that one encoded column may become
MOST_CODES = 8  # codes that a fix lists
ID_NAME = re.compile(r"(.*[_. -])?(id|index|idx|row|rownames?|nr|no|number|obs|sample|unnamed: 0)|", re.I)


class Column(NamedTuple):
    """A column of a table: its role is number, label, id, time, weight or out."""

    name: str
    role: str
    values: NDArray[Any]
    position: int  # in the file, counted from 1
    note: str = ""  # in words, for people
    log: bool = False  # its values are logarithms of those in the file
    encoded: bool = False  # zeros and ones made from a label
    date: bool = False  # a label that is a date


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


def unique_names(given: list[str] | None, width: int, notes: Notes) -> list[str]:
    """Names without control characters, none empty, none twice; repeats are numbered."""
    found = [protect_terminal(name).strip() for name in given] if given is not None else [""] * width
    names = [name or f"c{j + 1}" for j, name in enumerate(found)]
    taken, used, result = set(names), set[str](), list[str]()
    for name in names:
        new, k = name, 1
        while new in used or (k > 1 and new in taken):
            k += 1
            new = f"{name}.{k}"
        used.add(new)
        result.append(new)
    for name, times in Counter(names).items():
        if times > 1:
            same = [r for r, n in zip(result, names, strict=True) if n == name]
            notes.add(
                "LD140", column=name, count=times, names=listing(same), fix="give names of your own:  --names names.txt"
            )
    return result


def check_names(options: ReadingOptions, names: list[str]) -> ReadingOptions:
    """The options with every column they name found in the table, or an error that proposes the nearest."""
    found: dict[str, Any] = {}
    for option in ("columns", "drop", "number", "label", "encode", "log"):
        found[option] = _whole(getattr(options, option), names)
        for name in found[option]:
            _check_name(name, option, names)
    for option in ("id", "time", "weight"):
        if getattr(options, option) is not None:
            _check_name(getattr(options, option), option, names)
    return options._replace(**found)


def _whole(asked: tuple[str, ...], names: list[str]) -> tuple[str, ...]:
    """A name that holds commas was split; where only the whole is a column, it is meant."""
    joined = ",".join(asked)
    return (joined,) if len(asked) > 1 and joined in names else asked


def _check_name(name: str, option: str, names: list[str]) -> None:
    if name in names:
        return
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    flag = f"--{option}"
    fix = f"did you mean  {flag} {join_names(near)}" if near else f"the columns are: {listing(names, 10)}"
    raise error("LD103", column=protect_terminal(name), option=flag, fix=fix)


def assign_roles(
    columns: list[ColumnCells], blank: set[int], options: ReadingOptions, place: Place, notes: Notes
) -> list[Column]:
    """Every column with its role; what was set aside is noted, what cannot be is an error."""
    found: list[Column] = []
    labels: list[Column] = []
    free = {role for role in ("id", "time") if getattr(options, role) is None}  # each is given once
    for c in columns:
        role = asked_role(c.name, options)
        column = _asked(c, role, place, notes) if role else guessed(c, c.position in blank, free, place, notes)
        found.extend(column if isinstance(column, list) else [column])
        if not role:
            free.discard(found[-1].role)
        if not role and found[-1].role == "label":
            labels.append(found[-1])
    _note_labels([c for c in labels if not c.date], notes)
    return found


def asked_role(name: str, options: ReadingOptions) -> str:
    """The role the caller asked for; nothing where none was."""
    single = {"id": options.id, "time": options.time, "weight": options.weight}
    asked = [role for role, column in single.items() if column == name]
    if name in options.drop:
        return "out"
    if asked:
        return asked[0]
    for role, names in (("label", options.label), ("encode", options.encode), ("number", options.number)):
        if name in names:
            return role
    if options.columns:
        return "number" if name in options.columns else "out"
    return ""


def _asked(c: ColumnCells, role: str, place: Place, notes: Notes) -> Column | list[Column]:
    if role == "encode":
        return encoded(c, place)
    if role == "number":
        _must_be_number(c, place, notes)
        return Column(c.name, "number", c.values, c.position)
    if role == "weight":
        wrong = c.bad | ~np.isfinite(c.values) | (c.values < 0)
        if wrong.any():
            notes.add(
                "LD230.table",
                place.cell(c, int(np.argmax(wrong))),
                column=c.name,
                problem="a gap, negative or not a number",
            )
        elif len(c.values) and not c.values.any():
            notes.add("LD230.table", place.name, column=c.name, problem="all weights are zero")
        return Column(c.name, role, c.values, c.position)
    if role == "time":
        return Column(c.name, role, time_values(c), c.position)
    return Column(c.name, role, label_values(c, place.codes), c.position, "left out as asked" * (role == "out"))


def guessed(c: ColumnCells, blank: bool, free: set[str], place: Place, notes: Notes) -> Column:
    """The role a column has by what its cells are; `free` are the roles that no column has yet."""
    if c.nested:
        notes.add(
            "LD117",
            f"{place.name}, column {c.position}",
            column=c.name,
            type=c.nested,
            fix=f"leave it out:  --drop {join_names([c.name])}",
        )
        return Column(c.name, "out", np.full(len(c.gap), None, dtype=object), c.position, "not usable")
    when = c.dates if c.dates is not None else _dates(c)
    if when is not None and c.seen:
        return _dated(c, when, "time" in free, place, notes)
    if not c.bad.any():
        if "id" in free and (why := _running(c, blank)):
            notes.add(
                "LD180",
                f"{place.name}, column {c.position}",
                column=c.name,
                what=why,
                fix=f"use it as a number:    --number {join_names([c.name])}\n"
                f"it is a name, say so:  --id {join_names([c.name])}",
            )
            return Column(c.name, "id", label_values(c, place.codes), c.position)
        return Column(c.name, "number", c.values, c.position)
    if c.good >= NUMBER_SHARE * c.seen and c.good:
        _almost(c, place, notes)
        return Column(c.name, "number", c.values, c.position)
    values = label_values(c, place.codes)
    if "id" in free and len(values) >= 3 and None not in values and len(set(values)) == len(values):
        notes.add(
            "LD180",
            f"{place.name}, column {c.position}, e.g. {c.example(0)}",
            column=c.name,
            what="is different in every row",
            fix=f"use it as a label:     --label {join_names([c.name])}\n"
            f"it is a name, say so:  --id {join_names([c.name])}",
        )
        return Column(c.name, "id", values, c.position)
    return Column(c.name, "label", values, c.position)


def _dates(c: ColumnCells) -> NDArray[np.datetime64] | None:
    """Dates written as text, or as whole numbers such as 20010601."""
    import pyarrow as pa

    if c.text is not None:
        if c.bad.any() and not c.bad[~c.gap].all():
            return None  # some are numbers: 1.2.2024 is not among them
        if not c.bad.any() and not (_like_days(c) and (matches(c.text, DAY_NUMBERS) | c.gap).all()):
            return None
        return dates(c.text, c.gap)
    if c.bad.any() or not _like_days(c):
        return None
    text = pa.array(np.where(c.gap, 0, c.values).astype(np.int64)).cast(pa.string())
    return dates(text, c.gap)


def _like_days(c: ColumnCells) -> bool:
    """Whether all numbers are whole and could be days such as 20010601."""
    seen = c.values[~c.gap]
    return len(seen) > 0 and bool(seen.min() >= 19000101 and seen.max() <= 20991231) and _whole_numbers(seen)


def _whole_numbers(values: Array) -> bool:
    return bool((np.abs(values) < 2**53).all() and (values == np.round(values)).all())


def _dated(c: ColumnCells, when: NDArray[np.datetime64], free: bool, place: Place, notes: Notes) -> Column:
    flag = join_names([c.name])
    keep = f"it is, say so:  --time {flag}" if free else f"it is, say so:  --label {flag}"
    where = place.column(c, int(np.argmax(~c.gap))) if c.text is not None else f"{place.name}, column {c.position}"
    notes.add(
        "LD181",
        where,
        column=c.name,
        role="the time of each row" if free else "a label",
        fix=f"leave it out:   --drop {flag}\n{keep}",
    )
    if free:
        return Column(c.name, "time", when, c.position)
    words = when.astype(str).astype(object)
    words[c.gap] = None
    return Column(c.name, "label", words, c.position, "date", date=True)


def _running(c: ColumnCells, blank: bool) -> str:
    """Why a column of numbers is the name of the rows; nothing if it is not."""
    v = c.values
    if len(v) < 3 or c.gap.any() or not _whole_numbers(v):
        return ""
    if len(v) >= RUNNING_ROWS and (np.diff(v) == 1).all():
        return "counts the rows"
    named = blank or (ID_NAME.fullmatch(c.name) is not None and c.name != "")
    return "is called an id and is different in every row" if named and len(np.unique(v)) == len(v) else ""


def time_values(c: ColumnCells) -> NDArray[Any]:
    """Dates where they are, else numbers, else text."""
    when = c.dates if c.dates is not None else _dates(c)
    if when is not None:
        return when
    return c.values if not c.bad.any() else label_values(c, ())


def label_values(c: ColumnCells, codes: tuple[str, ...]) -> NDArray[Any]:
    """A column as labels: text, None where there is none. "none" and "-" are labels too."""
    found = np.empty(len(c.gap), dtype=object)
    if c.text is not None:
        found[:] = c.text.to_pylist()
        found[is_code(c.text, GAP_CODES + codes)] = None
    elif c.dates is not None:
        found[:] = c.dates.astype(str).astype(object)
        found[c.gap] = None
    else:
        found[:] = [None if gap else all_digits(v) for v, gap in zip(c.values, c.gap, strict=True)]
    return found


def encoded(c: ColumnCells, place: Place) -> list[Column]:
    """A label as columns of zeros and ones, one a value; two values need one column."""
    values = label_values(c, place.codes)
    levels = sorted({v for v in values if v is not None})
    if len(levels) > MOST_LABELS:
        raise error(
            "LD115",
            f"{place.name}, column {c.position}",
            column=c.name,
            count=len(levels),
            most=MOST_LABELS,
            flag=join_names([c.name]),
        )
    gap: Mask = np.array([v is None for v in values], dtype=bool)
    used = levels[1:] if len(levels) == 2 else levels
    return [
        Column(
            protect_terminal(f"{c.name}={level}"),
            "number",
            np.where(gap, np.nan, (values == level) * 1.0),
            c.position,
            "encoded",
            encoded=True,
        )
        for level in used
    ]


def _must_be_number(c: ColumnCells, place: Place, notes: Notes) -> None:
    if not c.bad.any():
        return
    if c.good >= NUMBER_SHARE * c.seen and c.good:
        _almost(c, place, notes)
        return
    flag = join_names([c.name])
    fixes = [("leave it out", "drop")]
    if c.dates is not None or _dates(c) is not None:
        fixes.append(("use it as time", "time"))
    elif not c.nested:
        fixes += [("use it as label", "label"), ("one column a value", "encode")]
        if len(set(label_values(c, place.codes))) > MOST_LABELS:
            fixes.pop()
    wide = max(len(words) for words, _ in fixes) + 1
    notes.add(
        "LD104.table",
        place.column(c, int(np.argmax(c.bad))),
        column=c.name,
        fix="\n".join(f"{words + ':':<{wide}}  --{option} {flag}" for words, option in fixes),
    )


def _almost(c: ColumnCells, place: Place, notes: Notes) -> None:
    rows = np.flatnonzero(c.bad)
    where = f"column {c.position}, " + listing([place.cell(c, int(row)) for row in rows[:1000]], 5)
    if len(rows) > 1000:
        where = where.rpartition(" and ")[0] + f" and {len(rows) - 5:,} more"
    notes.add("LD111", where, column=c.name, good=f"{c.good:,}", seen=f"{c.seen:,}", fix=_almost_fix(c, rows, place))


def _almost_fix(c: ColumnCells, rows: NDArray[np.intp], place: Place) -> str:
    texts = list(dict.fromkeys(c.text[int(row)].as_py() for row in rows))
    plain = len(texts) <= MOST_CODES and all(protect_terminal(t) == t and len(t) <= 40 for t in texts)
    rest = [t for t in texts if not LIMIT_TEXT.fullmatch(t)]
    fixes = []
    if plain:
        fixes.append(("treat as gaps", f"--na {join_names(texts)}"))
        if len(rest) < len(texts):
            more = f" --na {join_names(rest)}" if rest else ""
            fixes.append(("treat as half the limit", f"--below-limit half{more}"))
    if place.lines[rows[0]] == 1 and len(rows) == 1:
        fixes.append(("line 1 holds names", "--header"))
    fixes.append(("keep it as a label", f"--label {join_names([c.name])}"))
    wide = max(len(words) for words, _ in fixes) + 1
    return "\n".join(f"{words + ':':<{wide}}  {flags}" for words, flags in fixes)


def _note_labels(labels: Iterable[Column], notes: Notes) -> None:
    labels = list(labels)
    if not labels:
        return
    names, one = [c.name for c in labels], len(labels) == 1
    flag = join_names([next((c.name for c in labels if len(set(c.values)) <= MOST_LABELS), names[0])])
    few = [c for c in labels if len(set(c.values)) <= MOST_LABELS]
    encode = f"use as categories:  --encode {flag}\n" if few else ""
    notes.add(
        "LD110",
        what=f"{count(len(names), 'column')} {'is not a number' if one else 'are not numbers'}",
        was="was set aside as a label" if one else "were set aside as labels",
        names=listing(names, 10),
        fix=f"{encode}leave out:          --drop {flag}",
    )
