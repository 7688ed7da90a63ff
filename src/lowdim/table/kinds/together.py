"""What columns are beside each other: items of one scale, numbered families, places on a map, one fact told twice.

Measured columns make the axes. Columns of few levels are labels beside them; but where fewer than two columns are
measured, or items of one scale outnumber the measured ones, the items are what was measured.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.table.kinds.groups import date_families, group_keys, part_families
from lowdim.table.kinds.single import MOST_LEVELS, Kind, is_whole, kind_of, name_words

LEAST_ITEMS = 5  # columns of one scale from which they are a questionnaire
MEASURED = ("", "count")
LEAST_STEM, LONGEST_PREFIX = 4, 3  # letters of a name that another may extend, and by how many
ENOUGH_MEASURED = 4  # measured columns beside which yes/no answers are labels
MANY_STEPS = 5  # of a scale from which no two kinds of codes have it by chance
LEAST_FAMILY = 3  # columns named alike but for a number
FEW_LEVELS = ("yes/no", "code")
DOUBTFUL = ("rank", "place", "numbering", "group counter", "day", "month", "year", "area")  # these might be measured
MAP = "coordinates say where a row is"
COORDINATES: tuple[tuple[set[str], set[str], float, str], ...] = (  # names of both, and from where on, if not degrees
    ({"lat", "latitude"}, {"lon", "long", "lng", "longitude"}, 0.0, "latitude and longitude say where a row is"),
    ({"northing", "utmn", "utm_n", "utmy", "utm_y", "nord"}, {"easting", "utme", "utm_e", "utmx", "utm_x"}, 1.0, MAP),
    ({"ycoo", "ycoord", "y_coord", "coordy", "coord_y"}, {"xcoo", "xcoord", "x_coord", "coordx", "coord_x"}, 1e-9, MAP),
    ({"y"}, {"x"}, 1000.0, MAP),  # metres of a grid: numbers near 1 may be anything
)
LEAST_COUNTED = 20  # columns of counts from which a rare one is no code
LEAST_SAME_ROWS = 12  # rows from which two columns that go together say the same
MOST_SAME_LEVELS = 50


class Found(NamedTuple):
    """What a table's columns of numbers are, by name; those not listed are measurements."""

    kinds: dict[str, Kind]
    items: dict[str, tuple[float, ...]]  # those analysed as ordered levels, with their levels
    counts: tuple[str, ...]  # those that count
    doubtful: dict[str, Kind]  # those that are measurements only because little else is


