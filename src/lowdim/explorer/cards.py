"""What the page is told of single rows, places, gaps and groups: one shape, whichever model made the map.

The numbers are those of `TableModel`'s verbs. Columns are those of a row's card, by their positions: those of the map,
as the file names them; cells of those that hold labels or levels are answers, with words and probabilities.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.jobs.table_model import TableModel
from lowdim.judge.maps.map_columns import MapColumn
from lowdim.judge.maps.table_map import TableMap
from lowdim.judge.outliers.law import uncounted
from lowdim.judge.rows.place_card import NEVER, PlaceCard, of_seen
from lowdim.judge.rows.row_card import one_block, touched_row
from lowdim.maths.linalg import Array
from lowdim.models.base.calibration import NORMAL_90, normal_half_width
from lowdim.table.column import limit_lists
from lowdim.text.messages import LowdimError

if TYPE_CHECKING:
    from lowdim.table.table import Table

LISTED_GAPS = 60  # rows with a gap in a column that are named
BY_HIDING = "How far hiding each cell would move"
FROM_AVERAGE = "How far each cell moves it from the average to"
LIKELIER = "How much likelier, in points of 100, each cell makes"
EVERY_ROW = "That is every row: there are no others to compare with."
OWN_LEVEL = 0.9  # of the intervals that the map's own model gives


class Cards:
    """Rows, places, gaps and groups of a subject."""

    def __init__(self, subject: TableModel) -> None:
        self.subject = subject

    @property
    def map(self) -> TableMap:
        """What the model says of cells: only asked where rows are placed, or places decode."""
        assert self.subject.map is not None
        return self.subject.map

    @cached_property
    def columns(self) -> list[dict[str, Any]]:
        """The columns of a row's card; `answers` are the words of those that have levels, `number` is where the first
        of a column's numbers stands in the table."""
        s, found = self.subject, []
        known = {column["name"]: column for column in columns_of(s.table)}
        numbers = {k: j for j, (k, _) in reversed(list(enumerate(s.map.ones)))} if s.map is not None else {}
        lines = s.columns if s.map is None else s.map.line_names
        for k, (column, x) in enumerate(zip(self._map_columns, s.X.T, strict=True)):
            first = lines[numbers.get(k, k)]
            told = {
                "name": column.name,
                "offset": s.table.logs.get(column.name),
                "low": of_seen(np.nanmin, x),
                "high": of_seen(np.nanmax, x),
                "least": None,
                "most": None,
                "answers": [column.word(code) for code in sorted(column.levels)],
                "gaps": int(np.isnan(x).sum()),
                "number": s.numbers.names.index(first) if first in s.numbers.names else None,
            }
            found.append(told if column.levels else {**told, **known.get(column.name, {})})
        return found

    @property
    def _map_columns(self) -> tuple[MapColumn, ...]:
        s = self.subject
        return tuple(map(MapColumn, s.columns)) if s.map is None else s.map.columns

    # a row ----------------------------------------------------------------------------------------------
    def row(self, text: str) -> dict[str, Any] | None:
        """One row, asked for as JSON: its position, those of hidden columns, and pairs of an edited one and its value.

        None where there is no such row, column or value.
        """
        try:
            asked = json.loads(text)
            names = dict(enumerate(column["name"] for column in self.columns))
            hidden, edited = [names[j] for j in asked["hidden"]], {names[j]: value for j, value in asked["edited"]}
            row = range(self.subject.table.n).index(asked["row"])
            return self._card(row, hidden, {name: v for name, v in edited.items() if name not in hidden})
        except (LowdimError, ValueError, KeyError, TypeError, IndexError):
            return None

    def _card(self, row: int, hidden: list[str], edited: Mapping[str, Any]) -> dict[str, Any]:
        s, map = self.subject, self.map
        x = touched_row(map, s.X[[row]], hidden, edited)
        at, whole = map.cells.posterior(x), map.cells.posterior(s.X[[row]])
        card, beliefs = s.explain(row, hidden=hidden, edited=edited), map.cells.beliefs(one_block(x), s.law)
        cells = []
        for k, (column, told) in enumerate(zip(map.columns, card.cells, strict=True)):
            value, mean, half = float(x[0, k]), float(beliefs.mean[0, k]), NORMAL_90 * float(beliefs.sd[0, k])
            seen = not np.isnan(value)
            cell = told._asdict() | {"gap": bool(np.isnan(s.X[row, k])), "at": value if seen else None}
            if column.levels:
                cell |= {"at": None, "says": [self.columns[k]["low"]] * 3, "word": column.word(value) if seen else ""}
                cell |= {"chance": float(beliefs.share[0, k]) if seen else None}
                cell |= {"likeliest": column.word(float(beliefs.likeliest[0, k]))}
                cells.append(cell | {"most": float(beliefs.likeliest_share[0, k])})
            else:  # the band ends where the model says, not where a column ends
                says = mean + half * np.array([-1.0, 0.0, 1.0])
                cells.append(cell | {"says": (says if s.law is None else uncounted(says, s.law.places(k))).tolist()})
        likelier, density = None, float(at.log_density[0])
        if s.law is None and s.places.density is not None:
            likelier = float((s.places.density < density).mean())
        held = s.partition.wrong_cells
        return {
            "row": row,
            "name": s.table.row_names[row],
            "cells": cells,
            "D2": card.D2,
            "pD2": card.p_D2,
            "T2": card.T2,
            "pT2": card.p_T2,
            "Q": card.Q,
            "pQ": card.p_Q,
            "p": card.p,
            "seen": card.seen,
            "dof": card.dof_T2,
            "hide": card.hide,
            "sentence": card.sentence,
            "likelier": likelier,
            "fills": self.fills(row),
            "held": [s.table.names[j] for i, j in held if i == row],
            "z": at.mean[0].tolist(),
            "cov": at.cov[0].ravel().tolist(),
            "logDensity": density,
            "whole": {"z": whole.mean[0].tolist(), "cov": whole.cov[0].ravel().tolist()},
        }

    def ellipses(self, a: int, b: int, rows: Sequence[int]) -> Array:
        """The covariances of some rows along two axes, n x 3."""
        cov = self.map.cells.posterior(self.subject.X[list(rows)]).cov
        return np.column_stack([cov[:, i, j] for i, j in ((a, a), (a, b), (b, b))])

    # a place --------------------------------------------------------------------------------------------
    def at(self, z: Array) -> dict[str, Any]:
        """What lives at a place, the table's numbers there, of which pictures are made, and the rows near it."""
        card = self.subject.at(z.tolist())
        cells, sentence = self._place_cells(card), card.sentence.removesuffix(NEVER).rstrip()
        near = [row._asdict() for row in card.near]
        said = {"sentence": sentence, "warning": "" if card.been else NEVER, "near": near, "been": card.been}
        return {"place": z.tolist(), "cells": cells, "numbers": self._place_numbers(card), **said}

    def _place_cells(self, card: PlaceCard) -> list[dict[str, Any]]:
        """Each column once, answers by their words."""
        cells = []
        for answer in card.columns:
            number = answer.cell._asdict() | {"column": answer.column}
            told = {"word": answer.word, "chance": answer.chance, "usual": answer.usual}
            cells.append(number if answer.chance is None else number | told)
        return cells

    def _place_numbers(self, card: PlaceCard) -> list[dict[str, Any]]:
        """The means of the table's numbers, also between levels, with their bands and how far off the average they are;
        none where a number of the table is no number of the map."""
        names = self.subject.numbers.names
        known = {c.column: {"value": c.mean, "low": c.low, "high": c.high, "off": c.off} for c in card.cells}
        return [known[name] for name in names] if known.keys() >= set(names) else []

    # a group --------------------------------------------------------------------------------------------
    def group(self, text: str) -> dict[str, Any] | None:
        """What sets rows apart, asked for as the JSON list of their positions; None where there are no such rows."""
        try:
            every = range(self.subject.table.n)
            rows = sorted({every.index(i) for i in json.loads(text)})
            if len(rows) == len(every):
                return {"axes": [], "columns": [], "sentence": EVERY_ROW}
            card = self.subject.set_apart(rows)
        except (LowdimError, ValueError, TypeError, IndexError):
            return None
        axes, columns = ([a._asdict() for a in part] for part in (card.axes, card.columns))
        return {"axes": axes, "columns": columns, "sentence": card.sentence}

    # a gap ----------------------------------------------------------------------------------------------
    def gap(self, k: int, i: int | None) -> dict[str, Any] | None:
        """What fills a gap as the run has it, what the map says of it, and how far that leans on each other column.

        `i` is its row; None: the first of those that have a gap in column k, which are listed.
        """
        rows = np.flatnonzero(np.isnan(self.subject.X[:, k])).tolist()
        i = rows[0] if i is None and rows else i
        if not self.subject.rows_placed or i not in rows:
            return None
        own, leans, about = self._leaning(k, i)
        stored = self.fill(k, i)
        level = OWN_LEVEL if stored is None else self.subject.settings.level
        curve = {"level": level, "half": normal_half_width(level)}
        where = {"row": i, "rows": rows[:LISTED_GAPS]}
        return {"by": "", **(stored or own), **where, **curve, "own": own, "leans": leans, "leansAbout": about}

    def fills(self, i: int) -> dict[str, Any]:
        """What the run fills into each gap of a row."""
        gaps = np.flatnonzero(np.isnan(self.subject.X[i])).tolist()
        found = {self.columns[k]["name"]: self.fill(k, i) for k in gaps}
        return {name: fill for name, fill in found.items() if fill is not None}

    def fill(self, k: int, i: int) -> dict[str, Any] | None:
        """What the run fills into column k of row i; None where it does not."""
        f, column = self.subject.fills, self.map.columns[k]
        if f is None:
            return None
        for c in f.labels:
            gap = np.flatnonzero((c.rows == i) & (c.column == column.name))
            if len(gap):
                share = c.shares[int(gap[0])]
                about = f"{c.right} of {c.tried} hidden answers right; by the most frequent answer {c.usual}."
                told = _of_levels(list(c.labels), share, int(np.argmax(share)))
                return {"by": c.engine, "about": about if c.tried else "", **told}
        if not f.is_filled[i, k]:
            return None
        value, low, high = (float(part[i, k]) for part in (f.filled, f.lower, f.upper))
        share = f.level_shares(k)
        if not column.levels or not share.shape[1] or f.scales is None:
            return {"by": f.engine_words, "value": value, "low": low, "high": high}
        at, levels = int(f.is_filled[:i, k].sum()), np.asarray(f.scales.levels[k])
        words = [column.word(float(v)) for v in levels]
        return {"by": f.engine_words, **_of_levels(words, share[at], int(np.searchsorted(levels, value)))}

    def _leaning(self, k: int, i: int) -> tuple[dict[str, Any], Array, str]:
        """What the map says of a gap, the change of that by each seen cell, and what kind of change it is: of an answer
        that of the likeliest one's chance, in points of 100."""
        map, column, d = self.map, self.map.columns[k], len(self.map.columns)
        x, instead = np.tile(self.subject.X[i], (d + 1, 1)), map.cells.instead
        j = np.flatnonzero(~np.isnan(x[0]))
        x[j + 1, j] = instead[j]
        expected = map.cells.in_rows(x)
        if column.levels:
            share = expected.shares[k]
            order, best = np.argsort(column.levels), int(np.argmax(share[0]))
            words = [column.word(column.levels[t]) for t in order]
            own = _of_levels(words, share[0, order], int(np.flatnonzero(order == best)[0]))
            return own, 100.0 * (share[0, best] - share[1:, best]), LIKELIER
        told = map.in_own_units(expected, np.full(d, NORMAL_90))
        value, low, high, sd = (float(part[0, k]) for part in (told.filled, told.lower, told.upper, told.sd))
        about = BY_HIDING if np.isnan(instead).all() else FROM_AVERAGE
        own = {"value": value, "low": low, "high": high, "sd": sd}
        return own, expected.mean[0, k] - expected.mean[1:, k], about


def columns_of(t: Table) -> list[dict[str, Any]]:
    """Each column: its name, what was added before its logarithm (None: it is none), its ends as a model has it, and
    what it can be at least and at most in its own unit (None: anything)."""
    limits, logs = zip(*limit_lists(t.scales), strict=True), t.logs
    return [
        {
            "name": name,
            "shown": shown,
            "offset": logs.get(name),
            "low": of_seen(np.nanmin, x),
            "high": of_seen(np.nanmax, x),
            "least": least,
            "most": most,
        }
        for name, shown, x, (least, most) in zip(t.names, t.scale_names, t.X.T, limits, strict=True)
    ]


def _of_levels(words: list[str], share: Array, best: int) -> dict[str, Any]:
    """An answer that fills a gap, its chance, and those of all answers."""
    return {"word": words[best], "chance": float(share[best]), "words": words, "shares": share.tolist()}
