"""report: the whole analysis, the default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.entry import command
from lowdim.cli.main_job import finish, found_facts, reported, what_was_asked
from lowdim.cli.options import (
    BUDGET,
    CHECKPOINT,
    DIMS,
    LEVEL,
    ROBUST,
    ROTATE,
    SEED,
    STREAM,
    asking,
    group_options,
    is_run,
    stem,
)
from lowdim.cli.output import print_json

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Settings


@command(
    "The whole analysis: a few sentences, an HTML report and a run folder (the default).",
    example="lowdim report table.csv --budget 30s",
    rank=0,
)
@click.option("-o", "--out", help="Report to write [default: NAME.report.html].")
@click.option("--no-rows", is_flag=True, help="No row values and no row names in the report.")
@asking(DIMS, LEVEL, SEED, BUDGET, ROBUST, ROTATE, group_options, STREAM, CHECKPOINT)
def report_command(
    file: str, options: dict[str, Any], settings: Settings, as_json: bool, out: str | None, no_rows: bool
) -> None:
    """The whole analysis: a few sentences, an HTML report and a run folder. FILE may be a run folder."""
    again = is_run(file)
    analysis, path, folder = reported(
        *(what_was_asked(file) if again else (file, options, settings)),
        report=out or f"{stem(file)}.report.html",
        run=file if again else f"{stem(file)}.run",
        rows=not no_rows,
        quiet=as_json,
    )
    if as_json:
        print_json(**found_facts(analysis, options, report=str(path), run=str(folder)))
    finish(analysis, bool(options.get("strict")))
