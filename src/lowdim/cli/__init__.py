"""The command `lowdim`; everything heavy is imported when it is needed."""
from __future__ import annotations

import sys
import warnings
from importlib import import_module

import click

from lowdim import __version__

HOMES = {  # name -> module that holds a click command of that name
    "report": "main_job", "check": "main_job", "dims": "main_job", "fit": "main_job", "fill": "filling",
    "odd": "rows", "explain": "rows", "apply": "rows", "monitor": "rows",
    "plot": "tools", "runs": "tools", "methods": "tools", "demo": "tools", "help": "tools"}
SHORT = {
    "report": "The whole analysis: five sentences, an HTML report and a run folder (the default).",
    "check": "Is the table usable, and what would be changed? No model.",
    "dims": "How many dimensions the table has.", "fit": "Analyse and save a run folder, without a report.",
    "fill": "Fill the gaps, with intervals.", "odd": "The odd rows, and why.",
    "explain": "One row, one axis or a group of rows of a run.", "apply": "Place new rows on an old map.",
    "monitor": "Watch new rows beside the history of a run.", "plot": "Draw a named plot.",
    "runs": "List run folders, or compare two.", "methods": "Which method for which question.",
    "demo": "The report on a table that ships with lowdim.", "help": "The long explanation of a message."}
EPILOG = """lowdim FILE is the same as lowdim report FILE. Results go to stdout, progress and messages to stderr.
Exit codes: 0 done, 1 a --strict condition failed, 2 bad usage, 3 cannot read input, 4 table cannot be analysed,
5 not converged (saved and marked), 6 over the memory limit, 130 interrupted (what there is is saved)."""


class Lazy(click.Group):
    """Commands imported when called; `lowdim FILE` means `lowdim report FILE`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(HOMES)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in HOMES:
            return None
        command = getattr(import_module(f"lowdim.cli.{HOMES[name]}"), f"{name}_command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]
                        ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in HOMES:
            _mistyped(args)
            args = ["report", *args]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):  # without importing any of them
            formatter.write_dl(list(SHORT.items()))


def _mistyped(args: list[str]) -> None:
    """A word that is no file, followed by another, is a command mistyped."""
    from difflib import get_close_matches
    from pathlib import Path

    near = get_close_matches(args[0], HOMES, n=1, cutoff=0.7)
    if near and args[1:] and not Path(args[0]).exists():
        raise click.UsageError(f"There is no command '{args[0][:40]}'. Did you mean  lowdim {near[0]} ...?")


@click.command(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(__version__, prog_name="lowdim")
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
    from lowdim.cli.common import Done, Said, complain
    from lowdim.messages import LowdimError, LowdimWarning

    debug = "--debug" in arguments
    arguments = [a for a in arguments if a != "--debug"]
    said = Said(quiet="--quiet" in arguments, as_json="--json" in arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=LowdimWarning)
        warnings.showwarning = lambda text, *rest, **more: said.note(str(text))
        try:
            with commands.make_context("lowdim", list(arguments), obj=said) as context:
                context.meta["lowdim.arguments"] = arguments
                commands.invoke(context)
        except Done as done:
            return done.code
        except click.exceptions.Exit as left:
            return int(left.exit_code)
        except click.ClickException as problem:
            problem.show()
            return 2
        except (KeyboardInterrupt, click.Abort):
            complain("Stopped.")
            return 130
        except BrokenPipeError:
            return _closed()
        except (LowdimError, MemoryError) as problem:
            if debug:
                raise
            return refused(problem, said)
        except Exception as problem:
            if debug:
                raise
            complain(f"lowdim met an error it does not know: {type(problem).__name__}: {problem}\n"
                     "  fix     run again with --debug and report what it prints")
            return 1
    return 0


def refused(problem: Exception, said: object) -> int:
    """Say what stopped the command, as text and, where asked for, as JSON; its exit code."""
    import json

    from lowdim.cli.common import Said, complain, facts_of
    from lowdim.data.flags import exit_code
    from lowdim.messages import LowdimError

    if not isinstance(problem, LowdimError):
        complain("Out of memory: nothing was written.\n  fix     use fewer rows with --sample, or fewer columns")
        return 6
    complain(str(problem))
    assert isinstance(said, Said)
    if said.as_json:
        found = getattr(problem, "messages", None) or [problem]
        facts = [*said.facts, *(facts_of(str(m)) for m in found)]
        click.echo(json.dumps({"schema": 1, "error": problem.code, "messages": facts}, indent=1))
    return exit_code(problem)


def _closed() -> int:
    """Whoever read our output has heard enough; the interpreter must not complain at its end."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
