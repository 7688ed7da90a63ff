"""The command `lowdim`: every file in the folders of commands is one, imported when it is called; from its arguments to
its exit code."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import click

from lowdim import __version__
from lowdim.jobs.process import seldom_collected

if TYPE_CHECKING:
    from lowdim.cli.output import MessageLog

FOLDERS = ("table", "run", "about")  # commands on a table, on a run folder, and about lowdim itself
ANYWHERE = ("--json", "--quiet", "--debug")  # these may also stand before the command
EPILOG = """lowdim FILE is the same as lowdim report FILE. Results go to stdout, progress and messages to stderr.
Exit codes: 0 done, 1 a --strict condition failed, 2 bad usage, 3 cannot read input, 4 table cannot be analysed,
5 not converged (saved and marked), 6 over the memory limit, 70 a fault of lowdim itself (please report it),
130 interrupted (what there is is saved)."""
OUR_FAULT = 70  # EX_SOFTWARE of sysexits.h


# one command ---------------------------------------------------------------------------------------------
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


# all of them ---------------------------------------------------------------------------------------------
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


# a call --------------------------------------------------------------------------------------------------
def main() -> None:
    """Run the command; what goes wrong is a message and an exit code, never a traceback (unless --debug)."""
    import io
    import os

    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # our own threads share the rows out
        os.environ.setdefault(name, "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a character shows a question mark
            stream.reconfigure(errors="replace")
    with seldom_collected():
        sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of the command with these arguments."""
    from lowdim.cli.output import MessageLog, as_message
    from lowdim.text.messages import LowdimWarning

    debug = "--debug" in arguments
    arguments = in_order([a for a in arguments if a != "--debug"])
    log = MessageLog(quiet="--quiet" in arguments, as_json="--json" in arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=LowdimWarning)
        warnings.showwarning = lambda warning, *_, **__: log.add(as_message(getattr(warning, "message", str(warning))))
        try:
            with commands.make_context("lowdim", list(arguments), obj=log) as context:
                context.meta["lowdim.arguments"] = arguments
                commands.invoke(context)
        except BaseException as problem:
            if debug and isinstance(problem, Exception) and not isinstance(problem, click.ClickException):
                import traceback

                traceback.print_exception(problem)
            return leave_with(problem, log)
    return 0


def leave_with(problem: BaseException, log: MessageLog) -> int:
    """What ended the command, as text and, where asked for, as JSON; its exit code."""
    from lowdim.cli.output import Done, complain
    from lowdim.text.messages import LowdimError, error

    if isinstance(problem, Done):
        return problem.code
    if isinstance(problem, click.exceptions.Exit):
        return int(problem.exit_code)
    if isinstance(problem, click.ClickException):
        if isinstance(problem, click.NoSuchOption) and problem.possibilities:
            from difflib import get_close_matches

            near = get_close_matches(problem.option_name, problem.possibilities, n=1, cutoff=0.0)
            problem = click.NoSuchOption(problem.option_name, possibilities=near, ctx=problem.ctx)
        problem.show()
        log.print_error("usage", [problem.format_message()])
        return 2
    if isinstance(problem, KeyboardInterrupt | click.Abort):
        complain("Stopped.")
        return 130
    if isinstance(problem, BrokenPipeError):  # whoever read our output closed it: the interpreter must not complain
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(problem, MemoryError) and not isinstance(problem, LowdimError):
        problem = error("LD173")
    if isinstance(problem, PermissionError):
        problem = error("LD333", path=problem.filename, problem=problem.strerror)
    if isinstance(problem, LowdimError):
        complain(str(problem))
        log.print_error(problem.code, getattr(problem, "messages", None) or [problem])
        return problem.exit_code
    if not isinstance(problem, Exception):
        raise problem
    what = f"{type(problem).__name__}: {problem}"
    complain(
        f"lowdim itself failed, not your table ({what}); please report it with what the same command prints "
        "with --debug."
    )
    log.print_error("fault", [what])
    return OUR_FAULT
