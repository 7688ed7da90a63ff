"""The masked linear-Gaussian model with random parameters: variational Bayes.

    x_ij = w_j' z_i + mu_j + e_ij,  z_i ~ N(0, I),  e_ij ~ N(0, 1 / tau),  w_j ~ N(0, diag(alpha)^-1)

with flat priors on mu, log tau and log alpha, and q(Z) prod_j q(w_j, mu_j) q(tau): Gaussian, Gaussian, gamma. There is
one tau, or one of each column (then psi and the gamma's shape are arrays): factor analysis.
The statistics are those of maximum likelihood (`gaussian.sums`): a bound is a sum over columns of what each
leaves, and over rows of a determinant. With V_j = Cov(w_j, mu_j), A_j = sum over seen of E[(z,1)(z,1)'] and
E[tau] = 1 / psi,

    bound = -1/2 sum_j { n_j (log 2 pi - E log tau) + (rest_j + <V_j, A_j>) / psi } - 1/2 sum_i tr E[z_i z_i']
            + 1/2 sum_i log |Cov z_i| + n q / 2 - KL(W, mu) - KL(tau).

Reference: Bishop, "Variational principal components" (1999); Ilin and Raiko, JMLR 11 (2010); re-derived.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from lowdim.maths.gaussian import LOG_TWO_PI, Latent, Sums, design
from lowdim.maths.linalg import Array, Mask, distinct, inverse_packed, lower, sign_rule, times_packed, unpack

LEAST_SEEN = 1.0  # cells of a column whose noise is its own: less than one tells nothing of it


class Beliefs(NamedTuple):
    """q(w_j, mu_j) = N((W_j, mu_j), V_j), q(tau) = gamma with mean 1 / psi, and 1 / alpha."""

    W: Array  # d x q
    mu: Array  # d
    psi: Any  # a number, or d of them
    V: Array  # d x (q+1) x (q+1), or 1 x ... where all columns have the same
    spread: Array  # q
    shape: Any  # of the gamma: half the seen cells; a number, or d of them

    @property
    def noise(self) -> Any:
        """psi as a column beside W, or the one number."""
        return self.psi[:, None] if np.ndim(self.psi) else self.psi


def rows(x: Array, mask: Mask | None, b: Beliefs) -> Latent:
    """q(z) of every row; the parameters' own doubt adds to its precision. The log density is 1/2 log |Cov z|."""
    d, q = b.W.shape
    i, j = lower(q)
    r = x - b.mu
    doubt = b.V[:, i, j]
    if mask is None:
        times = d / len(b.V)
        A = ((b.W.T @ (b.W / b.noise))[i, j] + times * (doubt / b.noise).sum(axis=0))[:, None]
        c = times * (b.V[:, :q, q] / b.noise).sum(axis=0)
    else:
        m = mask.astype(np.float64)
        r *= m
        first, of = distinct(mask)  # rows with the same gaps share a covariance
        A = ((b.W[:, i] * b.W[:, j] + doubt) / b.noise).T @ m[first].T
        c = m @ np.broadcast_to(b.V[:, :q, q] / b.noise, (d, q))
    A[i == j] += 1.0
    cov, logdet = inverse_packed(A, q)
    if mask is not None:
        cov, logdet = cov[:, of], logdet[of]
    mean = times_packed(cov, np.ascontiguousarray((r @ (b.W / b.noise) - c).T)).T
    residual = r - mean @ b.W.T
    if mask is not None:
        residual *= m
    return Latent(mean, cov, np.broadcast_to(-0.5 * logdet, len(x)), residual)


def row_bounds(mask: Mask | None, b: Beliefs, latent: Latent) -> Array:
    """A lower bound of each row's log predictive density."""
    q, z = b.W.shape[1], latent.mean
    i, j = lower(q)
    second = z[:, i] * z[:, j] * np.where(i == j, 1.0, 2.0)
    doubt = second @ b.V[:, i, j].T + 2.0 * z @ b.V[:, :q, q].T + b.V[:, q, q]
    cells = (latent.residual**2 + doubt) / b.psi + LOG_TWO_PI - log_precision(b)
    if mask is not None:
        cells = cells * mask
    bounds: Array = latent.log_density - 0.5 * (cells.sum(axis=1) + (z * z).sum(axis=1))
    return bounds


