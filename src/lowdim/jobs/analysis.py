"""The main job: a table in; its dimensions, map, axes, fills and odd rows out, in five sentences."""

from __future__ import annotations

import re
import shlex
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.engine.fold import one_blas_thread
from lowdim.judge.axes import AxisCard, axes
from lowdim.judge.budget import counts
from lowdim.judge.dimensions.jury import Jury, choose_dimension
from lowdim.judge.fills.calibration import MapCalibration, map_calibration
from lowdim.judge.fills.fills import Fills, fill
from lowdim.judge.gaps import GapReport, gap_report
from lowdim.judge.rows.odd_rows import OddRows, RowCard, explain_row, odd_rows
from lowdim.judge.rows.surprise import all_surprises
from lowdim.judge.stability import Stability, refits, stability
from lowdim.judge.verdicts import Check, five_sentences, trust_strip
from lowdim.math.linalg import Array
from lowdim.models.base.results import Posterior
from lowdim.models.linear.linear_gaussian import ProbabilisticPCA
from lowdim.sources.arrays import ArraySource
from lowdim.table.flags import options_from_flags, proposals
from lowdim.table.notes import CheckError
from lowdim.table.read import read
from lowdim.table.table import Messages, Table, frame_like
from lowdim.text.format import count, parse_duration
from lowdim.text.messages import LowdimError, Message, error

if TYPE_CHECKING:
    from pathlib import Path

    from lowdim.jobs.apply import Placed
    from lowdim.plot.bound import Plots

Tell = Callable[[str, str], object]
SCALES = ("unit", "none")
COMMAND = re.compile(r"(.*)\blowdim (?:report |check )?((?:'[^']*'|\"[^\"]*\"|[^\s-])\S*)")  # a fix that is a command


class Settings(NamedTuple):
    """What was asked for; with the table and the version it determines every number."""

    dims: int | str = "auto"
    scale: str = "unit"
    level: float = 0.9
    seed: int = 0
    budget: float | None = None  # seconds, from which counts are made; None = counts by the table's size


class Partial(NamedTuple):
    """What there was of an analysis when it was stopped; None = not come to yet."""

    table: Table
    settings: Settings
    jury: Jury | None = None
    model: ProbabilisticPCA | None = None
    posterior: Posterior | None = None
    fills: Fills | None = None
    odd: OddRows | None = None


class Stopped(KeyboardInterrupt):
    """The analysis was asked to stop; `partial` is what had been finished."""

    def __init__(self, partial: Partial) -> None:
        super().__init__("the analysis was asked to stop")
        self.partial = partial


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
    of: int | None = None  # the rows the model was fitted to, where the table is a sample of them

    @property
    def dims(self) -> int:
        """The number of dimensions of the map."""
        return int(self.model.n_components_)

    @property
    def scores(self) -> Any:
        """Each row's position, n x q; a frame if a frame came in."""
        return frame_like(self.posterior.mean, tuple(f"axis{k + 1}" for k in range(self.dims)), self.table)

    @property
    def loadings(self) -> Any:
        """How each column changes with each axis, d x q; a frame with the columns' names if a pandas frame came in."""
        if self.table.index is None:
            return np.asarray(self.model.components_.T)
        import pandas as pd

        return pd.DataFrame(
            self.model.components_.T, index=list(self.table.names), columns=[f"axis{k + 1}" for k in range(self.dims)]
        )

    @property
    def filled(self) -> Any:
        """The numbers with their gaps filled; a frame if a frame came in."""
        return frame_like(self.fills.filled, self.table.names, self.table)

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

    @cached_property
    def calibration(self) -> MapCalibration:
        """Half widths that make the intervals of fills in new rows hold what they claim."""
        return map_calibration(
            self.model,
            self._source,
            level=self.settings.level,
            surprises=self.surprises,
            fill_dims=self.fills.n_components,
        )

    @property
    def _source(self) -> ArraySource:
        return ArraySource(self.table.X, columns=self.table.names)

    def explain(self, row: int | str) -> RowCard:
        """One row, counted from 0 or by its name: every cell, and what the rest of the row says about it."""
        names = self.table.row_names
        if isinstance(row, str):
            if row not in names:
                raise error("LD210", option="row", value=row, allowed="the name of a row, or its position from 0")
            row = names.index(row)
        return explain_row(self.model, self._source, row, row_names=names)

    def apply(self, new: Any, *, level: float = 0.95, **options: Any) -> Placed:
        """Place new rows (a path, a frame, an array) on this map; `options` say how to read them.

        Columns whose logarithm was taken, and labels that were encoded, are treated as they were.
        """
        from lowdim.jobs.apply import place

        numbers = [c for c in self.table.columns if c.role == "number"]
        done = {
            "log": tuple(c.name for c in numbers if c.log),
            "encode": tuple(dict.fromkeys(c.name.split("=")[0] for c in numbers if c.encoded)),
        }
        return place(
            self.model, self.table.names, new, level=level, calibration=self.calibration, **{**done, **options}
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
            f"PPCA · {size}, {count(self.gaps.gaps, 'gap')}\n{count(q, 'dimension')} ({words})\n"
            f"{100 - noise:.0f}% shared / {noise:.0f}% noise\n"
            f"{self.model.certificate_.reason} in {count(self.model.n_iter_, 'pass', 'passes')}"
        )


