"""What an analysis answers, whether it was made just now or opened from a run folder.

No model is imported here: what needs one imports it when asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.judge.held_out import NOTHING_HELD, HeldOut
from lowdim.maths.linalg import Array, Mask
from lowdim.sources.arrays import ArraySource
from lowdim.table.kinds.scales import log_words
from lowdim.table.table import frame_like
from lowdim.text.format import count
from lowdim.text.messages import error

if TYPE_CHECKING:
    from pathlib import Path

    from lowdim.jobs.analysis import MapModel
    from lowdim.jobs.apply import PlacedRows
    from lowdim.judge.axes import AxisCard
    from lowdim.judge.dimensions.jury import Jury
    from lowdim.judge.fills.calibration import MapCalibration
    from lowdim.judge.fills.filled_table import Fills
    from lowdim.judge.gaps import GapReport
    from lowdim.judge.maps.groups import RowGroups
    from lowdim.judge.maps.table_map import TableMap
    from lowdim.judge.mixed.mixed_map import MixedMap
    from lowdim.judge.rows.null_law import RowLaw
    from lowdim.judge.rows.odd_rows import OddRows
    from lowdim.judge.rows.row_card import RowCard
    from lowdim.judge.stability import Stability
    from lowdim.judge.verdicts import TrustCheck
    from lowdim.models.base.results import Posterior
    from lowdim.plot.access import Plots
    from lowdim.table.table import Table


def decided(table: Table) -> dict[str, Any]:
    """The options of reading that say what was decided on reading: logarithms, codes for gaps, and labels as zeros and
    ones."""
    encoded = dict.fromkeys(c.name.split("=")[0] for c in table.columns if c.role == "number" and c.encoded)
    options = {"log": log_words(table.logs), "encode": tuple(encoded), "na": table.options.get("na")}
    return {name: value for name, value in options.items() if value}


class Settings(NamedTuple):
    """What was asked for; with the table and the version it determines every number."""

    dims: int | str = "auto"
    scale: str = "unit"
    level: float = 0.9
    seed: int = 0
    budget: float | None = None  # seconds, from which counts are made; None = counts by the table's size
    robust: bool = True  # whether wrong cells and far rows may be held out of the fit
    rotate: str | None = None  # how the axes are turned, the principal ones where not at all


@dataclass(frozen=True, repr=False, eq=False)
class Analysis:
    """The parts of an analysis, and what follows from them.

    Attributes
    ----------
    table : Table
        The table as it was read; of a table larger than memory, the rows that were drawn.
    settings : Settings
        What was asked for.
    jury : Jury
        How many dimensions the table has, by every judge.
    model : ProbabilisticPCA or MixedFactorAnalysis
        The model of the map; the latter where most columns hold answers, levels or labels.
    posterior : Posterior
        Where each row lies on the map, and how surely.
    gaps : GapReport
        How many cells are missing, and whether at random.
    fills : Fills
        The gaps filled, with intervals.
    odd : OddRows
        The rows that the model finds odd, and why.
    axes : tuple of AxisCard
        What each axis is made of.
    stability : Stability
        How far the map moves when rows are resampled.
    of : int or None
        The rows the model was fitted to, where the table is a sample of them.
    held : HeldOut
        The cells and rows that are held out of the model's fit because they contradict the rest.
    """

    table: Table
    settings: Settings
    jury: Jury
    model: MapModel
    posterior: Posterior
    gaps: GapReport
    fills: Fills
    odd: OddRows
    axes: tuple[AxisCard, ...]
    stability: Stability
    of: int | None = None
    held: HeldOut = NOTHING_HELD

    @property
    def dims(self) -> int:
        """The number of dimensions of the map."""
        return int(self.model.n_components_)

    @cached_property
    def map(self) -> TableMap:
        """The model with the names of the table's numbers; asked alike whether it is Gaussian or of answers."""
        from lowdim.judge.mixed.answer_map import table_map

        return table_map(self.model, self.table.names, self.table.scales)

    @property
    def mixed(self) -> MixedMap | None:
        """The mixed model and the table's numbers that its columns are; None where the model is Gaussian."""
        return self.map.mixed

    @property
    def row_names(self) -> tuple[str, ...]:
        """The names of the table's rows."""
        return self.table.row_names

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of the table's label columns."""
        return tuple(self.table.labels)

    @property
    def has_gaps(self) -> Mask:
        """True for each row with a gap."""
        return np.asarray(np.isnan(self.table.X).any(axis=1))

    @property
    def shares(self) -> tuple[float, ...]:
        """Each axis' share of the table's variation."""
        return tuple(card.share for card in self.axes)

    @property
    def scores(self) -> Any:
        """Each row's position, n x q; a frame if a frame came in."""
        return frame_like(self.posterior.mean, tuple(f"axis{k + 1}" for k in range(self.dims)), self.table)

    @property
    def loadings(self) -> Any:
        """How each column changes with each axis, d x q; a frame with the columns' names if a pandas frame came in.

        Of a mixed model the correlation of its latent response with the axis.
        """
        values = self.map.loadings
        if self.table.index is None:
            return values
        import pandas as pd

        return pd.DataFrame(values, index=list(self.table.names), columns=[f"axis{k + 1}" for k in range(self.dims)])

    @property
    def filled(self) -> Any:
        """The numbers with their gaps filled; a frame if a frame came in."""
        return frame_like(self.fills.filled, self.table.names, self.table)

    @property
    def noise_share(self) -> float:
        """The share of the variation that is column-by-column noise."""
        return self.map.noise_share

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Five sentences that anyone can repeat."""
        from lowdim.judge.verdicts import five_sentences

        return five_sentences(self)

    @cached_property
    def trust(self) -> tuple[TrustCheck, ...]:
        """Six checks, each a word, a yes or no, and its evidence; never one overall grade."""
        from lowdim.judge.verdicts import trust_strip

        return trust_strip(self)

    @property
    def plot(self) -> Plots:
        """The named plots: `analysis.plot.map()`."""
        from lowdim.plot.access import Plots

        return Plots(self)

    @cached_property
    def groups(self) -> RowGroups:
        """Groups that the rows clearly fall into on the map; one where they do not."""
        from lowdim.judge.maps.groups import row_groups

        return row_groups(self.map, self.table, self.posterior.mean, self.held, self.settings.seed)

    @cached_property
    def surprises(self) -> Array:
        """How far each cell is from what the others of its row say, in standard deviations; 0 at gaps."""
        return self.map.surprises(self.table.X)

    @cached_property
    def calibration(self) -> MapCalibration:
        """Half widths that make the intervals of fills in new rows hold what they claim."""
        from lowdim.judge.fills.calibration import map_calibration

        return map_calibration(
            self.model,
            self._source,
            level=self.settings.level,
            surprises=self.map.widths(self.table.X),
            fill_dims=self.fills.n_components,
        )

    @cached_property
    def law_of_new_rows(self) -> RowLaw:
        """Which rows and cells are ordinary, for rows that come later: the table's own law."""
        from lowdim.judge.rows.bulk import law_of_later_rows

        return law_of_later_rows(self.odd.judged.law)

    @property
    def _source(self) -> ArraySource:
        return ArraySource(self.table.X, columns=self.table.names)

    def explain(
        self, row: int | str, *, hidden: Sequence[str] = (), edited: Mapping[str, Any] | None = None
    ) -> RowCard:
        """One row, counted from 0 or by its name: every cell, and what the rest of the row says about it.

        `hidden` columns count as gaps, `edited` ones have other values (by name, in the table's units); of a mixed map
        they are columns of the file, and answers are given as they are called.
        """
        names = self.table.row_names
        if isinstance(row, str):
            if row not in names:
                raise error("LD210", option="row", value=row, allowed="the name of a row, or its position from 0")
            row = names.index(row)
        touch: dict[str, Any] = {"hidden": hidden, "edited": edited}
        return self.map.explain(self.table.X, row, self.odd.judged.law, row_names=names, **touch)

    def apply(self, new: Any, *, odd_level: float = 0.95, **options: Any) -> PlacedRows:
        """Place new rows (a path, a frame, an array) on this map; `options` say how to read them.

        Columns whose logarithm was taken, and labels that were encoded, are treated as they were.
        """
        from lowdim.jobs.apply import place

        how = {**decided(self.table), "units": dict(self.table.guess.units), **options}
        known: dict[str, Any] = {
            "calibration": self.calibration,
            "law": self.law_of_new_rows,
            "scales": self.table.scales,
            "aside": self.table.aside,
        }
        return place(self.model, self.table.names, new, odd_level=odd_level, **known, **how)

    def report(self, path: str | PathLike[str], *, rows: bool = True) -> Path:
        """Write the report; `rows=False` leaves out every row's values and names."""
        from lowdim.report import write_report

        return write_report(self, path, rows=rows)

    def _repr_html_(self) -> str:
        from lowdim.report.notebook_card import card

        return card(self)

    def __repr__(self) -> str:
        n, d = self.table.X.shape
        noise, q, words = 100 * self.noise_share, self.dims, self.jury.sentence
        if self.settings.dims != "auto":
            words = f"asked for; the judges say {words}"
        elif words.startswith(f"{q}"):
            words = words.removeprefix(f"{q}").strip(" ()") or "the judges agree"
        words = words.replace(" (", ", ").rstrip(")")  # it stands in brackets itself
        size = f"{n} x {d}" if self.of is None else f"{self.of:,} x {d}, of which {n:,} rows drawn"
        return (
            f"{self.map.title} · {size}, {count(self.gaps.gaps, 'gap')}\n{count(q, 'dimension')} ({words})\n"
            f"{max(100 - noise, 0.0):.0f}% shared / {noise:.0f}% noise\n"
            f"{self.model.certificate_.reason} in {count(self.model.n_iter_, 'pass', 'passes')}"
        )
