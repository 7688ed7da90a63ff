"""Slow, obvious references for the latent Gaussian model of mixed columns: a grid, and a Gibbs sampler.

Both take the model as plain functions of z: the log-likelihood of a row's seen cells is summed over its columns, each
written down as in a textbook (no sites, no bounds).
"""

import numpy as np
from scipy.special import expit, gammaln, log_expit
from scipy.stats import norm


def cell_log_densities(params, row, z):
    """log p(seen cells | z) of one row at positions z (k x q), written out column by column; NaN is a gap."""
    columns, total = params.columns, np.zeros(len(z))
    eta = z @ params.W.T
    R, M = len(params.mu), len(params.b)
    for j, kind in enumerate(columns.kinds):
        x, levels = row[j], columns.levels[j]
        if np.isnan(x) or (len(levels) == 1):
            continue
        if kind == "real":
            s = columns.gaussian.index((j, 0))
            total += norm.logpdf(x, eta[:, s] + params.mu[s], np.sqrt(params.psi[s]))
        elif kind == "ordinal":
            o = columns.ordinal.index(j)
            t = params.t[columns.first[o] : columns.first[o + 1]]
            edges = np.concatenate([[-np.inf], t, [np.inf]])
            k = int(np.flatnonzero(levels == x)[0])
            mean = eta[:, R + M + o]
            total += np.log(expit(edges[k + 1] - mean) - expit(edges[k] - mean))
        elif kind == "count":
            s = columns.single.index((j, 0))
            r, mean = params.r[columns.count_sites.index(s)], eta[:, R + s] + params.b[s]
            total += gammaln(x + r) - gammaln(r) - gammaln(x + 1) + x * log_expit(mean) + r * log_expit(-mean)
        elif kind == "amount":
            s, a = columns.gaussian.index((j, 0)), columns.single.index((j, 0))
            there = eta[:, R + a] + params.b[a]
            if x == 0:
                total += log_expit(-there)
            else:
                score, slope = normal_score(columns.curves[j], x)
                spread = columns.spread[s]
                own = norm.logpdf(
                    (score - columns.centre[s]) / spread, eta[:, s] + params.mu[s], np.sqrt(params.psi[s])
                )
                total += log_expit(there) + own + np.log(slope / spread)
        else:
            k = int(np.flatnonzero(levels == x)[0])
            for t in range(len(levels) - 1):
                s = columns.single.index((j, t))
                mean = eta[:, R + s] + params.b[s]
                if k == t:
                    total += log_expit(mean)
                    break
                total += log_expit(-mean)
    return total


def normal_score(curve, x):
    """The normal score of a number above 0, and how it changes with that: straight between knots of logarithms, and
    beyond them as steep as from the first to the last."""
    knots, scores = curve
    log = np.log(x)
    if knots[0] <= log <= knots[-1]:
        k = min(int(np.searchsorted(knots, log, side="right")) - 1, len(knots) - 2)
        slope = (scores[k + 1] - scores[k]) / (knots[k + 1] - knots[k])
        return scores[k] + slope * (log - knots[k]), slope / x
    end = 0 if log < knots[0] else -1
    slope = (scores[-1] - scores[0]) / (knots[-1] - knots[0])
    return scores[end] + slope * (log - knots[end]), slope / x


def grid(params, row, half=6.0, points=121):
    """Exact log p(row), posterior mean and covariance, and the posterior weights on a grid, for q = 1 or 2."""
    q = params.W.shape[1]
    axis = np.linspace(-half, half, points)
    z = np.stack(np.meshgrid(*[axis] * q, indexing="ij"), axis=-1).reshape(-1, q)
    logs = cell_log_densities(params, row, z) + norm.logpdf(z).sum(axis=1) + q * np.log(axis[1] - axis[0])
    top = logs.max()
    weight = np.exp(logs - top)
    total = weight.sum()
    weight /= total
    mean = weight @ z
    return float(top + np.log(total)), mean, (z - mean).T @ ((z - mean) * weight[:, None]), z, weight


def gibbs(params, row, sweeps, rng, burn=200):
    """Positions of one row drawn from their posterior, one coordinate after the other, each by slice sampling."""
    q = params.W.shape[1]
    z, kept = np.zeros(q), []

    def log_density(point):
        return float(cell_log_densities(params, row, point[None])[0] - 0.5 * point @ point)

    for sweep in range(sweeps + burn):
        for k in range(q):
            z = _slice(log_density, z, k, rng)
        if sweep >= burn:
            kept.append(z)
    return np.array(kept)


def _slice(log_density, z, k, rng, width=2.0):
    """One coordinate by slice sampling (Neal 2003), stepping out and shrinking."""
    height = log_density(z) + np.log(rng.random())

    def at(value):
        moved = z.copy()
        moved[k] = value
        return moved

    low = z[k] - width * rng.random()
    high = low + width
    while log_density(at(low)) > height:
        low -= width
    while log_density(at(high)) > height:
        high += width
    while True:
        value = low + (high - low) * rng.random()
        if log_density(at(value)) > height:
            return at(value)
        low, high = (value, high) if value < z[k] else (low, value)
