"""The engine of `fill` that gives each column its likelihood: one latent Gaussian behind numbers, levels and labels.

The other engines know columns of numbers only. This one knows which of them are answers, levels or counts, and sees the
labels beside them, as the last columns of every table it gets; the others never see those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lowdim.judge.fills.engines import LEAST_ROWS, Engine, Rung
from lowdim.judge.fills.models import FillModel, FittedFill, draw_seed
from lowdim.judge.mixed_table import likelihood, mixed_table
from lowdim.maths.linalg import Array, evenly_spread
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.table.table import Table
from lowdim.text.format import count
from lowdim.text.quiet import no_warnings

MIXED_ENGINE = "latent model of mixed columns"
MIXED_DIMS = {2: 3, 4: 8, 8: 16}  # dimensions tried, and the sites from which on
MARKER_DIMS = 4
FITTED_CELLS, FITTED_ROWS = 120_000, 1_000  # sites times rows, and rows, that one fit sees: more teach it little
TRIAL_TOL, TRIAL_PASSES = 1e-3, 25  # nats a row: far below what a fill can show
MOST_SITES = 600  # numbers, levels and labels together
MOST_ONES = 12  # labels of a column that straight models see


class MixedShape(NamedTuple):
    """One mixed model: its dimensions, and whether labels are markers of clusters."""

    dims: int
    markers: bool = False

    @property
    def words(self) -> str:
        how = ", labels as markers of clusters" if self.markers else ""
        return f"a latent model with a likelihood for each column ({count(self.dims, 'dimension')}{how})"


class BesideNumbers(NamedTuple):
    """What the mixed engine knows beside a table's numbers: a likelihood for each column, and labels as codes."""

    kinds: tuple[str, ...]  # of the numbers, then of the labels
    codes: Array  # n x labels, NaN at gaps

    @property
    def numbers(self) -> int:
        return len(self.kinds) - int(self.codes.shape[1])

    @property
    def levels(self) -> list[int]:
        """How many labels each column of codes has."""
        return [int(np.nanmax(column)) + 1 for column in self.codes.T]

    @property
    def ones(self) -> int:
        """How many zeros and ones stand for the labels that straight models see."""
        return sum(many - 1 for many in self.levels if many <= MOST_ONES)

    @property
    def sites(self) -> int:
        """About how many sites the columns are made of."""
        return sum(4 if kind == "ordinal" else 1 for kind in self.kinds) + sum(self.levels)


def beside_numbers(table: Table | None) -> BesideNumbers | None:
    """What there is to know beside the numbers of a table; None where all are real and there are no labels."""
    if table is None or table.holds != "measurements":
        return None
    kinds = tuple("real" if len(c.labels) > 2 else likelihood(c) for c in table.numbers)  # scores, by then
    labels = [c for c in mixed_table(table).columns if c.number is None]
    if not labels and set(kinds) == {"real"}:
        return None
    codes = np.column_stack([np.zeros((table.n, 0)), *(c.coded.values for c in labels)])
    return BesideNumbers((*kinds, *(c.kind for c in labels)), codes)


def on_numbers(model: FillModel, d: int) -> FillModel:
    """A model that fills the first d columns from themselves, whatever stands beside them."""

    def fit(X: Array) -> FittedFill:
        fitted = model(X[:, :d])
        return fitted._replace(
            fills=lambda rows: fitted.fills(rows[:, :d]),
            drawn=lambda rows, seed, number: fitted.drawn(rows[:, :d], seed, number),
        )

    return fit


def beside_ones(model: FillModel, d: int, levels: Sequence[int]) -> FillModel:
    """A model that fills the first d columns from themselves and from the labels beside them, as zeros and ones.

    `levels` says how many labels each column of codes has; those that have too many are not seen.
    """

    def wide(X: Array) -> Array:
        ones = [
            np.where(np.isnan(codes), np.nan, codes == k)
            for codes, many in zip(X[:, d:].T, levels, strict=True)
            for k in range(many - 1 if many <= MOST_ONES else 0)
        ]
        return np.column_stack([X[:, :d], *ones])

    def fit(X: Array) -> FittedFill:
        fitted = model(wide(X))

        def fills(rows: Array) -> tuple[Array, Array]:
            mean, sd = fitted.fills(wide(rows))
            return mean[:, :d], sd[:, :d]

        return fitted._replace(
            fills=fills, drawn=lambda rows, seed, number: fitted.drawn(wide(rows), seed, number)[:, :d]
        )

    return fit


def quiet_fit(X: Array, kinds: Sequence[str], shape: MixedShape, **options: Any) -> MixedFactorAnalysis:
    """A mixed model of some rows, not more than teach it something; nobody asked for it, so it warns of nothing."""
    kinds = ["marker" if kind == "label" and shape.markers else kind for kind in kinds]
    most = int(np.clip(FITTED_CELLS / max(len(kinds), 1), 200, FITTED_ROWS))
    how = {"tol": TRIAL_TOL, "max_iter": TRIAL_PASSES, **options}
    with no_warnings():
        model = MixedFactorAnalysis(shape.dims, likelihoods=tuple(kinds), **how)
        return model.fit(X[evenly_spread(len(X), most)])


def by_mixed_model(kinds: Sequence[str], d: int, shape: MixedShape) -> FillModel:
    """Fill the first d columns by the means of a mixed model of all of them."""

    def fit(X: Array) -> FittedFill:
        model = quiet_fit(X, kinds, shape)

        def fills(rows: Array) -> tuple[Array, Array]:
            with no_warnings():  # levels that its rows did not have are gaps
                cells, gap = model.expected_cells(rows), np.isnan(rows[:, :d])
            sd = np.sqrt(cells.var + cells.noise)[:, :d]
            return np.where(gap, cells.mean[:, :d], rows[:, :d]), np.where(gap, sd, 0.0)

        def drawn(rows: Array, seed: int, number: int) -> Array:
            with no_warnings():
                return np.asarray(model.impute(rows, draws=1, random_state=draw_seed(seed, number))[0][:, :d])

        return FittedFill(shape.dims, fills, drawn)

    return fit


def mixed_shapes(kinds: Sequence[str], sites: int) -> list[MixedShape]:
    """The mixed models worth a try."""
    shapes = [MixedShape(q) for q, least in MIXED_DIMS.items() if sites >= least] or [MixedShape(1)]
    marked = min(MARKER_DIMS, max(sites - 1, 1))
    return [*shapes, MixedShape(marked, markers=True)] if "label" in kinds else shapes


def mixed_engine(n: int, beside: BesideNumbers) -> Engine | None:
    """The mixed model as an engine, where the table has rows enough and not too many columns."""
    d, sites = beside.numbers, beside.sites
    if n < LEAST_ROWS or sites > MOST_SITES:
        return None
    seconds = 0.05 + mixed_seconds(n, sites)
    shapes = mixed_shapes(beside.kinds, sites)
    rungs = (Rung(shape.words, by_mixed_model(beside.kinds, d, shape), seconds) for shape in shapes)
    return Engine(MIXED_ENGINE, tuple(rungs))


def mixed_seconds(n: int, sites: int) -> float:
    """Of one fit and its predictions, forecast."""
    rows = min(n, FITTED_ROWS, max(FITTED_CELLS / max(sites, 1), 200))
    return float(20 * rows * (3e-5 + 2e-7 * sites) + 5e-5 * n)
