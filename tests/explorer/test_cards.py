"""What the page is told of rows, places, gaps and groups is what the models' own verbs say and what the run wrote."""

from __future__ import annotations

import csv
import json
from base64 import b64decode

import numpy as np
import pandas as pd
import pytest

from lowdim.explorer.endpoints import Endpoints
from lowdim.jobs.one_model import fit_method
from lowdim.jobs.table_model import subject
from tests.explorer import subjects

CLOSE = {"rel": 1e-9, "abs": 1e-9}


@pytest.fixture(scope="module")
def told():
    return asking(subjects.answers())


def asking(s):
    """What a subject's endpoints reply, as the page reads it."""
    endpoints = Endpoints(s)
    return lambda name, asked="": (found := endpoints.reply(name, asked)) and json.loads(found.body)


def card(told, row, hidden=(), edited=None, columns=None):
    names = list(columns or subjects.answers().columns)
    changes = [[names.index(name), value] for name, value in (edited or {}).items()]
    return told("card", json.dumps({"row": row, "hidden": [names.index(name) for name in hidden], "edited": changes}))


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
    assert [c["column"] for c in page["cells"]] == list(s.columns)
    for name, value, cell in zip(s.columns, lives, page["cells"], strict=True):
        if name in ("a", "b", "c", "town"):
            assert cell["word"] == value and 1 / 3 < cell["chance"] <= 1.0 and 0.0 < cell["usual"] < 1.0
        elif name == "height":
            assert cell["value"] == pytest.approx(float(value), **CLOSE) and cell["low"] < cell["value"] < cell["high"]
    seen = frame()["town"].dropna()
    town = next(c for c in page["cells"] if c["column"] == "town")
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
    assert leans[s.columns.index("town")] == pytest.approx(100 * (here - there), **CLOSE)


def test_ellipses_are_the_rows_covariances():
    s, rows = subjects.answers(), [3, 7, 11]
    found = Endpoints(s).reply("ellipses/0,1,3,7,11")
    cov = s.model.posterior(frame().iloc[rows]).cov
    assert np.frombuffer(found.body).reshape(-1, 3) == pytest.approx(cov[:, [0, 0, 1], [0, 1, 1]], **CLOSE)


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("card", ""),
        ("card", "{}"),
        ("card", "[1]"),
        ("card", '{"row":900,"hidden":[],"edited":[]}'),
        ("card", '{"row":-1,"hidden":[],"edited":[]}'),
        ("card", '{"row":1,"hidden":[99],"edited":[]}'),
        ("card", '{"row":1,"hidden":[-1],"edited":[]}'),
        ("card", '{"row":1,"hidden":[],"edited":[[9,"Rome"]]}'),
        ("group", ""),
        ("group", "{}"),
        ("group", "[]"),
        ("group", "[900]"),
        ("group", "[-1]"),
        ("group", '["1"]'),
        ("at/1.json", ""),
        ("at/nan,0.json", ""),
        ("gap/0,0.json", ""),
        ("gap/99,0.json", ""),
        ("gap/99.json", ""),
        ("gap/0,1,2.json", ""),
        ("ellipses/0,9,1", ""),
        ("ellipses/0,1,900", ""),
        ("ellipses/0", ""),
    ],
)
def test_what_there_is_not_is_not_answered(told, name, asked):
    assert told(name, asked) is None


# every model ------------------------------------------------------------------------------------------------
def row_of(s, i, hidden, edited):
    """The row as its model takes it, and in the table's numbers."""
    x = s.table.X[i].copy()
    for name, value in edited.items():
        own = np.full((1, s.table.d), np.nan)
        own[0, s.table.names.index(name)] = value
        x[s.table.names.index(name)] = s.table.scales.inward(own)[0, s.table.names.index(name)]
    for name in hidden:
        x[s.table.names.index(name)] = np.nan
    return x


