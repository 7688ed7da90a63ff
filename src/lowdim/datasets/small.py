"""Small classics as plain facts, as tables of the texts: the Old Faithful geyser, and how far ten cities are apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.maths.linalg import Array

# minutes of an eruption, then minutes until the next: 272 times in a row
FAITHFUL = """
3.6 79 1.8 54 3.333 74 2.283 62 4.533 85 2.883 55 4.7 88 3.6 85 1.95 51 4.35 85 1.833 54 3.917 84 4.2 78 1.75 47
4.7 83 2.167 52 1.75 62 4.8 84 1.6 52 4.25 79 1.8 51 1.75 47 3.45 78 3.067 69 4.533 74 3.6 83 1.967 55 4.083 76
3.85 78 4.433 79 4.3 73 4.467 77 3.367 66 4.033 80 3.833 74 2.017 52 1.867 48 4.833 80 1.833 59 4.783 90 4.35 80
1.883 58 4.567 84 1.75 58 4.533 73 3.317 83 3.833 64 2.1 53 4.633 82 2.0 59 4.8 75 4.716 90 1.833 54 4.833 80
1.733 54 4.883 83 3.717 71 1.667 64 4.567 77 4.317 81 2.233 59 4.5 84 1.75 48 4.8 82 1.817 60 4.4 92 4.167 78
4.7 78 2.067 65 4.7 73 4.033 82 1.967 56 4.5 79 4.0 71 1.983 62 5.067 76 2.017 60 4.567 78 3.883 76 3.6 83 4.133
75 4.333 82 4.1 70 2.633 65 4.067 73 4.933 88 3.95 76 4.517 80 2.167 48 4.0 86 2.2 60 4.333 90 1.867 50 4.817 78
1.833 63 4.3 72 4.667 84 3.75 75 1.867 51 4.9 82 2.483 62 4.367 88 2.1 49 4.5 83 4.05 81 1.867 47 4.7 84 1.783
52 4.85 86 3.683 81 4.733 75 2.3 59 4.9 89 4.417 79 1.7 59 4.633 81 2.317 50 4.6 85 1.817 59 4.417 87 2.617 53
4.067 69 4.25 77 1.967 56 4.6 88 3.767 81 1.917 45 4.5 82 2.267 55 4.65 90 1.867 45 4.167 83 2.8 56 4.333 89
1.833 46 4.383 82 1.883 51 4.933 86 2.033 53 3.733 79 4.233 81 2.233 60 4.533 82 4.817 77 4.333 76 1.983 59
4.633 80 2.017 49 5.1 96 1.8 53 5.033 77 4.0 77 2.4 65 4.6 81 3.567 71 4.0 70 4.5 81 4.083 93 1.8 53 3.967 89
2.2 45 4.15 86 2.0 58 3.833 78 3.5 66 4.583 76 2.367 63 5.0 88 1.933 52 4.617 93 1.917 49 2.083 57 4.583 77
3.333 68 4.167 81 4.333 81 4.5 73 2.417 50 4.0 85 4.167 74 1.883 55 4.583 77 4.25 83 3.767 83 2.033 51 4.433 78
4.083 84 1.833 46 4.417 83 2.183 55 4.8 81 1.833 57 4.8 76 4.1 84 3.966 77 4.233 81 3.5 87 4.366 77 2.25 51
4.667 78 2.1 60 4.35 82 4.133 91 1.867 53 4.6 78 1.783 46 4.367 77 3.85 84 1.933 49 4.5 83 2.383 71 4.7 80 1.867
49 3.833 75 3.417 64 4.233 76 2.4 53 4.8 94 2.0 55 4.15 76 1.867 50 4.267 82 1.75 54 4.483 75 4.0 78 4.117 79
4.083 78 4.267 78 3.917 70 4.55 79 4.083 70 2.417 54 4.183 86 2.217 50 4.45 90 1.883 54 1.85 54 4.283 77 3.95 79
2.333 64 4.15 75 2.35 47 4.933 86 2.9 63 4.583 85 3.833 82 2.083 57 4.367 82 2.133 67 4.35 74 2.2 54 4.45 83
3.567 73 4.5 73 4.15 88 3.817 80 3.917 71 4.45 83 2.0 56 4.283 79 4.767 78 4.533 84 1.85 58 4.25 83 1.983 43
2.25 60 4.75 75 4.117 81 2.15 46 4.417 90 1.817 46 4.467 74
"""
CITIES = ("Atlanta", "Chicago", "Denver", "Houston", "Los Angeles", "Miami", "New York", "San Francisco", "Seattle",
          "Washington")  # fmt: skip
# miles as the crow flies: the triangle below the diagonal
MILES = """
587
1212 920
701 940 879
1936 1745 831 1374
604 1188 1726 968 2339
748 713 1631 1420 2451 1092
2139 1858 949 1645 347 2594 2571
2182 1737 1021 1891 959 2734 2408 678
543 597 1494 1220 2300 923 205 2442 2329
"""
LATITUDES = (33.749, 41.850, 39.739, 29.763, 34.052, 25.774, 40.714, 37.775, 47.606, 38.895)
LONGITUDES = (-84.388, -87.650, -104.985, -95.363, -118.244, -80.194, -74.006, -122.419, -122.332, -77.036)


class KnownTable(NamedTuple):
    """A table that a text works with, as its examples want it."""

    name: str
    about: str
    columns: tuple[str, ...]
    X: Array  # gaps are NaN
    extra: dict[str, np.ndarray[Any, Any]]  # labels, times, places: what is known and no column


def _numbers(text: str) -> Array:
    return np.array(text.split(), dtype=np.float64)


def faithful() -> KnownTable:
    """Old Faithful: how long 272 eruptions lasted and how long the next one was waited for, in minutes.

    Returns
    -------
    KnownTable
        272 x 2.

    Examples
    --------
    >>> table = faithful()
    >>> table.X.shape, table.X.mean(axis=0).round(2)
    ((272, 2), array([ 3.49, 70.9 ]))
    """
    about = "272 eruptions of the Old Faithful geyser: minutes it lasted, minutes to the next"
    return KnownTable("faithful", about, ("eruption", "waiting"), _numbers(FAITHFUL).reshape(-1, 2), {})


def cities() -> KnownTable:
    """Ten cities of the United States: how many miles they are apart, and where they are.

    Returns
    -------
    KnownTable
        10 x 10 distances; `extra["place"]` has latitude and longitude in degrees.

    Examples
    --------
    >>> table = cities()
    >>> table.X[:2, :3], table.columns[1]
    (array([[   0.,  587., 1212.],
           [ 587.,    0.,  920.]]), 'Chicago')
    """
    miles = np.zeros((10, 10))
    miles[np.tril_indices(10, -1)] = _numbers(MILES)
    place = np.column_stack([LATITUDES, LONGITUDES])
    return KnownTable(
        "cities", "miles between ten cities of the United States", CITIES, miles + miles.T, {"place": place}
    )
