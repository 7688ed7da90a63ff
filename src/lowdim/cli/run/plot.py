"""lowdim plot: a named plot of a table or a run folder; its options come from the registry of plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.entry import TableCommand, command
from lowdim.cli.main_job import analysed, open_table
from lowdim.cli.options import BUDGET, DIMS, LEVEL, SEED, is_run, positions, reading, table_options
from lowdim.cli.output import show
from lowdim.plot.registry import NamedPlot, PlotOption, descriptions, every_plot, find
from lowdim.text.format import parse_duration
from lowdim.text.table import text_table

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis
    from lowdim.jobs.run_folder import SavedRun
    from lowdim.plot.base import Plot
    from lowdim.table.table import Table

PREFIX = "plot_"  # of the options of a plot among the arguments of the command
NAMED_PLOT, LISTING_PLOTS = "lowdim.plot", "lowdim.plots"  # in the context: which is named; whether all are listed
METAVARS = {
    "column": "COLUMN", "columns": "COLUMN,COLUMN", "axis": "K", "axes": "K,K", "row": "ROW", "rows": "ROW,ROW,...",
    "wholes": "K,K,...", "shape": "HEIGHT,WIDTH",
}  # fmt: skip


class PlotCommand(TableCommand):
    """A command with the options of the plot that is named; where none is, those of all plots."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[NAMED_PLOT] = next((word for word in args if word in descriptions()), None)
        ctx.meta[LISTING_PLOTS] = "--list" in args
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as slip:
            raise misplaced(slip.option_name, ctx) or slip from None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        name = ctx.meta.get(NAMED_PLOT)
        options = find(name).options if name else () if ctx.meta.get(LISTING_PLOTS) else tuple(takers())
        return [*self.params[:2], *(flag_of(option, not name) for option in options), *super().get_params(ctx)[2:]]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        name = ctx.meta.get(NAMED_PLOT)
        if name is None:
            return super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(descriptions()[name])


def takers() -> dict[PlotOption, list[str]]:
    """Every option of a plot, and the plots that take it."""
    table: dict[PlotOption, list[str]] = {}
    for row in every_plot():
        for option in row.options:
            table.setdefault(option, []).append(row.name)
    return table


def flag_of(option: PlotOption, named: bool) -> click.Option:
    """An option of a plot as one of the command; `named` says which plots take it."""
    help_ = f"{option.help}: {', '.join(takers()[option])}." if named else f"{option.help}."
    words = [option.spelling, PREFIX + option.name]
    if option.kind == "flag":
        return click.Option(words, is_flag=True, default=None, help=help_)
    if isinstance(option.kind, tuple):
        return click.Option(words, type=click.Choice(option.kind), help=help_)
    kind = click.IntRange(1) if option.kind == "axis" else None  # others are text
    return click.Option(words, type=kind, metavar=METAVARS.get(option.kind), help=help_)


def misplaced(flag: str, ctx: click.Context) -> click.BadParameter | None:
    """The error of an option that other plots take; None where no plot does."""
    plots = [plot for option, names in takers().items() if option.spelling == flag for plot in names]
    name = ctx.meta[NAMED_PLOT]
    if not plots or name is None:
        return None
    take = "takes" if len(plots) == 1 else "take"
    return click.BadParameter(f"only {', '.join(plots)} {take} it, not {name}", ctx, param_hint=flag)


@command("Draw a named plot.", example="lowdim plot map table.run -o map.svg", rank=11, cls=PlotCommand)
@click.argument("name", required=False)
@click.argument("target", required=False)
@click.option("-o", "--out", help="File to write: .svg, .png, .pdf or .csv [default: NAME.svg].")
@click.option("--list", "listed", is_flag=True, help="List the plots.")
@DIMS
@LEVEL
@SEED
@BUDGET
@table_options
def plot_command(
    name: str | None, target: str | None, out: str | None, listed: bool, quiet: bool, as_json: bool, **flags: Any
) -> None:
    """Draw a named plot of a table or a run folder; lowdim plot NAME --help has the options of one."""
    if listed:
        about = descriptions()
        return show(as_json, "\n".join(text_table(about.items(), indent="")), plots=list(about), about=about)
    if name is None or target is None:
        raise click.UsageError("give a plot and a table or a run folder; lowdim plot --list names the plots")
    if name not in descriptions():
        raise click.BadParameter(f"'{name}' is not a plot; lowdim plot --list names them", param_hint="NAME")
    row = find(name)
    from lowdim.plot.base import check_picture

    chosen = {key.removeprefix(PREFIX): flags.pop(key) for key in list(flags) if key.startswith(PREFIX)}
    options = {key: value for key, value in chosen.items() if value is not None}
    counted_options(row, options)
    out = out or f"{row.name}.svg"
    check_picture(out)  # before the analysis, which takes a while
    plot = (of_run if is_run(target) else of_table)(row, target, options, flags)
    plot.save(out)
    facts = {"plot": row.name, "wrote": out, "title": plot.title, "sentence": plot.sentence, "data": plot.data}
    show(as_json, f"{plot.sentence}\nWrote {out}", **facts)