def kinds_of(columns: dict[str, Array], fixed: Collection[str] = (), *, named: bool = True) -> Found:
    """What each column of numbers is, decided beside the others; those that are `fixed` are measurements, as asked.
    Where columns are not `named` by the file, names that are alike mean nothing."""
    if not named:
        own = {re.sub(r"\d", lambda digit: "abcdefghij"[int(digit[0])], name): name for name in columns}
        other = kinds_of({alias: columns[name] for alias, name in own.items()}, [a for a in own if own[a] in fixed])
        return Found(
            {own[alias]: kind for alias, kind in other.kinds.items()},
            {own[alias]: levels for alias, levels in other.items.items()},
            tuple(own[alias] for alias in other.counts),
            {own[alias]: kind for alias, kind in other.doubtful.items()},
        )
    columns = {name: x for name, x in columns.items() if not np.isnan(x).all()}
    kinds = {name: kind_of(name, x) for name, x in columns.items()}
    for found in (group_keys(columns), date_families(columns), part_families(columns)):
        kinds.update({name: kind for name, kind in found.items() if kinds[name].word in ("", "count", "code")})
    ranges = {name: (float(np.nanmin(x)), float(np.nanmax(x))) for name, x in columns.items()}
    _places(kinds, ranges)
    kinds.update(dict.fromkeys(_ranks(kinds, ranges), Kind()))
    counted = _counted(kinds, columns)
    kinds.update(dict.fromkeys(counted, Kind("count", "it counts, as the others do")))
    kinds.update(_like_relatives(kinds, columns, ranges))
    kinds.update({name: Kind() for name, kind in kinds.items() if name in fixed and kind.word not in ("", "count")})
    open_ones = [name for name, kind in kinds.items() if kind.word in FEW_LEVELS]
    measured = [name for name, kind in kinds.items() if kind.word in ("", "count")]
    short = [name for name in measured if name not in fixed and not counted and _is_short(columns[name])]
    scale = _one_scale(open_ones + short, ranges)
    if len(scale) >= LEAST_ITEMS:  # a skew item is like a count, but is one of its scale
        open_ones += [name for name in scale if name not in open_ones]
        measured = [name for name in measured if name not in scale]
    items = _items(open_ones, measured, scale, columns, ranges)
    _coded_families(kinds, items, columns)
    for name in open_ones:
        if name in items:
            kinds[name] = Kind()
        elif kinds[name].word not in FEW_LEVELS:
            kinds[name] = Kind("code", "it has few levels")
    doubtful = dict[str, Kind]()
    for word in DOUBTFUL:  # nothing else was measured
        if sum(kind.word in ("", "count") for kind in kinds.values()) < 2:
            doubtful |= {name: kind for name, kind in kinds.items() if kind.word == word}
            kinds.update(dict.fromkeys(doubtful, Kind()))
    levels = {name: tuple(np.unique(x[~np.isnan(x)]).tolist()) for name, x in columns.items() if name in items}
    counts = tuple(name for name, kind in kinds.items() if kind.word == "count" and name not in items)
    aside = {name: kind for name, kind in kinds.items() if kind.word not in ("", "count")}
    return Found(aside, levels, counts, doubtful)


def _ranks(kinds: dict[str, Kind], ranges: dict[str, tuple[float, float]]) -> list[str]:
    """Columns in which no two rows are alike and that share their range: ranks of several things, each a measure."""
    numbered = Counter(ranges[name] for name, kind in kinds.items() if kind.word == "numbering")
    return [n for n, kind in kinds.items() if kind.word == "numbering" and numbered[ranges[n]] >= LEAST_FAMILY]


def _like_relatives(
    kinds: dict[str, Kind], columns: dict[str, Array], ranges: dict[str, tuple[float, float]]
) -> dict[str, Kind]:
    """One role for columns of one kind: meducation beside a measured education, DoleLR and ClinLR on one scale."""
    one: dict[str, Kind] = {}
    codes = [name for name, kind in kinds.items() if kind.word == "code"]
    stems: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        if len(name) >= LEAST_STEM and kind.word in MEASURED:
            stems.setdefault(name.lower(), []).append(name)
    for name in codes:
        low, high = ranges[name]
        own = [
            n for k in range(1, LONGEST_PREFIX + 1) for n in stems.get(name.lower()[k:], ())
        ]  # heducation: education
        if any(ranges[n][0] <= high and low <= ranges[n][1] for n in own):
            one[name] = Kind()
    families: dict[tuple[str, tuple[float, float]], list[str]] = {}
    for name, kind in kinds.items():
        words = name_words(name)
        if len(words) > 1 and (kind.word == "code" or (kind.word in MEASURED and _is_short(columns[name]))):
            families.setdefault((words[-1], ranges[name]), []).append(name)
    for members in families.values():
        coded = sum(kinds[name].word == "code" for name in members)
        if 2 * coded > len(members) > coded:
            one.update({n: Kind("code", "it is named as other codes are") for n in members if n not in codes})
    return one


def _is_short(x: Array) -> bool:
    v = x[~np.isnan(x)]
    levels = np.unique(v) if is_whole(v) else v[:0]
    return 2 < len(levels) <= MOST_LEVELS and levels[0] in (0, 1) and levels[-1] <= MOST_LEVELS


