"""The roles of whole tables: those that nobody cleaned, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lowdim.table.read import read, read_rows
from tests.conftest import need

MEASURED = {  # table: columns that shape axes; all others have another role
    "airquality": "Ozone Solar.R Wind Temp",
    "biopsy": "V1 V2 V3 V4 V5 V6 V7 V8 V9",
    "cereal": "calories protein fat sodium fibre carbo sugars shelf potassium",
    "colic": "surgery temp_rectal pulse respiratory_rate temp_extreme pulse_peripheral capillayr_refill_time pain "
    "peristalsis abdominal_distension nasogastric_tube nasogastric_reflux nasogastric_reflux_PH rectal_examination "
    "abdomen cell_volume protein abdominocentesis_appearance abdomcentesis_protein outcome surgical_lesion cp_data "
    "mucous_membranes_col mucous_membranes_group",
    "country": "surface_area population life_expectancy gnp gnp_old",
    "mpg": "mpg cylinders displacement horsepower weight acceleration",
    "mtcars": "mpg cyl disp hp drat wt qsec vs am gear carb",
    "penguins": "bill_length_mm bill_depth_mm flipper_length_mm body_mass_g",
    "planets": "number orbital_period mass distance",
    "snorena": "age weight size alcohol snore tobacco",
    "swiss": "Fertility Agriculture Examination Education Catholic Infant.Mortality",
    "titanic": "sex age sibsp parch fare embarked class who adult_male deck alive alone",
    "TitanicNA": "CLASS AGE SEX SURV",
    "usarrests": "Murder Assault UrbanPop Rape",
}


@pytest.mark.parametrize("name", MEASURED)
def test_real_tables_are_measured_by_what_was_measured(name):
    table = read(need(f"real_tables/{name}.csv"))
    assert table.names == tuple(MEASURED[name].split())


def test_items_are_analysed_as_levels():
    table = read(need("real_tables/bfi.csv"))
    kinds = {c.name: (c.role, c.kind) for c in table.columns}
    assert table.d == 27 and sum(kind == ("number", "ordinal") for kind in kinds.values()) == 26
    assert kinds["gender"] == ("label", "yes/no") and kinds["education"] == ("number", "ordinal")
    assert kinds["age"] == ("number", "") and kinds["rownames"][0] == "id"
    assert table.scales.levels[0] == (1, 2, 3, 4, 5, 6)
    votes = read(need("real_tables/vnf.csv"))
    assert votes.d == 14 and all(c.levels for c in votes.columns)


def test_sums_and_means_of_a_panel_are_named():
    table = read(need("real_tables/hfi.csv"))
    out = {c.name: c.note for c in table.columns if c.role == "out"}
    assert out["hf_score"] == "the mean of pf_score and ef_score" and len(out) >= 25
    assert out["pf_score"].startswith("0.25 pf_rol + 0.25 pf_ss + 0.1 pf_movement")
    roles = {c.name: (c.role, c.kind) for c in table.columns}
    assert roles["year"] == ("label", "year") and roles["hf_rank"] == ("label", "rank")
    assert roles["hf_quartile"] == ("label", "code") and "LD186" in table.messages.codes


def test_one_fact_told_twice_in_words_and_numbers():
    table = read(need("real_tables/titanic.csv"))
    notes = {c.name: c.note for c in table.columns if c.role == "out"}
    assert notes == {"survived": "same as alive", "pclass": "same as class", "embark_town": "same as embarked"}


def test_answers_in_words_shape_the_axes_by_their_codes():
    table = read(need("uci/house_votes_1984.csv"))
    assert table.d == 16 and table.names[0] == "V1" and set(table.labels) == {"Class"}
    assert table.columns[1].labels == ("n", "y") and "LD188" in table.messages.codes
    assert set(np.unique(table.X[~np.isnan(table.X)])) == {0.0, 1.0} and table.in_ones().names[0] == "V1=y"


def test_use_brings_a_column_back():
    plain, asked = (read(need("real_tables/bfi.csv"), use=use) for use in ((), "gender"))
    assert set(asked.names) - set(plain.names) == {"gender"}
    assert asked.numbers[asked.names.index("gender")].kind == "yes/no"


def test_ids_that_repeat_do_not_name_rows(tmp_path: Path):
    rng = np.random.default_rng(0)
    keys = np.r_[np.arange(5000, 5060), 5003, 5007]
    frame = pd.DataFrame({"patient_id": keys, "a": rng.normal(0, 1, 62), "b": rng.normal(0, 1, 62)})
    table = read(frame)
    assert table.names == ("a", "b") and table.row_names[:3] == ("1", "2", "3")
    assert [c.role for c in table.columns] == ["id", "number", "number"]
    assert read(frame, id="patient_id").row_names[0] == "5000"


def test_an_array_is_taken_as_it_is():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(0, 1, (50, 2)), rng.integers(0, 2, 50), rng.integers(1, 13, 50)])
    assert read(X).d == 4 and read(X).messages.codes == ()
    assert read(pd.DataFrame(X, columns=["a", "b", "sex", "month"])).names == ("a", "b")


def test_new_rows_have_the_columns_of_the_model(tmp_path: Path):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    pd.DataFrame({"year": rng.integers(1990, 2000, 30), "a": rng.normal(0, 1, 30)}).to_csv(path, index=False)
    assert np.isfinite(read_rows(path, ("year", "a")).X).all()


def test_labels_of_a_few_groups_come_first():
    assert list(read(need("real_tables/hfi.csv")).labels)[:3] == ["region", "hf_quartile", "year"]


def test_the_rows_have_the_name_that_the_message_says() -> None:
    """A number that is different in every row stands before the names, and is only a further name."""
    rng = np.random.default_rng(0)
    numbers = np.sort(rng.permutation(200)[:86])
    columns = {
        "dept": numbers,
        "name": [f"town {k}" for k in range(86)],
        "a": rng.normal(size=86),
        "b": rng.normal(size=86),
    }
    table = read(pd.DataFrame(columns))
    assert table.row_names[0] == "town 0" and table.names == ("a", "b")
    assert next(m.what for m in table.messages if "'name'" in m.what).endswith("the name of each row")


def test_the_name_of_many_groups_is_not_called_few_levels() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"prof_id": rng.integers(1, 95, 400), "sex": rng.integers(0, 2, 400), "a": rng.normal(size=400)}
    )
    frame["c"], frame["d"] = rng.normal(size=(2, 400))
    frame["county"], frame["b"] = rng.integers(1, 91, 400), rng.normal(size=400)
    messages = {m.code: m.what for m in read(frame).messages}
    assert "sex" in messages["LD182"] and "prof_id" not in messages["LD182"] and "county" not in messages["LD182"]
    said = [m.what for m in read(frame).messages if m.code == "LD180"]
    assert len(said) == 2 and all("names groups of rows and was set aside as a label" in what for what in said)


def test_places_alone_are_measured_with_a_note() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"latitude": rng.uniform(30, 50, 60), "longitude": rng.uniform(-120, -70, 60)})
    table = read(frame)
    assert table.d == 2 and table.messages.codes == ("LD196",)
    frame[["a", "b"]] = rng.normal(size=(60, 2))
    assert read(frame).names == ("a", "b") and "LD196" not in read(frame).messages.codes


def test_boxes_that_were_ticked_are_answers_and_no_gaps():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 120), "height": rng.normal(170, 9, 120).round(1)})
    ticked = rng.random((120, 4)) < [0.2, 0.5, 0.6, 0.8]
    for k, word in enumerate(("Radio", "Television", "Papers")):
        frame[f"What do you use? {word}"] = np.where(ticked[:, k], word, None)
    frame["remark"] = np.where(ticked[:, 3], "none", None)
    table = read(frame[[*frame.columns[:5]]])
    (told,) = (m for m in table.messages if m.code == "LD137")
    assert told.what.startswith("3 columns look like tick boxes")
    boxes = [c for c in table.columns if c.labels == ("not ticked", "ticked")]
    assert [c.role for c in boxes] == ["number"] * 3 and not any(c.gaps.any() for c in boxes)
    assert (np.column_stack([c.values for c in boxes]) == ticked[:, :3]).all()
    assert "LD137" not in read(frame[["age", "height", "remark"]]).messages.codes
    known = tuple(table.names)
    labels = ((),) * 2 + (("not ticked", "ticked"),) * 3
    new = read_rows(frame.iloc[:7], known, labels)
    assert (new.X[:, 2:] == ticked[:7, :3]).all() and not new.strange.any()
    assert (read_rows(table, known, labels).X[:, 2:] == ticked[:, :3]).all()


def test_numbers_of_a_label_name_its_groups_and_what_is_measured_of_it_stays():
    rng = np.random.default_rng(0)
    place = np.repeat([f"place {k}" for k in range(80)], 4)
    number, people = np.repeat(rng.permutation(250)[:80], 4), np.repeat(rng.integers(1000, 10**7, 80), 4)
    frame = pd.DataFrame({"place": place, "m49": number, "people": people, "x": rng.normal(size=320).round(3)})
    assert read(frame).names == ("people", "x")
    assert read(frame, use=["m49"]).names == ("m49", "people", "x")
    other = frame.assign(m49=np.where(np.arange(320) == 7, 3000, frame["m49"]))  # not one number a place
    assert read(other).names == ("m49", "people", "x")


def test_three_columns_of_words_take_part_and_two_are_labels():
    rng = np.random.default_rng(0)
    like = rng.normal(0, 1, (200, 1)) + rng.normal(0, 1, (200, 9))
    words = np.array(["dislike", "neither", "like"], dtype=object)[np.digitize(like, [-0.7, 0.7])]
    frame = pd.DataFrame(words, columns=[f"about {k}" for k in range(9)])
    for k in range(5):
        frame[f"rank {k}"] = rng.integers(1, 7, 200)
    frame["town"] = rng.choice(["Bonn", "Kiel", "Jena"], 200)
    table = read(frame)
    (told,) = (m for m in table.messages if m.code == "LD136")
    assert told.what.startswith("10 columns of categories take part")
    assert table.d == 15 and not table.labels
    assert read(frame, label=["about 8"]).d == 14
    few = read(frame[[*frame.columns[7:]]])  # two opinions and the town are three
    assert few.d == 8 and list(read(frame[[*frame.columns[8:]]]).labels) == ["about 8", "town"]


def test_the_copy_of_a_category_that_was_asked_for_is_left_out():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 4, 120)
    words = np.array(["cold", "cool", "normal", "warm"], dtype=object)[code]
    numbers = {f"x{j}": rng.standard_normal(120) for j in range(4)}
    for frame in (
        pd.DataFrame({**numbers, "code": code, "skin": words}),
        pd.DataFrame({**numbers, "other": words.astype(str), "skin": words}),
    ):
        table = read(frame, encode=["skin"])
        assert table.names == ("x0", "x1", "x2", "x3", "skin")
        assert [m.code for m in table.messages if m.code == "LD143"] == ["LD143"]
