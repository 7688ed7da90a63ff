"""odd: the odd rows of a table or a run, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.command import command
from lowdim.cli.main_job import open_table
from lowdim.cli.options import DIMS, SEED, is_run, reading, stem, table_options
from lowdim.cli.output import print_json, say, show_messages

if TYPE_CHECKING:
    from lowdim.judge.rows.odd_rows import OddRows


@command(
    "The odd rows, and why.",
    example="lowdim odd table.csv",
    rank=7,
)
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
    from lowdim.jobs.run_folder import write
    from lowdim.jobs.run_tables import odd_table

    if out is None and level == 0.95 and is_run(target) and print_stored(target, as_json):
        return
    odd, row_names = rows_of(target, reading(flags), dims, seed, level)
    path = write(out or f"{stem(target)}.odd.csv", odd_table(odd))
    if as_json:
        print_json(sentence=odd.sentence, rows=list(odd.rows), wrote=str(path))
        return
    first = odd.rows[0].name if odd.rows else row_names[0]
    run = target.rstrip("/") if Path(target).is_dir() else f"{stem(target)}.run"
    condition = "" if Path(run).is_dir() else f" (after lowdim report {target})"
    say(f"{odd.text()}\nSaved {path}.   One row in full:  lowdim explain {run} --row {first}{condition}")


def print_stored(folder: str, as_json: bool) -> bool:
    """Say the odd rows as they were found, where the table of a run is gone; whether it is."""
    import csv

    from lowdim.jobs.run_folder import load_run
    from lowdim.text.messages import LowdimError, message

    run, stored = load_run(folder), Path(folder) / "odd.csv"
    try:
        _ = run.path
    except LowdimError as gone:
        if not run.is_own(stored):
            raise gone from None
    else:
        return False
    with stored.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    show_messages([message("LD308", path=run.facts["table"]["path"])])
    sentence = next((text for text in run.sentences if "odd row" in text), "")
    if as_json:
        print_json(sentence=sentence, rows=rows, wrote=None)
    else:
        say("\n".join([sentence, *(f"  row {row['row']}: {row['reason']}" for row in rows), f"Kept in {stored}"]))
    return True


def rows_of(
    target: str, options: dict[str, Any], dims: int | str, seed: int, level: float
) -> tuple[OddRows, tuple[str, ...]]:
    """The odd rows of the analysis of a run or of a table; and the names of all rows."""
    from lowdim.text.messages import check_level

    check_level(level)
    if is_run(target):
        from lowdim.jobs.run_folder import load_run

        run = load_run(target)
        run.check_table()
        analysis = run.analysis
    else:
        from lowdim.jobs.analysis import Settings, analysis_of

        analysis = analysis_of(open_table(target, options), Settings(dims, seed=seed))
    return analysis.odd.at(level), analysis.row_names
