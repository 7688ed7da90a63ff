"""Numbers that stand for a gap, such as -999: far from all else in their column, and written as people write them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.math.linalg import Array

DISGUISES = [sign * float("9" * k) for k in range(2, 7) for sign in (-1, 1)]
DISGUISES += [-9.0, -99.9, -999.9, -999.99, -9999.99, -8888.0, -7777.0]
DISGUISES += [-32768.0, 32767.0, 65535.0, -1e20, -1e30, 1e20, 1e30]
LEAST_OTHERS = 3  # numbers that a code stands apart from
SURE_OTHERS = 10  # numbers from which a code is taken for what it is
SURE_TIMES = 2  # cells of one column from which it is no slip
MOST_SHARE = 0.5  # of a column: beyond it a code may be a value of its own ("never")


class GapCode(NamedTuple):
    """A number that may stand for gaps: its columns, how often it occurs, and whether there is hardly a doubt."""

    value: float
    columns: tuple[str, ...]
    times: int
    sure: bool


def find_gap_codes(columns: dict[str, Array]) -> list[GapCode]:
    """The codes that occur; sure ones come twice in a column, in less than half of it, and are no value elsewhere.

    >>> bmi = np.r_[np.linspace(18, 45, 40), -99, -99]
    >>> find_gap_codes({"bmi": bmi, "age": np.linspace(20, 80, 42)})
    [GapCode(value=-99.0, columns=('bmi',), times=2, sure=True)]
    """
    ends = {
        name: (np.fmin.reduce(x, initial=np.inf), np.fmax.reduce(x, initial=-np.inf)) for name, x in columns.items()
    }
    found = []
    for code in DISGUISES:
        apart = {name: x for name, x in columns.items() if code in ends[name] and _stands_apart(x, code)}
        times = {name: int((x == code).sum()) for name, x in apart.items()}
        total = sum(times.values())
        if total > 1 or (total and abs(code) >= 99):
            elsewhere = any((x == code).any() for name, x in columns.items() if name not in apart)
            sure = not elsewhere and any(_is_sure(x, times[name]) for name, x in apart.items())
            found.append(GapCode(code, tuple(apart), total, sure))
    return found


def _stands_apart(x: Array, code: float) -> bool:
    """Whether a code is farther from every other number than those are from each other."""
    others = x[~np.isnan(x) & (x != code)]
    spread = float(np.ptp(others)) if len(others) else 0.0
    return len(others) >= LEAST_OTHERS and spread > 0 and bool(np.abs(others - code).min() > max(spread, 1.0))


def _is_sure(x: Array, times: int) -> bool:
    seen = int((~np.isnan(x)).sum())
    return times >= SURE_TIMES and times <= MOST_SHARE * seen and seen - times >= SURE_OTHERS
