"""help: the long explanation of a message, the help of a command, and the list of both."""

from __future__ import annotations

from string import Formatter

import click

from lowdim.cli.entry import command
from lowdim.cli.options import common_options
from lowdim.cli.output import print_json, say

FAMILIES = (
    ("LD0", "The file"),
    ("LD1", "The table"),
    ("LD2", "The model, its options and new rows"),
    ("LD3", "Files that lowdim writes"),
    ("LD4", "Maps, kernels and nonlinear models"),
    ("LD5", "Columns that are no real numbers"),
)


@command("The long explanation of a message, or a list of all.", example="lowdim help LD104", rank=17)
@click.argument("code", required=False)
@common_options
def help_command(code: str | None, quiet: bool, as_json: bool) -> None:
    """The long explanation of a message, e.g. LD104; of a command, its --help; of nothing, the list of both."""
    root = click.get_current_context().find_root()
    assert isinstance(root.command, click.Group)
    known = root.command.get_command(root, code) if code else None
    entries = explained(code or "")
    if as_json:
        print_json(commands=root.command.list_commands(root), explained=entries)
    elif known is not None:
        with click.Context(known, info_name=f"lowdim {code}", help_option_names=["-h", "--help"]) as context:
            click.echo(known.get_help(context))
    elif not entries:
        near = nearest(code or "", [*root.command.list_commands(root), *(e["code"] for e in explained(""))])
        raise click.BadParameter(
            f"'{(code or '')[:40]}' is neither a message nor a command of lowdim{near}", param_hint="CODE"
        )
    elif code:
        say("\n".join(map(one, entries)))
    else:
        say(everything(entries))


def explained(code: str) -> list[dict[str, str]]:
    """The entries of a code, or all of them, with dots where a message has its facts."""
    from lowdim.text.messages import catalogue

    entries = []
    for key in sorted(catalogue()):
        entry, short = catalogue()[key], key.partition(".")[0]
        if not code or short == code.upper():
            what, why, fix = (dotted(str(part)) for part in (entry.what, entry.why, entry.fix))
            entries.append({"code": short, "text": entry.about or what, "why": why, "fix": fix})
    return entries


def dotted(template: str) -> str:
    """The words of a message before there are facts, with dots where these will stand; of two forms the plural.

    >>> dotted("{n:,} {n|row was|rows were} left out")
    '... rows were left out'
    """
    pieces = Formatter().parse(template)
    shown = (
        (words, "" if field is None else field.split("|")[-1] if "|" in field else "...")
        for words, field, _, _ in pieces
    )
    return "".join(words + fact for words, fact in shown)


def one(entry: dict[str, str]) -> str:
    """An entry in full; a line that is all facts says nothing without them."""
    lines = [f"{entry['code']}  {entry['text']}"]
    for word in ("why", "fix"):
        if entry[word].strip(". "):
            lines.append(f"  {word:<7} " + entry[word].replace("\n", "\n" + " " * 10))
    return "\n".join(lines)


def everything(entries: list[dict[str, str]]) -> str:
    """The commands, then every message in a line, by family."""
    from lowdim.cli.entry import every_command

    lines = ["Commands  (lowdim help COMMAND)", *(f"  {name:<9} {c.short_help}" for name, c in every_command().items())]
    for start, title in FAMILIES:
        lines += ["", f"{title}  (lowdim help CODE)"]
        last = {e["code"]: e["text"] for e in entries if e["code"].startswith(start)}  # of a file rather than an array
        lines += [f"  {code}  {text}" for code, text in last.items()]
    return "\n".join(lines)


def nearest(word: str, known: list[str]) -> str:
    """A question that names the nearest word, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(word.upper(), known, n=1) or get_close_matches(word.lower(), known, n=1)
    return f". Did you mean {near[0]}?" if near else ""
