"""apply: new rows on the map of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.command import command
from lowdim.cli.new_rows import MIXED, placed, read_as
from lowdim.cli.options import STREAM, reading, stem, table_options
from lowdim.cli.progress import Stages
from lowdim.cli.say import message_log, print_json, say, show_messages
from lowdim.cli.streaming import honoured, or_stream, run_of, streamed
from lowdim.table.options import OPTIONS, flag_of

if TYPE_CHECKING:
    from lowdim.jobs.large import PlacedStream
    from lowdim.jobs.run_folder import SavedRun

BY_PIECES = ("encode", "na", "log", "no_log", "inf", "below_limit")  # options that a piece of a file can be read by


@command(
    "Place new rows on an old map.",
    example="lowdim apply table.run new.csv",
    rank=9,
)
@click.argument("run")
@click.argument("new")
@click.option("-o", "--out", help="CSV file for the positions [default: NAME.scores.csv].")
@STREAM
@table_options
def apply_command(run: str, new: str, out: str | None, stream: bool, quiet: bool, as_json: bool, **flags: Any) -> None:
    """Place the rows of NEW on the map of a run: positions, ellipses, distances, fills.

    With --stream OUT may be .parquet (the default), .csv, .npy or .zarr, and gaps are not filled.
    """
    from lowdim.jobs.run_folder import load_run, write
    from lowdim.jobs.run_tables import placed_fills, placed_table

    opened = load_run(run)
    if opened.method not in (None, MIXED):
        return apply_one(opened, new, out, flags, as_json=as_json)
    if stream and opened.method is None:
        return place_file(run, new, out, streamed(reading(flags), stream), as_json=as_json)
    with or_stream(reading(dict(flags))):
        opened, rows = placed(run, new, flags)
    path = write(out or f"{stem(new)}.scores.csv", placed_table(rows, density=opened.method == MIXED))
    wrote = [path]
    if (rows.X != rows.X).any():
        name = path.name.removesuffix(".csv").removesuffix(".scores")
        wrote.append(write(path.with_name(f"{name}.fills.csv"), placed_fills(rows, rows.columns)))
    if as_json:
        print_json(
            sentence=rows.sentence,
            rows=list(rows.row_names),
            scores=rows.scores,
            std=rows.posterior.std,
            larger=rows.larger,
            odd=list(rows.odd.rows),
            wrote=[str(p) for p in wrote],
            level=rows.level,
            calibrated=rows.calibrated,
            fills_from=rows.own_model,
        )
    else:
        say(f"{rows.sentence} Scores in {wrote[0]}" + (f", fills in {wrote[1]}" if wrote[1:] else ""))
        say(rows.own_model) if wrote[1:] else None
    return None


def apply_one(run: SavedRun, new: str, out: str | None, flags: dict[str, Any], *, as_json: bool) -> None:
    """New rows as the one model of a run sees them."""
    from lowdim.jobs.one_model import place_fitted
    from lowdim.jobs.run_folder import write

    names, places, notes = place_fitted(run, new, **{**read_as(run), **reading(flags)})
    show_messages(notes)
    path = write(out or f"{stem(new)}.scores.csv", places.lines(names))
    if as_json:
        print_json(
            rows=list(names),
            scores=places.z,
            std=places.sd,
            cluster=places.cluster,
            log_density=places.density,
            wrote=[str(path)],
        )
    else:
        say(f"{len(names)} row{'' if len(names) == 1 else 's'} placed: {places.words}. Scores in {path}")


def place_file(run: str, new: str, out: str | None, options: dict[str, Any], *, as_json: bool) -> None:
    """Place every row of a file on the map of a run."""
    from lowdim.jobs.run_folder import load_run

    opened = load_run(run)
    check_streamed(opened, run, options)
    with Stages(message_log().quiet) as stages:
        stages.now = "rows"
        rows = placed_file(opened, new, out or f"{stem(new)}.scores.parquet", options)
        stages("rows", f"{rows.rows:,} placed")
    if as_json:
        print_json(
            sentence=rows.sentence,
            rows=rows.rows,
            gaps=rows.gaps,
            below=rows.below,
            outside=rows.outside,
            level=rows.odd_level,
            odd=list(rows.odd),
            wrote=[rows.wrote],
        )
    else:
        say(f"{rows.sentence} Scores in {rows.wrote}")


def check_streamed(opened: SavedRun, run: str, options: dict[str, Any]) -> None:
    """Refuse what cannot be done to rows that are read a block at a time."""
    from lowdim.text.messages import error

    for name in opened.options:
        by_pieces = name in BY_PIECES and opened.facts.get("mixed")
        if not (honoured(name) or OPTIONS[name].of_file or by_pieces):
            raise error("LD175", f"the run {run}", flag=flag_of(name), instead=OPTIONS[name].instead)
    for name in options:
        if name not in ("stream", "memory", "scale"):
            raise error("LD175", flag=flag_of(name), instead="the columns are those of the run")


def placed_file(opened: SavedRun, new: str, out: str, options: dict[str, Any]) -> PlacedStream:
    """The rows of a file on the map of a run, a block at a time."""
    from lowdim.jobs.large import new_rows, place_answers, place_stream
    from lowdim.judge.mixed.answer_map import table_map

    law = opened.law_of_new_rows
    if opened.facts.get("mixed"):
        map = table_map(opened.model, opened.names, opened.scales)
        known = dict(zip(opened.names, opened.code_labels, strict=True))
        return place_answers(map, known, new, out, law=law, **read_as(opened))
    source = new_rows(new, opened.model, opened.names)
    return place_stream(opened.model, source, out, law=law, run=run_of(options))
