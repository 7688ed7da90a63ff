"""Slow, obvious forms of the unfoldings, their field and the score of a map: whole matrices, no algebra saved."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.stats import multivariate_normal


def laplacian(pairs: np.ndarray, weight: np.ndarray, n: int) -> np.ndarray:
    """sum w (e_i - e_j)(e_i - e_j)', an edge at a time."""
    L = np.zeros((n, n))
    for (i, j), w in zip(pairs, weight, strict=True):
        e = np.zeros(n)
        e[i], e[j] = 1.0, -1.0
        L += w * np.outer(e, e)
    return L


def field_log_likelihood(pairs: np.ndarray, weight: np.ndarray, gamma: float, Y: np.ndarray) -> float:
    """The columns of Y as draws from N(0, (L + gamma I)^-1)."""
    K = np.linalg.inv(laplacian(pairs, weight, len(Y)) + gamma * np.eye(len(Y)))
    return float(multivariate_normal(np.zeros(len(Y)), K).logpdf(Y.T).sum())


def positive_field(pairs: np.ndarray, gamma: float, Y: np.ndarray) -> float:
    """The highest likelihood with multipliers >= 0, by a quasi-Newton method that differentiates numerically."""
    unit = np.array([1.0 / ((Y[i] - Y[j]) ** 2).mean() for i, j in pairs])
    found = minimize(
        lambda u: -field_log_likelihood(pairs, u * unit, gamma, Y),
        np.ones(len(unit)),
        bounds=[(0.0, None)] * len(unit),
        method="L-BFGS-B",
        options={"maxfun": 100_000, "ftol": 1e-14},
    )
    return -float(found.fun)


def unfolding_bounds(pairs: np.ndarray, d: np.ndarray, K: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """tr K made feasible, and the value no feasible K can exceed: weak duality, from the definitions alone.

    For any weights >= 0 and any feasible centred K, tr K <= tr(KL) / lambda_2(L) <= weight'd / lambda_2(L).
    """
    n = len(K)
    H = np.eye(n) - 1.0 / n
    K = H @ K @ H
    assert np.linalg.eigvalsh(K)[0] > -1e-9 * np.trace(K)
    over = max(1.0, *((K[i, i] + K[j, j] - 2 * K[i, j]) / length for (i, j), length in zip(pairs, d, strict=True)))
    assert (weight >= 0).all()
    second = np.linalg.eigvalsh(laplacian(pairs, weight, n))[1]
    return float(np.trace(K)) / over, float(weight @ d) / second


def field_score(K: np.ndarray, Y: np.ndarray) -> float:
    """max over s, t of the density of Q'y under N(0, Q'(sK + tI)Q) for each column y; t >= 1e-6 of the mean.

    Q is a basis of the differences between the rows in which the column is seen.
    """
    n = len(Y)
    parts = []
    for y in Y.T:
        seen = np.flatnonzero(~np.isnan(y))
        m = len(seen)
        Q = np.linalg.svd(np.eye(m) - 1.0 / m)[0][:, : m - 1]
        parts.append((Q.T @ K[np.ix_(seen, seen)] @ Q, Q.T @ y[seen]))
    mean = np.concatenate([b**2 for _, b in parts]).mean()

    def loss(theta: np.ndarray) -> float:
        s, t = np.exp(theta[0]) / np.trace(K) * n, max(np.exp(theta[1]), 1e-6)
        return -sum(
            multivariate_normal(np.zeros(len(b)), mean * (s * A + t * np.eye(len(b)))).logpdf(b) for A, b in parts
        )

    starts = [(0.0, -1.0), (0.0, -8.0), (3.0, -13.8), (-3.0, 0.0)]
    return -min(
        minimize(
            loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9, "maxiter": 4000, "maxfev": 4000}
        ).fun
        for start in starts
    )
