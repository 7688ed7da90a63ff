"""The evidence bound of nonlinear factor analysis, its gradient, and the search for a row's place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import Array, Mask
from lowdim.models.nonlinear.gtm import latent_grid
from lowdim.models.nonlinear.mlp import (
    Layer,
    Layers,
    backward,
    forward,
    hidden_activations,
    hidden_backward,
    jacobian,
    output,
    pack_layers,
    pack_weights,
    unpack_layers,
)

HERMITE_POINTS = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0])  # of Gauss-Hermite's rule: exact to the fifth power
HERMITE_SHARES = np.array([1.0, 4.0, 1.0]) / 6.0
ROWS_A_PIECE = 64  # rows at a time: their nine points each stay near the cache
SEARCH_SIDE = {1: 301, 2: 61, 3: 15, 4: 7, 5: 5}  # places a side tried first for a new row, over +- SEARCH_REACH
SEARCH_REACH = 3.0
SEARCH_STEPS = 100  # of a row's own search
SEARCH_SLOPE = 1e-11  # slope, in units of the row's own curvature, at which that ends
NETWORK_NOISE_FLOOR = 1e-8  # of the mean variance: below it the network passes through the rows


class Network(NamedTuple):
    """A perceptron from factors to cells, or from cells to (m, log s); without layers where there is none."""

    layers: Layers
    activation: str = "tanh"

    @property
    def inputs(self) -> int:
        return len(self.layers[0][0])

    def output(self, X: Array) -> Array:
        return output(self.layers, X, self.activation)

    def forward(self, X: Array) -> list[Array]:
        return forward(self.layers, X, self.activation)

    def backward(self, activations: list[Array], dY: Array) -> tuple[Layers, Array]:
        return backward(self.layers, activations, dY, self.activation)

    def at(self, v: Array) -> Network:
        """The same network with the weights of a vector."""
        return self._replace(layers=unpack_layers(v, self.layers))


class CellRows(NamedTuple):
    """Cells less the mean, in the network's units; 0 and False at gaps."""

    x: Array
    mask: Mask | None
    axes: Array | None = None  # in which x has the coordinates of complete rows; none: in their cells

    def part(self, rows: Any) -> CellRows:
        return self._replace(x=self.x[rows], mask=None if self.mask is None else self.mask[rows])

    @property
    def counts(self) -> Array:
        """How many cells each row has."""
        if self.mask is None:
            return np.full(len(self.x), float((self.x if self.axes is None else self.axes).shape[1]))
        return np.asarray(self.mask.sum(axis=1), dtype=np.float64)


def pieces(n: int) -> list[slice]:
    """Rows a few at a time."""
    return [slice(i, i + ROWS_A_PIECE) for i in range(0, n, ROWS_A_PIECE)]


def hermite_points(q: int) -> tuple[Array, Array]:
    """Gauss-Hermite points of a standard normal in q dimensions, and their shares."""
    each = np.stack(np.meshgrid(*[np.arange(3)] * q, indexing="ij"), axis=-1).reshape(-1, q)
    return HERMITE_POINTS[each], HERMITE_SHARES[each].prod(axis=1)


def bounds_by_points(net: Network, psi: float, rows: CellRows, theta: Array, u: Array, share: Array) -> Array:
    """The bound of each row by the given points u of a standard normal and their shares."""
    n, q = len(theta), theta.shape[1] // 2
    m, logs = theta[:, :q], theta[:, q:]
    z = m[:, None] + np.exp(logs)[:, None] * u
    R = net.output(z.reshape(-1, q)).reshape(n, len(share), -1) - rows.x[:, None]
    if rows.mask is not None:
        R *= rows.mask[:, None]
    return np.asarray(-0.5 / psi * ((R**2).sum(axis=2) @ share) + _without_squares(rows, psi, m, logs))


