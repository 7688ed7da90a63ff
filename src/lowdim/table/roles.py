"""What each column is for: a number that shapes axes, a label, the name or time of a row, a weight, or nothing.

Its cells allow a role (`assign_roles`); what is measured and what is only written as numbers decides it (`give_roles`):
what is measured shapes the axes, all else names, colours and explains.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations, product
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.table.cells import DAY_NUMBERS, LIMIT_TEXT, ColumnCells, date_order, dates, is_code, matches, rough_number
from lowdim.table.column import MOST_LABELS, Column, CopyOf, as_box, log_entries, with_grades, with_words
from lowdim.table.detect import GAP_CODES
from lowdim.table.kinds import (
    DATE_PARTS,
    KEY_SHARE,
    LEAST_FAMILY,
    LEAST_TAKING,
    Kind,
    codes_of_labels,
    is_whole,
    kind_of,
    kinds_of,
    same_facts,
)
from lowdim.table.open_file import Place
from lowdim.table.options import LISTS, ReadingOptions, asked_role
from lowdim.table.taking_part import answering, beside, graded, naming, normal_scores_of
from lowdim.table.whole_table import is_panel, refuse_ratings
from lowdim.text.escape import protect_terminal, shown
from lowdim.text.fix import Fix, Part, choices, propose
from lowdim.text.format import all_digits, figures, listing
from lowdim.text.messages import Notes, error

NUMBER_SHARE = 0.5  # a column of which this share is numbers is meant as numbers
RUNNING_ROWS = 5  # rows from which 1, 2, 3, ... is a running number and not a measurement
STRAY_SHARE, STRAY_WORDS, ROWS_A_STRAY = 0.01, 2, 20  # words up to which a column of numbers is one: 1 %, or 1 in 20
LONG_DIGITS, ROUND = r"^\d{17,}$", r"0{6}$"  # beyond what a double holds, and what it holds all the same
MOST_CODES = 8  # codes that a fix lists
LEAST_NUMBERS = 2  # columns of numbers that an analysis needs
ID_NAME = re.compile(r"(.*[_. -])?(id|index|idx|row|rownames?|nr|no|number|obs|sample|unnamed: 0)|", re.I)

ROLES = {"id": "id", "numbering": "id", "counter": "id", "group counter": "id", "time": "time", "time stamp": "time"}
MOST_LONG, LONG_SHARE = 3, 0.9  # measured columns of a table in long form, and the pairs that have a row
NAMED_ASIDE = 12  # columns a note names
MANY_LEVELS = 12  # of a code from which it is rather the name of groups
LEAST_CATEGORIES = 3  # columns of labels that can be analysed where nothing else is there
SHOWN_LEVELS = 4  # levels a note writes out
NO_ORDERS: Mapping[int, tuple[str, ...]] = MappingProxyType({})


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
        asked = getattr(options, option)
        joined = ",".join(asked)  # a name that holds commas was split; where only the whole is a column, it is meant
        found[option] = (joined,) if len(asked) > 1 and joined in names else asked
        for name in log_entries(found[option], names) if option == "log" else found[option]:
            check_name(name, option, names)
    for option in ("id", "time", "weight"):
        if getattr(options, option) is not None:
            check_name(getattr(options, option), option, names)
    return options._replace(**found)


def check_name(name: str, option: str, names: list[str]) -> None:
    """A column that an option names is found in the table, or an error proposes the nearest."""
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
        if not role and not (column.role == "id" and not c.bad.any()):  # a name in words may follow a counter
            free.discard(column.role)
    worded = [c for c in columns if asked_role(c.name, options) in ("", "number") and _is_nearly_number(c)]
    asked = {c.name for c in worded if asked_role(c.name, options)}
    if worded:
        note_words(worded, asked, sum(c.role == "number" for c in found), place, notes)
    return found


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
        role="a name of each row" if number else f"{'the' if 'id' in free else 'a further'} name of each row",
        fix=choices([(f"use it as a {else_}", other), ("it is a name, say so", propose(id=c.name))]),
    )
    return Column(c.name, "id", label_values(c, place.codes), c.position, kind="id")


def _dates(c: ColumnCells) -> NDArray[np.datetime64] | None:
    """Dates written as text, or as whole numbers such as 20010601."""
    import pyarrow as pa

    if c.text is not None and c.bad.any():
        return dates(c.text, c.gap) if c.bad[~c.gap].all() else None  # some are numbers: 1.2.2024 is not among them
    seen = c.values[~c.gap]
    if c.bad.any() or not len(seen) or seen.min() < 19000101 or seen.max() > 20991231 or not is_whole(seen):
        return None
    if c.text is not None:
        return dates(c.text, c.gap) if (matches(c.text, DAY_NUMBERS) | c.gap).all() else None
    return dates(pa.array(np.where(c.gap, 0, c.values).astype(np.int64)).cast(pa.string()), c.gap)


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
    if len(v) < 3 or c.gap.any():
        return ""
    long = c.text is not None and (matches(c.text, LONG_DIGITS) & ~matches(c.text, ROUND)).all()
    if long and len(set(c.text.to_pylist())) == len(v):
        return "has more digits than a number keeps"
    if not is_whole(v):
        return ""
    if len(v) >= RUNNING_ROWS and (np.diff(v) == 1).all():
        return "" if kind_of(c.name, v).word == "year" else "counts the rows"
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


# the roles that a person would give ----------------------------------------------------------------------------
def give_roles(
    columns: list[Column],
    options: ReadingOptions,
    place: Place,
    notes: Notes,
    orders: Mapping[int, tuple[str, ...]] = NO_ORDERS,
) -> list[Column]:
    """The columns with the roles a person would give them; each change is noted with the flag that undoes it. `orders`
    are the labels of ordered columns, the lowest first, by the position of the column."""
    refuse_ratings(columns, options, place)
    numbers = [c for c in columns if c.role == "number" and not c.labels]
    logged = log_entries(options.log, [c.name for c in numbers])
    fixed = [c.name for c in numbers if c.name in logged or asked_role(c.name, options)]
    made_up = all(c.name == f"c{c.position}" for c in columns)  # no names: no families of names
    found = kinds_of(
        {c.name: np.where(np.isfinite(c.values), c.values, np.nan) for c in numbers},
        fixed,
        list(logged),
        named=not made_up,
    )
    free = [c for c in numbers if c.name not in fixed]
    measured = {c.name: c.values for c in free if c.name not in found.kinds and not found.items.get(c.name)}
    codes = codes_of_labels(measured, {c.name: c.words for c in columns if c.role == "label"})
    if len(numbers) - len(found.kinds) - len(codes) >= LEAST_NUMBERS:
        found.kinds.update(codes)
    timed = any(c.role == "time" for c in columns)
    result = list[Column]()
    for c in columns:
        kind = found.kinds.get(c.name)
        if kind is not None:
            c = _aside(c, kind, timed)
            timed |= c.role == "time"
        elif c.name in found.items:
            grade = "yes/no" if len(found.items[c.name]) == 2 else "ordinal"
            c = c._replace(kind="" if c.name in found.amounts else grade, levels=found.items[c.name])
        elif c.name in found.counts:
            c = c._replace(kind="count")
        result.append(c)
    result = _boxes(result, options, notes)
    same = {} if options.keep_copies else _same_facts(result, options)
    for name, other in same.items():  # of two columns that say the same, the one in numbers or the later is left out
        notes.add("LD143", column=name, other=other, label=[name])
    result = [_copy_of(c, same[c.name]) if c.name in same else c for c in result]
    result = _words(result, options, orders, notes)
    if aside := [c for c in free if c.name in found.kinds and c.name not in same]:
        _note_kinds(aside, found.kinds, place, notes)
    if found.doubtful:  # they would have been set aside, had anything else been measured
        words = listing([f"{name} ({kind.word})" for name, kind in found.doubtful.items()], NAMED_ASIDE)
        notes.add("LD196", n=len(found.doubtful), names=words, use=list(found.doubtful))
    if items := [c for c in result if c.role == "number" and c.levels and not c.grades]:
        _note_items(items, notes)
    _note_panel(result, notes)
    return result


def _same_facts(columns: list[Column], options: ReadingOptions) -> dict[str, str]:
    """Columns of few values that say in other words what another one says, with the one that stays."""
    asked = [c for c in columns if asked_role(c.name, options) == "encode"]  # it is there, and another is its copy
    few = [c for c in columns if (c.role == "label" or _has_few(c)) and not asked_role(c.name, options)]
    worded = {c.name for c in (*asked, *few) if c.role == "label" or c.labels}
    same = same_facts({c.name: c.words for c in (*asked, *few)}, first=[c.name for c in asked])
    return {name: other for name, other in same.items() if name in worded or other in worded}


def _has_few(c: Column) -> bool:
    return bool(c.levels) or (c.kind == "count" and len(np.unique(c.values)) <= MANY_LEVELS)


def _copy_of(c: Column, other: str) -> Column:
    if c.role == "number":
        c = with_words(c, c.words)
    return c._replace(role="out", note=f"same as {other}", copy=CopyOf(other), kind="", levels=())


def _aside(c: Column, kind: Kind, timed: bool) -> Column:
    role = ROLES.get(kind.word, "label")
    if kind.word == "year" and len(np.unique(c.values)) == len(c.values):  # one row a year
        role = "time"
    if role == "time" and timed:
        role = "label"
    if kind.word == "area" and len(np.unique(c.values)) >= KEY_SHARE * len(c.values):
        role = "id"
    aside = c._replace(role=role, note=_word(kind), kind=kind.word)
    if role == "time":
        return aside
    return aside._replace(values=c.words) if role == "id" else with_words(aside, c.words)


def _word(kind: Kind) -> str:
    words = {
        "key": "names groups",
        "group counter": "counts within groups",
        "counter": "counts rows",
        "numbering": "no two alike",
    }
    return words.get(kind.word, kind.word)


# what is said -------------------------------------------------------------------------------------------
def _note_kinds(columns: list[Column], kinds: dict[str, Kind], place: Place, notes: Notes) -> None:
    for c in columns:
        groups = _names_groups(c, kinds[c.name])
        if groups or kinds[c.name].word in ("id", "numbering", "counter", "group counter"):
            notes.add(
                "LD180",
                f"{place.name}, column {c.position}",
                column=c.name,
                what="names groups of rows" if groups else "is a name or counter of rows",
                role=f"{'a label' if groups else 'an id'}: {kinds[c.name].reason}",
                fix=Fix("it measures something:  ", propose(use=[c.name])),
            )
    for c in columns:
        if kinds[c.name].word == "weight":
            ways = [("weight the rows by it", propose(weight=c.name)), ("it measures something", propose(use=[c.name]))]
            facts = {"column": c.name, "what": "says how many people a row stands for", "role": "a label"}
            notes.add("LD180", f"{place.name}, column {c.position}", **facts, fix=choices(ways))
    said = {
        "LD182": ("yes/no", "code"),
        "LD183": DATE_PARTS,
        "LD184": ("place", "area"),
        "LD189": ("rank",),
    }
    for code, words in said.items():
        some = [c for c in columns if kinds[c.name].word in words and not _names_groups(c, kinds[c.name])]
        if some:
            notes.add(
                code,
                n=len(some),
                names=listing([f"{c.name} ({_levels(c, kinds[c.name])})" for c in some], NAMED_ASIDE),
                use=[c.name for c in some[:NAMED_ASIDE]],
            )


def _names_groups(c: Column, kind: Kind) -> bool:
    """Whether a column tells groups of rows apart that are too many to be called levels."""
    return kind.word == "key" or (kind.word == "code" and len(np.unique(c.values[~np.isnan(c.values)])) > MANY_LEVELS)


def _levels(c: Column, kind: Kind) -> str:
    """The levels of a column in a few words: 0, 1; 1 to 10; year 1989 to 2014."""
    levels: Array = np.unique(c.values[~np.isnan(c.values)])
    low, high = (all_digits(v) if v == np.round(v) else figures(v, 6) for v in (levels[0], levels[-1]))
    ends = f"{low} to {high}"
    if kind.word in DATE_PARTS:
        return f"{kind.word}, {ends}"
    if len(levels) > MANY_LEVELS:
        return ends
    return ", ".join(map(all_digits, levels)) if len(levels) <= SHOWN_LEVELS else f"{len(levels)} levels, {ends}"


def _note_items(items: list[Column], notes: Notes) -> None:
    by_range: dict[tuple[float, float], list[str]] = {}
    for c in items:
        by_range.setdefault((c.levels[0], c.levels[-1]), []).append(c.name)
    every = [name for names in by_range.values() for name in names]
    ranges = [
        f"{listing(names, NAMED_ASIDE)} ({all_digits(low)} to {all_digits(high)})"
        for (low, high), names in by_range.items()
    ]
    notes.add("LD187", n=len(every), names=listing(ranges, join="; "), label=every[-1:])


def _note_panel(columns: list[Column], notes: Notes) -> None:
    """Rows that are the same units seen at several times are no independent ones; two labels whose pairs have a row
    each are a table of one by the other, written in long form."""
    units = [c for c in columns if c.role == "label" and not c.date and c.kind in ("", "key", "code")]
    times = [c for c in columns if c.role == "time" or c.date or c.kind in ("year", "time")]
    for unit, time in product(units, times):
        if is_panel(unit.words, time.words):
            many = len({*map(str, unit.words)})
            notes.add("LD126", unit=unit.name, time=time.name, many=f"{many:,}", n=f"{len(unit.values):,}")
            break
    keys = [c for c in units if len(c.labels) > 2]
    n = len(keys[0].values) if keys else 0
    for unit, item in combinations(keys, 2) if sum(c.role == "number" for c in columns) <= MOST_LONG else ():
        pairs = len(unit.labels) * len(item.labels)
        every = LONG_SHARE * pairs <= n <= pairs and not (unit.gaps | item.gaps).any()
        if every and is_panel(unit.words, item.words):
            rows, wide = (unit, item) if len(unit.labels) >= len(item.labels) else (item, unit)
            facts = {"n": f"{n:,}", "many": f"{len(rows.labels):,}", "unit": rows.name}
            notes.add("LD134", **facts, items=len(wide.labels), item=wide.name, spread=wide.name)
            return


# words --------------------------------------------------------------------------------------------------
def _boxes(columns: list[Column], options: ReadingOptions, notes: Notes) -> list[Column]:
    """Neighbouring columns of one word each or nothing are boxes of one question: an empty one was not ticked."""
    runs = list[list[int]]([[]])
    for k, c in enumerate(columns):
        one_word = c.role == "label" and len(c.labels) == 1 and not c.date and bool(c.gaps.any())
        if one_word and not asked_role(c.name, options):
            runs[-1].append(k)
        elif runs[-1]:
            runs.append([])
    boxes = [k for run in runs if len(run) >= LEAST_FAMILY for k in run]
    if not boxes:
        return columns
    names = [columns[k].name for k in boxes]
    notes.add("LD137", n=len(boxes), names=listing(names, NAMED_ASIDE), label=names[-1:])
    return [as_box(c) if c.name in names else c for c in columns]


def _words(
    columns: list[Column], options: ReadingOptions, orders: Mapping[int, tuple[str, ...]], notes: Notes
) -> list[Column]:
    """Columns of words that take part: those that say how much or yes and no, and names where they are several."""
    free = [c for c in columns if _is_free(c, options) and not c.kind and not c.note and len(c.labels) >= 2]
    if not free:
        return columns
    scores = normal_scores_of({c.name: c.values for c in columns if c.role == "number" and not c.labels})
    others = beside(scores, "") if scores else np.zeros((len(free[0].values), 0))
    grades = {c.name: found for c in free if (found := graded(c, orders.get(c.position, ()), others))}
    answers = answering([c for c in free if c.name not in grades])
    rest = [c for c in free if c.name not in grades and c.name not in answers]
    names = naming(rest)
    measured = sum(c.role == "number" for c in columns) + len(grades) + len(answers)
    if measured < LEAST_TAKING and (every := _all_there_is(columns, free, options)):
        names = every - {*grades, *answers}
        notes.add("LD198", n=len(every), names=listing(every, NAMED_ASIDE), label=[free[-1].name])
    elif named := [c.name for c in rest if c.name in names]:
        notes.add("LD136", n=len(named), names=listing(named, NAMED_ASIDE), label=named)
    if said := [c.name for c in free if c.name in grades or c.name in answers]:
        notes.add("LD188", n=len(said), names=listing(said, NAMED_ASIDE), label=said[-1:])
    result = list[Column]()
    for c in columns:
        if c.name in grades:
            c = with_grades(c, grades[c.name])
        elif c.name in answers or c.name in names:
            c = as_category(c)
        result.append(c)
    return result


def _is_free(c: Column, options: ReadingOptions) -> bool:
    """Whether a label is one of which nobody has said what it is for."""
    return c.role == "label" and not c.date and not asked_role(c.name, options)


def _all_there_is(columns: list[Column], free: list[Column], options: ReadingOptions) -> set[str]:
    """Labels of a few values each, where there is nothing else: all of them shape the axes."""
    chosen = [c.name for c in free if len(c.labels) <= MANY_LEVELS]
    every = sum(_is_free(c, options) for c in columns)
    return {*chosen} if len(chosen) >= LEAST_CATEGORIES and len(chosen) == every else set()
