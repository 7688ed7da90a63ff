"""compare: methods side by side on one table."""

from __future__ import annotations

from typing import Any

import click

from lowdim.cli.common import open_table, print_json, reading, said, say, table_options
from lowdim.cli.main_job import BUDGET, DIMS, SEED
from lowdim.cli.progress import Interrupts, Stages


@click.command("compare")
@click.argument("file")
@click.option(
    "-m",
    "--methods",
    default="pca,ppca,fa",
    show_default=True,
    metavar="NAMES",
    help="Methods, with commas between; PCA and a random projection are always there.",
)
@DIMS
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
@SEED
@BUDGET
@table_options
def compare_command(
    file: str,
    methods: str,
    dims: int | str,
    clusters: int,
    seeds: int | None,
    maps: tuple[str, ...],
    seed: int,
    budget: str | None,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Compare methods on the same hidden cells, with the spread beside every figure."""
    from lowdim.judge.compare.compare import compare, names_of
    from lowdim.judge.maps.read_map import read_map

    names = names_of(methods)  # before the table is read: a name mistyped costs nothing
    table = open_table(file, reading(given))
    places = {name: read_map(path, table) for name, path in zip(map_names(maps), maps, strict=True)}
    with Interrupts() as interrupts, Stages(said().quiet, interrupts) as stages:
        stages.now = names[0]

        def told(name: str, title: str) -> bool:
            stop = bool(stages(name, title))
            stages.now = names[min(names.index(name) + 1, len(names) - 1)]  # what is under way
            return stop

        found = compare(
            table,
            methods,
            dims=dims,
            clusters=clusters,
            seeds=seeds,
            random_state=seed,
            budget=budget,
            maps=places,
            tell=told,
        )
    if as_json:
        rows = [
            {
                **row._asdict(),
                "measures": {
                    key: {"mean": m.mean, "spread": m.spread, "values": m.values, "why": m.why, "best": m.best}
                    for key, m in row.measures.items()
                },
            }
            for row in found.rows
        ]
        facts = found._asdict()
        print_json(**{**facts, "rows": rows, "sentences": list(found.sentences)})
    else:
        say(found.text(terminal_width()))


def map_names(paths: tuple[str, ...]) -> list[str]:
    """Files by their names, a run's scores with the run's, or whole paths where two are called the same."""
    from pathlib import PurePath

    names = ["/".join(PurePath(path).parts[-2 if PurePath(path).name == "scores.csv" else -1 :]) for path in paths]
    return [path if names.count(name) > 1 else name for name, path in zip(names, paths, strict=True)]


def terminal_width() -> int:
    """Characters in a line of the terminal, 80 where there is none."""
    import shutil

    return shutil.get_terminal_size((80, 24)).columns
