"""The row that can be touched inside a report: its numbers, and the part of the explorer's module that it needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from lowdim.explorer.answers import columns_of, packed
from lowdim.explorer.exported import exported
from lowdim.explorer.module import REPORT_CORE, joined
from lowdim.judge.rows.null_law import GAUSSIAN_DOF, facts_of_law

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

MOST_TOUCHED_ROWS, MOST_TOUCHED_COLUMNS = 3_000, 1_000  # of a table that has a row card
EXACT_TOUCHED_CELLS = 10_000  # cells up to which all rows are in the page, as doubles: 0.1 MB
MOST_TOUCHED_CELLS = 15_000  # cells of the oddest rows of a larger table, in single precision
DECODING_ONLY = ("doubt", "excess")  # what a row's card does not need


def touch_data(analysis: Analysis) -> str:
    """Model, law, columns and rows as one JSON text; "" where the table is too long or wide, or has no axis."""
    t, law = analysis.table, analysis.odd.judged.law
    model = exported(analysis.model)
    if t.n > MOST_TOUCHED_ROWS or t.d > MOST_TOUCHED_COLUMNS or not analysis.dims or model is None:
        return ""
    kind, shift, scale, rows = "f8", np.zeros(t.d), np.ones(t.d), np.arange(t.n)
    if t.X.size > EXACT_TOUCHED_CELLS:
        spread = np.nanstd(t.X, axis=0)
        kind, shift, scale = "f4", np.nanmean(t.X, axis=0), 1.0 / np.where(spread > 0.0, spread, 1.0)
        rows = np.sort(np.argsort(analysis.odd.p, kind="stable")[: max(MOST_TOUCHED_CELLS // t.d, 1)])
    first = analysis.odd.rows[0].row if analysis.odd.rows else int(rows[0])
    facts = {
        "model": {key: value for key, value in model.items() if key not in DECODING_ONLY},
        "law": {**facts_of_law(law), "gaussian": GAUSSIAN_DOF},
        "columns": [{key: value for key, value in c.items() if key != "shown"} for c in columns_of(t)],
        "axes": analysis.dims,
        "names": [t.row_names[i] for i in rows],
        "of": t.n,
        "rows": packed((t.X[rows] - shift) * scale, kind),
        "shift": shift,
        "scale": scale,
        "places": packed(analysis.model.transform(t.X)[:, :2], "f4"),
        "first": int(np.searchsorted(rows, first)) if first in rows else 0,
    }
    return json.dumps(packed(facts), allow_nan=False)


def touch_script() -> str:
    """The script, in a block of its own: its names are not the page's."""
    return "{\n" + joined(REPORT_CORE, remarks=False) + "}\n"
