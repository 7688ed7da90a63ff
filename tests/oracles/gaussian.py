"""Slow, obvious Gaussian models with gaps: one row at a time, dense conditional Gaussians, textbook EM."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

LOG_TWO_PI = np.log(2 * np.pi)


class Row(NamedTuple):
    """What the seen cells of one row say."""

    z: np.ndarray  # E[z]
    z_cov: np.ndarray
    log_density: float
    cells: np.ndarray  # E[x], its own value where seen
    cells_var: np.ndarray  # Var[x], noise included, 0 where seen


def row(x, L, mu, psi, prior=None) -> Row:
    """Condition the joint Gaussian of (z, x) on the seen cells; x = mu + L z + e, z ~ N(0, prior)."""
    d, q = L.shape
    prior = np.eye(q) if prior is None else prior
    seen, gap = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
    S = L @ prior @ L.T + np.diag(np.broadcast_to(psi, d))
    r = x[seen] - mu[seen]
    inverse = np.linalg.inv(S[np.ix_(seen, seen)])
    cross = prior @ L[seen].T
    cells, var = x.copy(), np.zeros(d)
    cells[gap] = mu[gap] + S[np.ix_(gap, seen)] @ inverse @ r
    var[gap] = np.diag(S[np.ix_(gap, gap)] - S[np.ix_(gap, seen)] @ inverse @ S[np.ix_(seen, gap)])
    logdet = np.linalg.slogdet(S[np.ix_(seen, seen)])[1]
    log_density = -0.5 * (len(seen) * LOG_TWO_PI + logdet + r @ inverse @ r)
    return Row(cross @ inverse @ r, prior - cross @ inverse @ cross.T, float(log_density), cells, var)


def log_likelihood(X, L, mu, psi, prior=None) -> float:
    return sum(row(x, L, mu, psi, prior).log_density for x in X)


def em_step(X, W, mu, psi, *, equal: bool, expand: bool = False):
    """One textbook EM step: each column regressed on (z, 1) over the rows that see it.

    `equal` shares one noise variance (probabilistic PCA); `expand` then refits z ~ N(nu, P) and absorbs
    it (parameter-expanded EM, Liu, Rubin and Wu 1998): W <- W P^(1/2), mu <- mu + W nu.
    """
    n, (d, q) = len(X), W.shape
    rows = [row(x, W, mu, psi) for x in X]
    W_new, mu_new, left, count = np.zeros_like(W), np.zeros(d), np.zeros(d), np.zeros(d)
    for j in range(d):
        A, b, c = np.zeros((q + 1, q + 1)), np.zeros(q + 1), 0.0
        for x, r in zip(X, rows, strict=True):
            if np.isnan(x[j]):
                continue
            u = np.append(r.z, 1.0)
            A += np.outer(u, u)
            A[:q, :q] += r.z_cov
            b += x[j] * u
            c += x[j] ** 2
            count[j] += 1
        w = np.linalg.solve(A, b)
        W_new[j], mu_new[j], left[j] = w[:q], w[q], c - 2 * w @ b + w @ A @ w
    psi_new = np.full(d, left.sum() / count.sum()) if equal else left / count
    if expand:
        nu = sum(r.z for r in rows) / n
        P = sum(r.z_cov + np.outer(r.z, r.z) for r in rows) / n - np.outer(nu, nu)
        mu_new = mu_new + W_new @ nu
        W_new = W_new @ np.linalg.cholesky(P)
    return W_new, mu_new, psi_new


def likelihood_and_slope(X, W, mu, psi):
    """The log-likelihood of the seen cells and its derivatives in W, mu and psi."""
    d = len(mu)
    S = W @ W.T + np.diag(psi)
    value, G, slope = 0.0, np.zeros((d, d)), np.zeros(d)
    for x in X:
        seen = np.flatnonzero(~np.isnan(x))
        if len(seen) == 0:
            continue
        inverse = np.linalg.inv(S[np.ix_(seen, seen)])
        a = inverse @ (x[seen] - mu[seen])
        logdet = -np.linalg.slogdet(inverse)[1]
        value -= 0.5 * (len(seen) * LOG_TWO_PI + logdet + a @ (x[seen] - mu[seen]))
        G[np.ix_(seen, seen)] += 0.5 * (np.outer(a, a) - inverse)
        slope[seen] += a
    return value, 2 * G @ W, slope, np.diag(G)


def best(X, W, mu, psi, *, equal: bool, lowest=1e-8):
    """The maximum of the log-likelihood near a start, by L-BFGS: (value, W, mu, psi)."""
    d, q = W.shape

    def unpack(v):
        logs = np.full(d, v[-1]) if equal else v[d * q + d :]
        return v[: d * q].reshape(d, q), v[d * q : d * q + d], np.exp(logs)

    def negative(v):
        W, mu, psi = unpack(v)
        value, dW, dmu, dpsi = likelihood_and_slope(X, W, mu, psi)
        dlog = np.array([(dpsi * psi).sum()]) if equal else dpsi * psi
        return -value, -np.concatenate([dW.ravel(), dmu, dlog])

    logs = np.log(psi[:1]) if equal else np.log(psi)
    start = np.concatenate([W.ravel(), mu, logs])
    lowest = np.log(np.broadcast_to(lowest, len(logs)))
    bounds = [(None, None)] * (d * q + d) + [(low, None) for low in lowest]
    found = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 3000, "maxfun": 4000, "ftol": 1e-13, "gtol": 1e-6},
    )
    return (-found.fun, *unpack(found.x))


def dual_log_likelihood(Y, Z, mu, s2) -> float:
    """log p(Y | Z): every column is N(mu_j 1, Z Z' + s2 I) in the rows that see it."""
    K = Z @ Z.T + s2 * np.eye(len(Z))
    value = 0.0
    for y, m in zip(Y.T, mu, strict=True):
        seen = np.flatnonzero(~np.isnan(y))
        part = K[np.ix_(seen, seen)]
        r = y[seen] - m
        value -= 0.5 * (len(seen) * LOG_TWO_PI + np.linalg.slogdet(part)[1] + r @ np.linalg.solve(part, r))
    return float(value)


def dual_loadings(Y, Z, mu, s2):
    """E[w_j] and Cov[w_j] of every column given the positions."""
    q = Z.shape[1]
    means, covs = [], []
    for y, m in zip(Y.T, mu, strict=True):
        seen = np.flatnonzero(~np.isnan(y))
        cov = np.linalg.inv(np.eye(q) + Z[seen].T @ Z[seen] / s2)
        means.append(cov @ Z[seen].T @ (y[seen] - m) / s2)
        covs.append(cov)
    return np.array(means), np.array(covs)


def dual_best(Y, Z, mu, s2):
    """The maximum of the dual log-likelihood near a start, by L-BFGS."""
    n, q = Z.shape

    def negative(v):
        Z, mu, s2 = v[: n * q].reshape(n, q), v[n * q : -1], np.exp(v[-1])
        # columns as rows: each is one row of the same masked model, with its own mean in every cell
        value, G, dmu = 0.0, np.zeros((n, n)), np.zeros(len(mu))
        K = Z @ Z.T + s2 * np.eye(n)
        for j, y in enumerate(Y.T):
            seen = np.flatnonzero(~np.isnan(y))
            inverse = np.linalg.inv(K[np.ix_(seen, seen)])
            a = inverse @ (y[seen] - mu[j])
            value -= 0.5 * (len(seen) * LOG_TWO_PI - np.linalg.slogdet(inverse)[1] + a @ (y[seen] - mu[j]))
            G[np.ix_(seen, seen)] += 0.5 * (np.outer(a, a) - inverse)
            dmu[j] = a.sum()
        return -value, -np.concatenate([(2 * G @ Z).ravel(), dmu, [np.trace(G) * s2]])

    start = np.concatenate([Z.ravel(), mu, [np.log(s2)]])
    found = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 3000, "maxfun": 4000, "ftol": 1e-13, "gtol": 1e-6},
    )
    return -found.fun


def simulate(rng, n, d, q, *, noise=0.5, gaps=0.2, equal=True):
    """A table of a linear-Gaussian model, and the same table with gaps; no row is left without cells."""
    W = rng.standard_normal((d, q))
    psi = np.full(d, noise**2) if equal else noise**2 * rng.uniform(0.5, 2.0, d)
    X = rng.standard_normal((n, q)) @ W.T + rng.standard_normal((n, d)) * np.sqrt(psi) + 3 * rng.standard_normal(d)
    hidden = rng.random((n, d)) < gaps
    hidden[hidden.all(axis=1), 0] = False
    return X, np.where(hidden, np.nan, X)
