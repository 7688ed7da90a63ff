"""What a mixed model says of the cells of a table: numbers, and labels as codes, each by its own likelihood.

How far each row is from what the model expects: with its position m and G the information of its seen cells, each
counted as in an ordinary row,

    T2 = |m|^2 + m' G^-1 m                      the part within the map
    Q  = k + sqrt(2 k) (S - E S) / sd S         the part off it, k = #seen - q

where S sums -2 log p(cell | the others of its row) less its expectation over the cell's values, in units of the spread
that this has: a row whose answers are unlikely given each other. E S and sd S are those of the bulk of the rows.
D2 = T2 + Q. For real columns they behave as those of a Gaussian map, chi-square with q, #seen - q and #seen degrees of
freedom; what is ordinary is said by the bulk of the rows, as there (`judge/outliers/law.py`).

A cell's p is the probability of all values that are no likelier, given the others. Where more cells of a column have
small p than should (an overconfident model), they are raised to the power that puts their lower quantile where it
belongs; real columns and counts have a t law of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr

from lowdim.judge.axes import matched
from lowdim.judge.cells import CellBeliefs, informed_shift, kept_cells, with_rows
from lowdim.judge.maps.latent_cells import ExpectedCells, LatentCells
from lowdim.judge.maps.map_columns import MapColumn, lines_of
from lowdim.judge.mixed.given_others import (
    GivenOthers,
    RowsTold,
    UsualRows,
    cells_at,
    cells_in_rows,
    given_others,
    usual_posterior,
    usual_rows,
)
from lowdim.judge.mixed.row_pulls import MovedParams, RowPulls, leanings, moved_positions, row_pulls, turned
from lowdim.judge.mixed_table import rows_fitted
from lowdim.judge.outliers.law import (
    GAUSSIAN_DOF,
    GAUSSIAN_LAW,
    LEAST_ROWS_OF_LAW,
    UPPER_ROWS,
    UPPER_SHARE,
    CellLaws,
    RowLaw,
    centre_cut,
    most_dof,
    t_law,
)
from lowdim.judge.outliers.partition import ALL_BULK, TAIL_ROWS, Partition, wrong_cells, wrong_rows
from lowdim.judge.stability import ResampledMap
from lowdim.maths.linalg import Array, Index, Mask, evenly_spread, sign_rule
from lowdim.maths.seeds import BOOTSTRAP
from lowdim.models.base.results import Posterior
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.sources.labelled_frames import CodedColumn, CodedSource
from lowdim.sources.source import Block
from lowdim.table.cell_kinds import MARKER, ORDINAL, REAL
from lowdim.table.table import Table

CELL_PARTS = GivenOthers._fields.index("position")  # of what is said of each cell; the rest is of rows
PLACES_SEED, MANY_PLACES = 0, 400  # places of a map, by which the shares of labels are known
LEAST_SCORE = 1e-12  # of a cell that is on the likelier side: seen, and not surprising at all
KEPT_ANSWERS = 3  # of what cells are beside the others of their rows
MIXED_CLOUD_ROWS = 300  # rows whose clouds are kept
LAW_ROWS = 5_000  # rows that set a law
FARTHER, TAILS = 0.2, (100.0, 40.0, 20.0, 12.0, 8.0, 6.0, 4.5, 3.5, 2.5)  # of an upper share; degrees of freedom
LEAST_SPREAD, MOST_SPREAD = 0.1, 30.0  # of a row's standardised surprise
CLOUD_REFITS = 40  # resamplings in which they are placed


@dataclass(frozen=True, eq=False)
class MixedCells(LatentCells):
    """A mixed model, which knows its columns."""

    model: MixedFactorAnalysis
    columns: tuple[MapColumn, ...] = field(init=False)

    title = "Mixed factor analysis"
    method = "mixed"
    judges_rows = True
    has_axes = True
    places_vary = False
    loading_note = (
        "Some columns hold answers, so each column has its own likelihood (mixed factor analysis): a loading is the "
        "correlation of a column's leaning, its latent response, with the axis, and shares of variation are of these "
        "leanings. "
    )
    surprise_note = (
        " Of an answer it is the normal score of the probability of all answers no likelier than it. A row of answers "
        "cannot be touched here, but in `lowdim explore RUN`; `lowdim explain RUN --row NAME --hide COLUMN` says the "
        "same."
    )
    shared_note = " of the columns' latent responses"
    rebuilt_note = " Of an answer the probability of a yes is rebuilt and shown, of levels their mean."

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", columns_of(self.model))

    def fitted(self, table: Table) -> str:
        """What was fitted, with the rows it saw where these are not all."""
        few = len(rows_fitted(table))
        return "mixed factor analysis" + (f" of {few:,} rows spread over the table" if few < table.n else "")

    def source(self, X: Array) -> CodedSource:
        """Rows as the model takes them, with their labels."""
        coded = [CodedColumn(codes, own) for codes, own in zip(X.T, self.model.labels_, strict=True)]
        return CodedSource(coded, tuple(c.name for c in self.columns))

    def posterior(self, X: Array, partition: Partition = ALL_BULK) -> Posterior:
        """Where each row lies by its cells that are not wrong; far rows by all they have."""
        return self.model.posterior(self.source(np.where(partition.cell_mask(*X.shape), np.nan, X)))

    def blurred(self, X: Array, rng: np.random.Generator) -> Array:
        """A draw of each row's place: few answers leave it open, and say nothing of groups."""
        posterior = self.posterior(X)
        root = np.linalg.cholesky(posterior.cov)
        drawn: Array = np.einsum("nij,nj->ni", root, rng.standard_normal(posterior.mean.shape))
        return posterior.mean + drawn

    def at(self, Z: Array) -> ExpectedCells:
        """What lives at some places."""
        return self._expected(cells_at(self.model, Z))

    def in_rows(self, X: Array) -> ExpectedCells:
        """Every cell of some rows, seen or not, as the seen ones say."""
        told = cells_in_rows(self.model, self.source(X))
        return self._expected(told)._replace(fill=np.where(np.isnan(X), told.fill, told.expected.mean))

    def _expected(self, told: RowsTold) -> ExpectedCells:
        cells = told.expected
        return ExpectedCells(cells.mean, np.sqrt(cells.var + cells.noise), told.shares, None, told.intervals)

    # rows beside themselves -----------------------------------------------------------------------------
    @cached_property
    def _usual(self) -> UsualRows:
        return usual_rows(self.model)

    def given_others(self, X: Array, kept: Mask | None = None) -> GivenOthers:
        """Every cell beside what the others of its row say: all of them, or those that are `kept`, whose row it is.

        The last answers are kept: the law, the odd rows and the widths of intervals ask for the same.
        """
        kept = None if kept is None or (kept | np.isnan(X)).all() else kept
        asked = hashlib.sha256(X.tobytes() + (b"" if kept is None else kept.tobytes())).digest()
        if asked not in self._told:
            if len(self._told) >= KEPT_ANSWERS:
                del self._told[next(iter(self._told))]
            self._told[asked] = self._given_others(X, kept)
        return self._told[asked]

    @cached_property
    def _told(self) -> dict[bytes, GivenOthers]:
        return {}

    def _given_others(self, X: Array, kept: Mask | None) -> GivenOthers:
        if kept is None:
            return given_others(self.model, self.source(X), self._usual)
        seen = ~np.isnan(X)
        told = given_others(self.model, self.source(np.where(kept, X, np.nan)), self._usual)
        # each of the others beside the kept cells of its row
        row, column = np.nonzero(seen & ~kept)
        alone = np.where(kept[row], X[row], np.nan)
        alone[np.arange(len(row)), column] = X[row, column]
        beside = given_others(self.model, self.source(alone), self._usual)
        parts: list[Any] = [np.array(part) for part in told]
        for part, own in zip(parts[:CELL_PARTS], beside, strict=False):
            part[row, column] = own[np.arange(len(row)), column]
        return GivenOthers(*parts)

    @cached_property
    def levelled(self) -> Mask:
        """Which columns have levels."""
        return np.array([bool(c.levels) for c in self.columns])

    def beliefs(self, rows: Block, law: RowLaw | None) -> CellBeliefs:
        """Every cell given the others of its row that do not contradict it, and how far each row is as a whole."""
        law, X = law or GAUSSIAN_LAW, np.where(rows.seen, rows.x, np.nan)
        told = self.given_others(X)
        far = mixed_distances(told, law)
        p = law.p_value(far.D2, far.seen)
        if self.levelled.all():  # not below the probability of these very answers, whatever a smooth law says
            p = np.maximum(p, np.exp(self.model.score_samples(self.source(X))))
        kept = rows.seen if law.cells is None else self._kept(X, told, law.cells.cut)
        own = np.flatnonzero((rows.seen & ~kept).any(axis=1))
        if len(own):
            beside = self.given_others(X[own], kept[own])
            told = GivenOthers(*(with_rows(part, own, new) for part, new in zip(told, beside, strict=True)))
        return CellBeliefs(
            seen=told.seen,
            mean=told.mean,
            sd=told.sd,
            surprise=told.surprise,
            p=mixed_cell_p(told, law),
            share=told.share,
            likeliest=told.likeliest,
            likeliest_share=told.likeliest_share,
            D2=far.D2,
            T2=far.T2,
            Q=far.Q,
            rank=far.rank,
            p_D2=p,
        )

    @property
    def plain_law(self) -> RowLaw:
        """That of rows from the model."""
        return GAUSSIAN_LAW

    def own_law(self, X: Array, held: Mask | None = None, far: Mask | None = None, *, sharply: bool = False) -> RowLaw:
        """The law of the bulk of a table's own rows; few have the model's. It is as sharp as it gets."""
        if len(X) < LEAST_ROWS_OF_LAW:
            return GAUSSIAN_LAW
        seen = ~np.isnan(X)
        out = np.zeros(len(X), dtype=bool) if far is None else far
        unheld = seen if held is None or len(X) < TAIL_ROWS else seen & ~held
        every = self.given_others(X)
        told = every if unheld.all() else self.given_others(X, unheld)
        cut = centre_cut(told.surprise, unheld & ~out[:, None], self.levelled)
        kept = self._kept(X, every, cut)
        told = every if np.array_equal(kept, seen) else self.given_others(X, kept)
        cells = seen & ~wrong_cells(told.surprise, seen & ~out[:, None], seen & ~unheld)
        rows = every if np.array_equal(cells, seen) else self.given_others(X, cells)._replace(seen=cells)
        distances = mixed_distances(rows, GAUSSIAN_LAW)
        inside = ~wrong_rows(distances.D2, distances.seen, out)
        bulk: Any = (part[inside] for part in rows)
        judged: Any = (part[inside] for part in told._replace(seen=cells))
        laws = mixed_cell_laws(GivenOthers(*judged), self.levelled)._replace(cut=cut)
        return law_of_rows(GivenOthers(*bulk), self.levelled)._replace(cells=laws)

    def _kept(self, X: Array, told: GivenOthers, cut: Array) -> Mask:
        """The cells of some rows that do not contradict their row."""
        if not np.isfinite(cut).any():
            return told.seen
        first = told.surprise
        return kept_cells(told.seen, cut, first, lambda rows, keep: self.given_others(X[rows], keep).surprise)

    def surprises(self, X: Array) -> Array:
        """How far each cell is from what the others of its row say, as a normal score; 0 at gaps."""
        return self.given_others(X).surprise

    def widths(self, X: Array) -> Array:
        """How wide an interval must be to hold each cell, in standard deviations; 0 at gaps alone."""
        told = self.given_others(X)
        score = np.maximum(-ndtri(np.minimum(told.tail, 0.5)), LEAST_SCORE)
        return np.where(told.seen, score, 0.0)

    def usual(self, seen: Mask) -> Posterior:
        """How surely rows that show these cells are usually placed: what they say depends on the row."""
        return usual_posterior(self.model, self._usual, seen)

    @property
    def means(self) -> Array:
        """The means of real columns; NaN where a column has levels or counts."""
        known = dict(zip(self.model.component_names_, self.model.intercepts_, strict=True))
        return np.array([known.get(c.name, np.nan) if c.cells is REAL else np.nan for c in self.columns])

    # axes: the correlations of latent responses, whose noise has variance 1, with them ---------------------
    @cached_property
    def fitted_lines(self) -> list[int]:
        """The lines that the model has leanings of: not those of labels that no row of its fit has."""
        found, ones = list[int](), lines_of(self.columns)
        for k, column in enumerate(self.columns):
            own = [line for line, (j, _) in enumerate(ones) if j == k]
            if len(own) > 1:
                codes = sorted(int(level) for level in column.levels)
                own = [own[code] for code in (codes[1:] if column.cells is MARKER and len(codes) == 2 else codes)]
            found += own
        return found

    def loadings_of(self, weights: Array) -> Array:
        """Leanings (... x fitted lines x q) as correlations of every line; 0 for a label that no row has."""
        out = np.zeros((*weights.shape[:-2], len(lines_of(self.columns)), weights.shape[-1]))
        out[..., self.fitted_lines, :] = weights / np.sqrt(1.0 + (weights**2).sum(axis=-1, keepdims=True))
        return out

    @property
    def loadings(self) -> Array:
        """The correlation of each line's latent response with each axis."""
        return self.loadings_of(leanings(self.model))

    @property
    def variances(self) -> Array:
        """Sums of squares of the loadings."""
        return np.asarray((self.loadings**2).sum(axis=0))

    @cached_property
    def line_shares(self) -> Array:
        """Of the lines of a column of several labels how many rows of the model have each label; 1 of all others."""
        places = np.random.default_rng(PLACES_SEED).standard_normal((MANY_PLACES, self.model.n_components_))
        usual, out = {k: share.mean(axis=0) for k, share in self.at(places).shares.items()}, []
        for k, code in lines_of(self.columns):
            column = self.columns[k]
            if code is None or len(column.labels) <= 2:
                out.append(1.0)
            else:
                out.append(float(usual[k][column.levels.index(code)]) if code in column.levels else 0.0)
        return np.array(out)

    @cached_property
    def line_weights(self) -> Array:
        """How much each line counts, so that a column counts once: a label by how many rows have it."""
        return column_weights(self.line_shares, [k for k, _ in lines_of(self.columns)])

    @property
    def axis_unit(self) -> Array | float:
        """Those of correlations, a column counted once."""
        weights = leanings(self.model)
        unit = np.sqrt(self.line_weights[self.fitted_lines]) / np.sqrt(1.0 + (weights**2).sum(axis=1))
        return np.asarray(unit)

    @property
    def shares(self) -> tuple[float, ...]:
        """Each axis' share of the variation of the latent responses, a column of several labels counted once."""
        return tuple((self.line_weights @ self.loadings**2 / len(self.columns)).tolist())

    @property
    def noise_share(self) -> float:
        """The share of the latent responses' variation that no axis has."""
        return 1.0 - sum(self.shares)

    def resampled(
        self, X: Array, table: Table, partition: Partition, bootstraps: int, seed: int, every_row: bool = False
    ) -> ResampledMap:
        """The model with its rows drawn again to first order; of a long table those of the main job's fit, or every
        one."""
        at = np.arange(len(X)) if every_row else rows_fitted(table)
        X, weight = np.where(partition.cell_mask(*X.shape), np.nan, X), partition.counted(table.weight)
        source = self.source(X[at])
        source.weight = None if weight is None else weight[at]
        pulls = row_pulls(self.model, source)
        pulls = pulls._replace(
            at=at[pulls.at], simple=True
        )  # moved axes are those that turn least from the fitted ones
        moved = tuple(pulls.resampled(np.random.default_rng([seed, BOOTSTRAP, b])) for b in range(bootstraps))
        W, turned = np.array([there.leanings for there in moved]), self.model.rotation is not None
        fitted = leanings(self.model)
        return PulledMap(self, fitted, W, turned, len(pulls.at), self.model, self.source(X), moved, pulls)


