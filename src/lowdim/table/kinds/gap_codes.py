"""Numbers that stand for a gap, such as -999: far from all else in their column, and written as people write them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.maths.linalg import Array

DISGUISES = [sign * float("9" * k) for k in range(2, 7) for sign in (-1, 1)]
DISGUISES += [-9.0, -99.9, -999.9, -999.99, -9999.99, -8888.0, -7777.0]
DISGUISES += [-32768.0, 32767.0, 65535.0, -1e20, -1e30, 1e20, 1e30]
LEAST_OTHERS = 3  # numbers that a code stands apart from
SURE_OTHERS = 10  # numbers from which a code is taken for what it is
SURE_TIMES = 2  # cells of one column from which it is no slip
SPIKE_TIMES = 5  # cells of a spike: see `_is_spike`
SPIKE_OTHERS = 20  # values beside it
SPIKE_STEPS = 4.0  # times the longest step between these that it is away
LARGER = 5.0  # times the code that the middle of larger numbers is: see `_is_below`
LEAST_HOLDING = 3  # columns that hold a negative number and no other, from which it is a code
MOST_SHARE = 0.5  # of a column: beyond it a code may be a value of its own ("never")


class GapCode(NamedTuple):
    """A number that may stand for gaps: its columns, how often it occurs, and whether there is hardly a doubt."""

    value: float
    columns: tuple[str, ...]
    times: int
    sure: bool


def find_gap_codes(columns: dict[str, Array]) -> list[GapCode]:
    """The codes that occur; sure ones come twice in a column, in less than half of it, and are no value elsewhere: a
    negative code is none where nothing else is negative.

    >>> bmi = np.r_[np.linspace(18, 45, 40), -99, -99]
    >>> find_gap_codes({"bmi": bmi, "age": np.linspace(20, 80, 42)})
    [GapCode(value=-99.0, columns=('bmi',), times=2, sure=True)]
    """
    ends = {
        name: (np.fmin.reduce(x, initial=np.inf), np.fmax.reduce(x, initial=-np.inf)) for name, x in columns.items()
    }
    found = []
    for code in DISGUISES:
        holding = {name: x for name, x in columns.items() if code in ends[name]}
        apart = {name: x for name, x in holding.items() if _stands_apart(x, code) or _is_spike(x, code)}
        if not apart:
            continue
        alone = len(holding) >= LEAST_HOLDING and all(_is_only_negative(x, code) for x in holding.values())
        below = {name: x for name, x in holding.items() if name not in apart and (alone or _is_below(x, code))}
        times = {name: int((x == code).sum()) for name, x in (apart | below).items()}
        total = sum(times.values())
        if total > 1 or abs(code) >= 99:
            elsewhere = any((x == code).any() for name, x in columns.items() if name not in times)
            sure = not elsewhere and any(
                _stands_apart(x, code) and _is_sure(x, times[name]) for name, x in apart.items()
            )
            found.append(GapCode(code, tuple(name for name in columns if name in times), total, sure))
    return found


def _stands_apart(x: Array, code: float) -> bool:
    """Whether a code is farther from every other number than those are from each other."""
    others = x[~np.isnan(x) & (x != code)]
    spread = float(np.ptp(others)) if len(others) else 0.0
    return len(others) >= LEAST_OTHERS and spread > 0 and bool(np.abs(others - code).min() > max(spread, 1.0))


def _is_below(x: Array, code: float) -> bool:
    """Whether a code is the one negative number among larger ones: an income of -9 where -9 is no answer elsewhere.
    A temperature of -9 among those of 0 to 24 may be one."""
    others = x[~np.isnan(x) & (x != code)]
    if code >= 0 or not _is_rare(x, int((x == code).sum())):
        return False
    return bool(others.min() >= 0 and np.median(others) >= LARGER * abs(code))


def _is_only_negative(x: Array, code: float) -> bool:
    """Whether a code is the one negative number of a column, where others are more often seen."""
    others = x[~np.isnan(x) & (x != code)]
    return code < 0 and len(others) > 0 and bool(others.min() >= 0) and _is_rare(x, int((x == code).sum()))


def _is_spike(x: Array, code: float) -> bool:
    """Whether several cells hold a code, and far less than its distance lies between any of the other numbers: ages of
    99 where nobody else is older than 80. It may be a value, so that it is asked about and no more."""
    others = np.unique(x[~np.isnan(x) & (x != code)])
    if (x == code).sum() < SPIKE_TIMES or len(others) < SPIKE_OTHERS:
        return False
    return bool(np.abs(others - code).min() > SPIKE_STEPS * np.diff(others).max())


def _is_sure(x: Array, times: int) -> bool:
    return times >= SURE_TIMES and _is_rare(x, times)


def _is_rare(x: Array, times: int) -> bool:
    """Whether enough other numbers are seen to tell a code from a value, and at least as many as there are of it."""
    seen = int((~np.isnan(x)).sum())
    return times <= MOST_SHARE * seen and seen - times >= SURE_OTHERS
