"""The command `lowdim`; everything heavy is imported when it is needed."""
from __future__ import annotations

import sys

import click

from lowdim import __version__
from lowdim.messages import LowdimError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lowdim")
def commands() -> None:
    """What is this table really made of?"""


@commands.command()
@click.argument("name", default="wine")
@click.option("--seed", default=0, show_default=True, help="Which cells are hidden.")
def demo(name: str, seed: int) -> None:
    """Fit a table that ships with lowdim (wine or gaussian), with gaps made on purpose."""
    from lowdim.cli.demo import show

    click.echo(show(name, seed))


def main() -> None:
    """Run the command; a lowdim error is a message, never a traceback."""
    try:
        commands.main(standalone_mode=True)
    except LowdimError as problem:
        click.echo(str(problem), err=True)
        sys.exit(4)
