"""Linear models that fill gaps: variational Bayesian PCA, the whole Gaussian, and any linear-Gaussian model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from lowdim.judge.cells import framed_gaussian
from lowdim.judge.fills.engines.engine import EngineFit, FittedEngine, draw_seed, drawing
from lowdim.judge.fills.engines.variational_pca import fit_variational
from lowdim.maths.linalg import Array, centre_and_spread
from lowdim.models.base.latent import LatentModel
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.mixtures.mixture import GaussianMixture
from lowdim.text.messages import no_warnings

TRIAL_TOL = 1e-2  # nats within which a trial fit has converged: far below what a fill can show
MOST_DIMENSIONS = 30  # dimensions offered to a small table; those it has no use for are dropped
WHOLE_GAUSSIAN_PASSES = (
    300  # of the whole Gaussian: stopped at 60 it lost to shrinkage on tables where, converged, it wins
)
WHOLE_GAUSSIAN_CELLS = 100_000  # cells up to which it is tried: beyond, its inverses cost more than it wins
OUTER = 0.1  # of the values at each end, whose width is how far beyond them a fill may lie
ROWS_A_COLUMN = 4  # rows a column from which all directions together, shrunk by nothing, are worth a try


def small_models(n: int, d: int, q: int | None = None) -> list[EngineFit]:
    """The linear models worth trying on a small table; hidden cells choose between them."""
    if q is not None:
        return [within_reach(by_shrinkage(q))]
    tries = [by_shrinkage(max(min(MOST_DIMENSIONS, d - 1, n - 2), 0))]
    if n >= ROWS_A_COLUMN * d and 2 <= d <= MOST_DIMENSIONS and n * d <= WHOLE_GAUSSIAN_CELLS:
        tol, passes = TRIAL_TOL / n, WHOLE_GAUSSIAN_PASSES
        whole = GaussianMixture(1, tol=tol, max_iter=passes, calibrate=False)  # as PPCA(d - 1), much faster
        tries.append(by_latent_model(whole, d - 1))
    return [within_reach(fit) for fit in tries]


def by_shrinkage(q: int) -> EngineFit:
    """Variational Bayesian PCA with at most q dimensions: for tables small enough to be in doubt."""

    def fit(X: Array) -> FittedEngine:
        fitted = fit_variational(X, ~np.isnan(X), q)

        def fills(rows: Array) -> tuple[Array, Array]:
            mask = ~np.isnan(rows)
            mean, sd = fitted.placed(rows, mask).cells()
            return np.where(mask, rows, mean), np.where(mask, 0.0, sd)

        def drawn(rows: Array, seed: int, number: int) -> Array:
            mask = ~np.isnan(rows)
            draw = fitted.placed(rows, mask).draw(drawing(seed, number))
            return np.where(mask, rows, draw)

        return FittedEngine(fitted.n_components, fills, drawn)

    return fit


def by_model(model: LinearGaussian) -> EngineFit:
    """A linear-Gaussian model, fitted once to the table and anew without each fold of its rows."""

    def fit(X: Array) -> FittedEngine:
        fitted = clone(model).fit(X)
        g = framed_gaussian(fitted)
        # draws have the fitted noise without the excess that its fitting cost: stretched to the same spread
        cost = g.psi * (g.excess - 1.0) / g.frame.scale**2

        def fills(rows: Array) -> tuple[Array, Array]:
            filled, sd = fitted.impute(rows, return_std=True)
            return filled, sd

        def drawn(rows: Array, seed: int, number: int) -> Array:
            filled, sd = fills(rows)
            stretch = sd / np.sqrt(np.maximum(sd**2 - cost, 0.25 * sd**2) + (sd == 0.0))
            draw = fitted.impute(rows, draws=1, random_state=draw_seed(seed, number))[0]
            return np.asarray(filled + (draw - filled) * stretch)

        return FittedEngine(int(g.W.shape[1]), fills, drawn)

    return fit


def by_latent_model(model: LatentModel, n_components: int) -> EngineFit:
    """A model of another family, fitted in units of the columns' spread: nobody asked for it, so its warnings are not
    shown, and its standard deviations are calibrated like all others."""

    def fit(X: Array) -> FittedEngine:
        mean, sd = centre_and_spread(X)

        def quietly(verb: Callable[..., Any], rows: Array, **options: Any) -> Any:
            with no_warnings():
                return verb((rows - mean) / sd, **options)

        fitted = quietly(clone(model).fit, X)

        def fills(rows: Array) -> tuple[Array, Array]:
            filled, spread = quietly(fitted.impute, rows, return_std=True)
            return np.where(np.isnan(rows), mean + sd * filled, rows), sd * spread

        def drawn(rows: Array, seed: int, number: int) -> Array:
            draw = quietly(fitted.impute, rows, draws=1, random_state=draw_seed(seed, number))[0]
            return np.where(np.isnan(rows), mean + sd * draw, rows)

        return FittedEngine(n_components, fills, drawn)

    return fit


def within_reach(model: EngineFit) -> EngineFit:
    """A model whose fills lie no further beyond the values seen than their outer tenth is wide.

    Lines go on where values end: a row with one huge number would be given impossible ones elsewhere. A column with a
    long tail may be left by as much as the tail is long, one whose values end at a wall not at all.
    """

    def fit(X: Array) -> FittedEngine:
        fitted, (low, high) = model(X), reach(X)

        def fills(rows: Array) -> tuple[Array, Array]:
            mean, sd = fitted.fills(rows)
            return np.where(sd > 0.0, np.clip(mean, low, high), mean), sd

        def drawn(rows: Array, seed: int, number: int) -> Array:
            draw = fitted.drawn(rows, seed, number)
            return np.where(np.isnan(rows), np.clip(draw, low, high), draw)

        return FittedEngine(fitted.n_components, fills, drawn)

    return fit


def reach(X: Array) -> tuple[Array, Array]:
    """The least and the largest value that a fill of each column may have.

    >>> reach(np.arange(11.0)[:, None])
    (array([-1.]), array([11.]))
    """
    seen = np.where(np.isnan(X).all(axis=0), 0.0, X)
    low, inner_low, inner_high, high = np.nanquantile(seen, (0.0, OUTER, 1.0 - OUTER, 1.0), axis=0)
    return 2.0 * low - inner_low, 2.0 * high - inner_high