def counted_options(row: NamedPlot, options: dict[str, Any]) -> None:
    """Axes counted from 1, as on the command line, become positions from 0, as in Python; numbers in a row are read."""
    for option in row.options:
        if option.kind in ("wholes", "shape") and option.name in options:
            options[option.name] = wholes(option, options[option.name])
        elif option.kind == "axes" and option.name in options:
            parts = options[option.name].split(",")
            if len(parts) != 2 or not all(part.strip().isdigit() and int(part) for part in parts):
                words = f"'{options[option.name]}' is not two axes such as 1,3"
                raise click.BadParameter(words, param_hint=option.spelling)
            options[option.name] = tuple(int(part) - 1 for part in parts)
        elif option.kind == "axis" and option.name in options:
            options[option.name] -= 1


def wholes(option: PlotOption, text: str) -> tuple[int, ...] | str:
    """Whole numbers such as 2,10,100; of a shape, a word is left as it is."""
    parts = [part.strip() for part in text.split(",")]
    if option.kind == "shape" and text.isalpha():
        return text
    if not all(part.isdigit() for part in parts):
        raise click.BadParameter(f"'{text}' is not whole numbers such as 2,10", param_hint=option.spelling)
    return tuple(map(int, parts))


def placed_options(row: NamedPlot, options: dict[str, Any], table: Table) -> dict[str, Any]:
    """Rows and columns by their names as positions."""
    placed = dict(options)
    for option in row.options:
        text = options.get(option.name)
        if option.kind == "row" and text is not None:
            placed[option.name] = positions(table, [text], option.spelling)[0]
        elif option.kind == "rows" and text is not None:
            placed[option.name] = positions(table, [word.strip() for word in text.split(",")], option.spelling)
        elif option.kind == "columns" and text is not None:
            words = [word.strip() for word in text.split(",")]
            unknown = [word for word in words if word not in table.names]
            if len(words) != 2 or unknown:
                known = f"columns of numbers; they are {', '.join(table.names[:12])}"
                wrong = f"'{(unknown or words)[0][:40]}' is not one of two {known}"
                raise click.BadParameter(wrong, param_hint=option.spelling)
            placed[option.name] = tuple(table.names.index(word) for word in words)
    return placed


def of_table(row: NamedPlot, file: str, options: dict[str, Any], flags: dict[str, Any]) -> Plot:
    """A plot of a file; one of the table alone needs no analysis."""
    if row.needs == "table":
        table = open_table(file, reading(flags))
        return row.function(table, **placed_options(row, options, table))
    from lowdim.jobs.analysis import Settings

    asked = Settings(flags["dims"], level=flags["level"], seed=flags["seed"], budget=parse_duration(flags["budget"]))
    return of_analysis(row, analysed(file, reading(flags), asked), options)


def of_run(row: NamedPlot, folder: str, options: dict[str, Any], flags: dict[str, Any]) -> Plot:
    """A plot of a run folder; an analysis that was stopped before there was a model is made again."""
    from lowdim.jobs.run_folder import load_run

    run = load_run(folder)
    if row.needs == "table":
        return row.function(run.table, **placed_options(row, options, run.table))
    if not run.has_model:
        return of_analysis(row, analysed(run.path, run.options, run.settings), options)
    run.check_table()
    return drawn(row, run, options, run.facts["dims"])


def of_analysis(row: NamedPlot, analysis: Analysis, options: dict[str, Any]) -> Plot:
    """A plot of an analysis."""
    return drawn(row, analysis, options, analysis.dims)


def drawn(row: NamedPlot, of: Analysis | SavedRun, options: dict[str, Any], dims: int | None) -> Plot:
    """A plot of what has so many axes, or clusters; the table is read only for options that name rows or columns."""
    for option in row.options:
        axes = options.get(option.name, ())
        if (
            option.kind == "axes"
            and row.needs == "analysis"
            and dims is not None
            and max(axes, default=0) >= max(dims, 1)
        ):
            words = ",".join(str(k + 1) for k in axes)
            raise click.BadParameter(f"'{words}': there are axes 1 to {dims}", param_hint=option.spelling)
    by_name = any(option.kind in ("row", "rows", "columns") and option.name in options for option in row.options)
    return of.plot.draw(row.name, **(placed_options(row, options, of.table) if by_name else options))
