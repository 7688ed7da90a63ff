"""A sheet of nodes: its parameters, whose row each node is, and the regression that bends it."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from lowdim.math.gaussian import LOG_TWO_PI
from lowdim.math.linalg import Array, Mask, lower
from lowdim.models.base.results import Posterior
from lowdim.models.base.survey import TableSurvey
from lowdim.models.linear.parameters import FLOOR, first_axes
from lowdim.models.nonlinear.rbf_grid import Basis

CLIP = -40.0  # logarithms of relative responsibilities below this are set to it: denormal numbers are 28 times slower
LEAST = float(np.exp(CLIP))
CLOSE = 1e-3  # of the nodes' mean square: with less noise a nearest node's distance by products has too few digits
FINE = 1e-6  # with as little noise as this all distances by products would let the likelihood fall
NOISE_FLOOR = 1e-8  # of the mean variance: below it a node sits on a row
REGULAR = 1e-12  # smallest over largest eigenvalue of a regression that may be solved by its normal equations
CUT = 1e-8  # of the largest singular value: what the same regression cannot tell from nothing


class Sheet(NamedTuple):
    """Parameters, in the frame's units: nodes at W'phi(grid), one noise variance."""

    grid: Array  # K x L
    centres: Array  # M x L
    width: float
    W: Array  # (M + 1) x d
    psi: float
    prior: float  # precision of the weights
    low: float  # the floor of psi
    widen: float = 1.0  # what standard deviations of cells are multiplied by

    @property
    def basis(self) -> Basis:
        return Basis(self.centres, self.width)

    @property
    def nodes(self) -> Array:
        """Where the grid lies in the table's space, K x d."""
        return self.basis.at(self.grid) @ self.W


class SheetSums(NamedTuple):
    """What the M-step needs; plain sums over rows."""

    n: float
    log_density: float
    G: Array  # K x d: responsibility of each node for the seen cells of each column; K x 1 where none is missing
    RX: Array  # K x d
    xx: float  # sum of squares of the seen cells
    cells: float
    alone: float  # rows held by a single node

    def merge(self, other: Self) -> Self:
        G = (self.G, other.G) if self.G.shape == other.G.shape else np.broadcast_arrays(self.G, other.G)
        return type(self)(
            self.n + other.n,
            self.log_density + other.log_density,
            G[0] + G[1],
            self.RX + other.RX,
            self.xx + other.xx,
            self.cells + other.cells,
            self.alone + other.alone,
        )


class Nodes(NamedTuple):
    """p(node | seen cells) of each row, and what it says of the row's place."""

    share: Array  # n x K
    log_density: Array
    grid: Array

    @property
    def mean(self) -> Array:
        return self.share @ self.grid

    def turned(self, T: Array) -> Posterior:
        """As Gaussian moments of the place."""
        z = self.grid @ T
        i, j = lower(z.shape[1])
        mean = self.share @ z
        return Posterior(mean, self.share @ (z[:, i] * z[:, j]) - mean[:, i] * mean[:, j], self.log_density)


def shares(x: Array, mask: Mask | None, Y: Array, psi: float) -> tuple[Array, Array]:
    """Responsibilities of equally likely nodes, n x K, and the rows' log densities."""
    E, total, log_density = heights(x, mask, Y, psi)
    E /= total[:, None]
    return E, log_density


def heights(x: Array, mask: Mask | None, Y: Array, psi: float) -> tuple[Array, Array, Array]:
    """p(row | node) over that of the row's nearest node, n x K; their sums, and the rows' log densities."""
    seen = None if mask is None else mask.astype(np.float64)
    half, square = 0.5 / psi, Y**2
    size = float(square.mean())
    if psi < FINE * size:
        E = -half * apart(x, seen, Y)
    elif seen is None:  # one product, constant and all: every walk over n x K numbers counts
        E = np.column_stack([x, np.ones(len(x))]) @ np.vstack([Y.T * (2.0 * half), -half * square.sum(axis=1)])
    else:
        E = np.hstack([x, seen]) @ np.vstack([Y.T * (2.0 * half), square.T * -half])
    if psi < CLOSE * size:  # the nearest node from differences: with little noise products would lose it
        nearest = E.argmax(axis=1)
        top, rest = E[np.arange(len(E)), nearest], x - Y[nearest]
        off = half * ((rest * rest) if seen is None else (rest * rest * seen)).sum(axis=1)
    else:
        top = E.max(axis=1)
        off = half * (x * x).sum(axis=1) - top
    E -= top[:, None]
    np.exp(E, out=E, where=E > CLIP)  # most lie below once the noise is small, and an exponential is dear
    np.maximum(E, LEAST, out=E)
    total = E.sum(axis=1)
    count = x.shape[1] if seen is None else seen.sum(axis=1)
    return E, total, np.log(total / len(Y)) - off - 0.5 * count * (LOG_TWO_PI + np.log(psi))


