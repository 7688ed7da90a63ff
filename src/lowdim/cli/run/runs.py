"""runs: list run folders."""

from __future__ import annotations

from pathlib import Path

import click

from lowdim.cli.entry import command
from lowdim.cli.options import common_options
from lowdim.cli.output import show
from lowdim.text.table import text_table


@command("List run folders.", example="lowdim runs .", rank=13)
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False))
@common_options
def runs_command(folder: str, quiet: bool, as_json: bool) -> None:
    """List the run folders in FOLDER, the current one unless another is named."""
    here = Path(folder)
    paths = sorted(path.parent for path in (*here.glob("run.json"), *here.glob("*/run.json")))
    listed = [(str(path), *one_run(path)) for path in paths]
    text = "\n".join(text_table(listed, indent="")) or f"No run folders in {folder}."
    show(as_json, text, runs=[dict(zip(("run", "table", "verdict"), row, strict=True)) for row in listed])


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
