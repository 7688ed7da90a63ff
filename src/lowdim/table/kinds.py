"""What columns of numbers are, by names and values, each alone and beside the others: measurements, or something that
is only written as one.

A name alone decides nothing and neither do values: a year is called one and has values that years have. Columns of few
levels are candidates only: what they are is decided beside the others. Those that measure a degree take part, classes
are labels (`taking_part.py`); but where fewer than two columns are measured, the codes are all there is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array
from lowdim.table.taking_part import beside, is_class, normal_scores_of

MOST_LEVELS = 10  # different values up to which whole numbers may be a code
ROWS_A_LEVEL = 5  # rows for each level from which levels can be told from values that happen to repeat
LEAST_ZEROS, LEAST_SKEW = 0.2, 0.05  # of an amount: share of zeros, and log of mean less mean of log (normal: sd 0.3)
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

ID_WORDS = {
    "id", "ids", "uid", "uuid", "guid", "identifier", "rownames", "rowname", "ssn", "isbn", "ean", "upc", "sku",
    "barcode", "serial", "imei", "vin", "iban", "rowid", "unnamed", "sid", "hhid", "gid", "oid", "seqn", "seqno",
    "caseid", "seq", "ref", "refno",
}  # fmt: skip
CALLED_NUMBER = {"no", "nr"}  # as of a census or a house, and nothing else
NUMBER_WORDS = {
    "no", "nr", "num", "number", "index", "idx", "row", "obs", "observation", "sample", "case", "record", "subject",
    "patient", "participant", "respondent", "key", "account", "ticket", "invoice", "phone",
}  # fmt: skip
OWNERS = (
    "user", "patient", "customer", "subject", "order", "client", "item", "movie", "product", "account", "record",
    "case", "sample", "person", "employee", "student", "household", "session", "device", "member", "passenger", "row",
    "obs", "transaction", "store", "shop", "station", "site", "hospital", "artist", "track", "song",
)  # fmt: skip
AREA_WORDS = {"zip", "zipcode", "postcode", "postal", "plz", "fips", "tract", "geoid", "insee", "areacode", "census"}
CODE_WORDS = {
    "code", "type", "class", "category", "group", "grp", "cluster", "label", "species", "status", "region", "zone",
    "county", "state", "province", "district", "batch", "sex", "gender", "race", "ethnicity", "stratum", "strata",
    "block", "subject", "patient", "participant", "respondent", "school", "litter", "religion", "nationality",
    "country", "department", "dept", "industry", "occupation", "brand", "birthplace", "site", "center", "centre",
    "clinic", "institution", "inst", "ward", "flight", "route", "plan", "target", "origin", "variety", "cultivar",
    "diagnosis", "breed", "cohort", "team", "tertile", "tercile", "quartile", "quintile", "decile",
}  # fmt: skip
COUNT_WORDS = {"count", "counts", "number", "num", "nb", "qty", "quantity", "times"}
RANK_WORDS = {"rank", "ranking", "rang", "position", "place"}
TIME_WORDS = {"time", "timestamp", "date", "datetime", "epoch", "unixtime", "t"}
WEIGHT_WORDS, LEAST_WEIGHTS = {"weight", "weights", "wt", "wgt", "pweight", "gewicht", "poids", "peso"}, 30
SAMPLE_SIZES = (["sample", "size"], ["samplesize"], ["nobs"], ["n", "obs"])
CLOCK_WORDS = {"time", "hhmm", "clock"}
LATEST_YEAR, YEAR_SHARE = 2200, 0.99  # a year or two may be mistyped
FIRST_YEAR, LAST_YEAR, LEAST_YEARS = 1900, 2030, 10  # of years that are not called so, and how many different ones
MONTH_ROUNDING = 0.08  # of a month: 2000.08 is February
CLOCK_VALUES = 20  # different times of day from which minutes below 60 are no accident
MOST_COMMON_PART, LEAST_COMMON = 4, 5  # times as often as an even share that a part of a date may occur, and cells
YEAR_WORD = re.compile(r"year(?!s|ly)\w*|yr|jahr|annee|anno")
AGED = re.compile(r"built|build|blt|born|birth|remod|renovat|found|establish|hire")  # its age is measured by it
PARTS = {"month": (1, 12), "day": (0, 366), "weekday": (0, 7), "yday": (0, 366), "hour": (0, 24), "minute": (0, 59)}
PARTS |= {"second": (0, 59), "week": (0, 53), "quarter": (1, 4)}  # name -> values that such a part of a date has
PART_WORDS = {part: part for part in PARTS} | {"mon": "month", "mo": "month", "dow": "weekday", "wday": "weekday"}
PART_WORDS |= {"qtr": "quarter", "trimestre": "quarter", "quartal": "quarter", "kwartaal": "quarter"}
PART_WORDS |= dict.fromkeys(("monat", "mois", "mes", "mese", "maand", "mês", "månad", "miesiąc"), "month")
PART_WORDS |= dict.fromkeys(("tag", "jour", "día", "dia", "giorno", "dag"), "day")
PART_WORDS |= dict.fromkeys(("stunde", "heure", "hora", "uur", "ora"), "hour") | {"wochentag": "weekday"}
PART_WORDS |= dict.fromkeys(("woche", "semaine", "semana", "settimana"), "week")
DATE_PARTS = (*PARTS, "year", "time", "time stamp", "time of day")

LEAST_GROUPS = 10  # groups from which what rows of one group share is no accident
SHARED_COLUMNS = 2  # other columns that stay the same within each group of rows
CHANGING = 0.1  # of the groups at whose borders such a column must change
PARTS_OF_A_DATE = {"yr": "year", "year": "year", "mo": "month", "mon": "month", "month": "month"}
PARTS_OF_A_DATE |= {"da": "day", "dy": "day", "day": "day"}
DATE_NAME = re.compile(rf"({'|'.join(sorted(PARTS_OF_A_DATE, key=len, reverse=True))})[_. ]?(\w\w+)", re.I)
HIGHEST_PART = {"year": 2200, "month": 12, "day": 31}

LEAST_TAKING = 3  # columns that take part, with fewer of which classes do too
LEAST_BESIDE = 2  # measured columns, which say whether codes beside them have an order
LEAST_ITEMS = 5  # columns of one scale from which they are a questionnaire
MEASURED = ("", "count")
LEAST_STEM, LONGEST_PREFIX = 4, 3  # letters of a name that another may extend, and by how many
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


class ZeroShare(NamedTuple):
    """A column beside its zeros: what `is_mostly_zero` asks, from values in memory or from sums over blocks."""

    seen: float
    zeros: float
    low: float  # the least number
    values: float  # how many different ones there are above 0
    mean: float  # of those above 0
    mean_log: float  # of their logarithms


def is_mostly_zero(column: ZeroShare) -> bool:
    """Whether a column is an amount that is often zero, as rain, claims and the area of a pool are: a fifth zeros, none
    negative, and what there is has many values, of several magnitudes.

    >>> rain = np.concatenate([np.zeros(40), np.exp(np.random.default_rng(0).normal(size=60))])
    >>> is_mostly_zero(zero_share(rain)), is_mostly_zero(zero_share(rain + 1.0))
    (True, False)
    """
    if column.low < 0 or column.zeros < LEAST_ZEROS * column.seen or column.values <= MOST_LEVELS:
        return False
    return bool(np.log(column.mean) - column.mean_log >= LEAST_SKEW)


def zero_share(x: Array) -> ZeroShare:
    """The same of values in memory; NaN is a gap."""
    v = x[~np.isnan(x)]
    above = v[v > 0]
    if not len(above):
        return ZeroShare(len(v), float((v == 0).sum()), float(v.min(initial=0.0)), 0, 0.0, 0.0)
    scale = float(above.max())
    mean = float((above / scale).mean())  # in a unit in which no sum is too large
    logs = float(np.log(above).mean()) - np.log(scale)
    return ZeroShare(len(v), float((v == 0).sum()), float(v.min()), len(np.unique(above)), mean, float(logs))


class Kind(NamedTuple):
    """What a column is, in a word, with the reason; "" is a measurement."""

    word: str = ""
    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.word)


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
    complete = len(v) == len(x)
    found = _date_part(words, v, whole) or _stepping(words, v, complete) or _key(words, v, whole)
    found = found or _even(words, v, complete)
    if found:
        return found
    different = len(np.unique(v)) if {*words} & (AREA_WORDS | RANK_WORDS | WEIGHT_WORDS) else 0
    if whole and set(words) & AREA_WORDS and different > 2 and v.min() >= 0:
        return Kind("area", "it is the number of an area")
    if whole and words and words[-1] in RANK_WORDS and v.min() >= 1 and different > MOST_LEVELS:
        return Kind("rank", "a rank orders rows by what was measured")
    size = name == "n" or words in SAMPLE_SIZES
    if size and whole and v.min() >= 1 and len(np.unique(v)) > MOST_LEVELS:
        return Kind("weight", "it is called the size of a sample")
    one = bool(v.min() >= 0 and abs((v / len(v)).sum() - 1) < 0.02) and len(v) >= LEAST_WEIGHTS
    if set(words) & WEIGHT_WORDS and not whole and one and different > MOST_LEVELS:  # of an answer in a survey
        return Kind("weight", "it is called a weight and is 1 on average")
    return _few(words, v, whole)


def is_whole(v: Array) -> bool:
    """Whether all numbers are whole and exact."""
    return bool((np.abs(v) < 2**53).all() and (v == np.round(v)).all())


# dates ----------------------------------------------------------------------------------------------------
def _date_part(words: list[str], v: Array, whole: bool) -> Kind:
    low, high = float(v.min()), float(v.max())
    if any(YEAR_WORD.fullmatch(word) for word in words) and "age" not in words:
        if 1500 <= np.median(v) <= 2100 and (v <= LATEST_YEAR).mean() >= YEAR_SHARE:
            if any(AGED.search(word) for word in words):
                return Kind()
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
    """Whether the middle of the values is near the middle of their range and none of them is much more common than the
    others, as of hours and months; of cigarettes a day most people smoke none, or ten."""
    low, middle, high = float(v.min()), float(np.median(v)), float(v.max())
    commonest = int(np.unique(v, return_counts=True)[1].max())
    central = 0.2 * (high - low) <= middle - low <= 0.8 * (high - low)
    return central and commonest <= max(MOST_COMMON_PART * len(v) / (high - low + 1), LEAST_COMMON)


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
    if last in CALLED_NUMBER and KEY_SHARE * len(v) <= different < len(v):
        return Kind("id", f"it is called a number ({different:,} different of {len(v):,})")
    if different < len(v):
        many = _all_codes(words) and max(MOST_LEVELS, len(v) / 3) < different
        return Kind("key", f"it is called a code and has {different:,} values") if many else Kind()
    if last in NUMBER_WORDS or (_all_codes(words) and len(v) >= LEAST_KIND_ROWS):
        return Kind("id", "it is called so and different in every row")
    if len(v) >= 2 * LEAST_KIND_ROWS and missed_ties(v) >= MISSED_TIES:
        return Kind("numbering", "no two rows share a value, where chance would make some do so")
    return Kind()


def _even(words: list[str], v: Array, complete: bool) -> Kind:
    """A counter of rows that were shuffled: equal steps, each once."""
    if not complete or len(v) < 2 * LEAST_STEPS or set(words) & RANK_WORDS:
        return Kind()
    steps = np.diff(np.sort(v))
    rounding = 4 * np.finfo(float).eps * float(np.abs(v).max())
    if steps[0] > 1e3 * rounding and (np.abs(steps - steps[0]) <= 1e-6 * steps[0] + rounding).all():
        return Kind("time" if set(words) & TIME_WORDS else "numbering", "its values are equal steps, each once")
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
    low = 0 if levels[-1] > HIGHEST_FIRST_LEVEL else -HIGHEST_FIRST_LEVEL  # -3, -2, ... 3 are grades too
    if low <= levels[0] <= HIGHEST_FIRST_LEVEL and span + 1 <= SPARSE_LEVELS * u and "age" not in words:
        return Kind("code", f"it has {u} levels")
    if 2 * _long_codes(levels) >= u and len(v) >= ROWS_A_LONG_CODE * u:
        return Kind("code", f"it has {u} levels, such as {levels[-1]:.0f}")
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


# groups of rows, parts of one date -----------------------------------------------------------------------------
def group_keys(columns: dict[str, Array]) -> dict[str, Kind]:
    """Columns that number groups of rows: 1, 2, ... equally often, or sorted where others stay the same with them.

    >>> person, fixed = np.repeat(np.arange(12.0) * 7 + 3, 4), np.random.default_rng(0).normal(size=(2, 12))
    >>> list(group_keys({"who": person, "a": np.repeat(fixed[0], 4), "b": np.repeat(fixed[1], 4)}))
    ['who']
    """
    whole = {name: x for name, x in columns.items() if not np.isnan(x).any() and is_whole(x)}
    keys = {
        name: Kind("key", f"it numbers groups of {size} rows each") for name, x in whole.items() if (size := _equal(x))
    }
    rising = [name for name, x in whole.items() if name not in keys and _sorted_groups(x)]
    if not rising:
        return keys
    X = np.column_stack(list(columns.values()))
    changes = (X[1:] != X[:-1]) & ~(np.isnan(X[1:]) & np.isnan(X[:-1]))
    at = {name: j for j, name in enumerate(columns)}
    for name in rising:
        border = changes[:, at[name]]
        within = (changes & ~border[:, None]).any(axis=0)
        shared = ~within & (changes.sum(axis=0) >= CHANGING * border.sum())
        if shared.sum() - 1 >= SHARED_COLUMNS:  # itself aside
            keys[name] = Kind(
                "key", f"rows come in its order, and {shared.sum() - 1} columns stay the same within each"
            )
    return keys


def _equal(v: Array) -> int:
    """How often each of the numbers 1, 2, ..., k occurs, where all occur equally often, twice at least; else 0."""
    levels, times = np.unique(v, return_counts=True)
    running = len(levels) >= LEAST_GROUPS and levels[0] in (0, 1) and levels[-1] - levels[0] + 1 == len(levels)
    return int(times[0]) if running and times[0] >= 2 and (times == times[0]).all() else 0


def _sorted_groups(v: Array) -> bool:
    step = np.diff(v)
    groups = 1 + int((step > 0).sum())
    return bool((step >= 0).all()) and LEAST_GROUPS <= groups <= len(v) / 2


def date_families(columns: dict[str, Array]) -> dict[str, Kind]:
    """Parts of one date by their names beside each other: yrdth, modth, dadth.

    >>> day, month = np.tile(np.arange(1.0, 29), 4), np.repeat(np.arange(3.0, 7), 28)
    >>> {name: kind.word for name, kind in date_families({"modth": month, "dadth": day, "mode": day}).items()}
    {'modth': 'month', 'dadth': 'day'}
    """
    parts: dict[str, dict[str, str]] = {}
    for name, x in columns.items():
        match = DATE_NAME.fullmatch(name)
        part = PARTS_OF_A_DATE[match[1].lower()] if match else ""
        v = x[~np.isnan(x)]
        if match and is_whole(v) and v.min() >= 0 and v.max() <= HIGHEST_PART[part]:
            parts.setdefault(match[2].lower(), {})[name] = part
    families = [members for members in parts.values() if len(set(members.values())) >= 2]
    return {name: Kind(part, f"a {part} is a part of a date") for members in families for name, part in members.items()}


# beside each other ---------------------------------------------------------------------------------------------
class Found(NamedTuple):
    """What a table's columns of numbers are, by name; those not listed are measurements."""

    kinds: dict[str, Kind]
    items: dict[str, tuple[float, ...]]  # those that have few levels, with these
    amounts: set[str]  # those of them that measure amounts, as columns do that go with them
    counts: tuple[str, ...]  # those that count
    doubtful: dict[str, Kind]  # those that are measurements only because little else is


