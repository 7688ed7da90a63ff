"""What each column is for: a number that shapes axes, a label, the name or time of a row, a weight, or nothing."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.table.cells import DAY_NUMBERS, LIMIT_TEXT, ColumnCells, date_order, dates, is_code, matches, rough_number
from lowdim.table.column import MOST_LABELS, Column, with_words
from lowdim.table.detect import GAP_CODES
from lowdim.table.kinds.scales import log_entries
from lowdim.table.notes import Notes
from lowdim.table.options import LISTS, ReadingOptions
from lowdim.text.escape import protect_terminal, shown
from lowdim.text.fix import Fix, Part, choices, propose
from lowdim.text.format import all_digits, listing
from lowdim.text.messages import error

NUMBER_SHARE = 0.5  # a column of which this share is numbers is meant as numbers
RUNNING_ROWS = 5  # rows from which 1, 2, 3, ... is a running number and not a measurement
STRAY_SHARE, STRAY_WORDS, ROWS_A_STRAY = 0.01, 2, 20  # words up to which a column of numbers is one: 1 %, or 1 in 20
MOST_CODES = 8  # codes that a fix lists
LEAST_NUMBERS = 2  # columns of numbers that an analysis needs
ID_NAME = re.compile(r"(.*[_. -])?(id|index|idx|row|rownames?|nr|no|number|obs|sample|unnamed: 0)|", re.I)


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
                "LD140",
                column=name,
                count=times,
                names=listing(same),
                fix=Fix("give names of your own:  ", propose(names="names.txt")),
            )
    return result


def check_names(options: ReadingOptions, names: list[str]) -> ReadingOptions:
    """The options with every column they name found in the table, or an error that proposes the nearest."""
    found: dict[str, Any] = {}
    for option in ("columns", "drop", "use", "label", "encode", "log"):
        found[option] = _whole(getattr(options, option), names)
        for name in log_entries(found[option], names) if option == "log" else found[option]:
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
    fix = Fix(f"the columns are: {listing(names, 10)}")
    if near:
        fix = Fix("did you mean  ", propose(**{option: near if option in LISTS else near[0]}))
    raise error("LD103", column=protect_terminal(name), option=f"--{option}", fix=fix)


def assign_roles(
    columns: list[ColumnCells], blank: set[int], options: ReadingOptions, place: Place, notes: Notes
) -> list[Column]:
    """Every column with the role its cells allow; an id or a date is noted, what cannot be is an error."""
    found: list[Column] = []
    free = {role for role in ("id", "time") if getattr(options, role) is None}  # the first of each is the rows'
    for c in columns:
        role = asked_role(c.name, options)
        column = _asked(c, role, place, notes) if role else guessed(c, c.position in blank, free, place, notes)
        found.append(column)
        if not role:
            free.discard(column.role)
    worded = [c for c in columns if asked_role(c.name, options) in ("", "number") and _is_nearly_number(c)]
    asked = {c.name for c in worded if asked_role(c.name, options)}
    note_words(worded, asked, sum(c.role == "number" for c in found), place, notes)
    return found


def asked_role(name: str, options: ReadingOptions) -> str:
    """The role the caller asked for; nothing where none was."""
    single = {"id": options.id, "time": options.time, "weight": options.weight}
    asked = [role for role, column in single.items() if column == name]
    if name in options.drop:
        return "out"
    if asked:
        return asked[0]
    for role, names in (("label", options.label), ("encode", options.encode), ("number", options.use)):
        if name in names:
            return role
    if options.columns:
        return "number" if name in options.columns else "out"
    return ""


def _asked(c: ColumnCells, role: str, place: Place, notes: Notes) -> Column:
    if role == "encode":
        return _category(c, place)
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
    words = label_values(c, place.codes)
    if role == "id":
        return Column(c.name, role, words, c.position)
    return with_words(Column(c.name, role, words, c.position, "left out as asked" * (role == "out")), words)


def guessed(c: ColumnCells, blank: bool, free: set[str], place: Place, notes: Notes) -> Column:
    """The role a column has by what its cells are; `free` are the roles that no column has yet."""
    if c.nested:
        notes.add(
            "LD117",
            f"{place.name}, column {c.position}",
            column=c.name,
            type=c.nested,
            fix=Fix("leave it out:  ", propose(drop=[c.name])),
        )
        return Column(c.name, "out", np.full(len(c.gap), None, dtype=object), c.position, "not usable")
    when = c.dates if c.dates is not None else _dates(c)
    if when is not None and c.seen:
        return _dated(c, when, "time" in free, place, notes)
    if not c.bad.any():
        why = _running(c, blank)
        return _id(c, why, free, "number", place, notes) if why else Column(c.name, "number", c.values, c.position)
    if _is_stray(c, place):
        return Column(c.name, "number", c.values, c.position)
    values = label_values(c, place.codes)
    if len(values) >= 3 and None not in values and len(set(values)) == len(values):
        if _is_nearly_number(c):  # of which `note_words` speaks
            return Column(c.name, "id", values, c.position, kind="id")
        return _id(c, "is different in every row", free, "label", place, notes)
    note = "numbers and words" if _is_nearly_number(c) else ""
    return with_words(Column(c.name, "label", values, c.position, note), values)


def _id(c: ColumnCells, why: str, free: set[str], else_: str, place: Place, notes: Notes) -> Column:
    """A column that names the rows; `else_` is what it would be if it did not."""
    number = else_ == "number"
    other = propose(use=[c.name]) if number else propose(label=[c.name])
    notes.add(
        "LD180",
        f"{place.name}, column {c.position}" + ("" if number else f", e.g. {c.example(0)}"),
        column=c.name,
        what=why,
        role="the name of each row" if "id" in free else "a further name of each row",
        fix=choices([(f"use it as a {else_}", other), ("it is a name, say so", propose(id=c.name))]),
    )
    return Column(c.name, "id", label_values(c, place.codes), c.position, kind="id")


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
    order = date_order(c.text, c.gap) if c.text is not None else ""
    where = place.column(c, int(np.argmax(~c.gap))) if c.text is not None else f"{place.name}, column {c.position}"
    notes.add(
        "LD181",
        where,
        column=c.name,
        role=("the time of each row" if free else "a label") + (f" (read with the {order})" if order else ""),
        fix=choices(
            [
                ("leave it out", propose(drop=[c.name])),
                ("it is, say so", propose(time=c.name) if free else propose(label=[c.name])),
            ]
        ),
    )
    if free:
        return Column(c.name, "time", when, c.position)
    words = when.astype(str).astype(object)
    words[c.gap] = None
    return with_words(Column(c.name, "label", words, c.position, "date", date=True), words)


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


def _category(c: ColumnCells, place: Place) -> Column:
    """A label that shapes axes."""
    words = label_values(c, place.codes)
    column = as_category(with_words(Column(c.name, "label", words, c.position), words))
    if len(column.labels) > MOST_LABELS:
        raise error(
            "LD115",
            f"{place.name}, column {c.position}",
            column=c.name,
            count=len(column.labels),
            most=MOST_LABELS,
            label=[c.name],
        )
    return column


def as_category(c: Column) -> Column:
    """A column of labels as one that shapes axes."""
    return c._replace(role="number", note="category", kind="yes/no" if len(c.labels) == 2 else "")


def _must_be_number(c: ColumnCells, place: Place, notes: Notes) -> None:
    if not c.bad.any() or _is_nearly_number(c):  # the latter is for `note_words`
        return
    ways = [("leave it out", propose(drop=[c.name]))]
    if c.dates is not None or _dates(c) is not None:
        ways.append(("use it as time", propose(time=c.name)))
    elif not c.nested:
        ways.append(("use it as label", propose(label=[c.name])))
        if len(set(label_values(c, place.codes))) <= MOST_LABELS:
            ways.append(("one column a value", propose(encode=[c.name])))
    unit = f", and its cells are to be in {shown(c.unit)}" if c.unit else ""
    notes.add("LD104.table", place.column(c, int(np.argmax(c.bad))), column=c.name, unit=unit, fix=choices(ways))


def _is_stray(c: ColumnCells, place: Place, *, asked: bool = False) -> bool:
    """Whether the cells that are no numbers are a few, so that a column without them is one of numbers. Where it was
    asked to be one, a cell that may be a number of another unit is none of them."""
    rows = np.flatnonzero(c.bad)
    few = len(rows) <= STRAY_SHARE * c.seen or (len(rows) <= STRAY_WORDS and len(rows) * ROWS_A_STRAY <= c.seen)
    if not (few and _is_nearly_number(c)) or c.text is None or place.lines[rows[0]] == 1:  # line 1 may hold names
        return False
    return not asked or not any(re.search(r"\d", c.text[int(row)].as_py()) for row in rows)


def _is_nearly_number(c: ColumnCells) -> bool:
    """Whether most cells of a column are numbers, and some are words."""
    if not c.bad.any() or c.good == 0 or c.good < NUMBER_SHARE * c.seen or c.nested or c.dates is not None:
        return False
    return c.text is None or _dates(c) is None


def note_words(columns: list[ColumnCells], asked: set[str], numbers: int, place: Place, notes: Notes) -> None:
    """Words among numbers: a few are gaps; with more a column is a label; where it was asked to be one of numbers, or
    the table has hardly another, they are an error.

    Columns that hold the same words share a message; all that are in error share a fix. `numbers` are the columns of
    numbers, those with few words among them.
    """
    aside = [c for c in columns if c.name not in asked and not _is_stray(c, place)]
    needed = numbers < LEAST_NUMBERS
    groups: dict[tuple[bool, tuple[str, ...]], list[ColumnCells]] = {}
    for c in columns:
        if c.name not in asked and not needed and not _is_stray(c, place):
            continue
        words = dict.fromkeys(c.text[int(row)].as_py() for row in np.flatnonzero(c.bad))
        stray = _is_stray(c, place, asked=c.name in asked)
        groups.setdefault((stray, tuple(sorted(words))), []).append(c)
    wrong = [c for (stray, _), group in groups.items() if not stray for c in group]
    for (stray, _), group in groups.items():
        one, several = ("LD123", "LD123.columns") if stray else ("LD111", "LD111.columns")
        code = several if len(group) > 1 else one
        facts = _words_facts(group) if len(group) > 1 else _word_facts(group[0])
        ways = _words_ways(group, group if stray else wrong, place)
        if not ways or numbers - len(group) >= LEAST_NUMBERS:
            label = "keep it as a label" if len(group) == 1 else "keep as labels"
            ways.append((label, propose(label=[c.name for c in group])))
        notes.add(code, _words_place(group, place), **facts, fix=choices(ways))
    if aside and not needed:
        names = listing([f"{c.name} ({c.good:,} of {c.seen:,} cells)" for c in aside])
        ways = [*_words_ways(aside, aside, place), ("they are labels, say so", propose(label=[c.name for c in aside]))]
        notes.add("LD129", _words_place(aside, place), n=len(aside), names=names, fix=choices(ways))


def _word_facts(c: ColumnCells) -> dict[str, Any]:
    return {"column": c.name, "n": int(c.bad.sum()), "good": c.good, "seen": c.seen}


def _words_facts(group: list[ColumnCells]) -> dict[str, Any]:
    return {
        "n": sum(int(c.bad.sum()) for c in group),
        "columns": len(group),
        "names": listing([f"{c.name} ({c.good:,} of {c.seen:,} cells)" for c in group]),
    }


def _words_place(group: list[ColumnCells], place: Place) -> str:
    """Where the words of columns that hold the same ones stand: the first five of one, the first of each of several."""
    if len(group) > 1:
        return listing([f"column {c.position}, {place.cell(c, int(np.argmax(c.bad)))}" for c in group])
    c, rows = group[0], np.flatnonzero(group[0].bad)
    where = f"column {c.position}, " + listing([place.cell(c, int(row)) for row in rows[:1000]], 5)
    return where if len(rows) <= 1000 else where.rpartition(" and ")[0] + f" and {len(rows) - 5:,} more"


def _words_ways(group: list[ColumnCells], together: list[ColumnCells], place: Place) -> list[tuple[str, Part]]:
    """What to do about words in columns that stay numbers; codes for gaps are those of all columns that need them."""
    codes = dict.fromkeys(c.text[int(row)].as_py() for c in together for row in np.flatnonzero(c.bad))
    if len(codes) > MOST_CODES:
        codes = dict.fromkeys(c.text[int(row)].as_py() for c in group for row in np.flatnonzero(c.bad))
    texts = list(codes)
    plain = len(texts) <= MOST_CODES and _is_plain(texts)
    rest = [t for t in texts if not LIMIT_TEXT.fullmatch(t)]
    ways = list[tuple[str, Part]]()
    rough = [t for t in texts if rough_number(t, ".") is not None]
    others = [t for t in texts if t not in rough]
    if rough and len(others) <= MOST_CODES and _is_plain(others):
        ways.append(("read as numbers", propose(ranges=True, na=others) if others else propose(ranges=True)))
    if plain and len(rest) < len(texts):  # first, for a cell below a limit is known to be low
        half = propose(below_limit="half", na=rest) if rest else propose(below_limit="half")
        ways.append(("treat as half the limit", half))
    if plain:
        ways.append(("treat as gaps", propose(na=texts)))
    rows = np.flatnonzero(group[0].bad)
    if place.lines[rows[0]] == 1 and len(rows) == 1:
        ways.append(("line 1 holds names", propose(header=True)))
    return ways


def _is_plain(texts: list[str]) -> bool:
    return all(protect_terminal(text) == text and len(text) <= 40 for text in texts)


def note_labels(columns: Iterable[Column], options: ReadingOptions, notes: Notes) -> None:
    """Say which columns of text were set aside as labels without being asked to."""
    labels = [
        c for c in columns if c.role == "label" and not (c.note or c.date or c.kind or asked_role(c.name, options))
    ]
    if not labels:
        return
    names = [c.name for c in labels]
    few = [c.name for c in labels if len(c.labels) <= MOST_LABELS]
    encode = [("use as categories", propose(encode=few[:1]))] if few else []
    notes.add(
        "LD110",
        n=len(names),
        names=listing(names, 10),
        fix=choices([*encode, ("leave out", propose(drop=few[:1] or names[:1]))]),
    )
