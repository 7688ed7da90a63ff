"""What one column of numbers is, by its name and its values: a measurement, or something that is only written as one.

A name alone decides nothing and neither do values: a year is called one and has values that years have. Columns of few
levels are candidates only; what they are is decided beside the others (`kinds/together.py`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask

MOST_LEVELS = 10  # different values up to which whole numbers may be a code
ROWS_A_LEVEL = 5  # rows for each level from which levels can be told from values that happen to repeat
LEAST_KIND_ROWS = 10  # rows from which few different values mean something
HIGHEST_FIRST_LEVEL = 5  # codes begin low: 36, 37, ... 41 are degrees
MOST_GRADES = 4  # levels from no to yes
SPARSE_LEVELS = 2  # a code uses at least one in so many of the numbers it spans: 0, 5, 10 are marks
MISSED_TIES = 8.0  # ties that chance would give and that are not there: e^-8 is less than one in a thousand
LEAST_STEPS = 10  # rows from which equal steps are no accident
LEAST_RUN = 5  # rows on average that a counter within groups goes on for
CODE_DIGITS, ROWS_A_LONG_CODE = (
    3,
    20,
)  # 3111 and 3112, each over and over: nothing measured to so many figures repeats so
KEY_SHARE = 0.8  # share of different values from which a key names rows; below it names groups

ID_WORDS = {"id", "ids", "uid", "uuid", "guid", "identifier", "rownames", "rowname", "ssn", "isbn", "ean", "upc", "sku"}
ID_WORDS |= {"barcode", "serial", "imei", "vin", "iban", "rowid", "unnamed", "sid", "hhid", "gid", "oid"}
ID_WORDS |= {"seqn", "seqno", "caseid", "seq", "ref", "refno"}
NUMBER_WORDS = {"no", "nr", "num", "number", "index", "idx", "row", "obs", "observation", "sample", "case", "record"}
NUMBER_WORDS |= {"subject", "patient", "participant", "respondent", "key", "account", "ticket", "invoice", "phone"}
OWNERS: tuple[str, ...] = (
    "user",
    "patient",
    "customer",
    "subject",
    "order",
    "client",
    "item",
    "movie",
    "product",
    "account",
    "record",
)
OWNERS += ("case", "sample", "person", "employee", "student", "household", "session", "device", "member", "passenger")
OWNERS += ("row", "obs", "transaction", "store", "shop", "station", "site", "hospital", "artist", "track", "song")
AREA_WORDS = {"zip", "zipcode", "postcode", "postal", "plz", "fips", "tract", "geoid", "insee", "areacode", "census"}
CODE_WORDS = {"code", "type", "class", "category", "group", "grp", "cluster", "label", "species", "status", "region"}
CODE_WORDS |= {"zone", "county", "state", "province", "district", "batch", "sex", "gender", "race", "ethnicity"}
CODE_WORDS |= {"stratum", "strata", "block", "subject", "patient", "participant", "respondent", "school", "litter"}
CODE_WORDS |= {"religion", "nationality", "country", "department", "dept", "industry", "occupation", "brand"}
CODE_WORDS |= {
    "birthplace",
    "site",
    "center",
    "centre",
    "clinic",
    "institution",
    "inst",
    "ward",
    "flight",
    "route",
    "plan",
}
COUNT_WORDS = {"count", "counts", "number", "num", "nb", "qty", "quantity", "times"}
RANK_WORDS = {"rank", "ranking", "rang", "position", "place"}
TIME_WORDS = {"time", "timestamp", "date", "datetime", "epoch", "unixtime", "t"}
WEIGHT_WORDS, LEAST_WEIGHTS = {"weight", "weights", "wt", "wgt", "pweight", "gewicht", "poids", "peso"}, 30
CLOCK_WORDS = {"time", "hhmm", "clock"}
LATEST_YEAR, YEAR_SHARE = 2200, 0.99  # a year or two may be mistyped
FIRST_YEAR, LAST_YEAR, LEAST_YEARS = 1900, 2030, 10  # of years that are not called so, and how many different ones
MONTH_ROUNDING = 0.08  # of a month: 2000.08 is February
CLOCK_VALUES = 20  # different times of day from which minutes below 60 are no accident
YEAR_WORD = re.compile(r"year(?!s|ly)\w*|yr|jahr|annee|anno")
PARTS = {"month": (1, 12), "day": (0, 366), "weekday": (0, 7), "yday": (0, 366), "hour": (0, 24), "minute": (0, 59)}
PARTS |= {"second": (0, 59), "week": (0, 53), "quarter": (1, 4)}  # name -> values that such a part of a date has
PART_WORDS = {part: part for part in PARTS} | {"mon": "month", "mo": "month", "dow": "weekday", "wday": "weekday"}
PART_WORDS |= {"qtr": "quarter", "trimestre": "quarter", "quartal": "quarter", "kwartaal": "quarter"}
PART_WORDS |= dict.fromkeys(("monat", "mois", "mes", "mese", "maand", "mês", "månad", "miesiąc"), "month")
PART_WORDS |= dict.fromkeys(("tag", "jour", "día", "dia", "giorno", "dag"), "day")
PART_WORDS |= dict.fromkeys(("stunde", "heure", "hora", "uur", "ora"), "hour") | {"wochentag": "weekday"}
PART_WORDS |= dict.fromkeys(("woche", "semaine", "semana", "settimana"), "week")
DATE_PARTS = (*PARTS, "year", "time", "time stamp", "time of day")


class Kind(NamedTuple):
    """What a column is, in a word, with the reason; "" is a measurement."""

    word: str = ""
    reason: str = ""


def name_words(name: str) -> list[str]:
    """The words of a name, small, numbers aside.

    >>> name_words("hospitalID"), name_words("lesion_type1"), name_words("YrSold")
    (['hospital', 'id'], ['lesion', 'type'], ['yr', 'sold'])
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return [word.lower() for word in re.findall(r"[^\W\d_]+", spaced)]


