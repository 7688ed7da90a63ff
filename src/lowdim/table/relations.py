"""What columns are of each other, to the rounding of the file: a function of one, a product of two, a sum or mean of
several. Such a column says nothing of its own.

Functions are looked for among pairs whose ranks agree: straight lines, logarithms, exponentials, squares, roots and
reciprocals. A relation that only rises is no proof: two columns that grow with time have equal ranks.

Products: a b = k c for all rows, that is, log a + log b - log c is the same everywhere; or a b b = k c, as of the body
mass index. The one of the three that is called a percentage, a rate or their like was made of the others, or else
whichever stands last in the table; a square was no result.

Parts of a sum are looked for where people put them: in the columns before or after, among those whose name begins with
the total's (`pf_rol` of `pf_rol_civil`), or that end as it does (`pf_score` of `hf_score`); and, where enough rows are
complete, among all columns by non-negative least squares.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lowdim.maths.linalg import Array, Mask, evenly_spread
from lowdim.table.column import Column, CopyOf, codes_of
from lowdim.text.format import figures, listing

if TYPE_CHECKING:
    from lowdim.table.table import Table

LEAST_SUM_ROWS = 12  # rows with total and parts from which an identity is believed
MOST_PARTS = 40  # columns beside a total that are tried as its parts
MOST_SEARCHED = 150  # columns up to which parts are looked for among all
SUM_ROWS = 400  # rows on which an identity is tried before it is checked on all
EXACT_SHARE = 0.99  # of the rows in which it must hold
COARSE = 0.1  # rounding of a total, in units of its spread, from which chance could make an identity
NEEDED_SHARE = 0.001  # of the rows in which a part must matter
LEAST_NEEDED = 3  # rows in which it must
RIDGE = 1e-9  # of the correlations
TOO_LARGE = 1e100  # numbers whose squares could not be stored
DECIMALS = 9  # that are looked for in a column
SEPARATOR = re.compile(r"[_. -]")
TOTAL_WORDS = re.compile(r"[_. -]?(score|total|sum|mean|avg|average|index|all|overall)$", re.I)
EQUAL = 1e-4  # weights that differ by less are one
NICE = 2e-3  # distance from which a fitted weight may be meant as a round one
NEAR_ONE = 0.1  # and from which it may be one that rounding has moved
ROUNDED_COARSE = 0.01  # rounding of whole numbers, each for itself, in units of a total's spread
PULL = 0.05  # share of a total's spread that a column moves it by, from which it may be a part
NEGLIGIBLE = 5e-3  # of a total's spread: what a part with such a weight does to it

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

FIRST_ROWS, PROBED_ROWS = 4, 16  # by which triples are chosen: a few, more of those that are left, then all
LEAST_FACTORS = 8  # different values of a factor: a rate may have few
LEAST_PRODUCT_ROWS = 24  # rows with all three from which an identity is believed
FELT = 10.0  # times the rounding that a factor's own spread must be, in logarithms: else it changes nothing
RATE = re.compile(
    r"%|perc|pct|(^|[^a-z])(per|rate|ratio|average|avg|mean|density|share|proportion|bmi)([^a-z]|$)", re.I
)
POWERS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
NEAR_POWER = 1e-3  # relative, within which a constant is meant as a power of ten


# sums and means of others --------------------------------------------------------------------------------------
class Made(NamedTuple):
    """A column made of others: the identity in words, and the share of its rows that have all of them too."""

    column: int
    words: str
    share: float
    copy: CopyOf | None = None  # where it is made of one


class Identity(NamedTuple):
    """A column that is a weighted sum of others."""

    total: int
    parts: tuple[int, ...]
    weights: tuple[float, ...]
    share: float  # of the rows with the total that have all parts too

    def words(self, names: Sequence[str]) -> str:
        """'the mean of a and b', 'the sum of a, b and c', '0.5 a + 0.25 b + 0.25 c'."""
        w, parts = np.array(self.weights), [names[j] for j in self.parts]
        if np.ptp(w) < EQUAL and (abs(w[0] - 1) < EQUAL or abs(w.sum() - 1) < EQUAL):
            kind = "sum" if abs(w[0] - 1) < EQUAL else "mean"
            return f"the {kind} of {listing(parts, 8 if len(parts) <= 8 else 6, last=' and ')}"
        terms = [f"{weight:.4g} {name}" for weight, name in zip(w, parts, strict=True)]
        return " + ".join(terms if len(terms) <= 8 else [*terms[:6], f"{len(terms) - 6} more terms"])


def find_sums(X: Array, names: Sequence[str]) -> list[Made]:
    """The columns that are sums, means or other positive combinations of others, each once.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (40, 3)).round(2)
    >>> X = np.column_stack([X, X.mean(axis=1).round(2)])
    >>> find_sums(X, ["a", "b", "c", "total"])[0].words
    'the mean of a, b and c'
    """
    table, words = _Rounded(np.where(np.abs(X) < TOO_LARGE, X, np.nan)), _Names(names)
    found: dict[int, Identity] = {}
    for j in range(X.shape[1]):
        made = (table.identity(j, parts) for parts in words.likely(j) if not _circular(j, parts, found))
        identity = next(filter(None, made), None)
        for run in table.runs.get(j, ()) if identity is None else ():  # the columns just before or after it
            beside = table.identity(j, run)
            if beside is not None and len(beside.parts) == len(run):
                identity = beside if not _circular(j, run, found) else None
                break
        if identity is not None:
            found[j] = identity
    for identity in table.anywhere(set(found)):
        found.setdefault(identity.total, identity)
    return [Made(j, found[j].words(names), found[j].share) for j in sorted(found)]


def _circular(total: int, parts: Sequence[int], found: dict[int, Identity]) -> bool:
    """Whether a part is itself made of the total."""
    waiting, seen = list(parts), set[int]()
    while waiting:
        j = waiting.pop()
        if j == total:
            return True
        if j in found and j not in seen:
            seen.add(j)
            waiting += found[j].parts
    return False


class _Names:
    """Which columns, by their names, may be the parts of another."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.stems = [[m.start() for m in SEPARATOR.finditer(name) if m.start()] for name in names]
        self.after: dict[str, list[int]] = {}  # the columns whose name goes on after a stem: pf_rol_civil after pf_rol
        self.ending: dict[str, list[int]] = {}  # those whose last word it is
        for k, (name, ends) in enumerate(zip(names, self.stems, strict=True)):
            for end in ends:
                self.after.setdefault(name[:end], []).append(k)
            if ends:
                self.ending.setdefault(name[ends[-1] + 1 :], []).append(k)

    def likely(self, j: int) -> Iterator[list[int]]:
        """Sets of columns that may be the parts of this one."""
        name, bare = self.names[j], TOTAL_WORDS.sub("", self.names[j])
        for stem in dict.fromkeys((name, bare)):
            below = [k for k in self.after.get(stem, ()) if k != j]
            whole = {self.names[k] for k in below}
            heads = [k for k in below if not any(self.names[k][:end] in whole for end in self.stems[k])]
            if len(heads) >= 2:
                yield heads
            if len(below) > len(heads):
                yield below
        if self.stems[j]:
            alike = [k for k in self.ending[name[self.stems[j][-1] + 1 :]] if k != j]
            if 2 <= len(alike) <= MOST_PARTS:
                yield alike


