"""Columns that are the product or the ratio of two others, to the rounding of the file: a density, an interaction.

    a b = k c   for all rows, that is  log a + log b - log c  is the same everywhere;

the one of the three that is called a percentage, a rate or their like was made of the others, or else whichever stands
last in the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, evenly_spread
from lowdim.table.kinds.functions import DIGITS, FINE, ROUNDING
from lowdim.table.kinds.sums import EXACT_SHARE, MOST_SEARCHED, TOO_LARGE, rounding_unit

PROBED_ROWS = 16  # by which triples are chosen before all rows are looked at
LEAST_FACTORS = 8  # different values of a factor: a rate may have few
LEAST_PRODUCT_ROWS = 24  # rows with all three from which an identity is believed
FELT = 10.0  # times the rounding that a factor's own spread must be, in logarithms: else it changes nothing
RATE = re.compile(r"%|perc|pct|(^|[^a-z])(per|rate|ratio|average|avg|mean|density|share|proportion)([^a-z]|$)", re.I)
POWERS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
NEAR_POWER = 1e-3  # relative, within which a constant is meant as a power of ten


class Product(NamedTuple):
    """A column made of two others, in words."""

    column: int
    words: str
    share: float  # of its rows that have both others too


def find_products(X: Array, names: Sequence[str]) -> list[Product]:
    """The columns that are a product or a ratio of two others, times a constant.

    >>> rng = np.random.default_rng(0)
    >>> people, area = rng.integers(1000, 90_000, 40) * 1.0, rng.uniform(1, 30, 40).round(2)
    >>> X = np.column_stack([people, area, (people / area).round(1)])
    >>> [p.words for p in find_products(X, ["people", "area", "density"])]
    ['people / area']
    """
    X = np.where(np.abs(X) < TOO_LARGE, X, np.nan)
    likely = [j for j in range(X.shape[1]) if _varies(X[:, j])]
    if not 3 <= len(likely) <= MOST_SEARCHED:
        return []
    units = {j: rounding_unit(X[~np.isnan(X[:, j]), j]) for j in likely}
    likely = [j for j in likely if _felt_in_itself(X[:, j], units[j])]
    found, parents = dict[int, Product](), dict[int, set[int]]()
    if len(likely) < 3:
        return []
    for triple in _triples(X, np.array(likely), np.array([units[j] for j in likely])):
        rates = [j for j in triple if RATE.search(names[j])]
        target = rates[0] if len(rates) == 1 else max(triple)
        others = {*triple} - {target}
        if target in found or any(target in parents.get(j, ()) for j in others):
            continue
        product = _made(X, triple, target, units, names)
        if product is not None:
            found[target] = product
            parents[target] = others.union(*(parents.get(j, set()) for j in others))
    return [found[j] for j in sorted(found)]


def _varies(x: Array) -> bool:
    v = x[~np.isnan(x)]
    return len(v) >= LEAST_PRODUCT_ROWS and len(np.unique(v)) >= LEAST_FACTORS and bool((v >= 0).all())


def _felt_in_itself(x: Array, unit: float) -> bool:
    """Whether a column varies more than its own rounding, by about as much as a factor must: few small whole numbers,
    as counts and grades are, go together with anything to their rounding."""
    v = x[x > 0]
    return len(v) >= LEAST_PRODUCT_ROWS and bool(2.0 * np.log(v).std() > FELT * float(np.median(ROUNDING * unit / v)))


def _triples(X: Array, likely: NDArray[np.intp], units: Array) -> Iterator[tuple[int, int, int]]:
    """Columns a, b, c for which a b / c may be the same in all rows, by a few rows that show all columns."""
    shown = np.flatnonzero((X[:, likely] > 0).all(axis=1))
    if len(shown) < PROBED_ROWS:  # rows that show most of them
        shown = np.argsort(-(X[:, likely] > 0).sum(axis=1), kind="stable")[: 4 * PROBED_ROWS]
    rows = np.sort(shown)[evenly_spread(len(shown), PROBED_ROWS)] if len(shown) > PROBED_ROWS else shown
    V = X[np.ix_(rows, likely)]
    with np.errstate(divide="ignore", invalid="ignore"):
        L: Array = np.where(V > 0, np.log(V), np.nan)
        slack: Array = ROUNDING * units / V + DIGITS
    for i in range(len(likely) - 1):
        ends = (L[:, i, None] + L[:, i + 1 :])[:, :, None] - L[:, None]  # rows x b x c
        off = (slack[:, i, None] + slack[:, i + 1 :])[:, :, None] + slack[:, None]
        enough = (~np.isnan(ends)).sum(axis=0) >= PROBED_ROWS // 2
        # one constant lies within the rounding of every row
        near = (np.fmax.reduce(ends - off, axis=0) <= np.fmin.reduce(ends + off, axis=0)) & enough
        for k, j in np.argwhere(near):
            if j not in (i, i + 1 + k):
                yield int(likely[i]), int(likely[i + 1 + k]), int(likely[j])


def _made(
    X: Array, triple: tuple[int, int, int], last: int, units: dict[int, float], names: Sequence[str]
) -> Product | None:
    """One of three columns as the product or ratio of the others, if it is in nearly all rows."""
    a, b, c = triple
    seen = ~np.isnan(X[:, list(triple)]).any(axis=1)
    use = seen & (X[:, list(triple)] > 0).all(axis=1)
    if use.sum() < LEAST_PRODUCT_ROWS or 2 * use.sum() < seen.sum():
        return None
    logs = {j: np.log(X[use, j]) for j in triple}
    rounding = {j: ROUNDING * units[j] / X[use, j] + DIGITS for j in triple}
    off = logs[a] + logs[b] - logs[c]
    constant, slack = float(np.median(off)), sum(rounding.values(), np.zeros(int(use.sum())))
    close = np.abs(off - constant) <= slack
    felt = all(logs[j].std() > FELT * float(np.median(slack)) for j in triple)
    if not felt or close.mean() < EXACT_SHARE or float(np.median(slack)) > FINE * logs[last].std():
        return None
    share = float(seen.sum() / (~np.isnan(X[:, last])).sum())
    k = np.exp(constant)  # a b = k c
    if last == c:
        return Product(last, _words(1.0 / k, f"{names[a]} x {names[b]}"), share)
    other = b if last == a else a
    return Product(last, _words(k, f"{names[c]} / {names[other]}"), share)


def _words(k: float, term: str) -> str:
    """A constant before a term, a power of ten where it is near one."""
    k = next((power for power in POWERS if abs(k / power - 1) < NEAR_POWER), k)
    return term if k == 1.0 else f"{k:.4g} {term}"
