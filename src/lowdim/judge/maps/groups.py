"""Do the rows fall into groups? Parts of the map between which hardly any rows lie.

A mixture of Gaussians proposes them: as many as predict left-out rows best, the fewest within one standard error. Two
parts are apart where the rows themselves, along the direction that tells them apart best, have a deep and sure valley,
and where the rows beside it lie between the two: those of a bend lie to one side. Parts that are not apart are one. A
skew or heavy tail needs several Gaussians and has no valley, steps of a column are blurred before, and rows that go on
from the one before count as fewer, so that none of these makes groups.

References: Fisher (1936) for the direction; Silverman, "Density estimation" (1986), for the width of the kernel and the
variance of a density's square root.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from lowdim.judge.hidden_cells import left_out
from lowdim.judge.labels import SharedValue, share_between, values_of
from lowdim.judge.maps.group_law import GroupLaw, group_law
from lowdim.judge.outliers.partition import GROUP_SHARE
from lowdim.judge.row_order import row_order
from lowdim.maths.kmeans import Labels
from lowdim.maths.linalg import Array, Mask
from lowdim.models.base.results import Posterior
from lowdim.table.column import in_ones, one_names, ones_of
from lowdim.text.format import listing
from lowdim.text.messages import no_warnings

if TYPE_CHECKING:
    from lowdim.judge.maps.table_map import TableMap
    from lowdim.judge.outliers.partition import Partition
    from lowdim.models.mixtures.mixture import GaussianMixture
    from lowdim.table.table import Table

MOST_ROWS = 2000  # rows that are looked at; the others go with their nearest
MOST_PARTS = 7  # Gaussians that are tried, as long as one of the last two more predicted better
MOST_AXES = 5  # of the map, in which a Gaussian's spread is known well enough
FOLDS = 5
STARTS, FOLD_STARTS = 5, 2  # of a mixture fitted to all rows, and to those of a fold
ROWS_PER_AXIS = 25  # with fewer a direction can be found that parts any rows
LEAST_ROWS = 10  # of a group that the map shows
SEEN_SHARE = 0.5  # of a row's cells: one with fewer lies near the middle whatever it is
FAR = 50.0  # spreads between two centres, beyond which it is no matter how far
VALLEY = 0.4  # density of the valley over that of the lower peak: two Gaussians 4 spreads apart have 0.27; at 0.5 one
# flat table of 150 rows in eight is parted
EMPTY = 0.01  # of the same, of a valley with hardly a row: no bend leaves one
CLEAR, SURE = 2.2, 3.6  # errors between the two, where a mixture of as many Gaussians predicts best; where that alone
# tells, there were no false alarms among simulated skew, heavy-tailed, flat, bent and serial tables
BESIDE, LEAST_BESIDE = 0.15, 8  # share and number of the rows beside a valley that tell whether it is a bend
BENT_P, BENT_SQUARE = 0.02, 0.15  # how unlike the others these may lie: see `_bent`
THIN, STRETCHED = 0.6, 1.1
TWO_SIDES, TWO_SIDES_FEW = 1.7, 0.045  # the fourth moment of rows on two sides; of few rows chance leaves less, too
TOLD_SHARE = 0.5  # of the best column's share of variance between groups, from which a second one is named
FARTHER_ON = 8  # rows: the rows of a series have much less to do with one so far on than with the next:
SERIES, SERIES_ERRORS = 0.5, 5.5  # its square is so much larger; 0.6 to 0.9 in series, up to 0.45 in sorted tables
GRID = 256


class RowGroups(NamedTuple):
    """Groups of rows, the largest first."""

    label: NDArray[np.int64]  # of each row, from 0
    columns: tuple[str, ...]  # that tell them apart best
    unfitted: tuple[int, ...] = ()  # groups apart from the bulk, to which the map is not fitted
    chance: Array = np.empty(0)  # that each row is of its group, by where it lies on the map; empty where there is one
    law: GroupLaw | None = None  # by which new rows get a group
    typical: tuple[int, ...] = ()  # the row of each group that lies nearest to its middle, by position
    names: tuple[str, ...] = ()  # of each group: the values of a label that its rows share, else its typical row
    shared: tuple[SharedValue | None, ...] = ()  # these values
    asked: bool = False  # whether a person asked for so many

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each group."""
        return tuple(np.bincount(self.label).tolist())

    @property
    def of_rows(self) -> list[str] | None:
        """What to call each row's group; None where there is one."""
        called = [f"{k}: {name}" for k, name in enumerate(self.names, 1)]
        return [called[k] for k in self.label.tolist()] if len(self.sizes) > 1 else None

    @property
    def sentence(self) -> str:
        """How many, how large and by what they differ; nothing where the rows are one group."""
        if len(self.sizes) < 2:
            return ""
        sizes = listing((f"{size:,}" for size in self.sizes), last=" and ")
        by = " and ".join(self.columns)
        how = "You asked for" if self.asked else "The rows fall into"
        text = f"{how} {len(self.sizes)} groups ({sizes} rows) that differ most in {by}"
        without = " and ".join(str(k + 1) for k in self.unfitted)
        word = "groups" if len(self.unfitted) > 1 else "group"
        return text + (f"; the map is fitted without {word} {without}." if without else ".")

    @property
    def label_sentence(self) -> str:
        """The groups whose rows share the values of a label: "Group 2 is species setosa in 50 of 50 rows."."""
        said = ", ".join(f"group {k} is {value.words}" for k, value in enumerate(self.shared, 1) if value)
        return f"{said[0].upper()}{said[1:]}." if said else ""

    def position(self, word: str) -> int | None:
        """The group that a person means by its number from 1 or its name, from 0; None where it is none, as the rows of
        one group are."""
        if len(self.sizes) < 2:
            return None
        if word.isdigit() and 1 <= int(word) <= len(self.sizes):
            return int(word) - 1
        return self.names.index(word) if word in self.names else None

    def columns_of_rows(self) -> tuple[tuple[str, NDArray[Any]], ...]:
        """The group of each row and its chance, as tables of rows have them; nothing where there is one group."""
        return _as_columns(self.label, self.chance) if len(self.sizes) > 1 else ()

    def columns_of_new_rows(self, places: Posterior) -> tuple[tuple[str, NDArray[Any]], ...]:
        """The same of new rows, by where they lie on the map."""
        if self.law is None:
            return ()
        chances = self.law.chances(places)
        label = chances.argmax(axis=1)
        return _as_columns(label, chances[np.arange(len(label)), label])

    def facts(self) -> list[dict[str, Any]]:
        """Each group as JSON has it; none where there is one."""
        if len(self.sizes) < 2:
            return []
        return [
            {
                "group": k + 1,
                "name": name,
                "rows": size,
                "typical_row": row,
                "label": None if shared is None else shared._asdict(),
                "fitted": k not in self.unfitted,
            }
            for k, (name, size, row, shared) in enumerate(
                zip(self.names, self.sizes, self.typical, self.shared, strict=True)
            )
        ]


