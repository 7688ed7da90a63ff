"""A table, the model that was fitted to it, and where that puts the rows: what `explain` and the explorer speak of.

An analysis has all of it; the run of one named model has the model and the table, and the rest follows from the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.jobs.analysis_base import Analysis
from lowdim.jobs.one_model import RowPlaces, place_rows
from lowdim.jobs.run_folder import SavedRun
from lowdim.judge.rows.contrast import GroupCard, set_apart
from lowdim.judge.rows.null_law import RowLaw
from lowdim.judge.rows.odd_rows import model_law
from lowdim.judge.rows.row_card import RowCard, explain_row
from lowdim.math.linalg import Array
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.registry import METHODS, ModelEntry
from lowdim.sources.arrays import ArraySource
from lowdim.storage.model_file import load
from lowdim.text.messages import error

if TYPE_CHECKING:
    from lowdim.table.table import Table


@dataclass(frozen=True, repr=False, eq=False)
class Subject:
    """A table and one model of it.

    Attributes
    ----------
    table : Table
        As it was read; of a table larger than memory, the rows that were drawn.
    model, entry : fitted model, ModelEntry
        The model, and its row in the registry.
    unit : array of shape (d,)
        What the table was divided by before the fit.
    analysis : Analysis or None
        The analysis whose model it is.
    run : SavedRun or None
        The run folder it was opened from.
    """

    table: Table
    model: Any
    entry: ModelEntry
    unit: Array
    analysis: Analysis | None = None
    run: SavedRun | None = None

    @property
    def source(self) -> ArraySource:
        """The rows as the model takes them."""
        return ArraySource(self.table.X / self.unit, columns=self.table.names)

    @cached_property
    def places(self) -> RowPlaces:
        """Where the rows are by all their seen cells, how surely, and their log densities.

        The map of a report leaves out the cells that are held out of the fit; here they count until they are hidden.
        """
        if self.analysis is None or len(self.analysis.held.cells):
            return place_rows(self.model, self.entry, self.source)
        p = self.analysis.posterior
        return RowPlaces(p.mean, p.std, None, p.log_density)

    @property
    def law(self) -> RowLaw | None:
        """The law of the rows' distances; None where the model has none."""
        if self.analysis is not None:
            return self.analysis.odd.judged.law
        return model_law(self.model) if isinstance(self.model, LinearGaussian) else None

    def explain(self, row: int, *, hidden: Sequence[str] = (), edited: Mapping[str, float] | None = None) -> RowCard:
        """One row (its position from 0) with cells hidden or edited: every cell beside what the rest says of it."""
        law, t = self.law, self.table
        if law is None:
            raise error("LD325", title=self.entry.title)
        source = ArraySource(t.X, columns=t.names)
        how: dict[str, Any] = {"row_names": t.row_names, "scales": t.scales, "law": law, "unit": self.unit}
        return explain_row(self.model, source, row, **how, hidden=hidden, edited=edited)

    def set_apart(self, rows: Sequence[int]) -> GroupCard:
        """What sets some rows (positions from 0) apart from all others."""
        scores = self.model.transform(self.source)
        return set_apart(self.table.X, self.table.scale_names, scores, rows)


def subject_of_analysis(analysis: Analysis, run: SavedRun | None = None) -> Subject:
    """The map's model of an analysis."""
    return Subject(analysis.table, analysis.model, METHODS["ppca"], np.ones(analysis.table.d), analysis, run)


def subject_of_run(run: SavedRun) -> Subject:
    """What a run folder holds: an analysis, or one named model that places its rows on a map."""
    if run.method is None:
        return subject_of_analysis(run.analysis, run)
    entry = METHODS[run.method]
    if entry.lack("map") or run.table.holds == "distances":
        raise error("LD326", path=run.folder, title=entry.title)
    return Subject(run.table, load(run.model_file), entry, np.asarray(run.facts["unit"], dtype=np.float64), run=run)
