"""A table, the model that was fitted to it, and where that puts the rows: what `explain` and the explorer speak of.

The run of one named model has the model and the table, and the rest follows from the two; an analysis has all of it
already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowdim.jobs.analysis import Analysis, Settings
from lowdim.jobs.apply import place_rows, says_cells
from lowdim.jobs.model_inputs import judged_rows, measured_and_labels
from lowdim.jobs.one_model import FittedMethod
from lowdim.jobs.run_folder import SavedRun, load_run
from lowdim.jobs.run_tables import RowPlaces, places_of
from lowdim.judge.axes import AxisCard, axes
from lowdim.judge.labels import label_cards
from lowdim.judge.maps.table_map import TableMap, table_map
from lowdim.judge.outliers.law import RowLaw
from lowdim.judge.outliers.partition import ALL_BULK, Partition
from lowdim.judge.rows.group_contrast import GroupCard, set_apart
from lowdim.judge.rows.odd_rows import OddRows
from lowdim.judge.rows.place_card import MappedRows, PlaceCard
from lowdim.judge.rows.row_card import RowCard, RowFill, explain_row
from lowdim.maths.linalg import Array
from lowdim.models.base.latent import LatentModel
from lowdim.registry import LACKS, METHODS, ModelEntry, entry_of
from lowdim.sources.arrays import ArraySource
from lowdim.table.column import ones_of, scales_in_ones
from lowdim.text.format import count, listing
from lowdim.text.messages import error

if TYPE_CHECKING:
    from lowdim.judge.fills.result import Fills
    from lowdim.plot.access import ModelPlots
    from lowdim.table.table import Table

DEFAULTS = Settings()
SURE_CHANCE = 0.9  # that a row is of its group
RESAMPLINGS = 200  # first-order ones, of which hundreds take less than a second


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class TableModel:
    """A table and one model of it.

    Attributes
    ----------
    table : Table
        As it was read; of a table larger than memory, the rows that were drawn.
    model, entry : fitted model, ModelEntry
        The model, and its row in the registry.
    unit : array of shape (d,)
        What the table was divided by before the fit.
    run : SavedRun or None
        The run folder it was opened from.
    settings : Settings
        What was asked for: the level of intervals, the seed.
    fitted_rows : array of int, optional
        Positions of the rows it was fitted to, where these are not all.
    """

    table: Table
    model: Any
    entry: ModelEntry
    unit: Array
    run: SavedRun | None = None
    settings: Settings = DEFAULTS
    fitted_rows: NDArray[np.intp] | None = None

    # what an analysis has found beside; a model by itself has not --------------------------------------------
    @property
    def analysis(self) -> Analysis | None:
        """The analysis whose model it is."""
        return None

    @property
    def partition(self) -> Partition:
        """The rows and cells that are left out of its fit."""
        return ALL_BULK

    @property
    def fills(self) -> Fills | None:
        """The table's gaps filled by a stack of their own."""
        return None

    @property
    def shares(self) -> tuple[float, ...]:
        """Each axis' share of the table's variation."""
        return ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was said of it."""
        return () if self.run is None else self.run.sentences

    # what any model says -----------------------------------------------------------------------------------
    def __repr__(self) -> str:
        return f"{self.entry.title} of {count(self.table.n, 'row')} x {count(len(self.columns), 'column')}"

    @cached_property
    def map(self) -> TableMap | None:
        """What the model says of the table's cells; None of a model that says nothing of them."""
        if not (self.rows_placed or self.decodes):
            return None
        return table_map(self.model, self.table.names, self.table.scales, self.unit)

    @property
    def rows_placed(self) -> bool:
        """Whether the model says where a row with hidden cells lies, and what those hold."""
        return says_cells(self.entry, self.model)

    @property
    def decodes(self) -> bool:
        """Whether the model says which cells a place stands for, with a band."""
        return isinstance(self.model, LatentModel) and not any(map(self.entry.lack, ("map", "decoder")))

    @cached_property
    def X(self) -> Array:
        """The rows in the map's columns: those that make the table's axes, or of a mixed model that was named all it
        took."""
        if self.map is None or self.map.names == self.table.names:
            return self.table.X
        return measured_and_labels(self.table).source.values

    @cached_property
    def at_rows(self) -> NDArray[np.intp]:
        """Positions of the rows it was fitted to."""
        return np.arange(self.table.n) if self.fitted_rows is None else self.fitted_rows

    @property
    def taken(self) -> Array:
        """These rows of the table's numbers, as the model took them."""
        return np.asarray(self.table.X[self.at_rows] / self.unit)

    @property
    def source(self) -> ArraySource:
        """The rows as the model takes them."""
        if self.map is None:
            return ArraySource(self.table.X / self.unit, columns=self.table.names)
        return self.map.cells.source(self.X)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose cells a row's card has."""
        return self.table.names if self.map is None else self.map.names

    @cached_property
    def numbers(self) -> Table:
        """The table as pictures and distances have it: labels in zeros and ones."""
        return self.table.in_ones()

    @cached_property
    def places(self) -> RowPlaces:
        """Where the rows are by all their seen cells, how surely, and their log densities."""
        if self.table.holds != "measurements":
            return RowPlaces(self.model.embedding_, None, None, None)  # of the pairs that it was fitted to
        return place_rows(self.model, self.entry, self.source)

    @cached_property
    def judged(self) -> OddRows | None:
        """The rows that the model finds odd, and why; None where it has no law of their distances."""
        return None if self.map is None else judged_rows(self.map, self.X, self.table.row_names)

    @property
    def odd(self) -> OddRows:
        """The same, or the error that says why there is none."""
        if self.judged is None:
            raise error("LD325", title=self.entry.title)
        return self.judged

    @property
    def law(self) -> RowLaw | None:
        """The law of the rows' distances; None where the model has none."""
        return None if self.judged is None else self.judged.judged.law

    @cached_property
    def surprises(self) -> Array:
        """How far each cell is from what the others of its row say, of a model that judges rows."""
        if self.map is None or self.law is None:
            raise error("LD325", title=self.entry.title)
        return self.map.cells.surprises(self.X)

    def explain(
        self, row: int | str, *, hidden: Sequence[str] = (), edited: Mapping[str, Any] | None = None
    ) -> RowCard:
        """One row, by position from 0 or name, with cells hidden or edited: each cell, and what the others say."""
        if self.map is None or not self.rows_placed:
            raise error("LD325", title=self.entry.title)
        names, at = self.table.row_names, self.table.position(row)
        return explain_row(self.map, self.X, at, law=self.law, row_names=names, hidden=hidden, edited=edited)

    @property
    def axes(self) -> tuple[AxisCard, ...]:
        """A card for every axis."""
        if self.map is None or not self.map.cells.has_axes:
            raise error("LD319", path="(from Python)" if self.run is None else self.run.folder, method=self.entry.name)
        t, seed = self.table, self.settings.seed
        found = self.map.cells.resampled(self.X, t, ALL_BULK, RESAMPLINGS, seed, every_row=True)
        labels = {name: own for name, own in t.labels.items() if name not in self.map.names}
        answers = {column.name: column.labels for column in self.map.columns}
        told = label_cards(self.places.z, self.map.cells.shares, labels)
        return axes(found, self.places.z, cards_of_labels=told, answers=answers, level=self.settings.level)

    @cached_property
    def rows(self) -> MappedRows:
        """The rows and where they are, to be looked up by place."""
        return MappedRows(self.numbers.X, self.places.z, self.table.row_names)

    @cached_property
    def map_rows(self) -> MappedRows:
        """The same in the map's own lines, which of a mixed model that was named are others than the table's."""
        if self.map is None or self.X is self.table.X:
            return self.rows
        return MappedRows(self.map.lines(self.X), self.places.z, self.table.row_names)

    def at(self, place: Sequence[float]) -> PlaceCard:
        """The row that lives at a place of the map (one number an axis): its cells with bands, and the nearest rows."""
        if self.map is None or not self.decodes or not self.places.z.shape[1]:
            raise error("LD328", title=self.entry.title)
        z = np.asarray(place, dtype=np.float64)
        q = self.places.z.shape[1]
        if z.shape != (q,) or not np.isfinite(z).all():
            raise error("LD210", option="place", value=place, allowed=f"{count(q, 'number')}, one for each axis")
        return self.map.at(z, self.map_rows)

    def set_apart(self, rows: Sequence[int | str]) -> GroupCard:
        """What sets some rows, by their positions from 0 or their names, apart from all others."""
        own = self.numbers if self.map is None else self.map
        names = self.numbers.names if self.map is None else self.map.line_names
        scales = own.scales if self.map is None else scales_in_ones(own.scales, self.map.ones)
        at = [self.table.position(row) for row in rows]
        outward = None if scales is None else scales.outward
        labels = {name: words for name, words in self.table.labels.items() if name not in self.columns}
        ones = ones_of(self.table.code_labels) if self.map is None else self.map.ones
        answers = {name for name, (_, label) in zip(names, ones, strict=True) if label is not None}
        X, z = self.map_rows.X, self.places.z
        return set_apart(X, names, z, at, labels=labels, outward=outward, answers=answers)

    def group(self, word: int | str) -> GroupCard:
        """What sets a group that the rows fall into, by its number from 1 or its name, apart from all others."""
        groups = None if self.analysis is None else self.analysis.groups
        k = None if groups is None else groups.position(str(word))
        if groups is None or k is None:
            many = 0 if groups is None else len(groups.sizes)
            known = (
                f"1 to {many}, or {listing(map(repr, groups.names))}" if groups and many > 1 else "none: there is one"
            )
            raise error("LD210", option="group", value=word, allowed=known)
        rows = np.flatnonzero(groups.label == k)
        unsure = int((groups.chance[rows] < SURE_CHANCE).sum())
        of = f"Group {k + 1} ({groups.names[k]}): {len(rows):,} of {self.table.n:,} rows"
        doubt = f"{count(unsure, 'row')} of them with a probability below {SURE_CHANCE}" if unsure else ""
        typical = f"the most typical is row {self.table.row_names[groups.typical[k]]}"
        about = "; ".join(filter(None, (of, typical, doubt))) + "."
        return self.set_apart(rows.tolist())._replace(about=about)

    @property
    def plot(self) -> ModelPlots:
        """The named plots: `subject(run).plot.map()`."""
        from lowdim.plot.access import ModelPlots

        return ModelPlots(self)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class AnalysedTable(TableModel):
    """The table and the model of an analysis, which has found all that these can be asked."""

    found: Analysis

    @property
    def analysis(self) -> Analysis:
        """The analysis."""
        return self.found

    @property
    def partition(self) -> Partition:
        """What the analysis left out of the fit."""
        return self.found.partition

    @property
    def fills(self) -> Fills:
        """The fills of the analysis."""
        return self.found.fills

    @cached_property
    def surprises(self) -> Array:
        """Those of the analysis."""
        return self.found.surprises

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of the axes."""
        return self.found.shares

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences."""
        return self.found.sentences

    @cached_property
    def map(self) -> TableMap:
        """What the model says of the table's cells."""
        return self.found.map

    @cached_property
    def places(self) -> RowPlaces:
        """Where the rows are by all their seen cells: those that a report leaves out of its map count here until they
        are hidden."""
        if len(self.partition.wrong_cells):
            return place_rows(self.model, self.entry, self.source)
        return places_of(self.found.posterior)

    @cached_property
    def judged(self) -> OddRows:
        """The odd rows of the analysis."""
        return self.found.odd

    @property
    def axes(self) -> tuple[AxisCard, ...]:
        """The axes of the analysis."""
        return self.found.axes

    def explain(
        self, row: int | str, *, hidden: Sequence[str] = (), edited: Mapping[str, Any] | None = None
    ) -> RowCard:
        """One row as any model explains it, and as it is, with what the analysis filled into its gaps."""
        card, at = super().explain(row, hidden=hidden, edited=edited), self.table.position(row)
        if hidden or edited:
            return card
        f, names = self.fills, self.table.names
        gaps = np.flatnonzero(f.number_gaps[at]).tolist()  # labels are told by the cells
        parts = (f.filled, f.lower, f.upper)
        return card._replace(fills=tuple(RowFill(names[j], *(float(part[at, j]) for part in parts)) for j in gaps))


