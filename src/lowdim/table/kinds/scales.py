"""The scale a column is analysed on, and the values it can have: to a model and back in the table's own units."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lowdim.math.linalg import Array, Mask
from lowdim.text.format import all_digits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lowdim.table.roles import Column

ROUNDINGS = {"down": np.floor, "up": np.ceil}
ZERO_SHARE = 1e-9  # of what was added: a number below it was zero
HIGHEST_LOG = 700.0  # of a number that can still be stored


class ColumnScales(NamedTuple):
    """For every column of numbers: whether a model gets log(x + offset), and which values a cell can have."""

    log: Mask
    offset: Array
    levels: tuple[tuple[float, ...], ...]  # () = any
    whole: Mask  # counts
    least: Array  # 0 where no value is negative, else -inf

    def inward(self, X: Array) -> Array:
        """The table's units as a model takes them; what has no logarithm is a gap."""
        if not self.log.any():
            return X
        Y = np.array(X, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(Y[..., self.log] + self.offset[self.log])
        Y[..., self.log] = np.where(np.isfinite(logs), logs, np.nan)
        return Y

    def outward(self, Y: Array) -> Array:
        """A model's numbers in the table's units."""
        if not self.log.any():
            return Y
        X, offset = np.array(Y, dtype=np.float64), self.offset[self.log]
        own = np.exp(np.minimum(X[..., self.log], HIGHEST_LOG)) - offset
        X[..., self.log] = np.where(np.abs(own) < ZERO_SHARE * offset, 0.0, own)
        return X

    def spread(self, middle: Array, sd: Array) -> Array:
        """Standard deviations in the table's units, of a model's numbers around `middle`."""
        near = self.outward(middle + sd) - self.outward(middle - sd)
        return np.where(self.log, near / 2, sd) if self.log.any() else sd

    def told(self, j: int, value: float, expected: float, sd: float) -> tuple[float, float, float]:
        """A value of column j, what was expected and its sd: a model's numbers in the table's units."""
        if not self.log[j]:
            return value, expected, sd
        ends = np.zeros((4, len(self.log)))
        ends[:, j] = value, expected, expected - sd, expected + sd
        own = self.outward(ends)[:, j].tolist()
        return own[0], own[1], (own[3] - own[2]) / 2

    def possible(self, X: Array, rounding: str = "near") -> Array:
        """Numbers in the table's units as values their columns can have: the nearest, or "down" or "up".

        >>> none = np.zeros(2, dtype=bool)
        >>> scales = ColumnScales(none, np.zeros(2), ((1.0, 2.0, 4.0), ()), none, np.array([1.0, 0.0]))
        >>> scales.possible(np.array([[3.2, -0.5], [9.0, 2.5]])).tolist()
        [[4.0, 0.0], [4.0, 2.5]]
        """
        X = np.maximum(X, self.least)
        counts = X[..., self.whole]
        X[..., self.whole] = np.round(counts) if rounding == "near" else ROUNDINGS[rounding](counts)
        for j, levels in enumerate(self.levels):
            if levels:
                X[..., j] = _level(X[..., j], np.array(levels), rounding)
        return X


def log_scales(names: Sequence[str], logs: Mapping[str, float]) -> ColumnScales | None:
    """Scales of logarithms only: of these columns, with what was added to each before; None where there are none."""
    if not logs:
        return None
    log = np.array([name in logs for name in names], dtype=bool)
    offset, d = np.array([float(logs.get(name, 0.0)) for name in names]), len(names)
    return ColumnScales(log, offset, ((),) * d, np.zeros(d, dtype=bool), np.full(d, -np.inf))


def log_entries(asked: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    """Columns to take the logarithm of, each with what is added to it before.

    >>> log_entries(["gnp+2.5", "area", "a+1"], ["gnp", "area", "a+1"])
    {'gnp': 2.5, 'area': 0.0, 'a+1': 0.0}
    """
    found: dict[str, float] = {}
    for entry in asked:
        name, plus, number = entry.rpartition("+")
        added = plus and name in names and entry not in names and re.fullmatch(r"\d+(\.\d*)?(e[+-]?\d+)?", number)
        found[name if added else entry] = float(number) if added else 0.0
    return found


def log_words(logs: Mapping[str, float]) -> tuple[str, ...]:
    """The same as --log takes it."""
    return tuple(f"{name}+{all_digits(offset)}" if offset else name for name, offset in logs.items())


def _level(x: Array, levels: Array, rounding: str) -> Array:
    """The nearest level, or the highest that is not above, or the lowest that is not below."""
    if rounding == "near":
        at = np.searchsorted((levels[1:] + levels[:-1]) / 2, x)
    elif rounding == "down":
        at = np.maximum(np.searchsorted(levels, x, side="right") - 1, 0)
    else:
        at = np.minimum(np.searchsorted(levels, x), len(levels) - 1)
    return np.where(np.isnan(x), np.nan, levels[at])


def scales_of(columns: Sequence[Column], X: Array) -> ColumnScales:
    """The scales of a table's columns of numbers, X being what a model gets."""
    log = np.array([c.log for c in columns], dtype=bool)
    offset = np.array([c.offset for c in columns])
    low = np.fmin.reduce(X, axis=0, initial=np.inf)
    least = np.where(log | (low >= 0), 0.0, -np.inf)
    counts = np.array([c.kind == "count" for c in columns], dtype=bool)
    return ColumnScales(log, offset, tuple(c.levels for c in columns), counts, least)
