"""A linear-Gaussian model for filling gaps whose parameters are random too: variational Bayesian PCA.

    x_ij = w_j' z_i + mu_j + e_ij,  z_i ~ N(0, I),  e_ij ~ N(0, psi),  w_j ~ N(0, diag(alpha)^-1)

in units of each column's spread, with q(Z) q(W, mu), and alpha and psi by type-II maximum likelihood. A
dimension the table does not support is shrunk and then dropped, so their number need not be chosen with
care, and small tables do not follow their noise. (A psi for every column, free or drawn together, filled
worse on metabolite and no better elsewhere; the columns' own errors are calibrated in `fills.py`.)

Reference: Bishop, "Variational principal components" (1999); Ilin and Raiko, JMLR 11 (2010); spec
algorithms.md, "Variational Bayesian PCA" for the turns that make it quick.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.data.block import Array, Mask
from lowdim.math.gaussian import design
from lowdim.math.linalg import inverse_packed, lower, times_packed, unpack

FLOOR = 1e-6  # the least noise variance, as a share of the columns' variance
DEAD = 0.1  # a dimension whose loadings are smaller than this share of their own doubt is dropped
TOL = 4e-3  # tighter fits fill no better on our tables, and take two to three times the passes
SETTLE = 5  # passes before any dimension may be dropped


class Shrunk(NamedTuple):
    """Parameters in units of the columns' spread, and the rows' positions."""

    W: Array  # d x q
    mu: Array  # d
    psi: float
    V: Array  # d x (q+1) x (q+1), covariance of (w_j, mu_j)
    z: Array  # n x q
    S: Array  # packed covariances of z, p x n
    mean: Array  # the table's units: x = mean + sd * (...)
    sd: Array
    passes: int

    def cells(self) -> tuple[Array, Array]:
        """Mean and standard deviation of every cell as if measured anew, in the table's units."""
        q = self.W.shape[1]
        i, j = lower(q)
        twice = np.where(i == j, 1.0, 2.0)
        second = self.S.T + self.z[:, i] * self.z[:, j]
        var = (self.S.T * twice) @ (self.W[:, i] * self.W[:, j]).T + (second * twice) @ self.V[:, i, j].T
        var += 2.0 * self.z @ self.V[:, :q, q].T + self.V[:, q, q] + self.psi
        return self.mean + self.sd * self.centre, self.sd * np.sqrt(np.maximum(var, self.psi))

    @property
    def centre(self) -> Array:
        """The mean of every cell, in units of the columns' spread."""
        return self.z @ self.W.T + self.mu

    def draw(self, rng: np.random.Generator) -> Array:
        """One table drawn from the posterior, noise included, in the table's units."""
        (n, q), d = self.z.shape, len(self.mu)
        step = _root_times(self.V, rng.standard_normal((d, q + 1)))
        z = self.z + _root_times(unpack(self.S, q), rng.standard_normal((n, q)))
        x = z @ (self.W + step[:, :q]).T + self.mu + step[:, q] + rng.standard_normal((n, d)) * np.sqrt(self.psi)
        return self.mean + self.sd * x


def _root_times(C: Array, normal: Array) -> Array:
    """Vectors with these covariances from standard normal ones."""
    values, U = np.linalg.eigh(C)
    return (U @ (np.sqrt(np.maximum(values, 0.0)) * normal)[:, :, None])[:, :, 0]


def shrunk(X: Array, mask: Mask, q: int, *, passes: int = 200, tol: float = TOL) -> Shrunk:
    """Fit by variational EM from the principal axes of the table with its gaps on the mean.

    Stops when the cells move by less than `tol` of their column's spread (root mean square) in a pass.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 1)) + 0.1 * rng.standard_normal((50, 5))
    >>> mask = np.ones(X.shape, dtype=bool)
    >>> mask[3, 2] = False
    >>> mean, sd = shrunk(X, mask, 4).cells()
    >>> bool(abs(mean[3, 2] - X[3, 2]) < 2 * sd[3, 2] < 0.3)
    True
    """
    count = np.maximum(mask.sum(axis=0), 1)
    mean = np.where(mask, X, 0.0).sum(axis=0) / count
    spread = np.sqrt(np.where(mask, (X - mean) ** 2, 0.0).sum(axis=0) / count)
    sd = np.where(spread > 0, spread, 1.0)
    x, m = np.where(mask, (X - mean) / sd, 0.0), mask.astype(np.float64)
    now = _start(x, m, q)._replace(mean=mean, sd=sd)
    for k in range(passes):
        before = now.centre
        now = _columns(x, m, _rows(x, m, now), k >= SETTLE)
        if k > SETTLE and float(np.sqrt(((now.centre - before) ** 2).mean())) < tol:
            break
    return _rows(x, m, now)._replace(passes=k + 1)


