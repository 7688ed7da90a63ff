"""What the page shows of a map of answers: a row, a place, a gap and the rows' ellipses, as Python works them out.

The page touches Gaussian models itself; a row of answers has no closed form, so that the page asks here instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.jobs.subject import Subject
from lowdim.judge.mixed.given_others import GivenOthers
from lowdim.judge.mixed.mixed_cells import touched_numbers
from lowdim.judge.mixed.mixed_map import MixedMap
from lowdim.judge.rows.place_card import of_seen
from lowdim.maths.linalg import Array
from lowdim.models.base.calibration import NORMAL_90
from lowdim.models.mixed.column_kinds import LEVELLED
from lowdim.text.messages import LowdimError

if TYPE_CHECKING:
    from lowdim.judge.fills.filled_table import Fills


class AnswerCards:
    """Rows, places and gaps of one map of answers."""

    def __init__(self, subject: Subject, map: MixedMap) -> None:
        self.subject, self.map = subject, map
        self.X = subject.table.X
        self.codes = map.codes(self.X)

    @cached_property
    def columns(self) -> list[dict[str, Any]]:
        """The columns of the map as the file names them; `answers` are the words of those that have levels."""
        logs = self.subject.table.logs
        return [
            {
                "name": name,
                "offset": logs.get(name),
                "low": of_seen(np.nanmin, x),
                "high": of_seen(np.nanmax, x),
                "answers": self.words(k),
                "gaps": int(np.isnan(x).sum()),
                "number": self.map.numbers[k][0],
            }
            for k, (name, x) in enumerate(zip(self.map.columns, self.codes.T, strict=True))
        ]

    def words(self, k: int) -> list[str]:
        """What the answers of a column are called, in the order of its levels' numbers; none of numbers."""
        return [self.word(k, code) for code in sorted(self._levels(k))]

    def word(self, k: int, code: float) -> str:
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
    def row(self, text: str) -> dict[str, Any] | None:
        """One row with cells hidden and edited, given as JSON; None where there is no such row, column or answer."""
        try:
            asked = json.loads(text)
            row, hidden, edited = int(asked["row"]), [str(name) for name in asked["hidden"]], dict(asked["edited"])
            return self._card(row, hidden, edited)
        except (LowdimError, ValueError, KeyError, TypeError):
            return None

    def _card(self, row: int, hidden: list[str], edited: Mapping[str, Any]) -> dict[str, Any]:
        card = self.subject.explain(row, hidden=hidden, edited=edited)
        x = touched_numbers(self.map, self.X[row : row + 1], hidden, edited)
        told, at, codes = self.map.given_others(x), self.map.posterior(x), self.map.codes(x)[0]
        cells = [{**cell._asdict(), **self._told(told, k, float(codes[k]))} for k, cell in enumerate(card.cells)]
        law = {
            "D2": card.D2,
            "p": card.p,
            "pD2": card.p_D2,
            "T2": card.T2,
            "pT2": card.p_T2,
            "Q": card.Q,
            "pQ": card.p_Q,
        }
        more = {"seen": card.seen, "dof": card.dof_T2, "hide": card.hide, "pAfter": card.p_after}
        where = {"z": at.mean[0].tolist(), "cov": at.cov[0].ravel().tolist(), "logDensity": float(at.log_density[0])}
        return {"name": card.name, "cells": cells, "sentence": card.sentence, **law, **more, **where}

    def _told(self, told: GivenOthers, k: int, code: float) -> dict[str, Any]:
        """Of an answer its word and its chance, and the likeliest; of a number where it stands, and a band of 90 %."""
        seen = bool(told.seen[0, k])
        if self._has_levels(k):
            likeliest = {
                "likeliest": self.word(k, float(told.likeliest[0, k])),
                "most": float(told.likeliest_share[0, k]),
            }
            own = (
                {"word": self.word(k, code), "chance": float(told.share[0, k])}
                if seen
                else {"word": "", "chance": None}
            )
            return {**own, **likeliest, "at": None, "says": [0.0, 0.0, 0.0]}
        mean, half = float(told.mean[0, k]), NORMAL_90 * float(told.sd[0, k])
        return {"chance": None, "at": code if seen else None, "says": [mean - half, mean, mean + half]}

    @cached_property
    def _cov(self) -> Array:
        return self.map.posterior(self.X).cov

    def ellipses(self, a: int, b: int) -> Array:
        """The covariance of every row along two axes, n x 3."""
        return np.column_stack([self._cov[:, i, j] for i, j in ((a, a), (a, b), (b, b))])

    # a place --------------------------------------------------------------------------------------------
    def at(self, z: Array) -> dict[str, Any]:
        """What lives at a place: the likeliest answer of every column with its chance, of numbers the mean and band."""
        card = self.subject.at(z.tolist())
        mean, cells = self.map.inverse_transform(z[None]), []
        for answer in card.answers:
            number = {**answer.cell._asdict(), "name": answer.column}
            told = {"word": answer.word, "chance": answer.chance, "usual": answer.usual}
            cells.append(number if answer.chance is None else number | told)
        own = (mean if self.map.scales is None else self.map.scales.outward(mean))[0].tolist()
        return {"cells": cells, "numbers": [{"value": v, "off": c.off} for v, c in zip(own, card.cells, strict=True)]}

    # a gap ----------------------------------------------------------------------------------------------
    def gap(self, k: int, i: int) -> dict[str, Any] | None:
        """What fills a gap as the run has it, what the map says of it, and how far that leans on each other column."""
        analysis = self.subject.analysis
        if analysis is None or not np.isnan(self.codes[i, k]):
            return None
        own, leans = self._leaning(k, i)
        fill = self._fill(analysis.fills, k, i) or {"by": "the map's own model", **own}
        return {**fill, "own": own, "leans": leans}

    def fills(self, i: int) -> dict[str, Any]:
        """What the run fills into each gap of a row."""
        analysis = self.subject.analysis
        gaps = np.flatnonzero(np.isnan(self.codes[i])).tolist() if analysis is not None else []
        found = {self.map.columns[k]: self._fill(analysis.fills, k, i) for k in gaps if analysis is not None}
        return {name: fill for name, fill in found.items() if fill is not None}

    def _fill(self, f: Fills, k: int, i: int) -> dict[str, Any] | None:
        name, j = self.map.columns[k], self.map.numbers[k][0]
        for c in f.labels:
            gap = np.flatnonzero((c.rows == i) & (c.column == name))
            if len(gap):
                share = c.shares[int(gap[0])]
                about = f"{c.right} of {c.tried} hidden answers right; by the most frequent answer {c.usual}."
                return {
                    "by": c.engine,
                    "about": about if c.tried else "",
                    **_of_levels(list(c.labels), share, int(np.argmax(share))),
                }
        if not f.is_filled[i, j]:
            return None
        value, low, high = (float(part[i, j]) for part in (f.filled, f.lower, f.upper))
        share = f.level_shares(j)
        if share.shape[1] and f.scales is not None and self._has_levels(k):
            at, levels = int(f.is_filled[:i, j].sum()), np.asarray(f.scales.levels[j])
            words = [self.word(k, float(v)) for v in levels]
            return {"by": f.engine_words, **_of_levels(words, share[at], int(np.searchsorted(levels, value)))}
        return {"by": f.engine_words, "value": value, "low": low, "high": high}

    def _leaning(self, k: int, i: int) -> tuple[dict[str, Any], Array]:
        """What the map says of a gap; and the change of that (of the likeliest answer's chance) by each seen cell."""
        d, name = len(self.map.columns), self.map.columns[k]
        x = np.tile(self.X[i], (d + 1, 1))
        for j, own in enumerate(self.map.numbers):
            x[j + 1, list(own)] = np.nan
        source, scales = self.map.source(x), self.map.column_scales
        if self._has_levels(k):
            share = self.map.model.probabilities(source, columns=[name])[name]
            levels = self._levels(k)
            order, best = np.argsort(levels), int(np.argmax(share[0]))
            words = [self.word(k, levels[t]) for t in order]
            own_says = _of_levels(words, share[0, order], int(np.flatnonzero(order == best)[0]))
            told = share[:, best]
        else:
            cells = self.map.model.expected_cells(source)
            told, half = cells.mean[:, k], NORMAL_90 * float(np.sqrt(cells.var + cells.noise)[0, k])
            ends = np.full((3, d), 0.0)
            ends[:, k] = told[0] + half * np.array([0.0, -1.0, 1.0])
            value, low, high = (ends if scales is None else scales.outward(ends))[:, k].tolist()
            own_says = {"value": value, "low": low, "high": high}
        return own_says, told[0] - told[1:]


def _of_levels(words: list[str], share: Array, best: int) -> dict[str, Any]:
    """An answer that fills a gap, its chance, and those of all answers."""
    return {"word": words[best], "chance": float(share[best]), "words": words, "shares": share}