def apart(x: Array, seen: Array | None, Y: Array) -> Array:
    """Squared distances of rows and nodes from differences, a column at a time: slow, but exact for near ones."""
    square = np.zeros((len(x), len(Y)))
    for j in range(x.shape[1]):
        step = x[:, j, None] - Y[:, j]
        step *= step
        square += step if seen is None else step * seen[:, j, None]
    return square


def bent(Phi: Array, stats: SheetSums, A: Array, ridge: Array, old: Array) -> Array:
    """W that minimises sum_k G_kj (RX_kj / G_kj - phi_k' w_j)^2 + ridge |w_j|^2, the smallest where it is open.

    Normal equations A = Phi' G Phi where they are regular; nodes without rows, more bells than nodes or no ridge leave
    directions open, and then least squares on the nodes themselves, or the `old` weights where rounding undoes that.
    """
    G, RX = stats.G, stats.RX
    whole = A + np.diag(ridge)
    if ridge[:-1].min(initial=np.inf) > REGULAR * float(np.trace(whole, axis1=1, axis2=2).max()) or regular(whole):
        return solved(whole, Phi.T @ RX)
    some = G > 0.0
    root = np.sqrt(np.where(some, G, 1.0)) * some
    aim = np.where(some, RX, 0.0) / np.where(some, root, 1.0)
    penalty = np.diag(np.sqrt(ridge))
    W = np.empty((Phi.shape[1], RX.shape[1]))
    for j, r in enumerate(root.T):
        columns = slice(None) if len(root.T) == 1 else slice(j, j + 1)
        y = np.vstack([aim[:, columns], np.zeros((len(penalty), aim[:, columns].shape[1]))])
        W[:, columns] = np.linalg.lstsq(np.vstack([Phi * r[:, None], penalty]), y, rcond=CUT)[0]
    before, after = (misfit(Phi @ V, stats) + float(ridge @ (V**2).sum(axis=1)) for V in (old, W))
    return W if after <= before else old


def misfit(Y: Array, stats: SheetSums) -> float:
    """Sum of squares of the rows about nodes Y, less those of the rows themselves."""
    return float((Y * (stats.G * Y - 2.0 * stats.RX)).sum())


def regular(A: Array) -> bool:
    """Whether every matrix can be solved with, by the pivots of its Cholesky factor."""
    try:
        pivots = np.diagonal(np.linalg.cholesky(A), axis1=1, axis2=2) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool((pivots.min(axis=1) > REGULAR * pivots.max(axis=1)).all())


def solved(A: Array, B: Array) -> Array:
    """A_j w_j = b_j of every column; one A may serve all. Nearly singular ones by least squares."""
    try:
        return np.asarray(np.linalg.solve(A[0], B) if len(A) == 1 else np.linalg.solve(A, B.T[:, :, None])[:, :, 0].T)
    except np.linalg.LinAlgError:
        each = [np.linalg.lstsq(A[0 if len(A) == 1 else j], b, rcond=None)[0] for j, b in enumerate(B.T)]
        return np.array(each).T


def strength(A: Array, W: Array, params: Any) -> float:
    """The prior's precision by the evidence: well determined weights over their squares (MacKay).

    Within bounds that count in units of the table's mean variance.
    """
    v = params.low / NOISE_FLOOR
    values = np.maximum(np.linalg.eigvalsh(A[:, :-1, :-1]), 0.0)
    known = float((values / (values + params.prior)).sum()) * (W.shape[1] / len(A))
    return float(np.clip(v * known / max(float((W[:-1] ** 2).sum()), 1e-300), 1e-8, 1e8)) / v


class Flat(NamedTuple):
    """The principal axes as a flat sheet: its nodes in the table's space, the axes' variances, the columns' in all."""

    target: Array
    values: Array
    total: float
    low: float  # the floor of the noise


def flat(seen: TableSurvey, nodes: Array) -> Flat:
    """Latent points laid out along the principal axes, as wide as the table is."""
    d, total = seen.source.d, float(seen.columns.variance.sum())
    values, U = first_axes(seen, nodes.shape[1])
    values = np.maximum(values, 0.0)
    sd = nodes.std(axis=0)
    target = seen.columns.mean + (nodes / np.where(sd > 0, sd, 1.0) * np.sqrt(values)) @ U.T
    return Flat(target, values, total, max(NOISE_FLOOR * total / d, FLOOR * np.finfo(float).tiny ** 0.25))
