"""The demo's own part: a table with gaps made on purpose, and the fills beside the truth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lowdim.datasets import DemoTable, load_demo
from lowdim.jobs.run_folder import csv, write

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis

SHOWN = 6  # fills printed


def write_demo(name: str, folder: Path, seed: int) -> tuple[Path, DemoTable]:
    """The demo table as a person's file, and the truth behind it."""
    demo = load_demo(name, random_state=seed)
    rows = [[None if np.isnan(cell) else cell for cell in line] for line in demo.X.tolist()]
    folder.mkdir(parents=True, exist_ok=True)
    return write(folder / f"demo-{demo.name}.csv", csv(list(demo.columns), rows)), demo


def truth_text(demo: DemoTable, found: Analysis) -> str:
    """The certificate of the fit, and the first fills beside the truth."""
    return "\n".join([found.model.certificate_.text(), "", *_lines(demo, found)])


def _lines(demo: DemoTable, found: Analysis) -> Iterator[str]:
    fills, names = found.fills, found.table.names
    truth = demo.truth[found.table.rows][:, [demo.columns.index(name) for name in names]]
    where = np.argwhere(fills.mask)
    if not len(where):
        return
    wide = max(6, *(len(name) for name in names))
    yield f"First fills, with {100 * fills.level:.0f}% intervals, beside the truth (rows count from 1):"
    yield f"  row  {'column':<{wide}}      fill   interval              truth"
    for i, j in where[:SHOWN]:
        yield (
            f"  {found.table.row_names[i]:>3}  {names[j]:<{wide}}  {fills.filled[i, j]:>8.4g}   "
            f"{fills.lower[i, j]:>8.4g} .. {fills.upper[i, j]:<8.4g}  {truth[i, j]:>8.4g}"
        )
    held = int(((fills.lower <= truth) & (truth <= fills.upper))[fills.mask].sum())
    yield f"The intervals hold {held} of the {len(where)} cells that were hidden ({100 * held / len(where):.0f}%)."
