"""The report of a list of ratings: sentences, the items rated highest, the ends of each taste, recommendations."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lowdim.jobs.ratings import in_a_row
from lowdim.report import render, time_of_day
from lowdim.report.page_parts import Grid, grid

if TYPE_CHECKING:
    from lowdim.jobs.ratings import Rated
    from lowdim.models.ratings.predictions import Recommended


class RatingsPage(NamedTuple):
    """Everything the template shows."""

    title: str
    sentences: tuple[str, ...]
    grids: tuple[Grid, ...]
    certificate: str


def ratings_page(rated: Rated, found: Mapping[str, Recommended]) -> RatingsPage:
    """The page's content."""
    tastes = [(f"taste {k}", in_a_row(more), in_a_row(less)) for k, more, less in rated.tastes()]
    grids = [
        grid("Rated highest by a typical user", ("item", "mean", "sd"), rated.liked()),
        grid("What each taste tells apart", ("taste", "items at one end", "at the other"), tastes),
    ]
    for user, best in found.items():
        rows = zip(map(rated.called, best.items.tolist()), best.mean.tolist(), best.std.tolist(), strict=True)
        grids.append(grid(f"Recommended to {user}", ("item", "rating expected", "sd of a rating"), rows))
    shown = tuple(one for one in grids if one.rows)
    return RatingsPage(f"What the ratings of {rated.name} say", rated.sentences, shown, rated.model.certificate_.text())


def write_ratings(rated: Rated, found: Mapping[str, Recommended], path: str | PathLike[str]) -> Path:
    """Write the report of ratings."""
    from lowdim.jobs.run_folder import write

    return write(path, render("ratings.html", page=ratings_page(rated, found), when=time_of_day()))
