"""What the page asks for, by name: facts once, then columns of numbers as they are needed, single rows and places.

    facts.json                  the table, its columns, and what was found
    axis/K  sd/K  column/J      one number a row; NaN at gaps
    label/K  extra/NAME         codes of a label (-1 where it is missing); gaps, surprise, density
    names.json  numbers         the rows' names; their numbers as their file counts them, from 1
    card  group                 asked with a text: a row with cells hidden and edited; what sets rows apart (`cards.py`)
    at/Z.json                   what lives at a place, the rows nearest to it, and whether any row has been there
    gap/K,I.json  gap/K.json    what fills column K of row I, or of the first row with a gap there
    ellipses/A,B,I,...          three numbers of the ellipse of each of these rows, along two axes
    empty/A,B,X,Y,W,H,Z.json    where no row has been, in a view of two axes through a place

Numbers are little-endian: doubles while a table is small; beyond that single precision, in units of each column's
spread, so that no digits are lost to a far origin.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from lowdim.explorer.cards import Cards, columns_of
from lowdim.jobs.run_folder import FACTS
from lowdim.jobs.table_model import TableModel
from lowdim.judge.maps.groups import RowGroups, colour_word
from lowdim.judge.rows.row_card import ODD_LEVEL
from lowdim.maths.linalg import Array
from lowdim.table.pictures import form_of
from lowdim.text.format import count

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

EXACT_CELLS = 2**20  # cells up to which numbers travel as doubles
ROWS_AT_ONCE = 200_000  # rows up to which names and labels are sent with the rest
MOST_LABELS = 1000  # different values of a label that are sent
MOST_ODD = 500  # odd rows that are sent
WORTH = ("column", "gaps", "skill", "held", "tried", "advice")  # of a column's fills
ASKED = ("card", "group")  # what is asked with a text, which may be too long for an address
SHADED = 36  # cells a side of a view that are asked whether a row has been there
MOST_ELLIPSES = 300  # rows whose ellipses are drawn


class Reply(NamedTuple):
    """The bytes of a reply and what they are."""

    body: bytes
    kind: str


class Endpoints:
    """Everything the page may ask for of one subject; nothing else can be read through it."""

    def __init__(self, subject: TableModel) -> None:
        model = subject.model.asked_often() if subject.decodes else subject.model
        self.subject = subject if model is subject.model else replace(subject, model=model)
        t = subject.table
        self.n, self.d, self.q = t.n, subject.numbers.d, subject.places.z.shape[1]
        self.exact = t.n * max(self.d, 1) <= EXACT_CELLS
        self._one_at_a_time = threading.Lock()

    def reply(self, name: str, asked: str = "") -> Reply | None:
        """The reply to a name, or None where there is no such thing."""
        kind, _, rest = name.partition("/")
        ways: dict[str, Callable[[str], Any]] = {
            "axis": lambda k: self._numbers(self.subject.places.z, k),
            "sd": lambda k: self._numbers(self.subject.places.sd, k),
            "column": lambda k: self._numbers(self._columns, k),
            "label": self._label,
            "extra": self._extra,
            "at": self._at,
            "gap": self._gap,
            "ellipses": self._ellipses,
            "empty": self._empty,
        }
        if name == "facts.json":
            return _json(self.facts)
        if name == "names.json":
            return _json(list(self.subject.table.row_names))
        if name == "stale.json":
            return _json({"what": self.changed})
        if name == "numbers":
            return _binary(np.asarray(self.subject.table.rows, dtype=np.float64) + 1.0, "<i4")
        if kind not in ways and name not in ASKED:
            return None
        with self._one_at_a_time:  # models and tables are not written for many threads at once
            found = self._asked(name, asked) if name in ASKED else ways[kind](rest)
        return found if found is None or isinstance(found, Reply) else _json(found)

    def _asked(self, name: str, text: str) -> dict[str, Any] | None:
        if name == "group":
            return self.cards.group(text)
        return self.cards.row(text) if self.subject.rows_placed else None

    @cached_property
    def cards(self) -> Cards:
        """The rows, places, gaps and groups of the subject."""
        return Cards(self.subject)

    # facts ----------------------------------------------------------------------------------------------
    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the page knows from the start."""
        s, t = self.subject, self.subject.table
        names = t.row_names
        numbered = all(name == str(k) for k, name in enumerate(names, 1))
        return {
            "schema": 1,
            "title": t.name,
            "size": f"{count(t.n, 'row')}, {count(t.d, 'measured column')}, {count(int(np.isnan(t.X).sum()), 'gap')}",
            "n": t.n,
            "q": self.q,
            "columns": columns_of(s.numbers),
            "cells": self.cards.columns,
            "placed": self.subject.rows_placed,
            "decodes": s.decodes,
            "judged": s.law is not None,
            "oddRate": 1.0 - ODD_LEVEL,
            "numbers": {"double": self.exact, "shift": self._shift, "scale": self._scale},
            "form": form_of(t),
            "spread": s.rows.spread,
            "middle": s.rows.middle,
            "axes": self._axes,
            "method": {"name": s.entry.name, "title": s.entry.title},
            "names": None if numbered or t.n > ROWS_AT_ONCE else list(names),
            "numbered": numbered,
            "counted": bool((t.rows == np.arange(t.n)).all()),
            "labels": [{"name": name, "values": values} for name, values, _ in self._labels],
            "grouped": self._groups is not None,
            "extras": list(self._extras),
            "uncertain": s.places.sd is not None,
            "held": len(s.partition.wrong_cells) > 0,
            "times": t.time is not None,
            "run": None if s.run is None else str(s.run.folder),
            "table": t.path,
            "mostEllipses": MOST_ELLIPSES,
            "sentences": list(s.sentences),
            **self._odd,
            "jury": None if s.analysis is None else _jury(s.analysis),
            "fills": None if s.fills is None else [{name: getattr(c, name) for name in WORTH} for c in s.fills.columns],
        }

    @property
    def _odd(self) -> dict[str, Any]:
        """The odd rows, of a model that has a law of their distances."""
        odd = self.subject.judged
        if odd is None:
            return {"odd": []}
        rows = [{"row": r.row, "name": r.name, "p": r.p, "reason": r.reason} for r in odd.rows[:MOST_ODD]]
        return {"odd": rows, "oddSentence": odd.sentence}

    @property
    def _axes(self) -> list[dict[str, Any]]:
        shares = self.subject.shares
        return [
            {
                "name": f"axis {k + 1}",
                "share": shares[k] if k < len(shares) else None,
                "width": self.subject.rows.width[k],
            }
            for k in range(self.q)
        ]

    @property
    def changed(self) -> str | None:
        """What has changed since this began: "table", "run" or nothing."""
        return next((what for what, path in self._files.items() if _file_state(path) != self._first[what]), None)

    @cached_property
    def _files(self) -> dict[str, Path]:
        """The files that what is shown was made from."""
        run, table = self.subject.run, self.subject.table.path
        of_run = {} if run is None else {"run": Path(run.folder) / FACTS}
        return of_run | ({"table": Path(table)} if table else {})

    @cached_property
    def _first(self) -> dict[str, tuple[int, int]]:
        """What they were when this began."""
        return {what: _file_state(path) for what, path in self._files.items()}

    # columns --------------------------------------------------------------------------------------------
    @cached_property
    def _shift(self) -> Array:
        return np.zeros(self.d) if self.exact else self.subject.rows.middle

    @cached_property
    def _scale(self) -> Array:
        return np.ones(self.d) if self.exact else 1.0 / self.subject.rows.spread

    @property
    def _columns(self) -> Array:
        return self.subject.numbers.X

    def _numbers(self, table: Array | None, which: str) -> Reply | None:
        """One column of a table of numbers."""
        k = _position(which, 0 if table is None else table.shape[1])
        if table is None or k is None:
            return None
        x = table[:, k]
        if table is self._columns and not self.exact:
            x = (x - self._shift[k]) * self._scale[k]
        return _binary(x, "<f8" if self.exact else "<f4")

    @cached_property
    def _groups(self) -> RowGroups | None:
        """The groups that the rows fall into, where there are several."""
        groups = None if self.subject.analysis is None else self.subject.analysis.groups
        return groups if groups is not None and len(groups.sizes) > 1 else None

    @cached_property
    def _labels(self) -> list[tuple[str, list[str], Array]]:
        """The groups that the rows fall into, and label columns of which the values can be told apart: name, values in
        their order, codes."""
        found = []
        for name, column in self.subject.table.labels.items():
            words = np.array(["" if v is None else str(v) for v in column.tolist()], dtype=object)
            values, codes = np.unique(words.astype(str), return_inverse=True)
            if len(values) <= MOST_LABELS:
                missing = np.array([v is None for v in column.tolist()])
                found.append((name, values.tolist(), np.where(missing, -1, codes)))
        groups = self._groups
        if groups is not None:
            called = colour_word(c.name for c in self.subject.table.columns)
            found.insert(0, (called, [f"{k}: {name}" for k, name in enumerate(groups.names, 1)], groups.label))
        return found

    def _label(self, which: str) -> Reply | None:
        k = _position(which, len(self._labels))
        return None if k is None else _binary(self._labels[k][2], "<i4")

    @cached_property
    def _extras(self) -> dict[str, Callable[[], Array]]:
        """What else rows can be coloured by."""
        s = self.subject
        extras: dict[str, Callable[[], Array]] = {"gaps": lambda: np.isnan(s.table.X).sum(axis=1)}
        density = s.places.density
        if s.law is not None:
            extras["surprise"] = lambda: np.abs(s.surprises).max(axis=1, initial=0.0)
        if density is not None:
            extras["density"] = lambda: density
        return extras

    def _extra(self, name: str) -> Reply | None:
        return _binary(self._extras[name](), "<f8" if self.exact else "<f4") if name in self._extras else None

    # rows and places --------------------------------------------------------------------------------------
    def _at(self, which: str) -> dict[str, Any] | None:
        z = _floats(unquote(which.removesuffix(".json")), self.q)
        return None if z is None or not self.subject.decodes else self.cards.at(z)

    def _gap(self, which: str) -> dict[str, Any] | None:
        text, limits = which.removesuffix(".json"), (len(self.cards.columns), self.n)
        found = _positions(text, limits[: 1 + text.count(",")])
        return None if found is None else self.cards.gap(*found) if len(found) == 2 else self.cards.gap(found[0], None)

    def _ellipses(self, which: str) -> Reply | None:
        found = _positions(which, (self.q, self.q, *(which.count(",") - 1) * (self.n,)))
        if found is None or not self.subject.rows_placed or len(found) > 2 + MOST_ELLIPSES:
            return None
        a, b, *rows = found
        return _binary(self.cards.ellipses(a, b, rows), "<f8")

    def _empty(self, which: str) -> dict[str, Any] | None:
        """Where no row has been, cell by cell of a view: the same question as that of `at`, asked of many places."""
        given = _floats(unquote(which.removesuffix(".json")), 6 + self.q)
        if given is None or not self.subject.decodes or given[4:6].min() <= 0:
            return None
        a, b = (_position(f"{k:.0f}", self.q) for k in given[:2])
        if a is None or b is None:
            return None
        place = np.tile(given[6:], (SHADED**2, 1))
        steps = (np.arange(SHADED) + 0.5) / SHADED
        place[:, a] = np.repeat(given[2] + steps * given[4], SHADED)
        place[:, b] = np.tile(given[3] + steps * given[5], SHADED)
        return {"side": SHADED, "cells": np.flatnonzero(self.subject.rows.gaps(place) > self.subject.rows.empty)}


