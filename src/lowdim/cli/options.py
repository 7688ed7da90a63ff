"""The options that commands share, as click options and as what the library takes; rows by name or number."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.text.escape import protect_terminal

if TYPE_CHECKING:
    from lowdim.table.table import Table


def parse_dims(context: click.Context, option: click.Parameter, dims: str) -> int | str:
    """The --dims option as `analyse` wants it."""
    if dims == "auto":
        return dims
    if not dims.isdigit():
        raise click.BadParameter(f"'{dims}' is neither auto nor a whole number")
    return int(dims)


def parse_settings(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """The --set options as keywords: NAME=VALUE, values as numbers, truth values, none, lists with commas, or text."""
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier():
            raise click.BadParameter(f"'{text}' is not NAME=VALUE")
        if name in found:
            raise click.BadParameter(f"{name} is given twice; several values have commas between")
        found[name] = read_value(value)
    return found


def read_value(text: str) -> Any:
    """A value as a person types it.

    >>> [read_value(text) for text in ("12", "0.5", "true", "none", "20,10", "rbf")]
    [12, 0.5, True, None, (20, 10), 'rbf']
    """
    if "," in text:
        return tuple(read_value(part) for part in text.split(",") if part)
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


SETTINGS = click.option(
    "--set",
    "own",
    multiple=True,
    metavar="NAME=VALUE",
    callback=parse_settings,
    help="With --method: an option of the model, e.g. n_neighbors=12; with -m mixed also "
    "likelihoods=visits:count,ldh:positive; may be repeated.",
)
DIMS = click.option("--dims", default="auto", metavar="K", callback=parse_dims, help="auto, or how many dimensions.")
LEVEL = click.option("--level", default=0.9, show_default=True, help="Level of the intervals.")
SEED = click.option("--seed", default=0, show_default=True, help="Seed of everything that is drawn.")
ROBUST = click.option(
    "--not-robust",
    "robust",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Hold no cells or rows out of the fit, whatever they contradict.",
)
BUDGET = click.option(
    "--budget",
    metavar="TIME",
    help="About how long, e.g. 30s: sets how often the slow parts "
    "repeat, from the table's size and never from the clock [default: at most 1m].",
)
FILL_BUDGET = click.option(
    "--budget",
    metavar="TIME",
    help="About how long engines beside the linear model may take [default: 0.1s a gap, 2s to 40s]: forecast from the "
    "table's size, never from the clock.",
)
STREAM = click.option("--stream", is_flag=True, help="Read FILE a block at a time, for files larger than memory.")
CHECKPOINT = click.option(
    "--checkpoint",
    metavar="DIR",
    help="With --stream: keep each pass in this folder, and go on from there after a crash.",
)


ROTATE = click.option(
    "--rotate",
    type=click.Choice(["varimax", "quartimax"]),
    help="Turn the axes so that each column loads on few of them.",
)


NO_GROUPS = "lowdim.no_groups"  # what is remembered of a command line


def note_no_groups(context: click.Context, option: click.Parameter, asked: bool) -> None:
    """Remember --no-groups, which is read before --groups."""
    context.meta[NO_GROUPS] = asked


def parse_groups(context: click.Context, option: click.Parameter, groups: str) -> int | str:
    """The --groups option as `analyse` wants it."""
    if context.meta.get(NO_GROUPS):
        return 1
    if groups == "auto":
        return groups
    if not groups.isdigit() or int(groups) == 0:
        raise click.BadParameter(f"'{groups}' is neither auto nor a whole number from 1")
    return int(groups)


def group_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--groups and --no-groups, which is --groups 1."""
    several = click.option(
        "--groups",
        default="auto",
        metavar="K",
        callback=parse_groups,
        help="auto, or how many groups of rows.",
    )
    none = click.option(
        "--no-groups",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=note_no_groups,
        help="Look for no groups of rows.",
    )
    return several(none(command))


ASKED = ("dims", "level", "seed", "budget", "robust", "rotate", "groups")  # options that are settings of an analysis


READING = {  # what options of reading are about, as help has them
    "how it is written": ("sep", "decimal", "encoding", "header", "names", "sheet", "transpose", "spread"),
    "its cells": ("na", "inf", "below_limit", "ranges", "log", "no_log", "pairs"),
    "its columns": ("columns", "drop", "use", "label", "encode", "id", "time", "weight", "keep_copies"),
    "how much of it": ("scale", "sample", "memory", "strict"),
}


