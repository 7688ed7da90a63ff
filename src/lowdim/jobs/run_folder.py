"""Run folders: what was asked, what was found, and the model, as flat files anyone can open.

    run.json        what was asked, what was said, and the digest of every other file
    model.lowdim    the fitted model (`lowdim.load`)
    judges.lowdim   what the judges found, for `load_run(folder).analysis` (`jobs/store.py`)
    scores.csv, fills.csv, odd.csv, and held.csv where cells or rows are left out of the fit

No model is imported before one is asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim import __version__
from lowdim.jobs.analysis import Analysis, Settings, decided
from lowdim.jobs.run_tables import tables
from lowdim.jobs.store import RunStore, save_parts
from lowdim.storage.atomic import is_running, not_written, replacing
from lowdim.storage.model_file import load
from lowdim.table.column import (
    ColumnScales,
    limit_lists,
    log_entries,
    log_scales,
    one_names,
    ones_of,
    scales_in_ones,
)
from lowdim.table.open_file import file_digest as sha256
from lowdim.table.options import split_names
from lowdim.table.read import read
from lowdim.table.table import Table
from lowdim.text.messages import LowdimError, LowdimWarning, error

if TYPE_CHECKING:
    from lowdim.jobs.stream import DrawnRows
    from lowdim.jobs.table_model import TableModel
    from lowdim.judge.axes import AxisCard
    from lowdim.judge.fills.calibration import MapCalibration
    from lowdim.judge.maps.groups import RowGroups
    from lowdim.judge.maps.table_map import TableMap
    from lowdim.judge.outliers.law import RowLaw
    from lowdim.judge.rows.odd_rows import OddRows
    from lowdim.plot.access import ModelPlots, Plots

RUN_SCHEMA = 1
FACTS = "run.json"
MODEL = "model.lowdim"
ANALYSIS, STREAM, ONE_MODEL = "analysis", "stream", "model"  # kinds of runs: of a table, of a large file, of one model
STAGE = ".lowdim-run-"  # begins the name of a folder in which the files of a run wait for each other


@dataclass(frozen=True)
class SavedRun(ABC):
    """A run folder opened again: `load_run(folder)`, which gives an `AnalysisRun` or a `ModelRun`. Whoever opens one
    asks it, and not what was run.

    Attributes
    ----------
    folder : Path
        Where it is.
    facts : dict
        What run.json says.
    kind : str
        "analysis" (of a table), "stream" (an analysis of a file larger than memory) or "model" (one named model).
    method : str or None
        The name of the one model, where it is one.
    names, aside, options, settings, sentences
        The model's columns, the table's others, how the table was read, what was asked for, and what was said.
    model, table, analysis, subject
        Read when asked for; the table must be what it was then.
    odd, axes, plot
        The odd rows, the cards of the axes, and the named plots.
    """

    folder: Path
    facts: dict[str, Any]  # run.json

    @property
    def kind(self) -> str:
        """What was run."""
        return str(self.facts["kind"])

    @property
    def method(self) -> str | None:
        """The name of the one model that was fitted; None where the run is an analysis."""
        name = self.facts.get("method")
        return None if name is None else str(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the model."""
        return tuple(self.facts["table"]["columns"])

    @property
    def code_labels(self) -> tuple[tuple[str, ...], ...]:
        """What the codes of each of them stand for; () where numbers are numbers."""
        known = self.facts["table"].get("categories", {})
        return tuple(tuple(known.get(name, ())) for name in self.names)

    @property
    def code_words(self) -> tuple[tuple[str, ...], ...]:
        """The same of labels and of grades: the words that stand in the file."""
        known = self.facts["table"].get("grades", {})
        own = zip(self.names, self.code_labels, strict=True)
        return tuple(labels or tuple(known.get(name, ())) for name, labels in own)

    @property
    def aside(self) -> tuple[str, ...]:
        """The other columns of its table."""
        return tuple(self.facts["table"]["aside"])

    @property
    def options(self) -> dict[str, Any]:
        """How its table was read."""
        return dict(self.facts["table"]["options"])

    @property
    def scales(self) -> ColumnScales | None:
        """Which columns were analysed as logarithms, and what each can be; None where nothing is known of either."""
        logs = log_entries(split_names(self.options.get("log")), self.names)
        return log_scales(self.names, logs, self.facts["table"].get("limits"))

    @property
    def settings(self) -> Settings:
        """What was asked for."""
        return Settings(**self.facts["settings"])

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was said."""
        return tuple(self.facts["sentences"])

    @property
    def path(self) -> str:
        """Where its table was."""
        path = self.facts["table"]["path"]
        if path is None or not Path(path).exists():
            raise error("LD306", path=path or "(a table from Python)")
        return str(path)

    @property
    def has_model(self) -> bool:
        """Whether the run came as far as a model."""
        return MODEL in self.facts["files"]

    @property
    def model_file(self) -> Path:
        """The file of the fitted model; it must be the one that run.json names."""
        if not self.has_model:
            raise error("LD305", path=self.folder, problem="the run was stopped before there was a model")
        path = self.folder / MODEL
        if not self.is_own(path):
            raise error("LD305", path=self.folder, problem=f"{MODEL} is not the one that {FACTS} tells of")
        return path

    def has(self, name: str) -> bool:
        """Whether a part of an analysis is stored."""
        return RunStore(self).has(name)

    def is_own(self, path: Path) -> bool:
        """Whether a file of the folder is there, and the one that run.json names."""
        return path.is_file() and file_fingerprint(path) == self.facts["files"].get(path.name)

    @cached_property
    def model(self) -> Any:
        """The fitted model."""
        return load(self.model_file)

    @cached_property
    def map(self) -> TableMap | None:
        """What the model says of cells, whether its table is there or not; None of one that says nothing of them."""
        from lowdim.jobs.apply import says_cells
        from lowdim.judge.maps.table_map import table_map
        from lowdim.registry import entry_of

        entry = entry_of(self.model)
        if entry is None or not says_cells(entry, self.model):
            return None
        if entry.kinds or self.method is None:  # the main job's model has the columns of the table, answers as codes
            return table_map(self.model, self.names, self.scales)
        ones, unit = ones_of(self.code_labels), np.asarray(self.facts.get("unit", 1.0))
        names = one_names(self.names, self.code_labels, ones)
        return table_map(self.model, names, scales_in_ones(self.scales, ones), unit)

    @property
    def calibration(self) -> MapCalibration | None:
        """The half widths of intervals for fills of new rows; None in a run that was stopped before them."""
        return self.calibration_of(len(self.names))

    def calibration_of(self, d: int) -> MapCalibration | None:
        """The same of a model of d columns; None where the run has none, or not as they should be."""
        from lowdim.judge.fills.calibration import MapCalibration

        try:
            stored = self.facts["apply"]
            half = tuple(float(c) for c in stored["half_widths"])
            dims = None if stored["fill_dimensions"] is None else int(stored["fill_dimensions"])
            calibration = MapCalibration(float(stored["level"]), half, dims)
        except (KeyError, TypeError, ValueError):
            return None
        is_valid = 0.0 < calibration.level < 1.0 and len(half) == d and all(0.0 <= c < np.inf for c in half)
        return calibration if is_valid else None

    @property
    def law_of_new_rows(self) -> RowLaw | None:
        """Which distances are ordinary, for rows that come later; None in a run that was stopped before that."""
        from lowdim.judge.outliers.law import law_of_facts

        stored = self.facts.get("apply")
        return law_of_facts(stored.get("law")) if isinstance(stored, dict) else None

    @property
    def groups(self) -> RowGroups | None:
        """The groups that the rows of its table fall into; None where none are stored."""
        return self.analysis.groups if self.has("groups") else None

    @cached_property
    def drawn(self) -> DrawnRows:
        """The rows of a streamed table that were drawn then, drawn again."""
        from lowdim.jobs.stream import draw

        known = {key: self.options[key] for key in ("sample", "columns", "drop", "weight") if key in self.options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowdimWarning)  # what was said of the file then is not said again
            return draw(self.path, random_state=self.settings.seed, scale=self.settings.scale, **known)

    @cached_property
    def table(self) -> Table:
        """The table, read as it was then; of one that was streamed, the rows that were drawn."""
        table = self.drawn.table if self.kind == STREAM else self._read_as_then()
        if table.sha256 != self.facts["table"]["sha256"]:
            raise error("LD307", path=self.path, folder=self.folder)
        return table

    def _read_as_then(self) -> Table:
        """The table with the columns of the model, whatever role they would be given by now."""
        try:
            table = read(self.path, **self.options)
        except TypeError as problem:
            if isinstance(problem, LowdimError):
                raise
            words = f"{FACTS} tells of an option that no table is read with ({problem})"
            raise error("LD305", path=self.folder, problem=words) from None
        if table.names == self.names or table.sha256 != self.facts["table"]["sha256"]:
            return table
        facts = self.facts["table"]
        worded = {*facts.get("categories", {}), *facts.get("grades", {})}
        more = [name for name in table.names if name not in self.names]
        roles = {
            "use": [name for name in self.names if name not in worded],
            "label": [name for name in more if name in facts["labels"]],
            "drop": [name for name in more if name not in facts["labels"]],
        }
        as_then = {role: (*split_names(self.options.get(role)), *names) for role, names in roles.items()}
        return read(self.path, **{**self.options, **as_then})

    def check_table(self) -> None:
        """Refuse a table that is gone or has changed; a file is not read for it, its digest will do."""
        path = Path(self.path)
        if self.kind == STREAM or not path.is_file() or sha256(path) != self.facts["table"]["sha256"]:
            _ = self.table  # what was digested then may be less than the file

    @property
    @abstractmethod
    def analysis(self) -> Analysis:
        """The analysis; of the run of one model the error that there is none."""

    @property
    @abstractmethod
    def subject(self) -> TableModel:
        """The model on its table, which is read."""

    @property
    @abstractmethod
    def odd(self) -> OddRows:
        """The odd rows of its table."""

    @property
    @abstractmethod
    def axes(self) -> tuple[AxisCard, ...]:
        """A card for every axis of the model."""

    @property
    @abstractmethod
    def plot(self) -> Plots | ModelPlots:
        """The named plots."""


class AnalysisRun(SavedRun):
    """The run of an analysis, whose stored parts answer with or without its table."""

    @cached_property
    def analysis(self) -> Analysis:
        """The analysis: what was stored is read, what was not is made again, each part when it is asked for."""
        table = self.facts["table"]
        return Analysis(None, self.settings, of=table["rows"] if "drawn" in table else None, store=RunStore(self))

    @cached_property
    def subject(self) -> TableModel:
        """The analysis as a model on its table."""
        from lowdim.jobs.table_model import subject  # with all models: too long for who draws a stored run

        return subject(self.analysis)

    @property
    def odd(self) -> OddRows:
        """The odd rows of its table."""
        return self.analysis.odd

    @property
    def axes(self) -> tuple[AxisCard, ...]:
        """A card for every axis of the map."""
        return self.analysis.axes

    @property
    def plot(self) -> Plots:
        """The named plots of the analysis."""
        return self.analysis.plot


class ModelRun(SavedRun):
    """The run of one named model."""

    @property
    def analysis(self) -> Analysis:
        """There is none."""
        raise error("LD319", path=self.folder, method=self.method)

    @cached_property
    def subject(self) -> TableModel:
        """The model on its table."""
        from lowdim.jobs.table_model import model_of_run  # as above

        return model_of_run(self)

    @property
    def odd(self) -> OddRows:
        """The odd rows of its table."""
        return self.subject.odd

    @property
    def axes(self) -> tuple[AxisCard, ...]:
        """A card for every axis of the model."""
        return self.subject.axes

    @property
    def plot(self) -> ModelPlots:
        """The named plots of the model on its table."""
        return self.subject.plot


def load_run(folder: str | PathLike[str]) -> SavedRun:
    """Open a run folder that `lowdim report` or `lowdim fit` wrote.

    Parameters
    ----------
    folder : path
        The folder that holds run.json.

    Returns
    -------
    SavedRun
        What was asked and said, at once; `.model`, `.table` and `.analysis` are read when asked for.
    """
    folder = Path(folder)
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        run = (ModelRun if facts["kind"] == ONE_MODEL else AnalysisRun)(folder, facts)
        _ = run.names, run.options, run.settings, run.sentences, facts["table"]["path"], dict(facts["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
        why = getattr(problem, "strerror", None) or f"{type(problem).__name__} {problem}"
        raise error("LD305", path=folder, problem=f"{FACTS}: {why}") from None
    return run


def is_finished(folder: str | PathLike[str]) -> bool:
    """Whether a folder holds a run that came to its end."""
    try:
        return bool(load_run(folder).facts.get("finished"))
    except LowdimError:
        return False


# writing ------------------------------------------------------------------------------------------------
def write(path: str | PathLike[str], text: str | bytes | Iterable[str], *, encoding: str = "utf-8") -> Path:
    """Write a file whole, or not at all: text, its lines, or bytes as they are."""
    with replacing(path) as temp:
        if isinstance(text, bytes):
            temp.write_bytes(text)
        else:
            with open(temp, "w", encoding=encoding, newline="") as file:
                file.writelines([text] if isinstance(text, str) else text)
    return Path(path)


def file_fingerprint(path: Path) -> str:
    """A short fingerprint of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def save_run(
    analysis: Analysis,
    folder: str | PathLike[str],
    *,
    options: dict[str, Any] | None = None,
    command: str = "",
) -> Path:
    """Write the model, the judges' findings and the tables as far as they exist, then run.json, which names them."""
    with staged(folder) as stage:
        for name, text in tables(analysis).items():
            write(stage / name, text)
        if analysis.has("model"):
            analysis.model.save(stage / MODEL)
        save_parts(analysis, stage)
        save_facts(stage, describe(analysis, options or {}, command))
    return Path(folder)


