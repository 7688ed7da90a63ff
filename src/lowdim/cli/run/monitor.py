"""monitor: new rows watched beside the history of a run."""

from __future__ import annotations

from typing import Any

import click

from lowdim.cli.command import command
from lowdim.cli.new_rows import placed
from lowdim.cli.options import stem, table_options
from lowdim.cli.say import print_json, say


@command(
    "Watch new rows beside the history of a run.",
    example="lowdim monitor table.run new.csv",
    rank=10,
)
@click.argument("run")
@click.argument("new")
@click.option("-o", "--out", help="Control chart to write (.svg, .png, .pdf or .csv) [default: NAME.control.svg].")
@table_options
def monitor_command(run: str, new: str, out: str | None, quiet: bool, as_json: bool, **flags: Any) -> None:
    """Control charts: the run's rows are the history, the rows of NEW are watched."""
    import numpy as np

    from lowdim.plot.analysis.control import control

    opened, rows = placed(run, new, flags)
    old = opened.analysis.odd
    both = [
        np.concatenate([getattr(getattr(o, law), part) for o in (old, rows.odd)])
        for law in ("T2", "Q")
        for part in ("value", "dof")
    ]
    watched = np.arange(len(both[0])) >= opened.table.n
    names = [*opened.table.row_names, *rows.row_names]
    chart = control(both[0], both[1], both[2], both[3], new=watched, row_names=names, law=rows.odd.judged.law)
    out = out or f"{stem(new)}.control.svg"
    chart.save(out)
    if as_json:
        print_json(sentence=rows.sentence, odd=list(rows.odd.rows), chart=out)
    else:
        say(f"{rows.odd.text()}\nChart in {out}")
