"""An analysis opened from its run folder: the same parts, without doing the work again."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from lowdim import analyse, load_run, read
from lowdim.jobs import store
from lowdim.jobs.run_folder import save_run
from lowdim.text.messages import LowdimError
from tests.cli.conftest import small_table, write_csv
from tests.judge.fills.test_words import survey

PARTS = ("jury", "posterior", "odd", "gaps", "fills", "axes", "stability")


def same(a, b) -> bool:
    """Whether two trees of tuples and arrays hold the same values; functions are not compared."""
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return callable(a) or a == b


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    found = analyse(read(write_csv(folder / "t.csv", small_table())), dims=2, budget="1s")
    return found, save_run(found, folder / "t.run")


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_the_same(run, part):
    found, folder = run
    assert same(getattr(found, part), getattr(load_run(folder).analysis, part))


def test_what_follows_from_the_parts_is_the_same(run):
    found, folder = run
    opened = load_run(folder).analysis
    for name in ("dims", "sentences", "trust", "shares", "settings", "of", "noise_share", "finished"):
        assert getattr(opened, name) == getattr(found, name), name
    assert np.array_equal(opened.scores, found.scores) and np.array_equal(opened.filled, found.filled)
    assert np.array_equal(opened.surprises, found.surprises) and repr(opened) == repr(found)
    assert same(opened.fills.at(0.5), found.fills.at(0.5)) and same(opened.odd.at(0.5), found.odd.at(0.5))
    assert np.array_equal(opened.fills.multiple(2), found.fills.multiple(2))
    assert opened.calibration.half == pytest.approx(found.calibration.half, rel=1e-5)


@pytest.mark.slow
def test_labels_are_stored_with_their_probabilities(tmp_path):
    """Words of three values: rounding their probabilities would not give the most likely one."""
    path = tmp_path / "t.csv"
    survey(120)[1].to_csv(path, index=False)
    found = analyse(read(path, encode=["town", "owner"]), dims=1, budget="1s")
    opened = load_run(save_run(found, tmp_path / "t.run", options={"encode": ["town", "owner"]})).analysis
    assert found.fills.labels and same(opened.fills, found.fills) and opened.sentences == found.sentences
    assert np.array_equal(opened.fills.multiple(2), found.fills.multiple(2))


def test_nothing_that_is_stored_is_made_again(run, monkeypatch):
    made = (
        "lowdim.judge.dimensions.jury.choose_dimension",
        "lowdim.judge.outliers.partition.partition_of",
        "lowdim.judge.outliers.partition.fit_bulk",
        "lowdim.judge.maps.latent_cells.GaussianCells.posterior",
        "lowdim.judge.rows.odd_rows.judge_rows",
        "lowdim.judge.maps.latent_cells.GaussianCells.resampled",
        "lowdim.judge.fills.fill.fill",
    )
    for name in made:
        monkeypatch.setattr(name, lambda *given, **how: pytest.fail("made again"))
    opened = load_run(run[1]).analysis
    for part in PARTS[:-1]:
        assert getattr(opened, part) is not None
    assert len(opened.sentences) == 5 and opened.model.n_components_ == 2


def test_a_folder_without_the_judges_makes_each_stage_again(run, tmp_path):
    found, _ = run
    folder = save_run(found, tmp_path / "old.run")
    (folder / store.JUDGES_FILE).unlink()
    opened = load_run(folder).analysis
    assert opened.store.packed_parts == {} and same(opened.axes, found.axes) and same(opened.odd, found.odd)
    assert same(opened.fills, found.fills) and same(opened.jury, found.jury)


@pytest.mark.parametrize("damage", ["bytes", "schema", "large"])
def test_a_file_that_is_not_this_run_s_is_passed_over(run, tmp_path, damage, monkeypatch):
    found, _ = run
    if damage == "schema":
        monkeypatch.setattr(store, "JUDGES_SCHEMA", 0)
    if damage == "large":
        monkeypatch.setattr(store, "PART_CELLS", 10)
    folder = save_run(found, tmp_path / "d.run")
    monkeypatch.undo()
    if damage == "bytes":
        (folder / store.JUDGES_FILE).write_bytes(b"no zip")
    opened = load_run(folder).analysis
    assert not {"posterior", "odd"} & set(opened.store.packed_parts) and same(opened.posterior, found.posterior)


def test_equal_runs_make_equal_files(run, tmp_path):
    found, folder = run
    again = save_run(found, tmp_path / "again.run")
    assert (again / store.JUDGES_FILE).read_bytes() == (folder / store.JUDGES_FILE).read_bytes()
    facts = json.loads((again / "run.json").read_text())
    assert facts["kind"] == "analysis" and set(facts["files"]) == {p.name for p in again.iterdir()} - {"run.json"}


def test_what_a_map_needs_is_read_without_loading_a_model(run):
    code = (
        "import sys, lowdim.jobs.run_folder as r\n"
        f"a = r.load_run({str(run[1])!r}).analysis\n"
        "assert a.posterior.mean.shape == (60, 2) and len(a.shares) == 2 and a.odd.rows and a.table.n == 60\n"
        "sys.exit(str([m for m in sys.modules if m.split('.')[0] == 'sklearn'][:3] or ''))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "" and done.returncode in (0, 1), done.stderr


def test_the_map_is_drawn_without_the_table_or_a_model(run):
    """What a map needs is in the folder: rows by name, which of them have gaps, and that no column colours them."""
    found, folder = run
    opened = load_run(folder).analysis
    assert opened.row_names == found.row_names and opened.label_names == found.label_names == ()
    assert np.array_equal(opened.has_gaps, found.has_gaps) and found.has_gaps.any()
    assert opened.plot.map().svg() == found.plot.map().svg()
    assert not {"table", "model"} & vars(opened).keys()


def test_a_table_is_checked_without_being_read(run, tmp_path):
    _, folder = run
    opened = load_run(folder)
    opened.check_table()
    assert "table" not in vars(opened)
    facts = json.loads((folder / "run.json").read_text())
    (tmp_path / "t.csv").write_text((folder.parent / "t.csv").read_text().replace("1", "2"))
    facts["table"]["path"] = str(tmp_path / "t.csv")
    changed = type(opened)(folder, facts)
    with pytest.raises(LowdimError, match="LD307"):
        changed.check_table()
    facts["table"]["path"] = str(tmp_path / "gone.csv")
    with pytest.raises(LowdimError, match="LD306"):
        changed.check_table()
