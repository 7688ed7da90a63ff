"""dims: how many dimensions the table has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lowdim.cli.entry import command
from lowdim.cli.main_job import open_table
from lowdim.cli.options import BUDGET, SEED, asking, is_run
from lowdim.cli.output import show

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Settings


@command("How many dimensions the table has.", example="lowdim dims table.csv", rank=2)
@asking(SEED, BUDGET)
def dims_command(file: str, options: dict[str, Any], settings: Settings, as_json: bool) -> None:
    """How many dimensions the table has, needed and detectable, with every judge's answer. FILE may be a run
    folder: what the judges said then."""
    if is_run(file):
        from lowdim.jobs.run_folder import load_run

        jury = load_run(file).analysis.jury
    else:
        from lowdim.jobs.analysis import analysis_of

        jury = analysis_of(open_table(file, options), settings).jury
    show(as_json, jury.text(), **jury.facts())