def save_facts(stage: Path, facts: dict[str, Any]) -> None:
    """Write run.json, the last file of a run: a folder without it is not one."""
    files = {path.name: file_fingerprint(path) for path in sorted(stage.iterdir())}
    write(stage / FACTS, json.dumps({**facts, "files": files}, indent=1, allow_nan=False) + "\n")


def _named_files(folder: Path) -> set[str]:
    """The files that a run folder names as its own; whoever wrote it, they lie in it."""
    try:
        names = load_run(folder).facts["files"]
    except LowdimError:
        return set()
    return {name for name in names if Path(name).name == name and Path(name).suffix in (".csv", ".lowdim")}


@contextmanager
def staged(folder: str | PathLike[str]) -> Iterator[Path]:
    """A folder inside the run's, whose files take the places of older ones once all of them are written, run.json last.

    A full disk, or a process that ends half-way, leaves the older run as it was.
    """
    folder = saving(folder)
    for left in folder.glob(f"{STAGE}*"):  # by a process that was killed
        if not is_running(int(left.name.removeprefix(STAGE) or 0)):
            shutil.rmtree(left, ignore_errors=True)
    stage = folder / f"{STAGE}{os.getpid()}"
    try:
        stage.mkdir(exist_ok=True)
        yield stage
        paths, before = sorted(stage.iterdir(), key=lambda path: path.name == FACTS), _named_files(folder)
        for path in paths:
            os.replace(path, folder / path.name)
        for name in before - {path.name for path in paths}:  # of the older run: they would be taken for this one's
            (folder / name).unlink(missing_ok=True)
    except OSError as cause:
        raise not_written(folder, cause) from cause
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def check_free(folder: str | PathLike[str], table: str | PathLike[str], method: str | None = None) -> None:
    """Refuse a folder that holds the run of another table or of another method: it would be lost."""
    folder = Path(folder)
    try:
        if not (folder / FACTS).is_file():
            return
        run = load_run(folder)
    except OSError as cause:  # a folder that may not be entered
        raise not_written(folder, cause) from cause
    except LowdimError:
        return  # torn: there is nothing to lose
    other, here = run.facts["table"]["path"], Path(table)
    copied = here.is_file() and sha256(here) == run.facts["table"]["sha256"]  # and moved since
    if not (other == str(here.resolve()) or copied) or run.method != method:
        what = f"of {other or 'a table from Python'} by {run.method or 'the main job'}"
        raise error("LD493", path=folder, what=what)


