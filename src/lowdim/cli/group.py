"""The commands: every file in the folders of commands is one, imported when it is called."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import click

from lowdim import __version__
from lowdim.cli.command import TableCommand

FOLDERS = ("table", "run", "about")  # commands on a table, on a run folder, and about lowdim itself
ANYWHERE = ("--json", "--quiet", "--debug")  # these may also stand before the command
EPILOG = """lowdim FILE is the same as lowdim report FILE. Results go to stdout, progress and messages to stderr.
Exit codes: 0 done, 1 a --strict condition failed, 2 bad usage, 3 cannot read input, 4 table cannot be analysed,
5 not converged (saved and marked), 6 over the memory limit, 70 a fault of lowdim itself (please report it),
130 interrupted (what there is is saved)."""


@cache
def modules() -> dict[str, str]:
    """The commands by name and the modules that hold them; nothing is imported for it."""
    here = Path(__file__).parent
    return {m.name: f"lowdim.cli.{folder}.{m.name}" for folder in FOLDERS for m in iter_modules([str(here / folder)])}


def load_command(name: str) -> TableCommand:
    """The command of this name."""
    loaded = getattr(import_module(modules()[name]), f"{name}_command")
    assert isinstance(loaded, TableCommand)
    return loaded


def every_command() -> dict[str, TableCommand]:
    """All commands in their order."""
    return {c.name or "": c for c in sorted(map(load_command, modules()), key=lambda c: c.rank)}


class LazyGroup(click.Group):
    """Commands imported when called; `lowdim FILE` means `lowdim report FILE`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(every_command())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return load_command(name) if name in modules() else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in modules():
            _refuse_mistyped(args)
            args = ["report", *args]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, c.short_help or "") for name, c in every_command().items()])


def _refuse_mistyped(args: list[str]) -> None:
    """A bare word that is no file, or one followed by a file, is a command mistyped."""
    from difflib import get_close_matches
    from pathlib import Path

    word, words = args[0], [a for a in args[1:] if not a.startswith("-")]
    if Path(word).exists() or word.startswith("-"):
        return
    near = get_close_matches(word.lower(), modules(), n=1, cutoff=0.7)
    if near and (words or "." not in word):
        raise click.UsageError(f"There is no command '{word[:40]}'. Did you mean  lowdim {near[0]} ...?")
    if words and "." not in word and Path(words[0]).exists():
        raise click.UsageError(f"There is no command '{word[:40]}'. The commands are: {', '.join(every_command())}.")


def in_order(arguments: list[str]) -> list[str]:
    """The arguments with the command first: `lowdim --json check x.csv`, `lowdim --drop a x.csv`."""
    first = next((k for k, a in enumerate(arguments) if a not in ANYWHERE), len(arguments))
    ordered = [*arguments[first:], *arguments[:first]]
    if ordered and ordered[0].startswith("-") and ordered[0] not in ("-", "-h", "--help", "--version"):
        return ["report", *ordered]
    return ordered


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(__version__, prog_name="lowdim")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
@click.option("--json", is_flag=True, expose_value=False, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, expose_value=False, help="No progress and no notes on stderr.")
def commands() -> None:
    """What is this table really made of?"""
