"""Rows of a run: by name or number, and new ones placed on its map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.options import reading
from lowdim.cli.say import show_messages

if TYPE_CHECKING:
    from lowdim.jobs.apply import PlacedRows
    from lowdim.jobs.run_folder import SavedRun
    from lowdim.table.table import Table


MIXED = "mixed"  # the one method by name whose map is asked as that of the main job


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


def placed(run: str, new: str, flags: dict[str, Any]) -> tuple[SavedRun, PlacedRows]:
    """A run and new rows placed on its map; the new file is read as the run's own was, unless told otherwise."""
    from lowdim.jobs.apply import place
    from lowdim.jobs.run_folder import load_run

    opened = load_run(run)
    options = {**read_as(opened), **reading(flags)}
    if opened.method == MIXED:
        from lowdim.jobs.mixed_model import place_mixed

        rows = place_mixed(opened, new, **options)
        show_messages(rows.messages)
        return opened, rows
    rows = place(
        opened.model,
        opened.names,
        new,
        labels=opened.code_labels,
        calibration=opened.calibration,
        law=opened.law_of_new_rows,
        scales=opened.scales,
        aside=opened.aside,
        **options,
    )
    show_messages(rows.messages)
    return opened, rows


def read_as(run: SavedRun) -> dict[str, Any]:
    """How the table of a run was read, as far as it holds for new rows."""
    options = {key: value for key, value in run.options.items() if key not in ("sample", "strict", "stream")}
    if run.facts["table"]["header"] is False:
        options.setdefault("header", False)
    return options | {"units": run.facts["table"].get("units", {})}
