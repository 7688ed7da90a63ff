"""The command `lowdim`; everything heavy is imported when it is needed."""
from __future__ import annotations

import sys
import warnings
from importlib import import_module

import click

from lowdim import __version__

COMMANDS = {  # name -> module that holds a click command of that name
    "report": "lowdim.cli.main_job", "check": "lowdim.cli.main_job", "dims": "lowdim.cli.main_job",
    "fit": "lowdim.cli.main_job", "fill": "lowdim.cli.main_job", "odd": "lowdim.cli.rows",
    "explain": "lowdim.cli.rows", "apply": "lowdim.cli.rows", "monitor": "lowdim.cli.rows",
    "plot": "lowdim.cli.tools", "runs": "lowdim.cli.tools", "methods": "lowdim.cli.tools",
    "demo": "lowdim.cli.tools", "help": "lowdim.cli.tools"}
SHORT = {
    "report": "The whole analysis: five sentences, an HTML report and a run folder (the default).",
    "check": "Is the table usable, and what would be changed? No model.",
    "dims": "How many dimensions the table has.", "fit": "Analyse and save a run folder, without a report.",
    "fill": "Fill the gaps, with intervals.", "odd": "The odd rows, and why.",
    "explain": "One row, or one axis, of a run.", "apply": "Place new rows on an old map.",
    "monitor": "Watch new rows beside the history of a run.", "plot": "Draw a named plot.",
    "runs": "List run folders.", "methods": "Which method for which question.",
    "demo": "The report on a table that ships with lowdim.", "help": "The long explanation of a message."}


class Lazy(click.Group):
    """Commands imported when called; `lowdim FILE` means `lowdim report FILE`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = getattr(import_module(COMMANDS[name]), f"{name}_command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]
                        ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            args = ["report", *args]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):  # without importing any of them
            formatter.write_dl(list(SHORT.items()))


@click.command(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]},
               epilog="lowdim FILE is the same as lowdim report FILE.")
@click.version_option(__version__, prog_name="lowdim")
def commands() -> None:
    """What is this table really made of?"""


def main() -> None:
    """Run the command; what goes wrong is a message and an exit code, never a traceback (unless --debug)."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of the command with these arguments."""
    from lowdim.cli.common import Done, complain
    from lowdim.messages import LowdimError, LowdimWarning

    debug = "--debug" in arguments
    arguments = [a for a in arguments if a != "--debug"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=LowdimWarning)
        warnings.showwarning = lambda text, *rest, **more: complain(str(text))
        try:
            commands.main(args=arguments, prog_name="lowdim", standalone_mode=False)
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
        except LowdimError as problem:
            if debug:
                raise
            from lowdim.data.flags import exit_code

            complain(str(problem))
            return exit_code(problem)
        except Exception as problem:
            if debug:
                raise
            complain(f"lowdim met an error it does not know: {type(problem).__name__}: {problem}\n"
                     "  fix     run again with --debug and report what it prints")
            return 1
    return 0
