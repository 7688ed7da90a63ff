"""The evidence bound of nonlinear factor analysis, its slopes, and the search for a row's place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.math.gaussian import LOG_TWO_PI
from lowdim.math.linalg import Array
from lowdim.math.mlp import Layers, backward, forward, output, pack, slopes, unpack
from lowdim.models.nonlinear.rbf_grid import grid

POINTS = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0])  # Gauss-Hermite, three points: exact to the fifth power
SHARES = np.array([1.0, 4.0, 1.0]) / 6.0
PIECE = 64  # rows at a time: their nine points each stay near the cache
SIDE = {1: 61, 2: 21, 3: 9}  # places a side tried first for a new row, over +- REACH
REACH = 3.0
PLACING = 100  # steps of a row's own search
SETTLED = 1e-11  # slope, in units of the row's own curvature, at which that ends
NOISE_FLOOR = 1e-8  # of the mean variance: below it the network passes through the rows


class Rows(NamedTuple):
    """Cells less the mean, in the network's units; 0 and False at gaps."""

    x: Array
    mask: NDArray[np.bool_] | None

    def part(self, some: Any) -> Rows:
        return Rows(self.x[some], None if self.mask is None else self.mask[some])


def cells(rows: Rows) -> Array:
    """How many each row has."""
    return np.full(len(rows.x), float(rows.x.shape[1])) if rows.mask is None else rows.mask.sum(axis=1).astype(float)


def points(q: int) -> tuple[Array, Array]:
    """Gauss-Hermite points of a standard normal in q dimensions, and their shares."""
    each = np.stack(np.meshgrid(*[np.arange(3)] * q, indexing="ij"), axis=-1).reshape(-1, q)
    return POINTS[each], SHARES[each].prod(axis=1)


def value_of(layers: Layers, psi: float, rows: Rows, theta: Array, u: Array, share: Array) -> Array:
    """The bound of each row by the given points."""
    n, q = len(theta), theta.shape[1] // 2
    m, logs = theta[:, :q], theta[:, q:]
    z = m[:, None] + np.exp(logs)[:, None] * u
    R = output(layers, z.reshape(-1, q)).reshape(n, len(share), -1) - rows.x[:, None]
    if rows.mask is not None:
        R *= rows.mask[:, None]
    return np.asarray(-0.5 / psi * ((R**2).sum(axis=2) @ share) + _rest(rows, psi, m, logs))


def _rest(rows: Rows, psi: float, m: Array, logs: Array) -> Array:
    """What the bound has beside the squares: the noise's size, less the divergence from the prior."""
    return np.asarray(
        -0.5 * cells(rows) * (LOG_TWO_PI + np.log(psi))
        - 0.5 * (m**2 + np.exp(2.0 * logs) - 2.0 * logs - 1.0).sum(axis=1)
    )


class Slopes(NamedTuple):
    """The bound of each row, and its slopes: by m and log s of the row, by the network, by log psi."""

    value: Array
    theta: Array
    layers: Layers
    log_psi: float


def slopes_of(layers: Layers, psi: float, rows: Rows, theta: Array, w: Array) -> Slopes:
    """The bound by Gauss-Hermite points, and every slope; those of what rows share are summed with weights w."""
    n, q = len(theta), theta.shape[1] // 2
    u, share = points(q)
    m, logs = theta[:, :q], theta[:, q:]
    s = np.exp(logs)
    said = forward(layers, (m[:, None] + s[:, None] * u).reshape(-1, q))
    R = rows.x[:, None] - said[-1].reshape(n, len(u), -1)
    if rows.mask is not None:
        R *= rows.mask[:, None]
    square = (R**2).sum(axis=2) @ share
    pull = (R * (share[:, None] / psi)).reshape(len(said[-1]), -1)
    if (w != 1.0).any():
        pull *= np.repeat(w, len(u))[:, None]
    found, dZ = backward(layers, said, pull)
    dZ = dZ.reshape(n, len(u), q)
    by = np.hstack([dZ.sum(axis=1) - w[:, None] * m, s * np.einsum("njq,jq->nq", dZ, u) - w[:, None] * (s**2 - 1.0)])
    return Slopes(
        -0.5 / psi * square + _rest(rows, psi, m, logs), by, found, float(w @ (0.5 * square / psi - 0.5 * cells(rows)))
    )


