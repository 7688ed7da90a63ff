"""report: the whole analysis, the default."""

from __future__ import annotations

import click

from lowdim.cli.analysing import finish, print_found, repeat_of_run, reported
from lowdim.cli.command import command
from lowdim.cli.options import (
    BUDGET,
    CHECKPOINT,
    DIMS,
    LEVEL,
    ROBUST,
    ROTATE,
    SEED,
    STREAM,
    Request,
    is_run,
    stem,
    with_request,
)


@command(
    "The whole analysis: five sentences, an HTML report and a run folder (the default).",
    example="lowdim report table.csv --budget 30s",
    rank=0,
)
@click.option("-o", "--out", help="Report to write [default: NAME.report.html].")
@click.option("--no-rows", is_flag=True, help="No row values and no row names in the report.")
@with_request(DIMS, LEVEL, SEED, BUDGET, ROBUST, ROTATE, STREAM, CHECKPOINT)
def report_command(request: Request, out: str | None, no_rows: bool) -> None:
    """The whole analysis: five sentences, an HTML report and a run folder. FILE may be a run folder."""
    file, name = request.file, stem(request.file)
    analysis, path, folder = reported(
        repeat_of_run(request),
        out or f"{name}.report.html",
        file if is_run(file) else f"{name}.run",
        rows=not no_rows,
        quiet=request.as_json,
    )
    if request.as_json:
        print_found(analysis, request, report=str(path), run=str(folder))
    finish(analysis, request.strict)
