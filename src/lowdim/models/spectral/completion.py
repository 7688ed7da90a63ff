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

from lowdim.maths.gaussian import posterior
from lowdim.maths.linalg import Array, Mask, evenly_spread, lower
from lowdim.maths.pairs import BLOCK_PAIRS, nearest
from lowdim.maths.scale import centre_and_spread, moderate_factor
from lowdim.maths.seeds import COMPLETION_TRIAL
from lowdim.text.messages import error, warn
from lowdim.text.quiet import no_warnings

DONOR_ROWS = 4000  # rows that stand for others, at most: each row with gaps is weighed against all of them
TRIAL_ROWS = 1000  # rows on which models and widths are tried
TRIAL_PERIOD = 10  # one seen cell in so many is hidden for it
WIDTHS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # of the bells, in spreads of a column
DIMENSIONS = (0, 1, 2, 4, 8, 16)  # of the linear model
ROUNDS = 4  # in which the bells' own gaps settle
CERTAIN_SHARE = 0.3  # of a neighbour's squared distance: rows with less variance are in the graph
LEAST_CERTAIN = 0.1  # of the rows are in it anyhow, those known best
LEAST_NEIGHBORS = 5  # neighbours of a graph thinned by gaps: fewer fall apart, more reach over a fold


class Completion(NamedTuple):
    """Both models of the rows, in the frame's units; `kind` says which of them fills."""

    kind: str  # "linear" or "bells"
    W: Array  # d x q of the linear model, with mu and psi
    mu: Array
    psi: Array
    cells: Array  # of the bells, m x d, 0 at gaps; centred, in spreads
    seen: Mask
    mean: Array
    var: Array
    centre: Array  # d
    spread: Array  # d
    width: float  # of the bells that fill
    reach: float  # of those by whose weights rows are placed
    limit: float = 0.0  # variance up to which a row may be a neighbour
    factor: float = 1.0  # of the variances, by which they are as large as the squared errors of hidden cells

    @property
    def words(self) -> str:
        """The model in a few words."""
        if self.kind == "linear":
            return f"a linear model of {self.W.shape[1]} dimensions"
        return f"bells of {self.width:g} spreads about {len(self.cells)} rows"


class ToldCells(NamedTuple):
    """How a model told cells that were hidden: its mean squared error, and what its variances have to be scaled by."""

    error: float  # in units of the columns' variances
    factor: float  # squared errors over variances, summed as distances sum them


class CompletedRows(NamedTuple):
    """Rows with the mean and the variance of each unseen cell; seen ones are themselves, without variance."""

    mean: Array
    var: Array

    @property
    def open(self) -> Array:
        """The variance of each row."""
        return np.asarray(self.var.sum(axis=1))


def completion_of(x: Array, mask: Mask | None, names: tuple[str, ...] = ()) -> Completion:
    """The model that tells hidden cells of these rows best."""
    mask = np.ones(x.shape, dtype=bool) if mask is None else mask
    empty = np.flatnonzero(~mask.any(axis=0))
    if len(empty):
        raise error("LD120", column=names[empty[0]] if names else f"c{empty[0] + 1}")
    if moderate_factor(x[mask]) != 1.0:
        why = "unseen cells are inferred from squares of the others, and these are too small or too large to be stored"
        raise error("LD163", job="This model", why=why, fix="write the table in units that make its numbers moderate")
    blank = int((~mask.any(axis=1)).sum())
    if blank:
        warn("LD121", count=blank, n=len(x))
    rows = evenly_spread(len(x), DONOR_ROWS)
    trial = evenly_spread(len(x), TRIAL_ROWS)
    width, reach, by_bells = _best_width(x[trial], mask[trial])
    q, by_line = _best_dimension(x[trial], mask[trial])
    linear = _linear(x[rows], mask[rows], q)
    bells = _bells(x[rows], mask[rows], width)
    kind, told = ("bells", by_bells) if by_bells.error < by_line.error else ("linear", by_line)
    return bells._replace(kind=kind, W=linear[0], mu=linear[1], psi=linear[2], reach=reach, factor=told.factor)


