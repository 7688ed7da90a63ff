"""fit: analyse and save a run folder, or fit one model by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lowdim.cli.analysing import analysed, command_line, finish, kept_options, open_table, print_found, run_files
from lowdim.cli.command import command
from lowdim.cli.options import (
    BUDGET,
    CHECKPOINT,
    DIMS,
    LEVEL,
    ROBUST,
    ROTATE,
    SEED,
    SETTINGS,
    STREAM,
    Request,
    stem,
    with_request,
)
from lowdim.cli.progress import Stages
from lowdim.cli.say import Done, complain, message_log, print_json, say

if TYPE_CHECKING:
    from lowdim.registry import ModelEntry
    from lowdim.table.table import Table


@command(
    "Analyse and save a run folder, without a report.",
    example="lowdim fit table.csv -o table.run",
    rank=3,
)
@click.option("-o", "--out", help="Run folder to write [default: NAME.run, or NAME.METHOD.run].")
@click.option("-m", "--method", metavar="NAME", help="Fit this one model instead; lowdim methods lists them.")
@click.option(
    "--clusters", type=click.IntRange(1), metavar="K", help="With --method: how many clusters [default: by evidence]."
)
@click.option(
    "--views",
    metavar="A:COLUMNS,B:COLUMNS",
    help="With -m cca: the two sets of columns, by place or name: a:1-12,b:13-40.",
)
@SETTINGS
@with_request(DIMS, LEVEL, SEED, BUDGET, ROBUST, ROTATE, STREAM, CHECKPOINT)
def fit_command(
    request: Request,
    out: str | None,
    method: str | None,
    clusters: int | None,
    views: str | None,
    settings: dict[str, Any],
) -> None:
    """Analyse a table and save a run folder, without a report; or fit one model by its name."""
    from lowdim.jobs.run_folder import check_free, save_run

    if method is not None:
        return fit_one(request, method, ModelOptions(clusters, views, settings), out)
    out = out or f"{stem(request.file)}.run"
    check_free(out, request.file)
    for flag, given in (("--clusters", clusters), ("--views", views), ("--set", settings)):
        if given:
            raise click.UsageError(f"{flag} goes with --method; lowdim methods lists them")
    analysis = analysed(request, out)
    folder = save_run(analysis, out, options=kept_options(request), command=command_line())
    if request.as_json:
        print_found(analysis, request, run=str(folder))
    else:
        say(f"{analysis!r}\nRun     {run_files(folder)}")
    finish(analysis, request.strict)
    return None


class ModelOptions(NamedTuple):
    """What goes with --method."""

    clusters: int | None
    views: str | None
    settings: dict[str, Any]


def fit_one(request: Request, name: str, given: ModelOptions, out: str | None) -> None:
    """Fit one model by its name and save it as a run folder."""
    from lowdim.engine.fit import INTERRUPTED
    from lowdim.jobs.one_model import fit_method, read_for, save_fitted
    from lowdim.jobs.run_folder import check_free
    from lowdim.registry import FITTED, find_method

    _refuse_options_of_the_main_job(request)
    method = find_method(name, FITTED)
    _check_sizes(method, request.dims, given)
    out = out or f"{stem(request.file)}.{method.name}.run"
    check_free(out, request.file, method.name)
    options = {**request.options, **read_for(method)}
    table = _open_for(method, request.file, options, given)
    with Stages(message_log().quiet) as stages:
        stages.now = method.name
        asked: dict[str, Any] = {"dims": request.dims, "clusters": given.clusters, "views": given.views}
        asked["label"] = _class_column(request) if method.asks == "classes" else None
        fitted = fit_method(table, method.name, **asked, random_state=request.seed, options=given.settings)
    folder = save_fitted(fitted, out, options=options, command=command_line())
    if request.as_json:
        p = fitted.places
        print_json(
            method=method.name,
            sentence=fitted.text().split("\n")[0],
            found=fitted.found.split("\n") if fitted.found else [],
            scores=p.z,
            std=p.sd,
            cluster=p.cluster,
            log_density=p.density,
            rows=dict(p.more),
            certificate=fitted.model.certificate_,
            run=str(folder),
        )
    else:
        files = ("scores.csv", "fills.csv") if fitted.mixed is not None else ("scores.csv",)
        say(f"{fitted.text()}\nRun     {run_files(folder, *files)}")
    _say_how_options_are_given(fitted.model.get_params())
    if not fitted.model.certificate_.converged:
        complain("The fit did not converge; the results are saved and marked so.")
        raise Done(130 if fitted.model.certificate_.reason == INTERRUPTED else 5)


def _open_for(method: ModelEntry, file: str, options: dict[str, Any], given: ModelOptions) -> Table:
    """The table as this method takes it: columns whose likelihood is declared are not taken in logarithms."""
    from lowdim.jobs.mixed_model import parse_likelihoods

    declared = parse_likelihoods(given.settings.get("likelihoods", {})) if method.kinds else {}
    return open_table(file, options, declared, takes_labels=method.kinds or method.asks == "classes")


def _say_how_options_are_given(options: Mapping[str, Any]) -> None:
    """Where the fix of a message names options of the model, how a command gives them."""
    log = message_log()
    words = set(re.findall(r"\w+", " ".join(str(message.fix) for message in log.messages)))
    named = [name for name in options if name in words]
    if named and not log.quiet:
        complain(f"Options of the model that a fix names: {' '.join(f'--set {name}=...' for name in named)}")


def _refuse_options_of_the_main_job(request: Request) -> None:
    where = click.get_current_context().get_parameter_source
    for option in ("level", "budget", "rotate"):
        if where(option) not in (None, click.core.ParameterSource.DEFAULT):
            raise click.UsageError(f"--{option} is the main job's; a single model has no use for it")
    if request.options.get("stream"):
        raise click.UsageError(
            "--stream fits the main job's model; in Python every model takes a file: "
            "lowdim.PPCA(5).fit('cells.parquet')"
        )


def _class_column(request: Request) -> str | None:
    """The column of classes: the first that --label names."""
    labels = request.options.get("label") or ()
    return str(labels[0]) if labels else None


def _check_sizes(method: ModelEntry, dims: int | str, given: ModelOptions) -> None:
    """An option that the method has no use for is not passed over in silence."""
    if given.views is not None and method.asks != "views":
        raise click.UsageError(f"--views does nothing for {method.name}: it is for -m cca")
    if given.clusters is not None and not method.lack("map"):
        raise click.UsageError(f"--clusters does nothing for {method.name}: it has no clusters")
    if dims != "auto" and method.lack("map") and not method.local:
        raise click.UsageError(
            f"--dims does nothing for {method.name}: its clusters have no axes; --clusters says how many"
        )
