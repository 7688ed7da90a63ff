"""What the commands share: reading options, messages on stderr, results and JSON on stdout."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.text.escape import protect_terminal

if TYPE_CHECKING:
    from lowdim.table.table import Table

HELP = {
    "sep": "Separator: comma, semicolon, tab, pipe, space.",
    "decimal": "Decimal sign, . or ,",
    "encoding": "Encoding of the file.",
    "names": "A file with one column name a line.",
    "na": 'More codes for gaps, e.g. "-999,ND".',
    "columns": "Use only these columns.",
    "drop": "Leave these columns out.",
    "number": "Use these columns as numbers whatever they look like.",
    "label": "Columns to colour and describe by.",
    "id": "The column that names the rows.",
    "time": "The column that orders the rows.",
    "weight": "How many times each row counts.",
    "encode": "Label columns to use as zeros and ones.",
    "log": "Columns to take the logarithm of.",
    "sheet": "Sheet of a workbook.",
    "inf": "error, or missing: read infinite values as gaps.",
    "below_limit": 'half, zero or limit: what "<0.05" counts as.',
    "scale": "unit (each column counts alike) or none.",
    "sample": "Use so many rows, spread over the file.",
    "memory": "Memory to use, e.g. 2GB.",
}
SWITCH_HELP = {
    "header": "Line 1 holds the names.",
    "no_header": "Line 1 is data.",
    "transpose": "Swap rows and columns.",
    "keep_copies": "Keep columns that are copies of others.",
    "strict": "Any change to the table is an error, and a failed check leaves with 1.",
}
CODED = re.compile(r"(LD\d{3}) (\w+)  (.*)")
PARTS = re.compile(r"  (where|why|fix) +(.*)")


class Done(Exception):  # noqa: N818 - leaving early is not an error
    """Leave with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Said:
    """The messages of one call of the command, in the order they were given."""

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.facts: list[dict[str, str]] = []

    def note(self, text: str) -> None:
        """Keep a message that came as text, and show it unless told to be quiet; several fits may say the same."""
        facts = facts_of(text)
        if facts in self.facts:
            return
        self.facts.append(facts)
        if not self.quiet:
            complain(text)

    def end(self, reason: str, *texts: str) -> None:
        """Where JSON was asked for, the object of a command that did not finish: why, and every message."""
        if self.as_json:
            facts = [*self.facts, *map(facts_of, texts)]
            click.echo(json.dumps({"schema": 1, "error": reason, "messages": facts}, indent=1))


def said() -> Said:
    """The messages of this call."""
    found = click.get_current_context().find_object(Said)
    return Said(quiet=False, as_json=False) if found is None else found


def facts_of(text: str) -> dict[str, str]:
    """A message as JSON has it, from its text.

    >>> facts_of("LD104 error  Not a number\\n  where   line 3\\n  fix     drop it\\n          or not")["fix"]
    'drop it\\nor not'
    """
    first, *rest = text.split("\n")
    head = CODED.match(first)
    code, severity, what = head.groups() if head else ("", "error", first)
    found = {"code": code, "severity": severity, "where": "", "text": what, "why": "", "fix": ""}
    part = ""
    for line in rest:
        match = PARTS.fullmatch(line)
        part, more = (match[1], match[2]) if match else (part, "\n" + line.strip())
        if part:
            found[part] += more
    return found


def say(text: str) -> None:
    """A result on stdout, escape codes taken out."""
    click.echo(protect_terminal(text, lines=True))


def complain(text: str) -> None:
    """A message on stderr, escape codes taken out."""
    click.echo(protect_terminal(text, lines=True), err=True)


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Every option of reading a table, as flags, and those of every command."""
    from lowdim.table.flags import SWITCHES, VALUES

    for flag, name in reversed(VALUES.items()):
        # given twice, a list is added up
        command = click.option(flag, f"read_{name}", help=HELP[name], metavar="TEXT", multiple=True)(command)
    for flag in reversed(SWITCHES):
        word = flag.strip("-").replace("-", "_")
        command = click.option(flag, f"read_{word}", is_flag=True, help=SWITCH_HELP[word])(command)
    return common_options(command)


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--quiet, --json and --debug; a file asked for in a folder that is not there is refused before any work."""
    command = before(command, check_folder)
    command = click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")(command)
    command = click.option("--quiet", is_flag=True, help="No progress and no notes on stderr.")(command)
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def before(command: Callable[..., Any], check: Callable[[Any], None]) -> Callable[..., Any]:
    """The command, after a look at its --out."""

    @wraps(command)
    def checked(*words: Any, **given: Any) -> Any:
        check(given.get("out"))
        return command(*words, **given)

    return checked


def check_folder(out: str | None) -> None:
    """Refuse a file in a folder that does not exist; `fit` and `demo` make theirs."""
    from lowdim.text.messages import error

    if out is None or click.get_current_context().info_name in ("fit", "demo"):
        return
    path, folder = protect_terminal(out), Path(out).parent
    if not folder.is_dir():
        raise error("LD304", path=path, problem=f"there is no folder '{protect_terminal(str(folder))}'")


def reading(given: dict[str, Any]) -> dict[str, Any]:
    """Take the reading options out of a command's arguments, as `read` wants them."""
    from lowdim.table.flags import SWITCHES, VALUES, options_from_flags

    tokens: list[str] = []
    for flag, name in VALUES.items():
        for value in given.pop(f"read_{name}", ()):
            tokens.append(f"{flag}={value}")
    for flag in SWITCHES:
        if given.pop("read_" + flag.strip("-").replace("-", "_"), False):
            tokens.append(flag)
    return options_from_flags(tokens)


def is_run(path: str) -> bool:
    """Whether this is a run folder; any other folder is read as a table, which says what is in it."""
    return (Path(path) / "run.json").is_file()


def open_table(path: str, options: dict[str, Any]) -> Table:
    """Read a table and say on stderr what was found."""
    from lowdim.table.read import read

    table = read(path, **options)
    hear(table.messages)
    return table


def hear(messages: Any) -> None:
    """Keep messages, and show the first few of each kind unless told to be quiet."""
    from lowdim.table.notes import Messages

    heard, found = said(), Messages(messages)
    heard.facts += [facts_of(str(m)) for m in found]
    if found and not heard.quiet:
        complain(str(found))


def print_json(**facts: Any) -> None:
    """One object on stdout: schema, the facts, and every message."""
    click.echo(json.dumps({"schema": 1, **plain(facts), "messages": said().facts}, indent=1, allow_nan=False))


def plain(value: Any) -> Any:
    """A value as JSON has it: tuples with names are objects, arrays are lists, what is not finite is null."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    fields = getattr(value, "_asdict", None)
    if fields is not None:
        return plain(fields())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    as_list = getattr(value, "tolist", None)  # NumPy's arrays and numbers
    if as_list is not None:
        return plain(as_list())
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def stem(file: str) -> str:
    """The name a table's outputs share: next to where the command runs, not next to the table."""
    return Path(file).name.split(".")[0] or "table"
