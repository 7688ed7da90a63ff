"""The parts of an analysis in its run folder: packed as plain values, and unpacked when they are asked for.

============================================  =============================================================
part                                          where it is
============================================  =============================================================
`dims`, `sentences`, `trust`, `shares`,       run.json
`label_names`, `calibration`,
`law_of_new_rows`
`jury`, `partition`, `posterior`, `odd`, `fills`,  judges.lowdim (format: `storage/model_file.py`, plain values
`axes`, `labels`, `groups`, `by_variance`,    only), those that are small enough
`unshared`, `row_names`, `has_gaps`
`model`                                       model.lowdim
`table`                                       the file it was read from, if it has not changed since
============================================  =============================================================

What is not there is made again when it is asked for; the resampled maps never are, as they are large. No model is
imported before one is asked for.
"""

from __future__ import annotations

from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.storage.atomic import not_written
from lowdim.storage.model_file import load_values, save_values
from lowdim.text.messages import LowdimError, error

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis
    from lowdim.jobs.run_folder import SavedRun
    from lowdim.judge.fills.result import Fills

JUDGES_FILE = "judges.lowdim"
JUDGES_SCHEMA = 7  # of the parts; a file of another one is as good as none
PART_CELLS = 2**19  # numbers of one part that are stored at the most: 4 MB; a larger part is made again
PLAIN_PARTS = (
    "jury",
    "partition",
    "posterior",
    "axes",
    "labels",
    "groups",
    "by_variance",
    "unshared",
)  # records and arrays through and through
FILL_FIELDS = (
    *("columns", "level", "n_components", "held", "tried", "skill", "error", "hidden"),
    *("mean", "spread", "how", "engines", "only_copies"),
)


class RunStore:
    """The parts that a run folder has."""

    def __init__(self, run: SavedRun) -> None:
        self.run = run

    @property
    def finished(self) -> bool:
        """Whether the analysis came to its end."""
        return bool(self.run.facts["finished"])

    def has(self, name: str) -> bool:
        """Whether a part that takes long is there."""
        return self.run.has_model if name == "model" else name in self.packed_parts

    def part(self, name: str, analysis: Analysis) -> Any:
        """A part of the analysis that was saved here; None where it is not here."""
        run = self.run
        match name:
            case "jury" | "partition" | "posterior" | "axes" | "labels" | "groups" | "by_variance" | "unshared":
                return unpacked(self.packed_parts.get(name))
            case "odd":
                odd = unpacked(self.packed_parts.get("odd"))
                return odd and odd._replace(judged=odd.judged._replace(row_names=analysis.row_names))
            case "fills":
                return self._fills(analysis)
            case "has_gaps":
                return analysis.odd.seen < analysis.odd.columns if self.has("odd") else None
            case "row_names":
                names = self.packed_parts.get("row_names")
                return None if names is None else tuple(names.astype(np.uint8).tobytes().decode().split("\n"))
            case "model":
                return run.model if run.has_model else None
            case "table":
                return run.table
            case "label_names":
                return tuple(run.facts["table"]["labels"])
            case "dims":
                return run.facts["dims"]
            case "shares":
                return tuple(run.facts["shares"]) if "shares" in run.facts else None
            case "sentences":
                return run.sentences or None
            case "trust":
                from lowdim.judge.verdicts import TrustCheck

                return tuple(TrustCheck(**check) for check in run.facts["trust"]) or None
            case "calibration":
                return run.calibration
            case "law_of_new_rows":
                return run.law_of_new_rows
        return None

    @cached_property
    def packed_parts(self) -> dict[str, Any]:
        """The parts in judges.lowdim, still packed; none where there is no such file, or not that of this run."""
        path = self.run.folder / JUDGES_FILE
        try:
            if not self.run.is_own(path):
                return {}
            parts = load_values(path)
        except (LowdimError, OSError):
            return {}
        return parts if parts.pop("schema", None) == JUDGES_SCHEMA else {}

    def _fills(self, analysis: Analysis) -> Fills | None:
        stored = self.packed_parts.get("fills")
        if stored is None:
            return None
        from lowdim.judge.fills.copies import number_copies
        from lowdim.judge.fills.result import Fills, possible_fills

        fields, table, again = unpacked(stored), analysis.table, FillsAgain(analysis)
        gap = np.isnan(table.X)
        filled = np.array(table.X)
        filled[gap] = fields["mean"]
        labels = fields.pop("labels")
        labels = tuple(c._replace(drawn=partial(again.drawn_labels, k)) for k, c in enumerate(labels))
        filled = possible_fills(filled, ~gap, table.scales, labels)
        same: dict[str, Any] = dict.fromkeys(("filled", "lower", "upper", "sd"), filled)  # intervals follow
        fills = Fills(**fields, **same, is_filled=gap, drawn=again.drawn, scales=table.scales, labels=labels)
        return fills._replace(copies=number_copies(table)).at(fills.level)


