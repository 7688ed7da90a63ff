"""Rows of a table by name or number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
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
        known = f"rows are counted from 1 to {table.shape[0]}"
        if "stream" in table.options:
            known = f"of a stream the {table.n:,} rows that were drawn are known, by their numbers in the file"
        named = "" if table.row_names[0].isdigit() and "stream" not in table.options else table.row_names[0]
        such = f"{',' if 'stream' in table.options else ' or named,'} such as '{named}'" if named else ""
        raise click.BadParameter(f"there is no row '{unknown[0][:40]}'; {known}{such}", param_hint=flag)
    return [by_name.get(word, by_number.get(word, 0)) for word in words]
