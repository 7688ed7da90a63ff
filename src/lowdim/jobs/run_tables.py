"""What a run found as CSV texts: positions, fills, odd rows, cells held out, and the same of new rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.jobs.analysis import Analysis
from lowdim.jobs.row_places import places_of
from lowdim.judge.maps.map_columns import NumberFills
from lowdim.maths.linalg import Mask
from lowdim.table.table import Table
from lowdim.text.csv_table import csv_table

if TYPE_CHECKING:
    from lowdim.jobs.apply import PlacedRows
    from lowdim.judge.fills.result import Fills
    from lowdim.judge.maps.map_columns import GapAnswers
    from lowdim.judge.outliers.partition import Partition
    from lowdim.judge.rows.odd_rows import OddRow, OddRows

OUTSIDE = {-1: "below", 0: "", 1: "above"}


def tables(analysis: Analysis) -> dict[str, str]:
    """The CSV files of a run by name, as far as what they hold is there."""
    t, texts = analysis.table, {}
    if analysis.has("posterior") and analysis.has("odd"):
        groups = analysis.groups if analysis.finished else None
        texts["scores.csv"] = places_of(analysis.posterior).lines(t.row_names, analysis.odd, groups)
        texts["odd.csv"] = odd_table(analysis.odd)
        if analysis.partition.choice == "screened":
            texts["held.csv"] = held_table(t, analysis.partition)
    if analysis.has("fills"):
        texts["fills.csv"] = fills_table(t, analysis.fills)
    return texts


def placed_fills(rows: PlacedRows) -> str:
    """New rows: one line a filled cell; its interval is calibrated, the standard deviation is the model's own."""
    parts = NumberFills(*(np.asarray(part) for part in (rows.filled, rows.sd, rows.lower, rows.upper)))
    return gap_table(rows.row_names, rows.columns, rows.gap, parts, rows.answers)


def gap_table(
    row_names: tuple[str, ...], names: tuple[str, ...], gap: Mask, fills: NumberFills, answers: GapAnswers | None
) -> str:
    """One line a gap: a number with its interval, a level with its probability too, a label with that alone."""
    where = np.argwhere(gap).tolist()
    parts = (fills.filled, fills.lower, fills.upper, fills.sd)
    cells = np.column_stack([part[gap] for part in parts]).tolist()
    header, lines = ["row", "column", "fill", "lower", "upper", "sd"], zip(where, cells, strict=True)
    if answers is None:
        return csv_table(header, [[row_names[i], names[j], *line] for (i, j), line in lines])
    told = {(i, j): (fill, p) for i, j, fill, p in zip(*answers, strict=True)}
    rows = list[list[Any]]()
    for (i, j), line in lines:
        fill, p = told.get((i, j), (None, ""))
        rows.append([row_names[i], names[j], *([fill, "", "", ""] if isinstance(fill, str) else line), p])
    return csv_table([*header, "probability"], rows)


def fills_table(table: Table, f: Fills) -> str:
    """One line a filled cell; `outside`: it lies beyond every value its column has; `engine`: what filled it. A label
    has a probability, and no interval; a level has both."""
    is_number = f.number_gaps
    where = np.argwhere(is_number)
    numbers = np.column_stack([part[is_number] for part in (f.filled, f.lower, f.upper, f.sd)]).tolist()
    names, rows, beyond = table.names, table.row_names, f.outside[is_number].tolist()
    chances = ["" if p != p else p for p in f.chances[is_number].tolist()]
    lines: list[tuple[int, list[Any]]] = [
        (i, [rows[i], names[j], *line, OUTSIDE[far], f.engine, p])
        for (i, j), line, far, p in zip(where.tolist(), numbers, beyond, chances, strict=True)
    ]
    for c in f.labels:
        told = zip(c.rows.tolist(), c.fills, c.probability.tolist(), strict=True)
        lines += [(i, [rows[i], c.column, label, "", "", "", "", c.engine, p]) for i, label, p in told]
    header = ["row", "column", "fill", "lower", "upper", "sd", "outside", "engine", "probability"]
    return csv_table(header, [line for _, line in sorted(lines, key=lambda pair: pair[0])])


def odd_table(odd: OddRows) -> str:
    """One line an odd row."""
    return csv_table(
        ["row", "seen", "p", "D2", "D2_p", "column", "value", "expected", "sd", "surprise", "reason"],
        [[r.name, r.seen, r.p, r.D2, r.p_D2, r.column, *_said(r), r.sd, r.surprise, r.reason] for r in odd.rows],
    )


def _said(r: OddRow) -> tuple[Any, Any]:
    """The value of a row's least likely cell and what the rest says, in words where it holds an answer."""
    return (r.words[0], r.words[1]) if r.words else (r.value, r.expected)


def held_table(t: Table, partition: Partition) -> str:
    """One line a cell that is held out of the fit, in the table's units; a whole row has no column."""
    values = t.scales.outward(t.X)
    cells = [[t.row_names[i], t.names[j], float(values[i, j])] for i, j in partition.wrong_cells]
    return csv_table(["row", "column", "value"], [*cells, *([t.row_names[i], "", ""] for i in partition.outside)])