def colour_word(columns: Iterable[str]) -> str:
    """What groups of rows are called among a table's columns, where a map is coloured by one of these."""
    return "group" if "group" not in columns else "group of rows"


def _as_columns(label: Labels, chance: Array) -> tuple[tuple[str, NDArray[Any]], ...]:
    return ("group", label + 1), ("group_probability", chance)


def one_group(n: int) -> RowGroups:
    """All rows together."""
    return RowGroups(np.zeros(n, dtype=np.int64), ())


def row_groups(
    found: TableMap, table: Table, places: Posterior, partition: Partition, asked: int | None = None, seed: int = 0
) -> RowGroups:
    """The groups of a table's rows: those that its map shows of the bulk, by places on it, and those apart from it; so
    many where that was `asked`.

    Wrong cells tell nothing, and far rows go with the group that they are likeliest of.
    """
    X = np.where(partition.cell_mask(*table.X.shape), np.nan, table.X)
    n, apart = len(X), partition.groups
    in_bulk = None if asked is None else max(1, asked - len(apart))
    part, group = _parts_of_bulk(found, X, places, partition.outside_mask(n), in_bulk, seed)
    for rows in apart:
        part[rows] = len(group)
        group = np.append(group, group.max() + 1)
    if not group.any():
        return one_group(n)
    law = group_law(places, part, group, MOST_AXES)
    chances = law.chances(places)
    label = chances[:, : group.max() + 1 - len(apart)].argmax(axis=1)
    for k, rows in enumerate(apart, group.max() + 1 - len(apart)):
        label[rows] = k
    largest = np.argsort(-np.bincount(label, minlength=group.max() + 1), kind="stable")
    rank = np.argsort(largest)
    unfitted = tuple(sorted(rank[group.max() + 1 - len(apart) :].tolist()))
    label, chances = rank[label], chances[:, largest]
    law = law._replace(group=rank[law.group])
    ones = ones_of(table.code_labels)
    telling = _telling(in_ones(X, ones), one_names(table.names, table.code_labels, ones), label)
    shared = tuple(values_of([label == k for k in range(len(largest))], table.labels))
    typical = tuple(_typical(places, np.flatnonzero(label == k)) for k in range(len(largest)))
    names = tuple(
        f"like {table.row_names[row]}" if value is None else value.name
        for row, value in zip(typical, shared, strict=True)
    )
    chance = chances[np.arange(n), label]
    return RowGroups(label, telling, unfitted, chance, law, typical, names, shared, asked is not None)


