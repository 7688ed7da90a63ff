"""Latent models that fill gaps: any of tables of numbers, and the mixed model of numbers and labels.

The mixed model gives each column its likelihood: one latent Gaussian behind numbers, levels and labels. It fills
numbers and words by one fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from lowdim.judge.fills.engines.engine import FittedEngine, Shares, draw_seed
from lowdim.maths.linalg import Array, centre_and_spread, evenly_spread
from lowdim.models.base.latent import LatentModel
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.table.cell_kinds import AMOUNT, COUNT, LABEL, MARKER, ORDINAL, POSITIVE, REAL
from lowdim.text.messages import no_warnings

FEW_SITES, MANY_SITES = 8, 16  # from which on a mixed model has 4 dimensions, and others 2 and 8
FITTED_CELLS, FITTED_ROWS = 120_000, 1_000  # sites times rows, and rows, that one fit sees: more teach it little
MIXED_TOL, MIXED_PASSES = 1e-3, 25  # nats a row: far below what a fill can show


class LatentEngine(FittedEngine):
    """A latent model fitted in units of the columns' spread: nobody asked for it, so its warnings are not shown, and
    its standard deviations are calibrated like all others."""

    def __init__(self, X: Array, model: LatentModel, n_components: int) -> None:
        self.n_components = n_components
        self.mean, self.sd = centre_and_spread(X)
        with no_warnings():
            self.model = clone(model).fit((X - self.mean) / self.sd)

    def fills(self, rows: Array) -> tuple[Array, Array]:
        with no_warnings():
            filled, spread = self.model.impute((rows - self.mean) / self.sd, return_std=True)
        return np.where(np.isnan(rows), self.mean + self.sd * filled, rows), self.sd * spread

    def drawn(self, rows: Array, seed: int, number: int) -> Array:
        with no_warnings():
            z = (rows - self.mean) / self.sd
            draw = self.model.impute(z, draws=1, random_state=draw_seed(seed, number))[0]
        return np.where(np.isnan(rows), self.mean + self.sd * draw, rows)


# the mixed model ----------------------------------------------------------------------------------------
class MixedShape(NamedTuple):
    """One mixed model: its dimensions, and whether labels are markers of clusters."""

    dims: int
    markers: bool = False


def mixed_shapes(kinds: Sequence[str], sites: int) -> list[MixedShape]:
    """The mixed models worth a try, by about how many sites the columns are made of."""
    dims = [min(2, max(sites - 1, 1))] if sites < FEW_SITES else [4] if sites < MANY_SITES else [2, 4, 8]
    shapes = [MixedShape(q) for q in dims]
    return [shapes[0], MixedShape(min(dims[-1], 4), markers=True), *shapes[1:]] if LABEL.word in kinds else shapes


def mixed_sites(kinds: Sequence[str], sizes: Sequence[int]) -> int:
    """About how many sites these columns are made of: one a number, one a label but the last, more for levels."""
    return sum(max(size - 1, 1) for size in sizes) + 3 * list(kinds).count(ORDINAL.word)


def fitted_rows(n: int, sites: int) -> int:
    """How many of n rows a mixed model is fitted to."""
    return int(min(n, FITTED_ROWS, max(FITTED_CELLS / max(sites, 1), 200)))


def mixed_seconds(n: int, kinds: Sequence[str], sizes: Sequence[int], shape: MixedShape) -> float:
    """Of one fit and its predictions, forecast: labels and levels take rounds that numbers and markers do without.

    The factors were measured on tables of 7 to 178 sites and 2 to 8 dimensions.
    """
    sites = mixed_sites(kinds, sizes)
    fast = (REAL.word, POSITIVE.word, AMOUNT.word, COUNT.word, LABEL.word if shape.markers else MARKER.word)
    bent = sum(max(size - 1, 1) for kind, size in zip(kinds, sizes, strict=True) if kind not in fast)
    fit = max(3e-4 + 2e-6 * sites, bent * (1.5e-5 + 3e-6 * shape.dims))  # of a row that is fitted
    told = max(5e-5, bent * (7e-7 + 2.2e-7 * shape.dims))  # of a row that is filled
    return float(0.02 + fitted_rows(n, sites) * fit + n * told)


class MixedModel(FittedEngine):
    """A mixed model of all columns; `sizes` are the numbers of labels, 0 for the numbers, which come first."""

    tells_labels = True

    def __init__(self, rows: Array, kinds: Sequence[str], sizes: Sequence[int], shape: MixedShape) -> None:
        self.n_components, self.sizes, self.d = shape.dims, sizes, list(sizes).count(0)
        likelihoods = tuple(MARKER.word if kind == LABEL.word and shape.markers else kind for kind in kinds)
        self.model = MixedFactorAnalysis(
            shape.dims, likelihoods=likelihoods, calibrate=False, tol=MIXED_TOL, max_iter=MIXED_PASSES
        )
        with no_warnings():  # nobody asked for it, so it warns of nothing
            self.model.fit(rows[evenly_spread(len(rows), fitted_rows(len(rows), mixed_sites(kinds, sizes)))])

    def fills(self, rows: Array) -> tuple[Array, Array]:
        with no_warnings():  # levels that its rows did not have are gaps
            cells = self.model.expected_cells(rows)
        d, gap = self.d, np.isnan(rows[:, : self.d])
        sd = np.sqrt(cells.var + cells.noise)[:, :d]
        return np.where(gap, cells.mean[:, :d], rows[:, :d]), np.where(gap, sd, 0.0)

    def drawn(self, rows: Array, seed: int, number: int) -> Array:
        """Numbers and labels."""
        with no_warnings():
            return np.asarray(self.model.impute(rows, draws=1, random_state=draw_seed(seed, number))[0])

    def shares(self, rows: Array, columns: Sequence[int]) -> Shares:
        names = {f"c{j + 1}": j for j in columns}
        with no_warnings():
            told = self.model.probabilities(rows, columns=names) if names else {}
        found = {j: np.zeros((len(rows), self.sizes[j])) for j in columns}
        for name, j in names.items():  # a label that no fitted row had has none
            found[j][:, [int(level) for level in self.model.levels_[j]]] = told[name]
        return found
