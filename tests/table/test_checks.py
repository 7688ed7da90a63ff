"""The thresholds that choose the words people read: just below, and at, each of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lowdim.table import checks
from lowdim.table.options import ReadingOptions
from lowdim.table.read import read
from lowdim.table.table import Table
from lowdim.text.messages import LowdimError

N = 100


def noise(n: int = N, d: int = 3) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, d))


def codes(X: np.ndarray) -> tuple[str, ...]:
    return read(X).messages.codes


def note(table: Table, name: str = "c1") -> str:
    return next(c.note for c in table.columns if c.name == name)


def with_gaps(share: float) -> Table:
    X = noise()
    X[: round(share * N), 0] = np.nan
    return read(X)


def test_a_column_is_gappy_from_four_tenths_on() -> None:
    assert "LD122" not in with_gaps(0.39).messages.codes and note(with_gaps(0.39)) == ""
    assert "LD122" in with_gaps(0.40).messages.codes


def test_almost_half_is_below_half() -> None:
    assert note(with_gaps(0.40)) == note(with_gaps(0.49)) == "almost half missing"
    assert note(with_gaps(0.50)) == "half missing or more"


@pytest.mark.parametrize(("same", "n", "said"), [(94, 100, False), (95, 100, True), (18, 19, False), (19, 20, True)])
def test_a_column_of_almost_one_value(same: int, n: int, said: bool) -> None:
    """From 95 % of one value on, in at least 20 rows."""
    X = noise(n)
    X[:same, 0] = 1.0
    assert ("LD132" in codes(X)) is said


@pytest.mark.parametrize(("spreads", "said"), [(4.4, False), (4.6, True)])
def test_a_value_is_far_from_four_and_a_half_spreads_on(spreads: float, said: bool) -> None:
    X = noise(1000)
    X[:, 0] = np.clip(X[:, 0], -2.0, 2.0)
    q1, middle, q3 = np.quantile(X[:, 0], [0.25, 0.5, 0.75])
    X[7, 0] = middle + spreads * (q3 - q1) / 1.349
    assert note(read(X)) == ("1 far value (row 8)" if said else "")


def test_more_than_three_far_values_are_a_long_tail_and_not_named() -> None:
    X = noise(1000)
    X[:3, 0] = 50.0
    assert note(read(X)) == "3 far values (rows 1, 2, 3)"
    X[3, 0] = 50.0
    assert note(read(X)) == ""


@pytest.mark.parametrize(("noise_sd", "said"), [(0.0095, True), (0.0105, False)])
def test_the_same_quantity_twice_is_a_correlation_that_prints_as_one(noise_sd: float, said: bool) -> None:
    """0.99995: the correlation of x and x + e is 1 / sqrt(1 + sd^2)."""
    Z = np.linalg.qr(noise() - noise().mean(axis=0))[0]  # exactly uncorrelated, of equal length
    X = np.column_stack([Z[:, 0], Z[:, 0] + noise_sd * Z[:, 1], Z[:, 2]])
    assert ("LD142" in codes(X)) is said


def test_columns_that_chance_makes_alike_are_not_one_quantity() -> None:
    """60 species, 40 of them seen in one plot of fifty, as often as it may be; one seen in ten plots has its like."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.poisson(3.0, (50, 20)), np.eye(50)[:, rng.integers(0, 50, 40)] * np.arange(1, 41)])
    assert "LD142" not in codes(X)
    X[:10, 30], X[10:, 30] = 1.0, 0.0
    X[:, 31] = 2.0 * X[:, 30]
    assert "LD142" in codes(X)


def test_near_copies_need_five_rows_in_common() -> None:
    X = noise(12)
    X[:, 1] = 2.0 * X[:, 0]
    for gaps, said in ((8, False), (7, True)):
        Y = X.copy()
        Y[:gaps, :2] = np.nan
        assert ("LD142" in codes(Y)) is said


@pytest.mark.parametrize(("value", "said"), [(1e150, False), (1.01e150, True)])
def test_numbers_too_large_to_be_squared(value: float, said: bool) -> None:
    X = noise()
    X[0, 0] = value
    assert ("LD152" in codes(X)) is said


