"""odd: the odd rows of a table or a run, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.entry import command
from lowdim.cli.main_job import open_table
from lowdim.cli.options import DIMS, SEED, is_run, reading, stem, table_options
from lowdim.cli.output import show, show_messages

if TYPE_CHECKING:
    from lowdim.judge.rows.odd_rows import OddRows


@command("The odd rows, and why.", example="lowdim odd table.csv", rank=7)
@click.argument("target")
@click.option("--level", default=0.95, show_default=True, help="1 - false discovery rate.")
@click.option("-o", "--out", help="CSV file [default: NAME.odd.csv].")
@DIMS
@SEED
@table_options
def odd_command(
    target: str, level: float, out: str | None, dims: int | str, seed: int, quiet: bool, as_json: bool, **flags: Any
) -> None:
    """The odd rows of a table or a run, and why."""
    from lowdim.jobs.analysis import Settings, analysis_of
    from lowdim.jobs.run_folder import write
    from lowdim.jobs.run_tables import odd_table
    from lowdim.text.escape import shell_word
    from lowdim.text.messages import check_level

    check_level(level)
    options, settings = reading(flags), Settings(dims, seed=seed)
    found = of_run(target) if is_run(target) else analysis_of(open_table(target, options), settings).odd
    odd = found.at(level)
    path = write(out or f"{stem(target)}.odd.csv", odd_table(odd))
    first = odd.rows[0].name if odd.rows else odd.judged.row_names[0]
    run = target.rstrip("/") if Path(target).is_dir() else f"{stem(target)}.run"
    condition = "" if Path(run).is_dir() else f" (after lowdim report {shell_word(target)})"
    next_step = f"One row in full:  lowdim explain {shell_word(run)} --row {shell_word(str(first))}{condition}"
    show(as_json, f"{odd.text()}\nSaved {path}.   {next_step}", **odd.facts(), wrote=str(path))


def of_run(folder: str) -> OddRows:
    """The odd rows of a run folder; where its table is gone, as they were found."""
    from lowdim.jobs.run_folder import load_run
    from lowdim.text.messages import LowdimError, message

    run = load_run(folder)
    try:
        run.check_table()
    except LowdimError as problem:
        if problem.code != "LD306" or not run.has("odd"):
            raise
        show_messages([message("LD308", path=run.facts["table"]["path"])])
    return run.odd
