"""Numbers that stand for gaps: taken for gaps where there is hardly a doubt, noted elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lowdim.table.cells import find_gap_codes
from lowdim.table.read import read, read_rows

rng = np.random.default_rng(0)


def with_code(code: float, times: int, n: int = 60) -> np.ndarray:
    x = rng.uniform(18, 45, n).round(1)
    x[:times] = code
    return x


@pytest.mark.parametrize(
    ("code", "times", "sure"), [(-99, 2, True), (999, 9, True), (-9, 5, True), (-99, 1, False), (-999, 31, False)]
)
def test_a_code_is_sure_where_it_comes_again_in_less_than_half_of_the_rows(code: int, times: int, sure: bool) -> None:
    x = with_code(code, times) if code != -9 else np.r_[np.full(times, -9.0), rng.integers(1, 6, 60)]
    (found,) = find_gap_codes({"x": x})
    assert (found.value, found.times, found.sure) == (code, times, sure)


def test_a_value_of_another_column_is_no_code() -> None:
    longitude = np.r_[-99.0, rng.uniform(-120, -70, 59)]
    (found,) = find_gap_codes({"x": with_code(-99, 5), "longitude": longitude})
    assert found.columns == ("x",) and not found.sure
    assert not find_gap_codes({"x": rng.integers(0, 100, 500) * 1.0})


def test_a_table_has_gaps_where_the_codes_were(tmp_path: Path) -> None:
    frame = pd.DataFrame({"bmi": with_code(-99, 6), "skin": with_code(-99, 1), "age": rng.integers(20, 60, 60)})
    table = read(frame)
    assert np.isnan(table.X).sum() == 7 and "LD157" in table.messages.codes and "-99" in table.guess.na
    assert np.isnan(read_rows(frame[:2], table.names, **table.options).X[0, 0])  # new rows are read in the same way
    used = read(frame, use="bmi")
    assert not np.isnan(used.X).any() and "LD151" in used.messages.codes
    assert "LD157" not in read(frame.to_numpy()).messages.codes  # an array is taken as it is


def test_a_code_of_answers_is_one_in_a_column_of_larger_numbers_too():
    """-9 is farther from answers 1 to 5 than they from each other, and not so from incomes: there too it is a gap."""
    rng = np.random.default_rng(0)
    answer, income = rng.integers(1, 6, 200).astype(float), rng.lognormal(7.8, 0.5, 200)
    answer[:9], income[5:12] = -9.0, -9.0
    (code,) = find_gap_codes({"income": income, "answer": answer})
    assert code == (-9.0, ("income", "answer"), 16, True)
    (code,) = find_gap_codes({"answer": answer, "balance": np.where(np.arange(200) < 5, -9.0, income - 2500.0)})
    assert not code.sure  # other balances are negative, and this may be one


@pytest.mark.parametrize(
    "other",
    [
        np.where(np.arange(200) % 5 < 4, -9.0, 20.0 * np.arange(200)),
        np.full(200, -9.0),
        np.r_[-9.0, np.arange(199) % 25],
        np.r_[-9.0, [2500.0] * 9, [np.nan] * 190],
    ],
    ids=["mostly -9", "all -9", "temperatures", "few cells"],
)
def test_a_code_of_answers_may_be_a_value_of_a_column_without_many_larger_numbers(other: np.ndarray) -> None:
    answer = np.r_[[-9.0] * 5, np.arange(195) % 5 + 1.0]
    (code,) = find_gap_codes({"answer": answer, "other": other})
    assert code == (-9.0, ("answer",), 5, False)


def test_many_ages_of_99_and_none_near_are_asked_about():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 300).astype(float)
    assert find_gap_codes({"age": np.r_[age, [99.0] * 12]}) == [(99.0, ("age",), 12, False)]
    assert find_gap_codes({"age": np.r_[age, 81.0, 86.0, 91.0, 95.0, [99.0] * 12]}) == []
    assert find_gap_codes({"age": np.r_[age, 99.0, 99.0]}) == []


def test_the_one_negative_number_of_several_columns_is_a_code_in_all_of_them() -> None:
    """A wide column, whose other numbers lie farther apart than the code from them, holds it too."""
    rng = np.random.default_rng(0)
    columns = {
        "flag": rng.integers(0, 2, 300) * 1.0,
        "age": rng.integers(40, 80, 300) * 1.0,
        "size": rng.uniform(15, 280, 300),
    }
    for k, x in enumerate(columns.values()):
        x[k : k + 9] = -99.0
    (code,) = find_gap_codes(columns)
    assert code == (-99.0, ("flag", "age", "size"), 27, True)
