"""What a linear-Gaussian model says of the cells of a table, in closed form (`judge/cells.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lowdim.judge.axes import AxisCard, axes
from lowdim.judge.cells import CellBeliefs, FramedGaussian, all_surprises, distances, framed_gaussian, given_others
from lowdim.judge.maps.latent_cells import ExpectedCells, LatentCells
from lowdim.judge.outliers.law import LEAST_ROWS_OF_LAW, RowLaw, cell_p_values, model_law
from lowdim.judge.outliers.partition import ALL_BULK, Partition, bulk_law, without_wrong
from lowdim.judge.stability import Refits, Stability, refits, stability
from lowdim.maths.linalg import Array, Mask
from lowdim.models.base.results import Posterior
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Block
from lowdim.table.table import Table


@dataclass(frozen=True, eq=False)
class GaussianCells(LatentCells):
    """A linear-Gaussian model and its columns."""

    model: LinearGaussian

    title = "PPCA"
    method = "ppca"
    has_axes = True
    loading_note = ""

    def fitted(self, table: Table) -> str:
        """What was fitted."""
        return self.title

    def posterior(self, X: Array, partition: Partition = ALL_BULK) -> Posterior:
        """Where each row lies by its cells that are not wrong; far rows by all they have."""
        return self.model.posterior(without_wrong(self.source(X), partition, rows=False))

    def blurred(self, X: Array, rng: np.random.Generator) -> Array:
        """Where each row would lie with its values anywhere within their steps: of a yes or no, anywhere about it."""
        with np.errstate(over="ignore", invalid="ignore"):  # steps of huge numbers may be out of range: these stay
            near = X + rng.uniform(-0.5, 0.5, X.shape) * [usual_step(x) for x in X.T]
        return np.asarray(self.model.transform(self.source(np.where(np.isfinite(near), near, X))))

    @cached_property
    def _gaussian(self) -> FramedGaussian:
        """The model in the units it works in, for cells of the table."""
        g = framed_gaussian(self.model)
        return g._replace(frame=g.frame._replace(shift=g.frame.shift * self.unit, scale=g.frame.scale / self.unit))

    def beliefs(self, rows: Block, law: RowLaw | None, kept: Mask | None = None) -> CellBeliefs:
        """Every cell given the other kept cells of its row; levels are where they count as being."""
        g, law = self._gaussian, law or self.plain_law
        counted = law.counted(rows.x)
        block = g.inward(rows._replace(x=counted))
        cells, seen = given_others(g, block.x, block.mask, kept), rows.seen
        T2, Q, rank = distances(g, cells.latent, block.mask if kept is None else kept)
        many = seen.sum(axis=1)
        rank = np.minimum(rank, many)
        none = np.zeros(seen.shape)
        return CellBeliefs(
            seen=seen,
            mean=g.frame.outward(np.where(seen, block.x - cells.shift, cells.latent.mean @ g.W.T + g.mu)),
            sd=cells.sd / g.frame.scale,
            surprise=cells.surprise,
            p=none + 1.0 if law.cells is None else cell_p_values(cells.surprise, cells.D2, seen, law),
            share=none + 1.0,
            likeliest=none,
            likeliest_share=none,
            D2=cells.D2,
            T2=T2,
            Q=np.where(many > rank, Q, 0.0),
            rank=rank,
            p_D2=law.p_value(cells.D2, many),
        )

    @property
    def plain_law(self) -> RowLaw:
        """That of the model alone."""
        return model_law(self.model)

    def law(self, X: Array) -> RowLaw:
        """That of the model: which rows bent its fit is not known."""
        return self.plain_law

    def own_law(self, X: Array, held: Mask | None = None, far: Mask | None = None) -> tuple[RowLaw, Mask | None]:
        """The law of the bulk of a table's own rows; few rows have the model's."""
        if len(X) < LEAST_ROWS_OF_LAW:
            return self.plain_law, None
        mask = ~np.isnan(X)
        return bulk_law(self._gaussian, np.where(mask, X, 0.0), mask, held, far)

    def surprises(self, X: Array) -> Array:
        """How far each cell is from what the others of its row say, in standard deviations; 0 at gaps."""
        return all_surprises(self.model, self.source(X))

    def widths(self, X: Array) -> Array:
        """How wide an interval must be to hold each cell: as wide as the cell is far."""
        return self.surprises(X)

    def in_rows(self, X: Array) -> ExpectedCells:
        """Every cell of some rows as the seen ones say: of gaps with the doubt about the parameters."""
        source = self.source(X)
        filled, sd = self.model.impute(source, return_std=True)
        mean = np.where(np.isnan(X), filled, self.model.reconstruct(source)) * self.unit
        return ExpectedCells(mean, sd * self.unit)

    def usual(self, seen: Mask) -> Posterior:
        """How surely rows that show these cells are placed."""
        return self.model.posterior(self.source(np.where(seen, self.means, np.nan)))

    @property
    def instead(self) -> Array:
        """Their means: what is said of a cell is a sum over the seen ones."""
        return self.means

    @property
    def means(self) -> Array:
        """The mean of every column."""
        return np.asarray(self.model.mean_ * self.unit)

    @property
    def loadings(self) -> Array:
        """How each column changes with each axis."""
        return np.asarray(self.model.components_.T)

    @property
    def variances(self) -> Array:
        """Of the table along each axis."""
        return np.asarray(self.model.explained_variance_)

    @property
    def noise_share(self) -> float:
        """The share of the variation that is column-by-column noise."""
        return float(self.model.noise_variance_ * len(self.columns) / np.trace(self.model.get_covariance()))

    def resampled(
        self, X: Array, table: Table, partition: Partition, bootstraps: int, seed: int, every_row: bool = False
    ) -> ResampledGaussian:
        """The model of the table's bulk with its rows drawn again."""
        source = without_wrong(self.source(X), partition, rows=True)
        found = refits(self.model, source, bootstraps=bootstraps, random_state=seed)
        return ResampledGaussian(self.model, source, table, found, seed)


def usual_step(x: Array) -> float:
    """The median of the steps between the different values of a column; 0 where it has one.

    >>> usual_step(np.array([1.0, 3.0, 2.0, 2.0, 9.0]))
    1.0
    """
    steps = np.diff(np.unique(x[~np.isnan(x)]))
    return float(np.median(steps)) if len(steps) else 0.0


class ResampledGaussian(NamedTuple):
    """A Gaussian map with its rows drawn again: `X` are those of the bulk."""

    model: LinearGaussian
    X: ArraySource
    table: Table
    refits: Refits
    seed: int

    @property
    def W(self) -> Array:
        """Weights of each refit."""
        return self.refits.W

    def axes(self, level: float, scores: Array) -> tuple[AxisCard, ...]:
        """A card for every axis."""
        return axes(
            self.model,
            self.X,
            resampled_fits=self.refits,
            labels=self.table.labels,
            level=level,
            random_state=self.seed,
        )

    def stability(self) -> Stability:
        """How far the map moves."""
        names = self.table.row_names
        return stability(self.model, self.X, resampled_fits=self.refits, row_names=names, random_state=self.seed)
