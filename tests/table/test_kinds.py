"""What columns of numbers are, each alone and beside the others."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim.table.kinds import date_families, group_keys, kind_of, kinds_of, missed_ties, name_words, same_facts

# one column by itself --------------------------------------------------------------------------------
rng = np.random.default_rng(0)
N = 300
other = np.random.default_rng(1)
KEYS = rng.choice(10**7, N, replace=False).astype(float)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("ID", KEYS, "id"),
        ("ID", np.r_[KEYS[:250], KEYS[:50]], "id"),
        ("hospitalID", KEYS, "id"),
        ("user_id", rng.integers(1, 30, N) * 1.0, "key"),
        ("userId", np.repeat(np.arange(30.0), 10), "key"),
        ("patient", rng.permutation(N) + 1.0, "id"),
        ("capital", rng.permutation(4000)[:N] * 1.0, "numbering"),
        ("code", rng.permutation(500)[:N] * 1.0, "id"),
        ("x", np.arange(1.0, N + 1), "counter"),
        ("x", np.arange(N) * 0.25, "counter"),
        ("x", np.arange(N, 0.0, -1), "counter"),
        ("x", rng.permutation(N) * 0.25, "numbering"),
        ("time", rng.permutation(N) * 0.25, "time"),
        ("Zensus-Nr.", np.r_[KEYS[:290], KEYS[:10]] % 10**6, "id"),
        ("n", rng.integers(2000, 8000, N) * 1.0, "weight"),
        ("N", rng.integers(2000, 8000, N) * 1.0, ""),
        ("symboling", rng.integers(-2, 4, N) * 1.0, "code"),
        (
            "BL.Cig.Day",
            rng.choice([1.0, 4, 5, 10, 12, 15, 20, 30], N, p=[0.1, 0.1, 0.2, 0.3, 0.05, 0.05, 0.1, 0.1]),
            "",
        ),
        ("sale.day", rng.integers(1, 32, N) * 1.0, "day"),
        ("index", np.tile(np.arange(1.0, 51), 6), "group counter"),
        ("stratum", np.r_[1.0:84, 1:74, 75:84, 1:84], "group counter"),
        ("pooled.stratum", rng.integers(1, 64, N) * 1.0, "code"),
        ("time", np.arange(N) * 0.25, "time"),
        ("time_s", np.cumsum(rng.exponential(1, N)), "time"),
        ("timestamp", rng.integers(9e8, 1.5e9, N) * 1.0, "time stamp"),
        ("year", rng.integers(1989, 2014, N) * 1.0, "year"),
        ("model_year", rng.integers(70, 82, N) * 1.0, "year"),
        ("YearBuilt", rng.integers(1880, 2010, N) * 1.0, ""),
        ("yearbuilt", rng.integers(1880, 2010, N) * 1.0, ""),
        ("independence_year", np.r_[rng.integers(1800, 1995, N - 2), -1523, -660] * 1.0, "year"),
        ("Month", rng.integers(5, 10, N) * 1.0, "month"),
        ("day", rng.integers(1, 32, N) * 1.0, "day"),
        ("hour", rng.integers(0, 24, N) * 1.0, "hour"),
        ("Yr.Built", np.r_[other.integers(1880, 2010, N - 1), 2207] * 1.0, ""),
        ("Yr.Sold", np.r_[other.integers(1880, 2010, N - 1), 2207] * 1.0, "year"),
        ("date", 2000 + np.tile(np.arange(60), 5) / 12, "time"),
        ("date", other.integers(1900, 2010, N) * 1.0, "time"),
        ("dep_time", other.integers(5, 24, N) * 100.0 + other.integers(0, 60, N), "time of day"),
        ("sid", np.repeat(np.arange(1.0, 31), 10), "key"),
        ("district", other.choice(80_000, N, replace=False) * 1.0, "id"),
        ("country_code", other.choice(500, N) * 1.0, "key"),
        ("cowcode2", other.integers(1, 90, N) * 1.0, "code"),
        ("flight", other.integers(1, 90, N) * 1.0, "code"),
        ("zip", rng.integers(10000, 99999, N) * 1.0, "area"),
        ("census.tract", rng.integers(1, 99, N) * 1.0, "area"),
        ("world_rank", rng.integers(1, 160, N) * 1.0, "rank"),
        ("survived", rng.integers(0, 2, N) * 1.0, "yes/no"),
        ("sex", rng.integers(1, 3, N) * 1.0, "yes/no"),
        ("pclass", rng.choice([1.0, 2, 3], N, p=[0.25, 0.2, 0.55]), "code"),
        ("cylinders", rng.choice([3.0, 4, 5, 6, 8], N, p=[0.02, 0.5, 0.02, 0.2, 0.26]), "code"),
        ("lesion_type1", rng.choice([300.0, 2208, 3111, 3205, 11300, 41110, *range(4000, 4040)], N), "code"),
        ("lesion2", rng.choice([0, 1400.0, 3111, 3112, 6112, 7111], N), "code"),
        ("sibsp", rng.choice([0.0, 1, 2, 3, 4, 5, 8], N, p=[0.68, 0.23, 0.04, 0.02, 0.01, 0.01, 0.01]), "count"),
        ("number", rng.choice([1.0, 2, 3, 4], N), "count"),
        ("fiber", np.repeat([0.0, 2, 3, 4, 5, 6, 7], [29, 16, 12, 6, 6, 7, 1]), "count"),
        ("Monat", rng.integers(1, 13, N) * 1.0, "month"),
        ("mois", rng.integers(1, 13, N) * 1.0, "month"),
        ("survey.weight", (lambda w: w / w.mean())(rng.uniform(0.5, 2, N)), "weight"),
        ("ref", np.repeat(np.arange(1.0, 101), 3) * 7, "key"),
        ("edema", other.choice([0, 0.5, 1.0], N), "code"),
    ],
)
def test_it_is_what_a_person_would_call_it(name, values, kind):
    assert kind_of(name, values).word == kind


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("population", np.round(np.exp(rng.normal(15, 2, N)))),
        ("salary", rng.integers(20_000, 90_000, N) * 1.0),
        ("salary", np.round(rng.normal(50_000, 9_000, N), -2)),
        ("body_mass_g", np.round(rng.normal(4200, 800, N) / 25) * 25),
        ("price", rng.choice(10**6, N, replace=False) * 1.0),
        ("age", rng.integers(18, 90, N) * 1.0),
        ("age", rng.integers(11, 17, N) * 1.0),
        ("age", rng.integers(1, 6, N) * 1.0),
        ("years_experience", rng.integers(0, 40, N) * 1.0),
        ("days", rng.integers(1, 31, N) * 1.0),
        ("hours_per_week", rng.integers(1, 53, N) * 1.0),
        ("day_length", rng.normal(12, 2, N)),
        ("temperature", rng.integers(36, 42, N) * 1.0),
        ("citric.acid", rng.integers(0, 80, N) * 1.0),
        ("solid", rng.integers(0, 500, N) * 1.0),
        ("grid", rng.normal(0, 1, N)),
        ("score", rng.choice([0.0, 5, 10], N)),
        ("dose", rng.choice([0.5, 1.0, 2.0], N)),
        ("displacement", rng.choice(np.round(rng.normal(200, 80, 60)), N)),
        ("latency", rng.integers(1, 80, N) * 1.0),
        ("time", rng.normal(10, 2, N)),
        ("reaction_time", rng.normal(300, 50, N)),
        ("Cig.Day", rng.choice([0.0, 1, 2, 3, 5, 10, 20], N, p=[0.8, 0.05, 0.05, 0.025, 0.025, 0.025, 0.025])),
        ("weight", rng.normal(70, 9, N)),
        ("air_time", other.integers(20, 700, N) * 1.0),
        ("run_time", other.integers(1500, 2200, N) * 1.0),
        ("run_time", other.normal(1900, 50, N)),
        ("heat_index", rng.integers(60, 110, N) * 1.0),
        ("MonthlyCharges", rng.normal(60, 20, N)),
        ("wavelength", rng.normal(500, 20, N)),
    ],
)
def test_a_measurement_stays_one(name, values):
    assert kind_of(name, values).word in ("", "count")


def test_few_rows_or_few_values_say_nothing():
    assert kind_of("group", np.array([1.0, 2, 1, 2, 1])).word == ""
    assert kind_of("a", np.array([np.nan, 1.0, np.nan])).word == ""
    assert kind_of("a", rng.permutation(np.r_[np.arange(8.0), np.arange(8.0)])).word == ""  # eight values in 16 rows


def test_distinct_by_chance_is_no_name():
    """Of 400 columns of wide whole numbers that happen to be all different, none is taken for a name."""
    draws = [np.random.default_rng(seed).integers(0, 10**6, 100) * 1.0 for seed in range(400)]
    all_different = [v for v in draws if len(np.unique(v)) == 100]
    assert len(all_different) > 300 and not any(kind_of("x", v).word for v in all_different)
    assert missed_ties(np.random.default_rng(1).permutation(300) + 1.0) > 100


def test_words_of_a_name():
    assert name_words("pf_ss_women") == ["pf", "ss", "women"] and name_words("ID") == ["id"]
    assert name_words("PassengerId") == ["passenger", "id"] and name_words("X1856") == ["x"]


def test_years_that_are_not_called_so_are_known_by_their_numbers() -> None:
    line = rng.integers(1963, 2016, N) * 1.0
    assert kind_of("earliest_credit_line", line).word == "year"
    for near in (line * 2, line + 0.5, line + 100, rng.integers(100, 3000, N) * 1.0, rng.choice([1950.0, 2000], N)):
        assert kind_of("earliest_credit_line", near).word != "year"
    assert kind_of("calories", rng.choice(np.arange(1900, 2030, 10), N) * 1.0).word != "year"


# columns that name groups of rows, parts of one date -------------------------------------------------
dice = np.random.default_rng(0)


def test_numbers_that_occur_equally_often_name_groups() -> None:
    who = np.repeat(np.arange(1.0, 31), 4)
    assert group_keys({"x": who}).keys() == group_keys({"x": dice.permutation(who)}).keys() == {"x"}
    assert not group_keys({"x": who[:-1]}) and not group_keys({"x": who * 2}) and not group_keys({"x": who % 8 + 1})


def test_sorted_numbers_name_groups_only_where_other_columns_stay_the_same_with_them() -> None:
    person = np.repeat(np.cumsum(dice.integers(3, 900, 60)), dice.integers(2, 5, 60)).astype(float)
    at = np.searchsorted(np.unique(person), person)
    fixed, free = dice.normal(size=(2, 60))[:, at], dice.normal(size=(2, len(person)))
    assert set(group_keys({"p": person, "a": fixed[0], "b": fixed[1], "c": free[0]})) == {"p"}
    assert not group_keys({"p": person, "a": fixed[0], "c": free[0]})  # one such column may be the same fact
    assert not group_keys({"price": person, "a": free[0], "b": free[1]})  # a table sorted by what was measured


def test_parts_of_one_date_go_together() -> None:
    year, month, day = (
        dice.integers(83, 93, 200) * 1.0,
        dice.integers(1, 13, 200) * 1.0,
        dice.integers(1, 32, 200) * 1.0,
    )
    day[:150] = np.nan
    found = date_families({"yrdth": year, "modth": month, "dadth": day, "model": month})
    assert {name: kind.word for name, kind in found.items()} == {"yrdth": "year", "modth": "month", "dadth": "day"}
    assert not date_families({"modth": month, "yrs": year}) and not date_families({"yrdth": year * 100, "modth": month})


def test_a_code_of_many_levels_is_never_an_item() -> None:
    country, x = dice.integers(1, 150, 600) * 1.0, dice.normal(size=600)
    answer = dice.integers(0, 2, 600) * 1.0
    found = kinds_of({"cowcode": country, "x": x, "answer": answer})
    assert found.kinds["cowcode"].word == "code" and set(found.items) == {"answer"}


# columns beside each other ---------------------------------------------------------------------------
coin = np.random.default_rng(1)
ROWS = 200


def measured(k: int) -> dict[str, np.ndarray]:
    return {name: coin.normal(0, 1, ROWS) for name in "abcdefgh"[:k]}


def items(k: int, low: int, high: int, stem: str = "item_") -> dict[str, np.ndarray]:
    return {f"{stem}{chr(97 + j)}": coin.integers(low, high + 1, ROWS) * 1.0 for j in range(k)}


def test_codes_beside_measurements_are_grades_unless_they_are_classes():
    found = kinds_of({**measured(3), **items(3, 1, 4)})
    assert not found.kinds and set(found.items) == {"item_a", "item_b", "item_c"}
    three = items(3, 1, 4, "item_")
    classes = {"school": three["item_a"], "target": three["item_b"], "design": np.tile([1.0, 2.0, 3.0], ROWS)[:ROWS]}
    classes["design"] = np.repeat([1.0, 2.0, 3.0], -(-ROWS // 3))[:ROWS]
    own = measured(3)
    order = np.array([0.0, 4.0, -4.0, 0.0])[three["item_c"].astype(int) - 1]  # the third is the lowest
    assert set(kinds_of({**own, "x": own["a"] + order, "item_c": three["item_c"], **classes}).kinds) >= {
        "school",
        "target",
        "item_c",
    }


def test_codes_alone_are_what_was_measured():
    found = kinds_of({**items(2, 0, 1, "yes_"), **items(2, 1, 4)})
    assert not found.kinds and len(found.items) == 4 and found.items["item_a"] == (1, 2, 3, 4)
    one = kinds_of({"a": coin.normal(0, 1, ROWS), **items(3, 1, 4)})
    assert not one.kinds and set(one.items) == {"item_a", "item_b", "item_c"}


def test_items_of_one_scale_that_outnumber_the_measurements():
    found = kinds_of({"age": coin.integers(18, 80, ROWS) * 1.0, **items(9, 1, 6), "gender": items(1, 1, 2)["item_a"]})
    assert set(found.kinds) == {"gender"} and len(found.items) == 9
    skewed = {
        **items(8, 1, 6),
        "item_z": coin.choice([1.0, 2, 3, 4, 5, 6], ROWS, p=[0.6, 0.2, 0.1, 0.05, 0.03, 0.02]),
    }
    assert set(kinds_of(skewed).items) == set(skewed)  # a skew item is like a count, and is none


def test_yes_no_answers_take_part_however_many_they_are():
    assert len(kinds_of({**measured(4), **items(5, 0, 1, "has_")}).items) == 5
    rare = {"has_one": np.r_[np.ones(3), np.zeros(ROWS - 3)]}
    assert set(kinds_of({**measured(4), **rare}).kinds) == {"has_one"}  # three rows tell little of the others
    assert len(kinds_of({**measured(2), **items(8, 0, 1, "has_")}).items) == 8


def test_a_numbered_family_has_one_role():
    family = {f"proc_{k:02d}": coin.normal(0, 1, ROWS) for k in range(8)}
    found = kinds_of({**family, "proc_08": coin.integers(0, 3, ROWS) * 1.0, "proc_09": coin.integers(0, 2, ROWS) * 1.0})
    assert not found.kinds
    clouds = {f"Ne{h}": coin.integers(0, 8, ROWS) * 1.0 for h in (9, 12, 15)}
    assert not kinds_of({**{f"T{h}": coin.normal(0, 1, ROWS) for h in (9, 12, 15)}, **clouds}).kinds
    codes = {"lesion1": coin.integers(0, 40, ROWS) * 101.0, "lesion2": coin.choice([0.0, 1401, 3111], ROWS)}
    found = kinds_of({**measured(2), **codes, "lesion3": coin.choice([0.0, 2209], ROWS)})
    assert set(found.kinds) == {"lesion1", "lesion2", "lesion3"}


def test_marks_on_the_scale_of_the_others_stay():
    scores = {f"score_{c}": np.r_[0.0, 10.0, coin.uniform(0, 10, ROWS - 2)] for c in "abcde"}
    assert not kinds_of({**scores, "coarse": coin.choice([0.0, 10], ROWS)}).kinds


def test_places_need_both_and_something_else():
    lat, lon = coin.uniform(30, 60, ROWS), coin.uniform(-20, 40, ROWS)
    assert set(kinds_of({"lat": lat, "lon": lon, **measured(2)}).kinds) == {"lat", "lon"}
    assert not kinds_of({"lat": lat, **measured(2)}).kinds
    assert not kinds_of({"lat": lat, "lon": lon}).kinds  # nothing else was measured


def test_two_columns_are_left_where_there_are_two():
    assert not kinds_of(
        {"year": np.arange(1900.0, 1900 + ROWS) - coin.integers(0, 2, ROWS), "a": coin.normal(0, 1, ROWS)}
    ).kinds


def test_one_fact_told_twice():
    number = coin.integers(1, 4, ROWS)
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
    assert "meducation" in kinds_of({"meducation": parents, "a": a, "b": b}).items
    flat, falling = rng.integers(1, 8, (2, 400)) * 1.0, np.repeat(np.arange(1.0, 8), [200, 100, 50, 25, 13, 8, 4])
    scales = {"selfLR": flat[0], "doleLR": flat[1], "clinLR": falling, "a": a, "b": b}
    assert set(kinds_of(scales).items) == {"selfLR", "doleLR", "clinLR"}
    assert not kinds_of({"clinton": falling, "a": a, "b": b}).kinds


def test_yes_no_answers_beside_measurements_take_part() -> None:
    rng = np.random.default_rng(7)
    answers = {f"v{'abcdefghijkl'[k]}": rng.integers(0, 2, 200) * 1.0 for k in range(12)}
    measured = {name: rng.normal(size=200) for name in "wxyz"}
    assert set(kinds_of({**answers, **measured}).items) == set(answers)
    sex = {"sex": answers.pop("va")}
    assert set(kinds_of({**answers, **measured, **sex}).kinds) == {"sex"}


def test_a_scale_of_many_steps_is_one_whether_it_counts_from_zero_or_one() -> None:
    """Three opinions from 1 to 7, party from 0 to 6 and school from 1 to 7 beside three measurements."""
    own = np.random.default_rng(5)
    levels = {name: own.integers(1, 8, 400) * 1.0 for name in ("selfLR", "ClinLR", "DoleLR", "educ")}
    levels["PID"] = own.integers(0, 7, 400) * 1.0
    measured = {name: own.normal(50, 9, 400) for name in ("age", "income", "people")}
    assert set(kinds_of({**measured, **levels}).items) == set(levels)
    short = {name: np.minimum(x, 3.0) for name, x in levels.items()}  # 1 to 3 and 0 to 3
    assert set(kinds_of({**measured, **short}).items) == set(levels)


def test_numbered_items_of_one_scale_are_measured_unless_more_is():
    sat = {f"sat_{j}": coin.integers(1, 6, ROWS) * 1.0 for j in range(1, 5)}
    assert set(kinds_of({**measured(2), **sat}).items) == set(sat)
    assert set(kinds_of({**measured(5), **sat}).items) == set(sat)
    assert not kinds_of({**measured(5), "type": sat["sat_1"]}).items


def test_coordinates_of_every_convention_say_where_a_row_is() -> None:
    east, north = coin.uniform(178_000, 181_000, ROWS), coin.uniform(329_000, 333_000, ROWS)
    for x, y in (("utm_e", "utm_n"), ("Easting", "Northing"), ("XCOO", "YCOO"), ("x", "y")):
        assert set(kinds_of({**measured(3), x: east, y: north}).kinds) == {x, y}
    assert not kinds_of({**measured(3), "x": coin.normal(0, 1, ROWS), "y": coin.normal(0, 1, ROWS)}).kinds


def test_a_table_of_counts_has_no_codes() -> None:
    mean = np.r_[np.full(20, 0.3), np.full(20, 2.5)] * coin.gamma(1.0, 1.0, (50, 40))
    plots = coin.poisson(mean) * 1.0
    names = ["".join(pair) for pair in zip("abcdefghij" * 4, "kkkkkkkkkkllllllllllmmmmmmmmmmnnnnnnnnnn", strict=True)]
    assert not kinds_of({name: plots[:, k] for k, name in enumerate(names)}).kinds


def test_without_names_of_the_file_no_family_of_names() -> None:
    columns = {f"c{k + 1}": coin.normal(0, 1, ROWS) for k in range(7)} | {"c8": coin.integers(1, 4, ROWS) * 1.0}
    assert not kinds_of(columns).kinds and set(kinds_of(columns, named=False).items) == {"c8"}
