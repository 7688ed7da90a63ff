"""Judging a map: what it keeps of a table's neighbours and of the order of its distances, whoever made it."""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.read_table import read
from lowdim.maths.linalg import Array, evenly_spread
from lowdim.registry import METHODS
from lowdim.sources.arrays import as_matrix, as_source, in_columns
from lowdim.sources.source import Source
from lowdim.sources.views import gather
from lowdim.table.table import Table, column_units
from lowdim.text.format import count
from lowdim.text.messages import error, no_warnings, warn

Order = NDArray[np.intp]
NEAR = 10  # neighbours of the headline figure as in `compare` and the report
TIE_SHARE = 1e-12  # distances closer than this share of the largest are equal: rounding must not order rows
JUDGED_ROWS = 2000  # rows that are judged: all pairs of them are held, 450 MB and 7 seconds (measured)
KRUSKAL = ((0.025, "excellent"), (0.05, "good"), (0.1, "fair"))  # Kruskal (1964), table of verbal evaluations
SAFE_SIZE = 1e-140  # and its inverse: squares of numbers between them are far from the ends of doubles
FLOOR_DRAWS = 5  # random projections behind the floor
LITTLE_SHARE = 0.95  # of the worst case from which "little" is said; chance is near 0.5
SOME_SHARE = 0.85  # and "some"


class NeighbourShares(NamedTuple):
    """How many of each row's k nearest rows in the table are among its k nearest on the map.

    `share[k - 1]` is the mean share for k = 1 ... n - 2. `area` weighs 1/k the same above chance,
    ((n - 1) share - k) / (n - 1 - k): 1 where all neighbourhoods are kept, 0 for a map of random places.
    """

    share: Array
    area: float

    def at(self, k: int = NEAR) -> float:
        """The share of the k nearest that are kept; all there are where rows are few."""
        return float(self.share[min(k, len(self.share)) - 1]) if len(self.share) else 0.0


class Shepard(NamedTuple):
    """Distances of all pairs in the table, sorted, those on the map, and the best rising curve through these."""

    table: Array
    map: Array
    fitted: Array
    stress: float  # Kruskal's stress-1, sqrt(sum (map - fitted)^2 / sum map^2): 0 where the order is kept
    ranks: float  # Spearman's correlation


class LabelErrors(NamedTuple):
    """Rows whose nearest other row has another label."""

    rows: NDArray[np.intp]
    labelled: int

    @property
    def share(self) -> float:
        return len(self.rows) / self.labelled if self.labelled else 0.0


class MapQuality(NamedTuple):
    """What a map keeps of a table. Row by row: `row_trust`, `row_continuity`, of the rows at `rows`."""

    k: int
    trust: float
    continuity: float
    neighbours: float  # share of each row's k nearest that are among its k nearest on the map
    kept: NeighbourShares  # the same for every k
    stress: float
    ranks: float
    row_trust: Array
    row_continuity: Array
    floors: dict[str, NeighbourShares]  # PCA and random projections (the mean of five) with as many axes
    errors: LabelErrors | None
    table_errors: LabelErrors | None
    rows: NDArray[np.intp]  # rows that were judged
    axes: int
    sentences: tuple[str, ...]

    def text(self) -> str:
        """A sentence a line."""
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        return self.text()