class _Rounded:
    """The numbers of a table, with the unit each column is rounded to."""

    def __init__(self, X: Array) -> None:
        self.X, self.seen = X, ~np.isnan(X)
        self.unit = rounding_units(X)
        self.spread = np.array([X[seen, j].std() if seen.any() else 0.0 for j, seen in enumerate(self.seen.T)])
        self.top = np.array([np.abs(X[seen, j]).max() if seen.any() else 0.0 for j, seen in enumerate(self.seen.T)])
        self.few = evenly_spread(len(X), SUM_ROWS) if len(X) > SUM_ROWS else np.arange(len(X))

    def slack(self, j: int, parts: NDArray[np.intp], weights: Array) -> float:
        """How far rounding can make a total differ from its parts."""
        size = 1e-9 * (self.top[j] + np.abs(weights) @ self.top[parts])
        return float(0.51 * (self.unit[j] + np.abs(weights) @ self.unit[parts]) + size)

    def holds(self, j: int, parts: NDArray[np.intp], weights: Array, rows: NDArray[np.intp]) -> bool:
        """Whether the identity holds in these rows, every part being needed for it."""
        slack = self.slack(j, parts, weights)
        if slack > COARSE * self.spread[j]:
            return False
        terms = self.X[np.ix_(rows, parts)] * weights
        off = np.abs(self.X[rows, j] - terms.sum(axis=1))
        loose = 0.51 * (1 + len(parts))  # of a sum of whole numbers that were each rounded, as thousands are
        whole = not self.unit[j] and not self.unit[parts].any()
        if whole and (weights == 1).all() and loose <= ROUNDED_COARSE * self.spread[j]:
            slack = loose
        close = off <= slack
        if close.mean() < EXACT_SHARE:
            return False
        matter = np.abs(terms) > 2 * slack
        needed = np.maximum(LEAST_NEEDED, NEEDED_SHARE * len(rows))
        told = (matter & close[:, None]).sum(axis=0)  # a rare part must be right where it is not zero
        return bool((told >= needed).all() and (told >= EXACT_SHARE * matter.sum(axis=0)).all())

    def identity(self, j: int, parts: Sequence[int]) -> Identity | None:
        """The identity of a column and likely parts, some of which may have no share: a sum or a weighted mean."""
        at = np.array(parts, dtype=np.intp)
        rows = np.flatnonzero(self.seen[:, j] & self.seen[:, at].all(axis=1))
        if len(rows) < LEAST_SUM_ROWS + 2 * len(at) or self.spread[j] == 0:
            return None
        k, some = len(at), rows[evenly_spread(len(rows), SUM_ROWS)] if len(rows) > SUM_ROWS else rows
        try:
            weights, _ = nnls(self.X[np.ix_(some, at)], self.X[some, j])
        except RuntimeError:  # it turned in circles: columns that nearly repeat each other are no parts of a sum
            return None
        fitted, used = _nice(weights), weights * self.spread[at] > NEGLIGIBLE * self.spread[j]
        tries = [(np.ones(k), at), (np.full(k, 1.0 / k), at)]
        for near in (NICE, NEAR_ONE):  # a part that hardly varies is a part of a sum all the same
            plain = np.abs(weights - 1) < near
            if not plain.all():
                tries.append((np.ones(int(plain.sum())), at[plain]))
        if abs(fitted[used].sum() - 1) < EQUAL or np.abs(fitted[used] - 1).max(initial=0.0) < EQUAL:
            tries.append((fitted[used], at[used]))  # other weights are no sum and no mean: a table may be of low rank
        for tried, which in tries:
            if len(which) >= 2 and self.holds(j, which, tried, some) and self.holds(j, which, tried, rows):
                share = len(rows) / int(self.seen[:, j].sum())
                return Identity(j, tuple(which.tolist()), tuple(tried.tolist()), share)
        return None

    @cached_property
    def runs(self) -> dict[int, list[range]]:
        """The runs beside each column whose sum or mean, in the rows that are tried first, is that column."""
        exact = (self.spread > 0) & (self.unit <= COARSE * self.spread)
        found: dict[int, list[range]] = {}
        for order in (-1, 1):  # after a column as before it, with the columns turned round
            X, unit, top = self.X[self.few][:, ::order], self.unit[::order], self.top[::order]
            total, slack = np.zeros_like(X), 1e-9 * top
            for k in range(1, min(MOST_PARTS, X.shape[1] - 1) + 1):
                total[:, k:] += X[:, :-k]
                slack[k:] += 0.51 * unit[:-k] + 1e-9 * top[:-k]
                if k == 1:
                    continue
                own, sums, near = X[:, k:], total[:, k:], np.zeros(X.shape[1], dtype=bool)
                enough = np.maximum(EXACT_SHARE * (~np.isnan(sums + own)).sum(axis=0), LEAST_SUM_ROWS)
                for w in (1.0, 1.0 / k):  # a sum or a mean in nearly all rows
                    near[k:] |= (np.abs(own - sums * w) <= 0.51 * unit[k:] + w * slack[k:]).sum(axis=0) >= enough
                for j in np.flatnonzero(near).tolist():
                    here = j if order > 0 else X.shape[1] - 1 - j
                    if exact[here]:
                        run = range(here - k, here) if order > 0 else range(here + 1, here + k + 1)
                        found.setdefault(here, []).append(run)
        return found

    def _tied(self, columns: NDArray[np.intp], rows: NDArray[np.intp]) -> list[Identity]:
        """The identities of columns that the others determine, by what each does in the regression on all of them."""
        X = self.X[np.ix_(rows, columns)]
        Z = (X - X.mean(axis=0)) / self.spread[columns]
        inverse = np.linalg.inv(Z.T @ Z / len(rows) + RIDGE * np.eye(len(columns)))  # huge where there is an identity
        size = np.diag(inverse)
        tied = size > COARSE**-2
        likely = (np.abs(inverse) > PULL * size[:, None]) | tied  # a row for each total
        np.fill_diagonal(likely, False)
        made = []
        for i in np.flatnonzero(tied):
            identity = self.identity(int(columns[i]), columns[likely[i]].tolist()) if likely[i].sum() > 1 else None
            if identity is None and len(columns) <= MOST_PARTS:  # parts too small to pull at it, as of small parties
                identity = self.identity(int(columns[i]), np.delete(columns, i).tolist())
            made.append(identity)
        return [identity for identity in made if identity is not None]

    def anywhere(self, known: set[int]) -> list[Identity]:
        """Identities among all columns, by the complete rows: columns that the others determine exactly."""
        d = self.X.shape[1]
        columns = [j for j in range(d) if j not in known and self.spread[j] > 0]
        gaps, missing = (~self.seen).sum(axis=0), (~self.seen[:, columns]).sum(axis=1)
        for j in sorted(columns, key=lambda j: -gaps[j]):  # without the emptiest, until half of the rows are complete
            if 2 * (missing == 0).sum() >= len(missing) or not gaps[j]:
                break
            missing -= ~self.seen[:, j]
            columns.remove(j)
        rows = np.flatnonzero(self.seen[:, columns].all(axis=1))
        rows = rows[evenly_spread(len(rows), 4 * SUM_ROWS)] if len(rows) > 4 * SUM_ROWS else rows
        found: list[Identity] = []
        while 3 <= len(columns) <= MOST_SEARCHED and len(rows) >= 2 * len(columns) + LEAST_SUM_ROWS:
            sure = self._tied(np.array(columns), rows)
            if not sure:
                break
            best = min(sure, key=lambda one: len(one.parts))
            found.append(best)
            columns.remove(best.total)
        return found