def _start(x: Array, m: Array, q: int) -> Shrunk:
    (n, d), total = x.shape, float((x * x).sum())
    _, s, Vt = np.linalg.svd(x, full_matrices=False)
    q = min(q, len(s))
    left = max(total - float((s[:q] ** 2).sum()), 0.1 * total, FLOOR * d)
    W = Vt[:q].T * s[:q] / np.sqrt(n)
    return Shrunk(W, np.zeros(d), left / max(float(m.sum()), 1.0), np.zeros((d, q + 1, q + 1)),
                  np.zeros((n, q)), np.zeros((q * (q + 1) // 2, n)), np.zeros(d), np.ones(d), 0)


def _rows(x: Array, m: Array, p: Shrunk) -> Shrunk:
    """q(z_i) of every row; its precision counts the parameters' own doubt, which is what shrinks."""
    q = p.W.shape[1]
    i, j = lower(q)
    A = ((p.W[:, i] * p.W[:, j] + p.V[:, i, j]) / p.psi).T @ m.T
    A[i == j] += 1.0
    S, _ = inverse_packed(A, q)
    b = (((x - p.mu) * m) @ p.W - m @ p.V[:, :q, q]) / p.psi
    return p._replace(z=times_packed(S, np.ascontiguousarray(b.T)).T, S=S)


def _columns(x: Array, m: Array, p: Shrunk, drop: bool) -> Shrunk:
    """Turn the latent space, then q(w_j, mu_j) of every column and the noise variance."""
    p, relevance = _turned(p, drop)
    q = p.W.shape[1]
    i, j = lower(q)
    packed = np.concatenate([p.S + (p.z[:, i] * p.z[:, j]).T, p.z.T, np.ones((1, len(p.z)))]) @ m
    full = design(packed.T, q)
    xz = np.column_stack([x.T @ p.z, x.sum(axis=0)])
    ridge = np.concatenate([1.0 / relevance, [1e-6]])  # alpha, and next to nothing for the mean
    inverse: Array = np.linalg.inv(full + p.psi * np.diag(ridge)).astype(np.float64, copy=False)
    V = p.psi * inverse
    w = (inverse @ xz[:, :, None])[:, :, 0]
    left = (x * x).sum(axis=0) - 2.0 * (w * xz).sum(axis=1) + ((full @ w[:, :, None])[:, :, 0] * w).sum(axis=1)
    left = np.maximum(left, 0.0) + (V * full).sum(axis=(1, 2))
    psi = max(float(left.sum() / max(m.sum(), 1.0)), FLOOR)
    return p._replace(W=w[:, :q], mu=w[:, q], psi=psi, V=V)


def _turned(p: Shrunk, drop: bool) -> tuple[Shrunk, Array]:
    """z with mean 0 and mean E[zz'] = I, axes along sum_j E[w_j w_j'], dead ones dropped; 1 / alpha."""
    (n, q), d = p.z.shape, len(p.mu)
    if q == 0:
        return p, np.zeros(0)
    nu = p.z.mean(axis=0)
    S = unpack(p.S, q)
    L = np.linalg.cholesky(S.mean(axis=0) + (p.z - nu).T @ (p.z - nu) / n)
    sure, doubt = L.T @ (p.W.T @ p.W) @ L, L.T @ p.V[:, :q, :q].sum(axis=0) @ L
    values, R = np.linalg.eigh(sure + doubt)
    values, R = values[::-1], R[:, ::-1]
    if drop:
        live = np.diag(R.T @ sure @ R) > DEAD * np.diag(R.T @ doubt @ R)
        values, R = values[live], R[:, live]
    B = np.linalg.solve(L.T, R)  # row vectors: z B has mean E[zz'] = I, and W L R goes with it
    i, j = lower(R.shape[1])
    return p._replace(W=p.W @ (L @ R), z=(p.z - nu) @ B, S=(B.T @ S @ B)[:, i, j].T), np.maximum(values / d, 1e-12)