def judge_map(table: Any, Z: Any, labels: Any = None, k: int = NEAR) -> MapQuality:
    """How far a map of a table can be trusted, whoever made it.

        T(k) = 1 - 2 / (n k (2n - 3k - 1)) sum_i sum_j (r_ij - k),  j among the k nearest of i on the map, r_ij > k

    with r_ij the rank of j among the others by distance from i in the table: trustworthiness, which false neighbours
    lower; continuity, which torn ones lower, is the same with table and map exchanged. Distances of rows with gaps are
    over the cells both have, times columns / common cells; rows without a common cell are farthest.

    Parameters
    ----------
    table : path, Table, array or data frame
        A `Table`, or a path, counts in units of each column's spread unless it was read with scale="none"; arrays and
        frames keep their units. Of more than 2,000 rows so many are judged, evenly spread.
    Z : array of shape (n, q)
        One line of coordinates for each row.
    labels : array of shape (n,) or str, optional
        One a row, None for none, or the name of a label column: judged by the nearest row on the map.
    k : int, default 10
        Neighbours.

    Returns
    -------
    MapQuality
        Trustworthiness, continuity, neighbours kept, stress and rank agreement, for the map and row by row.

    References
    ----------
    Venna and Kaski, Neighborhood preservation in nonlinear projection methods, ICANN, 2001. Kruskal, Multidimensional
    scaling by optimizing goodness of fit, Psychometrika 29, 1964. Lee and Verleysen, Quality assessment of
    dimensionality reduction: rank-based criteria, Neurocomputing 72, 2009.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((60, 5))
    >>> quality = judge_map(X, X[:, :2])
    >>> round(quality.trust, 3), judge_map(X, X).trust
    (0.735, 1.0)
    """
    X, classes = cells_of(table, labels)
    Y = coordinates(Z, len(X))
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise error("LD210", option="k", value=k, allowed="a whole number >= 1")
    if len(X) < 3:
        raise error("LD160", n=len(X), least=3)
    rows = np.arange(len(X))
    if len(X) > JUDGED_ROWS:
        warn("LD295", rows=JUDGED_ROWS, n=len(X))
        rows = evenly_spread(len(X), JUDGED_ROWS)
    X, Y = X[rows], Y[rows]
    classes = None if classes is None else classes[rows]
    D, E = distances(X), distances(Y)
    here = order(D)
    beside = {name: typical(shares) for name, shares in floors(X, Y.shape[1], here).items()}
    quality = _judged(D, E, here, min(int(k), len(X) - 2), classes)._replace(rows=rows, axes=Y.shape[1], floors=beside)
    return quality._replace(sentences=sentences(quality, int(np.isnan(X).any(axis=1).sum())))


def _judged(D: Array, E: Array, here: Order, k: int, labels: NDArray[Any] | None) -> MapQuality:
    there = order(E)
    trust, whole = shares_true(here, there, k), shares_true(there, here, k)
    same, shape = kept(here, there), shepard(D, E)
    wrong = None if labels is None else label_errors(E, labels)
    before = None if labels is None else label_errors(D, labels)
    return MapQuality(
        k,
        float(trust.mean()),
        float(whole.mean()),
        same.at(k),
        same,
        shape.stress,
        shape.ranks,
        trust,
        whole,
        {},
        wrong,
        before,
        np.zeros(0, dtype=np.intp),
        0,
        (),
    )


def cells_of(table: Any, labels: Any = None) -> tuple[Array, NDArray[Any] | None]:
    """The numbers that distances are taken of, NaN at gaps, and the labels as an array."""
    table = read(table) if isinstance(table, str | PathLike) else table
    if isinstance(table, Table):
        table = table.in_ones()
        X = table.X / column_units(table.X, table.scale)
        if isinstance(labels, str):
            if labels not in table.labels:
                raise error(
                    "LD210",
                    option="labels",
                    value=labels,
                    allowed=f"a label column ({', '.join(table.labels) or 'there is none'}), or one a row",
                )
            labels = table.labels[labels]
    else:
        source: Source = as_source(table)
        x, mask = gather(source)
        X = x if mask is None else np.where(mask, x, np.nan)
    X = tame(X)
    if labels is None:
        return X, None
    classes = np.array(
        [None if v is None or v != v else v for v in np.asarray(labels, dtype=object).ravel().tolist()], dtype=object
    )
    if len(classes) != len(X):
        raise error("LD296", what="labels", got=len(classes), want=len(X))
    return X, classes


def coordinates(Z: Any, n: int) -> Array:
    """A map as n lines of finite numbers."""
    Y = as_matrix(in_columns(Z))
    if len(Y) != n:
        raise error("LD296", what="lines of coordinates", got=len(Y) if Y.ndim else 0, want=n)
    bad = ~np.isfinite(Y).all(axis=1) if Y.shape[1] else np.ones(n, dtype=bool)
    if bad.any():
        raise error("LD297", f"row {int(np.argmax(bad)) + 1}", count=int(bad.sum()))
    return tame(Y)