def rounding_units(X: Array) -> Array:
    """The unit each column is rounded to, gaps aside: 0 for whole numbers, which are exact, and for numbers with all
    their digits."""
    unit, top = np.zeros(X.shape[1]), np.fmax.reduce(np.abs(X), axis=0, initial=0.0)
    open_ones = np.flatnonzero(~(((np.round(X) == X) | np.isnan(X)).all(axis=0) & (top < 2**53)))
    for k in range(1, DECIMALS + 1):
        steps = X[:, open_ones] * 10.0**k
        off = np.fmax.reduce(np.abs(steps - np.round(steps)), axis=0, initial=0.0)
        exact = off <= 1e-6 * np.maximum(1.0, top[open_ones] * 10.0**k * 1e-9)
        unit[open_ones[exact]] = 10.0**-k
        open_ones = open_ones[~exact]
    return unit


def _nice(weights: Array) -> Array:
    """Weights as a person would give them: twelfths or hundredths, where they are near."""
    for parts in (12, 100, 60, 144):
        near = np.round(weights * parts) / parts
        if np.abs(near - weights).max(initial=0.0) < NICE:
            return near
    return weights


# functions of one other ----------------------------------------------------------------------------------------
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


def _power(base: float) -> Scale:
    most = HIGHEST_EXPONENT / np.log(base)
    return lambda x: np.power(base, np.clip(x, -most, most))


