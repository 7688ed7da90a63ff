"""odd, explain, apply, monitor: single rows, old and new."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.common import common_options, hear, is_run, open_table, print_json, reading, say, stem, table_options
from lowdim.cli.main_job import DIMS, SEED
from lowdim.cli.streaming import STREAM, or_stream, place_file, streamed

if TYPE_CHECKING:
    from lowdim.jobs.apply import Placed
    from lowdim.jobs.run_folder import SavedRun
    from lowdim.models.linear.linear_gaussian import ProbabilisticPCA
    from lowdim.sources.arrays import ArraySource
    from lowdim.table.table import Table


def model_of(
    target: str, options: dict[str, Any], dims: int | str, seed: int
) -> tuple[ProbabilisticPCA, Table, ArraySource]:
    """A model and its rows: a run's own, or one fitted to a table now."""
    from lowdim.jobs.analysis import Settings, check_settings
    from lowdim.judge.dimensions.jury import choose_dimension
    from lowdim.models.linear.linear_gaussian import ProbabilisticPCA
    from lowdim.sources.arrays import ArraySource

    if is_run(target):
        from lowdim.jobs.run_folder import load_run

        run = load_run(target)
        return run.model, run.table, ArraySource(run.table.X, columns=run.table.names)
    table = open_table(target, options)
    X, unit = ArraySource(table.X, columns=table.names), table.scale == "unit"
    check_settings(Settings(dims, table.scale), table.n, table.d)
    if dims == "auto":
        dims = min(choose_dimension(X, standardize=unit, random_state=seed).q, table.d - 1)
    return ProbabilisticPCA(int(dims), standardize=unit).fit(X, sample_weight=table.weight), table, X


@click.command("odd")
@click.argument("target")
@click.option("--level", default=0.95, show_default=True, help="1 - false discovery rate.")
@click.option("-o", "--out", help="CSV file [default: NAME.odd.csv].")
@DIMS
@SEED
@table_options
def odd_command(
    target: str, level: float, out: str | None, dims: int | str, seed: int, quiet: bool, as_json: bool, **given: Any
) -> None:
    """The odd rows of a table or a run, and why."""
    from lowdim.jobs.run_folder import odd_table, write
    from lowdim.judge.rows.odd_rows import odd_rows

    if out is None and level == 0.95 and is_run(target) and told_again(target, as_json):
        return
    model, table, X = model_of(target, reading(given), dims, seed)
    found = odd_rows(model, X, level=level, row_names=table.row_names)
    path = write(out or f"{stem(target)}.odd.csv", odd_table(found))
    if as_json:
        print_json(sentence=found.sentence, rows=list(found.rows), wrote=str(path))
        return
    first = found.rows[0].name if found.rows else table.row_names[0]
    run = target.rstrip("/") if Path(target).is_dir() else f"{stem(target)}.run"
    made = "" if Path(run).is_dir() else f" (after lowdim report {target})"
    say(f"{found.text()}\nSaved {path}.   One row in full:  lowdim explain {run} --row {first}{made}")


def told_again(folder: str, as_json: bool) -> bool:
    """Say the odd rows as they were found, where the table of a run is gone; whether it is."""
    import csv

    from lowdim.jobs.run_folder import digest, load_run
    from lowdim.text.messages import LowdimError, message

    run, stored = load_run(folder), Path(folder) / "odd.csv"
    try:
        _ = run.path
    except LowdimError as gone:
        known = run.facts["files"].get(stored.name)
        if not stored.is_file() or digest(stored.read_bytes()) != known:
            raise gone from None
    else:
        return False
    with stored.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    hear([message("LD308", path=run.facts["table"]["path"])])
    sentence = next((text for text in run.sentences if "odd row" in text), "")
    if as_json:
        print_json(sentence=sentence, rows=rows, wrote=None)
    else:
        say("\n".join([sentence, *(f"  row {row['row']}: {row['reason']}" for row in rows), f"Kept in {stored}"]))
    return True


@click.command("explain")
@click.argument("run")
@click.option("--row", help="A row, by its name or counted from 1.")
@click.option("--axis", type=int, help="An axis, counted from 1.")
@click.option(
    "--group",
    type=click.Path(exists=True, dir_okay=False),
    help="A file with the names of some rows: what sets them apart.",
)
@common_options
def explain_command(run: str, row: str | None, axis: int | None, group: str | None, quiet: bool, as_json: bool) -> None:
    """One row, one axis, or a group of rows of a run folder."""
    from lowdim.jobs.run_folder import load_run

    if sum(part is not None for part in (row, axis, group)) != 1:
        raise click.UsageError("give one of --row, --axis and --group")
    opened = load_run(run)
    if row is not None:
        card = row_card(opened, row)
    elif axis is not None:
        card = axis_card(opened, axis)
    else:
        card = group_card(opened, str(group))
    if as_json:
        print_json(card=card)
    else:
        say(card.text())


def source_of(run: SavedRun) -> ArraySource:
    """The rows of a run as its model takes them."""
    from lowdim.sources.arrays import ArraySource

    return ArraySource(run.table.X, columns=run.names)


def row_card(run: SavedRun, row: str) -> Any:
    """One row in full."""
    from lowdim.judge.rows.odd_rows import explain_row

    position = positions(run.table, [row], "--row")[0]
    return explain_row(run.model, source_of(run), position, row_names=run.table.row_names)


def axis_card(run: SavedRun, axis: int) -> Any:
    """One axis, with the intervals of the run's own seed and level."""
    from lowdim.judge.axes import axes

    q = int(run.model.n_components_)
    if not 1 <= axis <= q:
        raise click.BadParameter(
            f"axes are counted from 1 to {q}" if q else "this run has no axis", param_hint="--axis"
        )
    s = run.settings
    return axes(run.model, source_of(run), labels=run.table.labels, level=s.level, random_state=s.seed)[axis - 1]


