"""What the page is told of single rows, places, gaps and groups: one shape, whichever model made the map.

The numbers are those of `TableModel`'s verbs. Columns are those of a row's card, by their positions: the table's
numbers, or of a mixed map (`AnswerCards`) the file's columns, whose cells may be answers with words and probabilities.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.jobs.table_model import TableModel
from lowdim.judge.mixed.given_others import GivenOthers
from lowdim.judge.mixed.mixed_map import MixedMap
from lowdim.judge.rows.odd_rows import in_own_units
from lowdim.judge.rows.place_card import NEVER, PlaceCard, of_seen
from lowdim.judge.rows.row_card import RowCell, as_touched, touched_row
from lowdim.maths.linalg import Array
from lowdim.models.base.calibration import NORMAL_90, normal_half_width
from lowdim.models.base.latent import LatentModel
from lowdim.models.base.results import Posterior
from lowdim.models.linear.linear_gaussian import LinearGaussian
from lowdim.models.mixed.column_kinds import LEVELLED
from lowdim.table.kinds.scales import limit_lists
from lowdim.text.format import figures
from lowdim.text.messages import LowdimError

if TYPE_CHECKING:
    from lowdim.judge.fills.result import Fills
    from lowdim.table.table import Table

LISTED_GAPS = 60  # rows with a gap in a column that are named
BY_HIDING = "How far hiding each cell would move"
EVERY_ROW = "That is every row: there are no others to compare with."
OWN_LEVEL = 0.9  # of the intervals that the map's own model gives


class Cards:
    """Rows, places, gaps and groups of a subject whose columns are the table's numbers."""

    def __init__(self, subject: TableModel) -> None:
        self.subject = subject

    @property
    def rows_placed(self) -> bool:
        """Whether the model says where a row with hidden cells lies, and what those hold."""
        lacks = self.subject.entry.lack
        return isinstance(self.subject.model, LatentModel) and not any(map(lacks, ("uncertainty", "fills", "gaps")))

    @cached_property
    def columns(self) -> list[dict[str, Any]]:
        """The columns of a row's card; `number` is where the first of a column's numbers stands in the table."""
        X, columns = self.subject.table.X, columns_of(self.subject.table)
        more = ({"answers": [], "gaps": int(np.isnan(x).sum()), "number": j} for j, x in enumerate(X.T))
        return [column | other for column, other in zip(columns, more, strict=True)]

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
        x = self._touched(row, hidden, edited)
        at, whole, gap = self._posterior(x), self._posterior(self._X[[row]]), np.isnan(self._X[row])
        told = self.told(row, x, hidden, edited) | {"fills": self.fills(row), "held": self._held(row)}
        for column, cell, empty in zip(self.columns, told["cells"], gap.tolist(), strict=True):
            cell |= {"gap": empty, **_band(column, cell)}
        where = {"z": at.mean[0].tolist(), "cov": at.cov[0].ravel().tolist(), "logDensity": float(at.log_density[0])}
        before = {"z": whole.mean[0].tolist(), "cov": whole.cov[0].ravel().tolist()}
        return {"row": row, "name": self.subject.table.row_names[row], **told, **where, "whole": before}

    def told(self, row: int, x: Array, hidden: list[str], edited: Mapping[str, Any]) -> dict[str, Any]:
        """The cells of a row and what is said of it, by the law of its distances where the model has one."""
        s = self.subject
        if s.law is None:
            return self._without_law(x, as_touched(s.table.row_names[row], hidden, edited))
        card = s.explain(row, hidden=hidden, edited=edited)
        far = {"D2": card.D2, "pD2": card.p_D2, "T2": card.T2, "pT2": card.p_T2, "Q": card.Q, "pQ": card.p_Q}
        more = {"p": card.p, "seen": card.seen, "dof": card.dof_T2, "hide": card.hide, "sentence": card.sentence}
        return {"cells": [cell._asdict() for cell in card.cells], **far, **more, "likelier": None}

    def _without_law(self, x: Array, name: str) -> dict[str, Any]:
        """Each seen cell beside what the model says where it is hidden, each gap beside its fill."""
        s, seen = self.subject, ~np.isnan(x[0])
        one_hidden = np.concatenate([x, np.where(np.eye(x.shape[1], dtype=bool), np.nan, x)])
        cells = s.model.predict_cells(one_hidden / s.unit)
        at = np.where(seen, 1 + np.arange(len(seen)), 0), np.arange(len(seen))
        mean, sd = cells.mean[at] * s.unit, np.sqrt(cells.var + cells.noise)[at] * s.unit
        made = []
        for j, column in enumerate(s.table.names):
            numbers = float(np.nan_to_num(x[0, j])), float(mean[j]), float(sd[j])
            value, expected, spread, limit = in_own_units(s.table.scales, j, *numbers)
            own = (value, (numbers[0] - numbers[1]) / numbers[2]) if seen[j] else (None, None)
            cell = RowCell(column, own[0], expected, spread, own[1], limit)._asdict()
            made.append(cell | {"scaled": numbers[1:]})  # its band ends where the model says, not where a column ends
        density, others = float(s.model.score_samples(x / s.unit)[0]), s.places.density
        none = dict.fromkeys(("D2", "pD2", "T2", "pT2", "Q", "pQ", "p"))
        sentence = f"Row {name}: log density {figures(density, 4)}."
        likelier = None if others is None else float((others < density).mean())
        more = {"seen": int(seen.sum()), "dof": 0, "hide": [], "sentence": sentence, "likelier": likelier}
        return {"cells": made, **none, **more}

    @property
    def _X(self) -> Array:
        """The rows in the map's columns."""
        return self.subject.X

    def _touched(self, row: int, hidden: list[str], edited: Mapping[str, Any]) -> Array:
        """One row with columns hidden and edited, in the map's numbers."""
        t = self.subject.table
        return touched_row(self._X[[row]], hidden, edited, t.names, t.scales)

    def _posterior(self, X: Array) -> Posterior:
        """Where rows of the map's numbers lie, and how surely."""
        posterior: Posterior = self.subject.model.posterior(X / self.subject.unit)
        return posterior

    def _held(self, row: int) -> list[str]:
        """The cells of a row that are held out of the fit."""
        analysis = self.subject.analysis
        return (
            []
            if analysis is None
            else [self.subject.table.names[j] for i, j in analysis.partition.wrong_cells if i == row]
        )

    def ellipses(self, a: int, b: int, rows: Sequence[int]) -> Array:
        """The covariances of some rows along two axes, n x 3."""
        cov = self._posterior(self._X[list(rows)]).cov
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
        return [cell._asdict() for cell in card.cells]

    def _place_numbers(self, card: PlaceCard) -> list[dict[str, Any]]:
        """The means of the table's numbers, with their bands and how far off the average they are."""
        return [{"value": c.value, "low": c.low, "high": c.high, "off": c.off} for c in card.cells]

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
        rows = np.flatnonzero(np.isnan(self._X[:, k])).tolist()
        i = rows[0] if i is None and rows else i
        if not self.rows_placed or i not in rows:
            return None
        analysis = self.subject.analysis
        own, leans, about = self._leaning(k, i)
        stored = None if analysis is None else self.fill(analysis.fills, k, i)
        level = OWN_LEVEL if analysis is None or stored is None else analysis.settings.level
        curve = {"level": level, "half": normal_half_width(level)}
        where = {"row": i, "rows": rows[:LISTED_GAPS]}
        return {"by": "", **(stored or own), **where, **curve, "own": own, "leans": leans, "leansAbout": about}

    def fills(self, i: int) -> dict[str, Any]:
        """What the run fills into each gap of a row."""
        analysis = self.subject.analysis
        gaps = [] if analysis is None else np.flatnonzero(np.isnan(self._X[i])).tolist()
        found = {self.columns[k]["name"]: self.fill(analysis.fills, k, i) for k in gaps if analysis is not None}
        return {name: fill for name, fill in found.items() if fill is not None}

    def fill(self, f: Fills, k: int, i: int) -> dict[str, Any] | None:
        """What fills column k of row i; None where nothing does."""
        if not f.is_filled[i, k]:
            return None
        value, low, high = (float(part[i, k]) for part in (f.filled, f.lower, f.upper))
        return {"by": f.engine_words, "value": value, "low": low, "high": high}

    def _leaning(self, k: int, i: int) -> tuple[dict[str, Any], Array, str]:
        """What the map says of a gap, the change of that by each seen cell, and what kind of change it is."""
        s, x, d = self.subject, self._X[[i]], self._X.shape[1]
        cell = self._card(i, [], {})["cells"][k]
        linear = isinstance(s.model, LinearGaussian)
        instead = s.model.mean_ * s.unit if linear else np.full(d, np.nan)  # a linear fill is a sum over the seen cells
        without = np.where(np.eye(d, dtype=bool) & ~np.isnan(x), instead, x)
        told = s.model.predict_cells(np.concatenate([x, without]) / s.unit).mean[:, k] * s.unit[k]
        about = "How far each cell moves it from the average to" if linear else BY_HIDING
        ends = np.full((2, d), np.nan)
        ends[:, k] = cell["says"][0], cell["says"][2]
        low, high = s.table.scales.outward(ends)[:, k].tolist()
        return {"value": cell["expected"], "low": low, "high": high, "sd": cell["sd"]}, told[0] - told[1:], about


