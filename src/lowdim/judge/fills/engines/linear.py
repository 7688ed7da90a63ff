"""Linear models that fill gaps: variational Bayesian PCA, one Gaussian of all columns, and any that was asked for.

    x_ij = w_j' z_i + mu_j + e_ij,  z_i ~ N(0, I),  e_ij ~ N(0, psi),  w_j ~ N(0, diag(alpha)^-1)

in units of each column's spread, with q(Z) q(W, mu), and alpha and psi by type-II maximum likelihood. A
dimension the table does not support is shrunk and then dropped, so their number need not be chosen with
care, and small tables do not follow their noise. (A psi for every column, free or drawn together, filled
worse on metabolite and no better elsewhere; the columns' own errors are calibrated in `calibration.py`.)

`BayesianPCA` is the same model with the same steps (`maths/bayesian_gaussian.py`) and another loop: it starts from
pairwise moments, climbs a bound until that gains less than `tol` nats, and refuses a column without a seen cell. Here
a fit is made for each fold of hidden cells, so it starts from mean-filled axes, ends when the cells move little, drops
dimensions after a few passes, and a column may be hidden entirely. Its numbers are not the same: on simulated tables
of 60 to 200 rows fills differ by 0.004 to 0.16 of a column's spread (their errors by 1.5 % at most), in a third of
the time.

Reference: Bishop, Variational principal components, ICANN (1999); Ilin and Raiko, Practical approaches to principal
component analysis in the presence of missing values, Journal of Machine Learning Research 11 (2010).
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from lowdim.engine.fit import em
from lowdim.engine.fold import Run
from lowdim.judge.cells import framed_gaussian
from lowdim.judge.fills.engines.engine import FittedEngine, draw_seed, drawing
from lowdim.maths import bayesian_gaussian as vb
from lowdim.maths.gaps import GivenSeen, Scatter, given_seen, pattern_groups
from lowdim.maths.gaussian import sums
from lowdim.maths.linalg import Array, Mask, centre_and_spread, distinct, evenly_spread, lower, root_times, unpack
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.mixtures.parts import GaussianParams, GaussianParts, gaussian
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Block

TRIAL_TOL = 1e-2  # nats within which a trial fit has converged: far below what a fill can show
NOISE_FLOOR = 1e-6  # the least noise variance, as a share of the columns' variance
DEAD_SHARE = 0.1  # a dimension whose loadings are smaller than this share of their own doubt is dropped
CELL_TOL = 4e-3  # tighter fits fill no better on our tables, and take two to three times the passes
VAGUE_PRECISION = 1e-6  # prior precision of a column's mean, beside that of one cell: a column may be all hidden
WARM_CELLS = 40_000  # cells from which on a fit starts from that of half the rows (a quarter loses dimensions)
SETTLING_PASSES = 5  # passes before any dimension may be dropped
MOST_PASSES = 200
# passes of the whole Gaussian: stopped at 60 it lost to shrinkage on tables where, converged, it wins
WHOLE_PASSES = 300
LEAST_VARIANCE = 1e-6  # of the whole Gaussian in any direction, columns in units of their spread


class VariationalPCA(FittedEngine):
    """Variational Bayesian PCA with at most q dimensions: for tables small enough to be in doubt.

    By variational EM from the principal axes of the table with its gaps on the mean. It stops when the cells move by
    less than `CELL_TOL` of their column's spread (root mean square) in a pass.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 1)) + 0.1 * rng.standard_normal((50, 5))
    >>> truth, X[3, 2] = X[3, 2], np.nan
    >>> mean, sd = VariationalPCA(X, 4).fills(X)
    >>> bool(abs(mean[3, 2] - truth) < 2 * sd[3, 2] < 0.3)
    True
    """

    def __init__(self, X: Array, q: int) -> None:
        self.mean, self.sd = centre_and_spread(X)
        mask = ~np.isnan(X)
        x = np.where(mask, (X - self.mean) / self.sd, 0.0)
        beliefs = _start(x, mask, q)
        if x.size > WARM_CELLS:  # most passes see half of the rows: parameters hardly move in those that see all
            few = evenly_spread(len(x), len(x) // 2)
            beliefs = _climbed(x[few], mask[few], beliefs, SETTLING_PASSES)
        self.beliefs = _climbed(x, mask, beliefs, SETTLING_PASSES if x.size <= WARM_CELLS else 0)
        self.n_components = int(self.beliefs.W.shape[1])

    def fills(self, rows: Array) -> tuple[Array, Array]:
        """The mean of every gap, and its standard deviation as if measured anew."""
        mask, z, packed = self._placed(rows)
        b, S, q = self.beliefs, packed.T, self.n_components
        i, j = lower(q)
        twice = np.where(i == j, 1.0, 2.0)
        var = (S * twice) @ (b.W[:, i] * b.W[:, j]).T + ((S + z[:, i] * z[:, j]) * twice) @ b.V[:, i, j].T
        var += 2.0 * z @ b.V[:, :q, q].T + b.V[:, q, q] + b.psi
        mean, sd = self.mean + self.sd * (z @ b.W.T + b.mu), self.sd * np.sqrt(np.maximum(var, b.psi))
        return np.where(mask, rows, mean), np.where(mask, 0.0, sd)

    def drawn(self, rows: Array, seed: int, number: int) -> Array:
        """One table drawn from the posterior, noise included."""
        mask, z, packed = self._placed(rows)
        b, (n, d), q, rng = self.beliefs, rows.shape, self.n_components, drawing(seed, number)
        step = root_times(b.V, rng.standard_normal((d, q + 1)))
        z = z + root_times(unpack(packed, q), rng.standard_normal((n, q)))
        draw = z @ (b.W + step[:, :q]).T + b.mu + step[:, q] + rng.standard_normal((n, d)) * np.sqrt(b.psi)
        return np.where(mask, rows, self.mean + self.sd * draw)

    def _placed(self, rows: Array) -> tuple[Mask, Array, Array]:
        """Where cells are seen, and the mean and packed covariance of what is believed of each row's position."""
        mask = ~np.isnan(rows)
        x = np.where(mask, (rows - self.mean) / self.sd, 0.0)
        latent = vb.rows(x, None if mask.all() else mask, self.beliefs)
        return mask, latent.mean, np.broadcast_to(latent.cov, (len(latent.cov), len(rows)))