def subject(found: Analysis | FittedMethod | SavedRun | TableModel | str | PathLike[str]) -> TableModel:
    """A table, one model of it and where that puts the rows: what `lowdim explain` and the explorer speak of.

    Parameters
    ----------
    found : Analysis, FittedMethod, SavedRun, or the path of a run folder
        What `lowdim.analyse`, `lowdim.fit_method` or `lowdim.load_run` gave.

    Returns
    -------
    TableModel
        `.explain(row)` is one row cell by cell, `.set_apart(rows)` what sets some rows apart, `.at(place)` the row that
        lives at a place; `.table`, `.model` and `.places` are what they are made of.

    Examples
    --------
    >>> import lowdim
    >>> X = np.random.default_rng(0).standard_normal((40, 1)) * np.ones(4) + 0.1 * np.eye(40, 4)
    >>> found = lowdim.subject(lowdim.fit_method(X, "ppca", dims=1))
    >>> found.places.z.shape, len(found.at([0.5]).cells)
    ((40, 1), 4)
    """
    if isinstance(found, TableModel):
        return found
    if isinstance(found, Analysis):
        run = None if found.store is None else found.store.run
        entry = METHODS[found.map.cells.method]
        return AnalysedTable(
            table=found.table,
            model=found.model,
            entry=entry,
            unit=np.ones(found.table.d),
            run=run,
            settings=found.settings,
            found=found,
        )
    if isinstance(found, FittedMethod):
        check_map(found.method, found.table, "(from Python)")
        return TableModel(
            table=found.table, model=found.model, entry=found.method, unit=found.unit, settings=found.settings
        )
    run = found if isinstance(found, SavedRun) else load_run(found)
    run.check_table()
    check_map(run.subject.entry, run.subject.table, run.folder)
    return run.subject


