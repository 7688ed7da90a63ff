"""The row that can be touched inside a report: its numbers, and the part of the explorer's module that it needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from lowdim.explorer.answers import columns_of, packed
from lowdim.explorer.module import REPORT_CORE, joined
from lowdim.judge.rows.null_law import GAUSSIAN_DOF
from lowdim.models.exported import exported

if TYPE_CHECKING:
    from lowdim.jobs.analysis_base import Analysis

MOST_TOUCHED_ROWS = 3_000
MOST_TOUCHED_CELLS = 100_000  # cells of all rows: 0.5 MB in the page
EXACT_TOUCHED_CELLS = 10_000  # up to which they are doubles
DECODING_ONLY = ("doubt", "excess")  # what a row's card does not need


def touch_data(analysis: Analysis) -> str:
    """Model, law, columns and rows as one JSON text; "" where the table is too large for a page, or has no axis."""
    t, law = analysis.table, analysis.odd.judged.law
    model = exported(analysis.model)
    if t.n > MOST_TOUCHED_ROWS or t.X.size > MOST_TOUCHED_CELLS or not analysis.dims or model is None:
        return ""
    kind = "f8" if t.X.size <= EXACT_TOUCHED_CELLS else "f4"
    shift = np.nan_to_num(np.nanmean(t.X, axis=0))
    spread = np.nanstd(t.X, axis=0)
    scale = np.where(spread > 0.0, 1.0 / np.where(spread > 0.0, spread, 1.0), 1.0)
    if kind == "f8":
        shift, scale = np.zeros(t.d), np.ones(t.d)
    facts = {
        "model": packed({key: value for key, value in model.items() if key not in DECODING_ONLY}),
        "law": {"scale": law.scale, "dof": law.dof, "gaussian": GAUSSIAN_DOF},
        "columns": [{key: value for key, value in c.items() if key != "shown"} for c in columns_of(t)],
        "axes": analysis.dims,
        "names": list(t.row_names),
        "rows": packed((t.X - shift) * scale, kind),
        "shift": packed(shift),
        "scale": packed(scale),
        "places": packed(analysis.model.transform(t.X)[:, :2], "f4"),
        "first": analysis.odd.rows[0].row if analysis.odd.rows else 0,
    }
    return json.dumps(packed(facts), allow_nan=False)


def touch_script() -> str:
    """The script, in a block of its own: its names are not the page's."""
    return "{\n" + joined(REPORT_CORE, remarks=False) + "}\n"
