"""monitor: new rows watched beside the history of a run."""

from __future__ import annotations

from typing import Any

import click

from lowdim.cli.entry import command
from lowdim.cli.options import reading, stem, table_options
from lowdim.cli.output import show, show_messages


@command("Watch new rows beside the history of a run.", example="lowdim monitor table.run new.csv", rank=10)
@click.argument("run")
@click.argument("new")
@click.option("-o", "--out", help="Control chart to write (.svg, .png, .pdf or .csv) [default: NAME.control.svg].")
@table_options
def monitor_command(run: str, new: str, out: str | None, quiet: bool, as_json: bool, **flags: Any) -> None:
    """Control charts: the run's rows are the history, the rows of NEW are watched."""
    from lowdim.jobs.apply import place_run
    from lowdim.jobs.run_folder import load_run

    opened = load_run(run)
    history = opened.analysis.plot
    rows = place_run(opened, new, **reading(flags))
    show_messages(rows.messages)
    assert rows.odd is not None  # the map of an analysis judges rows
    chart = history.control(placed=rows)
    out = out or f"{stem(new)}.control.svg"
    chart.save(out)
    show(as_json, f"{rows.odd.text()}\nChart in {out}", sentence=rows.sentence, odd=list(rows.odd.rows), chart=out)
