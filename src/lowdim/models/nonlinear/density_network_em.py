"""A density network's parameters, and its M-step: hidden layers with the best output layer for them."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from lowdim.maths.linalg import Array
from lowdim.models.nonlinear.gtm import RBFBasis, least_squares, solve_columns
from lowdim.models.nonlinear.mlp import (
    Layers,
    activate,
    activation_slope,
    backward,
    forward,
    jacobian,
    output,
    pack_layers,
    pack_weights,
)
from lowdim.models.nonlinear.node_model import LEAST_CURVATURE, NodeSums, node_slopes, weight_root

STRONG_RIDGE = 1e-10  # of the mean diagonal: with less, normal equations lose the digits that the hidden layers need
LEAST_RIDGE = 1e-16  # of the same: nodes that hold no row would leave the output weights open
HIDDEN_PRIOR = 1e-2  # precision of the hidden weights: keeps units from turning into steps
DAMPING = 3e-2  # of each hidden weight's own curvature: what Gauss and Newton leave out of it
BATCH_DELAY, BATCH_DECAY = 2.0, 0.6  # a batch counts (t + 2)^-0.6 at step t (Liang and Klein, Online EM, 2009), but
BATCH_SHARE = 2.0  # so many times its share of the rows at least: what is older than an epoch has no news


class HiddenLayers(NamedTuple):
    """The units of the last hidden layer as functions of latent points, and a constant."""

    layers: Layers
    activation: str = "tanh"

    def at(self, Z: Array) -> Array:
        """The units at points, n x (H + 1)."""
        units = activate(output(self.layers, Z, self.activation), self.activation)
        return np.hstack([units, np.ones((len(Z), 1))])

    def slopes(self, Z: Array) -> Array:
        """Their derivatives by each coordinate, n x (H + 1) x L."""
        slope = activation_slope(self.at(Z)[:, :-1, None], self.activation)
        J = jacobian(self.layers, Z, self.activation).transpose(0, 2, 1) * slope
        return np.concatenate([J, np.zeros((len(Z), 1, Z.shape[1]))], axis=1)


class DensityNetworkParams(NamedTuple):
    """Parameters, in the frame's units: nodes at W'phi(sample), phi units or bells; one noise variance."""

    grid: Array  # K x L, the latent sample
    layers: Layers  # the hidden ones; empty for bells
    centres: Array
    width: float
    W: Array  # (H + 1) x d
    psi: float
    prior: float  # precision of the output weights
    low: float  # the floor of psi
    activation: str = "tanh"
    cube: Array = np.zeros((0, 1))  # points of a cube behind the draws of each row; none: the sample serves all rows
    inflation: float = 1.0  # what standard deviations of fills are multiplied by

    @property
    def basis(self) -> HiddenLayers | RBFBasis:
        return HiddenLayers(self.layers, self.activation) if self.layers else RBFBasis(self.centres, self.width)

    @property
    def nodes(self) -> Array:
        """Where the sample lies in the table's space, K x d."""
        return self.basis.at(self.grid) @ self.W


class DrawsPosterior(NamedTuple):
    """p(place | seen cells) by draws made for each row: moments of the place and of its cells."""

    mean: Array
    packed: Array
    log_density: Array
    error: Array  # standard error of the log density
    cells: Array
    var: Array
    z: Array  # n x K x L
    share: Array  # n x K

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))


class OutputLayer(NamedTuple):
    """Hidden layers with the best output weights for them."""

    activations: list[Array]  # layer by layer, the last before its units
    units: Array  # K x H
    A: Array  # normal matrices
    W: Array
    Y: Array  # the nodes


def best_output_layer(layers: Layers, like: DensityNetworkParams, stats: NodeSums) -> OutputLayer:
    """One regularised regression (one a column where cells are missing); by normal equations under a strong ridge."""
    activations = forward(layers, like.grid, like.activation)
    units = activate(activations[-1].copy(), like.activation)
    Phi = np.hstack([units, np.ones((len(units), 1))])
    A = np.array([Phi.T @ (Phi * g[:, None]) for g in stats.G.T])  # of every column, as in `regression_step`
    size = float(np.trace(A, axis1=1, axis2=2).mean()) / Phi.shape[1]
    ridge = np.full(Phi.shape[1], max(like.psi * like.prior, LEAST_RIDGE * size))
    ridge[-1] = 0.0
    if like.psi * like.prior >= STRONG_RIDGE * size:
        W = solve_columns(A + np.diag(ridge), Phi.T @ stats.RX)
    else:
        W = least_squares(Phi, stats, ridge, None)
    return OutputLayer(activations, units, A, W, Phi @ W)


def m_step_loss(layers: Layers, W: Array, Y: Array, like: DensityNetworkParams, stats: NodeSums) -> float:
    """What the M-step minimises: 1/(2 s2) sum_k g_k |y_k|^2 - 2 y_k' r_k, and the priors."""
    value = 0.5 * float((stats.G * Y**2).sum() - 2.0 * (Y * stats.RX).sum()) / like.psi
    return value + 0.5 * like.prior * float((W[:-1] ** 2).sum()) + 0.5 * HIDDEN_PRIOR * squared_weights(layers)


