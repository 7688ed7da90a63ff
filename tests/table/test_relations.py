"""Columns that are functions, products, sums or means of others, and what such copies tell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

import lowdim as ld
from lowdim.table.read import read
from lowdim.table.relations import (
    alike_pairs,
    copied_columns,
    find_functions,
    find_products,
    find_sums,
    ranks_of,
    rounding_units,
    told_by_copies,
)

# functions of one other ------------------------------------------------------------------------------
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
    assert np.array_equal(ranks_of(X), rankdata(X, axis=0, nan_policy="omit"), equal_nan=True)


def test_of_many_columns_alike_only_the_nearest_are_pairs():
    X = rng.normal(size=(100, 1)) + 0.01 * rng.normal(size=(100, 40))
    X[:, 30] = 3 * X[:, 4] + 1
    every, nearest = alike_pairs(X), alike_pairs(X, 2)
    assert len(every) == 40 * 39 / 2 and len(nearest) <= 2 * 40
    assert [4, 30] in nearest and {*map(tuple, nearest)} <= {*map(tuple, every)}
    assert [f.words for f in find_functions(X.round(6), [f"x{j}" for j in range(40)])] == ["3 x4 + 1"]


# products and ratios of two others -------------------------------------------------------------------
dice = np.random.default_rng(0)
PEOPLE, AREA = dice.integers(2_000, 900_000, 80) * 1.0, dice.uniform(3, 60, 80).round(2)
INCOME, TAX = dice.normal(40, 6, 80).round(3), dice.normal(800, 60, 80).round(1)


def made_of(**columns: np.ndarray) -> dict[str, str]:
    names = list(columns)
    return {names[p.column]: p.words for p in find_products(np.column_stack([*columns.values()]), names)}


def test_products_ratios_and_percentages() -> None:
    assert made_of(a=INCOME, b=TAX, ab=(INCOME * TAX).round(2)) == {"ab": "a x b"}
    assert made_of(people=PEOPLE, area=AREA, dense=(PEOPLE / AREA).round(1)) == {"dense": "people / area"}
    some = (PEOPLE * dice.uniform(0.1, 0.9, 80)).round()
    assert made_of(all=PEOPLE, some=some, perc=(100 * some / PEOPLE).round(4)) == {"perc": "100 some / all"}


def test_what_is_called_a_rate_was_made_wherever_it_stands() -> None:
    share = (100 * AREA / INCOME).round(5)
    assert made_of(perc_built=share, built=AREA, land=INCOME) == {"perc_built": "100 built / land"}


def test_a_product_of_a_product_is_found_and_nothing_is_made_of_itself() -> None:
    ab = INCOME * TAX
    assert made_of(a=INCOME, b=TAX, c=AREA, ab=ab, abc=ab * AREA) == {"ab": "a x b", "abc": "c x ab"}
    assert made_of(rate=INCOME, ratio=TAX, share=ab) == {"share": "rate x ratio"}


def test_a_ratio_with_a_square_is_found_and_a_square_is_no_result() -> None:
    height, weight = INCOME + 130, (TAX / 12).round(1)
    index = (10_000 * weight / height**2).round(2)
    assert made_of(height=height, weight=weight, mass=index) == {"mass": "10000 weight / height squared"}
    assert made_of(bmi=index, height=height, weight=weight) == {"bmi": "10000 weight / height squared"}
    assert made_of(mass=index, weight=weight, height=height) == {"weight": "0.0001 mass x height squared"}


@pytest.mark.parametrize("noise", [0.001, 0.03])
def test_a_close_relation_is_no_identity(noise: float) -> None:
    near = INCOME * TAX * np.exp(noise * dice.standard_normal(80))
    assert made_of(a=INCOME, b=TAX, ab=near) == {}


def test_a_factor_must_be_felt_and_coarse_numbers_prove_nothing() -> None:
    assert made_of(a=INCOME, one=np.full(80, 1.0) + 1e-5 * dice.standard_normal(80).round(1), b=INCOME) == {}
    small = dice.integers(1, 20, (2, 80)) * 1.0
    assert made_of(a=small[0] / 10, b=small[1] / 10, ab=(small[0] * small[1] / 100).round(1)) == {}


def test_gaps_and_zeros_are_borne() -> None:
    a, b = INCOME.copy(), TAX.copy()
    a[:9], b[5:20] = 0.0, np.nan
    assert made_of(a=a, b=b, ab=(a * b).round(2)) == {"ab": "a x b"}


def test_a_table_names_what_it_leaves_out_and_why() -> None:
    frame = pd.DataFrame({"people": PEOPLE, "area": AREA, "dense": (PEOPLE / AREA).round(1), "x": INCOME})
    table = read(frame)
    assert table.names == ("people", "area", "x")
    assert "'dense' is people / area and was left out" in [m.what for m in table.messages]
    assert "dense" in read(frame, use="dense").names


# sums and means of others ----------------------------------------------------------------------------
coin = np.random.default_rng(2)
XS = coin.uniform(0, 10, (60, 4)).round(2)
NAMES = ["p", "q", "r", "s"]


def sums_in(table: np.ndarray, names: list[str]) -> dict[str, str]:
    return {names[made.column]: made.words for made in find_sums(table, names)}


def test_sums_and_means_beside_their_parts():
    total, mean = XS.sum(axis=1), XS.mean(axis=1).round(3)
    assert sums_in(np.column_stack([XS, total]), [*NAMES, "t"]) == {"t": "the sum of p, q, r and s"}
    assert sums_in(np.column_stack([mean, XS]), ["m", *NAMES]) == {"m": "the mean of p, q, r and s"}


def test_parts_apart_are_found_where_rows_are_complete():
    noise = coin.normal(0, 1, (60, 3))
    table = np.column_stack([XS[:, 0], noise[:, 0], XS[:, 1], noise[:, 1], XS[:, 0] + XS[:, 1], noise[:, 2]])
    assert sums_in(table, ["p", "u", "q", "v", "t", "w"]) == {"t": "the sum of p and q"}


def test_weights_and_names():
    total = (0.5 * XS[:, 0] + 0.25 * XS[:, 1] + 0.25 * XS[:, 2]).round(4)
    noise = coin.normal(0, 1, 60)
    table = np.column_stack([XS[:, 0], noise, XS[:, 1:3], total])
    assert sums_in(table, ["f_a", "z", "f_b", "f_c", "f_score"]) == {"f_score": "0.5 f_a + 0.25 f_b + 0.25 f_c"}


def test_means_of_means():
    a, b = XS[:, :2].mean(axis=1), XS[:, 2:].mean(axis=1)
    table = np.column_stack([XS[:, :2], a, XS[:, 2:], b, (a + b) / 2])
    found = sums_in(table, ["a_1", "a_2", "a", "b_1", "b_2", "b", "score"])
    assert found["a"] == "the mean of a_1 and a_2" and found["b"] == "the mean of b_1 and b_2" and len(found) == 3


def test_gaps_and_a_few_wrong_rows_do_not_hide_an_identity():
    table = np.column_stack([np.tile(XS, (4, 1)), np.tile(XS.sum(axis=1), 4)])
    table[coin.random(table.shape) < 0.1] = np.nan
    table[0, 4] = 99.0
    assert sums_in(table, [*NAMES, "t"]) == {"t": "the sum of p, q, r and s"}


def test_what_is_only_nearly_a_sum_is_none():
    nearly = XS.sum(axis=1) + coin.normal(0, 0.1, 60)
    assert sums_in(np.column_stack([XS, nearly]), [*NAMES, "t"]) == {}
    likert = coin.integers(1, 6, (500, 12)).astype(float)
    assert sums_in(likert, [f"q{k}" for k in range(12)]) == {}
    assert sums_in(coin.integers(0, 2, (500, 12)) * 1.0, [f"q{k}" for k in range(12)]) == {}
    shares = coin.dirichlet([2, 3, 4], 60).round(3)
    assert sums_in(shares, ["sand", "silt", "clay"]) == {}  # closed, but none is the sum of the others


def test_few_rows_say_nothing():
    assert sums_in(np.column_stack([XS, XS.sum(axis=1)])[:10], [*NAMES, "t"]) == {}


def test_a_table_of_low_rank_has_no_sums():
    flat = coin.normal(0, 1, (60, 2)) @ coin.normal(0, 1, (2, 6))
    assert sums_in(flat, list("abcdef")) == {} and sums_in(np.abs(flat[:, :1]) * [1.0, 2.2, 3.7], list("abc")) == {}


def test_a_part_that_hardly_varies_is_a_part_of_the_sum() -> None:
    rng = np.random.default_rng(3)
    parts = np.round(rng.lognormal([10, 7, 3], 1.0, (300, 3)))
    X = np.column_stack([parts, rng.normal(size=(300, 2)), parts.sum(axis=1)])
    (identity,) = find_sums(X, ["big", "middle", "small", "x", "y", "everyone"])
    assert identity.words == "the sum of big, middle and small"


def test_an_almost_empty_column_hides_no_sum() -> None:
    rng = np.random.default_rng(4)
    before, gain, rare, x = rng.normal([70, 2, 5, 0], [9, 4, 1, 1], (400, 4)).round(1).T
    rare[20:] = np.nan
    names = ["rare", "gain", "x", "before", "y", "after"]
    X = np.column_stack([rare, gain, x, before, rng.normal(size=400), before + gain])
    assert [f"{names[i.column]} is {i.words}" for i in find_sums(X, names)] == ["after is the sum of gain and before"]


def test_units_of_columns_are_the_decimals_they_are_written_with() -> None:
    x = np.random.default_rng(0).uniform(-90, 90, 50)
    X = np.column_stack([x.round(k) for k in range(4)] + [x])
    assert rounding_units(X).tolist() == [0.0, 0.1, 0.01, 0.001, 0.0]
    X[::7] = np.nan
    assert rounding_units(X).tolist() == [0.0, 0.1, 0.01, 0.001, 0.0]
    assert rounding_units(np.full((5, 1), np.nan)).tolist() == [0.0]


def test_a_part_that_is_rarely_there_is_a_part() -> None:
    rng = np.random.default_rng(0)
    repair, other = rng.integers(1, 9000, 1000) * 1.0, np.where(np.arange(1000) % 100 == 7, 500.0, 0.0)
    X = np.column_stack([repair, other, repair + other])
    assert [s.words for s in find_sums(X, ["repair", "other", "total"])] == ["the sum of repair and other"]


def test_whole_numbers_that_were_rounded_each_for_itself_add_up() -> None:
    parts = coin.uniform(10, 9000, (80, 5))
    table = np.column_stack([parts.sum(axis=1), parts]).round()
    assert not np.array_equal(table[:, 0], table[:, 1:].sum(axis=1))
    assert sums_in(table, ["total", *"abcde"]) == {"total": "the sum of a, b, c, d and e"}
    small = np.column_stack([parts.sum(axis=1), parts]).round(-2) / 100  # where rounding is no small part
    assert sums_in(small, ["total", *"abcde"]) == {}


def test_the_order_of_columns_hides_no_sum() -> None:
    votes = np.column_stack([coin.lognormal(mean, 1.0, 70) for mean in (11, 11, 8, 5, 3, 3)]).round()
    table, names = np.column_stack([votes.sum(axis=1), votes]), ["total", *"abcdef"]
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(7)
        (found,) = find_sums(table[:, order], [names[k] for k in order])
        assert names[order[found.column]] == "total"


# what copies tell ------------------------------------------------------------------------------------
SCALES = {
    "twice": lambda x: 2 * x + 1,
    "less": lambda x: 24 - x,
    "log": np.log,
    "squared": np.square,
    "inverse": lambda x: 1 / x,
}


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_a_function_goes_both_ways(scale):
    x = np.random.default_rng(0).uniform(1, 9, 80).round(2)
    (found,) = find_functions(np.column_stack([x, scale(x)]), ["x", "y"])
    np.testing.assert_allclose(found.copy.relation.of(x), scale(x), rtol=1e-9)
    np.testing.assert_array_equal(found.copy.relation.back(scale(x)), x)


def test_a_copy_tells_the_gaps_of_numbers_and_of_labels():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 3)).round(2)
    whole = pd.DataFrame(x, columns=["a", "b", "c"]).assign(again=x[:, 0], sex=np.where(x[:, 1] > 0, "f", "m"))
    whole["gender"] = np.where(x[:, 1] > 0, "woman", "man")
    frame = whole.copy()
    frame.loc[[4, 7], "a"] = frame.loc[[7, 8, 9], "again"] = np.nan
    frame.loc[[3, 5], "sex"] = frame.loc[[5, 6, 8], "gender"] = None
    table = ld.read(frame)
    assert [(pair.column.name, pair.kept.name) for pair in copied_columns(table)] == [("again", "a"), ("gender", "sex")]
    told = told_by_copies(table)
    assert told.X[4, 0] == whole.loc[4, "a"] and np.isnan(told.X[7, 0]) and np.isnan(table.X[4, 0])
    assert told.labels["sex"][3] == whole.loc[3, "sex"] and told.labels["sex"][5] is None


def test_the_order_of_columns_does_not_say_which_is_left_out() -> None:
    rng = np.random.default_rng(4)
    hours, rate = rng.integers(1, 40, 60) * 1.0, rng.integers(20, 90, 60) / 4
    frame = pd.DataFrame(
        {"hours": hours, "rate": rate, "cost": hours * rate, "x": rng.normal(5, 1, 60).round(2), "wet": INCOME[:60]}
    ).assign(wetness=lambda f: f["wet"], xlog=lambda f: np.log(f["x"]).round(4))
    kept = {frozenset(read(frame[list(rng.permutation(frame.columns))]).names) for _ in range(6)}
    assert len(kept) == 1 and {"x", "wet"} < set(*kept) and not {"xlog", "wetness"} & set(*kept)