def _without_squares(rows: CellRows, psi: float, m: Array, logs: Array) -> Array:
    """What the bound has beside the squares: the noise's size, less the divergence from the prior."""
    return np.asarray(
        -0.5 * rows.counts * (LOG_TWO_PI + np.log(psi))
        - 0.5 * (m**2 + np.exp(2.0 * logs) - 2.0 * logs - 1.0).sum(axis=1)
    )


class BoundGradients(NamedTuple):
    """The bound of each row, and its gradients: by m and log s of the row, by the network, by log psi."""

    value: Array
    theta: Array
    layers: Layers
    log_psi: float


def bound_gradients(net: Network, psi: float, rows: CellRows, theta: Array, w: Array) -> BoundGradients:
    """The bound by Gauss-Hermite points, and its gradients; those of what rows share are summed with weights w."""
    n, q = len(theta), theta.shape[1] // 2
    u, share = hermite_points(q)
    m, logs = theta[:, :q], theta[:, q:]
    s = np.exp(logs)
    # The network at the points of each row's posterior, m + s u, and the expected squared error there.
    activations = hidden_activations(net.layers, (m + u[:, None] * s).reshape(-1, q), net.activation)
    W = net.layers[-1][0]
    A = activations[-1].reshape(len(u), n, -1)  # points first: what a row's points share is then one long walk
    of_squares = _squares_by_products if rows.mask is None and len(W) < W.shape[1] else _squares_by_residuals
    square, dA, by_output = of_squares(net.layers[-1], A, rows, share, w / psi)
    # Back through the network to the points, and from these to m and log s, less the divergence's share.
    by_hidden, dZ = hidden_backward(net.layers, activations, dA.reshape(len(u) * n, -1), net.activation)
    dZ = dZ.reshape(len(u), n, q)
    by_m = dZ.sum(axis=0) - w[:, None] * m
    by_logs = s * np.einsum("jnq,jq->nq", dZ, u) - w[:, None] * (s**2 - 1.0)
    value = -0.5 / psi * square + _without_squares(rows, psi, m, logs)
    by_log_psi = float(w @ (0.5 * square / psi - 0.5 * rows.counts))
    return BoundGradients(value, np.hstack([by_m, by_logs]), (*by_hidden, by_output), by_log_psi)


def _squares_by_residuals(last: Layer, A: Array, rows: CellRows, share: Array, c: Array) -> tuple[Array, Array, Layer]:
    """Mean squared error of each row, and the gradients of -c/2 times it by units A and by the last layer."""
    (points, n, units), (W, b) = A.shape, last
    flat = A.reshape(points * n, units)
    R = rows.x - (flat @ W + b).reshape(points, n, -1)
    if rows.mask is not None:
        R *= rows.mask
    square = share @ np.einsum("jnd,jnd->jn", R, R)
    R *= _point_weights(share, c)
    dY = R.reshape(points * n, -1)
    return square, dY @ W.T, (flat.T @ dY, dY.sum(axis=0))


def _squares_by_products(last: Layer, A: Array, rows: CellRows, share: Array, c: Array) -> tuple[Array, Array, Layer]:
    """The same of complete rows with more cells than units: |x - b - W'a|^2 multiplied out, no cell at every point."""
    (points, n, units), (W, b) = A.shape, last
    E = rows.x - b
    P, middle = E @ W.T, (share @ A.reshape(points, n * units)).reshape(n, units)
    D = P - (A.reshape(points * n, units) @ (W @ W.T)).reshape(A.shape)
    square = (E**2).sum(axis=1) - (middle * P).sum(axis=1) - share @ np.einsum("jnh,jnh->jn", A, D)
    weights = _point_weights(share, c)
    D *= weights
    middle *= c[:, None]
    AA = (A * weights).reshape(points * n, units).T @ A.reshape(points * n, units)
    return square, D, (middle.T @ E - AA @ W, c @ E - middle.sum(axis=0) @ W)


def _point_weights(share: Array, c: Array) -> Array:
    """What each point of each row counts; the same for all rows where that is so, which is quicker."""
    return share[:, None, None] * (c[0] if (c == c[0]).all() else c[:, None])


