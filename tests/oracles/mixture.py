"""Mixtures of Gaussians the slow way: one row, one component, one conditional Gaussian at a time."""

import numpy as np


def log_normal(x, mu, C):
    """Log density of the seen cells of one row."""
    o = ~np.isnan(x)
    if not o.any():
        return 0.0
    r = x[o] - mu[o]
    return -0.5 * (
        o.sum() * np.log(2 * np.pi) + np.linalg.slogdet(C[np.ix_(o, o)])[1] + r @ np.linalg.solve(C[np.ix_(o, o)], r)
    )


def conditional(x, mu, C):
    """Mean and covariance of all cells of a row given its seen ones."""
    o = ~np.isnan(x)
    m = ~o
    mean, cov = x.copy(), np.zeros_like(C)
    gain = C[np.ix_(m, o)] @ np.linalg.inv(C[np.ix_(o, o)])
    mean[m] = mu[m] + gain @ (x[o] - mu[o])
    cov[np.ix_(m, m)] = C[np.ix_(m, m)] - gain @ C[np.ix_(o, m)]
    return mean, cov


def responsibilities(X, weights, means, covs):
    """Shares n x K and log densities n."""
    logs = np.array(
        [[np.log(p) + log_normal(x, mu, C) for p, mu, C in zip(weights, means, covs, strict=True)] for x in X]
    )
    total = np.logaddexp.reduce(logs, axis=1)
    return np.exp(logs - total[:, None]), total


def em_step(X, weights, means, covs, tied=False):
    """One EM step of full Gaussians with gaps."""
    R, total = responsibilities(X, weights, means, covs)
    new = []
    for k in range(len(weights)):
        rows = [conditional(x, means[k], covs[k]) for x in X]
        n = R[:, k].sum()
        mu = sum(r * m for r, (m, _) in zip(R[:, k], rows, strict=True)) / n
        C = sum(r * (np.outer(m - mu, m - mu) + V) for r, (m, V) in zip(R[:, k], rows, strict=True)) / n
        new.append((n / len(X), mu, C))
    weights, means, covs = (np.array(part) for part in zip(*new, strict=True))
    if tied:
        covs = np.broadcast_to((weights[:, None, None] * covs).sum(axis=0), covs.shape)
    return weights, means, covs, total.sum()


def cells(x, weights, means, covs):
    """Mean and variance of every cell of a row under the mixture."""
    R, _ = responsibilities(x[None], weights, means, covs)
    each = [conditional(x, mu, C) for mu, C in zip(means, covs, strict=True)]
    mean = sum(r * m for r, (m, _) in zip(R[0], each, strict=True))
    second = sum(r * (np.diag(V) + (m - mean) ** 2) for r, (m, V) in zip(R[0], each, strict=True))
    return mean, second
