"""Which engines a table is offered beside the linear model, and what each costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lowdim.judge.fills.engines.engine import MOST_ONES, Engine, of_numbers
from lowdim.judge.fills.engines.forest import ForestShape, by_trees
from lowdim.judge.fills.engines.latent import (
    by_factor_groups,
    by_groups,
    by_mixed_model,
    mixed_seconds,
    mixed_shapes,
    mixed_sites,
)
from lowdim.judge.fills.engines.nearest import by_nearest_rows
from lowdim.text.format import count

LEAST_ROWS = 30  # fewer rows than this are left to the linear model
NEAR_ROWS = (6, 16)
LARGE_NEAR_ROWS, LARGE_ROWS = (10,), 1_000  # from so many rows on: each costs the square of the rows
GROUPS, LARGE_GROUPS = (2, 3, 6, 10), (3, 6)  # of mixtures; fewer in a table of so many cells
LARGE_CELLS = 15_000
ROWS_A_GROUP = 10  # rows that a group of a mixture needs at least
MOST_FACTORS = 4  # of each group, and a quarter of the columns
FORESTS = (ForestShape(40, 2, 1.0), ForestShape(40, 1, 1.0))  # single values serve columns with long tails
LARGE_FORESTS = (ForestShape(8, 3, 1 / 3, again=False),)  # a thirtieth of the work
MOST_TREE_COLUMNS = 200
MIXED_MODEL = "mixed model"
MOST_SITES = 600  # numbers, levels and labels together that a mixed model takes


def number_engines(n: int, d: int, gaps: float, label_sizes: Sequence[int] = ()) -> list[Engine]:
    """Those of numbers for n rows of d numbers, with so many gaps a row; trees and near rows see labels too."""
    if n < LEAST_ROWS or d + len(label_sizes) < 2:
        return []
    wide = d + sum(size - 1 for size in label_sizes if size <= MOST_ONES)
    small, q = n * wide < LARGE_CELLS, int(np.clip(d // 4, 1, MOST_FACTORS))
    near = 0.005 + 5e-9 * n * n * (wide + 10)
    found = [
        Engine(f"{K} nearest rows", of_numbers(by_nearest_rows(K), d, label_sizes), near)
        for K in (NEAR_ROWS if n < LARGE_ROWS else LARGE_NEAR_ROWS)
    ]
    for K in [K for K in (GROUPS if small else LARGE_GROUPS) if n >= ROWS_A_GROUP * K and d >= 2]:
        seconds = 0.01 * K + 1e-6 * K * n * (d + gaps**2)
        found.append(Engine(f"mixture of {K} Gaussians", of_numbers(by_groups(K, d), d), seconds))
        seconds, factors = 0.01 * K + 2e-7 * K * n * d * (1 + q), count(q, "factor")
        named = f"mixture of {K} groups with {factors} each"
        found.append(Engine(named, of_numbers(by_factor_groups(K, q), d), seconds))
    for shape in FORESTS if small else LARGE_FORESTS:
        tree = 3e-4 + 7e-9 * n * np.log2(n) * wide * shape.tried
        leaf = f"leaves of {shape.leaf}" if shape.leaf > 1 else "single leaves"
        seconds, trees = float((1 + shape.again) * d * shape.trees * tree), of_numbers(by_trees(shape), d, label_sizes)
        found += [Engine(f"chained trees with {leaf}", trees, seconds)] if wide <= MOST_TREE_COLUMNS else []
    return found


def mixed_engines(n: int, kinds: Sequence[str], sizes: Sequence[int]) -> list[Engine]:
    """The mixed models of all columns, which fill numbers and words; the smallest first."""
    sites = mixed_sites(kinds, sizes)
    if len(kinds) < 2 or sites > MOST_SITES:
        return []
    return [
        Engine(
            f"{MIXED_MODEL} of {count(shape.dims, 'dimension')}{' and clusters' if shape.markers else ''}",
            by_mixed_model(kinds, sizes, shape),
            mixed_seconds(n, kinds, sizes, shape),
        )
        for shape in mixed_shapes(kinds, sites)
    ]
