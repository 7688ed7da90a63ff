"""The main job: a table in; its dimensions, map, axes, fills and odd rows out, in five sentences."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.data.arrays import ArraySource
from lowdim.data.block import Array
from lowdim.data.table import Table, read
from lowdim.judge.axes import AxisCard, axes
from lowdim.judge.dimensions import Jury, choose_dimension
from lowdim.judge.fills import Fills, fill
from lowdim.judge.gaps import GapReport, gap_report
from lowdim.judge.odd import OddRows, RowCard, explain_row, odd_rows
from lowdim.judge.stability import Stability, refits, stability
from lowdim.judge.surprise import all_surprises
from lowdim.judge.verdicts import Check, five_sentences, trust_strip
from lowdim.messages import error
from lowdim.models.linear import ProbabilisticPCA
from lowdim.models.posterior import Posterior

if TYPE_CHECKING:
    from lowdim.plot.bound import Plots

Tell = Callable[[str, str], None]
SCALES = ("unit", "none")


class Settings(NamedTuple):
    """What was asked for; with the table and the version it determines every number."""

    dims: int | str = "auto"
    scale: str = "unit"
    level: float = 0.9
    seed: int = 0


@dataclass(frozen=True)
class Analysis:
    """Everything one look at a table found out."""

    table: Table
    settings: Settings
    jury: Jury
    model: ProbabilisticPCA
    posterior: Posterior
    gaps: GapReport
    fills: Fills
    odd: OddRows
    axes: tuple[AxisCard, ...]
    stability: Stability

    @property
    def dims(self) -> int:
        """The number of dimensions of the map."""
        return int(self.model.n_components_)

    @property
    def scores(self) -> Any:
        """Each row's position, n x q; a frame if a frame came in."""
        return self._like(self.posterior.mean, tuple(f"axis{k + 1}" for k in range(self.dims)))

    @property
    def loadings(self) -> Array:
        """How each column changes with each axis, d x q."""
        return np.asarray(self.model.components_.T)

    @property
    def filled(self) -> Any:
        """The numbers with their gaps filled; a frame if a frame came in."""
        return self._like(self.fills.filled, self.table.names)

    @property
    def noise_share(self) -> float:
        """The share of the variation that is column-by-column noise."""
        return float(self.model.noise_variance_ * self.table.d / np.trace(self.model.get_covariance()))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Five sentences that anyone can repeat."""
        return five_sentences(self)

    @cached_property
    def trust(self) -> tuple[Check, ...]:
        """Six checks, each a word, a yes or no, and its evidence; never one overall grade."""
        return trust_strip(self)

    @property
    def plot(self) -> Plots:
        """The named plots: `found.plot.map()`."""
        from lowdim.plot.bound import Plots

        return Plots(self)

    @cached_property
    def surprises(self) -> Array:
        """How far each cell is from what the others of its row say, in standard deviations; 0 at gaps."""
        return all_surprises(self.model, self._source)

    @property
    def _source(self) -> ArraySource:
        return ArraySource(self.table.X, columns=self.table.names)

    def explain(self, row: int) -> RowCard:
        """One row, counted from 0: every cell, what the rest of the row says about it, and what to make of it."""
        return explain_row(self.model, self._source, row, row_names=self.table.row_names)

    def _like(self, values: Array, columns: tuple[str, ...]) -> Any:
        if self.table.index is None:
            return values
        import pandas as pd

        return pd.DataFrame(values, index=self.table.index, columns=list(columns))

    def __repr__(self) -> str:
        n, d = self.table.X.shape
        noise = 100 * self.noise_share
        return (f"PPCA · {n} x {d}, {self.gaps.gaps} gaps\n{self.dims} dimensions ({self.jury.sentence})\n"
                f"{100 - noise:.0f}% shared / {noise:.0f}% noise\n"
                f"{self.model.certificate_.reason} in {self.model.n_iter_} passes")


def analyse(table: Any, *, dims: int | str = "auto", scale: str = "unit", level: float = 0.9, random_state: int = 0,
            tell: Tell | None = None) -> Analysis:
    """Answer the main question for a table, a path, a frame or an array.

    `dims` is "auto" (the jury decides) or a number; `scale="none"` keeps the columns' own units; `level` is
    that of every interval. `tell(stage, text)` hears of each stage as it ends.

    >>> from lowdim.datasets import load_demo
    >>> analyse(load_demo("gaussian").X).dims
    3
    """
    say: Tell = tell or (lambda stage, text: None)
    asked = check_settings(Settings(dims, scale, level, random_state))
    t = table if isinstance(table, Table) else read(table)
    say("read", f"{t.n} x {t.d}, {int(np.isnan(t.X).sum())} gaps")
    X, unit = ArraySource(t.X, columns=t.names), scale == "unit"
    jury = choose_dimension(X, standardize=unit, random_state=random_state)
    q = min(jury.q if dims == "auto" else int(dims), t.d - 1)
    how = "chosen" if dims == "auto" else "asked for"
    say("dimensions", f"0..{jury.rows[-1].q if jury.rows else 0} tried, {q} {how}")
    model = ProbabilisticPCA(q, standardize=unit).fit(X, sample_weight=t.weight)
    say("fit", f"PPCA, {q} dimensions, {model.n_iter_} passes, {model.certificate_.reason}")
    fills = fill(X, level=level, standardize=unit, random_state=random_state)
    say("fills", f"{int(fills.mask.sum())} gaps, {fills.held} of {fills.tried} hidden cells held")
    odd = odd_rows(model, X, row_names=t.row_names)
    say("odd rows", f"{len(odd.rows)} found")
    found = refits(model, X, random_state=random_state)
    cards = axes(model, X, labels=t.labels, found=found, level=level, random_state=random_state)
    steady = stability(model, X, found=found, random_state=random_state, row_names=t.row_names)
    say("axes", f"{len(cards)} axes, {len(found.W)} resamplings: {steady.verdict}")
    return Analysis(t, asked, jury, model, model.posterior(X), gap_report(t.X, t.names), fills, odd, cards, steady)


def check_settings(asked: Settings) -> Settings:
    """The settings, or the error that says what they may be."""
    number = isinstance(asked.dims, int | np.integer) and not isinstance(asked.dims, bool) and asked.dims >= 0
    for name, value, fine, words in (
            ("dims", asked.dims, asked.dims == "auto" or number, "'auto' or a whole number >= 0"),
            ("scale", asked.scale, asked.scale in SCALES, f"one of {SCALES}"),
            ("level", asked.level, 0.0 < asked.level < 1.0, "a share between 0 and 1")):
        if not fine:
            raise error("LD210", option=name, value=value, allowed=words)
    return asked