def kinds_of(
    columns: dict[str, Array], fixed: Collection[str] = (), logged: Collection[str] = (), *, named: bool = True
) -> Found:
    """What each column of numbers is, decided beside the others; those that are `fixed` are measured, as asked, and
    those that are `logged` amounts. Where columns are not `named` by the file, names that are alike mean nothing."""
    if not named:
        own = {re.sub(r"\d", lambda digit: "abcdefghij"[int(digit[0])], name): name for name in columns}
        asked_for, logs = ([alias for alias, name in own.items() if name in some] for some in (fixed, logged))
        other = kinds_of({alias: columns[name] for alias, name in own.items()}, asked_for, logs)
        return Found(
            {own[alias]: kind for alias, kind in other.kinds.items()},
            {own[alias]: levels for alias, levels in other.items.items()},
            {own[alias] for alias in other.amounts},
            tuple(own[alias] for alias in other.counts),
            {own[alias]: kind for alias, kind in other.doubtful.items()},
        )
    columns = {name: x for name, x in columns.items() if not np.isnan(x).all()}
    kinds = {name: kind_of(name, x) for name, x in columns.items()}
    for found in (group_keys(columns), date_families(columns)):
        kinds.update({name: kind for name, kind in found.items() if kinds[name].word in ("", "count", "code")})
    ranges = {name: (float(np.nanmin(x)), float(np.nanmax(x))) for name, x in columns.items()}
    _places(kinds, ranges)
    numbered = Counter(ranges[name] for name, kind in kinds.items() if kind.word == "numbering")
    for name, kind in kinds.items():  # ranks of several things, each a measure: they share their range
        if kind.word == "numbering" and numbered[ranges[name]] >= LEAST_FAMILY:
            kinds[name] = Kind()
    counted = _counted(kinds, columns)
    kinds.update(dict.fromkeys(counted, Kind("count", "it counts, as the others do")))
    short = set[str]()  # whole numbers from 0 or 1 to a few, each of which may be an item
    for name, x in columns.items():
        if ranges[name][0] in (0, 1) and 1 < ranges[name][1] <= MOST_LEVELS and is_whole(v := x[~np.isnan(x)]):
            short |= {name} if 2 < len(np.unique(v)) <= MOST_LEVELS else set()
    kinds.update(_like_relatives(kinds, short, ranges))
    asked = {name for name in fixed if name in kinds and kinds[name].word in FEW_LEVELS and name not in logged}
    kinds.update(
        {n: Kind() for n, kind in kinds.items() if n in fixed and n not in asked and kind.word not in MEASURED}
    )
    open_ones = [name for name, kind in kinds.items() if kind.word in FEW_LEVELS]
    measured = [name for name, kind in kinds.items() if kind.word in MEASURED]
    likely = [name for name in measured if name in short and name not in fixed and not counted]
    scale = _one_scale([name for name in open_ones if not _called_class(name, columns[name])] + likely, ranges)
    if len(scale) >= max(LEAST_ITEMS, len(measured)):  # a questionnaire: a skew item is like a count, but is one of it
        open_ones += [name for name in scale if name not in open_ones]
        measured = [name for name in measured if name not in scale]
        amounts = set[str]()
    else:
        scale, amounts = [], _like_measured(open_ones, measured, ranges) - asked
    grades = _grades([name for name in open_ones if name not in amounts], measured, scale, columns)
    items = amounts | grades | {name for name in open_ones if name in asked}
    _coded_families(kinds, items, columns)
    for name in open_ones:
        if name in items:
            kinds[name] = Kind()
        elif kinds[name].word not in FEW_LEVELS:
            kinds[name] = Kind("code", "it has few levels")
    doubtful = dict[str, Kind]()
    for word in DOUBTFUL:  # nothing else was measured
        if sum(kind.word in MEASURED for kind in kinds.values()) < 2:
            doubtful |= {name: kind for name, kind in kinds.items() if kind.word == word}
            kinds.update(dict.fromkeys(doubtful, Kind()))
    levels = {name: tuple(np.unique(x[~np.isnan(x)]).tolist()) for name, x in columns.items() if name in items}
    counts = tuple(name for name, kind in kinds.items() if kind.word == "count" and name not in items)
    aside = {name: kind for name, kind in kinds.items() if kind.word not in MEASURED}
    return Found(aside, levels, amounts, counts, doubtful)


