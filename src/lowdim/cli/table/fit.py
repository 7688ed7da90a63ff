"""fit: analyse and save a run folder, or fit one model by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lowdim.cli.entry import command
from lowdim.cli.main_job import analysed, command_line, finish, found_facts, kept_options, open_table, run_files
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
    asking,
    group_options,
    stem,
)
from lowdim.cli.output import Done, complain, message_log, show
from lowdim.cli.progress import Stages

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Settings
    from lowdim.registry import ModelEntry


@command("Analyse and save a run folder, without a report.", example="lowdim fit table.csv -o table.run", rank=3)
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
@asking(DIMS, LEVEL, SEED, BUDGET, ROBUST, ROTATE, group_options, STREAM, CHECKPOINT)
def fit_command(
    file: str,
    options: dict[str, Any],
    settings: Settings,
    as_json: bool,
    out: str | None,
    method: str | None,
    clusters: int | None,
    views: str | None,
    own: dict[str, Any],
) -> None:
    """Analyse a table and save a run folder, without a report; or fit one model by its name."""
    from lowdim.jobs.run_folder import check_free, save_run

    if method is not None:
        return fit_one(file, options, settings, method, ModelOptions(clusters, views, own), out, as_json=as_json)
    out = out or f"{stem(file)}.run"
    check_free(out, file)
    for flag, given in (("--clusters", clusters), ("--views", views), ("--set", own)):
        if given:
            raise click.UsageError(f"{flag} goes with --method; lowdim methods lists them")
    analysis = analysed(file, options, settings, out)
    folder = save_run(analysis, out, options=kept_options(options), command=command_line())
    facts = found_facts(analysis, options, run=str(folder)) if as_json else {}
    show(as_json, f"{analysis!r}\nRun     {run_files(folder)}", **facts)
    finish(analysis, bool(options.get("strict")))
    return None


class ModelOptions(NamedTuple):
    """What goes with --method."""

    clusters: int | None
    views: str | None
    own: dict[str, Any]  # of the model


def fit_one(
    file: str,
    options: dict[str, Any],
    settings: Settings,
    name: str,
    given: ModelOptions,
    out: str | None,
    *,
    as_json: bool,
) -> None:
    """Fit one model by its name and save it as a run folder."""
    from lowdim.engine.fit import INTERRUPTED
    from lowdim.jobs.model_inputs import parse_likelihoods
    from lowdim.jobs.one_model import fit_method, read_for, save_fitted
    from lowdim.jobs.run_folder import check_free
    from lowdim.registry import FITTED, find_method

    _refuse_options_of_the_main_job(options)
    method = find_method(name, FITTED)
    _check_sizes(method, settings.dims, given)
    out = out or f"{stem(file)}.{method.name}.run"
    check_free(out, file, method.name)
    options = {**options, **read_for(method)}
    # columns whose likelihood is declared are not taken in logarithms
    declared = parse_likelihoods(given.own.get("likelihoods", {})) if method.kinds else {}
    labelled = method.asks == "classes"
    table = open_table(file, options, declared, takes_labels=method.kinds or labelled)
    with Stages(message_log().quiet) as stages:
        stages.now = method.name
        fitted = fit_method(
            table,
            method.name,
            dims=settings.dims,
            clusters=given.clusters,
            views=given.views,
            label=next(iter(options.get("label") or ()), None) if labelled else None,  # the first that --label names
            random_state=settings.seed,
            options=given.own,
        )
    folder = save_fitted(fitted, out, options=options, command=command_line())
    files = [name for name in ("scores.csv", "fills.csv", "odd.csv") if (folder / name).is_file()]
    show(as_json, f"{fitted.text()}\nRun     {run_files(folder, *files)}", **fitted.facts(), run=str(folder))
    _say_how_options_are_given(fitted.model.get_params())
    if not fitted.model.certificate_.converged:
        complain("The fit did not converge; the results are saved and marked so.")
        raise Done(130 if fitted.model.certificate_.reason == INTERRUPTED else 5)


def _say_how_options_are_given(options: Mapping[str, Any]) -> None:
    """Where the fix of a message names options of the model, how a command gives them."""
    log = message_log()
    words = set(re.findall(r"\w+", " ".join(str(message.fix) for message in log.messages)))
    named = [name for name in options if name in words]
    if named and not log.quiet:
        complain(f"Options of the model that a fix names: {' '.join(f'--set {name}=...' for name in named)}")


def _refuse_options_of_the_main_job(options: dict[str, Any]) -> None:
    where = click.get_current_context().get_parameter_source
    for option in ("level", "budget", "rotate", "groups"):
        if where(option) not in (None, click.core.ParameterSource.DEFAULT):
            raise click.UsageError(f"--{option} is the main job's; a single model has no use for it")
    if options.get("stream"):
        raise click.UsageError(
            "--stream fits the main job's model; in Python every model takes a file: "
            "lowdim.PPCA(5).fit('cells.parquet')"
        )


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
