"""explain: one row, one axis or a group of rows of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.command import command
from lowdim.cli.new_rows import positions, source_of
from lowdim.cli.options import common_options
from lowdim.cli.say import print_json, say

if TYPE_CHECKING:
    from lowdim.jobs.run_folder import SavedRun


@command(
    "One row, one axis or a group of rows of a run.",
    example="lowdim explain table.run --row 1",
    rank=8,
)
@click.argument("run")
@click.option("--row", help="A row, by its name or counted from 1.")
@click.option("--axis", type=int, help="An axis, counted from 1.")
@click.option(
    "--group",
    type=click.Path(exists=True, dir_okay=False),
    help="A file with the names of some rows: what sets them apart.",
)
@common_options
def explain_command(run: str, row: str | None, axis: int | None, group: str | None, quiet: bool, as_json: bool) -> None:
    """One row, one axis, or a group of rows of a run folder."""
    from lowdim.jobs.run_folder import load_run

    if sum(part is not None for part in (row, axis, group)) != 1:
        raise click.UsageError("give one of --row, --axis and --group")
    opened = load_run(run)
    if row is not None:
        card = row_card(opened, row)
    elif axis is not None:
        card = axis_card(opened, axis)
    else:
        card = group_card(opened, str(group))
    if as_json:
        print_json(card=card)
    else:
        say(card.text())


def row_card(run: SavedRun, row: str) -> Any:
    """One row in full."""
    position = positions(run.table, [row], "--row")[0]
    return run.analysis.explain(position)


def axis_card(run: SavedRun, axis: int) -> Any:
    """One axis, with the intervals of the run's own seed and level."""
    from lowdim.judge.axes import axes

    q = int(run.model.n_components_)
    if not 1 <= axis <= q:
        raise click.BadParameter(
            f"axes are counted from 1 to {q}" if q else "this run has no axis", param_hint="--axis"
        )
    s = run.settings
    return axes(run.model, source_of(run), labels=run.table.labels, level=s.level, random_state=s.seed)[axis - 1]


def group_card(run: SavedRun, file: str) -> Any:
    """What sets the rows named in a file apart."""
    from lowdim.judge.rows.contrast import set_apart

    text = Path(file).read_text(encoding="utf-8-sig")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    words = [word.strip() for word in lines[0].split(",")] if len(lines) == 1 else lines
    rows = positions(run.table, words, "--group")
    return set_apart(run.table.X, run.table.scale_names, run.model.transform(source_of(run)), rows)
