"""What the page may ask for: numbers as they are, single precision that loses no digits, and nothing else."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil

import numpy as np
import pytest

from lowdim.explorer import answers as module
from lowdim.explorer.answers import Answers
from lowdim.jobs.subject import subject
from lowdim.registry import METHODS
from tests.explorer import subjects


def numbers(answer, dtype="<f8"):
    return np.frombuffer(answer.body, dtype=dtype)


@pytest.fixture(scope="module")
def answers():
    return Answers(subjects.odd())


def test_columns_axes_and_extras_are_the_numbers_themselves(answers):
    s = subjects.odd()
    np.testing.assert_array_equal(numbers(answers.answer("column/2")), s.table.X[:, 2])
    np.testing.assert_array_equal(numbers(answers.answer("axis/1")), s.model.transform(s.source)[:, 1])
    np.testing.assert_array_equal(numbers(answers.answer("extra/gaps")), np.isnan(s.table.X).sum(axis=1))
    np.testing.assert_array_equal(numbers(answers.answer("sd/0")), s.model.posterior(s.source).std[:, 0])


def test_facts_are_strict_json_and_hold_the_odd_row(answers):
    facts = json.loads(answers.answer("facts.json").body, parse_constant=pytest.fail)
    assert facts["n"] == 178 and facts["q"] == 3 and facts["model"]["kind"] == "linear"
    assert facts["odd"][0]["row"] == 19
    assert facts["run"].endswith("odd.run") and facts["jury"]["q"] == 3


def test_large_tables_travel_in_units_of_their_spread(monkeypatch):
    """Single precision of a column far from zero keeps seven digits of what varies, not of where it lies."""
    s = subjects.odd()
    monkeypatch.setattr(module, "EXACT_CELLS", 0)
    far = Answers(s)
    facts = json.loads(far.answer("facts.json").body)
    assert facts["numbers"]["double"] is False
    j = s.table.names.index("proline")
    x = numbers(far.answer(f"column/{j}"), "<f4").astype(float) / far._scale[j] + far._shift[j]
    spread = np.nanstd(s.table.X[:, j])
    np.testing.assert_allclose(x, s.table.X[:, j], atol=3e-7 * spread, rtol=0)


def test_a_row_is_exact_and_has_its_fills(answers):
    s = subjects.odd()
    i = int(np.flatnonzero(np.isnan(s.table.X).any(axis=1))[0])
    row = json.loads(answers.answer(f"row/{i}.json").body)
    gaps = [s.table.names[j] for j in np.flatnonzero(np.isnan(s.table.X[i]))]
    assert sorted(row["fills"]) == sorted(gaps)
    fill, low, high = row["fills"][gaps[0]]
    assert low < fill < high
    assert json.loads(answers.answer("row/19.json").body)["held"] == ["magnesium"]


def test_places_know_their_nearest_rows_and_where_no_row_has_been(answers):
    s = subjects.odd()
    z = s.places.z[5]
    at = json.loads(answers.answer(f"near/{','.join(map(repr, map(float, z)))}.json").body)
    cells = s.model.decode(z[None]).mean[0]
    off = (s.table.X - cells) / np.nanstd(s.table.X, axis=0)
    best = int(np.nanargmin(np.sqrt(np.nanmean(off**2, axis=1))))
    assert at["near"][0]["row"] == best and at["been"] is True
    assert json.loads(answers.answer("near/50,50,50.json").body)["been"] is False


def test_another_map_lies_over_this_one(answers):
    other = json.loads(answers.answer("map/fa").body)
    assert other["title"] == "factor analysis" and 0.0 <= other["off"] < 0.5
    bent = json.loads(answers.answer("map/isomap").body)  # of rows with gaps
    assert bent["title"] == METHODS["isomap"].title and 0.0 <= bent["off"] <= 1.0


@pytest.mark.parametrize(
    "name",
    [
        "",
        "axis/3",
        "axis/-1",
        "axis/x",
        "column/99",
        "row/178.json",
        "row/../facts.json",
        "extra/../../etc/passwd",
        "label/0",
        "near/1,2.json",
        "near/nan,0,0.json",
        "near/1e999,0,0.json",
        "empty/0,1,0,0,1,1,0.json",
        "empty/0,9,0,0,1,1,0,0,0.json",
        "empty/0,1,0,0,0,1,0,0,0.json",
        "map/ppca",
        "map/os.system",
        "../facts.json",
        "row/%2e%2e",
        "web/page.html",
        "/etc/passwd",
        "column/٣",
    ],
)
def test_nothing_else_is_answered(answers, name):
    assert answers.answer(name) is None


def test_a_table_that_changes_is_stale(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(subjects.wine().read_bytes())
    found = Answers(subjects.subject(path, "ppca"))
    assert json.loads(found.answer("stale.json").body) == {"stale": False, "what": None}
    os.utime(path, (1, 1))
    assert json.loads(found.answer("stale.json").body) == {"stale": True, "what": "table"}
    path.unlink()
    assert found.stale


def test_a_run_that_is_written_anew_is_stale(tmp_path):
    """Another `lowdim explore` of the table with other settings replaces what the page's commands read."""
    shutil.copytree(subjects.odd_run(), tmp_path / "odd.run")
    with contextlib.chdir(subjects.folder()):
        found = Answers(subject(tmp_path / "odd.run"))
    assert not found.stale
    os.utime(tmp_path / "odd.run" / "run.json", (1, 1))
    assert json.loads(found.answer("stale.json").body) == {"stale": True, "what": "run"}


def test_where_no_row_has_been_is_what_the_warning_says(answers):
    """A view's cells one by one, each asked as a place of its own."""
    s = subjects.odd()
    z = s.places.z
    (x, y), (w, h) = z[:, :2].min(axis=0) - 1, np.ptp(z[:, :2], axis=0) + 2
    found = json.loads(answers.answer(f"empty/0,1,{x},{y},{w},{h},0,0,0.5.json").body)
    side, bare = found["side"], set(np.frombuffer(base64.b64decode(found["cells"]["f8"])).astype(int).tolist())
    assert 0 < len(bare) < side**2
    for cell in range(0, side**2, 37):
        at = [x + (cell // side + 0.5) / side * w, y + (cell % side + 0.5) / side * h, 0.5]
        assert s.at(at).been is (cell not in bare)


def test_maps_that_take_gaps_are_offered(answers):
    assert answers.facts["maps"] == ["pca", "fa", "gtm", "isomap", "kpca"]
    assert "isomap" in Answers(subjects.complete()).facts["maps"]