def group_card(run: SavedRun, file: str) -> Any:
    """What sets the rows named in a file apart."""
    from lowdim.judge.rows.contrast import set_apart

    text = Path(file).read_text(encoding="utf-8-sig")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    words = [word.strip() for word in lines[0].split(",")] if len(lines) == 1 else lines
    rows = positions(run.table, words, "--group")
    return set_apart(run.table.X, run.names, run.model.transform(source_of(run)), rows)


def positions(table: Table, words: list[str], flag: str) -> list[int]:
    """Rows by name, else by number as the file counts them from 1."""
    by_name = {name: k for k, name in reversed(list(enumerate(table.row_names)))}
    by_number = {str(r + 1): k for k, r in enumerate(table.rows.tolist())}
    unknown = [word for word in words if word not in by_name and word not in by_number]
    if unknown:
        raise click.BadParameter(
            f"there is no row '{unknown[0][:40]}'; rows are counted from 1 to {table.shape[0]}"
            + ("" if table.row_names[0].isdigit() else f" or named, such as '{table.row_names[0]}'"),
            param_hint=flag,
        )
    return [by_name.get(word, by_number.get(word, 0)) for word in words]


def placed(run: str, new: str, given: dict[str, Any]) -> tuple[SavedRun, Placed]:
    """A run and new rows placed on its map; the new file is read as the run's own was, unless told otherwise."""
    from lowdim.jobs.apply import place
    from lowdim.jobs.run_folder import load_run

    opened = load_run(run)
    found = place(
        opened.model, opened.names, new, calibration=opened.calibration, **{**read_as(opened), **reading(given)}
    )
    hear(found.messages)
    return opened, found


@click.command("apply")
@click.argument("run")
@click.argument("new")
@click.option("-o", "--out", help="CSV file for the positions [default: NAME.scores.csv].")
@STREAM
@table_options
def apply_command(run: str, new: str, out: str | None, stream: bool, quiet: bool, as_json: bool, **given: Any) -> None:
    """Place the rows of NEW on the map of a run: positions, ellipses, distances, fills.

    With --stream OUT may be .parquet (the default), .csv, .npy or .zarr, and gaps are not filled.
    """
    from lowdim.jobs.run_folder import load_run, placed_fills, placed_table, write

    opened = load_run(run)
    if opened.method is not None:
        return apply_one(opened, new, out, given, as_json=as_json)
    if stream:
        return place_file(run, new, out, streamed(reading(given), stream), as_json=as_json)
    with or_stream(reading(dict(given))):
        opened, found = placed(run, new, given)
    path = write(out or f"{stem(new)}.scores.csv", placed_table(found))
    wrote = [path]
    if (found.X != found.X).any():
        name = path.name.removesuffix(".csv").removesuffix(".scores")
        wrote.append(write(path.with_name(f"{name}.fills.csv"), placed_fills(found, opened.names)))
    if as_json:
        print_json(
            sentence=found.sentence,
            rows=list(found.row_names),
            scores=found.scores,
            std=found.posterior.std,
            larger=found.larger,
            odd=list(found.odd.rows),
            wrote=[str(p) for p in wrote],
            level=found.level,
            calibrated=found.calibrated,
            fills_from=found.own_model,
        )
    else:
        say(f"{found.sentence} Scores in {wrote[0]}" + (f", fills in {wrote[1]}" if wrote[1:] else ""))
        say(found.own_model) if wrote[1:] else None
    return None


def apply_one(run: SavedRun, new: str, out: str | None, given: dict[str, Any], *, as_json: bool) -> None:
    """New rows as the one model of a run sees them."""
    from lowdim.jobs.one_model import place_fitted
    from lowdim.jobs.run_folder import write

    names, places, notes = place_fitted(run, new, **{**read_as(run), **reading(given)})
    hear(notes)
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


def read_as(run: SavedRun) -> dict[str, Any]:
    """How the table of a run was read, as far as it holds for new rows."""
    told = {key: value for key, value in run.options.items() if key not in ("sample", "strict", "stream")}
    if run.facts["table"]["header"] is False:
        told.setdefault("header", False)
    return told


@click.command("monitor")
@click.argument("run")
@click.argument("new")
@click.option("-o", "--out", help="Control chart to write (.svg, .png, .pdf or .csv) [default: NAME.control.svg].")
@table_options
def monitor_command(run: str, new: str, out: str | None, quiet: bool, as_json: bool, **given: Any) -> None:
    """Control charts: the run's rows are the history, the rows of NEW are watched."""
    import numpy as np

    from lowdim.judge.rows.odd_rows import odd_rows
    from lowdim.plot.analysis.odd_rows import control
    from lowdim.storage.atomic import replacing

    opened, found = placed(run, new, given)
    old = odd_rows(opened.model, source_of(opened))
    both = [
        np.concatenate([getattr(getattr(o, law), part) for o in (old, found.odd)])
        for law in ("T2", "Q")
        for part in ("value", "dof")
    ]
    watched = np.arange(len(both[0])) >= opened.table.n
    chart = control(
        both[0], both[1], both[2], both[3], new=watched, row_names=[*opened.table.row_names, *found.row_names]
    )
    out = out or f"{stem(new)}.control.svg"
    with replacing(out) as temp:
        chart.save(temp)
    if as_json:
        print_json(sentence=found.sentence, odd=list(found.odd.rows), chart=out)
    else:
        say(f"{found.odd.text()}\nChart in {out}")
