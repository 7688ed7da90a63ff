"""What a latent model says of the cells of a table: all that a map is asked and a model alone can answer.

This is what any model can that places rows with gaps: where each row lies, what lives at a place, what a row's gaps
hold, and, one cell hidden after the other, each cell given the others of its row. Models with closed forms answer the
same questions faster, and more of them: linear Gaussians here, mixed ones in `judge/mixed/mixed_cells.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtr

from lowdim.judge.cells import CellBeliefs, FramedGaussian, all_surprises, distances, framed_gaussian, given_others
from lowdim.judge.maps.map_columns import MapColumn, lines_of
from lowdim.judge.outliers.law import LEAST_ROWS_OF_LAW, RowLaw, judged_cells, model_law
from lowdim.judge.outliers.partition import ALL_BULK, Partition, bulk_law, without_wrong
from lowdim.judge.stability import ResampledMap, refitted_map, reported_weights
from lowdim.maths.linalg import Array, Mask
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Cells, Posterior
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.sources.arrays import ArraySource
from lowdim.sources.source import Block
from lowdim.table.table import Table

BEYOND_SEEN = 1.5  # times the variance of a column's seen cells: from there on a model gives it more than they show
NO_SHARES: Mapping[int, Array] = MappingProxyType({})
IntervalRule = Callable[[float], tuple[Array, Array]]  # the ends of intervals that leave out so much on each side
NO_INTERVALS: Mapping[int, IntervalRule] = MappingProxyType({})


class ExpectedCells(NamedTuple):
    """What a model expects of every cell of some rows, n x d, in its columns' units."""

    mean: Array  # of levels between their values, of several labels 0
    sd: Array  # of a new cell
    shares: Mapping[int, Array] = NO_SHARES  # of each column of levels: their probabilities, n x levels
    fill: Array | None = None  # what best fills a gap, where that is not the mean
    intervals: Mapping[int, IntervalRule] = NO_INTERVALS  # of columns whose cells are far from normal: amounts


