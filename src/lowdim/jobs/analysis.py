"""The main job: a table in; its dimensions, map, axes, fills and odd rows out, in a few sentences.

An `Analysis` is a table, what was asked, and parts, each a plain function of earlier parts: it is made when it is first
asked for, and kept. A run folder (`jobs/store.py`) may have parts already. `analyse` asks for all of them in order and
tells how far it is; whoever wants one part only asks for that one, and gets what the whole analysis has.

Each part imports what makes it when it is made: a run folder is opened, and its map drawn, without loading a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from lowdim.judge.outliers.partition import ALL_BULK, Partition
from lowdim.maths.linalg import Array, Mask
from lowdim.table.column import log_words
from lowdim.table.table import frame_like
from lowdim.text.format import count, duration, parse_duration
from lowdim.text.messages import error

if TYPE_CHECKING:
    from pathlib import Path

    from lowdim.jobs.apply import PlacedRows
    from lowdim.jobs.store import RunStore
    from lowdim.judge.axes import AxisCard
    from lowdim.judge.budget import Counts
    from lowdim.judge.dimensions.jury import Jury
    from lowdim.judge.fills.calibration import MapCalibration
    from lowdim.judge.fills.result import Fills
    from lowdim.judge.gaps import GapReport
    from lowdim.judge.labels import LabelCard
    from lowdim.judge.maps.groups import RowGroups
    from lowdim.judge.maps.table_map import TableMap
    from lowdim.judge.maps.unshared import Unshared
    from lowdim.judge.outliers.law import RowLaw
    from lowdim.judge.rows.odd_rows import OddRows
    from lowdim.judge.rows.row_card import RowCard
    from lowdim.judge.stability import ResampledMap, Stability
    from lowdim.judge.verdicts import TrustCheck
    from lowdim.models.base.results import Posterior
    from lowdim.models.linear.ppca import ProbabilisticPCA
    from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
    from lowdim.plot.access import Plots
    from lowdim.sources.arrays import ArraySource
    from lowdim.table.table import Table

    MapModel: TypeAlias = ProbabilisticPCA | MixedFactorAnalysis  # Gaussian, or with a likelihood for each column

Part = TypeVar("Part")
Tell = Callable[[str, str], object]
SCALES = ("unit", "none")
WORDS_SECONDS = 5.0  # that the labels of a table may take; beyond, they are filled by their frequencies
WORTH_SAYING = 10.0  # seconds from which a person wants to know how long it will take
FINDINGS = ("jury", "partition", "model", "posterior", "odd", "fills", "axes")  # parts without which it is not finished


class Settings(NamedTuple):
    """What was asked for; with the table and the version it determines every number."""

    dims: int | str = "auto"
    scale: str = ""  # "unit" or "none"; "" = as the table was read
    level: float = 0.9
    seed: int = 0
    budget: float | None = None  # seconds, from which counts are made; None = counts by the table's size
    robust: bool = True  # whether wrong cells and far rows may be left out of the fit
    rotate: str | None = None  # how the axes are turned, the principal ones where not at all
    groups: int | str = "auto"  # of rows; 1 = none are looked for


def check_settings(asked: Settings, n: int, d: int) -> None:
    """The error that says what settings may be for a table of n rows and d columns."""
    from lowdim.models.base.options import ORTHOGONAL

    number, groups = (
        isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= least
        for k, least in ((asked.dims, 0), (asked.groups, 1))
    )
    for name, value, fine, words in (
        ("dims", asked.dims, asked.dims == "auto" or number, "'auto' or a whole number >= 0"),
        ("scale", asked.scale, asked.scale in ("", *SCALES), f"one of {SCALES}"),
        ("level", asked.level, 0.0 < asked.level < 1.0, "a share between 0 and 1"),
        (
            "groups",
            asked.groups,
            asked.groups == "auto" or (groups and int(asked.groups) <= n),
            f"'auto' or 1 to {n:,}",
        ),
        ("rotate", asked.rotate, asked.rotate in (None, *ORTHOGONAL), f"None or one of {ORTHOGONAL}"),
    ):
        if not fine:
            raise error("LD210", option=name, value=value, allowed=words)
    most = min(d - 1, n - 1)
    if number and int(asked.dims) > most:
        raise error("LD200", n_components=asked.dims, most=most, why=f"the table has {n} rows and {d} columns")


def part(make: Callable[[Analysis], Part]) -> cached_property[Part]:
    """A part of an analysis: as its store has it, else made of earlier parts; kept."""

    @wraps(make)
    def found_or_made(analysis: Analysis) -> Part:
        stored: Part | None = None if analysis.store is None else analysis.store.part(make.__name__, analysis)
        return make(analysis) if stored is None else stored

    return cached_property(found_or_made)


class Analysis:
    """A table, what was asked of it, and what was found: parts that are made when they are asked for, and kept.

    `lowdim.analyse` gives one with all its parts; `lowdim.load_run(folder).analysis` one whose parts are read from the
    run folder, where they are there, with the same numbers.

    Attributes
    ----------
    table : Table
        The table as it was read; of a table larger than memory, the rows that were drawn.
    settings : Settings
        What was asked for.
    jury : Jury
        How many dimensions the table has, by every judge.
    dims : int
        The number of dimensions of the map.
    partition : Partition
        The rows and cells that are no part of the bulk, to which the model is fitted: groups apart from it, far rows,
        wrong cells.
    model : ProbabilisticPCA or MixedFactorAnalysis
        The model of the map; the latter where a column holds answers, levels or labels.
    posterior : Posterior
        Where each row lies on the map, and how surely.
    odd : OddRows
        The rows that the model finds odd, and why.
    gaps : GapReport
        How many cells are missing, and whether at random.
    fills : Fills
        The gaps filled, with intervals.
    axes : tuple of AxisCard
        What each axis is made of.
    stability : Stability
        How far the map moves when rows are resampled.
    labels : tuple of LabelCard
        How much each label, which had no part in the map, explains of it, of its axes and of the groups.
    groups : RowGroups
        Groups that the rows clearly fall into, on the map or apart from it; one where they do not.
    sentences, trust
        A few sentences that anyone can repeat, and six checks, each with its evidence.
    said : dict
        The same sentences by their topic: dimensions, axes, groups, fills, odd, map, sample; only those with news.
    of : int or None
        The rows the model was fitted to, where the table is a sample of them.
    """

    def __init__(
        self,
        table: Table | None,
        settings: Settings,
        *,
        of: int | None = None,
        fit: Callable[[int], MapModel] | None = None,
        store: RunStore | None = None,
    ) -> None:
        """Of a table that is a sample, `fit` gives the model of all the `of` rows, with so many dimensions; the table
        may be left to the store."""
        if not settings.scale and table is not None:
            settings = settings._replace(scale=table.scale)
        self.settings = settings
        self.of = of
        self.store = store
        self._fit = fit
        if table is not None:
            vars(self)["table"] = table

    def has(self, name: str) -> bool:
        """Whether a part is there already: made, or in the store."""
        return name in vars(self) or (self.store is not None and self.store.has(name))

    @property
    def finished(self) -> bool:
        """Whether all findings are there, so that nothing that takes long is left."""
        return (self.store is not None and self.store.finished) or all(map(self.has, FINDINGS))

    # the parts, in the order in which they follow from each other ----------------------------------------
    @part
    def table(self) -> Table:
        """The table, which the store reads again where it was not given."""
        raise AssertionError("an analysis without a table has a store that reads it")

    @property
    def _numbers(self) -> ArraySource:
        from lowdim.judge.read_table import source_of

        return source_of(self.table)

    @property
    def _standardize(self) -> bool:
        return self.settings.scale == "unit"

    @property
    def _counts(self) -> Counts:
        from lowdim.judge.budget import counts

        return counts(self.settings.budget, self.table.n, self.table.d)

    @cached_property
    def _jury_of_all(self) -> Jury:
        """How many dimensions all rows together have."""
        return self._jury_of(None)

    def _jury_of(self, rows: Mask | None) -> Jury:
        """How many dimensions these rows have; all where none are named."""
        from lowdim.judge.dimensions.jury import choose_dimension
        from lowdim.judge.read_table import quantified
        from lowdim.sources.arrays import ArraySource
        from lowdim.sources.views import gather

        numbers = quantified(self.table)
        if rows is not None:
            x, seen = gather(numbers)
            numbers = ArraySource(x[rows], None if seen is None else seen[rows], columns=numbers.columns)
        return choose_dimension(
            numbers,
            standardize=self._standardize,
            random_state=self.settings.seed,
            shuffles=self._counts.shuffles,
            folds=self._counts.folds,
        )

    @part
    def partition(self) -> Partition:
        """The bulk of the rows, and what contradicts it, where a fit to the bulk predicts better."""
        if not self.settings.robust or self.of is not None:
            return ALL_BULK
        from lowdim.judge.dimensions.jury import axes_drawn
        from lowdim.judge.maps.fit_map import map_partition

        chosen = self.settings.dims == "auto"
        dims = axes_drawn(self._jury_of_all, self.table.d) if chosen else int(self.settings.dims)
        return map_partition(self.table, dims, self._standardize, self.settings.seed)

    @part
    def jury(self) -> Jury:
        """How many dimensions the table has, by every judge: those of the bulk, where groups lie beside it."""
        if not self.partition.groups:
            return self._jury_of_all
        grouped = self.partition.group_mask(self.table.n)
        jury = self._jury_of(~grouped)
        note = f"{count(int(grouped.sum()), 'row')} of groups apart from the others set aside while counting dimensions"
        return jury._replace(notes=(*jury.notes, note))

    @part
    def dims(self) -> int:
        """Those asked for, or those needed; a map is drawn with a second axis where that is detectable."""
        if self.settings.dims != "auto":
            return int(self.settings.dims)
        from lowdim.judge.dimensions.jury import axes_drawn

        return min(2, self.table.d - 1) if self.by_variance else axes_drawn(self.jury, self.table.d)

    @part
    def by_variance(self) -> bool:
        """Whether the map is of principal components in the columns' own units: where nothing is shared, but rows fall
        into groups along these, or where a person asked for columns as they are."""
        s = self.settings
        from lowdim.judge.maps.groups import LEAST_ROWS, row_groups
        from lowdim.judge.maps.table_map import table_map
        from lowdim.text.messages import no_warnings

        enough = self.table.n >= 2 * LEAST_ROWS and self.table.d > 2
        if s.dims != "auto" or self.jury.needed or self._fit is not None or not enough:
            return False
        if s.scale == "none":
            return True
        with no_warnings():  # a trial: what there is to say of the map that is drawn is said of it
            found = table_map(self._map_model(2, False), self.table.names, self.table.scales)
        places = found.cells.posterior(self.table.X)
        return len(row_groups(found, self.table, places, ALL_BULK, seed=s.seed).sizes) > 1

    def _map_model(self, dims: int, unit: bool) -> MapModel:
        from lowdim.judge.maps.fit_map import fit_map

        return fit_map(self.table, dims, unit, self.partition, self.settings.seed, self.settings.rotate)

    @part
    def model(self) -> MapModel:
        """The model of the map."""
        if self._fit is not None:
            return self._fit(self.dims)
        return self._map_model(self.dims, self._standardize and not self.by_variance)

    @cached_property
    def map(self) -> TableMap:
        """What the model says of the table's cells."""
        from lowdim.judge.maps.table_map import table_map

        return table_map(self.model, self.table.names, self.table.scales)

    @part
    def posterior(self) -> Posterior:
        """Where each row lies by its cells that are not wrong; far rows by all they have."""
        return self.map.cells.posterior(self.table.X, self.partition)

    @part
    def odd(self) -> OddRows:
        """The rows that the model finds odd, and why."""
        from lowdim.judge.rows.odd_rows import judge_rows

        X, partition = self.table.X, self.partition
        return judge_rows(
            self.map,
            X,
            row_names=self.table.row_names,
            held=partition.cell_mask(*X.shape),
            far=partition.outside_mask(len(X)),
            grouped=partition.group_mask(len(X)),
            sharply=True,
        )

    @part
    def gaps(self) -> GapReport:
        """How many cells are missing, and whether at random."""
        from lowdim.judge.gaps import gap_report

        return gap_report(self.table.X, self.table.names, self.table.code_labels)

    @part
    def fills(self) -> Fills:
        """The gaps filled, with intervals."""
        return filled_straight(self.table, self.settings)

    @cached_property
    def resampled(self) -> ResampledMap:
        """The map with its table's rows drawn again: what takes longest, and is too large to be stored."""
        t = self.table
        return self.map.cells.resampled(t.X, t, self.partition, self._counts.refits, self.settings.seed)

    @part
    def axes(self) -> tuple[AxisCard, ...]:
        """A card for every axis."""
        from lowdim.judge.axes import axes

        t, level = self.table, self.settings.level
        answers, outside = dict(zip(t.names, t.code_labels, strict=True)), self.partition.outside_mask(t.n)
        scores = self.posterior.mean
        return axes(self.resampled, scores, cards_of_labels=self.labels, answers=answers, level=level, outside=outside)

    @part
    def labels(self) -> tuple[LabelCard, ...]:
        """How much each label explains of the map that it did not shape, of its axes and of the groups of rows."""
        from lowdim.judge.labels import label_cards

        return label_cards(self.posterior.mean, self.map.cells.shares, self.table.labels, self.groups.label)

    @part
    def stability(self) -> Stability:
        """How far the map moves when rows are resampled."""
        from lowdim.judge.stability import stability

        return stability(self.resampled, self.table.row_names)

    @part
    def groups(self) -> RowGroups:
        """Groups that the rows clearly fall into, on the map or apart from it; one where they do not."""
        from lowdim.judge.maps.groups import row_groups

        s, asked = self.settings, None if self.settings.groups == "auto" else int(self.settings.groups)
        return row_groups(self.map, self.table, self.posterior, self.partition, asked, s.seed)

    @part
    def unshared(self) -> Unshared:
        """What there is where the columns share nothing along straight lines: columns of several peaks, and curves."""
        from lowdim.judge.maps.unshared import Unshared, unshared

        return unshared(self.table, self.settings.seed) if self.jury.needed == 0 else Unshared()

    @part
    def surprises(self) -> Array:
        """How far each cell is from what the others of its row say, in standard deviations; 0 at gaps."""
        return self.map.cells.surprises(self.table.X)

    @part
    def calibration(self) -> MapCalibration:
        """Half widths that make the intervals of fills in new rows hold what they claim."""
        from lowdim.judge.fills.calibration import map_calibration

        return map_calibration(
            self.model,
            self._numbers,
            level=self.settings.level,
            surprises=self.map.cells.widths(self.table.X),
            fill_dims=self.fills.n_components,
        )

    @part
    def law_of_new_rows(self) -> RowLaw:
        """Which rows and cells are ordinary, for rows that come later: the table's own law."""
        from lowdim.judge.outliers.law import law_of_later_rows

        return law_of_later_rows(self.odd.judged.law)

    @cached_property
    def said(self) -> dict[str, str]:
        """What there is to say, by its topic."""
        from lowdim.judge.verdicts import sentences_of

        return sentences_of(self)

    @part
    def sentences(self) -> tuple[str, ...]:
        """A few sentences that anyone can repeat."""
        return tuple(self.said.values())

    @part
    def trust(self) -> tuple[TrustCheck, ...]:
        """Six checks, each a word, a yes or no, and its evidence; never one overall grade."""
        from lowdim.judge.verdicts import trust_strip

        return trust_strip(self)

    @part
    def row_names(self) -> tuple[str, ...]:
        """The names of the table's rows."""
        return self.table.row_names

    @part
    def label_names(self) -> tuple[str, ...]:
        """The names of the table's label columns."""
        return tuple(self.table.labels)

    @part
    def has_gaps(self) -> Mask:
        """True for each row with a gap."""
        return np.asarray(np.isnan(self.table.X).any(axis=1))

    @part
    def shares(self) -> tuple[float, ...]:
        """Each axis' share of the table's variation."""
        return tuple(card.share for card in self.axes)

    # what follows from them -------------------------------------------------------------------------------
    @property
    def scores(self) -> Any:
        """Each row's position, n x q; a frame if a frame came in."""
        return frame_like(self.posterior.mean, tuple(f"axis{k + 1}" for k in range(self.dims)), self.table)

    @property
    def loadings(self) -> Any:
        """How each column changes with each axis, d x q; a frame with the columns' names if a pandas frame came in.

        Of a mixed model the correlation of its latent response with the axis.
        """
        values = self.map.cells.loadings
        if self.table.index is None:
            return values
        import pandas as pd

        lines = list(self.table.in_ones().names)
        return pd.DataFrame(values, index=lines, columns=[f"axis{k + 1}" for k in range(self.dims)])

    @property
    def filled(self) -> Any:
        """The numbers with their gaps filled; a frame if a frame came in."""
        return frame_like(self.fills.filled, self.table.names, self.table, self.table.code_words)

    @property
    def noise_share(self) -> float:
        """The share of the variation that is column-by-column noise."""
        return self.map.cells.noise_share

    @property
    def plot(self) -> Plots:
        """The named plots: `analysis.plot.map()`."""
        from lowdim.plot.access import Plots

        return Plots(self)

    def explain(
        self, row: int | str, *, hidden: Sequence[str] = (), edited: Mapping[str, Any] | None = None
    ) -> RowCard:
        """One row, counted from 0 or by its name: every cell, and what the rest of the row says about it.

        `hidden` columns count as gaps, `edited` ones have other values (by name, in the table's units); of a mixed map
        they are columns of the file, and answers are given as they are called.
        """
        from lowdim.jobs.table_model import subject

        return subject(self).explain(row, hidden=hidden, edited=edited)

    def apply(self, new: Any, *, odd_level: float = 0.95, **options: Any) -> PlacedRows:
        """Place new rows (a path, a frame, an array) on this map; `options` say how to read them.

        Columns whose logarithm was taken, and labels that shape axes, are treated as they were.
        """
        from lowdim.jobs.apply import place

        return place(
            self.map,
            new,
            labels=self.table.code_words,
            odd_level=odd_level,
            calibration=self.calibration,
            law=self.law_of_new_rows,
            aside=self.table.aside,
            groups=self.groups,
            **{**decided(self.table), "units": dict(self.table.guess.units), **options},
        )

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
            f"{self.map.cells.title} · {size}, {count(self.gaps.gaps, 'gap')}\n{count(q, 'dimension')} ({words})\n"
            f"{max(100 - noise, 0.0):.0f}% shared / {noise:.0f}% noise{self.map.cells.shared_note}\n"
            f"{self.model.certificate_.reason} in {count(self.model.n_iter_, 'pass', 'passes')}"
        )


