"""Words that say how much, and which columns take part: as people write them, and in simulated tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lowdim as ld
from lowdim.table.describe import roles_line
from lowdim.table.grades import grades_of, is_yes_no
from lowdim.table.read import read


@pytest.mark.parametrize(
    "order",
    [
        ("Po", "Fa", "TA", "Gd", "Ex"),
        ("Fair", "Good", "Very Good", "Premium", "Ideal"),
        ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
        ("none", "mild", "moderate", "severe"),
        ("None", "Some", "Marked"),
        ("Never", "Rarely", "Sometimes", "Often", "Always"),
        ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"),
        ("low", "medium", "high"),
        ("S", "M", "L", "XL"),
        ("two", "four", "six", "eight"),
        ("First", "Second", "Third"),
        ("<20", "20-29", "30-39", "40+"),
        ("$0 - $24,999", "$25,000 - $49,999", "$50,000 - $99,999", "$150,000+"),
        ("1. < HS Grad", "2. HS Grad", "3. Some College"),
        ("Gtl", "Mod", "Sev"),
        ("Unf", "RFn", "Fin"),
    ],
)
def test_grades_are_put_in_their_order_however_they_come(order):
    for seed in range(3):
        mixed = [order[k] for k in np.random.default_rng(seed).permutation(len(order))]
        assert grades_of(mixed) == order


@pytest.mark.parametrize(
    "labels",
    [("red", "green", "blue"), ("low", "high"), ("good", "ok", "okay"), ("A", "B", "C"), ("Oslo", "Rome", "low")],
)
def test_names_are_no_grades(labels):
    assert grades_of(labels) == ()


def test_answers_are_told_from_names_of_two():
    yes = [("no", "yes"), ("N", "Y"), ("False", "True"), ("absent", "present"), ("1. Yes", "2. No")]
    assert all(map(is_yes_no, yes))
    assert not any(map(is_yes_no, [("female", "male"), ("B", "M"), ("no", "maybe"), ("no", "non")]))


def house(n=400):
    """One trait and what it drives: amounts, grades in words and numbers, an answer, names."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal(n)

    def site():
        return z + 0.6 * rng.standard_normal(n)

    grade = np.array(["Po", "Fa", "TA", "Gd", "Ex"], dtype=object)
    frame = pd.DataFrame({"area": 100 + 20 * site(), "price": 300 + 80 * site()})
    frame["kitchen"] = grade[np.digitize(site(), [-1.8, -0.8, 0.5, 1.4])]
    frame["overall"] = np.clip(np.round(5 + 1.5 * site()), 1, 10)
    frame["air"] = np.where(site() > -0.5, "Y", "N")
    frame["Year.Built"] = np.round(1970 + 15 * site())
    for k, name in enumerate(("roof", "wall", "district")):
        names = np.array(["aa", "bb", "cc", "dd"], dtype=object)
        frame[name] = names[(site() > 0.2) + 2 * (rng.random(n) < 0.3 + 0.1 * k)]
    frame["type"] = rng.integers(1, 4, n)
    return frame


def test_a_line_says_who_takes_part_and_in_which_way():
    table = read(house())
    assert roles_line(table) == "3 real, 2 ordinal, 1 yes/no, 3 nominal measured; labels type."
    kitchen = table.numbers[table.names.index("kitchen")]
    assert kitchen.grades == ("Po", "Fa", "TA", "Gd", "Ex") and kitchen.levels == (0.0, 1.0, 2.0, 3.0, 4.0)
    assert [*kitchen.words] == [*house()["kitchen"]]
    fewer = read(house().drop(columns="roof"))
    assert {"wall", "district"} <= set(fewer.labels) and "kitchen" in fewer.names
    assert "kitchen" in read(house(), label="kitchen").labels


def test_an_axis_of_a_mixed_table_names_every_column_once_and_by_labels_that_are_not_rare():
    found = ld.analyse(house(), dims=1)
    (card,) = found.axes
    named = [c.column.partition(" (")[0] for c in card.top]
    assert len(set(named)) == len(named) == 4 and "=" not in card.sentence.partition(" (")[0]
    assert {"area", "price", "overall", "kitchen"} & set(named)
    assert all(c.low <= c.value <= c.high for c in card.loadings)
    signs = {c.column: c.value > 0 for c in card.loadings if c.column in ("area", "price", "kitchen", "overall", "air")}
    assert len(set(signs.values())) == 1  # the trait drives all of them in one direction
    sharing = np.corrcoef(found.posterior.mean[:, 0], house()["area"])[0, 1]
    assert abs(sharing) > 0.8


def test_graded_words_are_filled_placed_and_explained_as_words(tmp_path):
    frame = house()
    gone = np.random.default_rng(1).random(len(frame)) < 0.1
    truth = frame["kitchen"].copy()
    frame.loc[gone, "kitchen"] = None
    filled = ld.fill(frame, engines="straight").frame
    grade = {word: k for k, word in enumerate(("Po", "Fa", "TA", "Gd", "Ex"))}
    error = filled["kitchen"].map(grade)[gone] - truth.map(grade)[gone]
    middle = truth[~gone].map(grade).median() - truth.map(grade)[gone]
    assert np.mean(np.abs(error)) < 0.85 * np.mean(np.abs(middle))  # nearer than the middle grade
    assert (filled["kitchen"][~gone] == frame["kitchen"][~gone]).all()
    found = ld.analyse(frame)
    placed = found.apply(frame.iloc[:60])
    np.testing.assert_allclose(placed.scores, found.scores.iloc[:60], atol=1e-6)
    assert set(placed.filled["kitchen"]) <= set(grade)
    told = next(line for line in found.explain(3, edited={"kitchen": "Po"}).text().splitlines() if "kitchen  " in line)
    assert told.split()[1] == "Po" and told.split()[2] in grade


def test_an_ordered_category_is_graded_by_its_frame():
    frame = house().drop(columns=["roof", "wall", "district"])
    order = ["zebra", "apple", "mango"]
    sizes = np.digitize(frame["area"], [95.0, 110.0])
    frame["size"] = pd.Categorical(np.array(order, dtype=object)[sizes], order, ordered=True)
    table = read(frame)
    own = table.numbers[table.names.index("size")]
    assert own.grades == tuple(order) and own.measure.word == "ordinal"
    np.testing.assert_array_equal(own.values, sizes)
