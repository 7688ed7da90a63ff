"""Multivariate t with scale W W' + s2 I, by SciPy's density and its general optimiser: slow, nothing of ours."""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import multivariate_t


def log_likelihood(X, W, mu, s2, dof):
    """The rows' log densities, each over the cells it shows."""
    C = W @ W.T + s2 * np.eye(len(mu))
    total, seen = 0.0, ~np.isnan(X)
    for pattern in np.unique(seen, axis=0):
        rows, o = (seen == pattern).all(axis=1), np.flatnonzero(pattern)
        if len(o):
            total += multivariate_t.logpdf(X[np.ix_(rows, o)], mu[o], C[np.ix_(o, o)], df=dof).sum()
    return total


def fit(X, q, dof=None):
    """Maximum likelihood by BFGS with differences: (value, mu, C, dof)."""
    d = X.shape[1]
    spread = np.nanstd(X, axis=0).mean()

    def parts(theta):
        W, mu = theta[: d * q].reshape(d, q), theta[d * q : d * q + d]
        return W, mu, np.exp(theta[d * q + d]), np.exp(theta[-1]) if dof is None else dof

    start = np.concatenate([np.linspace(1.0, 0.5, d * q) * spread, np.nanmedian(X, axis=0), [2 * np.log(spread) - 1.0]])
    start = np.append(start, np.log(8.0)) if dof is None else start
    found = minimize(lambda theta: -log_likelihood(X, *parts(theta)), start, method="BFGS", options={"gtol": 1e-6})
    W, mu, s2, dof = parts(found.x)
    return -found.fun, mu, W @ W.T + s2 * np.eye(d), dof


def conditional(x, W, mu, s2, dof):
    """Mean and covariance of (z, x) given the seen cells of a row, from the joint t of all of them by dense algebra."""
    (d, q), seen = W.shape, ~np.isnan(x)
    joint = np.block([[np.eye(q), W.T], [W, W @ W.T + s2 * np.eye(d)]])
    centre = np.concatenate([np.zeros(q), mu])
    o = q + np.flatnonzero(seen)
    r = x[seen] - mu[seen]
    K = joint[:, o] @ np.linalg.inv(joint[np.ix_(o, o)])
    D2 = r @ np.linalg.solve(joint[np.ix_(o, o)], r)
    widened = (dof + D2) / (dof + len(o) - 2.0)
    return centre + K @ r, (joint - K @ joint[o]) * widened
