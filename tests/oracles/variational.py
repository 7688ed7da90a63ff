"""Variational Bayesian PCA the slow way: every expectation written out, a row and a column at a time."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma
from scipy.stats import gamma


def places(X, W, mu, V, tau):
    """q(z_i) of every row: mean and covariance, from its definition."""
    q, found, tau = W.shape[1], [], np.broadcast_to(tau, len(W))
    for x in X:
        A, b = np.eye(q), np.zeros(q)
        for j in np.flatnonzero(~np.isnan(x)):
            A += tau[j] * (np.outer(W[j], W[j]) + V[j][:q, :q])
            b += tau[j] * (W[j] * (x[j] - mu[j]) - V[j][:q, q])
        S = np.linalg.inv(A)
        found.append((S @ b, S))
    return found


def bound(X, W, mu, V, tau, shape, alpha):
    """E log p(X, Z, W | mu, tau) + E log p(tau) + the entropies; flat priors of mu, log tau, log alpha count 0.

    `tau` and `shape` are numbers, or one of each column.
    """
    d, q = W.shape
    taus, log_taus = np.atleast_1d(tau), np.atleast_1d(digamma(shape) - np.log(shape / tau))
    each, log_each, total = np.broadcast_to(taus, d), np.broadcast_to(log_taus, d), 0.0
    for x, (z, S) in zip(X, places(X, W, mu, V, tau), strict=True):
        total += -0.5 * (q * np.log(2 * np.pi) + np.trace(S) + z @ z)  # E log p(z)
        total += 0.5 * (q * (1 + np.log(2 * np.pi)) + np.linalg.slogdet(S)[1])  # entropy of q(z)
        one, big = np.append(z, 1.0), np.zeros((q + 1, q + 1))
        big[:q, :q] = S
        for j in np.flatnonzero(~np.isnan(x)):
            w = np.append(W[j], mu[j])
            square = (x[j] - w @ one) ** 2 + w @ big @ w + one @ V[j] @ one + np.trace(big @ V[j])
            total += 0.5 * (log_each[j] - np.log(2 * np.pi)) - 0.5 * each[j] * square
    for j in range(d):
        total += 0.5 * ((q + 1) * (1 + np.log(2 * np.pi)) + np.linalg.slogdet(V[j])[1])  # entropy of q(w, mu)
        for k in range(q):  # E log p(w)
            total += 0.5 * (np.log(alpha[k]) - np.log(2 * np.pi) - alpha[k] * (W[j, k] ** 2 + V[j][k, k]))
    return total + float((gamma(shape, scale=tau / shape).entropy() - log_taus).sum())