def log_precision(b: Beliefs) -> Any:
    """E log tau, of each column where each has its own."""
    return digamma(b.shape) - np.log(b.shape * b.psi)


def bound(s: Sums, b: Beliefs) -> float:
    """The evidence lower bound, up to the constants of the flat priors."""
    q = b.W.shape[1]
    i, j = lower(q)
    squares = s.squares + _inner(b.V, _regressors(s, q))
    cells = -0.5 * float((s.seen * (LOG_TWO_PI - log_precision(b)) + squares / b.psi).sum())
    places = s.log_density + 0.5 * (s.n * q - s.zz[i == j].sum())
    return float(cells + places + parameter_terms(b))


def parameter_terms(b: Beliefs) -> float:
    """What the parameters add to a bound: their expected log prior and their entropy."""
    (d, q), a, times = b.W.shape, b.shape, len(b.W) / len(b.V)
    size = (b.W**2).sum(axis=0) + times * np.diagonal(b.V, axis1=1, axis2=2)[:, :q].sum(axis=0)
    prior = -0.5 * (d * np.log(b.spread).sum() + (size / b.spread).sum())
    loadings = 0.5 * (times * np.linalg.slogdet(b.V)[1].sum() + d * (q + 1.0 + LOG_TWO_PI))
    noise = np.sum(gammaln(a) + a * (1.0 - digamma(a)))  # entropy of log tau, whose prior is flat
    return float(prior + loadings + noise)


def _inner(V: Array, A: Array) -> Array:
    """<V_j, A_j> of every column, or the one number where one matrix stands for all of them."""
    return np.asarray((V * A).sum(axis=(1, 2)))


def _regressors(s: Sums, q: int, first: NDArray[np.intp] | None = None) -> Array:
    """A_j of every column, or of the first of each kind: one for all of them where no cell is missing."""
    if (s.seen == s.n).all():
        return design(s.A[:1], q)
    return design(s.A if first is None else s.A[first], q)


class Alike(NamedTuple):
    """Columns with the same gaps, which have the same A_j: the first of each kind, and the kind of every column."""

    first: NDArray[np.intp]
    of: NDArray[np.intp]

    def seen_sums(self, mask: Mask, latent: Latent) -> Array:
        """For every column, sums over its seen rows: of Cov[z] and E[z]E[z]', packed, of E[z] and of 1."""
        z, q = latent.mean.T, latent.mean.shape[1]
        i, j = lower(q)
        seen = mask[:, self.first].T.astype(np.float64)
        zz = np.array([(z * rows) @ z.T for rows in seen]).reshape(len(seen), q, q)[:, i, j]
        return np.concatenate([seen @ latent.cov.T, zz, seen @ z.T, seen.sum(axis=1)[:, None]], axis=1)[self.of]


