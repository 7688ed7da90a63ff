"""What the page is told of a map of answers is what the model's own verbs say, and what the run has written."""

from __future__ import annotations

import csv
import json
from base64 import b64decode
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest

from lowdim.explorer.answers import Answers
from tests.explorer import subjects

CLOSE = {"rel": 1e-9, "abs": 1e-9}


@pytest.fixture(scope="module")
def told():
    answers = Answers(subjects.answers())
    return lambda name: (found := answers.answer(name)) and json.loads(found.body)


def card(told, row, hidden=(), edited=None):
    return told(f"card/{quote(json.dumps({'row': row, 'hidden': list(hidden), 'edited': edited or {}}))}.json")


def frame():
    """The file, as the model's verbs take it: words as words, levels and numbers as numbers, prices in logarithms."""
    s = subjects.answers()
    file = pd.read_csv(subjects.folder() / "answers.csv")[list(s.columns)]
    return file.assign(price=np.log(file["price"] + s.table.logs["price"])) if "price" in s.table.logs else file


def test_a_touched_row_is_where_the_model_puts_it(told):
    model, row = subjects.answers().model, 11
    touched = frame().iloc[[row]].copy()
    touched["a"], touched["item1"], touched["town"] = None, 5, "Cork"
    at, page = model.posterior(touched), card(told, row, ["a"], {"item1": "5", "town": "Cork"})
    assert page["z"] == pytest.approx(at.mean[0].tolist(), **CLOSE)
    assert page["cov"] == pytest.approx(at.cov[0].ravel().tolist(), **CLOSE)
    assert page["logDensity"] == pytest.approx(float(model.score_samples(touched)[0]), **CLOSE)
    cells = {c["column"]: c for c in page["cells"]}
    assert cells["town"]["word"] == "Cork" and cells["a"]["value"] is None and cells["a"]["chance"] is None


def test_chances_of_answers_are_those_with_the_cell_hidden(told):
    """A cell's term is taken out of a Gaussian posterior, not fitted again: the same within a few hundredths."""
    model, off = subjects.answers().model, []
    for row in range(0, 40, 4):
        page = card(told, row)
        for name in ("a", "item2", "town"):
            cell = next(c for c in page["cells"] if c["column"] == name)
            hidden = frame().iloc[[row]].copy()
            hidden[name] = np.nan if name == "item2" else None
            k = list(subjects.answers().columns).index(name)
            share = dict(zip(map(str, model.levels_[k]), model.probabilities(hidden)[name][0], strict=True))
            share = {word.removesuffix(".0"): p for word, p in share.items()}
            assert share[cell["likeliest"]] >= max(share.values()) - 0.1
            if cell["chance"] is not None:
                off.append(cell["chance"] - share[cell["word"]])
            else:
                assert cell["most"] == pytest.approx(max(share.values()), **CLOSE)
    assert np.abs(off).max() < 0.08 and abs(np.mean(off)) < 0.02


def test_a_place_has_the_likeliest_answer_of_every_column(told):
    """At a place nothing is doubtful but the weights: the probabilities are those of the row that lives there."""
    s, z = subjects.answers(), [0.4, -0.7]
    page = told(f"at/{z[0]},{z[1]}.json")
    lives = s.model.inverse_transform(np.array([z]))[0]
    assert [c["name"] for c in page["cells"]] == list(s.columns)
    for name, value, cell in zip(s.columns, lives, page["cells"], strict=True):
        if name in ("a", "b", "c", "town"):
            assert cell["word"] == value and 1 / 3 < cell["chance"] <= 1.0 and 0.0 < cell["usual"] < 1.0
        elif name == "height":
            assert cell["value"] == pytest.approx(float(value), **CLOSE) and cell["low"] < cell["value"] < cell["high"]
    seen = frame()["town"].dropna()
    town = next(c for c in page["cells"] if c["name"] == "town")
    assert town["usual"] == pytest.approx(float((seen == town["word"]).mean()), **CLOSE)


def test_gaps_are_filled_as_the_run_has_written(told):
    s = subjects.answers()
    with (subjects.folder() / "answers.run" / "fills.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    names = list(s.table.row_names)
    assert {line["column"] for line in lines} >= {"a", "item1", "town", "height"}
    for line in lines[::4]:
        page = told(f"gap/{s.columns.index(line['column'])},{names.index(line['row'])}.json")
        if line["probability"]:
            assert page["chance"] == pytest.approx(float(line["probability"]), **CLOSE)
            assert page["word"] == line["fill"].removesuffix(".0")
        else:
            numbers = [float(line[key]) for key in ("fill", "lower", "upper")]
            assert [page["value"], page["low"], page["high"]] == pytest.approx(numbers, **CLOSE)


def test_what_a_gap_leans_on_is_what_hiding_it_changes(told):
    s, table = subjects.answers(), frame()
    row = int(np.flatnonzero(table["b"].isna() & table["town"].notna())[0])
    page = told(f"gap/{s.columns.index('b')},{row}.json")
    k = list(s.model.levels_[s.columns.index("b")]).index(page["own"]["word"])
    whole, without = table.iloc[[row]], table.iloc[[row]].copy()
    without["town"] = None
    here, there = (float(s.model.probabilities(x)["b"][0, k]) for x in (whole, without))
    leans = np.frombuffer(b64decode(page["leans"]["f8"]))
    assert page["own"]["chance"] == pytest.approx(here, **CLOSE)
    assert leans[s.columns.index("town")] == pytest.approx(here - there, **CLOSE)


def test_ellipses_are_the_rows_covariances():
    s = subjects.answers()
    found = Answers(s).answer("ellipses/0,1")
    cov = s.model.posterior(frame()).cov
    assert np.frombuffer(found.body).reshape(-1, 3) == pytest.approx(cov[:, [0, 0, 1], [0, 1, 1]], **CLOSE)


@pytest.mark.parametrize(
    "name",
    [
        "card/.json",
        "card/%7B%7D.json",
        "card/%5B1%5D.json",
        quote('card/{"row":900,"hidden":[],"edited":{}}.json'),
        quote('card/{"row":1,"hidden":["no such"],"edited":{}}.json'),
        quote('card/{"row":1,"hidden":[],"edited":{"town":"Rome"}}.json'),
        "at/1.json",
        "at/nan,0.json",
        "gap/0,0.json",
        "gap/99,0.json",
        "gap/0.json",
        "ellipses/0,9",
    ],
)
def test_what_there_is_not_is_not_answered(told, name):
    assert told(name) is None