def profile_loss(layers: Layers, like: DensityNetworkParams, stats: NodeSums) -> tuple[float, Array]:
    """The loss at the best output weights, where its slope by them is zero; its gradient by the hidden layers."""
    f = best_output_layer(layers, like, stats)
    # by the nodes, by the units of the last layer, and so back
    dY = (stats.G * f.Y - stats.RX) / like.psi
    dH = (dY @ f.W[:-1].T) * activation_slope(f.units, like.activation)
    gradient, _ = backward(layers, f.activations, dH, like.activation)
    return m_step_loss(layers, f.W, f.Y, like, stats), pack_layers(gradient) + hidden_shrinkage(layers)


def hidden_slopes(params: DensityNetworkParams, stats: NodeSums) -> Array:
    """The slope of the log posterior by the hidden layers, the output layer staying as it is."""
    activations = forward(params.layers, params.grid, params.activation)
    units = activate(activations[-1].copy(), params.activation)
    dH = (node_slopes(params, stats) @ params.W[:-1].T) * activation_slope(units, params.activation)
    by_layers, _ = backward(params.layers, activations, dH, params.activation)
    return pack_layers(by_layers) - hidden_shrinkage(params.layers)


class HiddenSteps(NamedTuple):
    """Units of the hidden weights, and how the output layer follows a step of them."""

    root: Array  # P x P, F with F F' their inverse curvature
    along: Array  # r x (H + 1) x P, the output weights' answer in the axes
    axes: Array  # d x r

    def follow(self, step: Array) -> Array:
        """The step of the output weights, (H + 1) x d."""
        return -(self.along @ step).T @ self.axes.T


def hidden_steps(params: DensityNetworkParams, stats: NodeSums) -> HiddenSteps:
    """Gauss and Newton's curvature of the hidden weights, the best output weights following (Schur's complement)."""
    layers, activations = params.layers, forward(params.layers, params.grid, params.activation)
    units = activate(activations[-1].copy(), params.activation)
    # The slopes of the nodes by every hidden weight, layer by layer from the last.
    axes, R = np.linalg.qr(params.W[:-1].T)  # nodes move within as many axes as there are units
    slopes = activation_slope(units, params.activation)[:, None] * R  # K x r x H
    parts = []  # slopes of the nodes by each layer's weights and biases, K x r x P
    for k in range(len(layers) - 1, -1, -1):
        by_W = activations[k][:, None, :, None] * slopes[:, :, None]
        parts.append(np.concatenate([by_W.reshape(*slopes.shape[:2], -1), slopes], axis=2))
        if k:
            slopes = (slopes @ layers[k][0].T) * activation_slope(activations[k], params.activation)[:, None]
    J = np.concatenate(parts[::-1], axis=2)
    # J'GJ / s2, less what the output weights take over when they follow; then the prior and some damping.
    root = weight_root(params, stats)
    GJ = (stats.G.mean(axis=1) / params.psi)[:, None, None] * J
    B = np.hstack([units, np.ones((len(units), 1))]) @ root
    C = np.tensordot(B, GJ, axes=((0,), (0,))).transpose(1, 0, 2)  # r x (H + 1) x P
    H = np.tensordot(J, GJ, axes=((0, 1), (0, 1))) - np.tensordot(C, C, axes=((0, 1), (0, 1)))
    shrunk = pack_weights(tuple((np.ones_like(W), b) for W, b in layers))
    H[np.diag_indices(len(H))] += HIDDEN_PRIOR * shrunk
    H[np.diag_indices(len(H))] *= 1.0 + DAMPING
    values, U = np.linalg.eigh(H)
    return HiddenSteps(U / np.sqrt(np.maximum(values, LEAST_CURVATURE * values[-1])), root @ C, axes)


def in_few_columns(stats: NodeSums) -> NodeSums:
    """The same losses of a wide table without gaps: they know its columns by the products of RX' alone."""
    K, d = stats.RX.shape
    if d <= K or stats.G.shape[1] > 1:
        return stats
    return stats._replace(RX=np.ascontiguousarray(np.asarray(np.linalg.qr(stats.RX.T, mode="r")).T))


def squared_weights(layers: Layers) -> float:
    """Sum of squares of the hidden weights, biases not counted."""
    return float(sum((W**2).sum() for W, _ in layers))


def hidden_shrinkage(layers: Layers) -> Array:
    """The gradient of the hidden weights' prior, as a packed vector."""
    return HIDDEN_PRIOR * pack_weights(layers)


def blend_sums(running: NodeSums, batch: NodeSums, times: float, count: int) -> NodeSums:
    """Statistics of all rows, moved towards those of a batch that stands for `times` as many."""
    g = min(max((count + BATCH_DELAY) ** -BATCH_DECAY, BATCH_SHARE / times), 1.0)
    return NodeSums(*((1.0 - g) * a + (g * times) * b for a, b in zip(running, batch, strict=True)))