def model_of_run(run: SavedRun) -> TableModel:
    """The one model of a run folder on its table."""
    assert run.method is not None
    entry = METHODS[run.method]
    table = run.table if entry.kinds else run.table.in_ones()
    unit = np.asarray(run.facts["unit"], dtype=np.float64)
    return TableModel(table=table, model=run.model, entry=entry, unit=unit, run=run, settings=run.settings)


def model_on_table(
    model: Any, table: Table, unit: Array | None = None, rows: NDArray[np.intp] | None = None
) -> TableModel:
    """A model that was fitted to `table.X[rows] / unit`, also one that the registry does not know."""
    name = type(model).__name__
    unknown = () if isinstance(model, LatentModel) else tuple(LACKS)
    entry = entry_of(model) or ModelEntry(name, "", "", name=name, title=name, lacks_abilities=unknown)
    worth = np.ones(table.d) if unit is None else np.asarray(unit, dtype=np.float64)
    return TableModel(table=table, model=model, entry=entry, unit=worth, fitted_rows=rows)


def check_map(entry: ModelEntry, table: Table, path: Any) -> None:
    """Refuse clusters, pairs of rows, and two views: none has a row of cells at a place."""
    pairs = table.holds != "measurements"
    if entry.lack("map") or entry.asks == "views" or pairs:
        case = "pairs" if pairs and not entry.lack("map") else ""
        raise error("LD326", path=path, title=entry.title, case=case)
