"""What the unseen cells of a row are, for the methods of distances: means and variances given the seen cells.

Two models of the rows are tried on cells that were hidden, and the better one fills: the linear-Gaussian model, its
dimension tried as well, and a density of bells about the rows themselves (a kernel density estimate), which knows
bent and clustered tables. Under bells of width h, in units of each column's spread, row j stands for row i with weight
exp(-|x_i - x_j|^2 / 2 h^2), the distance over the seen cells of i; where j has gaps itself, the distance is the
expected one, |x_i - m_j|^2 + v_j, and m and v are found in a few rounds.

Variances are scaled by one factor, so that on the hidden cells they sum to the squared errors: bells as wide as they
have to be to tell means are too wide for a variance.

Squared distances of rows with gaps are the expected ones, |m_i - m_j|^2 + v_i + v_j with v the variances of a row's
unseen cells. A row whose v exceeds the squared distance of neighbours is no neighbour of anyone: it is not in the
graph, and lies where the rows that may be it lie on average, E[z | seen cells].

Reference: E. A. Nadaraya (1964), "On estimating regression", Theory of Probability and its Applications 9, 141-142,
for the bells' means; expected distances: E. Eirola, G. Doquire, M. Verleysen and A. Lendasse (2013), "Distance
estimation in numerical data sets with missing values", Information Sciences 240, 115-128.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.maths.gaussian import expand, posterior, regress, sums
from lowdim.maths.linalg import Array, Mask, centre_and_spread, evenly_spread, largest, lower, moderate_factor
from lowdim.maths.pairs import BLOCK_PAIRS, nearest
from lowdim.maths.seeds import COMPLETION_TRIAL
from lowdim.models.base.calibration import mix_bits, row_hash
from lowdim.text.messages import error, warn

DONOR_ROWS = 4000  # rows that stand for others, at most: each row with gaps is weighed against all of them
TRIAL_ROWS = 1000  # rows on which models and widths are tried
TRIAL_PERIOD = 10  # one seen cell in so many is hidden for it
WIDTHS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # of the bells, in spreads of a column
DIMENSIONS = (0, 1, 2, 4, 8, 16)  # of the linear model
LEAST_NOISE = 1e-10  # of the mean variance: the linear model's, at least
START_NOISE = 1e-3  # of the mean variance: that of its EM, at least
EM_TOL = 1e-5  # nats a row that EM may still gain when it ends
MOST_EM_STEPS = 20  # of EM: more follow the noise (docs/measurements.md)
ROUNDS = 4  # in which the bells' own gaps settle
CERTAIN_SHARE = 0.3  # of a neighbour's squared distance: rows with less variance are in the graph
LEAST_CERTAIN = 0.1  # of the rows are in it anyhow, those known best
LEAST_NEIGHBORS = 5  # neighbours of a graph thinned by gaps: fewer fall apart, more reach over a fold


class LinearCells(NamedTuple):
    """x = mu + W z + e with e ~ N(0, psi): cells given the seen ones of their row."""

    W: Array  # d x q
    mu: Array
    psi: Array

    def cells(self, x: Array, mask: Mask) -> tuple[Array, Array]:
        """Mean and variance of every cell of these rows."""
        latent = posterior(x, mask, self.W, self.mu, self.psi)
        i, j = lower(self.W.shape[1])
        both = self.W[:, i] * self.W[:, j] * np.where(i == j, 1.0, 2.0)
        cov = np.broadcast_to(latent.cov.T, (len(x), len(i)))
        return self.mu + latent.mean @ self.W.T, np.maximum(cov @ both.T, 0.0) + self.psi

    @property
    def words(self) -> str:
        return f"a linear model of {self.W.shape[1]} dimensions"


class Bells(NamedTuple):
    """A bell about each of m rows, centred and in spreads of the columns: cells given the rows that a row may be."""

    values: Array  # m x d, 0 at gaps
    seen: Mask
    mean: Array  # the same with the gaps as the other bells tell them,
    var: Array  # and the variance that leaves
    centre: Array  # d
    spread: Array  # d
    width: float

    def cells(self, x: Array, mask: Mask) -> tuple[Array, Array]:
        """Mean and variance of every cell of these rows."""
        mean, var = self.moments(np.where(mask, (x - self.centre) / self.spread, 0.0), mask)
        return mean * self.spread + self.centre, var * self.spread**2

    def moments(self, s: Array, mask: Mask) -> tuple[Array, Array]:
        """The same in spreads: those of the bells that have a cell, by their weights."""
        mean, var = np.empty_like(s), np.empty_like(s)
        seen, square = self.seen.astype(float), self.values**2
        for part in _parts(len(s), len(self.values)):
            W = _weights(s[part], mask[part], self.mean, self.var, self.width)
            total = W @ seen
            known = total > 0.0
            total = np.where(known, total, 1.0)
            mean[part] = (W @ self.values) / total
            spread = np.maximum((W @ square) / total - mean[part] ** 2, 0.0) + self.width**2
            var[part] = np.where(known, spread, 1.0)
        return mean, var

    @property
    def words(self) -> str:
        return f"bells of {self.width:g} spreads about {len(self.values)} rows"


class Completion(NamedTuple):
    """The model of the rows that tells hidden cells best, in the frame's units, and how it places rows."""

    model: LinearCells | Bells
    factor: float  # of its variances, by which they are as large as the squared errors of hidden cells
    centre: Array  # d, with `spread` and `reach` the bells by whose weights rows are placed
    spread: Array  # d
    reach: float
    limit: float = 0.0  # variance up to which a row may be a neighbour

    @property
    def words(self) -> str:
        """The model in a few words."""
        return self.model.words


