"""demo: the report on a table that ships with lowdim, its fills beside the truth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lowdim.cli.entry import command
from lowdim.cli.main_job import finish, reported, touch_it
from lowdim.cli.options import SEED, common_options
from lowdim.cli.output import print_json, say
from lowdim.text.table import text_table

if TYPE_CHECKING:
    from lowdim.datasets import DemoTable
    from lowdim.jobs.analysis import Analysis

FILLS_SHOWN = 6  # fills printed


@command("The report on a table that ships with lowdim.", example="lowdim demo gaussian", rank=16)
@click.argument("name", default="wine")
@click.option("-o", "--out", default=".", help="Folder to write into [default: the current one].")
@SEED
@common_options
def demo_command(name: str, out: str, seed: int, quiet: bool, as_json: bool) -> None:
    """The report on a table that ships with lowdim, with gaps made on purpose.

    NAME is wine, oil, gaussian, digits, pump, clusters or digit3.
    """
    from lowdim.jobs.analysis import Settings

    table, demo = write_demo(name, Path(out), seed)
    if not as_json:
        say(f"{table}: {demo.about}; a tenth of its cells was hidden on purpose.\n")
    base = Path(out) / f"demo-{demo.name}"
    analysis, path, folder = reported(
        str(table), {}, Settings(seed=seed), report=f"{base}.report.html", run=f"{base}.run", rows=True, quiet=True
    )
    if as_json:
        print_json(table=str(table), sentences=list(analysis.sentences), report=str(path), run=str(folder))
    else:
        say(truth_text(demo, analysis) + "\n")
        say("".join(f"  {number}. {sentence}\n" for number, sentence in enumerate(analysis.sentences, 1)))
        say(f"  Report  {path.resolve()}   (opens offline)\n  Run     {folder}/")
        say(f"  Next    lowdim odd {folder}     lowdim fill {table} -o filled.csv --intervals     {touch_it(folder)}")
    finish(analysis, False)


def write_demo(name: str, folder: Path, seed: int) -> tuple[Path, DemoTable]:
    """The demo table as a person's file, and the truth behind it."""
    import numpy as np

    from lowdim.datasets import load_demo
    from lowdim.jobs.run_folder import write
    from lowdim.text.csv_table import csv_table

    demo = load_demo(name, random_state=seed)
    rows = [[None if np.isnan(cell) else cell for cell in line] for line in demo.X.tolist()]
    folder.mkdir(parents=True, exist_ok=True)
    return write(folder / f"demo-{demo.name}.csv", csv_table(list(demo.columns), rows)), demo


def truth_text(demo: DemoTable, analysis: Analysis) -> str:
    """The certificate of the fit, and the first fills beside the truth."""
    return "\n".join([analysis.model.certificate_.text(), "", *_lines(demo, analysis)])


def _lines(demo: DemoTable, analysis: Analysis) -> Iterator[str]:
    import numpy as np

    fills, names = analysis.fills, analysis.table.names
    truth = demo.truth[analysis.table.rows][:, [demo.columns.index(name) for name in names]]
    where = np.argwhere(fills.is_filled)
    if not len(where):
        return
    yield f"First fills, with {100 * fills.level:.0f}% intervals, beside the truth (rows count from 1):"
    rows: list[tuple[str, ...]] = [("row", "column", "fill", "interval", "truth")]
    for i, j in where[:FILLS_SHOWN]:
        interval = f"{fills.lower[i, j]:.4g} .. {fills.upper[i, j]:.4g}"
        row = analysis.table.row_names[i], names[j], f"{fills.filled[i, j]:.4g}", interval, f"{truth[i, j]:.4g}"
        rows.append(row)
    yield from text_table(rows, right=(0, 2, 3, 4))
    held = int(((fills.lower <= truth) & (truth <= fills.upper))[fills.is_filled].sum())
    yield f"The intervals contain {held} of the {len(where)} cells that were hidden ({100 * held / len(where):.0f}%)."
