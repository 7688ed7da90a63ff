"""Rows far from the bulk of a table, by how far out they lie along the worst of many directions.

    O_i = max over directions a of |a'z_i - median(a'z)| / MAD(a'z)

with cells in robust units and clipped at +-3, so that one wrong cell does not make a far row, and directions through
pairs of rows, so that a far group has a direction of its own. The medians and MADs ignore up to half of the rows, which
is why a far group cannot hide itself, as it does where means and covariances set the measure.

Reference: W. A. Stahel (1981), Breakdown of covariance estimators, ETH Zurich; D. L. Donoho (1982), Breakdown
properties of multivariate location estimators, Harvard.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowdim.maths.linalg import Array, Mask, evenly_spread, moderate_scale

QUARTILE = 0.6745  # of a Gaussian, in standard deviations
MAD_TO_SD = 1.4826  # the standard deviation of a Gaussian in units of its median absolute deviation
FEW_LEVELS = 10  # a column with no more distinct values is measured by its standard deviation: its MAD is a level or 0
COMMON_SHARE = 0.3  # of a column's cells with one value: it is a level, whatever the others are
CLIPPED_AT = 3.0  # robust units beyond which a cell counts no more
N_DIRECTIONS = 250  # far clusters of 5 to 20 % were found with 100 (measured); the rest is for luck
MEASURED_ROWS = 5000  # rows that set the median and the MAD along a direction
ROWS_AT_ONCE = 2**13  # whose projections are in memory
INNER_SHARE = 0.75  # of the rows, by a first measure, that set the second: a group of 20 % widens every spread
FILL_PASSES = 10  # of the axes that fill the gaps
SIMILAR_SHARE = 0.5  # of its distance from the origin, within which another far row is similar
MOST_PAIRS = 10**6  # of far rows that are compared at once: 8 MB each of what is found about them
FAR_Z = 3.3  # beyond it a Gaussian has 0.05 %
ROWS_A_COLUMN = 4  # rows for each column from which half of them have a covariance
MASKED_ROWS = (
    100  # up to which groups that hide themselves are looked for: of 200, a fifth far is found without (measured)
)
STARTS, FIRST_STEPS, KEPT_STARTS, MOST_STEPS = 20, 2, 3, 30  # of concentration: many a little, the best to the end
NO_SPREAD = 1e-9  # robust units squared: rows on a plane have a volume too
MASKED_TIMES = 20.0  # the middle distance: of 360 clean Gaussian and t3 tables none had such rows, of 180 skew ones two
WITHOUT_ONE = 5.0  # times, without any one column
STRATUM_SPREAD = 0.2  # of a column's own spread: where half of the rows have less of it, they are alike by design
MASKED_SHARE = 0.1  # of the rows, from which a group can hide itself
LONG_SHARE, LONG_SPREADS = 0.1, 6.0  # of a column beyond so many spreads: its tail
LONG_COLUMNS = 0.2  # of the columns that may have one, or half of one; far rows and wrong cells show in most of them
APART_SHARE, APART_SPREADS = 0.1, 3.5  # of a column at one end of it, apart from all else: "not used" is no measurement


def robust_units(X: Array, mask: Mask | None = None) -> tuple[Array, Array]:
    """Each column's median, and its spread: 1.4826 MAD, or the standard deviation where the values are few or MAD is 0.

    >>> robust_units(np.arange(22.0)[:, None] ** 2)[0].tolist()
    [110.5]
    """
    centre, spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
    whole = np.ones(X.shape[1], dtype=bool) if mask is None else mask.all(axis=0)
    if whole.any() and len(X):
        centre[whole], spread[whole] = _complete_units(X[:, whole])
    for j in np.flatnonzero(~whole):
        x = X[mask[:, j], j] if mask is not None else X[:, j]
        if len(x):
            centre[j], spread[j] = (part[0] for part in _complete_units(x[:, None]))
    return centre, spread


def _complete_units(X: Array) -> tuple[Array, Array]:
    """Medians and spreads of columns without gaps, all at once: thousands of columns are thousands of calls."""
    scale = moderate_scale(np.abs(X).max(axis=0, initial=0.0))
    X = X if (scale == 1.0).all() else X * scale
    centre = np.median(X, axis=0)
    spread = np.asarray(MAD_TO_SD * np.median(np.abs(X - centre), axis=0))
    for j in np.flatnonzero((spread == 0.0) | (_distinct(np.sort(X, axis=0)) <= FEW_LEVELS)):
        spread[j] = float(X[:, j].std()) or 1.0
    return centre / scale, spread / scale


def _distinct(ordered: Array) -> NDArray[np.intp]:
    """How many values each column has, given its cells in order."""
    return np.asarray(1 + (ordered[1:] != ordered[:-1]).sum(axis=0))


def are_levels(x: Array) -> bool:
    """Whether a column's values are levels: few, one of them common, or one at an end of it apart from all others.

    >>> are_levels(np.array([0.0, 0.0, 0.0, 0.0, *np.arange(1.0, 9.0)]))
    True
    >>> used = np.linspace(20, 22, 40)
    >>> are_levels(np.r_[np.zeros(6), used]), are_levels(np.r_[np.zeros(2), used])
    (True, False)
    """
    values, counts = np.unique(x, return_counts=True)
    if len(counts) <= FEW_LEVELS or counts.max(initial=0) >= COMMON_SHARE * len(x):
        return True
    for end, beside in ((0, 1), (-1, -2)):
        if counts[end] >= APART_SHARE * len(x):
            others = x[x != values[end]]
            spread = MAD_TO_SD * float(np.median(np.abs(others - np.median(others)))) or float(others.std())
            if abs(values[end] - values[beside]) > APART_SPREADS * spread:
                return True
    return False


def own_tails(X: Array, mask: Mask | None = None) -> Mask:
    """The columns none of whose cells is wrong for being far out: levels, and tails that are the column's own.

    A tail is one where a tenth of the cells lie far beyond the spread of the rest; but where many columns have such
    cells, these are wrong, or rows are far.

    >>> X = np.random.default_rng(0).standard_normal((200, 6))
    >>> X[:40, 2] = -30 * np.random.default_rng(1).random(40)
    >>> np.flatnonzero(own_tails(X)).tolist(), np.flatnonzero(own_tails(X[:, 1:4])).tolist()
    ([2], [])
    """
    seen = np.ones(X.shape, dtype=bool) if mask is None else mask
    centre, spread = robust_units(X, mask)
    # a column without gaps, with many values and none of them common, need not be asked
    asked = np.ones(X.shape[1], dtype=bool)
    whole, common = np.flatnonzero(seen.all(axis=0)), int(np.ceil(APART_SHARE * len(X)))
    if common > 1:
        ordered = np.sort(X[:, whole], axis=0)
        asked[whole] = (_distinct(ordered) <= FEW_LEVELS) | (ordered[common - 1 :] == ordered[: 1 - common]).any(axis=0)
    levels = np.array([ask and are_levels(X[seen[:, j], j]) for j, ask in enumerate(asked)], dtype=bool)
    far = (np.abs(X - centre) > LONG_SPREADS * spread) & seen
    share = np.where(levels, 0.0, far.sum(axis=0) / np.maximum(seen.sum(axis=0), 1))
    alone = (share >= LONG_SHARE / 2).mean() <= LONG_COLUMNS
    return levels | (share >= LONG_SHARE) if alone else levels


def outlyingness(
    Z: Array, mask: Mask | None, rng: np.random.Generator, n_directions: int = N_DIRECTIONS, clip: float = CLIPPED_AT
) -> Array:
    """Stahel and Donoho's outlyingness of every row.

    Gaps are filled from a few principal axes of the clipped table: at 0 they would break up the correlations along
    which a direction is narrow, and rows with gaps would look far.

    Parameters
    ----------
    Z : array of shape (n, d)
        Cells in robust units about their column's median, (x - median) / spread; what stands at gaps is ignored.
    mask : array of bool of shape (n, d), or None
        True where seen.
    rng : numpy.random.Generator
        Of the pairs of rows.
    n_directions : int, default 250
    clip : float, default 3.0
        Cells beyond count as this.

    Returns
    -------
    ndarray of shape (n,)
        0 everywhere if no direction has a spread.
    """
    Z = _clipped(Z, mask, clip)
    if len(Z) < 2:
        return np.zeros(len(Z))
    # directions through pairs of rows
    i = rng.integers(len(Z), size=n_directions)
    k = (i + rng.integers(1, len(Z), size=n_directions)) % len(Z)
    across = Z[i] - Z[k]
    length = np.linalg.norm(across, axis=1)
    directions = (across[length > 0] / length[length > 0, None]).T
    # how far out along the worst, beside all rows, then beside the inner ones
    out = _farthest(Z, directions, Z[evenly_spread(len(Z), MEASURED_ROWS)])
    inner = np.flatnonzero(out <= np.quantile(out, INNER_SHARE))
    return _farthest(Z, directions, Z[inner[evenly_spread(len(inner), MEASURED_ROWS)]])


def _farthest(Z: Array, directions: Array, measured: Array) -> Array:
    """How far each row is out along the worst direction, by median and MAD of the measured rows; a block of rows at a
    time, for the projections are many times the table."""
    P = measured @ directions
    middle = np.median(P, axis=0)
    spread = MAD_TO_SD * np.median(np.abs(P - middle), axis=0)
    usable = spread > 1e-9 * spread.max(initial=0.0)
    directions, middle, spread = directions[:, usable], middle[usable], spread[usable]
    out = np.zeros(len(Z))
    for start in range(0, len(Z), ROWS_AT_ONCE):
        P = Z[start : start + ROWS_AT_ONCE] @ directions
        P -= middle
        np.abs(P, out=P)
        P /= spread
        out[start : start + ROWS_AT_ONCE] = P.max(axis=1, initial=0.0)
    return out


def far_rows(outlying: Array, far_z: float = FAR_Z) -> Mask:
    """The rows whose outlyingness is out of line with that of the inner half, which sets the measure.

    O^(2/3) of Gaussian rows is nearly Gaussian, whatever the number of dimensions (Wilson and Hilferty's cube root);
    its median and lower quartile tell which Gaussian, and a row more than `far_z` of its deviations above is far.

    >>> far_rows(np.array([2.0, 2.5, 3.0, 3.5, 4.0, 30.0])).tolist()
    [False, False, False, False, False, True]
    """
    y = np.cbrt(outlying) ** 2
    quarter, middle = np.quantile(y, [0.25, 0.5]) if len(y) else (0.0, 0.0)
    return y - middle > far_z * (middle - quarter) / QUARTILE


def masked_rows(Z: Array, mask: Mask | None, outlying: Array, rng: np.random.Generator) -> Mask:
    """Rows that are far only beside a tight half of the table: groups so large that they widen every spread.

    Mean and covariance of half of the rows are taken in turn with the half nearest to them, until it stays the same:
    from the least outlying half and from the halves nearest to a few rows drawn at random, of which the tightest is
    kept. Rows many times as far as the middle one are masked, if they are without any one column too (one that has two
    modes makes no far rows). They are believed where they are no fewer than a tenth, and only in small tables: of more
    rows, a group of such a size has some direction of its own.

    Reference: P. J. Rousseeuw and K. Van Driessen (1999), A fast algorithm for the minimum covariance determinant
    estimator, Technometrics 41, 212-223.

    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((60, 1)) + 0.05 * rng.standard_normal((60, 4))
    >>> Z[:15] += [0.5, -0.5, 0.5, -0.5]
    >>> far = masked_rows(Z, None, np.abs(Z[:, 0] - Z[:, 1]), rng)
    >>> np.flatnonzero(far).tolist() == list(range(15))
    True
    """
    n, d = Z.shape
    nobody = np.zeros(n, dtype=bool)
    if not ROWS_A_COLUMN * d <= n <= MASKED_ROWS or d < 2:
        return nobody
    Z, half = _clipped(Z, mask, CLIPPED_AT), (n + d + 1) // 2
    starts = [np.argsort(outlying, kind="stable")[:half]]
    starts += [rng.permutation(n)[: d + 1] for _ in range(STARTS)]
    tries = [_concentrated(Z, start, half, FIRST_STEPS) for start in starts]
    best = sorted((_tightness(Z[rows]), k) for k, rows in enumerate(tries))[:KEPT_STARTS]
    halves = [_concentrated(Z, tries[k], half, MOST_STEPS) for _, k in best]
    tight = Z[min(halves, key=lambda rows: _tightness(Z[rows]))]
    distance = _distances(Z, tight)
    masked = np.asarray(distance > MASKED_TIMES * np.median(distance))
    if masked.mean() < MASKED_SHARE or (tight.std(axis=0) < STRATUM_SPREAD * Z.std(axis=0)).any():
        return nobody
    for j in range(d):
        distance = _distances(np.delete(Z, j, axis=1), np.delete(tight, j, axis=1))
        masked &= distance > WITHOUT_ONE * np.median(distance)
    return masked if masked.mean() >= MASKED_SHARE else nobody


def _concentrated(Z: Array, rows: NDArray[np.intp], half: int, steps: int) -> NDArray[np.intp]:
    """The half of the rows nearest to some, and again to those, until it stays the same."""
    for _ in range(steps):
        nearest = np.argsort(_distances(Z, Z[rows]), kind="stable")[:half]
        if np.array_equal(np.sort(nearest), np.sort(rows)):
            break
        rows = nearest
    return rows


def _distances(Z: Array, rows: Array) -> Array:
    """Squared distances from the mean of some rows in units of their covariance."""
    away, own = Z - rows.mean(axis=0), rows - rows.mean(axis=0)
    inverse = np.linalg.pinv(own.T @ own / len(rows) + NO_SPREAD * np.eye(Z.shape[1]), hermitian=True)
    return np.asarray(np.einsum("ij,ij->i", away @ inverse, away))


def _tightness(rows: Array) -> float:
    """The logarithm of the volume that rows take."""
    own = rows - rows.mean(axis=0)
    return float(np.linalg.slogdet(own.T @ own / len(rows) + NO_SPREAD * np.eye(rows.shape[1]))[1])


def _clipped(Z: Array, mask: Mask | None, clip: float) -> Array:
    """Cells no farther out than the clip, their gaps filled from the first principal axes, found together with them."""
    Z = np.clip(Z if mask is None else np.where(mask, Z, 0.0), -clip, clip)
    if mask is None or mask.all():
        return Z
    rank = int(np.clip(Z.shape[1] // 4, 1, 8))
    for _ in range(FILL_PASSES):
        if Z.shape[1] <= len(Z):
            values, U = np.linalg.eigh(Z.T @ Z / len(Z))
        else:
            values, V = np.linalg.eigh(Z @ Z.T / len(Z))
            U = Z.T @ V / np.sqrt(np.maximum(values * len(Z), 1e-300))
        noise = float(values[:-rank].mean()) if len(values) > rank else 0.0
        U, kept = U[:, -rank:], values[-rank:]
        shrink = np.maximum(kept - noise, 0.0) / np.maximum(kept, 1e-300)
        Z = np.where(mask, Z, (Z @ U) * shrink @ U.T)
    return Z


def similar_groups(Z: Array, mask: Mask | None, rows: NDArray[np.intp], least: int = 3) -> list[NDArray[np.intp]]:
    """Those of the far rows that lie together, as groups of at least so many, the largest first.

    Two rows are together if the distance between them, over the cells that both show, is less than half of what the
    nearer of them is from the origin over the same cells: scattered rows are farther from each other than from it.

    >>> Z = np.array([[5.0, 5.0], [5.1, 4.9], [4.9, 5.0], [-7.0, 6.0], [0.1, 0.0]])
    >>> [group.tolist() for group in similar_groups(Z, None, np.arange(4))]
    [[0, 1, 2]]
    """
    seen = np.ones((len(rows), Z.shape[1])) if mask is None else mask[rows].astype(np.float64)
    F = np.where(seen > 0, Z[rows], 0.0)
    groups = list[NDArray[np.intp]]()
    left, there, cells = np.arange(len(rows)), seen, F  # the rows that are in no group yet
    while len(left):
        group, asked = [left[:1]], left[:1]
        left, there, cells = left[1:], there[1:], cells[1:]
        while len(asked) and len(left):  # a few rows at a time: there may be too many far rows for all their pairs
            some, asked = np.split(asked, [max(1, MOST_PAIRS // len(left))])
            own, other = F[some] ** 2 @ there.T, seen[some] @ (cells**2).T  # over the cells that both show
            apart = np.maximum(own + other - 2.0 * F[some] @ cells.T, 0.0)
            near = (apart < SIMILAR_SHARE**2 * np.minimum(own, other)).any(axis=0)
            if near.any():
                group.append(left[near])
                asked = np.concatenate([asked, left[near]])
                left, there, cells = left[~near], there[~near], cells[~near]
        groups.append(rows[np.sort(np.concatenate(group))])
    return sorted((group for group in groups if len(group) >= least), key=lambda group: -len(group))