def linear_completion(W: Array, mu: Array, noise: float) -> Completion:
    """A given linear model, without bells."""
    return _empty(len(mu))._replace(W=W, mu=mu, psi=np.full(len(mu), noise))


def complete_rows(c: Completion, x: Array, mask: Mask) -> CompletedRows:
    """Means and variances of the cells of these rows."""
    mean, var = _linear_cells(c, x, mask) if c.kind == "linear" else _bell_cells(c, x, mask)
    return CompletedRows(np.where(mask, x, mean), np.where(mask, 0.0, c.factor * var))


def certain_limit(rows: CompletedRows, k: int, least: int) -> float:
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


# the linear model -------------------------------------------------------------------------------------------
def _linear(x: Array, mask: Mask, q: int) -> tuple[Array, Array, Array]:
    """W, mu and psi of probabilistic PCA."""
    from lowdim.models.linear.ppca import ProbabilisticPCA

    counted = mask.any(axis=1)
    with no_warnings():
        model = ProbabilisticPCA(q, tol=1e-4).fit(np.where(mask, x, np.nan)[counted])
    p, f = model.params_, model.frame_
    return p.W / f.scale[:, None], f.outward(p.mu), p.psi / f.scale / f.scale


def _linear_cells(c: Completion, x: Array, mask: Mask) -> tuple[Array, Array]:
    latent = posterior(np.where(mask, x, 0.0), mask, c.W, c.mu, c.psi)
    i, j = lower(c.W.shape[1])
    both = c.W[:, i] * c.W[:, j] * np.where(i == j, 1.0, 2.0)
    cov = np.broadcast_to(latent.cov.T, (len(x), len(i)))
    return c.mu + latent.mean @ c.W.T, np.maximum(cov @ both.T, 0.0) + c.psi


def _best_dimension(x: Array, mask: Mask) -> tuple[int, ToldCells]:
    """The dimension whose linear model tells hidden cells best, and how it does."""
    shown = _shown(x, mask)
    hidden = mask & ~shown
    spread = centre_and_spread(np.where(mask, x, np.nan))[1]
    told: dict[int, ToldCells] = {}
    for q in [q for q in DIMENSIONS if q < min(x.shape)]:
        W, mu, psi = _linear(x, shown, q)
        c = _empty(x.shape[1])._replace(W=W, mu=mu, psi=psi)
        told[q] = _told(*_linear_cells(c, x, shown), x, hidden, spread, float(q))
        if told[q].error > 2.0 * min(t.error for t in told.values()):
            break  # more dimensions follow the noise
    best = min(told, key=lambda q: told[q].error)
    return best, told[best]


def _told(mean: Array, var: Array, x: Array, hidden: Mask, spread: Array, rank: float) -> ToldCells:
    """How hidden cells were told; where there are none, models are taken by their rank."""
    if not hidden.any():
        return ToldCells(rank, 1.0)
    off, total = (mean - x)[hidden], float(var[hidden].sum())
    squares = float((off**2).sum())
    error = float((((mean - x) / spread)[hidden] ** 2).mean())
    return ToldCells(error, squares / total if squares > 0.0 and total > 0.0 else 1.0)


# bells about the rows ---------------------------------------------------------------------------------------
def _bells(x: Array, mask: Mask, width: float) -> Completion:
    """Bells whose own gaps have settled."""
    centre, spread = centre_and_spread(np.where(mask, x, np.nan))
    s = np.where(mask, (x - centre) / spread, 0.0)
    c = _empty(x.shape[1])._replace(
        kind="bells", cells=s, seen=mask, mean=s, var=(~mask).astype(float), centre=centre, spread=spread, width=width
    )
    for _ in range(ROUNDS if not mask.all() else 0):
        mean, var = _bell_moments(c, s, mask)
        c = c._replace(mean=np.where(mask, s, mean), var=np.where(mask, 0.0, var))
    return c