def _parts_of_bulk(
    found: TableMap, X: Array, places: Posterior, outside: Mask, asked: int | None, seed: int
) -> tuple[Labels, Labels]:
    """The Gaussian that each row looked at is of (-1: it is not looked at), and the group of each, from 0."""
    q = places.mean.shape[1]
    full = np.flatnonzero((np.isnan(X).mean(axis=1) <= 1.0 - SEEN_SHARE) & ~outside)
    part, group = np.where(outside, -1, 0), np.zeros(1, dtype=np.int64)
    if q == 0 or asked == 1 or len(full) < 2 * LEAST_ROWS:
        return part, group
    rows = full[row_order(X[full], ~np.isnan(X[full]), seed)[:MOST_ROWS]]
    z = found.cells.blurred(X[rows], np.random.default_rng(seed))
    own, group = _parts_of_places(z, rows) if asked is None else _parts_asked(z, asked)
    part[:] = -1
    part[rows] = own
    return part, group


def _typical(places: Posterior, rows: NDArray[np.intp]) -> int:
    """The row that lies nearest to the middle of some rows, in their own spread."""
    off = places.mean[rows] - np.median(places.mean[rows], axis=0)
    spread = off.std(axis=0)
    return int(rows[((off / np.where(spread > 0.0, spread, 1.0)) ** 2).sum(axis=1).argmin()])


def _telling(X: Array, names: tuple[str, ...], label: NDArray[np.int64]) -> tuple[str, ...]:
    """The column with most of its variance between the groups, and a second where it has nearly as much."""
    shares = []
    for x in X.T:
        seen = ~np.isnan(x)
        shares.append(share_between(x[seen], label[seen]))
    best = np.argsort(-np.array(shares), kind="stable")[:2]
    return tuple(names[j] for j in best if shares[j] >= TOLD_SHARE * shares[best[0]])


def groups_of_places(z: Array, came: NDArray[np.intp] | None = None) -> Labels:
    """The group of each place, from 0; all 0 where they are one group. `came` tells in which order the rows came.

    >>> z = np.random.default_rng(0).standard_normal((200, 2))
    >>> int(groups_of_places(z).max())
    0
    >>> z[:80, 1] += 8.0
    >>> sorted(np.bincount(groups_of_places(z)).tolist())
    [80, 120]
    """
    part, group = _parts_of_places(z, np.arange(len(z)) if came is None else came)
    return group[part]