@dataclass(frozen=True, eq=False)
class LatentCells:
    """A fitted model and the columns it has; X are rows of these in the table's numbers, NaN at gaps."""

    model: LatentModel[Any, Any]
    columns: tuple[MapColumn, ...]
    unit: Array | float = 1.0  # what the table was divided by before the fit

    def source(self, X: Array) -> ArraySource:
        """Rows as the model takes them."""
        return ArraySource(
            X if np.all(self.unit == 1.0) else X / self.unit, columns=tuple(c.name for c in self.columns)
        )

    def posterior(self, X: Array, partition: Partition = ALL_BULK) -> Posterior:
        """Where each row lies, and how surely; by its cells that are not wrong, where these would bend it."""
        return self.model.posterior(self.source(X))

    def at(self, Z: Array) -> ExpectedCells:
        """What lives at some places."""
        return self._in_units(self.model.decode(Z))

    def in_rows(self, X: Array) -> ExpectedCells:
        """Every cell of some rows, seen or not, as the seen ones say: what fills their gaps."""
        return self._in_units(self.model.predict_cells(self.source(X)))

    def _in_units(self, cells: Cells) -> ExpectedCells:
        return ExpectedCells(cells.mean * self.unit, np.sqrt(cells.var + cells.noise) * self.unit)

    def beliefs(self, rows: Block, law: RowLaw | None) -> CellBeliefs:
        """Every cell given the other cells of its row, by hiding one after the other: for single rows."""
        x, seen = np.where(rows.seen, rows.x, np.nan), rows.seen
        many, d = x.shape
        each = np.repeat(x, d + 1, axis=0).reshape(many, d + 1, d)
        each[:, 1 + np.arange(d), np.arange(d)] = np.nan
        told, j = self.in_rows(each.reshape(-1, d)), np.arange(d)
        mean, sd = (part.reshape(many, d + 1, d)[:, 1 + j, j] for part in (told.mean, told.sd))
        far, none = np.where(seen, (x - mean) / sd, 0.0), np.zeros(many)
        return CellBeliefs(
            seen=seen,
            mean=mean,
            sd=sd,
            surprise=far,
            p=2.0 * ndtr(-np.abs(far)),
            share=np.ones(seen.shape),
            likeliest=np.zeros(seen.shape),
            likeliest_share=np.zeros(seen.shape),
            D2=none,
            T2=none,
            Q=none,
            rank=none.astype(np.intp),
            p_D2=none + 1.0,
        )

    @property
    def gaussian(self) -> FramedGaussian | None:
        """The linear Gaussian that the model is, for cells of the table, by which a page can work out cells itself;
        None of any other."""
        return None

    @property
    def instead(self) -> Array:
        """What stands for a cell of each column where one asks what it tells of others: a gap."""
        return np.full(len(self.columns), np.nan)

    # what models with closed forms answer beside: the main job's are such ------------------------------------------
    title: ClassVar[str]
    method: ClassVar[str]  # its short name in the registry
    # whether it has a law of rows' distances; those without have intervals that hold
    judges_rows: ClassVar[bool] = False
    has_axes: ClassVar[bool] = False  # whether `resampled` knows what drives them
    places_vary: ClassVar[bool] = True  # without steps: few answers put many rows at one place, with gaps between them
    surprise_note: ClassVar[str] = (
        ""  # what else a surprise is, and what else a row is rebuilt by, than those of numbers
    )
    rebuilt_note: ClassVar[str] = ""
    shared_note: ClassVar[str] = ""  # of what the axes have a share, where that is not the columns' variance
    loading_note: ClassVar[str]  # what its loadings are, where that is not how columns move along the axes

    def fitted(self, table: Table) -> str:
        """What was fitted, and to which rows where these are not all."""
        raise NotImplementedError

    def blurred(self, X: Array, rng: np.random.Generator) -> Array:
        """Where each row may lie as well, for what its cells leave open."""
        raise NotImplementedError

    @property
    def plain_law(self) -> RowLaw:
        """The law of rows from the model."""
        raise NotImplementedError

    def own_law(self, X: Array, held: Mask | None = None, far: Mask | None = None, *, sharply: bool = False) -> RowLaw:
        """The law that the bulk of a table's own rows sets, beside cells `held` out of the fit and `far` rows; where a
        model judges cells by few axes, `sharply` asks a sharper one."""
        raise NotImplementedError

    def surprises(self, X: Array) -> Array:
        """How far each cell is from what the others of its row say, in standard deviations; 0 at gaps."""
        raise NotImplementedError

    def widths(self, X: Array) -> Array:
        """How wide an interval must be to hold each cell, in standard deviations; 0 at gaps."""
        raise NotImplementedError

    def usual(self, seen: Mask) -> Posterior:
        """How surely rows that show these cells are usually placed."""
        raise NotImplementedError

    @property
    def means(self) -> Array:
        """The mean of every column of measurements, NaN of others: what a row holds of which nothing is known."""
        return np.asarray(self.in_rows(np.full((1, len(self.columns)), np.nan)).mean[0])

    @property
    def loadings(self) -> Array:
        """How each line of a column changes with each axis, lines x q."""
        raise NotImplementedError

    @property
    def variances(self) -> Array:
        """Of the table along each axis."""
        raise NotImplementedError

    def loadings_of(self, weights: Array) -> Array:
        """What weights of the map's axes, ... x q, are as loadings: ... lines x q."""
        raise NotImplementedError

    @property
    def axis_unit(self) -> Array | float:
        """What weights are multiplied by, so that variances along axes compare."""
        return 1.0

    @property
    def line_shares(self) -> Array:
        """Of the lines of a column of several labels how many rows have each label; 1 of all other lines."""
        return np.ones(len(lines_of(self.columns)))

    @property
    def shares(self) -> tuple[float, ...]:
        """Each axis' share of the variation."""
        raise NotImplementedError

    @property
    def noise_share(self) -> float:
        """The share of the variation that is column-by-column noise."""
        raise NotImplementedError

    def resampled(
        self, X: Array, table: Table, partition: Partition, bootstraps: int, seed: int, every_row: bool = False
    ) -> ResampledMap:
        """The model with the rows X of a table drawn again; `every_row` had a part in its fit, also of a long table."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class GaussianCells(LatentCells):
    """A linear-Gaussian model and its columns."""

    model: LinearGaussian

    title = "PPCA"
    method = "ppca"
    judges_rows = True
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
    def _own(self) -> FramedGaussian:
        """The model in the units it works in."""
        return framed_gaussian(self.model)

    @cached_property
    def gaussian(self) -> FramedGaussian:
        """The same for cells of the table."""
        g = self._own
        return g._replace(frame=g.frame._replace(shift=g.frame.shift * self.unit, scale=g.frame.scale / self.unit))

    def beliefs(self, rows: Block, law: RowLaw | None) -> CellBeliefs:
        """Every cell given the others of its row that do not contradict it; levels are where they count as being."""
        g, law, seen = self.gaussian, law or self.plain_law, rows.seen
        block = g.inward(rows._replace(x=law.counted(rows.x)))
        cells, judged = given_others(g, block.x, block.mask), judged_cells(g, law, rows.x, seen)
        told, by = judged.told, judged.by
        T2, Q, rank = distances(g, cells.latent, block.mask)
        many = seen.sum(axis=1)
        rank = np.minimum(rank, many)
        none = np.zeros(seen.shape)
        return CellBeliefs(
            seen=seen,
            mean=by.frame.outward(np.where(seen, judged.x - told.shift, told.latent.mean @ by.W.T + by.mu)),
            sd=told.sd / by.frame.scale,
            surprise=told.surprise,
            p=judged.p,
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

    def own_law(self, X: Array, held: Mask | None = None, far: Mask | None = None, *, sharply: bool = False) -> RowLaw:
        """The law of the bulk of a table's own rows; few rows have the model's. Cells are judged by the model, or
        `sharply` by what knows more of them than its axes."""
        if len(X) < LEAST_ROWS_OF_LAW:
            return self.plain_law
        mask = ~np.isnan(X)
        return bulk_law(self.gaussian, np.where(mask, X, 0.0), mask, held, far, sharply=sharply)

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

    def loadings_of(self, weights: Array) -> Array:
        """Weights in reported units; of a column to which the model gives clearly more variance than its seen cells
        have, in the spread of these: one that is seen at one end of an axis only would load beyond any correlation."""
        return np.asarray(weights * self._loading_unit[:, None])

    @cached_property
    def _loading_unit(self) -> Array:
        g = self._own
        given = ((g.W**2).sum(axis=1) + g.psi) * g.frame.report**2  # 1 where columns are standardised by what is seen
        beyond = (given > BEYOND_SEEN) & bool(self.model.get_params().get("standardize"))
        return np.asarray(g.frame.report / np.where(beyond, np.sqrt(given), 1.0))

    @property
    def axis_unit(self) -> Array | float:
        """Factor analysis orders its axes by noise-scaled variance."""
        psi = self._own.psi
        return 1.0 / np.sqrt(psi) if np.std(psi) > 1e-9 * np.mean(psi) else 1.0

    @property
    def shares(self) -> tuple[float, ...]:
        """Each axis' share of the table's variance."""
        g = self._own
        total = float((self.loadings_of(g.W) ** 2).sum()) + float((g.psi * self._loading_unit**2).sum())
        squares = (self.loadings_of(reported_weights(self.model, g.W)) ** 2).sum(axis=0)
        return tuple((squares / total if total > 0 else np.zeros(len(squares))).tolist())

    def resampled(
        self, X: Array, table: Table, partition: Partition, bootstraps: int, seed: int, every_row: bool = False
    ) -> ResampledMap:
        """The model of the table's bulk with its rows drawn again."""
        source = without_wrong(self.source(X), partition, rows=True)
        counted = partition.counted(table.weight)
        return refitted_map(self, source, counted=counted, bootstraps=bootstraps, random_state=seed)


def usual_step(x: Array) -> float:
    """The median of the steps between the different values of a column; 0 where it has one.

    >>> usual_step(np.array([1.0, 3.0, 2.0, 2.0, 9.0]))
    1.0
    """
    steps = np.diff(np.unique(x[~np.isnan(x)]))
    return float(np.median(steps)) if len(steps) else 0.0
