"""Pre-images, the ways back from feature space: the point of the table whose image is nearest to a place on the map."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg as sl

from lowdim.maths.eigen import Problem, solve
from lowdim.maths.linalg import EPS, Array, Mask, svd
from lowdim.maths.pairs import median_width, squared_distances
from lowdim.models.spectral.kernel_features import gaussian

STEP_REACHED = 1e-7  # of the rows' spread: a fixed point has been reached
LEAST_WEIGHT_SHARE = 1e-12  # of the largest possible sum of weights: below it no row is near, and none is averaged
LEARNED_RIDGE = 1e-3  # of the learned map, beside a kernel of ones on its diagonal
LEAST_SIMILARITY = 1e-12  # of Gaussian images: below it none is distinguished from zero


class ImageSpan(NamedTuple):
    """Rows whose images span the map: P(z) = sum_i (origin_i + (weights z)_i) phi(x_i)."""

    rows: Array  # m x d
    places: Array  # m x q
    weights: Array  # m x q
    origin: Array  # m: the mean of all images
    columns: Array  # m: the mean of all images times each row's

    def coefficients(self, Z: Array) -> Array:
        """How much of each row's image is in P(z), for every place: b x m."""
        return self.origin + Z @ self.weights.T

    def products(self, Z: Array) -> tuple[Array, Array]:
        """P(z)'phi(x_i) for every place and row, and |P(z)|^2; no kernel is needed again."""
        lean = self.columns @ self.weights  # the mean's own place
        inner = self.columns + Z @ (self.places + lean).T
        return inner, float(self.origin @ self.columns) + 2.0 * Z @ lean + (Z**2).sum(axis=1)


def fixed_point(span: ImageSpan, gamma: float, Z: Array, start: Array, steps: int = 100) -> tuple[Array, Mask]:
    """x <- sum_i g_i k(x, x_i) x_i / sum_i g_i k(x, x_i), and which rows did not converge; Gaussian kernels only.

    Reference: S. Mika, B. Schoelkopf, A. Smola, K.-R. Mueller, M. Scholz and G. Raetsch (1999), "Kernel PCA and
    de-noising in feature spaces", Advances in Neural Information Processing Systems 11, 536-542, eq. 10.
    """
    G, x = span.coefficients(Z), start.copy()
    size = float(np.sqrt(((span.rows - span.rows.mean(axis=0)) ** 2).sum(axis=1).max(initial=0.0)))
    bound = np.abs(G).sum(axis=1)
    moving = np.ones(len(Z), dtype=bool)
    failed = np.zeros(len(Z), dtype=bool)
    for _ in range(steps):
        at = np.flatnonzero(moving)
        if not len(at):
            break
        W = G[at] * gaussian(squared_distances(x[at], span.rows), gamma)
        total = W.sum(axis=1)
        converges = np.abs(total) > LEAST_WEIGHT_SHARE * bound[at]
        new = x[at].copy()
        new[converges] = (W[converges] @ span.rows) / total[converges, None]
        wild = np.linalg.norm(new - span.rows.mean(axis=0), axis=1) > 3.0 * size  # a sum of both signs near zero
        new[wild] = x[at][wild]
        far = np.linalg.norm(new - x[at], axis=1)
        x[at] = new
        failed[at] = ~converges | wild
        moving[at] = (far > STEP_REACHED * size) & converges & ~wild
    return x, failed | moving


def by_distances(span: ImageSpan, distance: Callable[[Array, Array], Array], Z: Array, k: int) -> Array:
    """The point whose distances to its k nearest rows are nearest to those that feature space implies.

    `distance(inner, square)` turns P'phi_i and |P|^2 into squared distances of the table. The neighbours are
    centred, X = U S V', and the point is mean + V c with -2 S c = U'(d - d0), d0 their own squared lengths.

    Reference: J. T.-Y. Kwok and I. W.-H. Tsang (2004), "The pre-image problem in kernel methods", IEEE Transactions on
    Neural Networks 15, 1517-1525, section IV (after Gower 1968).
    """
    inner, square = span.products(Z)
    D = distance(inner, square)
    k = min(k, len(span.rows))
    near = np.argpartition(D, k - 1, axis=1)[:, :k] if k < len(span.rows) else np.tile(np.arange(k), (len(Z), 1))
    out = np.empty((len(Z), span.rows.shape[1]))
    for row, index in enumerate(near):
        X = span.rows[index]
        mean = X.mean(axis=0)
        U, s, Vt = svd(X - mean)
        d = D[row, index] - ((X - mean) ** 2).sum(axis=1)
        d -= d.mean()
        keep = s > 1e-8 * max(float(s[0]), 1e-300)
        out[row] = mean - 0.5 * ((U.T @ d)[keep] / s[keep]) @ Vt[keep]
    return out


def gaussian_distance(gamma: float, inner: Array, square: Array) -> Array:
    """Squared distance to x_i of a point with an image like P: |P - phi_i|^2 = 2 - 2 exp(-gamma d)."""
    similar = 1.0 - 0.5 * (square[:, None] - 2.0 * inner + 1.0)
    return np.asarray(-np.log(np.clip(similar, LEAST_SIMILARITY, 1.0)) / gamma)


def linear_distance(rows: Array, inner: Array, square: Array) -> Array:
    """Squared distance to x_i where images are the rows themselves."""
    D: Array = np.maximum(square[:, None] - 2.0 * inner + (rows**2).sum(axis=1), 0.0)
    return D


def learned(span: ImageSpan, Z: Array, *, ridge: float = LEARNED_RIDGE) -> Array:
    """Ridge regression of the rows on their places, by a Gaussian kernel of median width.

    Reference: G. H. Bakir, J. Weston and B. Schoelkopf (2004), "Learning to find pre-images", Advances in Neural
    Information Processing Systems 16, 449-456.
    """
    mean = span.rows.mean(axis=0)
    gamma = median_width(span.places)
    K = gaussian(squared_distances(span.places, span.places), gamma)
    K.flat[:: len(K) + 1] += ridge
    try:
        A = sl.solve(K, span.rows - mean, assume_a="pos", check_finite=False)
    except sl.LinAlgError:  # places that are nearly all one: the ridge is lost in rounding
        A = sl.lstsq(K, span.rows - mean, check_finite=False)[0]
    rows: Array = gaussian(squared_distances(Z, span.places), gamma) @ A + mean
    return rows


class QuietDirections(NamedTuple):
    """The half of all directions in which the rows of a table vary least."""

    mean: Array
    axes: Array  # d x h
    variance: float  # the rows' own, a direction

    def noise(self, X: Array) -> Array:
        """Variance a cell that each row has beyond the table's own there: what noise was added to it."""
        variance = (((X - self.mean) @ self.axes) ** 2).mean(axis=1)
        excess: Array = np.maximum(variance - self.variance, 0.0)
        return excess


def quiet_directions(X: Array) -> QuietDirections:
    """The directions from which noise in new rows can be estimated blindly."""
    mean = X.mean(axis=0)
    C = (X - mean).T @ (X - mean) / len(X)
    eigen = solve(Problem(C, "smallest"), len(C))
    empty = int((eigen.values <= len(C) * EPS * eigen.values[-1]).sum())  # equal but for rounding: all of them or none
    h = max(1, len(C) // 2, empty)
    return QuietDirections(mean, eigen.vectors[:, :h], float(np.maximum(eigen.values[:h], 0.0).mean()))