class TableRows(NamedTuple):
    """Rows of a table in the frame's units: cells that were not seen have the mean and the variance that is told."""

    mean: Array  # n x d
    var: Array | None = None  # 0 at seen cells; None where all are seen
    mask: Mask | None = None  # the seen cells
    completion: Completion | None = None  # what told the others

    @property
    def open(self) -> Array:
        """The variance of each row."""
        return np.zeros(len(self.mean)) if self.var is None else self.var.sum(axis=1)

    def few(self, most: int) -> TableRows:
        """So many of the rows at most, evenly spread."""
        rows = evenly_spread(len(self.mean), most)
        return TableRows(self.mean[rows], None if self.var is None else self.var[rows])


def completion_of(x: Array, mask: Mask | None, names: tuple[str, ...] = ()) -> Completion:
    """The model that tells hidden cells of these rows best."""
    mask = np.ones(x.shape, dtype=bool) if mask is None else mask
    _check_cells(x, mask, names)
    # Of some rows cells are hidden: which dimension of the linear model, and which width of bells, tell them best?
    few = evenly_spread(len(x), TRIAL_ROWS)
    trial = _hiding(x[few], mask[few])
    width, reach, by_bells = _best_width(trial)
    q, by_line = _best_dimension(trial)
    # The better of the two is made of all rows, or of many that are evenly spread.
    rows = evenly_spread(len(x), DONOR_ROWS)
    x, mask = x[rows], mask[rows]
    bells = by_bells.error < by_line.error
    model = _bells(x, mask, width) if bells else _linear(x, mask, q)
    centre, spread = centre_and_spread(np.where(mask, x, np.nan))
    return Completion(model, (by_bells if bells else by_line).factor, centre, spread, reach)


def linear_completion(W: Array, mu: Array, noise: float) -> Completion:
    """A given linear model."""
    d = len(mu)
    return Completion(LinearCells(W, mu, np.full(d, noise)), 1.0, np.zeros(d), np.ones(d), 1.0)


def _check_cells(x: Array, mask: Mask, names: tuple[str, ...]) -> None:
    """Refuse columns without a cell and numbers that cannot be squared; warn of rows without a cell."""
    empty = np.flatnonzero(~mask.any(axis=0))
    if len(empty):
        raise error("LD120", column=names[empty[0]] if names else f"c{empty[0] + 1}")
    if moderate_factor(x[mask]) != 1.0:
        why = "unseen cells are inferred from squares of the others, and these are too small or too large to be stored"
        raise error("LD163", job="This model", why=why, fix="write the table in units that make its numbers moderate")
    blank = int((~mask.any(axis=1)).sum())
    if blank:
        warn("LD121", count=blank, n=len(x))


