"""plan: what a fit to a large file will take."""

from __future__ import annotations

from pathlib import Path

import click

from lowdim.cli.command import command
from lowdim.cli.options import common_options
from lowdim.cli.output import print_json, say


@command(
    "What a fit to a large file will take: passes, seconds, memory.",
    example="lowdim plan table.csv --memory 2GB",
    rank=5,
)
@click.argument("file")
@click.option("--dims", type=click.IntRange(0), metavar="K", help="How many dimensions [default: 10].")
@click.option(
    "--method", type=click.Choice(["ppca", "pca", "fa"]), default="ppca", show_default=True, help="Which model."
)
@click.option("--memory", metavar="TEXT", help="Memory to use, e.g. 2GB [default: what is free].")
@common_options
def plan_command(file: str, dims: int | None, method: str, memory: str | None, quiet: bool, as_json: bool) -> None:
    """What a fit to FILE will take: passes, bytes, seconds and memory, before anything runs."""
    from lowdim.jobs.forecast import forecast
    from lowdim.table.options import check_options
    from lowdim.text.escape import protect_terminal, shell_word

    plan = forecast(file, method=method, dims=dims, memory=check_options({"memory": memory}).memory)
    if as_json:
        print_json(**plan._asdict(), seconds=plan.seconds, fits=plan.fits)
        return
    say(plan.text())
    if plan.fits and method == "ppca":
        dash = "./" if Path(file).name == file and file.startswith("-") else ""
        limit = f" --memory {memory}" if memory else ""
        say(f"Run it:  lowdim report {shell_word(protect_terminal(dash + file))} --stream{limit}")
