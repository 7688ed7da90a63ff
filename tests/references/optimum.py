"""The best log-likelihood a general optimiser finds: L-BFGS on the exact density of the seen cells.

It shares no line with the package. By Fisher's identity the gradient in (w_j, mu_j) is the sum over
seen cells of E[e (z, 1)] / psi_j, and in log psi_j half of E[e^2] / psi_j - 1. `brute` is the
likelihood written row by row, with which the rest is checked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import check_grad, minimize
from scipy.stats import multivariate_normal


class Table(NamedTuple):
    """A table in units of its own spread about its column means, and what that does to densities."""

    x: np.ndarray
    mask: np.ndarray
    mean: np.ndarray
    unit: float

    @property
    def stretch(self) -> float:
        return -float(self.mask.sum()) * np.log(self.unit)


def table(X: np.ndarray) -> Table:
    X = np.asarray(X, dtype=float)
    mask = ~np.isnan(X)
    mean = np.nanmean(X, axis=0)
    off = np.where(mask, X - mean, 0.0)
    unit = float(np.sqrt((off**2).sum() / mask.sum()))
    return Table(off / unit, mask, mean, unit)


def value_and_slope(v: np.ndarray, t: Table, q: int, each: bool) -> tuple[float, np.ndarray]:
    """Minus the log-likelihood at v = (W, mu, log noise), and its gradient; `each` column has its own noise."""
    d = t.x.shape[1]
    W, mu, logs = v[: d * q].reshape(d, q), v[d * q : d * q + d], v[d * q + d :]
    psi = np.exp(logs) if each else np.full(d, np.exp(logs[0]))
    m, outer = t.mask.astype(float), (W[:, :, None] * W[:, None, :]).reshape(d, q * q)
    A = np.eye(q) + (m @ (outer / psi[:, None])).reshape(-1, q, q)
    C = np.linalg.inv(A)  # Cov[z_i | seen cells]
    r = m * (t.x - mu)
    z = np.einsum("ikl,il->ik", C, r @ (W / psi[:, None]))
    e = m * (r - z @ W.T)
    square = float((e**2 / psi).sum() + (z**2).sum() + np.linalg.slogdet(A)[1].sum())
    value = -0.5 * (float((m @ (np.log(psi) + np.log(2 * np.pi))).sum()) + square)
    Cw = np.einsum("jkl,jl->jk", (m.T @ C.reshape(len(C), q * q)).reshape(d, q, q), W)
    noise = (((e**2).sum(axis=0) + (Cw * W).sum(axis=1)) / psi - m.sum(axis=0)) / 2
    slope = [((e.T @ z - Cw) / psi[:, None]).ravel(), e.sum(axis=0) / psi, noise if each else [noise.sum()]]
    return -value, -np.concatenate(slope)


def best(X: np.ndarray, starts: list[tuple[np.ndarray, np.ndarray, np.ndarray]], *, steps: int) -> float:
    """The greatest log-likelihood L-BFGS reaches from (W, mean, noise) starts in the table's units."""
    t = table(X)
    found = []
    for W, mean, noise in starts:
        logs = np.log(np.atleast_1d(noise) / t.unit**2)
        v = np.concatenate([W.ravel() / t.unit, (mean - t.mean) / t.unit, logs])
        how = {"maxiter": steps, "maxfun": 3 * steps, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-7}
        answer = minimize(value_and_slope, v, (t, W.shape[1], len(logs) > 1), jac=True, method="L-BFGS-B", options=how)
        found.append(-answer.fun + t.stretch)
    return max(found)


def starts_near(model: object, seed: int = 0, size: float = 0.2) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """A fitted model's own answer, and one moved away from it."""
    rng = np.random.default_rng(seed)
    W, mean, noise = model.components_.T, model.mean_, np.asarray(model.noise_variance_)
    spread = np.sqrt(np.mean(W**2))
    moved = W + size * spread * rng.standard_normal(W.shape), mean + size * spread * rng.standard_normal(len(mean))
    return [(W, mean, noise), (*moved, noise * 2.0)]


def brute(X: np.ndarray, W: np.ndarray, mean: np.ndarray, noise: np.ndarray | float) -> float:
    """The log-likelihood of the seen cells, one row and one covariance matrix at a time."""
    C = W @ W.T + np.diag(np.broadcast_to(noise, len(mean)))
    total = 0.0
    for row in np.asarray(X, dtype=float):
        seen = ~np.isnan(row)
        if seen.any():
            total += multivariate_normal(mean[seen], C[np.ix_(seen, seen)]).logpdf(row[seen])
    return float(total)


def slope_error(X: np.ndarray, q: int, each: bool, seed: int = 0) -> float:
    """How far the gradient is from finite differences, at a random place."""
    t = table(X)
    d = X.shape[1]
    v = np.random.default_rng(seed).standard_normal(d * q + d + (d if each else 1)) * 0.5
    error = check_grad(lambda u: value_and_slope(u, t, q, each)[0], lambda u: value_and_slope(u, t, q, each)[1], v)
    return float(error / np.linalg.norm(value_and_slope(v, t, q, each)[1]))