class ReadingOption(click.Option):
    """An option of reading a table, with what it is about."""

    def __init__(self, *words: Any, about: str, **facts: Any) -> None:
        super().__init__(*words, **facts)
        self.about = about


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Every option of reading a table, as flags, and those of every command."""
    from lowdim.table.options import OPTIONS, flag_of

    for about, name in reversed([(about, name) for about, names in READING.items() for name in names]):
        option, flag = OPTIONS[name], partial(click.option, cls=ReadingOption, about=about)
        if option.help:  # given twice, a list is added up
            words = flag_of(name), _keyword(flag_of(name))
            command = flag(*words, help=option.help, metavar="TEXT", multiple=True)(command)
        for switch in reversed(option.switches):
            command = flag(switch.flag, _keyword(switch.flag), is_flag=True, help=switch.help)(command)
    return common_options(command)


def _keyword(flag: str) -> str:
    """What a flag of reading is called among a command's arguments."""
    return f"read_{flag.strip('-').replace('-', '_')}"


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--quiet, --json and --debug; a file asked for in a folder that is not there is refused before any work."""
    command = before(command, check_folder)
    command = click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")(command)
    command = click.option("--quiet", is_flag=True, help="No progress and no notes on stderr.")(command)
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def before(command: Callable[..., Any], check: Callable[[Any], None]) -> Callable[..., Any]:
    """The command, after a look at its --out."""

    @wraps(command)
    def checked(*words: Any, **flags: Any) -> Any:
        check(flags.get("out"))
        return command(*words, **flags)

    return checked


def check_folder(out: str | None) -> None:
    """Refuse a file in a folder that does not exist; `fit` and `demo` make theirs."""
    from lowdim.text.messages import error

    if out is None or click.get_current_context().info_name in ("fit", "demo"):
        return
    path, folder = protect_terminal(out), Path(out).parent
    if not folder.is_dir():
        raise error(
            "LD304", path=path, problem=f"there is no folder '{protect_terminal(str(folder))}'", case="no folder"
        )


def reading(flags: dict[str, Any]) -> dict[str, Any]:
    """Take the reading options out of a command's arguments, as `read` wants them."""
    from lowdim.table.options import OPTIONS, add_value, flag_of

    options: dict[str, Any] = {}
    for name, option in OPTIONS.items():
        if option.help:
            for text in flags.pop(_keyword(flag_of(name)), ()):
                add_value(options, name, text)
        for switch in option.switches:
            if flags.pop(_keyword(switch.flag), False):
                options[name] = switch.value
    return options


def is_run(path: str) -> bool:
    """Whether this is a run folder; any other folder is read as a table, which says what is in it."""
    return (Path(path) / "run.json").is_file()


def stem(file: str) -> str:
    """The name a table's outputs share: next to where the command runs, not next to the table."""
    return Path(file).name.split(".")[0] or "table"


def asking(*options: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """FILE, how to read it (`options`), `as_json`, and what is asked of an analysis (`settings`), where these options
    of the command ask for anything."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def call(file: str, **flags: Any) -> Any:
            from lowdim.cli.streaming import streamed
            from lowdim.jobs.analysis import Settings
            from lowdim.text.format import parse_duration

            asked = {name: flags.pop(name) for name in ASKED if name in flags}
            if "budget" in asked:
                asked["budget"] = parse_duration(asked["budget"])
            stream, checkpoint = flags.pop("stream", False), flags.pop("checkpoint", None)
            flags.pop("quiet")
            if asked:
                flags["settings"] = Settings(**asked)
            read_as = streamed(reading(flags), stream, checkpoint)
            return command(file, read_as, **flags)

        wrapped: Callable[..., Any] = call
        for option in reversed(options):
            wrapped = option(wrapped)
        return click.argument("file")(table_options(wrapped))

    return decorate


def positions(table: Table, words: list[str], flag: str) -> list[int]:
    """Rows by name, else by number as the file counts them from 1."""
    by_name = {name: k for k, name in reversed(list(enumerate(table.row_names)))}
    by_name = {" ".join(name.split()): k for name, k in by_name.items()} | by_name  # no key types a no-break space
    by_number = {str(r + 1): k for k, r in enumerate(table.rows.tolist())}
    unknown = [word for word in words if word not in by_name and word not in by_number]
    if unknown and unknown[0].isdigit() and int(unknown[0]) - 1 in table.left_rows:
        from lowdim.judge.fills.write import NO_PLACE

        raise click.BadParameter(f"row {unknown[0]} {NO_PLACE}", param_hint=flag)
    if unknown:
        known = f"rows are counted from 1 to {table.shape[0]}"
        if "stream" in table.options:
            known = f"of a stream the {table.n:,} rows that were drawn are known, by their numbers in the file"
        named = "" if table.row_names[0].isdigit() and "stream" not in table.options else table.row_names[0]
        such = f"{',' if 'stream' in table.options else ' or named,'} such as '{named}'" if named else ""
        raise click.BadParameter(f"there is no row '{unknown[0][:40]}'; {known}{such}", param_hint=flag)
    return [by_name.get(word, by_number.get(word, 0)) for word in words]
