"""Psi statistics of k(x, y) = v exp(-1/2 sum_q w_q (x_q - y_q)^2).

The exponent of psi2 is linear in (w mu, w) and in the middles of pairs of inducing points and their squares: one
product over the m(m+1)/2 pairs, and one each way back. Reference: Titsias and Lawrence (2010), eq. 16-18.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from lowdim.math.linalg import Array, lower
from lowdim.models.gaussian_process.gp import KINDS
from lowdim.models.gaussian_process.psi import Blurred, Psi, Puller, Slopes


def _gram(p: Blurred) -> Array:
    root = np.sqrt(p.w)
    return KINDS["rbf"].cross(np.array([p.v, 1.0]), p.Z * root, p.Z * root)


def _pull_gram(p: Blurred, K: Array, G: Array) -> Slopes:
    root = np.sqrt(p.w)
    dX, dt = KINDS["rbf"].pull(np.array([p.v, 1.0]), p.Z * root, K, G)
    return Slopes(np.zeros(0), np.zeros(0), dX * root, 0.5 * (dX * p.Z).sum(axis=0) / root, float(dt[0]))


def _own(p: Blurred) -> Array:
    return np.full(len(p.mu), p.v)


def _pull_own(p: Blurred, G: Array) -> Slopes:
    return Slopes(np.zeros_like(p.mu), np.zeros_like(p.S), np.zeros_like(p.Z), np.zeros_like(p.w), p.v * float(G.sum()))


def _one(p: Blurred) -> Array:
    c = 1.0 / (p.w * p.S + 1.0)
    wc = p.w * c
    rows = 0.5 * (np.log(c) - wc * p.mu**2).sum(axis=1)
    E = (wc * p.mu) @ p.Z.T - 0.5 * wc @ (p.Z**2).T
    return np.asarray(p.v * np.exp(np.minimum(E + rows[:, None], 0.0)))


def _pull_one(p: Blurred, psi: Array, G: Array) -> Slopes:
    c, H = 1.0 / (p.w * p.S + 1.0), G * psi
    wc, r = p.w * c, H.sum(axis=1)[:, None]
    HZ = H @ p.Z
    Q = r * p.mu**2 - 2.0 * p.mu * HZ + H @ p.Z**2
    return Slopes(
        -wc * (r * p.mu - HZ),
        0.5 * wc * (wc * Q - r),
        H.T @ (wc * p.mu) - (H.T @ wc) * p.Z,
        -0.5 * (p.S * c * r + c**2 * Q).sum(axis=0),
        float(H.sum()),
    )


def _ends(p: Blurred) -> tuple[Array, Array]:
    """Middle and difference of each pair of inducing points."""
    i, j = lower(len(p.Z))
    return 0.5 * (p.Z[i] + p.Z[j]), p.Z[i] - p.Z[j]


def _pairs(p: Blurred) -> Callable[[Blurred], Array]:
    middle, apart = _ends(p)
    fixed = np.vstack([middle.T, middle.T**2, np.ones(len(middle)), -0.25 * (apart**2 @ p.w) + 2.0 * np.log(p.v)])
    return partial(_pairs_of, fixed)


def _pairs_of(fixed: Array, p: Blurred) -> Array:
    b = 1.0 / (2.0 * p.w * p.S + 1.0)
    wb = p.w * b
    rows = (0.5 * np.log(b) - wb * p.mu**2).sum(axis=1)
    E = np.column_stack([2.0 * wb * p.mu, -wb, rows, np.ones(len(rows))]) @ fixed
    np.minimum(E, 2.0 * np.log(p.v), out=E)  # it is no larger but for rounding
    return np.asarray(np.exp(E, out=E))


def _pull_pairs(p: Blurred) -> Puller:
    middle, apart = _ends(p)
    fixed = np.column_stack([middle, middle**2, np.ones(len(middle))])
    return Puller(partial(_pull_piece, fixed), partial(_pull_rest, p, middle, apart))


def _pull_piece(fixed: Array, p: Blurred, T: Array, G: Array) -> tuple[Array, Array, Array]:
    """An off-diagonal pair stands for two."""
    q = len(p.w)
    b = 1.0 / (2.0 * p.w * p.S + 1.0)
    wb, H = p.w * b, np.multiply(T, G, out=T)
    back = H @ fixed
    HZ, r = back[:, :q], back[:, 2 * q :]
    Q = r * p.mu**2 - 2.0 * p.mu * HZ + back[:, q : 2 * q]
    over = np.column_stack([wb * p.mu, wb, np.ones(len(b))]).T @ H  # 2q + 1 x pairs
    own = -(p.S * b * r + b**2 * Q).sum(axis=0)
    rest = np.concatenate([over.ravel(), own])
    return -2.0 * wb * (r * p.mu - HZ), wb * (2.0 * wb * Q - r), rest


def _pull_rest(p: Blurred, middle: Array, apart: Array, rest: Array) -> tuple[Array, Array, float]:
    m, q = p.Z.shape
    i, j = lower(m)
    over, own = rest[:-q].reshape(2 * q + 1, -1), rest[-q:]
    half = over[:q].T - over[q : 2 * q].T * middle  # half the slope in the middles: an end moves it half as far
    side = 0.5 * p.w * apart * over[2 * q][:, None]
    dZ = np.zeros_like(p.Z)
    np.add.at(dZ, i, half - side)
    np.add.at(dZ, j, half + side)
    return dZ, own - 0.25 * over[2 * q] @ apart**2, 2.0 * float(over[2 * q].sum())


RBF = Psi(lambda p: len(p.Z), _gram, _pull_gram, _own, _pull_own, _one, _pull_one, _pairs, _pull_pairs)
