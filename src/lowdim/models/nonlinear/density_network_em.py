"""What a density network is made of: units over latent points, its best output layer, its rows' own draws."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from lowdim.math.linalg import Array, lower
from lowdim.math.mlp import Layers, backward, forward, output, pack, slopes, squashed, steepness
from lowdim.models.base.results import Posterior
from lowdim.models.nonlinear.gtm_em import SheetSums, shares, solved
from lowdim.models.nonlinear.importance import Draws, Surface, Weighed, begun, draws, weighed
from lowdim.models.nonlinear.rbf_grid import Basis
from lowdim.sources.source import Block

RIDGE = 1e-10  # of the mean diagonal, at least: nodes that hold no row would leave the output weights open
HIDDEN_PRIOR = 1e-2  # precision of the hidden weights: keeps units from turning into steps
LATE, FORGET = 2.0, 0.6  # a batch counts (t + 2)^-0.6 at step t (Liang and Klein, 2009), but
EPOCH = 2.0  # so many times its share of the rows at least: what is older than an epoch says nothing new
OWN = 128  # rows with draws of their own worked on at a time: some ten thousand places with all their units


class Hidden(NamedTuple):
    """What the hidden layers say of latent points, and a constant; stands where a sheet has its bells."""

    layers: Layers
    unit: str = "tanh"

    def at(self, Z: Array) -> Array:
        """The units at points, n x (H + 1)."""
        return np.hstack([squashed(output(self.layers, Z, self.unit), self.unit), np.ones((len(Z), 1))])

    def slopes(self, Z: Array) -> Array:
        """Their derivatives by each coordinate, n x (H + 1) x L."""
        J = slopes(self.layers, Z, self.unit).transpose(0, 2, 1) * steepness(self.at(Z)[:, :-1, None], self.unit)
        return np.concatenate([J, np.zeros((len(Z), 1, Z.shape[1]))], axis=1)


class Net(NamedTuple):
    """Parameters, in the frame's units: nodes at W'phi(sample), phi units or bells; one noise variance."""

    grid: Array  # K x L, the latent sample
    layers: Layers  # the hidden ones; empty for bells
    centres: Array
    width: float
    W: Array  # (H + 1) x d
    psi: float
    prior: float  # precision of the output weights
    low: float  # the floor of psi
    unit: str = "tanh"
    draws: Array = np.zeros((0, 1))  # points of a cube behind each row's own places; none: the sample serves all rows
    widen: float = 1.0  # standard deviations of fills are multiplied by this

    @property
    def basis(self) -> Any:
        return Hidden(self.layers, self.unit) if self.layers else Basis(self.centres, self.width)

    @property
    def surface(self) -> Surface:
        """The cells of any place."""
        return Surface(
            lambda Z: self.basis.at(Z) @ self.W, lambda Z: self.basis.slopes(Z).transpose(0, 2, 1) @ self.W, self.psi
        )

    @property
    def nodes(self) -> Array:
        """Where the sample lies in the table's space, K x d."""
        return np.asarray(self.basis.at(self.grid) @ self.W)


# the best output layer ------------------------------------------------------------------------------------
class Fitted(NamedTuple):
    """Hidden layers with the best output weights for them."""

    said: list[Array]
    units: Array
    A: Array
    W: Array
    Y: Array


def fitted(layers: Layers, like: Net, stats: SheetSums) -> Fitted:
    """One regularised regression (one a column where cells are missing)."""
    said = forward(layers, like.grid, like.unit)
    units = squashed(said[-1].copy(), like.unit)
    Phi = np.hstack([units, np.ones((len(units), 1))])
    A = np.array([Phi.T @ (Phi * g[:, None]) for g in stats.G.T])
    size = float(np.trace(A, axis1=1, axis2=2).mean()) / Phi.shape[1]
    ridge = np.full(Phi.shape[1], max(like.psi * like.prior, RIDGE * size))
    ridge[-1] = 0.0
    W = solved(A + np.diag(ridge), Phi.T @ stats.RX)
    return Fitted(said, units, A, W, Phi @ W)


def expected(layers: Layers, W: Array, Y: Array, like: Net, stats: SheetSums) -> float:
    """What the M-step minimises: 1/(2 s2) sum_k g_k |y_k|^2 - 2 y_k' r_k, and the priors."""
    value = 0.5 * float((stats.G * Y**2).sum() - 2.0 * (Y * stats.RX).sum()) / like.psi
    return value + 0.5 * like.prior * float((W[:-1] ** 2).sum()) + 0.5 * HIDDEN_PRIOR * squares(layers)


