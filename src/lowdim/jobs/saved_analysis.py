"""An analysis opened from its run folder: what was stored is read, what was not is made again, stage by stage.

`judges.lowdim` beside the model holds the parts of an analysis that took long (format: `storage/model_file.py`, plain
values only): the jury, the axes' cards, the fills' numbers, the odd rows, the groups, and where each row lies. The
resampled maps are not in it, as they are large: the stability of the map is found again when asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lowdim.jobs.analysis_base import Analysis
from lowdim.judge.held_out import NOTHING_HELD, HeldOut
from lowdim.storage.atomic import not_written
from lowdim.storage.model_file import load_values, save_values
from lowdim.text.messages import LowdimError

if TYPE_CHECKING:
    from lowdim.jobs.analysis import AnalysisStages, MapModel, Partial
    from lowdim.jobs.run_folder import SavedRun
    from lowdim.judge.axes import AxisCard
    from lowdim.judge.dimensions.jury import Jury
    from lowdim.judge.fills.calibration import MapCalibration
    from lowdim.judge.fills.filled_table import Fills
    from lowdim.judge.gaps import GapReport
    from lowdim.judge.maps.groups import RowGroups
    from lowdim.judge.maps.table_map import ResampledMap
    from lowdim.judge.rows.null_law import RowLaw
    from lowdim.judge.rows.odd_rows import OddRows
    from lowdim.judge.stability import Stability
    from lowdim.judge.verdicts import TrustCheck
    from lowdim.maths.linalg import Mask
    from lowdim.models.base.results import Posterior
    from lowdim.table.kinds.scales import ColumnScales
    from lowdim.table.table import Table

Part = TypeVar("Part")

JUDGES_FILE = "judges.lowdim"
JUDGES_SCHEMA = 1  # of the parts; a file of another one is as good as none
PART_CELLS = 2**19  # numbers of one part that are stored at the most: 4 MB; a larger part is made again
STORED_RECORDS = {  # what may stand in the file, and where it is defined
    "ApartRows": "judge.rows.apart",
    "AxisCard": "judge.axes",
    "CellAnswers": "judge.rows.answers",
    "CellLaws": "judge.rows.null_law",
    "JudgedAnswers": "judge.rows.answers",
    "RawFills": "judge.fills.fills",
    "ColumnFill": "judge.fills.calibration",
    "PairedDifference": "judge.dimensions.row_folds",
    "RowDistances": "judge.rows.odd_rows",
    "RowGroups": "judge.maps.groups",
    "DistanceLaw": "judge.dimensions.distance_law",
    "HeldOut": "judge.held_out",
    "HiddenErrors": "judge.fills.calibration",
    "Judge": "judge.dimensions.jury",
    "Jury": "judge.dimensions.jury",
    "LabelTie": "judge.axes",
    "LabelFill": "judge.fills.labels",
    "Law": "judge.rows.odd_rows",
    "Loading": "judge.axes",
    "OddRow": "judge.rows.odd_rows",
    "Posterior": "models.base.results",
    "DimensionRow": "judge.dimensions.jury",
}


class SavedAnalysis(Analysis):
    """What `Analysis` holds, from a run folder: `load_run(folder).analysis`.

    Every part of an `Analysis` is here under the same name and with the same numbers. None is read or made before it
    is asked for:

    ============================================  =============================================================
    part                                          where it comes from
    ============================================  =============================================================
    `settings`, `of`, `dims`, `sentences`,        run.json
    `trust`, `shares`
    `jury`, `axes`, `fills`, `odd`,               judges.lowdim; in a folder without it (of an older lowdim, or
    `posterior`                                   of a run that was stopped) that stage alone runs again
    `groups`                                      judges.lowdim; in an older folder one
    `model`, `calibration`                        model.lowdim, run.json
    `row_names`, `has_gaps`, `label_names`        judges.lowdim, run.json; else the table
    `table`                                       the file it was read from, if it has not changed since
    `gaps`, `surprises`                           the table and the model; quick
    `stability`                                   rows resampled again: the one part that takes seconds
    ============================================  =============================================================

    `map`, `scree`, `jury`, `heldout`, `loadings`, `axis_cards`, `control` and their like are drawn without any fit, and
    the first of them without loading a model, or the table where no column colours it.
    """

    run: SavedRun

    def __init__(self, run: SavedRun) -> None:
        table = run.facts["table"]
        of = table["rows"] if "drawn" in table else None
        vars(self).update(run=run, settings=run.settings, of=of)  # it is frozen, as any analysis

    # parts --------------------------------------------------------------------------------------------
    @cached_property
    def table(self) -> Table:
        return self.run.table

    @cached_property
    def model(self) -> MapModel:
        return self.run.model if self.run.has_model else self._stages.model(self._stages.dims(self.jury))

    @cached_property
    def jury(self) -> Jury:
        return self._part("jury", lambda: self._stages.jury())

    @cached_property
    def posterior(self) -> Posterior:
        return self._part("posterior", lambda: self._stages.posterior(self.model))

    @cached_property
    def held(self) -> HeldOut:
        """As it was stored, or found again; nothing in a folder of an older lowdim, whose fits held nothing out."""
        if "robust" not in self.run.facts["settings"] or self.of is not None:
            return NOTHING_HELD
        from lowdim.jobs.analysis import AnalysisStages

        return self._part("held", lambda: AnalysisStages(self.table, self.settings).held_out(self.dims))

    @cached_property
    def odd(self) -> OddRows:
        stored = self._stored.get("odd")
        if stored is None:
            return self._stages.odd(self.model)
        from lowdim.judge.rows.null_law import GAUSSIAN_DOF, RowLaw
        from lowdim.judge.rows.odd_rows import JudgedRows, OddRows

        fields, mixed = unpacked(stored), self.run.facts.get("mixed")
        law = RowLaw(fields.get("law_scale", 1.0), fields.get("law_dof", GAUSSIAN_DOF), cells=fields.pop("cells", None))
        rows, scale, answers = fields.pop("rows_judged"), fields.pop("scale"), fields.pop("answers", None)
        names = self.run.names if mixed is None else tuple(c["name"] for c in mixed)
        scales = self.run.scales if mixed is None else self._logs_of_columns
        if answers is not None:
            law = law._replace(middle=answers.surprise[0], spread=answers.surprise[1])
        judged = JudgedRows(rows, names, scale, self.row_names, scales, law, answers)
        return OddRows(**fields, judged=judged)

    @cached_property
    def gaps(self) -> GapReport:
        from lowdim.judge.gaps import gap_report

        return gap_report(self.table.X, self.table.names)

    @cached_property
    def fills(self) -> Fills:
        stored = self._stored.get("fills")
        if stored is None:
            return self._stages.fills()
        from lowdim.judge.fills.filled_table import Fills, number_copies
        from lowdim.judge.fills.fills import possible_fills

        fields = unpacked(stored)
        gap = np.isnan(self.table.X)
        filled, bare = np.array(self.table.X), fields["bare"]
        filled[gap] = bare.filled / bare.unit[np.nonzero(gap)[1]]
        scales, labels = self.table.scales, fields.pop("labels", ())
        labels = tuple(c._replace(drawn=partial(self._drawn_labels, k)) for k, c in enumerate(labels))
        filled = possible_fills(filled, ~gap, scales, labels)
        same: dict[str, Any] = dict.fromkeys(("filled", "lower", "upper", "sd"), filled)  # intervals follow
        fills = Fills(**fields, **same, is_filled=gap, drawn=self._drawn, scales=scales, labels=labels)
        return fills._replace(copies=number_copies(self.table)).at(fills.level)

    @cached_property
    def axes(self) -> tuple[AxisCard, ...]:
        return self._part("axes", lambda: self._stages.axes(self._refits))

    @cached_property
    def groups(self) -> RowGroups:
        """As stored; one where none are: in a folder of an older lowdim, or of more rows than are stored."""
        from lowdim.judge.maps.groups import one_group

        return self._part("groups", lambda: one_group(len(self.posterior.mean)))

    @cached_property
    def stability(self) -> Stability:
        return self._refits.stability()

    # what follows from them, where run.json says it -----------------------------------------------------
    @property
    def dims(self) -> int:
        known = self.run.facts.get("dims")
        return super().dims if known is None else int(known)

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        stored = self._stored.get("row_names")
        return super().row_names if stored is None else tuple(stored.astype(np.uint8).tobytes().decode().split("\n"))

    @cached_property
    def label_names(self) -> tuple[str, ...]:
        known = self.run.facts["table"].get("labels")
        return super().label_names if known is None else tuple(known)

    @cached_property
    def has_gaps(self) -> Mask:
        return self.odd.seen < self.odd.columns

    @cached_property
    def shares(self) -> tuple[float, ...]:
        known = self.run.facts.get("shares")
        return super().shares if known is None else tuple(known)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        return self.run.sentences or super().sentences

    @cached_property
    def trust(self) -> tuple[TrustCheck, ...]:
        known = self.run.facts.get("trust")
        if not known:
            return super().trust
        from lowdim.judge.verdicts import TrustCheck

        return tuple(TrustCheck(**check) for check in known)

    @cached_property
    def calibration(self) -> MapCalibration:
        return self.run.calibration or super().calibration

    @cached_property
    def law_of_new_rows(self) -> RowLaw:
        return self.run.law_of_new_rows or super().law_of_new_rows

    @property
    def _logs_of_columns(self) -> ColumnScales | None:
        """Of a mixed map: which of its columns are logarithms."""
        scales = self.run.scales
        if scales is None or not scales.log.any() or self.mixed is None:
            return None
        return self.mixed.column_scales

    # what is stored, and the stages that make the rest --------------------------------------------------
    @cached_property
    def _stored(self) -> dict[str, Any]:
        return stored_parts(self.run)

    @cached_property
    def _stages(self) -> AnalysisStages:
        from lowdim.jobs.analysis import AnalysisStages

        return AnalysisStages(self.table, self.settings, self.held)

    @cached_property
    def _refits(self) -> ResampledMap:
        return self._stages.refits(self.model)

    def _part(self, name: str, make: Callable[[], Part]) -> Part:
        stored = self._stored.get(name)
        part: Part = make() if stored is None else unpacked(stored)
        return part

    def _drawn(self, seed: int, number: int) -> Any:
        """A table drawn by the model of the fills, which is fitted again for it."""
        return self._filling.drawn(seed, number)

    def _drawn_labels(self, k: int, seed: int, number: int) -> Any:
        """Labels of the k-th column of words drawn by the model of the fills."""
        return self._filling.labels[k].drawn(seed, number)

    @cached_property
    def _filling(self) -> Any:
        return self._stages.fills()


# the file -----------------------------------------------------------------------------------------------
def save_parts(analysis: Analysis | Partial, folder: Path) -> None:
    """Write the parts of an analysis that took long, as far as they exist and are small."""
    if analysis.jury is None:
        return  # the first stage was not finished
    parts: dict[str, Any] = {
        "jury": analysis.jury,
        "posterior": analysis.posterior,
        "axes": getattr(analysis, "axes", None),
        "held": analysis.held,
        "groups": getattr(analysis, "groups", None),
    }
    if analysis.odd is not None:
        fields = analysis.odd._asdict()
        judged = fields.pop("judged")
        parts["odd"] = {**fields, "rows_judged": judged.rows, "scale": judged.scale}
        parts["odd"] |= {} if judged.answers is None else {"answers": judged.answers}
        parts["odd"] |= {} if judged.law.cells is None else {"cells": judged.law.cells}
    if analysis.fills is not None:
        names = ("columns", "level", "n_components", "held", "tried", "skill", "hidden", "bare", "how")
        parts["fills"] = {name: getattr(analysis.fills, name) for name in names}
        if analysis.fills.labels:
            parts["fills"]["labels"] = tuple(c._replace(drawn=None) for c in analysis.fills.labels)
    joined = "\n".join(analysis.table.row_names).encode()  # names are of one line each
    parts["row_names"] = np.frombuffer(joined, dtype=np.uint8)
    small = {name: packed(part) for name, part in parts.items() if part is not None and cells(part) <= PART_CELLS}
    try:
        save_values(folder / JUDGES_FILE, {"schema": JUDGES_SCHEMA, **small})
    except LowdimError:  # more columns than a manifest takes: these stages run again when asked for
        (folder / JUDGES_FILE).unlink(missing_ok=True)
    except OSError as cause:
        raise not_written(folder / JUDGES_FILE, cause) from cause


def stored_parts(run: SavedRun) -> dict[str, Any]:
    """The parts in a run's file, still packed; none where there is no such file, or not that of this run."""
    from lowdim.jobs.run_folder import file_fingerprint

    path, known = run.folder / JUDGES_FILE, run.facts["files"].get(JUDGES_FILE)
    try:
        if known is None or file_fingerprint(path.read_bytes()) != known:
            return {}
        parts = load_values(path)
    except (LowdimError, OSError):
        return {}
    return parts if parts.pop("schema", None) == JUDGES_SCHEMA else {}


