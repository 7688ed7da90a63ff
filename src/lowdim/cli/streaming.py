"""plan, and --stream: files larger than memory, a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.common import common_options, hear, print_json, say, stem

if TYPE_CHECKING:
    from lowdim.cli.main_job import Asked
    from lowdim.engine.fold import Run
    from lowdim.jobs.analysis import Analysis
    from lowdim.jobs.large import Drawn, Filled

KNOWN = ("columns", "drop", "weight", "scale", "sample", "memory", "stream", "checkpoint")  # that a stream honours
SPOKEN = (
    "label",
    "id",
    "time",
    "number",
    "sep",
    "decimal",
    "encoding",
    "header",
    "names",
    "sheet",
    "keep_copies",
    "strict",
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
STREAM = click.option("--stream", is_flag=True, help="Read FILE a block at a time, for files larger than memory.")
CHECKPOINT = click.option(
    "--checkpoint",
    metavar="DIR",
    help="With --stream: keep each pass in this folder, and go on from there after a crash.",
)


def streamed(options: dict[str, Any], stream: bool, checkpoint: str | None = None) -> dict[str, Any]:
    """The options of reading, marked as those of a stream; what a stream cannot honour is refused by name."""
    from lowdim.text.messages import error

    if not stream:
        if checkpoint is not None:
            raise click.UsageError("--checkpoint is for --stream: a table in memory takes seconds")
        return options
    for name, value in options.items():
        if name not in KNOWN and not (name == "inf" and value == "error"):
            flag = "--no-header" if name == "header" and value is False else f"--{name.replace('_', '-')}"
            raise error("LD175", flag=flag, instead=INSTEAD.get(name, "change the file first"))
    return {**options, "stream": True, **({"checkpoint": checkpoint} if checkpoint else {})}


def run_of(options: dict[str, Any]) -> Run:
    """How to run: the limit of memory, and where passes are kept."""
    from lowdim.engine.fold import Run
    from lowdim.table.options import check_options

    return Run(memory=check_options({"memory": options.get("memory")}).memory, checkpoint=options.get("checkpoint"))


def drawn_from(file: str, options: dict[str, Any], seed: int) -> Drawn:
    """The file and the rows drawn from it, with what there is to say about them."""
    from lowdim.jobs.large import SAMPLE, draw
    from lowdim.table.options import check_options

    how = check_options({key: value for key, value in options.items() if key not in ("stream", "checkpoint")})
    found = draw(
        file,
        sample=how.sample or SAMPLE,
        random_state=seed,
        columns=how.columns,
        drop=how.drop,
        weight=how.weight,
        scale=how.scale,
        run=run_of(options),
    )
    hear(found.table.messages)
    return found


def analysis_of(asked: Asked) -> Callable[..., Analysis]:
    """The analysis of a streamed file, as `analyse` is that of a table."""
    from functools import partial

    from lowdim.jobs.large import analyse_stream

    drawn = drawn_from(asked.file, asked.options, asked.seed)
    return partial(analyse_stream, drawn, scale=drawn.table.scale, run=run_of(asked.options))


@contextmanager
def or_stream(options: dict[str, Any]) -> Iterator[None]:
    """Where a table does not fit into memory, the same command with --stream is the first thing to try."""
    from lowdim.text.messages import BudgetError, Message

    try:
        yield
    except BudgetError as problem:
        m = problem.message
        possible = "stream" not in options and set(options) <= set(KNOWN)
        command = instead(options) if possible and problem.code == "LD170" else ""
        if not command or not isinstance(m, Message):
            raise
        raise type(problem)(m._replace(fix=f"read it a block at a time:  {command}\n{m.fix}")) from None


def instead(options: dict[str, Any]) -> str:
    """The command as it was given, with --stream; nothing where the file cannot be streamed.

    A limit of memory that is too low for a stream too is left out.
    """
    import shlex
    import warnings

    from lowdim.cli.main_job import command_line
    from lowdim.jobs.large import affordable, open_whole
    from lowdim.text.messages import BudgetError, LowdimError

    given = click.get_current_context().params
    words = shlex.split(command_line())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            affordable(open_whole(given.get("new") or given["file"]), run_of(options))
    except BudgetError:
        words = [w for k, w in enumerate(words) if not (w.startswith("--memory") or words[k - 1] == "--memory")]
    except LowdimError:
        return ""
    return shlex.join([*words, "--stream"])


# fill ---------------------------------------------------------------------------------------------------
def fill_file(
    file: str, out: str, options: dict[str, Any], *, intervals: bool, level: float, seed: int, as_json: bool
) -> None:
    """Fill a file by a model of all its rows."""
    from lowdim.cli.progress import Stages
    from lowdim.jobs.large import fill_stream
    from lowdim.judge.rows.odd_rows import check_level
    from lowdim.sources.sinks import as_sink

    check_level(level)
    as_sink(out, 1)  # refuses an ending that no format has, before any work
    with Stages(_quiet()) as stages:
        drawn = drawn_from(file, options, seed)
        stages("read", f"{drawn.table.n:,} of {drawn.whole.n:,} rows drawn")
        stages.now = "fills"
        found = fill_stream(drawn, out, level=level, random_state=seed, intervals=intervals, run=run_of(options))
        stages("fills", f"{found.total:,} gaps")
    if as_json:
        print_json(
            sentence=_fill_sentence(found, drawn),
            columns=list(found.rated.columns),
            gaps=found.gaps,
            left=found.left,
            dims=int(found.model.n_components_),
            rows=found.rows,
            drawn=drawn.table.n,
            wrote=list(found.wrote),
            level=level,
            converged=bool(found.model.converged_),
        )
        return
    say(
        "\n".join(
            [
                _fill_sentence(found, drawn),
                *_fill_table(found),
                "Wrote " + ", ".join(found.wrote),
                f"Do not analyse {out} as if it had been measured." if found.total else "",
            ]
        ).rstrip()
    )


def _fill_sentence(found: Filled, drawn: Drawn) -> str:
    from lowdim.text.format import count

    q, many = int(found.model.n_components_), drawn.table.n
    if not found.total:
        return f"No gaps in {found.rows:,} rows."
    whole = "all rows" if drawn.of is None else f"all {found.rows:,} rows"
    return (
        f"{found.total:,} gaps filled by a model of {whole} with {count(q, 'dimension')}; skill and intervals come "
        f"from cells hidden on purpose in {many:,} rows{' drawn at random' if drawn.of else ''}."
    )


def _fill_table(found: Filled) -> list[str]:
    some = sorted((c for c in found.rated.columns if found.gaps[c.column]), key=lambda c: -c.skill)
    if not found.total:
        return []
    wide, held = max([6, *(len(c.column) for c in some)]), f"{100 * found.rated.level:.3g}% intervals held"
    lines = [f"  {'column':<{wide}}  {'gaps':>10}  skill*  {held}   advice"]
    for c in some:
        share = f"{c.held} of {c.tried}"
        lines.append(
            f"  {c.column:<{wide}}  {found.gaps[c.column]:>10,}  {c.skill:>6.2f}  {share:>{len(held)}}   {c.advice}"
        )
    lines.append(
        "  * share of the column's variance predicted for cells hidden on purpose. 0 = no better than the mean."
    )
    return lines + [
        f"Left as they are, being no part of the model: {many:,} gaps in {name}." for name, many in found.left.items()
    ]


# apply --------------------------------------------------------------------------------------------------
def place_file(run: str, new: str, out: str | None, options: dict[str, Any], *, as_json: bool) -> None:
    """Place every row of a file on the map of a run."""
    from lowdim.cli.progress import Stages
    from lowdim.jobs.large import new_rows, place_stream
    from lowdim.jobs.run_folder import load_run
    from lowdim.text.messages import error

    opened = load_run(run)
    for name in opened.options:
        if name not in (*KNOWN, *SPOKEN):
            raise error(
                "LD175",
                f"the run {run}",
                flag=f"--{name.replace('_', '-')}",
                instead=INSTEAD.get(name, "change the file first"),
            )
    for name in options:
        if name not in ("stream", "memory", "scale"):
            raise error("LD175", flag=f"--{name.replace('_', '-')}", instead="the columns are those of the run")
    out = out or f"{stem(new)}.scores.parquet"
    with Stages(_quiet()) as stages:
        source = new_rows(new, opened.model, opened.names)
        stages.now = "rows"
        found = place_stream(opened.model, source, out, run=run_of(options))
        stages("rows", f"{found.rows:,} placed")
    if as_json:
        print_json(
            sentence=found.sentence,
            rows=found.rows,
            gaps=found.gaps,
            below=found.below,
            outside=found.outside,
            level=found.level,
            odd=list(found.odd),
            wrote=[found.wrote],
        )
    else:
        say(f"{found.sentence} Scores in {found.wrote}")


def _quiet() -> bool:
    from lowdim.cli.common import said

    return said().quiet


# plan ---------------------------------------------------------------------------------------------------
@click.command("plan")
@click.argument("file")
@click.option("--dims", type=click.IntRange(0), metavar="K", help="How many dimensions [default: 10].")
@click.option(
    "--method", type=click.Choice(["ppca", "pca", "fa"]), default="ppca", show_default=True, help="Which model."
)
@click.option("--memory", metavar="TEXT", help="Memory to use, e.g. 2GB [default: what is free].")
@common_options
def plan_command(file: str, dims: int | None, method: str, memory: str | None, quiet: bool, as_json: bool) -> None:
    """What a fit to FILE will take: passes, bytes, seconds and memory, before anything runs."""
    from lowdim.jobs.forecast import forecast
    from lowdim.table.options import check_options
    from lowdim.text.escape import protect_terminal, shell_word

    found = forecast(file, method=method, dims=dims, memory=check_options({"memory": memory}).memory)
    if as_json:
        print_json(**found._asdict(), seconds=found.seconds, fits=found.fits)
        return
    say(found.text())
    if found.fits and method == "ppca":
        dash = "./" if Path(file).name == file and file.startswith("-") else ""
        limit = f" --memory {memory}" if memory else ""
        say(f"Run it:  lowdim report {shell_word(protect_terminal(dash + file))} --stream{limit}")
