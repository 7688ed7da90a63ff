"""What makes a function a command: its line in the list, its example, and its place there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


class TableCommand(click.Command):
    """A command with an example that works when pasted beside a table.csv, its run and new.csv."""

    example: str = ""
    rank: int = 0  # its place in the list of commands


def command(
    short: str, *, example: str, rank: int, cls: type[TableCommand] = TableCommand
) -> Callable[[Callable[..., Any]], TableCommand]:
    """Make `name_command` the command `name`; a file of this name in a folder of commands is all it takes."""

    def decorate(function: Callable[..., Any]) -> TableCommand:
        name = function.__name__.removesuffix("_command")
        epilog = f"\b\nExample:  {example}"
        table_command: TableCommand = click.command(name, cls=cls, short_help=short, epilog=epilog)(function)
        table_command.example, table_command.rank = example, rank
        return table_command

    return decorate
