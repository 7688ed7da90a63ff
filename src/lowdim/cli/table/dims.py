"""dims: how many dimensions the table has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lowdim.cli.analysing import open_table
from lowdim.cli.command import command
from lowdim.cli.options import BUDGET, SEED, Request, is_run, with_request
from lowdim.cli.say import print_json, say

if TYPE_CHECKING:
    from lowdim.judge.dimensions.jury import Jury


@command(
    "How many dimensions the table has.",
    example="lowdim dims table.csv",
    rank=2,
)
@with_request(SEED, BUDGET)
def dims_command(request: Request) -> None:
    """How many dimensions the table has, needed and told from noise, with every judge's answer. FILE may be a run
    folder: what the judges said then."""
    jury = jury_of_run(request.file) if is_run(request.file) else jury_of_table(request)
    if request.as_json:
        lists = {name: list(getattr(jury, name)) for name in ("rows", "judges", "paired", "notes")}
        print_json(dims=jury.q, detectable=jury.detectable, sentence=jury.sentence, **lists)
    else:
        say(jury.text())


def jury_of_run(folder: str) -> Jury:
    """What the judges of a run said."""
    from lowdim.jobs.run_folder import load_run

    return load_run(folder).analysis.jury


def jury_of_table(request: Request) -> Jury:
    """The judges asked about a file."""
    from lowdim.judge.budget import counts
    from lowdim.judge.dimensions.jury import choose_dimension
    from lowdim.judge.quantified import quantified
    from lowdim.text.format import parse_duration

    table = open_table(request.file, request.options)
    often = counts(parse_duration(request.budget), table.n, table.d)
    return choose_dimension(
        quantified(table),
        standardize=table.scale == "unit",
        random_state=request.seed,
        shuffles=often.shuffles,
        folds=often.folds,
    )
