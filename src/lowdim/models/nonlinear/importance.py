"""Importance sampling of latent places: draws for each row, from Gaussians at its modes and from the prior."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from lowdim.engine.fit import Fit, Monitor
from lowdim.engine.fold import Run, fold, one_blas_thread
from lowdim.engine.statistics import Sum
from lowdim.maths.gaussian import LOG_TWO_PI
from lowdim.maths.linalg import Array, lower
from lowdim.maths.optimise import climb
from lowdim.maths.pairs import squared_distances
from lowdim.maths.seeds import DENSITY_NETWORK_ROUND
from lowdim.models.nonlinear.density_network_em import (
    HIDDEN_PRIOR,
    DensityNetworkParams,
    DrawsPosterior,
    hidden_shrinkage,
    squared_weights,
)
from lowdim.models.nonlinear.mlp import activation_slope, backward, forward, pack_layers
from lowdim.models.nonlinear.node_model import NODE_NOISE_FLOOR, node_responsibilities
from lowdim.sources.source import Block, Source

if TYPE_CHECKING:
    from lowdim.models.nonlinear.density_network import DensityNetwork

MODES_PER_ROW = 4  # Gaussians of a proposal, begun at likely points of the shared sample
MODE_SPACING = 0.7  # standard deviations of the prior between these, where the sample has points so far from each other
PRIOR_SHARE = 0.1  # of the draws are the prior's: no weight exceeds ten times p(x | z) (Owen and Zhou, 2000)
MASS_SHARE = 0.8  # of the rest goes to the modes by the mass they seem to hold, the remainder evenly
MODE_STEPS = 6  # of Gauss and Newton towards a mode; a proposal need not be exact
ROWS_WITH_DRAWS = 128  # worked on at a time: some ten thousand places with all their units
STEPS_A_ROUND = 20  # of L-BFGS before rows draw anew
ROUND_GAIN, ROUND_PATIENCE = 5e-3, 5  # nats a row; the climb ends when so many rounds gained no more
STEP_GAIN = 1e-6  # nats: a step of L-BFGS that gains less ends its round
PROPOSAL_VARIANCE = 2.0  # times the curvature's variance: a proposal must not have the lighter tails


class LatentSurface(NamedTuple):
    """The cells that places stand for, and their slopes, points x L x d; with noise variance psi."""

    at: Callable[[Array], Array]
    slopes: Callable[[Array], Array]
    psi: float


class RowDraws(NamedTuple):
    """Latent places drawn for each row from its proposal q, and the prior over the proposal there."""

    z: Array  # n x K x L
    log_ratio: Array  # n x K, log p(z) / q(z)


class WeightedDraws(NamedTuple):
    """The share of each draw in its row, what the row lies off its cells there, and the row's log density."""

    share: Array  # n x K
    R: Array  # n x K x d, 0 at gaps
    log_density: Array
    error: Array  # its standard error


def mode_starts(log_share: Array, points: Array) -> Array:
    """The likeliest of points for each row, each far from those before, n x MODES_PER_ROW x L."""
    near = squared_distances(points, points) < MODE_SPACING**2
    starts, log_share = np.empty((len(log_share), MODES_PER_ROW, points.shape[1])), log_share.copy()
    for k in range(MODES_PER_ROW):
        best = log_share.argmax(axis=1)
        starts[:, k] = points[best]
        log_share[near[best]] -= 1e6  # those near come again when there is no other
    return starts


def low_discrepancy(K: int, L: int, rng: np.random.Generator) -> Array:
    """K points evenly spread over the unit cube of L dimensions, shifted by one drawn amount: each is uniform.

    Multiples of the powers of 1 / g, g^(L + 1) = g + 1, modulo 1: a sequence of low discrepancy.
    """
    g = 2.0
    for _ in range(60):
        g = (1.0 + g) ** (1.0 / (L + 1))
    points = np.outer(np.arange(K), g ** -np.arange(1.0, L + 1)) + rng.random(L)
    return np.clip(points % 1.0, 1e-12, 1.0 - 1e-12)


def modes(surface: LatentSurface, x: Array, seen: Array, Z: Array) -> tuple[Array, Array, Array]:
    """Where p(cells, z) is highest near each point, by damped Gauss-Newton steps; the curvature there, and how high."""
    eye = np.eye(Z.shape[1])

    def log_joint(Z: Array) -> tuple[Array, Array]:
        R = (x - surface.at(Z)) * seen
        return -0.5 * (R**2).sum(axis=1) / surface.psi - 0.5 * (Z**2).sum(axis=1), R

    def curvature(Z: Array) -> tuple[Array, Array]:
        J = surface.slopes(Z) * seen[:, None]
        return J, eye + J @ J.transpose(0, 2, 1) / surface.psi

    (best, R), (J, A), damp = log_joint(Z), curvature(Z), np.full(len(Z), 1e-3)
    for _ in range(MODE_STEPS):
        # Gauss and Newton's step, damped more where the last one did not climb (Levenberg and Marquardt)
        slope = np.einsum("nld,nd->nl", J, R) / surface.psi - Z
        there = Z + np.linalg.solve(A * (1.0 + damp[:, None, None] * eye), slope[:, :, None])[:, :, 0]
        value, residual = log_joint(there)
        good = value > best
        damp = np.where(good, 0.1 * damp, 10.0 * damp)
        Z, R = np.where(good[:, None], there, Z), np.where(good[:, None], residual, R)
        best = np.where(good, value, best)
        J, A = curvature(Z)
    return Z, A, best


