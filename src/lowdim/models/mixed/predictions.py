"""What the latent Gaussian model says of cells: probabilities, fills and draws, column by column."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, expit, ndtr, ndtri
from scipy.stats import nbinom, qmc

from lowdim.maths.linalg import EPS, LARGEST, Array, half_root, lower, quadratic_forms, root_times
from lowdim.maths.seeds import normals
from lowdim.models.base.calibration import variance_factor
from lowdim.models.base.results import Cells, Posterior, standard
from lowdim.models.mixed.column_kinds import IN_LOGARITHMS, LEVELLED, MOST_COUNT, MixedColumns, scored, unscored
from lowdim.models.mixed.variational_em import MixedParams, less_steep, logistic_bend, logistic_mean, logistic_share

POINTS = 128  # positions over which the product of sticks is averaged
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
SPREAD = np.linspace(-5.0, 5.0, 81)  # for what is steep here and flat there
SPREAD_WEIGHTS = np.exp(-0.5 * SPREAD**2) / np.exp(-0.5 * SPREAD**2).sum()
LEAST_SHARE = 1e-3  # of a marker's label, whose indicator may be guessed below zero
HIGHEST_LOG = 300.0  # of a mean: its square can still be stored
LEAST_LEFT = 0.05  # of the variance of how much there is: knowing that there is any takes no more
CountRule = Callable[[Array, Array, float], tuple[Array, Array]]
LevelRule = Callable[[MixedColumns, int, Array], tuple[Array, Array]]
AmountRule = Callable[[MixedColumns, "AmountCells"], tuple[Array, Array]]


class SiteMeans(NamedTuple):
    """Mean and variance of eta at each weight vector of each row, intercepts of Gaussian and single sites added."""

    mean: Array  # n x G
    var: Array  # n x G: of the position and of the weights
    own: Array  # n x G: of the weights alone
    both: Array  # n x amounts: the covariance of how much there is with whether there is any


def site_means(params: MixedParams, rows: Posterior) -> SiteMeans:
    """eta = w'z + b where z and (w, b) are uncertain, independently."""
    q, V = params.W.shape[1], params.V
    i, j = lower(q)
    mean = rows.mean @ params.W.T + np.concatenate([params.mu, params.b, np.zeros(params.sizes[2])])
    position = quadratic_forms(rows.packed, params.W)  # of w'z with z uncertain and w known
    second = (rows.packed + rows.mean[:, i] * rows.mean[:, j]) * np.where(i == j, 1.0, 2.0)  # E zz', packed
    own = np.maximum(second @ V[:, i, j].T + 2.0 * rows.mean @ V[:, :q, q].T + V[:, q, q], 0.0)
    much, there = (
        (params.W[list(places)] for places in zip(*params.columns.amounts.values(), strict=True))
        if (params.columns.amounts)
        else (np.zeros((0, q)),) * 2
    )
    both = rows.packed @ (much[:, i] * there[:, j] + much[:, j] * there[:, i] * (i != j)).T
    return SiteMeans(mean, np.maximum(position, 0.0) + own, own, both)


def new_cell_variances(params: MixedParams, at: SiteMeans) -> Array:
    """The variance of a new cell of each Gaussian site, n x R: of its middle and its noise, as wide as held-out cells
    ask, and never wider than that of a row of which nothing is known."""
    R, q = len(params.mu), params.W.shape[1]
    noise = params.psi * params.excess
    total = at.var[:, :R] + noise
    if params.inflation == 1.0:
        return total
    bare = params._replace(inflation=1.0)
    unknown = site_means(bare, standard(1, q))
    here, there = (Cells(part.mean[:, :R], part.var[:, :R], noise) for part in (at, unknown))
    return total * variance_factor(params.inflation, here, there)