class Bound(NamedTuple):
    """The bound of a table with the weights' prior, as a function of one vector: network, log psi, and the posteriors.

    These are every row's m and log s, or the weights of an encoder that tells them from a row's cells (and, where
    any are missing, which are there).
    """

    like: Layers
    coder: Layers  # empty where rows have posteriors of their own
    rows: Rows
    w: Array
    prior: float

    @property
    def weights(self) -> int:
        return len(pack(self.like))

    def psi(self, v: Array) -> float:
        return float(np.exp(np.clip(v[self.weights], np.log(NOISE_FLOOR), 10.0)))

    def theta(self, v: Array) -> Array:
        """(m, log s) of each row."""
        rest, n = v[self.weights + 1 :], len(self.rows.x)
        if self.coder:
            return output(unpack(rest, self.coder), spoken(self.rows, self.coder))
        return np.hstack(tuple(rest.reshape(2, n, -1) / np.sqrt(self.w)[:, None]))

    def own(self, theta: Array) -> Array:
        """The vector's part for rows with posteriors of their own.

        They stand there times the root of a row's weight: descent then goes as if the row were there so many times.
        """
        unit, q = np.sqrt(self.w)[:, None], theta.shape[1] // 2
        return np.append((theta[:, :q] * unit).ravel(), (theta[:, q:] * unit).ravel())

    def at(self, v: Array) -> tuple[float, Array]:
        """Its value and gradient."""
        layers, rest, psi = unpack(v, self.like), v[self.weights + 1 :], self.psi(v)
        by = [np.zeros(self.weights), np.zeros(1), np.zeros_like(rest)]
        coder, total, theta = unpack(rest, self.coder), 0.0, np.empty(0) if self.coder else self.theta(v)
        for i in range(0, len(self.rows.x), PIECE):
            some = slice(i, i + PIECE)
            part, w = self.rows.part(some), self.w[some]
            said = forward(coder, spoken(part, coder)) if coder else [theta[some]]
            f = slopes_of(layers, psi, part, said[-1], w)
            total += float(w @ f.value)
            by[0] += pack(f.layers)
            by[1] += f.log_psi
            if coder:
                by[2] += pack(backward(coder, said, f.theta)[0])
            else:
                q, unit = f.theta.shape[1] // 2, np.sqrt(w)[:, None]
                by[2].reshape(2, -1, q)[:, some] = f.theta[:, :q] / unit, f.theta[:, q:] / unit
        if not np.log(NOISE_FLOOR) <= v[self.weights] <= 10.0:
            by[1][:] = 0.0
        W, V = (pack(tuple((W, 0.0 * b) for W, b in each)) for each in (layers, coder))
        by[0] -= self.prior * W
        if coder:
            by[2] -= self.prior * V
        return total - 0.5 * self.prior * float(W @ W + V @ V), np.concatenate(by)


def spoken(rows: Rows, coder: Layers) -> Array:
    """What an encoder hears of rows."""
    if coder[0][0].shape[0] == rows.x.shape[1]:
        return rows.x
    return np.hstack([rows.x, np.ones_like(rows.x) if rows.mask is None else rows.mask])


def regression(like: Layers, rows: Rows, w: Array, m: Array, prior: float, v: Array) -> tuple[float, Array]:
    """Half the squared error of the network at given places, with the weights' prior; and its gradient."""
    layers = unpack(v, like)
    said = forward(layers, m)
    R = said[-1] - rows.x
    if rows.mask is not None:
        R *= rows.mask
    found, _ = backward(layers, said, R * w[:, None])
    weights = pack(tuple((W, 0.0 * b) for W, b in layers))
    return 0.5 * float(w @ (R**2).sum(axis=1)) + 0.5e-2 * prior * float(weights @ weights), pack(
        found
    ) + 1e-2 * prior * weights


