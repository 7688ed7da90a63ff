"""Rows judged by a fitted linear-Gaussian model, with the names that its table gives the columns."""

import numpy as np

from lowdim.judge import axes as axis_cards
from lowdim.judge import stability as moved_maps
from lowdim.judge.labels import label_cards
from lowdim.judge.maps.table_map import table_map
from lowdim.judge.outliers.law import GAUSSIAN_LAW, law_of_later_rows
from lowdim.judge.rows import odd_rows, row_card
from lowdim.sources.views import gather


def mapped(model, X, scales=None):
    """The map of a table by a model, and its rows with NaN at gaps."""
    source = model.arrange(X)
    x, seen = gather(source)
    return table_map(model, source.columns, scales), x if seen is None else np.where(seen, x, np.nan)


def judge_rows(model, X, **how):
    return odd_rows.judge_rows(*mapped(model, X), **how)


def explain_row(model, X, row, *, scales=None, law=GAUSSIAN_LAW, **how):
    return row_card.explain_row(*mapped(model, X, scales), row, law=law, **how)


def law_of_new_rows(model, X, **how):
    """The law of the bulk of a table's rows, by which rows that come later are judged."""
    map, x = mapped(model, X)
    return law_of_later_rows(map.cells.own_law(x, **how))


def axes(model, X, *, labels=None, level=0.9, **how):
    """A card for every axis of a model, which is fitted again to resampled rows."""
    map, x = mapped(model, X)
    found = moved_maps.refitted_map(map.cells, X, **how)
    scores = map.transform(x)
    told = label_cards(scores, map.cells.shares, labels or {})
    return axis_cards.axes(found, scores, cards_of_labels=told, answers={}, level=level)


def stability(model, X, **how):
    """How far its map moves when its rows are resampled."""
    map, x = mapped(model, X)
    return moved_maps.stability(moved_maps.refitted_map(map.cells, X, **how), [str(i + 1) for i in range(len(x))])