def update(
    s: Sums, b: Beliefs, *, floor: Any, dead: float, sure: bool = False, vague: float = 0.0, alike: Alike | None = None
) -> Beliefs:
    """The latent space turned to its principal basis, what is dead dropped; then alpha, (W, mu) and tau.

    With `sure=True` the parameters count as known while V is still found: alpha_i = d / w_i'w_i, Bishop's ARD by
    Laplace's approximation ([Zabaras2017]). `vague` is mu's prior precision in units of tau: 0 needs a seen cell in
    every column. Columns that are `alike` share the work on A_j.
    """
    # The latent space in its principal basis: sums and beliefs turn with it, and alpha is what it finds.
    turn, spread, live = _basis(s, b, dead, sure)
    kinds = turn @ _regressors(s, b.W.shape[1], None if alike is None else alike.first) @ turn.T
    of = slice(None) if alike is None or len(kinds) == 1 else alike.of
    A, B = kinds[of], s.B @ turn.T
    w = np.column_stack([b.W, b.mu]) @ np.linalg.inv(turn)  # (w,mu)'(z,1) stays as it was
    residual = s.squares
    if not live.all():
        B, residual = _moved(A, B, residual, np.where(live, 0.0, -w))
        kinds, B, w = kinds[:, live][:, :, live], B[:, live], w[:, live]
        A = kinds[of]
    # q(w_j, mu_j): each column is regressed on E[(z, 1)], shrunk by alpha; its covariance is the inverse's.
    inverse, prior = _inverse(kinds, A, b, spread, vague, of)
    step = (inverse @ (B - prior * w)[:, :, None])[:, :, 0]
    _, residual = _moved(A, B, residual, step)
    V, w, q = b.noise[:, None] * inverse if np.ndim(b.psi) else b.psi * inverse, w + step, len(spread)
    # q(tau): the squares that are left, those that the doubt about (W, mu) leaves among them.
    squares = np.maximum(residual, 0.0) + (0.0 if sure else _inner(V, A))
    if np.ndim(b.psi):  # of a column without a seen cell the noise is as it was
        psi = np.where(s.seen > 0.0, np.maximum(squares / np.maximum(s.seen, LEAST_SEEN), floor), b.psi)
        return Beliefs(w[:, :q], w[:, q], psi, V, spread, 0.5 * np.maximum(s.seen, LEAST_SEEN))
    seen = float(s.seen.sum())
    psi = max(float(squares.sum() / seen), floor) if seen > 0.0 else b.psi
    return Beliefs(w[:, :q], w[:, q], psi, V, spread, 0.5 * (seen or LEAST_SEEN))


def _inverse(kinds: Array, A: Array, b: Beliefs, spread: Array, vague: float, of: Any) -> tuple[Array, Array]:
    """(A_j + prior)^-1 of every column, or of one that stands for all, and the prior in units of tau."""
    if np.ndim(b.psi):
        prior = np.column_stack([b.noise / spread, np.full(len(b.W), vague)])
        matrices = A + prior[:, :, None] * np.eye(len(spread) + 1)
        return np.linalg.inv(matrices).astype(np.float64, copy=False), prior
    prior = np.append(b.psi / spread, vague)
    return np.linalg.inv(kinds + np.diag(prior)).astype(np.float64, copy=False)[of], prior


def _moved(A: Array, B: Array, residual: Array, step: Array) -> tuple[Array, Array]:
    """What is left of the cross products and of the squares once (w_j, mu_j) has moved by a step."""
    along = (A @ step[:, :, None])[:, :, 0]
    return B - along, residual - (step * (B + B - along)).sum(axis=1)


def _basis(s: Sums, b: Beliefs, dead: float, sure: bool) -> tuple[Array, Array, NDArray[np.bool_]]:
    """z with mean 0 and mean E[zz'] = I, along the axes of sum_j E[w_j w_j']: the turn of (z,1), 1 / alpha, the live.

    Under a flat prior of log alpha this is the bound's exact maximum over all ways to write the same product Wz.
    """
    d, q = b.W.shape
    turn = np.eye(q + 1)
    if q == 0:
        return turn, np.zeros(0), np.ones(1, dtype=bool)
    nu = s.z / s.n
    # Laplace's fixed point is EM's own: z is turned but not rescaled, for that would change the prior's price.
    L = np.eye(q) if sure else np.linalg.cholesky(unpack(s.zz[:, None], q)[0] / s.n - np.outer(nu, nu))
    known, doubt = L.T @ (b.W.T @ b.W) @ L, L.T @ b.V[:, :q, :q].sum(axis=0) @ L * (d / len(b.V))
    values, R = np.linalg.eigh(known if sure else known + doubt)
    values, R = values[::-1], R[:, ::-1]
    live = ((R.T @ known) * R.T).sum(axis=1) > dead * ((R.T @ doubt) * R.T).sum(axis=1)
    turn[:q, :q] = np.linalg.solve(L.T, R * sign_rule(b.W @ L @ R)).T
    turn[:q, q] = -turn[:q, :q] @ nu
    return turn, values[live] / d, np.append(live, True)
