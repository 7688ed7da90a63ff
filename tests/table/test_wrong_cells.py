"""Cells unlike the others of their column are named; what is only skew, rounded or rare is not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lowdim.table.column import Column
from lowdim.table.read import read
from lowdim.table.wrong_cells import wrong_cells

N = 400


def found(values: np.ndarray, name: str = "x") -> list[tuple[int, str]]:
    """The rows of a column that are named, and why."""
    return [(c.row, c.why) for c in wrong_cells(values[:, None], [Column(name, "number", values, 1)])]


def drawn(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def spoilt(values: np.ndarray, cell: float) -> np.ndarray:
    """The same with one cell in row 7."""
    values = values.copy()
    values[7] = cell
    return values


KINDS = {  # what is drawn, a cell that is wrong in it, and why
    "percentages": (drawn().beta(4, 1, N) * 100, 118.0, "a percentage above 100"),
    "counts": (drawn().poisson(1.5, N) * 1.0, -2.0, "a negative number where the others count from zero"),
    "rain": (
        drawn().gamma(1, 5, N) * (drawn(1).random(N) < 0.6),
        -4.2,
        "a negative number where the others count from zero",
    ),
    "goals": (drawn().poisson(1.5, N) * 1.0, 1.5, "a fraction among whole numbers"),
    "beats": (drawn().normal(70, 9, N).round(), 7.2, "a fraction among whole numbers"),
    "metres": (drawn().normal(1500, 300, N).clip(400).round(), 150_000.0, "far larger than all others"),
    "votes": (drawn().lognormal(2, 1, N).round() + 1, 98_880.0, "far larger than all others"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_cell_is_named_and_no_other(kind: str) -> None:
    values, cell, why = KINDS[kind]
    assert found(values) == []
    assert found(spoilt(values, cell)) == [(7, why)]


@pytest.mark.parametrize(
    "values",
    [
        drawn().normal(60, 20, N),  # that pass 100 smoothly
        drawn().lognormal(3, 2.5, N),
        drawn().pareto(1.0, N),
        drawn().normal(0, 1, N),
        spoilt(drawn().normal(70, 9, N).round(), 97.5),  # a half
        spoilt(drawn().lognormal(10, 2, N).round(), 63.2),  # a small one beside large ones
        drawn().poisson(1.5, 20) * 1.0,
        np.where(drawn().random(N) < 0.9, 0.0, drawn().lognormal(8, 2, N)),  # costs, mostly none
    ],
)
def test_what_is_only_skew_or_rounded_is_left_alone(values: np.ndarray) -> None:
    assert found(values) == []


def test_percentages_are_known_by_their_name_too() -> None:
    low = drawn().uniform(20, 60, N)
    assert found(spoilt(low, 103.0)) == [] and found(spoilt(low, 103.0), "perc_hs") == [(7, "a percentage above 100")]


def test_a_row_of_zeros_is_named_where_hardly_another_row_has_one() -> None:
    ratings = pd.DataFrame(drawn().normal(5, 1, (120, 8)).round(2), columns=[f"q{k}" for k in range(8)])
    ratings.iloc[[3, 50], 2] = 0.0
    assert "LD135" not in read(ratings).messages.codes
    ratings.iloc[17, :6] = 0.0
    (told,) = (m for m in read(ratings).messages if m.code == "LD135")
    assert (
        told.what == "1 cell looks wrong compared with the rest of its column: q0 0 in row 18 (one of 5 zeros of a row)"
    )


def test_twenty_are_named_at_the_most() -> None:
    table = pd.DataFrame({f"rain{k}": spoilt(drawn(k).gamma(1, 5, N).clip(1) - 1, -1.0) for k in range(24)})
    (told,) = (m for m in read(table, no_log=True).messages if m.code == "LD135")
    assert told.what.startswith(
        "24 cells look wrong compared with the rest of their columns: rain0 -1 in row 8, rain1 -1 in row 8, "
    )
    assert told.what.count(" in row 8") == 20 and told.what.endswith(" and 4 more")