def _parts_of_places(z: Array, came: NDArray[np.intp]) -> tuple[Labels, Labels]:
    """The Gaussian of each place, and the group of each Gaussian."""
    n = len(z)
    came, one = np.argsort(came), np.zeros(n, dtype=np.int64)
    z = z[:, : min(MOST_AXES, max(1, n // ROWS_PER_AXIS))]
    z = _white(z[:, np.ptp(z, axis=0) > 0], one)
    K = _gaussians(z) if z.shape[1] else 1
    if K == 1:
        return one, one[:1]
    parts = _large(z, _components(z, K, STARTS), max(LEAST_ROWS, GROUP_SHARE * n))
    if _are_series(z, came):
        return parts, _only_apart(z[came], parts[came], SURE, series=True)
    groups = _only_apart(z, parts, CLEAR)
    # where one group takes several Gaussians, as a bend does, that mixtures are better says nothing of valleys
    return parts, groups if groups.max() == parts.max() else _only_apart(z, parts, SURE)


def _parts_asked(z: Array, asked: int) -> tuple[Labels, Labels]:
    """The Gaussian of each place where so many are asked for, each a group by itself."""
    label = _components(z[:, : min(MOST_AXES, max(1, len(z) // ROWS_PER_AXIS))], asked, STARTS)
    return label, np.arange(label.max() + 1)


def _gaussians(z: Array) -> int:
    """How many Gaussians predict left-out rows best: the fewest that do within one standard error."""
    told = list[Array]()  # log density of each row, by the mixtures of 1, 2, ... that it was left out of
    n, best = len(z), 0
    for K in range(1, MOST_PARTS + 1):
        if n * (FOLDS - 1) < FOLDS * K * LEAST_ROWS or len(told) - best > 2:
            break
        density = np.empty(n)
        for rows in left_out(n, FOLDS):
            density[rows] = _mixture(z[~rows], K, FOLD_STARTS).score_samples(z[rows])
        told.append(density)
        best = int(np.argmax([one.mean() for one in told]))
    behind = [told[best] - one for one in told]
    return 1 + next(k for k, less in enumerate(behind) if less.mean() <= less.std() / np.sqrt(n))


def _mixture(z: Array, K: int, starts: int) -> GaussianMixture:
    from lowdim.models.mixtures.mixture import GaussianMixture  # not loaded where stored groups are read

    with no_warnings():  # nobody asked for it
        return GaussianMixture(K, n_init=starts, reg_covar=1e-3, tol=1e-4, max_iter=200, calibrate=False).fit(z)


def _components(z: Array, K: int, starts: int) -> Labels:
    """The likeliest of K Gaussians for each row; those that are nobody's left out."""
    return np.unique(_mixture(z, K, starts).predict(z), return_inverse=True)[1]


def _white(z: Array, label: Labels) -> Array:
    """Places in units of the spread within parts, uncorrelated there."""
    within = z - _centers(z, label)[label]
    variance, turn = np.linalg.eigh(within.T @ within / len(z))
    units = np.sqrt(np.maximum(variance, 1e-9 * variance.max(initial=1e-300)))
    return np.asarray((z - z.mean(axis=0)) @ (turn / units))


def _centers(z: Array, label: Labels) -> Array:
    return np.array([z[label == k].mean(axis=0) for k in range(label.max() + 1)])


def _large(z: Array, label: Labels, least: float) -> Labels:
    """Parts that are too small for a group go with the nearest that is not."""
    large = np.flatnonzero(np.bincount(label) >= least)
    if len(large) < 2:
        return np.zeros_like(label)
    centers = _centers(_white(z, label), label)
    to: Labels = ((centers[:, None] - centers[large]) ** 2).sum(axis=-1).argmin(axis=1)
    return to[label]


def _only_apart(z: Array, label: Labels, clear: float, *, series: bool = False) -> Labels:
    """The group of each part: parts joined, the nearest first, until all groups are apart from each other, as wholes or
    each part from each; rows of a series are in their order."""
    parts = [z[label == k] for k in range(label.max() + 1)]
    surely = np.zeros((len(parts), len(parts)), dtype=bool)
    for i in range(len(parts)):
        for j in range(i):
            surely[i, j] = surely[j, i] = _apart(parts[i], parts[j], SURE, series)
    of = np.arange(len(parts))  # the group of each part
    while of.any():
        K = of.max() + 1
        groups = [z[of[label] == k] for k in range(K)]
        joint = [
            (i, j)
            for i in range(K)
            for j in range(i)
            if not surely[np.ix_(of == i, of == j)].all() and not _apart(groups[i], groups[j], clear, series)
        ]
        if not joint:
            break
        centers = _centers(_white(z, of[label]), of[label])
        i, j = min(joint, key=lambda pair: float(((centers[pair[0]] - centers[pair[1]]) ** 2).sum()))
        of = np.unique(np.where(of == i, j, of), return_inverse=True)[1]
    return of


def _apart(a: Array, b: Array, clear: float, series: bool) -> bool:
    """Whether hardly any row lies between two parts, and those beside the valley are no bend; rows of a series, or of
    one unit, count as fewer.
    """
    within = np.concatenate([a - a.mean(axis=0), b - b.mean(axis=0)])
    S = within.T @ within / len(within)
    root = np.linalg.cholesky(S + 1e-9 * np.trace(S) * np.eye(len(S)))
    w, offset = np.linalg.solve(root, within.T).T, np.linalg.solve(root, a.mean(axis=0) - b.mean(axis=0))
    gap = offset / np.linalg.norm(offset)
    along, distance = w @ gap, min(float(np.linalg.norm(offset)), FAR)
    at = along + np.where(np.arange(len(w)) < len(a), distance, 0.0)  # 0 is b's centre
    depth, errors, place = _valley(at, distance)
    alike = max(_alike(along[: len(a)]), _alike(along[len(a) :]), 0.0) if series else 0.0
    if depth > VALLEY or errors * np.sqrt((1.0 - alike) / (1.0 + alike)) < clear:
        return False
    if depth < EMPTY:
        return True
    beside = np.argsort(np.abs(at - place), kind="stable")[: int(max(LEAST_BESIDE, BESIDE * len(w)))]
    return not _bent(w[beside] - np.outer(along[beside], gap))


def _bent(across: Array) -> bool:
    """Whether rows beside a valley lie off the line between the centres, to one side or to both, or on a thin curve.

    `across` has unit variance in q - 1 directions over all rows: of m that are like the others, m times the square of
    the mean is from chi-squared, second moments lie between (1 -+ sqrt((q - 1) / m))^2, and the fourth moment in the
    widest direction is about three times the square of the second; of rows on two sides it is once, and of ten rows of
    a Gaussian it is below 1.45 in two of a hundred.
    """
    m, q = across.shape
    if q == 1:
        return False
    aside = float((across.mean(axis=0) ** 2).sum())
    square, turn = np.linalg.eigh(across.T @ across / m)
    fourth = ((across @ turn[:, -1]) ** 4).mean() / square[-1] ** 2
    chance = np.sqrt((q - 1) / m)
    one_side = m * aside > chdtri(q - 1, BENT_P) and aside > BENT_SQUARE
    thin = square[1] < THIN * max(1.0 - chance, 0.0) ** 2  # the first is none, along the line
    return bool(
        one_side
        or thin
        or square[-1] > STRETCHED * (1.0 + chance) ** 2
        or fourth < min(TWO_SIDES, 1.0 + TWO_SIDES_FEW * m)
    )


def _are_series(z: Array, came: NDArray[np.intp]) -> bool:
    """Whether rows, as they came and less the centres of their parts, are more like the next than like one farther on,
    in most ways of parting them. Rows of a series are, and rows that come unit by unit; those of a table that is only
    sorted are not, once its parts are told apart.
    """
    if len(z) <= FARTHER_ON:
        return False
    nearer = []
    for K in range(2, MOST_PARTS + 1):
        label = _components(z, K, FOLD_STARTS)
        off = (z - _centers(z, label)[label])[came]
        one, far = (np.sqrt(np.abs(off[k:] - off[:-k])).mean(axis=0) for k in (1, FARTHER_ON))  # leaps weigh little
        nearer.append(1.0 - (one / np.maximum(far, 1e-300)).min() ** 4)
    return bool(np.median(nearer) > max(SERIES, SERIES_ERRORS / np.sqrt(len(z))))


def _alike(along: Array) -> float:
    """Correlation of each row of a part with the next."""
    return float(along[1:] @ along[:-1]) / max(float(along @ along), 1e-300)


def _valley(at: Array, distance: float) -> tuple[float, float, float]:
    """Between the centres 0 and `distance`: the lowest density over the lower peak's, errors between, and where."""
    n = len(at)
    h = 0.9 * n**-0.2
    grid = np.linspace(at.min() - h, at.max() + h, GRID)
    rows, edges = np.histogram(at, bins=grid)
    middles = 0.5 * (edges[1:] + edges[:-1])
    density = np.exp(-0.5 * ((grid[:, None] - middles) / h) ** 2) @ rows / (n * h * np.sqrt(2.0 * np.pi))
    between = np.flatnonzero((grid >= 0.0) & (grid <= distance))
    if not len(between):
        return 1.0, 0.0, 0.0
    low = between[density[between].argmin()]
    peak = min(density[: low + 1].max(), density[low:].max())
    error = np.sqrt(2.0 * 0.5 / np.sqrt(np.pi) / (4.0 * n * h))  # of the difference of two square roots
    return density[low] / peak, float((np.sqrt(peak) - np.sqrt(density[low])) / error), float(grid[low])