def column_weights(shares: Array, columns: Sequence[int]) -> Array:
    """The weights of lines that make each of their columns count once, a label by its spread."""
    at = np.asarray(columns, dtype=np.intp)
    spread = np.where(shares < 1.0, shares * (1.0 - shares), 1.0)
    total = np.bincount(at, spread)[at]
    return np.where(total > 0.0, spread / np.where(total > 0.0, total, 1.0), 0.0)


def with_axes_of_columns(model: MixedFactorAnalysis) -> MixedFactorAnalysis:
    """The same model with its axes turned to where the columns share most: principal axes of the correlations of latent
    responses, each column counted once, so that no rare label and no two columns that tell each other rule the first.
    """
    cells, q = MixedCells(model), int(model.n_components_)
    if not 0 < q <= len(cells.columns):
        return model
    Q = np.linalg.svd(cells.loadings * np.sqrt(cells.line_weights)[:, None], full_matrices=False)[2].T
    return turned(model, Q * sign_rule(cells.loadings @ Q))


def columns_of(model: MixedFactorAnalysis) -> tuple[MapColumn, ...]:
    """The columns of a mixed model, their levels as numbers."""
    made = zip(model.feature_names_in_, model.likelihoods_, model.labels_, model.levels_, strict=True)
    found = []
    for name, kind, own, levels in made:
        words, codes = tuple(map(str, own)), tuple(float(own.index(v) if own else v) for v in levels)
        ordered = kind == ORDINAL.word
        found.append(MapColumn(str(name), kind, () if ordered else words, codes, words if ordered else ()))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class PulledMap(ResampledMap):
    """A mixed model with the rows of a table drawn again: no fit is made again (`row_pulls.py`)."""

    model: MixedFactorAnalysis
    source: CodedSource  # all rows
    moved: tuple[MovedParams, ...]
    pulls: RowPulls

    def places(self) -> tuple[Index, Array, list[Array]]:
        """Some rows, where they are on the fitted map, and where on some resampled ones."""
        rows = evenly_spread(self.source.n, MIXED_CLOUD_ROWS, ends=True)
        return rows, *moved_positions(self.model, self.source, rows, self.moved[:CLOUD_REFITS])

    def without_rows(self, most: int) -> list[tuple[int, Array, Array]]:
        """One step without each of the rows that turn the map most."""
        found = []
        size = self.pulls.turns.max(axis=1) * (self.pulls.each > 0)
        for i in np.argsort(-size, kind="stable")[:most].tolist():
            W = matched(self.fitted, self.pulls.without(i).leanings, ())
            found.append((int(self.pulls.at[i]), W, self.fitted))
        return found


