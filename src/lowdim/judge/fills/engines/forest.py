"""Gaps filled by chained trees: a forest for each column, which predicts it from the others.

The gaps start from the nearest rows; then column by column, those with the fewest gaps first, a forest of extremely
randomised trees is grown on the rows in which the column is seen and fills those in which it is not, round after
round. Rows that were not fitted go the same way with the forests as they are.

What a leaf holds is the law of a value that falls into it: a fill is the mean over the trees, its spread that of the
leaves' values about it, and a draw takes a tree at random and one of the values of its leaf, the other gaps of the row
drawn likewise.

Reference: Stekhoven and Buehlmann, MissForest: non-parametric missing value imputation for mixed-type data,
Bioinformatics 28 (2012); Geurts, Ernst and Wehenkel, Extremely randomized trees, Machine Learning 63 (2006);
Doove, van Buuren and Dusseldorp, Recursive partitioning for missing data imputation in the presence of interaction
effects, Computational Statistics and Data Analysis 72 (2014), for the draws.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowdim.judge.fills.engines.engine import EngineFit, FittedEngine, drawing
from lowdim.judge.fills.engines.nearest import LEAST_SPREAD, nearest_rows
from lowdim.maths.linalg import Array

ROUNDS = 1  # of growing before the forests that stay: another changes little after a start from near rows
SWEEPS = 3  # over the gaps of rows that were not fitted
START_ROWS = 8  # nearest rows that the gaps start from


class ForestShape(NamedTuple):
    """How many trees, the fewest values in a leaf, the share of the columns tried at a split, and how often grown."""

    trees: int
    leaf: int
    tried: float
    again: bool = True  # grown once more on the filled table; without that half the work, and a little less near


class Forest(NamedTuple):
    """The trees of one column: what every leaf holds."""

    trees: list[Any]  # as scikit-learn has them
    mean: list[Array]  # of the values of each node
    variance: list[Array]
    order: list[NDArray[np.intp]]  # the training values' places, by leaf
    first: list[NDArray[np.intp]]  # where each node's begin
    size: list[NDArray[np.intp]]
    values: Array

    def leaves(self, x: Array) -> NDArray[np.intp]:
        """The leaf of each row, trees x rows."""
        single = np.ascontiguousarray(x, dtype=np.float32)
        return np.stack([tree.apply(single) for tree in self.trees])

    def mean_and_variance(self, x: Array) -> tuple[Array, Array]:
        """Of the law that the leaves of these rows hold."""
        leaf = self.leaves(x)
        mean = np.stack([m[at] for m, at in zip(self.mean, leaf, strict=True)])
        within = np.stack([v[at] for v, at in zip(self.variance, leaf, strict=True)])
        return mean.mean(axis=0), within.mean(axis=0) + mean.var(axis=0)

    def means(self, x: Array) -> Array:
        return self.mean_and_variance(x)[0]

    def draw(self, x: Array, rng: np.random.Generator) -> Array:
        """For each row a tree at random, and one of the values of its leaf."""
        tree, place = rng.integers(len(self.trees), size=len(x)), rng.random(len(x))
        out, single = np.empty(len(x)), np.ascontiguousarray(x, dtype=np.float32)
        for t in np.unique(tree):
            own = np.flatnonzero(tree == t)
            at = self.trees[t].apply(single[own])
            step = np.minimum((place[own] * self.size[t][at]).astype(np.intp), self.size[t][at] - 1)
            out[own] = self.values[self.order[t][self.first[t][at] + step]]
        return out


def grow(x: Array, y: Array, shape: ForestShape, seed: int) -> Forest:
    """A forest that predicts y from x."""
    from sklearn import config_context
    from sklearn.tree import ExtraTreeRegressor

    single, target = np.ascontiguousarray(x, dtype=np.float32), np.ascontiguousarray(y[:, None])
    grown, order, first, size = [], [], [], []
    for t in range(shape.trees):
        one = ExtraTreeRegressor(
            min_samples_leaf=shape.leaf, max_features=shape.tried, random_state=shape.trees * seed + t
        )
        with config_context(skip_parameter_validation=True):  # which takes as long as growing a small tree
            tree = one.fit(single, target, check_input=False).tree_
        at = tree.apply(single)
        many = np.bincount(at, minlength=tree.node_count)
        grown.append(tree)
        order.append(np.argsort(at, kind="stable"))
        size.append(many)
        first.append(np.cumsum(many) - many)
    mean = [tree.value[:, 0, 0].copy() for tree in grown]
    variance = [np.maximum(tree.impurity, 0.0) for tree in grown]
    return Forest(grown, mean, variance, order, first, size, y)


def others(table: Array, j: int) -> Array:
    """The columns of a table but one."""
    return np.delete(table, j, axis=1)


class ChainedTrees:
    """Forests of a table, grown when their column is first asked for, in units of the columns' spread."""

    def __init__(self, X: Array, shape: ForestShape) -> None:
        self.shape = shape
        self.near = nearest_rows(X)
        self.grown: dict[int, Forest] = {}
        self.table = self._completed(X)

    def fills(self, rows: Array) -> tuple[Array, Array]:
        """The mean of each gap, and its standard deviation."""
        z, gaps = self._started(rows)
        sd = np.where(np.isnan(rows), self.near.sd, 0.0)
        for sweep in range(SWEEPS):
            for j, at in gaps:
                z[at, j], variance = self._forest(j).mean_and_variance(others(z[at], j))
                if sweep == SWEEPS - 1:
                    sd[at, j] = self.near.sd[j] * np.sqrt(np.maximum(variance, LEAST_SPREAD**2))
        return self._outward(rows, z), sd

    def drawn(self, rows: Array, seed: int, number: int) -> Array:
        """A value drawn for each gap, those of a row jointly."""
        z, gaps = self._started(rows)
        rng = drawing(seed, number)
        for _ in range(SWEEPS):
            for j, at in gaps:
                z[at, j] = self._forest(j).draw(others(z[at], j), rng)
        return self._outward(rows, z)

    def _completed(self, X: Array) -> Array:
        """The table with its gaps filled, by forests that are grown on the way."""
        z, gaps = self._started(X)
        for _ in range(ROUNDS):
            for j, at in gaps:
                forest = self._grow(z, j)
                z[at, j] = forest.means(others(z[at], j))
                if not self.shape.again:
                    self.grown[j] = forest
        return z

    def _forest(self, j: int) -> Forest:
        """The forest of a column: one without gaps needs it only where other rows have gaps in it."""
        if j not in self.grown:
            self.grown[j] = self._grow(self.table, j)
        return self.grown[j]

    def _grow(self, z: Array, j: int) -> Forest:
        seen = self.near.mask[:, j]
        return grow(others(z[seen], j), z[seen, j], self.shape, j)

    def _started(self, rows: Array) -> tuple[Array, list[tuple[int, NDArray[np.intp]]]]:
        """Rows with their gaps on the mean of near rows, and where the gaps are, columns most seen first."""
        z = (rows - self.near.mean) / self.near.sd
        gap, seen = np.isnan(rows), self.near.mask.sum(axis=0)
        for j, donors in self.near.donors(rows, START_ROWS).items():
            z[donors.rows, j] = donors.mean_and_sd()[0]
        order = np.argsort(-seen, kind="stable").tolist()  # of the table, not of these rows: each is filled by itself
        return z, [(j, np.flatnonzero(gap[:, j])) for j in order if seen[j] and gap[:, j].any()]

    def _outward(self, rows: Array, z: Array) -> Array:
        return np.where(np.isnan(rows), self.near.mean + self.near.sd * z, rows)


def by_trees(shape: ForestShape) -> EngineFit:
    """Fill by chained forests of this shape."""

    def fit(X: Array) -> FittedEngine:
        chained = ChainedTrees(X, shape)
        return FittedEngine(0, chained.fills, chained.drawn)

    return fit
