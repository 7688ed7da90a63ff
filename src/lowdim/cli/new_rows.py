"""Rows of a run: by name or number, and new ones placed on its map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.options import reading
from lowdim.cli.output import show_messages

if TYPE_CHECKING:
    from lowdim.jobs.apply import PlacedRows
    from lowdim.jobs.run_folder import SavedRun
    from lowdim.table.table import Table


def positions(table: Table, words: list[str], flag: str) -> list[int]:
    """Rows by name, else by number as the file counts them from 1."""
    by_name = {name: k for k, name in reversed(list(enumerate(table.row_names)))}
    by_number = {str(r + 1): k for k, r in enumerate(table.rows.tolist())}
    unknown = [word for word in words if word not in by_name and word not in by_number]
    if unknown and unknown[0].isdigit() and int(unknown[0]) - 1 in table.left_rows:
        from lowdim.judge.fills.write import NO_PLACE

        raise click.BadParameter(f"row {unknown[0]} {NO_PLACE}", param_hint=flag)
    if unknown:
        raise click.BadParameter(
            f"there is no row '{unknown[0][:40]}'; rows are counted from 1 to {table.shape[0]}"
            + ("" if table.row_names[0].isdigit() else f" or named, such as '{table.row_names[0]}'"),
            param_hint=flag,
        )
    return [by_name.get(word, by_number.get(word, 0)) for word in words]


def placed(run: SavedRun, new: str, flags: dict[str, Any]) -> PlacedRows:
    """New rows placed on the model of a run; the new file is read as the run's own was, unless told otherwise."""
    from lowdim.jobs.apply import place_run

    rows = place_run(run, new, **reading(flags))
    show_messages(rows.messages)
    return rows
