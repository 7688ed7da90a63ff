"""The demo's own part: a table with gaps made on purpose, and the fills beside the truth."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lowdim.data.table import Table, read
from lowdim.datasets import DemoTable, load_demo

SHOWN = 6  # fills printed


def demo_table(name: str, seed: int) -> tuple[Table, DemoTable]:
    """The demo table as a person's table, and the truth behind it."""
    demo = load_demo(name, random_state=seed)
    return read(demo.X, names=demo.columns), demo


def truth_text(demo: DemoTable, found: Any) -> str:
    """The certificate of the fit, and the first fills beside the truth."""
    return "\n".join([found.model.certificate_.text(), "", *_lines(demo, found)])


def _lines(demo: DemoTable, found: Any) -> Iterator[str]:
    fills = found.fills
    column = [demo.columns.index(name) for name in found.table.names]
    truth = demo.truth[found.table.rows][:, column]
    where = np.argwhere(fills.mask)
    wide = max(6, *(len(name) for name in found.table.names))
    yield f"First fills, with {100 * fills.level:.0f}% intervals, beside the truth (rows count from 1):"
    yield f"  row  {'column':<{wide}}      fill   interval              truth"
    for i, j in where[:SHOWN]:
        yield (f"  {i + 1:>3}  {found.table.names[j]:<{wide}}  {fills.filled[i, j]:>8.4g}   "
               f"{fills.lower[i, j]:>8.4g} .. {fills.upper[i, j]:<8.4g}  {truth[i, j]:>8.4g}")
    inside = (fills.lower <= truth) & (truth <= fills.upper)
    held = int(inside[fills.mask].sum())
    yield f"The intervals hold {held} of the {len(where)} cells that were hidden ({100 * held / len(where):.0f}%)."
