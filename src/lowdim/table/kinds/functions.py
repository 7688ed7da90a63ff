"""Columns that are a function of one other column, to the rounding of the file: the same fact on another scale.

Looked for among pairs whose ranks agree: straight lines, logarithms, exponentials, squares, roots and reciprocals. A
relation that only rises is no proof: two columns that grow with time have equal ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from lowdim.maths.linalg import Array, Mask, evenly_spread
from lowdim.table.kinds.sums import EXACT_SHARE, TOO_LARGE, rounding_unit

LEAST_VALUES = 12  # different values of both columns from which a function is believed
PAIR_ROWS = 400  # rows by which pairs are chosen
NEARLY_SAME = 0.99  # correlation of some rows from which a pair is looked at on all
MOST_PARTNERS = 3  # earlier columns that a column is compared with: functions have the very same ranks
RANK_DIGITS = 4  # to which squared correlations of ranks are compared
SLAB = 512  # columns whose products with the others are held at once
FINE = 0.05  # rounding, in units of the spread, up to which a function can be told from a close relation
ROUNDING = 0.75  # of the unit: half of it, and what it does to the fit
STEEP = 50.0  # times its mean slope that a function may rise by where it is steepest
DIGITS = 1e-6  # relative: numbers stored with seven figures
ROUND = (0.02, 1e-3)  # distances, in units of the fit, at which a fitted number is taken for a round one
TRIED_ROWS = 60  # rows on which a form is tried before all
HIGHEST_EXPONENT = 300.0
EXACT_FIGURES = 12  # of a number that is computed from another

Scale = Callable[[Array], Array]


class Form(NamedTuple):
    """y = outer(a inner(x) + b), with the inverse of outer and its slope at y; outer and inner(x) in words."""

    words: str
    inner_words: str
    inner: Scale = lambda x: x
    outer: Scale = lambda x: x
    undo: Scale = lambda x: x
    slope: Scale = np.ones_like
    inner_undo: Scale = lambda x: x


class Relation(NamedTuple):
    """y = outer(a inner(x) + b) by the number of its form, and the units that x and y are rounded to.

    >>> fahrenheit = Relation(0, 1.8, 32.0, 0.1, 0.01)
    >>> fahrenheit.of(np.array([36.6])).tolist(), fahrenheit.back(np.array([97.88])).tolist()
    ([97.88], [36.6])
    """

    form: int = 0
    a: float = 1.0
    b: float = 0.0
    unit_x: float = 0.0
    unit_y: float = 0.0
    negative: bool = False  # x is, where a square has two roots

    def of(self, x: Array) -> Array:
        """y of these x; the same numbers where it is the same column."""
        if self[:3] == Relation()[:3]:
            return x
        form = FORMS[self.form]
        with np.errstate(all="ignore"):
            return _to_unit(form.outer(self.a * form.inner(x) + self.b), self.unit_y)

    def back(self, y: Array) -> Array:
        """The x that have these y; the same numbers where it is the same column."""
        if self[:3] == Relation()[:3]:
            return y
        form = FORMS[self.form]
        with np.errstate(all="ignore"):
            x = form.inner_undo((form.undo(y) - self.b) / self.a)
        return _to_unit(-x if self.negative and form.inner is np.square else x, self.unit_x)


class Function(NamedTuple):
    """A column that is a function of another, in words."""

    column: int
    of: int
    words: str
    share: float  # of its rows that have the other too
    relation: Relation = Relation()


class CopyOf(NamedTuple):
    """The column that another says the same as; how, where both are numbers."""

    name: str
    relation: Relation | None = None


def _power(base: float) -> Scale:
    most = HIGHEST_EXPONENT / np.log(base)
    return lambda x: np.power(base, np.clip(x, -most, most))


FORMS = (  # from the plainest on
    Form("", "{}"),
    Form("the logarithm of ", "{}", outer=np.log, undo=_power(np.e), slope=_power(np.e)),
    Form("the logarithm to base 10 of ", "{}", outer=np.log10, undo=_power(10.0), slope=_power(10.0)),
    Form("the logarithm to base 2 of ", "{}", outer=np.log2, undo=_power(2.0), slope=_power(2.0)),
    Form("", "exp({})", inner=_power(np.e), inner_undo=np.log),
    Form("", "10^{}", inner=_power(10.0), inner_undo=np.log10),
    Form("", "2^{}", inner=_power(2.0), inner_undo=np.log2),
    Form("", "{} squared", inner=np.square, inner_undo=np.sqrt),
    Form("the square root of ", "{}", outer=np.sqrt, undo=np.square, slope=np.abs),
    Form("", "1/{}", inner=np.reciprocal, inner_undo=np.reciprocal),
)


def find_functions(X: Array, names: Sequence[str]) -> list[Function]:
    """The columns that are exact functions of one other, the later of two; the one with fewer cells where they differ.

    >>> x = np.random.default_rng(0).uniform(1, 90, 50).round(1)
    >>> [f.words for f in find_functions(np.column_stack([x, np.log10(x).round(3), 24 - x]), ["x", "lx", "y"])]
    ['the logarithm to base 10 of x', '24 - x']
    """
    X = np.where(np.abs(X) < TOO_LARGE, X, np.nan)
    rows = evenly_spread(len(X), PAIR_ROWS) if len(X) > PAIR_ROWS else np.arange(len(X))
    ranks = _ranks(X[rows])
    seen: Mask = ~np.isnan(X)
    cells, units, found = seen.sum(axis=0), dict[int, float](), dict[int, Function]()
    for i, j in alike_pairs(ranks, MOST_PARTNERS):
        column, of = (i, j) if cells[i] < cells[j] else (j, i)
        if column in found or of in found:
            continue
        for k in {i, j} - units.keys():
            units[k] = rounding_unit(X[seen[:, k], k])
        both = seen[:, i] & seen[:, j]
        relation = _relation(X[both, of], X[both, column], units[of], units[column])
        if relation is not None:
            words = _words(FORMS[relation.form], relation.a, relation.b, names[of])
            found[column] = Function(column, of, words, float(both.sum() / cells[column]), relation)
    return [found[j] for j in sorted(found)]


def _ranks(X: Array) -> Array:
    """Average ranks within each column; gaps stay gaps, and columns without them or ties are ranked at once."""
    order = np.argsort(X, axis=0)
    ordered = np.take_along_axis(X, order, axis=0)
    ranks = np.empty(X.shape)
    np.put_along_axis(ranks, order, np.arange(1.0, len(X) + 1)[:, None], axis=0)
    for j in np.flatnonzero((ordered[1:] == ordered[:-1]).any(axis=0) | np.isnan(X).any(axis=0)):
        seen = ~np.isnan(X[:, j])
        _, at, times = np.unique(X[seen, j], return_inverse=True, return_counts=True)
        ranks[:, j] = np.nan
        ranks[seen, j] = (np.cumsum(times) - (times - 1) / 2)[at]
    return ranks


def _to_unit(v: Array, unit: float) -> Array:
    """Numbers as a column of this rounding has them; one with all its digits to the figures that hold."""
    digits = round(-np.log10(unit)) if unit else EXACT_FIGURES - np.log10(np.fmax.reduce(np.abs(v), initial=1.0))
    return np.asarray(np.round(v, int(digits)))


def _relation(x: Array, y: Array, unit_x: float, unit_y: float) -> Relation | None:
    """How y = f(x), x being rounded to one unit and y to another; None where it is no function."""
    few = evenly_spread(len(x), TRIED_ROWS) if len(x) > TRIED_ROWS else slice(None)
    if min(len(np.unique(x)), len(np.unique(y))) < LEAST_VALUES or not _goes_one_way(x[few], y[few], unit_x, unit_y):
        return None
    for k, form in enumerate(FORMS):
        with np.errstate(all="ignore"):
            likely = _fitted(form, x[few], y[few], unit_x, unit_y) is not None
            line = _fitted(form, x, y, unit_x, unit_y) if likely else None
        if line is not None:
            return Relation(k, *line, unit_x, unit_y, bool(x.max() <= 0))
    return None


def _goes_one_way(x: Array, y: Array, unit_x: float, unit_y: float) -> bool:
    """Whether y only rises or only falls with x, but for rounding."""
    step = np.diff(y[np.lexsort((y, x))]) * np.sign(np.corrcoef(x, y)[0, 1])
    rounding = 2 * (ROUNDING * unit_y + DIGITS * np.abs(y).max()) + min(STEEP * unit_x / x.std(), 2 * FINE) * y.std()
    return bool(step.min(initial=0.0) >= -rounding)


def _fitted(form: Form, x: Array, y: Array, unit_x: float, unit_y: float) -> tuple[float, float] | None:
    """a and b where y = outer(a inner(x) + b) to the rounding of both, round numbers if they will do, else None."""
    t, g, weight = form.inner(x), form.undo(y), 1.0 / form.slope(y)
    turns = form.inner in (np.square, np.reciprocal) and bool(x.min() < 0 < x.max())
    if turns or not all(np.isfinite(v).all() for v in (t, g, weight)):
        return None
    middle, size = t.mean(), float(t.std()) or 1.0
    line = np.column_stack([(t - middle) / size, np.ones_like(t)])
    slope, level = np.linalg.lstsq(line * weight[:, None], g * weight)[0]
    a, b = float(slope / size), float(level - slope * middle / size)
    if not _holds(form, x, y, a, b, unit_x, unit_y):
        return None
    lines = [(_round(a, near * abs(a)), _round(b, near * abs(a) * size)) for near in ROUND]
    lines += [(a, level) for _, level in lines]  # the area of a circle has no round slope
    return next((line for line in lines if _holds(form, x, y, *line, unit_x, unit_y)), (a, b))


def _holds(form: Form, x: Array, y: Array, a: float, b: float, unit_x: float, unit_y: float) -> bool:
    """Whether y is the function of x, finely enough to be more than a close relation."""
    low, middle, high = (form.outer(a * form.inner(x + k * unit_x) + b) for k in (-ROUNDING, 0.0, ROUNDING))
    slack = ROUNDING * unit_y + np.abs(high - low) / 2 + DIGITS * np.abs(y).max()
    close = np.abs(y - middle) <= slack
    return bool(np.median(slack) <= FINE * y.std() and close.mean() >= EXACT_SHARE)


def _round(number: float, distance: float) -> float:
    """A fitted number as the roundest one that near."""
    tries = (float(np.round(number)), float(np.round(number, 1)), float(np.round(number, 2)), float(f"{number:.3g}"))
    return next((near for near in tries if abs(near - number) <= distance), number)


def _words(form: Form, a: float, b: float, name: str) -> str:
    """A form with its line in words: 24 - x, 2.2 x + 1, the logarithm of x + 0.1, x squared."""
    if form.words and a > 0:  # a factor inside a logarithm or root says nothing
        a, b = 1.0, b / a
    line = _line(a, b, form.inner_words.format(name))
    return f"the same as {name}" if line == name and not form.words else form.words + line


def _line(a: float, b: float, term: str) -> str:
    if a < 0 and b:
        return f"{b:.4g} - {term if a == -1 else f'{-a:.4g} {term}'}"
    first = term if a == 1 else f"-{term}" if a == -1 else f"{a:.4g} {term}"
    return first if not b else f"{first} {'+' if b > 0 else '-'} {abs(b):.4g}"


def alike_pairs(X: Array, most: int | None = None) -> list[list[int]]:
    """Pairs (i, j > i) of columns whose correlation over the rows that have both is near one, by slabs of columns; of
    each j the `most` nearest to one, the first of those that are equally near."""
    seen = ~np.isnan(X)
    with np.errstate(all="ignore"):
        Z = X - np.where(seen, X, 0.0).sum(axis=0) / seen.sum(axis=0)
        Z /= np.fmax.reduce(np.abs(Z), axis=0)
    Z = np.where(np.isfinite(Z), Z, 0.0)
    S, square, pairs = seen.astype(float), Z * Z, list[list[int]]()
    for first in range(0, X.shape[1], SLAB):
        last = min(first + SLAB, X.shape[1])
        slab, before = slice(first, last), slice(last)
        if seen.all():
            sizes = np.outer(square[:, slab].sum(axis=0), square[:, before].sum(axis=0))
        else:
            sizes = (square[:, slab].T @ S[:, before]) * (S[:, slab].T @ square[:, before])
        products = (Z[:, slab].T @ Z[:, before]) ** 2
        alike = np.tril(products > NEARLY_SAME**2 * sizes, first - 1)
        for k in np.flatnonzero(alike.any(axis=1)):
            i = np.flatnonzero(alike[k])
            if most is not None and len(i) > most:
                near = np.round(products[k, i] / sizes[k, i], RANK_DIGITS)
                i = np.sort(i[np.argsort(-near, kind="stable")[:most]])
            pairs += [[one, first + int(k)] for one in i.tolist()]
    return sorted(pairs)
