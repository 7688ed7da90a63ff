"""What columns are beside each other."""

from __future__ import annotations

import numpy as np

from lowdim.table.kinds import kinds_of, same_facts

rng = np.random.default_rng(1)
N = 200


def measured(k: int) -> dict[str, np.ndarray]:
    return {name: rng.normal(0, 1, N) for name in "abcdefgh"[:k]}


def items(k: int, low: int, high: int, stem: str = "item_") -> dict[str, np.ndarray]:
    return {f"{stem}{chr(97 + j)}": rng.integers(low, high + 1, N) * 1.0 for j in range(k)}


def test_codes_beside_measurements_are_labels():
    found = kinds_of({**measured(3), **items(3, 1, 4)})
    assert set(found.kinds) == {"item_a", "item_b", "item_c"} and not found.items


def test_codes_alone_are_what_was_measured():
    found = kinds_of({**items(2, 0, 1, "yes_"), **items(2, 1, 4)})
    assert not found.kinds and len(found.items) == 4 and found.items["item_a"] == (1, 2, 3, 4)
    one = kinds_of({"a": rng.normal(0, 1, N), **items(3, 1, 4)})
    assert not one.kinds and set(one.items) == {"item_a", "item_b", "item_c"}


def test_items_of_one_scale_that_outnumber_the_measurements():
    found = kinds_of({"age": rng.integers(18, 80, N) * 1.0, **items(9, 1, 6), "gender": items(1, 1, 2)["item_a"]})
    assert set(found.kinds) == {"gender"} and len(found.items) == 9
    skewed = {**items(8, 1, 6), "item_z": rng.choice([1.0, 2, 3, 4, 5, 6], N, p=[0.6, 0.2, 0.1, 0.05, 0.03, 0.02])}
    assert set(kinds_of(skewed).items) == set(skewed)  # a skew item is like a count, and is none


def test_a_few_yes_no_answers_do_not_outnumber_measurements():
    table = {**measured(4), **items(5, 0, 1, "has_")}
    assert len(kinds_of(table).kinds) == 5
    assert len(kinds_of({**measured(2), **items(8, 0, 1, "has_")}).items) == 8


def test_a_numbered_family_has_one_role():
    family = {f"proc_{k:02d}": rng.normal(0, 1, N) for k in range(8)}
    found = kinds_of({**family, "proc_08": rng.integers(0, 3, N) * 1.0, "proc_09": rng.integers(0, 2, N) * 1.0})
    assert not found.kinds
    clouds = {f"Ne{h}": rng.integers(0, 8, N) * 1.0 for h in (9, 12, 15)}
    assert not kinds_of({**{f"T{h}": rng.normal(0, 1, N) for h in (9, 12, 15)}, **clouds}).kinds
    codes = {"lesion1": rng.integers(0, 40, N) * 101.0, "lesion2": rng.choice([0.0, 1401, 3111], N)}
    found = kinds_of({**measured(2), **codes, "lesion3": rng.choice([0.0, 2209], N)})
    assert set(found.kinds) == {"lesion1", "lesion2", "lesion3"}


def test_marks_on_the_scale_of_the_others_stay():
    scores = {f"score_{c}": np.r_[0.0, 10.0, rng.uniform(0, 10, N - 2)] for c in "abcde"}
    assert not kinds_of({**scores, "coarse": rng.choice([0.0, 10], N)}).kinds


def test_places_need_both_and_something_else():
    lat, lon = rng.uniform(30, 60, N), rng.uniform(-20, 40, N)
    assert set(kinds_of({"lat": lat, "lon": lon, **measured(2)}).kinds) == {"lat", "lon"}
    assert not kinds_of({"lat": lat, **measured(2)}).kinds
    assert not kinds_of({"lat": lat, "lon": lon}).kinds  # nothing else was measured


def test_two_columns_are_left_where_there_are_two():
    assert not kinds_of({"year": np.arange(1900.0, 1900 + N) - rng.integers(0, 2, N), "a": rng.normal(0, 1, N)}).kinds


def test_one_fact_told_twice():
    number = rng.integers(1, 4, N)
    word = np.array(["first", "second", "third"], dtype=object)[number - 1]
    text = number.astype(str).astype(object)
    text[3] = None
    other = word.copy()
    other[0] = "second" if word[0] != "second" else "third"
    assert same_facts({"pclass": text, "class": word}) == {"pclass": "class"}
    assert same_facts({"class": word, "other": other}) == {}
    assert same_facts({"a": word[:9], "b": text[:9]}) == {}  # too few rows to say
    coarse = np.where(number > 1, "later", "first").astype(object)
    assert same_facts({"class": word, "coarse": coarse}) == {}


