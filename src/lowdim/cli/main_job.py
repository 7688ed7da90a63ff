"""The main job as a command runs it: read, analyse stage by stage, save, say, draw."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.output import Done, brief, complain, message_log, say, show_messages
from lowdim.cli.progress import Interrupts, Stages
from lowdim.cli.streaming import analysis_of_file, or_stream

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Analysis, Settings
    from lowdim.table.open_file import Raw
    from lowdim.table.table import Table

MOST_LINES = 8  # of notes before an answer, below the one of roles; one of gaps may follow


def open_table(
    file: str | Raw, options: dict[str, Any], declared: Collection[str] = (), *, takes_labels: bool = False
) -> Table:
    """Read a table, its columns on scales that suit them, and say on stderr what was found: what the columns are for,
    then a line for each kind of note; `lowdim check` has the rest.

    Columns `declared` to be something by themselves stay as they are; where the model takes labels, nothing is said of
    labels that are set aside.
    """
    from lowdim.judge.read_table import read_table
    from lowdim.table.describe import roles_line
    from lowdim.text.escape import protect_terminal, shell_word
    from lowdim.text.messages import Messages, entry_of

    table = read_table(file, declared=declared, **options)
    told = Messages(m for m in table.messages if not (takes_labels and entry_of(m).labels_aside))
    log = message_log()
    log.messages += told
    if not log.quiet:
        words = str(told)
        if words.count("\n") >= MOST_LINES:
            check = shell_word(protect_terminal(table.path)) if table.path else "FILE"
            words = "\n".join([*brief(told, MOST_LINES - 1), f"What to do about each:  lowdim check {check}"])
        complain("\n".join([roles_line(table), words] if words else [roles_line(table)]))
    return table


def what_was_asked(folder: str) -> tuple[str, dict[str, Any], Settings]:
    """The table that a run was made from, how it was read, and the settings."""
    from lowdim.jobs.run_folder import load_run

    run = load_run(folder)
    _ = run.analysis  # which the run of one model has not
    if run.has_model:
        _ = run.table  # unchanged since then, or an error
    return run.path, run.options, run.settings


def command_line() -> str:
    """The command as it was given, for run.json."""
    import shlex
    import sys

    from lowdim.text.escape import protect_terminal

    arguments = click.get_current_context().find_root().meta.get("lowdim.arguments", sys.argv[1:])
    return protect_terminal(shlex.join(["lowdim", *arguments]))


def analysed(file: str, options: dict[str, Any], settings: Settings, folder: str | None = None) -> Analysis:
    """The analysis of a file, told stage by stage; Ctrl-C saves what there is in the run folder."""
    from lowdim.jobs.analysis import Stopped, analysis_of, made_in_order

    with or_stream(options):
        if options.get("stream"):
            analysis = analysis_of_file(file, options, settings)
        else:
            analysis = analysis_of(open_table(file, options), settings)
    with Interrupts() as interrupts, Stages(message_log().quiet, interrupts) as stages:
        try:
            made_in_order(analysis, stages)
            show_messages(analysis.gaps.notes(), short=True)
            return analysis
        except Stopped:
            if folder is None:
                raise
            from lowdim.jobs.run_folder import is_finished, save_run

            if is_finished(folder):
                complain(f"Stopped. {folder}/ is the run that was there before; nothing of this one is kept.")
                raise Done(130) from None
            save_run(analysis, folder, options=kept_options(options), command=command_line())
            had = ", ".join(filter(analysis.has, ("jury", "model", "fills", "odd"))) or "the settings only"
            complain(f"Stopped. {folder}/ holds what there is ({had}) and is marked as not finished.")
            raise Done(130) from None


def kept_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options of reading that a run remembers: those that decide what was read."""
    unkept = ("memory", "checkpoint") if options.get("stream") else ()
    return {key: value for key, value in options.items() if key not in unkept}


def reported(
    file: str, options: dict[str, Any], settings: Settings, *, report: str, run: str, rows: bool, quiet: bool
) -> tuple[Analysis, Path, Path]:
    """Analyse, save the run, say the sentences, then draw: whoever stops early has the numbers."""
    from lowdim.jobs.run_folder import check_free, save_run

    check_free(run, file)
    analysis = analysed(file, options, settings, run)
    folder = save_run(analysis, run, options=kept_options(options), command=command_line())
    if not quiet:
        say("".join(f"  {number}. {sentence}\n" for number, sentence in enumerate(analysis.sentences, 1)))
    try:
        from lowdim.report import write_report

        with Stages(message_log().quiet) as stages:
            stages.now = "report"
            path = write_report(analysis, report, rows=rows)
            stages("report", f"{path.stat().st_size / 1e6:.1f} MB")
    except KeyboardInterrupt:
        complain(f"Stopped. {folder}/ is complete; the report was not written:  lowdim report {folder}")
        raise Done(130) from None
    if not quiet:
        say(f"  Report  {path}   ({path.stat().st_size / 1e6:.1f} MB, opens offline)\n  Run     {run_files(folder)}")
        say(f"  Next    {touch_it(folder)}")
    return analysis, path, folder


def touch_it(folder: Path) -> str:
    """The command that opens the explorer of a run."""
    from lowdim.text.escape import protect_terminal, shell_word

    return f"lowdim explore {shell_word(protect_terminal(str(folder)))}"


def run_files(folder: Path, *names: str) -> str:
    """The files of a run, in a line."""
    return f"{folder}/   run.json model.lowdim {' '.join(names or ('scores.csv', 'fills.csv', 'odd.csv'))}"


def found_facts(analysis: Analysis, options: dict[str, Any], **facts: Any) -> dict[str, Any]:
    """An analysis as JSON has it: what its run.json says, and the lists that are in files of their own."""
    from lowdim.jobs.run_folder import describe

    facts_of_run = describe(analysis, kept_options(options), command_line())
    return {
        **facts,
        **{key: value for key, value in facts_of_run.items() if key not in ("schema", "messages")},
        "axes": list(analysis.axes),
        "odd": list(analysis.odd.rows),
        "groups": group_facts(analysis),
        "labels": list(analysis.labels),
        "fills": list(analysis.fills.columns),
        "dimensions": list(analysis.jury.rows),
    }


def group_facts(analysis: Analysis) -> list[dict[str, Any]]:
    """The groups that the rows fall into, each with what sets it apart."""
    from lowdim.jobs.table_model import subject

    facts = analysis.groups.facts()
    about = subject(analysis) if facts else None
    return facts if about is None else [{**one, "profile": about.group(one["group"])} for one in facts]


def finish(analysis: Analysis, strict: bool) -> None:
    """Exit code 5 where the fit did not converge; 1 where a check of the trust strip failed and that matters."""
    if not analysis.model.converged_:
        complain("The fit did not converge; the results are saved and marked so.")
        raise Done(5)
    failed = [check for check in analysis.trust if check.holds is False]
    if strict and failed:
        complain("--strict: " + "; ".join(f"not so: {check.name} ({check.evidence})" for check in failed))
        raise Done(1)
