"""What makes a function a command: its line in the list, its example, and its place there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


class TableCommand(click.Command):
    """A command with an example that works when pasted beside a table.csv, its run and new.csv."""

    example: str = ""
    rank: int = 0  # its place in the list of commands

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The command's own options, then those of reading its table, by what they are about."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (line := param.get_help_record(ctx)) is not None:
                sections.setdefault(getattr(param, "about", "Options"), []).append(line)
        table = next((p.human_readable_name for p in reversed(self.params) if isinstance(p, click.Argument)), "FILE")
        for title, lines in sections.items():
            with formatter.section(title if title == "Options" else f"Reading {table.strip('[]')}: {title}"):
                formatter.write_dl(lines)


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