def _bell_cells(c: Completion, x: Array, mask: Mask) -> tuple[Array, Array]:
    s = np.where(mask, (x - c.centre) / c.spread, 0.0)
    mean, var = _bell_moments(c, s, mask)
    return mean * c.spread + c.centre, var * c.spread**2


def _bell_moments(c: Completion, s: Array, mask: Mask) -> tuple[Array, Array]:
    """Mean and variance of each cell: those of the bells that have it, by their weights."""
    mean, var = np.empty_like(s), np.empty_like(s)
    seen, square = c.seen.astype(float), c.cells**2
    for part in _parts(len(s), len(c.cells)):
        W = _weights(s[part], mask[part], c.mean, c.var, c.width)
        total = W @ seen
        known = total > 0.0
        total = np.where(known, total, 1.0)
        mean[part] = (W @ c.cells) / total
        spread = np.maximum((W @ square) / total - mean[part] ** 2, 0.0) + c.width**2
        var[part] = np.where(known, spread, 1.0)
    return mean, var


def _weights(s: Array, mask: Mask, mean: Array, var: Array, width: float) -> Array:
    """exp(-expected |x - x_j|^2 / 2 h^2) over the seen cells of each row, the largest of a row one."""
    s = np.where(mask, s, 0.0)
    D = mask.astype(float) @ (mean**2 + var).T - 2.0 * s @ mean.T  # but for a constant of the row
    D -= D.min(axis=1, keepdims=True)
    D *= -0.5 / width**2
    return np.asarray(np.exp(D, out=D))


def _best_width(x: Array, mask: Mask) -> tuple[float, float, ToldCells]:
    """Widths of the least squared error and of the highest density of hidden cells, and how the first tells them."""
    shown = _shown(x, mask)
    hidden = mask & ~shown
    spread = centre_and_spread(np.where(mask, x, np.nan))[1]
    told, losses = [], []
    for width in WIDTHS:
        mean, var = _bell_cells(_bells(x, shown, width), x, shown)
        off, v = ((mean - x) / spread)[hidden] ** 2, (var / spread**2)[hidden]
        told.append(_told(mean, var, x, hidden, spread, width))
        losses.append(float((np.log(v) + off / v).mean()) if len(off) else width)
    best = int(np.argmin([t.error for t in told]))
    return WIDTHS[best], WIDTHS[int(np.argmin(losses))], told[best]


def _shown(x: Array, mask: Mask) -> Mask:
    """The mask with a share of the seen cells hidden, by a hash of their row: whatever the order of rows.

    None that is the last of its row or column is hidden.
    """
    from lowdim.models.base.calibration import mix_bits, row_hash

    keys = np.random.default_rng(COMPLETION_TRIAL).integers(2**63, size=(2, x.shape[1]), dtype=np.uint64)
    centre, spread = centre_and_spread(np.where(mask, x, np.nan))
    coarse = np.asarray(
        np.round(np.where(mask, (x - centre) / spread, 0.0), 3), dtype=np.float64
    )  # the order of rows changes the last digits
    bits = mix_bits(row_hash(coarse, keys[0])[:, None] ^ keys[1])
    hide = mask & ((bits >> np.uint64(40)) % np.uint64(TRIAL_PERIOD) == 0)
    hide[(mask & ~hide).sum(axis=1) == 0] = False
    hide[:, (mask & ~hide).sum(axis=0) == 0] = False
    return np.asarray(mask & ~hide)


def _empty(d: int) -> Completion:
    none = np.zeros((0, d))
    return Completion(
        "linear", np.zeros((d, 0)), np.zeros(d), np.ones(d), none, none.astype(bool), none, none, np.zeros(d),
        np.ones(d), 1.0, 1.0,
    )  # fmt: skip


def _parts(n: int, m: int) -> list[slice]:
    """Rows in so many pieces that a piece against m others is small."""
    step = max(1, BLOCK_PAIRS // max(m, 1))
    return [slice(start, start + step) for start in range(0, n, step)]
