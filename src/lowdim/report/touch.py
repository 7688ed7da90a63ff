"""The row that can be touched inside a report: its numbers, and the part of the explorer's module that it needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.explorer.cards import columns_of
from lowdim.explorer.endpoints import packed
from lowdim.explorer.module import REPORT_CORE, joined
from lowdim.judge.cells import HELD_SHARE, RANK_SHARE, FramedGaussian
from lowdim.judge.outliers.law import GAUSSIAN_DOF, facts_of_law
from lowdim.judge.rows.odd_rows import IMPOSSIBLE_P
from lowdim.judge.rows.row_card import FEW_CELLS, ODD_LEVEL, ONE_BY_ONE
from lowdim.maths.gaussian import SHARP
from lowdim.maths.linalg import Array
from lowdim.models.base.calibration import NORMAL_90
from lowdim.table.column import LOG_FIGURES

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

MOST_TOUCHED_ROWS, MOST_TOUCHED_COLUMNS = 3_000, 1_000  # of a table that has a row card
EXACT_TOUCHED_CELLS = 10_000  # cells up to which all rows are in the page, as doubles: 0.1 MB
MOST_TOUCHED_CELLS = 15_000  # cells of the oddest rows of a larger table, in single precision

RULES = {  # of a row's card
    "fewCells": FEW_CELLS,
    "oneByOne": ONE_BY_ONE,
    "oddRate": 1.0 - ODD_LEVEL,
    "half": NORMAL_90,
    "logFigures": LOG_FIGURES,
}


def touch_data(analysis: Analysis) -> str:
    """Model, law, columns and rows as one JSON text.

    "" where the table is too long or wide, has no axis, or a map that is no Gaussian one, which alone a page works out.
    """
    t, law, gaussian = analysis.table, analysis.odd.judged.law, analysis.map.cells.gaussian
    small = t.n <= MOST_TOUCHED_ROWS and t.d <= MOST_TOUCHED_COLUMNS
    if not small or not analysis.dims or gaussian is None:
        return ""
    kind, shift, scale, rows = "f8", np.zeros(t.d), np.ones(t.d), np.arange(t.n)
    if t.X.size > EXACT_TOUCHED_CELLS:
        spread = np.nanstd(t.X, axis=0)
        kind, shift, scale = "f4", np.nanmean(t.X, axis=0), 1.0 / np.where(spread > 0.0, spread, 1.0)
        rows = np.sort(np.argsort(analysis.odd.p, kind="stable")[: max(MOST_TOUCHED_CELLS // t.d, 1)])
    told, judge = facts_of_law(law.without_judge), law.cell_judge
    if judge is not None:  # its numbers are packed, beside the model's
        told["cells"]["judge"] = {"scale": judge.scale, "dof": judge.dof}
    first = analysis.odd.rows[0].row if analysis.odd.rows else int(rows[0])
    facts = {
        "model": gaussian_numbers(gaussian, analysis.model.latent_axes()),
        "law": {
            **told,
            "held": HELD_SHARE,
            "gaussian": GAUSSIAN_DOF,
            "impossible": IMPOSSIBLE_P,
            "judges": law.judges,
        },
        **({} if judge is None else {"judge": gaussian_numbers(judge.gaussian, np.eye(judge.gaussian.W.shape[1]))}),
        "rules": RULES,
        "columns": [{key: v for key, v in c.items() if key != "shown"} | {"answers": []} for c in columns_of(t)],
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


def gaussian_numbers(g: FramedGaussian, turn: Array) -> dict[str, Any]:
    """x = mu + W z + e as `explorer/web/posterior.js` takes it: cells count as (x - shift) * scale, and `turn` leads
    from the model's axes to those that are shown."""
    frame = {"shift": g.frame.shift, "scale": g.frame.scale, "turn": turn}
    return {"W": g.W, "mu": g.mu, "psi": g.psi, **frame, "sharp": SHARP, "rankShare": RANK_SHARE}


def touch_script() -> str:
    """The script, in a block of its own: its names are not the page's."""
    return "{\n" + joined(REPORT_CORE, remarks=False) + "}\n"