@pytest.mark.parametrize(
    "name", ["ppca", "fa", "pca", "bpca", "robust", "gtm", "logs", pytest.param("gplvm", marks=pytest.mark.slow)]
)
def test_a_touched_row_is_what_the_model_says_of_it(name):
    s = (
        subjects.subject(subjects.lognormal(), "gplvm", log="price,area+0.05")
        if name == "gplvm"
        else subjects.demo(name)
    )
    i = int(np.flatnonzero((~np.isnan(s.table.X)).sum(axis=1) >= 4)[2])
    a, b = (s.table.names[j] for j in np.flatnonzero(~np.isnan(s.table.X[i]))[:2])
    value = float(np.round(s.table.scales.outward(s.table.X[i : i + 1])[0, s.table.names.index(b)] * 1.25 + 0.1, 3))
    page, x = card(asking(s), i, [a], {b: value}, s.table.names), row_of(s, i, [a], {b: value})
    at = s.model.posterior((x / s.unit)[None])
    assert page["z"] == pytest.approx(at.mean[0].tolist(), **CLOSE)
    assert page["cov"] == pytest.approx(at.cov[0].ravel().tolist(), **CLOSE)
    assert page["whole"]["z"] == pytest.approx(s.places.z[i].tolist(), rel=1e-6, abs=1e-6)
    for j, (low, middle, high) in enumerate(c["says"] for c in page["cells"]):
        one = x.copy()
        one[j] = np.nan
        cells = s.model.predict_cells((one / s.unit)[None])
        mean, sd = cells.mean[0, j] * s.unit[j], np.sqrt(cells.var + cells.noise)[0, j] * s.unit[j]
        assert low < middle < high
        if s.law is None:  # a law is of the parameters as they are, without their doubt
            assert middle == pytest.approx(mean, rel=1e-6, abs=1e-6 * s.rows.spread[j])
            assert (high - low) / 2 == pytest.approx(1.6448536269514722 * sd, rel=1e-6)
            if not np.isnan(x[j]):
                assert page["cells"][j]["surprise"] == pytest.approx((x[j] - mean) / sd, **CLOSE)
    if s.law is None:
        assert (
            page["D2"] is None
            and 0.0 <= page["likelier"] <= 1.0
            and page["sentence"].startswith(f"Row {page['name']} without {a}")
        )
        return
    mine = s.explain(i, hidden=[a], edited={b: value})
    for key in ("D2", "p", "T2", "Q", "sentence"):
        assert page[key] == getattr(mine, key)
    assert page["hide"] == list(mine.hide)


@pytest.mark.parametrize("name", ["ppca", "gtm", "logs"])
def test_what_fills_a_gap_is_the_models_own_and_leans_on_cells(name):
    s = subjects.demo(name)
    i, k = np.argwhere(np.isnan(s.table.X))[0].tolist()
    told = asking(s)
    page = told(f"gap/{k}.json")
    assert page["row"] == i == page["rows"][0] and page["by"] == "" and page == told(f"gap/{k},{i}.json")
    x = s.table.X[i]
    fill = s.model.predict_cells((x / s.unit)[None]).mean[0] * s.unit
    assert page["value"] == pytest.approx(s.table.scales.outward(fill[None])[0, k], **CLOSE)
    leans = np.frombuffer(b64decode(page["leans"]["f8"]))
    if name == "gtm":
        j = int(np.flatnonzero(~np.isnan(x))[0])
        without = np.where(np.arange(s.table.d) == j, np.nan, x)
        there = s.model.predict_cells((without / s.unit)[None]).mean[0, k] * s.unit[k]
        assert leans[j] == pytest.approx(fill[k] - there, **CLOSE)
    else:  # of a linear model they sum to what moved it from the mean
        assert leans.sum() == pytest.approx(fill[k] - s.model.mean_[k] * s.unit[k], rel=1e-6)


def test_a_mixed_model_that_was_named_has_all_its_cards():
    """`lowdim fit -m mixed`: labels take part, which are no numbers of the table."""
    rng = np.random.default_rng(3)
    eta = rng.standard_normal((80, 1)) @ rng.normal(0.0, 1.5, (1, 5)) + 0.7 * rng.standard_normal((80, 5))
    table = pd.DataFrame(np.round(eta[:, :4], 3), columns=[*"abcd"])
    table["town"] = np.array(["Aden", "Bern", "Cork"])[np.digitize(eta[:, 4], [-1.0, 1.0])]
    table.loc[5, "town"], table.loc[7, "a"] = None, np.nan
    s = subject(fit_method(table, "mixed", dims=1))
    told, k = asking(s), list(s.columns).index("town")
    page = card(told, 3, ["a"], {"town": "Cork"}, s.columns)
    assert (
        page["cells"][k]["word"] == "Cork"
        and page["sentence"] == s.explain(3, hidden=["a"], edited={"town": "Cork"}).sentence
    )
    assert told("at/0.5.json")["cells"][k]["word"] in ("Aden", "Bern", "Cork")
    assert told(f"gap/{k}.json")["row"] == 5 and sum(told(f"gap/{k}.json")["shares"]) == pytest.approx(1.0)
    assert told("group", "[1, 2, 3, 4, 5]")["sentence"] == s.set_apart([1, 2, 3, 4, 5]).sentence


@pytest.mark.parametrize("name", ["ppca", "gtm"])
def test_a_group_is_what_sets_it_apart(name):
    s, rows = subjects.demo(name), list(range(0, 60, 3))
    page, mine = asking(s)("group", json.dumps(rows)), s.set_apart(rows)
    assert page["sentence"] == mine.sentence and page["columns"] == [a._asdict() for a in mine.columns]
    assert asking(s)("group", json.dumps(list(range(s.table.n))))["sentence"].startswith("That is every row")


def test_models_that_say_nothing_of_hidden_cells_have_no_row_cards():
    t = np.linspace(0.0, 6.0, 60)
    told = asking(subject(fit_method(np.column_stack([np.cos(t), np.sin(t), t]), "isomap", dims=2)))
    facts = told("facts.json")
    assert not facts["placed"] and not facts["decodes"] and not facts["judged"]
    assert told("card", '{"row":1,"hidden":[],"edited":[]}') is None and told("at/0,0.json") is None
    assert told("group", "[1, 2, 3]")["columns"]