# new rows -------------------------------------------------------------------------------------------------
def encoded(layers: Layers, coder: Layers, psi: float, rows: Rows) -> tuple[Array, Array]:
    """(m, log s) and the bound of each row by an encoder; a row without cells has the prior."""
    theta = output(coder, spoken(rows, coder))
    theta[cells(rows) == 0.0] = 0.0
    u, share = points(theta.shape[1] // 2)
    parts = (slice(i, i + PIECE) for i in range(0, len(theta), PIECE))
    return theta, np.concatenate([value_of(layers, psi, rows.part(p), theta[p], u, share) for p in parts])


def placed(layers: Layers, psi: float, rows: Rows) -> tuple[Array, Array]:
    """(m, log s) and the bound of each row, each by a BFGS of its own from the best of many places."""
    parts = [_search(layers, psi, rows.part(slice(i, i + PIECE))) for i in range(0, len(rows.x), PIECE)]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _first(layers: Layers, psi: float, rows: Rows) -> tuple[Array, Array]:
    """The likeliest of a grid of places, and the spread that the slopes there leave."""
    q = layers[0][0].shape[0]
    Z = REACH * grid(SIDE[q], q)
    Y = output(layers, Z)
    seen = np.ones_like(rows.x) if rows.mask is None else rows.mask.astype(np.float64)
    worth = (rows.x @ Y.T - 0.5 * seen @ (Y**2).T) / psi - 0.5 * (Z**2).sum(axis=1)
    m = Z[worth.argmax(axis=1)]
    J = slopes(layers, m)
    s2 = 1.0 / (1.0 + np.einsum("nqd,nd->nq", J**2, seen) / psi)
    return np.hstack([m, 0.5 * np.log(s2)]), np.hstack([s2, np.full_like(s2, 0.5)])


def _search(layers: Layers, psi: float, rows: Rows) -> tuple[Array, Array]:
    """BFGS for all rows side by side, every row with a step and a curvature of its own."""
    theta, scale = _first(layers, psi, rows)
    q, ones = theta.shape[1] // 2, np.ones(len(theta))
    empty = cells(rows) == 0.0
    theta[empty] = 0.0  # the prior
    B = scale[:, :, None] * np.eye(2 * q)
    f = slopes_of(layers, psi, rows, theta, ones)
    value, slope = f.value, f.theta
    t, live = ones.copy(), ~empty
    for _ in range(PLACING):
        step = np.einsum("nij,nj->ni", B, slope)
        live &= (np.einsum("ni,ni->n", step, slope) > SETTLED**2) & (t > 1e-6)
        some = np.flatnonzero(live)
        if not len(some):
            break
        move = np.clip(t[some, None] * step[some], -1.0, 1.0)
        f = slopes_of(layers, psi, rows.part(some), theta[some] + move, ones[some])
        near = f.value > value[some] - 1e-9 * (1.0 + np.abs(value[some]))  # only rounding apart: slopes decide
        better = (f.value > value[some]) | (near & ((f.theta**2).sum(axis=1) < (slope[some] ** 2).sum(axis=1)))
        went, drop = some[better], slope[some] - f.theta
        t[some] = np.where(better, 1.0, 0.5 * t[some])
        B[went] = _curved(B[went], move[better], drop[better])
        theta[went] += move[better]
        value[went], slope[went] = f.value[better], f.theta[better]
    value[empty] = 0.0
    return theta, value


def _curved(B: Array, s: Array, y: Array) -> Array:
    """The BFGS update of inverse curvatures, left alone where the slope did not fall along the step."""
    sy = np.einsum("ni,ni->n", s, y)
    good = sy > 1e-10 * np.sqrt((s**2).sum(axis=1) * (y**2).sum(axis=1))
    r = np.where(good, 1.0 / np.where(good, sy, 1.0), 0.0)[:, None, None]
    A = np.eye(s.shape[1]) - r * s[:, :, None] * y[:, None]
    return np.asarray(A @ B @ A.transpose(0, 2, 1) + r * s[:, :, None] * s[:, None])