def tame(A: Array) -> Array:
    """The same numbers, in another unit where squares of their distances would not fit a double."""
    size = float(np.nanmax(np.abs(A), initial=0.0))
    return A if SAFE_SIZE < size < 1.0 / SAFE_SIZE or size == 0.0 else A / size


def distances(X: Array) -> Array:
    """Squared distances between rows, n x n; with gaps the mean over the cells both rows have, times the columns.

    No model is asked: a pair without a common cell is infinitely far apart.
    """
    mask = ~np.isnan(X)
    x = np.where(mask, X - np.nanmean(X, axis=0) if mask.any(axis=0).all() else X, 0.0)
    m = mask.astype(np.float64)
    squares = (x * x) @ m.T
    total = squares + squares.T - 2.0 * (x @ x.T)
    both = m @ m.T
    with np.errstate(divide="ignore", invalid="ignore"):
        matrix = np.where(both > 0.0, np.maximum(total, 0.0) * (X.shape[1] / both), np.inf)
    np.fill_diagonal(matrix, 0.0)
    finite = np.isfinite(matrix)
    size = float(matrix[finite].max(initial=0.0))
    return np.where(finite & (matrix <= TIE_SHARE * size), 0.0, matrix)


def order(D: Array) -> Order:
    """The other rows of each row, nearest first; rows equally far in the order of the table."""
    D = D.copy()
    np.fill_diagonal(D, -1.0)
    return np.argsort(D, axis=1, kind="stable")[:, 1:]


def ranks(order: NDArray[np.intp]) -> NDArray[np.intp]:
    """From the order of the other rows, the place of each in it, counted from 0, n x n; a row's own is the last."""
    n = len(order)
    place = np.full((n, n), n - 1, dtype=np.intp)
    np.put_along_axis(place, order, np.broadcast_to(np.arange(n - 1), (n, n - 1)), axis=1)
    return place


def kept(first: NDArray[np.intp], second: NDArray[np.intp]) -> NeighbourShares:
    """Neighbourhoods of every size compared, from two orders of the other rows.

    A row that is the r-th nearest here and the s-th there is common to all neighbourhoods of max(r, s) and more.

    Reference: Lee and Verleysen (2009) for the share, Lee et al. (2015) for the area.
    """
    n = len(first)
    if n < 3:
        return NeighbourShares(np.ones(0), 1.0)
    there = np.take_along_axis(ranks(second), first, axis=1)
    largest = np.maximum(there, np.arange(n - 1))
    common = np.cumsum(np.bincount(largest.ravel(), minlength=n - 1))[: n - 2]
    k = np.arange(1, n - 1)
    share = common / (n * k)
    above = ((n - 1) * share - k) / (n - 1 - k)
    return NeighbourShares(share, float((above / k).sum() / (1.0 / k).sum()))


def rank_agreement(D: Array, E: Array) -> float:
    """Spearman's correlation of two sets of distances over all pairs that can be compared."""
    from scipy.stats import rankdata

    i, j = np.triu_indices(len(D), 1)
    a, b = D[i, j], E[i, j]
    known = np.isfinite(a) & np.isfinite(b)
    if known.sum() < 2:
        return 0.0
    a, b = rankdata(a[known]), rankdata(b[known])
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0.0 else 0.0


