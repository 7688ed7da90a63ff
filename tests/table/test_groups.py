"""Columns that name groups of rows or are parts of one date, by what stands beside them."""

from __future__ import annotations

import numpy as np

from lowdim.table.kinds import date_families, group_keys, kinds_of

rng = np.random.default_rng(0)


def test_numbers_that_occur_equally_often_name_groups() -> None:
    who = np.repeat(np.arange(1.0, 31), 4)
    assert group_keys({"x": who}).keys() == group_keys({"x": rng.permutation(who)}).keys() == {"x"}
    assert not group_keys({"x": who[:-1]}) and not group_keys({"x": who * 2}) and not group_keys({"x": who % 8 + 1})


def test_sorted_numbers_name_groups_only_where_other_columns_stay_the_same_with_them() -> None:
    person = np.repeat(np.cumsum(rng.integers(3, 900, 60)), rng.integers(2, 5, 60)).astype(float)
    at = np.searchsorted(np.unique(person), person)
    fixed, free = rng.normal(size=(2, 60))[:, at], rng.normal(size=(2, len(person)))
    assert set(group_keys({"p": person, "a": fixed[0], "b": fixed[1], "c": free[0]})) == {"p"}
    assert not group_keys({"p": person, "a": fixed[0], "c": free[0]})  # one such column may be the same fact
    assert not group_keys({"price": person, "a": free[0], "b": free[1]})  # a table sorted by what was measured


def test_parts_of_one_date_go_together() -> None:
    year, month, day = rng.integers(83, 93, 200) * 1.0, rng.integers(1, 13, 200) * 1.0, rng.integers(1, 32, 200) * 1.0
    day[:150] = np.nan
    found = date_families({"yrdth": year, "modth": month, "dadth": day, "model": month})
    assert {name: kind.word for name, kind in found.items()} == {"yrdth": "year", "modth": "month", "dadth": "day"}
    assert not date_families({"modth": month, "yrs": year}) and not date_families({"yrdth": year * 100, "modth": month})


def test_a_code_of_many_levels_is_never_an_item() -> None:
    country, x = rng.integers(1, 150, 600) * 1.0, rng.normal(size=600)
    answer = rng.integers(0, 2, 600) * 1.0
    found = kinds_of({"cowcode": country, "x": x, "answer": answer})
    assert found.kinds["cowcode"].word == "code" and set(found.items) == {"answer"}