def test_ranks_of_several_things_are_measured() -> None:
    """One column without two equal rows is a name; three on one scale are ranks of what was measured."""
    rng = np.random.default_rng(5)
    ranks = {f"r{k}": rng.permutation(86) + 1.0 for k in range(3)}
    other = {"dept": np.sort(rng.permutation(200)[:86]) + 1.0, "a": rng.normal(size=86), "b": rng.normal(size=86)}
    assert set(kinds_of({**other, **ranks}).kinds) == {"dept"}
    assert set(kinds_of({**other, "r0": ranks["r0"], "r1": ranks["r1"]}).kinds) == {"dept", "r0", "r1"}


def test_columns_of_one_kind_have_one_role() -> None:
    rng = np.random.default_rng(6)
    years, parents = rng.integers(5, 18, 400) * 1.0, rng.choice([0.0, 3, 7, 9, 10, 12, 14, 16, 17], 400)
    a, b = rng.normal(size=(2, 400))
    assert "meducation" not in kinds_of({"education": years, "meducation": parents, "a": a, "b": b}).kinds
    assert kinds_of({"meducation": parents, "a": a, "b": b}).kinds["meducation"].word == "code"
    flat, falling = rng.integers(1, 8, (2, 400)) * 1.0, np.repeat(np.arange(1.0, 8), [200, 100, 50, 25, 13, 8, 4])
    scales = {"selfLR": flat[0], "doleLR": flat[1], "clinLR": falling, "a": a, "b": b}
    assert set(kinds_of(scales).kinds) == {"selfLR", "doleLR", "clinLR"}
    assert not kinds_of({"clinton": falling, "a": a, "b": b}).kinds


def test_yes_no_answers_beside_enough_measurements_are_labels() -> None:
    rng = np.random.default_rng(7)
    answers = {f"v{'abcdefghijkl'[k]}": rng.integers(0, 2, 200) * 1.0 for k in range(12)}
    measured = {name: rng.normal(size=200) for name in "wxyz"}
    assert set(kinds_of({**answers, **measured}).kinds) == set(answers)
    del measured["z"]
    assert not kinds_of({**answers, **measured}).kinds


def test_a_scale_of_many_steps_is_one_whether_it_counts_from_zero_or_one() -> None:
    """Three opinions from 1 to 7, party from 0 to 6 and school from 1 to 7 beside three measurements."""
    own = np.random.default_rng(5)
    levels = {name: own.integers(1, 8, 400) * 1.0 for name in ("selfLR", "ClinLR", "DoleLR", "educ")}
    levels["PID"] = own.integers(0, 7, 400) * 1.0
    measured = {name: own.normal(50, 9, 400) for name in ("age", "income", "people")}
    assert set(kinds_of({**measured, **levels}).items) == set(levels)
    short = {name: np.minimum(x, 3.0) for name, x in levels.items()}  # 1 to 3 and 0 to 3: codes of two kinds
    assert not kinds_of({**measured, **short}).items


def test_numbered_items_of_one_scale_are_measured_unless_more_is():
    sat = {f"sat_{j}": rng.integers(1, 6, N) * 1.0 for j in range(1, 5)}
    assert set(kinds_of({**measured(2), **sat}).items) == set(sat)
    assert not kinds_of({**measured(5), **sat}).items
    assert not kinds_of({**measured(2), **items(4, 1, 5, "code_")}).items  # not numbered: codes of any kind


def test_coordinates_of_every_convention_say_where_a_row_is() -> None:
    east, north = rng.uniform(178_000, 181_000, N), rng.uniform(329_000, 333_000, N)
    for x, y in (("utm_e", "utm_n"), ("Easting", "Northing"), ("XCOO", "YCOO"), ("x", "y")):
        assert set(kinds_of({**measured(3), x: east, y: north}).kinds) == {x, y}
    assert not kinds_of({**measured(3), "x": rng.normal(0, 1, N), "y": rng.normal(0, 1, N)}).kinds


def test_a_table_of_counts_has_no_codes() -> None:
    mean = np.r_[np.full(20, 0.3), np.full(20, 2.5)] * rng.gamma(1.0, 1.0, (50, 40))
    plots = rng.poisson(mean) * 1.0
    names = ["".join(pair) for pair in zip("abcdefghij" * 4, "kkkkkkkkkkllllllllllmmmmmmmmmmnnnnnnnnnn", strict=True)]
    assert not kinds_of({name: plots[:, k] for k, name in enumerate(names)}).kinds


def test_without_names_of_the_file_no_family_of_names() -> None:
    columns = {f"c{k + 1}": rng.normal(0, 1, N) for k in range(7)} | {"c8": rng.integers(1, 4, N) * 1.0}
    assert not kinds_of(columns).kinds and set(kinds_of(columns, named=False).kinds) == {"c8"}
