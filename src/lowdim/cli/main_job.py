"""check, dims, fit, report: the main job and its parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lowdim.cli.common import (
    Done,
    complain,
    hear,
    is_run,
    open_table,
    print_json,
    reading,
    said,
    say,
    stem,
    table_options,
)
from lowdim.cli.progress import Interrupts, Stages
from lowdim.cli.streaming import CHECKPOINT, STREAM, analysis_of, or_stream, streamed

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis
    from lowdim.registry import ModelEntry


def asked_dims(context: click.Context, option: click.Parameter, dims: str) -> int | str:
    """The --dims option as `analyse` wants it."""
    if dims == "auto":
        return dims
    if not dims.isdigit():
        raise click.BadParameter(f"'{dims}' is neither auto nor a whole number")
    return int(dims)


DIMS = click.option("--dims", default="auto", metavar="K", callback=asked_dims, help="auto, or how many dimensions.")
LEVEL = click.option("--level", default=0.9, show_default=True, help="Level of the intervals.")
SEED = click.option("--seed", default=0, show_default=True, help="Seed of everything that is drawn.")
BUDGET = click.option(
    "--budget",
    metavar="TIME",
    help="About how long, e.g. 30s: sets how often the slow parts "
    "repeat, from the table's size and never from the clock.",
)


class Asked(NamedTuple):
    """A table and what to do with it."""

    file: str
    options: dict[str, Any]  # of reading
    dims: int | str = "auto"
    level: float = 0.9
    seed: int = 0
    budget: str | float | None = None

    @property
    def strict(self) -> bool:
        return bool(self.options.get("strict"))


def again(asked: Asked) -> Asked:
    """The same for a run folder: the table and the settings it was made from."""
    if not is_run(asked.file):
        return asked
    from lowdim.jobs.run_folder import load_run

    run = load_run(asked.file)
    run.check_analysis()
    if run.has_model:
        _ = run.table  # unchanged since then, or an error
    s = run.settings
    return Asked(run.path, run.options, s.dims, s.level, s.seed, s.budget)


def command_line() -> str:
    """The command as it was given, for run.json."""
    import shlex
    import sys

    from lowdim.text.escape import protect_terminal

    given = click.get_current_context().find_root().meta.get("lowdim.arguments", sys.argv[1:])
    return protect_terminal(shlex.join(["lowdim", *given]))


def analysed(asked: Asked, folder: str | None = None) -> Analysis:
    """The analysis of a file, told stage by stage; Ctrl-C saves what there is in the run folder."""
    from lowdim.jobs.analysis import Stopped

    with or_stream(asked.options):
        work = analysis_of(asked) if asked.options.get("stream") else whole_analysis(asked)
    with Interrupts() as interrupts, Stages(said().quiet, interrupts) as stages:
        try:
            found = work(dims=asked.dims, level=asked.level, random_state=asked.seed, budget=asked.budget, tell=stages)
            hear(found.gaps.notes())
            return found
        except Stopped as stopped:
            if folder is None:
                raise
            from lowdim.jobs.run_folder import save_run

            save_run(stopped.partial, folder, options=kept(asked), command=command_line())
            had = [name for name in ("jury", "model", "fills", "odd") if getattr(stopped.partial, name) is not None]
            complain(
                f"Stopped. {folder}/ holds what there is ({', '.join(had) or 'the settings only'}) and is "
                "marked as not finished."
            )
            raise Done(130) from None


def whole_analysis(asked: Asked) -> Callable[..., Analysis]:
    """The analysis of a file that is read whole."""
    from functools import partial

    from lowdim.jobs.analysis import analyse

    table = open_table(asked.file, asked.options)
    return partial(analyse, table, scale=table.scale)


def kept(asked: Asked) -> dict[str, Any]:
    """The options of reading that a run remembers: those that decide what was read."""
    return {
        key: value
        for key, value in asked.options.items()
        if not (asked.options.get("stream") and key in ("memory", "checkpoint"))
    }


@click.command("check")
@click.argument("file")
@click.option("--all", "everything", is_flag=True, help="Every column and every message.")
@table_options
def check_command(file: str, everything: bool, quiet: bool, as_json: bool, **given: Any) -> None:
    """Is the table usable, and what would be changed? No model is fitted."""
    from lowdim.table.describe import gaps_of, page, span
    from lowdim.table.read import read

    options = reading(given)
    strict = options.pop("strict", False)
    table = read(file, **options)
    if as_json:
        said().facts += [_facts(m) for m in table.messages]
        columns = [
            {"name": c.name, "role": c.role, "gaps": gaps_of(c), "range": span(c), "note": c.note}
            for c in table.columns
        ]
        print_json(name=table.name, rows=table.n, columns=columns, read_as=str(table.guess))
    else:
        say(page(table, everything=everything).rstrip())
        if not quiet and table.messages:
            complain(table.messages.text(everything=everything))
    if strict and table.messages.changed:
        complain("--strict: the table would be changed")
        raise Done(1)


def _facts(m: Any) -> dict[str, str]:
    from lowdim.jobs.run_folder import message_facts

    return message_facts(m)


@click.command("dims")
@click.argument("file")
@SEED
@BUDGET
@table_options
def dims_command(file: str, seed: int, budget: str | None, quiet: bool, as_json: bool, **given: Any) -> None:
    """How many dimensions the table has, with every judge's vote."""
    from lowdim.judge.budget import counts
    from lowdim.judge.dimensions.jury import choose_dimension
    from lowdim.sources.arrays import ArraySource
    from lowdim.text.format import parse_duration

    table = open_table(file, reading(given))
    often = counts(parse_duration(budget), table.n, table.d)
    X = ArraySource(table.X, columns=table.names)
    jury = choose_dimension(
        X, standardize=table.scale == "unit", random_state=seed, shuffles=often.shuffles, folds=often.folds
    )
    if as_json:
        print_json(
            dims=jury.q,
            sentence=jury.sentence,
            rows=list(jury.rows),
            judges=list(jury.judges),
            paired=list(jury.paired),
            notes=list(jury.notes),
        )
    else:
        say(jury.text())


