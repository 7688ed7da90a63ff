"""check, dims, fit, report, fill: the main job and its parts."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lowdim.cli.common import Done, Stages, complain, open_table, print_json, reading, table_options

DIMS = click.option("--dims", default="auto", metavar="K", help="auto, or how many dimensions.")
LEVEL = click.option("--level", default=0.9, show_default=True, help="Level of the intervals.")
SEED = click.option("--seed", default=0, show_default=True, help="Seed of everything that is drawn.")


def asked_dims(dims: str) -> int | str:
    """The --dims option as `analyse` wants it."""
    if dims == "auto":
        return dims
    if not dims.isdigit():
        raise click.BadParameter(f"'{dims}' is neither auto nor a whole number", param_hint="--dims")
    return int(dims)


@click.command("check")
@click.argument("file")
@table_options
def check_command(file: str, quiet: bool, as_json: bool, **given: Any) -> None:
    """Is the table usable, and what would be changed? No model is fitted."""
    from lowdim.data.table import read

    options = reading(given)
    strict = options.pop("strict", False)
    table = read(file, **options)
    if as_json:
        print_json(name=table.name, rows=table.n, columns=table.names, messages=list(table.messages))
    else:
        click.echo(table.summary())
    if strict and any(m.severity == "changed" for m in table.messages):
        raise Done(1)


@click.command("dims")
@click.argument("file")
@SEED
@table_options
def dims_command(file: str, seed: int, quiet: bool, as_json: bool, **given: Any) -> None:
    """How many dimensions the table has, with every judge's vote."""
    from lowdim.data.arrays import ArraySource
    from lowdim.judge.dimensions import choose_dimension

    table = open_table(file, reading(given), quiet=quiet)
    X = ArraySource(table.X, columns=table.names)
    jury = choose_dimension(X, standardize=table.scale == "unit", random_state=seed)
    if as_json:
        print_json(dims=jury.q, sentence=jury.sentence, rows=list(jury.rows), judges=list(jury.judges),
                   messages=list(table.messages))
    else:
        click.echo(jury.text())


def analysed(file: str, dims: str, level: float, seed: int, quiet: bool, options: dict[str, Any]) -> Any:
    """The analysis of a file, told stage by stage."""
    from lowdim.analysis import analyse

    table = open_table(file, options, quiet=quiet)
    return analyse(table, dims=asked_dims(dims), scale=table.scale, level=level, random_state=seed, tell=Stages(quiet))


def stem(file: str) -> str:
    """The name a table's outputs share: next to where the command runs, not next to the table."""
    return Path(file).name.split(".")[0] or "table"


@click.command("fit")
@click.argument("file")
@click.option("-o", "--out", help="Run folder to write [default: NAME.run].")
@DIMS
@LEVEL
@SEED
@table_options
def fit_command(file: str, out: str | None, dims: str, level: float, seed: int, quiet: bool, as_json: bool,
                **given: Any) -> None:
    """Analyse a table and save a run folder, without a report."""
    from lowdim.runs import describe, save_run

    options = reading(given)
    found = analysed(file, dims, level, seed, quiet, options)
    folder = save_run(found, out or f"{stem(file)}.run", options=options)
    if as_json:
        print_json(run=str(folder), **{k: v for k, v in describe(found, options).items() if k != "schema"})
    else:
        click.echo(f"{found!r}\nRun     {folder}/")
    finish(found)


@click.command("report")
@click.argument("file")
@click.option("-o", "--out", help="Report to write [default: NAME.report.html].")
@click.option("--no-rows", is_flag=True, help="No row values and no row names in the report.")
@DIMS
@LEVEL
@SEED
@table_options
def report_command(file: str, out: str | None, no_rows: bool, dims: str, level: float, seed: int, quiet: bool,
                   as_json: bool, **given: Any) -> None:
    """The whole analysis: five sentences, an HTML report and a run folder."""
    from lowdim.report import write_report
    from lowdim.runs import describe, save_run

    options = reading(given)
    if Path(file).is_dir():
        file, options, dims, level, seed = again(file)
    found = analysed(file, dims, level, seed, quiet, options)
    path = write_report(found, out or f"{stem(file)}.report.html", rows=not no_rows)
    folder = save_run(found, f"{stem(file)}.run", options=options)
    if as_json:
        facts = {k: v for k, v in describe(found, options).items() if k != "schema"}
        print_json(report=str(path), run=str(folder), **facts)
    else:
        for number, sentence in enumerate(found.sentences, 1):
            click.echo(f"  {number}. {sentence}")
        click.echo(f"\n  Report  {path}   ({path.stat().st_size / 1e6:.1f} MB, opens offline)\n  Run     {folder}/")
    finish(found)


def again(folder: str) -> tuple[str, dict[str, Any], str, float, int]:
    """What a run folder was made from."""
    import json

    from lowdim.runs import open_run

    run = open_run(folder)
    told = json.loads((Path(folder) / "run.json").read_text(encoding="utf-8"))
    s = run.settings
    return told["table"]["path"], told["table"]["options"], str(s.dims), s.level, s.seed


def finish(found: Any) -> None:
    """Exit code 5 where the fit did not converge: results are saved and marked."""
    if not found.model.converged_:
        raise Done(5)


@click.command("fill")
@click.argument("file")
@click.option("-o", "--out", required=True, help="CSV file for the filled table.")
@click.option("--intervals", is_flag=True, help="Also write OUT.lower.csv, OUT.upper.csv and OUT.mask.csv.")
@click.option("--multiple", default=0, metavar="M", help="Write M tables drawn jointly, for statistics.")
@LEVEL
@SEED
@table_options
def fill_command(file: str, out: str, intervals: bool, multiple: int, level: float, seed: int, quiet: bool,
                 as_json: bool, **given: Any) -> None:
    """Fill the gaps of a table, with intervals checked on cells hidden on purpose."""
    from lowdim.data.arrays import ArraySource
    from lowdim.judge.fills import fill

    table = open_table(file, reading(given), quiet=quiet)
    found = fill(ArraySource(table.X, columns=table.names), level=level, standardize=table.scale == "unit",
                 random_state=seed)
    wrote = write_fills(table, found, Path(out), intervals, multiple, seed)
    if as_json:
        print_json(wrote=[str(path) for path in wrote], columns=list(found.columns), messages=list(table.messages))
        return
    click.echo(found.text())
    click.echo("Wrote " + ", ".join(str(path) for path in wrote))
    if not multiple:
        complain("Do not analyse the filled table as if it had been measured. For statistics use --multiple 20.")


def write_fills(table: Any, found: Any, out: Path, intervals: bool, multiple: int, seed: int) -> list[Path]:
    """The filled table and what goes with it."""
    from lowdim.runs import csv

    header = ["row", *table.names]

    def put(path: Path, values: Any) -> Path:
        rows = [[name, *line] for name, line in zip(table.row_names, values, strict=True)]
        path.write_text(csv(header, rows), encoding="utf-8")
        return path

    wrote = [put(out, found.filled)]
    if intervals:
        parts = {"lower": found.lower, "upper": found.upper, "mask": found.mask.astype(int)}
        wrote += [put(out.with_suffix(f".{name}{out.suffix}"), values) for name, values in parts.items()]
    if multiple:
        tables = found.multiple(multiple, random_state=seed)
        wrote += [put(out.with_suffix(f".{k + 1}{out.suffix}"), values) for k, values in enumerate(tables)]
    return wrote
