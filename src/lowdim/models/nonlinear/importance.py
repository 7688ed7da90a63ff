"""Importance sampling of latent places: each row's own draws, from Gaussians at its modes and from the prior."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from lowdim.math.gaussian import LOG_TWO_PI
from lowdim.math.linalg import Array
from lowdim.math.neighbors import squared_distances

MODES = 4  # Gaussians of a proposal, begun at likely points of the shared sample
APART = 0.7  # standard deviations of the prior between these, where the sample has points so far from each other
PRIOR = 0.1  # of the draws are the prior's: no weight exceeds ten times p(x | z) (Owen and Zhou, 2000)
SURE = 0.8  # of the rest goes to the modes by the mass they seem to hold, the remainder evenly
STEPS = 6  # of Gauss and Newton towards a mode; a proposal need not be exact
WIDER = 2.0  # times the curvature's variance: a proposal must not have the lighter tails


class Surface(NamedTuple):
    """The cells that places stand for, and their slopes, points x L x d; with noise variance psi."""

    at: Callable[[Array], Array]
    slopes: Callable[[Array], Array]
    psi: float


class Draws(NamedTuple):
    """Places of each row's own, and the logarithm of the prior over the proposal there."""

    z: Array  # n x K x L
    worth: Array  # n x K


class Weighed(NamedTuple):
    """The share of each draw in its row, what the row lies off its cells there, and the row's log density."""

    share: Array  # n x K
    R: Array  # n x K x d, 0 at gaps
    log_density: Array
    error: Array  # its standard error


def begun(worth: Array, points: Array) -> Array:
    """The likeliest of points for each row, each far from those before; n x MODES x L. `worth` is their log shares."""
    near = squared_distances(points, points) < APART**2
    found, worth = np.empty((len(worth), MODES, points.shape[1])), worth.copy()
    for k in range(MODES):
        best = worth.argmax(axis=1)
        found[:, k] = points[best]
        worth[near[best]] -= 1e6  # those near come again when there is no other
    return found


def spread(K: int, L: int, rng: np.random.Generator) -> Array:
    """K points evenly spread over the unit cube of L dimensions, shifted by one drawn amount: each is uniform.

    Multiples of the powers of 1 / g, g^(L + 1) = g + 1, modulo 1: a sequence of low discrepancy.
    """
    g = 2.0
    for _ in range(60):
        g = (1.0 + g) ** (1.0 / (L + 1))
    found = np.outer(np.arange(K), g ** -np.arange(1.0, L + 1)) + rng.random(L)
    return np.clip(found % 1.0, 1e-12, 1.0 - 1e-12)


def modes(surface: Surface, x: Array, seen: Array, Z: Array) -> tuple[Array, Array, Array]:
    """Where p(cells, z) is highest near each point, by damped Gauss-Newton steps; the curvature there, and how high."""
    eye = np.eye(Z.shape[1])

    def height(Z: Array) -> tuple[Array, Array]:
        R = (x - surface.at(Z)) * seen
        return -0.5 * (R**2).sum(axis=1) / surface.psi - 0.5 * (Z**2).sum(axis=1), R

    def curved(Z: Array) -> tuple[Array, Array]:
        J = surface.slopes(Z) * seen[:, None]
        return J, eye + J @ J.transpose(0, 2, 1) / surface.psi

    (best, R), (J, A), damp = height(Z), curved(Z), np.full(len(Z), 1e-3)
    for _ in range(STEPS):
        slope = np.einsum("nld,nd->nl", J, R) / surface.psi - Z
        there = Z + np.linalg.solve(A * (1.0 + damp[:, None, None] * eye), slope[:, :, None])[:, :, 0]
        value, rest = height(there)
        good = value > best
        damp = np.where(good, 0.1 * damp, 10.0 * damp)
        Z, best, R = np.where(good[:, None], there, Z), np.where(good, value, best), np.where(good[:, None], rest, R)
        J, A = curved(Z)
    return Z, A, best


def draws(surface: Surface, x: Array, seen: Array, first: Array, u: Array) -> Draws:
    """Draws of each row from Gaussians at its modes and the prior; `first` is n x M x L.

    u, K x (L + 1) points of the unit cube, are the same for every row: the last coordinate says which Gaussian, each
    by the mass it seems to hold.
    """
    (n, M, L), rows = first.shape, np.arange(len(first))[:, None]
    m, A, high = modes(surface, np.repeat(x, M, axis=0), np.repeat(seen, M, axis=0), first.reshape(-1, L))
    root = np.linalg.cholesky(A).reshape(n, M, L, L)
    root = np.concatenate([np.tile(np.eye(L), (n, 1, 1, 1)), root / np.sqrt(WIDER)], axis=1)
    size = np.log(np.diagonal(root, axis1=2, axis2=3)).sum(axis=2)
    m = np.concatenate([np.zeros((n, 1, L)), m.reshape(n, M, L)], axis=1)
    mass = high.reshape(n, M) - size[:, 1:]
    mass = np.exp(mass - mass.max(axis=1, keepdims=True))
    share = SURE * mass / mass.sum(axis=1, keepdims=True) + (1.0 - SURE) / M
    share = np.concatenate([np.full((n, 1), PRIOR), (1.0 - PRIOR) * share], axis=1)
    which = (u[:, -1] > np.cumsum(share, axis=1)[:, :-1, None]).sum(axis=1)
    step = np.linalg.solve(root.transpose(0, 1, 3, 2)[rows, which], ndtri(u[:, :-1])[None, :, :, None])[..., 0]
    z = m[rows, which] + step
    parts = [
        np.log(share[:, k, None]) + size[:, k, None] - 0.5 * (((z - m[:, k, None]) @ root[:, k]) ** 2).sum(axis=2)
        for k in range(M + 1)
    ]
    return Draws(z, -0.5 * (z**2).sum(axis=2) - np.logaddexp.reduce(parts, axis=0))


def weighed(surface: Surface, x: Array, seen: Array, given: Draws) -> Weighed:
    """p(cells) of each row estimated without bias: the mean of p(cells | z) p(z) / q(z) over its draws.

    The error is that of independent draws; evenly spread ones are better.
    """
    n, K, L = given.z.shape
    R = (x[:, None] - surface.at(given.z.reshape(-1, L)).reshape(n, K, -1)) * seen[:, None]
    log_w = given.worth - 0.5 * (R**2).sum(axis=2) / surface.psi
    top = log_w.max(axis=1, keepdims=True)
    w = np.exp(log_w - top)
    total, count = w.sum(axis=1), seen.sum(axis=1)
    log_density = np.log(total / K) + top[:, 0] - 0.5 * count * (LOG_TWO_PI + np.log(surface.psi))
    return Weighed(w / total[:, None], R, log_density, w.std(axis=1) * np.sqrt(K) / total)
