"""check: is the table usable, and what would be changed?"""

from __future__ import annotations

import click

from lowdim.cli.command import command
from lowdim.cli.options import Request, with_request
from lowdim.cli.say import Done, complain, message_log, print_json, say


@command(
    "Is the table usable, and what would be changed? No model.",
    example="lowdim check table.csv --all",
    rank=1,
)
@click.option("--all", "everything", is_flag=True, help="Every column and every message.")
@with_request()
def check_command(request: Request, everything: bool) -> None:
    """Is the table usable, and what would be changed? No model is fitted."""
    from lowdim.judge.scales import on_suitable_scales
    from lowdim.table.describe import check_page, gaps_of, span
    from lowdim.table.read import read

    options = {name: value for name, value in request.options.items() if name != "strict"}
    table = on_suitable_scales(read(request.file, **options))
    if request.as_json:
        message_log().messages += table.messages
        columns = [
            {"name": c.name, "role": c.role, "gaps": gaps_of(c), "range": span(c), "note": c.note}
            for c in table.columns
        ]
        print_json(name=table.name, rows=table.n, columns=columns, read_as=str(table.guess))
    else:
        say(check_page(table, everything=everything).rstrip())
        if not message_log().quiet and table.messages:
            complain(table.messages.text(everything=everything))
    if request.strict and table.messages.changed:
        complain("--strict: the table would be changed")
        raise Done(1)
