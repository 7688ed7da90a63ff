"""runs: list run folders, or compare two."""

from __future__ import annotations

from pathlib import Path

import click

from lowdim.cli.command import command
from lowdim.cli.options import common_options
from lowdim.cli.output import print_json, say
from lowdim.text.table import text_table


@command(
    "List run folders, or compare two.",
    example="lowdim runs .",
    rank=13,
)
@click.argument("folders", nargs=-1)
@common_options
def runs_command(folders: tuple[str, ...], quiet: bool, as_json: bool) -> None:
    """List the run folders in a folder, or say in what two run folders differ."""
    if len(folders) > 2:
        raise click.UsageError("give one folder that holds runs, or two run folders")
    if len(folders) == 2:
        print_differences(*folders, as_json=as_json)
        return
    folder = Path(folders[0] if folders else ".")
    if not folder.is_dir():
        raise click.BadParameter(f"'{folder}' is not a folder", param_hint="FOLDERS")
    paths = sorted(path.parent for path in (*folder.glob("run.json"), *folder.glob("*/run.json")))
    listed = [(str(path), *one_run(path)) for path in paths]
    if as_json:
        print_json(runs=[dict(zip(("run", "table", "verdict"), row, strict=True)) for row in listed])
    else:
        say("\n".join(text_table(listed, indent="")) or f"No run folders in {folder}.")


def one_run(folder: Path) -> tuple[str, str]:
    """The shape of a run's table, and its first sentence."""
    from lowdim.jobs.run_folder import load_run
    from lowdim.text.messages import LowdimError

    try:
        run = load_run(folder)
    except LowdimError:
        return "", "run.json cannot be read"
    shape = f"{run.facts['table']['rows']} x {len(run.names)}"
    return shape, run.sentences[0] if run.sentences else "stopped before it was finished"


def print_differences(first: str, second: str, *, as_json: bool) -> None:
    """What was asked and found in two runs, where they differ."""
    from lowdim.jobs.run_folder import differences, load_run

    changes = differences(load_run(first), load_run(second))
    if as_json:
        print_json(differences=list(changes))
    elif not changes:
        say(f"{first} and {second} do not differ.")
    else:
        say("\n".join(f"{d.what}\n  {first}: {d.first}\n  {second}: {d.second}" for d in changes))
