"""One fact on two scales: found to the rounding of the file, and never where a relation is only close."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from lowdim.table.read import read
from lowdim.table.relations import _ranks, alike_pairs, find_functions

rng = np.random.default_rng(0)
X = rng.uniform(1, 90, 200).round(1)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (24 - X, "24 - x"),
        ((1.8 * X + 32).round(1), "1.8 x + 32"),
        (np.log(X), "the logarithm of x"),
        (np.log(X + 0.1), "the logarithm of x + 0.1"),
        (np.log10(X).round(4), "the logarithm to base 10 of x"),
        (np.log2(X), "the logarithm to base 2 of x"),
        (X**2, "x squared"),
        (X**2 / 100, "0.01 x squared"),
        (np.pi / 4 * X**2, "0.785 x squared"),
        (np.sqrt(X), "the square root of x"),
        (60 / X, "60 1/x"),
        (np.exp(X / 90), ""),  # no rate but one is looked for
        (X + rng.normal(0, 0.5, 200), ""),
        (X**1.3, ""),
        (np.cumsum(X), ""),
    ],
)
def test_the_form_in_words(y: np.ndarray, words: str) -> None:
    found = find_functions(np.column_stack([rng.normal(size=200), X, y]), ["z", "x", "y"])
    assert [(f.column, f.copy.name, f.words) for f in found] == ([(2, "x", words)] if words else [])


def test_two_columns_that_rise_with_time_are_two_facts() -> None:
    grown = np.cumsum(rng.uniform(0, 1, (200, 2)), axis=0)
    assert not find_functions(grown, ["gnp", "population"])


def test_a_square_of_both_signs_says_something_else() -> None:
    v = rng.normal(size=200)
    assert not find_functions(np.column_stack([v, v**2]), ["v", "v2"])


def test_the_column_with_fewer_cells_goes() -> None:
    short = np.where(np.arange(200) < 50, np.nan, X)
    (function,) = find_functions(np.column_stack([short, 2 * X]), ["a", "b"])
    assert (function.column, function.copy.name, function.words, function.share) == (0, "b", "0.5 b", 1.0)


def test_a_table_is_read_without_the_same_fact_again() -> None:
    frame = pd.DataFrame({"wage": X, "age": rng.normal(40, 9, 200), "lwage": np.log(X), "educ": rng.normal(12, 3, 200)})
    table = read(frame)
    assert table.names == ("wage", "age", "educ")
    assert next(c.note for c in table.columns if c.name == "lwage") == "the logarithm of wage"
    assert "'lwage' is the logarithm of wage and was left out" in [m.what for m in table.messages if m.code == "LD185"]
    assert read(frame, use="lwage").d == read(frame, keep_copies=True).d == 4
    assert read(frame[["wage", "lwage"]]).d == 2  # two columns have to be left


def test_ranks_are_those_of_scipy_with_ties_and_gaps() -> None:
    X = np.random.default_rng(0).normal(size=(30, 4))
    X[:, 1], X[::4, 2] = X[:, 1].round(), np.nan
    assert np.array_equal(_ranks(X), rankdata(X, axis=0, nan_policy="omit"), equal_nan=True)


def test_of_many_columns_alike_only_the_nearest_are_pairs():
    X = rng.normal(size=(100, 1)) + 0.01 * rng.normal(size=(100, 40))
    X[:, 30] = 3 * X[:, 4] + 1
    every, nearest = alike_pairs(X), alike_pairs(X, 2)
    assert len(every) == 40 * 39 / 2 and len(nearest) <= 2 * 40
    assert [4, 30] in nearest and {*map(tuple, nearest)} <= {*map(tuple, every)}
    assert [f.words for f in find_functions(X.round(6), [f"x{j}" for j in range(40)])] == ["3 x4 + 1"]
