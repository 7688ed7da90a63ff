"""Columns that are made of others."""

from __future__ import annotations

import numpy as np

from lowdim.table.relations import find_sums, rounding_units

rng = np.random.default_rng(2)
X = rng.uniform(0, 10, (60, 4)).round(2)
NAMES = ["p", "q", "r", "s"]


def words(table: np.ndarray, names: list[str]) -> dict[str, str]:
    return {names[made.column]: made.words for made in find_sums(table, names)}


def test_sums_and_means_beside_their_parts():
    total, mean = X.sum(axis=1), X.mean(axis=1).round(3)
    assert words(np.column_stack([X, total]), [*NAMES, "t"]) == {"t": "the sum of p, q, r and s"}
    assert words(np.column_stack([mean, X]), ["m", *NAMES]) == {"m": "the mean of p, q, r and s"}


def test_parts_apart_are_found_where_rows_are_complete():
    noise = rng.normal(0, 1, (60, 3))
    table = np.column_stack([X[:, 0], noise[:, 0], X[:, 1], noise[:, 1], X[:, 0] + X[:, 1], noise[:, 2]])
    assert words(table, ["p", "u", "q", "v", "t", "w"]) == {"t": "the sum of p and q"}


def test_weights_and_names():
    total = (0.5 * X[:, 0] + 0.25 * X[:, 1] + 0.25 * X[:, 2]).round(4)
    noise = rng.normal(0, 1, 60)
    table = np.column_stack([X[:, 0], noise, X[:, 1:3], total])
    assert words(table, ["f_a", "z", "f_b", "f_c", "f_score"]) == {"f_score": "0.5 f_a + 0.25 f_b + 0.25 f_c"}


def test_means_of_means():
    a, b = X[:, :2].mean(axis=1), X[:, 2:].mean(axis=1)
    table = np.column_stack([X[:, :2], a, X[:, 2:], b, (a + b) / 2])
    found = words(table, ["a_1", "a_2", "a", "b_1", "b_2", "b", "score"])
    assert found["a"] == "the mean of a_1 and a_2" and found["b"] == "the mean of b_1 and b_2" and len(found) == 3


def test_gaps_and_a_few_wrong_rows_do_not_hide_an_identity():
    table = np.column_stack([np.tile(X, (4, 1)), np.tile(X.sum(axis=1), 4)])
    table[rng.random(table.shape) < 0.1] = np.nan
    table[0, 4] = 99.0
    assert words(table, [*NAMES, "t"]) == {"t": "the sum of p, q, r and s"}


def test_what_is_only_nearly_a_sum_is_none():
    nearly = X.sum(axis=1) + rng.normal(0, 0.1, 60)
    assert words(np.column_stack([X, nearly]), [*NAMES, "t"]) == {}
    likert = rng.integers(1, 6, (500, 12)).astype(float)
    assert words(likert, [f"q{k}" for k in range(12)]) == {}
    assert words(rng.integers(0, 2, (500, 12)) * 1.0, [f"q{k}" for k in range(12)]) == {}
    shares = rng.dirichlet([2, 3, 4], 60).round(3)
    assert words(shares, ["sand", "silt", "clay"]) == {}  # closed, but none is the sum of the others


def test_few_rows_say_nothing():
    assert words(np.column_stack([X, X.sum(axis=1)])[:10], [*NAMES, "t"]) == {}


def test_a_table_of_low_rank_has_no_sums():
    flat = rng.normal(0, 1, (60, 2)) @ rng.normal(0, 1, (2, 6))
    assert words(flat, list("abcdef")) == {} and words(np.abs(flat[:, :1]) * [1.0, 2.2, 3.7], list("abc")) == {}


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
    parts = rng.uniform(10, 9000, (80, 5))
    table = np.column_stack([parts.sum(axis=1), parts]).round()
    assert not np.array_equal(table[:, 0], table[:, 1:].sum(axis=1))
    assert words(table, ["total", *"abcde"]) == {"total": "the sum of a, b, c, d and e"}
    small = np.column_stack([parts.sum(axis=1), parts]).round(-2) / 100  # where rounding is no small part
    assert words(small, ["total", *"abcde"]) == {}


def test_the_order_of_columns_hides_no_sum() -> None:
    votes = np.column_stack([rng.lognormal(mean, 1.0, 70) for mean in (11, 11, 8, 5, 3, 3)]).round()
    table, names = np.column_stack([votes.sum(axis=1), votes]), ["total", *"abcdef"]
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(7)
        (found,) = find_sums(table[:, order], [names[k] for k in order])
        assert names[order[found.column]] == "total"
