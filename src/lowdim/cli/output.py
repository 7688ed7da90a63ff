"""What a command prints: results and JSON on stdout, messages on stderr."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import click

from lowdim.text.escape import protect_terminal
from lowdim.text.fix import Fix
from lowdim.text.messages import LowdimError, Message

LINE = 150  # letters of a message that is told in a line


class Done(Exception):  # noqa: N818 - leaving early is not an error
    """Leave with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class MessageLog:
    """The messages of one call of the command, in the order they were given."""

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.messages: list[Message] = []

    def add(self, message: Message) -> None:
        """Keep a message, and show it unless told to be quiet; several fits may give the same."""
        if message in self.messages:
            return
        self.messages.append(message)
        if not self.quiet:
            complain(str(message))

    def facts(self) -> list[dict[str, str]]:
        """Every message as JSON has it."""
        return [message.facts() for message in self.messages]

    def print_error(self, reason: str, problems: Iterable[LowdimError | Message | str]) -> None:
        """Where JSON was asked for, the object of a command that did not finish: why, and every message."""
        if self.as_json:
            facts = [*self.facts(), *(as_message(problem).facts() for problem in problems)]
            click.echo(json.dumps({"schema": 1, "error": reason, "messages": facts}, indent=1))


def as_message(problem: LowdimError | Message | str) -> Message:
    """A problem as a message; one that is only text has no code."""
    message = problem.message if isinstance(problem, LowdimError) else problem
    return message if isinstance(message, Message) else Message("", "error", str(message), "", "", Fix())


def message_log() -> MessageLog:
    """The messages of this call."""
    log = click.get_current_context().find_object(MessageLog)
    return MessageLog(quiet=False, as_json=False) if log is None else log


def say(text: str) -> None:
    """A result on stdout, escape codes taken out."""
    click.echo(protect_terminal(text, lines=True))


def complain(text: str) -> None:
    """A message on stderr, escape codes taken out."""
    click.echo(protect_terminal(text, lines=True), err=True)


def show_messages(messages: Iterable[Message], *, short: bool = False) -> None:
    """Keep messages, and show the first few of each kind, or a line for each kind, unless told to be quiet."""
    from lowdim.text.messages import Messages

    log, shown = message_log(), Messages(messages)
    log.messages += shown
    if shown and not log.quiet:
        complain("\n".join(brief(shown, len(shown))) if short else str(shown))


def brief(messages: Sequence[Message], most: int) -> list[str]:
    """One line for each kind of message, changes first: what the first of them says, and how many more there are; in at
    most so many lines."""
    from lowdim.text.format import clip

    of_a_code = Counter(m.code for m in messages)
    first = {m.code: m for m in reversed(messages)}
    kinds = sorted((first[code] for code in of_a_code), key=lambda m: m.severity != "changed")
    shown = kinds if len(kinds) <= most else kinds[: most - 1]
    lines = []
    for m in shown:
        more = f" (and {of_a_code[m.code] - 1} more such)" if of_a_code[m.code] > 1 else ""
        lines.append(f"{m.code} {m.severity}  {clip(m.what, LINE)}{more}")
    if len(shown) < len(kinds):
        lines.append(f"and {len(kinds) - len(shown)} more kinds")
    return lines


def show(as_json: bool, text: str, **facts: Any) -> None:
    """A result on stdout: its facts as one JSON object where that was asked for, else its text."""
    if as_json:
        print_json(**facts)
    else:
        say(text)


def print_json(**facts: Any) -> None:
    """One object on stdout: schema, the facts, and every message."""
    click.echo(json.dumps({"schema": 1, **plain(facts), "messages": message_log().facts()}, indent=1, allow_nan=False))


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