FORMS = (  # from the plainest on
    Form("", "{}"),
    Form("the logarithm of ", "{}", outer=np.log, undo=_power(math.e), slope=_power(math.e)),
    Form("the logarithm to base 10 of ", "{}", outer=np.log10, undo=_power(10.0), slope=_power(10.0)),
    Form("the logarithm to base 2 of ", "{}", outer=np.log2, undo=_power(2.0), slope=_power(2.0)),
    Form("", "exp({})", inner=_power(math.e), inner_undo=np.log),
    Form("", "10^{}", inner=_power(10.0), inner_undo=np.log10),
    Form("", "2^{}", inner=_power(2.0), inner_undo=np.log2),
    Form("", "{} squared", inner=np.square, inner_undo=np.sqrt),
    Form("the square root of ", "{}", outer=np.sqrt, undo=np.square, slope=np.abs),
    Form("", "1/{}", inner=np.reciprocal, inner_undo=np.reciprocal),
)


def find_functions(X: Array, names: Sequence[str]) -> list[Made]:
    """The columns that are exact functions of one other, the later of two; the one with fewer cells where they differ.

    >>> x = np.random.default_rng(0).uniform(1, 90, 50).round(1)
    >>> [f.words for f in find_functions(np.column_stack([x, np.log10(x).round(3), 24 - x]), ["x", "lx", "y"])]
    ['the logarithm to base 10 of x', '24 - x']
    """
    X = np.where(np.abs(X) < TOO_LARGE, X, np.nan)
    rows = evenly_spread(len(X), PAIR_ROWS) if len(X) > PAIR_ROWS else np.arange(len(X))
    ranks = ranks_of(X[rows])
    seen: Mask = ~np.isnan(X)
    cells, found = seen.sum(axis=0), dict[int, Made]()
    for i, j in alike_pairs(ranks, MOST_PARTNERS):
        column, of = (i, j) if cells[i] < cells[j] else (j, i)
        if column in found or of in found:
            continue
        both = seen[:, i] & seen[:, j]
        relation = _relation(X[both, of], X[both, column], *rounding_units(X[:, [of, column]]).tolist())
        if relation is not None:
            words = _words(FORMS[relation.form], relation.a, relation.b, names[of])
            found[column] = Made(column, words, float(both.sum() / cells[column]), CopyOf(names[of], relation))
    return [found[j] for j in sorted(found)]