def _like_relatives(kinds: dict[str, Kind], short: set[str], ranges: dict[str, tuple[float, float]]) -> dict[str, Kind]:
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
        if len(words) > 1 and (kind.word == "code" or (kind.word in MEASURED and name in short)):
            families.setdefault((words[-1], ranges[name]), []).append(name)
    for members in families.values():
        coded = sum(kinds[name].word == "code" for name in members)
        if 2 * coded > len(members) > coded:
            one.update({n: Kind("code", "it is named as other codes are") for n in members if n not in codes})
    return one


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


def _grades(names: list[str], measured: list[str], scale: list[str], columns: dict[str, Array]) -> set[str]:
    """Which columns of few levels measure a degree: those of one scale, and all others that are no classes; all of them
    where they are all there is."""
    uncalled = [name for name in names if not _called_class(name, columns[name])]
    found = {*scale, *uncalled}
    if len(measured) >= LEAST_BESIDE:
        scores = normal_scores_of({name: columns[name] for name in (*measured, *uncalled)})
        found -= {n for n in uncalled if n not in scale and is_class(columns[n], beside(scores, n))}
    if len(measured) < LEAST_BESIDE and len(measured) + len(found) < LEAST_TAKING:  # a gap may be one of their levels
        found = {name for name in names if len(np.unique(columns[name])) <= MOST_LEVELS + 1}
    return found


