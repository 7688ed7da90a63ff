"""compare: methods side by side on one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.entry import command
from lowdim.cli.main_job import open_table
from lowdim.cli.options import BUDGET, DIMS, SEED, asking
from lowdim.cli.output import message_log, show
from lowdim.cli.progress import Interrupts, Stages

if TYPE_CHECKING:
    from lowdim.jobs.analysis import Settings


@command("Methods side by side on the same hidden cells.", example="lowdim compare table.csv -m ppca,fa", rank=6)
@click.option(
    "-m",
    "--methods",
    default="pca,ppca,fa",
    show_default=True,
    metavar="NAMES",
    help="Methods, with commas between; PCA and a random projection are always there.",
)
@click.option(
    "--clusters",
    default=3,
    show_default=True,
    type=click.IntRange(1),
    metavar="K",
    help="Clusters of the methods that have any.",
)
@click.option("--seeds", type=click.IntRange(5), metavar="N", help="How often cells are hidden [default: 5].")
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="FILE",
    help="Coordinates made elsewhere, a line a row, to be judged beside them; may be given again.",
)
@asking(DIMS, SEED, BUDGET)
def compare_command(
    file: str,
    options: dict[str, Any],
    settings: Settings,
    as_json: bool,
    methods: str,
    clusters: int,
    seeds: int | None,
    maps: tuple[str, ...],
) -> None:
    """Compare methods on the same hidden cells, with the spread beside every figure."""
    from shutil import get_terminal_size

    from lowdim.judge.compare.compare import compare, names_of
    from lowdim.judge.compare.read_map import read_map

    names = names_of(methods)  # before the table is read: a name mistyped costs nothing
    table = open_table(file, options)
    places = {name: read_map(path, table) for name, path in zip(map_names(maps), maps, strict=True)}
    with Interrupts() as interrupts, Stages(message_log().quiet, interrupts) as stages:
        stages.now = names[0]

        def tell(name: str, title: str) -> bool:
            stop = bool(stages(name, title))
            stages.now = names[min(names.index(name) + 1, len(names) - 1)]  # what is under way
            return stop

        comparison = compare(
            table,
            methods,
            dims=settings.dims,
            clusters=clusters,
            seeds=seeds,
            random_state=settings.seed,
            budget=settings.budget,
            maps=places,
            tell=tell,
        )
    show(as_json, comparison.text(get_terminal_size((80, 24)).columns), **comparison.facts())


def map_names(paths: tuple[str, ...]) -> list[str]:
    """Files by their names, a run's scores with the run's, or whole paths where two are called the same."""
    from pathlib import PurePath

    names = ["/".join(PurePath(path).parts[-2 if PurePath(path).name == "scores.csv" else -1 :]) for path in paths]
    return [path if names.count(name) > 1 else name for name, path in zip(names, paths, strict=True)]
