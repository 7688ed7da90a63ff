"""apply: new rows on the map of a run."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.entry import command
from lowdim.cli.options import STREAM, reading, stem, table_options
from lowdim.cli.output import message_log, show, show_messages
from lowdim.cli.progress import Stages
from lowdim.cli.streaming import honoured, or_stream, run_of, streamed
from lowdim.table.options import OPTIONS, flag_of

if TYPE_CHECKING:
    from lowdim.jobs.run_folder import SavedRun
    from lowdim.jobs.stream import PlacedStream
    from lowdim.judge.maps.table_map import TableMap


@command("Place new rows on an old map.", example="lowdim apply table.run new.csv", rank=9)
@click.argument("run")
@click.argument("new")
@click.option("-o", "--out", help="CSV file for the positions [default: NAME.scores.csv].")
@STREAM
@table_options
def apply_command(run: str, new: str, out: str | None, stream: bool, quiet: bool, as_json: bool, **flags: Any) -> None:
    """Place the rows of NEW on the map of a run: positions, ellipses, distances, fills.

    With --stream OUT may be .parquet (the default), .csv, .npy or .zarr, and gaps are not filled.
    """
    from lowdim.jobs.apply import place_run
    from lowdim.jobs.run_folder import load_run, write
    from lowdim.jobs.run_tables import placed_fills

    opened = load_run(run)
    map = opened.map
    streams = map is not None and map.cells.judges_rows and not (map.has_answers or any(opened.code_labels))
    if stream:
        if map is None or not streams:
            why = "has labels" if map is not None and map.cells.judges_rows else "has no law of rows' distances"
            raise click.UsageError(f"--stream places numbers, and the map of {run} {why}: leave it out")
        options = streamed(reading(flags), stream)
        rows = place_file(opened, map, new, out or f"{stem(new)}.scores.parquet", options)
        return show(as_json, f"{rows.sentence} Scores in {rows.wrote}", **rows.facts(), wrote=[rows.wrote])
    options = reading(flags)
    with or_stream(options) if streams else nullcontext():
        found = place_run(opened, new, **options)
    show_messages(found.messages)
    path = write(out or f"{stem(new)}.scores.csv", found.places.lines(found.row_names, found.odd))
    wrote = [path]
    if found.gaps and found.level is not None:
        name = path.name.removesuffix(".csv").removesuffix(".scores")
        wrote.append(write(path.with_name(f"{name}.fills.csv"), placed_fills(found)))
    fills = f", fills in {wrote[1]}\n{found.own_model}" if wrote[1:] else ""
    return show(
        as_json, f"{found.sentence} Scores in {wrote[0]}{fills}", **found.facts(), wrote=[str(p) for p in wrote]
    )


def place_file(opened: SavedRun, map: TableMap, new: str, out: str, options: dict[str, Any]) -> PlacedStream:
    """Place every row of a file on the map of a run, a block at a time."""
    from lowdim.jobs.stream import place_stream

    check_streamed(opened, options)
    with Stages(message_log().quiet) as stages:
        stages.now = "rows"
        rows = place_stream(map, new, out, law=opened.law_of_new_rows, run=run_of(options))
        stages("rows", f"{rows.rows:,} placed")
    return rows


def check_streamed(opened: SavedRun, options: dict[str, Any]) -> None:
    """Refuse what cannot be done to rows that are read a block at a time."""
    from lowdim.text.messages import error

    for name in opened.options:
        if not (honoured(name) or OPTIONS[name].of_file):
            raise error("LD175", f"the run {opened.folder}", flag=flag_of(name), instead=OPTIONS[name].instead)
    for name in options:
        if name not in ("stream", "memory", "scale"):
            raise error("LD175", flag=flag_of(name), instead="the columns are those of the run")