def _like_measured(names: list[str], measured: list[str], ranges: dict[str, tuple[float, float]]) -> set[str]:
    """Which columns of few levels are amounts, as others are that go with them: the same numbers in numbered names
    (Ne9, Ne12, Ne15 beside T9, T12, T15), or their scale (0, 5, 10 among scores from 0 to 10)."""
    numbers: dict[str, list[str]] = {}
    for name in (*names, *measured):
        numbers.setdefault(_stem(name), []).append("-".join(re.findall(r"\d+", name)))
    own = Counter(_stem(name) for name in measured)
    large = {s: frozenset(at) for s, at in numbers.items() if "#" in s and len(at) >= LEAST_FAMILY}
    sets = {at for s, at in large.items() if 2 * own[s] >= len(at)}
    scales = Counter(ranges[name] for name in measured)
    common = {r for r, n in scales.items() if n >= LEAST_FAMILY and 4 * n >= len(measured) and r != (0.0, 1.0)}
    return {name for name in names if large.get(_stem(name)) in sets or ranges[name] in common}


def _called_class(name: str, x: Array) -> bool:
    """Whether a column is called a class, or has long codes for its levels."""
    levels = np.unique(x[~np.isnan(x)])
    return _called_code(name_words(name)) or 2 * _long_codes(levels) >= len(levels)


