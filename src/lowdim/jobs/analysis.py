"""The main job: a table in; its dimensions, map, axes, fills and odd rows out, in five sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lowdim.engine.fold import one_blas_thread
from lowdim.jobs.analysis_base import Analysis as Analysis
from lowdim.jobs.analysis_base import Settings as Settings
from lowdim.jobs.process import seldom_collected, stopped_as_a_whole
from lowdim.judge.axes import AxisCard
from lowdim.judge.axis_words import in_answers
from lowdim.judge.budget import Counts, counts, usual_seconds
from lowdim.judge.dimensions.jury import Jury, axes_drawn, choose_dimension
from lowdim.judge.fills.filled_table import Fills
from lowdim.judge.fills.fills import fill
from lowdim.judge.gaps import GapReport, gap_report
from lowdim.judge.held_out import NOTHING_HELD, HeldOut
from lowdim.judge.maps.table_map import ResampledMap, TableMap
from lowdim.judge.mixed.answer_map import table_map
from lowdim.judge.mixed.mixed_map import fit_mixed_map, is_mixed
from lowdim.judge.quantified import quantified
from lowdim.judge.robust import fit_without_held, robust_fit
from lowdim.judge.rows.odd_rows import OddRows
from lowdim.judge.scales import on_suitable_scales
from lowdim.judge.table_input import read, source_of
from lowdim.judge.verdicts import second_axis
from lowdim.maths.linalg import Array
from lowdim.models.base.options import ORTHOGONAL
from lowdim.models.base.results import Posterior
from lowdim.models.linear.ppca import ProbabilisticPCA
from lowdim.models.mixed.mixed_factors import MixedFactorAnalysis
from lowdim.sources.arrays import ArraySource
from lowdim.table.table import Table
from lowdim.text.format import count, duration, parse_duration
from lowdim.text.messages import error

Tell = Callable[[str, str], object]
MapModel = ProbabilisticPCA | MixedFactorAnalysis  # of the map: Gaussian, or with a likelihood for each column
SCALES = ("unit", "none")
WORDS_SECONDS = 5.0  # that the labels of a table may take; beyond, they are filled by their frequencies
WORTH_SAYING = 10.0  # seconds from which a person wants to know how long it will take


class Partial(NamedTuple):
    """What there was of an analysis when it was stopped; None = not come to yet."""

    table: Table
    settings: Settings
    jury: Jury | None = None
    model: MapModel | None = None
    posterior: Posterior | None = None
    fills: Fills | None = None
    odd: OddRows | None = None
    held: HeldOut = NOTHING_HELD


class Stopped(KeyboardInterrupt):
    """The analysis was asked to stop; `partial` is what had been finished."""

    def __init__(self, partial: Partial) -> None:
        super().__init__("the analysis was asked to stop")
        self.partial = partial


class AnalysisStages(NamedTuple):
    """The stages of an analysis, each a function of the table, the settings and the stages before it."""

    table: Table
    settings: Settings
    held: HeldOut = NOTHING_HELD

    @property
    def X(self) -> ArraySource:
        return source_of(self.table)

    def is_mixed(self, q: int) -> bool:
        """Whether the map is that of a mixed model; one wrong answer bends it little, so nothing is held out of it."""
        return q > 0 and self.standardize and is_mixed(self.table)

    def map(self, model: MapModel) -> TableMap:
        """The map that a model draws of the table."""
        return table_map(model, self.table.names, self.table.scales)

    def held_out(self, q: int) -> HeldOut:
        """The cells and rows that contradict the rest, where a fit without them predicts better."""
        if not self.settings.robust or q == 0 or self.is_mixed(q):
            return NOTHING_HELD
        s = self.settings
        weight = self.table.weight
        return robust_fit(self.X, q, standardize=self.standardize, sample_weight=weight, random_state=s.seed).held_out

    @property
    def counts(self) -> Counts:
        return counts(self.settings.budget, self.table.n, self.table.d)

    @property
    def standardize(self) -> bool:
        return self.settings.scale == "unit"

    def jury(self) -> Jury:
        return choose_dimension(
            quantified(self.table),
            standardize=self.standardize,
            random_state=self.settings.seed,
            shuffles=self.counts.shuffles,
            folds=self.counts.folds,
        )

    def dims(self, jury: Jury) -> int:
        """Those asked for, or those needed; a map is drawn with a second axis where that can be told from noise."""
        if self.settings.dims != "auto":
            return int(self.settings.dims)
        return axes_drawn(jury, self.table.d)

    def model(self, q: int) -> MapModel:
        if self.is_mixed(q):
            return fit_mixed_map(self.table, q, self.settings.seed, self.settings.rotate)
        weight = self.table.weight
        how: dict[str, Any] = {"standardize": self.standardize, "rotation": self.settings.rotate}
        return fit_without_held(self.X, q, self.held, sample_weight=weight, **how)

    def posterior(self, model: MapModel) -> Posterior:
        """Where each row lies by the cells that are not held out; far rows by all they have."""
        return self.map(model).positions(self.table.X, self.held)

    def odd(self, model: MapModel) -> OddRows:
        return self.map(model).odd_rows(self.table.X, self.table.row_names, held=self.held)

    def gaps(self) -> GapReport:
        return gap_report(self.table.X, self.table.names)

    def fills(self) -> Fills:
        s = self.settings
        options: dict[str, Any] = {"standardize": self.standardize, "random_state": s.seed}
        options |= {"engines": "straight", "words": "measured", "budget": WORDS_SECONDS}  # others would take long
        fills = fill(self.table, level=s.level, **options)
        return fills._replace(table=None)  # the analysis has it

    def refits(self, model: MapModel) -> ResampledMap:
        return self.map(model).resampled(self.table, self.held, self.counts.refits, self.settings.seed)

    def axes(self, found: ResampledMap, places: Array | None = None) -> tuple[AxisCard, ...]:
        """A card for every axis; `places` of the rows, where they are known."""
        return tuple(in_answers(card, self.table) for card in found.axes(self.settings.level, places))


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
    tell : callable, optional
        `tell(stage, text)` is called as each stage ends; if it returns something true the analysis stops.

    Returns
    -------
    Analysis

    Raises
    ------
    Stopped
        On Ctrl-C, or where `tell` asks for it: a KeyboardInterrupt whose `partial` holds the finished stages.

    Examples
    --------
    >>> from lowdim.datasets import load_demo
    >>> analyse(load_demo("gaussian").X).dims
    3
    """
    t = on_suitable_scales(read(table))
    unit = t.scale if scale is None else scale
    asked = Settings(dims, unit, level, random_state, parse_duration(budget), robust, rotate)
    return run_stages(t, check_settings(asked, t.n, t.d), tell)