# how far rows are -------------------------------------------------------------------------------------------
class MixedDistances(NamedTuple):
    """The distances of every row."""

    D2: Array
    T2: Array
    Q: Array
    rank: NDArray[np.intp]
    seen: NDArray[np.intp]


class WithinMap(NamedTuple):
    """How far every row is within the map, whatever law holds off it."""

    T2: Array
    rank: NDArray[np.intp]
    seen: NDArray[np.intp]
    off: Array  # the standardised surprise of its cells

    def beside(self, law: RowLaw) -> MixedDistances:
        """With how far it is off the map; the law says what that usually is."""
        k = self.seen - self.rank
        Q = np.where(k > 0, np.maximum(k + np.sqrt(2.0 * k) * (self.off - law.middle) / law.spread, 0.0), 0.0)
        return MixedDistances(self.T2 + Q, self.T2, Q, self.rank, self.seen)


def within_map(told: GivenOthers) -> WithinMap:
    """The same by what a row's cells say of each other."""
    z, seen = told.position, told.seen.sum(axis=1)
    more, rank = informed_shift(told.information.T, z)
    return WithinMap((z * z).sum(axis=1) + (z * more).sum(axis=1), np.minimum(rank, seen), seen, told.off)


def mixed_distances(told: GivenOthers, law: RowLaw) -> MixedDistances:
    """T2, Q and D2 of every row."""
    return within_map(told).beside(law)