def analyse(
    table: Any,
    *,
    dims: int | str = "auto",
    scale: str | None = None,
    level: float = 0.9,
    random_state: int = 0,
    budget: float | str | None = None,
    tell: Tell | None = None,
) -> Analysis:
    """Answer the main question for a table, a path, a frame or an array.

    `dims` is "auto" (the jury decides) or a number; `scale="none"` keeps the columns' own units, "unit" counts
    all columns alike (None: as the table was read); `level` is that of every interval; `budget` ("30s") sets
    how often the slow parts repeat. `tell(stage, text)` hears of each stage as it ends; if it answers true, or on
    Ctrl-C, the analysis raises `Stopped`, a KeyboardInterrupt whose `partial` holds what there is.

    >>> from lowdim.datasets import load_demo
    >>> analyse(load_demo("gaussian").X).dims
    3
    """
    t = table if isinstance(table, Table) else _read(table)
    asked = Settings(dims, t.scale if scale is None else scale, level, random_state, parse_duration(budget))
    return _analysed(t, check_settings(asked, t.n, t.d), tell)


def _read(table: Any) -> Table:
    """The table, or its error with fixes as a caller from Python writes them."""
    try:
        return read(table)
    except CheckError as problem:
        raise CheckError(Messages(_in_python(m, table) for m in problem.messages)) from None
    except LowdimError as problem:
        m = problem.message
        raise (type(problem)(_in_python(m, table)) if isinstance(m, Message) else problem) from None


def _in_python(m: Message, table: Any) -> Message:
    """A message whose fix names options of `read` where the command line has flags."""
    if m.code == "LD101":
        return m._replace(fix="pass the path of a file, or" + m.fix.removeprefix("pass"))
    if m.code == "LD160" and not proposals(m.fix):  # said of a file: lines, a header
        return m._replace(fix="add rows: each row is one observation, each column one variable")
    name = repr(str(table)) if isinstance(table, str | PathLike) else "table"
    lines = []
    for line in m.fix.split("\n"):
        command = COMMAND.fullmatch(line)
        if command:
            line = f"{command[1]}ld.analyse({shlex.split(command[2])[0]!r})"
        calls = [
            ", ".join([name, *(f"{key}={value!r}" for key, value in options_from_flags(flags).items())])
            for flags in proposals(line)
        ]
        words = line.partition("--")[0] if calls else line
        lines.append(words + "  or  ".join(f"ld.read({call})" for call in calls))
    return m._replace(fix="\n".join(lines))