analyze = analyse


def run_stages(
    t: Table,
    asked: Settings,
    tell: Tell | None,
    fit: Callable[[int], ProbabilisticPCA] | None = None,
    of: int | None = None,
) -> Analysis:
    """The stages in their order; Ctrl-C ends them all, not the one fit that happens to run.

    Of a table that is a sample, `fit` gives the model of all the `of` rows it was drawn from.
    """
    so_far = _Progress(Partial(t, asked), tell)
    # many small matrices: more threads wait for each other
    with one_blas_thread(), stopped_as_a_whole(), seldom_collected():
        try:
            return _stages(AnalysisStages(t, asked), so_far, fit, of)
        except Stopped:
            raise
        except KeyboardInterrupt:
            raise Stopped(so_far.partial) from None


def _stages(
    do: AnalysisStages, so_far: _Progress, fit: Callable[[int], ProbabilisticPCA] | None, of: int | None
) -> Analysis:
    t, asked, _ = do
    rows = f"{t.n}" if of is None else f"{t.n:,} of {of:,} rows"
    so_far.report("read", f"{rows} x {t.d}, {int(np.isnan(t.X).sum())} gaps{_ahead(t, asked)}")
    jury = do.jury()
    q = do.dims(jury)
    how = f"{q} asked for" if asked.dims != "auto" else f"{jury.needed} chosen{second_axis(jury.needed, q)}"
    so_far.report("dimensions", f"0..{jury.rows[-1].q if jury.rows else 0} tried, {how}", jury=jury)
    held = do.held_out(q) if fit is None else NOTHING_HELD
    do = do._replace(held=held)
    model = do.model(q) if fit is None else fit(q)
    posterior, odd = do.posterior(model), do.odd(model)
    steps = f"{count(model.n_iter_, 'pass', 'passes')}, {model.certificate_.reason}"
    name = do.map(model).told(t)
    so_far.report(
        "fit", f"{name}, {count(q, 'dimension')}, {steps}", model=model, posterior=posterior, odd=odd, held=held
    )
    fills = do.fills()
    so_far.report("fills", fills.progress, fills=fills)
    resampled = do.refits(model)
    cards, steady = do.axes(resampled, posterior.mean), resampled.stability()
    told = f"{count(len(cards), 'axis', 'axes')}, {len(resampled.W)} resamplings: {steady.verdict}" if cards else "none"
    so_far.report("axes", told, last=True)
    return Analysis(t, asked, jury, model, posterior, do.gaps(), fills, odd, cards, steady, of, held)


def _ahead(t: Table, asked: Settings) -> str:
    """About how long the rest will take, where it is worth saying."""
    seconds = min(usual_seconds(t.n, t.d), asked.budget or np.inf)
    return f"; about {duration(seconds)} to go" if seconds >= WORTH_SAYING else ""


class _Progress:
    """Reports each stage to a listener, collects the results, and stops where the listener asks for it."""

    def __init__(self, partial: Partial, tell: Tell | None) -> None:
        self.partial, self.tell = partial, tell

    def report(self, stage: str, text: str, last: bool = False, **results: Any) -> None:
        self.partial = self.partial._replace(**results)
        if self.tell is not None and self.tell(stage, text) and not last:
            raise Stopped(self.partial)


def check_settings(asked: Settings, n: int, d: int) -> Settings:
    """The settings, or the error that says what they may be for a table of n rows and d columns."""
    number = isinstance(asked.dims, int | np.integer) and not isinstance(asked.dims, bool) and asked.dims >= 0
    for name, value, fine, words in (
        ("dims", asked.dims, asked.dims == "auto" or number, "'auto' or a whole number >= 0"),
        ("scale", asked.scale, asked.scale in SCALES, f"one of {SCALES}"),
        ("level", asked.level, 0.0 < asked.level < 1.0, "a share between 0 and 1"),
        ("rotate", asked.rotate, asked.rotate in (None, *ORTHOGONAL), f"None or one of {ORTHOGONAL}"),
    ):
        if not fine:
            raise error("LD210", option=name, value=value, allowed=words)
    most = min(d - 1, n - 1)
    if number and int(asked.dims) > most:
        raise error("LD200", n_components=asked.dims, most=most, why=f"the table has {n} rows and {d} columns")
    return asked