class NonlinearFABound(NamedTuple):
    """The bound of a table with the weights' prior, as a function of one vector: network, log psi, and the posteriors.

    These are every row's m and log s, or the weights of an encoder that gives them from a row's cells (and, where
    any are missing, which are there).
    """

    net: Network
    encoder: Network  # without layers where every row has parameters of its own
    rows: CellRows
    w: Array
    prior: float

    @property
    def weights(self) -> int:
        return len(pack_layers(self.net.layers))

    def psi(self, v: Array) -> float:
        return float(np.exp(np.clip(v[self.weights], np.log(NETWORK_NOISE_FLOOR), 10.0)))

    def theta(self, v: Array) -> Array:
        """(m, log s) of each row, where these are parameters."""
        return np.hstack(tuple(v[self.weights + 1 :].reshape(2, len(self.rows.x), -1) / np.sqrt(self.w)[:, None]))

    def row_parameters(self, theta: Array) -> Array:
        """The vector's part for rows with parameters of their own.

        They stand there times the root of a row's weight: descent then goes as if the row were there so many times.
        """
        unit, q = np.sqrt(self.w)[:, None], theta.shape[1] // 2
        return np.append((theta[:, :q] * unit).ravel(), (theta[:, q:] * unit).ravel())

    def value_and_grad(self, v: Array) -> tuple[float, Array]:
        """The bound with the prior, and its gradient."""
        net, encoder, psi = self.net.at(v), self.encoder.at(v[self.weights + 1 :]), self.psi(v)
        gradient = np.zeros_like(v)
        by_net, by_psi, by_rest = np.split(gradient, [self.weights, self.weights + 1])  # views
        total, theta = 0.0, np.empty(0) if encoder.layers else self.theta(v)
        for rows in pieces(len(self.rows.x)):
            part, w = self.rows.part(rows), self.w[rows]
            activations = encoder.forward(encoder_input(part, encoder)) if encoder.layers else [theta[rows]]
            f = bound_gradients(net, psi, part, activations[-1], w)
            total += float(w @ f.value)
            by_net += pack_layers(f.layers)
            by_psi += f.log_psi
            if encoder.layers:
                by_rest += pack_layers(encoder.backward(activations, f.theta)[0])
            else:
                q, unit = f.theta.shape[1] // 2, np.sqrt(w)[:, None]
                by_rest.reshape(2, -1, q)[:, rows] = f.theta[:, :q] / unit, f.theta[:, q:] / unit
        if not np.log(NETWORK_NOISE_FLOOR) <= v[self.weights] <= 10.0:
            by_psi[:] = 0.0
        W, V = pack_weights(net.layers), pack_weights(encoder.layers)
        by_net -= self.prior * W
        if encoder.layers:
            by_rest -= self.prior * V
        return total - 0.5 * self.prior * float(W @ W + V @ V), gradient


def encoder_input(rows: CellRows, encoder: Network) -> Array:
    """What an encoder gets of rows: the cells and, if it was made for gaps, which are seen."""
    if encoder.inputs == rows.x.shape[1]:
        return rows.x
    return np.hstack([rows.x, np.ones_like(rows.x) if rows.mask is None else rows.mask])


def regression_loss(like: Network, rows: CellRows, w: Array, m: Array, prior: float, v: Array) -> tuple[float, Array]:
    """Half the squared error of the network at given places, with the weights' prior; and its gradient."""
    net = like.at(v)
    activations = net.forward(m)
    R = activations[-1] - rows.x
    if rows.mask is not None:
        R *= rows.mask
    gradient, _ = net.backward(activations, R * w[:, None])
    weights = pack_weights(net.layers)
    value = 0.5 * float(w @ (R**2).sum(axis=1)) + 0.5e-2 * prior * float(weights @ weights)
    return value, pack_layers(gradient) + 1e-2 * prior * weights


