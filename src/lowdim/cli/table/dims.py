"""dims: how many dimensions the table has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.entry import command
from lowdim.cli.main_job import open_table
from lowdim.cli.options import BUDGET, SEED, asking, is_run
from lowdim.cli.output import show

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Settings
    from lowdim.judge.dimensions.jury import Jury
    from lowdim.sources.arrays import ArraySource
    from lowdim.sources.source import Source
    from lowdim.table.table import Table


@command("How many dimensions the table has.", example="lowdim dims table.csv", rank=2)
@click.option(
    "--for",
    "answer",
    metavar="COLUMN",
    help="The column that the dimensions are wanted for: as many as tell it of rows left out.",
)
@asking(SEED, BUDGET)
def dims_command(file: str, options: dict[str, Any], settings: Settings, as_json: bool, answer: str | None) -> None:
    """How many dimensions the table has, needed and detectable, with every judge's answer. FILE may be a run
    folder: what the judges said then."""
    if answer is not None and is_run(file):
        raise click.UsageError("--for asks the judges anew: give the table's file, not a run")
    if is_run(file):
        from lowdim.jobs.run_folder import load_run

        jury = load_run(file).analysis.jury
    elif answer is None:
        from lowdim.jobs.analysis import analysis_of

        jury = analysis_of(open_table(file, options), settings).jury
    else:
        jury = jury_for(open_table(file, options), settings, answer)
    show(as_json, jury.text(), **jury.facts())


def jury_for(table: Table, settings: Settings, answer: str) -> Jury:
    """The judges asked how many dimensions tell this column."""
    from lowdim.judge.budget import counts
    from lowdim.judge.dimensions.jury import choose_dimension
    from lowdim.judge.read_table import quantified

    often = counts(settings.budget, table.n, table.d)
    X, y = without_answer(table, quantified(table), answer)
    return choose_dimension(
        X,
        standardize=table.scale == "unit",
        random_state=settings.seed,
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
