"""plot, runs, methods, demo, help."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from lowdim.cli.common import Stages, complain, print_json, reading, table_options
from lowdim.cli.main_job import DIMS, LEVEL, SEED, again, analysed

METHODS = (
    ("How many dimensions? A map with gaps and uncertainty?", "ProbabilisticPCA", "lowdim report FILE"),
    ("The same axes as other PCA software?", "PCA", "lowdim.PCA(k).fit(X)"),
    ("Which hidden traits explain the correlations?", "FactorAnalysis", "lowdim.FactorAnalysis(k, rotation=...)"),
    ("Many more columns than rows?", "DualPPCA", "lowdim.DualPPCA(k).fit(X)"))


@click.command("plot")
@click.argument("name", required=False)
@click.argument("target", required=False)
@click.option("-o", "--out", help="File to write: .svg, .png, .pdf or .csv [default: NAME.svg].")
@click.option("--list", "listed", is_flag=True, help="List the plots.")
@DIMS
@LEVEL
@SEED
@table_options
def plot_command(name: str | None, target: str | None, out: str | None, listed: bool, dims: str, level: float,
                 seed: int, quiet: bool, as_json: bool, **given: Any) -> None:
    """Draw a named plot of a table or a run."""
    from lowdim.plot.gallery import GALLERY

    if listed or name is None or target is None:
        click.echo("\n".join(GALLERY))
        return
    if name not in GALLERY:
        raise click.BadParameter(f"'{name}' is not a plot; lowdim plot --list names them", param_hint="NAME")
    options = reading(given)
    if Path(target).is_dir():
        target, options, dims, level, seed = again(target)
    plot = analysed(target, dims, level, seed, quiet, options).plot.draw(name)
    path = plot.save(out or f"{name}.svg")
    if as_json:
        print_json(plot=name, wrote=str(path), title=plot.title, sentence=plot.sentence, data=plot.data)
    else:
        click.echo(f"{plot.sentence}\nWrote {path}")


@click.command("runs")
@click.argument("folder", default=".")
def runs_command(folder: str) -> None:
    """List the run folders in a folder."""
    found = sorted(Path(folder).glob("*/run.json"))
    if not found:
        click.echo(f"No run folders in {folder}.")
    for path in found:
        try:
            run = json.loads(path.read_text(encoding="utf-8"))
            first = f"{run['table']['rows']} x {len(run['table']['columns'])}, {run['sentences'][0]}"
        except (OSError, ValueError, KeyError, IndexError, TypeError):
            first = "unreadable run.json"
        click.echo(f"{path.parent.name:<24} {first}")


@click.command("methods")
def methods_command() -> None:
    """Which method for which question."""
    for question, method, how in METHODS:
        click.echo(f"{question}\n    {method:<20} {how}")


@click.command("demo")
@click.argument("name", default="wine")
@click.option("-o", "--out", help="Report to write [default: demo-NAME.report.html].")
@SEED
def demo_command(name: str, out: str | None, seed: int) -> None:
    """The report on a table that ships with lowdim, with gaps made on purpose."""
    from lowdim.analysis import analyse
    from lowdim.cli.demo import demo_table, truth_text
    from lowdim.report import write_report

    table, demo = demo_table(name, seed)
    complain(f"{demo.name}: {demo.about}; a tenth of its cells was hidden on purpose")
    found = analyse(table, random_state=seed, tell=Stages(False))
    for number, sentence in enumerate(found.sentences, 1):
        click.echo(f"  {number}. {sentence}")
    click.echo("\n" + truth_text(demo, found))
    path = write_report(found, out or f"demo-{name}.report.html")
    click.echo(f"\n  Report  {path.resolve()}")


@click.command("help")
@click.argument("code")
def help_command(code: str) -> None:
    """The long explanation of a message, e.g. LD104."""
    from lowdim.messages import CATALOGUE

    entries = [entry for key, entry in CATALOGUE.items() if key.split(".")[0] == code.upper()]
    if not entries:
        raise click.BadParameter(f"'{code}' is not a message of lowdim", param_hint="CODE")
    for entry in entries:
        click.echo(f"{code.upper()}  {entry.what}")
        for word, text in (("why", entry.why), ("fix", entry.fix)):
            if text:
                click.echo(f"  {word:<7} {text}")
