"""The command `lowdim` from its arguments to its exit code."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

import click

from lowdim.cli.group import commands, in_order
from lowdim.jobs.process import seldom_collected

if TYPE_CHECKING:
    from lowdim.cli.output import MessageLog

OUR_FAULT = 70  # EX_SOFTWARE of sysexits.h


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
    if isinstance(problem, BrokenPipeError):
        return _closed()
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


def _closed() -> int:
    """Whoever read our output has closed it; the interpreter must not complain at its end."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