@pytest.mark.parametrize(("code", "times", "said"), [(-99.0, 1, True), (-9.0, 1, False), (-9.0, 2, True)])
def test_a_small_code_must_come_twice(code: float, times: int, said: bool) -> None:
    X = np.abs(noise())
    X[:times, 0] = code
    assert ("LD151" in codes(X)) is said


def test_a_code_stands_further_off_than_the_others_spread() -> None:
    X = np.random.default_rng(1).uniform(0.0, 1.0, (N, 3)) * [50.0, 1.0, 1.0]
    X[0, 0], X[1, 0], X[2, 0] = 50.0, 0.0, 99.0  # 49 away, and the others span 50
    assert "LD151" not in codes(X)
    X[:, 0] = np.where(X[:, 0] == 99.0, 99.0, 0.9 * X[:, 0])  # 54 away, and they span 45
    assert "LD151" in codes(X)


@pytest.mark.parametrize(("slack", "said"), [(0.49, True), (0.51, False)])
def test_parts_of_a_hundred(slack: float, said: bool) -> None:
    parts = np.random.default_rng(2).dirichlet(np.ones(3), 20) * 100.0
    parts[4, 0] += slack
    assert ("LD190" in codes(parts)) is said
    assert ("LD190" in codes(parts / 100.0)) is said
    assert "LD190" not in codes(parts[:, :2]) and "LD190" not in codes(parts[:4])


def test_three_rows_and_two_columns_are_the_least() -> None:
    assert read(noise(3, 2)).n == 3
    for X, code in ((noise(2, 2), "LD160"), (noise(3, 1), "LD113")):
        with pytest.raises(LowdimError, match=code):
            read(X)


def test_as_many_rows_as_columns_is_said() -> None:
    assert "LD161" in codes(noise(3, 3)) and "LD161" not in codes(noise(4, 3))


def test_rows_that_repeat_need_three_columns() -> None:
    X = noise()
    X[1] = X[0]
    assert "LD191" in codes(X) and "LD191" not in codes(X[:, :2])


def test_rows_without_any_number_do_not_repeat_each_other() -> None:
    X = noise()
    X[:2] = np.nan
    words = np.array(["red", "blue"] * len(X))[: len(X)]
    table = read(pd.DataFrame(X, columns=["c1", "c2", "c3"]).assign(colour=words), labelled_rows=True)
    assert table.n == len(X) and "LD191" not in table.messages.codes


def test_the_widest_table() -> None:
    names = [f"x{j}" for j in range(20_000)]
    checks.refuse_width(names, 100, ReadingOptions())
    with pytest.raises(LowdimError, match="LD171"):
        checks.refuse_width([*names, "one more"], 100, ReadingOptions())
    checks.refuse_width([*names, "one more"], 100, ReadingOptions(drop=("x0",)))


def test_a_column_of_a_few_cells_beside_fuller_ones_is_left_out() -> None:
    frame = pd.DataFrame(noise(d=4), columns=list("abcd"))
    frame.loc[9:, "d"] = np.nan
    table = read(frame)
    assert table.names == ("a", "b", "c") and "LD125" in table.messages.codes and note(table, "d") == "9 of 100 cells"
    assert read(frame, use="d").names == ("a", "b", "c", "d")
    frame.loc[9, "d"] = 1.0  # a tenth of the rows
    assert read(frame).names == ("a", "b", "c", "d")
    ratings = pd.DataFrame(np.where(np.random.default_rng(0).random((100, 30)) < 0.05, noise(d=30), np.nan))
    assert "LD125" not in read(ratings.add_prefix("film")).messages.codes


def contingency(n: int = 400) -> pd.DataFrame:
    """Four columns of labels, one of them nearly always the same."""
    rng = np.random.default_rng(0)
    draw = {"class": ("1st", "2nd", "3rd"), "sex": ("f", "m"), "alive": ("no", "yes")}
    frame = pd.DataFrame({name: rng.choice(labels, n) for name, labels in draw.items()})
    return frame.assign(age=np.where(rng.random(n) < 0.03, "child", "adult"))


def test_answers_repeat_by_nature_and_are_not_scaled() -> None:
    found = read(contingency()).messages.codes
    assert "LD198" in found and not {"LD191", "LD132"} & set(found)


