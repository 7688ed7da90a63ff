"""explain: one row, one axis or a group of rows of a run."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.entry import command
from lowdim.cli.options import common_options, positions
from lowdim.cli.output import show

if TYPE_CHECKING:
    from lowdim.jobs.run_folder import SavedRun
    from lowdim.jobs.table_model import TableModel
    from lowdim.judge.axes import AxisCard
    from lowdim.judge.rows.group_contrast import GroupCard
    from lowdim.judge.rows.place_card import PlaceCard
    from lowdim.judge.rows.row_card import RowCard
    from lowdim.table.table import Table

MAP_AXES = 2  # that a map shows


@command(
    "One row, one axis, one place or a group of rows of a run.", example="lowdim explain table.run --row 1", rank=8
)
@click.argument("run")
@click.option("--row", help="A row, by its name or counted from 1.")
@click.option("--hide", metavar="COLUMNS", help="With --row: count these cells as gaps.")
@click.option(
    "--set",
    "edits",
    metavar="COLUMN=VALUE",
    multiple=True,
    help="With --row: put this value into the cell; repeatable.",
)
@click.option("--axis", type=int, help="An axis, counted from 1.")
@click.option(
    "--place",
    metavar="Z,Z",
    help="A place of the map: the row that lives there. A number for each axis; of two numbers, the other axes are 0.",
)
@click.option(
    "--group",
    metavar="GROUP",
    help="A group that the rows fall into, by its number or its name, or a file with the names of some rows: what sets "
    "them apart.",
)
@click.option("--rows", metavar="NAMES", help="Some rows, with commas between: what sets them apart.")
@common_options
def explain_command(
    run: str,
    row: str | None,
    hide: str | None,
    edits: tuple[str, ...],
    axis: int | None,
    place: str | None,
    group: str | None,
    rows: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """One row, one axis, one place or a group of rows of a run folder."""
    from lowdim.jobs.run_folder import load_run
    from lowdim.jobs.table_model import subject

    if sum(part is not None for part in (row, axis, place, group, rows)) != 1:
        raise click.UsageError("give one of --row, --axis, --place, --group and --rows")
    if row is None and (hide is not None or edits):
        raise click.UsageError("--hide and --set go with --row")
    opened = load_run(run)
    if axis is not None:  # for which the table need not be there any more
        drawn = axis_card(opened, axis)
        text = drawn.text() if drawn.apart is None else drawn.text(opened.table.row_names)
        return show(as_json, text, card=drawn)
    found = subject(opened)
    card: RowCard | PlaceCard | GroupCard
    if row is not None:
        card = row_card(found, row, hide, edits)
    elif place is not None:
        card = place_card(found, place)
    elif group is not None and not Path(group).is_file():
        card = found_group(found, group)
    else:
        card = found.set_apart(group_rows(found.table, group, rows))
    return show(as_json, card.text(), card=card)


def row_card(found: TableModel, row: str, hide: str | None, edits: tuple[str, ...]) -> RowCard:
    """One row in full, with cells hidden or edited."""
    from lowdim.table.options import split_names

    position = positions(found.table, [row], "--row")[0]
    names, labelled = found.columns, {c.name for c in found.map.columns if c.labels} if found.map else set()
    hidden, edited = split_names(hide), dict(edit_of(names, text, labelled) for text in edits)
    unknown = [name for name in hidden if name not in names]
    if unknown:
        raise click.BadParameter(f"there is no column '{unknown[0][:40]}'", param_hint="--hide")
    return found.explain(position, hidden=hidden, edited=edited)


def edit_of(names: tuple[str, ...], text: str, labelled: Collection[str] = ()) -> tuple[str, Any]:
    """A column and its new value from COLUMN=VALUE; the column's name may hold the sign too, a value may be a word."""
    name, sign, value = text.rpartition("=")
    if sign and name in labelled:
        return name, value
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not sign or name not in names or number != number:
        raise click.BadParameter(f"'{text[:60]}' is not a column of the model = a number", param_hint="--set")
    return name, number


def axis_card(run: SavedRun, axis: int) -> AxisCard:
    """One axis, with the intervals of the run's own seed and level."""
    q = len(run.axes)
    if not 1 <= axis <= q:
        known = f"axes are counted from 1 to {q}" if q else "this run has no axis"
        raise click.BadParameter(known, param_hint="--axis")
    return run.axes[axis - 1]


def place_card(found: TableModel, text: str) -> PlaceCard:
    """The row that lives at a place; of a map's two numbers, that with 0 on all further axes."""
    try:
        z = [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"'{text[:60]}' is not numbers with commas between", param_hint="--place") from None
    more = found.places.z.shape[1] - len(z) if len(z) == MAP_AXES else 0
    return found.at(z + [0.0] * more)


def found_group(found: TableModel, word: str) -> GroupCard:
    """One of the groups that the rows fall into, by its number or its name."""
    groups = None if found.analysis is None else found.analysis.groups
    if groups is None or groups.position(word) is None:
        many = 1 if groups is None else len(groups.sizes)
        known = f"groups are counted from 1 to {many}" if many > 1 else "the rows are in no groups"
        raise click.BadParameter(f"there is no group and no file '{word[:60]}'; {known}", param_hint="--group")
    return found.group(word)


def group_rows(table: Table, file: str | None, rows: str | None) -> list[int]:
    """The rows that are named in a file, or here."""
    from lowdim.table.options import split_names

    if file is None:
        return positions(table, list(split_names(rows)), "--rows")
    lines = [line.strip() for line in Path(file).read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    words = [word.strip() for word in lines[0].split(",")] if len(lines) == 1 else lines
    return positions(table, words, "--group")