def kind_of(name: str, x: Array) -> Kind:
    """What a column is; codes, yes/no and counts are candidates, and all else is a measurement.

    >>> kind_of("ID", np.array([1002945.0, 1015425, 1016277, 1017023, 1017122])).word
    'id'
    >>> kind_of("model_year", np.repeat(np.arange(70.0, 83), 10)).word, kind_of("age", np.arange(40.0) % 31 + 20).word
    ('year', '')
    """
    v, words = x[~np.isnan(x)], name_words(name)
    if len(v) < 3:
        return Kind()
    whole = is_whole(v)
    for found in (
        _date_part(words, v, whole),
        _stepping(words, v, len(v) == len(x)),
        _key(words, v, whole),
        _area(words, v, whole),
        _rank(words, v, whole),
        _weight(words, v, whole),
        _few(words, v, whole),
    ):
        if found.word:
            return found
    return Kind()


def is_whole(v: Array) -> bool:
    """Whether all numbers are whole and exact."""
    return bool((np.abs(v) < 2**53).all() and (v == np.round(v)).all())


# dates ----------------------------------------------------------------------------------------------------
def _date_part(words: list[str], v: Array, whole: bool) -> Kind:
    low, high = float(v.min()), float(v.max())
    if any(YEAR_WORD.fullmatch(word) for word in words) and "age" not in words:
        if 1500 <= np.median(v) <= 2100 and (v <= LATEST_YEAR).mean() >= YEAR_SHARE:
            return Kind("year", "a year orders rows; it does not measure them")
        if whole and low >= 0 and high <= 99 and len(np.unique(v)) > 4 and words[-1] != "old":
            return Kind("year", "a year of two digits")
    for word in words:
        part = PART_WORDS.get(word, "")
        can_be = part and whole and "per" not in words and PARTS[part][0] <= low and high <= PARTS[part][1]
        if can_be and (len(words) == 1 or _spreads(v)):
            return Kind(part, f"a {part} is a part of a date")
    if words and words[-1] in TIME_WORDS and whole and low > 1e8 and high < 2.2e9:
        return Kind("time stamp", "seconds since 1970")
    if set(words) & CLOCK_WORDS and is_clock(v):
        return Kind("time of day", "hours and minutes, such as 1530")
    if set(words) & TIME_WORDS and low >= 1500 and high <= LATEST_YEAR and ("date" in words or _year_parts(v)):
        return Kind("time", "a year and its part, such as 2000.25")
    if whole and _like_years(v):
        return Kind("year", f"whole numbers from {low:.0f} to {high:.0f}, as years are")
    return Kind()


def _spreads(v: Array) -> bool:
    """Whether the middle of the values is near the middle of their range, as of hours and months; of cigarettes a day
    most people smoke none."""
    low, middle, high = float(v.min()), float(np.median(v)), float(v.max())
    return 0.2 * (high - low) <= middle - low <= 0.8 * (high - low)


def _like_years(v: Array) -> bool:
    """Whether whole numbers that nobody calls years can hardly be anything else: close together, around 2000.

    >>> hired = np.random.default_rng(0).integers(1968, 2016, 300) * 1.0
    >>> _like_years(hired), _like_years(hired * 2)
    (True, False)
    """
    if v.min() < FIRST_YEAR or v.max() > LAST_YEAR:
        return False
    different = len(np.unique(v))
    return different >= LEAST_YEARS and bool(2 * different > np.ptp(v)) and len(v) >= 2 * different


