"""dims: how many dimensions the table has."""

from __future__ import annotations

from lowdim.cli.analysing import open_table
from lowdim.cli.command import command
from lowdim.cli.options import BUDGET, SEED, Request, with_request
from lowdim.cli.say import print_json, say


@command(
    "How many dimensions the table has.",
    example="lowdim dims table.csv",
    rank=2,
)
@with_request(SEED, BUDGET)
def dims_command(request: Request) -> None:
    """How many dimensions the table has, needed and told from noise, with every judge's answer."""
    from lowdim.judge.budget import counts
    from lowdim.judge.dimensions.jury import choose_dimension
    from lowdim.judge.table_input import source_of
    from lowdim.text.format import parse_duration

    table = open_table(request.file, request.options)
    often = counts(parse_duration(request.budget), table.n, table.d)
    jury = choose_dimension(
        source_of(table),
        standardize=table.scale == "unit",
        random_state=request.seed,
        shuffles=often.shuffles,
        folds=often.folds,
    )
    if request.as_json:
        lists = {name: list(getattr(jury, name)) for name in ("rows", "judges", "paired", "notes")}
        print_json(dims=jury.q, detectable=jury.detectable, sentence=jury.sentence, **lists)
    else:
        say(jury.text())