def shares_true(table: Order, place: Order, k: int) -> Array:
    """Each row's own trustworthiness; with the orders exchanged, its continuity. Their means are those of the map.

    1 minus the ranks by which the k nearest on the map miss being so in the table, over the most they could.

    >>> a = np.array([[1, 2, 3], [0, 2, 3], [1, 3, 0], [2, 1, 0]])
    >>> shares_true(a, a[:, ::-1], 1).tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    n = len(table)
    far = min(k, n - 1 - k)
    worst = far * (n - 1 - k) - far * (far - 1) / 2.0
    if worst <= 0.0:
        return np.ones(n)
    rank = np.take_along_axis(ranks(table), place[:, :k], axis=1) + 1
    return np.asarray(1.0 - np.maximum(rank - k, 0).sum(axis=1) / worst)


def shepard(D: Array, E: Array) -> Shepard:
    """Squared distances of the table and of the map, pair by pair, with Kruskal's monotone fit.

    Pairs equally far in the table may differ on the map (the first approach to ties).
    """
    from sklearn.isotonic import isotonic_regression

    i, j = np.triu_indices(len(D), 1)
    known = np.isfinite(D[i, j])
    a, b = np.sqrt(D[i, j][known]), np.sqrt(E[i, j][known])
    at = np.lexsort((b, a))
    a, b = a[at], b[at]
    size = float(b @ b)
    if size == 0.0:
        return Shepard(a, b, b, 1.0, 0.0)  # a map of one place says nothing
    fitted = np.asarray(isotonic_regression(b))
    off = b - fitted
    return Shepard(a, b, fitted, float(np.sqrt(off @ off / size)), rank_agreement(D, E))


def label_errors(D: Array, labels: NDArray[Any]) -> LabelErrors:
    """Leave-one-out: labelled rows whose nearest other labelled row, the first of equals, has another label."""
    known = np.flatnonzero([label is not None for label in labels])
    if len(known) < 2:
        return LabelErrors(np.zeros(0, dtype=np.intp), len(known))
    near = order(D[np.ix_(known, known)])[:, 0]
    wrong = np.array([labels[i] != labels[j] for i, j in zip(known, known[near], strict=True)], dtype=bool)
    return LabelErrors(known[wrong], len(known))


def floors(X: Array, q: int, here: Order) -> dict[str, list[NeighbourShares]]:
    """What PCA and random projections (one draw proves nothing) keep with as many axes, decoded as compare does."""
    q = max(1, min(q, X.shape[1] - 1, len(X) - 2))
    shares: dict[str, list[NeighbourShares]] = {}
    for name, draws in (("pca", 1), ("random", FLOOR_DRAWS)):
        for seed in range(draws):
            model = METHODS[name].make(q, seed=seed)
            with no_warnings():
                place = np.asarray(model.fit(X).reconstruct(X))
            shares.setdefault(METHODS[name].title, []).append(kept(here, order(distances(place))))
    return shares


def typical(shares: list[NeighbourShares]) -> NeighbourShares:
    """The mean of several maps."""
    return NeighbourShares(np.mean([one.share for one in shares], axis=0), float(np.mean([one.area for one in shares])))


# in words ---------------------------------------------------------------------------------------------------------
def sentences(quality: MapQuality, with_gaps: int = 0) -> tuple[str, ...]:
    """What was found, for a person."""
    n, k = len(quality.rows), quality.k
    beside = ", ".join(f"{name} {same.at(k):.0%}" for name, same in quality.floors.items())
    lines = [
        f"The map ({count(quality.axes, 'axis', 'axes')}) keeps {quality.neighbours:.0%} of each row's {k} nearest rows"
        f" (with as many axes {beside}; chance {k / (n - 1):.0%}).",
        f"{_much(quality.trust)} of what is near on the map is far apart in the table (trustworthiness "
        f"{quality.trust:.3f}); {_much(quality.continuity).lower()} of what is near in the table is torn apart "
        f"(continuity {quality.continuity:.3f}).",
        f"Distances: rank agreement {quality.ranks:.2f}, stress {quality.stress:.3f} ({_kruskal(quality.stress)} by "
        "Kruskal's scale).",
    ]
    if quality.errors is not None and quality.table_errors is not None:
        wrong, before = quality.errors, quality.table_errors
        lines.append(
            f"{len(wrong.rows)} of {wrong.labelled} labelled rows ({wrong.share:.1%}) have a nearest row with "
            f"another label on the map, {len(before.rows)} in the table."
        )
    if with_gaps:
        lines.append(f"{count(with_gaps, 'row')} with gaps: distances are over the cells both rows have.")
    return tuple(lines)


def _much(share: float) -> str:
    return "Little" if share >= LITTLE_SHARE else "Some" if share >= SOME_SHARE else "Much"


def _kruskal(stress: float) -> str:
    return next((word for limit, word in KRUSKAL if stress <= limit), "poor")
