"""The models that fill gaps: variational Bayesian PCA, or any linear-Gaussian model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from lowdim.judge.fills.variational_pca import fit_variational
from lowdim.math.linalg import Array
from lowdim.math.streams import FILL_DRAWS
from lowdim.models.linear.framed_gaussian import framed_gaussian
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.text.messages import LowdimWarning

TRIAL_TOL = 1e-2  # nats within which a trial fit has converged: far below what a fill can show
MOST_DIMENSIONS = 30  # dimensions offered to a small table; those it has no use for are dropped
WHOLE_GAUSSIAN_PASSES = (
    300  # of the whole Gaussian: stopped at 60 it lost to shrinkage on tables where, converged, it wins
)
ROWS_A_COLUMN = 10  # rows a column from which all directions together, shrunk by nothing, are worth a try


class ModelFills(NamedTuple):
    """One model's fills: means, standard deviations (0 where seen), its dimensions, and how to draw."""

    filled: Array
    sd: Array
    n_components: int
    drawn: Callable[[int, int], Array]


FillModel = Callable[[Array], ModelFills]


def by_shrinkage(q: int) -> FillModel:
    """Variational Bayesian PCA with at most q dimensions: for tables small enough to be in doubt."""

    def engine(X: Array) -> ModelFills:
        mask = ~np.isnan(X)
        fit = fit_variational(X, mask, q)
        mean, sd = fit.cells()

        def drawn(seed: int, number: int) -> Array:
            return np.where(mask, X, fit.draw(np.random.default_rng([seed, FILL_DRAWS, number])))

        return ModelFills(np.where(mask, X, mean), np.where(mask, 0.0, sd), fit.n_components, drawn)

    return engine


def by_model(model: LinearGaussian, *, quiet: bool = False) -> FillModel:
    """A linear-Gaussian model, fitted once to the table and anew to each table with hidden cells."""

    def engine(X: Array) -> ModelFills:
        with warnings.catch_warnings():
            if quiet:  # a model nobody asked for
                warnings.simplefilter("ignore", LowdimWarning)
            fitted = clone(model).fit(X)
        filled, sd = fitted.impute(X, return_std=True)
        g = framed_gaussian(fitted)
        # draws have the fitted noise without the excess that its fitting cost: stretched to the same spread
        cost = g.psi * (g.excess - 1.0) / g.frame.scale**2
        stretch = sd / np.sqrt(np.maximum(sd**2 - cost, 0.25 * sd**2) + (sd == 0.0))

        def drawn(seed: int, number: int) -> Array:
            return filled + (fitted.impute(X, draws=1, random_state=seed + 1009 * number)[0] - filled) * stretch

        return ModelFills(filled, sd, int(g.W.shape[1]), drawn)

    return engine


def candidates(n: int, d: int, q: int | None) -> list[FillModel]:
    """The models worth trying on a small table; hidden cells choose between them."""
    if q is not None:
        return [by_shrinkage(q)]
    tries = [by_shrinkage(max(min(MOST_DIMENSIONS, d - 1, n - 2), 0))]
    if n >= ROWS_A_COLUMN * d and 2 <= d <= MOST_DIMENSIONS:
        tries.append(
            by_model(
                ProbabilisticPCA(d - 1, standardize=True, tol=TRIAL_TOL / n, max_iter=WHOLE_GAUSSIAN_PASSES), quiet=True
            )
        )
    return tries
