"""Which engines a table is offered, what each costs, and which of them a budget admits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.judge.fills.dimension import fill_dimension
from lowdim.judge.fills.engines.engine import LINEAR, MIXED_MODEL, MOST_ONES, Engine, EngineFit, OfNumbers
from lowdim.judge.fills.engines.forest import ChainedTrees, ForestShape
from lowdim.judge.fills.engines.latent import LatentEngine, MixedModel, mixed_seconds, mixed_shapes, mixed_sites
from lowdim.judge.fills.engines.linear import TRIAL_TOL, LinearModel, VariationalPCA, WholeGaussian
from lowdim.judge.fills.engines.nearest import NearestRows
from lowdim.judge.fills.words import LABEL_ROWS
from lowdim.judge.row_order import row_order
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.mixtures.mixture import GaussianMixture, MixtureOfFA
from lowdim.text.format import count, duration

if TYPE_CHECKING:
    from lowdim.judge.fills.view import FillView

# linear models
SMALL_CELLS = 100_000  # cells up to which parameters are uncertain enough to count as random
WIDE_COLUMNS, WIDE_CELLS = 60, 1_000_000  # with more columns up to so many: to try every dimension costs more
FILL_SAMPLE = 2_000  # rows from which a large table's number of dimensions is chosen
MOST_DIMENSIONS = 30  # dimensions offered to a small table; those it has no use for are dropped
WHOLE_GAUSSIAN_CELLS = 100_000  # cells up to which it is tried: beyond, its inverses cost more than it wins
ROWS_A_COLUMN = 4  # rows a column from which all directions together, shrunk by nothing, are worth a try
# engines beside them
LEAST_ROWS = 30  # fewer rows than this are left to the linear model
NEAR_ROWS = (6, 16)
LARGE_NEAR_ROWS, LARGE_ROWS = (10,), 1_000  # from so many rows on: each costs the square of the rows
GROUPS, LARGE_GROUPS = (2, 3, 6, 10), (3, 6)  # of mixtures; fewer in a table of so many cells
LARGE_CELLS = 15_000
ROWS_A_GROUP = 10  # rows that a group of a mixture needs at least
MOST_FACTORS = 4  # of each group, and a quarter of the columns
MIXTURE_OPTIONS: dict[str, Any] = {
    "tol": 2e-3,
    "max_iter": 60,
    "n_init": 2,
    "reg_covar": 0.02,  # of the variances about the starts (docs/measurements.md)
    "calibrate": False,  # hidden cells calibrate every engine alike
}
FORESTS = (ForestShape(40, 2, 1.0), ForestShape(40, 1, 1.0))  # single values serve columns with long tails
LARGE_FORESTS = (ForestShape(8, 3, 1 / 3, again=False),)  # a thirtieth of the work
MOST_TREE_COLUMNS = 200
MOST_SITES = 600  # numbers, levels and labels together that a mixed model takes
# the budget
SECONDS_A_GAP, LEAST_BUDGET, MOST_BUDGET = 0.1, 2.0, 40.0  # forecast for the engines, where nothing else is asked


# linear models ------------------------------------------------------------------------------------------
def linear_engines(
    view: FillView, q: int | None, model: LinearGaussian | None, *, standardize: bool, labels: bool, seed: int
) -> list[Engine]:
    """The linear models of the numbers, of which hidden cells choose one; a small table's labels are seen too where
    `labels` says so, as zeros and ones."""
    X, (n, d) = view.numbers, view.numbers.shape
    fits: list[EngineFit]
    if model is not None:
        fits = [partial(LinearModel, model=model)]
    elif standardize and n * d <= (WIDE_CELLS if d > WIDE_COLUMNS else SMALL_CELLS):
        fits = small_models(n, d, q)
    else:
        if q is None:
            rows = row_order(X, ~np.isnan(X), seed)[:FILL_SAMPLE]
            q = fill_dimension(X[rows], standardize=standardize, random_state=seed).n_components
        fits = [partial(LinearModel, model=ProbabilisticPCA(q, standardize=standardize, tol=TRIAL_TOL / n))]
    found = [Engine(LINEAR, partial(OfNumbers, fit=fit, d=d, bounded=model is None)) for fit in fits]
    sizes = view.sizes[d:]
    ones = sum(size - 1 for size in sizes if size <= MOST_ONES)
    if labels and ones and n * (d + ones) <= SMALL_CELLS:
        seen = (partial(OfNumbers, fit=fit, d=d, sizes=sizes, bounded=True) for fit in small_models(n, d + ones))
        found += [Engine(LINEAR, fit) for fit in seen]
    return found


def small_models(n: int, d: int, q: int | None = None) -> list[EngineFit]:
    """The linear models worth trying on a small table."""
    if q is not None:
        return [partial(VariationalPCA, q=q)]
    tries: list[EngineFit] = [partial(VariationalPCA, q=most_dimensions(n, d))]
    return [*tries, WholeGaussian] if takes_whole(n, d) else tries


def most_dimensions(n: int, d: int) -> int:
    """How many dimensions a small table is offered."""
    return max(min(MOST_DIMENSIONS, d - 1, n - 2), 0)


def takes_whole(n: int, d: int) -> bool:
    """Whether a small table has rows enough for one Gaussian of all its columns."""
    return n >= ROWS_A_COLUMN * d and 2 <= d <= MOST_DIMENSIONS and n * d <= WHOLE_GAUSSIAN_CELLS


# engines beside them ------------------------------------------------------------------------------------
def offered_engines(view: FillView, *, numbers: bool, quick: bool) -> list[Engine]:
    """The engines that may be tried: mixed models, which serve words too (quickly the smallest), then the cheapest."""
    n, d = len(view.rows), view.d
    gaps = 1.0 + float(np.isnan(view.numbers).sum()) / n
    found = sorted(number_engines(n, d, gaps, view.sizes[d:]) if numbers else [], key=lambda engine: engine.seconds)
    if n >= LABEL_ROWS and view.is_mixed and (numbers or view.words):
        found = [*mixed_engines(n, view.kinds, view.sizes)[: 1 if quick else None], *found]
    return found


def number_engines(n: int, d: int, gaps: float, label_sizes: Sequence[int] = ()) -> list[Engine]:
    """Those of numbers for n rows of d numbers, with so many gaps a row; trees and near rows see labels too."""
    if n < LEAST_ROWS or d + len(label_sizes) < 2:
        return []
    wide = d + sum(size - 1 for size in label_sizes if size <= MOST_ONES)
    small, q = n * wide < LARGE_CELLS, int(np.clip(d // 4, 1, MOST_FACTORS))
    found = []

    def offer(name: str, fit: EngineFit, seconds: float, sizes: Sequence[int] = (), bounded: bool = False) -> None:
        found.append(Engine(name, partial(OfNumbers, fit=fit, d=d, sizes=sizes, bounded=bounded), float(seconds)))

    for K in NEAR_ROWS if n < LARGE_ROWS else LARGE_NEAR_ROWS:
        offer(f"{K} nearest rows", partial(NearestRows, K=K), 0.005 + 5e-9 * n * n * (wide + 10), label_sizes)
    for K in [K for K in (GROUPS if small else LARGE_GROUPS) if n >= ROWS_A_GROUP * K and d >= 2]:
        groups = partial(LatentEngine, model=GaussianMixture(K, **MIXTURE_OPTIONS), n_components=d)
        offer(f"mixture of {K} Gaussians", groups, 0.01 * K + 1e-6 * K * n * (d + gaps**2), bounded=True)
        groups = partial(LatentEngine, model=MixtureOfFA(K, q, **MIXTURE_OPTIONS), n_components=q)
        name = f"mixture of {K} groups with {count(q, 'factor')} each"
        offer(name, groups, 0.01 * K + 2e-7 * K * n * d * (1 + q), bounded=True)
    for shape in (FORESTS if small else LARGE_FORESTS) if wide <= MOST_TREE_COLUMNS else ():
        tree = 3e-4 + 7e-9 * n * np.log2(n) * wide * shape.tried
        leaf = f"leaves of {shape.leaf}" if shape.leaf > 1 else "single leaves"
        seconds = (1 + shape.again) * d * shape.trees * tree
        offer(f"chained trees with {leaf}", partial(ChainedTrees, shape=shape), seconds, label_sizes)
    return found


def mixed_engines(n: int, kinds: Sequence[str], sizes: Sequence[int]) -> list[Engine]:
    """The mixed models of all columns, which fill numbers and words; the smallest first."""
    sites = mixed_sites(kinds, sizes)
    if len(kinds) < 2 or sites > MOST_SITES:
        return []
    return [
        Engine(
            f"{MIXED_MODEL} of {count(shape.dims, 'dimension')}{' and clusters' if shape.markers else ''}",
            partial(MixedModel, kinds=kinds, sizes=sizes, shape=shape),
            mixed_seconds(n, kinds, sizes, shape),
        )
        for shape in mixed_shapes(kinds, sites)
    ]


# the budget ---------------------------------------------------------------------------------------------
def admitted(
    offered: Sequence[Engine], fits: int, budget: float | None, view: FillView
) -> tuple[list[Engine], dict[str, str]]:
    """The engines that fit in the budget together, each fitted so often and once to all rows; why others do not."""
    if budget is None:
        gaps = int(np.isnan(view.numbers).sum()) + sum(c.gaps for c in view.words.values())
        budget = float(np.clip(SECONDS_A_GAP * gaps, LEAST_BUDGET, MOST_BUDGET))
    kept, skipped, left = list[Engine](), dict[str, str](), budget
    for engine in offered:
        seconds = (fits + 1) * engine.seconds
        if seconds <= left:
            kept.append(engine)
            left -= seconds
        else:
            of = f"{duration(left)} of the budget of {duration(budget)} is left"
            skipped[engine.name] = f"not tried: takes about {duration(seconds)}, {of}"
    return kept, skipped
