"""What the commands share: reading options, messages on stderr, JSON on stdout, exit codes."""
from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.data.safe import protect_terminal

if TYPE_CHECKING:
    from lowdim.data.table import Table
    from lowdim.runs import SavedRun

HELP = {
    "sep": "Separator: comma, semicolon, tab, pipe, space.", "decimal": "Decimal sign, . or ,",
    "encoding": "Encoding of the file.", "names": "A file with one column name a line.",
    "na": "More codes for gaps, e.g. \"-999,ND\".", "columns": "Use only these columns.",
    "drop": "Leave these columns out.", "number": "Use these columns as numbers whatever they look like.",
    "label": "Columns to colour and describe by.", "id": "The column that names the rows.",
    "time": "The column that orders the rows.", "weight": "How many times each row counts.",
    "encode": "Label columns to use as zeros and ones.", "log": "Columns to take the logarithm of.",
    "sheet": "Sheet of a workbook.", "inf": "error, or missing: read infinite values as gaps.",
    "below_limit": "half, zero or limit: what \"<0.05\" counts as.",
    "scale": "unit (each column counts alike) or none.",
    "sample": "Use so many rows, spread over the file.", "memory": "Memory to use, e.g. 2GB."}


SWITCH_HELP = {
    "header": "Line 1 holds the names.", "no_header": "Line 1 is data.", "transpose": "Swap rows and columns.",
    "keep_copies": "Keep columns that are copies of others.", "strict": "Any change to the table is an error."}


class Done(Exception):  # noqa: N818 - leaving early is not an error
    """Leave with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def complain(text: str) -> None:
    """A message on stderr, escape codes taken out."""
    click.echo("\n".join(protect_terminal(line) for line in text.split("\n")), err=True)


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Every option of reading a table, as flags."""
    from lowdim.data.flags import SWITCHES, VALUES

    for flag, name in reversed(VALUES.items()):
        command = click.option(flag, f"read_{name}", help=HELP.get(name, ""), metavar="TEXT")(command)
    for flag in reversed(SWITCHES):
        word = flag.strip("-").replace("-", "_")
        command = click.option(flag, f"read_{word}", is_flag=True, help=SWITCH_HELP[word])(command)
    command = click.option("--quiet", is_flag=True, help="No progress and no notes.")(command)
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def reading(given: dict[str, Any]) -> dict[str, Any]:
    """Take the reading options out of a command's arguments, as `read` wants them."""
    from lowdim.data.flags import SWITCHES, VALUES, options_from_flags

    tokens: list[str] = []
    for flag, name in VALUES.items():
        value = given.pop(f"read_{name}", None)
        tokens += [flag, value] if value is not None else []
    for flag in SWITCHES:
        if given.pop("read_" + flag.strip("-").replace("-", "_"), False):
            tokens.append(flag)
    return options_from_flags(tokens)


def open_table(path: str, options: dict[str, Any], *, quiet: bool) -> Table:
    """Read a table and say on stderr what was found."""
    from lowdim.data.table import read

    table = read(path, **options)
    if not quiet and len(table.messages):
        complain(str(table.messages))
    return table


def open_either(path: str, options: dict[str, Any], *, quiet: bool) -> Table | SavedRun:
    """A run folder, or a table."""
    if Path(path).is_dir():
        from lowdim.runs import open_run

        return open_run(path)
    return open_table(path, options, quiet=quiet)


def print_json(**facts: Any) -> None:
    """One object on stdout."""
    click.echo(json.dumps({"schema": 1, **facts}, indent=1, default=_plain))


def _plain(value: Any) -> Any:
    for kind in ("tolist", "_asdict"):
        method = getattr(value, kind, None)
        if method is not None:
            return method()
    return str(value)


class Stages:
    """A line on stderr for each stage as it ends."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.start = quiet, time.perf_counter()

    def __call__(self, stage: str, text: str) -> None:
        now = time.perf_counter()
        if not self.quiet:
            complain(f"  [ok] {stage:<12} {text:<50} {now - self.start:.1f} s")
            sys.stderr.flush()
        self.start = now
