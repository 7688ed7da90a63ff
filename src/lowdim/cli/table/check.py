"""check: is the table usable, and what would be changed?"""

from __future__ import annotations

from typing import Any

import click

from lowdim.cli.entry import command
from lowdim.cli.options import asking
from lowdim.cli.output import Done, complain, message_log, show


@command("Is the table usable, and what would be changed? No model.", example="lowdim check table.csv --all", rank=1)
@click.option("--all", "everything", is_flag=True, help="Every column and every message.")
@asking()
def check_command(file: str, options: dict[str, Any], as_json: bool, everything: bool) -> None:
    """Is the table usable, and what would be changed? No model is fitted."""
    from lowdim.judge.read_table import read_table
    from lowdim.table.describe import check_facts, check_page

    strict = options.pop("strict", False)
    table = read_table(file, **options)
    if as_json:
        message_log().messages += table.messages
    show(as_json, check_page(table, everything=everything).rstrip(), **check_facts(table))
    if strict and table.messages.changed:
        complain("--strict: the table would be changed")
        raise Done(1)