def probabilities(
    params: MixedParams, rows: Posterior, among: Collection[int] | None = None, at: SiteMeans | None = None
) -> dict[int, Array]:
    """For every column of levels, or those `among` them, the probability of each level, n x levels, in their order.

    `at` has the means of the sites, where they are not those of the rows (columns of one weight vector only).
    """
    columns = params.columns
    at = site_means(params, rows) if at is None else at
    shares: dict[int, Array] = {}
    for j, (kind, sites) in enumerate(zip(columns.kinds, columns.weights_of, strict=True)):
        if kind not in LEVELLED or (among is not None and j not in among):
            continue
        if not sites:  # a single level
            shares[j] = np.ones((len(rows.mean), 1))
        elif kind == "ordinal":
            o = columns.ordinal.index(j)
            t = params.t[columns.first[o] : columns.first[o + 1]]
            above = logistic_share(at.mean[:, sites] - t, at.var[:, sites])
            edges = np.column_stack([np.ones(len(above)), above, np.zeros(len(above))])
            shares[j] = np.maximum(-np.diff(edges, axis=1), 0.0)
        elif kind == "marker":
            indicators = at.mean[:, sites] * columns.spread[sites] + columns.centre[sites]
            rest = 1.0 - indicators.sum(axis=1, keepdims=True)  # of the last level, which has no weights
            shares[j] = np.maximum(np.concatenate([indicators, rest], axis=1), LEAST_SHARE)
        else:
            shares[j] = _stick_shares(params, rows, at, sites)
    return {j: share / share.sum(axis=1, keepdims=True) for j, share in shares.items()}


def _stick_shares(params: MixedParams, rows: Posterior, at: SiteMeans, sites: list[int]) -> Array:
    """Shares of the labels: the first stick, then what it leaves times the second, ..., averaged over the position.

    One stick is averaged in closed form; several depend on each other through z, and are averaged over POINTS of them,
    where the doubt of the weights, small beside that of z, makes each a little less steep.
    """
    if len(sites) == 1:
        first = logistic_share(at.mean[:, sites], at.var[:, sites])
        return np.concatenate([first, 1.0 - first], axis=1)
    W, b = params.W[sites], params.b[[s - len(params.mu) for s in sites]]
    half = 0.5 * less_steep(at.own[:, sites].T)
    # half a logit of every stick at the middle of a row, and how it moves with each standard normal number; sticks x n
    middle = half * (W @ rows.mean.T + b[:, None])
    moves = half * np.ascontiguousarray((W @ half_root(rows.cov)).transpose(2, 1, 0))
    total, points = np.zeros((len(sites) + 1, len(rows.mean))), normal_points(rows.mean.shape[1])
    for point in points if rows.packed.any() else points[:1]:  # where there is no doubt, one position is all
        stick = middle.copy()
        for by, move in zip(point, moves, strict=True):
            stick += by * move
        np.tanh(stick, out=stick)
        stick += 1.0
        stick *= 0.5
        left = np.ones(len(rows.mean))
        for each, own in zip(total, stick, strict=False):
            each += left * own
            left *= 1.0 - own
        total[-1] += left
    return np.ascontiguousarray(total.T)