def cells(value: Any) -> int:
    """How many numbers the arrays of a tree hold."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    return value.size if isinstance(value, np.ndarray) else sum(map(cells, parts))


def packed(value: Any) -> Any:
    """A tree of records, tuples and arrays as plain values: a record by its name, many of a kind field by field."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {"record": _known(value), "fields": packed(value._asdict())}
    if isinstance(value, tuple) and value and all(hasattr(part, "_asdict") for part in value):
        columns = zip(*value, strict=True)
        fields = {name: _column(tuple(column)) for name, column in zip(value[0]._fields, columns, strict=True)}
        return {"records": _known(value[0]), "fields": fields}
    if isinstance(value, tuple):
        return tuple(packed(part) for part in value)
    if isinstance(value, dict):
        return {key: packed(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value.astype(np.int64) if value.dtype.kind in "iu" else value)
    return value.item() if isinstance(value, np.generic) else value


def _known(record: Any) -> str:
    name = type(record).__name__
    assert name in STORED_RECORDS, name
    return name


def _column(values: tuple[Any, ...]) -> Any:
    """One field of many records: an array of numbers, or the values one by one."""
    return np.array(values) if all(type(part) is float for part in values) else tuple(map(packed, values))


def unpacked(value: Any) -> Any:
    """The tree of `packed` again."""
    if isinstance(value, tuple):
        return tuple(unpacked(part) for part in value)
    if not isinstance(value, dict):
        return value
    if value.keys() == {"record", "fields"}:
        return _record(value["record"], {key: unpacked(part) for key, part in value["fields"].items()})
    if value.keys() == {"records", "fields"}:
        columns = (
            part.tolist() if isinstance(part, np.ndarray) else unpacked(part) for part in value["fields"].values()
        )
        rows = zip(*columns, strict=True)
        return tuple(_record(value["records"], dict(zip(value["fields"], row, strict=True))) for row in rows)
    return {key: unpacked(part) for key, part in value.items()}


def _record(name: str, fields: dict[str, Any]) -> Any:
    """A record of this name; fields that it had in an older version and has no longer are left out."""
    if name == "OddRow" and "p_row" in fields:  # `p` was that of D2
        fields = {**fields, "p": fields["p_row"], "p_D2": fields["p"]}
    kind = getattr(import_module(f"lowdim.{STORED_RECORDS[name]}"), name)
    return kind(**{key: value for key, value in fields.items() if key in kind._fields})