def complete_rows(c: Completion, x: Array, mask: Mask) -> TableRows:
    """Means and variances of the cells of these rows."""
    mean, var = c.model.cells(x, mask)
    return TableRows(np.where(mask, x, mean), np.where(mask, 0.0, c.factor * var), mask, c)


def certain_limit(rows: TableRows, k: int, least: int) -> float:
    """The variance up to which a row may be a neighbour: small beside the squared distance of neighbours."""
    n, v = len(rows.mean), rows.open
    points = np.column_stack([rows.mean, np.sqrt(v)])  # |m_i - m_j|^2 + v_j, and v_i is the same for all j
    near = nearest(np.column_stack([rows.mean, np.zeros(n)]), min(k + 1, n), points).distance[:, -1]
    least = min(max(least, int(LEAST_CERTAIN * n)), n)
    return max(CERTAIN_SHARE * float(np.median(near**2)), float(np.sort(v)[least - 1]))


def thinned_neighbors(k: int, certain: int, n: int) -> int:
    """Neighbours that reach as far among the certain rows as k do among all."""
    return k if certain == n else min(k, max(int(np.ceil(k * certain / n)), LEAST_NEIGHBORS))


def mean_place(c: Completion, x: Array, mask: Mask, points: Array, Z: Array) -> Array:
    """E[z | seen cells]: the places of the points that a row may be, by their weights under the bells."""
    P = (points - c.centre) / c.spread
    s = np.where(mask, (x - c.centre) / c.spread, 0.0)
    out = np.empty((len(x), Z.shape[1]))
    for part in _parts(len(x), len(P)):
        W = _weights(s[part], mask[part], P, np.zeros_like(P), c.reach)
        out[part] = W @ Z / W.sum(axis=1, keepdims=True)
    return out


# a trial on hidden cells ------------------------------------------------------------------------------------
class ToldCells(NamedTuple):
    """How a model told cells that were hidden: its mean squared error, and what its variances have to be scaled by."""

    error: float  # in units of the columns' variances
    factor: float  # squared errors over variances, summed as distances sum them


class Hiding(NamedTuple):
    """Rows of which some seen cells are hidden, to see who tells them."""

    x: Array
    shown: Mask
    hidden: Mask
    spread: Array  # of the columns

    def told(self, mean: Array, var: Array, rank: float) -> ToldCells:
        """How the hidden cells were told; where there are none, models are taken by their rank."""
        if not self.hidden.any():
            return ToldCells(rank, 1.0)
        off, total = (mean - self.x)[self.hidden], float(var[self.hidden].sum())
        squares = float((off**2).sum())
        error = float((((mean - self.x) / self.spread)[self.hidden] ** 2).mean())
        return ToldCells(error, squares / total if squares > 0.0 and total > 0.0 else 1.0)


def _hiding(x: Array, mask: Mask) -> Hiding:
    """A share of the seen cells hidden, by a hash of their row: whatever the order of rows.

    None that is the last of its row or column is hidden.
    """
    keys = np.random.default_rng(COMPLETION_TRIAL).integers(2**63, size=(2, x.shape[1]), dtype=np.uint64)
    centre, spread = centre_and_spread(np.where(mask, x, np.nan))
    coarse = np.where(mask, (x - centre) / spread, 0.0).round(3)  # the order of rows changes the last digits
    bits = mix_bits(row_hash(coarse, keys[0])[:, None] ^ keys[1])
    hide = mask & ((bits >> np.uint64(40)) % np.uint64(TRIAL_PERIOD) == 0)
    hide[(mask & ~hide).sum(axis=1) == 0] = False
    hide[:, (mask & ~hide).sum(axis=0) == 0] = False
    return Hiding(x, mask & ~hide, hide, spread)


def _best_dimension(trial: Hiding) -> tuple[int, ToldCells]:
    """The dimension whose linear model tells hidden cells best, and how it does."""
    told: dict[int, ToldCells] = {}
    for q in [q for q in DIMENSIONS if q < min(trial.x.shape)]:
        model = _linear(trial.x, trial.shown, q)
        told[q] = trial.told(*model.cells(trial.x, trial.shown), float(q))
        if told[q].error > 2.0 * min(t.error for t in told.values()):
            break  # more dimensions follow the noise
    best = min(told, key=lambda q: told[q].error)
    return best, told[best]


