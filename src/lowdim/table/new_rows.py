"""New rows for an old model: read by the model's columns, one row is enough, and nothing is left out of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.math.linalg import Array
from lowdim.table import checks
from lowdim.table.detect import Guess
from lowdim.table.notes import Messages, Notes
from lowdim.table.options import LISTS, Options, settle
from lowdim.table.roles import Column, Place, assign
from lowdim.table.table import Table, _named, _take, tell_apart, turned
from lowdim.text.escape import protect_terminal
from lowdim.text.format import listing
from lowdim.text.messages import error

EXPECTED = ("LD008", "LD110", "LD180", "LD181")  # said of the first table already


class NewRows(NamedTuple):
    """The cells of new rows in the order of a model's columns, gaps where the table lacks one."""

    X: Array
    row_names: tuple[str, ...]
    absent: tuple[str, ...]  # columns of the model that the table lacks
    unknown: tuple[str, ...]  # columns of numbers that the model does not know
    messages: Messages
    index: Any = None  # of a frame
    guess: Guess = Guess("array")  # how the table was read


def read_rows(table: Any, wanted: tuple[str, ...], **options: Any) -> NewRows:
    """Read new rows; the columns of the model are numbers whatever they look like.

    >>> read_rows(np.array([[1.0, 2.0]]), ("c2", "c1", "c9")).X  # by name; an array of three would be by position
    array([[ 2., 1., nan]])
    """
    if isinstance(table, Table):
        here = [c for c in table.columns if c.values.dtype.kind == "f"]
        return _placed(here, wanted, table.row_names, table.messages)._replace(index=table.index, guess=table.guess)
    how = settle(options)
    raw = _take(table, how)
    raw = turned(raw) if how.transpose else raw
    notes = Notes(raw.name, raw.unit)
    notes.found.extend(raw.notes)
    if raw.names is None and not raw.path and how.names is None and len(raw.cells) == len(wanted):
        raw = raw._replace(names=list(wanted))  # an array has no names: its columns are the model's, in order
    raw, names, blank = _named(raw, how, notes)
    encode, how = how.encode, _here(how, names, wanted)
    parsed, _, _ = tell_apart(raw, names, how, notes)
    place = Place(raw.name, raw.unit, raw.lines, how.na)
    columns = assign(parsed, blank, how, place, notes)
    notes.stop()
    work = checks.logs(checks.infinite(checks.stack(columns, len(raw.lines)), how, place, notes), how, place)
    notes.stop()
    numbers = [c._replace(values=work.X[:, j]) for j, c in enumerate(work.columns)]
    said = Messages(m for m in notes.found if m.code not in EXPECTED)
    named = next((c.values for c in columns if c.role == "id"), raw.index)
    plain = named is None or type(named).__name__ == "RangeIndex"
    rows = tuple(str(k + 1) if plain or named[k] is None else str(named[k]) for k in range(len(raw.lines)))
    return _placed([*numbers, *_levels(columns, encode, wanted)], wanted, rows, said)._replace(
        index=raw.index, guess=raw.guess
    )


def _here(how: Options, names: list[str], wanted: tuple[str, ...]) -> Options:
    """The options of the first table as far as this one has the columns they name."""
    known: dict[str, Any] = {option: tuple(n for n in getattr(how, option) if n in names) for option in LISTS}
    single = {role: getattr(how, role) if getattr(how, role) in names else None for role in ("id", "time", "weight")}
    known["label"], known["encode"] = (*known["label"], *known["encode"]), ()
    aside = {*known["label"], *known["drop"], *single.values()}
    known["number"] = tuple(name for name in wanted if name in names and name not in aside)
    return how._replace(**{**known, **single, "columns": ()})


def _levels(columns: list[Column], encode: tuple[str, ...], wanted: tuple[str, ...]) -> list[Column]:
    """The model's columns of zeros and ones from the labels of these rows, whichever of them occur here."""
    more = []
    for c in columns:
        for name in wanted if c.name in encode else ():
            if name.startswith(f"{c.name}="):
                cells = [np.nan if v is None else float(protect_terminal(f"{c.name}={v}") == name) for v in c.values]
                more.append(Column(name, "number", np.array(cells), c.position))
    return more


def _placed(columns: list[Column], wanted: tuple[str, ...], rows: tuple[str, ...], said: Messages) -> NewRows:
    here = {c.name: c for c in columns}
    absent = tuple(name for name in wanted if name not in here)
    if len(absent) == len(wanted):
        raise error(
            "LD220",
            got=len(here),
            want=len(wanted),
            model="the map",
            missing=f"; none of its columns is one of {listing(wanted, 10)}",
        )
    X = np.full((len(rows), len(wanted)), np.nan)
    for j, name in enumerate(wanted):
        if name in here:
            X[:, j] = here[name].values
    unknown = tuple(c.name for c in columns if c.role == "number" and c.name not in wanted)
    return NewRows(X, rows, absent, unknown, said)