@click.command("fit")
@click.argument("file")
@click.option("-o", "--out", help="Run folder to write [default: NAME.run, or NAME.METHOD.run].")
@click.option("-m", "--method", metavar="NAME", help="Fit this one model instead; lowdim methods lists them.")
@click.option(
    "--clusters", type=click.IntRange(1), metavar="K", help="With --method: how many clusters [default: by evidence]."
)
@DIMS
@LEVEL
@SEED
@BUDGET
@STREAM
@CHECKPOINT
@table_options
def fit_command(
    file: str,
    out: str | None,
    method: str | None,
    clusters: int | None,
    dims: int | str,
    level: float,
    seed: int,
    budget: str | None,
    stream: bool,
    checkpoint: str | None,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Analyse a table and save a run folder, without a report; or fit one model by its name."""
    from lowdim.jobs.run_folder import check_free, save_run

    asked = Asked(file, streamed(reading(given), stream, checkpoint), dims, level, seed, budget)
    if method is not None:
        return fit_one(asked, method, clusters, out, as_json=as_json)
    out = out or f"{stem(file)}.run"
    check_free(out, file)
    if clusters is not None:
        raise click.UsageError("--clusters goes with --method; lowdim methods lists them")
    found = analysed(asked, out)
    folder = save_run(found, out, options=kept(asked), command=command_line())
    if as_json:
        print_found(found, asked, run=str(folder))
    else:
        say(f"{found!r}\nRun     {_files(folder)}")
    finish(found, asked.strict)
    return None


def fit_one(asked: Asked, name: str, clusters: int | None, out: str | None, *, as_json: bool) -> None:
    """Fit one model by its name and save it as a run folder."""
    from lowdim.jobs.one_model import fit_method, save_fitted
    from lowdim.jobs.run_folder import check_free
    from lowdim.registry import FITTED, find_method

    where = click.get_current_context().get_parameter_source
    for option in ("level", "budget"):
        if where(option) not in (None, click.core.ParameterSource.DEFAULT):
            raise click.UsageError(f"--{option} is the main job's; a single model has no use for it")
    if asked.options.get("stream"):
        raise click.UsageError(
            "--stream fits the main job's model; in Python every model takes a file: "
            "lowdim.PPCA(5).fit('cells.parquet')"
        )
    method = find_method(name, FITTED)
    _check_sizes(method, asked.dims, clusters)
    out = out or f"{stem(asked.file)}.{method.name}.run"
    check_free(out, asked.file, method.name)
    table = open_table(asked.file, asked.options)
    with Stages(said().quiet) as stages:
        stages.now = method.name
        found = fit_method(table, method.name, dims=asked.dims, clusters=clusters, random_state=asked.seed)
    folder = save_fitted(found, out, options=asked.options, command=command_line())
    if as_json:
        p = found.places
        print_json(
            method=method.name,
            sentence=found.text().split("\n")[0],
            scores=p.z,
            std=p.sd,
            cluster=p.cluster,
            log_density=p.density,
            certificate=found.model.certificate_,
            run=str(folder),
        )
    else:
        say(f"{found.text()}\nRun     {_files(folder, 'scores.csv')}")
    if not found.model.certificate_.converged:
        complain("The fit did not converge; the results are saved and marked so.")
        raise Done(130 if found.model.certificate_.reason.startswith("interrupted") else 5)


def _check_sizes(method: ModelEntry, dims: int | str, clusters: int | None) -> None:
    """An option that the method has no use for is not passed over in silence."""
    if clusters is not None and not method.no_map:
        raise click.UsageError(f"--clusters does nothing for {method.name}: it has no clusters")
    if dims != "auto" and method.no_map and not method.local:
        raise click.UsageError(f"--dims does nothing for {method.name}: its clusters have no axes of their own")


@click.command("report")
@click.argument("file")
@click.option("-o", "--out", help="Report to write [default: NAME.report.html].")
@click.option("--no-rows", is_flag=True, help="No row values and no row names in the report.")
@DIMS
@LEVEL
@SEED
@BUDGET
@STREAM
@CHECKPOINT
@table_options
def report_command(
    file: str,
    out: str | None,
    no_rows: bool,
    dims: int | str,
    level: float,
    seed: int,
    budget: str | None,
    stream: bool,
    checkpoint: str | None,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """The whole analysis: five sentences, an HTML report and a run folder. FILE may be a run folder."""
    asked = Asked(file, streamed(reading(given), stream, checkpoint), dims, level, seed, budget)
    name = stem(file)
    found, path, folder = reported(
        again(asked),
        out or f"{name}.report.html",
        file if is_run(file) else f"{name}.run",
        rows=not no_rows,
        quiet=as_json,
    )
    if as_json:
        print_found(found, asked, report=str(path), run=str(folder))
    finish(found, asked.strict)


def reported(asked: Asked, report: str, run: str, *, rows: bool, quiet: bool) -> tuple[Analysis, Path, Path]:
    """Analyse, save the run, say the sentences, then draw: whoever stops early has the numbers."""
    from lowdim.jobs.run_folder import check_free, save_run
    from lowdim.storage.atomic import replacing

    check_free(run, asked.file)
    found = analysed(asked, run)
    folder = save_run(found, run, options=kept(asked), command=command_line())
    if not quiet:
        say("".join(f"  {number}. {sentence}\n" for number, sentence in enumerate(found.sentences, 1)))
    try:
        from lowdim.report import write_report

        with Stages(said().quiet) as stages, replacing(report) as temp:
            stages.now = "report"
            write_report(found, temp, rows=rows)
            stages("report", f"{temp.stat().st_size / 1e6:.1f} MB")
    except KeyboardInterrupt:
        complain(f"Stopped. {folder}/ is complete; the report was not written:  lowdim report {folder}")
        raise Done(130) from None
    path = Path(report)
    if not quiet:
        say(f"  Report  {path}   ({path.stat().st_size / 1e6:.1f} MB, opens offline)\n  Run     {_files(folder)}")
    return found, path, folder


def _files(folder: Path, *names: str) -> str:
    return f"{folder}/   run.json model.lowdim {' '.join(names or ('scores.csv', 'fills.csv', 'odd.csv'))}"


def print_found(found: Analysis, asked: Asked, **facts: Any) -> None:
    """An analysis as one JSON object."""
    from lowdim.jobs.run_folder import describe

    told = describe(found, kept(asked), command_line())
    print_json(
        **facts,
        **{key: value for key, value in told.items() if key not in ("schema", "messages")},
        axes=list(found.axes),
        odd=list(found.odd.rows),
        fills=list(found.fills.columns),
        dimensions=list(found.jury.rows),
    )


def finish(found: Analysis, strict: bool) -> None:
    """Exit code 5 where the fit did not converge; 1 where a check of the trust strip failed and that matters."""
    if not found.model.converged_:
        complain("The fit did not converge; the results are saved and marked so.")
        raise Done(5)
    failed = [check for check in found.trust if check.holds is False]
    if strict and failed:
        complain("--strict: " + "; ".join(f"not so: {check.name} ({check.evidence})" for check in failed))
        raise Done(1)