def _start(x: Array, mask: Mask, q: int) -> vb.Beliefs:
    (n, d), total, cells = x.shape, float((x * x).sum()), float(mask.sum())
    _, s, Vt = np.linalg.svd(x, full_matrices=False)
    q = min(q, len(s))
    left = max(total - float((s[:q] ** 2).sum()), 0.1 * total, NOISE_FLOOR * d)
    W = Vt[:q].T * s[:q] / np.sqrt(n)
    psi = left / max(cells, 1.0)
    V = np.eye(q + 1)[None] * (psi * d / max(cells, 1.0))
    return vb.Beliefs(W, np.zeros(d), psi, V, (W**2).mean(axis=0), 0.5 * max(cells, 4.0))


def _climbed(x: Array, mask: Mask, b: vb.Beliefs, settling: int) -> vb.Beliefs:
    """Passes until the cells move little, no dimension being dropped in the first ones."""
    some = None if mask.all() else mask
    alike = None if some is None else vb.Alike(*distinct(mask.T))
    latent = vb.rows(x, some, b)
    cells = latent.mean @ b.W.T + b.mu  # the mean of every cell, in units of the columns' spread
    for k in range(MOST_PASSES):
        before = cells
        seen_sums = None if alike is None else alike.seen_sums(mask, latent)
        s = sums(some, None, latent, b.W, np.full(x.shape[1], b.psi), seen_sums)
        dead = DEAD_SHARE if k >= settling else 0.0
        b = vb.update(s, b, floor=NOISE_FLOOR, dead=dead, vague=VAGUE_PRECISION, alike=alike)
        latent = vb.rows(x, some, b)
        cells = latent.mean @ b.W.T + b.mu
        if k > settling and float(np.sqrt(((cells - before) ** 2).mean())) < CELL_TOL:
            break
    return b