def _best_width(trial: Hiding) -> tuple[float, float, ToldCells]:
    """Widths of the least squared error and of the highest density of hidden cells, and how the first tells them."""
    told, losses = [], []
    for width in WIDTHS:
        mean, var = _bells(trial.x, trial.shown, width).cells(trial.x, trial.shown)
        told.append(trial.told(mean, var, width))
        off = ((mean - trial.x) / trial.spread)[trial.hidden] ** 2
        v = (var / trial.spread**2)[trial.hidden]
        losses.append(float((np.log(v) + off / v).mean()) if len(off) else width)
    best = int(np.argmin([t.error for t in told]))
    return WIDTHS[best], WIDTHS[int(np.argmin(losses))], told[best]


# the two models ---------------------------------------------------------------------------------------------
def _linear(x: Array, mask: Mask, q: int) -> LinearCells:
    """Probabilistic PCA of the seen cells by EM (Tipping and Bishop 1999), with parameters expanded."""
    some = mask.any(axis=1)
    x, mask = np.where(mask, x, 0.0)[some], mask[some]
    (n, d), seen = x.shape, mask.sum(axis=0)
    # Start: the axes of the table with its gaps on the column means, by the smaller side.
    mu = x.sum(axis=0) / seen
    Y = np.where(mask, x - mu, 0.0)
    if d <= n:
        values, V = largest(Y.T @ Y, q)
    else:
        values, U = largest(Y @ Y.T, q)
        V = np.linalg.qr(Y.T @ U)[0]
    values, total = values / seen.mean(), float(((Y**2).sum(axis=0) / seen).sum())
    floor = max(LEAST_NOISE * total / d, float(np.finfo(float).tiny) ** 0.5)
    least = floor if mask.all() else START_NOISE * total / d  # of a complete table this is the answer already
    noise = max((total - float(values.sum())) / max(d - q, 1), least, floor)
    W, psi = V * np.sqrt(np.maximum(values - noise, 0.01 * noise)), np.full(d, noise)
    value, gain = -np.inf, np.inf
    for _ in range(MOST_EM_STEPS):
        latent = posterior(x, mask, W, mu, psi)
        before, value = value, float(latent.log_density.sum())
        last, gain = gain, value - before
        rate = min(max(gain / last, 0.0), 0.99) if last < np.inf else 0.0
        if gain / (1.0 - rate) <= EM_TOL * n:  # what is left if gains go on shrinking as they did: Aitken
            break
        stats = sums(mask, None, latent, W, psi)
        W, mu, squares = regress(stats, W, mu)
        psi = np.full(d, max(float(squares.sum() / stats.seen.sum()), floor))
        if q:
            W, mu = expand(stats, W, mu)
    return LinearCells(W, mu, psi)


def _bells(x: Array, mask: Mask, width: float) -> Bells:
    """Bells whose own gaps have settled."""
    centre, spread = centre_and_spread(np.where(mask, x, np.nan))
    s = np.where(mask, (x - centre) / spread, 0.0)
    bells = Bells(s, mask, s, (~mask).astype(float), centre, spread, width)
    for _ in range(ROUNDS if not mask.all() else 0):
        mean, var = bells.moments(s, mask)
        bells = bells._replace(mean=np.where(mask, s, mean), var=np.where(mask, 0.0, var))
    return bells


def _weights(s: Array, mask: Mask, mean: Array, var: Array, width: float) -> Array:
    """exp(-expected |x - x_j|^2 / 2 h^2) over the seen cells of each row, the largest of a row one."""
    s = np.where(mask, s, 0.0)
    D = mask.astype(float) @ (mean**2 + var).T - 2.0 * s @ mean.T  # but for a constant of the row
    D -= D.min(axis=1, keepdims=True)
    D *= -0.5 / width**2
    return np.exp(D, out=D)


def _parts(n: int, m: int) -> list[slice]:
    """Rows in so many pieces that a piece against m others is small."""
    step = max(1, BLOCK_PAIRS // max(m, 1))
    return [slice(start, start + step) for start in range(0, n, step)]