def saving(folder: str | PathLike[str]) -> Path:
    """The folder, made where it is not there."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise not_written(folder, cause) from cause
    return Path(folder)


def describe(analysis: Analysis, options: dict[str, Any], command: str = "") -> dict[str, Any]:
    """The run as one JSON object: what was asked, and of what was found the parts that are there."""
    kind = STREAM if options.get("stream") else ANALYSIS
    facts = run_facts(analysis.table, analysis.settings, options, command)
    facts |= {"kind": kind, "finished": analysis.finished}
    if analysis.has("jury"):
        jury = analysis.jury
        facts |= {"judges": jury.sentence, "needed": jury.needed, "detectable": jury.detectable}
    if analysis.has("model"):
        facts |= {
            "dims": int(analysis.model.n_components_),
            "objective": float(analysis.model.objective_),
            "converged": bool(analysis.model.converged_),
        }
    if analysis.has("odd") and analysis.has("fills"):
        facts["apply"] = facts_of_apply(analysis.law_of_new_rows, analysis.calibration)
    if analysis.finished:
        if analysis.of is not None:
            facts["table"] |= {"rows": analysis.of, "drawn": analysis.table.n}
        facts |= {
            "sentences": list(analysis.sentences),
            "trust": [check._asdict() for check in analysis.trust],
            "shares": list(analysis.shares),
            "groups": analysis.groups.facts(),
        }
    return facts


def run_facts(t: Table, settings: Settings, options: dict[str, Any], command: str) -> dict[str, Any]:
    """What every run.json begins with: the command, the table, what was asked and what was said of the table."""
    return {
        "schema": RUN_SCHEMA,
        "command": command,
        "kind": ANALYSIS,
        "finished": False,
        "versions": {"lowdim": __version__, "numpy": np.__version__},
        "table": {
            "name": t.name,
            "path": str(Path(t.path).resolve()) if t.path else None,
            "sha256": t.sha256,
            "rows": t.n,
            "columns": list(t.names),
            "categories": {c.name: list(c.labels) for c in t.numbers if c.labels},
            "grades": {c.name: list(c.grades) for c in t.numbers if c.grades},
            "limits": limit_lists(t.scales),
            "labels": list(t.labels),
            "aside": list(t.aside),
            "header": t.guess.header,
            "units": dict(t.guess.units),
            "options": _plain({**options, **decided(t)}),
        },
        "settings": settings._asdict(),
        "dims": None,
        "judges": None,
        "sentences": [],
        "trust": [],
        "messages": [m.facts() for m in t.messages],
    }


def facts_of_apply(law: RowLaw, calibration: MapCalibration) -> dict[str, Any]:
    """The law of ordinary rows and the half widths of fills, as run.json has them."""
    from lowdim.judge.outliers.law import facts_of_law

    return {
        "law": facts_of_law(law),
        "level": calibration.level,
        "half_widths": [float(f"{c:.6g}") for c in calibration.half],
        "fill_dimensions": calibration.fill_dims,
    }


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    names = options.get("names")  # a file of names is found again from anywhere
    more = {"names": str(Path(names).resolve())} if isinstance(names, str) and Path(names).is_file() else {}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in {**options, **more}.items()}