def mixed_cell_laws(told: GivenOthers, levelled: Mask) -> CellLaws:
    """The law of each column's cells: of levels the power of their p, of others a t; few cells have the model's own."""
    d = told.p.shape[1]
    laws = CellLaws(np.ones(d), np.full(d, GAUSSIAN_DOF), levelled.astype(np.float64))
    for j in range(d):
        own = told.seen[:, j]
        many = int(own.sum())
        if many < LEAST_ROWS_OF_LAW:
            laws.power[j] = 1.0
            continue
        share = max(UPPER_SHARE, UPPER_ROWS / many)
        if levelled[j]:
            low = float(np.quantile(told.p[own, j], share))
            laws.power[j] = min(1.0, np.log(share) / np.log(low)) if low < share else 1.0
        else:
            laws.scale[j], laws.dof[j] = t_law(np.abs(told.surprise[own, j]))
    return laws


def mixed_cell_p(told: GivenOthers, law: RowLaw) -> Array:
    """p of every cell, by the law of its column's cells; 1 at gaps."""
    if law.cells is None:
        return told.p
    scale, dof, power = law.cells.scale, law.cells.dof, law.cells.power
    student = np.where(told.seen, 2.0 * stdtr(dof, -np.abs(told.surprise) / scale), 1.0)
    return np.where(power > 0.0, told.p ** np.where(power > 0.0, power, 1.0), student)