class FillsAgain:
    """The fills of an analysis made again for draws, which are not stored."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis

    @cached_property
    def fills(self) -> Fills:
        from lowdim.jobs.analysis import filled_straight

        return filled_straight(self.analysis.table, self.analysis.settings)

    def drawn(self, seed: int, number: int) -> Any:
        """A table drawn by the model of the fills."""
        return self.fills.drawn(seed, number)

    def drawn_labels(self, k: int, seed: int, number: int) -> Any:
        """Labels of the k-th column of words."""
        draw = self.fills.labels[k].drawn
        return None if draw is None else draw(seed, number)


# writing ------------------------------------------------------------------------------------------------
def save_parts(analysis: Analysis, folder: Path) -> None:
    """Write the parts of an analysis that took long, as far as they are there and small."""
    if not analysis.has("jury"):
        return  # not even the first part was finished
    parts: dict[str, Any] = {name: getattr(analysis, name) for name in PLAIN_PARTS if analysis.has(name)}
    if analysis.has("odd"):
        judged = analysis.odd.judged._replace(row_names=None)  # stored once
        parts["odd"] = analysis.odd._replace(judged=judged)
    if analysis.has("fills"):
        labels = tuple(c._replace(drawn=None) for c in analysis.fills.labels)
        parts["fills"] = {name: getattr(analysis.fills, name) for name in FILL_FIELDS} | {"labels": labels}
    joined = "\n".join(analysis.row_names).encode()  # names are of one line each
    parts["row_names"] = np.frombuffer(joined, dtype=np.uint8)
    small = {name: packed(part) for name, part in parts.items() if cells(part) <= PART_CELLS}
    try:
        save_values(folder / JUDGES_FILE, {"schema": JUDGES_SCHEMA, **small})
    except LowdimError:  # more columns than a manifest takes: these parts are made again when asked for
        (folder / JUDGES_FILE).unlink(missing_ok=True)
    except OSError as cause:
        raise not_written(folder / JUDGES_FILE, cause) from cause


def cells(value: Any) -> int:
    """How many numbers the arrays of a tree hold."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    return value.size if isinstance(value, np.ndarray) else sum(map(cells, parts))


# packing ------------------------------------------------------------------------------------------------
def packed(value: Any) -> Any:
    """A tree of records, tuples and arrays as plain values: a record by its name, many of a kind field by field."""
    if is_record(value):
        return {"record": name_of(value), "fields": packed(value._asdict())}
    if isinstance(value, tuple) and value and all(map(is_record, value)):
        columns = zip(*value, strict=True)
        fields = {name: _column(tuple(column)) for name, column in zip(value[0]._fields, columns, strict=True)}
        return {"records": name_of(value[0]), "fields": fields}
    if isinstance(value, tuple):
        return tuple(packed(part) for part in value)
    if isinstance(value, dict):
        return {key: packed(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return np.array(value, dtype=np.int64 if value.dtype.kind in "iu" else None, order="C")
    return value.item() if isinstance(value, np.generic) else value


def is_record(value: Any) -> bool:
    """Whether a value is a tuple whose fields have names."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def name_of(record: Any) -> str:
    """What a record is, and where in this package it is defined: "judge.axes:AxisCard"."""
    return f"{type(record).__module__.removeprefix('lowdim.')}:{type(record).__name__}"


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
        return _kind(value["record"])(**{key: unpacked(part) for key, part in value["fields"].items()})
    if value.keys() == {"records", "fields"}:
        columns = (
            part.tolist() if isinstance(part, np.ndarray) else unpacked(part) for part in value["fields"].values()
        )
        kind, names = _kind(value["records"]), tuple(value["fields"])
        return tuple(kind(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True))
    return {key: unpacked(part) for key, part in value.items()}


def _kind(name: str) -> Any:
    """The kind of record of a name; nothing but records of this package is ever made."""
    module, _, record = name.partition(":")
    kind = getattr(import_module(f"lowdim.{module}"), record)
    if not (isinstance(kind, type) and issubclass(kind, tuple)):
        raise error("LD300", path=JUDGES_FILE, problem=f"it holds a '{name}', which is no record")
    return kind
