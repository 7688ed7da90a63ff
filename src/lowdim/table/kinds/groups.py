"""Columns that name groups of rows and are not called so: their numbers say it, or their names beside each other."""

from __future__ import annotations

import re

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.table.kinds.single import Kind, is_whole

LEAST_GROUPS = 10  # groups from which what rows of one group share is no accident
SHARED_COLUMNS = 2  # other columns that stay the same within each group of rows
CHANGING = 0.1  # of the groups at whose borders such a column must change
LEAST_PARTS = 3  # columns that share the rows among them
LEAST_PART = 2  # rows in which a part is not zero
PARTS_OF_A_DATE = {"yr": "year", "year": "year", "mo": "month", "mon": "month", "month": "month"}
PARTS_OF_A_DATE |= {"da": "day", "dy": "day", "day": "day"}
DATE_NAME = re.compile(rf"({'|'.join(sorted(PARTS_OF_A_DATE, key=len, reverse=True))})[_. ]?(\w\w+)", re.I)
HIGHEST_PART = {"year": 2200, "month": 12, "day": 31}


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


def part_families(columns: dict[str, Array]) -> dict[str, Kind]:
    """Columns numbered alike of which each row has only one that is not zero: a trend, a price, within one group.

    >>> group, when = np.repeat([1, 2, 3], 8), np.tile(np.arange(1.0, 9), 3)
    >>> [*part_families({f"trend_{k}": when * (group == k) for k in (1, 2, 3)})]
    ['trend_1', 'trend_2', 'trend_3']
    """
    families: dict[str, list[str]] = {}
    for name, x in columns.items():
        stem = re.sub(r"\d+", "#", name)
        if "#" in stem and not np.isnan(x).any() and LEAST_PART <= (x != 0).sum() <= len(x) / 2:
            families.setdefault(stem, []).append(name)
    found: dict[str, Kind] = {}
    for names in families.values():
        apart = len(names) >= LEAST_PARTS and (np.column_stack([columns[n] for n in names]) != 0).sum(axis=1).max() == 1
        found |= dict.fromkeys(names if apart else (), Kind("part", "it is zero but in one group of rows"))
    return found


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