def _one_scale(names: list[str], ranges: dict[str, tuple[float, float]]) -> list[str]:
    """The columns that share the commonest range, and those named as they are but for the number."""
    if not names:
        return []
    common, _ = Counter(_steps(ranges[name]) for name in names).most_common(1)[0]
    same = [name for name in names if _steps(ranges[name]) == common]
    shapes = {shape for name in same for shape in _shapes(name)}
    return [name for name in names if name in same or shapes & _shapes(name)]


def _steps(ends: tuple[float, float]) -> tuple[float, float]:
    """The range of a scale; one of many steps is the same whether it counts from 0 or from 1."""
    low, high = ends
    return (0.0, high - 1.0) if low == 1 and high - low + 1 >= MANY_STEPS else ends


def _shapes(name: str) -> set[str]:
    """What a numbered name is like: A1 and O5 by their form, Q7.1 and Q9Nav.3 by their first letters."""
    if not re.search(r"\d", name):
        return set()
    return {re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", name)), re.split(r"\d", name, maxsplit=1)[0] + "#"}


def _items(
    names: list[str],
    measured: list[str],
    scale: list[str],
    columns: dict[str, Array],
    ranges: dict[str, tuple[float, float]],
) -> set[str]:
    """Which columns of few levels are what was measured."""
    two = all(len(np.unique(columns[name][~np.isnan(columns[name])])) == 2 for name in scale)
    few = not two or len(measured) < ENOUGH_MEASURED
    most = len(measured) >= 2 or 3 * len(scale) >= 2 * len(names)
    if len(scale) >= max(LEAST_ITEMS, len(measured) * (2 if two else 1)) and most and few:
        return set(scale)
    numbered = _numbered_scales(names, ranges)
    if len(numbered) >= max(LEAST_FAMILY, len(measured)):
        return numbered
    if len(measured) < 2:
        return {name for name in names if len(np.unique(columns[name])) <= MOST_LEVELS + 1}  # a gap may be one of them
    family = _measured_families(names, measured)
    scales = Counter(ranges[name] for name in measured)
    common = {r for r, n in scales.items() if n >= LEAST_FAMILY and 4 * n >= len(measured) and r != (0.0, 1.0)}
    return {name for name in names if _stem(name) in family or ranges[name] in common}


def _numbered_scales(names: list[str], ranges: dict[str, tuple[float, float]]) -> set[str]:
    """Columns of many steps on one scale that are named alike but for a number: sat_1 to sat_4 are a questionnaire."""
    families: dict[tuple[str, tuple[float, float]], list[str]] = {}
    for name in names:
        low, high = ranges[name]
        if "#" in _stem(name) and high - low + 1 >= MANY_STEPS:
            families.setdefault((_stem(name), _steps(ranges[name])), []).append(name)
    return {name for family in families.values() if len(family) >= LEAST_FAMILY for name in family}


def _measured_families(names: list[str], measured: list[str]) -> set[str]:
    """Numbered names that are mostly measured, and others of the same numbers: Ne9, Ne12, Ne15 beside T9, T12, T15."""
    numbers: dict[str, list[str]] = {}
    for name in (*names, *measured):
        numbers.setdefault(_stem(name), []).append("-".join(re.findall(r"\d+", name)))
    own = Counter(_stem(name) for name in measured)
    large = {s: frozenset(at) for s, at in numbers.items() if "#" in s and len(at) >= LEAST_FAMILY}
    found = {s for s in large if 2 * own[s] >= len(large[s])}
    sets = {large[s] for s in found}
    return {s for s, at in large.items() if at in sets}


def _coded_families(kinds: dict[str, Kind], items: set[str], columns: dict[str, Array]) -> None:
    """Columns of whole numbers that repeat, named as codes are but for the number, are codes too."""
    stems = Counter(_stem(name) for name in kinds)
    coded = Counter(_stem(name) for name, kind in kinds.items() if kind.word in FEW_LEVELS and name not in items)
    for name, x in columns.items():
        stem, v = _stem(name), x[~np.isnan(x)]
        few = "#" in stem and stems[stem] >= LEAST_FAMILY and 2 * coded[stem] >= stems[stem] and kinds[name].word == ""
        if few and is_whole(v) and len(np.unique(v)) <= len(v) / 3:
            kinds[name] = Kind("code", "it is named as other codes are")


def _stem(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _places(kinds: dict[str, Kind], ranges: dict[str, tuple[float, float]]) -> None:
    """Coordinates, where both are there: degrees, or metres from the corner of a map."""
    for first, second, far, reason in COORDINATES:
        pair = [
            [
                name
                for name, (low, high) in ranges.items()
                if (set(name_words(name)) & words or name.lower() in words)
                and (-most <= low and high <= most if not far else low >= far)
            ]
            for words, most in ((first, 90.0), (second, 360.0))
        ]
        for name in pair[0] + pair[1] if all(pair) else ():
            kinds[name] = Kind("place", reason)


def _counted(kinds: dict[str, Kind], columns: dict[str, Array]) -> list[str]:
    """The columns of a table of counts, such as species in plots, that by themselves look like codes: rare ones."""
    whole = {name: x[~np.isnan(x)] for name, x in columns.items() if kinds[name].word in (*MEASURED, *FEW_LEVELS)}
    if len(whole) < LEAST_COUNTED or not all(is_whole(v) and v.min() >= 0 for v in whole.values()):
        return []
    from_zero = sum(v.min() == 0 for v in whole.values()) >= 0.8 * len(whole)
    empty = np.median([(v == 0).mean() for v in whole.values()]) >= 0.3
    several = sum(len(np.unique(v)) > MANY_STEPS for v in whole.values()) >= 0.25 * len(whole)
    return [name for name in whole if kinds[name].word in FEW_LEVELS] if from_zero and empty and several else []


# the same fact twice ------------------------------------------------------------------------------------
def same_facts(labels: dict[str, NDArray[Any]]) -> dict[str, str]:
    """Labels that go with another one to one, the later (or the one in numbers) with the one that says the same.

    >>> number = np.array(["1", "3", "2", None] * 5, dtype=object)
    >>> word = np.array(["first", "third", "second", "first"] * 5, dtype=object)
    >>> same_facts({"pclass": number, "class": word})
    {'pclass': 'class'}
    """
    coded = {name: _coded(values) for name, values in labels.items()}
    coded = {name: code for name, code in coded.items() if 2 <= code.max(initial=-1) + 1 <= MOST_SAME_LEVELS}
    names = sorted(coded, key=lambda name: _in_numbers(labels[name]))  # words first: they are what a person reads
    found: dict[str, str] = {}
    for k, name in enumerate(names):
        for other in names[:k]:
            if other not in found and _one_to_one(coded[name], coded[other]):
                found[name] = other
                break
    return found


def _coded(values: NDArray[Any]) -> NDArray[np.int64]:
    """Levels as numbers from 0, -1 where there is none."""
    seen = np.array([v is not None for v in values], dtype=bool)
    code = np.full(len(values), -1, dtype=np.int64)
    if seen.any():
        code[seen] = np.unique([str(v) for v in values[seen]], return_inverse=True)[1]
    return code


def _in_numbers(values: NDArray[Any]) -> bool:
    return all(re.fullmatch(r"-?\d+(\.\d*)?", str(v)) for v in {*values} - {None})


def _one_to_one(a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    both = (a >= 0) & (b >= 0)
    u = int(a.max()) + 1
    if u != int(b.max()) + 1 or both.sum() < max(LEAST_SAME_ROWS, 3 * u) or 2 * both.sum() < max((a >= 0).sum(), 1):
        return False
    pairs = np.unique(np.stack([a[both], b[both]]), axis=1)
    return pairs.shape[1] == u and len(np.unique(pairs[0])) == u and len(np.unique(pairs[1])) == u
