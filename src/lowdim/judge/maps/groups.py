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

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import chdtri

from lowdim.judge.axes import eta_squared
from lowdim.judge.hidden_cells import left_out
from lowdim.judge.outliers.partition import GROUP_SHARE
from lowdim.judge.row_order import row_order
from lowdim.maths.kmeans import Labels
from lowdim.maths.linalg import Array, Mask
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
VALLEY = 0.4  # density of the valley over that of the lower peak: two Gaussians 4 spreads apart have 0.27
EMPTY = 0.01  # of the same, of a valley with hardly a row: no bend leaves one
CLEAR, SURE = 2.5, 3.6  # errors between the two, where a mixture of as many Gaussians predicts best; where that alone
# tells, there were no false alarms among simulated skew, heavy-tailed, flat, bent and serial tables
BESIDE, LEAST_BESIDE = 0.15, 8  # share and number of the rows beside a valley that tell whether it is a bend
BENT_P, BENT_SQUARE = 0.02, 0.15  # how unlike the others these may lie: see `_bent`
THIN, STRETCHED, TWO_SIDES = 0.6, 1.1, 1.7
TOLD_SHARE = 0.5  # of the best column's share of variance between groups, from which a second one is named
FARTHER_ON = 8  # rows: the rows of a series have much less to do with one so far on than with the next:
SERIES, SERIES_ERRORS = 0.5, 5.5  # its square is so much larger; 0.6 to 0.9 in series, up to 0.45 in sorted tables
GRID = 256


class RowGroups(NamedTuple):
    """Groups of rows, the largest first."""

    label: NDArray[np.int64]  # of each row, from 0
    columns: tuple[str, ...]  # that tell them apart best
    unfitted: tuple[int, ...] = ()  # groups apart from the bulk, to which the map is not fitted

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each group."""
        return tuple(np.bincount(self.label).tolist())

    @property
    def names(self) -> list[str] | None:
        """What to call each row's group; None where there is one."""
        return [f"group {k + 1}" for k in self.label.tolist()] if len(self.sizes) > 1 else None

    @property
    def sentence(self) -> str:
        """How many, how large and by what they differ; nothing where the rows are one group."""
        if len(self.sizes) < 2:
            return ""
        sizes = listing((f"{size:,}" for size in self.sizes), last=" and ")
        by = " and ".join(self.columns)
        text = f"The rows fall into {len(self.sizes)} groups ({sizes} rows) that differ most in {by}"
        without = " and ".join(str(k + 1) for k in self.unfitted)
        word = "groups" if len(self.unfitted) > 1 else "group"
        return text + (f"; the map is fitted without {word} {without}." if without else ".")


def one_group(n: int) -> RowGroups:
    """All rows together."""
    return RowGroups(np.zeros(n, dtype=np.int64), ())


def row_groups(found: TableMap, table: Table, places: Array, partition: Partition, seed: int = 0) -> RowGroups:
    """The groups of a table's rows: those that its map shows of the bulk, by places on it, and those apart from it.

    Wrong cells tell nothing, and far rows go with the group that they are nearest to.
    """
    X = np.where(partition.cell_mask(*table.X.shape), np.nan, table.X)
    label = _groups_of_bulk(found, X, places, partition.outside_mask(len(X)), seed)
    for k, rows in enumerate(partition.groups, label.max(initial=0) + 1):
        label[rows] = k
    if not label.any():
        return one_group(len(X))
    largest = np.argsort(-np.bincount(label), kind="stable")
    first_apart = len(largest) - len(partition.groups)
    unfitted = tuple(k for k, group in enumerate(largest.tolist()) if group >= first_apart)
    label = np.argsort(largest)[label]
    ones = ones_of(table.code_labels)
    names = one_names(table.names, table.code_labels, ones)
    return RowGroups(label, _telling(in_ones(X, ones), names, label), unfitted)


def _groups_of_bulk(found: TableMap, X: Array, places: Array, outside: Mask, seed: int) -> Labels:
    """The group of each row that the map shows, from 0; all 0 where it shows none."""
    n, q = places.shape
    full = np.flatnonzero((np.isnan(X).mean(axis=1) <= 1.0 - SEEN_SHARE) & ~outside)
    one = np.zeros(n, dtype=np.int64)
    if q == 0 or len(full) < 2 * LEAST_ROWS:
        return one
    rows = full[row_order(X[full], ~np.isnan(X[full]), seed)[:MOST_ROWS]]
    z = found.cells.blurred(X[rows], np.random.default_rng(seed))
    label = groups_of_places(z, rows)
    if not label.any():
        return one
    spread = z.std(axis=0)
    scale = np.where(spread > 0.0, spread, 1.0)
    nearest = cKDTree(z / scale).query(places / scale)[1]
    everyone = label[nearest]
    everyone[rows] = label
    return everyone


def _telling(X: Array, names: tuple[str, ...], label: NDArray[np.int64]) -> tuple[str, ...]:
    """The column with most of its variance between the groups, and a second where it has nearly as much."""
    shares = []
    for x in X.T:
        seen = ~np.isnan(x)
        tie = eta_squared(x[seen], label[seen])
        shares.append(0.0 if tie is None else tie[0])
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
    n = len(z)
    came = np.arange(n) if came is None else np.argsort(came)
    one = np.zeros(n, dtype=np.int64)
    z = z[:, : min(MOST_AXES, max(1, n // ROWS_PER_AXIS))]
    z = _white(z[:, np.ptp(z, axis=0) > 0], one)
    if not z.shape[1]:
        return one
    K = _gaussians(z)
    if K == 1:
        return one
    parts = _large(z, _components(z, K, STARTS), max(LEAST_ROWS, GROUP_SHARE * n))
    if _are_series(z, came):
        own = np.argsort(came)
        return _only_apart(z[came], parts[came], SURE, series=True)[own]
    groups = _only_apart(z, parts, CLEAR)
    # where one group takes several Gaussians, as a bend does, that mixtures are better says nothing of valleys
    return groups if groups.max() == parts.max() else _only_apart(z, parts, SURE)


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
    """Parts joined, the nearest first, until all are apart from each other, as wholes or each part from each; rows of a
    series are in their order."""
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
    return of[label]


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
    widest direction is about three times the square of the second; of rows on two sides it is once.
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
    return bool(one_side or thin or square[-1] > STRETCHED * (1.0 + chance) ** 2 or fourth < TWO_SIDES)


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