def ranks_of(X: Array) -> Array:
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


# products and ratios of two others -----------------------------------------------------------------------------
def find_products(X: Array, names: Sequence[str]) -> list[Made]:
    """The columns that are a product or a ratio of two others, one of which may be squared, times a constant.

    >>> rng = np.random.default_rng(0)
    >>> people, area = rng.integers(1000, 90_000, 40) * 1.0, rng.uniform(1, 30, 40).round(2)
    >>> X = np.column_stack([people, area, (people / area).round(1)])
    >>> [p.words for p in find_products(X, ["people", "area", "density"])]
    ['people / area']
    """
    X = np.where(np.abs(X) < TOO_LARGE, X, np.nan)
    likely = []
    for j, v in enumerate(x[~np.isnan(x)] for x in X.T):
        if len(v) >= LEAST_PRODUCT_ROWS and len(np.unique(v)) >= LEAST_FACTORS and (v >= 0).all():
            likely.append(j)
    if not 3 <= len(likely) <= MOST_SEARCHED:
        return []
    units = dict(zip(likely, rounding_units(X[:, likely]).tolist(), strict=True))
    likely = [j for j in likely if _felt_in_itself(X[:, j], units[j])]
    found, parents = dict[int, Made](), dict[int, set[int]]()
    if len(likely) < 3:
        return []
    every = np.array(likely), np.array([units[j] for j in likely])
    for power, triple in ((p, triple) for p in (1, 2) for triple in _triples(X, *every, p)):
        ends = triple if power == 1 else (triple[0], triple[2])
        rates = [j for j in ends if RATE.search(names[j])]
        target = rates[0] if len(rates) == 1 else min(ends, key=lambda j: (_by_digits(X[:, j], units[j]), -j))
        others = {*triple} - {target}
        if target in found or any(target in parents.get(j, ()) for j in others):
            continue
        product = _made(X, triple, power, target, units, names)
        if product is not None:
            found[target] = product
            parents[target] = others.union(*(parents.get(j, set()) for j in others))
    return [found[j] for j in sorted(found)]