class AnswerCards(Cards):
    """The same of a mixed map: its columns are the file's, each once, and answers are told by their words."""

    def __init__(self, subject: TableModel, map: MixedMap) -> None:
        super().__init__(subject)
        self.map = map

    @cached_property
    def columns(self) -> list[dict[str, Any]]:
        """The columns of the map as the file names them; `answers` are the words of those that have levels."""
        names, logs = self.subject.numbers.names, self.subject.table.logs
        first = {k: line for line, (k, _) in reversed(list(zip(self.map.line_names, self.map.ones, strict=True)))}
        return [
            {
                "name": name,
                "offset": logs.get(name),
                "low": of_seen(np.nanmin, x),
                "high": of_seen(np.nanmax, x),
                "least": None,
                "most": None,
                "answers": [self._word(k, code) for code in sorted(self._levels(k))],
                "gaps": int(np.isnan(x).sum()),
                "number": names.index(first[k]) if first[k] in names else None,
            }
            for k, (name, x) in enumerate(zip(self.map.names, self._X.T, strict=True))
        ]

    def _word(self, k: int, code: float) -> str:
        """An answer as the file has it."""
        labels = self.map.model.labels_[k]
        return str(labels[int(code)]) if labels else str(int(code)) if code == int(code) else repr(float(code))

    def _levels(self, k: int) -> list[float]:
        """The codes of a column's levels, in the order of their probabilities."""
        labels, levels = list(self.map.model.labels_[k]), self.map.model.levels_[k]
        return [float(labels.index(v) if labels else v) for v in levels]

    def _has_levels(self, k: int) -> bool:
        return self.map.model.likelihoods_[k] in LEVELLED

    # a row ----------------------------------------------------------------------------------------------
    def _touched(self, row: int, hidden: list[str], edited: Mapping[str, Any]) -> Array:
        map = self.map
        return touched_row(self._X[[row]], hidden, edited, map.names, map.scales, map.levels, map.answers)

    def _posterior(self, X: Array) -> Posterior:
        return self.map.posterior(X)

    def told(self, row: int, x: Array, hidden: list[str], edited: Mapping[str, Any]) -> dict[str, Any]:
        card, beside = super().told(row, x, hidden, edited), self.map.given_others(x)
        for k, cell in enumerate(card["cells"]):
            if self._has_levels(k):
                cell |= self._answer(beside, k, float(x[0, k]))
        return card

    def _answer(self, beside: GivenOthers, k: int, code: float) -> dict[str, Any]:
        """The word of an answer with its chance, and the likeliest."""
        seen = bool(beside.seen[0, k])
        return {
            "word": self._word(k, code) if seen else "",
            "chance": float(beside.share[0, k]) if seen else None,
            "likeliest": self._word(k, float(beside.likeliest[0, k])),
            "most": float(beside.likeliest_share[0, k]),
        }

    def _held(self, row: int) -> list[str]:
        return []

    # a place --------------------------------------------------------------------------------------------
    def _place_cells(self, card: PlaceCard) -> list[dict[str, Any]]:
        cells = []
        for answer in card.answers:
            number = answer.cell._asdict() | {"column": answer.column}
            told = {"word": answer.word, "chance": answer.chance, "usual": answer.usual}
            cells.append(number if answer.chance is None else number | told)
        return cells

    def _place_numbers(self, card: PlaceCard) -> list[dict[str, Any]]:
        """The means, which are between levels; none where a number of the table is no number of the map."""
        rows = self.subject.map_rows
        mean = (np.array([cell.off for cell in card.cells]) * rows.spread + rows.middle)[None]
        scales = None if self.map.scales is None else self.map.scales.of([k for k, _ in self.map.ones])
        own = (mean if scales is None else scales.outward(mean))[0].tolist()
        known = {
            cell.column: {"value": value, "low": cell.low, "high": cell.high, "off": cell.off}
            for value, cell in zip(own, card.cells, strict=True)
        }
        names = self.subject.numbers.names
        return [known[name] for name in names] if known.keys() >= set(names) else []

    # a gap ----------------------------------------------------------------------------------------------
    def fill(self, f: Fills, k: int, i: int) -> dict[str, Any] | None:
        for c in f.labels:
            gap = np.flatnonzero((c.rows == i) & (c.column == self.map.names[k]))
            if len(gap):
                share = c.shares[int(gap[0])]
                about = f"{c.right} of {c.tried} hidden answers right; by the most frequent answer {c.usual}."
                told = _of_levels(list(c.labels), share, int(np.argmax(share)))
                return {"by": c.engine, "about": about if c.tried else "", **told}
        found = super().fill(f, k, i)
        share = f.level_shares(k)
        if found is None or not share.shape[1] or f.scales is None or not self._has_levels(k):
            return found
        at, levels = int(f.is_filled[:i, k].sum()), np.asarray(f.scales.levels[k])
        words = [self._word(k, float(v)) for v in levels]
        return {"by": f.engine_words, **_of_levels(words, share[at], int(np.searchsorted(levels, found["value"])))}

    def _leaning(self, k: int, i: int) -> tuple[dict[str, Any], Array, str]:
        """As the other cards; of an answer the change is that of the likeliest one's chance, in points of 100."""
        d, name = len(self.map.names), self.map.names[k]
        x = np.tile(self._X[i], (d + 1, 1))
        x[np.arange(d) + 1, np.arange(d)] = np.nan
        source, scales = self.map.source(x), self.map.scales
        if self._has_levels(k):
            share = self.map.model.probabilities(source, columns=[name])[name]
            levels = self._levels(k)
            order, best = np.argsort(levels), int(np.argmax(share[0]))
            words = [self._word(k, levels[t]) for t in order]
            own_says = _of_levels(words, share[0, order], int(np.flatnonzero(order == best)[0]))
            told, about = 100.0 * share[:, best], "How much likelier, in points of 100, each cell makes"
        else:
            cells = self.map.model.expected_cells(source)
            told, sd = cells.mean[:, k], float(np.sqrt(cells.var + cells.noise)[0, k])
            ends = np.full((3, d), 0.0)
            ends[:, k] = told[0] + NORMAL_90 * sd * np.array([0.0, -1.0, 1.0])
            value, low, high = (ends if scales is None else scales.outward(ends))[:, k].tolist()
            own_says, about = {"value": value, "low": low, "high": high, "sd": sd}, BY_HIDING
        return own_says, told[0] - told[1:], about


