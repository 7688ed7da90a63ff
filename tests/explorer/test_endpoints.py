"""What the page may ask for: numbers as they are, single precision that loses no digits, and nothing else."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil

import numpy as np
import pytest

from lowdim.explorer import endpoints as module
from lowdim.explorer.endpoints import Endpoints
from lowdim.jobs.table_model import subject
from tests.explorer import subjects


def numbers(reply, dtype="<f8"):
    return np.frombuffer(reply.body, dtype=dtype)


@pytest.fixture(scope="module")
def endpoints():
    return Endpoints(subjects.odd())


def test_columns_axes_and_extras_are_the_numbers_themselves(endpoints):
    s = subjects.odd()
    np.testing.assert_array_equal(numbers(endpoints.reply("column/2")), s.table.X[:, 2])
    np.testing.assert_array_equal(numbers(endpoints.reply("axis/1")), s.model.transform(s.source)[:, 1])
    np.testing.assert_array_equal(numbers(endpoints.reply("extra/gaps")), np.isnan(s.table.X).sum(axis=1))
    np.testing.assert_array_equal(numbers(endpoints.reply("sd/0")), s.model.posterior(s.source).std[:, 0])


def test_facts_are_strict_json_and_hold_the_odd_row(endpoints):
    facts = json.loads(endpoints.reply("facts.json").body, parse_constant=pytest.fail)
    assert facts["n"] == 178 and facts["q"] == 3 and facts["judged"] and facts["placed"] and facts["decodes"]
    assert facts["odd"][0]["row"] == 19
    assert facts["run"].endswith("odd.run") and facts["jury"]["q"] == 3


def test_large_tables_travel_in_units_of_their_spread(monkeypatch):
    """Single precision of a column far from zero keeps seven digits of what varies, not of where it lies."""
    s = subjects.odd()
    monkeypatch.setattr(module, "EXACT_CELLS", 0)
    far = Endpoints(s)
    facts = json.loads(far.reply("facts.json").body)
    assert facts["numbers"]["double"] is False
    j = s.table.names.index("proline")
    x = numbers(far.reply(f"column/{j}"), "<f4").astype(float) / far._scale[j] + far._shift[j]
    spread = np.nanstd(s.table.X[:, j])
    np.testing.assert_allclose(x, s.table.X[:, j], atol=3e-7 * spread, rtol=0)


def test_a_row_has_its_fills_and_what_is_held_out(endpoints):
    s = subjects.odd()
    i = int(np.flatnonzero(np.isnan(s.table.X).any(axis=1))[0])
    row = json.loads(endpoints.reply("card", json.dumps({"row": i, "hidden": [], "edited": []})).body)
    gaps = [s.table.names[j] for j in np.flatnonzero(np.isnan(s.table.X[i]))]
    assert list(row["fills"]) == gaps == [c["column"] for c in row["cells"] if c["gap"]]
    fill = row["fills"][gaps[0]]
    assert fill["low"] < fill["value"] < fill["high"]
    odd = json.loads(endpoints.reply("card", '{"row": 19, "hidden": [], "edited": []}').body)
    assert odd["held"] == ["magnesium"]


def test_places_know_their_nearest_rows_and_where_no_row_has_been(endpoints):
    s = subjects.odd()
    z = s.places.z[5]
    at = json.loads(endpoints.reply(f"at/{','.join(map(repr, map(float, z)))}.json").body)
    cells = s.model.decode(z[None]).mean[0]
    off = (s.table.X - cells) / np.nanstd(s.table.X, axis=0)
    best = int(np.nanargmin(np.sqrt(np.nanmean(off**2, axis=1))))
    assert at["near"][0]["row"] == best and at["been"] is True and at["warning"] == ""
    far = json.loads(endpoints.reply("at/50,50,50.json").body)
    assert far["been"] is False and far["warning"].startswith("No row lies near this place")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "axis/3",
        "axis/-1",
        "axis/x",
        "column/99",
        "row/0.json",
        "card",
        "card/0.json",
        "group",
        "at/../facts.json",
        "extra/../../etc/passwd",
        "label/0",
        "at/1,2.json",
        "at/nan,0,0.json",
        "at/1e999,0,0.json",
        "empty/0,1,0,0,1,1,0.json",
        "empty/0,9,0,0,1,1,0,0,0.json",
        "empty/0,1,0,0,0,1,0,0,0.json",
        "map/fa",
        "../facts.json",
        "at/%2e%2e",
        "web/page.html",
        "/etc/passwd",
        "column/٣",
    ],
)
def test_nothing_else_is_answered(endpoints, name):
    assert endpoints.reply(name) is None


def test_a_table_that_changes_is_stale(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(subjects.wine().read_bytes())
    found = Endpoints(subjects.subject(path, "ppca"))
    assert json.loads(found.reply("stale.json").body) == {"what": None}
    os.utime(path, (1, 1))
    assert json.loads(found.reply("stale.json").body) == {"what": "table"}
    path.unlink()
    assert found.changed == "table"


def test_a_run_that_is_written_anew_is_stale(tmp_path):
    """Another `lowdim explore` of the table with other settings replaces what the page's commands read."""
    shutil.copytree(subjects.odd_run(), tmp_path / "odd.run")
    with contextlib.chdir(subjects.folder()):
        found = Endpoints(subject(tmp_path / "odd.run"))
    assert found.changed is None
    os.utime(tmp_path / "odd.run" / "run.json", (1, 1))
    assert json.loads(found.reply("stale.json").body) == {"what": "run"}


def test_where_no_row_has_been_is_what_the_warning_says(endpoints):
    """A view's cells one by one, each asked as a place of its own."""
    s = subjects.odd()
    z = s.places.z
    (x, y), (w, h) = z[:, :2].min(axis=0) - 1, np.ptp(z[:, :2], axis=0) + 2
    found = json.loads(endpoints.reply(f"empty/0,1,{x},{y},{w},{h},0,0,0.5.json").body)
    side, bare = found["side"], set(np.frombuffer(base64.b64decode(found["cells"]["f8"])).astype(int).tolist())
    assert 0 < len(bare) < side**2
    for cell in range(0, side**2, 37):
        at = [x + (cell // side + 0.5) / side * w, y + (cell % side + 0.5) / side * h, 0.5]
        assert s.at(at).been is (cell not in bare)


def test_one_named_model_has_the_odd_rows_and_surprises_that_it_judges():
    s, asked = subjects.demo("ppca"), Endpoints(subjects.demo("ppca"))
    assert [row["row"] for row in asked.facts["odd"]] == [row.row for row in s.odd.rows]
    assert asked.facts["oddSentence"] == s.odd.sentence and asked.facts["jury"] is None
    # far from what the others of the row say, in closed form: the precision of all cells
    x = s.table.X / s.unit
    complete = np.flatnonzero(~np.isnan(x).any(axis=1))
    Q = np.linalg.inv(s.model.get_covariance())
    far = np.abs((x[complete] - s.model.mean_) @ Q) / np.sqrt(np.diag(Q))
    assert numbers(asked.reply("extra/surprise"))[complete] == pytest.approx(far.max(axis=1), rel=1e-6)


def test_a_model_without_a_law_of_rows_lists_none():
    asked = Endpoints(subjects.demo("gtm"))
    assert asked.facts["odd"] == [] and "oddSentence" not in asked.facts and "surprise" not in asked.facts["extras"]
