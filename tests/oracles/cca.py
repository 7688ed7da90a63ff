"""Canonical correlation analysis the slow way: definitions, matrices of sums of squares, one row at a time."""

from __future__ import annotations

import numpy as np
from scipy import linalg, optimize, stats


def correlations(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Roots of |S12 S22^-1 S21 - r^2 S11| = 0, by a generalised eigenproblem."""
    d1 = X.shape[1]
    S = np.cov(np.hstack([X, Y]).T, bias=True)
    A = S[:d1, d1:] @ np.linalg.solve(S[d1:, d1:], S[d1:, :d1])
    r2 = linalg.eigh((A + A.T) / 2, S[:d1, :d1], eigvals_only=True)[::-1]
    return np.sqrt(np.clip(r2, 0, 1))[: min(d1, Y.shape[1])]


def manova(X: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    """The four statistics from the regression of Y on X: H explained, E left over (both sums of squares)."""
    A, B = X - X.mean(axis=0), Y - Y.mean(axis=0)
    fitted = A @ np.linalg.lstsq(A, B, rcond=None)[0]
    H, E = fitted.T @ fitted, (B - fitted).T @ (B - fitted)
    return {
        "Wilks": np.linalg.det(E) / np.linalg.det(H + E),
        "Pillai": np.trace(H @ np.linalg.inv(H + E)),
        "Hotelling-Lawley": np.trace(H @ np.linalg.inv(E)),
        "Roy": float(np.max(np.linalg.eigvals(H @ np.linalg.inv(E)).real)),
    }


def log_density(Z: np.ndarray, mean: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Log density of each row's seen cells."""
    out = np.zeros(len(Z))
    for i, row in enumerate(Z):
        o = ~np.isnan(row)
        if o.any():
            out[i] = stats.multivariate_normal(mean[o], C[np.ix_(o, o)]).logpdf(row[o])
    return out


def given(row: np.ndarray, mean: np.ndarray, C: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, ...]:
    """Mean and covariance of (z, x) given the seen cells of one row, from the joint Gaussian of both."""
    q = W.shape[1]
    joint = np.block([[np.eye(q), W.T], [W, C]])
    o = np.flatnonzero(~np.isnan(row)) + q
    if len(o) == 0:
        return np.append(np.zeros(q), mean), joint
    gain = joint[:, o] @ np.linalg.inv(joint[np.ix_(o, o)])
    return np.append(np.zeros(q), mean) + gain @ (row[o - q] - mean[o - q]), joint - gain @ joint[o]


class Slow:
    """Maximum likelihood of the two-view model by a general optimiser, for a few columns."""

    def __init__(self, Z: np.ndarray, d1: int, q: int) -> None:
        self.Z, self.d1, self.q, self.d = Z, d1, q, Z.shape[1]

    def parts(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d, d1, q = self.d, self.d1, self.q
        mean, W, v = v[:d], v[d : d + d * q].reshape(d, q), v[d + d * q :]
        L = np.zeros((d, d))
        for begin, size in ((0, d1), (d1, d - d1)):
            i, j = np.tril_indices(size)
            L[begin + i, begin + j], v = v[: len(i)], v[len(i) :]
        return mean, W @ W.T + L @ L.T + 1e-9 * np.eye(d)

    def value(self, v: np.ndarray) -> float:
        """Minus the log-likelihood: rows of one pattern of gaps at a time."""
        mean, C = self.parts(v)
        total = 0.0
        for o in np.unique(~np.isnan(self.Z), axis=0):
            if o.any():
                L = np.linalg.cholesky(C[np.ix_(o, o)])
                rows = (~np.isnan(self.Z) == o).all(axis=1)
                t = np.linalg.solve(L, (self.Z[rows][:, o] - mean[o]).T)
                logs = np.log(np.diag(L)).sum() + 0.5 * o.sum() * np.log(2 * np.pi)
                total += 0.5 * (t**2).sum() + rows.sum() * logs
        return total

    def best(self, seeds: int) -> float:
        d, d1, q = self.d, self.d1, self.q
        size = d + d * q + d1 * (d1 + 1) // 2 + (d - d1) * (d - d1 + 1) // 2
        found = []
        for seed in range(seeds):
            start = np.random.default_rng(seed).standard_normal(size)
            start[:d] = np.nanmean(self.Z, axis=0)
            made = optimize.minimize(
                self.value,
                start,
                method="L-BFGS-B",
                options={"maxiter": 2000, "maxfun": 10**6, "ftol": 1e-14, "gtol": 1e-6},
            )
            found.append(-made.fun)
        return max(found)
