"""dims: how many dimensions the table has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.analysing import open_table
from lowdim.cli.command import command
from lowdim.cli.options import BUDGET, SEED, Request, is_run, with_request
from lowdim.cli.say import print_json, say

if TYPE_CHECKING:
    from lowdim.judge.dimensions.jury import Jury
    from lowdim.sources.arrays import ArraySource
    from lowdim.sources.source import Source
    from lowdim.table.table import Table


@command(
    "How many dimensions the table has.",
    example="lowdim dims table.csv",
    rank=2,
)
@click.option(
    "--for",
    "answer",
    metavar="COLUMN",
    help="The column that the dimensions are wanted for: as many as tell it of rows left out.",
)
@with_request(SEED, BUDGET)
def dims_command(request: Request, answer: str | None) -> None:
    """How many dimensions the table has, needed and told from noise, with every judge's answer. FILE may be a run
    folder: what the judges said then."""
    if answer is not None and is_run(request.file):
        raise click.UsageError("--for asks the judges anew: give the table's file, not a run")
    jury = jury_of_run(request.file) if is_run(request.file) else jury_of_table(request, answer)
    if request.as_json:
        lists = {name: list(getattr(jury, name)) for name in ("rows", "judges", "paired", "notes")}
        print_json(dims=jury.q, detectable=jury.detectable, sentence=jury.sentence, **lists, utility=jury.utility)
    else:
        say(jury.text())


def jury_of_run(folder: str) -> Jury:
    """What the judges of a run said."""
    from lowdim.jobs.run_folder import load_run

    return load_run(folder).analysis.jury


def jury_of_table(request: Request, answer: str | None) -> Jury:
    """The judges asked about a file."""
    from lowdim.judge.budget import counts
    from lowdim.judge.dimensions.jury import choose_dimension
    from lowdim.judge.quantified import quantified
    from lowdim.text.format import parse_duration

    table = open_table(request.file, request.options)
    often = counts(parse_duration(request.budget), table.n, table.d)
    numbers = quantified(table)
    X, y = (numbers, None) if answer is None else without_answer(table, numbers, answer)
    return choose_dimension(
        X,
        standardize=table.scale == "unit",
        random_state=request.seed,
        shuffles=often.shuffles,
        folds=often.folds,
        y=y,
    )


def without_answer(table: Table, X: ArraySource, answer: str) -> tuple[Source, Any]:
    """The columns without the one that is asked for, and that one."""
    from lowdim.sources.views import Chosen

    if answer in table.labels:
        return X, table.labels[answer]
    if answer not in X.columns:
        known = ", ".join([*table.labels, *X.columns][:12])
        words = f"'{answer[:40]}' is no label or number of the table; they are {known}"
        raise click.BadParameter(words, param_hint="--for")
    at = X.columns.index(answer)
    cells, mask = X.read(slice(0, X.n))
    y = cells[:, at].copy()
    if mask is not None:
        y[~mask[:, at]] = float("nan")
    return Chosen(X, [j for j in range(X.d) if j != at]), y
