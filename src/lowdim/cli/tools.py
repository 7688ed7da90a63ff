"""plot, runs, methods, demo."""
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.common import common_options, is_run, print_json, reading, said, say, table_options
from lowdim.cli.main_job import BUDGET, DIMS, LEVEL, SEED, Asked, analysed, finish, reported

if TYPE_CHECKING:
    from lowdim.analysis import Analysis
    from lowdim.plot.base import Plot

OF_A_MODEL = ("relevance", "hinton", "mixture")  # plots that a run of one model can have

METHODS = (
    ("How many dimensions? A map with gaps and uncertainty?", "ProbabilisticPCA", "lowdim report FILE"),
    ("The same axes as other PCA software?", "PCA", "lowdim.PCA(k).fit(X)"),
    ("Which hidden traits explain the correlations?", "FactorAnalysis", "lowdim fit FILE -m fa"),
    ("Many more columns than rows?", "DualPPCA", "lowdim fit FILE -m dual"),
    ("How many axes does the table support, and how surely?", "BayesianPCA", "lowdim fit FILE -m bpca"),
    ("Are there groups of rows?", "GaussianMixture, KMeans", "lowdim fit FILE -m gmm"),
    ("Groups, each with axes of its own?", "MixtureOfPPCA, MixtureOfFA", "lowdim fit FILE -m mppca"),
    ("Independent sources behind the columns?", "ICA", "lowdim fit FILE -m ica"),
    ("What do two sets of columns share?", "CCA", "lowdim.CCA(k).fit(X, Y)"),
    ("What tells known classes apart?", "LinearDiscriminant", "lowdim.LinearDiscriminant(k).fit(X, y)"),
    ("Which columns vary most?", "VarianceSelector", "lowdim.VarianceSelector(k).fit(X)"),
    ("Ratings of items by users?", "MatrixFactorization", "lowdim.MatrixFactorization(k).fit(triples)"),
    ("A bent surface behind the columns?", "GTM", "lowdim fit FILE -m gtm"),
    ("A map that keeps neighbours?", "Isomap, KernelPCA, ...", "lowdim fit FILE -m isomap"),
    ("How good is a map made elsewhere?", "", "lowdim compare FILE --map xy.csv"),
    ("Which of these, for this table?", "", "lowdim compare FILE"))


@click.command("plot")
@click.argument("name", required=False)
@click.argument("target", required=False)
@click.option("-o", "--out", help="File to write: .svg, .png, .pdf or .csv [default: NAME.svg].")
@click.option("--color", metavar="COLUMN", help="map only: the column to colour by.")
@click.option("--axes", metavar="K,K", help="map only: the two axes to draw, e.g. 1,3.")
@click.option("--list", "listed", is_flag=True, help="List the plots.")
@DIMS
@LEVEL
@SEED
@BUDGET
@table_options
def plot_command(name: str | None, target: str | None, out: str | None, listed: bool, color: str | None,
                 axes: str | None, dims: int | str, level: float, seed: int, budget: str | None, quiet: bool,
                 as_json: bool, **given: Any) -> None:
    """Draw a named plot of a table or a run folder."""
    from lowdim.plot.gallery import GALLERY

    if listed:
        return print_json(plots=list(GALLERY)) if as_json else say("\n".join(GALLERY))
    if name is None or target is None:
        raise click.UsageError("give a plot and a table or a run folder; lowdim plot --list names the plots")
    if name not in GALLERY:
        raise click.BadParameter(f"'{name}' is not a plot; lowdim plot --list names them", param_hint="NAME")
    from lowdim.plot.base import check_picture

    how, out = map_options(name, color, axes), out or f"{name}.svg"
    check_picture(out)  # before the analysis, which takes a while
    if is_run(target) and name in OF_A_MODEL and (plot := plot_of_model(name, target)) is not None:
        return drawn_to(plot, name, out, as_json=as_json)
    found = of_run(target) if is_run(target) else analysed(Asked(target, reading(given), dims, level, seed, budget))
    if max(how.get("axes", (0,))) >= max(found.dims, 1):
        raise click.BadParameter(f"'{axes}': there are axes 1 to {found.dims}", param_hint="--axes")
    return drawn_to(found.plot.draw(name, **how), name, out, as_json=as_json)


def drawn_to(plot: Plot, name: str, out: str, *, as_json: bool) -> None:
    """Write a plot and say what it shows."""
    from lowdim.runs import replacing

    with replacing(out) as temp:
        plot.save(temp)
    if as_json:
        print_json(plot=name, wrote=out, title=plot.title, sentence=plot.sentence, data=plot.data)
    else:
        say(f"{plot.sentence}\nWrote {out}")


def plot_of_model(name: str, folder: str) -> Plot | None:
    """A plot of the one model that a run holds; None where the run is an analysis, or has no such thing to show."""
    from lowdim.plot.hinton import hinton
    from lowdim.plot.mixture import mixture, parts_of
    from lowdim.plot.relevance import relevance
    from lowdim.runs import load_run

    run = load_run(folder)
    if "method" not in run.told:
        return None
    from lowdim.persist import load

    model, found = load(run.model_file), run.table
    kept = vars(model)
    if name == "relevance" and "relevance_" in kept:
        return relevance(kept["relevance_"], kept["kept_"])
    if name == "hinton" and "components_" in kept and kept["components_"].ndim == 2:
        return hinton(kept["components_"].T, found.names)
    X = found.X / run.told["unit"]
    parts = parts_of(model, X) if name == "mixture" else None
    return None if parts is None else mixture(X, names=found.names, **parts)


def map_options(name: str, color: str | None, axes: str | None) -> dict[str, Any]:
    """--color and --axes as the map wants them; axes are counted from 1 here and from 0 in Python."""
    how: dict[str, Any] = {} if color is None else {"color": color}
    if axes is not None:
        parts = axes.split(",")
        if len(parts) != 2 or not all(part.strip().isdigit() and int(part) for part in parts):
            raise click.BadParameter(f"'{axes}' is not two axes such as 1,3", param_hint="--axes")
        how["axes"] = tuple(int(part) - 1 for part in parts)
    if how and name != "map":
        raise click.BadParameter(f"only the map takes it, not {name}", param_hint=f"--{next(iter(how))}")
    return how


def of_run(folder: str) -> Analysis:
    """The analysis that a run folder tells of, made again; what was said of its table then is not said again."""
    from lowdim.analysis import analyse
    from lowdim.cli.progress import Interrupts, Stages
    from lowdim.data.table import read
    from lowdim.messages import error
    from lowdim.runs import load_run

    run = load_run(folder)
    s = run.settings
    if "method" in run.told:
        raise error("LD319", path=run.folder, method=run.told["method"])
    if "stream" in run.options:
        from lowdim.streaming import analyse_stream

        return analyse_stream(run.drawn, dims=s.dims, scale=s.scale, level=s.level, random_state=s.seed,
                              budget=s.budget, model=run.model)
    table = run.table if "model.lowdim" in run.told["files"] else read(run.path, **run.options)
    with Interrupts() as interrupts, Stages(said().quiet, interrupts) as stages:
        return analyse(table, dims=s.dims, scale=s.scale, level=s.level, random_state=s.seed, budget=s.budget,
                       tell=stages)


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
        say(f"{question}\n    {method:<27} {how}")
    from lowdim.methods import FITTED

    say(f"\nNames for -m: {', '.join(FITTED)}")


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
