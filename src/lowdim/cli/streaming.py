"""--stream: files larger than memory, a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.say import show_messages

if TYPE_CHECKING:
    from lowdim.cli.options import Request
    from lowdim.engine.fold import Run
    from lowdim.jobs.analysis import Analysis
    from lowdim.jobs.large import DrawnRows

STREAM_OPTIONS = (
    "columns",
    "drop",
    "weight",
    "scale",
    "sample",
    "memory",
    "stream",
    "checkpoint",
)  # that a stream honours
READING_OPTIONS = (
    "label",
    "id",
    "time",
    "use",
    "sep",
    "decimal",
    "encoding",
    "header",
    "names",
    "sheet",
    "keep_copies",
    "labelled_rows",
    "strict",
    "no_log",
)  # how a run's table was read: of no meaning for the numbers of another file
INSTEAD = {
    "log": "write the logarithms into the file first",
    "encode": "write the labels as zeros and ones first",
    "na": "write these cells as empty first",
    "inf": "write these cells as empty first",
    "below_limit": "write these cells as numbers first",
    "transpose": "write the table the other way round first",
    "sheet": "save the sheet as CSV or Parquet first",
    "multiple": "draw tables from a sample of rows in memory",
    "strict": "look at the messages on stderr, or at --json",
}


def streamed(options: dict[str, Any], stream: bool, checkpoint: str | None = None) -> dict[str, Any]:
    """The options of reading, marked as those of a stream; what a stream cannot honour is refused by name."""
    from lowdim.text.messages import error

    if not stream:
        if checkpoint is not None:
            raise click.UsageError("--checkpoint is for --stream: a table in memory takes seconds")
        return options
    for name, value in options.items():
        if name not in STREAM_OPTIONS and not (name == "inf" and value == "error"):
            flag = "--no-header" if name == "header" and value is False else f"--{name.replace('_', '-')}"
            raise error("LD175", flag=flag, instead=INSTEAD.get(name, "change the file first"))
    return {**options, "stream": True, **({"checkpoint": checkpoint} if checkpoint else {})}


def run_of(options: dict[str, Any]) -> Run:
    """How to run: the limit of memory, and where passes are kept."""
    from lowdim.engine.fold import Run
    from lowdim.table.options import check_options

    return Run(memory=check_options({"memory": options.get("memory")}).memory, checkpoint=options.get("checkpoint"))


def drawn_from(file: str, options: dict[str, Any], seed: int) -> DrawnRows:
    """The file and the rows drawn from it, with what there is to say about them."""
    from lowdim.jobs.large import DRAWN_ROWS, draw
    from lowdim.table.options import check_options

    reading = check_options({key: value for key, value in options.items() if key not in ("stream", "checkpoint")})
    drawn = draw(
        file,
        sample=reading.sample or DRAWN_ROWS,
        random_state=seed,
        columns=reading.columns,
        drop=reading.drop,
        weight=reading.weight,
        scale=reading.scale,
        run=run_of(options),
    )
    show_messages(drawn.table.messages)
    return drawn


def analysis_of(request: Request) -> Callable[..., Analysis]:
    """The analysis of a streamed file, as `analyse` is that of a table."""
    from functools import partial

    from lowdim.jobs.large import analyse_stream

    drawn = drawn_from(request.file, request.options, request.seed)
    how = run_of(request.options)
    return partial(analyse_stream, drawn, scale=drawn.table.scale, rotate=request.rotate, run=how)


@contextmanager
def or_stream(options: dict[str, Any]) -> Iterator[None]:
    """Where a table does not fit into memory, the same command with --stream is the first thing to try."""
    from lowdim.text.fix import Fix
    from lowdim.text.kinds import BudgetError
    from lowdim.text.messages import Message

    try:
        yield
    except BudgetError as problem:
        m = problem.message
        possible = "stream" not in options and set(options) <= set(STREAM_OPTIONS)
        command = instead(options) if possible and problem.code == "LD170" else ""
        if not command or not isinstance(m, Message):
            raise
        raise type(problem)(m._replace(fix=Fix(f"read it a block at a time:  {command}\n", *m.fix.parts))) from None


def instead(options: dict[str, Any]) -> str:
    """The command as it was given, with --stream; nothing where the file cannot be streamed.

    A limit of memory that is too low for a stream too is left out.
    """
    import shlex
    import warnings

    from lowdim.cli.analysing import command_line
    from lowdim.jobs.large import affordable, open_whole
    from lowdim.text.kinds import BudgetError
    from lowdim.text.messages import LowdimError

    flags = click.get_current_context().params
    words = shlex.split(command_line())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            affordable(open_whole(flags.get("new") or flags["file"]), run_of(options))
    except BudgetError:
        words = [w for k, w in enumerate(words) if not (w.startswith("--memory") or words[k - 1] == "--memory")]
    except LowdimError:
        return ""
    return shlex.join([*words, "--stream"])