@cache
def normal_points(q: int) -> Array:
    """POINTS standard normal positions, evenly spread, each beside its opposite; always the same."""
    if q == 0:
        return np.zeros((POINTS, 0))
    half = ndtri(np.clip(qmc.Sobol(q, scramble=True, rng=0).random(POINTS // 2), 1e-9, 1 - 1e-9))
    points = np.concatenate([half, -half])
    points.flags.writeable = False
    return points


# amounts -----------------------------------------------------------------------------------------------------------
class AmountCells(NamedTuple):
    """The cells of a column of amounts: zero, or what has this normal score; the score's mean and variance are those
    of rows in which there is any."""

    column: int
    site: int
    zero: Array  # n, the probability of zero
    mean: Array
    var: Array  # of a new cell


def amount_cells(params: MixedParams, at: SiteMeans) -> list[AmountCells]:
    """Every column of amounts. That there is any says something of how much there is where both depend on z: with
    eta = (much, any) Gaussian of covariance c, E[s(any) much^k] has a closed form for k = 0, 1, 2 (Stein's lemma)."""
    found, new_cells = [], new_cell_variances(params, at)
    for k, (j, (s, there)) in enumerate(params.columns.amounts.items()):
        m, v = at.mean[:, there], at.var[:, there]
        any_of, c = logistic_mean(m, v), at.both[:, k]
        slope = np.maximum(any_of.slope, 1e-300)
        shift = c * any_of.curvature / slope
        var = new_cells[:, s]
        turned = var + c * c * logistic_bend(m, v) / slope - shift * shift
        cells = AmountCells(j, s, 1.0 - any_of.slope, at.mean[:, s] + shift, np.maximum(turned, LEAST_LEFT * var))
        found.append(cells)
    return found


def amount_quantile(columns: MixedColumns, cells: AmountCells, share: Array | float) -> Array:
    """The value below which this share of each cell's distribution lies: 0 where zeros alone are as many."""
    rest = (share - cells.zero) / np.maximum(1.0 - cells.zero, 1e-300)
    score = ndtri(np.clip(rest, 1e-300, 1.0 - EPS))
    x = _from_score(columns, cells, cells.mean + np.sqrt(cells.var) * score)
    return np.where(rest > 0.0, x, 0.0)


def amount_interval(columns: MixedColumns, cells: AmountCells, tail: float) -> tuple[Array, Array]:
    """The ends of an interval that leaves out so much on each side; twice as much above where it begins at 0, since
    nothing lies below."""
    low = amount_quantile(columns, cells, tail)
    high = amount_quantile(columns, cells, np.where(low > 0.0, 1.0 - tail, 1.0 - 2.0 * tail))
    return low, high


def amount_below(columns: MixedColumns, cells: AmountCells, x: Array) -> Array:
    """P(cell <= x), for x at or above 0."""
    s = cells.site
    logs = np.log(np.where(x > 0, x, 1.0))
    score = (scored(columns.curves[cells.column], logs)[0] - columns.centre[s]) / columns.spread[s]
    upto = cells.zero + (1.0 - cells.zero) * ndtr((score - cells.mean) / np.sqrt(cells.var))
    return np.where(x > 0, upto, np.where(x < 0, 0.0, cells.zero))


def _from_score(columns: MixedColumns, cells: AmountCells, score: Array) -> Array:
    logs = unscored(columns.curves[cells.column], score * columns.spread[cells.site] + columns.centre[cells.site])
    return np.exp(np.minimum(logs, HIGHEST_LOG))


def _amount_mean(columns: MixedColumns, cells: AmountCells) -> tuple[Array, Array]:
    s, there = cells.site, 1.0 - cells.zero
    m, v = cells.mean * columns.spread[s] + columns.centre[s], cells.var * columns.spread[s] ** 2
    first, var = _positive(columns, cells.column, m, v)
    return there * first, np.maximum(there * (var + cells.zero * first**2), 1e-300)


def _amount_fill(columns: MixedColumns, cells: AmountCells) -> tuple[Array, Array]:
    """The median, which is 0 where that is likelier than not, and the expected squared error of it."""
    (mean, var), median = _amount_mean(columns, cells), amount_quantile(columns, cells, 0.5)
    return median, var + (mean - median) ** 2


# fills ------------------------------------------------------------------------------------------------------------
def fills(params: MixedParams, rows: Posterior) -> Cells:
    """The fill of every cell and its expected squared error, in the frame's units.

    Means of real and positive columns, the most likely of yes/no and labels, medians of ordinal columns, counts and
    amounts. The squared error of a label is 1 where it is wrong; `noise` is what would stay were the position known,
    for real columns; of the others `var` holds all.
    """
    at = site_means(params, rows)
    return fills_at(params, at, probabilities(params, rows, None, at))


def expected(params: MixedParams, rows: Posterior) -> Cells:
    """The mean of every cell and its variance, in the frame's units: of levels and counts too, between their values.

    What judges compare with other models by squared errors. Labels have no mean: theirs is 0.
    """
    ordered = [j for j, kind in enumerate(params.columns.kinds) if kind in ("yes/no", "ordinal")]
    at = site_means(params, rows)
    return _cells(params, at, probabilities(params, rows, ordered, at), _count_mean, _level_mean, _amount_mean)


def expected_at(params: MixedParams, at: SiteMeans, shares: dict[int, Array]) -> Cells:
    """The same where the means of the sites and the probabilities of levels are known; those of labels are left out."""
    ordered = {j: share for j, share in shares.items() if params.columns.kinds[j] in ("yes/no", "ordinal")}
    return _cells(params, at, ordered, _count_mean, _level_mean, _amount_mean)


def fills_at(params: MixedParams, at: SiteMeans, shares: dict[int, Array]) -> Cells:
    """The fills of `fills`, likewise."""
    return _cells(params, at, shares, _count_fill, _level_fill, _amount_fill)


def _cells(
    params: MixedParams,
    at: SiteMeans,
    shares: dict[int, Array],
    of_count: CountRule,
    of_levels: LevelRule,
    of_amount: AmountRule,
) -> Cells:
    """Every cell, column by column: real and positive ones by their Gaussian, all others by the rules given."""
    columns = params.columns
    shape = (len(at.mean), len(columns.kinds))
    mean, var, noise, new_cells = np.zeros(shape), np.zeros(shape), np.zeros(shape), new_cell_variances(params, at)
    for s, (j, _) in enumerate(columns.gaussian):
        spread = columns.spread[s]
        m, own = at.mean[:, s] * spread + columns.centre[s], params.psi[s] * params.excess[s]
        if columns.kinds[j] == "real":
            by = new_cells[:, s] / (at.var[:, s] + own) * spread**2
            mean[:, j], var[:, j], noise[:, j] = m, by * at.var[:, s], by * own
        elif columns.kinds[j] == "positive":
            mean[:, j], var[:, j] = _positive(columns, j, m, new_cells[:, s] * spread**2)
    for k, s in enumerate(columns.count_sites):
        site = len(params.mu) + s
        j = columns.single[s][0]
        mean[:, j], var[:, j] = of_count(at.mean[:, site], at.var[:, site], float(params.r[k]))
    for j, share in shares.items():
        mean[:, j], var[:, j] = of_levels(columns, j, share)
    for cells in amount_cells(params, at):
        mean[:, cells.column], var[:, cells.column] = of_amount(columns, cells)
    return Cells(mean, var, noise)


def quantiles(params: MixedParams, rows: Posterior, share: Array) -> Array:
    """The value below which a share (one for each column) of every cell's distribution lies, in the frame's units."""
    columns, at = params.columns, site_means(params, rows)
    out, sd = np.full((len(rows.mean), len(columns.kinds)), np.nan), np.sqrt(new_cell_variances(params, at))
    for s, (j, _) in enumerate(columns.gaussian):
        if columns.kinds[j] in ("real", "positive"):
            x = (at.mean[:, s] + ndtri(share[j]) * sd[:, s]) * columns.spread[s] + columns.centre[s]
            if columns.kinds[j] == "positive":
                logs = unscored(columns.curves[j], x)
                x = np.maximum(np.exp(np.minimum(logs, HIGHEST_LOG)) - columns.offset[j], 0.0)
            out[:, j] = x
    for k, s in enumerate(columns.count_sites):
        site, j = len(params.mu) + s, columns.single[s][0]
        out[:, j] = _count_quantile(at.mean[:, site], at.var[:, site], float(params.r[k]), float(share[j]))
    ordered = [j for j, kind in enumerate(columns.kinds) if kind in ("yes/no", "ordinal")]
    for j, own in probabilities(params, rows, ordered, at).items():
        order = np.argsort(columns.levels[j])
        upto = np.cumsum(own[:, order], axis=1)
        place = (upto < share[j] - 1e-12).sum(axis=1).clip(max=len(order) - 1)
        out[:, j] = columns.levels[j][order][place]
    for cells in amount_cells(params, at):
        out[:, cells.column] = amount_quantile(columns, cells, share[cells.column])
    return out


def _positive(columns: MixedColumns, j: int, m: Array, v: Array) -> tuple[Array, Array]:
    """Mean and variance of a positive column whose site is N(m, v), in its own units."""
    curve, offset = columns.curves[j], columns.offset[j]
    if not curve.size:  # log-normal
        mean = np.exp(np.minimum(m + 0.5 * v, HIGHEST_LOG))
        return np.maximum(mean - offset, 0.0), mean**2 * np.expm1(np.minimum(v, 10.0))
    logs = unscored(curve, m[:, None] + np.sqrt(v)[:, None] * SPREAD)
    x = np.exp(np.minimum(logs, curve[0, -1]))  # a mean that rests on what was never seen is none
    mean = x @ SPREAD_WEIGHTS
    return np.maximum(mean - offset, 0.0), (x - mean[:, None]) ** 2 @ SPREAD_WEIGHTS


def _level_fill(columns: MixedColumns, j: int, share: Array) -> tuple[Array, Array]:
    levels = columns.levels[j]
    if columns.kinds[j] == "ordinal":
        fill = levels[(np.cumsum(share, axis=1) < 0.5).sum(axis=1).clip(max=len(levels) - 1)]
        error2 = (share * _squared_gaps(levels, fill[:, None])).sum(axis=1)
    else:
        best = share.argmax(axis=1)
        fill, error2 = levels[best], 1.0 - share[np.arange(len(share)), best]
        if columns.kinds[j] == "yes/no" and len(levels) == 2:
            error2 = error2 * _squared_gaps(levels[:1], levels[1:])[0]
    return fill, np.maximum(error2, 1e-12)


def _level_mean(columns: MixedColumns, j: int, share: Array) -> tuple[Array, Array]:
    levels = columns.levels[j]
    mean = share @ levels
    return mean, np.maximum((share * _squared_gaps(levels, mean[:, None])).sum(axis=1), 1e-12)


def _squared_gaps(a: Array, b: Array) -> Array:
    """(a - b)^2, up to what a double can hold."""
    with np.errstate(over="ignore"):
        return np.minimum((a - b) ** 2, LARGEST / 2)


def _count_mean(m: Array, v: Array, r: float) -> tuple[Array, Array]:
    first, second = _count_moments(m, v, r)
    return first, np.maximum(second - first**2, 1e-12)


def _count_moments(m: Array, v: Array, r: float) -> tuple[Array, Array]:
    """E x and E x^2 of a negative binomial whose eta is N(m, v)."""
    top = np.log(MOST_COUNT) + 1.0  # what the means of a heavy tail may not pass
    first = r * np.exp(np.minimum(m + 0.5 * v, top))
    return first, first + r * (r + 1.0) * np.exp(2.0 * np.minimum(m + v, top))


def count_below(x: Array, m: Array, v: Array, r: float) -> Array:
    """P(count <= x) of a negative binomial whose eta is N(m, v); 0 for x below 0."""
    p = expit(-(m[:, None] + np.sqrt(v)[:, None] * NODES))
    share = betainc(r, np.maximum(x, 0.0)[:, None] + 1.0, p) @ (NODE_WEIGHTS / NODE_WEIGHTS.sum())
    return np.where(x < 0, 0.0, share)


def _count_fill(m: Array, v: Array, r: float) -> tuple[Array, Array]:
    """Median of a negative binomial whose eta is N(m, v), and the expected squared error of that."""
    median = _count_quantile(m, v, r, 0.5)
    first, second = _count_moments(m, v, r)
    return median, np.maximum(second - 2.0 * median * first + median**2, 1e-12)


def _count_quantile(m: Array, v: Array, r: float, share: float) -> Array:
    """The least count that so large a share lies at or below."""
    low, high = np.full(len(m), -1.0), np.full(len(m), 2.0**14)
    for _ in range(14):
        middle = np.floor(0.5 * (low + high))
        enough = count_below(middle, m, v, r) >= share
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


# draws ------------------------------------------------------------------------------------------------------------
def draw(params: MixedParams, rows: Posterior, rng: Sequence[np.random.Generator]) -> Array:
    """The cells of each row drawn jointly, with the row's own generator, in the frame's units."""
    columns, q, R = params.columns, params.W.shape[1], len(params.mu)
    normal = normals(rng, q + R)
    uniform = np.array([r.random(len(columns.kinds)) for r in rng]).reshape(len(rng), len(columns.kinds))
    # a position is drawn, and from then on position and parameters are known: the cells are independent
    z = rows.mean + root_times(rows.cov, normal[:, :q])
    sure = Posterior(z, np.zeros_like(rows.packed), rows.log_density)
    exact = params._replace(V=np.zeros_like(params.V))
    at, here = site_means(exact, sure), site_means(params, rows)
    wider = np.sqrt(new_cell_variances(params, here) / new_cell_variances(params._replace(inflation=1.0), here))
    out = np.zeros((len(rng), len(columns.kinds)))
    for s, (j, _) in enumerate(columns.gaussian):
        off = at.mean[:, s] + normal[:, q + s] * np.sqrt(params.psi[s]) - here.mean[:, s]
        x = (here.mean[:, s] + wider[:, s] * off) * columns.spread[s] + columns.centre[s]
        if columns.kinds[j] in IN_LOGARITHMS:  # what was added to zeros may not make them negative
            logs = unscored(columns.curves[j], x)
            x = np.maximum(np.exp(np.minimum(logs, HIGHEST_LOG)) - columns.offset[j], 0.0)
        if columns.kinds[j] == "amount":
            x = np.where(uniform[:, j] < expit(at.mean[:, columns.amounts[j][1]]), x, 0.0)
        out[:, j] = x
    for k, s in enumerate(columns.count_sites):
        j = columns.single[s][0]
        p = np.maximum(expit(-at.mean[:, R + s]), 1e-6)
        out[:, j] = np.minimum(nbinom.ppf(uniform[:, j], params.r[k], p), MOST_COUNT)
    for j, share in probabilities(exact, sure).items():
        at_level = (uniform[:, j, None] >= np.cumsum(share, axis=1)[:, :-1]).sum(axis=1)
        out[:, j] = columns.levels[j][at_level]
    return out