def _felt_in_itself(x: Array, unit: float) -> bool:
    """Whether a column varies more than its own rounding, by about as much as a factor must: few small whole numbers,
    as counts and grades are, go together with anything to their rounding."""
    v = x[x > 0]
    return len(v) >= LEAST_PRODUCT_ROWS and bool(2.0 * np.log(v).std() > FELT * float(np.median(ROUNDING * unit / v)))


def _triples(X: Array, likely: NDArray[np.intp], units: Array, power: int) -> Iterator[tuple[int, int, int]]:
    """Columns a, b, c for which a b^power / c may be the same in all rows, by a few rows that show all columns."""
    shown = np.flatnonzero((X[:, likely] > 0).all(axis=1))
    if len(shown) < PROBED_ROWS:  # rows that show most of them
        shown = np.argsort(-(X[:, likely] > 0).sum(axis=1), kind="stable")[: 4 * PROBED_ROWS]
    rows = np.sort(shown)[evenly_spread(len(shown), PROBED_ROWS)] if len(shown) > PROBED_ROWS else shown
    V = X[np.ix_(rows, likely)]
    with np.errstate(divide="ignore", invalid="ignore"):
        L: Array = np.where(V > 0, np.log(V), np.nan)
        slack: Array = ROUNDING * units / V + DIGITS
    some = evenly_spread(len(rows), FIRST_ROWS) if len(rows) > FIRST_ROWS else np.arange(len(rows))
    for i in range(len(likely)):
        later = np.arange(i + 1, len(likely)) if power == 1 else np.delete(np.arange(len(likely)), i)
        ends = (L[some, i, None] + power * L[np.ix_(some, later)])[:, :, None] - L[some][:, None]  # rows x b x c
        off = (slack[some, i, None] + power * slack[np.ix_(some, later)])[:, :, None] + slack[some][:, None]
        b, c = np.nonzero(_one_constant(ends, off))
        b = later[b]
        ends = L[:, i, None] + power * L[:, b] - L[:, c]
        near = _one_constant(ends, slack[:, i, None] + power * slack[:, b] + slack[:, c])
        enough = (~np.isnan(ends)).sum(axis=0) >= PROBED_ROWS // 2
        for k in np.flatnonzero(near & enough & (c != i) & (c != b)):
            yield int(likely[i]), int(likely[b[k]]), int(likely[c[k]])


def _one_constant(x: Array, off: Array) -> Mask:
    """Whether one constant lies within the rounding of every row."""
    return np.asarray(np.fmax.reduce(x - off, axis=0) <= np.fmin.reduce(x + off, axis=0))


def _by_digits(x: Array, unit: float) -> tuple[bool, float]:
    """To which power of ten of its size a column is rounded, whole numbers last: what was computed has more digits than
    what it was computed from."""
    seen = x[x > 0]
    relative = unit / float(np.median(seen))
    return bool((seen == np.round(seen)).all()), round(float(np.log10(max(relative, 10.0**-EXACT_FIGURES))))


def _near_power(k: float) -> float:
    return next((power for power in POWERS if abs(k / power - 1) < NEAR_POWER), k)


def _made(
    X: Array, triple: tuple[int, int, int], power: int, last: int, units: dict[int, float], names: Sequence[str]
) -> Made | None:
    """One of three columns as the product or ratio of the others, if it is in nearly all rows."""
    a, b, c = triple
    seen = ~np.isnan(X[:, list(triple)]).any(axis=1)
    use = seen & (X[:, list(triple)] > 0).all(axis=1)
    if use.sum() < LEAST_PRODUCT_ROWS or 2 * use.sum() < seen.sum():
        return None
    times = {a: 1, b: power, c: 1}
    logs = {j: times[j] * np.log(X[use, j]) for j in triple}
    rounding = {j: times[j] * (ROUNDING * units[j] / X[use, j] + DIGITS) for j in triple}
    off = logs[a] + logs[b] - logs[c]
    constant, slack = float(np.median(off)), sum(rounding.values(), np.zeros(int(use.sum())))
    close = np.abs(off - constant) <= slack
    felt = all(logs[j].std() > FELT * float(np.median(slack)) for j in triple)
    if not felt or close.mean() < EXACT_SHARE or float(np.median(slack)) > FINE * logs[last].std():
        return None
    share = float(seen.sum() / (~np.isnan(X[:, last])).sum())
    k = np.exp(constant)  # a b^power = k c
    told = names[b] if power == 1 else f"{names[b]} squared"
    if last == c:
        return Made(last, _times(1.0 / k, f"{names[a]} x {told}"), share)
    other = told if last == a else names[a]
    return Made(last, _times(k, f"{names[c]} / {other}"), share)


