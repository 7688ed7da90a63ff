"""fill: the gaps of a table, with intervals."""
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.common import open_table, print_json, reading, say, table_options
from lowdim.cli.main_job import LEVEL, SEED

if TYPE_CHECKING:
    from lowdim.data.table import Table
    from lowdim.judge.fills import Fills


@click.command("fill")
@click.argument("file")
@click.option("-o", "--out", required=True, help="CSV file for the filled table.")
@click.option("--intervals", is_flag=True, help="Also write OUT.lower.csv, OUT.upper.csv and OUT.mask.csv.")
@click.option("--multiple", type=click.IntRange(0, 1000), default=0, metavar="M",
              help="Write M tables drawn jointly, for statistics.")
@LEVEL
@SEED
@table_options
def fill_command(file: str, out: str, intervals: bool, multiple: int, level: float, seed: int, quiet: bool,
                 as_json: bool, **given: Any) -> None:
    """Fill the gaps of a table, with intervals checked on cells hidden on purpose."""
    from lowdim.data.arrays import ArraySource
    from lowdim.judge.fills import fill

    table = open_table(file, reading(given))
    found = fill(ArraySource(table.X, columns=table.names), level=level, standardize=table.scale == "unit",
                 random_state=seed)
    wrote = write_fills(table, found, Path(out), intervals, multiple, seed)
    if as_json:
        print_json(sentence=found.sentence, wrote=[str(path) for path in wrote], level=level,
                   columns=list(found.columns))
        return
    say(found.text())
    say("Wrote " + ", ".join(str(path) for path in wrote))
    if found.mask.any() and not multiple:
        say(f"Do not analyse {wrote[0]} as if it had been measured. For statistics use --multiple 20.")


def write_fills(table: Table, found: Fills, out: Path, intervals: bool, multiple: int, seed: int) -> list[Path]:
    """The filled table and what goes with it; columns that are not numbers are kept as they came."""
    from lowdim.runs import write

    def put(word: str, values: Any) -> Path:
        name = f"{out.stem}.{word}{out.suffix}" if word else out.name
        return write(out.with_name(name), whole(table, values))

    wrote = [put("", found.filled)]
    if intervals:
        wrote += [put("lower", found.lower), put("upper", found.upper), put("mask", found.mask.astype(int))]
    if multiple:
        wrote += [put(str(k + 1), values) for k, values in enumerate(found.multiple(multiple, random_state=seed))]
    return wrote


def whole(table: Table, values: Any) -> str:
    """The table with these numbers, its other columns in their places, and the rows' names in front if they have any.

    Columns that were left out of the analysis are left out here too: nothing was filled in them.
    """
    from lowdim.runs import csv

    kept = [c for c in table.columns if c.role != "out"]
    named = any(c.role == "id" for c in kept)
    numbers = dict(zip(table.names, values.T.tolist(), strict=True))
    parts = [numbers[c.name] if c.role == "number" else [_text(v) for v in c.values.tolist()] for c in kept]
    header = [c.name for c in kept]
    if not named:
        header, parts = ["row", *header], [list(table.row_names), *parts]
    return csv(header, [list(row) for row in zip(*parts, strict=True)])


def _text(value: Any) -> str:
    return "" if value is None or value != value else str(value)