def impossible_years(v: Array) -> Mask:
    """The cells of a column of years that no year can be.

    >>> np.flatnonzero(impossible_years(np.array([1998.0, 2004, 2207, np.nan]))).tolist()
    [2]
    """
    if not 1500 <= np.nanmedian(v) <= 2100:
        return np.zeros(len(v), dtype=bool)
    return np.asarray(v > 2100)  # there were years before Christ


def is_clock(v: Array) -> bool:
    """Whether numbers are times of day written as 930 or 1545: whole, below 2400, and no minute above 59.

    >>> is_clock(np.array([100.0 * h + m for h in range(6, 20) for m in (0, 5, 59)]))
    True
    >>> is_clock(np.arange(0.0, 2400, 30))
    False
    """
    late = is_whole(v) and bool(v.min() >= 0 and 1000 <= v.max() <= 2400)
    return late and bool((v % 100 < 60).all()) and len(np.unique(v)) >= CLOCK_VALUES


def _year_parts(v: Array) -> bool:
    """Whether numbers are years in months or quarters: 2000, 2000.083, ...; a year alone may be a duration."""
    return not is_whole(v) and bool((np.abs(v * 12 - np.round(v * 12)) <= MONTH_ROUNDING).all())


# ids ------------------------------------------------------------------------------------------------------
def _stepping(words: list[str], v: Array, complete: bool) -> Kind:
    """Counters: 1, 2, 3, ... over all rows, anew in each group, or in equal steps."""
    if not complete or len(v) < LEAST_STEPS:
        return Kind()
    step = np.diff(v)
    rounding = 4 * np.finfo(float).eps * float(np.abs(v).max())
    if abs(step[0]) > 1e3 * rounding and (np.abs(step - step[0]) <= 1e-6 * abs(step[0]) + rounding).all():
        return Kind("time" if set(words) & TIME_WORDS else "counter", "it runs on in equal steps")
    start = v[0]
    if start not in (0, 1) and not set(words) & TIME_WORDS:
        return Kind()
    again = step < 0
    runs = 1 + int(again.sum())
    skips = ~again & (step != 1)  # a row that was lost
    near = (v[1:][again] <= start + 2).all() and (step[skips] <= 3).all() and (step[skips] > 0).all()
    if start in (0, 1) and runs > 1 and near and skips.mean() <= 0.05 and len(v) >= LEAST_RUN * runs:
        return Kind("group counter", f"it counts from {start:.0f} anew, {runs} times")
    if set(words) & TIME_WORDS and (step > 0).all():
        return Kind("time", "it rises from row to row")
    return Kind()


def _key(words: list[str], v: Array, whole: bool) -> Kind:
    """Names of rows or of groups: they are called so, or no two are alike where chance would make some so."""
    if not whole or set(words) & RANK_WORDS:
        return Kind()
    different = len(np.unique(v))
    last = words[-1] if words else ""
    if last in ID_WORDS or (last.endswith("id") and last[:-2] in OWNERS):
        if different >= KEY_SHARE * len(v):
            return Kind("id", f"it is called an id ({different:,} different of {len(v):,})")
        return Kind("key", f"it is called an id and names {different:,} groups")
    if different < len(v):
        many = _all_codes(words) and max(MOST_LEVELS, len(v) / 3) < different
        return Kind("key", f"it is called a code and has {different:,} values") if many else Kind()
    if last in NUMBER_WORDS or (_all_codes(words) and len(v) >= LEAST_KIND_ROWS):
        return Kind("id", "it is called so and different in every row")
    if len(v) >= 2 * LEAST_KIND_ROWS and missed_ties(v) >= MISSED_TIES:
        return Kind("numbering", "no two rows share a value, where chance would make some do so")
    return Kind()


def _called_code(words: list[str]) -> bool:
    return bool(words) and (words[-1] in CODE_WORDS or words[-1].endswith("code"))


def _all_codes(words: list[str]) -> bool:
    """Whether a name says nothing but that it is a code: district, country_code, cowcode."""
    return _called_code(words) and all(word in CODE_WORDS or word.endswith("code") for word in words)