def law_of_rows(told: GivenOthers, levelled: Mask) -> RowLaw:
    """What the bulk of the rows says is ordinary: its surprise has this middle, and so wide a spread that as many rows
    as should lie beyond an upper quantile of their law.

    Sums of few answers are bounded below and have tails of their own, so that a median says little of them. Numbers
    have heavier ones: beside them the law has the lightest tail that as many rows as should lie farther beyond.
    """
    many, middle = len(told.off), float(np.median(told.off))
    few: Any = (part[evenly_spread(many, LAW_ROWS)] for part in told)
    some = within_map(GivenOthers(*few))
    share = max(UPPER_SHARE, UPPER_ROWS / many)
    law = _law_beyond(some, middle, share, most_dof(many))
    farther = max(share * FARTHER, UPPER_ROWS / many)
    chance = np.sqrt(farther / many)
    for dof in TAILS if farther < share and not levelled.all() else ():
        far = some.beside(law)
        if (law.p_value(far.D2, far.seen) < farther).mean() <= farther + chance:
            break
        law = _law_beyond(some, middle, share, dof)
    return law


def _law_beyond(rows: WithinMap, middle: float, share: float, dof: float) -> RowLaw:
    """The law with so many degrees of freedom, beyond whose upper quantile a share of the rows lies."""
    low, high = np.log(LEAST_SPREAD), np.log(MOST_SPREAD)
    law = RowLaw(1.0, dof, middle, 1.0)
    for _ in range(30):
        law = law._replace(spread=float(np.exp(0.5 * (low + high))))
        far = rows.beside(law)
        beyond = float((law.p_value(far.D2, far.seen) < share).mean())
        low, high = (0.5 * (low + high), high) if beyond > share else (low, 0.5 * (low + high))
    return law