class WholeGaussian(FittedEngine):
    """One Gaussian of all columns, shrunk by nothing: as PPCA(d - 1), much faster.

    EM from the columns' correlations with gaps on the mean: the rows given what is seen of them, and the mean and the
    covariance of those.
    """

    max_iter = WHOLE_PASSES
    _one = GaussianParts(1)  # of a mixture
    _pack, _unpack = _one.pack, _one.unpack  # what `em` asks for, beside the three functions at the end

    def __init__(self, X: Array) -> None:
        n, d = X.shape
        self.mean, self.sd = centre_and_spread(X)
        self.tol, self.n_components = TRIAL_TOL / n, d - 1
        block = self._inward(X)
        root = np.sqrt(np.maximum(block.seen.sum(axis=0), 1.0))
        C = block.x.T @ block.x / np.outer(root, root)
        np.fill_diagonal(C, 1.0)  # also of a column that is hidden entirely
        start = gaussian(np.zeros(d), C, np.full(d, LEAST_VARIANCE), float(n))
        self.part = em(self, start, ArraySource(block.x, block.mask, columns=None), Run()).params._replace(n=float(n))

    def fills(self, rows: Array) -> tuple[Array, Array]:
        p, gap = self.part, np.isnan(rows)
        given = self._given(p, self._inward(rows))
        sd = self.sd * np.sqrt(given.variance() * (1.0 / p.n + p.excess))  # the mean and the covariance were fitted
        return np.where(gap, self.mean + self.sd * (given.deviations + p.mu), rows), np.where(gap, sd, 0.0)

    def drawn(self, rows: Array, seed: int, number: int) -> Array:
        rng = drawing(seed, number)
        draw = self._one.draw(self._one.redraw(self.part, rng), self._inward(rows), [rng] * len(rows))
        return np.where(np.isnan(rows), self.mean + self.sd * draw, rows)

    def _inward(self, rows: Array) -> Block:
        mask = ~np.isnan(rows)
        return Block(np.where(mask, (rows - self.mean) / self.sd, 0.0), mask)

    def _given(self, part: GaussianParams, block: Block) -> GivenSeen:
        deviations = np.where(block.seen, block.x - part.mu, 0.0)
        return given_seen(deviations, pattern_groups(block.mask), part.P, part.logdet)

    def _stats(self, part: GaussianParams, block: Block) -> Scatter:
        return self._given(part, block).scatter(block.times)

    def _objective(self, part: GaussianParams, stats: Scatter) -> float:
        return stats.log_density

    def _update(self, part: GaussianParams, stats: Scatter) -> GaussianParams:
        return gaussian(part.mu + stats.s / stats.n, stats.covariance(), part.low, part.n)


class LinearModel(FittedEngine):
    """A linear-Gaussian model as it stands, in the table's units; it is fitted anew without each fold of the rows."""

    def __init__(self, X: Array, model: LinearGaussian) -> None:
        self.model = clone(model).fit(X)
        g = framed_gaussian(self.model)
        self.n_components = int(g.W.shape[1])
        # draws have the fitted noise without the excess that its fitting cost: stretched to the same spread
        self.cost = g.psi * (g.excess - 1.0) / g.frame.scale**2

    def fills(self, rows: Array) -> tuple[Array, Array]:
        filled, sd = self.model.impute(rows, return_std=True)
        return filled, sd

    def drawn(self, rows: Array, seed: int, number: int) -> Array:
        filled, sd = self.fills(rows)
        stretch = sd / np.sqrt(np.maximum(sd**2 - self.cost, 0.25 * sd**2) + (sd == 0.0))
        draw = self.model.impute(rows, draws=1, random_state=draw_seed(seed, number))[0]
        return np.asarray(filled + (draw - filled) * stretch)
