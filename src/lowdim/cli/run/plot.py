"""plot: a named plot of a table or a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.analysing import analysed
from lowdim.cli.command import command
from lowdim.cli.new_rows import positions
from lowdim.cli.options import BUDGET, DIMS, LEVEL, SEED, Request, is_run, reading, table_options
from lowdim.cli.say import print_json, say

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis
    from lowdim.plot.base import Plot
    from lowdim.table.table import Table

FOR = {  # options of some plots, and those that take them
    "color": ("map", "gtm_sheet", "magnification", "latent_variance"),
    "axes": ("map", "latent_variance"),
    "row": ("responsibility", "why_row", "reconstruct"),
    "axis": ("traverse",),
    "join": ("latent_variance",),
    "plane": ("gtm_sheet",),
}


@command(
    "Draw a named plot.",
    example="lowdim plot map table.run -o map.svg",
    rank=11,
)
@click.argument("name", required=False)
@click.argument("target", required=False)
@click.option("-o", "--out", help="File to write: .svg, .png, .pdf or .csv [default: NAME.svg].")
@click.option(
    "--color", metavar="COLUMN", help="The column to colour rows by: map, gtm_sheet, magnification, latent_variance."
)
@click.option("--axes", metavar="K,K", help="The two axes to draw, e.g. 1,3: map, latent_variance.")
@click.option("--row", help="The row, by its name or counted from 1: responsibility, why_row, reconstruct.")
@click.option("--axis", type=click.IntRange(1), metavar="K", help="The axis to walk along, counted from 1: traverse.")
@click.option("--plane", metavar="COLUMN,COLUMN", help="The two columns to draw in: gtm_sheet.")
@click.option("--join", is_flag=True, help="Join the rows in their order: latent_variance.")
@click.option("--list", "listed", is_flag=True, help="List the plots.")
@DIMS
@LEVEL
@SEED
@BUDGET
@table_options
def plot_command(
    name: str | None,
    target: str | None,
    out: str | None,
    listed: bool,
    color: str | None,
    axes: str | None,
    row: str | None,
    axis: int | None,
    plane: str | None,
    join: bool,
    dims: int | str,
    level: float,
    seed: int,
    budget: str | None,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Draw a named plot of a table or a run folder."""
    from lowdim.plot.gallery import GALLERY

    if listed:
        return print_json(plots=list(GALLERY)) if as_json else say("\n".join(GALLERY))
    if name is None or target is None:
        raise click.UsageError("give a plot and a table or a run folder; lowdim plot --list names the plots")
    if name not in GALLERY:
        raise click.BadParameter(f"'{name}' is not a plot; lowdim plot --list names them", param_hint="NAME")
    from lowdim.plot.base import check_picture

    how = options_of(name, color=color, axes=axes, row=row, axis=axis, plane=plane, join=join or None)
    out = out or f"{name}.svg"
    check_picture(out)  # before the analysis, which takes a while
    if is_run(target) and (plot := plot_of_model(name, target, how)) is not None:
        return drawn_to(plot, name, out, as_json=as_json)
    found = of_run(target) if is_run(target) else analysed(Request(target, reading(given), dims, level, seed, budget))
    how = placed_options(how, found.table)
    if name == "map" and max(how.get("axes", (0,))) >= max(found.dims, 1):
        raise click.BadParameter(f"'{axes}': there are axes 1 to {found.dims}", param_hint="--axes")
    return drawn_to(found.plot.draw(name, **how), name, out, as_json=as_json)


def drawn_to(plot: Plot, name: str, out: str, *, as_json: bool) -> None:
    """Write a plot and say what it shows."""
    from lowdim.storage.atomic import replacing

    with replacing(out) as temp:
        plot.save(temp)
    if as_json:
        print_json(plot=name, wrote=out, title=plot.title, sentence=plot.sentence, data=plot.data)
    else:
        say(f"{plot.sentence}\nWrote {out}")


def plot_of_model(name: str, folder: str, how: dict[str, Any]) -> Plot | None:
    """A plot of the one model that a run holds; None where the run is an analysis."""
    from lowdim.jobs.run_folder import load_run

    run = load_run(folder)
    if run.method is None:
        return None
    import numpy as np

    from lowdim.plot.of_model import plot_model
    from lowdim.storage.model_file import load

    model, table = load(run.model_file), run.table
    return plot_model(name, model, table, unit=np.asarray(run.facts["unit"]), **placed_options(how, table))


def options_of(name: str, **given: Any) -> dict[str, Any]:
    """The options that were given; one that the plot has no use for is not passed over in silence."""
    how = {key: value for key, value in given.items() if value is not None}
    for key in how:
        if name not in FOR[key]:
            take = "takes" if len(FOR[key]) == 1 else "take"
            raise click.BadParameter(f"only {', '.join(FOR[key])} {take} it, not {name}", param_hint=f"--{key}")
    if "axes" in how:
        parts = how["axes"].split(",")
        if len(parts) != 2 or not all(part.strip().isdigit() and int(part) for part in parts):
            raise click.BadParameter(f"'{how['axes']}' is not two axes such as 1,3", param_hint="--axes")
        how["axes"] = tuple(int(part) - 1 for part in parts)  # counted from 1 here and from 0 in Python
    return {**how, "axis": how["axis"] - 1} if "axis" in how else how


def placed_options(how: dict[str, Any], table: Table) -> dict[str, Any]:
    """Rows and columns by their names as positions."""
    how = dict(how)
    if "row" in how:
        how["row"] = positions(table, [how["row"]], "--row")[0]
    if "plane" in how:
        words = [word.strip() for word in how.pop("plane").split(",")]
        unknown = [word for word in words if word not in table.names]
        if len(words) != 2 or unknown:
            raise click.BadParameter(
                f"'{(unknown or words)[0][:40]}' is not one of two columns of numbers; they are "
                f"{', '.join(table.names[:12])}",
                param_hint="--plane",
            )
        how["columns"] = tuple(table.names.index(word) for word in words)
    return how


def of_run(folder: str) -> Analysis:
    """The analysis that a run folder holds; one that was stopped before there was a model is made again."""
    from lowdim.jobs.run_folder import load_run

    run = load_run(folder)
    if run.has_model:
        return run.analysis
    run.check_analysis()
    s = run.settings
    return analysed(Request(run.path, run.options, s.dims, s.level, s.seed, s.budget))
