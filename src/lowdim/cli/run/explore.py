"""explore: a page on this computer in which the model can be touched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.entry import command
from lowdim.cli.main_job import analysed, command_line, kept_options
from lowdim.cli.options import BUDGET, DIMS, LEVEL, ROBUST, SEED, asking, is_run, stem
from lowdim.cli.output import complain, message_log, plain, print_json, say

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Settings
    from lowdim.jobs.run_folder import SavedRun


@command(
    "Touch the model in the browser: hide cells, draw round groups, drag places.",
    example="lowdim explore table.run",
    rank=12,
)
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
@click.option("--view", default="", metavar="WORDS", help="Open this view: what follows # in the page's address.")
@asking(DIMS, LEVEL, SEED, BUDGET, ROBUST)
def explore_command(
    file: str, options: dict[str, Any], settings: Settings, as_json: bool, no_browser: bool, view: str
) -> None:
    """A page on this computer alone, of a run folder or of a table, which is analysed first; Ctrl-C ends it."""
    from lowdim.explorer.endpoints import Endpoints
    from lowdim.explorer.server import serving
    from lowdim.jobs.table_model import subject

    endpoints = Endpoints(subject(run_of(file, options, settings)))
    _ = endpoints.facts  # what is wrong is said here, not in the page
    with serving(endpoints) as server:
        address = server.address + (f"#{view.removeprefix('#')}" if view else "")
        if as_json:
            print_json(address=address)
        else:
            say(f"Explorer at {address}   this computer only; Ctrl-C stops it. No data leave the machine.")
        if not no_browser:
            import webbrowser

            webbrowser.open(address)
        wait()


def wait() -> None:
    """Until Ctrl-C."""
    import sys
    import threading

    sys.stdout.flush()
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        complain("Stopped.")  # on stderr: with --json, stdout holds one object


def run_of(file: str, options: dict[str, Any], settings: Settings) -> SavedRun:
    """The run folder; of a table its own, which is made first unless it is there and of this very table."""
    from lowdim.jobs.run_folder import check_free, load_run, save_run

    if is_run(file):
        refuse_options(file, options, settings)
        run = load_run(file)
        run.check_table()
        return run
    folder = f"{stem(file)}.run"
    found = kept_run(file, options, settings, folder)
    if found is not None:
        tell(f"Run     {folder}/ is there, of this table with these settings: opened as it is.")
        return found
    check_free(folder, file)
    replaces = is_run(folder)
    analysis = analysed(file, options, settings, folder)
    saved = save_run(analysis, folder, options=kept_options(options), command=command_line())
    tell(f"Run     {folder}/ {'replaced: it was made with other settings' if replaces else 'written'}.")
    return load_run(saved)


def kept_run(file: str, options: dict[str, Any], settings: Settings, folder: str) -> SavedRun | None:
    """The run that is there already, where it is of this table as it is now, with these settings."""
    from lowdim.jobs.run_folder import load_run
    from lowdim.text.messages import LowdimError

    if not is_run(folder):
        return None
    try:
        run = load_run(folder)
        _ = run.analysis  # which the run of one model has not
        run.check_table()
        alike = Path(run.path).resolve() == Path(file).resolve() and run.options == plain(kept_options(options))
        asked = settings._replace(scale=run.settings.scale)  # which is an option of reading
        return run if run.has_model and alike and run.settings == asked else None
    except LowdimError:
        return None  # of another table, or of what this one was: check_free decides


def refuse_options(file: str, options: dict[str, Any], settings: Settings) -> None:
    """A run has been made: what decides how one is made is not passed over in silence."""
    where = click.get_current_context().get_parameter_source
    given = [
        f"--{k}" for k in ("dims", "level", "seed", "budget") if where(k) is click.core.ParameterSource.COMMANDLINE
    ]
    given += [] if settings.robust else ["--not-robust"]
    if given or options:
        what = f"{', '.join(given) or 'an option of reading'} decides how a table is analysed"
        raise click.UsageError(f"{what}; '{file}' is a run, which was. Give the table's file instead")


def tell(text: str) -> None:
    """What becomes of files, on stderr: stdout holds the address."""
    if not message_log().quiet:
        complain(text)