def test_a_rare_label_is_not_scaled_beside_numbers_either() -> None:
    """A category has a likelihood of its own wherever it shapes axes."""
    frame = contingency().assign(**{f"x{k}": column for k, column in enumerate(noise(400, 6).T)})
    assert "LD132" not in read(frame, encode=["age"]).messages.codes
    frame["age"] = np.where(frame["age"] == "adult", 0.0, np.random.default_rng(1).normal(40, 9, len(frame)))
    (rare,) = [m for m in read(frame).messages if m.code == "LD132"]
    assert "'age'" in rare.what and "--drop age," in str(rare.fix)


def test_rows_whose_only_number_is_in_a_column_left_out_are_said_to_be_left_out() -> None:
    X = noise(N).round(2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(again=X[:, 0], group=np.where(X[:, 1] > 0, "p", "q"))
    frame.loc[7, ["a", "b", "c"]] = np.nan
    frame.loc[[20, 21], "again"] = np.nan
    frame.loc[9, ["a", "b", "c", "again"]] = np.nan
    table = read(frame)
    said = [m.what for m in table.messages if m.code == "LD121"]
    assert table.n == N - 2 and not np.isnan(table.X).all(axis=1).any()
    assert "no measured value" in said[0] and "value in the columns that are used" in said[1]
    kept = read(frame, labelled_rows=True)
    assert kept.n == N and "LD121" not in kept.messages.codes


def test_rows_repeat_where_whole_lines_do() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc"))
    frame["who"] = [f"w{k // 2}" for k in range(20)]
    frame.loc[4, ["a", "b", "c"]] = frame.loc[0, ["a", "b", "c"]].to_numpy()
    assert "LD191" not in read(frame).messages.codes  # the same numbers of two people
    frame.loc[4, "who"] = frame.loc[0, "who"]
    frame.insert(0, "row", np.arange(1, 21))  # which tells all rows apart, and says nothing
    assert "1 row repeats" in next(m.what for m in read(frame).messages if m.code == "LD191")


def test_a_table_in_long_form_is_said_to_be() -> None:
    rng = np.random.default_rng(0)
    pairs = [(f"c{k}", food) for k in range(12) for food in ("beef", "milk", "rice", "nuts")]
    frame = pd.DataFrame(pairs, columns=["country", "food"])
    frame[["eaten", "co2"]] = rng.lognormal(size=(48, 2))
    assert "12 'country' by 4 'food'" in next(m.what for m in read(frame).messages if m.code == "LD134")


@pytest.mark.parametrize(
    ("order", "said"), [("series", True), ("shuffled", False), ("sorted by groups", False), ("sorted by one", False)]
)
def test_rows_of_a_series_are_said_to_be_one(order: str, said: bool) -> None:
    rng = np.random.default_rng(2)
    walk = np.cumsum(rng.standard_normal((200, 2)), axis=0) @ rng.standard_normal((2, 6))
    groups = 5.0 * np.repeat(rng.standard_normal((4, 6)), 50, axis=0) + rng.standard_normal((200, 6))
    free = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((200, 6))
    tables = {
        "series": walk + 0.1 * rng.standard_normal((200, 6)),
        "shuffled": rng.permutation(walk),
        "sorted by groups": groups,
        "sorted by one": free[np.argsort(free[:, 0])],
    }
    assert ("LD127" in read(pd.DataFrame(tables[order].round(4), columns=[*"abcdef"])).messages.codes) == said


def test_one_negative_cell_does_not_keep_a_skew_column_from_its_logarithm() -> None:
    rng = np.random.default_rng(6)
    people, cost = np.exp(rng.normal(3, 1.2, 300)).round(1), rng.normal(40, 5, 300).round(1)
    wrong = people.copy()
    wrong[17] *= -1
    table = read(pd.DataFrame({"people": wrong, "cost": cost}))
    said = next(m for m in table.messages if m.code == "LD138")
    assert f"people {wrong[17]:g} in row 18" in said.what and said.severity == "changed"
    np.testing.assert_array_equal(np.isnan(table.X[:, 0]), np.arange(300) == 17)
    for options in ({"use": ["people"]}, {"no_log": True}):
        kept = read(pd.DataFrame({"people": wrong, "cost": cost}), **options)
        assert "LD138" not in kept.messages.codes and kept.X[17, 0] == wrong[17]
    level = np.where(np.arange(300) == 17, -50.0, cost)  # not skew, so that nothing hangs on it
    assert "LD138" not in read(pd.DataFrame({"people": people, "cost": level})).messages.codes