def profile(layers: Layers, like: Net, stats: SheetSums) -> tuple[float, Array]:
    """The same at the best output weights, where its slope by them is zero; and its gradient by the hidden layers."""
    f = fitted(layers, like, stats)
    dY = (stats.G * f.Y - stats.RX) / like.psi
    found, _ = backward(layers, f.said, (dY @ f.W[:-1].T) * steepness(f.units, like.unit), like.unit)
    plain = pack(tuple((HIDDEN_PRIOR * V, 0.0 * b) for V, b in layers))
    return expected(layers, f.W, f.Y, like, stats), pack(found) + plain


def squares(layers: Layers) -> float:
    """Of the hidden weights, biases not counted."""
    return float(sum((W**2).sum() for W, _ in layers))


def blended(running: SheetSums, found: SheetSums, times: float, count: int) -> SheetSums:
    """Statistics of all rows, moved towards those of a batch that stands for `times` as many."""
    g = min(max((count + LATE) ** -FORGET, EPOCH / times), 1.0)
    return SheetSums(*((1.0 - g) * a + (g * times) * b for a, b in zip(running, found, strict=True)))


# a row's own draws ------------------------------------------------------------------------------------------
class Own(NamedTuple):
    """p(place | seen cells) of each row by draws of its own: their moments, and those of the cells they stand for."""

    mean: Array
    packed: Array
    log_density: Array
    error: Array  # standard error of the log density
    cells: Array
    var: Array
    z: Array  # n x K x L
    share: Array  # n x K

    def turned(self, T: Array) -> Posterior:
        return Posterior(self.mean, self.packed, self.log_density).turned(T)

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def proposed(params: Net, block: Block) -> tuple[Draws, Array, Array]:
    """Draws of each row's own, the cells, and 1 where they are seen."""
    seen = np.ones_like(block.x) if block.mask is None else block.mask.astype(np.float64)
    R, _ = shares(block.x, block.mask, params.nodes, params.psi)
    first = begun(np.log(R), params.grid)
    return draws(params.surface, block.x, seen, first, params.draws), block.x, seen


def places(params: Net, block: Block) -> Own:
    """What its draws say of each row; a row without cells has the prior."""
    given, x, seen = proposed(params, block)
    f: Weighed = weighed(params.surface, x, seen, given)
    empty, (i, j) = seen.sum(axis=1) == 0.0, lower(given.z.shape[2])
    mean = np.einsum("nk,nkl->nl", f.share, given.z)
    off = given.z - mean[:, None]
    packed = np.einsum("nk,nkl->nl", f.share, off[:, :, i] * off[:, :, j])
    mean[empty], packed[empty] = 0.0, np.where(i == j, 1.0, 0.0)
    Y = params.surface.at(given.z.reshape(-1, mean.shape[1])).reshape(*f.share.shape, -1)
    cells = np.einsum("nk,nkd->nd", f.share, Y)
    var = np.einsum("nk,nkd->nd", f.share, (Y - cells[:, None]) ** 2)
    return Own(
        mean, packed, np.where(empty, 0.0, f.log_density), np.where(empty, 0.0, f.error), cells, var, given.z, f.share
    )


def pulled(at: Net, params: Net, block: Block) -> Array:
    """The sum of log densities by draws made at `at`, and its slopes by layers, output weights and log psi."""
    given, x, seen = proposed(at, block)
    f = weighed(params.surface, x, seen, given)
    w = np.ones(block.rows) if block.weight is None else block.weight
    share = f.share * w[:, None]
    dY = (f.R * (share / params.psi)[:, :, None]).reshape(share.size, -1)
    Z = given.z.reshape(len(dY), -1)
    Phi, by = params.basis.at(Z), np.empty(0)
    if params.layers:
        up = (dY @ params.W[:-1].T) * steepness(Phi[:, :-1], params.unit)
        by = pack(backward(params.layers, forward(params.layers, Z, params.unit), up, params.unit)[0])
    off = (f.R**2).sum(axis=2) / params.psi - seen.sum(axis=1)[:, None]
    return np.concatenate([[w @ f.log_density], by, (Phi.T @ dY).ravel(), [0.5 * (share * off).sum()]])
