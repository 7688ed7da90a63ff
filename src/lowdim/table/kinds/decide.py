"""The roles that a person would give: what is measured shapes the axes, all else names, colours and explains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.table.column import Column, with_words
from lowdim.table.kinds.functions import CopyOf
from lowdim.table.kinds.scales import log_entries
from lowdim.table.kinds.single import DATE_PARTS, KEY_SHARE, Kind, impossible_years
from lowdim.table.kinds.together import LEAST_ITEMS, kinds_of, same_facts
from lowdim.table.kinds.whole_table import is_correlations, is_distances, is_panel, rating_columns
from lowdim.table.notes import Notes
from lowdim.table.options import ReadingOptions
from lowdim.table.roles import Place, as_category, asked_role
from lowdim.text.escape import shell_word
from lowdim.text.fix import Fix, Part, Spelling, choices, propose
from lowdim.text.format import all_digits, listing
from lowdim.text.messages import error

ROLES = {"id": "id", "numbering": "id", "counter": "id", "group counter": "id", "time": "time", "time stamp": "time"}
MOST_LONG, LONG_SHARE = 3, 0.9  # measured columns of a table in long form, and the pairs that have a row
NAMED_ASIDE = 12  # columns a note names
MOST_USED = 50  # columns that a proposed flag names
MANY_LEVELS = 12  # of a code from which it is rather the name of groups
LEAST_CATEGORIES = 3  # columns of labels that can be analysed where nothing else is there
SHOWN_LEVELS = 4  # levels a note writes out


def give_roles(columns: list[Column], options: ReadingOptions, place: Place, notes: Notes) -> list[Column]:
    """The columns with the roles a person would give them; each change is noted with the flag that undoes it."""
    _refuse_ratings(columns, options, place)
    numbers = [c for c in columns if c.role == "number" and not c.labels]
    logged = log_entries(options.log, [c.name for c in numbers])
    fixed = [c.name for c in numbers if c.name in logged or asked_role(c.name, options)]
    made_up = all(c.name == f"c{c.position}" for c in columns)  # no names: no families of names
    found = kinds_of(
        {c.name: np.where(np.isfinite(c.values), c.values, np.nan) for c in numbers}, fixed, named=not made_up
    )
    free = [c for c in numbers if c.name not in fixed]
    timed = any(c.role == "time" for c in columns)
    result = list[Column]()
    for c in columns:
        kind = found.kinds.get(c.name)
        if kind is not None:
            c = _aside(c, kind, timed)
            timed |= c.role == "time"
        elif c.name in found.items:
            two = len(found.items[c.name]) == 2
            c = c._replace(kind="yes/no" if two else "ordinal", levels=found.items[c.name])
        elif c.name in found.counts:
            c = c._replace(kind="count")
        result.append(c)
    result = _answers(result, options, notes)
    same = _same_facts(result, options, notes)
    _note_kinds([c for c in free if c.name in found.kinds and c.name not in same], found.kinds, place, notes)
    _note_years([c for c in numbers if c.name in found.kinds and found.kinds[c.name].word == "year"], place, notes)
    _note_doubtful(found.doubtful, notes)
    _note_items([c for c in result if c.role == "number" and c.levels], notes)
    _note_panel(result, notes)
    _note_long(result, notes)
    return [_copy(c, same[c.name]) if c.name in same else c for c in result]


def _copy(c: Column, other: str) -> Column:
    """A label that says the same as another, left out."""
    return c._replace(role="out", note=f"same as {other}", copy=CopyOf(other))


def what_it_holds(columns: list[Column], options: ReadingOptions, place: Place, notes: Notes) -> str:
    """What the cells are: measurements, or distances or similarities between the rows."""
    numbers = [c for c in columns if c.role == "number"]
    if options.pairs is not None:
        return _asked_pairs(numbers, options.pairs, place)
    _refuse_correlations(numbers, options, place)
    if len(numbers) < 2 or len(numbers) != len(place.lines) or any(asked_role(c.name, options) for c in numbers):
        return "measurements"
    if not is_distances(np.column_stack([c.values for c in numbers])):
        return "measurements"
    notes.add("LD192.table", place.name, **pair_facts(place.name, place.name, [c.name for c in numbers]))
    return "distances"


def _asked_pairs(numbers: list[Column], pairs: str, place: Place) -> str:
    """Distances or similarities, as they were called; a table that is not square holds neither."""
    n, d = len(place.lines), len(numbers)
    if n != d:
        raise error("LD199", place.name, name=place.name, pairs=pairs, n=n, d=d)
    return pairs


def _refuse_correlations(numbers: list[Column], options: ReadingOptions, place: Place) -> None:
    """Correlations of other columns than these are no rows to analyse; constant columns beside them say how they were
    made."""
    varied = [c for c in numbers if len(np.unique(c.values)) > 1]
    if len(varied) != len(place.lines) or any(asked_role(c.name, options) for c in varied):
        return
    if is_correlations(np.column_stack([c.values for c in varied]) if varied else np.empty((0, 0))):
        words = "analyse the table that they were computed from, a row for each observation\nmap the columns by them:  "
        mapped = _mapping(place.name, "similarities")
        fix = Fix(words, mapped, "\nthey are measurements:  ", propose(use=[c.name for c in varied[:MOST_USED]]))
        raise error("LD194", place.name, name=place.name, d=len(varied), fix=fix)


def pair_facts(name: str, file: str, columns: Iterable[str], pairs: str = "distances") -> dict[str, Any]:
    """What is said of a table of distances, or of similarities."""
    measured = propose(use=list(columns)[:MOST_USED])
    ways: list[tuple[str, Part]] = [(f"map the {pairs}", _mapping(file, pairs)), ("they are measurements", measured)]
    return {"name": name, "what": f"{pairs} {'between' if pairs == 'distances' else 'of'}", "fix": choices(ways)}


def _mapping(file: str, pairs: str) -> Spelling:
    """How pairs of rows are mapped."""
    python = f"ld.fit_method(ld.read({file!r}, pairs={pairs!r}), 'mds')"
    return Spelling(f"lowdim fit {shell_word(file)} -m mds --{pairs}", python)


def _aside(c: Column, kind: Kind, timed: bool) -> Column:
    role = ROLES.get(kind.word, "label")
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
        "LD197": ("part",),
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
    ends = f"{all_digits(levels[0])} to {all_digits(levels[-1])}"
    if kind.word in DATE_PARTS:
        return f"{kind.word}, {ends}"
    if len(levels) > MANY_LEVELS:
        return ends
    return ", ".join(map(all_digits, levels)) if len(levels) <= SHOWN_LEVELS else f"{len(levels)} levels, {ends}"


def _note_years(columns: list[Column], place: Place, notes: Notes) -> None:
    """Name the cells of years that cannot be: as labels they are never judged beside the rest of their row."""
    for c in columns:
        rows = np.flatnonzero(impossible_years(c.values))
        if len(rows):
            cells = [f"{place.unit} {place.lines[row]} ({all_digits(c.values[row])})" for row in rows]
            notes.add(
                "LD158",
                f"{place.name}, column {c.position}: {listing(cells)}",
                column=c.name,
                n=len(rows),
            )


def _note_doubtful(doubtful: dict[str, Kind], notes: Notes) -> None:
    """Columns that would have been set aside, had anything else been measured."""
    if doubtful:
        notes.add(
            "LD196",
            n=len(doubtful),
            names=listing([f"{name} ({kind.word})" for name, kind in doubtful.items()], NAMED_ASIDE),
            use=list(doubtful),
        )


def _note_items(items: list[Column], notes: Notes) -> None:
    by_range: dict[tuple[float, float], list[str]] = {}
    for c in items:
        by_range.setdefault((c.levels[0], c.levels[-1]), []).append(c.name)
    if not by_range:
        return
    every = [name for names in by_range.values() for name in names]
    ranges = [
        f"{listing(names, NAMED_ASIDE)} ({all_digits(low)} to {all_digits(high)})"
        for (low, high), names in by_range.items()
    ]
    notes.add(
        "LD187",
        n=len(every),
        names=listing(ranges, join="; "),
        label=every[-1:],
    )


def _note_long(columns: list[Column], notes: Notes) -> None:
    """Two labels whose pairs have a row each: a table of one by the other, written in long form."""
    keys = [
        c for c in columns if c.role == "label" and not c.date and c.kind in ("", "key", "code") and len(c.labels) > 2
    ]
    n = len(keys[0].values) if keys else 0
    for k, unit in enumerate(keys if sum(c.role == "number" for c in columns) <= MOST_LONG else ()):
        for item in keys[k + 1 :]:
            pairs = len(unit.labels) * len(item.labels)
            if (
                LONG_SHARE * pairs <= n <= pairs
                and not (unit.gaps | item.gaps).any()
                and is_panel(unit.words, item.words)
            ):
                rows, wide = (unit, item) if len(unit.labels) >= len(item.labels) else (item, unit)
                facts = {"n": f"{n:,}", "many": f"{len(rows.labels):,}", "unit": rows.name}
                notes.add("LD134", **facts, items=len(wide.labels), item=wide.name)
                return


def _note_panel(columns: list[Column], notes: Notes) -> None:
    """Rows that are the same units seen at several times are no independent ones."""
    units = [c for c in columns if c.role == "label" and not c.date and c.kind in ("", "key", "code")]
    times = [c for c in columns if c.role == "time" or c.date or c.kind in ("year", "time")]
    for unit in units:
        for time in times:
            if is_panel(unit.words, time.words):
                many = len({*map(str, unit.words)})
                notes.add("LD126", unit=unit.name, time=time.name, many=f"{many:,}", n=f"{len(unit.values):,}")
                return


# words --------------------------------------------------------------------------------------------------
def _answers(columns: list[Column], options: ReadingOptions, notes: Notes) -> list[Column]:
    """Labels that all hold the same two answers, where nothing else was measured, shape the axes."""
    if sum(c.role == "number" for c in columns) >= 2:
        return columns
    by_answers: dict[tuple[str, ...], list[Column]] = {}
    for c in columns:
        if c.role == "label" and len(c.labels) == 2 and not c.date and not asked_role(c.name, options):
            by_answers.setdefault(c.labels, []).append(c)
    most = max(by_answers.items(), key=lambda pair: len(pair[1]), default=((), []))
    if len(most[1]) < LEAST_ITEMS:
        return _categories(columns, options, notes)
    (no, yes), names = most[0], [c.name for c in most[1]]
    notes.add("LD188", n=len(names), no=no, yes=yes, names=listing(names, NAMED_ASIDE), label=names[-1:])
    return [as_category(c) if c.name in names else c for c in columns]


def _categories(columns: list[Column], options: ReadingOptions, notes: Notes) -> list[Column]:
    """Labels of a few values each, where there is nothing else: all of them shape the axes."""
    free = [c for c in columns if c.role == "label" and not (c.date or asked_role(c.name, options))]
    chosen = [c for c in free if not c.kind and 2 <= len(c.labels) <= MANY_LEVELS]
    if len(chosen) < LEAST_CATEGORIES or len(chosen) < len(free):
        return columns
    names = [c.name for c in chosen]
    notes.add("LD198", n=len(names), names=listing(names, NAMED_ASIDE), label=names[-1:])
    return [as_category(c) if c.name in names else c for c in columns]


def _same_facts(columns: list[Column], options: ReadingOptions, notes: Notes) -> dict[str, str]:
    """Of two labels that say the same, the one in numbers or the later, which is left out, with the other."""
    open_ones = {c.name: c.words for c in columns if c.role == "label" and not asked_role(c.name, options)}
    same = same_facts(open_ones) if not options.keep_copies else {}
    for name, other in same.items():
        notes.add("LD143", column=name, other=other, label=[name])
    return same


def _refuse_ratings(columns: list[Column], options: ReadingOptions, place: Place) -> None:
    if any(asked_role(c.name, options) for c in columns):
        return
    found = rating_columns([c.name for c in columns], [c.words if c.labels else c.values for c in columns])
    if found is not None:
        user, item, rating = found
        call = f"ld.MatrixFactorization(5, columns={found!r}).fit({place.name!r})"
        ways: list[tuple[str, Part]] = [
            ("learn who likes what", Spelling(f"lowdim ratings {shell_word(place.name)}", call)),
            ("the columns are measurements", propose(use=list(found))),
        ]
        fix = choices(ways)
        raise error("LD193", place.name, name=place.name, user=user, item=item, rating=rating, fix=fix)