def propose(surface: LatentSurface, x: Array, seen: Array, first: Array, u: Array) -> RowDraws:
    """Draws of each row from Gaussians at its modes and the prior; `first` is n x M x L.

    u, K x (L + 1) points of the unit cube, are the same for every row: the last coordinate says which Gaussian, each
    by the mass it seems to hold.
    """
    (n, M, L), rows = first.shape, np.arange(len(first))[:, None]
    # A Gaussian at each mode, wider than the curvature says, and the prior.
    m, A, peak = modes(surface, np.repeat(x, M, axis=0), np.repeat(seen, M, axis=0), first.reshape(-1, L))
    root = np.linalg.cholesky(A).reshape(n, M, L, L)
    root = np.concatenate([np.tile(np.eye(L), (n, 1, 1, 1)), root / np.sqrt(PROPOSAL_VARIANCE)], axis=1)
    size = np.log(np.diagonal(root, axis1=2, axis2=3)).sum(axis=2)
    m = np.concatenate([np.zeros((n, 1, L)), m.reshape(n, M, L)], axis=1)
    # How many of the draws each gets: by the mass it seems to hold, and some at least.
    mass = peak.reshape(n, M) - size[:, 1:]
    mass = np.exp(mass - mass.max(axis=1, keepdims=True))
    share = MASS_SHARE * mass / mass.sum(axis=1, keepdims=True) + (1.0 - MASS_SHARE) / M
    share = np.concatenate([np.full((n, 1), PRIOR_SHARE), (1.0 - PRIOR_SHARE) * share], axis=1)
    # The draws, and their density under the mixture of them all.
    which = (u[:, -1] > np.cumsum(share, axis=1)[:, :-1, None]).sum(axis=1)
    step = np.linalg.solve(root.transpose(0, 1, 3, 2)[rows, which], ndtri(u[:, :-1])[None, :, :, None])[..., 0]
    z = m[rows, which] + step
    parts = [
        np.log(share[:, k, None]) + size[:, k, None] - 0.5 * (((z - m[:, k, None]) @ root[:, k]) ** 2).sum(axis=2)
        for k in range(M + 1)
    ]
    return RowDraws(z, -0.5 * (z**2).sum(axis=2) - np.logaddexp.reduce(parts, axis=0))


def weigh_draws(surface: LatentSurface, x: Array, seen: Array, draws: RowDraws) -> WeightedDraws:
    """p(cells) of each row estimated without bias: the mean of p(cells | z) p(z) / q(z) over its draws.

    The error is that of independent draws; evenly spread ones are better.
    """
    n, K, L = draws.z.shape
    R = (x[:, None] - surface.at(draws.z.reshape(-1, L)).reshape(n, K, -1)) * seen[:, None]
    log_w = draws.log_ratio - 0.5 * (R**2).sum(axis=2) / surface.psi
    top = log_w.max(axis=1, keepdims=True)
    w = np.exp(log_w - top)
    total, count = w.sum(axis=1), seen.sum(axis=1)
    log_density = np.log(total / K) + top[:, 0] - 0.5 * count * (LOG_TWO_PI + np.log(surface.psi))
    return WeightedDraws(w / total[:, None], R, log_density, w.std(axis=1) * np.sqrt(K) / total)


# of a density network -------------------------------------------------------------------------------------
def surface_of(params: DensityNetworkParams) -> LatentSurface:
    """The cells of any latent place."""
    basis, W = params.basis, params.W
    return LatentSurface(lambda Z: basis.at(Z) @ W, lambda Z: basis.slopes(Z).transpose(0, 2, 1) @ W, params.psi)


def row_draws(params: DensityNetworkParams, block: Block) -> tuple[RowDraws, Array]:
    """Draws for each row, and 1 where its cells are seen."""
    seen = np.ones_like(block.x) if block.mask is None else block.mask.astype(np.float64)
    R, _ = node_responsibilities(block.x, block.mask, params.nodes, params.psi)
    first = mode_starts(np.log(R), params.grid)
    return propose(surface_of(params), block.x, seen, first, params.cube), seen


def draws_posterior(params: DensityNetworkParams, block: Block) -> DrawsPosterior:
    """The posterior of each row by its draws, a few rows at a time."""
    return DrawsPosterior.joined([_draws_posterior(params, piece) for piece in block.tiles(ROWS_WITH_DRAWS)])