def _analysed(
    t: Table,
    asked: Settings,
    tell: Tell | None,
    fit: Callable[[int], ProbabilisticPCA] | None = None,
    of: int | None = None,
) -> Analysis:
    """The stages in their order; Ctrl-C ends them all, not the one fit that happens to run.

    Of a table that is a sample, `fit` gives the model of all the `of` rows it was drawn from.
    """
    so_far = _Teller(Partial(t, asked), tell)
    with one_blas_thread(), _ctrl_c():  # many small matrices: more threads wait for each other
        try:
            return _stages(t, asked, so_far, fit, of)
        except Stopped:
            raise
        except KeyboardInterrupt:
            raise Stopped(so_far.partial) from None


def _stages(
    t: Table, asked: Settings, so_far: _Teller, fit: Callable[[int], ProbabilisticPCA] | None, of: int | None
) -> Analysis:
    often, X, unit = counts(asked.budget, t.n, t.d), ArraySource(t.X, columns=t.names), asked.scale == "unit"
    rows = f"{t.n}" if of is None else f"{t.n:,} of {of:,} rows"
    so_far.say("read", f"{rows} x {t.d}, {int(np.isnan(t.X).sum())} gaps")
    jury = choose_dimension(X, standardize=unit, random_state=asked.seed, shuffles=often.shuffles, folds=often.folds)
    q = min(jury.q, t.d - 1) if asked.dims == "auto" else int(asked.dims)
    how = "chosen" if asked.dims == "auto" else "asked for"
    so_far.say("dimensions", f"0..{jury.rows[-1].q if jury.rows else 0} tried, {q} {how}", jury=jury)
    model = ProbabilisticPCA(q, standardize=unit).fit(X, sample_weight=t.weight) if fit is None else fit(q)
    where, odd = model.posterior(X), odd_rows(model, X, row_names=t.row_names)
    steps = f"{count(model.n_iter_, 'pass', 'passes')}, {model.certificate_.reason}"
    so_far.say("fit", f"PPCA, {count(q, 'dimension')}, {steps}", model=model, posterior=where, odd=odd)
    fills = fill(X, level=asked.level, standardize=unit, random_state=asked.seed)
    so_far.say("fills", f"{int(fills.mask.sum())} gaps, {fills.held} of {fills.tried} hidden cells held", fills=fills)
    found = refits(model, X, bootstraps=often.refits, random_state=asked.seed)
    cards = axes(model, X, labels=t.labels, found=found, level=asked.level, random_state=asked.seed)
    steady = stability(model, X, found=found, random_state=asked.seed, row_names=t.row_names)
    so_far.say("axes", f"{len(cards)} axes, {len(found.W)} resamplings: {steady.verdict}", last=True)
    return Analysis(t, asked, jury, model, where, gap_report(t.X, t.names), fills, odd, cards, steady, of)


@contextmanager
def _ctrl_c() -> Iterator[None]:
    """Ctrl-C is ours while the analysis runs: a fit that finds a handler in place does not take it for itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)


class _Teller:
    """Tells of each stage, keeps what it made, and stops where the listener says so."""

    def __init__(self, partial: Partial, tell: Tell | None) -> None:
        self.partial, self.tell = partial, tell

    def say(self, stage: str, text: str, last: bool = False, **made: Any) -> None:
        self.partial = self.partial._replace(**made)
        if self.tell is not None and self.tell(stage, text) and not last:
            raise Stopped(self.partial)


def check_settings(asked: Settings, n: int, d: int) -> Settings:
    """The settings, or the error that says what they may be for a table of n rows and d columns."""
    number = isinstance(asked.dims, int | np.integer) and not isinstance(asked.dims, bool) and asked.dims >= 0
    for name, value, fine, words in (
        ("dims", asked.dims, asked.dims == "auto" or number, "'auto' or a whole number >= 0"),
        ("scale", asked.scale, asked.scale in SCALES, f"one of {SCALES}"),
        ("level", asked.level, 0.0 < asked.level < 1.0, "a share between 0 and 1"),
    ):
        if not fine:
            raise error("LD210", option=name, value=value, allowed=words)
    most = min(d - 1, n - 1)
    if number and int(asked.dims) > most:
        raise error("LD200", asked=asked.dims, most=most, why=f"the table has {n} rows and {d} columns")
    return asked
