"""Columns that are sums or means of others, found by their numbers, to the rounding of the file.

Parts are looked for where people put them: in the columns before or after, among those whose name begins with the
total's (`pf_rol` of `pf_rol_civil`), or that end as it does (`pf_score` of `hf_score`); and, where enough rows are
complete, among all columns by non-negative least squares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lowdim.maths.linalg import Array, evenly_spread

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
PULL = 0.05  # share of a total's spread that a column moves it by, from which it may be a part
NEGLIGIBLE = 5e-3  # of a total's spread: what a part with such a weight does to it


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
            shown = parts if len(parts) <= 8 else [*parts[:6], f"{len(parts) - 6} more"]
            return f"the {kind} of {', '.join(shown[:-1])} and {shown[-1]}"
        terms = [f"{weight:.4g} {name}" for weight, name in zip(w, parts, strict=True)]
        return " + ".join(terms if len(terms) <= 8 else [*terms[:6], f"{len(terms) - 6} more terms"])


def find_sums(X: Array, names: Sequence[str]) -> list[Identity]:
    """The columns that are sums, means or other positive combinations of others, each once.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (40, 3)).round(2)
    >>> X = np.column_stack([X, X.mean(axis=1).round(2)])
    >>> find_sums(X, "a b c total".split())[0].words(["a", "b", "c", "total"])
    'the mean of a, b and c'
    """
    table, words = _Rounded(np.where(np.abs(X) < TOO_LARGE, X, np.nan)), _Names(names)
    found: dict[int, Identity] = {}
    for j in range(X.shape[1]):
        for parts in words.likely(j):
            identity = None if set(parts) & found.keys() and _circular(j, parts, found) else table.identity(j, parts)
            if identity is not None:
                found[j] = identity
                break
        else:
            run = table.beside(j)
            if run is not None and not _circular(j, run.parts, found):
                found[j] = run
    for identity in table.anywhere(set(found)):
        found.setdefault(identity.total, identity)
    return [found[j] for j in sorted(found)]


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
        close = np.abs(self.X[rows, j] - terms.sum(axis=1)) <= slack
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
        plain = np.abs(weights - 1) < NICE  # a part that hardly varies is a part of a sum all the same
        if (plain != used).any():
            tries.append((np.ones(int(plain.sum())), at[plain]))
        if abs(fitted[used].sum() - 1) < EQUAL or np.abs(fitted[used] - 1).max(initial=0.0) < EQUAL:
            tries.append((fitted[used], at[used]))  # other weights are no sum and no mean: a table may be of low rank
        for tried, which in tries:
            if len(which) >= 2 and self.holds(j, which, tried, some) and self.holds(j, which, tried, rows):
                share = len(rows) / int(self.seen[:, j].sum())
                return Identity(j, tuple(which.tolist()), tuple(tried.tolist()), share)
        return None

    def beside(self, j: int) -> Identity | None:
        """The run of columns just before or after a column that it is the sum or mean of."""
        for run in self.runs.get(j, ()):
            if (made := self.identity(j, run)) is not None and len(made.parts) == len(run):
                return made
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
                for j in self._close(X[:, k:], total[:, k:], slack[k:], unit[k:], k) + k if k > 1 else ():
                    here = int(j) if order > 0 else X.shape[1] - 1 - int(j)
                    if exact[here]:
                        found.setdefault(here, []).append(
                            range(here - k, here) if order > 0 else range(here + 1, here + k + 1)
                        )
        return found

    @staticmethod
    def _close(own: Array, total: Array, slack: Array, unit: Array, k: int) -> NDArray[np.intp]:
        """The columns that are the sum or the mean of k others in nearly all rows."""
        enough = np.maximum(EXACT_SHARE * (~np.isnan(total + own)).sum(axis=0), LEAST_SUM_ROWS)
        near = [(np.abs(own - total * w) <= 0.51 * unit + w * slack).sum(axis=0) >= enough for w in (1.0, 1.0 / k)]
        return np.flatnonzero(near[0] | near[1])

    def _filled(self, columns: list[int]) -> list[int]:
        """The columns without the emptiest ones, until half of the rows are complete."""
        gaps = dict(zip(columns, (~self.seen[:, columns]).sum(axis=0).tolist(), strict=True))
        missing = (~self.seen[:, columns]).sum(axis=1)
        for j in sorted(columns, key=lambda j: -gaps[j]):
            if 2 * (missing == 0).sum() >= len(missing) or not gaps[j]:
                break
            missing -= ~self.seen[:, j]
            columns = [k for k in columns if k != j]
        return columns

    def _tied(self, columns: NDArray[np.intp], rows: NDArray[np.intp]) -> list[Identity]:
        """The identities of columns that the others determine, by what each does in the regression on all of them."""
        X = self.X[np.ix_(rows, columns)]
        Z = (X - X.mean(axis=0)) / self.spread[columns]
        inverse = np.linalg.inv(Z.T @ Z / len(rows) + RIDGE * np.eye(len(columns)))  # huge where there is an identity
        size = np.diag(inverse)
        tied = size > COARSE**-2
        likely = (np.abs(inverse) > PULL * size[:, None]) | tied  # a row for each total
        np.fill_diagonal(likely, False)
        made = [
            self.identity(int(columns[i]), columns[likely[i]].tolist())
            for i in np.flatnonzero(tied)
            if likely[i].sum() > 1
        ]
        return [identity for identity in made if identity is not None]

    def anywhere(self, known: set[int]) -> list[Identity]:
        """Identities among all columns, by the complete rows: columns that the others determine exactly."""
        d = self.X.shape[1]
        columns = self._filled([j for j in range(d) if j not in known and self.spread[j] > 0])
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


def rounding_unit(v: Array) -> float:
    """The unit a column is rounded to: 0 for whole numbers, which are exact, and for numbers with all their digits."""
    return float(rounding_units(v[:, None])[0])


def rounding_units(X: Array) -> Array:
    """`rounding_unit` of each column; gaps are not asked."""
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
