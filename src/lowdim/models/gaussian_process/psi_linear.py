"""Psi statistics of k(x, y) = sum_q w_q x_q y_q.

Its functions are f(x) = x'u with u ~ N(0, diag w): the q weights say all, so the inducing points are the unit vectors
divided by the roots of w. Their matrix is the identity, nothing is lost, and none has to be found: with
m = mu diag(w)^1/2, psi1 = m and psi2 = sum_n m m' + diag(w S). Reference: Titsias and Lawrence (2010), section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from lowdim.math.linalg import Array, lower
from lowdim.models.gaussian_process.psi import Blurred, Psi, Puller, Slopes


def _slopes(p: Blurred, mu: Array, S: Array, w: Array) -> Slopes:
    return Slopes(mu, S, np.zeros_like(p.Z), w, 0.0)


def _pull_gram(p: Blurred, K: Array, G: Array) -> Slopes:
    return _slopes(p, np.zeros(0), np.zeros(0), np.zeros_like(p.w))


def _own(p: Blurred) -> Array:
    return np.asarray((p.mu**2 + p.S) @ p.w)


def _pull_own(p: Blurred, G: Array) -> Slopes:
    g = G[:, None]
    return _slopes(p, 2.0 * g * p.w * p.mu, g * np.broadcast_to(p.w, p.S.shape), G @ (p.mu**2 + p.S))


def _one(p: Blurred) -> Array:
    return p.mu * np.sqrt(p.w)


def _pull_one(p: Blurred, psi: Array, G: Array) -> Slopes:
    root = np.sqrt(p.w)
    return _slopes(p, G * root, np.zeros_like(p.S), 0.5 * (G * p.mu).sum(axis=0) / root)


def _pairs(p: Blurred) -> Callable[[Blurred], Array]:
    return _pairs_of


def _pairs_of(p: Blurred) -> Array:
    i, j = lower(len(p.w))
    M = _one(p)
    T = M[:, i] * M[:, j]
    T[:, i == j] += p.w * p.S
    return T


def _pull_pairs(p: Blurred) -> Puller:
    return Puller(_pull_piece, partial(_pull_rest, p))


def _pull_piece(p: Blurred, T: Array, G: Array) -> tuple[Array, Array, Array]:
    """An off-diagonal pair stands for two."""
    (n, q), root = p.mu.shape, np.sqrt(p.w)
    i, j = lower(q)
    full = np.zeros((len(G), q, q))
    full[:, i, j] = G
    full = full + full.transpose(0, 2, 1)
    dM = (full @ _one(p)[:, :, None])[:, :, 0]
    own = np.broadcast_to(G[:, i == j], (n, q))
    rest = (0.5 * dM * p.mu / root + own * p.S).sum(axis=0)
    return dM * root, own * p.w, rest


def _pull_rest(p: Blurred, rest: Array) -> tuple[Array, Array, float]:
    return np.zeros_like(p.Z), rest, 0.0


LINEAR = Psi(
    lambda p: len(p.w), lambda p: np.eye(len(p.w)), _pull_gram, _own, _pull_own, _one, _pull_one, _pairs, _pull_pairs
)
