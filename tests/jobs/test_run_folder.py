"""Run folders: what is written, opened again and refused."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from lowdim import analyse, load_run, read
from lowdim.jobs.run_folder import check_free, save_run, write
from lowdim.judge.fills.calibration import map_calibration
from lowdim.text.csv_table import csv_table
from lowdim.text.messages import LowdimError
from tests.cli.conftest import small_table, write_csv


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    path = write_csv(folder / "t.csv", small_table())
    found = analyse(read(path, drop="x6"), dims=2, budget="1s")
    save_run(found, folder / "t.run", options={"drop": ("x6",)})
    return found, folder


def test_opened_again_it_is_the_same(run):
    found, folder = run
    opened = load_run(folder / "t.run")
    assert opened.settings == found.settings and opened.sentences == found.sentences
    assert opened.names == found.table.names == ("x1", "x2", "x3", "x4", "x5")
    assert np.array_equal(opened.table.X, found.table.X, equal_nan=True)
    assert np.array_equal(opened.analysis.scores, found.scores)
    ordinary = np.setdiff1d(np.arange(found.table.n), [*found.partition.wrong_cells[:, 0], *found.partition.outside])
    assert np.array_equal(opened.model.transform(found.table.X)[ordinary], found.scores[ordinary])


def test_the_tables_hold_the_numbers(run):
    found, folder = run
    # as text, then by Python: not every version of pandas reads a number back to the last bit
    scores, fills, odd = (
        pd.read_csv(folder / "t.run" / f"{name}.csv", dtype=str) for name in ("scores", "fills", "odd")
    )
    assert np.array_equal(scores[["axis1", "axis2"]].to_numpy().astype(float), found.scores)
    assert np.array_equal(scores[["axis1_sd", "axis2_sd"]].to_numpy().astype(float), found.posterior.std)
    assert np.array_equal(scores["D2_p"].to_numpy().astype(float), found.odd.D2.p)
    gap = found.fills.is_filled
    assert len(fills) == gap.sum() and np.array_equal(fills["fill"].to_numpy().astype(float), found.fills.filled[gap])
    assert odd["row"].tolist() == [r.name for r in found.odd.rows]


def test_fills_outside_the_values_seen_are_marked(run):
    found, folder = run
    X, fills = found.table.X, pd.read_csv(folder / "t.run" / "fills.csv", keep_default_na=False)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    at = [found.table.names.index(name) for name in fills["column"]]
    value = fills["fill"].astype(float)
    want = np.where(value < low[at], "below", np.where(value > high[at], "above", ""))
    assert fills["outside"].tolist() == want.tolist()
    for c in found.fills.columns:
        assert c.outside == ((fills["column"] == c.column) & (fills["outside"] != "")).sum()


def test_the_intervals_of_new_rows_are_kept_in_the_run(run):
    found, folder = run
    made = load_run(folder / "t.run").calibration
    want = map_calibration(found.model, found.table.X, level=found.settings.level)
    assert made.level == 0.9 and made.fill_dims == found.fills.n_components
    assert made.half == pytest.approx(want.half, rel=1e-5)
    assert len((folder / "t.run" / "run.json").read_text()) < 10_000


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    def lines():
        yield "a\n"
        raise OSError("the disk went away")

    assert write(tmp_path / "x.txt", "old").read_text() == "old"
    with pytest.raises(LowdimError, match="LD304"):
        write(tmp_path / "x.txt", lines())
    assert [p.name for p in tmp_path.iterdir()] == ["x.txt"] and (tmp_path / "x.txt").read_text() == "old"
    assert write(tmp_path / "y.txt", ["é", "\r\n"], encoding="cp1252").read_bytes() == b"\xe9\r\n"
    with pytest.raises(LowdimError, match="make the folder"):
        write(tmp_path / "none" / "x.txt", "new")


def test_a_table_that_changed_or_left_is_said(tmp_path):
    path = write_csv(tmp_path / "u.csv", small_table())
    save_run(analyse(read(path), dims=2, budget="1s"), tmp_path / "u.run")
    write_csv(path, small_table(seed=1))
    with pytest.raises(LowdimError, match="LD307"):
        _ = load_run(tmp_path / "u.run").table
    path.unlink()
    with pytest.raises(LowdimError, match="LD306"):
        _ = load_run(tmp_path / "u.run").table


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"table": 3}', '{"table": {"columns": 5}, "files": {}}'])
def test_what_is_not_a_run_is_refused(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(LowdimError, match="LD305"):
        load_run(tmp_path)


def test_cells_of_a_csv_are_quoted_and_no_formulas():
    text = csv_table(["a", "=b"], [["x,y", 1.5], ['say "no"', float("nan")], ["-1", np.float64(2.0)], ["@x", None]])
    assert text == 'a,\'=b\r\n"x,y",1.5\r\n"say ""no""",\r\n-1,2.0\r\n\'@x,\r\n'