def _draws_posterior(params: DensityNetworkParams, block: Block) -> DrawsPosterior:
    """A row without cells has the prior."""
    draws, seen = row_draws(params, block)
    surface = surface_of(params)
    f = weigh_draws(surface, block.x, seen, draws)
    empty, (i, j) = seen.sum(axis=1) == 0.0, lower(draws.z.shape[2])
    mean = np.einsum("nk,nkl->nl", f.share, draws.z)
    off = draws.z - mean[:, None]
    packed = np.einsum("nk,nkl->nl", f.share, off[:, :, i] * off[:, :, j])
    mean[empty], packed[empty] = 0.0, np.where(i == j, 1.0, 0.0)
    Y = surface.at(draws.z.reshape(-1, mean.shape[1])).reshape(*f.share.shape, -1)
    cells = np.einsum("nk,nkd->nd", f.share, Y)
    var = np.einsum("nk,nkd->nd", f.share, (Y - cells[:, None]) ** 2)
    log_density, error = (np.where(empty, 0.0, values) for values in (f.log_density, f.error))
    return DrawsPosterior(mean, packed, log_density, error, cells, var, draws.z, f.share)


def log_density_and_grad(at: DensityNetworkParams, params: DensityNetworkParams, block: Block) -> Array:
    """The sum of log densities by draws made at `at`, and its gradient by layers, output weights and log psi."""
    draws, seen = row_draws(at, block)
    f = weigh_draws(surface_of(params), block.x, seen, draws)
    w = np.ones(len(block.x)) if block.weight is None else block.weight
    share = f.share * w[:, None]
    dY = (f.R * (share / params.psi)[:, :, None]).reshape(share.size, -1)
    Z = draws.z.reshape(len(dY), -1)
    Phi, by_layers = params.basis.at(Z), np.empty(0)
    if params.layers:
        dH = (dY @ params.W[:-1].T) * activation_slope(Phi[:, :-1], params.activation)
        activations = forward(params.layers, Z, params.activation)
        by_layers = pack_layers(backward(params.layers, activations, dH, params.activation)[0])
    off = (f.R**2).sum(axis=2) / params.psi - seen.sum(axis=1)[:, None]
    return np.concatenate([[w @ f.log_density], by_layers, (Phi.T @ dY).ravel(), [0.5 * (share * off).sum()]])


def climb_by_draws(model: DensityNetwork, fit: Fit, source: Source, run: Run) -> Fit:
    """Rounds of L-BFGS on the log density that the draws of each row estimate, drawn anew at each round."""
    params, since, best, passes = fit.params, 0, -np.inf, fit.passes + 1
    rounds = -(-int(model.max_iter) // STEPS_A_ROUND)
    with one_blas_thread(), Monitor(run, type(model).__name__, -1.0, rounds) as watch:
        while True:
            cube = model._cube(*params.cube.shape, DENSITY_NETWORK_ROUND, len(watch.history))
            f = partial(_posterior_and_grad, model, params._replace(cube=cube), source, run)
            v = model._pack(params)
            value, passes = f(v)[0], passes + 1
            watch.see(params, None, value, True)
            since, best = 0 if value > best + ROUND_GAIN * source.total else since + 1, max(best, value)
            if watch.reason or since >= ROUND_PATIENCE:
                break
            peak = climb(f, v, lambda v, value: watch.interrupted, max_iter=STEPS_A_ROUND + 1, tol=STEP_GAIN, window=1)
            params, passes = model._unpack(peak.x, params), passes + peak.calls
    last = watch.fit(f"EM, then L-BFGS on {len(params.cube)} draws of each row's own")
    return last._replace(
        history=(*fit.history, *last.history),
        passes=passes,
        stats=fold(partial(model._stats, last.params), source, run),
        remaining=ROUND_GAIN * source.total,
        converged=not watch.reason,
        reason=watch.reason or "converged",
    )


def _posterior_and_grad(
    model: DensityNetwork, at: DensityNetworkParams, source: Source, run: Run, v: Array
) -> tuple[float, Array]:
    """The log posterior estimated by draws from proposals made at `at`, and its gradient."""
    params = model._unpack(v, at)
    sums = fold(partial(_density_sums, at, params), source, run).value
    W = params.W.copy()
    W[-1] = 0.0
    shrinkage = hidden_shrinkage(params.layers)
    slope = sums[1:] - np.concatenate([shrinkage, params.prior * W.ravel(), [0.0]])
    slope[len(shrinkage) : -1] *= np.sqrt(params.low / NODE_NOISE_FLOOR)
    value = float(sums[0]) - 0.5 * params.prior * float((W**2).sum())
    return value - 0.5 * HIDDEN_PRIOR * squared_weights(params.layers), slope


def _density_sums(at: DensityNetworkParams, params: DensityNetworkParams, block: Block) -> Sum:
    """Log densities by draws and their gradients, a few rows at a time."""
    pieces = block.tiles(ROWS_WITH_DRAWS)
    return Sum(np.sum([log_density_and_grad(at, params, piece) for piece in pieces], axis=0))
