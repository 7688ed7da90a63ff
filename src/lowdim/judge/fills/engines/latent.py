"""Latent models that fill gaps and are not linear: mixtures of groups, and the mixed model of numbers and labels.

The mixed model gives each column its likelihood: one latent Gaussian behind numbers, levels and labels. It fills
numbers and words by one fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lowdim.judge.fills.engines.engine import EngineFit, FittedEngine, Shares, draw_seed
from lowdim.judge.fills.engines.linear import by_latent_model, within_reach
from lowdim.maths.linalg import Array, evenly_spread
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.models.mixtures.mixture import GaussianMixture, MixtureOfFA
from lowdim.text.messages import no_warnings

MIXTURE_OPTIONS: dict[str, Any] = {
    "tol": 2e-3,
    "max_iter": 60,
    "n_init": 2,
    "reg_covar": 0.02,  # of the variances about the starts (docs/measurements.md)
    "calibrate": False,  # hidden cells calibrate every engine alike
}
FEW_SITES, MANY_SITES = 8, 16  # from which on a mixed model has 4 dimensions, and others 2 and 8
FITTED_CELLS, FITTED_ROWS = 120_000, 1_000  # sites times rows, and rows, that one fit sees: more teach it little
MIXED_TOL, MIXED_PASSES = 1e-3, 25  # nats a row: far below what a fill can show


def by_groups(groups: int, d: int) -> EngineFit:
    """A mixture of Gaussians."""
    return within_reach(by_latent_model(GaussianMixture(groups, **MIXTURE_OPTIONS), d))


def by_factor_groups(groups: int, factors: int) -> EngineFit:
    """A mixture of factor analysers: each group has a few factors of its own."""
    return within_reach(by_latent_model(MixtureOfFA(groups, factors, **MIXTURE_OPTIONS), factors))


class MixedShape(NamedTuple):
    """One mixed model: its dimensions, and whether labels are markers of clusters."""

    dims: int
    markers: bool = False


def mixed_shapes(kinds: Sequence[str], sites: int) -> list[MixedShape]:
    """The mixed models worth a try, by about how many sites the columns are made of."""
    dims = [min(2, max(sites - 1, 1))] if sites < FEW_SITES else [4] if sites < MANY_SITES else [2, 4, 8]
    shapes = [MixedShape(q) for q in dims]
    return [shapes[0], MixedShape(min(dims[-1], 4), markers=True), *shapes[1:]] if "label" in kinds else shapes


def mixed_sites(kinds: Sequence[str], sizes: Sequence[int]) -> int:
    """About how many sites these columns are made of: one a number, one a label but the last, more for levels."""
    return sum(max(size - 1, 1) for size in sizes) + 3 * list(kinds).count("ordinal")


def fitted_rows(n: int, sites: int) -> int:
    """How many of n rows a mixed model is fitted to."""
    return int(min(n, FITTED_ROWS, max(FITTED_CELLS / max(sites, 1), 200)))


def mixed_seconds(n: int, kinds: Sequence[str], sizes: Sequence[int], shape: MixedShape) -> float:
    """Of one fit and its predictions, forecast: labels and levels take rounds that numbers and markers do without.

    The factors were measured on tables of 7 to 178 sites and 2 to 8 dimensions.
    """
    sites = mixed_sites(kinds, sizes)
    slow = ("yes/no", "ordinal") if shape.markers else ("yes/no", "ordinal", "label")
    bent = sum(max(size - 1, 1) for kind, size in zip(kinds, sizes, strict=True) if kind in slow)
    fit = max(3e-4 + 2e-6 * sites, bent * (1.5e-5 + 3e-6 * shape.dims))  # of a row that is fitted
    told = max(5e-5, bent * (7e-7 + 2.2e-7 * shape.dims))  # of a row that is filled
    return float(0.02 + fitted_rows(n, sites) * fit + n * told)


def by_mixed_model(kinds: Sequence[str], sizes: Sequence[int], shape: MixedShape) -> EngineFit:
    """Fill by a mixed model of all columns; `sizes` are the numbers of labels, 0 for the numbers, which come first."""
    likelihoods = tuple("marker" if kind == "label" and shape.markers else kind for kind in kinds)
    d, sites = list(sizes).count(0), mixed_sites(kinds, sizes)

    def fit(rows: Array) -> FittedEngine:
        with no_warnings():  # nobody asked for it, so it warns of nothing
            model = MixedFactorAnalysis(shape.dims, likelihoods=likelihoods, tol=MIXED_TOL, max_iter=MIXED_PASSES)
            model.fit(rows[evenly_spread(len(rows), fitted_rows(len(rows), sites))])

        def fills(rows: Array) -> tuple[Array, Array]:
            with no_warnings():  # levels that its rows did not have are gaps
                cells, gap = model.expected_cells(rows), np.isnan(rows[:, :d])
            sd = np.sqrt(cells.var + cells.noise)[:, :d]
            return np.where(gap, cells.mean[:, :d], rows[:, :d]), np.where(gap, sd, 0.0)

        def drawn(rows: Array, seed: int, number: int) -> Array:
            with no_warnings():
                return np.asarray(model.impute(rows, draws=1, random_state=draw_seed(seed, number))[0])

        def shares(rows: Array, columns: Sequence[int]) -> Shares:
            names = {f"c{j + 1}": j for j in columns}
            with no_warnings():
                told = model.probabilities(rows, columns=names) if names else {}
            found = {j: np.zeros((len(rows), sizes[j])) for j in columns}
            for name, j in names.items():  # a label that no fitted row had has none
                found[j][:, [int(level) for level in model.levels_[j]]] = told[name]
            return found

        return FittedEngine(shape.dims, fills, drawn, shares)

    return fit
