"""fill: the gaps of a table, with intervals; everything else is written back as it came."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.entry import command
from lowdim.cli.main_job import command_line, open_table
from lowdim.cli.options import CHECKPOINT, FILL_BUDGET, LEVEL, SEED, STREAM, asking, stem
from lowdim.cli.output import message_log, print_json, say, show, show_messages
from lowdim.cli.progress import Stages
from lowdim.cli.streaming import drawn_from, or_stream, run_of

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Settings
    from lowdim.judge.fills.result import Fills
    from lowdim.judge.fills.write import FillWriter
    from lowdim.table.table import Table


@command("Fill the gaps, with intervals.", example="lowdim fill table.csv -o filled.csv --intervals", rank=4)
@click.option("-o", "--out", required=True, help="File for the filled table: CSV, or as FILE is.")
@click.option(
    "--intervals",
    is_flag=True,
    help="Also write OUT.lower.csv, OUT.upper.csv and OUT.mask.csv; of labels, which have no interval, and of levels "
    "OUT.probability.csv.",
)
@click.option(
    "--multiple",
    type=click.IntRange(0, 1000),
    default=0,
    metavar="M",
    help="Write M tables drawn jointly, for statistics.",
)
@asking(LEVEL, SEED, FILL_BUDGET, STREAM, CHECKPOINT)
def fill_command(
    file: str, options: dict[str, Any], settings: Settings, as_json: bool, out: str, intervals: bool, multiple: int
) -> None:
    """Fill the gaps of a table, with intervals checked on cells hidden on purpose.

    A stack of engines fills numbers: a linear model, nearest rows, mixtures of groups, chained trees, a latent model
    with a likelihood for each column, weighted by how well each predicts the hidden cells. Gaps in columns of words get
    their most likely label.

    OUT has every column of FILE in its place, and every cell that was seen as it stood. With --stream it has the
    columns of numbers, as .parquet, .csv, .npy or .zarr.
    """
    from lowdim.judge.fills.write import FillWriter, check_other_file, check_text_file, filled_aside, left_words
    from lowdim.table.options import check_options
    from lowdim.table.read import load_raw
    from lowdim.table.write_back import original
    from lowdim.text.messages import check_level, error

    check_other_file(file, out)
    if options.get("stream"):
        if multiple:
            raise error("LD175", flag="--multiple", instead="draw tables from a sample of rows in memory")
        return fill_file(file, options, settings, out, intervals=intervals, as_json=as_json)
    check_text_file(out)
    check_level(settings.level)
    with or_stream(options):
        raw = load_raw(file, check_options(options))
        table = open_table(raw, {**options, "labelled_rows": True})
    to = FillWriter(table, original(raw, options), Path(out))
    if (table.X != table.X).any() or filled_aside(table):
        lines, facts, wrote = filled_gaps(file, to, settings, intervals, multiple)
    else:
        lines, facts, wrote = kept_as_it_is(file, to, intervals, multiple)
    left = left_words(table)
    if as_json:
        print_json(**facts, wrote=[str(path) for path in wrote], level=settings.level, left=left)
    else:
        *said, last = lines
        say("\n".join(filter(None, [*said, *left, "Wrote " + ", ".join(map(str, wrote)), last])))


Filled = tuple[list[str], dict[str, Any], list[Path]]  # what is said, the same as facts, and the files


def kept_as_it_is(file: str, to: FillWriter, intervals: bool, multiple: int) -> Filled:
    """A table without gaps is written as it came."""
    from lowdim.judge.fills.result import NO_GAPS

    wrote, out = to.write_same(intervals, multiple), str(to.out)
    same = to.out.read_bytes() == Path(file).read_bytes()
    last = f"{out} is {file} as it came." if same else f"{out} has every cell of {file}, written anew."
    return [NO_GAPS, last], {"sentence": NO_GAPS, "columns": []}, wrote


def filled_gaps(file: str, to: FillWriter, settings: Settings, intervals: bool, multiple: int) -> Filled:
    """Fill a table and write it back."""
    from lowdim.judge.fills.fill import fill
    from lowdim.judge.gaps import gap_report

    table, dims = to.table, map_dims(to.table, file)
    fills = fill(table, level=settings.level, random_state=settings.seed, budget=settings.budget)
    show_messages(gap_report(table.X, table.names, table.code_labels).notes())
    wrote = to.write_fills(fills, intervals, multiple, settings.seed)
    measured = f"Do not analyse {to.out} as if it had been measured. For statistics use --multiple 20."
    return [*fill_lines(table, fills, dims), "" if multiple else measured], fills.facts(dims), wrote


def fill_lines(table: Table, fills: Fills, dims: int | None) -> list[str]:
    """The table of fills, and what to paste where a logarithm may serve better."""
    from lowdim.text.escape import join_names

    logged = {c.name for c in table.columns if c.role == "number" and c.log}
    lines = [fills.text(map_dims=dims, logged=logged)]
    if log := fills.to_log(logged):
        lines.append(f"As logarithms:  {command_line()} --log {join_names(log)}")
    if logged:
        lines.append(
            f"Fills of {', '.join(sorted(logged))} were made as logarithms; they are in the column's own unit."
        )
    return lines


def map_dims(table: Table, file: str) -> int | None:
    """The dimensions of the map of the same table, where its run stands beside us."""
    from lowdim.jobs.run_folder import load_run
    from lowdim.text.messages import LowdimError

    try:
        facts = load_run(f"{stem(file)}.run").facts
    except LowdimError:
        return None
    dims = facts.get("dims")
    return int(dims) if facts["table"].get("sha256") == table.sha256 and isinstance(dims, int) else None


# a file larger than memory ----------------------------------------------------------------------------
def fill_file(
    file: str, options: dict[str, Any], settings: Settings, out: str, *, intervals: bool, as_json: bool
) -> None:
    """Fill a file by a model of all its rows."""
    from lowdim.jobs.stream import fill_stream
    from lowdim.sources.sinks import as_sink
    from lowdim.text.messages import check_level

    level, seed = settings.level, settings.seed
    check_level(level)
    as_sink(out, 1)  # refuses an ending that no format has, before any work
    with Stages(message_log().quiet) as stages:
        drawn = drawn_from(file, options, seed)
        stages("read", f"{drawn.table.n:,} of {drawn.whole.n:,} rows drawn")
        stages.now = "fills"
        filled = fill_stream(drawn, out, level=level, random_state=seed, intervals=intervals, run=run_of(options))
        stages("fills", f"{filled.total:,} gaps")
    warning = f"\nDo not analyse {out} as if it had been measured." if filled.total else ""
    show(as_json, f"{filled.text()}\nWrote {', '.join(filled.wrote)}{warning}", **filled.facts())
