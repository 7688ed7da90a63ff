"""Single cells of a mixed map: one row in full, the fills of new rows, every cell's surprise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from lowdim.judge.maps.table_map import NumberFills
from lowdim.judge.mixed.given_others import cells_at
from lowdim.judge.rows.place_card import MappedRows, PlaceAnswer, PlaceCard, PlaceCell, place_card
from lowdim.maths.linalg import Array
from lowdim.models.base.calibration import normal_half_width
from lowdim.models.base.results import Cells
from lowdim.table.kinds.scales import ColumnScales
from lowdim.text.format import figures

if TYPE_CHECKING:
    from lowdim.judge.mixed.mixed_map import MixedMap

LEAST_SCORE = 1e-12  # of a cell that is on the likelier side: seen, and not surprising at all


def tail_scores(map: MixedMap, X: Array) -> Array:
    """How wide an interval must be to hold each cell, in standard deviations; 0 at gaps alone."""
    told = map.given_others(X)
    score = np.maximum(-ndtri(np.minimum(told.tail, 0.5)), LEAST_SCORE)
    return np.where(told.seen, score, 0.0)


# fills ------------------------------------------------------------------------------------------------------
class GapAnswers(NamedTuple):
    """The gaps of columns of words and of levels: where they are, their fills, and how likely these are."""

    row: list[int]  # from 0
    column: list[int]
    fill: list[str | float]  # a label as it is called
    probability: list[float]


def gap_answers(map: MixedMap, X: Array) -> GapAnswers:
    """The most likely answer of every gap that has answers, of ordinal columns the median."""
    shares, out = map.model.probabilities(map.source(X)), GapAnswers([], [], [], [])
    for k, name in enumerate(map.names):
        rows = np.flatnonzero(np.isnan(X[:, k]))
        if name not in shares or not len(rows):
            continue
        levels, share, labels = _numbers_of_levels(map, k), shares[name][rows], map.labels[k]
        best = _levels_that_hold(levels, share, 0.0, map.model.likelihoods_[k])[0]
        for i, value, own in zip(rows.tolist(), best.tolist(), share, strict=True):
            out.row.append(i)
            out.column.append(k)
            out.fill.append(str(labels[int(value)]) if labels else value)
            out.probability.append(float(own[levels == value][0]))
    return out


def has_levels(map: MixedMap) -> Array:
    """1 for each column that has levels or labels, 0 for others."""
    return np.array([float(len(levels) > 0) for levels in map.model.levels_])


def fill_numbers(map: MixedMap, X: Array, half: Array) -> NumberFills:
    """The gaps of rows by a mixed map: of levels the likeliest (ordinal ones: the median), with the levels that hold.

    `half` is half the width of an interval for each column, in standard deviations of a normal one; an interval of
    levels leaves out as much on each side. Of several labels, which have no order, it is the likeliest alone.
    """
    source = map.source(X)
    cells, shares = map.model.expected_cells(source), map.model.probabilities(source)
    whole = told_columns(map, cells, shares, half)
    real = has_levels(map) == 0.0
    whole.filled[:, real] = np.asarray(map.model.impute(source))[:, real]
    seen = ~np.isnan(X)
    filled, low, high = (np.where(seen, X, part) for part in (whole.filled, whole.lower, whole.upper))
    return _as_told(map, NumberFills(filled, np.where(seen, 0.0, whole.sd), low, high))


def _as_told(map: MixedMap, fills: NumberFills) -> NumberFills:
    """Logarithms as what they are the logarithms of."""
    if map.scales is None:
        return fills
    filled, low, high = (map.scales.outward(part) for part in (fills.filled, fills.lower, fills.upper))
    return NumberFills(filled, map.scales.spread(fills.filled, fills.sd), low, high)


def told_columns(map: MixedMap, cells: Cells, shares: Mapping[str, Array], half: Array) -> NumberFills:
    """What cells are expected to be and the probabilities of levels, in the map's columns, with intervals."""
    out = NumberFills(*(np.zeros(cells.mean.shape) for _ in range(4)))
    spread = np.sqrt(cells.var + cells.noise)
    for k, name in enumerate(map.names):
        kind = map.model.likelihoods_[k]
        if name not in shares:
            low, high = (cells.mean[:, k] + side * half[k] * spread[:, k] for side in (-1.0, 1.0))
            low = np.maximum(low, 0.0) if kind in ("count", "positive") else low
            parts = cells.mean[:, k], spread[:, k], low, high
        elif len(map.labels[k]) > 2:
            best = _numbers_of_levels(map, k)[shares[name].argmax(axis=1)]
            parts = best, np.zeros(len(best)), best, best
        else:
            parts = _levels_that_hold(_numbers_of_levels(map, k), shares[name], half[k], kind)
        for part, new in zip(out, parts, strict=True):
            part[:, k] = new
    return out if map.scales is None else _reached(out, map.scales)