# new rows -------------------------------------------------------------------------------------------------
def encode(net: Network, encoder: Network, psi: float, rows: CellRows) -> tuple[Array, Array]:
    """(m, log s) and the bound of each row by an encoder; a row without cells has the prior."""
    theta = encoder.output(encoder_input(rows, encoder))
    theta[rows.counts == 0.0] = 0.0
    u, share = hermite_points(theta.shape[1] // 2)
    bounds = [bounds_by_points(net, psi, rows.part(p), theta[p], u, share) for p in pieces(len(theta))]
    return theta, np.concatenate(bounds)


def search_places(net: Network, psi: float, rows: CellRows) -> tuple[Array, Array]:
    """(m, log s) and the bound of each row, each by a BFGS of its own from the best of many places."""
    parts = [_search(net, psi, rows.part(p)) for p in pieces(len(rows.x))]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _first_places(net: Network, psi: float, rows: CellRows) -> tuple[Array, Array]:
    """(m, log s) at the likeliest of a grid of places, and first inverse curvatures."""
    q = net.inputs
    Z = SEARCH_REACH * latent_grid(SEARCH_SIDE[q], q)
    Y = net.output(Z)
    seen = np.ones_like(rows.x) if rows.mask is None else rows.mask.astype(np.float64)
    log_joint = (rows.x @ Y.T - 0.5 * seen @ (Y**2).T) / psi - 0.5 * (Z**2).sum(axis=1)
    m = Z[log_joint.argmax(axis=1)]
    J = jacobian(net.layers, m, net.activation)
    s2 = 1.0 / (1.0 + np.einsum("nqd,nd->nq", J**2, seen) / psi)
    return np.hstack([m, 0.5 * np.log(s2)]), np.hstack([s2, np.full_like(s2, 0.5)])


def _search(net: Network, psi: float, rows: CellRows) -> tuple[Array, Array]:
    """BFGS for all rows side by side, every row with a step and a curvature of its own."""
    theta, scale = _first_places(net, psi, rows)
    q, ones = theta.shape[1] // 2, np.ones(len(theta))
    empty = rows.counts == 0.0
    theta[empty] = 0.0  # the prior
    B = scale[:, :, None] * np.eye(2 * q)
    f = bound_gradients(net, psi, rows, theta, ones)
    value, slope = f.value, f.theta
    t, live = ones.copy(), ~empty
    for _ in range(SEARCH_STEPS):
        # each row's own quasi-Newton step, half as long where the last one did not climb
        step = np.einsum("nij,nj->ni", B, slope)
        live &= (np.einsum("ni,ni->n", step, slope) > SEARCH_SLOPE**2) & (t > 1e-6)
        active = np.flatnonzero(live)
        if not len(active):
            break
        move = np.clip(t[active, None] * step[active], -1.0, 1.0)
        f = bound_gradients(net, psi, rows.part(active), theta[active] + move, ones[active])
        near = f.value > value[active] - 1e-9 * (1.0 + np.abs(value[active]))  # only rounding apart: slopes decide
        flatter = (f.theta**2).sum(axis=1) < (slope[active] ** 2).sum(axis=1)
        better = (f.value > value[active]) | (near & flatter)
        moved, drop = active[better], slope[active] - f.theta
        t[active] = np.where(better, 1.0, 0.5 * t[active])
        B[moved] = _bfgs_update(B[moved], move[better], drop[better])
        theta[moved] += move[better]
        value[moved], slope[moved] = f.value[better], f.theta[better]
    value[empty] = 0.0
    return theta, value


def _bfgs_update(B: Array, s: Array, y: Array) -> Array:
    """The BFGS update of inverse curvatures, left alone where the slope did not fall along the step."""
    sy = np.einsum("ni,ni->n", s, y)
    good = sy > 1e-10 * np.sqrt((s**2).sum(axis=1) * (y**2).sum(axis=1))
    r = np.where(good, 1.0 / np.where(good, sy, 1.0), 0.0)[:, None, None]
    A = np.eye(s.shape[1]) - r * s[:, :, None] * y[:, None]
    return np.asarray(A @ B @ A.transpose(0, 2, 1) + r * s[:, :, None] * s[:, None])
