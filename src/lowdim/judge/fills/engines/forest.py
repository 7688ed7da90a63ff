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

from lowdim.judge.fills.engines.engine import FittedEngine, drawing
from lowdim.judge.fills.engines.nearest import LEAST_SPREAD, NearestRows
from lowdim.maths.linalg import Array

SWEEPS = 3  # over the gaps of rows that were not fitted
START_ROWS = 8  # nearest rows that the gaps start from


class ForestShape(NamedTuple):
    """How many trees, the fewest values in a leaf, the share of the columns tried at a split, and how often grown."""

    trees: int
    leaf: int
    tried: float
    again: bool = True  # grown once more on the filled table; without that half the work, and a little less near


class Forest:
    """Trees that predict y from x, and what every leaf holds."""

    def __init__(self, x: Array, y: Array, shape: ForestShape, seed: int) -> None:
        from sklearn import config_context
        from sklearn.tree import ExtraTreeRegressor

        single, target = np.ascontiguousarray(x, dtype=np.float32), np.ascontiguousarray(y[:, None])
        self.values = y
        self.trees: list[Any] = []  # as scikit-learn has them
        self.order: list[NDArray[np.intp]] = []  # the training values' places, by leaf
        self.first: list[NDArray[np.intp]] = []  # where each node's begin
        self.size: list[NDArray[np.intp]] = []
        for t in range(shape.trees):
            one = ExtraTreeRegressor(
                min_samples_leaf=shape.leaf, max_features=shape.tried, random_state=shape.trees * seed + t
            )
            with config_context(skip_parameter_validation=True):  # which takes as long as growing a small tree
                tree = one.fit(single, target, check_input=False).tree_
            at = tree.apply(single)
            self.trees.append(tree)
            self.order.append(np.argsort(at, kind="stable"))
            self.size.append(np.bincount(at, minlength=tree.node_count))
            self.first.append(np.cumsum(self.size[t]) - self.size[t])
        self.mean = [tree.value[:, 0, 0].copy() for tree in self.trees]  # of the values of each node
        self.variance = [np.maximum(tree.impurity, 0.0) for tree in self.trees]

    def mean_and_variance(self, x: Array) -> tuple[Array, Array]:
        """Of the law that the leaves of these rows hold."""
        single = np.ascontiguousarray(x, dtype=np.float32)
        leaf = [tree.apply(single) for tree in self.trees]
        mean = np.stack([m[at] for m, at in zip(self.mean, leaf, strict=True)])
        within = np.stack([v[at] for v, at in zip(self.variance, leaf, strict=True)])
        return mean.mean(axis=0), within.mean(axis=0) + mean.var(axis=0)

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


class ChainedTrees(FittedEngine):
    """Forests of a table, grown when their column is first asked for, in units of the columns' spread."""

    def __init__(self, X: Array, shape: ForestShape) -> None:
        self.shape = shape
        self.near = NearestRows(X, START_ROWS)
        self.forests: dict[int, Forest] = {}
        self.table, gaps = self._started(X)
        for j, at in gaps:  # the table is completed by forests that are grown on the way
            forest = self._grown(j)
            self.table[at, j] = forest.mean_and_variance(np.delete(self.table[at], j, axis=1))[0]
            if not shape.again:
                self.forests[j] = forest

    def fills(self, rows: Array) -> tuple[Array, Array]:
        """The mean of each gap, and its standard deviation."""
        z, gaps = self._started(rows)
        sd = np.where(np.isnan(rows), self.near.sd, 0.0)
        for sweep in range(SWEEPS):
            for j, at in gaps:
                z[at, j], variance = self._forest(j).mean_and_variance(np.delete(z[at], j, axis=1))
                if sweep == SWEEPS - 1:
                    sd[at, j] = self.near.sd[j] * np.sqrt(np.maximum(variance, LEAST_SPREAD**2))
        return np.where(np.isnan(rows), self.near.mean + self.near.sd * z, rows), sd

    def drawn(self, rows: Array, seed: int, number: int) -> Array:
        z, gaps = self._started(rows)
        rng = drawing(seed, number)
        for _ in range(SWEEPS):
            for j, at in gaps:
                z[at, j] = self._forest(j).draw(np.delete(z[at], j, axis=1), rng)
        return np.where(np.isnan(rows), self.near.mean + self.near.sd * z, rows)

    def _started(self, rows: Array) -> tuple[Array, list[tuple[int, NDArray[np.intp]]]]:
        """Rows with their gaps on the mean of near rows, and where the gaps are, columns most seen first."""
        z = (rows - self.near.mean) / self.near.sd
        gap, seen = np.isnan(rows), self.near.mask.sum(axis=0)
        for j, donors in self.near.donors(rows).items():
            z[donors.rows, j] = donors.mean_and_sd()[0]
        order = np.argsort(-seen, kind="stable").tolist()  # of the table, not of these rows: each is filled by itself
        return z, [(j, np.flatnonzero(gap[:, j])) for j in order if seen[j] and gap[:, j].any()]

    def _forest(self, j: int) -> Forest:
        """The forest of a column: one without gaps needs it only where other rows have gaps in it."""
        if j not in self.forests:
            self.forests[j] = self._grown(j)
        return self.forests[j]

    def _grown(self, j: int) -> Forest:
        """One that predicts a column from the others, as they are filled by now."""
        seen = self.near.mask[:, j]
        return Forest(np.delete(self.table[seen], j, axis=1), self.table[seen, j], self.shape, j)
