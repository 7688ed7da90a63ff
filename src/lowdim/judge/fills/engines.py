"""The engines of `fill` that bend and fall into groups, beside the straight models: which there are, and their cost.

Straight models fill a cell by a line through the row's other cells. Where a table bends or falls into groups another
engine may do better: the mean of near rows, a mixture whose parts each have lines of their own, a bent sheet, or trees
grown for each column. None is the default: `judge/fills/contest.py` lets hidden cells decide.

An engine has rungs: the same engine with more parts, or from more rows. Seconds are forecast from the table's size and
the clock is never read, so that the same command gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lowdim.judge.fills.models import FillModel, by_latent_model, within_reach
from lowdim.judge.fills.nearest import by_nearest_rows
from lowdim.judge.fills.trees import ForestShape, by_trees
from lowdim.maths.linalg import Array
from lowdim.models.mixtures.presets import GaussianMixture, MixtureOfFA
from lowdim.models.nonlinear.gtm import GTM
from lowdim.text.format import count

LEAST_ROWS = 30  # fewer rows than this are left to the straight models
NEAR_ROWS = (6, 16)
LARGE_NEAR_ROWS, LARGE_ROWS = (10,), 1_000  # from so many rows on: each costs the square of the rows
PARTS, LARGE_PARTS = (2, 3, 4, 6, 10), (3, 6)  # of mixtures; fewer where forests are small
ROWS_A_PART = 10  # rows that a part of a mixture needs at least
MIXTURE_PASSES, MIXTURE_TOL, MIXTURE_STARTS = 60, 2e-3, 2  # of fits made only to fill
MIXTURE_OPTIONS: dict[str, Any] = {
    "tol": MIXTURE_TOL,
    "max_iter": MIXTURE_PASSES,
    "n_init": MIXTURE_STARTS,
    "reg_covar": 0.02,  # of the variances about the starts (docs/measurements.md)
    "calibrate": False,  # hidden cells of every model are compared, and calibrate it, elsewhere
}
MOST_FACTORS = 4  # of each part, and a quarter of the columns
SHEET_NODES, SHEET_BELLS = 15, 6  # a side
SMALL_FORESTS = (ForestShape(40, 2, 1.0), ForestShape(40, 1, 1.0))  # single values serve columns with long tails
LARGE_FORESTS = (ForestShape(8, 3, 1 / 3, again=False),)  # a thirtieth of the work, from so many cells on:
LARGE_FOREST_CELLS = 15_000
MOST_TREE_COLUMNS = 200


class Rung(NamedTuple):
    """One setting of an engine: its words, its fit, and the forecast of its seconds on one core."""

    words: str
    fit: FillModel
    seconds: float


class Engine(NamedTuple):
    """Something that fills gaps, by its name as a person reads it, with its settings from the least to the most."""

    name: str
    rungs: tuple[Rung, ...]

    @property
    def seconds(self) -> float:
        """Of its slowest rung."""
        return max(rung.seconds for rung in self.rungs)


def forecast(engines: Sequence[Engine], heats: int, fits: int, finalists: int) -> float:
    """Seconds of these engines at most: every rung in the heats, the slowest as finalists and for the table itself."""
    slowest = sorted((engine.seconds for engine in engines), reverse=True)
    rungs = sum(rung.seconds for engine in engines for rung in engine.rungs)
    return heats * rungs + (fits - heats + 1) * sum(slowest[:finalists])


def engines_for(X: Array) -> list[Engine]:
    """The engines that may be tried on a table; none where it has too few rows, or a column only."""
    n, d = X.shape
    if n < LEAST_ROWS or d < 2:
        return []
    gaps = 1.0 + float(np.isnan(X).sum()) / n  # a row
    offered = [_nearest(n, d), _factor_mixtures(n, d), _mixtures(n, d, gaps), _sheets(n, d), _trees(n, d)]
    return [engine for engine in offered if engine.rungs]


def _nearest(n: int, d: int) -> Engine:
    seconds = 0.005 + 5e-9 * n * n * (d + 10)
    near = NEAR_ROWS if n < LARGE_ROWS else LARGE_NEAR_ROWS
    rungs = (Rung(f"the mean of the {K} nearest rows", by_nearest_rows(K), seconds) for K in near)
    return Engine("nearest rows", tuple(rungs))


def _parts(n: int, d: int) -> list[int]:
    """Numbers of parts that are tried."""
    return [K for K in (PARTS if n * d < LARGE_FOREST_CELLS else LARGE_PARTS) if n >= ROWS_A_PART * K]


def _mixtures(n: int, d: int, gaps: float) -> Engine:
    def rung(K: int) -> Rung:
        model = GaussianMixture(K, **MIXTURE_OPTIONS)
        seconds = 0.08 + 1.7e-8 * MIXTURE_PASSES * K * n * (d + gaps**2)
        return Rung(f"a mixture of {K} Gaussian groups", within_reach(by_latent_model(model, d)), seconds)

    return Engine("mixture of Gaussians", tuple(rung(K) for K in _parts(n, d)))


def _factor_mixtures(n: int, d: int) -> Engine:
    q = int(np.clip(d // 4, 1, MOST_FACTORS))

    def rung(K: int) -> Rung:
        model = MixtureOfFA(K, q, **MIXTURE_OPTIONS)
        seconds = 0.1 + 3.5e-9 * MIXTURE_PASSES * K * n * (d * (1 + q))
        return Rung(
            f"a mixture of {K} groups, each with {count(q, 'factor')}", within_reach(by_latent_model(model, q)), seconds
        )

    return Engine("mixture of factor analysers", tuple(rung(K) for K in _parts(n, d) if q < d))


def _sheets(n: int, d: int) -> Engine:
    options: dict[str, Any] = {"weight_prior": "auto", "calibrate": False}  # small tables are over-fitted otherwise
    limits: dict[str, Any] = {"tol": MIXTURE_TOL, "max_iter": MIXTURE_PASSES}
    model = GTM(2, grid=SHEET_NODES, basis=SHEET_BELLS, **options, **limits)
    seconds = 0.05 + 7e-10 * MIXTURE_PASSES * n * SHEET_NODES**2 * (d + 5)
    words = f"a sheet bent through the rows (GTM, {SHEET_BELLS} x {SHEET_BELLS} bells)"
    enough = n > SHEET_BELLS**2 + 1 and d > 2
    return Engine("bent sheet", (Rung(words, within_reach(by_latent_model(model, 2)), seconds),) if enough else ())


def _trees(n: int, d: int) -> Engine:
    def rung(shape: ForestShape) -> Rung:
        seconds = (1 + shape.again) * d * shape.trees * (7e-4 + 1.3e-8 * n * np.log2(n) * d * shape.tried)
        leaf = f", leaves of {shape.leaf} or more" if shape.leaf > 1 else ", a leaf for each value"
        words = f"chained trees, a forest for each column that predicts it from the others{leaf}"
        return Rung(words, by_trees(shape), float(seconds))

    shapes = SMALL_FORESTS if n * d < LARGE_FOREST_CELLS else LARGE_FORESTS
    return Engine("chained trees", tuple(rung(shape) for shape in shapes if d <= MOST_TREE_COLUMNS))
