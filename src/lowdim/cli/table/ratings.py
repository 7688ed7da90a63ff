"""ratings: users, items and marks: what the tastes are, how well marks are predicted, what to recommend."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lowdim.cli.entry import command
from lowdim.cli.options import DIMS, SEED, common_options, stem
from lowdim.cli.output import Done, complain, message_log, show
from lowdim.cli.progress import Stages
from lowdim.text.table import text_table

if TYPE_CHECKING:
    from lowdim.models.ratings.factorization import MatrixFactorization
    from lowdim.models.ratings.predictions import Recommended

REPORT = "report.html"


@command(
    "Ratings of items by users: tastes, predictions, recommendations.",
    example="lowdim ratings ratings.csv --user 7",
    rank=14,
)
@click.argument("file")
@click.option("-o", "--out", help="Folder to write [default: NAME.ratings].")
@click.option("--columns", metavar="USER,ITEM,RATING", help="The three columns, where their names do not say it.")
@click.option("--items", metavar="FILE", help="What the items are called: ids in the first column, and names.")
@click.option("--user", "users", multiple=True, metavar="ID", help="Recommend to this user; may be given again.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Items recommended.")
@click.option(
    "--duplicates",
    type=click.Choice(["error", "mean", "last"]),
    default="error",
    show_default=True,
    help="What several ratings of one item by one user mean.",
)
@DIMS
@SEED
@common_options
def ratings_command(
    file: str,
    out: str | None,
    columns: str | None,
    items: str | None,
    users: tuple[str, ...],
    top: int,
    duplicates: str,
    dims: int | str,
    seed: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Learn users and items from FILE, a row for each rating: user, item, rating.

    FILE may be a folder that was written before: nothing is fitted then, and --user says whom to recommend to.
    """
    from lowdim.jobs.ratings import item_names, learn_ratings, load_rated, save_rated
    from lowdim.report.ratings_page import write_ratings

    if Path(file).is_dir() and (Path(file) / "model.lowdim").exists():
        model = load_rated(file)
        if not users:
            raise click.UsageError("--user says whom to recommend to; a file of ratings is what is learnt from")
        found = recommended(model, users, top)
        names = {} if items is None else item_names(items)
        return show(as_json, listed(found, names), recommended=found)
    three = _three(columns)
    with Stages(message_log().quiet) as stages:
        stages.now = "ratings"
        rated = learn_ratings(file, columns=three, dims=dims, duplicates=duplicates, random_state=seed, items=items)
        stages("ratings", f"{rated.ratings:,} learnt, {rated.model.n_iter_} sweeps")
    found = recommended(rated.model, users, top)
    folder = save_rated(rated, out or f"{stem(file)}.ratings")
    write_ratings(rated, found, folder / REPORT)
    files = f"Folder  {folder}/   model.lowdim users.csv items.csv {REPORT}\nNext    lowdim ratings {folder} --user ID"
    text = "\n".join([rated.text(), *([listed(found, rated.names) + "\n"] if found else []), files])
    show(as_json, text, **rated.facts(), recommended=found, folder=str(folder))
    if not rated.model.converged_:
        complain("The fit did not converge; the results are saved.")
        raise Done(5)
    return None


def _three(columns: str | None) -> tuple[str, str, str] | None:
    from lowdim.table.options import split_names

    names = split_names(columns)
    if columns is not None and len(names) != 3:
        raise click.BadParameter(f"'{columns}' is not three columns: user, item, rating", param_hint="--columns")
    return (names[0], names[1], names[2]) if names else None


def recommended(model: MatrixFactorization, users: tuple[str, ...], top: int) -> dict[str, Recommended]:
    """What to recommend, by user."""
    from lowdim.jobs.ratings import recommend

    return {user: recommend(model, user, top) for user in users}


def listed(found: dict[str, Recommended], names: Mapping[str, str]) -> str:
    """Recommendations as text: the item, the rating expected, and the sd of a rating."""
    lines: list[str] = []
    for user, best in found.items():
        called = [names.get(str(item), str(item)) for item in best.items.tolist()]
        lines.append(f"Recommended to {user} (rating expected, +- sd of one):")
        ratings = zip(called, best.mean, best.std, strict=True)
        lines += text_table((item, f"{mean:.2f} +- {sd:.2f}") for item, mean, sd in ratings)
    return "\n".join(lines)