def cards_of(subject: TableModel) -> Cards:
    """The cards of a subject."""
    return AnswerCards(subject, subject.map) if isinstance(subject.map, MixedMap) else Cards(subject)


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


def _band(column: Mapping[str, Any], cell: Mapping[str, Any]) -> dict[str, Any]:
    """Where a number and the 90 % band of what the rest says lie on the scale that the model takes."""
    offset, value, expected, sd = column["offset"], cell["value"], cell["expected"], cell["sd"]
    if "likeliest" in cell:
        return {"at": None, "says": [column["low"]] * 3}
    if offset is None:
        at, middle, half = value, expected, NORMAL_90 * sd
    else:  # sd is half of e^(m + s) - e^(m - s), of which m and s are the logarithm's mean and standard deviation
        at, middle = (
            float(np.log(v + offset)) if v is not None and v + offset > 0.0 else column["low"]
            for v in (value, expected)
        )
        half = NORMAL_90 * float(np.arcsinh(sd / np.exp(middle)))
    if "scaled" in cell:  # the mean and standard deviation as the model has them
        middle, half = cell["scaled"][0], NORMAL_90 * cell["scaled"][1]
    return {"at": None if value is None else at, "says": [middle - half, middle, middle + half]}


def _of_levels(words: list[str], share: Array, best: int) -> dict[str, Any]:
    """An answer that fills a gap, its chance, and those of all answers."""
    return {"word": words[best], "chance": float(share[best]), "words": words, "shares": share.tolist()}