def _file_state(path: Path) -> tuple[int, int]:
    """When a file was last written and how long it is."""
    try:
        facts = path.stat()
    except OSError:
        return (-1, -1)
    return (facts.st_mtime_ns, facts.st_size)


def _jury(analysis: Analysis) -> dict[str, Any]:
    jury = analysis.jury
    return {
        "q": analysis.dims,
        "sentence": jury.sentence,
        "detectable": jury.detectable,
        "eigenvalues": np.asarray(jury.eigenvalues),
        "band": np.asarray(jury.band),
        "rows": [row._asdict() for row in jury.rows],
        "judges": [judge._asdict() for judge in jury.judges],
    }


# bytes ------------------------------------------------------------------------------------------------------
def packed(value: Any, kind: str = "f8") -> Any:
    """A tree with its arrays as base64 of little-endian numbers, whole or single precision.

    Numbers that are not finite, outside of arrays, are None.

    >>> packed({"a": np.array([1.0, 2.0]), "b": 3})
    {'a': {'f8': 'AAAAAAAA8D8AAAAAAAAAQA==', 'shape': [2]}, 'b': 3}
    """
    if isinstance(value, dict):
        return {key: packed(part, kind) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [packed(part, kind) for part in value]
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value, dtype=f"<{kind}").tobytes()
        return {kind: base64.b64encode(data).decode("ascii"), "shape": list(value.shape)}
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _json(value: Any) -> Reply:
    return Reply(json.dumps(packed(value), allow_nan=False).encode(), "application/json")


def _binary(x: Array, dtype: str) -> Reply:
    return Reply(np.ascontiguousarray(x, dtype=dtype).tobytes(), "application/octet-stream")


def _position(text: str, many: int) -> int | None:
    """A position from 0, or None where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 and int(text) < many else None


def _positions(text: str, many: tuple[int, ...]) -> list[int] | None:
    """Positions from 0 with commas between, each below its own limit; None where one is none."""
    parts = text.split(",")
    found = [_position(part, most) for part, most in zip(parts, many, strict=False)]
    return None if len(parts) != len(many) or None in found else [k for k in found if k is not None]


def _floats(text: str, many: int) -> Array | None:
    """So many finite numbers with commas between, or None."""
    try:
        z = np.array([float(part) for part in text.split(",")])
    except ValueError:
        return None
    return z if len(z) == many and bool(np.isfinite(z).all()) else None
