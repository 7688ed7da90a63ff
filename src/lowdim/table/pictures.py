"""What the columns form together, where they do: an image, a curve over an even grid, or a figure of joined points.

Said only where names, or ranges that all columns share, leave little doubt, and the numbers agree: pixels beside each
other are more alike than far ones, and joined points keep their distance. A picture that means nothing misleads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.maths.linalg import Array, evenly_spread

if TYPE_CHECKING:
    from lowdim.table.table import Table

PIXEL_WORDS = {"pixel", "pix", "px", "image", "img", "r", "row"}
GRID_WORDS = {
    "t", "time", "ms", "sec", "second", "seconds", "min", "minute", "hr", "hour", "day", "week", "month", "year",
    "nm", "um", "mm", "wl", "wavelength", "wavenumber", "cm-1", "hz", "khz", "mhz", "freq", "frequency", "ev", "kev",
    "mz", "m/z", "lag", "bin", "angle", "deg", "degree", "depth",
}  # fmt: skip
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
SQUARES = (64, 256, 784, 1024, 4096)  # columns without telling names that may be a square image
SATURATED = 0.3  # share of such columns that reach the least and the most of all: pixels do, measurements do not
UNLIKE_BESIDE = 0.7  # of what far pixels are unlike, at most, neighbours are: 1 less the correlation, on average
ALIKE_PAIRS = 2_000  # pairs of pixels from which that is found
KEPT_DISTANCE = 0.5  # of how much the length of a line changes where each end goes its own way, at most, it changes
LEAST_SIDE = 4  # pixels of an image
LEAST_CURVE = 8  # points of a curve
MOST_UNLIKE = 100.0  # times the least spread of a curve's columns that the largest may be
LEAST_POINTS, MOST_POINTS = 4, 500  # of a figure
RIGID_ROWS = 500  # rows from which it is found which points of a figure keep their distance
RIGID_DISTANCES = 2_000_000  # and distances at most: 48 MB while their coordinates are squared
CELL = re.compile(r"^(\D*)(\d+)\D+(\d+)\D*$")  # pixel_3_4
NUMBERED = re.compile(r"^(.*?)[_ .]?(\d+)$")  # pixel12
ON_GRID = re.compile(r"^(\D*?)[_ ]?(-?\d+(?:\.\d+)?)[_ ]?(\D*)$")  # nm_400, 400 nm, 1100.5
COORDINATE = (
    re.compile(r"^(?P<point>.+?)[_ .:-]?(?P<axis>[xyz])$", re.I),
    re.compile(r"^(?P<axis>[xyz])[_ .:-]?(?P<point>.+)$", re.I),
)


def form_of(table: Table) -> dict[str, Any] | None:
    """What the number columns form together; None where they form nothing, or it is not sure.

    >>> import lowdim
    >>> cells = np.random.default_rng(0).standard_normal((30, 9)) + np.arange(9.0)
    >>> import pandas as pd
    >>> form_of(lowdim.read(pd.DataFrame(cells, columns=[f"{400 + 10 * j} nm" for j in range(9)])))["kind"]
    'curve'
    """
    names = table.names
    if not names or any(table.code_labels):
        return None
    own = table.scales.outward(table.X)
    return _image(table, own) or _curve(names, own, given=table.names_given) or stick_figure(names, own)


def _image(table: Table, own: Array) -> dict[str, Any] | None:
    """Pixels by their names, or a square number of columns that all reach the same ends."""
    names = table.names
    everyone = [c.name for c in table.columns if c.role in ("number", "out")]  # pixels that never change are left out
    placed = _named_pixels(names) or _numbered_pixels(names, everyone) or _like_pixels(own)
    if placed is None or not _neighbours_alike(own, *placed):
        return None
    width, height, cells = placed
    low, high = float(np.nanmin(own)), float(np.nanmax(own))
    return {"kind": "image", "width": width, "height": height, "cells": cells, "low": low, "high": high}


def _named_pixels(names: Sequence[str]) -> tuple[int, int, list[int]] | None:
    """pixel_ROW_COLUMN: at least half of the grid has a column.

    >>> _named_pixels([f"pixel_{r}_{c}" for r in range(4) for c in range(5)])[:2]
    (5, 4)
    """
    found = [CELL.match(name) for name in names]
    if not all(m and m[1].strip(" _-.([").lower() in PIXEL_WORDS for m in found):
        return None
    at = np.array([(int(m[2]), int(m[3])) for m in found if m])
    at -= np.minimum(at.min(axis=0), 1)  # counted from 0 or from 1
    height, width = (at.max(axis=0) + 1).tolist()
    if min(height, width) < LEAST_SIDE or len({*map(tuple, at.tolist())}) < max(len(at), height * width / 2):
        return None
    return width, height, (at[:, 0] * width + at[:, 1]).tolist()


def _numbered_pixels(names: Sequence[str], everyone: Sequence[str]) -> tuple[int, int, list[int]] | None:
    """pixelK: a square, counted with the columns that were left out because they never change.

    >>> _numbered_pixels(["px5", "px6"], [f"px{k + 1}" for k in range(64)])
    (8, 8, [4, 5])
    """
    all_found = [m for m in map(NUMBERED.match, everyone) if m and m[1].lower() in PIXEL_WORDS]
    found = [NUMBERED.match(name) for name in names]
    if not all(m and m[1].lower() in PIXEL_WORDS for m in found):
        return None
    numbers = [int(m[2]) for m in all_found]
    first = min(min(numbers), 1)
    many = max(numbers) - first + 1
    side = isqrt(many)
    if side * side != many:  # the last pixels may be missing from the file; a complete table that is no square is none
        side = 0 if len(set(numbers)) == many or 2 * len(numbers) < many else side + 1
    if side < LEAST_SIDE:
        return None
    return side, side, [int(m[2]) - first for m in found if m]


def _like_pixels(own: Array) -> tuple[int, int, list[int]] | None:
    d = own.shape[1]
    if d not in SQUARES:
        return None
    low, high = np.nanmin(own, axis=0), np.nanmax(own, axis=0)
    shares = ((low == low.min()).mean(), (high == high.max()).mean())
    return None if min(shares) < SATURATED else (isqrt(d), isqrt(d), list(range(d)))


def _neighbours_alike(own: Array, width: int, height: int, cells: list[int]) -> bool:
    """Whether pixels beside each other are more alike than those half the image apart."""
    column = np.full((height, width), -1)
    column.ravel()[cells] = np.arange(len(cells))
    far = max(height, width) // 2
    near = np.concatenate([_pairs(column, 0, 1), _pairs(column, 1, 0)])
    off = np.concatenate([_pairs(column, 0, far), _pairs(column, far, 0)])
    if not len(near) or not len(off):
        return False
    return _unlike(own, near) < UNLIKE_BESIDE * _unlike(own, off)


def _pairs(column: Array, down: int, right: int) -> Array:
    """Columns whose pixels lie so far from each other."""
    h, w = column.shape
    first, second = column[: max(h - down, 0), : max(w - right, 0)], column[down:, right:]
    both = (first >= 0) & (second >= 0)
    return np.column_stack([first[both], second[both]])


def _unlike(own: Array, pairs: Array) -> float:
    """One less the correlation of two columns, on average, over the rows in which both are seen."""
    pairs = pairs[evenly_spread(len(pairs), ALIKE_PAIRS)]
    x, y = (own[evenly_spread(len(own), RIGID_ROWS)][:, k] for k in pairs.T)
    seen = ~np.isnan(x + y)
    many = np.maximum(seen.sum(axis=0), 1)
    x, y = (np.where(seen, v, 0.0) for v in (x, y))
    x, y = (np.where(seen, v - v.sum(axis=0) / many, 0.0) for v in (x, y))
    size = np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))
    known = size > 0
    return float(1.0 - ((x * y).sum(axis=0)[known] / size[known]).mean()) if known.any() else 1.0


def _curve(names: Sequence[str], own: Array, *, given: bool) -> dict[str, Any] | None:
    """Columns named by even steps of a number; bare counts from 0 or 1 are names that anyone gives to anything.

    >>> _curve([f"nm_{400 + 5 * j}" for j in range(8)], np.eye(8), given=True)["at"][:2]
    [400.0, 405.0]
    """
    if len(names) < LEAST_CURVE:
        return None
    word, at = "", [float(MONTHS.index(name[:3].lower())) for name in names if name[:3].lower() in MONTHS]
    if len(at) != len(names):
        found = [ON_GRID.match(name) for name in names]
        words = {(m[1].lower(), m[3].lower()) if m else None for m in found}
        if len(words) != 1 or None in words:
            return None
        word = "".join(words.pop() or ())
        at = [float(m[2]) for m in found if m]
        bare = given and not (min(at) in (0.0, 1.0) and max(at) - min(at) == len(at) - 1)
        if not (word in GRID_WORDS or (word == "" and bare)):
            return None
    order = np.argsort(at, kind="stable")
    steps = np.diff(np.array(at)[order])
    spread = np.nanstd(own, axis=0)
    if not (steps > 0).all() or np.ptp(steps) > 0.01 * steps.mean() or spread.max() > MOST_UNLIKE * spread.min():
        return None
    return {"kind": "curve", "at": at, "order": order.tolist(), "word": word}


def stick_figure(
    names: Sequence[str], own: Array, pairs: Sequence[tuple[str, str]] | None = None
) -> dict[str, Any] | None:
    """Points of two or three coordinates each, and which are joined: by name, or where lines keep their length."""
    for pattern in COORDINATE:
        found = [pattern.match(name) for name in names]
        if not all(found):
            continue
        points: dict[str, dict[str, int]] = {}
        for j, m in enumerate(found):
            if m:
                points.setdefault(m["point"], {})[m["axis"].lower()] = j
        kinds = {"".join(sorted(axes)) for axes in points.values()}
        if LEAST_POINTS <= len(points) <= MOST_POINTS and len(kinds) == 1 and kinds <= {"xy", "xyz"}:
            return _joined(list(points), [[axes[a] for a in sorted(axes)] for axes in points.values()], own, pairs)
    return None


def _joined(
    names: list[str], columns: list[list[int]], own: Array, named: Sequence[tuple[str, str]] | None
) -> dict[str, Any] | None:
    """The figure: its points' columns with the upright one last, and its lines, where they keep their length."""
    rows = evenly_spread(len(own), min(RIGID_ROWS, RIGID_DISTANCES // len(columns) ** 2))
    at = own[rows][:, np.array(columns)]  # rows x points x coordinates
    middle = np.nanmean(own, axis=0)[np.array(columns)]
    wide = np.argsort(np.ptp(middle, axis=0), kind="stable")
    across, up = (0, 1) if middle.shape[1] == 2 else (int(wide[1]), int(wide[2]))  # people are taller than wide
    in_turn = [[k, k + 1] for k in range(len(names) - 1)]
    if named is not None:
        lines = [[names.index(a), names.index(b)] for a, b in named if a in names and b in names]
    else:
        lines = in_turn if all(name.isdigit() for name in names) else _bones(at)
    if not lines or (named is None and not _keeps_distance(at, np.array(lines))):
        return None
    pairs = [[line[across], line[up]] for line in columns]
    return {"kind": "figure", "names": names, "points": pairs, "lines": lines}


def _keeps_distance(at: Array, lines: Array) -> bool:
    """Whether lines change less in length than where one end is taken from another row."""
    first, second = at[:, lines[:, 0]], at[:, lines[:, 1]]
    own, mixed = (_length_sd(first, end) for end in (second, np.roll(second, len(at) // 2, axis=0)))
    known = ~np.isnan(own) & (mixed > 0)
    return bool(known.any()) and float(np.median(own[known] / mixed[known])) <= KEPT_DISTANCE


def _length_sd(first: Array, second: Array) -> Array:
    """How much the length of each line changes from row to row; NaN where no row has both its ends."""
    length = np.sqrt(((first - second) ** 2).sum(axis=-1))
    seen = ~np.isnan(length)
    many = np.where(seen.any(axis=0), seen.sum(axis=0), np.nan)
    mean = np.where(seen, length, 0.0).sum(axis=0) / many
    sd: Array = np.sqrt((np.where(seen, length - mean, 0.0) ** 2).sum(axis=0) / many)
    return sd


def _bones(at: Array) -> list[list[int]]:
    """The lines that hold a figure together: near points whose distance changes least, each point reached once."""
    from scipy.sparse.csgraph import minimum_spanning_tree

    off = np.sqrt(((at[:, :, None, :] - at[:, None, :, :]) ** 2).sum(axis=-1))
    seen = ~np.isnan(off)
    many = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, off, 0.0).sum(axis=0) / many
    sd = np.sqrt((np.where(seen, off - mean, 0.0) ** 2).sum(axis=0) / many)
    weight = np.where(seen.any(axis=0), sd + 0.1 * mean, off[seen].sum())  # points never seen together come last
    tree = minimum_spanning_tree(np.maximum(weight, 1e-12)).tocoo()
    return sorted([int(a), int(b)] for a, b in zip(tree.row, tree.col, strict=True))
