"""The command `lowdim`; everything heavy is imported when it is needed."""

from __future__ import annotations

import sys
import warnings
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING

import click

from lowdim import __version__

if TYPE_CHECKING:
    from lowdim.cli.common import Said

HOMES = {  # name -> module that holds a click command of that name
    "report": "main_job",
    "check": "main_job",
    "dims": "main_job",
    "fit": "main_job",
    "fill": "filling",
    "plan": "streaming",
    "compare": "comparing",
    "odd": "rows",
    "explain": "rows",
    "apply": "rows",
    "monitor": "rows",
    "plot": "tools",
    "runs": "tools",
    "methods": "tools",
    "demo": "tools",
    "help": "helping",
}
SHORT = {
    "report": "The whole analysis: five sentences, an HTML report and a run folder (the default).",
    "check": "Is the table usable, and what would be changed? No model.",
    "dims": "How many dimensions the table has.",
    "fit": "Analyse and save a run folder, without a report.",
    "fill": "Fill the gaps, with intervals.",
    "plan": "What a fit to a large file will take: passes, seconds, memory.",
    "compare": "Methods side by side on the same hidden cells.",
    "odd": "The odd rows, and why.",
    "explain": "One row, one axis or a group of rows of a run.",
    "apply": "Place new rows on an old map.",
    "monitor": "Watch new rows beside the history of a run.",
    "plot": "Draw a named plot.",
    "runs": "List run folders, or compare two.",
    "methods": "Which method for which question.",
    "demo": "The report on a table that ships with lowdim.",
    "help": "The long explanation of a message, or a list of all.",
}
EXAMPLES = {  # one line for each, which works when pasted beside a table.csv, its run and new.csv
    "report": "lowdim report table.csv --budget 30s",
    "check": "lowdim check table.csv --all",
    "dims": "lowdim dims table.csv",
    "fit": "lowdim fit table.csv -o table.run",
    "fill": "lowdim fill table.csv -o filled.csv --intervals",
    "plan": "lowdim plan table.csv --memory 2GB",
    "compare": "lowdim compare table.csv -m ppca,fa",
    "odd": "lowdim odd table.csv",
    "explain": "lowdim explain table.run --row 1",
    "apply": "lowdim apply table.run new.csv",
    "monitor": "lowdim monitor table.run new.csv",
    "plot": "lowdim plot map table.run -o map.svg",
    "runs": "lowdim runs .",
    "methods": "lowdim methods",
    "demo": "lowdim demo gaussian",
    "help": "lowdim help LD104",
}
ANYWHERE = ("--json", "--quiet", "--debug")  # these may also stand before the command
OUR_FAULT = 70  # EX_SOFTWARE of sysexits.h
EPILOG = """lowdim FILE is the same as lowdim report FILE. Results go to stdout, progress and messages to stderr.
Exit codes: 0 done, 1 a --strict condition failed, 2 bad usage, 3 cannot read input, 4 table cannot be analysed,
5 not converged (saved and marked), 6 over the memory limit, 70 a fault of lowdim itself (please report it),
130 interrupted (what there is is saved)."""


class Lazy(click.Group):
    """Commands imported when called; `lowdim FILE` means `lowdim report FILE`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(HOMES)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in HOMES:
            return None
        command = getattr(import_module(f"lowdim.cli.{HOMES[name]}"), f"{name}_command")
        assert isinstance(command, click.Command)
        shown = copy(command)
        shown.epilog = f"\b\nExample:  {EXAMPLES[name]}" if name in EXAMPLES else None
        return shown

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in HOMES:
            _mistyped(args)
            args = ["report", *args]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):  # without importing any of them
            formatter.write_dl(list(SHORT.items()))


def _mistyped(args: list[str]) -> None:
    """A bare word that is no file, or one followed by a file, is a command mistyped."""
    from difflib import get_close_matches
    from pathlib import Path

    word, rest = args[0], [a for a in args[1:] if not a.startswith("-")]
    if Path(word).exists() or word.startswith("-"):
        return
    near = get_close_matches(word.lower(), HOMES, n=1, cutoff=0.7)
    if near and (rest or "." not in word):
        raise click.UsageError(f"There is no command '{word[:40]}'. Did you mean  lowdim {near[0]} ...?")
    if rest and "." not in word and Path(rest[0]).exists():
        raise click.UsageError(f"There is no command '{word[:40]}'. The commands are: {', '.join(HOMES)}.")


def in_order(arguments: list[str]) -> list[str]:
    """The arguments with the command first: `lowdim --json check x.csv`, `lowdim --drop a x.csv`."""
    first = next((k for k, a in enumerate(arguments) if a not in ANYWHERE), len(arguments))
    rest = [*arguments[first:], *arguments[:first]]
    if rest and rest[0].startswith("-") and rest[0] not in ("-", "-h", "--help", "--version"):
        return ["report", *rest]
    return rest


@click.command(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(__version__, prog_name="lowdim")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
@click.option("--json", is_flag=True, expose_value=False, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, expose_value=False, help="No progress and no notes on stderr.")
def commands() -> None:
    """What is this table really made of?"""


def main() -> None:
    """Run the command; what goes wrong is a message and an exit code, never a traceback (unless --debug)."""
    import io
    import os

    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # our own threads share the rows out
        os.environ.setdefault(name, "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a character shows a question mark
            stream.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of the command with these arguments."""
    from lowdim.cli.common import Said
    from lowdim.text.messages import LowdimWarning

    debug = "--debug" in arguments
    arguments = in_order([a for a in arguments if a != "--debug"])
    said = Said(quiet="--quiet" in arguments, as_json="--json" in arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=LowdimWarning)
        warnings.showwarning = lambda text, *rest, **more: said.note(str(text))
        try:
            with commands.make_context("lowdim", list(arguments), obj=said) as context:
                context.meta["lowdim.arguments"] = arguments
                commands.invoke(context)
        except BaseException as problem:
            if debug and isinstance(problem, Exception) and not isinstance(problem, click.ClickException):
                import traceback

                traceback.print_exception(problem)
            return left_with(problem, said)
    return 0


def left_with(problem: BaseException, said: Said) -> int:
    """What ended the command, said as text and, where asked for, as JSON; its exit code."""
    from lowdim.cli.common import Done, complain
    from lowdim.cli.exit_codes import exit_code
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
        said.end("usage", problem.format_message())
        return 2
    if isinstance(problem, KeyboardInterrupt | click.Abort):
        complain("Stopped.")
        return 130
    if isinstance(problem, BrokenPipeError):
        return _closed()
    if isinstance(problem, MemoryError) and not isinstance(problem, LowdimError):
        problem = error("LD173")
    if isinstance(problem, LowdimError):
        complain(str(problem))
        said.end(problem.code, *map(str, getattr(problem, "messages", None) or [problem]))
        return exit_code(problem)
    if not isinstance(problem, Exception):
        raise problem
    what = f"{type(problem).__name__}: {problem}"
    complain(
        f"lowdim broke down, which is our fault and not yours ({what}); please report it with what the same "
        "command prints with --debug."
    )
    said.end("fault", what)
    return OUR_FAULT


def _closed() -> int:
    """Whoever read our output has heard enough; the interpreter must not complain at its end."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
