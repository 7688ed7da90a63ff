"""Psi statistics by quadrature, and the bounds they make, from their definitions; q small, everything dense."""

import numpy as np


def rbf(w, v):
    return lambda x, y: v * np.exp(-0.5 * (((x[..., :, None, :] - y[..., None, :, :]) ** 2) @ w))


def linear(w):
    return lambda x, y: np.einsum("...iq,...jq,q->...ij", x, y, w)


def averages(k, mu, S, Z, order=24):
    """E k(x, x), E k(x, z) and E k(z, x) k(x, z') of each row by Gauss and Hermite's rule, dimension by dimension."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(order)
    grid = np.stack(np.meshgrid(*[nodes] * mu.shape[1], indexing="ij"), -1).reshape(-1, mu.shape[1])
    share = np.prod(np.stack(np.meshgrid(*[weights / weights.sum()] * mu.shape[1], indexing="ij"), -1), -1).ravel()
    zero, one, two = [], [], []
    for m, s in zip(mu, S, strict=True):
        x = m + np.sqrt(s) * grid
        K = k(x, Z)
        zero.append(share @ np.array([k(a[None], a[None])[0, 0] for a in x]))
        one.append(share @ K)
        two.append(K.T @ (share[:, None] * K))
    return np.array(zero), np.array(one), np.array(two)


def column_bound(y, rows, zero, one, two, K, beta):
    """log of the integral of exp(E log N(y | f(x), 1/beta)) N(u | 0, K) over the values u at the inducing points."""
    n, psi2, Ki = rows.sum(), two[rows].sum(axis=0), np.linalg.inv(K)
    b, P = beta * Ki @ one[rows].T @ y[rows], Ki + beta * Ki @ psi2 @ Ki  # exp(-u'Pu/2 + b'u + c)
    c = 0.5 * n * np.log(beta / (2 * np.pi)) - 0.5 * beta * (y[rows] @ y[rows] + zero[rows].sum() - np.trace(Ki @ psi2))
    return c + 0.5 * b @ np.linalg.solve(P, b) - 0.5 * np.linalg.slogdet(P)[1] - 0.5 * np.linalg.slogdet(K)[1]


def divergence(mu, S):
    return 0.5 * (mu**2 + S - np.log(S) - 1).sum()


def bound(Y, seen, averaged, K, beta, mu, S):
    columns = (column_bound(Y[:, j], seen[:, j], *averaged, K, beta) for j in range(Y.shape[1]))
    return sum(columns) - divergence(mu, S)


def principal_bound(Y, seen, mu, S, w, beta):
    """Variational PCA: y_j = X u_j + e, u_j ~ N(0, diag w); q(u_j) the best Gaussian, every expectation by itself."""
    total = -divergence(mu, S)
    for y, rows in zip(Y.T, seen.T, strict=True):
        y, m, s = y[rows], mu[rows], S[rows]
        second = m.T @ m + np.diag(s.sum(axis=0))
        V = np.linalg.inv(np.diag(1 / w) + beta * second)
        a = beta * V @ m.T @ y
        uu = np.outer(a, a) + V
        square = y @ y - 2 * y @ m @ a + np.trace(uu @ second)
        total += 0.5 * len(y) * np.log(beta / (2 * np.pi)) - 0.5 * beta * square
        prior = -0.5 * (np.log(2 * np.pi * w) + np.diag(uu) / w).sum()
        entropy = 0.5 * (len(w) * (1 + np.log(2 * np.pi)) + np.linalg.slogdet(V)[1])
        total += prior + entropy
    return total
