"""Gibbs sampling of the linear-Gaussian model with gaps: the posterior by draws, exact but for their number.

x_ij = w_j'z_i + mu_j + e_ij with z_i ~ N(0, I); flat priors of w_j and mu_j, or w_j ~ N(0, diag(spread)) where one
is given; the variance of e_ij is psi_j, or one psi, with prior 1 / psi. Each conditional is a textbook one: normal,
normal, inverse gamma (Gelman and others, Bayesian Data Analysis, chapters 11 and 14).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class Draw(NamedTuple):
    """One state of the chain."""

    W: np.ndarray  # d x q
    mu: np.ndarray  # d
    psi: np.ndarray  # d
    Z: np.ndarray  # n x q


def draws(X, q, *, equal, number, burn=300, seed=0, spread=None, start=None) -> Iterator[Draw]:
    """States of the chain after it has forgotten its start; `equal` means one noise variance."""
    rng = np.random.default_rng(seed)
    (n, d), seen = X.shape, ~np.isnan(X)
    x, m = np.where(seen, X, 0.0), seen.astype(float)
    prior = np.zeros(q + 1) if spread is None else np.append(1.0 / np.asarray(spread), 0.0)
    W, mu, psi = (np.array(part, dtype=float) for part in start)
    for step in range(burn + number):
        Z = positions(rng, x, m, W, mu, psi)
        B = np.column_stack([Z, np.ones(n)])
        for j in range(d):
            Bj = B[seen[:, j]]
            precision = Bj.T @ Bj / psi[j] + np.diag(prior)
            L = np.linalg.cholesky(precision)
            mean = np.linalg.solve(precision, Bj.T @ X[seen[:, j], j] / psi[j])
            w = mean + np.linalg.solve(L.T, rng.standard_normal(q + 1))
            W[j], mu[j] = w[:q], w[q]
        squares, count = ((x - (Z @ W.T + mu) * m) ** 2).sum(axis=0), m.sum(axis=0)
        if equal:
            psi = np.full(d, 0.5 * squares.sum() / rng.gamma(0.5 * count.sum()))
        else:
            psi = 0.5 * squares / rng.gamma(0.5 * count)
        if step >= burn:
            yield Draw(W.copy(), mu.copy(), psi.copy(), Z)


def positions(rng, x, m, W, mu, psi):
    """Z given all else, every row with its own gaps."""
    V = W / psi[:, None]
    A = np.eye(W.shape[1]) + np.einsum("nj,ja,jb->nab", m, V, W)
    mean = np.linalg.solve(A, (((x - mu) * m) @ V)[:, :, None])[:, :, 0]
    L = np.linalg.cholesky(A).transpose(0, 2, 1)
    return mean + np.linalg.solve(L, rng.standard_normal((*mean.shape, 1)))[:, :, 0]