def test_run_json_is_plain_json(run):
    text = (run[1] / "t.run" / "run.json").read_text()
    told = json.loads(text, parse_constant=lambda word: pytest.fail(word))
    assert told["versions"]["numpy"] == np.__version__ and len(told["table"]["sha256"]) == 64
    assert told["table"]["options"] == {"drop": ["x6"]}


def test_a_run_that_cannot_be_written_whole_leaves_the_older_one(run, tmp_path, monkeypatch):
    """The disk is full at the last file: everything is as it was, and nothing is left behind."""
    found, _ = run
    place = save_run(found, tmp_path / "t.run")
    before = {path.name: path.read_bytes() for path in place.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lowdim.jobs.run_folder.save_parts", full)
    with pytest.raises(LowdimError) as caught:
        save_run(found, place)
    assert caught.value.code == "LD304"
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


def test_files_of_an_older_run_do_not_linger(run, tmp_path):
    found, _ = run
    place = save_run(found, tmp_path / "t.run")
    facts = json.loads((place / "run.json").read_text())
    for name in ("held.csv", "../kept.csv"):
        (place / name).write_text("x")
        facts["files"][name] = "0"
    (place / "own.txt").write_text("somebody's")
    (place / "run.json").write_text(json.dumps(facts))
    save_run(found, place)
    assert not (place / "held.csv").exists() or "held.csv" in load_run(place).facts["files"]
    assert (place / "own.txt").exists() and (tmp_path / "kept.csv").exists()


def test_an_option_that_nobody_knows_is_named(run):
    _, folder = run
    opened = load_run(folder / "t.run")
    opened.facts["table"]["options"]["colour"] = "red"
    with pytest.raises(LowdimError, match="colour") as caught:
        _ = load_run(folder / "t.run").__class__(opened.folder, opened.facts).table
    assert caught.value.code == "LD305"


@pytest.mark.parametrize("stored", [1e308, "x", "", None, [1], {"law": "x"}])
def test_facts_of_new_rows_that_were_tampered_with_are_left_aside(run, tmp_path, stored):
    shutil.copytree(run[1] / "t.run", tmp_path / "t.run")
    facts = json.loads((tmp_path / "t.run" / "run.json").read_text())
    (tmp_path / "t.run" / "run.json").write_text(json.dumps({**facts, "apply": stored}))
    opened = load_run(tmp_path / "t.run")
    assert opened.law_of_new_rows is None and opened.calibration is None


def test_a_folder_that_may_not_be_entered_is_not_written_to(tmp_path, monkeypatch):
    def locked(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.is_file", locked)
    with pytest.raises(LowdimError) as caught:
        check_free(tmp_path / "t.run", "t.csv")
    assert caught.value.code == "LD304" and "Permission denied" in str(caught.value)


def test_a_run_opens_with_its_own_columns_whatever_role_others_would_be_given(tmp_path):
    frame = small_table()
    path = write_csv(tmp_path / "t.csv", frame)
    found = analyse(read(path, drop="x6", label="x5"), dims=1, budget="1s")
    folder = save_run(found, tmp_path / "t.run", options={})  # what was asked for is not among the options
    opened = load_run(folder)
    assert opened.table.names == found.table.names and [*opened.table.labels] == ["x5"]
    assert opened.subject.explain(0) == found.explain(0)