def missed_ties(v: Array) -> float:
    """How many pairs of equal values chance would give among whole numbers that are all different.

    As many pairs should be 0 apart as are, on average, 1, 2, ..., k apart in one direction: a number that is measured
    knows nothing of the others.

    >>> missed_ties(np.random.default_rng(0).permutation(100) + 1.0) > 40, missed_ties(np.arange(1, 30) ** 3.0) < 1
    (True, True)
    """
    s = np.sort(v)
    for k in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        pairs = float((np.searchsorted(s, s + k, side="right") - np.arange(len(s)) - 1).sum())
        if pairs >= 5 * MISSED_TIES:
            return pairs / (2 * k)
    return 0.0


def _area(words: list[str], v: Array, whole: bool) -> Kind:
    if whole and set(words) & AREA_WORDS and len(np.unique(v)) > 2 and v.min() >= 0:
        return Kind("area", "it is the number of an area")
    return Kind()


def _rank(words: list[str], v: Array, whole: bool) -> Kind:
    if whole and words and words[-1] in RANK_WORDS and v.min() >= 1 and len(np.unique(v)) > MOST_LEVELS:
        return Kind("rank", "a rank orders rows by what was measured")
    return Kind()


def _weight(words: list[str], v: Array, whole: bool) -> Kind:
    """The weight of an answer in a survey: called so, and 1 on average."""
    called = bool(set(words) & WEIGHT_WORDS) and not whole and len(v) >= LEAST_WEIGHTS
    if called and v.min() >= 0 and abs(v.mean() - 1) < 0.02 and len(np.unique(v)) > MOST_LEVELS:
        return Kind("weight", "it is called a weight and is 1 on average")
    return Kind()


# levels ---------------------------------------------------------------------------------------------------
def _few(words: list[str], v: Array, whole: bool) -> Kind:
    """Few different values: yes/no, a code or grade, or a count; candidates all."""
    if not whole and len({*v[: 2 * MOST_GRADES].tolist()}) > MOST_GRADES:
        return Kind()  # and most columns of a wide table end here
    levels, times = np.unique(v, return_counts=True)
    u = len(levels)
    if len(v) < LEAST_KIND_ROWS or u < 2:
        return Kind()
    if u == 2:
        return Kind("yes/no", "it has two values")
    if whole and _called_code(words) and u <= len(v) / 3:
        return Kind("code", f"it is called so and has {u} levels")
    if not whole and u <= MOST_GRADES and u <= len(v) / ROWS_A_LEVEL and _graded(levels):
        return Kind("code", f"it has {u} levels in equal steps from 0 to 1")
    if not whole or u > min(MOST_LEVELS, len(v) / ROWS_A_LEVEL):
        return Kind("count") if whole and is_count(levels, times) else Kind()
    if set(words) & COUNT_WORDS or is_count(levels, times):
        return Kind("count", "it counts")
    span = levels[-1] - levels[0]
    if 0 <= levels[0] <= HIGHEST_FIRST_LEVEL and span + 1 <= SPARSE_LEVELS * u and "age" not in words:
        return Kind("code", f"it has {u} levels")
    odd = [len(f"{abs(level):.0f}".strip("0")) >= CODE_DIGITS for level in levels]
    if sum(odd) >= u / 2 and len(v) >= ROWS_A_LONG_CODE * u:
        return Kind("code", f"it has {u} levels, such as {levels[odd][0]:.0f}")
    return Kind()


def _graded(levels: Array) -> bool:
    """Whether levels go from 0 to 1 in equal steps: 0, 0.5, 1 are no, somewhat, yes."""
    return bool(levels[0] == 0 and levels[-1] == 1 and np.ptp(np.diff(levels)) < 1e-9)


def is_count(levels: Array, times: NDArray[np.intp]) -> bool:
    """Whether whole numbers are like counts: from 0 or 1 on, the first most common, ever fewer up to a rare last.

    >>> is_count(np.array([0.0, 1, 2, 3, 4, 5, 8]), np.array([608, 209, 28, 16, 18, 5, 7]))
    True
    >>> is_count(np.arange(10.0), np.array([119, 119, 87, 59, 35, 39, 8, 16, 9, 8]))
    True
    >>> is_count(np.array([1.0, 2, 3]), np.array([216, 184, 491]))
    False
    """
    if len(levels) < 4 or levels[0] not in (0, 1):
        return False
    top = int(np.argmax(times))
    if levels[2] - levels[0] > (
        3 if top == 0 and len(levels) <= MOST_LEVELS else 2
    ):  # of a few rows one number may be missing
        return False
    after = times[top:].astype(float)
    falls = np.diff(after) <= 1.8 * np.sqrt(after[1:] + after[:-1])  # or rises no more than chance may
    return bool(levels[top] - levels[0] <= (levels[-1] - levels[0]) / 4 and falls.all() and after[-1] <= 0.1 * after[0])
