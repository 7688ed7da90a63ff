"""plot, runs, methods, demo, help."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from lowdim.cli.common import common_options, print_json, reading, say, table_options
from lowdim.cli.main_job import BUDGET, DIMS, LEVEL, SEED, Asked, again, analysed, finish, reported

METHODS = (
    ("How many dimensions? A map with gaps and uncertainty?", "ProbabilisticPCA", "lowdim report FILE"),
    ("The same axes as other PCA software?", "PCA", "lowdim.PCA(k).fit(X)"),
    ("Which hidden traits explain the correlations?", "FactorAnalysis", "lowdim.FactorAnalysis(k).fit(X)"),
    ("Many more columns than rows?", "DualPPCA", "lowdim.DualPPCA(k).fit(X)"))


@click.command("plot")
@click.argument("name", required=False)
@click.argument("target", required=False)
@click.option("-o", "--out", help="File to write: .svg, .png, .pdf or .csv [default: NAME.svg].")
@click.option("--list", "listed", is_flag=True, help="List the plots.")
@DIMS
@LEVEL
@SEED
@BUDGET
@table_options
def plot_command(name: str | None, target: str | None, out: str | None, listed: bool, dims: int | str, level: float,
                 seed: int, budget: str | None, quiet: bool, as_json: bool, **given: Any) -> None:
    """Draw a named plot of a table or a run folder."""
    from lowdim.plot.gallery import GALLERY

    if listed:
        return print_json(plots=list(GALLERY)) if as_json else say("\n".join(GALLERY))
    if name is None or target is None:
        raise click.UsageError("give a plot and a table or a run folder; lowdim plot --list names the plots")
    if name not in GALLERY:
        raise click.BadParameter(f"'{name}' is not a plot; lowdim plot --list names them", param_hint="NAME")
    from lowdim.runs import replacing

    found = analysed(again(Asked(target, reading(given), dims, level, seed, budget)))
    plot = found.plot.draw(name)
    out = out or f"{name}.svg"
    with replacing(out) as temp:
        plot.save(temp)
    if as_json:
        print_json(plot=name, wrote=out, title=plot.title, sentence=plot.sentence, data=plot.data)
    else:
        say(f"{plot.sentence}\nWrote {out}")
    return None


@click.command("runs")
@click.argument("folders", nargs=-1)
@common_options
def runs_command(folders: tuple[str, ...], quiet: bool, as_json: bool) -> None:
    """List the run folders in a folder, or say in what two run folders differ."""
    if len(folders) > 2:
        raise click.UsageError("give one folder that holds runs, or two run folders")
    if len(folders) == 2:
        compare(*folders, as_json=as_json)
        return
    folder = Path(folders[0] if folders else ".")
    if not folder.is_dir():
        raise click.BadParameter(f"'{folder}' is not a folder", param_hint="FOLDERS")
    found = sorted(path.parent for path in (*folder.glob("run.json"), *folder.glob("*/run.json")))
    listed = [(str(path), *one_run(path)) for path in found]
    if as_json:
        print_json(runs=[dict(zip(("run", "table", "verdict"), row, strict=True)) for row in listed])
    elif not listed:
        say(f"No run folders in {folder}.")
    wide = max((len(row[0]) for row in listed), default=0)
    for row in () if as_json else listed:
        say(f"{row[0]:<{wide}}   {row[1]:<18} {row[2]}")


def one_run(folder: Path) -> tuple[str, str]:
    """The shape of a run's table, and its first sentence."""
    from lowdim.messages import LowdimError
    from lowdim.runs import load_run

    try:
        run = load_run(folder)
    except LowdimError:
        return "", "run.json cannot be read"
    shape = f"{run.told['table']['rows']} x {len(run.names)}"
    return shape, run.sentences[0] if run.sentences else "stopped before it was finished"


def compare(first: str, second: str, *, as_json: bool) -> None:
    """What was asked and found in two runs, where they differ."""
    from lowdim.runs import differences, load_run

    found = differences(load_run(first), load_run(second))
    if as_json:
        print_json(differences=list(found))
    elif not found:
        say(f"{first} and {second} do not differ.")
    else:
        say("\n".join(f"{d.what}\n  {first}: {d.first}\n  {second}: {d.second}" for d in found))


@click.command("methods")
@common_options
def methods_command(quiet: bool, as_json: bool) -> None:
    """Which method for which question."""
    if as_json:
        print_json(methods=[dict(zip(("question", "method", "how"), row, strict=True)) for row in METHODS])
        return
    for question, method, how in METHODS:
        say(f"{question}\n    {method:<20} {how}")


@click.command("demo")
@click.argument("name", default="wine")
@click.option("-o", "--out", default=".", help="Folder to write into [default: the current one].")
@SEED
@common_options
def demo_command(name: str, out: str, seed: int, quiet: bool, as_json: bool) -> None:
    """The report on a table that ships with lowdim, with gaps made on purpose: wine, oil, gaussian or digits."""
    from lowdim.cli.demo import truth_text, write_demo

    table, demo = write_demo(name, Path(out), seed)
    if not as_json:
        say(f"{table}: {demo.about}; a tenth of its cells was hidden on purpose.\n")
    base = Path(out) / f"demo-{demo.name}"
    found, path, folder = reported(Asked(str(table), {}, seed=seed), f"{base}.report.html", f"{base}.run", rows=True,
                                   quiet=True)
    if as_json:
        print_json(table=str(table), sentences=list(found.sentences), report=str(path), run=str(folder))
    else:
        say(truth_text(demo, found) + "\n")
        say("".join(f"  {number}. {sentence}\n" for number, sentence in enumerate(found.sentences, 1)))
        say(f"  Report  {path.resolve()}   (opens offline)\n  Run     {folder}/")
        say(f"  Next    lowdim odd {folder}     lowdim fill {table} -o filled.csv --intervals")
    finish(found, False)


@click.command("help")
@click.argument("code")
def help_command(code: str) -> None:
    """The long explanation of a message, e.g. LD104; of a command, the same as lowdim COMMAND --help."""
    from lowdim.messages import CATALOGUE

    root = click.get_current_context().find_root()
    assert isinstance(root.command, click.Group)
    command = root.command.get_command(root, code)
    if command is not None:
        with click.Context(command, info_name=f"lowdim {code}") as context:
            click.echo(command.get_help(context))
        return
    entries = [entry for key, entry in CATALOGUE.items() if key.split(".")[0] == code.upper()]
    if not entries:
        raise click.BadParameter(f"'{code}' is neither a message nor a command of lowdim", param_hint="CODE")
    for entry in entries:
        what, why, fix = (re.sub(r"\{[^}]*\}", "...", text) for text in (entry.what, entry.why, entry.fix))
        say(f"{code.upper()}  {what}")
        for word, text in (("why", why), ("fix", fix)):
            if text.strip(". "):  # a line that is all facts says nothing without them
                say(f"  {word:<7} {text}")