def _times(k: float, term: str) -> str:
    """A constant before a term, a power of ten where it is near one."""
    k = _near_power(k)
    return term if k == 1.0 else f"{figures(k, 4)} {term}"


# what a copy tells of the gaps of the column that was kept -----------------------------------------------------
class CopiedColumn(NamedTuple):
    """A column that says the same as one that was kept, both as they were read."""

    column: Column
    kept: Column

    @property
    def pairs(self) -> dict[str, Any]:
        """The label of the kept column that goes with each label of the copy."""
        both = zip(self.column.words, self.kept.words, strict=True)
        return {own: kept for own, kept in both if own is not None and kept is not None}

    @property
    def told(self) -> NDArray[np.intp]:
        """Rows in which the kept column is a gap and the copy is not."""
        return np.flatnonzero(self.kept.gaps & ~self.column.gaps)

    @property
    def gaps(self) -> NDArray[np.intp]:
        """Rows in which the copy is a gap."""
        return np.flatnonzero(self.column.gaps)


def copied_columns(table: Table) -> list[CopiedColumn]:
    """The copies whose other is still a column of the table."""
    here = {c.name: c for c in table.columns if c.role in ("number", "label")}
    return [CopiedColumn(c, here[c.copy.name]) for c in table.columns if c.copy is not None and c.copy.name in here]


def told_by_copies(table: Table) -> Table:
    """The table with the gaps of its columns filled where a copy says what stands there.

    >>> import pandas as pd
    >>> from lowdim.table.read import read
    >>> x = np.random.default_rng(0).normal(size=(40, 2)).round(2)
    >>> frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "twice": 2 * x[:, 0]})
    >>> frame.loc[3, "a"] = frame.loc[[5, 6], "twice"] = np.nan
    >>> table = read(frame)
    >>> table.names, bool(2 * told_by_copies(table).X[3, 0] == frame.loc[3, "twice"])
    (('a', 'b'), True)
    """
    copies = copied_columns(table)
    if not copies:
        return table
    full = copy(table)
    columns = {c.name: c for c in table.columns}
    full.left_labels = dict(table.left_labels)
    for pair in copies:
        own, kept = pair.column, columns[pair.kept.name]
        if kept.role == "label":
            full.left_labels[kept.name] = _labels(table.left_labels[kept.name], table.left_labels[own.name], pair.pairs)
        if kept.code_words:
            told = codes_of(_labels(kept.words, own.words, pair.pairs), kept.code_words)
            columns[kept.name] = kept._replace(values=told)
        else:
            columns[kept.name] = kept._replace(values=_numbers(kept, own))
    full.columns = tuple(columns[c.name] for c in table.columns)
    full.X = np.column_stack([np.zeros((table.n, 0)), *(c.values for c in full.columns if c.role == "number")])
    return full


def _labels(kept: NDArray[Any], own: NDArray[Any], pairs: dict[str, Any]) -> NDArray[Any]:
    cells = zip(kept.tolist(), own.tolist(), strict=True)
    told = [pairs.get(b) if a is None and b is not None else a for a, b in cells]
    return np.array([*told, None], dtype=object)[:-1]


def _numbers(kept: Column, own: Column) -> Array:
    """The kept column on its scale, its gaps by the copy."""
    values = np.array(kept.values, dtype=np.float64)
    gap = np.isnan(values)
    if own.copy is not None and own.copy.relation is not None:
        told = own.copy.relation.back(np.asarray(own.values, dtype=np.float64)[gap])
        with np.errstate(all="ignore"):
            told = np.log(told + kept.offset) if kept.log else told
        values[gap] = np.where(np.isfinite(told), told, np.nan)
    return values