def decided(table: Table) -> dict[str, Any]:
    """The options of reading that say what was decided on reading: logarithms, codes for gaps, and labels that shape
    axes."""
    categories = tuple(c.name for c in table.numbers if c.labels)
    options = {"log": log_words(table.logs), "encode": categories, "na": table.options.get("na")}
    return {name: value for name, value in options.items() if value}


def filled_straight(table: Table, settings: Settings) -> Fills:
    """The gaps filled by the straight model: other engines would take long."""
    from lowdim.judge.fills.fill import fill

    fills = fill(
        table,
        level=settings.level,
        standardize=settings.scale == "unit",
        random_state=settings.seed,
        engines="straight",
        words="measured",
        budget=WORDS_SECONDS,
    )
    return fills._replace(table=None)  # the analysis has it


class Stopped(KeyboardInterrupt):
    """The analysis was asked to stop; `analysis` has the parts that were finished (`analysis.has("model")`), and makes
    any other when it is asked for it."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__("the analysis was asked to stop")
        self.analysis = analysis


def analyse(
    table: Any,
    *,
    dims: int | str = "auto",
    scale: str | None = None,
    level: float = 0.9,
    random_state: int = 0,
    budget: float | str | None = None,
    robust: bool = True,
    rotate: str | None = None,
    groups: int | str = "auto",
    tell: Tell | None = None,
) -> Analysis:
    """Answer the main question for a table: its dimensions, its map and axes, what fills its gaps, which rows are odd.

    Parameters
    ----------
    table : path, data frame, array or Table
        What `lowdim.read` takes, or what it gave.
    dims : int or "auto", default "auto"
        Dimensions of the map; "auto" asks the jury (`choose_dimension`).
    scale : {"unit", "none"}, optional
        "unit" counts all columns alike, "none" keeps their own units; as the table was read where it is not given.
    level : float, default 0.9
        Level of every interval.
    random_state : int, default 0
        Seed of everything that is drawn.
    budget : float or str, optional
        About how long, in seconds or as "30s": sets how often the slow parts repeat, by the table's size and never by
        the clock. A minute where it is not given; small tables take a few seconds.
    robust : bool, default True
        Hold cells and rows that contradict the rest out of the fit, where it then predicts better (`robust_fit`).
    rotate : {"varimax", "quartimax"}, optional
        Turn the axes so that each column loads on few of them; the fit, the fills and the odd rows stay as they are.
    groups : int or "auto", default "auto"
        Groups of rows; "auto" finds those between which hardly any rows lie, 1 looks for none.
    tell : callable, optional
        `tell(stage, text)` is called as each stage ends; if it returns something true the analysis stops.

    Returns
    -------
    Analysis

    Raises
    ------
    Stopped
        On Ctrl-C, or where `tell` asks for it: a KeyboardInterrupt whose `analysis` has the finished parts.

    Examples
    --------
    >>> from lowdim.datasets import load_demo
    >>> analyse(load_demo("gaussian").X).dims
    3
    """
    settings = Settings(dims, scale or "", level, random_state, parse_duration(budget), robust, rotate, groups)
    return made_in_order(analysis_of(table, settings), tell)


analyze = analyse


def odd_rows(
    table: Any,
    *,
    dims: int | str = "auto",
    odd_level: float = 0.95,
    scale: str | None = None,
    robust: bool = True,
    random_state: int = 0,
) -> OddRows:
    """The odd rows of a table, each with its reason: those of `analyse`, without its other parts.

    Parameters
    ----------
    table, dims, scale, robust, random_state
        As in `analyse`.
    odd_level : float, default 0.95
        1 - odd_level is the false discovery rate.

    Returns
    -------
    OddRows
        `.rows` are the odd ones, oddest first; `.at(0.99)` the same at another level, `.text()` the table.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 1)) * np.ones(4) + 0.1 * rng.standard_normal((60, 4))
    >>> X[7, 2] += 5.0
    >>> [(r.row, r.column) for r in odd_rows(X, dims=1).rows]
    [(7, 'c3')]
    """
    from lowdim.text.messages import check_level

    check_level(odd_level, "odd_level")
    settings = Settings(dims, scale or "", seed=random_state, robust=robust)
    return analysis_of(table, settings).odd.at(odd_level)


def analysis_of(table: Any, settings: Settings) -> Analysis:
    """The analysis of a table, of which no part is made yet."""
    from lowdim.judge.read_table import read

    t = read(table)
    check_settings(settings, t.n, t.d)
    return Analysis(t, settings)


def made_in_order(analysis: Analysis, tell: Tell | None) -> Analysis:
    """The analysis with all its parts, told stage by stage; Ctrl-C ends it as a whole, not the one fit that happens to
    run, and leaves the parts that are finished."""
    from lowdim.engine.fold import one_blas_thread
    from lowdim.jobs.process import seldom_collected, stopped_as_a_whole

    # many small matrices: more threads wait for each other
    with one_blas_thread(), stopped_as_a_whole(), seldom_collected():
        try:
            for stage, text in _stages(analysis):
                if tell is not None and tell(stage, text) and stage != "axes":
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise Stopped(analysis) from None
    return analysis


def _stages(a: Analysis) -> Iterator[tuple[str, str]]:
    """The stages in their order, each with what it found."""
    from lowdim.judge.budget import usual_seconds
    from lowdim.judge.verdicts import second_axis

    t, jury_asked = a.table, a.settings.dims == "auto"
    rows = f"{t.n}" if a.of is None else f"{t.n:,} of {a.of:,} rows"
    seconds = min(usual_seconds(t.n, t.d), a.settings.budget or np.inf)
    ahead = f"; about {duration(seconds)} to go" if seconds >= WORTH_SAYING else ""
    yield "read", f"{rows} x {t.d}, {int(np.isnan(t.X).sum())} gaps{ahead}"

    chosen = f"{a.jury.needed} chosen{second_axis(a.jury.needed, a.dims)}" if jury_asked else f"{a.dims} asked for"
    yield "dimensions", f"0..{a.jury.rows[-1].q if a.jury.rows else 0} tried, {chosen}"

    steps = f"{count(a.model.n_iter_, 'pass', 'passes')}, {a.model.certificate_.reason}"
    _ = a.posterior, a.odd
    yield "fit", f"{a.map.cells.fitted(t)}, {count(a.dims, 'dimension')}, {steps}"

    yield "fills", a.fills.progress

    refits = f"{len(a.resampled.W)} resamplings: {a.stability.verdict}"
    _ = a.gaps
    yield "axes", f"{count(len(a.axes), 'axis', 'axes')}, {refits}" if a.axes else "none"