def _long_codes(levels: Array) -> int:
    """How many levels are written with many figures that are no zeros at their ends."""
    return sum(len(f"{abs(level):.0f}".strip("0")) >= CODE_DIGITS for level in levels)


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


# numbers of what a label names -------------------------------------------------------------------------
def codes_of_labels(columns: dict[str, Array], labels: dict[str, NDArray[Any]]) -> dict[str, Kind]:
    """Columns of whole numbers that number the values of a label: each goes with one of them, and they are called
    numbers, or no two are alike where chance would make some so. What is measured of each value has ties.

    >>> country = np.repeat([f"country {k}" for k in range(60)], 5).astype(object)
    >>> number = np.repeat(np.random.default_rng(0).permutation(200)[:60] * 1.0, 5)
    >>> list(codes_of_labels({"m49": number}, {"country": country}))
    ['m49']
    """
    called = dict[str, NDArray[np.int64]]()  # which level each row has
    for name, x in columns.items():
        seen = ~np.isnan(x)
        if not is_whole(x[seen]):
            continue
        levels, at = np.unique(x[seen], return_inverse=True)
        if LEAST_GROUPS <= len(levels) <= seen.sum() / 2 and _key(name_words(name), levels, True):
            own = np.full(len(x), -1, dtype=np.int64)
            own[seen] = at
            called[name] = own
    found: dict[str, Kind] = {}
    for label, values in labels.items() if called else ():
        code = _coded(values)
        for name, own in called.items():
            if name not in found and _one_to_one(own, code):
                found[name] = Kind("key", f"each of its numbers goes with one '{label}'")
    return found


# the same fact twice ------------------------------------------------------------------------------------
def same_facts(labels: dict[str, NDArray[Any]], first: Collection[str] = ()) -> dict[str, str]:
    """Labels that go with another one to one, the later (or the one in numbers) with the one that says the same; none
    of those that come `first` is left out.

    >>> number = np.array(["1", "3", "2", None] * 5, dtype=object)
    >>> word = np.array(["first", "third", "second", "first"] * 5, dtype=object)
    >>> same_facts({"pclass": number, "class": word})
    {'pclass': 'class'}
    """
    coded = {name: _coded(values) for name, values in labels.items()}
    coded = {name: code for name, code in coded.items() if 2 <= code.max(initial=-1) + 1 <= MOST_SAME_LEVELS}
    # words before numbers: they are what a person reads
    names = sorted(coded, key=lambda name: (name not in first, _in_numbers(labels[name])))
    found: dict[str, str] = {}
    for k, name in enumerate(names):
        for other in names[:k] if name not in first else ():
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
