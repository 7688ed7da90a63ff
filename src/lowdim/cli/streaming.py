"""--stream: files larger than memory, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.output import show_messages
from lowdim.table.options import OPTIONS, check_options, flag_of

if TYPE_CHECKING:
    from lowdim.engine.fold import Run
    from lowdim.jobs.analysis import Analysis, Settings
    from lowdim.jobs.stream import DrawnRows

STREAM_FLAGS = ("stream", "checkpoint")  # that make a stream, beside the options of reading that it honours


def honoured(name: str) -> bool:
    """Whether a stream honours an option."""
    return name in STREAM_FLAGS or OPTIONS[name].streams


def streamed(options: dict[str, Any], stream: bool, checkpoint: str | None = None) -> dict[str, Any]:
    """The options of reading, marked as those of a stream; what a stream cannot honour is refused by name."""
    from lowdim.text.messages import error

    if not stream:
        if checkpoint is not None:
            raise click.UsageError("--checkpoint is for --stream: a table in memory takes seconds")
        return options
    for name, value in options.items():
        if not honoured(name) and not (name == "inf" and value == "error"):
            flag = next((switch.flag for switch in OPTIONS[name].switches if switch.value == value), flag_of(name))
            raise error("LD175", flag=flag, instead=OPTIONS[name].instead)
    return {**options, "stream": True, **({"checkpoint": checkpoint} if checkpoint else {})}


def run_of(options: dict[str, Any]) -> Run:
    """How to run: the limit of memory, and where passes are kept."""
    from lowdim.engine.fold import Run

    return Run(memory=check_options({"memory": options.get("memory")}).memory, checkpoint=options.get("checkpoint"))


def drawn_from(file: str, options: dict[str, Any], seed: int) -> DrawnRows:
    """The file and the rows drawn from it, with what there is to say about them."""
    from lowdim.jobs.stream import DRAWN_ROWS, draw

    reading = check_options({key: value for key, value in options.items() if key not in STREAM_FLAGS})
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


def analysis_of_file(file: str, options: dict[str, Any], settings: Settings) -> Analysis:
    """The analysis of a streamed file, of which no part is made yet."""
    from lowdim.jobs.stream import analysis_of_stream

    return analysis_of_stream(drawn_from(file, options, settings.seed), settings, run_of(options))


@contextmanager
def or_stream(options: dict[str, Any]) -> Iterator[None]:
    """Where a table does not fit into memory, the same command with --stream is the first thing to try."""
    from lowdim.text.errors import BudgetError
    from lowdim.text.fix import Fix
    from lowdim.text.messages import Message

    try:
        yield
    except BudgetError as problem:
        m = problem.message
        streams = any(option.name == "stream" for option in click.get_current_context().command.params)
        possible = streams and "stream" not in options and all(map(honoured, options))
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

    from lowdim.cli.main_job import command_line
    from lowdim.jobs.stream import affordable, open_whole
    from lowdim.text.errors import BudgetError
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