def in_lines(map: MixedMap, columns: NumberFills, shares: Mapping[str, Array], half: Array) -> NumberFills:
    """What is told of columns as the map's lines have it: of several labels whether each is the likeliest, and which
    may be."""
    out = NumberFills(*(part[:, [k for k, _ in map.ones]] for part in columns))
    for line, (k, code) in enumerate(map.ones):
        if code is None or len(map.labels[k]) <= 2:
            continue
        p = map.share(shares[map.names[k]], k, code)
        tail = float(ndtr(-half[k]))
        out.filled[:, line] = columns.filled[:, k] == code
        out.sd[:, line] = np.sqrt(p * (1.0 - p))
        out.lower[:, line] = p > 1.0 - tail
        out.upper[:, line] = p >= tail
    return out


def _reached(fills: NumberFills, scales: ColumnScales) -> NumberFills:
    """Intervals of logarithms that end where their columns do: log(x + a) goes on below x = 0, counts do not."""
    low, high = (np.where(scales.log, scales.reached(part), part) for part in (fills.lower, fills.upper))
    return fills._replace(lower=low, upper=high)


def explain_mixed_place(map: MixedMap, place: Array, rows: MappedRows) -> PlaceCard:
    """What lives at a place of a mixed map: the likeliest answers with those that hold 90 %, and the rows about it.

    `rows` are looked up by the map's lines.
    """
    cells, shares = cells_at(map.model, place[None])
    half = np.full(len(map.names), normal_half_width(0.9))
    told = in_lines(map, _as_told(map, told_columns(map, cells, shares, half)), shares, half)
    mean = map.line_means(cells.mean, shares)[0]
    off = (mean - rows.middle) / rows.spread
    numbers = np.column_stack([*(part[0] for part in (told.filled, told.lower, told.upper)), off, told.sd[0]]).tolist()
    each = tuple(PlaceCell(n, *line) for n, line in zip(map.line_names, numbers, strict=True))
    return place_card(place, each, mean, rows)._replace(answers=_place_answers(map, each, shares, rows.X))


def _place_answers(
    map: MixedMap, cells: Sequence[PlaceCell], shares: Mapping[str, Array], lines: Array
) -> tuple[PlaceAnswer, ...]:
    """Every column of the map once: answers by their words with their probabilities, numbers with a band."""
    found = []
    for k, (name, answers) in enumerate(zip(map.names, map.answers, strict=True)):
        own = [line for line, (column, _) in enumerate(map.ones) if column == k]
        cell, kind = max((cells[line] for line in own), key=lambda c: abs(c.off)), map.model.likelihoods_[k]
        word, chance, usual = "", None, None
        if name in shares:
            share, levels = shares[name][0], _numbers_of_levels(map, k)
            best = float(levels[share.argmax()])
            word, chance = answers.word(best), float(share.max())
            seen = lines[~np.isnan(lines[:, own[0]])][:, own]
            usual = float((seen[:, int(best)] if len(own) > 1 else seen[:, 0] == best).mean())
        low, high = (cell.low, cell.high) if kind != "count" else (np.floor(cell.low), np.ceil(cell.high))
        most = 12 if kind in ("ordinal", "count") else 3
        band = None if map.labels[k] else (figures(float(low), most), figures(float(high), most))
        found.append(PlaceAnswer(name, word, chance, usual, band, cell))
    return tuple(found)


def _numbers_of_levels(map: MixedMap, k: int) -> Array:
    """The values of a column of levels as the table has them, in the order of their probabilities."""
    labels = map.labels[k]
    return np.array([labels.index(v) if labels else v for v in map.model.levels_[k]], dtype=np.float64)


def _levels_that_hold(levels: Array, share: Array, half: float, kind: str) -> tuple[Array, Array, Array, Array]:
    order = np.argsort(levels)
    levels, upto = levels[order], np.cumsum(share[:, order], axis=1)
    upto[:, -1] = 1.0
    mean = share[:, order] @ levels
    sd = np.sqrt(np.maximum(share[:, order] @ levels**2 - mean**2, 0.0))
    tail = float(ndtr(-half))
    low, middle, high = (levels[(upto < q - 1e-12).sum(axis=1)] for q in (tail, 0.5, 1.0 - tail))
    best = middle if kind == "ordinal" else levels[share[:, order].argmax(axis=1)]
    return best, sd, low, high
