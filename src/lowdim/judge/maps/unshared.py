"""What there is in a table whose columns share nothing along straight lines: columns of several peaks, and curves.

A column has several peaks where its values fall into groups by the rule for places on a map. A column follows another
along a curve where the square of the other's normal scores predicts its own, which no straight line tells: correlations
of all pairs, each with its chance by Student's law, as many times as there are pairs.

Reference: van der Waerden (1952) for normal scores; Student (1908).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtr

from lowdim.judge.maps.groups import groups_of_places
from lowdim.judge.maps.latent_cells import usual_step
from lowdim.maths.linalg import Array, evenly_spread
from lowdim.table.table import Table
from lowdim.text.format import count, listing

MOST_ROWS, MOST_COLUMNS = 400, 30  # in which peaks are looked for
LEAST_ROWS = 30
CHANCE = 0.01  # of any curve at all, where there is none
LEAST_SHARE = 0.1  # of a column's variance that a curve must predict
MOST_NAMED = 3


class Curve(NamedTuple):
    """A column that follows another along a curve."""

    column: str
    follows: str
    share: float  # of its variance that the other's square predicts, in normal scores


class Unshared(NamedTuple):
    """What there is where no column predicts another along a straight line."""

    peaks: tuple[str, ...] = ()  # columns of several peaks
    curves: tuple[Curve, ...] = ()

    @property
    def words(self) -> str:
        """Both in a sentence each; "" where there is neither."""
        said = []
        if self.peaks:
            have = "has" if len(self.peaks) == 1 else "have"
            said.append(f"{listing(self.peaks, MOST_NAMED, last=' and ')} {have} several peaks.")
        if self.curves:
            one = self.curves[0]
            more = f", and {count(len(self.curves) - 1, 'other pair')} likewise" if self.curves[1:] else ""
            said.append(
                f"{one.column} follows {one.follows} along a curve, which predicts {one.share:.0%} of it{more}."
            )
        return " ".join(said)


def unshared(table: Table, seed: int = 0) -> Unshared:
    """What there is in a table beside straight lines.

    >>> from lowdim.table.read import read
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((200, 2))
    >>> found = unshared(read(np.column_stack([x, x[:, 0] ** 2 + 0.5 * x[:, 1] + rng.standard_normal(200)])))
    >>> [(curve.column, curve.follows) for curve in found.curves], found.peaks
    ([('c3', 'c1')], ())
    """
    numbers = [k for k, labels in enumerate(table.code_labels) if not labels]
    X, names = table.X[:, numbers], [table.names[k] for k in numbers]
    rng, peaks = np.random.default_rng(seed), []
    for name, column in list(zip(names, X.T, strict=True))[:MOST_COLUMNS]:
        x = column[~np.isnan(column)]
        x = x[evenly_spread(len(x), MOST_ROWS)] if len(x) > MOST_ROWS else x
        near = x + rng.uniform(-0.5, 0.5, len(x)) * usual_step(x)
        if len(x) >= LEAST_ROWS and groups_of_places(near[:, None]).any():
            peaks.append(name)
    return Unshared(tuple(peaks), curves(X, names))


def curves(X: Array, names: list[str]) -> tuple[Curve, ...]:
    """Pairs of columns of which one follows the other along a curve, the best first; each pair once."""
    seen = ~np.isnan(X)
    u = np.zeros(X.shape)
    for j, column in enumerate(X.T):
        own = column[seen[:, j]]
        order = np.sort(own)
        rank = 0.5 * (np.searchsorted(order, own) + np.searchsorted(order, own, side="right"))  # of ties the middle
        u[seen[:, j], j] = ndtri((rank + 0.125) / (len(own) + 0.25)) if len(own) else 0.0
    square = np.where(seen, u**2 - 1.0, 0.0)
    shown = seen.astype(np.float64)
    both = shown.T @ shown
    with np.errstate(divide="ignore", invalid="ignore"):
        r = (square.T @ u) / np.sqrt(((square**2).T @ shown) * (shown.T @ u**2))
        r = np.where(np.isfinite(r) & (both >= LEAST_ROWS), np.clip(r, -1.0 + 1e-12, 1.0 - 1e-12), 0.0)
        p = 2.0 * stdtr(np.maximum(both - 2.0, 1.0), -np.abs(r) * np.sqrt((both - 2.0) / (1.0 - r**2)))
    np.fill_diagonal(r, 0.0)
    found, told = list[Curve](), set[frozenset[int]]()
    for at in np.argsort(-np.abs(r), axis=None, kind="stable"):
        j, k = divmod(int(at), len(names))
        if r[j, k] ** 2 < LEAST_SHARE:
            break
        if p[j, k] * r.size < CHANCE and frozenset((j, k)) not in told:
            told.add(frozenset((j, k)))
            found.append(Curve(names[k], names[j], float(r[j, k] ** 2)))
    return tuple(found)
